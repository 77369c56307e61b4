//! Classifies statements.
//!
//! Fortran has no reserved words, so the shape is considered first: an `=` outside of parentheses
//! without a comma after it makes an assignment, whatever letters precede it.

use super::form::CHAR;
use super::statement_parser::{StatementParser, is_name_letter};
use crate::ir::{AdMode, Attribute, IoKind};

/// The kinds of statements, as far as their first words determine them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementKind {
    Assignment,
    // Headers.
    Program,
    /// FUNCTION or SUBROUTINE, with any prefixes.
    Subprogram,
    BlockData,
    // Specifications.
    Type,
    Dimension,
    Parameter,
    Implicit,
    External,
    Intrinsic,
    Common,
    Equivalence,
    Save,
    Data,
    Namelist,
    Intent,
    /// ALLOCATABLE and similar statements.
    Attribute(Attribute),
    /// POINTER of Cray Fortran.
    Pointer,
    Format,
    Include,
    Entry,
    // Executable statements.
    If,
    ElseIf,
    Else,
    Do,
    Continue,
    Goto,
    Assign,
    Call,
    Return,
    Stop,
    Pause,
    Io(IoKind),
    /// TYPE and ACCEPT, old words for PRINT and READ.
    Terminal(IoKind),
    Cycle,
    Exit,
    Select,
    Case,
    Where,
    ElseWhere,
    Ad(AdMode),
    /// ALLOCATE, or DEALLOCATE if true.
    Allocate(bool),
    // Closing.
    EndIf,
    EndDo,
    EndSelect,
    EndWhere,
    EndAd(AdMode),
    /// END, alone or with the kind of unit.
    End,
    Contains,
    Use,
    /// Statements of Fortran that Farfel does not support.
    Unsupported,
    Unknown,
}

impl StatementKind {
    pub fn is_header(self) -> bool {
        matches!(
            self,
            StatementKind::Program | StatementKind::Subprogram | StatementKind::BlockData
        )
    }

    /// Whether this is a specification statement, which may not follow executable ones.
    pub fn is_specification(self) -> bool {
        matches!(
            self,
            StatementKind::Type
                | StatementKind::Dimension
                | StatementKind::Parameter
                | StatementKind::Implicit
                | StatementKind::External
                | StatementKind::Intrinsic
                | StatementKind::Common
                | StatementKind::Equivalence
                | StatementKind::Save
                | StatementKind::Intent
                | StatementKind::Attribute(_)
                | StatementKind::Pointer
        )
    }
}

/// The keywords of the type statements.
pub(super) const TYPES: [&str; 8] = [
    "INTEGER",
    "REAL",
    "DOUBLE PRECISION",
    "DOUBLE COMPLEX",
    "COMPLEX",
    "LOGICAL",
    "CHARACTER",
    "BYTE",
];

