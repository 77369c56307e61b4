      INTEGER FUNCTION QUOT(I, J)
      QUOT = I/J
      END
      INTEGER FUNCTION REST(I, J)
      REST = MOD(I, J)
      END
      INTEGER*8 FUNCTION MODU(I, J)
      INTEGER*8 I
      INTEGER*2 J
      MODU = MODULO(I, J)
      END
      INTEGER FUNCTION POWER(I, J)
      POWER = I**J
      END
      INTEGER FUNCTION ROUNDS(N, K)
      ROUNDS = 0
      DO 10 I = 1, N, K
   10 ROUNDS = ROUNDS + 1
      END
      SUBROUTINE PARTS(N, K, I, J)
      INTEGER I(N), J(N)
      WHERE (J(1:N) .GE. 0) I(1:N) = I(1:N)/J(1:N)
      END
      INTEGER FUNCTION NESTED(I, J, K)
      F(X) = X + I/J
      NESTED = F(0.0) + (I/(J/K))
      END

      SUBROUTINE OPENS(NAME)
      CHARACTER*(*) NAME
      OPEN (17, FILE=NAME, STATUS='OLD')
      CLOSE (17)
      END
      SUBROUTINE READS(TEXT, X)
      CHARACTER*(*) TEXT
      READ (TEXT, *) X
      END
      INTEGER FUNCTION READE(TEXT)
      CHARACTER*(*) TEXT
      READ (TEXT, '(I5)', END=10) READE
      RETURN
   10 READE = -1
      END
      INTEGER FUNCTION ASKS(TEXT)
      CHARACTER*(*) TEXT
      READ (TEXT, *, IOSTAT=ASKS) X
      END
      SUBROUTINE WRITES(X)
      CHARACTER*10 F
      F = '(I5)'
      PRINT F, X
      END
      SUBROUTINE PRINTS(X)
      PRINT *, 'X', X
      END
      SUBROUTINE PAUSES
      PAUSE 'MOUNT TAPE'
      END
      SUBROUTINE EXITS(N)
      CALL EXIT(N)
      END
      SUBROUTINE ABORTS
      CALL ABORT
      END

      SUBROUTINE ROOM(N, X)
      INTEGER*8 N
      REAL W(N)
      W(1) = X
      W(N) = X
      X = W(1) + 1
      END
      REAL FUNCTION TWICE(N)
      REAL, ALLOCATABLE :: W(:)
      ALLOCATE (W(10))
      IF (N .GT. 1) ALLOCATE (W(N))
      TWICE = 1
      END

C     Functions in output lists stop, and what is written next is written.
      REAL FUNCTION SQUARE(I)
      IF (I .GT. 3) STOP 'NO MORE'
      SQUARE = I*I
      END
      CHARACTER*3 FUNCTION NAMED(I)
      IF (I .GT. 3) STOP 'NO NAME'
      NAMED = CHAR(ICHAR('A') + I)
      END
      SUBROUTINE TABLE(NAME, N)
      CHARACTER NAME*(*), NAMED*3
      F(X) = SQUARE(INT(X))
      OPEN (18, FILE=NAME)
      WRITE (18, *) NAMED(N)//'.'
      WRITE (18, '(20F5.1)') F(1.0), (I*1.0, SQUARE(I), (SQUARE(J),
     +J = I, N), I = 1, N)
      CLOSE (18)
      END

C     The size is known only when the record is read.
      SUBROUTINE RECORD(NAME, N, X)
      CHARACTER*(*) NAME
      REAL X(3)
      N = 0
      OPEN (19, FILE=NAME)
      READ (19, *, END=10) N, (X(I), I = 1, N)
      CLOSE (19)
      RETURN
   10 N = -1
      CLOSE (19)
      END

      SUBROUTINE MATRIX(NAME, A)
      CHARACTER*(*) NAME
      REAL A(2, 2)
      OPEN (20, FILE=NAME)
      REWIND 20
      READ (20, *) N, M, ((A(I, J), I = 1, N), J = 1, M)
      CLOSE (20)
      END
      SUBROUTINE EMPTY(NAME, N, X)
      CHARACTER*(*) NAME
      REAL X(*)
      OPEN (21, FILE=NAME)
      READ (21, *) N, (X(I), I = 1, N)
      CLOSE (21)
      END

      SUBROUTINE RATIOS(NAME, I, J)
      CHARACTER*(*) NAME
      KF(K) = I/(J - K)
      OPEN (22, FILE=NAME)
      WRITE (22, *) I, KF(0), (KF(K), K = 1, 2)
      CLOSE (22)
      END
      SUBROUTINE INTERN(TEXT, N, X)
      CHARACTER*(*) TEXT
      REAL X(3)
      READ (TEXT, *) N, (X(I), I = 1, N)
      END
      SUBROUTINE WAITS(K)
      INTEGER*1 K
      IF (K .EQ. 7) STOP K
      PAUSE 12
      END

      SUBROUTINE CALLS(F, X)
      EXTERNAL F
      COMMON /STATE/ S
      S = X
      CALL F(X)
      X = S
      END
