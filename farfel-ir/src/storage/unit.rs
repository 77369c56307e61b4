//! Storage of the variables of one unit that can share storage: COMMON and EQUIVALENCE.

use super::constant::Constants;
use crate::ir::{Expr, Name, SpecKind, StorageClass, SymId, Unit};
use crate::source::Span;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// The storage of a unit's variables in COMMON or EQUIVALENCE. All other variables have storage of
/// their own.
///
/// Sizes are those of the types as written (see [`Constants::with_real`]), and offsets are those of
/// gfortran: in COMMON every variable is aligned as its type requires, after padding where
/// necessary.
#[derive(Debug, Clone, Default)]
pub struct UnitStorage {
    areas: Vec<Area>,
    ranges: FxHashMap<SymId, StorageRange>,
}

/// A contiguous piece of storage: a COMMON block as one unit declares it, or variables associated
/// by EQUIVALENCE. The areas of a unit are disjoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// The COMMON block (the name of blank COMMON is empty); `None` for an EQUIVALENCE class.
    pub block: Option<Name>,
    /// The variables, ordered by their first byte.
    pub members: Vec<Member>,
    /// Size in bytes, from the start to the end of the last variable.
    pub size: i64,
    /// Whether all sizes are constant. A variable of unknown size counts as one element.
    pub exact: bool,
    /// Whether any variables in it overlap.
    pub has_overlaps: bool,
}

/// A variable in an [`Area`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The variable.
    pub sym: SymId,
    /// Its first byte, from the start of the area.
    pub start: i64,
    /// Its size in bytes.
    pub size: i64,
    /// Whether the COMMON statement names it; otherwise EQUIVALENCE puts it there.
    pub named: bool,
    /// Bytes of padding before it in a COMMON block.
    pub padding: i64,
}

/// The position of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageRange {
    /// Its area, as an index into [`UnitStorage::areas`].
    pub area: usize,
    /// Its first byte, from the start of the area.
    pub start: i64,
    /// The byte after its last one, from the start of the area.
    pub end: i64,
}

impl StorageRange {
    /// Whether it shares bytes with another variable.
    fn shared(self, other: StorageRange) -> bool {
        self.area == other.area && self.start < other.end && other.start < self.end
    }
}

/// An error or oddity in COMMON or EQUIVALENCE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StorageProblem {
    /// An EQUIVALENCE puts a variable at two positions. `first` is the variable it is associated
    /// with.
    Inconsistent {
        span: Span,
        first: SymId,
        second: SymId,
    },
    /// EQUIVALENCE puts a variable of a COMMON block at another position than the COMMON statement
    /// does.
    Order { span: Span, sym: SymId, block: Name },
    /// Variables of two COMMON blocks are associated.
    TwoBlocks {
        span: Span,
        sym: SymId,
        other: SymId,
    },
    /// A variable would lie before the first one of its block.
    BeforeBlock {
        span: Span,
        sym: SymId,
        block: Name,
        bytes: i64,
    },
    /// There is padding before a variable.
    Padding {
        span: Span,
        sym: SymId,
        block: Name,
        bytes: i64,
    },
    /// A variable is not aligned as its type requires.
    Misaligned { span: Span, sym: SymId },
    /// The position of an item in an EQUIVALENCE is not constant.
    NotConstant { span: Span },
    /// The size of a variable in COMMON or EQUIVALENCE is not constant.
    Unsized {
        span: Span,
        sym: SymId,
        common: bool,
    },
}

impl UnitStorage {
    /// Computes the storage of a unit that is not nested.
    pub fn of(unit: &Unit) -> Self {
        Self::build(&Constants::of(unit)).0
    }

    /// Computes the storage of a unit, which may be nested, from its constants.
    pub fn within(constants: &Constants) -> Self {
        Self::build(constants).0
    }

