//! The Fortran compiler and its run-time libraries: flang, several gfortrans, static libraries, and documentation
//! without any compiler.

// Ignored tests report why.
#![allow(clippy::print_stderr)]

#[allow(dead_code)] // it uses some of it
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use farfel_tests::{farfel, fixed, repository, sandbox, write};
use libtest_mimic::{Arguments, Trial};
use support::Project;

fn main() -> ExitCode {
    let flang = flang();
    if flang.is_none() {
        eprintln!("ignored: there is no flang (19 or later); FARFEL_TEST_FLANG may name one");
    }
    let mut compilers = gfortrans();
    let missing = flang.is_none();
    compilers.push(("flang".to_owned(), flang.unwrap_or_default()));
    let mut trials = vec![
        Trial::test("the_runtime_may_be_static", || {
            the_runtime_may_be_static();
            Ok(())
        })
        .with_ignored_flag(!cfg!(target_os = "linux")),
        Trial::test("documentation_needs_no_compiler", || {
            documentation_needs_no_compiler();
            Ok(())
        }),
    ];
    for (name, compiler) in compilers {
        let ignored = missing && name == "flang";
        let (directory, same) = (name.clone(), compiler.clone());
        trials.push(
            Trial::test(format!("{name}_compiles_programs"), move || {
                compiles_programs(&compiler);
                Ok(())
            })
            .with_ignored_flag(ignored),
        );
        trials.push(
            Trial::test(format!("{name}_compiles_libraries"), move || {
                compiles_libraries(&directory, &same);
                Ok(())
            })
            .with_ignored_flag(ignored),
        );
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Returns the gfortrans that `FARFEL_TEST_GFORTRAN` names, separated by blanks, with their names: versions beside
/// the one with which all other tests run.
fn gfortrans() -> Vec<(String, PathBuf)> {
    let named = std::env::var("FARFEL_TEST_GFORTRAN").unwrap_or_default();
    let found = |command: &str| {
        let path = which::which(command).expect("a gfortran that FARFEL_TEST_GFORTRAN names");
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.into_owned(), path)
    };
    named.split_whitespace().map(found).collect()
}

/// Returns flang: the one that `FARFEL_TEST_FLANG` names, which must be there, or else one on PATH.
fn flang() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("FARFEL_TEST_FLANG") {
        return Some(which::which(&named).expect("the flang that FARFEL_TEST_FLANG names"));
    }
    let names = ["flang", "flang-22", "flang-21", "flang-20", "flang-19"];
    names.iter().find_map(|name| which::which(name).ok())
}

/// Programs of the gallery print the same with this compiler and with the usual one, and its errors are shown at
/// their lines.
fn compiles_programs(compiler: &Path) {
    let dir = sandbox();
    let gallery = repository().join("gallery");
    let shared: Vec<PathBuf> = fs::read_dir(gallery.join("lib"))
        .expect("a library")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    for name in ["heat.ff", "argmax.ff"] {
        let output = |variables: &[(&str, &Path)]| {
            let command = farfel(dir.path())
                .args(["run", "-q"])
                .arg(gallery.join(name));
            let command = command.args(&shared);
            let command = variables.iter().fold(command, |c, (n, v)| c.env(n, v));
            let output = command.assert().success().get_output().stdout.clone();
            numbers(&String::from_utf8_lossy(&output))
        };
        let (ours, theirs) = (output(&[]), output(&[("FARFEL_FC", compiler)]));
        assert!(ours.len() > 3, "{name}: {ours:?}");
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (a, b) in ours.iter().zip(&theirs) {
            assert!((a - b).abs() <= 1e-4 * a.abs().max(1.0), "{name}: {a} {b}");
        }
    }

    // What the compiler alone rejects: a format that Farfel does not check.
    let source = write(
        dir.path(),
        "wrong.f",
        fixed("PROGRAM P\nX = 1\nPRINT '(F6.2', X\nEND\n"),
    );
    let failed = farfel(dir.path())
        .args(["run"])
        .arg(&source)
        .env("FARFEL_FC", compiler)
        .assert()
        .failure();
    let text = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(text.contains("wrong.f:3:"), "{text}");
}

