//! The Fortran compiler: finding, querying and installing it.

use crate::cache::{Entry, Key};
use crate::files::Scratch;
use crate::process::{self, Limits};
use crate::{Config, Error, flang, tool_answers};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Fortran compiler that was found and responds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// The command.
    pub path: PathBuf,
    /// Its answer to `-dumpfullversion`: `12.2.0`.
    pub version: String,
    /// The machine that it compiles for: `x86_64-linux-gnu`.
    pub machine: String,
    /// Whose compiler it is.
    pub family: Family,
    libraries: Libraries,
}

/// Whose Fortran compiler it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// GNU Fortran.
    Gfortran,
    /// LLVM's flang.
    Flang,
}

/// The libraries that must be linked with compiled Fortran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Libraries {
    directories: Vec<PathBuf>,
    /// Those of [`LIBRARIES`] that are needed or exist.
    names: Vec<String>,
}

/// The run-time libraries of compilers in linking order, and whether gfortran requires each: libquadmath
/// exists only on machines that need it for REAL*16.
const LIBRARIES: [(&str, bool); 6] = [
    ("gfortran", true),
    ("quadmath", false),
    (flang::LIBRARIES[0], false),
    (flang::LIBRARIES[1], false),
    (flang::LIBRARIES[2], false),
    ("m", true),
];

/// A compiler's answers in the cache.
#[derive(Serialize, Deserialize)]
struct CompilerAnswers {
    version: String,
    machine: String,
    libraries: Libraries,
    /// The other files and directories that determine the answers: the compiler proper, the directories of
    /// the libraries.
    others: Vec<PathBuf>,
    identity: String,
}

/// The target for which this command is compiled.
pub const HOST: &str = env!("FARFEL_TARGET");

/// The environment variables that influence where a compiler looks for its parts.
const SEARCHED: [&str; 4] = ["PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH"];

/// The versions that may be installed only under a name with their number.
const VERSIONS: std::ops::RangeInclusive<u32> = 9..=17;

/// Finds the Fortran compiler, gfortran or flang: the one in the settings (`fc`, `FARFEL_FC`) if there is one, else the first that works
/// among `$FC`, `gfortran` for the target machine if cargo cross-compiles, `gfortran`, and `gfortran-17` down
/// to `gfortran-9`. flang is used only if it is named.
///
/// # Errors
///
/// [`Error::NoFortranCompiler`] with the commands that were tried.
pub fn find(config: &Config) -> Result<Compiler, Error> {
    let cross = match (std::env::var("TARGET"), std::env::var("HOST")) {
        (Ok(target), Ok(host)) if target != host => Some(target),
        _ => None,
    };
    let candidates = match &config.fc {
        Some(fc) => vec![fc.clone()],
        None => candidates(std::env::var_os("FC").map(PathBuf::from), cross.as_deref()),
    };
    let mut looked_for = Vec::new();
    for candidate in candidates {
        // A path is relative to the project, a bare name is looked up in PATH.
        let command = match candidate.components().count() {
            0 => continue,
            1 => candidate.clone(),
            _ => config.root.join(&candidate),
        };
        match which::which(&command)
            .ok()
            .and_then(|path| query_cached(&path, config))
        {
            Some(compiler) => return Ok(compiler),
            None => looked_for.push(candidate.display().to_string()),
        }
    }
    Err(Error::NoFortranCompiler {
        looked_for,
        help: how_to_install(),
    })
}

/// Like [`find`]; if there is none and the setting `install` is on, installs one first.
pub(crate) fn find_or_install(config: &Config) -> Result<Compiler, Error> {
    match find(config) {
        Err(Error::NoFortranCompiler { .. }) if config.install && config.fc.is_none() => {
            install(&mut |command| {
                // If standard error is closed, nothing is lost.
                let _ = writeln!(std::io::stderr(), "farfel: no gfortran; running {command}");
            })?;
            find(config)
        }
        other => other,
    }
}

