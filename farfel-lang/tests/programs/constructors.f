      PROGRAM MAKE
      INTEGER A(5), I, J, TOTAL
      REAL X(4), Y(2, 3)
      DOUBLE PRECISION D(3)
      CHARACTER*3 W(2)
      LOGICAL L(3)
      INTEGER FIXED(3)
      PARAMETER (FIXED = (/ 7, 8, 9 /))
      A = (/ 1, 2, 3, 4, 5 /)
      PRINT *, A, FIXED(2)
      A = (/ (I*I, I = 1, 5) /)
      PRINT *, A
      A = [10, (I, 2*I, I = 1, 2)]
      PRINT *, A
      X = (/ A(1)/2., X0(3), (/ 1.5, 2.5 /) /)
      PRINT *, X
      Y(2, :) = (/ ((10.*I + J, I = 1, 1), J = 1, 3) /)
      Y(1, :) = 0.
      PRINT *, Y
      D = (/ DOUBLE PRECISION :: 1, 2.5, 3 /)
      PRINT *, D / 3
      W = [CHARACTER(LEN=3) :: 'a', 'bcd']
      PRINT *, W
      L = (/ .TRUE., 1 .GT. 2, X(1)/2. .GT. 2. /)
      PRINT *, L
      PRINT *, TOTAL((/ 1, 2, A(1)/5 /), 3)
      PRINT *, TOTAL([INTEGER(4) :: 4, 5], 2)
      PRINT *, (/ 'x'//'y', 'zz' /)
      PRINT *, (/ COMPLEX :: 1, (2., 3.) /)
      END

      REAL FUNCTION X0(I)
      X0 = I/2
      END

      INTEGER FUNCTION TOTAL(A, N)
      INTEGER N, A(N), I
      TOTAL = 0
      DO 10 I = 1, N
   10 TOTAL = TOTAL + A(I)
      END