/// Returns all numbers in a text.
fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// A library for Rust: STOP, failed checks, panics of closures, texts, complex numbers and COMMON.
fn compiles_libraries(name: &str, compiler: &Path) {
    // A package's name has no dots.
    let p = Project::new(name, &name.replace('.', "_"));
    p.file("fortran/ends.f", include_str!("../export/numerics.f"))
        .file("src/main.rs", include_str!("../compilers/main.rs"))
        .append("Cargo.toml", include_str!("../compilers/settings.toml"));
    let compiler = compiler.to_str().expect("a path in UTF-8");
    let ran = p.cargo_with(&["run", "-q", "--release"], &[("FARFEL_FC", compiler)]);
    assert!(
        ran.ok && ran.stdout.ends_with("fine\n"),
        "{}\n{}",
        ran.stdout,
        ran.stderr
    );
}

/// A crate and a program that need no libgfortran where they run.
fn the_runtime_may_be_static() {
    let needs = |program: &Path| {
        let output = Command::new("ldd").arg(program).output().expect("ldd runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("libc.so"), "{text}");
        text.contains("libgfortran")
    };
    let p = Project::new("static_runtime", "static_runtime");
    p.file(
        "fortran/a.f",
        fixed("SUBROUTINE SHOW(I)\nPRINT '(I5)', I\nEND\n"),
    )
    .file(
        "src/main.rs",
        "farfel_runtime::include_bindings!();\nfn main() { show(42).unwrap() }\n",
    );
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target/debug/static_runtime");
    for (value, expected) in [("0", true), ("1", false)] {
        let ran = p.cargo_with(&["run", "-q"], &[("FARFEL_STATIC_RUNTIME", value)]);
        assert!(ran.ok, "{}", ran.stderr);
        assert_eq!(ran.stdout, "   42\n");
        assert_eq!(needs(&program), expected);
    }

    let dir = sandbox();
    let source = write(dir.path(), "a.f", fixed("PRINT '(I5)', 42\nEND\n"));
    for (value, expected) in [("0", true), ("1", false)] {
        farfel(dir.path())
            .args(["build", "-q", "-o", "program"])
            .arg(&source)
            .env("FARFEL_STATIC_RUNTIME", value)
            .assert()
            .success();
        assert_eq!(needs(&dir.path().join("program")), expected);
    }
    farfel(dir.path())
        .args(["build", "-q"])
        .arg(&source)
        .env("FARFEL_STATIC_RUNTIME", "yes")
        .assert()
        .code(1)
        .stderr_eq("error: FARFEL_STATIC_RUNTIME: `yes` is neither 1 nor 0\n");

    // A shared library can contain gfortran's library only if that is compiled for it, which it is not on Debian.
    let library = write(
        dir.path(),
        "b.f",
        fixed("SUBROUTINE SHOW(I)\nPRINT '(I5)', I\nEND\n"),
    );
    let exported = farfel(dir.path())
        .args(["export", "c", "-q", "-o", "exported"])
        .arg(&library)
        .env("FARFEL_STATIC_RUNTIME", "1")
        .assert();
    let output = exported.get_output().clone();
    if output.status.success() {
        let shared = dir.path().join("exported/libb.so");
        assert!(shared.is_file() && !needs(&shared));
    } else {
        // The message has the files to copy instead.
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            text.contains("cannot be a part of a shared library"),
            "{text}"
        );
        let copied = text
            .split_whitespace()
            .find(|w| w.ends_with("/libgfortran.so.5"));
        assert!(copied.is_some_and(|f| Path::new(f).is_file()), "{text}");
        assert!(text.contains("beside the library"), "{text}");
    }
}

/// docs.rs has no Fortran compiler.
fn documentation_needs_no_compiler() {
    let p = Project::new("documented", "documented");
    p.file(
        "fortran/a.f",
        fixed("C     Doubles a number.\nSUBROUTINE TWICE(X)\nX = 2*X\nEND\n"),
    )
    .file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let nowhere = ("FARFEL_FC", "/nowhere/gfortran");
    let ran = p.cargo_with(&["doc", "--no-deps"], &[("DOCS_RS", "1"), nowhere]);
    assert!(ran.ok, "{}", ran.stderr);
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target/doc/documented/fn.twice.html");
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("Doubles a number."), "{page}");
    // Everything else needs one.
    let ran = p.cargo_with(&["build"], &[nowhere]);
    assert!(
        !ran.ok && ran.stderr.contains("no Fortran compiler found"),
        "{}",
        ran.stderr
    );
}
