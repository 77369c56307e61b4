//! Replaces divisions in tangents by multiplications by reciprocals.
//!
//! The tangent of `Q = A/B` is `(A_G - Q*B_G)/B`: a second division, which has to wait for the first. In
//! `(A_G - Q*B_G)*(1.0/B)` the reciprocal depends only on B, so that both divisions can run at the same time.
//! Compilers compute it once for all tangents over the same B, even if the program itself contains it, and
//! move it in front of a loop in which B does not change.
//!
//! The program's own computations keep their divisions. A tangent may differ in its last bit. The reciprocal
//! is infinite where B is nearly zero: less than 5.6E-309 in DOUBLE PRECISION, 2.9E-39 in REAL, which are
//! denormal numbers.
//!
//! Adjoints are divided where the tangents were, but the divisions do not wait for each other. They become
//! multiplications where one reciprocal serves several of them: in a stretch of assignments, or in the
//! iterations of a loop ([`share_reciprocals`]).

use super::increments::assignment;
use super::preaccumulate::stretch_len;
use farfel_lang::ir::{
    BinOp, Block, DoControl, Expr, ExprKind, Stmt, StmtKind, SymId, Type, Unit, walk_block,
    walk_block_mut,
};
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// Rewrites the divisions in what is assigned to `tangents`.
pub(crate) fn use_reciprocals(unit: &mut Unit, tangents: &HashSet<SymId>) {
    let mut body = std::mem::take(&mut unit.body);
    walk_block_mut(&mut body, &mut |s| {
        if let StmtKind::Assign(target, value) = &mut s.kind
            && target.base().is_some_and(|t| tangents.contains(&t))
        {
            value.rewrite(&mut |e| rewrite(unit, e, &|_| true));
        }
    });
    unit.body = body;
}

/// Rewrites the divisions by the same divisor in what is assigned to `derivatives`, if one reciprocal serves
/// several of them.
pub(crate) fn share_reciprocals(unit: &mut Unit, derivatives: &HashSet<SymId>) {
    let mut body = std::mem::take(&mut unit.body);
    let pass = Sharing { unit, derivatives };
    pass.block(&mut body, None);
    unit.body = body;
}

struct Sharing<'a> {
    unit: &'a Unit,
    derivatives: &'a HashSet<SymId>,
}

impl Sharing<'_> {
    /// Rewrites the divisions of a block. `changing` are the variables that change from one iteration to the
    /// next, if the block is the body of a loop without calls.
    fn block(&self, block: &mut Block, changing: Option<&HashSet<SymId>>) {
        let mut from = 0;
        while from < block.len() {
            let len = stretch_len(self.unit, &block[from..]);
            self.stretch(&mut block[from..from + len], changing);
            from += len;
            let Some(s) = block.get_mut(from) else { return };
            from += 1;
            match &mut s.kind {
                StmtKind::Where(_) => {}
                StmtKind::Do(d) => {
                    let changing = changing_in(&d.body, &d.control);
                    self.block(&mut d.body, changing.as_ref());
                }
                StmtKind::LogicalIf(_, inner) => {
                    self.stretch(std::slice::from_mut(inner), changing);
                }
                _ => {
                    for inner in s.blocks_mut() {
                        self.block(inner, changing);
                    }
                }
            }
        }
    }

    fn stretch(&self, stmts: &mut [Stmt], changing: Option<&HashSet<SymId>>) {
        // Each divisor with the statement of the last division by it, and whether there are several.
        let mut found: Vec<(Expr, usize, bool)> = Vec::new();
        for (i, s) in stmts.iter().enumerate() {
            let Some(value) = self.value(s) else { continue };
            value.walk(&mut |e| {
                let ExprKind::Binary(BinOp::Div, _, b) = &e.kind else {
                    return;
                };
                let known = found.iter_mut().find(|(d, ..)| d.equals_ignoring_spans(b));
                match known {
                    None => found.push(((**b).clone(), i, false)),
                    Some((_, last, several)) => {
                        *several |= !assigns_any(&stmts[*last..i], b);
                        *last = i;
                    }
                }
            });
        }
        let invariant = |b: &Expr| {
            let mut free = changing.is_some();
            b.for_each_symbol(&mut |s| free &= changing.is_some_and(|c| !c.contains(&s)));
            free
        };
        found.retain(|(b, _, several)| *several || invariant(b));
        if found.is_empty() {
            return;
        }
        let shared = |b: &Expr| found.iter().any(|(d, ..)| d.equals_ignoring_spans(b));
        for s in stmts {
            if self.value(s).is_some()
                && let StmtKind::Assign(_, value) = &mut s.kind
            {
                value.rewrite(&mut |e| rewrite(self.unit, e, &shared));
            }
        }
    }

    /// What a statement assigns to a derivative.
    fn value<'s>(&self, s: &'s Stmt) -> Option<&'s Expr> {
        let (target, value) = assignment(s)?;
        let base = target.base()?;
        self.derivatives.contains(&base).then_some(value)
    }
}

/// Whether one of the statements assigns a variable that an expression names.
fn assigns_any(stmts: &[Stmt], e: &Expr) -> bool {
    let targets = stmts.iter().filter_map(|s| assignment(s)?.0.base());
    let targets: HashSet<SymId> = targets.collect();
    let mut any = false;
    e.for_each_symbol(&mut |s| any |= targets.contains(&s));
    any
}

/// The variables that the iterations of a loop assign, its own among them; `None` if it calls procedures, which
/// may assign others.
fn changing_in(body: &Block, control: &DoControl) -> Option<HashSet<SymId>> {
    let mut found = HashSet::new();
    if let DoControl::Count { var, .. } = control {
        found.insert(*var);
    }
    let mut known = true;
    walk_block(body, &mut |s| match &s.kind {
        StmtKind::Assign(target, _) => found.extend(target.base()),
        StmtKind::Do(d) => {
            if let DoControl::Count { var, .. } = d.control {
                found.insert(var);
            }
        }
        StmtKind::If(_)
        | StmtKind::LogicalIf(..)
        | StmtKind::Select(_)
        | StmtKind::Comment(_)
        | StmtKind::Continue => {}
        _ => known = false,
    });
    known.then_some(found)
}

fn rewrite(unit: &Unit, e: &mut Expr, wanted: &dyn Fn(&Expr) -> bool) {
    let ty = type_of(unit, e);
    let ExprKind::Binary(op @ BinOp::Div, a, b) = &mut e.kind else {
        return;
    };
    let one = match ty {
        Some(Type::Real(4)) => "1.0",
        Some(Type::Real(8)) => "1.0D0",
        _ => return,
    };
    let mut names = false;
    b.for_each_symbol(&mut |_| names = true);
    if !names || !wanted(b) || matches!(a.kind, ExprKind::Real(_) | ExprKind::Int(_)) {
        return;
    }
    let span = b.span;
    let one = Expr::real(one, span);
    let divisor = std::mem::replace(&mut **b, one.clone());
    let quotient = Expr::binary(BinOp::Div, one, divisor).at(span);
    **b = Expr::parens(quotient, span);
    *op = BinOp::Mul;
}
