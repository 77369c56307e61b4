//! Assembler text without what may differ between a program and what is printed of it.
//!
//! Statements of input and output carry the name of their file and their line; FORMATs may
//! be laid out in another way. Constants are numbered in order of use, and equal ones share
//! a number, so that a FORMAT may move the others. All the rest must be the same.

use std::collections::HashMap;

/// The comparable text of what gfortran wrote.
pub fn comparable(code: &str) -> String {
    let (constants, code) = constants(code);
    let mut out = String::with_capacity(code.iter().map(|l| l.len() + 1).sum());
    // What was loaded last, and where it was stored.
    let mut loaded: Option<&Constant> = None;
    let mut stored: Option<i64> = None;
    for line in code {
        let mut line = line.to_owned();
        if let Some((start, name, end)) = reference(&line) {
            loaded = constants.get(name);
            stored = None;
            let text = loaded.map_or(name, |c| c.text.as_str());
            line = format!("{}{text}{}", &line[..start], &line[end..]);
        } else if let (Some(constant), Some(place)) = (loaded, frame_place(&line)) {
            match stored {
                None if line.starts_with("\tmovq\t%rax,") => stored = Some(place),
                // The line of a statement, the length of a FORMAT.
                Some(before) if place == before + 8 => {
                    if line.starts_with("\tmovl\t$") && constant.is_name {
                        line = format!("\tmovl\tLINE, {place}(%rbp)");
                    } else if line.starts_with("\tmovq\t$") && constant.is_format {
                        line = format!("\tmovq\tLENGTH, {place}(%rbp)");
                    }
                    loaded = None;
                }
                _ => loaded = None,
            }
        } else {
            loaded = None;
        }
        out.push_str(&line);
        out.push('\n');
    }
    with_labels_in_order(&out)
}

/// The instructions of a program that do more than move values, sorted, without the
/// registers and places that they use.
pub fn unordered(code: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut lines: Vec<String> = code
        .lines()
        .filter(|l| !l.starts_with(".L"))
        // How values get to where they are wanted depends on which registers are free.
        .filter(|l| {
            let moves = [
                "\tmov", "\tcmov", "\tpush", "\tpop", "\tlea", "\ttest", "\tcltq",
            ];
            !moves.iter().any(|m| l.starts_with(m))
        })
        .map(|line| {
            let mut out = String::new();
            let mut rest = line;
            while let Some(i) = rest.find(['%', '-', '(']) {
                out.push_str(&rest[..i]);
                let mark = &rest[i..=i];
                rest = &rest[i + 1..];
                out.push_str(mark);
                if mark != "(" {
                    rest = rest.trim_start_matches(is_name);
                }
            }
            out.push_str(rest);
            // Places above the frame's base have no sign.
            match out.split_once("(%)") {
                Some((before, after)) => {
                    let kept = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
                    format!("{kept}(%){after}")
                }
                None => out,
            }
        })
        .collect();
    lines.sort_unstable();
    lines
}

/// A constant of the program.
struct Constant {
    /// Its directives; of a FORMAT, what it means.
    text: String,
    /// It could be the name of the file.
    is_name: bool,
    /// It could be a FORMAT.
    is_format: bool,
}

/// The constants by their labels, and the lines that are left.
fn constants(code: &str) -> (HashMap<&str, Constant>, Vec<&str>) {
    let mut constants = HashMap::new();
    let mut rest = Vec::new();
    let mut lines = code.lines().peekable();
    while let Some(line) = lines.next() {
        let label = line.strip_suffix(':').filter(|l| l.starts_with(".LC"));
        let Some(label) = label else {
            // How constants are laid out.
            if !line.starts_with("\t.align") && !line.starts_with("\t.file") {
                rest.push(line);
            }
            continue;
        };
        let mut raw = String::new();
        let mut string = String::new();
        while let Some(line) = lines.next_if(|l| l.starts_with("\t.") && !leaves(l)) {
            if line.starts_with("\t.align") {
                continue;
            }
            raw.push_str(line.trim());
            raw.push(' ');
            if let Some(text) = line
                .split('"')
                .nth(1)
                .filter(|_| line.contains("ascii") || line.contains("string"))
            {
                // Quotes within are escaped, so that everything to the last one counts.
                let end = line.rfind('"').unwrap_or(line.len());
                let start = line.find('"').map_or(0, |i| i + 1);
                string.push_str(line.get(start..end).unwrap_or(text));
            }
        }
        let is_format = string.starts_with('(');
        let is_name = raw.starts_with(".string");
        // What a program says that fails while it runs.
        let failure = raw
            .split_once("At line ")
            .or_else(|| raw.split_once(", around line "))
            .map(|(before, after)| {
                let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{before}{after}")
            });
        let raw = failure.unwrap_or(raw);
        let text = match is_format {
            true => format!("FORMAT {}", format_meaning(&string)),
            false => raw,
        };
        constants.insert(
            label,
            Constant {
                text,
                is_name,
                is_format,
            },
        );
    }
    (constants, rest)
}

fn leaves(line: &str) -> bool {
    [
        "\t.text",
        "\t.section",
        "\t.globl",
        "\t.data",
        "\t.local",
        "\t.comm",
        "\t.ident",
    ]
    .iter()
    .any(|d| line.starts_with(d))
}

/// Where a line refers to a constant.
fn reference(line: &str) -> Option<(usize, &str, usize)> {
    let start = line.find(".LC")?;
    let length = line[start + 3..]
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(line.len() - start - 3);
    let end = start + 3 + length;
    Some((start, &line[start..end], end))
}

