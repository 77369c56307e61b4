//! Discovery of external AD tools: how they are queried, how often, and the messages if they are missing.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use farfel_tests::{farfel, sandbox, tree, write};
use snapbox::cmd::Command;

/// Creates a stand-in for Tapenade that counts its starts in the file `asked`.
fn stand_in(home: &Path, answer: &str) {
    let asked = home.join("asked");
    let text = format!("#!/bin/sh\necho x >> '{}'\n{answer}\n", asked.display());
    let path = write(home, "bin/tapenade", text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn asked(home: &Path) -> usize {
    fs::read_to_string(home.join("asked")).map_or(0, |t| t.lines().count())
}

fn doctor(dir: &Path) -> Command {
    farfel(dir)
        .arg("doctor")
        .env("FARFEL_CACHE_DIR", dir.join("cache"))
        .env("TAPENADE_HOME", dir.join("home"))
        .env_remove("AD_HOME")
}

/// Returns the doctor's row for a tool.
fn row(mut command: Command, name: &str) -> String {
    command = command.env("LC_ALL", "C");
    let output = command.assert();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let row = text.lines().find(|l| l.contains(&format!(" {name} ")));
    row.unwrap_or_else(|| panic!("no {name}: {text}"))
        .to_owned()
}

#[test]
fn the_version_is_asked_once() {
    let dir = sandbox();
    let (dir, home) = (dir.path(), dir.path().join("home"));
    stand_in(
        &home,
        "echo; echo 'Tapenade 9.9 (stand-in) - Java 0.0'; echo more",
    );
    let path = home.join("bin/tapenade");
    for _ in 0..2 {
        let row = row(doctor(dir), "Tapenade");
        let expected = format!("Tapenade 9.9 (stand-in) ({})", path.display());
        assert!(
            row.starts_with("      ok ") && row.ends_with(&expected),
            "{row}"
        );
    }
    assert_eq!(asked(&home), 1);
    // Another program at the same place.
    stand_in(&home, "echo 'Tapenade 10.0 (another one)'");
    assert!(row(doctor(dir), "Tapenade").contains("10.0"));
    assert_eq!(asked(&home), 2);
    // A damaged record.
    let mut damaged = 0;
    for name in tree(&dir.join("cache")) {
        let path = dir.join("cache").join(name);
        let bytes = fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(4).position(|w| w == b"10.0") {
            let mut bytes = bytes;
            bytes[at] = b'2';
            fs::write(path, bytes).unwrap();
            damaged += 1;
        }
    }
    assert_eq!(damaged, 1);
    assert!(row(doctor(dir), "Tapenade").contains("10.0"));
    assert_eq!(asked(&home), 3);
    assert!(row(doctor(dir), "Tapenade").contains("10.0"));
    assert_eq!(asked(&home), 3);
    // A record that cannot be written: a file is in the way.
    fs::remove_dir_all(dir.join("cache")).unwrap();
    write(dir, "cache", "");
    for _ in 0..2 {
        assert!(row(doctor(dir), "Tapenade").contains("10.0"));
    }
    assert_eq!(asked(&home), 5);
}

#[test]
fn a_tool_that_does_not_answer() {
    let dir = sandbox();
    let (dir, home) = (dir.path(), dir.path().join("home"));
    stand_in(&home, "echo 'java: not found' >&2; exit 127");
    let row = |command| row(command, "Tapenade");
    let broken = || doctor(dir).env("JAVA_HOME", "/no/java");
    let expected = format!(
        "Tapenade at {} does not work: -version failed (exit status: 127); it needs Java: \
         JAVA_HOME is set, but there is no /no/java/bin/java; it said: java: not found",
        home.join("bin/tapenade").display()
    );
    let seen = row(broken());
    assert!(
        seen.starts_with("optional ") && seen.ends_with(&expected),
        "{seen}"
    );
    // It must work if it is chosen.
    let chosen = || broken().env("FARFEL_AD_TOOL", "tapenade");
    let seen = row(chosen());
    assert!(
        seen.starts_with(" missing ") && seen.ends_with(&expected),
        "{seen}"
    );
    chosen().assert().code(1);
    // Without output: then it is identified by its content.
    stand_in(&home, "exit 0");
    let one = row(doctor(dir));
    assert!(one.contains("tapenade ("), "{one}");
    stand_in(&home, "exit 0 # other");
    assert_ne!(one, row(doctor(dir)));
}

#[test]
fn a_tool_that_is_not_there() {
    let dir = sandbox();
    let dir = dir.path();
    // Only the tools that the doctor itself needs.
    let command = || {
        doctor(dir)
            .env("TAPENADE_HOME", dir.join("home"))
            .env("PATH", "/nowhere")
    };
    let expected = format!(
        "not found: looked in TAPENADE_HOME ({}: no such directory), PATH (no tapenade)",
        dir.join("home").display()
    );
    let seen = row(command(), "Tapenade");
    assert!(
        seen.starts_with("optional ")
            && seen.ends_with(&format!(
                "{expected}; only `ad-tool = \"tapenade\"` needs it"
            )),
        "{seen}"
    );
    let seen = row(command(), "ADIFOR");
    assert!(
        seen.contains("looked in AD_HOME (not set), PATH (no Adifor2.1, "),
        "{seen}"
    );
    let seen = row(command().env("FARFEL_AD_TOOL", "tapenade"), "Tapenade");
    assert!(
        seen.starts_with(" missing ") && seen.ends_with(&expected),
        "{seen}"
    );
}
