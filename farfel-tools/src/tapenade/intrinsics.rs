//! Intrinsic functions that the tool does not know, or differentiates incorrectly.
//!
//! Seen with 3.16: many specific names are unknown, and so are DIM and ANINT; the tangent of
//! `CMPLX(X, Y)` with passive Y has Y as its imaginary part; ABS of a complex number becomes a
//! comparison of complex numbers; parts of a COMPLEX*16 are stored in single precision.
//!
//! If a generic name means the same, it is used instead. Otherwise a function of our own is
//! substituted: the tool reads a definition that it can differentiate, and the program gets one
//! that calls the intrinsic function.

use super::units::own_units;
use farfel_lang::Span;
use farfel_lang::intrinsics::{Intrinsic, Op};
use farfel_lang::ir::{
    BinOp, Class, Expr, ExprKind, StorageClass, Symbol, Type, Unit, rewrite_exprs,
};
use farfel_lang::types::type_of;
use std::collections::BTreeMap;

/// A function of our own, in its two versions.
#[derive(Debug, Clone)]
pub(super) struct Helper {
    /// The version that the tool reads.
    pub seen: Unit,
    /// The version for the program.
    pub real: Unit,
}

/// Returns the generic name that the tool knows for an operation.
fn generic(i: &Intrinsic, result: Type) -> Option<&'static str> {
    Some(match i.op {
        Op::Convert => match result {
            Type::Integer(4) => "INT",
            Type::Real(4) => "REAL",
            Type::Real(8) => "DBLE",
            Type::Complex(4) => "CMPLX",
            Type::Complex(8) => "DCMPLX",
            _ => return None,
        },
        Op::Aint => "AINT",
        Op::Nint => "NINT",
        Op::Abs => "ABS",
        Op::Mod => "MOD",
        Op::Sign => "SIGN",
        Op::Max => "MAX",
        Op::Min => "MIN",
        Op::Aimag => "AIMAG",
        Op::Conjg => "CONJG",
        Op::Sqrt => "SQRT",
        Op::Exp => "EXP",
        Op::Log => "LOG",
        Op::Log10 => "LOG10",
        Op::Sin => "SIN",
        Op::Cos => "COS",
        Op::Tan => "TAN",
        Op::Asin => "ASIN",
        Op::Acos => "ACOS",
        Op::Atan => "ATAN",
        Op::Atan2 => "ATAN2",
        Op::Sinh => "SINH",
        Op::Cosh => "COSH",
        Op::Tanh => "TANH",
        Op::Dprod
        | Op::Anint
        | Op::Dim
        | Op::Erf
        | Op::Erfc
        | Op::Gamma
        | Op::LogGamma
        | Op::Modulo
        | Op::Linear
        | Op::Bilinear
        | Op::Merge
        | Op::Opaque
        | Op::Other => return None,
    })
}

/// Replaces such intrinsic functions in `units`, and returns the substitutes.
pub(super) fn replace(units: &mut [Unit]) -> Vec<Helper> {
    let mut helpers: BTreeMap<String, Helper> = BTreeMap::new();
    let present: Vec<_> = units.iter().map(|u| u.name.clone()).collect();
    for unit in units {
        // The substitutes call the functions that they replace.
        if unit.name.starts_with(PREFIX) {
            continue;
        }
        let mut body = std::mem::take(&mut unit.body);
        rewrite_exprs(&mut body, &mut |e| replace_one(unit, e, &mut helpers));
        unit.body = body;
        let functions: Vec<_> = unit
            .symbols
            .iter()
            .filter(|(_, s)| matches!(s.class, Class::StatementFunction(..)))
            .map(|(id, _)| id)
            .collect();
        for id in functions {
            if let Class::StatementFunction(args, mut value) = unit.symbols[id].class.clone() {
                value.rewrite(&mut |e| replace_one(unit, e, &mut helpers));
                unit.symbols[id].class = Class::StatementFunction(args, value);
            }
        }
    }
    helpers
        .into_iter()
        .filter(|(name, _)| !present.iter().any(|p| p == name.as_str()))
        .map(|(_, h)| h)
        .collect()
}

/// The prefix of the names of the substitutes.
const PREFIX: &str = "FARFEL_F_";

