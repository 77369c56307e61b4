//! The object files of a library, or the single one of a program: determines which there are and their
//! inputs, and makes those that the cache does not have.

use super::digests::{Digest, digests};
use super::groups::{Group, groups, whole};
use super::messages;
use super::object_store::{ObjectInfo, ObjectStore};
use super::recorder::Recorder;
use crate::assemble::{self, Library, Links};
use crate::cache::{Cache, Entry, Key, Origin};
use crate::calls::entries;
use crate::config::Trap;
use crate::derivative_checks::DerivativeChecks;
use crate::ends;
use crate::facts::{Facts, moved};
use crate::gfortran::{self, Failure};
use crate::instances::{self, StateSignatures};
use crate::names::Names;
use crate::staged::Staged;
use crate::timings::StepOrigin;
use crate::toolchain::Compiler;
use crate::verify::instrument::instrument;
use crate::workers::Workers;
use crate::{Error, Report};
use crate::{locals, memory};
use farfel_ad::AdTool;
use farfel_ad::schedule::Derivatives;
use farfel_lang::Diagnostic;
use farfel_lang::diagnostic::any_errors;
use farfel_lang::encoding::encode;
use farfel_lang::ir::{Attribute, ExprKind, Name, Request, SpecKind, Unit, UnitKind, walk_exprs};
use farfel_lang::lower::prune_differentiated;
use farfel_lang::storage::constant;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

/// Prefixes of flags that make compiled code contain line numbers.
const NAMING_LINES: [&str; 7] = [
    "-g",
    "-fcheck",
    "-fbounds",
    "-fsan",
    "--coverage",
    "-coverage",
    "-ftest-coverage",
];

/// What is being built.
pub(crate) enum Target<'a> {
    /// Objects with these subprograms for Rust to call.
    Library {
        exports: &'a [Name],
        names: &'a Names,
        /// Facts about the subprograms: among others, which may STOP, so that their frames are unwound.
        facts: &'a Facts,
        /// Whether this is a part of a larger library.
        part: bool,
        /// Whether its state belongs to instances.
        by_instance: bool,
        /// The floating-point exceptions that are errors.
        traps: &'a [Trap],
    },
    /// An executable program.
    Program,
}

/// The tools and caches used by a build.
pub(crate) struct BuildTools<'a> {
    pub tool: &'a dyn AdTool,
    /// The identity of the AD tool: name, version, options.
    pub tool_identity: &'a str,
    pub compiler: &'a Compiler,
    /// The identity of the compiler.
    pub compiler_identity: &'a str,
    pub flags: &'a [String],
    /// Returns the object files of the stack that the tool's adjoints use.
    pub stack: &'a (dyn Fn() -> Result<Vec<Vec<u8>>, Error> + Sync),
    pub cache: &'a Cache,
    pub workers: &'a Workers,
    pub recorder: &'a Recorder,
    /// The objects of the last build.
    pub object_store: &'a ObjectStore,
    /// The objects of C sources that are also linked to a program, with their names.
    pub foreign_objects: &'a [(String, Vec<u8>)],
    /// Whether the objects will be linked with the run-time library for the memory of derivatives.
    pub keeps_memory: bool,
}

/// A finished object or program.
pub(crate) struct Object {
    pub name: String,
    pub about: ObjectInfo,
    /// The contents of the file.
    pub code: Vec<u8>,
}

/// The objects of a library or program, before they are made.
pub(crate) struct Objects<'a> {
    staged: &'a Staged,
    target: Target<'a>,
    layout: Layout,
}

