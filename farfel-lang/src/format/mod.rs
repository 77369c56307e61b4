//! The source formatter: sets indentation, blanks and continuation lines, and converts between the
//! source forms.
//!
//! It works on the statements as the user wrote them, not on the tree. Spelling and letter case of
//! names, numbers and constants do not change, comments stay in place, and INCLUDE statements and
//! preprocessor lines are not followed. The parser records what the letters of a statement are and
//! how deeply it is nested (`syntax::trace`).
//!
//! | module | purpose |
//! |---|---|
//! | `tokens` | splits a statement into tokens |
//! | `spacing` | decides on the blanks between them |
//! | `lines` | lays a statement out on lines, with trailing comments |
//! | `comments` | comments and directives on lines of their own, in either form |
//! | `verify` | checks that the result means the same |
//!
//! Every result is verified: parsed again, it has the same statements, letter for letter, the same
//! tree, and the same comments in the same order. Formatting is idempotent. If a result would not
//! meet these conditions, none is returned.

mod comments;
mod lines;
mod spacing;
mod tokens;
mod verify;

#[cfg(test)]
mod tests;

use crate::diagnostic::{Diagnostic, rules};
use crate::source::{FileId, Sources, Span};
use crate::syntax::trace;
use crate::syntax::trace::{Trace, TracedStatement};
use crate::syntax::{Form, ReadOptions, detect, is_card_number};
use comments::Converter;
use lines::{Line, StatementComment, StatementLayout};
use tokens::Token;

/// The letter case of names and keywords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Case {
    /// Unchanged.
    #[default]
    Keep,
    /// Lower case.
    Lower,
    /// Upper case.
    Upper,
}

/// The options of the formatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// How to read the text. Debug lines are always treated as comments here.
    pub read: ReadOptions,
    /// The source form of the result; `None` for that of the text.
    pub form: Option<Form>,
    /// The case of names and keywords. Constants and comments do not change.
    pub case: Case,
}

/// Why a text cannot be formatted.
#[derive(Debug)]
pub enum FormatError {
    /// The text cannot be parsed. A construct that is divided by preprocessor lines or INCLUDE
    /// statements leads to this, too.
    Unreadable(Vec<Diagnostic>),
    /// The result would not mean the same. The span is the first statement that would differ, if
    /// known.
    Different(Option<Span>),
}

/// The longest line in free form.
const FREE_WIDTH: usize = 132;
/// Columns per level of nesting.
const INDENT: usize = 2;
/// The maximum indentation, in columns; deeper levels are not indented further.
const MAX_INDENT: usize = 30;

/// Formats a source text.
///
/// ```
/// use farfel_lang::Sources;
/// use farfel_lang::format::{Options, format};
///
/// let mut sources = Sources::new();
/// let file = sources.add("a.f", "      IF(A.GT.0)THEN\n      b=a*2 ! twice\n      ENDIF\n      END\n");
/// let text = format(&mut sources, file, &Options::default()).unwrap();
/// assert_eq!(
///     text,
///     "      IF (A .GT. 0) THEN\n        b = a*2 ! twice\n      ENDIF\n      END\n"
/// );
/// ```
///
/// # Errors
///
/// See [`FormatError`].
pub fn format(
    sources: &mut Sources,
    file: FileId,
    options: &Options,
) -> Result<String, FormatError> {
    let text = sources
        .get(file)
        .map_or_else(|| "".into(), |f| f.text.clone());
    let mut read = options.read;
    read.layout.debug_lines = false;
    let from = read.form.unwrap_or_else(|| detect(&text));
    let to = options.form.unwrap_or(from);
    read.form = Some(from);
    let traced = trace(sources, file, &read);
    if unreadable(&traced, &text) {
        return Err(FormatError::Unreadable(traced.diagnostics));
    }
    let width = match to {
        Form::Fixed => read.layout.with_settings_in(&text).line_length,
        Form::Free => FREE_WIDTH,
    };
    let mut writer = Writer {
        source: &text,
        from,
        to,
        width,
        width_read: read.layout.with_settings_in(&text).line_length,
        case: options.case,
        lines: Vec::new(),
        end: if text.starts_with('\u{feff}') { 3 } else { 0 },
        converter: Converter::new(from, to),
    };
    for st in &traced.statements {
        writer.statement(st);
    }
    let mut result = writer.finish();
    if options.read.form.is_none() && detect(&result) != to {
        let form = if to == Form::Free { "free" } else { "fixed" };
        result = format!("!farfel: form={form}\n{result}");
    }
    if text.contains("\r\n") {
        result = result.replace('\n', "\r\n");
    }
    verify::same(&text, from, &traced, &result, to, &read).map_err(FormatError::Different)?;
    Ok(result)
}

