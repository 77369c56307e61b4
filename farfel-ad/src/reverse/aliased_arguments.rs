//! Calls with two parts of one array as arguments.
//!
//! `CALL G(A(1, I), A(1, J))` is valid Fortran if G assigns neither argument, whether the parts overlap or
//! not. Its adjoint adds to the cotangents of both, possibly to one element under two names: that is not
//! valid Fortran, and compilers lose one of the sums. So such a call goes to a copy of the adjoint that gets
//! the cotangent only once, as the whole array, and for each of the arguments the place in the array where it
//! begins:
//!
//! | adjoint | the copy |
//! |---|---|
//! | `SUBROUTINE G_G1(X, XB, Y, YB)` | `SUBROUTINE G_M_G1(X, WHOLEB, AT1, Y, AT2)` |
//! | `XB(I)` | `WHOLEB(AT1 + I)` |
//! | `YB(I, J)` | `WHOLEB(AT2 + I + (J - 1)*STRIDE)` |
//!
//! This needs no sizes, so it also works for assumed-size arrays.

use super::generated::GeneratedUnit;
use super::transpose::is_derivative;
use super::unit_builder::zero;
use super::{AdjointEngine, Part};
use crate::subscripts::{extent, lower, minus, paren, plus};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::{binary, increment};
use farfel_lang::ir::{
    Arg, BinOp, Block, Class, Dim, Expr, ExprKind, Name, Program, Stmt, StmtKind, StorageClass,
    SymId, Symbol, Type, Unit, rewrite_exprs, unused_name,
};
use farfel_lang::storage::constant;
use farfel_lang::types::rank;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The type of offsets in an array, which may have more elements than a default INTEGER can count.
const OFFSET: Type = Type::Integer(8);

/// The arguments of an adjoint.
pub(super) struct AdjointArguments<'w> {
    /// The units of the request.
    pub engine: &'w AdjointEngine,
    /// The adjoint.
    pub part: &'w Part,
}

impl AdjointArguments<'_> {
    /// Whether an argument is the cotangent of a variable that is not assigned. The adjoint only adds to such
    /// a cotangent.
    pub fn is_only_added_to(&self, position: usize) -> bool {
        let args = &self.part.derivative_args;
        let added = self.part.added_args.get(position);
        let effect = self.engine.effects.get(&self.part.name);
        let assigned = |i| effect.is_none_or(|e| e.assigned.contains(i));
        args.get(position).copied().unwrap_or(false)
            && !added.copied().unwrap_or(false)
            && position.checked_sub(1).is_some_and(|i| !assigned(i))
    }

    /// Whether the adjoint has a scalar at a position.
    pub fn is_scalar(&self, position: usize) -> bool {
        let scalars = &self.part.scalar_args;
        scalars.get(position).copied().unwrap_or(false)
    }
}

/// Whether an offset can tell where an actual argument begins.
pub(super) fn has_offset(unit: &Unit, a: &Expr) -> bool {
    let Some(base) = a.base() else { return false };
    let dims = &unit.symbols[base].dims;
    let closed = |d: &Dim| d.upper.as_ref().is_some_and(|u| u.kind != ExprKind::Star);
    let stepped = dims.len().saturating_sub(1);
    let known = !dims.is_empty()
        && dims.iter().take(stepped).all(closed)
        && dims.iter().all(|d| d.upper.is_some());
    known
        && match &a.kind {
            ExprKind::Var(_) => true,
            ExprKind::Element(_, subscripts) => {
                subscripts.len() == dims.len()
                    && subscripts
                        .iter()
                        .all(|s| !matches!(s.kind, ExprKind::Range(..)) && rank(unit, s) == 0)
            }
            _ => false,
        }
}

/// Whether an element that is passed to a scalar dummy argument is outside of what another argument of the same
/// array stands for: another element, or, for an array (`is_array`), an element and those behind it.
pub(super) fn is_apart(unit: &Unit, scalar: &Expr, other: &Expr, is_array: bool) -> bool {
    let (ExprKind::Element(a, own), ExprKind::Element(b, others)) = (&scalar.kind, &other.kind)
    else {
        return false;
    };
    if a != b || own.len() != others.len() {
        return false;
    }
    // The order of two elements that differ in one subscript does not depend on the extents.
    let mut differing = (own.iter().zip(others)).filter(|(a, b)| !is_same_value(unit, a, b));
    let (Some((a, b)), None) = (differing.next(), differing.next()) else {
        return false;
    };
    let values = constant::integer(unit, a).zip(constant::integer(unit, b));
    values.is_some_and(|(a, b)| if is_array { a < b } else { a != b })
}

