//! Scans the letters and constants of one line.

use super::statement::{BAD, CHAR, GAP, HOLLERITH, SpecialLetter, Statement};
use super::{ScanMode, ScanStop, StatementReader};
use crate::diagnostic::{Diagnostic, rules};
use crate::encoding::begins_raw;
use crate::source::Span;
use crate::syntax::Form;
use std::sync::Arc;

/// The class of each byte outside of constants: itself in upper case, or one of these.
pub(super) mod class {
    pub const BLANK: u8 = 0;
    pub const BAD: u8 = 1;
    pub const QUOTE: u8 = 2;
    pub const COMMENT: u8 = 3;
    pub const SEMICOLON: u8 = 4;
    pub const NEWLINE: u8 = 5;
    pub const H: u8 = 6;
    pub const AMPERSAND: u8 = 7;
    pub const PAREN: u8 = 8;
    /// A further byte of a character that has been reported.
    pub const TAIL: u8 = 9;
    /// From here on, every byte stands for itself.
    pub const FIRST: u8 = 10;
}

pub(super) static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut t = [class::BAD; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        t[i] = match b {
            b'H' | b'h' => class::H,
            b'(' => class::PAREN,
            b'&' => class::AMPERSAND,
            b'a'..=b'z' => b - 32,
            b'A'..=b'Z'
            | b'0'..=b'9'
            | b'_'
            | b'='
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b')'
            | b','
            | b'.'
            | b':'
            | b'<'
            | b'>'
            | b'%'
            | b'['
            | b']'
            | b'$'
            | b'\\' => b,
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c | 0x1a => class::BLANK,
            b'\'' | b'"' => class::QUOTE,
            b'!' => class::COMMENT,
            b';' => class::SEMICOLON,
            b'\n' => class::NEWLINE,
            0x80..=0xbf => class::TAIL,
            _ => class::BAD,
        };
        i += 1;
    }
    t
}

