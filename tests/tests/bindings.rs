//! The functions that Rust can call, and their effects.

use crate::support::Project;

const KINDS: &str = "\
C     Sum of two numbers.
      INTEGER FUNCTION ISUM(I, J)
      ISUM = I + J
      END

      DOUBLE PRECISION FUNCTION HALF(X)
      DOUBLE PRECISION X
      HALF = X/2
      END

      COMPLEX FUNCTION TURN(Z)
      COMPLEX Z
      TURN = (0.0, 1.0)*Z
      END

      COMPLEX*16 FUNCTION ZTURN(Z, W)
      COMPLEX*16 Z, W(2)
      W(2) = W(1)
      ZTURN = (0.0D0, 1.0D0)*Z
      END

      LOGICAL FUNCTION BOTH(A, B)
      LOGICAL A, B
      BOTH = A .AND. B
      END

      SUBROUTINE FLIP(N, FLAGS, ANY, ONE)
      LOGICAL FLAGS(N), ANY
      LOGICAL*1 ONE
      ANY = .FALSE.
      DO 10 I = 1, N
        ANY = ANY .OR. FLAGS(I)
   10   FLAGS(I) = .NOT. FLAGS(I)
      ONE = .NOT. ONE
      END

      LOGICAL FUNCTION FIRST(FLAGS)
      LOGICAL FLAGS(*)
      FIRST = FLAGS(1)
      END

      SUBROUTINE SIZES(I1, I2, I4, I8, J8)
      INTEGER*1 I1
      INTEGER*2 I2
      INTEGER*4 I4
      INTEGER*8 I8, J8
      I8 = I1 + I2 + I4 + J8
      END

C     Y <- A*X + Y, column by column; leading dimension LDA, rows from 0.
      SUBROUTINE UPDATE(LDA, N, A, X, Y, TYPE)
      PARAMETER (M1 = -1)
      DIMENSION A(0:LDA+M1, N), X(N), Y(0:LDA-1)
      REAL TYPE
      DO 20 J = 1, N
      DO 20 I = 0, LDA - 1
   20 Y(I) = Y(I) + A(I, J)*X(J)*TYPE
      END

C     Passes its argument on, so it may be assigned.
      SUBROUTINE OUTER(K, M)
      CALL INNER(K, M)
      END
      SUBROUTINE INNER(K, M)
      K = M
      END

      REAL FUNCTION OLD(N, X)
      DIMENSION X(1)
      OLD = X(N)
      END

      SUBROUTINE APPLY(F, X)
      EXTERNAL F
      X = F(X)
      END
      INTEGER FUNCTION LETTRS(TEXT, SIDE, N, NAME)
      CHARACTER*(*) TEXT
      CHARACTER SIDE, NAME*6
      LETTRS = N*INDEX(TEXT, SIDE) + LEN(TEXT)*1000
      IF (NAME .EQ. 'DGEMM ') LETTRS = -LETTRS
      END
      SUBROUTINE LAST(TEXT, LENGTH, LETTER)
      CHARACTER*(*) TEXT
      INTEGER LENGTH, LETTER
      LENGTH = LEN(TEXT)
      LETTER = -1
      IF (LENGTH .GT. 0) LETTER = ICHAR(TEXT(LENGTH:))
      END
C     Called with an array for a number, so it is no part of the module.
      SUBROUTINE LASTX(TEXT, LENGTH, LETTER)
      CHARACTER*(*) TEXT
      INTEGER LENGTH, LETTER
      CALL LAST(TEXT, LENGTH, LETTER)
      END
      SUBROUTINE SLOPPY(LENGTH, LETTER)
      INTEGER LENGTH(1), LETTER
      CALL LASTX('AB', LENGTH, LETTER)
      END
      INTEGER FUNCTION TELL(F, TEXT)
      CHARACTER*(*) TEXT
      INTEGER F
      EXTERNAL F
      TELL = F(LEN(TEXT))
      END
      SUBROUTINE FILL(TEXT)
      CHARACTER*(*) TEXT
      TEXT = 'X'
      END
      SUBROUTINE MAYBE(X)
      OPTIONAL X
      X = 1
      END
      SUBROUTINE TAPED(TAPE, TOP)
      TYPE FARFEL_R8; SEQUENCE
        DOUBLE PRECISION, ALLOCATABLE :: V(:); END TYPE
      TYPE (FARFEL_R8) TAPE
      INTEGER*8 TOP
      TAPE%V(TOP) = 1
      END

      SUBROUTINE SIZED(X)
      REAL, ALLOCATABLE :: X(:)
      X = 1
      END
      SUBROUTINE SHAPED(X)
      REAL X(:)
      X = 1
      END
      FUNCTION PAIR(X)
      REAL PAIR(2)
      PAIR = X
      END
