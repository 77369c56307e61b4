C     The Euclidean norm of a vector without overflow, in one pass: the
C     greatest magnitude so far, and the sum of squares in units of it.
C     The reference BLAS from 3.10 on has a version in Fortran 90.
      DOUBLE PRECISION FUNCTION DNRM2(N, X, INCX)
      INTEGER N, INCX, I, IX
      DOUBLE PRECISION X(*), BIG, SUM, A
      DNRM2 = 0.0D0
      IF (N .LT. 1) RETURN
      BIG = 0.0D0
      SUM = 1.0D0
      IX = 1
      IF (INCX .LT. 0) IX = 1 - (N - 1)*INCX
      DO 10 I = 1, N
        IF (X(IX) .NE. 0.0D0) THEN
          A = ABS(X(IX))
          IF (BIG .LT. A) THEN
            SUM = 1.0D0 + SUM*(BIG/A)**2
            BIG = A
          ELSE
            SUM = SUM + (A/BIG)**2
          END IF
        END IF
        IX = IX + INCX
   10 CONTINUE
      DNRM2 = BIG*SQRT(SUM)
      END
