C     BLAS 3.

C     The columns of Y times a are added to those of X.
      SUBROUTINE FARFEL_@ADD(M, N, A, Y, LDY, X, LDX)
      TYPE A, Y(LDY,*), X(LDX,*)
      DO J = 1, N
        CALL @AXPY(M, A, Y(1,J), 1, X(1,J), 1)
      END DO
      END

C     The same in a triangle, if there is one.
      SUBROUTINE FARFEL_@ADDT(UPLO, N, A, Y, LDY, X, LDX)
      CHARACTER*1 UPLO
      TYPE A, Y(LDY,*), X(LDX,*)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      DO J = 1, N
        IF (FARFEL_IS(UPLO, 'U')) THEN
          CALL @AXPY(J, A, Y(1,J), 1, X(1,J), 1)
        ELSE
          CALL @AXPY(N - J + 1, A, Y(J,J), 1, X(J,J), 1)
        END IF
      END DO
      END

C     s = s + the sum of the products of elements.
      SUBROUTINE FARFEL_@SUM2(M, N, X, LDX, Y, LDY, S)
      TYPE X(LDX,*), Y(LDY,*), S, @DOT
      EXTERNAL @DOT
      DO J = 1, N
        S = S + @DOT(M, X(1,J), 1, Y(1,J), 1)
      END DO
      END

      SUBROUTINE FARFEL_@SUM2T(UPLO, N, X, LDX, Y, LDY, S)
      CHARACTER*1 UPLO
      TYPE X(LDX,*), Y(LDY,*), S, @DOT
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS, @DOT
      DO J = 1, N
        IF (FARFEL_IS(UPLO, 'U')) THEN
          S = S + @DOT(J, X(1,J), 1, Y(1,J), 1)
        ELSE
          S = S + @DOT(N - J + 1, X(J,J), 1, Y(J,J), 1)
        END IF
      END DO
      END

C     x = a*x, all of it or in a triangle; zero whatever x is if a is.
      SUBROUTINE FARFEL_@TIMES(UPLO, M, N, A, X, LDX)
      CHARACTER*1 UPLO
      TYPE A, X(LDX,*)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      DO J = 1, N
        L1 = 1
        L2 = M
        IF (FARFEL_IS(UPLO, 'U')) L2 = J
        IF (FARFEL_IS(UPLO, 'L')) L1 = J
        IF (A .EQ. 0) THEN
          DO I = L1, L2
            X(I,J) = 0
          END DO
        ELSE
          CALL @SCAL(L2 - L1 + 1, A, X(L1,J), 1)
        END IF
      END DO
      END

C     A = A + a*op(X)*op(Y) in a triangle.
      SUBROUTINE FARFEL_@TRIK(UPLO, DIAG, TX, TY, N, K, A1, X, LDX, Y,
     +  LDY, A, LDA)
      CHARACTER*1 UPLO, DIAG, TX, TY
      TYPE A1, X(LDX,*), Y(LDY,*), A(LDA,*), W(N,N), ONE, ZERO
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      ZERO = 0
      CALL @GEMM(TX, TY, N, N, K, ONE, X, LDX, Y, LDY, ZERO, W, N)
      IF (FARFEL_IS(DIAG, 'U')) THEN
        DO I = 1, N
          W(I,I) = 0
        END DO
      END IF
      CALL FARFEL_@ADDT(UPLO, N, A1, W, N, A, LDA)
      END

