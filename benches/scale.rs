//! The scaling of the front end with the size of the program: 25,000, 50,000 and 100,000 lines; of reverse
//! mode with the code that one AD block reaches: chains of subprograms, nested loops, statements of one loop,
//! and a subprogram of 20,000 statements; of `farfel tapenade -d` if some calls of a chain pass
//! constants, and of `farfel tapenade -b` for many elements of an array, branches, calls and loops. The adjoint of
//! a time step as in models of the ocean, with nested loops over fields in COMMON, is compared with its tangent.
//!
//! `cargo bench -p farfel-benches --bench scale`. A synthetic program with an AD request for every hundred
//! lines is parsed, resolved, lowered and printed. Times are processor times, the minimum of three runs.
//!
//! Exits with 1 when four times the text takes more than [`GROWTH`] times the time, or more memory than
//! [`MEMORY`]; when eight times the subprograms take more than [`CHAIN`] times the time per subprogram, eight
//! nested loops more than [`DEPTH`] times the time of one, or a statement of a longer loop more than [`LONG`]
//! times the time of one in a shorter loop; when the adjoint of the time step takes more than [`MODEL`] times the
//! time of its tangent, or more than [`SAVED`] times as long with saved variables as without. The number of instructions grows by 4.0 (`valgrind
//! --tool=callgrind`); how much longer they take when the program no longer fits into the processor's caches
//! depends on the machine and on its load. Without `--bench`, as under `cargo test --benches`, it only checks
//! that the passes accept a small program of this kind.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_ad::{Builtin, differentiate_all};
use farfel_benches::generate::{Generated, Project};
use farfel_benches::{Clock, exit_code};
use farfel_lang::ir::Program;
use farfel_lang::lower::{Options, Stage, lower_with};
use farfel_lang::syntax::{NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources, print, resolve::resolve};
use farfel_tools::dropin;
use farfel_tools::dropin::options::{Action, parse as parse_line};
use std::process::ExitCode;
use std::time::Duration;

/// The numbers of lines of the programs.
const SIZES: [usize; 3] = [25_000, 50_000, 100_000];

/// The steps in order.
const STEPS: [&str; 4] = ["parse", "resolve", "lower", "print"];

/// The maximum time for four times the text. Looking at every pair of units would take 16 times as long.
const GROWTH: f64 = 8.0;

/// The maximum memory of the process in bytes.
const MEMORY: u64 = 500_000_000;

/// The numbers of subprograms in a chain.
const CHAINS: [usize; 2] = [40, 320];

/// The maximum time per subprogram of the longer chain, relative to the shorter one.
const CHAIN: f64 = 3.0;

/// The maximum time for eight nested loops, relative to one. Trying all combinations would take thousands of
/// times as long.
const DEPTH: f64 = 40.0;

/// The number of ADF blocks in each other, with respect to the same variable, and the maximum seconds for
/// them: without Taylor arithmetic each level doubles the time.
const LEVELS: usize = 8;
const SECONDS_OF_LEVELS: f64 = 0.2;

/// The numbers of statements of a loop, as in generated code for reaction rates, and of the same code without
/// a loop.
const STATEMENTS: [usize; 2] = [250, 2000];

/// The numbers of statements of a subprogram without loops.
const STRAIGHT: [usize; 2] = [2000, 20_000];

/// The numbers of loops, one after the other.
const LOOPS: [usize; 2] = [200, 2000];

/// The maximum time per statement, per loop, or per subprogram of `farfel tapenade -d`, of the larger program, relative
/// to the smaller one.
const LONG: f64 = 3.0;

/// The number of subprograms of a model's time step, the maximum time for its adjoint relative to its tangent, and that
/// for the adjoint if a subprogram keeps variables from call to call, relative to the adjoint if none does. Making
/// the statements of loops to find what they need, 7.9 and 3.0 were measured; generating adjoints twice to find which
/// subprograms need a state of their own, 2.9 for the latter; with neither, 4.3 and 1.6.
const MODEL_STEPS: usize = 160;
const MODEL: f64 = 6.0;
const SAVED: f64 = 2.2;

