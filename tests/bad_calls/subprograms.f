C     Subprograms for wrong calls, of every kind that arrays.f does not have.
C
C     Adjustable arrays that change their bounds.
      SUBROUTINE GROWN(N, X)
      DOUBLE PRECISION X(N)
      N = N + 100
      X(N) = 1
      END
      SUBROUTINE WIDER(LDA, N, A)
      DOUBLE PRECISION A(LDA, N)
      LDA = 1000
      DO 10 J = 1, N
   10 A(1, J) = A(LDA, J)
      END
      SUBROUTINE RELEND(N, X)
      DOUBLE PRECISION X(N)
      M = N
      N = 2*N
      CALL FILLN(N, X)
      N = M
      END
      SUBROUTINE FILLN(N, X)
      DOUBLE PRECISION X(N)
      DO 10 I = 1, N
   10 X(I) = I
      END
C     A bound in COMMON, which a closure can change.
      SUBROUTINE BOUND(F, X)
      EXTERNAL F
      COMMON /SIZE/ M
      DOUBLE PRECISION X(*)
      DO 10 I = 1, M
        CALL F(I)
        X(I + M) = I
   10 CONTINUE
      END
      SUBROUTINE SETM(K)
      COMMON /SIZE/ M
      M = K
      END
      SUBROUTINE ADJCOM(F, X)
      EXTERNAL F
      COMMON /SIZE/ M
      DOUBLE PRECISION X(M)
      CALL F(M)
      X(M) = 7
      END
C     A loop variable in COMMON, an index in COMMON, an index array that changes.
      SUBROUTINE COUNTR(F, X, N)
      EXTERNAL F
      COMMON /COUNT/ I
      DOUBLE PRECISION X(*)
      DO 10 I = 1, N
        CALL F((N))
        X(I) = 1
   10 CONTINUE
      END
      SUBROUTINE SETI(K)
      COMMON /COUNT/ I
      I = K
      END
      SUBROUTINE CHASE(N, IDX)
      INTEGER IDX(*)
      DO 10 I = 1, N
   10 IDX(IDX(I)) = IDX(I)*100
      END
      SUBROUTINE SWAPS(F, N, IDX, X)
      EXTERNAL F
      INTEGER IDX(N)
      DOUBLE PRECISION X(N)
      DO 10 I = 1, N
        CALL F(IDX, X)
        X(IDX(I)) = I
   10 CONTINUE
      END
C     Subscripts that are too large for their types.
      SUBROUTINE LONG(I, X)
      INTEGER*8 I
      DOUBLE PRECISION X(*)
      X(I) = 1
      END
      SUBROUTINE TINY(I, X)
      INTEGER*1 I
      DOUBLE PRECISION X(*)
      X(I + 100) = 1
      END
      SUBROUTINE TWICED(I, X)
      DOUBLE PRECISION X(*)
      X(2*I) = 1
      END
      SUBROUTINE SUMMED(I, J, X)
      DOUBLE PRECISION X(*)
      X(I + J) = 1
      END
      SUBROUTINE ROWCOL(I, J, LD, X)
      DOUBLE PRECISION X(*)
      X(I + (J - 1)*LD) = 1
      END
      SUBROUTINE TAIL(N, X)
      DOUBLE PRECISION X(*)
      DO 10 I = N, N + 5
   10 X(I) = 1
      END
      SUBROUTINE FLOATS(R, X)
      DOUBLE PRECISION X(*), R
      X(INT(R)) = 1
      END
C     Products of bounds that no 32 bits hold.
      SUBROUTINE CORNER(N, M, A)
      DOUBLE PRECISION A(N, M)
      A(N, M) = 1
      END
      SUBROUTINE CUBE(N, A)
      DOUBLE PRECISION A(N, N, N)
      A(1, 1, 1) = 1
      END
      SUBROUTINE OPENED(N, A, I, J)
      DOUBLE PRECISION A(N, *)
      A(I, J) = 1
      END
      SUBROUTINE SHIFTD(L, K, A, I)
      DOUBLE PRECISION A(L:K)
      A(I) = 1
      END
      DOUBLE PRECISION FUNCTION ROOM2(N, M, I, J)
      DOUBLE PRECISION W(N, M)
      W(I, J) = 1
      ROOM2 = W(I, J)
      END
C     A work array in pieces, whose sizes and starts the caller gives.
      SUBROUTINE CARVE(N, IP, W, LW)
      INTEGER IP(*)
      DOUBLE PRECISION W(LW)
      DO 10 K = 1, N
   10 CALL PIECE(IP(K + 1) - IP(K), W(IP(K)))
      END
      SUBROUTINE PIECE(N, P)
      DOUBLE PRECISION P(N)
      DO 10 I = 1, N
   10 P(I) = I
      END
      SUBROUTINE MIXED(N, W, LW)
      DOUBLE PRECISION W(LW)
      CALL MIXED2(N, W(1), W(N + 1), W(N + N/2 + 1))
      END
      SUBROUTINE MIXED2(N, A, K, C)
      DOUBLE PRECISION A(N)
      INTEGER K(N)
      COMPLEX*16 C(N)
      DO 10 I = 1, N
        A(I) = I
        K(I) = I
   10 C(I) = I
      END
