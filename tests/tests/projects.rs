//! Whole projects built by cargo: every template, rebuilding, errors in them.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use farfel_tests::{command, farfel, farfel_path, fixed, repository, sandbox, write};
use snapbox::str;

fn stdout(output: &snapbox::cmd::OutputAssert) -> String {
    String::from_utf8_lossy(&output.get_output().stdout).into_owned()
}

fn stderr(output: &snapbox::cmd::OutputAssert) -> String {
    String::from_utf8_lossy(&output.get_output().stderr).into_owned()
}

/// Creates a project from `template`, builds and tests it, and returns its output.
fn template(template: &str, runs: bool) -> String {
    let dir = sandbox();
    let name = format!("tried-{template}");
    farfel(dir.path())
        .args(["new", &name, "--template", template])
        .assert()
        .success();
    let project = dir.path().join(&name);
    let build = farfel(&project)
        .arg("build")
        .assert()
        .success()
        .stdout_eq(str![]);
    assert!(!stderr(&build).contains("warning"), "{}", stderr(&build));
    let tests = farfel(&project).arg("test").assert().success();
    assert!(
        stdout(&tests).contains("test result: ok. "),
        "{}",
        stdout(&tests)
    );
    assert!(!stdout(&tests).contains("warning"), "{}", stdout(&tests));
    // The files that a user gets must be in order by cargo's own standards.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    command(Path::new(&cargo), &project)
        .args(["fmt", "--check"])
        .assert()
        .success();
    let clippy = ["clippy", "-q", "--all-targets", "--", "-D", "warnings"];
    command(Path::new(&cargo), &project)
        .args(clippy)
        .assert()
        .success();
    if !runs {
        return String::new();
    }
    stdout(
        &farfel(&project)
            .args(["run", "-q"])
            .assert()
            .success()
            .stderr_eq(str![]),
    )
}

#[test]
fn template_bin() {
    let text = template("bin", true);
    // E - 0.8 sin E = 90 degrees.
    assert!(text.contains("90       126.734288506"), "{text}");
}

#[test]
fn template_lib() {
    template("lib", false);
}

#[test]
fn template_game() {
    let text = template("game", true);
    assert!(
        text.contains("equilibrium: a = 50.000000, b = 50.000000"),
        "{text}"
    );
}

#[test]
fn template_legacy() {
    let text = template("legacy", true);
    // R T / (V - b) - a / V² at a litre and 300 K, in bar.
    assert!(text.contains("1.0  22.4152"), "{text}");
}

/// The example project, run with the command in its README, and its own tests.
#[test]
fn the_example_project() {
    let dir = sandbox();
    let manifest = repository().join("example-project/Cargo.toml");
    let run = farfel(dir.path())
        .args(["run", "-q", "--manifest-path"])
        .arg(&manifest)
        .assert()
        .success();
    assert!(!stderr(&run).contains("warning"), "{}", stderr(&run));
    assert!(
        stdout(&run).starts_with("equilibrium: a = 50.000000, b = 50.000000\n"),
        "{}",
        stdout(&run)
    );
    let tests = farfel(dir.path())
        .args(["test", "-q", "--manifest-path"])
        .arg(&manifest)
        .assert()
        .success();
    assert!(
        stdout(&tests).contains("test result: ok. 6 passed"),
        "{}",
        stdout(&tests)
    );
    let game = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    assert_eq!(
        game("example-project/fortran/game.ff"),
        game("templates/game/fortran/game.ff")
    );
}

#[test]
fn arguments_and_exit_code_of_a_project_s_program() {
    let dir = sandbox();
    let manifest = repository().join("example-project/Cargo.toml");
    farfel(dir.path())
        .args(["run", "-q", "--manifest-path"])
        .arg(&manifest)
        .args(["--", "1", "2", "3", "4"])
        .assert()
        .code(2)
        .stdout_eq(str![])
        .stderr_eq("usage: example-project [A0 [B0 [N]]]: two guesses and the number of steps\n");
}