C Through a Cray pointer; one more each time.
      INTEGER FUNCTION NEXT(N, A)
      INTEGER :: COUNT = 10
      INTEGER A(N), B(2)
      POINTER (P, B)
      AUTOMATIC S
      REAL, ALLOCATABLE :: W(:)
      P = LOC(A)
      ALLOCATE (W(N))
      W = B(2)
      S = SUM(W)
      COUNT = COUNT + 1
      NEXT = COUNT + S
      END
      SUBROUTINE ALT(*)
      RETURN 1
      END

      SUBROUTINE PUT(TEXT, AT, LETTER)
      CHARACTER*(*) TEXT
      CHARACTER LETTER
      INTEGER AT
      TEXT(AT:AT) = LETTER
      END
      SUBROUTINE NEXTTO(TASK)
      CHARACTER*5 TASK
      IF (TASK .EQ. 'START') THEN
        TASK = 'GO ON'
      ELSE IF (TASK .EQ. 'GO ON') THEN
        TASK = 'END'
      ELSE
        TASK = ' '
      END IF
      END
C     Names that mean something in Rust.
      SUBROUTINE DROP(SELF, I64, CALL, FARFEL_RESULT)
      DIMENSION CALL(I64)
      INTEGER SELF
      SAVE
      SELF = I64
      FARFEL_RESULT = CALL(1)
      END
";

const KINDS_MAIN: &str = r#"
#![deny(warnings)]
#![forbid(unsafe_code)]
//! Calls everything.

/// The Fortran part.
pub mod bindings {
    #[allow(dead_code)]
    type Result<T> = std::result::Result<T, String>;
    farfel_runtime::include_bindings!();
}
use bindings::raw as fortran;
use farfel_runtime::{Complex, Error};