type Failure = Box<dyn std::error::Error>;

/// Generates the derivatives of a program with this many statements or subprograms, and returns the time.
type Run = fn(usize) -> Result<Duration, Failure>;

fn main() -> ExitCode {
    let outcome = if std::env::args().any(|a| a == "--bench") {
        bench()
    } else {
        steps(&Project::new(2_000, 20).generate(), 20)
            .and_then(|_| {
                Ok([
                    differentiated(&chain(3))?,
                    differentiated(&nest(3))?,
                    differentiated(&levels(3))?,
                    differentiated(&rates(10))?,
                    differentiated(&straight(10))?,
                    differentiated(&assignments(10))?,
                    tapenade("-d", &mixed(10))?,
                    tapenade("-b", &elements(20))?,
                    tapenade("-b", &loops(10))?,
                    time_step("-b", 3, true)?,
                    time_step("-b", 3, false)?,
                ])
            })
            .map(|_| Vec::new())
    };
    exit_code(outcome)
}

fn bench() -> Result<Vec<String>, Failure> {
    println!("Microseconds of processor time for a line, best of 3 runs\n");
    print!("{:>8}{:>10}", "lines", "requests");
    for step in STEPS {
        print!("{step:>10}");
    }
    println!("{:>10}{:>10}{:>10}", "all", "seconds", "MB");
    let mut totals = Vec::new();
    for wanted in SIZES {
        let requests = wanted / 100;
        let program = Project::new(wanted, requests).generate();
        let lines = program.lines();
        let mut best = steps(&program, requests)?;
        for _ in 1..3 {
            for (best, again) in best.iter_mut().zip(steps(&program, requests)?) {
                *best = again.min(*best);
            }
        }
        print!("{lines:>8}{requests:>10}");
        for t in best {
            print!("{:>10.2}", t.as_secs_f64() * 1e6 / lines as f64);
        }
        let total = best.iter().sum::<Duration>().as_secs_f64();
        // Peak memory: sizes ascend.
        println!(
            "{:>10.2}{total:>10.3}{:>10.0}",
            total * 1e6 / lines as f64,
            peak_memory()? as f64 / 1e6
        );
        totals.push(total / lines as f64);
    }
    let mut errors = Vec::new();
    if let [small, .., large] = totals[..] {
        let growth = 4.0 * large / small;
        println!("\nFour times the text takes {growth:.2} times the time.");
        if growth > GROWTH {
            errors.push(format!(
                "four times the text takes {growth:.2} times the time, more than {GROWTH}"
            ));
        }
    }
    errors.extend(derivatives()?);
    let memory = peak_memory()?;
    println!("\nAt most {:.0} MB were in use.", memory as f64 / 1e6);
    if memory > MEMORY {
        errors.push(format!("{memory} bytes were in use, more than {MEMORY}"));
    }
    Ok(errors)
}

