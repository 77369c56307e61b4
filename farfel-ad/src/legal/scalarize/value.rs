//! Elements of array expressions.

use super::reductions::Kind;
use super::shape::{Along, argument, difference, plus, product, sum, value_of};
use super::{Writer, is_simple};
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::build::zero;
use farfel_lang::ir::{ArrayConstructor, BinOp, Block, Class, Expr, ExprKind, Stmt, SymId, Type};
use farfel_lang::storage::constant;

impl<'u> Writer<'u> {
    pub(super) fn assign(&self, to: Expr, value: Expr) -> Stmt {
        Stmt::assign(to, value, self.span)
    }

    pub(super) fn binary(&self, op: BinOp, a: Expr, b: Expr) -> Expr {
        let mut e = Expr::binary(op, a, b);
        e.span = self.span;
        e
    }

    pub(super) fn zero(&self, ty: Type) -> Expr {
        zero(ty, self.span)
    }

    /// Writes loops over all elements of an array with these extents, with the first subscript
    /// innermost.
    pub(super) fn loops(
        &mut self,
        extents: &[Expr],
        make: &mut dyn FnMut(&mut Writer<'u>, &[Expr]) -> Option<Block>,
    ) -> Option<Block> {
        let span = self.span;
        let counters: Vec<SymId> = extents.iter().map(|_| self.counter()).collect();
        let at: Vec<Expr> = counters.iter().map(|c| Expr::var(*c, span)).collect();
        let mut body = make(self, &at)?;
        for (c, n) in counters.iter().zip(extents) {
            let ends = [Expr::int(1, span), n.clone()];
            body = vec![Stmt::count(*c, ends, None, body, span)];
        }
        self.free_counters(counters.len());
        Some(body)
    }

    /// Stores a value in a new variable, before the statement.
    fn stored(&mut self, e: Expr) -> Option<Expr> {
        let ty = self.ty(&e)?;
        if ty == Type::Character {
            return Some(e);
        }
        let t = self.scalar_variable(ty);
        let stmt = self.assign(t.clone(), e);
        self.before.push(stmt);
        Some(t)
    }

    /// Returns a scalar expression without anything that the engine cannot differentiate.
    pub(super) fn scalar(&mut self, e: &Expr) -> Option<Expr> {
        if is_simple(self.unit, e) {
            return Some(e.clone());
        }
        if let ExprKind::Call(s, args) = &e.kind {
            match self.unit.symbols[*s].class.clone() {
                Class::Intrinsic(i) if i.name == "SIZE" && args.len() == 1 => {
                    return self.size(args.first()?);
                }
                Class::Intrinsic(i) if i.shape == Shape::Elemental => {}
                Class::Intrinsic(i) => return self.reduction(e, i, args),
                _ => {
                    let args = args.iter().map(|a| self.actual(a));
                    let args = args.collect::<Option<Vec<Expr>>>()?;
                    return Some(Expr::call(*s, args, e.span));
                }
            }
        }
        let mut new = e.clone();
        for (to, from) in new.children_mut().into_iter().zip(e.children()) {
            *to = self.scalar(from)?;
        }
        if let ExprKind::Call(s, args) = &mut new.kind
            && let Class::Intrinsic(i) = self.unit.symbols[*s].class
        {
            super::in_order(i.name, args);
        }
        Some(new)
    }

    /// Returns an actual argument of a procedure: arrays that are not variables are stored in
    /// temporaries.
    pub(super) fn actual(&mut self, a: &Expr) -> Option<Expr> {
        if self.rank(a) == 0 {
            return match a.kind {
                ExprKind::Keyword(..) | ExprKind::Var(_) => Some(a.clone()),
                _ => self.scalar(a),
            };
        }
        let ours = super::differentiable(self.unit, a);
        if !ours || is_simple(self.unit, a) && !super::is_made(self.unit, a) {
            return Some(a.clone());
        }
        let array = self.materialised(a)?;
        Some(Expr::var(array, a.span))
    }

    /// Stores an array expression in a temporary array, before the statement.
    pub(super) fn materialised(&mut self, e: &Expr) -> Option<SymId> {
        let ty = self.ty(e)?;
        let e = self.invariant(e)?;
        if let ExprKind::Var(s) = e.kind
            && self.new.contains(&s)
        {
            return Some(s);
        }
        let extents = self.fixed_extents(&e)?;
        let array = self.array(ty, &extents);
        let made = self.loops(&extents, &mut |w, at| {
            let mut body = Vec::new();
            let value = w.element(&e, at, &mut body)?;
            body.push(w.assign(w.at(array, at), value));
            Some(body)
        })?;
        self.before.extend(made);
        Some(array)
    }

    pub(super) fn fixed_extents(&mut self, e: &Expr) -> Option<Vec<Expr>> {
        let extents = self.extents(e)?;
        Some(extents.into_iter().map(|e| self.fixed(e)).collect())
    }

    /// Returns an element of an array whose lower bounds are 1.
    pub(super) fn at(&self, array: SymId, at: &[Expr]) -> Expr {
        Expr::element(array, at.to_vec(), self.span)
    }

    /// Returns an array expression that is ready for loops: everything that is the same for all
    /// elements, and everything that traverses elements in a different order, has been computed
    /// before the statement.
    pub(super) fn invariant(&mut self, e: &Expr) -> Option<Expr> {
        if self.rank(e) == 0 {
            let plain = match &e.kind {
                ExprKind::Var(_)
                | ExprKind::Int(_)
                | ExprKind::Real(_)
                | ExprKind::Logical(_)
                | ExprKind::Kind(..) => true,
                _ => constant::integer(self.unit, e).is_some(),
            };
            if plain {
                return Some(e.clone());
            }
            if let ExprKind::Keyword(name, value) = &e.kind {
                let value = self.invariant(value)?;
                return Some(Expr::keyword(name.clone(), value, e.span));
            }
            let value = self.scalar(e)?;
            return self.stored(value);
        }
        let mut new = e.clone();
        match (&e.kind, &mut new.kind) {
            (ExprKind::Var(_), _) => {}
            (ExprKind::Element(_, from), ExprKind::Element(_, to)) => {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = match &from.kind {
                        ExprKind::Range(a, b, c) => {
                            let mut part = |p: &Option<Box<Expr>>| {
                                let p = p.as_ref()?;
                                Some(Box::new(self.fixed((**p).clone())))
                            };
                            let kind = ExprKind::Range(part(a), part(b), part(c));
                            Expr::new(kind, from.span)
                        }
                        _ if self.rank(from) > 0 => self.subscripts(from)?,
                        _ => self.fixed(from.clone()),
                    };
                }
            }
            (ExprKind::Array(a), _) => {
                let ty = self.ty(e)?;
                return self.constructed(e, &a.items, ty);
            }
            (ExprKind::Call(s, from), ExprKind::Call(_, to)) => {
                let Class::Intrinsic(i) = self.unit.symbols[*s].class else {
                    return None;
                };
                if matches!(i.name, "PACK" | "UNPACK") {
                    return self.packed(e, i, from);
                }
                for (k, (to, from)) in to.iter_mut().zip(from).enumerate() {
                    let name = match &from.kind {
                        ExprKind::Keyword(name, _) => name.as_str(),
                        _ => "",
                    };
                    match (i.name, k, name) {
                        ("RESHAPE", 1, "") | ("RESHAPE", _, "SHAPE") => {
                            let shape = self.numbers(value_of(from))?;
                            match &mut to.kind {
                                ExprKind::Keyword(_, inner) => inner.kind = shape,
                                kind => *kind = shape,
                            }
                            continue;
                        }
                        ("RESHAPE", 3, "") | ("RESHAPE", _, "ORDER") => continue,
                        _ => {}
                    }
                    *to = self.invariant(from)?;
                    if matches!(i.name, "SPREAD" | "MATMUL") && k < 2 {
                        let made = value_of(to).clone();
                        if self.rank(&made) > 0 && !self.is_at_hand(&made) {
                            *to = Expr::var(self.materialised(&made)?, from.span);
                        }
                    }
                }
            }
            (ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Paren(_), _)
            | (ExprKind::Keyword(..), _) => {
                for (to, from) in new.children_mut().into_iter().zip(e.children()) {
                    *to = self.invariant(from)?;
                }
            }
            _ => return None,
        }
        Some(new)
    }

