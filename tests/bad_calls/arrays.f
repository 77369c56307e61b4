C     Subprograms that leave an array if they are called wrongly.
C
C     The sum of N elements, of which the declaration does not say how many there are.
      DOUBLE PRECISION FUNCTION SUMUP(N, X)
      DOUBLE PRECISION X(*)
      SUMUP = 0
      DO 10 I = 1, N
   10 SUMUP = SUMUP + X(I)
      END
C     The same, as old programs write it.
      DOUBLE PRECISION FUNCTION OLDSUM(N, X)
      DOUBLE PRECISION X(1)
      OLDSUM = 0
      DO 10 I = 1, N
   10 OLDSUM = OLDSUM + X(I)
      END
C     Backwards, and with a step.
      DOUBLE PRECISION FUNCTION BACK(N, K, X)
      DOUBLE PRECISION X(*)
      BACK = 0
      DO 10 I = N, 1, -2
   10 BACK = BACK + X(I + K)
      END
C     With a step that is not known.
      DOUBLE PRECISION FUNCTION DOT(N, X, INCX, Y, INCY)
      DOUBLE PRECISION X(*), Y(*)
      DOT = 0
      IX = 1
      IY = 1
      IF (INCX .LT. 0) IX = 1 - (N - 1)*INCX
      IF (INCY .LT. 0) IY = 1 - (N - 1)*INCY
      DO 10 I = 1, N
        DOT = DOT + X(IX)*Y(IY)
        IX = IX + INCX
        IY = IY + INCY
   10 CONTINUE
      END
C     One element, by a subscript that is an argument.
      SUBROUTINE SETONE(N, X, I, V)
      DOUBLE PRECISION X(N), V
      X(I) = V
      END
C     Through an index array.
      SUBROUTINE SCATTR(N, M, IDX, V, X)
      INTEGER IDX(N)
      DOUBLE PRECISION V(N), X(M)
      DO 10 I = 1, N
   10 X(IDX(I)) = V(I)
      END
C     More rows than the leading dimension has.
      SUBROUTINE SCALEM(M, N, A, LDA, S)
      DOUBLE PRECISION A(LDA, N), S
      DO 20 J = 1, N
        DO 10 I = 1, M
          A(I, J) = S*A(I, J)
   10   CONTINUE
   20 CONTINUE
      END
C     The last dimension is open.
      SUBROUTINE FILLM(M, N, A, LDA, S)
      DOUBLE PRECISION A(LDA, *), S
      DO 20 J = 1, N
        DO 10 I = 1, M
   10   A(I, J) = S
   20 CONTINUE
      END
C     Bounds from zero and below.
      SUBROUTINE BELOW(N, A, I, J, K)
      DOUBLE PRECISION A(0:N, -1:1, N)
      A(I, J, K) = 7
      END
C     A COMMON array with an argument as bound.
      SUBROUTINE PUTC(N, V)
      COMMON /STORE/ W(10), LAST
      DO 10 I = 1, N
   10 W(I) = V
      LAST = N
      END
      FUNCTION GETC(I)
      COMMON /STORE/ W(10), LAST
      GETC = W(I)
      END
C     A local array.
      FUNCTION LOCAL(I)
      DIMENSION T(8)
      DO 10 K = 1, 8
   10 T(K) = K
      LOCAL = T(I)
      END
C     An automatic one.
      DOUBLE PRECISION FUNCTION AUTO(N, I)
      DOUBLE PRECISION T(N, 3)
      DO 20 K = 1, 3
        DO 10 J = 1, N
   10   T(J, K) = J
   20 CONTINUE
      AUTO = T(I, 3)
      END
C     A piece of a workspace, cut too long.
      SUBROUTINE CUT(N, W, LW)
      DOUBLE PRECISION W(*)
      CALL FIRST(N, W(1))
      CALL FIRST(N, W(N + 1))
      W(LW) = 1
      END
      SUBROUTINE FIRST(N, P)
      DOUBLE PRECISION P(N)
      DO 10 I = 1, N
   10 P(I) = I
      END
C     A workspace of another type.
      SUBROUTINE RECAST(N, W)
      DOUBLE PRECISION W(*)
      CALL INTS(2*N, W)
      END
      SUBROUTINE INTS(N, K)
      INTEGER K(*)
      DO 10 I = 1, N
   10 K(I) = I
      END
C     A scalar that is an element of nothing.
      SUBROUTINE ONE(I, X)
      DOUBLE PRECISION X(*)
      CALL SETS(X(I))
      END
      SUBROUTINE SETS(X)
      DOUBLE PRECISION X
      X = 3
      END
