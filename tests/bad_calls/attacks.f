C     Old features, used in ways that nobody intends.
C
C     Subscripts and elements that are selected by arrays.
      DOUBLE PRECISION FUNCTION PICKED(N, IDX, M, X)
      INTEGER IDX(N)
      DOUBLE PRECISION X(M)
      PICKED = SUM(X(IDX)) + X(IDX(1))
      END
      SUBROUTINE SPREDD(N, IDX, M, X)
      INTEGER IDX(N)
      DOUBLE PRECISION X(M)
      X(IDX) = 7
      END
      SUBROUTINE SELFIX(N, IDX)
      INTEGER IDX(N)
      IDX(IDX) = 1000000
      IDX(IDX) = 0
      END
      SUBROUTINE ROWS(N, K, M, A, B)
      INTEGER K(N)
      DOUBLE PRECISION A(M, *), B(N, 2)
      B = A(K, 2:3)
      A(K(1:N), 1) = A(K, 2) + B(:, 1)
      END
      SUBROUTINE CROSSD(N, K, M, A)
      INTEGER K(N)
      DOUBLE PRECISION A(M, M)
      A(K, K) = 5
      CALL SUMALL(N*N, A(K, K), A(1, 1))
      END
      SUBROUTINE SUMALL(N, X, S)
      DOUBLE PRECISION X(N), S
      DO 10 I = 1, N
   10 S = S + X(I)
      END
      SUBROUTINE CHOSEN(N, IDX, M, X, L, Y)
      INTEGER IDX(N)
      DOUBLE PRECISION X(M), Y(L)
      Y = X(IDX)
      END
      SUBROUTINE WIDEIX(N, IDX, M, X)
      INTEGER*8 IDX(N)
      DOUBLE PRECISION X(M)
      X(IDX) = 7
      END
      DOUBLE PRECISION FUNCTION FOLDED(N, M, X)
      DOUBLE PRECISION X(N)
      FOLDED = SUM(RESHAPE(X, (/M, M/)))
      END
      SUBROUTINE PACKV(N, M, X, Y)
      DOUBLE PRECISION X(N), Y(M)
      Y = PACK(X, X .GT. 0, Y)
      END
      SUBROUTINE UNPCKD(N, M, X, Y)
      DOUBLE PRECISION X(N), Y(M)
      Y = UNPACK(X, Y .GT. 0, Y)
      END
      DOUBLE PRECISION FUNCTION OUTERP(N, A, B)
      DOUBLE PRECISION A(N, 1), B(1, N)
      OUTERP = SUM(MATMUL(A, B))
      END
      DOUBLE PRECISION FUNCTION COLSUM(N, M, J, A)
      DOUBLE PRECISION A(N, M)
      COLSUM = SUM(A(:, J)) + SUM(A(2:, 1))
      END
      SUBROUTINE FOURS(N, S)
      CHARACTER*(*) S
      CALL FOUR(S(N:))
      CALL FOUR(S)
      END
      SUBROUTINE FOUR(S)
      CHARACTER*4 S
      S = 'ABCD'
      END
C     ENTRY points with other arguments.
      SUBROUTINE DOOR1(N, X)
      DOUBLE PRECISION X(N), Y(M)
      X(N) = 1
      RETURN
      ENTRY DOOR2(M, Y)
      Y(M) = 2
      RETURN
      ENTRY DOOR3(N, M, X, Y)
      X(M) = Y(N)
      END
C     A COMMON block of different sizes.
      SUBROUTINE WIDE(I, V)
      COMMON /ROOM/ A(4), B(6)
      DOUBLE PRECISION A, B, V
      A(I) = V
      V = B(I)
      END
      SUBROUTINE NARROW(I, V)
      COMMON /ROOM/ A(4)
      DOUBLE PRECISION A, V
      A(I) = V
      END
C     EQUIVALENCE that extends beyond an array.
      SUBROUTINE TIED(I, V)
      DOUBLE PRECISION A(4), B(4), V
      INTEGER K(8)
      EQUIVALENCE (A(3), B(1)), (B(4), K(1))
      A(I) = V
      K(I) = 3
      V = B(I)
      END
C     Loops with the largest trip counts.
      SUBROUTINE DOWN(I, J, K, X)
      DOUBLE PRECISION X(*)
      DO 10 L = I, J, K
   10 X(L) = 1
      END
      SUBROUTINE DOWN8(I, J, K, X)
      INTEGER*8 I, J, K, L
      DOUBLE PRECISION X(*)
      DO 10 L = I, J, K
   10 X(L) = 1
      END
      SUBROUTINE FRACDO(A, B, C, X)
      DOUBLE PRECISION X(*), A, B, C, T
      DO 10 T = A, B, C
   10 X(INT(T)) = 1
      END