    /// Computes the storage of the variables of one COMMON block only.
    pub fn of_block(unit: &Unit, block: &str) -> Self {
        let constants = Constants::of(unit);
        let mut builder = Builder::new(&constants);
        let mut declared = blocks(unit).into_iter();
        let Some((name, members)) = declared.find(|(name, _)| *name == block) else {
            return Self::default();
        };
        builder.equivalences();
        builder.block(name, &members);
        builder.storage
    }

    pub(super) fn build(constants: &Constants) -> (Self, Vec<StorageProblem>) {
        let shares = |k: &SpecKind| matches!(k, SpecKind::Common(_) | SpecKind::Equivalence(_));
        if !constants.unit.specs.iter().any(|s| shares(&s.kind)) {
            return Default::default();
        }
        let mut builder = Builder::new(constants);
        builder.equivalences();
        for (block, members) in blocks(constants.unit) {
            builder.block(block, &members);
        }
        builder.others();
        (builder.storage, builder.problems)
    }

    /// All areas: COMMON blocks in the order in which they are first mentioned, then EQUIVALENCE
    /// classes.
    pub fn areas(&self) -> &[Area] {
        &self.areas
    }

    /// Returns the area of a COMMON block, if the unit declares it.
    pub fn block(&self, name: &str) -> Option<&Area> {
        let of_that_name = |a: &&Area| a.block.as_ref().is_some_and(|b| b == name);
        self.areas.iter().find(of_that_name)
    }

    /// Returns the position of a variable; `None` if it has storage of its own.
    pub fn range(&self, sym: SymId) -> Option<StorageRange> {
        self.ranges.get(&sym).copied()
    }

    /// Whether a variable is in COMMON, if only by EQUIVALENCE. Such a variable keeps its value
    /// there, and must not be named in SAVE.
    pub fn is_in_common(&self, sym: SymId) -> bool {
        self.common_block(sym).is_some()
    }

    /// Returns the COMMON block that contains a variable, if only by EQUIVALENCE.
    pub fn common_block(&self, sym: SymId) -> Option<&Name> {
        self.areas[self.range(sym)?.area].block.as_ref()
    }

    /// Whether two different variables share storage.
    pub fn overlap(&self, a: SymId, b: SymId) -> bool {
        match (self.range(a), self.range(b)) {
            (Some(x), Some(y)) => a != b && x.shared(y),
            _ => false,
        }
    }

    /// Whether no other variable of the unit shares a variable's storage.
    pub fn is_own(&self, sym: SymId) -> bool {
        self.overlapping(sym).next().is_none()
    }

    /// Returns the groups of variables that share storage, directly or through other variables of
    /// the group.
    pub fn overlap_groups(&self) -> Vec<Vec<SymId>> {
        let mut found: Vec<Vec<SymId>> = Vec::new();
        for area in self.areas.iter().filter(|a| a.has_overlaps) {
            let mut group: Vec<SymId> = Vec::new();
            let mut end = 0;
            for m in area.members.iter().filter(|m| m.size > 0) {
                if m.start >= end {
                    found.push(std::mem::take(&mut group));
                }
                group.push(m.sym);
                end = end.max(m.start.saturating_add(m.size));
            }
            found.push(group);
        }
        found.retain(|g| g.len() > 1);
        found
    }

    /// Returns the other variables that share storage with this one.
    pub fn overlapping(&self, sym: SymId) -> impl Iterator<Item = SymId> {
        let spot = self.range(sym);
        // Only tangled areas can contain overlapping variables.
        let area = spot.map(|s| &self.areas[s.area]).filter(|a| a.has_overlaps);
        let members = area.map_or(&[][..], |a| &a.members);
        members
            .iter()
            .map(|m| m.sym)
            .filter(move |other| self.overlap(sym, *other))
    }
}

/// Returns the COMMON blocks that a unit declares, in the order in which they are first mentioned.
pub fn common_blocks(unit: &Unit) -> Vec<Name> {
    blocks(unit)
        .into_iter()
        .map(|(name, _)| name.clone())
        .collect()
}

