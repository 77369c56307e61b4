//! Calls with joint sweeps: they have no values on the tape until the reverse sweep reaches them.
//!
//! For a *split* call, the forward sweep of the callee is part of the caller's forward sweep, and its
//! reverse sweep part of the caller's reverse sweep: nothing is executed twice, but its tape exists all the
//! time. For a *joint* call, the forward sweep saves the variables that the subprogram reads and changes, and
//! calls the original. The reverse sweep restores them, executes the subprogram once more, now with a tape,
//! and immediately runs its reverse sweep. In a chain of joint calls, only one at a time has a tape.
//!
//! Each level of nested joint calls costs one more run of everything below it. [`super::cost`] decides which
//! calls are joint.
//!
//! Source: Griewank and Walther, *Evaluating Derivatives*, chapter 12.

use super::effects::{Besides, Touched};
use super::known::{Replay, Sweeps};
use super::sweep::Sweeper;
use super::tbr::{Elements, Needs};
use super::{Part, World};
use crate::flow::Flow;
use crate::legal::entry_bounds::bound_variables;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::ir::{Block, Expr, Place as Storage, Stmt, StmtId, Type, Unit};
use farfel_lang::solve::{Graph, forward};
use std::collections::HashMap;

/// A variable that a call reads or changes.
struct Place {
    target: Expr,
    loc: usize,
    /// The element, or `None` for the whole variable.
    element: Option<Elements>,
    assigned: bool,
    read: bool,
}

/// The statements that save some variables, and those that restore them.
#[derive(Default)]
struct Kept {
    push: Block,
    pops: Vec<Block>,
}

impl Kept {
    fn add(&mut self, (push, pop): (Block, Block)) {
        self.push.extend(push);
        self.pops.push(pop);
    }

    /// The statements that restore the variables, in reverse order of saving.
    fn pop(self) -> Block {
        self.pops.into_iter().rev().flatten().collect()
    }
}

impl World {
    /// Whether calls of a part can be executed again.
    pub(super) fn can_be_joint(&self, p: &Part) -> bool {
        let effect = self.effects.get(&p.name);
        !p.root && !self.keeps_state && effect.is_some_and(|e| e.besides == Besides::Nothing)
    }
}

