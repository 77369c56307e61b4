//! Errors and warnings as build scripts receive them.

/// An error or a warning in the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// `F` and four digits, for use with `farfel explain`.
    pub code: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The file, the line and the column (both from 1), if known.
    pub place: Option<(String, usize, usize)>,
    /// The whole diagnostic with the marked source lines, as shown to people.
    pub rendered: String,
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Something that is probably a mistake.
    Warning,
    /// An error that prevents the build.
    Error,
}
