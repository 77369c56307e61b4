//! A logical statement, from which the parser reads.

use crate::diagnostic::Diagnostic;
use crate::ir::Label;
use crate::source::{FileId, Span};
use std::cell::RefCell;

/// The meaning of a range of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A keyword. A bit is set for each of its letters that a blank may precede.
    Keyword(u32),
    /// A name.
    Name,
    /// A number or label.
    Number,
}

/// A range of letters, as indices into [`Statement::text`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenMark {
    pub from: u32,
    pub to: u32,
    pub piece: TokenKind,
}

/// Represents a character constant in [`Statement::text`].
pub(in crate::syntax) const CHAR: u8 = b'\'';
/// Represents a Hollerith constant in [`Statement::text`].
pub(in crate::syntax) const HOLLERITH: u8 = b'"';
/// Represents an invalid character in [`Statement::text`].
pub(in crate::syntax) const BAD: u8 = 1;

/// The bit in [`Statement::offsets`] which says that a blank preceded the letter.
pub(super) const GAP: u32 = 1 << 31;

/// A comment line, or the comment at the end of a line.
#[derive(Debug)]
pub(in crate::syntax) struct Comment {
    /// The text without the comment mark and trailing blanks.
    pub text: String,
    pub span: Span,
    /// Whether a blank line or code precedes it, so that it does not belong to a comment above.
    pub apart: bool,
    /// Whether code precedes it on its line.
    pub trailing: bool,
}

/// A character or Hollerith constant, or an invalid character.
#[derive(Debug)]
pub(super) struct SpecialLetter {
    /// The index of its mark in [`Statement::text`].
    pub at: usize,
    pub value: String,
    /// One past its last byte in the file.
    pub end: u32,
}

/// A logical statement.
#[derive(Debug)]
pub(in crate::syntax) struct Statement {
    pub file: FileId,
    pub label: Option<(Label, Span)>,
    /// The letters in upper case, without blanks.
    pub text: Vec<u8>,
    pub(super) offsets: Vec<u32>,
    pub(super) strings: Vec<SpecialLetter>,
    /// The comments before and within the statement.
    pub comments: Vec<Comment>,
    /// An error found before the statement is parsed.
    pub error: Option<Box<Diagnostic>>,
    /// The first text beyond the last column.
    pub cut_off: Option<Span>,
    /// Whether that text looks as if it belonged to the statement.
    pub cuts_code: bool,
    /// The column of the first letter, from 1.
    pub column: u32,
    /// The last column that is read in fixed form.
    pub last_column: usize,
    /// The meaning of the letters, if it is recorded.
    pub marks: Option<RefCell<Vec<TokenMark>>>,
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
            error: None,
            cut_off: None,
            cuts_code: false,
            column: 0,
            last_column: 0,
            marks: None,
        }
    }

    pub(super) fn clear(&mut self, file: FileId) {
        self.file = file;
        self.label = None;
        self.text.clear();
        self.offsets.clear();
        self.strings.clear();
        self.comments.clear();
        self.error = None;
        self.cut_off = None;
        self.cuts_code = false;
        self.column = 0;
        if let Some(marks) = &mut self.marks {
            marks.get_mut().clear();
        }
    }

    /// Records the meaning of the letters from `from` up to but excluding `to`. Replaces what was
    /// recorded for letters from there on, which belonged to a failed attempt.
    pub fn mark(&self, from: usize, to: usize, piece: TokenKind) {
        let Some(marks) = &self.marks else { return };
        let (from, to) = (from as u32, to as u32);
        let mut marks = marks.borrow_mut();
        while marks.last().is_some_and(|m| m.to > from) {
            marks.pop();
        }
        if to > from {
            marks.push(TokenMark { from, to, piece });
        }
    }

    /// Moves every letter to another place, and the statement to another file. A letter without a
    /// new place gets that of the letter before it.
    pub fn relocate(&mut self, to: impl Fn(u32, &mut Option<FileId>) -> Option<u32>) {
        let mut file = None;
        let mut last = 0;
        for offset in &mut self.offsets {
            last = to(*offset & !GAP, &mut file).unwrap_or(last);
            *offset = last | (*offset & GAP);
        }
        for s in &mut self.strings {
            let start = self.offsets.get(s.at).map_or(0, |o| o & !GAP);
            let end = to(s.end.saturating_sub(1), &mut file).map_or(start, |e| e + 1);
            s.end = end.max(start);
        }
        self.file = file.unwrap_or(self.file);
    }

    /// Removes and returns the comment after the end of the statement, on its last line.
    pub fn take_trailing(&mut self) -> Option<Comment> {
        let end = self.end(self.text.len());
        let last = self.comments.last()?;
        let after = last.trailing && last.span.start >= end && !self.text.is_empty();
        if after { self.comments.pop() } else { None }
    }

    /// Returns the place of each letter, and whether a blank precedes it.
    pub fn places(&self) -> impl Iterator<Item = (u32, bool)> {
        self.offsets.iter().map(|o| (o & !GAP, o & GAP != 0))
    }

    /// Returns the constants: letter index, value and span.
    pub fn constants(&self) -> impl Iterator<Item = (usize, &str, Span)> {
        let span = |s: &SpecialLetter| Span::new(self.file, self.start(s.at), s.end);
        self.strings.iter().map(move |s| (s.at, &*s.value, span(s)))
    }

    pub(super) fn push(&mut self, letter: u8, offset: usize, gap: bool) {
        self.text.push(letter);
        self.offsets.push(offset as u32 | if gap { GAP } else { 0 });
    }

    /// Returns the offset of a letter in the file; for an index past the last letter, the end of
    /// the statement.
    pub fn start(&self, at: usize) -> u32 {
        match self.offsets.get(at) {
            Some(o) => o & !GAP,
            None => self.end(self.text.len()),
        }
    }

    /// Returns the offset one past the last byte of the letter before `at`.
    pub fn end(&self, at: usize) -> u32 {
        let Some(before) = at.min(self.text.len()).checked_sub(1) else {
            return self.label.map_or(0, |(_, s)| s.end);
        };
        match self.text[before] {
            CHAR | HOLLERITH | BAD => self.string(before).map_or(0, |s| s.end),
            _ => self.start(before) + 1,
        }
    }

    /// Returns the span of the letters from `from` up to but excluding `to`.
    pub fn span(&self, from: usize, to: usize) -> Span {
        let start = self.start(from);
        Span::new(self.file, start, self.end(to).max(start))
    }

    /// Returns the span of the whole statement, without its label.
    pub fn whole(&self) -> Span {
        if self.text.is_empty() {
            return self.label.map_or(Span::NONE, |(_, s)| s);
        }
        self.span(0, self.text.len())
    }

    /// Returns the message about the text at [`Statement::cut_off`].
    pub fn beyond(&self) -> String {
        format!("text beyond column {} is not read", self.last_column)
    }

    /// Whether a blank preceded the letter (free form).
    pub fn gap(&self, at: usize) -> bool {
        self.offsets.get(at).is_some_and(|o| o & GAP != 0)
    }

    fn string(&self, at: usize) -> Option<&SpecialLetter> {
        let i = self.strings.binary_search_by_key(&at, |s| s.at).ok()?;
        self.strings.get(i)
    }

    /// Returns the constant, or the invalid character, whose mark is at `at`.
    pub fn string_value(&self, at: usize) -> &str {
        self.string(at).map_or("", |s| &s.value)
    }
}
