use super::{body, errors, fixed, good, printed, table};
use crate::ir::{DoEnd, StmtKind};

/// Each statement, as written and as printed back.
#[test]
fn statements() {
    table(
        &[
            ("X=1", "X = 1"),
            ("A ( I , 2 ) = B", "A(I, 2) = B"),
            ("C(I)(1:2)='X'", "C(I)(1:2) = 'X'"),
            ("CONTINUE", "CONTINUE"),
            ("GO TO 10", "GOTO 10"),
            ("GOTO(10,10)I", "GOTO (10, 10), I"),
            ("GO TO (10, 10), I+1", "GOTO (10, 10), I + 1"),
            ("GOTO LAB", "GOTO LAB"),
            ("GOTO LAB,(10,10)", "GOTO LAB, (10, 10)"),
            ("GOTO LAB(10)", "GOTO LAB, (10)"),
            ("ASSIGN10TOLAB", "ASSIGN 10 TO LAB"),
            ("CALL F", "CALL F"),
            ("CALL F()", "CALL F"),
            (
                "CALL F(X, *10, &10, 'A', -1)",
                "CALL F(X, *10, *10, 'A', -1)",
            ),
            ("RETURN", "RETURN"),
            ("RETURN 1", "RETURN 1"),
            ("STOP", "STOP"),
            ("STOP 'DONE'", "STOP 'DONE'"),
            ("STOP 3", "STOP 3"),
            ("PAUSE", "PAUSE"),
            ("IF (X) 10, 10, 10", "IF (X) 10, 10, 10"),
            ("IF (X.GT.0) Y = 1", "IF (X .GT. 0) Y = 1"),
            ("IF (X.GT.0) GOTO 10", "IF (X .GT. 0) GOTO 10"),
            ("IF (A) IF (X) 10, 10, 10", "IF (A) IF (X) 10, 10, 10"),
            ("IF (X) CALL F", "IF (X) CALL F"),
            ("IF (X) DO10I = 1", "IF (X) DO10I = 1"),
            ("ENTRY G(X, *)", "ENTRY G(X, *)"),
            // Input and output.
            ("READ *, X", "READ *, X"),
            ("READ 20, X, Y", "READ 20, X, Y"),
            ("READ 20", "READ 20"),
            ("READ (5, *) X", "READ (5, *) X"),
            (
                "READ(5,20,END=10,ERR=10,IOSTAT=I)X",
                "READ (5, 20, END=10, ERR=10, IOSTAT=I) X",
            ),
            ("READ(UNIT=5,FMT=20)X", "READ (UNIT=5, FMT=20) X"),
            ("READ(5,FMT='(I5)')X", "READ (5, FMT='(I5)') X"),
            ("READ(FMT),X", "READ (FMT), X"),
            ("READ(FMT(1,2)),X", "READ (FMT(1, 2)), X"),
            ("READ(10, *), N", "READ (10, *) N"),
            ("READ(UNIT=10), N", "READ (UNIT=10) N"),
            ("READ(10), N", "READ (10) N"),
            ("READ(*,'(A)'), N", "READ (*, '(A)') N"),
            ("WRITE(6, *), N", "WRITE (6, *) N"),
            ("READ(5)", "READ (5)"),
            ("WRITE(*,*)'A',X", "WRITE (*, *) 'A', X"),
            // Keywords of old compilers.
            ("TYPE *, X", "PRINT *, X"),
            ("TYPE 20, I", "PRINT 20, I"),
            ("ACCEPT *, X", "READ *, X"),
            ("ACCEPT 20, X", "READ 20, X"),
            ("FLUSH(6)", "FLUSH (6)"),
            ("FLUSH I", "FLUSH I"),
            (
                "OPEN(5,NAME='A',TYPE='OLD',READONLY,SHARED)",
                "OPEN (5, FILE='A', STATUS='OLD', ACTION='READ')",
            ),
            (
                "OPEN(5,CARRIAGECONTROL='LIST',RECORDSIZE=80,NOSPANBLOCKS)",
                "OPEN (5, RECL=80)",
            ),
            (
                "OPEN(5,CC='FORTRAN',SHARE='DENYNONE',BLOCKSIZE=512,MAXREC=9)",
                "OPEN (5, CARRIAGECONTROL='FORTRAN', MAXREC=9)",
            ),
            ("CLOSE(5,DISPOSE='DELETE')", "CLOSE (5, STATUS='DELETE')"),
            ("INQUIRE(5,NAME=F)", "INQUIRE (5, NAME=F)"),
            (
                "WRITE(6,20)(A(I),I=1,N),B",
                "WRITE (6, 20) (A(I), I = 1, N), B",
            ),
            (
                "WRITE(6,20)((A(I,J),I=1,N),J=1,N,2)",
                "WRITE (6, 20) ((A(I, J), I = 1, N), J = 1, N, 2)",
            ),
            ("WRITE(6,*)(A+B)*C,(A)", "WRITE (6, *) (A + B)*C, (A)"),
            (
                "WRITE(6,*)(A.EQ.B,I=1,2),(C==D)",
                "WRITE (6, *) (A .EQ. B, I = 1, 2), (C .EQ. D)",
            ),
            ("WRITE(6,*),X", "WRITE (6, *) X"),
            ("WRITE(S(1:3),'(A)')X", "WRITE (S(1:3), '(A)') X"),
            ("WRITE(6,NML)", "WRITE (6, NML)"),
            ("PRINT*,X", "PRINT *, X"),
            ("PRINT 20,X", "PRINT 20, X"),
            ("PRINT '(F5.2)',X", "PRINT '(F5.2)', X"),
            ("PRINT FMT,X", "PRINT FMT, X"),
            (
                "OPEN(10,FILE='A',STATUS='OLD')",
                "OPEN (10, FILE='A', STATUS='OLD')",
            ),
            ("CLOSE(10)", "CLOSE (10)"),
            ("INQUIRE(FILE='A',EXIST=L)", "INQUIRE (FILE='A', EXIST=L)"),
            ("REWIND 10", "REWIND 10"),
            ("REWIND(10)", "REWIND (10)"),
            ("BACKSPACE N", "BACKSPACE N"),
            ("ENDFILE 10", "ENDFILE 10"),
            ("END FILE (10)", "ENDFILE (10)"),
            // Assignments to variables that are named like keywords.
            ("IF = 1", "IF = 1"),
            ("IF(3) = 4", "IF(3) = 4"),
            ("DO10I = 1.3", "DO10I = 1.3"),
            ("DO 10 I = 1.3", "DO10I = 1.3"),
            ("END = 1", "END = 1"),
            ("ENDIF = 1", "ENDIF = 1"),
            ("ELSE = 1", "ELSE = 1"),
            ("CALLF = 1", "CALLF = 1"),
            ("ADF(3) = 3", "ADF(3) = 3"),
            ("ADR = TANGENT", "ADR = TANGENT"),
            ("FORMAT(2) = 1", "FORMAT(2) = 1"),
            ("DATA(1) = 1", "DATA(1) = 1"),
            ("REALX = 1", "REALX = 1"),
            ("READ(1) = 1", "READ(1) = 1"),
            ("GOTO10 = 1", "GOTO10 = 1"),
            ("IF (A) = B(1,2)", "IF(A) = B(1, 2)"),
            ("PARAMETER = 1", "PARAMETER = 1"),
            ("SUBROUTINE = 1", "SUBROUTINE = 1"),
            ("IF (A) THEN = 1", "IF (A) THEN = 1"),
            ("DO WHILE (3) = 1", "DOWHILE(3) = 1"),
        ],
        |text| {
            // The statements with labels can be referred to, and make what follows executable.
            let got = body(&format!("   10 CONTINUE\n   20 FORMAT(I5)\n{text}"));
            got.lines().nth(2).unwrap_or("").trim_start().to_owned()
        },
    );
}