/// Returns the variables of a COMMON block, in order; none if the unit does not declare it.
pub fn members(unit: &Unit, block: &str) -> Vec<SymId> {
    let mut found = Vec::new();
    for spec in &unit.specs {
        if let SpecKind::Common(blocks) = &spec.kind {
            let these = blocks.iter().filter(|(n, _)| n == block);
            found.extend(these.flat_map(|(_, l)| l).map(|e| e.sym));
        }
    }
    found
}

/// Returns the blocks with their variables and the statements that name them. A block may be
/// continued in another statement.
fn blocks(unit: &Unit) -> Vec<(&Name, Vec<(SymId, Span)>)> {
    let mut found: Vec<(&Name, Vec<(SymId, Span)>)> = Vec::new();
    let mut places: HashMap<&Name, usize> = HashMap::new();
    for spec in &unit.specs {
        let SpecKind::Common(blocks) = &spec.kind else {
            continue;
        };
        for (name, list) in blocks.iter().filter(|(_, l)| !l.is_empty()) {
            let place = *places.entry(name).or_insert_with(|| {
                found.push((name, Vec::new()));
                found.len() - 1
            });
            found[place]
                .1
                .extend(list.iter().map(|e| (e.sym, spec.span)));
        }
    }
    found
}

struct Builder<'a> {
    constants: &'a Constants<'a>,
    classes: Classes,
    storage: UnitStorage,
    problems: Vec<StorageProblem>,
}

impl<'a> Builder<'a> {
    fn new(constants: &'a Constants<'a>) -> Self {
        Builder {
            constants,
            classes: Classes::default(),
            storage: UnitStorage::default(),
            problems: Vec::new(),
        }
    }

    fn equivalences(&mut self) {
        let unit = self.constants.unit;
        for spec in &unit.specs {
            let SpecKind::Equivalence(groups) = &spec.kind else {
                continue;
            };
            for group in groups {
                let mut first: Option<(SymId, i64)> = None;
                for e in group {
                    let Some(sym) = e.base() else { continue };
                    self.classes.node(sym, e.span);
                    let at = self.offset(sym, e);
                    let Some((first, first_at)) = first else {
                        first = Some((sym, at));
                        continue;
                    };
                    let distance = first_at.saturating_sub(at);
                    if !self.classes.tie(first, sym, distance, e.span) {
                        self.problems.push(StorageProblem::Inconsistent {
                            span: e.span,
                            first,
                            second: sym,
                        });
                    }
                }
            }
        }
    }

    fn offset(&mut self, sym: SymId, e: &Expr) -> i64 {
        match self.constants.offset(e) {
            Some(at) => at,
            None => {
                // A variable without a constant size is reported elsewhere.
                if self.constants.size(sym).is_some() {
                    self.problems
                        .push(StorageProblem::NotConstant { span: e.span });
                }
                0
            }
        }
    }

    /// Returns the size of a variable in bytes, and whether it is exact.
    fn size(&mut self, sym: SymId, span: Span, common: bool) -> (i64, bool) {
        if let Some(size) = self.constants.size(sym) {
            return (size, true);
        }
        self.problems
            .push(StorageProblem::Unsized { span, sym, common });
        (self.constants.element_size(sym).unwrap_or(1), false)
    }

