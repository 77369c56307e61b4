C     Small subprograms, in which the call is all that takes time.
      DOUBLE PRECISION FUNCTION SCALED(X, Y)
      DOUBLE PRECISION X, Y
      SCALED = X*Y + 1
      END
C     One that can end the call: it returns a Result.
      INTEGER FUNCTION QUOT(I, J)
      QUOT = I/J
      END
C     One with an array, whose length is passed and checked.
      DOUBLE PRECISION FUNCTION PICK(I, N, X)
      DOUBLE PRECISION X(N)
      PICK = X(I)
      END
C     One that calls a procedure N times.
      DOUBLE PRECISION FUNCTION TOTAL(F, N)
      DOUBLE PRECISION F
      EXTERNAL F
      TOTAL = 0
      DO 10 I = 1, N
   10 TOTAL = TOTAL + F(I*1D0)
      END
C     And a subroutine, with an array that it may assign.
      SUBROUTINE SWEEPS(RHS, N, Y, DY)
      DOUBLE PRECISION Y(4), DY(4)
      EXTERNAL RHS
      DO 10 I = 1, N
        CALL RHS(4, Y, DY)
   10 Y(1) = DY(1)
      END
