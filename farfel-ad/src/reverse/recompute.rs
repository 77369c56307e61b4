//! Support for loops whose iterations are executed again: which values they begin with, how these are saved
//! on a tape and restored, and the iterations themselves without derivatives.

use super::effects::SideEffects;
use super::save;
use super::sweep::Sweeper;
use super::sweep_data::StateVariable;
use super::tape::{TapeKind, Tapes};
use super::unit_builder::UnitBuilder;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::dataflow::VariableUse;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::{binary, choice, count, difference, paren, product, sum};
use farfel_lang::ir::{
    BinOp, Block, Class, Do, DoControl, Expr, ExprKind, IfBlock, Select, Stmt, StmtKind,
    StorageClass, SymId, Type,
};
use std::collections::BTreeMap;

/// The control of a counted loop: its variable, start, end and step.
pub(super) type Control<'a> = (SymId, &'a Expr, &'a Expr, Option<&'a Expr>);

/// Locations and elements that have been assigned.
#[derive(Clone)]
struct AssignedSoFar {
    locs: Set,
    elements: Vec<Expr>,
}

impl AssignedSoFar {
    fn add(&mut self, element: &Expr) {
        if !self
            .elements
            .iter()
            .any(|e| e.equals_ignoring_spans(element))
        {
            self.elements.push(element.clone());
        }
    }
}

/// The storage of saved states on the tapes.
pub(super) struct SavedStates {
    pub members: Vec<StateVariable>,
    /// For each tape, the variables for the place where the states begin, and for the size of one state.
    places: BTreeMap<TapeKind, (SymId, SymId)>,
    /// The variable for the place of a value.
    at: SymId,
}

/// The words of the message that a variable cannot be saved.
pub(super) struct Unsaved {
    pub what: &'static str,
    /// What the loop does with the variable.
    pub why: &'static str,
    /// What a called subprogram does with a COMMON variable.
    pub common: &'static str,
    /// What can be done other than to declare its bounds.
    pub otherwise: &'static str,
}

