//! Tapes whose size nobody knows when the head begins.
//!
//! One that is large enough for everything takes address space from the system, page by page,
//! and gives it back: microseconds, more than a small subprogram takes altogether. So the head
//! remembers how much its last call has kept, and takes a little more than that. When it is not
//! enough, pushes only count, and the forward sweep is carried out again with a tape of the
//! largest size:
//!
//! ```fortran
//!       AGAIN = 1
//!       X_COPY = X
//!       DO WHILE (AGAIN .GE. 0)
//!         TOP = 0
//!         MOST = 134217728
//!         IF (AGAIN .EQ. 1 .AND. LAST .GE. 0) MOST = MIN(LAST + LAST/4 + 64, 134217728)
//!         ALLOCATE (TAPE(MOST))
//!         ... the forward sweep ...
//!         IF (TOP .LE. MOST) THEN
//!           AGAIN = -1
//!         ELSE IF (AGAIN .EQ. 0) THEN
//!           STOP 'Farfel: the tape of an ADR block is full'
//!         ELSE
//!           AGAIN = 0
//!           DEALLOCATE (TAPE)
//!           X = X_COPY
//!         END IF
//!       END DO
//!       LAST = MAX(LAST, TOP)
//! ```
//!
//! This can be done where the head can put back what its forward sweep changes: [`state`]. Two
//! threads may write the size at a time; whichever is kept, the next call comes right.
//!
//! Adjoints that are differentiated again have the simple form: `legal/one_try.rs` puts it back.

use super::effects::Besides;
use super::made::Rooms;
use super::maker::Maker;
use super::tape::{Kind, Op, Tapes, Vars};
use super::tape_size::Swept;
use super::{Part, World};
use crate::legal::one_try::full_tape;
use crate::locations::{Set, Space, common_members};
use farfel_lang::Span;
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{
    Allocation, BinOp, Block, Expr, ExprKind, Name, Place, Program, Stmt, StmtIds, StmtKind, SymId,
    Symbol, Type, Unit, walk_block,
};
use farfel_lang::storage::constant::{extents, integer};
use std::collections::{BTreeMap, BTreeSet};

/// What a head has to put back before it carries out its forward sweep again.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Variables that it declares.
    own: Vec<SymId>,
    /// COMMON variables that it does not declare, by number.
    shared: Vec<usize>,
}

impl State {
    /// The variables, after the COMMON blocks that the head lacks have been declared there.
    pub fn vars(&self, world: &World, closure: &Program, make: &mut Maker) -> Vec<SymId> {
        let mut found = self.own.clone();
        let mut blocks: BTreeMap<&Name, Vec<SymId>> = BTreeMap::new();
        for k in &self.shared {
            let v = &world.commons.vars[*k];
            let Some(from) = owner(world, closure, &v.unit) else {
                continue;
            };
            let members = blocks.entry(&v.block).or_insert_with(|| {
                let all = common_members(from).remove(&v.block).unwrap_or_default();
                make.import(from, &v.block, &all)
            });
            found.extend(members.get(v.position));
        }
        found
    }
}

/// The unit that tells how a COMMON block is divided: one of the program, or a tangent.
fn owner<'a>(world: &'a World, closure: &'a Program, name: &Name) -> Option<&'a Unit> {
    let mut tangents = world.parts.iter().filter(|p| p.name == *name);
    let tangent = || tangents.next().map(|p| &p.make.unit);
    closure.unit(name).or_else(tangent)
}

/// The tapes of unknown size and, where heads can carry out their forward sweeps again, what
/// each has to put back.
pub(super) fn open(
    world: &World,
    closure: &Program,
    swept: &[Swept],
    rooms: &Rooms,
) -> (Vec<Kind>, BTreeMap<usize, State>) {
    let mut open: BTreeSet<Kind> = BTreeSet::new();
    let mut states = BTreeMap::new();
    let late = |s: &Swept| {
        pushes(&s.made.backward, &s.tapes) || sweeps_forward(world, &s.make.unit, &s.made.backward)
    };
    // Heads share what they call, and nobody calls all of them.
    let several = world.order.heads && rooms.len() > 1;
    if several || swept.iter().any(late) {
        return Default::default();
    }
    for (root, (kinds, rooms)) in rooms {
        let unknown = kinds.iter().zip(rooms).filter(|(_, r)| r.is_none());
        let unknown: Vec<Kind> = unknown.map(|(k, _)| *k).collect();
        if unknown.is_empty() {
            continue;
        }
        // Where one is not able to, none is: they share what they call.
        let Some(state) = state(world, closure, &world.parts[*root]) else {
            return Default::default();
        };
        open.extend(unknown);
        states.insert(*root, state);
    }
    (open.into_iter().collect(), states)
}