C     Scalars and columns that become arrays.
      SUBROUTINE SCALAR(N, X)
      DOUBLE PRECISION X
      CALL FILLN(N, X)
      END
      SUBROUTINE COLUMN(N, J, LDA, A)
      DOUBLE PRECISION A(LDA, *)
      CALL FILLN(N, A(1, J))
      END
      SUBROUTINE LOCALS(N)
      DOUBLE PRECISION T(4), V(4)
      T(1) = 0
      CALL FILLN(N, T)
      CALL FILLN(N, V)
      END
      SUBROUTINE SHARED(N)
      COMMON /FIRST/ A(3)
      COMMON /SECOND/ B(3)
      DOUBLE PRECISION A, B
      B(1) = 0
      CALL FILLN(N, A)
      END
      SUBROUTINE ALIKE(I)
      DIMENSION A(4), B(6)
      EQUIVALENCE (A(3), B(1))
      A(I) = 1
      B(I - 2) = 2
      END
      SUBROUTINE FREED(K)
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      ALLOCATE (W(5))
      DO 10 I = 1, K
   10 DEALLOCATE (W)
      END
C     Jumps.
      INTEGER FUNCTION CHOOSE(K, X)
      INTEGER X(3)
      GOTO (10, 20, 30), K
      CHOOSE = 0
      RETURN
   10 CHOOSE = X(K)
      RETURN
   20 CHOOSE = X(K + 1)
      RETURN
   30 CHOOSE = X(K + 2)
      END
      SUBROUTINE WAYS(K, X, *, *)
      DOUBLE PRECISION X(2)
      X(MAX(K, 1)) = 1
      RETURN K
      END
      SUBROUTINE JUMPS(K, N)
      COMMON /LABELS/ L
      IF (K .GT. 0) ASSIGN 10 TO L
      GOTO L
   10 N = 1
      END
      SUBROUTINE SETL(K)
      COMMON /LABELS/ L
      L = K
      END
C     Loops that a compiler may count in advance.
      SUBROUTINE NESTS(N, M, K, X)
      DOUBLE PRECISION X(*)
      DO 10 I = 1, N
        DO 10 J = 1, M
          DO 10 L = 1, K
   10 X(I + N*(J - 1 + M*(L - 1))) = 1
      END
      SUBROUTINE STRIDE(L, N, K, X)
      DOUBLE PRECISION X(*)
      DO 10 I = L, N, K
   10 X(I) = 1
      END
      SUBROUTINE INNERN(N, X)
      DOUBLE PRECISION X(*)
      DO 20 I = 1, N
        DO 10 J = I, 2*I
   10   X(J) = J
   20 CONTINUE
      END
      SUBROUTINE WHILES(N, X)
      DOUBLE PRECISION X(*)
      I = N
      DO WHILE (I .GT. -5)
        X(I) = 1
        I = I - 1
      END DO
      END
      SUBROUTINE REALDO(A, B, X)
      DOUBLE PRECISION X(*)
      DO 10 R = A, B, 0.5
   10 X(INT(R)) = R
      END
      SUBROUTINE BYREF(N, X)
      DOUBLE PRECISION X(*)
      DO 10 I = 1, N
   10 CALL STEPUP(I, X)
      END
      SUBROUTINE STEPUP(I, X)
      DOUBLE PRECISION X(*)
      X(I*I) = I
      END
C     Characters.
      SUBROUTINE STAMP(S, I, J)
      CHARACTER*(*) S
      S(I:J) = 'XYZ'
      END
      SUBROUTINE FIXEDS(S, I)
      CHARACTER*8 S
      S(I:I) = 'X'
      END
      INTEGER FUNCTION CODE(S)
      CHARACTER*(*) S
      CODE = ICHAR(S(1:1))
      END
      SUBROUTINE NAMES(N, S, I, J, K)
      CHARACTER*4 S(N)
      S(I)(J:K) = '????'
      END
      SUBROUTINE LIST(T, I)
      CHARACTER*3 T(4), S(4)
      DO 10 K = 1, 4
   10 S(K) = 'ABC'
      T(1) = S(I)
      END
      SUBROUTINE PIECE4(T)
      CHARACTER*4 T
      T = 'QRST'
      END
C     Input and output.
      SUBROUTINE FORMAT(F, X, T)
      CHARACTER F*(*), T*20
      WRITE (T, F) X
      END
      SUBROUTINE SHORT(N, T)
      CHARACTER T*4
      WRITE (T, '(10I3)') (I, I = 1, N)
      END
      SUBROUTINE UNIT(K)
      WRITE (K, '(A)') 'X'
      END
      SUBROUTINE REWNDS(K)
      READ (K, *) X
      END
      SUBROUTINE RECORD(K, I)
      OPEN (K, STATUS='SCRATCH', ACCESS='DIRECT', RECL=8)
      WRITE (K, REC=I) 1D0
      CLOSE (K)
      END
      SUBROUTINE FILED(S)
      CHARACTER*(*) S
      OPEN (31, FILE=S, STATUS='OLD')
      CLOSE (31)
      END
      SUBROUTINE READS(S, N, X)
      CHARACTER*(*) S
      DOUBLE PRECISION X(N)
      READ (S, *) X
      END
      SUBROUTINE READK(S, K, X)
      CHARACTER*(*) S
      DOUBLE PRECISION X(4)
      I = 1
      READ (S, *) I, X(I), X(K)
      END
