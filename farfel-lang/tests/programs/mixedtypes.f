C     Assignments that convert; named constants as parts of complex ones.
      PROGRAM MIXED
      INTEGER I
      REAL X, ONE, HALF
      PARAMETER (ONE = 1., HALF = -0.5)
      DOUBLE PRECISION D
      COMPLEX Z
      COMPLEX*16 W
      LOGICAL L
      X = 2.9
      I = X
      D = X*2
      Z = I
      W = (ONE, HALF)
      PRINT *, I, D .GT. 5.7, Z, W, (ONE, 2), (3, HALF)
      I = -X
      X = (1.5, 2.5)
      Z = D/4
      L = I
      I = .TRUE.
      PRINT *, I .NE. 0, X, Z, L
      CALL SUB((ONE, HALF))
      PRINT *, ((1., 2.)), -(1., 2.), (1., 2.)*2, (1, 2) .EQ. Z
      END

      SUBROUTINE SUB(Z)
      COMPLEX Z
      PRINT *, Z*(0., 1.)
      END
