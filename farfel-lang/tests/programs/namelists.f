      PROGRAM NAMES
      INTEGER N
      REAL X(2)
      NAMELIST /SETUP/ N, X
      N = 3
      X(1) = 1.5
      X(2) = -2.5
      WRITE (*, NML=SETUP)
      WRITE (*, SETUP)
      END
