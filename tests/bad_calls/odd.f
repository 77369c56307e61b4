C     Odd subprograms: several old habits at once.
C
C     Bounds in COMMON, which the body and a closure change.
      SUBROUTINE ODDCOM(F, K, X, V)
      COMMON /ODDC/ N, M
      DOUBLE PRECISION X(N, *), V
      EXTERNAL F
      N = N + K
      CALL F(K)
      V = SUM(X(1:N, 1)) + SUM(X(:, M))
      END
      SUBROUTINE ODDSET(I, J)
      COMMON /ODDC/ N, M
      N = I
      M = J
      END
      SUBROUTINE ODDADJ(N, X, V)
      DOUBLE PRECISION X(N, N), V
      N = 2*N
      V = SUM(X) + X(N, 1)
      X(1:N, 1) = 1
      END
C     A loop whose condition needs checks, with jumps into the next round.
      SUBROUTINE ODDWHL(N, X, K)
      DOUBLE PRECISION X(N)
      K = 0
      DO 20 WHILE (SUM(CSHIFT(X(1:K + 1), 1)) .LT. 9)
        K = K + 1
        IF (MOD(K, 2) .EQ. 0) GOTO 20
        IF (K .GT. 50) CYCLE
        X(K) = X(K) + 1
   20 CONTINUE
      END
      SUBROUTINE ODDELS(K, N, X, V)
      DOUBLE PRECISION X(N), V
      IF (K .EQ. 1) THEN
        V = 1
      ELSE IF (SUM(X(1:K)) .GT. 3) THEN
        V = 2
      ELSE IF (MAXVAL(X(K:N)) .GT. 0 .AND. K .GT. 0) THEN
        V = 3
        GOTO 30
      ELSE
        V = SUM(X(K:2))
      END IF
      V = V + 10
   30 CONTINUE
      END
C     Sections that are used only behind a condition.
      SUBROUTINE ODDAND(N, K, X, L)
      DOUBLE PRECISION X(N)
      LOGICAL L
      L = K .LE. N
      IF (L) L = SUM(X(1:K)) .GT. 0
      END
      SUBROUTINE ODDSEC(I, J, X, Y)
      DOUBLE PRECISION X(*), Y(*)
      X(I:J) = X(I:J) + Y(J:I:-1)
      X(I:J) = X(J:I:-1)
      WHERE (X(I:J) .GT. 0) X(I:J) = Y(I:J)
      END
      SUBROUTINE ODDDIM(N, K, X)
      DIMENSION X(-N:K, K:*)
      X(-N, K) = 1
      X(K, K + 1) = 2
      X(:, K) = 3
      END
C     ENTRY, alternate returns and computed GOTO.
      SUBROUTINE ODDENT(K, X, *, *)
      DIMENSION X(2)
      GOTO (10, 20), K
      X(K) = 1
      RETURN 2
      ENTRY ODDEN2(X, K, *)
   10 X(K + 1) = 2
      RETURN K
   20 X(K + 1) = 3
      RETURN 1
      END
      INTEGER FUNCTION ODDFUN(K)
      INTEGER ODDFU2
      ODDFUN = K/(K - 1)
      RETURN
      ENTRY ODDFU2(K)
      ODDFU2 = MOD(7, K) + 2**K + (K - 2)**(-K)
      END