fn candidates(fc: Option<PathBuf>, cross: Option<&str>) -> Vec<PathBuf> {
    fc.into_iter()
        .chain(cross.into_iter().flat_map(|target| {
            // GCC calls `aarch64-unknown-linux-gnu` `aarch64-linux-gnu`.
            [target.to_owned(), target.replace("-unknown-", "-")]
                .map(|t| PathBuf::from(format!("{t}-gfortran")))
        }))
        .chain([PathBuf::from("gfortran")])
        .chain(
            VERSIONS
                .rev()
                .map(|v| PathBuf::from(format!("gfortran-{v}"))),
        )
        .collect()
}

/// Returns a command's description of itself if it is gfortran, from the cache if possible. A script is asked
/// each time, since the programs that it runs may have changed.
fn query_cached(path: &Path, config: &Config) -> Option<Compiler> {
    let remembered = (!tool_answers::is_script(path))
        .then(|| tool_answers::file_identity(&[path.to_owned()]).ok())
        .flatten()
        .map(|identity| {
            let key = Key::builder("tool").field("compiler", identity);
            let key = SEARCHED.iter().fold(key, |key, name| {
                let value = std::env::var_os(name).unwrap_or_default();
                key.field(name, value.as_encoded_bytes())
            });
            (key.finish(), tool_answers::memory(config))
        });
    if let Some((key, memory)) = &remembered
        && let Some(entry) = memory.get(key)
        && let Some(known) = recall(path, &entry)
    {
        return Some(known);
    }
    let compiler = query(path)?;
    if let Some((key, memory)) = remembered
        && let Some(entry) = note(&compiler)
    {
        memory.put(&key, &entry);
    }
    Some(compiler)
}

/// The name of the file with a compiler's answers in a cache entry.
const ANSWERS: &str = "answers";

/// Restores a compiler from the cache, if everything that its answers depend on is unchanged.
fn recall(path: &Path, entry: &Entry) -> Option<Compiler> {
    let answers: CompilerAnswers = serde_json::from_slice(entry.file(ANSWERS)?).ok()?;
    let same = tool_answers::file_identity(&answers.others).ok()? == answers.identity;
    same.then(|| Compiler {
        path: path.to_owned(),
        version: answers.version,
        machine: answers.machine,
        family: Family::Gfortran,
        libraries: answers.libraries,
    })
}

/// Returns a cache entry with a compiler's answers; `None` if it does not report its parts.
fn note(compiler: &Compiler) -> Option<Entry> {
    let proper = PathBuf::from(answer(&compiler.path, "-print-prog-name=f951")?);
    // Without its library nothing can be linked: it may be about to be installed.
    if !proper.is_absolute() || compiler.libraries.directories.is_empty() {
        return None;
    }
    let mut others = vec![proper];
    others.extend(compiler.libraries.directories.iter().cloned());
    let answers = CompilerAnswers {
        version: compiler.version.clone(),
        machine: compiler.machine.clone(),
        libraries: compiler.libraries.clone(),
        identity: tool_answers::file_identity(&others).ok()?,
        others,
    };
    Some(Entry::one(ANSWERS, serde_json::to_vec(&answers).ok()?))
}

/// Asks the command itself, if it is gfortran or flang.
fn query(path: &Path) -> Option<Compiler> {
    let Some(version) = answer(path, "-dumpfullversion") else {
        return query_flang(path);
    };
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(())?;
    let machine = answer(path, "-dumpmachine")?;
    let mut libraries = Libraries::default();
    let own = LIBRARIES
        .iter()
        .filter(|(name, _)| !flang::LIBRARIES.contains(name));
    for (name, needed) in own {
        let directory = ["so", "dylib", "dll.a", "a"]
            .iter()
            .find_map(|end| library_directory(path, &format!("lib{name}.{end}")));
        if *needed || directory.is_some() {
            libraries.names.push((*name).to_owned());
        }
        if let Some(d) = directory
            && !libraries.directories.contains(&d)
        {
            libraries.directories.push(d);
        }
    }
    Some(Compiler {
        path: path.to_owned(),
        version,
        machine,
        family: Family::Gfortran,
        libraries,
    })
}

