//! Splits a statement into tokens, spelled as in the source.

use super::Case;
use crate::syntax::TokenKind;
use crate::syntax::trace::{Constant, TracedStatement};

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword, or letters that the parser did not identify as a name.
    Word,
    /// A name, `.TRUE.` or `.FALSE.`.
    Name,
    Number,
    /// A character or Hollerith constant.
    Constant,
    /// An operator or punctuation.
    Sign,
}

/// A token of a statement.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub kind: Kind,
    /// The text in the result.
    pub text: String,
    /// The same in upper case; empty for constants.
    pub upper: String,
    /// Whether a blank precedes it in the source.
    pub gap: bool,
    /// The offset of its first byte in the source. `end` is one past the last byte.
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn is(&self, upper: &str) -> bool {
        self.upper == upper
    }
}

/// Signs that consist of several characters.
const SIGNS: [&str; 11] = [
    "**", "//", "==", "/=", "<=", ">=", "=>", "::", "(/", "/)", "<>",
];

/// Returns the tokens of a statement of the text `source`.
pub(super) fn tokens(source: &str, st: &TracedStatement, free: bool, case: Case) -> Vec<Token> {
    let mut reader = Tokens {
        source,
        st,
        free,
        case,
        out: Vec::new(),
    };
    reader.run();
    reader.out
}

struct Tokens<'a> {
    source: &'a str,
    st: &'a TracedStatement,
    free: bool,
    case: Case,
    out: Vec<Token>,
}

impl Tokens<'_> {
    fn run(&mut self) {
        let mut at = 0;
        for mark in &self.st.marks {
            let (from, to) = (mark.from as usize, mark.to as usize);
            if from < at || to > self.st.text.len() {
                continue;
            }
            self.raw(at, from);
            match mark.piece {
                TokenKind::Name => self.push(Kind::Name, from, to),
                TokenKind::Number => self.push(Kind::Number, from, to),
                TokenKind::Keyword(blanks) => self.keyword(from, to, blanks),
            }
            at = to;
        }
        self.raw(at, self.st.text.len());
    }

    /// Adds a keyword, as two words if the user put a blank where one is allowed.
    fn keyword(&mut self, from: usize, to: usize, blanks: u32) {
        let letters = |i: &usize| self.st.text[*i].is_ascii_alphanumeric();
        let end = (from..to).find(|i| !letters(i)).unwrap_or(to);
        let mut at = from;
        for i in from + 1..end {
            let may = blanks.checked_shr((i - from) as u32).unwrap_or(0) & 1 != 0;
            if may && self.gap(i) {
                self.push(Kind::Word, at, i);
                at = i;
            }
        }
        self.push(Kind::Word, at, end);
        // `KIND=`
        self.raw(end, to);
    }

    /// Adds letters about which the parser recorded nothing.
    fn raw(&mut self, from: usize, to: usize) {
        let text = &self.st.text;
        let mut at = from;
        while at < to {
            let c = text[at];
            let mut end = at + 1;
            if self.st.constant(at).is_some() {
                self.push(Kind::Constant, at, end);
            } else if c.is_ascii_uppercase() {
                while end < to && is_word(text[end]) && !self.gap(end) {
                    end += 1;
                }
                self.push(Kind::Word, at, end);
            } else if c.is_ascii_digit() {
                while end < to && text[end].is_ascii_digit() && !self.gap(end) {
                    end += 1;
                }
                self.push(Kind::Number, at, end);
            } else if c == b'.'
                && let Some(close) = self.word_in_points(at, to)
            {
                let kind = match &text[at..close] {
                    b".TRUE." | b".FALSE." => Kind::Name,
                    _ => Kind::Sign,
                };
                end = close;
                self.push(kind, at, end);
            } else {
                let two = |s: &&str| {
                    text.get(at..at + 2) == Some(s.as_bytes())
                        && at + 2 <= to
                        && !(self.free && self.gap(at + 1))
                };
                if SIGNS.iter().any(two) {
                    end = at + 2;
                }
                self.push(Kind::Sign, at, end);
            }
            at = end;
        }
    }

    /// Returns the end of `.EQ.` and the like.
    fn word_in_points(&self, at: usize, to: usize) -> Option<usize> {
        let rest = self.st.text.get(at + 1..to)?;
        let letters = rest.iter().take_while(|c| c.is_ascii_uppercase()).count();
        (letters > 0 && rest.get(letters) == Some(&b'.')).then_some(at + letters + 2)
    }

    fn gap(&self, at: usize) -> bool {
        self.st.offsets.get(at).is_some_and(|o| o.1)
    }

    fn offset(&self, at: usize) -> usize {
        self.st.offsets.get(at).map_or(0, |o| o.0 as usize)
    }

    fn push(&mut self, kind: Kind, from: usize, to: usize) {
        if from >= to {
            return;
        }
        let start = self.offset(from);
        let last = to - 1;
        let mut end = self.offset(last) + 1;
        let mut text = String::new();
        let mut upper = String::new();
        if let Some(constant) = self.st.constant(from) {
            text = spelled(self.source, constant);
            end = constant.span.end as usize;
        } else {
            for at in from..to {
                upper.push(self.st.text[at] as char);
                let byte = self.source.as_bytes().get(self.offset(at)).copied();
                text.push(byte.unwrap_or(b'?') as char);
            }
            match self.case {
                Case::Keep => {}
                Case::Lower => text.make_ascii_lowercase(),
                Case::Upper => text.make_ascii_uppercase(),
            }
        }
        self.out.push(Token {
            kind,
            text,
            upper,
            gap: self.gap(from),
            start,
            end,
        });
    }
}

fn is_word(c: u8) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, b'_' | b'$')
}

/// Returns a constant as the user wrote it. If it extends over several lines, they are joined.
fn spelled(source: &str, constant: &Constant) -> String {
    let Constant {
        at: _,
        value,
        span,
        hollerith,
    } = constant;
    let written = source
        .get(span.start as usize..span.end as usize)
        .unwrap_or("");
    if *hollerith {
        // Trailing blanks may be the padding of a card.
        let count = written.find(['H', 'h']).map(|h| &written[..=h]);
        return match count.filter(|c| !c.contains('\n')) {
            Some(count) => format!("{count}{value}"),
            None => format!("{}H{value}", crate::encoding::len(value)),
        };
    }
    if !written.contains('\n') && written.len() > 1 {
        return written.to_owned();
    }
    let quote = if written.starts_with('"') { '"' } else { '\'' };
    let doubled: String = [quote, quote].iter().collect();
    format!("{quote}{}{quote}", value.replace(quote, &doubled))
}
