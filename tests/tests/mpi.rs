//! Derivatives of MPI programs, run by each installed MPI with 1, 2 and 4 ranks: every call with a
//! derivative, a heat equation with halo exchange and conjugate gradients against the same on one rank, calls
//! from Rust, and ranks that stop. The programs are in `tests/mpi`.

#![allow(clippy::print_stderr)] // says what was skipped

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::Project;
use farfel_tests::{farfel_path, repository};
use tempfile::TempDir;

/// An installed MPI.
struct Mpi {
    /// The compiler command.
    compiler: &'static str,
    run: &'static str,
}

/// The MPIs of Debian by their own names, then whatever is installed.
const KNOWN: [Mpi; 3] = [
    Mpi {
        compiler: "mpif90.openmpi",
        run: "mpirun.openmpi",
    },
    Mpi {
        compiler: "mpif90.mpich",
        run: "mpirun.mpich",
    },
    Mpi {
        compiler: "mpif90",
        run: "mpirun",
    },
];

/// Returns the installed MPIs. CI demands one.
fn installed() -> Vec<&'static Mpi> {
    let is_there = |m: &&Mpi| which::which(m.compiler).is_ok() && which::which(m.run).is_ok();
    let mut found: Vec<&Mpi> = KNOWN.iter().filter(is_there).collect();
    if found.len() > 1 {
        found.retain(|m| m.run != "mpirun");
    }
    if found.is_empty() {
        assert!(std::env::var_os("FARFEL_TEST_MPI").is_none(), "no MPI");
        eprintln!("skipped: no MPI is installed (apt-get install libopenmpi-dev openmpi-bin)");
    }
    found
}

impl Mpi {
    /// Returns the command that runs a program, of which all ranks end within a minute.
    fn ranks(&self, ranks: usize, program: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.args(["60", self.run]);
        if !self.run.ends_with("mpich") {
            // Options and variables of Open MPI: tests may have few processors, and run as root.
            command.arg("--oversubscribe");
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
            command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
        command.args(["-n", &ranks.to_string()]).arg(program);
        command
    }

    /// Runs a program that must succeed, and returns what it prints.
    fn output(&self, ranks: usize, program: &Path) -> String {
        let ran = self.ranks(ranks, program).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed = text(&ran.stdout) + &text(&ran.stderr);
        assert!(ran.status.success(), "{} {ranks}: {printed}", self.run);
        printed
    }
}

/// Builds a program in a folder of its own.
fn build(mpi: &Mpi, name: &str, text: &str) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let manifest = "[package]\nname = 'ranks'\nversion = '0.1.0'\nedition = '2024'\n\
                    [package.metadata.farfel]\nlink = ['mpi']\n";
    fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.path().join(name), text).unwrap();
    let program = dir.path().join("program");
    let ran = Command::new(farfel_path())
        .args(["build", name, "-o"])
        .arg(&program)
        .current_dir(dir.path())
        .env("MPIFC", mpi.compiler)
        .env("FARFEL_CACHE_DIR", dir.path().join("cache"))
        .env("FARFEL_VERIFY_PASSES", "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{printed}");
    // Buffers may have any type.
    assert!(!printed.contains("warning"), "{printed}");
    (dir, program)
}

fn program(name: &str) -> String {
    fs::read_to_string(repository().join("tests/mpi").join(name)).unwrap()
}

/// Returns the numbers in a line.
fn numbers(line: &str) -> Vec<f64> {
    let words = line.split_whitespace().filter_map(|w| w.parse().ok());
    words.collect()
}

