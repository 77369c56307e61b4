//! Tests of the fixed-form details that vary between files, of comments between units, and of
//! directives.

use super::{Files, Form, describe, errors, errors_free, good, printed, table};
use crate::diagnostic::{Diagnostic, rules};
use crate::print::{Options, print_program};
use crate::source::Sources;
use crate::syntax::{FixedFormLayout, ReadOptions, parse_with};

/// Reads a text without errors with a layout, and prints it.
#[track_caller]
fn printed_with(text: &str, layout: FixedFormLayout) -> String {
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    let options = ReadOptions {
        form: Some(Form::Fixed),
        layout,
        ..ReadOptions::default()
    };
    let mut parsed = parse_with(&mut sources, file, &options, &mut Files(&[]));
    // The printed text shows what the layout ignores.
    let cut_off = |d: &Diagnostic| d.rule == &rules::TEXT_CUT_OFF;
    parsed.diagnostics.retain(|d| !cut_off(d));
    assert_eq!(describe(&sources, &parsed), "");
    print_program(&parsed.program, &Options::default())
}

#[test]
fn debug_lines() {
    let text =
        "      SUBROUTINE S(X)\nD     X = 1\nd10   X = X +\nD    +    2\nD\tX = 4\n      END\n";
    let as_comments = printed_with(text, FixedFormLayout::default());
    assert!(
        as_comments.contains("C     X = 1\nC 10   X = X +\nC    +    2\n"),
        "{as_comments}"
    );
    let debug = FixedFormLayout {
        debug_lines: true,
        ..FixedFormLayout::default()
    };
    let code = "      SUBROUTINE S(X)\n      X = 1\n   10 X = X + 2\n      X = 4\n      END\n";
    assert_eq!(printed_with(text, debug), code);
    // A file can set this itself.
    let text = format!("!farfel: debug-lines=true\n{text}");
    assert_eq!(printed_with(&text, FixedFormLayout::default()), code);
}

#[test]
fn long_lines() {
    let text = format!(
        "      SUBROUTINE S(X)\n      X = 1{:>70}\n      END\n",
        "+ 2"
    );
    assert!(printed_with(&text, FixedFormLayout::default()).contains("X = 1\n"));
    let long = FixedFormLayout {
        line_length: 132,
        ..FixedFormLayout::default()
    };
    assert!(printed_with(&text, long).contains("X = 1 + 2\n"));
    let said = format!("C farfel: form=fixed, line-length=132\n{text}");
    assert!(printed_with(&said, FixedFormLayout::default()).contains("X = 1 + 2\n"));
    // A constant extends to the last column.
    let text = "      SUBROUTINE S(C)\n      C = 'a\n     &b'\n      END\n";
    let blanks = " ".repeat(132 - 12);
    assert!(
        printed_with(text, long)
            .replace("\n     +", "")
            .contains(&format!("'a{blanks}b'"))
    );
    // Line lengths that are too small, too large or invalid have no effect.
    for length in ["20", "99999", "x"] {
        let text = format!(
            "!farfel: line-length={length}\n      X = 1{:>70}\n      END\n",
            "+ 2"
        );
        assert!(
            printed_with(&text, FixedFormLayout::default()).contains("X = 1\n"),
            "{length}"
        );
    }
}

#[test]
fn the_message_names_the_last_column() {
    let text = format!(
        "!farfel: line-length=80\n      X = ({}1)\n      END\n",
        "1 + ".repeat(18)
    );
    let told = errors(&text);
    assert!(told.contains("text beyond column 80 is not read"), "{told}");
    assert!(told.contains("break the line before column 81"), "{told}");
}