    fn block(&mut self, name: &Name, members: &[(SymId, Span)]) {
        let unit = self.constants.unit;
        let area = self.storage.areas.len();
        let mut found = Area {
            block: Some(name.clone()),
            members: Vec::new(),
            size: 0,
            exact: true,
            has_overlaps: false,
        };
        // The offset of the next variable.
        let mut next = 0i64;
        for &(sym, span) in members {
            let align = self.constants.alignment(sym);
            if let Some(spot) = self.storage.range(sym) {
                if spot.area == area {
                    let wanted = next.saturating_add((align - next % align) % align);
                    if spot.start != wanted {
                        let block = name.clone();
                        let span = self.classes.span(sym).unwrap_or(span);
                        self.problems
                            .push(StorageProblem::Order { span, sym, block });
                    }
                    next = spot.end;
                }
                continue;
            }
            let own = self.classes.shift(sym);
            let mut class: SmallVec<[(i64, SymId); 1]> = self
                .classes
                .members(sym)
                .into_iter()
                .map(|(s, shift)| (next.saturating_add(shift.saturating_sub(own)), s))
                .collect();
            // The order in which gfortran considers them.
            let size = |s: SymId| self.constants.size(s);
            class.sort_by_key(|(start, s)| (*start, size(*s), *s == sym));
            let lowest = class.first().map_or(0, |(start, _)| *start);
            if lowest < 0 {
                let other = class.first().map_or(sym, |(_, s)| *s);
                self.problems.push(StorageProblem::BeforeBlock {
                    span: self.classes.span(other).unwrap_or(span),
                    sym: other,
                    block: name.clone(),
                    bytes: lowest.saturating_neg(),
                });
            }
            let padding = self.padding(&class, span);
            if padding > 0 {
                self.problems.push(StorageProblem::Padding {
                    span,
                    sym,
                    block: name.clone(),
                    bytes: padding,
                });
            }
            for &(start, s) in &class {
                let ours =
                    matches!(&unit.symbols[s].storage_class, StorageClass::Common(b) if b == name);
                if self.storage.range(s).is_some() {
                    // It is in another block, where this is reported.
                    continue;
                }
                if !ours && matches!(unit.symbols[s].storage_class, StorageClass::Common(_)) {
                    let span = self.classes.span(s).unwrap_or(span);
                    self.problems.push(StorageProblem::TwoBlocks {
                        span,
                        sym,
                        other: s,
                    });
                    continue;
                }
                let (size, sure) = self.size(s, span, ours);
                found.exact &= sure;
                let start = start.saturating_add(padding);
                found.members.push(Member {
                    sym: s,
                    start,
                    size,
                    named: ours,
                    padding: if s == sym { padding } else { 0 },
                });
                let end = start.saturating_add(size);
                self.storage
                    .ranges
                    .insert(s, StorageRange { area, start, end });
            }
            next = self.storage.range(sym).map_or(next, |s| s.end);
        }
        self.finish(found);
    }

    /// Returns the padding needed before a class so that all variables in it are aligned as their
    /// types require. Follows the same steps as gfortran, which gives up on some cases.
    fn padding(&mut self, class: &[(i64, SymId)], span: Span) -> i64 {
        let mut padding = 0i64;
        let mut before = 1;
        for &(start, s) in class {
            let align = self.constants.alignment(s);
            if start.rem_euclid(align) != 0 {
                let more = align - start.saturating_add(padding).rem_euclid(align);
                if more % before != 0 {
                    let span = self.classes.span(s).unwrap_or(span);
                    self.problems
                        .push(StorageProblem::Misaligned { span, sym: s });
                }
                padding = padding.saturating_add(more);
            }
            before = align;
        }
        padding
    }

    /// Adds the EQUIVALENCE classes that are not in a COMMON block.
    fn others(&mut self) {
        for node in 0..self.classes.syms.len() {
            let (sym, span) = self.classes.syms[node];
            if self.storage.range(sym).is_some() {
                continue;
            }
            let class = self.classes.members(sym);
            if class.len() < 2 {
                continue;
            }
            let area = self.storage.areas.len();
            let lowest = class.iter().map(|(_, shift)| *shift).min().unwrap_or(0);
            let mut found = Area {
                block: None,
                members: Vec::new(),
                size: 0,
                exact: true,
                has_overlaps: false,
            };
            for (s, shift) in class {
                // It is in a COMMON block, where the error was reported.
                if self.storage.range(s).is_some() {
                    continue;
                }
                let start = shift.saturating_sub(lowest);
                let (size, sure) = self.size(s, span, false);
                found.exact &= sure;
                found.members.push(Member {
                    sym: s,
                    start,
                    size,
                    named: false,
                    padding: 0,
                });
                let end = start.saturating_add(size);
                self.storage
                    .ranges
                    .insert(s, StorageRange { area, start, end });
            }
            self.finish(found);
        }
    }

