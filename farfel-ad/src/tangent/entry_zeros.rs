//! Local arrays whose tangents need not be zero on entry.
//!
//! If each assignment to an array also assigns its tangent, a program that reads no undefined elements reads no
//! undefined tangents. Arrays that are not passed to other units are not set to zero in the first place. What happens to
//! arguments of calls is only known once all units have been generated: the tangent of a callee must do the same with
//! its dummy argument. Then the zeros of the caller are removed.

use super::Tangent;
use super::allocate::is_allocated_here;
use super::generator::Generator;
use crate::locations::{Set, differentiable};
use crate::simplify::loops::drop_directives;
use farfel_lang::effects::is_constant;
use farfel_lang::ir::{
    Class, DoControl, Expr, ExprKind, Name, Stmt, StmtKind, StorageClass, SymId, Unit, walk_block,
};
use std::collections::{HashMap, HashSet};

impl Generator<'_> {
    /// The local arrays that are assigned in pairs and are not passed to other units.
    pub(super) fn unread_before_set(&self) -> Set {
        let symbols = &self.source.symbols;
        let mut found = Set::with_capacity(self.space.len);
        let own = |s: &SymId| {
            let symbol = &symbols[*s];
            symbol.is_array()
                && symbol.storage_class == StorageClass::Local
                && !is_allocated_here(symbol)
        };
        let pairs = self.assigned_in_pairs();
        found.extend(pairs.into_iter().filter(own).map(|s| self.space.loc(s)));
        for_each_call(self.source, &mut |_, args| {
            for a in args {
                a.for_each_symbol(&mut |s| found.set(self.space.loc(s), false));
            }
        });
        found
    }

    /// The variables to which the unit's own statements assign nothing without assigning the derivative, if it
    /// has one: calls are left out.
    pub(super) fn assigned_in_pairs(&self) -> HashSet<SymId> {
        if self.engine.linear || self.engine.layout.pattern {
            return HashSet::new();
        }
        let own = |id: SymId| {
            let symbol = &self.source.symbols[id];
            let loc = self.space.loc(id);
            let class = &symbol.storage_class;
            matches!(class, StorageClass::Local | StorageClass::Dummy)
                && differentiable(symbol)
                && !symbol.tape
                && !self.space.saved.contains(loc)
                && !self.space.tangled.contains(loc)
                && !self.left_zero.contains(loc)
        };
        let mut found: HashSet<SymId> = self.source.symbols.ids().filter(|s| own(*s)).collect();
        // Other statements may assign variables, too.
        walk_block(&self.source.body, &mut |s| match &s.kind {
            StmtKind::Comment(_)
            | StmtKind::Assign(..)
            | StmtKind::Call(..)
            | StmtKind::If(_)
            | StmtKind::Select(_)
            | StmtKind::LogicalIf(..)
            | StmtKind::ArithmeticIf(..)
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::ComputedGoto(..)
            | StmtKind::Return(_)
            | StmtKind::Stop(_)
            | StmtKind::Format(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_) => {}
            StmtKind::Do(d) => {
                if let DoControl::Count { var, .. } = &d.control {
                    found.remove(var);
                }
            }
            _ => s.walk(&mut |inner| {
                inner.for_each_own_expr(&mut |e| {
                    e.for_each_symbol(&mut |s| {
                        found.remove(&s);
                    });
                });
            }),
        });
        found
    }
}