/// Derivatives.
fn derivatives() -> Result<Vec<String>, Failure> {
    let least = |run: &dyn Fn() -> Result<Duration, Failure>| -> Result<f64, Failure> {
        let times = (0..3).map(|_| run().map(|t| t.as_secs_f64()));
        let times: Vec<f64> = times.collect::<Result<_, _>>()?;
        Ok(times.into_iter().fold(f64::INFINITY, f64::min))
    };
    let best = |text: &str| least(&|| differentiated(text));
    let mut errors = Vec::new();
    println!("\nMilliseconds for the adjoint of a subprogram in a chain of calls\n");
    let mut each = Vec::new();
    for n in CHAINS {
        let time = best(&chain(n))? * 1e3 / n as f64;
        println!("{n:>8}{time:>10.2}");
        each.push(time);
    }
    let growth = each[1] / each[0];
    if growth > CHAIN {
        errors.push(format!(
            "a subprogram takes {growth:.1} times as long in a chain of {}",
            CHAINS[1]
        ));
    }
    println!("\nMilliseconds for the adjoint of loops in each other\n");
    let mut of_depths = Vec::new();
    for n in 1..=8 {
        let time = best(&nest(n))? * 1e3;
        println!("{n:>8}{time:>10.2}");
        of_depths.push(time);
    }
    let growth = of_depths[7] / of_depths[0];
    if growth > DEPTH {
        errors.push(format!(
            "eight loops in each other take {growth:.0} times as long as one"
        ));
    }
    let time = best(&levels(LEVELS))?;
    println!(
        "\nMilliseconds for {LEVELS} ADF blocks in each other{:>10.2}",
        time * 1e3
    );
    if time > SECONDS_OF_LEVELS {
        errors.push(format!(
            "{LEVELS} ADF blocks in each other take {time:.2} s"
        ));
    }
    let many: [(&str, [usize; 2], Run); 6] = [
        (
            "the adjoint of a statement, by how many there are in a loop",
            STATEMENTS,
            |n| differentiated(&rates(n)),
        ),
        (
            "the tangent of a statement, by how many there are",
            STATEMENTS,
            |n| differentiated(&straight(n)),
        ),
        (
            "the adjoint of a statement, by how many there are",
            STRAIGHT,
            |n| differentiated(&assignments(n)),
        ),
        (
            "the tangent of a subprogram, some called with constants, by `farfel tapenade`",
            CHAINS,
            |n| tapenade("-d", &mixed(n)),
        ),
        (
            "the adjoint of a statement with elements of an array, by `farfel tapenade`",
            STRAIGHT,
            |n| tapenade("-b", &elements(n)),
        ),
        (
            "the adjoint of a loop, by how many there are, by `farfel tapenade`",
            LOOPS,
            |n| tapenade("-b", &loops(n)),
        ),
    ];
    for (what, sizes, run) in many {
        println!("\nMilliseconds for {what}\n");
        let mut each = Vec::new();
        for n in sizes {
            let time = least(&|| run(n))? * 1e3 / n as f64;
            println!("{n:>8}{time:>10.3}");
            each.push(time);
        }
        let growth = each[1] / each[0];
        if growth > LONG {
            errors.push(format!(
                "{what}: {growth:.1} times as long with {}",
                sizes[1]
            ));
        }
    }
    let times = [("-d", false), ("-b", false), ("-b", true)];
    let times = times.map(|(mode, saved)| least(&|| time_step(mode, MODEL_STEPS, saved)));
    let [tangent, adjoint, saved] = times;
    let (tangent, adjoint, saved) = (tangent?, adjoint?, saved?);
    println!(
        "\nSeconds for a model's time step of {MODEL_STEPS} subprograms, by `farfel tapenade`\n"
    );
    println!(
        "{:>10}{:>10}{:>24}",
        "tangent", "adjoint", "with saved variables"
    );
    println!("{tangent:>10.2}{adjoint:>10.2}{saved:>24.2}");
    let ratios = [
        ("the tangent", adjoint / tangent, MODEL),
        (
            "the adjoint without saved variables",
            saved / adjoint,
            SAVED,
        ),
    ];
    for (than, ratio, limit) in ratios {
        if ratio > limit {
            errors.push(format!(
                "the adjoint of a model's time step takes {ratio:.1} times as long as {than}, more than {limit}"
            ));
        }
    }
    Ok(errors)
}

/// Returns the time for generating the derivatives of a program.
fn differentiated(text: &str) -> Result<Duration, Failure> {
    let mut sources = Sources::new();
    let file = sources.add("derivatives.ff", text);
    let parsed = parse(&mut sources, file, None, &mut NoIncludes);
    none(&parsed.diagnostics)?;
    let mut program = parsed.program;
    none(&resolve(&mut program))?;
    let lowered = lower_with(program, Stage::Stage, &Options::default());
    none(&lowered.diagnostics)?;
    let mut clock = Clock::new()?;
    let made = differentiate_all(&Builtin, lowered.program, &lowered.requests);
    let time = clock.lap()?;
    match made {
        Ok(_) => Ok(time),
        Err(d) => none(&d).map(|()| time),
    }
}

const GRADIENT: &str = "      PROGRAM P
      DOUBLE PRECISION X(10), G(10), Y
      X = 1
      ADR(Y)
      CALL U1(X, Y)
      END ADR((G(I) = COTANGENT(X(I)), I = 1, 10))
      END
