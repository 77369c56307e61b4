//! Every intrinsic function and every operator: tangents against the complex step.
//!
//! For a real function, `AIMAG(F(X + i*H))/H` with a tiny `H` is the derivative without any truncation or
//! cancellation error, so that tangents must agree up to rounding; differences (`rules.rs`) cannot detect
//! errors that small. The reference is plain Fortran next to the generated program: the function continued to
//! COMPLEX*16, near kinks by the branch that holds at the sample point. Holomorphic functions of complex
//! arguments are compared with a formula for their derivative, other functions of complex arguments with a
//! complex step of their parts.

use crate::support::{CHECKED, compare_by, expand, run};
use farfel_lang::intrinsics::{ALL, Intrinsic, Op};
use farfel_lang::ir::Type;
use std::fmt::Write;

const SINGLE: Type = Type::Real(4);
const DOUBLE: Type = Type::Real(8);
const NUMERIC: [Type; 5] = [
    Type::Integer(4),
    SINGLE,
    DOUBLE,
    Type::Complex(4),
    Type::Complex(8),
];

/// The intrinsics that are not tested here: GAMMA and similar functions are in `rules.rs`, and those of whole
/// arrays have tests of their own. The others, of characters and bits, have none.
const NO_TANGENT: [Op; 7] = [
    Op::Gamma,
    Op::LogGamma,
    Op::Linear,
    Op::Bilinear,
    Op::Merge,
    Op::Opaque,
    Op::Other,
];

/// A part of a variable: `at_zero + slope*T`. All values are exact in single precision, so
/// that only the function itself rounds.
#[derive(Clone, Copy)]
struct Line {
    at_zero: f64,
    slope: f64,
}

impl Line {
    /// The value at the sample point, T = 0.5.
    fn value(self) -> f64 {
        self.at_zero + 0.5 * self.slope
    }

    fn text(self) -> String {
        format!("{:?}D0 + ({:?}D0)*T", self.at_zero, self.slope)
    }

    fn times(self, sign: f64) -> Line {
        Line {
            at_zero: sign * self.at_zero,
            slope: sign * self.slope,
        }
    }

    fn plus(self, shift: f64) -> Line {
        Line {
            at_zero: self.at_zero + shift,
            slope: self.slope,
        }
    }
}

/// A variable that depends on T.
#[derive(Clone)]
struct Variable {
    name: &'static str,
    ty: Type,
    re: Line,
    /// Zero unless complex.
    im: Line,
}

impl Variable {
    fn is_complex(&self) -> bool {
        matches!(self.ty, Type::Complex(_))
    }

    fn is_integer(&self) -> bool {
        matches!(self.ty, Type::Integer(_))
    }

    /// The real part at the sample point.
    fn value(&self) -> f64 {
        match self.ty {
            Type::Integer(_) => self.re.value().trunc(),
            _ => self.re.value(),
        }
    }

    fn passive(&self) -> Variable {
        let constant = |l: Line| Line {
            at_zero: l.value(),
            slope: 0.0,
        };
        Variable {
            re: constant(self.re),
            im: constant(self.im),
            ..self.clone()
        }
    }

    /// The value as an expression in T, for a program of real numbers.
    fn text(&self) -> String {
        match self.ty {
            Type::Integer(_) => format!("INT({})", self.re.text()),
            Type::Complex(_) => format!("DCMPLX({}, {})", self.re.text(), self.im.text()),
            _ => self.re.text(),
        }
    }
}

const POINTS: usize = 3;

