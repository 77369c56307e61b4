//! Gives tapes a fixed size, in adjoints that are differentiated again.
//!
//! A tape of unknown size begins small and grows (`reverse/growing.rs`). In code that is
//! differentiated again it cannot grow: it gets the maximum size, and the program stops when it is
//! full. The statements of subprograms that push and pop single values take the place of their calls:
//! analyses know more about these.

use crate::layout::{GROWING, MOST_TAPE};
use farfel_lang::Span;
use farfel_lang::ir::{
    Attribute, BinOp, Block, Expr, ExprKind, IfBlock, Name, Program, Stmt, StmtKind, SymId, Symbol,
    Unit, walk_block,
};
use std::collections::{HashMap, HashSet};

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
    let moves = program.units.iter();
    let moves: HashMap<Name, Move> = moves
        .filter_map(|u| Some((u.name.clone(), Move::of(u)?)))
        .collect();
    program
        .units
        .retain(|u| !growers.contains(&u.name) && !moves.contains_key(&u.name));
    for u in program.units.iter_mut().filter(|u| has_growing(u)) {
        let mut body = std::mem::take(&mut u.body);
        without_calls(u, &moves, &mut body);
        u.body = body;
    }
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
            without_components(u, s);
            // In a program that was parsed, its type implies ALLOCATABLE.
            u.declare(s);
        }
    }
    resized
}

/// Makes the components of a tape variables of their own: `TAPE_R8%TOP` becomes `TOP_R8`.
fn without_components(unit: &mut Unit, tape: SymId) {
    for component in unit.symbols[tape].component_names() {
        let Some(s) = unit.symbols.find(&component) else {
            continue;
        };
        let (tape, component) = component.split_once('%').unwrap_or_default();
        let suffix = tape.strip_prefix("TAPE").unwrap_or(tape);
        let name = format!("{component}{suffix}");
        let name = unit.symbols.unused(&name, &|_| false);
        unit.symbols.rename(s, name);
        unit.declare(s);
    }
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

/// What a subprogram does with a tape.
#[derive(Clone, Copy)]
enum Move {
    Push,
    Pop,
    MakeRoom,
}

impl Move {
    /// Recognises `CALL F_PUSH(X, TAPE)`, `CALL F_POP(X, TAPE)` and `CALL F_ROOM(N, TAPE)` by what they do.
    fn of(unit: &Unit) -> Option<Self> {
        let dummies: Option<Vec<SymId>> = unit.args.iter().map(|a| a.sym()).collect();
        let &[x, tape, top, _] = dummies?.as_slice() else {
            return None;
        };
        if unit.symbols[x].is_array() || !unit.symbols[tape].has(Attribute::Growing) {
            return None;
        }
        let is = |e: &Expr, s: SymId| matches!(e.kind, ExprKind::Var(v) if v == s);
        let plus = |e: &Expr, wanted: BinOp, n: &ExprKind| match &e.kind {
            ExprKind::Binary(op, a, b) => *op == wanted && is(a, top) && b.kind == *n,
            _ => false,
        };
        let one = &ExprKind::Int(1);
        let place = |e: &Expr, is_place: &dyn Fn(&Expr) -> bool| match &e.kind {
            ExprKind::Element(t, at) => *t == tape && at.len() == 1 && is_place(&at[0]),
            _ => false,
        };
        let assigns = |s: &Stmt| match &s.kind {
            StmtKind::Assign(to, value) => Some((to.clone(), value.clone())),
            _ => None,
        };
        let checks = |s: &Stmt| matches!(s.kind, StmtKind::LogicalIf(..));
        match unit.body.as_slice() {
            [check, stored, counted] if checks(check) => {
                let (stored, counted) = (assigns(stored)?, assigns(counted)?);
                let next = |e: &Expr| plus(e, BinOp::Add, one);
                let counts = is(&counted.0, top) && next(&counted.1);
                (counts && place(&stored.0, &next) && is(&stored.1, x)).then_some(Move::Push)
            }
            [counted, check] if checks(check) => {
                let counted = assigns(counted)?;
                let more = plus(&counted.1, BinOp::Add, &ExprKind::Var(x));
                (is(&counted.0, top) && more).then_some(Move::MakeRoom)
            }
            [loaded, counted] => {
                let (loaded, counted) = (assigns(loaded)?, assigns(counted)?);
                let counts = is(&counted.0, top) && plus(&counted.1, BinOp::Sub, one);
                let last = |e: &Expr| is(e, top);
                (counts && is(&loaded.0, x) && place(&loaded.1, &last)).then_some(Move::Pop)
            }
            _ => None,
        }
    }

    /// The statements that take the place of a call.
    fn statements(self, args: &[Expr], span: Span) -> Option<Block> {
        let (value, tape, top) = (args.first()?, args.get(1)?.base()?, args.get(2)?);
        let most = args.get(3)?;
        let place = Expr::element(tape, vec![top.clone()], span);
        let one = Expr::int(1, span);
        let counted = |op, n: &Expr| {
            let after = Expr::binary(op, top.clone(), n.clone());
            Stmt::assign(top.clone(), after, span)
        };
        let check = |op, need: Expr| {
            let full = Expr::binary(op, need, most.clone());
            Stmt::logical_if(full, full_tape(span), span)
        };
        Some(match self {
            Move::Push => vec![
                check(BinOp::Ge, top.clone()),
                counted(BinOp::Add, &one),
                Stmt::assign(place, value.clone(), span),
            ],
            Move::Pop => vec![
                Stmt::assign(value.clone(), place, span),
                counted(BinOp::Sub, &one),
            ],
            Move::MakeRoom => vec![
                check(
                    BinOp::Gt,
                    Expr::binary(BinOp::Add, top.clone(), value.clone()),
                ),
                counted(BinOp::Add, value),
            ],
        })
    }
}

/// Puts the statements of pushes and pops in the place of their calls.
fn without_calls(unit: &Unit, moves: &HashMap<Name, Move>, block: &mut Block) {
    let statements = |s: &Stmt| match &s.kind {
        StmtKind::Call(f, args) => {
            let made = moves.get(&unit.symbols[*f].name)?;
            made.statements(args, s.span)
        }
        _ => None,
    };
    let mut out = Vec::with_capacity(block.len());
    for mut s in std::mem::take(block) {
        for b in s.blocks_mut() {
            without_calls(unit, moves, b);
        }
        let mut made = match &mut s.kind {
            StmtKind::LogicalIf(condition, action) => statements(action).map(|then| {
                let block = IfBlock {
                    arms: vec![(condition.clone(), then)],
                    ..IfBlock::default()
                };
                vec![Stmt::block_if(block, s.span)]
            }),
            _ => statements(&s),
        };
        if let Some(first) = made.as_mut().and_then(|m| m.first_mut()) {
            first.label = s.label;
        }
        out.extend(made.unwrap_or_else(|| vec![s]));
    }
    *block = out;
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
