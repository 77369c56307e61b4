//! The subprograms that push and pop.

use super::super::tape::TapeKind;
use super::super::unit_builder::UnitBuilder;
use super::{PushAndPop, TapeSubprograms, with_room_after};
use farfel_lang::Span;
use farfel_lang::ir::build::{difference, sum};
use farfel_lang::ir::{
    Arg, Attribute, BinOp, Block, Class, Dim, Expr, Name, Stmt, StorageClass, SymId, Symbol, Type,
    Unit, UnitKind,
};
use std::collections::HashSet;

/// What a subprogram pushes or pops.
#[derive(Clone, Copy)]
enum Pushed {
    Value,
    Array,
}

/// Returns the subprograms of a tape that `grower` enlarges.
pub(super) fn subprograms(kind: TapeKind, grower: &Name, names: &TapeSubprograms) -> Vec<Unit> {
    let both = |pushed: Pushed, names: &PushAndPop| {
        [
            subprogram(kind, pushed, &names.push, Some(grower)),
            subprogram(kind, pushed, &names.pop, None),
        ]
    };
    let values = names.values.iter().flat_map(|n| both(Pushed::Value, n));
    let arrays = names.arrays.iter().flat_map(|n| both(Pushed::Array, n));
    values.chain(arrays).collect()
}

fn subprogram(kind: TapeKind, pushed: Pushed, name: &Name, grower: Option<&Name>) -> Unit {
    let span = Span::NONE;
    let unit = Unit::new(UnitKind::Subroutine, name.clone(), span);
    let mut builder = UnitBuilder::new(unit, Name::default(), HashSet::new());
    let dummy = |name: String, ty: Type, upper: Option<Expr>| Symbol {
        dims: (upper.into_iter())
            .map(|upper| Dim {
                lower: None,
                upper: Some(upper),
            })
            .collect(),
        storage_class: StorageClass::Dummy,
        ..Symbol::variable(name.into(), ty, span)
    };
    let var = |s| Expr::var(s, span);
    let (mut args, number) = match pushed {
        Pushed::Value => {
            let value = builder.declare(dummy("X".to_owned(), kind.ty(), None));
            (vec![value], Expr::int(1, span))
        }
        Pushed::Array => {
            let n = builder.declare(dummy("N".to_owned(), Type::INTEGER, None));
            let array = builder.declare(dummy("A".to_owned(), kind.ty(), Some(var(n))));
            let number = builder.call("MAX", vec![var(n), Expr::int(0, span)], span);
            (vec![array, n], number)
        }
    };
    let mut tape = Symbol {
        tape: true,
        ..dummy(
            format!("TAPE_{}", kind.letter()),
            kind.ty(),
            Some(Expr::star(span)),
        )
    };
    tape.attributes.insert(Attribute::Growing);
    let tape = builder.declare(tape);
    let top = builder.declare(dummy("TOP".to_owned(), Type::Integer(8), None));
    let own = args.clone();
    args.extend([tape, top]);
    let block = match grower {
        Some(grower) => {
            let most = builder.declare(dummy("MOST".to_owned(), Type::Integer(8), None));
            args.push(most);
            let after = sum(var(top), number);
            let need = with_room_after(&after);
            let full = Expr::binary(BinOp::Gt, need.clone(), var(most));
            let grower = builder.procedure(grower, Class::Subroutine, None);
            let grow = Stmt::call(grower, vec![var(tape), need, var(most)], span);
            let check = vec![Stmt::logical_if(full, grow, span)];
            push(&builder.unit, &own, [tape, top], check, after)
        }
        None => pop(
            &builder.unit,
            &own,
            [tape, top],
            difference(var(top), number),
        ),
    };
    builder.unit.args = args.into_iter().map(Arg::Dummy).collect();
    builder.unit.body = block;
    let remark = match (grower, pushed) {
        (Some(_), Pushed::Value) => " Pushes a value on a tape with TOP values",
        (None, Pushed::Value) => " Pops a value from a tape with TOP values",
        (Some(_), Pushed::Array) => " Pushes the N elements of an array on a tape with TOP values",
        (None, Pushed::Array) => " Pops the N elements of an array from a tape with TOP values",
    };
    builder.unit.comments = vec![remark.into()];
    builder.unit
}

fn push(unit: &Unit, own: &[SymId], [tape, top]: [SymId; 2], check: Block, after: Expr) -> Block {
    let span = Span::NONE;
    match *own {
        [array, n] => PushArray {
            array,
            n,
            tape,
            top,
            check,
            after,
        }
        .block(&unit.symbols, span),
        [value, ..] => PushValue {
            value,
            tape,
            top,
            check,
            after,
        }
        .block(&unit.symbols, span),
        [] => Block::new(),
    }
}

fn pop(unit: &Unit, own: &[SymId], [tape, top]: [SymId; 2], after: Expr) -> Block {
    let span = Span::NONE;
    match *own {
        [array, n] => PopArray {
            array,
            n,
            tape,
            top,
            after,
        }
        .block(&unit.symbols, span),
        [value, ..] => PopValue {
            value,
            tape,
            top,
            after,
        }
        .block(&unit.symbols, span),
        [] => Block::new(),
    }
}

farfel_lang::quote! {
    /// See [`subprogram`].
    struct PushValue { value: SymId, tape: SymId, top: SymId, check: Block, after: Expr }
    "
    call check
    top = after
    tape(top) = value
    "
}

farfel_lang::quote! {
    /// See [`subprogram`].
    struct PopValue { value: SymId, tape: SymId, top: SymId, after: Expr }
    "
    value = tape(top)
    top = after
    "
}

farfel_lang::quote! {
    /// See [`subprogram`].
    struct PushArray { array: SymId, n: SymId, tape: SymId, top: SymId, check: Block, after: Expr }
    "
    call check
    tape(top + 1:top + n) = array(1:n)
    top = after
    "
}

farfel_lang::quote! {
    /// See [`subprogram`].
    struct PopArray { array: SymId, n: SymId, tape: SymId, top: SymId, after: Expr }
    "
    array(1:n) = tape(top - n + 1:top)
    top = after
    "
}
