//! From source files to the program that is compiled: parse, resolve, lower,
//! differentiate.

use crate::copies::Copies;
use crate::plan::derivatives::{Derivatives, Staged};
use crate::plan::workers::Workers;
use crate::preprocess::{self, Outcome};
use crate::reading::parse_all;
use crate::sources::{self, Includes};
use crate::{Config, Error, Report, library};
use farfel_lang::diagnostic::any_errors;
use farfel_lang::effects::procedure_dummies;
use farfel_lang::ir::{Name, Program, Request, StmtKind, Unit, UnitKind, walk_block};
use farfel_lang::lints::Lints;
use farfel_lang::lower::{Options, Stage, lower_with};
use farfel_lang::resolve::{resolve_readable, resolve_with};
use farfel_lang::syntax::{Parsed, ReadOptions};
use farfel_lang::targets::Targets;
use farfel_lang::{Diagnostic, Sources};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// What a program is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// To be called from Rust: main programs are left out.
    Library,
    /// To be run: as it is.
    Program,
    /// To be run, from the main program in the first file: others are left out.
    First,
}

/// A program that was read and checked.
pub(crate) struct Read {
    pub program: Program,
    /// The levels of warnings, those that comments set included.
    pub lints: Lints,
    pub report: Report,
    /// The subprograms that the user wrote at the top level, in order.
    pub written: Vec<Written>,
    /// The names of main programs that were left out.
    pub left_out: Vec<Name>,
    /// What must stay callable where settings do not say it; `None` for all that can be, if these
    /// are single files, and no libraries.
    pub exports: Option<Vec<String>>,
    /// How many copies of one subprogram there may be, if the settings say it.
    pub most_copies: Option<usize>,
    /// There is more of the program elsewhere.
    pub part: bool,
}

impl Read {
    fn options(&self, exports: Option<&[String]>) -> Options {
        let exports = exports.or(self.exports.as_deref());
        Options {
            exports: exports.map(|l| l.iter().map(|n| n.to_ascii_uppercase().into()).collect()),
            most_copies: self.most_copies,
            part: self.part,
        }
    }
}

/// A top-level subprogram as the user wrote it.
pub(crate) struct Written {
    pub name: Name,
    /// It takes procedures as arguments. Lowering may have removed them since.
    pub takes_procedures: bool,
    /// It has AD blocks, or what it may call has.
    pub differentiates: bool,
}

/// Parses and resolves files into one program.
///
/// # Errors
///
/// [`Error::Io`] when a file cannot be read; [`Error::Diagnostics`] when there are faults.
///
/// The INCLUDE files that were reached are added to `included`, also where there are faults,
/// so that a build script can watch them.
pub(crate) fn read(
    files: &[PathBuf],
    config: &Config,
    goal: Goal,
    included: &mut Vec<PathBuf>,
) -> Result<Read, Error> {
    let mut sources = Sources::new();
    let (mut program, mut diagnostics) = parse(files, config, &mut sources, included)?;
    let mut left_out = Vec::new();
    let first = files.first().map(|f| sources::shown(config, f));
    if goal != Goal::Program {
        program.units.retain(|u| {
            let of = || sources.get(u.span.file).map(|f| &f.name);
            let main =
                u.kind == UnitKind::Program && (goal == Goal::Library || of() != first.as_ref());
            if main {
                left_out.push(u.name.clone());
            }
            !main
        });
    }
    if let Some(unit) = program.units.first_mut() {
        unit.given.extend(config.derivatives.iter().cloned());
    }
    let own: HashSet<Name> = program.units.iter().map(|u| u.name.clone()).collect();
    let mut lints = strict(config, &sources);
    if !config.libraries.is_empty() {
        let count = sources.iter().count();
        diagnostics.extend(library::add(&mut program, config, &mut sources, included)?);
        // Whoever wrote a library has seen its warnings.
        let theirs = sources.iter().skip(count);
        theirs.for_each(|(id, _)| lints.quiet_in(id));
    }
    let mut read = resolve(program, diagnostics, sources, lints, config)?;
    read.left_out = left_out;
    read.written.retain(|w| own.contains(&w.name));
    let mut units = read.program.units.iter();
    let is_library = !units.any(|u| u.kind == UnitKind::Program);
    let written = &read.written;
    let names = |w: &[Written]| callable(w).map(|w| w.name.to_string()).collect::<Vec<_>>();
    read.exports = match goal {
        Goal::Library => Some(names(written)),
        // Where nothing can be called from outside, all is of interest.
        _ if is_library => Some(match written.iter().all(|w| w.takes_procedures) {
            false => names(written),
            true => written.iter().map(|w| w.name.to_string()).collect(),
        }),
        _ => None,
    };
    Ok(read)
}

