      PROGRAM JUMPS
      INTEGER I, WHERE
      I = 0
    1 I = I + 1
      GOTO (10, 20, 30), I
      GO TO 99
   10 PRINT *, 'one'
      ASSIGN 40 TO WHERE
      GO TO WHERE
   20 PRINT *, 'two'
      ASSIGN 50 TO WHERE
      GO TO WHERE, (40, 50)
   30 PRINT *, 'three'
      GO TO (40, 50) I - 1
   40 PRINT *, 'at 40'
      GO TO 1
   50 PRINT *, 'at 50'
      GOTO 1
99999 CONTINUE
   99 STOP
      END
