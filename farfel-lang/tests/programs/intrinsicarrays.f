C     Intrinsic functions of whole arrays.
      PROGRAM ARRS
      REAL A(2, 3), B(3, 2), C(2, 2), V(3), W(6)
      INTEGER M(3), I2(2)
      LOGICAL L(3)
      DO 10 J = 1, 3
      DO 10 I = 1, 2
      A(I, J) = I + 10*J
   10 B(J, I) = I*J - 2.5
      V(1) = 3
      V(2) = -1
      V(3) = 2
      C = MATMUL(A, B)
      PRINT *, C
      PRINT *, SUM(A), SUM(A, 1), SUM(A, DIM=2), SUM(A, A .GT. 20)
      PRINT *, SUM(V, MASK=V .GT. 0), PRODUCT(V), MAXVAL(A), MINVAL(V)
      PRINT *, MAXVAL(A, 1), MINVAL(A, DIM=2, MASK=A .GT. 12)
      PRINT *, MAXLOC(V), MINLOC(V, 1), MAXLOC(A), MINLOC(A, DIM=2)
      PRINT *, TRANSPOSE(A)
      PRINT *, DOT_PRODUCT(V, V), MATMUL(V, B), NORM2(V)
      L = V .GT. 0
      PRINT *, ANY(L), ALL(L), COUNT(L), ANY(A .GT. 30, 1), COUNT(L, 1)
      PRINT *, SIZE(A), SIZE(A, 2), SHAPE(A), LBOUND(A), UBOUND(A, 2)
      PRINT *, MERGE(V, -V, L), MERGE(1, 2, L(2)), PACK(V, L)
      W = RESHAPE(A, SHAPE(W))
      PRINT *, W
      PRINT *, SPREAD(V, 1, 2), RESHAPE(V, SHAPE(I2))
      PRINT *, CSHIFT(V, 1), EOSHIFT(V, -1), EOSHIFT(V, 1, 9.0)
      PRINT *, UNPACK(V(1:2), L, V), FINDLOC(V, 2.0), PARITY(L)
      M = 5
      M(2) = 3
      PRINT *, IALL(M), IANY(M), IPARITY(M), MOD(M, 2), STORAGE_SIZE(V)
      PRINT *, SIZEOF(V), ABS(V), SQRT(ABS(V)), MAX(V, 0.0)
      CALL OPT(M, 3)
      END
      SUBROUTINE OPT(M, N)
      INTEGER M(N), W(SIZE(M))
      W = M
      PRINT *, SUM(W)
      END
