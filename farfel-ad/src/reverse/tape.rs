//! The tape: values that the forward sweep pushes and the reverse sweep pops, last first.
//!
//! For each type there is an array and the number of values in it. These are ordinary Fortran variables:
//! local to the head, arguments below it. So an adjoint is a plain program that can be differentiated again,
//! and each call of it has a tape of its own.
//!
//! Statements that push or pop values are identified by their ids ([`Tapes::op`]), so that
//! [`stretch`](super::stretch) and [`growing`](super::growing) can change them.

use super::maker::Maker;
use crate::legal::fixed_tapes::full_tape;
use farfel_lang::Span;
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{Arg, BinOp, Block, Dim, Expr, Place, Stmt, StmtId, SymId, Symbol, Type};
use std::collections::BTreeMap;

/// The type of the values on a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Integer(u8),
    Real(u8),
    Complex(u8),
    Logical(u8),
    /// Texts are stored character by character.
    Character,
}

impl Kind {
    /// The tape for values of a type.
    pub fn of(ty: Type) -> Self {
        match ty {
            Type::Integer(k) => Kind::Integer(k),
            Type::Real(k) => Kind::Real(k),
            Type::Complex(k) => Kind::Complex(k),
            Type::Logical(k) => Kind::Logical(k),
            Type::Character => Kind::Character,
        }
    }

    pub fn ty(self) -> Type {
        match self {
            Kind::Integer(k) => Type::Integer(k),
            Kind::Real(k) => Type::Real(k),
            Kind::Complex(k) => Type::Complex(k),
            Kind::Logical(k) => Type::Logical(k),
            Kind::Character => Type::Character,
        }
    }

    pub fn letter(self) -> String {
        match self {
            Kind::Integer(k) => format!("I{k}"),
            Kind::Real(k) => format!("R{k}"),
            Kind::Complex(k) => format!("C{k}"),
            Kind::Logical(k) => format!("L{k}"),
            Kind::Character => "CH".to_owned(),
        }
    }

    /// The number of values on a tape of `most` bytes.
    pub fn limit(self, most: u64) -> i64 {
        (i64::try_from(most).unwrap_or(i64::MAX) / self.bytes()).max(1)
    }

    /// The size of a value in bytes.
    pub fn bytes(self) -> i64 {
        match self {
            Kind::Integer(k) | Kind::Real(k) | Kind::Logical(k) => i64::from(k),
            Kind::Complex(k) => 2 * i64::from(k),
            Kind::Character => 1,
        }
    }
}

/// The variables of one tape in one unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vars {
    /// The array of values.
    values: SymId,
    /// The number of values on the tape.
    top: SymId,
    /// The maximum number of values.
    most: SymId,
}

/// The operation of a statement on a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// Checks whether there is room for one value. The next statement increments the counter, the one after
    /// it stores the value.
    Push(Kind),
    /// Loads a value. The next statement decrements the counter.
    Pop(Kind),
    /// Checks whether there is room for several values.
    Room(Kind),
}

/// The tapes of a unit.
#[derive(Debug, Clone, Default)]
pub(super) struct Tapes {
    pub used: BTreeMap<Kind, Vars>,
    /// The operations of statements, in the order of their ids, which only increase.
    ops: Vec<(StmtId, Op)>,
}

/// The state of a unit's tapes at some point.
pub(super) struct State {
    used: BTreeMap<Kind, Vars>,
    ops: usize,
}

/// Operations that were undone.
pub(super) struct Added {
    used: BTreeMap<Kind, Vars>,
    ops: Vec<(StmtId, Op)>,
}

impl Vars {
    /// The array of values.
    pub fn values(&self) -> SymId {
        self.values
    }

    /// The number of values on the tape.
    pub fn top(&self) -> SymId {
        self.top
    }

    /// The maximum number of values.
    pub fn most(&self) -> SymId {
        self.most
    }
}

impl Tapes {
    /// The operation of a statement on a tape, if any.
    pub fn op(&self, s: &Stmt) -> Option<Op> {
        let at = self.ops.binary_search_by_key(&s.id, |(id, _)| *id).ok()?;
        self.ops.get(at).map(|(_, op)| *op)
    }

    /// Sets the operation of a statement.
    fn is(&mut self, make: &mut Maker, s: &mut Stmt, op: Op) {
        s.id = make.unit.stmt_ids.another();
        self.ops.push((s.id, op));
    }

