//! Turns physical lines into logical statements.
//!
//! A statement becomes a sequence of upper-case letters without blanks, each with its place in the
//! source, since blanks have no meaning in fixed form. In free form, where blanks end names and
//! numbers, a bit records that a blank preceded a letter. Character and Hollerith constants are
//! stored separately, and a mark takes their place.
//!
//! | module | purpose |
//! |---|---|
//! | `statement` | a logical statement |
//! | `fixed`, `free` | which lines form a statement |
//! | `scan` | the letters and constants of a line |
//! | `origin` | `# 12 "file"`: the origin of preprocessed text |
//! | `directive` | comments that compilers interpret: `!$OMP`, `!DIR$`, `!$ X = 1` |

mod directive;
mod fixed;
mod free;
mod origin;
mod scan;
mod statement;

use super::detect::settings_in;
use super::{FixedFormLayout as Columns, Form};
use crate::diagnostic::{Diagnostic, rules};
use crate::source::{FileId, Span};
use std::sync::Arc;

pub(crate) use directive::{joined as joined_directives, sentinel, single_blanks};
pub(crate) use origin::Origins;
pub(crate) use scan::is_card_number;
pub(crate) use statement::TokenKind;
pub(super) use statement::{BAD, CHAR, Comment, HOLLERITH, Statement, TokenMark};

/// The state of the scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanMode {
    Code,
    /// In a character constant: its quote and the offset where it begins.
    Quote(u8, usize),
    /// In a Hollerith constant: the number of bytes left and the offset where it begins.
    Hollerith(usize, usize),
}

/// The reason why scanning a line stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanStop {
    /// Its end, in this column.
    Line(usize),
    /// After `;`, in this column.
    Semicolon(usize),
    /// A free-form `&`.
    Ampersand,
}

/// A physical line.
#[derive(Debug)]
enum PhysicalLine {
    End,
    Blank,
    Comment {
        /// The offset after the comment mark.
        text: usize,
    },
    /// The beginning of a statement, with the offset and column of its text.
    Initial {
        label: Option<(u64, usize, usize)>,
        text: usize,
        column: usize,
        error: Option<LayoutError>,
    },
    Continuation {
        text: usize,
        column: usize,
    },
}

/// Errors in the layout of a line.
#[derive(Debug, Clone, Copy)]
enum LayoutError {
    /// Something other than a label in columns 1 to 5.
    LabelField,
    /// A labelled line with something in column 6.
    LabelledContinuation,
    /// `#` in column 1 that is not a line marker.
    Preprocessor,
}

/// Reads the statements of one file.
pub(super) struct StatementReader {
    text: Arc<str>,
    pub file: FileId,
    columns: Columns,
    form: Form,
    /// The offset of the next line, or of the rest of a line after `;`.
    pos: usize,
    /// The column at `pos`, if it is the rest of a line.
    rest: Option<usize>,
    mode: ScanMode,
    /// The constant being read.
    value: Vec<u8>,
    /// Set if the last character constant ended in column 72 with this quote: a quote in column 7
    /// of the next line then forms a doubled quote with it.
    quote_at_end: Option<u8>,
    /// Whether a blank line or code came last.
    apart: bool,
    /// Whether the statement begins with `FORMAT(`.
    format: bool,
    gap: bool,
    /// Whether a preprocessor line was reported, which happens only once.
    preprocessor: bool,
    /// Whether every comment line is kept as it is, and preprocessor lines, too.
    verbatim: bool,
    /// The origins of the lines, if a preprocessor has recorded them.
    origins: Option<Origins>,
}

impl StatementReader {
    pub fn new(file: FileId, text: Arc<str>, form: Form, columns: Columns) -> Self {
        let pos = if text.starts_with('\u{feff}') { 3 } else { 0 };
        StatementReader {
            text,
            file,
            columns,
            form,
            pos,
            rest: None,
            mode: ScanMode::Code,
            value: Vec::new(),
            quote_at_end: None,
            apart: true,
            format: false,
            gap: false,
            preprocessor: false,
            verbatim: false,
            origins: None,
        }
    }

    /// Sets the origins, so that spans refer to the files from which the text was made.
    pub fn with_origins(mut self, origins: Option<Origins>) -> Self {
        self.origins = origins;
        self
    }

    /// Keeps every comment line as it is, and treats preprocessor lines like comments.
    pub fn verbatim(mut self) -> Self {
        self.verbatim = true;
        self
    }

    /// Whether the text is in free form.
    pub fn is_free(&self) -> bool {
        self.form == Form::Free
    }

    /// Returns the layout of fixed form, for the files that this one includes.
    pub fn columns(&self) -> Columns {
        self.columns
    }

    /// Returns the last column of a statement in fixed form.
    fn last_column(&self) -> usize {
        self.columns.line_length
    }

    fn byte(&self, at: usize) -> u8 {
        // The end of the text also ends a line.
        self.text.as_bytes().get(at).copied().unwrap_or(b'\n')
    }

    /// Returns the start of the line after the one that contains `at`.
    fn next_line(&self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        match bytes
            .get(at..)
            .and_then(|b| b.iter().position(|c| *c == b'\n'))
        {
            Some(n) => at + n + 1,
            None => bytes.len(),
        }
    }

    /// Reads the next statement. Returns false if there is none; `st` then holds the comments
    /// before the end of the file.
    pub fn next(&mut self, st: &mut Statement) -> bool {
        let found = self.next_here(st);
        if let Some(origins) = &self.origins {
            origins.statement(st);
        }
        found
    }

