//! What the parser took the letters of a statement for, for those who lay out the text anew.
//!
//! Blanks mean nothing in fixed form, so only the parser knows that `DO10I=1,5` is a keyword,
//! a label, a name and so on. When asked to, it notes that while it reads.

use super::form::{CHAR, HOLLERITH, Mark, Statement};
use crate::diagnostic::Diagnostic;
use crate::ir::{Label, Program};
use crate::source::Span;

/// A character or Hollerith constant.
#[derive(Debug, Clone)]
pub(crate) struct Constant {
    /// Its letter in [`Traced::text`].
    pub at: usize,
    pub value: String,
    pub span: Span,
    pub hollerith: bool,
}

/// How deep a statement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Depth {
    /// Open program units.
    pub units: usize,
    /// Open blocks of the innermost.
    pub blocks: usize,
    /// The innermost is a main program without header.
    pub implicit: bool,
}

/// A statement as written.
#[derive(Debug, Clone)]
pub(crate) struct Traced {
    pub label: Option<(Label, Span)>,
    /// Letters in upper case, without blanks; a constant is one letter.
    pub text: Vec<u8>,
    /// Where each letter stands, and whether there is a blank before it.
    pub offsets: Vec<(u32, bool)>,
    pub constants: Vec<Constant>,
    pub marks: Vec<Mark>,
    /// Comments before, in and after the statement, from their comment marks on; lines for a
    /// preprocessor too.
    pub comments: Vec<Span>,
    pub before: Depth,
    pub after: Depth,
}

/// A text as written.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The last one has no letters, only the comments at the end of the text.
    pub statements: Vec<Traced>,
    pub diagnostics: Vec<Diagnostic>,
    pub program: Program,
}

impl Traced {
    /// Takes over what a statement has before it is read.
    pub(super) fn new(st: &mut Statement, before: Depth) -> Self {
        let constants = st.constants();
        Traced {
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

    /// The constant at a letter.
    pub fn constant(&self, at: usize) -> Option<&Constant> {
        if !matches!(self.text.get(at), Some(&CHAR | &HOLLERITH)) {
            return None;
        }
        let i = self.constants.binary_search_by_key(&at, |c| c.at).ok()?;
        self.constants.get(i)
    }
}
