//! The text of a file for gfortran: one text with all INCLUDE files, and with line markers that tell where
//! each line comes from.

use super::statements::marker;
use crate::gfortran;
use crate::preprocess::{self, Outcome};
use crate::sources::{self, Includes};
use crate::{Config, Error};
use farfel_lang::diagnostic::rules;
use farfel_lang::syntax::{Form, Loader};
use farfel_lang::{Diagnostic, FileId, Sources, Span};
use std::borrow::Cow;
use std::path::Path;

/// A file that was read.
pub(super) struct Text {
    /// The text of the file itself, after the preprocessor.
    pub id: FileId,
    pub form: Form,
    /// The text with all INCLUDE files.
    pub whole: String,
    /// Errors about files that cannot be included or preprocessed.
    pub errors: Vec<Diagnostic>,
}

/// The maximum nesting of INCLUDE files.
const DEEPEST: usize = 30;

/// The settings for the preprocessor with what `file-flags` says of a file: gfortran gets what is left after it.
fn with_own_flags<'a>(path: &Path, config: &'a Config) -> Cow<'a, Config> {
    let mut own = Cow::Borrowed(config);
    let of_file = config
        .file_flags
        .iter()
        .filter(|(named, _)| path.starts_with(config.root.join(named)));
    for flag in of_file.flat_map(|(_, flags)| flags) {
        match flag.strip_prefix("-D") {
            Some(name) if !name.is_empty() => own.to_mut().defines.push(name.to_owned()),
            None if flag == "-cpp" => own.to_mut().preprocess = true,
            _ => {}
        }
    }
    own
}

/// Reads a file with its INCLUDE files.
pub(super) fn read(
    path: &Path,
    config: &Config,
    sources: &mut Sources,
    includes: &mut Includes,
) -> Result<Text, Error> {
    let text = sources::read(path).map_err(Error::io(path))?;
    let name = sources::shown(config, path);
    includes.add_source(&name, path);
    let form = sources::form(path, &text, config);
    let id = sources.add(name.clone(), text.clone());
    let mut read = Text {
        id,
        form,
        whole: marked(1, &name),
        errors: Vec::new(),
    };
    let own = with_own_flags(path, config);
    match preprocess::run(path, id, form, sources, includes, &own)? {
        Outcome::Plain => {}
        Outcome::Done(done) => read.id = done,
        Outcome::Errors(errors) => read.errors = errors,
    }
    let text = sources.get(read.id).map_or(text, |f| f.text.clone());
    let mut inline = Inline {
        form,
        sources,
        includes,
        errors: Vec::new(),
    };
    inline.add(&text, &name, &mut read.whole, 0);
    read.errors.extend(inline.errors);
    Ok(read)
}

/// Returns a line marker, which tells where the next line comes from.
fn marked(line: usize, name: &str) -> String {
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    format!("# {line} \"{name}\"\n")
}

/// Replaces INCLUDE lines by the files.
struct Inline<'a, 'b> {
    form: Form,
    sources: &'a mut Sources,
    includes: &'a mut Includes<'b>,
    errors: Vec<Diagnostic>,
}

impl Inline<'_, '_> {
    fn add(&mut self, text: &str, name: &str, whole: &mut String, depth: usize) {
        let (mut file, mut number) = (name.to_owned(), 0);
        for line in text.lines() {
            number += 1;
            if let Some((next, name)) = marker(line) {
                (file, number) = (name, next.saturating_sub(1));
            }
            let Some(included) = included(line, self.form) else {
                whole.push_str(line);
                whole.push('\n');
                continue;
            };
            let found = match depth {
                DEEPEST => Err("the files include each other".to_owned()),
                _ => self.includes.load(&file, included),
            };
            match found {
                Ok((name, text)) => {
                    if !self.sources.iter().any(|(_, f)| f.name == name) {
                        self.sources.add(name.clone(), text.clone());
                    }
                    whole.push_str(&marked(1, &name));
                    self.add(&text, &name, whole, depth + 1);
                    whole.push_str(&marked(number + 1, &file));
                }
                Err(why) => {
                    let place = format!("{file}:{number}:");
                    self.errors.push(Diagnostic::error(
                        &rules::INCLUDE_FAILED,
                        gfortran::span(&place, self.sources).unwrap_or(Span::NONE),
                        format!("cannot include `{included}`: {why}"),
                    ));
                }
            }
        }
    }
}

/// Returns the file that an INCLUDE line names.
fn included(line: &str, form: Form) -> Option<&str> {
    if form == Form::Fixed && line.starts_with(['C', 'c', '*', '!']) {
        return None;
    }
    let line = line.trim_start();
    let (word, rest) = line.split_at_checked("include".len())?;
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    let (name, after) = rest[1..].split_once(quote)?;
    let after = after.trim_start();
    let ends = after.is_empty() || after.starts_with('!');
    (word.eq_ignore_ascii_case("include") && ends).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_lines() {
        let free = |line| included(line, Form::Free);
        assert_eq!(free("  INCLUDE 'a b.inc' ! more"), Some("a b.inc"));
        assert_eq!(free("include\"x.h\""), Some("x.h"));
        assert_eq!(free("include = 'x'"), None);
        assert_eq!(free("include 'x' // y"), None);
        assert_eq!(free("! include 'x'"), None);
        assert_eq!(included("c include 'x'", Form::Fixed), None);
        assert_eq!(included("      include 'x'", Form::Fixed), Some("x"));
    }
}
