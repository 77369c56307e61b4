//! Checks that shapes match, and what SELECT CASE, IF and WHERE require.

use crate::diagnostic::{Diagnostic, rules};
use crate::intrinsics::Shape;
use crate::ir::{
    AdItem, ArrayConstructor, Class, Expr, ExprKind, IfBlock, ImpliedDo, Select, Stmt, StmtKind,
    SymId, Type, Unit,
};
use crate::source::Span;
use crate::storage::constant::Constants;
use crate::types::{rank, type_of};

/// The number of elements in each dimension, where constants determine it; empty for a scalar.
type Extents = Vec<Option<i64>>;

/// Checks the statements of a unit for certain mismatches.
pub(super) struct ShapeChecker<'a, 'd> {
    constants: Constants<'a>,
    unit: &'a Unit,
    /// Whether the statement contains something of unknown rank.
    unknown: bool,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'a, 'd> ShapeChecker<'a, 'd> {
    pub fn new(unit: &'a Unit, diagnostics: &'d mut Vec<Diagnostic>) -> Self {
        ShapeChecker {
            constants: Constants::of(unit),
            unit,
            unknown: false,
            diagnostics,
        }
    }

    pub fn statement(&mut self, stmt: &Stmt) {
        self.unknown = false;
        match &stmt.kind {
            StmtKind::Assign(target, value) => {
                let to = self.shape(target);
                let from = self.shape(value);
                if !from.is_empty() {
                    self.fit(&to, &from, value.span, "the variable");
                }
            }
            StmtKind::Where(w) => self.masks(&w.block),
            StmtKind::If(b) => b.arms.iter().for_each(|(c, _)| self.scalar(c)),
            StmtKind::LogicalIf(c, _) => self.scalar(c),
            StmtKind::Select(s) => self.select(s),
            StmtKind::Ad(b) => {
                b.vector_mode.iter().for_each(|s| {
                    self.shape(&s.count);
                });
                let items = b.opening.iter().chain(&b.closing);
                items.for_each(|i| self.derivatives(i));
            }
            _ => stmt.for_each_own_expr(&mut |e| {
                self.shape(e);
            }),
        }
    }

    fn error(&mut self, span: Span, message: String) -> &mut Diagnostic {
        self.diagnostics
            .push(Diagnostic::error(&rules::RANK_MISMATCH, span, message));
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    /// Reports `other` at `span` if it cannot have the shape `wanted`, which is that of `what`.
    fn fit(&mut self, wanted: &Extents, other: &Extents, span: Span, what: &str) {
        if self.unknown {
            return;
        }
        if wanted.len() != other.len() {
            let message = format!("this is {}, but {what} is {}", shown(other), shown(wanted));
            self.error(span, message);
            return;
        }
        for (i, (a, b)) in wanted.iter().zip(other).enumerate() {
            if let (Some(a), Some(b)) = (a, b)
                && a != b
            {
                let dimension = match wanted.len() {
                    1 => String::new(),
                    _ => format!(" in dimension {}", i + 1),
                };
                self.error(
                    span,
                    format!(
                        "this has {b} element{}{dimension}, but {what} has {a}",
                        if *b == 1 { "" } else { "s" }
                    ),
                );
                return;
            }
        }
    }

    /// Checks whole arrays in an opening or closing. (Ranks are checked with the rest of the
    /// block.)
    fn derivatives(&mut self, item: &AdItem) {
        match item {
            AdItem::Assign(a) => {
                let var = self.shape(&a.var);
                a.direction.iter().for_each(|k| {
                    self.shape(k);
                });
                let other = self.shape(&a.other);
                if var.len() == other.len() {
                    self.fit(&var, &other, a.other.span, "the variable");
                }
            }
            AdItem::ImpliedDo(d) => {
                [&d.from, &d.to].into_iter().chain(&d.step).for_each(|e| {
                    self.shape(e);
                });
                d.items.iter().for_each(|i| self.derivatives(i));
            }
        }
    }

    fn scalar(&mut self, condition: &Expr) {
        let shape = self.shape(condition);
        if !shape.is_empty() {
            let message = format!("the condition is {}, not a scalar", shown(&shape));
            self.error(condition.span, message).help = Some(
                "write ANY(…) or ALL(…), or WHERE to assign elements by a condition".to_owned(),
            );
        }
    }

    fn masks(&mut self, block: &IfBlock) {
        let mut first: Option<Extents> = None;
        for (mask, _) in &block.arms {
            let shape = self.shape(mask);
            if shape.is_empty() {
                self.error(mask.span, "the mask of WHERE must be an array".to_owned())
                    .help = Some("write IF where one condition decides".to_owned());
                return;
            }
            if !matches!(type_of(self.unit, mask), Some(Type::Logical(_)) | None) {
                self.diagnostics.push(Diagnostic::error(
                    &rules::TYPE_MISMATCH,
                    mask.span,
                    "the mask of WHERE must be LOGICAL",
                ));
            }
            match &first {
                Some(f) => {
                    let f = f.clone();
                    self.fit(&f, &shape, mask.span, "the first mask");
                }
                None => first = Some(shape),
            }
        }
        let Some(first) = first else { return };
        for s in block.blocks().into_iter().flatten() {
            if let StmtKind::Assign(target, _) = &s.kind {
                let shape = self.shape(target);
                self.fit(&first, &shape, target.span, "the mask");
            }
        }
    }

    fn select(&mut self, select: &Select) {
        self.scalar(&select.selector);
        let ty = type_of(self.unit, &select.selector);
        let Some(ty) = ty else { return };
        if !matches!(ty, Type::Integer(_) | Type::Logical(_) | Type::Character) {
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::TYPE_MISMATCH,
                    select.selector.span,
                    format!("SELECT CASE wants a whole number, LOGICAL or CHARACTER, not {ty}"),
                )
                .help("write IF (…) THEN and ELSE IF"),
            );
            return;
        }
        // The values seen so far, with their places.
        let mut taken: Vec<(i64, i64, Span)> = Vec::new();
        for value in select.cases.iter().flat_map(|c| &c.values).flatten() {
            let range = matches!(value.kind, ExprKind::Range(..));
            let ends = match range {
                true => value.children().into_vec(),
                false => vec![value],
            };
            if !ends.iter().all(|e| self.case_value(e, ty, range)) {
                continue;
            }
            let Some((from, to)) = self.limits(value) else {
                continue;
            };
            if from > to {
                // The range is empty.
                continue;
            }
            if let Some((.., span)) = taken.iter().find(|(f, t, _)| from <= *t && *f <= to) {
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::CONFLICTING_DECLARATION,
                        value.span,
                        "this value has a CASE already",
                    )
                    .related(*span, "which is this"),
                );
                continue;
            }
            taken.push((from, to, value.span));
        }
    }

    /// Whether a value is a constant that can be compared with a selector of type `ty`. Reports it
    /// if not.
    fn case_value(&mut self, e: &Expr, ty: Type, range: bool) -> bool {
        let fits = match type_of(self.unit, e) {
            Some(Type::Integer(_)) => matches!(ty, Type::Integer(_)),
            Some(Type::Logical(_)) => matches!(ty, Type::Logical(_)) && !range,
            Some(Type::Character) => ty == Type::Character,
            Some(_) => false,
            None => true,
        };
        if !fits {
            let message = match ty {
                Type::Logical(_) if range => "a range of LOGICAL values has no meaning".to_owned(),
                _ => format!("this value cannot be compared with the selector, which is {ty}"),
            };
            self.diagnostics
                .push(Diagnostic::error(&rules::TYPE_MISMATCH, e.span, message));
            return false;
        }
        let mut variable = None;
        e.walk(&mut |e| {
            let (ExprKind::Var(s) | ExprKind::Element(s, _) | ExprKind::Call(s, _)) = &e.kind
            else {
                return;
            };
            let class = &self.unit.symbols[*s].class;
            if !matches!(
                class,
                Class::Parameter(_) | Class::Intrinsic(_) | Class::Unknown
            ) {
                variable.get_or_insert((*s, e.span));
            }
        });
        let Some((s, span)) = variable else {
            return true;
        };
        let name = &self.unit.symbols[s].name;
        self.diagnostics.push(
            Diagnostic::error(
                &rules::TYPE_MISMATCH,
                span,
                format!("the values of CASE must be constants, but {name} is not one"),
            )
            .help("compare it with IF (…) THEN and ELSE IF"),
        );
        false
    }

    /// Returns the first and the last integer that a value of CASE covers.
    fn limits(&self, value: &Expr) -> Option<(i64, i64)> {
        let end = |e: &Option<Box<Expr>>, open: i64| match e {
            Some(e) => self.constants.integer(e),
            None => Some(open),
        };
        match &value.kind {
            ExprKind::Range(from, to, _) => Some((end(from, i64::MIN)?, end(to, i64::MAX)?)),
            _ => {
                let n = self.constants.integer(value)?;
                Some((n, n))
            }
        }
    }

    /// Returns the shape of an expression and reports operands in it that do not match.
    fn shape(&mut self, e: &Expr) -> Extents {
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Real(_) => Vec::new(),
            ExprKind::Var(s) => self.of_dims(*s),
            ExprKind::Element(s, subscripts) => self.section(*s, subscripts),
            ExprKind::Paren(a) | ExprKind::Unary(_, a) => self.shape(a),
            ExprKind::Binary(_, a, b) => {
                let left = self.shape(a);
                let right = self.shape(b);
                if left.is_empty() {
                    return right;
                }
                if !right.is_empty() {
                    self.fit(&left, &right, b.span, "the other operand");
                }
                left
            }
            ExprKind::Array(a) => vec![self.count(a)],
            ExprKind::Call(s, args) => {
                let shapes: Vec<Extents> = args.iter().map(|a| self.shape(a)).collect();
                let n = rank(self.unit, e);
                let shape = match self.unit.symbols[*s].class {
                    Class::Intrinsic(i) => i.shape,
                    _ => Shape::Scalar,
                };
                if shape == Shape::Reshaped {
                    return self.reshaped(args.get(1));
                }
                let elemental = shape == Shape::Elemental;
                match shapes.into_iter().find(|s| !s.is_empty()) {
                    Some(shape) if elemental && shape.len() == n => shape,
                    _ => vec![None; n],
                }
            }
            _ => {
                e.children().into_iter().for_each(|c| {
                    self.shape(c);
                });
                vec![None; rank(self.unit, e)]
            }
        }
    }

    /// Returns the shape that RESHAPE is given.
    fn reshaped(&mut self, shape: Option<&Expr>) -> Extents {
        match shape.map(|e| &e.kind) {
            Some(ExprKind::Array(a)) => {
                let plain = |i: &Expr| !matches!(i.kind, ExprKind::ImpliedDo(_));
                let all = a.items.iter().all(|i| plain(i) && rank(self.unit, i) == 0);
                self.unknown |= !all;
                let items = a.items.iter();
                items.map(|i| self.constants.integer(i)).collect()
            }
            _ => {
                self.unknown = true;
                Vec::new()
            }
        }
    }

    fn of_dims(&self, s: SymId) -> Extents {
        let dimensions = 0..self.unit.symbols[s].dims.len();
        dimensions.map(|i| self.extent(s, i)).collect()
    }

    fn extent(&self, s: SymId, dimension: usize) -> Option<i64> {
        // The bounds of a host's array refer to names of the host.
        let (low, high) = self.constants.bounds(s, dimension);
        count_of(low?, high?, 1)
    }

    fn section(&mut self, s: SymId, subscripts: &[Expr]) -> Extents {
        let mut out = Vec::new();
        for (i, sub) in subscripts.iter().enumerate() {
            let ExprKind::Range(from, to, step) = &sub.kind else {
                // An array as a subscript selects elements.
                let shape = self.shape(sub);
                out.extend(shape);
                continue;
            };
            let (low, high) = self.constants.bounds(s, i);
            let end = |e: &Option<Box<Expr>>, default| match e {
                Some(e) => self.constants.integer(e),
                None => default,
            };
            let step = end(step, Some(1));
            // This holds whatever the step is: A(3::-1) ends at the upper bound, not at the lower
            // one.
            let from = end(from, low);
            let to = end(to, high);
            out.push(match (from, to, step) {
                (Some(a), Some(b), Some(n)) => count_of(a, b, n),
                _ => None,
            });
        }
        out
    }

    /// Returns the number of elements of a constructor.
    fn count(&mut self, a: &ArrayConstructor) -> Option<i64> {
        let counts: Vec<Option<i64>> = a.items.iter().map(|i| self.items(i)).collect();
        counts.into_iter().sum()
    }

    fn items(&mut self, item: &Expr) -> Option<i64> {
        let ExprKind::ImpliedDo(d) = &item.kind else {
            let shape = self.shape(item);
            return shape
                .into_iter()
                .try_fold(1i64, |n, extent| n.checked_mul(extent?));
        };
        let ImpliedDo {
            items,
            var: _,
            from,
            to,
            step,
        } = &**d;
        let counts: Vec<Option<i64>> = items.iter().map(|i| self.items(i)).collect();
        let once: i64 = counts.into_iter().sum::<Option<i64>>()?;
        let step = match step {
            Some(e) => self.constants.integer(e)?,
            None => 1,
        };
        let from = self.constants.integer(from)?;
        let to = self.constants.integer(to)?;
        count_of(from, to, step)?.checked_mul(once)
    }
}

/// Returns the number of integers from `from` to `to` in steps of `step`.
fn count_of(from: i64, to: i64, step: i64) -> Option<i64> {
    let n = to.checked_sub(from)?.checked_add(step)?.checked_div(step)?;
    Some(n.max(0))
}

fn shown(shape: &Extents) -> String {
    match shape.len() {
        0 => "a scalar".to_owned(),
        1 => "an array of one dimension".to_owned(),
        n => format!("an array of {n} dimensions"),
    }
}
