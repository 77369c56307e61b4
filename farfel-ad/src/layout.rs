//! How derivatives are named and laid out.
//!
//! The same derivatives can be written by two conventions: Farfel's own, which the rest of
//! the compiler calls by, and that of the tool Tapenade, by which existing programs and
//! makefiles call ([`crate::dropin`]).

use farfel_lang::ir::{Name, Request, unused_name};

/// The most letters of a name that compilers allow.
const LONGEST: usize = 63;

/// The file in which users of Tapenade define the sizes that their programs do not tell.
pub const SIZES_FILE: &str = "DIFFSIZES.inc";

/// How a name is made from that of the original: a text with `%` for the original, or a
/// suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    before: String,
    after: String,
}

impl Pattern {
    /// From `_G1` (appended), `G_%` (put in front) and the like. Case does not matter.
    pub fn new(text: &str) -> Self {
        let text = text.to_ascii_uppercase();
        match text.split_once('%') {
            Some((before, after)) => Pattern {
                before: before.to_owned(),
                after: after.to_owned(),
            },
            None => Pattern {
                before: String::new(),
                after: text,
            },
        }
    }

    /// The same with something appended to what it makes.
    #[must_use]
    pub fn and(mut self, more: &str) -> Self {
        self.after.push_str(more);
        self
    }

    /// The name made from `original`.
    pub fn of(&self, original: &str) -> String {
        format!("{}{original}{}", self.before, self.after)
    }

    /// Whether names that it makes can be Fortran names.
    pub fn is_valid(&self) -> bool {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let starts = |c: char| c.is_ascii_alphabetic();
        !(self.before.is_empty() && self.after.is_empty())
            && (self.before.is_empty() || self.before.starts_with(starts))
            && self.before.chars().chain(self.after.chars()).all(letter)
    }
}

/// Whose convention derivatives follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// A copy of a subprogram for each context that it is called in; functions become
    /// subroutines; a block of COMMON derivatives has one for each variable.
    Farfel,
    /// Tapenade's: one derivative for each subprogram, in a context that is good for all
    /// its calls. The tangent of a function is a function that returns the derivative and
    /// has the value as an additional last argument. A block of COMMON derivatives has
    /// those that go from one subprogram to another. What the head does not get is set to
    /// zero, arrays too. Procedures without text are called by the name that their
    /// derivative would have.
    Tapenade,
}

/// How derivatives are named and laid out.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Names of subprograms and COMMON blocks.
    pub units: Pattern,
    /// Names of variables.
    pub variables: Pattern,
    /// The rest.
    pub convention: Convention,
    /// Several directions at once: every derivative has one more dimension, the first, and
    /// subprograms get the number of directions as their last argument.
    pub vector: bool,
    /// The bound of that dimension in Tapenade's convention, where it is not a constant of
    /// the user's.
    pub most_directions: Option<i64>,
    /// How many directions there are, in Farfel's convention, where that is a constant.
    pub directions: Option<i64>,
    /// Derivatives are LOGICAL: whether they can be other than zero.
    pub pattern: bool,
    /// A name that is mentioned anywhere is taken, also where nobody below the heads does.
    pub avoid_mentioned: bool,
    /// Ask the user for sizes of arrays that the program does not tell.
    pub ask_sizes: bool,
    /// In Tapenade's convention: what is made will be transposed, for adjoints.
    pub adjoint: bool,
}

impl Layout {
    /// What a request of the compiler asks for.
    pub fn of_request(request: &Request) -> Self {
        Layout {
            units: Pattern::new(&request.suffix),
            variables: Pattern::new(&request.suffix),
            convention: Convention::Farfel,
            vector: request.vector,
            most_directions: None,
            directions: request.directions.count.filter(|_| request.vector),
            pattern: request.directions.pattern,
            avoid_mentioned: false,
            ask_sizes: false,
            adjoint: false,
        }
    }

    /// Is it Tapenade's convention?
    pub fn is_tapenade(&self) -> bool {
        self.convention == Convention::Tapenade
    }

    /// `wanted`, or `wanted` with the first number that is not `taken`.
    pub fn unused(&self, wanted: &str, taken: &dyn Fn(&str) -> bool) -> Name {
        match self.convention {
            Convention::Farfel => unused_name(wanted, taken),
            Convention::Tapenade if wanted.len() > LONGEST => unused_name(wanted, taken),
            Convention::Tapenade if !taken(wanted) => wanted.into(),
            Convention::Tapenade => (0u32..)
                .map(|n| format!("{wanted}{n}"))
                .find(|n| !taken(n))
                .unwrap_or_else(|| wanted.to_owned())
                .into(),
        }
    }

    /// What stands for the name of the blank COMMON block in the name of its derivatives.
    pub fn blank_common(&self) -> &'static str {
        match self.convention {
            Convention::Farfel => "BLANK",
            Convention::Tapenade => "UNKNOWN",
        }
    }

    /// Does the derivative of a function return the derivative?
    pub fn keeps_functions(&self) -> bool {
        self.is_tapenade() && !self.vector && !self.adjoint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_without_percent_is_a_suffix() {
        assert_eq!(Pattern::new("_g2").of("FOO"), "FOO_G2");
        assert_eq!(Pattern::new("g_%").of("FOO"), "G_FOO");
        assert_eq!(Pattern::new("a%b").and("V").of("X"), "AXBV");
    }

    #[test]
    fn patterns_that_make_no_names_are_known() {
        for good in ["_d", "d", "g_%", "%d", "x%y2"] {
            assert!(Pattern::new(good).is_valid(), "{good}");
        }
        for bad in ["1%", "_%", "a b", "%%", "%-", "", "%"] {
            assert!(!Pattern::new(bad).is_valid(), "{bad}");
        }
    }

    #[test]
    fn taken_names_are_numbered_by_each_convention() {
        let mut layout = Layout {
            units: Pattern::new("_D"),
            variables: Pattern::new("D"),
            convention: Convention::Tapenade,
            vector: false,
            most_directions: None,
            directions: None,
            pattern: false,
            avoid_mentioned: true,
            ask_sizes: true,
            adjoint: false,
        };
        let taken = |n: &str| n == "XD" || n == "XD0";
        assert_eq!(layout.unused("XD", &taken), "XD1");
        layout.convention = Convention::Farfel;
        assert_eq!(layout.unused("XD", &taken), "XD1");
        assert_eq!(layout.unused("YD", &taken), "YD");
    }
}
