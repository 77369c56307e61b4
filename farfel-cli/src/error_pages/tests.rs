//! Tests that every code has a page, and that its programs behave as the page says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use farfel_driver::{Config, Error, Library, Report, Session, messages};
use farfel_lang::diagnostic::{Level, rules};

use super::*;

/// Codes that Fortran sources alone cannot cause, with the reasons.
const NO_PROGRAM: &[(&str, &str)] = &[
    (
        "F0201",
        "nothing reports it any more, and no code is used again",
    ),
    (
        "F0308",
        "what Tapenade or ADIFOR say, which have to be installed",
    ),
    (
        "F0324",
        "what Tapenade or ADIFOR cannot do, which have to be chosen",
    ),
    (
        "F0325",
        "what `farfel tapenade` is asked for, which no program does",
    ),
    (
        "F0327",
        "what derivatives do with OpenMP, which a setting has to switch on",
    ),
    (
        "F0401",
        "what a compiler says of its flags, of C, or of what Farfel takes",
    ),
    (
        "F0901",
        "a bug in Farfel, which is fixed once a program shows it",
    ),
];

/// Returns the pages on disk, by code.
fn pages() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("errors");
    let paths = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let code = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut pages: Vec<_> = paths.map(|path| (code(&path), path)).collect();
    pages.sort();
    pages
}

/// The files of a program: names and texts.
type Program = Vec<(String, String)>;

/// A program that fails, its message, and programs that work instead.
#[derive(Default)]
struct Example {
    fails: Program,
    /// The byte range of the message on the page.
    message: Option<Range<usize>>,
    works: Vec<Program>,
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut last = String::new();
    for block in blocks(page) {
        let Kind::Code(info) = block.kind else {
            continue;
        };
        let words: Vec<&str> = info.split(' ').collect();
        match words[..] {
            ["fortran", "fails", ..] => {
                if last != "fails" {
                    examples.push(Example::default());
                }
                let example = examples.last_mut().unwrap();
                example.fails.push(file(&words, block.text));
            }
            ["fortran", "works", ..] => {
                let works = &mut examples.last_mut().unwrap().works;
                let file = file(&words, block.text);
                let is_next = |p: &Program| last == "works" && p.iter().all(|(n, _)| *n != file.0);
                match works.last_mut().filter(|p| is_next(p)) {
                    Some(program) => program.push(file),
                    None => works.push(vec![file]),
                }
            }
            ["text"] => {
                let message = &mut examples.last_mut().unwrap().message;
                assert!(message.replace(block.range).is_none(), "a second message");
            }
            _ => {}
        }
        last = words.get(1).unwrap_or(&"").to_string();
    }
    examples
}

fn file(words: &[&str], text: String) -> (String, String) {
    let name = words.get(2).copied().unwrap_or("example.ff");
    (name.to_owned(), text)
}

