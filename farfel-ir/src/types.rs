//! The types of expressions.

use crate::intrinsics::{Intrinsic, ResultType, Shape};
use crate::ir::{BinOp, Class, Expr, ExprKind, Percent, Type, UnOp, Unit};

/// Returns the type of an expression of a resolved unit; `None` for expressions without a type (a
/// procedure as an actual argument, `*`, an alternate return).
///
/// Looks only at the unit's own symbols, all of which carry their type after `resolve`.
pub fn type_of(unit: &Unit, expr: &Expr) -> Option<Type> {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Bits(_) => Some(Type::INTEGER),
        ExprKind::Kind(constant, bytes) => Some(match constant.kind {
            ExprKind::Logical(_) => Type::Logical(*bytes),
            ExprKind::Real(_) => Type::Real(*bytes),
            _ => Type::Integer(*bytes),
        }),
        ExprKind::Array(a) => {
            a.ty.or_else(|| type_of(unit, first_item(a.items.first()?)?))
        }
        ExprKind::Real(text) => Some(real_constant_type(text)),
        ExprKind::Complex(p) => {
            let parts = type_of(unit, &p.0)?.promote(type_of(unit, &p.1)?);
            Some(match parts {
                Type::Real(n) => Type::Complex(n),
                _ => Type::COMPLEX,
            })
        }
        ExprKind::Logical(_) => Some(Type::LOGICAL),
        ExprKind::Char(_) | ExprKind::Substring(..) => Some(Type::Character),
        ExprKind::Var(s) | ExprKind::Apply(s, _) | ExprKind::Element(s, _) => unit.symbols[*s].ty,
        ExprKind::Call(s, args) => match &unit.symbols[*s].class {
            Class::Intrinsic(i) => intrinsic_type(unit, i, args),
            _ => unit.symbols[*s].ty,
        },
        ExprKind::Unary(UnOp::Not, _) => Some(Type::LOGICAL),
        ExprKind::Unary(UnOp::Plus | UnOp::Minus, a) | ExprKind::Paren(a) => type_of(unit, a),
        ExprKind::Binary(op, a, b) => match op {
            BinOp::Concat => Some(Type::Character),
            _ if op.is_relational() || op.is_logical() => Some(Type::LOGICAL),
            // The exponent's type matters only where it is not an INTEGER, which promotion takes
            // care of anyway.
            _ => Some(type_of(unit, a)?.promote(type_of(unit, b)?)),
        },
        ExprKind::Percent(Percent::Val | Percent::Ref, a) => type_of(unit, a),
        ExprKind::Percent(Percent::Loc, _) => Some(Type::Integer(8)),
        ExprKind::Hollerith(_)
        | ExprKind::Range(..)
        | ExprKind::Closure(..)
        | ExprKind::AltReturn(_)
        | ExprKind::ImpliedDo(_)
        | ExprKind::Keyword(..)
        | ExprKind::Star => None,
    }
}

/// Returns the number of dimensions of an expression of a resolved unit; 0 for a scalar.
pub fn rank(unit: &Unit, e: &Expr) -> usize {
    match &e.kind {
        ExprKind::Var(s) => unit.symbols[*s].dims.len(),
        ExprKind::Element(_, subscripts) => subscripts
            .iter()
            .filter(|s| matches!(s.kind, ExprKind::Range(..)) || rank(unit, s) > 0)
            .count(),
        ExprKind::Array(_) => 1,
        // An address is a scalar.
        ExprKind::Percent(Percent::Loc, _) => 0,
        // Functions take and return scalars, except intrinsic functions, which can be elemental.
        ExprKind::Call(s, args) => match unit.symbols[*s].class {
            Class::Intrinsic(i) => intrinsic_rank(unit, i, args),
            _ => 0,
        },
        _ => {
            let children = e.children().into_iter();
            children.map(|c| rank(unit, c)).max().unwrap_or(0)
        }
    }
}

