//! Gives tapes a fixed size, in adjoints that are differentiated again.
//!
//! A tape of unknown size begins small and grows (`reverse/growing.rs`). In code that is
//! differentiated again it cannot grow: it gets the maximum size, and the program stops when it is
//! full.

use crate::layout::{GROWING, MOST_TAPE};
use farfel_lang::Span;
use farfel_lang::ir::{
    Attribute, Block, Expr, ExprKind, Name, Program, Stmt, StmtKind, SymId, Symbol, Unit,
    walk_block,
};
use std::collections::HashSet;

/// Whether there is a tape that grows.
pub(crate) fn grows(program: &Program) -> bool {
    program.units.iter().any(has_growing)
}

fn has_growing(unit: &Unit) -> bool {
    let grows = |s: &Symbol| s.has(Attribute::Growing);
    unit.symbols.iter().any(|(_, s)| grows(s))
}

/// Gives all tapes their maximum size. Returns the units that receive such tapes as arguments:
/// their interfaces change.
pub(crate) fn fix(program: &mut Program) -> HashSet<Name> {
    let gets = |u: &&Unit| {
        let mut args = u.args.iter().filter_map(|a| a.sym());
        args.any(|s| u.symbols[s].has(Attribute::Growing))
    };
    let resized = program.units.iter().filter(gets);
    let resized = resized.map(|u| u.name.clone()).collect();
    let growers = program.units.iter().filter(|u| is_grower(u));
    let growers: HashSet<Name> = growers.map(|u| u.name.clone()).collect();
    program.units.retain(|u| !growers.contains(&u.name));
    for u in program.units.iter_mut().filter(|u| has_growing(u)) {
        let mut body = std::mem::take(&mut u.body);
        let mut kept = HashSet::new();
        in_block(u, &growers, &mut kept, &mut body);
        forget(&kept, &mut body);
        u.body = body;
        for s in kept {
            u.undeclare(s);
            let s = &mut u.symbols[s];
            (s.tape, s.saved, s.init) = (false, false, None);
        }
        let grow = u.symbols.iter().filter(|(_, s)| s.has(Attribute::Growing));
        for s in grow.map(|(id, _)| id).collect::<Vec<_>>() {
            u.symbols[s].attributes.remove(Attribute::Growing);
            // In a program that was parsed, its type implies ALLOCATABLE.
            u.declare(s);
        }
    }
    resized
}

/// Whether this unit enlarges a tape that is its argument.
fn is_grower(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Allocation(a) = &s.kind {
            let tape = a.objects.iter().filter_map(Expr::base);
            found |= tape
                .map(|t| &unit.symbols[t])
                .any(|t| t.has(Attribute::Growing) && !t.has(Attribute::Allocatable));
        }
    });
    found
}

/// Replaces growing tapes in a block. Adds to `kept` the variables that keep the size of a tape
/// from call to call.
fn in_block(unit: &Unit, growers: &HashSet<Name>, kept: &mut HashSet<SymId>, block: &mut Block) {
    let is_grower = |s: SymId| growers.contains(&unit.symbols[s].name);
    for at in 0..block.len() {
        let (before, rest) = block.split_at_mut(at);
        let Some(s) = rest.first_mut() else { continue };
        for b in s.blocks_mut() {
            in_block(unit, growers, kept, b);
        }
        match &mut s.kind {
            StmtKind::LogicalIf(_, action) => {
                if matches!(&action.kind, StmtKind::Call(f, _) if is_grower(*f)) {
                    **action = full_tape(action.span);
                }
            }
            StmtKind::Allocation(a) => {
                let sizes = a.objects.iter_mut().filter_map(|o| match &mut o.kind {
                    ExprKind::Element(t, sizes) if unit.symbols[*t].has(Attribute::Growing) => {
                        sizes.last_mut()
                    }
                    _ => None,
                });
                for size in sizes {
                    largest(size, kept, before);
                }
            }
            _ => {}
        }
    }
}

/// Handles `ALLOCATE (TAPE(MOST))` after `MOST = MIN(LAST, limit)`: both get the limit, because the
/// variable is not known where a reverse sweep allocates the tape again.
fn largest(size: &mut Expr, kept: &mut HashSet<SymId>, before: &mut [Stmt]) {
    let given = before.iter_mut().rev().find_map(|s| match &mut s.kind {
        StmtKind::Assign(target, value) if target.equals_ignoring_spans(size) => Some(value),
        _ => None,
    });
    let Some(value) = given else { return };
    if let ExprKind::Call(_, args) = &mut value.kind
        && let [
            Expr {
                kind: ExprKind::Var(last),
                ..
            },
            limit,
        ] = args.as_slice()
    {
        kept.insert(*last);
        let mut limit = limit.clone();
        // A tape that may grow beyond available memory cannot have its maximum size from the
        // beginning.
        let most = i64::try_from(MOST_TAPE).unwrap_or(i64::MAX);
        if let ExprKind::Kind(number, _) = &limit.kind
            && let ExprKind::Int(n) = number.kind
            && n > most
        {
            let times = i64::try_from(GROWING).unwrap_or(1);
            limit = Expr::long(n / times, limit.span);
        }
        *value = limit;
    }
    *size = value.clone();
}

/// Removes assignments to some variables.
fn forget(gone: &HashSet<SymId>, block: &mut Block) {
    block.retain_mut(|s| {
        s.blocks_mut().into_iter().for_each(|b| forget(gone, b));
        !matches!(&s.kind, StmtKind::Assign(target, _) if target.base().is_some_and(|t| gone.contains(&t)))
    });
}

/// Returns the statement that ends the program when a tape is full.
pub(crate) fn full_tape(span: Span) -> Stmt {
    let text = "Farfel: tape is full";
    Stmt::stop(Expr::text(text, span), span)
}
