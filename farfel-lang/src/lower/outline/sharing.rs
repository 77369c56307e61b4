//! Variables of a block that share storage.

use crate::diagnostic::{Diagnostic, rules};
use crate::effects::Assigned;
use crate::ir::{AdBlock, Program, SpecKind, StmtKind, SymId, Type, Unit, walk_block};
use crate::source::Span;
use crate::storage::{Area, UnitStorage};
use std::collections::BTreeSet;

/// The facts needed to decide whether the arguments of a block's subroutine share storage.
pub(super) struct StorageSharing {
    assigned: Assigned,
}

/// Local variables that share storage and that a block uses under several names, or a COMMON block
/// in which the block uses variables that EQUIVALENCE puts there. The subroutine declares all of
/// them, sharing storage in the same way. For local variables, some that cover the others carry
/// their values in and out.
pub(super) struct SharedVariables {
    /// All variables of the group.
    pub members: Vec<SymId>,
    /// Variables that together cover the others, without overlap.
    pub carriers: Vec<SymId>,
}

/// The variables that a block names.
pub(super) struct BlockVariables<'a> {
    /// In its statements.
    pub mentioned: &'a BTreeSet<SymId>,
    /// In its opening or closing, as independent variables.
    pub independents: &'a [SymId],
    /// In its opening or closing, as dependent variables.
    pub dependents: &'a [SymId],
    /// The independent variables of blocks within it. Like its own, their derivatives do not carry
    /// over to other names for the same storage.
    pub inside: &'a BTreeSet<SymId>,
}

/// Returns the independent variables of the blocks within a block.
pub(super) fn independents_inside(block: &AdBlock) -> BTreeSet<SymId> {
    let mut found = BTreeSet::new();
    walk_block(&block.body, &mut |s| {
        if let StmtKind::Ad(inner) = &s.kind {
            found.extend(inner.named().0);
        }
    });
    found
}

impl BlockVariables<'_> {
    fn is_differentiated_by(&self, s: SymId) -> bool {
        self.independents.contains(&s) || self.inside.contains(&s)
    }

    fn all(&self) -> BTreeSet<SymId> {
        let listed = self.independents.iter().chain(self.dependents);
        self.mentioned.iter().chain(listed).copied().collect()
    }
}

impl StorageSharing {
    /// Returns `None` if no unit with an AD block has an EQUIVALENCE. `with_blocks` holds the
    /// indices of the units with AD blocks.
    pub fn of(program: &Program, with_blocks: &[usize]) -> Option<Self> {
        let concerned = with_blocks
            .iter()
            .any(|i| has_equivalence(&program.units[*i]));
        concerned.then(|| StorageSharing {
            assigned: Assigned::of(program),
        })
    }

    /// Returns the groups of local variables that share storage if the block names several of them
    /// and changes, or is differentiated with respect to, at least one; and the COMMON blocks that
    /// it uses under names from an EQUIVALENCE.
    pub fn tied(
        &self,
        unit: &Unit,
        block: &AdBlock,
        named: &BlockVariables,
    ) -> Vec<SharedVariables> {
        if !has_equivalence(unit) {
            return Vec::new();
        }
        let storage = UnitStorage::of(unit);
        let changed = self.assigned.in_block(unit, &block.body);
        let used = named.all();
        let active = |s: &SymId| changed.contains(s) || named.is_differentiated_by(*s);
        let concerned = |area: &Area| {
            area.members.iter().map(|m| m.sym).any(|a| {
                active(&a) && used.contains(&a) && used.iter().any(|b| storage.overlap(a, *b))
            })
        };
        let in_common = |area: &Area| {
            let mut tied = area.members.iter().filter(|m| !m.named);
            tied.any(|m| used.contains(&m.sym))
        };
        let areas = storage.areas().iter();
        areas
            .filter(|area| match area.block {
                None => concerned(area),
                Some(_) => in_common(area),
            })
            .filter_map(|area| {
                // Two names for the same storage would be differentiated separately.
                let several = named
                    .independents
                    .iter()
                    .any(|a| named.independents.iter().any(|b| storage.overlap(*a, *b)));
                if several {
                    return None;
                }
                Some(SharedVariables {
                    members: area.members.iter().map(|m| m.sym).collect(),
                    carriers: match area.block {
                        None => carriers(unit, area)?,
                        Some(_) => Vec::new(),
                    },
                })
            })
            .collect()
    }

    /// Returns an error if two names for the same storage would become two arguments of the
    /// subroutine, because derivatives would not carry over from one to the other. `arguments`
    /// holds its arguments, `tied` the variables that share storage in the subroutine, too.
    pub fn error(
        &self,
        unit: &Unit,
        block: &AdBlock,
        named: &BlockVariables,
        arguments: &BTreeSet<SymId>,
        tied: &[SharedVariables],
        span: Span,
    ) -> Option<Diagnostic> {
        if !has_equivalence(unit) {
            return None;
        }
        let storage = UnitStorage::of(unit);
        let name = |s: SymId| &unit.symbols[s].name;
        let error = |message: String| {
            Diagnostic::error(&rules::AD_STORAGE, span, message)
                .label("AD block")
                .help("use one name for it in the block, or a variable of its own")
        };
        let changed = self.assigned.in_block(unit, &block.body);
        let mut used = named.all();
        used.extend(arguments);
        used.retain(|s| !tied.iter().any(|t| t.members.contains(s)));
        for a in &used {
            let how = match () {
                () if changed.contains(a) => "assigns",
                () if named.is_differentiated_by(*a) => "is differentiated by",
                () => continue,
            };
            if let Some(b) = used.iter().find(|b| storage.overlap(*a, **b)) {
                return Some(error(format!(
                    "{} and {} share their storage, and the block {how} {}",
                    name(*a),
                    name(*b),
                    name(*a)
                )));
            }
        }
        None
    }
}

/// Returns variables of an area that follow one another and cover all of it.
fn carriers(unit: &Unit, area: &Area) -> Option<Vec<SymId>> {
    let fits = |s: SymId| unit.symbols[s].ty.is_some_and(Type::is_differentiable);
    let whole = |m: &&crate::storage::Member| fits(m.sym) && m.start == 0 && m.size == area.size;
    if let Some(m) = area.members.iter().find(whole) {
        return Some(vec![m.sym]);
    }
    let mut found = Vec::new();
    let mut end = 0;
    while end < area.size {
        let next = area.members.iter().filter(|m| m.start == end && m.size > 0);
        let next = next.filter(|m| fits(m.sym)).max_by_key(|m| m.size)?;
        found.push(next.sym);
        end = next.start.checked_add(next.size)?;
    }
    Some(found)
}

fn has_equivalence(unit: &Unit) -> bool {
    unit.specs
        .iter()
        .any(|s| matches!(s.kind, SpecKind::Equivalence(_)))
}
