C     ODEPACK: a stiff equation by LSODA, an oscillator by VODE
      PROGRAM ODEPAC
      DOUBLE PRECISION Y(2), T, TOUT, RWORK(200), RTOL(1), ATOL(1), RPAR
      INTEGER IWORK(60), ISTATE, NEQ(1), I, IPAR
      LOGICAL FINE
      EXTERNAL STIFF, CIRCLE, NOJAC
C     Y' = -1000*(Y - COS(T)) - SIN(T), Y = COS(T)
      Y(1) = 1
      T = 0
      NEQ(1) = 1
      RTOL(1) = 1D-9
      ATOL(1) = 1D-11
      ISTATE = 1
      FINE = .TRUE.
      DO 10 I = 1, 5
        TOUT = I
        CALL LSODA(STIFF, NEQ, Y, T, TOUT, 1, RTOL, ATOL, 1, ISTATE, 0,
     +             RWORK, 200, IWORK, 60, NOJAC, 2)
        WRITE (*, 30) 'LSODA', ISTATE, T, Y(1)
        FINE = FINE .AND. ABS(Y(1) - COS(T)) .LT. 1D-7
   10 CONTINUE
      Y(1) = 1
      Y(2) = 0
      T = 0
      ISTATE = 1
      DO 20 I = 1, 5
        TOUT = I
        CALL DVODE(CIRCLE, 2, Y, T, TOUT, 1, RTOL, ATOL, 1, ISTATE, 0,
     +             RWORK, 200, IWORK, 60, NOJAC, 10, RPAR, IPAR)
        WRITE (*, 30) 'DVODE', ISTATE, T, Y
        FINE = FINE .AND. ABS(Y(1) - COS(T)) .LT. 1D-6
   20 CONTINUE
      IF (FINE) WRITE (*, *) 'ALL RIGHT'
   30 FORMAT (1X, A, I6, 3(1X, E24.16))
      END

      SUBROUTINE STIFF(NEQ, T, Y, YDOT)
      INTEGER NEQ(*)
      DOUBLE PRECISION T, Y(*), YDOT(*)
      YDOT(1) = -1000*(Y(1) - COS(T)) - SIN(T)
      END

      SUBROUTINE CIRCLE(NEQ, T, Y, YDOT, RPAR, IPAR)
      INTEGER NEQ, IPAR
      DOUBLE PRECISION T, Y(NEQ), YDOT(NEQ), RPAR
      YDOT(1) = -Y(2)
      YDOT(2) = Y(1)
      END

      SUBROUTINE NOJAC
      END
