      PROGRAM RECUR
      INTEGER FACT, DEPTH, FIB
      PRINT *, FACT(6), DEPTH(4), FIB(10)
      END

      RECURSIVE INTEGER FUNCTION FACT(N) RESULT(R)
      INTEGER N
      R = 1
      IF (N .GT. 1) R = N*FACT(N - 1)
      END

      RECURSIVE FUNCTION FIB(N) RESULT(R)
      INTEGER R, N
      IF (N .LT. 2) THEN
        R = N
      ELSE
        R = FIB(N - 1) + FIB(N - 2)
      END IF
      END

      INTEGER FUNCTION DEPTH(N)
      INTEGER N, D
      D = 0
      CALL DOWN(N, D)
      DEPTH = D
      END

      RECURSIVE SUBROUTINE DOWN(N, D)
      INTEGER N, D
      IF (N .EQ. 0) RETURN
      D = D + N
      CALL DOWN(N - 1, D)
      END
