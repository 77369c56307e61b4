//! Combines consecutive pushes, so that they check for room and increment the counter once; pops likewise.
//!
//! ```fortran
//!       IF (TOP + 2 .GT. MOST) STOP '…'               B = TAPE(TOP)
//!       TAPE(TOP + 1) = A                             ...
//!       A = SIN(A)                                    A = TAPE(TOP - 1)
//!       TOP = TOP + 2                                 TOP = TOP - 2
//!       TAPE(TOP) = B
//! ```
//!
//! Pushes or pops belong to one group if nothing else is done with the tape between them: no call that has it
//! as an argument, and no IF or DO that records something.
//!
//! Groups and whole arrays that follow each other are checked together: the first check is for all of them. If
//! the tape can grow, it may have more room than necessary; then this check is also for the pushes in the
//! branches of an IF, as many as there can be at most.

use super::growing::Growers;
use super::tape::{TapeKind, TapeOp, TapeVars, Tapes};
use super::tape_calls::{
    ROOM_AFTER, TapeCalls, TapeSubprograms, arrays, is_innermost, leave_room_after, values,
};
use crate::affine::is_simple;
use farfel_lang::Span;
use farfel_lang::ir::build::{binary, difference, product, sum};
use farfel_lang::ir::{
    BinOp, Block, Class, DoControl, Expr, ExprKind, Stmt, StmtKind, SymId, Unit, for_each_symbol,
};
use farfel_lang::storage::UnitStorage;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// A group of pushes or pops.
struct Group {
    op: TapeOp,
    members: Vec<usize>,
}

/// Combines the pushes and pops of a block into groups. The tapes in `growers` can grow; subprograms push and pop on those
/// in `calls`, and check for room themselves.
pub(super) fn group(
    unit: &Unit,
    tapes: &Tapes,
    growers: &Growers,
    calls: &TapeCalls,
    block: &mut Block,
) {
    let storage = UnitStorage::of(unit);
    let checks: Vec<Checks> = (tapes.used.iter())
        .map(|(kind, vars)| Checks {
            unit,
            storage: &storage,
            tapes,
            kind: *kind,
            vars,
            grows: growers.contains_key(kind),
            calls: calls.get(kind),
            innermost: false,
        })
        .collect();
    group_in(unit, tapes, &checks, block);
}

fn group_in(unit: &Unit, tapes: &Tapes, checks: &[Checks], block: &mut Block) {
    for s in block.iter_mut() {
        let inner: Vec<Checks> = match is_innermost(unit, s, &|_| false) {
            true => (checks.iter())
                .map(|c| Checks {
                    innermost: true,
                    ..*c
                })
                .collect(),
            false => checks.to_vec(),
        };
        for b in s.blocks_mut() {
            group_in(unit, tapes, &inner, b);
        }
    }
    let mut edits = Edits::default();
    for g in groups(tapes, block) {
        if let (TapeOp::Push(kind) | TapeOp::Pop(kind), 2..) = (g.op, g.members.len())
            && let Some(vars) = tapes.used.get(&kind)
            && !(checks.iter()).any(|c| c.kind == kind && c.are_called(&g, block))
        {
            edits.add(&g, vars);
        }
    }
    edits.apply(block);
    checks.iter().for_each(|c| c.combine(block));
}

/// The checks for room on one tape of a unit.
#[derive(Clone, Copy)]
struct Checks<'a> {
    unit: &'a Unit,
    storage: &'a UnitStorage,
    tapes: &'a Tapes,
    kind: TapeKind,
    vars: &'a TapeVars,
    /// Whether the tape can grow.
    grows: bool,
    /// The subprograms that push and pop.
    calls: Option<&'a TapeSubprograms>,
    /// Whether they are those of an innermost loop.
    innermost: bool,
}

/// What statements need of a tape.
#[derive(Default)]
struct Need {
    /// The number of values that there must be room for, without those of `arrays`.
    room: usize,
    /// The number of values that they push, without those of `arrays`.
    counted: usize,
    /// The sizes of arrays: each of them may be 0, and none of them is negative.
    arrays: Vec<Expr>,
    /// The number of values on the tape after the push of an array that was checked last.
    top: Option<Expr>,
    /// The number of checks in them.
    checks: usize,
    /// The variables that they assign after the first check.
    assigned: HashSet<SymId>,
    /// Whether they call something after the first check.
    calls: bool,
}

