      PROGRAM NAMES
      INTEGER I, J, N
      N = 0
      ROWS: DO I = 1, 4
C       in the outer loop
      COLUMNS: DO 20 J = 1, 4
          IF (J .GT. I) EXIT COLUMNS
      TEST:    IF (J .EQ. 2) THEN
            IF (I .EQ. 3) CYCLE ROWS
            IF (I .EQ. 2) EXIT TEST
            N = N + 1000
          ELSE IF (J .EQ. 3) THEN TEST
            N = N + 100
          ELSE TEST
            N = N + 1
          END IF TEST
          N = N + 10000
   20   END DO COLUMNS
        PRINT *, I, N
      ENDDO ROWS
      AGAIN: DO WHILE (N .GT. 0)
        N = N / 10
        IF (N .LT. 50) EXIT AGAIN
        IF (MOD(N, 2) .EQ. 0) CYCLE
        PRINT *, N
      END DO AGAIN
      FOREVER: DO
        N = N + 1
        DO
          N = N + 2
          IF (N .GT. 60) EXIT FOREVER
          IF (MOD(N, 3) .EQ. 0) EXIT
        END DO
      END DO FOREVER
      PRINT *, N
      GOTO 30
   30 IF (N .GT. 0) THEN
        IF (N .GT. 1) GOTO 40
        PRINT *, 'not here'
      ELSE
        PRINT *, 'nor here'
   40 END IF
      DO I = 1, 3
        IF (I .EQ. 2) GOTO 50
        PRINT *, I
   50 END DO
      END
