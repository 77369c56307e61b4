//! Divides a library into independent parts, so that a change requires only one of them to be redone.
//!
//! A large library is divided into *partitions*: groups of units that depend on each other, see [`divide`].
//! Each partition is treated as a program of its own, from name resolution to object files; a cold build
//! processes all of them in parallel. The results of a partition are recorded under a hash of all its inputs.
//! A later build with the same hash reuses the record, and does not even parse files all of whose units are
//! unchanged.
//!
//! | module | what |
//! |---|---|
//! | `summary` | what is known about a unit from its text alone |
//! | `divide` | which units depend on each other |
//! | `memo` | the records between builds |
//!
//! # Why records are never wrong
//!
//! The results of a partition are a function of its program, of the settings, and of compiler and AD tool; it
//! sees nothing else. The key of a record about a file is a hash of its text, its name, the settings for
//! reading, and the version of this crate. The key of a record about a partition is a hash of the text and
//! place of each of its units, with what they include, of whether each unit is at home there, and of all
//! settings and identities. The division into partitions is computed anew in each build. Objects are looked
//! up in the object store by their keys, as in a build without records.
//!
//! If anything is wrong, such as an error anywhere, all this is abandoned and the library is built as one
//! program: the messages are then those of `farfel check`.

mod divide;
mod memo;
mod summary;

pub(crate) use memo::{Memo, NextMemo};

use crate::bind::{self, BindingsPart};
use crate::cache::Key;
use crate::lowered::{LibraryContext, Lowered};
use crate::parse::parse_noting;
use crate::plan::groups::SMALL_LIBRARY;
use crate::plan::messages;
use crate::plan::objects::{BuildTools, KeyedObject, Layout, Object};
use crate::preprocess::{self, Outcome as Preprocessed};
use crate::read::{resolve, strict};
use crate::sources::{self, Includes};
use crate::timings::StepOrigin;
use crate::{CacheSettings, Config, Error};
use divide::Partition;
use farfel_lang::diagnostic::any_errors;
use farfel_lang::ir::{Name, Program, Unit};
use farfel_lang::syntax::{Form, ReadOptions};
use farfel_lang::{Diagnostic, FileId, Sources};
use memo::{Digest, Outcome, PlannedObject};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use summary::Summary;

/// A library whose files have been read and, as far as necessary, parsed.
pub(crate) struct Library {
    pub sources: Sources,
    /// The parser's warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The names of main programs.
    pub left_out: Vec<Name>,
    files: Vec<File>,
    units: Vec<Summary>,
    /// The place of each unit: the file, and the position in it.
    places: Vec<(usize, usize)>,
    next_memo: NextMemo,
}

struct File {
    id: FileId,
    /// `None` until the file has to be parsed.
    options: Option<ReadOptions>,
    units: Vec<Summary>,
    parsed: Option<Vec<Unit>>,
}

