//! The page of `farfel expand --html`: sources on the left, the generated Fortran on the right.
//!
//! The page contains the names of all program units as JSON, and the texts compressed in packs, which are
//! decompressed when the user looks at one of their texts: a library of two thousand units opens in a second.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use farfel_driver::graph::text::shown;
use farfel_driver::side_by_side::{ByUnits, Generated, Kind, Line, Part, Source};
use minijinja::context;
use serde::Serialize;
use std::fmt::Write as _;

use crate::error::Result;
use crate::pages;

/// The data of the page, except the texts.
#[derive(Serialize)]
struct Index {
    sources: Vec<SourceEntry>,
    generated: Vec<GeneratedEntry>,
    /// The packs that contain the texts of sources.
    source_packs: Vec<usize>,
    generated_packs: Vec<usize>,
}

#[derive(Serialize)]
struct SourceEntry {
    name: String,
    /// Whether it is in fixed form.
    fixed: bool,
    parts: Vec<PartEntry>,
}

#[derive(Serialize)]
struct PartEntry {
    name: Option<String>,
    /// Its range of lines, counted from zero, without the end.
    lines: (usize, usize),
    /// The generated units that contain code generated from it.
    used: Vec<usize>,
    /// The ranges of its AD blocks, with their keywords.
    blocks: Vec<(usize, usize, &'static str)>,
}

#[derive(Serialize)]
struct GeneratedEntry {
    name: Option<String>,
    kind: &'static str,
    title: Option<String>,
    /// The source, and its part, from which most of the unit is generated.
    home: Option<(usize, usize)>,
    /// The number of its first line in the whole output.
    first: usize,
}

/// A generated text, and the origin of each line.
#[derive(Serialize)]
struct Lines {
    text: Vec<String>,
    from: Vec<LineOrigin>,
}

/// The source line from which a line is generated, counted from 1; 0 is no line.
#[derive(Serialize)]
#[serde(untagged)]
enum LineOrigin {
    /// A line of the source from which most of the unit is generated.
    Home(usize),
    /// A line of another source.
    Other(usize, usize),
}

/// Removes characters that would change how the rest is displayed.
fn clean(text: &str) -> String {
    let parts: Vec<String> = text.split('\t').map(shown).collect();
    parts.join("\t")
}

/// Returns a self-contained page.
///
/// # Errors
///
/// None that depend on the contents.
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

/// Returns, for each part of each source, the generated units that contain code generated from it.
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
        None => LineOrigin::Home(0),
        Some((source, line)) if Some(source) == home => LineOrigin::Home(line),
        Some((source, line)) => LineOrigin::Other(source, line),
    };
    Lines {
        text: unit.lines.iter().map(|l| clean(&l.text)).collect(),
        from: unit.lines.iter().map(from).collect(),
    }
}

/// Texts by name, compressed in groups: small packs would cost the browser more than they save.
#[derive(Default)]
struct Packs {
    /// Finished packs: JSON objects, deflated, in base64.
    done: Vec<String>,
    /// The next pack, which is not complete yet.
    open: String,
    /// The pack of each text.
    of: Vec<usize>,
}

impl Packs {
    /// The size of a pack in bytes, before compression.
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
