C     Files: direct access, unformatted, every specifier that tells something.
      PROGRAM FILES
      INTEGER I, J, K, N, R, IOS, NUM
      LOGICAL EX, OP, NM
      CHARACTER*20 NAME, ACC, FORM, BLANK, SEQ, DIR, FMTD, UNF
      REAL X(3), Y(3)
      DATA X /1., 2., 3./
      OPEN (UNIT=21, FILE='direct.tmp', STATUS='UNKNOWN',
     +  ACCESS='DIRECT', FORM='UNFORMATTED', RECL=12, ERR=90,
     +  IOSTAT=IOS)
      DO 10 I = 1, 3
   10 WRITE (21, REC=4 - I, ERR=90, IOSTAT=IOS) (X(J)*I, J = 1, 3)
      READ (21, REC=1) Y
      PRINT *, Y, IOS
      READ (21, REC=3, IOSTAT=IOS) Y
      PRINT *, Y
      INQUIRE (UNIT=21, EXIST=EX, OPENED=OP, NUMBER=NUM, NAMED=NM,
     +  ACCESS=ACC, DIRECT=DIR, SEQUENTIAL=SEQ, FORM=FORM,
     +  FORMATTED=FMTD, UNFORMATTED=UNF, RECL=R, NEXTREC=N)
      PRINT *, EX, OP, NUM, NM, ACC, DIR, SEQ, FORM, FMTD, UNF, R, N
      CLOSE (21, STATUS='DELETE')
      INQUIRE (FILE='direct.tmp', EXIST=EX)
      PRINT *, EX
      OPEN (22, FILE='text.tmp', STATUS='NEW', BLANK='ZERO')
      WRITE (22, '(3I4)') 1, 2, 3
      WRITE (22, 100) 4, 5, 6
      ENDFILE (UNIT=22, IOSTAT=IOS, ERR=90)
      REWIND (22, ERR=90)
      INQUIRE (22, BLANK=BLANK, NAME=NAME)
      PRINT *, BLANK, NAME .NE. ' '
      READ (22, 100, END=80) I, J, K
      PRINT *, I, J, K
      BACKSPACE (22, IOSTAT=IOS)
      READ (22, FMT=100, END=80, ERR=90, IOSTAT=IOS) K, J, I
      PRINT *, I, J, K
   20 READ (22, 100, END=80) I
      GOTO 20
   80 PRINT *, 'end of file'
      REWIND 22
      READ (22, 100, ERR=90) I
      CLOSE (UNIT=22, STATUS='KEEP', ERR=90, IOSTAT=IOS)
      OPEN (23, FILE='text.tmp', STATUS='OLD', ACCESS='APPEND')
      WRITE (23, 100) 7, 8, 9
      FLUSH (23)
      FLUSH 23
      CALL FLUSH(23)
      REWIND (UNIT=23)
      N = 0
   30 READ (23, '(I4)', END=40) I
      N = N + I
      GOTO 30
   40 PRINT *, N
      CLOSE (23, STATUS='DELETE')
      OPEN (24, FILE='not/there.tmp', STATUS='OLD', ERR=50)
      PRINT *, 'not here'
   50 PRINT *, 'no such file'
      STOP
   90 PRINT *, 'trouble', IOS
  100 FORMAT (3I4)
      END