C     A while loop, a GOTO loop and a loop that jumps.
      FUNCTION SEEK(X, V)
      REAL X(*)
      I = 1
   10 IF (X(I) .EQ. V) GOTO 20
      I = I + 1
      GOTO 10
   20 SEEK = I
      END
      SUBROUTINE FLAGS(N, K, L)
      INTEGER K(*), L(N)
      DO 30 I = 1, N
        IF (K(I) .GT. 0) GOTO 20
        L(I) = 0
        GOTO 30
   20   L(I) = K(I)
   30 CONTINUE
      END
C     The subscript is only used where it is one.
      FUNCTION GUARD(I, N, X)
      REAL X(*)
      GUARD = 0
      IF (I .GE. 1 .AND. I .LE. N) THEN
        GUARD = X(I)
      END IF
      IF (I .GE. 1 .AND. X(MAX(I, 1)) .GT. 0) GUARD = 2*GUARD
      END
C     Too large for an INTEGER.
      SUBROUTINE SQUARE(N, X)
      DOUBLE PRECISION X(*)
      IF (N .LE. 0) RETURN
      K = N*N
      X(K) = 1
      END
C     Sections and whole arrays.
      SUBROUTINE WHOLE(N, X)
      DOUBLE PRECISION X(N)
      X = 5
      END
      SUBROUTINE OUTER(N, M, X)
      DOUBLE PRECISION X(*)
      CALL WHOLE(N, X(M))
      END
      SUBROUTINE SECTN(I, J, X)
      DOUBLE PRECISION X(*)
      X(I:J) = 1
      END
      SUBROUTINE SECT2(I, J, N, A)
      DOUBLE PRECISION A(3, *)
      A(2, I:J) = N
      END
C     Substrings.
      FUNCTION LETTER(S, I, J)
      CHARACTER*(*) S
      LETTER = 0
      IF (S(I:J) .EQ. 'AB') LETTER = 1
      END
C     Input and output of elements.
      SUBROUTINE PARSE(N, X)
      REAL X(*)
      CHARACTER*40 T
      T = '1 2 3 4 5 6 7 8'
      READ (T, *) (X(I), I = 1, N)
      END
      FUNCTION SHOWN(N, X)
      REAL X(*)
      CHARACTER*80 T
      WRITE (T, '(8F8.2)') (X(I), I = 1, N)
      SHOWN = INDEX(T, '.')
      END
C     To a file, which stays usable.
      SUBROUTINE NOTE(N, X, K)
      DOUBLE PRECISION X(*)
      INTEGER K(2)
      WRITE (77, *) N, (X(I), X(K(1)), I = 1, N)
      END
      SUBROUTINE REREAD(M, X, K)
      DOUBLE PRECISION X(*), A(2, 2)
      INTEGER K(2)
      REWIND (77)
      READ (77, *) N, X(M)
      READ (77, *, END = 10) N, A(1, K(1))
   10 REWIND (77)
      END
C     A statement function.
      FUNCTION STMTF(I, X)
      REAL X(*)
      AT(K) = X(K) + 1
      STMTF = AT(I)
      END
C     A function in a subscript.
      FUNCTION NESTED(I, K, X)
      REAL X(*)
      INTEGER K(*)
      NESTED = X(KOF(I, K))
      END
      FUNCTION KOF(I, K)
      INTEGER K(*)
      KOF = K(I)
      END
C     A stencil.
      SUBROUTINE SMOOTH(U, V, N, M)
      DOUBLE PRECISION U(N, *), V(N, *)
      DO 20 J = 2, M - 1
        DO 10 I = 2, N - 1
          V(I, J) = (U(I - 1, J) + U(I + 1, J)
     +      + U(I, J - 1) + U(I, J + 1))/4
   10   CONTINUE
   20 CONTINUE
      END
C     A triangle.
      SUBROUTINE SOLVE(N, A, LDA, B)
      DOUBLE PRECISION A(LDA, *), B(*)
      DO 20 K = N, 1, -1
        B(K) = B(K)/A(K, K)
        DO 10 I = 1, K - 1
   10   B(I) = B(I) - B(K)*A(I, K)
   20 CONTINUE
      END
C     A callback with an array.
      SUBROUTINE EACH(F, N, X)
      EXTERNAL F
      DOUBLE PRECISION X(N)
      CALL INNER(F, N, X(2))
      END
      SUBROUTINE INNER(F, N, Y)
      EXTERNAL F
      DOUBLE PRECISION Y(N)
      CALL F(N, Y)
      END
