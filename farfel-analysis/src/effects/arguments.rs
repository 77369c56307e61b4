//! Properties of individual arguments that can be determined without following calls.

use farfel_ir::ir::{
    Arg, Class, DoControl, Expr, ExprKind, Intent, SpecKind, StmtKind, StorageClass, SymId, Unit,
    walk_block,
};

/// Whether a closure from another language, passed as the dummy procedure `callee`, may assign this
/// actual argument at a position. A function may not. A subroutine may not assign an argument that
/// is not assignable or that the unit itself needs unchanged: DO variables, variables in the bounds
/// of arrays, and dummy arguments with INTENT(IN). If the derivative of the procedure is given, it
/// may only assign what the directive says.
pub fn closure_may_assign(unit: &Unit, callee: SymId, position: usize, actual: &Expr) -> bool {
    let Some(base) = actual.base() else {
        return false;
    };
    let name = &unit.symbols[callee].name;
    let rule = unit
        .directives
        .iter()
        .find(|g| g.dummy_of.is_some() && g.procedure == *name);
    let described = &unit.symbols[callee].only_reads;
    match rule {
        Some(rule) if !rule.assigns(position) => return false,
        None if described.contains(&position) => return false,
        _ => {}
    }
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

/// Whether compilers can evaluate an expression, and may therefore keep its value in read-only
/// storage.
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

/// Whether the argument is a procedure that is not itself a dummy argument.
pub(super) fn passes_procedure(unit: &Unit, actual: &Expr) -> bool {
    match actual.kind {
        ExprKind::Closure(..) => true,
        ExprKind::Var(s) => {
            let s = &unit.symbols[s];
            s.class.is_procedure() && s.storage_class != StorageClass::Dummy
        }
        _ => false,
    }
}

/// Returns the dummy procedures of a unit, with their positions.
pub fn procedure_dummies(unit: &Unit) -> impl Iterator<Item = (usize, SymId)> + '_ {
    unit.args.iter().enumerate().filter_map(|(i, a)| match a {
        Arg::Dummy(s) if unit.symbols[*s].class.is_procedure() => Some((i, *s)),
        _ => None,
    })
}