impl StatementReader {
    /// Scans the line from `at` to its end into the statement.
    pub(super) fn scan(&mut self, st: &mut Statement, at: usize, column: usize) -> ScanStop {
        let text = Arc::clone(&self.text);
        let bytes = text.as_bytes();
        let limit = match self.form {
            Form::Fixed => self.last_column(),
            Form::Free => usize::MAX,
        };
        let free = self.form == Form::Free;
        let (mut at, mut column) = (at, column);
        // Columns count characters, as in the files of old systems, where each character is a byte.
        // Compilers, and so the printer, count the bytes of UTF-8: a constant that continues on the
        // next line may have filled its line by either count.
        let mut tails = 0;
        // The number of bytes left of a character that is one byte in the file.
        let mut raw = 0_u8;
        let stop = loop {
            let Some(&c) = bytes.get(at) else {
                break ScanStop::Line(column);
            };
            if column > limit && !(0x80..0xc0).contains(&c) {
                self.beyond(st, at);
                self.pos = self.next_line(at);
                return ScanStop::Line(column);
            }
            if c == 0xef && begins_raw(bytes, at) {
                raw = 3;
            }
            let counts = !matches!(raw, 1 | 2);
            match self.mode {
                ScanMode::Code => match CLASS[usize::from(c)] {
                    class::BLANK => self.gap = true,
                    class::NEWLINE => break ScanStop::Line(column),
                    class::QUOTE => {
                        // Nothing has followed that constant.
                        if column == 7
                            && st.text.last() == Some(&CHAR)
                            && self.quote_at_end.take() == Some(c)
                            && let Some(s) = st.strings.pop()
                        {
                            st.text.pop();
                            let start = st.offsets.pop().unwrap_or(0) & !GAP;
                            self.value = s.value.into_bytes();
                            self.value.push(c);
                            self.mode = ScanMode::Quote(c, start as usize);
                        } else {
                            self.value.clear();
                            self.mode = ScanMode::Quote(c, at);
                        }
                    }
                    class::COMMENT => {
                        self.comment_at(&mut st.comments, at + 1, true);
                        self.pos = self.next_line(at);
                        return ScanStop::Line(column);
                    }
                    class::SEMICOLON => {
                        self.pos = at + 1;
                        return ScanStop::Semicolon(column + 1);
                    }
                    class::AMPERSAND if free && self.ends_line(at + 1) => {
                        self.pos = self.next_line(at);
                        self.comment_after(st, at + 1);
                        return ScanStop::Ampersand;
                    }
                    class::AMPERSAND => self.push(st, b'&', at),
                    class::PAREN => {
                        self.format |= st.text == b"FORMAT";
                        self.push(st, b'(', at);
                    }
                    class::H => match self.hollerith(st) {
                        Some((n, digits)) => {
                            let start = st.start(digits) as usize;
                            self.gap = st.gap(digits);
                            st.text.truncate(digits);
                            st.offsets.truncate(digits);
                            self.value.clear();
                            self.mode = ScanMode::Hollerith(n, start);
                        }
                        None => self.push(st, b'H', at),
                    },
                    class::TAIL => {
                        raw = raw.saturating_sub(1);
                        at += 1;
                        continue;
                    }
                    class::BAD => {
                        let c = self.text.get(at..).and_then(|t| t.chars().next());
                        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                        st.strings.push(SpecialLetter {
                            at: st.text.len(),
                            value: c.to_string(),
                            end: (at + c.len_utf8()).min(bytes.len()) as u32,
                        });
                        self.push(st, BAD, at);
                    }
                    letter => {
                        debug_assert!(letter >= class::FIRST);
                        self.push(st, letter, at);
                    }
                },
                ScanMode::Quote(quote, start) => {
                    if c == b'\n' {
                        break ScanStop::Line(column + tails);
                    }
                    if c == quote {
                        if bytes.get(at + 1) == Some(&quote) && column < limit {
                            self.value.push(quote);
                            at += 1;
                            column += 1;
                        } else {
                            self.finish_string(st, CHAR, start, at + 1);
                            let full = column == limit || column + tails == limit;
                            self.quote_at_end = full.then_some(quote);
                        }
                    } else if free && c == b'&' && self.blank_after(at + 1) {
                        self.pos = self.next_line(at);
                        return ScanStop::Ampersand;
                    } else if !(c == b'\r' && bytes.get(at + 1) == Some(&b'\n')) {
                        self.carriage_return(st, c, at);
                        self.value.push(c);
                    }
                }
                ScanMode::Hollerith(left, start) => {
                    if c == b'\n' || (c == b'\r' && bytes.get(at + 1) == Some(&b'\n')) {
                        break ScanStop::Line(column + tails);
                    }
                    self.carriage_return(st, c, at);
                    self.value.push(c);
                    // Compilers count bytes. Characters are nevertheless not split.
                    let left = left.saturating_sub(usize::from(counts));
                    let whole = !bytes.get(at + 1).is_some_and(|b| (0x80..0xc0).contains(b));
                    if whole && left == 0 {
                        self.finish_string(st, HOLLERITH, start, at + 1);
                    } else {
                        self.mode = ScanMode::Hollerith(left, start);
                    }
                }
            }
            match (0x80..0xc0).contains(&c) {
                true => tails += usize::from(counts),
                false => column += 1,
            }
            raw = raw.saturating_sub(1);
            at += 1;
        };
        self.pos = (at + 1).min(bytes.len().max(at));
        stop
    }

    /// Reports a carriage return in the middle of a line. It has no meaning that could be printed:
    /// if a constant had to be broken after one, it would become part of the line ending.
    fn carriage_return(&self, st: &mut Statement, c: u8, at: usize) {
        if c == b'\r' {
            let error = Diagnostic::error(
                &rules::BAD_CHARACTER,
                Span::new(self.file, at as u32, at as u32 + 1),
                "a constant has a carriage return in it",
            )
            .help("write CHAR(13), or end all lines of the file alike");
            self.error(st, error);
        }
    }

    fn push(&mut self, st: &mut Statement, letter: u8, at: usize) {
        st.push(letter, at, self.gap);
        self.gap = false;
    }

