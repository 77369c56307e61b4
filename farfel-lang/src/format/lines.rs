//! Lays a statement out on lines.

use super::spacing::blanks;
use super::tokens::{Kind, Token};
use crate::encoding::len;
use crate::print::whole_characters;
use crate::syntax::Form;

/// A line of the result.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// The line without the comment at its end.
    pub code: String,
    /// The comment at its end, with its mark, and its column in the source, from 0.
    pub comment: Option<(String, usize)>,
    /// Whether this is a line of a statement, to which a comment may be added.
    pub is_code: bool,
}

impl Line {
    pub fn whole(text: impl Into<String>) -> Self {
        Line {
            code: text.into(),
            ..Line::default()
        }
    }
}

/// A comment within or after a statement.
#[derive(Debug, Clone)]
pub(super) struct StatementComment {
    /// The number of tokens before it.
    pub after: usize,
    /// The text, with its mark.
    pub text: String,
    /// Its column, from 0.
    pub column: usize,
    /// Whether it has a line of its own.
    pub own_line: bool,
}

/// The position of a statement in the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatementLayout {
    pub form: Form,
    /// The last column.
    pub width: usize,
    pub indent: usize,
    pub label: Option<u32>,
}

/// Additional indentation of continuation lines.
const CONTINUATION: usize = 4;

/// Lays out a statement. `broken` says before which tokens the user begins a line.
pub(super) fn lay_out(
    tokens: &[Token],
    broken: &[bool],
    notes: &[StatementComment],
    layout: StatementLayout,
) -> Vec<Line> {
    let breaker = LineBreaker {
        tokens,
        blanks: blanks(tokens),
        notes,
        layout,
    };
    let rows = breaker.rows(broken);
    breaker.write(&rows)
}

struct LineBreaker<'a> {
    tokens: &'a [Token],
    blanks: Vec<bool>,
    notes: &'a [StatementComment],
    layout: StatementLayout,
}

/// The tokens of a line, as a half-open range.
type Row = std::ops::Range<usize>;