/// Reads a library. Returns `None` if it must be built as one program because it is small or has errors. The
/// INCLUDE files that were reached are added to `included`.
///
/// # Errors
///
/// [`Error::Io`] if a file cannot be read.
pub(crate) fn read(
    paths: &[PathBuf],
    config: &Config,
    memo: &Memo,
    included: &mut Vec<PathBuf>,
) -> Result<Option<Library>, Error> {
    let mut library = Library {
        sources: Sources::new(),
        diagnostics: Vec::new(),
        left_out: Vec::new(),
        files: Vec::new(),
        units: Vec::new(),
        places: Vec::new(),
        next_memo: NextMemo::default(),
    };
    if !config.derivatives.is_empty() || !config.derive.is_empty() {
        return Ok(None);
    }
    let texts: Vec<_> = paths
        .iter()
        .map(|path| sources::read(path).map_err(Error::io(path)))
        .collect::<Result<_, Error>>()?;
    let lines = texts.iter().flat_map(|t| t.bytes()).filter(|b| *b == b'\n');
    if lines.take(SMALL_LIBRARY + 1).count() <= SMALL_LIBRARY {
        return Ok(None);
    }
    // The source form and the preprocessor's effect follow from settings, name and text.
    let settings = Config {
        cache: CacheSettings::default(),
        ..config.clone()
    };
    let how = format!("{}\n{settings:?}", crate::identity::identity());
    let mut includes = Includes::new(config);
    let mut to_parse = Vec::new();
    for (path, text) in paths.iter().zip(texts) {
        let name = sources::shown(config, path);
        includes.add_source(&name, path);
        let digest = digest_of(&[how.as_bytes(), name.as_bytes(), text.as_bytes()]);
        let mut file = File {
            id: library.sources.add(name, text.clone()),
            options: None,
            units: Vec::new(),
            parsed: None,
        };
        if let Some(units) = memo.file(&digest) {
            library.next_memo.keep_file(&digest, memo);
            file.units = units;
        } else {
            let options = options(path, &text, config);
            let before = library.sources.iter().count();
            let form = options.form.unwrap_or(Form::Fixed);
            let sources = &mut library.sources;
            match preprocess::run(path, file.id, form, sources, &mut includes, config)? {
                Preprocessed::Plain => {}
                Preprocessed::Done(id) => file.id = id,
                Preprocessed::Errors(_) => return Ok(None),
            }
            file.options = Some(options);
            to_parse.push((library.files.len(), digest, before));
        }
        library.files.push(file);
    }
    let wanted: Vec<_> = to_parse
        .iter()
        .filter_map(|(f, ..)| Some((library.files[*f].id, library.files[*f].options?)))
        .collect();
    let parsed = parse_noting(&wanted, &mut library.sources, &mut includes);
    included.extend(includes.reached.iter().cloned());
    for ((f, digest, before), (parsed, more)) in to_parse.into_iter().zip(parsed) {
        // With directives for given derivatives, callers of a procedure depend on the derivative as well.
        let directives = parsed.program.units.iter().any(says_of_derivatives);
        if any_errors(&parsed.diagnostics) || directives {
            return Ok(None);
        }
        library.note(f, digest, &how, before, parsed.program.units, &more);
        if !parsed.diagnostics.is_empty() {
            // These warnings appear again only if the file is parsed again.
            library.next_memo.forget_file(&digest);
        }
        library.diagnostics.extend(parsed.diagnostics);
    }
    // A file that another one includes is a part of that one.
    let reached = |path: &PathBuf| !includes.reached.is_empty() && includes.is_reached(path);
    for (f, path) in paths.iter().enumerate() {
        if reached(path) {
            return Ok(None);
        }
        for (u, unit) in std::mem::take(&mut library.files[f].units)
            .into_iter()
            .enumerate()
        {
            match unit.main {
                true => library.left_out.push(unit.name.into()),
                false => {
                    library.places.push((f, u));
                    library.units.push(unit);
                }
            }
        }
    }
    let statements: u64 = library.units.iter().map(|u| u.statements).sum();
    Ok((statements > SMALL_LIBRARY as u64).then_some(library))
}

fn says_of_derivatives(unit: &Unit) -> bool {
    !unit.directives.is_empty() || unit.nested.iter().any(says_of_derivatives)
}

/// Returns the options for reading a file.
fn options(path: &Path, text: &str, config: &Config) -> ReadOptions {
    ReadOptions {
        form: Some(sources::form(path, text, config)),
        ..config.read_options()
    }
}

impl Library {
    /// Records what is known about the units of a parsed file. `more` are the files that it includes;
    /// `before` is the number of files before the preprocessor added some.
    fn note(
        &mut self,
        f: usize,
        digest: Digest,
        how: &str,
        before: usize,
        units: Vec<Unit>,
        more: &[FileId],
    ) {
        let id = self.files[f].id;
        let Some(file) = self.sources.get(id) else {
            return;
        };
        // Layout options in a comment at the beginning apply to the whole file.
        let options = self.files[f].options.map(|options| ReadOptions {
            layout: options.layout.with_settings_in(&file.text),
            ..options
        });
        let mut how = format!("{how}\n{options:?}").into_bytes();
        let preprocessed = id.0 as usize >= before;
        let from_preprocessor = (before..=id.0 as usize).map(|i| FileId(i as u32));
        let others = from_preprocessor.filter(|_| preprocessed);
        let marked = file.text.lines().any(|l| l.starts_with('#'));
        let alone = !preprocessed && !marked && more.is_empty();
        for other in others.chain(more.iter().copied()) {
            if let Some(other) = self.sources.get(other) {
                how.extend(digest_of(&[other.name.as_bytes(), other.text.as_bytes()]));
            }
        }
        let digests = match alone {
            true => summary::digests(&units, file, &how),
            // There are references to places in other files, or from them.
            false => {
                let all = digest_of(&[&how, file.name.as_bytes(), file.text.as_bytes()]);
                vec![all; units.len()]
            }
        };
        let summaries: Vec<Summary> = units
            .iter()
            .zip(digests)
            .enumerate()
            .map(|(i, (unit, text))| {
                let place = (i as u64).to_le_bytes();
                let own = match alone {
                    true => text,
                    false => digest_of(&[&text, &place]),
                };
                Summary::of(unit, own)
            })
            .collect();
        if alone {
            self.next_memo.note_file(digest, &summaries);
        }
        self.files[f].units = summaries;
        self.files[f].parsed = Some(units);
    }

