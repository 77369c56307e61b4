//! The progress line of a build, at a terminal and elsewhere, and Ctrl-C.
#![cfg(target_os = "linux")]

use farfel_tests::{farfel_path, fixed, sandbox, write};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SOURCE: &str = "PROGRAM P\nX = 1\nADF(X)\nY = X**2\nEND ADF(D = TANGENT(Y))\n\
                      PRINT '(F4.1)', D\nEND\n";

/// Creates a gfortran that compiles only while there is a file `go` beside it. Nothing but `prepared` may
/// create that file.
fn prepared(dir: &Path) -> std::path::PathBuf {
    write(dir, "p.ff", fixed(SOURCE));
    let text = format!(
        "#!/bin/sh\nfor a; do case $a in -o) touch '{0}/waits'; while [ ! -e '{0}/go' ]; do sleep 0.05; done;;\n\
         esac; done\nexec gfortran \"$@\"\n",
        dir.display()
    );
    let path = write(dir, "fc", text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Runs `farfel run p.ff` at a terminal of 100 columns, emulated by `script`; typed input comes from its
/// standard input.
fn at_terminal(dir: &Path, options: &str, variables: &[(&str, &str)]) -> Child {
    let fc = prepared(dir);
    let farfel = farfel_path();
    let run = format!("stty cols 100; {} run {options} p.ff", farfel.display());
    let mut command = Command::new("script");
    command
        .args(["-qefc", &run, "/dev/null"])
        .current_dir(dir)
        .env_remove("CI")
        .env("TERM", "xterm")
        .env("FARFEL_FC", fc)
        .env("FARFEL_CACHE_DIR", dir.join("cache"))
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        let name = path.display();
        assert!(start.elapsed() < Duration::from_secs(60), "no {name}");
        std::thread::sleep(Duration::from_millis(20));
    }
    // The line, which is drawn ten times a second, is visible by now.
    std::thread::sleep(Duration::from_millis(500));
}

fn said(child: Child) -> (Option<i32>, String) {
    let out = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    (out.status.code(), text)
}

/// Whether `script` of util-linux is installed.
fn can_play() -> bool {
    Command::new("script").arg("--version").output().is_ok()
}

#[test]
fn a_line_moves_at_a_terminal_and_goes() {
    if !can_play() {
        return;
    }
    let dir = sandbox();
    let child = at_terminal(dir.path(), "", &[("NO_COLOR", "1")]);
    wait_for(&dir.path().join("waits"));
    write(dir.path(), "go", "");
    let (code, text) = said(child);
    assert_eq!(code, Some(0), "{text}");
    // The first two steps are the compilation of Farfel's own C and of the derivative.
    let line = "\r\x1b[K    Building [================>        ] 2/3: compiling\r";
    assert!(text.contains(line), "{text:?}");
    let (_, end) = text.rsplit_once("\x1b[K").unwrap();
    assert_eq!(end, " 2.0\r\n", "{text:?}");
}

#[test]
fn nothing_moves_where_it_must_not() {
    if !can_play() {
        return;
    }
    for (options, variable) in [
        ("-q", ("NO_COLOR", "1")),
        ("", ("CI", "true")),
        ("", ("TERM", "dumb")),
        ("", ("CARGO_TERM_PROGRESS_WHEN", "never")),
    ] {
        let dir = sandbox();
        let child = at_terminal(dir.path(), options, &[("NO_COLOR", "1"), variable]);
        wait_for(&dir.path().join("waits"));
        write(dir.path(), "go", "");
        let (code, text) = said(child);
        assert_eq!(code, Some(0), "{text}");
        let expected = match options {
            "-q" => " 2.0\r\n",
            _ => "   Compiling p.ff\r\n 2.0\r\n",
        };
        assert_eq!(text, expected, "{variable:?}");
    }
}

#[test]
fn an_interrupt_leaves_a_clean_line_and_says_what_is_kept() {
    if !can_play() {
        return;
    }
    let dir = sandbox();
    let mut child = at_terminal(dir.path(), "", &[("NO_COLOR", "1")]);
    wait_for(&dir.path().join("waits"));
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"\x03").unwrap();
    let (code, text) = said(child);
    drop(input);
    assert_eq!(code, Some(130), "{text:?}");
    let (_, end) = text.rsplit_once("\x1b[K").unwrap();
    let expected = " Interrupted the build after 2 of 3 steps; finished object files are kept\r\n";
    assert_eq!(end, expected, "{text:?}");
}