fn replace_one(unit: &mut Unit, e: &mut Expr, helpers: &mut BTreeMap<String, Helper>) {
    let span = e.span;
    match &e.kind {
        // The tool fails if there is a constant in an active expression.
        ExprKind::Complex(parts) => {
            let double = type_of(unit, e) == Some(Type::Complex(8));
            let parts = [parts.0.clone(), parts.1.clone()];
            complex(unit, e, parts, double, helpers);
            return;
        }
        // The derivative with respect to the exponent contains LOG of the base.
        ExprKind::Binary(BinOp::Pow, base, exponent) => {
            let ty = match (type_of(unit, base), type_of(unit, exponent)) {
                (Some(Type::Integer(_)), Some(Type::Real(n) | Type::Complex(n))) => Type::Real(n),
                _ => return,
            };
            if let ExprKind::Binary(_, base, _) = &mut e.kind {
                let inner = (**base).clone();
                **base = convert(unit, inner, ty);
            }
            return;
        }
        _ => {}
    }
    let ExprKind::Call(callee, args) = &e.kind else {
        return;
    };
    let Class::Intrinsic(i) = unit.symbols[*callee].class else {
        return;
    };
    let types: Option<Vec<Type>> = args.iter().map(|a| type_of(unit, a)).collect();
    let Some(types) = types else { return };
    let result = i.result_type(&types);
    if let Some(h) = substitute(i, &types, result) {
        let args = args.clone();
        h.call(unit, e, args, helpers);
        return;
    }
    if i.op == Op::Convert
        && let Type::Complex(n) = result
        && !matches!(types.first(), Some(Type::Complex(_)))
        && let Some(x) = args.first()
    {
        let zero = Expr::int(0, span);
        let parts = [x.clone(), args.get(1).cloned().unwrap_or(zero)];
        complex(unit, e, parts, n == 8, helpers);
        return;
    }
    // AMAX0 and the like also convert.
    let converts = matches!(i.op, Op::Max | Op::Min)
        && types.iter().copied().reduce(Type::promote) != Some(result);
    if !converts
        && let Some(name) = generic(i, result)
        && name != i.name
    {
        let args = args.clone();
        if let Some(sym) = intrinsic(unit, name, span) {
            *e = Expr::call(sym, args, e.span);
        }
    }
}

/// Writes `(x, y)` such that each part has a derivative of its own.
fn complex(
    unit: &mut Unit,
    e: &mut Expr,
    parts: [Expr; 2],
    double: bool,
    helpers: &mut BTreeMap<String, Helper>,
) {
    let n = if double { 8 } else { 4 };
    let args = parts
        .into_iter()
        .map(|x| convert(unit, x, Type::Real(n)))
        .collect();
    let name = if double { "DCMPLX" } else { "CMPLX" };
    let substitute = Substitute {
        name: format!("CMPLX{n}"),
        result: Type::Complex(n),
        of: Type::Real(n),
        count: 2,
        seen: vec![
            format!("C = {name}(0, 1)"),
            "D = B".to_owned(),
            "D = C*D".to_owned(),
            "C = A".to_owned(),
            "F = C + D".to_owned(),
        ],
        real: format!("{name}(A, B)"),
    };
    substitute.call(unit, e, args, helpers);
}

/// Converts a number to another type, if necessary.
fn convert(unit: &mut Unit, e: Expr, ty: Type) -> Expr {
    let span = e.span;
    let name = if ty == Type::DOUBLE { "DBLE" } else { "REAL" };
    if type_of(unit, &e) == Some(ty) {
        return e;
    }
    match intrinsic(unit, name, span) {
        Some(sym) => Expr::call(sym, vec![e], span),
        None => e,
    }
}

/// A substitute for an intrinsic function.
struct Substitute {
    /// Its name, without the prefix.
    name: String,
    /// The type of its result `F`, and of the local variables `C` and `D`.
    result: Type,
    /// The type of its arguments `A`, `B`, ….
    of: Type,
    /// The number of arguments.
    count: usize,
    /// The statements of the version for the tool.
    seen: Vec<String>,
    /// The value in the version for the program.
    real: String,
}

impl Substitute {
    /// Turns `e` into a call of the substitute.
    fn call(
        self,
        unit: &mut Unit,
        e: &mut Expr,
        args: Vec<Expr>,
        helpers: &mut BTreeMap<String, Helper>,
    ) {
        let name = format!("{PREFIX}{}", self.name);
        if let Some(sym) = function(unit, &name, self.result, e.span) {
            *e = Expr::call(sym, args, e.span);
            helpers
                .entry(name.clone())
                .or_insert_with(|| self.written(&name));
        }
    }

    /// Writes both versions.
    fn written(&self, name: &str) -> Helper {
        let Substitute {
            name: _,
            result,
            of,
            count,
            seen,
            real,
        } = self;
        let args = ["A", "B"][..*count].join(", ");
        let one = |local: &str, statements: &[String]| {
            let mut text = format!("      {result} FUNCTION {name}({args})\n      {of} {args}\n");
            text += local;
            for s in statements {
                let s = s
                    .strip_prefix("F =")
                    .map_or_else(|| s.clone(), |value| format!("{name} ={value}"));
                text += &format!("      {s}\n");
            }
            text += "      END\n";
            own_units(&text, Span::NONE).pop().unwrap_or_else(|| {
                Unit::new(farfel_lang::ir::UnitKind::Function, name.into(), Span::NONE)
            })
        };
        let local = if seen.len() > 1 {
            format!("      {result} C, D\n")
        } else {
            String::new()
        };
        Helper {
            seen: one(&local, seen),
            real: one("", &[format!("F = {real}")]),
        }
    }
}

