//! Functions that safe Rust can call stay within the arrays that they get and those that they own, and end
//! with an error or a panic if they are called wrongly.

use farfel_tests::{bindings_in, command, farfel, repository, sandbox, shared_target, write};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a package in a folder.
fn package(dir: &Path, folder: &str, name: &str, settings: &str, dependencies: &str) {
    let farfel = repository().display();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\nlinks = \"{name}\"\n\
         {settings}\n[dependencies]\nfarfel-runtime = {{ path = \"{farfel}/farfel-runtime\" }}\n{dependencies}\n\
         [build-dependencies]\nfarfel-build = {{ path = \"{farfel}/farfel-build\" }}\n"
    );
    write(dir, &format!("{folder}Cargo.toml"), manifest);
    let script = "fn main() {\n    farfel_build::compile();\n}\n";
    write(dir, &format!("{folder}build.rs"), script);
}

/// Copies a file of `tests/bad_calls`.
fn copy(dir: &Path, name: &str, to: &str) {
    let from = repository().join("tests/bad_calls").join(name);
    write(dir, to, fs::read(from).unwrap());
}

/// Builds it, with this compiler; returns the executable and the messages.
fn build(dir: &Path, name: &str, compiler: Option<&Path>) -> (PathBuf, String) {
    let mut command = farfel(dir).args(["build"]);
    if let Some(compiler) = compiler {
        command = command.env("FARFEL_FC", compiler);
    }
    let built = command.assert().success();
    let said = String::from_utf8_lossy(&built.get_output().stderr).into_owned();
    (shared_target().join("debug").join(name), said)
}

/// Returns the functions that are unsafe in the latest build, with the reasons, in the order of their names.
fn unsafe_functions() -> String {
    let all = fs::read_dir(shared_target().join("debug/build")).unwrap();
    let bindings = all
        .map(|e| e.unwrap().path())
        .filter(|p| {
            p.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("bad-calls-")
        })
        .map(|p| p.join("out"))
        .filter(|p| !p.to_string_lossy().contains("bad-calls-state"))
        .filter(|p| p.join("farfel_bindings.rs").is_file())
        .max_by_key(|p| fs::metadata(p).unwrap().modified().unwrap())
        .unwrap();
    let text = bindings_in(&bindings);
    // A short function and the one behind it have the same reason.
    let mut found = BTreeSet::new();
    for part in text.split("exposed! {").skip(1) {
        let (_, reason) = part.split_once("That cannot be checked: ").unwrap();
        let (reason, rest) = reason.split_once('\n').unwrap();
        let name = rest
            .lines()
            .find_map(|l| l.trim().strip_prefix("fn "))
            .unwrap();
        let name = name.split('(').next().unwrap();
        found.insert(format!("{name}: {reason}\n"));
    }
    found.into_iter().collect()
}

/// Returns whether valgrind is installed. In CI it must be.
fn valgrind() -> bool {
    let required = std::env::var_os("FARFEL_TEST_VALGRIND").is_some();
    let mut version = std::process::Command::new("valgrind");
    version.arg("--version");
    required || version.output().is_ok_and(|o| o.status.success())
}

const SETTINGS: &str = r#"
[package.metadata.farfel]
signatures = "rust"
opt-level = 2

[package.metadata.farfel.derive]
cost_gradient = { gradient = "cost", by = "x(n)" }
cost_hessian = { hessian = "cost", by = "x(n)" }
cost_hvp = { hvp = "cost", by = "x(n)" }
model_jacobian = { jacobian = "model", of = "f", by = "x" }
model_rows = { jacobian = "model", of = "f", by = "x", reverse = true }
model_jvp = { jvp = "model", of = "f", by = "x" }
model_vjp = { vjp = "model", of = "f", by = "x" }
march_jvp = { jvp = "march", of = "x", by = "x" }
march_vjp = { vjp = "march", of = "x", by = "x" }
branch_gradient = { gradient = "branch", by = "x" }
tower_gradient = { gradient = "tower", by = "x" }
plunge_gradient = { gradient = "plunge", by = "x" }
odddif_gradient = { gradient = "odddif", of = "y", by = "x" }
mixsum_gradient = { gradient = "mixsum", of = "s", by = "x" }
mixcpx_vjp = { vjp = "mixcpx", of = "y", by = "x" }
mixcpx_jvp = { jvp = "mixcpx", of = "y", by = "x" }
mixent_vjp = { vjp = "mixent", of = "y(m)", by = "a(n)" }
odddif_jvp = { jvp = "odddif", of = "y", by = "x" }
"#;

const STATE_SETTINGS: &str = r#"
[package.metadata.farfel]
signatures = "fortran"
instance = "Model"
opt-level = 2

[package.metadata.farfel.derive]
energy_gradient = { gradient = "energy", by = "x" }
"#;

/// What valgrind must not report: ALLOCATE asks for more memory than there is, and copes with that.
const SUPPRESSIONS: &str =
    "{\n   size\n   Memcheck:FishyValue\n   malloc(size)\n   fun:malloc\n}\n";