impl Sweeper<'_> {
    pub(super) fn joint_call(
        &mut self,
        id: StmtId,
        part: usize,
        args: &[Expr],
        span: Span,
        needs: &mut Needs,
    ) -> Sweeps {
        let callee = &self.world.parts[part];
        let set = self.set_before(id);
        let mut places = self.places_of(part, args, needs, span);
        // An undefined variable need not be saved, whatever the call would do with it.
        if let Some(set) = set {
            places
                .iter_mut()
                .for_each(|p| p.read &= set.contains(p.loc));
        }
        // `needed`: values from before the call that are needed anyway. `state`: values that the second
        // execution starts from. `both`: both.
        let (mut needed, mut state, mut both) = (Kept::default(), Kept::default(), Kept::default());
        let mut assigned = Set::with_capacity(self.space.len + self.make.unit.symbols.len());
        let mut done: Vec<&Expr> = Vec::new();
        for p in places.iter().filter(|p| p.assigned) {
            assigned.insert(p.loc);
            if done.iter().any(|d| d.reads_as(&p.target)) {
                continue;
            }
            done.push(&p.target);
            // It is read under another name for the same storage, or both as an argument and in COMMON.
            let again = |q: &Place| {
                q.read && (q.target.reads_as(&p.target) || self.space.tangled.contains(p.loc))
            };
            let read = places.iter().any(|q| q.loc == p.loc && again(q));
            let own = self.overwrite(&p.target, needs, span);
            match (own.0.is_empty(), read) {
                (true, true) => {
                    let made = self.keep(&p.target, &Needs::default(), span);
                    state.add(made);
                }
                (false, true) => {
                    both.add(own);
                    // The whole variable, even if only a section of it is needed.
                    let made = self.keep(&p.target, &Needs::default(), span);
                    state.add(made);
                }
                (false, false) => needed.add(own),
                (true, false) => {}
            }
        }
        self.changed(&assigned, needs);
        for p in places.iter().filter(|p| p.read && !p.assigned) {
            match p.element.clone() {
                Some(e) => needs.add(p.loc, e),
                None => {
                    needs.add_all(p.loc);
                }
            }
        }
        self.read_to_pass(callee, args, needs);
        let (sweep, tapes) = self.forward_call(part, args, span);
        let primals = self.primals(part, args);
        let mark = self.make.variable("AGAIN", Type::INTEGER);
        let mut forward = needed.push.clone();
        forward.extend(state.push.iter().cloned());
        // Tells `tape_size` that the reverse sweep records something later.
        forward.push(Stmt::assign(
            Expr::var(mark, span),
            Expr::int(0, span),
            span,
        ));
        forward.push(self.primal_call(part, primals, span));
        let mut again = both.push.clone();
        again.push(sweep);
        let mut backward = state.pop();
        backward.extend(again.iter().cloned());
        backward.extend(self.backward_call(part, args, tapes, span));
        backward.extend(both.pop());
        backward.extend(needed.pop());
        if self.trial == 0 {
            let one = || Expr::int(1, span);
            let replay = Replay {
                slots: 0,
                steps: [one(), one(), one()],
                state: Vec::new(),
                body: again,
            };
            self.replays.insert(mark, replay);
        }
        Sweeps { forward, backward }
    }

    /// The locations whose values on entry a part reads; other locations are set before they are read. The
    /// result has no value on entry.
    fn read_before(&mut self, part: usize) -> Set {
        if let Some(known) = self.read_before.get(&part) {
            return known.clone();
        }
        let callee = &self.world.parts[part];
        let mut found = Sweeper::new(self.world, self.facts, part).exposed(&callee.body);
        if let Some(result) = callee.value {
            found.set(callee.space.loc(result), false);
        }
        // Bounds in declarations are read before all statements.
        let bounds = bound_variables(&callee.make.unit);
        found.extend(bounds.into_iter().map(|s| callee.space.loc(s)));
        self.read_before.insert(part, found.clone());
        found
    }

    /// The locations that may be defined when a statement begins; `None` if that is not known.
    fn set_before(&mut self, id: StmtId) -> Option<Set> {
        let all = self.set_before.take();
        let all = all.unwrap_or_else(|| set_before(self.world, self.part));
        let set = all.get(&id).cloned();
        self.set_before = Some(all);
        set
    }

    /// The variables that a call reads or assigns, in the order of the callee's slots.
    fn places_of(&mut self, part: usize, args: &[Expr], needs: &Needs, span: Span) -> Vec<Place> {
        let callee = &self.world.parts[part];
        let n = callee.derivative_args.len();
        let mut places = Vec::new();
        let Some(effect) = self.world.effects.get(&callee.name) else {
            return places;
        };
        let before = self.read_before(part);
        let is_read = |slot: usize| {
            let within = callee.space.slot(slot);
            effect.read.contains(slot) && within.is_none_or(|l| before.contains(l))
        };
        for (i, a) in args.iter().enumerate().take(n) {
            let derivative = callee.derivative_args.get(i).copied().unwrap_or(false);
            let Some(base) = a.base().filter(|_| !derivative) else {
                continue;
            };
            let loc = self.space.loc(base);
            let scalar = callee.scalar_args.get(i).copied().unwrap_or(false);
            let element = match scalar && !self.space.tangled.contains(loc) {
                true => Elements::of(&self.make.unit, a),
                false => None,
            };
            places.push(Place {
                target: match &element {
                    Some(_) => a.clone(),
                    None => Expr::var(base, span),
                },
                loc,
                element,
                assigned: effect.assigned.contains(i),
                read: is_read(i),
            });
        }
        for k in 0..self.world.commons.vars.len() {
            let slot = n + 1 + k;
            let (assigned, read) = (effect.assigned.contains(slot), is_read(slot));
            if !assigned && !read || self.world.derivative_commons.contains(k) {
                continue;
            }
            let loc = self.space.common(k);
            let symbols = self.make.unit.symbols.iter();
            let here: Vec<_> = symbols
                .filter(|(id, s)| {
                    s.is_variable()
                        && self.space.loc(*id) == loc
                        && !self.make.derivatives.contains(id)
                })
                .map(|(id, _)| id)
                .collect();
            if here.is_empty() && assigned && (read || needs.has(loc)) {
                let why = format!(
                    "{} cannot be carried out again: it changes a COMMON variable",
                    callee.of
                );
                self.undeclared(loc, &why, span);
            }
            let place = |target: Expr| Place {
                target,
                loc,
                element: None,
                assigned,
                read,
            };
            if here.is_empty() {
                places.push(place(Expr::int(0, span)));
            }
            // A block that units divide differently is one location with several variables.
            places.extend(here.into_iter().map(|s| place(Expr::var(s, span))));
        }
        places
    }
}

/// For each statement of a part, the locations that may be defined when it begins.
fn set_before(world: &World, part: usize) -> HashMap<StmtId, Set> {
    let p = &world.parts[part];
    let unit = Unit {
        body: p.body.clone(),
        ..p.make.unit.clone()
    };
    let space = &p.space;
    let flow = Flow::of(&unit);
    // If variables share a location, any of them may be defined on entry.
    let mut entry = Set::with_capacity(space.len);
    for (id, s) in unit.symbols.iter().filter(|(_, s)| s.is_variable()) {
        if s.place != Storage::Local || space.saved.contains(space.loc(id)) {
            entry.insert(space.loc(id));
        }
    }
    entry.extend((0..world.commons.vars.len()).map(|k| space.common(k)));
    let found = forward(
        &Graph::of(&flow),
        flow.entry,
        entry,
        &mut |n, set: &mut Set| {
            if let Some(s) = flow.stmts.get(n) {
                let mut touched = Touched::nothing(space.len);
                world.effects.own(&unit, space, s, &mut touched);
                set.union_with(&touched.assigned);
            }
        },
    );
    let stmts = flow.stmts.iter().zip(found);
    stmts.filter_map(|(s, set)| Some((s.id, set?))).collect()
}
