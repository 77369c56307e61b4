//! The page of `farfel expand --html`: sources on the left, the Fortran made of them on the right.

use farfel_driver::graph::text::shown;
use farfel_driver::side_by_side::SideBySide;
use minijinja::{Environment, UndefinedBehavior, context};
use serde::Serialize;

use crate::error::{Error, Result};

/// A line of either side.
#[derive(Serialize)]
struct Line {
    number: usize,
    text: String,
    /// What belongs together has the same.
    key: String,
    /// Where the program unit of this name begins.
    unit: String,
}

#[derive(Serialize)]
struct Source {
    name: String,
    lines: Vec<Line>,
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
pub fn page(title: &str, both: &SideBySide) -> Result<String> {
    let fault = |fault: minijinja::Error| Error::cannot(format!("cannot write the page: {fault}"));
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // Its name ends in html, so that what is filled in is escaped.
    environment
        .add_template("page.html", include_str!("page.html"))
        .map_err(fault)?;
    let key = |(file, line): (usize, usize)| format!("{file}-{line}");
    let used: std::collections::HashSet<(usize, usize)> =
        both.lines.iter().filter_map(|l| l.from).collect();
    let source = |(file, (name, text)): (usize, &(String, String))| Source {
        name: shown(name),
        lines: (1..)
            .zip(text.lines())
            .map(|(number, text)| Line {
                number,
                text: clean(text),
                key: match used.contains(&(file, number)) {
                    true => key((file, number)),
                    false => String::new(),
                },
                unit: String::new(),
            })
            .collect(),
    };
    let sources: Vec<Source> = both.sources.iter().enumerate().map(source).collect();
    let made: Vec<Line> = (1..)
        .zip(&both.lines)
        .map(|(number, line)| Line {
            number,
            text: clean(&line.text),
            key: line.from.map(key).unwrap_or_default(),
            unit: line.unit.clone().unwrap_or_default(),
        })
        .collect();
    let template = environment.get_template("page.html").map_err(fault)?;
    template
        .render(context! {
            title => shown(title),
            version => env!("CARGO_PKG_VERSION"),
            sources => minijinja::Value::from(minijinja::value::Serde(&sources)),
            made => minijinja::Value::from(minijinja::value::Serde(&made)),
        })
        .map_err(fault)
}
