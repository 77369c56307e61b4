//! The names of what one run generates, and which contexts it generates.

use super::{MOST_CONTEXTS, Wanted};
use crate::activity::Context;
use crate::depend::Dependence;
use crate::locations::{Set, differentiable};
use farfel_lang::ir::{Name, Program, Request, unused_name};
use std::collections::{HashMap, HashSet};

/// Names and contexts of one run.
#[derive(Debug)]
pub(crate) struct Names {
    /// Names of units and COMMON blocks, also of those made so far.
    globals: HashSet<Name>,
    /// Names of symbols in any unit below the head: a new unit must not hide behind one.
    locals: HashSet<Name>,
    suffix: Name,
    wanted: Vec<Wanted>,
    by_context: HashMap<(Name, Context), usize>,
    count: HashMap<Name, usize>,
    /// Units that get no more contexts of their own, as of the last [`Names::freeze`].
    full: HashSet<Name>,
    largest: HashMap<Name, Context>,
    blocks: HashMap<Name, Name>,
}

impl Names {
    pub fn new(program: &Program, request: &Request, dependence: &Dependence) -> Self {
        let mut globals: HashSet<Name> = [request.derivative.clone()].into();
        let mut locals = HashSet::new();
        let mut largest = HashMap::new();
        for u in &program.units {
            globals.insert(u.name.clone());
            if let Some(summary) = dependence.summary(&u.name) {
                // Only what lies below the head calls what this run makes.
                locals.extend(u.symbols.iter().map(|(_, s)| s.name.clone()));
                let slots = summary.depends.len();
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
                    inputs.union_with(&summary.depends[o]);
                    if summary.arrays.contains(o) {
                        inputs.insert(o);
                    }
                }
                inputs.intersect_with(&all);
                largest.insert(u.name.clone(), Context { inputs, outputs });
            }
        }
        globals.extend(dependence.commons.vars.iter().map(|v| v.block.clone()));
        Names {
            globals,
            locals,
            suffix: request.suffix.clone(),
            wanted: Vec::new(),
            by_context: HashMap::new(),
            count: HashMap::new(),
            full: HashSet::new(),
            largest,
            blocks: HashMap::new(),
        }
    }

    /// Is this the name of a unit or COMMON block?
    pub fn is_taken(&self, name: &str) -> bool {
        self.globals.contains(name)
    }

    fn global(&mut self, wanted: &str) -> Name {
        let name = unused_name(wanted, &|n| {
            self.globals.contains(n) || self.locals.contains(n)
        });
        self.globals.insert(name.clone());
        name
    }

    /// From here on to the next call of this function, [`Names::admit`] gives the same
    /// answers.
    pub fn freeze(&mut self) {
        self.full = self
            .count
            .iter()
            .filter(|(_, n)| **n >= MOST_CONTEXTS)
            .map(|(u, _)| u.clone())
            .collect();
    }

    /// The context that a call gets when it asks for one.
    pub fn admit(&self, unit: &str, context: Context) -> Context {
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

    /// The name of a unit's derivative in a context; it will be generated.
    pub fn request(&mut self, unit: &Name, context: &Context) -> Name {
        let key = (unit.clone(), context.clone());
        if let Some(i) = self.by_context.get(&key) {
            return self.wanted[*i].name.clone();
        }
        let suffix = self.suffix.clone();
        let name = self.global(&format!("{unit}{suffix}"));
        *self.count.entry(unit.clone()).or_default() += 1;
        self.by_context.insert(key, self.wanted.len());
        self.wanted.push(Wanted {
            unit: unit.clone(),
            context: context.clone(),
            name: name.clone(),
        });
        name
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
        let base = if block.is_empty() { "BLANK" } else { block };
        let name = self.global(&format!("{base}{}", self.suffix));
        self.blocks.insert(block.clone(), name.clone());
        name
    }
}