impl Sweeper<'_> {
    /// The locations that hold cotangents.
    pub(super) fn derivative_locs(&self) -> Set {
        let mut found = Set::with_capacity(self.space.len + self.builder.unit.symbols.len());
        found.extend(self.builder.derivatives.iter().map(|d| self.space.loc(*d)));
        let commons = self.engine.derivative_commons.ones();
        found.extend(commons.map(|k| self.space.common(k)));
        found
    }

    /// The locations that a block reads with their values from before it.
    pub(super) fn exposed(&self, block: &[Stmt]) -> Set {
        let n = self.space.len + self.builder.unit.symbols.len();
        let mut found = Set::with_capacity(n);
        let mut done = AssignedSoFar {
            locs: Set::with_capacity(n),
            elements: Vec::new(),
        };
        self.expose(block, &mut done, &mut found);
        found
    }

    fn expose(&self, block: &[Stmt], done: &mut AssignedSoFar, found: &mut Set) {
        for s in block {
            let mut touched = super::StatementEffects::nothing(found.len());
            self.engine
                .effects
                .own(&self.builder.unit, self.space, s, &mut touched);
            if let StmtKind::Call(callee, args) = &s.kind {
                self.arguments_read(*callee, args, &mut touched.read);
            }
            let read = touched.read.ones().filter(|l| !done.locs.contains(*l));
            found.extend(read.filter(|l| !self.reads_done_elements(s, *l, done)));
            // Whatever changes in a loop changes before its next iteration.
            let changed = match &s.kind {
                StmtKind::Do(_) => {
                    self.engine
                        .assigned_in(&self.builder.unit, self.space, std::slice::from_ref(s))
                }
                _ => touched.assigned,
            };
            self.forget(done, &changed);
            match &s.kind {
                StmtKind::Assign(target, _) => {
                    let Some(v) = target.base() else { continue };
                    let loc = self.space.loc(v);
                    if self.space.tangled.contains(loc) {
                        continue;
                    }
                    match target.kind {
                        ExprKind::Var(v) => {
                            let whole = self.builder.unit.symbols[v].is_array();
                            if whole || !self.space.weak.contains(loc) {
                                done.locs.insert(loc);
                            }
                        }
                        ExprKind::Element(..) => done.add(target),
                        _ => {}
                    }
                }
                StmtKind::Do(d) => {
                    if let DoControl::Count { var, .. } = d.control {
                        let loc = self.space.loc(var);
                        if !self.space.tangled.contains(loc) {
                            done.locs.insert(loc);
                        }
                    }
                    self.expose(&d.body, &mut done.clone(), found);
                }
                StmtKind::Call(callee, args) => {
                    done.locs.extend(self.overwritten(*callee, args));
                    // The result of a function is always assigned.
                    let result = self.result_of(*callee).and_then(|i| args.get(i));
                    let Some(result) = result else {
                        continue;
                    };
                    let Some(v) = result.base() else { continue };
                    let loc = self.space.loc(v);
                    if self.space.tangled.contains(loc) {
                        continue;
                    }
                    match result.kind {
                        ExprKind::Var(_) if !self.space.weak.contains(loc) => {
                            done.locs.insert(loc);
                        }
                        ExprKind::Element(..) => done.add(result),
                        _ => {}
                    }
                }
                _ => {
                    let complete = match &s.kind {
                        StmtKind::If(b) => b.otherwise.is_some(),
                        StmtKind::Select(b) => b.cases.iter().any(|c| c.values.is_none()),
                        _ => false,
                    };
                    let mut after: Option<AssignedSoFar> = None;
                    for b in s.blocks() {
                        let mut inner = done.clone();
                        self.expose(b, &mut inner, found);
                        let inside = self.engine.assigned_in(&self.builder.unit, self.space, b);
                        self.forget(done, &inside);
                        match &mut after {
                            None => after = Some(inner),
                            Some(all) => {
                                all.locs.intersect_with(&inner.locs);
                                all.elements.retain(|e| {
                                    inner.elements.iter().any(|o| e.equals_ignoring_spans(o))
                                });
                            }
                        }
                    }
                    if let (true, Some(after)) = (complete, after) {
                        *done = after;
                    }
                }
            }
        }
    }

    /// Whether a statement reads only those elements of an array that have been assigned.
    fn reads_done_elements(&self, s: &Stmt, loc: usize, done: &AssignedSoFar) -> bool {
        if done.elements.is_empty() || matches!(s.kind, StmtKind::Call(..)) {
            return false;
        }
        let mut all = true;
        let mut read = |e: &Expr| {
            e.walk(&mut |x| match &x.kind {
                ExprKind::Var(v) => all &= self.space.loc(*v) != loc,
                ExprKind::Element(v, _) if self.space.loc(*v) == loc => {
                    all &= done.elements.iter().any(|d| d.equals_ignoring_spans(x));
                }
                ExprKind::Call(f, _) => {
                    let class = &self.builder.unit.symbols[*f].class;
                    all &= matches!(class, Class::Intrinsic(_));
                }
                _ => {}
            });
        };
        match &s.kind {
            StmtKind::Assign(target, value) => {
                target.children().into_iter().for_each(&mut read);
                read(value);
            }
            _ => s.for_each_own_expr(&mut read),
        }
        all
    }

    /// The scalars that a call always assigns.
    fn overwritten(&self, callee: SymId, args: &[Expr]) -> Vec<usize> {
        let known = self.uses_of(callee, args);
        let always = args.iter().zip(known).filter(|(_, used)| used.always);
        let scalars = always.filter_map(|(a, _)| match a.kind {
            ExprKind::Var(v) if !self.builder.unit.symbols[v].is_array() => Some(self.space.loc(v)),
            _ => None,
        });
        scalars
            .filter(|l| !self.space.tangled.contains(*l) && !self.space.weak.contains(*l))
            .collect()
    }

    /// What the callee does with its arguments; nothing if that is not known.
    fn uses_of(&self, callee: SymId, args: &[Expr]) -> &[VariableUse] {
        let callee = &self.builder.unit.symbols[callee];
        let known = match callee.storage_class {
            StorageClass::Dummy => None,
            _ => self.engine.intents.get(&callee.name),
        };
        known.filter(|k| k.len() == args.len()).unwrap_or_default()
    }

    /// The position of the argument that gets the result, if the callee is the tangent of a function.
    fn result_of(&self, callee: SymId) -> Option<usize> {
        let part = self
            .engine
            .part_of(&self.builder.unit.symbols[callee].name)?;
        let part = &self.engine.parts[part];
        part.result?;
        part.derivative_args.iter().rposition(|d| !d)
    }

    /// Removes elements whose subscripts change: they now denote other elements.
    fn forget(&self, done: &mut AssignedSoFar, changed: &Set) {
        done.elements.retain(|e| {
            let mut stays = true;
            for c in e.children() {
                c.for_each_symbol(&mut |s| stays &= !changed.contains(self.space.loc(s)));
            }
            stays
        });
    }

    /// Restricts what a call reads to the arguments that the callee reads, where that is known.
    fn arguments_read(&self, callee: SymId, args: &[Expr], read: &mut Set) {
        let Some(effect) = self
            .engine
            .effects
            .get(&self.builder.unit.symbols[callee].name)
        else {
            return;
        };
        let mut none = Set::with_capacity(read.len());
        let mut some = Set::with_capacity(read.len());
        let result = self.result_of(callee);
        let known = self.uses_of(callee, args);
        for (i, a) in args.iter().enumerate() {
            // The result of a function has no value before the call.
            let unread = result == Some(i) || known.get(i).is_some_and(|used| !used.reads);
            match &a.kind {
                ExprKind::Var(s) if unread || !effect.read.contains(i) => {
                    none.insert(self.space.loc(*s))
                }
                _ => a.for_each_symbol(&mut |s| some.insert(self.space.loc(s))),
            }
        }
        let shared = effect.read.ones().filter(|s| *s > effect.args);
        some.extend(shared.map(|s| self.space.common(s - effect.args - 1)));
        for loc in none.ones().filter(|l| !some.contains(*l)) {
            read.set(loc, false);
        }
    }

    /// The variables at some locations, to be saved.
    pub(super) fn members(&mut self, locs: &Set, span: Span) -> Vec<StateVariable> {
        let unsaved = Unsaved {
            what: "iterations of this loop cannot be carried out again",
            why: "goes from one to the next",
            common: "changes",
            otherwise: "",
        };
        self.variables_at(locs, false, &unsaved, span)
    }

    /// The variables at some locations: those with derivatives, or those without.
    pub(super) fn variables_at(
        &mut self,
        locs: &Set,
        derivatives: bool,
        unsaved: &Unsaved,
        span: Span,
    ) -> Vec<StateVariable> {
        let Unsaved {
            what,
            why,
            common,
            otherwise,
        } = unsaved;
        let mut found = Vec::new();
        for loc in locs.ones() {
            let mut any = false;
            for id in self.builder.unit.symbols.ids() {
                let s = &self.builder.unit.symbols[id];
                let here = s.is_variable()
                    && self.builder.derivatives.contains(&id) == derivatives
                    && self.space.loc(id) == loc;
                let Some(ty) = s.ty.filter(|_| here) else {
                    continue;
                };
                any = true;
                match save::bounds(&mut self.builder, id, span) {
                    Some(bounds) => found.push(StateVariable {
                        var: id,
                        kind: TapeKind::of(ty),
                        bounds,
                    }),
                    None if self.trial == 0 => {
                        let s = &self.builder.unit.symbols[id];
                        let message =
                            format!("{what}: {} {why}, and has {}", s.name, s.missing_bounds());
                        self.errors.push(
                            Diagnostic::error(&rules::AD_LOOP, span, message)
                                .related(s.span, "declared here")
                                .help(format!("declare the bounds of {}{otherwise}", s.name)),
                        );
                    }
                    None => {}
                }
            }
            if !any {
                let why = format!("{what}: what it calls {common} a COMMON variable");
                self.undeclared(loc, &why, span);
            }
        }
        found
    }

    /// Reports iterations that do something that must not be done twice.
    pub(super) fn refuse_unrepeatable(&mut self, body: &[Stmt], span: Span) {
        let touched = self.engine.touched_in(&self.builder.unit, self.space, body);
        let mut allocates = false;
        for s in body {
            s.walk(&mut |x| allocates |= matches!(x.kind, StmtKind::Allocation(_)));
        }
        if (touched.side_effects > SideEffects::Repeatable || allocates) && self.trial == 0 {
            self.errors.push(
                Diagnostic::error(
                    &rules::AD_LOOP,
                    span,
                    "iterations of this loop cannot be carried out again: they call a procedure whose text is not known, exchange messages, read, or allocate",
                )
                .help("take that out of the loop, or the directive"),
            );
        }
    }

    /// The number of iterations of a counted loop.
    pub(super) fn trips(
        &mut self,
        from: &Expr,
        to: &Expr,
        step: Option<&Expr>,
        span: Span,
    ) -> Expr {
        let length = difference(to.clone(), from.clone());
        let trips = match (&from.kind, step) {
            (ExprKind::Int(1), None) => to.clone(),
            (_, None) => sum(length, Expr::int(1, span)),
            (_, Some(step)) => binary(
                BinOp::Div,
                paren(sum(length, step.clone())),
                paren(step.clone()),
            ),
        };
        self.builder
            .call("MAX", vec![trips, Expr::int(0, span)], span)
    }

    /// The last value of the variable of a counted loop, if it has any iterations.
    pub(super) fn last_value(
        &mut self,
        from: &Expr,
        to: &Expr,
        step: Option<&Expr>,
        span: Span,
    ) -> Expr {
        let trips = self.trips(from, to, step, span);
        let before = difference(trips, Expr::int(1, span));
        let way = match step {
            None => before,
            Some(step) => product(before, step.clone()),
        };
        sum(from.clone(), way)
    }

    /// Whether a block contains anything to differentiate.
    pub(super) fn has_derivatives(&self, block: &[Stmt]) -> bool {
        let mut found = false;
        for s in block {
            s.walk(&mut |x| match &x.kind {
                StmtKind::Assign(t, _) => {
                    found |= super::transpose::is_derivative(&self.builder.derivatives, t);
                }
                StmtKind::Call(f, _) => {
                    let name = &self.builder.unit.symbols[*f].name;
                    found |= self.engine.part_of(name).is_some() || self.is_given(*f);
                }
                _ => {}
            });
        }
        found
    }

    /// Returns the statements without derivatives: those of the source.
    pub(super) fn primal(&mut self, block: &[Stmt]) -> Block {
        let mut out = Vec::with_capacity(block.len());
        for s in block {
            let span = s.span;
            let kind = match &s.kind {
                StmtKind::Comment(_) | StmtKind::Format(_) => continue,
                StmtKind::Assign(t, _)
                    if super::transpose::is_derivative(&self.builder.derivatives, t) =>
                {
                    continue;
                }
                StmtKind::If(b) => StmtKind::If(IfBlock {
                    arms: b
                        .arms
                        .iter()
                        .map(|(c, b)| (c.clone(), self.primal(b)))
                        .collect(),
                    otherwise: b.otherwise.as_ref().map(|b| self.primal(b)),
                    ..b.clone()
                }),
                StmtKind::Select(b) => {
                    let mut made = Select::clone(b);
                    for c in &mut made.cases {
                        c.body = self.primal(&c.body);
                    }
                    StmtKind::Select(Box::new(made))
                }
                StmtKind::Do(d) => {
                    let body = self.primal(&d.body);
                    StmtKind::Do(Box::new(Do {
                        body,
                        directive: None,
                        ..Do::clone(d)
                    }))
                }
                StmtKind::Call(callee, args) => {
                    let name = self.builder.unit.symbols[*callee].name.clone();
                    match self.engine.part_of(&name) {
                        Some(part) => {
                            let callee = &self.engine.parts[part];
                            let primals = args
                                .iter()
                                .zip(&callee.derivative_args)
                                .filter(|(_, d)| !**d)
                                .map(|(a, _)| a.clone())
                                .collect();
                            out.push(self.primal_call(part, primals, span));
                            continue;
                        }
                        None if self.is_given(*callee) => {
                            out.extend(self.given_primal(*callee, args, span));
                            continue;
                        }
                        None => s.kind.clone(),
                    }
                }
                other => other.clone(),
            };
            out.push(Stmt::new(kind, span));
        }
        out
    }
}

