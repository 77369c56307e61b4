//! `farfel export`: a shared library for C, or a Python package.
//!
//! The library is a Rust one of the type `cdylib`: it has the bindings that Rust programs use, and functions
//! for C in front of them. So it is a package of its own, in the target directory, which cargo builds.

use std::path::{Path, PathBuf};
use std::time::Instant;

use farfel_driver::{Built, CInterface, Config, Link, Profile, Session, toolchain};

use super::build::errors;
use crate::args::{Export, ExportLanguage};
use crate::dependency::Source;
use crate::error::{Error, Result};
use crate::programs::Project;
use crate::shell::Shell;
use crate::{cargo, compiler, files, manifest, project, watched};

/// What is exported, and where everything is written.
struct Exported {
    config: Config,
    /// The folder for the package that cargo builds.
    work: PathBuf,
    /// Cargo's target directory for it.
    target: PathBuf,
    /// The folder for the results.
    out: PathBuf,
    /// The lock file of the project, if it has one.
    lock: Option<PathBuf>,
    /// Keeps a temporary folder until the end.
    _temporary: Option<tempfile::TempDir>,
}

/// Builds the library, and writes it with its header or its Python package.
pub fn run(args: &Export, shell: &mut Shell) -> Result {
    let started = Instant::now();
    let mut exported = match args.files.is_empty() {
        true => of_project(args)?,
        false => of_files(args)?,
    };
    let config = &mut exported.config;
    config.c_interface = true;
    config.debug = config.debug.or(Some(false));
    compiler::ensure(config, shell)?;
    let fortran = exported.work.join("fortran");
    make(&fortran)?;
    let session = Session::of_project(config)?;
    let what = format!("{} v{}", config.name, config.version);
    let profile = Profile {
        opt_level: "2".into(),
        debug: false,
    };
    let built = watched::build(&session, what, shell, |s| {
        s.build_library(&fortran, toolchain::HOST, &profile)
    })?;
    shell.report(&built.report);
    for notice in &built.notices {
        shell.warn(notice);
    }
    let (Some(interface), Some(link)) = (&built.c_interface, &built.link) else {
        return Err(Error::invalid("the library has no interface for C"));
    };
    if interface.functions == 0 {
        return Err(Error::fixable(format!(
            "no subprogram of `{}` can be called from C",
            exported.config.name
        ))
        .help("the notes above say why; a project exports its top-level subprograms, or those in the setting `exports`"));
    }
    write_package(&exported, interface, &built, link)?;
    let library = compile(&exported, interface, shell)?;
    let shown = match args.language {
        ExportLanguage::C => write_c(&exported.out, interface, &library)?,
        ExportLanguage::Python => write_python(&exported, interface, &library)?,
    };
    let count = match interface.functions {
        1 => "1 function".to_owned(),
        n => format!("{n} functions"),
    };
    let seconds = started.elapsed().as_secs_f64();
    shell.status(
        "Finished",
        format_args!("{count} in {shown} in {seconds:.2}s"),
    );
    Ok(())
}

/// The project in the current directory, or the one that is named.
fn of_project(args: &Export) -> Result<Exported> {
    let dir = manifest::manifest_dir(args.project.manifest_path.as_deref())?;
    let (config, target, lock) = match Project::in_directory(&dir)? {
        Some(found) => {
            let variables = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];
            let set = variables.iter().find_map(std::env::var_os);
            let target = set.map_or_else(|| dir.join("target"), PathBuf::from);
            (found.config, target, None)
        }
        None => {
            let config = project::config(&args.project)?;
            if !manifest::builds_by_settings_alone(&config.root) {
                return Err(Error::fixable(format!(
                    "the build script of `{}` changes its settings, and `farfel export` knows only those in Cargo.toml",
                    config.name
                ))
                .help("move the settings from build.rs to `[package.metadata.farfel]`, so that build.rs only calls `farfel_build::compile()`"));
            }
            let (target, lock) = project::target_and_lock(&dir)?;
            (config, target, Some(lock))
        }
    };
    let target = std::path::absolute(&target).map_err(|e| Error::io("find", &target, &e))?;
    let language = args.language.word();
    let out = args.output.clone();
    Ok(Exported {
        work: target.join("farfel-export").join(&config.name),
        // Not that of the project: cargo would wait for builds there. All packages share it, and with it the
        // compiled dependencies.
        target: target.join("farfel-export").join("target"),
        out: out.unwrap_or_else(|| target.join("export").join(language)),
        lock,
        config,
        _temporary: None,
    })
}

