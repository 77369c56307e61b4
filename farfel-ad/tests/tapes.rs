//! Tapes: the places of values, and tapes whose size is not known in advance, which grow.

use crate::support::differences::program;
use crate::support::{CHECKED, FAST, check, compare, expand, expand_with, run};
use farfel_ad::Bounded;

/// Iterates as often as a variable says, and changes the values that it started from: an argument, and a
/// variable in COMMON.
const ITERATED: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION P, S, C, G, H, T(6), Z, DZ, DDZ
      COMMON /STATE/ C
      DATA T /3D0, 2000D0, 5D0, 9000D0, 1D0, 0D0/
      P = 1.01D0
      DO 10 I = 1, 6
        S = 0.5D0
        C = 2D0
        CALL GRAD(P, T(I), S, G)
        PRINT *, 'state', S, 0.5D0*P
        PRINT *, 'common', C, 2D0*P
        Z = 0.5D0*P*2*P
        DZ = 2*P
        DDZ = 2
        DO 20 K = 1, INT(T(I))
          DDZ = -SIN(Z)*DZ**2*P + COS(Z)*DDZ*P + 2*COS(Z)*DZ
          DZ = COS(Z)*DZ*P + SIN(Z)
   20     Z = SIN(Z)*P
        PRINT *, 'first', G, DZ
        S = 0.5D0
        C = 2D0
        CALL HESS(P, T(I), S, H)
   10   PRINT *, 'second', H, DDZ
      END
      SUBROUTINE F(P, T, S, Z)
      DOUBLE PRECISION P, T, S, Z, A, C
      COMMON /STATE/ C
      S = S*P
      Z = S*C
      A = 0
      DO WHILE (A .LT. T)
        Z = SIN(Z)*P
        A = A + 1
      END DO
      END
      SUBROUTINE GRAD(P, T, S, G)
      DOUBLE PRECISION P, T, S, G, Z, C
      COMMON /STATE/ C
      ADR(Z)
      C = C*P
      CALL F(P, T, S, Z)
      END ADR(G = COTANGENT(P))
      END
      SUBROUTINE HESS(P, T, S, H)
      DOUBLE PRECISION P, T, S, H, G, C
      COMMON /STATE/ C
      ADF(P)
      CALL GRAD(P, T, S, G)
      END ADF(H = TANGENT(G))
      END
";

#[test]
fn tapes_grow() {
    check(ITERATED, 1e-10);
    let text = expand(ITERATED).unwrap();
    // Two values that are pushed one after the other are counted once, and popped in the same way.
    let two = ITERATED.replace(
        "        Z = SIN(Z)*P\n",
        "        S = S*S\n        Z = S*Z*P\n",
    );
    let two = expand(&two).unwrap();
    for count in ["%TOP + 2\n", "%TOP - 2\n"] {
        assert!(two.contains(count), "{two}");
    }
    // The tape of a tangent grows with it.
    let grows = "TYPE (FARFEL_R8) TAPE_R8_G1GRAD, TAPE_R8_G1GRAD_G1HESS";
    assert!(text.contains(grows), "{text}");
    // In an adjoint of the adjoint, tapes do not grow: if one is full, the program ends.
    let reverse = ITERATED
        .replace("      ADF(P)", "      ADR(G)")
        .replace("END ADF(H = TANGENT(G))", "END ADR(H = COTANGENT(P))");
    check(&reverse, 1e-10);
    let again = expand(&reverse).unwrap();
    assert!(
        again.contains("ALLOCATE (TAPE_R8_G1GRAD(134217728"),
        "{again}"
    );
    // Generated text can be compiled again, with the same result.
    let text = expand(&text).unwrap();
    let printed = run(&text, &["-fcheck=all", "-finit-real=snan"]);
    assert_eq!(
        printed,
        run(
            &expand(ITERATED).unwrap(),
            &["-fcheck=all", "-finit-real=snan"]
        )
    );
}

/// The number of values is a constant.
const SMALL: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G
      X = 0.7D0
      ADR(Y)
      CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      PRINT *, 'small', G, EXP(EXP(SIN(X)))*EXP(SIN(X))*COS(X)
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, Z
      Z = SIN(X)
      CALL E(Z)
      CALL E(Z)
      Y = Z
      END
      SUBROUTINE E(Z)
      DOUBLE PRECISION Z
      Z = EXP(Z)
      END
";

#[test]
fn small_tapes_are_local_arrays() {
    check(SMALL, 1e-12);
    let text = expand(SMALL).unwrap();
    assert!(!text.contains("ALLOCATE"), "{text}");
    assert!(text.contains("TAPE_R8"), "{text}");
}

/// The reverse sweep executes calls again, and these record more than the forward sweep did.
const LATE: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X(3), G(3), Y, Z, D
      INTEGER I, J, K, N(3)
      DATA N /100, 300, 200/
      DO K = 1, 2
        DO I = 1, 3
          X(I) = 0.3D0*I
        END DO
        ADR(Y)
        CALL F(X, N, Y)
        END ADR((G(I) = COTANGENT(X(I)), I = 1, 3))
        DO I = 1, 3
          Z = X(I)
          D = 1
          DO J = 1, N(I)
            D = COS(Z)*1.1D0*D
            Z = SIN(Z)*1.1D0
          END DO
          PRINT *, 'late', G(I), D
        END DO
      END DO
      END
      SUBROUTINE F(X, N, Y)
      DOUBLE PRECISION X(3), Y, Z
      INTEGER I, N(3)
      Y = 0
