//! Statements that contain others, with their derivatives.

use super::generator::Generator;
use super::stmt::simple_statement;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Block, Case, Do, DoControl, DoEnd, Expr, ExprKind, IfBlock, Label, Select, Stmt, StmtKind,
    SymId, Where, walk_block,
};
use std::collections::HashSet;

impl Generator<'_> {
    pub(super) fn if_block(&mut self, arms: &[(Expr, Block)], b: &IfBlock, span: Span) -> Block {
        let Some(((first, body), rest)) = arms.split_first() else {
            return Vec::new();
        };
        let facts = (self.varied.clone(), self.live.clone());
        let first = self.primal(first);
        let outer_pre = std::mem::take(&mut self.pre);
        let mut out = IfBlock {
            arms: vec![(first, self.block(body))],
            otherwise: None,
            ..IfBlock::default()
        };
        (self.varied, self.live) = facts.clone();
        self.span = span;
        if rest.is_empty() {
            out.otherwise = b.otherwise.as_ref().map(|b| self.block(b));
        } else {
            let mut others = self.if_block(rest, b, span);
            let mut pre = std::mem::take(&mut self.pre);
            match others.pop() {
                Some(Stmt {
                    kind: StmtKind::If(inner),
                    ..
                }) if pre.is_empty() && others.is_empty() => {
                    out.arms.extend(inner.arms);
                    out.otherwise = inner.otherwise;
                }
                // The condition needs statements before it.
                last => {
                    pre.append(&mut others);
                    pre.extend(last);
                    out.otherwise = Some(pre);
                }
            }
        }
        if arms.len() == b.arms.len() {
            out.name = b.name.clone();
            out.end_label = b.end_label;
            out.end_span = b.end_span;
        }
        self.pre = outer_pre;
        vec![Stmt::block_if(out, span)]
    }

    pub(super) fn do_loop(&mut self, d: &Do, span: Span) -> Block {
        let node = self.node;
        let mut zero = None;
        let control = match &d.control {
            DoControl::Count {
                var,
                from,
                to,
                step,
            } => {
                if self.statement_activity().is_live_counter(&d.control) {
                    if self.statement_activity().counts_active(&d.control) {
                        self.errors.push(
                            Diagnostic::error(
                                &rules::AD_CONTROL,
                                from.span,
                                "derivatives would go through the loop variable",
                            )
                            .label("varies with the independents")
                            .help("count with an INTEGER and compute the value in the loop"),
                        );
                    }
                    zero = self.zero_after(&Expr::var(*var, span), true, node);
                }
                DoControl::Count {
                    var: *var,
                    from: self.primal(from),
                    to: self.primal(to),
                    step: step.as_ref().map(|s| self.primal(s)),
                }
            }
            DoControl::While(c) => {
                let active = self.statement_activity().calls_active(c);
                let c = self.primal(c);
                if active {
                    self.errors.push(
                        Diagnostic::error(
                            &rules::AD_CONTROL,
                            c.span,
                            "derivatives would go through a function call in the condition of DO WHILE",
                        )
                        .help("assign the function's value to a variable, before the loop and at its end"),
                    );
                }
                DoControl::While(c)
            }
            DoControl::Forever => DoControl::Forever,
        };
        let mut pre = std::mem::take(&mut self.pre);
        pre.extend(zero);
        let mut body = Vec::new();
        let mut end = d.end;
        for (i, s) in d.body.iter().enumerate() {
            let mut made = self.stmt(s);
            if let (true, DoEnd::Label(l)) = (i + 1 == d.body.len(), d.end) {
                end = self.terminal(l, s, &mut made);
            }
            body.append(&mut made);
        }
        self.pre = pre;
        vec![Stmt::repeat(
            Do {
                name: d.name.clone(),
                control,
                body,
                end,
                end_span: d.end_span,
                directive: d.directive.clone(),
            },
            span,
        )]
    }

    /// Ensures that the last statement of a loop has the label that ends the loop.
    fn terminal(&mut self, label: Label, source: &Stmt, made: &mut Block) -> DoEnd {
        if let StmtKind::Do(_) = source.kind {
            // The inner loop has the terminal statement.
            let l = self.moved_labels.get(&label).copied().unwrap_or(label);
            return DoEnd::Label(l);
        }
        if made.len() == 1 && simple_statement(&made[0]) {
            return DoEnd::Label(label);
        }
        let l = if self.jumped_to.contains(&label) {
            // A jump to the label is meant to execute the statement itself.
            let l = (1..=99_999)
                .rev()
                .find(|l| !self.labels.contains(l))
                .unwrap_or(label);
            self.labels.insert(l);
            self.moved_labels.insert(label, l);
            l
        } else {
            if let Some(first) = made.first_mut() {
                first.label = None;
            }
            label
        };
        made.push(Stmt::labelled(Some(l), StmtKind::Continue, source.span));
        DoEnd::Label(l)
    }

    /// SELECT CASE, case by case: no derivatives go through the selector.
    pub(super) fn select(&mut self, b: &Select, span: Span) -> Block {
        let selector = self.primal(&b.selector);
        let pre = std::mem::take(&mut self.pre);
        let comments = self.block(&b.comments);
        let cases = b
            .cases
            .iter()
            .map(|c| Case {
                values: c.values.clone(),
                body: self.block(&c.body),
                mark: c.mark,
            })
            .collect();
        self.pre = pre;
        let select = Select {
            name: b.name.clone(),
            selector,
            comments,
            cases,
            end: b.end,
        };
        vec![Stmt::select(select, span)]
    }

    /// WHERE: the derivatives of masked assignments are assigned under the same masks.
    pub(super) fn where_block(&mut self, w: &Where, span: Span) -> Block {
        let b = &w.block;
        let mut out = IfBlock {
            name: b.name.clone(),
            marks: b.marks.clone(),
            end_label: b.end_label,
            end_span: b.end_span,
            ..IfBlock::default()
        };
        let mut assigned = HashSet::new();
        for body in b.blocks() {
            walk_block(body, &mut |s| {
                if let StmtKind::Assign(target, _) = &s.kind {
                    assigned.extend(target.base());
                }
            });
        }
        assigned.extend(
            assigned
                .clone()
                .iter()
                .filter_map(|s| self.derivatives.get(s)),
        );
        let outer = std::mem::replace(&mut self.in_where, true);
        let mut pre = Vec::new();
        for (i, (mask, body)) in b.arms.iter().enumerate() {
            self.span = span;
            let mask = self.primal(mask);
            let before = std::mem::take(&mut self.pre);
            if i > 0 && !before.is_empty() {
                self.masked_unsupported(mask.span);
            }
            pre.extend(before);
            let body = self.masked(body, &assigned, &mut pre);
            out.arms.push((mask, body));
        }
        out.otherwise = b
            .otherwise
            .as_ref()
            .map(|body| self.masked(body, &assigned, &mut pre));
        self.in_where = outer;
        self.pre = pre;
        let one = out.arms.len() == 1 && out.arms[0].1.len() == 1;
        let made = Where {
            statement: w.statement && one,
            block: out,
        };
        vec![Stmt::masked(made, span)]
    }

    /// Returns the statements of an arm. Statements that must come before go to `pre`, before the whole
    /// WHERE, if they read nothing that WHERE assigns.
    fn masked(&mut self, body: &Block, assigned: &HashSet<SymId>, pre: &mut Block) -> Block {
        let made = self.block(body);
        let mut out = Vec::with_capacity(made.len());
        let mut plain = true;
        for s in made {
            match &s.kind {
                StmtKind::Assign(target, value) if !self.is_array_valued(target) => {
                    let mut free = matches!(target.kind, ExprKind::Var(_));
                    value.for_each_symbol(&mut |s| free &= !assigned.contains(&s));
                    plain &= free;
                    pre.push(s);
                }
                StmtKind::Assign(..) | StmtKind::Comment(_) | StmtKind::Where(_) => out.push(s),
                _ => plain = false,
            }
        }
        if !plain || out.len() > body.len() && self.engine.layout.vector {
            self.masked_unsupported(body.first().map_or(self.span, |s| s.span));
        }
        out
    }

    fn masked_unsupported(&mut self, span: Span) {
        self.errors.push(
            Diagnostic::error(
                &rules::AD_UNSUPPORTED,
                span,
                "the derivative of this WHERE needs statements that WHERE cannot contain",
            )
            .help("write a DO loop over the elements, with IF"),
        );
    }
}
