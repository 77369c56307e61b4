//! The shapes of array expressions, which must agree where arrays meet. Compilers do not check that: they
//! loop over one of the arrays.

use super::arrays::is_allocated_here;
use super::prove::changes;
use super::rewrite::CheckInserter;
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::{
    Class, Dim, Expr, ExprKind, Origin, Stmt, StmtKind, StorageClass, SymId, Where,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::Constants;
use farfel_lang::types::rank;

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
        if arrays.count() > 1 && self.common_shape(operands) == ExprShape::Unknown {
            self.differ();
        }
    }

    /// Requires that the arrays in the arguments of an intrinsic function conform as it demands.
    pub(super) fn agree_in_call(&mut self, function: &Intrinsic, args: &[Expr]) {
        if let (Shape::Product, [a, b]) = (function.shape, args) {
            let conform = match (self.shape(a), self.shape(b)) {
                (ExprShape::Extents(a), ExprShape::Extents(b)) => a.last() == b.first(),
                (ExprShape::Any, _) | (_, ExprShape::Any) => true,
                _ => false,
            };
            if !conform {
                self.differ();
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
