//! Which line of the source each line of the generated Fortran comes from.

use farfel_lang::Sources;
use std::collections::HashMap;

/// The sources of a program, and what becomes of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideBySide {
    /// The names and texts of the files from which lines come.
    pub sources: Vec<(String, String)>,
    /// The generated Fortran.
    pub lines: Vec<Line>,
}

/// A line of generated Fortran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line.
    pub text: String,
    /// Which source it comes from, and which line of it, from 1. Comments come from nowhere.
    pub from: Option<(usize, usize)>,
    /// The program unit that begins here.
    pub unit: Option<String>,
}

impl SideBySide {
    /// From generated Fortran in fixed form with line markers, `# 40 "src/game.ff"`.
    pub(crate) fn of(text: &str, sources: &Sources) -> Self {
        let all: Vec<(&str, &str)> = sources.iter().map(|(_, f)| (&*f.name, &*f.text)).collect();
        // As names stand in markers.
        let escaped = |name: &str| name.replace('\\', "\\\\").replace('"', "\\\"");
        let numbers: HashMap<String, usize> = all
            .iter()
            .enumerate()
            .map(|(i, (name, _))| (escaped(name), i))
            .collect();
        // Only those that something comes from.
        let mut used: Vec<usize> = Vec::new();
        let mut next: Option<(usize, usize)> = None;
        let mut statement = None;
        let mut lines = Vec::new();
        for line in text.lines() {
            if let Some(marker) = line.strip_prefix("# ") {
                next = read(marker).and_then(|(at, name)| {
                    let file = *numbers.get(name)?;
                    let known = used.iter().position(|u| *u == file);
                    let number = known.unwrap_or(used.len());
                    if known.is_none() {
                        used.push(file);
                    }
                    Some((number, at))
                });
                continue;
            }
            let comment = line.starts_with(['C', 'c', '*', '!']) || line.trim().is_empty();
            let continues = line.as_bytes().get(5).is_some_and(|b| !b" 0".contains(b))
                && line.starts_with("     ");
            if !comment && !continues {
                statement = next;
            }
            lines.push(Line {
                text: line.to_owned(),
                from: statement.filter(|_| !comment),
                unit: (!comment && !continues).then(|| unit(line)).flatten(),
            });
            if let Some((_, at)) = &mut next {
                *at += 1;
            }
        }
        SideBySide {
            sources: used
                .into_iter()
                .filter_map(|i| all.get(i))
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect(),
            lines,
        }
    }
}

/// The line and the name in a marker.
fn read(marker: &str) -> Option<(usize, &str)> {
    let (line, name) = marker.split_once(' ')?;
    let name = name.strip_prefix('"')?.strip_suffix('"')?;
    Some((line.parse().ok()?, name))
}

/// The name of the program unit that a statement begins, as we write it.
fn unit(line: &str) -> Option<String> {
    let words: Vec<&str> = line
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|w| !w.is_empty())
        .collect();
    let at = words
        .iter()
        .position(|w| ["PROGRAM", "SUBROUTINE", "FUNCTION"].contains(w))?;
    let before = &words[..at];
    let prefixes = [
        "RECURSIVE",
        "PURE",
        "ELEMENTAL",
        "INTEGER",
        "REAL",
        "DOUBLE",
        "PRECISION",
        "COMPLEX",
        "LOGICAL",
        "CHARACTER",
        "BYTE",
        "KIND",
        "LEN",
    ];
    let is_prefix = |w: &&str| prefixes.contains(w) || w.bytes().all(|b| b.is_ascii_digit());
    let name = words.get(at + 1)?;
    // `REAL FUNCTION = 1` is none; nothing else begins like that.
    (before.iter().all(is_prefix) && !line.contains('=')).then(|| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_come_from_the_lines_of_markers() {
        let mut sources = Sources::new();
        sources.add("unused.ff", "C\n");
        sources.add("a \"b\".ff", "      X = 1\n");
        let text = "      MODULE M\n# 7 \"a \\\"b\\\".ff\"\n      REAL*8 FUNCTION F(X,\n     $  Y)\nC     a comment\n      F = X\n# 1 \"border\"\n      END\n";
        let found = SideBySide::of(text, &sources);
        let of = |text: &str, from: Option<usize>, unit: Option<&str>| Line {
            text: text.into(),
            from: from.map(|line| (0, line)),
            unit: unit.map(str::to_owned),
        };
        assert_eq!(found.sources.len(), 1);
        assert_eq!(
            found.lines,
            [
                of("      MODULE M", None, None),
                of("      REAL*8 FUNCTION F(X,", Some(7), Some("F")),
                of("     $  Y)", Some(7), None),
                of("C     a comment", None, None),
                of("      F = X", Some(10), None),
                of("      END", None, None),
            ]
        );
    }
}
