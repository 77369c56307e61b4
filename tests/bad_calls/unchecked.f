C     Subprograms that cannot be checked, so that their functions are unsafe.
C
C     ALLOCATE.
      DOUBLE PRECISION FUNCTION HEAP(N, I)
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      ALLOCATE (W(N))
      W(I) = 2
      HEAP = W(I)
      END
      DOUBLE PRECISION FUNCTION HEAP2(L, N, M, I, J)
      DOUBLE PRECISION, ALLOCATABLE :: W(:, :)
      ALLOCATE (W(L:N, M))
      W(I, J) = 2
      HEAP2 = W(I, J)
      END
      DOUBLE PRECISION FUNCTION MAYBE(K, I)
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      IF (K .GT. 0) ALLOCATE (W(5))
      IF (K .GT. 1) DEALLOCATE (W)
      W(I) = 2
      MAYBE = W(I)
      END
      SUBROUTINE AGAIN(K)
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      DO 10 I = 1, K
   10 ALLOCATE (W(5))
      W(1) = 1
      END
      SUBROUTINE HANDED(K, N)
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      IF (K .GT. 0) ALLOCATE (W(5))
      CALL FILLN(N, W)
      END
      DOUBLE PRECISION FUNCTION WHOLEA(K)
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      IF (K .GT. 0) ALLOCATE (W(5))
      W = 1
      WHOLEA = SUM(W)
      END
      DOUBLE PRECISION FUNCTION KEPT(N, I)
      DOUBLE PRECISION, ALLOCATABLE, SAVE :: W(:)
      IF (N .GT. 0) ALLOCATE (W(N))
      IF (N .LT. 0) DEALLOCATE (W)
      W(I) = 3
      KEPT = W(I)
      END
C     A closure, or what is called, could free an array that is in use.
      SUBROUTINE FREEDF(F, N, V)
      DOUBLE PRECISION, ALLOCATABLE, SAVE :: W(:)
      EXTERNAL F
      IF (N .GT. 0) ALLOCATE (W(N))
      IF (N .LT. 0) DEALLOCATE (W)
      CALL F(N)
      IF (N .GT. 0) W(N) = 3
      END
      SUBROUTINE FREEDR(N, V)
      DOUBLE PRECISION, ALLOCATABLE, SAVE :: W(:)
      IF (N .EQ. 0) DEALLOCATE (W)
      IF (N .EQ. 0) RETURN
      IF (N .EQ. 2) ALLOCATE (W(4000))
      CALL FREEDS(N - 1, V)
      W(N) = V
      END
      SUBROUTINE FREEDS(N, V)
      CALL FREEDR(N, V)
      END
C     The length of the text that is the format is not constant.
      SUBROUTINE FMTFUN(N, X, T)
      CHARACTER T*40, FMTLEN*(N)
      WRITE (T, FMTLEN(N)) X
      END
      CHARACTER*(N) FUNCTION FMTLEN(N)
      FMTLEN = '(F8.3)'
      END
C     Arrays in expressions whose shapes do not agree.
      SUBROUTINE SHAPED(N, M, X, Y)
      DOUBLE PRECISION X(N), Y(M)
      X = Y
      END
      SUBROUTINE SLICED(I, J, K, X, Y)
      DOUBLE PRECISION X(*), Y(*)
      X(I:J) = Y(K:K + J - I) + X(I:J)
      END
      SUBROUTINE MASKED(N, M, Q, X)
      DOUBLE PRECISION X(N)
      LOGICAL Q(M)
      WHERE (Q) X = 1
      END
      DOUBLE PRECISION FUNCTION DOTTED(N, M, X, Y)
      DOUBLE PRECISION X(N), Y(M)
      DOTTED = DOT_PRODUCT(X, Y)
      END
      SUBROUTINE PRODCT(N, M, K, A, B, C)
      DOUBLE PRECISION A(N, M), B(M, K), C(N, N)
      C = MATMUL(A, B)
      END
      SUBROUTINE VECTOR(N, IDX, X)
      INTEGER IDX(N)
      DOUBLE PRECISION X(*)
      X(IDX) = 1
      END
      DOUBLE PRECISION FUNCTION GATHER(N, IDX, X)
      INTEGER IDX(N)
      DOUBLE PRECISION X(*)
      GATHER = SUM(X(IDX))
      END
      SUBROUTINE TURNED(N, M, A, B)
      DOUBLE PRECISION A(N, M), B(N, M)
      B = TRANSPOSE(A)
      END
      SUBROUTINE FORMED(N, M, X, A)
      DOUBLE PRECISION X(N), A(M, M)
      A = RESHAPE(X, (/M, M/))
      END
      SUBROUTINE PACKED(N, M, X, Y)
      DOUBLE PRECISION X(N), Y(M)
      Y = PACK(X, X .GT. 0)
      END
      SUBROUTINE PIECES(N, S)
      CHARACTER*(*) S
      CALL PIECE4(S(N:))
      END
      SUBROUTINE ZEROST(N, K, X)
      DOUBLE PRECISION X(N)
      X(1:N:K) = 1
      END
      DOUBLE PRECISION FUNCTION SQSUM(N, X)
      DOUBLE PRECISION X(N)
      SQSUM = SUM(MATMUL(RESHAPE(X, (/1, N/)), RESHAPE(X, (/N, 1/))))
      END
