//! Errors: each time one clear message, the right exit code, and nothing half-written.

use std::fs;
use std::path::{Path, PathBuf};

use farfel_tests::{command, farfel, farfel_path, fixed, sandbox, texts, tree, write};
use snapbox::str;

#[test]
fn a_syntax_error_in_a_nested_function() {
    let dir = sandbox();
    let source = "\
FUNCTION OUTER(X)
FUNCTION INNER(Y)
INNER = Y*(X +
END
OUTER = INNER(X)
END
";
    write(dir.path(), "nested.ff", fixed(source));
    for verb in ["check", "expand", "build", "run"] {
        let output = farfel(dir.path())
            .args([verb, "-q", "nested.ff"])
            .assert()
            .code(1)
            .stdout_eq(str![]);
        let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert_eq!(text.matches("nested.ff:3").count(), 1, "{verb}: {text}");
    }
    farfel(dir.path())
        .args(["check", "nested.ff"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error[F0001]: expected an expression, found the end of the statement
 --> nested.ff:3:21
  |
3 |       INNER = Y*(X +
  |                     ^

error: 1 error

"#]]);
    assert_eq!(tree(dir.path()), ["nested.ff"]);
}

#[test]
fn unknown_names_are_all_reported() {
    let dir = sandbox();
    let source = "\
SUBROUTINE WORK(X, Y)
IMPLICIT NONE
REAL X, Y, LENGTH
LENGTH = X
Y = LENGHT + Z
END
";
    write(dir.path(), "unknown.ff", fixed(source));
    farfel(dir.path())
        .args(["build", "unknown.ff", "-o", "out"])
        .assert()
        .code(1)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
   Compiling unknown.ff
error[F0101]: LENGHT is not declared
 --> unknown.ff:5:11
  |
5 |       Y = LENGHT + Z
  |           ^^^^^^ IMPLICIT NONE asks for a declaration
  |
  = help: did you mean LENGTH? Otherwise declare LENGHT

error[F0101]: Z is not declared
 --> unknown.ff:5:20
  |
5 |       Y = LENGHT + Z
  |                    ^ IMPLICIT NONE asks for a declaration
  |
  = help: declare Z, for instance `REAL Z`

error: 2 errors

"#]]);
    assert_eq!(tree(dir.path()), ["unknown.ff"]);
}

/// gfortran reports that the subroutine is undefined; the failed command is shown.
#[test]
fn an_unknown_subroutine() {
    let dir = sandbox();
    write(
        dir.path(),
        "main.ff",
        fixed("PROGRAM P\nCALL NOBODY(1.0)\nEND\n"),
    );
    farfel(dir.path())
        .args(["build", "main.ff"])
        .assert()
        .failure()
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
   Compiling main.ff
error[F0107]: there is no subroutine named NOBODY
 --> main.ff:2:12
  |
2 |       CALL NOBODY(1.0)
  |            ^^^^^^ not known here
  |
  = help: define SUBROUTINE NOBODY, or write EXTERNAL NOBODY if a library provides it

error: 1 error

"#]]);
    assert_eq!(tree(dir.path()), ["main.ff"]);
}

#[test]
fn no_fortran_compiler() {
    let dir = sandbox();
    write(dir.path(), "main.ff", fixed("PROGRAM P\nPRINT *, 1\nEND\n"));
    let nothing = dir.path().join("empty");
    fs::create_dir(&nothing).unwrap();
    for verb in ["build", "run"] {
        farfel(dir.path())
            .args([verb, "main.ff"])
            .env("PATH", &nothing)
            .env("FARFEL_INSTALL", "0")
            .assert()
            .code(1)
            .stdout_eq(str![])
            .stderr_eq(str![[r#"
error: no Fortran compiler found: looked for gfortran, gfortran-17, gfortran-16, gfortran-15, gfortran-14, gfortran-13, gfortran-12, gfortran-11, gfortran-10, gfortran-9; install GNU Fortran (gfortran), or set FARFEL_FC to a gfortran or flang that is elsewhere

"#]]);
    }
    // Reading needs no gfortran.
    farfel(dir.path())
        .args(["check", "-q", "main.ff"])
        .env("PATH", &nothing)
        .assert()
        .success();
    farfel(dir.path())
        .args(["expand", "-q", "main.ff"])
        .env("PATH", &nothing)
        .assert()
        .success();
    assert_eq!(tree(dir.path()), ["main.ff"]);
}

#[test]
fn a_compiler_that_is_named_and_missing_is_not_replaced() {
    let dir = sandbox();
    write(dir.path(), "main.ff", fixed("PROGRAM P\nPRINT *, 1\nEND\n"));
    farfel(dir.path())
        .args(["run", "main.ff", "--fc", "no-such-gfortran"])
        .assert()
        .code(1)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
error: no Fortran compiler found: looked for no-such-gfortran; install it with `farfel doctor --fix` or `sudo apt-get install --yes --no-install-recommends gfortran`, let the build do it with FARFEL_INSTALL=1, or set FARFEL_FC to a gfortran or flang that is elsewhere

"#]]);
}

/// A package manager that installs gfortran by linking the real one.
#[cfg(unix)]
#[test]
fn a_missing_compiler_is_installed_and_said_so() {
    let dir = sandbox();
    write(dir.path(), "main.ff", fixed("PROGRAM P\nPRINT *, 1\nEND\n"));
    let tools = without_gfortran(dir.path());
    let real = which("gfortran");
    let script = format!(
        "#!/bin/sh\necho \"apt: $*\" >&2\ncase \"$1\" in install) ln -s '{}' '{}/gfortran';; esac\n",
        real.display(),
        tools.display()
    );
    let _ = fs::remove_file(tools.join("apt-get"));
    executable(&tools, "apt-get", &script);
    executable(&tools, "id", "#!/bin/sh\necho 0\n");

    // Not if the user forbids it, and the doctor only reports it.
    farfel(dir.path())
        .args(["build", "main.ff"])
        .env("PATH", &tools)
        .env("FARFEL_INSTALL", "0")
        .assert()
        .code(1);
    let doctor = farfel(dir.path())
        .arg("doctor")
        .env("PATH", &tools)
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: gfortran is missing
help: `farfel doctor --fix` installs it

"#]]);
    let table = String::from_utf8_lossy(&doctor.get_output().stdout).into_owned();
    assert!(
        table.contains(" missing  gfortran ") && table.contains("      ok  cargo "),
        "{table}"
    );

    farfel(dir.path())
        .args(["run", "main.ff"])
        .env("PATH", &tools)
        .assert()
        .success()
        .stdout_eq("           1\n")
        .stderr_eq(str![[r#"
  Installing gfortran, which is missing (FARFEL_INSTALL=0 prevents this)
  Installing apt-get update
apt: update
  Installing apt-get install --yes --no-install-recommends gfortran
apt: install --yes --no-install-recommends gfortran
   Compiling main.ff

"#]]);
    fs::remove_file(tools.join("gfortran")).unwrap();
    farfel(dir.path())
        .args(["doctor", "--fix"])
        .env("PATH", &tools)
        .assert()
        .success();
    farfel(dir.path())
        .arg("doctor")
        .env("PATH", &tools)
        .assert()
        .success();
}

#[test]
fn files_and_directories_that_are_not_there() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["check", "no-such.ff"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: cannot read `no-such.ff`: no such file or directory

"#]]);
    farfel(dir.path())
        .args(["run", "argument"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: no such file `argument`
help: arguments for the program go after `--`: `-- argument`

"#]]);
    farfel(dir.path())
        .args(["check", "."])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: `.` is a directory, not a source file
help: name source files, or a project with `--manifest-path`

"#]]);
    farfel(dir.path())
        .arg("build")
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: no Cargo.toml in `[DIR]` or above it
help: `farfel new NAME` makes a project; `farfel run FILE.ff` needs none

"#]]);
    farfel(dir.path())
        .args(["test", "--manifest-path", "x/Cargo.toml"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: no such file `x/Cargo.toml`

"#]]);
    farfel(dir.path())
        .args(["run", "--manifest-path", "x"])
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: `--manifest-path` must name a Cargo.toml, not `x`

"#]]);
    farfel(dir.path())
        .args(["init", "nowhere"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: no such directory `nowhere`
help: `farfel new` makes a project in a new directory

"#]]);
}

#[test]
fn a_wrong_command_line() {
    let dir = sandbox();
    write(dir.path(), "x.ff", fixed("PROGRAM P\nEND\n"));
    farfel(dir.path())
        .args(["build", "x.ff", "--features", "fast"])
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: `--features` is for projects, but there are files on the command line

"#]]);
    farfel(dir.path())
        .args(["build", "--real-kind", "8"])
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: the following required arguments were not provided:
  <FILE>...

Usage: farfel build --real-kind <BYTES> <FILE>...

For more information, try '--help'.

"#]]);
    farfel(dir.path())
        .args(["build", "--no-such-option"])
        .assert()
        .code(2)
        .stdout_eq(str![]);
    farfel(dir.path())
        .args(["check", "x.ff", "--real-kind", "16"])
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: invalid value '16' for '--real-kind <BYTES>': a REAL has 4 or 8 bytes

For more information, try '--help'.

"#]]);
    farfel(dir.path())
        .arg("assemble")
        .assert()
        .code(2)
        .stdout_eq(str![]);
}

#[test]
fn an_empty_file() {
    let dir = sandbox();
    write(dir.path(), "empty.ff", "");
    farfel(dir.path())
        .args(["run", "empty.ff"])
        .assert()
        .code(1)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
error: nothing to compile: `empty.ff` is empty

"#]]);
    farfel(dir.path())
        .args(["build", "empty.ff"])
        .assert()
        .code(1)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
error: nothing to compile: `empty.ff` is empty

"#]]);
    farfel(dir.path())
        .args(["check", "empty.ff"])
        .assert()
        .code(1)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
error: nothing to compile: `empty.ff` is empty

"#]]);
    farfel(dir.path())
        .args(["expand", "empty.ff"])
        .assert()
        .code(1)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
error: nothing to compile: `empty.ff` is empty

"#]]);
    assert_eq!(tree(dir.path()), ["empty.ff"]);
}

/// Root may write everywhere, so the command then runs as nobody: from a copy in a folder that everybody can
/// enter.
#[cfg(unix)]
#[test]
fn a_directory_without_permission() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let dir = sandbox();
    let open =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let program = dir.path().join("farfel");
    fs::copy(farfel_path(), &program).unwrap();
    write(dir.path(), "main.ff", fixed("PROGRAM P\nPRINT *, 1\nEND\n"));
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).unwrap();
    write(&closed, "hidden.ff", "");
    open(dir.path(), 0o755);
    open(&closed, 0o555);
    open(&closed.join("hidden.ff"), 0o000);
    let root = fs::metadata(&closed).unwrap().uid() == 0;
    let farfel = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command
            .args(arguments)
            .current_dir(dir.path())
            .env("NO_COLOR", "1")
            .env("HOME", "/");
        if root {
            command.gid(65534).uid(65534);
        }
        snapbox::cmd::Command::from_std(command).with_assert(texts(dir.path()))
    };
    farfel(&["new", "closed/project", "--vcs", "none"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
    Creating binary (application) `project`
error: cannot make a project in `[DIR]/closed`: permission denied

"#]]);
    farfel(&["build", "-q", "main.ff", "-o", "closed/program"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: cannot read or write `closed/program`: permission denied

"#]]);
    farfel(&["check", "closed/hidden.ff"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: cannot read `closed/hidden.ff`: permission denied

"#]]);
    farfel(&["init", "closed", "--name", "closed"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
       Found 1 source file
      Adding farfel-build to build-dependencies
      Adding farfel-runtime to dependencies
error: cannot write `[DIR]/closed/build.rs`: permission denied

"#]]);
    open(&closed, 0o755);
    assert_eq!(tree(&closed), ["hidden.ff"]);
}

/// Returns a folder with links to all programs on PATH except gfortran.
#[cfg(unix)]
fn without_gfortran(dir: &Path) -> PathBuf {
    let tools = dir.join("tools");
    fs::create_dir(&tools).unwrap();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let text = name.to_string_lossy();
            if !text.contains("gfortran") && !text.starts_with("f77") && !text.starts_with("f95") {
                // The first one on PATH takes precedence.
                let _ = std::os::unix::fs::symlink(entry.path(), tools.join(&name));
            }
        }
    }
    tools
}

#[cfg(unix)]
fn executable(dir: &Path, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::remove_file(dir.join(name));
    let path = write(dir, name, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
fn which(program: &str) -> PathBuf {
    std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|dir| dir.join(program))
        .find(|path| path.exists())
        .unwrap()
}

#[cfg(unix)]
#[test]
fn plain_cargo_without_gfortran_says_how_to_get_it() {
    let dir = sandbox();
    let tools = without_gfortran(dir.path());
    farfel(dir.path())
        .args(["new", "nofc", "--vcs", "none"])
        .assert()
        .success();
    let cargo = std::env::var_os("CARGO").map_or_else(|| which("cargo"), PathBuf::from);
    let output = command(&cargo, &dir.path().join("nofc"))
        .args(["build", "--quiet"])
        .env("PATH", &tools)
        .assert()
        .code(101);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    let headline = "error: nofc@0.1.0: no Fortran compiler found";
    assert_eq!(text.matches(headline).count(), 1, "{text}");
    assert!(
        text.contains("farfel doctor --fix") && !text.contains("panicked"),
        "{text}"
    );
}

#[test]
fn warnings_are_allowed_and_denied() {
    let dir = sandbox();
    write(
        dir.path(),
        "old.f",
        fixed("PROGRAM P\nCALL NOBODY(1)\nEND\n"),
    );
    let check = |args: &[&str], code: i32| -> String {
        let mut all = vec!["check"];
        all.extend(args);
        all.push("old.f");
        let output = farfel(dir.path()).args(all).assert().code(code);
        String::from_utf8_lossy(&output.get_output().stderr).into_owned()
    };
    assert!(check(&[], 0).starts_with("warning[F0107]: there is no subroutine named NOBODY"));
    assert!(check(&["-D", "warnings"], 1).starts_with("error[F0107]"));
    let named = check(&["-A", "unknown-procedure", "-D", "all"], 0);
    assert!(named.trim_start().starts_with("Checked"), "{named}");
    let wrong = check(&["-W", "unknown-procedur"], 2);
    assert!(
        wrong.contains("unknown warning `unknown-procedur`; did you mean `unknown-procedure`?"),
        "{wrong}"
    );
    // The settings of the project that the file is in; the command line overrides them.
    let manifest = "[package]\nname = \"p\"\n[package.metadata.farfel.lints]\nall = \"deny\"\n";
    fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
    assert!(check(&[], 1).starts_with("error[F0107]"));
    assert!(check(&["-W", "F0107"], 0).starts_with("warning[F0107]"));
}

#[test]
fn rules_are_explained() {
    let dir = sandbox();
    let output = farfel(dir.path()).args(["explain", "f0107"]).assert();
    let text = String::from_utf8_lossy(&output.success().get_output().stdout).into_owned();
    assert!(
        text.starts_with("F0107: unknown-procedure (error or warning)\n"),
        "{text}"
    );
    assert!(text.contains("    error[F0107]: "), "{text}");
    let listed = farfel(dir.path()).arg("explain").assert().success();
    let listed = String::from_utf8_lossy(&listed.get_output().stdout).into_owned();
    assert!(listed.contains("\n  F0107 unknown-procedure "), "{listed}");
    farfel(dir.path())
        .args(["explain", "unknwon-procedure"])
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: there is no rule `unknwon-procedure`; did you mean `unknown-procedure`?

"#]]);
}

/// The message shows the calls from the AD block down to an unknown dummy procedure, and where it comes from.
#[test]
fn the_way_to_an_unknown_procedure_is_shown() {
    let dir = sandbox();
    let text = "\
SUBROUTINE SLOPE(G, X, D)
EXTERNAL G
ADF(X)
Y = OUTER(X, G)
END ADF(D = TANGENT(Y))
END
FUNCTION OUTER(X, F)
EXTERNAL F
CALL INNER(F, X, Y)
OUTER = Y*X
END
SUBROUTINE INNER(H, X, Y)
EXTERNAL H
Y = H(X)
END
";
    write(dir.path(), "slope.ff", fixed(text));
    farfel(dir.path())
        .args(["check", "slope.ff"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error[F0304]: derivatives would go through the dummy procedure H
  --> slope.ff:14:11
   |
 1 |       SUBROUTINE SLOPE(G, X, D)
   |                        - code outside of the program passes G
 2 |       EXTERNAL G
 3 |       ADF(X)
   |       ------ for this AD block
 4 |       Y = OUTER(X, G)
   |           ----------- OUTER is called here
...
 9 |       CALL INNER(F, X, Y)
   |       ------------------- INNER is called here
...
14 |       Y = H(X)
   |           ^^^^
   |
   = help: add the tangent to the arguments of the subprogram, `EXTERNAL GD`, and say what it is: `!farfel: derivative(G(X), tangent = GD, in = X)`; or pass a procedure whose text is part of the program

error: 1 error

"#]]);
}
