//! The object files of a library, or the one program: which there are, what each is made
//! from, and making those that the cache does not have.

use super::derivatives::{Derivatives, Staged, Tool};
use super::digests::{Digest, digests};
use super::groups::{Group, References, groups, whole};
use super::messages;
use super::recorder::Recorder;
use super::shelf::{About, Shelf};
use super::workers::Workers;
use crate::assemble::{self, Library, Links};
use crate::cache::{Cache, Entry, Key, Origin};
use crate::facts::{Facts, entries};
use crate::gfortran::{self, Fault};
use crate::names::Names;
use crate::timings::From;
use crate::toolchain::Compiler;
use crate::{Error, Report};
use farfel_lang::Diagnostic;
use farfel_lang::diagnostic::any_errors;
use farfel_lang::ir::{Attribute, Name, Program, Request, SpecKind, UnitKind};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

/// How flags begin with which the compiled code knows the numbers of lines.
const NAMING_LINES: [&str; 7] = [
    "-g",
    "-fcheck",
    "-fbounds",
    "-fsan",
    "--coverage",
    "-coverage",
    "-ftest-coverage",
];

/// What is made.
pub(crate) enum Target<'a> {
    /// Objects with these subprograms for Rust to call.
    Library {
        exports: &'a [Name],
        names: &'a Names,
        /// Where STOP may happen it goes through the frames of Fortran.
        facts: &'a Facts,
    },
    /// A program that is run.
    Program,
}

/// With what it is made.
pub(crate) struct Means<'a> {
    pub tool: &'a Tool,
    /// What distinguishes the tool from others: name, version, options.
    pub tool_identity: &'a str,
    pub compiler: &'a Compiler,
    /// What distinguishes the compiler from others.
    pub compiler_identity: &'a str,
    pub flags: &'a [String],
    /// The object files with the stack that the tool's adjoints use, when they are asked for.
    pub stack: &'a (dyn Fn() -> Result<Vec<Vec<u8>>, Error> + Sync),
    pub cache: &'a Cache,
    pub workers: &'a Workers,
    pub recorder: &'a Recorder,
    /// The objects of the last build.
    pub shelf: &'a Shelf,
}

/// An object that is there, or a program.
pub(crate) struct Object {
    pub name: String,
    pub about: About,
    /// The contents.
    pub code: Vec<u8>,
}