/// Each line has the number of a test, the sum of the tangents in a direction, by how much the adjoints differ
/// from it, and by how much the tangents differ from finite differences.
fn agrees_with_differences(name: &str, tests: usize, single: f64) {
    for mpi in installed() {
        let (_dir, path) = build(mpi, name, &program(name));
        for ranks in [1, 2, 4] {
            let printed = mpi.output(ranks, &path);
            let rows: Vec<Vec<f64>> = printed.lines().map(numbers).collect();
            assert_eq!(rows.len(), tests, "{printed}");
            for row in rows {
                let (exact, difference) = match row[0] == single {
                    true => (1e-6, 1e-4),
                    false => (1e-11, 1e-6),
                };
                let large = row[1].abs().max(1.0);
                let good = row[1] != 0.0
                    && row[2].abs() < exact * large
                    && row[3].abs() < difference * large;
                assert!(good, "{} {ranks}: {row:?}", mpi.run);
            }
        }
    }
}

#[test]
fn every_call() {
    agrees_with_differences("calls.ff", 24, 23.0);
}

#[test]
fn unusual_forms() {
    agrees_with_differences("forms.ff", 8, 0.0);
}

#[test]
fn requests_of_other_subprograms() {
    agrees_with_differences("requests.ff", 2, 0.0);
}

/// Each line has the tangent, the error of the value, those of two gradients, and by how much the gradients
/// differ from the tangent.
fn agrees_with_one_rank(name: &str, lines: usize) {
    for mpi in installed() {
        let (_dir, path) = build(mpi, name, &program(name));
        let mut tangents = Vec::new();
        for ranks in [1, 2, 4] {
            let printed = mpi.output(ranks, &path);
            assert_eq!(printed.lines().count(), lines, "{printed}");
            for line in printed.lines() {
                let all = numbers(line);
                let row = &all[all.len() - 5..];
                tangents.push(row[0]);
                let good = row[1..].iter().all(|e| e.abs() < 1e-11 * row[0].abs());
                assert!(good, "{} {ranks}: {line}", mpi.run);
            }
        }
        let same = |t: &f64| (t - tangents[0]).abs() < 1e-4 * tangents[0].abs();
        assert!(tangents.iter().all(same), "{tangents:?}");
    }
}

#[test]
fn a_heat_equation() {
    agrees_with_one_rank("heat.ff", 3);
}

#[test]
fn conjugate_gradients() {
    agrees_with_one_rank("conjugate.ff", 1);
}

/// The other rank would wait forever.
#[test]
fn a_rank_that_stops() {
    let text = "      PROGRAM STOPS
      INCLUDE 'mpif.h'
      INTEGER ME, IERR
      REAL X
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      IF (ME .EQ. 1) STOP 'no convergence'
      CALL MPI_RECV(X, 1, MPI_REAL, 1, 1, MPI_COMM_WORLD,
     +  MPI_STATUS_IGNORE, IERR)
      CALL MPI_FINALIZE(IERR)
      END
";
    for mpi in installed() {
        let (_dir, path) = build(mpi, "stops.ff", text);
        let start = Instant::now();
        let ran = mpi.ranks(2, &path).output().unwrap();
        let printed = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!ran.status.success() && start.elapsed() < Duration::from_secs(30));
        assert!(printed.contains("STOP no convergence"), "{printed}");
        let message = "farfel: rank 1: the program ends before MPI_FINALIZE";
        assert!(printed.contains(message), "{printed}");
    }
}

