//! Which form a text is in.

use super::Form;

/// The form of a text.
///
/// 1. A comment on one of the first 20 lines that says `farfel: form=fixed` or
///    `farfel: form=free` (letters of either case, any comment marker) decides.
/// 2. Otherwise the first line decides that can stand in one form only. Free: a statement
///    that begins in columns 1 to 5 (after a label of digits, if there is one), a labelled
///    statement that begins in column 6, a first statement that begins in column 6, or
///    a line that ends with `&`. Fixed: `*` in column 1, or a continuation mark in
///    column 6 that is no letter. Lines that begin with `C` or `D` tell nothing: they may
///    be comments or statements. So do comments with `!` and blank lines.
/// 3. Otherwise the text is in fixed form.
///
/// ```
/// # use farfel_lang::syntax::{Form, detect};
/// assert_eq!(detect("      X = 1\n"), Form::Fixed);
/// assert_eq!(detect("program p\nend\n"), Form::Free);
/// assert_eq!(detect("! farfel: form=free\n      x = 1\n"), Form::Free);
/// ```
pub fn detect(text: &str) -> Form {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(form) = text.lines().take(20).find_map(directive) {
        return form;
    }
    let mut seen_statement = false;
    for line in text.lines() {
        if let Some(form) = evidence(line, seen_statement) {
            return form;
        }
        seen_statement |= line.starts_with("      ") && !line.trim().is_empty();
    }
    Form::Fixed
}

/// The form that a comment asks for.
pub(super) fn directive(line: &str) -> Option<Form> {
    let line = line.trim_start();
    let rest = line.strip_prefix(['!', 'C', 'c', '*'])?;
    let mut rest = rest.chars().filter(|c| !c.is_whitespace());
    let mut compact = String::new();
    // The directive is short, so no more of a long line is looked at.
    compact.extend(rest.by_ref().take(32).map(|c| c.to_ascii_uppercase()));
    let compact = compact.trim_start_matches('!');
    match compact.strip_prefix("FARFEL:FORM=")? {
        f if f.starts_with("FREE") => Some(Form::Free),
        f if f.starts_with("FIXED") => Some(Form::Fixed),
        _ => None,
    }
}

/// What one line tells about the form.
fn evidence(line: &str, seen_statement: bool) -> Option<Form> {
    let first = line.chars().next()?;
    match first {
        '*' => return Some(Form::Fixed),
        'C' | 'c' | 'D' | 'd' | '#' => return None,
        _ => {}
    }
    if line.trim_start().starts_with('!') && line.find('!') != Some(5) {
        return None;
    }
    let mut label = false;
    for (i, c) in line.chars().enumerate().take(6) {
        match c {
            '\t' => break,
            ' ' | '\r' | '\u{c}' => {}
            '0'..='9' if i < 5 => label = true,
            _ if i < 5 => return Some(Form::Free),
            '0' => {}
            _ if label || !seen_statement => return Some(Form::Free),
            c if c.is_alphabetic() => {}
            _ => return Some(Form::Fixed),
        }
    }
    // Only what stands before column 73, for there fixed form ends.
    let end = line.char_indices().nth(72).map_or(line.len(), |(i, _)| i);
    let text = line.get(6..end)?;
    let code = text.split('!').next().unwrap_or(text).trim_end();
    (code.ends_with('&') && !text.contains(['\'', '"'])).then_some(Form::Free)
}