#[test]
fn odd_but_right() {
    table(
        &[
            // Dollar signs in names.
            ("      A$B = SYS$X(1)\n", "      A$B = SYS$X(1)\n"),
            // More than 19 continuation lines.
            (
                &format!("      X = 0\n{}", "     &+ 1\n".repeat(40)),
                &printed(
                    &format!("      X = 0{}\n      END\n", "\n     1 + 1".repeat(40)),
                    Some(Form::Fixed),
                )
                .replace("      END\n", ""),
            ),
            // In fixed form, `&` in column 1 is not a continuation mark, but in column 6 it is.
            ("      X = 1 +\n     &2\n", "      X = 1 + 2\n"),
            // A backslash is an ordinary character.
            ("      C = 'a\\nb\\'\n", "      C = 'a\\nb\\'\n"),
            (
                "      X = 1; Y = 2 ! both\n",
                "      X = 1\n      Y = 2 ! both\n",
            ),
            // A form feed and a lone carriage return.
            ("\u{c}\n      X = 1\u{c}\r\n", "      X = 1\n"),
            (
                "      C = 'Straße' ! größer\n",
                "      C = 'Straße' ! größer\n",
            ),
        ],
        |text| {
            let got = printed(&format!("{text}      END"), Some(Form::Fixed));
            got.strip_suffix("      END\n").unwrap_or(&got).to_owned()
        },
    );
}

#[test]
fn free_form_breaks_anywhere() {
    table(
        &[
            (
                "call lo&\n&ng_name(x)\nend\n",
                "      CALL LONG_NAME(X)\n      END\n",
            ),
            ("cal&\n&l f(1&\n&2)\nend\n", "      CALL F(12)\n      END\n"),
            (
                "x = 1&\n!$ no\n! a comment\n\n&2\nend\n",
                "C$    no\nC a comment\n      X = 12\n      END\n",
            ),
            (
                &format!("x = {}1\nend\n", "1 + ".repeat(60)),
                &printed(
                    &format!("      X = {}1\n      END\n", "1 +\n     & ".repeat(60)),
                    Some(Form::Fixed),
                ),
            ),
        ],
        |text| printed(text, Some(Form::Free)),
    );
    assert_eq!(
        errors_free("x = 'ab&\ncd' )\nend\n"),
        "2:5-2:6 F0001 expected the end of the statement, found `)`\n  help: a parenthesis is closed that was not opened\n"
    );
}

#[test]
fn comments_between_units() {
    let text = "\
C     The file.

C     Its licence
C     in two lines.

C     What S does.
      SUBROUTINE S
      END
C     After S.

C     What T does.
      SUBROUTINE T
      END
C     After T.

C     The end.
";
    let units = good(text, None);
    assert_eq!(units[0].comments, ["     What S does."]);
    let expected = text.replace("      END\nC     After", "      END\n\nC     After");
    assert_eq!(printed(text, None), expected);
    assert_eq!(printed(&expected, None), expected);
}

/// A directive in either form, printed in both.
#[test]
fn directives() {
    let fixed = "      SUBROUTINE S(X, N)
      DIMENSION X(N)
!$OMP PARALLEL DO
c$omp& private(i)
*$OMP+SHARED(X)
      DO 10 I = 1, N
CDIR$ IVDEP
!DEC$ UNROLL(4)
   10 X(I) = I
C$    IF (N .GT. 3)
C$   &  X(1) = 2
!$ 20 CONTINUE
C$$$  no directive
C 1$ neither
!$ACC END DATA
      !$OMP not in column 1
      END
";
    let free = "\
subroutine s(x, n)
dimension x(n)
!$OMP PARALLEL DO &
  !$omp& private(i) &
  !$omp shared(x)
do 10 i = 1, n
  !DIR$ IVDEP
  !DEC$ UNROLL(4)
10 x(i) = i
!$ IF (N .GT. 3) &
!$ & X(1) = 2
!$ 20 CONTINUE
!$$$  no directive
! 1$ neither
!$ACC END DATA
! $OMP not in column 1
end
";
    let expected = "      SUBROUTINE S(X, N)
      DIMENSION X(N)
C$OMP PARALLEL DO private(i) SHARED(X)
      DO 10 I = 1, N
CDIR$ IVDEP
CDEC$ UNROLL(4)
   10   X(I) = I
C$    IF (N .GT. 3) X(1) = 2
C$ 20 CONTINUE
C $$$  no directive
C 1$ neither
C$ACC END DATA
C $OMP not in column 1
      END
";
    let lower = |t: String| t.to_lowercase();
    let got = printed(fixed, Some(Form::Fixed));
    assert_eq!(got, expected);
    let got = printed(free, Some(Form::Free));
    assert_eq!(lower(got), lower(expected.to_owned()));
    // Printed in free form, the directives are unchanged.
    let units = good(fixed, Some(Form::Fixed));
    let options = Options {
        form: Form::Free,
        ..Options::default()
    };
    let text = print_program(&crate::ir::Program { units }, &options);
    assert!(
        text.contains("!$OMP PARALLEL DO private(i) SHARED(X)\n"),
        "{text}"
    );
    assert!(
        text.contains("!$ IF (N .GT. 3) X(1) = 2\n!$ 20 CONTINUE\n"),
        "{text}"
    );
}

