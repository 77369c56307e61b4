//! What can be said of single arguments without following any call.

use farfel_ir::ir::{
    Arg, Class, DoControl, Expr, ExprKind, Intent, Place, SpecKind, StmtKind, SymId, Unit,
    walk_block,
};

/// May a closure of another language that stands for the dummy procedure `callee` assign this
/// actual argument? A function may not, and of what a subroutine gets no value that nothing could
/// be assigned to or that the unit itself needs as it is: variables of DO loops and in the bounds of
/// arrays, and dummy arguments with INTENT(IN).
pub fn closure_may_assign(unit: &Unit, callee: SymId, actual: &Expr) -> bool {
    let Some(base) = actual.base() else {
        return false;
    };
    let subroutine = unit.symbols[callee].class == Class::Subroutine;
    if !subroutine || !unit.symbols[base].is_variable() {
        return false;
    }
    let intent_in = unit.specs.iter().any(|s| match &s.kind {
        SpecKind::Intent(intent, l) => *intent == Intent::In && l.contains(&base),
        _ => false,
    });
    let bounds = unit.symbols.iter().flat_map(|(_, s)| &s.dims);
    let mut in_bounds = false;
    for bound in bounds.flat_map(|d| [&d.lower, &d.upper]).flatten() {
        bound.for_each_symbol(&mut |s| in_bounds |= s == base);
    }
    let mut counts = false;
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Do(d) = &s.kind {
            counts |= matches!(d.control, DoControl::Count { var, .. } if var == base);
        }
    });
    !intent_in && !in_bounds && !counts
}

/// Can compilers tell the value of an expression? They may keep it where nobody can write.
pub fn is_constant(unit: &Unit, e: &Expr) -> bool {
    let mut constant = true;
    e.walk(&mut |e| {
        constant &= match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) => {
                matches!(unit.symbols[*s].class, Class::Parameter(_))
            }
            ExprKind::Call(s, _) => matches!(unit.symbols[*s].class, Class::Intrinsic(_)),
            ExprKind::Apply(..)
            | ExprKind::Closure(..)
            | ExprKind::AltReturn(_)
            | ExprKind::ImpliedDo(_)
            | ExprKind::Percent(..)
            | ExprKind::Star => false,
            _ => true,
        };
    });
    constant
}

/// Is the argument a procedure that is not an argument itself?
pub(super) fn passes_procedure(unit: &Unit, actual: &Expr) -> bool {
    match actual.kind {
        ExprKind::Closure(..) => true,
        ExprKind::Var(s) => {
            let s = &unit.symbols[s];
            s.class.is_procedure() && s.place != Place::Dummy
        }
        _ => false,
    }
}

/// The dummy arguments of a unit that are procedures.
pub fn procedure_dummies(unit: &Unit) -> impl Iterator<Item = (usize, SymId)> + '_ {
    unit.args.iter().enumerate().filter_map(|(i, a)| match a {
        Arg::Dummy(s) if unit.symbols[*s].class.is_procedure() => Some((i, *s)),
        _ => None,
    })
}