/// As if `cargo run` started the command for another project.
#[test]
fn what_cargo_has_set_for_us_does_not_reach_the_project() {
    let dir = sandbox();
    write(
        dir.path(),
        "Cargo.toml",
        "[package]\nname = \"bare\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    let program = "fn main() {\n    println!(\"{:?}\", std::env::var(\"OUT_DIR\").ok());\n}\n";
    write(dir.path(), "src/main.rs", program);
    farfel(dir.path())
        .args(["run", "-q"])
        .env("OUT_DIR", "/somewhere")
        .assert()
        .success()
        .stdout_eq("None\n");
}

/// Cargo's state of each unit in a verbose build: Fresh, Dirty, Compiling, Running.
#[test]
fn a_second_build_does_nothing_and_a_touched_source_rebuilds_once() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "tried-again", "--template", "legacy"])
        .assert()
        .success();
    let project = dir.path().join("tried-again");
    write(
        &project,
        "fortran/one.inc",
        fixed("PARAMETER (ONE = 1D0)\n"),
    );
    let source = write(
        &project,
        "fortran/one.ff",
        fixed(
            "DOUBLE PRECISION FUNCTION UNIT()\nDOUBLE PRECISION ONE\nINCLUDE 'one.inc'\nUNIT = ONE\nEND\n",
        ),
    );
    let build = || stderr(&farfel(&project).args(["build", "-v"]).assert().success());
    build();
    let nothing = |when: &str| {
        let text = build();
        assert!(text.contains("Fresh tried-again"), "{when}: {text}");
        assert!(
            !text.contains("Compiling") && !text.contains("build-script-build`"),
            "{when}: {text}"
        );
        // Not even the sources are read again, also directly after the first build.
        assert!(text.contains("Fresh Farfel sources"), "{when}: {text}");
    };
    nothing("at once");
    for file in [
        source,
        project.join("fortran/one.inc"),
        project.join("fortran/gas.f"),
    ] {
        let file_of = fs::File::options().append(true).open(&file).unwrap();
        file_of.set_modified(SystemTime::now()).unwrap();
        let text = build();
        let runs = text.matches("build-script-build`").count();
        assert_eq!(runs, 1, "{}: {text}", file.display());
        nothing("after it");
    }
    // A new source is noticed as well.
    write(
        &project,
        "fortran/two.ff",
        fixed("DOUBLE PRECISION FUNCTION TWO()\nTWO = 2\nEND\n"),
    );
    assert!(build().contains("build-script-build`"));
    nothing("after a new file");
}

