C     LAPACK's solvers. The derivative of a factored matrix is that of its factors, where these
C     stand. It is found block by block, as the factors are.

C     Exchanges rows as DGETRF did, or back.
      SUBROUTINE FARFEL_@ROWS(N, A, LDA, K, IPIV, INC)
      TYPE A(LDA,*), T
      INTEGER IPIV(*)
      I1 = 1
      I2 = K
      IF (INC .LT. 0) THEN
        I1 = K
        I2 = 1
      END IF
      DO I = I1, I2, INC
        L = IPIV(I)
        IF (L .NE. I) THEN
          DO J = 1, N
            T = A(I,J)
            A(I,J) = A(L,J)
            A(L,J) = T
          END DO
        END IF
      END DO
      END

C     The factors' derivative from that of the matrix, whose rows are exchanged.
      SUBROUTINE FARFEL_@LU_D(M, N, A, AD, LDA)
      TYPE A(LDA,*), AD(LDA,*), ONE, ZERO
      ONE = 1
      ZERO = 0
      NB = 32
      DO K = 1, MIN(M, N), NB
        KE = MIN(K + NB - 1, MIN(M, N))
        DO J = K, KE
          DO I = J + 1, M
            AD(I,J) = (AD(I,J) - A(I,J)*AD(J,J))/A(J,J)
          END DO
          DO L = J + 1, KE
            DO I = J + 1, M
              AD(I,L) = AD(I,L) - AD(I,J)*A(J,L) - A(I,J)*AD(J,L)
            END DO
          END DO
        END DO
        L = KE + 1
        NK = KE - K + 1
        IF (L .LE. N) THEN
          CALL FARFEL_@LUR_D(NK, N - KE, A(K,K), AD(K,K), LDA,
     +      A(K,L), AD(K,L), LDA)
          IF (L .LE. M) THEN
            CALL @GEMM('N', 'N', M - KE, N - KE, NK, -ONE, AD(L,K),
     +        LDA, A(K,L), LDA, ONE, AD(L,L), LDA)
            CALL @GEMM('N', 'N', M - KE, N - KE, NK, -ONE, A(L,K),
     +        LDA, AD(K,L), LDA, ONE, AD(L,L), LDA)
          END IF
        END IF
      END DO
      END

C     L*U = A, by rows: the derivative of U from that of A, in place.
      SUBROUTINE FARFEL_@LUR_D(M, N, A, AD, LDA, U, UD, LDU)
      TYPE A(LDA,*), AD(LDA,*), U(LDU,*), UD(LDU,*), W(M,N), ONE
      ONE = 1
      CALL FARFEL_@TRIDM('L', 'L', 'N', 'U', M, N, ONE, AD, LDA, U,
     +  LDU, W)
      CALL FARFEL_@ADD(M, N, -ONE, W, M, UD, LDU)
      CALL @TRSM('L', 'L', 'N', 'U', M, N, ONE, A, LDA, UD, LDU)
      END

C     The other way round: from the cotangent of the factors to that of the matrix.
      SUBROUTINE FARFEL_@LU_B(M, N, A, AB, LDA)
      TYPE A(LDA,*), AB(LDA,*), ONE
      ONE = 1
      NB = 32
      DO K = ((MIN(M, N) - 1)/NB)*NB + 1, 1, -NB
        KE = MIN(K + NB - 1, MIN(M, N))
        L = KE + 1
        NK = KE - K + 1
        IF (L .LE. N) THEN
          IF (L .LE. M) THEN
            CALL @GEMM('N', 'T', M - KE, NK, N - KE, -ONE, AB(L,L),
     +        LDA, A(K,L), LDA, ONE, AB(L,K), LDA)
            CALL @GEMM('T', 'N', NK, N - KE, M - KE, -ONE, A(L,K),
     +        LDA, AB(L,L), LDA, ONE, AB(K,L), LDA)
          END IF
          CALL @TRSM('L', 'L', 'T', 'U', NK, N - KE, ONE, A(K,K), LDA,
     +      AB(K,L), LDA)
          CALL FARFEL_@TRIB('L', 'L', 'N', 'U', NK, N - KE, -ONE,
     +      AB(K,L), LDA, A(K,L), LDA, AB(K,K), LDA)
        END IF
        DO J = KE, K, -1
          DO I = J + 1, M
            DO L = J + 1, KE
              AB(I,J) = AB(I,J) - A(J,L)*AB(I,L)
              AB(J,L) = AB(J,L) - A(I,J)*AB(I,L)
            END DO
          END DO
          DO I = J + 1, M
            AB(I,J) = AB(I,J)/A(J,J)
            AB(J,J) = AB(J,J) - A(I,J)*AB(I,J)
          END DO
        END DO
      END DO
      END

