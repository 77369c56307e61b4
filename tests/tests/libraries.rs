//! Farfel libraries: packages that call and differentiate the subprograms of other packages.

use std::fs;
use std::path::Path;

use farfel_tests::{farfel, fixed, repository, sandbox, write};

const BUILD_SCRIPT: &str = "fn main() {\n    farfel_build::compile();\n}\n";

/// Returns the manifest of a package; `more` is added to its dependencies.
fn manifest(name: &str, version: &str, links: &str, more: &str) -> String {
    let farfel = repository().display();
    let links = match links {
        "" => String::new(),
        links => format!("links = \"{links}\"\n"),
    };
    format!(
        "[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2024\"\n{links}\n\
         [dependencies]\nfarfel-runtime = {{ path = \"{farfel}/farfel-runtime\" }}\n{more}\n\
         [build-dependencies]\nfarfel-build = {{ path = \"{farfel}/farfel-build\" }}\n"
    )
}

/// Writes a library, whose Rust interface consists of its bindings.
fn library(dir: &Path, name: &str, version: &str, links: &str, more: &str, fortran: &str) {
    let at = format!("{name}-{version}");
    let write = |file: &str, text: &str| write(&dir.join(&at), file, text);
    write("Cargo.toml", &manifest(name, version, links, more));
    write("build.rs", BUILD_SCRIPT);
    write("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    write("fortran/all.ff", fortran);
}

/// ROOT counts its calls, in a COMMON block. SHIFT is private to the library.
fn roots(factor: u32) -> String {
    fixed(&format!(
        "FUNCTION ROOT(F, X0, N)
IMPLICIT DOUBLE PRECISION (A-H, O-Z)
COMMON /STATE/ CALLS
EXTERNAL F
CALLS = CALLS + 1
X = X0
DO I = 1, N
ADF(X)
Y = F(X)
END ADF(S = TANGENT(Y))
X = X - Y/S
END DO
ROOT = SHIFT(X)
END
DOUBLE PRECISION FUNCTION SHIFT(X)
DOUBLE PRECISION X
SHIFT = X
END
DOUBLE PRECISION FUNCTION EVALS()
DOUBLE PRECISION CALLS
COMMON /STATE/ CALLS
EVALS = {factor}*CALLS
END
BLOCK DATA
DOUBLE PRECISION CALLS
COMMON /STATE/ CALLS
DATA CALLS /1D0/
END
"
    ))
}

/// Uses `roots`, and has its own SHIFT.
const OPTIMA: &str = "FUNCTION ARGMAX(F, X0, N)
IMPLICIT DOUBLE PRECISION (A-H, O-Z)
EXTERNAL F
FUNCTION FPRIME(X)
ADF(X)
Y = F(X)
END ADF(FPRIME = TANGENT(Y))
END
ARGMAX = SHIFT(ROOT(FPRIME, X0, N)) - 1
END
DOUBLE PRECISION FUNCTION SHIFT(X)
DOUBLE PRECISION X
SHIFT = X + 1
END
DOUBLE PRECISION FUNCTION PEAK(A)
IMPLICIT DOUBLE PRECISION (A-H, O-Z)
FUNCTION HILL(X)
HILL = -X**4 + A*X
END
PEAK = ARGMAX(HILL, 1D0, 20)
END
";

/// Uses another version of `roots`, and has its own SHIFT and a COMMON block that must not affect `optima`.
const PHYSICS: &str = "DOUBLE PRECISION FUNCTION KEPLER(AMEAN, ECC)
IMPLICIT DOUBLE PRECISION (A-H, O-Z)
FUNCTION G(E)
G = E - ECC*SIN(E) - AMEAN
END
KEPLER = SHIFT(ROOT(G, AMEAN, 10))/2
END
DOUBLE PRECISION FUNCTION SHIFT(X)
DOUBLE PRECISION X
SHIFT = X*2
END
DOUBLE PRECISION FUNCTION RUNS()
DOUBLE PRECISION EVALS
RUNS = EVALS()
END
";

/// Three files that call each other, one of them in old Fortran: derivatives pass through all of them, and
/// through libraries.
const PEAKS: &str = "SUBROUTINE PEAKS(A, P, DP, E, DE)
IMPLICIT DOUBLE PRECISION (A-H, O-Z)
FUNCTION TOP(P)
FUNCTION HILL(X)
HILL = WORK(P*X - X**4/4)
END
TOP = ARGMAX(HILL, 1D0, 20)
END
ADF(A)
P = TOP(A)
END ADF(DP = TANGENT(P))
B = A/2
ADF(B)
E = ORBIT(B)
END ADF(DE = TANGENT(E))
END
FUNCTION ORBIT(B)
IMPLICIT DOUBLE PRECISION (A-H, O-Z)
DOUBLE PRECISION KEPLER
ORBIT = KEPLER(1D0, B)
END
";
const WORK: &str = "C     OLD FORTRAN, IN THE MIDDLE
DOUBLE PRECISION FUNCTION WORK(X)
DOUBLE PRECISION X, SHIFT
WORK = SHIFT(X)
END
";
const SHIFT: &str = "DOUBLE PRECISION FUNCTION SHIFT(X)
DOUBLE PRECISION X
SHIFT = 3*X
END
DOUBLE PRECISION FUNCTION CUBRT(A)
IMPLICIT DOUBLE PRECISION (A-H, O-Z)
FUNCTION Q(X)
Q = X**3 - A
END
CUBRT = ROOT(Q, 1D0, 20)
END
DOUBLE PRECISION FUNCTION TIMES()
DOUBLE PRECISION EVALS
TIMES = EVALS()
END
";
const MAIN: &str = r#"mod own {
    farfel_runtime::include_bindings!();
}

