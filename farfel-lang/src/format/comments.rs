//! Comments, directives and preprocessor lines on lines of their own.

use super::lines::{Line, StatementLayout, own_line};
use crate::print::lay_out_directive;
use crate::syntax::{Form, is_form_setting, joined_directives, sentinel};

/// Converts comments to the source form of the result.
pub(super) struct Converter {
    from: Form,
    to: Form,
    /// The lines so far of a directive that may continue, and where they go.
    directive: Vec<String>,
    /// Whether the line before was a preprocessor line that continues.
    hash: bool,
}

impl Converter {
    pub fn new(from: Form, to: Form) -> Self {
        Converter {
            from,
            to,
            directive: Vec::new(),
            hash: false,
        }
    }

    /// Writes a comment with a line of its own. `text` begins with its comment mark.
    pub fn line(
        &mut self,
        text: &str,
        column: usize,
        layout: StatementLayout,
        out: &mut Vec<Line>,
    ) {
        if self.hash || text.starts_with('#') && column == 0 {
            self.hash = text.ends_with('\\');
            self.flush(out);
            return out.push(Line::whole(text));
        }
        if self.from != self.to && is_directive(text, column, self.from) {
            return self.directive.push(text.to_owned());
        }
        self.flush(out);
        let text = self.inside(text);
        let text = match is_form_setting(&text) && self.from != self.to {
            true => other_form(&text, self.to),
            false => text,
        };
        out.push(Line::whole(own_line(&text, column, layout)));
    }

    /// Converts a comment within a statement or at its end.
    pub fn inside(&self, text: &str) -> String {
        let marked = text.starts_with(['!', '#']);
        match self.to {
            Form::Free if !marked && text.starts_with(['D', 'd']) => format!("!{text}"),
            Form::Free if !marked => format!("!{}", text.get(1..).unwrap_or("")),
            _ => text.to_owned(),
        }
    }

    /// Writes the directive collected so far.
    pub fn flush(&mut self, out: &mut Vec<Line>) {
        let lines = std::mem::take(&mut self.directive);
        if lines.is_empty() {
            return;
        }
        let lines = lines.iter().map(String::as_str);
        for text in joined_directives(lines, self.from == Form::Free) {
            let Some(length) = sentinel(&text) else {
                continue;
            };
            let mut laid_out = String::new();
            lay_out_directive(&mut laid_out, self.to, &text, length);
            // Both forms accept this mark.
            for line in laid_out.lines() {
                let rest = line.get(1..).unwrap_or("");
                out.push(Line::whole(format!("!{rest}")));
            }
        }
    }
}

/// Whether a comment is a directive in a form.
pub(super) fn is_directive(text: &str, column: usize, form: Form) -> bool {
    (form == Form::Free || column == 0)
        && !text.starts_with('#')
        && text.get(1..).is_some_and(|t| sentinel(t).is_some())
}

fn other_form(text: &str, to: Form) -> String {
    let (old, new) = match to {
        Form::Free => ("fixed", "free"),
        Form::Fixed => ("free", "fixed"),
    };
    match text.to_ascii_lowercase().find(old) {
        Some(at) => format!("{}{new}{}", &text[..at], &text[at + old.len()..]),
        None => text.to_owned(),
    }
}

/// Returns the byte offset in a line of fixed form after its last column.
pub(super) fn cut(line: &str, width: usize) -> Option<usize> {
    let mut column = 1;
    for (at, c) in line.char_indices() {
        if column > width {
            return Some(at);
        }
        column = if c == '\t' && column <= 6 {
            7
        } else {
            column + 1
        };
    }
    None
}
