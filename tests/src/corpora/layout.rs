//! Properties that must hold for a file of real Fortran that `farfel fmt` formats.

use farfel_lang::diagnostic::rules;
use farfel_lang::format::{FormatError, Options, format};
use farfel_lang::syntax::{Form, ReadOptions};
use farfel_lang::{Diagnostic, Sources};

use super::compiler::{self, Text};
use super::files::File;

/// Formats a file in both forms. Formatting the result again must not change it; with `compiled`, gfortran
/// must accept the result if it accepts the file.
///
/// # Errors
///
/// The violated property.
pub fn check(file: &File, compiled: bool) -> Result<(), String> {
    let text = file.text().map_err(|e| e.to_string())?;
    // Preprocessor lines and INCLUDE files may divide constructs, and included files keep their source form.
    let divided = text
        .lines()
        .any(|l| l.starts_with('#') || l.trim_start().to_ascii_uppercase().starts_with("INCLUDE"));
    for to in [Form::Fixed, Form::Free] {
        let laid_out = match laid_out(&file.name, &text, file.form(), to) {
            Ok(laid_out) => laid_out,
            Err(FormatError::Unreadable(errors)) if divided || of_modules(&errors) => return Ok(()),
            Err(error) => return Err(format!("{to:?}: {error:?}")),
        };
        match self::laid_out(&file.name, &laid_out, to, to) {
            Ok(again) if again == laid_out => {}
            Ok(again) => {
                let mut lines = laid_out.lines().zip(again.lines());
                let first = lines.find(|(a, b)| a != b);
                return Err(format!("{to:?}: changes when laid out again: {first:?}"));
            }
            Err(error) => return Err(format!("{to:?}: not again: {error:?}")),
        }
        let same = to == file.form() && *laid_out == *text;
        if !compiled || same || divided && to != file.form() {
            continue;
        }
        let folder = file.folder();
        let judged = |text, form| {
            compiler::accepts(&Text {
                text,
                form,
                preprocess: file.is_preprocessed(),
                folder: &folder,
            })
        };
        if let Err(why) = judged(&laid_out, to)
            && judged(&text, file.form()).is_ok()
        {
            return Err(format!("{to:?}: does not compile when laid out: {why}"));
        }
    }
    Ok(())
}

/// Whether the errors are about Fortran 90 modules, which are skipped.
fn of_modules(errors: &[Diagnostic]) -> bool {
    errors.iter().any(|d| d.rule == &rules::UNSUPPORTED)
}

fn laid_out(name: &str, text: &str, from: Form, to: Form) -> Result<String, FormatError> {
    let mut sources = Sources::new();
    let file = sources.add(name, text);
    let options = Options {
        read: ReadOptions {
            form: Some(from),
            ..ReadOptions::default()
        },
        form: Some(to),
        ..Options::default()
    };
    format(&mut sources, file, &options)
}
