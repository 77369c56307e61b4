//! Measures the lines per second of the front end, on a generated program of 100,000 lines.
//!
//! ```sh
//! cargo bench -p farfel-lang
//! ```

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use farfel_lang::ir::Program;
use farfel_lang::print::{Options, print_program};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Sources, diagnostic};
use std::fmt::Write;

const LINES: usize = 100_000;

fn main() {
    divan::main();
}

/// Subprograms of about 40 lines that call one another, each with typical contents: declarations,
/// loops, branches, long expressions, input and output, a nested subprogram and an AD block.
fn program() -> String {
    let mut text = String::new();
    let mut lines = 0;
    let mut n = 0;
    while lines < LINES {
        let start = text.len();
        // Each calls the one before it; the first calls none.
        let call = match n {
            0 => "Y = 0.0".to_owned(),
            n => format!("CALL STEP{}(X, N, Y, G)", n - 1),
        };
        write!(
            text,
            "\
C     Unit number {n}: relaxes X and tells how far it has come.
      SUBROUTINE STEP{n}(X, N, Y, G)
      INTEGER N, I, J, KOUNT
      REAL X(N), Y, G(N), TOTAL, WEIGHT(3)
      DOUBLE PRECISION SCALE
      LOGICAL DONE
      CHARACTER*20 TITLE
      PARAMETER (SCALE = 1.5D0)
      COMMON /STATE{n}/ TOTAL, KOUNT
      DATA WEIGHT /0.25, 0.5, 0.25/
      DAMP(A) = A/(1.0 + ABS(A))
      REAL FUNCTION INNER(Z)
      REAL Z
      INNER = Z*SCALE + WEIGHT(1)*DAMP(Z)
      END
      TITLE = 'unit {n}'
      DONE = .FALSE.
      TOTAL = 0.0
      DO 20 I = 2, N - 1
        IF (X(I) .GT. 0.0 .AND. .NOT. DONE) THEN
          X(I) = WEIGHT(1)*X(I-1) + WEIGHT(2)*X(I) + WEIGHT(3)*X(I+1)
     +      - 1.0E-3*SIN(X(I))**2/(1.0 + EXP(-X(I))) + FLOAT(I)
        ELSE IF (X(I) .LT. -100.0) THEN
          DONE = .TRUE.
        ELSE
          DO 10 J = 1, 3
            TOTAL = TOTAL + INNER(X(I))*WEIGHT(J)
   10     CONTINUE
        END IF
        IF (MOD(I, 100) .EQ. 0) WRITE (6, 100) TITLE, I, X(I), TOTAL
   20 CONTINUE
      {call}
      ADR(COTANGENT(Y) = 1.0)
        Y = 0.0
        DO 30 I = 1, N
          Y = Y + INNER(X(I))**2
   30   CONTINUE
      END ADR((G(I) = COTANGENT(X(I)), I = 1, N))
      KOUNT = KOUNT + 1
      GOTO (40, 50), KOUNT
   40 RETURN
   50 CONTINUE
  100 FORMAT (1X, A20, I6, 2F12.4)
      END
"
        )
        .expect("a String takes all text");
        lines += text[start..].lines().count();
        n += 1;
    }
    text
}

fn read(text: &str) -> Program {
    let mut sources = Sources::new();
    let file = sources.add("generated.ff", text);
    let parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
    assert!(
        !diagnostic::any_errors(&parsed.diagnostics),
        "{:?}",
        parsed.diagnostics
    );
    parsed.program
}

fn resolved(mut program: Program) -> Program {
    let found = resolve(&mut program);
    assert!(!diagnostic::any_errors(&found), "{found:?}");
    program
}

fn lines(text: &str) -> ItemsCount {
    ItemsCount::new(text.lines().count())
}

#[divan::bench(sample_count = 10)]
fn parse_text(bencher: Bencher) {
    let text = program();
    bencher
        .counter(lines(&text))
        .bench_local(|| read(black_box(&text)));
}

#[divan::bench(sample_count = 10)]
fn resolve_names(bencher: Bencher) {
    let text = program();
    let program = read(&text);
    bencher
        .counter(lines(&text))
        .with_inputs(|| program.clone())
        .bench_local_values(resolved);
}

#[divan::bench(sample_count = 10)]
fn print_text(bencher: Bencher) {
    let text = program();
    let program = resolved(read(&text));
    bencher
        .counter(lines(&text))
        .bench_local(|| print_program(black_box(&program), &Options::default()));
}

#[divan::bench(sample_count = 10)]
fn print_with_line_markers(bencher: Bencher) {
    let text = program();
    let mut sources = Sources::new();
    let file = sources.add("generated.ff", text.as_str());
    let program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    let options = Options {
        form: Form::Fixed,
        line_markers: Some(&sources),
        ..Options::default()
    };
    bencher
        .counter(lines(&text))
        .bench_local(|| print_program(black_box(&program), &options));
}

#[divan::bench(sample_count = 10)]
fn all(bencher: Bencher) {
    let text = program();
    bencher
        .counter(lines(&text))
        .bench_local(|| print_program(&resolved(read(black_box(&text))), &Options::default()));
}
