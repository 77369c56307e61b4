//! Activity analysis of one unit in one context: which derivatives must be computed where.
//!
//! Two dataflow problems over the control flow graph:
//!
//! 1. **varied**, forward: at each statement, the variables that depend on the independents.
//!    The derivatives of all others are known to be zero.
//! 2. **live**, backward: at each statement, the variables whose *derivatives* are read later. A
//!    derivative is read where a varied variable contributes to the value of something whose own
//!    derivative is live.
//!
//! A derivative statement is needed where a varied value is assigned to a variable whose derivative
//! is live. A live derivative is set to zero where the variable is assigned a value that is not
//! varied; derivatives that are live on entry without belonging to an independent must be zeroed
//! there. The invariant of generated code: *wherever a derivative is live, it is correct.*

use crate::calls::{CallSite, calls};
use crate::depend::{Dependence, Moves, apply_varied};
use crate::flow::FlowGraph;
use crate::locations::Context;
use crate::locations::{Set, Space, differentiable};
use farfel_lang::ir::{Class, Expr, ExprKind, Stmt, StmtKind, StorageClass, SymId, Unit};
use farfel_lang::solve::{Graph, backward, forward};

/// What is varied, and whose derivatives are live, in one unit and context.
#[derive(Debug)]
pub struct Activity {
    /// For each node, the locations that are varied before it.
    pub varied: Vec<Set>,
    /// For each node, the locations whose derivatives are live after it.
    pub live: Vec<Set>,
    /// The locations whose derivatives are live on entry.
    pub live_on_entry: Set,
    /// The locations that are varied somewhere.
    pub ever_varied: Set,
    /// The locations whose derivatives one call leaves to the next: saved, varied at the end, and
    /// read before they are set. The derivatives of all other saved variables are zero on entry.
    pub kept: Set,
}

/// Whether an assignment pops a value from a tape. Its derivative is popped along with it, whether
/// or not it is used.
pub(crate) fn is_pop(unit: &Unit, value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Element(s, _) if unit.symbols[s].tape)
}

/// Returns the name under which the context of a dummy procedure is registered.
pub fn dummy_key(unit: &str, dummy: &str) -> String {
    format!("{unit}({dummy})")
}

/// The input of an activity analysis.
pub struct Problem<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// Its locations.
    pub space: &'a Space,
    /// Its control flow.
    pub flow: &'a FlowGraph<'a>,
    /// The dependence summaries of its callees.
    pub dependence: &'a Dependence,
    /// Maps the context that a call needs to the one that it gets.
    pub admit: &'a dyn Fn(&str, Context) -> Context,
    /// Whether to assume that a procedure without source uses and assigns all its arguments, and
    /// that the user supplies its derivative.
    pub assume: bool,
}

/// The context of a call of an active procedure.
#[derive(Debug, Clone)]
pub enum Site {
    /// The source of the procedure is available, or its derivative is supplied.
    Known(Context),
    /// The source is not available, and derivatives would have to propagate through it.
    Unknown,
}

impl<'a> Problem<'a> {
    /// Solves the analysis for sets of independent and dependent locations.
    pub fn solve(&self, independents: &Set, dependents: &Set) -> Activity {
        let moves = self.dependence.moves_of(self.unit, self.space, self.flow);

        let mut entry = independents.clone();
        let varied = loop {
            let varied = self.varied(&entry, &moves);
            let mut kept = varied[self.flow.exit].clone();
            kept.intersect_with(&self.space.saved);
            if kept.is_subset(&entry) {
                break varied;
            }
            entry.union_with(&kept);
        };
        let mut ever_varied = Set::with_capacity(self.space.len);
        varied.iter().for_each(|v| ever_varied.union_with(v));

        let mut exit = dependents.clone();
        let live = loop {
            let live = self.live(&exit, &varied, &moves);
            let entry = self.flow.entry;
            let mut kept = self.before(entry, &varied, &moves, &live[entry]);
            kept.intersect_with(&self.space.saved);
            if kept.is_subset(&exit) {
                break live;
            }
            exit.union_with(&kept);
        };
        let live_on_entry = live[self.flow.entry].clone();
        let mut kept = varied[self.flow.exit].clone();
        kept.intersect_with(&self.space.saved);
        kept.intersect_with(&live_on_entry);
        Activity {
            varied,
            live,
            live_on_entry,
            ever_varied,
            kept,
        }
    }

    fn varied(&self, entry: &Set, moves: &[Vec<Moves>]) -> Vec<Set> {
        let found = forward(
            &Graph::of(self.flow),
            self.flow.entry,
            entry.clone(),
            &mut |i, varied: &mut Set| {
                let groups = moves.get(i).into_iter().flatten();
                groups.for_each(|m| apply_varied(varied, &m.group));
            },
        );
        // Nothing is varied in unreachable code.
        let nothing = || Set::with_capacity(self.space.len);
        let found = found.into_iter();
        found.map(|v| v.unwrap_or_else(nothing)).collect()
    }

