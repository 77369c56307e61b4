//! The built-in engine behind Tapenade's command line.
//!
//! A makefile that calls Tapenade for Fortran 77 gets the same files, with subprograms of the same
//! names and argument lists: [`options`] parses the command line, [`heads`] determines which parts
//! of it are relevant, and [`run`] converts the texts of the sources to the texts of the output
//! files. It opens no files itself.
//!
//! | subject | convention |
//! |---|---|
//! | file names | `-o X` creates X_d.f and X_d.msg; without it, each source has its own output file |
//! | names of subprograms and variables | FOO_D and XD, or according to `-tgtfuncname` and `-tgtvarname`; a number from 0 is appended to a name that already occurs in the sources |
//! | arguments | each active one is followed by its derivative; in vector mode NBDIRS comes last |
//! | functions | return the derivative, and have the value as an additional last argument; in vector mode, or if the result is passive, they become subroutines |
//! | COMMON | /C/ has /C_D/ beside it, with the derivatives that are passed from one subprogram to another |
//! | adjoints | likewise, with FOO_B and XB; functions become subroutines that receive the adjoint of the result; separate forward and reverse sweeps below the heads |
//! | activity | one derivative for each subprogram, which suits all its calls |
//! | procedures without source | used according to `-ext`, otherwise they may read and change all their arguments; derivatives of active ones are called, and have to be supplied by the user |
//! | directives | DO-NOT-DIFF, FP-LOOP, BINOMIAL-CKP and CHECKPOINT-START are treated like Farfel's equivalents, and FP-LOOP with `adj_reduction` calls ADFIXEDPOINT_NOTREDUCED; others, which do not affect the result, are ignored |
//! | modules | skipped if no source uses them |
//! | sizes that cannot be determined from the program | NBDIRSMAX and ISIZE1OFX, in the user's DIFFSIZES.inc |

mod descriptions;
pub mod heads;
pub mod options;

use crate::tapes;
use descriptions::Description;
use farfel_ad::layout::{
    Contexts, Extent, Layout, Members, Numbering, Pattern, SIZES_FILE, Taken, Unknown,
};
use farfel_ad::locations::{Context, Set, Space};
use farfel_ad::passes::CalledSubprograms;
use farfel_ad::reverse;
use farfel_ad::tangent::{Tangent, differentiate_heads};
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::{any_errors, rules};
use farfel_lang::effects::{Assigned, procedure_dummies};
use farfel_lang::ir::{
    Class, DefaultSizes, Expr, ExprKind, LoopDirectiveKind, Name, ProcedureDirective, Program,
    Spec, SpecKind, StmtKind, StorageClass, SymId, Symbol, Type, Unit, UnitKind,
    for_each_reference, for_each_symbol, unused_name, walk_block,
};
use farfel_lang::lints::Lints;
use farfel_lang::lower;
use farfel_lang::openmp;
use farfel_lang::print::{Options as PrintOptions, print_program};
use farfel_lang::resolve::{resolve_readable, resolve_with};
use farfel_lang::syntax::{Loader, ReadOptions, parse_with};
use farfel_lang::{Diagnostic, FileId, Severity, Sources, Span};
use options::{Mode, Options};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// A substitute for that file if it does not exist yet. The values are not used: the output
/// includes the file itself.
const NO_SIZES: &str = "      INTEGER NBDIRSMAX\n      PARAMETER (NBDIRSMAX = 1)\n";

/// An output file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name, without a directory.
    pub name: String,
    /// Its contents.
    pub text: String,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The sources, for displaying diagnostics.
    pub sources: Sources,
    /// Errors and warnings with their positions.
    pub diagnostics: Vec<Diagnostic>,
    /// The Fortran files. Empty if nothing could be generated.
    pub files: Vec<File>,
    /// Messages without a position.
    pub general_messages: Vec<String>,
    /// The list of messages, which is always created.
    pub messages: File,
}

/// Executes a command line on the sources that it names, which are given by name and text.
pub fn run(options: &Options, files: &[(String, Arc<str>)], loader: &mut dyn Loader) -> Outcome {
    let mut sources = Sources::new();
    let mut loader = SizesLoader { inner: loader };
    let mut program = Program::default();
    let mut diagnostics = Vec::new();
    let mut ids = Vec::new();
    let read = ReadOptions {
        sizes: DefaultSizes {
            real: options.real,
            integer: options.integer,
        },
        ..ReadOptions::default()
    };
    for (name, text) in files {
        let id = sources.add(name.clone(), text.clone());
        ids.push(id);
        let parsed = parse_with(&mut sources, id, &read, &mut loader);
        program.units.extend(parsed.program.units);
        // Using a module is an error; otherwise it is not needed.
        let module = |d: &Diagnostic| parsed.modules.contains(&d.span);
        diagnostics.extend(parsed.diagnostics.into_iter().filter(|d| !module(d)));
    }
    let described = read_descriptions(options, &mut sources, &mut loader, &mut diagnostics);
    let lints = Lints::default().with_real(options.real);
    let found = match any_errors(&diagnostics) {
        true => resolve_readable(&mut program, &diagnostics, &lints),
        false => resolve_with(&mut program, &lints),
    };
    diagnostics.extend(found);
    diagnostics.extend(program.units.iter().filter_map(more_than_fortran));
    diagnostics.extend(program.units.iter().flat_map(states_in_files));
    program.units.iter_mut().for_each(tapes::mark);
    attach_descriptions(&mut program, described, &mut diagnostics);
    if options.openmp && !any_errors(&diagnostics) {
        diagnostics.extend(openmp::read(&mut program));
    }
    for d in &mut diagnostics {
        // Old libraries pass functions without declaring their types. The compiler has the final
        // say on that.
        if d.rule == &rules::TYPE_MISMATCH {
            d.severity = Severity::Warning;
        }
    }
    let mut general_messages: Vec<String> = Vec::new();
    let mut made = Vec::new();
    if !any_errors(&diagnostics) {
        if options.combine_divisions {
            lower::combine_divisions(&mut program);
        }
        match units(options, program, &sources, &mut diagnostics) {
            Ok((units, messages)) => (made, general_messages) = (units, messages),
            Err(errors) => diagnostics.extend(errors),
        }
    }
    // Calls of procedures that are not in the sources are common; where a derivative is needed, the
    // list of messages says so.
    diagnostics.retain(|d| d.is_error() || d.rule != &rules::UNKNOWN_PROCEDURE);
    let first = stem(files.first().map_or("", |(name, _)| name));
    let base = options.output.as_deref().map_or(first, base_name);
    let messages = File {
        name: format!("{}.msg", options.file_stem(base)),
        text: message_list(&general_messages, &diagnostics, &sources),
    };
    let files = layout_files(options, files, &ids, made);
    Outcome {
        sources,
        diagnostics,
        files,
        general_messages,
        messages,
    }
}

