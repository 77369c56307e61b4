//! Every intrinsic function and every operator with every combination of types: tangents
//! against central differences, extrapolated.

use crate::support::{self, CHECKED, FAST, compare, expand, run};
use farfel_lang::intrinsics::{ALL, Intrinsic, Op};
use farfel_lang::ir::Type;

/// A function of T: what it computes, with A, B (and variants) of some type that vary
/// with T.
struct Case {
    name: String,
    /// Expressions in T for variables, with their types.
    set: Vec<(&'static str, Type, &'static str)>,
    expr: String,
    complex: bool,
}

/// One program that computes all cases in one AD block and by differences.
fn program(cases: &[Case], step: &str) -> String {
    let n = cases.len();
    let mut text = String::new();
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        text += &format!("      SUBROUTINE S{i}(T, Y)\n      DOUBLE PRECISION T, Y\n");
        for (name, ty, _) in &c.set {
            text += &format!("      {ty} {name}\n");
        }
        text += "      COMPLEX*16 V\n";
        for (name, _, value) in &c.set {
            text += &format!("      {name} = {value}\n");
        }
        if c.complex {
            text += &format!("      V = {}\n      Y = DBLE(V) + 2D0*DIMAG(V)\n", c.expr);
        } else {
            text += &format!("      Y = {}\n", c.expr);
        }
        text += "      END\n";
    }
    text += &format!("      SUBROUTINE ALL(T, Y)\n      DOUBLE PRECISION T, Y({n})\n");
    for i in 1..=n {
        text += &format!("      CALL S{i}(T, Y({i}))\n");
    }
    text += "      END\n";
    text += &format!(
        "      SUBROUTINE DALL(T, Y, D)
      DOUBLE PRECISION T, Y({n}), D({n})
      ADF(T)
      CALL ALL(T, Y)
      END ADF((D(I) = TANGENT(Y(I)), I = 1, {n}))
      END
      SUBROUTINE DIFF(T, H, D)
      DOUBLE PRECISION T, H, D({n}), Y({n}), Z({n})
      CALL ALL(T + H, Y)
      CALL ALL(T - H, Z)
      DO 10 I = 1, {n}
   10 D(I) = (Y(I) - Z(I))/(2*H)
      END
      PROGRAM MAIN
      DOUBLE PRECISION T, Y({n}), D({n}), D1({n}), D2({n}), D3({n}), H
      DOUBLE PRECISION R1, R2, P({n})
      CHARACTER*40 NAME({n})
      T = 0.5D0
      H = {step}
      CALL DALL(T, Y, D)
      CALL ALL(T, P)
      CALL DIFF(T, H, D1)
      CALL DIFF(T, H/2, D2)
      CALL DIFF(T, H/4, D3)
"
    );
    for (i, c) in cases.iter().enumerate() {
        text += &format!("      NAME({}) = '{}'\n", i + 1, c.name);
    }
    text += &format!(
        "      DO 20 I = 1, {n}
      R1 = (4*D2(I) - D1(I))/3
      R2 = (4*D3(I) - D2(I))/3
      PRINT *, NAME(I), D(I), (16*R2 - R1)/15
   20 PRINT *, NAME(I), Y(I), P(I)
      END
"
    );
    text
}

