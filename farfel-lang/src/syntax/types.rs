//! Parses types in declarations, and IMPLICIT.

use super::statement_parser::{ParseResult, StatementParser};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{DefaultSizes, Expr, SpecKind, Type};
use crate::source::Span;
use crate::storage::constant;

/// A type in a declaration, with the length of a CHARACTER.
#[derive(Debug, Clone)]
pub(super) struct TypeSpec {
    pub ty: Type,
    pub length: Option<Expr>,
}

impl StatementParser<'_> {
    /// Reads a type: `REAL*8`, `REAL(KIND=8)`, `DOUBLE PRECISION`, `CHARACTER*(*)`, …
    pub fn type_spec(&mut self) -> ParseResult<TypeSpec> {
        let from = self.pos;
        let plain = |ty| TypeSpec { ty, length: None };
        if self.keyword("DOUBLE PRECISION") {
            return Ok(plain(Type::DOUBLE));
        }
        if self.keyword("DOUBLE COMPLEX") {
            return Ok(plain(Type::Complex(8)));
        }
        if self.keyword("BYTE") {
            return Ok(plain(Type::Integer(1)));
        }
        if self.keyword("CHARACTER") {
            return Ok(TypeSpec {
                ty: Type::Character,
                length: self.length_after_character()?,
            });
        }
        let word = ["INTEGER", "REAL", "COMPLEX", "LOGICAL"]
            .into_iter()
            .find(|w| self.keyword(w));
        let Some(word) = word else {
            return Err(self.expected("a type"));
        };
        let size = if self.eat(b'*') {
            self.number_needed("the size in bytes")?
        } else if self.eat(b'(') {
            self.keyword("KIND=");
            let kind = self.kind()?;
            self.expect(b')')?;
            if word == "COMPLEX" {
                kind.saturating_mul(2)
            } else {
                kind
            }
        } else {
            return Ok(plain(match word {
                "INTEGER" => Type::INTEGER,
                "REAL" => Type::REAL,
                "COMPLEX" => Type::COMPLEX,
                _ => Type::LOGICAL,
            }));
        };
        self.sized(word, size, from).map(plain)
    }

    /// Parses the kind of a type: a constant expression of names that are already declared.
    fn kind(&mut self) -> ParseResult<i64> {
        let before = self.open_unit.unit.symbols.len();
        let e = self.expr()?;
        let span = e.span;
        let value = self.kind_value(e);
        // The type contains the number, so the names that were read are no longer needed.
        self.open_unit.unit.symbols.truncate(before);
        value.ok_or_else(|| {
            Box::new(
                Diagnostic::error(
                    &rules::SYNTAX,
                    span,
                    "the kind of a type must be a constant whose value is known here",
                )
                .help(
                    "write a number, a named constant that is declared above, \
                     KIND(1.0D0) or SELECTED_REAL_KIND(15)",
                ),
            )
        })
    }

    fn sized(&self, word: &str, size: i64, from: usize) -> ParseResult<Type> {
        sized(word, size, self.open_unit.unit.sizes).ok_or_else(|| {
            Box::new(Diagnostic::error(
                &rules::UNSUPPORTED,
                self.since(from),
                format!("there is no {word} of {size} bytes"),
            ))
        })
    }

    fn number_needed(&mut self, what: &str) -> ParseResult<i64> {
        match self.number() {
            Some((n, _)) => Ok(n),
            None => Err(self.expected(what)),
        }
    }

    /// Parses `*8`, `*(*)`, `*(N+1)`, `(8)` or `(LEN=8)`, with an optional comma after the first
    /// form.
    fn length_after_character(&mut self) -> ParseResult<Option<Expr>> {
        if self.peek() == b'*' {
            let length = self.star_length()?;
            // `CHARACTER*8, A`, but not the comma before an attribute.
            if self.peek() == b',' && !self.attributed() {
                self.pos += 1;
            }
            return Ok(Some(length));
        }
        if !self.eat(b'(') {
            return Ok(None);
        }
        let mut length = None;
        loop {
            if self.keyword("KIND=") || length.is_some() && !self.keyword("LEN=") {
                let from = self.pos;
                let kind = self.kind()?;
                if kind != 1 {
                    return Err(Box::new(Diagnostic::error(
                        &rules::UNSUPPORTED,
                        self.since(from),
                        format!("there is no CHARACTER of kind {kind}"),
                    )));
                }
            } else {
                self.keyword("LEN=");
                if self.peek() == b':' {
                    let mut error = self.expected("a length");
                    error.help = Some("give the longest one that is needed".to_owned());
                    return Err(error);
                }
                length = Some(self.bound()?);
            }
            if self.list_ends()? {
                return Ok(length);
            }
        }
    }

    /// Whether `::` follows later in the statement, so that commas before it separate attributes.
    pub(super) fn attributed(&self) -> bool {
        let mut depth = 0i32;
        let rest = self.rest();
        rest.iter().zip(rest.iter().skip(1)).any(|(a, b)| {
            depth += i32::from(*a == b'(') - i32::from(*a == b')');
            depth == 0 && *a == b':' && *b == b':'
        })
    }

    /// Parses `*8`, `*(*)` or `*(N+1)`.
    fn star_length(&mut self) -> ParseResult<Expr> {
        self.expect(b'*')?;
        if self.eat(b'(') {
            let e = self.bound()?;
            self.expect(b')')?;
            return Ok(e);
        }
        match self.number() {
            Some((n, span)) => Ok(Expr::int(n, span)),
            None => Err(self.expected("a length")),
        }
    }

    /// Parses `*8` after a name.
    pub fn own_size(&mut self, ty: Type) -> ParseResult<(Type, Option<Expr>)> {
        let from = self.pos;
        if ty == Type::Character {
            return Ok((ty, Some(self.star_length()?)));
        }
        self.expect(b'*')?;
        let size = self.number_needed("the size in bytes")?;
        let word = match ty {
            Type::Integer(_) => "INTEGER",
            Type::Real(_) => "REAL",
            Type::Complex(_) => "COMPLEX",
            Type::Logical(_) => "LOGICAL",
            Type::Character => "CHARACTER",
        };
        Ok((self.sized(word, size, from)?, None))
    }

    /// Parses `IMPLICIT NONE` or `IMPLICIT REAL*8 (A-H, O-Z)`.
    pub fn implicit(&mut self) -> ParseResult<()> {
        let from = self.pos;
        let first = self.open_unit.unit.implicit.is_empty();
        if self.keyword("NONE") {
            self.end()?;
            self.open_unit.unit.implicit.none = true;
        } else {
            for word in ["AUTOMATIC", "STATIC"] {
                if self.keyword(word) {
                    return Err(self.no_implicit_storage(word, self.since(from)));
                }
            }
            loop {
                self.implicit_rule()?;
                if !self.eat(b',') {
                    break;
                }
            }
            self.end()?;
        }
        // One statement represents all.
        if !first {
            return Ok(());
        }
        self.spec(SpecKind::Implicit);
        Ok(())
    }

    fn no_implicit_storage(&self, word: &str, span: Span) -> Box<Diagnostic> {
        let help = match word {
            "STATIC" => "write SAVE: every variable then keeps its value",
            _ => "leave it out: variables without SAVE are automatic",
        };
        Box::new(
            Diagnostic::error(
                &rules::UNSUPPORTED,
                span,
                format!("IMPLICIT gives types, and {word} is not a type"),
            )
            .help(help),
        )
    }

    fn implicit_rule(&mut self) -> ParseResult<()> {
        // `CHARACTER (A-B)`: the parentheses enclose letters, unless other parentheses follow.
        let letters_only = |l: &Self| {
            l.peek() == b'(' && l.closing(l.pos).is_none_or(|close| l.at(close + 1) != b'(')
        };
        let from = self.pos;
        let word = [
            ("CHARACTER", Type::Character),
            ("INTEGER", Type::INTEGER),
            ("REAL", Type::REAL),
            ("COMPLEX", Type::COMPLEX),
            ("LOGICAL", Type::LOGICAL),
        ]
        .into_iter()
        .find(|(w, _)| self.keyword(w));
        let spec = match word {
            Some((_, ty)) if letters_only(self) => TypeSpec { ty, length: None },
            _ => {
                self.pos = from;
                self.type_spec()?
            }
        };
        let length = match spec.length {
            None => None,
            Some(e) => match constant::integer(&self.open_unit.unit, &e) {
                Some(n) => Some(n),
                None => {
                    return Err(Box::new(Diagnostic::error(
                        &rules::UNSUPPORTED,
                        e.span,
                        "the length in IMPLICIT must be a number",
                    )));
                }
            },
        };
        self.expect(b'(')?;
        loop {
            let first = self.letter()?;
            let last = if self.eat(b'-') {
                self.letter()?
            } else {
                first
            };
            if last < first {
                let mut error = self.expected("a later letter");
                error.span = self.since(self.pos - 3);
                error.message = "the letters are in the wrong order".to_owned();
                return Err(error);
            }
            for letter in first..=last {
                self.open_unit.unit.implicit.letters[usize::from(letter - b'A')] =
                    Some((spec.ty, length));
            }
            if self.list_ends()? {
                return Ok(());
            }
        }
    }

    fn letter(&mut self) -> ParseResult<u8> {
        match self.peek() {
            c @ b'A'..=b'Z' if !super::statement_parser::is_name_letter(self.at(self.pos + 1)) => {
                self.pos += 1;
                Ok(c)
            }
            _ => Err(self.expected("a letter")),
        }
    }
}

/// Returns the type for a keyword and a size in bytes.
fn sized(word: &str, size: i64, sizes: DefaultSizes) -> Option<Type> {
    let n = u8::try_from(size).ok()?;
    Some(match (word, n) {
        ("INTEGER", 1 | 2 | 4 | 8 | 16) => sizes.written(Type::INTEGER, n),
        ("REAL", 4 | 8 | 10 | 16) => sizes.written(Type::REAL, n),
        ("COMPLEX", 8 | 16 | 20 | 32) => sizes.written(Type::COMPLEX, n / 2),
        ("LOGICAL", 1 | 2 | 4 | 8 | 16) => sizes.written(Type::LOGICAL, n),
        _ => return None,
    })
}
