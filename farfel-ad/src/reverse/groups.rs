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
//! Groups and whole arrays of known sizes that follow each other are checked together: the first check is for
//! all of them.

use super::tape::{TapeKind, TapeOp, TapeVars, Tapes};
use farfel_lang::Span;
use farfel_lang::ir::build::{binary, difference, sum};
use farfel_lang::ir::{BinOp, Block, Expr, ExprKind, Stmt, StmtKind, for_each_symbol};
use std::collections::{BTreeMap, HashMap};

/// A group of pushes or pops.
struct Group {
    op: TapeOp,
    members: Vec<usize>,
}

/// Combines the pushes and pops of a block into groups.
pub(super) fn group(tapes: &Tapes, block: &mut Block) {
    for s in block.iter_mut() {
        for b in s.blocks_mut() {
            group(tapes, b);
        }
    }
    let mut edits = Edits::default();
    for g in groups(tapes, block) {
        if let (TapeOp::Push(kind) | TapeOp::Pop(kind), 2..) = (g.op, g.members.len())
            && let Some(vars) = tapes.used.get(&kind)
        {
            edits.add(&g, vars);
        }
    }
    edits.apply(block);
    common_checks(tapes, block).apply(block);
}

/// A check for room and what follows it.
struct Checked {
    /// The index of the check.
    at: usize,
    /// The number of values that it is for.
    room: usize,
    /// The number of values that have been counted since.
    counted: usize,
}

/// Finds checks for constant numbers of values that the check before can include.
fn common_checks(tapes: &Tapes, block: &[Stmt]) -> Edits {
    let mut edits = Edits::default();
    let mut open: BTreeMap<TapeKind, Checked> = BTreeMap::new();
    for (at, s) in block.iter().enumerate() {
        if let Some(TapeOp::Push(kind) | TapeOp::CapacityCheck(kind)) = tapes.op(s)
            && let Some(vars) = tapes.used.get(&kind)
        {
            let Some(need) = constant_need(s, vars) else {
                open.remove(&kind);
                continue;
            };
            match open.get_mut(&kind) {
                None => {
                    let (room, counted) = (need, 0);
                    open.insert(kind, Checked { at, room, counted });
                }
                Some(first) => {
                    first.room = first.room.max(first.counted + need);
                    let top = Expr::var(vars.top(), Span::NONE);
                    let most = Expr::var(vars.capacity(), Span::NONE);
                    let all = Expr::int(i64::try_from(first.room).unwrap_or(i64::MAX), Span::NONE);
                    let full = binary(BinOp::Gt, sum(top, all), most);
                    edits.0.insert(first.at, Some(Replacement::Full(full)));
                    edits.0.insert(at, None);
                }
            }
            continue;
        }
        for (kind, vars) in &tapes.used {
            match counted_by(s, vars) {
                Some(n) => {
                    if let Some(first) = open.get_mut(kind) {
                        first.counted += n;
                    }
                }
                None => {
                    open.remove(kind);
                }
            }
        }
    }
    edits
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
    if let StmtKind::Assign(to, value) = &s.kind
        && matches!(to.kind, ExprKind::Var(x) if x == vars.top())
    {
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
                let most = Expr::var(vars.capacity(), Span::NONE);
                let full = || binary(BinOp::Gt, sum(top(), int(all)), most);
                self.0
                    .insert(at, (j == 0).then(|| Replacement::Full(full())));
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
