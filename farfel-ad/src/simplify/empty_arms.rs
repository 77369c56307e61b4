//! Removes arms without statements from IF and SELECT CASE.
//!
//! | before | after |
//! |---|---|
//! | `IF (A) THEN … ELSE IF (B) THEN ELSE Y END IF` | `IF (A) THEN … ELSE IF (.NOT. B) THEN Y END IF` |
//! | `IF (A) THEN ELSE IF (B) THEN X … END IF` | `IF (.NOT. A) THEN IF (B) THEN X … END IF END IF` |
//! | `SELECT CASE (I) CASE (1) CASE DEFAULT Y END SELECT` | `IF (I .NE. 1) THEN Y END IF` |
//!
//! Every condition is evaluated where it was before, except for those of integers and logical values without division:
//! they may be evaluated together. An empty case stays if there are a CASE DEFAULT and other cases with statements.

use crate::legal::structure::{is_harmless, negation};
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{BinOp, Block, Expr, ExprKind, IfBlock, Select, Stmt, StmtKind, Unit};

/// Removes the empty arms of an IF. `pure` tells whether a condition need not be evaluated. Returns true if anything
/// was removed.
pub(crate) fn without_empty_arms(
    unit: &Unit,
    b: &mut IfBlock,
    pure: &dyn Fn(&Expr) -> bool,
) -> bool {
    let mut changed = false;
    if b.otherwise.as_ref().is_some_and(Vec::is_empty) {
        b.otherwise = None;
        changed = true;
    }
    while b.otherwise.is_none()
        && b.arms.len() > 1
        && let Some((condition, last)) = b.arms.last()
        && last.is_empty()
        && pure(condition)
    {
        b.arms.pop();
        changed = true;
    }
    // An arm with nothing behind it could only stay or go.
    let behind = |b: &IfBlock| b.arms.len() - usize::from(b.otherwise.is_none());
    let empty = |(_, body): &(Expr, Block)| body.is_empty();
    while let Some(at) = b.arms[..behind(b)].iter().rposition(empty) {
        let mut rest = b.arms.split_off(at + 1);
        let Some((condition, _)) = b.arms.pop() else {
            break;
        };
        let span = condition.span;
        let other = negation(unit, condition);
        let arm = match (b.otherwise.take(), rest.pop()) {
            (Some(otherwise), None) => (other, otherwise),
            (None, Some((next, body)))
                if rest.is_empty() && is_harmless(&other) && is_harmless(&next) =>
            {
                (binary(BinOp::And, other, next), body)
            }
            (otherwise, last) => {
                rest.extend(last);
                let inner = IfBlock {
                    arms: rest,
                    otherwise,
                    ..IfBlock::default()
                };
                (other, vec![Stmt::block_if(inner, span)])
            }
        };
        b.arms.push(arm);
        changed = true;
    }
    let arms = b.arms.len() - 1 + usize::from(b.otherwise.is_some());
    b.marks.truncate(arms);
    changed
}

/// Removes the empty cases of a SELECT CASE where nothing else would be selected instead. Returns true if anything was
/// removed.
pub(crate) fn without_empty_cases(select: &mut Select) -> bool {
    let before = select.cases.len();
    select
        .cases
        .retain(|c| c.values.is_some() || !c.body.is_empty());
    if select.cases.iter().all(|c| c.values.is_some()) {
        select.cases.retain(|c| !c.body.is_empty());
    }
    select.cases.len() != before
}

/// Returns the IF that takes the place of a SELECT CASE with one value, or with one empty case and CASE DEFAULT.
pub(crate) fn as_if(select: &mut Select) -> Option<StmtKind> {
    if select.name.is_some() || select.end.label.is_some() {
        return None;
    }
    let one = |values: &Option<Vec<Expr>>| match values.as_deref() {
        Some([value]) if matches!(value.kind, ExprKind::Int(_)) => Some(value.clone()),
        _ => None,
    };
    let (op, value, at) = match &select.cases[..] {
        [only] => (BinOp::Eq, one(&only.values)?, 0),
        [a, b] if a.body.is_empty() && b.values.is_none() => (BinOp::Ne, one(&a.values)?, 1),
        [a, b] if b.body.is_empty() && a.values.is_none() => (BinOp::Ne, one(&b.values)?, 0),
        _ => return None,
    };
    let body = std::mem::take(&mut select.cases[at].body);
    Some(StmtKind::If(IfBlock {
        arms: vec![(binary(op, select.selector.clone(), value), body)],
        end_span: select.end.span,
        ..IfBlock::default()
    }))
}