/// The settings for warnings, where they depend on the kind of source.
pub(crate) fn strict(config: &Config, sources: &Sources) -> Lints {
    let real = if config.real_kind == 8 { 8 } else { 4 };
    let mut lints = config.lints.clone().with_real(real);
    for (id, file) in sources.iter() {
        let extension = Path::new(&file.name).extension();
        if extension.is_some_and(|e| e.eq_ignore_ascii_case("ff")) {
            lints.strict_in(id);
        }
    }
    lints
}

/// Resolves a program that was parsed from files of `sources`; `diagnostics` is what was said of
/// it there.
///
/// # Errors
///
/// [`Error::Diagnostics`] when there are faults.
pub(crate) fn resolve(
    mut program: Program,
    mut diagnostics: Vec<Diagnostic>,
    sources: Sources,
    lints: Lints,
    config: &Config,
) -> Result<Read, Error> {
    // What is wrong with the comments is found again where names are resolved.
    let (lints, _) = lints.within(&program);
    lints.apply(&mut diagnostics);
    let found = match any_errors(&diagnostics) {
        true => resolve_readable(&mut program, &diagnostics, &lints),
        false => resolve_with(&mut program, &lints),
    };
    diagnostics.extend(found);
    let report = settle(sources, diagnostics, &lints)?;
    let differentiating = differentiating(&program);
    let written = program
        .units
        .iter()
        .filter(|u| matches!(u.kind, UnitKind::Subroutine | UnitKind::Function))
        .map(|u| Written {
            name: u.name.clone(),
            takes_procedures: procedure_dummies(u).next().is_some(),
            differentiates: differentiating.contains(&u.name),
        })
        .collect();
    Ok(Read {
        program,
        lints,
        report,
        written,
        left_out: Vec::new(),
        exports: None,
        most_copies: config.max_copies,
        part: false,
    })
}

/// What can be called from outside, unless settings say otherwise. What takes procedures and
/// has AD blocks is compiled where the procedures are known: in the packages that use this one.
pub(crate) fn callable(written: &[Written]) -> impl Iterator<Item = &Written> {
    let differentiates = |w: &Written| w.takes_procedures && w.differentiates;
    written.iter().filter(move |w| !differentiates(w))
}

/// The units with AD blocks in them, or in what they may call. Nothing where no unit takes
/// procedures: there it does not matter.
fn differentiating(program: &Program) -> HashSet<Name> {
    fn has_blocks(unit: &Unit) -> bool {
        let mut found = unit.nested.iter().any(has_blocks);
        walk_block(&unit.body, &mut |s| {
            found |= matches!(s.kind, StmtKind::Ad(_))
        });
        found
    }
    let takes = |u: &Unit| procedure_dummies(u).next().is_some();
    let units = &program.units;
    let blocks: Vec<bool> = units.iter().map(has_blocks).collect();
    if !blocks.contains(&true) || !units.iter().any(takes) {
        return HashSet::new();
    }
    let mut callers = vec![Vec::new(); units.len()];
    for (i, callees) in Targets::of(program).callees().iter().enumerate() {
        callees.iter().for_each(|c| callers[*c].push(i));
    }
    let mut found = vec![false; units.len()];
    let mut open: Vec<usize> = (0..units.len()).filter(|i| blocks[*i]).collect();
    while let Some(i) = open.pop() {
        if !std::mem::replace(&mut found[i], true) {
            open.extend(&callers[i]);
        }
    }
    let named = units.iter().zip(found).filter(|(_, found)| *found);
    named.map(|(u, _)| u.name.clone()).collect()
}

