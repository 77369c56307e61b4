//! IF and SELECT CASE: the reverse sweep takes the arm that the forward sweep took.

use super::normal::has_calls;
use super::sweep::Sweeper;
use super::sweep_data::Sweeps;
use super::tape::TapeKind;
use super::tbr::Needs;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::ir::build::{binary, choice};
use farfel_lang::ir::{
    Attribute, BinOp, Block, BlockDelimiter, Case, Expr, ExprKind, IfBlock, Select, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Type, for_each_symbol,
};
use std::collections::BTreeSet;

impl Sweeper<'_> {
    /// `known` is [`Self::known_after`], `owed` is [`Self::owed`].
    pub(super) fn if_block(
        &mut self,
        b: &IfBlock,
        (known, owed): (Option<SymId>, Option<SymId>),
        span: Span,
        needs: &mut Needs,
    ) -> Sweeps {
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
        let set = self.set_by_arms(&bodies);
        let known = known.filter(|k| set.as_ref().is_some_and(|s| s.var == *k));
        let mut after = Needs::default();
        let mut possible = true;
        for (i, body) in bodies.iter().enumerate() {
            let mut state = before.clone();
            self.known_after = known;
            arms.push(self.block(body, &mut state));
            // Conditions from the preprocessor may be constants.
            let constant = match conditions.get(i).map(|c| &c.kind) {
                Some(ExprKind::Logical(value)) => Some(*value),
                _ => None,
            };
            if possible && constant != Some(false) {
                after.union_with(&state);
            }
            possible &= constant != Some(true);
        }
        *needs = after;
        let reverses = owed.is_some() || arms.iter().any(|a| !a.backward.is_empty());
        if self.needs_only && !reverses {
            return Sweeps::unwritten(!restore.is_empty());
        }
        if !reverses {
            let otherwise = arms.pop().map_or_else(Vec::new, |a| a.forward);
            let arms = b
                .arms
                .iter()
                .zip(arms)
                .map(|((c, _), a)| (c.clone(), a.forward))
                .collect();
            forward.push(Stmt::branches(
                arms,
                b.otherwise.as_ref().map(|_| otherwise),
                span,
            ));
            return Sweeps {
                forward,
                backward: restore,
            };
        }
        let mut changed = Set::default();
        for body in &bodies {
            let unit = &self.builder.unit;
            changed.union_with(&self.engine.assigned_in(unit, self.space, body));
        }
        let stable = |c: &&Expr| self.is_stable(c, &changed, needs);
        let stable = conditions.iter().all(stable);
        let by = if stable {
            conditions.iter().for_each(|c| self.read(c, needs));
            ArmBy::Conditions
        } else {
            let number = number_of_arm(&conditions);
            self.arm_by(
                set.filter(|s| s.tells(&arms)),
                number,
                owed,
                known,
                &changed,
                needs,
            )
        };
        if self.needs_only {
            return Sweeps::unwritten(true);
        }
        forward.extend(by.number_arms(&mut arms, span));
        let otherwise = arms.pop().unwrap_or_default();
        let has_else = b.otherwise.is_some() || !otherwise.forward.is_empty();
        let (push, mut backward) = self.record(&by, span);
        let (ahead, back): (Vec<Block>, Vec<Block>) =
            arms.into_iter().map(|a| (a.forward, a.backward)).unzip();
        let ahead = conditions.iter().map(|c| (*c).clone()).zip(ahead).collect();
        forward.push(Stmt::branches(
            ahead,
            has_else.then_some(otherwise.forward),
            span,
        ));
        forward.extend(push);
        backward.extend(match by {
            ArmBy::Conditions | ArmBy::Before { .. } => {
                let other = conditions.iter().map(|c| by.other_condition(c));
                choice(other.zip(back).collect(), otherwise.backward, span)
            }
            _ => by.exclusive(back.into_iter().chain([otherwise.backward]), span),
        });
        backward.extend(restore);
        Sweeps { forward, backward }
    }

    /// Saves what functions in conditions overwrite.
    pub(super) fn conditions(
        &mut self,
        list: &[&Expr],
        span: Span,
        needs: &mut Needs,
    ) -> (Block, Block) {
        if !list.iter().any(|c| has_calls(&self.builder, c)) {
            return Default::default();
        }
        let arms = list
            .iter()
            .map(|c| ((*c).clone(), Vec::new()))
            .collect::<Vec<_>>();
        let only = Stmt::branches(arms, None, span);
        let touched =
            self.engine
                .touched_in(&self.builder.unit, self.space, std::slice::from_ref(&only));
        let made = self.overwrite_all(&touched.assigned, needs, span);
        self.changed(&touched.assigned, needs);
        made
    }

    /// Whether a condition will have the same value in the reverse sweep without recording anything in
    /// addition. `changed` is what the arms assign: it is not yet restored when the reverse sweep evaluates
    /// the condition.
    fn is_stable(&self, c: &Expr, changed: &Set, needs: &Needs) -> bool {
        if has_calls(&self.builder, c) {
            return false;
        }
        let mut stable = true;
        c.for_each_symbol(&mut |s| {
            let loc = self.space.loc(s);
            let symbol = &self.builder.unit.symbols[s];
            if self.may_be_set_unseen(symbol) {
                stable = false;
                return;
            }
            if !symbol.is_variable() || !self.assigned.contains(loc) {
                return;
            }
            let again = self.loop_vars.contains(&s)
                || self.recomputable.contains(&s)
                || !symbol.is_array() && needs.has(loc)
                || self.root && self.assigned_later.iter().all(|l| !l.contains(loc));
            stable &= again && !changed.contains(loc);
        });
        stable
    }

    /// Whether a procedure without source may assign this variable, a flag in COMMON: MITgcm's TURNOFF_MODEL_IO switches
    /// off what the forward sweep has done.
    pub(super) fn may_be_set_unseen(&self, symbol: &Symbol) -> bool {
        let in_common = matches!(symbol.storage_class, StorageClass::Common(_));
        self.engine.lacks_source && in_common && !symbol.is_array()
    }

    /// The variable that holds the number of the arm, one of its own where the statement happens once.
    pub(super) fn branch(&mut self) -> SymId {
        match self.branch {
            Some(b) if !self.happens_once() => b,
            _ => {
                let b = self.builder.variable("BRANCH", Type::INTEGER);
                if !self.happens_once() {
                    self.branch = Some(b);
                }
                b
            }
        }
    }

    /// Determines how the reverse sweep finds the arm of a statement whose conditions it cannot evaluate. `number` is the
    /// variable that the conditions compare with numbers.
    fn arm_by(
        &mut self,
        set: Option<SetByArms>,
        number: Option<SymId>,
        owed: Option<SymId>,
        known: Option<SymId>,
        changed: &Set,
        needs: &mut Needs,
    ) -> ArmBy {
        if let (Some(v), Some(number)) = (owed, number) {
            return ArmBy::Before { number, saved: v };
        }
        if let Some(set) = set {
            let at = Expr::var(set.var, Span::NONE);
            if known.is_some() {
                self.relied_on = true;
                return ArmBy::Known(set);
            }
            if self.is_stable(&at, &Set::default(), needs) {
                self.read(&at, needs);
                return ArmBy::Known(set);
            }
            let saved = self.branch();
            return ArmBy::After { set, saved };
        }
        let saved = self.branch();
        match number.filter(|v| self.decides(*v, changed)) {
            Some(number) => ArmBy::Before { number, saved },
            None => ArmBy::Own(saved),
        }
    }

    /// Returns the statements that record the arm, and those that restore it.
    fn record(&mut self, by: &ArmBy, span: Span) -> (Block, Block) {
        match by {
            ArmBy::Conditions | ArmBy::Known(_) => Default::default(),
            ArmBy::Own(v) => self.save_number(*v, *v, span),
            ArmBy::Before { number, saved } => self.save_number(*number, *saved, span),
            ArmBy::After { set, saved } => self.save_number(set.var, *saved, span),
        }
    }

    /// The variable that each arm of a statement sets last.
    fn set_by_arms(&self, arms: &[&Block]) -> Option<SetByArms> {
        let mut var = None;
        let mut values: Vec<BTreeSet<i64>> = Vec::new();
        for arm in arms {
            let (v, numbers) = set_at_end(arm)?;
            if var.replace(v).is_some_and(|other| other != v) {
                return None;
            }
            values.push(numbers);
        }
        let var = var.filter(|v| self.decides(*v, &Set::default()))?;
        Some(SetByArms { var, values })
    }

    /// The variable that a statement sets to different numbers in its arms, if the next one chooses its arm by this
    /// variable.
    pub(super) fn recorded_by(&self, s: &Stmt, next: &Stmt) -> Option<SymId> {
        if self.happens_once() {
            return None;
        }
        let number = match &next.kind {
            StmtKind::If(b) => {
                let conditions: Vec<&Expr> = b.arms.iter().map(|(c, _)| c).collect();
                number_of_arm(&conditions)?
            }
            StmtKind::Select(b) => match b.selector.kind {
                ExprKind::Var(v) => v,
                _ => return None,
            },
            _ => return None,
        };
        let (set, _) = set_at_end(std::slice::from_ref(s))?;
        let changed = || {
            let unit = &self.builder.unit;
            let all = next.blocks().into_iter();
            let mut changed = Set::default();
            all.for_each(|b| changed.union_with(&self.engine.assigned_in(unit, self.space, b)));
            changed
        };
        (set == number && self.decides(number, &changed())).then_some(number)
    }

    /// Whether a variable has the same value before and after a statement that assigns what is in `changed`, and can be
    /// recorded like the number of an arm.
    fn decides(&self, v: SymId, changed: &Set) -> bool {
        let symbol = &self.builder.unit.symbols[v];
        symbol.is_variable()
            && !symbol.is_array()
            && symbol.ty == Some(Type::INTEGER)
            && !symbol.has(Attribute::Volatile)
            && !self.may_be_set_unseen(symbol)
            && !changed.contains(self.space.loc(v))
    }

    /// Returns the statements that save a number, that of the arm or of iterations, and those that restore it in
    /// another variable.
    pub(super) fn save_number(&mut self, number: SymId, to: SymId, span: Span) -> (Block, Block) {
        let var = |s| Expr::var(s, span);
        if self.happens_once() {
            return match number == to {
                true => Default::default(),
                false => (vec![Stmt::assign(var(to), var(number), span)], Vec::new()),
            };
        }
        let kind = TapeKind::Integer(4);
        let push = self.tapes.push(&mut self.builder, kind, var(number), span);
        let pop = self.tapes.pop(&mut self.builder, kind, var(to), span);
        (push, pop)
    }

    /// `known` is [`Self::known_after`], `owed` is [`Self::owed`].
    pub(super) fn select(
        &mut self,
        b: &Select,
        (known, owed): (Option<SymId>, Option<SymId>),
        span: Span,
        needs: &mut Needs,
    ) -> Sweeps {
        let number = match b.selector.kind {
            ExprKind::Var(v) => Some(v),
            _ => None,
        };
        let (mut forward, restore) = self.conditions(&[&b.selector], span, needs);
        let complete = b.cases.iter().any(|c| c.values.is_none());
        let bodies: Vec<&Block> = b.cases.iter().map(|c| &c.body).collect();
        let set = self.set_by_arms(&bodies).filter(|_| complete);
        let known = known.filter(|k| set.as_ref().is_some_and(|s| s.var == *k));
        let before = needs.clone();
        let mut after = Needs::default();
        let mut cases = Vec::new();
        for body in &bodies {
            let mut state = before.clone();
            self.known_after = known;
            cases.push(self.block(body, &mut state));
            after.union_with(&state);
        }
        if !complete {
            after.union_with(&before);
        }
        *needs = after;
        let mut select = Select {
            cases: Vec::new(),
            ..b.clone()
        };
        if owed.is_none() && cases.iter().all(|c| c.backward.is_empty()) {
            for (c, made) in b.cases.iter().zip(cases) {
                select.cases.push(Case {
                    body: made.forward,
                    ..c.clone()
                });
            }
            forward.push(Stmt::select(select, span));
            return Sweeps {
                forward,
                backward: restore,
            };
        }
        let mut changed = Set::default();
        for body in &bodies {
            let unit = &self.builder.unit;
            changed.union_with(&self.engine.assigned_in(unit, self.space, body));
        }
        let by = if self.is_stable(&b.selector, &changed, needs) {
            self.read(&b.selector, needs);
            ArmBy::Conditions
        } else {
            self.arm_by(
                set.filter(|s| s.tells(&cases)),
                number,
                owed,
                known,
                &changed,
                needs,
            )
        };
        if !complete {
            // What happens for all other values.
            cases.push(Sweeps::default());
        }
        forward.extend(by.number_arms(&mut cases, span));
        let mut back = Vec::new();
        for (i, made) in cases.into_iter().enumerate() {
            match b.cases.get(i) {
                Some(c) => select.cases.push(Case {
                    body: made.forward,
                    ..c.clone()
                }),
                None if made.forward.is_empty() => {}
                None => select.cases.push(Case {
                    values: None,
                    body: made.forward,
                    mark: BlockDelimiter::default(),
                }),
            }
            back.push(made.backward);
        }
        forward.push(Stmt::select(select, span));
        let (push, mut backward) = self.record(&by, span);
        forward.extend(push);
        match by {
            ArmBy::Conditions | ArmBy::Before { .. } => {
                let case = |(c, body): (&Case, Block)| Case {
                    values: c.values.clone(),
                    body,
                    mark: BlockDelimiter::default(),
                };
                let all = back.iter().all(Vec::is_empty);
                let back = Select {
                    name: None,
                    selector: by.other_condition(&b.selector),
                    comments: Vec::new(),
                    cases: b.cases.iter().zip(back).map(case).collect(),
                    end: BlockDelimiter::default(),
                };
                backward.extend((!all).then(|| Stmt::select(back, span)));
            }
            _ => backward.extend(by.exclusive(back.into_iter(), span)),
        }
        backward.extend(restore);
        Sweeps { forward, backward }
    }
}

