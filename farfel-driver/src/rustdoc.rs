//! Converts Fortran comments to rustdoc.

use farfel_lang::encoding::legible;

/// Converts the comment lines before a subprogram to lines of Markdown, without frames and surrounding blank
/// lines. Text with columns or formulas keeps its lines; all other text flows.
pub(crate) fn comments(comments: &[String]) -> Vec<String> {
    let lines: Vec<&str> = comments.iter().map(|l| unframed(l)).collect();
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
    let lines: Vec<&str> = lines
        .iter()
        .map(|l| l.get(margin..).unwrap_or("").trim_end())
        .collect();
    // Four blanks would start a code block, which rustdoc compiles as a test.
    let arranged = |l: &&str| l.starts_with("  ") || l.trim_start().contains("   ");
    let mut result = Vec::new();
    for paragraph in lines.split(|l| l.is_empty()) {
        if paragraph.is_empty() {
            continue;
        }
        if !result.is_empty() {
            result.push(String::new());
        }
        if paragraph.iter().any(arranged) {
            // The fence is longer than any in the text.
            result.push("````text".into());
            result.extend(paragraph.iter().map(|l| l.replace("````", "` ` ` `")));
            result.push("````".into());
        } else {
            result.extend(paragraph.iter().map(|l| escaped(l)));
        }
    }
    result
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

/// Escapes everything in a line that has a meaning in Markdown.
fn escaped(line: &str) -> String {
    let line = line.trim();
    let mut text = String::with_capacity(line.len());
    for c in line.chars() {
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
    }
}
