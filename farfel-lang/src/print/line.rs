//! Lays out one statement on as many lines as it needs.

use super::Form;
use crate::encoding;
use std::fmt;

/// A statement under construction: its text, and the places where it may be broken.
///
/// Names, numbers and constants are never broken as long as they fit on a line of their own.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: String,
    /// The places where a line may end, in ascending order.
    breaks: Vec<Break>,
    /// The offsets of blanks that are left out if the statement then takes fewer lines, in ascending order, each with
    /// whether it is in parentheses.
    spare: Vec<(usize, bool)>,
    /// Whether there is an operator between blanks that is not in parentheses: items then need blanks between them.
    keeps_outer_blanks: bool,
    /// The number of open parentheses.
    depth: usize,
}

/// A place where a line may end.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Break {
    /// The offset into the text.
    at: usize,
    /// Whether to use it only if the line has no better one.
    weak: bool,
}

/// The width of columns 7 to 72.
pub(super) const FIXED_WIDTH: usize = 66;
/// The longest line in free form.
const FREE_WIDTH: usize = 132;
/// Additional indentation of continuation lines.
const CONTINUATION_INDENT: usize = 4;

impl Line {
    /// Adds text that must not be broken.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a formatted value that must not be broken.
    pub(super) fn put(&mut self, value: impl fmt::Display) {
        use fmt::Write;
        // Writing into a String cannot fail.
        let _ = write!(self.text, "{value}");
    }

    /// Allows a line to end here.
    pub(super) fn gap(&mut self) {
        self.break_here(false);
    }

    /// Adds `(`, after which a line may end if necessary.
    pub(super) fn open(&mut self) {
        self.push("(");
        self.break_here(true);
        self.depth += 1;
    }

    /// Adds `)`.
    pub(super) fn close(&mut self) {
        self.push(")");
        self.depth = self.depth.saturating_sub(1);
    }

    /// Adds a blank that may be left out.
    fn blank(&mut self) {
        self.spare.push((self.text.len(), self.depth > 0));
        self.push(" ");
    }

    /// Adds ` = `, after which a line may end if necessary.
    pub(super) fn equals(&mut self) {
        self.push(" = ");
        self.break_here(true);
    }

    fn break_here(&mut self, weak: bool) {
        let at = self.text.len();
        if self.breaks.last().is_none_or(|b| b.at < at) {
            self.breaks.push(Break { at, weak });
        }
    }

    /// Adds `, `, after which a line may end.
    pub(super) fn comma(&mut self) {
        self.push(",");
        self.blank();
        self.gap();
    }

    /// Adds a binary operator, before which a line may end. Blanks around `+` and `-` may be left out in subscripts and
    /// arguments.
    pub(super) fn operator(&mut self, text: &str) {
        let bare = text.trim();
        let blanks = text.len() > bare.len();
        let spare = self.depth > 0 && matches!(bare, "+" | "-");
        self.keeps_outer_blanks |= blanks && self.depth == 0;
        let blank = |line: &mut Self| match (blanks, spare) {
            (true, true) => line.blank(),
            (true, false) => line.push(" "),
            (false, _) => {}
        };
        blank(self);
        self.gap();
        self.push(bare);
        blank(self);
    }

    /// Adds the items, separated by `, `.
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

    /// Returns the text on a single line, however long it is.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Writes the statement to `out`, clears the line, and returns the number of lines of text.
    /// `indent` counts from the first column available to a statement.
    pub(super) fn lay_out(
        &mut self,
        out: &mut String,
        form: Form,
        label: Option<u32>,
        indent: usize,
    ) -> usize {
        let start = out.len();
        let mut lines = self.lay_out_as_is(out, form, label, indent);
        if lines > 1 && !self.spare.is_empty() {
            let mut denser = String::new();
            let fewer = self
                .denser()
                .lay_out_as_is(&mut denser, form, label, indent);
            if fewer < lines {
                lines = fewer;
                out.truncate(start);
                out.push_str(&denser);
            }
        }
        self.text.clear();
        self.breaks.clear();
        self.spare.clear();
        self.keeps_outer_blanks = false;
        self.depth = 0;
        lines
    }

    fn lay_out_as_is(
        &self,
        out: &mut String,
        form: Form,
        label: Option<u32>,
        indent: usize,
    ) -> usize {
        let raw = encoding::has_raw(&self.text);
        match form {
            Form::Fixed => self.lay_out_fixed(out, label, indent, raw),
            Form::Free => self.lay_out_free(out, label, indent, raw),
        }
    }

    /// Returns the same statement without the blanks that may be left out.
    fn denser(&self) -> Line {
        let spare = self.spare.iter();
        let spare = spare.filter(|(_, inner)| *inner || !self.keeps_outer_blanks);
        let spare: Vec<usize> = spare.map(|(at, _)| *at).collect();
        let mut text = String::with_capacity(self.text.len());
        let mut from = 0;
        for at in &spare {
            text.push_str(&self.text[from..*at]);
            from = at + 1;
        }
        text.push_str(&self.text[from..]);
        let moved = |b: &Break| Break {
            at: b.at - spare.partition_point(|s| *s < b.at),
            weak: b.weak,
        };
        Line {
            text,
            breaks: self.breaks.iter().map(moved).collect(),
            ..Line::default()
        }
    }

