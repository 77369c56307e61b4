//! The names of what one run generates, and which contexts it generates.

use super::{MOST_CONTEXTS, Provide, Wanted};
use crate::depend::Dependence;
use crate::layout::{Layout, Members, Taken};
use crate::locations::{Context, Set, differentiable};
use farfel_lang::ir::{Name, Place, Program, UnitKind};
use std::collections::{HashMap, HashSet};

/// When the context of a derivative has grown last, and when it was generated last.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    grown: u64,
    generated: u64,
}

/// Names and contexts of one run.
#[derive(Debug)]
pub(crate) struct Names {
    /// Names of units and COMMON blocks, also of those made so far.
    globals: HashSet<Name>,
    /// Names of symbols in any unit below the head: a new unit must not hide behind one.
    locals: HashSet<Name>,
    /// Names of cotangents of results: the adjoint of a function leaves them to these.
    results: HashSet<Name>,
    layout: Layout,
    wanted: Vec<Wanted>,
    by_context: HashMap<(Name, Context), usize>,
    /// For each unit its only context, where there is one only.
    by_unit: HashMap<Name, usize>,
    /// For each unit the outputs that are there for the sake of their size only.
    sized: HashMap<Name, Set>,
    /// Something has grown since the last [`Names::settled`].
    grown: bool,
    /// Counts what contexts get.
    clock: u64,
    /// Of each derivative, when its context has grown last, and when it was generated last.
    times: Vec<Times>,
    /// Those whose context has grown since the last [`Names::take_larger`].
    larger: Vec<usize>,
    /// The same since the last [`Names::freeze`].
    unfrozen: Vec<usize>,
    /// COMMON variables whose derivatives go from one unit to another, as of the last
    /// [`Names::freeze`].
    shared: Set,
    /// The active arguments of dummy procedures.
    dummies: HashMap<Name, Set>,
    /// How many arguments dummy procedures have, where a call has told.
    dummy_args: HashMap<Name, usize>,
    /// Those that are passed as arguments.
    passed: Set,
    /// Procedures without text, and what of their derivatives is called.
    unknown: HashMap<Name, Provide>,
    count: HashMap<Name, usize>,
    /// Units that get no more contexts of their own, as of the last [`Names::freeze`].
    full: HashSet<Name>,
    /// Those that have become full since.
    filled: Vec<Name>,
    largest: HashMap<Name, Context>,
    blocks: HashMap<Name, Name>,
}

impl Names {
    pub fn new(program: &Program, layout: &Layout, dependence: &Dependence) -> Self {
        let mut globals: HashSet<Name> = HashSet::new();
        let mut locals = HashSet::new();
        let mut largest = HashMap::new();
        for u in &program.units {
            globals.insert(u.name.clone());
            let below = dependence.summary(&u.name).is_some();
            let avoided = match layout.taken {
                Taken::Defined => false,
                Taken::MentionedBelow => below,
                Taken::Mentioned => true,
            };
            if avoided {
                let mentioned = u.symbols.iter().filter(|(_, s)| s.place == Place::Global);
                globals.extend(mentioned.map(|(_, s)| s.name.clone()));
            }
            if let Some(summary) = dependence.summary(&u.name) {
                // Only what lies below the head calls what this run makes.
                locals.extend(u.symbols.iter().map(|(_, s)| s.name.clone()));
                let slots = summary.depends.slots();
                let mut all = Set::with_capacity(slots);
                for (i, a) in u.args.iter().enumerate() {
                    all.set(i, a.sym().is_some_and(|s| differentiable(&u.symbols[s])));
                }
                all.set(
                    summary.args,
                    u.result.is_some_and(|s| differentiable(&u.symbols[s])),
                );
                for (k, v) in dependence.commons.vars.iter().enumerate() {
                    all.set(summary.args + 1 + k, v.differentiable);
                }
                let mut outputs = summary.assigned.clone();
                outputs.intersect_with(&all);
                let mut inputs = Set::with_capacity(slots);
                for o in outputs.ones() {
                    summary.depends.add_to(o, &mut inputs);
                    if summary.arrays.contains(o) {
                        inputs.insert(o);
                    }
                }
                inputs.intersect_with(&all);
                largest.insert(u.name.clone(), Context { inputs, outputs });
            }
        }
        globals.extend(dependence.commons.vars.iter().map(|v| v.block.clone()));
        let functions = program
            .units
            .iter()
            .filter(|u| u.kind == UnitKind::Function);
        let results = functions
            .filter(|_| layout.adjoint)
            .map(|u| layout.variables.of(&u.name).into())
            .collect();
        Names {
            results,
            globals,
            locals,
            layout: layout.clone(),
            wanted: Vec::new(),
            by_context: HashMap::new(),
            by_unit: HashMap::new(),
            sized: HashMap::new(),
            grown: false,
            clock: 0,
            times: Vec::new(),
            larger: Vec::new(),
            unfrozen: Vec::new(),
            shared: Set::with_capacity(dependence.commons.vars.len()),
            dummies: HashMap::new(),
            dummy_args: HashMap::new(),
            passed: Set::new(),
            unknown: HashMap::new(),
            count: HashMap::new(),
            full: HashSet::new(),
            filled: Vec::new(),
            largest,
            blocks: HashMap::new(),
        }
    }