    fn finish(&mut self, mut area: Area) {
        area.members.sort_by_key(|m| m.start);
        for m in &area.members {
            area.has_overlaps |= m.start < area.size;
            area.size = area.size.max(m.start.saturating_add(m.size));
        }
        self.storage.areas.push(area);
    }
}

/// Variables associated by EQUIVALENCE, with their distances: a union-find structure.
#[derive(Default)]
struct Classes {
    nodes: FxHashMap<SymId, usize>,
    /// The variable of each node, and where it is first associated with another one.
    syms: Vec<(SymId, Span)>,
    parent: Vec<usize>,
    /// Offset of the variable from its parent, in bytes.
    shift: Vec<i64>,
    /// The nodes of each class, stored at its root.
    all: Vec<Vec<usize>>,
}

impl Classes {
    fn node(&mut self, sym: SymId, span: Span) -> usize {
        *self.nodes.entry(sym).or_insert_with(|| {
            let node = self.syms.len();
            self.syms.push((sym, span));
            self.parent.push(node);
            self.shift.push(0);
            self.all.push(vec![node]);
            node
        })
    }

    /// Returns the root of a class, and the distance from it.
    fn find(&mut self, node: usize) -> (usize, i64) {
        let mut path = Vec::new();
        let mut root = node;
        while self.parent[root] != root {
            path.push(root);
            root = self.parent[root];
        }
        for n in path.into_iter().rev() {
            let parent = self.parent[n];
            self.shift[n] = self.shift[n].saturating_add(self.shift[parent]);
            self.parent[n] = root;
        }
        (root, self.shift[node])
    }

    /// Records that `b` begins `distance` bytes after `a`. Returns false if that contradicts what
    /// is known.
    fn tie(&mut self, a: SymId, b: SymId, distance: i64, span: Span) -> bool {
        let (a, b) = (self.node(a, span), self.node(b, span));
        let ((mut ra, sa), (mut rb, sb)) = (self.find(a), self.find(b));
        let mut roots = sa.saturating_add(distance).saturating_sub(sb);
        if ra == rb {
            return roots == 0;
        }
        // The smaller class is merged into the larger one.
        if self.all[ra].len() < self.all[rb].len() {
            std::mem::swap(&mut ra, &mut rb);
            roots = 0i64.saturating_sub(roots);
        }
        self.parent[rb] = ra;
        self.shift[rb] = roots;
        let moved = std::mem::take(&mut self.all[rb]);
        self.all[ra].extend(moved);
        true
    }

    /// Returns where a variable begins, relative to the root of its class.
    fn shift(&mut self, sym: SymId) -> i64 {
        match self.nodes.get(&sym) {
            Some(&node) => self.find(node).1,
            None => 0,
        }
    }

    /// Returns all variables of a variable's class, and where they begin relative to its root.
    fn members(&mut self, sym: SymId) -> SmallVec<[(SymId, i64); 1]> {
        let Some(&node) = self.nodes.get(&sym) else {
            return smallvec![(sym, 0)];
        };
        let (root, _) = self.find(node);
        let mut nodes = self.all[root].clone();
        nodes.sort_unstable();
        nodes
            .into_iter()
            .map(|n| (self.syms[n].0, self.find(n).1))
            .collect()
    }

    fn span(&self, sym: SymId) -> Option<Span> {
        self.nodes.get(&sym).map(|n| self.syms[*n].1)
    }
}
