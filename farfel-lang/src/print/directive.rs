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
        true => Cow::from(rest.trim_start_matches(['&', ' ', '\t'])),
        // At either end it would mean that there is another line.
        false => single_blanks(rest.trim_matches(['&', ' ', '\t']), true).into(),
    };
    if text.len() > width - head(true).len() {
        text = single_blanks(&text, false).into();
        // Such marks are left from where others have broken it.
        if !conditional {
            let mut last = ' ';
            let mut once = text.into_owned();
            once.retain(|c| std::mem::replace(&mut last, c) != '&' || c != '&');
            let words: Vec<&str> = once.split(' ').filter(|w| *w != "&").collect();
            text = words.join(" ").into();
        }
    }
    let mut rest = &*text;
    let mut lines = 0;
    loop {
        let head = head(lines == 0);
        let (line, more) = rest.split_at(end_of_line(rest, form, width - head.len()));
        lines += 1;
        out.push_str(head.as_str());
        out.push_str(line.trim_end());
        // What is too long for a line and has no place to break goes on in the next column.
        trim_blanks(out);
        rest = more.trim_start();
        if rest.is_empty() {
            out.push('\n');
            return lines;
        }
        out.push_str(match form {
            Form::Fixed => "\n",
            Form::Free => " &\n",
        });
    }
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
    let wrong = |line: &str| form == Form::Fixed && line.trim_end().ends_with(" &");
    let mut places = head.rmatch_indices([' ', ',']).map(|(at, _)| at);
    match places.find(|at| *at > 0 && !wrong(&head[..=*at])) {
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
