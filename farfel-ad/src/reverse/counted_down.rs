//! Loops that count their iterations down but may end earlier.
//!
//! Loops that are left by GOTO or EXIT have become `DO WHILE` loops with a flag and a counter:
//!
//! ```fortran
//!       NTRIP = 40
//!       AGAIN = .TRUE.
//!       DO WHILE (AGAIN .AND. NTRIP .GT. 0)
//!         ...
//!         IF (DONE) THEN
//!           AGAIN = .FALSE.
//!         ELSE
//!           NTRIP = NTRIP - 1
//!         END IF
//!       END DO
//! ```
//!
//! Each iteration either counts down or is the last one, so there are at most 40.

use farfel_lang::ir::{BinOp, Block, Do, DoControl, Expr, ExprKind, Stmt, StmtKind, SymId, Unit};
use farfel_lang::storage::constant;

/// The variables that control such a loop.
pub(super) struct Control {
    /// Counts the iterations down.
    pub counter: SymId,
    /// Those that can end the loop before.
    pub flags: Vec<SymId>,
}

/// Returns the variables that control a loop, if it is one that counts down, and if nothing but its assignments
/// changes these variables.
pub(super) fn control(unit: &Unit, d: &Do) -> Option<Control> {
    let DoControl::While(condition) = &d.control else {
        return None;
    };
    let (mut counter, mut flags) = (None, Vec::new());
    read_condition(unit, condition, &mut counter, &mut flags);
    let control = Control {
        counter: counter?,
        flags,
    };
    let mut only = true;
    for s in &d.body {
        s.walk(&mut |s| {
            // A jump could go past the end of an iteration.
            only &= s.label.is_none() && !matches!(s.kind, StmtKind::Cycle(_));
            if let StmtKind::Assign(target, value) = &s.kind
                && let ExprKind::Var(v) = target.kind
            {
                only &= v != control.counter || step(unit, v, value) == Some(-1);
                only &= !control.flags.contains(&v) || ends(unit, value);
            }
        });
    }
    (only && control.is_set_in(&d.body)).then_some(control)
}

impl Control {
    /// Whether every path through some statements counts down or sets a flag that ends the loop.
    fn is_set_in(&self, block: &Block) -> bool {
        block.iter().any(|s| match &s.kind {
            StmtKind::Assign(target, _) => {
                matches!(target.kind, ExprKind::Var(v) if v == self.counter || self.flags.contains(&v))
            }
            StmtKind::If(b) => {
                let arms = b.arms.iter().map(|(_, block)| block);
                b.otherwise.is_some() && arms.chain(&b.otherwise).all(|b| self.is_set_in(b))
            }
            _ => false,
        })
    }
}

/// Finds `counter .GT. 0`, `flag` and `flag .EQ. 0` among the conditions that must all be true.
fn read_condition(unit: &Unit, e: &Expr, counter: &mut Option<SymId>, flags: &mut Vec<SymId>) {
    match &e.kind {
        ExprKind::Paren(e) => read_condition(unit, e, counter, flags),
        ExprKind::Binary(BinOp::And, a, b) => {
            read_condition(unit, a, counter, flags);
            read_condition(unit, b, counter, flags);
        }
        ExprKind::Var(s) => flags.push(*s),
        ExprKind::Binary(op @ (BinOp::Gt | BinOp::Eq), a, b)
            if constant::integer(unit, b) == Some(0) =>
        {
            match (op, &a.kind) {
                (BinOp::Gt, ExprKind::Var(s)) => *counter = Some(*s),
                (BinOp::Eq, ExprKind::Var(s)) => flags.push(*s),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Whether a value of a flag is one that ends the loop: `.FALSE.`, or a number other than 0.
fn ends(unit: &Unit, value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Logical(going) => !going,
        _ => constant::integer(unit, value).is_some_and(|n| n != 0),
    }
}

/// The constant that an expression adds to a variable.
pub(super) fn step(unit: &Unit, variable: SymId, value: &Expr) -> Option<i64> {
    let of_variable = |e: &Expr| matches!(e.kind, ExprKind::Var(v) if v == variable);
    match &value.kind {
        ExprKind::Binary(BinOp::Add, a, b) if of_variable(a) => constant::integer(unit, b),
        ExprKind::Binary(BinOp::Sub, a, b) if of_variable(a) => {
            constant::integer(unit, b)?.checked_neg()
        }
        _ => None,
    }
}

/// The value that the last assignment of a variable in some statements gives it, if that is always executed.
pub(super) fn last_value(block: &[Stmt], variable: SymId) -> Option<&Expr> {
    let assigns =
        |s: &Stmt| matches!(&s.kind, StmtKind::Assign(t, _) if t.base() == Some(variable));
    for s in block.iter().rev() {
        if s.label.is_some() {
            return None;
        }
        match &s.kind {
            StmtKind::Assign(_, value) if assigns(s) => return Some(value),
            _ => {
                let mut inside = false;
                s.walk(&mut |s| inside |= assigns(s));
                if inside {
                    return None;
                }
            }
        }
    }
    None
}