/// Whether two expressions have the same value, without calls.
fn is_same_value(unit: &Unit, a: &Expr, b: &Expr) -> bool {
    let mut calls = false;
    a.walk(&mut |e| calls |= matches!(e.kind, ExprKind::Call(..) | ExprKind::Range(..)));
    let constants = constant::integer(unit, a).zip(constant::integer(unit, b));
    !calls && (a.equals_ignoring_spans(b) || constants.is_some_and(|(a, b)| a == b))
}

/// Redirects calls that pass one cotangent twice to copies of adjoints, and adds these copies.
pub(super) fn redirect_aliased_calls(
    engine: &AdjointEngine,
    closure: &Program,
    made: &mut Vec<GeneratedUnit>,
    errors: &mut Vec<Diagnostic>,
) {
    let mut taken: HashSet<Name> = closure.units.iter().map(|u| u.name.clone()).collect();
    for u in closure.units.iter().chain(made.iter().map(|m| &m.unit)) {
        taken.insert(u.name.clone());
        taken.extend(u.symbols.iter().map(|(_, s)| s.name.clone()));
    }
    let originals: HashMap<Name, usize> = made
        .iter()
        .enumerate()
        .map(|(i, m)| (m.unit.name.clone(), i))
        .collect();
    let mut copies: BTreeMap<(usize, Vec<usize>), Name> = BTreeMap::new();
    let mut wanted: Vec<(usize, Vec<usize>)> = Vec::new();
    let pristine: Vec<GeneratedUnit> = made.clone();
    for m in made.iter_mut() {
        let mut pass = Pass {
            engine,
            made: m,
            taken: &mut taken,
            copies: &mut copies,
            wanted: &mut wanted,
            errors,
            places: Vec::new(),
        };
        pass.unit();
    }
    let mut next = 0;
    while let Some((part, positions)) = wanted.get(next).cloned() {
        next += 1;
        let p = &engine.parts[part];
        let of = originals
            .get(&p.backward_name)
            .and_then(|i| pristine.get(*i));
        let (Some(of), Some(name)) = (of, copies.get(&(part, positions.clone()))) else {
            continue;
        };
        let mut copy = of.clone();
        copy.unit.name = name.clone();
        merge_cotangents(p, &mut copy, &positions, errors);
        let mut pass = Pass {
            engine,
            made: &mut copy,
            taken: &mut taken,
            copies: &mut copies,
            wanted: &mut wanted,
            errors,
            places: Vec::new(),
        };
        pass.unit();
        made.push(copy);
    }
}

struct Pass<'a> {
    engine: &'a AdjointEngine,
    made: &'a mut GeneratedUnit,
    taken: &'a mut HashSet<Name>,
    copies: &'a mut BTreeMap<(usize, Vec<usize>), Name>,
    wanted: &'a mut Vec<(usize, Vec<usize>)>,
    errors: &'a mut Vec<Diagnostic>,
    /// Variables that hold offsets.
    places: Vec<SymId>,
}

