//! `farfel new` and `farfel init`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toml_edit::{DocumentMut, Item, Table, value};

use crate::args::{Init, New, NewOptions, Vcs};
use crate::dependency::Source;
use crate::error::{Error, Result};
use crate::existing::{self, Existing};
use crate::files;
use crate::package_name;
use crate::shell::Shell;
use crate::template::{self, Template, Values};

/// The files of a project: relative paths and contents.
type Files = Vec<(PathBuf, Vec<u8>)>;

const BUILD_SCRIPT: &str = "fn main() {\n    farfel_build::compile();\n}\n";

/// Creates a project in a new directory, completely or not at all.
pub fn new(args: &New, shell: &mut Shell) -> Result {
    let path =
        std::path::absolute(&args.path).map_err(|source| Error::io("find", &args.path, &source))?;
    let name = name_of(&path, &args.options)?;
    if path.symlink_metadata().is_ok() {
        return Err(
            Error::fixable(format!("`{}` exists already", args.path.display()))
                .help("`farfel init` makes a project of an existing directory"),
        );
    }
    let chosen = chosen(&args.options);
    let source = source_for(chosen, &args.options)?;
    let mut files = template::files(chosen, &values(&name, source.as_ref()))?;
    let git = wants_git(&args.options, &path);
    if args.options.vcs != Some(Vcs::None) {
        files.push((".gitignore".into(), b"/target\n".to_vec()));
    }

    shell.status("Creating", format_args!("{} `{name}`", chosen.describe()));
    // Missing parent directories are created together with the project.
    let existing = path
        .ancestors()
        .skip(1)
        .find(|dir| dir.exists())
        .unwrap_or(Path::new("/"));
    let cannot = |source: std::io::Error| Error::io("make a project in", existing, &source);
    let inside = path.strip_prefix(existing).unwrap_or(&path);
    let Some(first) = inside.iter().next() else {
        return Err(Error::invalid(format!(
            "`{}` names no directory",
            args.path.display()
        )));
    };
    let stage = tempfile::Builder::new()
        .prefix(".farfel-new-")
        .tempdir_in(existing)
        .map_err(cannot)?;
    let staged = stage.path().join(inside);
    write_all(&staged, &files)?;
    if git {
        git_init(&staged, shell);
    }
    fs::rename(stage.path().join(first), existing.join(first)).map_err(cannot)?;

    if let Some(source) = source {
        shell.status("Using", source.describe());
    }
    warn_of_workspace(&path, shell);
    let next = match chosen {
        Template::Lib => "test",
        _ => "run",
    };
    shell.note(format_args!(
        "`cd {} && farfel {next}` builds it and {next}s it",
        args.path.display()
    ));
    Ok(())
}

/// Turns an existing directory into a project. A Rust package gets what it needs for Farfel sources; any
/// other folder becomes a package.
pub fn init(args: &Init, shell: &mut Shell) -> Result {
    let path =
        std::path::absolute(&args.path).map_err(|source| Error::io("find", &args.path, &source))?;
    if !path.is_dir() {
        return Err(
            Error::fixable(format!("no such directory `{}`", args.path.display()))
                .help("`farfel new` makes a project in a new directory"),
        );
    }
    let chosen = chosen(&args.options);
    let source = source_for(chosen, &args.options)?;
    if let Some(source) = &source
        && path.join("Cargo.toml").exists()
    {
        adopt(&path, &args.options, source, shell)?;
    } else if args.options.template.is_none()
        && let Some(found) = existing::find(&path, args.options.lib)?
    {
        return take_over(&path, &found, args, shell);
    } else {
        let name = name_of(&path, &args.options)?;
        let mut files = template::files(chosen, &values(&name, source.as_ref()))?;
        if args.options.vcs != Some(Vcs::None) && !path.join(".gitignore").exists() {
            files.push((".gitignore".into(), b"/target\n".to_vec()));
        }
        if let Some((file, _)) = files.iter().find(|(file, _)| path.join(file).exists()) {
            let file = args.path.join(file);
            return Err(Error::fixable(format!(
                "`{}` exists already and would be replaced",
                file.strip_prefix(".").unwrap_or(&file).display()
            )));
        }
        shell.status("Creating", format_args!("{} `{name}`", chosen.describe()));
        write_all(&path, &files)?;
        if wants_git(&args.options, &path) {
            git_init(&path, shell);
        }
        warn_of_workspace(&path, shell);
    }
    if let Some(source) = source {
        shell.status("Using", source.describe());
    }
    Ok(())
}

