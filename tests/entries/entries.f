      SUBROUTINE STORE(N, X)
      DOUBLE PRECISION X(N), Y, T(10), SUMT
      SAVE T, M
      M = N
      DO 10 I = 1, N
   10 T(I) = X(I)
      RETURN
C     The value number K of those that STORE got.
C     Nothing happens for K = 0.
      ENTRY FETCH(K, Y)
      IF (K .NE. 0) Y = T(K)
      RETURN
      ENTRY MANY(Z, L)
      END
C     Finds the first zero crossing of X: RETURN 1 without one, RETURN 2 where N is not positive.
      SUBROUTINE FINDS(N, X, *, I, *)
      DOUBLE PRECISION X(N)
      IF (N .LE. 0) RETURN 2
      DO 10 I = 1, N-1
   10 IF (X(I)*X(I+1) .LE. 0) RETURN
      RETURN 1
      END
      DOUBLE PRECISION FUNCTION SQ(X)
      DOUBLE PRECISION X, CU
      SQ = X*X
      RETURN
      ENTRY CU(X)
      CU = X**3
      END
      SUBROUTINE USES(K)
      DOUBLE PRECISION X(2)
      X(1) = 1
      X(2) = 2
      K = 0
      CALL FINDS(2, X, *10, I, *20)
      RETURN
   10 K = 1
      RETURN
   20 K = 2
      END
      LOGICAL FUNCTION ISP(C)
      CHARACTER*(*) C
      LOGICAL ISQ
      ISP = C .EQ. 'p'
      RETURN
      ENTRY ISQ(C)
      ISQ = C .EQ. 'q'
      END
      SUBROUTINE WITHF(F, X)
      EXTERNAL F
      DOUBLE PRECISION F, X
      X = F(X)
      RETURN
      ENTRY WITHG(X)
      X = 2*X
      RETURN
      ENTRY WITHH(F, X)
      X = F(X)
      END