    fn next_here(&mut self, st: &mut Statement) -> bool {
        st.clear(self.file);
        st.last_column = self.last_column();
        loop {
            let more = match self.form {
                Form::Fixed => self.next_fixed(st),
                Form::Free => self.next_free(st),
            };
            if !more {
                return false;
            }
            // A label alone is kept, so that it is reported.
            if !st.text.is_empty() || st.label.is_some() || st.error.is_some() {
                self.apart = true;
                return true;
            }
        }
    }

    fn begin(&mut self) {
        self.mode = ScanMode::Code;
        self.format = false;
        self.gap = false;
        self.quote_at_end = None;
    }

    /// Keeps the comment whose text begins at `at`.
    fn comment(&mut self, to: &mut Vec<Comment>, at: usize) {
        self.comment_at(to, at, false);
    }

    /// Keeps the comment whose text begins at `at`. `trailing` says whether code precedes it on its
    /// line.
    fn comment_at(&mut self, to: &mut Vec<Comment>, at: usize, trailing: bool) {
        let end = self.next_line(at);
        let text = self.text.get(at..end).unwrap_or("").trim_end();
        let apart = std::mem::replace(&mut self.apart, false);
        let start = at.saturating_sub(1);
        if self.verbatim {
            return to.push(Comment {
                text: text.to_owned(),
                span: Span::new(self.file, start as u32, (at + text.len()) as u32),
                apart,
                trailing,
            });
        }
        // A comment that asks for a form must not be printed in a text in the other form.
        if self
            .text
            .get(start..at + text.len())
            .and_then(settings_in)
            .is_none()
        {
            let span = Span::new(self.file, start as u32, (at + text.len()) as u32);
            let line = self.text.get(start..at + text.len()).unwrap_or("");
            let free = self.is_free();
            let directive = directive::read(line, free).filter(|_| !trailing);
            let mut text = text.to_owned();
            if let Some(line) = directive {
                if free || self.begins_line(start) {
                    return directive::keep(to, line, span, apart);
                }
                // In fixed form, directives begin in column 1. This one would, when printed.
                text.insert(0, ' ');
            }
            to.push(Comment {
                text,
                span,
                apart,
                trailing,
            });
        }
    }

    /// Whether nothing is before `at` on its line.
    fn begins_line(&self, at: usize) -> bool {
        let before = self.text.get(..at).unwrap_or("");
        before
            .trim_end_matches('\u{c}')
            .chars()
            .next_back()
            .is_none_or(|c| c == '\n')
    }

    fn set_label(&self, st: &mut Statement, label: Option<(u64, usize, usize)>) {
        let Some((number, start, end)) = label else {
            return;
        };
        let span = Span::new(self.file, start as u32, end as u32);
        match u32::try_from(number) {
            Ok(n @ 1..=99999) => st.label = Some((n, span)),
            _ => self.error(
                st,
                Diagnostic::error(
                    &rules::BAD_LABEL,
                    span,
                    format!("`{number}` is not a statement label"),
                )
                .help("labels are numbers from 1 to 99999"),
            ),
        }
    }

    fn layout_error(&self, st: &mut Statement, error: Option<LayoutError>, at: usize) {
        let Some(error) = error else { return };
        let width = self
            .text
            .get(at..)
            .and_then(|t| t.chars().next())
            .map_or(1, char::len_utf8);
        let span = Span::new(self.file, at as u32, (at + width) as u32);
        let diagnostic = match error {
            LayoutError::LabelField => Diagnostic::error(
                &rules::UNKNOWN_STATEMENT,
                span,
                "the statement begins in columns 1 to 5, which are for labels",
            )
            .label("fixed form begins in column 7")
            .help(
                "begin in column 7, or say that the file is in free form with a first line \
                 `!farfel: form=free`",
            ),
            LayoutError::Preprocessor => Diagnostic::error(
                &rules::UNSUPPORTED,
                span,
                "this line is for a preprocessor, and the file does not go through one",
            )
            .help(
                "give the file a name that ends in `.F`, `.FF` or `.F90`, or switch the \
                 preprocessor on for all files with the setting `preprocess = true`",
            ),
            LayoutError::LabelledContinuation => Diagnostic::error(
                &rules::BAD_LABEL,
                span,
                "a labelled line has something in column 6, which would make it a continuation",
            )
            .label("column 6")
            .help("a statement begins in column 7 or later"),
        };
        self.error(st, diagnostic);
    }

    /// Returns the character that ends at `at`.
    fn character_before(&self, at: usize) -> Span {
        let text = self.text.get(..at).unwrap_or("");
        let width = text.chars().next_back().map_or(0, char::len_utf8);
        Span::new(self.file, (at - width) as u32, at as u32)
    }

    fn error(&self, st: &mut Statement, diagnostic: Diagnostic) {
        if st.error.is_none() {
            st.error = Some(Box::new(diagnostic));
        }
    }

    /// Reports an unterminated constant.
    fn finish(&mut self, st: &mut Statement) {
        let (start, what, mark) = match self.mode {
            ScanMode::Code => return,
            ScanMode::Quote(_, start) => (start, "the character constant does not end", CHAR),
            ScanMode::Hollerith(_, start) => (
                start,
                "the statement ends before the Hollerith constant does",
                HOLLERITH,
            ),
        };
        let end = self.pos.min(self.text.len());
        let shown = self
            .text
            .get(start..end)
            .and_then(|t| t.lines().next())
            .map_or(1, |t| t.trim_end().len().max(1));
        let mut error = Diagnostic::error(
            &rules::SYNTAX,
            Span::new(self.file, start as u32, (start + shown) as u32),
            what,
        );
        if mark == CHAR {
            error = error
                .label("opened here")
                .help("close it with the same quote; a quote inside is written twice");
        }
        if let Some(at) = st.cut_off {
            error = error.related(at, st.beyond());
        }
        self.error(st, error);
        self.finish_string(st, mark, start, start + shown);
    }
}