";

/// Returns a program of this many subprograms, each of which calls the next.
fn chain(n: usize) -> String {
    let mut text = GRADIENT.to_owned();
    for i in 1..=n {
        text += &format!(
            "      SUBROUTINE U{i}(X, Y)
      DOUBLE PRECISION X(10), Y, T, S
      INTEGER I
      S = 1
      DO I = 1, 10
        T = SIN(X(I))*S
        IF (T .GT. 0.5D0) T = T*T
        S = S + T*X(I)
      END DO
      T = S
"
        );
        if i < n {
            text += &format!("      CALL U{}(X, T)\n", i + 1);
        }
        text += "      Y = T*S\n      X(3) = X(3)*T\n      END\n";
    }
    text
}

/// Returns a program of this many nested loops, with statements before and after each.
fn nest(n: usize) -> String {
    let mut text = GRADIENT.to_owned();
    text += "      SUBROUTINE U1(X, Y)
      DOUBLE PRECISION X(10), Y, T, S, A(10,10)
      S = 1
";
    for i in 1..=n {
        text += &format!("      DO I{i} = 1, 2\n        T = X(I{i})*S\n        A(I{i},1) = S*T\n");
    }
    text += "        S = S + SIN(T)*X(1)*A(I1,1)\n";
    for _ in 0..n {
        text += "        X(2) = X(2)*T + A(2,1)\n      END DO\n";
    }
    text + "      Y = S\n      END\n"
}

/// Returns a program of this many ADF blocks in each other.
fn levels(n: usize) -> String {
    let mut text = "      PROGRAM P\n      DOUBLE PRECISION X, Y".to_owned();
    for k in 1..=n {
        text += &format!(", T{k}");
    }
    text += "\n      X = 0.7D0\n";
    text += &"      ADF(X)\n".repeat(n);
    text += "      Y = SIN(X)*EXP(X)/(1 + X*X)\n";
    for k in 1..=n {
        let of = match k {
            1 => "Y".to_owned(),
            k => format!("T{}", k - 1),
        };
        text += &format!("      END ADF(T{k} = TANGENT({of}))\n");
    }
    text + &format!("      PRINT *, T{n}\n      END\n")
}

/// Returns a loop of this many statements.
fn rates(n: usize) -> String {
    let mut text = GRADIENT.to_owned();
    text += "      SUBROUTINE U1(X, Y)
      DOUBLE PRECISION X(10), Y, R
      DO I = 1, 10
";
    for i in 0..n / 2 {
        let [a, b, c] = [1, 3, 7].map(|k| i * k % 10 + 1);
        text += &format!("        R = EXP(-X({a}))*X({b})\n        X({c}) = X({c}) - R*X({a})\n");
    }
    text + "      END DO\n      Y = X(1)\n      END\n"
}

