C     Subprograms as FORTRAN 77 programs have them.

C     To polar coordinates and back.
      SUBROUTINE POLAR(X, Y, R, T)
      DOUBLE PRECISION X, Y, R, T
      R = SQRT(X**2 + Y**2)
      T = ATAN2(Y, X)
      RETURN
      ENTRY CARTES(R, T, X, Y)
      X = R*COS(T)
      Y = R*SIN(T)
      END

C     An array in one entry point, its sum in the other.
      SUBROUTINE FILL(N, Y, C)
      DOUBLE PRECISION Y(N), C, S
      DO 10 I = 1, N
   10 Y(I) = C
      RETURN
      ENTRY SUMUP(N, Y, S)
      S = 0
      DO 20 I = 1, N
   20 S = S + Y(I)
      END

C     The roots of a quadratic; complex ones, or none, are alternate returns.
      SUBROUTINE ROOTS(A, B, C, X, N, *, *)
      REAL A, B, C, D, X(2)
      X = 0
      N = 0
      IF (A .EQ. 0) RETURN 2
      D = B*B - 4*A*C
      IF (D .LT. 0) RETURN 1
      N = 2
      X(1) = (-B - SQRT(D))/(2*A)
      X(2) = (-B + SQRT(D))/(2*A)
      END

C     The two names differ in one character.
      SUBROUTINE F_1(K, L, *)
      L = K + 1
      IF (K .LT. 0) RETURN 1
      END

      SUBROUTINE F1(K, L, M, *)
      L = K + 2
      M = K + 3
      IF (K .LT. 0) RETURN 1
      END

C     Where a word is in a line, the rest, and how long the line is.
      SUBROUTINE WORDS(LINE, WORD, REST, AT, LENGTH, FOUND)
      CHARACTER*(*) LINE, WORD
      CHARACTER*12 REST
      INTEGER AT, LENGTH
      LOGICAL FOUND
      AT = INDEX(LINE, WORD)
      FOUND = AT .GT. 0
      REST = ' '
      IF (FOUND) REST = LINE(AT + LEN(WORD):)
      LENGTH = LEN(LINE)
      END

      SUBROUTINE SHOUT(TEXT)
      CHARACTER*(*) TEXT
      TEXT = 'HEY'
      END

C     Is a matrix of truth values symmetric, and which rows have any?
      LOGICAL FUNCTION SYM(N, L, ANY1, FLIP)
      LOGICAL L(N, N), ANY1(N), FLIP(N, N)
      SYM = .TRUE.
      DO 10 I = 1, N
   10 ANY1(I) = .FALSE.
      DO 20 J = 1, N
        DO 20 I = 1, N
          FLIP(I, J) = .NOT. L(I, J)
          IF (L(I, J)) ANY1(I) = .TRUE.
   20 IF (L(I, J) .NEQV. L(J, I)) SYM = .FALSE.
      END

C     The discrete Fourier transform, and its first value.
      COMPLEX*16 FUNCTION FOURIR(N, Z, W, S)
      COMPLEX*16 Z(N), W(N)
      COMPLEX S
      DOUBLE PRECISION P
      P = 8*ATAN(1D0)/N
      DO 20 K = 1, N
        W(K) = (0, 0)
        DO 10 J = 1, N
   10   W(K) = W(K) + Z(J)*EXP(DCMPLX(0D0, -P*(J - 1)*(K - 1)))
   20 CONTINUE
      S = CMPLX(W(1))
      FOURIR = W(1)
      END

C     A function with results on the side, as root finders have them.
      DOUBLE PRECISION FUNCTION BISECT(F, A, B, TOL, ITER, IERR)
      DOUBLE PRECISION F, A, B, TOL, L, R, M
      EXTERNAL F
      IERR = 1
      ITER = 0
      BISECT = A
      L = A
      R = B
      IF (F(L)*F(R) .GT. 0) RETURN
   10 M = (L + R)/2
      ITER = ITER + 1
      IF (F(L)*F(M) .LE. 0) THEN
        R = M
      ELSE
        L = M
      END IF
      IF (R - L .GT. TOL) GO TO 10
      IERR = 0
      BISECT = M
      END

C     X := A*X, of every INCX-th element.
      SUBROUTINE SCALE(N, A, X, INCX)
      DOUBLE PRECISION A, X(*)
      DO 10 I = 1, N*INCX, INCX
   10 X(I) = A*X(I)
      END

C     The values of a polynomial and of its derivative: X(0:N), D(0:N-1).
      SUBROUTINE DERIV(N, C, D, T, V)
      DOUBLE PRECISION C(0:N), D(0:N - 1), T, V(0:1)
      DO 10 I = 0, N - 1
   10 D(I) = (I + 1)*C(I + 1)
      V(0) = 0
      V(1) = 0
      DO 20 I = N, 0, -1
        V(1) = V(1)*T + V(0)
   20 V(0) = V(0)*T + C(I)
      END

C     The columns of A(N,*) that K names; Y has two numbers for each.
      SUBROUTINE PICK(N, A, NK, K, Y)
      DOUBLE PRECISION A(N, *), Y(2*NK)
      INTEGER K(NK)
      DO 10 I = 1, 2*NK
   10 Y(I) = 0
      DO 20 I = 1, NK
        Y(2*I - 1) = A(1, K(I))
   20 Y(2*I) = A(N, K(I))
      END

