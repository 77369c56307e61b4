//! Short functions in front of those with all arguments: `signatures = "rust"`.

mod support;
use support::Project;

const SETTINGS: &str = "
[package.metadata.farfel]
signatures = 'rust'
unchecked = ['peek']

[package.metadata.farfel.derive]
cost_gradient = { gradient = 'cost', by = 'x' }
cost_hvp = { hvp = 'cost', by = 'x' }
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
    // What touches Fortran is in the raw functions alone.
    assert!(!short.contains("farfel_call"), "{short}");
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
[package.metadata.farfel]
signatures = 'rust'
[package.metadata.farfel.signature]
dott = { keep = ['n'] }
";
    let p = project("no_such_signature", settings);
    p.file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let ran = p.cargo(&["build"]);
    let expected = "setting `signature.dott`: there is no top-level subprogram of this name; did you mean `dot`?";
    assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);

    let settings = "
[package.metadata.farfel]
signatures = 'rust'
[package.metadata.farfel.signature]
dot = { keep = ['m'] }
hybrd1 = { workspaces = ['wa(2*k)'], errors = { info = 'positive' } }
";
    let p = project("faulty_signatures", settings);
    p.file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let ran = p.cargo(&["build"]);
    for expected in [
        "setting `signature.dot`: DOT has no argument M; it has N, X, Y",
        "setting `signature.hybrd1`: the bounds 2*k of WA: HYBRD1 has no INTEGER argument K",
        "setting `signature.hybrd1`: `positive` does not say which values of INFO are errors",
    ] {
        assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);
    }

    let settings = "[package.metadata.farfel]\nsignature = { dot = { keep = ['n'] } }\n";
    let p = project("useless_signatures", settings);
    p.file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let ran = p.cargo(&["build"]);
    let expected = "functions have all arguments without `signatures = \"rust\"`";
    assert!(!ran.ok && ran.stderr.contains(expected), "{}", ran.stderr);
}
