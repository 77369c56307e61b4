//! A page as a terminal shows it.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use farfel_lang::diagnostic::{Level, Rule};
use textwrap::{Options, WordSeparator, WordSplitter, fill};

use super::{Block, Kind, blocks, page};

/// How many columns a page takes at most.
const WIDTH: usize = 80;
/// What stands before lines of programs and messages.
const INDENT: &str = "    ";

const HEADING: Style = Style::new().bold();
const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
const WARNING: Style = AnsiColor::BrightYellow.on_default().bold();

/// The page of `rule`, with colours, and how its level is set.
pub fn shown(rule: &Rule) -> String {
    let level = match rule.level {
        None => "error",
        Some(Level::Allow) => "warning, off by default",
        Some(Level::Warn) => "warning",
        Some(Level::Deny) => "error by default",
    };
    let mut parts = blocks(page(rule)).into_iter();
    let mut shown = String::new();
    if let Some(title) = parts.next() {
        shown = format!("{HEADING}{}{HEADING:#} ({level})\n", title.text);
    }
    for part in parts {
        shown.push('\n');
        shown += &one(&part);
    }
    if rule.level.is_some() {
        let name = rule.name;
        let set = format!(
            "Set its level with `-A`, `-W` or `-D {name}`, with `{name} = \"allow\"` under \
             `[package.metadata.farfel.lints]` in `Cargo.toml`, or for one program unit with the comment \
             `!farfel: allow({name})` in it."
        );
        let _ = write!(shown, "\n{}\n", wrapped(&set, "", ""));
    }
    shown
}

fn one(part: &Block) -> String {
    match &part.kind {
        Kind::Heading => {
            let line = "-".repeat(part.text.chars().count());
            format!("{HEADING}{}{HEADING:#}\n{line}\n", part.text)
        }
        Kind::Paragraph => wrapped(&part.text, "", "") + "\n",
        Kind::Item => wrapped(&part.text, "- ", "  ") + "\n",
        Kind::Code(info) if info == "text" => part.text.lines().map(said).collect(),
        Kind::Code(_) => part.text.lines().map(|l| line(l) + "\n").collect(),
    }
}

/// A line of a message. Sentences that are too long go on below where they begin.
fn said(text: &str) -> String {
    let sentence = ["error[", "warning[", "  = "]
        .iter()
        .any(|b| text.trim_start().starts_with(b.trim_start()));
    let begins = match text.find(": ") {
        Some(at) if sentence => at + 2,
        _ => return line(text) + "\n",
    };
    let further = format!("{INDENT}{}", " ".repeat(begins));
    let text = wrapped(text, INDENT, &further);
    let style = match text.trim_start() {
        t if t.starts_with("error[") => ERROR,
        t if t.starts_with("warning[") => WARNING,
        _ => return text + "\n",
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

fn wrapped(text: &str, first: &str, further: &str) -> String {
    let options = Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(further)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    fill(text, options)
}
