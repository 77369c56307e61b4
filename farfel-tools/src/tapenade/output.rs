//! Reading the output of the tool.

use super::input::Prepared;
use super::units::called;
use super::{stack, vector};
use crate::external::{RunResult, fixed_form};
use crate::tapes;
use farfel_lang::Sources;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{Name, Request, StorageClass, Unit};
use farfel_lang::lints::Lints;
use farfel_lang::resolve::resolve_with;
use farfel_lang::syntax::{Loader, parse_with};
use std::collections::HashSet;
use std::sync::Arc;

/// A unit that the tool has generated.
#[derive(Debug, Clone)]
pub(super) struct GeneratedUnit {
    /// The unit.
    pub unit: Unit,
    /// The unit of the input whose derivative it is, if that is known.
    pub of: Option<Name>,
}

/// Returns the text of the Fortran files that the tool wrote, in the order of their names.
pub(super) fn text(ran: &RunResult, input: &str) -> String {
    let mut out = String::new();
    for (name, text) in &ran.files {
        if name.ends_with(".f") && name != input {
            // Version 3.16 writes this where it adds the derivative of a function to a list of variables.
            out += &text.replace("DOUBLE DOUBLE PRECISION", "DOUBLE PRECISION");
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
    }
    out
}

/// Parses the units in `text`. Everything that they call must be there, or in the input.
pub(super) fn read(
    p: &Prepared,
    request: &Request,
    text: &str,
) -> Result<Vec<GeneratedUnit>, Vec<Diagnostic>> {
    let unusable = |what: String| vec![broken(p, request, what)];
    if let Some(line) = text.lines().find(|l| l.contains("nullTree")) {
        return Err(unusable(format!(
            "Tapenade could not write a part of the derivative: {}",
            line.trim()
        )));
    }
    if let Some(array) = unknown_size(text) {
        return Err(vec![
            broken(
                p,
                request,
                format!("Tapenade needs the size of {array}, which it cannot find out"),
            )
            .help(format!("declare {array} with its size")),
        ]);
    }
    let mut sources = Sources::new();
    let start = p.text.len() as u32;
    let file = sources.add("derivative", format!("{}{text}", p.text));
    let parsed = parse_with(&mut sources, file, &fixed_form(request.real), &mut Sizes);
    let mut program = parsed.program;
    let excerpt = |d: &Diagnostic| {
        let line = sources.get(d.span.file).map_or("", |f| {
            let at = (d.span.start as usize).min(f.text.len());
            let from = f.text[..at].rfind('\n').map_or(0, |i| i + 1);
            f.text[from..].lines().next().unwrap_or("")
        });
        format!(
            "the output of Tapenade is not Fortran: {}: {}",
            d.message,
            line.trim()
        )
    };
    let mut found: Vec<Diagnostic> = parsed.diagnostics;
    if !found.iter().any(Diagnostic::is_error) {
        program.units.iter_mut().for_each(stack::declare_calls);
        found = resolve_with(&mut program, &Lints::strict());
    }
    // Errors in the input were reported when it was first parsed, or do not concern the tool.
    if let Some(d) = found
        .iter()
        .find(|d| d.is_error() && (d.span.file != file || d.span.start >= start))
    {
        return Err(unusable(excerpt(d)));
    }
    let made: Vec<GeneratedUnit> = program
        .units
        .into_iter()
        .filter(|u| u.span.file != file || u.span.start >= start)
        .map(|mut unit| {
            tapes::mark(&mut unit);
            unit
        })
        .map(|unit| GeneratedUnit {
            of: origin(p, request, &unit),
            unit,
        })
        .collect();
    if made.is_empty() {
        return Err(unusable("Tapenade wrote no derivative".into()));
    }
    complete(p, request, &made)?;
    Ok(made)
}

/// Returns the array for whose size the output uses an undefined constant: `ISIZE1OFx`.
fn unknown_size(text: &str) -> Option<String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .map(str::to_ascii_uppercase)
        .find_map(|word| {
            let rest = word.strip_prefix("ISIZE")?;
            let array = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            let array = array.strip_prefix("OF")?;
            Some(array.strip_prefix("DRF").unwrap_or(array).to_owned())
        })
}

/// Returns an error of the tool, at the block that needs the derivative.
pub(super) fn broken(p: &Prepared, request: &Request, what: String) -> Diagnostic {
    let d = Diagnostic::error(&rules::AD_TOOL, request.span, what).label("for this AD block");
    match p.head() {
        Some(h) if !h.name_span.is_none() && h.name_span != request.span => {
            d.related(h.name_span, format!("in the derivative of {}", h.name))
        }
        _ => d,
    }
}

/// Returns the unit of the input that is named in a comment above the output, otherwise the one
/// whose name is a prefix of the unit's name.
fn origin(p: &Prepared, request: &Request, unit: &Unit) -> Option<Name> {
    let named = unit.comments.iter().find_map(|c| {
        let rest = c.split("ifferentiation of ").nth(1)?;
        rest.split_whitespace().next().map(str::to_owned)
    });
    let known = |name: &str| {
        let names = p
            .units
            .iter()
            .chain(p.helpers.iter().map(|h| &h.seen))
            .map(|u| &u.name);
        names
            .chain(&p.stubs)
            .find(|n| n.eq_ignore_ascii_case(name))
            .cloned()
    };
    named.and_then(|n| known(&n)).or_else(|| {
        let at = unit.name.rfind(request.suffix.as_str())?;
        known(&unit.name[..at])
    })
}

/// Checks that everything that the output calls exists.
fn complete(
    p: &Prepared,
    request: &Request,
    made: &[GeneratedUnit],
) -> Result<(), Vec<Diagnostic>> {
    let known: HashSet<&str> = made
        .iter()
        .map(|m| &m.unit)
        .chain(&p.units)
        .chain(p.helpers.iter().map(|h| &h.seen))
        .map(|u| u.name.as_str())
        .collect();
    // Unknown procedures of the input, and calls of their derivatives, were checked before the run.
    let mut unknown: Vec<&str> = Vec::new();
    for u in &p.units {
        for s in u.symbols.iter().map(|(_, s)| s) {
            if s.storage_class == StorageClass::Global && !known.contains(s.name.as_str()) {
                unknown.push(&s.name);
            }
        }
    }
    for m in made {
        for name in called(&m.unit) {
            let fine = known.contains(name.as_str())
                || stack::is_support(&name)
                || unknown.iter().any(|u| name.starts_with(u));
            if !fine {
                return Err(vec![broken(
                    p,
                    request,
                    format!("the output of Tapenade is not complete: it has no {name}"),
                )]);
            }
        }
    }
    Ok(())
}

/// Supplies the include file for output in vector mode. The constant is replaced by the argument
/// with the number of directions: see [`vector`].
struct Sizes;

impl Loader for Sizes {
    fn load(&mut self, _from: &str, name: &str) -> Result<(String, Arc<str>), String> {
        if name.eq_ignore_ascii_case("DIFFSIZES.inc") {
            Ok((name.to_owned(), vector::DIFFSIZES.into()))
        } else {
            Err(format!("there is no {name}"))
        }
    }
}
