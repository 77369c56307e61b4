//! Flow-insensitive side effects of procedures: what they may do to variables and to the outside
//! world on any path.
//!
//! Each unit, and each of its ENTRY points, has one [`Effect`], computed as a fixed point over the
//! call graph. `Effects::call` translates the effect of a callee to the caller's variables, and
//! decides what dummy procedures and procedures without source do. [`Assigned`] only answers what
//! is assigned.

mod arguments;
mod assigned;

pub use arguments::{closure_may_assign, is_constant, procedure_dummies};
pub use assigned::Assigned;

use crate::access::{self, Access, Call, callee_name};
use arguments::passes_procedure;
use farfel_ir::callgraph::callees_first;
use farfel_ir::ir::{
    ArgumentUsage, Class, EntryPoint, Expr, ExprKind, Name, ProcedureDirective, SpecKind, Stmt,
    StorageClass, SymId, Type, Unit, walk_block,
};
use fixedbitset::FixedBitSet as Set;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// Side effects other than reading and assigning variables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideEffects {
    /// No other side effects.
    #[default]
    Nothing,
    /// Side effects that may be repeated: the program ends, an internal file is read or written, or there is
    /// output, which then appears again.
    Repeatable,
    /// Calls of subroutines without source that get whole numbers, logical values and texts, none of which is a
    /// local variable that it could return a result in: they check or report something.
    Report,
    /// Side effects that must not happen twice: other file I/O, allocation, PAUSE, and anything else that
    /// procedures without source do.
    Once,
}

/// What a procedure may do, as seen by callers.
///
/// Its *slots* are its arguments in order, its result, and COMMON variables by the numbers that
/// [`Locations`] assigns to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The number of arguments.
    pub args: usize,
    /// The slots that it may assign. For a procedure argument: whether it may be called, so that
    /// the variables it captures may be assigned.
    pub assigned: Set,
    /// The slots that it may read.
    pub read: Set,
    /// Its other side effects.
    pub side_effects: SideEffects,
}

impl Effect {
    /// Returns the effect of a procedure that does nothing, with `args` arguments, in a program
    /// with `commons` COMMON variables.
    pub fn nothing(args: usize, commons: usize) -> Self {
        Effect {
            args,
            assigned: Set::with_capacity(args + 1 + commons),
            read: Set::with_capacity(args + 1 + commons),
            side_effects: SideEffects::Nothing,
        }
    }

    /// Returns the effect of a procedure without source, from a description of what it does with
    /// its arguments.
    pub fn described(name: &str, usage: &[ArgumentUsage], commons: usize) -> Self {
        let mut effect = Effect::nothing(usage.len(), commons);
        for (i, u) in usage.iter().enumerate() {
            effect.assigned.set(i, u.writes);
            effect.read.set(i, u.reads);
        }
        // The description is complete, so the procedure may be executed again, but no message is sent twice.
        effect.side_effects = match communicates(name) {
            true => SideEffects::Once,
            false => SideEffects::Repeatable,
        };
        effect
    }

    /// Adds what another procedure with the same arguments may do. Returns whether that changes
    /// anything for callers, who do not see the result.
    pub fn join(&mut self, other: &Effect) -> bool {
        let seen = |old: &Set, new: &Set| new.difference(old).any(|slot| slot != self.args);
        let more = seen(&self.assigned, &other.assigned)
            || seen(&self.read, &other.read)
            || other.side_effects > self.side_effects;
        self.assigned.union_with(&other.assigned);
        self.read.union_with(&other.read);
        self.side_effects = self.side_effects.max(other.side_effects);
        more
    }
}

/// Whether a procedure without source belongs to MPI, or to the run-time library for it.
pub fn communicates(name: &str) -> bool {
    name.starts_with("MPI_") || name.starts_with("FARFEL_MPI_")
}

/// What some statements of a unit may do, in terms of the unit's locations.
#[derive(Debug, Clone)]
pub struct StatementEffects {
    /// The locations that they may assign.
    pub assigned: Set,
    /// The locations that they may read.
    pub read: Set,
    /// Their other side effects.
    pub side_effects: SideEffects,
}

impl StatementEffects {
    /// Returns an empty set of effects, for a unit with this number of locations.
    pub fn nothing(locations: usize) -> Self {
        StatementEffects {
            assigned: Set::with_capacity(locations),
            read: Set::with_capacity(locations),
            side_effects: SideEffects::Nothing,
        }
    }

