//! Which line of the source each line of the generated Fortran comes from, and which program units the two have.

use farfel_lang::ir::{AdMode, Program, StmtKind, Unit, walk_block};
use farfel_lang::syntax::{Form, detect};
use farfel_lang::{Sources, Span};
use std::collections::HashMap;
use std::ops::Range;

/// How a title of what the AD engine makes ends.
const FORWARD: &str = "with what its adjoint will need on the tape";

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

/// What a generated program unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A unit of the source, a part or a copy of one.
    Primal,
    /// It computes tangents.
    Tangent,
    /// It computes cotangents.
    Adjoint,
    /// It computes what the source does, and leaves on the tape what the adjoint needs.
    Forward,
}

impl Kind {
    /// What the title of a derivative says, the comment before its header: `Tangent of STEP`.
    pub(crate) fn of_title(comment: &str) -> Option<Kind> {
        match comment {
            w if w.starts_with("Tangent of ") => Some(Kind::Tangent),
            w if w.starts_with("Adjoint of ") => Some(Kind::Adjoint),
            w if w.ends_with(FORWARD) => Some(Kind::Forward),
            _ => None,
        }
    }
}

/// The sources of a program and the generated Fortran, both divided into program units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByUnits {
    /// The sources, as the program has them.
    pub sources: Vec<Source>,
    /// The generated program units, in order.
    pub generated: Vec<Generated>,
}

/// A source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// All of it.
    pub text: String,
    /// It is in fixed form; else in free form.
    pub fixed: bool,
    /// Its parts, in order; together they are all of it.
    pub parts: Vec<Part>,
}

/// A top-level program unit in a source, with the comments before it; a file that is included is one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The name of the unit; none for a file without units.
    pub name: Option<String>,
    /// Its lines, counted from zero.
    pub lines: Range<usize>,
    /// The AD blocks in it: their lines, and ADF or ADR.
    pub blocks: Vec<(Range<usize>, &'static str)>,
}

/// A generated program unit with the comments before it, or what stands around such units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The name of the unit; none for what is around.
    pub name: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// What the comment before a derivative says: `Tangent of STEP: derivative of Y with respect to X`.
    pub title: Option<String>,
    /// The source and the part of it from which most of it comes.
    pub home: Option<(usize, usize)>,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// The top-level units of a program as it was written.
pub(crate) struct Outline {
    units: Vec<Outlined>,
}

struct Outlined {
    name: String,
    file: String,
    lines: Range<usize>,
    blocks: Vec<(Range<usize>, &'static str)>,
}

impl Outline {
    /// Of a program that was read.
    pub(crate) fn of(program: &Program, sources: &Sources) -> Outline {
        let units = program.units.iter().filter_map(|unit| {
            let file = sources.get(unit.span.file)?;
            // What is included stands elsewhere.
            let line = |at: Span| {
                let inside = at.file == unit.span.file;
                inside.then(|| file.line_column(at.start).line - 1)
            };
            let mut blocks = Vec::new();
            for_each_block(unit, &mut |from, to, mode| {
                if let (Some(from), Some(to)) = (line(from), line(to)) {
                    let keyword = match mode {
                        AdMode::Forward => "ADF",
                        AdMode::Reverse => "ADR",
                    };
                    blocks.push((from..to + 1, keyword));
                }
            });
            Some(Outlined {
                name: unit.name.to_string(),
                file: file.name.clone(),
                lines: line(unit.span)?..line(unit.end_span)? + 1,
                blocks,
            })
        });
        Outline {
            units: units.collect(),
        }
    }
}

/// Calls `f` with the first and last statement of each AD block in a unit, those of nested subprograms too.
fn for_each_block(unit: &Unit, f: &mut dyn FnMut(Span, Span, AdMode)) {
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Ad(block) = &s.kind {
            f(s.span, block.end_span, block.mode);
        }
    });
    for nested in &unit.nested {
        for_each_block(nested, f);
    }
}

impl ByUnits {
    /// From generated Fortran with line markers, as [`SideBySide::of`].
    pub(crate) fn of(text: &str, sources: &Sources, outline: &Outline) -> ByUnits {
        let both = SideBySide::of(text, sources);
        let mut files: Vec<Source> = both.sources.into_iter().map(Source::new).collect();
        let mut places: HashMap<String, usize> = (0..)
            .zip(&files)
            .map(|(i, f)| (f.name.clone(), i))
            .collect();
        for unit in &outline.units {
            let at = *places.entry(unit.file.clone()).or_insert_with(|| {
                let text = sources.iter().find(|(_, f)| f.name == unit.file);
                let text = text.map(|(_, f)| f.text.to_string()).unwrap_or_default();
                files.push(Source::new((unit.file.clone(), text)));
                files.len() - 1
            });
            files[at].parts.push(Part {
                name: Some(unit.name.clone()),
                lines: unit.lines.clone(),
                blocks: unit.blocks.clone(),
            });
        }
        files.iter_mut().for_each(Source::fill);
        let mut generated = divided(both.lines);
        for unit in &mut generated {
            unit.home = home(&unit.lines, &files);
        }
        ByUnits {
            sources: files,
            generated,
        }
    }
}

impl Source {
    fn new((name, text): (String, String)) -> Source {
        Source {
            name,
            fixed: detect(&text) == Form::Fixed,
            text,
            parts: Vec::new(),
        }
    }

    /// Gives every line to a part: what stands between two units to the later one.
    fn fill(&mut self) {
        let end = self.text.lines().count();
        self.parts.sort_by_key(|p| p.lines.start);
        if self.parts.is_empty() {
            self.parts.push(Part {
                name: None,
                lines: 0..end,
                blocks: Vec::new(),
            });
        }
        let mut next = 0;
        for part in &mut self.parts {
            part.lines = next..part.lines.end.clamp(next, end);
            next = part.lines.end;
        }
        if let Some(last) = self.parts.last_mut() {
            last.lines.end = end;
        }
    }