/// Asks the command itself, if it is flang.
fn query_flang(path: &Path) -> Option<Compiler> {
    let version = flang::version(&answer(path, "--version")?)?;
    let machine = answer(path, "-dumpmachine")?;
    let resources = PathBuf::from(answer(path, "-print-resource-dir")?);
    let folders = flang::library_folders(&resources, &machine);
    let mut libraries = Libraries::default();
    for (name, _) in &LIBRARIES {
        if *name == "m" {
            libraries.names.push((*name).to_owned());
        }
        if !flang::LIBRARIES.contains(name) {
            continue;
        }
        let exists = |folder: &&PathBuf| {
            ["so", "dylib", "a"]
                .iter()
                .any(|end| folder.join(format!("lib{name}.{end}")).is_file())
        };
        if let Some(folder) = folders.iter().find(exists) {
            libraries.names.push((*name).to_owned());
            if !libraries.directories.contains(folder) {
                libraries.directories.push(folder.clone());
            }
        }
    }
    Some(Compiler {
        path: path.to_owned(),
        version,
        machine,
        family: Family::Flang,
        libraries,
    })
}

/// Returns the directory of one of the compiler's libraries; `None` if there is no such file. Links are not
/// followed: the file that a linker opens by this name is the link.
fn library_directory(path: &Path, file: &str) -> Option<PathBuf> {
    // If there is no such file, the answer is the bare name.
    let found = PathBuf::from(answer(path, &format!("-print-file-name={file}"))?);
    (found.is_absolute() && found.exists())
        .then(|| found.parent().map(Path::to_owned))
        .flatten()
}

