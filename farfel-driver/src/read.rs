//! Reads source files into one program and resolves its names.

use crate::calls::entries;
use crate::derive;
use crate::library::Libraries;
use crate::parse::parse;
use crate::reach;
use crate::sources;
use crate::{Config, Error, Report, is_c_source_name, link, mpi};
use farfel_lang::diagnostic::any_errors;
use farfel_lang::diagnostic::rules::{DUPLICATE_UNIT, UNKNOWN_PROCEDURE};
use farfel_lang::effects::procedure_dummies;
use farfel_lang::ir::{
    Name, Program, StmtKind, StorageClass, Unit, UnitKind, for_each_reference, walk_block,
};
use farfel_lang::lints::Lints;
use farfel_lang::lower::Options;
use farfel_lang::openmp;
use farfel_lang::resolve::{resolve_readable, resolve_with};
use farfel_lang::targets::CallTargets;
use farfel_lang::{Diagnostic, FileId, Sources};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The purpose for which a program is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// To be called from Rust: main programs are left out.
    Library,
    /// To be run, with all its main programs.
    Program,
    /// To be run, with the main program in the first file: others are left out.
    First,
}

/// A program that was read and checked.
pub(crate) struct CheckedProgram {
    pub program: Program,
    /// The levels of warnings, including those set by comments.
    pub lints: Lints,
    pub report: Report,
    /// The subprograms that the user wrote at the top level, in order.
    pub written: Vec<WrittenSubprogram>,
    /// Whether exported subprograms get arguments for the derivatives of the procedures that they take.
    /// Parts of a library do not: other parts call them.
    pub companions: bool,
    /// The subprograms that the setting `derive` has added. They get these arguments in any case.
    pub derived: BTreeSet<Name>,
    /// The names of main programs that were left out.
    pub left_out: Vec<Name>,
    /// The subprograms that must stay callable if the settings do not list any; `None` for all that can be,
    /// if this is a program in single files and not a library.
    pub exports: Option<Vec<String>>,
    /// The maximum number of copies of one subprogram, if the settings limit it.
    pub most_copies: Option<usize>,
    /// Whether quotients are computed with one division each.
    pub combine_divisions: bool,
    /// Whether this is only a part of a larger program.
    pub part: bool,
    /// The size of a default REAL in bytes.
    pub real: u8,
    /// The procedures and COMMON blocks that C uses: they are kept, under their own names.
    pub by_name: Vec<Name>,
    /// The subprograms in pass-through files, each with its file.
    pub passed_subprograms: BTreeMap<Name, String>,
}

impl CheckedProgram {
    /// Keeps the procedures and COMMON blocks of the program that are among `calls`, the names used by C,
    /// together with their names.
    pub(crate) fn call_from_c(&mut self, calls: &BTreeSet<Name>) {
        let units = self.program.units.iter();
        let commons = units
            .clone()
            .flat_map(|u| u.symbols.iter())
            .filter_map(|(_, s)| match &s.storage_class {
                StorageClass::Common(block) => Some(block),
                _ => None,
            });
        let mut entries = Vec::new();
        for unit in units.clone() {
            let others = unit.entry_points().skip(1);
            entries.extend(others.map(|e| (e.name.clone(), unit.name.clone())));
        }
        let named = units
            .map(|u| &u.name)
            .chain(commons)
            .filter(|n| calls.contains(*n));
        let mut found: BTreeSet<Name> = named.cloned().collect();
        // An ENTRY point requires the unit that contains it.
        for (entry, unit) in entries {
            if calls.contains(&entry) {
                found.extend([entry, unit]);
            }
        }
        self.by_name = found.into_iter().collect();
    }

