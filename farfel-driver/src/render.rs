//! Renders diagnostics as text for people: the marked source lines, and one line for cargo.

use crate::legible::legible_report;
use crate::report::Report;
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Renderer, Snippet, normalize_untrusted_str,
};
use farfel_lang::source::SourceFile;
use farfel_lang::{Diagnostic, FileId, Severity, Sources, Span};
use std::borrow::Cow;
use std::ops::Range;

/// Renders all diagnostics without duplicates in the order of their places, with their source lines, and a
/// final line with their number. The result is empty if there are none.
///
/// `color` adds ANSI escapes.
pub fn render(report: &Report, color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let report = &*legible_report(report);
    let diagnostics = in_order(report);
    let mut out = String::new();
    for d in &diagnostics {
        out.push_str(&renderer.render(&[group(&report.sources, d)]));
        out.push_str("\n\n");
    }
    if let Some((level, text)) = count(&diagnostics) {
        out.push_str(&renderer.render(&[Group::with_title(level.primary_title(text))]));
        out.push('\n');
    }
    out
}

/// Formats the first error (if there are no errors, the first warning) on one line, with the number of the
/// others: `src/game.ff:12:9: F0107 message (and 2 more)`. The result is empty without diagnostics.
pub fn headline(report: &Report) -> String {
    let report = &*legible_report(report);
    let diagnostics = in_order(report);
    let Some(worst) = diagnostics.iter().map(|d| d.severity).max() else {
        return String::new();
    };
    let mut worst = diagnostics.iter().filter(|d| d.severity == worst);
    let Some(first) = worst.next() else {
        return String::new();
    };
    let place = report
        .sources
        .get(first.span.file)
        .map(|file| {
            let at = file.line_column(clamp(file, first.span).start as u32);
            format!("{}:{}:{}: ", file.name, at.line, at.column)
        })
        .unwrap_or_default();
    let message = first.message.lines().collect::<Vec<_>>().join(" ");
    let more = match worst.count() {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    plain(&format!("{place}{} {message}{more}", first.rule.code)).into_owned()
}

/// Escapes control characters, which could control a terminal, or end a line where line breaks are
/// significant. They are written as in Rust: `\u{1b}`.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let escaped = |c: char| match c.is_control() {
        true => c.escape_debug().collect(),
        false => String::from(c),
    };
    text.chars().map(escaped).collect::<String>().into()
}

/// Renders one diagnostic like [`render`], without colours.
pub(crate) fn one(sources: &Sources, d: &Diagnostic) -> String {
    Renderer::plain().render(&[group(sources, d)])
}

/// Returns the diagnostics sorted by file and place, without those that say the same about the same place.
pub(crate) fn in_order(report: &Report) -> Vec<&Diagnostic> {
    fn key(d: &Diagnostic) -> (FileId, u32, u32, &str, &str) {
        (
            d.span.file,
            d.span.start,
            d.span.end,
            d.rule.code,
            &d.message,
        )
    }
    let mut diagnostics: Vec<_> = report.diagnostics.iter().collect();
    diagnostics.sort_by(|a, b| key(a).cmp(&key(b)));
    diagnostics.dedup_by(|a, b| key(a) == key(b));
    diagnostics
}

/// Returns the final line with its level.
fn count(diagnostics: &[&Diagnostic]) -> Option<(Level<'static>, String)> {
    let errors = diagnostics.iter().filter(|d| d.is_error()).count();
    let warnings = diagnostics.len() - errors;
    let say = |n: usize, what: &str| match n {
        0 => None,
        1 => Some(format!("1 {what}")),
        n => Some(format!("{n} {what}s")),
    };
    let parts: Vec<String> = [say(errors, "error"), say(warnings, "warning")]
        .into_iter()
        .flatten()
        .collect();
    let level = if errors > 0 {
        Level::ERROR
    } else {
        Level::WARNING
    };
    (!parts.is_empty()).then(|| (level, parts.join(", ")))
}

