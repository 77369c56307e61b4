//! Short functions in front of those with all arguments.

use crate::support::Project;

const SETTINGS: &str = "
[package.metadata.farfel]
unchecked = ['peek']

[package.metadata.farfel.derive]
cost_gradient = { gradient = 'cost', by = 'x' }
cost_hvp = { hvp = 'cost', by = 'x' }
frob_gradient = { gradient = 'frob', by = 'a' }
model_jacobian = { jacobian = 'model', of = 'f', by = 'x' }

[package.metadata.farfel.signature]
hybrd1 = { workspaces = ['wa(n*(n + 1))'], errors = { info = '/= 1' } }
nearest = { outputs = ['x', 'square'], workspaces = ['work'], errors = { ierr = '/= 0' } }
dgesv = { shapes = ['a(n, n)', 'b(n, nrhs)'] }
";

const LIBRARY: &str = include_str!("../signatures/library.f");

fn project(name: &str, settings: &str) -> Project {
    let p = Project::new(name, name);
    p.append("Cargo.toml", settings)
        .file("fortran/library.f", LIBRARY);
    p
}

#[test]
fn short_functions_call_those_with_all_arguments() {
    let p = project("signatures", SETTINGS);
    p.file("src/main.rs", include_str!("../signatures/main.rs"));
    let ran = p.cargo(&["run", "-q"]);
    assert!(
        ran.ok && ran.stdout == "fine\n" && !ran.stderr.contains("warning"),
        "{}\n{}",
        ran.stdout,
        ran.stderr
    );
    let bindings = p.bindings();
    let (short, raw) = bindings.split_once("\npub mod raw {").unwrap();
    // Each subprogram is called in one place, and documented in one place.
    assert_eq!(
        bindings.matches("farfel_call(").count(),
        2 * bindings.matches("fn farfel_call(").count()
    );
    let about = "/// The scalar product of X and Y.\n";
    assert_eq!(bindings.matches(about).count(), 1, "{bindings}");
    // One that is not checked is not checked under either name.
    let peek =
        "fn peek(x: &[f64], i: i32) -> ::core::result::Result<f64, ::farfel_runtime::Error> {";
    assert!(short.contains(peek), "{short}");
    for text in [short, raw] {
        let (before, _) = text.split_once("fn peek(").unwrap();
        let (_, begins) = before.rsplit_once("}\n").unwrap();
        assert!(begins.contains("exposed!"), "{text}");
    }
}

/// Subprograms with state are methods, and `raw` has functions that get the instance.
#[test]
fn methods_are_short() {
    let settings = SETTINGS.replace("unchecked =", "instance = 'Model'\nunchecked =");
    let p = project("short_methods", &settings);
    p.file(
        "src/main.rs",
        "mod fortran { farfel_runtime::include_bindings!(); }
fn main() {
    let (mut a, mut b) = (fortran::Model::new(), fortran::Model::new());
    let mut x = [0.0; 3];
    assert_eq!(a.counts(&mut x), Ok(1));
    assert_eq!(a.counts(&mut x), Ok(2));
    assert_eq!(b.counts(&mut x), Ok(1));
    let mut k = 0;
    assert_eq!(fortran::raw::counts(&mut a, 3, &mut x, &mut k), Ok(()));
    assert_eq!((k, x[2], a.common_calls().kount), (3, 3.0, 3));
    assert_eq!(fortran::dot(&[2.0], &[3.0]), Ok(6.0));
    // SAFETY: there is such an element.
    assert_eq!(unsafe { fortran::peek(&[1.0, 2.0], 2) }, Ok(2.0));
    println!(\"fine\");
}
",
    );
    assert_eq!(p.run(), "fine\n");
}

/// Everything that is wrong is said at once.
#[test]
fn faulty_tables() {
    let settings = "
[package.metadata.farfel.signature]
dott = { keep = ['n'] }
dot = { keep = ['n'] }
hybrd1 = { keep = ['n'] }
";
    let exports = format!("[package.metadata.farfel]\nexports = ['Dot']\n{settings}");
    let p = project("no_such_signature", &exports);
    p.file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let ran = p.cargo(&["build"]);
    for expected in [
        "setting `signature.dott`: there is no top-level subprogram of this name; did you mean `dot`?",
        "setting `signature.hybrd1`: hybrd1 is not exported: add it to the setting `exports`",
    ] {
        assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("signature.dot`"), "{}", ran.stderr);

    let settings = "
[package.metadata.farfel.signature]
dot = { keep = ['m'] }
hybrd1 = { workspaces = ['wa(2*k)'], errors = { info = 'positive' }, closures = { fcn = ['in'], n = [] } }
";
    let p = project("faulty_signatures", settings);
    p.file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let ran = p.cargo(&["build"]);
    for expected in [
        "setting `signature.dot`: DOT has no argument M; it has N, X, Y",
        "setting `signature.hybrd1`: the bounds 2*k of WA: HYBRD1 has no INTEGER argument K",
        "setting `signature.hybrd1`: `positive` does not say which values of INFO are errors",
        "setting `signature.hybrd1`: FCN is called with 3 arguments, not 1",
        "setting `signature.hybrd1`: N is not a procedure argument of HYBRD1",
    ] {
        assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);
    }

    let settings = "[package.metadata.farfel]\nsignatures = 'fortran'\nsignature = { dot = { keep = ['n'] } }\n";
    let p = project("useless_signatures", settings);
    p.file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let ran = p.cargo(&["build"]);
    let expected = "functions have all arguments with `signatures = \"fortran\"`";
    assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);
}

