//! The gallery: each program prints what its README shows, and stops when it is broken.
//!
//! `backprop.ff`, which is in reverse mode, also runs with Tapenade: with the drop-in in its place, and with
//! the real one if `TAPENADE_HOME` names it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use farfel_driver::{Config, Error, Session, render};
use farfel_tests::{farfel, repository};

/// The program in reverse mode.
const REVERSE: &str = "backprop.ff";

/// For each program, a change of one line in it or in the library that makes its results wrong. Each removes
/// or changes a derivative, if there is one.
const MUTATIONS: [(&str, &str, &str, &str); 11] = [
    (
        "root.ff",
        "lib/scalar.ff",
        "END ADF(YPRIME = TANGENT(Y))",
        "END ADF(YPRIME = TANGENT(X))",
    ),
    (
        "argmax.ff",
        "argmax.ff",
        "+ (1 - X(I))**2",
        "+ (1 + X(I))**2",
    ),
    (
        "descent.ff",
        "lib/vector.ff",
        "END ADF((H(I, J) = TANGENT(G(I)), I = 1, N))",
        "END ADF((H(I, J) = TANGENT(X(I)), I = 1, N))",
    ),
    (
        "fit.ff",
        "lib/least.ff",
        "(A(I, J) = TANGENT(R(I), J), I = 1, M)",
        "(A(I, J) = TANGENT(R(M), J), I = 1, M)",
    ),
    (
        "sparse.ff",
        "lib/sparse.ff",
        "TANGENT(X(J), GROUP(J)) = 1",
        "TANGENT(X(J), NG) = 1",
    ),
    (
        "market.ff",
        "market.ff",
        "EARNS = PROFIT(A, REPLY(A))",
        "EARNS = PROFIT(A, 3D0)",
    ),
    (
        "saddle.ff",
        "saddle.ff",
        "WORST = OVERY(ARGMAX(OVERY, 0D0, 2))",
        "WORST = OVERY(0D0)",
    ),
    (
        "growth.ff",
        "lib/runge.ff",
        "D1(I) + 2*D2(I) + 2*D3(I) + D4(I)",
        "D1(I) + 2*D2(I) + 3*D3(I)",
    ),
    (
        "implicit.ff",
        "implicit.ff",
        "THEOR = -FP/FX",
        "THEOR = FP/FX",
    ),
    ("heat.ff", "heat.ff", "ADR(Y)", "ADR(COTANGENT(Y) = 2)"),
    (
        "network.ff",
        "lib/layers.ff",
        "E = D*W(4, J)*(1 - S**2)",
        "E = D*W(4, J)*(1 - S)",
    ),
];

fn gallery() -> PathBuf {
    repository().join("gallery")
}

/// Returns the sources in a directory, sorted.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "ff"));
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Returns the output that the README shows for each program: the `text` block of the section whose heading
/// links to it.
fn shown() -> BTreeMap<String, String> {
    let readme = fs::read_to_string(gallery().join("README.md")).unwrap();
    let sections = readme.split("\n## ").skip(1);
    sections
        .map(|section| {
            let heading = section.lines().next().unwrap();
            let program = heading.split(['[', ']']).nth(1).unwrap();
            let (_, block) = section.split_once("```text\n").unwrap();
            let (text, _) = block.split_once("```").unwrap();
            (program.to_owned(), text.to_owned())
        })
        .collect()
}

/// Compiles a program of the gallery in `root` with the library there and runs it. Returns whether it
/// succeeded, and its output.
fn run(root: &Path, program: &str, ad_tool: &str) -> (bool, String) {
    run_at(root, program, ad_tool, None)
}

/// The same with a Tapenade installed at `home`.
fn run_at(root: &Path, program: &str, ad_tool: &str, home: Option<&Path>) -> (bool, String) {
    let mut files = vec![root.join(program)];
    files.extend(sources(&root.join("lib")));
    let mut config = Config {
        root: root.to_owned(),
        flags: vec!["-O1".into(), "-fcheck=all".into()],
        ad_tool: ad_tool.into(),
        ..Config::default()
    };
    config.cache.enabled = false;
    config.tapenade.home = home.map(Path::to_owned);
    let folder = tempfile::tempdir().unwrap();
    let executable = folder.path().join("program");
    match Session::of_files(&files, &config).and_then(|s| s.build_program(&executable)) {
        Ok(_) => {}
        Err(Error::Diagnostics(report)) => panic!("{}", render::render(&report, false)),
        Err(error) => panic!("{program}: {error}"),
    }
    let ran = loop {
        match Command::new(&executable).output() {
            // A process that another test is just starting may have the file open for a moment.
            Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            ran => break ran.unwrap(),
        }
    };
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    (ran.status.success(), text)
}

