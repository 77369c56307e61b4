//! Decides on the blanks between tokens.

use super::tokens::{Kind, Token};

/// The kind of a statement, as far as its blanks are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpacingKind {
    /// DATA, COMMON, SAVE, NAMELIST, declarations: slashes are delimiters.
    Slashes,
    Implicit,
    Format,
    /// READ, WRITE, OPEN, …
    Io,
    /// AD blocks, PARAMETER: `=` within parentheses is surrounded by blanks.
    Settings,
    Other,
}

/// Keywords without a blank before the parenthesis that follows them.
const TIGHT: [&str; 22] = [
    "INTEGER",
    "REAL",
    "COMPLEX",
    "LOGICAL",
    "CHARACTER",
    "DOUBLE",
    "PRECISION",
    "KIND",
    "LEN",
    "INTENT",
    "RESULT",
    "FORMAT",
    "ADF",
    "ADR",
    "ENDADF",
    "ENDADR",
    "TANGENT",
    "COTANGENT",
    "DIMENSION",
    "ALLOCATED",
    "SUBROUTINE",
    "FUNCTION",
];

/// Returns for each token whether a blank precedes it. The first has none.
pub(super) fn blanks(tokens: &[Token]) -> Vec<bool> {
    let mut state = State::new(tokens);
    (0..tokens.len()).map(|i| state.before(i)).collect()
}

struct State<'a> {
    tokens: &'a [Token],
    kind: SpacingKind,
    /// The kinds of the parentheses that are open at this point.
    open: Vec<ParenthesisKind>,
    /// Whether an opening slash was seen, outside of parentheses.
    slash: bool,
    /// The token that closes the first parentheses of the statement.
    first_close: Option<usize>,
    /// Whether the last operator or sign was unary.
    unary: bool,
    /// Whether a blank follows the last binary sign.
    after: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParenthesisKind {
    /// An implied DO such as `(A(I), I = 1, 5)`.
    Loop,
    /// `(/ … /)`
    Array,
    Other,
}

impl<'a> State<'a> {
    fn new(tokens: &'a [Token]) -> Self {
        let declares = tokens.iter().any(|t| t.is("::"));
        let first = words(tokens);
        let starts = |w: &str| first.starts_with(w);
        let kind = if starts("FORMAT") {
            SpacingKind::Format
        } else if starts("IMPLICIT") {
            SpacingKind::Implicit
        } else if ["DATA", "COMMON", "SAVE", "NAMELIST"]
            .iter()
            .any(|w| starts(w))
        {
            SpacingKind::Slashes
        } else if TYPES.iter().any(|w| starts(w)) && !first.contains("FUNCTION") {
            if declares {
                SpacingKind::Other
            } else {
                SpacingKind::Slashes
            }
        } else if IO.iter().any(|w| starts(w)) {
            SpacingKind::Io
        } else if ["PARAMETER", "ADF", "ADR", "END"].iter().any(|w| starts(w)) {
            SpacingKind::Settings
        } else {
            SpacingKind::Other
        };
        State {
            tokens,
            kind,
            open: Vec::new(),
            slash: false,
            first_close: first_close(tokens),
            unary: false,
            after: false,
        }
    }

    /// Whether a blank precedes token `i`. Must be called for all tokens in order.
    fn before(&mut self, i: usize) -> bool {
        let Some((token, before)) = self.tokens.get(i).zip(i.checked_sub(1)) else {
            self.enter(0);
            self.unary = true;
            return false;
        };
        let previous = &self.tokens[before];
        let blank = match self.kind {
            SpacingKind::Format => self.in_format(before, previous, token),
            _ => self.between(i, previous, token),
        };
        self.enter(i);
        blank
    }

    /// In a FORMAT, keeps the user's blanks except where they would look odd.
    fn in_format(&self, before: usize, previous: &Token, token: &Token) -> bool {
        before > 0 && token.gap && !matches!(&*token.upper, "," | ")") && !previous.is("(")
    }