/// Returns a command's answer to a query.
fn answer(path: &Path, flag: &str) -> Option<String> {
    let output = process::run(command(path).arg(flag), &Limits::QUESTION).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Returns a command whose messages are in English, so that they can be parsed.
fn command(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.env("LC_ALL", "C");
    command
}

/// Returns the files named in flags whose contents influence the compilation, each with its flag:
/// `-fprofile-use=FILE`, `@FILE`, `-include FILE`.
pub(crate) fn files_of(flags: &[String]) -> impl Iterator<Item = (&str, PathBuf)> {
    flags.iter().filter_map(|flag| {
        let name = match flag.split_once('=') {
            Some((option, value)) if option.starts_with('-') => value,
            _ => flag.strip_prefix('@').unwrap_or(flag),
        };
        let file = PathBuf::from(name);
        file.is_file().then_some((flag.as_str(), file))
    })
}

impl Compiler {
    /// Returns the identity of the compiler with some flags, including the contents of the files that the
    /// flags name. It contains no other path.
    pub(crate) fn identity(&self, flags: &[String]) -> String {
        let mut identity = format!("{} {}", self.version, self.machine);
        if self.family == Family::Flang {
            identity.insert_str(0, "flang ");
        }
        for (flag, file) in files_of(flags) {
            // An unreadable file is left to the compiler to report.
            if let Ok(bytes) = std::fs::read(&file) {
                let _ = write!(identity, "\n{flag} {}", blake3::hash(&bytes).to_hex());
            }
        }
        if flags.iter().any(|f| f.ends_with("=native")) {
            // Its meaning depends on the machine.
            if self.family == Family::Flang {
                let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
                let told = |l: &&str| l.starts_with("model name") || l.starts_with("flags");
                identity.extend(cpu.lines().filter(told).take(2));
            }
            let mut command = self.command();
            command.args(flags).args(["-Q", "--help=target"]);
            if let Ok(output) = process::run(&mut command, &Limits::QUESTION) {
                identity.push('\n');
                identity.push_str(&String::from_utf8_lossy(&output.stdout));
            }
        }
        identity
    }

    /// Returns the flags for the target of a build script, as the `cc` crate knows them: the machine and its
    /// ABI, position independence, and the processor options in `RUSTFLAGS`. Optimization, debug information,
    /// warnings and `CFLAGS` are not included. Outside of a build script the target is this machine.
    ///
    /// # Errors
    ///
    /// [`Error::Command`] if cargo does not report the target, or if the target does not exist.
    pub(crate) fn target_flags(&self, in_build_script: bool) -> Result<Vec<String>, Error> {
        // The flags after it come from the environment and are meant for C.
        const END: &str = "FARFEL_END_OF_FLAGS";
        if self.family == Family::Flang {
            // The `cc` crate takes it for something else.
            return self.flang_target_flags(in_build_script);
        }
        // Removed even if the build is killed.
        let scratch = Scratch::new()?;
        let mut build = cc::Build::new();
        if !in_build_script {
            build.target(HOST).host(HOST);
        }
        let tool = build
            .compiler(&self.path)
            .out_dir(scratch.path())
            .opt_level(0)
            .debug(false)
            .warnings(false)
            .extra_warnings(false)
            .cargo_metadata(false)
            .cargo_warnings(false)
            .cargo_debug(false)
            .define(END, None)
            .try_get_compiler()
            .map_err(|e| Error::Command {
                command: format!("asking {} for its flags", self.path.display()),
                reason: e.to_string(),
            })?;
        let flags = tool.args().iter().map(|a| a.to_string_lossy().into_owned());
        let end = format!("-D{END}");
        let flags = flags.take_while(|f| *f != end);
        Ok(flags
            .filter(|f| !["-w", "-O0"].contains(&f.as_str()))
            .collect())
    }

    /// Returns flang's flags for the target of a build script, or for this machine.
    fn flang_target_flags(&self, in_build_script: bool) -> Result<Vec<String>, Error> {
        let mut flags = vec!["-fPIC".to_owned()];
        if in_build_script {
            let variable =
                |name: &'static str| std::env::var(name).map_err(|_| Error::NotABuildScript(name));
            let (target, host) = (variable("TARGET")?, variable("HOST")?);
            if target != host {
                flags.push(format!("--target={target}"));
            }
        }
        Ok(flags)
    }

    /// Returns the directories that its linker searches for libraries.
    pub(crate) fn library_folders(&self) -> Vec<PathBuf> {
        let asked = match self.family {
            Family::Gfortran => self.path.as_path(),
            // It links with the tools of the system.
            Family::Flang => Path::new("cc"),
        };
        let search_dirs = answer(asked, "-print-search-dirs").unwrap_or_default();
        let line = search_dirs
            .lines()
            .find_map(|l| l.strip_prefix("libraries: ="));
        std::env::split_paths(line.unwrap_or_default()).collect()
    }

    /// Returns those of the flags that it accepts.
    #[must_use]
    pub fn known(&self, flags: &[String]) -> Vec<String> {
        let Ok(scratch) = Scratch::new() else {
            return flags.to_vec();
        };
        let file = scratch.path().join("empty.f");
        if crate::files::write_if_changed(&file, b"      END\n").is_err() {
            return flags.to_vec();
        }
        let takes = |flags: &[String]| {
            let mut command = self.command();
            command.current_dir(scratch.path());
            command.args(flags).arg("-fsyntax-only").arg(&file);
            process::run(&mut command, &Limits::QUESTION).is_ok_and(|o| o.status.success())
        };
        match takes(flags) {
            true => flags.to_vec(),
            false => {
                let each = flags.iter().filter(|f| takes(std::slice::from_ref(*f)));
                each.cloned().collect()
            }
        }
    }

    /// Returns the run-time libraries that can be linked statically, each with its directory.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if the compiler has none, or if they are to be a part of a shared library and are not
    /// made for that.
    pub(crate) fn static_runtime(
        &self,
        shared: bool,
    ) -> Result<Vec<(&'static str, PathBuf)>, Error> {
        let (directories, names) = self.runtime_libraries();
        let names = names.filter(|name| *name != "m");
        let archives: Vec<(&'static str, PathBuf)> = names
            .filter_map(|name| {
                let file = format!("lib{name}.a");
                let own = directories.iter().find(|d| d.join(&file).is_file());
                let folder = own
                    .cloned()
                    .or_else(|| library_directory(&self.path, &file));
                Some((name, folder?))
            })
            .collect();
        let error = |what: &str, help: &str| Error::Config {
            origin: "the setting `static-runtime`".into(),
            message: format!("{} {what}; {help}", self.path.display()),
        };
        let [first, ..] = archives.as_slice() else {
            return Err(error(
                "has no static run-time library",
                "install the package that has it, or link it dynamically",
            ));
        };
        if shared && !self.makes_shared(first.0) {
            let files = self.shared_runtime();
            let copy = match files.is_empty() {
                true => String::new(),
                false => format!(
                    " and, for machines without it, copy {} beside the library, which looks there",
                    files.join(" and ")
                ),
            };
            return Err(error(
                "has a static run-time library that cannot be a part of a shared library, because it is compiled \
                 without -fPIC",
                &format!(
                    "link it dynamically{copy}; or compile with flang, whose static library can be a part of one"
                ),
            ));
        }
        Ok(archives)
    }

    /// Returns the shared run-time libraries that compiled code loads, as far as gfortran reports them.
    fn shared_runtime(&self) -> Vec<String> {
        // Their names since GCC 8.
        let names = ["libgfortran.so.5", "libquadmath.so.0"];
        let files = names.iter().filter_map(|name| {
            let folder = library_directory(&self.path, name)?;
            Some(folder.canonicalize().ok()?.join(name).display().to_string())
        });
        files.collect()
    }

    /// Whether a shared library can contain the static run-time library.
    fn makes_shared(&self, name: &str) -> bool {
        let Ok(scratch) = Scratch::new() else {
            return true;
        };
        // Input and output need most of it.
        let (file, out) = (scratch.path().join("a.f"), scratch.path().join("a.so"));
        if crate::files::write_if_changed(
            &file,
            b"      SUBROUTINE A\n      PRINT *, 1\n      END\n",
        )
        .is_err()
        {
            return true;
        }
        let mut command = self.command();
        command.current_dir(scratch.path());
        command.args(["-shared", "-fPIC", "-o"]).arg(out).arg(file);
        if name == "gfortran" {
            command.arg("-static-libgfortran");
        }
        process::run(&mut command, &Limits::COMPILER).is_ok_and(|o| o.status.success())
    }

    /// Returns a command that runs the compiler, with messages in English.
    pub fn command(&self) -> Command {
        command(&self.path)
    }

    /// Returns what must be linked with compiled Fortran: the directories to search and the libraries in
    /// order.
    pub fn runtime_libraries(&self) -> (&[PathBuf], impl Iterator<Item = &'static str>) {
        let names = self.libraries.names.iter();
        let known = |n: &String| LIBRARIES.iter().find(|(name, _)| name == n);
        let names = names.filter_map(known).map(|(name, _)| *name);
        (&self.libraries.directories, names)
    }
}

/// A package manager: its command, and the arguments for a refresh and for the installation.
struct PackageManager {
    command: &'static str,
    refresh: &'static [&'static str],
    install: &'static [&'static str],
    /// The packages with gfortran.
    gfortran: &'static [&'static str],
    /// Whether it runs as the user and not as root.
    as_user: bool,
}

