//! Parses constants that consist of digits: numbers, their kinds, and bits.

use super::expr::WORDS;
use super::form::CHAR;
use super::form::TokenKind;
use super::statement_parser::{ParseResult, StatementParser};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Class, DefaultSizes, Expr, ExprKind, Name, StorageClass, Type};
use crate::source::Span;
use crate::storage::constant;

impl StatementParser<'_> {
    /// Reads a number: `12`, `1.`, `.5`, `1.5E-3`, `2D0`.
    pub(super) fn numeric(&mut self) -> ParseResult<Expr> {
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
        self.st.mark(from, at, TokenKind::Number);
        let span = self.since(from);
        let text = self.text(from, at);
        let kind = self.kind_suffix()?;
        let all = self.since(from);
        let sizes = self.open_unit.unit.sizes;
        if real {
            let text: Name = match kind.map(|n| (n, sizes.written(Type::REAL, n))) {
                None | Some((_, Type::REAL)) => text.into(),
                Some((_, Type::Real(kind @ Type::FOUR_BYTES))) => {
                    let constant = Expr::new(ExprKind::Real(text.into()), span);
                    return Ok(Expr::of_size(constant, kind, all));
                }
                Some((n, _)) => of_kind(text, n).ok_or_else(|| no_kind(all, "REAL", n))?,
            };
            return Ok(Expr::new(ExprKind::Real(text), all));
        }
        match text.parse() {
            Ok(n) => kinded(Expr::int(n, span), kind, sizes, all, "INTEGER"),
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

    /// Whether an operator or constant between periods, such as `.EQ.`, is at `at`.
    fn is_word(&self, at: usize) -> bool {
        let rest = self.st.text.get(at..).unwrap_or(&[]);
        self.at(at + 1).is_ascii_uppercase()
            && (WORDS.iter().any(|(w, _)| rest.starts_with(w.as_bytes()))
                || rest.starts_with(b".NOT."))
    }

    pub(super) fn logical(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        for (word, value) in [(".TRUE.", true), (".FALSE.", false)] {
            if self.rest().starts_with(word.as_bytes()) {
                self.pos += word.len();
                let constant = Expr::new(ExprKind::Logical(value), self.since(from));
                let kind = self.kind_suffix()?;
                return kinded(
                    constant,
                    kind,
                    self.open_unit.unit.sizes,
                    self.since(from),
                    "LOGICAL",
                );
            }
        }
        Err(self.expected("an expression"))
    }

    /// Returns the value of a kind: a constant expression whose names are declared above, in this
    /// unit or one around it.
    pub(super) fn kind_value(&self, mut kind: Expr) -> Option<i64> {
        let symbols = &self.open_unit.unit.symbols;
        kind.rewrite(&mut |e| {
            let ExprKind::Var(s) = e.kind else {
                return;
            };
            let own = &symbols[s];
            let declared = own.class != Class::Unknown
                || own.typed
                || own.external
                || own.is_array()
                || own.storage_class != StorageClass::Local;
            if declared {
                return;
            }
            let around = self.hosts.iter().rev().find_map(|h| {
                let found = h.unit.symbols.find(&own.name)?;
                Some((h, found))
            });
            if let Some((h, found)) = around
                && let Some(n) = constant::integer(&h.unit, &Expr::var(found, e.span))
            {
                *e = Expr::int(n, e.span);
            }
        });
        constant::integer(&self.open_unit.unit, &kind)
    }

    /// Parses `_8` or `_NAME` after a constant.
    fn kind_suffix(&mut self) -> ParseResult<Option<u8>> {
        let next = self.at(self.pos + 1);
        if self.peek() != b'_' || !next.is_ascii_digit() && !next.is_ascii_uppercase() {
            return Ok(None);
        }
        self.pos += 1;
        let from = self.pos;
        let value = match self.number() {
            Some((n, _)) => Some(n),
            None => {
                let (sym, span) = self.expect_sym("a kind")?;
                self.kind_value(Expr::var(sym, span))
            }
        };
        match value.and_then(|n| u8::try_from(n).ok()) {
            Some(n) => Ok(Some(n)),
            None => Err(Box::new(
                Diagnostic::error(
                    &rules::SYNTAX,
                    self.since(from),
                    "the kind of a constant must be a number that is known here",
                )
                .help("write a number, or a named constant that is declared above"),
            )),
        }
    }

    /// Parses `Z'FF'`, `O'17'` or `B'101'`.
    pub(super) fn bits(&mut self) -> Option<Expr> {
        let from = self.pos;
        if self.at(from + 1) != CHAR {
            return None;
        }
        let text = bits(self.peek(), self.st.string_value(from + 1))?;
        self.pos += 2;
        Some(Expr::new(ExprKind::Bits(text), self.since(from)))
    }

    /// Parses `'FF'X`, `'17'O` or `'101'B`.
    pub(super) fn suffixed_bits(&mut self) -> Option<Expr> {
        let from = self.pos;
        let letter = self.at(from + 1);
        if !matches!(letter, b'Z' | b'X' | b'O' | b'B') || self.name_end(from + 1) != from + 2 {
            return None;
        }
        let text = bits(letter, self.st.string_value(from))?;
        self.pos += 2;
        Some(Expr::new(ExprKind::Bits(text), self.since(from)))
    }
}

/// Returns bits in canonical form.
fn bits(letter: u8, digits: &str) -> Option<Name> {
    let (letter, radix) = match letter {
        b'Z' | b'X' => ('Z', 16),
        b'O' => ('O', 8),
        b'B' => ('B', 2),
        _ => return None,
    };
    let digits = digits.trim().to_ascii_uppercase();
    u128::from_str_radix(&digits, radix).ok()?;
    Some(format!("{letter}'{digits}'").into())
}

/// Returns a real constant of a kind, written with the exponent letter for that kind.
fn of_kind(text: &str, kind: u8) -> Option<Name> {
    let letter = match kind {
        8 => 'D',
        16 => 'Q',
        _ => return None,
    };
    Some(match text.split_once(['E', 'D', 'Q']) {
        Some((mantissa, exponent)) => format!("{mantissa}{letter}{exponent}").into(),
        None => format!("{text}{letter}0").into(),
    })
}

/// Returns an INTEGER or LOGICAL constant of a kind.
fn kinded(
    constant: Expr,
    kind: Option<u8>,
    sizes: DefaultSizes,
    span: Span,
    word: &str,
) -> ParseResult<Expr> {
    match kind {
        None => Ok(constant),
        Some(n @ (1 | 2 | 4 | 8)) => match sizes.written(Type::INTEGER, n) {
            Type::Integer(kind) => Ok(Expr::of_size(constant, kind, span)),
            _ => Ok(constant),
        },
        Some(n) => Err(no_kind(span, word, n)),
    }
}

fn no_kind(span: Span, word: &str, kind: u8) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(
        &rules::UNSUPPORTED,
        span,
        format!("there is no {word} of kind {kind}"),
    ))
}
