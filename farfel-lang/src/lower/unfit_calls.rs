//! Calls of a dummy procedure that do not fit the procedure for which it stands.
//!
//! Drivers like DDRIV1 of SLATEC pass one procedure for several dummy procedures, of which they need only one: the
//! others are never called. FORTRAN 77 compilers cannot see the difference, and accept it.

use crate::ir::build::{binary, paren};
use crate::ir::{
    Arg, BinOp, Class, DoControl, Expr, ExprKind, Name, Reference, SpecKind, Stmt, StmtKind, SymId,
    Type, UnOp, Unit, UnitKind, for_each_own_reference, for_each_symbol, walk_block_mut,
};
use crate::types::type_of;
use std::collections::HashSet;

/// What a procedure is for its callers.
pub(super) struct Callable {
    name: Name,
    is_function: bool,
    args: Vec<Wanted>,
}

/// An argument of a procedure.
struct Wanted {
    /// None of a procedure or of `*`.
    ty: Option<Type>,
    /// Whether it is a procedure; unknown of `*`, and of what the procedure neither declares nor uses.
    is_procedure: Option<bool>,
}

impl Callable {
    /// Describes a unit whose last `captured` arguments are added by the compiler.
    pub(super) fn of(unit: &Unit, captured: usize) -> Self {
        let mentioned = mentioned(unit);
        let wanted = |a: &Arg| {
            let s = a.sym();
            let used = s.filter(|s| mentioned.contains(s));
            Wanted {
                ty: s.and_then(|s| unit.symbols[s].ty),
                is_procedure: used.map(|s| unit.symbols[s].class.is_procedure()),
            }
        };
        let args = &unit.args[..unit.args.len().saturating_sub(captured)];
        Callable {
            name: unit.name.clone(),
            is_function: unit.kind == UnitKind::Function,
            args: args.iter().map(wanted).collect(),
        }
    }

    /// Returns why a call of `dummy` cannot be a call of this.
    fn mismatch(&self, unit: &Unit, dummy: &Name, call: Reference) -> Option<String> {
        let (called, is) = match self.is_function {
            true => ("subroutine", "a function"),
            false => ("function", "a subroutine"),
        };
        if call.function != self.is_function {
            return Some(format!(
                "{dummy} is called as a {called}, but {} is {is}",
                self.name
            ));
        }
        let (given, wanted) = (call.args.len(), self.args.len());
        let pairs = || call.args.iter().zip(&self.args);
        // A REAL may be as large as a DOUBLE PRECISION.
        let differs = |(a, wanted): (&Expr, &Wanted)| {
            let (given, wanted) = (type_of(unit, a)?, wanted.ty?);
            Some(given.with_real(8) != wanted.with_real(8))
        };
        // Data for a procedure, or the reverse.
        let is_other = |(a, wanted): (&Expr, &Wanted)| {
            let given = matches!(a.kind, ExprKind::Var(s) | ExprKind::Closure(s, _)
                if unit.symbols[s].class.is_procedure());
            wanted.is_procedure.is_some_and(|w| w != given)
        };
        let others = given > wanted && pairs().any(|p| differs(p) == Some(true));
        (others || given != wanted && pairs().any(is_other)).then(|| {
            format!(
                "{dummy} is called with {given} arguments, but {} takes {wanted}, of other types",
                self.name
            )
        })
    }
}

/// Changes the calls of `dummy`, which stands for `target`, where they do not fit. What calls a subroutine as a
/// function, or a function as a subroutine, or with more arguments and other types, or with another number of arguments
/// and data for a procedure or the reverse, ends the program with a message.
/// Arguments that `target` does not have are not passed.
pub(super) fn fit_calls(unit: &mut Unit, dummy: SymId, target: &Callable) {
    let mut body = std::mem::take(&mut unit.body);
    let own = &*unit;
    let name = &own.symbols[dummy].name;
    let wrong = |s: &Stmt| {
        let mut found = None;
        let mut check = |call: Reference| {
            if call.procedure == dummy && found.is_none() {
                found = target.mismatch(own, name, call);
            }
        };
        for_each_own_reference(s, &mut check);
        found
    };
    end_instead(&mut body, &wrong);
    let shorten = |callee: SymId, args: &mut Vec<Expr>| {
        let left = args.iter().skip(target.args.len());
        if callee == dummy && !left.clone().any(|a| calls_something(own, a)) {
            args.truncate(target.args.len());
        }
    };
    walk_block_mut(&mut body, &mut |s| {
        if let StmtKind::Call(callee, args) = &mut s.kind {
            shorten(*callee, args);
        }
        s.for_each_own_expr_mut(&mut |e| {
            e.rewrite(&mut |e| {
                if let ExprKind::Call(callee, args) = &mut e.kind {
                    shorten(*callee, args);
                }
            });
        });
    });
    unit.body = body;
}