/// Long directives are continued on further lines, which read back unchanged.
#[test]
fn long_directives() {
    let names: Vec<String> = (0..40).map(|i| format!("NAME{i}")).collect();
    let all = names.join(", ");
    let text = format!("!$OMP PARALLEL PRIVATE({all})\n!$ x = f({all})\nx = 1\nend\n");
    let units = good(&text, Some(Form::Free));
    for form in [Form::Fixed, Form::Free] {
        let options = Options {
            form,
            ..Options::default()
        };
        let program = crate::ir::Program {
            units: units.clone(),
        };
        let once = print_program(&program, &options);
        let width = if form == Form::Fixed { 72 } else { 132 };
        assert!(once.lines().all(|l| l.len() <= width), "{once}");
        let again = good(&once, Some(form));
        assert!(once.lines().count() > 6, "{once}");
        let again = print_program(&crate::ir::Program { units: again }, &options);
        assert_eq!(again, once);
        let directive = format!("C$OMP PARALLEL PRIVATE({all})");
        let joined = once
            .replace("\nC$OMP+", " ")
            .replace("!$OMP& ", "")
            .replace(" &\n", " ");
        assert!(
            joined.replace("!$OMP", "C$OMP").contains(&directive),
            "{joined}"
        );
    }
}

/// A text with line markers: errors, comments and statements are where the markers say, provided
/// that the files exist.
#[test]
fn line_markers() {
    let original = "#include \"b.inc\"\n      SUBROUTINE S(X)\nC     About X\n   10 X = LENGTH\n      IF (X) GOTO 20\n      END\n";
    let included = "      X = )\n";
    let text = "# 1 \"a.F\"\n# 1 \"b.inc\" 1\n      X = )\n# 2 \"a.F\" 2\n      SUBROUTINE S(X)\nC     About X\n   10 X = 3\n# 5 \"a.F\"\n      IF (X) GOTO 20\n      END\n# 7 \"<stdin>\"\n      X = ((\n";
    let mut sources = Sources::new();
    let a = sources.add("a.F", original);
    sources.add("b.inc", included);
    let file = sources.add("a.F", text);
    let parsed = crate::syntax::parse(&mut sources, file, None, &mut Files(&[]));
    let text = describe(&sources, &parsed);
    assert!(text.contains("b.inc 1:11-1:12 F0001"), "{text}");
    assert!(
        text.contains("a.F 5:19-5:21 F0004 there is no statement with label 20"),
        "{text}"
    );
    let unit = parsed.program.units.iter().find(|u| u.name == "S").unwrap();
    assert_eq!((unit.span.file, unit.span.start), (a, 23));
    // The generated code says the same.
    let options = Options {
        line_markers: Some(&sources),
        ..Options::default()
    };
    let printed = crate::print::print_unit(unit, &options);
    let expected = "# 2 \"a.F\"\n      SUBROUTINE S(X)\nC     About X\n   10 X = 3\n";
    assert!(printed.starts_with(expected), "{printed}");
    assert_eq!(printed.matches('#').count(), 1, "{printed}");
}

