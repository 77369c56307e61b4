C     BLAS 2.

C     A = A + a*x*y**T in a triangle, without the diagonal if that is of ones.
      SUBROUTINE FARFEL_@TRIR(UPLO, DIAG, N, A1, X, INCX, Y, INCY, A,
     +  LDA)
      CHARACTER*1 UPLO, DIAG
      TYPE A1, X(*), Y(*), A(LDA,*)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      K = 0
      IF (FARFEL_IS(DIAG, 'U')) K = 1
      KX = 1
      KY = 1
      IF (INCX .LT. 0) KX = 1 - (N - 1)*INCX
      IF (INCY .LT. 0) KY = 1 - (N - 1)*INCY
      DO J = 1, N
        L1 = J + K
        L2 = N
        IF (FARFEL_IS(UPLO, 'U')) THEN
          L1 = 1
          L2 = J - K
        END IF
        DO I = L1, L2
          A(I,J) = A(I,J)
     +      + A1*X(KX + (I - 1)*INCX)*Y(KY + (J - 1)*INCY)
        END DO
      END DO
      END

C     y = (S + S**T)*x, S a triangle.
      SUBROUTINE FARFEL_@BOTH(UPLO, N, S, LDS, X, INCX, Y)
      CHARACTER*1 UPLO
      TYPE S(LDS,*), X(*), Y(*), ONE, ZERO
      ONE = 1
      ZERO = 0
      CALL @SYMV(UPLO, N, ONE, S, LDS, X, INCX, ZERO, Y, 1)
      K = 1
      IF (INCX .LT. 0) K = 1 - (N - 1)*INCX
      DO I = 1, N
        Y(I) = Y(I) + S(I,I)*X(K + (I - 1)*INCX)
      END DO
      END

C     farfel: derivative(@GEMV(TRANS, M, N, A1, A, LDA, X, INCX, A2, Y, INCY), tangent = FARFEL_@GEMV_D, adjoint = FARFEL_@GEMV_B, in = (A1, A, X, A2, Y), out = Y)
      SUBROUTINE FARFEL_@GEMV_D(TRANS, M, N, A1, A1D, A, AD, LDA, X,
     +  XD, INCX, A2, A2D, Y, YD, INCY)
      CHARACTER*1 TRANS
      TYPE A1, A1D, A(LDA,*), AD(LDA,*), X(*), XD(*)
      TYPE A2, A2D, Y(*), YD(*), ONE
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      L = N
      IF (FARFEL_IS(TRANS, 'N')) L = M
      CALL @GEMV(TRANS, M, N, A1, AD, LDA, X, INCX, A2, YD, INCY)
      CALL @GEMV(TRANS, M, N, A1, A, LDA, XD, INCX, ONE, YD, INCY)
      CALL @GEMV(TRANS, M, N, A1D, A, LDA, X, INCX, ONE, YD, INCY)
      CALL @AXPY(L, A2D, Y, INCY, YD, INCY)
      CALL @GEMV(TRANS, M, N, A1, A, LDA, X, INCX, A2, Y, INCY)
      END
      SUBROUTINE FARFEL_@GEMV_B(TRANS, M, N, A1, A1B, A, AB, LDA, X,
     +  XB, INCX, A2, A2B, Y, YB, INCY)
      CHARACTER*1 TRANS, FARFEL_FLIP
      TYPE A1, A1B, A(LDA,*), AB(LDA,*), X(*), XB(*)
      TYPE A2, A2B, Y(*), YB(*), ONE, ZERO, @DOT, W(M+N)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS, FARFEL_FLIP, @DOT
      ONE = 1
      ZERO = 0
      CALL @GEMV(FARFEL_FLIP(TRANS), M, N, ONE, A, LDA, YB, INCY, ZERO,
     +  W, 1)
      L = M
      K = N
      IF (FARFEL_IS(TRANS, 'N')) THEN
        L = N
        K = M
        CALL @GER(M, N, A1, YB, INCY, X, INCX, AB, LDA)
      ELSE
        CALL @GER(M, N, A1, X, INCX, YB, INCY, AB, LDA)
      END IF
      A1B = A1B + @DOT(L, W, 1, X, INCX)
      CALL @AXPY(L, A1, W, 1, XB, INCX)
      A2B = A2B + @DOT(K, Y, INCY, YB, INCY)
      CALL @SCAL(K, A2, YB, ABS(INCY))
      END

