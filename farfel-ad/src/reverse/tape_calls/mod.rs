//! Subprograms that push and pop values, arrays and sections, and make room for several values, on tapes that grow.
//!
//! ```fortran
//!       CALL F_PUSH_R8(X, TAPE)            CALL F_POP_R8(X, TAPE)
//!       CALL F_PUSHN_R8(Y, N, TAPE)        CALL F_POPN_R8(Y, N, TAPE)
//!       CALL F_ROOM_R8(N, TAPE)
//! ```
//!
//! They take the place of a check for room, a counter, and an assignment or a nest of loops. A program has them if enough
//! is saved. They are small, so that compilers insert their statements where they are called. Innermost loops, in which
//! time is spent, have these statements themselves, as do tapes that do not grow, and units with parallel loops.
//!
//! Analyses know statements better than calls, so that these come last. [`groups`](super::groups) leaves the checks of
//! what is called where they are, and removes those of other values after them.

pub(super) mod arrays;
mod room;
mod subprograms;
pub(super) mod values;

use super::growing::Growers;
use super::tape::TapeKind;
use super::tape_size::SweptUnit;
use super::{AdjointEngine, Part};
use crate::parallel;
use crate::simplify::shorter::TapeSubprograms as Moves;
use arrays::{popped, pushed, pushed_with_room};
use farfel_lang::Span;
use farfel_lang::ir::{
    BinOp, Block, Class, Expr, ExprKind, Name, Program, Stmt, StmtKind, StorageClass, SymId,
    Symbol, Type, Unit, unused_name, walk_block,
};
use farfel_lang::types::type_of;
use std::collections::{BTreeMap, BTreeSet};
use subprograms::subprograms;

/// The number of loops that push arrays on one tape at least, if subprograms are to do it: these have 18 lines, and a call
/// takes the place of three lines or more.
const LEAST_LOOPS: usize = 5;

/// The number of values that are pushed on one tape at least, if subprograms are to do it.
const LEAST_PUSHES: usize = 8;

/// The number of times that room is made on one tape at least, if a subprogram is to do it: a call takes the place of two
/// or three lines.
const LEAST_ROOMS: usize = 4;

/// The number of values that there is room for after a call: what follows needs no check.
pub(super) const ROOM_AFTER: usize = 64;

/// The names of subprograms that push and pop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PushAndPop {
    pub push: Name,
    pub pop: Name,
}

/// The subprograms of a tape.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TapeSubprograms {
    /// Those for arrays.
    pub arrays: Option<PushAndPop>,
    /// Those for single values.
    pub values: Option<PushAndPop>,
    /// The one that makes room.
    pub room: Option<Name>,
    /// Whether it gets a number of type INTEGER*8, as products have.
    pub wide: bool,
}

/// The subprograms of each tape that has them.
pub(super) type TapeCalls = BTreeMap<TapeKind, TapeSubprograms>;

impl AdjointEngine {
    /// For each part, the subprograms that push and pop.
    pub(super) fn tape_calls(
        &self,
        closure: &Program,
        swept: &[SweptUnit],
        growers: &[Growers],
    ) -> Vec<TapeCalls> {
        let sequential = |p: &Part| !parallel::has_loops_in(&p.body);
        let parts = || self.parts.iter().zip(growers);
        let mut pushes = BTreeMap::new();
        for (s, (p, grow)) in swept.iter().zip(parts()) {
            if sequential(p) && !grow.is_empty() {
                for block in [&s.made.forward, &s.made.backward] {
                    count(s, grow, block, false, &mut pushes);
                }
            }
        }
        let named = named(pushes, &|n| self.has_unit(closure, n));
        let of_part = |(p, grow): (&Part, &Growers)| match sequential(p) {
            true => (grow.iter())
                .filter_map(|(kind, grower)| Some((*kind, named.get(grower)?.clone())))
                .collect(),
            false => TapeCalls::new(),
        };
        parts().map(of_part).collect()
    }

    /// The subprograms that push and pop.
    pub(super) fn tape_subprograms(&self, growers: &[Growers], calls: &[TapeCalls]) -> Vec<Unit> {
        let mut all = BTreeSet::new();
        for (grow, calls) in growers.iter().zip(calls) {
            all.extend((calls.iter()).filter_map(|(k, names)| Some((k, grow.get(k)?, names))));
        }
        let units =
            (all.into_iter()).flat_map(|(kind, grower, names)| subprograms(*kind, grower, names));
        units.collect()
    }
}

/// The subprograms of all tapes.
pub(super) fn moves(growers: &Growers, calls: &[TapeCalls]) -> Moves {
    let mut all = Moves::default();
    all.push.extend(growers.values().cloned());
    for own in calls.iter().flat_map(TapeCalls::values) {
        all.push.extend(own.room.clone());
        for both in own.arrays.iter().chain(&own.values) {
            all.push.insert(both.push.clone());
            all.pop.insert(both.pop.clone());
        }
    }
    all
}

