//! Runs what fuzzing has found again, and the texts by which it reaches every part of the code.
//!
//! `fuzz/corpus` has a folder for each target of `fuzz/fuzz_targets`.

use crate::common::any_text;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

fn replay(target: &str, check: fn(&str)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    // A published crate has no such folder.
    let Ok(entries) = fs::read_dir(folder.join(target)) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let text = any_text::text(&fs::read(&path).unwrap());
        assert!(catch_unwind(|| check(&text)).is_ok(), "{}", path.display());
    }
}

#[test]
fn lines() {
    replay("lines", any_text::lines);
}

#[test]
fn parser() {
    replay("parser", any_text::parser);
}

#[test]
fn front_end() {
    replay("front_end", any_text::front_end);
}

/// The programs of the other tests must pass as well.
#[test]
fn test_programs() {
    for folder in ["tests/programs", "../tests/programs"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let text = any_text::text(&fs::read(&path).unwrap());
                any_text::lines(&text);
                any_text::front_end(&text);
            }
        }
    }
}

/// Directives made of all kinds of odd parts, which are the hardest to print so that they read back
/// unchanged.
#[test]
fn directives() {
    const HEADS: [&str; 8] = [
        "!$OMP", "C$OMP", "!DIR$", "!$ ", "!$OMP&", "!$   +", "!DIR$&", "!$ 10 ",
    ];
    const PARTS: [&str; 16] = [
        "&",
        "&",
        " ",
        ",",
        "'",
        "a",
        "xyzuvw12",
        "\u{a0}",
        "\t",
        "$",
        "!",
        "&&&&&&",
        " & ",
        "\u{b}",
        "tttttttttttttttttttttttttttttt",
        "\u{20ac}",
    ];
    let mut state = 777_u64;
    let mut any = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % n
    };
    for _ in 0..1000 {
        let mut text = String::new();
        for _ in 0..1 + any(3) {
            text.push_str(HEADS[any(HEADS.len())]);
            let some: Vec<&str> = (0..1 + any(6)).map(|_| PARTS[any(PARTS.len())]).collect();
            for _ in 0..any(60) {
                text.push_str(some[any(some.len())]);
            }
            text.push('\n');
        }
        text.push_str("      END\n");
        assert!(catch_unwind(|| any_text::parser(&text)).is_ok(), "{text:?}");
    }
}
