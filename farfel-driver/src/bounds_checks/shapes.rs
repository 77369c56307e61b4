//! The shapes of array expressions, which must agree where arrays meet. Compilers do not check that: they
//! loop over one of the arrays. Shapes that are not known to agree are compared before the statement.

use super::arrays::{is_allocated_here, is_plain, long};
use super::prove::changes;
use super::rewrite::{CheckInserter, Use};
use crate::support::{Support, intrinsic};
use farfel_lang::Span;
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::{
    BinOp, Class, Dim, Expr, ExprKind, Origin, Stmt, StmtKind, StorageClass, SymId, Where,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::Constants;
use farfel_lang::types::rank;

/// Returns the argument of an intrinsic function at this position, or with this keyword.
pub(super) fn argument<'a>(args: &'a [Expr], position: usize, keyword: &str) -> Option<&'a Expr> {
    let positional = |e: &&Expr| !matches!(e.kind, ExprKind::Keyword(..));
    args.get(position).filter(positional).or_else(|| {
        args.iter().find_map(|a| match &a.kind {
            ExprKind::Keyword(k, value) if k == keyword => Some(&**value),
            _ => None,
        })
    })
}

/// What is known of the shape of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ExprShape {
    /// It conforms to every shape: a scalar, or a variable that differentiation created with the shape of the
    /// original.
    Any,
    /// The extents, as texts that are equal only for equal extents.
    Extents(Vec<String>),
    Unknown,
}

impl ExprShape {
    fn with(self, other: ExprShape) -> ExprShape {
        match (self, other) {
            (ExprShape::Any, other) | (other, ExprShape::Any) => other,
            (a, b) if a == b => a,
            _ => ExprShape::Unknown,
        }
    }
}

