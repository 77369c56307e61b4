//! The page of `farfel expand --html`: sources on the left, the Fortran made of them on the right.
//!
//! The page has the names of all program units as JSON, and the texts compressed in packs, which are read when somebody
//! looks at one of them: a library of two thousand units opens in a second.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use farfel_driver::graph::text::shown;
use farfel_driver::side_by_side::{ByUnits, Generated, Kind, Line, Part, Source};
use minijinja::context;
use serde::Serialize;
use std::fmt::Write as _;

use crate::error::Result;
use crate::pages;

/// What there is: everything but the texts.
#[derive(Serialize)]
struct Index {
    sources: Vec<SourceEntry>,
    generated: Vec<GeneratedEntry>,
    /// The packs in which their texts are.
    source_packs: Vec<usize>,
    generated_packs: Vec<usize>,
}

#[derive(Serialize)]
struct SourceEntry {
    name: String,
    /// In fixed form; else free.
    fixed: bool,
    parts: Vec<PartEntry>,
}

#[derive(Serialize)]
struct PartEntry {
    name: Option<String>,
    /// Its first line, and the one behind its last, from zero.
    lines: (usize, usize),
    /// The generated units in which something comes from it.
    used: Vec<usize>,
    /// The same of its AD blocks, and the keyword.
    blocks: Vec<(usize, usize, &'static str)>,
}

#[derive(Serialize)]
struct GeneratedEntry {
    name: Option<String>,
    kind: &'static str,
    title: Option<String>,
    /// The source and the part of it from which it comes.
    home: Option<(usize, usize)>,
    /// The number of its first line among all.
    first: usize,
}

/// A generated text, and where each line comes from.
#[derive(Serialize)]
struct Lines {
    text: Vec<String>,
    from: Vec<From>,
}

/// The line of a source that a line comes from, counted from 1; 0 is no line.
#[derive(Serialize)]
#[serde(untagged)]
enum From {
    /// In the source that most of the unit comes from.
    Home(usize),
    /// In another one.
    Other(usize, usize),
}

/// Without what would change how the rest is shown.
fn clean(text: &str) -> String {
    let parts: Vec<String> = text.split('\t').map(shown).collect();
    parts.join("\t")
}

/// A page that needs nothing besides itself.
///
/// # Errors
///
/// None that depends on what is shown.
pub fn page(title: &str, both: &ByUnits) -> Result<String> {
    let mut packs = Packs::default();
    for (number, source) in both.sources.iter().enumerate() {
        let lines: Vec<String> = source.text.lines().map(clean).collect();
        packs.add(&format!("s{number}"), &lines)?;
    }
    for (number, unit) in both.generated.iter().enumerate() {
        packs.add(&format!("g{number}"), &lines(unit))?;
    }
    packs.close();
    let values = context! {
        name => shown(title),
        index => pages::json(&index(both, &packs))?,
        packs => packs.done,
    };
    let title = format!("{} and its derivatives", shown(title));
    pages::page(&title, include_str!("page.html"), values)
}

fn index(both: &ByUnits, packs: &Packs) -> Index {
    let mut first = 1;
    let generated = both.generated.iter().map(|unit| {
        let at = first;
        first += unit.lines.len();
        GeneratedEntry {
            name: unit.name.as_deref().map(shown),
            kind: match unit.kind {
                Kind::Primal => "primal",
                Kind::Tangent => "tangent",
                Kind::Adjoint => "adjoint",
                Kind::Forward => "forward sweep",
            },
            title: unit.title.as_deref().map(shown),
            home: unit.home,
            first: at,
        }
    });
    let used = used(both);
    let part = |(part, used): (&Part, Vec<usize>)| PartEntry {
        name: part.name.as_deref().map(shown),
        lines: (part.lines.start, part.lines.end),
        used,
        blocks: part
            .blocks
            .iter()
            .map(|(lines, keyword)| (lines.start, lines.end, *keyword))
            .collect(),
    };
    let source = |(source, used): (&Source, Vec<Vec<usize>>)| SourceEntry {
        name: shown(&source.name),
        fixed: source.fixed,
        parts: source.parts.iter().zip(used).map(part).collect(),
    };
    Index {
        sources: both.sources.iter().zip(used).map(source).collect(),
        generated: generated.collect(),
        source_packs: packs.of[..both.sources.len()].to_vec(),
        generated_packs: packs.of[both.sources.len()..].to_vec(),
    }
}

/// For each part of each source the generated units in which something comes from it.
fn used(both: &ByUnits) -> Vec<Vec<Vec<usize>>> {
    let none = |s: &Source| vec![Vec::new(); s.parts.len()];
    let mut used: Vec<Vec<Vec<usize>>> = both.sources.iter().map(none).collect();
    for (number, unit) in both.generated.iter().enumerate() {
        for (source, line) in unit.lines.iter().filter_map(|l| l.from) {
            let part = both.sources[source].part(line - 1);
            if let Some(list) = part.and_then(|p| used[source].get_mut(p))
                && list.last() != Some(&number)
            {
                list.push(number);
            }
        }
    }
    used
}

fn lines(unit: &Generated) -> Lines {
    let home = unit.home.map(|(source, _)| source);
    let from = |line: &Line| match line.from {
        None => From::Home(0),
        Some((source, line)) if Some(source) == home => From::Home(line),
        Some((source, line)) => From::Other(source, line),
    };
    Lines {
        text: unit.lines.iter().map(|l| clean(&l.text)).collect(),
        from: unit.lines.iter().map(from).collect(),
    }
}

/// Texts by their names, compressed some at a time: what is small apart costs the browser more than what it saves.
#[derive(Default)]
struct Packs {
    /// Objects in JSON, deflated, in base64.
    done: Vec<String>,
    /// The next one, as far as it is.
    open: String,
    /// In which pack each text is.
    of: Vec<usize>,
}

impl Packs {
    /// As many bytes are compressed together.
    const SIZE: usize = 1 << 20;

    fn add(&mut self, name: &str, value: &impl Serialize) -> Result {
        self.of.push(self.done.len());
        let text = pages::json(value)?;
        self.open.push(if self.open.is_empty() { '{' } else { ',' });
        let _ = write!(self.open, "\"{name}\":{text}");
        if self.open.len() >= Packs::SIZE {
            self.close();
        }
        Ok(())
    }

    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        self.open.push('}');
        let bytes = miniz_oxide::deflate::compress_to_vec(self.open.as_bytes(), 6);
        self.done.push(STANDARD.encode(bytes));
        self.open.clear();
    }
}
