//! Runs the Fortran compiler, gfortran or flang, and parses its messages.

use crate::border::BORDER;
use crate::facts::MAX_STACK_ARRAY;
use crate::process::{self, Limits};
use crate::toolchain::{Compiler, Family};
use crate::{Config, Error, files, flang};
use farfel_lang::diagnostic::rules::COMPILER;
use farfel_lang::encoding::encode;
use farfel_lang::syntax::Form;
use farfel_lang::{Diagnostic, Severity, Sources, Span};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The optimization level if the settings do not choose one, and whether there is debug information.
pub struct Profile {
    /// 0 to 3, `s`, `z` or `fast`.
    pub opt_level: String,
    /// Whether to include debug information.
    pub debug: bool,
}

/// Flags that make each message a single line.
const SHORT_MESSAGES: [&str; 2] = ["-fno-diagnostics-show-caret", "-fdiagnostics-color=never"];

/// Returns the flags for Farfel's own Fortran, without the names of input and output.
pub(crate) fn flags(config: &Config, profile: &Profile) -> Vec<String> {
    // The dialect of old programs is accepted. Messages remain for what is wrong even so.
    let language = ["-std=legacy", "-ffixed-form", "-fdollar-ok"].map(str::to_owned);
    common_flags(config, profile, &language)
}

/// Returns the flags for pass-through files, except those of [`pass_through_language_flags`].
pub(crate) fn pass_through_flags(config: &Config, profile: &Profile) -> Vec<String> {
    common_flags(config, profile, &[])
}

/// Returns the flags for the language of a pass-through file.
pub(crate) fn pass_through_language_flags(config: &Config, form: Form) -> Vec<String> {
    let mut language = match form {
        Form::Free => vec![
            "-ffree-form".to_owned(),
            // Macros may expand to long texts.
            "-ffree-line-length-none".to_owned(),
        ],
        Form::Fixed => vec![
            "-ffixed-form".to_owned(),
            format!("-ffixed-line-length-{}", config.line_length),
            "-std=legacy".to_owned(),
        ],
    };
    if form == Form::Fixed && config.debug_lines {
        language.push("-fd-lines-as-code".into());
    }
    language
}

/// Returns the flags for both kinds of files.
fn common_flags(config: &Config, profile: &Profile, language: &[String]) -> Vec<String> {
    let level = config.opt_level.as_deref().unwrap_or(&profile.opt_level);
    let level = match level {
        "z" => "s",
        other => other,
    };
    let mut flags = language.to_vec();
    flags.extend(SHORT_MESSAGES.map(str::to_owned));
    flags.push(format!("-O{level}"));
    if config.debug.unwrap_or(profile.debug) {
        flags.push("-g".into());
    }
    if config.has_openmp() {
        // Each thread has its own local variables, however large they are.
        if config.openmp {
            flags.push("-fopenmp".into());
        }
    } else {
        // Larger variables are shared by all threads, and the bindings rely on this number.
        flags.push(format!("-fmax-stack-var-size={MAX_STACK_ARRAY}"));
    }
    // With this optimization gfortran 12 miscompiles some correct adjoints (that of CUMNOR in cdflib,
    // inlined), as every other combination of flags confirms. It also packs neighbouring pushes into vectors
    // that the loop then waits for: the adjoint of DNRM2 takes 7.3 times as long as the function with it, and
    // 3.0 times without, at -O2 and -O3.
    flags.push("-fno-tree-slp-vectorize".into());
    // Otherwise, the sums of some loops are in memory, like that of DGEMV with 'T' in its adjoint at -O2.
    flags.push("-fira-region=all".into());
    if config.real_kind == 8 {
        flags.push("-fdefault-real-8".into());
        flags.push("-fdefault-double-8".into());
    }
    if config.save_all {
        flags.push("-fno-automatic".into());
    }
    flags.extend(config.flags.iter().cloned());
    flags
}

