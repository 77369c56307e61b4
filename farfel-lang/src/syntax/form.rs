//! Physical lines to logical statements.
//!
//! A statement becomes a row of upper-case letters without blanks, each with the place
//! it comes from, since blanks mean nothing in fixed form. In free form, where they end
//! names and numbers, a bit tells where there was one. Character and Hollerith constants
//! are taken out whole; a mark stands in their place.

use super::Form;
use super::detect::directive;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::Label;
use crate::source::{FileId, Span};
use std::sync::Arc;

/// Stands in [`Statement::text`] for a character constant.
pub(super) const CHAR: u8 = b'\'';
/// Stands in [`Statement::text`] for a Hollerith constant.
pub(super) const HOLLERITH: u8 = b'"';
/// Stands in [`Statement::text`] for a character without meaning.
pub(super) const BAD: u8 = 1;

/// In [`Statement::offsets`]: there was a blank before.
const GAP: u32 = 1 << 31;

/// A comment line, or the comment at the end of a line.
#[derive(Debug)]
pub(super) struct Comment {
    /// Without marker and trailing blanks.
    pub text: String,
    pub span: Span,
    /// A blank line or code stands before it, so that it belongs to no comment above.
    pub apart: bool,
}

/// A character or Hollerith constant, or a character without meaning.
#[derive(Debug)]
struct Text {
    /// Where its mark stands in [`Statement::text`].
    at: usize,
    value: String,
    /// One past its last byte in the file.
    end: u32,
}

/// A logical statement.
#[derive(Debug)]
pub(super) struct Statement {
    pub file: FileId,
    pub label: Option<(Label, Span)>,
    /// Letters in upper case, without blanks.
    pub text: Vec<u8>,
    offsets: Vec<u32>,
    strings: Vec<Text>,
    /// Comments before and inside of the statement.
    pub comments: Vec<Comment>,
    /// What is wrong with it before anyone reads it.
    pub fault: Option<Box<Diagnostic>>,
    /// The first text beyond column 72.
    pub cut_off: Option<Span>,
    /// Column of the first letter, from 1.
    pub column: u32,
}

impl Statement {
    pub fn new() -> Self {
        Statement {
            file: Span::NONE.file,
            label: None,
            text: Vec::new(),
            offsets: Vec::new(),
            strings: Vec::new(),
            comments: Vec::new(),
            fault: None,
            cut_off: None,
            column: 0,
        }
    }

    fn clear(&mut self, file: FileId) {
        self.file = file;
        self.label = None;
        self.text.clear();
        self.offsets.clear();
        self.strings.clear();
        self.comments.clear();
        self.fault = None;
        self.cut_off = None;
        self.column = 0;
    }

    fn push(&mut self, letter: u8, offset: usize, gap: bool) {
        self.text.push(letter);
        self.offsets.push(offset as u32 | if gap { GAP } else { 0 });
    }

    /// First byte of a letter in the file; the end of the statement for what is past it.
    pub fn start(&self, at: usize) -> u32 {
        match self.offsets.get(at) {
            Some(o) => o & !GAP,
            None => self.end(self.text.len()),
        }
    }

    /// One past the last byte of the letter before `at`.
    pub fn end(&self, at: usize) -> u32 {
        let Some(before) = at.min(self.text.len()).checked_sub(1) else {
            return self.label.map_or(0, |(_, s)| s.end);
        };
        match self.text[before] {
            CHAR | HOLLERITH | BAD => self.string(before).map_or(0, |s| s.end),
            _ => self.start(before) + 1,
        }
    }

    /// The place of the letters from `from` to before `to`.
    pub fn span(&self, from: usize, to: usize) -> Span {
        let start = self.start(from);
        Span::new(self.file, start, self.end(to).max(start))
    }

    /// The whole statement, without its label.
    pub fn whole(&self) -> Span {
        if self.text.is_empty() {
            return self.label.map_or(Span::NONE, |(_, s)| s);
        }
        self.span(0, self.text.len())
    }

    /// There was a blank before the letter (free form).
    pub fn gap(&self, at: usize) -> bool {
        self.offsets.get(at).is_some_and(|o| o & GAP != 0)
    }

