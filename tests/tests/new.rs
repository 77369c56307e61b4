//! `farfel new` and `farfel init`: the files that they create, and the inputs that they reject.

use std::fs;

use farfel_tests::{farfel, fixed, repository, sandbox, tree, write};
use snapbox::str;

#[test]
fn new_makes_a_project_and_says_where_farfel_comes_from() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "my-game"])
        .assert()
        .success()
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
    Creating binary (application) `my-game`
       Using farfel-build and farfel-runtime in `[FARFEL]` (see --farfel-path)
note: `cd my-game && farfel run` builds it and runs it

"#]]);
    assert_eq!(
        tree(&dir.path().join("my-game")),
        [
            ".gitignore",
            "Cargo.toml",
            "README.md",
            "build.rs",
            "fortran/kepler.ff",
            "src/main.rs"
        ]
    );
    assert!(dir.path().join("my-game/.git").is_dir());
    let manifest = fs::read_to_string(dir.path().join("my-game/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"my-game\""), "{manifest}");
    let path = repository().join("farfel-build");
    assert!(
        manifest.contains(&format!("farfel-build = {{ path = {path:?} }}")),
        "{manifest}"
    );
}

#[test]
fn templates_and_kinds_choose_the_files() {
    let dir = sandbox();
    for (options, file) in [
        (&["--lib"][..], "fortran/morse.ff"),
        (&["--bin"], "fortran/kepler.ff"),
        (&["--template", "game"], "fortran/game.ff"),
        (&["--template", "legacy"], "fortran/gas.f"),
    ] {
        let name = file.replace(['/', '.'], "-");
        farfel(dir.path())
            .args(["new", "-q", &name])
            .args(options)
            .assert()
            .success()
            .stderr_eq(str![]);
        assert!(dir.path().join(&name).join(file).is_file(), "{options:?}");
    }
}

#[test]
fn no_version_control_leaves_no_traces_of_it() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "plain", "--vcs", "none"])
        .assert()
        .success();
    assert!(!dir.path().join("plain/.git").exists());
    assert!(!dir.path().join("plain/.gitignore").exists());
}

#[test]
fn a_project_inside_a_repository_gets_none_of_its_own() {
    let dir = sandbox();
    fs::create_dir(dir.path().join(".git")).unwrap();
    farfel(dir.path()).args(["new", "inner"]).assert().success();
    assert!(!dir.path().join("inner/.git").exists());
    assert!(dir.path().join("inner/.gitignore").exists());
}

#[test]
fn parents_are_made_too_and_names_can_differ_from_directories() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["new", "a/größe mit leer", "--name", "size", "--vcs", "none"])
        .assert()
        .success();
    let manifest = dir.path().join("a/größe mit leer/Cargo.toml");
    assert!(
        fs::read_to_string(manifest)
            .unwrap()
            .contains("name = \"size\"")
    );
}