    /// A name that the caller gives to what it makes.
    pub fn reserve(&mut self, name: &Name) {
        self.globals.insert(name.clone());
    }

    /// Is this the name of a unit or COMMON block?
    pub fn is_taken(&self, name: &str) -> bool {
        self.globals.contains(name)
    }

    fn global(&mut self, wanted: &str) -> Name {
        let name = self.layout.numbering.unused(wanted, &|n| {
            self.globals.contains(n) || self.locals.contains(n) || self.results.contains(n)
        });
        self.globals.insert(name.clone());
        name
    }

    /// From here on to the next call of this function, [`Names::admit`] gives the same
    /// answers.
    pub fn freeze(&mut self) {
        self.full.extend(self.filled.drain(..));
        if self.layout.members == Members::All {
            // Nobody asks what is shared.
            return;
        }
        self.shared.extend(self.passed.ones());
        for i in self.unfrozen.drain(..) {
            let w = &self.wanted[i];
            let Context { inputs, outputs } = &w.context;
            let from = w.args + 1;
            let active = inputs.ones().chain(outputs.ones());
            self.shared
                .extend(active.filter_map(|slot| slot.checked_sub(from)));
        }
    }

    /// Does the derivative of the COMMON variable of a number stand in COMMON?
    pub fn shares(&self, k: usize) -> bool {
        self.layout.members == Members::All || self.shared.contains(k)
    }

    /// Whether all contexts are what they were when this was asked last; if not, what was
    /// generated since may be wrong.
    pub fn settled(&mut self) -> bool {
        !std::mem::take(&mut self.grown)
    }

    /// The context of the `i`th derivative has grown.
    fn grow(&mut self, i: usize) {
        self.grown |= self.layout.has_one_context();
        self.clock += 1;
        self.times[i].grown = self.clock;
        self.larger.push(i);
        self.unfrozen.push(i);
    }

