C     In fixed form blanks mean nothing, and keywords are no reserved words.
      PRO GRAM BL ANKS
      INTEGER IF, DO 10 I, THEN
      REAL END
      DO10I=3
      DO 1 0 I = 1 , 2
      IF = I
      THEN = I F + DO 10 I
      IF(IF.EQ.1)THEN=THEN*2
  1 0 PRINT*,IF,THEN,DO10I
      E N D = 1 . 5 E 1
      GO TO2 0
   20 W R I T E ( * , * ) E N D, 'b l a n k s'
      END
