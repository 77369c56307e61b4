//! What statements and units assign, of any type: what the backward sweep may have to put
//! back.

use crate::custom_rules::rules::{Rules, stand_in};
use crate::locations::{Commons, Set, Space};
use farfel_lang::access::{self, Access, Call, Outside};
use farfel_lang::callgraph::Below;
use farfel_lang::ir::{Expr, Name, Place, SpecKind, Stmt, SymId, Unit, walk_block};
use std::collections::HashMap;

/// What a unit does, seen from outside.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Effect {
    /// Slots ([`crate::locations`]) that it may assign.
    pub assigned: Set,
    /// Slots that it may read.
    pub read: Set,
    /// It may do something besides: input, output, STOP.
    pub other: bool,
    /// Some of that must not be done twice: all but STOP.
    pub once: bool,
    /// How many arguments it has.
    pub args: usize,
}

/// The effects of all units that can be reached.
#[derive(Debug)]
pub(super) struct Effects {
    by_unit: HashMap<Name, Effect>,
    /// Those of dummy procedures, by the unit and their name there.
    by_dummy: HashMap<(Name, Name), Effect>,
}

/// A dummy procedure of which all is known that it can be, or its derivative.
#[derive(Debug)]
pub(super) struct KnownDummy {
    /// The unit whose argument it is.
    pub unit: Name,
    /// Its name there.
    pub name: Name,
    /// What it can be; of a derivative, what it can be the derivative of.
    pub targets: Vec<Name>,
    /// Of a derivative: how many arguments the procedure has, and which of them have a derivative;
    /// the one behind the last is the result.
    pub active: Option<(usize, Set)>,
}

impl KnownDummy {
    /// The effect, from those of what it can be. None where one of them has no text.
    fn effect(&self, effects: &Effects) -> Option<Effect> {
        let mut all: Option<Effect> = None;
        for t in &self.targets {
            let one = effects.get(t)?;
            match &mut all {
                None => all = Some(one.clone()),
                Some(all) if all.args == one.args => {
                    all.assigned.union_with(&one.assigned);
                    all.read.union_with(&one.read);
                    all.other |= one.other;
                    all.once |= one.once;
                }
                Some(_) => return None,
            }
        }
        let own = all?;
        let Some((args, active)) = &self.active else {
            return Some(own);
        };
        if own.args != *args {
            return None;
        }
        let assigned = |i: usize| i == *args || own.assigned.contains(i);
        Some(own.with_derivatives(*args, &|i| active.contains(i), &assigned))
    }
}

impl Effect {
    /// That of a call which gets derivatives behind the arguments that have one. A result that has
    /// one is an argument, too.
    fn with_derivatives(
        &self,
        args: usize,
        active: &dyn Fn(usize) -> bool,
        assigned: &dyn Fn(usize) -> bool,
    ) -> Effect {
        let has = |i: usize| usize::from(active(i));
        let total = args + (0..args).map(has).sum::<usize>() + 2 * has(args);
        let slots = (total + 1 + self.read.len()).saturating_sub(args + 1);
        let mut made = Effect {
            assigned: Set::with_capacity(slots),
            read: Set::with_capacity(slots),
            other: self.other,
            once: self.once,
            args: total,
        };
        let mut at = 0;
        for i in 0..=args {
            let derivative = active(i);
            if i == args && !derivative {
                break;
            }
            made.assigned.set(at, assigned(i));
            at += 1;
            if derivative {
                made.assigned.insert(at);
                at += 1;
            }
        }
        made.read.insert_range(..total);
        let shared = |from: &Set| -> Vec<usize> {
            let places = from.ones().filter(|s| *s > args);
            places.map(|s| s - args + total).collect()
        };
        made.assigned.extend(shared(&self.assigned));
        made.read.extend(shared(&self.read));
        made
    }
}

/// What one statement assigns and reads, as locations of its unit.
#[derive(Debug, Clone)]
pub(super) struct Touched {
    pub assigned: Set,
    pub read: Set,
    pub other: bool,
    pub once: bool,
}

