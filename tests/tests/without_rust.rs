//! Projects without Rust: main programs in Farfel that the command builds by itself.

use std::fs;
use std::path::{Path, PathBuf};

use farfel_tests::{farfel, fixed, sandbox, tree, write};
use snapbox::cmd::Command;
use snapbox::str;

/// The command; executables go to the project's own target directory.
fn command(dir: &Path) -> Command {
    farfel(dir).env_remove("CARGO_TARGET_DIR")
}

fn stdout(output: &snapbox::cmd::OutputAssert) -> String {
    String::from_utf8_lossy(&output.get_output().stdout).into_owned()
}

/// Heights, angles and ranges: sin² a = v²/(2v² + 2gh), and v √(v² + 2gh)/g far.
const RANGES: &str = "  height   angle   range
     0.0   45.00   40.77
    10.0   39.32   49.78
    20.0   35.39   57.39
    30.0   32.46   64.10
    40.0   30.16   70.18
";

#[test]
fn the_template_runs_and_is_tested() {
    let dir = sandbox();
    command(dir.path())
        .args(["new", "stone", "--template", "program", "--vcs", "none"])
        .assert()
        .success()
        .stderr_eq(str![[r#"
    Creating program without Rust `stone`
note: `cd stone && farfel run` builds it and runs it

"#]]);
    let project = dir.path().join("stone");
    assert_eq!(
        tree(&project),
        [
            "Cargo.toml",
            "README.md",
            "fortran/main.ff",
            "fortran/root.ff",
            "tests/root.ff"
        ]
    );
    let run = command(&project).args(["run", "-q"]).assert().success();
    assert_eq!(stdout(&run), RANGES);
    // From a subfolder as well.
    command(&project.join("fortran"))
        .args(["build", "--release", "-q"])
        .assert()
        .success();
    let program = project.join("target/release/stone");
    let ran = std::process::Command::new(program).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), RANGES);
    command(&project)
        .arg("test")
        .assert()
        .success()
        .stdout_eq("test root ... ok\n\ntest result: ok. 1 passed; 0 failed\n");
    command(&project).arg("check").assert().success();
    command(&project)
        .args(["fmt", "--check"])
        .assert()
        .success();
    let graph = stdout(&command(&project).arg("graph").assert().success());
    assert!(graph.starts_with("STONE  (main program)\n"), "{graph}");
    let text = stdout(&command(&project).arg("expand").assert().success());
    assert!(text.contains("STONE_RANGE"), "{text}");
    command(&project)
        .args(["build", "--package", "x"])
        .assert()
        .code(2)
        .stderr_eq("error: `--package` is for cargo, and there is no Rust in this project\n");

    // A test that fails, and one with a position in an error.
    let test = project.join("tests/root.ff");
    let text = fs::read_to_string(&test).unwrap();
    fs::write(&test, text.replace("- 2)", "- 3)")).unwrap();
    let failed = command(&project).args(["test", "root"]).assert().code(1);
    let text = stdout(&failed);
    assert!(
        text.starts_with("test root ... FAILED\n\n---- root: exit code 1 ----\n")
            && text.ends_with("\ntest result: FAILED. 0 passed; 1 failed\n"),
        "{text}"
    );
    fs::write(&test, fixed("PROGRAM T\nX = (1\nEND\n")).unwrap();
    let failed = command(&project).arg("test").assert().code(1);
    let text = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(text.contains("--> tests/root.ff:2:"), "{text}");
}

/// Programs that share subprograms, and a library that uses another one.
#[test]
fn several_programs_and_libraries_by_their_paths() {
    let dir = sandbox();
    let package = |name: &str, uses: &str| {
        let text = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{uses}\n"
        );
        write(dir.path(), &format!("{name}/Cargo.toml"), text);
        dir.path().join(name)
    };
    let add = |project: &PathBuf, file: &str, text: &str| write(project, file, fixed(text));
    let base = package("base", "");
    add(
        &base,
        "fortran/a.ff",
        "FUNCTION SQUARE(X)\nSQUARE = OWN(X)**2\nEND\nFUNCTION OWN(X)\nOWN = X\nEND\n",
    );
    let calc = package("calc", "base = { path = \"../base\" }");
    let slope = "FUNCTION SLOPE(F, X)\nEXTERNAL F\nADF(X)\nY = F(SQUARE(X))\n\
                 END ADF(SLOPE = TANGENT(Y))\nEND\n";
    add(&calc, "fortran/b.ff", slope);
    let app = package("app", "calc = { path = \"../calc\" }");
    add(&app, "src/own.ff", "FUNCTION OWN(X)\nOWN = 3*X\nEND\n");
    add(
        &app,
        "src/one.ff",
        "PROGRAM ONE\nEXTERNAL OWN\nPRINT '(F6.2)', SLOPE(OWN, 2.0)\nEND\n",
    );
    add(
        &app,
        "src/two.ff",
        "PROGRAM TWO\nPRINT '(F6.2)', HALF(OWN(5.0))\nSTOP 7\nEND\nFUNCTION HALF(X)\nHALF = X/2\nEND\n",
    );
    let run = |name: &str| command(&app).args(["run", "-q", "--bin", name]).assert();
    // 3 x² has the slope 6 x.
    run("one").success().stdout_eq(" 12.00\n");
    run("two").code(7).stdout_eq("  7.50\n");
    command(&app).arg("check").assert().success();
    command(&app).arg("build").assert().success();
    for program in ["one", "two"] {
        assert!(app.join("target/debug").join(program).is_file());
    }
    command(&app).arg("run").assert().code(1).stderr_eq(
        "error: this project has several programs\nhelp: choose one with `--bin`: one, two\n",
    );
    run("three").code(1);
    command(&app)
        .arg("test")
        .assert()
        .success()
        .stdout_eq(str![]);

    package("app", "calc = \"0.1\"");
    command(&app).arg("build").assert().code(1).stderr_eq(
        "error: the dependency `calc` has no `path`, and only cargo knows where others are\n\
         help: a project without Rust uses libraries in directories: `path = \"…\"`\n",
    );
    // Without a main program and without Rust there is nothing to build; a library is checked.
    command(&calc).arg("check").assert().success();
    let text = stdout(&command(&calc).arg("graph").assert().success());
    assert!(text.contains("SLOPE"), "{text}");
    let test = "PROGRAM T\nEXTERNAL F\nIF (SLOPE(F, 1.0) .NE. 2) STOP 1\nEND\n\
                FUNCTION F(X)\nF = X\nEND\n";
    add(&calc, "tests/slope.ff", test);
    command(&calc)
        .arg("test")
        .assert()
        .success()
        .stdout_eq("test slope ... ok\n\ntest result: ok. 1 passed; 0 failed\n");
    command(&calc).arg("build").assert().code(1).stderr_eq(
        "error: no source of `calc` has a main program, and there is no Rust either\n\
         help: write a PROGRAM, or add Rust with `farfel init` and a `src/lib.rs`\n",
    );
}