impl LineBreaker<'_> {
    /// Divides the tokens into the user's lines if these fit; otherwise into as few lines as
    /// possible. Comments within the statement stay in place.
    fn rows(&self, broken: &[bool]) -> Vec<Row> {
        let n = self.tokens.len();
        let mut starts: Vec<usize> = (0..n)
            .filter(|i| *i == 0 || broken.get(*i).copied().unwrap_or(false))
            .collect();
        // A comment within the statement ends its line.
        for note in self.notes.iter().filter(|c| c.after > 0 && c.after < n) {
            if !starts.contains(&note.after) {
                starts.push(note.after);
            }
        }
        starts.sort_unstable();
        let rows = ranges(&starts, n);
        let fits = |row: &Row| self.width(row) <= self.room(row.start == 0);
        if rows.iter().all(fits) {
            return rows;
        }
        let inside = |c: &StatementComment| c.after > 0 && c.after < n;
        if self.notes.iter().any(inside) {
            return rows.into_iter().flat_map(|r| self.filled(r)).collect();
        }
        self.filled(0..n)
    }

    /// Returns the number of columns for the text of a line.
    fn room(&self, first: bool) -> usize {
        let StatementLayout {
            form,
            width,
            indent,
            label,
        } = self.layout;
        let before = match (form, first) {
            (Form::Fixed, true) => 6 + indent,
            (Form::Fixed, false) => 6 + indent + CONTINUATION,
            // ` &` ends all lines but the last.
            (Form::Free, true) => {
                let label = label.map_or(0, |l| l.to_string().len() + 1);
                indent.max(label) + 2
            }
            (Form::Free, false) => indent + CONTINUATION + 2,
        };
        width.saturating_sub(before)
    }

    fn width(&self, row: &Row) -> usize {
        let blanks = row.clone().skip(1).filter(|i| self.blanks[*i]).count();
        row.clone()
            .map(|i| len(&self.tokens[i].text))
            .sum::<usize>()
            + blanks
    }

    /// Breaks a row that is too long for a line.
    fn filled(&self, row: Row) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut start = row.start;
        while start < row.end {
            let room = self.room(start == 0);
            let mut end = start + 1;
            while end < row.end && self.width(&(start..end + 1)) <= room {
                end += 1;
            }
            // A constant too long for any line can begin here as well as on the next one.
            let endless = |t: &Token| t.kind == Kind::Constant && len(&t.text) > self.room(false);
            if end < row.end && endless(&self.tokens[end]) && self.width(&(start..end)) + 2 < room {
                end += 1;
            } else if end < row.end {
                end = self.good_end(start, end);
            }
            rows.push(start..end);
            start = end;
        }
        rows
    }

    /// Returns the best place to end a line that may extend from `start` up to but excluding `end`.
    fn good_end(&self, start: usize, end: usize) -> usize {
        let mut depth = 0i32;
        let depths: Vec<i32> = (start..end)
            .map(|i| {
                match &*self.tokens[i].upper {
                    "(" | "(/" => depth += 1,
                    ")" | "/)" => depth -= 1,
                    _ => {}
                }
                depth
            })
            .collect();
        let half = start + (end - start) / 2;
        // In the second half of the line, breaks at the lowest depth of parentheses, preferably
        // after a comma, otherwise at a blank.
        let rank = |at: usize| -> Option<i32> {
            let (p, c) = (&self.tokens[at - 1], &self.tokens[at]);
            if matches!(&*c.upper, "," | ")" | "/)" | "(") || !self.blanks[at] && !p.is(",") {
                return None;
            }
            let comma = if p.is(",") { 0 } else { 1 };
            Some(depths[at - 1 - start] * 2 + comma)
        };
        let best = (half.max(start + 1)..=end)
            .filter_map(|at| Some((rank(at)?, at)))
            .min_by_key(|(rank, at)| (*rank, usize::MAX - at));
        let any = || {
            (start + 1..=end)
                .rev()
                .find(|at| self.blanks[*at] && !matches!(&*self.tokens[*at].upper, "(" | ","))
        };
        let some = || {
            (start + 1..=end).rev().find(|at| {
                let (p, c) = (&self.tokens[at - 1], &self.tokens[*at]);
                (p.kind == Kind::Sign || c.kind == Kind::Sign)
                    && !matches!(&*c.upper, "," | ")" | "(")
            })
        };
        best.map(|(_, at)| at)
            .or_else(any)
            .or_else(some)
            .unwrap_or(end)
    }

    fn write(&self, rows: &[Row]) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let mut notes = self.notes.iter().peekable();
        let last = rows.len().saturating_sub(1);
        for (n, row) in rows.iter().enumerate() {
            let from = lines.len();
            self.row(row, n == 0, n == last, &mut lines);
            while let Some(note) = notes.next_if(|c| c.after <= row.end) {
                if note.own_line && n < last {
                    lines.push(self.comment_line(note));
                    continue;
                }
                let fits = |l: &Line| l.comment.is_none() && len(&l.code) + 3 <= self.layout.width;
                match lines.last_mut().filter(|l| l.is_code && fits(l)) {
                    Some(line) => line.comment = Some((note.text.clone(), note.column)),
                    // There is no room, so the comment goes on a line of its own before.
                    None => lines.insert(from, self.comment_line(note)),
                }
            }
        }
        lines
    }

    /// Puts a comment on a line of its own.
    fn comment_line(&self, note: &StatementComment) -> Line {
        Line::whole(own_line(&note.text, note.column, self.layout))
    }

    fn row(&self, row: &Row, first: bool, last: bool, lines: &mut Vec<Line>) {
        let StatementLayout {
            form,
            width,
            indent,
            label,
        } = self.layout;
        let mut text = match (form, first) {
            (Form::Fixed, true) => match label {
                Some(l) => format!("{l:>5} "),
                None => " ".repeat(6),
            },
            (Form::Fixed, false) => "     &".to_owned(),
            (Form::Free, true) => label.map_or_else(String::new, |l| format!("{l} ")),
            (Form::Free, false) => String::new(),
        };
        let column = match (form, first) {
            (Form::Fixed, true) => 6 + indent,
            (Form::Fixed, false) => 6 + indent + CONTINUATION,
            (Form::Free, true) => indent,
            (Form::Free, false) => indent + CONTINUATION,
        };
        while text.len() < column {
            text.push(' ');
        }
        let begin = text.len();
        for i in row.clone() {
            if i > row.start && self.blanks[i] {
                text.push(' ');
            }
            let token = &self.tokens[i].text;
            let room = width.saturating_sub(len(&text));
            let needs = len(token) + if form == Form::Free { 2 } else { 0 };
            if needs <= room || self.tokens[i].kind != Kind::Constant {
                text.push_str(token);
                continue;
            }
            // The constant is too long for any line.
            if i > row.start && len(token) <= width.saturating_sub(begin + 2) && form == Form::Free
            {
                text.push_str(" &");
                lines.push(code(text));
                text = " ".repeat(indent + CONTINUATION);
                text.push_str(token);
                continue;
            }
            text = self.split(text, token, lines);
        }
        if form == Form::Free && !last {
            text.push_str(" &");
        }
        lines.push(code(text));
    }

    /// Writes a constant over several lines, and returns the line on which it ends.
    fn split(&self, mut text: String, token: &str, lines: &mut Vec<Line>) -> String {
        let StatementLayout { form, width, .. } = self.layout;
        let mut rest = token;
        loop {
            let room = match form {
                Form::Fixed => width.saturating_sub(len(&text)),
                Form::Free => width.saturating_sub(len(&text) + 1),
            };
            if len(rest) <= room {
                text.push_str(rest);
                return text;
            }
            let mut end = whole_characters(rest, room.max(1)).len();
            if form == Form::Free {
                let quotes = ['\'', '"', '&'];
                let before = rest[..end].trim_end_matches(quotes).len();
                if rest[end..].starts_with(quotes) && before > 0 {
                    end = before;
                }
            }
            if end == 0 {
                text.push_str(rest);
                return text;
            }
            let (piece, more) = rest.split_at(end);
            if form == Form::Fixed {
                // The line must be full.
                text.push_str(&" ".repeat(room.saturating_sub(len(piece))));
            }
            text.push_str(piece);
            if form == Form::Free {
                text.push('&');
            }
            lines.push(code(text));
            text = match form {
                Form::Fixed => "     &".to_owned(),
                Form::Free => "&".to_owned(),
            };
            rest = more;
        }
    }
}

