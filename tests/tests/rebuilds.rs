//! When the build script runs, and the messages that people see after an error.

use crate::support::{Project, Ran};
use farfel_driver::timings::{StepOrigin, StepTime, Timings};
use std::fs;
use std::process::Command;

const CALLER: &str =
    "farfel_runtime::include_bindings!();\nfn main() {\n    println!(\"{}\", value());\n}\n";

/// Returns what cargo did with the package itself.
fn state(ran: &Ran, name: &str) -> &'static str {
    assert!(ran.ok, "{}", ran.stderr);
    let line = |word: &str| {
        ran.stderr.lines().any(|l| {
            l.trim_start()
                .strip_prefix(word)
                .is_some_and(|l| l.trim_start().starts_with(name))
        })
    };
    let script = ran.stderr.contains("build-script-build`");
    match (line("Fresh"), line("Compiling") || line("Dirty"), script) {
        (true, false, false) => "fresh",
        (false, true, true) => "script ran",
        other => panic!("{other:?}\n{}", ran.stderr),
    }
}

#[test]
fn builds_only_what_changed() {
    let p = Project::new("rebuilds", "rebuilds");
    p.append(
        "Cargo.toml",
        "[package.metadata.farfel]\ninclude = ['inc']\n",
    );
    p.file("src/main.rs", CALLER)
        .file(
            "src/value.ff",
            "      INTEGER FUNCTION VALUE()\n      INCLUDE 'here.inc'\n      INCLUDE 'there.f'\n      INCLUDE '../src/deep/zero.f'\n      VALUE = I + J + K\n      END\n",
        )
        .file("src/deep/zero.f", "      PARAMETER (K = 0)\n")
        .file("src/here.inc", "      PARAMETER (I = 1)\n")
        .file("inc/there.f", "      PARAMETER (J = 10)\n");
    let build = || state(&p.cargo(&["build", "-v"]), "rebuilds");
    assert_eq!(build(), "script ran");
    assert_eq!(p.run(), "11\n");
    assert_eq!(build(), "fresh");

    p.file("src/here.inc", "      PARAMETER (I = 2)\n");
    assert_eq!(build(), "script ran");
    assert_eq!(build(), "fresh");
    assert_eq!(p.run(), "12\n");

    p.file("inc/there.f", "      PARAMETER (J = 20)\n");
    assert_eq!(p.run(), "22\n");

    // Added and removed files are noticed.
    p.file(
        "src/more.f",
        "      SUBROUTINE MORE(K)\n      K = 1\n      END\n",
    );
    assert_eq!(build(), "script ran");
    assert!(p.bindings().contains("pub fn more("));
    fs::remove_file(p.directory.join("src/more.f")).unwrap();
    assert_eq!(build(), "script ran");
    assert!(!p.bindings().contains("pub fn more("));

    // Changed flags are noticed, and gfortran does not run again if its input is the same.
    let compiled = || {
        let timings = Timings::read(&p.out()).unwrap().unwrap();
        let of_compiler = |s: &&StepTime| s.kind == "compile" && s.from == StepOrigin::Ran;
        let steps: Vec<StepTime> = timings.steps.iter().filter(of_compiler).cloned().collect();
        steps
    };
    assert_eq!(compiled().len(), 0);
    p.append("src/value.ff", "C     Nothing new\n");
    assert_eq!(build(), "script ran");
    assert_eq!(compiled().len(), 0);
    let ran = p.cargo_with(&["build", "-v"], &[("FARFEL_FFLAGS", "-O3")]);
    assert_eq!(state(&ran, "rebuilds"), "script ran");
    assert_eq!(compiled()[0].reason.as_deref(), Some("changed: flags"));
    assert_eq!(build(), "script ran");
    assert_eq!(build(), "fresh");
}