impl CheckInserter<'_> {
    /// Notes what the unit changes.
    pub(super) fn note_changes(&mut self, body: &[Stmt]) {
        (self.changed, self.calls) = changes(&self.unit, body);
    }

    /// Requires that the arrays among some expressions have the same shape.
    pub(super) fn agree(&mut self, operands: &[&Expr]) {
        let arrays = operands.iter().filter(|e| rank(&self.unit, e) > 0);
        let arrays: Vec<&Expr> = arrays.copied().collect();
        if arrays.len() > 1
            && self.common_shape(operands) == ExprShape::Unknown
            && !self.compare(&arrays)
        {
            self.differ();
        }
    }

    /// Compares the shapes of arrays before the current statement. Returns whether that is possible.
    fn compare(&mut self, arrays: &[&Expr]) -> bool {
        let mut known: Vec<(&Expr, Vec<Expr>)> = Vec::new();
        for e in arrays {
            if self.shape(e) == ExprShape::Any {
                continue;
            }
            match self.extents(e) {
                Some(extents) => known.push((e, extents)),
                None => return false,
            }
        }
        let Some(((first, expected), others)) = known.split_first() else {
            return false;
        };
        if others.iter().any(|(_, e)| e.len() != expected.len()) {
            return false;
        }
        for (other, extents) in others {
            for (a, b) in expected.iter().zip(extents) {
                self.require_same((first, a), (other, b));
            }
        }
        true
    }

    /// Ends the call before the current statement if two extents differ.
    fn require_same(&mut self, a: (&Expr, &Expr), b: (&Expr, &Expr)) {
        if !self.checks || a.1.equals_ignoring_spans(b.1) {
            return;
        }
        let shown = format!(
            "{} and {}",
            print_expr(&self.unit, a.0),
            print_expr(&self.unit, b.0)
        );
        let check = self.same_check(a.1.clone(), b.1.clone(), &shown, a.0.span);
        self.before.push(check);
    }

    /// Returns the extents of an array expression, as INTEGER*8 expressions that are evaluated before the current
    /// statement; `None` if they are not known there.
    pub(super) fn extents(&mut self, e: &Expr) -> Option<Vec<Expr>> {
        let span = e.span;
        match &e.kind {
            ExprKind::Var(s) => {
                let rank = self.unit.symbols[*s].dims.len();
                (0..rank).map(|k| self.size_of_dimension(*s, k)).collect()
            }
            ExprKind::Element(s, subscripts) if self.unit.symbols[*s].is_array() => {
                let mut extents = Vec::new();
                for (k, x) in subscripts.iter().enumerate() {
                    let ExprKind::Range(from, to, step) = &x.kind else {
                        if rank(&self.unit, x) > 0 {
                            extents.extend(self.extents(x)?);
                        }
                        continue;
                    };
                    if (from, to, step) == (&None, &None, &None) {
                        extents.push(self.size_of_dimension(*s, k)?);
                        continue;
                    }
                    let mut given = [from, to, step].into_iter().flatten();
                    if !given.all(|e| self.is_known_before(e)) {
                        return None;
                    }
                    let low = match from {
                        Some(e) => long((**e).clone()),
                        None => self.lower_bound(*s, k)?,
                    };
                    let high = match to {
                        Some(e) => long((**e).clone()),
                        None => {
                            let low = self.lower_bound(*s, k)?;
                            let size = self.size_of_dimension(*s, k)?;
                            let end = Expr::binary(BinOp::Add, low, size);
                            Expr::binary(BinOp::Sub, end, Expr::long(1, span))
                        }
                    };
                    let mut args = vec![low, high];
                    args.extend(step.as_ref().map(|e| long((**e).clone())));
                    let support = match step {
                        Some(_) => Support::Steps,
                        None => Support::Count,
                    };
                    extents.push(self.call_support(support, args, span));
                }
                Some(extents)
            }
            ExprKind::Array(constructor) => Some(vec![self.number_of_items(&constructor.items)?]),
            ExprKind::Percent(..) => None,
            ExprKind::Call(f, args) => match self.unit.symbols[*f].class {
                Class::Intrinsic(i) => match i.shape {
                    Shape::Elemental => self.extents_of_any(&args.iter().collect::<Vec<_>>()),
                    Shape::First if i.name == "TRANSPOSE" => {
                        let mut extents = self.extents(args.first()?)?;
                        extents.reverse();
                        Some(extents)
                    }
                    Shape::First => self.extents(args.first()?),
                    Shape::Reduced if args.len() > 1 => {
                        let dimension = argument(args, 1, "DIM")?;
                        let k = Constants::of(&self.unit).integer(dimension)?;
                        let mut extents = self.extents(args.first()?)?;
                        let k = usize::try_from(k).ok()?.checked_sub(1)?;
                        (k < extents.len()).then(|| extents.remove(k))?;
                        Some(extents)
                    }
                    Shape::More if i.name == "SPREAD" => {
                        let dimension = argument(args, 1, "DIM")?;
                        let k = Constants::of(&self.unit).integer(dimension)?;
                        let copies = argument(args, 2, "NCOPIES")?.clone();
                        let mut extents = self.extents(args.first()?)?;
                        let k = usize::try_from(k).ok()?.checked_sub(1)?;
                        if k > extents.len() || !self.is_known_before(&copies) {
                            return None;
                        }
                        let range = vec![Expr::long(1, span), long(copies)];
                        extents.insert(k, self.call_support(Support::Count, range, span));
                        Some(extents)
                    }
                    Shape::Product => {
                        let mut extents = self.extents(args.first()?)?;
                        extents.pop();
                        let others = self.extents(args.get(1)?)?;
                        extents.extend(others.into_iter().skip(1));
                        Some(extents)
                    }
                    Shape::Location | Shape::Bounds if args.len() == 1 => {
                        Some(vec![Expr::long(rank(&self.unit, &args[0]) as i64, span)])
                    }
                    Shape::Vector if i.name == "PACK" => match args.as_slice() {
                        [_, mask] => Some(vec![self.count(mask)?]),
                        [_, _, vector] if rank(&self.unit, vector) == 1 => self.extents(vector),
                        _ => None,
                    },
                    Shape::Reshaped => self.shape_of_reshaped(args),
                    Shape::Scalar if i.name == "TRANSFER" => {
                        if let Some(size) = argument(args, 2, "SIZE") {
                            let range = vec![Expr::long(1, span), long(size.clone())];
                            let known = self.is_known_before(size);
                            return known
                                .then(|| vec![self.call_support(Support::Count, range, span)]);
                        }
                        // As many as are needed for the source.
                        let there = self.extents(args.first()?)?;
                        let there = self.saturated(there, span);
                        let each = self.bytes_of_element(args.first()?)?;
                        let there = self.call_support(Support::Times, vec![there, each], span);
                        let each = self.bytes_of_element(args.get(1)?)?;
                        let max = intrinsic(&mut self.unit, "MAX")?;
                        let each = Expr::call(max, vec![each, Expr::long(1, span)], span);
                        let all = Expr::binary(BinOp::Add, there, each.clone());
                        let all = Expr::binary(BinOp::Sub, all, Expr::long(1, span));
                        Some(vec![Expr::binary(
                            BinOp::Div,
                            Expr::parens(all, span),
                            each,
                        )])
                    }
                    Shape::More if i.name == "UNPACK" => self.extents(args.get(1)?),
                    _ => None,
                },
                _ => None,
            },
            _ => self.extents_of_any(&e.children()),
        }
    }

    /// Returns the number of elements in an array constructor.
    fn number_of_items(&mut self, items: &[Expr]) -> Option<Expr> {
        let mut alone = 0;
        let mut sum: Option<Expr> = None;
        for item in items {
            let span = item.span;
            let more = match &item.kind {
                ExprKind::ImpliedDo(d) => {
                    let bounds = [Some(&d.from), Some(&d.to), d.step.as_ref()];
                    if !bounds
                        .into_iter()
                        .flatten()
                        .all(|e| self.is_known_before(e))
                    {
                        return None;
                    }
                    let range = bounds.into_iter().flatten().map(|e| long(e.clone()));
                    let support = match d.step {
                        Some(_) => Support::Steps,
                        None => Support::Count,
                    };
                    let count = self.call_support(support, range.collect(), span);
                    match self.number_of_items(&d.items)? {
                        one if one.equals_ignoring_spans(&Expr::long(1, span)) => count,
                        each => self.call_support(Support::Times, vec![count, each], span),
                    }
                }
                _ if rank(&self.unit, item) == 0 => {
                    alone += 1;
                    continue;
                }
                _ => {
                    let extents = self.extents(item)?;
                    self.saturated(extents, span)
                }
            };
            sum = Some(match sum {
                Some(sum) => Expr::binary(BinOp::Add, sum, more),
                None => more,
            });
        }
        let span = items.first().map_or(Span::NONE, |e| e.span);
        let alone_too = Expr::long(alone, span);
        Some(match sum {
            None => alone_too,
            Some(sum) if alone == 0 => sum,
            Some(sum) => Expr::binary(BinOp::Add, sum, alone_too),
        })
    }

    /// Returns the number of elements of an array with these extents, or a number that is too large for any memory.
    pub(super) fn saturated(&mut self, extents: Vec<Expr>, span: Span) -> Expr {
        let mut extents = extents.into_iter();
        let first = extents.next().unwrap_or_else(|| Expr::long(1, span));
        extents.fold(first, |product, extent| {
            self.call_support(Support::Times, vec![product, extent], span)
        })
    }

    /// Returns the number of true elements of a mask.
    fn count(&mut self, mask: &Expr) -> Option<Expr> {
        if rank(&self.unit, mask) == 0
            || !is_plain(&self.unit, mask)
            || !self.undisturbed
            || self.is_implied(mask)
            || (self.transfers && self.is_assigned(mask))
        {
            return None;
        }
        let count = intrinsic(&mut self.unit, "COUNT")?;
        let mut mask = mask.clone();
        // It is evaluated here, too.
        self.expr(&mut mask, Use::Value);
        let span = mask.span;
        Some(long(Expr::call(count, vec![mask], span)))
    }

    /// Returns the extents that RESHAPE is asked for.
    fn shape_of_reshaped(&mut self, args: &[Expr]) -> Option<Vec<Expr>> {
        let shape = argument(args, 1, "SHAPE")?;
        if let ExprKind::Var(s) = shape.kind {
            let rank = self.number_of_values(shape)?;
            if !self.undisturbed || self.is_assigned(shape) {
                return None;
            }
            let span = shape.span;
            self.whole(s, span);
            let lower = self.lower_bound(s, 0)?;
            let extents = (0..rank as i64).map(|k| {
                let at = Expr::binary(BinOp::Add, lower.clone(), Expr::long(k, span));
                let value = long(Expr::element(s, vec![at], span));
                self.call_support(Support::Count, vec![Expr::long(1, span), value], span)
            });
            return Some(extents.collect());
        }
        let ExprKind::Array(constructor) = &shape.kind else {
            return None;
        };
        let plain = |e: &Expr| {
            !matches!(e.kind, ExprKind::ImpliedDo(_))
                && rank(&self.unit, e) == 0
                && self.is_known_before(e)
        };
        if !constructor.items.iter().all(plain) {
            return None;
        }
        let extents = constructor.items.iter().map(|e| {
            let span = e.span;
            let args = vec![Expr::long(1, span), long(e.clone())];
            (args, span)
        });
        let extents: Vec<_> = extents.collect();
        let counts = extents
            .into_iter()
            .map(|(args, span)| self.call_support(Support::Count, args, span));
        Some(counts.collect())
    }

    /// Returns the number of elements of an array with these extents, and ends the call if an INTEGER*8 cannot hold
    /// it.
    fn product(&mut self, extents: Vec<Expr>, shown: &str, span: Span) -> Expr {
        let one = || Expr::long(1, span);
        extents.into_iter().fold(one(), |size, extent| {
            self.fails = true;
            let args = vec![size, one(), extent, self.what(shown, span)];
            self.call_support(Support::Size, args, span)
        })
    }

    /// Requires that a source has at least as many elements as are taken from it. Returns whether it is known how many
    /// there are.
    fn require_source(&mut self, needed: Option<Expr>, source: &Expr, whole: &Expr) -> bool {
        let (Some(needed), Some(there)) = (needed, self.extents(source)) else {
            return false;
        };
        let shown = print_expr(&self.unit, whole);
        let there = self.product(there, &shown, source.span);
        if self.checks {
            let check = self.whole_check(needed, there, &shown, source.span);
            self.before.push(check);
        }
        true
    }

    /// Returns the extents of the first array among some operands that must have the same shape.
    fn extents_of_any(&mut self, operands: &[&Expr]) -> Option<Vec<Expr>> {
        let mut arrays = operands.iter().filter(|e| rank(&self.unit, e) > 0);
        let arrays: Vec<&Expr> = arrays.by_ref().copied().collect();
        let known = arrays.iter().find(|e| self.shape(e) != ExprShape::Any)?;
        self.extents(known)
    }

    /// Returns the extent of a dimension of a variable.
    pub(super) fn size_of_dimension(&mut self, sym: SymId, k: usize) -> Option<Expr> {
        let span = Span::NONE;
        let dim = self.unit.symbols[sym].dims.get(k)?;
        if is_allocated_here(&self.unit.symbols[sym]) {
            self.array(sym);
        } else if dim.upper.as_ref().is_none_or(|e| e.kind == ExprKind::Star) {
            return None;
        }
        let size = intrinsic(&mut self.unit, "SIZE")?;
        let dimension = Expr::int(k as i64 + 1, span);
        let args = vec![Expr::var(sym, span), dimension, Expr::int(8, span)];
        Some(Expr::call(size, args, span))
    }

    fn lower_bound(&mut self, sym: SymId, k: usize) -> Option<Expr> {
        Some(self.array(sym).lowers.get(k)?.expr(Span::NONE))
    }

    /// Whether an INTEGER expression has the same value before the current statement as in it.
    pub(super) fn is_known_before(&self, e: &Expr) -> bool {
        Constants::of(&self.unit).integer(e).is_some()
            || (self.undisturbed
                && !self.is_implied(e)
                && !self.is_assigned(e)
                && self.is_scalar_arithmetic(e))
    }

    /// Whether the value of an expression depends on an implied DO of the current statement.
    fn is_implied(&self, e: &Expr) -> bool {
        let mut implied = false;
        e.for_each_symbol(&mut |s| implied |= self.implied.contains(&s));
        implied
    }

    /// Whether the current statement may assign a variable in an expression before it uses this.
    pub(super) fn is_assigned(&self, e: &Expr) -> bool {
        let mut assigned = false;
        e.for_each_symbol(&mut |s| {
            assigned |= self.assigned.contains(&s)
                || self
                    .storage
                    .overlapping(s)
                    .any(|o| self.assigned.contains(&o));
        });
        assigned
    }

    /// Whether an expression has the same value before a statement as in it, whatever arrays the statement
    /// assigns.
    pub(super) fn is_scalar_arithmetic(&self, e: &Expr) -> bool {
        let mut elements = false;
        e.walk(&mut |e| elements |= matches!(e.kind, ExprKind::Element(..)));
        !elements && is_plain(&self.unit, e)
    }

    /// Requires that the arrays in the arguments of an intrinsic function conform as it demands.
    pub(super) fn agree_in_call(&mut self, function: &Intrinsic, args: &[Expr], call: &Expr) {
        match (function.name, args) {
            // Its arguments are checked one by one, and only the type of the second one of TRANSFER matters.
            ("RESHAPE" | "TRANSFER", _) => return,
            ("PACK", [array, mask, vector]) => {
                self.agree(&[array, mask]);
                let needed = self.count(mask);
                if !self.require_source(needed, vector, call) {
                    self.differ();
                }
                return;
            }
            ("UNPACK", [vector, mask, field]) => {
                self.agree(&[mask, field]);
                let needed = self.count(mask);
                if !self.require_source(needed, vector, call) {
                    self.differ();
                }
                return;
            }
            _ => {}
        }
        if let (Shape::Product, [a, b]) = (function.shape, args) {
            let conform = match (self.shape(a), self.shape(b)) {
                (ExprShape::Extents(a), ExprShape::Extents(b)) => a.last() == b.first(),
                (ExprShape::Any, _) | (_, ExprShape::Any) => true,
                _ => false,
            };
            if !conform {
                match (self.extents(a), self.extents(b)) {
                    (Some(of_a), Some(of_b)) if !of_a.is_empty() && !of_b.is_empty() => {
                        self.require_same((a, &of_a[of_a.len() - 1]), (b, &of_b[0]));
                    }
                    _ => self.differ(),
                }
            }
            return;
        }
        self.agree(&args.iter().collect::<Vec<_>>());
    }

    /// Requires that the masks of a WHERE and the arrays that it assigns have the same shape.
    pub(super) fn agree_in_where(&mut self, construct: &Where) {
        let arms = &construct.block.arms;
        let bodies = arms.iter().map(|(_, body)| body);
        let assigned = bodies.chain(&construct.block.otherwise).flatten();
        let targets = assigned.filter_map(|s| match &s.kind {
            StmtKind::Assign(target, _) => Some(target),
            _ => None,
        });
        let all: Vec<&Expr> = arms.iter().map(|(mask, _)| mask).chain(targets).collect();
        self.agree(&all);
    }

    fn differ(&mut self) {
        self.reason("arrays meet of which it is not known that they have the same shape");
    }

    fn common_shape(&self, operands: &[&Expr]) -> ExprShape {
        let shapes = operands.iter().map(|e| self.shape(e));
        shapes.fold(ExprShape::Any, ExprShape::with)
    }

    fn shape(&self, e: &Expr) -> ExprShape {
        if rank(&self.unit, e) == 0 {
            return ExprShape::Any;
        }
        match &e.kind {
            ExprKind::Var(s) => {
                let symbol = &self.unit.symbols[*s];
                match symbol.origin {
                    // Its shape is not that of the declaration, and an assignment may change it.
                    _ if is_allocated_here(symbol) => ExprShape::Unknown,
                    Origin::Written => ExprShape::Extents(
                        symbol
                            .dims
                            .iter()
                            .map(|d| self.declared_extent(d))
                            .collect(),
                    ),
                    _ => ExprShape::Any,
                }
            }
            ExprKind::Element(s, subscripts) => {
                let mut extents = Vec::new();
                let allocated = is_allocated_here(&self.unit.symbols[*s]);
                for (k, x) in subscripts.iter().enumerate() {
                    match &x.kind {
                        ExprKind::Range(from, to, _)
                            if allocated && (from.is_none() || to.is_none()) =>
                        {
                            return ExprShape::Unknown;
                        }
                        ExprKind::Range(None, None, None) => {
                            match self.unit.symbols[*s].dims.get(k) {
                                Some(dim) => extents.push(self.declared_extent(dim)),
                                None => return ExprShape::Unknown,
                            }
                        }
                        ExprKind::Range(from, to, None) => {
                            let dim = self.unit.symbols[*s].dims.get(k);
                            let lower = dim.and_then(|d| d.lower.as_ref());
                            let upper = dim.and_then(|d| d.upper.as_ref());
                            let mut extent =
                                self.extent(from.as_deref().or(lower), to.as_deref().or(upper));
                            let declared = [(from, lower), (to, upper)].into_iter().any(
                                |(given, declared)| {
                                    given.is_none() && declared.is_some_and(|e| self.varies(e))
                                },
                            );
                            if declared {
                                extent.push_str(" declared");
                            }
                            extents.push(extent);
                        }
                        ExprKind::Range(..) => return ExprShape::Unknown,
                        _ if rank(&self.unit, x) > 0 => return ExprShape::Unknown,
                        _ => {}
                    }
                }
                ExprShape::Extents(extents)
            }
            ExprKind::Array(_) | ExprKind::Percent(..) => ExprShape::Unknown,
            ExprKind::Call(f, args) => match self.unit.symbols[*f].class {
                Class::Intrinsic(i) => self.shape_of_call(i, args),
                _ => ExprShape::Unknown,
            },
            _ => self.common_shape(&e.children()),
        }
    }

    fn shape_of_call(&self, function: &Intrinsic, args: &[Expr]) -> ExprShape {
        let of = |i: usize| args.get(i).map_or(ExprShape::Unknown, |a| self.shape(a));
        match function.shape {
            Shape::Elemental => self.common_shape(&args.iter().collect::<Vec<_>>()),
            Shape::First if function.name == "TRANSPOSE" => match of(0) {
                ExprShape::Extents(mut extents) => {
                    extents.reverse();
                    ExprShape::Extents(extents)
                }
                other => other,
            },
            Shape::First => of(0),
            // As many elements as the argument has dimensions.
            Shape::Location | Shape::Bounds if args.len() == 1 => {
                ExprShape::Extents(vec![rank(&self.unit, &args[0]).to_string()])
            }
            Shape::Product => match (of(0), of(1)) {
                (ExprShape::Extents(mut a), ExprShape::Extents(b)) => {
                    a.pop();
                    a.extend(b.into_iter().skip(1));
                    ExprShape::Extents(a)
                }
                (ExprShape::Any, _) | (_, ExprShape::Any) => ExprShape::Any,
                _ => ExprShape::Unknown,
            },
            _ => ExprShape::Unknown,
        }
    }

    /// Returns the extent of a declared dimension. It was determined on entry, with the values that the
    /// variables in it had then.
    fn declared_extent(&self, dim: &Dim) -> String {
        let mut extent = self.extent(dim.lower.as_ref(), dim.upper.as_ref());
        if [&dim.lower, &dim.upper]
            .into_iter()
            .flatten()
            .any(|e| self.varies(e))
        {
            extent.push_str(" declared");
        }
        extent
    }

    /// Whether the value of a bound may have changed since the unit was entered.
    fn varies(&self, bound: &Expr) -> bool {
        let mut varies = false;
        bound.for_each_symbol(&mut |s: SymId| {
            let symbol = &self.unit.symbols[s];
            let variable = symbol.class == Class::Variable;
            let mut overlapping = self.storage.overlapping(s);
            varies |= variable
                && (self.changed.contains(&s)
                    || overlapping.any(|o| self.changed.contains(&o))
                    || (self.calls && symbol.storage_class != StorageClass::Local));
        });
        varies
    }

    /// Returns the extent of a dimension as text, which is equal for equal extents.
    fn extent(&self, from: Option<&Expr>, to: Option<&Expr>) -> String {
        let constants = Constants::of(&self.unit);
        let low = from.map_or(Some(1), |e| constants.integer(e));
        let high = to.and_then(|e| constants.integer(e));
        if let (Some(low), Some(high)) = (low, high) {
            let extent = high.saturating_sub(low).saturating_add(1);
            return extent.max(0).to_string();
        }
        let show = |e: Option<&Expr>| e.map_or("1".into(), |e| print_expr(&self.unit, e));
        format!("{}:{}", show(from), show(to))
    }
}
