C     The scalar product of X and Y.
      DOUBLE PRECISION FUNCTION DOT(N, X, Y)
      DOUBLE PRECISION X(N), Y(N)
      DOT = 0
      DO 10 I = 1, N
   10 DOT = DOT + X(I)*Y(I)
      END

C     The mean and the standard deviation.
      SUBROUTINE STATS(N, X, MEAN, SD)
      DOUBLE PRECISION X(N), MEAN, SD
      MEAN = SUM(X)/N
      SD = SQRT(SUM((X - MEAN)**2)/N)
      END

C     Solves A*X = B.
C
C  N       (input) INTEGER
C          The number of equations.
C  A       (input/output) DOUBLE PRECISION array, dimension (LDA,N)
C          On exit, the factors.
C  IPIV    (output) INTEGER array, dimension (N)
C          The rows that were exchanged.
C  B       (input/output) DOUBLE PRECISION array, dimension (LDB,NRHS)
C          On exit, the solutions.
C  INFO    (output) INTEGER
C          = 0:  successful exit
C          < 0:  if INFO = -i, the i-th argument had an illegal value
C          > 0:  if INFO = i, U(i,i) is exactly zero, so
C                there is no solution.
      SUBROUTINE DGESV(N, NRHS, A, LDA, IPIV, B, LDB, INFO)
      INTEGER IPIV(*)
      DOUBLE PRECISION A(LDA, *), B(LDB, *), T
      INFO = 0
      IF (N .LT. 0) INFO = -1
      IF (NRHS .LT. 0) INFO = -2
      IF (LDA .LT. MAX(1, N)) INFO = -4
      IF (LDB .LT. MAX(1, N)) INFO = -7
      IF (INFO .NE. 0) RETURN
      DO 50 K = 1, N
        L = K
        DO 10 I = K + 1, N
   10   IF (ABS(A(I, K)) .GT. ABS(A(L, K))) L = I
        IPIV(K) = L
        IF (A(L, K) .EQ. 0) THEN
          INFO = K
          RETURN
        END IF
        DO 20 J = 1, N
          T = A(K, J)
          A(K, J) = A(L, J)
   20   A(L, J) = T
        DO 30 J = 1, NRHS
          T = B(K, J)
          B(K, J) = B(L, J)
   30   B(L, J) = T
        DO 50 I = K + 1, N
          A(I, K) = A(I, K)/A(K, K)
          DO 40 J = K + 1, N
   40     A(I, J) = A(I, J) - A(I, K)*A(K, J)
          DO 50 J = 1, NRHS
   50 B(I, J) = B(I, J) - A(I, K)*B(K, J)
      DO 70 J = 1, NRHS
      DO 70 I = N, 1, -1
        DO 60 K = I + 1, N
   60   B(I, J) = B(I, J) - A(I, K)*B(K, J)
   70 B(I, J) = B(I, J)/A(I, I)
      END

      SUBROUTINE HYBRD1(FCN, N, X, FVEC, TOL, INFO, WA, LWA)
C     A zero of a system of equations, by Newton's method.
C
C       x is an array of length n. on input x must contain
C         an initial estimate of the solution vector.
C
C       fvec is an output array of length n which contains
C         the functions evaluated at the output x.
C
C       info is an integer output variable.
C
C         info = 0   improper input parameters.
C
C         info = 1   the functions are at most tol.
C
C         info = 2   there were too many
C                    iterations.
C
C       wa is a work array of length lwa.
      INTEGER N, INFO, LWA
      DOUBLE PRECISION TOL, X(N), FVEC(N), WA(LWA), H
      INTEGER IPIV(100)
      EXTERNAL FCN
      INFO = 0
      IF (N .LE. 0 .OR. N .GT. 100 .OR. LWA .LT. N*(N + 1)) RETURN
      DO 40 ITER = 1, 50
        CALL FCN(N, X, FVEC)
        INFO = 1
        IF (MAXVAL(ABS(FVEC)) .LE. TOL) RETURN
        DO 20 J = 1, N
          H = 1D-7*MAX(1D0, ABS(X(J)))
          X(J) = X(J) + H
          CALL FCN(N, X, WA)
          X(J) = X(J) - H
          DO 20 I = 1, N
   20   WA(J*N + I) = (WA(I) - FVEC(I))/H
        DO 30 I = 1, N
   30   WA(I) = FVEC(I)
        CALL DGESV(N, 1, WA(N + 1), N, IPIV, WA, N, INFO)
        INFO = 2
        DO 40 I = 1, N
   40 X(I) = X(I) - WA(I)
      END