const NESTED: &str = "      SUBROUTINE OUTER(X)
      FUNCTION F(Y)
      F = (Y +
      END
      X = F(X)
      END
";

#[test]
fn errors_are_shown_once_at_their_place() {
    let p = Project::new("errors", "errors");
    p.file("src/main.rs", CALLER)
        .file("src/value.ff", NESTED)
        .file("src/other.f", "      FUNCTION G(X)\n      IMPLICIT NONE\n      REAL G, X\n      G = X*FACTR\n      END\n");
    let ran = p.cargo(&["build"]);
    assert!(!ran.ok);
    let seen = &ran.stderr;
    assert!(
        seen.contains(
            "error: errors@0.1.0: src/other.f:4:13: F0101 FACTR is not declared (and 1 more)"
        ),
        "{seen}"
    );
    assert!(seen.contains("3 |       F = (Y +"), "{seen}");
    assert_eq!(seen.matches("3 |       F = (Y +").count(), 1, "{seen}");
    assert!(seen.contains("exit status: 1"), "{seen}");
    for unwanted in ["panicked", "RUST_BACKTRACE", "farfel.f", "rerun-if"] {
        assert!(!seen.contains(unwanted), "{seen}");
    }
    // One is fixed, the other one remains.
    p.file("src/value.ff", NESTED.replace("(Y +", "Y"));
    let seen = p.cargo(&["build"]).stderr;
    assert!(seen.contains("src/other.f:4:13"), "{seen}");
    assert!(seen.contains("FACTR"), "{seen}");
    // Errors that only the compiler finds are shown at the user's line, too.
    p.file(
        "src/other.f",
        "      SUBROUTINE S(I)\n      I = IBSET(I, 99)\n      END\n",
    );
    let seen = p.cargo(&["build"]).stderr;
    assert!(seen.contains("src/other.f:2:7: F0401"), "{seen}");
    assert!(seen.contains("2 |       I = IBSET(I, 99)"), "{seen}");
    // No file is left that could be linked, and nothing half-written.
    for file in fs::read_dir(p.out()).unwrap() {
        assert_eq!(file.unwrap().file_name(), "farfel");
    }
    assert_eq!(fs::read_dir(p.out().join("farfel")).unwrap().count(), 0);
}

#[test]
fn settings_that_are_wrong() {
    let p = Project::new("settings", "settings");
    p.file("src/main.rs", "fn main() {}\n");
    let manifest = fs::read_to_string(p.directory.join("Cargo.toml")).unwrap();
    for (setting, expected) in [
        (
            "real-knd = 8",
            "Cargo.toml:11: unknown field `real-knd`, expected one of `sources`, `exclude`, `link`, `ad-tool`",
        ),
        (
            "ad-tool = 'tapernade'",
            "error: settings@0.1.0: unknown AD tool `tapernade`; use `builtin`",
        ),
        ("sources = ['numerics']", "numerics does not exist"),
        (
            "fc = 'no-such-compiler'",
            "error: settings@0.1.0: no Fortran compiler found: looked for no-such-compiler; install it with `farfel doctor --fix`",
        ),
    ] {
        p.file(
            "Cargo.toml",
            format!("{manifest}[package.metadata.farfel]\n{setting}\n"),
        );
        let ran = p.cargo(&["build"]);
        assert!(
            !ran.ok && ran.stderr.contains(expected),
            "{setting}: {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
}

#[test]
fn without_gfortran() {
    let p = Project::new("missing", "missing");
    p.file("src/main.rs", CALLER).file(
        "src/value.ff",
        "      INTEGER FUNCTION VALUE()\n      VALUE = 7\n      END\n",
    );
    // A PATH with a linker but no gfortran.
    let tools = p.directory.join("tools");
    fs::create_dir(&tools).unwrap();
    let rustc = std::path::Path::new(env!("CARGO")).with_file_name("rustc");
    std::os::unix::fs::symlink(rustc, tools.join("rustc")).unwrap();
    for tool in ["cc", "ar", "ld", "as", "gcc", "ld.lld"] {
        if let Ok(path) = which::which(tool) {
            std::os::unix::fs::symlink(path, tools.join(tool)).unwrap();
        }
    }
    let ran = p.cargo_with(&["build"], &[("PATH", tools.to_str().unwrap())]);
    assert!(!ran.ok);
    let expected =
        "error: missing@0.1.0: no Fortran compiler found: looked for gfortran, gfortran-17,";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(ran.stderr.contains("or set FARFEL_FC"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    // Installed on request, with a message: by a package manager that the test provides.
    let gfortran = which::which("gfortran").unwrap();
    for tool in ["sh", "id", "ln"] {
        std::os::unix::fs::symlink(which::which(tool).unwrap(), tools.join(tool)).unwrap();
    }
    p.file(
        "tools/apt-get",
        format!(
            "#!/bin/sh\nset -e\necho APT $DEBIAN_FRONTEND $*\n\
             if [ $1 = install ]; then ln -s {} '{}/gfortran'; fi\n",
            gfortran.display(),
            tools.display()
        ),
    );
    let apt = tools.join("apt-get");
    fs::set_permissions(&apt, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let variables = [("PATH", tools.to_str().unwrap()), ("FARFEL_INSTALL", "1")];
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if is_root {
        let ran = p.cargo_with(&["build", "-vv"], &variables);
        assert!(ran.ok, "{}", ran.stderr);
        for said in [
            "no gfortran; running apt-get update",
            "APT noninteractive update",
            "running apt-get install --yes --no-install-recommends gfortran",
            "APT noninteractive install --yes --no-install-recommends gfortran",
        ] {
            assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        }
        fs::remove_file(tools.join("gfortran")).unwrap();
    }
    // If it is named explicitly, it is found.
    let variables = [
        ("PATH", tools.to_str().unwrap()),
        ("FARFEL_FC", gfortran.to_str().unwrap()),
    ];
    let ran = p.cargo_with(&["run", "-q"], &variables);
    assert_eq!(ran.stdout, "7\n", "{}", ran.stderr);
}

#[test]
fn unusual_files() {
    let p = Project::new("Übung mit Leerzeichen/größer 'n", "unusual");
    p.file("src/main.rs", CALLER)
        .file(
            "src/wert für dos.FF",
            "C     Größe\r\n      INTEGER FUNCTION VALUE()\r\n      INCLUDE 'maß 1.inc'\r\n      VALUE = MASS\r\n      END\r\n",
        )
        .file("src/maß 1.inc", "      PARAMETER (MASS = 42)\r\n")
        .file("fortran/latin.f", b"C     Stra\xdfe\n      SUBROUTINE LATIN(K)\n      K = 1\n      END\n")
        .file("fortran/empty.ff", "");
    assert_eq!(p.run(), "42\n");
    let bindings = p.bindings();
    assert!(bindings.contains("/// Straße\n"), "{bindings}");
    assert!(bindings.contains("/// Größe\n"), "{bindings}");
    assert!(bindings.contains("`src/wert für dos.FF:2`"), "{bindings}");

    // Nothing but empty files: an empty library and a warning.
    let p = Project::new("empty", "empty");
    p.file(
        "src/main.rs",
        "farfel_runtime::include_bindings!();\nfn main() {}\n",
    )
    .file("src/nothing.ff", "");
    let ran = p.cargo(&["run"]);
    assert!(
        ran.ok && ran.stderr.contains("the library is empty"),
        "{}",
        ran.stderr
    );
    // A main program needs `farfel run`.
    p.file("src/nothing.ff", "      PROGRAM GAME\n      END\n");
    let ran = p.cargo(&["run"]);
    assert!(ran.ok, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("the main program GAME is not a part of the library"),
        "{}",
        ran.stderr
    );
}

#[test]
fn doc_tests_and_tests_link() {
    let p = Project::new("doctests", "doctests");
    p.file(
        "src/lib.rs",
        "//! ```\n//! assert_eq!(doctests::value(), 7);\n//! ```\n#![deny(warnings, missing_docs, rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]\nfarfel_runtime::include_bindings!();\n\
         #[test]\nfn inside() {\n    assert_eq!(value(), 7);\n}\n",
    )
    .file("tests/outside.rs", "#[test]\nfn outside() {\n    assert_eq!(doctests::value(), 7);\n}\n")
    .file(
        "src/value.f",
        "C     Formats:\nC         10 FORMAT(<I5>)   [x] *y* http://example.org\nC     1. <b>not HTML\n\
         \x20     INTEGER FUNCTION VALUE()\n      WRITE (*, *) 'SAID'\n      VALUE = 7\n      END\n",
    );
    let ran = p.cargo(&["test"]);
    assert!(ran.ok, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.matches("1 passed").count(), 3, "{}", ran.stdout);
    let ran = p.cargo(&["doc", "--no-deps"]);
    assert!(ran.ok, "{}", ran.stderr);
}

#[test]
fn outside_of_cargo_it_is_an_error() {
    // The library is called without cargo's variables, as if a user ran build.rs by hand.
    assert!(std::env::var_os("TARGET").is_none());
    let error = farfel_build::try_compile().unwrap_err();
    assert!(error.to_string().contains("is not set"), "{error}");
    assert!(Command::new("gfortran").arg("--version").output().is_ok());
}
