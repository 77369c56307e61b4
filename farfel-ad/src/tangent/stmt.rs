//! Generates the statements of a unit with their derivatives.

use super::allocate::is_allocated_here;
use super::generator::{Generator, Value};
use super::interface::title;
use super::possible::lacks_variable;
use super::{Engine, Tangent, TangentRequest, entry_zeros};
use crate::activity::{Problem, Site};
use crate::calls::{CallSite, calls};
use crate::flow::FlowGraph;
use crate::layout::Unknown;
use crate::locations::{Context, Set, Space, differentiable};
use crate::passes::{Derivative, simplify_derivative, simplify_tangent};
use crate::simplify::shorter::TapeSubprograms;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Block, Class, DoEnd, Expr, ExprKind, IfBlock, Name, Origin, Stmt, StmtKind, StorageClass,
    SymId, Type, Unit, for_each_reference, walk_block,
};
use farfel_lang::types::type_of;
use std::collections::{HashMap, HashSet};

/// Generates the derivative of `source` in a context. `root` is given for the head of a request: those of its
/// arguments that are followed by a derivative.
pub(super) fn generate(
    engine: &Engine,
    source: &Unit,
    space: &Space,
    flow: &FlowGraph,
    wanted: &TangentRequest,
    root: Option<&[usize]>,
) -> Result<Tangent, Vec<Diagnostic>> {
    let admit = |unit: &str, c| match engine.dependence.rules.get(unit) {
        Some(rule) => rule.context(&c),
        None => engine.registry.borrow().admit(unit, c),
    };
    let problem = Problem {
        unit: source,
        space,
        flow,
        dependence: &engine.dependence,
        admit: &admit,
        assume: engine.layout.unknown == Unknown::Provided,
    };
    let refused = crate::refuse::refuse_arguments(source);
    if !refused.is_empty() {
        return Err(refused
            .into_iter()
            .map(|d| engine.with_ad_block(d))
            .collect());
    }
    let activity = problem.solve(
        &space.locs(&wanted.context.inputs),
        &space.locs(&wanted.context.outputs),
    );
    if let Some((s, way)) = problem.refused(&activity, engine.layout.vector, engine.linear) {
        let s = &source.symbols[s];
        let error = Diagnostic::error(
            &rules::AD_STORAGE,
            s.span,
            format!(
                "derivatives{} would go through {}, which shares its storage with other variables",
                match engine.layout.vector {
                    true => " in several directions",
                    false => "",
                },
                s.name
            ),
        )
        .label(way)
        .help("give the variable storage of its own, or declare the COMMON block alike everywhere");
        return Err(vec![engine.with_ad_block(error)]);
    }
    let mut unit = source.clone();
    unit.name = wanted.name.clone();
    unit.origin = Origin::Derivative;
    // Symbols of the source count as written here, whatever generated them, except for what takes the place of jumps.
    for s in unit.symbols.ids() {
        if unit.symbols[s].origin != Origin::Jump {
            unit.symbols[s].origin = Origin::Written;
        }
    }
    unit.comments = vec![title(engine, source, wanted)];
    unit.body = Vec::new();
    let mut jumped_to = HashSet::new();
    let mut labels = HashSet::new();
    walk_block(&source.body, &mut |s| {
        labels.extend(s.label);
        jumped_to.extend(s.kind.jumps());
        match &s.kind {
            StmtKind::AssignLabel(l, _) => {
                jumped_to.insert(*l);
            }
            StmtKind::Do(d) => {
                if let DoEnd::Label(l) | DoEnd::EndDo(Some(l)) = d.end {
                    labels.insert(l);
                }
            }
            StmtKind::If(b) => labels.extend(b.end_label),
            StmtKind::Select(b) => labels.extend(b.end.label),
            _ => {}
        }
    });
    let mut g = Generator {
        engine,
        source,
        space,
        activity: &activity,
        problem: &problem,
        unit,
        derivatives: HashMap::new(),
        pairs: Vec::new(),
        imported: HashMap::new(),
        placeholders: HashMap::new(),
        whole_blocks: HashMap::new(),
        tied: HashSet::new(),
        called: HashSet::new(),
        given: HashMap::new(),
        procedures: HashMap::new(),
        dummy_calls: HashMap::new(),
        sizes: HashMap::new(),
        counters: Vec::new(),
        temporaries: HashMap::new(),
        temporaries_used: HashMap::new(),
        errors: Vec::new(),
        bound: HashMap::new(),
        unit_tangents: false,
        in_where: false,
        pre: Vec::new(),
        span: source.span,
        left_zero: Set::with_capacity(space.len),
        varied: Set::new(),
        live: Set::new(),
        node: flow.entry,
        moves: Vec::new(),
        jumped_to,
        labels,
        moved_labels: HashMap::new(),
        count: None,
        direction: None,
    };
    g.header(wanted, root);
    let body = g.block(&source.body);
    let mut all = g.zero_on_entry(wanted, root);
    let zeroed_on_entry = entry_zeros::zeroed_on_entry(&g.unit, &all, &body);
    let mut zero = match engine.adjoint_of.contains(&source.name) {
        true => g.zero_before_adjoint(wanted),
        false => Vec::new(),
    };
    all.extend(body);
    g.unit.body = all;
    g.drop_unused_procedures();
    let refused = crate::refuse::refuse_allocations(source, &|s| {
        g.derivatives.contains_key(&s) && !is_allocated_here(&source.symbols[s])
    });
    for d in refused {
        g.errors.push(engine.with_ad_block(d));
    }
    let mut body = std::mem::take(&mut g.unit.body);
    g.allocate_derivatives(&mut body);
    g.unit.body = body;
    if g.errors.is_empty() {
        let temporaries = g
            .temporaries
            .iter()
            .filter(|((_, derivative), _)| *derivative);
        let tangents: HashSet<SymId> = temporaries
            .flat_map(|(_, list)| list)
            .chain(g.derivatives.values())
            .chain(g.imported.values())
            .chain(g.placeholders.values())
            .chain(g.whole_blocks.values().flatten())
            .copied()
            .collect();
        // The dummy arguments of ENTRY points, which the copy does not have.
        for s in g.unit.symbols.ids() {
            if g.unit.symbols[s].storage_class == StorageClass::Dummy
                && g.unit.arg_position(s).is_none()
            {
                g.unit.symbols[s].storage_class = StorageClass::Local;
            }
        }
        let primals: HashMap<SymId, SymId> = g.derivatives.iter().map(|(p, d)| (*d, *p)).collect();
        let mut derivative = Derivative {
            unit: &mut g.unit,
            tangents: &tangents,
            primal: &primals,
            parts: HashSet::new(),
            tape_subprograms: &TapeSubprograms::default(),
        };
        if !engine.linear && !engine.layout.pattern {
            simplify_tangent(&mut derivative)?;
        }
        let parts = derivative.parts;
        if engine.layout.vector {
            let tangents = g.all_derivatives(&tangents);
            g.vectorize(&tangents, &mut zero)?;
        }
        if !engine.linear {
            let mut derivative = Derivative {
                unit: &mut g.unit,
                tangents: &tangents,
                primal: &primals,
                parts,
                tape_subprograms: &TapeSubprograms::default(),
            };
            simplify_derivative(&mut derivative)?;
        }
        let procedures = g.procedures.values().copied();
        Ok(Tangent {
            of: wanted.unit.clone(),
            args: wanted.args,
            context: wanted.context.clone(),
            by_slot: g.by_slot(),
            assigned_in_pairs: g.assigned_in_pairs(),
            zeroed_on_entry,
            dummies: g.dummies(),
            added: procedures.chain(g.count).collect(),
            direction: g.direction,
            unit: g.unit,
            derivatives: tangents,
            primals: g.pairs,
            zero,
        })
    } else {
        Err(g.errors)
    }
}

