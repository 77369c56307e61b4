//! Runs the system's preprocessor on sources that ask for it.
//!
//! Its output contains markers, `# 12 "file"`, by which `farfel-lang` maps every place to the user's files.
//! Files that `#include` reaches are subject to the same rules as INCLUDE files: nothing outside the project
//! is read unless the settings name its directory. This is checked before the preprocessor runs, and again in
//! its output.

use crate::process::{self, Limits, ProcessError};
use crate::sources::{self, Includes};
use crate::{Config, Error, toolchain};
use farfel_lang::diagnostic::rules;
use farfel_lang::syntax::Form;
use farfel_lang::{Diagnostic, FileId, Sources, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The extensions of files that are always preprocessed.
const EXTENSIONS: [&str; 10] = [
    "F", "FF", "FOR", "F77", "F90", "F95", "F03", "F08", "FPP", "FTN",
];

/// The limits of the preprocessor for one file.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(60),
    output: 256 << 20,
    together: false,
    strays: false,
};

/// The environment variables that would make the preprocessor read or write other files.
const VARIABLES: [&str; 5] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "DEPENDENCIES_OUTPUT",
    "SUNPRO_DEPENDENCIES",
];

/// The result for a file.
pub(crate) enum Outcome {
    /// The file is to be read as it is.
    Plain,
    /// This file is to be read in its place.
    Done(FileId),
    /// The file cannot be read.
    Errors(Vec<Diagnostic>),
}

/// Runs the preprocessor on a file of `sources`, if the file asks for it and there is something to do.
pub(crate) fn run(
    path: &Path,
    file: FileId,
    form: Form,
    sources: &mut Sources,
    includes: &mut Includes,
    config: &Config,
) -> Result<Outcome, Error> {
    let text = sources
        .get(file)
        .map_or_else(|| "".into(), |f| f.text.clone());
    if !is_requested(path, config) || !has_work(&text, config) {
        return Ok(Outcome::Plain);
    }
    let mut scan = Scan {
        sources,
        includes,
        seen: BTreeSet::new(),
        texts: blake3::Hasher::new(),
        errors: Vec::new(),
    };
    scan.file(path, file);
    if !scan.errors.is_empty() {
        return Ok(Outcome::Errors(scan.errors));
    }
    let texts = scan.texts.finalize();
    let (written, printed, good) = &*known_or_preprocessed(texts, path, form, config)?;
    let (written, printed, good) = (written.as_str(), printed.as_str(), *good);
    if !good {
        let errors = messages(printed, file, sources, config);
        return Ok(Outcome::Errors(errors));
    }
    let mut markers = Markers {
        config,
        main: path,
        file,
        sources,
        includes,
        errors: Vec::new(),
    };
    let text = markers.text(written);
    if !markers.errors.is_empty() {
        return Ok(Outcome::Errors(markers.errors));
    }
    let name = sources::shown(config, path);
    Ok(Outcome::Done(sources.add(name, text)))
}

/// Whether the file is to be preprocessed.
fn is_requested(path: &Path, config: &Config) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    config.preprocess || EXTENSIONS.contains(&extension)
}

/// Whether the preprocessor would change a text. Without directives and without definitions in the settings,
/// it only replaces its predefined macros.
fn has_work(text: &str, config: &Config) -> bool {
    !config.defines.is_empty() || text.contains("__") || text.lines().any(|l| l.starts_with('#'))
}

