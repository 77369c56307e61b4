//! C sources beside Fortran: compiled by the C compiler of the target, calling Fortran and called by it.

use std::fs;
use std::path::Path;

use farfel_tests::{farfel, fixed, repository, sandbox, write};

/// Calls C, which calls back and changes a COMMON block.
const MAIN: &str = "\
C
      PROGRAM P
      DOUBLE PRECISION X, W
      COMMON /SHARE/ W
      X = 2
      W = 10
      CALL TWICE(X)
      PRINT '(2F8.2)', X, W
      END
      SUBROUTINE SQUARE(X)
      DOUBLE PRECISION X
      X = X**2
      CALL MORE(X)
      END
      SUBROUTINE MORE(X)
      DOUBLE PRECISION X
      X = X + 1
      END
";

/// 2 -> (2**2 + 1)*FACTOR, and its root is added to W.
const TWICE: &str = "\
#include <math.h>
#include \"factor.h\"
extern void square_(double *x);
extern struct { double w; } share_;
void twice_(double *x) { square_(x); *x *= FACTOR; share_.w += sqrt(*x); }
";

fn printed(dir: &Path, args: &[&str]) -> String {
    let ran = farfel(dir).args(args).assert().success();
    String::from_utf8_lossy(&ran.get_output().stdout).into_owned()
}

#[test]
fn programs_call_c_which_calls_back_and_shares_common() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "main.f", MAIN);
    write(dir, "sub/twice.c", TWICE);
    write(dir, "sub/factor.h", "#define FACTOR 5\n");
    // (2**2 + 1)*5 = 25, and 10 + 5.
    let files = ["run", "-q", "main.f", "sub/twice.c"];
    assert_eq!(printed(dir, &files), "   25.00   15.00\n");
    // A change of a header counts, although no source changes.
    write(dir, "sub/factor.h", "#define FACTOR 20\n");
    assert_eq!(printed(dir, &files), "  100.00   20.00\n");
    // Functions defined in C are known; others are not.
    let warned = |file: &str| {
        let checked = farfel(dir)
            .args(["check", "main.f", file])
            .assert()
            .success();
        let said = String::from_utf8_lossy(&checked.get_output().stderr).into_owned();
        said.contains("there is no subroutine named TWICE")
    };
    write(dir, "other.c", "void thrice_(double *x) { *x *= 3; }\n");
    assert!(!warned("sub/twice.c"));
    assert!(warned("other.c"));
}

#[test]
fn a_main_function_in_c_calls_derivatives() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "slope.ff",
        "\
C
      SUBROUTINE SLOPE(X)
      DOUBLE PRECISION X, Y
      ADF(X)
      Y = X**3
      END ADF(X = TANGENT(Y))
      END
",
    );
    write(
        dir,
        "main.c",
        "\
#include <stdio.h>
extern void slope_(double *x);
int main(void) { double x = 2; slope_(&x); printf(\"%g\\n\", x); return 0; }
",
    );
    // The derivative of x**3 at 2 is 12.
    assert_eq!(printed(dir, &["run", "-q", "slope.ff", "main.c"]), "12\n");
}

#[test]
fn errors_in_c_are_shown_at_their_lines() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "main.f", fixed("PRINT *, 1\nEND\n"));
    write(
        dir,
        "bad.c",
        "int fine;\nint f(void) { return undeclared; }\n",
    );
    let failed = farfel(dir)
        .args(["run", "main.f", "bad.c"])
        .assert()
        .code(1);
    let said = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(said.contains("bad.c:2:"), "{said}");
    assert!(said.contains("undeclared"), "{said}");
    let failed = farfel(dir)
        .args(["run", "main.f", "bad.c"])
        .env("CC", "no-such-compiler")
        .assert()
        .code(1);
    let said = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(said.contains("no C compiler for the C sources"), "{said}");
    assert!(said.contains("no-such-compiler"), "{said}");
}

/// In a Rust project: C and Fortran form one library, C is recompiled only if it has changed, and `CFLAGS`
/// apply only to C.
#[test]
fn rust_projects_have_c_in_their_library() {
    let dir = sandbox();
    let dir = dir.path();
    let build = repository().join("farfel-build");
    let runtime = repository().join("farfel-runtime");
    write(
        dir,
        "Cargo.toml",
        format!(
            "[package]\nname = \"with-c\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [dependencies]\nfarfel-runtime = {{ path = {runtime:?} }}\n\
             [build-dependencies]\nfarfel-build = {{ path = {build:?} }}\n[workspace]\n"
        ),
    );
    write(dir, "build.rs", "fn main() { farfel_build::compile(); }\n");
    write(
        dir,
        "src/main.rs",
        "mod fortran { farfel_runtime::include_bindings!(); }\n\
         fn main() { let mut x = 2.0; // Farfel has not looked at what C does with X.\n\
           let w = unsafe { fortran::top(&mut x) }; println!(\"{x} {w:?}\"); }\n",
    );
    write(
        dir,
        "fortran/top.f",
        "\
C
      DOUBLE PRECISION FUNCTION TOP(X)
      DOUBLE PRECISION X, W
      COMMON /SHARE/ W
      W = 10
      CALL TWICE(X)
      TOP = W
      END
      SUBROUTINE SQUARE(X)
      DOUBLE PRECISION X
      X = X**2
      CALL MORE(X)
      END
      SUBROUTINE MORE(X)
      DOUBLE PRECISION X
      X = X + 1
      END
",
    );
    write(dir, "fortran/twice.c", TWICE);
    write(dir, "fortran/factor.h", "#define FACTOR SCALE\n");
    let run = |scale: u32| {
        let ran = farfel(dir)
            .args(["run", "-q"])
            // gfortran would reject the second one.
            .env(
                "CFLAGS",
                format!("-DSCALE={scale} --param=max-inline-insns-single=1 -std=gnu99"),
            )
            .assert()
            .success();
        String::from_utf8_lossy(&ran.get_output().stdout).into_owned()
    };
    assert_eq!(run(5), "25 15.0\n");
    // The environment counts, and so do headers.
    assert_eq!(run(20), "100 20.0\n");
    fs::write(dir.join("fortran/factor.h"), "#define FACTOR (SCALE*4)\n").unwrap();
    assert_eq!(run(20), "400 30.0\n");
}
