//! The derivatives that are shipped for BLAS and LAPACK: each tangent against differences of the procedure
//! itself, each adjoint against the tangent by the dot product identity.

use crate::support::{self, run_with_lapack};
use farfel_ad::custom_rules::bundled;
use farfel_lang::ir::{ProcedureDirective, Program};
use farfel_lang::print::{Options, print_program};
use std::fmt::Write;

const CHECKED: &[&str] = &["-O0", "-fcheck=all"];

/// The leading dimension of all matrices.
const LD: usize = 40;
/// The number of elements of each array.
const SIZE: usize = LD * LD;

/// How a procedure is tested.
struct Try {
    /// The name without the letter of the type.
    stem: &'static str,
    /// Passive arguments, `NAME=value`, the same in all forms.
    with: &'static str,
    /// Further ones, one form each.
    forms: &'static [&'static str],
}

const fn case(stem: &'static str, with: &'static str, forms: &'static [&'static str]) -> Try {
    Try { stem, with, forms }
}

const STEPS: &[&str] = &["INCX=1 INCY=1", "INCX=2 INCY=-3"];
const STEP: &[&str] = &["INCX=1", "INCX=3"];
const TRIANGLES: &[&str] = &[
    "UPLO='U' TRANS='N' DIAG='N' INCX=1",
    "UPLO='L' TRANS='T' DIAG='N' INCX=-2",
    "UPLO='U' TRANS='T' DIAG='U' INCX=1",
    "UPLO='l' TRANS='n' DIAG='u' INCX=2",
];
const SIDES: &[&str] = &[
    "SIDE='L' UPLO='U'",
    "SIDE='R' UPLO='U'",
    "SIDE='L' UPLO='L'",
    "SIDE='R' UPLO='L'",
];
const HALVES: &[&str] = &[
    "UPLO='U' TRANS='N'",
    "UPLO='L' TRANS='N'",
    "UPLO='U' TRANS='T'",
    "UPLO='L' TRANS='T'",
];
const SIDED_TRIANGLES: &[&str] = &[
    "SIDE='L' UPLO='U' TA='N' DIAG='N'",
    "SIDE='L' UPLO='L' TA='T' DIAG='N'",
    "SIDE='R' UPLO='U' TA='T' DIAG='N'",
    "SIDE='R' UPLO='L' TA='N' DIAG='N'",
    "SIDE='L' UPLO='U' TA='T' DIAG='U'",
    "SIDE='R' UPLO='L' TA='T' DIAG='U'",
    "SIDE='R' UPLO='u' TA='n' DIAG='u'",
];

/// All of them; for LAPACK, with matrices larger than a block.
const TRIES: &[Try] = &[
    case("AXPY", "N=5", STEPS),
    case("SCAL", "N=5", STEP),
    case("COPY", "N=5", STEPS),
    case("SWAP", "N=5", STEPS),
    case("DOT", "N=5", STEPS),
    case("NRM2", "N=5", STEP),
    case("ASUM", "N=5", STEP),
    case("ROT", "N=5", STEPS),
    case(
        "GEMV",
        "M=5 N=4",
        &[
            "TRANS='N' INCX=1 INCY=1",
            "TRANS='t' INCX=2 INCY=-1",
            "TRANS='C' INCX=-1 INCY=2",
        ],
    ),
    case("GER", "M=5 N=4", STEPS),
    case(
        "SYMV",
        "N=5",
        &["UPLO='U' INCX=1 INCY=1", "UPLO='l' INCX=2 INCY=-1"],
    ),
    case("SYR", "N=5", &["UPLO='U' INCX=1", "UPLO='L' INCX=-2"]),
    case(
        "SYR2",
        "N=5",
        &["UPLO='U' INCX=1 INCY=1", "UPLO='L' INCX=-2 INCY=2"],
    ),
    case("TRMV", "N=5", TRIANGLES),
    case("TRSV", "N=5", TRIANGLES),
    case(
        "GEMM",
        "M=5 N=4 K=3",
        &[
            "TA='N' TB='N'",
            "TA='T' TB='N'",
            "TA='n' TB='t'",
            "TA='T' TB='C'",
        ],
    ),
    case("SYMM", "M=5 N=4", SIDES),
    case("SYRK", "N=5 K=3", HALVES),
    case("SYR2K", "N=5 K=3", HALVES),
    case("TRMM", "M=5 N=4", SIDED_TRIANGLES),
    case("TRSM", "M=5 N=4", SIDED_TRIANGLES),
    case(
        "GETRF",
        "",
        &["M=5 N=5", "M=37 N=37", "M=36 N=34", "M=5 N=38"],
    ),
    case(
        "GETRS",
        "NRHS=3 IPIV=IP",
        &["TRANS='N' N=5", "TRANS='T' N=36"],
    ),
    case("GESV", "NRHS=2 N=36", &[""]),
    case(
        "POTRF",
        "",
        &[
            "UPLO='U' N=5",
            "UPLO='L' N=5",
            "UPLO='U' N=38",
            "UPLO='L' N=38",
        ],
    ),
    case("POTRS", "NRHS=3 N=6", &["UPLO='U'", "UPLO='L'"]),
    case("POSV", "NRHS=2 N=35", &["UPLO='U'", "UPLO='L'"]),
];