/// The keywords of statements. A keyword that is a prefix of another one comes after it.
const WORDS: &[(&str, StatementKind)] = &[
    ("ACCEPT", StatementKind::Terminal(IoKind::Read)),
    ("ADF", StatementKind::Ad(AdMode::Forward)),
    ("ADR", StatementKind::Ad(AdMode::Reverse)),
    (
        "ALLOCATABLE",
        StatementKind::Attribute(Attribute::Allocatable),
    ),
    ("ALLOCATE", StatementKind::Allocate(false)),
    ("ASSIGN", StatementKind::Assign),
    ("AUTOMATIC", StatementKind::Attribute(Attribute::Automatic)),
    ("BACKSPACE", StatementKind::Io(IoKind::Backspace)),
    ("BLOCK DATA", StatementKind::BlockData),
    ("CALL", StatementKind::Call),
    ("CASE", StatementKind::Case),
    ("CLOSE", StatementKind::Io(IoKind::Close)),
    ("COMMON", StatementKind::Common),
    ("CONTINUE", StatementKind::Continue),
    ("CYCLE", StatementKind::Cycle),
    ("DATA", StatementKind::Data),
    ("DEALLOCATE", StatementKind::Allocate(true)),
    ("DIMENSION", StatementKind::Dimension),
    ("DO", StatementKind::Do),
    ("ELSE IF", StatementKind::ElseIf),
    ("ELSE WHERE", StatementKind::ElseWhere),
    ("ELSE", StatementKind::Else),
    ("END ADF", StatementKind::EndAd(AdMode::Forward)),
    ("END ADR", StatementKind::EndAd(AdMode::Reverse)),
    ("END FILE", StatementKind::Io(IoKind::Endfile)),
    ("END IF", StatementKind::EndIf),
    ("END DO", StatementKind::EndDo),
    ("END SELECT", StatementKind::EndSelect),
    ("END WHERE", StatementKind::EndWhere),
    ("END", StatementKind::End),
    ("ENTRY", StatementKind::Entry),
    ("EQUIVALENCE", StatementKind::Equivalence),
    ("EXIT", StatementKind::Exit),
    ("EXTERNAL", StatementKind::External),
    ("FLUSH", StatementKind::Io(IoKind::Flush)),
    ("FORMAT", StatementKind::Format),
    ("GO TO", StatementKind::Goto),
    ("IF", StatementKind::If),
    ("IMPLICIT", StatementKind::Implicit),
    ("INCLUDE", StatementKind::Include),
    ("INQUIRE", StatementKind::Io(IoKind::Inquire)),
    ("INTENT", StatementKind::Intent),
    ("INTRINSIC", StatementKind::Intrinsic),
    ("NAMELIST", StatementKind::Namelist),
    ("OPEN", StatementKind::Io(IoKind::Open)),
    ("OPTIONAL", StatementKind::Attribute(Attribute::Optional)),
    ("PARAMETER", StatementKind::Parameter),
    ("PAUSE", StatementKind::Pause),
    ("POINTER", StatementKind::Pointer),
    ("PRINT", StatementKind::Io(IoKind::Print)),
    ("PROGRAM", StatementKind::Program),
    ("READ", StatementKind::Io(IoKind::Read)),
    ("RETURN", StatementKind::Return),
    ("REWIND", StatementKind::Io(IoKind::Rewind)),
    ("SAVE", StatementKind::Save),
    ("SELECT CASE", StatementKind::Select),
    // Another keyword for SAVE.
    ("STATIC", StatementKind::Save),
    ("STOP", StatementKind::Stop),
    ("TARGET", StatementKind::Attribute(Attribute::Target)),
    ("VOLATILE", StatementKind::Attribute(Attribute::Volatile)),
    ("WHERE", StatementKind::Where),
    ("WRITE", StatementKind::Io(IoKind::Write)),
    ("CONTAINS", StatementKind::Contains),
    ("USE", StatementKind::Use),
    ("TYPE", StatementKind::Terminal(IoKind::Print)),
    ("TYPE", StatementKind::Unsupported),
];

/// Returns all keywords that may begin a statement, for suggestions.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    WORDS
        .iter()
        .filter(|(_, k)| *k != StatementKind::Unsupported)
        .map(|(w, _)| *w)
        .chain(TYPES)
        .chain(["FUNCTION", "SUBROUTINE"])
}