impl Checks<'_> {
    /// Makes one check of several that follow each other.
    fn combine(&self, block: &mut Block) {
        let mut at = 0;
        while at < block.len() {
            if self.is_called(&block[at..]) {
                leave_room_after(&mut block[at]);
                at = self.use_room_after(block, at + 3);
                continue;
            }
            let mut need = Need::default();
            let mut end = at;
            while end < block.len()
                && !self.is_called(&block[end..])
                && self.add(&block[end], &mut need)
            {
                end += 1;
            }
            at = match need.checks {
                // The statement that does not belong to them is no check, except of an array that is called.
                0 if end < block.len() && self.is_called(&block[end..]) => end,
                0 => end + 1,
                1 => end,
                _ => self.check_together(block, at..end, &need),
            };
        }
        if !self.grows {
            self.count_first(block);
        }
    }

    /// Removes the checks for what follows an array that a subprogram pushes, as far as there is room. Returns the
    /// position after that.
    fn use_room_after(&self, block: &mut Block, begin: usize) -> usize {
        let mut need = Need::default();
        let mut end = begin;
        while end < block.len()
            && !self.is_called(&block[end..])
            && self.add(&block[end], &mut need)
            && need.room <= ROOM_AFTER
            && need.arrays.is_empty()
        {
            end += 1;
        }
        let mut rest = block.split_off(begin);
        let after = rest.split_off(end - begin);
        rest.retain_mut(|s| !self.take_check(s, &mut drop));
        block.extend(rest);
        let end = block.len();
        block.extend(after);
        end
    }

    /// Whether a subprogram takes the place of some statements at the beginning, which push something.
    fn is_called(&self, block: &[Stmt]) -> bool {
        let Some(calls) = self.calls else {
            return false;
        };
        block.first().is_some_and(|s| self.is_check(s))
            && (calls.arrays.is_some() && arrays::pushed(self.unit, block).is_some()
                || self.calls_values() && values::pushed(self.unit, block).is_some())
    }

    /// Whether subprograms push and pop single values.
    fn calls_values(&self) -> bool {
        !self.innermost && self.calls.is_some_and(|c| c.values.is_some())
    }

    /// Whether subprograms push or pop the values of a group one by one.
    fn are_called(&self, g: &Group, block: &[Stmt]) -> bool {
        self.calls_values()
            && g.members.iter().all(|m| match g.op {
                TapeOp::Pop(_) => values::popped(self.unit, &block[*m..]).is_some(),
                _ => values::pushed(self.unit, &block[*m..]).is_some(),
            })
    }

    /// Counts the values of an array before the check for them, which is shorter.
    fn count_first(&self, block: &mut Block) {
        for at in 1..block.len() {
            let (before, rest) = block.split_at_mut(at);
            let (Some(check), Some(count)) = (before.last_mut(), rest.first_mut()) else {
                continue;
            };
            let counted = assigned_value(count, self.vars.top()).cloned();
            if !self.is_check(check) || constant_need(check, self.vars).is_some() {
                continue;
            }
            if let StmtKind::LogicalIf(full, _) = &mut check.kind
                && let ExprKind::Binary(BinOp::Gt, need, _) = &mut full.kind
                && counted.is_some_and(|c| c.equals_ignoring_spans(need))
            {
                **need = Expr::var(self.vars.top(), Span::NONE);
                std::mem::swap(check, count);
            }
        }
    }

    /// Adds what a statement needs. Returns false if that is not known, and changes nothing then.
    fn add(&self, s: &Stmt, need: &mut Need) -> bool {
        let directive = matches!(&s.kind, StmtKind::Comment(c) if c.text.starts_with('$'));
        if s.label.is_some() || directive || !self.grows && leaves(s) {
            return false;
        }
        if self.is_check(s) {
            return self.add_check(s, need);
        }
        let mut inner = Need::default();
        match &s.kind {
            StmtKind::If(branches) if self.grows => {
                for block in branches.blocks() {
                    let mut arm = Need::default();
                    let mut all = (0..block.len()).map(|i| &block[i..]);
                    let all = all.all(|rest| {
                        let first = rest.first().filter(|_| !self.is_called(rest));
                        first.is_some_and(|s| self.add(s, &mut arm))
                    });
                    if !all || !arm.arrays.is_empty() {
                        return false;
                    }
                    inner.room = inner.room.max(arm.room);
                    inner.counted = inner.counted.max(arm.counted);
                    inner.checks += arm.checks;
                }
            }
            _ => match counted_by(s, self.vars) {
                Some(n) => inner.counted = n,
                None => {
                    let top = assigned_value(s, self.vars.top());
                    let array = need
                        .top
                        .take_if(|t| top.is_some_and(|value| value.equals_ignoring_spans(t)));
                    return array.is_some();
                }
            },
        }
        need.room = need.room.max(need.counted + inner.room);
        need.counted += inner.counted;
        need.checks += inner.checks;
        if need.checks > 0 {
            self.add_effects(s, need);
        }
        true
    }

    fn add_check(&self, s: &Stmt, need: &mut Need) -> bool {
        if let Some(room) = constant_need(s, self.vars) {
            need.room = need.room.max(need.counted + room);
            need.checks += 1;
            return true;
        }
        let StmtKind::LogicalIf(full, _) = &s.kind else {
            return false;
        };
        let ExprKind::Binary(BinOp::Gt, top, _) = &full.kind else {
            return false;
        };
        let size = match &top.kind {
            ExprKind::Binary(BinOp::Add, old, size) if is_var(old, self.vars.top()) => size,
            _ => return false,
        };
        let mut early = !need.calls;
        size.for_each_symbol(&mut |x| {
            let plain = !self.unit.symbols[x].is_variable() || self.storage.is_own(x);
            early &= plain && !need.assigned.contains(&x);
        });
        if !early || !is_size(self.unit, size) {
            return false;
        }
        need.arrays.push((**size).clone());
        need.top = Some((**top).clone());
        need.checks += 1;
        true
    }

    /// Adds the effects of a statement after the first check.
    fn add_effects(&self, s: &Stmt, need: &mut Need) {
        s.walk(&mut |s| {
            match &s.kind {
                StmtKind::Assign(target, _) => need.assigned.extend(target.base()),
                StmtKind::Do(d) => {
                    if let DoControl::Count { var, .. } = &d.control {
                        need.assigned.insert(*var);
                    }
                }
                StmtKind::If(_)
                | StmtKind::LogicalIf(..)
                | StmtKind::Continue
                | StmtKind::Comment(_) => {}
                _ => need.calls = true,
            }
            s.for_each_own_expr(&mut |e| need.calls |= self.has_calls(e));
        });
    }

    fn has_calls(&self, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |e| {
            if let ExprKind::Call(f, _) = &e.kind {
                found |= !matches!(self.unit.symbols[*f].class, Class::Intrinsic(_));
            }
        });
        found
    }

    fn is_check(&self, s: &Stmt) -> bool {
        let op = self.tapes.op(s);
        op == Some(TapeOp::Push(self.kind)) || op == Some(TapeOp::CapacityCheck(self.kind))
    }

    /// Puts a check in front of the first statement of a range that contains one, and removes the checks of the
    /// range. Returns the new end of the range.
    fn check_together(&self, block: &mut Block, range: Range<usize>, need: &Need) -> usize {
        let before = block.len();
        let mut first: Option<(usize, Stmt)> = None;
        let mut rest = block.split_off(range.start);
        let after = rest.split_off(range.len());
        for mut s in rest {
            let at = block.len();
            let mut take = |check| {
                first.get_or_insert((at, check));
            };
            if !self.take_check(&mut s, &mut take) {
                block.push(s);
            }
        }
        if let Some((at, mut check)) = first {
            if let StmtKind::LogicalIf(full, _) = &mut check.kind {
                *full = self.is_full(need);
            }
            block.insert(at, check);
        }
        block.extend(after);
        range.end + block.len() - before
    }

    /// Removes the checks in a statement. Returns whether the statement itself is one.
    fn take_check(&self, s: &mut Stmt, taken: &mut dyn FnMut(Stmt)) -> bool {
        if self.is_check(s) {
            taken(s.clone());
            return true;
        }
        for block in s.blocks_mut() {
            block.retain_mut(|s| !self.take_check(s, taken));
        }
        false
    }

    /// The condition that there is no room.
    fn is_full(&self, need: &Need) -> Expr {
        if need.arrays.is_empty() {
            return is_full(self.vars, need.room);
        }
        let mut sizes: Vec<(&Expr, i64)> = Vec::new();
        for size in &need.arrays {
            let same = |(s, _): &&mut (&Expr, i64)| s.equals_ignoring_spans(size);
            match sizes.iter_mut().find(same) {
                Some((_, times)) => *times += 1,
                None => sizes.push((size, 1)),
            }
        }
        let mut all = Expr::var(self.vars.top(), Span::NONE);
        if need.room > 0 {
            all = sum(all, number(need.room));
        }
        for (size, times) in sizes {
            all = match times {
                1 => sum(all, size.clone()),
                _ => sum(all, product(Expr::long(times, Span::NONE), size.clone())),
            };
        }
        binary(BinOp::Gt, all, Expr::var(self.vars.capacity(), Span::NONE))
    }
}