/// A routine that tests a procedure in one form.
fn trial(
    number: usize,
    given: &ProcedureDirective,
    function: bool,
    with: &str,
    form: &str,
) -> String {
    let name = &given.procedure;
    let single = name.starts_with('S');
    let ty = if single { "REAL" } else { "REAL*8" };
    let set: Vec<(&str, &str)> = with
        .split(' ')
        .chain(form.split(' '))
        .filter_map(|w| w.split_once('='))
        .collect();
    // The actual arguments of the procedure, its tangent and its adjoint.
    let mut actuals = [Vec::new(), Vec::new(), Vec::new()];
    let mut count = 0;
    for a in given.arguments.iter().flatten() {
        if given.is_active(a) {
            count += 1;
            actuals[0].push(format!("P(1,{count})"));
            actuals[1].push(format!("X(1,{count}), XD(1,{count})"));
            actuals[2].push(format!("X(1,{count}), C(1,{count})"));
            continue;
        }
        let value = match set.iter().find(|(n, _)| n == a) {
            Some((_, v)) => (*v).to_owned(),
            None if a.starts_with("LD") => LD.to_string(),
            None if *a == "IPIV" => "IP2".to_owned(),
            None if *a == "INFO" => "INFO".to_owned(),
            None => panic!("{name} needs {a}"),
        };
        actuals.iter_mut().for_each(|l| l.push(value.clone()));
    }
    let mut external = String::new();
    let mut primal = format!("CALL {name}");
    if function {
        count += 1;
        external = format!("      {ty} {name}\n      EXTERNAL {name}\n");
        primal = format!("P(1,{count}) = {name}");
        actuals[1].push(format!("X(1,{count}), XD(1,{count})"));
        actuals[2].push(format!("X(1,{count}), C(1,{count})"));
    }
    let [of_primal, of_tangent, of_adjoint] = actuals.map(|l| l.join(", "));
    let number_of = |n: &str| set.iter().find(|(m, _)| *m == n).map_or("40", |(_, v)| *v);
    let rows = number_of(if name.ends_with("GETRF") { "M" } else { "N" });
    // The matrix is far from singular; it needs row exchanges, the same as matrices nearby.
    let large = match &name[1..] {
        "GETRF" | "GESV" => format!("I*{LD} - {LD} + MOD(I, {rows}) + 1"),
        _ => format!("I*{LD} - {LD} + I"),
    };
    let more = match &name[1..] {
        "TRSV" | "TRSM" if form.to_uppercase().contains("DIAG='U'") => 0,
        _ => 25,
    };
    // Far from where the absolute value has no derivative.
    let away = match name.ends_with("ASUM") {
        true => "X0(I,J) = X0(I,J) + SIGN(ONE, X0(I,J))",
        false => "",
    };
    let h = if single { "1E-2" } else { "1D-3" };
    let label: String = form
        .chars()
        .map(|c| match c {
            ' ' | '\'' => '_',
            c => c,
        })
        .collect();
    format!(
        "      SUBROUTINE P{number}(H, X0, X1, P)
      {ty} X0({SIZE},{count}), X1({SIZE},{count}), P({SIZE},{count}), H
      INTEGER IP({LD}), IP2({LD})
{external}      DO I = 1, {LD}
        IP(I) = MIN(I + 1, {rows})
      END DO
      P = X0 + H*X1
      {primal}({of_primal})
      END
      SUBROUTINE T{number}
      {ty} X0({SIZE},{count}), X1({SIZE},{count}), P({SIZE},{count},4)
      {ty} X({SIZE},{count}), XD({SIZE},{count}), C({SIZE},{count})
      {ty} C0({SIZE},{count}), H, ZERO, ONE
      REAL*8 A, B, E, F
      INTEGER IP({LD}), IP2({LD})
      DO I = 1, {LD}
        IP(I) = MIN(I + 1, {rows})
      END DO
      ZERO = 0
      ONE = 1
      H = {h}
      DO J = 1, {count}
        DO I = 1, {SIZE}
          X0(I,J) = SIN(1.7*I + 0.3*I*I + J)*0.4
          {away}
          X1(I,J) = COS(2.3*I*I + 0.7*J)
          C0(I,J) = SIN(0.9*I*I + 1.3*J + 1)
        END DO
        DO I = 1, {LD}
          K = {large}
          X0(K,J) = X0(K,J) + {more}
        END DO
      END DO
      X = X0
      XD = X1
      CALL FARFEL_{name}_D({of_tangent})
      CALL P{number}(ZERO, X0, X1, P(1,1,1))
      E = MAXVAL(ABS(DBLE(X) - P(:,:,1)))
      PRINT *, '{name}/{label}/primal', E, 0
      CALL P{number}(H, X0, X1, P(1,1,1))
      CALL P{number}(-H, X0, X1, P(1,1,2))
      CALL P{number}(2*H, X0, X1, P(1,1,3))
      CALL P{number}(-2*H, X0, X1, P(1,1,4))
      E = 0
      DO J = 1, {count}
        DO I = 1, {SIZE}
          F = 8*(DBLE(P(I,J,1)) - P(I,J,2)) - (DBLE(P(I,J,3)) - P(I,J,4))
          E = MAX(E, ABS(XD(I,J) - F/(12*H))/(1 + ABS(XD(I,J))))
        END DO
      END DO
      PRINT *, '{name}/{label}/tangent', E, 0
      A = SUM(DBLE(C0)*XD)
      X = X0
      C = C0
      CALL FARFEL_{name}_B({of_adjoint})
      B = SUM(DBLE(C)*X1)
      E = MAX(1D0, ABS(A))
      PRINT *, '{name}/{label}/adjoint', B/E, A/E
      END
"
    )
}