/// Returns a sequence of this many statements, each with a variable of its own.
fn straight(n: usize) -> String {
    let mut text = "      PROGRAM P
      DOUBLE PRECISION X, Y, D
      X = 1
      ADF(TANGENT(X) = 1)
      CALL U1(X, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE U1(X, Y)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      A0 = X
      A1 = X*X
"
    .to_owned();
    for i in 2..n {
        let [a, b] = [i - 1, i * 7919 % (i - 1)];
        text += &match i % 3 {
            0 => format!("      A{i} = SIN(A{a}) - A{b}*X\n"),
            k => format!("      A{i} = A{a}*{k}.5D0 + A{b}*X/(1 + A{b})\n"),
        };
    }
    text + &format!("      Y = A{}\n      END\n", n - 1)
}

/// Returns a sequence of this many statements with a few variables.
fn assignments(n: usize) -> String {
    let mut text = GRADIENT.to_owned();
    text += "      SUBROUTINE U1(X, Y)
      DOUBLE PRECISION X(10), Y, A, B, C
      A = X(1)
      B = X(2)
      C = X(3)
";
    for i in 0..n {
        text += match i % 4 {
            0 => "      A = A*B + C\n",
            1 => "      B = SIN(A) + C*B\n",
            2 => "      C = C + A/B\n",
            _ => "      A = A - 0.5D0*EXP(-C)\n",
        };
    }
    text + "      Y = A + B + C\n      END\n"
}

/// Returns a chain of this many subprograms, some of which are also called with a constant.
fn mixed(n: usize) -> String {
    let mut text = String::new();
    for i in 0..n {
        text += &format!(
            "      SUBROUTINE S{i}(X)
      DOUBLE PRECISION X, A(10), B(10)
      COMMON /K{}/ A, B
      A(1) = SIN(A(1)*X) + B(1)
      A(2) = SIN(A(2)*X) + B(2)*A(1)
",
            i % 8
        );
        if i + 1 < n {
            text += &format!("      CALL S{}(X)\n", i + 1);
        }
        if i % 7 == 0 && i + 3 < n {
            text += &format!("      CALL S{}(2D0)\n", i + 3);
        }
        text += "      X = X*A(2)\n      END\n";
    }
    text
}

/// Returns a sequence of this many statements with elements of one array. Some of them are executed on a condition,
/// some call a procedure without source.
fn elements(n: usize) -> String {
    let mut text = "      SUBROUTINE S0(X, Y)
      DOUBLE PRECISION X(50), Y, A(50)
      DO I = 1, 50
        A(I) = X(I)
      END DO
"
    .to_owned();
    for i in 0..n {
        let [a, b, c] = [7, 11, 13].map(|k| i * k % 49 + 1 + i / 49 % 2);
        text += &match i {
            _ if i % 50 == 25 => format!("      IF (A({a}) .GT. 0.5D0) A({b}) = A({b})*A({c})\n"),
            _ if i % 200 == 3 => format!("      CALL OTHER({i}, A({a}))\n"),
            _ => format!("      A({a}) = A({b})*A({c}) + {}.5D0*SIN(A({a}))\n", i % 7),
        };
    }
    text + "      Y = A(1)\n      END\n"
}

/// Returns a sequence of this many loops.
fn loops(n: usize) -> String {
    let mut text = "      SUBROUTINE S0(X, Y)
      DOUBLE PRECISION X(50), Y
"
    .to_owned();
    for i in 0..n {
        text += &format!(
            "      DO I = 2, 49
        X(I) = X(I-1)*X({}) + SIN(X(I))
      END DO
      X({}) = X({})*X(1)
",
            i % 50 + 1,
            i * 7 % 50 + 1,
            i * 11 % 50 + 1
        );
    }
    text + "      Y = X(1)\n      END\n"
}

/// Returns a program of this many subprograms like those of a model's time step: nested loops over fields in COMMON, and
/// calls of the next one and of a small one, which is active in some calls only. `saved`: whether that one keeps
/// variables from call to call.
fn model(n: usize, saved: bool) -> String {
    let fields = "      INTEGER NX, NY, NZ
      PARAMETER (NX = 20, NY = 10, NZ = 5)
      DOUBLE PRECISION U(NX,NY,NZ), V(NX,NY,NZ), T(NX,NY,NZ)
      DOUBLE PRECISION DX(NX,NY), F(NX,NY), DT
      COMMON /FIELDS/ U, V, T
      COMMON /GRID/ DX, F, DT
";
    let start = match saved {
        true => "      SAVE LAST, N\n      DATA LAST, N /0D0, 0/\n",
        false => "      LAST = 0\n      N = 0\n",
    };
    let mut text = format!(
        "      SUBROUTINE S0(X, J)
      DOUBLE PRECISION X, J
{fields}      INTEGER I
      T(1,1,1) = X
      DO I = 1, 3
        CALL S1(I)
      END DO
      J = T(2,2,2)
      END
      SUBROUTINE TABLE(X, Y)
      DOUBLE PRECISION X, Y, LAST
      INTEGER N
{start}      N = N + 1
      Y = X*LAST + X/N
      LAST = X
      END
"
    );
    for i in 1..=n {
        text += &format!(
            "      SUBROUTINE S{i}(M)
      INTEGER M, I, J, K
{fields}      DOUBLE PRECISION W(NX,NY), A, B, C
      CALL TABLE(DT, C)
      DO K = 1, NZ
        DO J = 1, NY
          DO I = 1, NX
            W(I,J) = U(I,J,K)*DX(I,J) + C
          END DO
        END DO
        DO J = 2, NY - 1
          DO I = 2, NX - 1
            A = W(I,J) - W(I-1,J)
            B = T(I,J,K)*A
            IF (A .GT. 0D0) THEN
              B = B*V(I,J,K) + F(I,J)
            ELSE
              B = B - V(I,J-1,K)*A
            END IF
            U(I,J,K) = U(I,J,K) + DT*B
            V(I,J,K) = V(I,J,K) - DT*B*B/DX(I,J)
          END DO
        END DO
      END DO
"
        );
        if i < n {
            text += &format!("      CALL S{}(M + {})\n", i + 1, i % 2);
        }
        text += "      CALL TABLE(U(2,2,1), T(3,3,1))\n      END\n";
    }
    text
}

/// Returns the time for the derivative of one result of a model's time step with respect to one argument.
fn time_step(mode: &str, n: usize, saved: bool) -> Result<Duration, Failure> {
    tapenade_of("s0(j)/(x)", mode, &model(n, saved))
}

/// Returns the time that `farfel tapenade` takes for S0 and everything that it calls, in a mode: `-b` or `-d`.
fn tapenade(mode: &str, text: &str) -> Result<Duration, Failure> {
    tapenade_of("s0", mode, text)
}

/// Like [`tapenade`], for any head.
fn tapenade_of(head: &str, mode: &str, text: &str) -> Result<Duration, Failure> {
    let line = [mode, "-head", head, "-o", "p", "p.f"].map(str::to_owned);
    let Action::Differentiate(options) = parse_line(&line)? else {
        return Err("nothing to differentiate".into());
    };
    let files = [("p.f".to_owned(), text.into())];
    let mut clock = Clock::new()?;
    let made = dropin::run(&options, &files, &mut NoIncludes);
    let time = clock.lap()?;
    let errors: Vec<Diagnostic> = made
        .diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect();
    none(&errors).map(|()| time)
}

/// Runs all steps and returns the time that each took.
fn steps(project: &Generated, requests: usize) -> Result<[Duration; STEPS.len()], Failure> {
    let mut sources = Sources::new();
    let files: Vec<_> = project
        .files
        .iter()
        .map(|(name, text)| sources.add(name.as_str(), text.as_str()))
        .collect();
    let mut clock = Clock::new()?;
    let mut program = Program::default();
    for file in files {
        let parsed = parse(&mut sources, file, None, &mut NoIncludes);
        none(&parsed.diagnostics)?;
        program.units.extend(parsed.program.units);
    }
    let parsing = clock.lap()?;
    none(&resolve(&mut program))?;
    let resolving = clock.lap()?;
    let options = Options {
        exports: Some(project.exports.iter().map(|e| e.as_str().into()).collect()),
        ..Options::default()
    };
    let lowered = lower_with(program, Stage::Stage, &options);
    let lowering = clock.lap()?;
    none(&lowered.diagnostics)?;
    if lowered.requests.len() != requests {
        return Err(format!("{} requests", lowered.requests.len()).into());
    }
    clock.lap()?;
    let text = print::print_program(&lowered.program, &print::Options::default());
    let printing = clock.lap()?;
    if text.lines().count() < project.lines() / 2 {
        return Err("most of the program is gone".into());
    }
    Ok([parsing, resolving, lowering, printing])
}

/// Returns the peak memory of this process in bytes.
fn peak_memory() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kilobytes: u64 = line
        .and_then(|l| l.trim().strip_suffix("kB"))
        .ok_or("the system does not tell how much memory was in use")?
        .trim()
        .parse()?;
    Ok(kilobytes * 1024)
}

/// The programs have no errors, so any error comes from a step.
fn none(found: &[Diagnostic]) -> Result<(), Failure> {
    match found.iter().find(|d| d.is_error()) {
        Some(d) => Err(format!("{}: {}", d.rule.code, d.message).into()),
        None => Ok(()),
    }
}
