//! Finding and reading source files.

use crate::{Config, Error, mpi};
use farfel_lang::encoding::decode;
use farfel_lang::syntax::{Form, Loader, detect, requested_form};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The extensions of Fortran source files, in upper or lower case.
const EXTENSIONS: [&str; 8] = ["ff", "f", "for", "f77", "f90", "f95", "f03", "f08"];

/// The extensions of files in free form.
const FREE: [&str; 4] = ["f90", "f95", "f03", "f08"];

/// Whether a file is named like a Fortran source, so that a build picks it up from its directories.
///
/// ```
/// use farfel_driver::is_source_name;
/// assert!(is_source_name("src/cube.FF".as_ref()));
/// assert!(!is_source_name("src/lib.rs".as_ref()));
/// ```
pub fn is_source_name(path: &Path) -> bool {
    path.extension()
        .and_then(|e| e.to_str())
        .is_some_and(|e| EXTENSIONS.iter().any(|x| x.eq_ignore_ascii_case(e)))
}

/// Whether a file is named like a C source.
///
/// ```
/// use farfel_driver::is_c_source_name;
/// assert!(is_c_source_name("src/spooles.c".as_ref()));
/// assert!(!is_c_source_name("src/spooles.h".as_ref()));
/// ```
pub fn is_c_source_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "c")
}

/// Returns the words in C sources that may name procedures, in upper case and without trailing `_`. Since
/// macros can form names, too, a word only *may* be defined there: enough for warnings, but for nothing else.
pub(crate) fn words(files: &[PathBuf]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in files.iter().filter(|f| is_c_source_name(f)) {
        let text = std::fs::read(path).map(decode).unwrap_or_default();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let words = words.map(|w| w.trim_end_matches('_').to_ascii_uppercase());
        found.extend(words.filter(|w| !w.is_empty()));
    }
    found
}

/// The directories that are searched for sources by default.
const DIRECTORIES: [&str; 2] = ["src", "fortran"];

/// The directories of main programs that test the sources.
const TESTS: [&str; 2] = ["tests", "test"];

/// The sources of a project.
#[derive(Debug, Default)]
pub(crate) struct ProjectSources {
    /// The Fortran files, sorted.
    pub files: Vec<PathBuf>,
    /// The C files, sorted.
    pub c_files: Vec<PathBuf>,
    /// The directories that were searched.
    pub directories: Vec<PathBuf>,
}

impl ProjectSources {
    /// Returns all files, C files last.
    pub(crate) fn all(&self) -> Vec<PathBuf> {
        [&self.files[..], &self.c_files].concat()
    }
}

/// Finds the sources that the settings name.
///
/// # Errors
///
/// [`Error::Io`] if a directory cannot be read, [`Error::Config`] if a source named in the settings does not
/// exist.
pub(crate) fn find(config: &Config) -> Result<ProjectSources, Error> {
    let mut found = ProjectSources::default();
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    match &config.sources {
        Some(named) => {
            for path in named {
                let path = existing("sources", path, config)?;
                if path.is_dir() {
                    search(&path, &mut files)?;
                    found.directories.push(path);
                } else {
                    files.insert(path);
                }
            }
        }
        None => {
            for directory in DIRECTORIES {
                let path = config.root.join(directory);
                if path.is_dir() {
                    search(&path, &mut files)?;
                    found.directories.push(path);
                }
            }
        }
    }
    for path in &config.pass_through {
        let named = existing("pass-through", path, config)?;
        // Files of tests are not among the sources that are found here.
        if !TESTS.iter().any(|t| path.starts_with(t))
            && !files.iter().any(|f| f.starts_with(&named))
        {
            return Err(Error::Config {
                origin: "setting `pass-through`".into(),
                message: format!(
                    "{} is not among the sources; the setting `sources` names them",
                    named.display()
                ),
            });
        }
    }
    for path in config.file_flags.keys() {
        existing("file-flags", path, config)?;
    }
    for path in &config.exclude {
        let path = existing("exclude", path, config)?;
        files.retain(|f| !f.starts_with(&path));
    }
    (found.c_files, found.files) = files.into_iter().partition(|f| is_c_source_name(f));
    for path in found.all().iter().chain(&found.directories) {
        check_name(path).map_err(Error::io(path))?;
    }
    Ok(found)
}