/// The most numbers that a condition compares a variable with.
const MOST_NUMBERS: usize = 2;

/// How the reverse sweep finds the arm that the forward sweep has taken.
enum ArmBy {
    /// The conditions have the same values.
    Conditions,
    /// A variable of its own has the number of the arm.
    Own(SymId),
    /// The conditions compare a variable that no arm changes with numbers. It is recorded, and restored in another one
    /// or in itself.
    Before { number: SymId, saved: SymId },
    /// The arms set a variable, which is recorded after the statement, and restored in another one.
    After { set: SetByArms, saved: SymId },
    /// The arms set a variable, which the reverse sweep knows already.
    Known(SetByArms),
}

/// A variable that each arm of a statement sets last, with the numbers that it has then.
struct SetByArms {
    var: SymId,
    values: Vec<BTreeSet<i64>>,
}

impl SetByArms {
    /// Whether the variable tells which of the arms that the reverse sweep has something to do for was taken, in few
    /// words.
    fn tells(&self, arms: &[Sweeps]) -> bool {
        let empty = |i: usize| arms.get(i).is_none_or(|a| a.backward.is_empty());
        let apart = |i: usize, j: usize| {
            i == j || empty(i) && empty(j) || self.values[i].is_disjoint(&self.values[j])
        };
        let all = 0..self.values.len();
        let long = all
            .clone()
            .filter(|i| !empty(*i) && self.values[*i].len() > MOST_NUMBERS);
        long.count() <= usize::from(!all.clone().any(empty))
            && all.clone().all(|i| all.clone().all(|j| apart(i, j)))
    }
}