/// Returns a path for the preprocessor. A path in the project does not depend on the project's location.
pub(crate) fn relative(path: &Path, config: &Config) -> PathBuf {
    match path.strip_prefix(&config.root) {
        Ok(inside) => Path::new(".").join(inside),
        Err(_) if ["", "."].map(Path::new).contains(&&*config.root) && path.is_relative() => {
            Path::new(".").join(path)
        }
        Err(_) => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

/// The preprocessor's output and messages, and whether it succeeded.
type Preprocessed = (String, String, bool);

/// Preprocesses each combination of texts only once in a process, since several programs of a project may
/// consist of the same files.
fn known_or_preprocessed(
    texts: blake3::Hash,
    path: &Path,
    form: Form,
    config: &Config,
) -> Result<Arc<Preprocessed>, Error> {
    static KNOWN: Mutex<BTreeMap<[u8; 32], Arc<Preprocessed>>> = Mutex::new(BTreeMap::new());
    let lock = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let Config {
        root,
        defines,
        include,
        fc,
        ..
    } = config;
    let how = format!("{texts} {path:?} {form:?} {root:?} {defines:?} {include:?} {fc:?}");
    let key = *blake3::hash(how.as_bytes()).as_bytes();
    if let Some(known) = lock().get(&key) {
        return Ok(known.clone());
    }
    let made = Arc::new(preprocess(path, form, config)?);
    lock().insert(key, made.clone());
    Ok(made)
}

fn preprocess(path: &Path, form: Form, config: &Config) -> Result<Preprocessed, Error> {
    let compiler = toolchain::find_or_install(config)?;
    let mut command = compiler.command();
    command.current_dir(match config.root.as_os_str().is_empty() {
        true => Path::new("."),
        false => &config.root,
    });
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    // Makes `__DATE__` the same in every build.
    if std::env::var_os("SOURCE_DATE_EPOCH").is_none() {
        command.env("SOURCE_DATE_EPOCH", "0");
    }
    command.args(["-E", "-cpp", "-nostdinc", "-fno-diagnostics-show-caret"]);
    command.arg("-fdiagnostics-color=never");
    for define in &config.defines {
        command.arg(format!("-D{define}"));
    }
    for directory in &config.include {
        let directory = relative(&config.root.join(directory), config);
        command.arg("-I").arg(directory);
    }
    command.args([
        "-x",
        match form {
            Form::Fixed => "f77-cpp-input",
            Form::Free => "f95-cpp-input",
        },
    ]);
    command.arg(relative(path, config));
    let failed = |reason: String| Error::Command {
        command: format!("gfortran -E {}", sources::shown(config, path)),
        reason,
    };
    let output = process::run(&mut command, &LIMITS).map_err(|e| match e {
        ProcessError::NotStarted(e) => failed(e.to_string()),
        other => failed(other.to_string()),
    })?;
    if output.stdout.len() >= LIMITS.output {
        return Err(failed("the preprocessor writes too much".into()));
    }
    Ok((
        farfel_lang::encoding::decode(output.stdout),
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.success(),
    ))
}

/// Returns the name in `#include "name"`, if the line is such a directive.
fn included(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('#')?.trim_start();
    let rest = ["include_next", "include", "import", "embed"]
        .iter()
        .find_map(|w| rest.strip_prefix(w))?;
    let rest = rest.trim();
    let close = match rest.bytes().next()? {
        b'"' => '"',
        b'<' => '>',
        _ => return Some(""),
    };
    let name = &rest[1..];
    Some(&name[..name.find(close)?])
}

/// Searches a file for what it includes, before the preprocessor does.
struct Scan<'a, 'b> {
    sources: &'a mut Sources,
    includes: &'a mut Includes<'b>,
    seen: BTreeSet<PathBuf>,
    /// A hash of the texts that it has searched.
    texts: blake3::Hasher,
    errors: Vec<Diagnostic>,
}

impl Scan<'_, '_> {
    fn file(&mut self, path: &Path, file: FileId) {
        let text = self
            .sources
            .get(file)
            .map_or_else(|| "".into(), |f| f.text.clone());
        self.texts.update(blake3::hash(text.as_bytes()).as_bytes());
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if let Some(name) = included(line) {
                let end = start + line.trim_end().len();
                let span = Span::new(file, start as u32, end as u32);
                self.include(path, name, span);
            }
            start += line.len();
        }
    }

    fn include(&mut self, from: &Path, name: &str, span: Span) {
        let mut error = |why: String| {
            self.errors.push(Diagnostic::error(
                &rules::INCLUDE_FAILED,
                span,
                format!("cannot include `{name}`: {why}"),
            ));
        };
        if name.is_empty() {
            return error("a file must be named between quotes".into());
        }
        match self.includes.locate(from, name) {
            // The preprocessor may never reach this line.
            Ok(None) => {}
            Ok(Some((path, real))) => {
                if !self.seen.insert(real.clone()) {
                    return;
                }
                match sources::read(&real) {
                    Ok(text) => {
                        let shown = self.includes.note(&path, &real);
                        let file = known(self.sources, &shown)
                            .unwrap_or_else(|| self.sources.add(shown, text));
                        self.file(&path, file);
                    }
                    Err(e) => error(e.to_string()),
                }
            }
            Err(why) => error(why),
        }
    }
}

fn known(sources: &Sources, name: &str) -> Option<FileId> {
    sources
        .iter()
        .find(|(_, f)| f.name == name)
        .map(|(id, _)| id)
}

/// Replaces the names in the preprocessor's line markers by those shown in messages.
struct Markers<'a, 'b> {
    config: &'a Config,
    main: &'a Path,
    file: FileId,
    sources: &'a mut Sources,
    includes: &'a mut Includes<'b>,
    errors: Vec<Diagnostic>,
}

impl Markers<'_, '_> {
    fn text(&mut self, written: &str) -> String {
        let mut text = String::with_capacity(written.len());
        for line in written.split_inclusive('\n') {
            match marker(line) {
                Some((number, name)) => {
                    let name = self.name(&name).replace('\\', "\\\\").replace('"', "\\\"");
                    text.push_str(&format!("# {number} \"{name}\"\n"));
                }
                None => text.push_str(line),
            }
        }
        text
    }

    /// Returns the name of a file as shown in messages.
    fn name(&mut self, name: &str) -> String {
        // `<built-in>`
        if name.starts_with('<') {
            return name.to_owned();
        }
        if Path::new(name) == relative(self.main, self.config) {
            return sources::shown(self.config, self.main);
        }
        let path = self.config.root.join(name);
        match self.includes.allow(&path) {
            Ok(real) => {
                let shown = self.includes.note(&path, &real);
                if known(self.sources, &shown).is_none()
                    && let Ok(text) = sources::read(&real)
                {
                    self.sources.add(shown.clone(), text);
                }
                shown
            }
            Err(why) => {
                self.errors.push(Diagnostic::error(
                    &rules::INCLUDE_FAILED,
                    Span::new(self.file, 0, 0),
                    format!("cannot include `{name}`: {why}"),
                ));
                name.to_owned()
            }
        }
    }
}

/// Parses `# 12 "file"` into the line and the file.
fn marker(line: &str) -> Option<(&str, String)> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(' ')?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut name = String::new();
    let mut letters = rest.strip_prefix('"')?.chars();
    loop {
        match letters.next()? {
            '"' => return Some((number, name)),
            '\\' => name.push(letters.next()?),
            c => name.push(c),
        }
    }
}

