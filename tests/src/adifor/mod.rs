//! A program that follows the documented conventions of ADIFOR 2, with Farfel's own engine inside. It is for
//! tests on machines without ADIFOR, which is most of them.
//!
//! It reproduces: the command line (`AD_SCRIPT=x.adf`, other keys on the command line override the script's),
//! script and composition files, the names of the output files, prefixes, argument orders, functions that
//! become subroutines, COMMON blocks and their derivatives, lower case, saved locals, a date in every file,
//! and the fact that derivatives in COMMON are not set to zero. It is independent of the adapter that it
//! tests.
//!
//! It differs in one respect: ADIFOR generates one derivative of a subprogram; this program generates one for
//! each pattern of active arguments, the second and later ones with a number.
//!
//! `ADIFOR_STAND_IN_FAILURE` in the environment, or a file of that name beside the program (for callers that do
//! not pass their environment on), makes it fail: `crash`, `hang`, `garbage`, `half` (a truncated file),
//! `nothing` (success without a file), `ask` (waits for input), `refuse` (an error in the program, as ADIFOR
//! would report it).

mod arrays;
mod convert;
mod directions;
mod script;

use farfel_ad::{AdTool, Builtin};
use farfel_lang::ir::{AdMode, Name, Program, Request, Unit};
use farfel_lang::print::{Options, print_unit};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources, Span};
use script::Script;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// What the engine appends to names; no source has it.
const MARK: &str = "_QQAD";

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    say("This is the stand-in for ADIFOR 2.1 of Farfel's tests");
    if args.is_empty() || args[0].trim_start_matches('-') == "version" {
        return ExitCode::SUCCESS;
    }
    match error().as_deref() {
        Some("crash") => std::process::abort(),
        Some("hang") => std::thread::sleep(Duration::from_secs(3600)),
        Some("ask") => {
            say("Overwrite (y/n)?");
            let mut answer = [0];
            if std::io::stdin().read(&mut answer).is_ok_and(|n| n == 0) {
                return stop("no answer");
            }
        }
        Some("refuse") => return stop("line 3: statement is not Fortran 77"),
        Some("nothing") => return ExitCode::SUCCESS,
        _ => {}
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => stop(&why),
    }
}

/// Returns the failure to simulate.
fn error() -> Option<String> {
    const NAME: &str = "ADIFOR_STAND_IN_FAILURE";
    std::env::var(NAME).ok().or_else(|| {
        let beside = std::env::current_exe().ok()?.with_file_name(NAME);
        Some(std::fs::read_to_string(beside).ok()?.trim().to_owned())
    })
}

fn say(line: &str) {
    // Errors are ignored if nobody reads the output.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn stop(why: &str) -> ExitCode {
    say(&format!("Adifor: Error: {why}"));
    ExitCode::FAILURE
}

fn read(name: &str) -> Result<String, String> {
    std::fs::read_to_string(name).map_err(|e| format!("cannot open {name}: {e}"))
}

fn run(args: &[String]) -> Result<(), String> {
    let script = Script::of(args)?;
    let composition = read(&script.composition)?;
    let files: Vec<&str> = composition
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    if files.is_empty() {
        return Err(format!("{} names no files", script.composition));
    }
    let (program, homes) = sources(&files)?;
    let request = request(&program, &script)?;
    let made = Builtin
        .differentiate(&program, &request)
        .map_err(|d| messages(&d))?;
    let units = convert::convert(&program, &request, &script, made)?;
    for (i, file) in files.iter().enumerate() {
        let of_file: Vec<&(Name, Unit)> = units
            .iter()
            .filter(|(of, _)| homes.iter().any(|(u, home)| u == of && *home == i))
            .collect();
        write(file, &script, &of_file)?;
    }
    say(&format!("{} differentiated", script.top));
    Ok(())
}

/// Returns all units, with the number of the file that contains each.
fn sources(files: &[&str]) -> Result<(Program, Vec<(Name, usize)>), String> {
    let mut sources = Sources::new();
    let mut program = Program::default();
    let mut homes = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let text = read(file)?;
        if let Some((n, line)) = text.lines().enumerate().find(|(_, l)| l.len() > 72) {
            let column = line.chars().count();
            return Err(format!("{file}: line {} has {column} columns", n + 1));
        }
        let id = sources.add(*file, text);
        let parsed = parse(&mut sources, id, Some(Form::Fixed), &mut NoIncludes);
        if let Some(d) = parsed.diagnostics.iter().find(|d| d.is_error()) {
            return Err(place(&sources, d));
        }
        for u in &parsed.program.units {
            homes.push((u.name.clone(), i));
        }
        program.units.extend(parsed.program.units);
    }
    for u in &program.units {
        let nested = !u.nested.is_empty();
        if nested || u.recursive {
            return Err(format!("{}: this is not Fortran 77", u.name));
        }
    }
    let found = resolve(&mut program);
    match found.iter().find(|d| d.is_error()) {
        Some(d) => Err(place(&sources, d)),
        None => Ok((program, homes)),
    }
}

