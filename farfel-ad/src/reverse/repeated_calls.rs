//! Chooses joint calls ([`super::joint`]) for heads whose tapes are long and have no known length.
//!
//! A long tape costs memory, and time as well: the system takes about as long to provide a page as a program
//! takes to compute the values on it. So calls that record much more than they start from are joint. Calls in what is
//! executed again are split, so that each statement is executed at most once more. Calls that execute a
//! fixed-point loop are split, too: the loop may iterate hundreds of times, but records only one of its iterations.
//!
//! There is one exception: a loop of time steps. Its iterations are joint calls, and so are calls in them, if that takes
//! much less memory than either.
//!
//! All numbers here are estimates, with [`TRIPS`] for an unknown number of iterations. A wrong one costs time or
//! memory, but never affects the result.

use super::AdjointEngine;
use super::cost;
use super::fixed_point::has_fixed_point;
use super::generated::SweepResults;
use super::sweep::Sweeper;
use super::tape_size::SweptUnit;
use super::tbr::Needs;
use farfel_lang::ir::{Block, DoControl, Expr, Name, Stmt, StmtKind, SymId, Unit};
use farfel_lang::storage::constant::{self, Constants};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The number of iterations used for an unknown loop.
const TRIPS: f64 = 10.0;

/// A head whose tapes take less than this many bytes has no such calls.
const LEAST_OF_HEAD: f64 = 256e6;

/// A call that records less than this many bytes is not joint.
const LEAST_OF_CALL: f64 = 32e3;

/// The minimum number of bytes that are not recorded for each statement that is executed again.
const LEAST_OF_STATEMENT: f64 = 1.0;

/// Time steps, and calls in them, are both joint if that divides the length of the tapes by at least this number.
const LEAST_OF_STEP: f64 = 2.0;

/// A subprogram that records this part of what its caller records is what the caller executes.
const ALL_OF_STEP: f64 = 0.9;

/// The maximum depth of calls that are followed.
const MOST_CALLS: usize = 40;

/// The subprograms whose calls are never joint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecutedOnce {
    /// All subprograms.
    pub all: bool,
    /// Some subprograms, in upper case.
    pub subprograms: Vec<Name>,
}

impl ExecutedOnce {
    fn has(&self, name: &Name) -> bool {
        self.all || self.subprograms.contains(name)
    }
}

/// A call in the body of a part.
struct CallSite<'a> {
    caller: usize,
    s: &'a Stmt,
    callee: SymId,
    args: &'a [Expr],
    /// The variables of the enclosing counted loops.
    loops: Vec<SymId>,
}

/// Adds the calls in a block of a part, which is in some loops.
fn find_calls<'a>(
    caller: usize,
    block: &'a [Stmt],
    loops: &mut Vec<SymId>,
    found: &mut Vec<CallSite<'a>>,
) {
    for s in block {
        match &s.kind {
            StmtKind::Call(callee, args) => found.push(CallSite {
                caller,
                s,
                callee: *callee,
                args,
                loops: loops.clone(),
            }),
            StmtKind::LogicalIf(_, inner) => {
                find_calls(caller, std::slice::from_ref(inner), loops, found);
            }
            StmtKind::Do(d) => {
                let depth = loops.len();
                if let DoControl::Count { var, .. } = d.control {
                    loops.push(var);
                }
                find_calls(caller, &d.body, loops, found);
                loops.truncate(depth);
            }
            _ => (s.blocks().into_iter()).for_each(|b| find_calls(caller, b, loops, found)),
        }
    }
}

/// What one call of a part executes, with everything that it calls.
#[derive(Default, Clone)]
struct CallCost {
    /// The number of statements.
    statements: f64,
    /// The number of bytes that the forward sweep records.
    bytes: f64,
    /// The parts that the part itself calls, and how often.
    calls: BTreeMap<usize, f64>,
    /// Whether it or what it calls has a fixed-point loop.
    has_fixed_point: bool,
}

