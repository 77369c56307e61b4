//! ALLOCATE and DEALLOCATE of arrays with derivatives, which are allocated and deallocated with them.

use super::generator::Generator;
use farfel_lang::ir::{
    Allocation, Attribute, Block, Expr, ExprKind, IfBlock, Stmt, StmtKind, StorageClass, SymId,
    Symbol, walk_block_mut,
};

/// Whether a symbol is an array whose derivative the unit itself can allocate.
pub(super) fn is_allocated_here(s: &Symbol) -> bool {
    s.has(Attribute::Allocatable) && s.storage_class == StorageClass::Local
        || s.has(Attribute::Growing)
}

impl Generator<'_> {
    /// Adds the derivatives to the statements of a generated body, which allocate only the arrays so far.
    pub(super) fn allocate_derivatives(&mut self, body: &mut Block) {
        let found: Vec<(SymId, SymId)> = self
            .derivatives
            .iter()
            .filter(|(s, _)| is_allocated_here(&self.unit.symbols[**s]))
            .map(|(s, d)| (*s, *d))
            .collect();
        if found.is_empty() {
            return;
        }
        // A logical IF has no room for a second statement.
        walk_block_mut(body, &mut |s| {
            if let StmtKind::LogicalIf(c, inner) = &s.kind
                && matches!(inner.kind, StmtKind::Allocation(_))
            {
                s.kind = StmtKind::If(IfBlock {
                    arms: vec![(c.clone(), vec![(**inner).clone()])],
                    ..IfBlock::default()
                });
            }
        });
        self.in_block(body, &found);
    }

    fn in_block(&mut self, block: &mut Block, found: &[(SymId, SymId)]) {
        let mut out = Vec::with_capacity(block.len());
        for mut s in std::mem::take(block) {
            for b in s.blocks_mut() {
                self.in_block(b, found);
            }
            let mut zeros = Vec::new();
            if let StmtKind::Allocation(a) = &mut s.kind {
                zeros = self.extend(a, found);
            }
            out.push(s);
            out.extend(zeros);
        }
        *block = out;
    }

    /// Adds the derivatives to a statement. Returns the statements that set them to zero.
    fn extend(&mut self, a: &mut Allocation, found: &[(SymId, SymId)]) -> Vec<Stmt> {
        let mut zeros = Vec::new();
        let mut added = Vec::new();
        for o in &a.objects {
            let Some((_, d)) = o
                .base()
                .and_then(|base| found.iter().find(|(s, _)| *s == base))
            else {
                continue;
            };
            let mut of_derivative = o.clone();
            if let ExprKind::Var(s) | ExprKind::Element(s, _) = &mut of_derivative.kind {
                *s = *d;
            }
            added.push(of_derivative);
            if a.free || self.unit.symbols[*d].tape {
                continue;
            }
            let zero = self.zero_whole(*d);
            let span = zero.span;
            zeros.push(match a.control.is_empty() {
                true => zero,
                // With STAT=, the allocation may have failed.
                false => {
                    let there = self.call("ALLOCATED", vec![Expr::var(*d, span)]);
                    Stmt::logical_if(there, zero, span)
                }
            });
        }
        a.objects.append(&mut added);
        zeros
    }
}