/// Parses files into one program, whose names are not resolved yet.
pub(crate) fn parse(
    files: &[PathBuf],
    config: &Config,
    sources: &mut Sources,
    included: &mut Vec<PathBuf>,
) -> Result<(Program, Vec<Diagnostic>), Error> {
    let mut includes = Includes::new(config);
    let mut texts = Vec::new();
    for path in files {
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
                Outcome::Faults(diagnostics) => Err(diagnostics),
            },
        );
    }
    let readable: Vec<_> = texts.iter().flatten().copied().collect();
    let mut parsed = parse_all(&readable, sources, &mut includes).into_iter();
    included.extend(includes.reached.iter().cloned());
    let mut program = Program::default();
    let mut diagnostics = Vec::new();
    for (path, text) in files.iter().zip(texts) {
        let nothing = |diagnostics| Parsed {
            program: Program::default(),
            diagnostics,
        };
        let file = text.map_or_else(nothing, |_| {
            parsed.next().unwrap_or_else(|| nothing(Vec::new()))
        });
        // A file that another one includes is a part of that one, whatever its name ends
        // in.
        if !includes.is_reached(path) || files.len() == 1 {
            program.units.extend(file.program.units);
            diagnostics.extend(file.diagnostics);
        }
    }
    Ok((program, diagnostics))
}

/// Lowers a program to a stage. `exports` are the subprograms that must stay callable from
/// outside; `None` for all that can be, or for the main program where there is one. The
/// requests are what that stage leaves to the AD tool.
pub(crate) fn lower_to(
    read: Read,
    stage: Stage,
    exports: Option<&[String]>,
) -> Result<(Program, Vec<Request>, Report), Error> {
    let options = read.options(exports);
    let lowered = lower_with(read.program, stage, &options);
    let mut diagnostics = read.report.diagnostics;
    diagnostics.extend(lowered.diagnostics);
    let report = settle(read.report.sources, diagnostics, &read.lints)?;
    Ok((lowered.program, lowered.requests, report))
}

/// Lowers a program up to its derivatives.
pub(crate) fn stage(read: Read, exports: Option<&[String]>) -> Result<Staged, Error> {
    let lints = read.lints.clone();
    let (program, requests, report) = lower_to(read, Stage::Stage, exports)?;
    Ok(Staged::new(program, requests, report, lints))
}

/// Says which copies a program needs, and why.
pub(crate) fn explain(read: Read, exports: Option<&[String]>) -> Result<(Copies, Report), Error> {
    let options = read.options(exports);
    let (explanation, said) = farfel_lang::lower::explain(read.program, &options);
    let mut diagnostics = read.report.diagnostics;
    diagnostics.extend(said);
    let report = settle(read.report.sources, diagnostics, &read.lints)?;
    let copies = Copies::of(&explanation, &report.sources);
    Ok((copies, report))
}

/// Makes all derivatives of a program. The report has also what the AD tool has to say.
pub(crate) fn differentiate(
    staged: &Staged,
    derivatives: &Derivatives,
    workers: &Workers,
) -> Result<Report, Error> {
    derivatives.make_all(workers);
    let mut diagnostics = staged.report.diagnostics.clone();
    diagnostics.extend(derivatives.said(0..staged.requests.len()));
    settle(staged.report.sources.clone(), diagnostics, &staged.lints)
}

/// Warnings go on, errors end the phase.
pub(crate) fn settle(
    sources: Sources,
    mut diagnostics: Vec<Diagnostic>,
    lints: &Lints,
) -> Result<Report, Error> {
    lints.apply(&mut diagnostics);
    let failed = any_errors(&diagnostics);
    let report = Report {
        sources,
        diagnostics,
    };
    if failed {
        Err(Error::Diagnostics(report))
    } else {
        Ok(report)
    }
}
