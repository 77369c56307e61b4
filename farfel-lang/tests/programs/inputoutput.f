C     Input and output statements in all their forms.
      PROGRAM INOUT
      INTEGER I, J, N, K(4), IOS
      REAL X(3, 2), Y
      LOGICAL THERE
      CHARACTER*20 LINE
      CHARACTER*8 FMT
      DATA X /1.0, 2.0, 3.0, 4.0, 5.0, 6.0/
      WRITE (*, *) ((X(I, J), J = 1, 2), I = 1, 3)
      WRITE (6, 100) (I, (X(I, J), J = 2, 1, -1), I = 1, 3)
      WRITE (UNIT=6, FMT=110) 'a', 'b', ('c', I = 1, 2), X(1, 1)
      WRITE (LINE, '(I5, F8.3)') 42, 3.25
      READ (LINE, 120) N, Y
      PRINT 130, N, Y
      PRINT *
      PRINT '(1X, A)', 'direct'
      FMT = '(1X,I3)'
      PRINT FMT, 7
      OPEN (UNIT=11, STATUS='SCRATCH', FORM='FORMATTED')
      DO 10 I = 1, 4
   10 WRITE (11, '(I4)', ERR=90) I*I
      ENDFILE 11
      REWIND 11
      READ (11, '(I4)', END=20, ERR=90) (K(I), I = 1, 4)
      WRITE (*, *) K
   20 BACKSPACE (UNIT=11)
      BACKSPACE 11
      READ (11, *, IOSTAT=IOS) N
      WRITE (*, *) N, IOS .EQ. 0
      REWIND (11)
      INQUIRE (UNIT=11, OPENED=THERE)
      WRITE (*, *) THERE
      CLOSE (11)
      READ (LINE, *) N
      WRITE (*, *) N
      STOP
   90 STOP 'trouble'
  100 FORMAT (1X, I2, 2F7.2)
  110 FORMAT (1X, 4A2, F6.2)
  120 FORMAT (I5, F8.3)
  130 FORMAT (' N =', I4, ', Y =', F6.2)
      END
