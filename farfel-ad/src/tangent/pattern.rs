//! Which tangents can be other than zero.
//!
//! What computes tangents in several directions computes their pattern if every tangent is
//! a LOGICAL, and is .TRUE. where one of those is that its value is made from. No number
//! that happens to be zero takes anything away. The branches that the program takes are
//! followed; those inside of intrinsic functions count as if all were taken.

use super::stmt::Gen;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{BinOp, Expr, ExprKind, Spec, SpecKind, StmtKind, SymId, Type, walk_block};
use std::collections::HashSet;

/// The type of patterns.
const PATTERN: Type = Type::Logical(1);

/// Are any of the tangents in an expression set?
pub(super) fn any_of(e: &Expr, is_tangent: &dyn Fn(SymId) -> bool) -> Expr {
    let none = || Expr::new(ExprKind::Logical(false), e.span);
    let mut found: Vec<Expr> = Vec::new();
    tangents_in(e, is_tangent, &mut found);
    found
        .into_iter()
        .reduce(|a, b| Expr::binary(BinOp::Or, a, b))
        .unwrap_or_else(none)
}

/// The tangents in an expression, each once.
fn tangents_in(e: &Expr, is_tangent: &dyn Fn(SymId) -> bool, found: &mut Vec<Expr>) {
    match &e.kind {
        ExprKind::Var(s) | ExprKind::Element(s, _) => {
            if is_tangent(*s) && !found.iter().any(|f| f.kind == e.kind) {
                found.push(e.clone());
            }
        }
        _ => {
            for c in e.children() {
                tangents_in(c, is_tangent, found);
            }
        }
    }
}

impl Gen<'_> {
    /// Declares the tangents LOGICAL.
    pub(super) fn make_logical(
        &mut self,
        tangents: &HashSet<SymId>,
    ) -> Result<(), Vec<Diagnostic>> {
        let mut faults = Vec::new();
        walk_block(&self.unit.body, &mut |s| {
            let StmtKind::Assign(target, value) = &s.kind else {
                return;
            };
            let mut constructed = false;
            value.walk(&mut |e| constructed |= matches!(e.kind, ExprKind::Array(_)));
            if constructed && target.base().is_some_and(|t| tangents.contains(&t)) {
                let fault = Diagnostic::error(
                    &rules::AD_UNSUPPORTED,
                    s.span,
                    "patterns do not go through array constructors",
                );
                let fault = fault.help("assign the elements one by one");
                faults.push(self.engine.asked_by(fault));
            }
        });
        if !faults.is_empty() {
            return Err(faults);
        }
        for t in tangents {
            self.unit.symbols[*t].ty = Some(PATTERN);
        }
        let mut specs = Vec::with_capacity(self.unit.specs.len());
        for mut spec in std::mem::take(&mut self.unit.specs) {
            match &mut spec.kind {
                // In the order in which they stood: bounds come before what has them.
                SpecKind::Type(ty, list) => {
                    let of = |s: SymId| match tangents.contains(&s) {
                        true => PATTERN,
                        false => *ty,
                    };
                    for run in list.chunk_by(|a, b| of(a.sym) == of(b.sym)) {
                        let Some(first) = run.first() else { continue };
                        specs.push(Spec {
                            kind: SpecKind::Type(of(first.sym), run.to_vec()),
                            span: spec.span,
                        });
                    }
                    continue;
                }
                SpecKind::Data(sets) => {
                    for set in sets {
                        let own = set.targets.iter().filter_map(Expr::base);
                        if own.clone().count() > 0 && own.clone().all(|s| tangents.contains(&s)) {
                            for (_, value) in &mut set.values {
                                value.kind = ExprKind::Logical(false);
                            }
                        }
                    }
                }
                _ => {}
            }
            specs.push(spec);
        }
        self.unit.specs = specs;
        Ok(())
    }
}
