C     IF (…) with every statement that may follow it.
      PROGRAM EVERY
      INTEGER I, K, L, A(3)
      LOGICAL T
      DATA A /3*0/
      T = .TRUE.
      OPEN (11, STATUS='SCRATCH')
      IF (T) K = 5
      IF (T) A(2) = K
      IF (T) WRITE (11, *) K, A
      IF (T) REWIND 11
      IF (T) READ (11, *) I
      IF (T) BACKSPACE 11
      IF (T) INQUIRE (11, OPENED=T)
      IF (T) ENDFILE 11
      IF (T) CLOSE (11)
      IF (T) OPEN (12, STATUS='SCRATCH', FORM='UNFORMATTED')
      IF (T) PRINT *, I, A
      IF (T) ASSIGN 20 TO L
      IF (T) CONTINUE
      IF (T) GOTO L, (10, 20)
   10 PRINT *, 'not at 10'
   20 IF (T) GOTO (30, 40), 2
   30 PRINT *, 'not at 30'
   40 IF (T) IF (K) 50, 60, 70
   50 PRINT *, 'not at 50'
   60 PRINT *, 'not at 60'
   70 IF (T) CALL SUB(K, *90)
   80 PRINT *, 'not at 80'
   90 IF (K .EQ. 6) GO TO 100
      PRINT *, 'not here'
  100 DO 110 I = 1, 3
        IF (I .EQ. 2) CYCLE
        IF (I .EQ. 3) EXIT
        PRINT *, I
  110 CONTINUE
      IF (.NOT. T) PAUSE 'never'
      IF (.NOT. T) STOP 'never'
      IF (T) STOP
      PRINT *, 'not after STOP'
      END

      SUBROUTINE SUB(K, *)
      K = K + 1
      IF (K .GT. 3) RETURN 1
      PRINT *, 'not the usual return'
      END
