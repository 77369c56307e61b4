//! Rewrites stretches as planned.

use super::multiples::{MultipleRecogniser, is_zero};
use super::plan::{Multiple, RewritePlan};
use farfel_lang::Span;
use farfel_lang::ir::{
    BinOp, Block, DoEnd, Expr, ExprKind, IfBlock, Name, Stmt, StmtId, StmtKind, SymId, Symbol,
    Type, Unit,
};
use std::collections::{HashMap, HashSet};

/// A plan with the variables that are added for it.
pub(super) struct NamedPlan<'a> {
    pub(super) plan: RewritePlan,
    tangents: &'a HashSet<SymId>,
    /// The derivative that replaces each tangent.
    pub(super) by: HashMap<SymId, SymId>,
}

impl<'a> NamedPlan<'a> {
    pub(super) fn of(
        unit: &mut Unit,
        plan: RewritePlan,
        tangents: &'a HashSet<SymId>,
        primal: &HashMap<SymId, SymId>,
    ) -> Self {
        let base = |unit: &Unit, t: SymId| -> Name {
            match primal.get(&t) {
                Some(of) => unit.symbols[*of].name.clone(),
                // A temporary: drop the suffix of its name.
                None => {
                    let name = &unit.symbols[t].name;
                    Name::from(name.split('_').next().unwrap_or(name))
                }
            }
        };
        let mut by = HashMap::new();
        for t in plan.multiples.iter().map(|m| m.tangent) {
            let wanted = format!("{}_BY_{}", base(unit, t), base(unit, plan.base_tangent));
            let name = unit.symbols.unused(&wanted, &|_| false);
            let ty = unit.symbols[t].ty.unwrap_or(Type::DOUBLE);
            let d = unit
                .symbols
                .add(Symbol::variable(name, ty, unit.symbols[t].span));
            unit.declare(d);
            by.insert(t, d);
        }
        NamedPlan { plan, tangents, by }
    }

    /// Multiplies a derivative by the tangent.
    fn times(&self, value: Expr) -> Expr {
        let span = value.span;
        let value = match value.kind {
            ExprKind::Binary(BinOp::Add | BinOp::Sub, ..) | ExprKind::Unary(..) => {
                Expr::parens(value, span)
            }
            _ => value,
        };
        Expr::binary(BinOp::Mul, value, Expr::var(self.plan.base_tangent, span))
    }

    /// Adds the statements before a stretch; the first takes the label of the stretch's first statement.
    fn begin(&self, first: &mut Stmt, out: &mut Vec<Stmt>) {
        let span = first.span;
        for m in &self.plan.multiples {
            if let Some(value) = &m.begin {
                let target = Expr::var(self.by[&m.tangent], span);
                let mut begin = Stmt::assign(target, value.clone(), span);
                begin.label = first.label.take();
                out.push(begin);
            }
        }
    }

    /// Adds the statements that assign some of the tangents their values.
    fn finish(&self, of: &[SymId], span: Span, out: &mut Vec<Stmt>) {
        out.extend(of.iter().map(|t| {
            let value = self.times(Expr::var(self.by[t], span));
            Stmt::assign(Expr::var(*t, span), value, span)
        }));
    }

    /// Rewrites a statement of the stretch.
    fn rewrite(&self, unit: &Unit, mut s: Stmt, out: &mut Vec<Stmt>) {
        let returns = |s: &Stmt| matches!(s.kind, StmtKind::Return(_));
        if !self.plan.results.is_empty() {
            if returns(&s) {
                let at = out.len();
                self.finish(&self.plan.results, s.span, out);
                out[at].label = s.label.take();
            } else if let StmtKind::LogicalIf(c, inner) = &mut s.kind
                && returns(inner)
            {
                let mut arm = Vec::new();
                self.finish(&self.plan.results, s.span, &mut arm);
                arm.push((**inner).clone());
                s.kind = StmtKind::If(IfBlock {
                    arms: vec![(c.clone(), arm)],
                    ..IfBlock::default()
                });
                out.push(s);
                return;
            }
        }
        if let StmtKind::LogicalIf(_, inner) = &mut s.kind {
            self.assignment(unit, inner);
        }
        for block in s.blocks_mut() {
            for inner in std::mem::take(block) {
                self.rewrite(unit, inner, block);
            }
        }
        end_behind_the_last(&mut s);
        self.assignment(unit, &mut s);
        out.push(s);
    }

