//! Cargo's commands and options: passed on to cargo, or rejected with an explanation.

use farfel_tests::{farfel, fixed, repository, sandbox, tree, write};
use std::path::Path;

/// Writes a package with only Rust code, which compiles quickly.
fn package(dir: &Path, name: &str) {
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    write(dir, "Cargo.toml", manifest);
    write(dir, "src/main.rs", "fn main() { println!(\"ran\") }\n");
}

/// Writes a project without Rust.
fn stone(dir: &Path) {
    let manifest = "[package]\nname = \"stone\"\nversion = \"0.1.0\"\n";
    write(dir, "Cargo.toml", manifest);
    write(dir, "src/stone.f", fixed("PRINT *, 'stone'\nEND\n"));
    write(dir, "tests/good.f", fixed("PRINT *, 'good'\nEND\n"));
}

#[test]
fn cargo_does_what_it_can() {
    let dir = sandbox();
    let demo = dir.path().join("demo");
    package(&demo, "demo");
    let target = dir.path().join("target");
    let run = |arguments: &[&str]| {
        let command = farfel(dir.path()).env("CARGO_TARGET_DIR", &target);
        command
            .args(["-C", "demo"])
            .args(arguments)
            .assert()
            .success()
    };
    let shown = run(&["tree"]);
    shown.stdout_eq("demo v0.1.0 ([DIR]/demo)\n");
    let help = run(&["add", "--help"]);
    let help = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
    assert!(help.contains("cargo add"), "{help}");
    run(&["build", "-q", "--all-targets", "--offline"]);
    run(&["doc", "-q", "--no-deps", "--offline"]);
    assert!(target.join("doc/demo/index.html").is_file());
    run(&["bench", "-q", "--offline"]);
    let root = dir.path().join("installed");
    run(&[
        "install",
        "-q",
        "--offline",
        "--root",
        root.to_str().unwrap(),
    ]);
    let installed = root
        .join("bin")
        .join(format!("demo{}", std::env::consts::EXE_SUFFIX));
    assert!(installed.is_file());
    run(&["clean", "-q"]);
    let demo = format!("debug/demo{}", std::env::consts::EXE_SUFFIX);
    assert!(!target.join(demo).exists());
}

#[test]
fn without_rust_there_is_a_word() {
    let dir = sandbox();
    stone(dir.path());
    for (command, words) in [
        (&["tree"][..], "`farfel tree` is for cargo"),
        (&["install"], "copy it from there"),
        (&["bench"], "`farfel bench` is for cargo"),
        (&["doc"], "`farfel intents`"),
        (&["build", "--tests"], "`--tests` is for cargo"),
        (&["watch"], "cargo watch -s"),
    ] {
        let said = farfel(dir.path()).args(command).assert().code(2);
        let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
        assert!(said.contains(words), "{command:?}: {said}");
    }
}

/// In a shared target directory, only the project's own files are removed.
#[test]
fn clean_without_rust_leaves_what_others_have_made() {
    let dir = sandbox();
    stone(&dir.path().join("stone"));
    let target = dir.path().join("target");
    let run = |command: &str| {
        let farfel = farfel(dir.path()).env("CARGO_TARGET_DIR", &target);
        farfel.args(["-C", "stone", command]).assert().success()
    };
    run("build");
    run("test");
    write(&target, "debug/other", "other");
    write(&target, "debug/tests/other", "other");
    let exe = std::env::consts::EXE_SUFFIX;
    assert!(target.join(format!("debug/stone{exe}")).is_file());
    run("clean").stderr_eq("     Removed 2 files\n");
    let left = tree(&target);
    assert_eq!(left, ["debug/other", "debug/tests/other"]);
    run("clean").stderr_eq("     Removed 0 files\n");
}

