//! Expressions.

use super::form::{CHAR, HOLLERITH};
use super::line::{Line, Read};
use super::trace::Piece;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{BinOp, Expr, ExprKind, UnOp};

/// How tightly operators bind (ANSI X3.9-1978, 6.5.9), loosest first.
mod binds {
    pub const EQV: u8 = 1;
    pub const OR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    pub const RELATION: u8 = 5;
    pub const CONCAT: u8 = 6;
    pub const SUM: u8 = 7;
    pub const PRODUCT: u8 = 8;
    pub const POWER: u8 = 9;
}

/// How many operators one expression may chain: the tree is that deep, and passes walk
/// it by recursion.
const MAX_CHAIN: u32 = 1000;

/// Operators between periods, with the letters to look for.
const WORDS: [(&str, BinOp); 11] = [
    (".EQ.", BinOp::Eq),
    (".NE.", BinOp::Ne),
    (".LT.", BinOp::Lt),
    (".LE.", BinOp::Le),
    (".GT.", BinOp::Gt),
    (".GE.", BinOp::Ge),
    (".AND.", BinOp::And),
    (".OR.", BinOp::Or),
    (".EQV.", BinOp::Eqv),
    (".NEQV.", BinOp::Neqv),
    (".XOR.", BinOp::Neqv),
];