#[test]
fn the_form_of_a_cargo_subcommand() {
    let dir = sandbox();
    let tools = dir.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::copy(farfel_path(), tools.join("cargo-farfel")).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let path =
        std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let cargo_farfel = || {
        command(Path::new(&cargo), dir.path())
            .arg("farfel")
            .env("PATH", &path)
    };
    cargo_farfel()
        .args([
            "new",
            "farfel",
            "--name",
            "by-cargo",
            "--template",
            "legacy",
        ])
        .assert()
        .success();
    cargo_farfel()
        .args(["build", "--manifest-path", "farfel/Cargo.toml"])
        .assert()
        .success();
    cargo_farfel()
        .arg("--version")
        .assert()
        .success()
        .stdout_eq(str![[r#"
farfel 0.1.0

"#]]);
    cargo_farfel()
        .args(["check", "nothing.ff"])
        .assert()
        .code(1);
}

#[test]
fn errors_of_a_project_are_shown_once_with_their_place() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "tried-errors", "--vcs", "none"])
        .assert()
        .success();
    let project = dir.path().join("tried-errors");
    write(
        &project,
        "fortran/bad.ff",
        fixed("FUNCTION OUTER(X)\nFUNCTION INNER(Y)\nINNER = Y*(X +\nEND\nOUTER = INNER(X)\nEND\n"),
    );
    for verb in ["check", "build", "test", "run"] {
        farfel(&project)
            .arg(verb)
            .assert()
            .code(1)
            .stdout_eq(str![])
            .stderr_eq(str![[r#"
error[F0001]: expected an expression, found the end of the statement
 --> fortran/bad.ff:3:21
  |
3 |       INNER = Y*(X +
  |                     ^

error: 1 error

"#]]);
    }
    // Without the command, the build script reports errors, in the way that cargo shows them.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = command(Path::new(&cargo), &project)
        .arg("build")
        .assert()
        .code(101);
    let text = stderr(&output);
    let headline = "error: tried-errors@0.1.0: fortran/bad.ff:3:21: ";
    assert_eq!(text.matches(headline).count(), 1, "{text}");
    assert_eq!(text.matches("--> fortran/bad.ff:3").count(), 1, "{text}");
    assert!(!text.contains("panicked"), "{text}");

    fs::remove_file(project.join("fortran/bad.ff")).unwrap();
    farfel(&project)
        .arg("check")
        .assert()
        .success()
        .stdout_eq(str![]);
}

/// Only the build script knows which files its builder reads.
#[test]
fn a_build_script_with_a_builder_is_not_second_guessed() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "tried-builder", "--template", "legacy"])
        .assert()
        .success();
    let project = dir.path().join("tried-builder");
    write(&project, "fortran/broken.f", "      CALL (\n");
    write(
        &project,
        "build.rs",
        "fn main() {\n    farfel_build::Build::new().source(\"fortran/gas.f\").compile();\n}\n",
    );
    farfel(&project).args(["build", "-q"]).assert().success();
}

#[test]
fn faulty_settings_name_the_file_and_what_is_allowed() {
    let dir = sandbox();
    let manifest = "[package]\nname = \"p\"\nversion = \"0.1.0\"\n[package.metadata.farfel]\nreal-knd = 8\n[lib]\npath = \"l.rs\"\n[build-dependencies]\nfarfel-build = \"0.1\"\n";
    write(dir.path(), "Cargo.toml", manifest);
    write(dir.path(), "l.rs", "");
    write(
        dir.path(),
        "build.rs",
        "fn main() { farfel_build::compile() }\n",
    );
    farfel(dir.path())
        .arg("build")
        .assert()
        .code(1)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
error: Cargo.toml:5: unknown field `real-knd`, expected one of `sources`, `exclude`, `link`, `ad-tool`, `tapenade`, `adifor`, `cache`, `real-kind`, `form`, `line-length`, `preprocess`, `defines`, `debug-lines`, `exports`, `unchecked`, `float-errors`, `instance`, `commons`, `signatures`, `signature`, `max-copies`, `max-tape`, `combine-divisions`, `openmp`, `flags`, `pass-through`, `file-flags`, `include`, `opt-level`, `debug`, `save-all`, `fc`, `static-runtime`, `install`, `lints`, `derivatives`, `derive`

"#]]);
}

#[test]
fn check_also_looks_at_the_rust() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "tried-rust", "--vcs", "none"])
        .assert()
        .success();
    let project = dir.path().join("tried-rust");
    write(
        &project,
        "src/main.rs",
        "fn main() { let x: i32 = \"no\"; }\n",
    );
    let output = farfel(&project).arg("check").assert().code(1);
    assert!(
        stderr(&output).contains("mismatched types"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn expand_without_files_prints_the_project_s_sources() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "tried-expand", "--vcs", "none"])
        .assert()
        .success();
    let project = dir.path().join("tried-expand");
    let output = farfel(&project.join("src"))
        .args(["expand", "--stage", "outline"])
        .assert()
        .success();
    let text = stdout(&output);
    assert!(
        text.to_uppercase().contains("SUBROUTINE KEPLER_ADF1("),
        "{text}"
    );
}

#[test]
fn paths_of_projects_have_spaces_and_letters_of_all_kinds() {
    let dir = sandbox();
    farfel(dir.path())
        .args([
            "new",
            "größe und 数/spiel",
            "--name",
            "tried-letters",
            "--vcs",
            "none",
        ])
        .assert()
        .success();
    let project = dir.path().join("größe und 数/spiel");
    let own_target = project.join("target");
    let output = farfel(&project)
        .args(["run", "-q", "--target-dir"])
        .arg(&own_target)
        .assert()
        .success();
    assert!(stdout(&output).contains("126.7"), "{}", stdout(&output));
}

/// Rust around Fortran with Windows line ends, and an empty file.
#[test]
fn line_ends_and_empty_files_in_projects() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "tried-crlf", "--vcs", "none"])
        .assert()
        .success();
    let project = dir.path().join("tried-crlf");
    let source = project.join("fortran/kepler.ff");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace('\n', "\r\n")).unwrap();
    write(&project, "fortran/empty.ff", "");
    let output = farfel(&project).args(["run", "-q"]).assert().success();
    assert!(stdout(&output).contains("126.7"), "{}", stdout(&output));
}
