//! Joins the programs of several packages into one.
//!
//! A package that uses subprograms of another one is lowered together with it, so that derivatives
//! can cross the boundary. Names are nevertheless kept apart, as each package was written without
//! knowledge of the others:
//!
//! | name | seen by |
//! |---|---|
//! | a subprogram | its own package, and the packages that use it directly, where they call the subprogram or declare it EXTERNAL; a package's own subprograms take precedence |
//! | a COMMON block | its own package |
//!
//! So if a name of a library's subprogram means something else in another package, the subprogram
//! gets a name that includes its package: `NORM_SOLVERS_0_1_0`. The beginning of the name does not
//! change, and so neither does the type that IMPLICIT gives it. A COMMON block that exists in two
//! packages gets such a name as well; if one of the packages uses the other, this is an error,
//! because the user may have meant to share it.
//!
//! Names of intrinsic functions are an exception: `ERF(X)` remains the intrinsic function, whatever
//! a library defines, unless it is declared EXTERNAL.
//!
//! All this happens before names are resolved.

use crate::diagnostic::rules;
use crate::intrinsics::Intrinsic;
use crate::ir::{
    Class, ExprKind, Name, Program, SaveItem, SpecKind, StmtKind, SymId, Unit, UnitKind,
    unused_name, walk_block,
};
use crate::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A library after parsing.
#[derive(Debug, Clone, Default)]
pub struct Package {
    /// The name used in messages.
    pub name: String,
    /// The suffix that tells its names from those of other packages, as in `SOLVERS_0_1_0`.
    pub suffix: String,
    /// Its units. Main programs are ignored.
    pub program: Program,
    /// The packages that it uses directly, as indices into the list of libraries.
    pub uses: Vec<usize>,
}

/// Adds to `own` the units of the libraries that it needs. `uses` holds the indices of those that
/// it uses directly.
///
/// Returns the errors: names that two libraries offer, and COMMON blocks that may have been meant
/// to be shared.
pub fn join(own: &mut Program, uses: &[usize], libraries: Vec<Package>) -> Vec<Diagnostic> {
    let mut packages = vec![PackageFacts::of("this package", "", own, uses)];
    packages.extend(
        libraries
            .iter()
            .map(|p| PackageFacts::of(&p.name, &p.suffix, &p.program, &p.uses)),
    );
    let mut errors = Vec::new();
    let needed = needed(&packages, &mut errors);
    let names = final_names(&packages, &needed);
    let commons = common_names(&packages, &needed, &mut errors);
    if !errors.is_empty() {
        return errors;
    }
    let mut programs: Vec<Vec<Unit>> = vec![std::mem::take(&mut own.units)];
    programs.extend(libraries.into_iter().map(|p| p.program.units));
    for (p, units) in programs.into_iter().enumerate() {
        for (u, mut unit) in units.into_iter().enumerate() {
            if !needed.contains(&(p, u)) {
                continue;
            }
            let facts = &packages[p].units[u];
            for name in facts.mentions.iter().filter(|n| !facts.is_printed(n)) {
                let meant = packages.target(p, u, name);
                let new = meant.and_then(|q| names.get(&(q, name.clone())));
                if let Some(new) = new {
                    rename(&mut unit, name, new);
                }
            }
            for block in facts.commons.keys() {
                if let Some(new) = commons.get(&(p, block.clone())) {
                    rename_common(&mut unit, block, new);
                }
            }
            own.units.push(unit);
        }
    }
    errors
}

/// The facts about a package.
struct PackageFacts {
    name: String,
    suffix: String,
    /// Indices into the list of all packages.
    uses: Vec<usize>,
    units: Vec<UnitFacts>,
    /// The index of the unit that defines a name.
    defines: HashMap<Name, usize>,
}

/// The facts about a top-level unit, including the units nested in it.
#[derive(Default)]
struct UnitFacts {
    kind: Option<UnitKind>,
    /// Its name and those of its ENTRY points.
    defines: Vec<Name>,
    /// All names in it.
    mentions: BTreeSet<Name>,
    /// The names that it calls or declares EXTERNAL and does not define itself, with the place of
    /// each.
    calls: BTreeMap<Name, Span>,
    commons: BTreeMap<Name, Span>,
    /// Members of NAMELIST groups.
    listed: HashSet<Name>,
}

