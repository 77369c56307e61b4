//! Statements whose outcome determines a jump: input and output with END= and ERR=, and formats
//! given by an assigned label.

use super::emit::Names;
use super::target::{Target, unsupported};
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    BinOp, BlockDelimiter, Case, Expr, ExprKind, Io, IoKind, Label, Select, Stmt, StmtKind, SymId,
    Type,
};
use std::collections::{BTreeSet, HashMap};

/// Statements to execute, followed by a branch on a value.
#[derive(Debug)]
pub(super) struct StatusBranch {
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// The value that decides.
    pub selector: Expr,
    /// Cases (constants and ranges) and their targets. For all other values control continues.
    pub cases: Vec<(Vec<Expr>, Target)>,
}

/// Rewrites such statements.
pub(super) struct IoBranchRewriter<'a, 'u> {
    pub names: &'a mut Names<'u>,
    pub errors: &'a mut Vec<Diagnostic>,
}

impl IoBranchRewriter<'_, '_> {
    /// Rewrites an input or output statement: IOSTAT= reports the outcome.
    ///
    /// `assigned` contains the labels that are assigned to variables.
    pub fn io(
        &mut self,
        mut io: Io,
        assigned: &HashMap<SymId, BTreeSet<Label>>,
        span: Span,
    ) -> Result<StatusBranch, StmtKind> {
        let mut ways: Vec<(Vec<Expr>, Target)> = Vec::new();
        let mut caught = [false; 2];
        io.control.retain(|c| {
            let ExprKind::Keyword(word, value) = &c.kind else {
                return true;
            };
            let ExprKind::Int(label) = value.kind else {
                return true;
            };
            let int = |i| Expr::int(i, span);
            let values = match word.as_str() {
                "END" => int(-1),
                "EOR" => int(-2),
                "ERR" => Expr::range(Some(int(1)), None, None, span),
                _ => return true,
            };
            caught[usize::from(word == "ERR")] = true;
            let label = Target::Label(Label::try_from(label).unwrap_or(0));
            ways.push((vec![values], label));
            false
        });
        let format = self.format(&io, assigned);
        if ways.is_empty() {
            return match format {
                Some((at, labels)) => {
                    let made = self.by_format(&io, at, &labels, span);
                    // The statement itself always continues.
                    Ok(StatusBranch {
                        stmts: vec![made],
                        selector: Expr::int(0, span),
                        cases: Vec::new(),
                    })
                }
                None => Err(StmtKind::Io(Box::new(io))),
            };
        }
        let given = io.control.iter().find_map(|c| match &c.kind {
            ExprKind::Keyword(word, v) if word == "IOSTAT" => Some((**v).clone()),
            _ => None,
        });
        let own = given.is_none();
        let status = given.unwrap_or_else(|| {
            let status = self.names.variable("IOSTAT", Type::INTEGER, span);
            let status = Expr::var(status, span);
            io.control
                .push(Expr::keyword("IOSTAT", status.clone(), span));
            status
        });
        io.parens = true;
        let mut stmts = vec![match format {
            Some((at, labels)) => self.by_format(&io, at, &labels, span),
            None => Stmt::io(io, span),
        }];
        if own {
            // Conditions that the program does not handle end it.
            for (caught, op) in caught.into_iter().zip([BinOp::Lt, BinOp::Gt]) {
                if !caught {
                    let bad = Expr::binary(op, status.clone(), Expr::int(0, span));
                    let stop = Stmt::stop(Expr::int(2, span), span);
                    stmts.push(Stmt::logical_if(bad, stop, span));
                }
            }
        }
        Ok(StatusBranch {
            stmts,
            selector: status,
            cases: ways,
        })
    }

    /// Returns the position of a format that is given by an assigned variable, and the labels that
    /// it can have.
    fn format(
        &mut self,
        io: &Io,
        assigned: &HashMap<SymId, BTreeSet<Label>>,
    ) -> Option<(usize, BTreeSet<Label>)> {
        if !matches!(io.kind, IoKind::Read | IoKind::Write | IoKind::Print) {
            return None;
        }
        let place = if io.parens { 1 } else { 0 };
        io.control.iter().enumerate().find_map(|(i, c)| {
            let e = match &c.kind {
                ExprKind::Keyword(word, v) if word == "FMT" => v,
                ExprKind::Keyword(..) => return None,
                _ if i == place => c,
                _ => return None,
            };
            match e.kind {
                ExprKind::Var(s) => Some((i, assigned.get(&s)?.clone())),
                _ => None,
            }
        })
    }

    /// Returns a SELECT CASE with a copy of the statement for each of these formats.
    fn by_format(&mut self, io: &Io, at: usize, labels: &BTreeSet<Label>, span: Span) -> Stmt {
        let Some(selector) = io.control.get(at).map(|c| match &c.kind {
            ExprKind::Keyword(_, v) => (**v).clone(),
            _ => c.clone(),
        }) else {
            self.errors.push(unsupported(span, "no format".to_owned()));
            return Stmt::continues(span);
        };
        let mark = BlockDelimiter { label: None, span };
        let cases = labels.iter().map(|l| {
            let mut io = io.clone();
            let format = Expr::int(i64::from(*l), span);
            if let Some(c) = io.control.get_mut(at) {
                match &mut c.kind {
                    ExprKind::Keyword(_, v) => **v = format,
                    _ => *c = format,
                }
            }
            Case {
                values: Some(vec![Expr::int(i64::from(*l), span)]),
                body: vec![Stmt::io(io, span)],
                mark,
            }
        });
        let select = Select {
            name: None,
            selector,
            comments: Vec::new(),
            cases: cases.collect(),
            end: mark,
        };
        Stmt::select(select, span)
    }
}
