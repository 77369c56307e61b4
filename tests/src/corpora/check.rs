//! Properties that must hold for a file of real Fortran.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use farfel_lang::ir::Program;
use farfel_lang::print::{Options, print_program};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, Loader, parse};
use farfel_lang::{Diagnostic, Sources};

use super::compiler::{self, Text};
use super::files::{File, decoded};

/// The depth of a check; each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// The file is parsed; when the printed text is parsed and printed again, the result is the same.
    Read,
    /// gfortran accepts the printed text.
    Compiles,
    /// gfortran generates the same code for the printed text as for the file.
    SameCode,
}

/// The result for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All properties hold.
    Good,
    /// Not even gfortran accepts it.
    NotFortran,
    /// A property is violated.
    Bad {
        /// The kind of violation, for grouping.
        class: &'static str,
        /// The details.
        why: String,
    },
}

/// Loads INCLUDE files from the folder of the including file, or from gfortran's own.
struct Folder;

impl Loader for Folder {
    fn load(&mut self, from: &str, name: &str) -> Result<(String, Arc<str>), String> {
        let folder = Path::new(from).parent().unwrap_or(Path::new("."));
        let own = || compiler::own_includes().join(name.trim());
        let path = Some(folder.join(name.trim()))
            .filter(|p| p.exists())
            .unwrap_or_else(own);
        let bytes = fs::read(&path).map_err(|e| e.to_string())?;
        Ok((path.to_string_lossy().into_owned(), decoded(bytes)))
    }
}

/// A program that was read.
pub struct Read {
    /// The program.
    pub program: Program,
    /// Its texts.
    pub sources: Sources,
    /// Its errors, as `line:column code message`.
    pub errors: Vec<String>,
}

/// Reads a text as `farfel build` would.
pub fn read(name: &str, text: &str, form: Form) -> Read {
    let mut sources = Sources::new();
    let file = sources.add(name, text);
    let parsed = parse(&mut sources, file, Some(form), &mut Folder);
    let mut program = parsed.program;
    let mut diagnostics = parsed.diagnostics;
    if !diagnostics.iter().any(Diagnostic::is_error) {
        diagnostics.extend(resolve(&mut program));
    }
    let errors = diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| shown(&sources, d))
        .collect();
    Read {
        program,
        sources,
        errors,
    }
}

fn shown(sources: &Sources, d: &Diagnostic) -> String {
    let place = sources.get(d.span.file).map_or_else(String::new, |f| {
        let place = f.line_column(d.span.start);
        format!("{}:{}", place.line, place.column)
    });
    format!("{place} {} {}", d.rule.code, d.message)
}

/// Checks a file.
pub fn check(file: &File, depth: Depth) -> Outcome {
    let judged = catch_unwind(AssertUnwindSafe(|| judge(file, depth)));
    match judged {
        Ok(Ok(())) => Outcome::Good,
        Ok(Err((class, why))) => match original_is_fine(file) {
            true => Outcome::Bad { class, why },
            false => Outcome::NotFortran,
        },
        Err(_) => Outcome::Bad {
            class: "panics",
            why: "a panic".into(),
        },
    }
}

fn original_is_fine(file: &File) -> bool {
    let Ok(text) = file.text() else { return false };
    compiler::accepts(&Text {
        text: &text,
        form: file.form(),
        preprocess: file.is_preprocessed(),
        folder: &file.folder(),
    })
    .is_ok()
}

/// Returns the text that the parser gets.
///
/// # Errors
///
/// The file cannot be read, or the C preprocessor rejects it.
pub fn source(file: &File) -> Result<Arc<str>, String> {
    let text = file.text().map_err(|e| e.to_string())?;
    if !file.is_preprocessed() {
        return Ok(text);
    }
    let behind = compiler::preprocessed(&Text {
        text: &text,
        form: file.form(),
        preprocess: true,
        folder: &file.folder(),
    })?;
    Ok(behind.into())
}

type Failure = (&'static str, String);

fn judge(file: &File, depth: Depth) -> Result<(), Failure> {
    let path = file.path();
    let path = path.to_string_lossy();
    let folder = file.folder();
    let text = source(file).map_err(|e| ("cannot be read", e))?;
    let original = read(&path, &text, file.form());
    if let Some(first) = original.errors.first() {
        return Err(("refused", first.clone()));
    }
    for form in [Form::Fixed, Form::Free] {
        let plain = Options {
            form,
            ..Options::default()
        };
        let printed = print_program(&original.program, &plain);
        let again = read(&path, &printed, form);
        if let Some(first) = again.errors.first() {
            let why = format!("{form:?}: {first}");
            return Err(("refused when printed", why));
        }
        let twice = print_program(&again.program, &plain);
        if let Some((a, b)) = first_difference(&printed, &twice) {
            let why = format!("{form:?}: `{a}` becomes `{b}`");
            return Err(("not the same when printed again", why));
        }
        let as_text = |text| Text {
            text,
            form,
            preprocess: false,
            folder: &folder,
        };
        if depth == Depth::Compiles {
            compiler::accepts(&as_text(&printed))
                .map_err(|e| ("does not compile when printed", format!("{form:?}: {e}")))?;
        }
        if depth == Depth::SameCode {
            let theirs = Text {
                text: &text,
                form: file.form(),
                ..as_text(&text)
            };
            same_code(&theirs, &as_text(&printed))?;
        }
    }
    Ok(())
}

/// Compares the code of a file with that of its printed text.
///
/// gfortran computes the bounds of arrays in an order that depends on how it looks up names, which differs in
/// free form. So there the order and positions may differ.
fn same_code(theirs: &Text, ours: &Text) -> Result<(), Failure> {
    let form = ours.form;
    let refused = |e| ("does not compile when printed", format!("{form:?}: {e}"));
    let a = compiler::code(theirs).map_err(|e| ("does not compile", e))?;
    let b = compiler::code(ours).map_err(refused)?;
    if a == b || form == Form::Free && a.unordered == b.unordered {
        return Ok(());
    }
    let a = compiler::assembler(theirs).map_err(|e| ("does not compile", e))?;
    let b = compiler::assembler(ours).map_err(refused)?;
    let (a, b) = first_difference(&a, &b).unwrap_or_default();
    Err((
        "other code when printed",
        format!("{form:?}: `{}`, but `{}`", a.trim(), b.trim()),
    ))
}

/// Returns the first lines that differ.
fn first_difference<'a>(a: &'a str, b: &'a str) -> Option<(&'a str, &'a str)> {
    if a == b {
        return None;
    }
    let (mut left, mut right) = (a.lines(), b.lines());
    loop {
        match (left.next(), right.next()) {
            (Some(a), Some(b)) if a == b => {}
            (None, None) => return Some(("line ends", "other line ends")),
            (a, b) => return Some((a.unwrap_or("the end"), b.unwrap_or("the end"))),
        }
    }
}