impl PackageFacts {
    fn of(name: &str, suffix: &str, program: &Program, uses: &[usize]) -> Self {
        let units: Vec<UnitFacts> = program.units.iter().map(UnitFacts::of).collect();
        let mut defines = HashMap::new();
        for (i, unit) in units.iter().enumerate() {
            for name in &unit.defines {
                defines.entry(name.clone()).or_insert(i);
            }
        }
        PackageFacts {
            name: name.to_owned(),
            suffix: suffix.to_owned(),
            // The first package is the one that uses the libraries.
            uses: uses.iter().map(|u| u + 1).collect(),
            units,
            defines,
        }
    }
}

impl UnitFacts {
    fn of(unit: &Unit) -> Self {
        let mut facts = UnitFacts {
            kind: Some(unit.kind),
            defines: unit.entry_points().map(|e| e.name.clone()).collect(),
            ..UnitFacts::default()
        };
        let mut local = HashSet::new();
        facts.look(unit, &mut local);
        facts.calls.retain(|name, _| !local.contains(name));
        facts
    }

    /// Whether a name is that of a variable that appears in NAMELIST output.
    fn is_printed(&self, name: &Name) -> bool {
        self.listed.contains(name) && !self.calls.contains_key(name)
    }

    /// Collects the facts about a unit and the units nested in it. Adds to `local` the names of
    /// arrays, constants and the like: a reference to such a name is not a call.
    fn look(&mut self, unit: &Unit, local: &mut HashSet<Name>) {
        let name = |id: SymId| &unit.symbols[id].name;
        self.mentions.insert(unit.name.clone());
        for given in &unit.directives {
            self.mentions.insert(given.procedure.clone());
            let derivatives = given.tangent.iter().chain(&given.adjoint);
            for name in derivatives {
                self.mentions.insert(name.clone());
                self.calls.entry(name.clone()).or_insert(given.span);
            }
        }
        for (_, s) in unit.symbols.iter() {
            self.mentions.insert(s.name.clone());
            let is_data = !s.dims.is_empty()
                || matches!(
                    s.class,
                    Class::Parameter(_) | Class::StatementFunction(..) | Class::Namelist(_)
                );
            if is_data {
                local.insert(s.name.clone());
            }
            if let Class::Namelist(members) = &s.class {
                self.listed.extend(members.iter().map(|m| name(*m).clone()));
            }
        }
        local.extend(unit.nested.iter().map(|n| n.name.clone()));
        local.extend(
            unit.args
                .iter()
                .filter_map(|a| a.sym())
                .map(|s| name(s).clone()),
        );
        for spec in &unit.specs {
            match &spec.kind {
                SpecKind::External(list) => {
                    for id in list {
                        self.calls.entry(name(*id).clone()).or_insert(spec.span);
                    }
                }
                SpecKind::Common(blocks) => {
                    for (block, _) in blocks {
                        self.commons.entry(block.clone()).or_insert(spec.span);
                    }
                }
                _ => {}
            }
        }
        let mut apply = |id: SymId, span: Span| {
            let s = &unit.symbols[id];
            if s.external || Intrinsic::find(&s.name).is_none() {
                self.calls.entry(s.name.clone()).or_insert(span);
            }
        };
        // Statement functions contain calls, too.
        for (_, s) in unit.symbols.iter() {
            if let Class::StatementFunction(_, value) = &s.class {
                value.walk(&mut |e| {
                    if let ExprKind::Apply(f, _) | ExprKind::Call(f, _) = &e.kind {
                        apply(*f, e.span);
                    }
                });
            }
        }
        walk_block(&unit.body, &mut |s| {
            if let StmtKind::Call(f, _) = &s.kind {
                apply(*f, s.span);
            }
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let ExprKind::Apply(f, _) | ExprKind::Call(f, _) = &e.kind {
                        apply(*f, e.span);
                    }
                });
            });
        });
        for nested in &unit.nested {
            self.look(nested, local);
        }
    }
}

