C     Sizes that no integer holds, shapes that differ, calls that never end, and old ways to name storage.
C
      SUBROUTINE CUBEZ(N, X)
      DIMENSION X(*)
      CALL CUBEY(N, X)
      END
      SUBROUTINE CUBEY(N, A)
      DIMENSION A(N, N, N)
      A = 0
      END
      SUBROUTINE QUADZ(N, M, K, L, X)
      DIMENSION X(*)
      CALL QUADY(N, M, K, L, X)
      END
      SUBROUTINE QUADY(N, M, K, L, A)
      DIMENSION A(N, N, M, *)
      A(1, 1, K, L) = 1
      END
      SUBROUTINE LONGB(L, K, X)
      INTEGER*8 L, K
      DIMENSION X(*)
      CALL LONGC(L, K, X)
      END
      SUBROUTINE LONGC(L, K, A)
      INTEGER*8 L, K
      DIMENSION A(L:K)
      A = 0
      END
      SUBROUTINE AUTOC(N, M, I, V)
      INTEGER*8 N, M, I
      CHARACTER*(N) S(M)
      S(I) = 'ABC'
      V = ICHAR(S(I)(1:1))
      END
      SUBROUTINE AUTOD(N, M, I, V)
      CHARACTER*(N) S(M)
      S(I) = 'ABC'
      V = ICHAR(S(I)(1:1))
      END
C     Calls without end.
      SUBROUTINE RECUR1(N)
      DIMENSION X(100)
      IF (N .EQ. 0) RETURN
      X(1) = N
      CALL RECUR2(N - 1, X)
      N = X(1)
      END
      SUBROUTINE RECUR2(N, X)
      DIMENSION X(*), Y(1000)
      X(1) = X(1) + 1
      Y(1) = X(1)
      IF (N .NE. 0) CALL RECUR1(N)
      X(1) = Y(1)
      END
      RECURSIVE INTEGER FUNCTION DESCND(N) RESULT(K)
      K = 0
      IF (N .NE. 0) K = DESCND(N - 1) + 1
      END
C     Shapes.
      SUBROUTINE RESIZE(N, M, X, Y, I, V)
      DOUBLE PRECISION X(N), Y(M), V
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      W = X
      W = W + 1
      IF (M .GT. 0) W = Y
      V = W(I)
      END
      SUBROUTINE RESIZL(N, X, I, V)
      DOUBLE PRECISION X(N), V
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      V = 0
      DO 10 K = 1, N
        W = X(K:N)
        DO 20 J = 1, I
   20   V = V + W(J)
   10 CONTINUE
      END
      SUBROUTINE UNTIL(N, M, X, Y)
      DOUBLE PRECISION X(N), Y(M)
      DO WHILE (DOT_PRODUCT(X(1:N), Y(1:N)) .LT. 10)
        X = X + 1
        N = N + 1
      END DO
      END
C     ENTRY, alternate returns, jumps.
      SUBROUTINE ENTA(N, X)
      DIMENSION X(N)
      X(1) = N
      RETURN
      ENTRY ENTB(X)
      X(2) = 1
      END
      SUBROUTINE ALTRET(K, *, *)
      RETURN K
      END
      SUBROUTINE ALTUSE(K, N, X)
      DIMENSION X(2)
      CALL ALTRET(K, *10, *20)
      GOTO (10, 20), N
      X(N) = 0
      RETURN
   10 X(K) = 1
      RETURN
   20 X(N) = 2
      END
      SUBROUTINE ASSGO(K, N)
      ASSIGN 10 TO L
      IF (K .NE. 0) L = K
      GOTO L, (10, 20)
   10 N = 1
      RETURN
   20 N = 2
      END
C     Storage with several names.
      SUBROUTINE EQUIV(I, J, X)
      DOUBLE PRECISION X, D(4)
      INTEGER K(8)
      CHARACTER*32 C
      EQUIVALENCE (D(1), K(1)), (K(2), C)
      K(I) = 5
      C(J:J) = 'X'
      X = D(2)
      END
      SUBROUTINE COMA(I, V)
      COMMON /LEN/ A(10)
      A(I) = V
      END
      SUBROUTINE COMB(I, V)
      COMMON /LEN/ A(4), B(3)
      B(I) = V
      END
      SUBROUTINE COMC(I)
      CHARACTER C*40
      COMMON /LEN/ C
      C(I:I + 1) = 'AB'
      END
      BLOCK DATA LENGTH
      COMMON /LEN/ A(10)
      DATA (A(I), I = 1, 9, 2), A(10) /6*0.0/
      END
C     Arithmetic in subscripts.
      SUBROUTINE MULOVF(I, J, X)
      DIMENSION X(*)
      X(I*J) = 1
      END
      SUBROUTINE SHORTI(I, X)
      INTEGER*2 I
      DIMENSION X(*)
      X(I*I) = 1
      END
      SUBROUTINE BITS(I, J, X)
      DIMENSION X(*)
      X(ISHFT(I, J)) = 1
      END
      SUBROUTINE LOGSUB(L, X)
      LOGICAL*1 L
      DIMENSION X(2)
      I = 1
      IF (L) I = 3
      X(I) = 1
      END
      SUBROUTINE TINYDO(N, X)
      INTEGER*1 I
      DIMENSION X(*)
      DO 10 I = 1, N
   10 X(I) = 1
      END
      SUBROUTINE MODDO(N, X)
      DIMENSION X(*)
      DO 10 I = 1, N
        CALL MODDO2(I)
   10 X(I) = 1
      END
      SUBROUTINE MODDO2(I)
      I = I + 1000
      END
      SUBROUTINE MAXL(N, X, Y)
      DIMENSION X(N), Y(2)
      Y(MAXLOC(X, DIM=1)) = 1
      END
C     Statement functions, and texts.
      SUBROUTINE STFN(I, N, X, V)
      DIMENSION X(N)
      SF(K) = X(K) + X(K + 1)
      V = SF(I)
      END
      SUBROUTINE STFN2(S, I, K)
      CHARACTER*(*) S
      CHARACTER*1 CH
      CH(L) = S(L:L)
      K = ICHAR(CH(I))
      END
      SUBROUTINE SUBSTR(S, I, J, T)
      CHARACTER*(*) S, T
      T = S(I:J)//S(J:I)
      END
      SUBROUTINE GROWC(N, T)
      CHARACTER*(*) T
      CHARACTER*10 U
      U = T
      T = U(N:)//U(:N)
      END
C     A constant is passed to what sets it; STOP in a closure.
      SUBROUTINE SETV(I, X)
      DIMENSION X(2)
      I = 77
      X(I) = 1
      END
      SUBROUTINE SETLIT(X)
      DIMENSION X(2)
      CALL SETV(1, X)
      END
      SUBROUTINE STOPF(F)
      EXTERNAL F
      CALL F(1)
      STOP 7
      END
