//! Adjoints by `farfel tapenade` that save many arrays: subprograms push and pop them.

use farfel_tests::tapenade::tapenade;
use farfel_tests::{sandbox, write};
use std::process::Command;

/// A procedure without source changes arrays of one and two dimensions, a section, and an array of another type.
const MODEL: &str = "      SUBROUTINE MODEL(N, M, X, Y)
      INTEGER N, M, K(6), L
      DOUBLE PRECISION X(2), Y, U(4), V(-1:3,0:4), W(20), S, T
      REAL R(3,2)
      COMMON /COUNT/ K
      S = X(1)
      DO I = 1, N
        U(I) = X(2)*I
      END DO
      DO J = 0, 4
        DO I = -1, 3
          V(I,J) = X(1)*I + X(2)*J
        END DO
      END DO
      DO I = 1, 20
        W(I) = X(1) + I
      END DO
      DO J = 1, 2
        DO I = 1, 3
          R(I,J) = X(J)/I
        END DO
      END DO
      DO I = 1, 6
        K(I) = I
      END DO
      L = 0
      DO WHILE (S .LT. M)
        L = L + 1
        CALL MIX(N, U, V, W(1 + MOD(L, 4)), R, X)
        T = S
        S = T*1.01D0 + 1 + 1D-3*SIN(0.01D0*T)
        IF (MOD(L, 3) .EQ. 0) THEN
          S = S + W(3)*W(3)
          CALL MIX(N, U, V, W, R, X)
          S = S + 1D-2*W(2)**2
          CALL MIX(N, U, V, W(3), R, X)
        END IF
        T = T*T
        S = S + 1D-9*T + 1D-5*R(1,2)
      END DO
      Y = S*X(2)
      DO I = 1, N
        Y = Y + U(I)
      END DO
      DO J = 0, 4
        DO I = -1, 3
          Y = Y + V(I,J)*(I + 2*J)
        END DO
      END DO
      DO I = 1, 20
        Y = Y + W(I)**2
      END DO
      END
";

/// The procedure, its adjoint by hand, and a program that compares a gradient with differences.
const BESIDE: &str = "      SUBROUTINE MIX(N, U, V, W, R, X)
      INTEGER N
      DOUBLE PRECISION U(N), V(25), W(5), X(2)
      REAL R(6)
      DO I = 1, N
        U(I) = SIN(U(I))*X(1)
      END DO
      DO I = 1, 25
        V(I) = SIN(V(I))*X(2)
      END DO
      DO I = 1, 5
        W(I) = COS(W(I))*X(1)
      END DO
      DO I = 1, 6
        R(I) = R(I)/2 + 0.25
      END DO
      END
      SUBROUTINE MIX_B(N, U, UB, V, VB, W, WB, R, RB, X, XB)
      INTEGER N
      DOUBLE PRECISION U(N), V(25), W(5), X(2)
      DOUBLE PRECISION UB(N), VB(25), WB(5), XB(2)
      REAL R(6), RB(6)
      DO I = 1, N
        XB(1) = XB(1) + SIN(U(I))*UB(I)
        UB(I) = COS(U(I))*X(1)*UB(I)
      END DO
      DO I = 1, 25
        XB(2) = XB(2) + SIN(V(I))*VB(I)
        VB(I) = COS(V(I))*X(2)*VB(I)
      END DO
      DO I = 1, 5
        XB(1) = XB(1) + COS(W(I))*WB(I)
        WB(I) = -SIN(W(I))*X(1)*WB(I)
      END DO
      DO I = 1, 6
        RB(I) = RB(I)/2
      END DO
      END
      PROGRAM MAIN
      DOUBLE PRECISION X(2), XB(2), Y, YB, YP, YM, H
      DO N = 0, 4
        DO M = 20, 2000, 330
          X(1) = 0.9D0
          X(2) = 0.8D0
          XB(1) = 0
          XB(2) = 0
          YB = 1
          CALL MODEL_B(N, M, X, XB, Y, YB)
          H = 1D-6
          DO I = 1, 2
            X(I) = X(I) + H
            CALL MODEL(N, M, X, YP)
            X(I) = X(I) - 2*H
            CALL MODEL(N, M, X, YM)
            X(I) = X(I) + H
            PRINT *, XB(I), (YP - YM)/(2*H)
          END DO
        END DO
      END DO
      END
";

/// The adjoint, with the numbers that a compiled program prints.
fn adjoint(flags: &[&str]) -> (String, Vec<f64>) {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "s.f", MODEL);
    write(dir, "beside.f", BESIDE);
    tapenade(dir, &["-b", "-head", "model(y)/(x)", "s.f"]).success();
    let mut gfortran = Command::new("gfortran");
    let made = gfortran
        .current_dir(dir)
        .args(flags)
        .args(["-o", "run", "s.f", "s_b.f", "beside.f"])
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let ran = Command::new(dir.join("run")).output().unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    let numbers = printed.split_whitespace().map(|n| n.parse().unwrap());
    let text = std::fs::read_to_string(dir.join("s_b.f")).unwrap();
    (text, numbers.collect())
}

/// The gradient is right, for any number of values and arrays without elements; a push is one statement.
#[test]
fn subprograms_push_arrays() {
    for flags in [&["-O0", "-g", "-fcheck=all"][..], &["-O2"]] {
        let (text, numbers) = adjoint(flags);
        assert_eq!(numbers.len(), 140);
        for pair in numbers.chunks(2) {
            let [gradient, difference] = pair else {
                unreachable!()
            };
            // Some values that matter little are in single precision.
            let error = (gradient - difference).abs();
            assert!(error <= 1e-6 * difference.abs().max(1.0), "{numbers:?}");
        }
        let one_line: String = text.replace("\n     +", " ");
        let one_line = one_line.split_whitespace().collect::<Vec<_>>().join(" ");
        for called in [
            "CALL MODEL_B_PUSHN_R8(V, 25, TAPE_R8)",
            "CALL MODEL_B_POPN_R8(V, 25, TAPE_R8)",
            // What follows an array has no check, since this leaves room for it.
            "IF (TAPE_R8%TOP + MAX(N, 0) + 64 .GT. TAPE_R8%MOST)",
            "R(1:3, II2) END DO TAPE_R8%TOP = TAPE_R8%TOP + 2 ",
        ] {
            assert!(one_line.contains(called), "{called}\n{text}");
        }
    }
}
