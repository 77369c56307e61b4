//! Makes untrusted text fit for display.
//!
//! File names may contain almost any byte, and end up in terminals and in pages.

/// Returns `text` with characters that have an effect when displayed written as `\u{…}`: control characters,
/// those that change the direction of writing, and those that XML cannot contain.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_active(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200e}' | '\u{200f}' | '\u{061c}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns `text`, made fit for display, as XML and HTML text, or as the value of an attribute in either kind
/// of quotes.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in shown(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_written_out() {
        assert_eq!(shown("größe 数.ff"), "größe 数.ff");
        assert_eq!(
            shown("a\u{1b}[31m\nb\u{202e}c\u{ffff}"),
            "a\\u{1b}[31m\\u{a}b\\u{202e}c\\u{ffff}"
        );
        assert_eq!(
            xml("<a b=\"1\" c='&'>\0"),
            "&lt;a b=&quot;1&quot; c=&#39;&amp;&#39;&gt;\\u{0}"
        );
    }
}
