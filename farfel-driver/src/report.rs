//! What a compilation has to say.

use farfel_lang::{Diagnostic, Sources};

/// What a compilation has to say, with the sources that the places in it refer to.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The source files.
    pub sources: Sources,
    /// The faults, in any order.
    pub diagnostics: Vec<Diagnostic>,
}
