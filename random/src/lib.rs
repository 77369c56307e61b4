//! Random programs, and the interpreter against which Farfel is tested.
//!
//! | module | purpose |
//! |---|---|
//! | `generated` | generates random programs and reduces them |
//! | `interpreter` | computes what programs mean |
//! | `compiled` | runs the compiler on a text, and the program that it makes |
//! | `trial` | checks whether everything made from a program prints what the program means |
//! | `many` | tries many programs and collects the results |

pub mod compiled;
pub mod generated;
pub mod interpreter;
pub mod many;
pub mod trial;

use std::path::Path;
use tempfile::TempDir;

/// Returns the root directory of this repository.
pub fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Creates an empty temporary directory.
///
/// # Panics
///
/// Panics if no temporary directory can be created.
pub fn sandbox() -> TempDir {
    tempfile::Builder::new()
        .prefix("farfel-random-")
        .tempdir()
        .expect("a place for temporary files")
}
