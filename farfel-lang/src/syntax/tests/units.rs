use super::{Form, errors, fixed, good, printed, symbols, table};
use crate::ir::UnitKind;

/// The paper's Listing 7 in the columns of fixed form.
pub(super) const LISTING_7: &str = "\
C     ASTAR & BSTAR: GUESSES IN, OPTIMIZED VALUES OUT
      SUBROUTINE EQLBRM(BIGA, BIGB, ASTAR, BSTAR, N)
      EXTERNAL BIGA, BIGB
        FUNCTION F(ASTAR)
          FUNCTION G(A)
            FUNCTION H(B)
              H = BIGB(ASTAR, B)
            END
            BSTAR = ARGMAX(H, BSTAR, N)
            G = BIGA(A, BSTAR)
          END
          F = ARGMAX(G, ASTAR, N)-ASTAR
        END
      ASTAR = ROOT(F, ASTAR, N)
      END

      FUNCTION ROOT(F, X0, N)
      X = X0
      DO 1669 I=1,N
      CALL DERIV2(F, X, Y, YPRIME)
 1669 X = X-Y/YPRIME
      ROOT = X
      END

      SUBROUTINE DERIV2(F, X, Y, YPRIME)
      EXTERNAL F
      ADF(X)
      Y = F(X)
      END ADF(YPRIME = TANGENT(Y))
      END

      FUNCTION ARGMAX(F, X0, N)
        FUNCTION FPRIME(X)
          FPRIME = DERIV1(F, X)
        END
        ARGMAX = ROOT(FPRIME, X0, N)
      END

      FUNCTION DERIV1(F, X)
      EXTERNAL F
      ADF(X)
      Y = F(X)
      END ADF(DERIV1 = TANGENT(Y))
      END

      FUNCTION GMBIGA(A, B)
      PRICE = 20-0.1*A-0.1*B
      COSTS = A*(10-0.05*A)
      GMBIGA = A*PRICE-COSTS
      END

      FUNCTION GMBIGB(A, B)
      PRICE = 20-0.1*B-0.0999*A
      COSTS = B*(10.005-0.05*B)
      GMBIGB = B*PRICE-COSTS
      END

      PROGRAM MAIN
      READ *, ASTAR
      READ *, BSTAR
      READ *, N
      CALL EQLBRM(GMBIGA, GMBIGB, ASTAR, BSTAR, N)
      PRINT *, ASTAR, BSTAR
      END
";

#[test]
fn listing_7() {
    let units = good(LISTING_7, None);
    let names: Vec<_> = units.iter().map(|u| u.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "EQLBRM", "ROOT", "DERIV2", "ARGMAX", "DERIV1", "GMBIGA", "GMBIGB", "MAIN"
        ]
    );
    assert_eq!(
        units[0].comments,
        ["     ASTAR & BSTAR: GUESSES IN, OPTIMIZED VALUES OUT"]
    );
    let f = &units[0].nested[0];
    let g = &f.nested[0];
    let h = &g.nested[0];
    assert_eq!([&*f.name, &*g.name, &*h.name], ["F", "G", "H"]);
    insta::assert_snapshot!(printed(LISTING_7, None));
}

/// The listing as in the paper's text, without columns.
#[test]
fn listing_7_in_free_form() {
    let text: String = LISTING_7
        .lines()
        .map(|l| match l.strip_prefix("      ") {
            Some(rest) => format!("{rest}\n"),
            None => format!("{}\n", l.trim_start()),
        })
        .collect();
    assert_eq!(printed(&text, None), printed(LISTING_7, None));
}

#[test]
fn headers() {
    for (text, expected) in [
        ("SUBROUTINE S", "      SUBROUTINE S\n"),
        ("SUBROUTINE S()", "      SUBROUTINE S\n"),
        ("SUBROUTINE S(A, *, B)", "      SUBROUTINE S(A, *, B)\n"),
        ("FUNCTION F(X)", "      FUNCTION F(X)\n"),
        ("FUNCTION F()", "      FUNCTION F()\n"),
        ("REALFUNCTIONF(X)", "      REAL FUNCTION F(X)\n"),
        (
            "REAL*8 FUNCTION F(X)",
            "      DOUBLE PRECISION FUNCTION F(X)\n",
        ),
        (
            "REAL FUNCTION F*8(X)",
            "      DOUBLE PRECISION FUNCTION F(X)\n",
        ),
        (
            "CHARACTER*(*) FUNCTION F(X)",
            "      CHARACTER*(*) FUNCTION F(X)\n",
        ),
        (
            "CHARACTER*8 FUNCTION F(X)",
            "      CHARACTER*8 FUNCTION F(X)\n",
        ),
        ("RECURSIVE FUNCTION F(X)", "      RECURSIVE FUNCTION F(X)\n"),
        (
            "RECURSIVE SUBROUTINE S(X)",
            "      RECURSIVE SUBROUTINE S(X)\n",
        ),
        (
            "INTEGER RECURSIVE FUNCTION F(X)",
            "      RECURSIVE INTEGER FUNCTION F(X)\n",
        ),
        ("FUNCTION F(X) RESULT(Y)", "      FUNCTION F(X) RESULT(Y)\n"),
        ("PROGRAM P", "      PROGRAM P\n"),
        ("BLOCK DATA", "      BLOCK DATA\n"),
        ("BLOCKDATA B", "      BLOCK DATA B\n"),
    ] {
        let got = printed(&fixed(text), Some(Form::Fixed));
        assert_eq!(got, format!("{expected}      END\n"), "{text}");
    }
}