/// The pushes on a tape.
#[derive(Default)]
struct Pushes {
    /// The loops that push arrays.
    loops: usize,
    /// The single values.
    values: usize,
    /// The times that room is made for something else.
    rooms: usize,
    /// Whether the number of values is of type INTEGER*8 once.
    wide: bool,
}

/// The names of the subprograms, by grower, where enough is pushed.
fn named(
    pushes: BTreeMap<Name, Pushes>,
    is_taken: &dyn Fn(&str) -> bool,
) -> BTreeMap<Name, TapeSubprograms> {
    let named = pushes.into_iter().map(|(grower, pushes)| {
        let (head, kind) = grower.rsplit_once("_GROW_").unwrap_or((&grower, ""));
        let name = |what: &str| unused_name(&format!("{head}_{what}_{kind}"), is_taken);
        let both = |push, pop| PushAndPop {
            push: name(push),
            pop: name(pop),
        };
        let (arrays, values) = (pushes.loops >= LEAST_LOOPS, pushes.values >= LEAST_PUSHES);
        let rooms = pushes.rooms + if arrays { 0 } else { pushes.loops };
        let names = TapeSubprograms {
            room: (rooms >= LEAST_ROOMS).then(|| name("ROOM")),
            wide: pushes.wide,
            arrays: arrays.then(|| both("PUSHN", "POPN")),
            values: values.then(|| both("PUSH", "POP")),
        };
        (grower, names)
    });
    named.collect()
}

/// Adds the pushes in a block, which may be in an innermost loop.
fn count(
    swept: &SweptUnit,
    growers: &Growers,
    block: &[Stmt],
    innermost: bool,
    found: &mut BTreeMap<Name, Pushes>,
) {
    let unit = &swept.builder.unit;
    for (i, s) in block.iter().enumerate() {
        let of = |kind: Option<TapeKind>| kind.and_then(|k| growers.get(&k));
        if let Some(push) = pushed(unit, &block[i..])
            && let Some(grower) = of(push.kind(unit))
        {
            found.entry(grower.clone()).or_default().loops += push.loops;
        } else if !innermost
            && let Some(push) = values::pushed(unit, &block[i..])
            && let Some(grower) = of(push.kind(unit))
        {
            found.entry(grower.clone()).or_default().values += 1;
        } else if !innermost
            && let Some(room) = room::made(unit, &block[i..])
            && let Some(grower) = of(swept.tapes.kind_of(room.top))
        {
            let found = found.entry(grower.clone()).or_default();
            found.rooms += 1;
            found.wide |= type_of(unit, &room.number) == Some(Type::Integer(8));
        }
        let innermost = innermost || is_innermost(unit, s, &|_| false);
        for b in s.blocks() {
            count(swept, growers, b, innermost, found);
        }
    }
}

/// Whether a statement is a loop without loops and without calls of subprograms, except of those that enlarge tapes.
pub(super) fn is_innermost(unit: &Unit, s: &Stmt, is_grower: &dyn Fn(&Name) -> bool) -> bool {
    let StmtKind::Do(d) = &s.kind else {
        return false;
    };
    let mut innermost = true;
    walk_block(&d.body, &mut |s| match &s.kind {
        StmtKind::Do(_) => innermost = false,
        StmtKind::Call(f, _) => innermost &= is_grower(&unit.symbols[*f].name),
        _ => {}
    });
    innermost
}

/// What there must be room for, if a subprogram is to push something: [`ROOM_AFTER`] values more.
fn with_room_after(after: &Expr) -> Expr {
    let more = i64::try_from(ROOM_AFTER).unwrap_or(0);
    Expr::binary(BinOp::Add, after.clone(), Expr::int(more, after.span))
}

/// Makes a check leave room for what follows the push.
pub(super) fn leave_room_after(check: &mut Stmt) {
    let StmtKind::LogicalIf(full, _) = &mut check.kind else {
        return;
    };
    match &mut full.kind {
        ExprKind::Binary(BinOp::Gt, need, _) => **need = with_room_after(need),
        ExprKind::Binary(op @ BinOp::Ge, top, _) => {
            let one = Expr::int(1, top.span);
            **top = with_room_after(&Expr::binary(BinOp::Add, (**top).clone(), one));
            *op = BinOp::Gt;
        }
        _ => {}
    }
}

/// Makes what pushes and pops calls.
pub(super) fn call(unit: &mut Unit, growers: &Growers, calls: &TapeCalls) {
    let mut body = std::mem::take(&mut unit.body);
    Caller {
        unit,
        growers,
        calls,
    }
    .block(&mut body, false);
    unit.body = body;
}

struct Caller<'a> {
    unit: &'a mut Unit,
    growers: &'a Growers,
    calls: &'a TapeCalls,
}

