//! Determines which files a main program needs if several define the same subprogram.
//!
//! A directory may hold several programs that share some of their files, and variants of a file. As far as
//! possible, a program consists of its own file and all files without a main program. If two of these define
//! the same subprogram, it consists of the files that it reaches, as from a library: first its own file, then
//! the files that define what it calls. If a called subprogram is in several files, it is taken from the caller's own
//! directory; if that does not decide it, all of these files are taken, and the duplicate is an error.

use farfel_lang::ir::{Name, Program, StorageClass, Unit, UnitKind};
use farfel_lang::{FileId, Sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The contents of a file.
#[derive(Default)]
struct File {
    /// The subprograms that others can call, including ENTRY names.
    defines: BTreeSet<Name>,
    /// The names that may refer to subprograms elsewhere.
    mentions: BTreeSet<Name>,
    has_data: bool,
}

/// If a subprogram is defined in several files, removes the units in files that the program in the file
/// `first` does not reach. `beside` are the subprograms in files of other kinds, all of which are linked, and
/// `mentioned` the names that occur there.
pub(crate) fn leave_out_variants(
    program: &mut Program,
    sources: &Sources,
    first: Option<FileId>,
    beside: impl Fn(&Name) -> bool,
    mentioned: &BTreeSet<String>,
) {
    let mut files: BTreeMap<FileId, File> = BTreeMap::new();
    for unit in &program.units {
        let file = files.entry(unit.end_span.file).or_default();
        file.has_data |= unit.kind == UnitKind::BlockData;
        if matches!(unit.kind, UnitKind::Subroutine | UnitKind::Function) {
            let names = unit.entry_points().map(|e| e.name.clone());
            file.defines.extend(names);
        }
        add_mentions(unit, &mut file.mentions);
    }
    let mut defining: BTreeMap<&Name, Vec<FileId>> = BTreeMap::new();
    for (id, file) in &files {
        for name in &file.defines {
            defining.entry(name).or_default().push(*id);
        }
    }
    let is_unique = |name: &Name| {
        let in_files = defining.get(name).map_or(0, Vec::len);
        in_files < 2 && !beside(name)
    };
    if defining.keys().all(|name| is_unique(name)) {
        return;
    }
    let folder = |id: FileId| {
        let name = &sources.get(id)?.name;
        Path::new(name).parent().map(Path::to_owned)
    };
    let mut taken: BTreeSet<FileId> = first.into_iter().collect();
    // Nobody calls a BLOCK DATA.
    let with_data = files.iter().filter(|(_, f)| f.has_data);
    taken.extend(
        with_data
            .filter(|(_, f)| f.defines.iter().all(is_unique))
            .map(|(id, _)| *id),
    );
    let of_others: BTreeSet<Name> = mentioned.iter().map(|n| n.as_str().into()).collect();
    // Unambiguous names come first, since they may decide others; only then are all candidates for the
    // remaining names taken.
    for all in [false, true] {
        loop {
            let mut found = BTreeSet::new();
            let own = taken
                .iter()
                .filter_map(|id| Some((Some(*id), &files.get(id)?.mentions)));
            for (caller, mentions) in own.chain([(first, &of_others)]) {
                for name in mentions {
                    let Some(in_files) = defining.get(name) else {
                        continue;
                    };
                    if beside(name) || in_files.iter().any(|id| taken.contains(id)) {
                        continue;
                    }
                    let beside: Vec<FileId> = in_files
                        .iter()
                        .copied()
                        .filter(|id| caller.is_some_and(|c| folder(c) == folder(*id)))
                        .collect();
                    match (&in_files[..], &beside[..]) {
                        ([one], _) | (_, [one]) => found.extend([*one]),
                        _ if all => found.extend(in_files.iter().copied()),
                        _ => {}
                    }
                }
            }
            if found.is_empty() {
                break;
            }
            taken.extend(found);
        }
    }
    program.units.retain(|u| taken.contains(&u.end_span.file));
}

/// Adds the names in a unit and its nested units that may be subprograms of other files.
fn add_mentions(unit: &Unit, mentions: &mut BTreeSet<Name>) {
    let may_be = |place: &StorageClass| matches!(place, StorageClass::Local | StorageClass::Global);
    let symbols = unit.symbols.iter().map(|(_, s)| s);
    let symbols = symbols.filter(|s| s.dims.is_empty() && may_be(&s.storage_class));
    mentions.extend(symbols.map(|s| s.name.clone()));
    unit.nested.iter().for_each(|n| add_mentions(n, mentions));
}