/// The division into objects, and facts about the units in them.
pub(crate) struct Layout {
    groups: Vec<Group>,
    digests: Vec<Digest>,
    /// For each unit, by index, the names by which other objects call it, ENTRY names included.
    elsewhere: HashMap<usize, Vec<Name>>,
    block_data: HashSet<Name>,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(staged: &'a Staged, target: Target<'a>) -> Objects<'a> {
        let program = &staged.program;
        let groups = match &target {
            Target::Library {
                exports,
                by_instance,
                ..
            } if staged.verify.is_some() || *by_instance => {
                let mut all = whole(program, &staged.requests, exports);
                let units = program.units.iter().enumerate();
                let called = units.filter(|(_, u)| staged.by_name.contains(&u.name));
                all.shared.extend(called.map(|(i, _)| i));
                vec![all]
            }
            Target::Library { exports, part, .. } => groups(
                program,
                &staged.requests,
                &staged.references,
                exports,
                &staged.by_name,
                *part,
            ),
            Target::Program => vec![whole(program, &staged.requests, &[])],
        };
        let place: HashMap<&Name, usize> = program
            .units
            .iter()
            .enumerate()
            .map(|(i, u)| (&u.name, i))
            .collect();
        let mut elsewhere: HashMap<usize, Vec<Name>> = HashMap::new();
        for (name, owner) in entries(program) {
            if let Some(i) = place.get(&owner) {
                elsewhere.entry(*i).or_default().push(name);
            }
        }
        let layout = Layout {
            groups,
            digests: digests(program, &staged.report.sources),
            elsewhere,
            block_data: program
                .units
                .iter()
                .filter(|u| u.kind == UnitKind::BlockData)
                .map(|u| u.name.clone())
                .collect(),
        };
        Objects::with(staged, target, layout)
    }

    /// Restores objects from the layout returned by [`Objects::into_layout`].
    pub(crate) fn with(staged: &'a Staged, target: Target<'a>, layout: Layout) -> Objects<'a> {
        Objects {
            staged,
            target,
            layout,
        }
    }

    /// Returns the part that does not borrow the program.
    pub(crate) fn into_layout(self) -> Layout {
        self.layout
    }

    /// Returns the checks to be made while the program runs.
    pub(crate) fn plan(&self) -> Option<&DerivativeChecks> {
        self.staged.verify.as_ref()
    }

    /// Returns the contents of each object.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.layout.groups
    }

    /// Returns the keys of all objects, in their order.
    pub(crate) fn keys(&self, tools: &BuildTools) -> Vec<Key> {
        self.groups().iter().map(|g| self.key(g, tools)).collect()
    }

    /// Returns the key of an object: a hash of everything that determines it.
    fn key(&self, group: &Group, tools: &BuildTools) -> Key {
        let units = &self.staged.program.units;
        let names = |positions: &[usize]| {
            let names: Vec<&str> = positions.iter().map(|i| units[*i].name.as_str()).collect();
            names.join(" ")
        };
        let flags = self.flags(group, tools);
        let kind = match self.target {
            Target::Library { .. } => "object",
            Target::Program => "program",
        };
        let mut key = Key::builder(kind)
            .field("farfel", crate::identity::identity())
            .field("compiler", tools.compiler_identity)
            .field("flags", flags.join("\n"));
        if let Target::Library {
            names,
            facts,
            by_instance,
            traps,
            ..
        } = &self.target
        {
            key = key
                .field("package", &*names.module)
                .field("checks", facts.plan.recipe())
                .field("recursive", format!("{:?}", facts.stack.recursive));
            if *by_instance {
                key = key.field("state", "by instance");
            }
            if !traps.is_empty() {
                key = key.field("float errors", format!("{traps:?}"));
            }
        }
        key = key
            .field("object", if group.alone { "" } else { &group.name })
            .field("exports", group.exports.join(" "))
            .field("shared", names(&group.shared))
            .field("compiled", names(&group.units));
        if !self.staged.by_name.is_empty() {
            let names: Vec<&str> = self.staged.by_name.iter().map(Name::as_str).collect();
            key = key.field("known to C", names.join(" "));
        }
        for (name, code) in tools.foreign_objects {
            key = key.field(&format!("object {name}"), blake3::hash(code).as_bytes());
        }
        if let Some(plan) = &self.staged.verify {
            key = key.field("checks", format!("{plan:?}"));
        }
        if let Some(redirect) = self.redirect(group, tools) {
            key = key.field("memory", redirect);
        }
        if !group.requests.is_empty() {
            key = key.field("tool", tools.tool_identity);
        }
        for r in &group.requests {
            let Request {
                id,
                mode,
                head,
                suffix,
                derivative,
                independents,
                dependents,
                paired,
                vector,
                directions,
                real,
                span: _,
            } = &self.staged.requests[*r];
            key = key.field(
                &format!("derivative {derivative}"),
                format!("{id} {mode:?} {head} {suffix} {independents:?} {dependents:?} {paired:?} {vector} {directions:?} {real}"),
            );
        }
        for i in &group.reads {
            let name = match units[*i].name.as_str() {
                "" => "BLOCK DATA",
                name => name,
            };
            key = key.field(
                &format!("text of {name}"),
                self.layout.digests[*i].text.as_bytes(),
            );
        }
        for i in &group.calls {
            key = key.field(
                &format!("interface of {}", units[*i].name),
                self.layout.digests[*i].interface.as_bytes(),
            );
        }
        // Line numbers matter only if the object can report them.
        let traps = matches!(self.target, Target::Library { traps, .. } if !traps.is_empty());
        let names_lines = traps
            || self.fails(group)
            || group
                .reads
                .iter()
                .any(|i| self.layout.digests[*i].names_lines)
            || flags
                .iter()
                .any(|f| NAMING_LINES.iter().any(|p| f.starts_with(p)));
        if names_lines {
            key = key.field("lines", self.places(group).as_bytes());
        }
        key.finish()
    }

    fn places(&self, group: &Group) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for i in &group.reads {
            hasher.update(self.layout.digests[*i].places.as_bytes());
        }
        hasher.finalize()
    }

    /// Whether a check in an object may fail.
    fn fails(&self, group: &Group) -> bool {
        let Target::Library { facts, .. } = &self.target else {
            return false;
        };
        let units = group.reads.iter();
        let units = units.map(|i| &self.staged.program.units[*i].name);
        let derivatives = group.requests.iter();
        let derivatives = derivatives.map(|r| &self.staged.requests[*r].derivative);
        units.chain(derivatives).any(|n| facts.fails.contains(n))
    }

    /// Returns the statements for the assembler with which an object's memory is kept between calls.
    fn redirect(&self, group: &Group, tools: &BuildTools) -> Option<String> {
        let units = &self.staged.program.units;
        let library = matches!(self.target, Target::Library { .. });
        // Arrays that were moved off the stack are freed if the call ends early.
        let moves = |i: &usize| units[*i].recursive && !moved(&units[*i]).is_empty();
        let allocates = !group.requests.is_empty() || (library && group.units.iter().any(moves));
        let keeps = tools.keeps_memory && allocates;
        keeps.then(|| memory::redirect(group.reads.iter().map(|i| &units[*i]), library))
    }

    fn flags(&self, group: &Group, tools: &BuildTools) -> Vec<String> {
        let mut flags = tools.flags.to_vec();
        let unwinds = match &self.target {
            Target::Library { facts, .. } => {
                let units = group.reads.iter();
                let units = units.map(|i| &self.staged.program.units[*i].name);
                let derivatives = group.requests.iter();
                let derivatives = derivatives.map(|r| &self.staged.requests[*r].derivative);
                let mut all = units.chain(derivatives);
                all.any(|n| facts.unwinds.contains(n))
            }
            Target::Program => false,
        };
        if unwinds || self.fails(group) {
            // STOP, and panics of closures, unwind through Fortran frames.
            flags.push("-fexceptions".into());
        }
        if self.fails(group) {
            // A check must compare the same value that is used afterwards, whatever the program computes. So
            // the compiler must not assume that integers never overflow or that arrays end where their
            // declarations say, and must not evaluate the second operand of `.AND.` if the first decides.
            let safe = [
                "-fwrapv",
                "-fno-aggressive-loop-optimizations",
                "-ffrontend-optimize",
            ];
            flags.extend(safe.map(str::to_owned));
        }
        if matches!(self.target, Target::Library { .. }) {
            // Automatic arrays are on the heap, where a lack of memory is detected.
            flags.push("-fno-stack-arrays".into());
            // A stack overflow hits the guard page instead of other memory.
            if cfg!(target_os = "linux") {
                flags.push("-fstack-clash-protection".into());
            }
        }
        // Extensions that gfortran only accepts with a flag.
        let units = &self.staged.program.units;
        let specs = || group.reads.iter().flat_map(|i| &units[*i].specs);
        let by_instance = matches!(
            self.target,
            Target::Library {
                by_instance: true,
                ..
            }
        );
        if by_instance || specs().any(|s| matches!(s.kind, SpecKind::Pointer(_))) {
            flags.push("-fcray-pointer".into());
        }
        if group.reads.iter().any(|i| goes_backwards(&units[*i])) {
            // gfortran 12 sums and assigns wrong elements of such sections, in plain Fortran, too.
            flags.push("-fno-tree-loop-vectorize".into());
        }
        if specs().any(|s| matches!(s.kind, SpecKind::Attribute(Attribute::Automatic, _))) {
            flags.push("-fdec-static".into());
        }
        flags
    }

    /// Returns the object with a key from the object store or the cache, provided that its diagnostics still
    /// refer to the right places.
    fn find_existing(
        &self,
        group: &Group,
        key: &Key,
        tools: &BuildTools,
    ) -> Result<Option<(Object, Vec<Diagnostic>, StepOrigin)>, Error> {
        let valid_warnings = |about: &ObjectInfo| {
            if let Some(places) = &about.places
                && *places != self.places(group).to_hex().as_str()
            {
                return None;
            }
            messages::from_text(&about.messages, &self.staged.report.sources)
        };
        let object = |about: ObjectInfo, code: Vec<u8>| Object {
            name: group.name.clone(),
            about,
            code,
        };
        if let Some((about, code)) = tools.object_store.find(&group.name, &key.hex())
            && let Some(warnings) = valid_warnings(about)
        {
            return Ok(Some((
                object(about.clone(), code),
                warnings,
                StepOrigin::Fresh,
            )));
        }
        let Some((Entry { files }, origin)) = tools.cache.find(key) else {
            return Ok(None);
        };
        let from = match origin {
            Origin::Remote => StepOrigin::Remote,
            _ => StepOrigin::Cache,
        };
        let mut files: HashMap<String, Vec<u8>> = files.into_iter().collect();
        let (Some(about), Some(code), Some(text)) = (
            files.remove("about"),
            files.remove("code"),
            files.remove("text"),
        ) else {
            return Ok(None);
        };
        let Some((about, warnings)) = serde_json::from_slice::<ObjectInfo>(&about)
            .ok()
            .and_then(|about| valid_warnings(&about).map(|w| (about, w)))
        else {
            return Ok(None);
        };
        tools.object_store.put(&group.name, &code, &text)?;
        Ok(Some((object(about, code), warnings, from)))
    }

    /// Makes an object whose derivatives have been computed.
    fn object(
        &self,
        group: &Group,
        key: &Key,
        derivatives: &Derivatives,
        tools: &BuildTools,
        worker: usize,
    ) -> Result<(Object, Vec<Diagnostic>), Failure> {
        let sources = &self.staged.report.sources;
        let step = tools.recorder.begin("generate", &group.name, worker);
        let (text, needs_stack) = self.text(group, derivatives, false);
        let mut took_ms = tools.recorder.end(step, StepOrigin::Ran);

        let mut step = tools.recorder.begin("compile", &group.name, worker);
        let why = reason(tools.object_store.recipe(&group.name), key.recipe());
        tools.recorder.works(&mut step, why);
        let mut others: Vec<Vec<u8>> = tools
            .foreign_objects
            .iter()
            .map(|(_, code)| code.clone())
            .collect();
        if needs_stack && matches!(self.target, Target::Program) {
            others.extend((tools.stack)()?);
        }
        let flags = self.flags(group, tools);
        let redirect = self.redirect(group, tools);
        let redirect = redirect.as_deref();
        let compiled = gfortran::compile(tools.compiler, &flags, &text, redirect, &others, sources);
        took_ms += tools.recorder.end(step, StepOrigin::Ran);
        let compiled = compiled?;

        // The AD tool's diagnostics are stored with the object, so that they can be repeated.
        let mut warnings = derivatives.diagnostics(group.requests.iter().copied());
        warnings.extend(compiled.warnings);
        let about = ObjectInfo {
            needs_stack,
            messages: messages::to_text(&warnings, sources),
            places: (!warnings.is_empty()).then(|| self.places(group).to_hex().to_string()),
            took_ms,
        };
        let text = encode(&text);
        tools
            .object_store
            .put(&group.name, &compiled.output, &text)?;
        let entry = Entry {
            files: vec![
                (
                    "about".into(),
                    serde_json::to_vec(&about).unwrap_or_default(),
                ),
                ("code".into(), compiled.output.clone()),
                ("text".into(), text.into_owned()),
            ],
        };
        tools.cache.put(key, &entry);
        let object = Object {
            name: group.name.clone(),
            about,
            code: compiled.output,
        };
        Ok((object, warnings))
    }

    /// Returns the Fortran of an object with line markers, where they are needed or on every line, and
    /// whether it calls the stack of the tool's adjoints.
    pub(crate) fn text(
        &self,
        group: &Group,
        derivatives: &Derivatives,
        every_line: bool,
    ) -> (String, bool) {
        let sources = &self.staged.report.sources;
        let mut program =
            derivatives.program(group.units.iter().copied(), group.requests.iter().copied());
        let mut needs_stack = farfel_tools::tapenade::needs_support(&program);
        if let Some(plan) = &self.staged.verify {
            let own = self.staged.program.units.iter().map(|u| u.name.clone());
            let library = matches!(self.target, Target::Library { .. });
            let requests = &self.staged.requests;
            let missing = |request: usize| derivatives.has_failed(request);
            instrument(
                &mut program,
                &own.collect(),
                plan,
                requests,
                &missing,
                library,
            );
            needs_stack = true;
        }
        let text = match &self.target {
            Target::Program => {
                prune_differentiated(&mut program, &self.staged.roots);
                locals::share(&mut program, false);
                assemble::program_text(&program, sources, every_line)
            }
            Target::Library {
                names,
                facts,
                by_instance,
                traps,
                ..
            } => {
                let unit_name = |i: &usize| self.staged.program.units[*i].name.clone();
                let links = Links {
                    // A digit where no Fortran name has one.
                    object: (!group.alone)
                        .then(|| group.name.to_ascii_uppercase().replace("SHARED-", "0")),
                    shared: group.shared.iter().map(unit_name).collect(),
                    elsewhere: group
                        .calls
                        .iter()
                        .filter_map(|i| self.layout.elsewhere.get(i))
                        .flatten()
                        .cloned()
                        .collect(),
                    block_data: self.layout.block_data.clone(),
                    by_name: self.staged.by_name.clone(),
                };
                let called = |u: &&Unit| u.entry_points().any(|e| group.exports.contains(e.name));
                let called = program.units.iter().filter(called).map(|u| u.name.clone());
                let roots: Vec<Name> = called.chain(links.shared.iter().cloned()).collect();
                prune_differentiated(&mut program, &roots);
                facts
                    .plan
                    .protect(&mut program, &self.staged.program, sources);
                let recursive = facts.stack.with_generated(&program, facts.layout);
                ends::replace(&mut program, &self.staged.program, &recursive, sources);
                let known = self.staged.program.units.iter().map(|u| &u.name);
                locals::allocate(&mut program, &known.collect());
                locals::share(&mut program, true);
                let mut exports = group.exports.clone();
                if *by_instance {
                    let of_instance = |n: &&Name| facts.of_instance.contains(*n);
                    let known = self.staged.program.units.iter().map(|u| &u.name);
                    let signatures = StateSignatures {
                        with: exports.iter().filter(of_instance).collect(),
                        without: known.filter(|n| !of_instance(n)).collect(),
                    };
                    let lent = instances::lent_blocks(&self.staged.program, &links.by_name);
                    instances::convert(
                        &mut program,
                        &signatures,
                        &lent,
                        &links.by_name,
                        facts.plan.real(),
                    );
                    exports.extend([instances::BYTES.into(), instances::START.into()]);
                }
                Library::new(program, (*names).clone(), &links)
                    .text(&exports, traps, sources, every_line)
            }
        };
        (text, needs_stack)
    }
}

