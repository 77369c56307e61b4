//! Assignments of openings and closings: elements, whole arrays, implied DOs.

use super::{Stager, one, zero};
use crate::intrinsics::Shape;
use crate::ir::{
    AdAssign, AdItem, BinOp, Class, Expr, ExprKind, Stmt, SymId, Symbol, Symbols, Type,
};
use crate::lower::elements;
use crate::source::Span;
use crate::types::{rank, type_of};
use std::collections::BTreeMap;

impl Stager<'_> {
    /// Returns `TANGENT(v) = value` for a variable, element or whole array.
    pub(super) fn open(&mut self, a: &AdAssign, tangent: SymId, span: Span) -> Vec<Stmt> {
        let direction = a.direction.as_ref();
        let value = match &a.other.kind {
            ExprKind::Int(1) if a.short => one(self.unit.symbols[tangent].ty, span),
            _ => a.other.clone(),
        };
        match &a.var.kind {
            ExprKind::Var(v) if self.unit.symbols[*v].is_array() => {
                let along = direction.map(|k| (tangent, k));
                self.set_all(tangent, *v, &value, along, span)
            }
            ExprKind::Var(_) | ExprKind::Element(..) => {
                let target = self.of_variable(&a.var, tangent, direction, span);
                vec![Stmt::assign(target, value, span)]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the statements for one item, with an implied DO as loops. If `opening` is set, they
    /// assign values to tangents, otherwise tangents to destinations.
    pub(super) fn loops(
        &mut self,
        item: &AdItem,
        opening: bool,
        tangents: &dyn Fn(SymId) -> Option<SymId>,
        span: Span,
    ) -> Vec<Stmt> {
        match item {
            AdItem::ImpliedDo(d) => {
                let body: Vec<Stmt> = d
                    .items
                    .iter()
                    .flat_map(|i| self.loops(i, opening, tangents, span))
                    .collect();
                let ends = [d.from.clone(), d.to.clone()];
                vec![Stmt::count(d.var, ends, d.step.clone(), body, span)]
            }
            AdItem::Assign(a) => {
                let Some(t) = a.var.base().and_then(tangents) else {
                    return Vec::new();
                };
                if opening {
                    return self.open(a, t, span);
                }
                let direction = a.direction.as_ref();
                match (&a.other.kind, &a.var.kind) {
                    (ExprKind::Var(dest), ExprKind::Var(v)) if self.unit.symbols[*v].is_array() => {
                        let value = Expr::var(t, a.var.span);
                        let along = direction.map(|k| (t, k));
                        self.set_all(*dest, *v, &value, along, span)
                    }
                    _ => {
                        let value = self.of_variable(&a.var, t, direction, a.var.span);
                        vec![Stmt::assign(a.other.clone(), value, span)]
                    }
                }
            }
        }
    }

    /// Sets every element of `target`, which has the bounds of `shape`. Whole arrays in `value` are
    /// taken element by element. `along` is a variable that has an additional first dimension, with
    /// the subscript for it.
    pub(super) fn set_all(
        &mut self,
        target: SymId,
        shape: SymId,
        value: &Expr,
        along: Option<(SymId, &Expr)>,
        span: Span,
    ) -> Vec<Stmt> {
        let dims = self.bounds(shape);
        if dims.is_empty() {
            return vec![Stmt::assign(Expr::var(target, span), value.clone(), span)];
        }
        let (first, mut out) = self.first_subscript(along, span);
        let mut bounds = BTreeMap::from([(target, self.bounds(target))]);
        let mut operands = Vec::new();
        each_operand(&self.unit.symbols, &mut value.clone(), &mut |e| {
            operands.extend(e.base());
        });
        for s in operands {
            if self.unit.symbols[s].dims.len() == dims.len() || along.is_some_and(|a| a.0 == s) {
                bounds.insert(s, self.bounds(s));
            }
        }
        if let Some(wide) = along.and_then(|(s, _)| bounds.get_mut(&s)) {
            wide.drain(..1);
        }
        let indices: Vec<SymId> = (1..=dims.len()).map(|k| self.index(k)).collect();
        let subscripts: Vec<Expr> = indices.iter().map(|i| Expr::var(*i, span)).collect();
        let element = |s: SymId| {
            let theirs = bounds.get(&s)?;
            let both = subscripts.iter().zip(dims.iter().zip(theirs));
            let shifted = both.map(|(i, (ours, theirs))| {
                shift(i, ours.lower.as_ref(), theirs.lower.as_ref(), span)
            });
            let own = first.iter().filter(|_| along.is_some_and(|a| a.0 == s));
            let all = own.cloned().chain(shifted).collect();
            Some(ExprKind::Element(s, all))
        };
        let mut value = value.clone();
        let whole = value.clone();
        each_operand(&self.unit.symbols, &mut value, &mut |e| {
            if let ExprKind::Var(s) = e.kind
                && let Some(element) = element(s)
            {
                e.kind = element;
            }
        });
        let Some(element) = element(target).filter(|_| rank(self.unit, &value) == 0) else {
            // Sections, constructors and the like have no element that could be named.
            let all = |s: SymId| match (&first, along) {
                (Some(k), Some((wide, _))) if wide == s => {
                    let all = dims.iter().map(|_| Expr::range(None, None, None, span));
                    let subscripts = std::iter::once(k.clone()).chain(all).collect();
                    Expr::element(s, subscripts, span)
                }
                _ => Expr::var(s, span),
            };
            out.push(Stmt::assign(all(target), whole, span));
            return out;
        };
        let target = Expr::new(element, span);
        out.extend(self.calls_once(&mut value, span));
        let body = vec![Stmt::assign(target, value, span)];
        out.extend(elements::loops_over(&dims, &indices, body, span));
        out
    }

    /// Sets a whole tangent to zero. It belongs to the variable `of`.
    pub(super) fn set_zero(&mut self, tangent: SymId, of: SymId, span: Span) -> Vec<Stmt> {
        let zero = zero(self.unit.symbols[tangent].ty, span);
        let (tangent_dims, dims) = (
            &self.unit.symbols[tangent].dims,
            &self.unit.symbols[of].dims,
        );
        let shape = match tangent_dims.len() > dims.len() {
            true => tangent,
            false => of,
        };
        self.set_all(tangent, shape, &zero, None, span)
    }

    /// Returns the direction as a subscript, which is computed only once if it is a larger
    /// expression.
    fn first_subscript(
        &mut self,
        along: Option<(SymId, &Expr)>,
        span: Span,
    ) -> (Option<Expr>, Vec<Stmt>) {
        let Some((_, direction)) = along else {
            return (None, Vec::new());
        };
        if let ExprKind::Var(_) | ExprKind::Int(_) = direction.kind {
            return (Some(direction.clone()), Vec::new());
        }
        let name = self.unit.symbols.unused("K_G", &|n| self.taken.contains(n));
        let variable = Symbol::variable(name, Type::INTEGER, span);
        let once = self.unit.symbols.add(variable);
        self.unit.declare(once);
        let once = Expr::var(once, span);
        let set = Stmt::assign(once.clone(), direction.clone(), span);
        (Some(once), vec![set])
    }

    /// Takes calls of the program's functions out of a value that is assigned element by element,
    /// so that each is executed once.
    fn calls_once(&mut self, value: &mut Expr, span: Span) -> Vec<Stmt> {
        let mut out = Vec::new();
        if let ExprKind::Call(s, _) = value.kind
            && self.unit.symbols[s].class.is_procedure()
        {
            // A CHARACTER function is left in place, as the length of its value is not known.
            if let Some(ty) = type_of(self.unit, value).filter(|t| *t != Type::Character) {
                let name = self.unit.symbols.unused("V_G", &|n| self.taken.contains(n));
                let variable = Symbol::variable(name, ty, span);
                let once = self.unit.symbols.add(variable);
                self.unit.declare(once);
                let call = std::mem::replace(value, Expr::var(once, span));
                out.push(Stmt::assign(Expr::var(once, span), call, span));
            }
            return out;
        }
        for operand in value.children_mut() {
            out.extend(self.calls_once(operand, span));
        }
        out
    }

    fn index(&mut self, k: usize) -> SymId {
        elements::index(self.unit, k, &|n| self.taken.contains(n))
    }

    /// Returns `var` with the variable replaced by the tangent, and with the direction as its first
    /// subscript.
    fn of_variable(
        &self,
        var: &Expr,
        tangent: SymId,
        direction: Option<&Expr>,
        span: Span,
    ) -> Expr {
        let mut all: Vec<Expr> = direction.into_iter().cloned().collect();
        match &var.kind {
            ExprKind::Element(_, subscripts) => all.extend(subscripts.iter().cloned()),
            ExprKind::Var(v) if direction.is_some() => {
                let whole = || Expr::range(None, None, None, span);
                all.extend(self.unit.symbols[*v].dims.iter().map(|_| whole()));
            }
            _ => {}
        }
        match all.is_empty() {
            true => Expr::var(tangent, span),
            false => Expr::element(tangent, all, span),
        }
    }
}

/// Calls `f` on the variables that stand for their elements where an expression is evaluated
/// element by element. Functions that are not elemental take arrays as they are.
fn each_operand(symbols: &Symbols, e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    if let ExprKind::Call(s, _) = &e.kind
        && !matches!(symbols[*s].class, Class::Intrinsic(i) if i.shape == Shape::Elemental)
    {
        return;
    }
    for operand in e.children_mut() {
        each_operand(symbols, operand, f);
    }
    f(e);
}

/// Converts `index` from a subscript for one lower bound to a subscript for another.
fn shift(index: &Expr, from: Option<&Expr>, to: Option<&Expr>, span: Span) -> Expr {
    let same = match (from, to) {
        (None, None) => true,
        (Some(a), Some(b)) => a.kind == b.kind,
        (Some(e), None) | (None, Some(e)) => e.kind == ExprKind::Int(1),
    };
    if same {
        return index.clone();
    }
    let one = || Expr::int(1, span);
    let offset = Expr::binary(BinOp::Sub, index.clone(), from.cloned().unwrap_or_else(one));
    Expr::binary(BinOp::Add, offset, to.cloned().unwrap_or_else(one))
}
