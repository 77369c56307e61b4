      PROGRAM ARRAYS
      INTEGER N
      PARAMETER (N = 3)
      REAL A(N, N), V(0:N), W(-1:1, 2), S
      DIMENSION B(N + 1), L(2*N)
      INTEGER L
      DO 10 I = 1, N
        V(I) = I
        DO 10 J = 1, N
   10     A(I, J) = I + J*0.5
      V(0) = 0
      W(-1, 2) = V(3)
      B(4) = W(-1, 2)
      L(6) = 6
      CALL MULT(A, V(1), B, N)
      PRINT *, B(1), B(2), B(3), L(6), S(V, N), V(L(6) - 4)
      END

      SUBROUTINE MULT(A, X, Y, N)
      INTEGER N
      REAL A(N, *), X(N), Y(1)
      DO 20 I = 1, N
        Y(I) = 0.0
        DO 20 J = 1, N
          Y(I) = Y(I) + A(I, J)*X(J)
   20 CONTINUE
      END

      REAL FUNCTION S(X, N)
      DIMENSION X(0:N)
      S = 0.0
      DO 30 I = 0, N
   30 S = S + X(I)
      END