    pub(crate) fn options(&self, exports: Option<&[String]>) -> Options {
        let exports = exports.or(self.exports.as_deref());
        let exports = exports.or((!self.by_name.is_empty()).then_some(&[]));
        let by_name = || self.by_name.iter().cloned();
        // An ENTRY point is exported with its unit.
        let owners = entries(&self.program);
        let upper = |n: &String| {
            let name = Name::from(n.to_ascii_uppercase());
            owners.get(&name).cloned().unwrap_or(name)
        };
        // Code that is not Fortran passes what the source says.
        let as_written = |n: &Name| self.by_name.contains(n);
        let exported = exports.unwrap_or_default().iter().map(upper);
        let exported = exported
            .filter(|n| self.companions || self.derived.contains(n))
            .filter(|n| !self.part && !as_written(n));
        Options {
            companions: exported.collect(),
            exports: exports.map(|l| l.iter().map(upper).chain(by_name()).collect()),
            most_copies: self.most_copies,
            combine_divisions: self.combine_divisions,
            part: self.part,
            real: Some(self.real),
        }
    }
}

/// A top-level subprogram as the user wrote it.
pub(crate) struct WrittenSubprogram {
    pub name: Name,
    /// Its ENTRY points. Lowering may have removed them by now.
    pub entries: Vec<Name>,
    /// Whether it takes procedures as arguments. Lowering may have removed them by now.
    pub takes_procedures: bool,
    /// Whether it, or a procedure that it may call, contains AD blocks.
    pub differentiates: bool,
    /// Whether it takes the derivatives of procedures along with these.
    pub takes_derivatives: bool,
}

/// Information about the files that are not read by the front end.
pub(crate) struct OtherFiles {
    /// The first of all files: if only one main program is wanted, it is in this file.
    pub first: Option<PathBuf>,
    /// The subprograms in pass-through files, each with its file.
    pub passed_subprograms: BTreeMap<Name, String>,
    /// The names of main programs that have already been left out.
    pub left_out: Vec<Name>,
    /// The words in pass-through files, in upper case: the procedures that they call are among them.
    pub mentioned: BTreeSet<String>,
}

/// Parses and resolves files into one program.
///
/// # Errors
///
/// [`Error::Io`] if a file cannot be read; [`Error::Diagnostics`] if there are errors.
///
/// The INCLUDE files that were reached are added to `included` even if there are errors, so that a build
/// script can watch them.
pub(crate) fn read(
    files: &[PathBuf],
    config: &Config,
    goal: Goal,
    other_files: OtherFiles,
    included: &mut Vec<PathBuf>,
) -> Result<CheckedProgram, Error> {
    let mut sources = Sources::new();
    let (mut program, mut diagnostics) = parse(files, config, &mut sources, included)?;
    let whole = goal == Goal::Library;
    let own_files = sources.iter().count();
    let (libraries, of_libraries) = Libraries::parse(config, &mut sources, included)?;
    let files_of_libraries: Vec<FileId> =
        sources.iter().skip(own_files).map(|(id, _)| id).collect();
    let files_of_derived = match any_errors(&diagnostics) || any_errors(&of_libraries) {
        true => Vec::new(),
        false => derive::add(
            &mut program,
            &libraries.direct(),
            &config.derive,
            whole,
            config.sizes(),
            &mut sources,
        )?,
    };
    let mut left_out = other_files.left_out;
    let first = other_files.first.map(|f| sources::shown(config, &f));
    if goal != Goal::Program {
        program.units.retain(|u| {
            // Judged by the end of the unit, because its beginning may be in an INCLUDE file.
            let of = || sources.get(u.end_span.file).map(|f| &f.name);
            let main =
                u.kind == UnitKind::Program && (goal == Goal::Library || of() != first.as_ref());
            if main {
                left_out.push(u.name.clone());
            }
            !main
        });
    }
    if goal == Goal::First {
        let of_first = sources
            .iter()
            .find(|(_, f)| Some(&f.name) == first.as_ref());
        let mut mentioned = sources::words(files);
        mentioned.extend(other_files.mentioned);
        let first = of_first.map(|(id, _)| id);
        let passed_subprograms = |name: &Name| other_files.passed_subprograms.contains_key(name);
        reach::leave_out_variants(
            &mut program,
            &sources,
            first,
            passed_subprograms,
            &mentioned,
        );
    }
    if let Some(unit) = program.units.first_mut() {
        unit.directives.extend(config.derivatives.iter().cloned());
    }
    if mpi::is_linked(config) {
        describe_mpi(&mut program);
    }
    let own: HashSet<Name> = program.units.iter().map(|u| u.name.clone()).collect();
    for unit in &program.units {
        if let Some(file) = other_files.passed_subprograms.get(&unit.name) {
            let message = format!(
                "{} is in {file}, too, which gfortran compiles as it is",
                unit.name
            );
            diagnostics.push(Diagnostic::error(&DUPLICATE_UNIT, unit.span, message));
        }
    }
    let mut lints = strict(config, &sources);
    files_of_derived
        .into_iter()
        .for_each(|file| lints.quiet_in(file));
    // Warnings in a library have been shown to its author.
    files_of_libraries
        .into_iter()
        .for_each(|file| lints.quiet_in(file));
    diagnostics.extend(of_libraries);
    diagnostics.extend(libraries.join(&mut program));
    let mut elsewhere = sources::words(files);
    elsewhere.extend(other_files.passed_subprograms.keys().map(Name::to_string));
    let mut read = resolve(program, diagnostics, sources, lints, config, &elsewhere)?;
    read.passed_subprograms = other_files.passed_subprograms;
    read.left_out = left_out;
    read.written.retain(|w| own.contains(&w.name));
    let mut units = read.program.units.iter();
    let is_library = !units.any(|u| u.kind == UnitKind::Program);
    let written = &read.written;
    let names =
        |w: &[WrittenSubprogram]| callable(w).map(|w| w.name.to_string()).collect::<Vec<_>>();
    read.exports = match goal {
        Goal::Library => Some(names(written)),
        // If nothing can be called from outside, everything is worth showing.
        _ if is_library => Some(match written.iter().all(|w| w.takes_procedures) {
            false => names(written),
            true => written.iter().map(|w| w.name.to_string()).collect(),
        }),
        _ => None,
    };
    Ok(read)
}

