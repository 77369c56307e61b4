//! What a loop does: goes through arrays side by side, or adds up.

use super::apart::{apart, independent};
use farfel_lang::ir::{
    BinOp, Class, Do, DoControl, DoEnd, Expr, ExprKind, Place, Stmt, StmtKind, SymId, Type, UnOp,
    Unit, walk_block, walk_exprs,
};
use farfel_lang::storage::{UnitStorage, constant};
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// Loops that are known to have fewer iterations are left alone.
const FEWEST: i64 = 16;

/// Loops with more operations than this are left alone: there is enough to do side by side in
/// one iteration, and the text would get long.
const MOST_OPERATIONS: usize = 60;

/// Intrinsic functions that processors have instructions for.
const CHEAP: [&str; 12] = [
    "ABS", "DABS", "SIGN", "DSIGN", "SQRT", "DSQRT", "DBLE", "REAL", "MAX", "MIN", "DMAX1", "DMIN1",
];

/// What can be done for a loop.
pub(super) struct Found {
    /// It counts down, and can count up instead.
    pub turned: bool,
    pub kind: Kind,
}

pub(super) enum Kind {
    /// Every statement assigns elements that lie side by side.
    Streams,
    /// There are sums of derivatives besides.
    Sums(Sums),
    /// Several iterations stand in the body already, so that it adds to each sum more than once.
    Unrolled(Sums),
}

/// The sums of a loop.
pub(super) struct Sums {
    /// What is added to, for each statement of the body that adds to a derivative.
    pub targets: Vec<(usize, Expr)>,
    /// There are sums of the program itself, too.
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

/// A loop that counts.
pub(super) struct Counted<'a> {
    pub var: SymId,
    pub from: &'a Expr,
    pub to: &'a Expr,
    pub step: i64,
    pub body: &'a [Stmt],
}

/// The loop that a statement is, if it counts by a constant and nothing jumps into or out of it.
pub(super) fn counted<'a>(unit: &Unit, stmt: &'a Stmt) -> Option<Counted<'a>> {
    let StmtKind::Do(d) = &stmt.kind else {
        return None;
    };
    let Do {
        name: None,
        control:
            DoControl::Count {
                var,
                from,
                to,
                step,
            },
        body,
        ..
    } = &**d
    else {
        return None;
    };
    let step = match step {
        None => 1,
        Some(e) => constant::integer(unit, e)?,
    };
    Some(Counted {
        var: *var,
        from,
        to,
        step,
        body,
    })
}

/// The variables that only get remainders of small numbers: `M = MOD(N, 4)` is how often the
/// loop goes round that does what an unrolled one leaves over.
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
    found.retain(|s| unit.symbols[*s].place == Place::Local && !others.contains(s));
    found
}

/// Is the first value `to + n*step`, so that the last one is `to`?
fn ends_evenly(unit: &Unit, l: &Counted) -> bool {
    let ExprKind::Binary(BinOp::Add, to, way) = &l.from.kind else {
        return false;
    };
    let ExprKind::Binary(BinOp::Mul, _, step) = &way.kind else {
        return false;
    };
    let step = constant::integer(unit, step);
    same_text(to, l.to) && step.is_some_and(|s| s != 0 && l.step % s == 0)
}

/// Can a statement come behind the loop?
fn ends_apart(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Do(d) => d.end == DoEnd::EndDo(None),
        _ => false,
    }
}

/// What can be done for the loop that a statement is. `counts` are the variables whose values do
/// not matter outside of loops, `few` those that are small numbers.
pub(super) fn look(
    unit: &Unit,
    derivatives: &HashSet<SymId>,
    storage: &UnitStorage,
    counts: &HashSet<SymId>,
    few: &HashSet<SymId>,
    stmt: &Stmt,
) -> Option<Found> {
    let mut l = counted(unit, stmt)?;
    let turned = l.step == -1 || l.step < -1 && ends_evenly(unit, &l);
    if turned {
        (l.from, l.to, l.step) = (l.to, l.from, -l.step);
    }
    let looker = Looker {
        unit,
        storage,
        var: l.var,
    };
    let rest = matches!(l.to.kind, ExprKind::Var(s) if few.contains(&s))
        && constant::integer(unit, l.from).is_some_and(|n| n > 0);
    let short = rest || !turned && looker.is_short(&l);
    if l.step < 1 || stmt.label.is_some() || !looker.is_plain(l.var) || short {
        return None;
    }
    let sums = looker.sums(derivatives, &l)?;
    if turned {
        let free = counts.contains(&l.var) && !sums.ordered;
        if !free || !independent(&looker, &l, &sums.targets) {
            return None;
        }
    }
    let kind = if sums.targets.is_empty() && !sums.ordered {
        Kind::Streams
    } else {
        let separate = |(_, t): &(usize, Expr)| looker.is_separate(&l, t);
        if sums.targets.is_empty() || !sums.targets.iter().all(separate) {
            return None;
        }
        let divides = l.step == 1 && looker.is_steady(l.to) && !looker.is_short(&l);
        match divides {
            true => Kind::Sums(sums),
            false if sums.are_unrolled() && ends_apart(stmt) => Kind::Unrolled(sums),
            false => return None,
        }
    };
    Some(Found { turned, kind })
}

/// How the iterations of a loop get at an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Each at the one behind that of the iteration before, or as many behind as the loop counts.
    Stream,
    /// All at the same one.
    Fixed,
}

pub(super) struct Looker<'a> {
    pub unit: &'a Unit,
    pub storage: &'a UnitStorage,
    /// The variable of the loop.
    pub var: SymId,
}

