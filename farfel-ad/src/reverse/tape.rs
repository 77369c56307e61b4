//! The tape: values that the forward sweep pushes and the reverse sweep pops, last first.
//!
//! For each type there is an array and the number of values in it. These are ordinary Fortran variables:
//! local to the head, arguments below it. So an adjoint is a plain program that can be differentiated again,
//! and each call of it has a tape of its own.
//!
//! Statements that push or pop values are identified by their ids ([`Tapes::op`]), so that
//! [`direct_addressing`](super::direct_addressing) and [`growing`](super::growing) can change them.

use super::unit_builder::UnitBuilder;
use crate::legal::fixed_tapes::full_tape;
use farfel_lang::Span;
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{
    Arg, BinOp, Block, Dim, Expr, Stmt, StmtId, StorageClass, SymId, Symbol, Type, walk_block_mut,
};
use std::collections::BTreeMap;

/// The type of the values on a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TapeKind {
    Integer(u8),
    Real(u8),
    Complex(u8),
    Logical(u8),
    /// Texts are stored character by character.
    Character,
}

impl TapeKind {
    /// The tape for values of a type.
    pub fn of(ty: Type) -> Self {
        match ty {
            Type::Integer(k) => TapeKind::Integer(k),
            Type::Real(k) => TapeKind::Real(k),
            Type::Complex(k) => TapeKind::Complex(k),
            Type::Logical(k) => TapeKind::Logical(k),
            Type::Character => TapeKind::Character,
        }
    }

    pub fn ty(self) -> Type {
        match self {
            TapeKind::Integer(k) => Type::Integer(k),
            TapeKind::Real(k) => Type::Real(k),
            TapeKind::Complex(k) => Type::Complex(k),
            TapeKind::Logical(k) => Type::Logical(k),
            TapeKind::Character => Type::Character,
        }
    }

    pub fn letter(self) -> String {
        match self {
            TapeKind::Integer(k) => format!("I{k}"),
            TapeKind::Real(k) => format!("R{k}"),
            TapeKind::Complex(k) => format!("C{k}"),
            TapeKind::Logical(k) => format!("L{k}"),
            TapeKind::Character => "CH".to_owned(),
        }
    }

    /// The number of values on a tape of `most` bytes.
    pub fn limit(self, most: u64) -> i64 {
        (i64::try_from(most).unwrap_or(i64::MAX) / self.bytes()).max(1)
    }

    /// The size of a value in bytes.
    pub fn bytes(self) -> i64 {
        match self {
            TapeKind::Integer(k) | TapeKind::Real(k) | TapeKind::Logical(k) => {
                i64::from(Type::bytes(k))
            }
            TapeKind::Complex(k) => 2 * i64::from(Type::bytes(k)),
            TapeKind::Character => 1,
        }
    }
}

/// The variables of one tape in one unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct TapeVars {
    /// The array of values.
    values: SymId,
    /// The number of values on the tape.
    top: SymId,
    /// The maximum number of values.
    capacity: SymId,
}

/// The operation of a statement on a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TapeOp {
    /// Checks whether there is room for one value. The next statement increments the counter, the one after
    /// it stores the value.
    Push(TapeKind),
    /// Loads a value. The next statement decrements the counter.
    Pop(TapeKind),
    /// Checks whether there is room for several values.
    CapacityCheck(TapeKind),
}

/// The tapes of a unit.
#[derive(Debug, Clone, Default)]
pub(super) struct Tapes {
    pub used: BTreeMap<TapeKind, TapeVars>,
    /// The operations of statements, in the order of their ids, which only increase.
    ops: Vec<(StmtId, TapeOp)>,
}

/// The state of a unit's tapes at some point.
pub(super) struct TapesState {
    used: BTreeMap<TapeKind, TapeVars>,
    ops: usize,
}

/// Operations that were undone.
pub(super) struct UndoneOperations {
    used: BTreeMap<TapeKind, TapeVars>,
    ops: Vec<(StmtId, TapeOp)>,
}

impl TapeVars {
    /// The array of values.
    pub fn values(&self) -> SymId {
        self.values
    }

    /// The number of values on the tape.
    pub fn top(&self) -> SymId {
        self.top
    }

    /// The maximum number of values.
    pub fn capacity(&self) -> SymId {
        self.capacity
    }

    /// All of them, as they are arguments.
    pub fn symbols(&self) -> [SymId; 3] {
        [self.values, self.top, self.capacity]
    }
}

impl Tapes {
    /// The operation of a statement on a tape, if any.
    pub fn op(&self, s: &Stmt) -> Option<TapeOp> {
        let at = self.ops.binary_search_by_key(&s.id, |(id, _)| *id).ok()?;
        self.ops.get(at).map(|(_, op)| *op)
    }

    /// Sets the operation of a statement.
    fn set_op(&mut self, builder: &mut UnitBuilder, s: &mut Stmt, op: TapeOp) {
        s.id = builder.unit.stmt_ids.fresh();
        self.ops.push((s.id, op));
    }

    /// Copies statements, with the operations among them.
    pub fn copy(&mut self, builder: &mut UnitBuilder, block: &[Stmt]) -> Block {
        let mut made = block.to_vec();
        walk_block_mut(&mut made, &mut |s| match self.op(s) {
            Some(op) => self.set_op(builder, s, op),
            None => s.id = StmtId::NONE,
        });
        made
    }