!farfel: independent
      DO I = 1, 3
        Z = X(I)
        CALL C(Z, N(I))
        Y = Y + Z
      END DO
      END
      SUBROUTINE C(Z, N)
      DOUBLE PRECISION Z
      INTEGER K, N
      K = 0
      DO WHILE (K .LT. N)
        Z = SIN(Z)*1.1D0
        K = K + 1
      END DO
      END
";

#[test]
fn what_the_backward_sweep_carries_out_again_finds_its_tape() {
    check(LATE, 1e-10);
}

/// A subprogram below the head keeps something between calls, changes COMMON blocks that the head does not
/// declare, and may stop.
const ELSEWHERE: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION P, C, G, D(2), T(5), Z, DZ
      COMMON /STATE/ C, D
      DATA T /3D0, 2000D0, 5D0, 9000D0, 1D0/
      P = 1.01D0
      DO 10 I = 1, 5
        C = 2D0
        D(1) = 3D0
        CALL GRAD(P, T(I), G)
        PRINT *, 'common', C, 2D0*P
        PRINT *, 'array', D(1), 3D0*P*P
        Z = 2*P
        DZ = 2
        DO 20 K = 1, INT(T(I))
          DZ = COS(Z)*DZ*P + SIN(Z)
   20     Z = SIN(Z)*P
   10   PRINT *, 'first', G, DZ*3*P**2 + Z*6*P
      END
      SUBROUTINE GRAD(P, T, G)
      DOUBLE PRECISION P, T, G, Z
      ADR(Z)
      CALL F(P, T, Z)
      Z = Z*Z/Z
      END ADR(G = COTANGENT(P))
      END
      SUBROUTINE F(P, T, Z)
      DOUBLE PRECISION P, T, Z, A, C, D(2), ONE
      COMMON /STATE/ C, D
      C = C*P
      D(1) = D(1)*P
      D(1) = D(1)*P
      D(2) = D(1)
      Z = C
      A = 0
      DO WHILE (A .LT. T)
        Z = SIN(Z)*P
        A = A + ONE(A)
      END DO
      Z = Z*D(2)
      END
      DOUBLE PRECISION FUNCTION ONE(A)
      DOUBLE PRECISION A, KEPT(2)
      INTEGER ASKED
      SAVE ASKED, KEPT
      DATA ASKED /0/
      IF (ASKED .EQ. 0) THEN
        ASKED = 1
        KEPT(1) = 1
      END IF
      IF (A .LT. 0) STOP 'less than nothing'
      ONE = KEPT(1)
      END
";

#[test]
fn tapes_grow_where_subprograms_keep_something() {
    check(ELSEWHERE, 1e-10);
    let text = expand(ELSEWHERE).unwrap();
    assert!(text.contains("TYPE (FARFEL_R8) TAPE_R8_"), "{text}");
}

