C     A stencil of five points.
      SUBROUTINE STENCL(U, V, N, M)
      DOUBLE PRECISION U(N, *), V(N, *)
      DO 20 J = 2, M - 1
        DO 10 I = 2, N - 1
          V(I, J) = 0.25D0*(U(I - 1, J) + U(I + 1, J) + U(I, J - 1)
     +      + U(I, J + 1)) - U(I, J)
   10   CONTINUE
   20 CONTINUE
      END
C     The same without checks.
      SUBROUTINE STENCR(U, V, N, M)
      DOUBLE PRECISION U(N, *), V(N, *)
      DO 20 J = 2, M - 1
        DO 10 I = 2, N - 1
          V(I, J) = 0.25D0*(U(I - 1, J) + U(I + 1, J) + U(I, J - 1)
     +      + U(I, J + 1)) - U(I, J)
   10   CONTINUE
   20 CONTINUE
      END
C     What declarations prove.
      SUBROUTINE FIXEDC(X)
      DOUBLE PRECISION X, T(512)
      DO 10 I = 1, 512
   10 T(I) = X*I
      DO 20 K = 1, 60
        DO 20 I = 2, 511
   20 T(I) = T(I) + 0.5D0*(T(I + 1) + T(I - 1))
      X = T(256)
      END
      SUBROUTINE FIXEDR(X)
      DOUBLE PRECISION X, T(512)
      DO 10 I = 1, 512
   10 T(I) = X*I
      DO 20 K = 1, 60
        DO 20 I = 2, 511
   20 T(I) = T(I) + 0.5D0*(T(I + 1) + T(I - 1))
      X = T(256)
      END
C     Through an index array, where each subscript is checked.
      SUBROUTINE GATHRC(N, IDX, X, Y)
      INTEGER IDX(*)
      DOUBLE PRECISION X(*), Y(*)
      DO 10 I = 1, N
   10 Y(I) = Y(I) + X(IDX(I))
      END
      SUBROUTINE GATHRR(N, IDX, X, Y)
      INTEGER IDX(*)
      DOUBLE PRECISION X(*), Y(*)
      DO 10 I = 1, N
   10 Y(I) = Y(I) + X(IDX(I))
      END
