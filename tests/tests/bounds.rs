//! Functions that safe Rust can call stay within the arrays that they get, and those that they own.

use farfel_tests::{command, farfel, repository, sandbox, shared_target, write};
use std::path::{Path, PathBuf};

const ARRAYS: &str = include_str!("../bounds/arrays.f");
const MAIN: &str = include_str!("../bounds/main.rs");

/// Writes a crate with a Fortran source and the program `name`.
fn project(dir: &Path, name: &str, fortran: &str, main: &str, settings: &str) {
    let farfel = repository().display();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{settings}\n\
         [dependencies]\nfarfel-runtime = {{ path = \"{farfel}/farfel-runtime\" }}\n\
         [build-dependencies]\nfarfel-build = {{ path = \"{farfel}/farfel-build\" }}\n[workspace]\n"
    );
    write(dir, "Cargo.toml", manifest);
    write(
        dir,
        "build.rs",
        "fn main() {\n    farfel_build::compile();\n}\n",
    );
    write(dir, "fortran/arrays.f", fortran);
    write(dir, "src/main.rs", main);
}

/// Builds it; returns the executable and the messages.
fn build(dir: &Path, name: &str, release: bool) -> (PathBuf, String) {
    let args = ["build", "--release"];
    let args = &args[..1 + usize::from(release)];
    let built = farfel(dir).args(args).assert().success();
    let said = String::from_utf8_lossy(&built.get_output().stderr).into_owned();
    let profile = if release { "release" } else { "debug" };
    (shared_target().join(profile).join(name), said)
}

fn valgrind() -> bool {
    let mut version = std::process::Command::new("valgrind");
    version.arg("--version");
    version.output().is_ok_and(|o| o.status.success())
}

/// Every incorrect call returns an error with the reference and its line, and nothing outside is accessed:
/// guard pages around the arrays and valgrind check that.
#[test]
fn wrong_calls_are_errors() {
    let dir = sandbox();
    let dir = dir.path();
    project(dir, "bounds", ARRAYS, MAIN, "");
    for release in [false, true] {
        let (program, built) = build(dir, "bounds", release);
        let reasons: Vec<&str> = built
            .lines()
            .filter_map(|l| l.split_once("cannot be checked: "))
            .map(|(_, reason)| reason)
            .collect();
        assert_eq!(
            reasons,
            ["X is used behind PEEK, whose argument it is not"],
            "{built}"
        );
        let ran = command(&program, dir).assert().success();
        let said = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
        assert_eq!(said.lines().count(), 74, "{said}");
        let line = |call: &str| {
            let found = said.lines().find_map(|l| l.strip_prefix(call));
            found.unwrap_or_else(|| panic!("no {call} in {said}"))
        };
        assert_eq!(
            line("scattr below: "),
            "X(IDX(I)) with subscript -3 is outside: there are 4 elements (fortran/arrays.f:48)"
        );
        assert_eq!(
            line("square overflow: "),
            "X(K) with subscript -1794967296 is outside: there are 4 elements (fortran/arrays.f:162)"
        );
        assert_eq!(
            line("outer: "),
            "X of size 3 is outside: there are 2 elements (fortran/arrays.f:167)"
        );
        assert_eq!(
            line("phases unset: "),
            "Fortran program stopped: GOTO NEXT has no label (fortran/arrays.f:268)"
        );
        assert_eq!(line("done"), "");
        if valgrind() {
            let wanted = ["-q", "--error-exitcode=9", "--leak-check=no"];
            let wanted = wanted.map(String::from).into_iter();
            let wanted = wanted.chain([program.display().to_string()]);
            command(Path::new("valgrind"), dir)
                .args(wanted)
                .assert()
                .success();
        }
    }
}

/// For linkers, BLOCK DATA determines the size of a COMMON block that it initialises, whatever other objects
/// declare. So all users of such a block are in the same object, where the longest declaration counts.
#[test]
fn blocks_are_as_large_as_any_unit_declares_them() {
    let dir = sandbox();
    let dir = dir.path();
    let fortran = "      BLOCK DATA START
      COMMON /SHORT/ A(2), /VICTIM/ V(6)
      DOUBLE PRECISION A, V
      DATA A /1D0, 2D0/, V /6*7D0/
      END
      SUBROUTINE FILL(X)
      COMMON /SHORT/ A(5), K
      DOUBLE PRECISION A, X
      DO 10 I = 3, 5
   10 A(I) = X
      K = 8
      END
      DOUBLE PRECISION FUNCTION TOTAL()
      COMMON /SHORT/ A(5), K, /VICTIM/ V(6)
      DOUBLE PRECISION A, V
      TOTAL = SUM(V) + 100*A(2) + 1000*A(5)
      END
";
    let main = "#![forbid(unsafe_code)]
mod fortran {
    farfel_runtime::include_bindings!();
}
fn main() {
    fortran::fill(3.0);
    println!(\"{}\", fortran::total());
}
";
    // In a large library, subprograms have separate objects.
    let lines = "      X = X + 1\n".repeat(450);
    let fortran = format!("{fortran}      SUBROUTINE LONG(X)\n{lines}      END\n");
    project(dir, "blocks", &fortran, main, "");
    let (program, built) = build(dir, "blocks", false);
    assert!(built.contains("F0511"), "{built}");
    let ran = command(&program, dir).assert().success();
    assert_eq!(String::from_utf8_lossy(&ran.get_output().stdout), "3242\n");
}
