C     FORMAT with all that can stand in it, among the specifications too.
      PROGRAM FORMS
      INTEGER N
    5 FORMAT (1X, 'early')
      REAL X
      N = 12
      X = 3.75
      WRITE (*, 5)
      WRITE (*, 10) N, X
      WRITE (*, 20) N, N
      WRITE (*, 30)
      WRITE (*, 40) X, X, X
      WRITE (*, 50) 1, 2, 3
      WRITE (*, 60) N
      WRITE (*, 70) N, X
   10 FORMAT (1X, I5.4, 2X, F8.3)
   20 FORMAT (9H N, AND =, I3, 4H 'N', I3)
   30 FORMAT (' it''s', /, ' a "quote", and ', "it's")
   40 FORMAT (1X, 1PE12.4, 0PF8.2, SP, F8.2, SS)
   50 FORMAT (1X, 3(I2, :, ', '))
   60 FORMAT (T5, I4, TR2, 'x', TL3, 'y', BN, S)
   70 FORMAT (' a long text that goes on and on past the end of its line
     +, ', 'and ', I3, ' then another text that is also far too long for
     + it', F9.4, ' end')
      END