/// A, B and C of these types: all positive; with A negative; with A above two and B negative.
fn variables(types: [Type; 3], point: usize) -> Vec<Variable> {
    let line = |at_zero, slope| Line { at_zero, slope };
    let (sign_a, shift, sign_b) = [(1.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (1.0, 2.0, -1.0)][point];
    // The signs of the imaginary parts differ from those of the real parts.
    let parts = [
        (
            line(0.375, 0.5).times(sign_a).plus(shift),
            line(0.25, 0.25).times(sign_b),
        ),
        (
            line(0.875, -0.25).times(sign_b),
            line(0.125, -0.5).times(sign_b),
        ),
        (line(0.0625, 0.25), line(0.25, 0.5)),
    ];
    let names = ["A", "B", "C"];
    let whole = [3.0, 2.0, 1.0];
    (0..3)
        .map(|k| {
            let (re, im) = parts[k];
            Variable {
                name: names[k],
                ty: types[k],
                re: match types[k] {
                    Type::Integer(_) => re.plus(whole[k] * re.value().signum()),
                    _ => re,
                },
                im: match types[k] {
                    Type::Complex(_) => im,
                    _ => line(0.0, 0.0),
                },
            }
        })
        .collect()
}

/// The reference for a tangent. The texts are Fortran expressions.
enum Reference {
    /// The function with COMPLEX*16 in place of real numbers. A complex variable A is represented by its
    /// parts AU and AV.
    Step(String),
    /// A complex function and its derivative in terms of DA, DB…, the derivatives of A, B….
    Formula { value: String, derivative: String },
}

fn step(text: impl Into<String>) -> Reference {
    Reference::Step(text.into())
}

fn formula(value: impl Into<String>, derivative: impl Into<String>) -> Reference {
    Reference::Formula {
        value: value.into(),
        derivative: derivative.into(),
    }
}

struct Case {
    name: String,
    variables: Vec<Variable>,
    /// The expression to differentiate.
    expr: String,
    complex: bool,
    single: bool,
    reference: Reference,
}

/// The cases of an expression in these variables: with all of them varying with T and, at the first point,
/// with only one of them.
fn cases_of(
    expr: &str,
    result: Type,
    variables: &[Variable],
    point: usize,
    reference: impl Fn(&[Variable]) -> Option<Reference>,
) -> Vec<Case> {
    let mut varying = vec![variables.to_vec()];
    if point == 0 && variables.len() > 1 {
        varying.extend((0..variables.len()).map(|active| {
            let one =
                |(k, v): (usize, &Variable)| if k == active { v.clone() } else { v.passive() };
            variables.iter().enumerate().map(one).collect()
        }));
    }
    let types = || variables.iter().map(|v| v.ty).chain([result]);
    let single = types().any(|t| matches!(t, Type::Real(4) | Type::Complex(4)));
    let of: Vec<String> = types().map(|t| t.to_string().replace(' ', "")).collect();
    varying
        .into_iter()
        .enumerate()
        .filter_map(|(k, variables)| {
            Some(Case {
                name: format!(
                    "{}[{},point{point},active{k}]",
                    expr.replace(' ', ""),
                    of[..of.len() - 1].join(",")
                ),
                reference: reference(&variables)?,
                variables,
                expr: expr.to_owned(),
                complex: matches!(result, Type::Complex(_)),
                single,
            })
        })
        .collect()
}

/// The reference of an intrinsic function; `None` outside its domain.
fn intrinsic_reference(op: Op, result: Type, v: &[Variable]) -> Option<Reference> {
    let a = &v[0];
    if matches!(result, Type::Complex(_)) {
        return Some(complex_reference(op, v));
    }
    let (x, y) = (a.value(), v.get(1).map_or(0.0, Variable::value));
    let constant = |c: f64| format!("DCMPLX({c:?}D0, 0D0)");
    let apply = |inside: bool, f: &str| inside.then(|| step(f));
    match op {
        Op::Convert if matches!(result, Type::Integer(_)) => Some(step(constant(x.trunc()))),
        Op::Convert => Some(step(if a.is_complex() { "AU" } else { "A" })),
        Op::Aint => Some(step(constant(x.trunc()))),
        Op::Anint | Op::Nint => Some(step(constant(x.round()))),
        Op::Abs if a.is_complex() => Some(step("SQRT(AU**2 + AV**2)")),
        Op::Abs => Some(step(if x > 0.0 { "A" } else { "-A" })),
        Op::Mod => Some(step(format!("A - B*({:?}D0)", (x / y).trunc()))),
        Op::Modulo => Some(step(format!("A - B*({:?}D0)", (x / y).floor()))),
        Op::Sign => Some(step(if x * y > 0.0 { "A" } else { "-A" })),
        Op::Dim => Some(step(if x > y { "A - B" } else { "0*A" })),
        Op::Dprod => Some(step("A*B")),
        Op::Max | Op::Min => {
            let chosen = v.iter().reduce(|a, b| {
                let b_wins = if op == Op::Max {
                    b.value() > a.value()
                } else {
                    b.value() < a.value()
                };
                if b_wins { b } else { a }
            })?;
            let text = chosen.name;
            // MAX1 and MIN1 truncate the chosen value.
            Some(step(if matches!(result, Type::Integer(_)) {
                constant(chosen.value().trunc())
            } else {
                text.to_owned()
            }))
        }
        Op::Aimag => Some(step("AV")),
        Op::Sqrt => apply(x > 0.0, "SQRT(A)"),
        Op::Log => apply(x > 0.0, "LOG(A)"),
        Op::Log10 => apply(x > 0.0, "LOG(A)/LOG(10D0)"),
        Op::Asin => apply(x.abs() < 1.0, "ASIN(A)"),
        Op::Acos => apply(x.abs() < 1.0, "ACOS(A)"),
        Op::Exp => Some(step("EXP(A)")),
        Op::Sin => Some(step("SIN(A)")),
        Op::Cos => Some(step("COS(A)")),
        Op::Tan => Some(step("TAN(A)")),
        Op::Atan => Some(step("ATAN(A)")),
        Op::Sinh => Some(step("SINH(A)")),
        Op::Cosh => Some(step("COSH(A)")),
        Op::Tanh => Some(step("TANH(A)")),
        Op::Atan2 => {
            let turn = if y > 0.0 { 0.0 } else { x.signum() };
            Some(step(format!("ATAN(A/B) + ({turn:?}D0)*ACOS(-1D0)")))
        }
        // The series loses digits far from zero.
        Op::Erf => apply(x.abs() < 1.0, "ZERF(A)"),
        Op::Erfc => apply(x.abs() < 1.0, "1 - ZERF(A)"),
        Op::Conjg
        | Op::Gamma
        | Op::LogGamma
        | Op::Linear
        | Op::Bilinear
        | Op::Merge
        | Op::Opaque
        | Op::Other => {
            panic!("no complex step for {op:?} of {result}")
        }
    }
}

/// The reference of an intrinsic function with a complex result.
fn complex_reference(op: Op, v: &[Variable]) -> Reference {
    let of =
        |name: &str, derivative: &str| formula(format!("{name}(A)"), format!("({derivative})*DA"));
    match op {
        Op::Convert if v.len() == 2 => formula("A + (0D0,1D0)*B", "DA + (0D0,1D0)*DB"),
        Op::Convert => formula("A", "DA"),
        Op::Conjg => formula("CONJG(A)", "CONJG(DA)"),
        Op::Sqrt => of("SQRT", "0.5D0/SQRT(A)"),
        Op::Exp => of("EXP", "EXP(A)"),
        Op::Log => of("LOG", "1/A"),
        Op::Sin => of("SIN", "COS(A)"),
        Op::Cos => of("COS", "-SIN(A)"),
        Op::Tan => of("TAN", "1/COS(A)**2"),
        Op::Asin => of("ASIN", "1/SQRT(1 - A**2)"),
        Op::Acos => of("ACOS", "-1/SQRT(1 - A**2)"),
        Op::Atan => of("ATAN", "1/(1 + A**2)"),
        Op::Sinh => of("SINH", "COSH(A)"),
        Op::Cosh => of("COSH", "SINH(A)"),
        Op::Tanh => of("TANH", "1/COSH(A)**2"),
        _ => panic!("no derivative of {op:?} with a complex result"),
    }
}

/// The argument types that a name accepts.
fn argument_types(i: &Intrinsic) -> Vec<Type> {
    let real = vec![SINGLE, DOUBLE];
    match (i.takes, i.op) {
        (Some(ty), _) => vec![ty],
        (None, Op::Convert | Op::Abs) => NUMERIC.to_vec(),
        (None, Op::Mod | Op::Modulo | Op::Sign | Op::Dim | Op::Max | Op::Min) => {
            NUMERIC[..3].to_vec()
        }
        (None, Op::Aimag | Op::Conjg) => NUMERIC[3..].to_vec(),
        (None, Op::Aint | Op::Anint | Op::Nint | Op::Log10 | Op::Atan2 | Op::Erf | Op::Erfc) => {
            real
        }
        (None, _) => NUMERIC[1..].to_vec(),
    }
}

fn intrinsic_cases(i: &Intrinsic) -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in argument_types(i) {
        let result = i.result_type(&[ty]);
        let most = match (i.op, result) {
            // The other arguments of a conversion are the kind.
            (Op::Convert, Type::Complex(_)) if !matches!(ty, Type::Complex(_)) => i.args.1.min(2),
            (Op::Convert, _) => 1,
            _ => i.kind_at.unwrap_or(i.args.1).min(3),
        };
        for n in i.args.0..=most {
            let n = usize::from(n);
            let expr = format!("{}({})", i.name, ["A", "B", "C"][..n].join(", "));
            for point in 0..POINTS {
                let v = &variables([ty; 3], point)[..n];
                cases.extend(cases_of(&expr, result, v, point, |v| {
                    intrinsic_reference(i.op, result, v)
                }));
            }
        }
    }
    cases
}

