//! The messages of the tool.

use super::input::Prepared;
use super::{Options, stack};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{AdMode, Request, Unit, walk_block};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Message<'t> {
    /// The unit that it is about.
    unit: Option<&'t str>,
    /// The code `AD09`; `Command`, `File` or `System` for messages without a code.
    code: &'t str,
    /// The rest of the message.
    text: &'t str,
}

/// Messages about correct programs. Those about types and declarations (TC and DD) can be ignored,
/// too: relevant problems were reported when the program was parsed.
const IDLE: &[&str] = &["CF03", "CF04", "CF05", "DF05"];

/// Messages about incorrect or incomplete derivatives.
const SERIOUS: &[&str] = &[
    "AD01", "AD09", "AD10", "AD11", "AD12", "AD14", "AD15", "AD16", "AD17", "AD18", "AD19", "AD20",
    "AD25",
];

/// Returns diagnostics for the tool's messages, from its standard output and from its message file.
pub(super) fn diagnostics(
    p: &Prepared,
    request: &Request,
    options: &Options,
    output: &str,
    file: &str,
) -> Vec<Diagnostic> {
    let mut seen: Vec<Message<'_>> = Vec::new();
    let mut found: Vec<Diagnostic> = Vec::new();
    for line in file.lines().chain(output.lines()) {
        let Some(m) = message(line) else { continue };
        if seen.contains(&m) {
            continue;
        }
        let judged = judge(p, request, options, &m);
        seen.push(m);
        let Some(d) = judged else { continue };
        // One diagnostic per position, so that none is lost when duplicates are removed by
        // position.
        match found
            .iter_mut()
            .find(|x| x.span == d.span && x.severity == d.severity && x.rule == d.rule)
        {
            Some(x) => x.related.push((d.span, d.message)),
            None => found.push(d),
        }
    }
    found
}

fn message(line: &str) -> Option<Message<'_>> {
    let mut rest = line.trim();
    // The number in the message file.
    if let Some((number, tail)) = rest.split_once(' ')
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        rest = tail.trim_start();
    }
    let mut unit = None;
    if let Some((name, tail)) = rest.split_once(": ")
        && !name.contains(|c: char| c.is_whitespace() || c == '(')
        && !matches!(name, "Command" | "File" | "System")
    {
        unit = Some(name);
        rest = tail.trim_start();
    }
    if let Some((code, text)) = rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
        let good = code.len() == 4
            && code.bytes().take(2).all(|b| b.is_ascii_uppercase())
            && code.bytes().skip(2).all(|b| b.is_ascii_digit());
        return good.then(|| Message {
            unit,
            code,
            text: text.trim(),
        });
    }
    let (code, text) = rest.split_once(": ")?;
    matches!(code, "Command" | "File" | "System").then(|| Message {
        unit,
        code,
        text: text.trim(),
    })
}

fn judge(
    p: &Prepared,
    request: &Request,
    options: &Options,
    m: &Message<'_>,
) -> Option<Diagnostic> {
    let about_ours = |name: &str| {
        let upper = name.to_ascii_uppercase();
        // Messages about stubs and placeholders do not matter: we write their derivatives.
        upper.contains("FARFELST") || stack::is_support(&upper)
    };
    if m.unit.is_some_and(about_ours) || m.text.split_whitespace().any(about_ours) {
        return None;
    }
    let mut serious = SERIOUS.contains(&m.code);
    let mut rule = &rules::AD_TOOL;
    let mut help = None;
    match m.code {
        code if IDLE.contains(&code) || code.starts_with("TC") || code.starts_with("DD") => {
            return None;
        }
        // Tangents handle these correctly.
        "CF01" | "AD22" => serious = request.mode == AdMode::Reverse,
        // Tells that a head without derivatives has none: see `passive`.
        "AD06" => return None,
        // The constant of vector mode is supplied.
        "AD10" if m.text.contains("nbdirsmax") => return None,
        "AD09" => {
            let name = word_after(m.text, &["function"]).unwrap_or_default();
            serious = !options
                .allow_unknown
                .iter()
                .any(|a| a.eq_ignore_ascii_case(name));
            rule = &rules::AD_UNKNOWN_PROCEDURE;
            help = Some(if serious {
                format!(
                    "add the source of {} to the project",
                    name.to_ascii_uppercase()
                )
            } else {
                "its derivative must be linked to the program".to_owned()
            });
        }
        // Variables that keep their values from call to call, and that the caller cannot see: they
        // are not saved, and their derivatives are not set to zero.
        "AD14" => {
            help = Some("pass the variable as an argument, or put it into COMMON".to_owned());
        }
        "Command" => {
            let routine = [
                "added to ",
                "removed from ",
                "is deprecated",
                "Took ",
                "No root unit",
            ];
            if routine.iter().any(|r| m.text.contains(r)) {
                return None;
            }
            serious = true;
        }
        "File" | "System" => serious = true,
        _ => {}
    }
    let code = match m.code {
        "Command" | "File" | "System" => String::new(),
        code => format!("{code}: "),
    };
    let message = format!("Tapenade: {code}{}", m.text);
    let span = place(p, request, m);
    let mut d = if serious {
        Diagnostic::error(rule, span, message)
    } else {
        Diagnostic::warning(rule, span, message)
    };
    if span != request.span {
        d = d.related(request.span, "for this AD block");
    }
    Some(match help {
        Some(h) => d.help(h),
        None => d,
    })
}

/// Returns the position for a message: the line that it mentions, the statement with the name that
/// it mentions, its unit, or the block with the request.
fn place(p: &Prepared, request: &Request, m: &Message<'_>) -> Span {
    let line: Option<usize> = m
        .text
        .split_once(" line ")
        .and_then(|(_, r)| r.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    if let Some(span) = line.and_then(|l| p.lines.get(l.checked_sub(1)?)) {
        return span.or(request.span);
    }
    let Some(unit) = m.unit.and_then(|u| p.unit(u)) else {
        return request.span;
    };
    let named = word_after(
        m.text,
        &[
            "function",
            "procedure",
            "procedure of",
            "variable",
            "call to",
            "argument",
            "output",
            "array",
            "routine",
            "Variable",
        ],
    );
    let span = named.and_then(|n| mention(unit, &n.to_ascii_uppercase()));
    span.unwrap_or(unit.name_span).or(request.span)
}

/// Returns the word after one of some phrases.
fn word_after<'t>(text: &'t str, phrases: &[&str]) -> Option<&'t str> {
    phrases.iter().find_map(|phrase| {
        let at = text.find(&format!("{phrase} "))?;
        text[at + phrase.len()..]
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .find(|w| !w.is_empty())
    })
}

/// Returns the first statement of a unit that mentions `name`.
fn mention(unit: &Unit, name: &str) -> Option<Span> {
    let sym = unit.symbols.find(name)?;
    let mut found = None;
    walk_block(&unit.body, &mut |s| {
        let mut here = false;
        s.for_each_own_symbol(&mut |x| here |= x == sym);
        s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |x| here |= x == sym));
        if here && found.is_none() {
            found = Some(s.span);
        }
    });
    found
}