    fn add(&mut self, loc: Option<usize>, assigned: bool, read: bool) {
        let Some(loc) = loc else { return };
        if assigned {
            self.assigned.grow_and_insert(loc);
        }
        if read {
            self.read.grow_and_insert(loc);
        }
    }
}

/// Maps the variables of a unit to locations: which variables are the same, and which are COMMON
/// variables that other units have, too.
pub trait Locations {
    /// Returns the location of a variable. Variables that share storage may have the same one.
    /// `None` if the variable is not tracked.
    fn loc(&self, s: SymId) -> Option<usize>;

    /// Returns the location of a COMMON variable, by its number in the program. `None` if COMMON is
    /// not tracked.
    fn common(&self, number: usize) -> Option<usize>;
}

/// Treats all variables as distinct, without COMMON.
struct EachSymbol;

impl Locations for EachSymbol {
    fn loc(&self, s: SymId) -> Option<usize> {
        Some(s.0 as usize)
    }

    fn common(&self, _: usize) -> Option<usize> {
        None
    }
}

/// Assumptions about dummy procedures.
#[derive(Debug, Default)]
pub enum DummyAssumptions {
    /// They may do anything to their arguments.
    #[default]
    Anything,
    /// They assign nothing.
    Harmless,
    /// They are closures from another language, which assign only what [`closure_may_assign`]
    /// allows.
    Closures,
    /// More is known about some of them, by the unit's name and the name of the dummy. Variables
    /// that a procedure captures count as read and assigned where the procedure is passed.
    Known(HashMap<(Name, Name), Box<dyn KnownDummy>>),
}

/// A dummy procedure for which it is known which procedures it can be.
pub trait KnownDummy: fmt::Debug {
    /// Returns the procedures from which its effect is derived.
    fn targets(&self) -> &[Name];

    /// Returns its effect, given the combined effect of all targets.
    fn effect(&self, targets: Effect) -> Option<Effect>;
}

/// Adds the effects of a statement of a unit itself.
pub type FindStatementEffects = fn(&Effects, &Unit, &dyn Locations, &Stmt, &mut StatementEffects);

/// What to compute.
pub struct EffectsOptions {
    /// The number of COMMON variables in the program.
    pub commons: usize,
    /// Whether to compute reads, too.
    pub reads: bool,
    /// Assumptions about dummy procedures.
    pub dummies: DummyAssumptions,
    /// Effects of procedures without source. The source takes precedence if there is one.
    pub without_source: HashMap<Name, Effect>,
    /// Determines the effects of statements: [`Effects::statement`], or a function that adds to it.
    pub find_effects: FindStatementEffects,
}

impl Default for EffectsOptions {
    fn default() -> Self {
        EffectsOptions {
            commons: 0,
            reads: false,
            dummies: DummyAssumptions::default(),
            without_source: HashMap::new(),
            find_effects: Effects::statement,
        }
    }
}