C     farfel: derivative(@GETRF(M, N, A, LDA, IPIV, INFO), tangent = FARFEL_@GETRF_D, adjoint = FARFEL_@GETRF_B, in = A, out = A, sets = (IPIV, INFO))
      SUBROUTINE FARFEL_@GETRF_D(M, N, A, AD, LDA, IPIV, INFO)
      TYPE A(LDA,*), AD(LDA,*)
      INTEGER IPIV(*)
      CALL @GETRF(M, N, A, LDA, IPIV, INFO)
      IF (INFO .EQ. 0) THEN
        CALL FARFEL_@ROWS(N, AD, LDA, MIN(M, N), IPIV, 1)
        CALL FARFEL_@LU_D(M, N, A, AD, LDA)
      END IF
      END
      SUBROUTINE FARFEL_@GETRF_B(M, N, A, AB, LDA, IPIV, INFO)
      TYPE A(LDA,*), AB(LDA,*)
      INTEGER IPIV(*)
      CALL @GETRF(M, N, A, LDA, IPIV, INFO)
      IF (INFO .EQ. 0) THEN
        CALL FARFEL_@LU_B(M, N, A, AB, LDA)
        CALL FARFEL_@ROWS(N, AB, LDA, MIN(M, N), IPIV, -1)
      END IF
      END

C     farfel: derivative(@GETRS(TRANS, N, NRHS, A, LDA, IPIV, B, LDB, INFO), tangent = FARFEL_@GETRS_D, adjoint = FARFEL_@GETRS_B, in = (A, B), out = B, sets = INFO)
      SUBROUTINE FARFEL_@GETRS_D(TRANS, N, NRHS, A, AD, LDA, IPIV, B,
     +  BD, LDB, INFO)
      CHARACTER*1 TRANS
      TYPE A(LDA,*), AD(LDA,*), B(LDB,*), BD(LDB,*), ONE, ZERO
      INTEGER IPIV(*)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      ZERO = 0
      INFO = 0
      IF (FARFEL_IS(TRANS, 'N')) THEN
        CALL FARFEL_@ROWS(NRHS, BD, LDB, N, IPIV, 1)
        CALL FARFEL_@ROWS(NRHS, B, LDB, N, IPIV, 1)
        CALL FARFEL_@TRSM_D('L', 'L', 'N', 'U', N, NRHS, ONE, ZERO, A,
     +    AD, LDA, B, BD, LDB)
        CALL FARFEL_@TRSM_D('L', 'U', 'N', 'N', N, NRHS, ONE, ZERO, A,
     +    AD, LDA, B, BD, LDB)
      ELSE
        CALL FARFEL_@TRSM_D('L', 'U', 'T', 'N', N, NRHS, ONE, ZERO, A,
     +    AD, LDA, B, BD, LDB)
        CALL FARFEL_@TRSM_D('L', 'L', 'T', 'U', N, NRHS, ONE, ZERO, A,
     +    AD, LDA, B, BD, LDB)
        CALL FARFEL_@ROWS(NRHS, BD, LDB, N, IPIV, -1)
        CALL FARFEL_@ROWS(NRHS, B, LDB, N, IPIV, -1)
      END IF
      END
      SUBROUTINE FARFEL_@GETRS_B(TRANS, N, NRHS, A, AB, LDA, IPIV, B,
     +  BB, LDB, INFO)
      CHARACTER*1 TRANS
      TYPE A(LDA,*), AB(LDA,*), B(LDB,*), BB(LDB,*), X(LDB,NRHS), ONE
      TYPE S
      INTEGER IPIV(*)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      S = 0
      INFO = 0
      DO J = 1, NRHS
        CALL @COPY(N, B(1,J), 1, X(1,J), 1)
      END DO
      IF (FARFEL_IS(TRANS, 'N')) THEN
        CALL FARFEL_@ROWS(NRHS, B, LDB, N, IPIV, 1)
        CALL FARFEL_@ROWS(NRHS, X, LDB, N, IPIV, 1)
        CALL @TRSM('L', 'L', 'N', 'U', N, NRHS, ONE, A, LDA, X, LDB)
        CALL FARFEL_@TRSM_B('L', 'U', 'N', 'N', N, NRHS, ONE, S, A, AB,
     +    LDA, X, BB, LDB)
        CALL FARFEL_@TRSM_B('L', 'L', 'N', 'U', N, NRHS, ONE, S, A, AB,
     +    LDA, B, BB, LDB)
        CALL FARFEL_@ROWS(NRHS, BB, LDB, N, IPIV, -1)
      ELSE
        CALL FARFEL_@ROWS(NRHS, BB, LDB, N, IPIV, 1)
        CALL @TRSM('L', 'U', 'T', 'N', N, NRHS, ONE, A, LDA, X, LDB)
        CALL FARFEL_@TRSM_B('L', 'L', 'T', 'U', N, NRHS, ONE, S, A, AB,
     +    LDA, X, BB, LDB)
        CALL FARFEL_@TRSM_B('L', 'U', 'T', 'N', N, NRHS, ONE, S, A, AB,
     +    LDA, B, BB, LDB)
      END IF
      END

