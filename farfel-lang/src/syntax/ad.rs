//! Parses the openings and closings of AD blocks.

use super::statement_parser::{ParseResult, StatementParser};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{AdAssign, AdItem, AdMode, Expr, ImpliedDo, VectorMode};

/// The keyword for the derivative of a variable.
fn word(mode: AdMode) -> &'static str {
    match mode {
        AdMode::Forward => "TANGENT",
        AdMode::Reverse => "COTANGENT",
    }
}

fn other_word(mode: AdMode) -> &'static str {
    match mode {
        AdMode::Forward => word(AdMode::Reverse),
        AdMode::Reverse => word(AdMode::Forward),
    }
}

impl StatementParser<'_> {
    /// Parses `(TANGENT(v) = expr, …)` or the short form `(v)`, optionally preceded by
    /// `DIRECTIONS = n`.
    pub fn ad_opening(&mut self, mode: AdMode) -> ParseResult<(Option<VectorMode>, Vec<AdItem>)> {
        if self.peek() != b'(' {
            let mut error = self.expected("`(`");
            let word = match mode {
                AdMode::Forward => "ADF",
                AdMode::Reverse => "ADR",
            };
            error.help = Some(format!(
                "put the variables in parentheses: `{word}({})`",
                self.text(self.pos, self.name_end(self.pos))
            ));
            return Err(error);
        }
        self.expect(b'(')?;
        let vector_mode = match self.at_vector_mode() {
            false => None,
            true => {
                let pattern = self.keyword("PATTERN");
                if !pattern {
                    self.keyword("DIRECTIONS");
                }
                self.expect(b'=')?;
                let count = self.expr()?;
                Some(VectorMode { pattern, count })
            }
        };
        let items = match vector_mode.is_some() && !self.eat(b',') {
            true => {
                self.expect(b')')?;
                Vec::new()
            }
            false => self.ad_list(mode, StatementParser::opening_assign)?,
        };
        self.end()?;
        Ok((vector_mode, items))
    }

    /// Whether `DIRECTIONS =` or `PATTERN =` comes next.
    fn at_vector_mode(&self) -> bool {
        let end = ["DIRECTIONS", "PATTERN"]
            .iter()
            .find_map(|w| self.keyword_end(self.pos, w));
        end.is_some_and(|e| self.at(e) == b'=')
    }

    /// Parses `(dest = TANGENT(v), …)`, or nothing.
    pub fn ad_closing(&mut self, mode: AdMode) -> ParseResult<Vec<AdItem>> {
        if self.done() {
            return Ok(Vec::new());
        }
        self.expect(b'(')?;
        let items = self.ad_list(mode, StatementParser::closing_assign)?;
        self.end()?;
        Ok(items)
    }

    fn ad_list(
        &mut self,
        mode: AdMode,
        assign: fn(&mut Self, AdMode) -> ParseResult<AdAssign>,
    ) -> ParseResult<Vec<AdItem>> {
        let mut items = Vec::new();
        if self.eat(b')') {
            return Ok(items);
        }
        loop {
            items.push(self.ad_item(mode, assign)?);
            if self.list_ends()? {
                return Ok(items);
            }
        }
    }

    fn ad_item(
        &mut self,
        mode: AdMode,
        assign: fn(&mut Self, AdMode) -> ParseResult<AdAssign>,
    ) -> ParseResult<AdItem> {
        if !self.eat(b'(') {
            return assign(self, mode).map(AdItem::Assign);
        }
        self.enter()?;
        let mut items = Vec::new();
        while items.is_empty() || !self.at_loop_control() || self.derivative_after_equals() {
            items.push(self.ad_item(mode, assign)?);
            if !self.eat(b',') {
                let mut error = self.expected("`,` and a loop variable");
                error
                    .help
                    .get_or_insert("an implied DO is written `(items, I = 1, N)`".to_owned());
                return Err(error);
            }
        }
        self.leave();
        let (var, from, to, step) = self.loop_control()?;
        self.expect(b')')?;
        Ok(AdItem::ImpliedDo(Box::new(ImpliedDo {
            items,
            var,
            from,
            to,
            step,
        })))
    }

    /// Whether TANGENT or COTANGENT follows `NAME =`, which makes it an assignment and not loop
    /// control.
    fn derivative_after_equals(&self) -> bool {
        let at = self.name_end(self.pos) + 1;
        [AdMode::Forward, AdMode::Reverse].iter().any(|m| {
            self.keyword_end(at, word(*m))
                .is_some_and(|e| self.at(e) == b'(')
        })
    }

    /// Parses `TANGENT(v) = expr` or `v`.
    fn opening_assign(&mut self, mode: AdMode) -> ParseResult<AdAssign> {
        let from = self.pos;
        if self.wrong_word(mode) {
            return Err(self.use_other_word(mode));
        }
        if !self.at_derivative(mode) {
            let misplaced = self.at_vector_mode();
            let var = self.designator()?;
            if misplaced {
                let mut error = self.expected("`,` or `)`");
                let help = "it comes first in the opening, not in an implied DO";
                error.help = Some(help.to_owned());
                return Err(error);
            }
            if self.peek() == b'=' {
                let mut error = self.expected("`,` or `)`");
                error.help = Some(format!(
                    "an opening is written `{}(variable) = expression`",
                    word(mode)
                ));
                return Err(error);
            }
            let span = self.since(from);
            return Ok(AdAssign {
                var,
                direction: None,
                other: Expr::int(1, span),
                short: true,
                span,
            });
        }
        let (var, direction) = self.derivative(mode)?;
        if !self.eat(b'=') {
            let mut error = self.expected("`=`");
            error.help = Some(format!(
                "an opening gives a value: `{}(variable) = expression`",
                word(mode)
            ));
            return Err(error);
        }
        let other = self.expr()?;
        Ok(AdAssign {
            var,
            direction,
            other,
            short: false,
            span: self.since(from),
        })
    }

    /// Parses `dest = TANGENT(v)`.
    fn closing_assign(&mut self, mode: AdMode) -> ParseResult<AdAssign> {
        let from = self.pos;
        let other = self.designator()?;
        let written = |mode| {
            format!(
                "a closing is written `destination = {}(variable)`",
                word(mode)
            )
        };
        if !self.eat(b'=') {
            let mut error = self.expected("`=`");
            error.help = Some(written(mode));
            return Err(error);
        }
        if self.wrong_word(mode) {
            return Err(self.use_other_word(mode));
        }
        if !self.at_derivative(mode) {
            let mut error = self.expected(word(mode));
            error.help = Some(written(mode));
            return Err(error);
        }
        let (var, direction) = self.derivative(mode)?;
        Ok(AdAssign {
            var,
            direction,
            other,
            short: false,
            span: self.since(from),
        })
    }

    fn at_derivative(&self, mode: AdMode) -> bool {
        self.keyword_end(self.pos, word(mode))
            .is_some_and(|e| self.at(e) == b'(')
    }

    /// Parses `TANGENT(v)` or `TANGENT(v, k)` into the variable and the direction.
    fn derivative(&mut self, mode: AdMode) -> ParseResult<(Expr, Option<Expr>)> {
        self.keyword(word(mode));
        self.expect(b'(')?;
        let var = self.designator()?;
        let direction = match self.eat(b',') {
            true => Some(self.expr()?),
            false => None,
        };
        self.expect(b')')?;
        Ok((var, direction))
    }

    /// Whether TANGENT comes next in ADR, or COTANGENT in ADF.
    fn wrong_word(&self, mode: AdMode) -> bool {
        self.keyword_end(self.pos, other_word(mode))
            .is_some_and(|e| self.at(e) == b'(')
    }

    fn use_other_word(&self, mode: AdMode) -> Box<Diagnostic> {
        let (block, right, wrong) = match mode {
            AdMode::Forward => ("ADF", word(mode), other_word(mode)),
            AdMode::Reverse => ("ADR", word(mode), other_word(mode)),
        };
        let end = self.keyword_end(self.pos, wrong).unwrap_or(self.pos);
        Box::new(
            Diagnostic::error(
                &rules::SYNTAX,
                self.st.span(self.pos, end),
                format!("{block} blocks have {right}, not {wrong}"),
            )
            .help(format!("write {right} here")),
        )
    }
}
