C     Labels and comments at the ends of blocks.
      PROGRAM ENDS
      INTEGER I, J
      DO 40 I = 1, 4
        J = 0
        IF (I .EQ. 1) THEN
          GOTO 20
C         before ELSE IF
   10   ELSE IF (I .EQ. 2) THEN
C         the first of an arm
          J = 2
          IF (J .EQ. 2) GOTO 20
          J = 100
C         before ELSE

   11   ELSE
          J = 3
C         before END IF
   20   END IF
C       before CONTINUE
        PRINT *, I, J
        DO 30 J = 1, 3
          IF (J .EQ. I) GOTO 30
          PRINT *, J
C         in front of the last statement
   30   CONTINUE
C       after it
   40 CONTINUE
      DO I = 1, 3
        IF (I .EQ. 2) GOTO 50
        PRINT *, 'I', I
C       before END DO
   50 END DO
C     before END
  999 END
C     after END
