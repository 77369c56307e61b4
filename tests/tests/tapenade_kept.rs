//! What adjoints by `farfel tapenade` keep of arrays: not the local ones that can be computed again, and only the slice of an
//! array that a call changes.

use farfel_tests::tapenade::tapenade;
use farfel_tests::{sandbox, write};
use std::process::Command;

/// A head that calls `S` three times; the statements in `between` follow each call.
fn head(between: &str) -> String {
    format!(
        "      SUBROUTINE F(X, Y)
      INTEGER N, I, L, M
      PARAMETER (N = 300)
      DOUBLE PRECISION X(N), Y, K(N), R(N), SCALE, W(N, 4)
      COMMON /SHARED/ SCALE, W
      SCALE = 1.5D0
      Y = 0
      DO I = 1, N
        K(I) = 2 + X(I)**2
        R(I) = X(I)
      END DO
      DO L = 1, 3
        CALL S(K, R)
{between}      END DO
      DO I = 1, N
        Y = Y + R(I)*R(I) + R(I)*K(I)
      END DO
      END
"
    )
}

/// Changes what `S` computes its arrays from.
const CHANGES: &str = "        DO I = 1, N
          K(I) = K(I) + 0.1D0*SIN(R(I))
        END DO
        SCALE = SCALE*1.1D0 + 0.01D0*SIN(R(3))
";

/// Prints the derivative in one direction, and a difference.
const MAIN: &str = "      PROGRAM MAIN
      PARAMETER (N = 300)
      DOUBLE PRECISION X(N), XB(N), D(N), Y, YB, YP, YM, H, S
      DO 10 I = 1, N
      D(I) = COS(0.7D0*I)
      XB(I) = 0
   10 X(I) = 0.5D0 + 0.3D0*SIN(1.3D0*I)
      YB = 1
      CALL F_B(X, XB, Y, YB)
      S = 0
      DO 20 I = 1, N
   20 S = S + XB(I)*D(I)
      H = 1D-6
      DO 30 I = 1, N
   30 X(I) = X(I) + H*D(I)
      CALL F(X, YP)
      DO 40 I = 1, N
   40 X(I) = X(I) - 2*H*D(I)
      CALL F(X, YM)
      PRINT *, S, (YP - YM)/(2*H)
      END
";

/// Differentiates and runs a program. The derivative is that of the difference. Returns the text of the adjoint.
#[track_caller]
fn adjoint(source: &str) -> String {
    adjoint_with(source, "")
}

/// The same, with procedures whose source the command does not get.
#[track_caller]
fn adjoint_with(source: &str, unseen: &str) -> String {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "s.f", source);
    write(dir, "main.f", MAIN.to_owned() + unseen);
    tapenade(dir, &["-b", "-head", "f(y)/(x)", "s.f"]).success();
    let mut gfortran = Command::new("gfortran");
    gfortran
        .current_dir(dir)
        .args(["-O1", "-fcheck=bounds", "-o", "p"]);
    let made = gfortran.args(["main.f", "s.f", "s_b.f"]).output().unwrap();
    let errors = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{errors}");
    let output = Command::new(dir.join("p")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    let [adjoint, difference] = numbers[..] else {
        panic!("{text}");
    };
    let apart = (adjoint - difference).abs();
    assert!(apart <= 1e-6 * difference.abs(), "{source}\n{text}");
    std::fs::read_to_string(dir.join("s_b.f")).unwrap()
}

/// The declarations of `S` with local arrays, and a body.
fn s(body: &str) -> String {
    format!(
        "      SUBROUTINE S(K, R)
      INTEGER N, I, M
      PARAMETER (N = 300)
      DOUBLE PRECISION K(N), R(N), A(N), B(N), C(N), T, SCALE, W(N, 4)
      COMMON /SHARED/ SCALE, W
{body}      END
"
    )
}

/// A body with two arrays besides that are computed again from `K`: `A` would be, too, if it could.
fn beside(body: &str) -> String {
    format!(
        "      DO I = 1, N
        B(I) = 1 + 0.1D0*K(I)
        C(I) = 2 - 0.1D0*K(I)
      END DO
{body}      DO I = 1, N
        R(I) = R(I)*B(I)*C(I)*0.4D0
      END DO
"
    )
}

/// Whether the forward sweep of `S` keeps an array.
fn keeps(text: &str, array: &str) -> bool {
    let start = text.find("SUBROUTINE S_B_FWD").unwrap();
    let sweep = &text[start..];
    let sweep = &sweep[..sweep.find("\n      END\n").unwrap()];
    let kept = [format!("({array}, 300"), format!(" = {array}(")];
    sweep.lines().any(|l| {
        let records = l.contains("PUSHN") || l.contains("%V(") || l.contains("TAPE_R8(");
        records && kept.iter().any(|k| l.contains(k.as_str()))
    })
}

