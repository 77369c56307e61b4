//! The values of integer constant expressions.

use crate::intrinsics::Intrinsic;
use crate::ir::{BinOp, Class, Expr, ExprKind, SymId, Symbols, Type, UnOp};

/// The value of an integer constant expression, before or after `resolve`; `None` where it
/// is not constant or not known.
///
/// Named constants, arithmetic, and the inquiries that kinds are written with: KIND,
/// SELECTED_INT_KIND, SELECTED_REAL_KIND.
pub fn integer(symbols: &Symbols, e: &Expr) -> Option<i64> {
    value(symbols, e, 0)
}

/// Named constants may be made of others, and faulty ones of themselves.
const MAX_DEPTH: u32 = 100;

fn value(symbols: &Symbols, e: &Expr, depth: u32) -> Option<i64> {
    let value = |e: &Expr| value(symbols, e, depth + 1);
    if depth > MAX_DEPTH {
        return None;
    }
    match &e.kind {
        ExprKind::Int(n) => Some(*n),
        ExprKind::Var(s) => match &symbols[*s].class {
            Class::Parameter(e) => value(e),
            _ => None,
        },
        ExprKind::Paren(e) | ExprKind::Unary(UnOp::Plus, e) => value(e),
        ExprKind::Unary(UnOp::Minus, e) => value(e)?.checked_neg(),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (value(a)?, value(b)?);
            match op {
                BinOp::Add => a.checked_add(b),
                BinOp::Sub => a.checked_sub(b),
                BinOp::Mul => a.checked_mul(b),
                BinOp::Div => a.checked_div(b),
                BinOp::Pow => a.checked_pow(u32::try_from(b).ok()?),
                _ => None,
            }
        }
        ExprKind::Apply(f, args) | ExprKind::Call(f, args) => inquiry(symbols, *f, args, &value),
        _ => None,
    }
}

/// KIND and the like, and the few functions that sizes are computed with.
fn inquiry(
    symbols: &Symbols,
    f: SymId,
    args: &[Expr],
    value: &dyn Fn(&Expr) -> Option<i64>,
) -> Option<i64> {
    let f = &symbols[f];
    if f.is_array() || !matches!(f.class, Class::Unknown | Class::Intrinsic(_)) {
        return None;
    }
    let named = |name: &str, position: usize| {
        args.iter()
            .find_map(|a| match &a.kind {
                ExprKind::Keyword(k, v) if k == name => Some(&**v),
                _ => None,
            })
            .or_else(|| {
                args.get(position)
                    .filter(|a| !matches!(a.kind, ExprKind::Keyword(..)))
            })
    };
    match f.name.as_str() {
        "KIND" => kind_of(symbols, named("X", 0)?),
        "SELECTED_INT_KIND" => Some(match value(named("R", 0)?)? {
            ..=2 => 1,
            ..=4 => 2,
            ..=9 => 4,
            ..=18 => 8,
            ..=38 => 16,
            _ => -1,
        }),
        "SELECTED_REAL_KIND" => {
            let or_zero = |e: Option<&Expr>| e.map_or(Some(0), value);
            let (digits, range) = (or_zero(named("P", 0))?, or_zero(named("R", 1))?);
            Some(match (digits, range) {
                (..=6, ..=37) => 4,
                (..=15, ..=307) => 8,
                (..=18, ..=4931) => 10,
                (..=33, ..=4931) => 16,
                _ => -1,
            })
        }
        "MAX" | "MAX0" => args.iter().map(value).reduce(|a, b| Some(a?.max(b?)))?,
        "MIN" | "MIN0" => args.iter().map(value).reduce(|a, b| Some(a?.min(b?)))?,
        "ABS" | "IABS" => value(args.first()?)?.checked_abs(),
        "MOD" => value(args.first()?)?.checked_rem(value(args.get(1)?)?),
        "INT" => value(args.first()?),
        _ => None,
    }
}

/// The kind of a constant or declared name.
fn kind_of(symbols: &Symbols, e: &Expr) -> Option<i64> {
    let ty = match &e.kind {
        ExprKind::Int(_) => Type::INTEGER,
        ExprKind::Real(text) => crate::types::real_constant_type(text),
        ExprKind::Logical(_) => Type::LOGICAL,
        ExprKind::Char(_) => return Some(1),
        ExprKind::Complex(parts) => {
            return Some(kind_of(symbols, &parts.0)?.max(kind_of(symbols, &parts.1)?));
        }
        ExprKind::Paren(e) | ExprKind::Unary(UnOp::Plus | UnOp::Minus, e) => {
            return kind_of(symbols, e);
        }
        ExprKind::Var(s) => symbols[*s].ty?,
        ExprKind::Apply(s, args) | ExprKind::Call(s, args) => {
            let types: Vec<Type> = args
                .iter()
                .map(|a| Some(Type::Real(u8::try_from(kind_of(symbols, a)?).ok()?)))
                .collect::<Option<_>>()?;
            Intrinsic::find(&symbols[*s].name)?.result_type(&types)
        }
        _ => return None,
    };
    Some(match ty {
        Type::Integer(n) | Type::Real(n) | Type::Complex(n) | Type::Logical(n) => i64::from(n),
        Type::Character => 1,
    })
}

#[cfg(test)]
mod tests {
    use crate::Sources;
    use crate::syntax::{Form, NoIncludes, parse};

    fn constant(value: &str) -> Option<i64> {
        let text = format!(
            "      PROGRAM P\n      INTEGER N, K\n      DOUBLE PRECISION D\n      PARAMETER (N = 3)\n      \
             PARAMETER (K = {value})\n      END\n"
        );
        let mut sources = Sources::new();
        let file = sources.add("a.f", text.as_str());
        let parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let symbols = &parsed.program.units[0].symbols;
        let k = symbols.find("K")?;
        super::integer(symbols, &crate::ir::Expr::var(k, crate::Span::NONE))
    }

    #[test]
    fn values() {
        // As gfortran 12 prints them.
        for (text, value) in [
            ("2**N - 1", Some(7)),
            ("-N/2", Some(-1)),
            ("MAX(N, 5)*2", Some(10)),
            ("KIND(1.0D0)", Some(8)),
            ("KIND(D)", Some(8)),
            ("KIND(1.0)", Some(4)),
            ("KIND((1.0, 2.0D0))", Some(8)),
            ("SELECTED_REAL_KIND(6)", Some(4)),
            ("SELECTED_REAL_KIND(15, 307)", Some(8)),
            ("SELECTED_REAL_KIND(18)", Some(10)),
            ("SELECTED_REAL_KIND(33)", Some(16)),
            ("SELECTED_INT_KIND(9)", Some(4)),
            ("SELECTED_INT_KIND(10)", Some(8)),
            ("1/0", None),
            ("9223372036854775807 + 1", None),
            ("K + 1", None),
            ("UNKNOWN(3)", None),
        ] {
            assert_eq!(constant(text), value, "{text}");
        }
    }
}