fn operator_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for a in NUMERIC {
        for b in NUMERIC {
            let result = a.promote(b);
            for (op, derivative) in [
                ("+", "DA + DB"),
                ("-", "DA - DB"),
                ("*", "DA*B + A*DB"),
                ("/", "(DA*B - A*DB)/B**2"),
                ("**", "A**B*(DB*LOG(DCMPLX(A)) + B*DA/A)"),
            ] {
                let expr = format!("A{op}B");
                // Signs matter for powers.
                let points = if op == "**" { POINTS } else { 1 };
                for point in 0..points {
                    let v = &variables([a, b, a], point)[..2];
                    cases.extend(cases_of(&expr, result, v, point, |v| {
                        if matches!(result, Type::Complex(_)) {
                            return Some(formula(&expr, derivative));
                        }
                        // A negative number has no real power.
                        let outside = op == "**" && v[0].value() < 0.0 && !v[1].is_integer();
                        (!outside).then(|| step(&expr))
                    }));
                }
            }
        }
    }
    for ty in &NUMERIC[1..] {
        let complex = matches!(ty, Type::Complex(_));
        for (point, power) in [
            (0, "0"),
            (1, "1"),
            (1, "2"),
            (1, "3"),
            (1, "7"),
            (1, "(-1)"),
            (1, "(-2)"),
            (0, "2.0"),
            (0, "0.5"),
            (0, "1.75D0"),
            (0, "(-1.5)"),
            (0, "(1.0/4.0)"),
        ] {
            let expr = format!("A**{power}");
            let result = if power.contains('D') {
                ty.promote(DOUBLE)
            } else {
                *ty
            };
            let v = &variables([*ty; 3], point)[..1];
            cases.extend(cases_of(&expr, result, v, point, |_| {
                Some(if complex {
                    formula(&expr, format!("{power}*{expr}/A*DA"))
                } else {
                    step(&expr)
                })
            }));
        }
    }
    cases
}