const MANAGERS: &[PackageManager] = &[
    PackageManager {
        command: "apt-get",
        refresh: &["update"],
        install: &["install", "--yes", "--no-install-recommends"],
        gfortran: &["gfortran"],
        as_user: false,
    },
    PackageManager {
        command: "dnf",
        refresh: &[],
        install: &["install", "--assumeyes"],
        gfortran: &["gcc-gfortran"],
        as_user: false,
    },
    PackageManager {
        command: "pacman",
        refresh: &[],
        install: &["--sync", "--refresh", "--needed", "--noconfirm"],
        gfortran: &["gcc-fortran"],
        as_user: false,
    },
    PackageManager {
        command: "zypper",
        refresh: &[],
        install: &["--non-interactive", "install"],
        gfortran: &["gcc-fortran"],
        as_user: false,
    },
    PackageManager {
        command: "apk",
        refresh: &[],
        install: &["add"],
        gfortran: &["gfortran", "musl-dev"],
        as_user: false,
    },
    PackageManager {
        command: "brew",
        refresh: &[],
        install: &["install"],
        gfortran: &["gcc"],
        as_user: true,
    },
];

impl PackageManager {
    /// Returns the command that installs packages.
    fn line(&self, packages: &[&str]) -> String {
        let words = [&[self.command], self.install, packages].concat();
        words.join(" ")
    }
}

