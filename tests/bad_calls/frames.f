C     Subprograms that need much of the stack.
C
C     Ten arrays of 60 KB.
      SUBROUTINE BROAD(X, N)
      DOUBLE PRECISION X
      DOUBLE PRECISION A(7500)
      DOUBLE PRECISION B(7500)
      DOUBLE PRECISION C(7500)
      DOUBLE PRECISION D(7500)
      DOUBLE PRECISION E(7500)
      DOUBLE PRECISION F(7500)
      DOUBLE PRECISION G(7500)
      DOUBLE PRECISION H(7500)
      DOUBLE PRECISION P(7500)
      DOUBLE PRECISION Q(7500)
      DO 10 I = 1, N
      A(I) = X*I + 0
      B(I) = X*I + 1
      C(I) = X*I + 2
      D(I) = X*I + 3
      E(I) = X*I + 4
      F(I) = X*I + 5
      G(I) = X*I + 6
      H(I) = X*I + 7
      P(I) = X*I + 8
      Q(I) = X*I + 9
   10 CONTINUE
      X = A(N) + B(N) + C(N) + D(N) + E(N)
     +  + F(N) + G(N) + H(N) + P(N) + Q(N)
      END
C     A chain of calls, each with 30 KB; derivatives have twice as much.
      DOUBLE PRECISION FUNCTION TOWER(X, N)
      DOUBLE PRECISION X, Y
      Y = X
      CALL LINK0(Y, N)
      TOWER = Y
      END
      SUBROUTINE LINK0(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK1(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK1(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK2(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK2(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK3(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK3(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK4(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK4(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK5(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK5(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK6(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK6(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK7(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK7(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK8(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK8(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK9(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK9(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK10(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK10(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      CALL LINK11(A(N), N)
      X = A(1)*A(N)
      END
      SUBROUTINE LINK11(X, N)
      DOUBLE PRECISION X, A(3800)
      A(1) = X
      DO 10 I = 2, N
   10 A(I) = SIN(A(I - 1)) + X
      X = A(1)*A(N)
      END
C     Large arrays of RECURSIVE subprograms are not static.
      RECURSIVE SUBROUTINE DIVE(X, N, K)
      DOUBLE PRECISION A(100000), B(7000), X
      A(N) = X
      B(1) = X
      IF (K .NE. 1) CALL DIVE(A(N), N, K - 1)
      X = A(N) + B(1)
      END
      DOUBLE PRECISION FUNCTION PLUNGE(X, K)
      DOUBLE PRECISION X, Y
      Y = X
      CALL PLUNG1(Y, K)
      PLUNGE = Y
      END
      RECURSIVE SUBROUTINE PLUNG1(X, K)
      DOUBLE PRECISION A(2000), X
      A(1) = X
      DO 10 I = 2, 2000
   10 A(I) = SIN(A(I - 1))*X
      IF (K .NE. 0) CALL PLUNG1(A(2000), K - 1)
      X = A(2000)*X + A(3)
      END
C     A subprogram that calls itself by way of a chain with arrays.
      RECURSIVE SUBROUTINE SPIRAL(X, N, K)
      DOUBLE PRECISION X
      CALL LINK4(X, N)
      IF (K .NE. 0) CALL SPIRAL(X, N, K - 1)
      END
C     Temporaries of 51 KB, and for texts.
      SUBROUTINE SCRATC(A, B, X)
      DOUBLE PRECISION A(80, 80), B(80, 80), C(80, 80), X
      COMMON /SCRATC/ C
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      A = MATMUL(B, A)/80
      C = MATMUL(TRANSPOSE(B), A)/80
      X = C(3, 4) + A(1, 1)
      END
      INTEGER FUNCTION LONGER(S)
      CHARACTER*(*) S
      CHARACTER*60000 C, DOUBLD
      C = S
      C = DOUBLD(C) // DOUBLD(S // C)
      LONGER = LEN_TRIM(DOUBLD(C // DOUBLD(C)))
      END
      CHARACTER*60000 FUNCTION DOUBLD(S)
      CHARACTER*(*) S
      DOUBLD = S
      DOUBLD(1:1) = 'X'
      END
C     On the heap, whatever the size.
      INTEGER FUNCTION TEXTN(N, S)
      INTEGER*8 N
      CHARACTER*(*) S
      CHARACTER*(N) T
      T = S
      TEXTN = LEN_TRIM(T) + 1000*LEN(T)
      END