    fn string(&self, at: usize) -> Option<&Text> {
        let i = self.strings.binary_search_by_key(&at, |s| s.at).ok()?;
        self.strings.get(i)
    }

    /// The constant, or the character without meaning, whose mark stands at `at`.
    pub fn string_value(&self, at: usize) -> &str {
        self.string(at).map_or("", |s| &s.value)
    }
}

/// What is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Code,
    /// A character constant: its quote and where it begins.
    Quote(u8, usize),
    /// A Hollerith constant: how many characters are still to come, and where it begins.
    Hollerith(usize, usize),
}

/// Where reading a line stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// At its end, in this column.
    Line(usize),
    /// After `;`, in this column.
    Semicolon(usize),
    /// At a free-form `&`.
    Ampersand,
}

/// A physical line.
#[derive(Debug)]
enum Physical {
    End,
    Blank,
    Comment {
        /// After the marker.
        text: usize,
    },
    /// A statement begins, its text at this byte and column.
    Initial {
        label: Option<(u64, usize, usize)>,
        text: usize,
        column: usize,
        fault: Option<Layout>,
    },
    Continuation {
        text: usize,
        column: usize,
    },
}

/// Faults in how a line is laid out.
#[derive(Debug, Clone, Copy)]
enum Layout {
    /// Something that is no label in columns 1 to 5.
    LabelField,
    /// A labelled line with something in column 6.
    LabelledContinuation,
    /// `#` in column 1 that is no line marker.
    Preprocessor,
}

/// What each byte is outside of constants: itself in upper case, or one of these.
mod class {
    pub const BLANK: u8 = 0;
    pub const BAD: u8 = 1;
    pub const QUOTE: u8 = 2;
    pub const COMMENT: u8 = 3;
    pub const SEMICOLON: u8 = 4;
    pub const NEWLINE: u8 = 5;
    pub const H: u8 = 6;
    pub const AMPERSAND: u8 = 7;
    pub const PAREN: u8 = 8;
    /// Further bytes of a character that is already reported.
    pub const TAIL: u8 = 9;
    /// Everything from here on stands for itself.
    pub const FIRST: u8 = 10;
}

static CLASS: [u8; 256] = classes();

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

/// The last column of a statement in fixed form.
const LAST_COLUMN: usize = 72;

/// Reads the statements of one file.
pub(super) struct Reader {
    text: Arc<str>,
    pub file: FileId,
    form: Form,
    /// Where the next line, or the rest of a line after `;`, begins.
    pos: usize,
    /// The column there, when it is the rest of a line.
    rest: Option<usize>,
    mode: Mode,
    /// The constant that is being read.
    value: Vec<u8>,
    /// The last character constant ended in column 72 with this quote: a quote in column
    /// 7 of the next line makes a doubled one with it.
    quote_at_end: Option<u8>,
    /// A blank line or code came last.
    apart: bool,
    /// The statement begins with `FORMAT(`.
    format: bool,
    gap: bool,
    /// Lines meant for a preprocessor are reported once.
    preprocessor: bool,
}

impl Reader {
    pub fn new(file: FileId, text: Arc<str>, form: Form) -> Self {
        let pos = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Reader {
            text,
            file,
            form,
            pos,
            rest: None,
            mode: Mode::Code,
            value: Vec::new(),
            quote_at_end: None,
            apart: true,
            format: false,
            gap: false,
            preprocessor: false,
        }
    }

    /// True in free form.
    pub fn is_free(&self) -> bool {
        self.form == Form::Free
    }

    fn byte(&self, at: usize) -> u8 {
        // The end of the text ends a line too.
        self.text.as_bytes().get(at).copied().unwrap_or(b'\n')
    }

    /// The start of the line after the one that `at` is in.
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

    /// The next statement; false when there is none. Comments that stand before the end
    /// of the file are left in `st` then.
    pub fn next(&mut self, st: &mut Statement) -> bool {
        st.clear(self.file);
        loop {
            let more = match self.form {
                Form::Fixed => self.next_fixed(st),
                Form::Free => self.next_free(st),
            };
            if !more {
                return false;
            }
            // A label alone is kept, to be reported.
            if !st.text.is_empty() || st.label.is_some() || st.fault.is_some() {
                self.apart = true;
                return true;
            }
        }
    }