/// What only shows when a program runs ends all ranks with a message.
#[test]
fn errors_at_run_time() {
    let text = |statements: &str| {
        format!(
            "      PROGRAM WRONG
      INCLUDE 'mpif.h'
      INTEGER ME, IERR, TYPE
      REAL X(4), D
      COMMON /C/ ME, TYPE
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_TYPE_VECTOR(2, 1, 2, MPI_REAL, TYPE, IERR)
      CALL MPI_TYPE_COMMIT(TYPE, IERR)
      X = 1
{statements}
      CALL MPI_FINALIZE(IERR)
      END
      SUBROUTINE SENDS(X)
      INCLUDE 'mpif.h'
      INTEGER ME, TYPE, IERR
      REAL X(4)
      COMMON /C/ ME, TYPE
      IF (ME .EQ. 0) CALL MPI_SEND(X, 1, TYPE, 1, 1, MPI_COMM_WORLD,
     +  IERR)
      IF (ME .EQ. 1) CALL MPI_RECV(X, 1, TYPE, 0, 1, MPI_COMM_WORLD,
     +  MPI_STATUS_IGNORE, IERR)
      END
"
        )
    };
    let cases = [
        (
            "      ADR(COTANGENT(X) = 1)
      CALL SENDS(X)
      END ADR(D = COTANGENT(X(1)))",
            "a message with a derivative has a datatype other than",
        ),
        (
            "      TYPE = MPI_REAL
      IF (ME .EQ. 0) THEN
        CALL SENDS(X)
      ELSE
        ADF(TANGENT(X) = 1)
        CALL SENDS(X)
        END ADF(D = TANGENT(X(1)))
      END IF",
            "a message was received without its tangent",
        ),
    ];
    for mpi in installed() {
        for (statements, message) in cases {
            let (_dir, path) = build(mpi, "wrong.ff", &text(statements));
            let ran = mpi.ranks(2, &path).output().unwrap();
            let printed = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert!(!ran.status.success(), "{printed}");
            assert!(printed.contains(message), "{printed}");
        }
    }
}

/// MPI begins and ends in Fortran, and Rust calls the gradient in between.
#[test]
fn from_rust() {
    for mpi in installed() {
        let project = Project::new("mpi", "mpi-gradient");
        project.append("Cargo.toml", "[package.metadata.farfel]\nlink = ['mpi']\n");
        project.file(
            "src/energy.ff",
            "      SUBROUTINE START(ME, NP)
      INCLUDE 'mpif.h'
      INTEGER ME, NP, IERR
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERR)
      END
      SUBROUTINE FINISH
      CALL MPI_FINALIZE(IERR)
      END
C     The energy of all ranks, and its gradient by those of this rank
      SUBROUTINE ENERGY(N, X, ME, F, G)
      INTEGER N, ME
      DOUBLE PRECISION X(N), F, G(N), S
      S = 0
      IF (ME .EQ. 0) S = 1
      ADR(COTANGENT(F) = S)
      CALL TOTAL(N, X, F)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE TOTAL(N, X, F)
      INCLUDE 'mpif.h'
      INTEGER N, I, IERR
      DOUBLE PRECISION X(N), F, S
      S = 0
      DO I = 1, N
        S = S + X(I)**2
      END DO
      CALL MPI_ALLREDUCE(S, F, 1, MPI_DOUBLE_PRECISION, MPI_SUM,
     +  MPI_COMM_WORLD, IERR)
      F = F**2
      END
",
        );
        project.file(
            "src/main.rs",
            "mod fortran {
    farfel_runtime::include_bindings!();
}
use fortran::raw::*;
fn main() {
    let (mut me, mut np) = (0, 0);
    // SAFETY: MPI checks what it is called with.
    unsafe { start(&mut me, &mut np) };
    let x = [1.0 + f64::from(me), 2.0];
    let (mut f, mut g) = (0.0, [0.0; 2]);
    unsafe { energy(2, &x, me, &mut f, &mut g) }.unwrap();
    let squares: f64 = (0..np).map(|r| (1.0 + f64::from(r)).powi(2) + 4.0).sum();
    assert!((f - squares * squares).abs() < 1e-9, \"{f}\");
    for (x, g) in x.iter().zip(&g) {
        assert!((g - 4.0 * squares * x).abs() < 1e-9, \"{g}\");
    }
    println!(\"rank {me}\");
    unsafe { finish() };
}
",
        );
        let ran = project.cargo_with(&["build", "-q"], &[("MPIFC", mpi.compiler)]);
        assert!(ran.ok, "{}", ran.stderr);
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target/debug/mpi-gradient");
        for ranks in [1, 2, 4] {
            let printed = mpi.output(ranks, &target);
            assert_eq!(printed.matches("rank ").count(), ranks, "{printed}");
        }
    }
}
