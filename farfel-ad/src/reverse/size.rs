//! How large the tapes of a head must be: from the loops around what is kept, where their
//! bounds are known on entry.

use super::tape::Tapes;
use farfel_lang::Span;
use farfel_lang::ir::{
    BinOp, Class, DoControl, Expr, ExprKind, Name, Stmt, StmtKind, SymId, Type, Unit,
};
use farfel_lang::storage::constant;
use farfel_lang::types::type_of;
use std::collections::HashMap;

/// For each forward sweep, the most values that it adds to each of its tapes, in the order of
/// its tapes; `None` where that is not a number.
pub(super) type Bounds = HashMap<Name, Vec<Option<i64>>>;

/// What is known of the unit whose tapes are measured.
pub(super) struct Measure<'a> {
    pub unit: &'a Unit,
    pub bounds: &'a Bounds,
    /// May a variable have another value than on entry?
    pub changes: &'a dyn Fn(SymId) -> bool,
}

/// A number of values.
#[derive(Debug, Clone)]
enum Size {
    Number(i64),
    Expr(Expr),
}

impl Size {
    fn plus(self, other: Size) -> Option<Size> {
        Some(match (self, other) {
            (Size::Number(a), Size::Number(b)) => Size::Number(a.checked_add(b)?),
            (Size::Number(0), s) | (s, Size::Number(0)) => s,
            (a, b) => Size::Expr(Expr::binary(BinOp::Add, a.expr(), b.expr())),
        })
    }

    fn times(self, other: Size) -> Option<Size> {
        Some(match (self, other) {
            (Size::Number(a), Size::Number(b)) => Size::Number(a.checked_mul(b)?),
            (Size::Number(0), _) | (_, Size::Number(0)) => Size::Number(0),
            (Size::Number(1), s) | (s, Size::Number(1)) => s,
            (a, b) => {
                let paren = |e: Expr| match e.kind {
                    ExprKind::Binary(..) => {
                        let span = e.span;
                        Expr::new(ExprKind::Paren(Box::new(e)), span)
                    }
                    _ => e,
                };
                Size::Expr(Expr::binary(BinOp::Mul, paren(a.expr()), paren(b.expr())))
            }
        })
    }

    fn expr(self) -> Expr {
        match self {
            // As INTEGER*8: products may be large.
            Size::Number(n) => Expr::new(
                ExprKind::Kind(Box::new(Expr::int(n, Span::NONE)), 8),
                Span::NONE,
            ),
            Size::Expr(e) => e,
        }
    }
}