/// Removes the statements that set tangents to zero that are not read before they are assigned.
pub(super) fn remove_unneeded_zeros(made: &mut [Tangent]) {
    let index: HashMap<Name, usize> = (made.iter().enumerate())
        .map(|(i, t)| (t.unit.name.clone(), i))
        .collect();
    let mut pairs: Vec<HashSet<SymId>> = made.iter().map(|t| t.assigned_in_pairs.clone()).collect();
    // A call assigns in pairs what the callee does.
    loop {
        let mut changed = false;
        for (i, t) in made.iter().enumerate() {
            let mut lost: Vec<SymId> = Vec::new();
            for_each_call(&t.unit, &mut |callee, args| {
                let callee = index.get(callee).map(|j| (&made[*j], &pairs[*j]));
                for (k, a) in args.iter().enumerate() {
                    if let Some(base) = a.base()
                        && pairs[i].contains(&base)
                        && !callee.is_some_and(|(c, set)| passes_pair(t, base, args, k, c, set))
                    {
                        lost.push(base);
                    }
                }
            });
            for s in lost {
                changed |= pairs[i].remove(&s);
            }
        }
        if !changed {
            break;
        }
    }
    for (t, pairs) in made.iter_mut().zip(pairs) {
        let symbols = &t.unit.symbols;
        let mut unneeded: HashSet<SymId> = (t.primals.iter())
            .filter(|(d, of)| {
                let symbol = &symbols[*of];
                t.zeroed_on_entry.contains(d)
                    && pairs.contains(of)
                    && symbol.is_array()
                    && symbol.storage_class == StorageClass::Local
            })
            .map(|(d, _)| *d)
            .collect();
        let mut body = std::mem::take(&mut t.unit.body);
        body.retain(|s| {
            let own = s.span == t.unit.span;
            !set_as_whole(&t.unit, s).is_some_and(|d| own && unneeded.remove(&d))
        });
        drop_directives(&mut body);
        t.unit.body = body;
    }
}

/// Whether a call passes a variable and its derivative to dummy arguments that the callee, which has the pairs
/// `set`, assigns in pairs. `k`: the position of the variable.
fn passes_pair(
    caller: &Tangent,
    variable: SymId,
    args: &[Expr],
    k: usize,
    callee: &Tangent,
    set: &HashSet<SymId>,
) -> bool {
    let dummies = &callee.unit.args;
    let Some(dummy) = dummies.get(k).and_then(|a| a.sym()) else {
        return false;
    };
    let derivative_of = |t: &Tangent, s| t.primals.iter().find(|(_, of)| *of == s).map(|(d, _)| *d);
    let (Some(own), Some(passed)) = (
        derivative_of(caller, variable),
        derivative_of(callee, dummy),
    ) else {
        return false;
    };
    let at = dummies.iter().position(|a| a.sym() == Some(passed));
    let actual = at.and_then(|at| args.get(at)).and_then(Expr::base);
    set.contains(&dummy) && actual == Some(own)
}

/// Calls `f` for each reference of a procedure, with its name and arguments. The name of a dummy procedure or of
/// a statement function is empty.
fn for_each_call(unit: &Unit, f: &mut dyn FnMut(&Name, &[Expr])) {
    let none = Name::default();
    let name = |s: SymId| match unit.symbols[s].storage_class {
        StorageClass::Global => &unit.symbols[s].name,
        _ => &none,
    };
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Call(callee, args) = &s.kind {
            f(name(*callee), args);
        }
        s.for_each_own_expr(&mut |e| {
            e.walk(&mut |e| {
                if let ExprKind::Call(callee, args) = &e.kind
                    && !matches!(unit.symbols[*callee].class, Class::Intrinsic(_))
                {
                    f(name(*callee), args);
                }
            });
        });
    });
}

/// The derivatives that statements `zeros` with which a unit begins set to zero, and that no statement of its
/// `body` sets to a constant as a whole.
pub(super) fn zeroed_on_entry(unit: &Unit, zeros: &[Stmt], body: &[Stmt]) -> HashSet<SymId> {
    let mut found: HashSet<SymId> = zeros.iter().filter_map(|s| set_as_whole(unit, s)).collect();
    for s in body {
        s.walk(&mut |s| {
            if let Some(d) = set_as_whole(unit, s) {
                found.remove(&d);
            }
        });
    }
    found
}

/// The variable that a statement sets to a constant: an assignment to the whole variable, or loops over an
/// assignment to an element.
fn set_as_whole(unit: &Unit, s: &Stmt) -> Option<SymId> {
    fn in_loops(unit: &Unit, s: &Stmt) -> Option<SymId> {
        match &s.kind {
            StmtKind::Assign(target, value) if is_constant(unit, value) => target.base(),
            StmtKind::Do(d) => match d.body.as_slice() {
                [s] => in_loops(unit, s),
                _ => None,
            },
            _ => None,
        }
    }
    match &s.kind {
        StmtKind::Assign(target, _) if !matches!(target.kind, ExprKind::Var(_)) => None,
        _ => in_loops(unit, s),
    }
}
