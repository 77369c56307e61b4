//! Build scripts with the `farfel` command and with the bundled compiler, which must have the same outcome;
//! and their messages if there is no compiler.
#![cfg(target_os = "linux")]

use crate::script::{KIND, Script, library, program};
use crate::support::Project;
use farfel_tests::{farfel_path, repository, sandbox};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The outcome of a run: its exit status, its lines for cargo, its other output, its files.
#[derive(Debug, PartialEq)]
struct Left {
    code: Option<i32>,
    directives: Vec<String>,
    stderr: String,
    files: BTreeMap<PathBuf, blake3::Hash>,
}

fn left(script: &Script) -> Left {
    let _ = fs::remove_dir_all(&script.out);
    fs::create_dir_all(&script.out).unwrap();
    let output = script.command().output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let mut files = BTreeMap::new();
    let mut open = vec![script.out.clone()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            // These contain times.
            if path.ends_with("farfel-timings.json") || path.ends_with("farfel.state") {
                continue;
            }
            match path.is_dir() {
                true => open.push(path),
                false => drop(files.insert(path.clone(), blake3::hash(&fs::read(&path).unwrap()))),
            }
        }
    }
    Left {
        code: output.status.code(),
        directives: stdout
            .lines()
            .filter(|l| l.starts_with("cargo::"))
            .map(str::to_owned)
            .collect(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        files,
    }
}

#[test]
fn both_ways_lead_to_the_same() {
    let dir = sandbox();
    let p = Script::new(dir.path(), "plan").with("CARGO_MANIFEST_LINKS", "plan");
    library(&p);
    let manifest = fs::read_to_string(p.root.join("Cargo.toml")).unwrap();
    let lints = "[package.metadata.farfel.lints]\nunused-variable = 'warn'\n";
    p.file("Cargo.toml", manifest + lints);
    let zeta = "      SUBROUTINE ZETA(X)
";
    p.edit(
        "fortran/c.f",
        zeta,
        &format!(
            "{zeta}      INTEGER UNUSED
"
        ),
    );
    let command = farfel_path();
    let cache = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let mut seen = Vec::new();
    let mut compare = |p: &Script, what: &str| {
        let p = p.clone().with(KIND, what);
        let inside = left(&p.clone().with("FARFEL_CACHE_DIR", cache("one")));
        let by_command = p.with("FARFEL_CACHE_DIR", cache("other"));
        let mut outside = left(&by_command.with("FARFEL", command.to_str().unwrap()));
        // Another command is another compiler.
        let watched = format!("cargo::rerun-if-changed={}", command.display());
        let at = outside.directives.iter().position(|d| *d == watched);
        assert_eq!(at.is_some(), outside.code == Some(0), "{outside:?}");
        at.map(|at| outside.directives.remove(at));
        // An error is reported as one, in both.
        assert_eq!(inside, outside, "{what}");
        seen.push((what.to_owned(), inside));
    };
    compare(&p, "plain");
    compare(&p, "builder");
    compare(&p, "wrong");
    compare(&p.clone().with("DOCS_RS", "1"), "documentation");
    compare(&p.clone().with("FARFEL_FC", "no-such-compiler"), "compiler");
    compare(&p.clone().with("FARFEL_LINTS", "all=deny"), "lints");
    compare(&p, "try");
    p.file(
        "src/a.ff",
        "      SUBROUTINE BROKEN\n      CALL (\n      END\n",
    );
    compare(&p, "broken");

    // They are not equal only because nothing happened.
    let of = |what: &str| &seen.iter().find(|(w, _)| w == what).unwrap().1;
    let has = |what: &str, line: &str| of(what).directives.iter().any(|d| d.contains(line));
    for (what, code) in [
        ("plain", 0),
        ("builder", 0),
        ("wrong", 1),
        ("documentation", 0),
        ("compiler", 1),
        ("lints", 1),
        ("try", 0),
        ("broken", 1),
    ] {
        assert_eq!(of(what).code, Some(code), "{what}: {:?}", of(what));
    }
    assert!(has("plain", "rustc-link-lib=static=farfel_plan_0_1_0"));
    assert!(
        has(
            "plain",
            "warning=fortran/c.f:20:15: F0505 nothing uses UNUSED"
        ),
        "{:?}",
        of("plain")
    );
    assert!(has("plain", "metadata=farfel_library="));
    assert!(!has("builder", "warning="));
    assert!(has("wrong", "error=build.rs: unknown field `real-knd`"));
    assert!(of("broken").stderr.contains("2 |       CALL ("));
    assert!(of("try").stderr.contains("UNUSED") && of("try").stderr.contains("warnings: ["));
    // Functions are in files of their own.
    let other = |f: &&PathBuf| !f.components().any(|c| c.as_os_str() == "farfel_bindings");
    let files = |what: &str| of(what).files.keys().filter(other).count();
    assert!(files("plain") > 8 && files("documentation") < 4);
}

