C     Implied DO in lists: nested, with steps, several items, expressions.
      PROGRAM LISTS
      INTEGER A(3, 4), I, J, K, L(6)
      REAL X
      CHARACTER*40 BUF
      DATA ((A(I, J), I = 1, 3), J = 1, 4) /12*7/
      DATA (L(I), L(I + 1), I = 1, 5, 2) /1, 2, 3, 4, 5, 6/
      PRINT *, (L(I), I = 6, 1, -2), (K, K = 3, 1)
      PRINT *, (I, (A(J, I) + I*J, J = 1, 3, 2), I = 1, 4)
      PRINT *, (('x', J, J = 1, I), I = 1, 3), (L(L(I)), I = 1, 2)
      PRINT *, (X/2, X = 1.0, 2.0, 0.5), (I**2, -I, I = 1, 3)
      WRITE (BUF, '(6I3)') (L(I)*2, I = 1, 6)
      READ (BUF, '(6I3)') ((A(I, J), I = 1, 3), J = 2, 1, -1)
      PRINT *, ((A(I, J), J = 1, 4), I = 1, 3)
      WRITE (*, 10) ((A(I, J), J = 1, 2), (A(I, J), J = 3, 4), I = 1, 3)
   10 FORMAT (1X, 4I4)
      PRINT *, (A(I, 1) == A(1, I), I = 1, 3), ((I), I = 1, 2)
      END
