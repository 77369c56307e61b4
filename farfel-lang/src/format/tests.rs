//! Tests of the formatter: each row is a text and its result; every result is formatted again and
//! must not change.

use super::{Case, FormatError, Options, format};
use crate::source::Sources;
use crate::syntax::{FixedFormLayout, Form, ReadOptions};

fn laid_out(text: &str, options: &Options) -> Result<String, FormatError> {
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    format(&mut sources, file, options)
}

#[track_caller]
fn good(text: &str, options: &Options) -> String {
    match laid_out(text, options) {
        Ok(result) => result,
        Err(error) => panic!("{error:?}\nin:\n{text}"),
    }
}

/// Formats the statements of a subroutine in fixed form and returns them without the subroutine's
/// first and last line.
#[track_caller]
fn body(text: &str) -> String {
    let text = format!("      SUBROUTINE S\n{text}      END\n");
    let result = good(&text, &Options::default());
    assert_eq!(good(&result, &Options::default()), result);
    let result = result.strip_prefix("      SUBROUTINE S\n").unwrap();
    result.strip_suffix("      END\n").unwrap().to_owned()
}

#[test]
fn blanks() {
    for (text, expected) in [
        ("x=a+b*c**2-d/e", "x = a + b*c**2 - d/e"),
        ("x = - 1 + ( - y )", "x = -1 + (-y)"),
        ("x = F( I+1 , J ) + G(I + 1)", "x = F(I+1, J) + G(I + 1)"),
        (
            "X=A .AND..NOT.B.OR.C.EQ.1.",
            "X = A .AND. .NOT. B .OR. C .EQ. 1.",
        ),
        ("L = A==B .neqv. X/=Y", "L = A == B .neqv. X /= Y"),
        (
            "C = 'a''b'//\"c\" // D( 1 : 2 )",
            "C = 'a''b' // \"c\" // D(1:2)",
        ),
        (
            "IF(A.GT.0)GOTO10\n10 CONTINUE",
            "IF (A .GT. 0) GOTO 10\n10 CONTINUE",
        ),
        (
            "IF (A) 10 , 20,30\n10 CONTINUE\n20 CONTINUE\n30 CONTINUE",
            "IF (A) 10, 20, 30\n10 CONTINUE\n20 CONTINUE\n30 CONTINUE",
        ),
        (
            "GO TO(10,20),I\n10 CONTINUE\n20 CONTINUE",
            "GO TO (10, 20), I\n10 CONTINUE\n20 CONTINUE",
        ),
        (
            "CALLFOO(A,*10,3HA,B)\n10 CONTINUE",
            "CALL FOO(A, *10, 3HA,B)\n10 CONTINUE",
        ),
        (
            "READ(5,100,END=20,ERR=20)(A(I),I=1,N)\n100 FORMAT(A)\n20 CONTINUE",
            "READ (5, 100, END=20, ERR=20) (A(I), I = 1, N)\n100 FORMAT(A)\n20 CONTINUE",
        ),
        ("WRITE(*,*)'x',-Y", "WRITE (*, *) 'x', -Y"),
        ("PRINT*,A", "PRINT *, A"),
        (
            "READ 10,A\n10 FORMAT(1X , 2HAB,/ I5,'x y')",
            "READ 10, A\n10 FORMAT(1X, 2HAB,/ I5,'x y')",
        ),
        ("OPEN(UNIT=7,FILE='a b')", "OPEN (UNIT=7, FILE='a b')"),
        ("REAL*8X,Y(0:N,*)", "REAL*8 X, Y(0:N, *)"),
        ("CHARACTER*(*)A,B*8", "CHARACTER*(*) A, B*8"),
        ("CHARACTER(LEN=8)A", "CHARACTER(LEN=8) A"),
        ("DOUBLEPRECISIONX", "DOUBLEPRECISION X"),
        ("DOUBLE  PRECISION X", "DOUBLE PRECISION X"),
        ("real,intent(in)::x", "real, intent(in) :: x"),
        (
            "IMPLICITREAL*8(A-H,O-Z),INTEGER(I-N)",
            "IMPLICIT REAL*8 (A-H, O-Z), INTEGER(I-N)",
        ),
        ("IMPLICITNONE", "IMPLICIT NONE"),
        ("COMMON/A/X,Y(3)/B/Z//U", "COMMON /A/ X, Y(3) /B/ Z // U"),
        ("SAVE/A/,X", "SAVE /A/, X"),
        (
            "DATA A,(B(I),I=1,3)/1.,3*-2.E+5/,C/'x'/",
            "DATA A, (B(I), I = 1, 3) /1., 3*-2.E+5/, C /'x'/",
        ),
        ("PARAMETER(A=1,B=-2)", "PARAMETER (A = 1, B = -2)"),
        ("NAMELIST/N/A,B", "NAMELIST /N/ A, B"),
        ("EQUIVALENCE(A,B(1)),(C,D)", "EQUIVALENCE (A, B(1)), (C, D)"),
        ("ASSIGN10TOL\n10 CONTINUE", "ASSIGN 10 TO L\n10 CONTINUE"),
        ("X=Z'FF'+1.E-3", "X = Z'FF' + 1.E-3"),
        ("DO10I=1,5\n10 CONTINUE", "DO 10 I = 1, 5\n10 CONTINUE"),
        ("DOWHILE(A)\nENDDO", "DO WHILE (A)\nENDDO"),
        ("ENTRYE(A,*)", "ENTRY E(A, *)"),
        ("STOP'x'", "STOP 'x'"),
        ("X=1.0_8+2_4", "X = 1.0_8 + 2_4"),
        ("X=(/1,2,(I,I=1,3)/)", "X = (/ 1, 2, (I, I = 1, 3) /)"),
        (
            "SELECTCASE(I)\nCASE(1:2,5)\nCASEDEFAULT\nENDSELECT",
            "SELECTCASE (I)\nCASE (1:2, 5)\nCASE DEFAULT\nENDSELECT",
        ),
        ("RETURN", "RETURN"),
        ("F$A=B_C", "F$A = B_C"),
    ] {
        // Labels go where fixed form requires them.
        let text = text
            .replace("\n10 ", "\n   10 ")
            .replace("\n20 ", "\n   20 ");
        let text = text
            .replace("\n30 ", "\n   30 ")
            .replace("\n100 ", "\n  100 ");
        let columns = |l: &str| match l.starts_with(' ') {
            true => format!("{l}\n"),
            false => format!("      {l}\n"),
        };
        let text: String = text.lines().map(columns).collect();
        let got = body(&text);
        let got: Vec<&str> = got.lines().map(str::trim_start).collect();
        assert_eq!(got.join("\n"), expected, "{text}");
    }
}