C     Jumps by ASSIGN: the sum of the elements up to the first that is not positive, and of the
C     squares behind it.
      FUNCTION PHASES(N, X, K)
      DIMENSION X(*)
      PHASES = 0
      IF (K .GT. 0) ASSIGN 20 TO NEXT
      DO 40 I = 1, N
        IF (X(I) .LE. 0) ASSIGN 30 TO NEXT
        IF (I .GT. 0) GOTO NEXT, (20, 30)
   20   PHASES = PHASES + X(I)
        GOTO 40
   30   PHASES = PHASES + X(I)**2
   40 CONTINUE
      END
C     ENTRY points with arrays of their own, and one that they have in common.
      SUBROUTINE STORE(N, X, Z)
      DIMENSION X(*), Y(*), Z(2, *), T(4)
      SAVE T
      DO 10 I = 1, N
   10 T(I) = X(I)
      Z(2, 1) = N
      RETURN
      ENTRY FETCH(Z, M, Y)
      DO 20 I = 1, M
   20 Y(I) = T(I)
      Z(1, M) = M
      END
      SUBROUTINE KEEPS(N, X, M, Y, Z)
      DIMENSION X(*), Y(*), Z(*)
      CALL STORE(N, X, Z)
      CALL FETCH(Z, M, Y)
      END
C     X is nowhere behind PEEK.
      SUBROUTINE PEEKS(N, X)
      DIMENSION X(*)
      X(N) = 0
      ENTRY PEEK(N)
      IF (N .GT. 0) X(1) = N
      END
C     Sections with steps: a bound that no step meets may lie outside.
      SUBROUTINE STEPS(N, M, X, Y)
      REAL X(N), Y(0:3, N)
      X(M:1:-2) = 7
      X(2:M+1:3) = 8
      Y(2:0:-1, 1:M) = 5
      Y(2::-1, 1:M) = 4
      Y(M:1:2, N) = 6
      END
C     A step that is an argument, for a section that is handed on, too.
      SUBROUTINE ANYSTP(M, L, K, N, X, Y)
      REAL X(6), Y(2, 6)
      X(M:L:K) = 7
      Y(2, M:L:K) = 8
      CALL ADDONE(N, X(M:L:K))
      END
      SUBROUTINE ADDONE(N, X)
      REAL X(N)
      DO 10 I = 1, N
   10 X(I) = X(I) + I
      END
C     So many elements that their number, 2**64, is 0 in 64 bits.
      SUBROUTINE ALLALL(I, J, X)
      REAL X(2, 3)
      X(I:J, I:J) = 7
      END
C     Arrays that ALLOCATE creates, once with other bounds than before.
      SUBROUTINE HEAPN(N, M, K, X)
      REAL X(4)
      REAL, ALLOCATABLE :: W(:), V(:, :)
      ALLOCATE (W(0:N))
      DO 10 I = 0, N
   10 W(I) = I
      X(1) = W(K)
      DEALLOCATE (W)
      IF (M .GT. 0) ALLOCATE (W(M), V(2, -1:M))
      W = 5
      X(2) = W(1)
      V = 3
      CALL ADDONE(2*M, V)
      CALL ADDONE(M, V(2, :))
      X(3) = V(2, 0)
      W(2:M:2) = 1
      X(4) = SUM(W(1:M))
      END
C     It has another size in each turn.
      SUBROUTINE HEAPS(K, X)
      REAL, ALLOCATABLE :: W(:)
      X = 0
      DO 30 L = 3, 1, -1
      ALLOCATE (W(L))
      DO 20 I = 1, K
   20 W(I) = L
      X = X + W(K)
   30 DEALLOCATE (W)
      END
C     It is never there.
      SUBROUTINE NOHEAP(I, X)
      REAL, ALLOCATABLE :: W(:)
      X = W(I)
      END
      SUBROUTINE NOWHOL(X)
      REAL, ALLOCATABLE :: W(:)
      X = SUM(W)
      END
C     It is there from the first call on.
      SUBROUTINE KEEPER(I, X)
      REAL, ALLOCATABLE, SAVE :: W(:)
      IF (.NOT. ALLOCATED(W)) THEN
        ALLOCATE (W(3))
        W = 7
      END IF
      X = W(I)
      W(I) = X + 1
      END
C     Bounds so far apart that their distance is none of an INTEGER*8.
      SUBROUTINE FAR(I, J, K, X)
      INTEGER*8 I, J, K
      REAL X(-1:*)
      IF (K .EQ. 0) X(I:J) = 7
      IF (K .NE. 0) X(I:J:K) = 7
      END