fn check_cases(cases: &[Case], step: &str, tolerance: f64) {
    let source = program(cases, step);
    let fortran = expand(&source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    for flags in [CHECKED, FAST] {
        // Needed for the functions in degrees.
        let flags = [flags, &["-fdec-math"]].concat();
        compare(&run(&fortran, &flags), tolerance, &fortran);
    }
}

const Z: Type = Type::Complex(8);

/// Values of A, B and C in some type: positive and below one; then with the sign of A, or of B, changed.
fn values(ty: Type) -> [Vec<(&'static str, Type, &'static str)>; 3] {
    let of = |a, b, c| vec![("A", ty, a), ("B", ty, b), ("C", ty, c)];
    match ty {
        Type::Complex(_) => [
            of(
                "DCMPLX(0.3D0 + 0.4D0*T, 0.7D0*T)",
                "DCMPLX(0.9D0 - 0.3D0*T, -0.2D0*T)",
                "DCMPLX(0.2D0, T)",
            ),
            of(
                "DCMPLX(-0.3D0 - 0.4D0*T, 0.7D0*T)",
                "DCMPLX(0.9D0 - 0.3D0*T, -0.2D0*T)",
                "DCMPLX(0.2D0, T)",
            ),
            of(
                "DCMPLX(0.3D0 + 0.4D0*T, -0.7D0*T)",
                "DCMPLX(-0.9D0 + 0.3D0*T, 0.2D0*T)",
                "DCMPLX(0.2D0, T)",
            ),
        ],
        Type::Integer(_) => {
            let v = of(
                "INT(3.5D0 + 0.4D0*T)",
                "INT(2.3D0 + 0.4D0*T)",
                "INT(1.5D0 + 0.2D0*T)",
            );
            [v.clone(), v.clone(), v]
        }
        _ => [
            of("0.36D0 + 0.4D0*T", "0.9D0 - 0.3D0*T", "0.2D0*T + 0.3D0*T*T"),
            of(
                "-0.36D0 - 0.4D0*T",
                "0.9D0 - 0.3D0*T",
                "0.2D0*T + 0.3D0*T*T",
            ),
            of(
                "2.36D0 + 0.4D0*T",
                "-0.9D0 + 0.3D0*T",
                "0.2D0*T + 0.3D0*T*T",
            ),
        ],
    }
}

/// The argument types to test an intrinsic with, and how many of [`values`] are in its domain.
fn domain(i: &Intrinsic) -> (Vec<Type>, usize) {
    use Type::{Complex, Integer, Real};
    let real = vec![Real(4), Real(8)];
    let both = vec![Real(4), Real(8), Complex(4), Z];
    let (generic, points) = match i.op {
        Op::Convert => ([both, vec![Integer(4)]].concat(), 3),
        Op::Aint | Op::Anint | Op::Nint | Op::Mod | Op::Modulo | Op::Sign | Op::Dim => (real, 3),
        Op::Dprod => (vec![Real(4)], 3),
        Op::Max | Op::Min => (real, 3),
        Op::Abs => ([both, vec![Integer(4)]].concat(), 3),
        Op::Aimag | Op::Conjg => (vec![Complex(4), Z], 3),
        Op::Exp | Op::Sin | Op::Cos => (both, 3),
        Op::Sqrt | Op::Log => (
            both,
            if matches!(i.takes, Some(Complex(_))) {
                3
            } else {
                1
            },
        ),
        Op::Log10 => (real, 1),
        Op::Asin | Op::Acos => (real, 2),
        Op::Tan | Op::Atan | Op::Atan2 | Op::Sinh | Op::Cosh | Op::Tanh | Op::Erf | Op::Erfc => {
            (real, 3)
        }
        Op::Gamma | Op::LogGamma => (real, if i.op == Op::Gamma { 3 } else { 1 }),
        Op::Opaque => match i.name {
            "ASINH" | "DASINH" | "ERFC_SCALED" | "HYPOT" | "COTAN" | "DCOTAN" => (real, 3),
            "ATANH" | "DATANH" => (real, 2),
            // Above one only.
            "ACOSH" | "DACOSH" => (vec![], 0),
            "SIND" | "COSD" | "TAND" | "COTAND" | "ATAND" | "ATAN2D" => (real, 3),
            "DSIND" | "DCOSD" | "DTAND" | "DCOTAND" | "DATAND" | "DATAN2D" => (real, 3),
            "ASIND" | "ACOSD" | "DASIND" | "DACOSD" => (real, 2),
            "COMPLEX" => (real, 3),
            "BESJ0" | "BESJ1" | "BESSEL_J0" | "BESSEL_J1" | "DBESJ0" | "DBESJ1" => (real, 3),
            "BESY0" | "BESY1" | "BESSEL_Y0" | "BESSEL_Y1" | "DBESY0" | "DBESY1" => (real, 1),
            // The others need an order, arrays, or are refused: below, and `errors.rs`.
            _ => (vec![], 0),
        },
        // Of whole arrays: see `arrays.rs`.
        Op::Linear | Op::Bilinear | Op::Merge => (vec![], 0),
        // Characters and bits.
        Op::Other => (vec![], 0),
    };
    match (i.takes, i.op) {
        (_, Op::Opaque) if generic.is_empty() => (generic, points),
        (_, Op::Other) => (generic, points),
        (Some(t), _) => (vec![t], points),
        (None, _) => (generic, points),
    }
}

/// Cases that are not in the domain of [`values`], or that take other arguments.
const MORE: &[(&str, &str)] = &[
    ("ACOSH", "ACOSH(1.5D0 + A)"),
    ("ACOSH_single", "ACOSH(1.5 + SNGL(A))"),
    ("DACOSH", "DACOSH(1.5D0 + A*B)"),
    ("JN_0", "BESSEL_JN(0, A)"),
    ("JN_1", "BESJN(1, A)"),
    ("JN_3", "DBESJN(3, A*B)"),
    ("YN_0", "BESSEL_YN(0, A)"),
    ("YN_2", "BESYN(2, A + B)"),
    ("YN_1", "DBESYN(1, A)"),
    ("NEAREST", "NEAREST(A*B, 1D0)"),
    ("HYPOT_of_one", "HYPOT(A, 2D0)*HYPOT(3D0, B)"),
    ("GAMMA_small", "GAMMA(A*1D-2)"),
    ("GAMMA_large", "LOG_GAMMA(20 + A) + GAMMA(13*A)*1D-3"),
    ("GAMMA_negative", "GAMMA(-2 - A)"),
    ("LOG_GAMMA_twice", "LOG_GAMMA(LOG_GAMMA(4 + A)*B)"),
];

fn intrinsic_cases(single: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, expr) in MORE {
        if name.ends_with("single") == single {
            cases.push(Case {
                name: (*name).to_owned(),
                set: values(Type::DOUBLE)[0].iter().take(2).cloned().collect(),
                expr: (*expr).to_owned(),
                complex: false,
            });
        }
    }
    for i in ALL {
        let (types, points) = domain(i);
        for ty in types {
            let is_single = match ty {
                Type::Real(n) | Type::Complex(n) => n == 4,
                _ => false,
            };
            let result = i.result_type(&[ty]);
            let result_single = matches!(result, Type::Real(4) | Type::Complex(4));
            if (is_single || result_single) != single {
                continue;
            }
            let complex = matches!(result, Type::Complex(_));
            for (k, set) in values(ty).into_iter().take(points).enumerate() {
                // All numbers of arguments up to three; kind arguments must be constant.
                let most = match i.op {
                    Op::Opaque => i.args.1,
                    Op::Convert if !complex => 1,
                    Op::Convert if matches!(ty, Type::Complex(_)) => 1,
                    Op::Convert => i.args.1.min(2),
                    _ => i.kind_at.unwrap_or(i.args.1).min(3),
                };
                for n in i.args.0..=most {
                    let args = ["A", "B", "C"][..usize::from(n)].join(", ");
                    let set: Vec<_> = set.iter().take(usize::from(n)).cloned().collect();
                    cases.push(Case {
                        name: format!("{}({ty},{n},{k})", i.name).replace(' ', "_"),
                        set: set.clone(),
                        expr: format!("{}({args})", i.name),
                        complex,
                    });
                    if n >= 2 {
                        // With one passive argument.
                        let mut passive = set;
                        passive[1].2 = match ty {
                            Type::Complex(_) => "(0.25D0,-0.5D0)",
                            Type::Integer(_) => "2",
                            _ => "0.625D0",
                        };
                        cases.push(Case {
                            name: format!("{}({ty},{n},{k},B_passive)", i.name).replace(' ', "_"),
                            set: passive.clone(),
                            expr: format!("{}({args})", i.name),
                            complex,
                        });
                        let swapped = ["B", "A", "C"][..usize::from(n)].join(", ");
                        cases.push(Case {
                            name: format!("{}({ty},{n},{k},A_passive)", i.name).replace(' ', "_"),
                            set: passive,
                            expr: format!("{}({swapped})", i.name),
                            complex,
                        });
                    }
                }
            }
        }
    }
    cases
}