/// Adds what the procedures of MPI that a program calls do with their arguments, unless it says so itself.
fn describe_mpi(program: &mut Program) {
    let mut named = HashSet::new();
    let mut settled: HashSet<Name> = HashSet::new();
    for unit in &program.units {
        settled.insert(unit.name.clone());
        settled.extend(unit.directives.iter().map(|g| g.procedure.clone()));
        for_each_reference(&unit.body, &mut |call| {
            named.insert(unit.symbols[call.procedure].name.clone());
        });
    }
    let wanted = farfel_ad::custom_rules::mpi::descriptions()
        .filter(|g| named.contains(&g.procedure) && !settled.contains(&g.procedure))
        .collect::<Vec<_>>();
    if let Some(unit) = program.units.first_mut() {
        unit.directives.extend(wanted);
    }
}

/// Returns the levels of warnings, stricter for `.ff` files.
pub(crate) fn strict(config: &Config, sources: &Sources) -> Lints {
    let mut lints = config.lints.clone().with_real(config.real_bytes());
    for (id, file) in sources.iter() {
        let extension = Path::new(&file.name).extension();
        if extension.is_some_and(|e| e.eq_ignore_ascii_case("ff")) {
            lints.strict_in(id);
        }
    }
    lints
}

/// Resolves a program that was parsed from files of `sources`; `diagnostics` are those of the parser.
/// `elsewhere` contains words of C sources and the subprograms in pass-through files: an unknown procedure
/// may be one of them, and if it is not, the linker reports it.
///
/// # Errors
///
/// [`Error::Diagnostics`] if there are errors.
pub(crate) fn resolve(
    mut program: Program,
    mut diagnostics: Vec<Diagnostic>,
    sources: Sources,
    lints: Lints,
    config: &Config,
    elsewhere: &BTreeSet<String>,
) -> Result<CheckedProgram, Error> {
    // Errors in the comments that set levels are dropped here, since name resolution reports them again.
    let (lints, _) = lints.within(&program);
    lints.apply(&mut diagnostics);
    let found = match any_errors(&diagnostics) {
        true => resolve_readable(&mut program, &diagnostics, &lints),
        false => resolve_with(&mut program, &lints),
    };
    diagnostics.extend(found);
    let unknown = |d: &Diagnostic| {
        let is_one = d.rule.code == UNKNOWN_PROCEDURE.code;
        let text = is_one.then(|| sources.text(d.span))?;
        // A directive names several procedures; the message begins with the one that is not known.
        let text = match text.starts_with(['!', 'C', 'c', '*']) && text.contains("farfel:") {
            true => &d.message,
            false => text,
        };
        let name = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = name.map(str::to_ascii_uppercase).next()?;
        (!elsewhere.contains(&name)).then_some(name)
    };
    diagnostics.retain(|d| d.rule.code != UNKNOWN_PROCEDURE.code || unknown(d).is_some());
    let called: BTreeSet<String> = diagnostics.iter().filter_map(unknown).collect();
    let linked = link::may_have(config, &called);
    diagnostics.retain(|d| unknown(d).is_none_or(|name| !linked.contains(&name)));
    if config.has_openmp() && !any_errors(&diagnostics) {
        let mut found = openmp::read(&mut program);
        lints.apply(&mut found);
        diagnostics.extend(found);
    }
    let report = finish_report(sources, diagnostics, &lints)?;
    let differentiating = differentiating(&program);
    let derived: BTreeSet<Name> = config.derive.iter().map(|d| d.function()).collect();
    let written = program
        .units
        .iter()
        .filter(|u| matches!(u.kind, UnitKind::Subroutine | UnitKind::Function))
        .map(|u| WrittenSubprogram {
            name: u.name.clone(),
            entries: u.entry_points().skip(1).map(|e| e.name.clone()).collect(),
            takes_procedures: procedure_dummies(u).next().is_some(),
            differentiates: differentiating.contains(&u.name),
            takes_derivatives: derived.contains(&u.name)
                || u.directives.iter().any(|g| g.dummy_of.is_some()),
        })
        .collect();
    Ok(CheckedProgram {
        program,
        lints,
        report,
        written,
        left_out: Vec::new(),
        exports: None,
        most_copies: config.max_copies,
        combine_divisions: config.combine_divisions,
        part: false,
        real: config.real_bytes(),
        companions: config.exports.is_some(),
        derived,
        by_name: Vec::new(),
        passed_subprograms: BTreeMap::new(),
    })
}

