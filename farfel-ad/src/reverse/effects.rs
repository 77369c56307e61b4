//! What statements and units assign, of any type: what the backward sweep may have to put
//! back.

use crate::calls::read_targets;
use crate::given::rules::{Rules, stand_in};
use crate::locations::{Commons, Set, Space};
use crate::tapenade::silence::is_internal;
use farfel_lang::callgraph::Below;
use farfel_lang::ir::{
    Class, DoControl, Expr, ExprKind, IoKind, Name, Place, SpecKind, Stmt, StmtKind, SymId, Unit,
    walk_block,
};
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
        let spaces: Vec<Space> = graph.units.iter().map(|u| Space::of(u, commons)).collect();
        let mut all = Effects {
            by_unit: HashMap::new(),
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
        graph.fixed_point(|i| {
            let (unit, space) = (graph.units[i], &spaces[i]);
            let mut touched = Touched::nothing(space.len);
            walk_block(&unit.body, &mut |s| all.own(unit, space, s, &mut touched));
            // Bounds are read on entry.
            for (_, s) in unit.symbols.iter() {
                for e in s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper)) {
                    e.for_each_symbol(&mut |s| {
                        touched.read.insert(space.loc(s));
                    });
                }
            }
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
            match all.by_unit.get_mut(&unit.name) {
                Some(old) if *old != new => {
                    *old = new;
                    true
                }
                _ => false,
            }
        });
        all
    }

    /// Adds what calls of given derivatives stand for: of the procedure, and on derivatives.
    pub fn add_given(&mut self, rules: &Rules, commons: usize) {
        for (procedure, rule) in rules.iter().filter(|(_, r)| !r.constant) {
            let own = self.by_unit.get(procedure);
            let assigned = |i: usize| match own {
                Some(effect) => effect.assigned.contains(i),
                None => rule.outputs.contains(&i) || rule.sets.contains(&i),
            };
            // Where the arguments of the procedure stand among those of the call.
            let mut set = Vec::new();
            let mut at = 0;
            for i in 0..=rule.args {
                let result = i == rule.args;
                if result && !rule.is_active(i) {
                    break;
                }
                if result || assigned(i) {
                    set.push(at);
                }
                at += 1;
                if rule.is_active(i) {
                    set.push(at);
                    at += 1;
                }
            }
            let slots = at + 1 + commons;
            let shared = |from: &Set| -> Vec<usize> {
                let places = from.ones().filter(|s| *s > rule.args);
                places.map(|s| s - rule.args + at).collect()
            };
            let mut effect = Effect {
                assigned: Set::with_capacity(slots),
                read: Set::with_capacity(slots),
                other: false,
                once: false,
                args: at,
            };
            effect.assigned.extend(set);
            effect.read.insert_range(..at);
            if let Some(own) = own {
                effect.assigned.extend(shared(&own.assigned));
                effect.read.extend(shared(&own.read));
            }
            self.by_unit.insert(stand_in(procedure), effect);
        }
    }

    /// The effect of a top-level unit.
    pub fn get(&self, unit: &str) -> Option<&Effect> {
        self.by_unit.get(unit)
    }

    /// What a statement itself touches, without the statements in it.
    pub fn own(&self, unit: &Unit, space: &Space, s: &Stmt, touched: &mut Touched) {
        let set = |s: SymId, touched: &mut Touched| touched.assigned.insert(space.loc(s));
        let mut first = true;
        s.for_each_own_expr(&mut |e| {
            let target = first && matches!(s.kind, StmtKind::Assign(..));
            first = false;
            if target {
                e.children()
                    .into_iter()
                    .for_each(|c| self.expr(unit, space, c, touched));
            } else {
                self.expr(unit, space, e, touched);
            }
        });
        match &s.kind {
            StmtKind::Assign(target, _) => target.base().into_iter().for_each(|s| set(s, touched)),
            StmtKind::Do(d) => {
                if let DoControl::Count { var, .. } = d.control {
                    set(var, touched);
                }
            }
            StmtKind::AssignLabel(_, s) => set(*s, touched),
            StmtKind::Call(callee, args) => self.call(unit, space, *callee, args, touched),
            StmtKind::Stop(_) => touched.other = true,
            StmtKind::Pause(_) => touched.not_twice(),
            StmtKind::Allocation(a) => {
                touched.not_twice();
                for e in a.objects.iter().chain(&a.control) {
                    e.for_each_symbol(&mut |s| set(s, touched));
                }
            }
            StmtKind::Io(io) => {
                match is_internal(unit, io) {
                    true => touched.other = true,
                    false => touched.not_twice(),
                }
                if io.kind == IoKind::Read {
                    for item in &io.items {
                        read_targets(item, &mut |s, _| set(s, touched));
                    }
                }
                // IOSTAT=, the answers of INQUIRE, the variable of an internal WRITE.
                for c in &io.control {
                    c.for_each_symbol(&mut |s| set(s, touched));
                }
            }
            _ => {}
        }
    }

    /// What a statement itself reads: of the arguments of a call, those that the callee reads.
    pub fn reads(&self, unit: &Unit, space: &Space, s: &Stmt, read: &mut Set) {
        let mut touched = Touched::nothing(space.len + unit.symbols.len());
        let known = match &s.kind {
            StmtKind::Call(callee, args) if unit.symbols[*callee].place == Place::Global => self
                .get(&unit.symbols[*callee].name)
                .map(|effect| (effect, args)),
            _ => None,
        };
        let Some((effect, args)) = known else {
            self.own(unit, space, s, &mut touched);
            read.union_with(&touched.read);
            return;
        };
        for (slot, a) in args.iter().enumerate() {
            match a.base() {
                Some(s) => {
                    if effect.read.contains(slot) {
                        touched.read.insert(space.loc(s));
                    }
                    let inner = a.children();
                    inner
                        .into_iter()
                        .for_each(|c| self.expr(unit, space, c, &mut touched));
                }
                None => self.expr(unit, space, a, &mut touched),
            }
        }
        for slot in effect.read.ones().filter(|s| *s > effect.args) {
            touched.read.insert(space.common(slot - effect.args - 1));
        }
        read.union_with(&touched.read);
    }

    fn expr(&self, unit: &Unit, space: &Space, e: &Expr, touched: &mut Touched) {
        e.walk(&mut |e| match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) => {
                touched.read.insert(space.loc(*s));
            }
            ExprKind::Call(s, args) => match &unit.symbols[*s].class {
                Class::Intrinsic(_) => {}
                Class::StatementFunction(_, value) => self.expr(unit, space, value, touched),
                _ => self.call(unit, space, *s, args, touched),
            },
            _ => {}
        });
    }

    fn call(
        &self,
        unit: &Unit,
        space: &Space,
        callee: SymId,
        args: &[Expr],
        touched: &mut Touched,
    ) {
        let symbol = &unit.symbols[callee];
        let known = (symbol.place == Place::Global)
            .then(|| self.get(&symbol.name))
            .flatten();
        match known {
            Some(effect) => {
                touched.other |= effect.other;
                touched.once |= effect.once;
                for slot in effect.assigned.ones() {
                    if slot < effect.args {
                        let base = args.get(slot).and_then(Expr::base);
                        touched.assigned.extend(base.map(|s| space.loc(s)));
                    } else if slot > effect.args {
                        touched
                            .assigned
                            .insert(space.common(slot - effect.args - 1));
                    }
                }
                for slot in effect.read.ones().filter(|s| *s > effect.args) {
                    touched.read.insert(space.common(slot - effect.args - 1));
                }
            }
            // Only intrinsic subroutines and procedures without text.
            None => {
                match ends(unit, callee) {
                    true => touched.other = true,
                    false => touched.not_twice(),
                }
                let bases = args.iter().filter_map(Expr::base);
                touched.assigned.extend(bases.map(|s| space.loc(s)));
            }
        }
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
