//! Helpers for the tests of `farfel tapenade`: headers of subprograms, and the output of compiled programs.

use crate::farfel;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A function, a COMMON block, an array and a loop.
pub const MODEL: &str = "      SUBROUTINE MODEL(X, N, Y, K)
      INTEGER N, K, I
      DOUBLE PRECISION X(N), Y, F, S, T
      COMMON /PAR/ S, T
      EXTERNAL F
      Y = 0
      T = X(1)
      DO 10 I = 1, N
        IF (I .EQ. K) GOTO 10
        Y = Y + F(X(I), I)*T
 10   CONTINUE
      CALL SCALE(Y)
      END
      DOUBLE PRECISION FUNCTION F(A, I)
      INTEGER I
      DOUBLE PRECISION A, S, T
      COMMON /PAR/ S, T
      F = S*SIN(A) + T**I
      END
      SUBROUTINE SCALE(V)
      DOUBLE PRECISION V
      V = 3*V
      END
";

/// Runs `farfel tapenade` with options and values as one text.
pub fn tapenade(dir: &Path, options: &[&str]) -> snapbox::cmd::OutputAssert {
    farfel(dir).arg("tapenade").args(options).assert()
}

/// Writes the include file with the constants that derivatives in several directions need.
pub fn sizes(dir: &Path, constants: &[(&str, u32)]) {
    let names: Vec<&str> = constants.iter().map(|(name, _)| *name).collect();
    let values: Vec<String> = constants.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let (names, values) = (names.join(", "), values.join(", "));
    let text = format!("      INTEGER {names}\n      PARAMETER ({values})\n");
    fs::write(dir.join("DIFFSIZES.inc"), text).expect("a directory to write to");
}

/// Returns the files that a run with `-head a` and these options creates for a program in two files; nothing
/// is created beside the sources or in the current directory.
pub fn files_made(options: &[&str]) -> Vec<String> {
    let (dir, out) = (crate::sandbox(), crate::sandbox());
    let sources = [
        (
            "src/a.f",
            "      SUBROUTINE A(X, Y)\n      CALL B(X, Y)\n      END\n",
        ),
        (
            "src/b.for",
            "      SUBROUTINE B(X, Y)\n      Y = X*X\n      END\n",
        ),
    ];
    for (name, text) in sources {
        crate::write(dir.path(), name, text);
    }
    let mut line = vec!["-O", out.path().to_str().unwrap(), "-msglevel", "5"];
    line.extend(options);
    line.extend(["-head", "a"]);
    line.extend(sources.map(|(name, _)| name));
    tapenade(dir.path(), &line).success();
    assert_eq!(crate::tree(dir.path()), sources.map(|(name, _)| name));
    crate::tree(out.path())
}

/// Reads a file that must exist.
pub fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Returns the headers of subprograms, without blanks and continuation lines.
pub fn headers(text: &str) -> Vec<String> {
    statements(text)
        .into_iter()
        .filter(|s| {
            let header = ["SUBROUTINE", "FUNCTION"].iter().any(|k| {
                s.find(k)
                    .is_some_and(|at| s[..at].chars().all(|c| c.is_ascii_alphanumeric()))
            });
            header && !s.contains('=')
        })
        .collect()
}

/// Returns the headers without keywords, except for the sweeps of subprograms below the heads.
pub fn whole(text: &str) -> Vec<String> {
    let strip = |h: String| {
        let at = h.find("SUBROUTINE").map(|i| i + 10);
        let at = at.or_else(|| h.find("FUNCTION").map(|i| i + 8));
        h[at.unwrap_or(0)..].to_owned()
    };
    let sweep = |h: &String| h.contains("_FWD(") || h.contains("_BWD(");
    headers(text)
        .into_iter()
        .map(strip)
        .filter(|h| !sweep(h))
        .collect()
}

/// Returns the statements in upper case without blanks.
pub fn statements(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with(['C', 'c', '*']) || line.trim().is_empty() {
            continue;
        }
        let body: String = line
            .chars()
            .skip(6)
            .filter(|c| !c.is_whitespace())
            .collect();
        let continued = line.starts_with("     ") && line.chars().nth(5).is_some_and(|c| c != ' ');
        match found.last_mut() {
            Some(last) if continued => last.push_str(&body.to_uppercase()),
            _ => found.push(body.to_uppercase()),
        }
    }
    found
}

