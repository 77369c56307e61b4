//! Loops with `!farfel: checkpoint(n, disk = m)`: gradients with states in files, and processes that are killed and
//! started again.

use crate::support::Project;
use farfel_tests::{farfel, sandbox, write};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A heat equation with everything a state can consist of: arrays, COMMON that the loop's unit does not declare, a
/// text, a LOGICAL, an INTEGER that decides, and arrays without elements. TICK counts iterations.
const HEAT: &str = "
      PROGRAM HEAT
      INTEGER I, N, NSTEPS
      PARAMETER (N = 40)
      DOUBLE PRECISION C(N), G(N), Y
      CHARACTER*8 ARG
      CALL GETENV('STEPS', ARG)
      READ (ARG, *) NSTEPS
      CALL GETENV('SLOPE', ARG)
      READ (ARG, *) Y
      DO I = 1, N
        C(I) = 0.1D0 + Y*I
      END DO
      ADR(Y)
      CALL COST(C, N, 0, NSTEPS, Y)
      END ADR((G(I) = COTANGENT(C(I)), I = 1, N))
      PRINT '(1P,4D24.16)', G
      END
      SUBROUTINE COST(C, N, NONE, NSTEPS, Y)
      INTEGER N, NONE, NSTEPS, I, K, LEVEL
      DOUBLE PRECISION C(N), Y, U(400), V(400), W, E(NONE), Z(NONE)
      COMMON /STATE/ U
      CHARACTER*8 NAME
      LOGICAL ODD
!farfel: external(TICK(K), reads = (K))
      NAME = 'BEGIN'
      W = 0.5D0
      ODD = .FALSE.
      LEVEL = 0
      CALL SETUP(N)
      DO I = 1, NONE
        E(I) = C(I)
      END DO
!farfel: checkpoint(3, disk = 5)
      DO K = 2, 2*NSTEPS, 2
        CALL TICK(K)
        CALL STEP(C, N, V)
        DO I = 1, NONE
          Z(I) = E(I)*V(I)
          E(I) = Z(I)**2
        END DO
        DO I = 1, N
          U(I) = V(I)
        END DO
        IF (ODD .AND. NAME .NE. 'OTHER') U(2) = U(2)*W
        ODD = .NOT. ODD
        IF (U(3) .GT. 0.4D0) LEVEL = LEVEL + 1
        IF (K .GT. NSTEPS) NAME = 'OTHER'
        W = W*0.999D0 + 0.001D0*U(3)*LEVEL
      END DO
      Y = W
      DO I = 1, N
        Y = Y + I*U(I)**2
      END DO
      DO I = 1, NONE
        Y = Y + E(I)
      END DO
      END
      SUBROUTINE SETUP(N)
      INTEGER N, I
      DOUBLE PRECISION U(400), BIAS
      COMMON /STATE/ U
      COMMON /OTHER/ BIAS
      BIAS = 0.01D0
      DO I = 1, N
        U(I) = SIN(0.3D0*I)
      END DO
      END
      SUBROUTINE STEP(C, N, V)
      INTEGER N, I
      DOUBLE PRECISION C(N), V(N), U(400), BIAS
      COMMON /STATE/ U
      COMMON /OTHER/ BIAS
      V(1) = U(1)
      V(N) = U(N)*0.99D0 + BIAS
      DO I = 2, N - 1
        V(I) = U(I) + C(I)*(U(I-1) - 2*U(I) + U(I+1)) - 0.01D0*U(I)**3
      END DO
      BIAS = BIAS*0.99D0 + 0.0001D0*U(5)
      END
";

