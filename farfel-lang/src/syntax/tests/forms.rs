use super::{Form, errors, errors_free, good, printed, read, read_with, table};
use crate::syntax::detect;

#[test]
fn fixed_form_columns() {
    table(
        &[
            // Blanks have no meaning, and lower case equals upper case.
            (
                "      d o 1 0 i = 1 , 3\n   10 c o n t i n u e\n",
                "      DO 10 I = 1, 3\n   10 CONTINUE\n",
            ),
            // Labels anywhere in columns 1 to 5.
            ("1 0   X = 1\n", "   10 X = 1\n"),
            ("00010 X = 1\n", "   10 X = 1\n"),
            // Column 6: blank and 0 begin a statement, anything else continues it.
            ("     0X = 1\n", "      X = 1\n"),
            (
                "      X = 1\n     ++ 2\n     1+ 3\n     A+ 4\n     !+ 5\n     &+ 6\n",
                "      X = 1 + 2 + 3 + 4 + 5 + 6\n",
            ),
            // A name may extend over the end of a line.
            ("      LONG\n     +NAME = 1\n", "      LONGNAME = 1\n"),
            // Comments and blank lines may come in between.
            (
                "      X = 1\nC     no\n\n     + + 2\n",
                "C     no\n      X = 1 + 2\n",
            ),
            // Text beyond column 72 is ignored.
            (
                "      X = 1                                                             23\n",
                "      X = 1\n",
            ),
            (
                "      X = 1                                                           + SEQ00010\n     +  2\n",
                "      X = 1 + 2\n",
            ),
            // Tabs.
            ("\tX = 1\n\t1+ 2\n", "      X = 1 + 2\n"),
            ("10\tX = 1\n", "   10 X = 1\n"),
            // Ends of lines and files.
            ("      X = 1\r\n     + + 2\r\n", "      X = 1 + 2\n"),
            ("\u{c}      X = 1\n\u{c}\n", "      X = 1\n"),
            ("D     X = 2\n      X = 1\n", "C     X = 2\n      X = 1\n"),
            ("      X = 1 ! y\n", "      X = 1 ! y\n"),
            ("# 1 \"a.ff\"\n      X = 1\n", "      X = 1\n"),
        ],
        |text| {
            let got = printed(&format!("{text}      END\n"), Some(Form::Fixed));
            got.strip_suffix("      END\n").unwrap_or(&got).to_owned()
        },
    );
}

fn constant(text: &str) -> String {
    let units = good(text, Some(Form::Fixed));
    match &units[0].body[0].kind {
        crate::ir::StmtKind::Assign(_, v) => super::show(&units[0], v),
        other => format!("{other:?}"),
    }
}

#[test]
fn constants_over_lines() {
    let blanks = " ".repeat(72 - 13);
    assert_eq!(
        constant("      C = 'ab\n     +cd'\n      END\n"),
        format!("\"ab{blanks}cd\"")
    );
    assert_eq!(
        constant("      C = 4Hab\n     +//'d'\n      END\n"),
        "(concat H\"ab  \" \"d\")"
    );
    // A doubled quote that a line break divides, where the first quote is in column 72.
    let sixty = "x".repeat(60);
    let text = format!("      C = '{sixty}'\n     +'y'\n      END\n");
    assert_eq!(constant(&text), format!("\"{sixty}'y\""));
    // Not if something comes between them, on a line of its own.
    let text = format!("      C = '{sixty}'\n     +//\n     +'y'\n      END\n");
    assert_eq!(constant(&text), format!("(concat \"{sixty}\" \"y\")"));
    // Columns count characters: 60 of two bytes each still end in column 72.
    let wide = "ä".repeat(60);
    let text = format!("      C = '{wide}é\n     +'\n      END\n");
    assert_eq!(constant(&text), format!("\"{wide}é\""));
}

