      PROGRAM HOLLER
      REAL X
      INTEGER I, J(2)
      DATA X /4HABCD/, J /4HEFGH, 4HI'J /
      I = 4HKLMN
      WRITE (*, 10) X, J, I
   10 FORMAT (1X, A4, 1X, 2A4, 1X, A4)
      CALL SHOW(8HTwo word, 2)
      CALL SHOW(32HA text of thirty-two letters, so, 8)
      END

      SUBROUTINE SHOW(TEXT, N)
      INTEGER TEXT(*), N
      WRITE (*, '(1X, 8A4)') (TEXT(I), I = 1, N)
      END
