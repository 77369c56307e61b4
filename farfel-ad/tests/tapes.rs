//! Tapes whose size is not known before: as large as the last call of the head needed, and the
//! forward sweep again where that is not enough.

mod support;
use support::{check, expand};

/// Iterates as often as a variable says, and changes what it began with: an argument, and a
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
fn tapes_grow_and_what_the_head_changed_is_put_back() {
    check(ITERATED, 1e-10);
    let text = expand(ITERATED).unwrap();
    assert!(text.contains("DO WHILE (AGAIN_"), "{text}");
    assert!(text.contains("S_COPY_"), "{text}");
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

/// The backward sweep carries out calls again, which keep more than the forward sweep did.
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
