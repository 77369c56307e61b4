//! Malicious sources that try to inject something into cargo, into Rust, into other files, or into the
//! terminal.
#![cfg(unix)]

use crate::support::Project;
use farfel_driver::{Config, Error, Session, render::render};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUBROUTINE: &str = "      SUBROUTINE S(I)\n      I = 7\n      END\n";

#[test]
fn names_do_not_give_orders_to_cargo() {
    for (directory, name) in [
        ("src", "x\ncargo::rustc-env=STOLEN=1\nx.f"),
        ("fortran/y\ncargo::rustc-env=STOLEN=1\ny", "x.f"),
        ("src", "x\rcargo::rustc-env=STOLEN=1\r.ff"),
    ] {
        let p = Project::new("orders", "orders");
        p.file(
            "src/main.rs",
            "fn main() { println!(\"{:?}\", option_env!(\"STOLEN\")) }\n",
        );
        p.file(&format!("{directory}/{name}"), SUBROUTINE);
        let ran = p.cargo(&["build"]);
        assert!(!ran.ok);
        let expected = "a line end or another control character is in the name of a source";
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        // A build script that does not stop at errors.
        p.file(
            "build.rs",
            "fn main() { let _ = farfel_build::try_compile(); }\n",
        );
        assert_eq!(p.run(), "None\n");
    }
}

/// Comments and file names are only text, in Rust and in Fortran.
#[test]
fn names_and_comments_stay_text() {
    let p = Project::new("text", "text");
    p.file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    let comment = "\
C */ pub fn stolen() {} /*
C \" } pub fn stolen() {}
C ```
C panic!(\"a doctest\");
C ```
C
C     panic!(\"a doctest\");
C
C ~~~~ rust
C panic!(\"a doctest\");
C ~~~~
C
C column   ````````
C panic!(\"a doctest\");
C column   ````
C <script>alert(1)</script> [link](javascript:alert(1)) \\
C a return:\rpub fn stolen() {}
C an escape: \u{1b}]0;stolen\u{7} a form feed:\u{c} a right-to-left mark: \u{202e}
";
    let name = "src/a\"b`c\\d{e}$(touch stolen);f' g.f";
    p.file(name, format!("{comment}{SUBROUTINE}"));
    p.file(
        "src/other.f",
        "      SUBROUTINE T(I)\n      I = IBSET(I, 99)\n      END\n",
    );
    // A message about a file with such a name, and then none.
    let ran = p.cargo(&["build"]);
    assert!(
        !ran.ok && ran.stderr.contains("src/other.f:2:7"),
        "{}",
        ran.stderr
    );
    p.file("src/other.f", SUBROUTINE.replace("S(I)", "T(I)"));
    let ran = p.cargo(&["test"]);
    assert!(ran.ok, "{}", ran.stderr);
    assert!(ran.stderr.contains("Doc-tests text"), "{}", ran.stderr);
    assert_eq!(
        ran.stdout.matches("running 0 tests").count(),
        2,
        "{}",
        ran.stdout
    );
    let functions: Vec<String> = p
        .bindings()
        .lines()
        .filter(|l| l.trim_start().starts_with("pub fn"))
        .map(|l| l.split('(').next().unwrap_or_default().trim().to_owned())
        .collect();
    // Both are in `raw`, too, as they have shorter forms.
    assert_eq!(functions, ["pub fn s", "pub fn t"].repeat(2));
}

/// A directory with a project and other files beside it.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        tree.file(
            "outside/secret.inc",
            "C the secret\n      PARAMETER (I = 12345)\n",
        );
        fs::create_dir_all(tree.path("project/src")).unwrap();
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn config(&self) -> Config {
        Config {
            root: self.path("project"),
            ..Config::default()
        }
    }

    /// Returns the messages about a source that includes a file, without and with colours.
    fn include(&self, name: &str) -> String {
        let text = format!("      SUBROUTINE S\n      INCLUDE '{name}'\n      END\n");
        let source = self.file("project/src/s.f", &text);
        let error = Session::of_files(std::slice::from_ref(&source), &self.config())
            .and_then(|s| s.check())
            .expect_err(name);
        let Error::Diagnostics(report) = &error else {
            panic!("{error}")
        };
        let said = format!("{error}\n{}", render(report, false));
        let stage = farfel_driver::ExpandStage::Parse;
        assert!(
            Session::of_files(&[source], &self.config())
                .and_then(|s| s.expand(stage))
                .is_err()
        );
        assert!(
            !said.contains("the secret") && !said.contains("12345"),
            "{said}"
        );
        said
    }
}

