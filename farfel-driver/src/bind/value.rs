//! Translates integer expressions of Fortran declarations to Rust and to Python.

use farfel_lang::intrinsics::Op;
use farfel_lang::ir::{BinOp, Class, Expr, ExprKind, StorageClass, SymId, Type, UnOp, Unit};

/// A language in which integer expressions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Expressions of type `i64`.
    Rust,
    /// Expressions that need the functions `quotient`, `remainder` and `power` of the module's support.
    Python,
}

/// Translates an integer expression to one of a language. `variable` translates the dummy arguments in it. Returns
/// `None` if the expression depends on anything else.
pub(super) fn value(
    unit: &Unit,
    expr: &Expr,
    depth: u32,
    language: Language,
    variable: &dyn Fn(SymId) -> Option<String>,
) -> Option<String> {
    // Invalid programs may define a constant in terms of itself.
    if depth > 64 {
        return None;
    }
    let rust = language == Language::Rust;
    let value = |e: &Expr| value(unit, e, depth + 1, language, variable);
    Some(match &expr.kind {
        ExprKind::Int(n) if rust => format!("{n}_i64"),
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Paren(e) | ExprKind::Unary(UnOp::Plus, e) => value(e)?,
        ExprKind::Unary(UnOp::Minus, e) if rust => format!("{}.saturating_neg()", value(e)?),
        ExprKind::Unary(UnOp::Minus, e) => format!("-{}", value(e)?),
        ExprKind::Var(s) => {
            let symbol = &unit.symbols[*s];
            if !matches!(symbol.ty, Some(Type::Integer(1 | 2 | 4 | 8))) || symbol.is_array() {
                return None;
            }
            match (&symbol.class, &symbol.storage_class) {
                (Class::Parameter(v), _) => value(v)?,
                (Class::Variable, StorageClass::Dummy) => variable(*s)?,
                _ => return None,
            }
        }
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (value(a)?, value(b)?);
            match op {
                BinOp::Add if !rust => format!("({a} + {b})"),
                BinOp::Sub if !rust => format!("({a} - {b})"),
                BinOp::Mul if !rust => format!("{a}*{b}"),
                BinOp::Div if !rust => format!("_quotient({a}, {b})"),
                BinOp::Pow if !rust => format!("_power({a}, {b})"),
                BinOp::Add => format!("{a}.saturating_add({b})"),
                BinOp::Sub => format!("{a}.saturating_sub({b})"),
                BinOp::Mul => format!("{a}.saturating_mul({b})"),
                BinOp::Div => format!("{a}.checked_div({b}).unwrap_or(i64::MAX)"),
                BinOp::Pow => format!("::farfel_runtime::power({a}, {b})"),
                _ => return None,
            }
        }
        ExprKind::Call(s, args) => {
            let Class::Intrinsic(intrinsic) = &unit.symbols[*s].class else {
                return None;
            };
            let args: Option<Vec<String>> = args.iter().map(value).collect();
            let args = args?;
            match (intrinsic.op, args.as_slice()) {
                (Op::Max, [_, ..]) if !rust => format!("max({})", args.join(", ")),
                (Op::Min, [_, ..]) if !rust => format!("min({})", args.join(", ")),
                (Op::Abs, [a]) if !rust => format!("abs({a})"),
                (Op::Mod, [a, b]) if !rust => format!("_remainder({a}, {b})"),
                (Op::Max, [first, rest @ ..]) => rest
                    .iter()
                    .fold(first.clone(), |a, b| format!("{a}.max({b})")),
                (Op::Min, [first, rest @ ..]) => rest
                    .iter()
                    .fold(first.clone(), |a, b| format!("{a}.min({b})")),
                (Op::Abs, [a]) => format!("{a}.saturating_abs()"),
                (Op::Mod, [a, b]) => format!("{a}.checked_rem({b}).unwrap_or(0)"),
                _ => return None,
            }
        }
        _ => return None,
    })
}