    fn begin(&mut self) {
        self.mode = Mode::Code;
        self.format = false;
        self.gap = false;
        self.quote_at_end = None;
    }

    fn next_fixed(&mut self, st: &mut Statement) -> bool {
        self.begin();
        let stop = match self.rest.take() {
            Some(column) => {
                st.column = column as u32;
                self.scan(st, self.pos, column)
            }
            None => loop {
                match self.fixed_line(self.pos) {
                    Physical::End => return false,
                    Physical::Blank => {
                        self.apart = true;
                        self.pos = self.next_line(self.pos);
                    }
                    Physical::Comment { text } => {
                        self.comment(&mut st.comments, text);
                        self.pos = self.next_line(text);
                    }
                    Physical::Initial {
                        label,
                        text,
                        column,
                        fault,
                    } => {
                        self.set_label(st, label);
                        self.layout_fault(st, fault, text);
                        st.column = column as u32;
                        if matches!(fault, Some(Layout::Preprocessor)) {
                            self.preprocessor = true;
                            self.pos = self.next_line(text);
                            return true;
                        }
                        break self.scan(st, text, column);
                    }
                    Physical::Continuation { text, column } => {
                        self.fault(
                            st,
                            Diagnostic::error(
                                &rules::SYNTAX,
                                Span::new(self.file, text as u32 - 1, text as u32),
                                "there is no statement that this line could continue",
                            )
                            .label("continuation mark in column 6")
                            .help("a statement begins in column 7 or later"),
                        );
                        break self.scan(st, text, column);
                    }
                }
            },
        };
        let mut stop = stop;
        loop {
            let column = match stop {
                Stop::Semicolon(column) => {
                    self.rest = Some(column);
                    break;
                }
                Stop::Line(column) => column,
                Stop::Ampersand => LAST_COLUMN,
            };
            let Some((text, begin)) = self.fixed_continuation(st) else {
                break;
            };
            // A card has 72 columns, and the blanks up to there belong to a constant.
            let pad = (LAST_COLUMN + 1).saturating_sub(column);
            match &mut self.mode {
                Mode::Code => {}
                Mode::Quote(..) => self.value.extend(std::iter::repeat_n(b' ', pad)),
                Mode::Hollerith(left, start) => {
                    let pad = pad.min(*left);
                    *left -= pad;
                    let (left, start) = (*left, *start);
                    self.value.extend(std::iter::repeat_n(b' ', pad));
                    if left == 0 {
                        self.finish_string(st, HOLLERITH, start, self.pos.saturating_sub(1));
                    }
                }
            }
            stop = self.scan(st, text, begin);
        }
        self.finish(st);
        true
    }

    /// The text of the continuation line that comes next, if one does. Goes past the
    /// comments before it.
    fn fixed_continuation(&mut self, st: &mut Statement) -> Option<(usize, usize)> {
        let mut at = self.pos;
        let (mut blank, mut commented) = (false, false);
        let found = loop {
            match self.fixed_line(at) {
                Physical::Blank => blank = true,
                Physical::Comment { .. } => commented = true,
                Physical::Continuation { text, column } => break (text, column),
                Physical::End | Physical::Initial { .. } => return None,
            }
            at = self.next_line(at);
        };
        if blank || commented {
            // Only now is it known that these comments belong to the statement.
            let mut at = self.pos;
            while at < found.0 {
                if let Physical::Comment { text } = self.fixed_line(at) {
                    self.comment(&mut st.comments, text);
                }
                at = self.next_line(at);
            }
        }
        Some(found)
    }

