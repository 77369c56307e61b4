//! Both sweeps of one unit.
//!
//! The forward sweep is the unit's own statements, which keep what will be needed before
//! they overwrite it. The backward sweep carries out the transposes of the linear
//! statements, last first, and takes back what was kept, so that at each of them every
//! needed variable has the value that it had there.

use super::affine::{Affine, Span as LoopSpan};
use super::build::{binary, choice, count, increment};
use super::effects::Touched;
use super::maker::{Maker, zero};
use super::needed::{Elements, Needs};
use super::normal::has_calls;
use super::tape::{Kind, Tapes, keep};
use super::transpose::{is_derivative, same, transpose};
use super::{Facts, World};
use crate::locations::{Set, Space};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::{
    Allocation, BinOp, Block, Case, Class, Do, DoControl, Expr, ExprKind, IfBlock, Select, Stmt,
    StmtKind, SymId, Type,
};
use farfel_lang::types::{rank, type_of};

/// The two sweeps of some statements.
#[derive(Debug, Default)]
pub(super) struct Sweeps {
    pub forward: Block,
    pub backward: Block,
}

pub(super) struct Sweeper<'w> {
    pub world: &'w World,
    pub facts: &'w [Facts],
    /// What calls find needed on entry: for each unit the slots.
    pub entries: Vec<(usize, usize)>,
    pub make: Maker,
    pub space: &'w Space,
    pub tapes: Tapes,
    pub errors: Vec<Diagnostic>,
    /// Locations that the unit assigns somewhere.
    pub assigned: Set,
    /// The unit is the head: both sweeps are in one unit.
    pub root: bool,
    around: Vec<LoopSpan>,
    loop_vars: Vec<SymId>,
    loops: usize,
    branch: Option<SymId>,
    /// Only the needs are asked for: no symbols are made.
    pub trial: usize,
    /// What the backward sweep begins with.
    pub first_backward: Block,
}

/// A variable that the backward sweep computes again instead of keeping it.
struct Recomputed {
    var: SymId,
    value: Expr,
    /// The statement of the block behind which it is computed again.
    last: usize,
}

impl<'w> Sweeper<'w> {
    pub fn new(world: &'w World, facts: &'w [Facts], part: usize) -> Self {
        let p = &world.parts[part];
        Sweeper {
            world,
            facts,
            entries: Vec::new(),
            make: p.make.clone(),
            space: &p.space,
            tapes: Tapes::default(),
            errors: Vec::new(),
            assigned: world.assigned_in(&p.make.unit, &p.space, &p.body),
            root: p.root,
            around: Vec::new(),
            loop_vars: Vec::new(),
            loops: 0,
            branch: None,
            trial: 0,
            first_backward: Vec::new(),
        }
    }

