//! What statements and units assign, of any type: the reverse sweep may have to restore it. Based on
//! [`farfel_lang::effects`], with additions that only reverse mode needs.

use crate::custom_rules::rules::{Rules, placeholder_name};
use crate::locations::{Commons, Set, Space};
use farfel_lang::access::{self, Access};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::effects::{self, DummyAssumptions, EffectsOptions, Locations};
pub(super) use farfel_lang::effects::{Effect, SideEffects, StatementEffects};
use farfel_lang::ir::{Expr, Name, Stmt, Unit};
use std::collections::{HashMap, HashSet};

/// The effects of all reachable units.
#[derive(Debug)]
pub(super) struct Effects(effects::Effects);

/// A dummy procedure whose possible targets are all known, or the derivative of one.
#[derive(Debug)]
pub(super) struct KnownDummy {
    /// The unit that it is an argument of.
    pub unit: Name,
    /// Its name in that unit.
    pub name: Name,
    /// Its possible targets; for a derivative, the procedures that it can be the derivative of.
    pub targets: Vec<Name>,
    /// For a derivative: the number of arguments of the procedure, and which of them have a derivative. The
    /// index after the last argument is the result.
    pub active: Option<(usize, Set)>,
    /// It is a function. The derivative of a function always gets the result as an argument.
    pub function: bool,
}

impl effects::KnownDummy for KnownDummy {
    fn targets(&self) -> &[Name] {
        &self.targets
    }

    fn effect(&self, own: Effect) -> Option<Effect> {
        let Some((args, active)) = &self.active else {
            return Some(own);
        };
        if own.args != *args {
            return None;
        }
        let assigned = |i: usize| i == *args || own.assigned.contains(i);
        let active = |i: usize| active.contains(i);
        Some(with_derivatives(&own, &active, self.function, &assigned))
    }
}

