//! Finds evidence that a subprogram reads what an array has on entry, against comments that call the array an output
//! or a work array.
//!
//! It is no proof, for which there is [`full_assignment`](super::full_assignment): some path leads to a read, and sets no
//! element before. That such a path is possible is not proved, but paths that are obviously impossible do not count:
//! loops that set elements are taken to do so, and of two ways at a condition the one that does counts, unless the
//! condition depends only on arguments. Then it has the same value everywhere, which follows from arguments that are
//! constants in a call:
//!
//! ```text
//!       IF (PIVOT) IPVT(J) = J             IF (IOPT .EQ. 0) GO TO 50
//!       ...                                FP0 = WRK(N)
//!       IF (PIVOT) K = IPVT(KMAX)
//! ```
//!
//! What procedures without source do with the array is not known, and does not count.

use super::flows::Flows;
use super::full_assignment::{answer, mentions, touches};
use farfel_lang::effects::Assigned;
use farfel_lang::flow::FlowGraph;
use farfel_lang::ir::{
    BinOp, Class, Expr, ExprKind, Name, Program, Stmt, StmtKind, StorageClass, SymId, UnOp, Unit,
    walk_block,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::constant::integer;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Which array arguments of a program's units are read before they are set, as far as that was asked.
pub(super) struct EntryValues<'p> {
    program: &'p Program,
    assigned: &'p Assigned,
    flows: &'p Flows<'p>,
    /// The answers, by unit and position.
    needed: RefCell<HashMap<(Name, usize), bool>>,
}

/// What a statement does first with elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstUse {
    Read,
    Set,
}

/// The values of conditions along a path.
type Facts = BTreeMap<String, bool>;

/// The values of dummy arguments, if a call passes constants; 1 for true.
type Constants = HashMap<SymId, i64>;

/// How deep calls are followed with their constants.
const DEEPEST: u32 = 4;

/// How many combinations of statements and facts are looked at; beyond that, there is no evidence.
const MOST: usize = 20_000;

/// How many branches of a path are looked at.
const DEEPEST_BRANCH: u32 = 300;

impl<'p> EntryValues<'p> {
    pub(super) fn new(program: &'p Program, assigned: &'p Assigned, flows: &'p Flows<'p>) -> Self {
        EntryValues {
            program,
            assigned,
            flows,
            needed: RefCell::default(),
        }
    }

    /// Checks whether a unit reads an element of a dummy array on a path on which nothing has set any of its elements
    /// before.
    pub(super) fn are_read(&self, unit: &Unit, array: SymId) -> bool {
        answer(&self.needed, unit, array, &|| {
            self.are_read_with(unit, array, &Context::default())
        })
    }

    /// The same for a call with some constants.
    fn are_read_with(&self, unit: &Unit, array: SymId, context: &Context) -> bool {
        let flow = self.flows.of(unit);
        let uses: Vec<_> = flow.stmts.iter().map(|_| OnceCell::new()).collect();
        let mut walk = Walk {
            unit,
            flow: &flow,
            array,
            context,
            uses: &uses,
            within: None,
            known: HashMap::new(),
        };
        self.first_from(&mut walk, flow.entry, Facts::new(), 0) == Some(FirstUse::Read)
    }

    /// Returns what the paths from a node do first with elements of the array, within a range of nodes if one is given.
    fn first_from(
        &self,
        walk: &mut Walk,
        from: usize,
        facts: Facts,
        depth: u32,
    ) -> Option<FirstUse> {
        let mut at = from;
        let mut passed = Vec::new();
        let found = loop {
            let outside = walk.within.as_ref().is_some_and(|w| !w.contains(&at));
            if outside || depth > DEEPEST_BRANCH || walk.known.len() > MOST {
                break None;
            }
            let next = &walk.flow.successors[at];
            // Every loop has such a node.
            if next.len() != 1 || next[0] <= at {
                let key = (at, facts.clone());
                if let Some(known) = walk.known.get(&key) {
                    break *known;
                }
                // For loops that come back to here.
                walk.known.insert(key.clone(), None);
                passed.push(key);
            }
            if let Some(found) = self.use_at(walk, at) {
                break Some(found);
            }
            match next[..] {
                [] => break None,
                [next] => at = next,
                _ => break self.first_of_branches(walk, at, &facts, depth),
            }
        };
        for key in passed {
            walk.known.insert(key, found);
        }
        found
    }

