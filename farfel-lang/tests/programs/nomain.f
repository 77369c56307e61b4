      INTEGER I
      I = 4
      CALL SUB(I)
      PRINT *, I
      END
      SUBROUTINE SUB(I)
      I = I + 1
      END