C     farfel: derivative(@GEMM(TA, TB, M, N, K, A1, A, LDA, B, LDB, A2, C, LDC), tangent = FARFEL_@GEMM_D, adjoint = FARFEL_@GEMM_B, in = (A1, A, B, A2, C), out = C)
      SUBROUTINE FARFEL_@GEMM_D(TA, TB, M, N, K, A1, A1D, A, AD, LDA, B,
     +  BD, LDB, A2, A2D, C, CD, LDC)
      CHARACTER*1 TA, TB
      TYPE A1, A1D, A(LDA,*), AD(LDA,*), B(LDB,*), BD(LDB,*)
      TYPE A2, A2D, C(LDC,*), CD(LDC,*), ONE
      ONE = 1
      CALL @GEMM(TA, TB, M, N, K, A1, AD, LDA, B, LDB, A2, CD, LDC)
      CALL @GEMM(TA, TB, M, N, K, A1, A, LDA, BD, LDB, ONE, CD, LDC)
      CALL @GEMM(TA, TB, M, N, K, A1D, A, LDA, B, LDB, ONE, CD, LDC)
      CALL FARFEL_@ADD(M, N, A2D, C, LDC, CD, LDC)
      CALL @GEMM(TA, TB, M, N, K, A1, A, LDA, B, LDB, A2, C, LDC)
      END
      SUBROUTINE FARFEL_@GEMM_B(TA, TB, M, N, K, A1, A1B, A, AB, LDA, B,
     +  BB, LDB, A2, A2B, C, CB, LDC)
      CHARACTER*1 TA, TB, FARFEL_FLIP
      TYPE A1, A1B, A(LDA,*), AB(LDA,*), B(LDB,*), BB(LDB,*)
      TYPE A2, A2B, C(LDC,*), CB(LDC,*), G(M,K), ONE, ZERO
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS, FARFEL_FLIP
      ONE = 1
      ZERO = 0
      CALL @GEMM('N', FARFEL_FLIP(TB), M, K, N, ONE, CB, LDC, B, LDB,
     +  ZERO, G, M)
      IF (FARFEL_IS(TA, 'N')) THEN
        CALL FARFEL_@SUM2(M, K, G, M, A, LDA, A1B)
        CALL FARFEL_@ADD(M, K, A1, G, M, AB, LDA)
      ELSE
        CALL FARFEL_@FLIPPED(M, K, G, A1, A1B, A, AB, LDA)
      END IF
      IF (FARFEL_IS(TB, 'N')) THEN
        CALL @GEMM(FARFEL_FLIP(TA), 'N', K, N, M, A1, A, LDA, CB, LDC,
     +    ONE, BB, LDB)
      ELSE
        CALL @GEMM('T', TA, N, K, M, A1, CB, LDC, A, LDA, ONE, BB, LDB)
      END IF
      CALL FARFEL_@SUM2(M, N, C, LDC, CB, LDC, A2B)
      CALL FARFEL_@TIMES('A', M, N, A2, CB, LDC)
      END

C     What a product gives its first factor, which is transposed: a subroutine of its own, since the
C     second factor may be the same array.
      SUBROUTINE FARFEL_@FLIPPED(M, K, G, A1, A1B, A, AB, LDA)
      TYPE G(M,K), A1, A1B, A(LDA,*), AB(LDA,*)
      DO J = 1, K
        DO I = 1, M
          A1B = A1B + G(I,J)*A(J,I)
          AB(J,I) = AB(J,I) + A1*G(I,J)
        END DO
      END DO
      END

