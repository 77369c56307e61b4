//! Actual arguments that are expressions, `CALL S(X, (X), R)`: values, whatever the callee does to its dummy
//! arguments. Every expression whose derivative can be that of a variable, for every kind of variable and of
//! callee, is compared with the same program with a copy in place of the expression, and its derivatives with
//! finite differences of that program.

use farfel_random::compiled::{expand, read, run};
use farfel_tests::sandbox;

use farfel_tests::tapenade::{close, numbers, tapenade};
use farfel_tests::write;
use std::fmt::Write as _;

/// Expressions in the variable `{v}`; `Y` does not vary.
const FORMS: [&str; 25] = [
    "({v})",
    "(({v}))",
    "+{v}",
    "-(-{v})",
    "{v} + 1",
    "{v} - Y",
    "Y + {v}",
    "{v} - 0",
    "{v}/1",
    "{v}*1D0",
    "1*{v}",
    "{v}**1",
    "DBLE({v})",
    "MAX({v}, -1D3)",
    "MIN({v}, 1D3)",
    "{v} + SIN(Y)",
    "AINT(Y) + {v}",
    "FS({v})",
    "(FS(({v})))",
    "H0({v})",
    "H0(({v}) + 1)",
    "2*{v}",
    "{v}*{v} + Q",
    "3D0",
    "PI",
];

/// One of each kind, to be combined with all kinds of variables.
const KINDS: [&str; 8] = [
    "({v})", "{v} + 1", "{v}*1D0", "FS({v})", "H0({v})", "2*{v}", "3D0", "PI",
];

/// Calls with the expression, `{e}`, and another variable, `{f}`.
const CALLS: [&str; 8] = [
    // Assigns the variable, and variables in COMMON.
    "CALL S1({f}, {e}, {r})",
    // Assigns the value.
    "CALL S2({f}, {e}, {r})",
    // Assigns neither.
    "CALL S3({f}, {e}, {r})",
    // Assigns both.
    "CALL S4({f}, {e}, {r})",
    // The value comes first.
    "CALL S1({e}, {f}, {r})",
    "{r} = {f}*H({f}, {e}) + {f}",
    "CALL APPLY(S1, {f}, {e}, {r})",
    "CALL APPLY(S2, {f}, {e}, {r})",
];

/// The callees.
const CALLEES: &str = "      SUBROUTINE S1(A, B, R)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      COMMON /BLK/ C
      A = 2*A
      C = 3*C
      R = A*B + C
      END
      SUBROUTINE S2(A, B, R)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      COMMON /BLK/ C
      B = B*B
      R = A*B + C
      END
      SUBROUTINE S3(A, B, R)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      COMMON /BLK/ C
      R = A*B*C
      END
      SUBROUTINE S4(A, B, R)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      COMMON /BLK/ C
      B = A*B
      A = B*B*0.1D0 + A
      R = A + B*C
      END
      FUNCTION H(A, B)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      B = B*A
      H = B*B + A
      END
      FUNCTION H0(A)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      H0 = A
      END
      SUBROUTINE APPLY(F, A, B, R)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      EXTERNAL F
      CALL F(A, B, R)
      END
";

/// The storage of the variable.
struct Storage {
    name: &'static str,
    /// Its declaration, and further ones.
    declared: &'static str,
    /// Its name.
    variable: &'static str,
    /// The other argument: a variable in COMMON must not be passed to a subprogram that assigns it.
    first: &'static str,
    /// The calls that get the expression.
    calls: &'static [&'static str],
    forms: &'static [&'static str],
}

const STORAGES: [Storage; 5] = [
    Storage {
        name: "a local variable",
        declared: "",
        variable: "U",
        first: "U",
        calls: &CALLS,
        forms: &FORMS,
    },
    Storage {
        name: "an element",
        declared: "      DIMENSION U(3)\n",
        variable: "U(J)",
        first: "U(J)",
        calls: &CALLS,
        forms: &KINDS,
    },
    Storage {
        name: "a variable with SAVE",
        declared: "      SAVE U\n",
        variable: "U",
        first: "U",
        calls: &CALLS,
        forms: &KINDS,
    },
    Storage {
        name: "a variable in EQUIVALENCE",
        declared: "      DIMENSION V(3)\n      EQUIVALENCE (V(2), U)\n",
        variable: "U",
        first: "V(2)",
        calls: &CALLS,
        forms: &KINDS,
    },
    Storage {
        name: "a variable in COMMON",
        declared: "",
        variable: "C",
        first: "Z",
        calls: &CALLS,
        forms: &KINDS,
    },
];