/// Returns the substitute for an intrinsic function with arguments of some types.
fn substitute(i: &Intrinsic, types: &[Type], result: Type) -> Option<Substitute> {
    let of = *types.first()?;
    let (zero, one) = if result == Type::DOUBLE {
        ("0.D0", "1.D0")
    } else {
        ("0.0", "1.0")
    };
    let (name, seen): (String, Vec<&str>) = match (i.op, of) {
        (Op::Dim, Type::Real(n)) => (format!("DIM{n}"), vec!["F = MAX(A - B, 0)"]),
        // The tool mixes precisions in single precision.
        (Op::Sign, Type::Real(n)) => (
            format!("SIGN{n}"),
            vec!["C = SIGN(ONE, A)", "D = SIGN(ONE, B)", "F = A*C*D"],
        ),
        // AINT has no derivative either.
        (Op::Anint, Type::Real(n)) => (format!("ANINT{n}"), vec!["F = AINT(A)"]),
        // The tool writes LOG(10) in single precision.
        (Op::Log10, Type::Real(8)) => (
            "LOG10".to_owned(),
            vec!["F = LOG(A)/2.302585092994045684D0"],
        ),
        // The tool assumes that functions of complex numbers are real, and stores intermediate
        // values in real variables.
        (Op::Abs, Type::Complex(4)) => (
            "ABS4".to_owned(),
            vec!["C = REAL(A)**2 + AIMAG(A)**2", "F = SQRT(C)"],
        ),
        (Op::Abs, Type::Complex(8)) => (
            "ABS8".to_owned(),
            vec![
                "C = DBLE(A)",
                "D = AIMAG(A)",
                "C = C**2 + D**2",
                "F = SQRT(C)",
            ],
        ),
        (Op::Sqrt, Type::Complex(n)) => (
            format!("SQRT{n}"),
            vec!["C = LOG(A)", "C = C/2", "F = EXP(C)"],
        ),
        (Op::Exp, Type::Complex(n)) => (format!("EXP{n}"), vec!["F = EXP(A)"]),
        (Op::Log, Type::Complex(n)) => (format!("LOG{n}"), vec!["F = LOG(A)"]),
        (Op::Sin, Type::Complex(n)) => (format!("SIN{n}"), vec!["F = SIN(A)"]),
        (Op::Cos, Type::Complex(n)) => (format!("COS{n}"), vec!["F = COS(A)"]),
        (Op::Aimag, Type::Complex(8)) => ("IMAG8".to_owned(), vec!["F = AIMAG(A)"]),
        (Op::Convert, Type::Complex(8)) if result == Type::DOUBLE && types.len() == 1 => {
            ("REAL8".to_owned(), vec!["F = DBLE(A)"])
        }
        _ => return None,
    };
    let args = ["A", "B"].get(..types.len())?.join(", ");
    Some(Substitute {
        name,
        result,
        of,
        count: types.len(),
        seen: seen
            .into_iter()
            .map(|s| s.replace(", 0)", &format!(", {zero})")))
            .map(|s| s.replace("ONE", one))
            .collect(),
        real: format!("{}({args})", i.name),
    })
}

/// Returns the symbol of an intrinsic function, unless its name means something else here.
pub(super) fn intrinsic(unit: &mut Unit, name: &str, span: Span) -> Option<farfel_lang::ir::SymId> {
    if let Some(s) = unit.symbols.find(name) {
        return matches!(unit.symbols[s].class, Class::Intrinsic(_)).then_some(s);
    }
    let i = Intrinsic::find(name)?;
    Some(unit.symbols.add(Symbol {
        class: Class::Intrinsic(i),
        storage_class: StorageClass::Global,
        ..Symbol::new(name.into(), span)
    }))
}

/// Returns the declared symbol of a function of our own.
fn function(unit: &mut Unit, name: &str, ty: Type, span: Span) -> Option<farfel_lang::ir::SymId> {
    if let Some(s) = unit.symbols.find(name) {
        return (unit.symbols[s].class == Class::Function).then_some(s);
    }
    let id = unit.symbols.add(Symbol {
        ty: Some(ty),
        typed: true,
        class: Class::Function,
        storage_class: StorageClass::Global,
        ..Symbol::new(name.into(), span)
    });
    unit.declare(id);
    Some(id)
}
