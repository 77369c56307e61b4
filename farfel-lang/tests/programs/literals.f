C     Constants that look like something else, and blanks within them.
      PROGRAM LITER
      LOGICAL A, B, C, D
      REAL E5, X
      REAL*16 Q
      DOUBLE PRECISION D0
      INTEGER I
      I = 1
      E5 = 7.
      D0 = 8.
      A = 1.EQ.2
      B = 1..EQ.1.
      C = 1.E0.EQ.1
      D = 3.LT.I.OR.2.GT.1.AND..NOT.I.EQ.2
      PRINT *, A, B, C, D, 1.E5, 3.D0, 3.D-2, .5E+1, 1E2, 2.5D+0
      X = 1.*E5 + 2.*D0 - 1.E1
      PRINT *, X, 1 2 3, 1 . 5, 2. E 1
      Q = 1.1Q0 - 1.1D0
      PRINT *, Q .NE. 0, Q .LT. 1Q-15, ABS(Q) .GT. 1.Q-25
      PRINT *, I.EQ.-1, I.EQ.+1, 1.D0/3.D0, (1.,2.), (-1,.5E0)
      IF (I.EQ.1.AND.E5.GT.6.) PRINT *, 1./4, 1/4, 1.E0/4
      END
