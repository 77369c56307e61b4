//! Checks that a formatted text is still the same program.

use super::comments::is_directive;
use crate::print::{Options, print_program};
use crate::source::{FileId, Sources, Span};
use crate::syntax::trace;
use crate::syntax::trace::{Trace, TracedStatement};
use crate::syntax::{Form, ReadOptions, is_form_setting, joined_directives};

/// Compares the statements, trees and comments of the texts `old` and `new`. The error is the first
/// statement that differs.
pub(super) fn same(
    old: &str,
    from: Form,
    traced: &Trace,
    new: &str,
    to: Form,
    read: &ReadOptions,
) -> Result<(), Option<Span>> {
    let mut sources = Sources::new();
    let file = sources.add("result", new);
    let read = ReadOptions {
        form: Some(to),
        ..*read
    };
    let again = trace(&mut sources, file, &read);
    let mut others = statements(&again);
    for st in statements(traced) {
        if others.next().is_none_or(|other| !same_statement(st, other)) {
            return Err(span_of(st));
        }
    }
    if others.next().is_some() {
        return Err(None);
    }
    let errors = |t: &Trace| t.diagnostics.iter().filter(|d| d.is_error()).count();
    let options = Options {
        comments: false,
        ..Options::default()
    };
    // Directives are left out here; their lines are compared below.
    let tree = |t: &Trace| -> Vec<String> {
        let text = print_program(&t.program, &options);
        text.lines()
            .filter(|l| !l.starts_with('C'))
            .map(str::to_owned)
            .collect()
    };
    if errors(traced) != errors(&again) || tree(traced) != tree(&again) {
        return Err(None);
    }
    let mut kept = comments(new, &again, to);
    for comment in comments(old, traced, from) {
        match kept.iter().position(|c| *c == comment) {
            Some(at) => drop(kept.swap_remove(at)),
            None => return Err(None),
        }
    }
    Ok(())
}

fn statements(t: &Trace) -> impl Iterator<Item = &TracedStatement> {
    t.statements.iter().filter(|s| !s.text.is_empty())
}

fn same_statement(a: &TracedStatement, b: &TracedStatement) -> bool {
    let label = |t: &TracedStatement| t.label.map(|(l, _)| l);
    label(a) == label(b)
        && a.text == b.text
        && a.constants.len() == b.constants.len()
        && a.constants
            .iter()
            .zip(&b.constants)
            .all(|(a, b)| a.value == b.value)
}

fn span_of(st: &TracedStatement) -> Option<Span> {
    let file = st.label.map(|(_, s)| s.file).or(Some(FileId(0)))?;
    let (first, last) = (st.offsets.first()?.0, st.offsets.last()?.0);
    Some(Span::new(file, first, last + 1))
}

/// Returns the comments of a text, with directives joined and without what differs between forms.
fn comments(text: &str, trace: &Trace, form: Form) -> Vec<String> {
    let mut lines: Vec<(&str, bool)> = Vec::new();
    for span in trace.statements.iter().flat_map(|s| &s.comments) {
        let (start, end) = (span.start as usize, span.end as usize);
        let comment = text.get(start..end).unwrap_or("").trim_end();
        let first = text
            .get(..start)
            .is_none_or(|t| t.is_empty() || t.ends_with('\n'));
        if !is_form_setting(comment) {
            lines.push((comment, is_directive(comment, usize::from(!first), form)));
        }
    }
    let directives = lines.iter().filter(|l| l.1).map(|l| l.0);
    let mut all = joined_directives(directives, form == Form::Free);
    all.extend(lines.iter().filter(|l| !l.1).map(|(line, _)| {
        let marked = line.starts_with(['!', 'C', 'c', '*']);
        let text = if marked { &line[1..] } else { line };
        text.trim_end().to_owned()
    }));
    all
}