impl Touched {
    /// Nothing yet, of a unit with so many locations.
    pub fn nothing(locations: usize) -> Self {
        Touched {
            assigned: Set::with_capacity(locations),
            read: Set::with_capacity(locations),
            other: false,
            once: false,
        }
    }

    fn not_twice(&mut self) {
        (self.other, self.once) = (true, true);
    }
}

impl Effects {
    /// Analyses all units of a call graph.
    pub fn of(graph: &Below, commons: &Commons) -> Self {
        Self::with_dummies(graph, commons, &[])
    }

    /// The same with dummy procedures that are known.
    pub fn with_dummies(graph: &Below, commons: &Commons, dummies: &[KnownDummy]) -> Self {
        let mut all = Self::without_calls(graph, commons);
        // What dummy procedures do follows from what the units do, and that from it.
        loop {
            let mut changed = false;
            for d in dummies {
                let key = (d.unit.clone(), d.name.clone());
                let Some(new) = d.effect(&all) else { continue };
                changed |= all.by_dummy.get(&key) != Some(&new);
                all.by_dummy.insert(key, new);
            }
            all.settle(graph, commons);
            if !changed {
                return all;
            }
        }
    }

    /// Nothing yet.
    fn without_calls(graph: &Below, commons: &Commons) -> Self {
        let spaces: Vec<Space> = graph.units.iter().map(|u| Space::of(u, commons)).collect();
        let mut all = Effects {
            by_unit: HashMap::new(),
            by_dummy: HashMap::new(),
        };
        for (u, space) in graph.units.iter().zip(&spaces) {
            let none = Effect {
                assigned: Set::with_capacity(space.slots),
                read: Set::with_capacity(space.slots),
                other: false,
                once: false,
                args: u.args.len(),
            };
            all.by_unit.insert(u.name.clone(), none);
        }
        all
    }

    /// Follows what units do through their calls.
    fn settle(&mut self, graph: &Below, commons: &Commons) {
        let spaces: Vec<Space> = graph.units.iter().map(|u| Space::of(u, commons)).collect();
        graph.fixed_point(|i| {
            let (unit, space) = (graph.units[i], &spaces[i]);
            let mut touched = Touched::nothing(space.len);
            walk_block(&unit.body, &mut |s| self.own(unit, space, s, &mut touched));
            access::at_entry(unit, None, &mut |a| {
                self.access(unit, space, a, &mut touched);
            });
            let slots = |locs: &Set| {
                let mut set = Set::with_capacity(space.slots);
                set.extend(
                    (0..space.slots).filter(|s| space.slot(*s).is_some_and(|l| locs.contains(l))),
                );
                set
            };
            let new = Effect {
                assigned: slots(&touched.assigned),
                read: slots(&touched.read),
                other: touched.other,
                once: touched.once,
                args: unit.args.len(),
            };
            match self.by_unit.get_mut(&unit.name) {
                Some(old) if *old != new => {
                    *old = new;
                    true
                }
                _ => false,
            }
        });
    }

    /// Adds what calls of given derivatives stand for: of the procedure, and on derivatives.
    pub fn add_given(&mut self, rules: &Rules, commons: usize) {
        for (procedure, rule) in rules.iter().filter(|(_, r)| !r.constant) {
            let own = self.by_unit.get(procedure);
            let assigned = |i: usize| match own {
                Some(effect) => effect.assigned.contains(i),
                None => rule.outputs.contains(&i) || rule.sets.contains(&i),
            };
            let slots = rule.args + 1 + commons;
            let nothing = Effect {
                assigned: Set::with_capacity(slots),
                read: Set::with_capacity(slots),
                other: false,
                once: false,
                args: rule.args,
            };
            let active = |i: usize| rule.is_active(i);
            let assigned = |i: usize| i == rule.args || assigned(i);
            let mut effect = own
                .unwrap_or(&nothing)
                .with_derivatives(rule.args, &active, &assigned);
            (effect.other, effect.once) = (false, false);
            self.by_unit.insert(stand_in(procedure), effect);
        }
    }

    /// The effect of a dummy procedure of a unit, where that is known.
    pub fn of_dummy(&self, unit: &Name, dummy: &Name) -> Option<&Effect> {
        self.by_dummy.get(&(unit.clone(), dummy.clone()))
    }