C     farfel: derivative(@GESV(N, NRHS, A, LDA, IPIV, B, LDB, INFO), tangent = FARFEL_@GESV_D, adjoint = FARFEL_@GESV_B, in = (A, B), out = (A, B), sets = (IPIV, INFO))
      SUBROUTINE FARFEL_@GESV_D(N, NRHS, A, AD, LDA, IPIV, B, BD, LDB,
     +  INFO)
      TYPE A(LDA,*), AD(LDA,*), B(LDB,*), BD(LDB,*)
      INTEGER IPIV(*)
      CALL FARFEL_@GETRF_D(N, N, A, AD, LDA, IPIV, INFO)
      IF (INFO .EQ. 0) CALL FARFEL_@GETRS_D('N', N, NRHS, A, AD, LDA,
     +  IPIV, B, BD, LDB, INFO)
      END
      SUBROUTINE FARFEL_@GESV_B(N, NRHS, A, AB, LDA, IPIV, B, BB, LDB,
     +  INFO)
      TYPE A(LDA,*), AB(LDA,*), B(LDB,*), BB(LDB,*)
      INTEGER IPIV(*)
      CALL @GETRF(N, N, A, LDA, IPIV, INFO)
      IF (INFO .EQ. 0) THEN
        CALL FARFEL_@GETRS_B('N', N, NRHS, A, AB, LDA, IPIV, B, BB,
     +    LDB, INFO)
        CALL FARFEL_@LU_B(N, N, A, AB, LDA)
        CALL FARFEL_@ROWS(N, AB, LDA, N, IPIV, -1)
      END IF
      END

C     farfel: derivative(@POTRF(UPLO, N, A, LDA, INFO), tangent = FARFEL_@POTRF_D, adjoint = FARFEL_@POTRF_B, in = A, out = A, sets = INFO)
      SUBROUTINE FARFEL_@POTRF_D(UPLO, N, A, AD, LDA, INFO)
      CHARACTER*1 UPLO
      TYPE A(LDA,*), AD(LDA,*), ONE
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      CALL @POTRF(UPLO, N, A, LDA, INFO)
      IF (INFO .NE. 0) RETURN
      ONE = 1
      NB = 32
      DO K = 1, N, NB
        KE = MIN(K + NB - 1, N)
        NK = KE - K + 1
        L = KE + 1
        CALL FARFEL_@CHOL_D(UPLO, NK, A(K,K), AD(K,K), LDA)
        IF (L .LE. N) THEN
          IF (FARFEL_IS(UPLO, 'U')) THEN
            CALL FARFEL_@CHOR_D('L', UPLO, NK, N - KE, A(K,K), AD(K,K),
     +        LDA, A(K,L), AD(K,L), LDA)
            CALL @SYR2K(UPLO, 'T', N - KE, NK, -ONE, A(K,L), LDA,
     +        AD(K,L), LDA, ONE, AD(L,L), LDA)
          ELSE
            CALL FARFEL_@CHOR_D('R', UPLO, N - KE, NK, A(K,K), AD(K,K),
     +        LDA, A(L,K), AD(L,K), LDA)
            CALL @SYR2K(UPLO, 'N', N - KE, NK, -ONE, A(L,K), LDA,
     +        AD(L,K), LDA, ONE, AD(L,L), LDA)
          END IF
        END IF
      END DO
      END