/// `exclude` leaves files out, and `link` names libraries that sources call: in programs and in projects of
/// cargo.
#[test]
fn excluded_files_and_linked_libraries() {
    let dir = sandbox();
    let p = Script::new(dir.path(), "linked");
    p.file(
        "Cargo.toml",
        "[package]\nname = 'linked'\nversion = '0.1.0'\n[package.metadata.farfel]\n\
         exclude = ['src/old', 'src/broken.f']\nlink = ['faraway']\n\
         lints = { unknown-procedure = 'allow' }\n",
    )
    .file(
        "src/one.f",
        "      SUBROUTINE ONE(I)\n      CALL FAR(I)\n      END\n",
    )
    .file("src/broken.f", "      CALL (\n")
    .file("src/old/broken.f", "      CALL (\n")
    .file(
        "main.f",
        "      COMMON /SHARED/ K\n      K = 2\n      CALL FAR(I)\n      IF (I .NE. 7) STOP 1\n      \
         IF (K .NE. 9) STOP 2\n      END\n",
    )
    .file(
        "far.f",
        "      SUBROUTINE FAR(I)\n      COMMON /SHARED/ K\n      I = 5 + K\n      K = 9\n      END\n",
    );
    let said = left(&p);
    assert_eq!(said.code, Some(0), "{said:?}");
    let at = |line: &str| said.directives.iter().position(|d| d == line);
    let called = at("cargo::rustc-link-lib=faraway").unwrap();
    assert!(at("cargo::rustc-link-lib=static=farfel_linked_0_1_0").unwrap() < called);
    assert!(called < at("cargo::rustc-link-lib=dylib=gfortran").unwrap());
    // A program gets it from where the linker looks.
    let make = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        assert!(
            command
                .current_dir(&p.root)
                .args(args)
                .status()
                .unwrap()
                .success()
        );
    };
    make("gfortran", &["-c", "far.f", "-o", "far.o"]);
    make("ar", &["rcs", "libfaraway.a", "far.o"]);
    let run = |manifest: &str| {
        p.file(
            "Cargo.toml",
            format!("[package]\nname = 'linked'\n{manifest}"),
        );
        let mut command = Command::new(farfel_path());
        command
            .args(["run", "main.f", "-q"])
            .current_dir(&p.root)
            .env("FARFEL_CACHE_DIR", dir.path().join("cache"))
            .env("LIBRARY_PATH", &p.root);
        command.output().unwrap()
    };
    let without = run("");
    assert_eq!(without.status.code(), Some(1));
    let said = String::from_utf8(without.stderr).unwrap();
    assert!(said.contains("no file defines FAR;"), "{said}");
    // The program and the library share their COMMON block.
    let with = run("[package.metadata.farfel]\nlink = ['faraway']\n");
    assert_eq!(with.status.code(), Some(0), "{with:?}");
    // A missing library.
    p.file(
        "Cargo.toml",
        "[package]\nname = 'linked'\n[package.metadata.farfel]\nexclude = ['src/gone']\n",
    );
    let said = left(&p).directives;
    assert!(
        said[0].starts_with("cargo::error=setting `exclude`: "),
        "{said:?}"
    );
}