/// Writes the package with all wrong calls; with `gnu`, also those that only gfortran accepts.
fn all_calls(dir: &Path, name: &str, gnu: bool) {
    let state = "bad-calls-state = { path = \"state\" }\n\n[workspace]";
    let default = if gnu { "\"gnu\"" } else { "" };
    let features = format!("\n[features]\ngnu = []\ndefault = [{default}]\n");
    package(dir, "", name, &format!("{features}{SETTINGS}"), state);
    package(dir, "state/", "bad-calls-state", STATE_SETTINGS, "");
    let mut sources = vec![
        "arrays.f",
        "attacks.f",
        "frames.f",
        "mixed.f",
        "subprograms.f",
        "unchecked.f",
        "io.f",
        "sizes.f",
        "temporaries.f",
        "odd.f",
        "derivatives.ff",
    ];
    sources.extend(gnu.then_some("gnu.f"));
    for source in sources {
        copy(dir, source, &format!("fortran/{source}"));
    }
    copy(dir, "state.f", "state/fortran/state.f");
    let bindings = "farfel_runtime::include_bindings!();\n";
    write(dir, "state/src/lib.rs", bindings);
    for module in [
        "main",
        "arrays",
        "attacks",
        "calls",
        "closures",
        "derived",
        "frames",
        "gnu",
        "instance",
        "io",
        "mixed",
        "odd",
        "short",
        "sizes",
        "subprograms",
        "temporaries",
        "threads",
    ] {
        copy(dir, &format!("{module}.rs"), &format!("src/{module}.rs"));
    }
}

/// Returns what the program prints where it has little memory.
fn with_little_memory(program: &Path, dir: &Path) -> String {
    let limited = format!("ulimit -v 600000 && exec '{}' memory", program.display());
    let mut ran = command(Path::new("sh"), dir)
        .args(["-c", &limited])
        .assert();
    ran = ran.success();
    String::from_utf8_lossy(&ran.get_output().stdout).into_owned()
}

/// With other compilers, too, each call ends with an error or a panic.
#[test]
fn other_compilers_behave_the_same() {
    let named = |variable: &str| std::env::var(variable).unwrap_or_default();
    let mut compilers: Vec<(PathBuf, bool)> = Vec::new();
    for name in named("FARFEL_TEST_GFORTRAN").split_whitespace() {
        compilers.push((which::which(name).expect("a gfortran"), true));
    }
    for name in named("FARFEL_TEST_FLANG").split_whitespace() {
        compilers.push((which::which(name).expect("flang"), false));
    }
    for (k, (compiler, gnu)) in compilers.iter().enumerate() {
        let dir = sandbox();
        let dir = dir.path();
        let name = format!("other-calls-{k}");
        all_calls(dir, &name, *gnu);
        let (program, _) = build(dir, &name, Some(compiler));
        for said in [
            String::from_utf8_lossy(
                &command(&program, dir)
                    .assert()
                    .success()
                    .get_output()
                    .stdout,
            )
            .into_owned(),
            with_little_memory(&program, dir),
        ] {
            assert!(said.ends_with("done\n"), "{}: {said}", compiler.display());
        }
    }
}

/// Each call in `tests/bad_calls` ends with an error or a panic, whose messages are in the snapshot, and
/// nothing outside is accessed: guard elements around the arrays and valgrind check that. What cannot be
/// checked is `unsafe`.
#[test]
fn calls_end_with_an_error() {
    let dir = sandbox();
    let dir = dir.path();
    all_calls(dir, "bad-calls", true);
    let (program, built) = build(dir, "bad-calls", None);
    let exposed = unsafe_functions();
    for (name, _) in exposed.lines().filter_map(|l| l.split_once(": ")) {
        let notice = format!("{name} is `unsafe`, as it cannot be checked: ");
        assert!(built.contains(&notice), "{notice}\n{built}");
    }
    insta::assert_snapshot!("bad_calls_unsafe", exposed);

    let ran = command(&program, dir).assert().success();
    let said = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
    assert!(
        said.lines().count() > 900 && said.ends_with("done\n"),
        "{said}"
    );
    insta::assert_snapshot!("bad_calls", said);

    let said = with_little_memory(&program, dir);
    insta::assert_snapshot!("bad_calls_memory", said);
    if valgrind() {
        write(dir, "suppressions", SUPPRESSIONS);
        command(Path::new("valgrind"), dir)
            .args([
                "-q",
                "--error-exitcode=9",
                "--leak-check=no",
                "--suppressions=suppressions",
            ])
            .arg(&program)
            .assert()
            .success();
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
    let settings = "\n[package.metadata.farfel]\nsignatures = \"fortran\"\n";
    package(dir, "", "blocks", settings, "\n[workspace]");
    write(dir, "fortran/blocks.f", fortran);
    write(dir, "src/main.rs", main);
    let (program, built) = build(dir, "blocks", None);
    assert!(built.contains("F0511"), "{built}");
    let ran = command(&program, dir).assert().success();
    assert_eq!(String::from_utf8_lossy(&ran.get_output().stdout), "3242\n");
}