#[test]
fn new_refuses_bad_names_and_existing_directories() {
    let dir = sandbox();
    fs::create_dir(dir.path().join("there")).unwrap();
    farfel(dir.path())
        .args(["new", "match"])
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: `match` cannot be a package name: it is a keyword of Rust
help: give another name with `--name NAME`; the directory can keep its own

"#]]);
    farfel(dir.path())
        .args(["new", "1st"])
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: `1st` cannot be a package name: it starts with a digit
help: give another name with `--name NAME`; the directory can keep its own

"#]]);
    farfel(dir.path())
        .args(["new", "there"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: `there` exists already
help: `farfel init` makes a project of an existing directory

"#]]);
    farfel(dir.path())
        .args(["new", "x", "--template", "nothing"])
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: invalid value 'nothing' for '--template <NAME>'
  [possible values: bin, lib, game, legacy, program]

For more information, try '--help'.

"#]]);
    assert!(tree(dir.path()).is_empty());
}

/// A file is in the place of a required directory: that fails for root as well.
#[test]
fn new_leaves_nothing_when_it_fails() {
    let dir = sandbox();
    write(dir.path(), "file", "");
    farfel(dir.path())
        .args(["new", "file/project"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
    Creating binary (application) `project`
error: cannot make a project in `[DIR]/file`: not a directory

"#]]);
    assert_eq!(tree(dir.path()), ["file"]);
}

#[test]
fn the_named_checkout_is_used_and_must_be_one() {
    let dir = sandbox();
    for package in ["farfel-build", "farfel-runtime"] {
        write(dir.path(), &format!("our farfel/{package}/Cargo.toml"), "");
    }
    farfel(dir.path())
        .args(["new", "one", "--farfel-path", "our farfel"])
        .assert()
        .success();
    farfel(dir.path())
        .args(["new", "two"])
        .env("FARFEL_PATH", "our farfel")
        .assert()
        .success();
    for name in ["one", "two"] {
        let manifest = fs::read_to_string(dir.path().join(name).join("Cargo.toml")).unwrap();
        assert!(
            manifest.contains("/our farfel/farfel-runtime\""),
            "{manifest}"
        );
    }
    farfel(dir.path())
        .args(["new", "three", "--farfel-path", "one"])
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: `one` does not hold farfel-build and farfel-runtime
help: `--farfel-path` (or FARFEL_PATH) names a checkout of Farfel

"#]]);
    assert!(!dir.path().join("three").exists());
}

#[test]
fn a_new_package_in_a_workspace_must_be_listed() {
    let dir = sandbox();
    write(dir.path(), "Cargo.toml", "[workspace]\nmembers = []\n");
    farfel(dir.path())
        .args(["new", "member", "--vcs", "none"])
        .assert()
        .success()
        .stderr_eq(str![[r#"
    Creating binary (application) `member`
       Using farfel-build and farfel-runtime in `[FARFEL]` (see --farfel-path)
warning: `[DIR]/Cargo.toml` is a workspace: add the new package to its `members` or `exclude`
note: `cd member && farfel run` builds it and runs it

"#]]);
}

#[test]
fn a_new_package_beside_a_workspace_is_not_in_it() {
    let dir = sandbox();
    let workspace = dir.path().join("workspace");
    write(&workspace, "Cargo.toml", "[workspace]\nmembers = []\n");
    farfel(&workspace)
        .args(["new", "../beside", "--vcs", "none"])
        .assert()
        .success()
        .stderr_eq(str![[r#"
    Creating binary (application) `beside`
       Using farfel-build and farfel-runtime in `[FARFEL]` (see --farfel-path)
note: `cd ../beside && farfel run` builds it and runs it

"#]]);
}

#[test]
fn init_makes_a_project_of_a_directory() {
    let dir = sandbox();
    let project = dir.path().join("orbit");
    write(&project, "notes.txt", "keep me");
    farfel(&project)
        .args(["init", "--vcs", "none"])
        .assert()
        .success()
        .stderr_eq(str![[r#"
    Creating binary (application) `orbit`
       Using farfel-build and farfel-runtime in `[FARFEL]` (see --farfel-path)

"#]]);
    assert_eq!(
        tree(&project),
        [
            "Cargo.toml",
            "README.md",
            "build.rs",
            "fortran/kepler.ff",
            "notes.txt",
            "src/main.rs"
        ]
    );
}

#[test]
fn init_replaces_nothing() {
    let dir = sandbox();
    let project = dir.path().join("orbit");
    write(&project, "src/main.rs", "mine");
    farfel(&project)
        .arg("init")
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: `src/main.rs` exists already and would be replaced

"#]]);
    assert_eq!(tree(&project), ["src/main.rs"]);
    assert_eq!(
        fs::read_to_string(project.join("src/main.rs")).unwrap(),
        "mine"
    );
}

#[test]
fn init_gives_a_rust_package_what_it_lacks() {
    let dir = sandbox();
    let manifest =
        "# ours\n[package]\nname = \"theirs\"\nversion = \"1.0.0\"\n\n[dependencies]\n# sorted\n";
    write(dir.path(), "Cargo.toml", manifest);
    write(dir.path(), "src/lib.rs", "");
    farfel(dir.path())
        .arg("init")
        .assert()
        .success()
        .stderr_eq(str![[r#"
      Adding farfel-build to build-dependencies
      Adding farfel-runtime to dependencies
      Adding build.rs
note: put Farfel sources into `fortran/` and write `farfel_runtime::include_bindings!();` where their subprograms shall be callable
       Using farfel-build and farfel-runtime in `[FARFEL]` (see --farfel-path)

"#]]);
    let changed = fs::read_to_string(dir.path().join("Cargo.toml")).unwrap();
    assert!(
        changed.starts_with("# ours\n[package]\nname = \"theirs\"\n"),
        "{changed}"
    );
    assert!(
        changed.contains("farfel-runtime = {") && changed.contains("farfel-build = {"),
        "{changed}"
    );
    assert!(dir.path().join("build.rs").is_file() && dir.path().join("fortran").is_dir());
    // Running it again changes nothing.
    farfel(dir.path()).arg("init").assert().success();
    assert_eq!(
        fs::read_to_string(dir.path().join("Cargo.toml")).unwrap(),
        changed
    );
}

#[test]
fn init_does_not_touch_a_build_script() {
    let dir = sandbox();
    let manifest = "[package]\nname = \"theirs\"\nversion = \"1.0.0\"\n";
    write(dir.path(), "Cargo.toml", manifest);
    write(dir.path(), "build.rs", "fn main() {}\n");
    farfel(dir.path())
        .arg("init")
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error: this package has a build script of its own
help: add `farfel_build::compile();` to the `main` of its build.rs first

"#]]);
    assert_eq!(
        fs::read_to_string(dir.path().join("Cargo.toml")).unwrap(),
        manifest
    );
    assert_eq!(tree(dir.path()), ["Cargo.toml", "build.rs"]);
}

/// Existing Fortran becomes the project; no other files are added.
#[test]
fn init_takes_over_a_folder_of_fortran() {
    let dir = sandbox();
    let project = dir.path().join("orbit");
    write(
        &project,
        "Makefile",
        "FFLAGS = -O3 -fdefault-real-8 -march=native\nOBJS = main.o sub/cube.o\n\
         orbit: $(OBJS)\n\tgfortran -o $@ $(OBJS) -lm\n",
    );
    let main = fixed("X = 0.1\nCALL CUBE(X, Y)\nPRINT '(F12.9)', Y\nEND\n");
    write(&project, "main.f", main);
    let cube = fixed("SUBROUTINE CUBE(X, Y)\nY = X*X*X\nEND\n");
    write(&project, "sub/cube.f", &cube);
    write(&project, "old/cube.f", &cube);
    farfel(&project)
        .args(["init", "--vcs", "none"])
        .assert()
        .success()
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
       Found 3 source files, 1 main program (main.f), Makefile
      Taking -fdefault-real-8 from Makefile
warning: flags of Makefile that are not taken over: -march=native
 Leaving out old/cube.f: not in Makefile
     Writing Cargo.toml
note: `farfel check` looks for errors, `farfel build` builds the programs

"#]]);
    assert_eq!(
        tree(&project),
        [
            "Cargo.toml",
            "Makefile",
            "main.f",
            "old/cube.f",
            "sub/cube.f"
        ]
    );
    farfel(&project).arg("check").assert().success();
    farfel(&project)
        .args(["run", "-q"])
        .assert()
        .success()
        .stdout_eq(" 0.001000000\n");
}

/// Without a main program it is a library for Rust; files that Farfel does not support are left out.
#[test]
fn init_makes_a_library_of_subprograms() {
    let dir = sandbox();
    let project = dir.path().join("taken-over");
    write(
        &project,
        "cube.f",
        fixed("SUBROUTINE CUBE(X, Y)\nY = X*X*X\nEND\n"),
    );
    write(
        &project,
        "broken.f",
        fixed("SUBROUTINE BROKEN(X)\nX = (1 +\nEND\n"),
    );
    farfel(&project)
        .args(["init", "--vcs", "none"])
        .assert()
        .success()
        .stderr_eq(str![[r#"
       Found 2 source files
 Leaving out broken.f: broken.f:2:15: F0001 expected an expression, found the end of the statement
      Adding farfel-build to build-dependencies
      Adding farfel-runtime to dependencies
     Writing build.rs, src/lib.rs, Cargo.toml
note: `farfel check` looks for errors, `farfel build` builds the library

"#]]);
    write(
        &project,
        "tests/cubes.rs",
        "#[test]\nfn cubes() {\n    assert_eq!(taken_over::cube(2.0), 8.0);\n}\n",
    );
    farfel(&project).args(["test", "-q"]).assert().success();
}
