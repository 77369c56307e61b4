//! Diagnostics as a SARIF 2.1.0 log, a format that code hosts and editors read.
//!
//! A log is one JSON object, with one run of the tool `farfel`:
//!
//! | field of the run | contents |
//! |---|---|
//! | `tool.driver` | `name`, `version`, `informationUri`; `rules`: each rule that a result refers to, with `id` (F0107), `name` (unknown-procedure) and `fullDescription`, the subject of the rule |
//! | `columnKind` | `unicodeCodePoints`: columns count characters, from 1 |
//! | `results` | the diagnostics in the order of [`messages`](crate::messages) |
//!
//! | field of a result | contents |
//! |---|---|
//! | `ruleId`, `ruleIndex` | the rule, by its code and by its index in `rules` |
//! | `level` | `error` or `warning` |
//! | `message.text` | what is wrong; notes and help follow, each on a line of its own |
//! | `locations` | the primary place, if there is one: `physicalLocation.artifactLocation.uri`, relative to the project and with `/`, and `region` with `startLine`, `startColumn`, `endLine` and `endColumn`, the column after the last |
//! | `relatedLocations` | the other places, each with `message.text` if it has a label |
//!
//! The schema is that of OASIS: <https://json.schemastore.org/sarif-2.1.0.json>.

use crate::messages::{Message, SourceLocation};
use farfel_lang::diagnostic::{Rule, rules};
use serde_json::{Value, json};

/// Returns the log of these messages as JSON. `about` returns the subject of a rule.
pub fn log(messages: &[Message], about: &dyn Fn(&Rule) -> String) -> String {
    let mut codes: Vec<&str> = messages.iter().map(|m| m.code).collect();
    codes.sort_unstable();
    codes.dedup();
    let rules: Vec<Value> = codes
        .iter()
        .filter_map(|code| rules::ALL.iter().find(|rule| rule.code == *code))
        .map(|rule| {
            json!({
                "id": rule.code,
                "name": rule.name,
                "fullDescription": {"text": about(rule)},
                "help": {"text": format!("`farfel explain {}` says more", rule.code)},
            })
        })
        .collect();
    let results: Vec<Value> = messages.iter().map(|m| result(m, &codes)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "farfel",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    log.to_string()
}

fn result(message: &Message, codes: &[&str]) -> Value {
    let notes = message.notes.iter().map(|note| format!("\nnote: {note}"));
    let help = message.help.iter().map(|help| format!("\nhelp: {help}"));
    let text: String = std::iter::once(message.message.clone())
        .chain(notes)
        .chain(help)
        .collect();
    let at = |primary: bool| message.places.iter().filter(move |p| p.primary == primary);
    let mut result = json!({
        "ruleId": message.code,
        "level": message.level,
        "message": {"text": text},
        "locations": at(true).map(location).collect::<Vec<_>>(),
    });
    if let Some(index) = codes.iter().position(|code| *code == message.code) {
        result["ruleIndex"] = index.into();
    }
    let related: Vec<Value> = at(false).map(location).collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    result
}

fn location(place: &SourceLocation) -> Value {
    let mut location = json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(&place.file)},
        "region": {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
        },
    }});
    if !place.label.is_empty() {
        location["message"] = json!({"text": place.label});
    }
    location
}

/// Converts a path to a URI reference: with `/`, and with reserved characters percent-encoded.
fn uri(path: &str) -> String {
    let path = match cfg!(windows) {
        true => path.replace('\\', "/"),
        false => path.to_owned(),
    };
    let mut uri = if path.starts_with('/') {
        "file://".to_owned()
    } else {
        String::new()
    };
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, line: usize, primary: bool, label: &str) -> SourceLocation {
        SourceLocation {
            file: file.into(),
            line,
            column: 7,
            end_line: line,
            end_column: 9,
            primary,
            label: label.into(),
        }
    }

    #[test]
    fn a_log_has_all_of_a_message() {
        let message = Message {
            level: "error",
            code: "F0107",
            name: "unknown-procedure",
            message: "no GRUM anywhere".into(),
            places: vec![
                place("src/a b.ff", 3, true, ""),
                place("/tmp/c.f", 8, false, "declared here"),
            ],
            notes: vec!["it is so".into()],
            help: Some("write it".into()),
            rendered: String::new(),
        };
        let log: Value =
            serde_json::from_str(&log(&[message], &|rule| format!("about {}", rule.name))).unwrap();
        let run = &log["runs"][0];
        let driver = &run["tool"]["driver"];
        assert_eq!(driver["rules"][0]["id"], "F0107");
        assert_eq!(driver["rules"][0]["name"], "unknown-procedure");
        let description = &driver["rules"][0]["fullDescription"]["text"];
        assert_eq!(description, "about unknown-procedure");
        let region = |line: usize| json!({"startLine": line, "startColumn": 7, "endLine": line, "endColumn": 9});
        assert_eq!(
            run["results"],
            json!([{
                "ruleId": "F0107",
                "ruleIndex": 0,
                "level": "error",
                "message": {"text": "no GRUM anywhere\nnote: it is so\nhelp: write it"},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": "src/a%20b.ff"}, "region": region(3)}}],
                "relatedLocations": [{
                    "physicalLocation": {"artifactLocation": {"uri": "file:///tmp/c.f"}, "region": region(8)},
                    "message": {"text": "declared here"}}],
            }])
        );
    }
}
