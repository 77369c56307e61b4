//! Formats source files.

use crate::{Config, Error, Report, files, sources};
use farfel_lang::Sources;
use farfel_lang::encoding::encode;
use farfel_lang::format::{FormatError, format};
use farfel_lang::syntax::Form;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use farfel_lang::format::Case;

/// The options of the formatter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The source form to convert to.
    pub form: Option<Form>,
    /// The case of names and keywords.
    pub case: Case,
}

/// A formatted file that has not been written yet.
#[derive(Debug)]
pub struct Formatted {
    path: PathBuf,
    /// Its name as shown in messages.
    pub name: String,
    /// The original text.
    pub before: Arc<str>,
    /// The formatted text.
    pub after: String,
    /// Whether it was converted to another source form but has INCLUDE files, which were not.
    pub includes_left: bool,
}

/// Formats a file without writing it. INCLUDE files are not opened, and no preprocessor runs.
///
/// # Errors
///
/// [`Error::Io`]; [`Error::Diagnostics`] if the text cannot be parsed; [`Error::Format`] if the settings
/// demand another form than `options`, or if the result would not be the same program.
pub fn format_file(path: &Path, config: &Config, options: &Options) -> Result<Formatted, Error> {
    let before = sources::read(path).map_err(Error::io(path))?;
    let name = sources::shown(config, path);
    let refuse = |reason: String| Error::Format {
        name: name.clone(),
        reason,
    };
    let mut read = config.read_options();
    if let (Some(form), Some(wanted)) = (config.form, options.form)
        && form != wanted
    {
        return Err(refuse(
            "the setting `form` in Cargo.toml asks for another source form".into(),
        ));
    }
    let free_by_name = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("f90"));
    if free_by_name && options.form.is_none() {
        read.form = Some(sources::form(path, &before, config));
    }
    let mut texts = Sources::new();
    let file = texts.add(name.clone(), before.clone());
    let asked = farfel_lang::format::Options {
        read,
        form: options.form,
        case: options.case,
    };
    let after = match format(&mut texts, file, &asked) {
        Ok(text) => text,
        Err(FormatError::Unreadable(diagnostics)) => {
            return Err(Error::Diagnostics(Report {
                sources: texts,
                diagnostics,
            }));
        }
        Err(FormatError::Different(place)) => {
            let line = place
                .and_then(|span| Some(texts.get(span.file)?.line_column(span.start).line))
                .map_or_else(String::new, |line| format!(", in line {line}"));
            return Err(refuse(format!(
                "laid out, it would not be the same program{line}"
            )));
        }
    };
    let converted = options.form.is_some_and(|form| {
        let was = read
            .form
            .unwrap_or_else(|| farfel_lang::syntax::detect(&before));
        was != form
    });
    let includes = |line: &str| {
        line.trim_start()
            .to_ascii_uppercase()
            .starts_with("INCLUDE")
    };
    Ok(Formatted {
        path: path.to_owned(),
        includes_left: converted && before.lines().any(includes),
        name,
        before,
        after,
    })
}

impl Formatted {
    /// Whether the formatted text differs from the original.
    pub fn changed(&self) -> bool {
        *self.before != self.after
    }

    /// Writes the file atomically in its original encoding, if the text has changed.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write(&self) -> Result<(), Error> {
        if !self.changed() {
            return Ok(());
        }
        files::rewrite(&self.path, &encode(&self.after))
    }
}