/// The number of values of a variable.
pub(super) fn size(member: &StateVariable, span: Span) -> Expr {
    let mut all = Expr::long(1, span);
    for (low, high) in &member.bounds {
        let extent = match low.kind {
            ExprKind::Int(1) => high.clone(),
            _ => sum(difference(high.clone(), low.clone()), Expr::int(1, span)),
        };
        all = match all.kind {
            ExprKind::Kind(..) if matches!(&all.kind, ExprKind::Kind(n, _) if n.kind == ExprKind::Int(1)) => {
                product(Expr::long(1, span), extent)
            }
            _ => product(all, extent),
        };
    }
    all
}

/// A value of a member of [`SavedStates`], and the places where it is saved.
pub(super) struct SavedValue<'p> {
    /// The member.
    pub of: SymId,
    pub value: Expr,
    /// The place in the state that follows the current one after a number of others.
    pub place: &'p dyn Fn(usize) -> Expr,
}

impl SavedStates {
    /// Declares the variables that tell where states are.
    pub fn of(builder: &mut UnitBuilder, members: Vec<StateVariable>) -> SavedStates {
        let mut places = BTreeMap::new();
        for m in &members {
            places.entry(m.kind).or_insert_with(|| {
                let counter = Type::Integer(8);
                let base = builder.variable("BASE", counter);
                let size = builder.variable("SIZE", counter);
                (base, size)
            });
        }
        let at = builder.variable("AT", Type::Integer(8));
        SavedStates {
            members,
            places,
            at,
        }
    }