C     farfel: derivative(@GER(M, N, A1, X, INCX, Y, INCY, A, LDA), tangent = FARFEL_@GER_D, adjoint = FARFEL_@GER_B, in = (A1, X, Y, A), out = A)
      SUBROUTINE FARFEL_@GER_D(M, N, A1, A1D, X, XD, INCX, Y, YD, INCY,
     +  A, AD, LDA)
      TYPE A1, A1D, X(*), XD(*), Y(*), YD(*), A(LDA,*), AD(LDA,*)
      CALL @GER(M, N, A1, XD, INCX, Y, INCY, AD, LDA)
      CALL @GER(M, N, A1, X, INCX, YD, INCY, AD, LDA)
      CALL @GER(M, N, A1D, X, INCX, Y, INCY, AD, LDA)
      CALL @GER(M, N, A1, X, INCX, Y, INCY, A, LDA)
      END
      SUBROUTINE FARFEL_@GER_B(M, N, A1, A1B, X, XB, INCX, Y, YB, INCY,
     +  A, AB, LDA)
      TYPE A1, A1B, X(*), XB(*), Y(*), YB(*), A(LDA,*), AB(LDA,*)
      TYPE W(M), ONE, ZERO, @DOT
      EXTERNAL @DOT
      ONE = 1
      ZERO = 0
      CALL @GEMV('N', M, N, ONE, AB, LDA, Y, INCY, ZERO, W, 1)
      A1B = A1B + @DOT(M, W, 1, X, INCX)
      CALL @AXPY(M, A1, W, 1, XB, INCX)
      CALL @GEMV('T', M, N, A1, AB, LDA, X, INCX, ONE, YB, INCY)
      END

C     farfel: derivative(@SYMV(UPLO, N, A1, A, LDA, X, INCX, A2, Y, INCY), tangent = FARFEL_@SYMV_D, adjoint = FARFEL_@SYMV_B, in = (A1, A, X, A2, Y), out = Y)
      SUBROUTINE FARFEL_@SYMV_D(UPLO, N, A1, A1D, A, AD, LDA, X, XD,
     +  INCX, A2, A2D, Y, YD, INCY)
      CHARACTER*1 UPLO
      TYPE A1, A1D, A(LDA,*), AD(LDA,*), X(*), XD(*)
      TYPE A2, A2D, Y(*), YD(*), ONE
      ONE = 1
      CALL @SYMV(UPLO, N, A1, AD, LDA, X, INCX, A2, YD, INCY)
      CALL @SYMV(UPLO, N, A1, A, LDA, XD, INCX, ONE, YD, INCY)
      CALL @SYMV(UPLO, N, A1D, A, LDA, X, INCX, ONE, YD, INCY)
      CALL @AXPY(N, A2D, Y, INCY, YD, INCY)
      CALL @SYMV(UPLO, N, A1, A, LDA, X, INCX, A2, Y, INCY)
      END
      SUBROUTINE FARFEL_@SYMV_B(UPLO, N, A1, A1B, A, AB, LDA, X, XB,
     +  INCX, A2, A2B, Y, YB, INCY)
      CHARACTER*1 UPLO
      TYPE A1, A1B, A(LDA,*), AB(LDA,*), X(*), XB(*)
      TYPE A2, A2B, Y(*), YB(*), W(N), ONE, ZERO, @DOT
      EXTERNAL @DOT
      ONE = 1
      ZERO = 0
      CALL @SYMV(UPLO, N, ONE, A, LDA, YB, INCY, ZERO, W, 1)
      A1B = A1B + @DOT(N, W, 1, X, INCX)
      CALL @AXPY(N, A1, W, 1, XB, INCX)
