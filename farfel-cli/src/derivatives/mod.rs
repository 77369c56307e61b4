//! The page of `farfel expand --html`: sources on the left, the Fortran made of them on the right.
//!
//! The page has the names of all program units as JSON, and each text compressed in an element of its own, which is
//! read when somebody looks at it: a library of two thousand units opens in a second.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use farfel_driver::graph::text::shown;
use farfel_driver::side_by_side::{ByUnits, Generated, Kind, Line, Part, Source};
use minijinja::{Environment, UndefinedBehavior, context};
use serde::Serialize;

use crate::error::{Error, Result};

/// What there is: everything but the texts.
#[derive(Serialize)]
struct Index {
    sources: Vec<SourceEntry>,
    generated: Vec<GeneratedEntry>,
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
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // Its name ends in html, so that what is filled in is escaped.
    environment
        .add_template("page.html", include_str!("page.html"))
        .map_err(cannot)?;
    let sources: Vec<String> = both
        .sources
        .iter()
        .map(source_text)
        .collect::<Result<_>>()?;
    let generated: Vec<String> = both.generated.iter().map(lines).collect::<Result<_>>()?;
    let template = environment.get_template("page.html").map_err(cannot)?;
    template
        .render(context! {
            title => shown(title),
            version => env!("CARGO_PKG_VERSION"),
            index => json(&index(both))?,
            sources,
            generated,
        })
        .map_err(cannot)
}

fn cannot(error: impl std::fmt::Display) -> Error {
    Error::cannot(format!("cannot write the page: {error}"))
}

/// JSON that can stand in a page: no tag begins or ends in it.
fn json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value).map_err(cannot)?;
    Ok(text.replace('<', "\\u003c"))
}

fn index(both: &ByUnits) -> Index {
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

fn source_text(source: &Source) -> Result<String> {
    compressed(&source.text.lines().map(clean).collect::<Vec<_>>())
}

fn lines(unit: &Generated) -> Result<String> {
    let home = unit.home.map(|(source, _)| source);
    let from = |line: &Line| match line.from {
        None => From::Home(0),
        Some((source, line)) if Some(source) == home => From::Home(line),
        Some((source, line)) => From::Other(source, line),
    };
    compressed(&Lines {
        text: unit.lines.iter().map(|l| clean(&l.text)).collect(),
        from: unit.lines.iter().map(from).collect(),
    })
}

/// JSON, deflated, in base64.
fn compressed(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_vec(value).map_err(cannot)?;
    Ok(STANDARD.encode(miniz_oxide::deflate::compress_to_vec(&text, 6)))
}