/// Parses the descriptions of procedures without source in the files that the command line names.
fn read_descriptions(
    options: &Options,
    sources: &mut Sources,
    loader: &mut dyn Loader,
    diagnostics: &mut Vec<Diagnostic>,
) -> HashMap<Name, Description> {
    let mut all = HashMap::new();
    for path in &options.descriptions {
        let path = path.display().to_string();
        let (name, text) = match loader.load("", &path) {
            Ok(found) => found,
            Err(why) => {
                let message = format!("the descriptions in {path} cannot be read: {why}");
                let d = Diagnostic::error(&rules::INCLUDE_FAILED, Span::NONE, message);
                diagnostics.push(d.help("`-ext` wants the name of a file"));
                continue;
            }
        };
        let file = sources.add(name, text.clone());
        match descriptions::read(file, &text) {
            Ok(found) => all.extend(found),
            Err(error) => {
                let message = format!("this description is not understood: {}", error.message);
                diagnostics.push(Diagnostic::error(
                    &rules::GIVEN_DERIVATIVE,
                    error.at,
                    message,
                ));
            }
        }
    }
    all
}

/// Attaches descriptions of procedures without source to the units that call them.
fn attach_descriptions(
    program: &mut Program,
    mut described: HashMap<Name, Description>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if described.is_empty() {
        return;
    }
    let points = program.units.iter().flat_map(Unit::entry_points);
    for known in points {
        described.remove(known.name);
    }
    for unit in &program.units {
        diagnostics.extend(remove_unfitting(unit, &mut described));
    }
    for unit in &mut program.units {
        let symbols = unit.symbols.iter().map(|(_, s)| s);
        let called =
            symbols.filter(|s| s.storage_class == StorageClass::Global && s.class.is_procedure());
        let descriptions: Vec<ProcedureDirective> = called
            .filter_map(|s| Some((s, described.get(&s.name)?)))
            .flat_map(|(s, d)| {
                let usage =
                    ProcedureDirective::described(s.name.clone(), d.usage.clone(), Span::NONE);
                let constant = ProcedureDirective::constant(s.name.clone(), Span::NONE);
                [usage].into_iter().chain(d.constant.then_some(constant))
            })
            .collect();
        unit.directives.extend(descriptions);
    }
}

/// Removes descriptions that do not match the calls in a unit: they describe other procedures of
/// the same names, or do not cover all arguments.
fn remove_unfitting(unit: &Unit, described: &mut HashMap<Name, Description>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for_each_reference(&unit.body, &mut |call| {
        let symbol = &unit.symbols[call.procedure];
        let global = symbol.storage_class == StorageClass::Global;
        let Some(wants) = described.get(&symbol.name).filter(|_| global) else {
            return;
        };
        let (wants, has) = (wants.usage.len(), call.args.len());
        if wants == has {
            return;
        }
        described.remove(&symbol.name);
        let message = format!(
            "{} has {has} argument{} here, and {wants} in its description, which is not used",
            symbol.name,
            if has == 1 { "" } else { "s" },
        );
        let rule = &rules::GIVEN_DERIVATIVE;
        out.push(Diagnostic::warning(rule, call.span, message).help(
            "the procedure may read and change all its arguments then; describe it as it is called",
        ));
    });
    out
}

/// Reports nested subprograms and AD blocks: they are part of Farfel, and are not lowered here.
fn more_than_fortran(unit: &Unit) -> Option<Diagnostic> {
    let mut found = unit
        .nested
        .first()
        .map(|n| (n.span, "nested subprograms are"));
    walk_block(&unit.body, &mut |s| {
        if matches!(s.kind, StmtKind::Ad(_)) {
            found = found.or(Some((s.span, "AD blocks are")));
        }
    });
    found.map(|(span, what)| {
        Diagnostic::error(
            &rules::UNSUPPORTED,
            span,
            format!("{what} Farfel, not Fortran 77"),
        )
        .help("`farfel build` and `farfel run` differentiate Farfel programs")
    })
}

/// Rejects checkpoints in files: what is generated here is linked without Farfel's run-time libraries.
fn states_in_files(unit: &Unit) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Do(d) = &s.kind
            && let Some(directive) = &d.directive
            && let LoopDirectiveKind::Checkpoint { memory, disk: 1.. } = directive.kind
        {
            let message = "`farfel tapenade` does not write checkpoints to files";
            found.push(
                Diagnostic::error(&rules::AD_LOOP, directive.span, message).help(format!(
                    "write `checkpoint({memory})`, or make a Farfel project of it"
                )),
            );
        }
    });
    found
}

/// Loads INCLUDE files, with a substitute for the file of sizes.
struct SizesLoader<'a> {
    inner: &'a mut dyn Loader,
}

impl Loader for SizesLoader<'_> {
    fn load(&mut self, from: &str, name: &str) -> Result<(String, Arc<str>), String> {
        let found = self.inner.load(from, name);
        if found.is_err() && is_sizes(name) {
            return Ok((name.to_owned(), NO_SIZES.into()));
        }
        found
    }
}

fn is_sizes(name: &str) -> bool {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.eq_ignore_ascii_case(SIZES_FILE)
}

/// Units, with the source files of the subprograms that they are derived from.
type OutputUnits = Vec<(Option<FileId>, Unit)>;

/// Removes declarations that are not used from the subprograms that adjoints are made of. Heads are left as they
/// are, and so is everything else if no head is specified.
fn remove_unused(options: &Options, adjoint: bool, program: &mut Program) {
    let names = options.heads.iter().map(|h| h.unit.as_deref());
    let names: Option<Vec<&str>> = names.collect();
    if let Some(names) = names.filter(|l| adjoint && !l.is_empty()) {
        reverse::remove_unused_below(program, &names);
    }
}

