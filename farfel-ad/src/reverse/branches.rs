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
    BinOp, Block, BlockDelimiter, Case, Expr, ExprKind, IfBlock, Select, Stmt, StorageClass, SymId,
    Type,
};

impl Sweeper<'_> {
    pub(super) fn if_block(&mut self, b: &IfBlock, span: Span, needs: &mut Needs) -> Sweeps {
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
        let mut possible = true;
        for (i, body) in bodies.iter().enumerate() {
            let mut state = before.clone();
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
        let last = arms.len() - 1;
        let reverses = arms.iter().any(|a| !a.backward.is_empty());
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
        let mut backward_arms = Vec::new();
        let mut forward_arms = Vec::new();
        let branch = if stable {
            conditions.iter().for_each(|c| self.read(c, needs));
            None
        } else {
            Some(self.branch())
        };
        if self.needs_only {
            return Sweeps::unwritten(true);
        }
        let mut otherwise = (Vec::new(), Vec::new());
        for (i, mut a) in arms.into_iter().enumerate() {
            if let Some(v) = branch {
                let number = Expr::int(i as i64 + 1, span);
                a.forward
                    .push(Stmt::assign(Expr::var(v, span), number, span));
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
        forward.push(Stmt::branches(
            forward_arms,
            has_else.then_some(otherwise.0),
            span,
        ));
        let mut backward = Vec::new();
        if let Some(v) = branch {
            let (push, pop) = self.save_number(v, span);
            forward.extend(push);
            backward.extend(pop);
        }
        backward.extend(choice(backward_arms, otherwise.1, span));
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
            // A procedure without source may assign flags in COMMON: MITgcm's TURNOFF_MODEL_IO switches off what
            // the forward sweep has done.
            let is_flag =
                matches!(symbol.storage_class, StorageClass::Common(_)) && !symbol.is_array();
            if self.engine.lacks_source && is_flag {
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

    /// The variable that holds the number of the arm, one of its own where the statement happens once.
    fn branch(&mut self) -> SymId {
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

    /// Returns the statements that save the number of the arm, or of iterations, and those that restore it.
    pub(super) fn save_number(&mut self, number: SymId, span: Span) -> (Block, Block) {
        if self.happens_once() {
            return Default::default();
        }
        let n = || Expr::var(number, span);
        let kind = TapeKind::Integer(4);
        let push = self.tapes.push(&mut self.builder, kind, n(), span);
        let pop = self.tapes.pop(&mut self.builder, kind, n(), span);
        (push, pop)
    }

    pub(super) fn select(&mut self, b: &Select, span: Span, needs: &mut Needs) -> Sweeps {
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
            forward.push(Stmt::select(select, span));
            return Sweeps {
                forward,
                backward: restore,
            };
        }
        let changed = self
            .engine
            .assigned_in(&self.builder.unit, self.space, &bodies);
        if self.is_stable(&b.selector, &changed, needs) {
            self.read(&b.selector, needs);
            let mut back = Select {
                name: None,
                comments: Vec::new(),
                end: BlockDelimiter::default(),
                ..select.clone()
            };
            for (c, made) in b.cases.iter().zip(cases) {
                select.cases.push(Case {
                    body: made.forward,
                    ..c.clone()
                });
                back.cases.push(Case {
                    values: c.values.clone(),
                    body: made.backward,
                    mark: BlockDelimiter::default(),
                });
            }
            forward.push(Stmt::select(select, span));
            let mut backward = vec![Stmt::select(back, span)];
            backward.extend(restore);
            return Sweeps { forward, backward };
        }
        let branch = self.branch();
        let mut arms = Vec::new();
        for (i, (c, mut made)) in b.cases.iter().zip(cases).enumerate() {
            let number = Expr::int(i as i64 + 1, span);
            made.forward
                .push(Stmt::assign(Expr::var(branch, span), number.clone(), span));
            let condition = binary(BinOp::Eq, Expr::var(branch, span), number);
            arms.push((condition, made.backward));
            select.cases.push(Case {
                body: made.forward,
                ..c.clone()
            });
        }
        if !complete {
            let none = Stmt::assign(Expr::var(branch, span), Expr::int(0, span), span);
            select.cases.push(Case {
                values: None,
                body: vec![none],
                mark: BlockDelimiter::default(),
            });
        }
        forward.push(Stmt::select(select, span));
        let (push, mut backward) = self.save_number(branch, span);
        forward.extend(push);
        backward.extend(choice(arms, Vec::new(), span));
        backward.extend(restore);
        Sweeps { forward, backward }
    }
}
