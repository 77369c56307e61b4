//! `farfel tapenade`: the built-in engine behind Tapenade's command line, so that makefiles that call
//! Tapenade work without it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farfel_driver::Report;
use farfel_driver::render::render;
use farfel_lang::diagnostic::any_errors;
use farfel_lang::encoding::{decode, encode};
use farfel_lang::syntax::Loader;
use farfel_tools::dropin::options::{Action, Options, parse};
use farfel_tools::dropin::{self, File};

use crate::args::Tapenade;
use crate::error::{EXIT_ERRORS, Error, Result};
use crate::shell::{Shell, Verbosity};

/// The version line for tools that detect Tapenade: the release whose conventions are followed.
const VERSION: &str = concat!(
    "Tapenade 3.16 (compatible: farfel ",
    env!("CARGO_PKG_VERSION"),
    ", built-in engine)\n"
);

const HELP: &str = "\
Differentiates Fortran 77 by Tapenade's command line, with Farfel's built-in engine

Usage: farfel tapenade [OPTIONS] FILE...

What to make:
  -d, -tangent, -forward        Tangents; this is the default
  -b, -reverse, -backward       Adjoints; with -d, both in one file
  -multi, -vector               Several directions at once, or several cotangents
  -p, -preprocess               Nothing: read and print
  -head, -root 'F(OUT)/(IN)'    Subprograms, dependents and independents; also
                                'F(IN)\\(OUT)', 'F(IN)>(OUT)', 'F', and several of them
  -vars 'IN', -outvars 'OUT'    The same for a head without lists
  -fixinterface                 Keep independents and dependents that do not matter
  -nocheckpoint 'F, G'          Do not execute calls of these again to save memory
  -defaultnocheckpoint          The same for all subprograms
  -combinedivisions             Compute A/B*C/D as A*C/(B*D), with one division

Names:
  -tgtfuncname S                Of subprograms: suffix, or pattern with % [default: _d]
  -tgtvarname S                 Of variables [default: d]
  -adjfuncname, -adjvarname     The same for adjoints [default: _b, b]
  -difffuncname, -diffvarname   The old names of these

Files:
  -o, -output NAME              One file, NAME_d.f; without, one for each source
  -O, -outputdirectory DIR      Where to put it [default: .]
  -splitoutputfiles             One file for each subprogram
  -ext FILE                     What procedures without text do with their arguments
  -I DIR                        Where to look for INCLUDE files, too
  -nbdirsmax N                  The most directions; without, NBDIRSMAX of DIFFSIZES.inc
  -noisize                      Do not ask for sizes in DIFFSIZES.inc

  -version, -help

Other options of Tapenade are accepted where they mean nothing here, with a note where that
may surprise. Exit codes: 0 when a derivative was made; 1 for errors in the sources, and
where there is nothing to differentiate; 2 for a wrong command line.
";

/// Takes memory in pages of the usual size. The allocator would ask for huge ones, which the system clears before their
/// first use: for the largest models a fifth of the time, and a tenth of the memory.
///
/// Other programs would inherit this, but the command starts none. Without it everything works as well.
fn use_small_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Executes a Tapenade command line.
pub fn run(args: &Tapenade, shell: &mut Shell) -> Result {
    let words: Vec<String> = args
        .arguments
        .iter()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    let options = match parse(&words).map_err(|e| {
        Error::invalid(e.to_string()).help("`farfel tapenade -help` shows what there is")
    })? {
        Action::Help => return out(shell, HELP),
        Action::Version => return out(shell, VERSION),
        Action::Differentiate(options) => options,
    };
    use_small_pages();
    for note in &options.notes {
        shell.note(note);
    }
    let sources = read_all(&options.files)?;
    let mut includes = Includes {
        options: &options,
        directories: HashMap::new(),
    };
    let outcome = dropin::run(&options, &sources, &mut includes);
    let failed = any_errors(&outcome.diagnostics);
    if !outcome.diagnostics.is_empty() && (failed || shell.verbosity > Verbosity::Quiet) {
        let report = Report {
            sources: outcome.sources,
            diagnostics: outcome.diagnostics,
        };
        let text = render(&report, shell.colors_err());
        shell.rendered(&text);
    }
    for message in &outcome.general_messages {
        shell.note(message);
    }
    let mut created = String::new();
    if !outcome.files.is_empty() {
        created.push_str("@@ Created");
        for file in &outcome.files {
            let path = write(&options, file)?;
            created.push_str(&format!(" {}", path.display()));
        }
        created.push('\n');
    }
    let path = write(&options, &outcome.messages)?;
    created.push_str(&format!("@@ Created {}\n", path.display()));
    out(shell, &created)?;
    if failed {
        return Err(Error::Exit(EXIT_ERRORS));
    }
    if outcome.files.is_empty() {
        return Err(Error::fixable("nothing was differentiated")
            .help("say with `-head 'F(OUT)/(IN)'` what shall be differentiated by what"));
    }
    Ok(())
}

fn out(shell: &mut Shell, text: &str) -> Result {
    shell
        .out(text)
        .map_err(|error| Error::invalid(format!("cannot write to standard output: {error}")))
}

fn read_all(files: &[PathBuf]) -> Result<Vec<(String, Arc<str>)>> {
    files
        .iter()
        .map(|path| Ok((path.display().to_string(), read(path)?)))
        .collect()
}

/// Reads a source file in any encoding.
fn read(path: &Path) -> Result<Arc<str>> {
    let bytes = farfel_driver::read_file(path).map_err(|e| Error::io("read", path, &e))?;
    Ok(decode(bytes).into())
}

fn write(options: &Options, file: &File) -> Result<PathBuf> {
    let dir = &options.directory;
    fs::create_dir_all(dir).map_err(|e| Error::io("make", dir, &e))?;
    let path = dir.join(&file.name);
    fs::write(&path, encode(&file.text)).map_err(|e| Error::io("write", &path, &e))?;
    Ok(path.strip_prefix(".").unwrap_or(&path).to_owned())
}

/// Finds INCLUDE files: in the folder of the including file, the current directory, and the `-I` folders.
struct Includes<'a> {
    options: &'a Options,
    /// The directories of included files, by their displayed names.
    directories: HashMap<String, PathBuf>,
}

impl Loader for Includes<'_> {
    fn load(&mut self, from: &str, name: &str) -> std::result::Result<(String, Arc<str>), String> {
        let beside = match self.directories.get(from) {
            Some(dir) => dir.clone(),
            None => Path::new(from)
                .parent()
                .map_or_else(PathBuf::new, Path::to_owned),
        };
        let here = PathBuf::new();
        let places = [&beside, &here].into_iter().chain(&self.options.include);
        for dir in places {
            let path = dir.join(name);
            if path.is_file() {
                let bytes = farfel_driver::read_file(&path).map_err(|e| e.to_string())?;
                let shown = path.display().to_string();
                let dir = path.parent().map_or_else(PathBuf::new, Path::to_owned);
                self.directories.insert(shown.clone(), dir);
                return Ok((shown, decode(bytes).into()));
            }
        }
        Err("no such file beside the source, here or in a directory of `-I`".to_owned())
    }
}
