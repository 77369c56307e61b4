C     The program's documentation
* in several styles,
!  of marks.
C
      PROGRAM NOTES
c     lower case
      INTEGER I
C     before DATA
      DATA I /1/
C     before the first statement

C     after an empty line
      I = I + 1 ! at the end of a line
      IF (I .EQ. 2) THEN
C       within a block
        PRINT *, I
C       at the end of it
      ELSE
C       alone
      END IF
      DO 10 J = 1, 2
C       before the last statement
   10 CONTINUE
      PRINT *, 'no ! comment', I,
C     between continuation lines
     +  J
C     before the end
      END
C     after it
