//! Pass-through files, which gfortran compiles as they are: those that the setting `pass-through` names, and
//! modern Fortran, which the front end does not accept. [`crate::pass_through_objects`] compiles them.
//!
//! | module | what |
//! |---|---|
//! | `statements` | the statements of a text in any Fortran |
//! | `scan` | which modules and subprograms a file defines, and which modules it uses |
//! | `text` | a file with its INCLUDE files, as one text |
//! | `order` | which file is compiled after which |
//!
//! # Which files are passed through
//!
//! A file is passed through without being named if it is modern Fortran beyond doubt, so that a mistake in
//! FORTRAN 77 remains one of our errors:
//!
//! - its name implies free form (`.f90` and later), and it has statements that Farfel recognizes as
//!   unsupported (F0008), or errors together with a statement of Fortran 2003 or later;
//! - it begins a module or submodule;
//! - it uses a module of such a file.
//!
//! Sources in Farfel (`.ff`), and files with AD blocks, are never passed through.

pub(crate) mod order;
pub(crate) mod scan;
mod statements;
mod text;

use crate::sources::{self, Includes};
use crate::{Config, Error, Library, Report, gfortran, is_c_source_name};
use farfel_lang::diagnostic::rules;
use farfel_lang::ir::Name;
use farfel_lang::syntax::{FixedFormLayout, Form, ReadOptions, parse_with};
use farfel_lang::{Diagnostic, Sources, Span};
use scan::{Scan, scan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use text::Text;

/// The pass-through files.
#[derive(Default)]
pub(crate) struct PassThroughFiles {
    pub files: Vec<PassThroughFile>,
    /// Their texts, and those of their INCLUDE files.
    pub sources: Sources,
    /// Their INCLUDE files.
    pub reached: BTreeSet<PathBuf>,
    /// Errors in them: modules that use each other in a cycle, files that cannot be included.
    pub errors: Vec<Diagnostic>,
    /// The main programs that are left out, with their files.
    pub left_out: Vec<(Name, PathBuf)>,
}

/// A pass-through file.
pub(crate) struct PassThroughFile {
    pub path: PathBuf,
    /// Its name as shown in messages.
    pub name: String,
    /// Its source form.
    pub form: Form,
    /// Its text with all INCLUDE files.
    pub text: String,
    /// What it defines and uses.
    pub scan: Scan,
    /// The flags for its language, and its additional flags.
    pub language: Vec<String>,
    pub flags: Vec<String>,
    /// The directories with module files of other packages.
    pub include: Vec<PathBuf>,
    /// Whether it belongs to a library.
    pub of_library: bool,
    /// What the front end does not accept, with its line; `None` if a setting names the file.
    why: Option<String>,
}

impl PassThroughFile {
    /// Whether it has a main program.
    pub(crate) fn has_main(&self) -> bool {
        self.scan.main.is_some()
    }
}

impl PassThroughFiles {
    /// Finds the pass-through files among the sources of a program or library.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if a file cannot be read; [`Error::Config`] if flags are set for a file that is not
    /// among them.
    pub(crate) fn among(files: &[PathBuf], config: &Config) -> Result<PassThroughFiles, Error> {
        let mut passed = choose(files, config)?;
        for (named, flags) in &config.file_flags {
            let other = files.iter().find(|f| {
                f.starts_with(config.root.join(named)) && !is_c_source_name(f) && !passed.has(f)
            });
            if let Some(other) = other {
                return Err(Error::Config {
                    origin: "setting `file-flags`".into(),
                    message: format!(
                        "{} has no object file of its own: Farfel compiles it together with others; `flags` are for \
                         all of them, and `pass-through` names files that gfortran compiles as they are",
                        sources::shown(config, other)
                    ),
                });
            }
            let named = config.root.join(named);
            for file in passed.files.iter_mut() {
                if file.path.starts_with(&named) {
                    file.flags.extend(flags.iter().cloned());
                }
            }
        }
        Ok(passed)
    }

    /// Leaves out the files with main programs that are not wanted.
    pub(crate) fn leave_out_mains(&mut self, wanted: impl Fn(&Path) -> bool) {
        let (kept, out) = std::mem::take(&mut self.files)
            .into_iter()
            .partition(|f| !f.has_main() || wanted(&f.path));
        self.files = kept;
        self.left_out = out
            .into_iter()
            .filter_map(|f| Some((f.scan.main?.as_str().into(), f.path)))
            .collect();
    }

    /// Adds the pass-through files of a library used by the package with these settings.
    ///
    /// # Errors
    ///
    /// Same as [`PassThroughFiles::among`].
    pub(crate) fn add_library(&mut self, library: &Library, user: &Config) -> Result<(), Error> {
        let config = Config {
            pass_through: library.passed.clone(),
            shown_as: Some(library.shown_as()),
            fc: user.fc.clone(),
            install: user.install,
            ..library.config.clone()
        };
        let mut other = PassThroughFiles::among(&library.passed, &config)?;
        other.leave_out_mains(|_| false);
        for mut file in other.files {
            // COMMON blocks read by the front end have other names there.
            if let Some(common) = &file.scan.common {
                let span = gfortran::span(&common.place, &other.sources);
                other.errors.push(
                    Diagnostic::error(
                        &rules::PACKAGE_CONFLICT,
                        span.unwrap_or(Span::NONE),
                        "a COMMON block of a library is in a file that gfortran compiles as it is",
                    )
                    .help("put what it has into a module; packages that use this one cannot share COMMON blocks with it"),
                );
            }
            file.of_library = true;
            self.files.push(file);
        }
        let mut merged = Report {
            sources: std::mem::take(&mut self.sources),
            diagnostics: std::mem::take(&mut self.errors),
        };
        merged.extend(Report {
            sources: other.sources,
            diagnostics: other.errors,
        });
        (self.sources, self.errors) = (merged.sources, merged.diagnostics);
        self.reached.extend(other.reached);
        self.reached.extend(library.passed.iter().cloned());
        Ok(())
    }

    /// Returns the files of the package itself.
    pub(crate) fn own(&self) -> Vec<PathBuf> {
        let own = self.files.iter().filter(|f| !f.of_library);
        own.map(|f| f.path.clone()).collect()
    }

    /// Finds errors in the use of modules.
    pub(crate) fn check_modules(&mut self) {
        self.errors
            .extend(order::errors(&self.files, &self.sources));
    }

    /// Checks that no errors were found in the files before they are compiled.
    ///
    /// # Errors
    ///
    /// [`Error::Diagnostics`] with these errors.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.errors.is_empty() {
            true => Ok(()),
            false => Err(Error::Diagnostics(Report {
                sources: self.sources.clone(),
                diagnostics: self.errors.clone(),
            })),
        }
    }

    /// Whether this file is passed through, or its main program was left out.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.files.iter().any(|f| f.path == path) || self.left_out.iter().any(|(_, p)| p == path)
    }

    /// Returns the subprograms that others can call by name, each with its file.
    pub(crate) fn externals(&self) -> BTreeMap<Name, String> {
        let of = |f: &PassThroughFile| {
            let names = f.scan.externals.iter();
            let each = names.map(|n| (n.name.as_str().into(), f.name.clone()));
            each.collect::<Vec<_>>()
        };
        self.files.iter().flat_map(of).collect()
    }

    /// Returns the words in the files, in upper case: the names of all subprograms that they call are among
    /// them.
    pub(crate) fn words(&self) -> BTreeSet<String> {
        let lines = self.files.iter().flat_map(|f| f.text.lines());
        let code = lines.map(|l| l.split('!').next().unwrap_or_default());
        let words = code.flat_map(|l| l.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        words
            .filter(|w| !w.is_empty())
            .map(str::to_ascii_uppercase)
            .collect()
    }

    /// Returns a message about the files that no setting names.
    pub(crate) fn note(&self) -> Option<String> {
        /// The maximum number of files named in the message.
        const NAMED: usize = 5;
        let found: Vec<(&str, &str)> = self
            .files
            .iter()
            .filter_map(|f| Some((f.name.as_str(), f.why.as_deref()?)))
            .collect();
        let (first, rest) = found.split_at(found.len().min(NAMED));
        let shown: Vec<String> = first
            .iter()
            .map(|(name, why)| format!("{name} ({why})"))
            .collect();
        let more = match rest.len() {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        let what = match found.len() {
            0 => return None,
            1 => "1 file is modern Fortran, which gfortran compiles as it is",
            n => &format!("{n} files are modern Fortran, which gfortran compiles as they are"),
        };
        Some(format!(
            "{what}: {}{more}; nothing in them can be differentiated or checked. The setting `pass-through` names \
             such files without a note",
            shown.join(", ")
        ))
    }
}

/// Whether a setting names the file or a directory that contains it. Sources in Farfel must be named one by
/// one.
fn is_named(path: &Path, config: &Config) -> bool {
    let under = |named: &PathBuf| {
        let named = config.root.join(named);
        if is_farfel(path) && named.is_dir() {
            return false;
        }
        let real = || Some((path.canonicalize().ok()?, named.canonicalize().ok()?));
        path.starts_with(&named) || real().is_some_and(|(path, named)| path.starts_with(named))
    };
    config.pass_through.iter().any(under)
}

fn is_farfel(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("ff"))
}

