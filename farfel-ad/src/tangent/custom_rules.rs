//! Calls of procedures with custom rules: their derivatives are given, or they are constant.

use super::generator::Generator;
use crate::calls::calls;
use crate::custom_rules::bundled;
use crate::custom_rules::rules::{is_differentiable_dummy, placeholder_name};
use crate::layout::Unknown;
use crate::locations::{Context, Set, differentiable};
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::effects;
use farfel_lang::ir::{Attribute, Class, Expr, ExprKind, Name, Stmt, SymId, Type};
use farfel_lang::types::type_of;

impl Generator<'_> {
    /// Returns the tangent that is given for a procedure. Reports an error if it lacks something that the call needs.
    pub(super) fn given_derivative(&mut self, callee: SymId, context: &Context) -> Option<Name> {
        let rule = self.engine.dependence.rule(self.source, callee)?.clone();
        let name = self.source.symbols[callee].name.clone();
        let mut error = |message: String, help: &str| {
            let d = Diagnostic::error(&rules::AD_GIVEN, self.span, message).help(help);
            let d = match rule.span.is_none() {
                true => d,
                false => d.related(rule.span, "given here"),
            };
            self.errors.push(self.engine.with_ad_block(d));
        };
        if let Some(slot) = rule.beyond(context) {
            let text = self.engine.find(&name);
            let dummy = text.and_then(|u| u.args.get(slot)?.sym());
            let what = match (text, dummy) {
                (Some(u), Some(s)) => u.symbols[s].name.to_string(),
                _ if slot > rule.args => "a variable in COMMON".to_owned(),
                _ => format!("argument {}", slot + 1),
            };
            error(
                format!(
                    "derivatives would go through {what} of {name}, and the derivative that is given does not tell of it"
                ),
                "list the argument in the directive; make arguments of variables in COMMON",
            );
        }
        if self.engine.layout.vector && effects::communicates(&name) {
            error(
                "messages have derivatives in one direction".to_owned(),
                "write a block with one direction, and a loop around it",
            );
        }
        if self.engine.layout.pattern {
            error(
                format!(
                    "a sparsity pattern would go through {name}, and its given derivative computes none"
                ),
                "compute the derivatives themselves, with DIRECTIONS instead of PATTERN",
            );
        }
        let gone = rule.tangent.iter().chain(&rule.adjoint).find(|n| {
            let ours = n.starts_with(bundled::PREFIX) && self.engine.find(n).is_none();
            ours && bundled::unit(n).is_none() && !bundled::is_of_runtime(n)
        });
        if gone.is_some() {
            error(
                format!("no derivative of {name} comes along"),
                "take it out of the directive, or name its derivatives",
            );
        }
        let (derivative, other) = match self.engine.linear {
            true => (rule.adjoint, "tangent"),
            false => (rule.tangent, "adjoint"),
        };
        if derivative.is_none() {
            error(
                format!("derivatives would go through {name}, of which only the {other} is given"),
                "give both",
            );
        }
        match self.engine.linear {
            true => Some(placeholder_name(&name)),
            false => derivative,
        }
    }

    /// Checks the types of the arguments of a given derivative of a procedure without source text: they must
    /// be those that its tangent declares.
    pub(super) fn given_types(&mut self, callee: SymId, args: &[Expr], context: &Context) {
        let name = &self.source.symbols[callee].name;
        let rule = self.engine.dependence.rule(self.source, callee);
        let tangent = rule.and_then(|r| r.tangent.clone().or(r.adjoint.clone()));
        if self.engine.find(name).is_some() {
            return;
        }
        let Some(unit) = tangent.and_then(|t| self.engine.find(&t).or_else(|| bundled::unit(&t)))
        else {
            return;
        };
        let real = self.engine.layout.real;
        let mut at = 0;
        for (i, a) in args.iter().enumerate() {
            let dummy = unit.args.get(at).and_then(|d| d.sym());
            at += 1 + usize::from(context.active(i));
            if !context.active(i) || !is_differentiable_dummy(unit, at - 1) {
                continue;
            }
            let wanted = dummy.and_then(|s| unit.symbols[s].ty);
            let given = type_of(self.source, a);
            if let (Some(wanted), Some(given)) = (wanted, given)
                && wanted.with_real(real) != given.with_real(real)
            {
                let message = format!(
                    "derivatives would go through this argument, which is {given} here and {wanted} in {name}"
                );
                let d = Diagnostic::error(&rules::AD_ARGUMENT, a.span, message)
                    .help("declare both with the same type");
                self.errors.push(self.engine.with_ad_block(d));
            }
        }
    }

    /// Reports a constant array as an argument: it has no derivative to pass if the callee would assign one,
    /// or if the argument begins within the array.
    pub(super) fn refuse_constant(
        &mut self,
        a: &Expr,
        position: usize,
        callee: &str,
        context: &Context,
    ) {
        let (ExprKind::Var(s) | ExprKind::Element(s, _)) = &a.kind else {
            return;
        };
        let symbol = &self.source.symbols[*s];
        let whole = matches!(a.kind, ExprKind::Var(_));
        let set = context.outputs.contains(position);
        if symbol.has(Attribute::Constant) && symbol.is_array() && (set || !whole) {
            let message = format!(
                "{} is constant, but derivatives go through this argument of {callee} elsewhere",
                symbol.name
            );
            let d = Diagnostic::error(&rules::AD_ARGUMENT, a.span, message)
                .help("pass an array that is not constant, and copy it");
            self.errors.push(self.engine.with_ad_block(d));
        }
    }

    /// Sets derivatives to zero after a call without derivatives: of what a constant procedure assigns, and
    /// of what a procedure without source text assigns without reading it, according to a directive.
    pub(super) fn zero_constants(
        &mut self,
        callee: SymId,
        args: &[Expr],
        node: usize,
    ) -> Vec<Stmt> {
        let constant = self.engine.dependence.rule(self.source, callee);
        let constant = constant.is_some_and(|r| r.constant);
        let summary = self.engine.dependence.callee(self.source, callee);
        let within = |i: &usize| *i < args.len();
        let (assigned, arrays): (Vec<usize>, Set) = match summary {
            Some(s) if constant => (s.assigned.ones().filter(within).collect(), s.arrays.clone()),
            None if !constant => {
                let described = self.engine.dependence.described(self.source, callee);
                let set = |i: &usize| described.writes(*i) && !described.reads(*i);
                // It is not known whether an element or an array is meant.
                let mut arrays = Set::with_capacity(args.len());
                arrays.insert_range(..);
                ((0..args.len()).filter(set).collect(), arrays)
            }
            _ => return Vec::new(),
        };
        let shared = summary.map(|s| (s.args, s.assigned.clone()));
        let mut zeros = Vec::new();
        for i in assigned {
            let Some(s) = args[i].base() else { continue };
            let loc = self.space.loc(s);
            if !differentiable(&self.source.symbols[s])
                || !self.activity.live[node].contains(loc)
                || !self.varied.contains(loc)
            {
                continue;
            }
            match &args[i].kind {
                ExprKind::Element(..) if arrays.contains(i) => {
                    let name = &self.source.symbols[callee].name;
                    let message = format!(
                        "which elements {name}, which has no derivative here, gives a value to is not known"
                    );
                    // By Tapenade's conventions, such derivatives stay as they are.
                    if !constant && self.engine.layout.unknown == Unknown::Provided {
                        let d = Diagnostic::warning(&rules::AD_ARGUMENT, args[i].span, message)
                            .label("their derivatives are left as they are");
                        let d = self.engine.with_ad_block(d);
                        self.engine.warnings.borrow_mut().push(d);
                        continue;
                    }
                    let d = Diagnostic::error(&rules::AD_ARGUMENT, args[i].span, message)
                        .help("pass a whole array");
                    self.errors.push(self.engine.with_ad_block(d));
                }
                _ => {
                    let target = self.designator(&args[i]);
                    let d = self.derivative_designator(&target);
                    let ty = self.source.symbols[s].ty.unwrap_or(Type::REAL);
                    let zero = self.zero(ty);
                    zeros.push(Stmt::assign(d, zero, self.span));
                }
            }
        }
        let shared: Vec<usize> = (shared.iter())
            .flat_map(|(args, set)| set.ones().filter_map(|o| o.checked_sub(*args + 1)))
            .collect();
        for k in shared {
            let loc = self.space.common(k);
            if !self.activity.live[node].contains(loc) || !self.varied.contains(loc) {
                continue;
            }
            let found = match self.is_one_location(k) {
                true => self.whole_block(k),
                false => self.common_derivative(k).into_iter().collect(),
            };
            zeros.extend(
                found
                    .into_iter()
                    .map(|d| self.zero_whole(d))
                    .collect::<Vec<_>>(),
            );
        }
        zeros
    }

    /// Reports constant functions that assign something besides their result whose derivative would become
    /// zero: there is no place for that assignment.
    pub(super) fn refuse_constant_functions(&mut self, s: &Stmt, node: usize) {
        let called = calls(self.source, s).into_iter().map(|(call, _)| call);
        for call in called {
            if self.source.symbols[call.callee].class != Class::Function {
                continue;
            }
            let rule = self.engine.dependence.rule(self.source, call.callee);
            let summary = self.engine.dependence.callee(self.source, call.callee);
            let constant = rule.is_some_and(|r| r.constant);
            let of_argument = |i: usize| {
                let base = call.args.get(i).and_then(Expr::base);
                base.map(|s| self.space.loc(s))
            };
            let set: Vec<Option<usize>> = match summary {
                Some(s) if constant => {
                    let loc = |o: usize| match o.checked_sub(s.args + 1) {
                        Some(k) => Some(self.space.common(k)),
                        None => of_argument(o),
                    };
                    s.assigned.ones().map(loc).collect()
                }
                // If derivatives go through the function, what it assigns gets its derivative there.
                None if !constant => {
                    let live = &self.activity.live[node];
                    if self.problem.site(call, &self.varied, live, true).is_some() {
                        continue;
                    }
                    let described = self.engine.dependence.described(self.source, call.callee);
                    let set = |i: &usize| described.writes(*i) && !described.reads(*i);
                    let arguments = (0..call.args.len()).filter(set);
                    arguments.map(of_argument).collect()
                }
                _ => continue,
            };
            let kept =
                |l: &usize| self.activity.live[node].contains(*l) && self.varied.contains(*l);
            let lost = set.iter().flatten().any(kept);
            if lost {
                let name = &self.source.symbols[call.callee].name;
                let message = format!(
                    "{name}, which {} gives a value to a variable with a derivative",
                    if constant {
                        "is constant,"
                    } else {
                        "has no text,"
                    }
                );
                let help = match constant {
                    true => "let a subroutine do that, and make it constant",
                    false => "let a subroutine do that",
                };
                let d = Diagnostic::error(&rules::AD_GIVEN, self.span, message).help(help);
                self.errors.push(self.engine.with_ad_block(d));
            }
        }
    }
}