/// The names, argument lists and storage of the derivatives.
fn layout_of(options: &Options, adjoint: bool) -> Layout {
    let names = match adjoint {
        true => &options.adjoint,
        false => &options.tangent,
    };
    let v = match options.vector {
        true => "V",
        false => "",
    };
    Layout {
        units: Pattern::new(&names.units).and(v),
        variables: Pattern::new(&names.variables),
        numbering: Numbering::FromZero,
        taken: match options.avoid_mentioned {
            true => Taken::Mentioned,
            false => Taken::MentionedBelow,
        },
        blank_common: "UNKNOWN",
        contexts: Contexts::One,
        members: Members::Passed,
        functions: true,
        fortran_77: true,
        bundled: false,
        unknown: Unknown::Provided,
        vector: options.vector,
        extent: (options.most_directions).map_or(Extent::OfUser, Extent::AtMost),
        pattern: false,
        ask_sizes: !options.no_isize,
        ask_saved_sizes: false,
        adjoint,
        real: options.real,
    }
}

/// Returns the units of the output, and messages about them.
fn units(
    options: &Options,
    mut program: Program,
    sources: &Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(OutputUnits, Vec<String>), Vec<Diagnostic>> {
    for unit in &mut program.units {
        keep_sizes(unit, sources);
    }
    if options.mode == Mode::Print {
        let made = program.units.iter().map(|u| (Some(u.span.file), u.clone()));
        return Ok((made.collect(), Vec::new()));
    }
    farfel_lang::lower::pass_values(&mut program);
    // Number the program once, so that no pass has to copy it for that.
    program.number();
    let mut made = OutputUnits::new();
    let mut messages: Vec<String> = Vec::new();
    let kinds: &[bool] = match options.mode {
        Mode::Adjoint => &[true],
        Mode::Both => &[false, true],
        _ => &[false],
    };
    for (n, adjoint) in kinds.iter().enumerate() {
        let entries = heads::kept_by_entries(&program, &options.heads, *adjoint);
        // Large programs are copied only if they are needed again.
        let own = match n + 1 == kinds.len() {
            true => std::mem::take(&mut program),
            false => program.clone(),
        };
        let run = Generation::of(options, own, *adjoint)
            .with_regions()?
            .with_used_only();
        let regions = run.copies.clone();
        let run = run.with_own_state(&entries);
        let mut run = run
            .with_passed_by_name(&regions, warnings)
            .with_state_divided_by_tangents();
        let mut derived = run.derivatives(&mut messages, warnings);
        if let Err(errors) = &derived
            && errors.iter().any(is_about_passed_procedure)
            && let Some(by_name) = run.passed_by_name(&regions)
        {
            let required = errors.iter().any(|d| d.rule == &rules::AD_PASSED_COMMON);
            let (mut more, mut found) = (messages.clone(), Vec::new());
            let made = by_name.derivatives(&mut more, &mut found);
            if required || made.is_ok() {
                (derived, run) = (made, by_name);
                messages = more;
                warnings.append(&mut found);
            }
        }
        // Users are asked for sizes only if there is no other way.
        if derived.is_err() && *adjoint && !options.no_isize {
            run.asks_sizes = true;
            let (mut more, mut found) = (messages.clone(), Vec::new());
            let made = run.derivatives(&mut more, &mut found);
            if made.is_ok() {
                derived = made;
                messages = more;
                warnings.append(&mut found);
            }
        }
        while let Ok(units) = &derived {
            let (divided, known) = (run.units_with_divided_state(units), run.state.len());
            run = run.with_own_state(&divided);
            if run.state.len() == known {
                let all = run.program.units.iter();
                let units = all.filter(|u| divided.contains(&u.name));
                warnings.extend(units.map(divided_state_warning));
                break;
            }
            drop(derived);
            derived = run.derivatives(&mut messages, warnings);
        }
        made.extend(derived?.into_iter().map(|d| (d.file, d.unit)));
    }
    made.iter_mut()
        .for_each(|(_, unit)| require_sizes(unit, sources));
    Ok((made, messages))
}

/// The generation of tangents or adjoints of a program.
struct Generation<'a> {
    options: &'a Options,
    program: Cow<'a, Program>,
    /// The units of the program that are not in the sources.
    copies: Vec<Name>,
    /// The COMMON blocks in which derivatives, and copies of what they call, keep what the
    /// subprograms of the sources keep in local variables.
    state: HashSet<Name>,
    /// The subprogram in the program that replaces each ENTRY point of the sources.
    entries: HashMap<Name, Name>,
    adjoint: bool,
    /// Whether the user defines the sizes of arrays that adjoints must save.
    asks_sizes: bool,
}

/// A derivative, with its origin and, for a head, the context.
struct DerivedUnit {
    of: Name,
    head: Option<Context>,
    unit: Unit,
    /// The file of the subprogram that it is derived from.
    file: Option<FileId>,
}

impl DerivedUnit {
    fn new(of: Name, head: Option<Context>, unit: Unit) -> Self {
        let file = None;
        DerivedUnit {
            of,
            head,
            unit,
            file,
        }
    }
}

impl<'a> Generation<'a> {
    fn of(options: &'a Options, program: Program, adjoint: bool) -> Self {
        Generation {
            options,
            program: Cow::Owned(program),
            copies: Vec::new(),
            state: HashSet::new(),
            entries: HashMap::new(),
            adjoint,
            asks_sizes: false,
        }
    }

