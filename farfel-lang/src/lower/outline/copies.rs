//! Local copies of variables that cannot be arguments of a block's subroutine.
//!
//! COMMON variables are the same everywhere, and so are variables with several names. If a block is
//! differentiated with respect to one of them, or its derivative is requested, a local variable
//! replaces it in the opening and the closing:
//!
//! ```fortran
//!       X_V = X
//!       ADF(X_V)
//!       CALL UNIT_ADF1(X_V, Y_V)
//!       END ADF(D = TANGENT(Y_V))
//! ```
//!
//! The subroutine begins with `X = X_V` and ends with `Y_V = Y`.

use super::Outline;
use super::sharing::SharedVariables;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    AdBlock, AdItem, AdMode, Attributes, Expr, ExprKind, Origin, SpecKind, Stmt, StorageClass,
    SymId, Symbol, Unit,
};
use crate::lower::elements;
use crate::lower::import::Import;
use crate::source::Span;
use crate::types::{rank, type_of};

/// The copies that a block requires.
#[derive(Default)]
pub(super) struct LocalCopies {
    /// The statements before the block.
    pub before: Vec<Stmt>,
    /// The statements at the beginning of the block.
    pub first: Vec<Stmt>,
    /// The statements at the end of the block.
    pub last: Vec<Stmt>,
}

impl Outline<'_> {
    /// Replaces the variables in the opening and closing that cannot be arguments by local
    /// variables.
    pub(super) fn copies(
        &mut self,
        unit: &mut Unit,
        block: &mut AdBlock,
        tied: &[SharedVariables],
        span: Span,
    ) -> LocalCopies {
        let mut copies = LocalCopies::default();
        let (independents, dependents) = block.named();
        let stands = |s: SymId| {
            matches!(unit.symbols[s].storage_class, StorageClass::Common(_))
                || tied.iter().any(|t| t.members.contains(&s))
        };
        let mut all: Vec<SymId> = Vec::new();
        for s in independents.iter().chain(&dependents) {
            if stands(*s) && !all.contains(s) {
                all.push(*s);
            }
        }
        if all.iter().any(|s| independents.contains(s)) && block.mode == AdMode::Forward {
            copies.before = self.values_first(unit, block, span);
        }
        for s in all {
            let copy = self.stand_in(unit, s, span);
            if independents.contains(&s) {
                copies.before.extend(self.copy(unit, copy, s, span));
                copies.first.extend(self.copy(unit, s, copy, span));
            }
            if dependents.contains(&s) {
                copies.last.extend(self.copy(unit, copy, s, span));
            }
            for item in block.opening.iter_mut().chain(&mut block.closing) {
                replace(item, s, copy);
            }
        }
        copies
    }

    /// Adds a local variable like `s`.
    pub(super) fn stand_in(&mut self, unit: &mut Unit, s: SymId, span: Span) -> SymId {
        let of = unit.symbols[s].clone();
        let wanted = format!("{}_V", of.name);
        let name = unit.symbols.unused(&wanted, &|n| self.taken.contains(n));
        let copy = unit.symbols.add(Symbol {
            name,
            storage_class: StorageClass::Local,
            saved: false,
            init: None,
            external: false,
            typed: false,
            attributes: Attributes::default(),
            span,
            origin: Origin::Generated,
            ..of
        });
        unit.declare(copy);
        copy
    }

    /// Returns `to = from`, element by element.
    pub(super) fn copy(&self, unit: &mut Unit, to: SymId, from: SymId, span: Span) -> Vec<Stmt> {
        let dims = unit.symbols[from].dims.clone();
        let index = |k| elements::index(unit, k, &|n| self.taken.contains(n));
        let indices: Vec<SymId> = (1..=dims.len()).map(index).collect();
        let of = |s: SymId| match indices[..] {
            [] => Expr::var(s, span),
            _ => {
                let subscripts = indices.iter().map(|i| Expr::var(*i, span)).collect();
                Expr::element(s, subscripts, span)
            }
        };
        let body = vec![Stmt::assign(of(to), of(from), span)];
        elements::loops_over(&dims, &indices, body, span)
    }

    /// Computes the values of functions in the opening first: they may change variables that are
    /// copied before the block.
    fn values_first(&mut self, unit: &mut Unit, block: &mut AdBlock, span: Span) -> Vec<Stmt> {
        let calls = |unit: &Unit, e: &Expr| {
            let mut found = false;
            e.walk(&mut |e| {
                if let ExprKind::Call(s, _) = e.kind {
                    found |= unit.symbols[s].class.is_procedure();
                }
            });
            found
        };
        let mut any = false;
        for item in &block.opening {
            item.for_each_expr(&mut |e| any |= calls(unit, e));
        }
        let mut out = Vec::new();
        if !any {
            return out;
        }
        for item in &mut block.opening {
            let mut error = false;
            match item {
                AdItem::ImpliedDo(_) => item.for_each_expr(&mut |e| error |= calls(unit, e)),
                AdItem::Assign(a) => {
                    error |= calls(unit, &a.var);
                    let scalar = type_of(unit, &a.other).filter(|_| rank(unit, &a.other) == 0);
                    match scalar {
                        Some(ty) if !a.short => {
                            let name = unit.symbols.unused("V_G", &|n| self.taken.contains(n));
                            let value = unit.symbols.add(Symbol {
                                ..Symbol::variable(name, ty, span)
                            });
                            unit.declare(value);
                            let value = Expr::var(value, a.other.span);
                            let expr = std::mem::replace(&mut a.other, value.clone());
                            out.push(Stmt::assign(value, expr, span));
                        }
                        _ => error |= calls(unit, &a.other),
                    }
                }
            }
            if error {
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::AD_STORAGE,
                        span,
                        "a function in the opening could change the COMMON variable that the block is differentiated by",
                    )
                    .help("assign what the function gives to a variable before the block, and name that in the opening"),
                );
            }
        }
        out
    }

    /// Adds the variables of a block that share storage to the subroutine with its statements,
    /// where they share storage in the same way.
    pub(super) fn tie(
        unit: &Unit,
        outlined: &mut Unit,
        import: &mut Import,
        tied: &[SharedVariables],
    ) {
        for t in tied {
            for m in &t.members {
                match unit.symbols[*m].storage_class {
                    StorageClass::Common(_) => import.symbol(outlined, *m),
                    _ => import.add(outlined, *m, StorageClass::Local),
                };
            }
            let mut groups = Vec::new();
            for spec in &unit.specs {
                if let SpecKind::Equivalence(all) = &spec.kind {
                    let ours = all.iter().filter(|g| {
                        g.iter()
                            .filter_map(Expr::base)
                            .any(|s| t.members.contains(&s))
                    });
                    groups.extend(ours.cloned());
                }
            }
            let groups = groups
                .into_iter()
                .map(|g| g.into_iter().map(|e| import.expr(outlined, e)).collect())
                .collect();
            outlined.add_spec(SpecKind::Equivalence(groups), unit.span);
        }
    }
}

/// Replaces `old` by `new` where an item of the opening or closing refers to its derivative.
fn replace(item: &mut AdItem, old: SymId, new: SymId) {
    match item {
        AdItem::Assign(a) => {
            if let ExprKind::Var(s) | ExprKind::Element(s, _) = &mut a.var.kind
                && *s == old
            {
                *s = new;
            }
        }
        AdItem::ImpliedDo(d) => d.items.iter_mut().for_each(|i| replace(i, old, new)),
    }
}
