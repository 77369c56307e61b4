//! Blocks whose number of directions is not a constant.
//!
//! The bounds of the tangents are then known only when the block begins. So the whole block becomes
//! a subroutine that receives the number as an argument:
//!
//! ```fortran
//!       ND_G = NCOLOR + 1
//!       CALL UNIT_SWEEP1(ND_G, X, Y, …)
//! ```
//!
//! In the subroutine, `DIRECTIONS = ND_G` works like a constant.

use super::Outline;
use crate::ir::{
    AdBlock, AdMode, Expr, ExprKind, Stmt, StmtKind, SymId, Symbol, Type, Unit, unused_name,
};
use crate::storage::constant::integer;

impl Outline<'_> {
    /// Returns the number of directions of a block, if it still has to become an argument.
    pub(super) fn unbound_count(&self, unit: &Unit, stmt: &Stmt) -> Option<Expr> {
        let StmtKind::Ad(block) = &stmt.kind else {
            return None;
        };
        let count = &block.vector_mode.as_ref()?.count;
        let bound = |s: SymId| self.counts.contains(&(unit.name.clone(), s));
        let known = match count.kind {
            ExprKind::Var(s) if bound(s) => true,
            _ => integer(unit, count).is_some(),
        };
        (!known).then(|| count.clone())
    }

    /// Turns a whole block into a subroutine. Adds the statements that call it to `out`.
    pub(super) fn sweep(
        &mut self,
        unit: &mut Unit,
        mut stmt: Stmt,
        count: Expr,
        out: &mut Vec<Stmt>,
    ) {
        let span = stmt.span;
        let label = stmt.label.take();
        let name = unit.symbols.unused("ND_G", &|n| self.taken.contains(n));
        let variable = Symbol::variable(name, Type::INTEGER, span);
        let number = unit.symbols.add(variable);
        unit.declare(number);
        let mut end_span = span;
        if let StmtKind::Ad(block) = &mut stmt.kind {
            end_span = block.end_span;
            if let Some(vector_mode) = &mut block.vector_mode {
                vector_mode.count = Expr::var(number, count.span);
            }
        }
        let name = unused_name(&format!("{}_SWEEP1", unit.name), &|n| {
            self.taken.contains(n)
        });
        self.taken.insert(name.clone());
        let mut all = AdBlock {
            mode: AdMode::Forward,
            vector_mode: None,
            opening: Vec::new(),
            body: vec![stmt],
            closing: Vec::new(),
            end_span,
        };
        let (sweep, _) = self.extract(unit, &mut all, name.clone(), span);
        let position = match all.body.first().map(|s| &s.kind) {
            Some(StmtKind::Call(_, args)) => {
                args.iter().position(|a| a.kind == ExprKind::Var(number))
            }
            _ => None,
        };
        let dummy = position.and_then(|p| sweep.args.get(p)?.sym());
        self.counts.extend(dummy.map(|d| (name, d)));
        self.new.push(sweep);
        out.push(Stmt {
            label,
            ..Stmt::assign(Expr::var(number, span), count, span)
        });
        out.append(&mut all.body);
    }
}
