//! What procedures may do to variables and to the world outside, whatever way control takes.
//!
//! Each unit, and each of its ENTRY points, has one [`Effect`], found by a fixed point over the call
//! graph. `Effects::call` hands on what a callee does to the caller's variables, and says what
//! dummy procedures and those without text do. Who only asks what is assigned takes [`Assigned`].

mod arguments;
mod assigned;

pub use arguments::{closure_may_assign, is_constant, procedure_dummies};
pub use assigned::Assigned;

use crate::access::{self, Access, Call, callee_name};
use arguments::passes_procedure;
use farfel_ir::ir::{
    EntryPoint, Expr, ExprKind, Name, Place, SpecKind, Stmt, SymId, Unit, Usage, walk_block,
};
use fixedbitset::FixedBitSet as Set;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// What happens besides variables being read and assigned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Besides {
    /// Nothing.
    #[default]
    Nothing,
    /// What may happen a second time: the program ends, or an internal file is read or written.
    Repeatable,
    /// What must not be done twice: files, storage that comes and goes, PAUSE, and whatever
    /// procedures without text do.
    Once,
}

/// What a procedure may do, seen from outside.
///
/// Its *slots* are its arguments in order, its result, and COMMON variables by the numbers that
/// [`Locations`] give them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// How many arguments it has.
    pub args: usize,
    /// Slots that it may assign. Of an argument that is a procedure: it may be called, so that
    /// what it takes along may be assigned.
    pub assigned: Set,
    /// Slots that it may read.
    pub read: Set,
    /// What else it may do.
    pub besides: Besides,
}

impl Effect {
    /// That of a procedure with some arguments that does nothing, in a program with so many
    /// COMMON variables.
    pub fn nothing(args: usize, commons: usize) -> Self {
        Effect {
            args,
            assigned: Set::with_capacity(args + 1 + commons),
            read: Set::with_capacity(args + 1 + commons),
            besides: Besides::Nothing,
        }
    }

    /// That of a procedure without text, of whose arguments this is said.
    pub fn described(usage: &[Usage], commons: usize) -> Self {
        let mut effect = Effect::nothing(usage.len(), commons);
        for (i, u) in usage.iter().enumerate() {
            effect.assigned.set(i, u.writes);
            effect.read.set(i, u.reads);
        }
        // All that it does is said: so it may do it again.
        effect.besides = Besides::Repeatable;
        effect
    }

    /// Adds what another procedure with the same arguments may do. Does that change anything
    /// for callers? They do not see the result.
    pub fn join(&mut self, other: &Effect) -> bool {
        let seen = |old: &Set, new: &Set| new.difference(old).any(|slot| slot != self.args);
        let more = seen(&self.assigned, &other.assigned)
            || seen(&self.read, &other.read)
            || other.besides > self.besides;
        self.assigned.union_with(&other.assigned);
        self.read.union_with(&other.read);
        self.besides = self.besides.max(other.besides);
        more
    }
}

/// What some statements of a unit may do, as locations of the unit.
#[derive(Debug, Clone)]
pub struct Touched {
    /// Locations that they may assign.
    pub assigned: Set,
    /// Locations that they may read.
    pub read: Set,
    /// What else they may do.
    pub besides: Besides,
}

