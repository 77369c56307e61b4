//! Both sweeps of one unit.
//!
//! The forward sweep consists of the unit's own statements, which save values that will be needed before they
//! overwrite them. The reverse sweep executes the transposes of the linear statements in reverse order and
//! restores the saved values, so that at each of them every needed variable has the value that it had there.

use super::AdjointEngine;
use super::elements::Elements;
use super::normal::has_calls;
use super::save::{save, save_once};
use super::sweep_data::{LoopNeeds, Replay, Sweeps, UnitFacts};
use super::tape::Tapes;
use super::tbr::{Condition, Needs};
use super::transpose::{is_derivative, transpose};
use super::unit_builder::UnitBuilder;
use crate::affine::LoopRange;
use crate::locations::{Set, Space};
use farfel_lang::Span;
use farfel_lang::access;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{
    Allocation, BinOp, Block, Class, DoControl, Expr, ExprKind, Name, Stmt, StmtId, StmtKind,
    StorageClass, SymId, Symbol, Type,
};
use farfel_lang::types::{rank, type_of};
use std::collections::{BTreeSet, HashMap};

pub(super) struct Sweeper<'w> {
    pub engine: &'w AdjointEngine,
    /// The index of the unit in the engine's parts.
    pub part: usize,
    pub facts: &'w [UnitFacts],
    /// The slots of callees whose values from before a call are needed: pairs of a part and a slot.
    pub needed_on_entry: Vec<(usize, usize)>,
    pub builder: UnitBuilder,
    pub space: &'w Space,
    /// The scalar variables of the unit, by location.
    scalars: HashMap<usize, Vec<SymId>>,
    /// The variables of the unit that are no derivatives, by location.
    pub variables: HashMap<usize, Vec<SymId>>,
    pub tapes: Tapes,
    pub errors: Vec<Diagnostic>,
    /// The COMMON variables, by number, that must be named but are not declared.
    pub undeclared: BTreeSet<usize>,
    /// The subprograms whose calls overwrite values that this unit cannot save.
    pub unsavable_calls: BTreeSet<Name>,
    /// The arguments that it cannot save because their sizes are not known.
    pub open_arguments: BTreeSet<Name>,
    /// Locations that the unit assigns somewhere.
    pub assigned: Set,
    /// The unit is the head: both sweeps are in one unit.
    pub root: bool,
    /// The enclosing counted loops.
    pub enclosing_loops: Vec<LoopRange>,
    /// Their variables.
    pub loop_vars: Vec<SymId>,
    /// The number of enclosing loops of any kind.
    pub loop_depth: usize,
    /// The number of enclosing fixed-point loops.
    pub in_fixed_point: usize,
    /// The variable that holds the number of the arm that was taken.
    pub branch: Option<SymId>,
    /// The variable whose value after the current statement the reverse sweep knows, if a later statement records it.
    pub known_after: Option<SymId>,
    /// Whether a statement at the end of the current block, or of a block at its end, relies on [`Self::known_after`].
    pub relied_on: bool,
    /// The variable that the current statement must record, as the one before relies on it.
    pub owed: Option<SymId>,
    /// Greater than zero in trial runs, which only determine needs and whose symbols are removed again.
    pub trial: usize,
    /// Whether a trial run need not even make the statements.
    pub needs_only: bool,
    /// The statements that the reverse sweep begins with.
    pub first_backward: Block,
    /// The statements that the forward sweep begins with.
    pub first_forward: Block,
    /// Whether the iterations of loops are independent, where this is known already.
    pub independent_loops: HashMap<StmtId, bool>,
    /// What was found for each loop last.
    pub loop_needs: HashMap<StmtId, LoopNeeds>,
    /// Whether the iterations of independent loops are executed again: the needs before the loop that this
    /// was decided for, and the decision.
    pub replay_decisions: HashMap<StmtId, Vec<(Needs, bool)>>,
    /// The loops whose iterations are executed again, each by a variable that marks it in the forward sweep.
    pub replays: HashMap<SymId, Replay>,
    /// The locations that later statements assign, one set for each enclosing block (in the head only) and
    /// each enclosing loop.
    pub assigned_later: Vec<Set>,
    /// The variables that the reverse sweep would recompute at the current statement.
    pub recomputable: Vec<SymId>,
    /// For the conditions under which joint calls of a head change arrays, the variables that tell whether an earlier call
    /// relies on these arrays.
    pub relied_on_without: Vec<(Condition, SymId)>,
    /// For each part with joint calls, the locations whose values on entry it reads.
    pub read_on_entry: HashMap<usize, Set>,
    /// The locations that may be defined when each statement begins, once this has been determined.
    pub defined_before: Option<HashMap<StmtId, Set>>,
}

