//! Errors and warnings in formats for programs, and `farfel check` of a project.
#![cfg(unix)]

use crate::script::program;
use farfel_tests::{farfel, farfel_path, fixed, repository, sandbox, write};
use serde_json::Value;
use snapbox::str;
use std::fs;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = "SUBROUTINE ONE(X)\nINTEGER UNUSED\nX = 1\nEND\n";

/// Returns the diagnostics on standard output: all lines except cargo's.
fn diagnostics(text: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(text).unwrap().lines();
    let all = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|said| said["reason"] == "diagnostic").collect()
}

#[test]
fn short_lines() {
    let dir = sandbox();
    write(dir.path(), "one.f", fixed(SOURCE));
    let check = |level, format| {
        [
            "check",
            "one.f",
            level,
            "unused-variable",
            "--message-format",
            format,
        ]
    };
    farfel(dir.path())
        .args(check("-W", "short"))
        .assert()
        .success()
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
one.f:2:15: warning[F0505]: nothing uses UNUSED
     Checked one.f

"#]]);
    farfel(dir.path())
        .args(check("-D", "github"))
        .assert()
        .code(1)
        .stdout_eq(str![[r#"
::error file=one.f,line=2,col=15,title=F0505::nothing uses UNUSED

"#]])
        .stderr_eq(str![]);
}

#[test]
fn json_lines() {
    let dir = sandbox();
    write(
        dir.path(),
        "two.f",
        fixed("SUBROUTINE TWO(X)\nIMPLICIT NONE\nREAL X\nX = FACTR\nX = 1 +\nEND\n"),
    );
    let output = farfel(dir.path())
        .args(["check", "two.f", "--message-format", "json", "-q"])
        .assert()
        .code(1)
        .stderr_eq(str![]);
    let said = diagnostics(&output.get_output().stdout);
    let [undeclared, said] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!(
        undeclared["help"],
        "declare FACTR, for instance `REAL FACTR`"
    );
    let mut fields: Vec<&str> = said.as_object().unwrap().keys().map(|k| &**k).collect();
    fields.sort();
    assert_eq!(
        fields,
        [
            "code", "help", "level", "message", "name", "notes", "places", "reason", "rendered"
        ]
    );
    assert_eq!(
        (&said["level"], &said["code"]),
        (&"error".into(), &"F0001".into())
    );
    let place = &said["places"][0];
    assert_eq!(
        (
            &place["file"],
            &place["line"],
            &place["column"],
            &place["primary"]
        ),
        (&"two.f".into(), &5.into(), &14.into(), &true.into())
    );
    let rendered = said["rendered"].as_str().unwrap();
    assert!(rendered.contains("5 |       X = 1 +"), "{rendered}");
}

/// At a terminal, errors end with a hint where to read more; in a log they do not.
#[test]
fn a_hint_at_a_terminal() {
    let dir = sandbox();
    write(
        dir.path(),
        "one.f",
        fixed("SUBROUTINE ONE(X)\nX = (1 +\nEND\n"),
    );
    let check = format!("{} check one.f", farfel_path().display());
    let hint = "note: `farfel explain F0001` says more";
    let ran = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(dir.path())
            .env("NO_COLOR", "1");
        command.output().ok()
    };
    // The program that records a terminal session; its options are Linux's.
    if cfg!(target_os = "linux")
        && let Some(output) = ran("script", &["-qec", &check, "/dev/null"])
    {
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.trim_end().ends_with(hint), "{said}");
    }
    let output = ran("sh", &["-c", &check]).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("F0001") && !said.contains(hint), "{said}");
}

/// Writes a package whose only dependencies are Farfel's.
fn project(dir: &Path, name: &str) {
    let farfel = repository().display();
    write(
        dir,
        "Cargo.toml",
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
             [package.metadata.farfel.lints]\nunused-variable = \"warn\"\n\
             [dependencies]\nfarfel-runtime = {{ path = \"{farfel}/farfel-runtime\" }}\n\
             [build-dependencies]\nfarfel-build = {{ path = \"{farfel}/farfel-build\" }}\n"
        ),
    );
    fs::copy(repository().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    write(
        dir,
        "build.rs",
        "fn main() {\n    farfel_build::compile();\n}\n",
    );
    write(dir, "src/lib.rs", "farfel_runtime::include_bindings!();\n");
    write(dir, "src/one.f", fixed(SOURCE));
}