/// A variable that a nested subprogram uses, and assigns.
const CAPTURED: Storage = Storage {
    name: "a captured variable",
    declared: "        SUBROUTINE ONE(B, S)
        U = U*2
        S = U*B
        END
        SUBROUTINE TWO(B, S)
        B = U*B*B
        S = U*B
        END
        SUBROUTINE THREE(B, S)
        S = U*B
        END
        FUNCTION FOUR(B)
        B = B*U
        FOUR = U*B
        END
        SUBROUTINE HAND(F, B, S)
        CALL F(B, S)
        END
",
    variable: "U",
    first: "U",
    calls: &[
        "CALL ONE({e}, {r})",
        "CALL TWO({e}, {r})",
        "CALL THREE({e}, {r})",
        "{r} = FOUR({e})",
        "CALL HAND(ONE, {e}, {r})",
        "CALL HAND(TWO, {e}, {r})",
    ],
    forms: &KINDS,
};

impl Storage {
    fn cases(&self) -> Vec<(&'static str, &'static str)> {
        let forms = |call: &'static str| self.forms.iter().map(move |form| (call, *form));
        self.calls.iter().flat_map(|call| forms(call)).collect()
    }

    /// Returns a subroutine that computes R from X and Q, one number for each case; if `copied`, with a copy
    /// in place of the expression.
    fn subroutine(&self, name: &str, copied: bool) -> String {
        let Storage {
            declared,
            variable: v,
            first: f,
            ..
        } = self;
        let n = self.cases().len();
        let mut text = format!(
            "      SUBROUTINE {name}(X, Q, R)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      COMMON /BLK/ C
      DIMENSION R({n})
      PARAMETER (PI = 3.25D0)
      EXTERNAL S1, S2
{declared}      FS(P) = P
      Y = 0.7D0
      J = 2
"
        );
        for (i, (call, form)) in self.cases().into_iter().enumerate() {
            let r = format!("R({})", i + 1);
            let form = form.replace("{v}", v);
            let e = if copied { "COPY" } else { form.as_str() };
            let call = call.replace("{e}", e).replace("{f}", f).replace("{r}", &r);
            let copy = match copied {
                true => format!("      COPY = {form}\n"),
                false => String::new(),
            };
            let _ = write!(
                text,
                "      C = Q + 0.5D0*X
      {f} = X*(1 + 0.001D0*{i}) + Q
{copy}      {call}
      {r} = {r} + 0.25D0*{f} + 0.125D0*C
"
            );
        }
        text.push_str("      END\n");
        text
    }

    /// Describes the errors: the program prints the numbers of a check and of a case.
    fn wrong(&self, printed: &str) -> Vec<String> {
        const CHECKS: [&str; 5] = ["value", "ADF", "DIRECTIONS", "ADR", "value with ADR"];
        let cases = self.cases();
        let said = printed.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |i: usize| words.get(i).and_then(|w| w.parse::<usize>().ok());
            let check = number(0).and_then(|k| CHECKS.get(k));
            let case = number(1).and_then(|k| cases.get(k.checked_sub(1)?));
            match (check, case) {
                (Some(check), Some((call, form))) => {
                    format!("{}: {call}, {form}: {check}: {line}", self.name)
                }
                _ => line.to_owned(),
            }
        });
        said.collect()
    }
}

