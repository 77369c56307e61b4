//! Sources that are preprocessed by the system's preprocessor.

use farfel_driver::{Config, Error, ExpandStage, Session};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn config(dir: &TempDir) -> Config {
    Config {
        root: dir.path().to_owned(),
        ..Config::default()
    }
}

fn parsed(dir: &TempDir, name: &str, config: &Config) -> Result<String, String> {
    let files = [dir.path().join(name)];
    match Session::of_files(&files, config).and_then(|s| s.expand(ExpandStage::Parse)) {
        Ok((text, _)) => Ok(text),
        Err(error) => Err(errors(error)),
    }
}

/// Formats errors as `file:line:column-column message`, one per line.
fn errors(error: Error) -> String {
    let Error::Diagnostics(report) = error else {
        return error.to_string();
    };
    let mut text = String::new();
    for d in &report.diagnostics {
        let file = report.sources.get(d.span.file).unwrap();
        let (from, to) = (file.line_column(d.span.start), file.line_column(d.span.end));
        text += &format!(
            "{}:{}:{}-{} {}\n",
            file.name, from.line, from.column, to.column, d.message
        );
    }
    text
}

#[test]
fn conditions_names_and_files() {
    let dir = tree(&[
        (
            "src/a.F",
            "#include \"sizes.h\"\n#ifdef TWICE\n#define FACTOR 2\n#else\n#define FACTOR 1\n#endif\n      SUBROUTINE S(X)\n      REAL X(N)\n      X(1) = FACTOR*X(LAST)\n      END\n",
        ),
        ("inc/sizes.h", "#define N 10\n"),
    ]);
    let mut c = config(&dir);
    c.include = vec!["inc".into()];
    c.defines = vec!["LAST=N".into()];
    let text = "      SUBROUTINE S(X)\n      REAL X(10)\n      X(1) = 1*X(10)\n      END\n";
    assert_eq!(parsed(&dir, "src/a.F", &c).unwrap(), text);
    c.defines.push("TWICE".into());
    assert_eq!(
        parsed(&dir, "src/a.F", &c).unwrap(),
        text.replace("1*", "2*")
    );
    // The files that were read are known, so that they can be watched.
    let session = Session::of_project(&c).unwrap();
    session.check().unwrap();
    let files = session.reached();
    let expected: Vec<PathBuf> = ["inc/sizes.h", "src/a.F"]
        .map(|n| dir.path().join(n))
        .into();
    assert_eq!(files, expected);
}

/// In the same column, too, unless a name in the line was replaced: line 37.
#[test]
fn errors_are_at_the_user_s_lines() {
    let long = "C     a line\n".repeat(30);
    let dir = tree(&[
        (
            "a.F",
            &format!(
                "#define NAME Y\n#if 0\n{long}#endif\n      SUBROUTINE S\n#include \"b.inc\"\n      X = )\n      NAME = 1 + (\n      CALL T(1, 'ä',\n     +  )\n      END\n"
            ),
        ),
        ("b.inc", "      Z = 1\n      X = ]\n"),
    ]);
    let said = parsed(&dir, "a.F", &config(&dir)).unwrap_err();
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "a.F:36:11-12 expected an expression, found `)`",
            "a.F:37:16-16 expected an expression, found the end of the statement",
            "a.F:39:9-10 expected an expression, found `)`",
            "b.inc:2:11-12 expected an expression, found `]`",
        ]
    );
}

#[test]
fn the_preprocessor_s_own_errors() {
    let dir = tree(&[
        ("a.F", "      X = 1\n#include \"none.h\"\n      END\n"),
        ("b.F", "      X = 1\n#error no such machine\n      END\n"),
        ("c.F", "#ifdef A\n      END\n"),
    ]);
    let c = config(&dir);
    let said = |name| parsed(&dir, name, &c).unwrap_err();
    assert_eq!(
        said("a.F"),
        "a.F:2:1-18 the preprocessor says: none.h: No such file or directory\n"
    );
    assert_eq!(
        said("b.F"),
        "b.F:2:1-23 the preprocessor says: #error no such machine\n"
    );
    assert_eq!(
        said("c.F"),
        "c.F:1:1-9 the preprocessor says: unterminated #ifdef\n"
    );
}

