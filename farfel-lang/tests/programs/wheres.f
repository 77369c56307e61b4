      PROGRAM MASKED
      REAL A(6), B(6), C(2, 3)
      INTEGER I
      LOGICAL M(6)
      DATA A /1., -4., 9., -16., 25., 0./
      B = 0.
      WHERE (A .GT. 0.) B = SQRT(A)
      PRINT *, B
      WHERE (A .LT. 0.)
C       negative
        B = -SQRT(-A)
        A = -A
      ELSEWHERE (A .EQ. 0.)
        B = 100.
      ELSEWHERE
C       positive
        B = B + 1.
      END WHERE
      PRINT *, A
      PRINT *, B
      C = 2.
      M = A .GT. 5.
      IF (M(3)) WHERE (M) A = 1. / A
      HERE: WHERE (C(1, :) .GT. 1.)
        C(2, :) = C(1, :) + (/ 1., 2., 3. /)
      ELSEWHERE HERE
        C(2, :) = 7.
      END WHERE HERE
      PRINT *, A, C
      DO 10 I = 1, 2
   20   WHERE (C .GT. 2.) C = C - 1.
        IF (C(1, 1) .GT. 1000.) GOTO 20
   10 CONTINUE
      PRINT *, C
      END
