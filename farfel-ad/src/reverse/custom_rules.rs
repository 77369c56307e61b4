//! Calls of procedures with custom rules: their adjoints are given.
//!
//! The forward sweep calls the procedure itself. Its adjoint expects the arguments to have their values from
//! before the call, and may leave anything in those that the procedure assigns. So assigned arguments that
//! are also inputs are saved for the adjoint, and values that are needed from before the call are saved in
//! addition.

use super::sweep::Sweeper;
use super::sweep_data::Sweeps;
use super::tbr::Needs;
use super::transpose::is_derivative;
use super::unit_builder::zero;
use crate::custom_rules::bundled;
use crate::custom_rules::directions::{Directions, one_by_one, unknown_bounds};
use crate::custom_rules::rules::Rule;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::increment;
use farfel_lang::ir::{Block, Class, Expr, ExprKind, Name, Stmt, SymId, Symbol, Type};
use farfel_lang::types::{rank, type_of};
use std::borrow::Cow;

/// A procedure whose derivative is given.
#[derive(Clone, Copy)]
enum Procedure<'w> {
    /// A procedure of the program, or one without source text.
    Named(&'w Name),
    /// A dummy procedure.
    Dummy(SymId),
}

/// One argument of a procedure, and its derivative.
struct Argument {
    primal: Expr,
    derivative: Option<Expr>,
    /// The procedure reads it, or may read it.
    input: bool,
    /// The procedure assigns it.
    assigned: bool,
    /// The adjoint reads its value.
    value: bool,
    /// The adjoint gets only its cotangent, not the argument itself.
    hidden: bool,
}

impl<'w> Sweeper<'w> {
    /// Whether the callee is a given derivative.
    pub(super) fn is_given(&self, callee: SymId) -> bool {
        self.provided(callee).is_some()
    }

    /// The procedure whose derivative the callee stands for, and its rule.
    fn provided(&self, callee: SymId) -> Option<(Procedure<'w>, Cow<'w, Rule>)> {
        let engine = self.engine;
        if let Some(dummy) = engine.parts[self.part].dummies.get(&callee) {
            let rule = Rule::assumed(dummy.args, &dummy.active, None);
            return Some((Procedure::Dummy(dummy.procedure), Cow::Owned(rule)));
        }
        let name = &self.builder.unit.symbols[callee].name;
        let (procedure, rule) = engine.goal.rules.by_placeholder(name)?;
        Some((Procedure::Named(procedure), Cow::Borrowed(rule)))
    }

    /// Whether the procedure is a function. Its value is then an argument, with or without a derivative.
    fn is_function(&self, procedure: Procedure, rule: &Rule) -> bool {
        let unit = &self.builder.unit;
        let symbol = match procedure {
            Procedure::Named(name) => unit.symbols.find(name),
            Procedure::Dummy(s) => Some(s),
        };
        let is = |s: SymId| unit.symbols[s].class == Class::Function;
        rule.is_active(rule.args) || symbol.is_some_and(is)
    }

