C     The digamma function, for the derivatives of GAMMA and LOG_GAMMA: reflection,
C     recurrence up to 12, and the asymptotic series.
      DOUBLE PRECISION FUNCTION FARFEL_DPSI(X)
      DOUBLE PRECISION X, Y, S, W, PI
      PI = 3.14159265358979323846D0
      Y = X
      S = 0
      IF (X .LE. 0) THEN
        S = -PI/TAN(PI*X)
        Y = 1 - X
      END IF
      N = 0
      IF (Y .LT. 12) N = 12 - INT(Y)
      DO I = 1, N
        S = S - 1/Y
        Y = Y + 1
      END DO
      W = 1/(Y*Y)
      S = S + LOG(Y) - 0.5D0/Y
      FARFEL_DPSI = S - W*(1/12D0 - W*(1/120D0 - W*(1/252D0
     +  - W*(1/240D0 - W*(1/132D0 - W*(691/32760D0 - W*(1/12D0
     +  - W*(3617/8160D0))))))))
      END

      REAL FUNCTION FARFEL_SPSI(X)
      DOUBLE PRECISION FARFEL_DPSI
      EXTERNAL FARFEL_DPSI
      FARFEL_SPSI = FARFEL_DPSI(DBLE(X))
      END

C     PRODUCT of a whole array.
      REAL FUNCTION FARFEL_SPRODUCT(N, A)
      REAL A(N)
      FARFEL_SPRODUCT = 1
      DO I = 1, N
        FARFEL_SPRODUCT = FARFEL_SPRODUCT*A(I)
      END DO
      END

C     PRODUCT of a whole array.
      DOUBLE PRECISION FUNCTION FARFEL_DPRODUCT(N, A)
      DOUBLE PRECISION A(N)
      FARFEL_DPRODUCT = 1
      DO I = 1, N
        FARFEL_DPRODUCT = FARFEL_DPRODUCT*A(I)
      END DO
      END

C     PRODUCT of a whole array.
      COMPLEX FUNCTION FARFEL_CPRODUCT(N, A)
      COMPLEX A(N)
      FARFEL_CPRODUCT = 1
      DO I = 1, N
        FARFEL_CPRODUCT = FARFEL_CPRODUCT*A(I)
      END DO
      END

C     PRODUCT of a whole array.
      COMPLEX*16 FUNCTION FARFEL_ZPRODUCT(N, A)
      COMPLEX*16 A(N)
      FARFEL_ZPRODUCT = 1
      DO I = 1, N
        FARFEL_ZPRODUCT = FARFEL_ZPRODUCT*A(I)
      END DO
      END

C     MAXVAL of a whole array; of equal elements the first.
      REAL FUNCTION FARFEL_SMAXVAL(N, A)
      REAL A(N)
      FARFEL_SMAXVAL = -HUGE(A)
      DO I = 1, N
        IF (I .EQ. 1 .OR. A(I) .GT. FARFEL_SMAXVAL) THEN
          FARFEL_SMAXVAL = A(I)
        END IF
      END DO
      END

C     MINVAL of a whole array; of equal elements the first.
      REAL FUNCTION FARFEL_SMINVAL(N, A)
      REAL A(N)
      FARFEL_SMINVAL = HUGE(A)
      DO I = 1, N
        IF (I .EQ. 1 .OR. A(I) .LT. FARFEL_SMINVAL) THEN
          FARFEL_SMINVAL = A(I)
        END IF
      END DO
      END

C     MAXVAL of a whole array; of equal elements the first.
      DOUBLE PRECISION FUNCTION FARFEL_DMAXVAL(N, A)
      DOUBLE PRECISION A(N)
      FARFEL_DMAXVAL = -HUGE(A)
      DO I = 1, N
        IF (I .EQ. 1 .OR. A(I) .GT. FARFEL_DMAXVAL) THEN
          FARFEL_DMAXVAL = A(I)
        END IF
      END DO
      END

C     MINVAL of a whole array; of equal elements the first.
      DOUBLE PRECISION FUNCTION FARFEL_DMINVAL(N, A)
      DOUBLE PRECISION A(N)
      FARFEL_DMINVAL = HUGE(A)
      DO I = 1, N
        IF (I .EQ. 1 .OR. A(I) .LT. FARFEL_DMINVAL) THEN
          FARFEL_DMINVAL = A(I)
        END IF
      END DO
      END