/// A solver whose factors depend only on `K`: the reverse sweep computes them again, whatever the caller does to `K`.
#[test]
fn local_arrays_are_computed_again() {
    let solver = "      A(1) = 0
      DO I = 2, N
        A(I) = -0.1D0*K(I)
      END DO
      DO I = 1, N
        B(I) = 4 - A(I) + 0.2D0*K(I)*SCALE
      END DO
      C(1) = 1/B(1)
      DO I = 2, N
        T = B(I) - A(I)*A(I-1)*C(I-1)
        IF (T .NE. 0) C(I) = 1/T
      END DO
      R(1) = R(1)*C(1)
      DO I = 2, N
        R(I) = (R(I) - A(I)*R(I-1))*C(I)
      END DO
";
    for between in ["", CHANGES] {
        let text = adjoint(&(head(between) + &s(solver)));
        for array in ["A", "B", "C"] {
            assert!(!keeps(&text, array), "{array}\n{text}");
        }
    }
}

/// Arrays whose values at the end cannot be computed again, or not from what is there at the end.
#[test]
fn other_local_arrays_are_kept() {
    let table = [
        (
            "they depend on an argument that changes",
            "      DO I = 1, N
        A(I) = K(I)*R(I)
      END DO
      DO I = 1, N
        R(I) = R(I)*0.5D0 + SIN(A(I))*A(I)
      END DO
",
        ),
        (
            "on COMMON that a called procedure changes",
            "      DO I = 1, N
        A(I) = K(I)*SCALE
      END DO
      CALL RESCALE
      DO I = 1, N
        R(I) = R(I)*0.5D0 + SIN(A(I))*A(I)
      END DO
",
        ),
        (
            "on a scalar that gets other values elsewhere",
            "      T = R(1)
      DO I = 1, N
        A(I) = K(I)*T
      END DO
      T = 0
      DO I = 1, N
        R(I) = R(I)*0.5D0 + SIN(A(I))*A(I)
        T = T + R(I)
      END DO
      R(1) = R(1) + 1D-3*T
",
        ),
        (
            "on the variable of a loop after its end",
            "      DO I = 1, N
        IF (R(I) .GT. 0.7D0) EXIT
      END DO
      M = I
      DO I = 1, N
        A(I) = 0.01D0*K(I)*M
      END DO
      DO I = 1, N
        R(I) = R(I)*0.5D0 + SIN(A(I))*A(I)
      END DO
",
        ),
        (
            "they are a procedure's result",
            "      CALL FILL(A, K, N)
      DO I = 1, N
        R(I) = R(I)*0.5D0 + SIN(A(I))*A(I)
      END DO
",
        ),
        (
            "each of their values takes long",
            "      DO I = 1, N
        A(I) = EXP(0.1D0*K(I))*LOG(K(I))**1.3D0
      END DO
      DO I = 1, N
        R(I) = R(I)*0.5D0 + SIN(A(I))*A(I)
      END DO
",
        ),
        (
            "a condition about an argument that changes decides",
            "      DO I = 1, N
        A(I) = K(I)
        IF (R(I) .GT. 0.5D0) A(I) = 2*K(I)
      END DO
      DO I = 1, N
        R(I) = R(I)*0.5D0 + SIN(A(I))*A(I)
      END DO
",
        ),
    ];
    let others = "      SUBROUTINE RESCALE
      DOUBLE PRECISION SCALE, W(300, 4)
      COMMON /SHARED/ SCALE, W
      SCALE = SCALE*1.01D0
      END
      SUBROUTINE FILL(A, K, N)
      INTEGER N, I
      DOUBLE PRECISION A(N), K(N)
      DO I = 1, N
        A(I) = K(I)*K(I)
      END DO
      END
";
    for (why, body) in table {
        let made = adjoint(&(head(CHANGES) + &s(&beside(body)) + others));
        assert!(keeps(&made, "A"), "{why}\n{made}");
        assert!(!keeps(&made, "B"), "{why}\n{made}");
    }
}

/// What a caller cannot save is not read a second time: `K(*)` has no bound here, and a call overwrites it.
#[test]
fn arrays_of_any_size_need_not_be_saved() {
    let outer = "      SUBROUTINE F(X, Y)
      INTEGER N, I
      PARAMETER (N = 300)
      DOUBLE PRECISION X(N), Y, K(N), R(N)
      DO I = 1, N
        K(I) = 2 + 0.01D0*I
        R(I) = X(I)
      END DO
      Y = 0
      CALL INNER(K, R)
      DO I = 1, N
        Y = Y + R(I)*R(I) + R(I)*K(I)
      END DO
      END
      SUBROUTINE INNER(K, R)
      DOUBLE PRECISION K(*), R(300)
      CALL S(K, R)
      CALL REFILL(K, 300)
      CALL S(K, R)
      END
";
    let refill = "      SUBROUTINE REFILL(K, N)
      INTEGER N, I
      DOUBLE PRECISION K(*)
      DO I = 1, N
        K(I) = K(I)*0.5D0 + 1
      END DO
      END
";
    let body = "      DO I = 1, N
        A(I) = K(I)*1.5D0
        B(I) = 1/K(I)
      END DO
      DO I = 1, N
        R(I) = R(I)*A(I) + B(I)*SIN(R(I))
      END DO
";
    let text = adjoint_with(&(outer.to_owned() + &s(body)), refill);
    assert!(!text.contains("ISIZE"), "{text}");
    assert!(keeps(&text, "A"), "{text}");
    // If its bound is known, it is saved.
    let outer = outer.replace("K(*)", "K(300)");
    let text = adjoint_with(&(outer + &s(body)), refill);
    assert!(!keeps(&text, "A") && text.contains("= K(1:300)"), "{text}");
}

