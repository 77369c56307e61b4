//! Errors in constants and in expressions that have to be constant.

use super::constant::{Constants, Observer};
use super::value::NoValue;
use crate::diagnostic::{Diagnostic, Severity, rules};
use crate::ir::{
    Class, Dim, DoControl, Expr, ExprKind, ImpliedDo, Spec, SpecKind, StmtKind, StorageClass,
    SymId, Symbol, Type, Unit, UnitKind, walk_block,
};
use crate::source::Span;

/// Checks the declarations and statements of a unit.
pub(super) fn check(constants: &Constants, diagnostics: &mut Vec<Diagnostic>) {
    let mut checker = Checker {
        constants,
        declaration: false,
        diagnostics,
    };
    let unit = constants.unit;
    for (id, s) in unit.symbols.iter() {
        // The facts of a host-associated symbol are checked where they are written.
        if !matches!(s.storage_class, StorageClass::Host(_)) {
            checker.symbol(id, s);
        }
    }
    for spec in &unit.specs {
        checker.specification(spec);
    }
    walk_block(&unit.body, &mut |s| {
        s.for_each_own_expr(&mut |e| checker.expression(e));
        if let StmtKind::Do(d) = &s.kind
            && let DoControl::Count {
                step: Some(step), ..
            } = &d.control
        {
            checker.step(step);
        }
    });
}

struct Checker<'a> {
    constants: &'a Constants<'a>,
    /// Whether the current expression is a bound, a length or the value of a constant: a
    /// declaration is useless without them.
    declaration: bool,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Checker<'_> {
    fn expression(&mut self, e: &Expr) {
        let constants = self.constants;
        constants.observe(e, self);
        if let ExprKind::ImpliedDo(d) = &e.kind {
            self.implied(d);
        }
    }

    fn implied(&mut self, d: &ImpliedDo<Expr>) {
        d.step.iter().for_each(|s| self.step(s));
        for item in &d.items {
            if let ExprKind::ImpliedDo(inner) = &item.kind {
                self.implied(inner);
            }
        }
    }

    fn step(&mut self, step: &Expr) {
        if self.constants.value(step).is_some_and(|v| v.is_zero()) {
            self.diagnostics.push(zero_step(step.span));
        }
    }

    fn symbol(&mut self, id: SymId, s: &Symbol) {
        let bounds = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
        self.declaration = true;
        for e in bounds.chain(&s.length) {
            self.expression(e);
        }
        match &s.class {
            Class::Parameter(e) => {
                // If constants depend on each other, the first one is reported.
                self.constants.named(id);
                self.declaration = false;
                self.expression(e);
                self.parameter(id, s, e);
            }
            Class::StatementFunction(_, e) => {
                self.declaration = false;
                self.expression(e);
            }
            Class::Variable => self.sized(id, s),
            _ => {}
        }
        self.declaration = false;
    }

    /// Checks that the value of a named constant is constant.
    fn parameter(&mut self, id: SymId, s: &Symbol, e: &Expr) {
        let constants = self.constants;
        let unit = constants.unit;
        if let Some(v) = constants.value(e)
            && let Err(why) = constants.converted(v, id)
        {
            self.wrong(e.span, why);
        }
        let variable = free_variable(unit, e, &mut Vec::new());
        let mut all = true;
        e.walk(&mut |e| match &e.kind {
            ExprKind::Var(v) if matches!(unit.symbols[*v].class, Class::Parameter(_)) => {
                all &= constants.named(*v).is_some();
            }
            // Inquiries about a variable (its length, its bounds) may be constant.
            ExprKind::Call(..) | ExprKind::Element(..) => all = false,
            _ => {}
        });
        if let (Some((v, span)), true) = (variable, all) {
            let v = &unit.symbols[v].name;
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::NOT_CONSTANT,
                    span,
                    format!("the value of {} is not constant: {v} is a variable", s.name),
                )
                .help(format!(
                    "give {v} its value by a PARAMETER statement before this one"
                )),
            );
        } else if constants.depends_on_itself(id) {
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::NOT_CONSTANT,
                    e.span,
                    format!("the value of {} needs {} itself", s.name, s.name),
                )
                .help("a constant can only use constants that are defined before it"),
            );
        }
    }

    /// Checks the bounds of local arrays: `*` is only for dummy arguments, and in main programs and
    /// BLOCK DATA bounds must be constant.
    fn sized(&mut self, id: SymId, s: &Symbol) {
        let unit = self.constants.unit;
        let local = matches!(s.storage_class, StorageClass::Local);
        if let Some(Dim { upper: Some(e), .. }) = s.dims.last()
            && e.kind == ExprKind::Star
            && local
        {
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::NOT_CONSTANT,
                    e.span,
                    format!(
                        "only a dummy argument can have `*` as its last bound, and {} is not one",
                        s.name
                    ),
                )
                .help("write how many elements it has"),
            );
            return;
        }
        let what = match unit.kind {
            UnitKind::Program => "a main program",
            UnitKind::BlockData => "BLOCK DATA",
            UnitKind::Function | UnitKind::Subroutine => return,
        };
        let deferred = s.dims.iter().any(|d| d.upper.is_none());
        if local && s.is_array() && !deferred && self.constants.count(id).is_none() {
            let bounds = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
            let variable = |e: &&Expr| {
                let mut found = false;
                e.for_each_symbol(&mut |v| found |= unit.symbols[v].is_variable());
                found
            };
            if let Some(e) = bounds.clone().find(variable) {
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::NOT_CONSTANT,
                        e.span,
                        format!("this bound of {} is not constant, but {what} has only arrays of constant size", s.name),
                    )
                    .help("write a number, or a name that PARAMETER defines"),
                );
            }
        }
    }

    fn specification(&mut self, spec: &Spec) {
        match &spec.kind {
            SpecKind::Equivalence(groups) => {
                groups.iter().flatten().for_each(|e| self.expression(e));
            }
            SpecKind::Data(sets) => {
                // The targets are visited one by one where their values are counted.
                for (n, v) in sets.iter().flat_map(|s| &s.values) {
                    n.iter().for_each(|n| self.expression(n));
                    self.expression(v);
                }
            }
            _ => {}
        }
    }

    fn name(&self, s: SymId) -> &str {
        &self.constants.unit.symbols[s].name
    }
}

