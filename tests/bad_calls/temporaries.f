C     Temporary values, for which there may be no memory.
C
      SUBROUTINE TEMPOR(K, N, M, L, A, B, IX, Q, S, T, V)
      INTEGER IX(N)
      DOUBLE PRECISION A(N), B(M, L), V, STAT, TEXTSF
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      LOGICAL*1 Q(N)
      CHARACTER*(*) S, T
      V = 0
      SELECT CASE (K)
      CASE (1)
        V = SUM(SPREAD(A, 1, 2))
      CASE (2)
        V = SUM(MATMUL(B(:, 1:1), B(1:1, :)))
      CASE (3)
        B = RESHAPE(TRANSPOSE(B), (/ M, N/M /))
      CASE (4)
        V = SUM(RESHAPE(A, (/ M, N/M /)))
      CASE (5)
        V = SUM(PACK(A, Q))
      CASE (6)
        V = SUM(UNPACK(A, Q, A))
      CASE (7)
        V = SUM(CSHIFT(A, 1))
      CASE (8)
        V = SUM(EOSHIFT(A, 1))
      CASE (9)
        A = A(N:1:-1)
      CASE (10)
        CALL TAKESN(N/2, A(1:N:2), V)
      CASE (11)
        CALL TAKESN(N, (A), V)
      CASE (12)
        T = S//S//T
      CASE (13)
        CALL TAKEST(S//T, V)
      CASE (14)
        CALL TAKEST(REPEAT(S, 3), V)
      CASE (15)
        V = SUM((/ (A(I)*I, I = 1, N/8), A, A(1:N), A(1:N) + 1 /))
      CASE (16)
        A = A(IX)
      CASE (17)
        W = A
        V = W(2)
      CASE (18)
        CALL TAKEST(TRIM(S), V)
      CASE (19)
        CALL TAKEST(ADJUSTL(S), V)
      CASE (20)
        A = A(IX) + A
      CASE (21)
        IF (S//'A' .EQ. T//'B') V = 3
      CASE (22)
        V = SUM(TRANSFER(A, (/ V /)))
      CASE (23)
        V = INDEX(S//T, 'Z')
      CASE (24)
        V = LEN(S//T)
      CASE (25)
        A = CSHIFT(A, 1)
      CASE (26)
        A(IX) = A
      CASE (27)
        A(2:N) = A(1:N - 1)
      CASE (28)
        DO WHILE (SUM(CSHIFT(A, 1)) .LT. 3)
          A(1) = A(1) + 1
        END DO
      CASE (29)
        IF (N .LT. 0) THEN
          V = 1
        ELSE IF (SUM(CSHIFT(A, 1)) .LT. 3) THEN
          V = 2
        ELSE
          V = 3
        END IF
      CASE (30)
        V = SUM(SUM(SPREAD(A, 1, 2), 1))
      CASE (31)
        V = SUM(MATMUL(TRANSPOSE(B), B(:, 1)))
      CASE (32)
        CALL TAKESN(N/2, B(1:M/2, :), V)
      CASE (33)
        V = MAXVAL(SPREAD(A, 2, 2)) + STAT(A(1))
      CASE (34)
        V = SUM(SPREAD(A, 1, INT(STAT(2D0)))) + STAT(A(1))
      CASE (35)
        T = REPEAT(S, INT(STAT(3D0)))
      CASE (36)
        V = SUM(CSHIFT(A, 1)) + STAT(A(1))
      CASE (37)
        V = TEXTSF(S)
      CASE (38)
        WHERE (CSHIFT(A, 1) .GT. 0) A = A + 1
      CASE (39)
        V = SUM(TRANSFER(A, (/ V /), N))
      CASE (40)
        DO I = 1, INT(SUM(CSHIFT(A, 1)))
          V = V + 1
        END DO
      CASE (41)
        WRITE (T(1:40), *) SUM(CSHIFT(A, 1))
      CASE (42)
        WRITE (T(1:40), *) LEN_TRIM(S//T)
      END SELECT
      END
C     The same arrays, without temporary values.
      SUBROUTINE NOTEMP(K, N, M, L, A, B, S, T, V)
      DOUBLE PRECISION A(N), B(M, L), V
      CHARACTER*(*) S, T
      V = 0
      SELECT CASE (K)
      CASE (1)
        A = 2*A + SQRT(A)
      CASE (2)
        A(2:N) = A(2:N) + 1
      CASE (3)
        V = SUM(A + 1) + DOT_PRODUCT(A, A)
      CASE (4)
        CALL TAKESN(N - 1, A(2:N), V)
      CASE (5)
        CALL TAKESN(M, B(:, 2), V)
      CASE (6)
        T = S
      CASE (7)
        V = SUM(MATMUL(B(1:9, 1:M), B(1:M, 1:9)))
      CASE (8)
        WHERE (A(1:8) .GT. 0) A(1:8) = A(8:1:-1)
      CASE (9)
        CALL TAKEST(S(1:3)//T(N - 2:N), V)
      CASE (10)
        CALL TAKEST(REPEAT('AB', M), V)
      END SELECT
      END
      SUBROUTINE TAKESN(N, X, V)
      DOUBLE PRECISION X(N), V
      V = X(1)
      END
      SUBROUTINE TAKEST(T, V)
      CHARACTER*(*) T
      DOUBLE PRECISION V
      V = ICHAR(T(1:1))
      END
      DOUBLE PRECISION FUNCTION STAT(X)
      DOUBLE PRECISION X
      STAT = X
      END
      DOUBLE PRECISION FUNCTION TEXTSF(S)
      CHARACTER*(*) S
      FIRST(I) = ICHAR(S(I:I)) + LEN_TRIM(S//S)
      TEXTSF = FIRST(1)
      END
C     As many copies as the caller wants.
      SUBROUTINE COPIED(N, K, A, V)
      DOUBLE PRECISION A(N), V
      V = SUM(SPREAD(A, 1, K))
      END
      SUBROUTINE COPYT(K, S, V)
      DOUBLE PRECISION V
      CHARACTER*(*) S
      V = LEN_TRIM(REPEAT(S, K))
      END
      SUBROUTINE COPYM(K, A, V)
      DOUBLE PRECISION A(K), V
      V = SUM(TRANSFER(A, (/ V /), K*5))
      END
      SUBROUTINE OUTERM(N, A, V)
      DOUBLE PRECISION A(N, 1), V
      V = SUM(MATMUL(A, TRANSPOSE(A)))
      END
C     Shapes of RESHAPE.
      SUBROUTINE SHAPEV(N, M, IS, IO, A, P, B)
      INTEGER IS(2), IO(2)
      DOUBLE PRECISION A(N), P(M), B(3, 2)
      B = RESHAPE(A, IS)
      B = RESHAPE(A, (/ 3, 2 /), P)
      B = RESHAPE(A, IS, PAD = P)
      B = RESHAPE(A, (/ 3, 2 /), P, IO)
      B = RESHAPE(A, IS, ORDER = IO)
      B = RESHAPE(A, (/ 3, 2 /), ORDER = (/ 2, 1 /))
      END
C     Vectors of subscripts where a function could change them.
      SUBROUTINE VECTRS(N, M, L, IX, A, V)
      INTEGER IX(M)
      DOUBLE PRECISION A(N), V
      V = SUM(A(IX)) + CHANGS(L, M, IX)
      END
      SUBROUTINE VECTRW(N, M, IX)
      INTEGER IX(M), A(N)
      CHARACTER*200 T
      A = 1
      WRITE (T, *) A(IX), (A(IX + J), J = 1, 2)
      END
      SUBROUTINE VECTR2(N, M, L, IX, A, V)
      INTEGER IX(M)
      DOUBLE PRECISION A(N, *), V
      V = SUM(A(IX, L)) + CHANGS(L, M, IX)
      V = SUM(A(L, IX)) + CHANGS(L, M, IX)
      V = SUM(A(L:, IX)) + CHANGS(L, M, IX)
      V = SUM(A(2:1:L, IX)) + CHANGS(L, M, IX)
      END
      FUNCTION CHANGS(L, M, IX)
      INTEGER IX(M)
      IF (L .LT. 0) IX = L
      CHANGS = 0
      END
      SUBROUTINE MOVED(N, M, A, IB, K)
      INTEGER IB(M)
      DOUBLE PRECISION A(N)
      A = TRANSFER(IB, A)
      A = TRANSFER(IB, A, K)
      IB = TRANSFER(A, IB)
      END
C     Texts that may be empty.
      INTEGER FUNCTION TRIMME(S, I)
      CHARACTER*(*) S
      TRIMME = ICHAR(TRIM(S)) + ICHAR(S(I:)) + ICHAR(S//S)
      END
C     Arguments that only some ENTRY points have.
      SUBROUTINE PARTS(N, X, S, Y)
      DOUBLE PRECISION X(*), Y
      CHARACTER*(*) S
      Y = 0
      GOTO 10
      ENTRY PARTN(N, Y)
      Y = 1
      GOTO 10
      ENTRY PARTS2(S, N)
   10 CONTINUE
      DO 20 I = 1, N
        IF (I .EQ. 2) Y = Y + X(I)
        IF (I .LE. 2) THEN
          Y = Y + 0
        ELSE IF (S(1:1) .EQ. 'A') THEN
          Y = Y + 1
        END IF
        IF (I .EQ. 4) Y = Y + ICHAR(S(I:I))
   20 CONTINUE
      IF (N .GT. 9) THEN
        DO WHILE (Y .LT. 1D3)
          Y = 2*Y + 1
        END DO
      END IF
      END