    /// What the line is that begins at `pos`.
    fn fixed_line(&self, pos: usize) -> Physical {
        if pos >= self.text.len() {
            return Physical::End;
        }
        let mut at = pos;
        while self.byte(at) == 0x0c {
            at += 1;
        }
        match self.byte(at) {
            b'C' | b'c' | b'*' | b'!' => return Physical::Comment { text: at + 1 },
            b'#' => return self.hash(at),
            b'D' | b'd' if self.is_debug_line(at) => {
                return Physical::Comment { text: at + 1 };
            }
            _ => {}
        }
        let mut column = 1;
        let mut label: Option<(u64, usize, usize)> = None;
        let (text, begin) = loop {
            let c = self.byte(at);
            match c {
                b'\n' => {
                    return match label {
                        None => Physical::Blank,
                        label => Physical::Initial {
                            label,
                            text: at,
                            column,
                            fault: None,
                        },
                    };
                }
                b'\t' => {
                    // A tab goes to column 7, or to 6 when a digit follows.
                    if matches!(self.byte(at + 1), b'1'..=b'9') && label.is_none() {
                        return Physical::Continuation {
                            text: at + 2,
                            column: 7,
                        };
                    }
                    break (at + 1, 7);
                }
                _ if column == 6 => {
                    if matches!(c, b' ' | b'0' | b'\r' | 0x0c) {
                        break (at + 1, 7);
                    }
                    if label.is_some() {
                        return Physical::Initial {
                            label,
                            text: at,
                            column,
                            fault: Some(Layout::LabelledContinuation),
                        };
                    }
                    let mut end = at + 1;
                    while (0x80..0xc0).contains(&self.byte(end)) {
                        end += 1;
                    }
                    return Physical::Continuation {
                        text: end,
                        column: 7,
                    };
                }
                b' ' | b'\r' | 0x0b | 0x0c | 0x1a => {}
                b'0'..=b'9' => {
                    let digit = u64::from(c - b'0');
                    label = Some(match label {
                        None => (digit, at, at + 1),
                        Some((n, start, _)) => (n * 10 + digit, start, at + 1),
                    });
                }
                b'!' if label.is_none() => return Physical::Comment { text: at + 1 },
                _ => {
                    return Physical::Initial {
                        label,
                        text: at,
                        column,
                        fault: Some(Layout::LabelField),
                    };
                }
            }
            at += 1;
            column += 1;
        };
        let mut first = text;
        while matches!(self.byte(first), b' ' | b'\t' | b'\r' | 0x0b | 0x0c | 0x1a) {
            first += 1;
        }
        match self.byte(first) {
            b'\n' if label.is_none() => Physical::Blank,
            b'!' if label.is_none() => Physical::Comment { text: first + 1 },
            _ => Physical::Initial {
                label,
                text: first,
                column: begin + (first - text),
                fault: None,
            },
        }
    }

    /// A line with `#` in column 1: preprocessors leave `# 12 "file"`, which says nothing
    /// that matters here; what is meant for them must not be passed over.
    fn hash(&self, at: usize) -> Physical {
        let rest = self.text.get(at + 1..self.next_line(at)).unwrap_or("");
        let rest = rest.trim_start();
        if self.preprocessor
            || rest.is_empty()
            || rest.starts_with("line")
            || rest.starts_with(|c: char| c.is_ascii_digit())
        {
            return Physical::Blank;
        }
        Physical::Initial {
            label: None,
            text: at,
            column: 1,
            fault: Some(Layout::Preprocessor),
        }
    }

    /// `D` in column 1 makes a comment where the label field is otherwise empty; else it
    /// is a statement in the wrong columns, which must not vanish.
    fn is_debug_line(&self, at: usize) -> bool {
        (1..5)
            .map(|i| self.byte(at + i))
            .take_while(|c| !matches!(c, b'\n' | b'\t'))
            .all(|c| matches!(c, b' ' | b'\r' | b'0'..=b'9'))
    }