    /// Computes the size of a state on each tape.
    pub fn sizes(&self, span: Span) -> Block {
        let mut out = Vec::new();
        for (kind, (_, size_var)) in &self.places {
            let own = self.members.iter().filter(|m| m.kind == *kind);
            let total = own
                .map(|m| size(m, span))
                .reduce(sum)
                .unwrap_or_else(|| Expr::long(0, span));
            out.push(Stmt::assign(Expr::var(*size_var, span), total, span));
        }
        out
    }

    /// Reserves room for `slots` states.
    pub fn reserve(
        &self,
        builder: &mut UnitBuilder,
        tapes: &mut Tapes,
        slots: Expr,
        span: Span,
    ) -> Block {
        let mut out = Vec::new();
        for (kind, (base, size)) in &self.places {
            let need = product(slots.clone(), Expr::var(*size, span));
            out.extend(tapes.reserve(builder, *kind, *base, need, span));
        }
        out
    }

    /// Finds the room again, from the end of each tape. For one of the tapes, `other`, the end is given.
    pub fn find(
        &self,
        builder: &mut UnitBuilder,
        tapes: &mut Tapes,
        slots: Expr,
        (other, its_end): (TapeKind, SymId),
        span: Span,
    ) -> Block {
        let mut out = Vec::new();
        for (kind, (base, size)) in &self.places {
            let need = product(slots.clone(), Expr::var(*size, span));
            let end = match *kind == other {
                true => its_end,
                false => tapes.vars(builder, *kind).top(),
            };
            let begin = difference(Expr::var(end, span), need);
            out.push(Stmt::assign(Expr::var(*base, span), begin, span));
        }
        out
    }