    pub(super) fn given_call(
        &mut self,
        callee: SymId,
        args: &[Expr],
        span: Span,
        needs: &mut super::tbr::Needs,
    ) -> Sweeps {
        let Some((procedure, rule)) = self.provided(callee) else {
            return Sweeps::default();
        };
        let effect = match procedure {
            Procedure::Named(name) => self.engine.effects.get(name).cloned(),
            Procedure::Dummy(s) => {
                let unit = &self.builder.unit;
                self.engine
                    .effects
                    .of_dummy(&unit.name, &unit.symbols[s].name)
            }
        };
        let function = self.is_function(procedure, &rule);
        let mut given = Vec::new();
        let mut rest = args.iter().cloned();
        for i in 0..=rule.args {
            let result = i == rule.args;
            if result && !function {
                break;
            }
            let (Some(primal), derivative) = (
                rest.next(),
                rule.is_active(i).then(|| rest.next()).flatten(),
            ) else {
                break;
            };
            // The variable of an enclosing loop cannot change in the loop.
            let counts = |s| self.loop_vars.contains(&s);
            let fixed = rule.assumed && primal.base().is_some_and(counts);
            given.push(Argument {
                primal,
                derivative,
                hidden: false,
                value: !rule.unread.contains(&i) || !rule.is_active(i),
                input: !result && (rule.inputs.contains(&i) || !rule.outputs.contains(&i)),
                assigned: result
                    || !fixed
                        && match &effect {
                            Some(effect) => effect.assigned.contains(i),
                            None => rule.outputs.contains(&i) || rule.sets.contains(&i),
                        },
            });
        }
        let mut written = Set::with_capacity(self.space.len + self.builder.unit.symbols.len());
        written.grow(self.space.len + self.builder.unit.symbols.len());
        let assigned = given.iter().filter(|a| a.assigned);
        let bases = assigned.filter_map(|a| a.primal.base());
        written.extend(bases.map(|s| self.space.loc(s)));
        if let Some(effect) = &effect {
            let shared = effect.assigned.ones().filter(|s| *s > effect.args);
            written.extend(shared.map(|s| self.space.common(s - effect.args - 1)));
        }
        self.refuse_moving_places(&given, &written, span);
        // First what is needed from before the call, then what the adjoint needs.
        let (mut forward, restored) = self.overwrite_all(&written, needs, span);
        let mut pops: Vec<Block> = Vec::new();
        let mut kept: Vec<SymId> = Vec::new();
        for (i, a) in given.iter().enumerate() {
            let base = a
                .primal
                .base()
                .filter(|s| self.builder.unit.symbols[*s].is_variable());
            for s in a.primal.selectors() {
                self.read(s, needs);
            }
            match base {
                Some(s) if a.assigned => {
                    // Bundled adjoints do not read what the procedure only assigns.
                    let is_read = || effect.as_ref().is_none_or(|e| e.read.contains(i));
                    let reads = a.value
                        && (a.derivative.is_some()
                            || rule.assumed
                            || !rule.span.is_none() && is_read());
                    if a.input && reads && !kept.contains(&s) {
                        kept.push(s);
                        // The whole variable, since it is not known what the adjoint reads.
                        let all = Needs::default();
                        let (push, pop) = self.save(&Expr::var(s, span), &all, span);
                        forward.extend(push);
                        pops.push(pop);
                    }
                }
                Some(_) if !a.value => {}
                Some(s) => {
                    needs.add_all(self.space.loc(s));
                }
                None => self.read(&a.primal, needs),
            }
        }
        // The adjoint also expects the COMMON variables that the procedure reads to have their values from before
        // the call. What a procedure without source reads is not known.
        let mut shared = Set::with_capacity(self.engine.commons.vars.len());
        if let Some(effect) = effect {
            let read = effect.read.ones().filter(|s| *s > effect.args);
            shared.extend(read.map(|s| s - effect.args - 1));
        }
        let ours = |a: &Name| a.starts_with(bundled::PREFIX);
        let ours = rule.adjoint.as_ref().is_some_and(ours);
        if matches!(procedure, Procedure::Named(_)) && !ours {
            shared.union_with(&self.engine.read_elsewhere);
        }
        let mut read = Needs::default();
        for loc in shared.ones().map(|k| self.space.common(k)) {
            match written.contains(loc) {
                true => read.add_all(loc),
                false => needs.add_all(loc),
            }
        }
        let (push, pop) = self.overwrite_all(&written, &mut read, span);
        forward.extend(push);
        pops.push(pop);
        self.changed(&written, needs);
        let primals: Vec<Expr> = given.iter().map(|a| a.primal.clone()).collect();
        forward.push(self.call_itself(procedure, primals, function, span));
        let mut backward: Block = pops.into_iter().rev().flatten().collect();
        let f = match (&rule.adjoint, procedure) {
            (Some(adjoint), _) => Some(self.builder.procedure(adjoint, Class::Subroutine, None)),
            (None, Procedure::Dummy(_)) => Some(callee),
            _ => None,
        };
        if let Some(f) = f {
            if rule.assumed
                && function
                && let Some(value) = given.last_mut()
            {
                value.hidden = true;
            }
            backward.extend(self.adjoint_call(f, ours, &given, &rule, rest, span));
        }
        backward.extend(restored);
        Sweeps { forward, backward }
    }

    /// Reports arguments that the call changes and that also determine which element another argument is.
    fn refuse_moving_places(&mut self, given: &[Argument], written: &Set, span: Span) {
        let mut moving = false;
        for a in given {
            for s in a.primal.selectors() {
                s.for_each_symbol(&mut |s| moving |= written.contains(self.space.loc(s)));
            }
        }
        if moving && self.trial == 0 {
            self.errors.push(
                Diagnostic::error(
                    &rules::AD_GIVEN,
                    span,
                    "an argument of this call decides which element another one is, and changes",
                )
                .help("copy the subscript to another variable first"),
            );
        }
    }

    /// Returns the call of the procedure itself, given the arguments of its derivative.
    pub(super) fn given_primal(
        &mut self,
        callee: SymId,
        args: &[Expr],
        span: Span,
    ) -> Option<Stmt> {
        let (procedure, rule) = self.provided(callee)?;
        let mut primals = Vec::new();
        let mut rest = args.iter();
        let function = self.is_function(procedure, &rule);
        for i in 0..=rule.args {
            if i == rule.args && !function {
                break;
            }
            primals.extend(rest.next().cloned());
            if rule.is_active(i) {
                rest.next();
            }
        }
        Some(self.call_itself(procedure, primals, function, span))
    }

    /// Returns the call of the procedure as the program has it.
    fn call_itself(
        &mut self,
        procedure: Procedure,
        mut primals: Vec<Expr>,
        function: bool,
        span: Span,
    ) -> Stmt {
        if !function {
            let f = match procedure {
                Procedure::Named(name) => self.builder.procedure(name, Class::Subroutine, None),
                Procedure::Dummy(s) => s,
            };
            return Stmt::call(f, primals, span);
        }
        let Some(result) = primals.pop() else {
            return Stmt::continues(span);
        };
        let ty = type_of(&self.builder.unit, &result);
        let f = match procedure {
            Procedure::Named(name) => self.builder.procedure(name, Class::Function, ty),
            Procedure::Dummy(s) => s,
        };
        let value = Expr::call(f, primals, span);
        Stmt::assign(result, value, span)
    }