/// What is known about a called procedure.
enum Callee<'e> {
    /// Its effect.
    Effect(Cow<'e, Effect>),
    /// Nothing is known.
    Unknown,
    /// It assigns nothing itself.
    Harmless,
    /// It assigns what [`closure_may_assign`] allows.
    Closure,
    /// It assigns what a directive says.
    Described(&'e ProcedureDirective),
}

/// The effects of the procedures of a program.
#[derive(Debug, Default)]
pub struct Effects {
    by_name: HashMap<Name, Effect>,
    dummies: DummyAssumptions,
    /// Whether reads are computed, too.
    reads: bool,
}

impl Effects {
    /// Analyses top-level units.
    pub fn of(units: &[(&Unit, &dyn Locations)], options: EffectsOptions) -> Self {
        let EffectsOptions {
            commons,
            reads,
            dummies,
            without_source,
            find_effects,
        } = options;
        let entries = units.iter().flat_map(|(u, _)| u.entry_points());
        let nothing = |e: EntryPoint| (e.name.clone(), Effect::nothing(e.args.len(), commons));
        let described_effects = described(units.iter().map(|(u, _)| *u));
        let described_effects = described_effects
            .map(|(name, usage)| (name.clone(), Effect::described(name, usage, commons)));
        let mut all = Effects {
            by_name: described_effects
                .chain(without_source)
                .chain(entries.map(nothing))
                .collect(),
            dummies,
            reads,
        };
        let callers = callers(units, &all.dummies);
        let mut open = callees_last(units, &callers);
        let mut waiting = vec![true; units.len()];
        while let Some(i) = open.pop() {
            waiting[i] = false;
            let (unit, locations) = units[i];
            let touched = all.unit(unit, locations, find_effects);
            for entry in unit.entry_points() {
                let new = all.of_entry(&entry, locations, commons, &touched);
                // Effects only grow: otherwise two units with the same name (a reported error)
                // would undo each other's changes forever.
                let old = all.by_name.get_mut(entry.name);
                if old.is_some_and(|old| old.join(&new)) {
                    for caller in callers.get(entry.name).into_iter().flatten() {
                        if !std::mem::replace(&mut waiting[*caller], true) {
                            open.push(*caller);
                        }
                    }
                }
            }
        }
        all
    }

    /// Returns the effect of an entry point, from the effects of all statements of its unit:
    /// reachability from the entry point is not considered.
    fn of_entry(
        &self,
        entry: &EntryPoint,
        locations: &dyn Locations,
        commons: usize,
        touched: &StatementEffects,
    ) -> Effect {
        let mut effect = Effect::nothing(entry.args.len(), commons);
        let mut slot = |slot: usize, loc: Option<usize>| {
            let Some(loc) = loc else { return };
            effect.assigned.set(slot, touched.assigned.contains(loc));
            let read = self.reads && touched.read.contains(loc);
            effect.read.set(slot, read);
        };
        for (i, arg) in entry.args.iter().enumerate() {
            if let Some(s) = arg.sym()
                && self.has_effects(entry.unit, s)
            {
                slot(i, locations.loc(s));
            }
        }
        if let Some(s) = entry.result {
            slot(entry.args.len(), locations.loc(s));
        }
        for k in 0..commons {
            slot(entry.args.len() + 1 + k, locations.common(k));
        }
        effect.side_effects = touched.side_effects;
        effect
    }

    /// Whether the effects on this argument matter to callers. If dummy procedures are known, the
    /// variables that a procedure captures have been counted where it is passed.
    fn has_effects(&self, unit: &Unit, arg: SymId) -> bool {
        let known = matches!(self.dummies, DummyAssumptions::Known(_));
        !known || unit.symbols[arg].is_variable()
    }

    /// Returns the effect of a top-level unit or an ENTRY point.
    pub fn get(&self, name: &str) -> Option<&Effect> {
        self.by_name.get(name)
    }

    /// Sets the effect of the procedure with this name.
    pub fn insert(&mut self, name: Name, effect: Effect) {
        self.by_name.insert(name, effect);
    }

    /// Returns the effect of a dummy procedure of a unit, if it is known.
    pub fn of_dummy(&self, unit: &Name, dummy: &Name) -> Option<Effect> {
        let DummyAssumptions::Known(all) = &self.dummies else {
            return None;
        };
        let known = all.get(&(unit.clone(), dummy.clone()))?;
        let mut targets = known.targets().iter().map(|t| self.get(t));
        let mut joined = targets.next()??.clone();
        for one in targets {
            let one = one.filter(|e| e.args == joined.args)?;
            joined.join(one);
        }
        known.effect(joined)
    }

    fn callee<'e>(&'e self, unit: &'e Unit, callee: SymId) -> Callee<'e> {
        let symbol = &unit.symbols[callee];
        let effect = match (&symbol.storage_class, &self.dummies) {
            (StorageClass::Dummy, DummyAssumptions::Harmless) => return Callee::Harmless,
            (StorageClass::Dummy, DummyAssumptions::Closures) => return Callee::Closure,
            (StorageClass::Dummy, _) => self.of_dummy(&unit.name, &symbol.name).map(Cow::Owned),
            // Nothing is known about subprograms nested here.
            _ => callee_name(unit, callee)
                .and_then(|name| self.get(name))
                .map(Cow::Borrowed),
        };
        // Code outside of the program passes what the directive describes.
        let of_dummy = symbol.storage_class == StorageClass::Dummy;
        let mut rules = unit.directives.iter().filter(|_| of_dummy);
        let rule = rules
            .find(|g| g.dummy_of.is_some() && g.procedure == symbol.name && g.arguments.is_some());
        match (effect, rule) {
            (Some(effect), _) => Callee::Effect(effect),
            (None, Some(rule)) => Callee::Described(rule),
            (None, None) => Callee::Unknown,
        }
    }

    /// Returns the effects of all statements of a unit, including nested subprograms, and of
    /// evaluating its bounds.
    fn unit(
        &self,
        unit: &Unit,
        locations: &dyn Locations,
        find_effects: FindStatementEffects,
    ) -> StatementEffects {
        let mut touched = StatementEffects::nothing(unit.symbols.len());
        walk_block(&unit.body, &mut |s| {
            find_effects(self, unit, locations, s, &mut touched)
        });
        if self.reads {
            access::at_entry(unit, None, &mut |a| {
                self.access(unit, locations, a, &mut touched);
            });
        }
        for nested in &unit.nested {
            let inside = self.unit(nested, &EachSymbol, find_effects);
            touched.side_effects = touched.side_effects.max(inside.side_effects);
            // In a program with errors, the variables may belong to another host, which does not
            // exist.
            for (s, symbol) in nested.symbols.iter() {
                if let StorageClass::Host(outer) = symbol.storage_class {
                    let s = s.0 as usize;
                    let (assigned, read) = (inside.assigned.contains(s), inside.read.contains(s));
                    touched.add(locations.loc(outer), assigned, read);
                }
            }
        }
        touched
    }

    /// Adds the effects of a statement itself, without those of the statements in it.
    pub fn statement(
        &self,
        unit: &Unit,
        at: &dyn Locations,
        s: &Stmt,
        touched: &mut StatementEffects,
    ) {
        access::statement(unit, s, false, &mut |a| self.access(unit, at, a, touched));
    }

    /// Adds the effect of a single access.
    pub fn access(
        &self,
        unit: &Unit,
        at: &dyn Locations,
        a: Access,
        touched: &mut StatementEffects,
    ) {
        match a {
            Access::Variable { sym, kind, .. } => {
                touched.add(at.loc(sym), kind.changes(), kind.reads());
            }
            Access::Call(call) => self.call(unit, at, &call, touched),
            // In other cases the effects of a closure are seen in the copy of the procedure that
            // `specialize` creates for it.
            Access::Closure { captured, .. }
                if matches!(self.dummies, DummyAssumptions::Known(_)) =>
            {
                for s in captured {
                    touched.add(at.loc(*s), true, true);
                }
            }
            Access::Closure { .. } => {}
            Access::SideEffect(what) => {
                let side_effects = match what {
                    access::SideEffect::Stop
                    | access::SideEffect::Internal
                    | access::SideEffect::Output => SideEffects::Repeatable,
                    access::SideEffect::File
                    | access::SideEffect::Storage
                    | access::SideEffect::Pause => SideEffects::Once,
                };
                touched.side_effects = touched.side_effects.max(side_effects);
            }
        }
    }

    /// Adds the effects of a call on the caller's variables.
    fn call(&self, unit: &Unit, at: &dyn Locations, call: &Call, touched: &mut StatementEffects) {
        let callee = self.callee(unit, call.callee);
        // A procedure that is passed may assign the other arguments, if the callee passes them to
        // it.
        let harmless = matches!(self.dummies, DummyAssumptions::Harmless);
        let sends = harmless && call.args.iter().any(|a| passes_procedure(unit, a));
        for (i, a) in call.args.iter().enumerate() {
            let (assigned, read) = match &callee {
                Callee::Effect(e) if i < e.args => (e.assigned.contains(i), e.read.contains(i)),
                // The callee does not know of surplus arguments.
                Callee::Effect(_) => (false, false),
                Callee::Harmless => (false, true),
                Callee::Closure => (closure_may_assign(unit, call.callee, i, a), true),
                Callee::Described(rule) => (rule.assigns(i), true),
                Callee::Unknown => (true, true),
            };
            let mut add = |s| touched.add(at.loc(s), assigned || sends, read);
            match &a.kind {
                ExprKind::Closure(_, captured) => captured.iter().copied().for_each(add),
                _ => {
                    if let Some(passed) = call.passed_variable(i) {
                        add(passed.sym);
                    }
                }
            }
        }
        let side_effects = match &callee {
            Callee::Effect(effect) => {
                let common = |slot: usize| at.common(slot.checked_sub(effect.args + 1)?);
                for slot in effect.assigned.ones() {
                    touched.add(common(slot), true, false);
                }
                for slot in effect.read.ones() {
                    touched.add(common(slot), false, true);
                }
                effect.side_effects
            }
            _ if ends(unit, call.callee) => SideEffects::Repeatable,
            Callee::Unknown if reports(unit, call) => SideEffects::Report,
            _ => SideEffects::Once,
        };
        touched.side_effects = touched.side_effects.max(side_effects);
    }
}

/// Returns the descriptions of arguments of procedures without source, from all units of a program.
pub fn described<'p>(
    units: impl Iterator<Item = &'p Unit>,
) -> impl Iterator<Item = (&'p Name, &'p [ArgumentUsage])> {
    let given = units.flat_map(|u| &u.directives);
    given.filter_map(|g| Some((&g.procedure, g.usage.as_deref()?)))
}

