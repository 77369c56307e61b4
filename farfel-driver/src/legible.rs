//! Reports in legible characters.

use crate::report::Report;
use farfel_lang::encoding::{has_raw, legible};
use farfel_lang::{Diagnostic, Sources, Span};
use std::borrow::Cow;

/// Returns the report with Latin-1 characters in place of bytes in its sources that are not UTF-8.
pub(crate) fn legible_report(report: &Report) -> Cow<'_, Report> {
    let strange = |file: u32| {
        let file = report.sources.get(farfel_lang::FileId(file));
        file.is_some_and(|f| has_raw(&f.text))
    };
    let places = |d: &Diagnostic| {
        let related: Vec<Span> = d.related.iter().map(|(span, _)| *span).collect();
        std::iter::once(d.span).chain(related)
    };
    let shown = report.diagnostics.iter().flat_map(places);
    if !shown.into_iter().any(|span| strange(span.file.0)) {
        return Cow::Borrowed(report);
    }
    let mut sources = Sources::new();
    for file in (0..).map_while(|i| report.sources.get(farfel_lang::FileId(i))) {
        sources.add(file.name.clone(), legible(&file.text));
    }
    let place = |span: Span| {
        let Some(file) = report.sources.get(span.file) else {
            return span;
        };
        let offset = |at: u32| {
            let before = floor(&file.text, at as usize);
            legible(before).len() as u32 + (at - before.len() as u32)
        };
        Span::new(span.file, offset(span.start), offset(span.end))
    };
    let text = |text: &String| legible(text).into_owned();
    let diagnostics = report.diagnostics.iter().map(|d| Diagnostic {
        rule: d.rule,
        severity: d.severity,
        message: text(&d.message),
        span: place(d.span),
        label: text(&d.label),
        related: d
            .related
            .iter()
            .map(|(s, t)| (place(*s), text(t)))
            .collect(),
        help: d.help.as_ref().map(text),
    });
    Cow::Owned(Report {
        diagnostics: diagnostics.collect(),
        sources,
    })
}

/// Returns the text before the character at `at`, or all of it.
fn floor(text: &str, at: usize) -> &str {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}