#[test]
fn header_facts() {
    let units = good(&fixed("REAL*8 FUNCTION F(X, G, *)\nEXTERNAL G"), None);
    let f = &units[0];
    assert_eq!(f.kind, UnitKind::Function);
    assert!(f.typed_header);
    assert_eq!(f.args.len(), 3);
    assert_eq!(f.result, f.symbols.find("F"));
    assert_eq!(
        symbols(f),
        "F DOUBLE PRECISION Result\nX Dummy\nG Dummy external\n"
    );
}

#[test]
fn ends() {
    for end in [
        "END",
        "E N D",
        "END FUNCTION",
        "ENDFUNCTIONF",
        "END FUNCTION F",
    ] {
        good(
            &format!("      FUNCTION F(X)\n      F = X\n      {end}\n"),
            None,
        );
    }
}

#[test]
fn main_programs_without_header() {
    let name = |text: &str| {
        let units = good(text, None);
        units
            .iter()
            .map(|u| u.name.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(name("      X = 1\n      END\n"), "MAIN");
    assert_eq!(name("      END\n"), "MAIN");
    assert_eq!(
        name("      CALL MAIN\n      END\n      SUBROUTINE MAIN\n      END\n"),
        "MAIN1 MAIN"
    );
    assert_eq!(name(""), "");
    assert_eq!(name("C     nothing\n"), "");
}

#[test]
fn nested_subprograms_and_statement_functions_mix() {
    let text = "      SUBROUTINE S(X, N)
      DIMENSION A(10)
      SQ(T) = T*T
      REAL FUNCTION F(Y)
        CUBE(T) = T**3
        A(I) = Y
        F = CUBE(Y)
      END
      HALF(T) = T/2
      SUBROUTINE G
      END SUBROUTINE
      A(N) = X
      END
";
    let units = good(text, None);
    let s = &units[0];
    assert_eq!(
        symbols(s),
        "X Dummy\nN Dummy\nA(_..10)\nSQ (T) = (mul T T)\nT\nHALF (T) = (div T 2)\n"
    );
    assert_eq!(s.body.len(), 1);
    let names: Vec<_> = s.nested.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["F", "G"]);
    // A is an array of the host, so this is not a statement function.
    assert_eq!(s.nested[0].body.len(), 2);
    assert_eq!(
        symbols(&s.nested[0]),
        "F REAL Result\nY Dummy\nCUBE (T) = (pow T 3)\nT\nA\nI\nF".replace("\nI\nF", "\nI\n")
    );
}

#[test]
fn documentation() {
    let text = "\
C     A licence.

C     What S does,
C     and how.
      SUBROUTINE S

C     About the program.

C     What T does.
        FUNCTION T(X)
        T = X
        END
      END
C     At the end.
";
    let units = good(text, None);
    assert_eq!(units[0].comments, ["     What S does,", "     and how."]);
    assert_eq!(units[0].nested[0].comments, ["     What T does."]);
    assert!(printed(text, None).contains("C     About the program.\n"));
}

#[test]
fn blocks_that_are_not_closed() {
    table(
        &[
            (
                "IF (A) THEN\nX = 1",
                "1:7-1:18 F0003 IF is not closed\n  3:7: END IF is missing before the end of the program unit\n",
            ),
            (
                "DO 10 I = 1, 3\nX = 1",
                "1:7-1:21 F0003 DO is not closed\n  3:7: a statement with label 10 is missing before the end of the program unit\n",
            ),
            (
                "DO I = 1, 3\nIF (A) THEN\nEND DO",
                "2:7-2:18 F0003 IF is not closed\n  3:7: END IF is missing before this\n",
            ),
            (
                "DO 10 I = 1, 3\nIF (A) THEN\n   10 CONTINUE",
                "2:7-2:18 F0003 IF is not closed\n  3:7: END IF is missing before this\n",
            ),
            (
                "ADF(X)\nY = X",
                "1:7-1:13 F0003 ADF is not closed\n  3:7: END ADF is missing before the end of the program unit\n",
            ),
            (
                "ADF(X)\nEND ADR",
                "2:7-2:14 F0003 END ADR cannot close ADF\n  1:7: this ends with END ADF\n",
            ),
            (
                "END IF\nX = 1",
                "1:7-1:13 F0003 there is nothing open that this could close\n  help: the statement that opens it is missing, or was not understood\n",
            ),
            ("X = 1\nEND IF", "2:7-2:13 F0003 there is no open IF here\n"),
            ("X = 1\nELSE", "2:7-2:11 F0003 there is no open IF here\n"),
            (
                "IF (A) THEN\nELSE\nELSE\nEND IF",
                "3:7-3:11 F0003 nothing but END IF may follow the statements of ELSE\n  1:7: this IF has an ELSE already\n",
            ),
            (
                "DO 10 I = 1, 3\nEND DO\n   10 CONTINUE",
                "2:7-2:13 F0003 this loop ends with a statement with label 10\n  1:7: the loop begins here\n  help: give END DO the label 10\n",
            ),
        ],
        |text| errors(&fixed(text)),
    );
}

#[test]
fn units_that_are_not_closed() {
    table(
        &[
            (
                "      SUBROUTINE S\n      X = 1\n",
                "1:7-1:19 F0003 SUBROUTINE S has no END\n  2:12: the text ends here\n",
            ),
            (
                "      SUBROUTINE S\n      X = 1\n      SUBROUTINE T\n      END\n",
                "3:7-3:19 F0003 SUBROUTINE S has not ended yet\n  1:7: it begins here\n  help: END is missing before this line; or, if this is to be a nested subprogram, move it before the executable statements\n",
            ),
            (
                "      SUBROUTINE S\n      X = 1\n        FUNCTION T(X)\n        END\n      Y = T(X)\n      END\n",
                "3:9-3:22 F0007 the executable statements of SUBROUTINE S have begun already\n  1:7: the unit begins here\n  help: nested subprograms go between the specification statements and the executable ones; or END is missing before this line\n",
            ),
            (
                "      SUBROUTINE S\n      PROGRAM P\n      END\n",
                "2:7-2:16 F0003 SUBROUTINE S has not ended yet\n  1:7: it begins here\n  help: END is missing before this line\n",
            ),
            (
                "      END SUBROUTINE\n",
                "1:7-1:21 F0003 this is not the END of PROGRAM MAIN\n  1:7: which begins here\n",
            ),
            (
                "      FUNCTION F(X)\n      END FUNCTION G\n",
                "2:7-2:21 F0003 this is not the END of FUNCTION F\n  1:7: which begins here\n",
            ),
            (
                "      END\n      END\n",
                "2:7-2:10 F0003 there is nothing open that this could close\n  help: the program unit before has ended already\n",
            ),
        ],
        errors,
    );
}

#[test]
fn labels() {
    for (text, expected) in [
        (
            "GOTO 10",
            "1:12-1:14 F0004 there is no statement with label 10 in this program unit\n",
        ),
        (
            "   10 X = 1\n   10 Y = 1",
            "2:4-2:6 F0004 the label 10 is defined twice\n  1:4: first defined here\n",
        ),
        (
            "READ (5, 20, ERR=30) X",
            "1:16-1:18 F0004 there is no statement with label 20 in this program unit\n1:24-1:26 F0004 there is no statement with label 30 in this program unit\n",
        ),
        (
            "FORMAT(I5)",
            "1:7-1:17 F0004 a FORMAT statement needs a label\n  help: write a number in columns 1 to 5, and name it in READ or WRITE\n",
        ),
        (
            "GOTO 123456",
            "1:12-1:18 F0004 `123456` is not a statement label\n  help: labels are numbers from 1 to 99999\n",
        ),
        ("GOTO 10\n   10 END", ""),
    ] {
        let text = if text.ends_with("END") {
            format!("      {text}\n")
        } else {
            fixed(text)
        };
        assert_eq!(errors(&text), expected, "{text}");
    }
    // A label belongs to its own unit.
    assert_eq!(
        errors(
            "      SUBROUTINE S\n        FUNCTION F(X)\n        GOTO 10\n        END\n   10 X = 1\n      END\n"
        ),
        "3:14-3:16 F0004 there is no statement with label 10 in this program unit\n"
    );
}

#[test]
fn nesting_is_bounded() {
    let blocks = format!("{}      END\n", "      DO\n".repeat(100_000));
    assert!(errors(&blocks).contains("F0008 blocks are nested more than 100 deep"));
    let units = "      SUBROUTINE S\n".repeat(100_000);
    assert!(errors(&units).contains("F0008 subprograms are nested more than 50 deep"));
}