impl ArmBy {
    /// The condition or selector of the reverse sweep in place of that of the forward sweep.
    fn other_condition(&self, original: &Expr) -> Expr {
        match self {
            ArmBy::Before { number, saved } => of_another(original, *number, *saved),
            _ => original.clone(),
        }
    }

    /// Lets the arms set the number of the arm, if the statement has one. Arms for which the reverse sweep has nothing
    /// to do have the number 0, which may be set before the statement: returns what comes there.
    fn number_arms(&self, arms: &mut [Sweeps], span: Span) -> Option<Stmt> {
        let ArmBy::Own(v) = *self else { return None };
        let set = |n: usize| Stmt::assign(Expr::var(v, span), Expr::int(n as i64, span), span);
        let mut own = false;
        for a in arms.iter().filter(|a| a.backward.is_empty()) {
            for_each_symbol(&a.forward, &mut |s| own |= s == v);
        }
        let mut any = false;
        for (i, a) in arms.iter_mut().enumerate() {
            match a.backward.is_empty() {
                true if own => a.forward.push(set(0)),
                true => any = true,
                false => a.forward.push(set(i + 1)),
            }
        }
        any.then(|| set(0))
    }

    /// The variable that tells the arms apart, and the numbers that it has for one of them.
    fn numbers(&self, arm: usize) -> Option<(SymId, BTreeSet<i64>)> {
        match self {
            ArmBy::Conditions | ArmBy::Before { .. } => None,
            ArmBy::Own(v) => Some((*v, BTreeSet::from([arm as i64 + 1]))),
            ArmBy::After { set, saved } => Some((*saved, set.values.get(arm)?.clone())),
            ArmBy::Known(set) => Some((set.var, set.values.get(arm)?.clone())),
        }
    }