fn main() {
    let own::PeaksOutput { p, dp, e, de } = own::peaks(0.8);
    // p is x with x**3 = a, so dp/da = 1/(3 x**2).
    println!("{:.9} {:.9}", f64::powi(p, 3), dp * 3.0 * p * p);
    // e - b sin e = 1, so de/db = sin e / (1 - b cos e).
    println!("{:.9} {:.9}", e - 0.4 * f64::sin(e), de * (1.0 - 0.4 * f64::cos(e)) / f64::sin(e));
    println!("{:.9}", own::cubrt(8.0));
    // Libraries in Rust, beside what the program has compiled of them.
    println!("{:.9}", optima::peak(4.0));
    println!("{:.9}", physics::kepler(1.0, 0.0));
    // Each package has COMMON blocks of its own.
    println!("{} {} {}", own::times(), physics::runs(), roots::evals());
}
"#;

/// `app` uses `optima`, `roots`, which `optima` uses as well, and `physics`, which uses another version of
/// `roots`.
fn projects(dir: &Path) {
    library(dir, "roots", "0.1.0", "roots-0-1", "", &roots(1));
    library(dir, "roots", "0.2.0", "roots-0-2", "", &roots(100));
    let uses = "roots = { path = \"../roots-0.1.0\" }";
    library(dir, "optima", "0.1.0", "optima", uses, &fixed(OPTIMA));
    let uses = "roots = { path = \"../roots-0.2.0\" }";
    library(dir, "physics", "0.1.0", "physics", uses, &fixed(PHYSICS));
    let app = dir.join("app");
    let uses = "roots = { path = \"../roots-0.1.0\" }\noptima = { path = \"../optima-0.1.0\" }\n\
                physics = { path = \"../physics-0.1.0\" }";
    write(&app, "Cargo.toml", manifest("app", "0.1.0", "", uses));
    write(&app, "build.rs", BUILD_SCRIPT);
    write(&app, "fortran/peaks.ff", fixed(PEAKS));
    write(&app, "fortran/work.f", fixed(WORK));
    write(&app, "fortran/shift.ff", fixed(SHIFT));
    write(&app, "src/main.rs", MAIN);
}

fn stdout(output: &snapbox::cmd::OutputAssert) -> String {
    String::from_utf8_lossy(&output.get_output().stdout).into_owned()
}

fn stderr(output: &snapbox::cmd::OutputAssert) -> String {
    String::from_utf8_lossy(&output.get_output().stderr).into_owned()
}

