//! Extents of expressions, and subscripts of their elements.

use super::Writer;
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::build::grouped;
use farfel_lang::ir::{
    BinOp, Class, Expr, ExprKind, ImpliedDo, Stmt, StorageClass, SymId, Type, UnOp,
};
use farfel_lang::storage::constant;

/// `e + c`
pub(super) fn plus(e: Expr, c: i64) -> Expr {
    let span = e.span;
    if c == 0 {
        return e;
    }
    if let ExprKind::Int(n) = e.kind
        && let Some(n) = n.checked_add(c)
    {
        return Expr::int(n, span);
    }
    if let ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) = &e.kind
        && let ExprKind::Int(n) = b.kind
        && let Some(own) = if *op == BinOp::Add {
            Some(n)
        } else {
            n.checked_neg()
        }
        && let Some(c) = own.checked_add(c)
    {
        return plus((**a).clone(), c);
    }
    let op = if c > 0 { BinOp::Add } else { BinOp::Sub };
    Expr::binary(op, e, Expr::int(c.saturating_abs(), span))
}

pub(super) fn sum(a: Expr, b: Expr) -> Expr {
    match (&a.kind, &b.kind) {
        (_, ExprKind::Int(n)) => plus(a, *n),
        (ExprKind::Int(n), _) => plus(b, *n),
        (_, ExprKind::Unary(UnOp::Minus, _)) => Expr::binary(BinOp::Add, a, grouped(b)),
        _ => Expr::binary(BinOp::Add, a, b),
    }
}

pub(super) fn difference(a: Expr, b: Expr) -> Expr {
    match &b.kind {
        ExprKind::Int(n) if *n != i64::MIN => plus(a, -n),
        _ if a.equals_ignoring_spans(&b) => Expr::int(0, a.span),
        _ => Expr::binary(BinOp::Sub, a, grouped(b)),
    }
}

pub(super) fn product(a: Expr, b: Expr) -> Expr {
    match (&a.kind, &b.kind) {
        (ExprKind::Int(m), ExprKind::Int(n)) if m.checked_mul(*n).is_some() => {
            Expr::int(m.saturating_mul(*n), a.span)
        }
        (ExprKind::Int(1), _) => b,
        (_, ExprKind::Int(1)) => a,
        _ => Expr::binary(BinOp::Mul, grouped(a), grouped(b)),
    }
}

/// A subscript that selects several elements.
pub(super) enum Along<'e> {
    /// `from:to:step`
    Range(Expr, Option<Expr>, Expr),
    /// An array of subscripts.
    Vector(&'e Expr),
}