    /// Returns the suffix for names of derivatives' own objects: tangents and adjoints may be
    /// linked together.
    fn tag(&self) -> &'static str {
        match (self.adjoint, self.options.vector) {
            (false, false) => "D",
            (false, true) => "DV",
            (true, false) => "B",
            (true, true) => "BV",
        }
    }

    /// Returns the same run with statements that must not be differentiated, or that adjoints execute again,
    /// outlined as subroutines.
    fn with_regions(self) -> Result<Self, Vec<Diagnostic>> {
        let suffix = format!("_{}", self.tag());
        let mut program = self.program.into_owned();
        let copies = farfel_lang::lower::regions(&mut program, &suffix, self.adjoint)?;
        Ok(Generation {
            program: Cow::Owned(program),
            copies,
            ..self
        })
    }

    /// Returns the same run, for adjoints without declarations that are not used.
    fn with_used_only(self) -> Self {
        let mut program = self.program.into_owned();
        remove_unused(self.options, self.adjoint, &mut program);
        Generation {
            program: Cow::Owned(program),
            ..self
        }
    }

    /// Returns the same run with one shared state for everything that is derived from some units.
    fn with_own_state(self, units: &HashSet<Name>) -> Self {
        if units.is_empty() {
            return self;
        }
        let tag = format!("_{}", self.tag());
        let which = |u: &Unit| units.contains(&u.name);
        let (program, state) = farfel_lang::lower::with_own_state(&self.program, &which, &tag);
        Generation {
            program: Cow::Owned(program),
            state: self.state.union(&state).cloned().collect(),
            ..self
        }
    }

    /// Returns the same run, or one in which procedures that are passed as arguments are called by
    /// name if derivatives propagate through their COMMON variables: a caller of a dummy procedure
    /// only knows its arguments.
    fn with_passed_by_name(self, regions: &[Name], warnings: &mut Vec<Diagnostic>) -> Self {
        let passed = self.passed_with_common();
        if passed.is_empty() {
            return self;
        }
        match self.passed_by_name(regions) {
            Some(run) if run.goes_through_common_of(&passed) => run,
            Some(_) => self,
            None => {
                warnings.extend(self.changed_common_of(&passed));
                self
            }
        }
    }

    /// Returns the same run with the procedures that are passed as arguments called by name, in
    /// copies of the subprograms that receive them. `None` if that is not possible.
    fn passed_by_name(&self, regions: &[Name]) -> Option<Generation<'a>> {
        let run = Generation {
            options: self.options,
            program: Cow::Borrowed(&*self.program),
            copies: Vec::new(),
            state: self.state.clone(),
            entries: HashMap::new(),
            adjoint: self.adjoint,
            asks_sizes: self.asks_sizes,
        };
        let run = run.with_own_state(&self.receivers_with_state());
        let bind = |program: &Program| farfel_lang::lower::bind_passed(program, self.tag());
        let (bound, entries) = match bind(&run.program) {
            Some(bound) => (bound, HashMap::new()),
            None => {
                // Entries are separate subprograms then.
                let divided = heads::legal(&run.program, &self.options.heads).ok()?;
                (bind(&divided.program)?, divided.notes.entries)
            }
        };
        let (program, copies) = bound;
        Some(Generation {
            options: self.options,
            program: Cow::Owned(program),
            copies: [&copies[..], regions].concat(),
            state: run.state,
            entries,
            adjoint: self.adjoint,
            asks_sizes: self.asks_sizes,
        })
    }

    /// Warns of those of these procedures that use differentiable COMMON variables which the
    /// program changes.
    fn changed_common_of(&self, procedures: &HashSet<Name>) -> Vec<Diagnostic> {
        let program = &*self.program;
        let blocks = |u: &Unit, which: &dyn Fn(SymId) -> bool| -> HashSet<Name> {
            let differentiable = |s: &Symbol| s.ty.is_some_and(Type::is_differentiable);
            let members = u
                .symbols
                .iter()
                .filter(|(id, s)| differentiable(s) && which(*id));
            let block = |s: &Symbol| match &s.storage_class {
                StorageClass::Common(block) => Some(block.clone()),
                _ => None,
            };
            members.filter_map(|(_, s)| block(s)).collect()
        };
        let assigned = Assigned::of(program);
        let mut changed: HashSet<Name> = HashSet::new();
        for u in &program.units {
            let here = assigned.in_unit(u);
            changed.extend(blocks(u, &|s| here.contains(&s)));
        }
        let graph = CallGraph::of(program);
        let mut found = Vec::new();
        for unit in program
            .units
            .iter()
            .filter(|u| procedures.contains(&u.name))
        {
            let reached = graph.reached(graph.index(&unit.name));
            let mut used = reached
                .iter()
                .flat_map(|i| blocks(&program.units[*i], &|_| true));
            if let Some(block) = used.find(|b| changed.contains(b)) {
                let message = format!(
                    "derivatives that go through COMMON /{block}/ are left out where {} is called as an argument",
                    unit.name
                );
                let d = Diagnostic::warning(&rules::AD_PASSED_COMMON, unit.name_span, message);
                found.push(d.help("pass on what it has in COMMON as an argument, too"));
            }
        }
        found
    }

    /// Returns the procedures with source that are passed as arguments and use COMMON.
    fn passed_with_common(&self) -> HashSet<Name> {
        let program = &*self.program;
        let mut passed = HashSet::new();
        for unit in &program.units {
            for_each_reference(&unit.body, &mut |r| {
                for a in r.args {
                    if let ExprKind::Var(s) = a.kind
                        && unit.symbols[s].class.is_procedure()
                        && unit.symbols[s].storage_class == StorageClass::Global
                    {
                        passed.insert(unit.symbols[s].name.clone());
                    }
                }
            });
        }
        if passed.is_empty() {
            return passed;
        }
        let graph = CallGraph::of(program);
        let common = |u: &Unit| {
            u.symbols
                .iter()
                .any(|(_, s)| matches!(s.storage_class, StorageClass::Common(_)))
        };
        passed.retain(|name| {
            let from = graph.index(name).into_iter();
            let reached = graph.reached(from);
            reached.iter().any(|i| common(&program.units[*i]))
        });
        passed
    }

    /// Whether derivatives propagate, or may propagate, through COMMON variables of procedures that
    /// are called by name here.
    fn goes_through_common_of(&self, procedures: &HashSet<Name>) -> bool {
        let options = self.options;
        let Ok(legal) = heads::legal(&self.program, &options.heads) else {
            return true;
        };
        let program = &*legal.program;
        let chosen = heads::choose(program, &options.heads, options.fix_interface, false);
        let Ok(chosen) = chosen else { return true };
        if chosen.heads.is_empty() {
            return false;
        }
        let layout = layout_of(options, false);
        let made = differentiate_heads(program, &chosen.heads, &layout, &mut Vec::new());
        made.map_or(true, |made| {
            let mut of = made.units.iter().filter(|t| procedures.contains(&t.of));
            of.any(|t| {
                let Context { inputs, outputs } = &t.context;
                inputs
                    .ones()
                    .chain(outputs.ones())
                    .any(|slot| slot > t.args)
            })
        })
    }

    /// Returns the same run, for adjoints with one shared state for the units whose state the tangents that they are
    /// made of would divide: to find that from the adjoints takes several times as long.
    fn with_state_divided_by_tangents(self) -> Self {
        let assigned = Assigned::of(&self.program);
        let mut units = self.program.units.iter();
        if !self.adjoint || units.all(|u| kept(&assigned, u).is_empty()) {
            return self;
        }
        let tangents = self.tangents_of_adjoints().unwrap_or_default().into_iter();
        let units = tangents.map(|t| DerivedUnit::new(t.of, None, t.unit));
        let divided = self.units_with_divided_state(&units.collect::<Vec<_>>());
        self.with_own_state(&divided)
    }

    fn tangents_of_adjoints(&self) -> Result<Vec<Tangent>, Vec<Diagnostic>> {
        let options = self.options;
        let mut legal = heads::legal(&self.program, &options.heads)?;
        if let Cow::Owned(program) = &mut legal.program {
            remove_unused(options, true, program);
        }
        let program = &*legal.program;
        let chosen = heads::choose(program, &options.heads, options.fix_interface, true)?;
        if chosen.heads.is_empty() {
            return Ok(Vec::new());
        }
        let layout = layout_of(options, true);
        reverse::tangents_of_heads(program, &chosen.heads, &layout)
    }

    /// Returns the units that have procedure arguments and keep variables from call to call.
    fn receivers_with_state(&self) -> HashSet<Name> {
        let assigned = Assigned::of(&self.program);
        let takes = |u: &&Unit| procedure_dummies(u).next().is_some();
        let keeps = |u: &&Unit| !kept(&assigned, u).is_empty();
        let units = self.program.units.iter().filter(takes).filter(keeps);
        units.map(|u| u.name.clone()).collect()
    }

    /// Returns the units that keep variables which they change, and for which derivatives call both
    /// the units themselves and derivatives of them: each would have a separate state.
    fn units_with_divided_state(&self, units: &[DerivedUnit]) -> HashSet<Name> {
        let (program, graph) = (&*self.program, CallGraph::of(&self.program));
        let calls = units.iter().flat_map(|d| d.unit.symbols.iter());
        let calls = calls
            .filter(|(_, s)| s.storage_class == StorageClass::Global && s.class.is_procedure());
        let called = graph.reached(calls.filter_map(|(_, s)| graph.index(&s.name)));
        let assigned = Assigned::of(program);
        let divided = program.units.iter().enumerate().filter(|(i, unit)| {
            let kept = kept(&assigned, unit);
            if kept.is_empty() {
                return false;
            }
            // A unit that was derived from it without being a derivative, by legalisation.
            let from = |d: &&DerivedUnit| d.unit.span == unit.span;
            let legal = units.iter().filter(from).any(|d| d.unit.name == d.of);
            let mut derivatives = units.iter().filter(|d| from(d) && d.unit.name != d.of);
            (called.contains(i) || legal) && derivatives.any(|d| uses(&d.unit, &kept))
        });
        let divided = divided.map(|(_, u)| u);
        divided.map(|u| u.name.clone()).collect()
    }

    /// Returns the units that keep variables which they change and that derivatives call unchanged,
    /// if derivatives have a state of their own, too: what the program's own calls leave in one is
    /// not in the other.
    fn shared_with_program(&self, units: &[DerivedUnit]) -> Vec<Name> {
        let (program, graph) = (&*self.program, CallGraph::of(&self.program));
        let assigned = Assigned::of(program);
        let derived: HashSet<&Name> = units.iter().map(|d| &d.of).collect();
        let keeps = |u: &Unit| !kept(&assigned, u).is_empty();
        let own = |u: &Unit| !self.moved(u).is_empty() || derived.contains(&u.name) && keeps(u);
        if !program.units.iter().any(own) {
            return Vec::new();
        }
        let calls = units.iter().flat_map(|d| d.unit.symbols.iter());
        let calls = calls
            .filter(|(_, s)| s.storage_class == StorageClass::Global && s.class.is_procedure());
        let called = graph.reached(calls.filter_map(|(_, s)| graph.index(&s.name)));
        let called = called.into_iter().map(|i| &program.units[i]);
        let shared = called.filter(|u| !self.copies.contains(&u.name) && !own(u) && keeps(u));
        shared.map(|u| u.name.clone()).collect()
    }

    /// Generates the derivatives, in the order of their originals.
    fn derivatives(
        &self,
        messages: &mut Vec<String>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<DerivedUnit>, Vec<Diagnostic>> {
        let options = self.options;
        let mut legal = heads::legal(&self.program, &options.heads)?;
        if let Cow::Owned(program) = &mut legal.program {
            remove_unused(options, self.adjoint, program);
        }
        let whole = &*legal.program;
        let program = whole;
        let chosen = heads::choose(program, &options.heads, options.fix_interface, self.adjoint)?;
        for m in chosen.messages {
            add_message(messages, m);
        }
        if chosen.heads.is_empty() {
            return Ok(Vec::new());
        }
        let layout = Layout {
            ask_saved_sizes: self.asks_sizes,
            ..layout_of(options, self.adjoint)
        };
        let mut found = Vec::new();
        let divided;
        let mut program = program;
        if options.openmp {
            let heads: Vec<&str> = chosen.heads.iter().map(|h| h.unit.as_str()).collect();
            divided = farfel_ad::with_divided_regions(program, &heads);
            program = divided.as_ref().unwrap_or(program);
            let errors = farfel_ad::errors_of_thread_private(program, &heads);
            if !errors.is_empty() {
                return Err(errors);
            }
            found.extend(farfel_ad::warnings_of_directives(program, &heads));
        }
        let (mut units, user_derivatives, dependence) = match self.adjoint {
            false => {
                let made = differentiate_heads(program, &chosen.heads, &layout, &mut found)?;
                let head = |t: &Tangent| chosen.heads.iter().any(|h| h.unit == t.of);
                let units: Vec<DerivedUnit> = (made.units.into_iter())
                    .map(|t| {
                        let of_head = head(&t);
                        DerivedUnit::new(t.of, of_head.then_some(t.context), t.unit)
                    })
                    .collect();
                let mut units = units;
                let added = made.added.into_iter();
                units.extend(added.map(|u| DerivedUnit::new(u.name.clone(), None, u)));
                (units, made.user_derivatives, made.dependence)
            }
            true => {
                let heads = &chosen.heads;
                let once = &options.executed_once;
                let made = reverse::differentiate_heads(program, heads, &layout, once, &mut found)?;
                let units: Vec<DerivedUnit> = (made.units.into_iter())
                    .map(|a| DerivedUnit::new(a.of, a.head, a.unit))
                    .collect();
                (units, made.user_derivatives, made.dependence)
            }
        };
        for w in found {
            if !warnings
                .iter()
                .any(|x| x.rule == w.rule && x.span == w.span)
            {
                warnings.push(w);
            }
        }
        for p in user_derivatives {
            let what = match program.unit(&p.procedure) {
                Some(_) => "is passed as an argument: add it to the heads, or",
                None => "has no text here:",
            };
            let message = format!(
                "(AD09) function {} {what} provide {}",
                p.procedure.to_lowercase(),
                p.derivative.to_lowercase()
            );
            add_message(messages, message);
        }
        let made: HashSet<Name> = units.iter().map(|d| d.unit.name.clone()).collect();
        for derived in &mut units {
            let source = program.unit(&derived.of);
            let assigned = dependence.summary(&derived.of).map(|s| &s.assigned);
            if let (Some(source), Some(context), Some(assigned)) = (source, &derived.head, assigned)
            {
                let space = Space::of(source, &dependence.commons);
                let status = status(source, &space, context, assigned, self.adjoint);
                derived.unit.comments.push(status);
            }
            if let Some((unit, kept)) = kept_for_entries(&self.program, &derived.of) {
                let message = format!(
                    "(AD13) {} has copies of its own of what {} keeps for its entries: {}",
                    derived.unit.name.to_lowercase(),
                    unit.to_lowercase(),
                    kept.join(", ")
                );
                add_message(messages, message);
            }
            if derived.unit.symbols.find(reverse::NOT_REDUCED).is_some()
                && program.unit(reverse::NOT_REDUCED).is_none()
            {
                let message = format!(
                    "(AD09) function {} is in adFixedPoint.c of Tapenade's library: link it, provide your own, or leave out adj_reduction",
                    reverse::NOT_REDUCED.to_lowercase()
                );
                add_message(messages, message);
            }
            declare_external(program, &made, &mut derived.unit);
            for name in sizes_used(&derived.unit) {
                let message = match name.strip_prefix("ISIZE").and_then(|n| n.split_once("OF")) {
                    Some((dimension, array)) => {
                        format!(
                            "(AD12) define {name} in {SIZES_FILE}: the last subscript of {array} in dimension {dimension}"
                        )
                    }
                    None => format!(
                        "(AD10) define {} in {SIZES_FILE}: the most directions",
                        name.to_lowercase()
                    ),
                };
                add_message(messages, message);
            }
        }
        self.add_copies(whole, &mut units);
        self.add_resized(whole, &legal.notes.resized, &mut units);
        self.add_state(whole, &mut units);
        for unit in &self.program.units {
            let moved = self.moved(unit);
            if unit.kind != UnitKind::BlockData && !moved.is_empty() {
                let message = format!(
                    "(AD14) derivatives have copies of their own of what {} keeps from call to call: {}",
                    unit.name.to_lowercase(),
                    moved.join(", ")
                );
                add_message(messages, message);
            }
        }
        for unit in self.shared_with_program(&units) {
            let message = format!(
                "(AD15) derivatives and the program share what {} keeps from call to call",
                unit.to_lowercase()
            );
            add_message(messages, message);
        }
        let made = units.iter_mut().map(|d| &mut d.unit);
        made.for_each(|u| {
            call_entries(u, &legal.notes.entries);
            call_entries(u, &self.entries);
        });
        // In the order of the sources, as readers expect; units that are not in the sources come
        // last.
        let order: HashMap<Name, usize> = program
            .units
            .iter()
            .enumerate()
            .map(|(i, u)| (u.name.clone(), i))
            .collect();
        units.sort_by_key(|d| order.get(&d.of).copied().unwrap_or(usize::MAX));
        for d in &mut units {
            d.file = program.unit(&d.of).map(|u| u.span.file);
        }
        Ok(units)
    }
}

