//! The functions that the command uses: check, expand, build_program.

use farfel_driver::{Config, Error, ExpandStage, Session};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

fn files(list: &[(&str, &str)]) -> (TempDir, Vec<PathBuf>, Config) {
    let dir = tempfile::tempdir().unwrap();
    let paths = list
        .iter()
        .map(|(name, text)| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            path
        })
        .collect();
    let mut config = Config {
        root: dir.path().to_owned(),
        ..Config::default()
    };
    // Nothing comes from the cache.
    config.cache.enabled = false;
    (dir, paths, config)
}

const MAIN: &str = "      PROGRAM GAME
      FUNCTION TWICE(X)
      TWICE = 2*X
      END
      READ *, A
      IF (A .LT. 0) STOP 3
      PRINT '(F6.2)', APPLY(TWICE, A) + RAND(A)
      END
      FUNCTION APPLY(F, X)
      APPLY = F(X)
      END
C     Not gfortran's.
      FUNCTION RAND(X)
      COMMON /C/ SHIFT(3)
      RAND = X + SHIFT(2)
      END
      BLOCK DATA
      COMMON /C/ SHIFT(3)
      DATA SHIFT /3*100.0/
      END
";

fn run(program: &std::path::Path, input: &str) -> (String, Option<i32>) {
    use std::io::Write;
    let mut child = loop {
        let started = Command::new(program)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn();
        match started {
            // A process that another test is just starting has the file open for a moment.
            Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            started => break started.unwrap(),
        }
    };
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.code(),
    )
}

#[test]
fn a_main_program_runs() {
    let (dir, paths, config) = files(&[("my game.ff", MAIN)]);
    let out = dir.path().join("das Spiel");
    Session::of_files(&paths, &config)
        .and_then(|s| s.build_program(&out))
        .unwrap();
    assert_eq!(run(&out, "2.5\n"), ("107.50\n".into(), Some(0)));
    assert_eq!(run(&out, "-1\n"), (String::new(), Some(3)));
    // Nothing else was left behind.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);

    let report = Session::of_files(&paths, &config)
        .and_then(|s| s.check())
        .unwrap();
    assert!(report.diagnostics.is_empty());

    // In double precision, with local variables static, as old compilers had them.
    let counter = "      PRINT *, NEXT() + NEXT(), 1.0/3.0\n      END\n      FUNCTION NEXT()\n      K = K + 1\n      NEXT = K\n      END\n";
    let (dir, paths, mut config) = files(&[("c.f", counter)]);
    config.real_kind = 8;
    config.save_all = true;
    let out = dir.path().join("c");
    Session::of_files(&paths, &config)
        .and_then(|s| s.build_program(&out))
        .unwrap();
    let (said, _) = run(&out, "");
    assert!(
        said.contains(" 3 ") && said.contains("0.33333333333333"),
        "{said}"
    );
}

#[test]
fn what_cannot_run() {
    let (dir, paths, config) = files(&[("a.ff", "      SUBROUTINE S\n      END\n")]);
    let out = dir.path().join("a");
    let error = Session::of_files(&paths, &config)
        .and_then(|s| s.build_program(&out))
        .unwrap_err();
    assert!(matches!(error, Error::NoMainProgram), "{error}");

    let (dir, paths, config) = files(&[("a.ff", "      CALL NOWHERE(1)\n      END\n")]);
    let out = dir.path().join("a");
    let error = Session::of_files(&paths, &config)
        .and_then(|s| s.build_program(&out))
        .unwrap_err()
        .to_string();
    assert!(error.to_lowercase().contains("nowhere"), "{error}");
    assert!(!out.exists());

    let declared = "      EXTERNAL FARAWY\n      CALL FARAWY(1)\n      END\n";
    let (dir, paths, config) = files(&[("a.ff", declared)]);
    let error = Session::of_files(&paths, &config)
        .and_then(|s| s.build_program(&dir.path().join("a")))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "no file defines FARAWY; if a library does, name it by the setting `link`: \
         `link = [\"lapack\", \"blas\"]`"
    );

    let (dir, paths, config) = files(&[("a.ff", "      X = 1\n      END\n")]);
    let out = dir.path().join("no/such/directory/a");
    let error = Session::of_files(&paths, &config)
        .and_then(|s| s.build_program(&out))
        .unwrap_err();
    assert!(error.to_string().contains("no/such/directory/a"), "{error}");
    assert_eq!(error.exit_code(), 1);

    let missing = [dir.path().join("missing.ff")];
    let error = Session::of_files(&missing, &config)
        .and_then(|s| s.check())
        .unwrap_err();
    assert!(error.to_string().contains("missing.ff"), "{error}");
    assert_eq!(error.exit_code(), 1);
}

#[test]
fn expanded() {
    let (_dir, paths, config) = files(&[("my game.ff", MAIN)]);
    let text = |stage| {
        Session::of_files(&paths, &config)
            .and_then(|s| s.expand(stage))
            .unwrap()
            .0
    };
    assert!(text(ExpandStage::Parse).contains("FUNCTION TWICE(X)"));
    assert!(text(ExpandStage::Lift).contains("FUNCTION GAME_TWICE(X)"));
    let last = text(ExpandStage::Final);
    assert!(
        last.contains("EXTERNAL RAND") && !last.contains("MODULE"),
        "{last}"
    );

    // A library; the text is what gfortran compiles.
    let (dir, paths, mut config) = files(&[(
        "lib.f",
        "      FUNCTION NORM(X)\n      NORM = X\n      IF (X .GT. 1.0) STOP\n      END\n",
    )]);
    config.name = "my-lib".into();
    config.version = "1.2.0".into();
    let last = Session::of_files(&paths, &config)
        .and_then(|s| s.expand(ExpandStage::Final))
        .unwrap()
        .0;
    assert!(
        last.starts_with("      MODULE FARFEL_MY_LIB_1_2_0\n      PRIVATE\n"),
        "{last}"
    );
    assert!(
        !last.contains('#') && last.lines().all(|l| l.len() <= 72),
        "{last}"
    );
    let path = dir.path().join("final.f");
    fs::write(&path, last).unwrap();
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-c", "final.f"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
}