impl Pass<'_> {
    fn unit(&mut self) {
        let mut body = std::mem::take(&mut self.made.unit.body);
        self.block(&mut body);
        self.made.unit.body = body;
    }

    fn block(&mut self, block: &mut Block) {
        for mut s in std::mem::take(block) {
            for b in s.blocks_mut() {
                self.block(b);
            }
            let (mut before, mut after) = (Vec::new(), Vec::new());
            let span = s.span;
            if let StmtKind::Call(callee, args) = &mut s.kind {
                self.call(callee, args, span, &mut before, &mut after);
            }
            block.append(&mut before);
            block.push(s);
            block.append(&mut after);
        }
    }

    fn call(
        &mut self,
        callee: &mut SymId,
        args: &mut Vec<Expr>,
        span: Span,
        before: &mut Block,
        after: &mut Block,
    ) {
        let symbol = &self.made.unit.symbols[*callee];
        let engine = self.engine;
        let part = (symbol.storage_class == StorageClass::Global).then(|| {
            let called = |p: &Part| !p.root && p.backward_name == symbol.name;
            engine.parts.iter().position(called)
        });
        let Some(part) = part.flatten() else { return };
        let p = &engine.parts[part];
        let passed = AdjointArguments { engine, part: p };
        // The arguments that are added to, by array.
        let mut groups: BTreeMap<SymId, Vec<usize>> = BTreeMap::new();
        for (i, a) in args.iter().take(p.derivative_args.len()).enumerate() {
            if passed.is_only_added_to(i)
                && is_derivative(&self.made.derivatives, a)
                && let Some(base) = a.base()
            {
                groups.entry(base).or_default().push(i);
            }
        }
        groups.retain(|_, g| g.len() > 1);
        let actuals = args.clone();
        let mut merged: Vec<usize> = Vec::new();
        for (base, group) in groups {
            let meets = |i: usize, j: usize| {
                let is_array = !passed.is_scalar(j);
                i != j && !is_apart(&self.made.unit, &actuals[i], &actuals[j], is_array)
            };
            let scalars = group.iter().filter(|i| passed.is_scalar(**i));
            let scalars = scalars.filter(|i| group.iter().any(|j| meets(**i, *j)));
            let scalars: Vec<usize> = scalars.copied().collect();
            for i in &scalars {
                let Some(a) = args.get_mut(*i) else { continue };
                let ty = self.made.unit.symbols[base].ty.unwrap_or(Type::REAL);
                let t = Expr::var(self.variable("TEMPB", ty, true), span);
                let own = std::mem::replace(a, t.clone());
                before.push(Stmt::assign(t.clone(), zero(ty, span), span));
                after.push(increment(own, t, span));
            }
            let arrays: Vec<usize> = group
                .into_iter()
                .filter(|i| !passed.is_scalar(*i))
                .collect();
            if arrays.len() < 2 {
                continue;
            }
            let known = |i: &usize| args.get(*i).is_some_and(|a| has_offset(&self.made.unit, a));
            if !arrays.iter().all(known) {
                self.errors.push(aliased_cotangents(span));
                continue;
            }
            merged.extend(arrays);
        }
        if merged.is_empty() {
            return;
        }
        merged.sort_unstable();
        // Each array with several arguments is passed once.
        let bases: Vec<Option<SymId>> = merged
            .iter()
            .map(|i| args.get(*i).and_then(Expr::base))
            .collect();
        let firsts: Vec<usize> = bases
            .iter()
            .map(|b| bases.iter().position(|c| c == b).unwrap_or(0))
            .collect();
        let mut key = Vec::new();
        for (i, first) in merged.iter().zip(&firsts) {
            key.extend([*i, merged[*first]]);
        }
        let name = match self.copies.get(&(part, key.clone())) {
            Some(name) => name.clone(),
            None => {
                let wanted = match p.backward_name.strip_prefix(p.of.as_str()) {
                    Some(rest) => format!("{}_M{rest}", p.of),
                    None => format!("{}_M", p.backward_name),
                };
                let name = unused_name(&wanted, &|n| self.taken.contains(n));
                self.taken.insert(name.clone());
                self.copies.insert((part, key.clone()), name.clone());
                self.wanted.push((part, key));
                name
            }
        };
        let mut actuals = Vec::with_capacity(args.len() + merged.len());
        let mut used = 0;
        for (i, a) in args.drain(..).enumerate() {
            let Some(k) = merged.iter().position(|m| *m == i) else {
                actuals.push(a);
                continue;
            };
            if firsts[k] == k {
                actuals.extend(bases[k].map(|b| Expr::var(b, span)));
            }
            let place = match self.places.get(used) {
                Some(s) => *s,
                None => {
                    let s = self.variable("PLACE", OFFSET, false);
                    self.places.push(s);
                    s
                }
            };
            used += 1;
            let place = Expr::var(place, span);
            offset(&self.made.unit, &a, &place, before);
            actuals.push(place);
        }
        *args = actuals;
        *callee = self.procedure(&name);
    }

    fn variable(&mut self, wanted: &str, ty: Type, derivative: bool) -> SymId {
        let s = variable(&mut self.made.unit, wanted, ty);
        if derivative {
            self.made.derivatives.insert(s);
        }
        self.made.live_after.insert(s);
        s
    }

    fn procedure(&mut self, name: &Name) -> SymId {
        match self.made.unit.symbols.find(name) {
            Some(s) => s,
            None => self.made.unit.symbols.add(Symbol {
                class: Class::Subroutine,
                storage_class: StorageClass::Global,
                ..Symbol::new(name.clone(), Span::NONE)
            }),
        }
    }
}

