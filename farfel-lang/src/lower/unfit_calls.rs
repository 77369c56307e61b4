//! Calls of a dummy procedure that do not fit the procedure for which it stands.
//!
//! Drivers like DDRIV1 of SLATEC pass one procedure for several dummy procedures, of which they need only one: the
//! others are never called. FORTRAN 77 compilers cannot see the difference, and accept it.

use crate::ir::{
    BinOp, Expr, ExprKind, Name, Stmt, StmtKind, SymId, Type, Unit, UnitKind, for_each_reference,
    walk_block_mut,
};
use crate::types::type_of;
use std::collections::HashMap;

/// What a procedure is for its callers.
pub(super) struct Callable {
    name: Name,
    is_function: bool,
    /// The types of its arguments; none of a procedure or of `*`.
    args: Vec<Option<Type>>,
}

impl Callable {
    /// Describes a unit whose last `captured` arguments are added by the compiler.
    pub(super) fn of(unit: &Unit, captured: usize) -> Self {
        Callable {
            name: unit.name.clone(),
            is_function: unit.kind == UnitKind::Function,
            args: (unit.args[..unit.args.len().saturating_sub(captured)].iter())
                .map(|a| unit.symbols[a.sym()?].ty)
                .collect(),
        }
    }

    /// Whether a call has more arguments than the procedure, and these have other types.
    fn is_another(&self, unit: &Unit, args: &[Expr]) -> bool {
        let mut differ = (args.iter().zip(&self.args))
            .filter_map(|(a, wanted)| Some(type_of(unit, a)? != (*wanted)?));
        args.len() > self.args.len() && differ.any(|d| d)
    }
}

/// Changes the calls of `dummy`, which stands for `target`, where they do not fit. What calls a subroutine as a
/// function, or a function as a subroutine, or with more arguments and other types, ends the program with a message.
/// Arguments that `target` does not have are not passed.
pub(super) fn fit_calls(unit: &mut Unit, dummy: SymId, target: &Callable) {
    let (called, is) = match target.is_function {
        true => ("subroutine", "a function"),
        false => ("function", "a subroutine"),
    };
    let name = &unit.symbols[dummy].name;
    let mut others = HashMap::new();
    for_each_reference(&unit.body, &mut |r| {
        if r.procedure != dummy {
            return;
        }
        let message = match r.function == target.is_function {
            false => format!(
                "{name} is called as a {called}, but {} is {is}",
                target.name
            ),
            true if target.is_another(unit, r.args) => format!(
                "{name} is called with {} arguments, but {} takes {}, of other types",
                r.args.len(),
                target.name,
                target.args.len()
            ),
            true => return,
        };
        others.insert(r.span, message);
    });
    if !others.is_empty() {
        let wrong = |s: &Stmt| {
            let mut found = match s.kind {
                StmtKind::Call(callee, _) if callee == dummy => others.get(&s.span),
                _ => None,
            };
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if matches!(e.kind, ExprKind::Call(callee, _) if callee == dummy) {
                        found = found.or(others.get(&e.span));
                    }
                });
            });
            found.cloned()
        };
        end_instead(&mut unit.body, &wrong);
    }
    walk_block_mut(&mut unit.body, &mut |s| {
        if let StmtKind::Call(callee, args) = &mut s.kind
            && *callee == dummy
        {
            shorten(args, target.args.len());
        }
        s.for_each_own_expr_mut(&mut |e| {
            e.rewrite(&mut |e| {
                if let ExprKind::Call(callee, args) = &mut e.kind
                    && *callee == dummy
                {
                    shorten(args, target.args.len());
                }
            });
        });
    });
}

/// Leaves out arguments behind those that are wanted, unless they call something.
fn shorten(args: &mut Vec<Expr>, wanted: usize) {
    let mut calls = false;
    for a in args.iter().skip(wanted) {
        a.walk(&mut |e| calls |= matches!(e.kind, ExprKind::Call(..)));
    }
    if !calls {
        args.truncate(wanted);
    }
}

/// Replaces statements for which `wrong` has a message by STOP. Of an IF, the conditions before a wrong one still count.
fn end_instead(block: &mut [Stmt], wrong: &dyn Fn(&Stmt) -> Option<String>) {
    let in_condition = |c: &Expr| wrong(&Stmt::logical_if(c.clone(), Stmt::exit(c.span), c.span));
    for s in block {
        let stop = |message, span| Stmt::stop(Expr::text(message, span), span);
        match &mut s.kind {
            StmtKind::If(b) => {
                let mut last = None;
                for (at, (condition, body)) in b.arms.iter_mut().enumerate() {
                    let Some(message) = in_condition(condition) else {
                        continue;
                    };
                    match before(condition, &|e| in_condition(e).is_some()) {
                        Some(left) => (*condition, *body) = (left, vec![stop(message, s.span)]),
                        None => {
                            last = Some((at, message));
                            break;
                        }
                    }
                }
                if let Some((at @ 1.., message)) = last {
                    b.arms.truncate(at);
                    b.otherwise = Some(vec![stop(message, s.span)]);
                    b.marks.clear();
                }
            }
            StmtKind::LogicalIf(condition, inner) => {
                if let Some(message) = in_condition(condition)
                    && let Some(left) = before(condition, &|e| in_condition(e).is_some())
                {
                    *condition = left;
                    **inner = stop(message, s.span);
                }
            }
            _ => {}
        }
        if let Some(message) = wrong(s) {
            s.kind = stop(message, s.span).kind;
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

/// Returns what comes before `.AND.` if only what comes after it is wrong: compilers call functions there only if
/// it is true.
fn before(condition: &Expr, wrong: &dyn Fn(&Expr) -> bool) -> Option<Expr> {
    match &condition.kind {
        ExprKind::Paren(inner) => before(inner, wrong),
        ExprKind::Binary(BinOp::And, left, _) if wrong(left) => before(left, wrong),
        ExprKind::Binary(BinOp::And, left, _) => Some((**left).clone()),
        _ => None,
    }
}