C     The same for a small block.
      SUBROUTINE FARFEL_@CHOL_D(UPLO, N, A, AD, LDA)
      CHARACTER*1 UPLO
      TYPE A(LDA,*), AD(LDA,*)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      IF (FARFEL_IS(UPLO, 'U')) THEN
        DO J = 1, N
          AD(J,J) = AD(J,J)/(2*A(J,J))
          DO I = J + 1, N
            AD(J,I) = (AD(J,I) - A(J,I)*AD(J,J))/A(J,J)
          END DO
          DO L = J + 1, N
            DO I = J + 1, L
              AD(I,L) = AD(I,L) - AD(J,I)*A(J,L) - A(J,I)*AD(J,L)
            END DO
          END DO
        END DO
      ELSE
        DO J = 1, N
          AD(J,J) = AD(J,J)/(2*A(J,J))
          DO I = J + 1, N
            AD(I,J) = (AD(I,J) - A(I,J)*AD(J,J))/A(J,J)
          END DO
          DO L = J + 1, N
            DO I = L, N
              AD(I,L) = AD(I,L) - AD(I,J)*A(L,J) - A(I,J)*AD(L,J)
            END DO
          END DO
        END DO
      END IF
      END
      SUBROUTINE FARFEL_@CHOL_B(UPLO, N, A, AB, LDA)
      CHARACTER*1 UPLO
      TYPE A(LDA,*), AB(LDA,*)
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      IF (FARFEL_IS(UPLO, 'U')) THEN
        DO J = N, 1, -1
          DO L = J + 1, N
            DO I = J + 1, L
              AB(J,I) = AB(J,I) - A(J,L)*AB(I,L)
              AB(J,L) = AB(J,L) - A(J,I)*AB(I,L)
            END DO
          END DO
          DO I = J + 1, N
            AB(J,I) = AB(J,I)/A(J,J)
            AB(J,J) = AB(J,J) - A(J,I)*AB(J,I)
          END DO
          AB(J,J) = AB(J,J)/(2*A(J,J))
        END DO
      ELSE
        DO J = N, 1, -1
          DO L = J + 1, N
            DO I = L, N
              AB(I,J) = AB(I,J) - A(L,J)*AB(I,L)
              AB(L,J) = AB(L,J) - A(I,J)*AB(I,L)
            END DO
          END DO
          DO I = J + 1, N
            AB(I,J) = AB(I,J)/A(J,J)
            AB(J,J) = AB(J,J) - A(I,J)*AB(I,J)
          END DO
          AB(J,J) = AB(J,J)/(2*A(J,J))
        END DO
      END IF
      END

C     A block X beside the diagonal block A: A**T*X or X*A**T is given.
      SUBROUTINE FARFEL_@CHOR_D(SIDE, UPLO, M, N, A, AD, LDA, X, XD,
     +  LDX)
      CHARACTER*1 SIDE, UPLO
      TYPE A(LDA,*), AD(LDA,*), X(LDX,*), XD(LDX,*), W(M,N), ONE
      ONE = 1
      CALL FARFEL_@TRIDM(SIDE, UPLO, 'T', 'N', M, N, ONE, AD, LDA, X,
     +  LDX, W)
      CALL FARFEL_@ADD(M, N, -ONE, W, M, XD, LDX)
      CALL @TRSM(SIDE, UPLO, 'T', 'N', M, N, ONE, A, LDA, XD, LDX)
      END

      SUBROUTINE FARFEL_@POTRF_B(UPLO, N, A, AB, LDA, INFO)
      CHARACTER*1 UPLO
      TYPE A(LDA,*), AB(LDA,*)
      CALL @POTRF(UPLO, N, A, LDA, INFO)
      IF (INFO .EQ. 0) CALL FARFEL_@LL_B(UPLO, N, A, AB, LDA)
      END
      SUBROUTINE FARFEL_@LL_B(UPLO, N, A, AB, LDA)
      CHARACTER*1 UPLO
      TYPE A(LDA,*), AB(LDA,*), W(N*32), ONE
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      NB = 32
      DO K = ((N - 1)/NB)*NB + 1, 1, -NB
        KE = MIN(K + NB - 1, N)
        NK = KE - K + 1
        L = KE + 1
        M = N - KE
        IF (L .LE. N) THEN
          IF (FARFEL_IS(UPLO, 'U')) THEN
            CALL FARFEL_@BOTHM('R', UPLO, NK, M, AB(L,L), LDA,
     +        A(K,L), LDA, W)
            CALL FARFEL_@ADD(NK, M, -ONE, W, NK, AB(K,L), LDA)
            CALL @TRSM('L', UPLO, 'N', 'N', NK, M, ONE, A(K,K), LDA,
     +        AB(K,L), LDA)
            CALL FARFEL_@TRIB('L', UPLO, 'T', 'N', NK, M, -ONE,
     +        AB(K,L), LDA, A(K,L), LDA, AB(K,K), LDA)
          ELSE
            CALL FARFEL_@BOTHM('L', UPLO, M, NK, AB(L,L), LDA,
     +        A(L,K), LDA, W)
            CALL FARFEL_@ADD(M, NK, -ONE, W, M, AB(L,K), LDA)
            CALL @TRSM('R', UPLO, 'N', 'N', M, NK, ONE, A(K,K), LDA,
     +        AB(L,K), LDA)
            CALL FARFEL_@TRIB('R', UPLO, 'T', 'N', M, NK, -ONE,
     +        AB(L,K), LDA, A(L,K), LDA, AB(K,K), LDA)
          END IF
        END IF
        CALL FARFEL_@CHOL_B(UPLO, NK, A(K,K), AB(K,K), LDA)
      END DO
      END

