//! Finds what units must preserve for each other: from the head down, what callers need; from the bottom up,
//! what is needed after a call.

use super::AdjointEngine;
use super::slices::Slice;
use super::sweep::{Sweeper, is_tape, twice_reversed};
use super::sweep_data::{Sweeps, UnitFacts};
use super::tbr::Needs;
use super::unit_builder::UnitBuilder;
use crate::legal::entry_bounds::bound_variables;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::ir::{Block, Expr, Stmt, StmtKind, StorageClass, SymId, walk_block};
use std::collections::BTreeSet;

impl AdjointEngine {
    /// Finds what units must preserve for each other, by iteration to a fixed point: from the head down, what
    /// callers need; from the bottom up, what is needed after a call.
    pub(super) fn facts(&self) -> Vec<UnitFacts> {
        let none = self.parts.iter().map(|p| UnitFacts {
            exit: Set::with_capacity(p.space.slots),
            entry: Set::with_capacity(p.space.slots),
            forward: p.computes_less && !p.root,
            ..UnitFacts::default()
        });
        self.facts_from(none.collect(), vec![true; self.parts.len()])
            .0
    }

    /// Like [`AdjointEngine::facts`], beginning with what is assumed to be needed, and with the parts that must be
    /// visited again. Returns all parts that were visited, too.
    pub(super) fn facts_from(
        &self,
        mut facts: Vec<UnitFacts>,
        mut again: Vec<bool>,
    ) -> (Vec<UnitFacts>, BTreeSet<usize>) {
        let mut visited = BTreeSet::new();
        let callees: Vec<BTreeSet<usize>> = self
            .parts
            .iter()
            .map(|p| self.called_by(&p.builder, &p.body))
            .collect();
        let n = self.parts.len();
        // Callees come after the head, and parts are visited from the
        // last to the first, so that callees are often ready before their callers.
        let mut at = n;
        let mut quiet = 0;
        while quiet < n {
            at = if at == 0 { n - 1 } else { at - 1 };
            if !std::mem::take(&mut again[at]) {
                quiet += 1;
                continue;
            }
            quiet = 0;
            visited.insert(at);
            let (sweeper, _, needs) = self.sweep(&facts, at);
            // Values that only callers need are restored from what is there at the end, which callers
            // preserve anyway.
            let space = &self.parts[at].space;
            let read = |slot: &usize| space.slot(*slot).is_some_and(|l| needs.is_own(l));
            let exits: Vec<usize> = (0..space.slots).filter(read).collect();
            let slice = |slot: usize| sweeper.exit_slice(space.slot(slot)?, &needs);
            let slices: Vec<Option<Slice>> = exits.iter().map(|slot| slice(*slot)).collect();
            let (needed_on_entry, tapes) = (sweeper.needed_on_entry, sweeper.tapes.used);
            let own = &mut facts[at];
            let mut changed = false;
            for (slot, slice) in exits.into_iter().zip(slices) {
                if !own.exit.put(slot) {
                    own.exit_slices.extend(slice.map(|s| (slot, s)));
                    changed = true;
                } else if let Some(known) = own.exit_slices.get(&slot) {
                    // It only grows, so that this ends.
                    match slice.and_then(|s| s.joined(known)) {
                        Some(joined) if joined == *known => continue,
                        Some(joined) => drop(own.exit_slices.insert(slot, joined)),
                        None => drop(own.exit_slices.remove(&slot)),
                    }
                    changed = true;
                }
            }
            for kind in tapes.into_keys() {
                changed |= own.tapes.insert(kind);
                own.forward = true;
            }
            if changed {
                for (caller, callees) in callees.iter().enumerate() {
                    again[caller] |= callees.contains(&at);
                }
            }
            for (part, slot) in needed_on_entry {
                if !facts[part].entry.contains(slot) {
                    facts[part].entry.insert(slot);
                    again[part] = true;
                }
            }
        }
        (facts, visited)
    }

    /// The parts that some statements of a unit call.
    pub(super) fn called_by(&self, builder: &UnitBuilder, block: &[Stmt]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        walk_block(block, &mut |s| {
            if let StmtKind::Call(callee, _) = &s.kind {
                found.extend(self.part_of(&builder.unit.symbols[*callee].name));
            }
        });
        found
    }

    /// Some parts, and all parts that they call.
    pub(super) fn with_called(&self, mut parts: BTreeSet<usize>) -> BTreeSet<usize> {
        let mut open: Vec<usize> = parts.iter().copied().collect();
        while let Some(p) = open.pop() {
            let called = self.called_by(&self.parts[p].builder, &self.parts[p].body);
            open.extend(called.into_iter().filter(|c| parts.insert(*c)));
        }
        parts
    }

    /// Sweeps a unit: with what callers need, and with its local variables saved at the end.
    pub(super) fn sweep<'w>(
        &'w self,
        facts: &'w [UnitFacts],
        i: usize,
    ) -> (Sweeper<'w>, Sweeps, Needs) {
        let p = &self.parts[i];
        let mut sweeper = Sweeper::new(self, facts, i);
        let mut needs = Needs::default();
        if !p.root || p.is_last_call {
            for slot in facts[i].entry.ones() {
                let loc = p.space.slot(slot);
                loc.into_iter().for_each(|l| needs.add_for_callers(l));
            }
        }
        let mut made = sweeper.block(&p.body, &mut needs);
        if !p.root {
            // The bounds of arrays are evaluated again when the reverse sweep begins.
            for s in bound_variables(&p.builder.unit) {
                needs.add_all(p.space.loc(s));
            }
        }
        let mut first = std::mem::take(&mut sweeper.first_forward);
        first.append(&mut made.forward);
        made.forward = first;
        let mut first = std::mem::take(&mut sweeper.first_backward);
        first.append(&mut made.backward);
        made.backward = first;
        if !p.root {
            self.keep_own(&mut sweeper, &mut made, &mut needs);
        }
        sweeper.builder.write_declarations();
        (sweeper, made, needs)
    }

    /// Saves needed local variables at the end of the forward sweep: they no longer exist when the backward
    /// sweep begins, and saved ones are different variables there.
    fn keep_own(&self, sweeper: &mut Sweeper, made: &mut Sweeps, needs: &mut Needs) {
        let mut first = Vec::new();
        let own: Vec<SymId> = sweeper
            .builder
            .unit
            .symbols
            .iter()
            .filter(|(id, s)| {
                let loc = sweeper.space.loc(*id);
                s.is_variable()
                    && s.storage_class == StorageClass::Local
                    && !sweeper.builder.derivatives.contains(id)
                    && needs.has(loc)
                    && sweeper.assigned.contains(loc)
            })
            .map(|(id, _)| id)
            .collect();
        let (computed, again) = sweeper.compute_again(&own, needs);
        for s in own {
            if computed.contains(&sweeper.space.loc(s)) {
                continue;
            }
            if is_tape(&sweeper.builder.unit.symbols[s]) {
                // The adjoint of a tape is refused where its values are overwritten.
                let span = sweeper.builder.unit.span;
                sweeper.errors.push(twice_reversed(span));
                continue;
            }
            let e = Expr::var(s, Span::NONE);
            let (push, pop) = sweeper.save(&e, needs, Span::NONE);
            made.forward.extend(push);
            first.push(pop);
        }
        let mut all: Block = again;
        all.extend(first.into_iter().rev().flatten());
        all.append(&mut made.backward);
        made.backward = all;
    }
}