#[test]
fn libraries_are_called_and_differentiated_from_other_packages() {
    let dir = sandbox();
    projects(dir.path());
    let app = dir.path().join("app");
    let run = || stdout(&farfel(&app).args(["run", "-q"]).assert().success());
    let expected = "0.800000000 1.000000000\n1.000000000 1.000000000\n2.000000000\n\
                    1.000000000\n1.000000000\n";
    assert_eq!(run(), format!("{expected}3 200 1\n"));

    // A change of a library affects everything that contains its code.
    let changed = write(&dir.path().join("roots-0.1.0"), "fortran/all.ff", roots(7));
    assert_eq!(run(), format!("{expected}21 200 7\n"));

    let again = farfel(&app).args(["build", "-v"]).assert().success();
    let text = stderr(&again);
    assert!(
        !text.contains("Dirty") && !text.contains("Compiling"),
        "{text}"
    );

    // Commands that do not build find the libraries, too.
    let expanded = farfel(&app).arg("expand").assert().success();
    let text = stdout(&expanded);
    for name in ["SHIFT(", "SHIFT_OPTIMA_0_1_0_G", "SHIFT_ROOTS_0_2_0("] {
        assert!(text.contains(name), "{name}: {text}");
    }

    // Errors in a library are shown at its lines.
    fs::write(changed, roots(7).replace("Y = F(X)", "Y = F(X")).unwrap();
    let faulty = farfel(&app).arg("check").assert().code(1);
    let text = stderr(&faulty);
    let place = "--> roots-0.1.0/fortran/all.ff:9:14";
    assert!(text.contains(place), "{text}");
}

/// A subprogram that takes procedures is compiled where it is used, and nowhere else.
#[test]
fn a_library_may_have_nothing_but_what_takes_procedures() {
    let dir = sandbox();
    let slope = "FUNCTION SLOPE(F, X)\nEXTERNAL F\nADF(X)\nY = F(X)\n\
                 END ADF(SLOPE = TANGENT(Y))\nEND\n";
    library(dir.path(), "general", "0.1.0", "general", "", &fixed(slope));
    let project = dir.path().join("general-0.1.0");
    let built = farfel(&project).args(["build", "-q"]).assert().success();
    assert_eq!(stderr(&built), "");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let dir = sandbox();
    let solver = fixed("SUBROUTINE STEP(X)\nCOMMON /STATE/ T\nX = X + T\nEND\n");
    library(dir.path(), "one", "0.1.0", "one", "", &solver);
    library(dir.path(), "two", "0.1.0", "two", "", &solver);
    let app = dir.path().join("app");
    let uses = "one = { path = \"../one-0.1.0\" }\ntwo = { path = \"../two-0.1.0\" }\n";
    write(&app, "Cargo.toml", manifest("app", "0.1.0", "", uses));
    write(&app, "build.rs", BUILD_SCRIPT);
    write(&app, "src/lib.rs", "");
    let refused = |text: &str| {
        write(&app, "fortran/app.ff", fixed(text));
        stderr(&farfel(&app).arg("check").assert().code(1))
    };
    let said = refused("SUBROUTINE TWICE(X)\nCALL STEP(X)\nEND\n");
    let expected = "error[F0111]: STEP may be that of one 0.1.0 or that of two 0.1.0\n \
                    --> fortran/app.ff:2:7\n";
    assert!(said.starts_with(expected), "{said}");

    let uses = "one = { path = \"../one-0.1.0\" }\n";
    write(&app, "Cargo.toml", manifest("app", "0.1.0", "", uses));
    let said = refused("SUBROUTINE TWICE(X)\nCOMMON /STATE/ T\nT = 1\nCALL STEP(X)\nEND\n");
    let expected = "error[F0111]: COMMON /STATE/ is one of one 0.1.0, too, and packages do not \
                    share COMMON blocks\n --> fortran/app.ff:2:7\n";
    assert!(said.starts_with(expected), "{said}");

    let settings = "\n[package.metadata.farfel]\nreal-kind = 8\n";
    write(
        &app,
        "Cargo.toml",
        manifest("app", "0.1.0", "", uses) + settings,
    );
    let said = refused("SUBROUTINE TWICE(X)\nCALL STEP(X)\nEND\n");
    let expected = "error: library one 0.1.0: its REAL has 4 bytes and that of app has 8; set \
                    `real-kind` alike in both\n";
    assert_eq!(said, expected);
}