fn variable(unit: &mut Unit, wanted: &str, ty: Type) -> SymId {
    let name = unit.symbols.unused(wanted, &|_| false);
    let s = unit.symbols.add(Symbol {
        typed: true,
        ..Symbol::variable(name, ty, Span::NONE)
    });
    unit.declare(s);
    s
}

/// The error for cotangents of one array that cannot be told apart.
pub(super) fn aliased_cotangents(span: Span) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_ALIAS,
        span,
        "the same array is passed twice, and both get a cotangent",
    )
    .help("copy one of them to another array first")
}

/// Sets `to` to the number of elements of the array before an actual argument.
fn offset(unit: &Unit, a: &Expr, to: &Expr, out: &mut Block) {
    let span = to.span;
    let set = |e: Expr| Stmt::assign(to.clone(), e, span);
    let ExprKind::Element(base, subscripts) = &a.kind else {
        out.push(set(Expr::int(0, span)));
        return;
    };
    let dims = &unit.symbols[*base].dims;
    for (i, (s, d)) in subscripts.iter().zip(dims).rev().enumerate() {
        let step = minus(s.clone(), lower(d, span));
        // One factor at a time, so that products have the type of `to`.
        out.push(set(match i {
            0 => step,
            _ => plus(
                binary(BinOp::Mul, to.clone(), paren(extent(d, span))),
                paren(step),
            ),
        }));
    }
}

/// Replaces the arguments of each group by one array for the whole group and an offset for each argument.
/// `key` consists of pairs: the position of an argument and that of the first one of its group.
fn merge_cotangents(
    p: &Part,
    made: &mut GeneratedUnit,
    key: &[usize],
    errors: &mut Vec<Diagnostic>,
) {
    let span = Span::NONE;
    let mut args = Vec::new();
    let mut wholes: HashMap<usize, SymId> = HashMap::new();
    let mut places: HashMap<SymId, ElementMap> = HashMap::new();
    let mut first = Block::new();
    let old = std::mem::take(&mut made.unit.args);
    for (i, a) in old.into_iter().enumerate() {
        let group = key.chunks(2).find(|k| k[0] == i).map(|k| k[1]);
        let (Some(group), Some(s)) = (group, a.sym()) else {
            args.push(a);
            continue;
        };
        let symbol = made.unit.symbols[s].clone();
        let ty = symbol.ty.unwrap_or(Type::REAL);
        let whole = match wholes.get(&group) {
            Some(w) => *w,
            None => {
                let w = made.unit.symbols.add(Symbol {
                    typed: true,
                    storage_class: StorageClass::Dummy,
                    whole: true,
                    dims: vec![Dim {
                        lower: None,
                        upper: Some(Expr::star(span)),
                    }],
                    ..Symbol::variable(made.unit.symbols.unused("WHOLEB", &|_| false), ty, span)
                });
                made.unit.declare(w);
                made.derivatives.insert(w);
                made.live_after.insert(w);
                args.push(Arg::Dummy(w));
                wholes.insert(group, w);
                w
            }
        };
        let at = variable(&mut made.unit, "PLACE", OFFSET);
        made.unit.symbols[at].storage_class = StorageClass::Dummy;
        made.live_after.insert(at);
        args.push(Arg::Dummy(at));
        let mut strides = Vec::new();
        let closed = symbol.dims.len().saturating_sub(1);
        let mut stride: Option<Expr> = None;
        for d in symbol.dims.iter().take(closed) {
            let length = extent(d, span);
            let next = match (stride, constant::integer(&made.unit, &length)) {
                (None, Some(n)) => Expr::int(n, span),
                (so_far, _) => {
                    let to = Expr::var(variable(&mut made.unit, "STRIDE", OFFSET), span);
                    match so_far {
                        None => first.push(Stmt::assign(to.clone(), length, span)),
                        Some(so_far) => {
                            first.push(Stmt::assign(to.clone(), so_far, span));
                            let product = binary(BinOp::Mul, to.clone(), paren(length));
                            first.push(Stmt::assign(to.clone(), product, span));
                        }
                    }
                    to
                }
            };
            strides.push(next.clone());
            stride = Some(next);
        }
        made.derivatives.remove(&s);
        made.live_after.remove(&s);
        made.unit.undeclare(s);
        made.unit.symbols[s].storage_class = StorageClass::Local;
        places.insert(
            s,
            ElementMap {
                whole,
                at,
                dims: symbol.dims,
                strides,
            },
        );
    }
    made.unit.args = args;
    made.unit.comments = vec![format!(
        " {}, where arguments are parts of one array",
        made.unit
            .comments
            .first()
            .map_or(p.name.as_str(), |c| c.trim_start())
    )];
    let mut lost: Option<Span> = None;
    // An argument that is passed on as a whole is passed on from where it begins.
    let mut body = std::mem::take(&mut made.unit.body);
    farfel_lang::ir::walk_block_mut(&mut body, &mut |s| {
        if let StmtKind::Call(_, args) = &mut s.kind {
            for a in args.iter_mut() {
                if let ExprKind::Var(v) = a.kind
                    && let Some(w) = places.get(&v)
                {
                    *a = w.element(None, a.span);
                }
            }
        }
    });
    rewrite_exprs(&mut body, &mut |e| {
        let (s, subscripts) = match &e.kind {
            ExprKind::Var(s) => (s, None),
            ExprKind::Element(s, subscripts) => (s, Some(subscripts)),
            _ => return,
        };
        let Some(w) = places.get(s) else { return };
        let new = match subscripts {
            None => w.section(&[Expr::range(None, None, None, e.span)], e.span),
            Some(l) if l.iter().any(|s| matches!(s.kind, ExprKind::Range(..))) => {
                w.section(l, e.span)
            }
            Some(l) => Some(w.element(Some(l), e.span)),
        };
        match new {
            Some(new) => *e = new,
            None => lost = Some(e.span),
        }
    });
    if let Some(at) = lost {
        errors.push(aliased_cotangents(at));
    }
    first.append(&mut body);
    made.unit.body = first;
}

