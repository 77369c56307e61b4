//! The pages of `docs/errors`: what each code means, with programs that fail and programs that work.
//!
//! A page is Markdown. Its title is `CODE: name`; the first paragraph says what the rule is about. Then
//! examples follow, each three or more fenced blocks:
//!
//! | block | what |
//! |---|---|
//! | `fortran fails` | a program that causes the diagnostic |
//! | `text` | what Farfel says of it; `FARFEL_UPDATE=1 cargo test -p farfel-cli error_pages` writes it |
//! | `fortran works` | the same program mended; there may be several |
//!
//! A file is called `example.ff`, unless the block names it: `fortran fails old.f`. Blocks of one kind that
//! stand together are files of one program as long as their names differ.

mod terminal;
#[cfg(test)]
mod tests;

use std::ops::Range;

use farfel_lang::diagnostic::Rule;
use include_dir::{Dir, include_dir};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

pub use terminal::shown;

// A link to `docs/errors`, so that a published package carries them too.
static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/errors");

/// The page of a rule. Every rule has one, which a test says.
pub fn page(rule: &Rule) -> &'static str {
    let file = PAGES.get_file(format!("{}.md", rule.code));
    file.and_then(|file| file.contents_utf8())
        .unwrap_or_default()
}

/// What a rule is about: the first paragraph of its page.
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
    /// Text on one line, with code between backticks; code as it is.
    text: String,
    /// Where it stands on the page.
    range: Range<usize>,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Heading,
    Paragraph,
    /// Of a list.
    Item,
    /// Fenced, with what stands behind the fence.
    Code(String),
}

/// The parts of a page in their order.
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
                    // One without paragraphs has its text itself.
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