    /// The part that a line belongs to, counted from zero.
    pub fn part(&self, line: usize) -> Option<usize> {
        self.parts.iter().position(|p| p.lines.contains(&line))
    }
}

/// The lines by program units, each with the comments before it.
fn divided(lines: Vec<Line>) -> Vec<Generated> {
    let mut generated: Vec<Generated> = Vec::new();
    // Comments and empty lines between units: they are of the one that follows.
    let mut before: Vec<Line> = Vec::new();
    let mut ended = true;
    let mut interface = false;
    for mut line in lines {
        let code = line.text.trim();
        if is_comment(&line.text) && ended {
            before.push(line);
            continue;
        }
        let edge = matches!(code, "INTERFACE" | "ABSTRACT INTERFACE" | "END INTERFACE");
        interface = if edge {
            !code.starts_with("END")
        } else {
            interface
        };
        if interface {
            line.unit = None;
        }
        let begins = line.unit.is_some() || generated.is_empty();
        if begins {
            generated.push(Generated {
                name: line.unit.clone(),
                kind: Kind::Primal,
                title: None,
                home: None,
                lines: Vec::new(),
            });
        }
        let ends = matches!(code, "END" | "CONTAINS") && !interface;
        if let Some(unit) = generated.last_mut() {
            if begins {
                (unit.kind, unit.title) = titled(&before);
            }
            unit.lines.append(&mut before);
            unit.lines.push(line);
        }
        ended = ends;
    }
    if let Some(unit) = generated.last_mut() {
        unit.lines.append(&mut before);
    }
    generated
}

/// What the comments before a unit say that it is.
fn titled(comments: &[Line]) -> (Kind, Option<String>) {
    let words = |l: &Line| l.text.get(1..).unwrap_or_default().trim().to_owned();
    // What stands further above is about the unit before.
    let apart = comments.iter().rposition(|l| l.text.trim().is_empty());
    let own = &comments[apart.map_or(0, |i| i + 1)..];
    let title = own.iter().map(words).collect::<Vec<_>>().join(" ");
    match Kind::of_title(&title) {
        Some(kind) => (kind, Some(title)),
        None => (Kind::Primal, None),
    }
}

/// The part of a source from which most of some lines come.
fn home(lines: &[Line], sources: &[Source]) -> Option<(usize, usize)> {
    let mut counts: HashMap<(usize, usize), usize> = HashMap::new();
    for (file, line) in lines.iter().filter_map(|l| l.from) {
        if let Some(part) = sources.get(file)?.part(line.checked_sub(1)?) {
            *counts.entry((file, part)).or_default() += 1;
        }
    }
    counts
        .into_iter()
        .max_by_key(|(at, count)| (*count, std::cmp::Reverse(*at)))
        .map(|(at, _)| at)
}

/// Is it a comment, or empty?
fn is_comment(line: &str) -> bool {
    line.starts_with(['C', 'c', '*', '!']) || line.trim().is_empty()
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
            let comment = is_comment(line);
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

    #[test]
    fn units_have_their_titles_and_homes() {
        let source = "C     The first\n      SUBROUTINE F(X)\n      X = 1\n      END\nC     The second\n      SUBROUTINE G(X)\n      CALL F(X)\n      END\nC     Last\n";
        let mut sources = Sources::new();
        sources.add("a.ff", source);
        sources.add("b.inc", "      Y = 2\n");
        let unit = |name: &str, lines, blocks| Outlined {
            name: name.into(),
            file: "a.ff".into(),
            lines,
            blocks,
        };
        let outline = Outline {
            units: vec![
                unit("F", 1..4, Vec::new()),
                unit("G", 5..8, vec![(6..7, "ADF")]),
            ],
        };
        let text = "      MODULE M\n      CONTAINS\n# 1 \"a.ff\"\nC     The first\n      SUBROUTINE F(X)\n# 1 \"b.inc\"\n      Y = 2\n# 3 \"a.ff\"\n      X = 1\n      END\n\nC Tangent of G: derivative of X\nC with respect to X\n# 6 \"a.ff\"\n      SUBROUTINE G_G1(X)\n      INTERFACE\n      SUBROUTINE H(X)\n      END\n      END INTERFACE\n      CALL F(X)\n      END\n      END MODULE\n";
        let both = ByUnits::of(text, &sources, &outline);
        let parts: Vec<_> = both.sources[0].parts.iter().collect();
        assert_eq!(both.sources[1].parts[0].name, None);
        assert_eq!(parts[0].lines, 0..4);
        assert_eq!(parts[1].lines, 4..9);
        assert_eq!(parts[1].blocks, [(6..7, "ADF")]);
        let said = |g: &Generated| {
            let title = g.title.clone().unwrap_or_default();
            (
                g.name.clone().unwrap_or_default(),
                g.kind,
                title,
                g.home,
                g.lines.len(),
            )
        };
        let of = |name: &str, kind, title: &str, home, lines| {
            (name.to_owned(), kind, title.to_owned(), home, lines)
        };
        let made: Vec<_> = both.generated.iter().map(said).collect();
        assert_eq!(
            made,
            [
                of("", Kind::Primal, "", None, 2),
                of("F", Kind::Primal, "", Some((0, 0)), 5),
                of(
                    "G_G1",
                    Kind::Tangent,
                    "Tangent of G: derivative of X with respect to X",
                    Some((0, 1)),
                    11
                ),
            ]
        );
    }
}
