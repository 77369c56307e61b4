//! Octal, hexadecimal and binary constants outside of DATA.
//!
//! Old compilers accepted `I = Z'FF'` and `K/O'10'`: such a constant takes the type that its
//! context requires. gfortran accepts them only in DATA and as arguments of INT, REAL and the like,
//! and other tools not even there. So a constant becomes a number where an INTEGER is required, and
//! an argument of REAL where its bits become a REAL.

use super::calls::intrinsic_symbol;
use crate::ir::{
    BinOp, Class, DoControl, Expr, ExprKind, Program, Stmt, StmtKind, Type, Unit, walk_exprs,
};
use crate::types::type_of;

/// Intrinsic functions that determine how the bits are interpreted.
const CONVERSIONS: [&str; 12] = [
    "INT", "INT2", "INT8", "REAL", "FLOAT", "SNGL", "DBLE", "DREAL", "DFLOAT", "CMPLX", "DCMPLX",
    "TRANSFER",
];

/// Rewrites these constants in all units.
pub(super) fn convert(program: &mut Program) {
    program.units.iter_mut().for_each(visit);
}

fn visit(unit: &mut Unit) {
    unit.nested.iter_mut().for_each(visit);
    for id in unit.symbols.ids() {
        for at in 0..unit.symbols[id].dims.len() {
            let mut dim = unit.symbols[id].dims[at].clone();
            for e in dim.lower.iter_mut().chain(&mut dim.upper) {
                within(unit, e);
                wanted(unit, e, Some(Type::INTEGER));
            }
            unit.symbols[id].dims[at] = dim;
        }
        let s = &unit.symbols[id];
        let (Class::Parameter(e) | Class::StatementFunction(_, e)) = &s.class else {
            continue;
        };
        if !has_bits(e) {
            continue;
        }
        let (ty, mut value) = (s.ty, (**e).clone());
        within(unit, &mut value);
        wanted(unit, &mut value, ty);
        if let Class::Parameter(e) | Class::StatementFunction(_, e) = &mut unit.symbols[id].class {
            **e = value;
        }
    }
    let mut found = false;
    walk_exprs(&unit.body, &mut |e| {
        found |= matches!(e.kind, ExprKind::Bits(_));
    });
    if found {
        let mut body = std::mem::take(&mut unit.body);
        crate::ir::walk_block_mut(&mut body, &mut |s| statement(unit, s));
        unit.body = body;
    }
}

fn has_bits(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.kind, ExprKind::Bits(_)));
    found
}

fn statement(unit: &mut Unit, s: &mut Stmt) {
    s.for_each_own_expr_mut(&mut |e| within(unit, e));
    match &mut s.kind {
        StmtKind::Assign(target, value) => {
            let ty = type_of(unit, target);
            wanted(unit, value, ty);
        }
        StmtKind::ComputedGoto(_, e)
        | StmtKind::ArithmeticIf(e, _)
        | StmtKind::Return(Some(e))
        | StmtKind::Stop(Some(e))
        | StmtKind::Pause(Some(e)) => wanted(unit, e, Some(Type::INTEGER)),
        StmtKind::Do(d) => {
            if let DoControl::Count {
                var,
                from,
                to,
                step,
            } = &mut d.control
            {
                let ty = unit.symbols[*var].ty;
                for e in [from, to].into_iter().chain(step) {
                    wanted(unit, e, ty);
                }
            }
        }
        StmtKind::Select(select) => {
            let ty = type_of(unit, &select.selector);
            let values = select.cases.iter_mut().flat_map(|c| &mut c.values);
            for e in values.flatten() {
                bounds(unit, e, ty);
            }
        }
        _ => {}
    }
}

