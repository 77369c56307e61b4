//! Records how the parser interpreted the letters of a statement, for the formatter.
//!
//! Blanks have no meaning in fixed form, so only the parser knows that `DO10I=1,5` is a keyword, a
//! label, a name and so on. It records this on request.

use super::form::{CHAR, HOLLERITH, Statement, TokenMark};
use crate::diagnostic::Diagnostic;
use crate::ir::{Label, Program};
use crate::source::Span;

/// A character or Hollerith constant.
#[derive(Debug, Clone)]
pub(crate) struct Constant {
    /// The index of its letter in [`TracedStatement::text`].
    pub at: usize,
    pub value: String,
    pub span: Span,
    pub hollerith: bool,
}

/// The nesting of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Depth {
    /// The number of open program units.
    pub units: usize,
    /// The number of open blocks in the innermost unit.
    pub blocks: usize,
    /// Whether the innermost unit is a main program without a header.
    pub implicit: bool,
}

/// A statement as written.
#[derive(Debug, Clone)]
pub(crate) struct TracedStatement {
    pub label: Option<(Label, Span)>,
    /// The letters in upper case, without blanks; a constant is one letter.
    pub text: Vec<u8>,
    /// The offset of each letter, and whether a blank precedes it.
    pub offsets: Vec<(u32, bool)>,
    pub constants: Vec<Constant>,
    pub marks: Vec<TokenMark>,
    /// The comments before, within and after the statement, including their comment marks; also
    /// preprocessor lines.
    pub comments: Vec<Span>,
    pub before: Depth,
    pub after: Depth,
}

/// A text as written.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The last one has no letters, only the comments at the end of the text.
    pub statements: Vec<TracedStatement>,
    pub diagnostics: Vec<Diagnostic>,
    pub program: Program,
}

impl TracedStatement {
    /// Takes over what is known of a statement before it is parsed.
    pub(super) fn new(st: &mut Statement, before: Depth) -> Self {
        let constants = st.constants();
        TracedStatement {
            label: st.label,
            text: st.text.clone(),
            offsets: st.places().collect(),
            constants: constants
                .map(|(at, value, span)| Constant {
                    at,
                    value: value.to_owned(),
                    span,
                    hollerith: st.text.get(at) == Some(&HOLLERITH),
                })
                .collect(),
            marks: Vec::new(),
            comments: st.comments.iter().map(|c| c.span).collect(),
            before,
            after: before,
        }
    }

    /// Returns the constant at a letter.
    pub fn constant(&self, at: usize) -> Option<&Constant> {
        if !matches!(self.text.get(at), Some(&CHAR | &HOLLERITH)) {
            return None;
        }
        let i = self.constants.binary_search_by_key(&at, |c| c.at).ok()?;
        self.constants.get(i)
    }
}