C     farfel: derivative(@SYMM(SIDE, UPLO, M, N, A1, A, LDA, B, LDB, A2, C, LDC), tangent = FARFEL_@SYMM_D, adjoint = FARFEL_@SYMM_B, in = (A1, A, B, A2, C), out = C)
      SUBROUTINE FARFEL_@SYMM_D(SIDE, UPLO, M, N, A1, A1D, A, AD, LDA,
     +  B, BD, LDB, A2, A2D, C, CD, LDC)
      CHARACTER*1 SIDE, UPLO
      TYPE A1, A1D, A(LDA,*), AD(LDA,*), B(LDB,*), BD(LDB,*)
      TYPE A2, A2D, C(LDC,*), CD(LDC,*), ONE
      ONE = 1
      CALL @SYMM(SIDE, UPLO, M, N, A1, AD, LDA, B, LDB, A2, CD, LDC)
      CALL @SYMM(SIDE, UPLO, M, N, A1, A, LDA, BD, LDB, ONE, CD, LDC)
      CALL @SYMM(SIDE, UPLO, M, N, A1D, A, LDA, B, LDB, ONE, CD, LDC)
      CALL FARFEL_@ADD(M, N, A2D, C, LDC, CD, LDC)
      CALL @SYMM(SIDE, UPLO, M, N, A1, A, LDA, B, LDB, A2, C, LDC)
      END
      SUBROUTINE FARFEL_@SYMM_B(SIDE, UPLO, M, N, A1, A1B, A, AB, LDA,
     +  B, BB, LDB, A2, A2B, C, CB, LDC)
      CHARACTER*1 SIDE, UPLO
      TYPE A1, A1B, A(LDA,*), AB(LDA,*), B(LDB,*), BB(LDB,*)
      TYPE A2, A2B, C(LDC,*), CB(LDC,*), W(M,N), ONE, ZERO
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      ZERO = 0
      CALL @SYMM(SIDE, UPLO, M, N, ONE, A, LDA, CB, LDC, ZERO, W, M)
      CALL FARFEL_@SUM2(M, N, W, M, B, LDB, A1B)
      CALL FARFEL_@ADD(M, N, A1, W, M, BB, LDB)
C     Elements beside the diagonal stand for two.
      IF (FARFEL_IS(SIDE, 'L')) THEN
        CALL FARFEL_@TRIK(UPLO, 'N', 'N', 'T', M, N, A1, CB, LDC, B,
     +    LDB, AB, LDA)
        CALL FARFEL_@TRIK(UPLO, 'U', 'N', 'T', M, N, A1, B, LDB, CB,
     +    LDC, AB, LDA)
      ELSE
        CALL FARFEL_@TRIK(UPLO, 'N', 'T', 'N', N, M, A1, CB, LDC, B,
     +    LDB, AB, LDA)
        CALL FARFEL_@TRIK(UPLO, 'U', 'T', 'N', N, M, A1, B, LDB, CB,
     +    LDC, AB, LDA)
      END IF
      CALL FARFEL_@SUM2(M, N, C, LDC, CB, LDC, A2B)
      CALL FARFEL_@TIMES('A', M, N, A2, CB, LDC)
      END

C     W = (S + S**T)*X for a triangle S, or X*(S + S**T).
      SUBROUTINE FARFEL_@BOTHM(SIDE, UPLO, M, N, S, LDS, X, LDX, W)
      CHARACTER*1 SIDE, UPLO
      TYPE S(LDS,*), X(LDX,*), W(M,*), ONE, ZERO
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      ZERO = 0
      CALL @SYMM(SIDE, UPLO, M, N, ONE, S, LDS, X, LDX, ZERO, W, M)
      IF (FARFEL_IS(SIDE, 'L')) THEN
        DO J = 1, N
          DO I = 1, M
            W(I,J) = W(I,J) + S(I,I)*X(I,J)
          END DO
        END DO
      ELSE
        DO J = 1, N
          DO I = 1, M
            W(I,J) = W(I,J) + S(J,J)*X(I,J)
          END DO
        END DO
      END IF
      END

