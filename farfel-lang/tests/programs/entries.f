C     ENTRY in functions, with types of their own; EXTERNAL with the name
C     of a BLOCK DATA unit; SAVE of a block; statement functions of others.
      PROGRAM ENTS
      EXTERNAL INITS
      COMMON /COUNT/ N, W
      SAVE /COUNT/
      INTEGER WHOLE
      DOUBLE PRECISION TWICE
      LOGICAL SMALL
      CHARACTER*4 LETTRS
      REAL SQ, CUBE, DIST
      SQ(X) = X*X
      CUBE(X) = X*SQ(X)
      DIST(X, Y) = SQRT(SQ(X) + SQ(Y)) + 0*CUBE(X)
      PRINT *, HALF(3.0), WHOLE(3.7), TWICE(1.25), SMALL(2.0)
      PRINT *, SQ(3.0), CUBE(2.0), DIST(3.0, 4.0), N, W
      PRINT *, LETTRS('ab')
      CALL FIRST(1)
      CALL SECND(2, 3)
      END
      FUNCTION HALF(X)
      INTEGER WHOLE
      DOUBLE PRECISION TWICE
      LOGICAL SMALL
      HALF = X/2
      RETURN
      ENTRY WHOLE(X)
      WHOLE = X
      RETURN
      ENTRY TWICE(X)
      TWICE = 2*X
      RETURN
      ENTRY SMALL(X)
      SMALL = X .LT. 3
      END
      CHARACTER*(*) FUNCTION LETTRS(A)
      CHARACTER*(*) A
      LETTRS = A // 'cd'
      END
      SUBROUTINE FIRST(I)
      COMMON /COUNT/ N, W
      PRINT *, 'first', I, N
      ENTRY SECND(I, J)
      N = N + I
      PRINT *, 'second', N
      END
      BLOCK DATA INITS
      COMMON /COUNT/ N, W
      DATA N, W /40, 2.5/
      END
      BLOCK DATA
      COMMON /OTHER/ K
      DATA K /7/
      END