impl Generator<'_> {
    pub(super) fn block(&mut self, block: &[Stmt]) -> Block {
        let mut out = Vec::with_capacity(block.len());
        for s in block {
            out.extend(self.stmt(s));
        }
        out
    }

    /// The derivatives that a function reference in the current statement passes on. `wanted` says whether
    /// that of its result is used.
    pub(super) fn reference(&self, call: CallSite, wanted: bool) -> Option<Site> {
        self.problem.site(call, &self.varied, &self.live, wanted)
    }

    /// Returns the statements that a statement becomes; its label moves to the first of them.
    pub(super) fn stmt(&mut self, s: &Stmt) -> Block {
        let node = self.problem.flow.node(s.id);
        self.node = node;
        self.span = s.span;
        // Reverse mode may need a temporary long after its statement.
        if !self.in_where && !self.engine.linear {
            self.temporaries_used.clear();
        }
        self.moves = self
            .engine
            .dependence
            .moves(self.source, self.space, s, self.in_where);
        self.varied = self
            .problem
            .varied_within(&self.activity.varied[node], &self.moves);
        self.live = self.activity.live[node].clone();
        self.refuse_passed(s);
        self.live = self.problem.live_within(node, self.activity, &self.moves);
        self.refuse_constant_functions(s, node);
        let mut own = self.kind(s);
        let mut out = std::mem::take(&mut self.pre);
        out.append(&mut own);
        if let Some(first) = out.first_mut() {
            first.label = s.label;
        }
        out
    }

    /// Returns the statements that a statement becomes. Those that must come before are added to `pre`.
    fn kind(&mut self, s: &Stmt) -> Block {
        let node = self.node;
        let span = s.span;
        let one = |kind| vec![Stmt::new(kind, span)];
        match &s.kind {
            StmtKind::Assign(target, value) => self.assign(target, value),
            StmtKind::If(b) => self.if_block(&b.arms, b, span),
            StmtKind::Select(b) => self.select(b, span),
            StmtKind::Where(b) => self.where_block(b, span),
            StmtKind::LogicalIf(c, inner) => {
                let c = self.primal(c);
                let pre = std::mem::take(&mut self.pre);
                let mut inner = self.stmt(inner);
                self.pre = pre;
                if inner.len() == 1 && simple_statement(&inner[0]) {
                    one(StmtKind::LogicalIf(c, Box::new(inner.remove(0))))
                } else {
                    one(StmtKind::If(IfBlock {
                        arms: vec![(c, inner)],
                        otherwise: None,
                        ..IfBlock::default()
                    }))
                }
            }
            StmtKind::ArithmeticIf(e, labels) => {
                let e = self.primal(e);
                one(StmtKind::ArithmeticIf(e, *labels))
            }
            StmtKind::ComputedGoto(labels, e) => {
                let e = self.primal(e);
                one(StmtKind::ComputedGoto(labels.clone(), e))
            }
            StmtKind::Do(d) => self.do_loop(d, span),
            StmtKind::Call(callee, args) => self.call_statement(*callee, args, node),
            StmtKind::Io(io) => self.io(s, io, node),
            // The copy is entered through its own name only; control falls through.
            StmtKind::Entry(_) => one(StmtKind::Continue),
            StmtKind::Return(_) | StmtKind::Stop(_) | StmtKind::Pause(_) => {
                let mut kind = s.kind.clone();
                if let StmtKind::Return(Some(e))
                | StmtKind::Stop(Some(e))
                | StmtKind::Pause(Some(e)) = &mut kind
                {
                    *e = self.primal(e);
                }
                one(kind)
            }
            StmtKind::Comment(_)
            | StmtKind::Continue
            | StmtKind::Goto(_)
            | StmtKind::AssignedGoto(..)
            | StmtKind::AssignLabel(..)
            | StmtKind::Format(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_)
            | StmtKind::Ad(_) => one(s.kind.clone()),
            // Their derivatives are added at the end.
            StmtKind::Allocation(a) => {
                let mut a = a.clone();
                for o in a.objects.iter_mut().chain(&mut a.control) {
                    *o = self.primal(o);
                }
                one(StmtKind::Allocation(a))
            }
        }
    }

    fn assign(&mut self, target: &Expr, value: &Expr) -> Block {
        let span = self.span;
        let active = self.statement_activity().is_active(target, value);
        let active_target = target.base().filter(|_| active);
        self.warn_of_integer_functions(value);
        let Some(s) = active_target else {
            self.warn_of_lost_derivative(target, value);
            let target = self.primal(target);
            let value = self.primal(value);
            return vec![Stmt::assign(target, value, span)];
        };
        let loc = self.space.loc(s);
        let varied = self.is_varied(value);
        let whole = self
            .moves
            .last()
            .and_then(|m| m.group.first())
            .is_some_and(|m| m.target == loc && m.strong);
        let target = self.designator(target);
        let d_target = self.derivative_designator(&target);
        let v = if varied {
            match self.direct_reference(&target, &d_target, value) {
                Some(v) => v,
                None => self.tangent(value),
            }
        } else {
            Value {
                p: self.primal(value),
                d: None,
            }
        };
        let mut out = Vec::new();
        // Derivatives on a tape are pushed and popped with each value.
        if varied || whole || self.varied.contains(loc) || self.unit.symbols[s].tape {
            let ty = self.unit.symbols[s].ty.unwrap_or(Type::REAL);
            let d = v.d.unwrap_or_else(|| self.zero(ty));
            if d.kind != d_target.kind {
                out.push(Stmt::assign(d_target, d, span));
            }
        } else {
            self.left_zero.set(loc, true);
        }
        if v.p.kind != target.kind {
            out.push(Stmt::assign(target, v.p, span));
        }
        out
    }

    /// Warns of `K = X` if X varies: a user who writes INT or NINT knows that the derivative is lost, one who
    /// leaves the conversion to the assignment may not.
    fn warn_of_lost_derivative(&mut self, target: &Expr, value: &Expr) {
        let Some(s) = target.base() else { return };
        let symbol = &self.source.symbols[s];
        if matches!(symbol.ty, Some(Type::Integer(_))) && self.is_varied(value) {
            let warning = lost_derivative(&symbol.name, target.span);
            let warning = self.engine.with_ad_block(warning);
            self.engine.warnings.borrow_mut().push(warning);
        }
    }

    /// Warns of functions that return a REAL value as an INTEGER, perhaps because their names begin with I to
    /// N: like [`Generator::warn_of_lost_derivative`], at the place of the conversion.
    fn warn_of_integer_functions(&mut self, value: &Expr) {
        match &value.kind {
            ExprKind::Paren(a) | ExprKind::Unary(_, a) => self.warn_of_integer_functions(a),
            ExprKind::Binary(op, a, b) if op.is_arithmetic() => {
                self.warn_of_integer_functions(a);
                self.warn_of_integer_functions(b);
            }
            ExprKind::Call(s, args) => {
                let symbol = &self.source.symbols[*s];
                let gives_integer = matches!(symbol.ty, Some(Type::Integer(_)))
                    && symbol.class == Class::Function
                    && symbol.storage_class == StorageClass::Global;
                if !gives_integer || !args.iter().any(|a| self.is_varied(a)) {
                    return;
                }
                let Some(unit) = self.engine.find(&symbol.name) else {
                    return;
                };
                walk_block(&unit.body, &mut |s| {
                    let StmtKind::Assign(target, value) = &s.kind else {
                        return;
                    };
                    let mut varies = false;
                    value.for_each_symbol(&mut |s| varies |= differentiable(&unit.symbols[s]));
                    if target.base() == unit.result
                        && varies
                        && type_of(unit, value).is_some_and(Type::is_differentiable)
                    {
                        let warning = lost_derivative(&unit.name, target.span);
                        let warning = self.engine.with_ad_block(warning);
                        self.engine.warnings.borrow_mut().push(warning);
                    }
                });
            }
            _ => {}
        }
    }

    /// Sets the derivative of a variable to zero that has got a new, passive value.
    pub(super) fn zero_after(&mut self, target: &Expr, whole: bool, node: usize) -> Option<Stmt> {
        let s = target.base()?;
        let loc = self.space.loc(s);
        if !differentiable(&self.unit.symbols[s])
            || !self.activity.live[node].contains(loc)
            || !(whole || self.varied.contains(loc))
        {
            return None;
        }
        let target = self.designator(target);
        let d = self.derivative_designator(&target);
        let zero = self.zero(self.unit.symbols[s].ty.unwrap_or(Type::REAL));
        Some(Stmt::assign(d, zero, self.span))
    }

    fn call_statement(&mut self, callee: SymId, args: &[Expr], node: usize) -> Block {
        let span = self.span;
        let live = &self.activity.live[node];
        let call = CallSite::new(callee, args);
        match self.problem.site(call, &self.varied, live, false) {
            None => {
                self.same_types(callee, args, None);
                let zeros = self.zero_constants(callee, args, node);
                let args = args.iter().map(|a| self.primal(a)).collect();
                let call = Stmt::call(callee, args, span);
                [call].into_iter().chain(zeros).collect()
            }
            Some(Site::Unknown) => {
                self.unknown_procedure(callee, span);
                Vec::new()
            }
            Some(Site::Known(c)) => {
                let (derivative, actuals) = self.active_call(callee, args, &c);
                let passive = c.inputs.is_clear() && c.outputs.is_clear();
                let zeros = match passive {
                    true => self.zero_constants(callee, args, node),
                    false => Vec::new(),
                };
                let call = Stmt::call(derivative, actuals, span);
                [call].into_iter().chain(zeros).collect()
            }
        }
    }

    pub(super) fn unknown_procedure(&mut self, callee: SymId, span: Span) {
        let s = &self.source.symbols[callee];
        let entry_of = self.engine.program.units.iter().find(|u| {
            let mut found = false;
            walk_block(&u.body, &mut |st| {
                if let StmtKind::Entry(e) = &st.kind {
                    found |= u.symbols[e.name].name == s.name;
                }
            });
            found
        });
        let d = if let Some(u) = entry_of {
            Diagnostic::error(
                &rules::AD_UNSUPPORTED,
                span,
                format!(
                    "derivatives would go through {}, an ENTRY of {}",
                    s.name, u.name
                ),
            )
            .help("make a subprogram of its own of the entry")
        } else if s.storage_class == StorageClass::Dummy {
            Diagnostic::error(
                &rules::AD_UNKNOWN_PROCEDURE,
                span,
                format!(
                    "derivatives would go through the dummy procedure {}",
                    s.name
                ),
            )
            .help(self.how_to_give(callee))
        } else if crate::custom_rules::bundled::writes_checkpoints(s) {
            Diagnostic::error(
                &rules::AD_LOOP,
                span,
                "the derivative of an adjoint that writes states of this loop to files is not known",
            )
            .help("take `disk` out of the directive")
        } else {
            Diagnostic::error(
                &rules::AD_UNKNOWN_PROCEDURE,
                span,
                format!(
                    "derivatives would go through {}, whose text is not known",
                    s.name
                ),
            )
            .help(format!("add the source of {} to the project", s.name))
        };
        let find = |name: &str| self.engine.find(name);
        let d = self.engine.with_ad_block(d);
        let own = &self.source.name;
        let d = crate::path::with_path(d, &find, &self.engine.head, own, callee);
        self.errors.push(d);
    }

    /// How a user can make a dummy procedure differentiable.
    fn how_to_give(&self, dummy: SymId) -> String {
        let name = &self.source.symbols[dummy].name;
        let mut form = None;
        for_each_reference(&self.source.body, &mut |r| {
            if r.procedure != dummy || form.is_some() {
                return;
            }
            let letters = ["A", "B", "C", "D", "E"];
            let mut names: Vec<String> = Vec::new();
            let mut inputs: Vec<String> = Vec::new();
            for (i, a) in r.args.iter().enumerate() {
                let own = a.base().map(|s| self.source.symbols[s].name.to_string());
                let own = own.filter(|n| !names.contains(n));
                let letter = letters
                    .get(i)
                    .map_or(format!("A{}", i + 1), ToString::to_string);
                let name = own.unwrap_or(letter);
                if type_of(self.source, a).is_some_and(|t| t.is_differentiable()) {
                    inputs.push(name.clone());
                }
                names.push(name);
            }
            let inputs = match inputs.as_slice() {
                [one] => one.clone(),
                more => format!("({})", more.join(", ")),
            };
            let outputs = match r.function {
                true => String::new(),
                false => format!(", out = {inputs}"),
            };
            form = Some((names.join(", "), inputs, outputs));
        });
        let (word, letter) = match self.engine.linear {
            true => ("adjoint", "B"),
            false => ("tangent", "D"),
        };
        let known = "or pass a procedure whose text is part of the program";
        match form {
            Some((arguments, inputs, outputs)) => format!(
                "add the {word} to the arguments of the subprogram, `EXTERNAL {name}{letter}`, and say what it is: `!farfel: derivative({name}({arguments}), {word} = {name}{letter}, in = {inputs}{outputs})`; {known}"
            ),
            None => format!("give its derivative, {known}"),
        }
    }

    /// Reports derivatives in COMMON that would go through a procedure that is passed as an argument: the
    /// unit that calls it knows only of its arguments.
    fn refuse_passed(&mut self, s: &Stmt) {
        for (call, _) in calls(self.source, s) {
            for a in call.args {
                let ExprKind::Var(v) = a.kind else { continue };
                let passed = &self.source.symbols[v];
                let dependence = &self.engine.dependence;
                if !passed.class.is_procedure()
                    || passed.storage_class != StorageClass::Global
                    || dependence.rule(self.source, v).is_some()
                {
                    continue;
                }
                let Some(summary) = dependence.summary(&passed.name) else {
                    continue;
                };
                let common = |slot: usize| slot.checked_sub(summary.args + 1);
                let varied = |k: usize| self.varied.contains(self.space.common(k));
                let live = |k: usize| self.live.contains(self.space.common(k));
                let is_set = |slot: usize| slot == summary.args || summary.assigned.contains(slot);
                let mut reached = (0..summary.depends.slots()).filter(|slot| is_set(*slot));
                let found = reached.find_map(|slot| {
                    let from = summary.depends.of(slot);
                    let own = common(slot).filter(|k| live(*k) && !from.is_clear());
                    own.or_else(|| from.ones().filter_map(common).find(|k| varied(*k)))
                });
                let var = found.and_then(|k| dependence.commons.vars.get(k));
                let unit = var.and_then(|var| self.engine.find(&var.unit));
                let (Some(var), Some(unit)) = (var, unit) else {
                    continue;
                };
                let name = unit.symbols[var.sym].name.clone();
                let d = Diagnostic::error(
                    &rules::AD_PASSED_COMMON,
                    a.span,
                    format!(
                        "derivatives would go through {name} in COMMON, which {} uses, and that is passed as an argument here",
                        passed.name
                    ),
                )
                .help(format!("pass {name} on as an argument, too"));
                self.errors.push(d);
            }
        }
    }

    /// Reports arguments that carry derivatives into storage of another type, where they would be lost.
    fn same_types(&mut self, callee: SymId, args: &[Expr], context: Option<&Context>) {
        let name = &self.source.symbols[callee].name;
        let Some(unit) = self.engine.index.get(name) else {
            return;
        };
        let unit = &self.engine.program.units[unit];
        if context.is_some() && unit.name == *name && args.len() != unit.args.len() {
            self.errors.push(
                Diagnostic::error(
                    &rules::AD_ARGUMENT,
                    self.span,
                    format!(
                        "derivatives would go through this call, which passes {} of the {} arguments of {name}",
                        args.len(),
                        unit.args.len()
                    ),
                )
                .related(unit.name_span, "defined here")
                .help("pass as many as it has"),
            );
        }
        for (i, (a, dummy)) in args.iter().zip(&unit.args).enumerate() {
            let Some(wanted) = dummy.sym().map(|s| &unit.symbols[s]) else {
                continue;
            };
            let (Some(given), Some(ty)) = (type_of(self.source, a), wanted.ty) else {
                continue;
            };
            let carries = given.is_differentiable() || ty.is_differentiable();
            let active = context.is_some_and(|c| c.active(i));
            let real = self.engine.layout.real;
            let same = given.with_real(real) == ty.with_real(real);
            if same || !wanted.is_variable() || !carries {
                continue;
            }
            if active || self.is_varied(a) {
                self.errors.push(
                    Diagnostic::error(
                        &rules::AD_ARGUMENT,
                        a.span,
                        format!(
                            "derivatives would go through this argument, which is {given} here and {ty} in {}",
                            unit.name
                        ),
                    )
                    .related(wanted.span, format!("the dummy argument {}", wanted.name))
                    .help("declare both with the same type"),
                );
            }
        }
    }

    /// The derivative to call and its actual arguments, without a function's result.
    pub(super) fn active_call(
        &mut self,
        callee: SymId,
        args: &[Expr],
        context: &Context,
    ) -> (SymId, Vec<Expr>) {
        let name = self.source.symbols[callee].name.clone();
        self.same_types(callee, args, Some(context));
        self.given_types(callee, args, context);
        let symbol = self.derivative_procedure(callee, args.len(), context);
        let call = CallSite::new(callee, args);
        let mut actuals = Vec::new();
        for (i, a) in args.iter().enumerate() {
            if !context.active(i) {
                let p = self.primal(a);
                actuals.push(self.value_argument(call, i, p));
                if let ExprKind::Var(s) = a.kind
                    && self.source.symbols[s].class.is_procedure()
                    && let Some(d) = self.passed_derivative(&name, i, s)
                {
                    actuals.push(Expr::var(d, self.span));
                }
                continue;
            }
            if self.is_designator(a)
                && a.base()
                    .is_some_and(|s| differentiable(&self.unit.symbols[s]))
            {
                if let Some(k) = a
                    .base()
                    .and_then(|s| self.space.common_at(self.space.loc(s)))
                {
                    self.engine.registry.borrow_mut().share(k);
                }
                let p = self.designator(a);
                let d = self.derivative_designator(&p);
                actuals.push(p);
                actuals.push(d);
                continue;
            }
            self.refuse_constant(a, i, &name, context);
            let array = self.is_array_valued(a);
            let result = context.outputs.contains(i);
            if lacks_variable(array, result, self.engine.layout.vector) {
                self.errors.push(
                    Diagnostic::error(
                        &rules::AD_ARGUMENT,
                        a.span,
                        "derivatives would go through an array expression as an argument",
                    )
                    .help("assign it to an array first"),
                );
            }
            let v = self.tangent(a);
            let p = self.value_argument(call, i, v.p.clone());
            actuals.push(p);
            let d = self.tangent_argument(call, i, v, context);
            actuals.push(d);
        }
        (symbol, actuals)
    }
}

