//! Errors and warnings as build scripts see them.

/// An error or a warning in the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// `F` and four digits, for `farfel explain`.
    pub code: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The file, the line and the column, from 1; where it is known.
    pub place: Option<(String, usize, usize)>,
    /// All of it with the marked lines of the source, as people see it.
    pub rendered: String,
}

/// How bad a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Something that is probably not meant.
    Warning,
    /// Nothing can be built.
    Error,
}