C     farfel: derivative(@SYRK(UPLO, TRANS, N, K, A1, A, LDA, A2, C, LDC), tangent = FARFEL_@SYRK_D, adjoint = FARFEL_@SYRK_B, in = (A1, A, A2, C), out = C)
      SUBROUTINE FARFEL_@SYRK_D(UPLO, TRANS, N, K, A1, A1D, A, AD, LDA,
     +  A2, A2D, C, CD, LDC)
      CHARACTER*1 UPLO, TRANS
      TYPE A1, A1D, A(LDA,*), AD(LDA,*)
      TYPE A2, A2D, C(LDC,*), CD(LDC,*), ONE
      ONE = 1
      CALL @SYR2K(UPLO, TRANS, N, K, A1, AD, LDA, A, LDA, A2, CD, LDC)
      CALL @SYRK(UPLO, TRANS, N, K, A1D, A, LDA, ONE, CD, LDC)
      CALL FARFEL_@ADDT(UPLO, N, A2D, C, LDC, CD, LDC)
      CALL @SYRK(UPLO, TRANS, N, K, A1, A, LDA, A2, C, LDC)
      END
      SUBROUTINE FARFEL_@SYRK_B(UPLO, TRANS, N, K, A1, A1B, A, AB, LDA,
     +  A2, A2B, C, CB, LDC)
      CHARACTER*1 UPLO, TRANS
      TYPE A1, A1B, A(LDA,*), AB(LDA,*)
      TYPE A2, A2B, C(LDC,*), CB(LDC,*), W(N*K), S
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      S = 0
      IF (FARFEL_IS(TRANS, 'N')) THEN
        CALL FARFEL_@BOTHM('L', UPLO, N, K, CB, LDC, A, LDA, W)
        CALL FARFEL_@SUM2(N, K, W, N, A, LDA, S)
        CALL FARFEL_@ADD(N, K, A1, W, N, AB, LDA)
      ELSE
        CALL FARFEL_@BOTHM('R', UPLO, K, N, CB, LDC, A, LDA, W)
        CALL FARFEL_@SUM2(K, N, W, K, A, LDA, S)
        CALL FARFEL_@ADD(K, N, A1, W, K, AB, LDA)
      END IF
      A1B = A1B + S/2
      CALL FARFEL_@SUM2T(UPLO, N, C, LDC, CB, LDC, A2B)
      CALL FARFEL_@TIMES(UPLO, N, N, A2, CB, LDC)
      END

C     farfel: derivative(@SYR2K(UPLO, TRANS, N, K, A1, A, LDA, B, LDB, A2, C, LDC), tangent = FARFEL_@SYR2K_D, adjoint = FARFEL_@SYR2K_B, in = (A1, A, B, A2, C), out = C)
      SUBROUTINE FARFEL_@SYR2K_D(UPLO, TRANS, N, K, A1, A1D, A, AD, LDA,
     +  B, BD, LDB, A2, A2D, C, CD, LDC)
      CHARACTER*1 UPLO, TRANS
      TYPE A1, A1D, A(LDA,*), AD(LDA,*), B(LDB,*), BD(LDB,*)
      TYPE A2, A2D, C(LDC,*), CD(LDC,*), ONE
      ONE = 1
      CALL @SYR2K(UPLO, TRANS, N, K, A1, AD, LDA, B, LDB, A2, CD, LDC)
      CALL @SYR2K(UPLO, TRANS, N, K, A1, A, LDA, BD, LDB, ONE, CD, LDC)
      CALL @SYR2K(UPLO, TRANS, N, K, A1D, A, LDA, B, LDB, ONE, CD, LDC)
      CALL FARFEL_@ADDT(UPLO, N, A2D, C, LDC, CD, LDC)
      CALL @SYR2K(UPLO, TRANS, N, K, A1, A, LDA, B, LDB, A2, C, LDC)
      END
      SUBROUTINE FARFEL_@SYR2K_B(UPLO, TRANS, N, K, A1, A1B, A, AB, LDA,
     +  B, BB, LDB, A2, A2B, C, CB, LDC)
      CHARACTER*1 UPLO, TRANS
      TYPE A1, A1B, A(LDA,*), AB(LDA,*), B(LDB,*), BB(LDB,*)
      TYPE A2, A2B, C(LDC,*), CB(LDC,*), W(N*K)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      IF (FARFEL_IS(TRANS, 'N')) THEN
        CALL FARFEL_@BOTHM('L', UPLO, N, K, CB, LDC, B, LDB, W)
        CALL FARFEL_@SUM2(N, K, W, N, A, LDA, A1B)
        CALL FARFEL_@ADD(N, K, A1, W, N, AB, LDA)
        CALL FARFEL_@BOTHM('L', UPLO, N, K, CB, LDC, A, LDA, W)
        CALL FARFEL_@ADD(N, K, A1, W, N, BB, LDB)
      ELSE
        CALL FARFEL_@BOTHM('R', UPLO, K, N, CB, LDC, B, LDB, W)
        CALL FARFEL_@SUM2(K, N, W, K, A, LDA, A1B)
        CALL FARFEL_@ADD(K, N, A1, W, K, AB, LDA)
        CALL FARFEL_@BOTHM('R', UPLO, K, N, CB, LDC, A, LDA, W)
        CALL FARFEL_@ADD(K, N, A1, W, K, BB, LDB)
      END IF
      CALL FARFEL_@SUM2T(UPLO, N, C, LDC, CB, LDC, A2B)
      CALL FARFEL_@TIMES(UPLO, N, N, A2, CB, LDC)
      END