C     A driver that cuts its work array into pieces, as drivers do.
      SUBROUTINE SMOOTH(N, X, Y, WORK, LWORK, IWORK)
      DOUBLE PRECISION X(N), Y(N), WORK(LWORK)
      INTEGER IWORK(N)
      CALL SMOO1(N, X, Y, WORK(1), WORK(N + 1), IWORK)
      END

      SUBROUTINE SMOO1(N, X, Y, L, R, K)
      DOUBLE PRECISION X(N), Y(N), L(N), R(N)
      INTEGER K(N)
      DO 10 I = 1, N
        K(I) = MAX(1, I - 1)
        L(I) = X(K(I))
   10 R(I) = X(MIN(N, I + 1))
      DO 20 I = 1, N
   20 Y(I) = (L(I) + X(I) + R(I))/3
      END

C     Names that Rust has for itself.
      SUBROUTINE MATCH(TYPE, SELF, MOVE, IMPL, SUPER, CRATE)
      INTEGER TYPE, MOVE(TYPE), IMPL, SUPER, CRATE
      REAL SELF(TYPE)
      DO 10 I = 1, TYPE
   10 MOVE(I) = INT(SELF(I))
      IMPL = TYPE + 1
      SUPER = TYPE + 2
      CRATE = TYPE + 3
      END

      SUBROUTINE SELF(GEN, ASYNC)
      INTEGER GEN, ASYNC
      ASYNC = GEN
      END

      INTEGER FUNCTION TRY(N, AS, VALUE, DYN)
      INTEGER AS(N), VALUE, DYN(N, N)
      DYN = 1
      VALUE = AS(1)
      TRY = N
      END

C     Small integers, and constants in bounds.
      SUBROUTINE SMALL(I2, B, L1, H, I8)
      INTEGER M
      PARAMETER (M = 3)
      INTEGER*2 I2, H(M)
      INTEGER*1 B
      INTEGER*8 I8
      LOGICAL*1 L1
      B = 1
      L1 = I2 .GT. 0
      DO 10 I = 1, M
   10 H(I) = I2
      I8 = 2
      I8 = I8**40
      END

C     The constants of the machine: nothing is given.
      SUBROUTINE MACHIN(EPS, PI)
      DOUBLE PRECISION EPS, PI
      EPS = 2D0**(-52)
      PI = 4*ATAN(1D0)
      END

C     Points in the plane: the centre, and where each is from there.
      SUBROUTINE CENTRE(N, P, C, Q)
      REAL P(2, N), C(2), Q(2, N)
      C(1) = 0
      C(2) = 0
      DO 10 J = 1, N
      DO 10 I = 1, 2
   10 C(I) = C(I) + P(I, J)/N
      DO 20 J = 1, N
      DO 20 I = 1, 2
   20 Q(I, J) = P(I, J) - C(I)
      END

C     The prime numbers up to N, and how many.
      SUBROUTINE PRIMES(N, P, K)
      INTEGER P(N)
      K = 0
      DO 20 I = 2, N
        DO 10 J = 1, K
   10   IF (MOD(I, P(J)) .EQ. 0) GO TO 20
        K = K + 1
        P(K) = I
   20 CONTINUE
      END

C     Names of the generated code.
      SUBROUTINE OUTPUT(STD, CORE, RAW, FARFEL_VALUE, FARFEL)
      INTEGER RAW, STD(RAW), CORE(RAW), FARFEL_VALUE, FARFEL
      CORE = STD
      FARFEL_VALUE = RAW
      FARFEL = RAW
      END

      SUBROUTINE RAW(RAW1, MAIN)
      RAW1 = 1
      MAIN = 2
      END

C     A loop that ends without a label of its own, and one that is left early.
      SUBROUTINE SEARCH(N, X, T, K, B)
      DOUBLE PRECISION X(N), T
      LOGICAL B(N)
      DO 10 I = 1, N
   10 B(I) = X(I) .LE. T
      DO 20 K = 1, N
        IF (X(K) .GT. T) GO TO 30
   20 CONTINUE
   30 CONTINUE
      END

C     Saved from call to call, and DATA.
      REAL FUNCTION RANDOM(LAST)
      INTEGER SEED
      SAVE SEED
      DATA SEED /1/
      SEED = MOD(16807*SEED, 1009)
      LAST = SEED
      RANDOM = SEED/1009.0
      END

C     The outer product of X and Y.
      SUBROUTINE OUTER(M, N, X, Y, A)
      DOUBLE PRECISION X(M), Y(N), A(M, N)
      DO 20 J = 1, N
        DO 10 I = 1, M
          A(I, J) = X(I)*Y(J)
   10   CONTINUE
   20 CONTINUE
      END

C     A := A**T
      SUBROUTINE TRANSP(N, A, LDA)
      DOUBLE PRECISION A(LDA, *), T
      DO 10 J = 1, N
      DO 10 I = 1, J - 1
        T = A(I, J)
        A(I, J) = A(J, I)
   10 A(J, I) = T
      END

C     The sums of A over its last dimension, and twice A behind a plane of zeros.
      SUBROUTINE CUBE(L, M, N, A, LDB, B, S, C)
      DOUBLE PRECISION A(L, M, N), B(LDB, M, *), S(L, M), C(0:L, M, N)
      B(1, 1, 1) = B(1, 1, 1) + LDB
      S = 0
      C = 0
      DO 10 K = 1, N
      DO 10 J = 1, M
      DO 10 I = 1, L
        S(I, J) = S(I, J) + A(I, J, K)
   10 C(I, J, K) = 2*A(I, J, K)
      END

C     Names with two underscores.
      SUBROUTINE A__B(X__Y, Z_)
      INTEGER X__Y(2), Z_
      Z_ = X__Y(1)
      END