#[test]
fn free_form() {
    table(
        &[
            ("x = 1 + &\n  2\nend\n", "      X = 1 + 2\n      END\n"),
            ("x = lo&\n  &ng\nend\n", "      X = LONG\n      END\n"),
            (
                "x = 1 & ! why\n\n  ! because\n  + 2\nend\n",
                "C why\nC because\n      X = 1 + 2\n      END\n",
            ),
            ("c = 'ab&\n   &cd'\nend\n", "      C = 'abcd'\n      END\n"),
            ("c = 'a & b'\nend\n", "      C = 'a & b'\n      END\n"),
            ("10 x = 1\nend\n", "   10 X = 1\n      END\n"),
            (
                "x = 1; y = 2\nend\n",
                "      X = 1\n      Y = 2\n      END\n",
            ),
            (
                "go to 10\n10 goto 10\nend\n",
                "      GOTO 10\n   10 GOTO 10\n      END\n",
            ),
            (
                "if (a) then\nelse if (b) then\nelseif (c) then\nend if\nif (a) then\nendif\nend\n",
                "      IF (A) THEN\n      ELSE IF (B) THEN\n      ELSE IF (C) THEN\n      END IF\n      IF (A) THEN\n      END IF\n      END\n",
            ),
            (
                "double precision x\ndoubleprecision y\nend\n",
                "      DOUBLE PRECISION X\n      DOUBLE PRECISION Y\n      END\n",
            ),
            ("call f (x)\nend program\n", "      CALL F(X)\n      END\n"),
            (
                "do 10 i = 1, 3\n10 end do\nend\n",
                "      DO 10 I = 1, 3\n   10 CONTINUE\n      END\n",
            ),
            // Comments in fixed form do no harm.
            (
                "C     old\n* older\nc = 1\nend\n",
                "C     old\nC older\n      C = 1\n      END\n",
            ),
            ("\u{feff}x = 1\nend", "      X = 1\n      END\n"),
            ("x = 1\r\nend\r\n", "      X = 1\n      END\n"),
        ],
        |text| printed(text, Some(Form::Free)),
    );
}

/// Blanks are allowed at every sign, but not in keywords.
#[test]
fn blanks_at_signs_in_free_form() {
    for (text, expected) in [
        ("character(len = *) :: s", "CHARACTER*(*) S"),
        ("character (len = 10) :: s", "CHARACTER*10 S"),
        ("character( kind = 1 , len = 5 ) :: s", "CHARACTER*5 S"),
        ("character( 5 , kind = 1 ) :: s", "CHARACTER*5 S"),
        ("character * ( * ) s", "CHARACTER*(*) S"),
        ("real(kind = 8) :: s", "DOUBLE PRECISION S"),
        ("real * 8 s", "DOUBLE PRECISION S"),
        ("integer( kind = 4 ) :: s", "INTEGER S"),
        ("logical ( 1 ) :: s", "LOGICAL*1 S"),
        ("real , intent( in ) :: s", "REAL S"),
        ("real , intent ( in out ) , optional :: s", "REAL S"),
        ("integer , dimension( 3 ) :: s", "INTEGER S(3)"),
        (
            "integer , dimension ( 0 : 3 , 2 ) :: s",
            "INTEGER S(0:3, 2)",
        ),
    ] {
        let text = format!("subroutine f(s)\n{text}\nend subroutine\n");
        let printed = printed(&text, Some(Form::Free));
        assert!(
            printed.contains(&format!("      {expected}\n")),
            "{text}{printed}"
        );
    }
    assert!(errors_free("integer(ki nd = 4) :: s\nend\n").contains("F0001"));
}

#[test]
fn blanks_matter_in_free_form() {
    table(
        &[
            ("x y = 3\nend\n", "1:1-1:8 F0002 unrecognised statement\n"),
            (
                "x = y z\nend\n",
                "1:7-1:8 F0001 expected the end of the statement, found `Z`\n",
            ),
            (
                "x = 1 2\nend\n",
                "1:7-1:8 F0001 expected the end of the statement, found `2`\n",
            ),
            (
                "do 10 i = 1.3\n10 continue\nend\n",
                "1:14-1:14 F0001 expected `,` and the last value of the loop, found the end of the statement\n",
            ),
            (
                "callf(x)\nend\n",
                "1:1-1:9 F0002 unrecognised statement\n  help: did you mean CALL?\n",
            ),
            (
                "call f(x)\ne nd\n",
                "1:1-1:10 F0003 the main program has no END\n  2:5: the text ends here\n2:1-2:5 F0002 unrecognised statement\n",
            ),
        ],
        errors_free,
    );
}