C     farfel: derivative(@POTRS(UPLO, N, NRHS, A, LDA, B, LDB, INFO), tangent = FARFEL_@POTRS_D, adjoint = FARFEL_@POTRS_B, in = (A, B), out = B, sets = INFO)
      SUBROUTINE FARFEL_@POTRS_D(UPLO, N, NRHS, A, AD, LDA, B, BD, LDB,
     +  INFO)
      CHARACTER*1 UPLO, T1, T2
      TYPE A(LDA,*), AD(LDA,*), B(LDB,*), BD(LDB,*), ONE, ZERO
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      ZERO = 0
      INFO = 0
      T1 = 'N'
      T2 = 'T'
      IF (FARFEL_IS(UPLO, 'U')) THEN
        T1 = 'T'
        T2 = 'N'
      END IF
      CALL FARFEL_@TRSM_D('L', UPLO, T1, 'N', N, NRHS, ONE, ZERO, A,
     +  AD, LDA, B, BD, LDB)
      CALL FARFEL_@TRSM_D('L', UPLO, T2, 'N', N, NRHS, ONE, ZERO, A,
     +  AD, LDA, B, BD, LDB)
      END
      SUBROUTINE FARFEL_@POTRS_B(UPLO, N, NRHS, A, AB, LDA, B, BB, LDB,
     +  INFO)
      CHARACTER*1 UPLO, T1, T2
      TYPE A(LDA,*), AB(LDA,*), B(LDB,*), BB(LDB,*), X(LDB,NRHS), ONE
      TYPE S
      LOGICAL FARFEL_IS
      EXTERNAL FARFEL_IS
      ONE = 1
      S = 0
      INFO = 0
      T1 = 'N'
      T2 = 'T'
      IF (FARFEL_IS(UPLO, 'U')) THEN
        T1 = 'T'
        T2 = 'N'
      END IF
      DO J = 1, NRHS
        CALL @COPY(N, B(1,J), 1, X(1,J), 1)
      END DO
      CALL @TRSM('L', UPLO, T1, 'N', N, NRHS, ONE, A, LDA, X, LDB)
      CALL FARFEL_@TRSM_B('L', UPLO, T2, 'N', N, NRHS, ONE, S, A, AB,
     +  LDA, X, BB, LDB)
      CALL FARFEL_@TRSM_B('L', UPLO, T1, 'N', N, NRHS, ONE, S, A, AB,
     +  LDA, B, BB, LDB)
      END

C     farfel: derivative(@POSV(UPLO, N, NRHS, A, LDA, B, LDB, INFO), tangent = FARFEL_@POSV_D, adjoint = FARFEL_@POSV_B, in = (A, B), out = (A, B), sets = INFO)
      SUBROUTINE FARFEL_@POSV_D(UPLO, N, NRHS, A, AD, LDA, B, BD, LDB,
     +  INFO)
      CHARACTER*1 UPLO
      TYPE A(LDA,*), AD(LDA,*), B(LDB,*), BD(LDB,*)
      CALL FARFEL_@POTRF_D(UPLO, N, A, AD, LDA, INFO)
      IF (INFO .EQ. 0) CALL FARFEL_@POTRS_D(UPLO, N, NRHS, A, AD, LDA,
     +  B, BD, LDB, INFO)
      END
      SUBROUTINE FARFEL_@POSV_B(UPLO, N, NRHS, A, AB, LDA, B, BB, LDB,
     +  INFO)
      CHARACTER*1 UPLO
      TYPE A(LDA,*), AB(LDA,*), B(LDB,*), BB(LDB,*)
      CALL @POTRF(UPLO, N, A, LDA, INFO)
      IF (INFO .EQ. 0) THEN
        CALL FARFEL_@POTRS_B(UPLO, N, NRHS, A, AB, LDA, B, BB, LDB,
     +    INFO)
        CALL FARFEL_@LL_B(UPLO, N, A, AB, LDA)
      END IF
      END
