      PROGRAM KINDS
      INTEGER*8 BIG
      INTEGER*2 SMALL
      INTEGER*4 USUAL
      REAL*8 D, DA(2)
      REAL*4 R
      LOGICAL*1 FLAG
      COMPLEX*8 C
      BYTE TINY
      DOUBLE COMPLEX Z
      REAL*8 FUNNY
      BIG = 300000
      SMALL = 7
      USUAL = 8
      D = 1.0D-3
      DA(2) = D*2
      R = 0.25
      FLAG = .TRUE.
      C = (1.0, 2.0)
      Z = (1.0D0, 2.0D0)
      TINY = 3
      PRINT *, BIG, SMALL, USUAL, D, DA(2), R, FLAG, C, Z, TINY
      PRINT *, FUNNY(R)
      END

      DOUBLE PRECISION FUNCTION FUNNY(R)
      FUNNY = R*2
      END
