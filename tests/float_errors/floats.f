      DOUBLE PRECISION FUNCTION QUOT(X, Y)
      DOUBLE PRECISION X, Y
      QUOT = X/Y
      END
      SUBROUTINE ROOTS(N, X)
      DOUBLE PRECISION X(N)
      DO 10 I = 1, N
   10 X(I) = SQRT(X(I))
      END
C     Too large for a REAL; RETURN 1 where X is negative.
      SUBROUTINE GROWS(X, *)
      IF (X .LT. 0) RETURN 1
      X = X**9
      END
      DOUBLE PRECISION FUNCTION AREA(F, N)
      DOUBLE PRECISION F, H
      EXTERNAL F
      H = 1D0/N
      AREA = 0
      DO 10 I = 1, N
   10 AREA = AREA + H*F(I*H)
      END
