//! Parses expressions.

use super::form::{CHAR, HOLLERITH};
use super::statement_parser::{ParseResult, StatementParser};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{ArrayConstructor, Attribute, BinOp, Expr, ExprKind, Percent, UnOp};

/// The precedence of operators (ANSI X3.9-1978, 6.5.9), lowest first.
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

/// The maximum number of chained operators in an expression. The tree is that deep, and passes
/// traverse it recursively.
const MAX_CHAIN: u32 = 1000;

/// Operators between periods.
pub(super) const WORDS: [(&str, BinOp); 11] = [
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

impl StatementParser<'_> {
    /// Reads an expression.
    pub fn expr(&mut self) -> ParseResult<Expr> {
        self.binary(0)
    }

    /// Reads an expression of operators whose precedence is at least `min`.
    fn binary(&mut self, min: u8) -> ParseResult<Expr> {
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

    /// Returns the next operator, its number of letters and its precedence.
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

    fn prefix(&mut self, min: u8) -> ParseResult<Expr> {
        let from = self.pos;
        let (op, length, level) = match self.peek() {
            // A sign after `*` or `**`, which compilers accept, applies to the factor only.
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
        let signed = Expr::new(ExprKind::Unary(op, Box::new(operand)), span);
        if op != UnOp::Not && min > binds::SUM {
            // Right after another operator, the standard requires parentheses.
            return Ok(Expr::new(ExprKind::Paren(Box::new(signed)), span));
        }
        Ok(signed)
    }

    /// Reads a constant, a name with or without arguments, or parentheses.
    pub fn primary(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        match self.peek() {
            b'A'..=b'Z' => {
                if let Some(e) = self.bits() {
                    return Ok(e);
                }
                self.designator()
            }
            b'0'..=b'9' => self.numeric(),
            b'.' if self.at(from + 1).is_ascii_digit() => self.numeric(),
            b'.' => self.logical(),
            b'%' if self.rest().starts_with(b"%LOC(") => self.percent(),
            b'(' => {
                self.enter()?;
                let e = self.parenthesized();
                self.leave();
                e
            }
            b'[' => {
                self.pos += 1;
                self.enter()?;
                let e = self.constructor(from, false);
                self.leave();
                e
            }
            CHAR => {
                if let Some(e) = self.suffixed_bits() {
                    return Ok(e);
                }
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

    /// Reads `NAME`, `NAME(…)` or `NAME(…)(from:to)`.
    pub fn designator(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        let (sym, span) = self.expect_sym("a name")?;
        let sym = match self.open_unit.unit.symbols[sym].has(Attribute::Growing) {
            true => self.component_of(sym),
            false => sym,
        };
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

    /// Reads `(from:to)` of a character expression.
    fn substring(&mut self, base: Expr, from: usize) -> ParseResult<Expr> {
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

    /// Reads arguments or subscripts up to the closing parenthesis, after the opening one.
    pub fn arguments(&mut self) -> ParseResult<Vec<Expr>> {
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

    /// Reads an expression, `from:to:step`, or an alternate return.
    fn argument(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        match self.peek() {
            b'*' | b'&' => {
                self.pos += 1;
                let label = self.label()?;
                Ok(Expr::new(ExprKind::AltReturn(label), self.since(from)))
            }
            b':' => self.range(None, from),
            b'%' => self.percent(),
            _ => {
                // `NAME = value`, for intrinsic procedures.
                let end = self.name_end(from);
                if end > from && self.at(end) == b'=' && self.at(end + 1) != b'=' {
                    self.pos = end + 1;
                    let value = Box::new(self.expr()?);
                    let name = self.text(from, end).into();
                    return Ok(Expr::new(ExprKind::Keyword(name, value), self.since(from)));
                }
                let e = self.expr()?;
                if self.peek() == b':' {
                    return self.range(Some(Box::new(e)), from);
                }
                Ok(e)
            }
        }
    }

    /// Reads `%VAL(x)`, `%REF(x)` or `%LOC(x)`.
    fn percent(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        self.expect(b'%')?;
        let Some(how) = Percent::ALL.into_iter().find(|p| self.keyword(p.word())) else {
            return Err(self.expected("VAL, REF or LOC"));
        };
        self.expect(b'(')?;
        self.enter()?;
        let value = Box::new(self.expr()?);
        self.leave();
        self.expect(b')')?;
        Ok(Expr::new(ExprKind::Percent(how, value), self.since(from)))
    }

    fn range(&mut self, low: Option<Box<Expr>>, from: usize) -> ParseResult<Expr> {
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

    /// Reads `type :: items` and the end of an array constructor, after `(/` or `[`.
    fn constructor(&mut self, from: usize, slash: bool) -> ParseResult<Expr> {
        let mut array = ArrayConstructor {
            ty: None,
            length: None,
            items: Vec::new(),
        };
        if self.is_typed() {
            let spec = self.type_spec()?;
            self.expect(b':')?;
            self.expect(b':')?;
            array.ty = Some(spec.ty);
            array.length = spec.length;
        }
        let ends = |l: &Self| match slash {
            true => l.peek() == b'/' && l.at(l.pos + 1) == b')',
            false => l.peek() == b']',
        };
        if array.ty.is_none() || !ends(self) {
            loop {
                array.items.push(self.io_item()?);
                if !self.eat(b',') {
                    break;
                }
            }
        }
        if !ends(self) {
            let mut error = self.expected(if slash { "`,` or `/)`" } else { "`,` or `]`" });
            if self.done() && error.help.is_none() {
                error.help = Some("the array constructor is not closed".to_owned());
            }
            return Err(error);
        }
        self.pos += if slash { 2 } else { 1 };
        let span = self.since(from);
        Ok(Expr::new(ExprKind::Array(Box::new(array)), span))
    }

    /// Whether `::` occurs before the next comma outside of parentheses.
    fn is_typed(&self) -> bool {
        let mut depth = 0i32;
        let mut at = self.pos;
        loop {
            match self.at(at) {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b':' if depth == 0 => return self.at(at + 1) == b':',
                b',' | b']' if depth == 0 => return false,
                0 => return false,
                _ => {}
            }
            if depth < 0 {
                return false;
            }
            at += 1;
        }
    }

    /// Reads `(e)` or a complex constant.
    fn parenthesized(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        self.expect(b'(')?;
        if self.eat(b'/') {
            return self.constructor(from, true);
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
}

/// Whether an expression can be a part of a complex constant: a constant with an optional sign, or
/// a name that may be a constant.
fn is_part(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::Real(_) | ExprKind::Var(_) => true,
        ExprKind::Unary(UnOp::Plus | UnOp::Minus, e) => {
            matches!(e.kind, ExprKind::Int(_) | ExprKind::Real(_))
        }
        _ => false,
    }
}