    fn assignment(&self, unit: &Unit, s: &mut Stmt) {
        let StmtKind::Assign(target, value) = &mut s.kind else {
            return;
        };
        let multiples: Vec<SymId> = self.plan.multiples.iter().map(|m| m.tangent).collect();
        let changes = |t: &SymId| {
            let of = |m: &Multiple| m.tangent == *t && m.changes;
            self.plan.multiples.iter().any(of)
        };
        let form = MultipleRecogniser {
            unit,
            tangents: self.tangents,
            base_tangent: self.plan.base_tangent,
            multiples: &multiples,
        };
        if let ExprKind::Var(t) = target.kind
            && let Some(d) = self.by.get(&t)
        {
            target.kind = ExprKind::Var(*d);
            if !is_zero(value) {
                *value = form.by(value, &self.by, &mut 0);
            }
            return;
        }
        let mut names = false;
        value.for_each_symbol(&mut |s| names |= changes(&s));
        if names && form.is_multiple(value) == Some(true) {
            *value = self.times(form.by(value, &self.by, &mut 0));
        } else if names {
            value.rewrite(&mut |e| {
                if let ExprKind::Var(t) = e.kind
                    && changes(&t)
                    && let Some(d) = self.by.get(&t)
                {
                    let product = self.times(Expr::var(*d, e.span));
                    e.kind = ExprKind::Paren(Box::new(product));
                }
            });
        }
    }
}

/// Rewrites the stretches of a block, each identified by its first statement.
pub(super) fn apply(unit: &Unit, plans: &HashMap<StmtId, NamedPlan>, block: &mut Block) {
    let mut out: Vec<Stmt> = Vec::with_capacity(block.len());
    // The index of the statement that gets the label of the next one.
    let mut takes_label = None;
    let mut within: Option<&NamedPlan> = None;
    for mut s in std::mem::take(block) {
        if !matches!(s.kind, StmtKind::Comment(_))
            && let Some(first) = takes_label.take().and_then(|at: usize| out.get_mut(at))
        {
            first.label = s.label.take();
        }
        if within.is_none()
            && let Some(named) = plans.get(&s.id)
        {
            named.begin(&mut s, &mut out);
            within = Some(named);
        }
        let Some(named) = within else {
            for inner in s.blocks_mut() {
                apply(unit, plans, inner);
            }
            end_behind_the_last(&mut s);
            out.push(s);
            continue;
        };
        let (span, is_last) = (s.span, s.id == named.plan.last);
        named.rewrite(unit, s, &mut out);
        if is_last {
            if named.plan.takes_label {
                takes_label = Some(out.len());
            }
            named.finish(&named.plan.after, span, &mut out);
            within = None;
        }
    }
    *block = out;
}

/// Gives a loop an END DO of its own if the label that ends it is no longer on its last statement.
fn end_behind_the_last(s: &mut Stmt) {
    let StmtKind::Do(d) = &mut s.kind else { return };
    let DoEnd::Label(label) = d.end else { return };
    let ends = d.body.last().is_some_and(|last| {
        let shared = matches!(&last.kind, StmtKind::Do(inner) if inner.end == d.end);
        last.label == Some(label) || shared
    });
    if !ends {
        d.end = DoEnd::EndDo(None);
    }
}

/// Removes assignments from a block whose results are not read.
pub(super) fn drop(dead: &HashSet<StmtId>, block: &mut Block) {
    for mut s in std::mem::take(block) {
        let gone = dead.contains(&s.id);
        for inner in s.blocks_mut() {
            drop(dead, inner);
        }
        if gone && s.label.is_some() {
            s.kind = StmtKind::Continue;
        }
        if !gone || s.label.is_some() {
            block.push(s);
        }
    }
}
