//! Divides loops with sums into strips.

use super::classify::Sums;
use super::counted::{counted, same_place};
use super::{Pass, directive};
use farfel_lang::Span;
use farfel_lang::ir::{
    BinOp, Dim, DoControl, Expr, ExprKind, IfBlock, Stmt, StmtKind, SymId, Symbol, Type,
};
use farfel_lang::types::type_of;

/// The number of iterations in a strip.
const LANES: i64 = 8;

/// The same for loops that also have sums of the program itself, in which each addition waits for the
/// previous one: what runs beside these need not be as wide, and takes fewer registers.
const LANES_BESIDE: i64 = 4;

impl Pass<'_> {
    /// Returns the statements before a loop with sums; the loop itself becomes the remainder.
    pub(super) fn strips(&mut self, stmt: &mut Stmt, sums: &Sums) -> Vec<Stmt> {
        let span = stmt.span;
        let Some(l) = counted(self.unit, stmt) else {
            return Vec::new();
        };
        let (var, from, to) = (l.var, l.from.clone(), l.to.clone());
        let mut body = l.body.to_vec();
        let lanes = match sums.ordered {
            true => LANES_BESIDE,
            false => LANES,
        };
        let lane = self.lane(span);
        let mut before = Vec::new();
        let mut after = Vec::new();
        let mut types = Vec::new();
        for (at, target) in &sums.targets {
            let Some(ty) = type_of(self.unit, target) else {
                return Vec::new();
            };
            let nth = types.iter().filter(|t| **t == ty).count();
            types.push(ty);
            let part = self.part(ty, nth, span);
            let one = |k: Expr| Expr::element(part, vec![k], span);
            before.push(Stmt::assign(Expr::var(part, span), zero(ty, span), span));
            let all = (0..lanes).map(|k| one(Expr::int(k, span))).collect();
            let sum = Expr::binary(BinOp::Add, target.clone(), in_pairs(all));
            after.push(Stmt::assign(target.clone(), sum, span));
            if let Some(s) = body.get_mut(*at) {
                s.for_each_own_expr_mut(&mut |e| {
                    e.rewrite(&mut |x| {
                        if same_place(x, target) {
                            *x = one(Expr::var(lane, span));
                        }
                    });
                });
            }
        }
        body.retain(|s| matches!(s.kind, StmtKind::Assign(..)));
        for s in &mut body {
            s.for_each_own_expr_mut(&mut |e| {
                e.rewrite(&mut |x| {
                    if matches!(x.kind, ExprKind::Var(v) if v == var) {
                        let lane = Expr::var(lane, span);
                        *x = Expr::binary(BinOp::Add, Expr::var(var, span), lane);
                    }
                });
            });
        }
        let strip = Stmt::count(
            lane,
            [Expr::int(0, span), Expr::int(lanes - 1, span)],
            None,
            body,
            span,
        );
        let unroll = directive(&format!("GCC$ UNROLL {lanes}"), &strip);
        let outer = vec![unroll, strip];
        let last = less(to, lanes - 1);
        let step = Some(Expr::int(lanes, span));
        // Short loops have no strips, and skip adding up the partial sums.
        let any = Expr::binary(BinOp::Ge, last.clone(), from.clone());
        before.push(Stmt::count(var, [from.clone(), last], step, outer, span));
        before.append(&mut after);
        let strips = IfBlock {
            arms: vec![(any, before)],
            ..IfBlock::default()
        };
        let before = vec![
            Stmt::assign(Expr::var(var, span), from, span),
            Stmt::block_if(strips, span),
        ];
        // The remainder starts where the strips have ended.
        if let StmtKind::Do(d) = &mut stmt.kind
            && let DoControl::Count { from, .. } = &mut d.control
        {
            *from = Expr::var(var, span);
        }
        before
    }

    /// Returns the statements before and after a loop that adds to its sums more than once in each iteration:
    /// each addition gets a partial sum of its own.
    pub(super) fn side_by_side(&mut self, stmt: &mut Stmt, sums: &Sums) -> (Vec<Stmt>, Vec<Stmt>) {
        let span = stmt.span;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut done: Vec<&Expr> = Vec::new();
        for (_, target) in &sums.targets {
            if done.iter().any(|d| same_place(d, target)) {
                continue;
            }
            let Some(ty) = type_of(self.unit, target) else {
                continue;
            };
            let part = self.part(ty, done.len(), span);
            done.push(target);
            let one = |k: i64| Expr::element(part, vec![Expr::int(k, span)], span);
            let StmtKind::Do(d) = &mut stmt.kind else {
                continue;
            };
            let own = sums.targets.iter().filter(|(_, t)| same_place(t, target));
            let mut lanes = 0;
            for ((at, _), k) in own.zip((0..LANES).cycle()) {
                lanes = lanes.max(k + 1);
                if let Some(s) = d.body.get_mut(*at) {
                    s.for_each_own_expr_mut(&mut |e| {
                        e.rewrite(&mut |x| {
                            if same_place(x, target) {
                                *x = one(k);
                            }
                        });
                    });
                }
            }
            before.push(Stmt::assign(Expr::var(part, span), zero(ty, span), span));
            let sum = Expr::binary(
                BinOp::Add,
                target.clone(),
                in_pairs((0..lanes).map(one).collect()),
            );
            after.push(Stmt::assign(target.clone(), sum, span));
        }
        (before, after)
    }

    /// The loop variable within strips.
    fn lane(&mut self, span: Span) -> SymId {
        if let Some(lane) = self.lane {
            return lane;
        }
        let lane = self.local("LANE", Type::INTEGER, Vec::new(), span);
        self.lane = Some(lane);
        lane
    }

    /// The `nth` array of partial sums of a type.
    fn part(&mut self, ty: Type, nth: usize, span: Span) -> SymId {
        let same = |p: &&SymId| self.unit.symbols[**p].ty == Some(ty);
        if let Some(part) = self.partial_sums.iter().filter(same).nth(nth) {
            return *part;
        }
        let bounds = Dim {
            lower: Some(Expr::int(0, span)),
            upper: Some(Expr::int(LANES - 1, span)),
        };
        let part = self.local("PART", ty, vec![bounds], span);
        self.partial_sums.push(part);
        part
    }

    fn local(&mut self, name: &str, ty: Type, dims: Vec<Dim>, span: Span) -> SymId {
        let name = self.unit.symbols.unused(name, &|_| false);
        let s = self.unit.symbols.add(Symbol {
            typed: true,
            dims,
            ..Symbol::variable(name, ty, span)
        });
        self.unit.declare(s);
        s
    }
}

