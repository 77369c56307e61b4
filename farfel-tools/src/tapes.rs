//! Recognises tapes in Fortran source.
//!
//! Reverse mode marks its tapes ([`farfel_lang::ir::Symbol::tape`]), so that an adjoint that is
//! differentiated again treats them as stacks. When the code has been printed and parsed again, as
//! by a chain of commands, they are ordinary arrays.

use farfel_lang::ir::{
    Attribute, BinOp, Expr, ExprKind, Stmt, StmtKind, StorageClass, SymId, Unit, walk_block,
};
use std::collections::HashSet;

/// Marks the tapes of a unit: arrays that have the names which reverse mode uses, and that are only
/// used as stacks.
pub(crate) fn mark(unit: &mut Unit) {
    let found: Vec<SymId> = unit
        .symbols
        .iter()
        .filter(|(id, s)| {
            let open = |e: &Option<Expr>| e.as_ref().is_none_or(|e| e.kind == ExprKind::Star);
            let here = match s.storage_class {
                StorageClass::Local => s.has(Attribute::Allocatable),
                StorageClass::Dummy => true,
                _ => false,
            };
            let shape = s.dims.len() == 1 && s.dims.iter().all(|d| open(&d.upper));
            here && shape && s.name.starts_with("TAPE_") && is_stack(unit, *id)
        })
        .map(|(id, _)| id)
        .collect();
    for s in found {
        unit.symbols[s].tape = true;
    }
}

/// Whether an array is only used as `A(TOP)` or `A(TOP + 1)`, with a single TOP that is counted up
/// and down, or passed on together with it.
fn is_stack(unit: &Unit, array: SymId) -> bool {
    let mut tops: HashSet<SymId> = HashSet::new();
    let mut uses = 0usize;
    let mut known = 0usize;
    walk_block(&unit.body, &mut |s| {
        if matches!(s.kind, StmtKind::Allocation(_)) {
            return;
        }
        s.for_each_own_expr(&mut |e| {
            e.for_each_symbol(&mut |x| uses += usize::from(x == array));
            e.walk(&mut |e| {
                if let ExprKind::Element(x, subscripts) = &e.kind
                    && *x == array
                    && let [place] = subscripts.as_slice()
                    && let Some(top) = counted(place)
                {
                    tops.insert(top);
                    known += 1;
                }
            });
        });
        if let StmtKind::Call(_, args) = &s.kind {
            for pair in args.windows(2) {
                if let [ExprKind::Var(a), ExprKind::Var(top)] = [&pair[0].kind, &pair[1].kind]
                    && *a == array
                {
                    tops.insert(*top);
                    known += 1;
                }
            }
        }
    });
    let mut list = tops.iter();
    let (Some(top), None) = (list.next(), list.next()) else {
        return false;
    };
    uses == known && unit.symbols[*top].name.starts_with("TOP_") && counts(unit, *top)
}

/// Returns the variable of `TOP`, `TOP + 1`, `TOP - 2`.
fn counted(e: &Expr) -> Option<SymId> {
    match &e.kind {
        ExprKind::Var(top) => Some(*top),
        ExprKind::Binary(BinOp::Add | BinOp::Sub, a, b) => match (&a.kind, &b.kind) {
            (ExprKind::Var(top), ExprKind::Int(_)) => Some(*top),
            _ => None,
        },
        _ => None,
    }
}

/// Whether all assignments to a variable set it to 0, or to itself plus or minus a constant.
fn counts(unit: &Unit, top: SymId) -> bool {
    let mut fine = true;
    walk_block(&unit.body, &mut |s: &Stmt| {
        if let StmtKind::Assign(target, value) = &s.kind
            && target.base() == Some(top)
        {
            fine &= match &value.kind {
                ExprKind::Int(0) => true,
                _ => counted(value) == Some(top),
            };
        }
    });
    fine
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::Sources;
    use farfel_lang::resolve::resolve;
    use farfel_lang::syntax::{NoIncludes, parse};

    /// Returns the names of the tapes of a program's first unit.
    fn tapes(body: &str) -> Vec<String> {
        let text = format!(
            "      SUBROUTINE S(X, TAPE_R8, TOP_R8, MOST_R8)\n      DOUBLE PRECISION X, TAPE_R8(*)\n      INTEGER*8 TOP_R8, MOST_R8\n{body}      END\n"
        );
        let mut sources = Sources::new();
        let file = sources.add("s.f", text);
        let mut program = parse(&mut sources, file, None, &mut NoIncludes).program;
        resolve(&mut program);
        let unit = &mut program.units[0];
        mark(unit);
        let marked = unit.symbols.iter().filter(|(_, s)| s.tape);
        marked.map(|(_, s)| s.name.to_string()).collect()
    }

    #[test]
    fn stacks_are_tapes() {
        let push = "      TOP_R8 = TOP_R8 + 1\n      TAPE_R8(TOP_R8) = X\n";
        let pop = "      X = TAPE_R8(TOP_R8)\n      TOP_R8 = TOP_R8 - 1\n";
        let call = "      CALL T(X, TAPE_R8, TOP_R8, MOST_R8)\n";
        for body in [push, pop, call, &format!("{push}{call}{pop}")] {
            assert_eq!(tapes(body), ["TAPE_R8"], "{body}");
        }
    }

    #[test]
    fn other_arrays_are_none() {
        for body in [
            "      X = TAPE_R8(1)\n",
            "      TOP_R8 = 3\n      X = TAPE_R8(TOP_R8)\n",
            "      CALL T(TAPE_R8)\n",
            "      CALL T(TAPE_R8, X)\n",
            "      X = TAPE_R8(TOP_R8) + TAPE_R8(MOST_R8)\n",
            "      X = 1\n",
        ] {
            assert!(tapes(body).is_empty(), "{body}");
        }
    }
}
