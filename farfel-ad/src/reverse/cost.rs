//! Chooses the calls that are joint ([`super::joint`]): those that the user has marked, and as many as are
//! needed to keep tapes within their limit.
//!
//! As long as the tapes fit, all other calls are split: nothing is executed twice. If one does not fit,
//! subprograms become joint one after the other, until the tape fits or no other choice helps: each time the
//! one that saves the most bytes of tape for each statement that is executed again. Choices that turn out to
//! be unnecessary are undone at the end.
//!
//! The lengths of tapes often depend on the block's arguments. Then it is not known whether they fit, and
//! calls stay split, unless the user has set a limit (`max-tape`): then an unknown argument or number of
//! iterations counts as [`GUESS`]. A wrong guess costs time or memory, but never affects the result.

use super::generated::SweepResults;
use super::sweep_data::UnitFacts;
use super::tape_size::{self, SweptUnit, Unknown};
use super::{AdjointEngine, Part};
use crate::layout::MOST_TAPE;
use crate::locations::Set;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Block, DoControl, Expr, ExprKind, Origin, Program, Stmt, StmtKind, SymId, Unit,
};
use farfel_lang::storage::constant;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The value used for an unknown argument or number of iterations.
const GUESS: i64 = 1000;

/// The number of iterations used for an unknown loop: for counting statements, not memory.
const TRIPS: f64 = 100.0;

/// The maximum number of subprograms that are tried.
const MOST_TRIED: usize = 16;

/// The maximum depth of calls that are followed.
const MOST_CALLS: usize = 12;

/// The size of the tapes.
struct Peak {
    /// The size of all tapes in bytes.
    bytes: i64,
    /// The size of those tapes that are too long, in bytes.
    over: i64,
}

impl AdjointEngine {
    /// Decides which calls are joint. `most` is the limit for each tape in bytes, if the user has set one.
    pub(super) fn choose_joint(&mut self, closure: &Program, most: Option<u64>) -> SweepResults {
        if let Some(most) = most {
            self.most_tape = most;
            self.most_growing = most;
        }
        let (marked, refused) = self.marked_calls(closure);
        for i in &marked {
            self.reasons.insert(*i, "it is marked".to_owned());
        }
        self.joint.extend(marked);
        let mut refused = (refused.iter())
            .map(|i| not_repeatable(closure, &self.parts[*i]))
            .collect();
        // A limit above the usual one is not a reason to execute anything twice.
        let guess = most.filter(|m| *m < MOST_TAPE).map(|_| GUESS);
        let (found, mut known) = self.peak_and_sweeps(guess);
        known.errors.append(&mut refused);
        let Some((mut peak, mut tried)) = found else {
            return known;
        };
        if peak.over == 0 {
            return known;
        }
        let work = StatementCounts::of(self);
        tried.retain(|i| !self.joint.contains(i) && self.can_be_joint(&self.parts[*i]));
        tried.truncate(MOST_TRIED);
        let before = self.joint.clone();
        let first = peak.bytes;
        while peak.over > 0 {
            let mut best: Option<(f64, usize, Peak)> = None;
            for i in tried.iter().copied() {
                if self.joint.contains(&i) {
                    continue;
                }
                let Some((with, _)) = self.with_joint(i, |w| w.peak(guess)) else {
                    continue;
                };
                if with.bytes >= peak.bytes {
                    continue;
                }
                let gain = (peak.bytes - with.bytes) as f64 / work.repeated(i).max(1.0);
                if best.as_ref().is_none_or(|(g, ..)| gain > *g) {
                    best = Some((gain, i, with));
                }
            }
            let Some((_, i, with)) = best else { break };
            self.joint.insert(i);
            peak = with;
        }
        // One choice may be enough alone if it calls another that was made before.
        let chosen: Vec<usize> = self.joint.difference(&before).copied().collect();
        for i in chosen {
            self.joint.remove(&i);
            match self.peak(guess) {
                Some((without, _)) if without.over <= peak.over => {}
                _ => {
                    self.joint.insert(i);
                }
            }
        }
        for i in self.joint.difference(&before) {
            let of = |bytes: i64| format!("{} MB", (bytes >> 20).max(1));
            let about = if guess.is_some() { "about " } else { "" };
            let why = format!(
                "tapes would take {about}{}, and take {} with such calls",
                of(first),
                of(peak.bytes)
            );
            self.reasons.insert(*i, why);
        }
        match self.joint == before {
            true => known,
            false => self.peak_and_sweeps(guess).1,
        }
    }