#[test]
fn blocks() {
    let text = "\
IF (A) THEN
X = 1
ELSE IF (B) THEN
X = 2
ELSEIF(C)THEN
ELSE
X = 3
END IF
DO 10 I = 1, 3
DO 10 J = 1, 3, 2
   10 X = X + 1
DO 20, K = 1, N
   20 CONTINUE
DO I = 1, 2
X = 1
ENDDO
DO WHILE (X .LT. 3)
X = X + 1
END DO
DO
IF (X .GT. 3) EXIT
CYCLE
END DO
OUTER: DO I = 1, 3
CYCLE OUTER
END DO OUTER
DO 30 I = 1, 3
IF (I .EQ. 2) GOTO 30
   30 END DO";
    let expected = "      IF (A) THEN
        X = 1
      ELSE IF (B) THEN
        X = 2
      ELSE IF (C) THEN
      ELSE
        X = 3
      END IF
      DO 10 I = 1, 3
        DO 10 J = 1, 3, 2
   10     X = X + 1
      DO 20 K = 1, N
   20 CONTINUE
      DO I = 1, 2
        X = 1
      END DO
      DO WHILE (X .LT. 3)
        X = X + 1
      END DO
      DO
        IF (X .GT. 3) EXIT
        CYCLE
      END DO
      OUTER: DO I = 1, 3
        CYCLE OUTER
      END DO OUTER
      DO 30 I = 1, 3
        IF (I .EQ. 2) GOTO 30
   30 CONTINUE";
    assert_eq!(body(text), expected);
}

