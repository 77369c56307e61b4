//! Where jumps lead, and what is said where reverse mode cannot follow.

use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::Label;

/// Where a jump leads. Statements are known by their numbers in textual order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Target {
    /// The beginning of a statement.
    At(usize),
    /// Behind a construct.
    After(usize),
    /// The end of a loop's body: the next iteration.
    EndBody(usize),
    /// Out of the unit.
    Leave,
    /// Not looked up yet.
    Label(Label),
}

/// A fault of something that cannot be done.
pub(super) fn unsupported(span: Span, what: String) -> Diagnostic {
    Diagnostic::error(&rules::AD_CONTROL, span, what)
        .label("reverse mode cannot follow it")
        .help("write it with IF (…) THEN and DO")
}
