C     All forms of DO.
      PROGRAM LOOPS
      INTEGER I, J, K, TOTAL
      REAL X
      TOTAL = 0
C     Two loops with one end.
      DO 10 I = 1, 3
      DO 10 J = I, 3
   10 TOTAL = TOTAL + I*J
      PRINT *, TOTAL
C     Three, and a CONTINUE.
      DO 20 I = 1, 2
        DO 20 J = 1, 2
          DO 20 K = 10, 1, -3
            TOTAL = TOTAL + K
   20 CONTINUE
      PRINT *, TOTAL
C     With a comma, and an END DO that bears the label.
      DO 30, I = 1, 2
        PRINT *, 'labelled', I
   30 END DO
      DO I = 1, 10, 4
        PRINT *, I
      ENDDO
      X = 1.0
      DO WHILE (X .LT. 100.0)
        X = X*3.0
      END DO
      PRINT *, X
      DO 40 WHILE (X .GT. 1.0)
        X = X/3.0
   40 CONTINUE
      PRINT *, X
      OUTER: DO I = 1, 5
        INNER: DO J = 1, 5
          IF (J .EQ. 2) CYCLE INNER
          IF (J .EQ. 4) CYCLE OUTER
          IF (I .EQ. 3) EXIT OUTER
          PRINT *, I, J
        END DO INNER
      END DO OUTER
      K = 0
      DO
        K = K + 1
        IF (K .LT. 3) CYCLE
        IF (K .GT. 5) EXIT
        PRINT *, 'K', K
      END DO
      DO 60 I = 1, 3
        IF (I .EQ. 2) GO TO 60
        DO 50 J = 1, 2
          PRINT *, I, J
   50   CONTINUE
   60 CONTINUE
      END