/// Functions of the program are not called once more, and flags in COMMON may have changed if there are procedures without
/// source.
#[test]
fn what_must_not_be_computed_twice_is_kept() {
    let body = "      DO I = 1, N
        A(I) = K(I)
        IF (CHOICE(I) .GT. 1) A(I) = 2*K(I)
      END DO
      DO I = 1, N
        R(I) = R(I)*0.5D0 + SIN(A(I))*A(I)
      END DO
";
    let function = "      INTEGER FUNCTION CHOICE(I)
      INTEGER I, CALLS
      COMMON /COUNTED/ CALLS
      CALLS = CALLS + 1
      CHOICE = MOD(I, 3)
      END
";
    let unit = s(&beside(body)).replace("INTEGER N, I, M", "INTEGER N, I, M, CHOICE");
    let text = adjoint(&(head(CHANGES) + &unit + function));
    assert!(keeps(&text, "A") && !keeps(&text, "B"), "{text}");
    // The procedure could set the flag.
    let body = body.replace("CHOICE(I) .GT. 1", "FLAG");
    let common = "      LOGICAL FLAG\n      COMMON /FLAGS/ FLAG\n";
    let declared = "      COMMON /SHARED/ SCALE, W\n";
    let unit = s(&beside(&body)).replace(declared, &format!("{declared}{common}"));
    let program = head("        CALL UNSEEN(L)\n") + &unit;
    let unseen =
        format!("      SUBROUTINE UNSEEN(L)\n{common}      FLAG = MOD(L, 2) .EQ. 0\n      END\n");
    let text = adjoint_with(&program, &unseen);
    assert!(keeps(&text, "A") && !keeps(&text, "B"), "{text}");
}

/// An array that is computed again may be overwritten on the way, and read where it is only partly assigned.
#[test]
fn arrays_that_are_assigned_twice_are_computed_again() {
    let body = "      DO I = 1, N
        A(I) = 0.25D0
        B(I) = K(I)
      END DO
      DO M = 1, 3
        DO I = 2, N - 1
          IF (K(I) .GT. 2.1D0) A(I) = A(I)*B(I) + 0.1D0*A(I-1)
        END DO
      END DO
      DO I = 1, N
        R(I) = R(I)*0.5D0 + SIN(A(I))*A(I)
      END DO
";
    adjoint(&(head(CHANGES) + &s(body)));
    let twice = body.replace("DO M = 1, 3", "DO M = 1, 1");
    adjoint(&(head(CHANGES) + &s(&twice)));
}

/// Outside of loops, too, only the slice is kept that a call changes: its subscript has the same value again.
#[test]
fn slices_that_calls_change() {
    let fill = |more: &str| {
        format!(
            "      SUBROUTINE FILL(K, M)
      INTEGER N, I, M, J
      PARAMETER (N = 300)
      DOUBLE PRECISION K(N), SCALE, W(N, 4)
      COMMON /SHARED/ SCALE, W
{more}      DO I = 1, N
        W(I, M) = W(I, M)*0.3D0 + K(I)*SCALE
      END DO
      END
"
        )
    };
    let body = "      DO M = 1, 4
        DO I = 1, N
          W(I, M) = R(I)*M
        END DO
      END DO
      M = 1
      IF (SCALE .GT. 1.6D0) M = 2
      CALL FILL(K, M)
      M = M + 1
      CALL FILL(K, M)
      M = 4
      DO I = 1, N
        R(I) = R(I)*0.5D0 + 0.1D0*SIN(W(I, 1)*W(I, 2))*W(I, 3)
      END DO
";
    let text = adjoint(&(head(CHANGES) + &s(body) + &fill("")));
    assert!(!text.contains("PUSHN_R8(W, 1200"), "{text}");
    // The call changes the subscript after it has used it.
    let moving = fill("      J = M\n").replace("W(I, M)", "W(I, J)");
    let moving = moving.replace(
        "      END DO\n      END\n",
        "      END DO\n      M = M + 1\n      END\n",
    );
    adjoint(&(head(CHANGES) + &s(&body.replace("      M = M + 1\n", "")) + &moving));
    let passed = "      SUBROUTINE FILL(V, K, M)
      INTEGER N, I, M
      PARAMETER (N = 300)
      DOUBLE PRECISION V(N), K(N)
      DO I = 1, N
        V(I) = V(I)*0.3D0 + K(I)
      END DO
      M = M + 1
      END
";
    let calls = body.replace("      M = M + 1\n", "");
    let calls = calls.replace("CALL FILL(K, M)", "CALL FILL(W(1, M), K, M)");
    adjoint(&(head(CHANGES) + &s(&calls) + passed));
}