C     Elements beside the diagonal stand for two.
      CALL FARFEL_@TRIR(UPLO, 'N', N, A1, YB, INCY, X, INCX, AB, LDA)
      CALL FARFEL_@TRIR(UPLO, 'U', N, A1, X, INCX, YB, INCY, AB, LDA)
      A2B = A2B + @DOT(N, Y, INCY, YB, INCY)
      CALL @SCAL(N, A2, YB, ABS(INCY))
      END

C     farfel: derivative(@SYR(UPLO, N, A1, X, INCX, A, LDA), tangent = FARFEL_@SYR_D, adjoint = FARFEL_@SYR_B, in = (A1, X, A), out = A)
      SUBROUTINE FARFEL_@SYR_D(UPLO, N, A1, A1D, X, XD, INCX, A, AD,
     +  LDA)
      CHARACTER*1 UPLO
      TYPE A1, A1D, X(*), XD(*), A(LDA,*), AD(LDA,*)
      CALL @SYR2(UPLO, N, A1, XD, INCX, X, INCX, AD, LDA)
      CALL @SYR(UPLO, N, A1D, X, INCX, AD, LDA)
      CALL @SYR(UPLO, N, A1, X, INCX, A, LDA)
      END
      SUBROUTINE FARFEL_@SYR_B(UPLO, N, A1, A1B, X, XB, INCX, A, AB,
     +  LDA)
      CHARACTER*1 UPLO
      TYPE A1, A1B, X(*), XB(*), A(LDA,*), AB(LDA,*), W(N), @DOT
      EXTERNAL @DOT
      CALL FARFEL_@BOTH(UPLO, N, AB, LDA, X, INCX, W)
      A1B = A1B + @DOT(N, W, 1, X, INCX)/2
      CALL @AXPY(N, A1, W, 1, XB, INCX)
      END

C     farfel: derivative(@SYR2(UPLO, N, A1, X, INCX, Y, INCY, A, LDA), tangent = FARFEL_@SYR2_D, adjoint = FARFEL_@SYR2_B, in = (A1, X, Y, A), out = A)
      SUBROUTINE FARFEL_@SYR2_D(UPLO, N, A1, A1D, X, XD, INCX, Y, YD,
     +  INCY, A, AD, LDA)
      CHARACTER*1 UPLO
      TYPE A1, A1D, X(*), XD(*), Y(*), YD(*), A(LDA,*), AD(LDA,*)
      CALL @SYR2(UPLO, N, A1, XD, INCX, Y, INCY, AD, LDA)
      CALL @SYR2(UPLO, N, A1, X, INCX, YD, INCY, AD, LDA)
      CALL @SYR2(UPLO, N, A1D, X, INCX, Y, INCY, AD, LDA)
      CALL @SYR2(UPLO, N, A1, X, INCX, Y, INCY, A, LDA)
      END
      SUBROUTINE FARFEL_@SYR2_B(UPLO, N, A1, A1B, X, XB, INCX, Y, YB,
     +  INCY, A, AB, LDA)
      CHARACTER*1 UPLO
      TYPE A1, A1B, X(*), XB(*), Y(*), YB(*), A(LDA,*), AB(LDA,*)
      TYPE W(N), @DOT
      EXTERNAL @DOT
      CALL FARFEL_@BOTH(UPLO, N, AB, LDA, Y, INCY, W)
      A1B = A1B + @DOT(N, W, 1, X, INCX)
      CALL @AXPY(N, A1, W, 1, XB, INCX)
      CALL FARFEL_@BOTH(UPLO, N, AB, LDA, X, INCX, W)
      CALL @AXPY(N, A1, W, 1, YB, INCY)
      END

