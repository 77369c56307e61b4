//! Converts Fortran comments to rustdoc.

use farfel_lang::encoding::legible;

/// Returns the comment lines before a subprogram as plain text, without frames, surrounding blank lines and the
/// common margin.
pub(crate) fn plain(comments: &[String]) -> Vec<String> {
    let plain = without_doxygen(comments);
    let lines: Vec<&str> = plain.iter().map(|l| unframed(l)).collect();
    let first = lines.iter().position(|l| !l.is_empty());
    let last = lines.iter().rposition(|l| !l.is_empty());
    let (Some(first), Some(last)) = (first, last) else {
        return Vec::new();
    };
    let lines = &lines[first..=last];
    let margin = lines
        .iter()
        .filter(|l| !l.is_empty())
        .map(|l| l.len() - l.trim_start().len())
        .min()
        .unwrap_or(0);
    lines
        .iter()
        .map(|l| l.get(margin..).unwrap_or("").trim_end().to_owned())
        .collect()
}

/// Converts the comment lines before a subprogram to lines of Markdown, without frames and surrounding blank
/// lines. Text with columns or formulas keeps its lines; all other text flows.
pub(crate) fn comments(comments: &[String]) -> Vec<String> {
    let lines = plain(comments);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    // Four blanks would start a code block, which rustdoc compiles as a test.
    let arranged = |l: &&str| l.starts_with("  ") || l.trim_start().contains("   ");
    let mut result = Vec::new();
    // Is the last paragraph in a fence?
    let mut fenced = false;
    for paragraph in lines.split(|l| l.is_empty()) {
        if paragraph.is_empty() {
            continue;
        }
        let was_fenced = fenced;
        fenced = paragraph.iter().any(arranged);
        if was_fenced && fenced {
            result.pop();
        }
        if !result.is_empty() {
            result.push(String::new());
        }
        if fenced {
            if !was_fenced {
                // The fence is longer than any in the text.
                result.push("````text".into());
            }
            result.extend(paragraph.iter().map(|l| l.replace("````", "` ` ` `")));
            result.push("````".into());
        } else {
            result.extend(paragraph.iter().map(|l| escaped(l)));
        }
    }
    result
}

/// Writes comments for Doxygen, `*> \param[in] N`, as people did before it. Comments without its mark are not documentation
/// then.
fn without_doxygen(comments: &[String]) -> Vec<String> {
    let marked = |line: &'_ str| {
        let text = line.strip_prefix('>')?;
        (text.is_empty() || text.starts_with(' ')).then(|| text.to_owned())
    };
    let commands = |l: &String| marked(l).is_some_and(|t| t.trim_start().starts_with('\\'));
    if !comments.iter().any(commands) {
        return comments.to_vec();
    }
    let mut lines = Vec::new();
    let mut html = false;
    for line in comments {
        let text = marked(line).unwrap_or_default();
        let (command, rest) = match text.trim().split_once(' ') {
            Some((command, rest)) if command.starts_with('\\') => (command, rest.trim()),
            _ => (text.trim(), ""),
        };
        html |= command == "\\htmlonly";
        match command {
            _ if html => html = command != "\\endhtmlonly",
            "\\verbatim" | "\\author" | "\\ingroup" | "\\addtogroup" | "\\date" => {}
            "\\endverbatim" => lines.push(String::new()),
            "\\brief" | "\\details" | "\\par" => {
                let plain = ["\\b ", "<b>", "</b>"].iter();
                lines.push(plain.fold(rest.to_owned(), |t, mark| t.replace(mark, "")));
            }
            // LAPACK's downloads.
            text if text.starts_with("<a ") || text.ends_with("</a>") => {}
            text if text.starts_with("Download ") && text.ends_with(" dependencies") => {}
            _ => match command
                .strip_prefix("\\param[")
                .and_then(|c| c.strip_suffix(']'))
            {
                Some(direction) => lines.push(format!("{rest} ({})", direction.replace(',', ", "))),
                None => lines.push(text),
            },
        }
    }
    lines
}

/// Replaces characters that Rust rejects in documentation: control characters, in particular a lone carriage
/// return, and those that change the direction of text.
pub(crate) fn legal(line: &str) -> String {
    let legal = |c: char| match c {
        '\t' => c,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => ' ',
        c => c,
    };
    legible(line).chars().map(legal).collect()
}

