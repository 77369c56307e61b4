//! A whole build with an AD tool that misbehaves: an error that says so, and no program; and when the tool
//! works again, so does the build.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use farfel_driver::{Config, Session};
use farfel_tests::{farfel_path, sandbox, write};

const PROGRAM: &str = "\
      PROGRAM P
      REAL B, X, Y
      X = 3
      ADF(TANGENT(X) = 1)
      CALL F(X, Y)
      END ADF(B = TANGENT(Y))
      PRINT '(F3.1, F4.1)', Y, B
      END
      SUBROUTINE F(X, Y)
      REAL X, Y
      Y = X*X
      END
";

/// The drop-in command in place of Tapenade. Commands in the file `before` run before it, and those in
/// `after` afterwards.
fn stand_in(home: &Path) {
    let text = format!(
        "#!/bin/sh\nhere='{}'\n\
         case $1 in -version) echo 'Tapenade 3.16 (stand-in)'; exit;; esac\n\
         . \"$here/before\"\n'{}' tapenade \"$@\" || exit\n. \"$here/after\"\n",
        home.display(),
        farfel_path().display()
    );
    let path = write(home, "bin/tapenade", text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_tool_that_fails_and_is_well_again() {
    let dir = sandbox();
    let dir = dir.path();
    let home = dir.join("home");
    stand_in(&home);
    let source = write(dir, "p.ff", PROGRAM);
    let sources = [source];
    let out = dir.join("out");
    let mut config = Config {
        root: dir.to_owned(),
        ad_tool: "tapenade".into(),
        ..Config::default()
    };
    config.tapenade.home = Some(home.clone());
    config.tapenade.timeout = 2;
    let does = |before: &str, after: &str| {
        write(&home, "before", before);
        write(&home, "after", after);
    };
    for (i, (before, after, expected)) in [
        ("echo 'bad luck' >&2; exit 3", "", "exit status: 3"),
        ("kill -ABRT $$", "", "SIGABRT"),
        ("sleep 60 & sleep 60", "", "2 s"),
        (
            "echo 'what file?'; read answer || exit 4",
            "",
            "exit status: 4",
        ),
        ("exit 0", "", "did not write"),
        ("", "for f in *_*.f; do echo '$#?!' > $f; done", ""),
        (
            "",
            "for f in *_*.f; do head -c 1000 /dev/zero > $f; done",
            "not text",
        ),
        // Half a file, with a success status.
        (
            "",
            "for f in *_*.f; do head -c 150 $f > x; mv x $f; done",
            "",
        ),
        ("", "for f in *_*.f; do : > $f; done", ""),
    ]
    .into_iter()
    .enumerate()
    {
        // Each with an empty cache.
        config.cache.directory = Some(dir.join(format!("cache{i}")));
        does(before, after);
        let error = Session::of_files(&sources, &config)
            .and_then(|s| s.build_program(&out))
            .expect_err(before);
        let said = error.to_string();
        assert!(said.contains(expected), "{before} {after}: {said}");
        assert!(!out.exists());
        does("", "");
        Session::of_files(&sources, &config)
            .and_then(|s| s.build_program(&out))
            .unwrap_or_else(|e| panic!("after {before} {after}: {e}"));
        let ran = Command::new(&out).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout), "9.0 6.0\n");
        fs::remove_file(&out).unwrap();
    }
    // Cached results need no tool.
    does("exit 1", "");
    Session::of_files(&sources, &config)
        .and_then(|s| s.build_program(&out))
        .unwrap();
}
