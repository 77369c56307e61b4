//! Directives, laid out for either form.

use super::Form;
use crate::syntax::single_blanks;
use std::borrow::Cow;

/// Writes a directive on as many lines as it needs, and returns how many. `text` begins with
/// a sentinel of `sentinel` bytes, without comment mark.
pub(crate) fn lay_out(out: &mut String, form: Form, text: &str, sentinel: usize) -> usize {
    let (sentinel, rest) = text.split_at(sentinel);
    let mut rest = rest.trim();
    // Statements behind `!$` have their label in columns 3 to 5.
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
    // What was read from several lines may have more blanks than what is read from one. Where
    // a line is broken one is left in any case, so that all of them count as one then.
    let mut text = match conditional {
        true if form == Form::Free => Cow::from(rest.trim_matches(mark_or_blank)),
        true => Cow::from(rest.trim_start_matches(mark_or_blank)),
        // At either end it would mean that there is another line.
        false => single_blanks(rest.trim_matches(mark_or_blank), true).into(),
    };
    if text.len() > width - head(true).len() {
        text = plain(&text, conditional).into();
    }
    let rooms = [true, false].map(|first| width - head(first).len());
    let mut lines = divided(&text, form, rooms);
    // A line that ends where there is no blank has one there when it is read again, and then
    // others may be broken elsewhere. In a few rounds all words are short enough.
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
        // What is too long for a line and has no place to break goes on in the next column.
        trim_blanks(out);
    }
    out.push('\n');
    lines.len()
}

/// How often a directive is divided anew.
const ROUNDS: usize = 20;

/// The text with single blanks, without marks that are left from where others have broken it.
/// In a statement one may be a part of a constant, but not a row of them.
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

/// The text as lines with room for so many bytes, the first and others.
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

/// A mark of continuation, or a blank of any width.
fn mark_or_blank(c: char) -> bool {
    c == '&' || c.is_whitespace()
}

fn trim_blanks(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
}

/// How many bytes of `text` stand on a line with `room` bytes: up to a blank or comma where
/// there is one. In fixed form no `&` may come last, which could be one of free form.
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
    // What follows a comma at once would become such a mark too.
    let apart = |at: usize| !text[at..].starts_with(",&");
    match places.find(|at| *at > 0 && apart(*at) && !wrong(&head[..=*at])) {
        Some(at) => at + 1,
        // On a line of its own, what comes next would be such a mark.
        None if wrong(head) || text[room..].starts_with('&') => {
            head.char_indices().last().map_or(room, |(at, _)| at.max(1))
        }
        None => room,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A blank of two bytes behind a mark is not cut through.
    #[test]
    fn lines_end_between_letters() {
        let text = format!(" &{}", "\u{a0}".repeat(40));
        for room in 2..text.len() {
            let end = end_of_line(&text, Form::Fixed, room);
            assert!(text.is_char_boundary(end), "{room}: {end}");
        }
    }
}