    /// The same for a statement after which there are several ways.
    fn first_of_branches(
        &self,
        walk: &mut Walk,
        at: usize,
        facts: &Facts,
        depth: u32,
    ) -> Option<FirstUse> {
        let inside = at + 1..walk.flow.nodes_within(at).end;
        if let Some(StmtKind::Do(_)) = walk.flow.stmts.get(at).map(|s| &s.kind) {
            let (body, after): (Vec<usize>, Vec<usize>) = walk.flow.successors[at]
                .iter()
                .partition(|n| inside.contains(n));
            let sets = inside
                .clone()
                .any(|n| self.use_at(walk, n) == Some(FirstUse::Set));
            let mut within = Walk {
                within: Some(inside),
                known: HashMap::new(),
                ..*walk
            };
            let mut first = body
                .into_iter()
                .filter_map(|n| self.first_from(&mut within, n, facts.clone(), depth + 1));
            // A loop that sets elements is taken to do so.
            let in_body = first.next().or(sets.then_some(FirstUse::Set));
            let mut after = after.into_iter();
            return in_body.or_else(|| {
                after.find_map(|n| self.first_from(walk, n, facts.clone(), depth + 1))
            });
        }
        let branches = match walk.flow.stmts.get(at) {
            Some(_) => branches(walk.flow, at),
            None => Vec::new(),
        };
        let mut conditions = branches.iter().flat_map(|b| &b.assumed);
        let stable = !branches.is_empty() && conditions.all(|(e, _)| self.is_stable(walk.unit, e));
        let mut ways: Vec<(usize, Facts)> = Vec::new();
        if stable {
            for branch in branches {
                let mut facts = facts.clone();
                let constants = &walk.context.constants;
                let mut assumed = branch.assumed.iter();
                if assumed.all(|(e, value)| assume(walk.unit, e, *value, &mut facts, constants)) {
                    ways.push((branch.to, facts));
                }
            }
        } else {
            let next = walk.flow.successors[at].iter();
            ways.extend(next.map(|n| (*n, facts.clone())));
        }
        let first = ways
            .into_iter()
            .map(|(n, facts)| self.first_from(walk, n, facts, depth + 1));
        let first: Vec<FirstUse> = first.flatten().collect();
        // Where the condition depends on more than arguments, the way that sets elements may be the only one.
        let decides = if stable {
            FirstUse::Read
        } else {
            FirstUse::Set
        };
        first
            .iter()
            .find(|f| **f == decides)
            .or(first.first())
            .copied()
    }

    /// Checks whether the value of a condition depends only on arguments that nothing assigns.
    fn is_stable(&self, unit: &Unit, condition: &Expr) -> bool {
        let mut stable = true;
        condition.for_each_symbol(&mut |s| {
            let symbol = &unit.symbols[s];
            stable &= match unit.arg_position(s) {
                Some(position) => {
                    !symbol.is_array() && !self.assigned.argument(&unit.name, position)
                }
                None => matches!(symbol.class, Class::Parameter(_) | Class::Intrinsic(_)),
            };
        });
        stable
    }

    /// Returns what the statement at a node does first with elements of the array.
    fn use_at(&self, walk: &Walk, node: usize) -> Option<FirstUse> {
        let stmt = walk.flow.stmts.get(node)?;
        let find = || self.first_use(walk.unit, stmt, walk.array, walk.context);
        *walk.uses[node].get_or_init(find)
    }

    /// Returns what a statement itself does first with elements of an array: it reads some, or it may set some.
    fn first_use(
        &self,
        unit: &Unit,
        stmt: &Stmt,
        array: SymId,
        context: &Context,
    ) -> Option<FirstUse> {
        if !touches(stmt, array) {
            return None;
        }
        match &stmt.kind {
            StmtKind::Assign(to, value) => {
                let subscript = match &to.kind {
                    ExprKind::Element(_, subscripts) => subscripts
                        .iter()
                        .find_map(|e| self.read_by(unit, e, array, context)),
                    _ => None,
                };
                let sets = (to.base() == Some(array)).then_some(FirstUse::Set);
                self.read_by(unit, value, array, context)
                    .or(subscript)
                    .or(sets)
            }
            StmtKind::Call(callee, args) => self.passed(unit, *callee, args, array, context),
            // Other statements than these may set it.
            StmtKind::LogicalIf(..)
            | StmtKind::If(_)
            | StmtKind::Select(_)
            | StmtKind::ArithmeticIf(..)
            | StmtKind::ComputedGoto(..)
            | StmtKind::Do(_) => {
                let mut found = None;
                stmt.for_each_own_expr(&mut |e| {
                    found = found.take().or(self.read_by(unit, e, array, context));
                });
                found
            }
            _ => Some(FirstUse::Set),
        }
    }