/// An object of the last build, with its key and recipe.
pub(crate) struct KeyedObject {
    pub object: Object,
    pub key: String,
    pub recipe: String,
}

/// Makes the objects that are neither in the object store nor in the cache, and stores them there. `parts`
/// are those of a library, or a single one, each with the keys of its objects. Returns the objects of all
/// parts in the order of their groups, and adds the AD tool's and the compiler's diagnostics to
/// `diagnostics`.
///
/// # Errors
///
/// The errors in the sources that were found for any object, each once; if there are none, the first other
/// error.
pub(crate) fn make(
    parts: &[(Objects, Vec<Key>)],
    tools: &BuildTools,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Vec<Object>, Error> {
    // All objects, as pairs of part and group.
    let all: Vec<(usize, usize)> = parts
        .iter()
        .enumerate()
        .flat_map(|(p, (_, keys))| (0..keys.len()).map(move |g| (p, g)))
        .collect();
    let found: Vec<OnceLock<(Object, Vec<Diagnostic>)>> =
        all.iter().map(|_| OnceLock::new()).collect();
    let failures: Vec<OnceLock<Failure>> = all.iter().map(|_| OnceLock::new()).collect();
    tools.recorder.progress.announce(all.len());
    tools
        .workers
        .run(&vec![Vec::new(); all.len()], &|o, worker| {
            let (part, group, key) = object_of(parts, all[o]);
            let mut step = tools.recorder.begin("compile", &group.name, worker);
            match part.find_existing(group, key, tools) {
                Ok(Some((object, warnings, from))) => {
                    step.saved_ms = Some(object.about.took_ms);
                    found[o].get_or_init(|| (object, warnings));
                    tools.recorder.end(step, from);
                }
                Ok(None) => tools.recorder.progress.end(worker),
                Err(error) => {
                    tools.recorder.progress.end(worker);
                    failures[o].get_or_init(|| error.into());
                }
            }
            true
        });

    // The remaining objects are made, the largest first, so that short tasks come last.
    let mut missing: Vec<usize> = (0..all.len())
        .filter(|o| found[*o].get().is_none() && failures[*o].get().is_none())
        .collect();
    missing.sort_by_key(|o| {
        let (_, group, _) = object_of(parts, all[*o]);
        (std::cmp::Reverse(group.reads.len()), *o)
    });
    let derivatives: HashMap<usize, Derivatives> = missing
        .iter()
        .map(|o| all[*o].0)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|p| (p, parts[p].0.staged.derivatives(tools.tool)))
        .collect();
    let mut tasks: Vec<Task> = Vec::new();
    let mut needs: Vec<Vec<usize>> = Vec::new();
    let mut request_task: HashMap<(usize, usize), usize> = HashMap::new();
    for o in missing {
        let (p, _) = all[o];
        let (_, group, _) = object_of(parts, all[o]);
        for r in &group.requests {
            if request_task.contains_key(&(p, *r)) {
                continue;
            }
            let earlier = derivatives[&p].needs(*r).iter();
            needs.push(
                earlier
                    .filter_map(|n| request_task.get(&(p, *n)).copied())
                    .collect(),
            );
            request_task.insert((p, *r), tasks.len());
            tools.recorder.progress.announce(1);
            tasks.push(Task::Request(p, *r));
        }
        tasks.push(Task::Object(o));
        needs.push(
            group
                .requests
                .iter()
                .map(|r| request_task[&(p, *r)])
                .collect(),
        );
    }
    tools
        .workers
        .run(&needs, &|task, worker| match tasks[task] {
            Task::Request(p, r) => {
                let name = parts[p].0.staged.requests[r].derivative.as_str();
                let step = tools.recorder.begin("request", name, worker);
                let good = derivatives[&p].make(r);
                tools.recorder.end(step, StepOrigin::Ran);
                good
            }
            Task::Object(o) => {
                let (part, group, key) = object_of(parts, all[o]);
                match part.object(group, key, &derivatives[&all[o].0], tools, worker) {
                    Ok(object) => {
                        found[o].get_or_init(|| object);
                        true
                    }
                    Err(error) => {
                        failures[o].get_or_init(|| error);
                        false
                    }
                }
            }
        });

    let mut objects = Vec::new();
    let mut errors = Vec::new();
    // Diagnostics stored with objects come first, so that the order is the same in a build that makes
    // nothing.
    let mut repeated: Vec<(usize, Diagnostic)> = Vec::new();
    let mut refused: Vec<(usize, Diagnostic)> = Vec::new();
    for (p, made) in derivatives.iter().collect::<BTreeMap<_, _>>() {
        let asked = request_task.keys().filter(|(part, _)| part == p);
        let asked: BTreeSet<usize> = asked.map(|(_, r)| *r).collect();
        refused.extend(made.diagnostics(asked).into_iter().map(|d| (*p, d)));
    }
    for (((p, _), object), failure) in all.iter().zip(found).zip(failures) {
        if let Some((object, warnings)) = object.into_inner() {
            repeated.extend(warnings.into_iter().map(|d| (*p, d)));
            objects.push(object);
        }
        match failure.into_inner() {
            Some(Failure::Diagnostics(d)) => refused.extend(d.into_iter().map(|d| (*p, d))),
            Some(Failure::Error(e)) => errors.push(e),
            None => {}
        }
    }
    for (p, d) in repeated.into_iter().chain(refused) {
        // Comments allow warnings in some units, which only their part knows.
        let mut one = vec![d];
        parts[p].0.staged.explain(&mut one);
        parts[p].0.staged.lints.apply(&mut one);
        for d in one {
            // A warning about a statement that is in two objects is shown once, whoever requested it.
            let known = |x: &Diagnostic| match d.is_error() {
                true => *x == d,
                false => x.rule == d.rule && x.span == d.span && x.message == d.message,
            };
            if !diagnostics.iter().any(known) {
                diagnostics.push(d);
            }
        }
    }
    if any_errors(diagnostics) {
        let sources = parts.first().map(|(o, _)| o.staged.report.sources.clone());
        return Err(Error::Diagnostics(Report {
            sources: sources.unwrap_or_default(),
            diagnostics: std::mem::take(diagnostics),
        }));
    }
    match errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(objects),
    }
}