impl Generation<'_> {
    /// Adds units that derivatives call and that are not in the sources.
    fn add_copies(&self, program: &Program, units: &mut Vec<DerivedUnit>) {
        let mut at = 0;
        while at < units.len() {
            let calls: Vec<Name> = (units[at].unit.symbols.iter())
                .filter(|(_, s)| {
                    s.storage_class == StorageClass::Global && self.copies.contains(&s.name)
                })
                .map(|(_, s)| s.name.clone())
                .collect();
            for name in calls {
                if units.iter().all(|d| d.unit.name != name)
                    && let Some(unit) = program.unit(&name)
                {
                    units.push(DerivedUnit::new(name, None, unit.clone()));
                }
            }
            at += 1;
        }
    }

    /// Adds copies of sweeps that derivatives call unchanged, with tapes that do not grow.
    fn add_resized(
        &self,
        program: &Program,
        resized: &HashSet<Name>,
        units: &mut Vec<DerivedUnit>,
    ) {
        let mut made: Vec<Unit> = units.iter().map(|d| d.unit.clone()).collect();
        let called = CalledSubprograms {
            legal: program,
            added: &|_| false,
            changed: &|n| resized.contains(n),
        };
        let suffix = self.options.file_stem("").to_ascii_uppercase();
        called.add_to(&mut made, &suffix);
        let mut made = made.into_iter();
        for (derived, unit) in units.iter_mut().zip(made.by_ref()) {
            derived.unit = unit;
        }
        units.extend(made.map(|u| DerivedUnit::new(u.name.clone(), None, u)));
    }

    /// Returns the variables of a unit that have been moved to COMMON.
    fn moved(&self, unit: &Unit) -> Vec<String> {
        let symbols = unit.symbols.iter().map(|(_, s)| s);
        let moved = symbols.filter(
            |s| matches!(&s.storage_class, StorageClass::Common(b) if self.state.contains(b)),
        );
        moved.map(|s| s.name.to_lowercase()).collect()
    }

    /// Adds copies, for derivatives, of the subprograms that share their state, and the initial
    /// values of that state.
    fn add_state(&self, program: &Program, units: &mut Vec<DerivedUnit>) {
        if self.state.is_empty() {
            return;
        }
        let shares = |u: &Unit| !self.moved(u).is_empty();
        let graph = CallGraph::of(program);
        let callers = graph.callers();
        let mut concerned: Vec<usize> = Vec::new();
        for (i, u) in program.units.iter().enumerate().filter(|(_, u)| shares(u)) {
            match u.kind {
                UnitKind::BlockData => {
                    units.push(DerivedUnit::new(u.name.clone(), None, u.clone()))
                }
                _ => concerned.push(i),
            }
        }
        let mut all: HashSet<usize> = concerned.iter().copied().collect();
        while let Some(unit) = concerned.pop() {
            let new = callers[unit].iter().filter(|c| all.insert(**c));
            concerned.extend(new);
        }
        let taken: HashSet<Name> = (program.units.iter().map(|u| u.name.clone()))
            .chain(units.iter().map(|d| d.unit.name.clone()))
            .collect();
        let using = program.units.iter().enumerate();
        let using = using.filter(|(i, _)| all.contains(i)).map(|(_, u)| u);
        let new: HashMap<Name, Name> = using
            .flat_map(Unit::entry_points)
            .map(|p| {
                let wanted = format!("{}_C{}", p.name, self.tag());
                (p.name.clone(), unused_name(&wanted, &|n| taken.contains(n)))
            })
            .collect();
        let mut at = 0;
        while let Some(derived) = units.get_mut(at) {
            for name in call_copies(&mut derived.unit, &new) {
                if let Some(i) = graph.index(&name)
                    && units
                        .iter()
                        .all(|d| Some(&d.unit.name) != new.get(&program.units[i].name))
                {
                    let copy = copied(&program.units[i], &new);
                    units.push(DerivedUnit::new(program.units[i].name.clone(), None, copy));
                }
            }
            at += 1;
        }
    }
}