    pub(super) fn finish_string(&mut self, st: &mut Statement, mark: u8, start: usize, end: usize) {
        let value = String::from_utf8_lossy(&self.value).into_owned();
        st.strings.push(SpecialLetter {
            at: st.text.len(),
            value,
            end: end as u32,
        });
        self.push(st, mark, start);
        self.mode = ScanMode::Code;
    }

    /// Returns the count of a Hollerith constant whose `H` comes next, and the index of its first
    /// digit.
    fn hollerith(&self, st: &Statement) -> Option<(usize, usize)> {
        let text = &st.text;
        let digits = text.iter().rev().take_while(|c| c.is_ascii_digit()).count();
        if digits == 0 || digits > 4 {
            return None;
        }
        let first = text.len() - digits;
        if self.form == Form::Free && (self.gap || (first + 1..text.len()).any(|i| st.gap(i))) {
            return None;
        }
        let before = *text.get(first.checked_sub(1)?)?;
        let right = match before {
            b'*' => !starts_with_type(text) || text.contains(&b'/'),
            // After `.EQ.`, but not in `1.5`.
            b'.' => first > 1 && text[first - 2].is_ascii_uppercase(),
            b'_' | BAD => false,
            // In a FORMAT the comma may be missing: `1X4HABCD`.
            b'A'..=b'Z' => self.format && matches!(before, b'X' | b'P'),
            CHAR | HOLLERITH => self.format,
            _ => true,
        };
        let count = text[first..]
            .iter()
            .fold(0, |n, d| n * 10 + usize::from(d - b'0'));
        (right && count > 0).then_some((count, first))
    }

    /// Whether only blanks or a comment follow on the line.
    fn ends_line(&self, at: usize) -> bool {
        let mut at = at;
        while CLASS[usize::from(self.byte(at))] == class::BLANK {
            at += 1;
        }
        matches!(self.byte(at), b'\n' | b'!')
    }

    /// Whether only blanks follow on the line.
    fn blank_after(&self, at: usize) -> bool {
        let mut at = at;
        while CLASS[usize::from(self.byte(at))] == class::BLANK {
            at += 1;
        }
        self.byte(at) == b'\n'
    }

    fn comment_after(&mut self, st: &mut Statement, at: usize) {
        let mut at = at;
        while CLASS[usize::from(self.byte(at))] == class::BLANK {
            at += 1;
        }
        if self.byte(at) == b'!' {
            self.comment_at(&mut st.comments, at + 1, true);
        }
    }

    /// Records text beyond the last column, for a message.
    fn beyond(&self, st: &mut Statement, at: usize) {
        if st.cut_off.is_some() || self.byte(at) == b'\n' {
            return;
        }
        let end = self.next_line(at);
        let rest = self.text.get(at..end).unwrap_or("");
        if !rest.trim().is_empty() {
            let end = at + rest.trim_end().len();
            st.cut_off = Some(Span::new(self.file, at as u32, end as u32));
            let touches = at > 0 && CLASS[usize::from(self.byte(at - 1))] != class::BLANK;
            st.cuts_code = is_code(rest.trim_end(), touches);
        }
    }
}

/// Whether the text beyond the last column looks as if it belonged to the statement. `touches` says
/// that no blank precedes that column.
fn is_code(rest: &str, touches: bool) -> bool {
    let text = rest.trim_start();
    !text.starts_with('!')
        && !is_card_number(text)
        && (rest.len() > 8
            || text.contains(|c| "+*/()=,'\"".contains(c))
            || touches && rest.len() == text.len())
}

/// Whether a text looks like a card number in columns 73 to 80: no blanks within, and digits at its
/// end.
pub(crate) fn is_card_number(text: &str) -> bool {
    text.len() <= 8
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " .-".contains(c))
}

fn starts_with_type(text: &[u8]) -> bool {
    const TYPES: [&[u8]; 8] = [
        b"INTEGER",
        b"REAL",
        b"COMPLEX",
        b"LOGICAL",
        b"CHARACTER",
        b"DOUBLE",
        b"IMPLICIT",
        b"RECURSIVE",
    ];
    TYPES.iter().any(|t| text.starts_with(t))
}