C     w = op(A')*x for the derivative A' of a triangle.
      SUBROUTINE FARFEL_@TRID(UPLO, TRANS, DIAG, N, AD, LDA, X, INCX, W)
      CHARACTER*1 UPLO, TRANS, DIAG
      TYPE AD(LDA,*), X(*), W(*), ONE
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      CALL @COPY(N, X, INCX, W, 1)
      CALL @TRMV(UPLO, TRANS, DIAG, N, AD, LDA, W, 1)
      IF (FARFEL_IS(DIAG, 'U')) CALL @AXPY(N, -ONE, X, INCX, W, 1)
      END

C     farfel: derivative(@TRMV(UPLO, TRANS, DIAG, N, A, LDA, X, INCX), tangent = FARFEL_@TRMV_D, adjoint = FARFEL_@TRMV_B, in = (A, X), out = X)
      SUBROUTINE FARFEL_@TRMV_D(UPLO, TRANS, DIAG, N, A, AD, LDA, X, XD,
     +  INCX)
      CHARACTER*1 UPLO, TRANS, DIAG
      TYPE A(LDA,*), AD(LDA,*), X(*), XD(*), W(N), ONE
      ONE = 1
      CALL FARFEL_@TRID(UPLO, TRANS, DIAG, N, AD, LDA, X, INCX, W)
      CALL @TRMV(UPLO, TRANS, DIAG, N, A, LDA, XD, INCX)
      CALL @AXPY(N, ONE, W, 1, XD, INCX)
      CALL @TRMV(UPLO, TRANS, DIAG, N, A, LDA, X, INCX)
      END
      SUBROUTINE FARFEL_@TRMV_B(UPLO, TRANS, DIAG, N, A, AB, LDA, X, XB,
     +  INCX)
      CHARACTER*1 UPLO, TRANS, DIAG, FARFEL_FLIP
      TYPE A(LDA,*), AB(LDA,*), X(*), XB(*), ONE
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS, FARFEL_FLIP
      ONE = 1
      IF (FARFEL_IS(TRANS, 'N')) THEN
        CALL FARFEL_@TRIR(UPLO, DIAG, N, ONE, XB, INCX, X, INCX, AB,
     +    LDA)
      ELSE
        CALL FARFEL_@TRIR(UPLO, DIAG, N, ONE, X, INCX, XB, INCX, AB,
     +    LDA)
      END IF
      CALL @TRMV(UPLO, FARFEL_FLIP(TRANS), DIAG, N, A, LDA, XB, INCX)
      END

C     farfel: derivative(@TRSV(UPLO, TRANS, DIAG, N, A, LDA, X, INCX), tangent = FARFEL_@TRSV_D, adjoint = FARFEL_@TRSV_B, in = (A, X), out = X)
      SUBROUTINE FARFEL_@TRSV_D(UPLO, TRANS, DIAG, N, A, AD, LDA, X, XD,
     +  INCX)
      CHARACTER*1 UPLO, TRANS, DIAG
      TYPE A(LDA,*), AD(LDA,*), X(*), XD(*), W(N), ONE
      ONE = 1
      CALL @TRSV(UPLO, TRANS, DIAG, N, A, LDA, X, INCX)
      CALL FARFEL_@TRID(UPLO, TRANS, DIAG, N, AD, LDA, X, INCX, W)
      CALL @AXPY(N, -ONE, W, 1, XD, INCX)
      CALL @TRSV(UPLO, TRANS, DIAG, N, A, LDA, XD, INCX)
      END
      SUBROUTINE FARFEL_@TRSV_B(UPLO, TRANS, DIAG, N, A, AB, LDA, X, XB,
     +  INCX)
      CHARACTER*1 UPLO, TRANS, DIAG, FARFEL_FLIP
      TYPE A(LDA,*), AB(LDA,*), X(*), XB(*), ONE
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS, FARFEL_FLIP
      ONE = 1
      CALL @TRSV(UPLO, TRANS, DIAG, N, A, LDA, X, INCX)
      CALL @TRSV(UPLO, FARFEL_FLIP(TRANS), DIAG, N, A, LDA, XB, INCX)
      IF (FARFEL_IS(TRANS, 'N')) THEN
        CALL FARFEL_@TRIR(UPLO, DIAG, N, -ONE, XB, INCX, X, INCX, AB,
     +    LDA)
      ELSE
        CALL FARFEL_@TRIR(UPLO, DIAG, N, -ONE, X, INCX, XB, INCX, AB,
     +    LDA)
      END IF
      END
