C     Several NAMELIST groups; DIMENSION with bounds from expressions; DATA
C     among executable statements; EQUIVALENCE; initial values of arrays.
      PROGRAM GROUPS
      PARAMETER (N = 2)
      DIMENSION A(N*2, -N:N), B(N+1)
      INTEGER*2 H(2)
      INTEGER I4
      EQUIVALENCE (I4, H(1))
      CHARACTER*12 LINE(3)
      NAMELIST /ONE/ I, X, /TWO/ J, Y
      NAMELIST /THREE/ B
      A = 1
      B(N+1) = 4
      DATA X, Y /1.5, -2.5/
      I = 3
      J = 4
      DATA B(1), B(2) /2*0.5/
      H(1) = 1
      H(2) = 2
      PRINT *, SIZE(A), LBOUND(A, 2), UBOUND(A, 1), B, I4
      WRITE (*, NML=ONE)
      WRITE (*, TWO)
      WRITE (*, THREE)
      LINE(1) = '&ONE I=9,'
      LINE(2) = ' X=7.5'
      LINE(3) = '/'
      READ (LINE, NML=ONE)
      PRINT *, I, X
      END