    /// Releases the room.
    pub fn release(&self, builder: &mut UnitBuilder, tapes: &mut Tapes, span: Span) -> Block {
        let mut out = Vec::new();
        for (kind, (base, _)) in &self.places {
            let top = Expr::var(tapes.vars(builder, *kind).top(), span);
            out.push(Stmt::assign(top, Expr::var(*base, span), span));
        }
        out
    }

    /// Adds to `change` the difference between the members and their saved values, and saves the current values.
    pub fn compare(
        &self,
        builder: &mut UnitBuilder,
        tapes: &mut Tapes,
        change: SymId,
        span: Span,
    ) -> Block {
        let one = |builder: &mut UnitBuilder, v: SavedValue| {
            let by = binary(BinOp::Sub, v.value.clone(), (v.place)(0));
            let by = builder.call("ABS", vec![by], span);
            let sum = binary(BinOp::Add, Expr::var(change, span), by);
            vec![
                Stmt::assign(Expr::var(change, span), sum, span),
                Stmt::assign((v.place)(0), v.value, span),
            ]
        };
        self.for_each_value(builder, tapes, Expr::int(1, span), &|_| true, &one, span)
    }

    /// Copies the members that `which` selects to the state with number `slot`, or back.
    pub fn copy(
        &self,
        builder: &mut UnitBuilder,
        tapes: &mut Tapes,
        slot: Expr,
        back: bool,
        which: &dyn Fn(SymId) -> bool,
        span: Span,
    ) -> Block {
        let one = |_: &mut UnitBuilder, v: SavedValue| {
            let (to, from) = match back {
                true => (v.value, (v.place)(0)),
                false => ((v.place)(0), v.value),
            };
            vec![Stmt::assign(to, from, span)]
        };
        self.for_each_value(builder, tapes, slot, which, &one, span)
    }

