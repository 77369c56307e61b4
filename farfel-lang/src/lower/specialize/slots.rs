//! Decides how a copy receives the variables that closures have captured.
//!
//! A captured variable that is also an ordinary actual argument is passed once if either may be
//! assigned, because Fortran forbids two names for a variable that is assigned. The same holds for
//! a variable without derivatives that would have the same name twice. Other variables are passed
//! separately: differentiation with respect to the argument does not include the variable that the
//! procedure has captured. If a block of the called unit differentiates with respect to the
//! argument, the two stay separate even if one is assigned, and there is a warning.

use super::Specializer;
use crate::diagnostic::{Diagnostic, rules};
use crate::effects::procedure_dummies;
use crate::ir::{Class, Expr, ExprKind, Name, SymId, Type, Unit};
use crate::lower::calls::global;
use crate::lower::outline::is_independent;
use crate::storage::UnitStorage;

/// How the copy receives a captured variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    /// As the ordinary argument at this position, which is the same variable.
    Ordinary(usize),
    /// As the captured variable with this index of an earlier closure argument, at this position.
    Closure(usize, usize),
    /// As a dummy argument of its own.
    New,
}

impl Specializer<'_> {
    /// Decides for every captured variable of every closure how the copy receives it.
    pub(super) fn slots(&self, caller: &Unit, target: &Unit, args: &[Expr]) -> Vec<Vec<Slot>> {
        let assigned = self.may_assign(caller, args);
        // Whether one of the closures assigns this captured variable.
        let changes = |c: SymId| {
            args.iter().any(|a| {
                let ExprKind::Closure(p, captured) = &a.kind else {
                    return false;
                };
                let procedure = &caller.symbols[*p].name;
                let own = self.find(procedure);
                let first = own.map_or(0, |u| u.args.len().saturating_sub(captured.len()));
                let mut places = captured.iter().enumerate();
                places.any(|(k, s)| *s == c && assigned(procedure, first + k))
            })
        };
        let own_variables = self.own_variables(target, args);
        let mut all: Vec<Vec<Slot>> = Vec::new();
        let mut earlier: Vec<(SymId, usize, usize)> = Vec::new();
        for (i, a) in args.iter().enumerate() {
            let ExprKind::Closure(p, captured) = &a.kind else {
                all.push(Vec::new());
                continue;
            };
            let procedure = &caller.symbols[*p].name;
            let own = self.find(procedure);
            let first = own.map_or(0, |u| u.args.len().saturating_sub(captured.len()));
            let mut slots = Vec::new();
            for (k, c) in captured.iter().enumerate() {
                let dummy_name = own
                    .and_then(|u| u.args.get(first + k)?.sym().map(|s| &u.symbols[s].name))
                    .unwrap_or(&caller.symbols[*c].name);
                let has_derivative = caller.symbols[*c].ty.is_some_and(Type::is_differentiable);
                let ordinary = args.iter().enumerate().position(|(j, other)| {
                    other.kind == ExprKind::Var(*c) && {
                        let same_name = target
                            .args
                            .get(j)
                            .and_then(|d| d.sym())
                            .is_some_and(|s| target.symbols[s].name == *dummy_name);
                        let once = same_name && !has_derivative;
                        once || j >= own_variables
                            || (assigned(&target.name, j) || changes(*c))
                                && !is_differentiated(target, j)
                    }
                });
                slots.push(if let Some(j) = ordinary {
                    Slot::Ordinary(j)
                } else if let Some((_, at, number)) = earlier.iter().find(|(s, ..)| s == c) {
                    Slot::Closure(*at, *number)
                } else {
                    earlier.push((*c, i, k));
                    Slot::New
                });
            }
            all.push(slots);
        }
        all
    }

    /// Returns the number of arguments that are not captured variables of the callee, if it is a
    /// nested subprogram. A variable captured both by the callee and by a closure is one variable,
    /// even for the callee's blocks.
    fn own_variables(&self, target: &Unit, args: &[Expr]) -> usize {
        let captured = self.families.captured(&target.name);
        match self.families.is_lifted(&target.name) {
            true => args.len().saturating_sub(captured),
            false => args.len(),
        }
    }

    /// Returns whether a unit may assign its argument at a position, in a call with these
    /// arguments.
    fn may_assign(&self, caller: &Unit, args: &[Expr]) -> impl Fn(&Name, usize) -> bool {
        let otherwise = match self.passes_harmless(caller, args) {
            true => self.otherwise_assigned.as_ref(),
            false => None,
        };
        let known = [self.assigned.as_ref(), otherwise];
        move |unit, position| {
            let mut known = known.into_iter().flatten();
            known.all(|a| a.argument(unit, position))
        }
    }

    /// Warns if a part of a variable captured by a closure, or something else that shares its
    /// storage, is passed as well and either is assigned; also if the whole variable is passed and
    /// a block differentiates with respect to it.
    pub(super) fn warn_of_parts(&mut self, caller: &Unit, target: &Name, args: &[Expr]) {
        let Some(target) = self.find(target) else {
            return;
        };
        let assigned = self.may_assign(caller, args);
        let storage = UnitStorage::of(caller);
        let own_variables = 0..self.own_variables(target, args);
        let mut found = Vec::new();
        for (p, captured) in args.iter().filter_map(|a| match &a.kind {
            ExprKind::Closure(p, captured) => Some((*p, captured)),
            _ => None,
        }) {
            let procedure = &caller.symbols[p].name;
            let own = self.find(procedure).map_or(0, |u| u.args.len());
            let first = own.saturating_sub(captured.len());
            for (j, a) in args.iter().enumerate() {
                let given = match &a.kind {
                    ExprKind::Var(s) | ExprKind::Element(s, _) => *s,
                    ExprKind::Substring(..) => match a.base() {
                        Some(s) => s,
                        None => continue,
                    },
                    _ => continue,
                };
                let whole = matches!(a.kind, ExprKind::Var(_));
                let shares = |c: &SymId| match *c == given {
                    true => !whole || own_variables.contains(&j) && is_differentiated(target, j),
                    false => storage.overlap(*c, given),
                };
                let taken = captured.iter().enumerate().find(|(k, c)| {
                    shares(c) && (assigned(&target.name, j) || assigned(procedure, first + k))
                });
                if let Some((_, c)) = taken {
                    let c = &caller.symbols[*c].name;
                    found.push(
                        Diagnostic::warning(
                            &rules::SHARED_ARGUMENT,
                            a.span,
                            format!(
                                "{} gets this and the nested subprogram {procedure}, which uses {c}, and one of them may be assigned",
                                target.name
                            ),
                        )
                        .label(format!("shares storage with {c}"))
                        .help("the compiler may take them for two variables: pass a copy, or use one name only"),
                    );
                }
            }
        }
        drop(assigned);
        found.retain(|d| d.span != crate::Span::NONE);
        for d in found {
            if !self.diagnostics.contains(&d) {
                self.diagnostics.push(d);
            }
        }
    }

    /// Whether all procedures among the arguments leave their own arguments unchanged, whatever
    /// calls them. Their captured variables are not considered here.
    fn passes_harmless(&self, caller: &Unit, args: &[Expr]) -> bool {
        let Some(assigned) = &self.otherwise_assigned else {
            return false;
        };
        args.iter().all(|a| {
            let (procedure, captured) = match &a.kind {
                ExprKind::Closure(p, captured) => (*p, captured.as_slice()),
                ExprKind::Var(s) => (*s, [].as_slice()),
                _ => return true,
            };
            let symbol = &caller.symbols[procedure];
            if matches!(symbol.class, Class::Intrinsic(_)) || !symbol.class.is_procedure() {
                return true;
            }
            let unit = global(&caller.symbols, procedure).and_then(|name| self.find(name));
            unit.is_some_and(|u| {
                // Procedures that it captures itself might do anything.
                let own = u.args.len().saturating_sub(captured.len());
                procedure_dummies(u).next().is_none()
                    && (0..own).all(|i| !assigned.argument(&u.name, i))
                    && !captured
                        .iter()
                        .any(|c| caller.symbols[*c].class.is_procedure())
            })
        })
    }
}

/// Whether a block of the unit differentiates with respect to its argument at a position.
fn is_differentiated(unit: &Unit, position: usize) -> bool {
    let dummy = unit.args.get(position).and_then(|d| d.sym());
    dummy.is_some_and(|s| is_independent(unit, s))
}

/// Whether a variable that a closure captures, or a part of one, is also passed.
pub(super) fn passes_twice(args: &[Expr]) -> bool {
    let captured = |v: SymId| {
        args.iter()
            .any(|a| matches!(&a.kind, ExprKind::Closure(_, c) if c.contains(&v)))
    };
    args.iter().any(|a| a.base().is_some_and(captured))
}