    /// Parses the files of some partitions. Only files without INCLUDE are left to parse: the others have
    /// been parsed already.
    fn parse_for(&mut self, partitions: &[&Partition], config: &Config) -> bool {
        let mut wanted: BTreeSet<usize> = BTreeSet::new();
        for partition in partitions {
            wanted.extend(partition.units().map(|u| self.places[u].0));
        }
        wanted.retain(|f| self.files[*f].parsed.is_none());
        let files: Vec<_> = wanted
            .iter()
            .filter_map(|f| {
                let File { id, options, .. } = self.files[*f];
                let options = options.or_else(|| {
                    let file = self.sources.get(id)?;
                    Some(self::options(Path::new(&file.name), &file.text, config))
                });
                Some((id, options?))
            })
            .collect();
        let mut includes = Includes::new(config);
        let parsed = parse_noting(&files, &mut self.sources, &mut includes);
        let mut good = true;
        for (f, (parsed, more)) in wanted.into_iter().zip(parsed) {
            good &= parsed.diagnostics.is_empty() && more.is_empty();
            self.files[f].parsed = Some(parsed.program.units);
        }
        good
    }

    fn unit(&self, at: usize) -> Option<&Unit> {
        let (file, unit) = self.places[at];
        self.files[file].parsed.as_ref()?.get(unit)
    }

    fn key(&self, partition: &Partition, context: &Digest) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(context);
        for u in partition.units() {
            hasher.update(&[u8::from(partition.home.binary_search(&u).is_ok())]);
            hasher.update(&self.units[u].digest);
        }
        hasher.finalize().into()
    }
}

impl Partition {
    /// Returns all units in the partition, in the order of the program.
    fn units(&self) -> impl Iterator<Item = usize> + use<> {
        let all: BTreeSet<usize> = self.home.iter().chain(&self.helpers).copied().collect();
        all.into_iter()
    }
}

/// The state of a partition.
enum State {
    /// Nothing in it has changed.
    Noted(Outcome),
    /// It was lowered.
    Lowered(Box<(Lowered, Layout, Vec<Key>)>, Outcome),
}

impl State {
    fn outcome(&self) -> &Outcome {
        match self {
            State::Noted(outcome) | State::Lowered(_, outcome) => outcome,
        }
    }
}

/// A library that is ready to be compiled.
pub(crate) struct LibraryPlan {
    pub sources: Sources,
    pub diagnostics: Vec<Diagnostic>,
    pub left_out: Vec<Name>,
    pub bindings: BindingsPart,
    /// The existing objects and the parts whose objects are still to be looked up or made, in the order of
    /// the library.
    pub parts: Vec<PlannedPart>,
    pub next_memo: NextMemo,
}

/// See [`LibraryPlan::parts`].
pub(crate) enum PlannedPart {
    /// All objects exist.
    UpToDate(Vec<KeyedObject>),
    /// Missing objects must be made.
    Lowered(Box<(Lowered, Layout, Vec<Key>)>),
}

