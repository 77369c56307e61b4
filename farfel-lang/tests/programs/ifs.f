      PROGRAM IFS
      INTEGER I, K, SIGN3
      DO 50 I = -2, 3
        IF (I .LT. 0) THEN
          PRINT *, I, ' negative'
        ELSE IF (I .EQ. 0) THEN
          PRINT *, I, ' zero'
        ELSEIF (I .EQ. 1) THEN
        ELSE
          IF (MOD(I, 2) .EQ. 0) THEN
            PRINT *, I, ' even'
          END IF
        ENDIF
        IF (I .GT. 1) PRINT *, 'big'
        IF (I - 1) 10, 20, 30
   10   K = -1
        GO TO 40
   20   K = 0
        GO TO 40
   30   K = 1
   40   PRINT *, K, SIGN3(I)
   50 CONTINUE
      END

      INTEGER FUNCTION SIGN3(I)
      INTEGER I
      SIGN3 = 0
      IF (I .LT. 0) SIGN3 = -1
      IF (I .GT. 0) THEN
        SIGN3 = 1
        RETURN
   60 END IF
      RETURN
      END