/// Returns the file or directory that a setting names, if it exists.
fn existing(setting: &str, path: &Path, config: &Config) -> Result<PathBuf, Error> {
    let path = config.root.join(path);
    match path.exists() {
        true => Ok(path),
        false => Err(Error::Config {
            origin: format!("setting `{setting}`"),
            message: format!("{} does not exist", path.display()),
        }),
    }
}

fn search(directory: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
    let visible = |e: &walkdir::DirEntry| {
        // The top directory itself may be hidden because it was named explicitly.
        e.depth() == 0 || !e.file_name().to_string_lossy().starts_with('.')
    };
    for entry in walkdir::WalkDir::new(directory)
        .into_iter()
        .filter_entry(visible)
    {
        let entry = entry.map_err(|e| {
            let path = e.path().unwrap_or(directory).to_owned();
            Error::io(path)(e.into())
        })?;
        let is_source = is_source_name(entry.path()) || is_c_source_name(entry.path());
        if is_source && !entry.file_type().is_dir() {
            files.insert(entry.into_path());
        }
    }
    Ok(())
}

/// Rejects paths with control characters. Paths are written to cargo, into Fortran and into Rust, where line
/// breaks are significant.
fn check_name(path: &Path) -> std::io::Result<()> {
    if path.to_string_lossy().contains(char::is_control) {
        let why = "a line end or another control character is in the name of a source, rename it";
        return Err(std::io::Error::new(ErrorKind::InvalidFilename, why));
    }
    Ok(())
}

/// Reads a source file in any encoding (see [`farfel_lang::encoding`]).
pub(crate) fn read(path: &Path) -> std::io::Result<Arc<str>> {
    check_name(path)?;
    Ok(decode(read_file(path)?).into())
}

/// Reads the bytes of a regular file. Other files are rejected: opening a named pipe would block until
/// somebody writes to it, and reading a device may never end.
///
/// # Errors
///
/// The file cannot be read, or is not a regular file.
pub fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let kind = fs::metadata(path)?;
    if !kind.is_file() && !kind.is_dir() {
        return Err(std::io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    fs::read(path)
}

/// Whether a file's name implies free form.
pub(crate) fn is_free_by_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| FREE.iter().any(|x| x.eq_ignore_ascii_case(e)))
}

/// Determines the source form of a file: the one requested by the settings or by a comment in the file; else
/// free form for names such as `.f90`; else the form that is detected in the text.
pub(crate) fn form(path: &Path, text: &str, config: &Config) -> Form {
    config
        .form
        .or_else(|| requested_form(text))
        .or(is_free_by_name(path).then_some(Form::Free))
        .unwrap_or_else(|| detect(text))
}

/// Returns the name of a file as shown in messages: relative to the project for files inside it, with
/// slashes.
pub(crate) fn shown(config: &Config, path: &Path) -> String {
    let inside = path.strip_prefix(&config.root).unwrap_or(path);
    let name = inside.to_string_lossy();
    let name = name.strip_prefix("./").unwrap_or(&name);
    let name = if std::path::MAIN_SEPARATOR == '\\' {
        name.replace('\\', "/")
    } else {
        name.to_owned()
    };
    match &config.shown_as {
        Some(package) => format!("{package}/{name}"),
        None => name,
    }
}

/// Converts a text to a part of a Fortran name.
pub(crate) fn as_name(text: &str) -> String {
    text.chars()
        .map(|c| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_uppercase(),
            false => '_',
        })
        .collect()
}

/// Loads INCLUDE files: from the directory of the including file, then from the directories in the settings,
/// and from nowhere else.
pub(crate) struct Includes<'a> {
    config: &'a Config,
    /// The paths of files by the names under which they are shown.
    paths: BTreeMap<String, PathBuf>,
    /// The directories from which reading is allowed, canonicalized.
    allowed: Vec<PathBuf>,
    /// The directory of the last source added.
    seen: Option<PathBuf>,
    /// The files that were included.
    pub reached: BTreeSet<PathBuf>,
    /// The same files, canonicalized.
    real: BTreeSet<PathBuf>,
}

impl<'a> Includes<'a> {
    pub(crate) fn new(config: &'a Config) -> Self {
        let allowed = std::iter::once(config.root.clone())
            .chain(config.include.iter().map(|d| config.root.join(d)))
            .filter_map(|d| d.canonicalize().ok())
            .collect();
        Includes {
            config,
            paths: BTreeMap::new(),
            allowed,
            seen: None,
            reached: BTreeSet::new(),
            real: BTreeSet::new(),
        }
    }

