//! Lets objects with derivatives take their memory from a run-time library that keeps it between calls:
//! `farfel_runtime::memory` in libraries, `runtime.c` in executable programs.
//!
//! Tapes, and tangents in many directions, are large arrays that each call allocates. `malloc` gives large
//! blocks back to the system, which has to provide their pages anew: this can take longer than the
//! derivative. The Fortran remains as it is, and so does everything that the compiler knows about `malloc`;
//! in the assembler's input, the names of `malloc` and the others are given another meaning.

use farfel_lang::ir::{Attribute, Origin, Unit};

/// The run-time library of programs.
pub(crate) const RUNTIME: &str = include_str!("runtime.c");

/// The name of its file in messages.
pub(crate) const RUNTIME_NAME: &str = "farfel_memory.c";

/// Whether objects for this target can use the library: the assembler is GNU's.
pub(crate) fn is_supported() -> bool {
    // Within build scripts.
    match std::env::var("CARGO_CFG_TARGET_OS") {
        Ok(target) => target == "linux",
        Err(_) => cfg!(target_os = "linux"),
    }
}

/// Returns the statements for the assembler that redirect an object which consists of these units and their
/// derivatives.
pub(crate) fn redirect<'a>(mut units: impl Iterator<Item = &'a Unit>, library: bool) -> String {
    // Arrays that the user allocates may be saved variables.
    let allocates = |u: &Unit| {
        let mut symbols = u.symbols.iter();
        symbols.any(|(_, s)| s.has(Attribute::Allocatable) && s.origin == Origin::Written)
    };
    let outliving = match library && units.any(allocates) {
        true => "_outliving",
        false => "",
    };
    let mut text = String::new();
    for name in ["malloc", "calloc", "realloc"] {
        text.push_str(&format!("\t.set {name}, farfel_{name}{outliving}_v1\n"));
    }
    text.push_str("\t.set free, farfel_free_v1\n");
    text
}
