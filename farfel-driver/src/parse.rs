//! Parses files into a program, many files in parallel.

use crate::preprocess::{self, Outcome};
use crate::sources::{self, Includes};
use crate::workers::Workers;
use crate::{Config, Error};
use farfel_lang::ir::Program;
use farfel_lang::syntax::{Loader, Parsed, ReadOptions, parse_with};
use farfel_lang::{Diagnostic, FileId, Sources};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// With fewer bytes of text than this, parsing is faster than starting threads.
const WORTH_IT: usize = 100_000;

/// Parses files into one program whose names are not resolved yet.
pub(crate) fn parse(
    files: &[PathBuf],
    config: &Config,
    sources: &mut Sources,
    included: &mut Vec<PathBuf>,
) -> Result<(Program, Vec<Diagnostic>), Error> {
    let mut includes = Includes::new(config);
    let mut texts = Vec::new();
    let files = || files.iter().filter(|f| !sources::is_c_source_name(f));
    for path in files() {
        let text = sources::read(path).map_err(Error::io(path))?;
        let name = sources::shown(config, path);
        includes.add_source(&name, path);
        let form = sources::form(path, &text, config);
        let options = ReadOptions {
            form: Some(form),
            ..config.read_options()
        };
        let id = sources.add(name, text);
        texts.push(
            match preprocess::run(path, id, form, sources, &mut includes, config)? {
                Outcome::Plain => Ok((id, options)),
                Outcome::Done(id) => Ok((id, options)),
                Outcome::Errors(diagnostics) => Err(diagnostics),
            },
        );
    }
    let readable: Vec<_> = texts.iter().flatten().copied().collect();
    let mut parsed = parse_all(&readable, sources, &mut includes).into_iter();
    included.extend(includes.reached.iter().cloned());
    let mut program = Program::default();
    let mut diagnostics = Vec::new();
    for (path, text) in files().zip(texts) {
        let nothing = |diagnostics| Parsed {
            program: Program::default(),
            diagnostics,
            modules: Vec::new(),
        };
        let file = text.map_or_else(nothing, |_| {
            parsed.next().unwrap_or_else(|| nothing(Vec::new()))
        });
        // A file that another one includes is a part of that one, whatever its extension.
        if !includes.is_reached(path) || files().count() == 1 {
            program.units.extend(file.program.units);
            diagnostics.extend(file.diagnostics);
        }
    }
    Ok((program, diagnostics))
}

/// Parses files of `sources` in parallel, with the same result as one after the other: a file that includes
/// others is read after all files before it, so that included files are numbered in `sources` in the order of
/// the files.
pub(crate) fn parse_all(
    files: &[(FileId, ReadOptions)],
    sources: &mut Sources,
    includes: &mut dyn Loader,
) -> Vec<Parsed> {
    let parsed = parse_noting(files, sources, includes);
    parsed.into_iter().map(|(parsed, _)| parsed).collect()
}

/// Like [`parse_all`], and also returns the files that each file included, directly or indirectly.
pub(crate) fn parse_noting(
    files: &[(FileId, ReadOptions)],
    sources: &mut Sources,
    includes: &mut dyn Loader,
) -> Vec<(Parsed, Vec<FileId>)> {
    let sizes = files.iter().filter_map(|(id, _)| sources.get(*id));
    let alone: Vec<Option<Parsed>> = match sizes.map(|f| f.text.len()).sum::<usize>() {
        small if small < WORTH_IT => files.iter().map(|_| None).collect(),
        _ => without_includes(files, sources),
    };
    files
        .iter()
        .zip(alone)
        .map(|((id, options), parsed)| match parsed {
            Some(parsed) => (parsed, Vec::new()),
            None => {
                let before = sources.iter().count();
                let parsed = parse_with(sources, *id, options, includes);
                let added = sources.iter().skip(before).map(|(id, _)| id);
                (parsed, added.collect())
            }
        })
        .collect()
}

/// Parses the files that include nothing; the others are `None`.
fn without_includes(files: &[(FileId, ReadOptions)], sources: &Sources) -> Vec<Option<Parsed>> {
    let workers = Workers::from_environment();
    let parsed: Vec<Mutex<Option<Parsed>>> = files.iter().map(|_| Mutex::new(None)).collect();
    // No file in a worker's own copy of the sources is kept.
    let own: Vec<Mutex<Option<Sources>>> = (0..workers.count().max(1))
        .map(|_| Mutex::new(None))
        .collect();
    let lock = PoisonError::into_inner;
    workers.run(&vec![Vec::new(); files.len()], &|task, worker| {
        let (id, options) = &files[task];
        let mut own = own[worker % own.len()].lock().unwrap_or_else(lock);
        let own = own.get_or_insert_with(|| sources.clone());
        let mut asked = IncludeDetector(false);
        let result = parse_with(own, *id, options, &mut asked);
        if !asked.0 {
            *parsed[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
        true
    });
    parsed
        .into_iter()
        .map(|p| p.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// A loader without any files that records whether it was asked for one.
struct IncludeDetector(bool);

impl Loader for IncludeDetector {
    fn load(&mut self, _from: &str, _name: &str) -> Result<(String, Arc<str>), String> {
        self.0 = true;
        Err(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::print::{Options, print_program};

    struct OneInclude;

    impl Loader for OneInclude {
        fn load(&mut self, _: &str, name: &str) -> Result<(String, Arc<str>), String> {
            Ok((
                name.to_owned(),
                "      COMMON /C/ X\n      Y = = 1\n".into(),
            ))
        }
    }

    /// Parsing in parallel gives the same files, errors and places as parsing sequentially.
    #[test]
    fn side_by_side_is_one_after_the_other() {
        let text = |i: usize| {
            let body = match i % 3 {
                0 => format!("      INCLUDE 'c{i}.inc'\n"),
                1 => "      X = (1\n".to_owned(),
                _ => "      X = 1\n".repeat(600),
            };
            format!("      SUBROUTINE S{i}\n{body}      END\n")
        };
        let mut sources = Sources::new();
        let files: Vec<_> = (0..60)
            .map(|i| {
                (
                    sources.add(format!("{i}.f"), text(i)),
                    ReadOptions::default(),
                )
            })
            .collect();
        let mut expected_sources = sources.clone();
        let got = parse_all(&files, &mut sources, &mut OneInclude);
        let total: usize = sources.iter().map(|(_, f)| f.text.len()).sum();
        assert!(total > WORTH_IT);
        assert_eq!(sources.iter().count(), expected_sources.iter().count() + 20);
        for (i, (id, options)) in files.iter().enumerate() {
            let expected = parse_with(&mut expected_sources, *id, options, &mut OneInclude);
            assert_eq!(got[i].diagnostics, expected.diagnostics);
            let print = |p: &Parsed| print_program(&p.program, &Options::default());
            assert_eq!(print(&got[i]), print(&expected));
        }
        let names = |s: &Sources| s.iter().map(|(_, f)| f.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&sources), names(&expected_sources));
    }
}