/// Returns the package manager of this system.
fn manager() -> Option<&'static PackageManager> {
    MANAGERS.iter().find(|m| which::which(m.command).is_ok())
}

/// Returns a clause that says how to install gfortran here.
fn how_to_install() -> String {
    let set = "or set FARFEL_FC to a gfortran or flang that is elsewhere";
    match manager() {
        Some(m) => {
            let sudo = if m.as_user { "" } else { "sudo " };
            format!(
                "install it with `farfel doctor --fix` or `{sudo}{}`, let the build do it with FARFEL_INSTALL=1, {set}",
                m.line(m.gfortran)
            )
        }
        None => format!("install GNU Fortran (gfortran), {set}"),
    }
}

/// Installs gfortran with the system's package manager. Every command is passed to `say` before it runs; the
/// commands' output goes to standard error.
///
/// Requires root, or `sudo` without a password (neither for brew).
///
/// # Errors
///
/// [`Error::Install`] if there is no package manager or no permission, or if a command fails.
pub fn install(say: &mut dyn FnMut(&str)) -> Result<(), Error> {
    install_by(|manager| manager.gfortran.to_vec(), say)
}

/// Installs Debian packages like [`install`]. Returns `None` if the system does not have such packages.
///
/// # Errors
///
/// Same as [`install`].
pub fn install_debian(packages: &[&str], say: &mut dyn FnMut(&str)) -> Option<Result<(), Error>> {
    let is_debian = manager().is_some_and(|m| m.command == "apt-get");
    is_debian.then(|| install_by(|_| packages.to_vec(), say))
}

fn install_by<'a>(
    packages: impl Fn(&PackageManager) -> Vec<&'a str>,
    say: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    let Some(manager) = manager() else {
        let known: Vec<&str> = MANAGERS.iter().map(|m| m.command).collect();
        return Err(Error::Install(format!(
            "no package manager found, looked for {}",
            known.join(", ")
        )));
    };
    let packages = packages(manager);
    let prefix = prefix(manager, &packages)?;
    let install = [manager.install, &packages].concat();
    for (args, required) in [(manager.refresh, false), (&install[..], true)] {
        if args.is_empty() {
            continue;
        }
        let words: Vec<&str> = prefix
            .iter()
            .copied()
            .chain([manager.command])
            .chain(args.iter().copied())
            .collect();
        let line = words.join(" ");
        say(&line);
        let status = Command::new(words[0])
            .args(&words[1..])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(std::process::Stdio::null())
            // A build script's standard output belongs to cargo.
            .stdout(std::io::stderr())
            .status()
            .map_err(|e| Error::Install(format!("`{line}`: {e}")))?;
        // A refresh that fails for one of many repositories may still be sufficient.
        if required && !status.success() {
            return Err(Error::Install(format!("`{line}` failed ({status})")));
        }
    }
    Ok(())
}

