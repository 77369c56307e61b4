//! Hundreds of small programs with errors: tests what is reported, and where.
//!
//! The files in `tests/faulty` contain programs. Each begins with a line `== description`, and
//! after a line `--` follows what Farfel reports: `line:column code message | help`. For a correct
//! program nothing follows. `FARFEL_UPDATE=1 cargo test -p farfel-lang --test main faulty` writes the
//! current messages; review the difference.

use crate::common;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A program and the expected messages.
struct Case<'a> {
    title: &'a str,
    source: String,
    expected: String,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case> = Vec::new();
    let mut expecting = false;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("== ") {
            expecting = false;
            cases.push(Case {
                title,
                source: String::new(),
                expected: String::new(),
            });
        } else if line == "--" {
            expecting = true;
        } else if let Some(case) = cases.last_mut() {
            let part = match expecting {
                true => &mut case.expected,
                false => &mut case.source,
            };
            part.push_str(line);
            part.push('\n');
        }
    }
    cases
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faulty")
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap();
    let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn errors_are_reported_where_they_are() {
    let update = std::env::var_os("FARFEL_UPDATE").is_some();
    let mut wrong = String::new();
    let mut count = 0;
    for path in files() {
        let text = fs::read_to_string(&path).unwrap();
        let mut now = String::new();
        for case in cases(&text) {
            count += 1;
            let mut said = common::errors(&case.source);
            if !said.is_empty() {
                said.push('\n');
            }
            write!(now, "== {}\n{}--\n{said}", case.title, case.source).unwrap();
            if said != case.expected {
                writeln!(
                    wrong,
                    "{}: {}\n{}wanted:\n{}got:\n{said}",
                    path.file_name().unwrap().to_string_lossy(),
                    case.title,
                    case.source,
                    case.expected
                )
                .unwrap();
            }
        }
        if update {
            fs::write(&path, now).unwrap();
        }
    }
    assert!(count >= 150, "only {count} programs");
    assert!(update || wrong.is_empty(), "{wrong}");
}
