//! The statements that Fortran has and Farfel has not, why, and what to write instead.

/// A statement of Fortran that Farfel has not.
pub(super) struct Foreign {
    /// The words that it begins with.
    pub word: &'static str,
    /// Why Farfel does not take it.
    pub why: &'static str,
    /// What to do instead.
    pub help: &'static str,
    /// It opens a block that ends with END and this word.
    pub block: bool,
}

const fn one(word: &'static str, why: &'static str, help: &'static str) -> Foreign {
    Foreign {
        word,
        why,
        help,
        block: false,
    }
}

const fn block(word: &'static str, why: &'static str, help: &'static str) -> Foreign {
    Foreign {
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

/// All of them.
pub(super) const KNOWN: &[Foreign] = &[
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

/// The words that begin such statements; the longest first where one begins another.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|f| f.word).filter(|w| *w != "TYPE")
}
