C     Character constants with everything that may stand in them.
      PROGRAM STRS
      CHARACTER*12 A, B
      CHARACTER*1 C
      A = 'back\slash\n'
      B = "it's ""so"""
      C = '!'
      PRINT *, A, '|', B, '|', C, '|', "", '', '''', """", '&', 'C', ';'
      PRINT *, 'a''b' // "c""d", 'x!y', "x'y", 'semi;colon', '  two  '
      PRINT *, LEN('back\\'), LEN("''"), 'tab:	.', 'percent % $ # @ ?'
      PRINT *, 'a very long constant that goes beyond column 72 and has to
     1be continued on the next line, where blanks count'
      WRITE (*, '(1X, ''quoted'', A)') 'x'
      WRITE (*, "(1X, 'again ', ""both"")")
      PRINT 10, 'it''s'
   10 FORMAT (1X, 'don''t ', "say ""no""", 6H 'H"H , A)
      END