    /// Records what token `i` opens or closes.
    fn enter(&mut self, i: usize) {
        let token = &self.tokens[i];
        match &*token.upper {
            "(" => self.open.push(self.group(i)),
            "(/" => self.open.push(ParenthesisKind::Array),
            ")" | "/)" => {
                self.open.pop();
            }
            _ => {}
        }
    }

    fn group(&self, i: usize) -> ParenthesisKind {
        let in_array = self.open.contains(&ParenthesisKind::Array);
        let list = match self.kind {
            SpacingKind::Settings => true,
            SpacingKind::Slashes => self.tokens.first().is_some_and(|t| t.is("DATA")),
            SpacingKind::Io => self.first_close.is_some_and(|c| i > c) || !self.starts_control(i),
            _ => in_array,
        };
        if list {
            ParenthesisKind::Loop
        } else {
            ParenthesisKind::Other
        }
    }

    /// Whether a parenthesis encloses the control list of an input or output statement.
    fn starts_control(&self, i: usize) -> bool {
        self.first_close.is_some_and(|c| i < c)
    }

    fn between(&mut self, i: usize, p: &Token, c: &Token) -> bool {
        let depth = self.open.len();
        // After a sign that was looked at already.
        if p.kind == Kind::Sign {
            match &*p.upper {
                "," => return self.sign(i, c, true),
                "(" => return self.sign(i, c, false),
                "(/" => return self.sign(i, c, !c.is("/)")),
                ")" | "/)" => {}
                "%" | "_" => return false,
                ":" => return depth == 0 && !c.is(":"),
                "::" | "=>" => return self.sign(i, c, true),
                "/" | "//" if self.brackets() => {
                    let opened = self.slash;
                    return self.sign(i, c, !opened && !c.is(","));
                }
                _ => {
                    let after = if self.unary { false } else { self.after };
                    return self.sign(i, c, after);
                }
            }
        }
        let operand = p.kind != Kind::Sign || p.is(")") || p.is("/)");
        match c.kind {
            Kind::Sign => self.after_operand(i, p, c),
            Kind::Word | Kind::Name | Kind::Number | Kind::Constant if operand => {
                // `Z'FF'`, `'FF'X`
                let close = (p.kind == Kind::Constant) != (c.kind == Kind::Constant)
                    && !c.gap
                    && p.end == c.start
                    && (p.upper.len() == 1 && p.kind == Kind::Word
                        || c.upper.len() == 1 && c.kind == Kind::Word);
                !close
            }
            _ => true,
        }
    }

    /// Whether a blank precedes token `i`, which follows a sign that calls for a blank if `blank`
    /// is set. If token `i` is a sign itself, it is unary.
    fn sign(&mut self, i: usize, c: &Token, blank: bool) -> bool {
        if c.kind == Kind::Sign {
            match &*c.upper {
                "," | ")" | ":" => return false,
                "/)" => {
                    return true;
                }
                "/" | "//" if self.brackets() => return self.bracket(c, i),
                ".NOT." => {
                    self.unary = false;
                    self.after = true;
                }
                _ => self.unary = true,
            }
        }
        blank
    }

    /// Whether slashes are delimiters here.
    fn brackets(&self) -> bool {
        self.kind == SpacingKind::Slashes && self.open.is_empty()
    }

    fn bracket(&mut self, c: &Token, i: usize) -> bool {
        if c.is("//") {
            // `COMMON // A`, `/A/ //`
            return true;
        }
        self.slash = !self.slash;
        self.slash && i > 0
    }