/// Returns the first variable in the value of a constant that is not the variable of an enclosing
/// implied DO.
fn free_variable(unit: &Unit, e: &Expr, loops: &mut Vec<SymId>) -> Option<(SymId, Span)> {
    match &e.kind {
        ExprKind::Var(v) => {
            (unit.symbols[*v].is_variable() && !loops.contains(v)).then_some((*v, e.span))
        }
        ExprKind::ImpliedDo(d) => {
            let limits = [&d.from, &d.to].into_iter().chain(&d.step);
            if let Some(found) = limits
                .into_iter()
                .find_map(|e| free_variable(unit, e, loops))
            {
                return Some(found);
            }
            loops.push(d.var);
            let found = d.items.iter().find_map(|e| free_variable(unit, e, loops));
            loops.pop();
            found
        }
        _ => e
            .children()
            .into_iter()
            .find_map(|c| free_variable(unit, c, loops)),
    }
}

/// The error for a loop with a step of zero.
pub(super) fn zero_step(span: Span) -> Diagnostic {
    Diagnostic::error(
        &rules::ZERO_STEP,
        span,
        "the step of the loop is zero, so that it would never end",
    )
}

/// Returns a text like `3 is not within 1 to 2` for a subscript of an array, or nothing if it is,
/// or may be, within bounds.
pub(super) fn outside(
    constants: &Constants,
    array: SymId,
    dimension: usize,
    at: i64,
) -> Option<String> {
    let s = &constants.unit.symbols[array];
    let (low, high) = constants.bounds(array, dimension);
    let last = dimension + 1 == s.dims.len();
    // In old programs a last bound of 1 in a dummy argument means assumed size.
    let open =
        last && (high.is_none() || s.storage_class == StorageClass::Dummy && high == Some(1));
    let high = high.filter(|_| !open);
    if low.is_some_and(|low| at < low) || high.is_some_and(|high| at > high) {
        let shown = match (low, high) {
            (Some(low), Some(high)) => format!("is not within {low} to {high}"),
            (Some(low), None) => format!("is less than {low}"),
            (None, high) => format!("is greater than {}", high.unwrap_or(at)),
        };
        let name = &s.name;
        return Some(match s.dims.len() {
            1 => format!("{at} {shown}, the bounds of {name}"),
            _ => format!(
                "{at} {shown}, the bounds of dimension {} of {name}",
                dimension + 1
            ),
        });
    }
    None
}

impl Observer for Checker<'_> {
    fn wrong(&mut self, span: Span, why: NoValue) {
        let d = wrong(span, why);
        self.diagnostics.push(match (why, self.declaration) {
            // Compilers let integers wrap around, and some programs rely on it.
            (NoValue::Overflow(_), false) => Diagnostic {
                severity: Severity::Warning,
                ..d
            },
            _ => d,
        });
    }

    fn element(&mut self, span: Span, array: SymId, at: &[Option<i64>]) {
        if at.len() != self.constants.unit.symbols[array].dims.len() {
            return;
        }
        for (k, at) in at.iter().enumerate() {
            let Some(at) = at else { continue };
            if let Some(message) = outside(self.constants, array, k, *at) {
                let s = &self.constants.unit.symbols[array];
                self.diagnostics.push(
                    Diagnostic::warning(&rules::OUT_OF_BOUNDS, span, message)
                        .label("outside of the array")
                        .related(s.span, format!("{} comes from here", s.name)),
                );
                return;
            }
        }
    }

    fn substring(&mut self, base: &Expr, from: Option<(i64, Span)>, to: Option<(i64, Span)>) {
        let Some(s) = base.base() else { return };
        // An empty substring may lie anywhere.
        if let (Some((from, _)), Some((to, _))) = (from, to)
            && from > to
        {
            return;
        }
        let length = self.constants.element_size(s);
        let character = self.constants.unit.symbols[s].ty == Some(Type::Character);
        let message = match (from, to, length) {
            (Some((from, span)), ..) if from < 1 => (
                span,
                format!("{from} is before the first character of {}", self.name(s)),
            ),
            (_, Some((to, span)), Some(length)) if to > length && character => (
                span,
                format!(
                    "{to} is behind the last character of {}, which has {length}",
                    self.name(s)
                ),
            ),
            _ => return,
        };
        self.diagnostics.push(
            Diagnostic::error(&rules::OUT_OF_BOUNDS, message.0, message.1)
                .label("outside of the variable"),
        );
    }
}

/// The error for an operation on constants that has no value.
pub(super) fn wrong(span: Span, why: NoValue) -> Diagnostic {
    let message = match why {
        NoValue::Overflow(ty) => format!("the value is too large for {ty}"),
        NoValue::DivisionByZero => "division by zero".to_owned(),
    };
    Diagnostic::error(&rules::BAD_CONSTANT, span, message)
}