/// The effect of a call that passes derivatives after the arguments that have one. A result with a derivative
/// is an argument, too; with `result`, any result is.
fn with_derivatives(
    own: &Effect,
    active: &dyn Fn(usize) -> bool,
    result: bool,
    assigned: &dyn Fn(usize) -> bool,
) -> Effect {
    let args = own.args;
    let has = |i: usize| usize::from(active(i));
    let result = result || active(args);
    let total = args + (0..=args).map(has).sum::<usize>() + usize::from(result);
    let mut made = Effect::nothing(total, own.read.len().saturating_sub(args + 1));
    made.side_effects = own.side_effects;
    let mut at = 0;
    for i in 0..=args {
        let derivative = active(i);
        if i == args && !result {
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
    made.assigned.extend(shared(&own.assigned));
    made.read.extend(shared(&own.read));
    made
}

/// The effects of calls of given derivatives, each with its procedure. `known` returns what is known of a
/// procedure itself.
fn given_effects<'r, 'k>(
    rules: &'r Rules,
    commons: usize,
    known: &dyn Fn(&Name) -> Option<&'k Effect>,
) -> Vec<(&'r Name, Effect)> {
    let given = rules.iter().filter(|(_, r)| !r.constant);
    let effects = given.map(|(procedure, rule)| {
        let own = known(procedure);
        let assigned = |i: usize| match own {
            Some(effect) => effect.assigned.contains(i),
            None => rule.outputs.contains(&i) || rule.sets.contains(&i),
        };
        let nothing = Effect::nothing(rule.args, commons);
        let active = |i: usize| rule.is_active(i);
        let assigned = |i: usize| i == rule.args || assigned(i);
        // Calls determine the number of arguments.
        let mut own = own.unwrap_or(&nothing).clone();
        if own.args != rule.args {
            own = nothing;
        }
        let mut effect = with_derivatives(&own, &active, false, &assigned);
        effect.side_effects = match effects::communicates(procedure) {
            true => SideEffects::Once,
            false => SideEffects::Nothing,
        };
        (procedure, effect)
    });
    effects.collect()
}

impl Effects {
    /// Analyses all units of a call graph.
    pub fn of(graph: &ReachableUnits, commons: &Commons) -> Self {
        Self::with_dummies(graph, commons, Vec::new(), &Rules::default())
    }

    /// Like [`Effects::of`], with known dummy procedures, and with the effects of procedures without source
    /// text.
    pub fn with_dummies(
        graph: &ReachableUnits,
        commons: &Commons,
        dummies: Vec<KnownDummy>,
        rules: &Rules,
    ) -> Self {
        let known = dummies.into_iter().map(|d| {
            let place = (d.unit.clone(), d.name.clone());
            (place, Box::new(d) as Box<dyn effects::KnownDummy>)
        });
        let text: HashSet<&Name> = graph.units.iter().map(|u| &u.name).collect();
        let descriptions = effects::described(graph.units.iter().copied());
        let mut without_source: HashMap<Name, Effect> = descriptions
            .map(|(name, usage)| {
                let effect = Effect::described(name, usage, commons.vars.len());
                (name.clone(), effect)
            })
            .collect();
        let mut given = given_effects(rules, commons.vars.len(), &|n| without_source.get(n));
        given.retain(|(procedure, _)| !text.contains(procedure));
        without_source.extend(
            given
                .into_iter()
                .map(|(n, effect)| (placeholder_name(n), effect)),
        );
        // Closures without derivatives, of which it is known what they assign. They may do anything else.
        let constant = rules.iter().filter(|(_, r)| r.constant && r.args > 0);
        for (procedure, rule) in constant.filter(|(n, _)| !text.contains(n)) {
            let mut effect = Effect::nothing(rule.args, commons.vars.len());
            let assigned = rule.outputs.iter().chain(&rule.sets);
            effect.assigned.extend(assigned.copied());
            effect.read.insert_range(..rule.args);
            effect.side_effects = SideEffects::Once;
            without_source.entry(procedure.clone()).or_insert(effect);
        }
        // Callees last.
        let units: Vec<&Unit> = graph.units.iter().rev().copied().collect();
        let spaces: Vec<Space> = units.iter().map(|u| Space::of(u, commons)).collect();
        let spaces = spaces.iter().map(|s| s as &dyn Locations);
        let units: Vec<(&Unit, &dyn Locations)> = units.into_iter().zip(spaces).collect();
        let question = EffectsOptions {
            commons: commons.vars.len(),
            reads: true,
            dummies: DummyAssumptions::Known(known.collect()),
            without_source,
            find_effects: own,
        };
        Effects(effects::Effects::of(&units, question))
    }

    /// Adds the effects of calls of given derivatives, which include those of the procedures themselves.
    pub fn add_given(&mut self, rules: &Rules, commons: usize) {
        for (procedure, effect) in given_effects(rules, commons, &|n| self.get(n)) {
            self.0.insert(placeholder_name(procedure), effect);
        }
    }

    /// The effect of a unit's dummy procedure, if it is known.
    pub fn of_dummy(&self, unit: &Name, dummy: &Name) -> Option<Effect> {
        self.0.of_dummy(unit, dummy)
    }

    /// The effect of a top-level unit.
    pub fn get(&self, unit: &str) -> Option<&Effect> {
        self.0.get(unit)
    }

    /// Adds what a statement itself touches, without the statements nested in it.
    pub fn own(&self, unit: &Unit, space: &Space, s: &Stmt, touched: &mut StatementEffects) {
        own(&self.0, unit, space, s, touched);
    }

    /// Adds what a statement itself reads; of the arguments of a call, only those that the callee reads.
    pub fn reads(&self, unit: &Unit, space: &Space, s: &Stmt, read: &mut Set) {
        let mut touched = StatementEffects::nothing(space.len + unit.symbols.len());
        self.0.statement(unit, space, s, &mut touched);
        read.union_with(&touched.read);
    }

    /// Adds what the value of an expression depends on.
    pub fn value(&self, unit: &Unit, space: &Space, e: &Expr, read: &mut Set) {
        // In a long unit, a set of all locations for each expression would take most of the time.
        let mut others: Option<StatementEffects> = None;
        access::expression(unit, e, &mut |a| match a {
            Access::Variable { sym, kind, .. } => {
                if kind.reads() {
                    read.grow_and_insert(space.loc(sym));
                }
            }
            _ => {
                let nothing = || StatementEffects::nothing(space.len + unit.symbols.len());
                let touched = others.get_or_insert_with(nothing);
                self.0.access(unit, space, a, touched);
            }
        });
        if let Some(touched) = others {
            read.union_with(&touched.read);
        }
    }
}

/// Adds what a statement itself touches. Arguments of procedures count as read, since the procedure may leave
/// parts of them unchanged.
fn own(
    effects: &effects::Effects,
    unit: &Unit,
    at: &dyn Locations,
    s: &Stmt,
    touched: &mut StatementEffects,
) {
    access::statement(unit, s, false, &mut |a| {
        if let Access::Call(call) = &a {
            let passed = (0..call.args.len()).filter_map(|i| call.passed_variable(i));
            touched.read.extend(passed.filter_map(|p| at.loc(p.sym)));
        }
        effects.access(unit, at, a, touched);
    });
}