#[test]
fn which_files_go_through_it() {
    let text = "#define N 3\n      SUBROUTINE S(X)\n      X = N\n      END\n";
    let free = "#define N 3\nsubroutine s(x)\nx = N\nend\n";
    let dir = tree(&[
        ("a.F", text),
        ("b.f", text),
        ("c.FF", text),
        ("d.F90", free),
        ("e.FOR", text),
    ]);
    let mut c = config(&dir);
    for name in ["a.F", "c.FF", "d.F90", "e.FOR"] {
        let got = parsed(&dir, name, &c).unwrap();
        assert_eq!(
            got, "      SUBROUTINE S(X)\n      X = 3\n      END\n",
            "{name}"
        );
    }
    assert_eq!(
        parsed(&dir, "b.f", &c).unwrap_err().lines().next(),
        Some("b.f:1:1-2 this line is for a preprocessor, and the file does not go through one")
    );
    c.preprocess = true;
    assert!(parsed(&dir, "b.f", &c).unwrap().contains("X = 3"));
    c.defines = vec!["1X".into()];
    let said = Session::of_files(&[dir.path().join("b.f")], &c)
        .and_then(|s| s.check())
        .unwrap_err()
        .to_string();
    assert_eq!(
        said,
        "setting `defines`: `1X` is neither NAME nor NAME=value"
    );
}

/// INCLUDE in a file that `#include` reaches searches beside that file first.
#[test]
fn include_in_what_is_included() {
    let dir = tree(&[
        (
            "src/a.F",
            "      SUBROUTINE S(X)\n#include \"deep/b.inc\"\n      X = Y\n      END\n",
        ),
        ("src/deep/b.inc", "      INCLUDE 'c.inc'\n"),
        ("src/deep/c.inc", "      COMMON /C/ Y\n"),
    ]);
    let text = parsed(&dir, "src/a.F", &config(&dir)).unwrap();
    assert!(text.contains("COMMON /C/ Y\n"), "{text}");
}

#[cfg(unix)]
#[test]
fn nothing_outside_of_the_project_is_read() {
    use std::os::unix::fs::symlink;
    let dir = tree(&[
        ("project/src/ok.h", "#define A 1\n"),
        ("outside/secret.h", "      THE SECRET\n"),
    ]);
    let root = dir.path().join("project");
    let inside = |name: &str| root.join("src").join(name);
    let secret = dir.path().join("outside/secret.h");
    symlink(&secret, inside("link.h")).unwrap();
    symlink("/dev/zero", inside("zero.h")).unwrap();
    fs::write(inside("nested.h"), "#include \"../../outside/secret.h\"\n").unwrap();
    let c = Config {
        root: root.clone(),
        ..Config::default()
    };
    let outside = "outside of the project";
    for (line, expected) in [
        ("#include \"../../outside/secret.h\"".to_owned(), outside),
        (format!("#include \"{}\"", secret.display()), outside),
        ("#include \"link.h\"".into(), outside),
        ("#include \"nested.h\"".into(), outside),
        ("# include  </etc/passwd>".into(), outside),
        ("#include \"/etc/passwd\"".into(), outside),
        ("#include \"zero.h\"".into(), "it is not a file"),
        (
            "#define F \"/etc/passwd\"\n#include F".into(),
            "must be named between quotes",
        ),
        ("#include <stdio.h>".into(), "No such file"),
        // The second check finds what the first one misses.
        ("#/**/include \"../../outside/secret.h\"".into(), ""),
        ("#\\\ninclude \"../../outside/secret.h\"".into(), ""),
    ] {
        let source = inside("s.F");
        fs::write(&source, format!("      SUBROUTINE S\n{line}\n      END\n")).unwrap();
        let said = errors(
            Session::of_files(&[source], &c)
                .and_then(|s| s.check())
                .expect_err(&line),
        );
        assert!(
            said.contains(expected) && !said.contains("SECRET"),
            "{line}: {said}"
        );
    }
    // If the settings name the directory, it may be read.
    let source = inside("s.F");
    fs::write(
        &source,
        "#include \"link.h\"\n      SUBROUTINE S\n      END\n",
    )
    .unwrap();
    fs::write(&secret, "C     no secret\n").unwrap();
    let c = Config {
        include: vec![PathBuf::from("../outside")],
        ..c
    };
    Session::of_files(&[source], &c)
        .and_then(|s| s.check())
        .unwrap();
}

/// No text depends on the project's location, or on the date.
#[test]
fn neither_place_nor_time() {
    let text = "      SUBROUTINE S(C)\n      CHARACTER*(*) C(2)\n      C(1) = __FILE__\n      C(2) = __DATE__\n      END\n";
    let (one, two) = (tree(&[("src/a.F", text)]), tree(&[("src/a.F", text)]));
    let print = |dir: &TempDir| parsed(dir, "src/a.F", &config(dir)).unwrap();
    assert_eq!(print(&one), print(&two));
    assert!(print(&one).contains("src/a.F"), "{}", print(&one));
    let _: &Path = one.path();
}