fn object_of<'p, 'a>(
    parts: &'p [(Objects<'a>, Vec<Key>)],
    (part, group): (usize, usize),
) -> (&'p Objects<'a>, &'p Group, &'p Key) {
    let (objects, keys) = &parts[part];
    (objects, &objects.groups()[group], &keys[group])
}

/// A unit of work.
enum Task {
    /// The computation of a derivative: the part and the request.
    Request(usize, usize),
    /// The compilation of an object.
    Object(usize),
}

/// Whether a unit has an array section whose step is not known to be positive.
fn goes_backwards(unit: &Unit) -> bool {
    let mut found = false;
    walk_exprs(&unit.body, &mut |e| {
        if let ExprKind::Range(_, _, Some(step)) = &e.kind {
            found |= constant::integer(unit, step).is_none_or(|n| n < 0);
        }
    });
    found
}

/// Returns the name of the field in a line of a recipe.
fn name(line: &str) -> &str {
    let end = [" = ", " : "].iter().filter_map(|s| line.find(s)).min();
    &line[..end.unwrap_or(line.len())]
}

/// Returns the reason why an object is made: the first line in which its recipe differs from the last one.
pub(crate) fn reason(before: Option<&str>, now: &str) -> String {
    let Some(before) = before else {
        return "it is new".into();
    };
    let known: HashSet<&str> = before.lines().collect();
    match now.lines().find(|l| !known.contains(l)) {
        Some(line) => format!("changed: {}", name(line)),
        None if before.lines().count() > now.lines().count() => "something is gone".into(),
        None => "the cache no longer had it".into(),
    }
}