fn main() {
    assert_eq!(fortran::isum(2, 3), 5);
    assert_eq!(fortran::half(3.0_f64), 1.5);
    assert_eq!(fortran::turn(Complex::new(2.0_f32, 1.0)), Complex::new(-1.0, 2.0));
    let mut w = [Complex::new(1.0_f64, 2.0), Complex::new(0.0, 0.0)];
    let z = fortran::zturn(Complex::new(2.0_f64, 1.0), &mut w);
    assert_eq!(z, Ok(Complex::new(-1.0, 2.0)));
    assert_eq!(w[1], w[0]);
    assert!(fortran::both(true, true) && !fortran::both(true, false));
    let (mut flags, mut any, mut one) = ([true, false, true], false, true);
    assert_eq!(fortran::flip(2, &mut flags, &mut any, &mut one), Ok(()));
    assert_eq!((flags, any, one), ([false, true, true], true, false));
    assert_eq!(fortran::first(&[true, false]), Ok(true));
    let Err(Error::Bounds { .. }) = fortran::first(&[]) else { panic!() };
    let mut sum = 0_i64;
    fortran::sizes(1_i8, 2_i16, 3_i32, &mut sum, 4_i64);
    assert_eq!(sum, 10);

    let a = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut y = [0.0; 2];
    assert_eq!(fortran::update(2, 3, &a, &[1.0, 1.0, 1.0], &mut y, 1.0), Ok(()));
    assert_eq!(y, [9.0, 12.0]);
    // A longer slice does no harm, a shorter one is an error that says what is needed.
    let short = fortran::update(2, 3, &a[..5], &[1.0, 1.0, 1.0], &mut y, 1.0);
    let Err(Error::Extent { function, argument, needed, got, .. }) = short else {
        panic!("{short:?}");
    };
    assert_eq!((function, argument, needed, got), ("update", "a", 6, 5));
    assert!(fortran::update(2, -1, &[], &[], &mut y, 1.0).is_ok());
    assert_eq!(y, [9.0, 12.0]);

    let mut k = 0;
    fortran::outer(&mut k, 7);
    assert_eq!(k, 7);
    assert_eq!(fortran::old(2, &[1.0, 7.0]), Ok(7.0));
    assert!(fortran::old(2, &[]).is_err());
    assert_eq!(fortran::lettrs("SOLVE", "LEFT", 10, "DGEMM"), -5030);
    assert_eq!(fortran::lettrs("Größe", "", 1, "DGEMMS"), 7000);
    assert_eq!(fortran::lettrs("", "R", 1, "DGEMV"), 0);
    // No text is too long for the stack, also where the subprogram stands outside of the module.
    let long = format!("{}Z", " ".repeat(20_000_000 - 1));
    for (text, expected) in [(&*long, (20_000_000, 90)), ("Z", (1, 90)), ("", (0, -1))] {
        let (mut length, mut last) = (0, 0);
        assert_eq!(fortran::last(text, &mut length, &mut last), Ok(()));
        assert_eq!((length, last), expected);
        assert_eq!(fortran::lastx(text, &mut length, &mut last), Ok(()));
        assert_eq!((length, last), expected);
        assert_eq!(fortran::tell(|n| n + 1, text), expected.0 + 1);
    }

    // Texts in and out.
    let mut text = String::from("START");
    let mut seen = Vec::new();
    for _ in 0..3 {
        fortran::nextto(&mut text);
        seen.push(text.clone());
    }
    assert_eq!(seen, ["GO ON", "END", ""]);
    text = "START and more, which nobody sees".into();
    fortran::nextto(&mut text);
    assert_eq!(text, "GO ON");
    let mut bytes = *b"abc";
    assert_eq!(fortran::put(&mut bytes, 2, "X"), Ok(()));
    assert_eq!(&bytes, b"aXc");
    assert!(matches!(fortran::put(&mut bytes, 4, "X"), Err(Error::Bounds { .. })));
    assert!(fortran::put(&mut [], 1, "X").is_err());

    let (mut own, mut result) = (0, 0.0);
    assert_eq!(fortran::drop(&mut own, 1, &[5.0], &mut result), Ok(()));
    assert_eq!((own, result), (1, 5.0));
    // NEXT is unsafe; that it is there is no unsafe code of this crate.
    println!("fine");
}
"#;

#[test]
fn every_kind_of_argument_and_result() {
    let p = Project::new("kinds", "kinds");
    p.file("src/kinds.ff", KINDS)
        .file("src/main.rs", KINDS_MAIN);
    assert_eq!(p.run(), "fine\n");
    let bindings = p.bindings();
    for expected in [
        "pub fn apply(mut f: impl FnMut(f32) -> f32, x: &mut f32) {",
        "pub fn fill(text: &mut [u8]) {",
        "pub fn put(text: &mut [u8], at: i32, letter: impl ::core::convert::AsRef<[u8]>) -> ",
        "pub enum AltReturn {",
        "pub fn alt() -> AltReturn {",
        "// MAYBE cannot be called from Rust: its argument X is OPTIONAL.",
        "// TAPED cannot be called from Rust: its argument TAPE is a tape.",
        "// SIZED cannot be called from Rust: its argument X is ALLOCATABLE.",
        "// SHAPED cannot be called from Rust: its argument X has no bounds.",
        "// PAIR cannot be called from Rust: its result is an array.",
        "/// Sum of two numbers.\n",
        "/// INTEGER FUNCTION ISUM(I, J)\n",
        "/// Defined at `src/kinds.ff:2`.\n",
        "/// Y \\<- A\\*X + Y, column by column; leading dimension LDA, rows from 0.\n",
        "y: &mut [f32], r#type: f32) -> ::core::result::Result<(), ::farfel_runtime::Error>",
        "/// SUBROUTINE UPDATE(LDA, N, A, X, Y, TYPE)\n/// REAL A(0:LDA + M1, N)\n/// REAL X(N)\n/// REAL Y(0:LDA - 1)\n",
        "::farfel_runtime::exposed! {\n/// Through a Cray pointer; one more each time.\n",
        "fn next(n: i32, a: &[i32]) -> ",
    ] {
        assert!(bindings.contains(expected), "{expected}\n{bindings}");
    }
    // Only DROP and NEXT share state.
    assert_eq!(bindings.matches(".lock()").count(), 2);
}

