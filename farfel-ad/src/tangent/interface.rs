//! The interface of a derivative unit: its arguments, and the state on entry.

use super::allocate::is_allocated_here;
use super::generator::Generator;
use super::{DummyProcedure, Engine, TangentRequest};
use crate::activity::dummy_key;
use crate::locations::{Context, Set, differentiable};
use farfel_lang::ir::{
    Arg, Block, Class, Expr, Name, Origin, StorageClass, SymId, Symbol, Unit, UnitKind,
};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The title comment of the generated unit: what a reader wants to know first.
pub(super) fn title(engine: &Engine, source: &Unit, wanted: &TangentRequest) -> String {
    let list = |slots: &Set| {
        let names: Vec<String> = slots
            .ones()
            .map(|i| match source.args.get(i).and_then(|a| a.sym()) {
                Some(s) => source.symbols[s].name.to_string(),
                None if i <= source.args.len() => source.name.to_string(),
                None => {
                    let v = &engine.dependence.commons.vars[i - source.args.len() - 1];
                    engine
                        .program
                        .unit(&v.unit)
                        .map_or_else(String::new, |u| u.symbols[v.sym].name.to_string())
                }
            })
            .collect();
        if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(", ")
        }
    };
    format!(
        " Tangent of {}: derivative of {} with respect to {}",
        source.name,
        list(&wanted.context.outputs),
        list(&wanted.context.inputs)
    )
}

