//! Small subprograms, one for each kind of jump.

/// A program that calls all of them with several arguments.
pub fn program() -> String {
    let mut text = String::from("      PROGRAM P\n      COMMON /CALLS/ NCALLS\n");
    text += "      NCALLS = 0\n      DO 10 I = -2, 6\n";
    for i in 0..CASES.len() {
        text += &format!("      K = I\n      CALL T{i}(I, K)\n      PRINT *, 'T{i}', I, K\n");
    }
    text += "   10 CONTINUE\n      END\n";
    for (i, (what, body)) in CASES.iter().enumerate() {
        text += &format!("C     {what}.\n      SUBROUTINE T{i}(N, K)\n{body}      END\n");
    }
    text + HELPERS
}

const CASES: &[(&str, &str)] = &[
    (
        "The label at the end of a loop, whose statement counts, is the next iteration",
        "      DO 10 I = 1, N
      IF (MOD(I, 2) .EQ. 0) GOTO 10
      K = K + 100*I
   10 K = K + 1
",
    ),
    (
        "Two loops with one terminal statement",
        "      J = 0
      DO 10 I = 1, N
      DO 10 J = 1, 3
      IF (I + J .EQ. 4) GOTO 10
      IF (I*J .GT. 8) GOTO 20
      K = K + I*J
   10 CONTINUE
   20 K = K*10 + I + J
",
    ),
    (
        "Out of a loop, with the loop variable, by GOTO, EXIT and RETURN",
        "      DO 10 I = N, 4
      K = K + 1
      IF (I .EQ. 2) GOTO 20
   10 CONTINUE
   20 K = K*100 + I
      DO J = 10, N, -3
        IF (J .EQ. 4) EXIT
        K = K + J
      END DO
      K = K*10 + J
      DO 30 L = 1, 10
   30 IF (L .GT. N) RETURN
      K = -K
",
    ),
    (
        "Bounds count as they are before the loop",
        "      M = 3
      DO 10 M = M, M + N
      N1 = 0
      IF (M .GT. 6) GOTO 20
   10 K = K + M
   20 ISTEP = 2
      LAST = N + 4
      DO 30 J = 1, LAST, ISTEP
      LAST = 0
      ISTEP = 7
      IF (J .EQ. 9) GOTO 40
   30 K = K*2 + J
   40 K = K*10 + J
",
    ),
    (
        "No iteration at all; a step of both signs",
        "      DO 10 I = 5, N
      IF (K .GT. 1000) GOTO 20
   10 K = K + I
   20 K = K*10 + I
      ISTEP = 2
      IF (N .GT. 2) ISTEP = -2
      DO 30 J = 3, N, ISTEP
      IF (K .EQ. 12345) GOTO 40
   30 K = K + J
   40 K = K*10 + J
",
    ),
    (
        "Loop variables that are no whole numbers",
        "      X = 0
      DO 10 T = 0.1, 1.05, 0.1
      X = X + T
      IF (T .GT. 0.2*N) GOTO 20
   10 CONTINUE
   20 K = NINT(1000*(X + T))
      DO 30 D = 1D0, 0D0, -0.1D0
      IF (K .LT. 0) GOTO 40
   30 K = K + NINT(10*D)
   40 K = K*10 + NINT(10*D)
",
    ),
    (
        "Loops of other lengths",
        "      INTEGER*8 L8
      INTEGER*2 L2
      INTEGER*1 L1
      DO 10 L8 = 1_8, 3_8*N
   10 IF (L8 .EQ. 7) GOTO 20
   20 K = K + INT(L8)
      DO 30 L2 = 1_2, 9_2, 2_2
   30 IF (L2 .GT. N) GOTO 40
   40 K = K*10 + L2
      DO 50 I = 2147483640, 2147483646
   50 IF (I - 2147483640 .GT. N) GOTO 60
   60 K = K*10 + I - 2147483640
      DO 70 L1 = -100_1, 100_1
   70 IF (L1 .EQ. 50*N) GOTO 80
   80 K = K*10 + L1
",
    ),
    (
        "Loops of GOTO: tested last, first, in the middle, twice",
        "      I = 0
   10 I = I + 1
      K = K + I
      IF (I .LT. N) GOTO 10
   20 IF (I .GE. 9) GOTO 30
      I = I + 2
      GOTO 20
   30 CONTINUE
   40 I = I - 1
      IF (I .LE. 3) GOTO 50
      K = K + 7*I
      IF (MOD(K, 5) .EQ. 0) GOTO 60
      GOTO 40
   50 K = K*3
   60 K = K*10 + I
",
    ),
    (
        "A loop with two ways in, and one inside of another",
        "      I = 0
      IF (N .GT. 2) GOTO 20
   10 K = K + 1
   20 K = K*2
      I = I + 1
      J = 0
   30 J = J + 1
      K = MOD(K + J, 997)
      IF (J .LT. I) GOTO 30
      IF (MOD(K, 3) .EQ. 0) GOTO 10
      IF (I .LT. 8) GOTO 20
",
    ),
    (
        "Arithmetic IF: three ways, two, and whose value is found once",
        "      IF (N - 2) 10, 20, 30
   10 K = K + 1
      GOTO 40
   20 K = K + 2
   30 K = K + 3
   40 IF (N) 50, 50, 60
   50 K = K*2
   60 IF (N - 3) 70, 80, 80
   70 K = K*3
   80 IF (MOD(N, 2)) 90, 100, 90
   90 K = K*5
  100 IF (NUMBER(K) - N) 110, 120, 130
  110 K = K + 11
  120 K = K + 13
  130 X = N
      IF (X) 140, 140, 140
  140 K = K + NUMBER(K)
      X = 0
      X = X/X
      IF (X) 150, 160, 170
  150 K = K + 1
  160 K = K + 1
  170 K = K + 1
      IF (X) 180, 180, 190
  180 K = K + 100
  190 IF (X) 200, 210, 210
  200 K = K + 1000
  210 CONTINUE
",
    ),
    (
        "Computed and assigned GOTO",
        "      GOTO (10, 20, 10, 30), NUMBER(N)
      K = K + 1
   10 K = K + 2
   20 K = K + 4
   30 ASSIGN 50 TO L
      IF (N .GT. 1) ASSIGN 40 TO L
      GOTO L
   40 K = K*3
   50 ASSIGN 60 TO L
   60 GOTO (70), N
      K = -K
   70 CONTINUE
",
    ),
    (
        "Into the arm of an IF, to its end, and from one arm into the other",
        "      IF (N .EQ. 1) GOTO 10
      IF (N .GT. 2) THEN
        K = K + 1
        IF (N .EQ. 4) GOTO 20
        IF (N .EQ. 5) GOTO 30
   10   K = K + 2
      ELSE IF (N .EQ. 0) THEN
        K = K + 3
        GOTO 10
      ELSE
   20   K = K + 5
   30 END IF
      K = K*10 + N
      IF (N .EQ. 3) GOTO 40
      SELECT CASE (N)
      CASE (:0)
        K = K + 1
        IF (N .EQ. -1) GOTO 50
      CASE (1:2)
   40   K = K + 2
      CASE DEFAULT
        IF (N .EQ. 5) GOTO 60
        K = K + 3
      END SELECT
   50 K = K*10
   60 K = K + 1
",
    ),
    (
        "EXIT and CYCLE of loops by name, EXIT of other constructs",
        "      OUTER: DO I = 1, 5
        KEEP: IF (I .NE. N) THEN
          DO J = 1, 5
            K = MOD(K*3 + J, 1009)
            IF (J .EQ. I) CYCLE OUTER
            IF (K .GT. 990) EXIT OUTER
            IF (MOD(K, 11) .EQ. 0) EXIT KEEP
          END DO
          K = K + 1
        END IF KEEP
        DO
          K = K - 3
          IF (K .LT. 500) EXIT
          IF (MOD(K, 7) .EQ. 0) CYCLE
          K = K - 1
        END DO
      END DO OUTER
      K = K*10 + I
",
    ),
    (
        "Conditions that do something are evaluated once",
        "      IF (NUMBER(K) .GT. 3) GOTO 10
   10 IF (NUMBER(K) .GT. 3) CONTINUE
      DO WHILE (NUMBER(K) .NE. 2)
        K = K + 1
        IF (K .GT. 40) GOTO 20
      END DO
   20 IF (NUMBER(N) .GT. 2 .AND. K .GT. 3) RETURN
      K = K + 1
",
    ),
    (
        "Nothing reaches this, and this is without end unless it is left",
        "      GOTO 20
      K = 77
   10 K = K + 1
      DO
        K = K + 1
        IF (K .GT. 20) RETURN
      END DO
      K = 99
   20 IF (N .GT. 3) GOTO 10
      IF (N .GT. 100) THEN
        DO 30
   30   CONTINUE
      END IF
   40 IF (N .LE. 100) GOTO 50
      GOTO 40
   50 CONTINUE
",
    ),
    (
        "STOP that is not reached",
        "      IF (N .LT. 100) GOTO 10
      PRINT *, 'NO'
      STOP 3
   10 K = K + 1
      DO 20 I = 1, 5
        IF (K .EQ. -100) THEN
          PRINT *, 'NO'
          STOP
        END IF
        IF (I .EQ. N) GOTO 30
   20 CONTINUE
      GOTO 40
   30 K = K*10
   40 CONTINUE
",
    ),
    (
        "Alternate returns",
        "      CALL THREE(N, *10, K, *20)
      K = K + 1
      GOTO 30
   10 K = K + 2
      IF (N .EQ. 1) CALL THREE(2, *20, K, *60)
   20 K = K*5
   30 CONTINUE
      DO 40 I = 1, 3
   40 CALL THREE(I, *50, K, *60)
   50 K = K + 3
   60 K = K*7
",
    ),
    (
        "Entries",
        "      CALL SETIT(N)
      CALL ADDTO(K)
      CALL SUMUP(K, N)
      K = K + NINT(ONE(2.0)) + NINT(TWO(3.0, N))
",
    ),
    (
        "Input and output that goes on elsewhere",
        "      CHARACTER*8 LINE(2)
      M = 0
      LINE(1) = '12'
      LINE(2) = '34'
      IF (N .EQ. 1) LINE(1) = 'ABC'
      READ (LINE, '(I4)', ERR = 10, END = 20) (M, I = 1, N)
      K = K + M
      GOTO 30
   10 K = K + 1000
      GOTO 30
   20 K = K + 2000
   30 READ (LINE(1), 40, IOSTAT = IOS, ERR = 50) M
   40 FORMAT (I4)
      K = K*2
   50 IF (IOS .GT. 0) K = K + 5
      READ (LINE(2), 40, END = 60) M
      K = K + M
   60 OPEN (77, STATUS = 'SCRATCH', ERR = 90)
      WRITE (77, *, ERR = 90) K, N
      REWIND 77
      DO 70 I = 1, 3
   70 READ (77, *, END = 80) M
   80 K = K*10 + I
      CLOSE (77, ERR = 90)
      RETURN
   90 K = -1
",
    ),
    (
        "A format by an assigned label",
        "      CHARACTER*8 LINE
      ASSIGN 10 TO L
      IF (N .GT. 2) ASSIGN 20 TO L
      WRITE (LINE, L) N
      WRITE (LINE(5:8), FMT = L) N
      PRINT L, N
   10 FORMAT (I4)
   20 FORMAT (I2.2)
      DO 30 I = 1, 8
   30 K = MOD(K*3 + ICHAR(LINE(I:I)), 1009)
",
    ),
];

