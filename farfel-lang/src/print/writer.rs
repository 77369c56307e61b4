//! The whole text: indentation, labels, comments, line markers.

use super::line::Line;
use super::{Form, Options, directive};
use crate::ir::{Comment, Label};
use crate::source::{FileId, Span};
use crate::syntax::sentinel;
use std::fmt::Write;

/// The text that has been printed, and where in it we are.
pub(super) struct Writer<'a> {
    out: String,
    options: &'a Options<'a>,
    /// How many blocks and nested subprograms are open.
    level: usize,
    /// With line markers: the place from which a compiler takes the next line to come.
    assumed: Option<(FileId, usize)>,
    /// Where in the text the last line begins, if it is the end of a statement.
    last: Option<usize>,
    /// The statement being written. Kept to use its memory again.
    line: Line,
}

/// Columns for a level of nesting.
const INDENT: usize = 2;
/// Deeper levels are not indented further, so that statements always have room.
const MAX_INDENT: usize = 30;

impl<'a> Writer<'a> {
    pub(super) fn new(options: &'a Options<'a>) -> Self {
        Writer {
            out: String::new(),
            options,
            level: 0,
            assumed: None,
            last: None,
            line: Line::default(),
        }
    }

    /// The text.
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// A block or nested subprogram begins.
    pub(super) fn open(&mut self) {
        self.level += 1;
    }

    /// A block or nested subprogram ends.
    pub(super) fn close(&mut self) {
        self.level -= 1;
    }

    /// A statement that `write` writes, on as many lines as it takes.
    pub(super) fn statement(
        &mut self,
        label: Option<Label>,
        span: Span,
        write: impl FnOnce(&mut Line),
    ) {
        self.marker(span);
        write(&mut self.line);
        let indent = (self.level * INDENT).min(MAX_INDENT);
        let lines = self
            .line
            .lay_out(&mut self.out, self.options.form, label, indent);
        let end = self.out.len().saturating_sub(1);
        self.last = Some(self.out[..end].rfind('\n').map_or(0, |n| n + 1));
        self.advance(lines);
    }

    /// A statement that is written the same each time.
    pub(super) fn fixed_statement(&mut self, label: Option<Label>, span: Span, text: &str) {
        self.statement(label, span, |l| l.push(text));
    }

    /// A comment of the tree.
    pub(super) fn remark(&mut self, comment: &Comment) {
        let Comment { text, trailing } = comment;
        match self.last {
            Some(line) if *trailing && self.fits(line, text) => {
                if !self.options.comments {
                    return;
                }
                self.out.truncate(self.out.len() - 1);
                self.out.push_str(" !");
                if !stands_apart(text) {
                    self.out.push(' ');
                }
                self.out.push_str(text);
                self.out.push('\n');
                self.last = None;
            }
            _ => self.comment(text),
        }
    }

    /// Whether a comment can stand at the end of the last line, which begins at `line`.
    fn fits(&self, line: usize, text: &str) -> bool {
        let code = self.out.len() - line;
        match self.options.form {
            // What begins beyond column 72 is no comment.
            Form::Fixed => code + 2 <= 72,
            // With the space that is put before the text, so that it fits the next time, too.
            Form::Free => code + text.len() + 2 + usize::from(!stands_apart(text)) <= 132,
        }
    }

    /// A comment, which may have several lines.
    ///
    /// Directives (`C$OMP …`) keep their sentinel, and go on in further lines as the form has
    /// it. Other text stands apart from the mark.
    pub(super) fn comment(&mut self, text: &str) {
        let mark = match self.options.form {
            Form::Fixed => 'C',
            Form::Free => '!',
        };
        self.last = None;
        let mut lines = 0;
        // An empty comment is one line.
        for line in text.split('\n') {
            let line = line.trim_end();
            if let Some(sentinel) = sentinel(line) {
                lines += directive::lay_out(&mut self.out, self.options.form, line, sentinel);
                continue;
            }
            if !self.options.comments {
                continue;
            }
            self.out.push(mark);
            if !stands_apart(line) {
                self.out.push(' ');
            }
            self.out.push_str(line);
            self.out.push('\n');
            lines += 1;
        }
        self.advance(lines);
    }

    /// An empty line.
    pub(super) fn empty_line(&mut self) {
        self.out.push('\n');
        self.last = None;
        self.advance(1);
    }

    /// An empty line between comments, where these are printed.
    pub(super) fn gap(&mut self) {
        if self.options.comments {
            self.empty_line();
        }
    }

    /// Says where the next statement comes from, if a compiler would assume another place.
    fn marker(&mut self, span: Span) {
        let Some(sources) = self.options.line_markers else {
            return;
        };
        let Some(file) = sources.get(span.file) else {
            if self.options.every_line {
                self.out.push_str("# 0 \"\"\n");
                self.assumed = None;
            }
            return;
        };
        let place = (span.file, file.line_column(span.start).line);
        if self.assumed == Some(place) && !self.options.every_line {
            return;
        }
        let name = file.name.replace('\\', "\\\\").replace('"', "\\\"");
        // Writing into a String cannot fail.
        let _ = writeln!(self.out, "# {} \"{name}\"", place.1);
        self.assumed = Some(place);
    }

    fn advance(&mut self, lines: usize) {
        if let Some((_, line)) = &mut self.assumed {
            *line += lines;
        }
    }
}

/// Whether the text of a comment needs no space between it and its mark.
fn stands_apart(text: &str) -> bool {
    text.is_empty() || text.starts_with([' ', '\t'])
}
