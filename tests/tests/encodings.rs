//! Files that are not ASCII: a character counts as its bytes, as in gfortran.

use std::fs;
use std::path::Path;
use std::process::Command;

use farfel_tests::{farfel, sandbox, write};
use snapbox::str;

/// Lengths, Hollerith counts, order and layout, all with non-ASCII characters.
const PROGRAM: &str = "\
C     Grüße in Latin-1
      PROGRAM PREUVE
      CHARACTER*(*) S, T, ONE
      PARAMETER (S = 'Stra\u{df}e', T = '\u{e9}t\u{e9}', ONE = '\u{fc}')
      INTEGER A(LEN(S)), B(LEN(T)), C(ICHAR(ONE(1:1)))
      CHARACTER*4 H
      CHARACTER*200 LONG
      REAL X
      EQUIVALENCE (H, X)
      DATA X /4H\u{e0}bc /
@
      PRINT *, SIZE(A), SIZE(B), SIZE(C), LEN(S // T), INDEX(S, 'e')
      PRINT *, LEN_TRIM(LONG), T .LT. 'f', ICHAR(ONE(1:1))
      PRINT *, S, T(2:), LONG(1:130)
      PRINT 10, S
      WRITE (*, '(5H\u{e9}t\u{e9}: ,A)') T
      PRINT *, H
 10   FORMAT (12HStra\u{df}e, \u{fc}ber, A, ' \u{df}', 3H \u{df} )
      X = 2
      ADF(X)
      Y = X**3
      END ADF(D = TANGENT(Y))
      PRINT *, NINT(D), ' d\u{e9}riv\u{e9}e'
      END
";

/// Returns an assignment of a long constant that fills its lines, in an encoding.
fn long(encoded: fn(&str) -> Vec<u8>) -> String {
    let letters = "\u{e4}\u{f6}\u{fc} 123456789 ".repeat(10);
    let (mut text, mut room) = ("      LONG = '".to_owned(), 72 - 14);
    let mut left = letters.chars().peekable();
    while let Some(c) = left.peek() {
        let width = encoded(&c.to_string()).len();
        match room {
            0 => {
                text.push_str("\n     +");
                room = 66;
            }
            // No character is split.
            1 if width == 2 => {
                text.push('x');
                room = 0;
            }
            _ => {
                room -= width;
                text.extend(left.next());
            }
        }
    }
    if room < 10 {
        text.push_str(&"x".repeat(room));
        text.push_str("\n     +");
    }
    text + "''\u{df}'"
}

/// The same without an AD block, for gfortran.
fn plain() -> String {
    PROGRAM
        .replace("      ADF(X)\n", "")
        .replace("      END ADF(D = TANGENT(Y))\n", "      D = 3*X**2\n")
}

fn latin_1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c).unwrap()).collect()
}

/// Returns the output of the program that gfortran alone makes of the file.
fn printed(dir: &Path, file: &str) -> Vec<u8> {
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-w", "-o", "alone", file])
        .current_dir(dir)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{file}: {said}");
    let ran = Command::new(dir.join("alone")).output().unwrap();
    assert!(ran.status.success());
    ran.stdout
}

/// In Latin-1 and in UTF-8: run, printed in either form, formatted, converted.
#[test]
fn letters_have_the_bytes_of_their_file() {
    let utf_8 = |text: &str| text.as_bytes().to_vec();
    let encodings: [fn(&str) -> Vec<u8>; 2] = [latin_1, utf_8];
    for (i, encoded) in encodings.into_iter().enumerate() {
        let dir = sandbox();
        let dir = dir.path();
        let long = long(encoded);
        // Counts are of bytes.
        let adapted = |text: String| match i {
            0 => text,
            _ => text
                .replace("4H\u{e0}bc ", "4H\u{e0}bc")
                .replace("5H", "7H")
                .replace("12HS", "14HS")
                .replace("3H ", "4H "),
        };
        write(
            dir,
            "plain.f",
            encoded(&adapted(plain()).replace("@\n", &(long.clone() + "\n"))),
        );
        write(
            dir,
            "latin.ff",
            encoded(&adapted(PROGRAM.into()).replace("@\n", &(long + "\n"))),
        );
        let wanted = printed(dir, "plain.f");
        let run = farfel(dir)
            .args(["run", "-q", "latin.ff"])
            .assert()
            .success();
        assert_eq!(run.get_output().stdout, wanted, "{i}: run");
        let expanded = farfel(dir).args(["expand", "latin.ff"]).assert().success();
        write(dir, "expanded.f", &expanded.get_output().stdout);
        assert_eq!(printed(dir, "expanded.f"), wanted, "{i}: expand");
        farfel(dir).args(["fmt", "plain.f"]).assert().success();
        assert_eq!(printed(dir, "plain.f"), wanted, "{i}: fmt");
        farfel(dir)
            .args(["fmt", "--form", "free", "plain.f"])
            .assert()
            .success();
        fs::rename(dir.join("plain.f"), dir.join("free.f90")).unwrap();
        assert_eq!(printed(dir, "free.f90"), wanted, "{i}: free");
    }
}

/// Messages show the characters, at the right positions.
#[test]
fn messages_have_letters() {
    let dir = sandbox();
    let text =
        "      PARAMETER (N = '\u{fc}\u{e9}' // GRUM('\u{e4}'))\n      X = \u{df}\n      END\n";
    write(dir.path(), "a.f", latin_1(text));
    farfel(dir.path())
        .args(["check", "a.f"])
        .assert()
        .failure()
        .stderr_eq(str![[r#"
error[F0005]: `ß` has no meaning here
 --> a.f:2:11
  |
2 |       X = ß
  |           ^ expected an expression

error: 1 error

"#]]);
}