/// Returns the pass-through files among the given ones, each with whether it has a main program.
pub(crate) fn mains(files: &[PathBuf], config: &Config) -> Result<Vec<(PathBuf, bool)>, Error> {
    let passed = choose(files, config)?.files.into_iter();
    Ok(passed.map(|f| (f.path.clone(), f.has_main())).collect())
}

/// Returns the pass-through files among the given ones, for callers that do not build.
///
/// # Errors
///
/// [`Error::Io`] if a file cannot be read.
pub fn passed_through(files: &[PathBuf], config: &Config) -> Result<Vec<PathBuf>, Error> {
    let passed = choose(files, config)?;
    Ok(passed.files.into_iter().map(|f| f.path).collect())
}

fn choose(files: &[PathBuf], config: &Config) -> Result<PassThroughFiles, Error> {
    let mut passed = PassThroughFiles::default();
    let mut includes = Includes::new(config);
    let mut left: Vec<&PathBuf> = Vec::new();
    for path in files.iter().filter(|f| !is_c_source_name(f)) {
        let named = is_named(path, config);
        let may_be = || -> Result<bool, Error> {
            if is_farfel(path) {
                return Ok(false);
            }
            Ok(sources::is_free_by_name(path) || begins_any(path, "module", "submodule")?)
        };
        if !named && !may_be()? {
            left.push(path);
            continue;
        }
        let text = text::read(path, config, &mut passed.sources, &mut includes)?;
        let scan = scanned(&text, config);
        let why = match named {
            true => None,
            false => match refused(
                path,
                &text,
                &scan,
                config,
                &mut passed.sources,
                &mut includes,
            ) {
                Some(why) => Some(why),
                None => {
                    left.push(path);
                    continue;
                }
            },
        };
        passed.add(path, text, scan, why, config);
    }
    passed.add_users(&left, config, &mut includes)?;
    // A file that another one includes is a part of that one, whatever its extension.
    passed.files.retain(|f| !includes.is_reached(&f.path));
    passed.files.sort_by(|a, b| a.path.cmp(&b.path));
    passed.reached = includes.reached;
    Ok(passed)
}