#[test]
fn include_reads_nothing_outside_of_the_project() {
    let tree = Tree::new();
    let secret = tree.path("outside/secret.inc");
    let inside = |name: &str| tree.path("project/src").join(name);
    symlink(&secret, inside("link.inc")).unwrap();
    symlink(tree.path("outside"), inside("folder")).unwrap();
    symlink("loop.inc", inside("loop.inc")).unwrap();
    symlink("/dev/zero", inside("zero.inc")).unwrap();
    let made = Command::new("mkfifo").arg(inside("pipe.inc")).status();
    assert!(made.unwrap().success());
    fs::create_dir(inside("directory.inc")).unwrap();
    let outside = "outside of the project";
    for (name, expected) in [
        ("../../outside/secret.inc", outside),
        ("folder/secret.inc", outside),
        ("link.inc", outside),
        (secret.to_str().unwrap(), outside),
        ("/etc/passwd", outside),
        ("/proc/self/environ", outside),
        // None of these files ends.
        ("/dev/stdin", "no such file"),
        ("zero.inc", "no such file"),
        ("pipe.inc", "no such file"),
        ("directory.inc", "no such file"),
        ("loop.inc", "no such file"),
        ("a\0b.inc", "no such file"),
        ("", "no such file"),
        ("..", "no such file"),
    ] {
        let said = tree.include(name);
        assert!(said.contains(expected), "{name}: {said}");
    }
}

#[test]
fn what_a_source_says_does_not_reach_the_terminal() {
    let tree = Tree::new();
    let name = "x\u{1b}]0;stolen\u{7}\r.inc";
    tree.file(&format!("project/src/{name}"), "");
    for name in [name, "none\u{1b}[2J"] {
        let said = tree.include(name);
        let control = |c: char| c.is_control() && c != '\n';
        assert!(!said.contains(control), "{said:?}");
    }
}

/// A symbolic link as a source is followed, since the user created it; but INCLUDE in it is relative to the
/// link.
#[test]
fn a_source_that_is_a_link() {
    let tree = Tree::new();
    let text = "      SUBROUTINE S\n      INCLUDE 'secret.inc'\n      END\n";
    let real = tree.file("outside/s.f", text);
    let source = tree.path("project/src/s.f");
    symlink(real, &source).unwrap();
    let error = Session::of_files(&[source], &tree.config())
        .and_then(|s| s.check())
        .unwrap_err()
        .to_string();
    assert!(error.contains("no such file"), "{error}");
}

/// A file name from the user is never interpreted as a compiler option.
#[test]
fn names_that_look_like_options() {
    let tree = Tree::new();
    let main = "      PROGRAM P\n      PRINT *, 'ran'\n      END\n";
    for name in ["-fplugin=stolen.f", "@stolen.f", "-.f", "--help.ff"] {
        tree.file(&format!("project/{name}"), main);
        let out = tree.path("project/--out");
        let source = tree.path("project").join(name);
        Session::of_files(&[source], &tree.config())
            .and_then(|s| s.build_program(&out))
            .unwrap();
        let ran = Command::new(&out).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), "ran", "{name}");
    }
    assert_eq!(names(&tree.path("project")).len(), 6);
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// A build writes only to OUT_DIR and to the cache.
#[test]
fn a_build_writes_where_it_may() {
    let p = Project::new("places", "places");
    p.file("src/lib.rs", "farfel_runtime::include_bindings!();\n");
    p.file("src/s.ff", SUBROUTINE);
    // The first build creates the lock file.
    assert!(p.cargo(&["build"]).ok);
    let all = |directory: &Path| {
        let mut all = Vec::new();
        let mut left = vec![directory.to_owned()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                let about = entry.metadata().unwrap();
                if about.is_dir() {
                    left.push(entry.path());
                }
                all.push((entry.path(), about.modified().unwrap()));
            }
        }
        all.sort();
        all
    };
    let (temporary, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    p.append(
        "src/s.ff",
        "C changed\n      SUBROUTINE T(I)\n      I = 8\n      END\n",
    );
    let before = all(&p.directory);
    let ran = p.cargo_with(
        &["build"],
        &[
            ("TMPDIR", temporary.path().to_str().unwrap()),
            ("FARFEL_CACHE_DIR", cache.path().to_str().unwrap()),
            ("HOME", "/nowhere"),
            ("CARGO_HOME", &cargo_home()),
            ("RUSTUP_HOME", &rustup_home()),
        ],
    );
    assert!(ran.ok, "{}", ran.stderr);
    assert!(p.bindings().contains("pub fn t("));
    assert_eq!(all(&p.directory), before);
    assert_eq!(names(temporary.path()), [] as [String; 0]);
}

/// Returns cargo's home directory, whatever HOME is.
fn cargo_home() -> String {
    std::env::var("CARGO_HOME").unwrap_or_else(|_| home(".cargo"))
}

fn rustup_home() -> String {
    std::env::var("RUSTUP_HOME").unwrap_or_else(|_| home(".rustup"))
}

fn home(name: &str) -> String {
    format!("{}/{name}", std::env::var("HOME").unwrap_or_default())
}