/// A variable that the reverse sweep computes again instead of keeping it.
struct Recomputed {
    var: SymId,
    value: Expr,
    /// The index in the block of the statement that computes it.
    first: usize,
    /// The index of the last statement that needs it: the reverse sweep recomputes it just before the
    /// transpose of this statement.
    last: usize,
}

impl<'w> Sweeper<'w> {
    pub fn new(engine: &'w AdjointEngine, facts: &'w [UnitFacts], part: usize) -> Self {
        let p = &engine.parts[part];
        let mut scalars: HashMap<usize, Vec<SymId>> = HashMap::new();
        let mut variables: HashMap<usize, Vec<SymId>> = HashMap::new();
        for (id, s) in (p.builder.unit.symbols.iter()).filter(|(_, s)| s.is_variable()) {
            let loc = p.space.loc(id);
            if !s.is_array() {
                scalars.entry(loc).or_default().push(id);
            }
            if !p.builder.derivatives.contains(&id) {
                variables.entry(loc).or_default().push(id);
            }
        }
        Sweeper {
            engine,
            part,
            scalars,
            variables,
            facts,
            needed_on_entry: Vec::new(),
            builder: p.builder.for_sweeps(),
            space: &p.space,
            tapes: Tapes::default(),
            errors: Vec::new(),
            undeclared: BTreeSet::new(),
            unsavable_calls: BTreeSet::new(),
            open_arguments: BTreeSet::new(),
            assigned: engine.assigned_in(&p.builder.unit, &p.space, &p.body),
            root: p.root,
            enclosing_loops: Vec::new(),
            loop_vars: Vec::new(),
            loop_depth: 0,
            in_fixed_point: 0,
            branch: None,
            known_after: None,
            relied_on: false,
            owed: None,
            trial: 0,
            needs_only: false,
            first_backward: Vec::new(),
            first_forward: Vec::new(),
            independent_loops: HashMap::new(),
            replay_decisions: HashMap::new(),
            loop_needs: HashMap::new(),
            replays: HashMap::new(),
            assigned_later: Vec::new(),
            recomputable: Vec::new(),
            relied_on_without: Vec::new(),
            read_on_entry: HashMap::new(),
            defined_before: None,
        }
    }

    /// Sweeps a single iteration of a loop, with a tape. Returns its sweeps and the values that its backward
    /// sweep needs when it starts, or `None` if its reverse sweep is empty.
    pub(super) fn one_iteration(
        &mut self,
        around: Option<LoopRange>,
        body: &[Stmt],
    ) -> Option<(Sweeps, Needs)> {
        let counted = around.is_some();
        self.loop_vars.extend(around.as_ref().map(|a| a.var));
        self.enclosing_loops.extend(around);
        self.loop_depth += 1;
        let before = self.errors.len();
        let mut needs = Needs::default();
        let once = self.block(body, &mut needs);
        self.loop_depth -= 1;
        if counted {
            self.loop_vars.pop();
            self.enclosing_loops.pop();
        }
        if once.backward.is_empty() {
            self.errors.truncate(before);
            return None;
        }
        Some((once, needs))
    }

