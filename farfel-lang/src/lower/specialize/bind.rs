//! Binds the dummy procedures in a copy.

use super::slots::Slot;
use super::{Key, Specializer};
use crate::ir::{Arg, Class, Expr, ExprKind, Name, StorageClass, SymId, Symbol, Unit};
use crate::lower::calls::{
    KnownProcedure, caller_view_of, check_calls, check_intrinsic, for_each_call_mut, global,
};
use crate::lower::import::Import;
use crate::lower::unfit_calls::{Callable, fit_calls};
use crate::source::Span;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The replacement of a dummy procedure.
pub(super) struct Substitute {
    pub procedure: SymId,
    pub captured: Vec<SymId>,
}

impl Specializer<'_> {
    /// Replaces the dummy procedures by dummy arguments for the variables that the closures
    /// capture.
    pub(super) fn bind(
        &mut self,
        copy: &mut Unit,
        key: &Key,
        args: &[Expr],
    ) -> BTreeMap<SymId, Substitute> {
        let mut substitutes = BTreeMap::new();
        let old_args = copy.args.clone();
        let mut new_args: Vec<Vec<Arg>> = old_args.iter().map(|a| vec![*a]).collect();
        let mut captured_at: HashMap<(usize, usize), SymId> = HashMap::new();
        for (i, bound) in key.1.iter().enumerate() {
            let Some((procedure, slots)) = bound else {
                continue;
            };
            let Some(dummy) = old_args.get(i).and_then(|a| a.sym()) else {
                continue;
            };
            let known = match procedure {
                KnownProcedure::Global(name) => {
                    self.places.get(name).map(|i| &self.program.units[*i])
                }
                _ => None,
            };
            let span = args.get(i).map_or(Span::NONE, |a| a.span);
            new_args[i] = Vec::new();
            let mut captured = Vec::new();
            if let Some(unit) = known {
                let first = unit.args.len().saturating_sub(slots.len());
                let dummies: Vec<Option<SymId>> =
                    unit.args[first..].iter().map(|a| a.sym()).collect();
                let mut import = Import::new(unit);
                for (k, slot) in slots.iter().enumerate() {
                    let ours = match slot {
                        Slot::Ordinary(j) => old_args.get(*j).and_then(|a| a.sym()),
                        Slot::Closure(at, number) => captured_at.get(&(*at, *number)).copied(),
                        Slot::New => None,
                    };
                    if let (Some(ours), Some(Some(theirs))) = (ours, dummies.get(k)) {
                        import.bind(*theirs, ours);
                    }
                }
                // Scalars come first, as the bounds of arrays may depend on them.
                let mut pending: Vec<usize> = (0..slots.len()).collect();
                pending.sort_by_key(|k| {
                    dummies[*k].map(|d| {
                        let s = &unit.symbols[d];
                        (s.is_array(), s.length.is_some())
                    })
                });
                for k in pending {
                    let Some(theirs) = dummies[k] else { continue };
                    match slots[k] {
                        Slot::New => {
                            import.symbol(copy, theirs);
                        }
                        // A closure that has been bound itself may hold a variable twice.
                        Slot::Closure(at, number) if at == i => {
                            if let Some(Some(same)) = dummies.get(number) {
                                let ours = import.symbol(copy, *same);
                                import.bind(theirs, ours);
                            }
                        }
                        _ => {}
                    }
                }
                for (k, slot) in slots.iter().enumerate() {
                    let Some(theirs) = dummies[k] else { continue };
                    let ours = import.symbol(copy, theirs);
                    captured.push(ours);
                    if *slot == Slot::New {
                        captured_at.insert((i, k), ours);
                        new_args[i].push(Arg::Dummy(ours));
                    }
                }
            }
            let seen = Symbol {
                span,
                ..copy.symbols[dummy].clone()
            };
            let id = procedure.symbol(copy, known.map(caller_view_of), (dummy, &seen));
            if let Some(unit) = known {
                check_calls(copy, dummy, unit, slots.len(), self.diagnostics);
                fit_calls(copy, dummy, &Callable::of(unit, slots.len()));
            } else if let KnownProcedure::Intrinsic(name) = procedure {
                check_intrinsic(copy, dummy, name, span, self.diagnostics);
            }
            copy.undeclare(dummy);
            substitutes.insert(
                dummy,
                Substitute {
                    procedure: id,
                    captured,
                },
            );
        }
        copy.args = new_args.into_iter().flatten().collect();
        substitutes
    }

    /// Handles closures in the copy that capture dummy procedures which are now bound: the
    /// procedure of such a closure is copied with these bound, too, and captures what they capture.
    pub(super) fn bind_captured(
        &mut self,
        copy: &mut Unit,
        substitutes: &BTreeMap<SymId, Substitute>,
    ) {
        let mut body = std::mem::take(&mut copy.body);
        crate::ir::rewrite_exprs(&mut body, &mut |e| {
            if let ExprKind::Closure(procedure, captured) = &mut e.kind
                && captured.iter().any(|c| substitutes.contains_key(c))
            {
                self.closure(copy, procedure, captured, substitutes, e.span);
            }
        });
        copy.body = body;
    }

    fn closure(
        &mut self,
        copy: &mut Unit,
        procedure: &mut SymId,
        captured: &mut Vec<SymId>,
        substitutes: &BTreeMap<SymId, Substitute>,
        span: Span,
    ) {
        let place = global(&copy.symbols, *procedure).and_then(|n| self.places.get(n));
        let Some(target) = place.copied() else {
            return;
        };
        let unit = &self.program.units[target];
        let first = unit.args.len().saturating_sub(captured.len());
        // The arguments that callers pass are not known here, and are not captured variables.
        let unknown = (0..first).map(|_| Expr::star(span));
        let args: Vec<Expr> = unknown
            .chain(captured.iter().map(|c| match substitutes.get(c) {
                Some(s) => Expr::new(ExprKind::Closure(s.procedure, s.captured.clone()), span),
                None => Expr::var(*c, span),
            }))
            .collect();
        let slots = self.slots(copy, unit, &args);
        let key = self.key(copy, unit.name.clone(), &args, &slots);
        let Some(name) = self.copy_for(target, key, &args, (copy, span)) else {
            return;
        };
        *captured = passed(args, slots)
            .into_iter()
            .skip(first)
            .filter_map(|a| a.base())
            .collect();
        *procedure = procedure_like(copy, name, *procedure);
    }

    /// Returns the position at which a copy of a lifted subprogram binds a procedure that holds the
    /// subprogram itself. If so, each further round would bind another such procedure.
    pub(super) fn holds_itself(&self, key: &Key) -> Option<usize> {
        let own = self.origin(&key.0);
        if !self.families.is_member(&own) {
            return None;
        }
        key.1.iter().position(|bound| match bound {
            Some((KnownProcedure::Global(name), _)) => self.held(name).contains(&own),
            _ => false,
        })
    }

    /// Returns the subprograms of the source that a procedure holds: its own, and those bound in
    /// it.
    pub(super) fn held(&self, name: &Name) -> HashSet<Name> {
        let mut held = self.holding.get(name).cloned().unwrap_or_default();
        held.insert(self.origin(name));
        held
    }
}