/// Name lookup in a list of [`PackageFacts`].
trait NameLookup {
    /// Returns the packages whose subprogram a name in a unit may refer to.
    fn candidates(&self, package: usize, unit: usize, name: &Name) -> Vec<usize>;

    /// Returns the package that it refers to.
    fn target(&self, package: usize, unit: usize, name: &Name) -> Option<usize> {
        self.candidates(package, unit, name).first().copied()
    }
}

impl NameLookup for [PackageFacts] {
    fn candidates(&self, package: usize, unit: usize, name: &Name) -> Vec<usize> {
        let here = &self[package];
        if here.defines.contains_key(name) {
            return vec![package];
        }
        if !here.units[unit].calls.contains_key(name) {
            return Vec::new();
        }
        let mut found: Vec<usize> = here.uses.clone();
        found.retain(|q| self[*q].defines.contains_key(name));
        found
    }
}

/// Returns the units that are needed: all of the first package, and everything they reach. A BLOCK
/// DATA unit is needed if a unit that is needed uses its COMMON block.
fn needed(packages: &[PackageFacts], errors: &mut Vec<Diagnostic>) -> BTreeSet<(usize, usize)> {
    let mut open: Vec<(usize, usize)> = (0..packages[0].units.len()).map(|u| (0, u)).collect();
    let mut found: BTreeSet<(usize, usize)> = open.iter().copied().collect();
    loop {
        while let Some((p, u)) = open.pop() {
            let unit = &packages[p].units[u];
            for name in &unit.mentions {
                let offers = packages.candidates(p, u, name);
                if let [first, second, ..] = offers[..] {
                    errors.push(ambiguous(name, unit.calls[name], packages, first, second));
                }
                if let Some(&q) = offers.first()
                    && found.insert((q, packages[q].defines[name]))
                {
                    open.push((q, packages[q].defines[name]));
                }
            }
        }
        for (p, package) in packages.iter().enumerate() {
            let used: BTreeSet<&Name> = (0..package.units.len())
                .filter(|u| found.contains(&(p, *u)))
                .flat_map(|u| package.units[u].commons.keys())
                .collect();
            for (u, unit) in package.units.iter().enumerate() {
                let data = unit.kind == Some(UnitKind::BlockData)
                    && unit.commons.keys().any(|c| used.contains(c));
                if data && found.insert((p, u)) {
                    open.push((p, u));
                }
            }
        }
        if open.is_empty() {
            return found;
        }
    }
}

fn ambiguous(
    name: &Name,
    span: Span,
    packages: &[PackageFacts],
    first: usize,
    second: usize,
) -> Diagnostic {
    let (first, second) = (&packages[first].name, &packages[second].name);
    Diagnostic::error(
        &rules::PACKAGE_CONFLICT,
        span,
        format!("{name} may be that of {first} or that of {second}"),
    )
    .label("both define it")
    .help("write a subprogram in a package of its own that uses only one of the two, and call that")
}

/// Chooses the new names of subprograms, by package and old name.
fn final_names(
    packages: &[PackageFacts],
    needed: &BTreeSet<(usize, usize)>,
) -> HashMap<(usize, Name), Name> {
    // The names of packages' subprograms that mean something else in other packages.
    let mut others: HashSet<(usize, &Name)> = HashSet::new();
    let mut all: HashSet<Name> = HashSet::new();
    for &(p, u) in needed {
        for name in &packages[p].units[u].mentions {
            all.insert(name.clone());
            let target = packages.target(p, u, name);
            for (q, package) in packages.iter().enumerate().skip(1) {
                if q != p && target != Some(q) && package.defines.contains_key(name) {
                    others.insert((q, name));
                }
            }
        }
    }
    let mut names = HashMap::new();
    let mut wanted: Vec<(usize, &Name)> = others.into_iter().collect();
    wanted.sort();
    for (p, name) in wanted {
        let new = unused_name(&format!("{name}_{}", packages[p].suffix), &|n| {
            all.contains(n)
        });
        all.insert(new.clone());
        names.insert((p, name.clone()), new);
    }
    names
}