/// Converts a diagnostic with everything that belongs to it.
fn group<'a>(sources: &'a Sources, d: &'a Diagnostic) -> Group<'a> {
    let Diagnostic {
        rule,
        severity,
        message,
        span,
        label,
        related,
        help,
    } = d;
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(message).id(rule.code));

    // One snippet for each file, the diagnostic's own first.
    let mut files: Vec<(&SourceFile, FileId, Vec<Mark>)> = Vec::new();
    let mut notes = Vec::new();
    let own = (*span, label, AnnotationKind::Primary);
    let others = related
        .iter()
        .map(|(span, text)| (*span, text, AnnotationKind::Context));
    for (span, text, kind) in std::iter::once(own).chain(others) {
        let Some(file) = sources.get(span.file) else {
            if !text.is_empty() {
                notes.push(text);
            }
            continue;
        };
        let mark = Mark {
            range: clamp(file, span),
            text,
            kind,
        };
        match files.iter_mut().find(|(_, id, _)| *id == span.file) {
            Some((_, _, marks)) => marks.push(mark),
            None => files.push((file, span.file, vec![mark])),
        }
    }
    for (file, _, marks) in files {
        group = group.element(snippet(file, marks));
    }
    for note in notes {
        group = group.element(Level::NOTE.message(normalize_untrusted_str(note)));
    }
    if let Some(help) = help {
        group = group.element(Level::HELP.message(normalize_untrusted_str(help)));
    }
    group
}

/// A place in a file to mark, and its label.
struct Mark<'a> {
    range: Range<usize>,
    text: &'a str,
    kind: AnnotationKind,
}

/// Returns the lines of a file from the first mark to the last.
///
/// No other lines are passed on, because the renderer scans all lines that it receives.
fn snippet<'a>(file: &'a SourceFile, marks: Vec<Mark<'a>>) -> Snippet<'a, Annotation<'a>> {
    let first = marks.iter().map(|m| m.range.start).min().unwrap_or(0);
    let last = marks.iter().map(|m| m.range.end).max().unwrap_or(0);
    let start = file.text[..first].rfind('\n').map_or(0, |at| at + 1);
    let end = file.text[last..]
        .find('\n')
        .map_or(file.text.len(), |at| last + at);
    let lines = &file.text[start..end];
    let lines = lines.strip_suffix('\r').unwrap_or(lines);
    // A mark at the very end of a line may be after the `\r`.
    let within = |at: usize| (at - start).min(lines.len());
    Snippet::source(lines)
        .path(&file.name)
        .line_start(file.line_column(start as u32).line)
        .annotations(marks.into_iter().map(|m| {
            let label = (!m.text.is_empty()).then_some(m.text);
            m.kind
                .span(within(m.range.start)..within(m.range.end))
                .label(label)
        }))
}