/// The parts whose calls are joint.
#[derive(Default)]
pub(super) struct RepeatedCalls {
    /// Those that execute a time step. Calls below them may be joint, too.
    pub steps: BTreeSet<usize>,
    /// The others. All calls below them are split.
    pub others: BTreeSet<usize>,
}

/// What is saved if the calls of a part are joint.
struct Gain {
    /// The number of bytes that a joint call records.
    start: f64,
    /// The number of bytes by which the tapes become shorter for each call, if it is worth executing it again.
    saved: Option<f64>,
}

impl AdjointEngine {
    /// Returns the parts whose calls shall be joint, from the sweeps with split calls.
    pub(super) fn choose_repeated(
        &self,
        once: &ExecutedOnce,
        known: &SweepResults,
    ) -> RepeatedCalls {
        if once.all {
            return RepeatedCalls::default();
        }
        let mut costs = CallCosts::of(self, &known.swept);
        let roots = self.parts.iter().enumerate().filter(|(_, p)| p.root);
        let mut total = 0.0;
        for (i, _) in roots {
            total += costs.part(i, &BTreeMap::new(), 0).bytes;
        }
        if total < LEAST_OF_HEAD {
            return RepeatedCalls::default();
        }
        let times = costs.times();
        let gains = self.gains(once, known, &costs, &times);
        costs.best(&gains)
    }

    /// What is saved if the calls of a part are joint, for each part that is called more than once and can be executed
    /// again.
    fn gains(
        &self,
        once: &ExecutedOnce,
        known: &SweepResults,
        costs: &CallCosts,
        times: &BTreeMap<usize, f64>,
    ) -> BTreeMap<usize, Gain> {
        let mut all = Vec::new();
        for (caller, p) in self.parts.iter().enumerate() {
            find_calls(caller, &p.body, &mut Vec::new(), &mut all);
        }
        let mut sites: BTreeMap<usize, Vec<CallSite>> = BTreeMap::new();
        for site in all {
            let symbols = &self.parts[site.caller].builder.unit.symbols;
            if let Some(i) = self.part_of(&symbols[site.callee].name) {
                sites.entry(i).or_default().push(site);
            }
        }
        let mut sweepers: HashMap<usize, Sweeper> = HashMap::new();
        let mut gains = BTreeMap::new();
        for (i, p) in self.parts.iter().enumerate() {
            let Some(cost) = costs.known.get(&i) else {
                continue;
            };
            if cost.has_fixed_point || cost.bytes < LEAST_OF_CALL {
                continue;
            }
            if once.has(&p.of) || !self.can_be_joint(p) {
                continue;
            }
            let mut most = Some(0.0f64);
            for site in sites.get(&i).into_iter().flatten() {
                let sweeper = (sweepers.entry(site.caller))
                    .or_insert_with(|| Sweeper::new(self, &known.facts, site.caller));
                sweeper.loop_vars.clone_from(&site.loops);
                let size = self.recorded_anyway(sweeper, i, site, known);
                most = most.and_then(|m| Some(m.max(size?)));
            }
            let times = times.get(&i).copied().unwrap_or(0.0);
            let Some(start) = most.filter(|_| times > 1.0) else {
                continue;
            };
            let saved = cost.bytes - start;
            let is_worth_it = saved >= LEAST_OF_STATEMENT * cost.statements;
            // The last call has its tape while the reverse sweep executes it again.
            let saved = is_worth_it.then_some(saved * (1.0 - 1.0 / times));
            gains.insert(i, Gain { start, saved });
        }
        gains
    }