/// Adds a byte to a file for each iteration.
const TICK: &str = "
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
void tick_(int *k) {
    static int file = -1;
    (void)k;
    if (file < 0) file = open(\"ticks\", O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (write(file, \".\", 1) != 1) abort();
    if (getenv(\"SLOW\")) usleep(200);
}
";

/// The folder of all sweeps.
const FOLDER: &str = "farfel-checkpoints";

struct Programs {
    dir: TempDir,
}

impl Programs {
    fn new() -> Programs {
        let dir = sandbox();
        write(dir.path(), "tick.c", TICK);
        let build = |name: &str, text: &str| {
            write(dir.path(), &format!("{name}.ff"), text);
            farfel(dir.path())
                .args(["build", "-o", name, &format!("{name}.ff"), "tick.c"])
                .assert()
                .success();
        };
        build("files", HEAT);
        build("memory", &HEAT.replace(", disk = 5", ""));
        Programs { dir }
    }

    /// A command that runs a program in a folder of its own.
    fn command(&self, program: &str, place: &str) -> Command {
        let place = self.place(place);
        fs::create_dir_all(&place).unwrap();
        let mut command = Command::new(self.dir.path().join(program));
        command
            .current_dir(place)
            .env_remove("FARFEL_CHECKPOINTS")
            .env("STEPS", "300")
            .env("SLOPE", "0.001")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn place(&self, place: &str) -> PathBuf {
        self.dir.path().join(place)
    }

    /// The number of iterations that were executed since the last call.
    fn ticks(&self, place: &str) -> usize {
        let file = self.place(place).join("ticks");
        let n = count(&file);
        let _ = fs::remove_file(file);
        n
    }
}

fn count(file: &Path) -> usize {
    fs::metadata(file).map_or(0, |m| usize::try_from(m.len()).unwrap())
}

#[track_caller]
fn printed(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The folders of sweeps in a place.
fn sweeps(place: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(place.join(FOLDER)) else {
        return Vec::new();
    };
    found.map(|e| e.unwrap().path()).collect()
}

/// The files of states in a place.
fn states(place: &Path) -> Vec<PathBuf> {
    let files = sweeps(place)
        .into_iter()
        .flat_map(|s| fs::read_dir(s).unwrap());
    let files = files.map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> = files
        .filter(|f| {
            f.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("state-")
        })
        .collect();
    all.sort();
    all
}

/// Starts a program, and kills it after a number of iterations. Returns false if it has ended before.
fn killed(mut command: Command, ticks: &Path, after: usize) -> bool {
    let mut child = command.env("SLOW", "1").spawn().unwrap();
    let begin = Instant::now();
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if count(ticks) >= after {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn states_in_files() {
    let all = Programs::new();
    let expected = printed(&all.command("memory", "b").output().unwrap());
    assert_eq!(expected.lines().count(), 10);
    all.ticks("b");

    // The same, bit by bit, and nothing is left.
    let ran = printed(&all.command("files", "a").output().unwrap());
    assert_eq!(ran, expected);
    assert!(!all.place("a").join(FOLDER).exists());
    let whole = all.ticks("a");
    // More states, fewer repetitions.
    all.command("memory", "b").output().unwrap();
    assert!(whole < all.ticks("b"));
    // All iterations fit into memory: no files, even where none can be made.
    let few = |program: &str| {
        let mut command = all.command(program, "few");
        command
            .env("STEPS", "3")
            .env("FARFEL_CHECKPOINTS", "/dev/null/x");
        printed(&command.output().unwrap())
    };
    assert_eq!(few("files"), few("memory"));

    // Killed at many points, in both sweeps, and started again: the same gradient, with fewer iterations. The first
    // 300 are those of the block itself, which are not resumed.
    let ticks = all.place("a").join("ticks");
    for i in 0..9 {
        let after = 302 + i * (whole - 310) / 8;
        all.ticks("a");
        if !killed(all.command("files", "a"), &ticks, after) {
            continue;
        }
        let there = states(&all.place("a")).len();
        assert!(there > 0, "nothing is there after {after} iterations");
        all.ticks("a");
        let again = printed(&all.command("files", "a").output().unwrap());
        assert_eq!(again, expected, "after {after} iterations");
        let rest = all.ticks("a");
        assert!(
            rest + after < whole + 600,
            "{rest} of {whole} iterations, after {after}"
        );
        assert!(!all.place("a").join(FOLDER).exists());
    }

    // Killed again and again, it comes to its end in spite of that.
    let mut rounds = 0;
    all.ticks("a");
    while killed(all.command("files", "a"), &ticks, 300 + whole / 4) {
        rounds += 1;
        all.ticks("a");
        assert!(rounds < 60);
    }
    assert!(rounds > 1, "{rounds}");
    all.ticks("a");
    assert!(!all.place("a").join(FOLDER).exists());

    // Other inputs, and another program, do not use the files; both find their own later.
    assert!(killed(all.command("files", "a"), &ticks, whole / 2));
    all.ticks("a");
    let mut other = all.command("files", "a");
    other.env("SLOPE", "0.002");
    assert_ne!(printed(&other.output().unwrap()), expected);
    assert_eq!(all.ticks("a"), whole);
    assert_eq!(sweeps(&all.place("a")).len(), 1);
    assert_eq!(
        printed(&all.command("files", "a").output().unwrap()),
        expected
    );
    assert!(all.ticks("a") < whole);

    // Torn and foreign files are not states.
    for damage in 0..3 {
        assert!(killed(all.command("files", "a"), &ticks, whole / 2));
        all.ticks("a");
        let there = states(&all.place("a"));
        for file in &there {
            let mut bytes = fs::read(file).unwrap();
            match damage {
                0 => bytes.truncate(bytes.len() / 2),
                1 => {
                    let at = bytes.len() - 100;
                    bytes[at] ^= 1;
                }
                _ => bytes.clone_from(&fs::read(&there[0]).unwrap()),
            }
            fs::write(file, bytes).unwrap();
        }
        assert_eq!(
            printed(&all.command("files", "a").output().unwrap()),
            expected
        );
        // With the first state there is also the one at the end of the loop.
        let ticks = all.ticks("a");
        assert!(ticks == whole || damage == 2, "{ticks} of {whole}");
        assert!(!all.place("a").join(FOLDER).exists());
    }

    // Two processes with the same inputs, and others in the same folder.
    let mut children: Vec<_> = (0..4)
        .map(|i| {
            let mut command = all.command("files", "a");
            if i == 3 {
                command.env("SLOPE", "0.002");
            }
            command.env("SLOW", "1").spawn().unwrap()
        })
        .collect();
    let last = children.pop().unwrap();
    for child in children {
        assert_eq!(printed(&child.wait_with_output().unwrap()), expected);
    }
    assert_ne!(printed(&last.wait_with_output().unwrap()), expected);
    assert!(!all.place("a").join(FOLDER).exists());
    all.ticks("a");

    // A folder that cannot be made, and no room.
    let failed = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.stdout.is_empty());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let mut command = all.command("files", "a");
    let error = failed(command.env("FARFEL_CHECKPOINTS", "/dev/null/x"));
    assert!(
        error.contains("cannot make the folder for checkpoint files /dev/null/x: Not a directory"),
        "{error}"
    );
    let program = all.dir.path().join("files");
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -f 2; exec \"$0\""])
        .arg(program)
        .current_dir(all.place("a"))
        .env("STEPS", "300")
        .env("SLOPE", "0.001");
    let error = failed(&mut limited);
    assert!(
        error.contains("cannot write the checkpoint file"),
        "{error}"
    );
    assert!(error.contains("/new: File too large"), "{error}");
}

const MAIN: &str = r#"
mod heat {
    farfel_runtime::include_bindings!();
}

fn gradient(slope: f64) -> Result<Vec<f64>, String> {
    let c: Vec<f64> = (1..=40).map(|i| 0.1 + slope * f64::from(i)).collect();
    heat::gradient(&c).map_err(|e| e.to_string())
}

fn main() {
    let own = gradient(0.001).unwrap();
    let other = gradient(0.002).unwrap();
    assert_ne!(own, other);
    std::thread::scope(|s| {
        for i in 0..8 {
            let (own, other) = (&own, &other);
            s.spawn(move || match i % 2 {
                0 => assert_eq!(gradient(0.001).unwrap(), *own),
                _ => assert_eq!(gradient(0.002).unwrap(), *other),
            });
        }
    });
    assert!(!std::path::Path::new("farfel-checkpoints").exists());
    std::fs::write("farfel-checkpoints", "").unwrap();
    println!("{}", gradient(0.001).unwrap_err());
    std::fs::remove_file("farfel-checkpoints").unwrap();
    assert_eq!(gradient(0.001).unwrap(), own);
}
"#;

#[test]
fn threads_and_errors_in_rust() {
    let project = Project::new("checkpoints", "checkpoints");
    let fortran = "
      SUBROUTINE GRADIENT(C, G, N)
      INTEGER N, I
      DOUBLE PRECISION C(N), G(N), Y
      ADR(Y)
      CALL COST(C, N, I, 200, Y)
      END ADR((G(I) = COTANGENT(C(I)), I = 1, N))
      END
      SUBROUTINE COST(C, N, I, NSTEPS, Y)
      INTEGER N, NSTEPS, I, K
      DOUBLE PRECISION C(N), Y, U(N), V(N)
      DO I = 1, N
        U(I) = SIN(0.3D0*I)
      END DO
!farfel: checkpoint(2, disk = 4)
      DO K = 1, NSTEPS
        DO I = 2, N - 1
          V(I) = U(I) + C(I)*(U(I-1) - 2*U(I) + U(I+1)) - 0.01D0*U(I)**3
        END DO
        DO I = 2, N - 1
          U(I) = V(I)
        END DO
      END DO
      Y = 0
      DO I = 1, N
        Y = Y + I*U(I)**2
      END DO
      END
";
    project.file("fortran/heat.ff", fortran);
    project.file("src/main.rs", MAIN);
    let printed = project.run();
    let place = project.directory.join(FOLDER);
    let expected = format!(
        "Farfel: cannot make the folder for checkpoint files {}",
        place.display()
    );
    assert!(printed.contains(&expected), "{printed}");
}