#[test]
fn real_kind_8_and_exports() {
    let p = Project::new("double", "double");
    p.append(
        "Cargo.toml",
        "[package.metadata.farfel]\nreal-kind = 8\nexports = ['third', 'mean']\nsources = ['numerics']\n",
    );
    p.file(
        "numerics/a.f",
        "      FUNCTION THIRD(X)\n      THIRD = PART(X)/3.0\n      END\n\
         \x20     FUNCTION PART(X)\n      DOUBLE PRECISION D\n      D = X\n      PART = D\n      END\n\
         \x20     REAL*8 FUNCTION MEAN(N, W)\n      REAL*4 W(N)\n      MEAN = (W(1) + W(N))/2\n      END\n",
    );
    p.file(
        "src/main.rs",
        "farfel_runtime::include_bindings!();\n\
         fn main() {\n    assert_eq!(third(1.0_f64), 1.0_f64 / 3.0);\n    \
         assert_eq!(mean(&[1.5_f32, 7.0, 4.0]).unwrap(), 2.75_f64);\n}\n",
    );
    p.run();
    assert!(!p.bindings().contains("fn part"));
    for (exports, expected) in [
        (
            "'fourth'",
            "cannot export fourth: there is no top-level subprogram of this name",
        ),
        (
            "'part', 'Sub'",
            "cannot export sub: its argument C has no bounds",
        ),
    ] {
        p.file(
            "numerics/b.f",
            "      SUBROUTINE SUB(C)\n      REAL C(:)\n      C(1) = 1\n      END\n",
        );
        let manifest = std::fs::read_to_string(p.directory.join("Cargo.toml")).unwrap();
        let (before, _) = manifest.split_once("exports").unwrap();
        p.file(
            "Cargo.toml",
            format!("{before}exports = [{exports}]\nsources = ['numerics']\n"),
        );
        let ran = p.cargo(&["build"]);
        assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

const STATE: &str = "      SUBROUTINE CHECK(N)
      IF (N .LT. 0) CALL FAIL(N)
      END
      SUBROUTINE FAIL(N)
      IF (N .EQ. -1) STOP
      IF (N .EQ. -2) STOP 22
      STOP 'NO ROOT FOUND'
      END

      SUBROUTINE ADD(X)
      COMMON /ACCU/ TOTAL, N
      TOTAL = TOTAL + X
      N = N + 1
      IF (N .EQ. 13) STOP 'THIRTEEN'
      END
      SUBROUTINE GET(T, M)
      COMMON /ACCU/ TOTAL, N
      T = TOTAL
      M = N
      END
      BLOCK DATA
      COMMON /ACCU/ TOTAL, N
      DATA TOTAL, N /100.0, 0/
      END

C     A program that says where it stands in every call.
      INTEGER FUNCTION NEXT(K)
      DATA L /0/
      SAVE L
      M = L
      DO 10 I = 1, 1000
   10 M = M + 1
      L = M
      NEXT = L/1000 + K
      END

C     Tables that stay as they are.
      REAL FUNCTION TABLE(I)
      COMMON /SCALES/ SCALE
      REAL T(3)
      SAVE T
      DATA T /1.0, 2.0, 4.0/
      TABLE = SCALE*T(I)
      END
      BLOCK DATA TABLES
      COMMON /SCALES/ SCALE
      DATA SCALE /10.0/
      END

      REAL FUNCTION PURE(N)
      REAL A(100)
      DO 10 I = 1, 100
   10 A(I) = N
      S = 0
      DO 20 K = 1, 1000
      DO 20 I = 1, 100
   20 S = S + A(I)
      PURE = S/100000
      END
";

const STATE_MAIN: &str = r#"
mod fortran { farfel_runtime::include_bindings!(); }
use farfel_runtime::Error;

fn main() {
    let stop = |code, message: Option<&str>, line| {
        let (message, file) = (message.map(String::from), "src/state.f".into());
        Err(Error::Stop { code, message, file, line })
    };
    assert_eq!(fortran::check(1), Ok(()));
    assert_eq!(fortran::check(-1), stop(0, None, 5));
    assert_eq!(fortran::check(-2), stop(22, None, 6));
    assert_eq!(fortran::check(-3), stop(0, Some("NO ROOT FOUND"), 7));

    // STOP releases the lock and leaves what was assigned.
    for i in 1..=14 {
        let result = fortran::add(1.0);
        assert_eq!(result.is_err(), i == 13, "{i}: {result:?}");
    }
    assert_eq!(fortran::get(), fortran::GetOutput { t: 114.0, m: 14 });

    // From many threads at once.
    let mut seen: Vec<i32> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..4)
            .map(|t| {
                s.spawn(move || {
                    (0..50)
                        .map(|_| {
                            assert_eq!(fortran::pure(t), t as f32);
                            assert_eq!(fortran::table(3), Ok(40.0));
                            assert!(fortran::check(-2).is_err());
                            fortran::next(0)
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    seen.sort();
    assert_eq!(seen, (1..=200).collect::<Vec<_>>());
    println!("fine");
}
"#;

#[test]
fn stop_and_shared_state() {
    let p = Project::new("state", "state");
    p.file("src/state.f", STATE).file("src/main.rs", STATE_MAIN);
    assert_eq!(p.run(), "fine\n");
    let bindings = p.bindings();
    let locked: Vec<&str> = bindings
        .split("pub fn ")
        .skip(1)
        .filter(|f| f.contains("FARFEL_LOCK"))
        .filter_map(|f| f.split('(').next())
        .collect();
    // The short function of GET calls the one in `raw`, which comes later.
    assert_eq!(locked, ["add", "next", "get"]);
}

/// A closure waits for a thread that calls a subprogram with other state, and then continues: with a single
/// lock for all, both would wait.
#[test]
fn other_state_has_another_lock() {
    let p = Project::new("locks", "locks");
    p.file(
        "src/state.f",
        "      SUBROUTINE MEAN(F, N, R)
      EXTERNAL F
      COMMON /SUMS/ S
      S = 0
      DO 10 I = 1, N
   10 S = S + F(I)
      R = S/N
      END

      INTEGER FUNCTION COUNTER()
      SAVE N
      DATA N /0/
      N = N + 1
      COUNTER = N
      END
",
    )
    .file(
        "src/main.rs",
        r#"
mod fortran { farfel_runtime::include_bindings!(); }

fn main() {
    let begun = std::time::Instant::now();
    let f = |_| std::thread::spawn(fortran::counter).join().unwrap() as f32;
    assert_eq!(fortran::mean(f, 4), 2.5);
    assert!(begun.elapsed().as_secs() < 9);
    println!("fine");
}
"#,
    );
    assert_eq!(p.run(), "fine\n");
    let bindings = p.bindings();
    assert!(bindings.contains("FARFEL_LOCK.lock"), "{bindings}");
    assert!(bindings.contains("FARFEL_LOCK_2.lock"), "{bindings}");
}

/// Something that the standard forbids and old compilers accepted: a whole array for a scalar.
const SLOPPY: &str = "      REAL FUNCTION FIRST(A)
      REAL A(3)
      CALL TAKE(A, FIRST)
      END
      SUBROUTINE TAKE(X, Y)
      Y = X + IONE(1)
      END
      INTEGER FUNCTION IONE(I)
      COMMON /COUNT/ N
      N = N + 1
      IONE = I
      END
      INTEGER FUNCTION CALLS()
      COMMON /COUNT/ N
      M = N
      CALLS = IONE(1)
      CALLS = M
      END

      SUBROUTINE WORK(N, W)
      DIMENSION W(*)
      CALL SPLIT(N, W, W(N+1))
      END
      SUBROUTINE SPLIT(N, A, B)
      DIMENSION A(N), B(N)
      DO 10 I = 1, N
   10 B(I) = 2*A(I)
      END

      SUBROUTINE SMALL
      REAL A(2)
      CALL BIG(A)
      END
      SUBROUTINE BIG(A)
      REAL A(3)
      A(1) = 0
      END

C     Variables called like subprograms, of this program and of gfortran's own.
      REAL FUNCTION NAMES(TAKE)
      REAL TAKE
      WORK = 1
      IONE = TAKE
      NAMES = WORK + IONE + SECOND(0.0) + RAND(1.0)
      END
      REAL FUNCTION SECOND(X)
      SECOND = X + 10
      END
      REAL FUNCTION RAND(X)
      RAND = X + 100
      END
";

#[test]
fn sloppy_programs_and_clashing_names() {
    let p = Project::new("sloppy", "sloppy");
    p.file("fortran/sloppy.f", SLOPPY).file(
        "src/main.rs",
        r#"
mod fortran { farfel_runtime::include_bindings!(); }
fn main() {
    assert_eq!(fortran::first(&[5.0, 6.0, 7.0]), Ok(6.0));
    assert_eq!(fortran::calls(), 1);
    let mut w = [1.0, 2.0, 0.0, 0.0];
    fortran::work(2, &mut w);
    assert_eq!(w, [1.0, 2.0, 2.0, 4.0]);
    assert_eq!(fortran::names(5.0), 117.0);
    assert_eq!(fortran::ione(1), 1);
    assert_eq!(fortran::calls(), 3);
}
"#,
    );
    p.run();
    // gfortran's warning is shown even if gfortran need not run again.
    for edit in ["", "// Edited.\n"] {
        p.append("src/main.rs", edit);
        let seen = p.cargo(&["build"]).stderr;
        let warning = "warning: sloppy@0.1.0: fortran/sloppy.f:32:7: F0401 Actual argument contains too few elements";
        assert_eq!(seen.matches(warning).count(), 1, "{seen}");
    }
}

#[test]
fn two_libraries_in_one_program() {
    let a = Project::new("two/a", "liba");
    let b = Project::new("two/b", "libb");
    for (p, value) in [(&a, 1), (&b, 2)] {
        p.file(
            "src/x.ff",
            format!(
                "      INTEGER FUNCTION VALUE(K)\n      COMMON /C/ I\n      COMMON J\n\
                 \x20     IF (K .LT. 0) STOP {value}\n      J = J + 1\n      VALUE = 10*I + J\n      END\n\
                 \x20     BLOCK DATA\n      COMMON /C/ I, FILLER({value})\n      DATA I /{value}/\n      END\n\
                 \x20     SUBROUTINE SLOPPY(I)\n      REAL X(3)\n      CALL SHARED(I, X)\n      END\n\
                 \x20     SUBROUTINE SHARED(I, X)\n      I = {value}\n      END\n"
            ),
        );
        p.file(
            "src/lib.rs",
            "//! Two.\n#![deny(warnings)]\nfarfel_runtime::include_bindings!();\n",
        );
    }
    let main = Project::new("two/main", "twomain");
    let manifest = std::fs::read_to_string(main.directory.join("Cargo.toml")).unwrap();
    main.file(
        "Cargo.toml",
        manifest.replace(
            "[dependencies]\n",
            "[dependencies]\nliba = { path = '../a' }\nlibb = { path = '../b' }\n",
        ),
    );
    main.file("build.rs", "fn main() {}\n");
    main.file(
        "src/main.rs",
        r#"
fn main() {
    assert_eq!((liba::value(0), libb::value(0), liba::value(0)), (Ok(11), Ok(21), Ok(12)));
    assert!(liba::value(-1).unwrap_err().to_string().contains("with code 1 ("));
    assert_eq!((liba::sloppy(), libb::sloppy()), (1, 2));
}
"#,
    );
    main.run();
}

/// A function whose callers determine the length of its result cannot be in a module.
#[test]
fn functions_of_any_length() {
    let p = Project::new("any_length", "any_length");
    p.file(
        "fortran/a.f",
        "\
      SUBROUTINE SHOW(TEXT)
      CHARACTER*(*) TEXT
      CHARACTER*4 TWICE
      TEXT = TWICE('ab')
      END
      CHARACTER*(*) FUNCTION TWICE(X)
      CHARACTER*(*) X
      TWICE = X//X
      END
",
    )
    .file(
        "src/main.rs",
        "mod fortran { farfel_runtime::include_bindings!(); }
fn main() {
    let mut text = [b'.'; 6];
    // SAFETY: the function is as long as it is declared.
    unsafe { fortran::show(&mut text) };
    println!(\"{}\", String::from_utf8_lossy(&text));
}
",
    );
    assert_eq!(p.run(), "abab  \n");
}

/// Two modules with lists of functions, which share the lock; all functions of a library that is so large that its
/// bindings are divided; and what remains when a subprogram has gone.
#[test]
fn lists_of_functions_and_divided_bindings() {
    let source = |functions: std::ops::Range<usize>| -> String {
        let one =
            |n| format!("      INTEGER FUNCTION PLUS{n}(I)\n      PLUS{n} = I + {n}\n      END\n");
        let many: String = functions.map(one).collect();
        many + "      INTEGER FUNCTION NEXT()
      COMMON /COUNT/ N
      N = N + 1
      NEXT = N
      END

      SUBROUTINE DURING(F)
      EXTERNAL F
      COMMON /COUNT/ N
      N = 0
      CALL F
      END

      REAL FUNCTION AUX(N, X)
      REAL X(N)
      AUX = X(N)
      END
"
    };
    let p = Project::new("divided", "divided");
    let main = r#"#![forbid(unsafe_code)]
mod some { farfel_runtime::include_bindings!(plus7, during, aux); }
mod others { farfel_runtime::include_bindings!(next); }

fn main() {
    assert_eq!(some::plus7(1), 8);
    assert_eq!(some::aux(&[1.0, 2.0]), Ok(2.0));
    assert_eq!(some::raw::aux(1, &[1.0, 2.0]), Ok(1.0));
    // With a lock of its own, the other module would wait for nobody.
    let waits = std::sync::Mutex::new(None);
    some::during(|| {
        assert_eq!(others::next(), 1);
        let thread = std::thread::spawn(others::next);
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!thread.is_finished());
        *waits.lock().unwrap() = Some(thread);
    });
    assert_eq!(waits.into_inner().unwrap().unwrap().join().unwrap(), 2);
    println!("fine");
}
"#;
    p.file("src/many.f", source(1..8)).file("src/main.rs", main);
    assert_eq!(p.run(), "fine\n");
    assert!(p.bindings().contains("fn plus7"));

    p.file("src/many.f", source(7..130)).file(
        "src/main.rs",
        "mod all { farfel_runtime::include_bindings!(); }\nfn main() {\n    println!(\"{} {}\", all::plus129(1), \
         all::raw::plus8(2));\n}\n",
    );
    assert_eq!(p.run(), "130 10\n");
    let bindings = std::fs::read_to_string(p.out().join("farfel_bindings.rs")).unwrap();
    assert!(
        bindings.contains("include!(\"farfel_bindings/of_plus129.rs\");"),
        "{bindings}"
    );
    assert!(!bindings.contains("fn plus"), "{bindings}");

    // It is in no list any more.
    p.file(
        "src/main.rs",
        "farfel_runtime::include_bindings!(plus1);\nfn main() {}\n",
    );
    let ran = p.cargo(&["check"]);
    assert!(
        !ran.ok && ran.stderr.contains("of_plus1.rs"),
        "{}",
        ran.stderr
    );
}
