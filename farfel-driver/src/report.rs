//! The diagnostics of a compilation.

use farfel_lang::{Diagnostic, FileId, Sources, Span};

/// The diagnostics of a compilation, with the sources that their places refer to.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The source files.
    pub sources: Sources,
    /// The diagnostics, in any order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Adds another report, which is about other files.
    pub(crate) fn extend(&mut self, other: Report) {
        let count = self.sources.iter().count() as u32;
        for (_, file) in other.sources.iter() {
            self.sources.add(file.name.clone(), file.text.clone());
        }
        let moved = |span: &mut Span| {
            if !span.is_none() {
                span.file = FileId(span.file.0 + count);
            }
        };
        for mut diagnostic in other.diagnostics {
            moved(&mut diagnostic.span);
            let related = diagnostic.related.iter_mut();
            related.for_each(|(span, _)| moved(span));
            self.diagnostics.push(diagnostic);
        }
    }
}