    /// Returns a check whether there is room for `need` values in all.
    pub fn capacity_check(
        &mut self,
        builder: &mut UnitBuilder,
        kind: TapeKind,
        need: Expr,
        span: Span,
    ) -> Stmt {
        let capacity = Expr::var(self.vars(builder, kind).capacity, span);
        let full = binary(BinOp::Gt, need, capacity);
        let mut check = Stmt::logical_if(full, full_tape(span), span);
        self.set_op(builder, &mut check, TapeOp::CapacityCheck(kind));
        check
    }

    /// The current state, to return to.
    pub fn state(&self) -> TapesState {
        TapesState {
            used: self.used.clone(),
            ops: self.ops.len(),
        }
    }

    /// Undoes what was done since `state`, and returns it.
    pub fn roll_back(&mut self, state: &TapesState) -> UndoneOperations {
        UndoneOperations {
            used: std::mem::replace(&mut self.used, state.used.clone()),
            ops: self.ops.split_off(state.ops),
        }
    }

    /// Redoes what was undone, if nothing else has been done since.
    pub fn redo(&mut self, added: UndoneOperations) {
        self.used = added.used;
        self.ops.extend(added.ops);
    }

    /// The variables of a tape, which are added if necessary.
    pub fn vars(&mut self, builder: &mut UnitBuilder, kind: TapeKind) -> TapeVars {
        *self.used.entry(kind).or_insert_with(|| {
            let letter = kind.letter();
            let counter = Type::Integer(8);
            let top = builder.variable(&format!("TOP_{letter}"), counter);
            let capacity = builder.variable(&format!("MOST_{letter}"), counter);
            let values = builder.unit.symbols.add(Symbol {
                typed: true,
                tape: true,
                dims: vec![Dim {
                    lower: None,
                    upper: Some(Expr::star(Span::NONE)),
                }],
                ..Symbol::variable(
                    builder.unused(&format!("TAPE_{letter}")),
                    kind.ty(),
                    Span::NONE,
                )
            });
            TapeVars {
                values,
                top,
                capacity,
            }
        })
    }

    /// The actual arguments for a callee that uses a tape.
    pub fn actuals(&mut self, builder: &mut UnitBuilder, kind: TapeKind, span: Span) -> Vec<Expr> {
        let v = self.vars(builder, kind);
        v.symbols().map(|s| Expr::var(s, span)).to_vec()
    }

    /// The tape that a symbol is a variable of, if any.
    pub fn kind_of(&self, s: SymId) -> Option<TapeKind> {
        let of = |v: &TapeVars| v.symbols().contains(&s);
        let found = self.used.iter().find(|(_, v)| of(v));
        found.map(|(kind, _)| *kind)
    }

    /// The variables of all tapes.
    pub fn symbols(&self) -> impl Iterator<Item = SymId> + '_ {
        self.used.values().flat_map(TapeVars::symbols)
    }

    /// Makes the tapes arguments of the unit.
    pub fn add_arguments(&self, builder: &mut UnitBuilder) {
        for v in self.used.values() {
            for s in v.symbols() {
                builder.unit.symbols[s].storage_class = StorageClass::Dummy;
                builder.unit.args.push(Arg::Dummy(s));
            }
            builder.unit.declare(v.values);
        }
    }

    /// Returns the statements that reserve room for `need` values; `base` gets the place where it begins.
    pub fn reserve(
        &mut self,
        builder: &mut UnitBuilder,
        kind: TapeKind,
        base: SymId,
        need: Expr,
        span: Span,
    ) -> Block {
        let v = self.vars(builder, kind);
        let top = || Expr::var(v.top, span);
        let more = binary(BinOp::Add, top(), need);
        vec![
            Stmt::assign(Expr::var(base, span), top(), span),
            self.capacity_check(builder, kind, more.clone(), span),
            Stmt::assign(top(), more, span),
        ]
    }

    /// Returns the statements that push a value.
    pub fn push(
        &mut self,
        builder: &mut UnitBuilder,
        kind: TapeKind,
        value: Expr,
        span: Span,
    ) -> Block {
        let v = self.vars(builder, kind);
        let full = binary(
            BinOp::Ge,
            Expr::var(v.top, span),
            Expr::var(v.capacity, span),
        );
        let mut check = Stmt::logical_if(full, full_tape(span), span);
        self.set_op(builder, &mut check, TapeOp::Push(kind));
        let quoted = Push {
            values: v.values,
            top: v.top,
            value,
        };
        let mut block = vec![check];
        block.extend(quoted.block(&builder.unit.symbols, span));
        block
    }

    /// Returns the statements that pop the last value.
    pub fn pop(
        &mut self,
        builder: &mut UnitBuilder,
        kind: TapeKind,
        to: Expr,
        span: Span,
    ) -> Block {
        let v = self.vars(builder, kind);
        let quoted = Pop {
            values: v.values,
            top: v.top,
            to,
        };
        let mut block = quoted.block(&builder.unit.symbols, span);
        if let Some(take) = block.first_mut() {
            self.set_op(builder, take, TapeOp::Pop(kind));
        }
        block
    }
}

farfel_lang::quote! {
    /// See [`Tapes::push`].
    struct Push { values: SymId, top: SymId, value: Expr }
    "
    top = top + 1
    values(top) = value
    "
}

farfel_lang::quote! {
    /// See [`Tapes::pop`].
    struct Pop { values: SymId, top: SymId, to: Expr }
    "
    to = values(top)
    top = top - 1
    "
}
