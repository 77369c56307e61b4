C     Subprograms whose arguments only look as if they could be left out, and calls that must fail.

C     The last element is not set.
      SUBROUTINE ALMOST(N, X, Y)
      DOUBLE PRECISION X(N), Y(N)
      DO 10 I = 1, N - 1
   10 Y(I) = X(I + 1) - X(I)
      END

C     N is not what it was; in the second, something else changes it.
      SUBROUTINE HALF(N, Y)
      DOUBLE PRECISION Y(N)
      N = N/2
      DO 10 I = 1, N
   10 Y(I) = I
      END

      SUBROUTINE THIRD(N, Y)
      DOUBLE PRECISION Y(N)
      CALL DIVIDE(N, 3)
      DO 10 I = 1, N
   10 Y(I) = I
      END

      SUBROUTINE DIVIDE(N, K)
      N = N/K
      END

C     Set only where X is positive.
      SUBROUTINE SOME(N, X, Y, K)
      DOUBLE PRECISION X, Y(N)
      IF (X .GT. 0) THEN
        DO 10 I = 1, N
   10   Y(I) = X
        K = N
      END IF
      END

C     What is called only adds to Y and S.
      SUBROUTINE ADDS(N, X, Y, S)
      DOUBLE PRECISION X(N), Y(N), S
      CALL ADDTO(N, X, Y, S)
      END

      SUBROUTINE ADDTO(N, X, Y, S)
      DOUBLE PRECISION X(N), Y(N), S
      DO 10 I = 1, N
        Y(I) = Y(I) + X(I)
   10 S = S + X(I)
      END

C     It returns before it has set K and Y.
      SUBROUTINE EARLY(N, X, Y, K)
      DOUBLE PRECISION X(N), Y(N)
      IF (N .GT. 2) RETURN
      DO 10 I = 1, N
   10 Y(I) = X(I)
      K = N
      END

C     W and V are one array, and so are I and J.
      SUBROUTINE ALIAS(N, X, Y)
      DOUBLE PRECISION X(N), Y(N), W(10), V(10)
      EQUIVALENCE (W, V), (I, J)
      DO 10 I = 1, N
   10 W(I) = 2*X(I)
      DO 20 J = 1, N
   20 Y(J) = V(I)
      END

C     The size is in COMMON, and what is set may be there, too.
      SUBROUTINE SHARED(Y)
      COMMON /SIZES/ N
      DOUBLE PRECISION Y(N)
      DO 10 I = 1, N
   10 Y(I) = I
      END

      SUBROUTINE RESIZE(K)
      COMMON /SIZES/ N
      N = K
      END

C     Something else reads Y and K before they are set.
      SUBROUTINE INNER(N, Y, K, S)
      DOUBLE PRECISION Y(N), S, TOTAL
      S = TOTAL(N, Y, K)
      Y = 0
      K = N
      END

      DOUBLE PRECISION FUNCTION TOTAL(N, Y, K)
      DOUBLE PRECISION Y(N)
      TOTAL = SUM(Y) + K
      END

C     Sizes that are given: as few or as many as one likes.
      SUBROUTINE FILLED(N, Y)
      DOUBLE PRECISION Y(N)
      DO 10 I = 1, N
   10 Y(I) = I
      END

      SUBROUTINE SQUARE(N, A, L)
      DOUBLE PRECISION A(N, N)
      LOGICAL L(N, N, N)
      A = 1
      L = .TRUE.
      END

      SUBROUTINE LONG(N, A)
      INTEGER*8 N
      REAL A(N, N)
      A = 1
      END

      FUNCTION NEEDS(N, WORK)
      DOUBLE PRECISION WORK(N, N)
      WORK(1, 1) = N
      NEEDS = WORK(1, 1)
      END

C     All three have N elements, and A has as many rows.
      DOUBLE PRECISION FUNCTION THREE(N, M, X, Y, A)
      DOUBLE PRECISION X(N), Y(N), A(N, M)
      THREE = 0
      DO 10 J = 1, M
      DO 10 I = 1, N
   10 THREE = THREE + X(I)*Y(I)*A(I, J)
      END

C     The sum of the upper N rows.
      SUBROUTINE UPPER(N, M, A, LDA, S)
      DOUBLE PRECISION A(LDA, M), S
      S = 0
      DO 10 J = 1, M
      DO 10 I = 1, N
   10 S = S + A(I, J)
      END

      SUBROUTINE KEPT(N, M, A, LDA, S)
      DOUBLE PRECISION A(LDA, M), S
      CALL UPPER(N, M, A, LDA, S)
      END

C     How often it was called, with a quotient.
      SUBROUTINE COUNTS(N, X, A, K, R)
      DOUBLE PRECISION X(N), A(N, 2), R
      COMMON /CALLS/ KOUNT
      KOUNT = KOUNT + 1
      K = KOUNT
      DO 10 J = 1, 2
      DO 10 I = 1, N
   10 A(I, J) = J*X(I)
      R = X(1)/X(2)
      END