/// Whether the text has errors that make its structure uncertain. If it contains preprocessor
/// lines, something defined twice need not be defined twice in the program.
fn unreadable(traced: &Trace, text: &str) -> bool {
    let conditional = text.lines().any(|l| l.starts_with('#'));
    // A file for INCLUDE has statements without a unit around them.
    let part = |d: &Diagnostic| {
        d.rule == &rules::UNCLOSED_BLOCK && d.message == "the main program has no END"
    };
    let harmless = |d: &Diagnostic| {
        // This excludes labels that are malformed.
        let twice = d.message.contains("defined twice") || d.message.contains("with label");
        d.rule == &rules::BAD_LABEL && twice
            || d.rule == &rules::CONFLICTING_DECLARATION
            || d.rule == &rules::MISPLACED_STATEMENT
    };
    traced
        .diagnostics
        .iter()
        .any(|d| d.is_error() && !part(d) && !(conditional && harmless(d)))
}

struct Writer<'a> {
    source: &'a str,
    from: Form,
    to: Form,
    /// The last column of the result. `width_read` is that of the source in fixed form.
    width: usize,
    width_read: usize,
    case: Case,
    lines: Vec<Line>,
    /// The offset up to which the source has been written.
    end: usize,
    converter: Converter,
}

impl Writer<'_> {
    /// Writes a statement and the comments before it.
    fn statement(&mut self, st: &TracedStatement) {
        let tokens = tokens::tokens(self.source, st, self.from == Form::Free, self.case);
        let begin = match (st.label, st.offsets.first()) {
            (Some((_, span)), _) => span.start as usize,
            (None, Some(first)) => first.0 as usize,
            (None, None) => usize::MAX,
        };
        let mut notes: Vec<StatementComment> = Vec::new();
        let mut around = StatementLayout {
            form: self.to,
            width: self.width,
            indent: self.indent(st, &tokens, true),
            label: None,
        };
        for comment in &st.comments {
            let (start, end) = (comment.start as usize, comment.end as usize);
            let text = self.source.get(start..end).unwrap_or("").trim_end();
            let column = self.column(start);
            let own_line = self.line_before(start).trim().is_empty();
            if start < begin {
                self.blank_line(start);
                // The comment follows `;` on the line of the previous statement.
                if own_line || self.lines.is_empty() {
                    self.converter.line(text, column, around, &mut self.lines);
                } else if let Some(line) = self.lines.last_mut() {
                    line.comment
                        .get_or_insert((self.converter.inside(text), column));
                }
                self.end = end;
                continue;
            }
            let after = tokens.iter().take_while(|t| t.start < start).count();
            notes.push(StatementComment {
                after,
                text: self.converter.inside(text),
                column: if own_line {
                    column
                } else {
                    self.shifted(column)
                },
                own_line,
            });
        }
        if tokens.is_empty() {
            return;
        }
        notes.extend(self.beyond(st, &tokens, begin));
        notes.sort_by_key(|c| c.after);
        self.flush();
        self.blank_line(begin);
        around.indent = self.indent(st, &tokens, false);
        around.label = st.label.map(|(l, _)| l);
        let mut broken = vec![false; tokens.len()];
        for (i, pair) in tokens.windows(2).enumerate() {
            let between = self.source.get(pair[0].end..pair[1].start).unwrap_or("");
            broken[i + 1] = between.contains('\n');
        }
        let lines = lines::lay_out(&tokens, &broken, &notes, around);
        self.lines.extend(lines);
        let end = tokens.last().map_or(begin, |t| t.end);
        let comments = st.comments.iter().map(|c| c.end as usize);
        self.end = comments.chain([end]).max().unwrap_or(end);
    }

    /// Returns the text beyond the last column, except for card numbers, as comments.
    fn beyond(
        &self,
        st: &TracedStatement,
        tokens: &[Token],
        begin: usize,
    ) -> Vec<StatementComment> {
        let mut notes = Vec::new();
        let Some(last) = tokens.last().filter(|_| self.from == Form::Fixed) else {
            return notes;
        };
        let mut at = self.source[..begin].rfind('\n').map_or(0, |n| n + 1);
        for line in self.source[at..].split_inclusive('\n') {
            if at > last.end {
                break;
            }
            let cut = comments::cut(line, self.width_read);
            let line_end = at + line.len();
            let is_here = |c: &&Span| (at..line_end).contains(&(c.start as usize));
            if st.comments.iter().any(|c| is_here(&c)) {
                at = line_end;
                continue;
            }
            if let Some(rest) = cut.and_then(|c| line.get(c..)).map(str::trim)
                && !rest.is_empty()
                && !is_card_number(rest)
            {
                let end = at + line.len();
                notes.push(StatementComment {
                    after: tokens.iter().take_while(|t| t.start < end).count(),
                    text: format!("! {rest}"),
                    column: 0,
                    own_line: false,
                });
            }
            at += line.len();
        }
        notes
    }

    /// Returns the indentation of a statement, or of the comments before it.
    fn indent(&self, st: &TracedStatement, tokens: &[Token], comment: bool) -> usize {
        let mut first = spacing::words(tokens);
        if st.label.is_none() && tokens.get(1).is_some_and(|t| t.is(":")) {
            first.clear();
        }
        let header = st.after.units > st.before.units && !st.after.implicit;
        let ends = st.after.units < st.before.units;
        // In free form the contents of a unit are indented relative to its header.
        let units = match (self.to, header || ends) {
            (_, true) if comment && ends => st.before.units,
            (_, true) => st.before.units.max(st.after.units).saturating_sub(1),
            (Form::Free, false) if !st.after.implicit => st.after.units,
            (_, false) => st.after.units.saturating_sub(1),
        };
        let units = match (self.to, comment && ends) {
            (Form::Fixed, true) => units.saturating_sub(1),
            _ => units,
        };
        let (before, after) = (st.before.blocks, st.after.blocks);
        let blocks = if header || ends && !comment {
            0
        } else if comment {
            before
        } else if after < before {
            let closes = ["END", "CONTINUE"].iter().any(|w| first.starts_with(w));
            if closes { after } else { before }
        } else if after == before && ["ELSE", "CASE"].iter().any(|w| first.starts_with(w)) {
            before.saturating_sub(1)
        } else {
            before
        };
        ((units + blocks) * INDENT).min(MAX_INDENT)
    }

    /// Writes an empty line if the source has any between `end` and `start`.
    fn blank_line(&mut self, start: usize) {
        let between = self.source.get(self.end..start).unwrap_or("");
        let mut lines = between.split('\n');
        // The rest of a line and the part before `start` are not empty lines.
        lines.next();
        let empty = lines.count() > 1;
        if empty && self.lines.last().is_some_and(|l| !l.text().is_empty()) {
            self.flush();
            self.lines.push(Line::default());
        }
    }

    fn flush(&mut self) {
        self.converter.flush(&mut self.lines);
    }

    fn line_before(&self, at: usize) -> &str {
        let before = self.source.get(..at).unwrap_or("");
        let line = before.rfind('\n').map_or(0, |n| n + 1);
        before[line..].trim_start_matches('\u{feff}')
    }

    /// Converts the column of the end of a line to its column in the form of the result.
    fn shifted(&self, column: usize) -> usize {
        match (self.from, self.to) {
            (Form::Fixed, Form::Free) => column.saturating_sub(6 - INDENT),
            (Form::Free, Form::Fixed) => column + 6 - INDENT,
            _ => column,
        }
    }

    fn column(&self, at: usize) -> usize {
        let mut column = 0;
        for c in self.line_before(at).chars() {
            column = if c == '\t' {
                (column / 8 + 1) * 8
            } else {
                column + 1
            };
        }
        column
    }

    fn finish(mut self) -> String {
        self.flush();
        lines::align(&mut self.lines, self.width);
        let mut out = String::new();
        for line in &self.lines {
            out.push_str(&line.text());
            out.push('\n');
        }
        out
    }
}
