//! Names, argument lists and storage layout of derivatives.
//!
//! Requests from the compiler use the layout of [`Layout::of_request`]. Callers that differentiate
//! heads ([`crate::tangent::differentiate_heads`], [`crate::reverse::differentiate_heads`]) set the
//! same properties so that existing programs and makefiles can call the derivatives.

use farfel_lang::ir::{LONGEST_NAME, Name, Request, Symbols};

/// The file in which users define sizes that cannot be determined from their programs.
pub const SIZES_FILE: &str = "DIFFSIZES.inc";

/// The default limit for the size of one tape in bytes. Unused memory is never touched, so it costs
/// nothing.
pub(crate) const MOST_TAPE: u64 = 1 << 30;

/// The factor by which the limit is multiplied for growing tapes whose size nobody can specify: by
/// the conventions of Tapenade, whose stack is unlimited, too.
pub(crate) const GROWING: u64 = 1 << 10;

/// How a name is derived from the original: a text with `%` for the original, or a suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    before: String,
    after: String,
}

impl Pattern {
    /// Parses a pattern like `_G1` (a suffix) or `G_%` (a prefix). Case does not matter.
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

    /// Returns a pattern that appends something to the names of this one.
    #[must_use]
    pub fn and(mut self, more: &str) -> Self {
        self.after.push_str(more);
        self
    }

    /// Returns the name derived from `original`.
    pub fn of(&self, original: &str) -> String {
        format!("{}{original}{}", self.before, self.after)
    }

    /// Whether the names that it creates can be Fortran names.
    pub fn is_valid(&self) -> bool {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let starts = |c: char| c.is_ascii_alphabetic();
        !(self.before.is_empty() && self.after.is_empty())
            && (self.before.is_empty() || self.before.starts_with(starts))
            && self.before.chars().chain(self.after.chars()).all(letter)
    }
}

/// How an unused name is found if the wanted name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// X1, X2, …; after a digit X5_1, X5_2, …
    FromOne,
    /// X0, X1, …, even after a digit.
    FromZero,
}

impl Numbering {
    /// Returns `wanted`, or `wanted` with the lowest number such that the name is not `taken`.
    pub fn unused(self, wanted: &str, taken: &dyn Fn(&str) -> bool) -> Name {
        self.unused_in(&Symbols::default(), wanted, taken)
    }

    /// Like [`Self::unused`], for a name that is not in the symbol table either.
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

/// Which names are taken, in addition to those of program units and COMMON blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// No others: calls of other procedures use names that the compiler controls.
    Defined,
    /// Those of procedures that are referenced below the heads.
    MentionedBelow,
    /// Those of procedures that are referenced anywhere.
    Mentioned,
}

/// How many derivatives a subprogram gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contexts {
    /// One for each context in which it is called, up to a limit.
    Each,
    /// A single one, in a context that suits all its calls.
    One,
}

/// Which members a COMMON block of derivatives has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// The derivatives of all variables.
    All,
    /// The derivatives that are passed from one subprogram to another.
    Passed,
}

/// How procedures without source are treated if derivatives propagate through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// They are an error.
    Refused,
    /// They are assumed to use and assign all their arguments, and their derivatives are supplied
    /// by the user, under the names that they would have.
    Provided,
}

/// The extent of the dimension for directions, in vector mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The number of directions, which is the last argument.
    Argument,
    /// A constant, which is the number of directions.
    Exactly(i64),
    /// A constant maximum; the last argument is the number of directions.
    AtMost(i64),
    /// The maximum NBDIRSMAX, which users define ([`SIZES_FILE`]).
    OfUser,
}

/// Names, argument lists and storage layout of derivatives.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Names of subprograms and COMMON blocks.
    pub units: Pattern,
    /// Names of variables.
    pub variables: Pattern,
    /// How to replace names that are taken.
    pub numbering: Numbering,
    /// Which names are taken.
    pub taken: Taken,
    /// The replacement for the name of blank COMMON in the name of its block of derivatives.
    pub blank_common: &'static str,
    /// How many derivatives a subprogram has.
    pub contexts: Contexts,
    /// Which members COMMON blocks of derivatives have.
    pub members: Members,
    /// Whether in scalar forward mode the derivative of a function is a function, which returns the
    /// derivative and has the value as an additional last argument. Otherwise it is a subroutine.
    pub functions: bool,
    /// Whether to keep to FORTRAN 77: no arrays with sizes that are only known at entry, no
    /// assignments to whole arrays.
    pub fortran_77: bool,
    /// Whether to call the bundled functions.
    pub bundled: bool,
    /// How to treat procedures without source.
    pub unknown: Unknown,
    /// Vector mode: every derivative has an additional first dimension, and the last argument of
    /// subprograms is the number of directions.
    pub vector: bool,
    /// The extent of that dimension.
    pub extent: Extent,
    /// Whether derivatives are LOGICAL and tell whether the derivative can be nonzero.
    pub pattern: bool,
    /// Whether to use a constant defined by the user ([`SIZES_FILE`]) if the size of an array
    /// cannot be determined from the program.
    pub ask_sizes: bool,
    /// Whether to do so for arrays that adjoints must save. Without, an array of which only a part is needed, or which
    /// the subprogram that overwrites it can save itself, takes no size.
    pub ask_saved_sizes: bool,
    /// Whether the tangents will be transposed to adjoints.
    pub adjoint: bool,
    /// The size of a default REAL in bytes. With 8, REAL and DOUBLE PRECISION are one type.
    pub real: u8,
}

impl Layout {
    /// Returns the layout for a request from the compiler.
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
            bundled: true,
            unknown: Unknown::Refused,
            vector: request.vector,
            extent: count.map_or(Extent::Argument, Extent::Exactly),
            pattern: request.directions.pattern,
            ask_sizes: false,
            ask_saved_sizes: false,
            adjoint: false,
            real: request.real,
        }
    }

    /// Whether the derivative of a function is a function that returns the derivative.
    pub fn keeps_functions(&self) -> bool {
        self.functions && !self.vector && !self.adjoint
    }

    /// Whether a subprogram has only one derivative.
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
