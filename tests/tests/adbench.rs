//! The programs of `benches/adbench`, with a little data: `farfel verify` compares their derivatives with
//! finite differences. The benchmark measures their speed.

use std::fmt::Write as _;
use std::path::Path;

use farfel_tests::{farfel, repository, sandbox, write};

/// Returns this many numbers between -1 and 1, the same ones each time.
fn numbers(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, i| {
        let _ = write!(text, " {:.4}", (1.7 * i as f64 + 0.3).sin());
        text
    })
}

/// Returns the verdicts on the blocks of a program; `before` is its input before the names of its files.
fn verdicts(name: &str, before: &str, data: String) -> Vec<String> {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "data.txt", data);
    if name == "hand" {
        model(dir);
    }
    let bench = repository().join("benches/adbench");
    let output = farfel(dir)
        .args(["verify", "-q"])
        .args([bench.join(format!("{name}.ff")), bench.join("measure.ff")])
        .stdin(format!("{before}data.txt\nresults.txt\n"))
        .assert();
    let output = output.get_output();
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{table}{output:?}");
    let blocks = table.lines().filter(|l| l.contains(".ff:"));
    let verdict = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        format!("{} {}", words[2], words[words.len() - 1])
    };
    blocks.map(verdict).collect()
}

/// Writes a hand of 22 bones with a triangle at each end of two fingers.
fn model(dir: &Path) {
    let frame = "1:0:0:0.1:0:0.8:-0.6:1:0:0.6:0.8:0:0:0:0:1";
    let back = "1:0:0:0:0:1:0:-0.5:0:0:1:0:0:0:0:1";
    let bones = (0..22).fold(String::new(), |mut text, i: i32| {
        // The wrist, and four bones of each finger, the first of which is attached to it.
        let parent = match i {
            0 => -1,
            _ if i % 4 == 1 => 0,
            _ => i - 1,
        };
        let _ = writeln!(text, "b{i}:{parent}:{frame}:{back}");
        text
    });
    write(dir, "bones.txt", bones);
    let vertices = (0..6).fold(String::new(), |mut text, i| {
        let (bone, other) = (4 + i, 20 - i);
        let place = numbers(i + 3)
            .split_whitespace()
            .skip(i)
            .collect::<Vec<_>>()
            .join(":");
        let _ = writeln!(text, "{place}:0:0:0:0:0:2:{bone}:0.75:{other}:0.25");
        text
    });
    write(dir, "vertices.txt", vertices);
    write(dir, "triangles.txt", "0:1:2\n3:4:5\n");
}

#[test]
fn derivatives_are_right() {
    let gmm = format!(
        "2 3 4\n{}\n{}\n{}\n{}\n1 0\n",
        numbers(3),
        numbers(6),
        numbers(9),
        numbers(8)
    );
    assert_eq!(verdicts("gmm", "", gmm), ["ADR right"]);
    let ba = "2 3 4\n0.1 0.2 -0.3 0.5 0.1 -4 500 0.2 0.1 0.01 -0.02\n0.3 -0.2 1.5\n0.9\n10 -20\n";
    assert_eq!(verdicts("ba", "", ba.into()), ["ADF right", "ADR right"]);
    let lstm = format!(
        "2 4 3\n{}\n{}\n{}\n{}\n",
        numbers(48),
        numbers(9),
        numbers(12),
        "1 0 1\n".repeat(4)
    );
    assert_eq!(verdicts("lstm", "", lstm), ["ADR right"]);
    let points = "0 0.1 0.2 0.3\n1 -0.4 0.5 0.6\n";
    for (free, points) in [
        (".FALSE.", format!("2 26\n{points}")),
        (".TRUE.", format!("2 26\n{points}0.2 0.3 0.5 0.1\n")),
    ] {
        let before = format!(".\n{free}\n");
        let data = format!("{points}{}\n", numbers(26));
        assert_eq!(verdicts("hand", &before, data), ["ADF right"], "{free}");
    }
}