fn code(code: String) -> Line {
    Line {
        code,
        comment: None,
        is_code: true,
    }
}

fn ranges(starts: &[usize], n: usize) -> Vec<Row> {
    let ends = starts.iter().skip(1).copied().chain([n]);
    starts
        .iter()
        .copied()
        .zip(ends)
        .map(|(a, b)| a..b)
        .collect()
}

/// Indents a comment with a line of its own: in column 1 if it is there in the source or has a mark
/// that is only valid there, otherwise with the statements.
pub(super) fn own_line(text: &str, column: usize, layout: StatementLayout) -> String {
    if column == 0 || !text.starts_with('!') {
        return text.to_owned();
    }
    let before = match layout.form {
        Form::Fixed => 6 + layout.indent,
        Form::Free => layout.indent,
    };
    format!("{}{text}", " ".repeat(before))
}

/// Aligns the trailing comments of consecutive lines: at the column of the first, or further right
/// if code is longer.
pub(super) fn align(lines: &mut [Line], width: usize) {
    let mut from = 0;
    while from < lines.len() {
        let noted = |l: &Line| l.comment.is_some();
        let to = from + lines[from..].iter().take_while(|l| noted(l)).count();
        let group = &mut lines[from..to];
        let longest = group.iter().map(|l| len(&l.code)).max().unwrap_or(0) + 1;
        let first = group
            .first()
            .and_then(|l| l.comment.as_ref())
            .map_or(0, |c| c.1);
        let column = longest.max(first);
        for line in group {
            if let Some((_, at)) = &mut line.comment {
                // Text that begins beyond the last column is not a comment.
                *at = if column < width {
                    column
                } else {
                    len(&line.code) + 1
                };
            }
        }
        from = to + 1;
    }
}

impl Line {
    /// Returns the text of the line.
    pub fn text(&self) -> String {
        match &self.comment {
            None => self.code.trim_end().to_owned(),
            Some((comment, column)) => {
                let mut text = self.code.clone();
                let column = (*column).max(len(&text) + 1);
                text.push_str(&" ".repeat(column - len(&text)));
                text.push_str(comment);
                text
            }
        }
    }
}
