//! Tapes and other large arrays of derivatives: their memory stays with the thread between calls.
#![cfg(target_os = "linux")]

use crate::support::Project;
use farfel_tests::{farfel, fixed, sandbox, write};
use std::process::Command;

/// Gradients with tapes of known and of unknown sizes, a Jacobian in many directions, and ways to leave them.
const SOURCE: &str = "\
C     S' = S + SIN(S*X), and the derivative of the last S.
      SUBROUTINE CHAIN(N, X, S, G, K)
      DOUBLE PRECISION X(N), G(N), S
      INTEGER N, K
      ADR(S)
        S = 1
        DO I = 1, N
          IF (I .EQ. K) STOP 'in the middle'
          S = S + SIN(S*X(I))
        END DO
      END ADR(G = COTANGENT(X))
      END

C     The same with a number of steps that nobody knows before.
      SUBROUTINE GROWS(X, TOP, S, G, N)
      DOUBLE PRECISION X, TOP, S, G
      ADR(S)
        S = 1
        N = 0
        DO WHILE (S .LT. TOP)
          S = S + SIN(S*X)**2*1D-5 + 1D-5
          N = N + 1
        END DO
      END ADR(G = COTANGENT(X))
      END

C     The Jacobian of F(I) = X(I)*X(I + 1), by all columns at once.
      SUBROUTINE COLUMN(N, X, F, A)
      DOUBLE PRECISION X(N), F(N), A(N, N)
      ADF(DIRECTIONS = N, (TANGENT(X(I), I) = 1, I = 1, N))
        DO I = 1, N
          F(I) = X(I)*X(MOD(I, N) + 1)
        END DO
      END ADF(((A(I, J) = TANGENT(F(I), J), I = 1, N), J = 1, N))
      END

C     A gradient after that of the level below; W is on the heap.
      RECURSIVE SUBROUTINE NESTED(N, LEVEL, X, G)
      DOUBLE PRECISION X(N), G(N), W(N), S
      INTEGER N, LEVEL
      DO I = 1, N
        W(I) = X(I)/LEVEL
      END DO
      IF (LEVEL .GT. 1) CALL NESTED(N, LEVEL - 1, W, G)
      CALL CHAIN(N, W, S, G, 0)
      END

C     P may panic, or call all this again.
      SUBROUTINE HOLDS(N, X, G, P)
      DOUBLE PRECISION X(N), G(N), W(N), S
      EXTERNAL P
      DO I = 1, N
        W(I) = X(I)/2
      END DO
      CALL P(N)
      CALL CHAIN(N, W, S, G, 0)
      END
";

const MAIN: &str = r#"
mod fortran { farfel_runtime::include_bindings!(); }
use farfel_runtime::memory::{self, Usage};
use std::panic::{AssertUnwindSafe, catch_unwind};

const N: usize = 400_000;
const MB: usize = 1 << 20;

/// The pages that this thread has asked the system for.
fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[7].parse().unwrap()
}

/// The largest difference from derivatives by hand.
fn check(x: &[f64], g: &[f64]) {
    let mut states = vec![1.0];
    for x in x { let s: f64 = states[states.len() - 1]; states.push(s + (s * x).sin()); }
    let mut bar = 1.0;
    for i in (0..x.len()).rev() {
        let c = (states[i] * x[i]).cos();
        assert!((g[i] - bar * c * states[i]).abs() <= 1e-12 * (1.0 + g[i].abs()), "{i}");
        bar *= 1.0 + c * x[i];
    }
}

/// Calls something several times: no call but the first asks the system for pages.
fn repeated(name: &str, mut call: impl FnMut()) {
    call();
    let before = faults();
    for _ in 0..10 { call(); }
    let more = faults() - before;
    assert!(more < 200, "{name}: {more} pages in ten calls");
    assert_eq!(memory::usage().in_use, 0, "{name}");
}

fn gradients(x: &[f64]) {
    let mut g = vec![0.0; x.len()];
    let mut s = 0.0;
    repeated("known size", || fortran::raw::chain(N as i32, x, &mut s, &mut g, 0).unwrap());
    check(x, &g);
    let Usage { kept, peak, .. } = memory::usage();
    assert!((8 * N..100 * N).contains(&peak), "{peak}");
    assert!((8 * N..100 * N).contains(&kept), "{kept}");
    memory::release();
    assert_eq!(memory::usage(), Usage::default());
    fortran::raw::chain(N as i32, x, &mut s, &mut g, 0).unwrap();
    check(x, &g);
}

