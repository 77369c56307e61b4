//! Text to tree.
//!
//! | step | module |
//! |---|---|
//! | which form the text is in | [`mod@detect`] |
//! | physical lines → logical statements, blanks taken out | `form` |
//! | a statement as a row of letters to read from | `line` |
//! | what kind of statement it is | `classify` |
//! | constants, expressions, declarations, types, attributes, DATA, executable statements, ALLOCATE, input and output, FORMAT, AD blocks | `constants`, `expr`, `decl`, `types`, `attributes`, `data`, `stmt`, `allocate`, `io`, `descriptors`, `ad` |
//! | a unit that is being read, and its open blocks | `frame` |
//! | program units, blocks, labels, comments, INCLUDE | `unit` |
//! | what Fortran has and Farfel has not | `unsupported` |
//!
//! `trace` notes what the parser took the letters for, for [`mod@crate::format`].
//!
//! The parser goes over the text once. Each statement that it cannot read gives one
//! diagnostic, and reading goes on with the next statement; a faulty statement that opens
//! a block still opens it, so that one fault does not look like several.

mod ad;
mod allocate;
mod attributes;
mod classify;
mod constants;
mod data;
mod decl;
mod descriptors;
pub mod detect;
mod expr;
mod form;
mod frame;
pub(crate) mod growing;
mod io;
mod line;
mod modules;
mod spelling;
mod stmt;
pub(crate) mod trace;
mod types;
mod unit;
mod unsupported;

#[cfg(test)]
mod tests;

use crate::diagnostic::Diagnostic;
use crate::ir;
use crate::source::{FileId, Sources, Span};
use std::sync::Arc;

pub(crate) use descriptors::fault_of_format;
pub(crate) use detect::asks_for_form;
pub use detect::detect;
pub(crate) use form::{Piece, is_card_number, joined_directives, sentinel, single_blanks};

/// How statements are laid out in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// Columns as on punched cards: label in 1 to 5, continuation in 6, text in 7 to 72.
    #[default]
    Fixed,
    /// Text anywhere, `&` continues, `!` comments.
    Free,
}

/// How lines of fixed form are read, where that can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The last column of a statement, 72 on cards. What stands beyond it is not read.
    pub line_length: usize,
    /// Lines with `D` in column 1 are code. Otherwise they are comments.
    pub debug_lines: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            line_length: 72,
            debug_lines: false,
        }
    }
}

/// How a file is read. A comment on one of its first 20 lines says the same for it alone; it
/// decides where nothing is given here, and overrides the layout:
///
/// ```fortran
/// !farfel: form=fixed, line-length=132, debug-lines=true
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ReadOptions {
    /// The source form; found by [`detect()`] when it is not given.
    pub form: Option<Form>,
    /// How fixed form is read.
    pub layout: Layout,
}

/// Where INCLUDE files come from: this crate opens no files.
pub trait Loader {
    /// The text of the file that INCLUDE names.
    ///
    /// `from` is the name of the including file, as it stands in [`Sources`]. Returns the
    /// name to show to people and the text.
    ///
    /// # Errors
    ///
    /// The reason, for people, why there is none.
    fn load(&mut self, from: &str, name: &str) -> Result<(String, Arc<str>), String>;
}

/// A loader without files: every INCLUDE fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoIncludes;

impl Loader for NoIncludes {
    fn load(&mut self, _from: &str, _name: &str) -> Result<(String, Arc<str>), String> {
        Err("INCLUDE is not available here".to_owned())
    }
}

/// Files that INCLUDE names stay closed.
struct Closed(usize);

impl Loader for Closed {
    fn load(&mut self, _from: &str, name: &str) -> Result<(String, Arc<str>), String> {
        // No file includes itself here.
        self.0 += 1;
        Ok((format!("{name}#{}", self.0), "".into()))
    }
}

/// What parsing gives: a program as far as it could be read, and all the faults.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The units in the order of the text. Names are not resolved.
    pub program: ir::Program,
    /// Faults in the order of the text, those in INCLUDE files last.
    pub diagnostics: Vec<Diagnostic>,
    /// The MODULE statements of modules, which are passed over to their END. A fault (F0008) has the
    /// same place.
    pub modules: Vec<Span>,
}

/// Reads a file of `sources`; `form` is found by [`detect()`] when it is not given.
///
/// INCLUDE files are added to `sources`. In a text with line markers of a preprocessor,
/// `# 12 "file"`, all places are those in the named files, where `sources` has them.
///
/// ```
/// use farfel_lang::Sources;
/// use farfel_lang::syntax::{NoIncludes, parse};
///
/// let mut sources = Sources::new();
/// let file = sources.add("a.ff", "      PROGRAM P\n      X = 1\n      END\n");
/// let parsed = parse(&mut sources, file, None, &mut NoIncludes);
/// assert!(parsed.diagnostics.is_empty());
/// assert_eq!(parsed.program.units[0].name, "P");
/// ```
pub fn parse(
    sources: &mut Sources,
    file: FileId,
    form: Option<Form>,
    loader: &mut dyn Loader,
) -> Parsed {
    let options = ReadOptions {
        form,
        ..ReadOptions::default()
    };
    parse_with(sources, file, &options, loader)
}

/// The source form that a comment at the top of a text asks for.
pub fn asked_form(text: &str) -> Option<Form> {
    detect::asked_form(text)
}

/// Like [`parse`], with all that can be said about how the text is to be read.
pub fn parse_with(
    sources: &mut Sources,
    file: FileId,
    options: &ReadOptions,
    loader: &mut dyn Loader,
) -> Parsed {
    unit::parse(sources, file, options, loader)
}

/// Reads a text with INCLUDE statements and lines for a preprocessor left as they are.
pub(crate) fn trace(sources: &mut Sources, file: FileId, options: &ReadOptions) -> trace::Trace {
    unit::parse_traced(sources, file, options, &mut Closed(0))
}

/// How many statements a file of `sources` has: the first step of reading alone, physical
/// lines to rows of letters. For benchmarks and fuzzing.
pub fn count_statements(sources: &Sources, file: FileId, form: Form, layout: Layout) -> usize {
    let text = sources
        .get(file)
        .map(|f| f.text.clone())
        .unwrap_or_default();
    let mut reader = form::Reader::new(file, text, form, layout);
    let mut statement = form::Statement::new();
    let mut count = 0;
    while reader.next(&mut statement) {
        count += 1;
    }
    count
}
