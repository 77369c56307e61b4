//! A statement as a sequence of letters to read from.

use super::form::{BAD, CHAR, HOLLERITH, Statement, TokenKind};
use super::open_unit::{LabelUse, OpenUnit};
use crate::diagnostic::{Diagnostic, rules};
use crate::encoding::legible;
use crate::ir::{Label, SymId};
use crate::source::Span;

/// The result of reading. An error ends the parsing of its statement.
pub(super) type ParseResult<T> = Result<T, Box<Diagnostic>>;

/// The maximum nesting of parentheses, signs and powers. Deeper nesting could overflow the stack of
/// this and later passes.
const MAX_DEPTH: u32 = 150;

/// A statement, the position up to which it was read, and the unit to which it belongs.
pub(super) struct StatementParser<'a> {
    pub st: &'a Statement,
    pub pos: usize,
    pub free: bool,
    pub open_unit: &'a mut OpenUnit,
    /// The units around that of `open_unit`, outermost first.
    pub hosts: &'a [OpenUnit],
    pub diagnostics: &'a mut Vec<Diagnostic>,
    pub depth: u32,
}

impl<'a> StatementParser<'a> {
    /// Returns the letter at a position; 0 past the end.
    pub fn at(&self, pos: usize) -> u8 {
        self.st.text.get(pos).copied().unwrap_or(0)
    }

    /// Returns the next letter; 0 at the end.
    pub fn peek(&self) -> u8 {
        self.at(self.pos)
    }

    /// Whether the end of the statement is reached.
    pub fn done(&self) -> bool {
        self.pos >= self.st.text.len()
    }