#[test]
fn spelling_stays_or_goes_to_one_case() {
    let text = "      Subroutine Foo(X)\n      cALL Bar('Ab', 2Hcd, x) ! Why\n      END\n";
    let with = |case| {
        good(
            text,
            &Options {
                case,
                ..Options::default()
            },
        )
    };
    assert_eq!(with(Case::Keep), text);
    assert_eq!(
        with(Case::Lower),
        "      subroutine foo(x)\n      call bar('Ab', 2hcd, x) ! Why\n      end\n"
            .replace("2hcd", "2Hcd")
    );
    assert_eq!(
        with(Case::Upper),
        "      SUBROUTINE FOO(X)\n      CALL BAR('Ab', 2Hcd, X) ! Why\n      END\n"
    );
}

#[test]
fn indentation() {
    let text = "\
C     before
      SUBROUTINE S(A)
C       before F
      FUNCTION F(X)
      F = X
      END
C what
  1   IF (A .GT. 0) THEN
      ! inside
      DO 10 I = 1, 3
      DO 10 J = 1, 3
10    A = A + 1
      ELSE IF (A .LT. 0) THEN
      DO 20 I = 1, 3
      A = 1
20    CONTINUE
      ! at its end
      ELSE
      ADF(A)
      A = A*A
      END ADF(B = TANGENT(A))
      END IF
      END
";
    let expected = "\
C     before
      SUBROUTINE S(A)
C       before F
        FUNCTION F(X)
        F = X
        END
C what
    1 IF (A .GT. 0) THEN
        ! inside
        DO 10 I = 1, 3
          DO 10 J = 1, 3
   10       A = A + 1
      ELSE IF (A .LT. 0) THEN
        DO 20 I = 1, 3
          A = 1
   20   CONTINUE
        ! at its end
      ELSE
        ADF(A)
          A = A*A
        END ADF(B = TANGENT(A))
      END IF
      END
";
    assert_eq!(good(text, &Options::default()), expected);
    let free = Options {
        form: Some(Form::Free),
        ..Options::default()
    };
    insta::assert_snapshot!(good(text, &free), @r"
    !     before
    SUBROUTINE S(A)
    !       before F
      FUNCTION F(X)
        F = X
      END
    ! what
    1 IF (A .GT. 0) THEN
        ! inside
        DO 10 I = 1, 3
          DO 10 J = 1, 3
    10      A = A + 1
      ELSE IF (A .LT. 0) THEN
        DO 20 I = 1, 3
          A = 1
    20  CONTINUE
        ! at its end
      ELSE
        ADF(A)
          A = A*A
        END ADF(B = TANGENT(A))
      END IF
    END
    ");
    let back = Options {
        form: Some(Form::Fixed),
        ..Options::default()
    };
    let there = good(&good(text, &free), &back);
    assert_eq!(there.replace("\n!", "\nC").replacen('!', "C", 1), expected);
}

#[test]
fn comments_stay_where_they_are() {
    let text = "\
!farfel: form=fixed

C     one


*     two
      SUBROUTINE S
      X = 1       ! a
      YY = 22 ! b

      CALL F(A,   ! first
C     between
     1       B,
     2       C)   ! last
#ifdef DEBUG
D     X = 2
#else
      X = 3; Y = 4 ! both
#define LONG a \\
             b
#endif
C$OMP PARALLEL
      INCLUDE 'x.inc'
C     before the end
      END
C     after

C     at the end
";
    insta::assert_snapshot!(good(text, &Options::default()), @r"
    !farfel: form=fixed

    C     one

    *     two
          SUBROUTINE S
          X = 1       ! a
          YY = 22     ! b

          CALL F(A,   ! first
    C     between
         &    B,
         &    C)      ! last
    #ifdef DEBUG
    D     X = 2
    #else
          X = 3
          Y = 4        ! both
    #define LONG a \
                 b
    #endif
    C$OMP PARALLEL
          INCLUDE 'x.inc'
    C     before the end
          END
    C     after

    C     at the end
    ");
    let free = Options {
        form: Some(Form::Free),
        ..Options::default()
    };
    insta::assert_snapshot!(good(text, &free), @r"
    !farfel: form=free

    !     one

    !     two
    SUBROUTINE S
      X = 1       ! a
      YY = 22     ! b

      CALL F(A, & ! first
    !     between
          B, &
          C)      ! last
    #ifdef DEBUG
    !D     X = 2
    #else
      X = 3
      Y = 4        ! both
    #define LONG a \
                 b
    #endif
    !$OMP PARALLEL
      INCLUDE 'x.inc'
    !     before the end
    END
    !     after

    !     at the end
    ");
}

#[test]
fn long_statements() {
    // The user's lines are kept if they fit.
    assert_eq!(
        body("      X = 1 +\n     $   2\n     $   + 3\n"),
        "      X = 1 +\n     &    2\n     &    + 3\n"
    );
    // Otherwise there are as few lines as possible.
    let call = "CALL LONG(ARGUMENT1,ARGUMENT2,ARGUMENT3,ARGUMENT4,ARGUMENT5,ARG6)";
    assert_eq!(
        body(&format!("      {call}\n")),
        "      CALL LONG(ARGUMENT1, ARGUMENT2, ARGUMENT3, ARGUMENT4, ARGUMENT5,\n     &    ARG6)\n"
    );
    // A constant that is too long continues in column 7.
    let long = "x".repeat(100);
    let text = format!("      C = '{}\n     +{}'\n", &long[..61], &long[61..]);
    assert_eq!(
        body(&text),
        format!("      C = '{}\n     &{}'\n", &long[..61], &long[61..])
    );
    let free = Options {
        form: Some(Form::Free),
        ..Options::default()
    };
    let long = "y z ".repeat(50);
    let text = format!(
        "subroutine s\nc = '{}&\n  &{}'\nend\n",
        &long[..100],
        &long[100..]
    );
    let result = good(&text, &free);
    assert!(result.lines().all(|l| l.len() <= 132), "{result}");
    assert_eq!(good(&result, &Options::default()), result);
    // Other line lengths.
    let wide = Options {
        read: ReadOptions {
            layout: FixedFormLayout {
                line_length: 132,
                debug_lines: true,
            },
            ..ReadOptions::default()
        },
        ..Options::default()
    };
    let text = format!("      {call}\n      END\n");
    assert_eq!(good(&text, &wide), text.replace(",A", ", A"));
}

#[test]
fn what_stands_beyond_the_last_column() {
    let line = |code: &str, rest: &str| format!("{code:<72}{rest}\n");
    let text = line("      X = 1", "ABC00010") + &line("      Y = 2", "a remark");
    assert_eq!(body(&text), "      X = 1\n      Y = 2 ! a remark\n");
}

#[test]
fn directives_change_with_the_form() {
    let fixed = "      SUBROUTINE S\nc$omp parallel do\nc$omp&  private(i)\n      do i = 1, n\n      end do\nC$    X = 1 +\nC$   &    2\nCDIR$ IVDEP\n      end\n";
    let free = Options {
        form: Some(Form::Free),
        ..Options::default()
    };
    let result = good(fixed, &free);
    assert_eq!(
        result,
        "SUBROUTINE S\n!$omp parallel do private(i)\n  do i = 1, n\n  end do\n!$ X = 1 + 2\n!DIR$ IVDEP\nend\n"
    );
    let back = Options {
        form: Some(Form::Fixed),
        ..Options::default()
    };
    assert_eq!(
        good(&result, &back),
        "      SUBROUTINE S\n!$omp parallel do private(i)\n      do i = 1, n\n      end do\n!$    X = 1 + 2\n!DIR$ IVDEP\n      end\n"
    );
    // Directives that stay in their form do not change.
    assert!(good(fixed, &Options::default()).contains("c$omp&  private(i)\n"));
}

#[test]
fn lines_end_as_they_did() {
    let result = good("      x=1\r\n\r\n      end", &Options::default());
    assert_eq!(result, "      x = 1\r\n\r\n      end\r\n");
}

#[test]
fn the_form_can_be_told_afterwards() {
    let free = Options {
        form: Some(Form::Free),
        ..Options::default()
    };
    // Nothing in this text reveals its form.
    let result = good(
        "      DO 10 I = 1, 3\n      DO 10 J = 1, 3\n   10 CONTINUE\n      END\n",
        &free,
    );
    assert_eq!(crate::syntax::detect(&result), Form::Free, "{result}");
}

#[test]
fn what_cannot_be_laid_out() {
    for text in [
        "      IF (A) THEN\n      END\n",
        "#ifdef A\n      DO I = 1, 3\n#else\n      DO I = 1, 4\n#endif\n      END DO\n      END\n",
        "      SUBROUTINE S\n      X = 1 +\n      END\n",
    ] {
        let result = laid_out(text, &Options::default());
        assert!(
            matches!(result, Err(FormatError::Unreadable(_))),
            "{text}{result:?}"
        );
    }
}

/// A file for INCLUDE has no END, and preprocessor branches may define a label twice.
#[test]
fn parts_of_programs() {
    let options = Options::default();
    assert_eq!(good("      COMMON/A/X\n", &options), "      COMMON /A/ X\n");
    let text = "      SUBROUTINE S\n#ifdef A\n   10 X = 1\n#else\n   10 X = 2\n#endif\n      GOTO 10\n      END\n";
    assert_eq!(good(text, &options), text);
}

const SAMPLE: &str = "C     A
      SUBROUTINE S(X) ! b
#ifdef A
   10 IF (X .GT. 0) THEN; X = 'a''b' // 3Habc
     & + 1 ! c
#else
c$omp parallel
c$omp& private(i)
      ENDIF
#endif
\tREAD (5, 10) (A(I), I = 1, 3)
D     X = (/ 1, 2 /)
!farfel: form=fixed
      END                                                               XY000010
";

#[test]
fn the_sample_is_laid_out() {
    for form in [None, Some(Form::Free)] {
        let options = Options {
            form,
            ..Options::default()
        };
        good(SAMPLE, &options);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

    /// No text causes a panic, and formatting is idempotent.
    #[test]
    fn any_text(
        changes in proptest::collection::vec((0usize..500, "[ -~\n\tä\r;&'\"!#C(/]{0,3}", 0usize..4), 0..6),
        free in proptest::bool::ANY,
        there in proptest::bool::ANY,
    ) {
        let mut text: Vec<char> = SAMPLE.chars().collect();
        for (at, new, gone) in changes {
            let at = at.min(text.len());
            let end = (at + gone).min(text.len());
            text.splice(at..end, new.chars());
        }
        let text: String = text.into_iter().collect();
        let form = |free| Some(if free { Form::Free } else { Form::Fixed });
        let options = Options {
            read: ReadOptions { form: form(free), ..ReadOptions::default() },
            form: form(there),
            ..Options::default()
        };
        if let Ok(result) = laid_out(&text, &options) {
            let again = Options {
                read: ReadOptions { form: form(there), ..ReadOptions::default() },
                ..options
            };
            let twice = laid_out(&result, &again);
            let same = matches!(&twice, Ok(twice) if *twice == result);
            proptest::prop_assert!(same, "{text}\n=>\n{result}\n=>\n{twice:?}");
        }
    }
}