impl Writer<'_> {
    /// Folds the expression to a constant if possible.
    fn folded(&self, e: Expr) -> Expr {
        match constant::integer(self.unit, &e) {
            Some(n) => Expr::int(n, e.span),
            None => e,
        }
    }

    /// Whether the value of a bound is still the value at entry to the unit.
    pub(super) fn is_kept(&self, e: &Expr) -> bool {
        let mut kept = true;
        e.for_each_symbol(&mut |s| kept &= !self.assigned.contains(&s));
        let mut calls = false;
        e.walk(&mut |e| calls |= matches!(e.kind, ExprKind::Call(..)));
        kept && !calls
    }

    fn inquiry(&mut self, function: &str, array: SymId, d: usize) -> Option<Expr> {
        let d = Expr::int(d as i64 + 1, self.span);
        let array = Expr::var(array, self.span);
        self.call(function, vec![array, d])
    }

    /// Returns the lower bound of a dimension.
    pub(super) fn lower(&mut self, array: SymId, d: usize) -> Option<Expr> {
        if self.shapes.contains_key(&array) {
            return Some(Expr::int(1, self.span));
        }
        let dim = self.unit.symbols[array].dims.get(d)?;
        let open = dim.upper.is_none();
        match dim.lower.clone() {
            Some(e) if self.is_kept(&e) => Some(self.folded(e)),
            // Determined by ALLOCATE.
            None if open => self.inquiry("LBOUND", array, d),
            None => Some(Expr::int(1, self.span)),
            Some(_) => self.inquiry("LBOUND", array, d),
        }
    }

    /// Returns the upper bound of a dimension; `None` for assumed size.
    fn upper(&mut self, array: SymId, d: usize) -> Option<Expr> {
        if let Some(extents) = self.shapes.get(&array) {
            return extents.get(d).cloned();
        }
        let dim = self.unit.symbols[array].dims.get(d)?;
        match dim.upper.clone() {
            Some(e) if e.kind == ExprKind::Star => None,
            Some(e) if self.is_kept(&e) => Some(self.folded(e)),
            _ => self.inquiry("UBOUND", array, d),
        }
    }

    /// Returns the elements that a subscript selects; `None` for a single element.
    pub(super) fn along<'e>(
        &mut self,
        array: SymId,
        d: usize,
        subscript: &'e Expr,
    ) -> Option<Along<'e>> {
        match &subscript.kind {
            ExprKind::Range(from, to, step) => {
                let step = step.as_deref().cloned();
                let step = step.unwrap_or_else(|| Expr::int(1, self.span));
                let step = self.folded(step);
                // Omitted bounds are those of the array, whatever the step is.
                let from = match from {
                    Some(e) => self.folded((**e).clone()),
                    None => self.lower(array, d)?,
                };
                let to = match to {
                    Some(e) => Some(self.folded((**e).clone())),
                    None => self.upper(array, d),
                };
                Some(Along::Range(from, to, step))
            }
            _ if self.rank(subscript) > 0 => Some(Along::Vector(subscript)),
            _ => None,
        }
    }

    /// Returns the extents of an array expression; `None` if they cannot be determined.
    pub(super) fn extents(&mut self, e: &Expr) -> Option<Vec<Expr>> {
        match &e.kind {
            ExprKind::Var(s) => (0..self.unit.symbols[*s].dims.len())
                .map(|d| {
                    let (lower, upper) = (self.lower(*s, d)?, self.upper(*s, d)?);
                    Some(plus(difference(upper, lower), 1))
                })
                .collect(),
            ExprKind::Element(s, subscripts) => {
                let mut found = Vec::new();
                for (d, subscript) in subscripts.iter().enumerate() {
                    let array =
                        matches!(subscript.kind, ExprKind::Range(..)) || self.rank(subscript) > 0;
                    if !array {
                        continue;
                    }
                    found.push(match self.along(*s, d, subscript)? {
                        Along::Range(from, to, step) => Self::count(from, to?, step),
                        Along::Vector(v) => self.extents(v)?.pop()?,
                    });
                }
                Some(found)
            }
            ExprKind::Array(a) => {
                let mut n = Expr::int(0, self.span);
                for i in &a.items {
                    n = sum(n, self.items(i)?);
                }
                Some(vec![n])
            }
            ExprKind::Call(s, args) => match self.unit.symbols[*s].class {
                Class::Intrinsic(i) => self.extents_of_call(e, i, args),
                _ => None,
            },
            _ => {
                let child = e.children().into_iter().find(|c| self.rank(c) > 0)?;
                self.extents(child)
            }
        }
    }

    /// Returns constant upper limits of the extents of an array expression; `None` if there are
    /// none.
    pub(super) fn most(&self, e: &Expr) -> Option<Vec<i64>> {
        match &e.kind {
            ExprKind::Var(s) => (0..self.unit.symbols[*s].dims.len())
                .map(|d| self.most_along(*s, d))
                .collect(),
            ExprKind::Element(s, subscripts) => {
                let mut found = Vec::new();
                for (d, subscript) in subscripts.iter().enumerate() {
                    if matches!(subscript.kind, ExprKind::Range(..)) {
                        found.push(self.most_along(*s, d)?);
                    } else if self.rank(subscript) > 0 {
                        // A vector subscript may select an element several times.
                        found.append(&mut self.most(subscript)?);
                    }
                }
                Some(found)
            }
            ExprKind::Call(s, args) => match self.unit.symbols[*s].class {
                Class::Intrinsic(i) if i.shape == Shape::Elemental => {
                    let mut arrays = args.iter().map(value_of).filter(|a| self.rank(a) > 0);
                    arrays.find_map(|a| self.most(a))
                }
                _ => None,
            },
            ExprKind::Binary(..) | ExprKind::Unary(..) | ExprKind::Paren(_) => {
                let parts = e.children().into_iter().filter(|c| self.rank(c) > 0);
                parts.into_iter().find_map(|c| self.most(c))
            }
            _ => None,
        }
    }

    /// Like [`Self::most`], for one dimension of an array. `A(1)` used to be written for assumed
    /// size.
    fn most_along(&self, array: SymId, d: usize) -> Option<i64> {
        let symbol = &self.unit.symbols[array];
        let dim = symbol.dims.get(d)?;
        let upper = constant::integer(self.unit, dim.upper.as_ref()?)?;
        let lower = match &dim.lower {
            Some(e) => constant::integer(self.unit, e)?,
            None => 1,
        };
        let last = d + 1 == symbol.dims.len();
        if symbol.storage_class == StorageClass::Dummy && last && upper == 1 {
            return None;
        }
        Some(upper.checked_sub(lower)?.checked_add(1)?.max(0))
    }

    /// Returns the number of elements of `from:to:step`; the value may be negative if there are
    /// none.
    fn count(from: Expr, to: Expr, step: Expr) -> Expr {
        if let (ExprKind::Int(f), ExprKind::Int(t), ExprKind::Int(s)) =
            (&from.kind, &to.kind, &step.kind)
            && let Some(length) = t.checked_sub(*f).and_then(|n| n.checked_add(*s))
            && let Some(n) = length.checked_div(*s)
        {
            return Expr::int(n.max(0), from.span);
        }
        match step.kind {
            ExprKind::Int(1) => plus(difference(to, from), 1),
            _ => {
                let length = sum(difference(to, from), step.clone());
                Expr::binary(BinOp::Div, grouped(length), grouped(step))
            }
        }
    }

    /// Returns the number of elements of an item of an array constructor.
    fn items(&mut self, item: &Expr) -> Option<Expr> {
        let ExprKind::ImpliedDo(d) = &item.kind else {
            return match self.rank(item) {
                0 => Some(Expr::int(1, self.span)),
                _ => self.size(item),
            };
        };
        let ImpliedDo {
            items,
            var,
            from,
            to,
            step,
        } = &**d;
        let mut n = Expr::int(0, self.span);
        for i in items {
            n = sum(n, self.items(i)?);
        }
        let mut varies = false;
        n.for_each_symbol(&mut |s| varies |= s == *var);
        if varies {
            return None;
        }
        let step = step.clone().unwrap_or_else(|| Expr::int(1, self.span));
        let (from, to) = (self.folded(from.clone()), self.folded(to.clone()));
        let step = self.folded(step);
        let times = Self::count(from, to, step);
        let times = match times.kind {
            ExprKind::Int(_) => times,
            _ => self.call("MAX", vec![Expr::int(0, self.span), times])?,
        };
        Some(product(n, times))
    }

    /// Returns the number of elements of an array expression.
    pub(super) fn size(&mut self, e: &Expr) -> Option<Expr> {
        let extents = self.extents(e)?;
        let mut n = Expr::int(1, self.span);
        for e in extents {
            let e = match e.kind {
                ExprKind::Int(_) => e,
                _ => self.call("MAX", vec![Expr::int(0, self.span), e])?,
            };
            n = product(n, e);
        }
        Some(n)
    }

    fn extents_of_call(&mut self, e: &Expr, i: &Intrinsic, args: &[Expr]) -> Option<Vec<Expr>> {
        let first = argument(args, 0, &[]);
        match (i.name, first) {
            ("TRANSPOSE", Some(a)) => {
                let mut found = self.extents(a)?;
                found.reverse();
                Some(found)
            }
            ("SPREAD", Some(a)) => {
                let mut found = match self.rank(a) {
                    0 => Vec::new(),
                    _ => self.extents(a)?,
                };
                let d = self.dimension(argument(args, 1, &["DIM"])?, found.len() + 1)?;
                let n = argument(args, 2, &["NCOPIES"])?.clone();
                found.insert(d, self.folded(n));
                Some(found)
            }
            ("MATMUL", Some(a)) => {
                let (mut a, b) = (self.extents(a)?, self.extents(args.get(1)?)?);
                a.pop()?;
                a.extend(b.into_iter().skip(1));
                Some(a)
            }
            ("RESHAPE", Some(_)) => self.values(argument(args, 1, &["SHAPE"])?),
            ("PACK", _) => None,
            (_, Some(a)) if matches!(i.shape, Shape::Reduced) => {
                let mut found = self.extents(a)?;
                let d = self.dim_of(args)?;
                let d = self.dimension(d, found.len())?;
                found.remove(d);
                Some(found)
            }
            ("CSHIFT" | "EOSHIFT", Some(a)) => self.extents(a),
            _ if i.shape == Shape::Elemental => {
                let of = args.iter().map(value_of).find(|a| self.rank(a) > 0)?;
                self.extents(of)
            }
            _ => {
                let _ = e;
                None
            }
        }
    }

    /// Returns the DIM argument of a reduction.
    pub(super) fn dim_of<'e>(&self, args: &'e [Expr]) -> Option<&'e Expr> {
        let d = argument(args, 1, &["DIM"])?;
        (self.rank(d) == 0 && matches!(self.ty(d), Some(Type::Integer(_)))).then_some(d)
    }

    /// Returns the index of a dimension, from 0, if it is constant.
    pub(super) fn dimension(&self, e: &Expr, among: usize) -> Option<usize> {
        let n = constant::integer(self.unit, e)?;
        let n = usize::try_from(n).ok()?.checked_sub(1)?;
        (n < among).then_some(n)
    }

    /// Returns the elements of an explicitly written array of integers.
    pub(super) fn values(&mut self, e: &Expr) -> Option<Vec<Expr>> {
        match &e.kind {
            ExprKind::Array(a) => {
                let single = a
                    .items
                    .iter()
                    .all(|i| !matches!(i.kind, ExprKind::ImpliedDo(_)) && self.rank(i) == 0);
                single.then(|| a.items.iter().map(|i| self.folded(i.clone())).collect())
            }
            ExprKind::Call(s, args) => match (self.unit.symbols[*s].class.clone(), args.as_slice())
            {
                (Class::Intrinsic(i), [a]) if i.name == "SHAPE" => self.extents(a),
                _ => None,
            },
            ExprKind::Var(s) => {
                if let Class::Parameter(v) = self.unit.symbols[*s].class.clone() {
                    return self.values(&v);
                }
                let n = self.extents(e)?;
                let [
                    Expr {
                        kind: ExprKind::Int(n),
                        ..
                    },
                ] = n.as_slice()
                else {
                    return None;
                };
                let lower = self.lower(*s, 0)?;
                let span = self.span;
                // No array has more than 15 dimensions.
                let of = |k| Expr::element(*s, vec![plus(lower.clone(), k)], span);
                (*n <= 15).then(|| (0..*n).map(of).collect())
            }
            _ => None,
        }
    }

    /// Returns an expression with the same value that may be evaluated anywhere in the statement.
    pub(super) fn fixed(&mut self, e: Expr) -> Expr {
        let e = self.folded(e);
        let mut simple = true;
        e.for_each_symbol(&mut |s| {
            let s = &self.unit.symbols[s];
            simple &= match s.class {
                Class::Intrinsic(_) | Class::Parameter(_) => true,
                // Variables of other types may be assigned by the statement.
                Class::Variable => matches!(s.ty, Some(Type::Integer(_))),
                _ => false,
            };
        });
        // An inquiry about bounds does not depend on values.
        simple |= matches!(&e.kind, ExprKind::Call(s, _)
            if matches!(self.unit.symbols[*s].class, Class::Intrinsic(i)
                if matches!(i.name, "SIZE" | "LBOUND" | "UBOUND")));
        if simple {
            return e;
        }
        let ty = self.ty(&e).unwrap_or(Type::INTEGER);
        let t = self.scalar_variable(ty);
        let stmt = Stmt::assign(t.clone(), e, self.span);
        self.before.push(stmt);
        t
    }
}

/// Returns an argument by its position or its keyword.
pub(super) fn argument<'e>(args: &'e [Expr], at: usize, names: &[&str]) -> Option<&'e Expr> {
    let by_name = args.iter().find_map(|a| match &a.kind {
        ExprKind::Keyword(n, e) if names.contains(&n.as_str()) => Some(&**e),
        _ => None,
    });
    by_name.or_else(|| {
        let a = args.get(at)?;
        match a.kind {
            ExprKind::Keyword(..) => None,
            _ => Some(a),
        }
    })
}

/// Returns an argument without its keyword.
pub(super) fn value_of(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Keyword(_, e) => e,
        _ => e,
    }
}
