      PROGRAM PARTS
      INTEGER A(10), M(4, 5), I, J
      CHARACTER*6 W(3)
      REAL X(5), Y(5)
      DO 10 I = 1, 10
   10 A(I) = I
      PRINT *, A(3:5), A(::3), A(8:), A(:2), A(10:1:-4)
      A(2:10:2) = -A(1:9:2)
      PRINT *, A
      A(2:10) = A(1:9)
      PRINT *, A
      DO 20 J = 1, 5
      DO 20 I = 1, 4
   20 M(I, J) = 10*I + J
      PRINT *, M(2, :), M(:, 3)
      M(1:4:3, 2:3) = M(2:3, 4:5) + 100
      M(4, :) = 0
      PRINT *, M
      PRINT *, M(A(1)*A(1), (/ 5, 1 /))
      W = 'abcdef'
      W(2:3)(2:4) = '...'
      W(1)(:2) = W(2)(3:)
      PRINT *, W
      X = 2.
      Y = X**2 + SQRT(X + X)*3. - ABS(-X)
      X(1:3) = Y(3:5)/4.
      PRINT *, X, Y
      CALL DOUBLE(X(2:4), 3)
      CALL DOUBLE(X(1:5:2), 3)
      PRINT *, X
      END

      SUBROUTINE DOUBLE(X, N)
      INTEGER N
      REAL X(N)
      X = 2.*X
      END