#[test]
fn every_intrinsic_in_double_precision() {
    let cases = intrinsic_cases(false);
    assert!(cases.len() > 150, "{}", cases.len());
    check_cases(&cases, "0.01D0", 2e-9);
}

#[test]
fn every_intrinsic_in_single_precision() {
    let cases = intrinsic_cases(true);
    assert!(cases.len() > 150, "{}", cases.len());
    check_cases(&cases, "0.1D0", 1e-3);
}

/// Variables for the operators: K, L INTEGER, R, S REAL, D, E DOUBLE PRECISION, C COMPLEX,
/// Z COMPLEX*16.
fn operands() -> Vec<(&'static str, Type, &'static str)> {
    vec![
        ("K", Type::INTEGER, "3"),
        ("L", Type::INTEGER, "-2"),
        ("M", Type::INTEGER, "0"),
        ("N", Type::INTEGER, "1"),
        ("I8", Type::Integer(8), "2"),
        ("R", Type::REAL, "0.36D0 + 0.4D0*T"),
        ("S", Type::REAL, "0.9D0 - 0.3D0*T"),
        ("D", Type::DOUBLE, "0.36D0 + 0.4D0*T"),
        ("E", Type::DOUBLE, "0.9D0 - 0.3D0*T"),
        ("P", Type::DOUBLE, "1.75D0"),
        ("C", Type::COMPLEX, "DCMPLX(0.3D0 + 0.4D0*T, 0.7D0*T)"),
        ("Z", Z, "DCMPLX(0.9D0 - 0.3D0*T, -0.2D0*T)"),
        ("W", Z, "(0.5D0,0.25D0)"),
    ]
}