/// A call that takes the place of some statements.
struct Replacement {
    name: Name,
    /// What is pushed or popped, as the subprogram gets it.
    values: Vec<Expr>,
    tape: SymId,
    top: SymId,
    most: SymId,
    statements: usize,
}

impl Caller<'_> {
    fn block(&mut self, block: &mut Block, innermost: bool) {
        let mut at = 0;
        while at < block.len() {
            let grower = |n: &Name| self.growers.values().any(|g| g == n);
            let inner = innermost || is_innermost(self.unit, &block[at], &grower);
            for b in block[at].blocks_mut() {
                self.block(b, inner);
            }
            if block[at].label.is_none()
                && let Some(r) = self.replacement(&block[at..], innermost)
                && let Some(subprogram) = procedure(self.unit, &r.name)
            {
                let span = block[at].span;
                let mut args = r.values;
                args.extend([r.tape, r.top, r.most].map(|s| Expr::var(s, span)));
                let call = Stmt::call(subprogram, args, span);
                block.splice(at..at + r.statements, [call]);
            } else {
                self.count_first(&mut block[at..]);
            }
            at += 1;
        }
    }

    /// Counts values before the check for them, which is shorter.
    fn count_first(&self, block: &mut [Stmt]) {
        let [check, counted, ..] = block else {
            return;
        };
        let (StmtKind::LogicalIf(full, grow), StmtKind::Assign(top, after)) =
            (&mut check.kind, &counted.kind)
        else {
            return;
        };
        let (ExprKind::Binary(BinOp::Gt, need, _), StmtKind::Call(f, args)) =
            (&mut full.kind, &mut grow.kind)
        else {
            return;
        };
        let name = &self.unit.symbols[*f].name;
        if let [_, _, _, wanted] = args.as_mut_slice()
            && self.growers.values().any(|g| g == name)
            && check.label.is_none()
            && counted.label.is_none()
            && need.equals_ignoring_spans(after)
        {
            **need = top.clone();
            *wanted = top.clone();
            block.swap(0, 1);
        }
    }

    fn replacement(&self, block: &[Stmt], innermost: bool) -> Option<Replacement> {
        self.of_value(block, innermost)
            .or_else(|| self.of_array(block))
            .or_else(|| self.of_room(block).filter(|_| !innermost))
    }

    fn of_value(&self, block: &[Stmt], innermost: bool) -> Option<Replacement> {
        let unit = &*self.unit;
        let made = values::pushed_with_room(unit, block)
            .or_else(|| values::popped(unit, block).filter(|_| !innermost))?;
        let names = self.calls.get(&made.kind(unit)?)?.values.as_ref()?;
        Some(Replacement {
            name: if made.push { &names.push } else { &names.pop }.clone(),
            values: vec![made.value],
            tape: made.tape,
            top: made.top,
            most: self.most(made.tape)?,
            statements: if made.push { 3 } else { 2 },
        })
    }

    fn of_array(&self, block: &[Stmt]) -> Option<Replacement> {
        let unit = &*self.unit;
        let push = pushed_with_room(unit, block);
        let is_push = push.is_some();
        let made = push.or_else(|| popped(unit, block))?;
        let names = self.calls.get(&made.kind(unit)?)?.arrays.as_ref()?;
        Some(Replacement {
            name: if is_push { &names.push } else { &names.pop }.clone(),
            values: vec![made.array, made.number],
            tape: made.tape,
            top: made.top,
            most: self.most(made.tape)?,
            statements: if is_push { 3 } else { 2 },
        })
    }

    fn of_room(&self, block: &[Stmt]) -> Option<Replacement> {
        let unit = &*self.unit;
        let made = room::made(unit, block)?;
        let tape = unit.symbols[made.top].name.strip_suffix("%TOP")?;
        let tape = unit.symbols.find(tape)?;
        let kind = TapeKind::of(unit.symbols[tape].ty?);
        let calls = self.calls.get(&kind)?;
        Some(Replacement {
            name: calls.room.clone()?,
            values: vec![match calls.wide {
                true => room::wide(unit, made.number),
                false => made.number,
            }],
            tape,
            top: made.top,
            most: self.most(tape)?,
            statements: 2,
        })
    }

    /// The number of values that a growing tape has room for.
    fn most(&self, tape: SymId) -> Option<SymId> {
        let symbols = &self.unit.symbols;
        let [_, most] = symbols[tape].component_names();
        symbols.find(&most)
    }
}

/// The symbol of a subprogram; `None` if something else has its name.
fn procedure(unit: &mut Unit, name: &Name) -> Option<SymId> {
    let Some(found) = unit.symbols.find(name) else {
        return Some(unit.symbols.add(Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            ..Symbol::new(name.clone(), Span::NONE)
        }));
    };
    let symbol = &unit.symbols[found];
    let same = symbol.class == Class::Subroutine && symbol.storage_class == StorageClass::Global;
    same.then_some(found)
}