/// Returns a copy of a unit, with other names for it and its ENTRY points.
fn copied(unit: &Unit, names: &HashMap<Name, Name>) -> Unit {
    let mut copy = unit.clone();
    let points = unit.entry_points().skip(1);
    let entries: HashSet<&Name> = points.map(|p| p.name).collect();
    let own = |s: &Symbol| entries.contains(&s.name) || s.name == unit.name;
    for (id, s) in unit.symbols.iter().filter(|(_, s)| own(s)) {
        if let Some(name) = names.get(&s.name) {
            copy.symbols.rename(id, name.clone());
        }
    }
    copy.name = names.get(&unit.name).unwrap_or(&unit.name).clone();
    copy.comments = vec![format!(" {} with the state of its derivatives", unit.name)];
    copy
}

/// Replaces calls by calls of `copies`, where there are any. Returns the original names of those
/// that statements refer to.
fn call_copies(unit: &mut Unit, copies: &HashMap<Name, Name>) -> Vec<Name> {
    let symbols = unit.symbols.iter();
    let called =
        symbols.filter(|(_, s)| s.storage_class == StorageClass::Global && s.class.is_procedure());
    let called: Vec<(SymId, Name)> = called
        .filter(|(_, s)| copies.contains_key(&s.name))
        .map(|(id, s)| (id, s.name.clone()))
        .collect();
    for (id, name) in &called {
        unit.symbols.rename(*id, copies[name].clone());
    }
    // The symbol table may contain symbols of removed statements.
    let mut used = HashSet::new();
    for_each_symbol(&unit.body, &mut |s| {
        used.insert(s);
    });
    let called = called.into_iter().filter(|(id, _)| used.contains(id));
    called.map(|(_, name)| name).collect()
}