/// Turns a folder of Fortran into a project: a manifest, and, without a main program to run, a Rust library.
fn take_over(path: &Path, found: &Existing, args: &Init, shell: &mut Shell) -> Result {
    let options = &args.options;
    let name = name_of_existing(path, found, options)?;
    if let Some(file) = existing_manifest(path) {
        return Err(Error::fixable(format!(
            "`{file}` exists already and would be replaced"
        )));
    }
    shell.status("Found", counted(found));
    if let (None, Some(meant)) = (&options.name, meant_name(path, found))
        && meant != name
    {
        shell.status(
            "Naming",
            format_args!("the package `{name}`, as `{meant}` cannot be a package name"),
        );
    }
    if let (Some(file), false) = (found.build_file, found.taken.is_empty()) {
        shell.status(
            "Taking",
            format_args!("{} from {file}", found.taken.join(" ")),
        );
    }
    if let (Some(file), false) = (found.build_file, found.dropped.is_empty()) {
        let flags = found.dropped.join(" ");
        shell.warn(format_args!(
            "flags of {file} that are not taken over: {flags}"
        ));
    }
    let with_rust = options.lib || found.programs.is_empty();
    if let (Some(file), Some(flag), true) = (found.build_file, &found.wide_integers, with_rust) {
        shell.warn(format_args!(
            "{flag} of {file} is dropped: INTEGER has 4 bytes in a library for Rust. Declare variables that need 8 \
             as INTEGER*8"
        ));
    }
    if let (Some(file), false) = (found.build_file, found.needed.is_empty()) {
        let names = found.needed.join(", ");
        shell.warn(format_args!(
            "{file} depends on {names}, which Farfel does not get: what uses their modules is left out unless their \
             sources are in this folder"
        ));
    }
    show_by_reason("Passing on", &passed_by_reason(found), shell);
    show_by_reason("Leaving out", &found.left_out, shell);
    if found.is_empty {
        return Err(Error::fixable(
            "Farfel accepts none of these sources, so there is nothing to build",
        )
        .help("the lines above say why; gfortran does not compile them as they are, either"));
    }
    let mut manifest: DocumentMut =
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
            .parse()
            .map_err(|error| Error::invalid(format!("cannot write the manifest: {error}")))?;
    found.write_settings(&mut manifest);
    let mut files: Files = Vec::new();
    if with_rust {
        let source = Source::find(options.farfel_path.as_deref())?;
        depend(&mut manifest, &source, path, shell)?;
        files.push(("build.rs".into(), BUILD_SCRIPT.into()));
        files.push(("src/lib.rs".into(), LIBRARY.into()));
    }
    files.push(("Cargo.toml".into(), manifest.to_string().into_bytes()));
    if options.vcs != Some(Vcs::None) && !path.join(".gitignore").exists() {
        files.push((".gitignore".into(), b"/target\n".to_vec()));
    }
    files.retain(|(file, _)| !path.join(file).exists());
    write_all(path, &files)?;
    let written: Vec<String> = files.iter().map(|(f, _)| f.display().to_string()).collect();
    shell.status("Writing", written.join(", "));
    let builds = if with_rust {
        "the library"
    } else {
        "the programs"
    };
    let tests = match found.tests.is_empty() {
        true => "",
        false => ", `farfel test` runs the tests",
    };
    shell.note(format_args!(
        "`farfel check` looks for errors, `farfel build` builds {builds}{tests}"
    ));
    warn_of_workspace(path, shell);
    Ok(())
}

/// The `lib.rs` of a folder of Fortran.
const LIBRARY: &str = "//! The Fortran subprograms of this package.\n\n\
                       farfel_runtime::include_bindings!();\n";

/// Returns the sources that gfortran compiles as they are, with the reasons.
fn passed_by_reason(found: &Existing) -> Vec<(PathBuf, String)> {
    let reason = |(file, why): &(PathBuf, Option<String>)| {
        let why = why.clone();
        let why = why.unwrap_or_else(|| "modern Fortran, which gfortran compiles as it is".into());
        (file.clone(), why)
    };
    found.passed.iter().map(reason).collect()
}

/// Reports what happens to sources. Many with the same reason are reported together, without the position in
/// each.
fn show_by_reason(verb: &str, sources: &[(PathBuf, String)], shell: &mut Shell) {
    let mut by_reason: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
    for (file, why) in sources {
        let files = by_reason.entry(without_place(why)).or_default();
        files.push((file.display().to_string(), why));
    }
    for (reason, files) in by_reason {
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let shown = files::few(&names);
        let why = match &files[..] {
            [(_, why)] => why,
            _ => reason,
        };
        shell.status(verb, format_args!("{shown}: {why}"));
    }
}