    /// Whether another file included this one, by whatever path.
    pub(crate) fn is_reached(&self, path: &Path) -> bool {
        self.reached.contains(path) || path.canonicalize().is_ok_and(|p| self.real.contains(&p))
    }

    /// Finds the file that `from` includes as `name`: its path and its canonical path. Returns `None` if
    /// there is no such file.
    pub(crate) fn locate(
        &self,
        from: &Path,
        name: &str,
    ) -> Result<Option<(PathBuf, PathBuf)>, String> {
        let Some(path) = self
            .directories(from)
            .iter()
            .map(|d| d.join(name))
            .find(|p| p.exists())
        else {
            return Ok(None);
        };
        if !path.is_file() {
            return Err("it is not a file".into());
        }
        let real = self.allow(&path)?;
        Ok(Some((path, real)))
    }

    /// Returns the canonical path, if the file may be read.
    pub(crate) fn allow(&self, path: &Path) -> Result<PathBuf, String> {
        let real = path.canonicalize().map_err(|e| e.to_string())?;
        if !self.config.include_anywhere && !self.allowed.iter().any(|a| real.starts_with(a)) {
            let what = match path.is_symlink() {
                true => format!(
                    "it is a link to `{}`, which is outside of the project; the setting `include` can name its directory, or one above it",
                    real.display()
                ),
                false => "the file is outside of the project; the setting `include` can name its directory".into(),
            };
            return Err(what);
        }
        check_name(path).map_err(|e| e.to_string())?;
        Ok(real)
    }

    /// Records that a file was read, and returns its name as shown in messages.
    pub(crate) fn note(&mut self, path: &Path, real: &Path) -> String {
        let shown = shown(self.config, path);
        self.paths.insert(shown.clone(), path.to_owned());
        self.reached.insert(path.to_owned());
        self.real.insert(real.to_owned());
        shown
    }

    /// Returns the directories searched for an INCLUDE file: that of the including file, then those in the
    /// settings.
    fn directories(&self, from: &Path) -> Vec<PathBuf> {
        let beside = from.parent().map(Path::to_owned).unwrap_or_default();
        let elsewhere = self.config.include.iter().map(|d| self.config.root.join(d));
        std::iter::once(beside).chain(elsewhere).collect()
    }

    /// Registers a source file. Reading from its directory is allowed because the user named it.
    pub(crate) fn add_source(&mut self, name: &str, path: &Path) {
        self.paths.insert(name.to_owned(), path.to_owned());
        let directory = path.parent().filter(|d| !d.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        // Consecutive sources mostly are in the same directory.
        if self.seen.as_deref() == Some(directory) {
            return;
        }
        self.seen = Some(directory.to_owned());
        if let Ok(d) = directory.canonicalize()
            && !self.allowed.iter().any(|a| d.starts_with(a))
        {
            self.allowed.push(d);
        }
    }
}

impl Loader for Includes<'_> {
    fn load(&mut self, from: &str, name: &str) -> Result<(String, Arc<str>), String> {
        let name = name.trim();
        let from = self
            .paths
            .get(from)
            .cloned()
            .unwrap_or_else(|| self.config.root.join(from));
        let directories = self.directories(&from);
        let Some(path) = directories
            .iter()
            .map(|d| d.join(name))
            .find(|p| p.is_file())
        else {
            let places: Vec<String> = directories
                .iter()
                .map(|d| match shown(self.config, d) {
                    here if here.is_empty() => ".".to_owned(),
                    there => there,
                })
                .collect();
            return Err(format!("no such file in {}", places.join(", ")));
        };
        let real = self.allow(&path)?;
        if mpi::is_left_out(self.config, name) {
            return Ok((self.note(&path, &real), "".into()));
        }
        // Reads the canonical path that was checked: the link may point elsewhere by now.
        let text = read(&real).map_err(|e| e.to_string())?;
        Ok((self.note(&path, &real), text))
    }
}

/// Returns the Fortran sources of a project, sorted: those named in the settings, else all under `src` and
/// `fortran`.
///
/// # Errors
///
/// [`Error::Io`] if a directory cannot be read, [`Error::Config`] if a source named in the settings does not
/// exist.
pub fn source_files(config: &Config) -> Result<Vec<PathBuf>, Error> {
    Ok(find(config)?.files)
}