/// Whether this is the number of iterations or values that a check is for: it is not negative.
fn is_size(unit: &Unit, e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Paren(e) => is_size(unit, e),
        ExprKind::Int(n) => *n >= 0,
        ExprKind::Kind(n, _) => is_size(unit, n),
        ExprKind::Binary(BinOp::Mul | BinOp::Add, a, b) => is_size(unit, a) && is_size(unit, b),
        ExprKind::Call(f, args) => {
            let zero = |e: &Expr| e.kind == ExprKind::Int(0);
            unit.symbols[*f].name == "MAX" && args.iter().any(zero) && is_simple(unit, e)
        }
        _ => false,
    }
}

/// Whether a statement may leave the block.
fn leaves(s: &Stmt) -> bool {
    let mut found = false;
    s.walk(&mut |s| {
        found |= matches!(
            s.kind,
            StmtKind::Exit(_) | StmtKind::Cycle(_) | StmtKind::Return(_) | StmtKind::Goto(_)
        );
    });
    found
}

/// The value that a statement assigns to a variable.
fn assigned_value(s: &Stmt, variable: SymId) -> Option<&Expr> {
    match &s.kind {
        StmtKind::Assign(to, value) if is_var(to, variable) => Some(value),
        _ => None,
    }
}

fn is_var(e: &Expr, variable: SymId) -> bool {
    matches!(e.kind, ExprKind::Var(x) if x == variable)
}