/// Compiles everything with all run-time checks and returns the numbers that the program prints.
pub fn numbers(dir: &Path, sources: &[&str], input: &str) -> Vec<f64> {
    let program = dir.join("program");
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-O1", "-fcheck=all", "-finit-real=snan"])
        .arg("-o")
        .arg(&program)
        .args(sources)
        .current_dir(dir)
        .output()
        .expect("gfortran");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = snapbox::cmd::Command::new(&program)
        .stdin(input)
        .output()
        .expect("the program");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace()
        .map(|w| w.parse().unwrap_or_else(|_| panic!("{text}")))
        .collect()
}

/// Asserts that numbers are close to others, relative to the larger of them and 1.
pub fn close(found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for (f, w) in found.iter().zip(wanted) {
        assert!((f - w).abs() <= tolerance * w.abs().max(1.0), "{f} {w}");
    }
}

/// Splits the numbers that a program prints into results and expected values, which alternate.
pub fn pairs(found: &[f64]) -> (Vec<f64>, Vec<f64>) {
    found.chunks(2).map(|p| (p[0], p[1])).unzip()
}

/// Compiles everything, and asserts that the program prints `count` pairs of numbers that agree. Returns the
/// first of each pair.
pub fn agree(dir: &Path, sources: &[&str], count: usize, tolerance: f64) -> Vec<f64> {
    let (found, wanted) = pairs(&numbers(dir, sources, ""));
    assert_eq!(found.len(), count);
    close(&found, &wanted, tolerance);
    found
}

/// Returns the real tool, if the machine has it.
pub fn real_tapenade() -> Option<std::path::PathBuf> {
    let home = std::env::var_os("TAPENADE_HOME")?;
    Some(Path::new(&home).join("bin/tapenade"))
}

/// Procedures as arguments, and arrays that need a derivative only inside.
pub const CALLBACKS: &str = "      SUBROUTINE SUM2(X, N, W, Y)
      DOUBLE PRECISION X, Y, W(N), Z
      EXTERNAL CUBE, WAVE
      CALL APPLY(CUBE, X, N, W, Y)
      CALL APPLY(WAVE, X, N, W, Z)
      Y = Y*Z
      END
      SUBROUTINE APPLY(FUN, X, N, W, Y)
      EXTERNAL FUN
      DOUBLE PRECISION X, Y, W(N), FUN
      CALL FILL(FUN, X, W, N)
      Y = W(1) + W(N)
      END
      SUBROUTINE FILL(G, X, W, N)
      EXTERNAL G
      DOUBLE PRECISION X, W(N), G
      DO 10 I = 1, N
   10 W(I) = G(X, I)*I
      END
      DOUBLE PRECISION FUNCTION CUBE(X, K)
      DOUBLE PRECISION X
      CUBE = X**3 + K
      END
      DOUBLE PRECISION FUNCTION WAVE(X, K)
      DOUBLE PRECISION X
      WAVE = SIN(K*X)
      END
";

/// COMMON blocks that its units divide differently, and names that overlap parts of these.
pub const DIVIDED: &str = "      SUBROUTINE HEAD(X, Y)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION X(3)
      COMMON /OUT/ P(2)
      CALL SETS(X)
      CALL MIDDLE
      CALL USES(Y)
      P(2) = Y*X(1)
      CALL OVER(Y)
      END
      SUBROUTINE SETS(X)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION X(3)
      COMMON /B/ A, N, M, B(0:1), C(-1:0,2)
      EQUIVALENCE (C(0,1), V)
      A = X(1)
      N = 3
      M = 4
      B(0) = X(2)*A
      B(1) = X(3)**2
      C(-1,1) = A*X(2)
      V = X(3)*X(1)
      C(-1,2) = 2*V
      C(0,2) = A
      END
      SUBROUTINE MIDDLE
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      COMMON /B/ A, I(2), R(6)
      R(2) = R(2)*R(6) + A
      CALL TAIL(R(3))
      END
      SUBROUTINE TAIL(T)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION T(4)
      T(1) = T(1)*T(4)
      T(3) = T(3)*T(4)
      END
      SUBROUTINE USES(Y)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      COMMON /B/ R, N(2), S, T, E(4)
      Y = R + 2*S + 3*T + E(1)*E(2) + E(3)/E(4)
      END
      SUBROUTINE OVER(Y)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      COMMON /OUT/ P, R(2)
      COMMON /OWN/ F, G
      DIMENSION T(2), H(2)
      EQUIVALENCE (R(1), T), (F, H)
      T(2) = T(1)**2
      F = R(2)
      H(2) = F
      Y = Y + G
      END
";
