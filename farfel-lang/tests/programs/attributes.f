C     Declarations with `::`, their attributes and initial values.
      PROGRAM ATTR
      INTEGER :: I = 3, J = -4, K
      REAL, PARAMETER :: PI = 3.25, TWOPI = 2*PI
      INTEGER, PARAMETER :: N = 2, A(N) = (/ 7, 8 /)
      CHARACTER(LEN=*), PARAMETER :: GREET = 'it''s'
      CHARACTER(LEN=5) :: D*3 = 'xyz', E = '12345'
      REAL, DIMENSION(2,2) :: G = 1.5
      REAL, DIMENSION(3), SAVE :: H
      REAL X /1.25/, Y(3) /2*0.5, 2.5/
      INTEGER, EXTERNAL :: TWICE
      REAL, INTRINSIC :: AINT
      DOUBLE PRECISION, TARGET :: T
      LOGICAL, VOLATILE :: L = .TRUE.
      TARGET U(2)
      VOLATILE V
      COMPLEX :: Z = (1.0, -2.0)
      COMMON /INITS/ P, Q(3)
      H = 4
      T = TWOPI
      U(2) = 9
      V = 2.5
      K = TWICE(I) + TWICE(J)
      PRINT *, I, J, K, N, A(1), A(2), PI, TWOPI
      PRINT *, GREET, LEN(GREET), D, E, G, H, X, Y
      PRINT *, P, Q
      PRINT *, T, L, U(2), V, Z, AINT(2.75)
      DO K = 1, 3
         CALL COUNTS(K)
      END DO
      END
      INTEGER FUNCTION TWICE(I)
      INTEGER, INTENT(IN) :: I
      TWICE = 2*I
      END
C     An initial value is given once.
      SUBROUTINE COUNTS(K)
      INTENT(IN) K
      INTEGER :: M = 10
      M = M + K
      PRINT *, 'M', M
      END
C     In BLOCK DATA.
      BLOCK DATA
      COMMON /INITS/ P, Q(3)
      REAL :: P = 8.5, Q = 0.25
      END