    pub fn block(&mut self, block: &[Stmt], needs: &mut Needs) -> Sweeps {
        let recomputed = self.recomputed(block);
        // `ends` has the recomputed values by their last statements, `open` those that are valid at the
        // current statement.
        let mut ends: HashMap<usize, Vec<&Recomputed>> = HashMap::new();
        for r in recomputed.iter().rev() {
            ends.entry(r.last).or_default().push(r);
        }
        let mut begun = recomputed.iter().peekable();
        let mut open: Vec<&Recomputed> = Vec::new();
        let mut forward = Vec::with_capacity(block.len());
        let mut backward: Vec<Block> = Vec::new();
        let mut later = self.later_in(block);
        let at_end = self.known_after.take();
        let mut owed = None;
        for (i, s) in block.iter().enumerate() {
            let next = block.get(i + 1);
            let recorded = next.and_then(|n| self.recorded_by(s, n));
            self.known_after = if next.is_some() { recorded } else { at_end };
            self.owed = owed.take();
            // What statements inside of this one rely on is recorded by the next one, not by what follows the block.
            let outer = next.is_some().then(|| std::mem::take(&mut self.relied_on));
            open.retain(|r| i <= r.last);
            let known = self.recomputable.len();
            self.recomputable.extend(open.iter().map(|r| r.var));
            let behind = later.pop();
            let depth = self.assigned_later.len();
            self.assigned_later.extend(behind);
            let mut made = self.stmt(s, needs);
            self.assigned_later.truncate(depth);
            self.recomputable.truncate(known);
            if let Some(outer) = outer {
                owed = recorded.filter(|_| self.relied_on);
                self.relied_on = outer;
            }
            forward.append(&mut made.forward);
            backward.push(made.backward);
            let mut again = Vec::new();
            for r in ends.get(&i).into_iter().flatten() {
                let loc = self.space.loc(r.var);
                if needs.has(loc) {
                    needs.remove(loc);
                    self.read(&r.value, needs);
                    let to = Expr::var(r.var, r.value.span);
                    again.push(Stmt::assign(to, r.value.clone(), r.value.span));
                }
            }
            again.reverse();
            backward.push(again);
            while let Some(r) = begun.next_if(|r| r.first <= i) {
                open.push(r);
            }
        }
        Sweeps {
            forward,
            backward: backward.into_iter().rev().flatten().collect(),
        }
    }

    /// Returns for each statement of a block, from the last to the first, the locations that the statements
    /// after it assign; nothing if this is not used.
    fn later_in(&self, block: &[Stmt]) -> Vec<Set> {
        let chooses = |s: &Stmt| {
            let mut found = false;
            s.walk(&mut |x| found |= matches!(x.kind, StmtKind::If(_) | StmtKind::Select(_)));
            found
        };
        if !self.root || !block.iter().any(chooses) {
            return Vec::new();
        }
        let mut behind = self.engine.assigned_in(&self.builder.unit, self.space, &[]);
        let mut all = Vec::with_capacity(block.len());
        for s in block.iter().rev() {
            all.push(behind.clone());
            let one = std::slice::from_ref(s);
            behind.union_with(&self.engine.assigned_in(&self.builder.unit, self.space, one));
        }
        all
    }