impl Touched {
    /// Nothing yet, of a unit with so many locations.
    pub fn nothing(locations: usize) -> Self {
        Touched {
            assigned: Set::with_capacity(locations),
            read: Set::with_capacity(locations),
            besides: Besides::Nothing,
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

/// Which variables of a unit are one, and which are COMMON variables that other units have, too.
pub trait Locations {
    /// The location of a variable. Variables that share storage may have the same. None where it is not
    /// followed.
    fn loc(&self, s: SymId) -> Option<usize>;

    /// The location of a COMMON variable, by its number in the program. None where COMMON is not
    /// followed.
    fn common(&self, number: usize) -> Option<usize>;
}

/// A unit whose variables are all told apart, without COMMON.
struct Symbols;

impl Locations for Symbols {
    fn loc(&self, s: SymId) -> Option<usize> {
        Some(s.0 as usize)
    }

    fn common(&self, _: usize) -> Option<usize> {
        None
    }
}

/// What is thought of the procedures that units get as arguments.
#[derive(Debug, Default)]
pub enum Dummies {
    /// They may do anything to what they get.
    #[default]
    Anything,
    /// They assign nothing.
    Harmless,
    /// They are closures of another language, which assign only what [`closure_may_assign`]
    /// lets them.
    Closures,
    /// Of those of some units, by the unit's name and their name there, more is known. Variables that
    /// a procedure takes along count as read and assigned where it is passed on.
    Known(HashMap<(Name, Name), Box<dyn KnownDummy>>),
}

/// A dummy procedure of which is known what it can be.
pub trait KnownDummy: fmt::Debug {
    /// The procedures by which its effect is found.
    fn targets(&self) -> &[Name];

    /// Its effect, if that of all targets together is known.
    fn effect(&self, targets: Effect) -> Option<Effect>;
}

/// Adds what a statement of a unit itself does.
pub type Own = fn(&Effects, &Unit, &dyn Locations, &Stmt, &mut Touched);

/// What shall be found.
pub struct Question {
    /// How many COMMON variables the program has.
    pub commons: usize,
    /// What is read, too.
    pub reads: bool,
    /// What is thought of dummy procedures.
    pub dummies: Dummies,
    /// Procedures whose effect is known without their text. If there is a text, that goes before.
    pub without_text: HashMap<Name, Effect>,
    /// What statements do: [`Effects::own`], or more.
    pub own: Own,
}

impl Default for Question {
    fn default() -> Self {
        Question {
            commons: 0,
            reads: false,
            dummies: Dummies::default(),
            without_text: HashMap::new(),
            own: Effects::own,
        }
    }
}

/// What is known of what a symbol calls.
enum Callee<'e> {
    /// This.
    Effect(Cow<'e, Effect>),
    /// Nothing.
    Unknown,
    /// It assigns nothing itself.
    Harmless,
    /// It assigns what [`closure_may_assign`] lets it.
    Closure,
}

/// The effects of the procedures of a program.
#[derive(Debug, Default)]
pub struct Effects {
    by_name: HashMap<Name, Effect>,
    dummies: Dummies,
    /// Reads are found, too.
    reads: bool,
}

impl Effects {
    /// Analyses top-level units. It is fastest if callees come last.
    pub fn of(units: &[(&Unit, &dyn Locations)], question: Question) -> Self {
        let Question {
            commons,
            reads,
            dummies,
            without_text,
            own,
        } = question;
        let entries = units.iter().flat_map(|(u, _)| u.entry_points());
        let nothing = |e: EntryPoint| (e.name.clone(), Effect::nothing(e.args.len(), commons));
        let said = described(units.iter().map(|(u, _)| *u));
        let said = said.map(|(name, usage)| (name.clone(), Effect::described(usage, commons)));
        let mut all = Effects {
            by_name: said
                .chain(without_text)
                .chain(entries.map(nothing))
                .collect(),
            dummies,
            reads,
        };
        let mut open: Vec<usize> = (0..units.len()).collect();
        let mut waiting = vec![true; units.len()];
        let callers = callers(units, &all.dummies);
        while let Some(i) = open.pop() {
            waiting[i] = false;
            let (unit, locations) = units[i];
            let touched = all.unit(unit, locations, own);
            for entry in unit.entry_points() {
                let new = all.of_entry(&entry, locations, commons, &touched);
                // Only ever more: of two units with one name (a fault that is reported) each
                // would undo what the other says, for ever.
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

    /// The effect of an entry point of a unit that does this in all: which statements it reaches is
    /// not asked.
    fn of_entry(
        &self,
        entry: &EntryPoint,
        locations: &dyn Locations,
        commons: usize,
        touched: &Touched,
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
        effect.besides = touched.besides;
        effect
    }

    /// Does it matter to callers what is done to this argument? Where known dummy procedures
    /// are passed on, what they take along has been counted already.
    fn has_effects(&self, unit: &Unit, arg: SymId) -> bool {
        let known = matches!(self.dummies, Dummies::Known(_));
        !known || unit.symbols[arg].is_variable()
    }

    /// The effect of a top-level unit or an ENTRY point.
    pub fn get(&self, name: &str) -> Option<&Effect> {
        self.by_name.get(name)
    }

    /// Says what the procedure of a name does.
    pub fn insert(&mut self, name: Name, effect: Effect) {
        self.by_name.insert(name, effect);
    }

    /// The effect of a dummy procedure of a unit, where that is known.
    pub fn of_dummy(&self, unit: &Name, dummy: &Name) -> Option<Effect> {
        let Dummies::Known(all) = &self.dummies else {
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

    fn callee(&self, unit: &Unit, callee: SymId) -> Callee<'_> {
        let symbol = &unit.symbols[callee];
        let effect = match (&symbol.place, &self.dummies) {
            (Place::Dummy, Dummies::Harmless) => return Callee::Harmless,
            (Place::Dummy, Dummies::Closures) => return Callee::Closure,
            (Place::Dummy, _) => self.of_dummy(&unit.name, &symbol.name).map(Cow::Owned),
            // Of what is nested here, nothing is known.
            _ => callee_name(unit, callee)
                .and_then(|name| self.get(name))
                .map(Cow::Borrowed),
        };
        effect.map_or(Callee::Unknown, Callee::Effect)
    }

    /// What a unit does by all its statements, those of the subprograms nested in it, and its
    /// bounds.
    fn unit(&self, unit: &Unit, locations: &dyn Locations, own: Own) -> Touched {
        let mut touched = Touched::nothing(unit.symbols.len());
        walk_block(&unit.body, &mut |s| {
            own(self, unit, locations, s, &mut touched)
        });
        if self.reads {
            access::at_entry(unit, None, &mut |a| {
                self.access(unit, locations, a, &mut touched);
            });
        }
        for nested in &unit.nested {
            let inside = self.unit(nested, &Symbols, own);
            touched.besides = touched.besides.max(inside.besides);
            // In a program with faults, the variables may be those of another host, which is not there.
            for (s, symbol) in nested.symbols.iter() {
                if let Place::Host(outer) = symbol.place {
                    let s = s.0 as usize;
                    let (assigned, read) = (inside.assigned.contains(s), inside.read.contains(s));
                    touched.add(locations.loc(outer), assigned, read);
                }
            }
        }
        touched
    }

    /// Adds what a statement itself does, without the statements in it.
    pub fn own(&self, unit: &Unit, at: &dyn Locations, s: &Stmt, touched: &mut Touched) {
        access::own(unit, s, false, &mut |a| self.access(unit, at, a, touched));
    }

    /// Adds what finding the value of an expression does.
    pub fn value(&self, unit: &Unit, at: &dyn Locations, e: &Expr, touched: &mut Touched) {
        access::value(unit, e, &mut |a| self.access(unit, at, a, touched));
    }

    /// Adds one thing that happens.
    pub fn access(&self, unit: &Unit, at: &dyn Locations, a: Access, touched: &mut Touched) {
        match a {
            Access::Variable { sym, kind, .. } => {
                touched.add(at.loc(sym), kind.changes(), kind.reads());
            }
            Access::Call(call) => self.call(unit, at, &call, touched),
            // What a known procedure does with a closure is otherwise seen in the copy for it,
            // which `specialize` makes.
            Access::Closure { captured, .. } if matches!(self.dummies, Dummies::Known(_)) => {
                for s in captured {
                    touched.add(at.loc(*s), true, true);
                }
            }
            Access::Closure { .. } => {}
            Access::Outside(what) => {
                let besides = match what {
                    access::Outside::Stop | access::Outside::Internal => Besides::Repeatable,
                    access::Outside::File | access::Outside::Storage | access::Outside::Pause => {
                        Besides::Once
                    }
                };
                touched.besides = touched.besides.max(besides);
            }
        }
    }

    /// Adds what a call does to the caller's variables.
    fn call(&self, unit: &Unit, at: &dyn Locations, call: &Call, touched: &mut Touched) {
        let callee = self.callee(unit, call.callee);
        // What else is passed on may assign what the callee passes to it.
        let harmless = matches!(self.dummies, Dummies::Harmless);
        let sends = harmless && call.args.iter().any(|a| passes_procedure(unit, a));
        for (i, a) in call.args.iter().enumerate() {
            let (assigned, read) = match &callee {
                Callee::Effect(e) if i < e.args => (e.assigned.contains(i), e.read.contains(i)),
                // It knows nothing of what it gets too much.
                Callee::Effect(_) => (false, false),
                Callee::Harmless => (false, true),
                Callee::Closure => (closure_may_assign(unit, call.callee, a), true),
                Callee::Unknown => (true, true),
            };
            let mut add = |s| touched.add(at.loc(s), assigned || sends, read);
            match &a.kind {
                ExprKind::Closure(_, captured) => captured.iter().copied().for_each(add),
                _ => {
                    if let Some(passed) = call.passed(i) {
                        add(passed.sym);
                    }
                }
            }
        }
        let besides = match &callee {
            Callee::Effect(effect) => {
                let common = |slot: usize| at.common(slot.checked_sub(effect.args + 1)?);
                for slot in effect.assigned.ones() {
                    touched.add(common(slot), true, false);
                }
                for slot in effect.read.ones() {
                    touched.add(common(slot), false, true);
                }
                effect.besides
            }
            _ if ends(unit, call.callee) => Besides::Repeatable,
            _ => Besides::Once,
        };
        touched.besides = touched.besides.max(besides);
    }
}

/// What is said of the arguments of procedures without text, in all units of a program.
pub fn described<'p>(
    units: impl Iterator<Item = &'p Unit>,
) -> impl Iterator<Item = (&'p Name, &'p [Usage])> {
    let given = units.flat_map(|u| &u.given);
    given.filter_map(|g| Some((&g.procedure, g.usage.as_deref()?)))
}

/// For the name of a procedure, the positions of the units that must be looked at again when its effect
/// changes.
fn callers<'p>(
    units: &[(&'p Unit, &dyn Locations)],
    dummies: &'p Dummies,
) -> HashMap<&'p Name, Vec<usize>> {
    let mut callers: HashMap<&Name, Vec<usize>> = HashMap::new();
    for (i, (unit, _)) in units.iter().enumerate() {
        each_callee(unit, &mut |callee| {
            callers.entry(callee).or_default().push(i)
        });
    }
    if let Dummies::Known(all) = dummies {
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

/// Calls `f` with the name of every procedure that a unit, or one nested in it, names.
fn each_callee<'p>(unit: &'p Unit, f: &mut dyn FnMut(&'p Name)) {
    for (_, s) in unit.symbols.iter() {
        match s.place {
            Place::Global => f(&s.name),
            // A function may call itself by the name of its result.
            Place::Result => f(&unit.name),
            _ => {}
        }
    }
    unit.nested.iter().for_each(|n| each_callee(n, f));
}

/// Is it the extension that ends the program, as STOP does?
fn ends(unit: &Unit, callee: SymId) -> bool {
    let written = |k: &SpecKind| matches!(k, SpecKind::External(l) if l.contains(&callee));
    let symbol = &unit.symbols[callee];
    matches!(symbol.name.as_str(), "EXIT" | "ABORT")
        && symbol.place == Place::Global
        && !unit.specs.iter().any(|s| written(&s.kind))
}