/// Returns the prefix that gives the package manager's command the necessary permissions.
fn prefix(manager: &PackageManager, packages: &[&str]) -> Result<Vec<&'static str>, Error> {
    let quiet = |words: &[&str]| {
        Command::new(words[0])
            .args(&words[1..])
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .output()
            .ok()
            .filter(|o| o.status.success())
    };
    let root = quiet(&["id", "-u"]).is_some_and(|o| o.stdout.trim_ascii() == b"0");
    if manager.as_user || root {
        // sudo and env are not needed.
        Ok(Vec::new())
    } else if quiet(&["sudo", "-n", "true"]).is_some() {
        // sudo does not preserve the environment.
        Ok(vec!["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive"])
    } else {
        Err(Error::Install(format!(
            "`{}` needs root, and `sudo -n` is not possible here",
            manager.line(packages)
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_candidates() {
        let list = candidates(Some("f77".into()), Some("aarch64-unknown-linux-gnu"));
        let list: Vec<&str> = list.iter().map(|p| p.to_str().unwrap()).collect();
        assert_eq!(
            list[..5],
            [
                "f77",
                "aarch64-unknown-linux-gnu-gfortran",
                "aarch64-linux-gnu-gfortran",
                "gfortran",
                "gfortran-17"
            ]
        );
        assert_eq!(list.last(), Some(&"gfortran-9"));
    }

    #[test]
    fn what_is_set_and_missing_is_not_replaced() {
        let config = Config {
            fc: Some("no-such-gfortran".into()),
            ..Config::default()
        };
        let error = find(&config).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("no Fortran compiler found: looked for no-such-gfortran; install"),
            "{message}"
        );
        assert!(message.contains("FARFEL_FC"), "{message}");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn the_compiler_of_this_machine_answers() {
        let compiler = query(&which::which("gfortran").unwrap()).unwrap();
        let (directories, libraries) = compiler.runtime_libraries();
        let libraries: Vec<&str> = libraries.collect();
        assert!(libraries.contains(&"gfortran") && libraries.contains(&"m"));
        assert!(directories.iter().any(|d| {
            std::fs::read_dir(d).is_ok_and(|mut l| {
                l.any(|f| {
                    f.is_ok_and(|f| f.file_name().to_string_lossy().starts_with("libgfortran"))
                })
            })
        }));
    }

    #[test]
    fn answers_hold_as_long_as_what_they_are_about() {
        let compiler = query(&which::which("gfortran").unwrap()).unwrap();
        let entry = note(&compiler).unwrap();
        assert_eq!(recall(&compiler.path, &entry), Some(compiler.clone()));
        // The compiler proper has changed, or a library was added or removed.
        let mut answers: CompilerAnswers =
            serde_json::from_slice(entry.file(ANSWERS).unwrap()).unwrap();
        assert!(answers.others[0].ends_with("f951"));
        for i in 0..answers.others.len() {
            let dir = tempfile::tempdir().unwrap();
            let real = std::mem::replace(&mut answers.others[i], dir.path().to_owned());
            let other = Entry::one(ANSWERS, serde_json::to_vec(&answers).unwrap());
            assert_eq!(recall(&compiler.path, &other), None);
            drop(dir);
            assert_eq!(recall(&compiler.path, &other), None);
            answers.others[i] = real;
        }
        assert_eq!(recall(&compiler.path, &Entry::one(ANSWERS, "{}")), None);
    }

    #[test]
    fn files_that_flags_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let compiler = Compiler {
            family: Family::Gfortran,
            path: "gfortran".into(),
            version: "12.2.0".into(),
            machine: "x86_64-linux-gnu".into(),
            libraries: Libraries::default(),
        };
        let (profile, more, macros) = (file("p", "1"), file("m", "2"), file("i", "3"));
        let flags = [
            "-O2".to_owned(),
            format!("-fprofile-use={profile}"),
            format!("@{more}"),
            "-include".to_owned(),
            macros,
            format!("-fprofile-use={}", dir.path().display()),
            "-DX=none".to_owned(),
        ];
        assert_eq!(files_of(&flags).count(), 3);
        let mut known = vec![compiler.identity(&flags)];
        for name in ["p", "m", "i"] {
            file(name, "other");
            let now = compiler.identity(&flags);
            assert!(!known.contains(&now), "{name}");
            known.push(now);
        }
        assert_eq!(compiler.identity(&flags[..1]), "12.2.0 x86_64-linux-gnu");
    }
}
