//! Builds that are killed during compilation: no process continues, no file is left, and the next build is
//! right.
#![cfg(target_os = "linux")]

use farfel_driver::Session;

use crate::support::Project;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A gfortran that hangs while there is a file `hang` beside it, together with a sleeping child process.
fn compiler(directory: &Path) -> PathBuf {
    let here = directory.display();
    let text = format!(
        "#!/bin/sh\nfor a; do case $a in -c) if [ -e '{here}/hang' ]; then\n\
         '{here}/sleeper' 300 & '{here}/sleeper' 300\nfi;; esac; done\nexec gfortran \"$@\"\n"
    );
    let path = directory.join("fc");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy("/bin/sleep", directory.join("sleeper")).unwrap();
    path
}

/// Returns the processes that run a program or a script.
fn running(program: &Path) -> Vec<String> {
    let name = program.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    pids.filter(|pid| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command
            .split(|b| *b == 0)
            .take(2)
            .any(|w| w == name.as_bytes())
    })
    .collect()
}

fn parent(pid: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("PPid:"));
    line.unwrap().trim().to_owned()
}

#[track_caller]
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(120), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

enum SignalTarget {
    Group,
    Script,
    Command,
}

#[test]
fn however_a_build_ends_its_compilers_end() {
    let p = Project::new("ended", "ended");
    p.file(
        "src/main.rs",
        "farfel_runtime::include_bindings!();\nfn main() { println!(\"{}\", value()) }\n",
    );
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let farfel = farfel_tests::farfel_path();
    let (fc, sleeper, hang) = (compiler(d), d.join("sleeper"), d.join("hang"));
    let temporary = d.join("tmp");
    fs::create_dir(&temporary).unwrap();
    let variables = [
        ("FARFEL_FC", fc.to_str().unwrap()),
        ("FARFEL_CACHE_DIR", d.to_str().unwrap()),
        ("TMPDIR", temporary.to_str().unwrap()),
        ("FARFEL", farfel.to_str().unwrap()),
    ];
    // The target of the signal: cargo's process group, as from a terminal, the build script, or the command
    // that it runs.
    for (n, (signal, whom)) in [
        ("INT", SignalTarget::Group),
        ("KILL", SignalTarget::Group),
        ("TERM", SignalTarget::Script),
        ("KILL", SignalTarget::Script),
        ("TERM", SignalTarget::Command),
        ("KILL", SignalTarget::Command),
    ]
    .into_iter()
    .enumerate()
    {
        p.file(
            "src/value.ff",
            format!("      INTEGER FUNCTION VALUE()\n      VALUE = {n}\n      END\n"),
        );
        fs::write(&hang, "").unwrap();
        let mut cargo = Command::new(env!("CARGO"))
            .arg("build")
            .current_dir(&p.directory)
            .env("CARGO_TARGET_DIR", target())
            .envs(variables)
            .process_group(0)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the compiler hangs", || running(&sleeper).len() == 2);
        let command = || parent(running(&fc).first().expect("the compiler"));
        let whom = match whom {
            SignalTarget::Group => format!("-{}", cargo.id()),
            SignalTarget::Script => parent(&command()),
            SignalTarget::Command => command(),
        };
        let kill = Command::new("/bin/kill")
            .args(["-s", signal, "--", &whom])
            .status();
        assert!(kill.unwrap().success());
        assert!(!cargo.wait().unwrap().success());
        wait_until("the compiler ends", || {
            running(&sleeper).is_empty() && running(&fc).is_empty()
        });
        wait_until("its directory goes", || {
            fs::read_dir(&temporary).unwrap().next().is_none()
        });
        fs::remove_file(&hang).unwrap();
        let ran = p.cargo_with(&["run", "-q"], &variables);
        assert_eq!(ran.stdout, format!("{n}\n"), "{signal}: {}", ran.stderr);
    }
}

/// Returns the target directory of [`Project::cargo`].
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("target")
}

/// A gfortran that crashes, itself or in the program that it starts: an error that says so, and nothing that
/// looks like an error in the source.
#[test]
fn a_compiler_that_crashes() {
    let directory = tempfile::tempdir().unwrap();
    let d = directory.path();
    let source = d.join("p.f");
    fs::write(&source, "      END\n").unwrap();
    let fc = d.join("fc");
    for (does, expected) in [
        ("kill -SEGV $$", "signal: 11 (SIGSEGV)"),
        (
            "echo 'gfortran: fatal error: Killed signal terminated program f951' >&2; exit 1",
            "Killed signal terminated program f951",
        ),
        (
            "echo 'f951: internal compiler error: in gfc' >&2; exit 4",
            "f951: internal compiler error: in gfc",
        ),
        ("exit 3", "exit status: 3"),
    ] {
        let text =
            format!("#!/bin/sh\ncase $1 in -dump*|-print*) exec gfortran \"$@\";; esac\n{does}\n");
        fs::write(&fc, text).unwrap();
        fs::set_permissions(&fc, fs::Permissions::from_mode(0o755)).unwrap();
        let mut config = farfel_driver::Config {
            root: d.to_owned(),
            fc: Some(fc.clone()),
            ..farfel_driver::Config::default()
        };
        config.cache.enabled = false;
        let out = d.join("out");
        let error = Session::of_files(std::slice::from_ref(&source), &config)
            .and_then(|s| s.build_program(&out))
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.exit_code(), 2);
        assert!(!out.exists());
    }
}