#[test]
fn a_check_compiles_nothing() {
    let dir = sandbox();
    let dir = dir.path();
    project(dir, "checked");
    // Results of earlier runs of this test must not match.
    let other = SOURCE.replace("X = 1", &format!("X = {}", std::process::id()));
    write(dir, "src/one.f", fixed(&other));
    let fc = program(
        &dir.join("bin/fc"),
        "#!/bin/sh\nfor a; do [ \"$a\" = -c ] && exit 7; done\nexec gfortran \"$@\"\n",
    );
    let run = |verb: &str, compiles: bool| {
        let mut command = farfel(dir).args([verb, "-v"]);
        if !compiles {
            command = command.env("FARFEL_FC", &fc);
        }
        command.assert()
    };
    let said = |assert: &snapbox::cmd::OutputAssert| {
        String::from_utf8(assert.get_output().stderr.clone()).unwrap()
    };
    // A warning is shown once, completely.
    let warning = "\
warning: checked@0.1.0: src/one.f:2:15: F0505 nothing uses UNUSED
warning: checked@0.1.0:   |
warning: checked@0.1.0: 2 |       INTEGER UNUSED
warning: checked@0.1.0:   |               ^^^^^^
";
    let checked = run("check", false).success();
    assert!(said(&checked).contains(warning), "{}", said(&checked));
    assert_eq!(said(&checked).matches("nothing uses").count(), 1);
    run("build", false).code(1);
    let built = run("build", true).success();
    assert!(said(&built).contains(warning), "{}", said(&built));
    // Neither invalidates the other's results.
    for _ in 0..2 {
        let again = said(&run("check", false).success());
        assert!(again.contains("Fresh checked v0.1.0"), "{again}");
        let again = said(&run("build", true).success());
        assert!(again.contains("Fresh checked v0.1.0"), "{again}");
        assert!(again.contains(warning), "{again}");
    }
    // The bindings are the same as in a build: incorrect uses in Rust are found.
    write(
        dir,
        "src/lib.rs",
        "farfel_runtime::include_bindings!();\npub fn wrong() { one(true) }\n",
    );
    let wrong = said(&run("check", false).code(1));
    assert!(wrong.contains("error[E0308]: mismatched types"), "{wrong}");
}

#[test]
fn a_project_in_json() {
    let dir = sandbox();
    project(dir.path(), "in-json");
    for _ in 0..2 {
        let output = farfel(dir.path())
            .args(["check", "--message-format", "json"])
            .assert()
            .success();
        let said = &output.get_output().stdout;
        let ours = diagnostics(said);
        assert_eq!(ours.len(), 1, "{ours:?}");
        assert_eq!(ours[0]["message"], "nothing uses UNUSED");
        let text = std::str::from_utf8(said).unwrap();
        assert!(text.contains("\"reason\":\"build-finished\""), "{text}");
    }
}

#[test]
fn a_sarif_log() {
    let dir = sandbox();
    let faulty = "SUBROUTINE S(X)\nINTEGER UNUSED\nX = 1 +\nEND\n";
    write(dir.path(), "a b.f", fixed(faulty));
    write(dir.path(), "good.f", fixed("SUBROUTINE S(X)\nX = 1\nEND\n"));
    let check = |file: &str| {
        let said = farfel(dir.path())
            .args(["check", "--message-format", "sarif", file])
            .assert();
        let said = said.get_output().clone();
        let log: Value = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!(log["version"], "2.1.0");
        assert_eq!(log["runs"].as_array().map(Vec::len), Some(1));
        (said.status.code(), log["runs"][0].clone())
    };
    let (code, run) = check("a b.f");
    assert_eq!(code, Some(1));
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "farfel");
    let first = &run["results"][0];
    assert_eq!(
        (&first["ruleId"], &first["level"]),
        (&"F0001".into(), &"error".into())
    );
    let index = first["ruleIndex"].as_u64().unwrap() as usize;
    assert_eq!(driver["rules"][index]["id"], "F0001");
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b.f");
    assert_eq!(place["region"]["startLine"], 3);

    let (code, run) = check("good.f");
    assert_eq!(code, Some(0));
    assert_eq!(run["results"], serde_json::json!([]));
}
