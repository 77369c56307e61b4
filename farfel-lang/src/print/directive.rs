//! Lays out directives in either form.

use super::Form;
use crate::syntax::single_blanks;
use std::borrow::Cow;

/// Writes a directive on as many lines as it needs, and returns their number. `text` begins with a
/// sentinel of `sentinel` bytes, without the comment mark.
pub(crate) fn lay_out(out: &mut String, form: Form, text: &str, sentinel: usize) -> usize {
    let (sentinel, rest) = text.split_at(sentinel);
    let mut rest = rest.trim();
    // Statements after `!$` have their label in columns 3 to 5.
    let (mut label, conditional) = ("", sentinel == "$");
    if conditional {
        rest = rest.trim_start_matches(mark_or_blank);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits <= 3 {
            (label, rest) = rest.split_at(digits);
            rest = rest.trim_start();
        }
    }
    let (mark, width) = match form {
        Form::Fixed => ('C', 72),
        Form::Free => ('!', 130),
    };
    let head = |first: bool| match (form, conditional) {
        (Form::Fixed, true) if first => format!("{mark}{sentinel}{label:>3} "),
        (Form::Fixed, true) => format!("{mark}{sentinel}   +"),
        (Form::Fixed, false) if first => format!("{mark}{sentinel} "),
        (Form::Fixed, false) => format!("{mark}{sentinel}+"),
        (Form::Free, true) if first && !label.is_empty() => {
            format!("{mark}{sentinel} {label} ")
        }
        (Form::Free, true) | (Form::Free, false) if first => format!("{mark}{sentinel} "),
        (Form::Free, true) => format!("{mark}{sentinel} & "),
        (Form::Free, false) => format!("{mark}{sentinel}& "),
    };
    // A text read from several lines may contain more blanks than one read from a single line. At a
    // line break one blank is always kept, so that all of them then count as one.
    let mut text = match conditional {
        true if form == Form::Free => Cow::from(rest.trim_matches(mark_or_blank)),
        true => Cow::from(rest.trim_start_matches(mark_or_blank)),
        // A mark at either end would mean that another line follows.
        false => single_blanks(rest.trim_matches(mark_or_blank), true).into(),
    };
    if text.len() > width - head(true).len() {
        text = plain(&text, conditional).into();
    }
    let rooms = [true, false].map(|first| width - head(first).len());
    let mut lines = divided(&text, form, rooms);
    // If a line ends where the text has no blank, the text has one there when it is read again, and
    // then other lines may be broken elsewhere. After a few rounds all words are short enough.
    for _ in 0..ROUNDS {
        let again = plain(&lines.join(" "), conditional);
        if lines.len() == 1 || again == text {
            break;
        }
        text = again.into();
        lines = divided(&text, form, rooms);
    }
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push_str(match form {
                Form::Fixed => "\n",
                Form::Free => " &\n",
            });
        }
        out.push_str(&head(i == 0));
        out.push_str(line);
        // A text that is too long for a line and cannot be broken continues in the next column.
        trim_blanks(out);
    }
    out.push('\n');
    lines.len()
}

/// The maximum number of times that a directive is divided again.
const ROUNDS: usize = 20;

/// Returns the text with single blanks, and without marks left over from earlier line breaks. In a
/// statement, a single mark may be part of a constant, but a run of them may not.
fn plain(text: &str, conditional: bool) -> String {
    let mut once = single_blanks(text, false);
    let mut last = ' ';
    if !conditional {
        once.retain(|c| std::mem::replace(&mut last, c) != '&' || c != '&');
    }
    let mut before = "";
    let words = once.split(' ').filter(|w| {
        let before = std::mem::replace(&mut before, w);
        *w != "&" || conditional && before != "&"
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Divides the text into lines, given the number of bytes for the first line and for the others.
fn divided(text: &str, form: Form, rooms: [usize; 2]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    loop {
        let room = rooms[usize::from(!lines.is_empty())];
        let (line, more) = rest.split_at(end_of_line(rest, form, room));
        lines.push(line.trim_end().to_owned());
        rest = more.trim_start();
        if rest.is_empty() {
            return lines;
        }
    }
}

/// Whether a character is a continuation mark, or a blank of any width.
fn mark_or_blank(c: char) -> bool {
    c == '&' || c.is_whitespace()
}

fn trim_blanks(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
}

/// Returns how many bytes of `text` fit on a line of `room` bytes, up to a blank or comma if there
/// is one. In fixed form a line may not end with `&`, which could be read as that of free form.
fn end_of_line(text: &str, form: Form, room: usize) -> usize {
    if text.len() <= room {
        return text.len();
    }
    let mut room = room;
    while !text.is_char_boundary(room) {
        room -= 1;
    }
    let head = &text[..room];
    let wrong = |line: &str| {
        let line = line.trim_end();
        form == Form::Fixed && (line.ends_with(" &") || line == "&")
    };
    let mut places = head.rmatch_indices([' ', ',']).map(|(at, _)| at);
    // Text that follows the comma immediately would become such a mark too.
    let apart = |at: usize| !text[at..].starts_with(",&");
    match places.find(|at| *at > 0 && apart(*at) && !wrong(&head[..=*at])) {
        Some(at) => at + 1,
        // At the beginning of a line, the text that follows would be such a mark.
        None if wrong(head) || text[room..].starts_with('&') => {
            head.char_indices().last().map_or(room, |(at, _)| at.max(1))
        }
        None => room,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A two-byte blank after a mark is not split.
    #[test]
    fn lines_end_between_letters() {
        let text = format!(" &{}", "\u{a0}".repeat(40));
        for room in 2..text.len() {
            let end = end_of_line(&text, Form::Fixed, room);
            assert!(text.is_char_boundary(end), "{room}: {end}");
        }
    }
}