/// Returns the number of dimensions of the result of an intrinsic function.
///
/// Never inlined: otherwise [`rank`] would call itself in tail position, which rustc 1.95
/// miscompiles with full optimisation, overflow checks and several codegen units: `A(2)` had rank
/// 1.
#[inline(never)]
fn intrinsic_rank(unit: &Unit, i: &Intrinsic, args: &[Expr]) -> usize {
    let of = |i: usize| args.get(i).map_or(0, |a| rank(unit, a));
    // The second argument of SUM is DIM or MASK.
    let dim = argument(args, 1, "DIM")
        .is_some_and(|e| matches!(type_of(unit, e), Some(Type::Integer(_))) && rank(unit, e) == 0);
    match (i.shape, dim) {
        (Shape::Scalar, _) if i.name == "TRANSFER" => {
            usize::from(of(1) > 0 || argument(args, 2, "SIZE").is_some())
        }
        (Shape::Elemental, _) => args.iter().map(|a| rank(unit, a)).max().unwrap_or(0),
        (Shape::Scalar, _) | (Shape::Reduced, false) | (Shape::Bounds, true) => 0,
        (Shape::Reduced | Shape::Location, true) => of(0).saturating_sub(1),
        (Shape::Bounds | Shape::Location, false) | (Shape::Vector, _) => 1,
        (Shape::First, _) => of(0),
        (Shape::More, _) if i.name == "UNPACK" => of(1),
        (Shape::More, _) => of(0) + 1,
        (Shape::Product, _) => (of(0) + of(1)).saturating_sub(2),
        (Shape::Reshaped, _) => match args.get(1).map(|e| &e.kind) {
            Some(ExprKind::Array(a)) => a.items.len(),
            // The number of elements of other second arguments is not determined.
            _ => of(0).max(2),
        },
    }
}

/// Returns the argument at this position, or with this keyword.
fn argument<'a>(args: &'a [Expr], position: usize, keyword: &str) -> Option<&'a Expr> {
    let positional = |e: &&Expr| !matches!(e.kind, ExprKind::Keyword(..));
    args.get(position).filter(positional).or_else(|| {
        args.iter().find_map(|a| match &a.kind {
            ExprKind::Keyword(k, value) if k == keyword => Some(&**value),
            _ => None,
        })
    })
}

/// Returns the type of a reference to an intrinsic function.
fn intrinsic_type(unit: &Unit, i: &Intrinsic, args: &[Expr]) -> Option<Type> {
    let of = |e: &Expr| match &e.kind {
        ExprKind::Keyword(_, value) => type_of(unit, value),
        _ => type_of(unit, e),
    };
    let kind_at = i.kind_at.map(usize::from);
    let is_kind = |(at, e): &(usize, &Expr)| {
        kind_at.is_some_and(|k| match &e.kind {
            ExprKind::Keyword(name, _) => name == "KIND",
            _ => *at == k,
        })
    };
    let ty = match i.result {
        ResultType::Fixed(ty) => ty,
        _ => {
            let types: Option<Vec<Type>> = args
                .iter()
                .enumerate()
                .filter(|x| !is_kind(x))
                .map(|(_, e)| of(e))
                .collect();
            i.result_type(&types?)
        }
    };
    let kind = args
        .iter()
        .enumerate()
        .find(is_kind)
        .map(|(_, e)| match &e.kind {
            ExprKind::Keyword(_, value) => &**value,
            _ => e,
        });
    let Some(kind) = kind.and_then(|e| crate::storage::constant::integer(unit, e)) else {
        return Some(ty);
    };
    let bytes = u8::try_from(kind).ok()?;
    Some(unit.sizes.written(ty, bytes))
}

/// Returns the first element of an array constructor item, descending into implied DOs.
fn first_item(item: &Expr) -> Option<&Expr> {
    match &item.kind {
        ExprKind::ImpliedDo(d) => first_item(d.items.first()?),
        _ => Some(item),
    }
}

/// Returns the type of a real constant: double precision if its exponent letter is `D`, quadruple
/// if it is `Q`.
pub fn real_constant_type(text: &str) -> Type {
    if text.contains('D') {
        Type::DOUBLE
    } else if text.contains('Q') {
        Type::Real(16)
    } else {
        Type::REAL
    }
}