/// A program of its own, whose Fortran and Rust have the same name.
#[track_caller]
fn fine(name: &str, settings: &str, fortran: &str, rust: &str) -> String {
    let p = Project::new(name, name);
    p.append("Cargo.toml", settings)
        .file("fortran/library.f", fortran)
        .file("src/main.rs", rust);
    let ran = p.cargo(&["run", "-q"]);
    assert!(
        ran.ok && ran.stdout == "fine\n" && !ran.stderr.contains("warning"),
        "{}\n{}",
        ran.stdout,
        ran.stderr
    );
    p.bindings()
}

const HARD: &str = include_str!("../signatures/hard.f");

const HARD_SETTINGS: &str = "
[package.metadata.farfel.signature]
needs = { workspaces = ['work'] }
kept = { keep = ['lda'] }
";

#[test]
fn nothing_is_lost() {
    fine(
        "hard_signatures",
        HARD_SETTINGS,
        HARD,
        include_str!("../signatures/hard.rs"),
    );
}

/// Short functions are `unsafe` where those with all arguments are, and check sizes nevertheless.
#[test]
fn unchecked() {
    let settings = format!("\n[package.metadata.farfel]\nunchecked = true\n{HARD_SETTINGS}");
    let bindings = fine(
        "unchecked_signatures",
        &settings,
        HARD,
        "mod fortran { farfel_runtime::include_bindings!(); }
use farfel_runtime::Matrix;
fn main() {
    let data = [1.0; 6];
    let a = Matrix::new(&data, 3, 2).unwrap();
    let three: unsafe fn(&[f64], &[f64], Matrix<'_, f64>) -> _ = fortran::three;
    // SAFETY: nothing outside of the arrays is used.
    unsafe {
        assert_eq!(three(&data[..3], &data[..3], a), Ok(6.0));
        assert!(three(&data[..3], &data[..2], a).is_err());
        assert_eq!(fortran::filled(2), Ok(vec![1.0, 2.0]));
        assert!(fortran::square(i32::MAX).is_err());
    }
    println!(\"fine\");
}
",
    );
    let (short, _) = bindings.split_once("\npub mod raw {").unwrap();
    for function in [
        "almost", "some", "adds", "filled", "square", "three", "upper", "counts",
    ] {
        let (before, _) = short.split_once(&format!("\nfn {function}(")).unwrap();
        let begins = before.rsplit_once("}\n").map_or(before, |(_, b)| b);
        assert!(begins.contains("exposed!"), "{begins}");
        assert!(begins.contains("/// # Safety"), "{begins}");
    }
}

/// Floating-point exceptions are errors of short functions, too, whose results are not returned then.
#[test]
fn floating_point_errors() {
    let settings = format!(
        "\n[package.metadata.farfel]\nfloat-errors = ['invalid', 'zero', 'overflow']\n{HARD_SETTINGS}"
    );
    fine(
        "float_signatures",
        &settings,
        HARD,
        "#![forbid(unsafe_code)]
mod fortran { farfel_runtime::include_bindings!(); }
use farfel_runtime::Error;
fn main() {
    let counted = fortran::counts(&[1.0, 2.0]).unwrap();
    assert_eq!((counted.k, counted.r), (1, 0.5));
    assert!(matches!(fortran::counts(&[1.0, 0.0]), Err(Error::Float { .. })));
    assert_eq!(fortran::counts(&[1.0, 1.0]).unwrap().k, 3);
    // Without a check of its own it returned no Result before.
    assert_eq!(fortran::resize(1), Ok(()));
    println!(\"fine\");
}
",
    );
}

/// Methods return several results, and matrices.
#[test]
fn instances() {
    let settings = format!("\n[package.metadata.farfel]\ninstance = 'Model'\n{HARD_SETTINGS}");
    fine(
        "instance_signatures",
        &settings,
        HARD,
        "#![forbid(unsafe_code)]
mod fortran { farfel_runtime::include_bindings!(); }
fn main() {
    let (mut a, mut b) = (fortran::Model::new(), fortran::Model::new());
    let first: fortran::CountsOutput = a.counts(&[1.0, 2.0]).unwrap();
    assert_eq!((first.k, first.r, first.a.column(1)), (1, 0.5, &[2.0, 4.0][..]));
    assert_eq!((a.counts(&[1.0, 1.0]).unwrap().k, b.counts(&[1.0, 1.0]).unwrap().k), (2, 1));
    // What fails has counted.
    assert!(b.counts(&[1.0]).is_err());
    assert_eq!((a.common_calls().kount, b.common_calls().kount), (2, 2));
    let mut y = [7.0; 3];
    a.resize(1);
    b.resize(2);
    a.shared(&mut y).unwrap();
    assert_eq!(y, [1.0, 7.0, 7.0]);
    b.shared(&mut y).unwrap();
    assert_eq!(y, [1.0, 2.0, 7.0]);
    assert_eq!(fortran::filled(1), Ok(vec![1.0]));
    println!(\"fine\");
}
",
    );
}

/// With all arguments, functions are as in `raw`, and methods where there is state.
#[test]
fn all_arguments() {
    let settings = "\n[package.metadata.farfel]\nsignatures = 'fortran'\ninstance = 'Model'\n";
    let bindings = fine(
        "all_arguments",
        settings,
        HARD,
        "#![forbid(unsafe_code)]
mod fortran { farfel_runtime::include_bindings!(); }
fn main() {
    let mut model = fortran::Model::new();
    let mut y = [7.0; 3];
    model.resize(2);
    model.shared(&mut y).unwrap();
    assert_eq!(y, [1.0, 2.0, 7.0]);
    fortran::filled(3, &mut y).unwrap();
    assert_eq!(y, [1.0, 2.0, 3.0]);
    println!(\"fine\");
}
",
    );
    assert!(!bindings.contains("mod raw"), "{bindings}");
}

#[test]
fn ordinary_subprograms() {
    fine(
        "shapes_of_signatures",
        "",
        include_str!("../signatures/shapes.f"),
        include_str!("../signatures/shapes.rs"),
    );
}

/// The short functions as a reviewer wants to see them: types, first lines and documentation, but no bodies.
fn shown(bindings: &str) -> String {
    let (short, _) = bindings
        .split_once("\n/// The functions with all arguments")
        .unwrap();
    let mut text = String::new();
    let mut within = false;
    for line in short.lines() {
        let head = ["pub fn ", "fn ", "pub use "].iter();
        if head.clone().any(|h| line.starts_with(h)) {
            text += line.trim_end_matches(" {");
            text += "\n\n";
        }
        within |= line.starts_with("pub struct ");
        if within || line.starts_with("///") {
            text += line;
            text += "\n";
        }
        if line == "}" && std::mem::take(&mut within) {
            text += "\n";
        }
    }
    text
}

/// Nonlinear least squares, with the argument lists and comments of MINPACK.
#[test]
fn as_minpack() {
    let settings = "
[package.metadata.farfel.signature]
fdjac2 = { outputs = ['fjac(m, n)'] }
lmdif1 = { workspaces = ['wa(m*n + n*n + 2*n + m)'], errors = { info = '/= 1' } }
";
    let bindings = fine(
        "like_minpack",
        settings,
        include_str!("../signatures/minpack.f"),
        include_str!("../signatures/minpack.rs"),
    );
    insta::assert_snapshot!(shown(&bindings));
}

/// Linear algebra, with the argument lists and comments of LAPACK, new and old.
#[test]
fn as_lapack() {
    let settings = "
[package.metadata.farfel.signature]
dgetrf = { shapes = ['a(m, n)'] }
dsyev = { shapes = ['a(n, n)'], workspaces = ['work(max(1, 3*n - 1))'] }
dlange = { shapes = ['a(m, n)'] }
dgemv = { shapes = ['a(m, n)'] }
dlacpy = { shapes = ['a(m, n)'], outputs = ['b(m, n)'] }
";
    let bindings = fine(
        "like_lapack",
        settings,
        include_str!("../signatures/lapack.f"),
        include_str!("../signatures/lapack.rs"),
    );
    // A function that cannot be shorter is the same in `raw`.
    assert!(bindings.contains("\npub use super::lsame;\n"), "{bindings}");
    insta::assert_snapshot!(shown(&bindings));
}

/// Quadrature and interpolation, as QUADPACK and old books have them.
#[test]
fn as_quadpack() {
    let settings = "
[package.metadata.farfel.signature]
dqag = { workspaces = ['iwork', 'work(4*limit)'], errors = { ier = '/= 0' } }
spline = { outputs = ['y2'], workspaces = ['u'] }
";
    let bindings = fine(
        "like_quadpack",
        settings,
        include_str!("../signatures/quadpack.f"),
        include_str!("../signatures/quadpack.rs"),
    );
    insta::assert_snapshot!(shown(&bindings));
}