C     What ends a call.
      SUBROUTINE STOPS(N, X)
      DOUBLE PRECISION X(*)
      DO 10 I = 1, N
        IF (X(I) .LT. 0) STOP 3
   10 CONTINUE
      END
      INTEGER FUNCTION DIVIDE(I, J)
      DIVIDE = I/J
      END
      INTEGER FUNCTION RAISED(I, J)
      RAISED = I**J
      END
C     Closures.
      DOUBLE PRECISION FUNCTION EVAL(F, X)
      DOUBLE PRECISION F, X
      EXTERNAL F
      EVAL = F(X)
      END
      SUBROUTINE APPLY(F, N, X, K)
      EXTERNAL F
      INTEGER K(N)
      DOUBLE PRECISION X(N)
      CALL F(N, X, K)
      DO 10 I = 1, N
   10 X(K(I)) = I
      END
      SUBROUTINE APPLY2(F, N, M, X)
      EXTERNAL F
      DOUBLE PRECISION X(*)
      CALL F(X(N), X(M))
      END
      SUBROUTINE LENT(F, N, X)
      EXTERNAL F
      DOUBLE PRECISION X(N)
      K = N
      CALL F(K)
      X(K) = 1
      CALL SLICE(F, K, X)
      END
      SUBROUTINE SLICE(F, K, X)
      EXTERNAL F
      DOUBLE PRECISION X(K)
      CALL F(K)
      X(K) = 2
      END
      SUBROUTINE COMMOD(F, N)
      EXTERNAL F
      COMMON /POOL/ K(4), P(4)
      DO 10 I = 1, 4
   10 K(I) = I
      CALL F(K, N)
      DO 20 I = 1, N
   20 P(K(I)) = I
      END
      SUBROUTINE PICK(F, N, X)
      LOGICAL F
      EXTERNAL F
      DOUBLE PRECISION X(*)
      I = 1
   10 IF (F(I, X(I))) RETURN
      I = I + N
      GOTO 10
      END
      SUBROUTINE INDEXF(KF, N, X)
      EXTERNAL KF
      INTEGER KF
      DOUBLE PRECISION X(*)
      DO 10 I = 1, N
   10 X(KF(I)) = I
      END
      SUBROUTINE LOOPF(KF, X)
      EXTERNAL KF
      INTEGER KF
      DOUBLE PRECISION X(*)
      DO 10 I = KF(1), KF(2), KF(3)
   10 X(I) = I
      END
      SUBROUTINE PRINTF(F, N, X)
      DOUBLE PRECISION F, X(*)
      EXTERNAL F
      WRITE (78, *) (F(X(I)), I = 1, N)
      REWIND (78)
      END
C     State of several threads, and a large local array.
      SUBROUTINE TALLY(N, X)
      DOUBLE PRECISION X(*)
      COMMON /SUMS/ S(8), K
      DOUBLE PRECISION S
      DO 10 K = 1, N
   10 S(K) = X(K)
      END
      DOUBLE PRECISION FUNCTION LARGE(N, I)
      DOUBLE PRECISION T(1000000)
      DO 10 K = 1, N
   10 T(K) = K
      LARGE = T(I)
      END
      DOUBLE PRECISION FUNCTION AUTOS(N, I)
      DOUBLE PRECISION T(N)
      DO 10 K = 1, N
   10 T(K) = K
      AUTOS = T(I)
      END
C     ENTRY.
      SUBROUTINE OPENS(N, X)
      DIMENSION X(N), Y(*)
      COMMON /SAVED/ L
      X(N) = 1
      L = N
      RETURN
      ENTRY SHUTS(M, Y)
      Y(M) = L
      Y(L) = M
      END
      FUNCTION FIRSTS(X, N)
      DIMENSION X(0:N)
      ENTRY SECNDS(X, N)
      SECNDS = X(N)
      END
C     N is a variable in COMMON, which the closure changes.
      SUBROUTINE ALIASD(F, X)
      EXTERNAL F
      COMMON /SIZE/ M
      DOUBLE PRECISION X(*)
      CALL ALIAS2(F, M, X)
      END
      SUBROUTINE ALIAS2(F, N, X)
      EXTERNAL F
      DOUBLE PRECISION X(*)
      DO 10 I = 1, 2
        CALL F(I)
   10 X(I + N - 2) = I
      END
C     The first character of what may be empty.
      INTEGER FUNCTION FIRSTC(S)
      CHARACTER*(*) S
      FIRSTC = ICHAR(S)
      END
      INTEGER FUNCTION ASCII(S, I, J)
      CHARACTER*(*) S
      ASCII = IACHAR(S(I:J))
      END
