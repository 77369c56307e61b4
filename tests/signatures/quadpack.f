C***BEGIN PROLOGUE  DQAG
C***PURPOSE  The routine calculates an approximation result to a given
C            definite integral I = integral of F over (A,B).
C***DESCRIPTION
C
C        Computation of a definite integral
C
C        PARAMETERS
C         ON ENTRY
C            F      - Function subprogram defining the integrand.
C
C            A      - Lower limit of integration
C
C            B      - Upper limit of integration
C
C            EPSABS - Absolute accuracy requested
C
C         ON RETURN
C            RESULT - Approximation to the integral
C
C            ABSERR - Estimate of the modulus of the absolute error
C
C            NEVAL  - Number of integrand evaluations
C
C            IER    - IER = 0 Normal and reliable termination of the
C                             routine.
C                   - IER = 1 Maximum number of subdivisions allowed
C                             has been achieved.
C                   - IER = 6 The input is invalid.
C
C         DIMENSIONING PARAMETERS
C            LIMIT - Dimensioning parameter for IWORK
C            LENW  - Dimensioning parameter for WORK
C***END PROLOGUE  DQAG
      SUBROUTINE DQAG(F, A, B, EPSABS, RESULT, ABSERR, NEVAL, IER,
     *   LIMIT, LENW, LAST, IWORK, WORK)
      DOUBLE PRECISION A, ABSERR, B, EPSABS, F, RESULT, WORK
      INTEGER IER, IWORK, LAST, LENW, LIMIT, NEVAL
      DIMENSION IWORK(LIMIT), WORK(LENW)
      EXTERNAL F
      IER = 6
      NEVAL = 0
      LAST = 0
      RESULT = 0
      ABSERR = 0
      IF (LIMIT .LT. 1 .OR. LENW .LT. LIMIT*4) RETURN
      CALL DQAGE(F, A, B, EPSABS, LIMIT, RESULT, ABSERR, NEVAL, IER,
     *   WORK(1), WORK(LIMIT + 1), WORK(2*LIMIT + 1),
     *   WORK(3*LIMIT + 1), IWORK, LAST)
      END

      SUBROUTINE DQAGE(F, A, B, EPSABS, LIMIT, RESULT, ABSERR, NEVAL,
     *   IER, ALIST, BLIST, RLIST, ELIST, IORD, LAST)
      DOUBLE PRECISION A, ABSERR, ALIST, B, BLIST, ELIST, EPSABS, F,
     *   RESULT, RLIST, C, RESABS
      INTEGER IER, IORD, LAST, LIMIT, NEVAL, K, L
      DIMENSION ALIST(LIMIT), BLIST(LIMIT), ELIST(LIMIT), IORD(LIMIT),
     *   RLIST(LIMIT)
      EXTERNAL F
      LAST = 1
      IER = 0
      ALIST(1) = A
      BLIST(1) = B
      CALL DQK3(F, A, B, RLIST(1), ELIST(1), RESABS)
      IORD(1) = 1
      NEVAL = 5
   10 RESULT = 0
      ABSERR = 0
      L = 1
      DO 20 K = 1, LAST
        RESULT = RESULT + RLIST(K)
        ABSERR = ABSERR + ELIST(K)
        IORD(K) = K
   20 IF (ELIST(K) .GT. ELIST(L)) L = K
      IF (ABSERR .LE. EPSABS) RETURN
      IER = 1
      IF (LAST .EQ. LIMIT) RETURN
      IER = 0
      LAST = LAST + 1
      C = (ALIST(L) + BLIST(L))/2
      ALIST(LAST) = C
      BLIST(LAST) = BLIST(L)
      BLIST(L) = C
      CALL DQK3(F, ALIST(L), C, RLIST(L), ELIST(L), RESABS)
      CALL DQK3(F, C, BLIST(LAST), RLIST(LAST), ELIST(LAST), RESABS)
      NEVAL = NEVAL + 10
      GO TO 10
      END

C     Simpson's rule, an estimate of its error, and of the integral of
C     the absolute value.
      SUBROUTINE DQK3(F, A, B, RESULT, ABSERR, RESABS)
      DOUBLE PRECISION A, ABSERR, B, F, RESULT, RESABS, H, V(5)
      INTEGER J
      EXTERNAL F
      H = (B - A)/4
      DO 10 J = 1, 5
   10 V(J) = F(A + (J - 1)*H)
      RESULT = H*(V(1) + 4*V(2) + 2*V(3) + 4*V(4) + V(5))/3
      ABSERR = ABS(RESULT - 2*H*(V(1) + 4*V(3) + V(5))/3)
      RESABS = H*(ABS(V(1)) + 4*ABS(V(2)) + 2*ABS(V(3)) + 4*ABS(V(4))
     *   + ABS(V(5)))/3
      END

C     Given the lower and upper limits of integration X1 and X2, and
C     given N, returns the abscissas X and weights W of the N-point
C     Gauss-Legendre quadrature formula.
      SUBROUTINE GAULEG(X1, X2, X, W, N)
      INTEGER N, I, J
      DOUBLE PRECISION X1, X2, X(N), W(N), Z, Z1, P1, P2, P3, PP
      DO 30 I = 1, N
        Z = COS(3.141592654D0*(I - .25D0)/(N + .5D0))
   10   P1 = 1
        P2 = 0
        DO 20 J = 1, N
          P3 = P2
          P2 = P1
   20   P1 = ((2*J - 1)*Z*P2 - (J - 1)*P3)/J
        PP = N*(Z*P1 - P2)/(Z*Z - 1)
        Z1 = Z
        Z = Z1 - P1/PP
        IF (ABS(Z - Z1) .GT. 3D-14) GO TO 10
        X(I) = (X2 + X1)/2 - (X2 - X1)/2*Z
        W(I) = (X2 - X1)/((1 - Z*Z)*PP*PP)
   30 CONTINUE
      END

C     The second derivatives Y2 of the natural spline through X and Y.
      SUBROUTINE SPLINE(X, Y, N, Y2, U)
      INTEGER N, I
      DOUBLE PRECISION X(N), Y(N), Y2(N), U(N), S, P
      Y2(1) = 0
      U(1) = 0
      DO 10 I = 2, N - 1
        S = (X(I) - X(I - 1))/(X(I + 1) - X(I - 1))
        P = S*Y2(I - 1) + 2
        Y2(I) = (S - 1)/P
   10 U(I) = (6*((Y(I + 1) - Y(I))/(X(I + 1) - X(I)) - (Y(I) - Y(I - 1))
     *   /(X(I) - X(I - 1)))/(X(I + 1) - X(I - 1)) - S*U(I - 1))/P
      Y2(N) = 0
      DO 20 I = N - 1, 1, -1
   20 Y2(I) = Y2(I)*Y2(I + 1) + U(I)
      END

C     The value at T of that spline.
      SUBROUTINE SPLINT(XA, YA, Y2A, N, X, Y)
      INTEGER N, KLO, KHI, K
      DOUBLE PRECISION X, Y, XA(N), Y2A(N), YA(N), A, B, H
      KLO = 1
      KHI = N
   10 IF (KHI - KLO .GT. 1) THEN
        K = (KHI + KLO)/2
        IF (XA(K) .GT. X) THEN
          KHI = K
        ELSE
          KLO = K
        END IF
        GO TO 10
      END IF
      H = XA(KHI) - XA(KLO)
      A = (XA(KHI) - X)/H
      B = (X - XA(KLO))/H
      Y = A*YA(KLO) + B*YA(KHI)
     *   + ((A**3 - A)*Y2A(KLO) + (B**3 - B)*Y2A(KHI))*H**2/6
      END