/// Returns the subprograms that can be called from outside unless the settings say otherwise. A subprogram
/// that takes procedures and contains AD blocks is compiled where the procedures are known, in the packages
/// that use this one, unless it takes their derivatives, too.
pub(crate) fn callable(written: &[WrittenSubprogram]) -> impl Iterator<Item = &WrittenSubprogram> {
    written.iter().filter(|w| !w.lacks_derivatives())
}

impl WrittenSubprogram {
    /// Whether the procedures that it takes might have to be differentiated, and it does not take their
    /// derivatives.
    pub(crate) fn lacks_derivatives(&self) -> bool {
        self.takes_procedures && self.differentiates && !self.takes_derivatives
    }
}

/// Returns the units that contain AD blocks, or that may call such units. Returns nothing if no unit takes
/// procedures, because then it makes no difference.
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
    for (i, callees) in CallTargets::of(program).callees().iter().enumerate() {
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

/// Applies the levels of warnings and fails if there are errors.
pub(crate) fn finish_report(
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

/// Whether the program has a main program.
pub(crate) fn has_main(program: &Program) -> bool {
    program.units.iter().any(|u| u.kind == UnitKind::Program)
}

/// Returns those of the files read by the front end that contain a main program.
pub(crate) fn main_programs(files: &[PathBuf], config: &Config) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for file in files.iter().filter(|f| !is_c_source_name(f)) {
        let only = std::slice::from_ref(file);
        let (program, _) = parse(only, config, &mut Sources::new(), &mut Vec::new())?;
        if has_main(&program) {
            found.push(file.clone());
        }
    }
    Ok(found)
}
