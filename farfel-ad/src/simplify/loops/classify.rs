//! Classifies loops: those that go through arrays side by side, and those that add up sums.

use super::counted::{Access, AccessAnalyser, CountedLoop, counted, same_place, same_text};
use super::dependence::{are_distinct, independent};
use farfel_lang::ir::{
    BinOp, Class, DoEnd, Expr, ExprKind, Stmt, StmtKind, StorageClass, SymId, Type, Unit,
    walk_block, walk_exprs,
};
use farfel_lang::storage::{UnitStorage, constant};
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// Loops that are known to have fewer iterations than this are left alone.
const FEWEST: i64 = 16;

/// Loops with more operations than this are left alone: a single iteration has enough operations to run in
/// parallel, and the text would become long.
const MOST_OPERATIONS: usize = 60;

/// Intrinsic functions for which processors have instructions.
const CHEAP: [&str; 12] = [
    "ABS", "DABS", "SIGN", "DSIGN", "SQRT", "DSQRT", "DBLE", "REAL", "MAX", "MIN", "DMAX1", "DMIN1",
];

/// What can be done for a loop.
pub(super) struct LoopClass {
    /// The loop counts down, and can count up instead.
    pub can_count_up: bool,
    pub kind: LoopKind,
}

pub(super) enum LoopKind {
    /// Every statement assigns consecutive elements.
    Streams,
    /// There are sums of derivatives as well.
    Sums(Sums),
    /// The body contains several iterations already, so that it adds to each sum more than once.
    Unrolled(Sums),
}

/// The sums of a loop.
pub(super) struct Sums {
    /// For each statement of the body that adds to a derivative: its index, and what it adds to.
    pub targets: Vec<(usize, Expr)>,
    /// There are sums of the program itself as well.
    pub ordered: bool,
}

impl Sums {
    fn are_unrolled(&self) -> bool {
        let twice = |(i, (_, t)): (usize, &(usize, Expr))| {
            let mut others = self.targets.iter().enumerate();
            others.any(|(j, (_, u))| i != j && same_place(t, u))
        };
        self.targets.iter().enumerate().all(twice)
    }
}

/// The variables that are only assigned remainders of small divisors: `M = MOD(N, 4)` is the number of
/// iterations of the loop that does what an unrolled loop leaves over.
pub(super) fn remainders(unit: &Unit, body: &[Stmt]) -> HashSet<SymId> {
    let mut found = HashSet::new();
    let mut others = HashSet::new();
    walk_block(body, &mut |s| {
        let StmtKind::Assign(target, value) = &s.kind else {
            s.for_each_own_symbol(&mut |x| {
                others.insert(x);
            });
            if matches!(s.kind, StmtKind::Call(..) | StmtKind::Io(_)) {
                s.for_each_own_expr(&mut |e| others.extend(e.base()));
            }
            return;
        };
        let ExprKind::Var(target) = target.kind else {
            return;
        };
        let small = match &value.kind {
            ExprKind::Call(f, args) => {
                let f = &unit.symbols[*f];
                let by = args.get(1).and_then(|k| constant::integer(unit, k));
                matches!(f.class, Class::Intrinsic(_))
                    && f.name == "MOD"
                    && by.is_some_and(|k| k.abs() <= FEWEST)
            }
            _ => false,
        };
        match small {
            true => found.insert(target),
            false => others.insert(target),
        };
    });
    found.retain(|s| unit.symbols[*s].storage_class == StorageClass::Local && !others.contains(s));
    found
}

/// Whether the first value is `to + n*step`, so that the last one is exactly `to`.
fn ends_evenly(unit: &Unit, l: &CountedLoop) -> bool {
    let ExprKind::Binary(BinOp::Add, to, way) = &l.from.kind else {
        return false;
    };
    let ExprKind::Binary(BinOp::Mul, _, step) = &way.kind else {
        return false;
    };
    let step = constant::integer(unit, step);
    same_text(to, l.to) && step.is_some_and(|s| s != 0 && l.step % s == 0)
}

/// Whether a statement can follow the loop directly: it ends with an END DO of its own.
fn ends_apart(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Do(d) => d.end == DoEnd::EndDo(None),
        _ => false,
    }
}

/// Returns what can be done for a loop. `pure_counters` are the variables whose values are not used
/// outside of loops, `small_remainders` those that hold small numbers.
pub(super) fn classify(
    unit: &Unit,
    derivatives: &HashSet<SymId>,
    storage: &UnitStorage,
    pure_counters: &HashSet<SymId>,
    small_remainders: &HashSet<SymId>,
    stmt: &Stmt,
) -> Option<LoopClass> {
    let mut l = counted(unit, stmt)?;
    let can_count_up = l.step == -1 || l.step < -1 && ends_evenly(unit, &l);
    if can_count_up {
        (l.from, l.to, l.step) = (l.to, l.from, -l.step);
    }
    let analyser = AccessAnalyser {
        unit,
        storage,
        var: l.var,
    };
    let rest = matches!(l.to.kind, ExprKind::Var(s) if small_remainders.contains(&s))
        && constant::integer(unit, l.from).is_some_and(|n| n > 0);
    let short = rest || !can_count_up && analyser.is_short(&l);
    if l.step < 1 || stmt.label.is_some() || !analyser.is_plain(l.var) || short {
        return None;
    }
    let sums = analyser.sums(derivatives, &l)?;
    if can_count_up {
        let free = pure_counters.contains(&l.var) && !sums.ordered;
        if !free || !independent(&analyser, &l, &sums.targets) {
            return None;
        }
    }
    let kind = if sums.targets.is_empty() && !sums.ordered {
        LoopKind::Streams
    } else {
        let separate = |(_, t): &(usize, Expr)| analyser.is_separate(&l, t);
        if sums.targets.is_empty() || !sums.targets.iter().all(separate) {
            return None;
        }
        let divides = l.step == 1 && analyser.is_steady(l.to) && !analyser.is_short(&l);
        match divides {
            true => LoopKind::Sums(sums),
            false if sums.are_unrolled() && ends_apart(stmt) => LoopKind::Unrolled(sums),
            false => return None,
        }
    };
    Some(LoopClass { can_count_up, kind })
}

