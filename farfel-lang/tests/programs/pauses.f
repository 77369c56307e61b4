C     A subroutine with what stops, and none of it is reached.
      SUBROUTINE STOPS(N)
      INTEGER N
      IF (N .EQ. 1) STOP
      IF (N .EQ. 2) STOP 3
      IF (N .EQ. 3) STOP 'text'
      IF (N .EQ. 4) PAUSE
      IF (N .EQ. 5) PAUSE 12
      IF (N .EQ. 6) PAUSE 'say'
      RETURN
      END
      BLOCK DATA
      COMMON /Q/ A
      DATA A /1.0/
      END
