//! What the parser took the letters of a statement for, for those who lay out the text anew.
//!
//! Blanks mean nothing in fixed form, so only the parser knows that `DO10I=1,5` is a keyword,
//! a label, a name and so on. When asked to, it notes that while it reads.

use super::form::{CHAR, HOLLERITH, Statement};
use super::{Loader, ReadOptions};
use crate::diagnostic::Diagnostic;
use crate::ir::{Label, Program};
use crate::source::{FileId, Sources, Span};
use std::sync::Arc;

/// What a stretch of letters is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A keyword. A bit is set for each of its letters before which a blank may stand.
    Keyword(u32),
    /// A name.
    Name,
    /// A number or label.
    Number,
}

/// A stretch of letters, as indices into [`Traced::text`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub from: u32,
    pub to: u32,
    pub piece: Piece,
}

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

/// Files that INCLUDE names stay closed.
struct Closed(usize);

impl Loader for Closed {
    fn load(&mut self, _from: &str, name: &str) -> Result<(String, Arc<str>), String> {
        // No file includes itself here.
        self.0 += 1;
        Ok((format!("{name}#{}", self.0), "".into()))
    }
}

/// Reads a text with INCLUDE statements and lines for a preprocessor left as they are.
pub(crate) fn trace(sources: &mut Sources, file: FileId, options: &ReadOptions) -> Trace {
    super::unit::parse_traced(sources, file, options, &mut Closed(0))
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