impl AccessAnalyser<'_> {
    /// Returns the sums of a loop, if it does nothing but add up and go through arrays, and does so for derivatives.
    fn sums(&self, derivatives: &HashSet<SymId>, l: &CountedLoop) -> Option<Sums> {
        let mut sums = Sums {
            targets: Vec::new(),
            ordered: false,
        };
        let mut derived = false;
        let mut operations = 0;
        for (i, s) in l.body.iter().enumerate() {
            let (target, value) = match &s.kind {
                StmtKind::Comment(_) => continue,
                StmtKind::Continue if i + 1 == l.body.len() => continue,
                StmtKind::Assign(target, value) if s.label.is_none() => (target, value),
                _ => return None,
            };
            let base = target.base()?;
            if !matches!(type_of(self.unit, target), Some(Type::Real(_))) || !self.is_cheap(value) {
                return None;
            }
            value.walk(&mut |e| operations += usize::from(matches!(e.kind, ExprKind::Binary(..))));
            let derivative = derivatives.contains(&base);
            // Values that are recorded for derivatives count, too.
            derived |= derivative || self.unit.symbols[base].tape;
            match self.access(target)? {
                Access::Stream => {}
                Access::Fixed if !adds_to(target, value) => return None,
                Access::Fixed if derivative => sums.targets.push((i, target.clone())),
                Access::Fixed => sums.ordered = true,
            }
        }
        (derived && operations <= MOST_OPERATIONS).then_some(sums)
    }

    fn is_short(&self, l: &CountedLoop) -> bool {
        let value = |e| constant::integer(self.unit, e);
        let (Some(from), Some(to)) = (value(l.from), value(l.to)) else {
            return false;
        };
        to.saturating_sub(from) / l.step < FEWEST
    }

    /// Whether an expression is arithmetic on scalars and on consecutive elements.
    fn is_cheap(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Real(_) => true,
            ExprKind::Var(s) => {
                let symbol = &self.unit.symbols[*s];
                !symbol.is_array() && matches!(symbol.class, Class::Variable | Class::Parameter(_))
            }
            ExprKind::Element(..) => self.access(e).is_some(),
            ExprKind::Paren(a) | ExprKind::Unary(_, a) => self.is_cheap(a),
            ExprKind::Binary(BinOp::Pow, a, b) => {
                matches!(b.kind, ExprKind::Int(0..=4)) && self.is_cheap(a)
            }
            ExprKind::Binary(op, a, b) => {
                op.is_arithmetic() && self.is_cheap(a) && self.is_cheap(b)
            }
            ExprKind::Call(f, args) => {
                let f = &self.unit.symbols[*f];
                matches!(f.class, Class::Intrinsic(_))
                    && CHEAP.contains(&f.name.as_str())
                    && args.iter().all(|a| self.is_cheap(a))
            }
            _ => false,
        }
    }

    /// Whether nothing in the loop reads or assigns a sum except the statements that add to it.
    fn is_separate(&self, l: &CountedLoop, sum: &Expr) -> bool {
        let Some(base) = sum.base() else {
            return false;
        };
        if let ExprKind::Element(_, subscripts) = &sum.kind
            && !subscripts.iter().all(|s| self.is_steady(s))
        {
            return false;
        }
        let (mut adds, mut mentions) = (0, 0);
        let mut separate = self.storage.is_own(base);
        for s in l.body {
            if let StmtKind::Assign(target, _) = &s.kind {
                adds += usize::from(same_place(target, sum));
            }
        }
        walk_exprs(l.body, &mut |e| {
            if same_place(e, sum) {
                mentions += 1;
            } else if e.base() == Some(base) {
                separate &= are_distinct(self, l, sum, e);
            }
        });
        // Each statement that adds to it mentions it twice.
        separate && mentions == 2 * adds
    }
}

/// Whether a value is `target + …`, with the target once.
fn adds_to(target: &Expr, value: &Expr) -> bool {
    terms(value, true)
        .iter()
        .filter(|(plus, t)| *plus && same_place(t, target))
        .count()
        == 1
}

/// The terms of a sum, each with whether it is added.
fn terms(e: &Expr, plus: bool) -> Vec<(bool, &Expr)> {
    match &e.kind {
        ExprKind::Binary(BinOp::Add, a, b) => {
            let mut all = terms(a, plus);
            all.extend(terms(b, plus));
            all
        }
        ExprKind::Binary(BinOp::Sub, a, b) => {
            let mut all = terms(a, plus);
            all.extend(terms(b, !plus));
            all
        }
        _ => vec![(plus, e)],
    }
}