impl Generator<'_> {
    /// Sets up the arguments of the derivative.
    pub(super) fn header(&mut self, wanted: &TangentRequest, root: Option<&[usize]>) {
        let mut args = Vec::new();
        let active = |i: usize| match root {
            Some(paired) => paired.contains(&i),
            None => wanted.context.active(i),
        };
        for (i, a) in self.source.args.iter().enumerate() {
            args.push(*a);
            let Arg::Dummy(s) = a else { continue };
            if self.source.symbols[*s].class.is_procedure() {
                args.extend(self.dummy_procedure(*s).map(Arg::Dummy));
            } else if active(i) {
                args.push(Arg::Dummy(self.dummy_derivative(*s)));
            }
        }
        if let Some(result) = self.unit.result.take() {
            self.unit.typed_header = false;
            self.unit.symbols[result].storage_class = StorageClass::Dummy;
            self.unit.symbols[result].typed = true;
            self.unit.declare(result);
            args.push(Arg::Dummy(result));
            self.unit.kind = UnitKind::Subroutine;
            if wanted.context.active(self.space.result_slot()) {
                if self.engine.layout.keeps_functions() {
                    self.result_derivative(result, &wanted.name);
                } else {
                    args.push(Arg::Dummy(self.dummy_derivative(result)));
                }
            }
        }
        self.unit.args = args;
    }

    /// Makes the unit a function that returns the derivative of `result`.
    fn result_derivative(&mut self, result: SymId, name: &Name) {
        if let Some(other) = self.unit.symbols.find(name) {
            let free = self.unused(name);
            self.unit.symbols.rename(other, free);
        }
        let d = self.unit.symbols.add(Symbol {
            name: name.clone(),
            storage_class: StorageClass::Result,
            typed: true,
            external: false,
            origin: Origin::Derivative,
            ..self.unit.symbols[result].clone()
        });
        self.unit.kind = UnitKind::Function;
        self.unit.typed_header = true;
        self.unit.result = Some(d);
        self.pair(result, d);
    }

    /// The argument for the derivative of a dummy procedure, if it is called.
    fn dummy_procedure(&mut self, s: SymId) -> Option<SymId> {
        let of = self.source.symbols[s].clone();
        let key = dummy_key(&self.source.name, &of.name);
        self.engine.registry.borrow().dummy(&key)?;
        let name = self.unused(&self.engine.layout.units.of(&of.name));
        let d = self.passed_procedure(name, &key, &of);
        self.unit.symbols[d].storage_class = StorageClass::Dummy;
        self.procedures.insert(s, d);
        Some(d)
    }

    fn dummy_derivative(&mut self, s: SymId) -> SymId {
        let mut of = self.unit.symbols[s].clone();
        let place = (self.source.name.clone(), of.name.clone());
        if self.engine.sizes.contains(&place)
            && let Some(last) = of.dims.last_mut()
        {
            last.upper = Some(Expr::star(of.span));
        }
        let name = self.derivative_name(&of.name);
        let d = self.declare_new(Symbol {
            name,
            storage_class: StorageClass::Dummy,
            ..of
        });
        self.pair(s, d);
        d
    }

    /// Sets derivatives to zero that are live on entry and that nothing else has set.
    pub(super) fn zero_on_entry(
        &mut self,
        wanted: &TangentRequest,
        root: Option<&[usize]>,
    ) -> Block {
        self.span = self.source.span;
        let given = self.space.locs(&wanted.context.inputs);
        let mut out = Vec::new();
        let locs: Vec<usize> = self.activity.live_on_entry.difference(&given).collect();
        let unread = self.unread_before_set();
        for loc in locs {
            if self.activity.kept.contains(loc)
                && !self.engine.begun_anew.contains(&self.source.name)
            {
                continue;
            }
            if let Some(k) = self.space.common_at(loc)
                && root.is_none()
                && self.is_callers(wanted, k)
            {
                continue;
            }
            let found: Vec<SymId> = match self.space.common_at(loc) {
                // A block that units divide differently is one location. If EQUIVALENCE merely gives a
                // variable another name, the other variables of its block may have been given.
                Some(k) if self.is_one_location(k) => self.whole_block(k),
                Some(k) => self.common_derivative(k).into_iter().collect(),
                None => {
                    // Several if EQUIVALENCE ties them together.
                    let here: Vec<SymId> = self
                        .source
                        .symbols
                        .iter()
                        .filter(|(id, s)| {
                            self.space.loc(*id) == loc
                                && differentiable(s)
                                // The caller has set the arrays among the head's arguments.
                                && !(root.is_some() && s.storage_class == StorageClass::Dummy && s.is_array())
                        })
                        .map(|(id, _)| id)
                        .collect();
                    here.into_iter().map(|s| self.derivative_of(s)).collect()
                }
            };
            if unread.contains(loc) {
                continue;
            }
            for d in found {
                // It is not allocated yet.
                if is_allocated_here(&self.unit.symbols[d]) {
                    continue;
                }
                out.push(self.zero_whole(d));
            }
        }
        out
    }

    /// Whether the derivative of a COMMON variable must keep the value that callers have given it, though it
    /// is not one of the inputs. A callee that has one derivative for all of its calls may read it here as
    /// well. Then either nothing that is wanted depends on it, or it becomes an input.
    fn is_callers(&self, wanted: &TangentRequest, k: usize) -> bool {
        let name = &self.source.name;
        let Some(summary) = self.engine.dependence.summary(name) else {
            return false;
        };
        let slot = summary.args + 1 + k;
        let mut outputs = wanted.context.outputs.ones();
        if self.engine.outermost.contains(name) {
            return false;
        }
        if !outputs.any(|o| summary.depends.has(o, slot)) {
            // The wanted derivative of the variable itself does not depend on its earlier value.
            return !wanted.context.outputs.contains(slot);
        }
        let one = self.engine.layout.has_one_context();
        if one {
            self.engine.registry.borrow_mut().request_input(name, slot);
        }
        one
    }

    /// Sets the derivatives of those arguments to zero that are only results of an adjoint. Those in COMMON
    /// are set where all units are known.
    pub(super) fn zero_before_adjoint(&mut self, wanted: &TangentRequest) -> Block {
        self.span = self.source.span;
        let Context { inputs, outputs } = &wanted.context;
        let sized = self.engine.registry.borrow().sized(&wanted.unit);
        let only = inputs.difference(outputs).chain(sized.ones());
        let only: BTreeSet<usize> = only.collect();
        let mut out = Vec::new();
        for slot in only {
            let argument = self.source.args.get(slot).and_then(|a| a.sym());
            if let Some(d) = argument.and_then(|s| self.derivatives.get(&s).copied()) {
                out.push(self.zero_whole(d));
            }
        }
        out
    }

    /// The dummy procedures whose derivatives are called.
    pub(super) fn dummies(&self) -> HashMap<SymId, DummyProcedure> {
        let names = self.engine.registry.borrow();
        let calls = self.dummy_calls.iter().map(|(d, (procedure, args))| {
            let key = dummy_key(&self.source.name, &self.source.symbols[*procedure].name);
            let active = names.dummy(&key).cloned().unwrap_or_default();
            let made = DummyProcedure {
                procedure: *procedure,
                args: *args,
                active,
            };
            (*d, made)
        });
        calls.collect()
    }

    /// The derivatives of arguments and COMMON variables, with the slots of these.
    pub(super) fn by_slot(&self) -> Vec<(usize, SymId)> {
        let args = self.source.args.len();
        let mut found: Vec<(usize, SymId)> = Vec::new();
        for (s, d) in &self.derivatives {
            if let Some(i) = self.source.arg_position(*s) {
                found.push((i, *d));
            } else if let Some(k) = self.space.common_at(self.space.loc(*s))
                && matches!(self.unit.symbols[*d].storage_class, StorageClass::Common(_))
            {
                found.push((args + 1 + k, *d));
            }
        }
        found.extend(self.imported.iter().map(|(k, d)| (args + 1 + k, *d)));
        found.sort_unstable();
        found
    }

    /// Removes the declarations of functions that are no longer called.
    pub(super) fn drop_unused_procedures(&mut self) {
        let mut used: HashSet<SymId> = HashSet::new();
        farfel_lang::ir::for_each_symbol(&self.unit.body, &mut |s| {
            used.insert(s);
        });
        for (_, s) in self.unit.symbols.iter() {
            if let Class::StatementFunction(_, value) = &s.class {
                value.for_each_symbol(&mut |s| {
                    used.insert(s);
                });
            }
        }
        let gone: Vec<SymId> = self
            .unit
            .symbols
            .iter()
            .filter(|(id, s)| {
                s.class.is_procedure()
                    && s.storage_class == StorageClass::Global
                    && !used.contains(id)
            })
            .map(|(id, _)| id)
            .collect();
        for s in gone {
            self.unit.undeclare(s);
        }
    }
}