    /// Applies `one` to each value of the members that `which` selects and its place in the state with number `slot`.
    pub fn for_each_value(
        &self,
        builder: &mut UnitBuilder,
        tapes: &mut Tapes,
        slot: Expr,
        which: &dyn Fn(SymId) -> bool,
        one: &dyn Fn(&mut UnitBuilder, SavedValue) -> Block,
        span: Span,
    ) -> Block {
        let mut out = Vec::new();
        for (kind, (base, size)) in &self.places {
            let own: Vec<&StateVariable> =
                self.members.iter().filter(|m| m.kind == *kind).collect();
            if !own.iter().any(|m| which(m.var)) {
                continue;
            }
            let values = tapes.vars(builder, *kind).values();
            let at = self.at;
            let before = difference(slot.clone(), Expr::int(1, span));
            let begin = sum(
                Expr::var(*base, span),
                product(before, Expr::var(*size, span)),
            );
            out.push(Stmt::assign(Expr::var(at, span), begin, span));
            for m in own {
                if !which(m.var) {
                    let next = sum(Expr::var(at, span), self::size(m, span));
                    out.push(Stmt::assign(Expr::var(at, span), next, span));
                    continue;
                }
                let counters = builder.take_counters(m.bounds.len());
                let element = save::value(builder, m.var, &counters, span);
                let next = binary(BinOp::Add, Expr::var(at, span), Expr::int(1, span));
                let place = |further: usize| {
                    let sizes = (0..further).map(|_| Expr::var(*size, span));
                    let at = sizes.fold(Expr::var(at, span), sum);
                    Expr::element(values, vec![at], span)
                };
                let saved = SavedValue {
                    of: m.var,
                    value: element,
                    place: &place,
                };
                let mut copied = vec![Stmt::assign(Expr::var(at, span), next, span)];
                copied.append(&mut one(builder, saved));
                builder.free_counters(m.bounds.len());
                for (c, (low, high)) in counters.iter().zip(&m.bounds) {
                    copied = count(*c, low.clone(), high.clone(), None, copied, span)
                        .into_iter()
                        .collect();
                }
                out.append(&mut copied);
            }
        }
        out
    }
}

/// An IF with one condition.
pub(super) fn when(condition: Expr, then: Block, otherwise: Block, span: Span) -> Block {
    choice(vec![(condition, then)], otherwise, span)
        .into_iter()
        .collect()
}
