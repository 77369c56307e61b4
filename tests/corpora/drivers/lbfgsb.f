C     L-BFGS-B: Rosenbrock's function of ten variables, with bounds
      PROGRAM LBFGS
      INTEGER N, M, I
      PARAMETER (N = 10, M = 5)
      DOUBLE PRECISION X(N), L(N), U(N), F, G(N), WA(2*M*N + 5*N +
     +                 11*M*M + 8*M), DSAVE(29)
      INTEGER NBD(N), IWA(3*N), ISAVE(44)
      CHARACTER*60 TASK, CSAVE
      LOGICAL LSAVE(4), FINE
      DO 10 I = 1, N
        X(I) = 3
        L(I) = -100
        U(I) = 100
        NBD(I) = 2
   10 CONTINUE
      TASK = 'START'
   20 CONTINUE
      CALL SETULB(N, M, X, L, U, NBD, F, G, 1D1, 1D-9, WA, IWA, TASK,
     +            -1, CSAVE, LSAVE, ISAVE, DSAVE, 20)
      IF (TASK(1:2) .EQ. 'FG') THEN
        F = 0
        DO 30 I = 1, N
          G(I) = 0
   30   CONTINUE
        DO 40 I = 1, N - 1
          F = F + 100*(X(I + 1) - X(I)**2)**2 + (1 - X(I))**2
          G(I) = G(I) - 400*X(I)*(X(I + 1) - X(I)**2) - 2*(1 - X(I))
          G(I + 1) = G(I + 1) + 200*(X(I + 1) - X(I)**2)
   40   CONTINUE
        GOTO 20
      ELSE IF (TASK(1:5) .EQ. 'NEW_X') THEN
        WRITE (*, 60) F
        GOTO 20
      END IF
      WRITE (*, *) TASK
      WRITE (*, 60) X
      FINE = .TRUE.
      DO 50 I = 1, N
        FINE = FINE .AND. ABS(X(I) - 1) .LT. 1D-6
   50 CONTINUE
      IF (FINE) WRITE (*, *) 'ALL RIGHT'
   60 FORMAT (1X, E24.16)
      END