C     The X for which A*X is nearest to B, and the square of how near that is.
      SUBROUTINE NEAREST(M, N, A, B, X, SQUARE, WORK, IERR)
      DOUBLE PRECISION A(M, N), B(M), X(N), SQUARE, WORK(N, N), S
      INTEGER IPIV(100)
      IERR = 1
      IF (N .GT. 100) RETURN
      DO 30 J = 1, N
        X(J) = 0
        DO 10 K = 1, M
   10   X(J) = X(J) + A(K, J)*B(K)
        DO 30 I = 1, N
          S = 0
          DO 20 K = 1, M
   20     S = S + A(K, I)*A(K, J)
   30 WORK(I, J) = S
      CALL DGESV(N, 1, WORK, N, IPIV, X, N, IERR)
      SQUARE = 0
      DO 50 I = 1, M
        S = B(I)
        DO 40 J = 1, N
   40   S = S - A(I, J)*X(J)
   50 SQUARE = SQUARE + S**2
      END

C     Where K is in X: an alternate return where it is not.
      SUBROUTINE FINDS(N, X, K, WHERE, *)
      INTEGER X(N), K, WHERE
      DO 10 WHERE = 1, N
   10 IF (X(WHERE) .EQ. K) RETURN
      WHERE = 0
      RETURN 1
      END

      DOUBLE PRECISION FUNCTION AREA(F, A, B, N)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      EXTERNAL F
      AREA = (F(A) + F(B))/2
      DO 10 I = 1, N - 1
   10 AREA = AREA + F(A + I*(B - A)/N)
      AREA = AREA*(B - A)/N
      END

C     What is positive, and a word for that.
      SUBROUTINE SIGNS(N, X, POS, ALL, WORD, TYPE)
      LOGICAL POS(N), ALL
      INTEGER X(N), TYPE
      CHARACTER*8 WORD
      POS = X .GT. 0
      ALL = COUNT(POS) .EQ. N
      WORD = 'mixed'
      IF (ALL) WORD = 'positive'
      TYPE = N
      END

C     How often it was called, with something that is put into a place.
      SUBROUTINE COUNTS(N, X, K)
      DOUBLE PRECISION X(N)
      COMMON /CALLS/ KOUNT
      KOUNT = KOUNT + 1
      K = KOUNT
      X(K) = K
      END

      DOUBLE PRECISION FUNCTION COST(N, X, SCALE)
      DOUBLE PRECISION X(N), SCALE
      COST = 0
      DO 10 I = 1, N
   10 COST = COST + SCALE*X(I)**2
      END

      SUBROUTINE MODEL(N, X, M, F)
      DOUBLE PRECISION X(N), F(M)
      DO 10 I = 1, M
        F(I) = 0
        DO 10 J = 1, N
   10 F(I) = F(I) + I*X(J)**2
      END

C     Nobody looks at the subscripts.
      SUBROUTINE PEEK(N, X, I, Y)
      DOUBLE PRECISION X(N), Y
      Y = X(I)
      END

C     A name that Rust has for itself.
      SUBROUTINE LOOP(TYPE, X, SELF)
      INTEGER TYPE
      REAL X(TYPE), SELF
      SELF = X(TYPE)
      END

C     The scalar products of the columns of A.
      SUBROUTINE GRAM(M, N, A, G)
      DOUBLE PRECISION A(M, N), G(N, N)
      DO 20 J = 1, N
        DO 20 I = 1, N
          G(I, J) = 0
          DO 10 K = 1, M
   10     G(I, J) = G(I, J) + A(K, I)*A(K, J)
   20 CONTINUE
      END

C     Where subscripts begin elsewhere, and which sums are even.
      SUBROUTINE TABLE(N, T, EVEN, L)
      INTEGER T(0:N, -1:1), L(2, 2, 2)
      LOGICAL EVEN(0:N, -1:1)
      DO 10 J = -1, 1
      DO 10 I = 0, N
   10 T(I, J) = 10*I + J
      EVEN = MOD(T, 2) .EQ. 0
      L = 1
      END

      DOUBLE PRECISION FUNCTION FROB(M, N, A)
      DOUBLE PRECISION A(M, N)
      FROB = 0
      DO 10 J = 1, N
      DO 10 I = 1, M
   10 FROB = FROB + A(I, J)**2
      END