C     The masks of WHERE.
      SUBROUTINE MASKS(N, M, Q, P, X)
      DOUBLE PRECISION X(N)
      LOGICAL Q(N), P(M)
      WHERE (Q)
        X = 1
      ELSEWHERE (P)
        X = 2
      END WHERE
      END
C     Functions whose results have other shapes than their arguments.
      SUBROUTINE INNERD(N, M, A, B, C)
      DOUBLE PRECISION A(N, M), B(N, M), C(N, M)
      C = MATMUL(A, B)
      END
      SUBROUTINE FEWER(N, X, Y)
      DOUBLE PRECISION X(N), Y(N)
      Y = PACK(X, X .GT. 0)
      END
      SUBROUTINE LOCATE(N, K, L)
      INTEGER K(N), L(N)
      L = MINLOC(K)
      END
C     N is not the bound of Y any more.
      SUBROUTINE LATER(N, X, Y)
      DOUBLE PRECISION X(*), Y(N)
      N = N + 5
      X(1:N) = Y
      END
      SUBROUTINE LATERC(X, Y)
      COMMON /SIZE/ M
      DOUBLE PRECISION X(*), Y(M)
      CALL SETM(M + 5)
      X(1:M) = Y
      END
C     What gfortran's library demands of its arguments.
      INTEGER FUNCTION TRIMMD(S)
      CHARACTER*(*) S
      TRIMMD = ICHAR(TRIM(S))
      END
      INTEGER FUNCTION COPIES(S, N)
      CHARACTER*(*) S
      COPIES = INDEX(REPEAT(S, N), 'Z')
      END
      INTEGER FUNCTION SIZED(K, A)
      DIMENSION A(2, 3)
      SIZED = SIZE(A, K)
      END
      INTEGER FUNCTION LOWER(K, A)
      DIMENSION A(2, 3)
      LOWER = LBOUND(A, DIM=K)
      END
      SUBROUTINE SHIFTS(N, K, A)
      DIMENSION A(N, N)
      A = CSHIFT(A, 1, K)
      END
      REAL FUNCTION ALONG(N, K, A)
      DIMENSION A(N, N)
      ALONG = MAXVAL(SUM(A, K))
      END
      SUBROUTINE CLOCK(N, K)
      INTEGER K(N)
      CALL DATE_AND_TIME(VALUES=K)
      END
      REAL FUNCTION SERIES(N)
      SERIES = SUM((/ (REAL(I), I = 1, N) /))
      END
C     These can be checked.
      SUBROUTINE SQUARES(N, A, B, C)
      DOUBLE PRECISION A(N, N), B(N, N), C(N, N)
      C = MATMUL(A, TRANSPOSE(B)) + SUM(A)
      WHERE (C .LT. 0) C = CSHIFT(A, 1)
      END
      SUBROUTINE OBLONG(N, M, A, B, C, X)
      DOUBLE PRECISION A(M, N), B(N, M), C(M, M), X(N)
      C = MATMUL(A, B)
      B = TRANSPOSE(A)
      X = MATMUL(B, C(1:M, 1))
      END
      INTEGER FUNCTION MANY(S, N, A)
      CHARACTER S*8
      INTEGER K(8)
      DIMENSION A(N, N)
      CALL DATE_AND_TIME(VALUES=K)
      MANY = ICHAR(S(1:1)) + ICHAR(S(N:N)) + SIZE(A, 2) + K(1)
      IF (ALL(SUM(A, DIM=1) .GT. 0)) MANY = MANY + LEN(REPEAT(S, 3))
      MANY = MANY + SUM((/ (I**2, I = 1, 9) /))
      END