impl PassThroughFiles {
    fn add(&mut self, path: &Path, text: Text, scan: Scan, why: Option<String>, config: &Config) {
        self.errors.extend(text.errors);
        self.files.push(PassThroughFile {
            path: path.to_owned(),
            name: sources::shown(config, path),
            form: text.form,
            text: text.whole,
            scan,
            language: gfortran::pass_through_language_flags(config, text.form),
            flags: Vec::new(),
            include: config.include.iter().map(|d| config.root.join(d)).collect(),
            of_library: false,
            why,
        });
    }

    /// Adds files that use a module of a pass-through file, which the front end cannot read.
    fn add_users(
        &mut self,
        left: &[&PathBuf],
        config: &Config,
        includes: &mut Includes,
    ) -> Result<(), Error> {
        let modules = self.files.iter().flat_map(|f| &f.scan.defines);
        let modules: BTreeSet<String> = modules.map(|m| m.name.clone()).collect();
        for path in left {
            if modules.is_empty() || is_farfel(path) || !begins_any(path, "use", "use")? {
                continue;
            }
            let text = text::read(path, config, &mut self.sources, includes)?;
            let scan = scanned(&text, config);
            let used = scan.uses.iter().find(|u| modules.contains(&u.name));
            if let Some(used) = used.filter(|_| !scan.differentiates) {
                let why = format!(
                    "line {}: it uses the module {}",
                    line(&used.place),
                    used.name
                );
                self.add(path, text, scan, Some(why), config);
            }
        }
        Ok(())
    }
}