/// Only the comma makes it a loop.
#[test]
fn do_without_comma() {
    assert_eq!(
        errors(&fixed("DO 10 I = 1.3\nX = 1\n   10 CONTINUE")),
        "1:7-1:20 F0501 without a comma this is an assignment, not a DO statement\n  3:4: the loop would end here\n  help: separate the first and the last value of the loop by a comma\n"
    );
}

#[test]
fn statement_after_then() {
    assert_eq!(
        errors(&fixed("X = 1\nIF (X .GT. 0) THEN Y = 2")),
        "2:21-2:25 F0501 this assigns to THENY: blanks mean nothing in fixed form\n  help: nothing may follow THEN: write the statement on a line of its own\n"
    );
}

#[test]
fn shared_terminal() {
    let units = good(
        &fixed("DO 10 I = 1, 3\nDO 10 J = 1, 3\n   10 X = 1\nY = 2"),
        None,
    );
    let [outer, after] = &units[0].body[..] else {
        panic!("{:?}", units[0].body)
    };
    let StmtKind::Do(outer) = &outer.kind else {
        panic!("{outer:?}")
    };
    let StmtKind::Do(inner) = &outer.body[0].kind else {
        panic!("{outer:?}")
    };
    assert_eq!((outer.end, inner.end), (DoEnd::Label(10), DoEnd::Label(10)));
    assert_eq!(outer.body.len(), 1);
    assert_eq!(inner.body[0].label, Some(10));
    assert!(matches!(after.kind, StmtKind::Assign(..)));
}

#[test]
fn formats() {
    table(
        &[
            ("('A' 'B',\"C\"'D')", "('A', 'B', 'C', 'D')"),
            (
                "(1X,'IT''S',3Habc,I5/(F10.3))",
                "(1X, 'IT''S', 3Habc, I5/(F10.3))",
            ),
            ("(1X4HABCDI5)", "(1X4HABCDI5)"),
            ("(1 X, I 5)", "(1X, I5)"),
            ("(1H1)", "(1H1)"),
            ("(' a , b ')", "(' a , b ')"),
            ("(\"don't\")", "('don''t')"),
            ("(I5,$)", "(I5, $)"),
            ("(1P3HabcE12.3)", "(1P3HabcE12.3)"),
        ],
        |text| {
            let got = body(&format!("   10 FORMAT{text}\nPRINT 10, X"));
            let line = got.lines().next().unwrap_or("");
            line.strip_prefix("   10 FORMAT").unwrap_or(line).to_owned()
        },
    );
}

#[test]
fn several_statements_on_a_line() {
    assert_eq!(
        body("X = 1; Y = 2; ; CALL F(';')"),
        "      X = 1\n      Y = 2\n      CALL F(';')"
    );
    assert_eq!(
        body("X = 1; Y = 2\n     + + 3; Z = 4"),
        "      X = 1\n      Y = 2 + 3\n      Z = 4"
    );
}

#[test]
fn comments_stay_in_place() {
    let text = "\
C     about the program

C     about X
      REAL X
*     before
      X = 1 ! beside
      DO 10 I = 1, 3
c       inside
   10 CONTINUE
      Y = X
!     between the lines
     + + 1
C
      IF (X .GT. 0) THEN
        Y = 1
C       at the end of the arm
      END IF
C     last
      END
";
    let expected = "\
C     about the program
C     about X
      REAL X
C     before
      X = 1 ! beside
      DO 10 I = 1, 3
C       inside
   10 CONTINUE
C     between the lines
      Y = X + 1
C
      IF (X .GT. 0) THEN
        Y = 1
C       at the end of the arm
      END IF
C     last
      END
";
    assert_eq!(printed(text, None), expected);
}

#[test]
fn a_faulty_statement_gives_one_error() {
    // Blocks that malformed statements open are still open.
    let text = "      IF (A .GT.) THEN
        X = 1
      END IF
      IF (A)
        X = 1
      ENDIF
      IF (A) THNE
      ELSE
      ENDIF
      IF (A .EQ. (B) THEN
      ENDIF
      DO 10 I = 1,
   10 CONTINUE
      DO 20 I = 1, 3
   20 X = )
      END
";
    assert_eq!(
        errors(text),
        "\
1:17-1:18 F0001 expected an expression, found `)`
4:13-4:13 F0001 expected THEN or a statement, found the end of the statement
  help: write THEN after the condition
7:14-7:18 F0001 expected THEN or a statement, found `THNE`
  help: did you mean THEN?
10:22-10:26 F0001 expected `)`, found `THEN`
  help: a parenthesis is not closed
12:19-12:19 F0001 expected an expression, found the end of the statement
15:11-15:12 F0001 expected an expression, found `)`
"
    );
}