    /// Returns the arms of the reverse sweep, each with a condition that excludes the others.
    fn exclusive(&self, arms: impl Iterator<Item = Block>, span: Span) -> Option<Stmt> {
        let equal = |v: SymId, n: i64| binary(BinOp::Eq, Expr::var(v, span), Expr::int(n, span));
        let mut arms: Vec<(usize, Block)> = arms.enumerate().collect();
        let all = arms.len();
        arms.retain(|(_, body)| !body.is_empty());
        let mut otherwise = Vec::new();
        if arms.len() == all {
            // The arm with the longest condition; of equal ones, the last.
            let longest = (0..all).max_by_key(|i| self.numbers(*i).map(|(_, n)| n.len()))?;
            otherwise = arms.remove(longest).1;
        }
        let arms = arms.into_iter().filter_map(|(i, body)| {
            let (v, numbers) = self.numbers(i)?;
            let condition = numbers.into_iter().map(|n| equal(v, n));
            Some((condition.reduce(|a, b| binary(BinOp::Or, a, b))?, body))
        });
        choice(arms.collect(), otherwise, span)
    }
}

/// The variable that all conditions compare with numbers.
fn number_of_arm(conditions: &[&Expr]) -> Option<SymId> {
    let mut found = None;
    for c in conditions {
        let ExprKind::Binary(op, a, b) = &c.kind else {
            return None;
        };
        let (ExprKind::Var(v), ExprKind::Int(_)) = (&a.kind, &b.kind) else {
            return None;
        };
        if !op.is_relational() || found.replace(*v).is_some_and(|other| other != *v) {
            return None;
        }
    }
    found
}