/// Whether this error may not occur if passed procedures are called by name: the variables that an
/// arbitrary procedure overwrites cannot be saved.
fn is_about_passed_procedure(d: &Diagnostic) -> bool {
    rules::AD_REFUSED.contains(&d.rule)
}

/// Replaces calls of subprograms that were split from ENTRY points: the program has the original
/// entries, which calls without derivatives use.
fn call_entries(unit: &mut Unit, entries: &HashMap<Name, Name>) {
    for (entry, made) in entries {
        let called = unit.symbols.find(made).filter(|s| {
            let s = &unit.symbols[*s];
            s.storage_class == StorageClass::Global && s.class.is_procedure()
        });
        if let Some(s) = called {
            unit.symbols.rename(s, entry.clone());
        }
    }
}

/// Adds a message unless it is there already.
fn add_message(messages: &mut Vec<String>, message: String) {
    if !messages.contains(&message) {
        messages.push(message);
    }
}

/// Returns the variables that a unit with ENTRY points saves and assigns, if one of its entry
/// points is differentiated: the derivative does not see what the program's own calls of the others
/// leave there.
fn kept_for_entries<'p>(program: &'p Program, of: &Name) -> Option<(&'p Name, Vec<String>)> {
    let mut units = program.units.iter();
    let unit = units.find(|u| {
        let has_entries = u.entry_points().nth(1).is_some();
        has_entries && u.entry_points().any(|e| e.name == of)
    })?;
    let kept = kept(&Assigned::of(program), unit);
    let kept: Vec<String> = kept.iter().map(|n| n.to_lowercase()).collect();
    (!kept.is_empty()).then_some((&unit.name, kept))
}

/// Returns the variables that a unit changes and keeps from call to call.
fn kept<'p>(assigned: &Assigned, unit: &'p Unit) -> Vec<&'p Name> {
    let everything = |s: &Spec| matches!(&s.kind, SpecKind::Save(l) if l.is_empty());
    let everything = unit.specs.iter().any(everything);
    let symbols = unit.symbols.iter();
    let saved: Vec<(SymId, &Symbol)> = symbols
        .filter(|(_, s)| {
            s.is_variable() && s.storage_class == StorageClass::Local && (s.saved || everything)
        })
        .collect();
    if saved.is_empty() {
        return Vec::new();
    }
    let assigned = assigned.in_unit(unit);
    let kept = saved.into_iter().filter(|(id, _)| assigned.contains(id));
    kept.map(|(_, s)| &s.name).collect()
}

/// The warning for a unit whose saved variables cannot be moved to where all can use them.
fn divided_state_warning(unit: &Unit) -> Diagnostic {
    let message = format!(
        "{} keeps variables from call to call, and its derivative keeps others",
        unit.name
    );
    Diagnostic::warning(&rules::AD_STORAGE, unit.name_span, message)
        .help("put what it keeps into a COMMON block")
}

/// Whether statements of a unit refer to one of these variables.
fn uses(unit: &Unit, names: &[&Name]) -> bool {
    let mut found = false;
    for_each_symbol(&unit.body, &mut |s| {
        found |= names.contains(&&unit.symbols[s].name);
    });
    found
}