fn main() {
    let x: Vec<f64> = (0..N).map(|i| 1e-3 * (i % 7) as f64 - 2e-3).collect();
    gradients(&x);

    let (mut s, mut d, mut n) = (0.0, 0.0, 0);
    let mut grows = |x: f64| { fortran::raw::grows(x, 3.0, &mut s, &mut d, &mut n); (s, d, n) };
    // A tape that has grown has its size at the next call, and its memory at the one after that.
    grows(0.5);
    repeated("unknown size", || { grows(0.5); });
    let steps = grows(0.5).2;
    assert!(steps > 50_000, "{steps}");
    // The loop in Rust, by differences.
    let value = |x: f64| {
        let mut s = 1.0f64;
        for _ in 0..steps { s += (s * x).sin().powi(2) * 1e-5 + 1e-5; }
        s
    };
    let difference = (value(0.5 + 1e-6) - value(0.5 - 1e-6)) / 2e-6;
    assert!((grows(0.5).1 - difference).abs() < 1e-7);

    let m = 300;
    let (mut f, mut a) = (vec![0.0; m], vec![0.0; m * m]);
    repeated("directions", || fortran::raw::column(m as i32, &x[..m], &mut f, &mut a).unwrap());
    for j in 0..m {
        for i in 0..m {
            let next = (i + 1) % m;
            let expected = if i == j { x[next] } else if j == next { x[i] } else { 0.0 };
            assert_eq!(a[i + m * j], expected);
        }
    }

    // STOP in the forward sweep, and a panic below calls in progress.
    let mut g = vec![0.0; N];
    repeated("STOP", || {
        let ended = fortran::raw::chain(N as i32, &x, &mut s, &mut g, N as i32 / 2);
        assert!(ended.unwrap_err().to_string().contains("in the middle"));
    });
    repeated("panic", || {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            fortran::raw::holds(N as i32, &x, &mut g, |n| {
                assert!(memory::usage().in_use >= 8 * N);
                std::panic::resume_unwind(Box::new(n));
            })
        }));
        assert_eq!(*ended.unwrap_err().downcast::<i32>().unwrap(), N as i32);
    });
    repeated("recursion", || fortran::raw::nested(N as i32, 3, &x, &mut g).unwrap());
    check(&x.iter().map(|x| x / 3.0).collect::<Vec<_>>(), &g);

    // A closure that calls the library again.
    repeated("closure", || {
        fortran::raw::holds(N as i32, &x, &mut g, |_| {
            let (mut s, mut inner) = (0.0, vec![0.0; 5000]);
            let ended = fortran::raw::chain(5000, &x[..5000], &mut s, &mut inner, 4999);
            assert!(ended.is_err());
            fortran::raw::chain(5000, &x[..5000], &mut s, &mut inner, 0).unwrap();
            check(&x[..5000], &inner);
        })
        .unwrap();
    });
    check(&x.iter().map(|x| x / 2.0).collect::<Vec<_>>(), &g);

    if std::env::args().nth(1).as_deref() == Some("threads") {
        let mine = memory::usage();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    assert_eq!(memory::usage(), Usage::default());
                    gradients(&x);
                });
            }
        });
        assert_eq!(memory::usage(), mine);
        memory::set_limit(MB);
        assert!(memory::usage().kept <= MB);
        fortran::raw::chain(N as i32, &x, &mut s, &mut g, 0).unwrap();
        check(&x, &g);
        assert!(memory::usage().kept <= MB);
    }
    println!("ok");
}
"#;

#[test]
fn memory_stays_with_the_thread() {
    let p = Project::new("kept_memory", "kept-memory");
    p.append(
        "Cargo.toml",
        "[package.metadata.farfel]\nexports = ['chain', 'grows', 'column', 'nested', 'holds']\n",
    );
    p.file("src/sweeps.ff", SOURCE);
    p.file("src/main.rs", MAIN);
    let ran = p.cargo(&["run", "-q", "--", "threads"]);
    assert!(ran.ok, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, "ok\n");

    // With little address space, of which only an eighth is kept.
    let program =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("target/debug/kept-memory");
    let limited = format!("ulimit -v 200000; exec {}", program.display());
    let ran = Command::new("sh").args(["-c", &limited]).output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{stderr}");
}

/// A program that asks for its memory.
const PROGRAM: &str = "\
PROGRAM ASKS
PARAMETER (N = 200000)
DOUBLE PRECISION X(N), G(N), S
INTEGER*8 IN_USE, KEPT, PEAK, LEAST
EXTERNAL FARFEL_MEMORY_V1, FARFEL_RELEASE_V1
LEAST = 8*N
X = 1D-3
DO I = 1, 3
CALL CHAIN(N, X, S, G)
END DO
PRINT '(F8.5)', G(N)
CALL FARFEL_MEMORY_V1(IN_USE, KEPT, PEAK)
PRINT *, IN_USE .EQ. 0, KEPT .GE. LEAST, PEAK .GE. LEAST
CALL FARFEL_RELEASE_V1
CALL FARFEL_MEMORY_V1(IN_USE, KEPT, PEAK)
PRINT *, IN_USE .EQ. 0, KEPT .EQ. 0, PEAK .EQ. 0
END
SUBROUTINE CHAIN(N, X, S, G)
DOUBLE PRECISION X(N), G(N), S
ADR(S)
S = 1
DO I = 1, N
S = S + SIN(S*X(I))/N
END DO
END ADR(G = COTANGENT(X))
END
";