/// Returns the actual arguments for a copy: closures are replaced by the variables that they
/// capture, except those that the copy receives elsewhere.
pub(super) fn passed(args: Vec<Expr>, slots: Vec<Vec<Slot>>) -> Vec<Expr> {
    let mut passed = Vec::new();
    for (a, slots) in args.into_iter().zip(slots) {
        match a.kind {
            ExprKind::Closure(_, captured) => passed.extend(
                captured
                    .into_iter()
                    .zip(slots)
                    .filter(|(_, s)| *s == Slot::New)
                    .map(|(c, _)| Expr::var(c, a.span)),
            ),
            _ => passed.push(a),
        }
    }
    passed
}

/// Returns the symbol of `unit` for a copy of the procedure for which `like` stands.
pub(super) fn procedure_like(unit: &mut Unit, copy: Name, like: SymId) -> SymId {
    if let Some(known) = unit.symbols.find(&copy) {
        return known;
    }
    let known = &unit.symbols[like];
    let symbol = Symbol {
        class: known.class.clone(),
        ty: known.ty,
        length: known.length.clone(),
        storage_class: StorageClass::Global,
        ..Symbol::new(copy, known.span)
    };
    let id = unit.symbols.add(symbol);
    if unit.symbols[id].class == Class::Function {
        unit.declare(id);
    }
    id
}

/// Replaces the dummy procedures by their substitutes.
pub(super) fn substitute(copy: &mut Unit, substitutes: &BTreeMap<SymId, Substitute>) {
    crate::ir::rewrite_exprs(&mut copy.body, &mut |e| {
        if let ExprKind::Var(s) = &mut e.kind
            && let Some(new) = substitutes.get(s)
        {
            e.kind = ExprKind::Closure(new.procedure, new.captured.clone());
        }
    });
    for_each_call_mut(&mut copy.body, &mut |callee, args| {
        if let Some(new) = substitutes.get(callee) {
            *callee = new.procedure;
            args.extend(new.captured.iter().map(|c| Expr::var(*c, Span::NONE)));
        }
    });
}