/// Declares procedures without source as EXTERNAL, as readers of derivatives expect, except for the subroutines `made`,
/// whose names are no intrinsics.
fn declare_external(program: &Program, made: &HashSet<Name>, unit: &mut Unit) {
    let mut passed = HashSet::new();
    for_each_reference(&unit.body, &mut |call| {
        passed.extend(call.args.iter().filter_map(Expr::base));
    });
    let unknown: Vec<SymId> = unit
        .symbols
        .iter()
        .filter(|(id, s)| {
            let own = made.contains(&s.name) && s.class == Class::Subroutine;
            s.class.is_procedure()
                && s.storage_class == StorageClass::Global
                && !s.external
                && s.name != unit.name
                && program.unit(&s.name).is_none()
                && (!own || passed.contains(id))
        })
        .map(|(id, _)| id)
        .collect();
    let mut called = HashSet::new();
    for_each_symbol(&unit.body, &mut |s| {
        called.insert(s);
    });
    for s in unknown {
        if called.contains(&s) {
            unit.symbols[s].external = true;
            unit.declare(s);
        }
    }
}

/// Makes the compiler refuse a unit if the file of sizes does not define those that the unit uses: without IMPLICIT
/// NONE they would be variables without a value.
fn require_sizes(unit: &mut Unit, sources: &Sources) {
    let sizes = sizes_used(unit);
    if sizes.iter().any(|n| n.starts_with("ISIZE")) {
        let defined = |s: &Symbol| sources.get(s.span.file).is_some_and(|f| is_sizes(&f.name));
        lower::declare_all(unit, &|s| sizes.iter().any(|n| *n == s.name) || defined(s));
    }
}

/// Returns the constants that the user has to define for a unit.
fn sizes_used(unit: &Unit) -> Vec<String> {
    let symbols = unit.symbols.iter().map(|(_, s)| s.name.as_str());
    let included = unit
        .specs
        .iter()
        .any(|s| matches!(&s.kind, SpecKind::Include(f) if is_sizes(f)));
    symbols
        .filter(|n| included && (n.starts_with("NBDIRSMAX") || n.starts_with("ISIZE")))
        .map(str::to_owned)
        .collect()
}

/// Restores the INCLUDE of the file of sizes in place of its contents: the output includes it
/// again, with the values of whoever compiles it.
fn keep_sizes(unit: &mut Unit, sources: &Sources) {
    let from_sizes = |s: &Spec| sources.get(s.span.file).is_some_and(|f| is_sizes(&f.name));
    let Some(first) = unit.specs.iter().position(from_sizes) else {
        return;
    };
    let span = unit.specs[first].span;
    let mut specs: Vec<Spec> = Vec::with_capacity(unit.specs.len());
    for (i, s) in std::mem::take(&mut unit.specs).into_iter().enumerate() {
        if i == first {
            specs.push(Spec {
                kind: SpecKind::Include(SIZES_FILE.to_owned()),
                span,
            });
        } else if !from_sizes(&s) {
            specs.push(s);
        }
    }
    unit.specs = specs;
}

/// Returns the line that describes the derivatives of a head: `x:in y:out`.
fn status(
    source: &Unit,
    space: &Space,
    context: &Context,
    assigned: &Set,
    adjoint: bool,
) -> String {
    let mut words = Vec::new();
    for slot in 0..space.slots {
        let (input, output) = (
            context.inputs.contains(slot),
            context.outputs.contains(slot),
        );
        let result = slot == space.result_slot();
        let (name, known) = match space.slot(slot) {
            _ if result => (source.name.clone(), true),
            Some(loc) => {
                let named = source
                    .symbols
                    .iter()
                    .find(|(id, s)| s.is_variable() && space.loc(*id) == loc);
                match named {
                    Some((_, s)) => (s.name.clone(), true),
                    None => (Name::default(), false),
                }
            }
            None => continue,
        };
        let set = result || assigned.contains(slot);
        let word = match (input, output && set) {
            _ if adjoint => match (input, output) {
                (true, true) if set => "in-out",
                (true, true) => "incr",
                (true, false) => "out",
                (false, true) => "in-killed",
                (false, false) => continue,
            },
            (true, true) => "in-out",
            (true, false) => "in",
            (false, true) => "out",
            (false, false) => continue,
        };
        if known {
            words.push(format!("{}:{word}", name.to_lowercase()));
        }
    }
    format!("  RW status of diff variables: {}", words.join(" "))
}

/// Returns the last component of a path, without its extension.
fn stem(path: &str) -> &str {
    let name = base_name(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Returns the last component of a path.
fn base_name(path: &str) -> &str {
    Path::new(path)
        .file_name()
        .and_then(|n| n.to_str())
        .unwrap_or(path)
}

/// Distributes units to files.
fn layout_files(
    options: &Options,
    inputs: &[(String, Arc<str>)],
    ids: &[FileId],
    made: OutputUnits,
) -> Vec<File> {
    let mut files: Vec<(String, Program)> = Vec::new();
    for (id, unit) in made {
        let at = id.and_then(|id| ids.iter().position(|x| *x == id));
        let name = if options.split && options.mode != Mode::Print {
            unit.name.to_lowercase()
        } else if let Some(output) = &options.output {
            options.file_stem(base_name(output))
        } else {
            let (name, _) = &inputs[at.unwrap_or(0)];
            options.file_stem(stem(name))
        };
        let name = format!("{name}.f");
        match files.iter_mut().find(|(n, _)| *n == name) {
            Some((_, program)) => program.units.push(unit),
            None => files.push((name, Program { units: vec![unit] })),
        }
    }
    let title = format!(
        "C     Made by Farfel {}, in the conventions of Tapenade 3.16\n",
        env!("CARGO_PKG_VERSION")
    );
    files
        .into_iter()
        .map(|(name, program)| File {
            name,
            text: format!(
                "{title}{}",
                print_program(&program, &PrintOptions::default())
            ),
        })
        .collect()
}

/// Returns the numbered list of messages.
fn message_list(messages: &[String], diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut lines: Vec<String> = messages.to_vec();
    for d in diagnostics {
        let place = match sources.get(d.span.file) {
            Some(file) => {
                let place = file.line_column(d.span.start);
                format!("{}:{}: ", file.name, place.line)
            }
            None => String::new(),
        };
        lines.push(format!("{place}({}) {}", d.rule.code, d.message));
    }
    lines
        .iter()
        .enumerate()
        .map(|(i, line)| format!("{} {line}\n", i + 1))
        .collect()
}