    /// Returns the result of `f` with the calls of one more part joint.
    fn with_joint<T>(&mut self, i: usize, f: impl FnOnce(&AdjointEngine) -> T) -> T {
        self.joint.insert(i);
        let found = f(self);
        self.joint.remove(&i);
        found
    }

    /// Returns the parts whose calls the user has marked as joint, and those marked ones that cannot be executed again.
    pub(super) fn marked_calls(&self, closure: &Program) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let is_marked = |p: &Part| !p.root && closure.unit(&p.of).is_some_and(|u| u.joint);
        let parts = self.parts.iter().enumerate();
        let marked = parts.filter(|(_, p)| is_marked(p)).map(|(i, _)| i);
        marked.partition(|i| self.can_be_joint(&self.parts[*i]))
    }

    /// Returns the size of the heads' tapes, and the parts that record something, with the largest first.
    /// Returns `None` if the size of no tape is known, or if such an adjoint cannot be made.
    fn peak(&self, guess: Option<i64>) -> Option<(Peak, Vec<usize>)> {
        self.peak_and_sweeps(guess).0
    }

    fn peak_and_sweeps(&self, guess: Option<i64>) -> (Option<(Peak, Vec<usize>)>, SweepResults) {
        let facts = self.facts();
        let swept = self.all_swept(&facts);
        let known = SweepResults::new(facts, swept);
        let peak = match known.has_errors() {
            true => None,
            false => self.peak_of(&known.facts, &known.swept, guess),
        };
        (peak, known)
    }

    fn peak_of(
        &self,
        facts: &[UnitFacts],
        swept: &[SweptUnit],
        guess: Option<i64>,
    ) -> Option<(Peak, Vec<usize>)> {
        let limit = i64::try_from(self.most_tape).unwrap_or(i64::MAX);
        let unknown = guess.map_or(Unknown::Nothing, Unknown::Guess);
        let bytes = |i: usize, kind: super::tape::TapeKind| {
            let terms = tape_size::tape_usage(self, swept, i, kind, unknown, 0)?.peak();
            Some(tape_size::estimate(&terms, guess)?.saturating_mul(kind.bytes()))
        };
        let mut peak = Peak { bytes: 0, over: 0 };
        let mut known = false;
        let lengths = |i: usize| -> Vec<i64> {
            let mut kinds = facts[i].tapes.clone();
            kinds.extend(swept[i].tapes.used.keys());
            kinds.iter().filter_map(|k| bytes(i, *k)).collect()
        };
        let sum = |l: &[i64]| l.iter().fold(0i64, |a, b| a.saturating_add(*b));
        let roots = self.parts.iter().enumerate().filter(|(_, p)| p.root);
        for (i, _) in roots {
            let lengths = lengths(i);
            known |= !lengths.is_empty();
            peak.bytes = peak.bytes.saturating_add(sum(&lengths));
            let over = lengths.iter().filter(|n| **n > limit);
            peak.over = over.fold(peak.over, |a, n| a.saturating_add(*n));
        }
        let mut kept: Vec<(i64, usize)> = Vec::new();
        if peak.over > 0 {
            let others = self.parts.iter().enumerate();
            let others = others.filter(|(i, p)| !p.root && facts[*i].forward);
            kept.extend(others.map(|(i, _)| (sum(&lengths(i)), i)));
        }
        kept.sort_by_key(|(n, i)| (-n, *i));
        known.then(|| (peak, kept.into_iter().map(|(_, i)| i).collect()))
    }
}

/// The error for a part that is marked as joint, and cannot be executed again.
pub(super) fn not_repeatable(closure: &Program, p: &Part) -> Diagnostic {
    let is_region = |u: &Unit| u.joint && u.origin == Origin::Generated;
    let message = match closure.unit(&p.of).is_some_and(is_region) {
        true => "this region cannot be executed again".to_owned(),
        false => format!("calls of {} cannot be carried out again", p.of),
    };
    Diagnostic::error(&rules::AD_LOOP, p.builder.unit.span, message).help("it must not keep variables from call to call (SAVE), nor call procedures whose text is not known; or take the directive out")
}

/// The estimated number of executed statements.
struct StatementCounts {
    /// For one call of each part.
    once: HashMap<usize, f64>,
    /// The number of calls of each part.
    calls: HashMap<usize, f64>,
}