/// The variables that the forward sweep of a head reads and changes: to be put back before it
/// is carried out again. None where that cannot be done.
pub(super) fn state(world: &World, closure: &Program, part: &Part) -> Option<State> {
    let (unit, space) = (&part.make.unit, &part.space);
    let touched = world.touched_in(unit, space, &part.body);
    if world.keeps_state || touched.besides == Besides::Once {
        return None;
    }
    let mut read = Set::with_capacity(space.len);
    for s in &part.body {
        s.walk(&mut |s| world.effects.reads(unit, space, s, &mut read));
    }
    let both = |loc: usize| touched.assigned.contains(loc) && read.contains(loc);
    let shared = |k: &usize| both(space.common(*k)) && !world.derivative_commons.contains(*k);
    let mut shared: Vec<usize> = (0..world.commons.vars.len()).filter(shared).collect();
    let mut own = Vec::new();
    for (id, s) in unit.symbols.iter() {
        let loc = space.loc(id);
        let local = !matches!(s.place, Place::Dummy | Place::Common(_));
        if !s.is_variable() || local || part.make.derivatives.contains(&id) || !both(loc) {
            continue;
        }
        let open = s
            .dims
            .iter()
            .any(|d| d.upper.as_ref().is_none_or(|u| u.kind == ExprKind::Star));
        if open || !can_be_kept(unit, s) || space.tangled.contains(loc) {
            return None;
        }
        shared.retain(|k| space.common(*k) != loc);
        own.push(id);
    }
    // Any unit's declaration will do where all divide the block alike.
    let told = |k: &usize| {
        let v = &world.commons.vars[*k];
        let from = owner(world, closure, &v.unit);
        let is = from.is_some_and(|u| {
            let s = &u.symbols[v.sym];
            can_be_kept(u, s) && extents(u, &s.dims).is_some()
        });
        is && !world.commons.irregular.contains(&v.block)
    };
    shared.iter().all(told).then_some(State { own, shared })
}

/// Can a variable be kept in another one of its type?
pub(super) fn can_be_kept(unit: &Unit, s: &Symbol) -> bool {
    let known = |l: &Expr| integer(unit, l).is_some();
    s.attributes.iter().count() == 0 && s.ty.is_some() && s.length.as_ref().is_none_or(known)
}

/// Does any unit assign local variables that keep their values?
pub(super) fn keeps_state(world: &World, units: &[&Unit]) -> bool {
    units.iter().any(|u| {
        let space = Space::of(u, &world.commons);
        if space.saved.is_clear() {
            return false;
        }
        let touched = world.touched_in(u, &space, &u.body);
        let saved = |(id, s): (SymId, &Symbol)| {
            let loc = space.loc(id);
            s.place == Place::Local && space.saved.contains(loc) && touched.assigned.contains(loc)
        };
        u.symbols.iter().any(saved)
    })
}

/// Does a block keep anything on these tapes?
pub(super) fn pushes(block: &[Stmt], tapes: &Tapes) -> bool {
    let values: Vec<SymId> = tapes.used.values().map(Vars::values).collect();
    let mut found = false;
    for s in block {
        s.walk(&mut |s| {
            if let StmtKind::Assign(target, _) = &s.kind {
                found |= target.base().is_some_and(|s| values.contains(&s));
            }
        });
    }
    found
}

/// Does a block call forward sweeps? A backward sweep does where it carries calls out again.
fn sweeps_forward(world: &World, unit: &Unit, block: &[Stmt]) -> bool {
    let mut found = false;
    walk_block(block, &mut |s| {
        if let StmtKind::Call(callee, _) = &s.kind {
            let name = &unit.symbols[*callee].name;
            found |= world.parts.iter().any(|p| p.forward_name == *name);
        }
    });
    found
}

/// Lets pushes on some tapes count without keeping where these are full. They are known by their ids
/// from then on.
pub(super) fn count_on(block: &mut Block, tapes: &Tapes, open: &[Kind], ids: &mut StmtIds) {
    let looks = |s: &Stmt| match tapes.op(s) {
        Some(Op::Push(kind) | Op::Room(kind)) => open.contains(&kind),
        _ => false,
    };
    let vars = open.iter().filter_map(|k| tapes.used.get(k));
    let kept = std::mem::take(block).into_iter().filter(|s| !looks(s));
    *block = kept
        .map(|mut s| {
            for b in s.blocks_mut() {
                count_on(b, tapes, open, ids);
            }
            let tape = match &s.kind {
                StmtKind::Assign(target, _) => {
                    vars.clone().find(|t| target.base() == Some(t.values()))
                }
                _ => None,
            };
            let Some(t) = tape else { return s };
            let fits = binary(BinOp::Le, var(t.top()), var(t.most()));
            let span = s.span;
            let mut push = Stmt::branches(vec![(fits, vec![s])], None, span);
            ids.count_on(&mut push);
            push
        })
        .collect();
}

