//! Random programs, and the interpreter that Farfel is held against.
//!
//! | module | what |
//! |---|---|
//! | `generated` | random programs, and how they are made smaller |
//! | `interpreter` | what they mean |
//! | `compiled` | what the compiler makes of text, and what that prints |
//! | `trial` | all that is made of a program, and whether it prints what the program means |
//! | `many` | many programs, and what was found |

pub mod compiled;
pub mod generated;
pub mod interpreter;
pub mod many;
pub mod trial;

use std::path::Path;
use tempfile::TempDir;

/// The top of this repository.
pub fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// An empty directory.
///
/// # Panics
///
/// The system has no place for temporary files.
pub fn sandbox() -> TempDir {
    tempfile::Builder::new()
        .prefix("farfel-random-")
        .tempdir()
        .expect("a place for temporary files")
}