/// The place on the stack that a line stores to.
fn frame_place(line: &str) -> Option<i64> {
    let place = line.strip_suffix("(%rbp)")?;
    place.rsplit(' ').next()?.parse().ok()
}

/// A FORMAT with its blanks and small letters only where they mean something, and all its
/// texts in quotes.
fn format_meaning(format: &str) -> String {
    let mut out = String::new();
    let mut count = String::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c.is_ascii_digit() {
            count.push(c);
            continue;
        }
        if c == ' ' {
            continue;
        }
        if c.eq_ignore_ascii_case(&'h') && !count.is_empty() {
            let length = count.parse().unwrap_or(0);
            count.clear();
            apart(&mut out);
            out.push_str(&format!(
                "{:?}",
                rest.by_ref().take(length).collect::<String>()
            ));
            continue;
        }
        out.push_str(&std::mem::take(&mut count));
        let escaped = c == '\\' && rest.peek() == Some(&'"');
        if escaped {
            rest.next();
        }
        if c == '\'' || escaped {
            let end = if escaped { '"' } else { '\'' };
            let mut text = String::new();
            while let Some(c) = rest.next() {
                if c == '\\' && end == '"' && rest.peek() == Some(&'"') {
                    rest.next();
                    // Two are one.
                    if rest.peek() != Some(&'\\') {
                        break;
                    }
                    rest.next();
                    rest.next();
                    text.push('"');
                } else if c == end {
                    if rest.next_if_eq(&end).is_none() {
                        break;
                    }
                    text.push(end);
                } else {
                    text.push(c);
                }
            }
            apart(&mut out);
            out.push_str(&format!("{text:?}"));
            continue;
        }
        out.push(c.to_ascii_uppercase());
    }
    out.push_str(&count);
    out
}

/// A comma between two texts, where there may be none.
fn apart(out: &mut String) {
    if out.ends_with('"') {
        out.push(',');
    }
}

/// The code with its labels numbered in the order in which they are named first: one that
/// nobody needs would change the numbers of all after it. Of several at one place one is left.
fn with_labels_in_order(code: &str) -> String {
    let mut same: HashMap<&str, &str> = HashMap::new();
    let mut first: Option<&str> = None;
    let mut kept = String::with_capacity(code.len());
    for line in code.lines().filter(|l| *l != "\tnop") {
        let label = line.strip_prefix(".L").and_then(|l| l.strip_suffix(':'));
        match (label, first) {
            (Some(label), Some(first)) => {
                same.insert(label, first);
                continue;
            }
            (label, _) => first = label,
        }
        kept.push_str(line);
        kept.push('\n');
    }
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut out = String::with_capacity(code.len());
    let mut rest = kept.as_str();
    while let Some(at) = rest.find(".L") {
        let (before, label) = rest.split_at(at + 2);
        out.push_str(before);
        let end = label.find(|c: char| !c.is_ascii_digit());
        let (number, after) = label.split_at(end.unwrap_or(label.len()));
        if !number.is_empty() {
            let next = numbers.len();
            let number = same.get(number).unwrap_or(&number);
            let number = numbers.entry(number).or_insert(next);
            out.push_str(&number.to_string());
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{comparable, format_meaning};

    #[test]
    fn formats_mean_the_same_however_they_are_laid_out() {
        for (a, b) in [
            ("(1x, f9.4)", "(1X,F9.4)"),
            ("(4H a B,'It''s')", "(' a B', 'It''s')"),
            ("(\\\"a b\\\")", "(3Ha b)"),
            ("('a' 'b' 1Hc)", "('a','b','c')"),
        ] {
            assert_eq!(format_meaning(a), format_meaning(b));
        }
        assert_ne!(format_meaning("('a b')"), format_meaning("('ab')"));
        assert_ne!(format_meaning("(F9.4)"), format_meaning("(F9.3)"));
    }

    #[test]
    fn numbers_of_labels_may_differ() {
        let code = |a, b| format!("\tjg\t.L{a}\n\tjs\t.L{b}\n.L{a}:\n.LFB0:\n");
        assert_eq!(comparable(&code(1, 2)), comparable(&code(4, 3)));
        assert_ne!(comparable(&code(1, 2)), comparable(&code(1, 1)));
        let two = "\tjg\t.L1\n\tjs\t.L2\n.L1:\n.L2:\n.LFB0:\n";
        assert_eq!(comparable(two), "\tjg\t.L0\n\tjs\t.L0\n.L0:\n");
    }

    #[test]
    fn only_lines_and_formats_may_differ() {
        let code = |line: u32, format: &str, unit: u32| {
            format!(
                ".LC0:\n\t.string\t\"a.f\"\n\t.align 8\n.LC1:\n\t.ascii\t\"{format}\"\n\t.text\n\
                 \tleaq\t.LC0(%rip), %rax\n\tmovq\t%rax, -520(%rbp)\n\tmovl\t${line}, -512(%rbp)\n\
                 \tleaq\t.LC1(%rip), %rax\n\tmovq\t%rax, -448(%rbp)\n\tmovq\t${}, -440(%rbp)\n\
                 \tmovl\t${unit}, -524(%rbp)\n",
                format.len()
            )
        };
        assert_eq!(
            comparable(&code(7, "(1X,A)", 6)),
            comparable(&code(9, "(1x, a)", 6))
        );
        assert_ne!(
            comparable(&code(7, "(1X,A)", 6)),
            comparable(&code(7, "(1X,A)", 5))
        );
        assert_ne!(
            comparable(&code(7, "(1X,A)", 6)),
            comparable(&code(7, "(2X,A)", 6))
        );
    }
}