/// Determines what must be made for a library. Returns `None` if it must be built as one program.
///
/// # Errors
///
/// [`Error::Export`] if the settings name a subprogram that does not exist.
pub(crate) fn plan(
    mut library: Library,
    memo: &Memo,
    context: &LibraryContext,
) -> Result<Option<LibraryPlan>, Error> {
    let written = library.units.iter().filter(|u| u.subprogram);
    let defined = written.flat_map(|u| &u.defines);
    bind::exist(&mut defined.map(String::as_str), context.config)?;
    let context_digest = context_digest(context);
    let mut partitions = divide::divide(&library.units);
    let mut states: BTreeMap<Partition, State> = BTreeMap::new();
    loop {
        let mut missing = Vec::new();
        for partition in &partitions {
            if states.contains_key(partition) {
                continue;
            }
            match memo.partition(&library.key(partition, &context_digest)) {
                Some(outcome) => {
                    states.insert(partition.clone(), State::Noted(outcome));
                }
                None => missing.push(partition),
            }
        }
        if !lower(&mut library, &missing, context, &mut states) {
            return Ok(None);
        }
        let together = sharing_locks(&partitions, &states);
        if together.is_empty() {
            break;
        }
        partitions = divide::joined(partitions, &together);
    }
    // Objects that are not in the object store are made again, and so are those with warnings of compiler and
    // tool, since only the parsed units tell on which lines they are allowed.
    let mut kept: BTreeMap<&Partition, Vec<KeyedObject>> = BTreeMap::new();
    let mut lost = Vec::new();
    for partition in &partitions {
        if let Some(State::Noted(outcome)) = states.get(partition) {
            match keep(outcome, context) {
                Some(objects)
                    if messages::from_text(&outcome.warnings, &library.sources).is_some() =>
                {
                    kept.insert(partition, objects);
                }
                _ => lost.push(partition),
            }
        }
    }
    if !lower(&mut library, &lost, context, &mut states) {
        return Ok(None);
    }

    for (partition, state) in &states {
        let key = library.key(partition, &context_digest);
        match state {
            State::Noted(_) => library.next_memo.keep_partition(&key, memo),
            State::Lowered(_, outcome) => library.next_memo.note_partition(key, outcome),
        }
    }
    let mut bindings = BindingsPart::default();
    let mut diagnostics = std::mem::take(&mut library.diagnostics);
    let mut parts = Vec::new();
    let mut order: Vec<(usize, (String, String))> = Vec::new();
    let mut raw = Vec::new();
    let mut skipped = Vec::new();
    let mut exposed = Vec::new();
    let at: BTreeMap<&str, usize> = library
        .units
        .iter()
        .enumerate()
        .flat_map(|(i, u)| u.defines.iter().map(move |n| (n.as_str(), i)))
        .collect();
    for partition in &partitions {
        let Some(state) = states.get(partition) else {
            return Ok(None);
        };
        let part = &state.outcome().part;
        let place = |(name, text): &(String, String)| {
            let at = at.get(name.as_str()).copied().unwrap_or(usize::MAX);
            (at, (name.clone(), text.clone()))
        };
        order.extend(part.functions.iter().map(place));
        raw.extend(part.raw.iter().map(place));
        skipped.extend(part.skipped.iter().map(place));
        exposed.extend(part.exposed.iter().map(place));
        bindings.locks = bindings.locks.max(part.locks);
        let warnings = match state {
            State::Noted(noted) => messages::from_text(&noted.warnings, &library.sources),
            State::Lowered(lowered, _) => Some(lowered.0.staged.report.diagnostics.clone()),
        };
        for d in warnings.unwrap_or_default() {
            // A warning about a unit that is in several partitions is shown once.
            if !diagnostics.contains(&d) {
                diagnostics.push(d);
            }
        }
    }
    for (list, into) in [
        (order, &mut bindings.functions),
        (raw, &mut bindings.raw),
        (skipped, &mut bindings.skipped),
        (exposed, &mut bindings.exposed),
    ] {
        let mut list = list;
        list.sort();
        into.extend(list.into_iter().map(|(_, entry)| entry));
    }
    diagnostics.sort_by_key(|d| (d.span.file, d.span.start));
    for partition in &partitions {
        parts.push(match (kept.remove(partition), states.remove(partition)) {
            (Some(objects), _) => PlannedPart::UpToDate(objects),
            (None, Some(State::Lowered(lowered, _))) => PlannedPart::Lowered(lowered),
            _ => return Ok(None),
        });
    }
    Ok(Some(LibraryPlan {
        sources: library.sources,
        diagnostics,
        left_out: library.left_out,
        bindings,
        parts,
        next_memo: library.next_memo,
    }))
}

/// Lowers partitions. Returns false if there is a problem with one of them.
fn lower(
    library: &mut Library,
    partitions: &[&Partition],
    context: &LibraryContext,
    states: &mut BTreeMap<Partition, State>,
) -> bool {
    if partitions.is_empty() {
        return true;
    }
    if !library.parse_for(partitions, context.config) {
        return false;
    }
    let library = &*library;
    let done: Vec<OnceLock<Option<State>>> = partitions.iter().map(|_| OnceLock::new()).collect();
    let needs = vec![Vec::new(); partitions.len()];
    let progress = &context.tools.recorder.progress;
    progress.announce(partitions.len());
    context.tools.workers.run(&needs, &|s, _| {
        done[s].get_or_init(|| lower_one(library, partitions[s], context));
        progress.done(StepOrigin::Ran);
        true
    });
    for (partition, state) in partitions.iter().zip(done) {
        match state.into_inner().flatten() {
            Some(state) => states.insert((*partition).clone(), state),
            None => return false,
        };
    }
    true
}

