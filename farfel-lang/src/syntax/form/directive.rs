//! Directives: comments that compilers interpret, such as OpenMP, OpenACC and `!DIR$`, and
//! statements after `!$` for compilers with OpenMP.
//!
//! How a directive is continued on the next line depends on the source form. So that it can be
//! printed in either form, it becomes a single comment text: the sentinel without its comment mark,
//! a blank, and everything that follows on its lines (`$OMP PARALLEL DO PRIVATE(I)`, `DIR$ IVDEP`,
//! `$ 10 X = 1`).

use super::statement::Comment;
use crate::source::Span;

/// A line of a directive.
#[derive(Debug)]
pub(super) struct Directive<'a> {
    sentinel: &'a str,
    text: &'a str,
    /// Whether it continues the directive on the line before.
    continues: bool,
    free: bool,
}

/// Returns the length of the sentinel, without comment mark, with which the text of a comment
/// begins; `None` for other comments.
pub(crate) fn sentinel(comment: &str) -> Option<usize> {
    let bytes = comment.as_bytes();
    let letters = bytes.iter().take_while(|c| c.is_ascii_alphabetic()).count();
    if bytes.get(letters) != Some(&b'$') {
        return None;
    }
    let word = |from: usize| {
        let rest = bytes.get(from..).unwrap_or(&[]);
        rest.iter().take_while(|c| c.is_ascii_alphabetic()).count()
    };
    match letters {
        0 => match word(1) {
            // `$ X = 1`
            0 => {
                matches!(bytes.get(1), None | Some(b' ' | b'\t' | b'&' | b'0'..=b'9')).then_some(1)
            }
            // `$OMP`, `$ACC`: the longest that fit before column 6 in fixed form.
            3 => Some(4),
            _ => None,
        },
        // `DIR$`, `DEC$`, `GCC$`
        3 => Some(4),
        _ => None,
    }
}

/// Reads the directive on a line that begins with a comment mark.
pub(super) fn read(line: &str, free: bool) -> Option<Directive<'_>> {
    let comment = line.get(1..)?;
    let length = sentinel(comment)?;
    let (sentinel, rest) = comment.split_at(length);
    // Fixed form has a mark in column 6. Sentinels extend up to there, except for `$`, which is
    // followed by a label.
    let (before, mark) = match (free, length) {
        (true, _) => (0, rest.starts_with('&')),
        (false, 1) => (3, true),
        (false, 4) => (0, true),
        _ => (0, false),
    };
    let mut text = rest;
    let mut continues = false;
    if free {
        let trimmed = text.trim_start();
        if mark || trimmed.starts_with('&') {
            continues = true;
            text = trimmed.strip_prefix('&').unwrap_or(trimmed);
        }
    } else if mark
        && rest.is_char_boundary(before)
        && rest.get(..before).is_some_and(|b| b.trim().is_empty())
        && let Some(c) = rest.get(before..).and_then(|r| r.chars().next())
        && !matches!(c, ' ' | '0' | '\t')
    {
        continues = true;
        text = rest.get(before + c.len_utf8()..).unwrap_or("");
    }
    Some(Directive {
        sentinel,
        text: text.trim(),
        continues,
        free,
    })
}

/// Appends the line to the directive that it continues, or adds it as a new comment.
pub(super) fn keep(to: &mut Vec<Comment>, line: Directive, span: Span, apart: bool) {
    let Directive {
        sentinel,
        text,
        continues,
        free,
    } = line;
    if let Some(last) = to.last_mut()
        && last
            .text
            .get(..sentinel.len())
            .is_some_and(|s| s.eq_ignore_ascii_case(sentinel))
        && (continues || free && last.text.ends_with('&'))
    {
        // In fixed form, a final `&` is for compilers that read the same text as free form.
        let mark = if free { "&" } else { " &" };
        let before = last.text.strip_suffix(mark).unwrap_or(&last.text);
        last.text.truncate(before.trim_end().len());
        last.text.push(' ');
        last.text.push_str(&of_line(sentinel, text));
        last.span = last.span.to(span);
        return;
    }
    let text = format!("{sentinel} {}", of_line(sentinel, text));
    to.push(Comment {
        text: text.trim_end().to_owned(),
        span,
        apart,
        trailing: false,
    });
}

/// Returns the text of a line. Blanks in statements after `!$` are kept, as the statements may
/// contain Hollerith constants.
fn of_line(sentinel: &str, text: &str) -> String {
    match sentinel {
        "$" => text.to_owned(),
        _ => single_blanks(text, true),
    }
}

/// Replaces runs of blanks, and tabs, by one blank; if `quotes` is set, not within quotes.
pub(crate) fn single_blanks(text: &str, quotes: bool) -> String {
    let mut result = String::with_capacity(text.len());
    let mut quote = None;
    for c in text.chars() {
        match quote {
            None if quotes && matches!(c, '\'' | '"') => quote = Some(c),
            Some(q) if q == c => quote = None,
            _ => {}
        }
        if quote.is_some() || !c.is_whitespace() {
            result.push(c);
        } else if !result.ends_with(' ') {
            result.push(' ');
        }
    }
    result
}

/// Returns the comments of a text as they are printed, given its lines with their comment marks:
/// the lines of a directive are joined, and comments have no marks.
pub(crate) fn joined<'a>(lines: impl IntoIterator<Item = &'a str>, free: bool) -> Vec<String> {
    let mut comments = Vec::new();
    for line in lines {
        match read(line, free) {
            Some(directive) => keep(&mut comments, directive, Span::NONE, false),
            None => comments.push(Comment {
                text: line.to_owned(),
                span: Span::NONE,
                apart: false,
                trailing: false,
            }),
        }
    }
    comments.into_iter().map(|c| c.text).collect()
}