/// Chooses the new names of COMMON blocks, by package and old name.
fn common_names(
    packages: &[PackageFacts],
    needed: &BTreeSet<(usize, usize)>,
    errors: &mut Vec<Diagnostic>,
) -> HashMap<(usize, Name), Name> {
    let mut blocks: BTreeMap<&Name, BTreeMap<usize, Span>> = BTreeMap::new();
    for &(p, u) in needed {
        for (block, span) in &packages[p].units[u].commons {
            blocks.entry(block).or_default().entry(p).or_insert(*span);
        }
    }
    let mut taken: HashSet<Name> = blocks.keys().map(|n| (*n).clone()).collect();
    let mut names = HashMap::new();
    for (block, owners) in &blocks {
        for (&p, &span) in owners {
            for (&q, &other) in owners {
                if p != q && reaches(packages, p, q) {
                    errors.push(shared_common(block, &packages[q].name, span, other));
                }
            }
            if p > 0 && owners.len() > 1 {
                let begin = if block.is_empty() { "BLANK" } else { block };
                let wanted = format!("{begin}_{}", packages[p].suffix);
                let new = unused_name(&wanted, &|n| taken.contains(n));
                taken.insert(new.clone());
                names.insert((p, (*block).clone()), new);
            }
        }
    }
    names
}

fn shared_common(block: &Name, library: &str, span: Span, other: Span) -> Diagnostic {
    let shown = match block.is_empty() {
        true => "blank COMMON".to_owned(),
        false => format!("COMMON /{block}/"),
    };
    Diagnostic::error(
        &rules::PACKAGE_CONFLICT,
        span,
        format!("{shown} is one of {library}, too, and packages do not share COMMON blocks"),
    )
    .related(other, format!("that of {library}"))
    .help("give the block another name; to reach what is in the library's, call subprograms of it")
}

/// Whether one package uses another, directly or indirectly.
fn reaches(packages: &[PackageFacts], from: usize, to: usize) -> bool {
    let mut open = packages[from].uses.clone();
    let mut seen = BTreeSet::new();
    while let Some(p) = open.pop() {
        if p == to {
            return true;
        }
        if seen.insert(p) {
            open.extend(&packages[p].uses);
        }
    }
    false
}

/// Renames everything called `old` in a unit and the units nested in it, whatever it is there. This
/// does not change the meaning.
fn rename(unit: &mut Unit, old: &Name, new: &Name) {
    if unit.name == *old {
        unit.name = new.clone();
    }
    if let Some(id) = unit.symbols.find(old) {
        unit.symbols.rename(id, new.clone());
    }
    for given in &mut unit.directives {
        let derivatives = given.tangent.iter_mut().chain(&mut given.adjoint);
        for name in derivatives.chain([&mut given.procedure]) {
            if name == old {
                name.clone_from(new);
            }
        }
    }
    for nested in &mut unit.nested {
        rename(nested, old, new);
    }
}

fn rename_common(unit: &mut Unit, old: &Name, new: &Name) {
    crate::openmp::rename_blocks(unit, &|name| match name == old {
        true => new.clone(),
        false => name.clone(),
    });
    for spec in &mut unit.specs {
        match &mut spec.kind {
            SpecKind::Common(blocks) => {
                for (block, _) in blocks.iter_mut().filter(|(b, _)| b == old) {
                    *block = new.clone();
                }
            }
            SpecKind::ThreadPrivate(blocks) => {
                for block in blocks.iter_mut().filter(|b| *b == old) {
                    *block = new.clone();
                }
            }
            SpecKind::Save(items) => {
                for item in items {
                    if let SaveItem::Common(block) = item
                        && block == old
                    {
                        *block = new.clone();
                    }
                }
            }
            _ => {}
        }
    }
    for id in unit.symbols.ids() {
        if let crate::ir::StorageClass::Common(block) = &mut unit.symbols[id].storage_class
            && block == old
        {
            *block = new.clone();
        }
    }
    for nested in &mut unit.nested {
        rename_common(nested, old, new);
    }
}

#[cfg(test)]
mod tests;
