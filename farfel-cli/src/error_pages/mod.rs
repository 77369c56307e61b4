//! The pages of `docs/errors`, which explain each code, with programs that fail and programs that work.
//!
//! A page is Markdown. Its title is `CODE: name`; the first paragraph summarizes the rule. Examples follow,
//! each of three or more fenced blocks:
//!
//! | block | contents |
//! |---|---|
//! | `fortran fails` | a program that causes the diagnostic |
//! | `text` | Farfel's message; `FARFEL_UPDATE=1 cargo test -p farfel-cli error_pages` updates it |
//! | `fortran works` | the corrected program; there may be several |
//!
//! A file is called `example.ff`, unless the block names it: `fortran fails old.f`. Consecutive blocks of the
//! same kind are files of one program if their names differ.

mod terminal;
#[cfg(test)]
mod tests;

use std::ops::Range;

use farfel_lang::diagnostic::Rule;
use include_dir::{Dir, include_dir};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

pub use terminal::render;

// A link to `docs/errors`, so that the published package contains the pages, too.
static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/errors");

/// Returns the page of a rule. A test checks that every rule has one.
pub fn page(rule: &Rule) -> &'static str {
    let file = PAGES.get_file(format!("{}.md", rule.code));
    file.and_then(|file| file.contents_utf8())
        .unwrap_or_default()
}

/// Returns the summary of a rule: the first paragraph of its page.
pub fn summary(rule: &Rule) -> String {
    let blocks = blocks(page(rule)).into_iter();
    let mut paragraphs = blocks.filter_map(|b| match b.kind {
        Kind::Paragraph => Some(b.text),
        Kind::Heading | Kind::Item | Kind::Code(_) => None,
    });
    paragraphs.next().unwrap_or_default()
}

/// A part of a page.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    kind: Kind,
    /// Prose on a single line, with code in backticks; code unchanged.
    text: String,
    /// Its byte range on the page.
    range: Range<usize>,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Heading,
    Paragraph,
    /// An item of a list.
    Item,
    /// A fenced block, with its info string.
    Code(String),
}

/// Splits a page into its parts, in order.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut text = String::new();
    let mut fence = String::new();
    let mut in_item = false;
    for (event, range) in Parser::new(page).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => fence = info.to_string(),
            Event::Start(Tag::Item) => in_item = true,
            Event::Text(part) => text.push_str(&part),
            Event::Code(part) => text.extend(["`", &*part, "`"]),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            Event::End(end) => {
                let kind = match end {
                    TagEnd::Heading(_) => Kind::Heading,
                    TagEnd::Paragraph => Kind::Paragraph,
                    // An item without paragraphs has its text directly.
                    TagEnd::Item if in_item => Kind::Item,
                    TagEnd::CodeBlock => Kind::Code(std::mem::take(&mut fence)),
                    _ => continue,
                };
                in_item = false;
                let text = std::mem::take(&mut text);
                blocks.push(Block { kind, text, range });
            }
            _ => {}
        }
    }
    blocks
}
