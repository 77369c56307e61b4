      PROGRAM IMPL
      IMPLICIT DOUBLE PRECISION (A-H, O-Y), CHARACTER*4 (Z), LOGICAL (L)
      IMPLICIT INTEGER*2 (K)
      A = 1.0D0/3.0D0
      Z = 'abcdef'
      L = A .GT. 0.3D0
      K = 32000
      I = 2
      PRINT *, A, Z, L, K, I
      CALL STRICT(A)
      END

      SUBROUTINE STRICT(X)
      IMPLICIT NONE
      DOUBLE PRECISION X
      PRINT *, X*2
      END

      SUBROUTINE LETTER
      IMPLICIT COMPLEX (C), REAL (I, J, M-N)
      INTEGER*8 BIG
      I = 1.5
      C = CMPLX(1.0, I)
      END