#[test]
fn expand_shows_one_subprogram_and_what_it_needs() {
    let dir = sandbox();
    let text = "PROGRAM P\nCALL ONE(X)\nCALL TWO(X)\nEND\nSUBROUTINE ONE(X)\nX = SQUARE(X)\nEND\n\
                SUBROUTINE TWO(X)\nADF(X)\nY = SQUARE(X)\nEND ADF(X = TANGENT(Y))\nEND\n\
                FUNCTION SQUARE(X)\nSQUARE = X**2\nEND\n";
    write(dir.path(), "p.ff", fixed(text));
    let units = |arguments: &[&str]| -> Vec<String> {
        let command = farfel(dir.path()).arg("expand").args(arguments).arg("p.ff");
        let said = command.assert().success();
        let text = String::from_utf8_lossy(&said.get_output().stdout).into_owned();
        let heads = text.lines().map(str::trim).filter(|l| {
            ["SUBROUTINE ", "FUNCTION ", "PROGRAM "]
                .iter()
                .any(|w| l.contains(w))
                && l.contains('(')
        });
        let names = heads.map(|l| l.split('(').next().unwrap_or_default());
        let names = names.filter_map(|l| l.split(' ').next_back());
        names.map(str::to_owned).collect()
    };
    assert_eq!(units(&["--root", "one"]), ["ONE", "SQUARE"]);
    assert_eq!(
        units(&["--stage", "parse", "--root", "TWO"]),
        ["TWO", "SQUARE"]
    );
    let two = units(&["--root", "two"]);
    assert!(two.iter().any(|n| n == "TWO_ADF1_G1"), "{two:?}");
    assert!(!two.iter().any(|n| n == "ONE"), "{two:?}");
    let none = farfel(dir.path()).args(["expand", "--root", "three", "p.ff"]);
    none.assert()
        .code(1)
        .stderr_eq("error: there is no subprogram THREE after the stage `final`\n");
    // Subprograms generated from nested ones, or from ones with procedure arguments, have other names.
    let none = farfel(dir.path()).args(["expand", "--root", "two_adf1", "--stage", "parse"]);
    let said = none.arg("p.ff").assert().code(1);
    said.stderr_eq("error: there is no subprogram TWO_ADF1 after the stage `parse`\n");
}

#[test]
fn storage_and_graph_say_something_in_every_case() {
    let dir = sandbox();
    write(dir.path(), "p.f", fixed("CALL S\nEND\nSUBROUTINE S\nEND\n"));
    let run = |command: &str, locale: &str| {
        let farfel = farfel(dir.path()).env("LC_ALL", locale);
        farfel.args([command, "p.f"]).assert().success()
    };
    run("storage", "C.UTF-8")
        .stdout_eq("")
        .stderr_eq("note: there is no COMMON and no EQUIVALENCE\n");
    run("graph", "C.UTF-8").stdout_eq("MAIN  (main program)\n└── S\n");
    run("graph", "C").stdout_eq("MAIN  (main program)\n`-- S\n");
}

#[test]
fn manual_pages() {
    let dir = sandbox();
    let one = farfel(dir.path()).arg("man").assert().success();
    let one = String::from_utf8_lossy(&one.get_output().stdout).into_owned();
    assert!(one.contains(".TH farfel 1"), "{one}");
    let all = farfel(dir.path()).args(["man", "-q", "-o", "man"]);
    all.assert().success();
    let pages = tree(&dir.path().join("man"));
    for page in ["farfel.1", "farfel-build.1", "farfel-expand.1"] {
        assert!(pages.iter().any(|p| p == page), "{pages:?}");
    }
    // Commands hidden from `farfel --help` have no page.
    assert!(!pages.iter().any(|p| p.contains("build-script")));
}

#[test]
fn fmt_takes_all_packages() {
    let dir = sandbox();
    write(
        dir.path(),
        "Cargo.toml",
        "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"3\"\n",
    );
    let root = repository().display();
    for name in ["a", "b"] {
        let member = dir.path().join(name);
        package(&member, name);
        let build = format!(
            "\n[build-dependencies]\nfarfel-build = {{ path = \"{root}/farfel-build\" }}\n"
        );
        let manifest = std::fs::read_to_string(member.join("Cargo.toml")).unwrap();
        write(&member, "Cargo.toml", manifest + &build);
        write(
            &member,
            "fortran/s.f",
            "      SUBROUTINE S\n      X=1\n      END\n",
        );
    }
    let all = farfel(dir.path()).args(["fmt", "--all", "--check"]);
    let said = all.assert().code(1);
    let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
    assert!(said.contains("2 files are not laid out"), "{said}");
    farfel(dir.path()).args(["fmt", "--all"]).assert().success();
    for name in ["a", "b"] {
        let text = std::fs::read_to_string(dir.path().join(name).join("fortran/s.f")).unwrap();
        assert_eq!(text, "      SUBROUTINE S\n      X = 1\n      END\n");
    }
}