C     Subscripts that overflow, or are no numbers.
      SUBROUTINE FLOWS(I, J, X)
      DOUBLE PRECISION X(*)
      X(I*J) = 1
      X(I + J) = X(I - J) + X(-I)
      END
      SUBROUTINE REALIX(T, X)
      DOUBLE PRECISION X(*), T
      X(INT(T)) = NINT(T)
      X(1 + MOD(INT(T*1D3), 5)) = 2
      END
      SUBROUTINE BITWIS(I, J, X)
      DOUBLE PRECISION X(*)
      X(ISHFT(1, I)) = IBSET(0, MOD(J, 32))
      X(IAND(I, J)) = IEOR(I, J)
      END
C     Substrings and texts without characters.
      SUBROUTINE CUTOUT(I, J, S, T)
      CHARACTER*(*) S, T
      T = S(I:J)
      S(J:I) = T
      END
      SUBROUTINE INITAL(I, S, K)
      CHARACTER*(*) S
      K = ICHAR(S(I:I)) + INDEX(S, ' ')
      S(K:K) = CHAR(K)
      END
      SUBROUTINE TABLE(I, J, S)
      CHARACTER*3 S(4)
      S(I)(J:J + 1) = 'AB'
      END
C     Internal files.
      SUBROUTINE TOTEXT(I, X, S)
      CHARACTER*(*) S
      WRITE (S, '(I10, F8.3)') I, X
      END
      SUBROUTINE TOROWS(N, X, S)
      CHARACTER*4 S(2)
      DOUBLE PRECISION X(*)
      WRITE (S, '(F4.1)') (X(I), I = 1, N)
      END
      SUBROUTINE FRTEXT(N, S, X)
      CHARACTER*(*) S
      DOUBLE PRECISION X(*)
      READ (S, *) (X(I), I = 1, N)
      END
      SUBROUTINE FRINDX(S, X)
      CHARACTER*(*) S
      DOUBLE PRECISION X(4)
      N = 0
      READ (S, *) N, X(N)
      END
      SUBROUTINE FRGRP(S, V)
      CHARACTER*(*) S
      DOUBLE PRECISION X(4), V
      CHARACTER*4 T
      NAMELIST /GROUP/ X, K, T
      X = 0
      K = 1
      READ (S, GROUP)
      V = X(K)
      END
C     Statement functions with arrays, and labels.
      SUBROUTINE STATEF(I, X, V)
      DOUBLE PRECISION X(*), V, F, G
      F(K) = X(K) + X(K + 1)
      G(K) = F(K)*X(1)
      V = G(I) + F(I + 1)
      END
      SUBROUTINE ALTER(K, *, *)
      IF (K .NE. 0) RETURN K
      END
      SUBROUTINE SWITCH(K, X)
      DOUBLE PRECISION X(3)
      GOTO (10, 20, 30), K
      K = -1
      RETURN
   10 X(K) = 1
   20 X(K + 1) = 2
   30 X(K + 2) = 3
      END
      SUBROUTINE UNSET(K, X)
      DOUBLE PRECISION X(3)
      IF (K .EQ. 1) ASSIGN 10 TO L
      GOTO L, (10, 20)
   20 X(1) = 2
   10 X(2) = 1
      END
C     Saved variables, set again by closures.
      SUBROUTINE SAVED(F, N, X)
      DOUBLE PRECISION X(*), W(4)
      EXTERNAL F
      SAVE W, K
      K = N
      CALL F(K)
      W(K) = 1
      X(K) = W(K)
      END
      DOUBLE PRECISION FUNCTION INSIDE(F, N, X)
      DOUBLE PRECISION X(*), F
      EXTERNAL F
      INSIDE = X(N)
      INSIDE = INSIDE + F(X(N)) + X(INT(F(X(N))))
      END
C     Files.
      SUBROUTINE UNITS(K)
      WRITE (K, *) 'X'
      END
      SUBROUTINE DIRECT(K, L)
      CHARACTER*8 T
      OPEN (88, STATUS='SCRATCH', ACCESS='DIRECT', RECL=L)
      WRITE (88, REC=K) 'ABCDEFGH'
      READ (88, REC=K + 1) T
      CLOSE (88)
      END
      SUBROUTINE OPENAS(S, T)
      CHARACTER*(*) S, T
      OPEN (89, FILE=S, STATUS=T)
      CLOSE (89)
      END