/// When the process that waits for the command ends, so does the command.
#[test]
fn the_command_ends_with_the_build_script() {
    let mut child = Command::new(farfel_path())
        .args(["build-script", "--protocol", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let ready = format!(
        "{{\"reason\":\"ready\",\"protocol\":1,\"version\":\"{}\"}}\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap(), ready);
}

/// A project whose compiled build script is run by hand.
struct Door {
    project: Project,
    script: PathBuf,
    home: PathBuf,
}

impl Door {
    fn new() -> Door {
        let project = Project::new("door", "door");
        project
            .file("src/lib.rs", "farfel_runtime::include_bindings!();\n")
            .file(
                "src/one.f",
                "      SUBROUTINE ONE(I)\n      I = 1\n      END\n",
            );
        let ran = project.cargo(&["build"]);
        assert!(ran.ok, "{}", ran.stderr);
        // The script is in the directory in which it was compiled, OUT_DIR in the one in which it was run.
        let build = project.out();
        let build = build.ancestors().nth(2).unwrap();
        let mut scripts: Vec<PathBuf> = fs::read_dir(build)
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| {
                p.file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with("door-")
            })
            .map(|p| p.join("build-script-build"))
            .filter(|p| p.is_file())
            .collect();
        scripts.sort_by_key(|p| fs::metadata(p).unwrap().modified().unwrap());
        let home = project.directory.join("cargo-home");
        fs::create_dir_all(home.join("bin")).unwrap();
        Door {
            script: scripts.pop().unwrap(),
            home,
            project,
        }
    }

    /// Runs the script with environment variables.
    fn run(&self, variables: &[(&str, &Path)]) -> Output {
        let mut command = Command::new(&self.script);
        command
            .env_clear()
            .current_dir(&self.project.directory)
            .env("CARGO_MANIFEST_DIR", &self.project.directory)
            .env("OUT_DIR", self.project.directory.join("out"))
            .env(
                "TARGET",
                format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
            )
            .env(
                "HOST",
                format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
            )
            .env("CARGO_PKG_NAME", "door")
            .env("CARGO_PKG_VERSION", "0.1.0")
            .env("FARFEL_CACHE_DIR", self.project.directory.join("cache"))
            .env("CARGO_HOME", &self.home)
            .env("PATH", "/usr/bin:/bin")
            .envs(variables.iter().copied());
        command.output().unwrap()
    }

    /// Returns the single line that it prints for cargo when it fails.
    fn error(&self, variables: &[(&str, &Path)]) -> String {
        let output = self.run(variables);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        let line = said.strip_prefix("cargo::error=").unwrap();
        assert_eq!(line.lines().count(), 1, "{said}");
        line.trim_end().to_owned()
    }
}

#[test]
fn the_command_is_found() {
    let door = Door::new();
    let here = Path::new("");
    let home = door.home.display().to_string();
    let version = env!("CARGO_PKG_VERSION");
    let install = format!("cargo install --path {}/farfel-cli", repository().display());

    // Without a command: both remedies, on one line.
    assert_eq!(
        door.error(&[]),
        format!(
            "the farfel command was not found (FARFEL is not set, there is no {home}/bin/farfel, there is \
             none on PATH); install it with `{install}`, or have the compiler compiled into the build \
             script: `farfel-build = {{ …, features = [\"bundled\"] }}` in Cargo.toml"
        )
    );
    let error = door.error(&[("FARFEL", Path::new("/no/such/farfel"))]);
    assert!(error.contains("(FARFEL names /no/such/farfel)"), "{error}");

    // One of another version, one older than the protocol, and something that is not farfel.
    let fake = |name: &str, does: &str| {
        let text = format!("#!/bin/sh\n{does}\n");
        program(&door.project.directory.join("fakes").join(name), &text)
    };
    let newer = "echo '{\"reason\":\"ready\",\"protocol\":1,\"version\":\"7.0.0\"}'; read x";
    let older = "case $1 in --version) echo farfel 0.0.9;; *) echo usage >&2; exit 2;; esac";
    for (does, says) in [
        (newer, "is farfel 7.0.0, and"),
        (older, "is farfel 0.0.9, and"),
        ("exit 0", "is farfel of another version, and"),
    ] {
        let command = fake("farfel", does);
        let error = door.error(&[("FARFEL", &command)]);
        assert_eq!(
            error,
            format!(
                "{} {says} this package uses farfel-build {version}; install the same version with \
                 `{install}`, or name another command by the variable FARFEL",
                command.display()
            )
        );
    }
    // One that crashes.
    let ready = format!("echo '{{\"reason\":\"ready\",\"protocol\":1,\"version\":\"{version}\"}}'");
    let command = fake("farfel", &format!("{ready}; read x; kill -KILL $$"));
    let error = door.error(&[("FARFEL", &command)]);
    let expected = ": it has ended without an answer, with signal: 9 (SIGKILL)";
    assert!(error.ends_with(expected), "{error}");

    // The order is FARFEL, CARGO_HOME, PATH.
    let real = farfel_path();
    let noted = |name: &str| {
        let text = format!("echo {name} >&2; exec {} \"$@\"", real.display());
        fake(name, &text)
    };
    let path = noted("path/farfel");
    let path = format!("{}:/usr/bin:/bin", path.parent().unwrap().display());
    let who = |variables: &[(&str, &Path)]| {
        let output = door.run(variables);
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        said.lines().next().unwrap().to_owned()
    };
    assert_eq!(who(&[("PATH", Path::new(&path))]), "path/farfel");
    fs::copy(noted("home"), door.home.join("bin/farfel")).unwrap();
    assert_eq!(who(&[("PATH", Path::new(&path))]), "home");
    assert_eq!(who(&[("FARFEL", &noted("named"))]), "named");
    assert_eq!(who(&[("FARFEL", here)]), "home");
}

/// Cargo runs a build script again when FARFEL changes, so a command that build scripts find by themselves
/// does not set it.
#[test]
fn farfel_and_cargo_take_turns() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home
        .or_else(|| Some(std::env::home_dir()?.join(".cargo")))
        .unwrap();
    if home.join("bin/farfel").exists() {
        // It would be found before ours.
        return;
    }
    let p = Project::new("turns", "turns");
    p.file("src/lib.rs", "farfel_runtime::include_bindings!();\n")
        .file(
            "src/one.f",
            "      SUBROUTINE ONE(I)\n      I = 1\n      END\n",
        );
    let bin = p.directory.join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(farfel_path(), bin.join("farfel")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = |program: &Path, args: &[&str]| {
        let ran = p.program_with(program, args, &[("PATH", &path), ("FARFEL", "")]);
        assert!(ran.ok, "{}", ran.stderr);
        ran.stderr
    };
    let (farfel, cargo) = (bin.join("farfel"), Path::new(env!("CARGO")));
    run(&farfel, &["build"]);
    for _ in 0..2 {
        let seen = run(cargo, &["build", "-v"]);
        assert!(seen.contains("Fresh turns v0.1.0"), "{seen}");
        let seen = run(&farfel, &["build", "-v"]);
        assert!(seen.contains("Fresh turns v0.1.0"), "{seen}");
    }
    // Another command is another compiler, in FARFEL or in its place.
    let other = program(
        &p.directory.join("other"),
        "#!/bin/sh\nexec farfel \"$@\"\n",
    );
    let variables = [("PATH", &*path), ("FARFEL", other.to_str().unwrap())];
    let seen = p.program_with(cargo, &["build", "-v"], &variables).stderr;
    assert!(seen.contains("Dirty turns v0.1.0"), "{seen}");
}

/// The packages that a user's first build compiles besides the user's own, according to
/// `example-project/Cargo.lock`.
#[test]
fn the_door_is_small() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--prefix",
            "none",
            "--edges",
            "normal,build",
        ])
        .args(["--package", "farfel-build", "--manifest-path"])
        .arg(repository().join("example-project/Cargo.toml"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let mut packages: Vec<&str> = said.lines().filter_map(|l| l.split(' ').next()).collect();
    packages.sort();
    packages.dedup();
    assert!(packages.contains(&"farfel-build"), "{output:?}");
    assert!(packages.len() <= 1 + 8, "{packages:?}");
}