/// Strips the file, line and column from the beginning of a message.
fn without_place(message: &str) -> &str {
    let (place, rest) = message.split_once(": ").unwrap_or(("", message));
    let mut numbers = place.rsplit(':').take(2);
    let is_place = numbers.all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    match is_place && place.contains(':') {
        true => rest,
        false => message,
    }
}

fn existing_manifest(path: &Path) -> Option<&'static str> {
    ["Cargo.toml", "build.rs"]
        .into_iter()
        .find(|file| path.join(file).exists())
}

/// Describes in words what was found.
fn counted(found: &Existing) -> String {
    let many = |n: usize, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    let mut text = many(found.sources.len(), "source file");
    if !found.programs.is_empty() {
        let names = found.programs.iter().map(|p| p.display().to_string());
        let names: Vec<String> = names.collect();
        text += &format!(
            ", {} ({})",
            many(names.len(), "main program"),
            names.join(", ")
        );
    }
    if !found.tests.is_empty() {
        let first = found.tests.iter().take(3).map(|t| t.display().to_string());
        let mut names: Vec<String> = first.collect();
        if found.tests.len() > names.len() {
            names.push("...".into());
        }
        text += &format!(
            ", {} ({})",
            many(found.tests.len(), "test"),
            names.join(", ")
        );
    }
    if let Some(file) = found.build_file {
        text += &format!(", {file}");
    }
    text
}

/// Returns the source of the crates on which the project depends, if it does.
fn source_for(template: Template, options: &NewOptions) -> Result<Option<Source>> {
    match template {
        Template::Program => Ok(None),
        _ => Source::find(options.farfel_path.as_deref()).map(Some),
    }
}

/// Adds the dependencies, the build script and a folder for sources to a Rust package.
fn adopt(path: &Path, options: &NewOptions, source: &Source, shell: &mut Shell) -> Result {
    if options.lib || options.bin || options.template.is_some() || options.name.is_some() {
        return Err(Error::invalid(
            "this directory is a Rust package already, so there is nothing to choose",
        )
        .help("`farfel init` alone adds what it lacks for Farfel sources"));
    }
    let manifest = path.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|e| Error::io("read", &manifest, &e))?;
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        Error::fixable(format!("`{}`: {}", manifest.display(), error.message()))
    })?;
    if !document.contains_key("package") {
        return Err(Error::fixable(format!(
            "`{}` describes a workspace, not a package",
            manifest.display()
        ))
        .help("run `farfel init` in one of its packages"));
    }
    let script = path.join("build.rs");
    match fs::read_to_string(&script) {
        Ok(text) if !text.contains("farfel_build") => {
            return Err(Error::fixable("this package has a build script of its own")
                .help("add `farfel_build::compile();` to the `main` of its build.rs first"));
        }
        _ => {}
    }
    depend(&mut document, source, path, shell)?;
    let mut files: Files = Vec::new();
    if !script.exists() {
        shell.status("Adding", "build.rs");
        files.push(("build.rs".into(), BUILD_SCRIPT.into()));
    }
    files.push(("Cargo.toml".into(), document.to_string().into_bytes()));
    fs::create_dir_all(path.join("fortran"))
        .map_err(|e| Error::io("make", &path.join("fortran"), &e))?;
    for (file, contents) in &files {
        replace(&path.join(file), contents)?;
    }
    shell.note(
        "put Farfel sources into `fortran/` and write `farfel_runtime::include_bindings!();` \
         where their subprograms shall be callable",
    );
    Ok(())
}

/// Adds the dependencies of a package with Farfel sources to a manifest.
fn depend(document: &mut DocumentMut, source: &Source, path: &Path, shell: &mut Shell) -> Result {
    let manifest = path.join("Cargo.toml");
    for (section, package) in [
        ("build-dependencies", "farfel-build"),
        ("dependencies", "farfel-runtime"),
    ] {
        let table = document
            .entry(section)
            .or_insert(Item::Table(Table::new()))
            .as_table_like_mut()
            .ok_or_else(|| {
                Error::invalid(format!(
                    "`{section}` in `{}` is not a table",
                    manifest.display()
                ))
            })?;
        if table.contains_key(package) {
            continue;
        }
        shell.status("Adding", format_args!("{package} to {section}"));
        let requirement = source
            .requirement(package)
            .parse::<toml_edit::Value>()
            .map_err(|error| Error::invalid(format!("cannot write the dependency: {error}")))?;
        table.insert(package, value(requirement));
    }
    Ok(())
}

fn chosen(options: &NewOptions) -> Template {
    match (options.template, options.lib) {
        (Some(template), _) => template,
        (None, true) => Template::Lib,
        (None, false) => Template::Bin,
    }
}

