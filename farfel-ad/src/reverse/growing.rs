//! Tapes whose size is not known when the head begins.
//!
//! A head begins with room for twice the number of values that earlier calls had on the tape at the end of
//! their forward sweeps. A sweep that finds the tape full enlarges it, wherever that is:
//!
//! ```fortran
//!       INTEGER*8 :: LAST = 128
//!       SAVE LAST
//!       TAPE%TOP = 0
//!       TAPE%MOST = MIN(LAST, 134217728)
//!       ALLOCATE (TAPE%V(TAPE%MOST))
//!       ...
//!         IF (TAPE%TOP .GE. TAPE%MOST) CALL F_GROW_R8(TAPE, TAPE%TOP + 1)
//!         TAPE%TOP = TAPE%TOP + 1
//!         TAPE%V(TAPE%TOP) = X
//!       ...
//!       LAST = MIN(TAPE%MOST, MAX(LAST, 2*TAPE%TOP))
//! ```
//!
//! The tape becomes up to 4096 times as large, so that hardly anything is ever copied: unused parts take no
//! memory, only address space. It takes at most an eighth of the available address space, or, beyond 170 MB, half of
//! what there is beside a gigabyte, unless it needs more.
//!
//! Subprograms below the head have the tape as an argument ([`Attribute::Growing`] explains how that is
//! possible). A tape belongs to one call of its head, so that recursion, threads and STOP leave none in
//! disorder. Only one number is kept between calls, and the next call works whichever of two threads writes
//! it last.
//!
//! Adjoints that are differentiated again have tapes that do not grow: `legal/fixed_tapes.rs`.