#[test]
fn programs_without_rust_keep_memory() {
    let dir = sandbox();
    write(dir.path(), "asks.ff", fixed(PROGRAM));
    let build = farfel(dir.path())
        .args(["build", "-q", "asks.ff", "-o", "asks"])
        .output()
        .unwrap();
    assert!(
        build.status.success(),
        "{}",
        String::from_utf8_lossy(&build.stderr)
    );
    let run = |setup: &str, expected: &str| {
        let command = format!("{setup}; exec ./asks");
        let ran = Command::new("sh")
            .args(["-c", &command])
            .current_dir(dir.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{stderr}");
        let words = String::from_utf8_lossy(&ran.stdout);
        let words: Vec<&str> = words.split_whitespace().skip(1).collect();
        assert_eq!(words.join(" "), expected, "{setup}");
    };
    run("true", "T T T T T T");
    run("export FARFEL_KEPT_MEMORY=0", "T F T T T T");
    run("ulimit -v 200000", "T T T T T T");
}

/// A number of steps that nobody knows before.
const STEPS: &str = "\
DOUBLE PRECISION FUNCTION STEPS(X, N, G)
DOUBLE PRECISION X, G, Y
INTEGER N, K
ADR(COTANGENT(Y) = 1)
Y = X
K = 0
DO WHILE (Y .GT. 1D-3 .AND. K .LT. N)
Y = Y*SIN(Y)*0.99D0
K = K + 1
END DO
END ADR(G = COTANGENT(X))
STEPS = Y
END
";

/// Calls it in eight threads, with what `farfel-runtime` does for it.
const CALLS: &str = "\
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
void ENTRY(double *x, int *n, double *g, double *value);
#ifdef PLAIN
int64_t farfel_remembered_v1_(int64_t *p) { return *p; }
void farfel_remember_v1_(int64_t *p, const int64_t *v) { *p = *v; }
#else
int64_t farfel_remembered_v1_(int64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
void farfel_remember_v1_(int64_t *p, const int64_t *v) { __atomic_store_n(p, *v, __ATOMIC_RELAXED); }
#endif
void farfel_end_v1_(void) { abort(); }
void farfel_bounds_v1_(void) { abort(); }
static void *thread(void *number) {
    for (int i = 0; i < 300; i++) {
        double x = 0.9 + 0.01*(double)(intptr_t)number, g, value;
        int n = 1 + i % 7;
        ENTRY(&x, &n, &g, &value);
    }
    return 0;
}
int main(void) {
    pthread_t threads[8];
    for (intptr_t i = 0; i < 8; i++) pthread_create(&threads[i], 0, thread, (void *)i);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
    puts(\"done\");
}
";

/// Threads share what derivatives remember of the sizes of their tapes: ThreadSanitizer finds no race, and finds one
/// if the accesses are not atomic.
#[test]
#[allow(clippy::print_stderr)] // It reports what is not tested.
fn threads_share_sizes_of_tapes() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "steps.ff", fixed(STEPS));
    let expanded = farfel(dir).args(["expand", "steps.ff"]).output().unwrap();
    let text = String::from_utf8(expanded.stdout).unwrap();
    let (_, name) = text.rsplit_once("NAME='").unwrap();
    let name = format!("-DENTRY={}", name.split('\'').next().unwrap());
    write(dir, "steps.f", &text);
    write(dir, "calls.c", CALLS);
    let ran = |options: &[&str]| {
        let compile = |compiler: &str, arguments: &[&str]| {
            let mut command = Command::new(compiler);
            let command = command.args(["-g", "-O1", "-w", "-fsanitize=thread"]);
            let made = command.args(arguments).current_dir(dir).output().ok();
            made.is_some_and(|m| m.status.success())
        };
        let made = compile(
            "gfortran",
            &["-std=legacy", "-fcray-pointer", "-c", "steps.f"],
        ) && compile("gcc", &[options, &["-c", "calls.c"]].concat())
            && compile("gfortran", &["calls.o", "steps.o", "-o", "calls"]);
        let ran = Command::new(dir.join("calls"))
            .output()
            .ok()
            .filter(|_| made)?;
        let all = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
        // It cannot find its memory with some settings of the kernel.
        (!all.contains("unexpected memory mapping")).then_some(all)
    };
    let race = "WARNING: ThreadSanitizer: data race";
    match ran(&[&name]) {
        Some(said) => {
            assert_eq!(said, "done\n");
            assert!(ran(&[&name, "-DPLAIN"]).unwrap().contains(race));
        }
        None => {
            assert!(std::env::var_os("FARFEL_TEST_TSAN").is_none());
            eprintln!("skipped: ThreadSanitizer does not work here");
        }
    }
}
