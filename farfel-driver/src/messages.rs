//! Diagnostics as data, for programs that show them: `farfel-build`, editors, CI.
//!
//! A diagnostic is a JSON object:
//!
//! ```json
//! {
//!   "level": "error",
//!   "code": "F0107",
//!   "name": "unknown-procedure",
//!   "message": "no GRUM anywhere",
//!   "places": [
//!     {"file": "src/game.ff", "line": 2, "column": 11, "end_line": 2, "end_column": 15,
//!      "primary": true, "label": ""}
//!   ],
//!   "notes": [],
//!   "help": null,
//!   "rendered": "error[F0107]: …"
//! }
//! ```
//!
//! `level` is `error` or `warning`. `code` and `name` are those of `farfel explain`. Lines and columns start
//! at 1; columns count characters, and `end_column` is the one after the last. The primary place comes first,
//! if there is one; the others point out related code. `notes` are not tied to a place. `rendered` is the
//! text shown to people, without colours. Fields may be added in the future but will not be removed.
//!
//! In streams that contain other kinds of lines, each diagnostic has an additional field `"reason":
//! "diagnostic"`. This applies to the standard output of `farfel --message-format json` and to the protocol
//! of [`script`](crate::script).

use crate::legible::legible_report;
use crate::render;
use crate::report::Report;
use farfel_lang::{Diagnostic, Severity, Sources, Span};
use serde::Serialize;

/// One diagnostic; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `error` or `warning`.
    pub level: &'static str,
    /// `F` and four digits.
    pub code: &'static str,
    /// The kebab-case name of the rule.
    pub name: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The relevant places, the primary one first.
    pub places: Vec<SourceLocation>,
    /// Notes that are not tied to a place.
    pub notes: Vec<String>,
    /// How to fix it.
    pub help: Option<String>,
    /// The whole diagnostic as shown to people, without colours.
    pub rendered: String,
}

/// A message as a line in a stream with several kinds of lines.
#[derive(Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Line<'a> {
    Diagnostic(&'a Message),
}

impl Message {
    /// Returns the diagnostic as a JSON object on one line; its first field is `"reason": "diagnostic"`.
    pub fn json(&self) -> String {
        // Serialization of these types cannot fail.
        serde_json::to_string(&Line::Diagnostic(self)).unwrap_or_default()
    }

    /// Formats the message as a workflow command with which GitHub Actions annotates a change.
    pub fn github(&self) -> String {
        let escaped = |text: &str| {
            let text = text.replace('%', "%25").replace('\r', "%0D");
            text.replace('\n', "%0A")
        };
        let of_file = |text: &str| escaped(text).replace(':', "%3A").replace(',', "%2C");
        let place = self.places.iter().find(|p| p.primary);
        let place = place.map(|p| {
            let (file, line, column) = (of_file(&p.file), p.line, p.column);
            format!("file={file},line={line},col={column},")
        });
        let help = self.help.iter().map(|help| format!("\nhelp: {help}"));
        let text = std::iter::once(self.message.clone()).chain(help);
        format!(
            "::{} {}title={}::{}",
            self.level,
            place.unwrap_or_default(),
            self.code,
            escaped(&text.collect::<String>())
        )
    }

    /// Formats the message on one line: `src/game.ff:2:11: F0107 no GRUM anywhere`. A nonempty `word` is put
    /// in front of the code.
    pub fn short(&self, word: &str) -> String {
        let place = self.places.iter().find(|p| p.primary);
        let place = place.map(|p| format!("{}:{}:{}: ", p.file, p.line, p.column));
        let code = match word {
            "" => self.code.to_owned(),
            _ => format!("{word}[{}]:", self.code),
        };
        let text = format!("{}{code} {}", place.unwrap_or_default(), self.message);
        render::plain(&text).into_owned()
    }