fn lower_one(library: &Library, partition: &Partition, context: &LibraryContext) -> Option<State> {
    let units = partition.units().map(|u| library.unit(u).cloned());
    let program = Program {
        units: units.collect::<Option<_>>()?,
    };
    let home: BTreeSet<&str> = partition
        .home
        .iter()
        .map(|u| library.units[*u].name.as_str())
        .collect();
    let sources = library.sources.clone();
    let lints = strict(context.config, &sources);
    let read = resolve(
        program,
        Vec::new(),
        sources,
        lints,
        context.config,
        &BTreeSet::new(),
    )
    .ok()?;
    let LibraryContext {
        config,
        names,
        tools,
        adjoints_share_state,
        ..
    } = context;
    let lowered = Lowered::new(read, Some(&home), config, names, *adjoints_share_state).ok()?;
    let objects = lowered.objects(names);
    let keys = objects.keys(tools);
    let units = &lowered.staged.program.units;
    let planned = objects
        .groups()
        .iter()
        .zip(&keys)
        .map(|(group, key)| PlannedObject {
            name: group.name.clone(),
            key: key.hex(),
            shared: group
                .shared
                .iter()
                .map(|u| units[*u].name.to_string())
                .collect(),
        });
    let outcome = Outcome {
        objects: planned.collect(),
        part: lowered.part.clone(),
        warnings: messages::to_text(&lowered.staged.report.diagnostics, &library.sources),
    };
    let layout = objects.into_layout();
    Some(State::Lowered(Box::new((lowered, layout, keys)), outcome))
}

/// Returns the partitions between which names clash, in the linker or in the directory of objects, because
/// lowering has used the same name in several of them.
fn sharing_locks(partitions: &[Partition], states: &BTreeMap<Partition, State>) -> BTreeSet<usize> {
    let mut first: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    let mut together = BTreeSet::new();
    for (s, partition) in partitions.iter().enumerate() {
        let Some(state) = states.get(partition) else {
            continue;
        };
        for object in &state.outcome().objects {
            let shared = object.shared.iter().map(|name| (true, name.as_str()));
            for name in std::iter::once((false, object.name.as_str())).chain(shared) {
                let owner = *first.entry(name).or_insert(s);
                if owner != s {
                    together.extend([owner, s]);
                }
            }
        }
    }
    together
}

/// Returns the recorded objects, if all of them are in the object store and have no diagnostics.
fn keep(outcome: &Outcome, context: &LibraryContext) -> Option<Vec<KeyedObject>> {
    let BuildTools {
        object_store,
        recorder,
        ..
    } = context.tools;
    let mut kept = Vec::new();
    for PlannedObject { name, key, .. } in &outcome.objects {
        let mut step = recorder.begin("compile", name, 0);
        let (about, code) = object_store.find(name, key)?;
        if about.places.is_some() {
            return None;
        }
        step.saved_ms = Some(about.took_ms);
        recorder.progress.announce(1);
        recorder.end(step, StepOrigin::Fresh);
        kept.push(KeyedObject {
            object: Object {
                name: name.clone(),
                about: about.clone(),
                code,
            },
            key: key.clone(),
            recipe: object_store.recipe(name)?.to_owned(),
        });
    }
    Some(kept)
}

/// Returns a hash of everything besides its text that determines the results of a partition.
fn context_digest(context: &LibraryContext) -> Digest {
    let LibraryContext {
        config,
        names,
        tools,
        adjoints_share_state,
    } = context;
    // The location of the cache has no influence on the results.
    let config = Config {
        cache: CacheSettings::default(),
        ..(*config).clone()
    };
    digest_of(&[
        b"farfel partition 1",
        crate::identity::identity().as_bytes(),
        format!("{config:?}").as_bytes(),
        names.module.as_bytes(),
        tools.tool_identity.as_bytes(),
        tools.compiler_identity.as_bytes(),
        tools.flags.join("\n").as_bytes(),
        &[
            u8::from(*adjoints_share_state),
            u8::from(tools.keeps_memory),
        ],
    ])
}

/// Hashes several parts with unambiguous boundaries.
fn digest_of(parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::syntax::{Form, NoIncludes, parse};

    /// Returns the summaries of a program in free form.
    pub(super) fn summaries(text: &str) -> Vec<Summary> {
        let mut sources = Sources::new();
        let file = sources.add("a.f90", text);
        let parsed = parse(&mut sources, file, Some(Form::Free), &mut NoIncludes);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let units = &parsed.program.units;
        let digests = summary::digests(units, sources.get(file).unwrap(), b"");
        units
            .iter()
            .zip(digests)
            .map(|(u, d)| Summary::of(u, d))
            .collect()
    }
}