    fn live(&self, exit: &Set, varied: &[Set], moves: &[Vec<Moves>]) -> Vec<Set> {
        backward(
            &Graph::of(self.flow),
            self.flow.exit,
            exit.clone(),
            &Set::with_capacity(self.space.len),
            &mut |i, live: &mut Set| *live = self.before(i, varied, moves, live),
        )
    }

    /// Returns what is varied during the execution of a statement: before it, or after calls in it.
    pub fn varied_within(&self, before: &Set, moves: &[Moves]) -> Set {
        let mut within = before.clone();
        if moves.len() > 1 {
            for m in &moves[..moves.len() - 1] {
                let mut after = within.clone();
                apply_varied(&mut after, &m.group);
                within.union_with(&after);
            }
        }
        within
    }

    /// Returns the derivatives that are live during the execution of a statement: after it, or
    /// after one of the calls in it.
    pub fn live_within(&self, node: usize, activity: &Activity, moves: &[Moves]) -> Set {
        let after = &activity.live[node];
        let Some(stmt) = self.flow.stmts.get(node) else {
            return after.clone();
        };
        let mut within = after.clone();
        let varied = self.varied_within(&activity.varied[node], moves);
        self.before_statement(stmt, &varied, moves, after, &mut |live| {
            within.union_with(live);
        });
        within
    }

    /// Returns the live derivatives before a node, given those after it.
    fn before(&self, i: usize, varied: &[Set], moves: &[Vec<Moves>], live: &Set) -> Set {
        let Some(stmt) = self.flow.stmts.get(i) else {
            return live.clone();
        };
        let varied = self.varied_within(&varied[i], &moves[i]);
        self.before_statement(stmt, &varied, &moves[i], live, &mut |_| {})
    }

    /// Returns the live derivatives before a statement, given those after it; `after_call` is
    /// called with those after each call in it, last call first.
    fn before_statement(
        &self,
        stmt: &Stmt,
        varied: &Set,
        moves: &[Moves],
        live: &Set,
        after_call: &mut dyn FnMut(&Set),
    ) -> Set {
        let mut out = live.clone();
        let mut wanted = false;
        let pop = matches!(&stmt.kind, StmtKind::Assign(_, value) if is_pop(self.unit, value));
        for m in moves.iter().rev().filter(|m| m.own) {
            for m in &m.group {
                let live = out.contains(m.target);
                if m.strong {
                    out.remove(m.target);
                }
                if live || pop {
                    let mut from = m.from.clone();
                    from.intersect_with(varied);
                    wanted |= !from.is_clear();
                    out.union_with(&from);
                }
            }
        }
        for (call, certain) in calls(self.unit, stmt).into_iter().rev() {
            after_call(&out);
            let Some(Site::Known(c)) = self.site(call, varied, &out, wanted) else {
                continue;
            };
            let known = self.dependence.callee(self.unit, call.callee);
            let args = known.map_or(call.args.len(), |callee| callee.args);
            // Another call of a procedure without source may pass more arguments.
            let common = |slot: usize| {
                let number = slot.checked_sub(args + 1).filter(|_| known.is_some())?;
                Some(self.space.common(number))
            };
            for o in c.outputs.ones() {
                if c.inputs.contains(o) || !certain {
                    continue;
                }
                if o < args {
                    if let Some(ExprKind::Var(s)) = call.args.get(o).map(|a| &a.kind) {
                        let loc = self.space.loc(*s);
                        if !self.space.weak.contains(loc) {
                            out.remove(loc);
                        }
                    }
                } else if let Some(loc) = common(o)
                    && !self.space.weak.contains(loc)
                {
                    out.remove(loc);
                }
            }
            for x in c.inputs.ones() {
                if x < args {
                    let Some(a) = call.args.get(x) else { continue };
                    let mut from = Set::with_capacity(self.space.len);
                    self.dependence
                        .argument(self.unit, self.space, call, x, &mut from);
                    if matches!(a.kind, ExprKind::Var(_) | ExprKind::Element(..)) {
                        // Passed with its derivative, whether or not it is varied.
                        out.union_with(&from);
                    } else {
                        from.intersect_with(varied);
                        out.union_with(&from);
                        // This includes the results of functions in it.
                        wanted |= !from.is_clear();
                    }
                } else {
                    out.extend(common(x));
                }
            }
        }
        out
    }

