//! Parses SELECT CASE and WHERE and the names of constructs, and checks the targets of CYCLE and
//! EXIT.

use super::{Parser, label_of};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{BlockDelimiter, Case, Expr, IfBlock, Name, Stmt, StmtKind, Where};
use crate::source::Span;
use crate::syntax::classify::StatementKind;
use crate::syntax::form::Statement;
use crate::syntax::open_unit::{OpenBlockKind, OpenIf};
use crate::syntax::statement_parser::{ParseResult, StatementParser};
use crate::syntax::stmt::no_condition;

impl Parser<'_> {
    /// Parses `WHERE (mask) assignment`, or the opening of the construct.
    pub(super) fn where_(&mut self, st: &Statement, free: bool, pos: usize, name: Option<Name>) {
        let mut line = self.line(st, free, pos);
        let mask = line.in_parentheses();
        let opens = mask.is_ok() && line.done() || name.is_some();
        if opens || mask.is_err() {
            let mask = self.check(mask).unwrap_or_else(|| no_condition(st.whole()));
            if opens {
                self.open(
                    st,
                    OpenBlockKind::If(OpenIf {
                        is_where: true,
                        name,
                        arms: Vec::new(),
                        marks: Vec::new(),
                        condition: Some(mask),
                    }),
                );
            }
            return;
        }
        let read = mask.and_then(|m| line.masked(m)).and_then(|s| {
            line.end()?;
            Ok(s)
        });
        if let Some(kind) = self.check(read) {
            self.push(st, kind);
        }
    }

    pub(super) fn select(&mut self, st: &Statement, free: bool, pos: usize, name: Option<Name>) {
        let mut line = self.line(st, free, pos);
        let read = line.in_parentheses().and_then(|e| {
            line.end()?;
            Ok(e)
        });
        let selector = self.check(read);
        self.open(
            st,
            OpenBlockKind::Select {
                name,
                selector: selector.unwrap_or_else(|| no_condition(st.whole())),
                comments: Vec::new(),
                cases: Vec::new(),
                current: None,
            },
        );
    }

    pub(super) fn case(&mut self, st: &Statement, free: bool, pos: usize) {
        let mut line = self.line(st, free, pos);
        let mut read = line.case_values();
        let name = line.construct();
        if read.is_ok()
            && let Err(error) = line.end()
        {
            read = Err(error);
        }
        // A malformed CASE must not be taken for CASE DEFAULT.
        let values = self.check(read).unwrap_or_else(|| Some(Vec::new()));
        let this = |k: &OpenBlockKind| matches!(k, OpenBlockKind::Select { .. });
        if !self.unwind(st, "SELECT CASE", &this) {
            return;
        }
        self.check_name(name, None);
        self.no_target(st, "CASE");
        let Some(open) = self.open_unit.blocks.last_mut() else {
            return;
        };
        let OpenBlockKind::Select {
            comments,
            cases,
            current,
            ..
        } = &mut open.kind
        else {
            return;
        };
        let body = std::mem::take(&mut open.body);
        match current.take() {
            Some((values, mark)) => cases.push(Case { values, body, mark }),
            None => *comments = body,
        }
        let first = cases.iter().find(|c| c.values.is_none());
        let twice = first.filter(|_| values.is_none()).map(|c| c.mark.span);
        let span = st.whole();
        *current = Some((
            values,
            BlockDelimiter {
                label: label_of(st),
                span,
            },
        ));
        if let Some(first) = twice {
            self.report(
                Diagnostic::error(
                    &rules::UNCLOSED_BLOCK,
                    span,
                    "there are two CASE DEFAULT in this SELECT CASE",
                )
                .related(first, "the first is here"),
            );
        }
    }

    /// Reports a statement that is not allowed at this place in the innermost block.
    pub(super) fn check_inside(&mut self, st: &Statement, kind: StatementKind) {
        let Some(open) = self.open_unit.blocks.last() else {
            return;
        };
        let ends = matches!(
            kind,
            StatementKind::EndIf
                | StatementKind::EndDo
                | StatementKind::EndSelect
                | StatementKind::EndWhere
                | StatementKind::EndAd(_)
                | StatementKind::Else
                | StatementKind::ElseIf
                | StatementKind::ElseWhere
                | StatementKind::Case
        );
        let (message, help) = match &open.kind {
            OpenBlockKind::If(b) if b.is_where => match kind {
                StatementKind::Assignment | StatementKind::Where => return,
                _ if ends => return,
                _ => (
                    "WHERE may contain only assignments",
                    "close it with END WHERE before this statement",
                ),
            },
            OpenBlockKind::Select { current: None, .. } if !ends => (
                "no statement is allowed between SELECT CASE and its first CASE",
                "write CASE (…) or CASE DEFAULT before it",
            ),
            _ => return,
        };
        let span = open.span;
        self.report(
            Diagnostic::error(&rules::MISPLACED_STATEMENT, st.whole(), message)
                .related(span, "the construct begins here")
                .help(help),
        );
    }

    /// Checks that the name after END IF and the like is that of the innermost block.
    pub(super) fn end_name(&mut self, st: &Statement, free: bool, pos: usize) {
        let mut line = self.line(st, free, pos);
        let name = line.construct();
        let read = line.end();
        self.check(read);
        self.check_name(name, Some(st.whole()));
    }

    /// Compares the name in a statement with that of the innermost block. With `end`, the statement
    /// closes the block and must have its name, if there is one.
    pub(super) fn check_name(&mut self, name: Option<(Name, Span)>, end: Option<Span>) {
        let Some(open) = self.open_unit.blocks.last() else {
            return;
        };
        let report = match (open.kind.name(), name) {
            (Some(wanted), Some((given, _))) if *wanted == given => return,
            (None, None) => return,
            (Some(wanted), None) => {
                let Some(end) = end else { return };
                Diagnostic::error(
                    &rules::CONSTRUCT_NAME,
                    end,
                    format!("the name {wanted} is missing here"),
                )
                .help(format!("write {} {wanted}", open.kind.end_word()))
            }
            (Some(wanted), Some((given, span))) => Diagnostic::error(
                &rules::CONSTRUCT_NAME,
                span,
                format!("{given} is not the name of this construct"),
            )
            .help(format!("its name is {wanted}")),
            (None, Some((given, span))) => Diagnostic::error(
                &rules::CONSTRUCT_NAME,
                span,
                format!("{given} is not the name of this construct"),
            )
            .help("it has no name: leave the name out here, or write it with a colon before the first word of the construct"),
        };
        let report = report.related(open.span, "the construct begins here");
        self.report(report);
    }

    /// Records that a label of ELSE or CASE cannot be the target of a jump.
    pub(super) fn no_target(&mut self, st: &Statement, word: &'static str) {
        if let Some((label, span)) = st.label {
            self.open_unit.dead_labels.insert(label, word);
            self.report(Diagnostic::warning(
                &rules::SUSPICIOUS_LAYOUT,
                span,
                format!("the label of {word} has no effect"),
            ));
        }
    }
}