/// Single files, as a project of which they are the sources.
fn of_files(args: &Export) -> Result<Exported> {
    files::readable(&args.files)?;
    let mut config = files::config(&args.files, &args.file_options, false)?;
    config.sources = Some(args.files.clone());
    let stem = args.files[0].file_stem().unwrap_or_default();
    config.name = stem.to_string_lossy().to_ascii_lowercase();
    let legal = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    config.name = config
        .name
        .chars()
        .map(|c| if legal(c) { c } else { '_' })
        .collect();
    if !config
        .name
        .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    {
        config.name.insert_str(0, "lib");
    }
    let temporary = tempfile::Builder::new()
        .prefix("farfel-export-")
        .tempdir()
        .map_err(|e| Error::io("write to", &std::env::temp_dir(), &e))?;
    let out = args.output.clone();
    let language = args.language.word();
    Ok(Exported {
        work: temporary.path().to_owned(),
        target: temporary.path().join("target"),
        out: out.unwrap_or_else(|| PathBuf::from(format!("{}-{language}", config.name))),
        lock: None,
        config,
        _temporary: Some(temporary),
    })
}

/// Writes the package that cargo builds.
fn write_package(
    exported: &Exported,
    interface: &CInterface,
    built: &Built,
    link: &Link,
) -> Result {
    let source = Source::find(std::env::var_os("FARFEL_PATH").as_deref().map(Path::new))?;
    let manifest = format!(
        "# Made by farfel {}. Do not edit.\n[package]\nname = \"{1}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [workspace]\n\n[lib]\nname = \"{1}\"\ncrate-type = [\"cdylib\"]\npath = \"lib.rs\"\n\n\
         [dependencies]\nfarfel-runtime = {2}\n\n[profile.release]\npanic = \"unwind\"\n",
        env!("CARGO_PKG_VERSION"),
        interface.name,
        source.requirement("farfel-runtime"),
    );
    let mut script = "fn main() {\n".to_owned();
    let mut say = |key: &str, value: &str| {
        let line = format!("cargo::{key}={value}");
        // The text is a literal, not a format.
        script.push_str(&format!("    println!(\"{{}}\", {line:?});\n"));
    };
    say("rerun-if-changed", "build.rs");
    say("rerun-if-changed", &built.library.to_string_lossy());
    let folder = built.library.parent().unwrap_or(&exported.work);
    say("rustc-link-search", &format!("native={}", folder.display()));
    for (key, value) in link.directives() {
        say(key, &value);
    }
    if cfg!(target_os = "linux") {
        // Two such libraries in one process have the same symbols of the run-time support, and each needs its
        // own: what one of them throws, the other cannot catch.
        say("rustc-link-arg", "-Wl,-Bsymbolic");
        // Libraries of the compiler may be copied beside it.
        say("rustc-link-arg", "-Wl,-rpath,$ORIGIN");
    }
    script.push_str("}\n");
    let lib = format!(
        "// Made by farfel {}. Do not edit.\n#![allow(warnings)]\n\nmod fortran {{\n    include!({:?});\n}}\n\n{}",
        env!("CARGO_PKG_VERSION"),
        built.bindings.to_string_lossy(),
        interface.rust
    );
    for (name, text) in [
        ("Cargo.toml", &manifest),
        ("build.rs", &script),
        ("lib.rs", &lib),
    ] {
        write_if_changed(&exported.work.join(name), text.as_bytes())?;
    }
    // The same versions as the project, if there is nothing newer.
    let own = exported.work.join("Cargo.lock");
    if let Some(lock) = exported
        .lock
        .as_ref()
        .filter(|l| l.is_file() && !own.exists())
    {
        std::fs::copy(lock, &own).map_err(|e| Error::io("write", &own, &e))?;
    }
    Ok(())
}