/// The result of a run.
pub(crate) struct Compiled {
    /// The contents of the file that was made: an object or a program.
    pub output: Vec<u8>,
    /// The warnings about the user's lines.
    pub warnings: Vec<Diagnostic>,
}

/// The reason why a run has no result.
pub(crate) enum Failure {
    /// gfortran rejects the user's code.
    Diagnostics(Vec<Diagnostic>),
    /// gfortran cannot be started, crashes, or rejects generated code.
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

/// Compiles `text`, and links it with `objects` if the flags ask for a program. The assembler reads `assembly`
/// before the compiler's output. The result depends neither on the time nor on paths.
///
/// # Errors
///
/// Any [`Failure`].
pub(crate) fn compile(
    compiler: &Compiler,
    args: &[String],
    text: &str,
    assembly: Option<&str>,
    objects: &[Vec<u8>],
    sources: &Sources,
) -> Result<Compiled, Failure> {
    let scratch = files::Scratch::new()?;
    let source = scratch.path().join("farfel.f");
    files::write_if_changed(&source, &encode(text))?;
    let mut command = compiler.command();
    if let Some(assembly) = assembly {
        // `-Xassembler`, unlike `-Wa`, allows any character in the name.
        let first = scratch.path().join("first.s");
        files::write_if_changed(&first, assembly.as_bytes())?;
        command.arg("-Xassembler").arg(first);
    }
    // Libraries are only searched for symbols needed by what precedes them.
    let (libraries, args): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|a| a.starts_with("-l"));
    match compiler.family {
        Family::Gfortran => {
            command.args(args);
            // The last matching flag wins, and one directory may be inside the other.
            let here = std::env::current_dir().ok();
            for directory in here.into_iter().chain([scratch.path().to_owned()]) {
                command.arg(unnamed(&directory));
            }
        }
        Family::Flang => {
            command.args(flang::flags(args));
            if objects.is_empty() {
                // It writes the directory in which it runs into objects, before names of sources.
                command.current_dir("/");
            }
        }
    }
    // The directory for module files.
    command.arg("-J").arg(scratch.path());
    command.arg("-o").arg(output(&scratch)).arg(&source);
    for (i, object) in objects.iter().enumerate() {
        let path = scratch.path().join(format!("{i}.o"));
        files::write_if_changed(&path, object)?;
        command.arg(path);
    }
    command.args(libraries);
    run(compiler, command, scratch, sources)
}

/// A source that is compiled as it is.
pub(crate) struct Source<'a> {
    /// Its file name for the compiler, which goes by the extension.
    pub name: &'static str,
    pub text: &'a [u8],
    /// The module files that it may read, by name.
    pub modules: &'a BTreeMap<String, Vec<u8>>,
}

