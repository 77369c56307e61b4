C     Input and output: formats, files and texts that a caller gets wrong.
C
C     Formats in variables.
      SUBROUTINE FMTARR(N, F, X, T)
      CHARACTER*8 F(N)
      CHARACTER*40 T
      WRITE (T, F) X
      END
      SUBROUTINE FMTELE(F, I, X, T)
      CHARACTER*8 F(3)
      CHARACTER*40 T
      WRITE (T, F(I)) X
      END
      SUBROUTINE FMTCAT(F, X, T)
      CHARACTER*(*) F
      CHARACTER*40 T
      WRITE (T, '('//F//')') X
      END
      SUBROUTINE FMTFIL(F, X)
      CHARACTER*(*) F
      OPEN (61, STATUS='SCRATCH')
      WRITE (61, F) X
      CLOSE (61)
      END
      SUBROUTINE FMTREA(F, X, T)
      CHARACTER*(*) F, T
      READ (T, F) X
      END
      SUBROUTINE FMTCAL(K, X, T)
      CHARACTER T*40, FMTOF*60
      WRITE (T, FMTOF(K)) X
      END
      CHARACTER*60 FUNCTION FMTOF(K)
      FMTOF = '(F8.3)'
      IF (K .GT. 1) FMTOF = '(F9.2147483640)'
      IF (K .GT. 2) FMTOF = '('
      END
      SUBROUTINE FMTASS(K, X, T)
      CHARACTER*40 T
  100 FORMAT (F8.3)
  200 FORMAT (I4)
      IF (K .EQ. 1) ASSIGN 100 TO L
      IF (K .EQ. 2) ASSIGN 200 TO L
      WRITE (T, L) X
      END
C     Files that a procedure uses while a statement uses them.
      SUBROUTINE IODO(KF, N, X)
      EXTERNAL KF
      DIMENSION X(*)
      WRITE (71, *) (X(I), I = 1, KF(N))
      END
      SUBROUTINE IOSUB(KF, N, X)
      EXTERNAL KF
      DIMENSION X(*)
      REWIND (71)
      READ (71, *) (X(KF(I)), I = 1, N)
      END
      SUBROUTINE IOUNIT(KF)
      EXTERNAL KF
      WRITE (KF(1), *) KF(2)
      END
      SUBROUTINE IOREC(KF)
      EXTERNAL KF
      OPEN (72, STATUS='SCRATCH', ACCESS='DIRECT', RECL=8)
      WRITE (72, REC=KF(1)) KF(2)
      CLOSE (72)
      END
      SUBROUTINE IOWR(N)
      WRITE (71, *) N
      END
      SUBROUTINE IOFLSH(K)
      CALL FLUSH(K)
      END
      SUBROUTINE IOFLSA
      CALL FLUSH
      END
      SUBROUTINE IOFLSS
      FLUSH (71)
      END
      SUBROUTINE IOINQU(K, T)
      CHARACTER T*3
      INQUIRE (K, NAME=T)
      END
      SUBROUTINE IOINQF(K)
      INQUIRE (FILE='nothing', NUMBER=K)
      END
      SUBROUTINE IOCLOS(K)
      CLOSE (K)
      END
      SUBROUTINE IOOPEN(K)
      OPEN (K, STATUS='SCRATCH')
      END
C     Texts that are read and written.
      SUBROUTINE NAMED(S, K)
      CHARACTER*(*) S
      CHARACTER C*3, D(2)*2
      DIMENSION A(4)
      NAMELIST /G/ I, A, C, D
      READ (S, NML=G)
      K = I
      END
      SUBROUTINE NAMEW(N, T)
      CHARACTER*8 T(3)
      DIMENSION A(4)
      NAMELIST /H/ N, A
      A = 1
      WRITE (T, NML=H)
      END
      SUBROUTINE INTARR(N, T)
      CHARACTER*4 T(N)
      WRITE (T, '(I4)') (I, I = 1, N + 1)
      END
      SUBROUTINE INTSUB(I, J, T)
      CHARACTER*8 T
      WRITE (T(I:J), '(I4)') 12
      END
      SUBROUTINE INTRD(I, J, T, K)
      CHARACTER*8 T
      READ (T(I:J), *) K
      END
      SUBROUTINE LISTRD(S, N, C, L, Z)
      CHARACTER*(*) S
      CHARACTER*3 C(N)
      LOGICAL L
      COMPLEX Z
      READ (S, *) C, L, Z
      END
      SUBROUTINE READN(S, N)
      CHARACTER*(*) S
      DIMENSION X(4)
      READ (S, *) N, (X(I), I = 1, N)
      END
      SUBROUTINE READI(S, N, X)
      CHARACTER*(*) S
      DIMENSION X(4)
      I = 99
      READ (S, *) (I, X(I), J = 1, N)
      END
      SUBROUTINE IOSTA(K, I)
      DIMENSION K(2)
      READ (77, *, IOSTAT=K(I)) J
      END
      SUBROUTINE OPENX(K, S, I)
      CHARACTER*(*) S
      OPEN (K, STATUS=S)
      OPEN (K, RECL=I, ACCESS='DIRECT')
      CLOSE (K, STATUS=S)
      END
      SUBROUTINE ADVNCE(S, T, K)
      CHARACTER*(*) S, T
      OPEN (73, STATUS='SCRATCH')
      WRITE (73, '(A)') S
      REWIND (73)
      READ (73, '(A)', ADVANCE=T, SIZE=K) S
      CLOSE (73)
      END