C     Texts.
      SUBROUTINE ODDTXT(N, S, T)
      CHARACTER*(*) S, T
      CHARACTER*(N) U
      U = S(2:)//T
      T = U(N - 1:N)//S(:N)
      S(1:N/2) = S(N/2 + 1:N)
      END
      CHARACTER*(*) FUNCTION ODDCHR(I, S)
      CHARACTER*(*) S
      ODDCHR = S(I:)//S(:I)
      END
      SUBROUTINE ODDSTF(I, S, K)
      CHARACTER*(*) S
      CHARACTER*3 PART
      PART(L) = S(L:L + 1)//S(L:)
      K = INDEX(PART(I), 'B') + INDEX(PART(I - 1)//S, 'A')
      END
      SUBROUTINE ODDINT(N, T, X)
      CHARACTER*4 T(*)
      DOUBLE PRECISION X(N)
      WRITE (T(N), '(F4.1)') X(N)
      READ (T(N + 1), '(I4)') K
      WRITE (T(K), '(2I2)') (INT(X(I)), I = K, N)
      END
      SUBROUTINE ODDNML(S, K, V)
      CHARACTER*(*) S
      DOUBLE PRECISION A(3), V
      NAMELIST /ODDN/ A, K
      A = 0
      READ (S, NML=ODDN)
      V = A(K)
      END
C     Storage.
      SUBROUTINE ODDEQV(I, J, V)
      DOUBLE PRECISION A(-2:2), V
      INTEGER K(4)
      EQUIVALENCE (A(0), K(1))
      A = 1
      K(I) = J
      A(K(I)) = 2
      V = SUM(A(K(1):K(2)))
      END
      SUBROUTINE ODDSAV(N, I, V)
      DOUBLE PRECISION W(5), V
      SAVE W, L
      DATA L /1/
      W(L) = N
      L = L + I
      V = W(L)
      END
      RECURSIVE SUBROUTINE ODDREC(F, N, X, V)
      EXTERNAL F
      DOUBLE PRECISION X(N), V, W(N)
      W = X(N:1:-1)
      CALL F(N, W)
      IF (N .GT. 1) CALL ODDREC(F, N - 1, W(2), V)
      V = V + W(N)
      END
C     Loops, and what is left of their variables.
      SUBROUTINE ODDLOP(I, J, K, X)
      DIMENSION X(*)
      DO 10 L = I, J, K
   10 X(L) = L
      X(L) = 0
      END
      SUBROUTINE ODDNST(N, M, X, Y)
      DIMENSION X(M, *), Y(*)
      DO 10 I = 1, N
      DO 10 J = I, M, I
   10 Y(I + J - 1) = SUM(X(I:J, I)) + X(J, MAX(I - J, 1))
      END
      SUBROUTINE ODDARI(K, X)
      DIMENSION X(3)
      IF (K) 10, 20, 30
   10 X(-K) = 1
   20 X(K) = 2
   30 X(K + 1) = 3
      END
      SUBROUTINE ODDASG(K, X)
      DIMENSION X(3)
      IF (K .GT. 0) ASSIGN 20 TO L
   20 X(MAX(K, 1)) = 1
      K = K - 1
      IF (K .GT. -5) GOTO L (20)
      END
C     Vectors of subscripts and copies of what they select.
      SUBROUTINE ODDVEC(N, M, IX, X, V)
      INTEGER IX(*)
      DOUBLE PRECISION X(M), V
      IX(IX(1:N)) = IX(N:1:-1)
      CALL ODDSUM(N, X(IX(1:N)), V)
      V = V + SUM(X(IX(2:N)))
      END
      SUBROUTINE ODDSUM(N, X, V)
      DOUBLE PRECISION X(N), V
      V = SUM(X)
      END
      SUBROUTINE ODDTRN(N, M, A, B)
      DOUBLE PRECISION A(N, M), B(M, N)
      A = TRANSPOSE(B) + SPREAD(B(1, :), 2, M)
      B = MATMUL(B, MATMUL(A, B))
      END
C     To be differentiated: bounds, sections and jumps that depend on arguments.
      SUBROUTINE ODDDIF(N, K, X, Y)
      DOUBLE PRECISION X(N), Y, W(N)
      W = X**2
      W(1:K) = W(K:1:-1)*X(1)
      Y = 0
      DO 10 I = 1, N
        IF (W(I) .GT. 4) GOTO 10
        Y = Y + W(I)*X(MOD(I*K, N) + 1)
   10 CONTINUE
      Y = Y + SUM(X(K:N)*W(K:N)) + DOT_PRODUCT(W, X)
      END
