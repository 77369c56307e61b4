C     Labels wherever they may stand.
      PROGRAM LABELS
      INTEGER I
   10 I = 1
   20 IF (I .GT. 5) THEN
        GO TO 60
   30 END IF
   40 DO 50 J = 1, 2
        IF (J .EQ. I) GO TO 50
        I = I + 1
   50 CONTINUE
   55 CALL BUMP(I)
      GO TO 20
   60 PRINT *, I
 1234 CONTINUE
      END

      SUBROUTINE BUMP(I)
    1 FORMAT (' bump', I3)
      WRITE (*, 1) I
2     I = I + 1
      END
