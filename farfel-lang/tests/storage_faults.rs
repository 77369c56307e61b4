//! Faults of constants, COMMON, EQUIVALENCE and DATA: each line of the snapshot is
//! `line:column code message | help`.

mod common;

/// `what`, then the program.
const CASES: &[(&str, &str)] = &[
    (
        "constants without value",
        "
      PROGRAM P
      PARAMETER (N = 5/0, M = 2**31, K = 65536*65536, L = -2147483648)
      PARAMETER (X = 1E30*1E30, I = 1E10, J = 0**(-1), Y = MOD(3, 0))
      REAL A(2147483647 + 1)
      INTEGER*2 S
      PARAMETER (S = 40000)
      A(1) = 1.0D0/0 + 1/(N - N)
      IF (I .GT. 2) PRINT *, 7/(3 - 3)
      END",
    ),
    (
        "constants that are none",
        "
      PROGRAM P
      PARAMETER (N = M + 1, K = K + 1, I = J, J = I)
      REAL A(L), B(3)
      COMMON /C/ C(M)
      EQUIVALENCE (B(M), D)
      A(1) = C(1)
      END
      SUBROUTINE S(N, X)
      REAL A(N), X(N), W(N)
      COMMON /C/ D(N)
      EQUIVALENCE (A(1), Y), (X(1), Z)
      DATA W /3*0.0/, V /N/, D /N*1.0/
      END",
    ),
    (
        "a long chain of constants, and one that needs itself through it",
        "
      BLOCK DATA
      PARAMETER (A = B, B = C, C = D, D = A)
      END",
    ),
    (
        "out of bounds",
        "
      SUBROUTINE S(X, Y, Z, N)
      REAL X(1), Y(3, *), Z(N, 2:4), A(3), B(-1:1, 0:2)
      CHARACTER C*4, D(2)*3, E*(*)
      PARAMETER (K = 4, E = 'ABC')
      X(9) = Y(3, 9) + Z(9, 4)
      X(0) = Y(4, 1) + Z(1, 1) + Z(1, 5)
      A(K) = A(0) + B(-2, 3) + B(0, 3)
      C(0:2) = C(K:5)
      D(3) = D(1)(2:4)
      C(5:4) = E(3:4)
      PRINT *, (A(I), A(4), I = 1, 3)
      END",
    ),
    (
        "loops that would not go on",
        "
      SUBROUTINE S(A)
      REAL A(3), B(3)
      PARAMETER (N = 0)
      DATA (B(J), J = 1, 3, 0) /3*0.0/
      DO 10 I = 1, 3, N
   10 CONTINUE
      DO X = 1.0, 2.0, 0.0
      END DO
      PRINT *, ((A(J), J = 1, 3, 2 - 2), I = 1, 2)
      END",
    ),
    (
        "unused bytes in COMMON",
        "
      SUBROUTINE S
      DOUBLE PRECISION D, E
      COMPLEX*16 Z
      CHARACTER C*3
      INTEGER*2 H
      COMMON /A/ I, D
      COMMON /B/ C, H, J, Z
      COMMON /OK/ E, K, L, X
      EQUIVALENCE (K, U(1))
      DOUBLE PRECISION U(1)
      END",
    ),
    (
        "EQUIVALENCE that cannot be",
        "
      SUBROUTINE S
      REAL A(3), B(3), X(3), Y(9)
      DOUBLE PRECISION D, E, R(2)
      COMMON /C/ X, P, Q
      COMMON /D/ F, G
      EQUIVALENCE (A(1), B(1)), (A(2), B(1))
      EQUIVALENCE (A(1), A(2))
      EQUIVALENCE (Y(1), P), (Y(3), Q)
      EQUIVALENCE (X(1), G)
      END
      SUBROUTINE T
      REAL Y(5), Z(3)
      CHARACTER C*8
      COMMON /C/ X(3), W
      EQUIVALENCE (Y(3), X(1)), (Z(2), X(3)), (C(2:3), Z(1))
      END
      SUBROUTINE U
      DOUBLE PRECISION D, E
      COMMON /F/ R(4)
      EQUIVALENCE (R(1), D), (R(2), E)
      END",
    ),
    (
        "sizes of blocks",
        "
      SUBROUTINE A
      COMMON /C/ X, Y
      COMMON Z
      END
      SUBROUTINE B
      COMMON /C/ U, V
      COMMON Z(3)
      END
      SUBROUTINE C
      COMMON /C/ W(3)
      END
      SUBROUTINE D
      COMMON /C/ X, Y
      EQUIVALENCE (Y, Q(1))
      DIMENSION Q(2)
      END",
    ),
    (
        "types of blocks",
        "
      SUBROUTINE A
      DOUBLE PRECISION D
      COMPLEX Z
      CHARACTER*8 S
      COMMON /C/ D, I, X, Z
      COMMON /E/ S
      COMMON R
      END
      SUBROUTINE B
      DOUBLE PRECISION T
      REAL P(2)
      COMMON /C/ T, J, Y, P
      COMMON /E/ V, W
      COMMON N
      END
      SUBROUTINE C
      INTEGER I(4)
      COMMON /C/ X(4), C
      EQUIVALENCE (X, I)
      COMPLEX C
      END
      SUBROUTINE D
      LOGICAL L
      COMMON /C/ X(2), L
      END
      SUBROUTINE E
      DOUBLE PRECISION D
      COMMON /F/ D(4)
      END
      SUBROUTINE F
      DOUBLE PRECISION D
      CHARACTER*1 C(32)
      COMMON /F/ C
      EQUIVALENCE (C(5), D)
      END",
    ),
    (
        "values and elements of DATA",
        "
      BLOCK DATA
      REAL A(3), B(2,2), X, Y
      INTEGER K(4), L
      PARAMETER (N = 2)
      DATA A /1.0, 2.0/
      DATA B /5*0.0/, X, Y /2*1.0/
      DATA (K(I), I = 1, 4, 2) /1, 2, 3/
      DATA ((C(I,J), I = 1, J), J = 1, 2) /N*0.0/
      DIMENSION C(2,2)
      DATA L /-1*2/
      END",
    ),
    (
        "types of initial values",
        "
      BLOCK DATA
      INTEGER I, J, K, M
      LOGICAL L, LL
      CHARACTER C*2, D*2, E*4
      DOUBLE PRECISION X
      COMPLEX Z
      DATA I /1.7/, X /3/, Z /1.0/, J /4HABCD/, L /.TRUE./
      DATA K /'ABCD'/, M /.FALSE./, LL /1/, C /3/
      DATA D /'ABC'/, E /'AB   '/
      DATA Y /1D300/, N /3000000000/
      END",
    ),
    (
        "initialised twice",
        "
      BLOCK DATA FIRST
      REAL A(3), B(3)
      COMMON /C/ X, Y(2)
      DATA A /3*0.0/, A(2) /1.0/
      DATA U /1.0/, V /2.0/
      DATA (B(I), I = 1, 2) /2*0.0/, (B(I), I = 3, 3) /0.0/
      EQUIVALENCE (U, V)
      DATA Y /2*1.0/
      END
      BLOCK DATA SECOND
      COMMON /C/ P(2), Q
      DATA P(1) /1.0/
      DATA Q /1.0/
      END",
    ),
    (
        "COMMON that is not initialised as the standard wants it",
        "
      SUBROUTINE S
      COMMON /C/ X, Y
      COMMON Z
      DATA X /1.0/, Y /2.0/
      DATA Z /1.0/
      END
      BLOCK DATA
      COMMON /D/ X
      COMMON Y
      DATA X /1.0/, Y /2.0/
      END",
    ),
    (
        "what has no initial value",
        "
      FUNCTION F(X, N)
      REAL A(N), B(3)
      DATA X /1.0/, F /1.0/
      DATA A /3*0.0/
      DATA X /2.0/
      DATA B(4) /1.0/, (B(I), I = 3, 5) /3*0.0/
      F = X
      END",
    ),
];

#[test]
fn storage_faults() {
    let shown: Vec<String> = CASES
        .iter()
        .map(|(what, source)| format!("== {what}\n{}\n", common::faults(source)))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}