fn operator_case(expr: &str) -> Case {
    let words: Vec<&str> = expr.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let set: Vec<_> = operands()
        .into_iter()
        .filter(|(n, ..)| words.contains(n))
        .collect();
    let complex = set.iter().any(|s| matches!(s.1, Type::Complex(_)));
    Case {
        name: expr.replace(' ', ""),
        set,
        expr: expr.to_owned(),
        complex,
    }
}

fn is_single(c: &Case) -> bool {
    c.set
        .iter()
        .any(|s| matches!(s.1, Type::Real(4) | Type::Complex(4)))
}

#[test]
fn every_operator_with_every_combination_of_types() {
    let mut cases = Vec::new();
    let names = ["K", "R", "D", "C", "Z", "L", "P", "W"];
    for a in names {
        for b in names.into_iter().chain(["S", "E"]) {
            for op in ["+", "-", "*", "/", "**"] {
                if a == "L" && op == "**" && ["R", "D", "P", "S", "E"].contains(&b) {
                    // A negative number has no real power.
                    continue;
                }
                cases.push(operator_case(&format!("{a} {op} {b}")));
            }
        }
    }
    for a in ["R", "D", "C", "Z"] {
        for e in [
            "0",
            "1",
            "2",
            "3",
            "7",
            "(-1)",
            "(-2)",
            "K",
            "L",
            "M",
            "N",
            "I8",
            "(K-1)",
            "2.0",
            "1.0",
            "0.5",
            "1.7",
            "(-1.5)",
            "3.0D0",
            "0.0",
            "(1.0/3.0)",
        ] {
            cases.push(operator_case(&format!("{a}**{e}")));
        }
        for e in [
            "-{}",
            "+{}",
            "2**{}",
            "2.5**{}",
            "K**{}",
            "{}**{}",
            "{}*{}",
            "({}*{} + 1)*({}*D - E)*({}*E)",
            "({}*D/E)**2",
            "(2*{} - D)**3*({}/(E + {}))",
            "1/(1 + 1/({} + 2))",
            "-(-(-{})*D)",
            "(-{})*(-D)/(-E)",
            "D - (-{}) - (E - {})",
            "D**(E*{})",
            "{}**(D**E)",
        ] {
            cases.push(operator_case(&e.replace("{}", a)));
        }
    }
    let (single, double): (Vec<_>, Vec<_>) = cases.into_iter().partition(is_single);
    check_cases(&double, "0.01D0", 1e-8);
    check_cases(&single, "0.1D0", 4e-3);
}

/// Points where functions have kinks or their domain ends: the documented choices, and no NaN where the
/// derivative is finite.
#[test]
fn edges() {
    let cases = [
        // name, statement with X = 0 and dX = 1 (N0 = 0, N1 = 1, N2 = 2), derivative
        ("sqrt0", "SQRT(X)", 0.0),
        ("sqrt0_squared", "SQRT(X*X)", 0.0),
        ("abs0", "ABS(X)", 1.0),
        ("x_to_n0", "X**N0", 0.0),
        ("x_to_n1", "X**N1", 1.0),
        ("x_to_n2", "X**N2", 0.0),
        ("x_to_p0", "X**P0", 0.0),
        ("x_to_p1", "X**P1", 1.0),
        ("x_to_p2", "X**P2", 0.0),
        ("x_to_2", "X**2", 0.0),
        ("x_to_2.0", "X**2.0D0", 0.0),
        ("x_to_1.5", "X**1.5D0", 0.0),
        ("zero_to_power", "P0**(X + 2)", 0.0),
        ("max_tie_first", "MAX(X, P0)", 1.0),
        ("max_tie_second", "MAX(P0, X)", 0.0),
        ("min_tie_first", "MIN(X, P0)", 1.0),
        ("min_tie_second", "MIN(P0, X)", 0.0),
        ("dim_tie", "DIM(X, P0)", 0.0),
        ("sign0", "SIGN(X, P1)", 1.0),
        ("sign0_minus", "SIGN(X, -P1)", -1.0),
        ("cabs0", "ABS(DCMPLX(X, P0))", 0.0),
        ("atan2", "ATAN2(X, P1)", 1.0),
    ];
    let mut text = String::from(
        "      PROGRAM MAIN\n      DOUBLE PRECISION X, Y, D, P0, P1, P2\n      X = 0\n      P0 = 0\n      P1 = 1\n      P2 = 2\n      N0 = 0\n      N1 = 1\n      N2 = 2\n",
    );
    for (name, expr, expected) in cases {
        text += &format!(
            "      ADF(X)\n      Y = {expr}\n      END ADF(D = TANGENT(Y))\n      PRINT *, '{name} ', D, {expected:?}\n"
        );
    }
    text += "      END\n";
    support::check(&text, 0.0);
}
