//! The parser: turns source text into a tree.
//!
//! | step | module |
//! |---|---|
//! | detects the source form | [`mod@detect`] |
//! | physical lines → logical statements, with blanks removed | `form` |
//! | a statement as a sequence of letters to read from | `statement_parser` |
//! | classifies a statement | `classify` |
//! | constants, expressions, declarations, types, attributes, DATA, executable statements, ALLOCATE, input and output, FORMAT, AD blocks | `constants`, `expr`, `decl`, `types`, `attributes`, `data`, `stmt`, `allocate`, `io`, `descriptors`, `ad` |
//! | the unit being read, and its open blocks | `open_unit` |
//! | program units, blocks, labels, comments, INCLUDE | `unit` |
//! | Fortran features that Farfel does not support | `unsupported` |
//!
//! `trace` records how the parser interpreted the letters, for [`mod@crate::format`].
//!
//! The parser makes a single pass over the text. Each statement that it cannot read yields one
//! diagnostic, and parsing continues with the next statement. A malformed statement that opens a
//! block still opens it, so that one error does not cause several.

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
pub(crate) mod growing;
mod io;
mod modules;
mod open_unit;
mod spelling;
mod statement_parser;
mod stmt;
pub(crate) mod trace;
mod types;
mod unit;
mod unsupported;

#[cfg(test)]
mod tests;

use crate::diagnostic::Diagnostic;
use crate::ir::{self, DefaultSizes};
use crate::source::{FileId, Sources, Span};
use std::sync::Arc;

pub(crate) use descriptors::error_in_format;
pub use detect::detect;
pub(crate) use detect::is_form_setting;
pub(crate) use form::{TokenKind, is_card_number, joined_directives, sentinel, single_blanks};

/// How statements are laid out in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// Fixed form, with the columns of punched cards: label in columns 1 to 5, continuation mark in
    /// 6, text in 7 to 72.
    #[default]
    Fixed,
    /// Free form: text in any column, `&` for continuation, `!` for comments.
    Free,
}

/// The details of fixed form that vary between dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedFormLayout {
    /// The last column of a statement, 72 on cards. Text beyond it is ignored.
    pub line_length: usize,
    /// Whether lines with `D` in column 1 are code. Otherwise they are comments.
    pub debug_lines: bool,
}

impl Default for FixedFormLayout {
    fn default() -> Self {
        FixedFormLayout {
            line_length: 72,
            debug_lines: false,
        }
    }
}

/// How a file is read. A comment in one of the first 20 lines of a file can set the same for that
/// file alone. Its form applies where none is given here; its layout settings override the ones
/// here:
///
/// ```fortran
/// !farfel: form=fixed, line-length=132, debug-lines=true
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ReadOptions {
    /// The source form. If `None`, [`detect()`] determines it.
    pub form: Option<Form>,
    /// The layout of fixed form.
    pub layout: FixedFormLayout,
    /// The sizes of the default types.
    pub sizes: DefaultSizes,
}

/// Supplies the text of INCLUDE files, since this crate opens no files.
pub trait Loader {
    /// Returns the display name and the text of the file that INCLUDE names.
    ///
    /// `from` is the name of the including file as recorded in [`Sources`].
    ///
    /// # Errors
    ///
    /// A message for the user that says why the file could not be loaded.
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

/// A loader that gives every INCLUDE file an empty text.
struct EmptyIncludes(usize);

impl Loader for EmptyIncludes {
    fn load(&mut self, _from: &str, name: &str) -> Result<(String, Arc<str>), String> {
        // Every load gets a distinct name, so that no file seems to include itself.
        self.0 += 1;
        Ok((format!("{name}#{}", self.0), "".into()))
    }
}

/// The result of parsing: the program as far as it could be read, and all errors.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The units in source order. Names are not resolved yet.
    pub program: ir::Program,
    /// The errors in source order, those in INCLUDE files last.
    pub diagnostics: Vec<Diagnostic>,
    /// The MODULE statements of modules, which are skipped up to their END. An F0008 error has the
    /// same span.
    pub modules: Vec<Span>,
}

/// Parses a file of `sources`. If `form` is `None`, [`detect()`] determines it.
///
/// INCLUDE files are added to `sources`. In a text with a preprocessor's line markers,
/// `# 12 "file"`, all spans refer to the named files, provided `sources` has them.
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

/// Returns the source form that a comment at the top of a text asks for.
pub fn requested_form(text: &str) -> Option<Form> {
    detect::requested_form(text)
}

/// Like [`parse`], with all options for how the text is read.
pub fn parse_with(
    sources: &mut Sources,
    file: FileId,
    options: &ReadOptions,
    loader: &mut dyn Loader,
) -> Parsed {
    unit::parse(sources, file, options, loader)
}

/// Parses a text for the formatter, leaving INCLUDE statements and preprocessor lines as they are.
pub(crate) fn trace(sources: &mut Sources, file: FileId, options: &ReadOptions) -> trace::Trace {
    unit::parse_traced(sources, file, options, &mut EmptyIncludes(0))
}

/// Counts the statements of a file of `sources`. Runs only the first step of parsing, from physical
/// lines to statements. For benchmarks and fuzzing.
pub fn count_statements(
    sources: &Sources,
    file: FileId,
    form: Form,
    layout: FixedFormLayout,
) -> usize {
    let text = sources
        .get(file)
        .map(|f| f.text.clone())
        .unwrap_or_default();
    let mut reader = form::StatementReader::new(file, text, form, layout);
    let mut statement = form::Statement::new();
    let mut count = 0;
    while reader.next(&mut statement) {
        count += 1;
    }
    count
}