    /// The number of bytes that a joint call records: what the second execution starts from, and what is needed
    /// from before the call. `None` if they cannot be saved.
    fn recorded_anyway(
        &self,
        sweeper: &mut Sweeper,
        part: usize,
        site: &CallSite,
        known: &SweepResults,
    ) -> Option<f64> {
        let CallSite { s, args, .. } = site;
        let (of, procedure_args) = (&self.parts[part].of, sweeper.procedure_args(part, args));
        let slices = sweeper.assigned_slices(of, &procedure_args);
        let changed = sweeper.changed_parts(of, &procedure_args, &slices, s.span);
        let defined = sweeper.defined_before(s.id);
        let accessed = sweeper.accessed_variables(part, args, &Needs::default(), s.span);
        let facts = &known.facts[part];
        let needed = |slots: &crate::locations::Set, loc: usize| {
            slots.ones().any(|slot| match slot.checked_sub(args.len()) {
                None => (args.get(slot).and_then(Expr::base))
                    .is_some_and(|b| sweeper.space.loc(b) == loc),
                Some(0) => false,
                Some(k) => sweeper.space.common(k - 1) == loc,
            })
        };
        let mut bytes = 0.0;
        let mut done: BTreeSet<usize> = BTreeSet::new();
        for v in &accessed {
            let read = v.read
                && v.overwritten.is_none()
                && defined.as_ref().is_none_or(|d| d.contains(v.loc));
            let saved = match v.assigned {
                true => read || needed(&facts.entry, v.loc),
                // Only derivatives below would read it otherwise.
                false => read && !needed(&facts.exit, v.loc) && sweeper.assigned.contains(v.loc),
            };
            if !saved {
                continue;
            }
            // The caller does not declare it: it is what a subprogram below keeps from call to call.
            let s = v.target.base()?;
            let unit = &sweeper.builder.unit;
            if v.element.is_none() && !done.insert(v.loc) {
                continue;
            }
            let each = Constants::of(unit).element_size(s)? as f64;
            let changed = changed.get(&v.loc).filter(|_| v.assigned);
            bytes += match (&v.element, changed) {
                (Some(_), _) => each,
                (None, Some(part)) => each * part.elements(sweeper)?,
                (None, None) => {
                    let extents = constant::extents(unit, &unit.symbols[s].dims)?;
                    extents.iter().fold(each, |n, e| n * *e as f64)
                }
            };
        }
        Some(bytes)
    }
}

/// The costs of one call of each part that heads reach.
struct CallCosts<'a> {
    engine: &'a AdjointEngine,
    swept: &'a [SweptUnit],
    /// The parts by the names that forward sweeps call.
    called: HashMap<&'a Name, usize>,
    known: BTreeMap<usize, CallCost>,
    /// Callees first.
    order: Vec<usize>,
}

impl<'a> CallCosts<'a> {
    fn of(engine: &'a AdjointEngine, swept: &'a [SweptUnit]) -> Self {
        let mut called = HashMap::new();
        for (i, p) in engine.parts.iter().enumerate() {
            called.entry(&p.of).or_insert(i);
        }
        // A forward sweep has a name of its own.
        called.extend(
            engine
                .parts
                .iter()
                .enumerate()
                .map(|(i, p)| (&p.forward_name, i)),
        );
        CallCosts {
            engine,
            swept,
            called,
            known: BTreeMap::new(),
            order: Vec::new(),
        }
    }

    /// The cost of a call with some known arguments. Other calls count as much.
    fn part(&mut self, i: usize, arguments: &BTreeMap<SymId, i64>, depth: usize) -> CallCost {
        if let Some(cost) = self.known.get(&i) {
            return cost.clone();
        }
        if depth > MOST_CALLS {
            return CallCost::default();
        }
        // Recursion ends here.
        self.known.insert(i, CallCost::default());
        let unit = &self.swept[i].builder.unit;
        let p = &self.engine.parts[i];
        let mut walk = CostWalk {
            unit,
            constants: Constants::of(unit),
            arguments,
            tapes: (self.swept[i].tapes.used.iter())
                .map(|(kind, v)| (v.values(), kind.bytes() as f64))
                .collect(),
            assigned: self.engine.assigned_in(&p.builder.unit, &p.space, &p.body),
            space: &p.space,
            depth,
            found: CallCost {
                has_fixed_point: has_fixed_point(&p.body),
                ..CallCost::default()
            },
        };
        walk.block(self, &self.swept[i].made.forward, 1.0);
        let found = walk.found;
        self.known.insert(i, found.clone());
        self.order.push(i);
        found
    }