/// Expressions that are their own reference.
const COMPOSITIONS: &[&str] = &[
    "-A",
    "+A",
    "-(-(-A)*B)",
    "(-A)*(-B)/(-C)",
    "A - (-B) - (C - A)",
    "2**A",
    "2.5**A",
    "A**(B*C)",
    "A**B**C",
    "(A**B)**C",
    "1/(1 + 1/(A + 2))",
    "(2*A - B)**3*(C/(B + A))",
    "SIN(A*EXP(B))/(1 + LOG(C)**2)",
    "SQRT(A + B**2)*ATAN(A/B)",
    "TANH(ACOS(C) - ASIN(A))",
    "COS(SIN(TAN(A)))",
    "(A*B - C)**3/(A**B + SINH(C))**2",
    "EXP(-A**2)*COSH(B - C)",
    "SQRT(SQRT(A*B) + EXP(EXP(C)))",
    "LOG(LOG(3 + A*B*C))",
];

/// Real expressions with their own references, at the first point (A = 0.625, B = 0.75, C = 0.1875).
const BRANCHES: &[(&str, &str)] = &[
    ("ABS(A - B)*MAX(SIN(A), B)", "(B - A)*B"),
    ("MIN(A*B, EXP(C), A)**2", "(A*B)**2"),
    ("MOD(EXP(B), A*B)", "EXP(B) - 4*A*B"),
    ("SIGN(SIN(A), B - 1)*C", "-SIN(A)*C"),
    ("DIM(B, A)*DIM(A, B) + DIM(A, C)", "A - C"),
    ("A*AINT(2*B) + ANINT(A)*B", "A + B"),
    ("ATAN2(A*B, C - 1)", "ATAN(A*B/(C - 1)) + ACOS(-1D0)"),
    ("LOG10(A + B)", "LOG(A + B)/LOG(10D0)"),
    ("ERF(A*B)*ERFC(C)", "ZERF(A*B)*(1 - ZERF(C))"),
    ("ABS(CMPLX(A, B))", "SQRT(A**2 + B**2)"),
];

