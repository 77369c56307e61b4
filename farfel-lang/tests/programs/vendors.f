C     Procedures of the compiler's library; what they say differs from
C     time to time, so that only its form is shown.
      PROGRAM VENDRS
      REAL T(2), R, X(3)
      DOUBLE PRECISION D
      INTEGER V(8), N, K, M
      CHARACTER S*30, U*8, W*5
      INTEGER*8 L
      CALL CPU_TIME(D)
      CALL SYSTEM_CLOCK(N, K, M)
      CALL SYSTEM_CLOCK(COUNT_RATE=K)
      CALL DATE_AND_TIME(VALUES=V)
      CALL DATE_AND_TIME(U)
      PRINT *, D .GE. 0, N .GT. 0, K .GT. 0, V(1) .GT. 2000, U(1:2)
      R = ETIME(T)
      R = DTIME(T)
      CALL SECOND(R)
      PRINT *, R .GE. 0, SECNDS(0.0) .GE. 0, GETPID() .GT. 1
      PRINT *, TIME() .GT. 0, TIME8() .GT. 0, MCLOCK() .GE. 0, IARGC()
      PRINT *, KIND(TIME()), KIND(TIME8()), LEN(FDATE())
      CALL SRAND(7)
      PRINT *, RAND() .LT. 1, IRAND(0) .GE. 0, RAN(3) .LT. 1
      CALL RANDOM_SEED(SIZE=N)
      CALL RANDOM_SEED
      CALL RANDOM_NUMBER(X)
      PRINT *, N .GT. 0, X(3) .LT. 1
      CALL GETARG(0, S)
      CALL GETENV('FARFEL_NO_SUCH', W)
      L = 0
      S = CTIME(L)
      N = FNUM(6)
      PRINT *, LEN_TRIM(S) .GT. 0, W, N
      CALL IDATE(V)
      CALL ITIME(V)
      CALL GETCWD(S, K)
      CALL GET_COMMAND_ARGUMENT(9, W, STATUS=K)
      PRINT *, COMMAND_ARGUMENT_COUNT(), W, K .GT. 0
      CALL FLUSH(6)
      CALL SLEEP(0)
      L = LOC(X(2)) - LOC(X(1))
      PRINT *, L
      CALL EXIT(0)
      END
