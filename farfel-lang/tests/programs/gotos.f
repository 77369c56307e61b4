C     GOTO in all its forms; ASSIGN to FORMAT labels too.
      PROGRAM GOTOS
      INTEGER I, L, F
      DO 70 I = 0, 4
        ASSIGN 100 TO F
        IF (I .GT. 2) ASSIGN 110 TO F
        WRITE (*, F) I
        GOTO (10, 20, 10) I
        PRINT *, 'out of range'
        GO TO 60
   10   ASSIGN 40 TO L
        GOTO 30
   20   ASSIGN 50 TO L
   30   CONTINUE
        IF (I .EQ. 3) GOTO L (40, 50)
        GOTO L
   40   PRINT *, 'at 40'
        GOTO 60
   50   PRINT *, 'at 50'
   60   IF (I - 2) 61, 61, 62
   61   PRINT *, 'not more than 2'
        GOTO 70
   62   IF (I - 4.0) 63, 64, 64
   63   PRINT *, 'less than 4'
        GOTO 70
   64   PRINT *, 'four'
   70 CONTINUE
      GOTO (80, 90), INT(2.5) - 1
   80 PRINT *, 'at 80'
   90 PRINT *, 'end'
  100 FORMAT (' small', I3)
  110 FORMAT (' large', I3)
      END