/// Parses the preprocessor's errors, and maps them to lines of the user's files.
fn messages(printed: &str, file: FileId, sources: &Sources, config: &Config) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for line in printed.lines() {
        // `./src/a.F:2:2: Fatal Error: none.h: No such file or directory`
        let lower = line.to_ascii_lowercase();
        let Some(at) = lower.find("error: ") else {
            continue;
        };
        let message = &line[at + "error: ".len()..];
        let place = line[..at].split_once(": ").map_or("", |(place, _)| place);
        let mut parts = place.rsplitn(3, ':');
        let _column = parts.next();
        let number: usize = parts.next().and_then(|n| n.parse().ok()).unwrap_or(1);
        let name = parts.next().unwrap_or("");
        let shown = sources::shown(config, &config.root.join(name));
        let id = known(sources, shown.strip_prefix("./").unwrap_or(&shown)).unwrap_or(file);
        let line = |number: usize| {
            let f = sources.get(id)?;
            let start = f.line_start(number)?;
            let text = f.text.get(start as usize..)?.lines().next()?;
            let span = Span::new(id, start, start + text.trim_end().len() as u32);
            Some((text.starts_with('#'), span))
        };
        // A missing file is reported at the line after.
        let span = [number, number.saturating_sub(1)]
            .into_iter()
            .filter_map(line)
            .find_map(|(is_for_it, span)| is_for_it.then_some(span))
            .or_else(|| Some(line(number)?.1));
        errors.push(
            Diagnostic::error(
                &rules::PREPROCESSOR,
                span.unwrap_or(Span::new(file, 0, 0)),
                format!("the preprocessor says: {message}"),
            )
            .help("`include` and `defines` in the settings tell it directories and names"),
        );
    }
    if errors.is_empty() {
        let first = printed.lines().next().unwrap_or("nothing");
        errors.push(Diagnostic::error(
            &rules::PREPROCESSOR,
            Span::new(file, 0, 0),
            format!("the preprocessor says: {first}"),
        ));
    }
    errors
}