impl Looker<'_> {
    /// The sums of a loop, if it does nothing but add and go through arrays, and does so for
    /// derivatives.
    fn sums(&self, derivatives: &HashSet<SymId>, l: &Counted) -> Option<Sums> {
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
            // What is kept for derivatives counts, too.
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

    /// A scalar INTEGER that shares storage with nothing.
    fn is_plain(&self, var: SymId) -> bool {
        let s = &self.unit.symbols[var];
        matches!(s.ty, Some(Type::Integer(_))) && !s.is_array() && self.storage.is_own(var)
    }

    /// Is it the loop's variable?
    pub(super) fn is_var(&self, e: &Expr) -> bool {
        matches!(e.kind, ExprKind::Var(s) if s == self.var)
    }

    fn is_short(&self, l: &Counted) -> bool {
        let value = |e| constant::integer(self.unit, e);
        let (Some(from), Some(to)) = (value(l.from), value(l.to)) else {
            return false;
        };
        to.saturating_sub(from) / l.step < FEWEST
    }

    fn depends(&self, e: &Expr) -> bool {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= s == self.var);
        found
    }

    /// An INTEGER expression that has the same value when it is computed again after some
    /// iterations. REAL variables are all that the body assigns.
    pub(super) fn is_steady(&self, e: &Expr) -> bool {
        let mut steady = matches!(type_of(self.unit, e), Some(Type::Integer(_)));
        e.walk(&mut |x| {
            steady &= match &x.kind {
                ExprKind::Int(_) | ExprKind::Unary(..) | ExprKind::Paren(_) => true,
                ExprKind::Binary(op, ..) => op.is_arithmetic(),
                ExprKind::Var(s) => *s != self.var && self.is_integer(*s),
                ExprKind::Element(s, _) => self.is_integer(*s),
                _ => false,
            }
        });
        steady
    }

    /// A variable or constant that no assignment to REAL variables changes.
    fn is_integer(&self, s: SymId) -> bool {
        let symbol = &self.unit.symbols[s];
        let apart = match symbol.class {
            Class::Variable => self.storage.is_own(s) || !self.shares_with_real(s),
            Class::Parameter(_) => true,
            _ => false,
        };
        matches!(symbol.ty, Some(Type::Integer(_))) && apart
    }

    fn shares_with_real(&self, s: SymId) -> bool {
        let mut others = self.storage.overlapping(s);
        others.any(|o| !matches!(self.unit.symbols[o].ty, Some(Type::Integer(_))))
    }

    /// How often the loop's variable is in an expression that is linear in it.
    pub(super) fn coefficient(&self, e: &Expr) -> Option<i64> {
        match &e.kind {
            ExprKind::Var(s) if *s == self.var => Some(1),
            _ if !self.depends(e) => Some(0),
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => self.coefficient(a),
            ExprKind::Binary(BinOp::Add, a, b) => {
                self.coefficient(a)?.checked_add(self.coefficient(b)?)
            }
            ExprKind::Binary(BinOp::Sub, a, b) => {
                self.coefficient(a)?.checked_sub(self.coefficient(b)?)
            }
            _ => None,
        }
    }

    /// A scalar, or an element at the same place in every iteration or at the next one.
    fn access(&self, e: &Expr) -> Option<Access> {
        match &e.kind {
            ExprKind::Var(s) if !self.unit.symbols[*s].is_array() => Some(Access::Fixed),
            ExprKind::Element(_, subscripts) => {
                let (first, others) = subscripts.split_first()?;
                let scalar = |s: &Expr| matches!(type_of(self.unit, s), Some(Type::Integer(_)));
                if !subscripts.iter().all(|s| scalar(s) && !self.names_array(s))
                    || others.iter().any(|s| self.depends(s))
                {
                    return None;
                }
                match self.coefficient(first)? {
                    1 => Some(Access::Stream),
                    0 => Some(Access::Fixed),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn names_array(&self, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |x| {
            found |= match &x.kind {
                ExprKind::Var(s) => self.unit.symbols[*s].is_array(),
                ExprKind::Range(..) | ExprKind::Call(..) => true,
                _ => false,
            }
        });
        found
    }

    /// Made of arithmetic on elements that lie side by side.
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

    /// Nothing in the loop reads or assigns a sum but the statements that add to it.
    fn is_separate(&self, l: &Counted, sum: &Expr) -> bool {
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
                separate &= apart(self, l, sum, e);
            }
        });
        // Twice in each statement that adds to it.
        separate && mentions == 2 * adds
    }
}

/// `target + …`, with the target once.
fn adds_to(target: &Expr, value: &Expr) -> bool {
    terms(value, true)
        .iter()
        .filter(|(plus, t)| *plus && same_place(t, target))
        .count()
        == 1
}

/// The terms of a sum, and whether they are added.
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

/// The same variable or element, written alike.
pub(super) fn same_place(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Var(x), ExprKind::Var(y)) => x == y,
        (ExprKind::Element(x, s), ExprKind::Element(y, t)) => {
            x == y && s.len() == t.len() && s.iter().zip(t).all(|(s, t)| same_text(s, t))
        }
        _ => false,
    }
}

/// INTEGER expressions that are written alike.
fn same_text(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Int(x), ExprKind::Int(y)) => x == y,
        (ExprKind::Paren(x), ExprKind::Paren(y)) => same_text(x, y),
        (ExprKind::Unary(p, x), ExprKind::Unary(q, y)) => p == q && same_text(x, y),
        (ExprKind::Binary(p, x, s), ExprKind::Binary(q, y, t)) => {
            p == q && same_text(x, y) && same_text(s, t)
        }
        _ => same_place(a, b),
    }
}
