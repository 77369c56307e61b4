C     MINPACK: two equations in two unknowns, and a curve through points
      PROGRAM MINPAC
      DOUBLE PRECISION X(2), FVEC(2), WA(100), C(2), R(5), FJAC(5,2)
      INTEGER INFO, IPVT(2)
      LOGICAL FINE
      EXTERNAL EQUATI, CURVE
C     X**2 + Y**2 = 25, X - Y = 1: (4, 3)
      X(1) = 5
      X(2) = 1
      CALL HYBRD1(EQUATI, 2, X, FVEC, 1.0D-12, INFO, WA, 100)
      WRITE (*, 10) 'HYBRD1', INFO, X
      FINE = INFO .EQ. 1 .AND. ABS(X(1) - 4) + ABS(X(2) - 3) .LT. 1D-9
C     2*EXP(-T/2) at T = 0, 1, …, 4
      C(1) = 1
      C(2) = 1
      CALL LMDER1(CURVE, 5, 2, C, R, FJAC, 5, 1.0D-12, INFO, IPVT, WA,
     +            100)
      WRITE (*, 10) 'LMDER1', INFO, C
      FINE = FINE .AND. ABS(C(1) - 2) + ABS(C(2) - 0.5D0) .LT. 1D-9
      IF (FINE) WRITE (*, *) 'ALL RIGHT'
   10 FORMAT (1X, A, I3, 2(1X, E24.16))
      END

      SUBROUTINE EQUATI(N, X, F, IFLAG)
      INTEGER N, IFLAG
      DOUBLE PRECISION X(N), F(N)
      F(1) = X(1)**2 + X(2)**2 - 25
      F(2) = X(1) - X(2) - 1
      END

      SUBROUTINE CURVE(M, N, C, R, FJAC, LDFJAC, IFLAG)
      INTEGER M, N, LDFJAC, IFLAG, I
      DOUBLE PRECISION C(N), R(M), FJAC(LDFJAC, N), T
      DO 10 I = 1, M
        T = I - 1
        IF (IFLAG .EQ. 1) THEN
          R(I) = C(1)*EXP(-C(2)*T) - 2*EXP(-T/2)
        ELSE
          FJAC(I, 1) = EXP(-C(2)*T)
          FJAC(I, 2) = -C(1)*T*EXP(-C(2)*T)
        END IF
   10 CONTINUE
      END
