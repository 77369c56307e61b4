//! Code that would end the process, or never end, called from Rust; labels in programs.

use crate::support::Project;
use farfel_driver::{Config, Session};
use std::path::Path;

#[test]
fn calls_end_and_the_process_goes_on() {
    let p = Project::new("ends", "ends");
    p.file("fortran/ends.f", include_str!("../ends/ends.f"))
        .file("src/main.rs", include_str!("../ends/main.rs"));
    let folder = tempfile::tempdir().unwrap();
    for profile in [&["run", "-q"][..], &["run", "-q", "--release"]] {
        let path = folder.path().to_str().unwrap();
        let ran = p.cargo(&[profile, &["--", path]].concat());
        assert!(
            ran.ok && ran.stdout.ends_with("fine\n"),
            "{}\n{}",
            ran.stdout,
            ran.stderr
        );
    }
}

/// Functions that cannot be made safe are `unsafe`, and omissions are reported.
#[test]
fn what_is_left_is_unsafe() {
    let p = Project::new("unsafe_ends", "unsafe_ends");
    let source = "\
      SUBROUTINE SIZE1(N, K, X)
      REAL W(N/K), X
      W(1) = 7
      X = W(1)
      END
      SUBROUTINE TEXT(N, M)
      CHARACTER*(N) T
      T = 'A'
      M = ICHAR(T)
      END
      SUBROUTINE WORK(N, X)
      REAL W(N), X
      INTEGER LOC
      W(1) = LOC(7)
      X = W(1)
      END
      INTEGER FUNCTION LOC(I)
      LOC = I
      END
";
    p.file("fortran/a.f", source)
        .file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let ran = p.cargo(&["build"]);
    assert!(ran.ok, "{}", ran.stderr);
    let bindings = p.bindings();
    for reason in [
        "the size of W is a quotient",
        "the call decides how large W is, and LOC, which is asked for it, is the program's",
    ] {
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
        assert!(bindings.contains(reason), "{bindings}");
    }
    // T is on the heap.
    for (function, safe) in [
        ("loc", true),
        ("text", true),
        ("size1", false),
        ("work", false),
    ] {
        assert_eq!(
            bindings.contains(&format!("pub fn {function}(")),
            safe,
            "{bindings}"
        );
    }
}

/// When optimising, gfortran 12 removes labels whose addresses ASSIGN has stored in saved variables.
#[test]
fn labels_in_what_is_kept() {
    runs("labels.ff");
}

/// Code that gfortran compiles incorrectly.
#[test]
fn sections_that_go_backwards() {
    runs("backwards.ff");
}

/// Runs a program with all optimisations.
fn runs(name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("ends")
        .join(name);
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config {
        flags: vec!["-O2".into(), "-march=native".into()],
        ..Config::default()
    };
    config.cache.enabled = false;
    let program = dir.path().join("program");
    let session = Session::of_files(&[source], &config).unwrap();
    session.build_program(&program).unwrap();
    let ran = std::process::Command::new(&program).output().unwrap();
    assert!(ran.status.success(), "{name}: {ran:?}");
}