/// The objects of a library or program, before they are made.
pub(crate) struct Objects<'a> {
    staged: &'a Staged,
    target: Target<'a>,
    pub groups: Vec<Group>,
    digests: Vec<Digest>,
    /// Where ENTRY names and unit names of units lead that other objects have.
    elsewhere: HashMap<usize, Vec<Name>>,
    block_data: HashSet<Name>,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(staged: &'a Staged, target: Target<'a>) -> Objects<'a> {
        let program = &staged.program;
        let groups = match &target {
            Target::Library { exports, .. } => {
                groups(program, &staged.requests, &staged.references, exports)
            }
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
        Objects {
            staged,
            target,
            groups,
            digests: digests(program, &staged.report.sources),
            elsewhere,
            block_data: program
                .units
                .iter()
                .filter(|u| u.kind == UnitKind::BlockData)
                .map(|u| u.name.clone())
                .collect(),
        }
    }

    /// Everything that decides what an object is.
    pub(crate) fn key(&self, group: &Group, means: &Means) -> Key {
        let units = &self.staged.program.units;
        let names = |positions: &[usize]| {
            let names: Vec<&str> = positions.iter().map(|i| units[*i].name.as_str()).collect();
            names.join(" ")
        };
        let flags = self.flags(group, means);
        let kind = match self.target {
            Target::Library { .. } => "object",
            Target::Program => "program",
        };
        let mut key = Key::builder(kind)
            .field("farfel", crate::identity())
            .field("compiler", means.compiler_identity)
            .field("flags", flags.join("\n"));
        if let Target::Library { names, .. } = &self.target {
            key = key.field("package", &*names.module);
        }
        key = key
            .field("object", if group.alone { "" } else { &group.name })
            .field("exports", group.exports.join(" "))
            .field("shared", names(&group.shared))
            .field("compiled", names(&group.units));
        if !group.requests.is_empty() {
            key = key.field("tool", means.tool_identity);
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
                span: _,
            } = &self.staged.requests[*r];
            key = key.field(
                &format!("derivative {derivative}"),
                format!("{id} {mode:?} {head} {suffix} {independents:?} {dependents:?} {paired:?} {vector}"),
            );
        }
        for i in &group.reads {
            let name = match units[*i].name.as_str() {
                "" => "BLOCK DATA",
                name => name,
            };
            key = key.field(&format!("text of {name}"), self.digests[*i].text.as_bytes());
        }
        for i in &group.calls {
            key = key.field(
                &format!("interface of {}", units[*i].name),
                self.digests[*i].interface.as_bytes(),
            );
        }
        // Numbers of lines are in the object only where it can name them.
        let names_lines = group.reads.iter().any(|i| self.digests[*i].names_lines)
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
            hasher.update(self.digests[*i].places.as_bytes());
        }
        hasher.finalize()
    }

    fn flags(&self, group: &Group, means: &Means) -> Vec<String> {
        let mut flags = means.flags.to_vec();
        if let Target::Library { facts, .. } = &self.target
            && group
                .reads
                .iter()
                .any(|i| facts.stops.contains(&self.staged.program.units[*i].name))
        {
            // STOP finds its way back through the Fortran frames.
            flags.push("-fexceptions".into());
        }
        // Extensions that gfortran must be asked for.
        let units = &self.staged.program.units;
        let specs = || group.reads.iter().flat_map(|i| &units[*i].specs);
        if specs().any(|s| matches!(s.kind, SpecKind::Pointer(_))) {
            flags.push("-fcray-pointer".into());
        }
        if specs().any(|s| matches!(s.kind, SpecKind::Attribute(Attribute::Automatic, _))) {
            flags.push("-fdec-static".into());
        }
        flags
    }

    /// Makes what is neither on the shelf nor in the cache, and puts it there. Returns the
    /// objects in the order of the groups, and adds to the diagnostics what the AD tool and
    /// the compiler have to say.
    ///
    /// # Errors
    ///
    /// The faults of all objects, each once; where there are none, the first other error.
    pub(crate) fn make(
        &self,
        keys: &[Key],
        means: &Means,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Object>, Error> {
        let found: Vec<OnceLock<(Object, Vec<Diagnostic>)>> =
            keys.iter().map(|_| OnceLock::new()).collect();
        let faults: Vec<OnceLock<Fault>> = keys.iter().map(|_| OnceLock::new()).collect();
        let all: Vec<Vec<usize>> = vec![Vec::new(); keys.len()];
        means.workers.run(&all, &|g, worker| {
            let group = &self.groups[g];
            let mut step = means.recorder.begin("compile", &group.name, worker);
            match self.kept(group, &keys[g], means) {
                Ok(Some((object, warnings, from))) => {
                    step.saved_ms = Some(object.about.took_ms);
                    found[g].get_or_init(|| (object, warnings));
                    means.recorder.end(step, from);
                }
                Ok(None) => {}
                Err(error) => {
                    faults[g].get_or_init(|| error.into());
                }
            }
            true
        });

        // The rest is made, the largest first: what comes last should be short.
        let mut missing: Vec<usize> = (0..keys.len())
            .filter(|g| found[*g].get().is_none() && faults[*g].get().is_none())
            .collect();
        missing.sort_by_key(|g| (std::cmp::Reverse(self.groups[*g].reads.len()), *g));
        let derivatives = Derivatives::new(self.staged, means.tool);
        let mut tasks: Vec<Task> = Vec::new();
        let mut needs: Vec<Vec<usize>> = Vec::new();
        let mut request_task: HashMap<usize, usize> = HashMap::new();
        for g in missing {
            for r in &self.groups[g].requests {
                if !request_task.contains_key(r) {
                    request_task.insert(*r, tasks.len());
                    tasks.push(Task::Request(*r));
                    needs.push(
                        derivatives
                            .needs(*r)
                            .iter()
                            .filter_map(|n| request_task.get(n).copied())
                            .collect(),
                    );
                }
            }
            tasks.push(Task::Object(g));
            needs.push(
                self.groups[g]
                    .requests
                    .iter()
                    .map(|r| request_task[r])
                    .collect(),
            );
        }
        means
            .workers
            .run(&needs, &|task, worker| match tasks[task] {
                Task::Request(r) => {
                    let name = self.staged.requests[r].derivative.as_str();
                    let step = means.recorder.begin("request", name, worker);
                    let good = derivatives.make(r);
                    means.recorder.end(step, From::Ran);
                    good
                }
                Task::Object(g) => {
                    match self.object(&self.groups[g], &keys[g], &derivatives, means, worker) {
                        Ok(object) => {
                            found[g].get_or_init(|| object);
                            true
                        }
                        Err(fault) => {
                            faults[g].get_or_init(|| fault);
                            false
                        }
                    }
                }
            });

        let mut objects = Vec::new();
        let mut errors = Vec::new();
        // First what stands with objects: so the order is that of a build that makes nothing.
        let mut said = Vec::new();
        let mut refused = derivatives.said(request_task.keys().copied().collect::<BTreeSet<_>>());
        for (object, fault) in found.into_iter().zip(faults) {
            if let Some((object, warnings)) = object.into_inner() {
                said.extend(warnings);
                objects.push(object);
            }
            match fault.into_inner() {
                Some(Fault::Diagnostics(d)) => refused.extend(d),
                Some(Fault::Error(e)) => errors.push(e),
                None => {}
            }
        }
        for d in said.into_iter().chain(refused) {
            // A statement that two objects have is warned of once, whoever asked for it.
            let known = |x: &Diagnostic| match d.is_error() {
                true => *x == d,
                false => x.rule == d.rule && x.span == d.span && x.message == d.message,
            };
            if !diagnostics.iter().any(known) {
                diagnostics.push(d);
            }
        }
        self.staged.lints.apply(diagnostics);
        if any_errors(diagnostics) {
            return Err(Error::Diagnostics(Report {
                sources: self.staged.report.sources.clone(),
                diagnostics: std::mem::take(diagnostics),
            }));
        }
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(objects),
        }
    }

    /// What the shelf or the cache has under a key, if what was said about it still names the
    /// right places.
    fn kept(
        &self,
        group: &Group,
        key: &Key,
        means: &Means,
    ) -> Result<Option<(Object, Vec<Diagnostic>, From)>, Error> {
        let said = |about: &About| {
            if let Some(places) = &about.places
                && *places != self.places(group).to_hex().as_str()
            {
                return None;
            }
            messages::from_text(&about.messages, &self.staged.report.sources)
        };
        let object = |about: About, code: Vec<u8>| Object {
            name: group.name.clone(),
            about,
            code,
        };
        if let Some((about, code)) = means.shelf.find(&group.name, &key.hex())
            && let Some(warnings) = said(about)
        {
            return Ok(Some((object(about.clone(), code), warnings, From::Fresh)));
        }
        let Some((Entry { files }, origin)) = means.cache.find(key) else {
            return Ok(None);
        };
        let from = match origin {
            Origin::Remote => From::Remote,
            _ => From::Cache,
        };
        let mut files: HashMap<String, Vec<u8>> = files.into_iter().collect();
        let (Some(about), Some(code), Some(text)) = (
            files.remove("about"),
            files.remove("code"),
            files.remove("text"),
        ) else {
            return Ok(None);
        };
        let Some((about, warnings)) = serde_json::from_slice::<About>(&about)
            .ok()
            .and_then(|about| said(&about).map(|w| (about, w)))
        else {
            return Ok(None);
        };
        means.shelf.put(&group.name, &code, &text)?;
        Ok(Some((object(about, code), warnings, from)))
    }

    /// Makes an object whose derivatives have been made.
    fn object(
        &self,
        group: &Group,
        key: &Key,
        derivatives: &Derivatives,
        means: &Means,
        worker: usize,
    ) -> Result<(Object, Vec<Diagnostic>), Fault> {
        let sources = &self.staged.report.sources;
        let step = means.recorder.begin("generate", &group.name, worker);
        let (text, needs_stack) = self.text(group, derivatives, true);
        let mut took_ms = means.recorder.end(step, From::Ran);

        let mut step = means.recorder.begin("compile", &group.name, worker);
        step.reason = Some(reason(means.shelf.recipe(&group.name), key.recipe()));
        let mut stack = Vec::new();
        if needs_stack && matches!(self.target, Target::Program) {
            stack = (means.stack)()?;
        }
        let flags = self.flags(group, means);
        let compiled = gfortran::compile(means.compiler, &flags, &text, &stack, sources);
        took_ms += means.recorder.end(step, From::Ran);
        let compiled = compiled?;

        // With the object goes what the AD tool said, so that it is said again.
        let mut warnings = derivatives.said(group.requests.iter().copied());
        warnings.extend(compiled.warnings);
        let about = About {
            needs_stack,
            messages: messages::to_text(&warnings, sources),
            places: (!warnings.is_empty()).then(|| self.places(group).to_hex().to_string()),
            took_ms,
        };
        means
            .shelf
            .put(&group.name, &compiled.output, text.as_bytes())?;
        let entry = Entry {
            files: vec![
                (
                    "about".into(),
                    serde_json::to_vec(&about).unwrap_or_default(),
                ),
                ("code".into(), compiled.output.clone()),
                ("text".into(), text.into_bytes()),
            ],
        };
        means.cache.put(key, &entry);
        let object = Object {
            name: group.name.clone(),
            about,
            code: compiled.output,
        };
        Ok((object, warnings))
    }

    /// The Fortran of an object, and whether it calls the stack of the tool's adjoints.
    pub(crate) fn text(
        &self,
        group: &Group,
        derivatives: &Derivatives,
        line_markers: bool,
    ) -> (String, bool) {
        let sources = line_markers.then_some(&self.staged.report.sources);
        let requests: BTreeSet<usize> = group.requests.iter().copied().collect();
        let program = derivatives.program(&group.units, &requests);
        let needs_stack = farfel_ad::tapenade::needs_support(&program);
        let text = match &self.target {
            Target::Program => assemble::program_text(&program, sources),
            Target::Library { names, .. } => {
                let unit_name = |i: &usize| self.staged.program.units[*i].name.clone();
                let links = Links {
                    // A digit where no Fortran name has one.
                    object: (!group.alone)
                        .then(|| group.name.to_ascii_uppercase().replace("SHARED-", "0")),
                    shared: group.shared.iter().map(unit_name).collect(),
                    elsewhere: group
                        .calls
                        .iter()
                        .filter_map(|i| self.elsewhere.get(i))
                        .flatten()
                        .cloned()
                        .collect(),
                    block_data: self.block_data.clone(),
                };
                let program = match group.alone {
                    true => program,
                    false => pruned(program, group, &links),
                };
                Library::new(program, (*names).clone(), &links).text(&group.exports, sources)
            }
        };
        (text, needs_stack)
    }
}

/// A thing to do.
enum Task {
    Request(usize),
    Object(usize),
}

/// Without the units that only the AD tool had to see.
fn pruned(mut program: Program, group: &Group, links: &Links) -> Program {
    let references = References::of(&program, &[]);
    let wanted = |name: &Name| group.exports.contains(name) || links.shared.contains(name);
    let roots = (0..program.units.len()).filter(|i| wanted(&program.units[*i].name));
    let reached = references.reached(roots.collect::<Vec<_>>());
    let mut position = 0;
    program.units.retain(|u| {
        position += 1;
        u.kind == UnitKind::BlockData || reached.contains(&(position - 1))
    });
    program
}

/// The name of a field in a line of a recipe.
fn name(line: &str) -> &str {
    let end = [" = ", " : "].iter().filter_map(|s| line.find(s)).min();
    &line[..end.unwrap_or(line.len())]
}

/// Why an object is made: the first line in which its recipe differs from the last one.
fn reason(before: Option<&str>, now: &str) -> String {
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
