//! The names of what one run generates, and the contexts that it generates.

use super::{MOST_CONTEXTS, TangentRequest, UserDerivative};
use crate::depend::Dependence;
use crate::layout::{Layout, Members, Taken};
use crate::locations::{Context, Set, differentiable};
use farfel_lang::ir::{Name, Program, StorageClass, UnitKind};
use std::collections::{HashMap, HashSet};

/// When the context of a derivative has last grown, and when it was last generated.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    grown: u64,
    generated: u64,
}

/// Names and contexts of one run.
#[derive(Debug)]
pub(crate) struct DerivativeRegistry {
    /// Names of units and COMMON blocks, including those generated so far.
    globals: HashSet<Name>,
    /// Names of symbols in any unit below the head, which must not hide a new unit.
    locals: HashSet<Name>,
    /// Names of cotangents of function results, which are reserved in the adjoints of functions.
    results: HashSet<Name>,
    layout: Layout,
    wanted: Vec<TangentRequest>,
    by_context: HashMap<(Name, Context), usize>,
    /// The only derivative of each unit, if units have only one.
    by_unit: HashMap<Name, usize>,
    /// For each unit, the outputs whose derivatives are arguments only because the caller knows their size.
    sized: HashMap<Name, Set>,
    /// Whether something has grown since the last [`DerivativeRegistry::settled`].
    grown: bool,
    /// Increases whenever a context grows.
    clock: u64,
    /// For each derivative, when its context has last grown, and when it was last generated.
    times: Vec<Times>,
    /// The derivatives whose contexts have grown since the last [`DerivativeRegistry::take_larger`].
    larger: Vec<usize>,
    /// The derivatives whose contexts have grown since the last [`DerivativeRegistry::freeze`].
    unfrozen: Vec<usize>,
    /// The COMMON variables whose derivatives are passed between units, as of the last
    /// [`DerivativeRegistry::freeze`].
    shared: Set,
    /// The active arguments of dummy procedures.
    dummies: HashMap<Name, Set>,
    /// The numbers of arguments of dummy procedures, where a call has shown them.
    dummy_args: HashMap<Name, usize>,
    /// The COMMON variables whose derivatives are passed as arguments.
    passed: Set,
    /// Procedures without source text, with what is called of their derivatives.
    unknown: HashMap<Name, UserDerivative>,
    count: HashMap<Name, usize>,
    /// The units that get no further contexts of their own, as of the last [`DerivativeRegistry::freeze`].
    full: HashSet<Name>,
    /// The units that have become full since then.
    filled: Vec<Name>,
    largest: HashMap<Name, Context>,
    blocks: HashMap<Name, Name>,
}