    fn next_free(&mut self, st: &mut Statement) -> bool {
        self.begin();
        let mut stop = match self.rest.take() {
            Some(column) => {
                st.column = column as u32;
                self.scan(st, self.pos, column)
            }
            None => loop {
                match self.free_line(self.pos) {
                    Physical::End => return false,
                    Physical::Blank => {
                        self.apart = true;
                        self.pos = self.next_line(self.pos);
                    }
                    Physical::Comment { text } => {
                        self.comment(&mut st.comments, text);
                        self.pos = self.next_line(text);
                    }
                    Physical::Initial {
                        label,
                        text,
                        column,
                        fault,
                    } => {
                        self.set_label(st, label);
                        st.column = column as u32;
                        if fault.is_some() {
                            self.layout_fault(st, fault, text);
                            self.preprocessor = true;
                            self.pos = self.next_line(text);
                            return true;
                        }
                        break self.scan(st, text, column);
                    }
                    Physical::Continuation { text, column } => {
                        self.fault(
                            st,
                            Diagnostic::error(
                                &rules::SYNTAX,
                                Span::new(self.file, text as u32 - 1, text as u32),
                                "there is no statement that this line could continue",
                            )
                            .help("the line before must end with `&`"),
                        );
                        break self.scan(st, text, column);
                    }
                }
            },
        };
        loop {
            match stop {
                Stop::Semicolon(column) => {
                    self.rest = Some(column);
                    break;
                }
                Stop::Line(_) => break,
                Stop::Ampersand => {}
            }
            let mut at = self.pos;
            let (text, begin) = loop {
                match self.free_line(at) {
                    Physical::End => break (at, 1),
                    Physical::Blank => {}
                    Physical::Comment { text } => self.comment(&mut st.comments, text),
                    Physical::Initial {
                        label,
                        text,
                        column,
                        ..
                    } => {
                        self.gap = true;
                        // What looks like a label here is a number of the statement.
                        break (label.map_or(text, |(_, s, _)| s), column);
                    }
                    Physical::Continuation { text, column } => break (text, column),
                }
                at = self.next_line(at);
            };
            if at >= self.text.len() {
                self.pos = at;
                break;
            }
            stop = self.scan(st, text, begin);
        }
        self.finish(st);
        true
    }

    /// What the line is that begins at `pos`.
    fn free_line(&self, pos: usize) -> Physical {
        if pos >= self.text.len() {
            return Physical::End;
        }
        let mut at = pos;
        while CLASS[usize::from(self.byte(at))] == class::BLANK {
            at += 1;
        }
        match self.byte(at) {
            b'\n' => return Physical::Blank,
            b'!' => return Physical::Comment { text: at + 1 },
            b'#' if at == pos => return self.hash(at),
            b'*' if at == pos => return Physical::Comment { text: at + 1 },
            b'&' => {
                return Physical::Continuation {
                    text: at + 1,
                    column: at + 2 - pos,
                };
            }
            // A fixed-form comment; no statement has a name, a blank and a letter.
            b'C' | b'c' if at == pos && self.is_letter_c_comment(at) => {
                return Physical::Comment { text: at + 1 };
            }
            _ => {}
        }
        let digits = at;
        let mut number = 0u64;
        while let c @ b'0'..=b'9' = self.byte(at) {
            number = number
                .saturating_mul(10)
                .saturating_add(u64::from(c - b'0'));
            at += 1;
        }
        let label = (at > digits).then_some((number, digits, at));
        if label.is_some() {
            while CLASS[usize::from(self.byte(at))] == class::BLANK {
                at += 1;
            }
        }
        Physical::Initial {
            label,
            text: at,
            column: at + 1 - pos,
            fault: None,
        }
    }

    fn is_letter_c_comment(&self, at: usize) -> bool {
        let mut i = at + 1;
        while matches!(self.byte(i), b' ' | b'\t') {
            i += 1;
        }
        i > at + 1 && (self.byte(i).is_ascii_alphanumeric() || self.byte(i) >= 0x80)
            || matches!(self.byte(i), b'\n' | b'\r')
    }