    pub fn block(&mut self, block: &[Stmt], needs: &mut Needs) -> Sweeps {
        let recomputed = self.recomputed(block);
        let mut forward = Vec::with_capacity(block.len());
        let mut backward: Vec<Block> = Vec::new();
        for (i, s) in block.iter().enumerate() {
            let mut made = self.stmt(s, needs);
            forward.append(&mut made.forward);
            backward.push(made.backward);
            let mut again = Vec::new();
            for r in recomputed.iter().rev().filter(|r| r.last == i) {
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
        }
        Sweeps {
            forward,
            backward: backward.into_iter().rev().flatten().collect(),
        }
    }

    /// Scalars of a block that are cheap to compute again right where they are needed last.
    fn recomputed(&self, block: &[Stmt]) -> Vec<Recomputed> {
        let mut found: Vec<Recomputed> = Vec::new();
        if self.loops == 0 && self.root {
            // Nothing overwrites them.
            return found;
        }
        let touched: Vec<Touched> = block
            .iter()
            .map(|s| {
                self.world
                    .touched_in(&self.make.unit, self.space, std::slice::from_ref(s))
            })
            .collect();
        for (i, s) in block.iter().enumerate().rev() {
            let StmtKind::Assign(target, value) = &s.kind else {
                continue;
            };
            let ExprKind::Var(var) = target.kind else {
                continue;
            };
            let symbol = &self.make.unit.symbols[var];
            let loc = self.space.loc(var);
            let plain = !self.make.derivatives.contains(&var)
                && !symbol.is_array()
                && symbol.place == farfel_lang::ir::Place::Local
                && !self.space.tangled.contains(loc)
                && type_of(&self.make.unit, value) == symbol.ty
                && self.is_cheap(value)
                && !mentions(value, var);
            if !plain {
                continue;
            }
            // Up to where it has this value.
            let end = (i + 1..block.len())
                .find(|j| touched[*j].assigned.contains(loc))
                .unwrap_or(block.len());
            let mut last = (i + 1..end)
                .filter(|j| self.may_need(&block[*j], var))
                .max();
            for r in &found {
                if r.last < end && mentions(&r.value, var) {
                    last = last.max(Some(r.last));
                }
            }
            let Some(last) = last else { continue };
            let mut changes = false;
            value.for_each_symbol(&mut |s| {
                let l = self.space.loc(s);
                changes |= (i + 1..=last).any(|j| touched[j].assigned.contains(l));
            });
            if !changes {
                found.push(Recomputed {
                    var,
                    value: value.clone(),
                    last,
                });
            }
        }
        found.reverse();
        found
    }

    /// May the backward sweep of a statement read a variable?
    fn may_need(&self, s: &Stmt, var: SymId) -> bool {
        match &s.kind {
            StmtKind::Assign(target, value) => {
                if is_derivative(&self.make.derivatives, target) {
                    mentions(target, var) || mentions(value, var)
                } else {
                    target.children().into_iter().any(|c| mentions(c, var))
                }
            }
            _ => {
                let mut found = false;
                s.walk(&mut |x| {
                    x.for_each_own_expr(&mut |e| found |= mentions(e, var));
                });
                found
            }
        }
    }

    fn is_cheap(&self, e: &Expr) -> bool {
        let own = match &e.kind {
            ExprKind::Binary(op, _, n) => match op {
                BinOp::Pow => matches!(n.kind, ExprKind::Int(_)),
                BinOp::Concat => false,
                _ => true,
            },
            ExprKind::Call(s, _) => matches!(
                self.make.unit.symbols[*s].class,
                Class::Intrinsic(i) if matches!(
                    i.op,
                    Op::Convert | Op::Abs | Op::Sign | Op::Max | Op::Min | Op::Dim | Op::Mod
                        | Op::Sqrt | Op::Aimag | Op::Conjg | Op::Dprod
                )
            ),
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
        own && rank(&self.make.unit, e) == 0 && e.children().into_iter().all(|c| self.is_cheap(c))
    }

    /// Adds what an expression reads.
    pub(super) fn read(&self, e: &Expr, needs: &mut Needs) {
        e.walk(&mut |e| {
            let (ExprKind::Var(s) | ExprKind::Element(s, _)) = &e.kind else {
                return;
            };
            if !self.make.unit.symbols[*s].is_variable() || self.make.derivatives.contains(s) {
                return;
            }
            let loc = self.space.loc(*s);
            match Elements::of(&self.make.unit, e) {
                Some(elements) if !self.space.tangled.contains(loc) => needs.add(loc, elements),
                _ => {
                    needs.add_all(loc);
                }
            }
        });
    }

    /// Keeps what is about to be overwritten, where it is needed.
    fn overwrite(&mut self, target: &Expr, needs: &mut Needs, span: Span) -> (Block, Block) {
        let Some(s) = target.base() else {
            return Default::default();
        };
        let loc = self.space.loc(s);
        let tangled = self.space.tangled.contains(loc);
        let elements = match tangled {
            true => None,
            false => Elements::of(&self.make.unit, target),
        };
        if !needs.has_some(loc, elements.as_ref(), &self.around) {
            return Default::default();
        }
        let scalar = rank(&self.make.unit, target) == 0;
        let kept = match &target.kind {
            ExprKind::Element(..) if scalar => target.clone(),
            _ => Expr::var(s, span),
        };
        let made = self.keep(&kept, span);
        if let ExprKind::Element(_, subscripts) = &kept.kind {
            for s in subscripts {
                self.read(s, needs);
            }
        }
        if !tangled {
            match (&kept.kind, elements) {
                (ExprKind::Element(..), Some(elements)) => needs.remove_element(loc, &elements),
                // All of it is kept.
                (ExprKind::Var(_), _) => needs.remove(loc),
                _ => {}
            }
        }
        made
    }

    pub(super) fn keep(&mut self, e: &Expr, span: Span) -> (Block, Block) {
        match keep(&mut self.make, &mut self.tapes, e, span) {
            Ok(made) => made,
            Err(d) => {
                if self.trial == 0 {
                    self.errors.push(d);
                }
                Default::default()
            }
        }
    }

    /// Keeps whatever a statement overwrites besides its own target.
    pub(super) fn overwrite_all(
        &mut self,
        locs: &Set,
        needs: &mut Needs,
        span: Span,
    ) -> (Block, Block) {
        let (mut push, mut pops) = (Vec::new(), Vec::new());
        for loc in locs.ones() {
            if !needs.has(loc) {
                continue;
            }
            let here: Vec<SymId> = self
                .make
                .unit
                .symbols
                .iter()
                .filter(|(id, s)| {
                    s.is_variable()
                        && !self.make.derivatives.contains(id)
                        && self.space.loc(*id) == loc
                })
                .map(|(id, _)| id)
                .collect();
            if here.is_empty() && self.trial == 0 {
                self.errors.push(
                    Diagnostic::error(
                        &rules::AD_UNSUPPORTED,
                        span,
                        "the backward sweep needs a COMMON variable that is overwritten here, and this unit does not declare its block",
                    )
                    .help("declare the COMMON block in this unit"),
                );
            }
            for s in here {
                let (mut a, b) = self.keep(&Expr::var(s, span), span);
                push.append(&mut a);
                pops.push(b);
            }
            if !self.space.tangled.contains(loc) {
                needs.remove(loc);
            }
        }
        (push, pops.into_iter().rev().flatten().collect())
    }

    pub(super) fn changed(&self, locs: &Set, needs: &mut Needs) {
        for (id, s) in self.make.unit.symbols.iter() {
            if s.is_variable() && !s.is_array() && locs.contains(self.space.loc(id)) {
                needs.changed(id);
            }
        }
    }

    fn stmt(&mut self, s: &Stmt, needs: &mut Needs) -> Sweeps {
        let span = s.span;
        match &s.kind {
            StmtKind::Assign(target, value) => self.assign(s, target, value, needs),
            StmtKind::If(b) => self.if_block(b, span, needs),
            StmtKind::Select(b) => self.select(b, span, needs),
            StmtKind::Do(d) => match &d.control {
                DoControl::Count {
                    var,
                    from,
                    to,
                    step,
                } => self.count_loop(s, d, (*var, from, to, step.as_ref()), needs),
                DoControl::While(c) => self.while_loop(c, &d.body, span, needs),
                DoControl::Forever => Sweeps::default(),
            },
            StmtKind::Call(callee, args) => {
                match self.world.part_of(&self.make.unit.symbols[*callee].name) {
                    Some(part) => self.tangent_call(part, args, span, needs),
                    None if self.is_given(*callee) => self.given_call(*callee, args, span, needs),
                    None => self.passive(s, needs),
                }
            }
            StmtKind::Where(_) => {
                let mut active = false;
                s.walk(&mut |x| {
                    if let StmtKind::Assign(t, _) = &x.kind {
                        active |= is_derivative(&self.make.derivatives, t);
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
            StmtKind::Comment(_) | StmtKind::Format(_) => Sweeps {
                forward: vec![s.clone()],
                backward: Vec::new(),
            },
            StmtKind::Allocation(a) if self.is_of_tapes(a) => self.allocate(a, span),
            StmtKind::Allocation(_) => {
                self.errors.push(
                    Diagnostic::error(
                        &rules::AD_UNSUPPORTED,
                        span,
                        "ALLOCATE and DEALLOCATE in what reverse mode differentiates",
                    )
                    .help("allocate before the AD block, and pass the array as an argument"),
                );
                Sweeps::default()
            }
            _ => self.passive(s, needs),
        }
    }

    /// Is it ALLOCATE of tapes?
    fn is_of_tapes(&self, a: &Allocation) -> bool {
        let mut objects = a.objects.iter();
        !a.free && objects.all(|o| o.base().is_some_and(|s| self.make.unit.symbols[s].tape))
    }

    /// A tape is there from the beginning of the forward sweep on, its derivative from that of
    /// the backward sweep on.
    fn allocate(&mut self, a: &Allocation, span: Span) -> Sweeps {
        let (derivatives, values): (Vec<Expr>, Vec<Expr>) = a
            .objects
            .iter()
            .cloned()
            .partition(|o| is_derivative(&self.make.derivatives, o));
        let of = |objects: Vec<Expr>| {
            let made = Allocation {
                objects,
                ..a.clone()
            };
            Stmt::new(StmtKind::Allocation(Box::new(made)), span)
        };
        let mut first = derivatives;
        if !self.root {
            // In a unit of its own, the backward sweep passes on what it has not got.
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
        let touched = self
            .world
            .touched_in(&self.make.unit, self.space, std::slice::from_ref(s));
        let (mut forward, backward) = self.overwrite_all(&touched.assigned, needs, s.span);
        self.changed(&touched.assigned, needs);
        forward.push(s.clone());
        Sweeps { forward, backward }
    }

    fn assign(&mut self, s: &Stmt, target: &Expr, value: &Expr, needs: &mut Needs) -> Sweeps {
        if is_derivative(&self.make.derivatives, target) {
            return self.linear(target, value, s.span, needs);
        }
        if let Some(made) = self.undone(s, target, value, needs) {
            return made;
        }
        // Functions in it may do more than give a value.
        let mut forward = Vec::new();
        let mut backward = Vec::new();
        if has_calls(&self.make, value) || has_calls(&self.make, target) {
            let mut touched =
                self.world
                    .touched_in(&self.make.unit, self.space, std::slice::from_ref(s));
            let own = target.base().map(|s| self.space.loc(s));
            own.into_iter().for_each(|l| touched.assigned.set(l, false));
            (forward, backward) = self.overwrite_all(&touched.assigned, needs, s.span);
            self.changed(&touched.assigned, needs);
        }
        let (push, mut pop) = self.overwrite(target, needs, s.span);
        forward.extend(push);
        pop.append(&mut backward);
        if let Some(v) = target.base() {
            needs.changed(v);
        }
        forward.push(s.clone());
        Sweeps {
            forward,
            backward: pop,
        }
    }

    /// `I = I + K` is undone by `I = I - K`.
    fn undone(
        &mut self,
        s: &Stmt,
        target: &Expr,
        value: &Expr,
        needs: &mut Needs,
    ) -> Option<Sweeps> {
        let ExprKind::Var(v) = target.kind else {
            return None;
        };
        let symbol = &self.make.unit.symbols[v];
        if !matches!(symbol.ty, Some(Type::Integer(_)))
            || symbol.is_array()
            || !needs.has(self.space.loc(v))
            || self.space.tangled.contains(self.space.loc(v))
        {
            return None;
        }
        let ExprKind::Binary(op, a, b) = &value.kind else {
            return None;
        };
        let is_v = |e: &Expr| matches!(e.kind, ExprKind::Var(s) if s == v);
        let (step, inverse) = match op {
            BinOp::Add if is_v(a) => (b, BinOp::Sub),
            BinOp::Add if is_v(b) => (a, BinOp::Sub),
            BinOp::Sub if is_v(a) => (b, BinOp::Add),
            _ => return None,
        };
        let whole = matches!(type_of(&self.make.unit, step), Some(Type::Integer(_)));
        if !whole || mentions(step, v) || has_calls(&self.make, step) {
            return None;
        }
        self.read(step, needs);
        needs.changed(v);
        let before = binary(inverse, target.clone(), (**step).clone());
        Some(Sweeps {
            forward: vec![s.clone()],
            backward: vec![Stmt::assign(target.clone(), before, s.span)],
        })
    }

    fn linear(&mut self, target: &Expr, value: &Expr, span: Span, needs: &mut Needs) -> Sweeps {
        // Not the derivatives, but what they are multiplied by, and their subscripts.
        self.read(value, needs);
        self.read(target, needs);
        let space = self.space;
        let same_place = |a: SymId, b: SymId| space.loc(a) == space.loc(b);
        let backward = match transpose(&mut self.make, target, value, span, &same_place) {
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

    fn if_block(&mut self, b: &IfBlock, span: Span, needs: &mut Needs) -> Sweeps {
        // Conditions may call functions.
        let conditions: Vec<&Expr> = b.arms.iter().map(|(c, _)| c).collect();
        let (mut forward, restore) = self.conditions(&conditions, span, needs);
        let before = needs.clone();
        let mut arms = Vec::new();
        let none = Vec::new();
        let bodies: Vec<&Block> = b
            .arms
            .iter()
            .map(|(_, b)| b)
            .chain([b.otherwise.as_ref().unwrap_or(&none)])
            .collect();
        let mut after = Needs::default();
        for body in &bodies {
            let mut state = before.clone();
            arms.push(self.block(body, &mut state));
            after.union_with(&state);
        }
        *needs = after;
        let last = arms.len() - 1;
        if arms.iter().all(|a| a.backward.is_empty()) {
            let otherwise = arms.pop().map_or_else(Vec::new, |a| a.forward);
            let arms = b
                .arms
                .iter()
                .zip(arms)
                .map(|((c, _), a)| (c.clone(), a.forward))
                .collect();
            forward.push(if_stmt(arms, otherwise, b.otherwise.is_some(), span));
            return Sweeps {
                forward,
                backward: restore,
            };
        }
        let changed = self.world.assigned_in(
            &self.make.unit,
            self.space,
            &bodies.iter().copied().flatten().cloned().collect::<Block>(),
        );
        let stable = conditions.iter().all(|c| self.is_stable(c, &changed));
        let mut backward_arms = Vec::new();
        let mut forward_arms = Vec::new();
        let branch = if stable {
            conditions.iter().for_each(|c| self.read(c, needs));
            None
        } else {
            Some(self.branch())
        };
        let mut otherwise = (Vec::new(), Vec::new());
        for (i, mut a) in arms.into_iter().enumerate() {
            if branch.is_some() {
                let number = Expr::int(i as i64 + 1, span);
                let push = self
                    .tapes
                    .push(&mut self.make, Kind::Integer(4), number, span);
                a.forward.extend(push);
            }
            if i == last {
                otherwise = (a.forward, a.backward);
                continue;
            }
            let condition = match branch {
                None => conditions[i].clone(),
                Some(v) => binary(BinOp::Eq, Expr::var(v, span), Expr::int(i as i64 + 1, span)),
            };
            forward_arms.push((conditions[i].clone(), a.forward));
            backward_arms.push((condition, a.backward));
        }
        let has_else = b.otherwise.is_some() || !otherwise.0.is_empty();
        forward.push(if_stmt(forward_arms, otherwise.0, has_else, span));
        let mut backward = Vec::new();
        if let Some(v) = branch {
            let to = Expr::var(v, span);
            backward.extend(self.tapes.pop(&mut self.make, Kind::Integer(4), to, span));
        }
        backward.extend(choice(backward_arms, otherwise.1, span));
        backward.extend(restore);
        Sweeps { forward, backward }
    }

    /// What functions in conditions overwrite.
    fn conditions(&mut self, list: &[&Expr], span: Span, needs: &mut Needs) -> (Block, Block) {
        if !list.iter().any(|c| has_calls(&self.make, c)) {
            return Default::default();
        }
        let arms = list
            .iter()
            .map(|c| ((*c).clone(), Vec::new()))
            .collect::<Vec<_>>();
        let only = if_stmt(arms, Vec::new(), false, span);
        let touched =
            self.world
                .touched_in(&self.make.unit, self.space, std::slice::from_ref(&only));
        let made = self.overwrite_all(&touched.assigned, needs, span);
        self.changed(&touched.assigned, needs);
        made
    }

    /// Will a condition have the same value in the backward sweep, without keeping anything?
    fn is_stable(&self, c: &Expr, changed: &Set) -> bool {
        if has_calls(&self.make, c) {
            return false;
        }
        let mut stable = true;
        c.for_each_symbol(&mut |s| {
            let loc = self.space.loc(s);
            let variable = self.make.unit.symbols[s].is_variable();
            let fixed = !self.assigned.contains(loc)
                || self.loop_vars.contains(&s) && !changed.contains(loc);
            stable &= !variable || fixed;
        });
        stable
    }

    fn branch(&mut self) -> SymId {
        match self.branch {
            Some(b) => b,
            None => {
                let b = self.make.variable("BRANCH", Type::INTEGER);
                self.branch = Some(b);
                b
            }
        }
    }

    fn select(&mut self, b: &Select, span: Span, needs: &mut Needs) -> Sweeps {
        let (mut forward, restore) = self.conditions(&[&b.selector], span, needs);
        let before = needs.clone();
        let mut after = Needs::default();
        let mut cases = Vec::new();
        let mut bodies = Block::new();
        for c in &b.cases {
            let mut state = before.clone();
            cases.push(self.block(&c.body, &mut state));
            after.union_with(&state);
            bodies.extend(c.body.iter().cloned());
        }
        let complete = b.cases.iter().any(|c| c.values.is_none());
        if !complete {
            after.union_with(&before);
        }
        *needs = after;
        let mut select = Select {
            cases: Vec::new(),
            ..b.clone()
        };
        if cases.iter().all(|c| c.backward.is_empty()) {
            for (c, made) in b.cases.iter().zip(cases) {
                select.cases.push(Case {
                    body: made.forward,
                    ..c.clone()
                });
            }
            forward.push(Stmt::new(StmtKind::Select(Box::new(select)), span));
            return Sweeps {
                forward,
                backward: restore,
            };
        }
        let branch = self.branch();
        let mut arms = Vec::new();
        for (i, (c, mut made)) in b.cases.iter().zip(cases).enumerate() {
            let number = Expr::int(i as i64 + 1, span);
            made.forward.extend(self.tapes.push(
                &mut self.make,
                Kind::Integer(4),
                number.clone(),
                span,
            ));
            let condition = binary(BinOp::Eq, Expr::var(branch, span), number);
            arms.push((condition, made.backward));
            select.cases.push(Case {
                body: made.forward,
                ..c.clone()
            });
        }
        if !complete {
            let push = self
                .tapes
                .push(&mut self.make, Kind::Integer(4), Expr::int(0, span), span);
            select.cases.push(Case {
                values: None,
                body: push,
                mark: farfel_lang::ir::Mark::default(),
            });
        }
        forward.push(Stmt::new(StmtKind::Select(Box::new(select)), span));
        let to = Expr::var(branch, span);
        let mut backward = self.tapes.pop(&mut self.make, Kind::Integer(4), to, span);
        backward.extend(choice(arms, Vec::new(), span));
        backward.extend(restore);
        Sweeps { forward, backward }
    }

    /// Finds what is needed at the start of each iteration.
    fn settle(&mut self, body: &[Stmt], needs: &Needs, next: &dyn Fn(&mut Needs)) -> Needs {
        let mut state = needs.clone();
        for round in 0.. {
            let mut s = state.clone();
            self.try_block(body, &mut s);
            next(&mut s);
            if s.is_within(&state) {
                break;
            }
            if round >= 3 {
                s.coarsen();
            }
            state.union_with(&s);
        }
        state
    }

    /// The needs after some statements, without making anything.
    fn try_block(&mut self, body: &[Stmt], needs: &mut Needs) {
        let saved = (
            self.make.clone(),
            self.tapes.clone(),
            self.branch,
            self.errors.len(),
        );
        self.trial += 1;
        self.block(body, needs);
        self.trial -= 1;
        // Which tapes are used is a fact; their symbols are not there any more.
        self.errors.truncate(saved.3);
        self.make = saved.0;
        self.tapes = saved.1;
        self.branch = saved.2;
    }

    fn count_loop(
        &mut self,
        s: &Stmt,
        d: &Do,
        (var, from, to, step): (SymId, &Expr, &Expr, Option<&Expr>),
        needs: &mut Needs,
    ) -> Sweeps {
        let span = s.span;
        let v = Expr::var(var, span);
        let (mut forward, restore) = self.overwrite(&v, needs, span);
        needs.changed(var);
        let unit = &self.make.unit;
        let known = step.map_or(Some(1), |s| {
            farfel_lang::storage::constant::integer(unit, s)
        });
        let unit_step = known.filter(|s| s.abs() == 1);
        // Bounds read nothing that the body changes: `normal` sees to it.
        let first = Affine::of(unit, from);
        let end = Affine::of(unit, to);
        let (low, high) = match known {
            Some(k) if k > 0 => (first.clone(), end.clone()),
            Some(k) if k < 0 => (end.clone(), first.clone()),
            _ => (None, None),
        };
        self.around.push(LoopSpan { var, low, high });
        self.loop_vars.push(var);
        self.loops += 1;
        let loc = self.space.loc(var);
        let next = |n: &mut Needs| {
            n.remove(loc);
            n.next_iteration(var, &first, unit_step);
        };
        let mut state = self.settle(&d.body, needs, &next);
        let made = self.block(&d.body, &mut state);
        self.loops -= 1;
        self.loop_vars.pop();
        self.around.pop();
        state.remove(loc);
        state.after_loop(var, &first, &end, unit_step);
        state.changed(var);
        needs.union_with(&state);
        forward.push(Stmt::new(
            StmtKind::Do(Box::new(Do {
                body: made.forward,
                ..d.clone()
            })),
            span,
        ));
        let mut backward = Vec::new();
        if !made.backward.is_empty() {
            for e in [from, to].into_iter().chain(step) {
                self.read(e, needs);
            }
            let (last, down) = match known {
                Some(1) => (to.clone(), Expr::int(-1, span)),
                Some(-1) => (to.clone(), Expr::int(1, span)),
                _ => {
                    // from + (trips - 1)*step: lies before `from` where there are no trips.
                    let step = step.cloned().unwrap_or_else(|| Expr::int(1, span));
                    let paren = |e: Expr| Expr::new(ExprKind::Paren(Box::new(e)), span);
                    let length = binary(BinOp::Sub, to.clone(), paren(from.clone()));
                    let length = paren(binary(BinOp::Add, length, paren(step.clone())));
                    let trips = binary(BinOp::Div, length, paren(step.clone()));
                    let before = paren(binary(BinOp::Sub, trips, Expr::int(1, span)));
                    let way = binary(BinOp::Mul, before, paren(step.clone()));
                    let last = binary(BinOp::Add, from.clone(), way);
                    (last, super::build::negative(paren(step)))
                }
            };
            let down = match down.kind {
                ExprKind::Int(1) => None,
                _ => Some(down),
            };
            backward.extend(count(var, last, from.clone(), down, made.backward, span));
        }
        backward.extend(restore);
        Sweeps { forward, backward }
    }

    fn while_loop(&mut self, c: &Expr, body: &Block, span: Span, needs: &mut Needs) -> Sweeps {
        // The condition is evaluated before each iteration.
        let (mut forward, restore) = self.conditions(&[c], span, needs);
        if !restore.is_empty() && self.trial == 0 {
            self.errors.push(
                Diagnostic::error(
                    &rules::AD_UNSUPPORTED,
                    c.span,
                    "a function in the condition of DO WHILE changes what the backward sweep needs",
                )
                .help("assign the function's value to a variable, before the loop and at its end"),
            );
        }
        self.loops += 1;
        let mut state = self.settle(body, needs, &|_| {});
        let made = self.block(body, &mut state);
        self.loops -= 1;
        needs.union_with(&state);
        let whole = |body| {
            Stmt::new(
                StmtKind::Do(Box::new(Do {
                    name: None,
                    control: DoControl::While(c.clone()),
                    body,
                    end: farfel_lang::ir::DoEnd::EndDo(None),
                    end_span: span,
                })),
                span,
            )
        };
        if made.backward.is_empty() {
            forward.push(whole(made.forward));
            return Sweeps {
                forward,
                backward: restore,
            };
        }
        let number = self.make.variable("TRIPS", Type::INTEGER);
        let counter = self.make.variable("TRIP", Type::INTEGER);
        let n = || Expr::var(number, span);
        forward.push(Stmt::assign(n(), Expr::int(0, span), span));
        let mut inner = vec![increment(n(), Expr::int(1, span), span)];
        inner.extend(made.forward);
        forward.push(whole(inner));
        forward.extend(self.tapes.push(&mut self.make, Kind::Integer(4), n(), span));
        let mut backward = self.tapes.pop(&mut self.make, Kind::Integer(4), n(), span);
        let one = Expr::int(1, span);
        backward.extend(count(counter, one, n(), None, made.backward, span));
        backward.extend(restore);
        Sweeps { forward, backward }
    }

    fn tangent_call(
        &mut self,
        part: usize,
        args: &[Expr],
        span: Span,
        needs: &mut Needs,
    ) -> Sweeps {
        let callee = &self.world.parts[part];
        let facts = &self.facts[part];
        let n = callee.derivative_args.len();
        let Some(effect) = self.world.effects.get(&callee.name) else {
            return Sweeps::default();
        };
        // What is needed and will be overwritten, the callee keeps.
        let scalar_dummy = |slot: usize| callee.scalar_args.get(slot).copied().unwrap_or(false);
        let place = |slot: usize| -> Option<(usize, Option<Elements>)> {
            if slot < n {
                let a = args.get(slot)?;
                let loc = self.space.loc(a.base()?);
                let exact = scalar_dummy(slot) && !self.space.tangled.contains(loc);
                let elements = exact.then(|| Elements::of(&self.make.unit, a)).flatten();
                Some((loc, elements))
            } else if slot > n {
                Some((self.space.common(slot - n - 1), None))
            } else {
                None
            }
        };
        let is_derivative_slot = |slot: usize| {
            callee.derivative_args.get(slot).copied().unwrap_or(false)
                || slot > n && self.world.derivative_commons.contains(slot - n - 1)
        };
        let mut entries = Vec::new();
        let mut assigned = Set::with_capacity(self.space.len + self.make.unit.symbols.len());
        for slot in effect.assigned.ones().filter(|s| !is_derivative_slot(*s)) {
            let Some((loc, elements)) = place(slot) else {
                continue;
            };
            assigned.insert(loc);
            if needs.has_some(loc, elements.as_ref(), &self.around) {
                entries.push((part, slot));
            }
        }
        self.entries.append(&mut entries);
        let mut after = Needs::default();
        for slot in facts.exit.ones().filter(|s| !is_derivative_slot(*s)) {
            match place(slot) {
                Some((loc, Some(elements))) => after.add(loc, elements),
                Some((loc, None)) => {
                    after.add_all(loc);
                }
                None => {}
            }
        }
        self.changed(&assigned, needs);
        needs.union_with(&after);
        for (i, a) in args.iter().enumerate() {
            match &a.kind {
                ExprKind::Element(_, subscripts) => {
                    subscripts.iter().for_each(|s| self.read(s, needs));
                }
                ExprKind::Var(_) => {}
                _ if !callee.derivative_args.get(i).copied().unwrap_or(false) => {
                    self.read(a, needs);
                }
                _ => {}
            }
        }
        // The forward sweep.
        let primals: Vec<Expr> = args
            .iter()
            .zip(&callee.derivative_args)
            .filter(|(_, d)| !**d)
            .map(|(a, _)| a.clone())
            .collect();
        let tape_kinds: Vec<Kind> = facts.tapes.iter().copied().collect();
        let mut tapes = Vec::new();
        for kind in &tape_kinds {
            tapes.extend(self.tapes.actuals(&mut self.make, *kind, span));
        }
        let mut forward = Vec::new();
        if facts.forward {
            let f = self
                .make
                .procedure(&callee.forward_name, Class::Subroutine, None);
            let actuals = primals.into_iter().chain(tapes.iter().cloned()).collect();
            forward.push(Stmt::new(StmtKind::Call(f, actuals), span));
        } else {
            forward.push(self.primal_call(part, primals, span));
        }
        let backward = self.backward_call(part, args, tapes, span);
        Sweeps { forward, backward }
    }

    /// The call of what a tangent was made from.
    fn primal_call(&mut self, part: usize, mut primals: Vec<Expr>, span: Span) -> Stmt {
        let callee = &self.world.parts[part];
        match callee.result {
            Some(ty) => {
                let f = self.make.procedure(&callee.of, Class::Function, Some(ty));
                let result = primals.pop();
                let value = Expr::new(ExprKind::Call(f, primals), span);
                match result {
                    Some(r) => Stmt::assign(r, value, span),
                    None => Stmt::new(StmtKind::Continue, span),
                }
            }
            None => {
                let f = self.make.procedure(&callee.of, Class::Subroutine, None);
                Stmt::new(StmtKind::Call(f, primals), span)
            }
        }
    }

    /// The call of an adjoint. Two of its arguments must not be the same cotangent, since it
    /// adds to both.
    fn backward_call(&mut self, part: usize, args: &[Expr], tapes: Vec<Expr>, span: Span) -> Block {
        let callee = &self.world.parts[part];
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut actuals = Vec::with_capacity(args.len());
        let mut passed: Vec<(usize, &Expr)> = Vec::new();
        let touches_common = |loc: usize, space: &Space| {
            space.common_at(loc).is_some_and(|k| {
                let slot = callee.derivative_args.len() + 1 + k;
                self.world
                    .effects
                    .get(&callee.name)
                    .is_some_and(|e| e.assigned.contains(slot) || e.read.contains(slot))
            })
        };
        for (a, derivative) in args.iter().zip(&callee.derivative_args) {
            let added = callee.added_args.get(actuals.len()).copied();
            if !derivative || added.unwrap_or(false) {
                actuals.push(a.clone());
                continue;
            }
            if !is_derivative(&self.make.derivatives, a) {
                // A constant zero: nobody wants this cotangent.
                let ty = type_of(&self.make.unit, a).unwrap_or(Type::REAL);
                let t = Expr::var(self.make.derivative_temporary(ty), span);
                before.push(Stmt::assign(t.clone(), zero(ty, span), span));
                actuals.push(t);
                continue;
            }
            let loc = a.base().map(|s| self.space.loc(s));
            let scalar = callee
                .scalar_args
                .get(actuals.len())
                .copied()
                .unwrap_or(false);
            // Of a scalar and the array that it is an element of, the scalar gets the copy.
            let others: Vec<(usize, &Expr)> = match scalar {
                true => args
                    .iter()
                    .zip(&callee.derivative_args)
                    .enumerate()
                    .filter(|(i, (_, d))| **d && *i != actuals.len())
                    .map(|(i, (a, _))| (i, a))
                    .collect(),
                false => passed.clone(),
            };
            // Of two that overlap, Fortran does not allow the callee to assign any.
            let assigns = |i: usize| {
                let effect = self.world.effects.get(&callee.name);
                effect.is_some_and(|e| i > 0 && e.assigned.contains(i - 1))
            };
            let meets = others.iter().any(|(i, p)| {
                p.base().map(|s| self.space.loc(s)) == loc
                    && (same(p, a) || !assigns(*i) && !assigns(actuals.len()))
            });
            if !meets && !loc.is_some_and(|l| touches_common(l, self.space)) {
                passed.push((actuals.len(), a));
                actuals.push(a.clone());
                continue;
            }
            match self.own_copy(part, actuals.len(), a, span) {
                Some((copy, set, add)) => {
                    before.extend(set);
                    after.extend(add);
                    actuals.push(copy);
                }
                None => {
                    if self.trial == 0 {
                        self.errors.push(
                            Diagnostic::error(
                                &rules::AD_UNSUPPORTED,
                                a.span,
                                "the same array is passed twice, and both get a cotangent",
                            )
                            .help("copy one of them to another array first"),
                        );
                    }
                    actuals.push(a.clone());
                }
            }
        }
        actuals.extend(tapes);
        let f = self.make.procedure(&callee.backward_name, Class::Subroutine, None);
        before.push(Stmt::new(StmtKind::Call(f, actuals), span));
        before.append(&mut after);
        before
    }

    /// A cotangent of its own for an argument: what moves it there, and what adds it back.
    fn own_copy(
        &mut self,
        part: usize,
        position: usize,
        a: &Expr,
        span: Span,
    ) -> Option<(Expr, Block, Block)> {
        let callee = &self.world.parts[part];
        let base = a.base()?;
        let symbol = self.make.unit.symbols[base].clone();
        let ty = symbol.ty?;
        let scalar = callee.scalar_args.get(position).copied().unwrap_or(false);
        if scalar {
            let t = Expr::var(self.make.derivative_temporary(ty), span);
            let set = vec![
                Stmt::assign(t.clone(), a.clone(), span),
                Stmt::assign(a.clone(), zero(ty, span), span),
            ];
            let add = vec![increment(a.clone(), t.clone(), span)];
            return Some((t, set, add));
        }
        if symbol
            .dims
            .iter()
            .any(|d| !d.upper.as_ref().is_some_and(|u| u.kind != ExprKind::Star))
        {
            return None;
        }
        let name = self.make.unused("TEMPB");
        let copy = self.make.declare(farfel_lang::ir::Symbol {
            dims: symbol.dims.clone(),
            ..farfel_lang::ir::Symbol::variable(name, ty, span)
        });
        self.make.derivatives.insert(copy);
        let whole = Expr::var(copy, span);
        let mut passed = a.clone();
        if let ExprKind::Var(s) | ExprKind::Element(s, _) = &mut passed.kind {
            *s = copy;
        }
        let own = Expr::var(base, span);
        let set = vec![
            Stmt::assign(whole.clone(), own.clone(), span),
            Stmt::assign(own.clone(), zero(ty, span), span),
        ];
        let add = vec![increment(own, whole, span)];
        Some((passed, set, add))
    }
}

fn if_stmt(arms: Vec<(Expr, Block)>, otherwise: Block, has_else: bool, span: Span) -> Stmt {
    Stmt::new(
        StmtKind::If(IfBlock {
            arms,
            otherwise: has_else.then_some(otherwise),
            ..IfBlock::default()
        }),
        span,
    )
}

pub(super) fn mentions(e: &Expr, s: SymId) -> bool {
    let mut found = false;
    e.for_each_symbol(&mut |x| found |= x == s);
    found
}