/// Returns the bytes of a span that exist in the file, at character boundaries, without trailing blanks and
/// line ends.
pub(crate) fn clamp(file: &SourceFile, span: Span) -> Range<usize> {
    let text = &*file.text;
    let boundary = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    // Something missing at the end of the file is reported after its last statement.
    let start = boundary((span.start as usize).min(text.trim_end().len()));
    let end = boundary((span.end as usize).clamp(start, text.len()));
    start..start + text[start..end].trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::diagnostic::rules;

    /// Returns a report about one file with the diagnostics that `say` makes. `say` can ask for the place of
    /// a text.
    fn report(text: &str, say: impl FnOnce(&dyn Fn(&str) -> Span) -> Vec<Diagnostic>) -> Report {
        let mut sources = Sources::new();
        let file = sources.add("src/game.ff", text);
        let place = |wanted: &str| {
            let start = text.find(wanted).unwrap();
            Span::new(file, start as u32, (start + wanted.len()) as u32)
        };
        let diagnostics = say(&place);
        Report {
            sources,
            diagnostics,
        }
    }

    fn check(report: &Report) -> String {
        format!("{}---\n{}\n", render(report, false), headline(report))
    }

    const GAME: &str = "\
      FUNCTION F(X)
      F = GRUM(X)
      I = X
      ADF(X)
      Y = X*X
      END ADF(YP = TANGENT(Z))
      END
";

    #[test]
    fn marks_labels_related_places_and_help() {
        let r = report(GAME, |at| {
            vec![
                Diagnostic::error(&rules::AD_NOT_COMPUTED, at("Z"), "Z is not computed here")
                    .label("nothing assigns it")
                    .related(at("ADF(X)"), "in this block")
                    .help("name a variable that the block assigns"),
                Diagnostic::warning(&rules::AD_LOST_DERIVATIVE, at("I = X"), "I drops it"),
                Diagnostic::error(&rules::UNKNOWN_PROCEDURE, at("GRUM"), "no GRUM anywhere"),
                Diagnostic::error(&rules::UNKNOWN_PROCEDURE, at("GRUM"), "no GRUM anywhere"),
            ]
        });
        insta::assert_snapshot!(check(&r), @r#"
        error[F0107]: no GRUM anywhere
         --> src/game.ff:2:11
          |
        2 |       F = GRUM(X)
          |           ^^^^

        warning[F0307]: I drops it
         --> src/game.ff:3:7
          |
        3 |       I = X
          |       ^^^^^

        error[F0302]: Z is not computed here
         --> src/game.ff:6:28
          |
        4 |       ADF(X)
          |       ------ in this block
        5 |       Y = X*X
        6 |       END ADF(YP = TANGENT(Z))
          |                            ^ nothing assigns it
          |
          = help: name a variable that the block assigns

        error: 2 errors, 1 warning
        ---
        src/game.ff:2:11: F0107 no GRUM anywhere (and 1 more)
        "#);
    }

    #[test]
    fn warnings_alone_are_no_error() {
        let r = report(GAME, |at| {
            vec![Diagnostic::warning(
                &rules::AD_LOST_DERIVATIVE,
                at("I = X"),
                "I drops it",
            )]
        });
        insta::assert_snapshot!(check(&r), @r#"
        warning[F0307]: I drops it
         --> src/game.ff:3:7
          |
        3 |       I = X
          |       ^^^^^

        warning: 1 warning
        ---
        src/game.ff:3:7: F0307 I drops it
        "#);
    }

    #[test]
    fn nothing_to_say() {
        assert_eq!(check(&Report::default()), "---\n\n");
    }

    #[test]
    fn places_without_source() {
        let r = report(GAME, |_| {
            vec![
                Diagnostic::error(&rules::COMPILER, Span::NONE, "the compiler\nrefused")
                    .label("label")
                    .related(Span::NONE, "why")
                    .help("help"),
            ]
        });
        insta::assert_snapshot!(check(&r), @r#"
        error[F0401]: the compiler
                      refused
         |
         = note: label
         = note: why
         = help: help

        error: 1 error
        ---
        F0401 the compiler refused
        "#);
    }

    #[test]
    fn other_files() {
        let mut sources = Sources::new();
        let a = sources.add("a.ff", "      CALL S(1)\n");
        let b = sources.add("b.f", "      SUBROUTINE S\n");
        let diagnostics = vec![
            Diagnostic::error(&rules::SYNTAX, Span::new(b, 6, 16), "later"),
            Diagnostic::error(&rules::ARGUMENT_MISMATCH, Span::new(a, 11, 15), "too many")
                .related(Span::new(b, 17, 18), "S has none"),
        ];
        insta::assert_snapshot!(check(&Report { sources, diagnostics }), @r#"
        error[F0103]: too many
         --> a.ff:1:12
          |
        1 |       CALL S(1)
          |            ^^^^
          |
         ::: b.f:1:18
          |
        1 |       SUBROUTINE S
          |                  - S has none

        error[F0001]: later
         --> b.f:1:7
          |
        1 |       SUBROUTINE S
          |       ^^^^^^^^^^

        error: 2 errors
        ---
        a.ff:1:12: F0103 too many (and 1 more)
        "#);
    }

    #[test]
    fn empty_files_and_ends_of_files() {
        let mut sources = Sources::new();
        let empty = sources.add("empty.ff", "");
        let open = sources.add("open.ff", "      DO I = 1, 3\n\n");
        let beyond = |file| Span::new(file, 9999, 10_000);
        let diagnostics = vec![
            Diagnostic::error(&rules::UNCLOSED_BLOCK, Span::new(empty, 0, 0), "empty"),
            Diagnostic::error(&rules::UNCLOSED_BLOCK, beyond(empty), "beyond"),
            Diagnostic::error(&rules::UNCLOSED_BLOCK, Span::new(open, 19, 19), "the end"),
            Diagnostic::error(&rules::UNCLOSED_BLOCK, beyond(open), "beyond"),
        ];
        insta::assert_snapshot!(check(&Report { sources, diagnostics }), @r#"
        error[F0003]: empty
         --> empty.ff:1:1
          |
        1 |
          | ^

        error[F0003]: beyond
         --> empty.ff:1:1
          |
        1 |
          | ^

        error[F0003]: the end
         --> open.ff:1:18
          |
        1 |       DO I = 1, 3
          |                  ^

        error[F0003]: beyond
         --> open.ff:1:18
          |
        1 |       DO I = 1, 3
          |                  ^

        error: 4 errors
        ---
        empty.ff:1:1: F0003 empty (and 3 more)
        "#);
    }

    #[test]
    fn tabs_wide_characters_and_dos_lines() {
        let text = "\tX = 'Grüße 世界' // BAD\r\n      Y = 2\r\n";
        let r = report(text, |at| {
            let ue = at("ü");
            vec![
                Diagnostic::error(&rules::TYPE_MISMATCH, at("BAD"), "BAD is bad").label("here"),
                Diagnostic::error(&rules::SYNTAX, at("Y = 2\r\n"), "to the end of the line"),
                // Within a character.
                Diagnostic::error(
                    &rules::BAD_CHARACTER,
                    Span::new(ue.file, ue.start + 1, ue.end),
                    "half",
                ),
            ]
        });
        insta::assert_snapshot!(check(&r), @r#"
        error[F0005]: half
         --> src/game.ff:1:9
          |
        1 |     X = 'Grüße 世界' // BAD
          |            ^

        error[F0104]: BAD is bad
         --> src/game.ff:1:20
          |
        1 |     X = 'Grüße 世界' // BAD
          |                         ^^^ here

        error[F0001]: to the end of the line
         --> src/game.ff:2:7
          |
        2 |       Y = 2
          |       ^^^^^

        error: 3 errors
        ---
        src/game.ff:1:9: F0005 half (and 2 more)
        "#);
    }

    #[test]
    fn a_statement_of_several_lines() {
        let text = "      X = 1 +\n     +    Y\n      END\n";
        let r = report(text, |at| {
            vec![
                Diagnostic::error(&rules::UNDECLARED, at("X = 1 +\n     +    Y"), "what is Y")
                    .label("this statement"),
            ]
        });
        insta::assert_snapshot!(check(&r), @r#"
        error[F0101]: what is Y
         --> src/game.ff:1:7
          |
        1 | /       X = 1 +
        2 | |      +    Y
          | |___________^ this statement

        error: 1 error
        ---
        src/game.ff:1:7: F0101 what is Y
        "#);
    }

    #[test]
    fn color_is_only_added() {
        let r = report(GAME, |at| {
            vec![Diagnostic::error(&rules::SYNTAX, at("I = X"), "wrong")]
        });
        let colored = render(&r, true);
        assert!(colored.contains("\u{1b}["));
        let mut plain = String::new();
        let mut rest = colored.as_str();
        while let Some(at) = rest.find('\u{1b}') {
            plain.push_str(&rest[..at]);
            rest = rest[at..].split_once('m').unwrap().1;
        }
        plain.push_str(rest);
        assert_eq!(plain, render(&r, false));
    }
}