/// Where the elements of an argument are in the whole array.
struct ElementMap {
    whole: SymId,
    at: SymId,
    dims: Vec<Dim>,
    /// The strides of all dimensions but the first.
    strides: Vec<Expr>,
}

impl ElementMap {
    /// The subscript of an element in the whole array.
    fn subscript(&self, subscripts: &[Expr], span: Span) -> Expr {
        let mut sum = Expr::var(self.at, span);
        for (i, (s, d)) in subscripts.iter().zip(&self.dims).enumerate() {
            let low = lower(d, span);
            sum = match i.checked_sub(1).and_then(|i| self.strides.get(i)) {
                None => match low.kind {
                    ExprKind::Int(n) => plus(plus(sum, s.clone()), Expr::int(1 - n, span)),
                    _ => plus(plus(sum, paren(minus(s.clone(), low))), Expr::int(1, span)),
                },
                Some(stride) => match minus(s.clone(), low) {
                    Expr {
                        kind: ExprKind::Int(0),
                        ..
                    } => sum,
                    step => plus(sum, binary(BinOp::Mul, paren(step), stride.clone())),
                },
            };
        }
        sum
    }

    /// An element; without subscripts, the first one.
    fn element(&self, subscripts: Option<&[Expr]>, span: Span) -> Expr {
        let at = match subscripts {
            Some(l) => self.subscript(l, span),
            None => plus(Expr::var(self.at, span), Expr::int(1, span)),
        };
        Expr::element(self.whole, vec![at], span)
    }

    /// A section along one dimension.
    fn section(&self, subscripts: &[Expr], span: Span) -> Option<Expr> {
        if subscripts.len() != self.dims.len() {
            return None;
        }
        let mut along = None;
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for (i, (s, d)) in subscripts.iter().zip(&self.dims).enumerate() {
            let ExprKind::Range(a, b, step) = &s.kind else {
                from.push(s.clone());
                to.push(s.clone());
                continue;
            };
            if along.replace((i, step)).is_some() {
                return None;
            }
            let end = d.upper.clone().filter(|u| u.kind != ExprKind::Star);
            from.push(a.as_deref().cloned().unwrap_or_else(|| lower(d, span)));
            to.push(b.as_deref().cloned().or(end)?);
        }
        let (i, step) = along?;
        let stride = i.checked_sub(1).and_then(|i| self.strides.get(i)).cloned();
        let step = match (stride, step.as_deref().cloned()) {
            (None, step) | (step, None) => step,
            (Some(a), Some(b)) => Some(binary(BinOp::Mul, a, paren(b))),
        };
        let [from, to] = [from, to].map(|at| Some(self.subscript(&at, span)));
        let at = Expr::range(from, to, step, span);
        Some(Expr::element(self.whole, vec![at], span))
    }
}