fn place(sources: &Sources, d: &Diagnostic) -> String {
    let place = sources.get(d.span.file).map_or(String::new(), |f| {
        format!("{}: line {}: ", f.name, f.line_column(d.span.start).line)
    });
    format!("{place}{}", d.message)
}

fn messages(found: &[Diagnostic]) -> String {
    let all: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
    all.join("\n")
}

/// Converts the script to a request for the engine.
fn request(program: &Program, script: &Script) -> Result<Request, String> {
    let Some(head) = program.unit(&script.top) else {
        return Err(format!("no subprogram {}", script.top));
    };
    let position = |name: &String| {
        let found = head
            .symbols
            .find(name)
            .and_then(|s| head.arg_position(s).map(|p| (s, p)));
        match found {
            Some((s, p)) if farfel_ad::locations::differentiable(&head.symbols[s]) => Ok(p),
            Some(_) => Err(format!("{name} is not of a real type")),
            None => Err(format!("{name} is no argument of {}", script.top)),
        }
    };
    let independents = script
        .independents
        .iter()
        .map(position)
        .collect::<Result<Vec<_>, _>>()?;
    let dependents = script
        .dependents
        .iter()
        .map(position)
        .collect::<Result<Vec<_>, _>>()?;
    let graph = farfel_lang::callgraph::ReachableUnits::of(program, [script.top.as_str()]);
    let dependence = farfel_ad::depend::Dependence::of(&graph);
    let mut paired: BTreeSet<usize> = independents.iter().copied().collect();
    if let Some(summary) = dependence.summary(&script.top) {
        // An argument has a derivative if it depends on an independent, or if its own value reaches a
        // dependent after it depends on an independent.
        for (p, a) in head.args.iter().enumerate() {
            let real = a
                .sym()
                .is_some_and(|s| farfel_ad::locations::differentiable(&head.symbols[s]));
            let depends = independents.iter().any(|i| summary.depends.has(p, *i));
            if real && depends && (dependents.contains(&p) || summary.assigned.contains(p)) {
                paired.insert(p);
            }
        }
    }
    Ok(Request {
        id: 1,
        mode: AdMode::Forward,
        head: script.top.as_str().into(),
        suffix: MARK.into(),
        derivative: format!("{}{MARK}", script.top).into(),
        independents,
        dependents: dependents
            .into_iter()
            .filter(|d| paired.contains(d))
            .collect(),
        paired: paired.into_iter().collect(),
        vector: !script.scalar,
        directions: farfel_lang::ir::Directions::default(),
        real: 4,
        span: Span::NONE,
    })
}

/// Writes the output for one file, and ADIFOR's other files.
fn write(file: &str, script: &Script, units: &[&(Name, Unit)]) -> Result<(), String> {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos());
    let mut text = format!("C   Written {now} ns after 1970 by the stand-in for ADIFOR 2.1\nC\n");
    for (_, u) in units {
        let options = Options {
            comments: true,
            ..Options::default()
        };
        text.push_str(&lower(&print_unit(u, &options)));
        let _ = writeln!(text, "C");
    }
    match error().as_deref() {
        Some("garbage") => text = "\u{1}\u{2}Segmentation \u{7f}\n{{{ \0 ###\n".repeat(20),
        Some("half") => text.truncate(text.len() / 2),
        _ => {}
    }
    let dir = Path::new(&script.directory);
    let put = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
    };
    let cache = dir.join("AD_cache");
    std::fs::create_dir_all(&cache).map_err(|e| format!("cannot make AD_cache: {e}"))?;
    let stem = file.trim_end_matches(".f");
    put(&cache.join(format!("{stem}.A")), "")?;
    put(&dir.join(format!("{stem}.aux")), "")?;
    put(&dir.join(format!(".{file}")), "")?;
    let name = format!("{}_{file}", script.prefix.to_ascii_lowercase());
    put(&dir.join(name), &text)
}

/// Converts text to lower case, except for character constants.
fn lower(text: &str) -> String {
    let mut quote = None;
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        if line.starts_with('C') {
            out.push_str(line);
        } else {
            for c in line.chars() {
                match quote {
                    Some(q) if c == q => quote = None,
                    None if c == '\'' || c == '"' => quote = Some(c),
                    _ => {}
                }
                out.push(match quote {
                    None => c.to_ascii_lowercase(),
                    Some(_) => c,
                });
            }
        }
        out.push('\n');
    }
    out
}
