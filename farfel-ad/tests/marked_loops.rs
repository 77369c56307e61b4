//! Loops with `!farfel: checkpoint(n)` and `!farfel: fixed-point`: the derivatives are the same as without
//! the directive, and memory use is as the directive says.

use crate::support::{self, CHECKED, FAST, expand, expand_with, run};
use farfel_ad::analysis::analyse;
use farfel_ad::{Bounded, Builtin, differentiate_all_warning};
use farfel_lang::Sources;
use farfel_lang::lower::{Stage, lower};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use insta::assert_snapshot;

const CHECKPOINTS: &str = include_str!("marked_loops.ff");

/// The same text without directives.
fn plain(text: &str) -> String {
    let lines = text.lines().filter(|l| !l.contains("farfel:"));
    lines.map(|l| format!("{l}\n")).collect()
}

fn expanded(text: &str) -> String {
    expand(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Checks that the numbers in two outputs agree, with a relative tolerance.
fn close(a: &str, b: &str, tolerance: f64) {
    let numbers = |t: &str| -> Vec<String> {
        t.replace(['(', ')', ','], " ")
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (numbers(a), numbers(b));
    assert_eq!(a.len(), b.len(), "{a:?}\n{b:?}");
    for (a, b) in a.iter().zip(&b) {
        match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(x), Ok(y)) => {
                let most = tolerance * x.abs().max(y.abs()).max(1.0);
                assert!((x - y).abs() <= most, "{a} {b}");
            }
            _ => assert_eq!(a, b),
        }
    }
}

#[test]
fn checkpointed_loops_have_the_same_derivatives() {
    let (marked, other) = (expanded(CHECKPOINTS), expanded(&plain(CHECKPOINTS)));
    assert!(marked.contains("KEPT") && !other.contains("KEPT"));
    // Without optimisation, bit for bit.
    assert_eq!(run(&marked, CHECKED), run(&other, CHECKED));
    close(&run(&marked, FAST), &run(&other, FAST), 1e-12);
}

/// In `tests/marked_loops.ff` loops stop when nothing changes, so that the plain adjoint is right as well.
/// The loop here begins at its end: only the implicit function theorem gives the derivative.
const FIXED: &str = "
      PROGRAM P
      DOUBLE PRECISION X, Z, G, W, B(6), Q(6), GB(6), GQ(6), Y
      INTEGER I, N
      X = 0.8D0
      Z = 1
      DO I = 1, 200
        Z = COS(X*Z)
      END DO
      ADR(Z)
      W = 1
!farfel: fixed-point(tolerance = 1E-15, iterations = 200)
      DO WHILE (W .GT. 1D-14)
        W = Z
        Z = COS(X*Z)
        W = ABS(W - Z)
      END DO
      END ADR(G = COTANGENT(X))
      G = G + Z*SIN(X*Z)/(1 + X*SIN(X*Z))
      IF (ABS(G) .GT. 1D-13) PRINT *, 'wrong', G
C     Boundary values are elements of the array that is iterated on.
      DO I = 1, 6
        B(I) = 0.3D0*I
        Q(I) = COS(1D0*I)
      END DO
      ADR(Y)
      CALL LAPLAC(B, Q, 400, Y)
      END ADR((GB(I) = COTANGENT(B(I)), I = 1, 6),
     +    (GQ(I) = COTANGENT(Q(I)), I = 1, 6))
      PRINT *, 'laplace', Y, GB, GQ
C     None at all.
      ADR(Y)
      CALL LAPLAC(B, Q, 0, Y)
      END ADR((GB(I) = COTANGENT(B(I)), I = 1, 6),
     +    (GQ(I) = COTANGENT(Q(I)), I = 1, 6))
      PRINT *, 'none', Y, GB, GQ
C     Implicit time steps, with a loop for each.
      ADR(Y)
      CALL EULER(B, 20, Y)
      END ADR((GB(I) = COTANGENT(B(I)), I = 1, 6))
      PRINT *, 'euler', Y, GB
      ADF((TANGENT(B(I)) = I, I = 1, 6))
      ADR(Y)
      CALL EULER(B, 20, Y)
      END ADR((GB(I) = COTANGENT(B(I)), I = 1, 6))
      END ADF((GQ(I) = TANGENT(GB(I)), I = 1, 6))
      PRINT *, 'second', GQ
      END
      SUBROUTINE LAPLAC(B, Q, N, Y)
      INTEGER N, I, K
      DOUBLE PRECISION B(6), Q(6), Y, U(6), S, T
      COMMON /C/ S
      DO I = 1, 6
        U(I) = B(I)
      END DO
      S = 1
      T = U(3)
!farfel: fixed-point
      DO K = 1, N
        DO I = 2, 5
          CALL RELAX(U(I-1), U(I), U(I+1), Q(I))
        END DO
        T = T*0.5D0 + U(2)*U(3)
      END DO
      Y = U(2)*U(3) + U(4)**2 + U(5)*U(1) + S*T
      END
      SUBROUTINE RELAX(A, B, C, Q)
      DOUBLE PRECISION A, B, C, Q, S
      COMMON /C/ S
      B = (A + C - 0.1D0*SIN(B)*Q)/2
      S = 0.9D0*S + B*A
      END
      SUBROUTINE EULER(B, N, Y)
      INTEGER N, I, K
      DOUBLE PRECISION B(6), Y, U(6), V(6), E, OLD
      DO I = 1, 6
        U(I) = B(I)
      END DO
!farfel: checkpoint(3)
      DO K = 1, N
        DO I = 1, 6
          V(I) = U(I)
        END DO
        E = 1
!farfel: fixed-point
        DO WHILE (E .GT. 1D-13)
          E = 0
          DO I = 1, 6
            OLD = V(I)
            V(I) = U(I) - 0.05D0*V(I)**2*V(MOD(I, 6) + 1)
            E = MAX(E, ABS(V(I) - OLD))
          END DO
        END DO
        DO I = 1, 6
          U(I) = V(I)
        END DO
      END DO
      Y = 0
      DO I = 1, 6
        Y = Y + I*U(I)**2
      END DO
      END
";

#[test]
fn fixed_points_have_the_derivative_of_the_implicit_function() {
    let marked = expanded(FIXED);
    let other = expanded(&plain(FIXED)).replace("PRINT *, 'wrong', G", "CONTINUE");
    assert!(marked.contains("ROUNDS") && !other.contains("ROUNDS"));
    let other = run(&other, FAST);
    for flags in [CHECKED, FAST] {
        close(&run(&marked, flags), &other, 1e-10);
    }
}

/// Loops that are left after an iteration by EXIT, or by a GOTO to a place after them.
#[test]
fn fixed_points_that_are_left_at_the_end_of_an_iteration() {
    let fortran = support::check(
        "      PROGRAM MAIN
      DOUBLE PRECISION P, Z, G, E
      P = 0.8D0
      DO K = 1, 4
        ADR(Z)
          CALL F(P, Z, K)
        END ADR(G = COTANGENT(P))
        E = COS(Z)/(1 + P*SIN(Z))
        PRINT *, 'root', Z, P*COS(Z)
        PRINT *, 'slope', G, E
      END DO
      END
      SUBROUTINE F(P, Z, K)
      DOUBLE PRECISION P, Z, OLD
      Z = 0.3D0
      IF (K .EQ. 1) THEN
!farfel: fixed-point
        DO I = 1, 500
          OLD = Z
          Z = P*COS(Z)
          IF (ABS(Z - OLD) .LT. 1D-15) EXIT
        END DO
      ELSE IF (K .EQ. 2) THEN
!farfel: fixed-point
        DO
          OLD = Z
          Z = P*COS(Z)
          IF (ABS(Z - OLD) .LT. 1D-15) THEN
            EXIT
          END IF
        END DO
      ELSE IF (K .EQ. 3) THEN
!farfel: fixed-point
        DO 10 I = 500, 1, -1
          OLD = Z
          IF (I .EQ. 499) GOTO 5
          Z = P*COS(Z)
    5     Z = P*COS(Z)
          IF (ABS(Z - OLD) .LT. 1D-15) GOTO 20
   10   CONTINUE
   20   CONTINUE
      ELSE
!farfel: fixed-point
        DO WHILE (Z .LT. 7)
          OLD = Z
          Z = P*COS(Z)
          IF (ABS(Z - OLD) .LT. 1D-15) EXIT
        END DO
      END IF
      END
",
        1e-12,
    );
    assert!(fortran.contains("ROUNDS"), "{fortran}");
}

/// The errors of a subroutine F(X, N, Y) whose adjoint is requested.
fn errors(f: &str) -> String {
    let text = format!(
        "      SUBROUTINE MAIN(X, N, Y, D)
      DOUBLE PRECISION X(3), Y, D
      ADR(Y)
      CALL F(X, N, Y)
      END ADR(D = COTANGENT(X(1)))
      END
{}",
        f.trim_start_matches('\n')
    );
    match expand(&text) {
        Ok(_) => "no errors\n".to_owned(),
        Err(e) => e,
    }
}

#[test]
fn loops_that_cannot_be_carried_out_again() {
    let errors = [
        "      Y = X(1)
!farfel: checkpoint(5)
      DO I = 1, N
        Y = Y*X(2)
        IF (Y .LT. 0) GOTO 10
      END DO
   10 CONTINUE
",
        "      Y = X(1)
!farfel: checkpoint(5)
      DO WHILE (Y .GT. 1)
        Y = Y*0.5
      END DO
",
        "      CHARACTER C
      Y = X(1)
      C = 'A'
!farfel: checkpoint(5)
      DO I = 1, N
        CALL TICK(N)
        IF (C .EQ. 'A') X(1) = X(1)*Y
        Y = Y*X(1)
        C = 'B'
      END DO
",
        "      Y = X(1)
!farfel: independent
      DO I = 2, N
        Y = SIN(Y)
        X(1) = X(I)*2
        IF (X(1) .GT. 0) X(2) = X(1)
        T = T + X(I)
      END DO
      Y = Y + T
",
        // Nothing to differentiate, so that directives do not matter.
        "      Y = X(1)
      K = N
!farfel: checkpoint(5)
      DO WHILE (K .GT. 1)
        K = K/2
      END DO
      Y = Y*K
",
    ]
    .map(|body| {
        let start = "      SUBROUTINE F(X, N, Y)\n      DOUBLE PRECISION X(*), Y\n";
        errors(&format!("{start}{body}      END\n"))
    });
    assert_snapshot!(errors.concat(), @r"
    F0319 10:1 something jumps out of this loop, so that its adjoint cannot be made as the directive says
    F0319 10:1 the number of iterations of this loop is not known when it begins, so that states cannot be spread over it
    F0319 12:1 iterations of this loop cannot be carried out again: they call a procedure whose text is not known, exchange messages, read, or allocate
    F0319 12:1 iterations of this loop cannot be carried out again: X goes from one to the next, and has assumed size
    F0319 10:1 these iterations are not proven to be independent: one may read what another assigns to X
    F0319 10:1 these iterations are not proven to be independent: one may read what another assigns to Y
    no errors
    ");
}

/// A loop that sums what a subroutine computes from its arguments into T.
fn summed(compute: &str) -> String {
    format!(
        "
      SUBROUTINE F(X, N, Y)
      DOUBLE PRECISION X(*), Y, T
      Y = 0
!farfel: independent
      DO I = 1, N
        CALL COMPUT(X(I), T)
        Y = Y + T*X(I)
      END DO
      END
      SUBROUTINE COMPUT(X, T)
      DOUBLE PRECISION X, T
      {compute}
      CALL TWICE(X, T)
      END
      SUBROUTINE TWICE(X, T)
      DOUBLE PRECISION X, T
      T = 2*T*X
      END
"
    )
}

/// What a call always assigns does not come from another iteration.
#[test]
fn calls_assign_variables_of_an_iteration() {
    let main = "
      PROGRAM MAIN
      DOUBLE PRECISION X(3), G(3), Y, Z, S
      DO I = 1, 3
        X(I) = I
      END DO
      ADR(Y)
      CALL F(X, 3, Y)
      END ADR(G = COTANGENT(X))
      Z = 0
      DO I = 1, 3
        S = SIN(X(I))
        Z = MAX(Z, ABS(G(I) - 4*S*COS(X(I))*I**2 - 4*I*S**2))
      END DO
      IF (Z .LT. 1D-12) PRINT *, 'RIGHT'
      END
";
    let text = format!(
        "{main}{}",
        summed("T = SIN(X)\n      T = T*T").trim_start_matches('\n')
    );
    let fortran = expanded(&text);
    for flags in [CHECKED, FAST] {
        assert_eq!(run(&fortran, flags).trim(), "RIGHT", "{fortran}");
    }
    // TWICE reads T of the last iteration, or IF leaves it.
    assert_snapshot!(
        ["", "IF (X .GT. 1) T = 3"].map(|c| errors(&summed(c))).concat(),
        @r"
    F0319 10:1 these iterations are not proven to be independent: one may read what another assigns to T
    F0319 10:1 these iterations are not proven to be independent: one may read what another assigns to T
    "
    );
}

#[test]
fn adjoints_of_adjoints_of_marked_loops_are_refused() {
    let text = "      SUBROUTINE MAIN(X, D, E)
      DOUBLE PRECISION X, Y, D, E
      ADR(D)
      ADR(Y)
      Y = X
!farfel: checkpoint(3)
      DO I = 1, 10
        Y = SIN(Y)
      END DO
      END ADR(D = COTANGENT(X))
      END ADR(E = COTANGENT(X))
      END
";
    assert_snapshot!(expand(text).unwrap_err(), @"F0319 6:1 the adjoint of the adjoint of a loop with this directive is not known");
    let text = text.replace("checkpoint(3)", "fixed-point");
    assert_snapshot!(expand(&text).unwrap_err(), @"F0319 6:1 the adjoint of the adjoint of a loop with this directive is not known");
}

/// 100 states of 12 values that depend on each other.
const STEPS: &str = "
      PROGRAM P
      DOUBLE PRECISION X(12), G
      X = 1
      ADR(X(5))
      CALL MANY(X, 12, 100)
      END ADR(G = COTANGENT(X(7)))
      PRINT *, G
      END
      SUBROUTINE MANY(X, N, NSTEPS)
      DOUBLE PRECISION X(N)
!farfel: checkpoint(5)
      DO K = 2, 2*NSTEPS, 2
        DO I = 2, N
          X(I) = SIN(X(I - 1)) + X(I)**2*0.1D0
        END DO
      END DO
      END
";

/// The sizes of the tapes of the first block, as text.
fn tapes(text: &str) -> String {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", text);
    let mut parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
    assert!(resolve(&mut parsed.program).iter().all(|d| !d.is_error()));
    let lowered = lower(parsed.program, Stage::Stage);
    let found = analyse(&lowered.program, &lowered.requests[0], Some(8000)).unwrap();
    let all = differentiate_all_warning(
        &Builtin,
        lowered.program,
        &lowered.requests,
        &mut Vec::new(),
    );
    assert!(all.is_ok());
    let tapes = found.tapes.into_iter();
    let lines = tapes.map(|t| {
        let values = t.values.unwrap_or_else(|| "unknown".to_owned());
        format!("{} {values} of {}\n", t.ty, t.most)
    });
    lines.collect()
}

#[test]
fn memory_is_known_and_bounded() {
    let heads = STEPS.replace("12, 100", "N, M");
    let heads = heads.replace("PROGRAM P", "SUBROUTINE P(X, N, M)");
    let heads = heads.replace("X(12), G", "X(N), G");
    assert_snapshot!(tapes(&heads), @r"
    INTEGER MIN(5, (2*M - 2)/2 + 1) + 1 of 2000
    DOUBLE PRECISION MIN(5, (2*M - 2)/2 + 1)*N + (N - 1) of 1000
    ");
    assert_snapshot!(tapes(&plain(&heads)), @"DOUBLE PRECISION ((2*M - 2)/2 + 1)*(N - 1) of 1000");
    assert_snapshot!(tapes(STEPS), @r"
    INTEGER 6 of 2000
    DOUBLE PRECISION 71 of 1000
    ");
    // 1,000 values are enough for 5 states and an iteration, and not for 100 iterations.
    let bounded = |text: &str| {
        let made = expand_with(text, &Bounded { tape: 8000 });
        run(&made.unwrap().0, FAST)
    };
    close(&bounded(STEPS), &run(&expanded(&plain(STEPS)), FAST), 1e-14);
    // It stops with its message.
    assert_eq!(bounded(&plain(STEPS)), "");
}

/// Iterations that are independent of each other, and a call that is executed again.
const APART: &str = "
      PROGRAM P
      DOUBLE PRECISION X(500), G(500), Y
      INTEGER I
      DO I = 1, 500
        X(I) = 0.01D0*I
      END DO
      ADR(Y)
      CALL ROWS(X, 500, Y)
      END ADR((G(I) = COTANGENT(X(I)), I = 1, 500))
      PRINT *, Y, G
      END
      SUBROUTINE ROWS(X, N, Y)
      INTEGER I, K, N
      DOUBLE PRECISION X(N), Z(N), Y, T, S, CELL
      S = X(1)
      T = S*S
!farfel: independent
      DO I = N, 3, -2
        T = CELL(-X(I))
        DO K = 1, 5
          T = T*SIN(T + X(I - 1))
        END DO
        IF (T .GT. 0) THEN
          Z(I) = T*X(I)
        ELSE
          Z(I) = T**2
        END IF
        S = S + Z(I)*T
      END DO
      Y = S**2
!farfel: checkpoint(1)
      DO K = 1, 1
        CALL CHAIN(X, N, Y)
      END DO
      END
      DOUBLE PRECISION FUNCTION CELL(X)
      DOUBLE PRECISION X
      CELL = EXP(X)
      CELL = CELL*SIN(CELL) + X
      END
      SUBROUTINE CHAIN(X, N, Y)
      INTEGER I, N
      DOUBLE PRECISION X(N), Y
      DO I = 2, N
        X(I) = SIN(X(I - 1)*X(I)) + Y
        Y = COS(Y)*X(I)
      END DO
      END
";

#[test]
fn independent_iterations_have_a_tape_for_one() {
    let (marked, other) = (expanded(APART), expanded(&plain(APART)));
    assert_eq!(run(&marked, CHECKED), run(&other, CHECKED));
    assert_snapshot!(tapes(APART), @r"
    INTEGER 2 of 2000
    DOUBLE PRECISION 1508 of 1000
    ");
    assert_snapshot!(tapes(&plain(APART)), @"DOUBLE PRECISION 2745 of 1000");
}