    /// Reads from `at` to the end of the line into the statement.
    fn scan(&mut self, st: &mut Statement, at: usize, column: usize) -> Stop {
        let text = Arc::clone(&self.text);
        let bytes = text.as_bytes();
        let limit = match self.form {
            Form::Fixed => LAST_COLUMN,
            Form::Free => usize::MAX,
        };
        let free = self.form == Form::Free;
        let (mut at, mut column) = (at, column);
        let stop = loop {
            let Some(&c) = bytes.get(at) else {
                break Stop::Line(column);
            };
            if column > limit && !(0x80..0xc0).contains(&c) {
                self.beyond(st, at);
                self.pos = self.next_line(at);
                return Stop::Line(column);
            }
            match self.mode {
                Mode::Code => match CLASS[usize::from(c)] {
                    class::BLANK => self.gap = true,
                    class::NEWLINE => break Stop::Line(column),
                    class::QUOTE => {
                        if column == 7
                            && self.quote_at_end.take() == Some(c)
                            && let Some(s) = st.strings.pop()
                        {
                            st.text.pop();
                            let start = st.offsets.pop().unwrap_or(0) & !GAP;
                            self.value = s.value.into_bytes();
                            self.value.push(c);
                            self.mode = Mode::Quote(c, start as usize);
                        } else {
                            self.value.clear();
                            self.mode = Mode::Quote(c, at);
                        }
                    }
                    class::COMMENT => {
                        self.comment(&mut st.comments, at + 1);
                        self.pos = self.next_line(at);
                        return Stop::Line(column);
                    }
                    class::SEMICOLON => {
                        self.pos = at + 1;
                        return Stop::Semicolon(column + 1);
                    }
                    class::AMPERSAND if free && self.ends_line(at + 1) => {
                        self.pos = self.next_line(at);
                        self.comment_after(st, at + 1);
                        return Stop::Ampersand;
                    }
                    class::AMPERSAND => self.push(st, b'&', at),
                    class::PAREN => {
                        self.format |= st.text == b"FORMAT";
                        self.push(st, b'(', at);
                    }
                    class::H => match self.hollerith(st) {
                        Some((n, digits)) => {
                            let start = st.start(digits) as usize;
                            st.text.truncate(digits);
                            st.offsets.truncate(digits);
                            self.value.clear();
                            self.mode = Mode::Hollerith(n, start);
                        }
                        None => self.push(st, b'H', at),
                    },
                    class::TAIL => {
                        at += 1;
                        continue;
                    }
                    class::BAD => {
                        let c = self.text.get(at..).and_then(|t| t.chars().next());
                        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                        st.strings.push(Text {
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
                Mode::Quote(quote, start) => {
                    if c == b'\n' {
                        break Stop::Line(column);
                    }
                    if c == quote {
                        if bytes.get(at + 1) == Some(&quote) && column < limit {
                            self.value.push(quote);
                            at += 1;
                            column += 1;
                        } else {
                            self.finish_string(st, CHAR, start, at + 1);
                            self.quote_at_end = (column == limit).then_some(quote);
                        }
                    } else if free && c == b'&' && self.blank_after(at + 1) {
                        self.pos = self.next_line(at);
                        return Stop::Ampersand;
                    } else if !(c == b'\r' && bytes.get(at + 1) == Some(&b'\n')) {
                        self.value.push(c);
                    }
                }
                Mode::Hollerith(left, start) => {
                    if c == b'\n' || (c == b'\r' && bytes.get(at + 1) == Some(&b'\n')) {
                        break Stop::Line(column);
                    }
                    self.value.push(c);
                    let whole = !bytes.get(at + 1).is_some_and(|b| (0x80..0xc0).contains(b));
                    if !whole {
                        at += 1;
                        continue;
                    }
                    if left == 1 {
                        self.finish_string(st, HOLLERITH, start, at + 1);
                    } else {
                        self.mode = Mode::Hollerith(left - 1, start);
                    }
                }
            }
            // Columns count characters.
            if !(0x80..0xc0).contains(&c) {
                column += 1;
            }
            at += 1;
        };
        self.pos = (at + 1).min(bytes.len().max(at));
        stop
    }

    fn push(&mut self, st: &mut Statement, letter: u8, at: usize) {
        st.push(letter, at, self.gap);
        self.gap = false;
    }

    fn finish_string(&mut self, st: &mut Statement, mark: u8, start: usize, end: usize) {
        let value = String::from_utf8_lossy(&self.value).into_owned();
        st.strings.push(Text {
            at: st.text.len(),
            value,
            end: end as u32,
        });
        self.push(st, mark, start);
        self.mode = Mode::Code;
    }

    /// The count of a Hollerith constant whose `H` comes next, and where its digits begin.
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
            b'.' | b'_' | BAD => false,
            // In FORMAT the comma may be missing: `1X4HABCD`.
            b'A'..=b'Z' => self.format && matches!(before, b'X' | b'P'),
            CHAR | HOLLERITH => self.format,
            _ => true,
        };
        let count = text[first..]
            .iter()
            .fold(0, |n, d| n * 10 + usize::from(d - b'0'));
        (right && count > 0).then_some((count, first))
    }

    /// Only blanks or a comment follow on the line.
    fn ends_line(&self, at: usize) -> bool {
        let mut at = at;
        while CLASS[usize::from(self.byte(at))] == class::BLANK {
            at += 1;
        }
        matches!(self.byte(at), b'\n' | b'!')
    }

    /// Only blanks follow on the line.
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
            self.comment(&mut st.comments, at + 1);
        }
    }