impl StatementParser<'_> {
    /// Returns the kind of the statement from here on. Skips its keyword, except for assignments,
    /// types, subprogram headers and unknown statements.
    pub fn classify(&mut self) -> StatementKind {
        let shape = self.shape();
        if let Some(eq) = shape.assign
            && self.is_target(eq)
            // `DO 10 I = 1, 3`
            && !shape.comma
            && !self.is_bare_parameter()
        {
            return StatementKind::Assignment;
        }
        if shape.comma
            && let Some(end) = self.keyword_end(self.pos, "DO")
            // `DOUBLE PRECISION :: X = 1, Y`
            && !self.attributed()
        {
            self.mark_keyword(end, "DO");
            self.pos = end;
            return StatementKind::Do;
        }
        let first = self.peek();
        if self.is_header() {
            return StatementKind::Subprogram;
        }
        for (word, kind) in WORDS {
            if word.as_bytes()[0] == first
                && let Some(end) = self.keyword_end(self.pos, word)
                && self.fits(*kind, end)
            {
                self.mark_keyword(end, word);
                self.pos = end;
                return *kind;
            }
        }
        if let Some(end) = super::unsupported::words()
            .filter(|w| w.as_bytes()[0] == first)
            .filter_map(|w| Some((w, self.keyword_end(self.pos, w)?)))
            // After BLOCK, this is a misspelt DATA.
            .find_map(|(w, end)| (w != "BLOCK" || self.at(end) == 0).then_some(end))
        {
            self.pos = end;
            return StatementKind::Unsupported;
        }
        if TYPES
            .iter()
            .any(|t| t.as_bytes()[0] == first && self.keyword_end(self.pos, t).is_some())
        {
            return StatementKind::Type;
        }
        StatementKind::Unknown
    }

    /// Whether this is `PARAMETER N = 3`, which in fixed form only differs from an assignment in
    /// its blank.
    fn is_bare_parameter(&self) -> bool {
        self.keyword_end(self.pos, "PARAMETER").is_some_and(|end| {
            self.at(end).is_ascii_uppercase()
                && self.st.gap(end)
                && !self
                    .open_unit
                    .declares(self.text(self.pos, self.name_end(self.pos)))
        })
    }

    /// Whether the letters after a keyword are compatible with the statement.
    fn fits(&self, kind: StatementKind, end: usize) -> bool {
        let next = self.at(end);
        match kind {
            StatementKind::Do => {
                next == 0
                    || next.is_ascii_digit()
                    || ["WHILE", "CONCURRENT"]
                        .iter()
                        .any(|w| self.keyword_end(end, w).is_some())
            }
            // An error without parentheses, but still the beginning of a block.
            StatementKind::If | StatementKind::ElseIf => {
                next == b'(' || self.st.text.ends_with(b"THEN")
            }
            // `ADF X` without parentheses is an error, but still the beginning of a block.
            StatementKind::Ad(_) => {
                next == b'(' || self.st.gap(end) && self.name_end(end) == self.st.text.len()
            }
            StatementKind::Format | StatementKind::Allocate(_) => next == b'(',
            StatementKind::Select | StatementKind::Where => next == b'(',
            StatementKind::Case => next == b'(' || self.keyword_end(end, "DEFAULT").is_some(),
            StatementKind::Terminal(_) => {
                matches!(next, b'*' | b'0'..=b'9' | CHAR)
                    || self.name_end(end) > end && self.at(self.name_end(end)) == b','
            }
            StatementKind::Unsupported => !matches!(next, b'*' | b'='),
            StatementKind::Continue => next == 0,
            // The name of the construct may follow.
            StatementKind::Else => next == 0 || self.name_end(end) == self.st.text.len(),
            StatementKind::ElseWhere => {
                matches!(next, 0 | b'(') || self.name_end(end) == self.st.text.len()
            }
            StatementKind::EndIf
            | StatementKind::EndDo
            | StatementKind::EndSelect
            | StatementKind::EndWhere => next == 0 || self.at(end).is_ascii_uppercase(),
            StatementKind::EndAd(_) => next == 0 || next == b'(',
            StatementKind::End => {
                next == 0
                    || ["FUNCTION", "SUBROUTINE", "PROGRAM", "BLOCK DATA"]
                        .iter()
                        .any(|w| self.keyword_end(end, w).is_some())
            }
            _ => true,
        }
    }

    /// Returns the index of an `=` outside of parentheses, if there is one, and whether a comma
    /// outside of parentheses follows it.
    fn shape(&self) -> Shape {
        let mut depth = 0i32;
        let mut shape = Shape::default();
        let text = &self.st.text;
        let mut i = self.pos;
        while let Some(&c) = text.get(i) {
            match c {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth -= 1,
                b'=' if depth == 0 => {
                    let comparison = self.at(i + 1) == b'='
                        || i > 0 && matches!(self.at(i - 1), b'=' | b'/' | b'<' | b'>');
                    if !comparison && shape.assign.is_none() {
                        shape.assign = Some(i);
                    }
                }
                b',' if depth == 0 && shape.assign.is_some() => {
                    shape.comma = true;
                    break;
                }
                _ => {}
            }
            i += 1;
        }
        shape
    }

    /// Whether `NAME`, `NAME(…)` or `NAME(…)(…)` precedes `eq`.
    fn is_target(&self, eq: usize) -> bool {
        let mut at = self.name_end(self.pos);
        if at == self.pos {
            return false;
        }
        at = self.component_end(at);
        for _ in 0..2 {
            if self.at(at) == b'(' {
                match self.closing(at) {
                    Some(close) => at = close + 1,
                    None => return false,
                }
            }
        }
        at == eq
    }

    /// Whether this is `[RECURSIVE] [type] FUNCTION NAME (names)` or `[RECURSIVE] SUBROUTINE NAME`,
    /// with PURE and ELEMENTAL allowed like RECURSIVE.
    fn is_header(&self) -> bool {
        if !matches!(
            self.peek(),
            b'R' | b'I' | b'D' | b'C' | b'L' | b'B' | b'F' | b'S' | b'P' | b'E'
        ) {
            return false;
        }
        let mut at = self.pos;
        at = self.prefixes_end(at);
        let mut typed = false;
        if let Some(end) = TYPES.iter().find_map(|t| self.keyword_end(at, t)) {
            typed = true;
            at = end;
            let star = self.at(at) == b'*';
            at += usize::from(star);
            at = match self.at(at) {
                b'(' => match self.closing(at) {
                    Some(close) => close + 1,
                    None => return false,
                },
                _ if star => self.digits_end(at),
                _ => at,
            };
        }
        at = self.prefixes_end(at);
        if let Some(end) = self.keyword_end(at, "FUNCTION") {
            let name = self.name_end(end);
            // `REAL FUNCTIONS(10)` declares an array; so does `REALFUNCTIONA(10)`.
            return !typed
                || name > end && self.at(name) == b'(' && self.only_names(name)
                || name > end && self.at(name) == b'*';
        }
        !typed && self.keyword_end(at, "SUBROUTINE").is_some()
    }

    fn prefixes_end(&self, mut at: usize) -> usize {
        const PREFIXES: [&str; 4] = ["RECURSIVE", "PURE", "IMPURE", "ELEMENTAL"];
        while let Some(end) = PREFIXES.iter().find_map(|p| self.keyword_end(at, p)) {
            at = end;
        }
        at
    }

    /// Whether the parentheses that open at `open` contain only names and commas.
    fn only_names(&self, open: usize) -> bool {
        let mut at = open + 1;
        if self.at(at) == b')' {
            return true;
        }
        loop {
            let end = self.name_end(at);
            if end == at && self.at(at) != b'*' {
                return false;
            }
            at = end.max(at + usize::from(self.at(at) == b'*'));
            match self.at(at) {
                b',' => at += 1,
                b')' => return true,
                _ => return false,
            }
        }
    }

    /// Returns the index of the `:` in `NAME:` before DO, IF, SELECT CASE or WHERE.
    pub fn construct_name(&self) -> Option<usize> {
        let end = self.name_end(self.pos);
        (end > self.pos
            && self.at(end) == b':'
            && self.at(end + 1) != b':'
            && (self.keyword_end(end + 1, "DO").is_some()
                || ["IF", "SELECT CASE", "WHERE"].iter().any(|w| {
                    let end = self.keyword_end(end + 1, w);
                    end.is_some_and(|e| self.at(e) == b'(')
                })))
        .then_some(end)
    }

    /// Returns the letters at the start of the statement, for messages.
    pub fn first_word(&self) -> &str {
        let mut end = self.pos;
        while is_name_letter(self.at(end)) && !(self.free && end > self.pos && self.st.gap(end)) {
            end += 1;
        }
        self.text(self.pos, end)
    }
}

#[derive(Debug, Default)]
struct Shape {
    assign: Option<usize>,
    comma: bool,
}