    /// Returns the context of a call, given what is varied before it and live after it. `wanted`:
    /// whether the derivative of a function's result is used. `None` if the call is passive.
    pub fn site(&self, call: CallSite, varied: &Set, live: &Set, wanted: bool) -> Option<Site> {
        let unit = self.unit;
        let actual_varied = |i: usize| {
            let mut from = Set::with_capacity(self.space.len);
            self.dependence
                .argument(unit, self.space, call, i, &mut from);
            !from.is_disjoint(varied)
        };
        let actual_live = |i: usize| {
            call.args.get(i).is_some_and(|a| match &a.kind {
                ExprKind::Var(s) | ExprKind::Element(s, _) => {
                    differentiable(&unit.symbols[*s]) && live.contains(self.space.loc(*s))
                }
                _ => false,
            })
        };
        if self
            .dependence
            .rule(unit, call.callee)
            .is_some_and(|r| r.constant)
        {
            return None;
        }
        let Some(callee) = self.dependence.callee(unit, call.callee) else {
            let n = call.args.len();
            let result = wanted
                && unit.symbols[call.callee]
                    .ty
                    .is_some_and(|t| t.is_differentiable())
                && unit.symbols[call.callee].class != Class::Subroutine;
            let described = self.dependence.described(unit, call.callee);
            let actual_varied = |i: usize| described.reads(i) && actual_varied(i);
            let actual_live = |i: usize| described.writes(i) && actual_live(i);
            let any_in = (0..n).any(actual_varied);
            if !any_in || !result && !(0..n).any(actual_live) {
                return None;
            }
            if !self.assume {
                return Some(Site::Unknown);
            }
            let mut set = Set::with_capacity(n + 1);
            set.extend((0..n).filter(|i| actual_varied(*i) || actual_live(*i)));
            set.set(n, result);
            let mut inputs = set.clone();
            inputs.set(n, false);
            let callee = &unit.symbols[call.callee];
            let name = match callee.storage_class {
                StorageClass::Dummy => dummy_key(&unit.name, &callee.name),
                _ => callee.name.to_string(),
            };
            return Some(Site::Known((self.admit)(
                &name,
                Context {
                    inputs,
                    outputs: set,
                },
            )));
        };
        let slots = callee.depends.slots();
        let mut varied_in = Set::with_capacity(slots);
        let mut useful = Set::with_capacity(slots);
        for i in 0..callee.args {
            varied_in.set(i, actual_varied(i));
            useful.set(i, callee.assigned.contains(i) && actual_live(i));
        }
        useful.set(callee.args, wanted);
        for i in callee.args + 1..slots {
            let loc = self.space.common(i - callee.args - 1);
            varied_in.set(i, varied.contains(loc));
            useful.set(i, callee.assigned.contains(i) && live.contains(loc));
        }
        let tape = |i: usize| {
            call.args
                .get(i)
                .and_then(Expr::base)
                .is_some_and(|s| unit.symbols[s].tape)
        };
        // Derivatives that propagate through an array have to be stored somewhere, and for some
        // arrays only the caller knows the size. Pushed values propagate through their tape,
        // whether or not they are used.
        let varies = |o: usize| callee.depends.meets(o, &varied_in);
        let pushed = |i: &usize| tape(*i) && callee.assigned.contains(*i) && varies(*i);
        useful.extend((0..callee.args).filter(pushed));
        let wanted: Vec<usize> = useful.ones().filter(|o| varies(*o)).collect();
        for o in wanted {
            let through = callee.through.get(o).into_iter().flat_map(Set::ones);
            useful.extend(through.filter(|i| varies(*i)));
        }
        let mut c = Context {
            inputs: Set::with_capacity(slots),
            outputs: Set::with_capacity(slots),
        };
        for o in useful.ones() {
            if varied_in.contains(o) && o != callee.args
                || callee.depends.meets(o, &varied_in)
                || tape(o)
            {
                c.outputs.insert(o);
                let mut from = callee.depends.of(o).into_owned();
                from.intersect_with(&varied_in);
                c.inputs.union_with(&from);
                if callee.arrays.contains(o) {
                    // An assignment changes a part of it; the rest must be correct already.
                    c.inputs.insert(o);
                }
            }
        }
        let callee = &unit.symbols[call.callee];
        if c.outputs.is_clear()
            && !(callee.class == Class::Subroutine
                && self.dependence.self_restoring.contains(&callee.name))
        {
            return None;
        }
        Some(Site::Known((self.admit)(&callee.name, c)))
    }

    /// Returns a variable whose derivative is both varied and live, at a location that is shared in
    /// such a way that there is no storage for derivatives, and a description of the problem.
    /// `several`: in vector mode.
    ///
    /// `kept`: in reverse mode, which restores the values of whole blocks.
    pub fn refused(
        &self,
        activity: &Activity,
        several: bool,
        kept: bool,
    ) -> Option<(SymId, &'static str)> {
        let live = |loc: usize| {
            activity.live.iter().any(|l| l.contains(loc)) && activity.ever_varied.contains(loc)
        };
        let space = self.space;
        let way = |loc: usize| {
            let (uneven, unfit) = (space.uneven.contains(loc), space.unfit.contains(loc));
            match () {
                () if space.tangled.contains(loc) && space.saved.contains(loc) => {
                    Some("in an EQUIVALENCE with SAVE")
                }
                () if unfit && (kept || uneven) => Some(
                    "in a COMMON block that program units divide differently, with CHARACTER members or a size that they do not agree on",
                ),
                () if uneven && several => Some(
                    "shares it with numbers of another type, or that begin elsewhere, as several directions cannot",
                ),
                () => None,
            }
        };
        let symbols = self.unit.symbols.iter();
        let mut numbers = symbols.filter(|(_, s)| differentiable(s));
        numbers.find_map(|(id, _)| {
            let loc = space.loc(id);
            let way = way(loc).filter(|_| live(loc))?;
            Some((id, way))
        })
    }
}