/// The setting `derive` names subprograms of libraries, too.
#[test]
fn subprograms_of_libraries_have_derivatives() {
    let dir = sandbox();
    let model = "DOUBLE PRECISION FUNCTION COST(N, X)
DOUBLE PRECISION X(N), PART
COST = 0
DO I = 1, N
COST = COST + PART(X(I))
END DO
END
DOUBLE PRECISION FUNCTION PART(X)
DOUBLE PRECISION X, Y, OTHER
PART = X**4
RETURN
ENTRY OTHER(Y)
OTHER = SIN(Y)
END
SUBROUTINE BOUNDED(X, S)
COMMON /SIZES/ N
DOUBLE PRECISION X(N), S
S = SUM(X)
END
DOUBLE PRECISION FUNCTION AREA(F, A, B)
DOUBLE PRECISION F, A, B
AREA = (B - A)*(F(A) + F(B))/2
END
";
    library(dir.path(), "models", "0.1.0", "models", "", &fixed(model));
    let app = dir.path().join("deriving");
    let uses = "models = { path = \"../models-0.1.0\" }";
    let settings = "\n[package.metadata.farfel.derive]
cost_gradient = { gradient = \"cost\", by = \"x\" }
cost_hessian = { hessian = \"cost\", by = \"x\" }
other_jvp = { jvp = \"other\", by = \"y\" }
area_gradient = { gradient = \"area\", by = [\"a\", \"b\"] }
";
    let with = |more: &str| manifest("deriving", "0.1.0", "", uses) + settings + more;
    write(&app, "Cargo.toml", with(""));
    write(&app, "build.rs", BUILD_SCRIPT);
    // PART here is another one.
    let own = "DOUBLE PRECISION FUNCTION PART(X)\nDOUBLE PRECISION X\nPART = X\nEND\n";
    write(&app, "fortran/own.f", fixed(own));
    let main = r#"mod own {
    farfel_runtime::include_bindings!();
}
fn main() {
    let x = [1.0, 2.0, -3.0];
    let found = own::cost_gradient(&x).unwrap();
    assert_eq!((found.value, &found.x_gradient[..]), (98.0, &[4.0, 32.0, -108.0][..]));
    let found = own::cost_hessian(&x).unwrap();
    assert_eq!(found.x_hessian.as_slice(), [12.0, 0.0, 0.0, 0.0, 48.0, 0.0, 0.0, 0.0, 108.0]);
    let found = own::other_jvp(0.5, 2.0);
    assert!((found.other_jvp_tangent - 2.0 * f64::cos(0.5)).abs() < 1e-15);
    let adjoint = |x: f64, xb: &mut f64, _: f64, yb: &mut f64| *xb += x.cos() * std::mem::take(yb);
    let (a, b) = (0.3f64, 1.1f64);
    let found = own::area_gradient(f64::sin, adjoint, a, b);
    let by_b = (a.sin() + b.sin() + (b - a) * b.cos()) / 2.0;
    assert!((found.b_gradient - by_b).abs() < 1e-15);
    println!("right {}", own::part(7.0));
}
"#;
    write(&app, "src/main.rs", main);
    let run = || farfel(&app).args(["run", "-q"]).assert();
    run().success().stdout_eq("right 7\n");
    // In this package, the block would be another one.
    write(
        &app,
        "Cargo.toml",
        with("bounded_gradient = { gradient = \"bounded\", of = \"s\", by = \"x\" }\n"),
    );
    let failed = run().failure();
    let said = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(
        said.contains("the arguments of BOUNDED have bounds in COMMON /SIZES/ of another package")
            && said.contains("models-0.1.0/fortran/all.ff:15"),
        "{said}"
    );
}