C     W = op(A')*X or X*op(A') for the derivative A' of a triangle.
      SUBROUTINE FARFEL_@TRIDM(SIDE, UPLO, TA, DIAG, M, N, A1, AD, LDA,
     +  X, LDX, W)
      CHARACTER*1 SIDE, UPLO, TA, DIAG
      TYPE A1, AD(LDA,*), X(LDX,*), W(M,*)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      DO J = 1, N
        CALL @COPY(M, X(1,J), 1, W(1,J), 1)
      END DO
      CALL @TRMM(SIDE, UPLO, TA, DIAG, M, N, A1, AD, LDA, W, M)
      IF (FARFEL_IS(DIAG, 'U'))
     +  CALL FARFEL_@ADD(M, N, -A1, X, LDX, W, M)
      END

C     A = A + a*what the cotangent Y of op(A)*X or X*op(A) gives.
      SUBROUTINE FARFEL_@TRIB(SIDE, UPLO, TA, DIAG, M, N, A1, Y, LDY,
     +  X, LDX, AB, LDA)
      CHARACTER*1 SIDE, UPLO, TA, DIAG
      TYPE A1, Y(LDY,*), X(LDX,*), AB(LDA,*)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      IF (FARFEL_IS(SIDE, 'L')) THEN
        IF (FARFEL_IS(TA, 'N')) THEN
          CALL FARFEL_@TRIK(UPLO, DIAG, 'N', 'T', M, N, A1, Y, LDY, X,
     +      LDX, AB, LDA)
        ELSE
          CALL FARFEL_@TRIK(UPLO, DIAG, 'N', 'T', M, N, A1, X, LDX, Y,
     +      LDY, AB, LDA)
        END IF
      ELSE
        IF (FARFEL_IS(TA, 'N')) THEN
          CALL FARFEL_@TRIK(UPLO, DIAG, 'T', 'N', N, M, A1, X, LDX, Y,
     +      LDY, AB, LDA)
        ELSE
          CALL FARFEL_@TRIK(UPLO, DIAG, 'T', 'N', N, M, A1, Y, LDY, X,
     +      LDX, AB, LDA)
        END IF
      END IF
      END