    /// The derivatives whose contexts have grown since this was asked last.
    pub fn take_larger(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.larger)
    }

    /// Says that the `i`th derivative has been generated, in the contexts of now.
    pub fn set_generated(&mut self, i: usize) {
        self.times[i].generated = self.clock;
    }

    /// Has the context of a derivative, that is called by another or the same, grown since that
    /// other was generated?
    pub fn is_outdated(&self, caller: usize, callee: usize) -> bool {
        self.times[callee].grown > self.times[caller].generated
    }

    /// The only derivative of a unit, where units have one only.
    pub fn of_unit(&self, unit: &str) -> Option<usize> {
        self.by_unit.get(unit).copied()
    }

    /// The context that a call gets when it asks for one.
    pub fn admit(&self, unit: &str, mut context: Context) -> Context {
        if self.layout.has_one_context() {
            let known = self.by_unit.get(unit).map(|i| &self.wanted[*i].context);
            let unknown = self.unknown.get(unit).map(|p| &p.active);
            let unknown = unknown.or_else(|| self.dummies.get(unit));
            if let Some(Context { inputs, outputs }) = known {
                context.inputs.union_with(inputs);
                context.outputs.union_with(outputs);
            } else if let Some(set) = unknown {
                context.inputs.union_with(set);
                context.outputs.union_with(set);
            }
            return context;
        }
        if self.full.contains(unit)
            && !self
                .by_context
                .contains_key(&(Name::from(unit), context.clone()))
            && let Some(largest) = self.largest.get(unit)
        {
            return largest.clone();
        }
        context
    }

    /// Does a context serve all calls of a unit that would need one more than there may be?
    pub fn is_shared(&self, unit: &Name, context: &Context) -> bool {
        let count = self.count.get(unit).copied().unwrap_or_default();
        count > MOST_CONTEXTS && self.largest.get(unit) == Some(context)
    }

    /// The name of a unit's derivative in a context; it will be generated.
    pub fn request(&mut self, unit: &Name, args: usize, context: &Context) -> Name {
        if let Some(sized) = self.sized.get_mut(unit) {
            // Wanted for itself.
            sized.difference_with(&context.outputs);
        }
        if let Some(i) = self.of_unit(unit) {
            let Context { inputs, outputs } = &mut self.wanted[i].context;
            if !context.inputs.is_subset(inputs) || !context.outputs.is_subset(outputs) {
                inputs.union_with(&context.inputs);
                outputs.union_with(&context.outputs);
                self.grow(i);
            }
            return self.wanted[i].name.clone();
        }
        let key = (unit.clone(), context.clone());
        if let Some(i) = self.by_context.get(&key) {
            return self.wanted[*i].name.clone();
        }
        let name = self.global(&self.layout.units.of(unit));
        let count = self.count.entry(unit.clone()).or_default();
        *count += 1;
        if *count >= MOST_CONTEXTS {
            self.filled.push(unit.clone());
        }
        if self.layout.has_one_context() {
            self.by_unit.insert(unit.clone(), self.wanted.len());
        } else {
            self.by_context.insert(key, self.wanted.len());
        }
        self.wanted.push(Wanted {
            unit: unit.clone(),
            args,
            context: context.clone(),
            name: name.clone(),
        });
        self.times.push(Times::default());
        self.grow(self.wanted.len() - 1);
        name
    }

    /// The name of the derivative of a procedure without text, which has one for these
    /// arguments (and its result) at least.
    pub fn request_unknown(&mut self, procedure: &Name, args: usize, active: &Set) -> Name {
        if !self.unknown.contains_key(procedure) {
            let new = Provide {
                procedure: procedure.clone(),
                derivative: self.global(&self.layout.units.of(procedure)),
                args: 0,
                active: Set::new(),
            };
            self.unknown.insert(procedure.clone(), new);
        }
        match self.unknown.get_mut(procedure) {
            Some(p) => {
                p.args = p.args.max(args);
                if !active.is_subset(&p.active) {
                    p.active.union_with(active);
                    self.grown = true;
                }
                p.derivative.clone()
            }
            None => procedure.clone(),
        }
    }

    /// The derivative of a unit reads that of a COMMON variable which no call gives it: from now on
    /// all do.
    pub fn request_input(&mut self, unit: &str, slot: usize) {
        if let Some(i) = self.of_unit(unit)
            && add(&mut self.wanted[i].context.inputs, slot)
        {
            self.grow(i);
        }
    }

    /// Procedures without text whose derivatives are called, by their names.
    pub fn unknown(self) -> Vec<Provide> {
        let mut list: Vec<Provide> = self.unknown.into_values().collect();
        list.sort_by(|a, b| a.procedure.cmp(&b.procedure));
        list
    }

    /// The derivative of the COMMON variable of a number is passed on: it must be where
    /// others may find it.
    pub fn share(&mut self, k: usize) {
        if self.layout.members == Members::Passed {
            self.grown |= add(&mut self.passed, k);
        }
    }

    /// The arguments of a unit that have a derivative for the sake of their size only.
    pub fn sized(&self, unit: &str) -> Set {
        self.sized.get(unit).cloned().unwrap_or_default()
    }

    /// An argument of a unit needs a derivative as an argument, because its size is known to
    /// the caller only.
    pub fn request_argument(&mut self, unit: &str, slot: usize) {
        if let Some(i) = self.of_unit(unit)
            && add(&mut self.wanted[i].context.outputs, slot)
        {
            self.grow(i);
            add(self.sized.entry(unit.into()).or_default(), slot);
        }
    }

    /// Which arguments of a dummy procedure have a derivative, and its result, as the last
    /// of the set: those at least. Where there are none, its derivative is not passed.
    pub fn dummy(&self, key: &str) -> Option<&Set> {
        self.dummies.get(key)
    }

    /// The derivative of a dummy procedure is called with these arguments (and result)
    /// active.
    pub fn request_dummy(&mut self, key: &str, active: &Set) {
        let set = self.dummies.entry(key.into()).or_default();
        if !active.is_subset(set) {
            set.union_with(active);
            self.grown = true;
        }
    }

    /// A dummy procedure has so many arguments.
    pub fn tell_args(&mut self, key: &str, args: usize) {
        if !self.dummy_args.contains_key(key) {
            self.dummy_args.insert(key.into(), args);
            self.grown = true;
        }
    }

    /// One dummy procedure is passed on for another.
    pub fn tell_args_of(&mut self, key: &str, other: &str) {
        if let Some(args) = self.dummy_args.get(other).copied() {
            self.tell_args(key, args);
        }
    }

    /// Has the result of a dummy function no derivative? Then its own derivative is a subroutine.
    pub fn has_passive_result(&self, key: &str) -> bool {
        let args = self.dummy_args.get(key);
        let active = self.dummies.get(key);
        args.is_some_and(|args| active.is_none_or(|a| !a.contains(*args)))
    }

    /// The derivative of a procedure that is passed on for a dummy procedure. That
    /// alone does not have one generated.
    pub fn request_passed(&mut self, procedure: &Name, key: &str) -> Name {
        let active = self.dummies.get(key).cloned().unwrap_or_default();
        let Some(i) = self.by_unit.get(procedure).copied() else {
            return self.request_unknown(procedure, 0, &active);
        };
        let args = self.wanted[i].args;
        let context = self.wanted[i].context.clone();
        // Both sides must agree on the arguments.
        let mut own = context.inputs.clone();
        own.union_with(&context.outputs);
        let own: Set = own.ones().filter(|slot| *slot <= args).collect();
        self.request_dummy(key, &own);
        let mut wanted = context;
        for slot in active.ones() {
            if slot < args {
                wanted.inputs.insert(slot);
            }
            wanted.outputs.insert(slot);
        }
        self.request(procedure, args, &wanted)
    }

    /// The `i`th derivative that was asked for.
    pub fn wanted(&self, i: usize) -> Option<Wanted> {
        self.wanted.get(i).cloned()
    }

    /// The name of the COMMON block that holds the derivatives of another.
    pub fn block(&mut self, block: &Name) -> Name {
        if let Some(n) = self.blocks.get(block) {
            return n.clone();
        }
        let base = match block.is_empty() {
            true => self.layout.blank_common,
            false => block,
        };
        let name = self.global(&self.layout.units.of(base));
        self.blocks.insert(block.clone(), name.clone());
        name
    }

    /// The name of the COMMON block that holds the derivative of a variable which a unit keeps from
    /// call to call.
    pub fn block_of_kept(&mut self, unit: &Name, variable: &Name) -> Name {
        // No block has that name.
        let key: Name = format!("{unit}({variable})").into();
        if let Some(n) = self.blocks.get(&key) {
            return n.clone();
        }
        let name = self.global(&self.layout.units.of(&format!("{unit}_{variable}")));
        self.blocks.insert(key, name.clone());
        name
    }
}

/// Adds a slot, and says whether it is new.
fn add(set: &mut Set, slot: usize) -> bool {
    let new = !set.contains(slot);
    set.grow_and_insert(slot);
    new
}