fn lost_derivative(name: &Name, at: Span) -> Diagnostic {
    Diagnostic::warning(
        &rules::AD_LOST_DERIVATIVE,
        at,
        format!("the derivative ends here: {name} is an INTEGER"),
    )
    .label("has no tangent")
    .help(format!(
        "declare {name} REAL, or write INT(…) to show that this is meant"
    ))
}

/// Whether a statement can be the action of a logical IF, or end a labelled loop.
pub(super) fn simple_statement(s: &Stmt) -> bool {
    matches!(
        s.kind,
        StmtKind::Assign(..)
            | StmtKind::Call(..)
            | StmtKind::Continue
            | StmtKind::Io(_)
            | StmtKind::Goto(_)
            | StmtKind::ComputedGoto(..)
            | StmtKind::AssignedGoto(..)
            | StmtKind::ArithmeticIf(..)
            | StmtKind::AssignLabel(..)
            | StmtKind::Return(_)
            | StmtKind::Stop(_)
            | StmtKind::Pause(_)
            | StmtKind::Cycle(_)
            | StmtKind::Exit(_)
            | StmtKind::Allocation(_)
    ) || matches!(&s.kind, StmtKind::LogicalIf(_, inner) if simple_statement(inner))
        || matches!(&s.kind, StmtKind::Where(w) if w.statement)
}