/// Compiles a source as it is, in a directory that contains nothing else. Returns the object and the module
/// files.
///
/// # Errors
///
/// Any [`Failure`].
pub(crate) fn compile_module(
    compiler: &Compiler,
    args: &[String],
    source: &Source,
    sources: &Sources,
) -> Result<(Compiled, BTreeMap<String, Vec<u8>>), Failure> {
    let scratch = files::Scratch::new()?;
    // A separate directory, which outlives the one in which the compiler runs.
    let made = files::Scratch::new()?;
    files::write_if_changed(&scratch.path().join(source.name), source.text)?;
    for (name, bytes) in source.modules {
        files::write_if_changed(&scratch.path().join(name), bytes)?;
    }
    let mut command = compiler.command();
    // Module files contain the path of the source.
    command.current_dir(scratch.path());
    match compiler.family {
        Family::Gfortran => command.args(args).arg(unnamed(scratch.path())),
        Family::Flang => command.args(flang::flags(args)),
    };
    command.arg("-J").arg(made.path()).arg("-I").arg(".");
    command.arg("-o").arg(output(&scratch)).arg(source.name);
    let compiled = run(compiler, command, scratch, sources)?;
    let mut modules = BTreeMap::new();
    let entries = std::fs::read_dir(made.path()).map_err(Error::io(made.path()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with("mod") {
            let bytes = std::fs::read(&path).map_err(Error::io(&path))?;
            modules.insert(name.into_owned(), bytes);
        }
    }
    Ok((compiled, modules))
}

/// Returns the path of the output.
fn output(scratch: &files::Scratch) -> PathBuf {
    scratch.path().join("output")
}

/// Returns the flag that removes a directory's name from the output.
fn unnamed(directory: &Path) -> OsString {
    let mut flag = OsString::from("-ffile-prefix-map=");
    flag.push(directory);
    flag.push("=.");
    flag
}

/// Runs the compiler with a directory for temporary files.
fn run(
    compiler: &Compiler,
    mut command: Command,
    mut scratch: files::Scratch,
    sources: &Sources,
) -> Result<Compiled, Failure> {
    let output = output(&scratch);
    // Files that it leaves there when killed are removed with the rest.
    for name in ["TMPDIR", "TMP", "TEMP"] {
        command.env(name, scratch.path());
    }
    if compiler.family == Family::Gfortran {
        // Debug information would include the switches, and with them the directory of module files.
        command.arg("-gno-record-gcc-switches");
    }
    let shown = format!("{command:?}");
    let failed = |reason: String| Error::Command {
        command: shown.clone(),
        reason,
    };
    let ran = process::run_watched(&mut command, &Limits::COMPILER, scratch.watch())
        .map_err(|e| failed(e.to_string()))?;
    let printed = String::from_utf8_lossy(&ran.stderr);
    let (found, rest) = messages(&printed, sources);
    if ran.status.success() {
        let output = std::fs::read(&output).map_err(Error::io(&output))?;
        return Ok(Compiled {
            output,
            warnings: found,
        });
    }
    if found.iter().any(Diagnostic::is_error) {
        return Err(Failure::Diagnostics(found));
    }
    let missing = missing_libraries(&printed);
    if rest.is_empty() && !missing.is_empty() {
        return Err(Error::NoLibrary(missing).into());
    }
    let undefined = undefined(&printed);
    if rest.is_empty() && !undefined.is_empty() {
        return Err(Error::Undefined(undefined).into());
    }
    Err(failed(if rest.is_empty() {
        format!("{}\n{printed}", ran.status)
    } else {
        rest.join("\n")
    })
    .into())
}

/// Parses gfortran's output: messages about the user's lines, without duplicates, and other errors.
pub(crate) fn messages(printed: &str, sources: &Sources) -> (Vec<Diagnostic>, Vec<String>) {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut rest = Vec::new();
    // A message about two places consists of two lines, the first with `(1)` in place of the message.
    let mut first = None;
    for line in printed.lines() {
        let Some((place, severity, message)) = split(line) else {
            // The compiler proper crashed or was killed, for example for lack of memory.
            if ["internal compiler error", "signal terminated program"]
                .iter()
                .any(|m| line.contains(m))
            {
                rest.push(line.to_owned());
            }
            continue;
        };
        if message == "(1)" {
            first = Some(place);
            continue;
        }
        let places: Vec<&str> = first.take().into_iter().chain([place]).collect();
        let mut spans = places.iter().filter_map(|p| span(p, sources));
        match spans.next() {
            Some(at) => {
                let mut diagnostic = Diagnostic {
                    severity,
                    ..Diagnostic::error(&COMPILER, at, plain(message))
                };
                for other in spans.filter(|other| *other != at) {
                    diagnostic = diagnostic.related(other, "the other place");
                }
                let generated = places.iter().any(|p| p.starts_with(BORDER));
                let noise = severity == Severity::Warning
                    && (generated || is_noise(message) || is_buffer(message, at, sources));
                // Copies of a subprogram repeat its errors.
                if !noise && !found.contains(&diagnostic) {
                    found.push(diagnostic);
                }
            }
            None if severity == Severity::Error => rest.push(line.to_owned()),
            None => {}
        }
    }
    (found, rest)
}

/// Returns the libraries that the linker does not find.
fn missing_libraries(printed: &str) -> Vec<String> {
    let mut names: Vec<String> = printed
        .lines()
        .filter_map(|l| {
            l.split_once("cannot find -l")
                .or_else(|| l.split_once("library not found for -l"))
        })
        .map(|(_, rest)| rest.split([':', ' ']).next().unwrap_or_default().to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the procedures that the linker misses, by their Fortran names.
fn undefined(printed: &str) -> Vec<String> {
    let mut names: Vec<String> = printed
        .lines()
        .filter_map(|l| l.split_once("undefined reference to `"))
        .filter_map(|(_, rest)| rest.split_once("_'"))
        .map(|(name, _)| name.to_ascii_uppercase())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Parses `file:line:column: Error: message`, as gfortran prints it, and flang in lower case.
fn split(line: &str) -> Option<(&str, Severity, &str)> {
    [
        (": Error: ", Severity::Error),
        (": Fatal Error: ", Severity::Error),
        (": Warning: ", Severity::Warning),
        (": error: ", Severity::Error),
        (": warning: ", Severity::Warning),
    ]
    .into_iter()
    .filter_map(|(mark, severity)| {
        let (place, message) = line.split_once(mark)?;
        // The linker writes `collect2: error: …`.
        let has_line = place
            .rsplit(':')
            .next()
            .is_some_and(|c| c.parse::<u32>().is_ok());
        let of_flang = !mark.contains(char::is_uppercase);
        (has_line || !of_flang).then_some((place, severity, message))
    })
    .min_by_key(|(place, ..)| place.len())
}

/// Returns the statement at a place: the line without surrounding blanks. The column is ignored because it
/// refers to the printed program.
pub(crate) fn span(place: &str, sources: &Sources) -> Option<Span> {
    let (id, file, rest) = sources
        .iter()
        .filter_map(|(id, f)| {
            let rest = place.strip_prefix(f.name.as_str())?.strip_prefix(':')?;
            Some((id, f, rest))
        })
        .next()?;
    let line: usize = rest
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()?;
    let mut start = 0;
    let text = file
        .text
        .split_inclusive('\n')
        .enumerate()
        .find_map(|(i, text)| {
            if i + 1 == line {
                return Some(text);
            }
            start += text.len();
            None
        })?;
    let before = text.len() - text.trim_start().len();
    let start = start + before.min(text.trim_end().len());
    let end = start + text.trim().len();
    Some(Span::new(id, start as u32, end as u32))
}

/// Removes marks from a message that refer to source excerpts, which are not shown.
fn plain(message: &str) -> String {
    message
        .replace(['‘', '’'], "'")
        .replace(" at (1)", "")
        .replace(" at (2)", "")
        .replace(" (1)", " here")
        .replace(" (2)", " the other place")
        .trim_end()
        .to_owned()
}

/// Whether a warning says nothing new about a program that FORTRAN 77 allows.
fn is_noise(message: &str) -> bool {
    // The optimizer guesses how often a loop runs. In derivatives, which have loops for what is left
    // after groups of iterations, it guesses wrong.
    let guess = message.starts_with("iteration ") && message.contains("invokes undefined behavior");
    let common =
        message.starts_with("Named COMMON block") && message.contains("same size as elsewhere");
    guess || common
}

/// Whether a warning is about the buffers of MPI, which may have any type and shape.
fn is_buffer(message: &str, at: Span, sources: &Sources) -> bool {
    if !message.contains("between actual argument at (1) and actual argument at (2)") {
        return false;
    }
    let before = sources
        .get(at.file)
        .and_then(|f| f.text.get(..at.end as usize));
    let before = before.unwrap_or_default().to_ascii_uppercase();
    // The place may be a continuation line.
    let called = before
        .rsplit_once("CALL")
        .map(|(_, rest)| rest.trim_start());
    called.is_some_and(|c| c.starts_with("MPI_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_of_the_optimizer_are_not_shown() {
        let mut sources = Sources::new();
        sources.add("a.f", "      V(I) = 2\n".to_owned());
        let text = "a.f:1:72: Warning: iteration 60 invokes undefined behavior [-Waggressive-loop-optimizations]";
        assert_eq!(messages(text, &sources), (Vec::new(), Vec::new()));
    }

    #[test]
    fn buffers_of_mpi_may_have_any_type() {
        let mut sources = Sources::new();
        let text = "      CALL S(X)\n      CALL S(I)\n      CALL MPI_SEND(X,\n     +  1)\n";
        sources.add("a.ff", text);
        let warnings = |line: u8| {
            let message = "Rank mismatch between actual argument at (1) and actual argument at (2)";
            let printed = format!("a.ff:{line}:7: Warning: {message} (scalar and rank-1)\n");
            messages(&printed, &sources).0.len()
        };
        assert_eq!([2, 3, 4].map(warnings), [1, 0, 0]);
    }

    #[test]
    fn messages_become_diagnostics() {
        let mut sources = Sources::new();
        let text = "      SUBROUTINE S\r\n        X = 'a'\r\n      END\r\n";
        sources.add("src/ä b.ff", text);
        let printed = "\
src/ä b.ff:2:14: Error: Cannot convert CHARACTER(1) to REAL(4) at (1)
src/ä b.ff:2:14: Error: Cannot convert CHARACTER(1) to REAL(4) at (1)
src/ä b.ff:1:7-14: Warning: Type mismatch in argument 'x' at (1); passed INTEGER(4) to REAL(4)
src/ä b.ff:1:7: Warning: Named COMMON block 'c' at (1) shall be of the same size as elsewhere (8 vs 12 bytes)
src/ä b.ff:3:7: Error: (1)
src/ä b.ff:1:7: Error: Symbol 's' at (1) already defined at (2)
src/ä b.ff:2:7: Warning: (1)
<farfel bindings>:1:7: Warning: Rank mismatch between actual argument at (1) and actual argument at (2)
<farfel bindings>:3:4: Error: Syntax error
f951: internal compiler error: Segmentation fault
src/ä b.ff:99:1: Error: beyond the end
collect2: error: ld returned 1 exit status
src/ä b.ff:2:9: error: No intrinsic or user-defined ASSIGNMENT(=) matches operand types REAL(4) and CHARACTER(KIND=1)
compilation terminated due to -fmax-errors=1.
";
        let (found, rest) = messages(printed, &sources);
        let shown: Vec<(Severity, &str, &str)> = found
            .iter()
            .map(|d| (d.severity, sources.text(d.span), d.message.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                (
                    Severity::Error,
                    "X = 'a'",
                    "Cannot convert CHARACTER(1) to REAL(4)"
                ),
                (
                    Severity::Warning,
                    "SUBROUTINE S",
                    "Type mismatch in argument 'x'; passed INTEGER(4) to REAL(4)"
                ),
                (Severity::Error, "END", "Symbol 's' already defined"),
                (
                    Severity::Error,
                    "X = 'a'",
                    "No intrinsic or user-defined ASSIGNMENT(=) matches operand types REAL(4) and CHARACTER(KIND=1)"
                ),
            ]
        );
        assert_eq!(sources.text(found[2].related[0].0), "SUBROUTINE S");
        assert_eq!(
            rest,
            [
                "<farfel bindings>:3:4: Error: Syntax error",
                "f951: internal compiler error: Segmentation fault",
                "src/ä b.ff:99:1: Error: beyond the end",
            ]
        );
    }
}