fn number(n: usize) -> Expr {
    Expr::int(i64::try_from(n).unwrap_or(i64::MAX), Span::NONE)
}

/// The condition that there is no room for some values.
fn is_full(vars: &TapeVars, room: usize) -> Expr {
    let top = Expr::var(vars.top(), Span::NONE);
    let most = Expr::var(vars.capacity(), Span::NONE);
    if room == 1 {
        return binary(BinOp::Ge, top, most);
    }
    binary(BinOp::Gt, sum(top, number(room)), most)
}

/// The number of values that a check is for, if that is a constant.
fn constant_need(s: &Stmt, vars: &TapeVars) -> Option<usize> {
    let StmtKind::LogicalIf(full, _) = &s.kind else {
        return None;
    };
    match &full.kind {
        ExprKind::Binary(BinOp::Ge, ..) => Some(1),
        ExprKind::Binary(BinOp::Gt, need, _) => added_to_top(need, vars),
        _ => None,
    }
}

/// The constant that is added to the number of values on a tape.
fn added_to_top(e: &Expr, vars: &TapeVars) -> Option<usize> {
    match &e.kind {
        ExprKind::Binary(BinOp::Add, top, n) => match (&top.kind, &n.kind) {
            (ExprKind::Var(s), ExprKind::Int(n)) if *s == vars.top() => usize::try_from(*n).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The constant by which a statement increases the number of values on a tape; `None` if it may change it
/// otherwise.
fn counted_by(s: &Stmt, vars: &TapeVars) -> Option<usize> {
    if let Some(value) = assigned_value(s, vars.top()) {
        return added_to_top(value, vars);
    }
    let mut changed = false;
    s.walk(&mut |s| match &s.kind {
        StmtKind::Assign(to, _) => changed |= to.base() == Some(vars.top()),
        StmtKind::Call(_, args) => changed |= args.iter().any(|a| a.base() == Some(vars.top())),
        _ => {}
    });
    (!changed).then_some(0)
}

/// Finds the groups of pushes and pops in a block.
fn groups(tapes: &Tapes, block: &[Stmt]) -> Vec<Group> {
    let mut open: BTreeMap<TapeKind, Group> = BTreeMap::new();
    let mut done = Vec::new();
    let mut at = 0;
    while let Some(s) = block.get(at) {
        let op = tapes.op(s);
        // Values whose place follows from a loop variable are not counted.
        let counted = op.filter(|_| block.get(at + 1).is_some_and(|s| counts(tapes, s)));
        let Some(op @ (TapeOp::Push(kind) | TapeOp::Pop(kind))) = counted else {
            let mut named = Vec::new();
            for_each_symbol(std::slice::from_ref(s), &mut |x| {
                named.extend(tapes.kind_of(x));
            });
            done.extend(named.iter().filter_map(|k| open.remove(k)));
            at += 1;
            continue;
        };
        match open.get_mut(&kind) {
            Some(g) if g.op == op => g.members.push(at),
            _ => {
                let members = vec![at];
                done.extend(open.insert(kind, Group { op, members }));
            }
        }
        at += match op {
            TapeOp::Push(_) => 3,
            _ => 2,
        };
    }
    done.extend(open.into_values());
    done
}

/// Whether a statement changes the number of values on a tape.
fn counts(tapes: &Tapes, s: &Stmt) -> bool {
    let StmtKind::Assign(to, _) = &s.kind else {
        return false;
    };
    matches!(to.kind, ExprKind::Var(x) if tapes.used.values().any(|v| v.top() == x))
}

/// The new part of a statement.
enum Replacement {
    /// The condition of a check for room.
    Full(Expr),
    /// The place where a push stores its value.
    Pushed(Expr),
    /// The place where a pop finds its value.
    Popped(Expr),
    /// The whole statement.
    Count(StmtKind),
}

/// New parts of statements, by index in the block; `None` if a statement is removed.
#[derive(Default)]
struct Edits(HashMap<usize, Option<Replacement>>);

impl Edits {
    fn apply(mut self, block: &mut Block) {
        if self.0.is_empty() {
            return;
        }
        let mut at = 0;
        block.retain_mut(|s| {
            let edit = self.0.remove(&at);
            at += 1;
            match edit {
                None => true,
                Some(None) => false,
                Some(Some(new)) => {
                    new.put_into(s);
                    true
                }
            }
        });
    }

    fn add(&mut self, g: &Group, vars: &TapeVars) {
        let top = || Expr::var(vars.top(), Span::NONE);
        let int = |n: usize| Expr::int(i64::try_from(n).unwrap_or(0), Span::NONE);
        let all = g.members.len();
        let push = matches!(g.op, TapeOp::Push(_));
        for (j, m) in g.members.iter().enumerate() {
            let last = j + 1 == all;
            let mut at = *m;
            if push {
                let full = || Replacement::Full(is_full(vars, all));
                self.0.insert(at, (j == 0).then(full));
                at += 1;
                if !last {
                    let place = sum(top(), int(j + 1));
                    self.0.insert(at + 1, Some(Replacement::Pushed(place)));
                }
            } else {
                if j > 0 {
                    let place = difference(top(), int(j));
                    self.0.insert(at, Some(Replacement::Popped(place)));
                }
                at += 1;
            }
            let count = || {
                let counted = match push {
                    true => sum(top(), int(all)),
                    false => difference(top(), int(all)),
                };
                Replacement::Count(StmtKind::Assign(top(), counted))
            };
            self.0.insert(at, last.then(count));
        }
    }
}

impl Replacement {
    fn put_into(self, s: &mut Stmt) {
        let place = |of: &mut Expr, place: Expr| {
            if let ExprKind::Element(_, subscripts) = &mut of.kind {
                *subscripts = vec![place];
            }
        };
        match (self, &mut s.kind) {
            (Replacement::Full(full), StmtKind::LogicalIf(condition, _)) => *condition = full,
            (Replacement::Pushed(e), StmtKind::Assign(to, _)) => place(to, e),
            (Replacement::Popped(e), StmtKind::Assign(_, value)) => place(value, e),
            (Replacement::Count(kind), old) => *old = kind,
            _ => {}
        }
    }
}