impl StatementParser<'_> {
    /// Reads the name of a construct, if there is one.
    pub fn construct(&mut self) -> Option<(Name, Span)> {
        self.name().map(|(n, span)| (n.into(), span))
    }

    fn in_parentheses(&mut self) -> ParseResult<Expr> {
        self.expect(b'(')?;
        let e = self.expr()?;
        self.expect(b')')?;
        Ok(e)
    }

    /// Parses `(values)` or `DEFAULT`.
    fn case_values(&mut self) -> ParseResult<Option<Vec<Expr>>> {
        if self.keyword("DEFAULT") {
            return Ok(None);
        }
        self.expect(b'(')?;
        let values = self.arguments()?;
        match values.first() {
            None => Err(self.expected("a value")),
            Some(_) => Ok(Some(values)),
        }
    }

    /// Parses `(mask)` or nothing after ELSEWHERE.
    pub fn else_where(&mut self) -> ParseResult<Option<Expr>> {
        if self.peek() == b'(' {
            return self.in_parentheses().map(Some);
        }
        Ok(None)
    }

    /// Parses the assignment after `WHERE (mask)`.
    pub fn masked(&mut self, mask: Expr) -> ParseResult<StmtKind> {
        let from = self.pos;
        let target = self.designator()?;
        self.expect(b'=')?;
        let value = self.expr()?;
        let assignment = Stmt::assign(target, value, self.since(from));
        Ok(StmtKind::Where(Box::new(Where {
            statement: true,
            block: IfBlock {
                arms: vec![(mask, vec![assignment])],
                ..IfBlock::default()
            },
        })))
    }

    /// Reports a CYCLE or EXIT without a target, or one that leaves an AD block.
    pub fn leave_block(&mut self, exit: bool, name: Option<&Name>, from: usize) {
        let word = if exit { "EXIT" } else { "CYCLE" };
        let leads = |k: &OpenBlockKind| match name {
            Some(n) => k.name() == Some(n),
            None => matches!(k, OpenBlockKind::Do { .. }),
        };
        let span = if name.is_some() {
            self.since(from)
        } else {
            self.st.whole()
        };
        let blocks = &self.open_unit.blocks;
        let Some(at) = blocks.iter().rposition(|b| leads(&b.kind)) else {
            let report = match name {
                Some(n) => Diagnostic::error(
                    &rules::CONSTRUCT_NAME,
                    span,
                    format!("no construct around this {word} bears the name {n}"),
                ),
                None => Diagnostic::error(
                    &rules::MISPLACED_STATEMENT,
                    span,
                    format!("there is no loop around this {word}"),
                ),
            };
            self.diagnostics.push(report);
            return;
        };
        let is_loop = matches!(blocks[at].kind, OpenBlockKind::Do { .. });
        if !exit && !is_loop {
            let report = Diagnostic::error(
                &rules::CONSTRUCT_NAME,
                span,
                format!(
                    "CYCLE must name a loop, but this is the name of {}",
                    blocks[at].kind.word()
                ),
            )
            .related(blocks[at].span, "the construct begins here");
            self.diagnostics.push(report);
        } else if let Some(ad) = blocks[at..]
            .iter()
            .find(|b| matches!(b.kind, OpenBlockKind::Ad { .. }))
        {
            let block = ad.kind.word();
            let report = Diagnostic::error(
                &rules::AD_JUMP,
                self.st.whole(),
                format!("{word} leaves the {block} block"),
            )
            .related(ad.span, "the block begins here")
            .help(format!(
                "leave the block at END {block}; set a flag and branch after it"
            ));
            self.diagnostics.push(report);
        }
    }
}