C     farfel: derivative(@TRMM(SIDE, UPLO, TA, DIAG, M, N, A1, A, LDA, B, LDB), tangent = FARFEL_@TRMM_D, adjoint = FARFEL_@TRMM_B, in = (A1, A, B), out = B)
      SUBROUTINE FARFEL_@TRMM_D(SIDE, UPLO, TA, DIAG, M, N, A1, A1D, A,
     +  AD, LDA, B, BD, LDB)
      CHARACTER*1 SIDE, UPLO, TA, DIAG
      TYPE A1, A1D, A(LDA,*), AD(LDA,*), B(LDB,*), BD(LDB,*)
      TYPE W(M,N), ONE
      ONE = 1
      CALL FARFEL_@TRIDM(SIDE, UPLO, TA, DIAG, M, N, A1, AD, LDA, B,
     +  LDB, W)
      CALL @TRMM(SIDE, UPLO, TA, DIAG, M, N, A1, A, LDA, BD, LDB)
      CALL FARFEL_@ADD(M, N, ONE, W, M, BD, LDB)
      DO J = 1, N
        CALL @COPY(M, B(1,J), 1, W(1,J), 1)
      END DO
      CALL @TRMM(SIDE, UPLO, TA, DIAG, M, N, A1D, A, LDA, W, M)
      CALL FARFEL_@ADD(M, N, ONE, W, M, BD, LDB)
      CALL @TRMM(SIDE, UPLO, TA, DIAG, M, N, A1, A, LDA, B, LDB)
      END
      SUBROUTINE FARFEL_@TRMM_B(SIDE, UPLO, TA, DIAG, M, N, A1, A1B, A,
     +  AB, LDA, B, BB, LDB)
      CHARACTER*1 SIDE, UPLO, TA, DIAG, FARFEL_FLIP
      TYPE A1, A1B, A(LDA,*), AB(LDA,*), B(LDB,*), BB(LDB,*), ONE
      EXTERNAL FARFEL_FLIP
      ONE = 1
      CALL FARFEL_@TRIB(SIDE, UPLO, TA, DIAG, M, N, A1, BB, LDB, B, LDB,
     +  AB, LDA)
      CALL @TRMM(SIDE, UPLO, FARFEL_FLIP(TA), DIAG, M, N, ONE, A, LDA,
     +  BB, LDB)
      CALL FARFEL_@SUM2(M, N, B, LDB, BB, LDB, A1B)
      CALL FARFEL_@TIMES('A', M, N, A1, BB, LDB)
      END

C     farfel: derivative(@TRSM(SIDE, UPLO, TA, DIAG, M, N, A1, A, LDA, B, LDB), tangent = FARFEL_@TRSM_D, adjoint = FARFEL_@TRSM_B, in = (A1, A, B), out = B)
      SUBROUTINE FARFEL_@TRSM_D(SIDE, UPLO, TA, DIAG, M, N, A1, A1D, A,
     +  AD, LDA, B, BD, LDB)
      CHARACTER*1 SIDE, UPLO, TA, DIAG
      TYPE A1, A1D, A(LDA,*), AD(LDA,*), B(LDB,*), BD(LDB,*)
      TYPE W(M,N), ONE
      ONE = 1
      CALL FARFEL_@TIMES('A', M, N, A1, BD, LDB)
      CALL FARFEL_@ADD(M, N, A1D, B, LDB, BD, LDB)
      CALL @TRSM(SIDE, UPLO, TA, DIAG, M, N, A1, A, LDA, B, LDB)
      CALL FARFEL_@TRIDM(SIDE, UPLO, TA, DIAG, M, N, ONE, AD, LDA, B,
     +  LDB, W)
      CALL FARFEL_@ADD(M, N, -ONE, W, M, BD, LDB)
      CALL @TRSM(SIDE, UPLO, TA, DIAG, M, N, ONE, A, LDA, BD, LDB)
      END
      SUBROUTINE FARFEL_@TRSM_B(SIDE, UPLO, TA, DIAG, M, N, A1, A1B, A,
     +  AB, LDA, B, BB, LDB)
      CHARACTER*1 SIDE, UPLO, TA, DIAG, FARFEL_FLIP
      TYPE A1, A1B, A(LDA,*), AB(LDA,*), B(LDB,*), BB(LDB,*), ONE
      EXTERNAL FARFEL_FLIP
      ONE = 1
      CALL @TRSM(SIDE, UPLO, FARFEL_FLIP(TA), DIAG, M, N, ONE, A, LDA,
     +  BB, LDB)
      CALL FARFEL_@SUM2(M, N, B, LDB, BB, LDB, A1B)
      CALL @TRSM(SIDE, UPLO, TA, DIAG, M, N, A1, A, LDA, B, LDB)
      CALL FARFEL_@TRIB(SIDE, UPLO, TA, DIAG, M, N, -ONE, BB, LDB, B,
     +  LDB, AB, LDA)
      CALL FARFEL_@TIMES('A', M, N, A1, BB, LDB)
      END