/// Comments at the ends of lines stay there if there is room, and the printed text reads back
/// unchanged in both forms.
#[test]
fn comments_at_ends_of_lines() {
    let long = "X".repeat(50);
    let text = format!(
        "      SUBROUTINE S(X) ! what S does
      INTEGER I ! a count
      X = 1 +   ! one
     +    2     ! two
      IF (X .GT. 0) THEN ! positive
        X = 2
      ELSE !less
        X = 3
      END IF ! done
      SELECT CASE (I) ! by count
      CASE (1) ! one
        X = 5
      END SELECT ! that was it
      DO 10 I = 1, 3 ! three times
   10 CONTINUE ! labelled
      INCLUDE 'b.inc' ! more
      X = X + {long}, ! too long
      X = 4 !$OMP no directive
      END ! of S
"
    );
    let text = text.replace(&format!("{long},"), &format!("{long} + 100"));
    let expected = format!(
        "C what S does
      SUBROUTINE S(X)
      INTEGER I ! a count
C one
      X = 1 + 2 ! two
      IF (X .GT. 0) THEN ! positive
        X = 2
      ELSE ! less
        X = 3
      END IF ! done
      SELECT CASE (I) ! by count
      CASE (1) ! one
        X = 5
      END SELECT ! that was it
      DO 10 I = 1, 3 ! three times
   10 CONTINUE ! labelled
C more
C in b
      X = X + {long} + 100
C too long
      X = 4 ! $OMP no directive
      END

C of S
"
    );
    let files = &[("b.inc", "C in b\n")];
    let (sources, parsed) = super::read_with(&text, Some(Form::Fixed), files);
    assert_eq!(describe(&sources, &parsed), "");
    let print = |program, form| {
        let options = Options {
            form,
            ..Options::default()
        };
        print_program(program, &options)
    };
    assert_eq!(print(&parsed.program, Form::Fixed), expected);
    assert_eq!(printed(&expected, Some(Form::Fixed)), expected);
    let free = print(&parsed.program, Form::Free);
    let units = good(&free, Some(Form::Free));
    assert_eq!(print(&crate::ir::Program { units }, Form::Free), free);
}

/// INCLUDE may supply anything: parts of declarations, of a loop's body, the end of a block.
#[test]
fn include_anywhere() {
    let files = &[
        (
            "head.inc",
            "      SUBROUTINE S(A, N)\n      DIMENSION A(N)\n",
        ),
        ("more.inc", "      COMMON /C/ Y\n      INCLUDE 'deep.inc'\n"),
        ("deep.inc", "      REAL Z\n"),
        (
            "open.inc",
            "      DO 10 I = 1, N\n      IF (A(I) .GT. 0) THEN\n",
        ),
        ("close.inc", "      END IF\n   10 CONTINUE"),
        ("tail.inc", "      END\n      SUBROUTINE T\n"),
    ];
    let text = "      INCLUDE 'head.inc'\n      INCLUDE 'more.inc'\n      INCLUDE 'open.inc'\n      A(I) = Y + Z\n      INCLUDE 'close.inc'\n      INCLUDE 'tail.inc'\n      END\n";
    let (sources, parsed) = super::read_with(text, Some(Form::Fixed), files);
    assert_eq!(describe(&sources, &parsed), "");
    assert_eq!(
        print_program(&parsed.program, &Options::default()),
        "      SUBROUTINE S(A, N)
      DIMENSION A(N)
      COMMON /C/ Y
      REAL Z
      DO 10 I = 1, N
        IF (A(I) .GT. 0) THEN
          A(I) = Y + Z
        END IF
   10 CONTINUE
      END

      SUBROUTINE T
      END
"
    );
}
