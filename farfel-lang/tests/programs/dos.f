C     DO with real variables, zero trips, bounds that change, a comma after the label.
      PROGRAM DOS
      INTEGER I, J, N, K
      REAL X
      DOUBLE PRECISION D
      N = 0
      DO 10, X = 0.5, 2.0, 0.5
   10 N = N + 1
      PRINT *, N, X
      DO 20 D = 1.D0, -1.D0, -0.25D0
        N = N + 1
   20 CONTINUE
      PRINT *, N, D
      DO 30 I = 5, 4
   30 N = N + 1000
      PRINT *, N, I
      DO 40 I = 4, 5, -1
   40 N = N + 1000
      PRINT *, N, I
      K = 3
      DO 50 I = 1, K
        K = K + 1
        IF (K .GT. 5) GOTO 55
   50 CONTINUE
   55 PRINT *, I, K
      DO 60 I = 1, 2
      DO 60 J = 1, 2
      IF (J .EQ. 2) GOTO 60
      N = N + I
   60 PRINT *, I, J, N
      DO 70 I = 1.6, 3.2
   70 PRINT *, I
      DO 80 I = 1, 3
        IF (I .EQ. 2) THEN
          N = N + 1
          GOTO 80
        ENDIF
        N = N + 10
   80 END DO
      PRINT *, N
      DO 90 WHILE (N .GT. 30)
        N = N - 7
   90 END DO
      PRINT *, N
      DO 95
        N = N - 1
        IF (N .LT. 20) EXIT
   95 CONTINUE
      PRINT *, N
      END
