C     FITPACK: a spline through values of the sine, and its integral
      PROGRAM FITPAC
      INTEGER M, NEST, LWRK, N, IER, I
      PARAMETER (M = 41, NEST = 60, LWRK = 2000)
      DOUBLE PRECISION X(M), Y(M), W(M), T(NEST), C(NEST), WRK(LWRK), FP
      DOUBLE PRECISION AT(3), S(3), PI, WHOLE, SPLINT
      INTEGER IWRK(NEST)
      LOGICAL FINE
      PI = 4*ATAN(1D0)
      DO 10 I = 1, M
        X(I) = PI*(I - 1)/(M - 1)
        Y(I) = SIN(X(I))
        W(I) = 1
   10 CONTINUE
      CALL CURFIT(0, M, X, Y, W, X(1), X(M), 3, 0D0, NEST, N, T, C, FP,
     +            WRK, LWRK, IWRK, IER)
      WRITE (*, 30) 'CURFIT', IER, N, FP, (T(I), C(I), I = 1, N - 4)
      AT(1) = 0.3D0
      AT(2) = 1.7D0
      AT(3) = 2.9D0
      CALL SPLEV(T, N, C, 3, AT, S, 3, 0, IER)
      WHOLE = SPLINT(T, N, C, NEST, 3, 0D0, PI, WRK)
      WRITE (*, 30) 'SPLEV', IER, N, S, WHOLE
      FINE = ABS(WHOLE - 2) .LT. 1D-5
      DO 20 I = 1, 3
        FINE = FINE .AND. ABS(S(I) - SIN(AT(I))) .LT. 1D-5
   20 CONTINUE
C     Smoothed, with fewer knots
      CALL CURFIT(0, M, X, Y, W, X(1), X(M), 3, 1D-6, NEST, N, T, C, FP,
     +            WRK, LWRK, IWRK, IER)
      WRITE (*, 30) 'CURFIT', IER, N, FP, (T(I), C(I), I = 1, N - 4)
      IF (FINE) WRITE (*, *) 'ALL RIGHT'
   30 FORMAT (1X, A, 2I6, (1X, E24.16))
      END