/// The variable that statements set last, and the numbers that it may have then.
fn set_at_end(block: &[Stmt]) -> Option<(SymId, BTreeSet<i64>)> {
    let arms: Vec<&Block> = match &block.last()?.kind {
        StmtKind::Assign(to, value) => {
            return match (&to.kind, &value.kind) {
                (ExprKind::Var(v), ExprKind::Int(n)) => Some((*v, BTreeSet::from([*n]))),
                _ => None,
            };
        }
        StmtKind::If(b) if b.otherwise.is_some() => b.blocks().into_iter().collect(),
        StmtKind::Select(b) if b.cases.iter().any(|c| c.values.is_none()) => {
            b.cases.iter().map(|c| &c.body).collect()
        }
        _ => return None,
    };
    let mut arms = arms.into_iter().map(|b| set_at_end(b));
    let (var, mut numbers) = arms.next()??;
    for arm in arms {
        let (v, more) = arm?;
        if v != var {
            return None;
        }
        numbers.extend(more);
    }
    Some((var, numbers))
}

/// Returns a condition for another variable.
fn of_another(condition: &Expr, number: SymId, other: SymId) -> Expr {
    let mut made = condition.clone();
    made.for_each_symbol_mut(&mut |s| {
        if *s == number {
            *s = other;
        }
    });
    made
}