/// Returns the line number in `file:12:`.
fn line(place: &str) -> &str {
    place.rsplit(':').nth(1).unwrap_or_default()
}

fn scanned(text: &Text, config: &Config) -> Scan {
    let layout = FixedFormLayout {
        line_length: config.line_length,
        debug_lines: config.debug_lines,
    };
    let statements = statements::statements(&text.whole, text.form, layout);
    scan(&statements)
}

/// Whether any statement of the file begins with one of two words, whatever kind of statement it is.
fn begins_any(path: &Path, one: &str, other: &str) -> Result<bool, Error> {
    let text = sources::read_file(path).map_err(Error::io(path))?;
    let begins = |line: &[u8], word: &str| {
        let first = line.get(..word.len());
        first.is_some_and(|first| first.eq_ignore_ascii_case(word.as_bytes()))
    };
    let mut statements = text.split(|b| *b == b'\n' || *b == b';');
    Ok(statements.any(|line| {
        let line = line.trim_ascii_start();
        begins(line, one) || begins(line, other)
    }))
}

/// Returns the reason why the front end does not accept a file in modern Fortran; `None` if it accepts the
/// file, or rejects it because of a mistake.
fn refused(
    path: &Path,
    text: &Text,
    scan: &Scan,
    config: &Config,
    sources: &mut Sources,
    includes: &mut Includes,
) -> Option<String> {
    let free = sources::is_free_by_name(path);
    if scan.differentiates || (!free && scan.defines.is_empty()) {
        return None;
    }
    let options = ReadOptions {
        form: Some(text.form),
        ..config.read_options()
    };
    let diagnostics = parse_with(sources, text.id, &options, includes).diagnostics;
    let mut errors = diagnostics.iter().filter(|d| d.is_error());
    // gfortran does not accept preprocessor lines either.
    let foreign =
        |d: &&Diagnostic| d.rule == &rules::UNSUPPORTED && !sources.text(d.span).starts_with('#');
    if let Some(module) = scan.defines.first() {
        let (_, name) = module.name.split_once('@').unwrap_or(("", &module.name));
        return Some(format!("line {}: module {name}", line(&module.place)));
    }
    if let Some(d) = errors.clone().find(foreign) {
        let at = sources.get(d.span.file)?.line_column(d.span.start);
        return Some(format!("line {}: {}", at.line, d.message));
    }
    errors.next()?;
    let newer = scan.newer.as_ref()?;
    Some(format!("line {}: unrecognised statement", line(newer)))
}