    /// Finds scalars of a block that are cheap to recompute in the reverse sweep just before they are
    /// needed.
    fn recomputed(&self, block: &[Stmt]) -> Vec<Recomputed> {
        let mut found: Vec<Recomputed> = Vec::new();
        if self.loop_depth == 0 && self.root {
            // Nothing overwrites them.
            return found;
        }
        // By location, the statements that assign it; by variable, the statements whose reverse sweep may
        // read it. Both in order.
        let mut assigned: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut readers: HashMap<SymId, Vec<usize>> = HashMap::new();
        for (i, s) in block.iter().enumerate() {
            let one = std::slice::from_ref(s);
            let touched = self.engine.touched_in(&self.builder.unit, self.space, one);
            for loc in touched.assigned.ones() {
                assigned.entry(loc).or_default().push(i);
            }
            self.for_each_reader(s, &mut |var| {
                let all = readers.entry(var).or_default();
                if all.last() != Some(&i) {
                    all.push(i);
                }
            });
        }
        // By variable, the statements after which values that read it are recomputed.
        let mut again: HashMap<SymId, Vec<usize>> = HashMap::new();
        // The first entry of a list at or after a statement.
        let next = |list: Option<&Vec<usize>>, from: usize| -> Option<usize> {
            let list = list?;
            list.get(list.partition_point(|j| *j < from)).copied()
        };
        for (i, s) in block.iter().enumerate().rev() {
            let StmtKind::Assign(target, value) = &s.kind else {
                continue;
            };
            let ExprKind::Var(var) = target.kind else {
                continue;
            };
            let symbol = &self.builder.unit.symbols[var];
            let loc = self.space.loc(var);
            let plain = !self.builder.derivatives.contains(&var)
                && !symbol.is_array()
                && symbol.storage_class == StorageClass::Local
                && !self.space.tangled.contains(loc)
                && type_of(&self.builder.unit, value) == symbol.ty
                && (self.is_cheap(value) || self.is_computed_anyway(value, block))
                && !mentions(value, var);
            if !plain {
                continue;
            }
            // The variable has this value up to here.
            let end = next(assigned.get(&loc), i + 1).unwrap_or(block.len());
            let mut last = readers.get(&var).and_then(|list| {
                let before = list.partition_point(|j| *j < end).checked_sub(1)?;
                list.get(before).copied().filter(|j| *j > i)
            });
            let ends = again.get(&var).into_iter().flatten().copied();
            last = last.max(ends.filter(|l| *l < end).max());
            let Some(last) = last else { continue };
            let mut changes = false;
            value.for_each_symbol(&mut |s| {
                let l = self.space.loc(s);
                changes |= next(assigned.get(&l), i + 1).is_some_and(|j| j <= last);
            });
            if !changes {
                value.for_each_symbol(&mut |s| again.entry(s).or_default().push(last));
                found.push(Recomputed {
                    var,
                    value: value.clone(),
                    first: i,
                    last,
                });
            }
        }
        found.reverse();
        found
    }

    /// Calls `f` with the variables that the reverse sweep of a statement may read.
    fn for_each_reader(&self, s: &Stmt, f: &mut dyn FnMut(SymId)) {
        match &s.kind {
            StmtKind::Assign(target, value) => {
                if is_derivative(&self.builder.derivatives, target) {
                    target.for_each_symbol(f);
                    value.for_each_symbol(f);
                } else {
                    for c in target.children() {
                        c.for_each_symbol(f);
                    }
                }
            }
            _ => s.walk(&mut |x| x.for_each_own_expr(&mut |e| e.for_each_symbol(f))),
        }
    }

    /// Whether an expression is a call of an intrinsic function that takes few instructions.
    pub(super) fn is_cheap_call(&self, e: &Expr) -> bool {
        let ExprKind::Call(s, _) = &e.kind else {
            return false;
        };
        matches!(
            self.builder.unit.symbols[*s].class,
            Class::Intrinsic(i) if matches!(
                i.op,
                Op::Convert | Op::Abs | Op::Sign | Op::Max | Op::Min | Op::Dim | Op::Mod
                    | Op::Sqrt | Op::Aimag | Op::Conjg | Op::Dprod
            )
        )
    }

    /// Whether a value is a sine whose cosine the reverse sweep of the block computes, or a cosine whose sine it
    /// does: compilers compute both at once.
    fn is_computed_anyway(&self, value: &Expr, block: &[Stmt]) -> bool {
        let Some((op, angle)) = self.sine_or_cosine(value) else {
            return false;
        };
        self.is_cheap(angle)
            && block.iter().any(|s| match &s.kind {
                StmtKind::Assign(target, derivative)
                    if is_derivative(&self.builder.derivatives, target) =>
                {
                    let mut found = false;
                    derivative.walk(&mut |e| {
                        found |= self.sine_or_cosine(e).is_some_and(|(other, same)| {
                            other != op && same.equals_ignoring_spans(angle)
                        });
                    });
                    found
                }
                _ => false,
            })
    }