#[test]
fn detection() {
    for (text, expected) in [
        ("", Form::Fixed),
        ("      X = 1\n      END\n", Form::Fixed),
        ("X = 1\nEND\n", Form::Free),
        ("  program p\n  end\n", Form::Free),
        ("      program p\n      end\n", Form::Fixed),
        ("10    continue\n      end\n", Form::Fixed),
        ("10 x = 1\n   end\n", Form::Free),
        ("1669 X = X-Y/YPRIME\n", Form::Free),
        ("      x = 1 + &\n        2\n", Form::Free),
        ("      X = 1\n     & + 2\n", Form::Fixed),
        ("      x = 1 + &\n     & 2\n      end\n", Form::Free),
        ("      X = 1\n     + + 2\n", Form::Fixed),
        ("C     A comment\n      X = 1\n", Form::Fixed),
        ("C\nC-----\n      X = 1\n", Form::Fixed),
        ("* A comment\n      X = 1\n", Form::Fixed),
        ("call f\nend\n", Form::Free),
        ("c = 1\nc(2) = 1\n      end\n", Form::Fixed),
        ("! A comment\n", Form::Fixed),
        ("!farfel: form=free\n      x = 1\n", Form::Free),
        ("C FARFEL: FORM=FIXED\nx = 1\n", Form::Fixed),
        ("* farfel:form = free\n", Form::Free),
        ("\tX = 1\n\t1 + 2\n", Form::Fixed),
        ("      C = 'a&\n", Form::Fixed),
        ("\u{feff}program p\nend\n", Form::Free),
        // The paper's listing as printed there: a fixed-form comment, and statements in free-form
        // columns.
        (
            "C      ASTAR & BSTAR: GUESSES\nSUBROUTINE S(A)\nA = 1\nEND\n",
            Form::Free,
        ),
        // A single mistake does not change the detected form.
        ("C     one\nC     two\nuuu\n      X = 1\n", Form::Fixed),
    ] {
        assert_eq!(detect(text), expected, "{text:?}");
    }
}

#[test]
fn a_form_directive_is_no_comment_of_the_program() {
    assert_eq!(
        printed("!farfel: form=free\nx = 1\nend\n", None),
        "      X = 1\n      END\n"
    );
}

#[test]
fn layout_errors() {
    for (text, expected) in [
        (
            "  X = 1\n      END\n",
            "1:3-1:4 F0002 the statement begins in columns 1 to 5, which are for labels\n  help: begin in column 7, or say that the file is in free form with a first line `!farfel: form=free`\n",
        ),
        (
            "DIMENSION A(3)\n      END\n",
            "1:1-1:2 F0002 the statement begins in columns 1 to 5, which are for labels\n  help: begin in column 7, or say that the file is in free form with a first line `!farfel: form=free`\n",
        ),
        (
            "   10+X = 1\n      END\n",
            "1:6-1:7 F0004 a labelled line has something in column 6, which would make it a continuation\n  help: a statement begins in column 7 or later\n",
        ),
        (
            "     +X = 1\n      END\n",
            "1:6-1:7 F0001 there is no statement that this line could continue\n  help: a statement begins in column 7 or later\n",
        ),
        (
            "     ä X = 1\n      END\n",
            "1:6-1:7 F0001 there is no statement that this line could continue\n  help: a statement begins in column 7 or later\n",
        ),
        (
            "   10\n      END\n",
            "1:4-1:6 F0004 this label is on a line without a statement\n  help: a statement that does nothing is CONTINUE\n",
        ),
        (
            "    0 X = 1\n      END\n",
            "1:5-1:6 F0004 `0` is not a statement label\n  help: labels are numbers from 1 to 99999\n",
        ),
        (
            "      X = (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15)\n      END\n",
            "1:72-1:72 F0001 expected an expression, found the end of the statement\n  1:73: text beyond column 72 is not read\n  help: break the line before column 73 and continue it with a mark in column 6\n",
        ),
        (
            "      C = 'a very long text that goes on and on and on, and beyond the cards'\n      END\n",
            "1:11-1:78 F0001 the character constant does not end\n  1:73: text beyond column 72 is not read\n  help: close it with the same quote; a quote inside is written twice\n",
        ),
        (
            "#ifdef A\n      X = 1\n#endif\n      END\n",
            "1:1-1:2 F0008 this line is for a preprocessor, and the file does not go through one\n  help: give the file a name that ends in `.F`, `.FF` or `.F90`, or switch the preprocessor on for all files with the setting `preprocess = true`\n",
        ),
    ] {
        let (sources, parsed) = read(text, Some(Form::Fixed));
        assert_eq!(super::describe(&sources, &parsed), expected, "{text}");
    }
}

