//! Calls of a dummy procedure that do not fit the procedure for which it stands.
//!
//! Drivers like DDRIV1 of SLATEC pass one procedure for several dummy procedures, of which they need only one: the
//! others are never called. FORTRAN 77 compilers cannot see the difference, and accept it.

use crate::ir::build::{binary, paren};
use crate::ir::{
    BinOp, DoControl, Expr, ExprKind, Name, Stmt, StmtKind, SymId, Type, UnOp, Unit, UnitKind,
    for_each_reference, walk_block_mut,
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