/// What procedures keep between calls may be text, written by WRITE.
const NOTES: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X, G, T(5), Z, DZ
      CHARACTER*6 NOTE, LAST*10
      DATA T /3D0, 2000D0, 5D0, 9000D0, 1D0/
      X = 1.01D0
      N = 0
      DO 10 I = 1, 5
        CALL GRAD(X, T(I), G)
        Z = 2*X
        DZ = 2
        DO 20 K = 1, INT(T(I))
          N = N + 1
          DZ = COS(Z)*DZ*X + SIN(Z)
   20     Z = SIN(Z)*X
        WRITE (NOTE, '(I6)') N
        CALL TOLD(LAST)
        IF (LAST .NE. 'note' // NOTE) STOP 1
   10   PRINT *, 'first', G, DZ
      END
      SUBROUTINE GRAD(X, T, G)
      DOUBLE PRECISION X, T, G, Z
      ADR(Z)
      CALL F(X, T, Z)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE F(X, T, Z)
      DOUBLE PRECISION X, T, Z, A
      CHARACTER*10 LAST
      Z = 2*X
      A = 0
      DO WHILE (A .LT. T)
        Z = SIN(Z)*X
        A = A + 1
        CALL TELL(LAST, 1)
      END DO
      END
      SUBROUTINE TOLD(LAST)
      CHARACTER*(*) LAST
      CALL TELL(LAST, 0)
      END
      SUBROUTINE TELL(LAST, K)
      CHARACTER*(*) LAST
      CHARACTER*10 NOTE
      SAVE NOTE, N
      DATA NOTE /'note     0'/, N /0/
      N = N + K
      IF (K .GT. 0 .AND. NOTE(1:4) .EQ. 'note')
     +  WRITE (NOTE(5:10), '(I6)') N
      LAST = NOTE
      END
";

#[test]
fn tapes_grow_where_text_is_kept_from_call_to_call() {
    check(NOTES, 1e-10);
    let text = expand(NOTES).unwrap();
    assert!(text.contains("TYPE (FARFEL_R8) TAPE_R8_"), "{text}");
}

/// The number of iterations is known, in a branch and below a call as well.
const COUNTED: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G
      X = 0.7D0
      ADR(Y)
      Y = X
      CALL F(Y, 3)
      Y = Y*Y/Y
      END ADR(G = COTANGENT(X))
      PRINT *, 'counted', G, 18*X**17*EXP(X**18)
      END
      SUBROUTINE F(Y, N)
      DOUBLE PRECISION Y
      DO 10 I = 1, N
        IF (I .GT. 3) THEN
          DO 20 K = 1, 7
   20       Y = SIN(Y)
        ELSE IF (I .GT. 2) THEN
          Y = EXP(Y*Y)
        ELSE
          Y = Y**3
        END IF
   10 CONTINUE
      END
";

#[test]
fn loops_of_a_known_number_of_iterations_take_local_arrays() {
    check(COUNTED, 1e-12);
    let text = expand(COUNTED).unwrap();
    assert!(!text.contains("ALLOCATE"), "{text}");
}

/// Loops that may end early, but have a known maximum number of iterations, which they sometimes reach.
const EARLY: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G, D, E(4)
      INTEGER I
      DATA E /1D-3, 1D-30, 1D30, 1D-9/
      DO I = 1, 4
        X = 0.75D0
        ADR(Y)
        CALL F(X, E(I), 11, Y)
        END ADR(G = COTANGENT(X))
        X = 0.75D0
        ADF(X)
        CALL F(X, E(I), 11, Y)
        END ADF(D = TANGENT(Y))
        PRINT *, 'early', G, D
      END DO
      END
      SUBROUTINE F(X, EPS, N, Y)
      DOUBLE PRECISION X, EPS, Y, T
      INTEGER J, K, L, N
      Y = 0
      T = X
      DO 10 K = 1, 12
        T = T*T*X/K
        Y = Y + T
        IF (ABS(T) .LT. EPS) GOTO 20
   10 CONTINUE
   20 L = MOD(N, 4)
      T = SIN(Y)
      DO 40 J = L + 1, N, 4
        IF (T .LT. -EPS) GOTO 50
        DO 30 K = 1, 3
          IF (K*T .GT. 2.5D0) GOTO 40
          T = T*T*X + COS(T)
   30   CONTINUE
        Y = Y*T
   40 CONTINUE
   50 Y = Y*T
      END
";

#[test]
fn loops_that_end_early_take_local_arrays() {
    check(EARLY, 1e-12);
    let text = expand(EARLY).unwrap();
    assert!(!text.contains("ALLOCATE"), "{text}");
    assert!(text.contains("TAPE_R8"), "{text}");
    // Large arrays are not made larger for iterations that may not be executed.
    let large = EARLY.replace("K = 1, 12", "K = 1, 1000000");
    assert!(expand(&large).unwrap().contains("_GROW_R8"));
    let unknown = EARLY.replace("E(I), 11, Y", "E(I), I, Y");
    assert!(expand(&unknown).unwrap().contains("_GROW_R8"));
}

/// Loops that look alike, but all of which except the first do not count down in each iteration.
#[test]
fn loops_without_a_maximum_grow() {
    for (i, body) in [
        "          N = N - 1
          IF (T .GT. 2) AGAIN = .FALSE.",
        "          IF (T .GT. 1) N = N - 1",
        "          N = N - 1
          IF (T .GT. 1) N = 5",
        "          IF (T .GT. 1) THEN
            AGAIN = .FALSE.
          ELSE
            N = N - 1
          END IF
          IF (N .EQ. 3) AGAIN = .TRUE.
          IF (N .EQ. 3 .AND. T .LT. 1) N = N + 1",
        "          IF (T .GT. 1) THEN
            AGAIN = T .LT. 1.5D0
          ELSE
            N = N - 1
          END IF",
        "          N = N - 1
          CALL COUNT(N, T)",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!(
            "
      PROGRAM MAIN
      DOUBLE PRECISION X, G, D, Y
      DO I = 1, 3
        X = 0.3D0 + 0.4D0*I
        ADR(Y)
        CALL F(X, Y)
        END ADR(G = COTANGENT(X))
        X = 0.3D0 + 0.4D0*I
        ADF(X)
        CALL F(X, Y)
        END ADF(D = TANGENT(Y))
        PRINT *, 'counts', G, D
      END DO
      END
      SUBROUTINE F(X, T)
      DOUBLE PRECISION X, T
      INTEGER L, N
      LOGICAL AGAIN
      N = 5
      T = X
      AGAIN = .TRUE.
      L = 0
      DO WHILE (AGAIN .AND. N .GT. 0 .AND. L .LT. 20)
          T = T*X + SIN(T*T)
{body}
          L = L + 1
      END DO
      END
      SUBROUTINE COUNT(N, T)
      DOUBLE PRECISION T
      INTEGER N
      IF (T .GT. 1) N = N + 1
      END
"
        );
        check(&text, 1e-12);
        let grows = expand(&text).unwrap().contains("_GROW_R8");
        assert_eq!(grows, i > 0, "{text}");
    }
}

/// What a unit needs of a local array, of an argument that it changes and of one that a call changes:
/// sections, none of which may extend beyond the array if a loop is not executed.
const SECTIONS: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X(4), Y, G(4), H(4), P, M
      DO 10 N = -1, 4
        DO 20 I = 1, 4
   20   X(I) = 0.3D0 + 0.2D0*I
        ADR(Y)
        Y = 1
        CALL F(X, N, Y)
        CALL F(X, N, Y)
        END ADR(G(1) = COTANGENT(X(1)), G(2) = COTANGENT(X(2)),
     +    G(3) = COTANGENT(X(3)), G(4) = COTANGENT(X(4)))
        DO 30 I = 1, 4
   30   X(I) = 0.3D0 + 0.2D0*I
        DO 10 I = 1, 4
          P = X(I)
          X(I) = P + 1D-5
          CALL V(X, N, H(1))
          X(I) = P - 1D-5
          CALL V(X, N, H(2))
          X(I) = P
   10   PRINT *, 'gradient', G(I), (H(1) - H(2))/2D-5
      END
      SUBROUTINE V(X, N, Y)
      DOUBLE PRECISION X(4), Z(4), Y
      DO 10 I = 1, 4
   10 Z(I) = X(I)
      Y = 1
      CALL F(Z, N, Y)
      CALL F(Z, N, Y)
      END
      SUBROUTINE F(X, N, Y)
      INTEGER N
      DOUBLE PRECISION X(4), Y, A(4), B(0:4, 3), C(9)
      DO 10 I = 1, N
        A(I) = SIN(X(I))
        B(I, 1) = COS(X(I))*Y
        B(I, 2) = X(I)**2
   10 C(2*I) = A(I)
      IF (N .GT. 0) CALL CHANGE(C, N)
      DO 20 I = 1, N
        Y = Y + 0.2D0*A(I)*B(I, 1) + B(I, 2)**2*C(2*I)
        A(I) = A(I)*Y
   20 Y = Y + 0.1D0*A(I)**2
      DO 30 I = N, 1, -1
   30 X(I) = X(I)*(1 + 0.01D0*Y)
      END
      SUBROUTINE CHANGE(C, N)
      DOUBLE PRECISION C(9)
      DO 10 I = 1, N
   10 C(2*I) = C(2*I)**2
      END