/// The program that tests all procedures of a precision.
fn program(letter: char) -> String {
    let mut text = String::new();
    let mut main = String::from("      PROGRAM MAIN\n");
    let mut number = 0;
    let mut tried = 0;
    for (given, function) in bundled::rules() {
        if given.is_constant() || !given.procedure.starts_with(letter) {
            continue;
        }
        tried += 1;
        let stem = &given.procedure[1..];
        let Some(t) = TRIES.iter().find(|t| t.stem == stem) else {
            panic!("{} is not tried", given.procedure);
        };
        for form in t.forms {
            number += 1;
            text += &trial(number, given, *function, t.with, form);
            writeln!(main, "      CALL T{number}").unwrap();
        }
    }
    assert_eq!(tried, TRIES.len());
    let units = bundled::units().cloned().collect();
    let bundled = print_program(&Program { units }, &Options::default());
    format!("{bundled}{text}{main}      END\n")
}

fn check_all(letter: char, tangent: f64, other: f64, all_flags: &[&[&str]]) {
    let text = program(letter);
    for flags in all_flags {
        let Some(out) = run_with_lapack(&text, flags) else {
            return;
        };
        support::compare_by(&out, "", |name, v, x| {
            let tolerance = if name.ends_with("tangent") {
                tangent
            } else {
                other
            };
            (v - x).abs() <= tolerance
        });
    }
}

#[test]
fn double_precision() {
    check_all('D', 2e-8, 1e-11, &[CHECKED, &["-O2"]]);
}

#[test]
fn single_precision() {
    check_all('S', 5e-2, 1e-4, &[CHECKED]);
}