    /// Returns the call of the adjoint. No two of its cotangents may be the same variable, since it adds to
    /// both, unless the adjoint is `ours`: such adjoints add by calls, one after the other. `more` are
    /// additional arguments.
    fn adjoint_call(
        &mut self,
        f: SymId,
        ours: bool,
        given: &[Argument],
        rule: &Rule,
        more: impl Iterator<Item = Expr>,
        span: Span,
    ) -> Block {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut actuals = Vec::new();
        let mut passed: Vec<SymId> = Vec::new();
        for a in given {
            if !a.hidden {
                actuals.push(a.primal.clone());
            }
            let Some(d) = &a.derivative else { continue };
            let ty = type_of(&self.builder.unit, d).unwrap_or(Type::REAL);
            let base = d
                .base()
                .filter(|_| is_derivative(&self.builder.derivatives, d));
            let Some(base) = base else {
                if rank(&self.builder.unit, d) > 0 || rank(&self.builder.unit, &a.primal) > 0 {
                    self.refuse(
                        d.span.or(span),
                        "the adjoint of an array expression as an argument is not known",
                        "assign it to an array first",
                    );
                }
                // A constant zero: its cotangent is not used.
                let t = Expr::var(self.builder.derivative_temporary(ty), span);
                before.push(Stmt::assign(t.clone(), zero(ty, span), span));
                actuals.push(t);
                continue;
            };
            if a.assigned || ours || !passed.contains(&base) {
                passed.push(base);
                actuals.push(d.clone());
                continue;
            }
            let symbol = self.builder.unit.symbols[base].clone();
            let open = |e: &Option<Expr>| !e.as_ref().is_some_and(|u| u.kind != ExprKind::Star);
            if symbol.dims.iter().any(|d| open(&d.upper)) {
                self.refuse(
                    d.span.or(span),
                    "the same array is passed twice, and both get a cotangent",
                    "copy one of them to another array first",
                );
            }
            // The copy is added back after the call.
            let name = self.builder.unused("TEMPB");
            let copy = self.builder.declare(Symbol {
                dims: symbol.dims,
                ..Symbol::variable(name, ty, span)
            });
            self.builder.derivatives.insert(copy);
            let (whole, own) = (Expr::var(copy, span), Expr::var(base, span));
            before.push(Stmt::assign(whole.clone(), zero(ty, span), span));
            after.push(increment(own, whole, span));
            let mut part = d.clone();
            if let ExprKind::Var(s) | ExprKind::Element(s, _) = &mut part.kind {
                *s = copy;
            }
            actuals.push(part);
        }
        let count: Vec<Expr> = more.collect();
        match &count[..] {
            // A given adjoint has one direction.
            [count] if !rule.assumed => {
                before.extend(self.one_by_one(f, &actuals, given, rule, count, span));
            }
            _ => {
                actuals.extend(count);
                before.push(Stmt::call(f, actuals, span));
            }
        }
        before.append(&mut after);
        before
    }

    /// Calls a given adjoint for each direction.
    fn one_by_one(
        &mut self,
        f: SymId,
        actuals: &[Expr],
        given: &[Argument],
        rule: &Rule,
        count: &Expr,
        span: Span,
    ) -> Block {
        let direction = self.builder.variable("ND", Type::INTEGER);
        let symbols = self.builder.unit.symbols.clone();
        let derivatives = self.builder.derivatives.clone();
        let function = given.len() > rule.args;
        let environment = Directions {
            direction,
            last: count.clone(),
            is_derivative: &|e| is_derivative(&derivatives, e),
            is_scalar: &|_| function,
            changes: &|i| given.get(i).is_some_and(|a| a.assigned && a.input),
            changes_derivative: &|_| true,
            subscripted: true,
        };
        let builder = &mut self.builder;
        let made = one_by_one(
            f,
            actuals,
            rule,
            &environment,
            &symbols,
            span,
            &mut |s, dims, one| {
                let of = &symbols[s];
                let name = builder.unused(&format!("{}1", of.name));
                let copy = builder.declare(Symbol {
                    dims,
                    ..Symbol::variable(name, of.ty.unwrap_or(Type::REAL), span)
                });
                if one {
                    builder.derivatives.insert(copy);
                }
                copy
            },
        );
        made.unwrap_or_else(|open| {
            let array = open
                .first()
                .map_or("an array", |s| symbols[*s].name.as_str());
            let (message, help) = unknown_bounds(array);
            self.refuse(span, &message, help);
            Vec::new()
        })
    }

    fn refuse(&mut self, at: Span, message: &str, help: &str) {
        if self.trial == 0 {
            let error = Diagnostic::error(&rules::AD_GIVEN, at, message).help(help);
            self.errors.push(error);
        }
    }
}