";

#[test]
fn sections_of_arrays_are_kept() {
    check(SECTIONS, 1e-7);
    let text = expand(SECTIONS).unwrap();
    assert!(text.contains("MIN(4, N)"), "{text}");
}

/// The condition tells which arm was taken if its variables are available in the reverse sweep: because
/// nothing later changes them, because they are needed anyway, or because they are cheap.
const CONDITIONS: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X(6), Y, G, H(2), E
      DO 10 N = 0, 6
        DO 20 I = 1, 6
   20   X(I) = 0.3D0 + 0.2D0*I
        E = 1.5D0
        CALL D(X, N, E, G)
        CALL F(X, N, E + 1D-5, H(1))
        CALL F(X, N, E - 1D-5, H(2))
   10 PRINT *, 'gradient', G, (H(1) - H(2))/2D-5
      END
      SUBROUTINE D(X, N, E, G)
      DOUBLE PRECISION X(6), E, G, Y
      ADR(Y)
      CALL F(X, N, E, Y)
      END ADR(G = COTANGENT(E))
      END
      SUBROUTINE F(X, N, E, Y)
      DOUBLE PRECISION X(6), E, Y, T, S
      M = MOD(N, 4)
      Y = E
      IF (M .NE. 0) THEN
        Y = Y*E
      ELSE IF (M .LT. 0) THEN
        Y = Y + 1
      END IF
      SELECT CASE (M)
      CASE (1)
        Y = Y*Y*E
      CASE (2:3)
        Y = SIN(Y)*E
      END SELECT
      DO 10 I = 1, N
        K = MOD(I, 3)
        T = X(I)*Y
        IF (K .EQ. 1) Y = Y + 0.1D0*E*T
        IF (T .GT. 0.9D0) Y = SIN(Y)*T
   10 CONTINUE
C     What the arms change, or what comes, is recorded.
      S = Y
      IF (S .GT. 2) THEN
        S = S - 2
        Y = Y*S
      END IF
      K = N
      DO WHILE (K .GT. 0)
        IF (K .GT. 2) Y = Y + E/K
        K = K - 1
      END DO
      S = 0
      END
";

#[test]
fn conditions_are_evaluated_again_where_that_is_free() {
    check(CONDITIONS, 1e-7);
    let text = expand(CONDITIONS).unwrap();
    let adjoint = text.split("SUBROUTINE F_G1(").nth(1).unwrap();
    let adjoint = adjoint.split("\n      END\n").next().unwrap();
    insta::assert_snapshot!(adjoint);
}

