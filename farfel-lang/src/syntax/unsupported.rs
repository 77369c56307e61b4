//! The Fortran statements that Farfel does not support, with the reason and the alternative.

use super::statement_parser::StatementParser;
use crate::diagnostic::{Diagnostic, rules};
use crate::source::Span;

/// A Fortran statement that Farfel does not support.
pub(super) struct Unsupported {
    /// The words with which it begins.
    pub word: &'static str,
    /// Why Farfel does not support it.
    pub why: &'static str,
    /// What to do instead.
    pub help: &'static str,
    /// Whether it opens a block that ends with END and this word.
    pub block: bool,
}

const fn one(word: &'static str, why: &'static str, help: &'static str) -> Unsupported {
    Unsupported {
        word,
        why,
        help,
        block: false,
    }
}

const fn block(word: &'static str, why: &'static str, help: &'static str) -> Unsupported {
    Unsupported {
        word,
        why,
        help,
        block: true,
    }
}

const COMPONENTS: &str = "write a variable or an array for each component";
const IN_COMMON: &str =
    "put what it declares into COMMON blocks, and write these into a file for INCLUDE";
const POINTERS: &str =
    "use the variable itself, or an ALLOCATABLE array that is passed as an argument";

impl Unsupported {
    /// Returns the error; `what` is "statements" or "blocks".
    pub(super) fn error(&self, what: &str, span: Span) -> Diagnostic {
        Diagnostic::error(
            &rules::UNSUPPORTED,
            span,
            format!("Farfel does not support {} {what}", self.word),
        )
        .label(self.why)
        .help(self.help)
    }
}

/// Returns the unsupported statement that begins here, if there is one.
pub(super) fn find(line: &StatementParser, from: usize) -> Option<&'static Unsupported> {
    KNOWN
        .iter()
        .filter(|f| line.keyword_end(from, f.word).is_some())
        .max_by_key(|f| f.word.len())
}

/// All unsupported statements.
const KNOWN: &[Unsupported] = &[
    block(
        "MODULE",
        "Farfel's program units are subprograms; modules would make the names of one known in others",
        IN_COMMON,
    ),
    block(
        "SUBMODULE",
        "Farfel's program units are subprograms; modules would make the names of one known in others",
        IN_COMMON,
    ),
    block(
        "INTERFACE",
        "Farfel compares calls with the subprograms themselves",
        "take the block out; a type statement or EXTERNAL declares what it names",
    ),
    block(
        "ABSTRACT INTERFACE",
        "Farfel compares calls with the subprograms themselves",
        "take the block out; a type statement or EXTERNAL declares what is called",
    ),
    one(
        "PROCEDURE",
        "procedures have no interfaces of their own",
        "write EXTERNAL and the name, with a type statement if it is a function",
    ),
    block(
        "BLOCK",
        "names have the same meaning in all of a program unit",
        "declare the variables at the top of the program unit, and take BLOCK and END BLOCK out",
    ),
    one(
        "ERROR STOP",
        "STOP ends a program",
        "write STOP with a code that is not zero, as in `STOP 1`",
    ),
    block("STRUCTURE", "variables have no components", COMPONENTS),
    block("UNION", "variables have no components", COMPONENTS),
    one("RECORD", "variables have no components", COMPONENTS),
    one("CLASS", "variables have no components", COMPONENTS),
    one("SEQUENCE", "variables have no components", COMPONENTS),
    block("TYPE", "variables have no components", COMPONENTS),
    block(
        "ENUM",
        "constants have a name each",
        "write a PARAMETER statement",
    ),
    block(
        "ASSOCIATE",
        "names stand for the same variable in all of a program unit",
        "write what the name stands for, or assign it to a variable",
    ),
    block(
        "FORALL",
        "its assignments have no order",
        "write a DO loop, or an assignment of arrays",
    ),
    one("NULLIFY", "there are no Fortran 90 pointers", POINTERS),
    one("PUBLIC", "it belongs to modules", "take it out"),
    one("PRIVATE", "it belongs to modules", "take it out"),
    one("IMPORT", "it belongs to interface blocks", "take it out"),
    one(
        "ENCODE",
        "it is older than FORTRAN 77, which has internal files instead",
        "write WRITE (variable, format) items",
    ),
    one(
        "DECODE",
        "it is older than FORTRAN 77, which has internal files instead",
        "write READ (variable, format) items",
    ),
    one(
        "VIRTUAL",
        "it is older than FORTRAN 77, which has DIMENSION instead",
        "write DIMENSION",
    ),
    one(
        "OPTIONS",
        "the settings and the command line have options",
        "take it out",
    ),
    one(
        "FIND",
        "it only tells a device to get ready for a record",
        "take it out",
    ),
    one(
        "DEFINE FILE",
        "it is older than FORTRAN 77, which has OPEN instead",
        "write OPEN (unit, ACCESS='DIRECT', RECL=length)",
    ),
];

/// Returns the words that begin such statements. A word that begins with another one precedes it.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|f| f.word).filter(|w| *w != "TYPE")
}
