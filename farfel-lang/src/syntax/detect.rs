//! Detects the source form of a text.

use super::{FixedFormLayout, Form};

/// The lead of one form at which no more lines are examined.
const CLEAR: i32 = 100;

/// Returns the source form of a text.
///
/// 1. A comment in one of the first 20 lines that says `farfel: form=fixed` or `farfel: form=free`
///    (letters of either case, any comment marker) decides.
/// 2. Otherwise the lines that can only be in one form vote, and the majority wins. Votes for free
///    form: a statement that begins in columns 1 to 5 or, with a label, in column 6; a line that
///    ends with `&`. Votes for fixed form: a comment marked by `*` or `C` in column 1; a line that
///    continues another by a mark in column 6 that is not a letter. Lines that could be in either
///    form, such as `CALL F` in column 1, do not vote, nor do blank lines and comments marked by
///    `!`.
/// 3. If there is a tie, the text is in fixed form.
///
/// ```
/// # use farfel_lang::syntax::{Form, detect};
/// assert_eq!(detect("      X = 1\n"), Form::Fixed);
/// assert_eq!(detect("program p\nend\n"), Form::Free);
/// assert_eq!(detect("! farfel: form=free\n      x = 1\n"), Form::Free);
/// ```
pub fn detect(text: &str) -> Form {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(form) = requested_form(text) {
        return form;
    }
    let mut free = 0;
    let mut ampersand = false;
    for line in text.lines() {
        free += vote(line, &mut ampersand);
        if free.abs() >= CLEAR {
            break;
        }
    }
    if free > 0 { Form::Free } else { Form::Fixed }
}

/// The settings in a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FormSettings {
    pub form: Option<Form>,
    pub line_length: Option<usize>,
    pub debug_lines: Option<bool>,
}

/// The longest line length of fixed form that can be requested.
const LONGEST: usize = 1000;

impl FixedFormLayout {
    /// Returns the layout with the settings in comments in the first 20 lines of a text.
    pub fn with_settings_in(self, text: &str) -> FixedFormLayout {
        let mut layout = self;
        for settings in text.lines().take(20).filter_map(settings_in) {
            layout.line_length = settings.line_length.unwrap_or(layout.line_length);
            layout.debug_lines = settings.debug_lines.unwrap_or(layout.debug_lines);
        }
        layout
    }
}

/// Returns the source form that a comment in one of the first 20 lines asks for.
pub(super) fn requested_form(text: &str) -> Option<Form> {
    text.lines().take(20).find_map(|l| settings_in(l)?.form)
}

/// Whether a comment asks for a source form.
pub(crate) fn is_form_setting(comment: &str) -> bool {
    settings_in(comment).is_some_and(|a| a.form.is_some())
}

/// Parses the settings in a comment such as `!farfel: form=free`. Returns `None` if there are none.
pub(super) fn settings_in(line: &str) -> Option<FormSettings> {
    let line = line.trim_start();
    let rest = line.strip_prefix(['!', 'C', 'c', '*'])?;
    let rest = rest.trim_start_matches(['!', ' ', '\t']);
    // Most comments are not directives.
    if !rest.starts_with(['F', 'f']) {
        return None;
    }
    // The directive is short, so only the beginning of a long line is examined.
    let compact: String = rest
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(80)
        .map(|c| c.to_ascii_uppercase())
        .collect();
    let mut settings = FormSettings::default();
    for wish in compact.strip_prefix("FARFEL:")?.split(',') {
        match wish.split_once('=') {
            Some(("FORM", f)) if f.starts_with("FREE") => settings.form = Some(Form::Free),
            Some(("FORM", f)) if f.starts_with("FIXED") => settings.form = Some(Form::Fixed),
            Some(("LINE-LENGTH", n)) => {
                settings.line_length = n.parse().ok().filter(|n| (72..=LONGEST).contains(n));
            }
            Some(("DEBUG-LINES", "TRUE")) => settings.debug_lines = Some(true),
            Some(("DEBUG-LINES", "FALSE")) => settings.debug_lines = Some(false),
            _ => {}
        }
    }
    (settings != FormSettings::default()).then_some(settings)
}

/// Returns 1 if a line can only be in free form, and -1 if only in fixed form. `ampersand` says
/// whether the line before ended with `&`.
fn vote(line: &str, ampersand: &mut bool) -> i32 {
    let continued = std::mem::replace(ampersand, false);
    let bytes = line.as_bytes();
    match bytes.first() {
        None | Some(b'D' | b'd' | b'#' | b'!') => return 0,
        Some(b'*') => return -1,
        Some(b'C' | b'c') => return if is_comment(line) { -1 } else { 0 },
        _ => {}
    }
    let mut label = false;
    for (column, c) in (1..=6).zip(line.chars()) {
        match c {
            '\t' => break,
            ' ' | '\r' | '\u{c}' => {}
            '!' if column != 6 => return 0,
            '0'..='9' if column < 6 => label = true,
            _ if column < 6 => return 1,
            '0' => {}
            _ if label => return 1,
            c if c.is_alphabetic() => return 0,
            _ => return if continued { 0 } else { -1 },
        }
    }
    // Only the columns before 73, where fixed form ends.
    let end = line.char_indices().nth(72).map_or(line.len(), |(i, _)| i);
    let text = line.get(6..end).unwrap_or("");
    if text.contains(['\'', '"']) {
        return 0;
    }
    *ampersand = text
        .split('!')
        .next()
        .is_some_and(|c| c.trim_end().ends_with('&'));
    i32::from(*ampersand)
}

/// Whether a line that begins with `C` cannot be a statement in free form: no name is followed by a
/// blank and a letter, or by most other characters.
fn is_comment(line: &str) -> bool {
    let rest = &line[1..];
    let blank = rest.starts_with([' ', '\t']);
    match rest.trim_start().chars().next() {
        None => true,
        Some('=' | '(' | '%' | ':' | '&') => false,
        Some(c) => blank || !(c.is_ascii_alphanumeric() || c == '_'),
    }
}
