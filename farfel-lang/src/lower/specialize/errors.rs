//! Reports what cannot be specialized, and records for what copies were made.

use super::slots::Slot;
use super::{Key, Specializer};
use crate::callgraph::CallGraph;
use crate::diagnostic::{Diagnostic, any_errors, rules};
use crate::ir::{Expr, ExprKind, Name, StorageClass, SymId, Unit};
use crate::lower::calls::{KnownProcedure, for_each_call};
use crate::lower::copies::{BoundDummy, CapturedVariable, CopyUse, SubprogramCopy};
use crate::lower::naming::text;
use crate::lower::prune::reached;
use crate::source::Span;
use std::collections::HashSet;

impl Specializer<'_> {
    /// Returns the record of a new copy, without its name.
    pub(super) fn record(&self, target: &Unit, key: &Key, used: CopyUse) -> SubprogramCopy {
        let dummy = |at: usize| {
            let s = target.args.get(at).and_then(|a| a.sym());
            s.map_or_else(Name::default, |s| target.symbols[s].name.clone())
        };
        // The variables that the closure argument at a position captures, under its own names for
        // them.
        let captured = |procedure: &KnownProcedure, slots: &[Slot], number: usize| {
            let unit = match procedure {
                KnownProcedure::Global(name) => self.find(name)?,
                _ => return None,
            };
            let first = unit.args.len().checked_sub(slots.len())?;
            let s = unit.args.get(first + number)?.sym()?;
            Some(unit.symbols[s].name.clone())
        };
        let at = |position: usize| key.1.get(position).and_then(Option::as_ref);
        let bound = key.1.iter().enumerate().filter_map(|(i, bound)| {
            let (procedure, slots) = bound.as_ref()?;
            let all = slots.iter().enumerate().filter_map(|(k, slot)| {
                let same_as = match slot {
                    Slot::New => None,
                    Slot::Ordinary(j) => Some(dummy(*j)),
                    Slot::Closure(j, k) => at(*j).and_then(|(p, s)| captured(p, s, *k)),
                };
                Some(CapturedVariable {
                    name: captured(procedure, slots, k)?,
                    same_as,
                })
            });
            Some(BoundDummy {
                dummy: dummy(i),
                procedure: text(procedure),
                captured: all.collect(),
            })
        });
        SubprogramCopy {
            name: Name::default(),
            of: target.name.clone(),
            bound: bound.collect(),
            uses: vec![used],
            reached: true,
        }
    }

    /// Handles a callee that cannot be copied. Nested subprograms that need nothing from their host
    /// are passed to it as they are.
    pub(super) fn unresolved(&mut self, caller: &mut Unit, callee: SymId, args: &mut [Expr]) {
        for a in args {
            let ExprKind::Closure(p, captured) = &a.kind else {
                continue;
            };
            let p = *p;
            if captured.is_empty() {
                caller.declare(p);
                a.kind = ExprKind::Var(p);
            } else if caller.symbols[callee].storage_class != StorageClass::Dummy {
                // In copies of the caller, the dummy procedure may be known.
                self.report_unfollowed(caller, callee, p, a.span);
            }
        }
    }

    fn report_unfollowed(&mut self, caller: &Unit, callee: SymId, procedure: SymId, span: Span) {
        let callee = &caller.symbols[callee];
        let (why, help) = match callee.storage_class {
            StorageClass::Dummy => (
                "a dummy procedure that code outside of the program chooses",
                format!(
                    "call {} with a procedure for {} in this program, and do not export it",
                    caller.name, callee.name
                ),
            ),
            _ => (
                "not part of this program",
                format!("add the source of {} to the program", callee.name),
            ),
        };
        self.diagnostics.push(
            Diagnostic::error(
                &rules::UNRESOLVED_DUMMY,
                span,
                format!(
                    "the nested subprogram {} is passed to {}, which is {why}",
                    caller.symbols[procedure].name, callee.name
                ),
            )
            .label("its surroundings cannot follow it there")
            .help(help),
        );
    }

    /// Handles units that pass closures to dummy procedures. They have copies in which the dummy
    /// procedures are known. If the original is needed itself, that is an error; otherwise it is
    /// removed.
    pub(super) fn left_over(&mut self, roots: &HashSet<Name>) {
        if any_errors(self.diagnostics) {
            return;
        }
        let left: Vec<bool> = self.program.units.iter().map(super::has_closures).collect();
        if !left.contains(&true) {
            return;
        }
        let reached = reached(&CallGraph::of(self.program), roots);
        let mut errors = Vec::new();
        for (unit, _) in self
            .program
            .units
            .iter()
            .zip(left.iter().zip(&reached))
            .filter(|(_, (left, reached))| **left && **reached)
        {
            for_each_call(&unit.body, &mut |callee, args| {
                for a in args {
                    if let ExprKind::Closure(p, _) = a.kind {
                        errors.push((unit.clone(), callee, p, a.span));
                    }
                }
            });
        }
        for (unit, callee, procedure, span) in errors {
            self.report_unfollowed(&unit, callee, procedure, span);
        }
        let mut left = left.into_iter().zip(reached);
        self.program
            .units
            .retain(|_| left.next() != Some((true, false)));
    }

    /// Reports that a procedure would have to hold itself, and so on without end. `at` is the
    /// position of the dummy procedure to which it would be bound.
    pub(super) fn report_growth(&mut self, key: &Key, at: usize, used: &CopyUse) {
        /// The number of calls that are enough to show the cycle of the recursion.
        const SHOWN: usize = 4;
        if any_errors(self.diagnostics) {
            return;
        }
        let Some(unit) = self.find(&key.0) else {
            return;
        };
        let dummy = unit.args.get(at).and_then(|a| a.sym());
        let dummy = dummy.map_or("", |s| unit.symbols[s].name.as_str());
        let target = self.origin(&key.0);
        let mut error = Diagnostic::error(
            &rules::ENDLESS_SPECIALIZATION,
            used.span,
            format!(
                "{target} takes the procedure {dummy} from its surroundings, and {dummy} can be \
                 {target} itself, from an earlier round of the recursion"
            ),
        )
        .label("each round would need another copy")
        .related(unit.name_span, "what is nested in itself")
        .help(format!(
            "let {target} use data instead of {dummy}: without a procedure in it, one copy does \
             for all rounds"
        ));
        let mut at = &used.unit;
        for _ in 0..SHOWN {
            let Some(copy) = self.copy_indices.get(at).and_then(|i| self.made.get(*i)) else {
                break;
            };
            let Some(first) = copy.uses.first() else {
                break;
            };
            error = error.related(first.span, format!("{at} is the copy for this"));
            at = &first.unit;
        }
        self.diagnostics.push(error);
    }

    /// Reports that a subprogram has reached the maximum number of copies.
    pub(super) fn report_too_many_copies(&mut self, target: Span, root: &Name, used: &CopyUse) {
        let most = self.most_copies;
        self.diagnostics.push(
            Diagnostic::error(
                &rules::ENDLESS_SPECIALIZATION,
                used.span,
                format!("{root} would need more than {most} copies"),
            )
            .related(
                target,
                "each call with other procedures needs a copy of this",
            )
            .help("pass fewer different procedures, or allow more with `max-copies`"),
        );
    }
}
