//! Parses DATA, and the loop control that it shares with other statements.

use super::form::{CHAR, HOLLERITH};
use super::statement_parser::{ParseResult, StatementParser};
use crate::ir::{Class, DataSet, Expr, ExprKind, SpecKind, SymId, UnOp};

impl StatementParser<'_> {
    /// Parses `DATA targets / values /, …`.
    pub fn data(&mut self) -> ParseResult<()> {
        let mut sets = Vec::new();
        loop {
            let mut targets = Vec::new();
            loop {
                targets.push(self.data_target()?);
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b'/')?;
            let values = self.data_values()?;
            for t in &targets {
                self.mark_saved(t);
            }
            sets.push(DataSet { targets, values });
            self.eat(b',');
            if self.done() {
                break;
            }
        }
        self.spec(SpecKind::Data(sets));
        Ok(())
    }

    fn mark_saved(&mut self, target: &Expr) {
        if let ExprKind::ImpliedDo(d) = &target.kind {
            d.items.iter().for_each(|i| self.mark_saved(i));
        } else if let Some(sym) = target.base() {
            self.open_unit.unit.symbols[sym].saved = true;
        }
    }

    /// Parses a variable, array, element, substring or implied DO.
    fn data_target(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        if !self.eat(b'(') {
            return self.designator();
        }
        self.enter()?;
        let mut items = Vec::new();
        loop {
            let end = self.name_end(self.pos);
            if !items.is_empty() && end > self.pos && self.at(end) == b'=' {
                break;
            }
            items.push(self.data_target()?);
            if !self.eat(b',') {
                return Err(self.expected("`,` and a loop variable"));
            }
        }
        self.implied_do(items, from)
    }

    /// Parses `var = from, to, step`.
    pub fn loop_control(&mut self) -> ParseResult<(SymId, Expr, Expr, Option<Expr>)> {
        let (var, _) = self.expect_sym("a loop variable")?;
        self.expect(b'=')?;
        let from = self.expr()?;
        if !self.eat(b',') {
            return Err(self.expected("`,` and the last value of the loop"));
        }
        let to = self.expr()?;
        let step = if self.eat(b',') {
            Some(self.expr()?)
        } else {
            None
        };
        Ok((var, from, to, step))
    }

    /// Parses the values of DATA up to the closing slash.
    pub(super) fn data_values(&mut self) -> ParseResult<Vec<(Option<Expr>, Expr)>> {
        let mut values = Vec::new();
        loop {
            let first = self.data_value()?;
            if self.eat(b'*') {
                let value = self.data_value()?;
                values.push((Some(first), value));
            } else {
                values.push((None, first));
            }
            if self.eat(b'/') {
                return Ok(values);
            }
            if !self.eat(b',') {
                return Err(self.expected("`,` or `/`"));
            }
        }
    }

    /// Parses a constant with an optional sign. Operators end it, as `*` repeats and `/` closes.
    fn data_value(&mut self) -> ParseResult<Expr> {
        let from = self.pos;
        let op = match self.peek() {
            b'-' => Some(UnOp::Minus),
            b'+' => Some(UnOp::Plus),
            _ => None,
        };
        let Some(op) = op else {
            return match self.peek() {
                b'T' | b'F' if matches!(self.at(from + 1), b',' | b'/') => {
                    // `T` and `F` for logical constants are an old custom, unless there are
                    // constants with these names.
                    let known = self.open_unit.unit.symbols.find(self.text(from, from + 1));
                    let constant = known.is_some_and(|s| {
                        matches!(self.open_unit.unit.symbols[s].class, Class::Parameter(_))
                    });
                    if constant {
                        return self.primary();
                    }
                    let value = self.peek() == b'T';
                    self.pos += 1;
                    Ok(Expr::new(ExprKind::Logical(value), self.since(from)))
                }
                CHAR | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'(' | HOLLERITH => self.primary(),
                _ => Err(self.expected("a constant")),
            };
        };
        self.pos += 1;
        let value = self.primary()?;
        Ok(Expr::new(
            ExprKind::Unary(op, Box::new(value)),
            self.since(from),
        ))
    }
}
