//! Parses executable statements.

use super::classify::StatementKind;
use super::descriptors;
use super::form::{CHAR, HOLLERITH};
use super::open_unit::{LabelUse, RenamedResult};
use super::statement_parser::{ParseResult, StatementParser};
use super::unsupported;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Arg, DoControl, Entry, Expr, ExprKind, Label, Stmt, StmtKind, StorageClass};
use std::collections::HashSet;

/// The kinds of IF statements.
#[derive(Debug)]
pub(super) enum ParsedIf {
    /// `IF (condition) THEN`
    Block(Expr),
    /// Anything else, as a complete statement.
    Simple(StmtKind),
}

impl StatementParser<'_> {
    /// Parses a statement that is complete in itself, after its keyword.
    pub fn simple(&mut self, kind: StatementKind) -> ParseResult<StmtKind> {
        let statement = match kind {
            StatementKind::Assignment => {
                let target = self.designator()?;
                self.expect(b'=')?;
                if self.peek() == b'>' {
                    return Err(Box::new(
                        Diagnostic::error(
                            &rules::UNSUPPORTED,
                            self.st.whole(),
                            "Farfel does not support pointer assignments",
                        )
                        .label("there are no Fortran 90 pointers")
                        .help("assign the value with `=`, or pass the variable as an argument"),
                    ));
                }
                let value = self.expr()?;
                StmtKind::Assign(target, value)
            }
            StatementKind::Continue => StmtKind::Continue,
            StatementKind::Goto => self.goto()?,
            StatementKind::Assign => {
                let label = self.label_for(LabelUse::Either)?;
                if !self.keyword("TO") {
                    return Err(self.expected("TO"));
                }
                let (sym, _) = self.expect_sym("a variable")?;
                StmtKind::AssignLabel(label, sym)
            }
            StatementKind::Call => {
                let (sym, _) = self.expect_sym("the name of a subroutine")?;
                let args = if self.eat(b'(') {
                    self.arguments()?
                } else {
                    Vec::new()
                };
                StmtKind::Call(sym, self.with_components(args))
            }
            StatementKind::Return => StmtKind::Return(self.optional()?),
            StatementKind::Stop => StmtKind::Stop(self.optional()?),
            StatementKind::Pause => StmtKind::Pause(self.optional()?),
            StatementKind::Io(kind) | StatementKind::Terminal(kind) => self.io(kind)?,
            StatementKind::Cycle | StatementKind::Exit => {
                let from = self.pos;
                let name = self.name().map(|(n, _)| n.into());
                self.leave_block(kind == StatementKind::Exit, name.as_ref(), from);
                match kind {
                    StatementKind::Cycle => StmtKind::Cycle(name),
                    _ => StmtKind::Exit(name),
                }
            }
            StatementKind::Where => {
                self.expect(b'(')?;
                let mask = self.expr()?;
                self.expect(b')')?;
                self.masked(mask)?
            }
            StatementKind::Allocate(free) => self.allocation(free)?,
            StatementKind::Entry => self.entry()?,
            _ => return Err(self.expected("an executable statement")),
        };
        self.end()?;
        Ok(statement)
    }

    fn optional(&mut self) -> ParseResult<Option<Expr>> {
        if self.done() {
            return Ok(None);
        }
        self.expr().map(Some)
    }

    fn goto(&mut self) -> ParseResult<StmtKind> {
        if self.peek().is_ascii_digit() {
            return Ok(StmtKind::Goto(self.label()?));
        }
        if self.eat(b'(') {
            let labels = self.labels()?;
            self.eat(b',');
            return Ok(StmtKind::ComputedGoto(labels, self.expr()?));
        }
        let (sym, _) = self.expect_sym("a label, a variable or `(`")?;
        let comma = self.eat(b',');
        let labels = if comma || self.peek() == b'(' {
            self.expect(b'(')?;
            self.labels()?
        } else {
            Vec::new()
        };
        Ok(StmtKind::AssignedGoto(sym, labels))
    }

    /// Parses labels up to the closing parenthesis.
    fn labels(&mut self) -> ParseResult<Vec<Label>> {
        let mut list = Vec::new();
        loop {
            list.push(self.label()?);
            if self.list_ends()? {
                return Ok(list);
            }
        }
    }

    fn entry(&mut self) -> ParseResult<StmtKind> {
        let (name, span) = self.expect_name("the name of the entry")?;
        let function = self.open_unit.unit.result.is_some();
        let own = match function && self.has_result_clause() {
            true => None,
            false => Some(self.intern(name, span)),
        };
        let args = self.dummies()?;
        let name = match own {
            Some(sym) => sym,
            None => {
                let (sym, span) = self.result_clause()?;
                let renamed = RenamedResult {
                    result: sym,
                    entry: name.into(),
                    span,
                };
                self.open_unit.entry_results.push(renamed);
                sym
            }
        };
        if function {
            self.open_unit.unit.symbols[name].storage_class = StorageClass::Result;
        }
        Ok(StmtKind::Entry(Box::new(Entry { name, args })))
    }

    /// Parses `(dummies)`, or nothing.
    pub fn dummies(&mut self) -> ParseResult<Vec<Arg>> {
        let mut args = Vec::new();
        if !self.eat(b'(') || self.eat(b')') {
            return Ok(args);
        }
        let mut seen = HashSet::new();
        loop {
            let from = self.pos;
            if self.eat(b'*') {
                args.push(Arg::AltReturn(self.since(from)));
            } else {
                let (sym, span) = self.expect_sym("a dummy argument")?;
                if !seen.insert(sym) {
                    let symbol = &self.open_unit.unit.symbols[sym];
                    self.diagnostics.push(
                        Diagnostic::error(
                            &rules::CONFLICTING_DECLARATION,
                            span,
                            format!("the argument {} is listed twice", symbol.name),
                        )
                        .related(symbol.span, "first here"),
                    );
                }
                let symbol = &mut self.open_unit.unit.symbols[sym];
                if symbol.storage_class == StorageClass::Local {
                    symbol.storage_class = StorageClass::Dummy;
                }
                args.push(Arg::Dummy(sym));
            }
            if self.list_ends()? {
                return Ok(args);
            }
        }
    }

    /// Parses what follows IF.
    pub fn if_statement(&mut self) -> ParseResult<ParsedIf> {
        self.opens_condition("IF (…) THEN")?;
        let condition = self.expr()?;
        self.expect(b')')?;
        if self.done() {
            let mut error = self.expected("THEN or a statement");
            error.help = Some("write THEN after the condition".to_owned());
            return Err(error);
        }
        if self.peek().is_ascii_digit() {
            let first = self.label()?;
            self.expect(b',')?;
            let second = self.label()?;
            self.expect(b',')?;
            let third = self.label()?;
            self.end()?;
            return Ok(ParsedIf::Simple(StmtKind::ArithmeticIf(
                condition,
                [first, second, third],
            )));
        }
        if self.keyword_end(self.pos, "THEN") == Some(self.st.text.len()) {
            return Ok(ParsedIf::Block(condition));
        }
        let from = self.pos;
        let kind = self.classify();
        if kind == StatementKind::Unsupported
            && let Some(f) = unsupported::find(self, from)
        {
            let span = self.st.span(from, self.st.text.len());
            return Err(Box::new(f.error("statements", span)));
        }
        if kind == StatementKind::Assignment {
            self.warn_of_then(from);
        }
        let statement = match kind {
            StatementKind::If => match self.if_statement()? {
                ParsedIf::Simple(s @ StmtKind::ArithmeticIf(..)) => s,
                _ => return Err(self.not_after_if(from)),
            },
            StatementKind::Do
            | StatementKind::Ad(_)
            | StatementKind::End
            | StatementKind::Entry
            | StatementKind::Format
            | StatementKind::Select => {
                return Err(self.not_after_if(from));
            }
            StatementKind::EndAd(_) => {
                let mut error = self.not_after_if(from);
                error.help = Some(
                    "a block ends in one place, whatever holds: let END ADF (END ADR) stand by itself, \
                     and assign what depends on a condition after it"
                        .to_owned(),
                );
                return Err(error);
            }
            StatementKind::Unknown => {
                self.pos = from;
                let mut error = self.expected("THEN or a statement");
                if super::spelling::close_to(self.first_word(), "THEN") {
                    error.help = Some("did you mean THEN?".to_owned());
                }
                return Err(error);
            }
            kind => self.simple(kind)?,
        };
        let span = self.since(from);
        Ok(ParsedIf::Simple(StmtKind::LogicalIf(
            condition,
            Box::new(Stmt::new(statement, span)),
        )))
    }

    /// Warns that `IF (…) THEN Y = 2` assigns to THENY in fixed form, which is hardly ever meant.
    fn warn_of_then(&mut self, from: usize) {
        let after = from + 4;
        let name = self.text(from, self.name_end(from));
        let declared = self.open_unit.declares(name);
        if name.starts_with("THEN") && name.len() > 4 && self.st.gap(after) && !declared {
            let span = self.st.span(from, after);
            self.diagnostics.push(
                Diagnostic::warning(
                    &rules::SUSPICIOUS_LAYOUT,
                    span,
                    format!("this assigns to {name}: blanks mean nothing in fixed form"),
                )
                .help("nothing may follow THEN: write the statement on a line of its own"),
            );
        }
    }

    fn not_after_if(&self, from: usize) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error(
                &rules::SYNTAX,
                self.st.span(from, self.st.text.len()),
                "this statement cannot follow IF (…) on the same line",
            )
            .help("write IF (…) THEN, the statement on a line of its own, and END IF"),
        )
    }

    /// Parses `IF (condition) THEN` after ELSE. The name of the construct may follow.
    pub fn else_if(&mut self) -> ParseResult<Expr> {
        self.opens_condition("ELSE IF (…) THEN")?;
        let condition = self.expr()?;
        self.expect(b')')?;
        if !self.keyword("THEN") {
            let mut error = self.expected("THEN");
            error.help = Some("write THEN after the condition".to_owned());
            return Err(error);
        }
        Ok(condition)
    }

    /// Reads the parenthesis before a condition.
    fn opens_condition(&mut self, right: &str) -> ParseResult<()> {
        if self.eat(b'(') {
            return Ok(());
        }
        let span = self.st.span(self.pos, self.st.text.len());
        let message = "the condition must be in parentheses";
        Err(Box::new(
            Diagnostic::error(&rules::SYNTAX, span, message).help(format!("write {right}")),
        ))
    }

    /// Parses what follows DO and its label.
    pub fn do_control(&mut self) -> ParseResult<DoControl> {
        self.eat(b',');
        if self.done() {
            return Ok(DoControl::Forever);
        }
        if self.keyword_end(self.pos, "WHILE").is_some() && !self.at_loop_control() {
            self.keyword("WHILE");
            self.opens_condition("DO WHILE (…)")?;
            let condition = self.expr()?;
            self.expect(b')')?;
            self.end()?;
            return Ok(DoControl::While(condition));
        }
        if let Some(end) = self.keyword_end(self.pos, "CONCURRENT")
            && self.at(end) == b'('
        {
            let span = self.st.whole();
            return Err(Box::new(
                Diagnostic::error(
                    &rules::UNSUPPORTED,
                    span,
                    "Farfel does not support DO CONCURRENT loops",
                )
                .label("its iterations have no order")
                .help(
                    "write a DO loop for each index, as in `DO I = 1, N`, with an IF for the mask",
                ),
            ));
        }
        let (var, from, to, step) = self.loop_control()?;
        self.end()?;
        Ok(DoControl::Count {
            var,
            from,
            to,
            step,
        })
    }

    /// Returns the text of FORMAT between the outer parentheses. Blanks outside of constants, which
    /// have no meaning, are only put after commas.
    pub fn format(&mut self) -> ParseResult<String> {
        let from = self.pos + 1;
        let Some(close) = self.closing(self.pos) else {
            self.pos = self.st.text.len();
            let mut error = self.expected("`)`");
            error.help = Some("a parenthesis is not closed".to_owned());
            return Err(error);
        };
        self.pos = close + 1;
        self.end()?;
        if let Some(error) = descriptors::of_statement(self.st, from, close) {
            self.diagnostics.push(error);
        }
        let mut text = String::new();
        for at in from..close {
            match self.at(at) {
                b',' => text.push_str(", "),
                CHAR => {
                    // Adjacent constants would be read as one constant with a quote in it.
                    if at > from && self.at(at - 1) == CHAR {
                        text.push_str(", ");
                    }
                    text.push('\'');
                    text.push_str(&self.st.string_value(at).replace('\'', "''"));
                    text.push('\'');
                }
                HOLLERITH => {
                    let value = self.st.string_value(at);
                    text.push_str(&format!("{}H{value}", crate::encoding::len(value)));
                }
                c => text.push(c as char),
            }
        }
        Ok(text)
    }
}

/// Returns the replacement for the condition of a malformed IF.
pub(super) fn no_condition(line_span: crate::source::Span) -> Expr {
    Expr::new(ExprKind::Logical(false), line_span)
}