/// Rewrites the constants within an expression, but not the expression itself.
fn within(unit: &mut Unit, e: &mut Expr) {
    e.rewrite(&mut |e| match &mut e.kind {
        ExprKind::Binary(op, a, b) if op.is_arithmetic() || op.is_relational() => {
            let is_bits = |e: &Expr| matches!(plain(e).kind, ExprKind::Bits(_));
            let ty = match (is_bits(a), is_bits(b)) {
                (true, false) => type_of(unit, b),
                (false, true) => type_of(unit, a),
                (true, true) => Some(Type::INTEGER),
                (false, false) => return,
            };
            // Compilers never agreed on the result of an operation between a REAL and bits.
            let ty = ty.filter(|t| op.is_relational() || matches!(t, Type::Integer(_)));
            wanted(unit, a, ty);
            wanted(unit, b, ty);
        }
        ExprKind::Unary(op, a) if *op != crate::ir::UnOp::Not => {
            wanted(unit, a, Some(Type::INTEGER));
        }
        ExprKind::Element(_, subscripts) => {
            for s in subscripts {
                bounds(unit, s, Some(Type::INTEGER));
            }
        }
        ExprKind::Substring(_, from, to) => {
            for e in from.iter_mut().chain(to) {
                wanted(unit, e, Some(Type::INTEGER));
            }
        }
        ExprKind::Array(a) => {
            let first = a.items.iter().find(|i| !has_bits(i));
            let ty = a.ty.or_else(|| first.and_then(|e| type_of(unit, e)));
            for item in &mut a.items {
                wanted(unit, item, Some(ty.unwrap_or(Type::INTEGER)));
            }
        }
        ExprKind::Call(s, args) => {
            if let Class::Intrinsic(i) = unit.symbols[*s].class
                && !CONVERSIONS.contains(&i.name)
            {
                let mut all = Some(Type::INTEGER);
                for a in args.iter().filter(|a| !has_bits(a)) {
                    all = match (all, type_of(unit, a)) {
                        (Some(Type::Integer(m)), Some(Type::Integer(n))) => {
                            Some(Type::Integer(m.max(n)))
                        }
                        _ => None,
                    };
                }
                for a in args {
                    wanted(unit, a, all);
                }
            }
        }
        _ => {}
    });
}

fn plain(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Paren(inner) => plain(inner),
        _ => e,
    }
}

/// Rewrites the parts of a range, or a plain expression.
fn bounds(unit: &mut Unit, e: &mut Expr, ty: Option<Type>) {
    match &mut e.kind {
        ExprKind::Range(a, b, c) => {
            for e in [a, b, c].into_iter().flatten() {
                wanted(unit, e, ty);
            }
        }
        _ => wanted(unit, e, ty),
    }
}

/// Rewrites bits where a value of this type is required.
fn wanted(unit: &mut Unit, e: &mut Expr, ty: Option<Type>) {
    match &mut e.kind {
        ExprKind::Paren(inner) => return wanted(unit, inner, ty),
        ExprKind::Bits(_) => {}
        _ => return,
    }
    let span = e.span;
    match ty {
        Some(Type::Integer(bytes)) => {
            let ExprKind::Bits(text) = &e.kind else {
                return;
            };
            if let Some(n) = number(text, bytes) {
                *e = constant(n, bytes, span);
            }
        }
        // Without a kind, REAL returns the default REAL.
        Some(Type::Real(bytes)) => {
            let real = intrinsic_symbol(unit, "REAL", span);
            let bits = std::mem::replace(e, Expr::int(0, span));
            let kind = (bytes != 4).then(|| Expr::int(bytes.into(), span));
            *e = Expr::call(real, std::iter::once(bits).chain(kind).collect(), span);
        }
        _ => {}
    }
}

/// Returns the number that the low-order bits represent in two's complement.
fn number(text: &str, bytes: u8) -> Option<i64> {
    let (letter, digits) = text.split_at_checked(1)?;
    let radix = match letter {
        "Z" => 16,
        "O" => 8,
        "B" => 2,
        _ => return None,
    };
    let all = u128::from_str_radix(digits.trim_matches('\''), radix).ok()?;
    Some(match bytes {
        1 => i64::from(all as u8 as i8),
        2 => i64::from(all as u16 as i16),
        4 => i64::from(all as u32 as i32),
        8 => all as u64 as i64,
        _ => return None,
    })
}

/// Returns a number as a constant of this many bytes. The least number has no literal of its own.
fn constant(n: i64, bytes: u8, span: crate::source::Span) -> Expr {
    let of_kind = |n: i64| match bytes {
        4 => Expr::int(n, span),
        _ => {
            let digits = Expr::of_size(Expr::int(n.abs(), span), bytes, span);
            match n < 0 {
                true => Expr::minus(digits, span),
                false => digits,
            }
        }
    };
    match n == i64::MIN >> (64 - 8 * u32::from(bytes)) {
        true => Expr::binary(BinOp::Sub, of_kind(n + 1), of_kind(1)),
        false => of_kind(n),
    }
}