    /// How often each part is called.
    fn times(&self) -> BTreeMap<usize, f64> {
        let mut times: BTreeMap<usize, f64> = BTreeMap::new();
        for i in self.order.iter().rev() {
            let own = match self.engine.parts[*i].root {
                true => 1.0,
                false => times.get(i).copied().unwrap_or(0.0),
            };
            for (callee, n) in self.known.get(i).into_iter().flat_map(|c| &c.calls) {
                *times.entry(*callee).or_default() += own * n;
            }
        }
        times
    }

    /// Which parts save more than what they call, and what each records at least.
    fn best_case(&self, gains: &BTreeMap<usize, Gain>) -> BestCase {
        let mut best = BestCase::default();
        // What is saved in a call of each part.
        let mut most: BTreeMap<usize, f64> = BTreeMap::new();
        for i in &self.order {
            let Some(cost) = self.known.get(i) else {
                continue;
            };
            let below = (cost.calls.iter()).map(|(c, n)| n * most.get(c).copied().unwrap_or(0.0));
            let below: f64 = below.sum();
            let own = gains.get(i).and_then(|g| g.saved).unwrap_or(0.0);
            if own > below {
                best.better.insert(*i);
            }
            most.insert(*i, own.max(below));
            best.least.insert(*i, cost.bytes - below);
        }
        best
    }

    /// Whether a part shall be joint that is what a number of time steps execute, as well as calls in it.
    fn is_step(
        &self,
        i: usize,
        steps: f64,
        gains: &BTreeMap<usize, Gain>,
        best: &BestCase,
    ) -> bool {
        let (Some(cost), Some(least), Some(gain)) =
            (self.known.get(&i), best.least.get(&i), gains.get(&i))
        else {
            return false;
        };
        // The tapes of all steps, if only calls in the steps are joint, only the steps, or both.
        let start = steps * gain.start;
        let (within, outside, both) = (steps * least, start + cost.bytes, start + least);
        let one = within.min(outside);
        one - both >= LEAST_OF_HEAD && one >= LEAST_OF_STEP * both
    }

    /// The parts to choose: from the heads down, each that saves more than what it calls.
    fn best(&self, gains: &BTreeMap<usize, Gain>) -> RepeatedCalls {
        let best = self.best_case(gains);
        let mut chosen = RepeatedCalls::default();
        let roots = self.order.iter().filter(|i| self.engine.parts[**i].root);
        let head = |i: &usize| Candidate {
            part: *i,
            steps: 1.0,
            is_all_of_step: false,
        };
        let mut open: Vec<Candidate> = roots.map(head).collect();
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        while let Some(Candidate {
            part,
            steps,
            is_all_of_step,
        }) = open.pop()
        {
            let Some(cost) = self.known.get(&part).filter(|_| seen.insert(part)) else {
                continue;
            };
            let is_step = is_all_of_step || steps > 1.0 && self.is_step(part, steps, gains, &best);
            if is_step && !is_all_of_step {
                chosen.steps.insert(part);
            } else if best.better.contains(&part) && !is_all_of_step {
                chosen.others.insert(part);
                continue;
            }
            for (callee, n) in &cost.calls {
                let bytes = self.known.get(callee).map_or(0.0, |c| c.bytes);
                let is_all = steps > 1.0 && *n == 1.0 && bytes >= ALL_OF_STEP * cost.bytes;
                open.push(Candidate {
                    part: *callee,
                    steps: match steps > 1.0 {
                        true if is_all => steps,
                        true => 0.0,
                        false => steps * n,
                    },
                    is_all_of_step: is_step && is_all,
                });
            }
        }
        chosen
    }
}

/// A part that may be chosen.
struct Candidate {
    part: usize,
    /// The number of time steps that it executes: of iterations of a loop in a head, or in what the head calls once. 0
    /// below a time step.
    steps: f64,
    /// Whether it is nearly all that a chosen time step does. Then it need not be joint itself.
    is_all_of_step: bool,
}