const HELPERS: &str = "
      INTEGER FUNCTION NUMBER(M)
      COMMON /CALLS/ NCALLS
      NCALLS = NCALLS + 1
      NUMBER = MOD(ABS(M) + NCALLS, 6)
      END

      RECURSIVE SUBROUTINE THREE(N, *, K, *)
      IF (N .EQ. 1) RETURN 1
      K = K + N
      IF (N .EQ. 2) THEN
        K = K + 1
        RETURN MOD(N, 3)
      END IF
      IF (N .EQ. 3) RETURN N
      IF (N .EQ. 5) CALL THREE(2, *10, K, *20)
      RETURN
   10 K = K + 10
   20 K = K*2
      END

      SUBROUTINE SETIT(M)
      SAVE
      DATA L /5/
      L = L + M
      RETURN
      ENTRY ADDTO(J)
      J = J + L
      IF (J .GT. 20) RETURN
      GOTO 10
      ENTRY SUMUP(J, M)
      J = J*M
   10 L = MOD(L + J, 100)
      END

      REAL FUNCTION ONE(X)
      REAL TWO
      ONE = X + 1
      GOTO 10
      ENTRY TWO(X, N)
      TWO = X*N
      IF (N .GT. 3) RETURN
   10 ONE = ONE*2
      END
";
