C     AMOS: Bessel functions of a complex argument, by Wronskians and known values
      PROGRAM AMOS
      DOUBLE PRECISION ZR, ZI, JR(3), JI(3), YR(3), YI(3), WR(3), WI(3)
      DOUBLE PRECISION AR, AI, PI
      DOUBLE COMPLEX Z, J0, J1, Y0, Y1, W
      INTEGER NZ, IERR, K
      LOGICAL FINE
      PI = 4*ATAN(1D0)
      FINE = .TRUE.
      DO 10 K = 1, 8
        ZR = 0.3D0*2.3D0**K
        ZI = 0.5D0*K
        CALL ZBESJ(ZR, ZI, 0D0, 1, 3, JR, JI, NZ, IERR)
        CALL ZBESY(ZR, ZI, 0D0, 1, 3, YR, YI, NZ, WR, WI, IERR)
        CALL ZAIRY(-ZR/50, ZI/50, 0, 1, AR, AI, NZ, IERR)
        WRITE (*, 20) NZ, IERR, JR, JI, YR, YI, AR, AI
        Z = DCMPLX(ZR, ZI)
        J0 = DCMPLX(JR(1), JI(1))
        J1 = DCMPLX(JR(2), JI(2))
        Y0 = DCMPLX(YR(1), YI(1))
        Y1 = DCMPLX(YR(2), YI(2))
        W = (J1*Y0 - J0*Y1)*PI*Z/2
        WRITE (*, 20) K, NZ, DBLE(W), DIMAG(W)
        FINE = FINE .AND. ABS(W - 1) .LT. 1D-8
   10 CONTINUE
      CALL ZAIRY(0D0, 0D0, 0, 1, AR, AI, NZ, IERR)
      FINE = FINE .AND. ABS(AR - 0.355028053887817239D0) .LT. 1D-14
      IF (FINE) WRITE (*, *) 'ALL RIGHT'
   20 FORMAT (1X, 2I6, (1X, E24.16))
      END