    /// Returns a check whether there is room for `need` values in all.
    pub fn look(&mut self, make: &mut Maker, kind: Kind, need: Expr, span: Span) -> Stmt {
        let most = Expr::var(self.vars(make, kind).most, span);
        let full = binary(BinOp::Gt, need, most);
        let mut look = Stmt::logical_if(full, full_tape(span), span);
        self.is(make, &mut look, Op::Room(kind));
        look
    }

    /// The current state, to return to.
    pub fn state(&self) -> State {
        State {
            used: self.used.clone(),
            ops: self.ops.len(),
        }
    }

    /// Undoes what was done since `state`, and returns it.
    pub fn put_back(&mut self, state: &State) -> Added {
        Added {
            used: std::mem::replace(&mut self.used, state.used.clone()),
            ops: self.ops.split_off(state.ops),
        }
    }

    /// Redoes what was undone, if nothing else has been done since.
    pub fn again(&mut self, added: Added) {
        self.used = added.used;
        self.ops.extend(added.ops);
    }

    /// The variables of a tape, which are added if necessary.
    pub fn vars(&mut self, make: &mut Maker, kind: Kind) -> Vars {
        *self.used.entry(kind).or_insert_with(|| {
            let letter = kind.letter();
            let counter = Type::Integer(8);
            let top = make.variable(&format!("TOP_{letter}"), counter);
            let most = make.variable(&format!("MOST_{letter}"), counter);
            let values = make.unit.symbols.add(Symbol {
                typed: true,
                tape: true,
                dims: vec![Dim {
                    lower: None,
                    upper: Some(Expr::star(Span::NONE)),
                }],
                ..Symbol::variable(
                    make.unused(&format!("TAPE_{letter}")),
                    kind.ty(),
                    Span::NONE,
                )
            });
            Vars { values, top, most }
        })
    }

    /// The actual arguments for a callee that uses a tape.
    pub fn actuals(&mut self, make: &mut Maker, kind: Kind, span: Span) -> Vec<Expr> {
        let v = self.vars(make, kind);
        [v.values, v.top, v.most]
            .map(|s| Expr::var(s, span))
            .to_vec()
    }

    /// The tape that a symbol is a variable of, if any.
    pub fn kind_of(&self, s: SymId) -> Option<Kind> {
        let of = |v: &Vars| [v.values, v.top, v.most].contains(&s);
        let found = self.used.iter().find(|(_, v)| of(v));
        found.map(|(kind, _)| *kind)
    }

    /// The variables of all tapes.
    pub fn symbols(&self) -> impl Iterator<Item = SymId> + '_ {
        self.used.values().flat_map(|v| [v.values, v.top, v.most])
    }

    /// Makes the tapes arguments of the unit.
    pub fn be_arguments(&self, make: &mut Maker) {
        for v in self.used.values() {
            for s in [v.values, v.top, v.most] {
                make.unit.symbols[s].place = Place::Dummy;
                make.unit.args.push(Arg::Dummy(s));
            }
            make.unit.declare(v.values);
        }
    }

    /// Returns the statements that reserve room for `need` values; `base` gets the place where it begins.
    pub fn reserve(
        &mut self,
        make: &mut Maker,
        kind: Kind,
        base: SymId,
        need: Expr,
        span: Span,
    ) -> Block {
        let v = self.vars(make, kind);
        let top = || Expr::var(v.top, span);
        let more = binary(BinOp::Add, top(), need);
        vec![
            Stmt::assign(Expr::var(base, span), top(), span),
            self.look(make, kind, more.clone(), span),
            Stmt::assign(top(), more, span),
        ]
    }

    /// Returns the statements that push a value.
    pub fn push(&mut self, make: &mut Maker, kind: Kind, value: Expr, span: Span) -> Block {
        let v = self.vars(make, kind);
        let full = binary(BinOp::Ge, Expr::var(v.top, span), Expr::var(v.most, span));
        let mut look = Stmt::logical_if(full, full_tape(span), span);
        self.is(make, &mut look, Op::Push(kind));
        let quoted = Push {
            values: v.values,
            top: v.top,
            value,
        };
        let mut block = vec![look];
        block.extend(quoted.block(&make.unit.symbols, span));
        block
    }

    /// Returns the statements that pop the last value.
    pub fn pop(&mut self, make: &mut Maker, kind: Kind, to: Expr, span: Span) -> Block {
        let v = self.vars(make, kind);
        let quoted = Pop {
            values: v.values,
            top: v.top,
            to,
        };
        let mut block = quoted.block(&make.unit.symbols, span);
        if let Some(take) = block.first_mut() {
            self.is(make, take, Op::Pop(kind));
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
