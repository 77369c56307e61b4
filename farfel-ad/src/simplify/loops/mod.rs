//! Rewrites inner loops of derivatives into forms that compilers turn into fast code.
//!
//! Derivative code spends its time in innermost loops over elements of arrays. gfortran leaves most of them
//! scalar at `-O2`, and those with a sum at any level: it keeps the order of additions, so that each waits
//! for the previous one. The values of the program itself must be those that the program says, but sums of
//! derivatives may be added in another order. So this pass
//!
//! * puts the directive `GCC$ VECTOR` before loops that only go through arrays side by side. It says that
//!   vectorising the loop is worthwhile, not that it is allowed: compilers still check whether iterations
//!   depend on each other. Other compilers treat it as a comment;
//! * divides loops with sums of derivatives (`strip`) into strips of eight iterations and a remainder. In a
//!   strip each iteration adds to a partial sum of its own:
//!
//! ```fortran
//!       I = 1
//!       IF (N - 7 .GE. 1) THEN
//!         PART = 0.0D0
//!         DO I = 1, N - 7, 8
//! CGCC$ UNROLL 8
//!           DO LANE = 0, 7
//!             PART(LANE) = PART(LANE) + A(I + LANE)*B_G(I + LANE)
//!           END DO
//!         END DO
//!         S_G = S_G + (((PART(0) + PART(4)) + (PART(2) + PART(6)))
//!      +      + ((PART(1) + PART(5)) + (PART(3) + PART(7))))
//!       END IF
//!       DO I = I, N
//!         S_G = S_G + A(I)*B_G(I)
//!       END DO
//! ```
//!
//! * splits a loop with several sums into several loops, if the sums do not depend on each other: compilers
//!   do better with one sum at a time;
//! * makes loops that count down count up, if their iterations do not depend on each other.
//!
//! Otherwise all statements are executed in their original order, and sums of the program itself are added in
//! their order.

mod classify;
mod counted;
mod dependence;
mod divide;
mod strip;

use classify::LoopKind;
use farfel_lang::ir::{Block, DoControl, Expr, ExprKind, Stmt, StmtKind, SymId, UnOp, Unit};
use farfel_lang::storage::UnitStorage;
use std::collections::HashSet;

/// The beginnings of the directives that apply to one loop, after the comment mark.
const DIRECTIVES: [&str; 4] = ["GCC$ VECTOR", "GCC$ NOVECTOR", "GCC$ UNROLL", "GCC$ IVDEP"];

/// Rewrites the innermost loops of a derivative unit. `derivatives` are the symbols that hold
/// derivatives of the last differentiation: only their sums may be added in another order.
pub fn rewrite_inner_loops(unit: &mut Unit, derivatives: &HashSet<SymId>) {
    let mut body = std::mem::take(&mut unit.body);
    drop_directives(&mut body);
    let storage = UnitStorage::of(unit);
    let pure_counters = dependence::pure_counters(unit, &body);
    let small_remainders = classify::remainders(unit, &body);
    let mut pass = Pass {
        unit,
        derivatives,
        storage,
        pure_counters,
        small_remainders,
        partial_sums: Vec::new(),
        lane: None,
    };
    pass.block(&mut body);
    unit.body = body;
}

struct Pass<'a> {
    unit: &'a mut Unit,
    derivatives: &'a HashSet<SymId>,
    storage: UnitStorage,
    /// Loop variables that are not used outside of their loops.
    pure_counters: HashSet<SymId>,
    /// Variables that only hold small remainders.
    small_remainders: HashSet<SymId>,
    /// Arrays of partial sums.
    partial_sums: Vec<SymId>,
    /// The variable of the loops over them.
    lane: Option<SymId>,
}

impl Pass<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.len());
        let mut directed = false;
        for mut stmt in std::mem::take(block) {
            for inner in stmt.blocks_mut() {
                self.block(inner);
            }
            let (unit, storage, pure_counters) = (&*self.unit, &self.storage, &self.pure_counters);
            let found = match directed {
                true => None,
                false => classify::classify(
                    unit,
                    self.derivatives,
                    storage,
                    pure_counters,
                    &self.small_remainders,
                    &stmt,
                ),
            };
            directed = is_directive(&stmt) || directed && is_comment(&stmt);
            if found.as_ref().is_some_and(|f| f.can_count_up) {
                count_up(&mut stmt);
            }
            let mut after = Vec::new();
            match found.map(|f| f.kind) {
                Some(LoopKind::Streams) => out.push(directive(DIRECTIVES[0], &stmt)),
                Some(LoopKind::Sums(sums)) => out.extend(self.divided(&mut stmt, sums)),
                Some(LoopKind::Unrolled(sums)) => {
                    let before;
                    (before, after) = self.side_by_side(&mut stmt, &sums);
                    out.extend(before);
                }
                None => {}
            }
            out.push(stmt);
            out.append(&mut after);
        }
        *block = out;
    }
}

/// Makes a loop that counts down count up.
fn count_up(stmt: &mut Stmt) {
    if let StmtKind::Do(d) = &mut stmt.kind
        && let DoControl::Count { from, to, step, .. } = &mut d.control
    {
        std::mem::swap(from, to);
        *step = step.take().and_then(upward);
    }
}

/// The negative of a step; `None` stands for a step of 1.
fn upward(step: Expr) -> Option<Expr> {
    let span = step.span;
    match step.kind {
        ExprKind::Int(-1) => None,
        ExprKind::Int(n) => Some(Expr::int(n.saturating_neg(), span)),
        ExprKind::Unary(UnOp::Minus, e) if matches!(e.kind, ExprKind::Int(1)) => None,
        ExprKind::Unary(UnOp::Minus, e) => Some(*e),
        ExprKind::Paren(e) => upward(*e),
        kind => Some(Expr::minus(Expr::new(kind, span), span)),
    }
}

fn directive(text: &str, of: &Stmt) -> Stmt {
    Stmt::comment(text, of.span)
}

fn is_directive(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Comment(c) => {
            let text = c.text.to_ascii_uppercase();
            DIRECTIVES.iter().any(|d| text.starts_with(d))
        }
        _ => false,
    }
}

fn is_comment(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Comment(_))
}

/// Removes directives that are no longer followed by a loop, because statements of derivatives have come
/// between: compilers refuse them.
pub(crate) fn drop_directives(block: &mut Block) {
    let mut follows = false;
    let mut at = block.len();
    let mut keep = vec![true; block.len()];
    for stmt in block.iter_mut().rev() {
        at -= 1;
        match &stmt.kind {
            _ if is_directive(stmt) => keep[at] = follows,
            StmtKind::Comment(_) => {}
            kind => follows = matches!(kind, StmtKind::Do(_)),
        }
        stmt.blocks_mut().into_iter().for_each(drop_directives);
    }
    let mut kept = keep.into_iter();
    block.retain(|_| kept.next().unwrap_or(true));
}