    /// The effect of what a unit calls by a symbol, where that is known.
    fn of_symbol(&self, unit: &Unit, s: SymId) -> Option<&Effect> {
        let symbol = &unit.symbols[s];
        match symbol.place {
            Place::Global => self.get(&symbol.name),
            Place::Dummy => self.of_dummy(&unit.name, &symbol.name),
            _ => None,
        }
    }

    /// The effect of a top-level unit.
    pub fn get(&self, unit: &str) -> Option<&Effect> {
        self.by_unit.get(unit)
    }

    /// What a statement itself touches, without the statements in it. What is passed to a
    /// procedure counts as read: it may keep a part of it.
    pub fn own(&self, unit: &Unit, space: &Space, s: &Stmt, touched: &mut Touched) {
        access::own(unit, s, false, &mut |a| {
            if let Access::Call(call) = &a {
                let passed = (0..call.args.len()).filter_map(|i| call.passed(i));
                touched.read.extend(passed.map(|p| space.loc(p.sym)));
            }
            self.access(unit, space, a, touched);
        });
    }

    /// What a statement itself reads: of the arguments of a call, those that the callee reads.
    pub fn reads(&self, unit: &Unit, space: &Space, s: &Stmt, read: &mut Set) {
        let mut touched = Touched::nothing(space.len + unit.symbols.len());
        access::own(unit, s, false, &mut |a| {
            self.access(unit, space, a, &mut touched)
        });
        read.union_with(&touched.read);
    }

    /// What the value of an expression needs.
    pub fn value(&self, unit: &Unit, space: &Space, e: &Expr, read: &mut Set) {
        let mut touched = Touched::nothing(space.len + unit.symbols.len());
        access::value(unit, e, &mut |a| self.access(unit, space, a, &mut touched));
        read.union_with(&touched.read);
    }

    fn access(&self, unit: &Unit, space: &Space, a: Access, touched: &mut Touched) {
        match a {
            Access::Variable { sym, kind, .. } if kind.reads() => {
                touched.read.insert(space.loc(sym));
            }
            Access::Variable { sym, .. } => touched.assigned.insert(space.loc(sym)),
            Access::Call(call) => self.call(unit, space, &call, touched),
            Access::Closure { captured, .. } => {
                let locs = captured.iter().map(|s| space.loc(*s));
                touched.read.extend(locs.clone());
                touched.assigned.extend(locs);
            }
            Access::Outside(Outside::Stop | Outside::Internal) => touched.other = true,
            Access::Outside(Outside::File | Outside::Storage | Outside::Pause) => {
                touched.not_twice();
            }
        }
    }

    fn call(&self, unit: &Unit, space: &Space, call: &Call, touched: &mut Touched) {
        let Some(effect) = self.of_symbol(unit, call.callee) else {
            // Only intrinsic subroutines and procedures without text.
            match ends(unit, call.callee) {
                true => touched.other = true,
                false => touched.not_twice(),
            }
            let passed = (0..call.args.len()).filter_map(|i| call.passed(i));
            let locs = passed.map(|p| space.loc(p.sym));
            touched.read.extend(locs.clone());
            touched.assigned.extend(locs);
            return;
        };
        touched.other |= effect.other;
        touched.once |= effect.once;
        // The locations behind slots of the callee.
        let locs = |slots: &Set, found: &mut Set| {
            for slot in slots.ones() {
                if slot < effect.args {
                    found.extend(call.passed(slot).map(|p| space.loc(p.sym)));
                } else if slot > effect.args {
                    found.insert(space.common(slot - effect.args - 1));
                }
            }
        };
        locs(&effect.assigned, &mut touched.assigned);
        locs(&effect.read, &mut touched.read);
    }
}

/// Is it the extension that ends the program, as STOP does?
fn ends(unit: &Unit, callee: SymId) -> bool {
    let written = |k: &SpecKind| matches!(k, SpecKind::External(l) if l.contains(&callee));
    let symbol = &unit.symbols[callee];
    matches!(symbol.name.as_str(), "EXIT" | "ABORT")
        && symbol.place == Place::Global
        && !unit.specs.iter().any(|s| written(&s.kind))
}
