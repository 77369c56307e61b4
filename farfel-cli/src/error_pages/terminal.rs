//! Rendering of pages for terminals.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use farfel_lang::diagnostic::{Level, Rule};
use textwrap::{Options, WordSeparator, WordSplitter, fill};

use super::{Block, Kind, blocks, page};

/// The maximum width of a page, in columns.
const WIDTH: usize = 80;
/// The indentation of lines of programs and messages.
const INDENT: &str = "    ";

const HEADING: Style = Style::new().bold();
const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
const WARNING: Style = AnsiColor::BrightYellow.on_default().bold();

/// Renders the page of `rule`, with colours, and with instructions for setting its level.
pub fn render(rule: &Rule) -> String {
    let blocks = blocks(page(rule));
    let mut message_blocks = blocks
        .iter()
        .filter(|b| b.kind == Kind::Code("text".into()));
    let level = match rule.level {
        None => "error",
        Some(Level::Allow) => "warning, off by default",
        // Some are errors in certain places, or in Farfel sources.
        Some(_) if message_blocks.any(|b| b.text.starts_with("error[")) => "error or warning",
        Some(_) => "warning",
    };
    let mut parts = blocks.into_iter();
    let mut shown = String::new();
    if let Some(title) = parts.next() {
        shown = format!("{HEADING}{}{HEADING:#} ({level})\n", title.text);
    }
    for part in parts {
        shown.push('\n');
        shown += &render_block(&part);
    }
    if rule.level.is_some() {
        let name = rule.name;
        let set = format!(
            "Set the level of its warnings with `-A`, `-W` or `-D {name}`, with `{name} = \"allow\"` under \
             `[package.metadata.farfel.lints]` in `Cargo.toml`, or for one program unit with the comment \
             `!farfel: allow({name})` in it."
        );
        let _ = write!(shown, "\n{}\n", wrapped(&set, "", ""));
    }
    shown
}

fn render_block(part: &Block) -> String {
    match &part.kind {
        Kind::Heading => {
            let line = "-".repeat(part.text.chars().count());
            format!("{HEADING}{}{HEADING:#}\n{line}\n", part.text)
        }
        Kind::Paragraph => wrapped(&part.text, "", "") + "\n",
        Kind::Item => wrapped(&part.text, "- ", "  ") + "\n",
        Kind::Code(info) if info == "text" => part.text.lines().map(render_message_line).collect(),
        Kind::Code(_) => part.text.lines().map(|l| line(l) + "\n").collect(),
    }
}

/// Renders a line of a message. Text that is too long continues below its beginning: that of a sentence after
/// its colon, that of a label after its mark.
fn render_message_line(text: &str) -> String {
    let marked = text.trim_start();
    let head = |word: &str| marked.starts_with(word);
    let begins = match () {
        () if head("error[") || head("warning[") || head("= ") => text.find(": ").map(|at| at + 2),
        () if head("|") => text.rfind("^ ").or(text.rfind("- ")).map(|at| at + 2),
        () => None,
    };
    let Some(begins) = begins else {
        return line(text) + "\n";
    };
    // The bar on the left continues.
    let bar = if head("|") { text.find('|') } else { None };
    let further = (0..begins).map(|at| if Some(at) == bar { '|' } else { ' ' });
    let text = wrapped(
        text,
        INDENT,
        &(INDENT.to_owned() + &further.collect::<String>()),
    );
    let style = match () {
        () if head("error[") => ERROR,
        () if head("warning[") => WARNING,
        () => return text + "\n",
    };
    let (head, rest) = text.split_once(':').unwrap_or((&text, ""));
    format!("{style}{head}{style:#}:{rest}\n")
}

fn line(text: &str) -> String {
    match text {
        "" => String::new(),
        _ => format!("{INDENT}{text}"),
    }
}

/// Returns the width of a page in columns, which is smaller in a narrow terminal.
fn width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or(WIDTH, |(columns, _)| WIDTH.min(columns.0.into()))
}

fn wrapped(text: &str, first: &str, further: &str) -> String {
    let options = Options::new(width())
        .initial_indent(first)
        .subsequent_indent(further)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    fill(text, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_of_messages_go_on_where_they_begin() {
        let plain =
            |text: &str| anstream::adapter::strip_str(&render_message_line(text)).to_string();
        let many = "word ".repeat(20);
        let title = plain(&format!("error[F0001]: {many}"));
        let lines: Vec<&str> = title.lines().collect();
        assert!(lines[0].starts_with("    error[F0001]: word"), "{title}");
        assert!(lines[1].starts_with("                  word"), "{title}");
        let label = plain(&format!("  |   ^^^ {many}"));
        let lines: Vec<&str> = label.lines().collect();
        assert!(lines[0].starts_with("      |   ^^^ word"), "{label}");
        assert!(lines[1].starts_with("      |       word"), "{label}");
        assert_eq!(plain("3 |       X = 1"), "    3 |       X = 1\n");
    }
}