/// `e - k`, with the constants at its end combined.
fn less(e: Expr, k: i64) -> Expr {
    let span = e.span;
    let (rest, n) = match &e.kind {
        ExprKind::Int(n) => return Expr::int(n.saturating_sub(k), span),
        ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => match (op, &b.kind) {
            (BinOp::Add, ExprKind::Int(n)) => ((**a).clone(), n.saturating_sub(k)),
            (_, ExprKind::Int(n)) => ((**a).clone(), n.saturating_neg().saturating_sub(k)),
            _ => (e, k.saturating_neg()),
        },
        _ => (e, k.saturating_neg()),
    };
    match n {
        0 => rest,
        n if n < 0 => Expr::binary(BinOp::Sub, rest, Expr::int(n.saturating_neg(), span)),
        n => Expr::binary(BinOp::Add, rest, Expr::int(n, span)),
    }
}

fn zero(ty: Type, span: Span) -> Expr {
    let text = match ty {
        Type::Real(8) => "0.0D0",
        _ => "0.0",
    };
    Expr::real(text, span)
}

/// The sum of expressions, where the second half of the list is added to the first half element by element,
/// and so on: as processors add the lanes of a vector.
fn in_pairs(mut list: Vec<Expr>) -> Expr {
    while list.len() > 1 {
        let behind = list.split_off(list.len().div_ceil(2));
        for (a, b) in list.iter_mut().zip(behind) {
            let sum = Expr::binary(BinOp::Add, a.clone(), b);
            let span = sum.span;
            *a = Expr::parens(sum, span);
        }
    }
    list.pop().unwrap_or_else(|| Expr::int(0, Span::NONE))
}