impl Measure<'_> {
    /// The most values that some statements put on a tape, as an expression that can be
    /// evaluated on entry. `max` makes MAX(0, …) of an INTEGER*8.
    pub fn expression(
        &self,
        block: &[Stmt],
        tape: SymId,
        max: &mut dyn FnMut(Expr) -> Expr,
    ) -> Option<Expr> {
        self.size(block, tape, &mut Some(max)).map(Size::expr)
    }

    /// The most values, as a number.
    pub fn number(&self, block: &[Stmt], tape: SymId) -> Option<i64> {
        match self.size(block, tape, &mut None)? {
            Size::Number(n) => Some(n),
            Size::Expr(_) => None,
        }
    }

    fn size(
        &self,
        block: &[Stmt],
        tape: SymId,
        max: &mut Option<&mut dyn FnMut(Expr) -> Expr>,
    ) -> Option<Size> {
        let mut sum = Size::Number(0);
        for s in block {
            let own = self.of_one(s, tape, max)?;
            sum = sum.plus(own)?;
        }
        Some(sum)
    }

    fn of_one(
        &self,
        s: &Stmt,
        tape: SymId,
        max: &mut Option<&mut dyn FnMut(Expr) -> Expr>,
    ) -> Option<Size> {
        match &s.kind {
            StmtKind::Assign(target, _) => {
                Some(Size::Number(i64::from(target.base() == Some(tape))))
            }
            StmtKind::Call(callee, args) => {
                if !args.iter().any(|a| a.base() == Some(tape)) {
                    return Some(Size::Number(0));
                }
                // Three arguments for each tape stand at the end of the list.
                let bounds = self.bounds.get(&self.unit.symbols[*callee].name)?;
                let first = args.len().checked_sub(3 * bounds.len())?;
                let at = args.iter().position(|a| a.base() == Some(tape))?;
                let number = bounds.get(at.checked_sub(first)? / 3)?;
                number.map(Size::Number)
            }
            StmtKind::Do(d) => {
                let inner = self.size(&d.body, tape, max)?;
                if matches!(inner, Size::Number(0)) {
                    return Some(inner);
                }
                let DoControl::Count { from, to, step, .. } = &d.control else {
                    return None;
                };
                self.trips(from, to, step.as_ref(), max)?.times(inner)
            }
            _ => {
                // One of the arms; all of them are not less.
                let mut sum = Size::Number(0);
                for b in s.blocks() {
                    sum = sum.plus(self.size(b, tape, max)?)?;
                }
                if let StmtKind::LogicalIf(_, inner) = &s.kind {
                    sum = sum.plus(self.of_one(inner, tape, max)?)?;
                }
                Some(sum)
            }
        }
    }

    fn trips(
        &self,
        from: &Expr,
        to: &Expr,
        step: Option<&Expr>,
        max: &mut Option<&mut dyn FnMut(Expr) -> Expr>,
    ) -> Option<Size> {
        let number = |e: &Expr| constant::integer(self.unit, e);
        let step = step.map_or(Some(1), number)?;
        if step == 0 {
            return None;
        }
        if let (Some(a), Some(b)) = (number(from), number(to)) {
            let n = b.checked_sub(a)?.checked_add(step)?.checked_div(step)?;
            return Some(Size::Number(n.max(0)));
        }
        let max = max.as_mut()?;
        let known = |e: &Expr| {
            let mut known = matches!(type_of(self.unit, e), Some(Type::Integer(_)));
            e.walk(&mut |x| {
                known &= match &x.kind {
                    ExprKind::Var(s) => {
                        let symbol = &self.unit.symbols[*s];
                        matches!(symbol.class, Class::Parameter(_))
                            || symbol.is_variable()
                                && symbol.place == farfel_lang::ir::Place::Dummy
                                && !(self.changes)(*s)
                    }
                    ExprKind::Int(_)
                    | ExprKind::Binary(..)
                    | ExprKind::Unary(..)
                    | ExprKind::Paren(_) => true,
                    _ => false,
                };
            });
            known
        };
        if !known(from) || !known(to) || step.abs() != 1 {
            return None;
        }
        let paren = |e: &Expr| Expr::new(ExprKind::Paren(Box::new(e.clone())), Span::NONE);
        let (low, high) = if step > 0 { (from, to) } else { (to, from) };
        let length = Expr::binary(BinOp::Sub, paren(high), paren(low));
        let trips = Expr::binary(BinOp::Add, length, Expr::int(1, Span::NONE));
        Some(Size::Expr(max(trips)))
    }
}

/// The bounds of all forward sweeps, given with their tapes.
pub(super) fn bounds(sweeps: &[(Unit, Tapes)]) -> Bounds {
    let mut found = Bounds::new();
    // What calls itself has none; the others need one round for each level of calls.
    for _ in 0..=sweeps.len() {
        let mut changed = false;
        for (unit, tapes) in sweeps {
            let measure = Measure {
                unit,
                bounds: &found,
                changes: &|_| true,
            };
            let new: Vec<Option<i64>> = tapes
                .values()
                .map(|s| measure.number(&unit.body, s))
                .collect();
            if found.get(&unit.name) != Some(&new) && !calls_itself(unit) {
                found.insert(unit.name.clone(), new);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    found
}

fn calls_itself(unit: &Unit) -> bool {
    let mut found = unit.recursive;
    farfel_lang::ir::walk_block(&unit.body, &mut |s| {
        if let StmtKind::Call(callee, _) = &s.kind {
            found |= unit.symbols[*callee].name == unit.name;
        }
    });
    found
}