/// Real expressions in complex variables, and their references in terms of the parts.
const PARTS: &[(&str, &str)] = &[
    ("ABS(EXP(A))", "EXP(AU)"),
    ("AIMAG(A*B)", "AU*BV + AV*BU"),
    ("REAL(SIN(A))", "SIN(AU)*COSH(AV)"),
    ("ABS(A/B)", "SQRT((AU**2 + AV**2)/(BU**2 + BV**2))"),
    ("REAL(A*CONJG(A))", "AU**2 + AV**2"),
];

/// Complex expressions in complex variables, with their derivatives.
const HOLOMORPHIC: &[(&str, &str)] = &[
    ("-A", "-DA"),
    (
        "EXP(A*B)/(A + B)",
        "EXP(A*B)*((DA*B + A*DB)*(A + B) - DA - DB)/(A + B)**2",
    ),
    ("SQRT(A)*B - LOG(B)", "DA/(2*SQRT(A))*B + SQRT(A)*DB - DB/B"),
    ("CONJG(A)*B", "CONJG(DA)*B + CONJG(A)*DB"),
    ("SIN(COS(A*A))", "-COS(COS(A*A))*SIN(A*A)*2*A*DA"),
];

fn composition_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let same = COMPOSITIONS.iter().map(|e| (*e, *e));
    let tables = [
        (
            &NUMERIC[1..3],
            same.chain(BRANCHES.iter().copied()).collect(),
        ),
        (&NUMERIC[3..], PARTS.to_vec()),
        (&NUMERIC[3..], HOLOMORPHIC.to_vec()),
    ];
    for (table, (types, exprs)) in tables.into_iter().enumerate() {
        for ty in types {
            for (expr, reference) in &exprs {
                let mut v = variables([*ty; 3], 0);
                v.retain(|v| {
                    expr.split(|c: char| !c.is_alphanumeric())
                        .any(|w| w == v.name)
                });
                let result = if table == 2 { *ty } else { DOUBLE };
                let mut of = cases_of(expr, result, &v, 0, |_| {
                    Some(if table == 2 {
                        formula(*expr, *reference)
                    } else {
                        step(*reference)
                    })
                });
                // CMPLX always gives single precision.
                of.iter_mut()
                    .for_each(|c| c.single |= expr.contains("CMPLX"));
                cases.extend(of);
            }
        }
    }
    cases
}

/// The program to differentiate: all cases, and all their tangents with respect to T.
fn farfel_program(cases: &[Case]) -> String {
    let n = cases.len();
    let mut text = String::new();
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        text += &format!("      SUBROUTINE S{i}(T, Y)\n      DOUBLE PRECISION T, Y\n");
        for v in &c.variables {
            text += &format!("      {} {}\n", v.ty, v.name);
        }
        text += "      COMPLEX*16 V\n";
        for v in &c.variables {
            text += &format!("      {} = {}\n", v.name, v.text());
        }
        if c.complex {
            text += &format!("      V = {}\n      Y = DBLE(V) + 2D0*DIMAG(V)\n", c.expr);
        } else {
            text += &format!("      Y = {}\n", c.expr);
        }
        text += "      END\n";
    }
    text += &format!("      SUBROUTINE VALUES(T, Y)\n      DOUBLE PRECISION T, Y({n})\n");
    for i in 1..=n {
        text += &format!("      CALL S{i}(T, Y({i}))\n");
    }
    text += &format!(
        "      END
      SUBROUTINE SLOPES(T, Y, D)
      DOUBLE PRECISION T, Y({n}), D({n})
      ADF(T)
      CALL VALUES(T, Y)
      END ADF((D(I) = TANGENT(Y(I)), I = 1, {n}))
      END
"
    );
    text
}