    /// Returns what the value of an expression does with elements of an array.
    fn read_by(&self, unit: &Unit, e: &Expr, array: SymId, context: &Context) -> Option<FirstUse> {
        match &e.kind {
            ExprKind::Var(s) if *s == array => Some(FirstUse::Read),
            ExprKind::Element(s, subscripts) => {
                let inner = subscripts
                    .iter()
                    .find_map(|e| self.read_by(unit, e, array, context));
                inner.or((*s == array).then_some(FirstUse::Read))
            }
            ExprKind::Call(callee, args)
                if !matches!(unit.symbols[*callee].class, Class::Intrinsic(_)) =>
            {
                self.passed(unit, *callee, args, array, context)
            }
            // Those that ask for a size read nothing.
            ExprKind::Call(_, args) => {
                let whole = |a: &&Expr| a.kind != ExprKind::Var(array);
                args.iter()
                    .filter(whole)
                    .find_map(|a| self.read_by(unit, a, array, context))
            }
            ExprKind::Unary(_, e) | ExprKind::Paren(e) => self.read_by(unit, e, array, context),
            ExprKind::Binary(_, a, b) => {
                let first = self.read_by(unit, a, array, context);
                first.or_else(|| self.read_by(unit, b, array, context))
            }
            _ => mentions(e, array).then_some(FirstUse::Read),
        }
    }

    /// Returns what a procedure does with an array that it gets.
    fn passed(
        &self,
        unit: &Unit,
        callee: SymId,
        args: &[Expr],
        array: SymId,
        context: &Context,
    ) -> Option<FirstUse> {
        let target = &unit.symbols[callee];
        let called = match target.storage_class {
            StorageClass::Global => self.program.unit(&target.name),
            _ => None,
        };
        let called = called.filter(|c| c.args.len() == args.len());
        let mut found = None;
        for (position, actual) in args.iter().enumerate().filter(|(_, a)| mentions(a, array)) {
            let piece = match &actual.kind {
                ExprKind::Var(s) => *s == array,
                ExprKind::Element(s, subscripts) => {
                    *s == array && !subscripts.iter().any(|e| mentions(e, array))
                }
                _ => false,
            };
            if !piece {
                found = found.or(self.read_by(unit, actual, array, context));
                continue;
            }
            let dummy = called.and_then(|c| Some((c, c.args[position].sym()?)));
            match dummy {
                Some((called, dummy)) if called.symbols[dummy].is_array() => {
                    if self.are_read(called, dummy) {
                        let inner = self.inner(unit, called, args, context);
                        let known = inner.filter(|c| !c.constants.is_empty());
                        if known.is_none_or(|c| self.are_read_with(called, dummy, &c)) {
                            return Some(FirstUse::Read);
                        }
                    }
                    if self.assigned.argument(&called.name, position) {
                        found = Some(FirstUse::Set);
                    }
                }
                _ => found = Some(FirstUse::Set),
            }
        }
        found
    }
}

/// A walk along the paths of a unit.
struct Walk<'w, 'f> {
    unit: &'w Unit,
    flow: &'w FlowGraph<'f>,
    array: SymId,
    context: &'w Context,
    /// What the statements themselves do, as far as that was asked.
    uses: &'w [OnceCell<Option<FirstUse>>],
    /// The nodes to look at, if not all.
    within: Option<Range<usize>>,
    /// What was found from a node on, given facts.
    known: HashMap<(usize, Facts), Option<FirstUse>>,
}

/// What is known about a call.
#[derive(Debug, Default)]
struct Context {
    constants: Constants,
    depth: u32,
}

impl EntryValues<'_> {
    /// Returns what is known about a call within a call; nothing if calls are too deep.
    fn inner(
        &self,
        unit: &Unit,
        called: &Unit,
        args: &[Expr],
        context: &Context,
    ) -> Option<Context> {
        let passed = called.args.iter().zip(args);
        let constants = passed.filter_map(|(dummy, actual)| {
            Some((
                dummy.sym()?,
                self.constant(unit, actual, &context.constants)?,
            ))
        });
        (context.depth < DEEPEST).then(|| Context {
            constants: constants.collect(),
            depth: context.depth + 1,
        })
    }

    /// Returns the value of an expression: of a constant, or of a variable that is assigned only one.
    fn constant(&self, unit: &Unit, e: &Expr, constants: &Constants) -> Option<i64> {
        let ExprKind::Var(s) = e.kind else {
            return value(unit, e, constants);
        };
        if let Some(known) = value(unit, e, constants) {
            return Some(known);
        }
        let symbol = &unit.symbols[s];
        if !symbol.is_variable()
            || symbol.is_array()
            || symbol.storage_class != StorageClass::Local
            || symbol.saved
        {
            return None;
        }
        let (mut values, mut only) = (Vec::new(), true);
        walk_block(&unit.body, &mut |stmt| match &stmt.kind {
            StmtKind::Assign(to, new) if to.base() == Some(s) => {
                values.push(value(unit, new, constants))
            }
            StmtKind::Call(callee, args) => {
                for (position, _) in args
                    .iter()
                    .enumerate()
                    .filter(|(_, a)| a.kind == ExprKind::Var(s))
                {
                    let target = &unit.symbols[*callee];
                    only &= target.storage_class == StorageClass::Global
                        && self.program.unit(&target.name).is_some()
                        && !self.assigned.argument(&target.name, position);
                }
            }
            StmtKind::Io(_) | StmtKind::Do(_) => only &= !touches(stmt, s),
            _ => {}
        });
        match values[..] {
            [Some(value)] if only => Some(value),
            _ => None,
        }
    }
}