/// Returns, for each procedure name, the positions of the units that have to be analysed again if
/// the procedure's effect changes.
fn callers<'p>(
    units: &[(&'p Unit, &dyn Locations)],
    dummies: &'p DummyAssumptions,
) -> HashMap<&'p Name, Vec<usize>> {
    let mut callers: HashMap<&Name, Vec<usize>> = HashMap::new();
    for (i, (unit, _)) in units.iter().enumerate() {
        each_callee(unit, &mut |callee| {
            callers.entry(callee).or_default().push(i)
        });
    }
    if let DummyAssumptions::Known(all) = dummies {
        let places = units.iter().enumerate();
        let places: HashMap<&Name, usize> = places.map(|(i, (u, _))| (&u.name, i)).collect();
        for ((unit, _), dummy) in all {
            for target in dummy.targets() {
                let place = places.get(unit).copied();
                callers.entry(target).or_default().extend(place);
            }
        }
    }
    callers
}

/// Returns all units, each after its callers unless they call each other: taken from the end, most are analysed
/// only once.
fn callees_last(
    units: &[(&Unit, &dyn Locations)],
    callers: &HashMap<&Name, Vec<usize>>,
) -> Vec<usize> {
    let callers_of: Vec<Vec<usize>> = units
        .iter()
        .map(|(unit, _)| {
            let names = unit.entry_points().map(|e| e.name);
            names
                .filter_map(|n| callers.get(n))
                .flatten()
                .copied()
                .collect()
        })
        .collect();
    callees_first(0..units.len(), |i| callers_of[i].as_slice())
}