/// Spans are correct on continuation lines and after multi-byte characters.
#[test]
fn places() {
    assert_eq!(
        errors("      X = 1\n     + + 2\n     + + )\n      END\n"),
        "3:10-3:11 F0001 expected an expression, found `)`\n"
    );
    assert_eq!(
        errors("      C = 'äöü' + )\n      END\n"),
        "1:19-1:20 F0001 expected an expression, found `)`\n"
    );
    assert_eq!(
        errors("\tX = )\n\tEND\n"),
        "1:6-1:7 F0001 expected an expression, found `)`\n"
    );
    assert_eq!(
        errors_free("x = 1 + &\n  & 2 + )\nend\n"),
        "2:9-2:10 F0001 expected an expression, found `)`\n"
    );
}

#[test]
fn include() {
    let files = &[
        ("common.inc", "C     shared\n      COMMON /B/ X, Y\n"),
        ("bad.inc", "      REAL X X(\n"),
        ("loop.inc", "      INCLUDE 'loop.inc'\n"),
        ("a.ff", ""),
    ];
    let text = "      INCLUDE 'common.inc'\n      X = 1\n      END\n";
    let (sources, parsed) = read_with(text, None, files);
    assert_eq!(super::describe(&sources, &parsed), "");
    assert_eq!(
        super::symbols(&parsed.program.units[0]),
        "X in /B/\nY in /B/\n"
    );
    for (text, expected) in [
        (
            "      INCLUDE 'none.inc'\n      END\n",
            "1:15-1:25 F0006 cannot include `none.inc`: no such file\n",
        ),
        (
            "      INCLUDE 'bad.inc'\n      END\n",
            "bad.inc 1:16-1:16 F0001 expected an expression, found the end of the statement\n",
        ),
        (
            "      INCLUDE 'loop.inc'\n      END\n",
            "loop.inc 1:15-1:25 F0006 cannot include `loop.inc`: it includes itself\n",
        ),
        (
            "      INCLUDE 'a.ff'\n      END\n",
            "1:15-1:21 F0006 cannot include `a.ff`: it includes itself\n",
        ),
        (
            "      INCLUDE FILE\n      END\n",
            "1:15-1:19 F0001 expected the name of a file in quotes, found `FILE`\n",
        ),
    ] {
        let (sources, parsed) = read_with(text, None, files);
        assert_eq!(super::describe(&sources, &parsed), expected, "{text}");
    }
}

#[test]
fn a_carriage_return_belongs_to_the_end_of_a_line() {
    for (text, expected) in [
        ("      X = 'A'\r\n      END\r\n", ""),
        (
            "      S = 'A\rB'\n      END\n",
            "1:13-1:14 F0005 a constant has a carriage return in it\n  help: write CHAR(13), or end all lines of the file alike\n",
        ),
        (
            "      CALL S(3HA\rB)\n      END\n",
            "1:17-1:18 F0005 a constant has a carriage return in it\n  help: write CHAR(13), or end all lines of the file alike\n",
        ),
    ] {
        let (sources, parsed) = read_with(text, None, &[]);
        assert_eq!(super::describe(&sources, &parsed), expected, "{text:?}");
    }
}
