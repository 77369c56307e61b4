//! Input and output statements: they read and write values without derivatives.

use super::generator::Generator;
use crate::calls::read_targets;
use crate::locations::differentiable;
use farfel_lang::Span;
use farfel_lang::access::{self, Access, NewValue};
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Block, Class, Expr, ExprKind, Io, IoKind, Stmt, StmtKind, SymId, Unit, walk_block,
};

/// Whether a statement writes output that may be read back.
pub(crate) fn may_come_back(io: &Io) -> bool {
    let standard = io
        .unit()
        .is_none_or(|u| matches!(u.kind, ExprKind::Star | ExprKind::Int(0 | 6)));
    io.kind == IoKind::Write && !standard
}

/// Whether a unit writes numbers to where they may be read back.
pub(crate) fn writes_to_files(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Io(io) = &s.kind {
            let group = groups(unit, io).next().is_some();
            found |= may_come_back(io) && (!io.items.is_empty() || group);
        }
    });
    found
}

/// The members of the NAMELIST groups that a statement names, each with the place where it does so.
fn groups<'u>(unit: &'u Unit, io: &'u Io) -> impl Iterator<Item = (&'u Expr, &'u [SymId])> {
    let given = io.control.iter().map(|c| match &c.kind {
        ExprKind::Keyword(_, e) => &**e,
        _ => c,
    });
    given.filter_map(|e| {
        let ExprKind::Var(group) = e.kind else {
            return None;
        };
        match &unit.symbols[group].class {
            Class::Namelist(members) => Some((e, members.as_slice())),
            _ => None,
        }
    })
}

impl Generator<'_> {
    /// Warns of values with derivatives that are written to where they may be read back without these.
    fn warn_of_output(&mut self, io: &Io) {
        if !may_come_back(io) {
            return;
        }
        let varied = |s: &SymId| {
            differentiable(&self.source.symbols[*s]) && self.varied.contains(self.space.loc(*s))
        };
        let group = groups(self.source, io).find(|(_, members)| members.iter().any(varied));
        let item = io.items.iter().find(|i| self.is_varied(i));
        if let Some(item) = item.or(group.map(|(e, _)| e)) {
            let span = if item.span == Span::NONE {
                self.span
            } else {
                item.span
            };
            let warning = Diagnostic::warning(
                &rules::AD_OUTPUT,
                span,
                "this value carries a derivative, and is written without it",
            )
            .label("has derivative zero when it is read back")
            .help("keep it in a variable, if it is used again");
            let warning = self.engine.with_ad_block(warning);
            self.engine.warnings.borrow_mut().push(warning);
        }
    }

    pub(super) fn io(&mut self, s: &Stmt, io: &Io, node: usize) -> Block {
        self.warn_of_output(io);
        let mut new = io.clone();
        if io.kind != IoKind::Read {
            new.items = io.items.iter().map(|i| self.primal(i)).collect();
        }
        let span = self.span;
        let mut out = vec![Stmt::io(new, span)];
        if io.kind == IoKind::Read {
            for item in &io.items {
                out.extend(self.zero_item(item, node));
            }
            self.refuse_namelist(io, node);
        }
        out.extend(self.counted(s, node));
        out
    }

    /// Sets the derivatives of real variables to zero that are variables of implied DOs.
    fn counted(&mut self, s: &Stmt, node: usize) -> Block {
        let mut counters = Vec::new();
        access::statement(self.source, s, false, &mut |a| {
            if let Access::Variable {
                sym,
                value: NewValue::Count { from, step },
                ..
            } = a
            {
                counters.push((sym, from, step));
            }
        });
        let mut out = Vec::new();
        for (var, from, step) in counters {
            let live = self.activity.live[node].contains(self.space.loc(var));
            if !differentiable(&self.source.symbols[var]) || !live {
                continue;
            }
            if self.is_varied(from) || step.is_some_and(|s| self.is_varied(s)) {
                let error = Diagnostic::error(
                    &rules::AD_INPUT,
                    from.span,
                    "derivatives would go through the variable of an implied DO",
                )
                .label("varies with the independents")
                .help("count with an INTEGER and compute the value in a DO loop");
                self.errors.push(self.engine.with_ad_block(error));
            }
            out.extend(self.zero_after(&Expr::var(var, self.span), true, node));
        }
        out
    }

    /// Reports NAMELIST input that may assign a variable with a derivative: only the input determines which
    /// members get values, and thereby lose their derivatives.
    fn refuse_namelist(&mut self, io: &Io, node: usize) {
        let members = groups(self.source, io).flat_map(|(_, members)| members);
        let active = |s: &&SymId| {
            let loc = self.space.loc(**s);
            differentiable(&self.source.symbols[**s])
                && self.varied.contains(loc)
                && self.activity.live[node].contains(loc)
        };
        let Some(s) = members.into_iter().find(active) else {
            return;
        };
        let name = &self.source.symbols[*s].name;
        let error = Diagnostic::error(
            &rules::AD_INPUT,
            self.span,
            format!("{name} keeps its derivative or loses it, as the input decides"),
        )
        .label("NAMELIST")
        .help("read into a variable that is not differentiated, and assign that");
        self.errors.push(self.engine.with_ad_block(error));
    }

    /// Sets the derivatives of what an item of READ assigns to zero.
    fn zero_item(&mut self, item: &Expr, node: usize) -> Block {
        match &item.kind {
            ExprKind::ImpliedDo(d) => {
                let body: Block = d
                    .items
                    .iter()
                    .flat_map(|i| self.zero_item(i, node))
                    .collect();
                if body.is_empty() {
                    return body;
                }
                let ends = [d.from.clone(), d.to.clone()];
                vec![Stmt::count(d.var, ends, d.step.clone(), body, self.span)]
            }
            _ => {
                let mut whole = false;
                read_targets(item, &mut |_, w| whole = w);
                self.zero_after(item, whole, node).into_iter().collect()
            }
        }
    }
}
