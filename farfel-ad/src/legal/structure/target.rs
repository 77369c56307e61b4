//! Targets of jumps, and the error for code that reverse mode cannot follow.

use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::Label;

/// The target of a jump. Statements are identified by their numbers in textual order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Target {
    /// The beginning of a statement.
    At(usize),
    /// The statement after a construct.
    After(usize),
    /// The end of a loop's body: the next iteration.
    EndBody(usize),
    /// The end of the unit.
    Leave,
    /// A label that has not been looked up yet.
    Label(Label),
}

/// The error for an unsupported construct.
pub(super) fn unsupported(span: Span, what: String) -> Diagnostic {
    Diagnostic::error(&rules::AD_CONTROL, span, what)
        .label("reverse mode cannot follow it")
        .help("write it with IF (…) THEN and DO")
}
