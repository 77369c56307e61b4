//! Adds the terms of a product rule to an element one after the other.
//!
//! The tangent of `Y(I) = Y(I) + A*X(I)` is `Y_G(I) = Y_G(I) + (A_G*X(I) + A*X_G(I))`, and compilers keep the
//! parentheses. Without them, two instructions that multiply and add suffice for it instead of three. A sum that a loop
//! adds up keeps them: there, each iteration waits for the one before, and with them only for one addition.

use super::signs::terms_of;
use farfel_lang::ir::{BinOp, Block, DoControl, Expr, ExprKind, Stmt, StmtKind, SymId, Unit};
use std::collections::HashSet;

/// Rewrites increments of some arrays, which hold derivatives.
pub(crate) fn add_terms_in_turn(unit: &mut Unit, derivatives: &HashSet<SymId>) {
    block(&mut unit.body, None, derivatives);
}

/// Rewrites a block. `varying` are the variables that the innermost loop around it changes.
fn block(b: &mut Block, varying: Option<&HashSet<SymId>>, derivatives: &HashSet<SymId>) {
    for s in b {
        if let Some(varying) = varying {
            rewrite(s, varying, derivatives);
        }
        let own = match &s.kind {
            StmtKind::Do(d) => {
                let mut own = HashSet::new();
                assigned(&d.body, &mut own);
                if let DoControl::Count { var, .. } = d.control {
                    own.insert(var);
                }
                Some(own)
            }
            _ => None,
        };
        for inner in s.blocks_mut() {
            block(inner, own.as_ref().or(varying), derivatives);
        }
    }
}

/// The variables that a block assigns, other than in loops in it: each statement is looked at for one loop only.
fn assigned(block: &[Stmt], found: &mut HashSet<SymId>) {
    for s in block {
        match &s.kind {
            StmtKind::Assign(target, _) => found.extend(target.base()),
            StmtKind::LogicalIf(_, inner) => assigned(std::slice::from_ref(inner), found),
            StmtKind::Do(_) => {}
            _ => s.blocks().into_iter().for_each(|b| assigned(b, found)),
        }
    }
}

fn rewrite(s: &mut Stmt, varying: &HashSet<SymId>, derivatives: &HashSet<SymId>) {
    let StmtKind::Assign(target, value) = &mut s.kind else {
        return;
    };
    let ExprKind::Element(array, _) = &target.kind else {
        return;
    };
    let mut varies = false;
    for subscript in target.selectors() {
        subscript.for_each_symbol(&mut |v| varies |= varying.contains(&v));
    }
    if !varies || !derivatives.contains(array) {
        return;
    }
    let ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), before, added) = &value.kind else {
        return;
    };
    let mut terms = Vec::new();
    terms_of(without_parentheses(added), *op == BinOp::Add, &mut terms);
    let is_product = |(_, e): &(bool, Expr)| matches!(e.kind, ExprKind::Binary(BinOp::Mul, ..));
    if terms.len() < 2 || !terms.iter().all(is_product) || !before.equals_ignoring_spans(target) {
        return;
    }
    let sum = terms
        .into_iter()
        .fold((**before).clone(), |sum, (plus, term)| {
            let op = if plus { BinOp::Add } else { BinOp::Sub };
            Expr::binary(op, sum, term)
        });
    *value = sum;
}

fn without_parentheses(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Paren(a) => without_parentheses(a),
        _ => e,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::ir::walk_block;
    use farfel_lang::print::print_expr;
    use farfel_lang::{Sources, resolve::resolve, syntax};

    /// What a loop over I assigns after the pass, where YG and SG hold derivatives.
    fn assigned(statement: &str) -> String {
        let text = format!(
            "      SUBROUTINE S(N, A, B, X, YG, SG, Z)\n      REAL A, B, X(N), YG(N), SG, Z(N)\n      IX = 1\n      \
             DO I = 1, N\n        IX = IX + 2\n        {statement}\n      END DO\n      END\n"
        );
        let mut sources = Sources::new();
        let file = sources.add("s.f", text);
        let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
        let errors = resolve(&mut parsed.program);
        assert!(errors.is_empty(), "{errors:?}");
        let unit = &mut parsed.program.units[0];
        let derivatives = ["YG", "SG"].map(|n| unit.symbols.find(n).unwrap());
        add_terms_in_turn(unit, &derivatives.into_iter().collect());
        let mut last = String::new();
        walk_block(&unit.body, &mut |s| {
            if let StmtKind::Assign(_, value) = &s.kind {
                last = print_expr(unit, value);
            }
        });
        last
    }

    #[test]
    fn terms_are_added_in_turn() {
        let rewritten = [
            (
                "YG(I) = YG(I) + (A*X(I) + B*Z(I))",
                "YG(I) + A*X(I) + B*Z(I)",
            ),
            (
                "YG(I) = YG(I) - (A*X(I) - B*Z(I))",
                "YG(I) - A*X(I) + B*Z(I)",
            ),
            (
                "YG(IX) = YG(IX) + (A*X(I) + B*Z(I))",
                "YG(IX) + A*X(I) + B*Z(I)",
            ),
        ];
        for (before, after) in rewritten {
            assert_eq!(assigned(before), after);
        }
    }

    #[test]
    fn other_sums_keep_their_parentheses() {
        let kept = [
            // Sums that the loop adds up.
            "SG = SG + (A*X(I) + B*Z(I))",
            "YG(N) = YG(N) + (A*X(I) + B*Z(I))",
            // Not a derivative, not an increment of the same element, not products.
            "Z(I) = Z(I) + (A*X(I) + B*YG(I))",
            "YG(I) = YG(I - 1) + (A*X(I) + B*Z(I))",
            "YG(I) = YG(I) + (X(I) + B*Z(I))",
        ];
        for statement in kept {
            let value = statement.split_once(" = ").unwrap().1;
            assert_eq!(assigned(statement), value);
        }
    }
}
