C     Internal files: variables, elements, substrings, arrays; list-directed too.
      PROGRAM INTERN
      CHARACTER*10 LINE(3), ONE
      CHARACTER*30 TEXT
      INTEGER I, J, IOS
      REAL X
      WRITE (LINE, 100) 1, 2, 3
      PRINT *, LINE
      READ (LINE, 100) J, I
      PRINT *, I, J
      WRITE (LINE(2), FMT='(F6.2)', IOSTAT=IOS) 2.5
      WRITE (TEXT(3:12), '(2I5)', ERR=10) 12, 34
      TEXT(1:2) = '<<'
      TEXT(13:) = '>>'
      PRINT *, LINE(2), TEXT, IOS
      READ (TEXT(3:12), *, END=10) I, J
      READ (UNIT=LINE(2), FMT=*) X
      PRINT *, I, J, X
      ONE = 'abc'
      READ (ONE, '(I3)', ERR=10, IOSTAT=IOS) I
      IF (IOS .NE. 0) PRINT *, 'no number'
      STOP
   10 PRINT *, 'no number: 10'
  100 FORMAT (I4)
      END