/// What is recorded if the best calls below each part are joint.
#[derive(Default)]
struct BestCase {
    /// The parts whose own calls save more.
    better: BTreeSet<usize>,
    /// The number of bytes that a call of each part records.
    least: BTreeMap<usize, f64>,
}

/// Adds up the cost of a unit.
struct CostWalk<'a> {
    unit: &'a Unit,
    constants: Constants<'a>,
    /// Arguments whose values are known.
    arguments: &'a BTreeMap<SymId, i64>,
    /// The arrays of tapes, with the sizes of their values.
    tapes: HashMap<SymId, f64>,
    assigned: crate::locations::Set,
    space: &'a crate::locations::Space,
    depth: usize,
    found: CallCost,
}

impl CostWalk<'_> {
    fn block(&mut self, costs: &mut CallCosts, block: &Block, times: f64) {
        for s in block {
            self.stmt(costs, s, times);
        }
    }

    fn stmt(&mut self, costs: &mut CallCosts, s: &Stmt, times: f64) {
        match &s.kind {
            StmtKind::Assign(target, _) => match target.base().and_then(|t| self.tapes.get(&t)) {
                Some(bytes) => self.found.bytes += times * bytes,
                None => self.found.statements += times,
            },
            StmtKind::Do(d) => {
                let trips = self.trips(&d.control);
                self.block(costs, &d.body, times * trips);
            }
            StmtKind::LogicalIf(_, inner) => self.stmt(costs, inner, times / 2.0),
            StmtKind::Call(callee, args) => {
                let name = &self.unit.symbols[*callee].name;
                let Some(part) = costs.called.get(name).copied() else {
                    self.found.statements += times;
                    return;
                };
                let known = self.known_arguments(costs.engine, part, args);
                let cost = costs.part(part, &known, self.depth + 1);
                self.found.statements += times * cost.statements;
                self.found.bytes += times * cost.bytes;
                self.found.has_fixed_point |= cost.has_fixed_point;
                *self.found.calls.entry(part).or_default() += times;
            }
            // All arms are equally likely, also that of a missing ELSE.
            StmtKind::If(_) | StmtKind::Select(_) => {
                let arms = s.blocks();
                let has_otherwise = match &s.kind {
                    StmtKind::If(b) => b.otherwise.is_some(),
                    StmtKind::Select(b) => b.cases.iter().any(|c| c.values.is_none()),
                    _ => false,
                };
                let share = times / (arms.len() + usize::from(!has_otherwise)) as f64;
                for b in arms {
                    self.block(costs, b, share);
                }
            }
            _ => s
                .blocks()
                .into_iter()
                .for_each(|b| self.block(costs, b, times)),
        }
    }

    fn value(&self, e: &Expr) -> Option<i64> {
        let known = self.constants.integer(e);
        known.or_else(|| self.arguments.get(&e.base()?).copied())
    }

    fn trips(&self, control: &DoControl) -> f64 {
        cost::trips(control, &|e| self.value(e)).unwrap_or(TRIPS)
    }

    /// The known values of the arguments of a forward sweep, which has none that are derivatives.
    fn known_arguments(
        &self,
        engine: &AdjointEngine,
        part: usize,
        args: &[Expr],
    ) -> BTreeMap<SymId, i64> {
        let callee = &engine.parts[part];
        let dummies = callee.builder.unit.args.iter().zip(&callee.derivative_args);
        let dummies = dummies.filter(|(_, d)| !**d).map(|(a, _)| a);
        let fixed = |e: &Expr| {
            e.base()
                .is_none_or(|s| !self.assigned.contains(self.space.loc(s)))
        };
        let values = dummies.zip(args);
        let values =
            values.filter_map(|(d, a)| Some((d.sym()?, self.value(a).filter(|_| fixed(a))?)));
        values.collect()
    }
}