    /// Formats the message as the short line followed by the marked source lines.
    pub(crate) fn lines(&self) -> String {
        let marked = self.rendered.lines().skip(1);
        let marked = marked.skip_while(|l| l.trim_start().starts_with("--> "));
        std::iter::once(self.short(""))
            .chain(marked.map(str::to_owned))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceLocation {
    /// The file's name as shown in messages: relative to the project.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The line of the end, from 1.
    pub end_line: usize,
    /// The column after the last character.
    pub end_column: usize,
    /// Whether this is the place that the message is about.
    pub primary: bool,
    /// The label shown at this place; may be empty.
    pub label: String,
}

/// Returns the diagnostics of a report without duplicates, in the order of their places.
pub fn messages(report: &Report) -> Vec<Message> {
    let report = &*legible_report(report);
    render::in_order(report)
        .into_iter()
        .map(|d| message(&report.sources, d))
        .collect()
}

fn message(sources: &Sources, d: &Diagnostic) -> Message {
    let mut places = Vec::new();
    let mut notes = Vec::new();
    let own = (d.span, &d.label, true);
    let others = d.related.iter().map(|(span, text)| (*span, text, false));
    for (span, text, primary) in std::iter::once(own).chain(others) {
        match place(sources, span, text, primary) {
            Some(place) => places.push(place),
            None if text.is_empty() => {}
            None => notes.push(text.clone()),
        }
    }
    Message {
        level: match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        code: d.rule.code,
        name: d.rule.name,
        message: d.message.clone(),
        places,
        notes,
        help: d.help.clone(),
        rendered: render::one(sources, d),
    }
}

fn place(sources: &Sources, span: Span, label: &str, primary: bool) -> Option<SourceLocation> {
    let file = sources.get(span.file)?;
    let range = render::clamp(file, span);
    let (start, end) = (
        file.line_column(range.start as u32),
        file.line_column(range.end as u32),
    );
    Some(SourceLocation {
        file: file.name.clone(),
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        primary,
        label: label.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::diagnostic::rules;

    #[test]
    fn places_are_counted_in_characters() {
        let mut sources = Sources::new();
        let text = "C größer\n      F = GRÜM(X)\n      ADF(X)\n";
        let file = sources.add("src/game.ff", text);
        let at = |wanted: &str| {
            let start = text.find(wanted).unwrap();
            Span::new(file, start as u32, (start + wanted.len()) as u32)
        };
        let report = Report {
            diagnostics: vec![
                Diagnostic::warning(&rules::AD_LOST_DERIVATIVE, at("ADF(X)"), "lost").help("do"),
                Diagnostic::error(&rules::UNKNOWN_PROCEDURE, at("GRÜM"), "nowhere")
                    .related(at("ADF(X)"), "here")
                    .related(Span::NONE, "and elsewhere"),
            ],
            sources,
        };
        let found = messages(&report);
        let [first, second] = &found[..] else {
            panic!("{found:?}")
        };
        let json = serde_json::to_value(first).unwrap();
        let place = |line, column, end, primary, label: &str| {
            serde_json::json!({"file": "src/game.ff", "line": line, "column": column, "end_line": line,
                "end_column": end, "primary": primary, "label": label})
        };
        assert_eq!(
            json,
            serde_json::json!({
                "level": "error",
                "code": "F0107",
                "name": "unknown-procedure",
                "message": "nowhere",
                "places": [place(2, 11, 15, true, ""), place(3, 7, 13, false, "here")],
                "notes": ["and elsewhere"],
                "help": null,
                "rendered": first.rendered,
            })
        );
        let line: serde_json::Value = serde_json::from_str(&first.json()).unwrap();
        assert_eq!(
            (&line["reason"], &line["code"]),
            (&"diagnostic".into(), &json["code"])
        );
        assert_eq!(
            first.short("error"),
            "src/game.ff:2:11: error[F0107]: nowhere"
        );
        assert_eq!(
            second.github(),
            "::warning file=src/game.ff,line=3,col=7,title=F0307::lost%0Ahelp: do"
        );
        assert_eq!(
            second.lines(),
            "src/game.ff:3:7: F0307 lost\n  |\n3 |       ADF(X)\n  |       ^^^^^^\n  |\n  = help: do"
        );
        assert!(first.rendered.starts_with("error[F0107]: nowhere\n"));
        assert!(first.rendered.contains("F = GRÜM(X)"));
        assert_eq!(
            (second.level, second.help.as_deref()),
            ("warning", Some("do"))
        );
    }
}