/// Returns the value of a constant or of an argument that is one.
fn value(unit: &Unit, e: &Expr, constants: &Constants) -> Option<i64> {
    match &e.kind {
        ExprKind::Logical(is) => Some(i64::from(*is)),
        ExprKind::Paren(e) => value(unit, e, constants),
        ExprKind::Var(s) if constants.contains_key(s) => constants.get(s).copied(),
        _ => integer(unit, e),
    }
}

/// A way that a path can take at an IF.
struct Branch<'f> {
    to: usize,
    /// Conditions and their values.
    assumed: Vec<(&'f Expr, bool)>,
}

/// Returns the ways at an IF; none for other statements.
fn branches<'f>(flow: &FlowGraph<'f>, at: usize) -> Vec<Branch<'f>> {
    let next = flow.successors[at].iter().copied();
    match &flow.stmts[at].kind {
        StmtKind::LogicalIf(condition, _) => next
            .map(|to| Branch {
                to,
                assumed: vec![(condition, to == at + 1)],
            })
            .collect(),
        StmtKind::If(block) => {
            let mut start = at + 1;
            let mut arms: Vec<Range<usize>> = Vec::new();
            for (_, body) in &block.arms {
                let from = start;
                for _ in body {
                    start = flow.nodes_within(start).end;
                }
                arms.push(from..start);
            }
            let conditions = || block.arms.iter().map(|(condition, _)| condition);
            // A successor outside of all arms may be that of an empty one.
            let exact = arms.iter().all(|a| !a.is_empty());
            next.map(|to| {
                let arm = arms.iter().position(|a| a.contains(&to));
                let before = arm.unwrap_or(arms.len());
                let mut assumed: Vec<(&Expr, bool)> =
                    conditions().take(before).map(|c| (c, false)).collect();
                assumed.extend(arm.and_then(|arm| Some((conditions().nth(arm)?, true))));
                if arm.is_none() && !exact {
                    assumed.clear();
                }
                Branch { to, assumed }
            })
            .collect()
        }
        _ => Vec::new(),
    }
}

/// Notes the value of a condition, and returns whether it agrees with what is known.
fn assume(
    unit: &Unit,
    condition: &Expr,
    value: bool,
    facts: &mut Facts,
    constants: &Constants,
) -> bool {
    if let Some(known) = truth(unit, condition, constants) {
        return known == value;
    }
    let (text, value) = match &condition.kind {
        ExprKind::Paren(e) => return assume(unit, e, value, facts, constants),
        ExprKind::Unary(UnOp::Not, e) => return assume(unit, e, !value, facts, constants),
        ExprKind::Binary(BinOp::And, a, b) if value => {
            return assume(unit, a, true, facts, constants)
                && assume(unit, b, true, facts, constants);
        }
        ExprKind::Binary(BinOp::Or, a, b) if !value => {
            return assume(unit, a, false, facts, constants)
                && assume(unit, b, false, facts, constants);
        }
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (print_expr(unit, a), print_expr(unit, b));
            match op {
                BinOp::Lt => (format!("{a} >= {b}"), !value),
                BinOp::Ge => (format!("{a} >= {b}"), value),
                BinOp::Gt => (format!("{a} <= {b}"), !value),
                BinOp::Le => (format!("{a} <= {b}"), value),
                BinOp::Ne => (format!("{a} == {b}"), !value),
                BinOp::Eq => (format!("{a} == {b}"), value),
                _ => (print_expr(unit, condition), value),
            }
        }
        _ => (print_expr(unit, condition), value),
    };
    *facts.entry(text).or_insert(value) == value
}

/// Returns the value of a condition that follows from constants.
fn truth(unit: &Unit, condition: &Expr, constants: &Constants) -> Option<bool> {
    match &condition.kind {
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (value(unit, a, constants)?, value(unit, b, constants)?);
            Some(match op {
                BinOp::Lt => a < b,
                BinOp::Le => a <= b,
                BinOp::Eq => a == b,
                BinOp::Ne => a != b,
                BinOp::Gt => a > b,
                BinOp::Ge => a >= b,
                _ => return None,
            })
        }
        ExprKind::Var(_) | ExprKind::Logical(_) => {
            value(unit, condition, constants).map(|v| v != 0)
        }
        _ => None,
    }
}