impl StatementCounts {
    fn of(engine: &AdjointEngine) -> StatementCounts {
        let mut work = StatementCounts {
            once: HashMap::new(),
            calls: HashMap::new(),
        };
        for (i, p) in engine.parts.iter().enumerate() {
            if p.root {
                let known = BTreeMap::new();
                work.part(engine, i, &known, 1.0, &mut Vec::new());
            }
        }
        work
    }

    /// The number of statements that are executed again if the calls of a part are joint.
    fn repeated(&self, part: usize) -> f64 {
        let get = |m: &HashMap<usize, f64>| m.get(&part).copied().unwrap_or(1.0);
        get(&self.once) * get(&self.calls)
    }

    /// Counts the statements of a part that is called `times` times.
    fn part(
        &mut self,
        engine: &AdjointEngine,
        i: usize,
        known: &BTreeMap<SymId, i64>,
        times: f64,
        above: &mut Vec<usize>,
    ) -> f64 {
        if above.contains(&i) || above.len() > MOST_CALLS {
            return 1.0;
        }
        above.push(i);
        *self.calls.entry(i).or_default() += times;
        let p = &engine.parts[i];
        let mut context = CallContext {
            engine,
            unit: &p.builder.unit,
            known,
            assigned: engine.assigned_in(&p.builder.unit, &p.space, &p.body),
            part: i,
        };
        let once = self.block(&mut context, &p.body, times, above);
        above.pop();
        let most = self.once.entry(i).or_default();
        *most = most.max(once);
        once
    }

    fn block(
        &mut self,
        context: &mut CallContext,
        block: &Block,
        times: f64,
        above: &mut Vec<usize>,
    ) -> f64 {
        let mut sum = 0.0;
        for s in block {
            sum += match &s.kind {
                StmtKind::Do(d) => {
                    let trips = context.trips(&d.control);
                    trips * self.block(context, &d.body, times * trips, above)
                }
                StmtKind::Call(callee, args) => {
                    match context.engine.part_of(&context.unit.symbols[*callee].name) {
                        Some(part) => {
                            let known = context.known_arguments(part, args);
                            self.part(context.engine, part, &known, times, above)
                        }
                        None => 1.0,
                    }
                }
                _ => 1.0 + self.inner(context, s, times, above),
            };
        }
        sum
    }

    fn inner(
        &mut self,
        context: &mut CallContext,
        s: &Stmt,
        times: f64,
        above: &mut Vec<usize>,
    ) -> f64 {
        let blocks = s.blocks().into_iter();
        blocks.fold(0.0, |sum, b| sum + self.block(context, b, times, above))
    }
}

/// Returns the number of iterations of a loop whose bounds have values.
pub(super) fn trips(control: &DoControl, value: &dyn Fn(&Expr) -> Option<i64>) -> Option<f64> {
    let DoControl::Count { from, to, step, .. } = control else {
        return None;
    };
    let step = step.as_ref().map_or(Some(1), value);
    let step = step.filter(|s| *s != 0)?;
    let length = value(to)?.saturating_sub(value(from)?) / step;
    Some(length.saturating_add(1).max(0) as f64)
}

struct CallContext<'a> {
    engine: &'a AdjointEngine,
    unit: &'a Unit,
    /// Arguments whose values are known.
    known: &'a BTreeMap<SymId, i64>,
    assigned: Set,
    part: usize,
}

impl CallContext<'_> {
    fn value(&self, e: &Expr) -> Option<i64> {
        constant::integer(self.unit, e).or_else(|| match e.kind {
            ExprKind::Var(s) => self.known.get(&s).copied(),
            _ => None,
        })
    }

    fn trips(&self, control: &DoControl) -> f64 {
        trips(control, &|e| self.value(e)).unwrap_or(TRIPS)
    }

    /// The known values of the arguments of a call.
    fn known_arguments(&self, part: usize, args: &[Expr]) -> BTreeMap<SymId, i64> {
        let callee = &self.engine.parts[part].builder.unit;
        let space = &self.engine.parts[self.part].space;
        let fixed = |e: &Expr| {
            e.base()
                .is_none_or(|s| !self.assigned.contains(space.loc(s)))
        };
        let dummies = callee.args.iter().zip(args);
        let of = dummies.filter_map(|(d, a)| Some((d.sym()?, self.value(a).filter(|_| fixed(a))?)));
        of.collect()
    }
}