/// Returns the package name for a folder that was not a project before: the closest valid name to that of the
/// folder, or to that in the file that says how it is built.
fn name_of_existing(path: &Path, found: &Existing, options: &NewOptions) -> Result<String> {
    match (&options.name, meant_name(path, found)) {
        (None, Some(meant)) => {
            let name = package_name::near(&meant);
            package_name::check(&name)?;
            Ok(name)
        }
        _ => name_of(path, options),
    }
}

/// Returns the name that the build files of a folder give it, or else the folder's own.
fn meant_name(path: &Path, found: &Existing) -> Option<String> {
    let of_folder = || Some(path.file_name()?.to_string_lossy().into_owned());
    found.name.clone().or_else(of_folder)
}

fn name_of(path: &Path, options: &NewOptions) -> Result<String> {
    let name = match &options.name {
        Some(name) => name.clone(),
        None => {
            let last = path.file_name().ok_or_else(|| {
                Error::invalid(format!("`{}` names no directory", path.display()))
                    .help("give the project's name with `--name NAME`")
            })?;
            last.to_string_lossy().into_owned()
        }
    };
    package_name::check(&name)?;
    Ok(name)
}

fn values<'a>(name: &'a str, source: Option<&Source>) -> Values<'a> {
    let crates = |package| source.map_or(String::new(), |s| s.requirement(package));
    Values {
        name,
        farfel_build: crates("farfel-build"),
        farfel_runtime: crates("farfel-runtime"),
    }
}

/// Writes files into `root`, creating folders; on failure, removes everything that it created.
fn write_all(root: &Path, files: &Files) -> Result {
    let mut written: Vec<PathBuf> = Vec::new();
    let result = files.iter().try_for_each(|(file, contents)| {
        let path = root.join(file);
        if let Some(dir) = path.parent() {
            let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !dir.exists()).collect();
            for dir in missing.into_iter().rev() {
                fs::create_dir(dir).map_err(|e| Error::io("make", dir, &e))?;
                written.push(dir.to_owned());
            }
        }
        written.push(path.clone());
        fs::write(&path, contents).map_err(|e| Error::io("write", &path, &e))
    });
    if result.is_err() {
        for path in written.iter().rev() {
            // Only the first error is reported.
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
        }
    }
    result
}

/// Replaces a file in one step, so that it is never half-written.
fn replace(path: &Path, contents: &[u8]) -> Result {
    let cannot = |source: std::io::Error| Error::io("write", path, &source);
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(cannot)?;
    std::io::Write::write_all(&mut file, contents).map_err(cannot)?;
    let permissions = match fs::metadata(path) {
        Ok(old) => old.permissions(),
        // Temporary files are private to the owner; a new file gets ordinary permissions.
        Err(_) => fs::metadata(dir.join("Cargo.toml"))
            .map_err(cannot)?
            .permissions(),
    };
    file.as_file()
        .set_permissions(permissions)
        .map_err(cannot)?;
    file.persist(path).map_err(|error| cannot(error.error))?;
    Ok(())
}

/// As in cargo: git, unless the project is inside a repository.
fn wants_git(options: &NewOptions, path: &Path) -> bool {
    match options.vcs {
        Some(Vcs::None) => false,
        Some(Vcs::Git) => !path.join(".git").exists(),
        None => !path.ancestors().any(|dir| dir.join(".git").exists()),
    }
}

/// Only warns on failure, since a project works without git, too.
fn git_init(dir: &Path, shell: &mut Shell) {
    let made = Command::new("git")
        .args(["init", "--quiet"])
        .arg(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        shell.warn("no git repository was made: `git init` failed");
    }
}

/// Returns the workspace that contains a directory.
fn outer_workspace(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|dir| {
        fs::read_to_string(dir.join("Cargo.toml"))
            .ok()
            .and_then(|text| text.parse::<DocumentMut>().ok())
            .is_some_and(|manifest| manifest.contains_key("workspace"))
    })
}

/// Warns if a package is below a workspace that does not list it, because then it cannot be built.
fn warn_of_workspace(path: &Path, shell: &mut Shell) {
    // `../demo` is a sibling of the current directory, not below it.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(dir) = outer_workspace(&path) {
        shell.warn(format_args!(
            "`{}` is a workspace: add the new package to its `members` or `exclude`",
            dir.join("Cargo.toml").display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        assert_eq!(
            without_place("src/a.f:12:7: F0008 no: this"),
            "F0008 no: this"
        );
        assert_eq!(without_place("not in Makefile"), "not in Makefile");
        assert_eq!(without_place("a.f: b"), "a.f: b");
    }
}