impl DerivativeRegistry {
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
                let mentioned = u
                    .symbols
                    .iter()
                    .filter(|(_, s)| s.storage_class == StorageClass::Global);
                globals.extend(mentioned.map(|(_, s)| s.name.clone()));
            }
            if let Some(summary) = dependence.summary(&u.name) {
                // Only units below the head call what this run generates.
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
        DerivativeRegistry {
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

    /// Reserves a name that the caller uses for what it generates.
    pub fn reserve(&mut self, name: &Name) {
        self.globals.insert(name.clone());
    }

    /// Whether a name is that of a unit or COMMON block.
    pub fn is_taken(&self, name: &str) -> bool {
        self.globals.contains(name)
    }

    /// Chooses a name for a generated unit.
    pub fn global(&mut self, wanted: &str) -> Name {
        let name = self.layout.numbering.unused(wanted, &|n| {
            self.globals.contains(n) || self.locals.contains(n) || self.results.contains(n)
        });
        self.globals.insert(name.clone());
        name
    }

    /// Fixes the answers of [`DerivativeRegistry::admit`] until the next call of this function.
    pub fn freeze(&mut self) {
        self.full.extend(self.filled.drain(..));
        if self.layout.members == Members::All {
            // It is not relevant which variables are shared.
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

    /// Whether the derivative of the COMMON variable with number `k` is in COMMON.
    pub fn shares(&self, k: usize) -> bool {
        self.layout.members == Members::All || self.shared.contains(k)
    }

    /// Whether all contexts are the same as at the last call. If not, what was generated since may be wrong.
    pub fn settled(&mut self) -> bool {
        !std::mem::take(&mut self.grown)
    }

    /// Records that the context of the `i`th derivative has grown.
    fn grow(&mut self, i: usize) {
        self.grown |= self.layout.has_one_context();
        self.clock += 1;
        self.times[i].grown = self.clock;
        self.larger.push(i);
        self.unfrozen.push(i);
    }

    /// Returns the derivatives whose contexts have grown since the last call.
    pub fn take_larger(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.larger)
    }

    /// Records that the `i`th derivative has been generated with the current contexts.
    pub fn set_generated(&mut self, i: usize) {
        self.times[i].generated = self.clock;
    }

    /// Whether the context of a called derivative has grown since the calling one, which may be the same, was
    /// generated.
    pub fn is_outdated(&self, caller: usize, callee: usize) -> bool {
        self.times[callee].grown > self.times[caller].generated
    }

    /// The only derivative of a unit, if units have only one.
    pub fn of_unit(&self, unit: &str) -> Option<usize> {
        self.by_unit.get(unit).copied()
    }

    /// The context that a call gets when it requests one.
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

    /// Whether a context serves all calls of a unit beyond the maximum number of contexts.
    pub fn is_shared(&self, unit: &Name, context: &Context) -> bool {
        let count = self.count.get(unit).copied().unwrap_or_default();
        count > MOST_CONTEXTS && self.largest.get(unit) == Some(context)
    }

    /// Returns the name of a unit's derivative in a context, which will be generated.
    pub fn request(&mut self, unit: &Name, args: usize, context: &Context) -> Name {
        if let Some(sized) = self.sized.get_mut(unit) {
            // These are wanted for their own sake.
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
        self.wanted.push(TangentRequest {
            unit: unit.clone(),
            args,
            context: context.clone(),
            name: name.clone(),
        });
        self.times.push(Times::default());
        self.grow(self.wanted.len() - 1);
        name
    }

    /// Returns the name of the derivative of a procedure without source text. At least these arguments (and
    /// the result) have a derivative.
    pub fn request_unknown(&mut self, procedure: &Name, args: usize, active: &Set) -> Name {
        if !self.unknown.contains_key(procedure) {
            let new = UserDerivative {
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

    /// Makes a COMMON variable an input of a unit whose derivative reads that of the variable, although no
    /// call gives it. From now on all calls do.
    pub fn request_input(&mut self, unit: &str, slot: usize) {
        if let Some(i) = self.of_unit(unit)
            && add(&mut self.wanted[i].context.inputs, slot)
        {
            self.grow(i);
        }
    }

    /// Returns the procedures without source text whose derivatives are called, sorted by name.
    pub fn unknown(self) -> Vec<UserDerivative> {
        let mut list: Vec<UserDerivative> = self.unknown.into_values().collect();
        list.sort_by(|a, b| a.procedure.cmp(&b.procedure));
        list
    }

    /// Records that the derivative of the COMMON variable with number `k` is passed on, so that it must be
    /// where other units find it.
    pub fn share(&mut self, k: usize) {
        if self.layout.members == Members::Passed {
            self.grown |= add(&mut self.passed, k);
        }
    }

    /// The arguments of a unit that have a derivative only for the sake of their size.
    pub fn sized(&self, unit: &str) -> Set {
        self.sized.get(unit).cloned().unwrap_or_default()
    }

    /// Requests that the derivative of an argument of a unit is an argument as well, because only the caller
    /// knows its size.
    pub fn request_argument(&mut self, unit: &str, slot: usize) {
        if let Some(i) = self.of_unit(unit)
            && add(&mut self.wanted[i].context.outputs, slot)
        {
            self.grow(i);
            add(self.sized.entry(unit.into()).or_default(), slot);
        }
    }

    /// The arguments of a dummy procedure that have a derivative, at least; the index after the last argument
    /// stands for the result. If there is no such set, the derivative of the dummy procedure is not passed.
    pub fn dummy(&self, key: &str) -> Option<&Set> {
        self.dummies.get(key)
    }

    /// Records that the derivative of a dummy procedure is called with these arguments (and result) active.
    pub fn request_dummy(&mut self, key: &str, active: &Set) {
        let set = self.dummies.entry(key.into()).or_default();
        if !active.is_subset(set) {
            set.union_with(active);
            self.grown = true;
        }
    }

    /// Records the number of arguments of a dummy procedure.
    pub fn set_argument_count(&mut self, key: &str, args: usize) {
        if !self.dummy_args.contains_key(key) {
            self.dummy_args.insert(key.into(), args);
            self.grown = true;
        }
    }

    /// Records that one dummy procedure is passed for another.
    pub fn copy_argument_count(&mut self, key: &str, other: &str) {
        if let Some(args) = self.dummy_args.get(other).copied() {
            self.set_argument_count(key, args);
        }
    }

    /// Whether the result of a dummy function has no derivative, so that its derivative is a subroutine.
    pub fn has_passive_result(&self, key: &str) -> bool {
        let args = self.dummy_args.get(key);
        let active = self.dummies.get(key);
        args.is_some_and(|args| active.is_none_or(|a| !a.contains(*args)))
    }

    /// Returns the name of the derivative of a procedure that is passed for a dummy procedure. Being passed
    /// alone does not cause it to be generated.
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

    /// The `i`th derivative that was requested.
    pub fn wanted(&self, i: usize) -> Option<TangentRequest> {
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

    /// The name of the COMMON block that holds the derivative of a variable that a unit keeps between calls.
    pub fn block_of_kept(&mut self, unit: &Name, variable: &Name) -> Name {
        // No block can have this name.
        let key: Name = format!("{unit}({variable})").into();
        if let Some(n) = self.blocks.get(&key) {
            return n.clone();
        }
        let name = self.global(&self.layout.units.of(&format!("{unit}_{variable}")));
        self.blocks.insert(key, name.clone());
        name
    }
}

/// Adds a slot. Returns whether it is new.
fn add(set: &mut Set, slot: usize) -> bool {
    let new = !set.contains(slot);
    set.grow_and_insert(slot);
    new
}