/// Returns the report of `farfel check` for a program with a rule's warnings enabled. A folder is a library.
fn checked(program: &Program, rule: &Rule) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config {
        root: dir.path().to_owned(),
        ..Config::default()
    };
    config.cache.enabled = false;
    if rule.level == Some(Level::Allow) {
        config.lints.set(rule.code, Level::Warn).unwrap();
    }
    let mut files = Vec::new();
    for (name, text) in program {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        match name.split_once('/') {
            Some((library, _)) => config.libraries.push(Library {
                config: Config {
                    root: dir.path().to_owned(),
                    name: library.to_owned(),
                    ..Config::default()
                },
                files: vec![path],
                passed: Vec::new(),
                uses: Vec::new(),
                direct: true,
            }),
            None if name.ends_with(".inc") => {}
            None => files.push(path),
        }
    }
    match Session::of_files(&files, &config).unwrap().check() {
        Ok(report) | Err(Error::Diagnostics(report)) => report,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_rule_has_a_page() {
    let codes: Vec<&str> = rules::ALL.iter().map(|rule| rule.code).collect();
    let pages = pages();
    let there: Vec<&str> = pages.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(codes, there);
    for rule in rules::ALL {
        let parts = blocks(page(rule));
        let title = format!("{}: {}", rule.code, rule.name);
        assert_eq!((&parts[0].kind, &parts[0].text), (&Kind::Heading, &title));
        assert_eq!(parts[1].kind, Kind::Paragraph, "{}", rule.code);
        assert!(summary(rule).len() <= 240, "{}", summary(rule));
        // Every program is introduced by a sentence, because not all renderers show the info string.
        for pair in parts.windows(2) {
            let is_program =
                |p: &Block| matches!(&p.kind, Kind::Code(i) if i.starts_with("fortran"));
            if is_program(&pair[1]) && !is_program(&pair[0]) {
                let is_introduced = pair[0].kind == Kind::Paragraph && pair[0].text.ends_with(':');
                assert!(
                    is_introduced,
                    "{}: nothing introduces\n{}",
                    rule.code, pair[1].text
                );
            }
        }
        // The programs come first; further explanations follow.
        let codes = parts.iter().position(|p| matches!(p.kind, Kind::Code(_)));
        match NO_PROGRAM.iter().find(|(code, _)| *code == rule.code) {
            Some((code, why)) => {
                assert!(examples(page(rule)).is_empty(), "{code}");
                assert!(why.len() > 20, "{code}");
            }
            None => {
                assert!(codes.is_some_and(|at| at <= 3), "{}", rule.code);
                assert!(!examples(page(rule)).is_empty(), "{}", rule.code);
            }
        }
    }
    let mut apart = NO_PROGRAM.iter().map(|(code, _)| *code);
    assert!(apart.all(|code| codes.contains(&code)));
}

/// A program that fails causes the diagnostic of the page and nothing else; one that works causes no
/// diagnostics.
#[test]
fn programs_do_what_their_pages_say() {
    let update = std::env::var_os("FARFEL_UPDATE").is_some();
    let mut wrong = String::new();
    for (rule, (code, path)) in rules::ALL.iter().zip(pages()) {
        let page = fs::read_to_string(&path).unwrap();
        let mut now = page.clone();
        for example in examples(&page).iter().rev() {
            let messages = messages::messages(&checked(&example.fails, rule));
            let codes: BTreeSet<&str> = messages.iter().map(|m| m.code).collect();
            let rendered: Vec<&str> = messages.iter().map(|m| m.rendered.trim_end()).collect();
            let rendered = rendered.join("\n\n") + "\n";
            let program = &example.fails.last().unwrap().1;
            if codes.iter().ne([&rule.code]) {
                wrong += &format!("{code}: this causes {codes:?}\n{program}\n{rendered}\n");
            }
            let lines = program.lines().count();
            if lines > 15 {
                wrong += &format!("{code}: {lines} lines\n{program}\n");
            }
            match &example.message {
                None => wrong += &format!("{code}: no message\n{program}\n"),
                Some(range) => {
                    now.replace_range(range.clone(), &format!("```text\n{rendered}```"));
                }
            }
            if example.works.is_empty() {
                wrong += &format!("{code}: nothing that works\n{program}\n");
            }
            for program in &example.works {
                for message in messages::messages(&checked(program, rule)) {
                    let text = &program.last().unwrap().1;
                    wrong += &format!("{code}: this does not work\n{text}\n{}\n", message.rendered);
                }
            }
        }
        if now != page && update {
            fs::write(&path, &now).unwrap();
        } else if now != page {
            wrong +=
                &format!("{code}: what is said has changed; FARFEL_UPDATE=1 writes it\n{now}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn pages_fit_a_terminal() {
    // The example of one rule is a line that is too long.
    let of_long_lines = |rule: &&&Rule| rule.code == rules::TEXT_CUT_OFF.code;
    for rule in rules::ALL.iter().filter(|r| !of_long_lines(r)) {
        let text = anstream::adapter::strip_str(&render(rule)).to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", rule.code);
        }
    }
}
