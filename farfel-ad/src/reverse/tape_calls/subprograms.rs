//! The subprograms that push and pop, and that make room.

use super::super::tape::TapeKind;
use super::super::unit_builder::UnitBuilder;
use super::{PushAndPop, TapeSubprograms, with_room_after};
use farfel_lang::Span;
use farfel_lang::ir::build::{difference, sum};
use farfel_lang::ir::{
    Arg, Attribute, BinOp, Class, Dim, Expr, Name, Stmt, StorageClass, SymId, Symbol, Type, Unit,
    UnitKind,
};
use std::collections::HashSet;

/// What is moved to a tape or from it.
#[derive(Clone, Copy)]
enum Moved {
    Value,
    Array,
}

/// Returns the subprograms of a tape that `grower` enlarges.
pub(super) fn subprograms(kind: TapeKind, grower: &Name, names: &TapeSubprograms) -> Vec<Unit> {
    let both = |moved: Moved, names: &PushAndPop| {
        [
            Subprogram::new(&names.push, kind).push(moved, grower),
            Subprogram::new(&names.pop, kind).pop(moved),
        ]
    };
    let values = names.values.iter().flat_map(|n| both(Moved::Value, n));
    let arrays = names.arrays.iter().flat_map(|n| both(Moved::Array, n));
    let room = names.room.iter();
    let room = room.map(|n| Subprogram::new(n, kind).make_room(grower, names.wide));
    values.chain(arrays).chain(room).collect()
}

/// A subprogram that gets a tape.
struct Subprogram {
    builder: UnitBuilder,
    kind: TapeKind,
    /// The tape, the number of values on it, and the number that it has room for.
    tape: [SymId; 3],
}

impl Subprogram {
    fn new(name: &Name, kind: TapeKind) -> Self {
        let unit = Unit::new(UnitKind::Subroutine, name.clone(), Span::NONE);
        let mut builder = UnitBuilder::new(unit, Name::default(), HashSet::new());
        let name = format!("TAPE_{}", kind.letter());
        let mut tape = dummy(&name, kind.ty(), Some(Expr::star(Span::NONE)));
        tape.tape = true;
        tape.attributes.insert(Attribute::Growing);
        let [top, most] = (tape.component_names()).map(|n| dummy(&n, Type::Integer(8), None));
        let tape = [tape, top, most].map(|s| builder.declare(s));
        Subprogram {
            builder,
            kind,
            tape,
        }
    }

    /// Declares what is moved: X, or the array A of N elements. Returns its arguments, the name in a statement, and the
    /// number of values.
    fn moved(&mut self, moved: Moved) -> (Vec<SymId>, Expr, Expr) {
        let span = Span::NONE;
        match moved {
            Moved::Value => {
                let x = self.builder.declare(dummy("X", self.kind.ty(), None));
                (vec![x], var(x), Expr::int(1, span))
            }
            Moved::Array => {
                let n = self.builder.declare(dummy("N", Type::INTEGER, None));
                let a = dummy("A", self.kind.ty(), Some(var(n)));
                let a = self.builder.declare(a);
                let all = Expr::range(Some(Expr::int(1, span)), Some(var(n)), None, span);
                (vec![a, n], Expr::element(a, vec![all], span), var(n))
            }
        }
    }

    /// The place of the `n` values after the first values of the tape.
    fn place(&self, moved: Moved, before: Expr, n: &Expr) -> Expr {
        let span = Span::NONE;
        let first = sum(before.clone(), Expr::int(1, span));
        let place = match moved {
            Moved::Value => first,
            Moved::Array => Expr::range(Some(first), Some(sum(before, n.clone())), None, span),
        };
        Expr::element(self.tape[0], vec![place], span)
    }

    /// The number of values that N stands for, which may be negative.
    fn counted(&mut self, moved: Moved, n: &Expr) -> Expr {
        match moved {
            Moved::Value => n.clone(),
            Moved::Array => {
                let args = vec![n.clone(), Expr::int(0, Span::NONE)];
                self.builder.call("MAX", args, Span::NONE)
            }
        }
    }

    fn push(mut self, moved: Moved, grower: &Name) -> Unit {
        let [_, top, _] = self.tape;
        let (args, value, n) = self.moved(moved);
        let after = sum(var(top), self.counted(moved, &n));
        let place = self.place(moved, var(top), &n);
        let body = vec![
            self.check(with_room_after(&after), grower),
            Stmt::assign(place, value, Span::NONE),
            Stmt::assign(var(top), after, Span::NONE),
        ];
        let remark = match moved {
            Moved::Value => " Pushes a value on a tape",
            Moved::Array => " Pushes the N elements of an array on a tape",
        };
        self.with(args, body, remark)
    }

    fn pop(mut self, moved: Moved) -> Unit {
        let [tape, top, _] = self.tape;
        let (args, value, n) = self.moved(moved);
        let before = difference(var(top), self.counted(moved, &n));
        let place = match moved {
            Moved::Value => Expr::element(tape, vec![var(top)], Span::NONE),
            Moved::Array => self.place(moved, difference(var(top), n.clone()), &n),
        };
        let body = vec![
            Stmt::assign(value, place, Span::NONE),
            Stmt::assign(var(top), before, Span::NONE),
        ];
        let remark = match moved {
            Moved::Value => " Pops a value from a tape",
            Moved::Array => " Pops the N elements of an array from a tape",
        };
        self.with(args, body, remark)
    }

    fn make_room(mut self, grower: &Name, wide: bool) -> Unit {
        let [_, top, _] = self.tape;
        let ty = if wide {
            Type::Integer(8)
        } else {
            Type::INTEGER
        };
        let n = self.builder.declare(dummy("N", ty, None));
        let after = sum(var(top), var(n));
        let body = vec![
            Stmt::assign(var(top), after, Span::NONE),
            self.check(var(top), grower),
        ];
        self.with(vec![n], body, " Makes room for N more values on a tape")
    }

    /// Enlarges the tape if it has no room for `need` values.
    fn check(&mut self, need: Expr, grower: &Name) -> Stmt {
        let [_, _, most] = self.tape;
        let full = Expr::binary(BinOp::Gt, need.clone(), var(most));
        let grower = self.builder.procedure(grower, Class::Subroutine, None);
        let args = self.tape.map(var).into_iter().chain([need]);
        let grow = Stmt::call(grower, args.collect(), Span::NONE);
        Stmt::logical_if(full, grow, Span::NONE)
    }

    fn with(self, args: Vec<SymId>, body: Vec<Stmt>, remark: &str) -> Unit {
        let mut unit = self.builder.unit;
        let args = args.into_iter().chain(self.tape);
        unit.args = args.map(Arg::Dummy).collect();
        unit.body = body;
        unit.comments = vec![remark.into()];
        unit
    }
}

fn dummy(name: &str, ty: Type, upper: Option<Expr>) -> Symbol {
    let dim = |upper| Dim {
        lower: None,
        upper: Some(upper),
    };
    Symbol {
        dims: upper.into_iter().map(dim).collect(),
        storage_class: StorageClass::Dummy,
        ..Symbol::variable(name.into(), ty, Span::NONE)
    }
}

fn var(s: SymId) -> Expr {
    Expr::var(s, Span::NONE)
}