use super::AdjointEngine;
use super::Part;
use super::generated::TapeSizes;
use super::tape::{TapeKind, TapeOp, TapeVars, Tapes};
use super::tape_size;
use super::unit_builder::UnitBuilder;
use crate::legal::fixed_tapes::full_tape;
use farfel_lang::Span;
use farfel_lang::ir::build::{binary, sum};
use farfel_lang::ir::{
    Allocation, Arg, Attribute, BinOp, Block, Class, Dim, Expr, ExprKind, Name, Program, Stmt,
    StmtKind, StorageClass, SymId, Symbol, Type, Unit, UnitKind, unused_name, walk_block,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The number of values that a tape has room for at first use. Subprograms that push leave room for 64 more
/// (`ROOM_AFTER`): a tape of this size, or of twice as many values as it has had, need not grow for that.
const FIRST: i64 = 128;

/// The names of the subprograms that enlarge tapes.
pub(super) type Growers = BTreeMap<TapeKind, Name>;

impl AdjointEngine {
    /// For each part, the tapes that have to grow: those whose size the head does not know, and the
    /// corresponding tapes of other heads that call the same subprograms.
    pub(super) fn growers(&self, closure: &Program, tape_sizes: &TapeSizes) -> Vec<Growers> {
        let mut together: Vec<BTreeSet<usize>> = Vec::new();
        for root in tape_sizes.keys() {
            let mut with = self.below(*root);
            together.retain(|other| {
                let shares = !other.is_disjoint(&with);
                if shares {
                    with.extend(other);
                }
                !shares
            });
            together.push(with);
        }
        let mut out = vec![Growers::new(); self.parts.len()];
        for parts in together {
            let roots = tape_sizes.iter().filter(|(root, _)| parts.contains(root));
            let tapes = roots.flat_map(|(_, (kinds, tape_sizes))| kinds.iter().zip(tape_sizes));
            let unknown = tapes.filter(|(_, size)| size.is_none());
            let grow: Growers = unknown
                .map(|(kind, _)| (*kind, self.grower_name(closure, *kind)))
                .collect();
            for part in parts {
                out[part] = grow.clone();
            }
        }
        out
    }

    /// A head and the parts that get its tapes as arguments.
    fn below(&self, root: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(p) = open.pop().map(|i| &self.parts[i]) {
            walk_block(&p.body, &mut |s| {
                if let StmtKind::Call(callee, _) = &s.kind
                    && let Some(i) = self.part_of(&p.builder.unit.symbols[*callee].name)
                    && !self.parts[i].root
                    && found.insert(i)
                {
                    open.push(i);
                }
            });
        }
        found
    }

    /// A name for the subprogram that enlarges a tape, which nothing else has.
    fn grower_name(&self, closure: &Program, kind: TapeKind) -> Name {
        let head = self.parts.iter().find(|p| p.root);
        let head = head.map_or("", |p| p.backward_name.as_str());
        unused_name(&format!("{head}_GROW_{}", kind.letter()), &|n| {
            self.has_unit(closure, n)
        })
    }

    /// Whether a unit of the program or a generated one has a name.
    pub(super) fn has_unit(&self, closure: &Program, name: &str) -> bool {
        let own = |p: &Part| [&p.name, &p.forward_name, &p.backward_name].map(|x| *x == name);
        closure.unit(name).is_some() || self.parts.iter().any(|p| own(p).contains(&true))
    }
}

impl Tapes {
    /// Makes the tapes local variables of the unit. Returns the statements for the beginning, and those for
    /// the turn between the sweeps. `tape_sizes` has the number of values of each tape, where that is
    /// known. The tapes in `growers` can grow up to `most.1` bytes; the others have at most `most.0` bytes.
    pub fn declare_local(
        &self,
        builder: &mut UnitBuilder,
        tape_sizes: Vec<Option<Vec<tape_size::Term>>>,
        most: (u64, u64),
        growers: &Growers,
    ) -> [Block; 2] {
        let span = Span::NONE;
        let (mut out, mut turn) = (Vec::new(), Vec::new());
        for ((kind, v), terms) in self.used.iter().zip(tape_sizes) {
            let grows = growers.contains_key(kind);
            let limit = kind.limit(if grows { most.1 } else { most.0 });
            let set = |s, n| Stmt::assign(Expr::var(s, span), Expr::int(n, span), span);
            let fixed = terms
                .as_ref()
                .and_then(|t| tape_size::number(t))
                .map(|n| n.clamp(1, limit));
            let small =
                |n: &i64| !grows && n.saturating_mul(kind.bytes()) <= tape_size::SMALL_BYTES;
            let small = fixed.filter(small);
            let symbol = &mut builder.unit.symbols[v.values()];
            symbol.dims = vec![Dim {
                lower: None,
                upper: small.map(|n| Expr::int(n, span)),
            }];
            if small.is_none() {
                symbol.attributes.insert(Attribute::Allocatable);
            }
            builder.unit.declare(v.values());
            out.push(set(v.top(), 0));
            let size = match (fixed, terms) {
                (Some(n), _) => {
                    out.push(set(v.capacity(), n));
                    Expr::int(n, span)
                }
                (None, Some(terms)) => {
                    let total = tape_size::total(builder, &terms, limit);
                    out.push(Stmt::assign(
                        Expr::var(v.capacity(), span),
                        total.clone(),
                        span,
                    ));
                    total
                }
                (None, None) => {
                    let [first, last] = begin(builder, *kind, v, limit);
                    out.push(first);
                    turn.push(last);
                    Expr::var(v.capacity(), span)
                }
            };
            if small.is_some() {
                continue;
            }
            out.push(Stmt::allocate(
                vec![Expr::element(v.values(), vec![size], span)],
                span,
            ));
        }
        [out, turn]
    }

    /// Returns checks whether all values have been popped. They have not if the reverse sweep took another
    /// course than the forward sweep, because something changed that must not change, such as a loop bound in
    /// COMMON. Usually a procedure without source has changed it: in programs without these, only tapes whose
    /// sizes are not known are checked.
    pub fn emptiness_checks(
        &self,
        tape_sizes: &[Option<Vec<tape_size::Term>>],
        lacks_source: bool,
    ) -> Block {
        let span = Span::NONE;
        let check = |v: &TapeVars| {
            let left = binary(BinOp::Ne, var(v.top()), Expr::int(0, span));
            let text = "Farfel: tape is out of order";
            Stmt::logical_if(left, Stmt::stop(Expr::text(text, span), span), span)
        };
        let all = self.used.values().zip(tape_sizes);
        let checked = all.filter(|(_, size)| lacks_source || size.is_none());
        checked.map(|(v, _)| check(v)).collect()
    }

    /// Makes the tapes that have to grow do so in a unit.
    pub fn grow(&self, builder: &mut UnitBuilder, growers: &Growers, blocks: [&mut Block; 2]) {
        for (kind, vars) in &self.used {
            if growers.contains_key(kind) {
                make_growing(builder, vars);
            }
        }
        for block in blocks {
            self.grow_in(builder, growers, block);
        }
    }

    fn grow_in(&self, builder: &mut UnitBuilder, growers: &Growers, block: &mut Block) {
        for s in block {
            for b in s.blocks_mut() {
                self.grow_in(builder, growers, b);
            }
            let Some(TapeOp::Push(kind) | TapeOp::CapacityCheck(kind)) = self.op(s) else {
                continue;
            };
            let (Some(name), Some(vars)) = (growers.get(&kind), self.used.get(&kind)) else {
                continue;
            };
            let StmtKind::LogicalIf(full, action) = &mut s.kind else {
                continue;
            };
            // The required number of values.
            let need = match &full.kind {
                ExprKind::Binary(BinOp::Gt, need, _) => (**need).clone(),
                _ => sum(var(vars.top()), Expr::int(1, Span::NONE)),
            };
            let grower = builder.procedure(name, Class::Subroutine, None);
            let mut args = vars.symbols().map(var).to_vec();
            args.push(need);
            **action = Stmt::call(grower, args, action.span);
        }
    }
}

/// Makes a tape one that grows, of which the number of values and the number that there is room for are components.
fn make_growing(builder: &mut UnitBuilder, vars: &TapeVars) {
    let unit = &mut builder.unit;
    let tape = &mut unit.symbols[vars.values()];
    tape.attributes.insert(Attribute::Growing);
    let names = tape.component_names();
    for (s, name) in [vars.top(), vars.capacity()].into_iter().zip(names) {
        unit.symbols.rename(s, name);
        unit.undeclare(s);
    }
}

/// Determines the size of a head's tape of which nothing else is known. Returns the statement for the
/// beginning, and that for the turn between the sweeps.
pub(super) fn begin(
    builder: &mut UnitBuilder,
    kind: TapeKind,
    vars: &TapeVars,
    limit: i64,
) -> [Stmt; 2] {
    let span = Span::NONE;
    let letter = kind.letter();
    let last = builder.declare(Symbol {
        tape: true,
        saved: true,
        init: Some(Box::new(Expr::int(FIRST, span))),
        ..Symbol::variable(
            builder
                .unit
                .symbols
                .unused(&format!("LAST_{letter}"), &|_| false),
            Type::Integer(8),
            span,
        )
    });
    let size = builder.call("MIN", vec![var(last), Expr::long(limit, span)], span);
    // Reverse sweeps push additional values if calls are joint.
    let twice = binary(BinOp::Mul, Expr::long(2, span), var(vars.top()));
    let wanted = builder.call("MAX", vec![var(last), twice], span);
    let wanted = builder.call("MIN", vec![var(vars.capacity()), wanted], span);
    [
        Stmt::assign(var(vars.capacity()), size, span),
        Stmt::assign(var(last), wanted, span),
    ]
}

/// Returns the subprogram that enlarges a tape.
pub(super) fn grower(name: &Name, kind: TapeKind, limit: i64) -> Unit {
    let span = Span::NONE;
    let unit = Unit::new(UnitKind::Subroutine, name.clone(), span);
    let mut builder = UnitBuilder::new(unit, Name::default(), HashSet::new());
    let deferred = |upper: Option<Expr>| vec![Dim { lower: None, upper }];
    let mut tape = Symbol {
        dims: deferred(Some(Expr::star(span))),
        storage_class: StorageClass::Dummy,
        tape: true,
        ..Symbol::variable(format!("TAPE_{}", kind.letter()).into(), kind.ty(), span)
    };
    tape.attributes.insert(Attribute::Growing);
    let long = |name: &str, place: StorageClass| Symbol {
        storage_class: place,
        ..Symbol::variable(name.into(), Type::Integer(8), span)
    };
    let names = tape.component_names();
    let tape = builder.declare(tape);
    let [top, most] = names.map(|name| builder.declare(long(&name, StorageClass::Dummy)));
    let need = builder.declare(long("NEED", StorageClass::Dummy));
    let larger = builder.declare(long("ROOM", StorageClass::Local));
    let times = builder.declare(long("TIMES", StorageClass::Local));
    let status = builder.declare(long("STATUS", StorageClass::Local));
    let mut kept = Symbol {
        dims: deferred(None),
        tape: true,
        ..Symbol::variable("KEPT".into(), kind.ty(), span)
    };
    kept.attributes.insert(Attribute::Allocatable);
    let kept = builder.declare(kept);
    builder.unit.args = [tape, top, most, need].map(Arg::Dummy).to_vec();
    let most_of_all = Expr::long(limit, span);
    let factor = binary(BinOp::Pow, Expr::int(2, span), var(times));
    let wanted = binary(BinOp::Mul, factor, var(most));
    let wanted = builder.call("MAX", vec![var(need), wanted], span);
    let full = binary(BinOp::Gt, var(need), most_of_all.clone());
    let failed = binary(BinOp::Ne, var(status), Expr::int(0, span));
    let succeeded = binary(BinOp::Eq, var(status), Expr::int(0, span));
    // What must be available beside it: seven times as much, or as much and a gigabyte.
    let times_larger = |n| binary(BinOp::Mul, Expr::int(n, span), var(larger));
    let gigabyte = Expr::long((1 << 30) / kind.bytes(), span);
    let others = builder.call("MIN", vec![times_larger(6), gigabyte], span);
    let free = Allocation {
        free: true,
        objects: vec![var(tape)],
        control: Vec::new(),
    };
    let free = Stmt::allocation(free, span);
    let text = "Farfel: no memory for the tape";
    let stop = Stmt::stop(Expr::text(text, span), span);
    let quoted = Grow {
        tape,
        most,
        kept,
        times,
        larger,
        status,
        size: builder.call("MIN", vec![wanted, most_of_all], span),
        with_others: sum(times_larger(2), others),
        full: vec![Stmt::logical_if(full, full_tape(span), span)],
        failed: vec![Stmt::logical_if(failed, stop, span)],
        free: vec![Stmt::logical_if(succeeded, free, span)],
    };
    builder.unit.body = quoted.block(&builder.unit.symbols, span);
    builder.unit.comments =
        vec![" Makes a tape with room for MOST values larger, so that it has room for NEED".into()];
    builder.unit
}

farfel_lang::quote! {
    /// See [`grower`].
    struct Grow {
        tape: SymId, most: SymId, kept: SymId, times: SymId, larger: SymId, status: SymId,
        size: Expr, with_others: Expr, full: Block, failed: Block, free: Block,
    }
    "
    call full
    allocate (kept(most), stat = status)
    call failed
    kept(1:most) = tape(1:most)
    deallocate (tape)
    do times = 12, 1, -1
      larger = size
      allocate (tape(with_others), stat = status)
      if (status == 0) exit
    end do
    call free
    allocate (tape(larger), stat = status)
    call failed
    tape(1:most) = kept(1:most)
    most = larger
    "
}

fn var(s: SymId) -> Expr {
    Expr::var(s, Span::NONE)
}
