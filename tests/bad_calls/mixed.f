C     Loops whose steps or bounds are not known, around loops with bounds that they compute.
      SUBROUTINE STRIDD(N, K, M, A, B)
      DOUBLE PRECISION A(*), B(*)
      I1 = 1
      I2 = 2
      DO 20 J = 1, N, K
      I1 = J*M
      I2 = J*M + 1
      DO 10 I = I1, I2
   10 B(I) = B(I) + A(I)
   20 CONTINUE
      END
      SUBROUTINE STRID8(N, M, A, B)
      INTEGER*8 N, J
      DOUBLE PRECISION A(*), B(*)
      I1 = 1
      I2 = 2
      DO 20 J = 1, N
      I1 = INT(J)*M
      I2 = INT(J)*M + 1
      DO 10 I = I1, I2
   10 B(I) = B(I) + A(I)
   20 CONTINUE
      END
      SUBROUTINE NEST3(N, K, M, A)
      DOUBLE PRECISION A(*)
      L1 = 1
      DO 30 J = 1, N, K
      DO 20 I = 1, M
      DO 10 L = L1, L1 + I - 1
   10 A(L) = A(L) + 1
   20 L1 = L1 + I
   30 CONTINUE
      END
      SUBROUTINE FROMAR(N, K, L, A)
      DOUBLE PRECISION A(*)
      INTEGER L(*)
      DO 20 J = N, 1, K
      DO 10 I = L(J), L(J + 1)
   10 A(I) = A(I) + J
      L(J) = 1
   20 CONTINUE
      END
C     COMPLEX arrays: as they are, as numbers of their parts, with strides, with a second name.
      SUBROUTINE CSCALE(N, INC, Z, C)
      COMPLEX*16 Z(*), C
      K = 1
      IF (INC .LT. 0) K = 1 - (N - 1)*INC
      DO 10 I = 1, N
      Z(K) = Z(K)*C
   10 K = K + INC
      END
      SUBROUTINE CPARTS(N, M, Z, X)
      COMPLEX*16 Z(N)
      DOUBLE PRECISION X(M)
      CALL CPART1(M, Z, X)
      END
      SUBROUTINE CPART1(M, Y, X)
      DOUBLE PRECISION Y(M), X(M)
      X = Y
      Y(M) = 1
      END
      SUBROUTINE CEQUIV(K, V)
      COMPLEX*16 C(3), D
      DOUBLE PRECISION E(6), V
      EQUIVALENCE (C, E)
      C(3) = (1D0, 2D0)
      E(K) = 7
      D = C((K + 1)/2)
      V = ABS(D)
      END
      COMPLEX FUNCTION CTAKE(K, Z)
      COMPLEX Z(*), W(*), CGIVE
      CTAKE = Z(K)*Z(K + 1)
      RETURN
      ENTRY CGIVE(W, N, K)
      CGIVE = CONJG(W(N - K))
      W(K) = CGIVE
      END
      SUBROUTINE CROWS(M, N, A, B)
      COMPLEX*16 A(M, N), B(N, M)
      B = CONJG(TRANSPOSE(A))
      A(M, N) = SUM(B(N, :))
      END
C     LOGICAL arrays of several sizes: masks, elements, packed.
      SUBROUTINE LWHERE(N, L, X)
      LOGICAL L(N)
      DOUBLE PRECISION X(N)
      WHERE (L) X = X + 1
      L(1) = .NOT. L(N)
      END
      SUBROUTINE LPACK(N, M, L, X, Y)
      LOGICAL L(*)
      DOUBLE PRECISION X(*), Y(M)
      Y = PACK(X(1:N), L(1:N), Y)
      END
      SUBROUTINE LELEM(K, J, L)
      LOGICAL*1 L(*)
      L(K) = .NOT. L(J)
      END
      LOGICAL FUNCTION LANY(N, L, IX)
      LOGICAL L(*)
      INTEGER IX(N)
      LANY = ANY(L(IX(1:N))) .AND. L(N) .OR. L(1)
      END
      SUBROUTINE LLAST(F, N, L)
      LOGICAL F, L(N)
      EXTERNAL F
      K = 0
   10 K = K + 1
      L(K) = F(L(K), K)
      IF (.NOT. L(K)) GOTO 10
      END
C     Alternate returns, also from ENTRY points and out of loops.
      SUBROUTINE ALTGO(K, X, *, *)
      DOUBLE PRECISION X(3), Y(*)
      X(K) = 1
      RETURN K
      ENTRY ALTGO2(Y, K, *)
      DO 10 I = 1, K
      Y(I) = Y(I) + 1
      IF (Y(I) .GT. 9) RETURN 1
   10 CONTINUE
      Y(K - 1) = 0
      END
      SUBROUTINE ALTCAL(K, X)
      DOUBLE PRECISION X(3)
      CALL ALTGO(K, X, *10, *20)
      X(K + 1) = 3
   10 X(K + 2) = 4
   20 X(K - 1) = 5
      END
      SUBROUTINE ALTCLO(F, K, X, *)
      DOUBLE PRECISION X(*)
      EXTERNAL F
      CALL F(K, X(K))
      IF (K .EQ. 0) RETURN 1
      X(K) = X(K) + 1
      END
C     Closures that get COMPLEX and LOGICAL arrays.
      SUBROUTINE CLOSEZ(F, N, Z, V)
      COMPLEX*16 F, Z(N), V
      EXTERNAL F
      V = Z(INT(DBLE(F(Z, N))))
      Z(NINT(DIMAG(F(Z(N), 1)))) = V
      END
      SUBROUTINE CLOSEL(F, N, L, X)
      LOGICAL L(N)
      DOUBLE PRECISION X(*)
      EXTERNAL F
      CALL F(N, L, X(N))
      DO 10 I = 1, N
   10 IF (L(I)) X(I) = I
      END
C     To be differentiated: with an array of any size that a closure changes, COMPLEX numbers, an ENTRY point, an alternate
C     return, and masks.
      SUBROUTINE MIXSUM(F, N, X, W, LW, S)
      DOUBLE PRECISION X(N), W(LW), S
      EXTERNAL F
      CALL MIXSTP(F, N, X, W(2), S)
      END
      SUBROUTINE MIXSTP(F, N, X, W, S)
      DOUBLE PRECISION X(N), W(*), S
      EXTERNAL F
      S = 1
      DO 20 K = 1, 3
      CALL F(N, X, W)
      DO 10 I = 1, N
   10 S = S + W(I)*S*0.1D0
   20 CONTINUE
      END
      SUBROUTINE MIXCPX(N, M, X, Y, *)
      DOUBLE PRECISION X(N), Y(M), A(*)
      COMPLEX*16 Z(3)
      LOGICAL L(3)
      DO 10 I = 1, N
      Z(I) = DCMPLX(X(I), -X(N))**2
   10 L(I) = X(I) .GT. 0
      Y(M) = ABS(Z(N)*Z(1))
      IF (L(N)) RETURN 1
      Y(1) = DBLE(Z(1))
      RETURN
      ENTRY MIXENT(A, N, M, Y)
      Y(M) = A(N)*A(M)
      END