/// Removes the frame that old programs draw around comments.
fn unframed(line: &str) -> &str {
    let line = line.trim_end();
    let drawn = |c: char| "*-=+#!_~./\\|".contains(c) || c.is_whitespace();
    if line.chars().all(drawn) {
        return "";
    }
    match line.strip_suffix(['*', '|', '!']) {
        // `* text      *`
        Some(inner) if inner.ends_with("  ") => inner.trim_end(),
        _ => line,
    }
}

/// Escapes everything in a line that has a meaning in Markdown, and makes links of addresses.
fn escaped(line: &str) -> String {
    let line = line.trim();
    let mut text = String::with_capacity(line.len());
    let mut address_ends = 0;
    for (at, c) in line.char_indices() {
        if at < address_ends {
            text.push(c);
            if at + c.len_utf8() == address_ends {
                text.push('>');
            }
            continue;
        }
        if let Some(length) = address(&line[at..]) {
            address_ends = at + length;
            text.push('<');
            text.push(c);
            continue;
        }
        if "\\`*_[]<>&|~$".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    // Headings, lists and quotations start like this.
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if text.starts_with(['#', '-', '+', '=']) {
        text.insert(0, '\\');
    } else if digits > 0 && text[digits..].starts_with(['.', ')']) {
        text.insert(digits, '\\');
    }
    text
}

/// The length of an address on the web that a text begins with.
fn address(text: &str) -> Option<usize> {
    let (_, rest) = text
        .split_once("://")
        .filter(|(s, _)| matches!(*s, "http" | "https"))?;
    let ends = |c: char| c.is_whitespace() || "<>\"'`\\|".contains(c);
    let rest = &rest[..rest.find(ends).unwrap_or(rest.len())];
    let rest = rest.trim_end_matches(['.', ',', ';', ':', ')', ']']);
    (!rest.is_empty()).then(|| text.find("://").unwrap_or(0) + 3 + rest.len())
}

#[cfg(test)]
mod tests {
    fn check(comments: &[&str], expected: &[&str]) {
        let comments: Vec<String> = comments.iter().map(|s| s.to_string()).collect();
        assert_eq!(super::comments(&comments), expected);
    }

    #[test]
    fn comments_become_markdown() {
        check(&[], &[]);
        check(&["", "-----"], &[]);
        check(
            &[
                "*****",
                "  Root of F by Newton's method.",
                "  N: iterations",
                "*****",
            ],
            &["Root of F by Newton's method.", "N: iterations"],
        );
        check(
            &[" Y(I) <- A*X(I)", "", " 1. first [x]"],
            &["Y(I) \\<- A\\*X(I)", "", "1\\. first \\[x\\]"],
        );
        check(
            &[" Arguments", "    N     number", "    X     points"],
            &[
                "````text",
                "Arguments",
                "   N     number",
                "   X     points",
                "````",
            ],
        );
        check(&["* boxed text     *"], &["\\* boxed text"]);
        check(
            &["See (https://x.org/a_b*c), http://y.org. http://"],
            &["See (<https://x.org/a_b*c>), <http://y.org>. http://"],
        );
        check(&["> a mark"], &["\\> a mark"]);
        // One fence for what belongs together.
        check(
            &["N   number", "", "X   points", "", "Text."],
            &[
                "````text",
                "N   number",
                "",
                "X   points",
                "````",
                "",
                "Text.",
            ],
        );
    }

    #[test]
    fn doxygen() {
        check(
            &[
                "> \\brief \\b DGESV <b> solves A * X = B</b>",
                "> \\htmlonly",
                "> <a href=\"x\">",
                "> \\endhtmlonly",
                "> Download DGESV + dependencies",
                "> <a href=\"http://x.org\">",
                "> [TGZ]</a>",
                ">",
                "  =====",
                "  Definition:",
                "> \\par Purpose:",
                "> \\verbatim",
                ">",
                "> It solves.",
                "> \\endverbatim",
                "> \\param[in,out] A",
                "> \\verbatim",
                ">          A is REAL",
                "> \\endverbatim",
                "> \\author Nobody",
                ">          > 0",
            ],
            &[
                "DGESV  solves A \\* X = B",
                "",
                "Purpose:",
                "",
                "It solves.",
                "",
                "````text",
                "A (in, out)",
                "          A is REAL",
                "",
                "          > 0",
                "````",
            ],
        );
    }
}
