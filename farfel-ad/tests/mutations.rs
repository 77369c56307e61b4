//! Whatever careless editing has made of a program, the compiler reports what is wrong with it or compiles
//! it: it never panics and never hangs.

use farfel_ad::{Builtin, differentiate_all};
use farfel_lang::diagnostic::any_errors;
use farfel_lang::ir::{Level, verify};
use farfel_lang::lower::{Stage, lower};
use farfel_lang::resolve::{resolve, resolve_readable};
use farfel_lang::{Sources, print, syntax};
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

/// The lines of all programs that the tests have.
static PROGRAMS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut programs = Vec::new();
    for folder in [
        "tests/programs",
        "farfel-lang/tests/programs",
        "farfel-lang/tests/lowering",
    ] {
        let mut files: Vec<_> = std::fs::read_dir(top.join(folder))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            if let Ok(text) = std::fs::read_to_string(&file) {
                programs.push(text.lines().map(str::to_owned).collect());
            }
        }
    }
    assert!(programs.len() > 10);
    programs
});

/// Everything that the compiler does with a program, up to the text for gfortran.
fn compile(text: &str) {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", text);
    let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
    if any_errors(&parsed.diagnostics) {
        resolve_readable(
            &mut parsed.program,
            &parsed.diagnostics,
            &Default::default(),
        );
        return;
    }
    if any_errors(&resolve(&mut parsed.program)) {
        return;
    }
    let errors = verify(&parsed.program, Level::Resolved);
    assert!(errors.is_empty(), "{}", errors.join("; "));
    let lowered = lower(parsed.program, Stage::Stage);
    if any_errors(&lowered.diagnostics) {
        return;
    }
    if let Ok(program) = differentiate_all(&Builtin, lowered.program, &lowered.requests) {
        let errors = verify(&program, Level::Staged);
        assert!(errors.is_empty(), "{}", errors.join("; "));
        print::print_program(&program, &print::Options::default());
    }
}

/// One careless edit. Its numbers are taken modulo the number of candidates.
#[derive(Debug, Clone)]
enum Edit {
    Drop(usize),
    Double(usize, usize),
    Swap(usize, usize),
    /// Inserts a line of another program.
    Borrow(usize, usize, usize),
    /// Replaces one word by another one of the program.
    Word(usize, usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let n = 0usize..100_000;
    prop_oneof![
        n.clone().prop_map(Edit::Drop),
        (n.clone(), n.clone()).prop_map(|(a, b)| Edit::Double(a, b)),
        (n.clone(), n.clone()).prop_map(|(a, b)| Edit::Swap(a, b)),
        (n.clone(), n.clone(), n.clone()).prop_map(|(a, b, c)| Edit::Borrow(a, b, c)),
        (n.clone(), n.clone(), n).prop_map(|(a, b, c)| Edit::Word(a, b, c)),
    ]
}

fn apply(lines: &mut Vec<String>, edit: &Edit) {
    if lines.is_empty() {
        return;
    }
    let len = lines.len();
    match *edit {
        Edit::Drop(a) => drop(lines.remove(a % len)),
        Edit::Double(a, b) => lines.insert(b % len, lines[a % len].clone()),
        Edit::Swap(a, b) => lines.swap(a % len, b % len),
        Edit::Borrow(program, line, at) => {
            let other = &PROGRAMS[program % PROGRAMS.len()];
            if !other.is_empty() {
                lines.insert(at % len, other[line % other.len()].clone());
            }
        }
        Edit::Word(line, from, to) => {
            let is_word = |w: &&str| !w.is_empty();
            let split = |c: char| !c.is_ascii_alphanumeric() && c != '_';
            let all: Vec<String> = lines
                .iter()
                .flat_map(|l| l.split(split))
                .filter(is_word)
                .map(str::to_owned)
                .collect();
            let line = &mut lines[line % len];
            let own: Vec<String> = line
                .split(split)
                .filter(is_word)
                .map(str::to_owned)
                .collect();
            if !own.is_empty() && !all.is_empty() {
                *line = line.replacen(&own[from % own.len()], &all[to % all.len()], 1);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn careless_edits_are_no_panic(program in 0usize..1000, edits in prop::collection::vec(edit(), 1..5)) {
        let mut lines = PROGRAMS[program % PROGRAMS.len()].clone();
        for e in &edits {
            apply(&mut lines, e);
        }
        let text = lines.join("\n") + "\n";
        let result = std::panic::catch_unwind(|| compile(&text));
        prop_assert!(result.is_ok(), "panic on\n{text}");
    }
}
