//! Writes the whole text: indentation, labels, comments, line markers.

use super::line::Line;
use super::{Form, Options, directive};
use crate::ir::{Comment, Label};
use crate::source::{FileId, Span};
use crate::syntax::sentinel;
use std::fmt::Write;

/// The text printed so far, and the current position in it.
pub(super) struct Writer<'a> {
    out: String,
    options: &'a Options<'a>,
    /// The number of open blocks and nested subprograms.
    level: usize,
    /// With line markers, the place to which a compiler will attribute the next line.
    assumed: Option<(FileId, usize)>,
    /// The offset of the last line, if it is the end of a statement.
    last: Option<usize>,
    /// The statement being written, kept to reuse its memory.
    line: Line,
}

/// Columns per level of nesting.
const INDENT: usize = 2;
/// The maximum indentation, so that statements always have room.
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

    /// Returns the text.
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Begins a block or nested subprogram.
    pub(super) fn open(&mut self) {
        self.level += 1;
    }

    /// Ends a block or nested subprogram.
    pub(super) fn close(&mut self) {
        self.level -= 1;
    }

    /// Writes a statement, which `write` produces, on as many lines as it needs.
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

    /// Writes a statement with a fixed text.
    pub(super) fn fixed_statement(&mut self, label: Option<Label>, span: Span, text: &str) {
        self.statement(label, span, |l| l.push(text));
    }

    /// Writes a comment of the tree.
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

    /// Whether a comment fits at the end of the last line, which begins at `line`.
    fn fits(&self, line: usize, text: &str) -> bool {
        let code = self.out.len() - line;
        match self.options.form {
            // Text that begins beyond column 72 is not a comment.
            Form::Fixed => code + 2 <= 72,
            // Includes the space put before the text, so that it fits the next time, too.
            Form::Free => code + text.len() + 2 + usize::from(!stands_apart(text)) <= 132,
        }
    }

    /// Writes a comment, which may have several lines.
    ///
    /// Directives (`C$OMP …`) keep their sentinel and are continued as the source form requires.
    /// Other text is separated from the mark.
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

    /// Writes an empty line.
    pub(super) fn empty_line(&mut self) {
        self.out.push('\n');
        self.last = None;
        self.advance(1);
    }

    /// Writes an empty line between comments, if comments are printed.
    pub(super) fn gap(&mut self) {
        if self.options.comments {
            self.empty_line();
        }
    }

    /// Writes a line marker if a compiler would assume another place for the next statement.
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

/// Whether the text of a comment needs no space after its mark.
fn stands_apart(text: &str) -> bool {
    text.is_empty() || text.starts_with([' ', '\t'])
}