/// Calls `f` with the name of every procedure that a unit, or one nested in it, refers to.
fn each_callee<'p>(unit: &'p Unit, f: &mut dyn FnMut(&'p Name)) {
    for (_, s) in unit.symbols.iter() {
        match s.storage_class {
            StorageClass::Global => f(&s.name),
            // A function may call itself by the name of its result.
            StorageClass::Result => f(&unit.name),
            _ => {}
        }
    }
    unit.nested.iter().for_each(|n| each_callee(n, f));
}

/// Whether a call of a procedure without source is a [`SideEffects::Report`].
fn reports(unit: &Unit, call: &Call) -> bool {
    let callee = &unit.symbols[call.callee];
    let is_input = |i: usize, a: &Expr| match call.passed_variable(i) {
        Some(passed) => {
            let symbol = &unit.symbols[passed.sym];
            let number = matches!(symbol.ty, None | Some(Type::Real(_) | Type::Complex(_)));
            !number && symbol.storage_class != StorageClass::Local
        }
        None => !passes_procedure(unit, a),
    };
    callee.class == Class::Subroutine
        && callee.storage_class == StorageClass::Global
        && (call.args.iter().enumerate()).all(|(i, a)| is_input(i, a))
}

/// Whether this is a vendor extension that ends the program, like STOP.
fn ends(unit: &Unit, callee: SymId) -> bool {
    let written = |k: &SpecKind| matches!(k, SpecKind::External(l) if l.contains(&callee));
    let symbol = &unit.symbols[callee];
    matches!(symbol.name.as_str(), "EXIT" | "ABORT")
        && symbol.storage_class == StorageClass::Global
        && !unit.specs.iter().any(|s| written(&s.kind))
}
