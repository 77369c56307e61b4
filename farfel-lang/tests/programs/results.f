C     RECURSIVE and RESULT in every position.
      PROGRAM RESULTS
      INTEGER FACT, FIB
      DOUBLE PRECISION HALF, TRI
      REAL PLAIN
      CHARACTER*5 NAMED
      PRINT *, FACT(5), FIB(10), HALF(3.0D0), TRI(4), PLAIN(2.0)
      PRINT *, NAMED('ab'), EVAL(2.5)
      CALL DOWN(3)
      CALL WAYS
      END
      RECURSIVE FUNCTION FACT(N) RESULT(M)
      INTEGER M
      M = 1
      IF (N .GT. 1) M = N*FACT(N - 1)
      END
      INTEGER RECURSIVE FUNCTION FIB(N) RESULT(K)
      K = N
      IF (N .GT. 1) K = FIB(N - 1) + FIB(N - 2)
      END
      DOUBLE PRECISION FUNCTION HALF(X) RESULT(Y)
      IMPLICIT NONE
      DOUBLE PRECISION X
      Y = X/2
      END
      RECURSIVE DOUBLE PRECISION FUNCTION TRI(N) RESULT(Y)
      IMPLICIT NONE
      INTEGER N
      Y = N
      IF (N .GT. 0) Y = Y + TRI(N - 1)
      END
      FUNCTION PLAIN(X) RESULT(RES)
      REAL :: RES
      RES = X + 0.25
      END
      CHARACTER*5 FUNCTION NAMED(C) RESULT(D)
      CHARACTER*(*) C
      D = C // 'cdefg'
      END
      REAL FUNCTION EVAL(X) RESULT(EVAL_RES)
      EVAL_RES = 2*X
      END FUNCTION EVAL
      RECURSIVE SUBROUTINE DOWN(N)
      PRINT *, N
      IF (N .GT. 0) CALL DOWN(N - 1)
      END
C     RESULT of ENTRY statements: one type, others, and with a RESULT for the function or none.
      SUBROUTINE WAYS
      REAL ONEF, TENF
      INTEGER HUNF
      DOUBLE PRECISION THOUF, PLAINF, OTHER
      CHARACTER*4 TEXTF, TEXTG
      PRINT *, ONEF(2.0), TENF(2.0), HUNF(2.0), THOUF(2.0D0)
      PRINT *, PLAINF(1.5D0), OTHER(1.5D0), TEXTF('a'), TEXTG('b')
      END
      FUNCTION ONEF(X) RESULT(R)
      REAL R, S
      INTEGER T
      DOUBLE PRECISION D, U
      R = X + 1
      RETURN
      ENTRY TENF(X) RESULT(S)
      S = X*10
      RETURN
      ENTRY HUNF(X) RESULT(T)
      T = X*100
      RETURN
      ENTRY THOUF(D) RESULT(U)
      U = D*1000
      END
      DOUBLE PRECISION FUNCTION PLAINF(X)
      DOUBLE PRECISION X, OTH
      PLAINF = X/2
      RETURN
      ENTRY OTHER(X) RESULT(OTH)
      OTH = -X
      END
      FUNCTION TEXTF(C) RESULT(D)
      CHARACTER*4 D, E
      CHARACTER*(*) C
      D = C // 'f'
      RETURN
      ENTRY TEXTG(C) RESULT(E)
      E = C // 'g'
      END
