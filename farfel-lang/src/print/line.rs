//! One statement, laid out on as many lines as it needs.

use super::Form;
use std::fmt;

/// A statement in the making: its text, and the places where it may be broken.
///
/// Names, numbers and constants are never broken as long as they fit on a line of their
/// own.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: String,
    /// Offsets into `text` where a line may end, ascending.
    breaks: Vec<usize>,
}

/// Columns 7 to 72.
const FIXED_WIDTH: usize = 66;
/// The longest line in free form.
const FREE_WIDTH: usize = 132;
/// How much further in continuation lines stand.
const CONTINUATION_INDENT: usize = 4;

impl Line {
    /// Adds text that stays together.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a formatted value that stays together.
    pub(super) fn put(&mut self, value: impl fmt::Display) {
        use fmt::Write;
        // Writing into a String cannot fail.
        let _ = write!(self.text, "{value}");
    }

    /// Allows a line to end here.
    pub(super) fn gap(&mut self) {
        if self.breaks.last() != Some(&self.text.len()) {
            self.breaks.push(self.text.len());
        }
    }

    /// `, ` and a place to break.
    pub(super) fn comma(&mut self) {
        self.push(", ");
        self.gap();
    }

    /// The items with `, ` between them.
    pub(super) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut item: impl FnMut(&mut Self, T),
    ) {
        for (i, x) in items.into_iter().enumerate() {
            if i > 0 {
                self.comma();
            }
            item(self, x);
        }
    }

    /// The text, on one line however long it is.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Writes the statement to `out`, empties the line, and returns how many lines of
    /// text it took. `indent` is counted from the first column that a statement may use.
    pub(super) fn lay_out(
        &mut self,
        out: &mut String,
        form: Form,
        label: Option<u32>,
        indent: usize,
    ) -> usize {
        let lines = match form {
            Form::Fixed => self.lay_out_fixed(out, label, indent),
            Form::Free => self.lay_out_free(out, label, indent),
        };
        self.text.clear();
        self.breaks.clear();
        lines
    }

    /// A compiler counts bytes, and reads the columns 7 to 72 of continued lines as one
    /// text. So a constant that is too long for one line fills its line to column 72 and
    /// goes on in column 7.
    fn lay_out_fixed(&self, out: &mut String, label: Option<u32>, indent: usize) -> usize {
        match label {
            Some(l) => out.push_str(&format!("{l:>5} ")),
            None => blanks(out, 6),
        }
        let mut start = 0;
        let mut column = indent;
        let mut breaks = self.breaks.iter().copied().peekable();
        let mut lines = 1;
        loop {
            blanks(out, column);
            let room = FIXED_WIDTH - column;
            let end = self.end_of_line(start, room, &mut breaks);
            match end {
                Piece::Rest => {
                    out.push_str(&self.text[start..]);
                    out.push('\n');
                    return lines;
                }
                Piece::Until(end) => {
                    out.push_str(without_blank(&self.text[start..end]));
                    start = end;
                    column = indent + CONTINUATION_INDENT;
                }
                Piece::Within(end) => {
                    out.push_str(&self.text[start..end]);
                    start = end;
                    column = 0;
                }
            }
            out.push_str("\n     +");
            lines += 1;
        }
    }

    fn lay_out_free(&self, out: &mut String, label: Option<u32>, indent: usize) -> usize {
        let mut column = indent;
        if let Some(l) = label {
            let label = format!("{l} ");
            out.push_str(&label);
            column = indent.saturating_sub(label.len());
        }
        let mut start = 0;
        let mut breaks = self.breaks.iter().copied().peekable();
        let mut lines = 1;
        loop {
            blanks(out, column);
            // Room for ` &` at the end of the line and `&` before a constant that goes on.
            let room = FREE_WIDTH - indent - CONTINUATION_INDENT - 3;
            match self.end_of_line(start, room, &mut breaks) {
                Piece::Rest => {
                    out.push_str(&self.text[start..]);
                    out.push('\n');
                    return lines;
                }
                Piece::Until(end) => {
                    out.push_str(without_blank(&self.text[start..end]));
                    out.push_str(" &\n");
                    start = end;
                    column = indent + CONTINUATION_INDENT;
                }
                Piece::Within(end) => {
                    out.push_str(&self.text[start..end]);
                    out.push_str("&\n&");
                    start = end;
                    column = 0;
                }
            }
            lines += 1;
        }
    }

    /// How far the line that begins at `start` goes, with `room` bytes on it.
    fn end_of_line(
        &self,
        start: usize,
        room: usize,
        breaks: &mut std::iter::Peekable<impl Iterator<Item = usize>>,
    ) -> Piece {
        if self.text.len() - start <= room {
            return Piece::Rest;
        }
        let mut end = start;
        while let Some(b) = breaks.next_if(|b| without_blank(&self.text[start..*b]).len() <= room) {
            end = b;
        }
        if end > start {
            return Piece::Until(end);
        }
        end = start + room;
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        Piece::Within(end)
    }
}

/// How far a line goes.
enum Piece {
    /// To the end of the statement.
    Rest,
    /// To a place where it may be broken.
    Until(usize),
    /// To a place inside of something that is too long for a line.
    Within(usize),
}

fn without_blank(text: &str) -> &str {
    text.strip_suffix(' ').unwrap_or(text)
}

fn blanks(out: &mut String, n: usize) {
    out.extend(std::iter::repeat_n(' ', n));
}
