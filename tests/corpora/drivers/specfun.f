C     specfun: values that are known
      PROGRAM SPECFU
      DOUBLE PRECISION X, GA, BJ0, DJ0, BJ1, DJ1, BY0, DY0, BY1, DY1,
     +                 ERR, PI
      INTEGER I
      LOGICAL FINE
      PI = 4*ATAN(1D0)
      FINE = .TRUE.
      DO 10 I = 1, 20
        X = 0.37D0*I
        CALL GAMMA2(X, GA)
        CALL JY01B(X, BJ0, DJ0, BJ1, DJ1, BY0, DY0, BY1, DY1)
        CALL ERROR(X, ERR)
        WRITE (*, 20) GA, BJ0, DJ0, BJ1, DJ1, BY0, DY0, BY1, DY1, ERR
        FINE = FINE .AND. ABS(GA/GAMMA(X) - 1) .LT. 1D-12
        FINE = FINE .AND. ABS(ERR - ERF(X)) .LT. 1D-12
        FINE = FINE .AND. ABS((BJ1*BY0 - BJ0*BY1)*PI*X/2 - 1) .LT. 1D-6
   10 CONTINUE
      IF (FINE) WRITE (*, *) 'ALL RIGHT'
   20 FORMAT (10(1X, E24.16))
      END