/// Applies `work` to each item, on two threads.
fn each<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let (left, right) = items.split_at(items.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| left.iter().for_each(&work));
        right.iter().for_each(&work);
        if let Err(error) = other.join() {
            std::panic::resume_unwind(error);
        }
    });
}

#[test]
fn every_program_prints_what_its_readme_shows() {
    let shown = shown();
    let programs: Vec<String> = sources(&gallery())
        .iter()
        .map(|p| name(p).to_owned())
        .collect();
    assert!(shown.keys().eq(&programs), "the README lists {shown:#?}");
    each(&programs, |program| {
        let (well, text) = run(&gallery(), program, "builtin");
        assert!(well, "{program}:\n{text}");
        assert_eq!(text, shown[program], "{program}");
    });
}

#[test]
fn a_broken_program_stops() {
    // The documentation lists all of them.
    let page = fs::read_to_string(repository().join("farfel-build/src/gallery.rs")).unwrap();
    let lib = sources(&gallery().join("lib"));
    for file in sources(&gallery()).iter().chain(&lib) {
        let inside = file.strip_prefix(gallery()).unwrap().display().to_string();
        assert!(page.contains(&format!("\"{inside}\",")), "{inside}");
        let program = name(file);
        let tried = MUTATIONS.iter().any(|(p, ..)| *p == program) || program == REVERSE;
        assert!(tried || lib.contains(file), "{program}");
    }
    each(&MUTATIONS, |(program, file, right, wrong)| {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("lib")).unwrap();
        let all = sources(&gallery());
        for path in all.iter().chain(&lib) {
            let inside = path.strip_prefix(gallery()).unwrap();
            let mut text = fs::read_to_string(path).unwrap();
            if inside == Path::new(file) {
                assert_eq!(text.matches(right).count(), 1, "{file}: {right}");
                text = text.replace(right, wrong);
            }
            fs::write(folder.path().join(inside), text).unwrap();
        }
        let (well, text) = run(folder.path(), program, "builtin");
        assert!(!well, "{program} with `{wrong}` ended well:\n{text}");
        assert!(text.contains("and should be"), "{program}:\n{text}");
    });
}

/// The commands in the README.
#[test]
fn the_readme_s_commands() {
    let libraries = sources(&gallery().join("lib"));
    let files: Vec<String> = libraries
        .iter()
        .map(|p| format!("lib/{}", name(p)))
        .collect();
    let command = |verb: &str, program: &str| {
        let command = farfel(&gallery()).arg(verb).arg(program).args(&files);
        command.env_remove("TAPENADE_HOME")
    };
    for verb in ["run", "expand", "graph"] {
        command(verb, "root.ff").assert().success();
    }
}

/// In separate processes, like Tapenade.
#[cfg(unix)]
#[test]
fn backpropagation_by_the_drop_in() {
    use farfel_tests::{farfel_path, write};
    use std::os::unix::fs::PermissionsExt as _;

    let home = tempfile::tempdir().unwrap();
    let text = format!(
        "#!/bin/sh\nexec '{}' tapenade \"$@\"\n",
        farfel_path().display()
    );
    let script = write(home.path(), "bin/tapenade", text);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let (well, text) = run_at(&gallery(), REVERSE, "tapenade", Some(home.path()));
    assert!(well, "{text}");
    assert_eq!(text, shown()[REVERSE]);
}

#[test]
fn backpropagation_by_tapenade() {
    if std::env::var_os("TAPENADE_HOME").is_none() {
        #[expect(clippy::print_stderr, reason = "a test says that it was skipped")]
        {
            eprintln!("skipped: TAPENADE_HOME is not set, so nothing was backpropagated");
        }
        return;
    }
    let (well, text) = run(&gallery(), REVERSE, "tapenade");
    assert!(well, "{text}");
    assert_eq!(text, shown()[REVERSE]);
}