    /// The function and the argument, if an expression is a real sine or cosine.
    fn sine_or_cosine<'e>(&self, e: &'e Expr) -> Option<(Op, &'e Expr)> {
        let ExprKind::Call(s, args) = &e.kind else {
            return None;
        };
        let (Class::Intrinsic(i), [angle]) =
            (&self.builder.unit.symbols[*s].class, args.as_slice())
        else {
            return None;
        };
        let real = matches!(type_of(&self.builder.unit, e), Some(Type::Real(_)));
        (real && matches!(i.op, Op::Sin | Op::Cos)).then_some((i.op, angle))
    }

    fn is_cheap(&self, e: &Expr) -> bool {
        let own = match &e.kind {
            ExprKind::Binary(op, _, n) => match op {
                BinOp::Pow => matches!(n.kind, ExprKind::Int(_)) || is_two(n),
                BinOp::Concat => false,
                _ => true,
            },
            ExprKind::Call(..) => self.is_cheap_call(e),
            // A value that reads a tape would require the whole tape.
            ExprKind::Element(s, _) if self.builder.unit.symbols[*s].tape => false,
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Logical(_)
            | ExprKind::Kind(..)
            | ExprKind::Complex(_)
            | ExprKind::Var(_)
            | ExprKind::Element(..)
            | ExprKind::Paren(_)
            | ExprKind::Unary(..) => true,
            _ => false,
        };
        own && rank(&self.builder.unit, e) == 0
            && e.children().into_iter().all(|c| self.is_cheap(c))
    }

    /// Adds to the needs what is read to pass arguments: subscripts, and expressions that are not variables.
    pub(super) fn read_to_pass(&self, callee: &super::Part, args: &[Expr], needs: &mut Needs) {
        for (i, a) in args.iter().enumerate() {
            match &a.kind {
                ExprKind::Element(..) | ExprKind::Substring(..) => {
                    a.selectors().iter().for_each(|s| self.read(s, needs));
                }
                ExprKind::Var(_) => {}
                _ if !callee.derivative_args.get(i).copied().unwrap_or(false) => {
                    self.read(a, needs);
                }
                _ => {}
            }
        }
    }

    /// Adds the variables that an expression reads to the needs.
    pub(super) fn read(&self, e: &Expr, needs: &mut Needs) {
        e.walk(&mut |e| {
            let (ExprKind::Var(s) | ExprKind::Element(s, _)) = &e.kind else {
                return;
            };
            if !self.builder.unit.symbols[*s].is_variable() || self.builder.derivatives.contains(s)
            {
                return;
            }
            let loc = self.space.loc(*s);
            match Elements::of(&self.builder.unit, e) {
                Some(elements) if !self.space.tangled.contains(loc) => {
                    needs.add(loc, elements, &self.enclosing_loops)
                }
                _ => {
                    needs.add_all(loc);
                }
            }
        });
    }

    /// Returns the statements that save and restore what is about to be overwritten, if it is needed.
    pub(super) fn overwrite(
        &mut self,
        target: &Expr,
        needs: &mut Needs,
        span: Span,
    ) -> (Block, Block) {
        let Some(s) = target.base() else {
            return Default::default();
        };
        let loc = self.space.loc(s);
        let tangled = self.space.tangled.contains(loc);
        let elements = match tangled {
            true => None,
            false => Elements::of(&self.builder.unit, target),
        };
        if !needs.has_some(loc, elements.as_ref(), &self.enclosing_loops) {
            return Default::default();
        }
        let scalar = rank(&self.builder.unit, target) == 0;
        let kept = match &target.kind {
            ExprKind::Element(..) | ExprKind::Substring(..) if scalar => target.clone(),
            _ => Expr::var(s, span),
        };
        let made = self.save(&kept, needs, span);
        for s in kept.selectors() {
            self.read(s, needs);
        }
        if !tangled {
            match (&kept.kind, elements) {
                (ExprKind::Element(..), Some(elements)) => needs.remove_element(loc, &elements),
                // The whole variable is saved.
                (ExprKind::Var(_), _) => needs.remove(loc),
                _ => {}
            }
        }
        made
    }

    /// Whether the current statement is carried out at most once in a call of a unit with both sweeps. What it
    /// saves needs no tape: a variable is enough.
    pub(super) fn happens_once(&self) -> bool {
        self.root && self.loop_depth == 0
    }

    /// Returns the statements that save and restore a variable; for an array, only the needed section, if it
    /// is known.
    pub(super) fn save(&mut self, e: &Expr, needs: &Needs, span: Span) -> (Block, Block) {
        if matches!(e.kind, ExprKind::Var(s) if is_tape(&self.builder.unit.symbols[s])) {
            if self.trial == 0 {
                self.errors.push(twice_reversed(span));
            }
            return Default::default();
        }
        let array = match e.kind {
            ExprKind::Var(s) if self.builder.unit.symbols[s].is_array() => Some(s),
            _ => None,
        };
        // The bounds must be the same when the values are restored.
        let fixed = |s: SymId| !self.assigned.contains(self.space.loc(s));
        let section = array.and_then(|s| {
            let dims = &self.builder.unit.symbols[s].dims;
            let section = needs.section(self.space.loc(s), s, &fixed)?;
            (section.len() == dims.len()).then_some(section)
        });
        if self.happens_once()
            && let Some(made) = save_once(&mut self.builder, e, span)
        {
            return made;
        }
        match save(
            &mut self.builder,
            &mut self.tapes,
            e,
            section.as_deref(),
            span,
        ) {
            Ok(made) => made,
            Err(d) => {
                if self.trial == 0 {
                    self.errors.push(d);
                    let symbol = e.base().map(|s| &self.builder.unit.symbols[s]);
                    let argument = symbol.filter(|s| s.storage_class == StorageClass::Dummy);
                    self.open_arguments.extend(argument.map(|s| s.name.clone()));
                }
                Default::default()
            }
        }
    }

    /// Saves what a statement overwrites at some locations besides its own target, if it is needed.
    pub(super) fn overwrite_all(
        &mut self,
        locs: &Set,
        needs: &mut Needs,
        span: Span,
    ) -> (Block, Block) {
        let (mut push, mut pops) = (Vec::new(), Vec::new());
        for loc in locs.ones() {
            // The variable of a loop cannot change inside the loop, whatever the effects of calls say.
            let counts = |v: &SymId| self.space.loc(*v) == loc;
            let counted = !self.space.tangled.contains(loc) && self.loop_vars.iter().any(counts);
            if !needs.has(loc) || counted {
                continue;
            }
            let here: Vec<SymId> = self
                .builder
                .unit
                .symbols
                .iter()
                .filter(|(id, s)| {
                    s.is_variable()
                        && !self.builder.derivatives.contains(id)
                        && self.space.loc(*id) == loc
                })
                .map(|(id, _)| id)
                .collect();
            if here.is_empty() {
                let why = "the reverse sweep needs a COMMON variable that is overwritten here";
                self.undeclared(loc, why, span);
            }
            for s in here {
                let (mut a, b) = self.save(&Expr::var(s, span), needs, span);
                push.append(&mut a);
                pops.push(b);
            }
            if !self.space.tangled.contains(loc) {
                needs.remove(loc);
            }
        }
        (push, pops.into_iter().rev().flatten().collect())
    }

    /// Reports that a statement has to name a COMMON variable that the unit does not declare. If the block
    /// can be declared, it will be before the sweeps are made once more.
    pub(super) fn undeclared(&mut self, loc: usize, why: &str, span: Span) {
        if self.trial > 0 {
            return;
        }
        self.undeclared.extend(self.space.common_at(loc));
        let message = format!("{why}, and this unit does not declare its block");
        self.errors.push(
            Diagnostic::error(&rules::AD_STORAGE, span, message)
                .help("declare the COMMON block in this unit"),
        );
    }

    pub(super) fn changed(&self, locs: &Set, needs: &mut Needs) {
        for id in locs.ones().filter_map(|l| self.scalars.get(&l)).flatten() {
            needs.changed(*id);
        }
    }

    fn stmt(&mut self, s: &Stmt, needs: &mut Needs) -> Sweeps {
        let span = s.span;
        let known = self.known_after.take();
        let owed = self.owed.take();
        match &s.kind {
            StmtKind::Assign(target, value) => self.assign(s, target, value, needs),
            StmtKind::If(b) => self.if_block(b, (known, owed), span, needs),
            StmtKind::Select(b) => self.select(b, (known, owed), span, needs),
            StmtKind::Do(d) => match &d.control {
                DoControl::Count {
                    var,
                    from,
                    to,
                    step,
                } => self.counted(s, d, (*var, from, to, step.as_ref()), needs),
                DoControl::While(c) => match self.marked(d, None, span, needs) {
                    Some(made) => made,
                    None => self.while_loop(s.id, c, &d.body, span, needs),
                },
                DoControl::Forever => Sweeps::default(),
            },
            StmtKind::Call(callee, args) => {
                match self
                    .engine
                    .part_of(&self.builder.unit.symbols[*callee].name)
                {
                    Some(part) => self.tangent_call(s.id, part, args, span, needs),
                    None if self.is_given(*callee) => self.given_call(*callee, args, span, needs),
                    None => self.passive(s, needs),
                }
            }
            StmtKind::Where(_) => {
                let mut active = false;
                s.walk(&mut |x| {
                    if let StmtKind::Assign(t, _) = &x.kind {
                        active |= is_derivative(&self.builder.derivatives, t);
                    }
                });
                if active {
                    self.errors.push(
                        Diagnostic::error(
                            &rules::AD_UNSUPPORTED,
                            span,
                            "the adjoint of this WHERE is not known to the built-in engine",
                        )
                        .help("write a DO loop over the elements, with IF"),
                    );
                }
                self.passive(s, needs)
            }
            // Directives stay; other comments describe the source.
            StmtKind::Comment(c) if !c.text.contains('$') => Sweeps::default(),
            StmtKind::Comment(_) | StmtKind::Format(_) => Sweeps {
                forward: vec![s.clone()],
                backward: Vec::new(),
            },
            StmtKind::Allocation(a) if self.is_of_tapes(a) => self.allocate(a, span),
            StmtKind::Allocation(_) => {
                self.errors.push(
                    Diagnostic::error(
                        &rules::AD_SIZE,
                        span,
                        "reverse mode cannot follow this: it has, or needs, an array whose size is known at run time",
                    )
                    .help(
                        "write ALLOCATE and DEALLOCATE at the same level of IF and DO; write other \
                         statements as a DO loop, or without a second name by EQUIVALENCE",
                    ),
                );
                Sweeps::default()
            }
            _ => self.passive(s, needs),
        }
    }

    /// Whether the statement is an ALLOCATE of tapes.
    fn is_of_tapes(&self, a: &Allocation) -> bool {
        let mut objects = a.objects.iter();
        !a.free && objects.all(|o| o.base().is_some_and(|s| self.builder.unit.symbols[s].tape))
    }

    /// Allocates tapes at this place in the forward sweep, and their derivatives at the beginning of the
    /// reverse sweep.
    fn allocate(&mut self, a: &Allocation, span: Span) -> Sweeps {
        let (derivatives, values): (Vec<Expr>, Vec<Expr>) = a
            .objects
            .iter()
            .cloned()
            .partition(|o| is_derivative(&self.builder.derivatives, o));
        let of = |objects: Vec<Expr>| {
            let made = Allocation {
                objects,
                ..a.clone()
            };
            Stmt::allocation(made, span)
        };
        let mut first = derivatives;
        if !self.root {
            // A reverse sweep in a unit of its own allocates the tape, too, since it passes it on.
            first.extend(values.iter().cloned());
        }
        if !first.is_empty() && self.trial == 0 {
            self.first_backward.push(of(first));
        }
        Sweeps {
            forward: match values.is_empty() {
                true => Vec::new(),
                false => vec![of(values)],
            },
            backward: Vec::new(),
        }
    }

    /// A statement without derivatives.
    fn passive(&mut self, s: &Stmt, needs: &mut Needs) -> Sweeps {
        let touched =
            self.engine
                .touched_in(&self.builder.unit, self.space, std::slice::from_ref(s));
        let errors = self.errors.len();
        let (saved, locs) = self.overwrite_parts(s, needs);
        let mut others = touched.assigned.clone();
        locs.into_iter().for_each(|l| others.set(l, false));
        let (mut push, mut backward) = self.overwrite_all(&others, needs, s.span);
        let (mut forward, restore) = saved.sweeps(self, s.span);
        forward.append(&mut push);
        backward.extend(restore);
        if let StmtKind::Call(callee, _) = &s.kind
            && self.errors.len() > errors
        {
            let callee = &self.builder.unit.symbols[*callee];
            let global = callee.storage_class == StorageClass::Global;
            self.unsavable_calls
                .extend(global.then(|| callee.name.clone()));
        }
        self.changed(&touched.assigned, needs);
        forward.push(s.clone());
        Sweeps { forward, backward }
    }

    fn assign(&mut self, s: &Stmt, target: &Expr, value: &Expr, needs: &mut Needs) -> Sweeps {
        if is_derivative(&self.builder.derivatives, target) {
            return self.linear(target, value, s.span, needs);
        }
        if let Some(made) = self.inverse_assignment(s, needs) {
            return made;
        }
        // Functions in the statement may have side effects.
        let mut forward = Vec::new();
        let mut backward = Vec::new();
        if has_calls(&self.builder, value) || has_calls(&self.builder, target) {
            let mut touched =
                self.engine
                    .touched_in(&self.builder.unit, self.space, std::slice::from_ref(s));
            let own = target.base().map(|s| self.space.loc(s));
            own.into_iter().for_each(|l| touched.assigned.set(l, false));
            (forward, backward) = self.overwrite_all(&touched.assigned, needs, s.span);
            self.changed(&touched.assigned, needs);
        }
        let (push, mut pop) = self.overwrite(target, needs, s.span);
        forward.extend(push);
        pop.append(&mut backward);
        // Only integers occur in subscripts.
        if let Some(v) = target.base()
            && matches!(self.builder.unit.symbols[v].ty, Some(Type::Integer(_)))
        {
            needs.changed(v);
        }
        forward.push(s.clone());
        Sweeps {
            forward,
            backward: pop,
        }
    }

    /// `I = I + K` is undone by `I = I - K`.
    fn inverse_assignment(&mut self, s: &Stmt, needs: &mut Needs) -> Option<Sweeps> {
        let increment = access::increment(&self.builder.unit, s)?;
        let loc = self.space.loc(increment.var);
        if !needs.has(loc) || self.space.tangled.contains(loc) {
            return None;
        }
        self.read(increment.step, needs);
        needs.changed(increment.var);
        let var = Expr::var(increment.var, s.span);
        let before = binary(increment.inverse, var.clone(), increment.step.clone());
        Some(Sweeps {
            forward: vec![s.clone()],
            backward: vec![Stmt::assign(var, before, s.span)],
        })
    }

    pub(super) fn linear(
        &mut self,
        target: &Expr,
        value: &Expr,
        span: Span,
        needs: &mut Needs,
    ) -> Sweeps {
        // The factors of the derivatives and all subscripts are needed, not the derivatives themselves.
        self.read(value, needs);
        self.read(target, needs);
        if self.needs_only {
            return Sweeps::unwritten(true);
        }
        let space = self.space;
        let same_place = |a: SymId, b: SymId| space.loc(a) == space.loc(b);
        let backward = match transpose(&mut self.builder, target, value, span, &same_place) {
            Ok(b) => b,
            Err(d) => {
                if self.trial == 0 {
                    self.errors.push(d);
                }
                Vec::new()
            }
        };
        Sweeps {
            forward: Vec::new(),
            backward,
        }
    }
}

/// Whether a symbol is the array of a tape that was in the program from the start.
pub(super) fn is_tape(s: &Symbol) -> bool {
    s.tape && !s.dims.is_empty()
}

/// The error for a tape whose values are overwritten before the adjoint of the adjoint has used them.
pub(super) fn twice_reversed(span: Span) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_LOOP,
        span,
        "the adjoint of the adjoint of what is carried out again here is not known",
    )
    .help("take the directive `checkpoint` or `independent` out, raise `max-tape` in Cargo.toml, or put an ADF block around the ADR block")
}

pub(super) fn mentions(e: &Expr, s: SymId) -> bool {
    let mut found = false;
    e.for_each_symbol(&mut |x| found |= x == s);
    found
}

/// Whether an exponent is the real number 2: compilers multiply instead of calling a function.
fn is_two(exponent: &Expr) -> bool {
    let ExprKind::Real(text) = &exponent.kind else {
        return false;
    };
    text.replace(['D', 'Q'], "E").parse() == Ok(2.0)
}