impl Line<'_> {
    /// Reads an expression.
    pub fn expr(&mut self) -> Read<Expr> {
        self.binary(0)
    }

    /// Reads an expression of operators that bind at least as tightly as `min`.
    fn binary(&mut self, min: u8) -> Read<Expr> {
        let mut left = self.prefix(min)?;
        let mut chain = 0;
        while let Some((op, length, level)) = self.operator() {
            if level < min {
                break;
            }
            let place = self.st.span(self.pos, self.pos + length);
            self.pos += length;
            chain += 1;
            if chain > MAX_CHAIN {
                return Err(Box::new(
                    Diagnostic::error(
                        &rules::UNSUPPORTED,
                        place,
                        format!("the expression chains more than {MAX_CHAIN} operators"),
                    )
                    .help("assign parts of it to variables first"),
                ));
            }
            let right = if level == binds::POWER {
                self.enter()?;
                let right = self.binary(level)?;
                self.leave();
                right
            } else {
                self.binary(level + 1)?
            };
            left = Expr::binary(op, left, right);
        }
        Ok(left)
    }

    /// The operator that comes next, how many letters it has and how tightly it binds.
    fn operator(&self) -> Option<(BinOp, usize, u8)> {
        let next = self.at(self.pos + 1);
        Some(match self.peek() {
            b'+' => (BinOp::Add, 1, binds::SUM),
            b'-' => (BinOp::Sub, 1, binds::SUM),
            b'*' if next == b'*' => (BinOp::Pow, 2, binds::POWER),
            b'*' => (BinOp::Mul, 1, binds::PRODUCT),
            b'/' if next == b'/' => (BinOp::Concat, 2, binds::CONCAT),
            b'/' if next == b'=' => (BinOp::Ne, 2, binds::RELATION),
            b'/' if next == b')' => return None,
            b'/' => (BinOp::Div, 1, binds::PRODUCT),
            b'=' if next == b'=' => (BinOp::Eq, 2, binds::RELATION),
            b'<' if next == b'=' => (BinOp::Le, 2, binds::RELATION),
            b'<' => (BinOp::Lt, 1, binds::RELATION),
            b'>' if next == b'=' => (BinOp::Ge, 2, binds::RELATION),
            b'>' => (BinOp::Gt, 1, binds::RELATION),
            b'.' => {
                let rest = self.rest();
                let (word, op) = WORDS.iter().find(|(w, _)| rest.starts_with(w.as_bytes()))?;
                let level = match op {
                    BinOp::And => binds::AND,
                    BinOp::Or => binds::OR,
                    BinOp::Eqv | BinOp::Neqv => binds::EQV,
                    _ => binds::RELATION,
                };
                (*op, word.len(), level)
            }
            _ => return None,
        })
    }

    fn prefix(&mut self, min: u8) -> Read<Expr> {
        let from = self.pos;
        let (op, length, level) = match self.peek() {
            // A sign after `*` or `**`, which compilers accept, takes the factor alone.
            b'+' => (UnOp::Plus, 1, binds::PRODUCT.max(min)),
            b'-' => (UnOp::Minus, 1, binds::PRODUCT.max(min)),
            b'.' if self.rest().starts_with(b".NOT.") => (UnOp::Not, 5, binds::NOT + 1),
            _ => return self.primary(),
        };
        self.pos += length;
        self.enter()?;
        let operand = self.binary(level)?;
        self.leave();
        let span = self.since(from);
        Ok(Expr::new(ExprKind::Unary(op, Box::new(operand)), span))
    }

    /// Reads a constant, a name with or without arguments, or parentheses.
    pub fn primary(&mut self) -> Read<Expr> {
        let from = self.pos;
        match self.peek() {
            b'A'..=b'Z' => {
                if let Some(e) = self.boz() {
                    return Ok(e);
                }
                self.designator()
            }
            b'0'..=b'9' => self.numeric(),
            b'.' if self.at(from + 1).is_ascii_digit() => self.numeric(),
            b'.' => self.logical(),
            b'(' => {
                self.enter()?;
                let e = self.parenthesized();
                self.leave();
                e
            }
            CHAR => {
                self.pos += 1;
                let value = self.st.string_value(from).to_owned();
                let constant = Expr::new(ExprKind::Char(value), self.since(from));
                if self.peek() == b'(' {
                    return self.substring(constant, from);
                }
                Ok(constant)
            }
            HOLLERITH => {
                self.pos += 1;
                let value = self.st.string_value(from).to_owned();
                Ok(Expr::new(ExprKind::Hollerith(value), self.since(from)))
            }
            _ => Err(self.expected("an expression")),
        }
    }

    /// `NAME`, `NAME(…)` or `NAME(…)(from:to)`.
    pub fn designator(&mut self) -> Read<Expr> {
        let from = self.pos;
        let (sym, span) = self.expect_sym("a name")?;
        if self.peek() != b'(' {
            return Ok(Expr::var(sym, span));
        }
        self.pos += 1;
        self.enter()?;
        let args = self.arguments()?;
        self.leave();
        let apply = Expr::new(ExprKind::Apply(sym, args), self.since(from));
        if self.peek() == b'(' {
            return self.substring(apply, from);
        }
        Ok(apply)
    }

    /// `(from:to)` of a character expression.
    fn substring(&mut self, base: Expr, from: usize) -> Read<Expr> {
        self.expect(b'(')?;
        let low = match self.peek() {
            b':' => None,
            _ => Some(Box::new(self.expr()?)),
        };
        self.expect(b':')?;
        let high = match self.peek() {
            b')' => None,
            _ => Some(Box::new(self.expr()?)),
        };
        self.expect(b')')?;
        Ok(Expr::new(
            ExprKind::Substring(Box::new(base), low, high),
            self.since(from),
        ))
    }

    /// Reads arguments or subscripts up to the closing parenthesis; the opening one is
    /// read already.
    pub fn arguments(&mut self) -> Read<Vec<Expr>> {
        let mut list = Vec::new();
        if self.eat(b')') {
            return Ok(list);
        }
        loop {
            list.push(self.argument()?);
            if self.list_ends()? {
                return Ok(list);
            }
        }
    }

    /// An expression, `from:to:step`, or an alternate return.
    fn argument(&mut self) -> Read<Expr> {
        let from = self.pos;
        match self.peek() {
            b'*' | b'&' => {
                self.pos += 1;
                let label = self.label()?;
                Ok(Expr::new(ExprKind::AltReturn(label), self.since(from)))
            }
            b':' => self.range(None, from),
            _ => {
                let e = self.expr()?;
                if self.peek() == b':' {
                    return self.range(Some(Box::new(e)), from);
                }
                Ok(e)
            }
        }
    }

    fn range(&mut self, low: Option<Box<Expr>>, from: usize) -> Read<Expr> {
        self.expect(b':')?;
        let ends = |c| matches!(c, b',' | b')' | b':' | 0);
        let high = match self.peek() {
            c if ends(c) => None,
            _ => Some(Box::new(self.expr()?)),
        };
        let step = if self.eat(b':') {
            Some(Box::new(self.expr()?))
        } else {
            None
        };
        Ok(Expr::new(
            ExprKind::Range(low, high, step),
            self.since(from),
        ))
    }

    /// `(e)` or a complex constant.
    fn parenthesized(&mut self) -> Read<Expr> {
        let from = self.pos;
        self.expect(b'(')?;
        if self.peek() == b'/' {
            return Err(Box::new(
                Diagnostic::error(
                    &rules::UNSUPPORTED,
                    self.st.span(from, self.pos + 1),
                    "FORTRAN 77 has no array constructors",
                )
                .help("assign the elements one by one, or give them in a DATA statement"),
            ));
        }
        let first = self.expr()?;
        if self.eat(b',') {
            let second = self.expr()?;
            self.expect(b')')?;
            for part in [&first, &second] {
                if !is_part(part) {
                    return Err(Box::new(
                        Diagnostic::error(
                            &rules::SYNTAX,
                            part.span,
                            "the parts of a complex constant must be constants",
                        )
                        .help("use CMPLX to make a complex number of variables"),
                    ));
                }
            }
            return Ok(Expr::new(
                ExprKind::Complex(Box::new((first, second))),
                self.since(from),
            ));
        }
        self.expect(b')')?;
        Ok(Expr::new(
            ExprKind::Paren(Box::new(first)),
            self.since(from),
        ))
    }

    /// Reads a constant of digits: `12`, `1.`, `.5`, `1.5E-3`, `2D0`.
    fn numeric(&mut self) -> Read<Expr> {
        let from = self.pos;
        let mut at = self.digits_end(from);
        let mut real = false;
        if self.at(at) == b'.' && (at == from || !self.gapped(at)) && !self.is_word(at) {
            real = true;
            at += 1;
            if !self.gapped(at) {
                at = self.digits_end(at);
            }
        }
        if matches!(self.at(at), b'E' | b'D' | b'Q') && !self.gapped(at) {
            let sign = usize::from(matches!(self.at(at + 1), b'+' | b'-'));
            let digits = at + 1 + sign;
            if self.at(digits).is_ascii_digit() {
                real = true;
                at = self.digits_end(digits);
            }
        }
        self.pos = at;
        self.st.mark(from, at, Piece::Number);
        let span = self.since(from);
        let text = self.text(from, at);
        if real {
            return Ok(Expr::new(ExprKind::Real(text.into()), span));
        }
        match text.parse() {
            Ok(n) => Ok(Expr::int(n, span)),
            Err(_) => Err(Box::new(Diagnostic::error(
                &rules::SYNTAX,
                span,
                "the integer constant is too large",
            ))),
        }
    }

    fn gapped(&self, at: usize) -> bool {
        self.free && self.st.gap(at)
    }

    /// At `at` stands an operator or constant between periods, such as `.EQ.`.
    fn is_word(&self, at: usize) -> bool {
        let rest = self.st.text.get(at..).unwrap_or(&[]);
        self.at(at + 1).is_ascii_uppercase()
            && (WORDS.iter().any(|(w, _)| rest.starts_with(w.as_bytes()))
                || rest.starts_with(b".NOT."))
    }

    fn logical(&mut self) -> Read<Expr> {
        let from = self.pos;
        for (word, value) in [(".TRUE.", true), (".FALSE.", false)] {
            if self.rest().starts_with(word.as_bytes()) {
                self.pos += word.len();
                return Ok(Expr::new(ExprKind::Logical(value), self.since(from)));
            }
        }
        Err(self.expected("an expression"))
    }

    /// `Z'FF'`, `O'17'` or `B'101'`.
    fn boz(&mut self) -> Option<Expr> {
        if self.at(self.pos + 1) != CHAR {
            return None;
        }
        let radix = match self.peek() {
            b'Z' | b'X' => 16,
            b'O' => 8,
            b'B' => 2,
            _ => return None,
        };
        let digits = self.st.string_value(self.pos + 1).trim();
        let value = i64::from_str_radix(digits, radix).ok()?;
        let from = self.pos;
        self.pos += 2;
        Some(Expr::int(value, self.since(from)))
    }
}

/// A constant that may be a part of a complex one: signed, or a name that may be one.
fn is_part(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::Real(_) | ExprKind::Var(_) => true,
        ExprKind::Unary(UnOp::Plus | UnOp::Minus, e) => {
            matches!(e.kind, ExprKind::Int(_) | ExprKind::Real(_))
        }
        _ => false,
    }
}
