      PROGRAM STORE
      INTEGER N, M, I
      REAL A(4), B(2, 2), C, D
      COMMON /BLK/ A, N
      COMMON // C, D
      COMMON /ONE/ X, /TWO/ Y(3), Z
      EQUIVALENCE (A(1), B(1, 1)), (M, I)
      SAVE /BLK/
      PRINT *, A, N
      B(2, 2) = 10.0
      PRINT *, A
      C = 1.0
      D = 2.0
      X = 0.5
      Y(3) = 3.0
      Z = 4.0
      CALL SHOW
      CALL SHOW
      END

      SUBROUTINE SHOW
      COMMON C, D
      COMMON /ONE/ X /TWO/ Y(3), Z
      INTEGER CALLS
      SAVE CALLS
      DATA CALLS /0/
      CALLS = CALLS + 1
      PRINT *, C, D, X, Y(3), Z, CALLS
      END

      SUBROUTINE ALL
      SAVE
      Q = Q + 1.0
      END

      BLOCK DATA INIT
      COMMON /BLK/ A(4), N
      DATA A /1.0, 2*2.0, 3.0/, N /7/
      END
