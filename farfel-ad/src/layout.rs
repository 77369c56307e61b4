//! How derivatives are named and laid out.
//!
//! What the compiler asks for has the layout of [`Layout::of_request`]. Whoever asks for
//! derivatives of heads ([`crate::tangent::differentiate_heads`],
//! [`crate::reverse::differentiate_heads`]) says by the same properties what existing programs
//! and makefiles call.

use farfel_lang::ir::{LONGEST_NAME, Name, Request, Symbols};

/// The file in which users define the sizes that their programs do not tell.
pub const SIZES_FILE: &str = "DIFFSIZES.inc";

/// The most bytes of one tape, where nobody says so. Memory that is not used is never touched, so it
/// costs nothing.
pub(crate) const MOST_TAPE: u64 = 1 << 30;

/// How many times that tapes may have that grow, where nobody can say how large they may be: by the conventions of
/// Tapenade, whose stack has no limit either.
pub(crate) const GROWING: u64 = 1 << 10;

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

/// How a name is found in place of one that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// X1, X2, …; behind a digit X5_1, X5_2, …
    FromOne,
    /// X0, X1, …, whatever stands before.
    FromZero,
}

impl Numbering {
    /// `wanted`, or `wanted` with the first number that is not `taken`.
    pub fn unused(self, wanted: &str, taken: &dyn Fn(&str) -> bool) -> Name {
        self.unused_in(&Symbols::default(), wanted, taken)
    }

    /// The same of a name that no symbol has either.
    pub fn unused_in(self, symbols: &Symbols, wanted: &str, taken: &dyn Fn(&str) -> bool) -> Name {
        match self {
            Numbering::FromOne => symbols.unused(wanted, taken),
            Numbering::FromZero if wanted.len() > LONGEST_NAME => symbols.unused(wanted, taken),
            Numbering::FromZero if symbols.find(wanted).is_none() && !taken(wanted) => {
                wanted.into()
            }
            Numbering::FromZero => {
                symbols.unused_number(&|n| format!("{wanted}{n}").into(), 0, taken)
            }
        }
    }
}

/// Which names are taken, besides those of program units and COMMON blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// No others: what else is called is called by a name of the compiler's.
    Defined,
    /// Those of procedures that are mentioned below the heads.
    MentionedBelow,
    /// Those of procedures that are mentioned anywhere.
    Mentioned,
}

/// How many derivatives a subprogram has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contexts {
    /// One for each context that it is called in, up to a limit.
    Each,
    /// One, in a context that is good for all its calls.
    One,
}

/// Which derivatives a block of COMMON derivatives has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// One for each variable.
    All,
    /// Those that go from one subprogram to another.
    Passed,
}

/// What becomes of procedures without text that derivatives go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// They are refused.
    Refused,
    /// They use and assign all their arguments, and somebody provides their derivatives, by the
    /// names that they would have.
    Provided,
}

/// The extent of the dimension for several directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// As many as there are, which the last argument says.
    Argument,
    /// So many, and there are so many.
    Exactly(i64),
    /// At most so many; the last argument says how many there are.
    AtMost(i64),
    /// At most NBDIRSMAX, which users define ([`SIZES_FILE`]).
    OfUser,
}

/// How derivatives are named and laid out.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Names of subprograms and COMMON blocks.
    pub units: Pattern,
    /// Names of variables.
    pub variables: Pattern,
    /// Names in place of those that are taken.
    pub numbering: Numbering,
    /// Which names are taken.
    pub taken: Taken,
    /// What stands for the name of the blank COMMON block in the name of its derivatives.
    pub blank_common: &'static str,
    /// How many derivatives a subprogram has.
    pub contexts: Contexts,
    /// Which members COMMON blocks of derivatives have.
    pub members: Members,
    /// In forward mode, for one direction, the derivative of a function is a function, which returns
    /// the derivative and has the value as an additional last argument. Else it is a subroutine.
    pub functions: bool,
    /// Keep to FORTRAN 77: no arrays whose sizes are known on entry only, no assignments to whole
    /// arrays.
    pub fortran_77: bool,
    /// Call functions of the compiler's that come along with derivatives.
    pub shipped: bool,
    /// Procedures without text.
    pub unknown: Unknown,
    /// Several directions at once: every derivative has one more dimension, the first, and
    /// subprograms get the number of directions as their last argument.
    pub vector: bool,
    /// The extent of that dimension.
    pub extent: Extent,
    /// Derivatives are LOGICAL: whether they can be other than zero.
    pub pattern: bool,
    /// Where the program does not tell the size of an array, use a constant of the user's
    /// ([`SIZES_FILE`]).
    pub ask_sizes: bool,
    /// What is made will be transposed, for adjoints.
    pub adjoint: bool,
    /// The bytes of a default REAL. With 8, REAL and DOUBLE PRECISION are one type.
    pub real: u8,
}

impl Layout {
    /// What a request of the compiler asks for.
    pub fn of_request(request: &Request) -> Self {
        let count = request.directions.count.filter(|_| request.vector);
        Layout {
            units: Pattern::new(&request.suffix),
            variables: Pattern::new(&request.suffix),
            numbering: Numbering::FromOne,
            taken: Taken::Defined,
            blank_common: "BLANK",
            contexts: Contexts::Each,
            members: Members::All,
            functions: false,
            fortran_77: false,
            shipped: true,
            unknown: Unknown::Refused,
            vector: request.vector,
            extent: count.map_or(Extent::Argument, Extent::Exactly),
            pattern: request.directions.pattern,
            ask_sizes: false,
            adjoint: false,
            real: request.real,
        }
    }

    /// Does the derivative of a function return the derivative?
    pub fn keeps_functions(&self) -> bool {
        self.functions && !self.vector && !self.adjoint
    }

    /// Has a subprogram one derivative only?
    pub fn has_one_context(&self) -> bool {
        self.contexts == Contexts::One
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
    fn taken_names_are_numbered() {
        let taken = |n: &str| ["XD", "XD0", "X5"].contains(&n);
        let from_one = |wanted| Numbering::FromOne.unused(wanted, &taken);
        assert_eq!(from_one("XD"), "XD1");
        assert_eq!(from_one("YD"), "YD");
        assert_eq!(from_one("X5"), "X5_1");
        let from_zero = |wanted| Numbering::FromZero.unused(wanted, &taken);
        assert_eq!(from_zero("XD"), "XD1");
        assert_eq!(from_zero("YD"), "YD");
        assert_eq!(from_zero("X5"), "X50");
    }
}