/// Returns a program that checks T by finite differences of TC.
fn program(n: usize) -> String {
    format!(
        "      PROGRAM TST
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      PARAMETER (N = {n})
      DIMENSION R(N), RC(N), RP(N), RM(N), RX(N), RQ(N)
      DIMENSION D(N), E(N,2), W(N)
      X = 1.25D0
      Q = 0.75D0
      S = 1D-5
      CALL TC(X + S, Q, RP)
      CALL TC(X - S, Q, RM)
      DO 10 I = 1, N
   10 RX(I) = (RP(I) - RM(I))/(2*S)
      CALL TC(X, Q + S, RP)
      CALL TC(X, Q - S, RM)
      DO 20 I = 1, N
   20 RQ(I) = (RP(I) - RM(I))/(2*S)
      CALL TC(X, Q, RC)
      CALL T(X, Q, R)
      DO 30 I = 1, N
   30 CALL CHECK(0, I, R(I), RC(I))
      ADF(TANGENT(X) = 1, TANGENT(Q) = 0.5D0)
      CALL T(X, Q, R)
      END ADF(D = TANGENT(R))
      DO 40 I = 1, N
      CALL CHECK(0, I, R(I), RC(I))
   40 CALL CHECK(1, I, D(I), RX(I) + 0.5D0*RQ(I))
      ADF(DIRECTIONS = 2, TANGENT(X, 1) = 1, TANGENT(Q, 2) = 1)
      CALL T(X, Q, R)
      END ADF(((E(I,J) = TANGENT(R(I), J), I = 1, N), J = 1, 2))
      DO 50 I = 1, N
      CALL CHECK(2, I, E(I,1), RX(I))
   50 CALL CHECK(2, I, E(I,2), RQ(I))
C     The gradient of each result would take as many sweeps.
      DO 80 K = 1, 7
      WX = 0
      WQ = 0
      DO 60 I = 1, N
      W(I) = MOD(I*(K + 3), 11) - 5
      WX = WX + W(I)*RX(I)
   60 WQ = WQ + W(I)*RQ(I)
      ADR(COTANGENT(R) = W)
      CALL T(X, Q, R)
      END ADR(GX = COTANGENT(X), GQ = COTANGENT(Q))
      DO 70 I = 1, N
   70 CALL CHECK(4, I, R(I), RC(I))
      CALL CHECK(3, 0, GX, WX)
   80 CALL CHECK(3, 0, GQ, WQ)
      END
      SUBROUTINE CHECK(L, I, A, B)
      DOUBLE PRECISION A, B
      IF (.NOT. ABS(A - B) .LE. 1D-6*(1 + ABS(B))) PRINT *, L, I, A, B
      END
"
    )
}

fn blocks(storage: &Storage) {
    let text = [
        program(storage.cases().len()),
        storage.subroutine("T", false),
        storage.subroutine("TC", true),
        CALLEES.to_owned(),
    ]
    .concat();
    let fortran = expand(read(&text).unwrap()).unwrap();
    let dir = sandbox();
    let printed = run(&fortran, &["-O2", "-fcheck=all"], "", dir.path()).unwrap();
    let wrong = storage.wrong(&printed);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_local_variable() {
    blocks(&STORAGES[0]);
}

#[test]
fn an_element() {
    blocks(&STORAGES[1]);
}

#[test]
fn a_variable_with_save() {
    blocks(&STORAGES[2]);
}

#[test]
fn a_variable_in_equivalence() {
    blocks(&STORAGES[3]);
}

#[test]
fn a_variable_in_common() {
    blocks(&STORAGES[4]);
}

#[test]
fn a_captured_variable() {
    blocks(&CAPTURED);
}

/// Checks tangents and adjoints of `farfel tapenade` by finite differences.
fn dropin(storage: &Storage) {
    // The user requests the derivatives of passed procedures.
    let storage = &Storage {
        calls: &CALLS[..6],
        ..*storage
    };
    let n = storage.cases().len();
    let dir = sandbox();
    let dir = dir.path();
    let text = [storage.subroutine("T", false), CALLEES.to_owned()].concat();
    write(dir, "t.f", &text);
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", "t(r)/(x q)", "t.f"]).success();
    }
    write(dir, "tc.f", storage.subroutine("TC", true));
    let driver = format!(
        "      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      PARAMETER (N = {n}, S = 1D-5)
      DIMENSION R(N), RC(N), RP(N), RM(N), RD(N), RB(N)
      X = 1.25D0
      Q = 0.75D0
      CALL TC(X + S, Q + S/2, RP)
      CALL TC(X - S, Q - S/2, RM)
      CALL TC(X, Q, RC)
      CALL T_D(X, 1D0, Q, 0.5D0, R, RD)
      PRINT *, (R(I) - RC(I), RD(I) - (RP(I) - RM(I))/(2*S), I = 1, N)
      DO 20 K = 1, 7
      W = 0
      DO 10 I = 1, N
      RB(I) = MOD(I*(K + 3), 11) - 5
   10 W = W + RB(I)*RD(I)
      XB = 0
      QB = 0
      CALL T_B(X, XB, Q, QB, R, RB)
   20 PRINT *, XB + QB/2 - W, 0
      END
"
    );
    write(dir, "driver.f", &driver);
    let sources = ["driver.f", "tc.f", "t.f", "t_d.f", "t_b.f"];
    close(&numbers(dir, &sources, ""), &vec![0.0; 2 * n + 14], 1e-5);
}

#[test]
fn dropin_of_an_element() {
    dropin(&STORAGES[1]);
}

#[test]
fn dropin_of_a_variable_in_common() {
    dropin(&STORAGES[4]);
}