    /// Writes a shape as a list of numbers, with values that do not change.
    fn numbers(&mut self, e: &Expr) -> Option<ExprKind> {
        let mut items = Vec::new();
        for v in self.values(e)? {
            items.push(self.fixed(v));
        }
        let ty = None;
        let length = None;
        Some(ExprKind::Array(Box::new(ArrayConstructor {
            ty,
            length,
            items,
        })))
    }

    /// Returns a vector subscript that may be evaluated any number of times.
    fn subscripts(&mut self, e: &Expr) -> Option<Expr> {
        if let ExprKind::Var(_) = e.kind {
            return Some(e.clone());
        }
        Some(Expr::var(self.materialised(e)?, e.span))
    }

    /// Whether its elements can be accessed at no cost.
    fn is_at_hand(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Var(_) | ExprKind::Element(..) => true,
            ExprKind::Call(s, args) => {
                matches!(self.unit.symbols[*s].class, Class::Intrinsic(i) if i.name == "TRANSPOSE")
                    && args.iter().all(|a| self.is_at_hand(a))
            }
            _ => false,
        }
    }

    /// Returns one element of an expression that was returned by [`Writer::invariant`], by its
    /// subscripts from 1.
    pub(super) fn element(&mut self, e: &Expr, at: &[Expr], pre: &mut Block) -> Option<Expr> {
        if self.rank(e) == 0 {
            return Some(e.clone());
        }
        let span = e.span;
        match &e.kind {
            ExprKind::Var(s) => {
                let mut subscripts = Vec::new();
                for (d, i) in at.iter().enumerate() {
                    let lower = self.lower(*s, d)?;
                    subscripts.push(sum(i.clone(), plus(lower, -1)));
                }
                Some(Expr::element(*s, subscripts, span))
            }
            ExprKind::Element(s, from) => {
                let mut subscripts = Vec::new();
                let mut next = at.iter();
                for (d, subscript) in from.iter().enumerate() {
                    let array = matches!(subscript.kind, ExprKind::Range(..));
                    if !array && self.rank(subscript) == 0 {
                        subscripts.push(subscript.clone());
                        continue;
                    }
                    let i = next.next()?.clone();
                    subscripts.push(match self.along(*s, d, subscript)? {
                        Along::Range(from, _, step) => match step.kind {
                            ExprKind::Int(1) => sum(i, plus(from, -1)),
                            _ => sum(difference(from, step.clone()), product(step, i)),
                        },
                        Along::Vector(v) => self.element(v, &[i], pre)?,
                    });
                }
                Some(Expr::element(*s, subscripts, span))
            }
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Paren(_)
            | ExprKind::Keyword(..) => {
                let mut new = e.clone();
                for (to, from) in new.children_mut().into_iter().zip(e.children()) {
                    *to = self.element(from, at, pre)?;
                }
                Some(new)
            }
            ExprKind::Call(s, args) => {
                let Class::Intrinsic(i) = self.unit.symbols[*s].class else {
                    return None;
                };
                if i.shape == Shape::Elemental {
                    let args = args.iter().map(|a| self.element(a, at, pre));
                    let mut args = args.collect::<Option<Vec<Expr>>>()?;
                    super::in_order(i.name, &mut args);
                    return Some(Expr::call(*s, args, span));
                }
                self.element_of_call(e, i, args, at, pre)
            }
            _ => None,
        }
    }

    fn element_of_call(
        &mut self,
        e: &Expr,
        i: &'static Intrinsic,
        args: &[Expr],
        at: &[Expr],
        pre: &mut Block,
    ) -> Option<Expr> {
        let array = value_of(args.first()?);
        let one = || Expr::int(1, e.span);
        match i.name {
            "TRANSPOSE" => {
                let [a, b] = at else { return None };
                self.element(array, &[b.clone(), a.clone()], pre)
            }
            "SPREAD" => {
                let d = argument(args, 1, &["DIM"])?;
                let d = self.dimension(d, at.len())?;
                let mut of = at.to_vec();
                of.remove(d);
                self.element(array, &of, pre)
            }
            "MATMUL" => {
                let other = value_of(args.get(1)?);
                let mut rows = at.to_vec();
                let mut columns = Vec::new();
                if self.rank(other) == 2 {
                    columns.push(rows.pop()?);
                }
                let inner = self.extents(other)?.into_iter().next()?;
                let ty = self.ty(e)?;
                let (t, made) = self.accumulated(
                    Kind::Sum,
                    ty,
                    &[inner],
                    &mut |w, k, pre| {
                        let left = rows.iter().chain(k).cloned().collect::<Vec<_>>();
                        let right = k.iter().chain(&columns).cloned().collect::<Vec<_>>();
                        let a = w.element(array, &left, pre)?;
                        let b = w.element(other, &right, pre)?;
                        Some(w.binary(BinOp::Mul, a, b))
                    },
                    None,
                )?;
                pre.extend(made);
                Some(t)
            }
            "RESHAPE" => self.reshaped(e, args, at, pre),
            "CSHIFT" | "EOSHIFT" => {
                let circular = i.name == "CSHIFT";
                let d = match argument(args, if circular { 2 } else { 3 }, &["DIM"]) {
                    Some(d) => self.dimension(d, at.len())?,
                    None => 0,
                };
                let n = self.extents(array)?.into_iter().nth(d)?;
                let mut others = at.to_vec();
                let own = others.remove(d);
                let shift = argument(args, 1, &["SHIFT"])?;
                let shift = self.element(shift, &others, pre)?;
                let from = self.scalar_variable(Type::INTEGER);
                let mut of = at.to_vec();
                if let Some(x) = of.get_mut(d) {
                    *x = from.clone();
                }
                if circular {
                    let place = sum(plus(own, -1), shift);
                    let place = self.call("MODULO", vec![place, n])?;
                    pre.push(self.assign(from, plus(place, 1)));
                    return self.element(array, &of, pre);
                }
                pre.push(self.assign(from.clone(), sum(own, shift)));
                let ty = self.ty(e)?;
                let outside = match argument(args, 2, &["BOUNDARY"]) {
                    Some(b) => self.element(b, &others, pre)?,
                    None => self.zero(ty),
                };
                let above = self.binary(BinOp::Ge, from.clone(), one());
                let below = self.binary(BinOp::Le, from, n);
                let inside = self.binary(BinOp::And, above, below);
                let t = self.scalar_variable(ty);
                let mut then = Vec::new();
                let value = self.element(array, &of, &mut then)?;
                then.push(self.assign(t.clone(), value));
                pre.push(Stmt::either(
                    inside,
                    then,
                    vec![self.assign(t.clone(), outside)],
                ));
                Some(t)
            }
            name => {
                let kind = Kind::of(name)?;
                let d = self.dim_of(args)?;
                let d = self.dimension(d, at.len() + 1)?;
                let n = self.extents(array)?.into_iter().nth(d)?;
                let place = |k: &[Expr]| {
                    let mut of = at.to_vec();
                    of.splice(d..d, k.iter().cloned());
                    of
                };
                let mask = self.mask_of(args).cloned();
                let ty = self.ty(e)?;
                let mut masked = |w: &mut Writer<'u>, k: &[Expr], pre: &mut Block| {
                    w.element(mask.as_ref()?, &place(k), pre)
                };
                let (t, made) = self.accumulated(
                    kind,
                    ty,
                    &[n],
                    &mut |w, k, pre| w.element(array, &place(k), pre),
                    mask.is_some().then_some(&mut masked),
                )?;
                pre.extend(made);
                Some(t)
            }
        }
    }

    fn reshaped(&mut self, e: &Expr, args: &[Expr], at: &[Expr], pre: &mut Block) -> Option<Expr> {
        let source = argument(args, 0, &["SOURCE"])?;
        let shape = self.extents(e)?;
        let own = self.extents(source)?;
        let order: Vec<usize> = match argument(args, 3, &["ORDER"]) {
            None => (0..at.len()).collect(),
            Some(order) => {
                let found = self.values(order)?;
                let found = found.iter().map(|e| self.dimension(e, at.len()));
                found.collect::<Option<_>>()?
            }
        };
        // The number of the element, from 0.
        let mut place = Expr::int(0, self.span);
        let mut size = Expr::int(1, self.span);
        for d in order {
            let step = product(size.clone(), plus(at.get(d)?.clone(), -1));
            place = sum(place, step);
            size = product(size, shape.get(d)?.clone());
        }
        let place = match own.len() {
            1 => place,
            _ => {
                let n = self.scalar_variable(Type::INTEGER);
                pre.push(self.assign(n.clone(), place));
                n
            }
        };
        let mut of = Vec::new();
        let mut below = Expr::int(1, self.span);
        for (d, n) in own.iter().enumerate() {
            let rest = match below.kind {
                ExprKind::Int(1) => place.clone(),
                _ => {
                    let by = Expr::parens(below.clone(), self.span);
                    self.binary(BinOp::Div, place.clone(), by)
                }
            };
            let i = match d + 1 == own.len() {
                true => rest,
                false => self.call("MOD", vec![rest, n.clone()])?,
            };
            of.push(plus(i, 1));
            below = product(below, n.clone());
        }
        let Some(pad) = argument(args, 2, &["PAD"]) else {
            return self.element(source, &of, pre);
        };
        let padding = self.size(pad)?;
        if self.rank(pad) != 1 {
            return None;
        }
        let t = self.scalar_variable(self.ty(e)?);
        let mut then = Vec::new();
        let value = self.element(source, &of, &mut then)?;
        then.push(self.assign(t.clone(), value));
        let beyond = difference(place.clone(), below.clone());
        let k = self.call("MOD", vec![beyond, padding])?;
        let mut otherwise = Vec::new();
        let value = self.element(pad, &[plus(k, 1)], &mut otherwise)?;
        otherwise.push(self.assign(t.clone(), value));
        let inside = self.binary(BinOp::Lt, place, below);
        pre.push(Stmt::either(inside, then, otherwise));
        Some(t)
    }
}