    /// Keeps the comment whose text begins at `at`.
    fn comment(&mut self, to: &mut Vec<Comment>, at: usize) {
        let end = self.next_line(at);
        let text = self.text.get(at..end).unwrap_or("").trim_end();
        let apart = std::mem::replace(&mut self.apart, false);
        let start = at.saturating_sub(1);
        // What asks for a form must not reach a text in the other form.
        if self
            .text
            .get(start..at + text.len())
            .and_then(directive)
            .is_none()
        {
            to.push(Comment {
                text: text.to_owned(),
                span: Span::new(self.file, start as u32, (at + text.len()) as u32),
                apart,
            });
        }
    }

    /// Notes code beyond column 72, which a message may mention.
    fn beyond(&self, st: &mut Statement, at: usize) {
        if st.cut_off.is_some() || self.byte(at) == b'\n' {
            return;
        }
        let end = self.next_line(at);
        let rest = self.text.get(at..end).unwrap_or("");
        if !rest.trim().is_empty() {
            let end = at + rest.trim_end().len();
            st.cut_off = Some(Span::new(self.file, at as u32, end as u32));
        }
    }

    fn set_label(&self, st: &mut Statement, label: Option<(u64, usize, usize)>) {
        let Some((number, start, end)) = label else {
            return;
        };
        let span = Span::new(self.file, start as u32, end as u32);
        match u32::try_from(number) {
            Ok(n @ 1..=99999) => st.label = Some((n, span)),
            _ => self.fault(
                st,
                Diagnostic::error(
                    &rules::BAD_LABEL,
                    span,
                    format!("`{number}` is no statement label"),
                )
                .help("labels are numbers from 1 to 99999"),
            ),
        }
    }

    fn layout_fault(&self, st: &mut Statement, fault: Option<Layout>, at: usize) {
        let Some(fault) = fault else { return };
        let width = self
            .text
            .get(at..)
            .and_then(|t| t.chars().next())
            .map_or(1, char::len_utf8);
        let span = Span::new(self.file, at as u32, (at + width) as u32);
        let diagnostic = match fault {
            Layout::LabelField => Diagnostic::error(
                &rules::UNKNOWN_STATEMENT,
                span,
                "the statement begins in columns 1 to 5, where only a label may stand",
            )
            .label("fixed form begins in column 7")
            .help(
                "begin in column 7, or say that the file is in free form with a first line \
                 `!farfel: form=free`",
            ),
            Layout::Preprocessor => Diagnostic::error(
                &rules::UNSUPPORTED,
                span,
                "Farfel does not run a preprocessor",
            )
            .help("preprocess the file first, for instance with `gfortran -cpp -E -P`"),
            Layout::LabelledContinuation => Diagnostic::error(
                &rules::BAD_LABEL,
                span,
                "a labelled line has something in column 6, which would make it a continuation",
            )
            .label("column 6")
            .help("a statement begins in column 7 or later"),
        };
        self.fault(st, diagnostic);
    }

    fn fault(&self, st: &mut Statement, diagnostic: Diagnostic) {
        if st.fault.is_none() {
            st.fault = Some(Box::new(diagnostic));
        }
    }

    /// Reports a constant that does not end.
    fn finish(&mut self, st: &mut Statement) {
        let (start, what, mark) = match self.mode {
            Mode::Code => return,
            Mode::Quote(_, start) => (start, "the character constant does not end", CHAR),
            Mode::Hollerith(_, start) => (
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
        let mut fault = Diagnostic::error(
            &rules::SYNTAX,
            Span::new(self.file, start as u32, (start + shown) as u32),
            what,
        );
        if mark == CHAR {
            fault = fault
                .label("opened here")
                .help("close it with the same quote; a quote inside is written twice");
        }
        if let Some(at) = st.cut_off {
            fault = fault.related(at, "what stands beyond column 72 is not read");
        }
        self.fault(st, fault);
        self.finish_string(st, mark, start, start + shown);
    }
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
