//! Diagnostics that are stored with results, so that a build that redoes nothing still prints warnings.

use farfel_lang::diagnostic::rules;
use farfel_lang::{Diagnostic, Severity, Sources, Span};
use serde::{Deserialize, Serialize};

/// A diagnostic whose places are independent of the text on preceding lines.
#[derive(Serialize, Deserialize)]
struct Message {
    code: String,
    error: bool,
    message: String,
    at: Option<StoredLocation>,
    label: String,
    related: Vec<(Option<StoredLocation>, String)>,
    help: Option<String>,
}

/// A place: the file, and the line and the byte within the line for the start and for the end.
#[derive(Serialize, Deserialize)]
struct StoredLocation(String, [usize; 2], [usize; 2]);

/// Serializes diagnostics.
pub(crate) fn to_text(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let messages: Vec<Message> = diagnostics
        .iter()
        .map(|d| Message {
            code: d.rule.code.to_owned(),
            error: d.is_error(),
            message: d.message.clone(),
            at: place(d.span, sources),
            label: d.label.clone(),
            related: d
                .related
                .iter()
                .map(|(s, text)| (place(*s, sources), text.clone()))
                .collect(),
            help: d.help.clone(),
        })
        .collect();
    // Serialization of these types cannot fail.
    serde_json::to_string(&messages).unwrap_or_default()
}

/// Reads the output of [`to_text`]; `None` if the text is something else, or about other sources.
pub(crate) fn from_text(text: &str, sources: &Sources) -> Option<Vec<Diagnostic>> {
    let messages: Vec<Message> = serde_json::from_str(text).ok()?;
    messages
        .into_iter()
        .map(|m| {
            let rule = rules::ALL.iter().find(|r| r.code == m.code)?;
            Some(Diagnostic {
                rule,
                severity: match m.error {
                    true => Severity::Error,
                    false => Severity::Warning,
                },
                message: m.message,
                span: span(m.at.as_ref(), sources)?,
                label: m.label,
                related: m
                    .related
                    .into_iter()
                    .map(|(p, text)| Some((span(p.as_ref(), sources)?, text)))
                    .collect::<Option<_>>()?,
                help: m.help,
            })
        })
        .collect()
}

fn place(span: Span, sources: &Sources) -> Option<StoredLocation> {
    let file = sources.get(span.file)?;
    let place = |offset: u32| {
        let line = file.line_column(offset).line;
        let start = file.line_start(line).unwrap_or_default();
        [line, (offset - start) as usize]
    };
    Some(StoredLocation(
        file.name.clone(),
        place(span.start),
        place(span.end),
    ))
}

fn span(place: Option<&StoredLocation>, sources: &Sources) -> Option<Span> {
    let Some(StoredLocation(name, start, end)) = place else {
        return Some(Span::NONE);
    };
    let (id, file) = sources.iter().find(|(_, f)| f.name == *name)?;
    let offset = |[line, byte]: &[usize; 2]| {
        let at = file.line_start(*line)? as usize + byte;
        file.text.is_char_boundary(at).then_some(at as u32)
    };
    let (start, end) = (offset(start)?, offset(end)?);
    (start <= end).then(|| Span::new(id, start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stay_where_lines_stay() {
        let mut sources = Sources::new();
        let id = sources.add("a.ff", "C one\n      X = ä + Y\n      Z = X\n");
        let d = Diagnostic::warning(&rules::COMPILER, Span::new(id, 12, 22), "odd")
            .label("here")
            .related(Span::NONE, "nowhere")
            .help("mend it");
        let text = to_text(std::slice::from_ref(&d), &sources);
        assert_eq!(from_text(&text, &sources).unwrap(), [d]);
        // A comment of another length on the line before.
        let mut edited = Sources::new();
        edited.add("other.f", "\n");
        edited.add("a.ff", "C twenty-one\n      X = ä + Y\n      Z = X\n");
        let moved = from_text(&text, &edited).unwrap();
        assert_eq!(
            edited.text(moved[0].span),
            sources.text(Span::new(id, 12, 22))
        );
        // Messages about missing files, and invalid text, are rejected.
        assert!(from_text(&text, &Sources::new()).is_none());
        assert!(from_text("[{", &sources).is_none());
    }
}
