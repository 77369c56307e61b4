//! `farfel export`: libraries for C and Python, compiled, called, and called wrongly.

// Ignored tests report why.
#![allow(clippy::print_stderr)]

#[allow(dead_code)] // it uses some of it
mod support;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use farfel_tests::{farfel, fixed, sandbox, shared_target, write};
use libtest_mimic::{Arguments, Trial};

/// Subprograms with all kinds of arguments, and of errors.
const SOURCE: &str = include_str!("../export/numerics.f");

const MANIFEST: &str = "[package]\nname = \"numerics\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
     [package.metadata.farfel.derive]\ncost_gradient = { gradient = \"cost\", by = \"x\" }\n";

fn main() -> ExitCode {
    let python = python();
    if python.is_none() {
        eprintln!(
            "ignored: there is no python3 with cffi and numpy; FARFEL_TEST_PYTHON may name one"
        );
    }
    let missing = python.is_none();
    let trials = vec![
        Trial::test("a_c_program_calls_two_libraries", || {
            a_c_program_calls_two_libraries();
            Ok(())
        }),
        Trial::test("python_calls_a_package", move || {
            python_calls_a_package(&python.unwrap_or_default());
            Ok(())
        })
        .with_ignored_flag(missing),
        Trial::test("results_have_the_same_numbers_on_both_sides", || {
            results_have_the_same_numbers_on_both_sides();
            Ok(())
        }),
        Trial::test("what_cannot_be_exported_is_said", || {
            what_cannot_be_exported_is_said();
            Ok(())
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Returns a Python with cffi and numpy: the one that `FARFEL_TEST_PYTHON` names, which must have them, or
/// else the one on PATH.
fn python() -> Option<OsString> {
    let named = std::env::var_os("FARFEL_TEST_PYTHON");
    let python = named.clone().unwrap_or_else(|| "python3".into());
    let has = Command::new(&python)
        .args(["-c", "import cffi, numpy"])
        .output()
        .is_ok_and(|o| o.status.success());
    assert!(
        has || named.is_none(),
        "{} lacks cffi or numpy",
        python.display()
    );
    has.then_some(python)
}

/// Returns the output of a command that succeeds.
fn stdout(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the command runs");
    let (out, err) = (
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr),
    );
    assert!(status.success(), "{command:?}: {out}{err}");
    out.into_owned()
}

/// Compiles a C program with a library, and returns its output.
fn run_c(dir: &Path, program: &str, libraries: &[(&Path, &str)]) -> String {
    let source = write(dir, "main.c", program);
    let out = dir.join("main");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]);
    cc.arg("-Wno-unused-parameter").arg(source);
    for (folder, name) in libraries {
        cc.arg("-I").arg(folder).arg("-L").arg(folder);
        cc.arg(format!("-l{name}"));
        cc.arg(format!("-Wl,-rpath,{}", folder.display()));
    }
    cc.arg("-o").arg(&out);
    stdout(&mut cc);
    stdout(Command::new(out).current_dir(dir))
}

/// A project without Rust becomes a library for C; a second one with instances is in the same process.
fn a_c_program_calls_two_libraries() {
    let dir = sandbox();
    let project = dir.path().join("numerics");
    write(&project, "Cargo.toml", MANIFEST);
    write(&project, "fortran/numerics.f", SOURCE);
    let out = dir.path().join("c");
    farfel(&project)
        .args(["export", "c", "-q", "-o"])
        .arg(&out)
        .assert()
        .success();
    let header = fs::read_to_string(out.join("numerics.h")).unwrap();
    insta::assert_snapshot!("header", header);

    let other = dir.path().join("counter");
    write(
        &other,
        "Cargo.toml",
        "[package]\nname = \"my-counter\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [package.metadata.farfel]\ninstance = \"Model\"\n",
    );
    let lines = "SUBROUTINE ADD(K, TOTAL)\nCOMMON /C/ N\nINTEGER TOTAL\nN = N + K\nTOTAL = N\nEND\n\
                 SUBROUTINE HALT(K)\nCOMMON /C/ N\nN = N + K\nSTOP 4\nEND\n\
                 SUBROUTINE EACH(F)\nCOMMON /C/ N\nN = N + 1\nCALL F(N)\nEND\n";
    write(&other, "fortran/a.f", fixed(lines));
    let second = dir.path().join("second");
    farfel(&other)
        .args(["export", "c", "-q", "-o"])
        .arg(&second)
        .assert()
        .success();

    let output = run_c(
        dir.path(),
        include_str!("../export/main.c"),
        &[(&out, "numerics"), (&second, "my_counter")],
    );
    assert_eq!(output, include_str!("../export/main.expected"));
    // C++ reads the header, too.
    if which::which("c++").is_ok() {
        let source = write(
            dir.path(),
            "main.cpp",
            "#include \"numerics.h\"\n#include \"my_counter.h\"\n",
        );
        let mut cpp = Command::new("c++");
        cpp.args(["-pedantic", "-Wall", "-Werror", "-fsyntax-only"]);
        cpp.arg("-I").arg(&out).arg("-I").arg(&second).arg(source);
        stdout(&mut cpp);
    }
}

/// A project becomes a Python package.
fn python_calls_a_package(python: &std::ffi::OsStr) {
    let dir = sandbox();
    // Its name is not the one of the other test's package, with which it would share files.
    write(
        dir.path(),
        "Cargo.toml",
        MANIFEST.replace("numerics", "pynumerics"),
    );
    write(dir.path(), "fortran/numerics.f", SOURCE);
    let out = dir.path().join("python");
    farfel(dir.path())
        .args(["export", "python", "-o"])
        .arg(&out)
        .assert()
        .success();
    let module = fs::read_to_string(out.join("pynumerics/__init__.py")).unwrap();
    // The declarations are those of the header.
    let functions = module.split_once("\n\n\ndef ").map(|(_, rest)| rest);
    insta::assert_snapshot!("module", functions.unwrap_or(&module));
    let script = write(dir.path(), "main.py", include_str!("../export/main.py"));
    let output = stdout(
        Command::new(python)
            .arg(script)
            .env("PYTHONPATH", &out)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(dir.path()),
    );
    assert_eq!(output, include_str!("../export/python.expected"));

    // A file that farfel has not made is left alone.
    write(&out, "pynumerics/__init__.py", "mine = 1\n");
    let failed = farfel(dir.path())
        .args(["export", "python", "-q", "-o"])
        .arg(&out)
        .assert()
        .code(1);
    let text = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(text.contains("farfel has not made it"), "{text}");
}

/// The header and the Python package name the numbers that the run-time crate returns: neither depends on the
/// other.
fn results_have_the_same_numbers_on_both_sides() {
    let names = |text: &str| -> Vec<String> {
        let (_, list) = text.split_once("const RESULTS: [&str; ").unwrap();
        let (list, _) = list.split_once("];").unwrap();
        list.lines().skip(1).map(str::to_owned).collect()
    };
    let header = names(include_str!("../../farfel-driver/src/bind/c/header.rs"));
    assert_eq!(header, names(include_str!("../../farfel-runtime/src/c.rs")));
    assert!(header.len() > 10, "{header:?}");
}

fn what_cannot_be_exported_is_said() {
    let dir = sandbox();
    let file = write(
        dir.path(),
        "a.f",
        fixed("SUBROUTINE S(X)\nCHARACTER*3 X(2)\nX(1) = 'a'\nEND\n"),
    );
    let failed = farfel(dir.path())
        .args(["export", "c", "-o", "out"])
        .arg(&file)
        .assert()
        .code(1);
    let text = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    for part in [
        "S cannot be called from C: its argument X, an array of texts",
        "error: no subprogram of `a` can be called from C",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // Settings in build.rs are not seen.
    let project = support::Project::new("exported", "exported");
    project
        .file("fortran/a.f", fixed("SUBROUTINE S(X)\nX = 1\nEND\n"))
        .file("src/lib.rs", "")
        .file(
            "build.rs",
            "fn main() { farfel_build::Build::new().set(\"real-kind\", 8).compile(); }\n",
        );
    let failed = farfel(&project.directory)
        .env("CARGO_TARGET_DIR", shared_target())
        .args(["export", "c"])
        .assert()
        .code(1);
    let text = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(text.contains("move the settings from build.rs"), "{text}");
}