/// The names in the statements of a unit, in its declarations of types, in the bounds and lengths of its variables, and in
/// its statement functions.
fn mentioned(unit: &Unit) -> HashSet<SymId> {
    let mut found = HashSet::new();
    let mut add = |s: SymId| {
        found.insert(s);
    };
    for_each_symbol(&unit.body, &mut add);
    for spec in &unit.specs {
        if let SpecKind::Type(_, names) = &spec.kind {
            names.iter().for_each(|e| add(e.sym));
        }
    }
    for (id, s) in unit.symbols.iter() {
        if s.is_array() {
            add(id);
        }
        let bounds = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
        let formula = match &s.class {
            Class::StatementFunction(_, e) => Some(&**e),
            _ => None,
        };
        for e in bounds.chain(&s.length).chain(formula) {
            e.for_each_symbol(&mut add);
        }
    }
    found
}

/// Whether an expression calls a function of the program, which may have effects.
fn calls_something(unit: &Unit, e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        if let ExprKind::Call(s, _) = e.kind {
            found |= !matches!(unit.symbols[s].class, Class::Intrinsic(_));
        }
    });
    found
}

/// Replaces statements for which `wrong` has a message by STOP. In a condition, what compilers evaluate before the
/// wrong part still counts.
fn end_instead(block: &mut [Stmt], wrong: &dyn Fn(&Stmt) -> Option<String>) {
    let in_condition = |c: &Expr| wrong(&Stmt::logical_if(c.clone(), Stmt::exit(c.span), c.span));
    let is_wrong = |c: &Expr| in_condition(c).is_some();
    for s in block {
        let span = s.span;
        let stop = |message| Stmt::stop(Expr::text(message, span), span);
        match &mut s.kind {
            StmtKind::If(b) => {
                let mut arms = Vec::new();
                for (condition, body) in std::mem::take(&mut b.arms) {
                    let Some(message) = in_condition(&condition) else {
                        arms.push((condition, body));
                        continue;
                    };
                    b.marks.clear();
                    arms.push((reached(&condition, &is_wrong), vec![stop(message)]));
                    arms.push((otherwise(&condition, &is_wrong), body));
                }
                b.arms = arms;
            }
            StmtKind::LogicalIf(condition, inner) if s.label.is_none() => {
                if let Some(message) = in_condition(condition) {
                    let arms = vec![
                        (reached(condition, &is_wrong), vec![stop(message)]),
                        (otherwise(condition, &is_wrong), vec![(**inner).clone()]),
                    ];
                    s.kind = Stmt::branches(arms, None, span).kind;
                }
            }
            StmtKind::Do(d) => {
                if let DoControl::While(condition) = &mut d.control
                    && let Some(message) = in_condition(condition)
                {
                    let at_end = reached(condition, &is_wrong);
                    let again = otherwise(condition, &is_wrong);
                    *condition = binary(BinOp::Or, paren(at_end.clone()), paren(again));
                    let end = Stmt::logical_if(at_end, stop(message), span);
                    d.body.insert(0, end);
                }
            }
            _ => {}
        }
        if let Some(message) = wrong(s) {
            s.kind = match s.label {
                None => stop(message).kind,
                // A DO may end here, which it may not with a STOP.
                Some(_) => Stmt::logical_if(Expr::logical(true, span), stop(message), span).kind,
            };
            continue;
        }
        if let StmtKind::LogicalIf(_, inner) = &mut s.kind {
            end_instead(std::slice::from_mut(inner), wrong);
        }
        for inner in s.blocks_mut() {
            end_instead(inner, wrong);
        }
    }
}

/// Returns when the wrong part of a condition is evaluated: compilers evaluate what comes after `.AND.` or `.OR.` only if
/// it matters.
fn reached(condition: &Expr, wrong: &dyn Fn(&Expr) -> bool) -> Expr {
    match &condition.kind {
        ExprKind::Paren(inner) | ExprKind::Unary(UnOp::Not, inner) => reached(inner, wrong),
        ExprKind::Binary(BinOp::And | BinOp::Or, left, _) if wrong(left) => reached(left, wrong),
        ExprKind::Binary(op @ (BinOp::And | BinOp::Or), left, right) => {
            let first = match op {
                BinOp::And => (**left).clone(),
                _ => Expr::unary(UnOp::Not, paren((**left).clone()), left.span),
            };
            match reached(right, wrong) {
                Expr {
                    kind: ExprKind::Logical(true),
                    ..
                } => first,
                second => binary(BinOp::And, paren(first), paren(second)),
            }
        }
        _ => Expr::logical(true, condition.span),
    }
}

/// Returns the value of a condition whose wrong part is not evaluated.
fn otherwise(condition: &Expr, wrong: &dyn Fn(&Expr) -> bool) -> Expr {
    let mut value = condition.clone();
    match &mut value.kind {
        ExprKind::Paren(inner) | ExprKind::Unary(UnOp::Not, inner) => {
            **inner = otherwise(inner, wrong);
        }
        ExprKind::Binary(BinOp::And | BinOp::Or, left, right) => {
            for side in [left, right] {
                if wrong(side) {
                    **side = otherwise(side, wrong);
                }
            }
        }
        _ => return Expr::logical(false, condition.span),
    }
    value
}