/// Compiles the package, and returns the shared library.
fn compile(exported: &Exported, interface: &CInterface, shell: &mut Shell) -> Result<PathBuf> {
    let mut command = cargo::plain("build", shell)?;
    if shell.verbosity == crate::shell::Verbosity::Normal {
        command.arg("--quiet");
    }
    command.args(["--release", "--manifest-path"]);
    command.arg(exported.work.join("Cargo.toml"));
    command.arg("--target-dir").arg(&exported.target);
    command.env_remove("CARGO_BUILD_TARGET");
    errors(cargo::status(command, shell)?)?;
    let file = library_file(&interface.name);
    Ok(exported.target.join("release").join(file))
}

/// Returns the file name of a shared library.
fn library_file(name: &str) -> String {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    format!("{prefix}{name}{suffix}")
}

/// Writes the header and the library, and returns what is shown.
fn write_c(out: &Path, interface: &CInterface, library: &Path) -> Result<String> {
    make(out)?;
    let header = out.join(format!("{}.h", interface.name));
    write_ours(&header, &interface.header)?;
    let file = out.join(library_file(&interface.name));
    copy(library, &file)?;
    Ok(format!(
        "`{}`, declared in `{}`",
        near(&file),
        near(&header)
    ))
}

/// Writes the Python package, and returns what is shown.
fn write_python(exported: &Exported, interface: &CInterface, library: &Path) -> Result<String> {
    let name = &interface.name;
    let package = exported.out.join(name);
    make(&package)?;
    let made = format!(
        "# Made by farfel {}. Do not edit.\n",
        env!("CARGO_PKG_VERSION")
    );
    let support = format!("{made}{}", CInterface::PYTHON_SUPPORT);
    write_ours(&package.join("__init__.py"), &interface.python)?;
    write_ours(&package.join("_support.py"), &support)?;
    // pip copies the package as it is; it is for this kind of machine.
    let project = format!(
        "{made}[build-system]\nrequires = [\"setuptools>=61\"]\nbuild-backend = \"setuptools.build_meta\"\n\n\
         [project]\nname = \"{}\"\nversion = \"{}\"\ndependencies = [\"cffi>=1.15\", \"numpy>=1.22\"]\n\n\
         [tool.setuptools]\npackages = [\"{name}\"]\n\n[tool.setuptools.package-data]\n{name} = [\"{}\"]\n",
        exported.config.name,
        exported.config.version,
        library_file(name),
    );
    write_ours(&exported.out.join("pyproject.toml"), &project)?;
    copy(library, &package.join(library_file(name)))?;
    Ok(format!(
        "the Python package `{}`; `pip install {}` installs it",
        near(&package),
        near(&exported.out)
    ))
}

/// Writes a file of ours; a file of somebody else is left alone.
fn write_ours(path: &Path, text: &str) -> Result {
    if let Ok(old) = std::fs::read(path)
        && !String::from_utf8_lossy(&old).contains("Made by farfel")
    {
        return Err(Error::fixable(format!(
            "`{}` exists, and farfel has not made it",
            path.display()
        ))
        .help("choose another folder with `--output`"));
    }
    write_if_changed(path, text.as_bytes())
}

/// Replaces a library, which a running program may have loaded: its file must not change under it.
fn copy(from: &Path, to: &Path) -> Result {
    let _ = std::fs::remove_file(to);
    std::fs::copy(from, to).map_err(|e| Error::io("write", to, &e))?;
    Ok(())
}

fn write_if_changed(path: &Path, bytes: &[u8]) -> Result {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    std::fs::write(path, bytes).map_err(|e| Error::io("write", path, &e))
}

fn make(dir: &Path) -> Result {
    std::fs::create_dir_all(dir).map_err(|e| Error::io("make", dir, &e))
}

/// Shows a path relative to the current directory, if it is below it.
fn near(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}