/// The tapes of a head.
pub(super) struct Sizes {
    /// All of them.
    pub all: Vec<Vars>,
    /// Those of unknown size.
    pub open: Vec<(Kind, Vars)>,
    /// The most bytes of one.
    pub most: u64,
}

/// A variable that is kept in another one.
pub(super) struct Copied {
    /// Keeps its value.
    pub keep: Stmt,
    /// Puts it back.
    pub put_back: Stmt,
}

impl Copied {
    /// Declares the other one.
    pub fn of(make: &mut Maker, s: SymId) -> Self {
        let of = &make.unit.symbols[s];
        let copy = Symbol {
            dims: of.dims.clone(),
            length: of.length.clone(),
            tape: of.dims.is_empty(),
            ..Symbol::variable(
                make.unused(&format!("{}_COPY", of.name)),
                of.ty.unwrap_or(Type::REAL),
                Span::NONE,
            )
        };
        let copy = make.declare(copy);
        Copied {
            keep: Stmt::assign(var(copy), var(s), Span::NONE),
            put_back: Stmt::assign(var(s), var(copy), Span::NONE),
        }
    }
}

/// A forward sweep that can be carried out again.
pub(super) fn repeated(make: &mut Maker, forward: Block, sizes: &Sizes, state: &[SymId]) -> Block {
    let span = Span::NONE;
    let set = |s: SymId, value: Expr| Stmt::assign(var(s), value, span);
    let int = |n| Expr::int(n, span);
    let again = mark(make, "AGAIN", Type::INTEGER, false);
    let mut out = vec![set(again, int(1))];
    let mut restore = Vec::new();
    for s in state {
        let copied = Copied::of(make, *s);
        out.push(copied.keep);
        restore.push(copied.put_back);
    }
    let clear: Block = sizes.all.iter().map(|t| set(t.top(), int(0))).collect();
    let mut open = Block::new();
    let mut fits: Option<Expr> = None;
    let mut last_sizes = Vec::new();
    let mut free = Vec::new();
    for (kind, t) in &sizes.open {
        let limit = kind.limit(sizes.most);
        let name = make.unit.symbols[t.values()]
            .name
            .replacen("TAPE", "LAST", 1);
        let last = mark(make, &name, Type::Integer(8), true);
        let quarter = binary(BinOp::Div, var(last), int(4));
        let more = binary(BinOp::Add, binary(BinOp::Add, var(last), quarter), int(64));
        let size = make.call("MIN", vec![more, Expr::long(limit, span)], span);
        let quoted = Opened {
            most: t.most(),
            limit: int(limit),
            again,
            last,
            size,
        };
        open.extend(quoted.block(&make.unit.symbols, span));
        let object = Expr::element(t.values(), vec![var(t.most())], span);
        open.push(allocation(object, false));
        free.push(allocation(var(t.values()), true));
        let enough = binary(BinOp::Le, var(t.top()), var(t.most()));
        fits = Some(match fits {
            Some(f) => binary(BinOp::And, f, enough),
            None => enough,
        });
        let greatest = make.call("MAX", vec![var(last), var(t.top())], span);
        last_sizes.push(set(last, greatest));
    }
    let quoted = Repeated {
        again,
        clear,
        open,
        forward,
        fits: fits.unwrap_or_else(|| int(1)),
        full: vec![full_tape(span)],
        free,
        restore,
    };
    out.extend(quoted.block(&make.unit.symbols, span));
    out.extend(last_sizes);
    out
}

farfel_lang::quote! {
    /// How large a tape is: in the second of two runs whatever there can be.
    struct Opened { most: SymId, limit: Expr, again: SymId, last: SymId, size: Expr }
    "
    most = limit
    if (again == 1 .and. last >= 0) then
      most = size
    end if
    "
}

farfel_lang::quote! {
    /// See [`repeated`].
    struct Repeated {
        again: SymId, clear: Block, open: Block, forward: Block, fits: Expr, full: Block,
        free: Block, restore: Block,
    }
    "
    do while (again >= 0)
      call clear
      call open
      call forward
      if (fits) then
        again = -1
      else if (again == 0) then
        call full
      else
        again = 0
        call free
        call restore
      end if
    end do
    "
}

fn var(s: SymId) -> Expr {
    Expr::var(s, Span::NONE)
}

/// A variable that only the repetition has.
fn mark(make: &mut Maker, name: &str, ty: Type, saved: bool) -> SymId {
    let name = match name == "AGAIN" {
        true => make.unused(name),
        false => make.unit.symbols.unused(name, &|_| false),
    };
    make.declare(Symbol {
        tape: true,
        saved,
        init: saved.then(|| Box::new(Expr::int(-1, Span::NONE))),
        ..Symbol::variable(name, ty, Span::NONE)
    })
}

fn allocation(object: Expr, free: bool) -> Stmt {
    let made = Allocation {
        free,
        objects: vec![object],
        control: Vec::new(),
    };
    Stmt::allocation(made, Span::NONE)
}