    /// Whether a blank precedes a sign after an operand.
    fn after_operand(&mut self, i: usize, p: &Token, c: &Token) -> bool {
        self.unary = false;
        let depth = self.open.len();
        match &*c.upper {
            "," | ")" | "%" | "_" | ":" => {
                self.after = false;
                false
            }
            "/)" => true,
            "(" => self.parenthesis(i, p),
            "(/" => p.kind == Kind::Word,
            "::" | "=>" => true,
            "/" | "//" if self.brackets() => self.bracket(c, i),
            "=" => {
                let blank = depth == 0 || self.open.last() != Some(&ParenthesisKind::Other);
                self.after = blank;
                blank
            }
            "**" => self.chosen(false),
            "*" | "/" | "+" | "-" => {
                if self.kind == SpacingKind::Implicit && c.is("-") {
                    return self.chosen(false);
                }
                if p.kind == Kind::Word {
                    // `READ *, A`; `RETURN -1`
                    self.unary = true;
                    return !self.is_type(p);
                }
                let sum = matches!(&*c.upper, "+" | "-");
                match self.kind {
                    SpacingKind::Implicit | SpacingKind::Slashes => self.chosen(false),
                    _ if sum && depth == 0 => self.chosen(true),
                    _ => {
                        let after = self.tokens.get(i + 1).is_some_and(|n| n.gap);
                        let wide = c.gap && after;
                        self.chosen(wide && !self.in_declaration())
                    }
                }
            }
            "&" | "$" | "\\" => {
                self.unary = true;
                c.gap
            }
            _ => self.chosen(true),
        }
    }

    fn chosen(&mut self, blank: bool) -> bool {
        self.after = blank;
        blank
    }

    fn is_type(&self, p: &Token) -> bool {
        TYPES.contains(&&*p.upper) || ["PRECISION", "COMPLEX"].contains(&&*p.upper)
    }

    /// Whether the statement is a declaration, such as `REAL*8, INTENT(IN) :: X`.
    fn in_declaration(&self) -> bool {
        self.tokens.iter().any(|t| t.is("::"))
            || self.tokens.first().is_some_and(|t| self.is_type(t))
    }

    fn parenthesis(&mut self, i: usize, p: &Token) -> bool {
        self.after = false;
        match p.kind {
            Kind::Word => !TIGHT.contains(&&*p.upper),
            Kind::Number => self.kind != SpacingKind::Other || self.open.is_empty(),
            Kind::Name | Kind::Constant => false,
            Kind::Sign => self.first_close == Some(i - 1) && self.kind != SpacingKind::Other,
        }
    }
}

const TYPES: [&str; 10] = [
    "INTEGER",
    "REAL",
    "DOUBLEPRECISION",
    "DOUBLECOMPLEX",
    "COMPLEX",
    "LOGICAL",
    "CHARACTER",
    "BYTE",
    "DOUBLE",
    "RECURSIVE",
];

const IO: [&str; 10] = [
    "READ",
    "WRITE",
    "PRINT",
    "OPEN",
    "CLOSE",
    "INQUIRE",
    "REWIND",
    "BACKSPACE",
    "ENDFILE",
    "IF",
];

/// Returns the keywords at the beginning of the statement, concatenated.
pub(super) fn words(tokens: &[Token]) -> String {
    tokens
        .iter()
        .take_while(|t| t.kind == Kind::Word)
        .map(|t| &*t.upper)
        .collect()
}

/// Returns the token that closes the parenthesis after the keyword of the statement, or after that
/// of the statement that follows `IF (…)`.
fn first_close(tokens: &[Token]) -> Option<usize> {
    let mut from = 0;
    loop {
        let word = tokens.get(from).filter(|t| t.kind == Kind::Word)?;
        let open = from + 1;
        if !tokens.get(open)?.is("(") {
            return None;
        }
        let mut depth = 0;
        let close = tokens.iter().enumerate().skip(open).find(|(_, t)| {
            depth += match &*t.upper {
                "(" | "(/" => 1,
                ")" | "/)" => -1,
                _ => 0,
            };
            depth == 0
        })?;
        if !word.is("IF") || tokens.get(close.0 + 1).is_none_or(|t| t.kind != Kind::Word) {
            return Some(close.0);
        }
        from = close.0 + 1;
    }
}