/// The references and the main program, which never pass through Farfel.
fn reference_program(cases: &[Case]) -> String {
    let n = cases.len();
    let mut text = String::from(
        "      FUNCTION ZERF(X)
      COMPLEX*16 ZERF, X, TERM
      INTEGER K
      TERM = 2*X/SQRT(ACOS(-1D0))
      ZERF = TERM
      DO 10 K = 1, 40
      TERM = -TERM*X*X/K
   10 ZERF = ZERF + TERM/(2*K + 1)
      END
",
    );
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        text += &format!(
            "      SUBROUTINE R{i}(Y, D)
      IMPLICIT NONE
      DOUBLE PRECISION Y, D, H
      COMPLEX*16 T, V, ZERF
      PARAMETER (H = 1D-100)
"
        );
        let is_formula = matches!(c.reference, Reference::Formula { .. });
        for v in &c.variables {
            let a = v.name;
            let ty = if v.is_integer() {
                "INTEGER"
            } else {
                "COMPLEX*16"
            };
            text += &format!("      {ty} {a}\n      COMPLEX*16 {a}U, {a}V, D{a}\n");
        }
        text += "      T = DCMPLX(0.5D0, H)\n";
        for v in &c.variables {
            let a = v.name;
            if v.is_integer() {
                text += &format!("      {a} = {:?}D0\n      D{a} = 0\n", v.value());
                continue;
            }
            let (re, im) = (v.re.text(), v.im.text());
            text += &format!("      {a}U = {re}\n      {a}V = {im}\n      {a} = {a}U\n");
            if is_formula {
                text += &format!("      {a} = DCMPLX(DBLE({a}U), DBLE({a}V))\n");
                text += &format!("      D{a} = DCMPLX(DIMAG({a}U)/H, DIMAG({a}V)/H)\n");
            }
        }
        text += &match &c.reference {
            Reference::Step(value) => {
                format!("      V = {value}\n      Y = DBLE(V)\n      D = DIMAG(V)/H\n")
            }
            Reference::Formula { value, derivative } => format!(
                "      V = {value}
      Y = DBLE(V) + 2D0*DIMAG(V)
      V = {derivative}
      D = DBLE(V) + 2D0*DIMAG(V)
"
            ),
        };
        text += "      END\n";
    }
    text += &format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION Y({n}), D({n}), P({n}), R({n})
      CALL SLOPES(0.5D0, Y, D)
"
    );
    for i in 1..=n {
        text += &format!("      CALL R{i}(P({i}), R({i}))\n");
    }
    text += &format!(
        "      DO 10 I = 1, {n}
      PRINT *, 'value', Y(I), P(I)
   10 PRINT *, 'tangent', D(I), R(I)
      END
"
    );
    text
}

#[test]
fn every_tangent_against_the_complex_step() {
    let mut cases = Vec::new();
    for i in ALL.iter().filter(|i| !NO_TANGENT.contains(&i.op)) {
        let of = intrinsic_cases(i);
        assert!(!of.is_empty(), "no complex step for {}", i.name);
        cases.extend(of);
    }
    cases.extend(operator_cases());
    cases.extend(composition_cases());
    let source = farfel_program(&cases);
    let mut fortran = expand(&source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    write!(fortran, "{}", reference_program(&cases)).unwrap();
    let flags = [CHECKED, &["-ffixed-line-length-none"]].concat();
    let out = run(&fortran, &flags);
    assert_eq!(out.lines().count(), 2 * cases.len());
    let mut named = String::new();
    for (k, line) in out.lines().enumerate() {
        let c = &cases[k / 2];
        let precision = if c.single { "single" } else { "double" };
        writeln!(named, "{precision}:{}:{}", c.name, line.trim_start()).unwrap();
    }
    // Relative, even below one: a zero must be zero.
    compare_by(&named, "", |name, value, expected| {
        let tolerance = if name.starts_with("single") {
            1e-6
        } else {
            1e-13
        };
        (value - expected).abs() <= tolerance * expected.abs()
    });
}