    /// A compiler counts bytes, and reads columns 7 to 72 of continued lines as one text. So a
    /// constant that is too long for one line fills its line up to column 72 and continues in
    /// column 7.
    fn lay_out_fixed(
        &self,
        out: &mut String,
        label: Option<u32>,
        indent: usize,
        raw: bool,
    ) -> usize {
        match label {
            Some(l) => out.push_str(&format!("{l:>5} ")),
            None => blanks(out, 6),
        }
        let mut start = 0;
        let mut column = indent;
        let mut breaks = &*self.breaks;
        let mut lines = 1;
        loop {
            match self.end_of_line(start, FIXED_WIDTH - column, &mut breaks, raw) {
                Piece::Rest => {
                    blanks(out, column);
                    out.push_str(&self.text[start..]);
                    out.push('\n');
                    return lines;
                }
                Piece::Until(end) => {
                    blanks(out, column);
                    out.push_str(without_blank(&self.text[start..end]));
                    start = end;
                    column = indent + CONTINUATION_INDENT;
                }
                Piece::Within(end) => {
                    let piece = whole_characters(&self.text[start..end], FIXED_WIDTH - column);
                    blanks(out, FIXED_WIDTH - encoding::len(piece));
                    out.push_str(piece);
                    start += piece.len();
                    column = 0;
                }
            }
            out.push_str("\n     +");
            lines += 1;
        }
    }

    fn lay_out_free(
        &self,
        out: &mut String,
        label: Option<u32>,
        indent: usize,
        raw: bool,
    ) -> usize {
        let mut column = indent;
        if let Some(l) = label {
            let label = format!("{l} ");
            out.push_str(&label);
            column = indent.saturating_sub(label.len());
        }
        // Reserves room for a label, for ` &` at the end of the line, and for `&` before a
        // continued constant.
        let room = FREE_WIDTH - indent - CONTINUATION_INDENT - 6;
        let mut start = 0;
        let mut breaks = &*self.breaks;
        let mut lines = 1;
        loop {
            blanks(out, column);
            match self.end_of_line(start, room, &mut breaks, raw) {
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
                Piece::Within(_) => {
                    let end = self.end_in_free_constant(start, start + room);
                    out.push_str(&self.text[start..end]);
                    out.push_str("&\n&");
                    start = end;
                    column = 0;
                }
            }
            lines += 1;
        }
    }

    /// Returns the last place before `end` where a constant can be continued on the next line: not
    /// within a character, and not between quotes, because the halves of a doubled quote must not
    /// be separated.
    fn end_in_free_constant(&self, start: usize, mut end: usize) -> usize {
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let quotes = ['\'', '"'];
        let before = self.text[start..end].trim_end_matches(quotes).len();
        if self.text[end..].starts_with(quotes) && before > 0 {
            start + before
        } else {
            end
        }
    }

    /// Returns the extent of the line that begins at `start` and has room for `room` bytes. `raw`
    /// says whether the text contains characters that stand for one byte each.
    ///
    /// `breaks` holds the breaks after `start`; those that the line passes are removed.
    fn end_of_line(&self, start: usize, room: usize, breaks: &mut &[Break], raw: bool) -> Piece {
        let fits = |text: &str| text.len() <= room || raw && encoding::len(text) <= room;
        if fits(&self.text[start..]) {
            return Piece::Rest;
        }
        let after = breaks.partition_point(|b| b.at <= start);
        *breaks = &breaks[after..];
        let fitting = breaks
            .iter()
            .take_while(|b| fits(without_blank(&self.text[start..b.at])))
            .count();
        let (fitting, rest) = breaks.split_at(fitting);
        let best = fitting.iter().rposition(|b| !b.weak);
        match best.or_else(|| fitting.len().checked_sub(1)) {
            Some(best) => {
                let end = fitting[best].at;
                *breaks = &breaks[best + 1..];
                Piece::Until(end)
            }
            None => Piece::Within(rest.first().map_or(self.text.len(), |b| b.at)),
        }
    }
}

/// The extent of a line.
enum Piece {
    /// Up to the end of the statement.
    Rest,
    /// Up to a place where the statement may be broken.
    Until(usize),
    /// The text up to this place is too long for a line.
    Within(usize),
}

/// Removes the blank after which a line is broken.
fn without_blank(text: &str) -> &str {
    text.strip_suffix(' ').unwrap_or(text)
}

/// Returns the longest beginning of a constant, at most `room` bytes in the file, that can end a
/// line without splitting a character, neither at its own end nor at the ends of the full lines
/// that follow.
pub(crate) fn whole_characters(constant: &str, room: usize) -> &str {
    let bytes = encoding::len(constant);
    // The character that begins at each byte of the file.
    let mut begins = vec![None; bytes + 1];
    let mut width = 0;
    for (at, c) in constant.char_indices() {
        if let Some(place) = begins.get_mut(width) {
            *place = Some(at);
        }
        width += encoding::width(c);
    }
    let begin = |width: usize| begins.get(width).copied().flatten();
    let whole = |width: &usize| {
        (*width..bytes)
            .step_by(FIXED_WIDTH)
            .all(|at| begin(at).is_some())
    };
    // For the lines after the first there is no choice, and none is needed. If no width works, the
    // text has characters of several sizes and several lines.
    let widths = || (1..=room.min(bytes)).rev();
    let best = widths().find(whole).and_then(begin);
    let end = best.or_else(|| widths().find_map(begin));
    constant
        .get(..end.unwrap_or(constant.len()))
        .unwrap_or(constant)
}

fn blanks(out: &mut String, n: usize) {
    out.extend(std::iter::repeat_n(' ', n));
}
