C     ARPACK: the largest eigenvalues of the second difference, 2 - 2*COS(K*PI/(N+1))
      PROGRAM ARPAC
      INTEGER N, NEV, NCV, LWORKL
      PARAMETER (N = 50, NEV = 4, NCV = 20, LWORKL = NCV*(NCV + 8))
      DOUBLE PRECISION RESID(N), V(N, NCV), WORKD(3*N), WORKL(LWORKL)
      DOUBLE PRECISION D(NEV), PI, SIGMA
      INTEGER IDO, INFO, IPARAM(11), IPNTR(11), I, J, K
      LOGICAL SELECT(NCV), FINE
      PI = 4*ATAN(1D0)
      DO 10 I = 1, N
        RESID(I) = 1 + MOD(I*I, 7)
   10 CONTINUE
      DO 20 I = 1, 11
        IPARAM(I) = 0
   20 CONTINUE
      IPARAM(1) = 1
      IPARAM(3) = 300
      IPARAM(7) = 1
      IDO = 0
      INFO = 1
   30 CONTINUE
      CALL DSAUPD(IDO, 'I', N, 'LA', NEV, 1D-10, RESID, NCV, V, N,
     +            IPARAM, IPNTR, WORKD, WORKL, LWORKL, INFO)
      IF (ABS(IDO) .EQ. 1) THEN
        J = IPNTR(1)
        K = IPNTR(2)
        DO 40 I = 0, N - 1
          WORKD(K + I) = 2*WORKD(J + I)
          IF (I .GT. 0) WORKD(K + I) = WORKD(K + I) - WORKD(J + I - 1)
          IF (I .LT. N - 1)
     +      WORKD(K + I) = WORKD(K + I) - WORKD(J + I + 1)
   40   CONTINUE
        GOTO 30
      END IF
      WRITE (*, *) INFO, IPARAM
      CALL DSEUPD(.TRUE., 'A', SELECT, D, V, N, SIGMA, 'I', N, 'LA',
     +            NEV, 1D-10, RESID, NCV, V, N, IPARAM, IPNTR, WORKD,
     +            WORKL, LWORKL, INFO)
      WRITE (*, 60) D
      FINE = INFO .EQ. 0
      DO 50 I = 1, NEV
        FINE = FINE .AND. ABS(D(I) - 2 + 2*COS((N - NEV + I)*PI/(N + 1))
     +                       ) .LT. 1D-8
   50 CONTINUE
      IF (FINE) WRITE (*, *) 'ALL RIGHT'
   60 FORMAT (1X, E24.16)
      END