    /// Returns the letters not yet read.
    pub fn rest(&self) -> &'a [u8] {
        self.st.text.get(self.pos..).unwrap_or(&[])
    }

    /// Returns the span of the next letter.
    pub fn here(&self) -> Span {
        if self.done() {
            let end = self.st.end(self.st.text.len());
            return Span::new(self.st.file, end, end);
        }
        self.st.span(self.pos, self.pos + 1)
    }

    /// Returns the span from a position to the last letter read.
    pub fn since(&self, from: usize) -> Span {
        self.st.span(from, self.pos)
    }

    /// Skips a letter if it comes next.
    pub fn eat(&mut self, letter: u8) -> bool {
        let found = self.peek() == letter;
        if found {
            self.pos += 1;
        }
        found
    }

    /// Skips a letter that must come next.
    pub fn expect(&mut self, letter: u8) -> ParseResult<()> {
        if self.eat(letter) {
            return Ok(());
        }
        let mut error = self.expected(&format!("`{}`", letter as char));
        if letter == b')' && error.help.is_none() {
            let help = match self.peek() {
                b'=' => {
                    "a parenthesis is not closed; or a comparison is meant, which is `.EQ.` or `==`"
                }
                _ => "a parenthesis is not closed",
            };
            error.help = Some(help.to_owned());
        }
        Err(error)
    }

    /// Skips what must follow an item of a list in parentheses. Returns true for `)`, false for
    /// `,`.
    pub fn list_ends(&mut self) -> ParseResult<bool> {
        if self.eat(b')') {
            return Ok(true);
        }
        if self.eat(b',') {
            return Ok(false);
        }
        let mut error = self.expected("`,` or `)`");
        if self.done() && error.help.is_none() {
            error.help = Some("a parenthesis is not closed".to_owned());
        }
        Err(error)
    }

    /// Checks that the statement ends here.
    pub fn end(&mut self) -> ParseResult<()> {
        if self.done() {
            return Ok(());
        }
        if self.peek() == b')' {
            let mut error = self.expected("the end of the statement");
            error.help = Some("a parenthesis is closed that was not opened".to_owned());
            return Err(error);
        }
        Err(self.expected("the end of the statement"))
    }

    /// Skips a keyword if it comes next. A blank in `word` marks a place where free form may have
    /// one. Free form may have none elsewhere in the keyword, and none between letters after it.
    pub fn keyword(&mut self, word: &str) -> bool {
        match self.keyword_end(self.pos, word) {
            Some(end) => {
                self.mark_keyword(end, word);
                self.pos = end;
                true
            }
            None => false,
        }
    }

    /// Records the keyword from here up to but excluding `end`.
    pub fn mark_keyword(&self, end: usize, word: &str) {
        if self.st.marks.is_none() {
            return;
        }
        let (mut blanks, mut letter) = (0u32, 0u32);
        for w in word.bytes() {
            match w {
                b' ' => blanks |= 1u32.checked_shl(letter).unwrap_or(0),
                _ => letter += 1,
            }
        }
        self.st.mark(self.pos, end, TokenKind::Keyword(blanks));
    }

    /// Returns the end of a keyword that begins at `from`.
    pub fn keyword_end(&self, from: usize, word: &str) -> Option<usize> {
        let mut at = from;
        let mut may_gap = true;
        for w in word.bytes() {
            if w == b' ' {
                may_gap = true;
                continue;
            }
            // Blanks matter between letters only: `LEN =`.
            let gap = self.free && !may_gap && is_name_letter(w) && self.st.gap(at);
            if self.at(at) != w || gap {
                return None;
            }
            may_gap = !is_name_letter(w);
            at += 1;
        }
        if self.free
            && word.as_bytes().last().is_some_and(u8::is_ascii_alphabetic)
            && is_name_letter(self.at(at))
            && !self.st.gap(at)
        {
            return None;
        }
        Some(at)
    }

    /// Returns the end of the name that begins at `from`; `from` if there is none.
    pub fn name_end(&self, from: usize) -> usize {
        if !self.at(from).is_ascii_uppercase() {
            return from;
        }
        let mut at = from + 1;
        while is_name_letter(self.at(at)) && !(self.free && self.st.gap(at)) {
            at += 1;
        }
        at
    }

    /// Returns the end of the number that begins at `from`; `from` if there is none.
    pub fn digits_end(&self, from: usize) -> usize {
        let mut at = from;
        while self.at(at).is_ascii_digit() && !(self.free && at > from && self.st.gap(at)) {
            at += 1;
        }
        at
    }

    /// Returns the letters of a range as text.
    pub fn text(&self, from: usize, to: usize) -> &'a str {
        let bytes = self.st.text.get(from..to).unwrap_or(&[]);
        std::str::from_utf8(bytes).unwrap_or("")
    }

    /// Reads a name if one comes next.
    pub fn name(&mut self) -> Option<(&'a str, Span)> {
        let end = self.name_end(self.pos);
        if end == self.pos {
            return None;
        }
        let from = std::mem::replace(&mut self.pos, end);
        self.st.mark(from, end, TokenKind::Name);
        Some((self.text(from, end), self.since(from)))
    }

    /// Reads a name that must come next; `what` describes it in the error.
    pub fn expect_name(&mut self, what: &str) -> ParseResult<(&'a str, Span)> {
        match self.name() {
            Some(n) => Ok(n),
            None => Err(self.expected(what)),
        }
    }

    /// Reads a name that must come next, as a symbol of the unit.
    pub fn expect_sym(&mut self, what: &str) -> ParseResult<(SymId, Span)> {
        let (name, span) = self.expect_name(what)?;
        Ok((self.intern(name, span), span))
    }

    /// Returns the symbol of a name in the unit.
    pub fn intern(&mut self, name: &str, span: Span) -> SymId {
        self.open_unit.unit.symbols.intern(name, span)
    }

    /// Reads an integer if one comes next.
    pub fn number(&mut self) -> Option<(i64, Span)> {
        let end = self.digits_end(self.pos);
        let value = self.text(self.pos, end).parse().ok()?;
        let from = std::mem::replace(&mut self.pos, end);
        self.st.mark(from, end, TokenKind::Number);
        Some((value, self.since(from)))
    }

    /// Reads a label as the target of a jump.
    pub fn label(&mut self) -> ParseResult<Label> {
        self.label_for(LabelUse::Jump)
    }

    /// Reads a label to which the statement refers.
    pub fn label_for(&mut self, purpose: LabelUse) -> ParseResult<Label> {
        let from = self.pos;
        let end = self.digits_end(from);
        if end == from {
            return Err(self.expected("a statement label"));
        }
        self.pos = end;
        self.st.mark(from, end, TokenKind::Number);
        let span = self.since(from);
        match self.text(from, end).parse() {
            Ok(n @ 1..=99999) => {
                self.open_unit.refer(n, span, purpose);
                Ok(n)
            }
            _ => Err(Box::new(
                Diagnostic::error(
                    &rules::BAD_LABEL,
                    span,
                    format!("`{}` is not a statement label", self.text(from, end)),
                )
                .help("labels are numbers from 1 to 99999"),
            )),
        }
    }

    /// Returns the index of the parenthesis that closes the one at `open`; `None` if there is none.
    pub fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (i, c) in self.st.text.iter().enumerate().skip(open) {
            match c {
                b'(' => depth += 1,
                b')' => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(i);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the index of the first component reference, `A%B`.
    pub fn component(&self) -> Option<usize> {
        let text = &self.st.text;
        (1..text.len()).find(|at| {
            text[*at] == b'%'
                && (is_name_letter(text[*at - 1]) || text[*at - 1] == b')')
                && self.at(*at + 1).is_ascii_uppercase()
        })
    }

    /// Enters a level of nesting. Call [`StatementParser::leave`] afterwards.
    pub fn enter(&mut self) -> ParseResult<()> {
        if self.depth >= MAX_DEPTH {
            return Err(Box::new(
                Diagnostic::error(
                    &rules::UNSUPPORTED,
                    self.here(),
                    format!("the expression is nested more than {MAX_DEPTH} deep"),
                )
                .help("assign parts of it to variables first"),
            ));
        }
        self.depth += 1;
        Ok(())
    }

    /// Leaves a level of nesting.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Returns the error that something other than `wanted` was found.
    pub fn expected(&self, wanted: &str) -> Box<Diagnostic> {
        let found = self.peek();
        if found == BAD {
            return Box::new(
                Diagnostic::error(
                    &rules::BAD_CHARACTER,
                    self.here(),
                    format!(
                        "`{}` has no meaning here",
                        legible(self.st.string_value(self.pos)).escape_debug()
                    ),
                )
                .label(format!("expected {wanted}")),
            );
        }
        if found == b'%' {
            return Box::new(
                Diagnostic::error(
                    &rules::UNSUPPORTED,
                    self.here(),
                    "Farfel does not support components of variables",
                )
                .help("write a variable or an array for each component"),
            );
        }
        let (what, span) = self.found();
        let mut error = Diagnostic::error(
            &rules::SYNTAX,
            span,
            format!("expected {wanted}, found {what}"),
        );
        let likely = match (found, self.at(self.pos + 1)) {
            (b'&', b'&') => Some("the operator is written `.AND.`"),
            (b'.', b'A'..=b'Z') if wanted != "an expression" => {
                Some("operators have a dot on either side: `.EQ.`, `.NE.`, `.AND.`, …")
            }
            (b'.', 0 | b' ' | b'0'..=b'9' | b')' | b',')
                if self.at(self.pos.wrapping_sub(1)).is_ascii_uppercase() =>
            {
                Some("operators have a dot on either side: `.EQ.`, `.NE.`, `.AND.`, …")
            }
            _ => None,
        };
        if let Some(help) = likely {
            error = error.help(help);
        }
        if let Some(at) = self.st.cut_off {
            let next = self.st.last_column + 1;
            error = error.related(at, self.st.beyond()).help(format!(
                "break the line before column {next} and continue it with a mark in column 6"
            ));
        }
        Box::new(error)
    }

    /// Describes the next item for a message, with its span.
    fn found(&self) -> (String, Span) {
        let at = self.pos;
        match self.peek() {
            0 => ("the end of the statement".to_owned(), self.here()),
            CHAR => ("a character constant".to_owned(), self.here()),
            HOLLERITH => ("a Hollerith constant".to_owned(), self.here()),
            c if c.is_ascii_uppercase() => {
                let end = self.name_end(at);
                (format!("`{}`", self.text(at, end)), self.st.span(at, end))
            }
            c if c.is_ascii_digit() => {
                let end = self.digits_end(at);
                (format!("`{}`", self.text(at, end)), self.st.span(at, end))
            }
            c => (format!("`{}`", c as char), self.here()),
        }
    }
}

/// Whether a letter can be part of a name: letters, digits, underscore and `$`.
pub(super) fn is_name_letter(c: u8) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, b'_' | b'$')
}