/// Returns the sources of tests, sorted: those under `tests` and `test` that are not sources of the project
/// itself.
///
/// # Errors
///
/// Same as [`source_files`].
pub fn test_files(config: &Config) -> Result<Vec<PathBuf>, Error> {
    let folders = TESTS.iter().map(PathBuf::from);
    let folders: Vec<PathBuf> = folders.filter(|f| config.root.join(f).is_dir()).collect();
    if folders.is_empty() {
        return Ok(Vec::new());
    }
    let mut tests = find(&Config {
        sources: Some(folders),
        // The setting may name files that are not tests.
        pass_through: Vec::new(),
        ..config.clone()
    })?;
    let own = find(config)?.files;
    tests.files.retain(|test| !own.contains(test));
    Ok(tests.files)
}

/// Returns the C sources of a project, sorted: those among the sources named in the settings, else all under
/// `src` and `fortran`.
///
/// # Errors
///
/// Same as [`source_files`].
pub fn c_source_files(config: &Config) -> Result<Vec<PathBuf>, Error> {
    Ok(find(config)?.c_files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    fn config(dir: &tempfile::TempDir) -> Config {
        Config {
            root: dir.path().to_owned(),
            ..Config::default()
        }
    }

    #[test]
    fn sources_are_found_by_their_ending() {
        let dir = tree(&[
            ("src/b.ff", b""),
            ("src/deep/A.FOR", b""),
            ("src/lib.rs", b""),
            ("src/.hidden/e.f", b""),
            ("fortran/c.F77", b""),
            ("fortran/common.inc", b""),
            ("other/d.f", b""),
        ]);
        let mut c = config(&dir);
        let names = |c: &Config| -> Vec<String> {
            let found = find(c).unwrap();
            found.files.iter().map(|f| shown(c, f)).collect()
        };
        assert_eq!(names(&c), ["fortran/c.F77", "src/b.ff", "src/deep/A.FOR"]);
        c.sources = Some(vec!["other".into(), "src/b.ff".into()]);
        assert_eq!(names(&c), ["other/d.f", "src/b.ff"]);
        c.sources = Some(vec!["src/missing.ff".into()]);
        let message = find(&c).unwrap_err().to_string();
        assert!(message.contains("missing.ff does not exist"), "{message}");
    }

    #[test]
    fn latin_1_is_read() {
        let dir = tree(&[("a.f", b"C Stra\xdfe\r\n")]);
        let text = read(&dir.path().join("a.f")).unwrap();
        assert_eq!(farfel_lang::encoding::legible(&text), "C Straße\r\n");
    }

    #[test]
    fn includes() {
        let dir = tree(&[
            ("proj/src/a.ff", b""),
            ("proj/src/sizes.inc", b"near"),
            ("proj/inc/deep.inc", b"deep"),
            ("away/far.inc", b"far"),
        ]);
        let mut c = config(&dir);
        c.root = dir.path().join("proj");
        let load = |c: &Config, name: &str| {
            let mut includes = Includes::new(c);
            includes.add_source("src/a.ff", &c.root.join("src/a.ff"));
            let loaded = includes.load("src/a.ff", name);
            loaded.map(|(name, text)| (name, text.to_string(), includes.reached.len()))
        };
        let near = ("src/sizes.inc".to_owned(), "near".to_owned(), 1);
        assert_eq!(load(&c, "sizes.inc "), Ok(near));
        assert_eq!(load(&c, "deep.inc"), Err("no such file in src".into()));
        let outside = load(&c, "../../away/far.inc").unwrap_err();
        assert!(outside.contains("outside of the project"), "{outside}");
        #[cfg(unix)]
        {
            let link = c.root.join("src/linked.inc");
            std::os::unix::fs::symlink("../../away/far.inc", link).unwrap();
            let linked = load(&c, "linked.inc").unwrap_err();
            assert!(linked.contains("it is a link to `"), "{linked}");
            assert!(
                linked.contains("away/far.inc`, which is outside"),
                "{linked}"
            );
        }
        c.include = vec!["inc".into(), "../away".into()];
        #[cfg(unix)]
        assert_eq!(load(&c, "linked.inc").unwrap().1, "far");
        assert_eq!(load(&c, "deep.inc").unwrap().0, "inc/deep.inc");
        assert_eq!(load(&c, "far.inc").unwrap().1, "far");
    }
}
