//! Builds files from sources, through all stages of a [`Session`](crate::Session).
//!
//! | module | result |
//! |---|---|
//! | `program` | an executable |
//! | `library` | a static library and its bindings, in the OUT_DIR of a build script |

mod library;
mod program;

pub use library::{Built, Link};
pub use program::BuiltProgram;
