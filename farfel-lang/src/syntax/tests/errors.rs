use super::{errors, fixed};

#[test]
fn misspelt_keywords() {
    for (text, meant) in [
        ("SUBROTINE S(X)", "SUBROUTINE"),
        ("FUNCTOIN F(X)", "FUNCTION"),
        ("X = 1\nCONTINE", "CONTINUE"),
        ("X = 1\nCAL F(X)", "CALL"),
        ("X = 1\nRETRUN", "RETURN"),
        ("X = 1\nENDO", "END DO"),
        ("X = 1\nWRTE(6,*) X", "WRITE"),
        ("INTGER I", "INTEGER"),
        ("DIMENSON A(3)", "DIMENSION"),
    ] {
        let got = errors(&fixed(text));
        let first: Vec<_> = got.lines().take(2).collect();
        assert!(
            first[0].ends_with("F0002 unrecognised statement")
                && first[1] == format!("  help: did you mean {meant}?"),
            "{text}: {got}"
        );
    }
}

/// All errors of a text, in one run.
#[test]
fn all_at_once() {
    let text = "      SUBROUTINE S(X, Y)
      REAL X, Y,
      INTEGER I
      X = Y +
      CALL F(X
      GOTO 99
      DO 10 I = 1, 3
      Y = ((X)
   10 CONTINUE
      WRITE (6, *) 'abc
      FOO BAR
      END
      FUNCTION G(
      G = 1
      END
";
    assert_eq!(
        errors(text),
        "\
2:17-2:17 F0001 expected a name, found the end of the statement
4:14-4:14 F0001 expected an expression, found the end of the statement
5:15-5:15 F0001 expected `,` or `)`, found the end of the statement
  help: a parenthesis is not closed
6:12-6:14 F0004 there is no statement with label 99 in this program unit
8:15-8:15 F0001 expected `)`, found the end of the statement
  help: a parenthesis is not closed
10:20-10:24 F0001 the character constant does not end
  help: close it with the same quote; a quote inside is written twice
11:7-11:14 F0002 unrecognised statement
13:18-13:18 F0001 expected a dummy argument, found the end of the statement
"
    );
}

#[test]
fn errors_in_statements() {
    for (text, expected) in [
        (
            "GOTO",
            "expected a label, a variable or `(`, found the end of the statement",
        ),
        (
            "GOTO (10, 20",
            "expected `,` or `)`, found the end of the statement",
        ),
        ("ASSIGN 10 X", "expected TO, found `X`"),
        ("CALL 3", "expected the name of a subroutine, found `3`"),
        (
            "IF (X) 10, 20",
            "expected `,`, found the end of the statement",
        ),
        ("IF X = 1", ""),
        (
            "IF (X) DO 10 I = 1, 3",
            "this statement cannot follow IF (…) on the same line",
        ),
        (
            "IF (X) ADF(Y)",
            "this statement cannot follow IF (…) on the same line",
        ),
        (
            "IF (X) IF (Y) Z = 1",
            "this statement cannot follow IF (…) on the same line",
        ),
        (
            "IF (X) END",
            "this statement cannot follow IF (…) on the same line",
        ),
        ("WRITE 6, X", "expected `(`, found `6`"),
        (
            "WRITE (6, *",
            "expected `,` or `)`, found the end of the statement",
        ),
        (
            "READ (5, *) X,",
            "expected an expression, found the end of the statement",
        ),
        (
            "WRITE (6, *) (A(I), I = 1)",
            "expected `,` and the last value of the loop, found `)`",
        ),
        ("WRITE (6, *) (I = 1, 3)", "expected `,`, found `=`"),
        (
            "DATA (I = 1, 3) /1/",
            "expected `,` and a loop variable, found `=`",
        ),
        ("STOP 1 2 X", "expected the end of the statement, found `X`"),
        (
            "   10 FORMAT(I5",
            "expected `)`, found the end of the statement",
        ),
        (
            "   10 FORMAT(I5) X",
            "expected the end of the statement, found `X`",
        ),
        ("INTERFACE", "Farfel does not support INTERFACE blocks"),
    ] {
        let got = errors(&fixed(&format!("X = 1\n{text}")));
        let message = got.lines().next().unwrap_or("");
        assert!(message.ends_with(expected), "{text}: {got}");
    }
}