/// A loop without a maximum whose iterations push values in branches, then arrays one after the other; the size of
/// the last one is assigned between.
const FOLLOWING: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X(3), G(3), D(3)
      X(1) = 0.3D0
      X(2) = 0.4D0
      X(3) = 0.5D0
      CALL GRAD(X, G)
      DO 10 I = 1, 3
        CALL DIFF(I, X, D(I))
   10   PRINT *, 'first', G(I), D(I)
      END
      SUBROUTINE DIFF(I, X, D)
      DOUBLE PRECISION X(3), D, U, V, E
      E = 1D-4
      X(I) = X(I) + E
      CALL F(3, X, U)
      X(I) = X(I) - 2*E
      CALL F(3, X, V)
      X(I) = X(I) + E
      D = (U - V)/2/E
      END
      SUBROUTINE GRAD(X, G)
      DOUBLE PRECISION X(3), G(3), Y
      ADR(Y)
      CALL F(3, X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE F(N, X, Y)
      INTEGER N, M, I
      DOUBLE PRECISION X(N), Y, A, B, W(3), V(3), T
      A = X(1)
      B = X(2)
      T = 0
      DO WHILE (T .LT. 40)
        A = 0.3D0*A*SIN(A) + X(3)
        IF (COS(3*T) .GT. 0.6D0) THEN
          B = B*A
        ELSE IF (COS(3*T) .GT. 0) THEN
          B = 0.3D0*B*B
          A = A*B
          B = B*A + X(1)
        END IF
        B = 0.3D0*B*COS(B) + X(2)
        T = T + 1
      END DO
      DO 10 I = 1, N
        W(I) = X(I)
   10   V(I) = X(I)*B
      DO 20 I = 1, N
   20   W(I) = W(I)*W(I)
      DO 30 I = 1, N
   30   V(I) = V(I)*V(I)*W(I)
      M = N - 1
      DO 40 I = 1, M
   40   V(I) = V(I)*V(I)
      Y = A*B + V(1) + V(2)*V(3)
      END
";

#[test]
fn values_that_follow_each_other_are_checked_together() {
    check(FOLLOWING, 1e-6);
    let text = expand(FOLLOWING).unwrap();
    let adjoint = text.split("SUBROUTINE F_G1(").nth(1).unwrap();
    let adjoint = adjoint.split("\n      END\n").next().unwrap();
    let (before, after) = adjoint.split_once("\n      END DO\n").unwrap();
    let checks = |text: &str| text.matches("_GROW_R8(").count();
    assert_eq!(checks(before), 1, "{adjoint}");
    // M is not known before the arrays.
    assert_eq!(checks(after), 2, "{adjoint}");
}

/// Loops whose iterations record the same number of values: one and several, counting up and down, with
/// larger steps, unrolled by hand, with bounds that are not names, not executed at all, nested; and loops
/// that push values one by one: an arm that records something, an exit in the middle.
const PLACES: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X(12), E, G, H(2), GG(3)
      DO 10 N = -2, 12
        E = 0.9D0
        CALL D(X, N, E, G)
        CALL F(X, N, E + 1D-5, H(1))
        CALL F(X, N, E - 1D-5, H(2))
        PRINT *, 'gradient', G, (H(1) - H(2))/2D-5
        CALL D(X, N, E + 1D-5, H(1))
        CALL D(X, N, E - 1D-5, H(2))
        ADF(E)
        CALL D(X, N, E, G)
        END ADF(GG(1) = TANGENT(G))
        PRINT *, 'over', GG(1), (H(1) - H(2))/2D-5
        ADR(G)
        CALL D(X, N, E, G)
        END ADR(GG(2) = COTANGENT(E))
   10   PRINT *, 'again', GG(2), (H(1) - H(2))/2D-5
      END
      SUBROUTINE D(X, N, E, G)
      DOUBLE PRECISION X(12), E, G, Y
      ADR(Y)
      CALL F(X, N, E, Y)
      END ADR(G = COTANGENT(E))
      END
      SUBROUTINE F(X, N, E, Y)
      DOUBLE PRECISION X(12), A(0:12, 3), S, T, E, Y
      DO 10 I = 1, 12
        X(I) = 0.05D0*I
        DO 10 J = 1, 3
   10   A(I, J) = 0.1D0*J
      DO 20 I = 1, N
   20 X(I) = X(I)*(E + X(I))
      DO 30 I = N - 1, 2, -1
        X(I) = X(I)**2*E
   30 A(I, 1) = A(I, 1)*X(I) + A(I, 1)**2
      M = MOD(MAX(N, 0), 3)
      DO 40 I = M + 1, N, 3
        X(I) = X(I)*E*X(I)
        X(I + 1) = X(I + 1)*E*X(I + 1)
   40 X(I + 2) = X(I + 2)*E*X(I + 2)
      DO 50 I = 1, N, 2
   50 X(I) = SIN(X(I))*X(I)*E
      DO 60 I = N, 1, -3
   60 X(I) = COS(X(I))*X(I)*E
      DO 70 J = 1, MIN(N, 3)
        DO 70 I = J, N
   70   A(I, J) = A(I, J)*X(I)*E + A(I, J)**2
      DO 80 I = 1, N
        X(I) = X(I)*E + X(I)**2
        IF (X(I) .GT. 0.3D0) X(I) = X(I)**2*E
   80 CONTINUE
      DO 90 I = 1, N
        X(I) = X(I)*E + X(I)**2
        IF (X(I) .GT. 0.9D0) GOTO 100
        X(I) = X(I)**2 + E
   90 CONTINUE
  100 S = 0
      T = E
      DO 110 I = 1, 4
  110 T = T*SIN(T*E)
      DO 120 I = 12, 1, -1
        S = S + X(I)**2*A(I, 1)*E
        S = S + A(I, 2)**2*A(I, 3)
  120 CONTINUE
      Y = S*T
      END
";

#[test]
fn values_of_loops_have_places() {
    check(PLACES, 2e-6);
    let text = expand(PLACES).unwrap();
    let adjoint = text.split("SUBROUTINE F_G").nth(1).unwrap();
    let adjoint = adjoint.split("\n      END\n").next().unwrap();
    insta::assert_snapshot!(adjoint);
}

/// Unrolled by hand: in order, out of order, with a statement that differs from the others, and backwards.
/// The value of the loop variable after the loop matters, too.
const UNROLLED: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X(20), E, G, H(2)
      DO 10 N = -3, 12
        E = 0.9D0
        CALL D(X, N, E, G)
        CALL F(X, N, E + 1D-5, H(1))
        CALL F(X, N, E - 1D-5, H(2))
   10   PRINT *, 'gradient', G, (H(1) - H(2))/2D-5
      END
      SUBROUTINE D(X, N, E, G)
      DOUBLE PRECISION X(20), E, G, Y
      ADR(Y)
      CALL F(X, N, E, Y)
      END ADR(G = COTANGENT(E))
      END
      SUBROUTINE F(X, N, E, Y)
      DOUBLE PRECISION X(20), E, Y
      DO 10 I = 1, 20
   10 X(I) = 0.05D0*I
      DO 20 I = 2, N, 3
        X(I) = E*X(I)*X(I)
        X(I + 1) = E*X(I + 1)*X(I + 1)
   20 X(2 + I) = E*X(2 + I)*X(I + 2)
      Y = I*E
      DO 30 I = 1, N - 1, 2
        X(I + 1) = E*X(I)**2
   30 X(I + 2) = E*X(I + 1)**2
      Y = Y + I
      DO 40 I = 1, N, 2
        X(I + 1) = E*X(I + 1)**2
   40 X(I) = E*X(I)**2
      DO 50 I = 1, N, 2
        X(I) = E*X(I)**2
   50 X(I + 1) = E*X(I + 1)**3
      DO 60 I = 1, 20
   60 Y = Y + SIN(X(I))
      END
";

#[test]
fn loops_unrolled_by_hand_are_rolled_up() {
    check(UNROLLED, 1e-7);
    let text = expand(UNROLLED).unwrap();
    let adjoint = text.split("SUBROUTINE F_G1(").nth(1).unwrap();
    let loops: Vec<&str> = adjoint
        .lines()
        .map(str::trim)
        .filter(|l| l.starts_with("DO I"))
        .take(6)
        .collect();
    insta::assert_snapshot!(loops.join("\n"), @r"
    DO I = 1, 20
    DO I = 2, 2 + ((N - 2 + 3)/3*3) - 1
    DO I = 1, 1 + ((N - 1 - 1 + 2)/2*2) - 1
    DO I = 1, N, 2
    DO I = 1, N, 2
    DO I = 20, 1, -1
    ");
}

/// Tapes of several types whose sizes are not known: how often an inner loop was executed, and complex values.
const SEVERAL: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION P, G, D, S
      COMPLEX*16 Z, DZ
      INTEGER I, J
      P = 0.9D0
      ADR(S)
      CALL F(P, 150, S)
      END ADR(G = COTANGENT(P))
      Z = (0.3D0, 0.4D0)
      DZ = 0
      DO I = 1, 150
        DO J = 1, MOD(I, 3)
          DZ = DZ*2*Z*P + Z*Z
          Z = Z*Z*P + (0.1D0, 0.2D0)
        END DO
      END DO
      PRINT *, 'several', G, 2*DBLE(Z)*DBLE(DZ) + 2*DIMAG(Z)*DIMAG(DZ)
      END
      SUBROUTINE F(P, N, S)
      DOUBLE PRECISION P, S
      COMPLEX*16 Z
      INTEGER N, I, J
      Z = (0.3D0, 0.4D0)
      I = 1
      DO WHILE (I .LE. N)
        J = MOD(I, 3)
        DO WHILE (J .GT. 0)
          Z = Z*Z*P + (0.1D0, 0.2D0)
          J = J - 1
        END DO
        I = I + 1
      END DO
      S = DBLE(Z)**2 + DIMAG(Z)**2
      END
";

#[test]
fn tapes_of_all_types_grow() {
    check(SEVERAL, 1e-10);
    let text = expand(SEVERAL).unwrap();
    for name in ["TYPE (FARFEL_I4) ", "TYPE (FARFEL_C8) "] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

/// Tapes take as much memory as is recorded on them, so an adjoint that records little needs little. If a
/// tape reaches its maximum size, the program ends.
#[test]
fn tapes_take_no_more_memory_than_is_kept() {
    let run = |text: &str, limit: u32| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("test.f"), text).unwrap();
        let line = format!("gfortran -std=legacy -w test.f -o test && ulimit -v {limit} && ./test");
        let mut shell = std::process::Command::new("sh");
        let ran = shell.args(["-c", &line]).current_dir(dir.path()).output();
        let ran = ran.unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        (ran.status.success(), said)
    };
    // 200 MB of address space, part of which the program itself takes.
    let (fine, said) = run(&expand(ELSEWHERE).unwrap(), 200_000);
    assert!(fine, "{said}");
    let small = Bounded { tape: 8 * 4000 };
    let (text, _) = expand_with(ELSEWHERE, &small).unwrap();
    let (_, said) = run(&text, 200_000);
    assert!(said.contains("Farfel: tape is full"), "{said}");
}

/// An adjoint whose tape grows is inside blocks that have nothing to do with its calls of F: derivatives of
/// the adjoint call the sweeps of F unchanged, with a tape that does not grow.
#[test]
fn sweeps_that_stay_as_they_are_take_tapes_that_do_not_grow() {
    let text = |opening: &str, closing: &str| {
        format!(
            "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, A, R, S, T, V, GX, GA, D
      X = 0.7D0
      Y = 0.4D0
      A = 0.9D0
      T = 100
{opening}
      ADR(R)
      CALL F(A, T, S)
      CALL F(A, T, V)
      R = X*SIN(X*Y) + S*V
      END ADR(GX = COTANGENT(X), GA = COTANGENT(A))
{closing}
      DO 10 I = 1, 100
   10 S = 0
      S = 2*A
      D = 2
      DO 20 I = 1, 100
        D = COS(S)*D*A + SIN(S)
   20   S = SIN(S)*A
      PRINT *, 'second', R, 2*X*COS(X*Y) - X**2*Y*SIN(X*Y)
      PRINT *, 'first', GA, 2*S*D
      END
      SUBROUTINE F(X, T, Z)
      DOUBLE PRECISION X, T, Z, A
      Z = 2*X
      A = 0
      DO WHILE (A .LT. T)
        Z = SIN(Z)*X
        A = A + 1
      END DO
      END
"
        )
    };
    for (opening, closing) in [
        (
            "      ADF(DIRECTIONS = 2, TANGENT(Y, 1) = 1, TANGENT(Y, 2) = 3)",
            "      END ADF(R = TANGENT(GX, 1))",
        ),
        ("      ADF(Y)", "      END ADF(R = TANGENT(GX))"),
        ("      ADR(GX)", "      END ADR(R = COTANGENT(Y))"),
    ] {
        check(&text(opening, closing), 1e-10);
    }
}

/// A work array is set to zero, added to and read at the end, in each of several calls: what a derivative needs is
/// what the last loop leaves. `N` sets the loops that fill it, partly or with steps.
fn work_array(clear: &str, add: &str, rest: &str) -> String {
    format!(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X(6), G(6), Y, P, H(2)
      INTEGER N, I
      DO 10 N = 0, 6, 2
        DO 20 I = 1, 6
   20   X(I) = 0.3D0 + 0.2D0*I
        ADR(Y)
        CALL F(X, N, Y)
        END ADR((G(I) = COTANGENT(X(I)), I = 1, 6))
        DO 10 I = 1, 6
          P = X(I)
          X(I) = P + 1D-5
          CALL F(X, N, H(1))
          X(I) = P - 1D-5
          CALL F(X, N, H(2))
          X(I) = P
   10   PRINT *, 'gradient', G(I), (H(1) - H(2))/2D-5
      END
      SUBROUTINE F(X, N, Y)
      INTEGER N, K
      DOUBLE PRECISION X(6), Y, W(6, 2)
      DO J = 1, 2
        DO I = 1, 6
          W(I, J) = X(I)*J
        END DO
      END DO
      Y = 1
      DO K = 1, 3
        CALL RHS(X, N, K, W, Y)
      END DO
      END
      SUBROUTINE RHS(X, N, K, W, Y)
      INTEGER N, K, I, J, M
      DOUBLE PRECISION X(6), Y, W(6, 2)
      M = N
{clear}
{add}
{add}
{rest}
      DO I = 1, 6
        Y = Y + 0.1D0*W(I, 1)*W(I, 2)*SIN(X(I))
      END DO
      END
"
    )
}

/// Each element is saved once, before the first of several assignments, if no derivative reads what the others
/// overwrite.
#[test]
fn values_that_no_derivative_reads_are_not_kept() {
    let clear = "
      DO J = 1, 2
        DO I = 1, 6
          W(I, J) = 0
        END DO
      END DO";
    let add = "
      DO J = 1, 2
        DO I = 1, 6
          W(I, J) = W(I, J) + X(I)*K
        END DO
      END DO";
    let descending = add.replace("1, 6", "6, 1, -1").replace("1, 2", "2, 1, -1");
    let some = add.replace("1, 6", "2, N");
    let moved = add
        .replace("1, 6", "3, N + 2")
        .replace("(I, J)", "(I - 2, J)")
        .replace("X(I)", "X(I - 2)");
    let pushed = |text: &str| {
        let text = expand(text).unwrap();
        let of = text
            .lines()
            .filter(|l| l.contains("= W(") && l.contains("TAPE_R8"));
        of.count()
    };
    let text = |add: &str, rest: &str| work_array(clear, add, rest);
    for add in [add, &descending, &some, &moved] {
        check(&text(add, ""), 1e-7);
        assert_eq!(pushed(&text(add, "")), 1, "{add}");
    }
    // What a loop with a variable number of iterations has saved stays saved.
    let partly = work_array("", &some, "");
    check(&partly, 1e-7);
    assert_eq!(pushed(&partly), 1);

    // Something is read in between, or not everything is saved.
    let read = |add: &str| format!("{add}\n      Y = Y + W(2, 1)**2");
    let own = add.replace("+ X(I)*K", "+ 0.5D0*X(I)*COS(W(I, J))");
    let before = add
        .replace("1, 6", "2, 6")
        .replace("+ X(I)*K", "+ 0.5D0*X(I)*SIN(W(I - 1, J))");
    let after = add
        .replace("1, 6", "5, 1, -1")
        .replace("+ X(I)*K", "+ 0.5D0*X(I)*SIN(W(I + 1, J))");
    let steps = add.replace("1, 6", "1, 6, 2");
    let triangle = add.replace("1, 6", "J, 6");
    let bound = format!("{}\n      M = M - 1", add.replace("1, 6", "1, M"));
    let choice = add.replace("W(I, J) =", "IF (X(I) .GT. 0.8D0) W(I, J) =");
    let arms =
        format!("      IF (K .GT. 1) THEN{add}\n      ELSE\n      W(2, 2) = X(1)\n      END IF");
    for add in [
        &read(add),
        &own,
        &before,
        &after,
        &steps,
        &triangle,
        &bound,
        &choice,
        &arms,
    ] {
        check(&text(add, ""), 1e-7);
        check(&work_array(&some, add, &before), 1e-7);
    }
}

/// What is not recorded: squares, also with a real exponent, and a sine or cosine if the derivative of the other one is
/// computed. Other powers are, and a sine without a derivative.
#[test]
fn what_compilers_compute_anyway_is_not_recorded() {
    for (value, recorded) in [
        ("(A*V(I))**2.0D0", 1),
        ("(A*V(I))**3.0D0", 2),
        ("SIN(A*V(I))", 1),
        ("COS(A*V(I))", 1),
        ("SIN(0.3D0*I)", 2),
        ("EXP(A*V(I))", 2),
    ] {
        let body = format!(
            "      DOUBLE PRECISION T
      DO K = 1, 2
      DO I = 1, 5
        T = {value}
        V(I) = V(I)*T*A
      END DO
      END DO
"
        );
        let text = expand(&program(&body)).unwrap_or_else(|e| panic!("{e}"));
        for flags in [CHECKED, FAST] {
            compare(&run(&text, flags), 1e-5, &text);
        }
        let at = text.find("SUBROUTINE F_G").unwrap_or_default();
        let pushes = text[at..]
            .lines()
            .filter(|l| l.trim_start().starts_with("TAPE_R8"));
        let pushes = pushes.filter(|l| l.contains(" = ")).count();
        assert_eq!(pushes, recorded, "{value}\n{text}");
    }
}

/// A program that compares the first and second derivatives of `SUBROUTINE F(X, T, Z)`, in both modes, with differences,
/// for T = 0, `step`, 2*`step`, 3*`step`.
fn with_second_derivatives(f: &str, step: u32) -> String {
    format!(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, T, G, H, R, P, Q, E
      DO 10 I = 0, 3
        X = 0.6D0 + 0.1D0*I
        T = {step}*I
        E = 1D-5
        CALL GRAD(X, T, G)
        CALL F(X + E, T, P)
        CALL F(X - E, T, Q)
        PRINT *, 'first', G, (P - Q)/(2*E)
        CALL HESS(X, T, H)
        CALL HESSR(X, T, R)
        CALL GRAD(X + E, T, P)
        CALL GRAD(X - E, T, Q)
        PRINT *, 'forward', H, (P - Q)/(2*E)
   10   PRINT *, 'reverse', R, (P - Q)/(2*E)
      END
{f}
      SUBROUTINE GRAD(X, T, G)
      DOUBLE PRECISION X, T, G, Z
      ADR(Z)
      CALL F(X, T, Z)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE HESS(X, T, H)
      DOUBLE PRECISION X, T, H, G
      ADF(X)
      CALL GRAD(X, T, G)
      END ADF(H = TANGENT(G))
      END
      SUBROUTINE HESSR(X, T, H)
      DOUBLE PRECISION X, T, H, G
      ADR(G)
      CALL GRAD(X, T, G)
      END ADR(H = COTANGENT(X))
      END
"
    )
}

/// Subprograms push and pop arrays if that is shorter. Such an adjoint can be differentiated again, in both modes.
#[test]
fn subprograms_push_arrays() {
    let source = "
      SUBROUTINE F(X, T, Z)
      DOUBLE PRECISION X, T, Z, A, U(3,6), V(3,1,6), W(6,0:2,2), R(5)
      INTEGER K(4,6)
      Z = 0.5D0
      A = 0
      DO WHILE (A .LT. T)
        A = A + 1
        CALL FILL(A, U, V, W, R, K)
        DO 20 J = 1, 6
        DO 20 I = 1, 3
   20   Z = SIN(Z*X)*U(I,J) + V(I,1,K(I,J))*W(J,I-1,K(I,1))*X
     +      + COS(Z)*R(I + 1)
      END DO
      END
      SUBROUTINE FILL(A, U, V, W, R, K)
      DOUBLE PRECISION A, U(18), V(18), W(36), R(5)
      INTEGER K(24)
      DO 10 I = 1, 18
        U(I) = SIN(A*I)
   10 V(I) = COS(A + I)
      DO 20 I = 1, 36
   20 W(I) = SIN(A - I)/3
      DO 30 I = 1, 5
   30 R(I) = COS(A*I)/4
      DO 40 I = 1, 24
   40 K(I) = 1 + MOD(INT(A) + I, 2)
      END
";
    let text = check(&with_second_derivatives(source, 10), 1e-6);
    for called in ["_PUSHN_R8(U, 18, ", "_POPN_R8(W, 36, "] {
        assert!(text.contains(called), "{called}: {text}");
    }
}

/// Subprograms make room for the values of a loop, outside of innermost loops, also if the adjoint is differentiated
/// again.
#[test]
fn subprograms_make_room() {
    let loops: String = (1..=8)
        .map(|i| {
            let sum = "      Z = Z + W(1)*X";
            format!(
                "
        IF (MOD(INT(A), {i}) .EQ. 0) THEN
          DO 1{i} I = 1, N + {i}
   1{i}     W(I) = SIN(W(I)*X + 0.{i}D0)
        END IF
  {sum}"
            )
        })
        .collect();
    let f = format!(
        "
      SUBROUTINE F(X, T, Z)
      DOUBLE PRECISION X, T, Z, A, W(20)
      Z = X
      A = 0
      N = INT(T)/9
      DO 5 I = 1, 20
    5 W(I) = 0.1D0*I
      DO WHILE (A .LT. T)
        A = A + 1{loops}
      END DO
      END
"
    );
    let text = check(&with_second_derivatives(&f, 9), 1e-5);
    assert!(text.contains("_ROOM_R8(MAX(N + 3, 0)"), "{text}");
    // Where tapes do not grow, nothing makes room but the statements themselves.
    let reverse = text.split("Adjoint of HESSR_ADR1").nth(1).unwrap();
    let own = reverse.matches("_ROOM_R8(").count();
    let called = reverse.matches("HESSR_ADR1_G1HESSR_ROOM_R8(").count();
    assert!(own == called && !reverse.contains("_ROOM_R8_"), "{reverse}");
}

/// Subprograms push and pop single values outside of innermost loops, also if the adjoint is differentiated again.
#[test]
fn subprograms_push_values() {
    let steps: String = (0..12)
        .map(|i| {
            format!(
                "
        IF (Z .GT. 0.{i}5D0) Z = Z*COS(Z*X)
        Z = SIN(Z*X + 0.{i}D0)
        L = L*K + {i}
        IF (MOD(L, 3) .EQ. {}) Z = Z*Z*X*(1 + MOD(L, 2))",
                i % 3
            )
        })
        .collect();
    let f = format!(
        "
      SUBROUTINE F(X, T, Z)
      DOUBLE PRECISION X, T, Z, A
      Z = X
      A = 0
      L = 1
      DO WHILE (A .LT. T)
        A = A + 1
        CALL NEXT(A, K){steps}
        DO 20 J = 1, 2
   20   Z = Z + SIN(Z*X)/9
      END DO
      END
      SUBROUTINE NEXT(A, K)
      DOUBLE PRECISION A
      K = MOD(INT(A), 2) + 1
      END
"
    );
    let text = check(&with_second_derivatives(&f, 40), 1e-6);
    // An adjoint of the adjoint has the statements of these subprograms, not their derivatives.
    let subroutines = text.lines().filter(|l| l.contains("SUBROUTINE"));
    let derived = |l: &&str| l.contains("_G1GRAD_PUSH_R8") && l.contains("HESSR");
    assert_eq!(subroutines.filter(derived).count(), 0, "{text}");
    for called in ["_PUSH_R8(Z, ", "_POP_R8(Z, "] {
        assert!(text.contains(called), "{called}: {text}");
    }
}
