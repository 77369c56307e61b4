//! Moves the statements of every AD block into a subroutine of their own.
//!
//! A block in UNIT becomes a call of UNIT_ADF1 (UNIT_ADR1), whose arguments are all variables that
//! the block mentions: the independent variables, then the others in alphabetical order, then the
//! dependent variables. Blocks are numbered in textual order; in a small program through all units
//! in alphabetical order, otherwise within each unit. See [`naming`](super::naming).

mod copies;
mod sharing;
mod sweeps;

use self::sharing::{BlockVariables, StorageSharing, independents_inside};
use super::bounds::{self, EntryBounds};
use super::calls::has_ad_blocks;
use super::compact::ChangedUnits;
use super::import::{Import, variables_needed};
use super::naming::{FEW, Families, Tags, taken_names};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    AdBlock, AdMode, Arg, Class, Expr, ExprKind, Label, Name, Origin, Program, Spec, SpecKind,
    Stmt, StmtKind, StorageClass, SymId, Symbol, Unit, UnitKind, for_each_symbol,
    for_each_symbol_mut, unused_name, walk_block,
};
use crate::source::Span;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The block from which each outlined subroutine comes, by the name of the subroutine.
pub(super) type OutlinedBlocks = HashMap<Name, OutlinedBlock>;

/// An AD block.
#[derive(Debug, Clone)]
pub(super) struct OutlinedBlock {
    /// The number of blocks before it in the program, in the alphabetical order of the units.
    pub rank: usize,
    /// Its number in its name, counted from 1.
    pub number: u32,
    /// The tag that tells it from blocks with the same number in other units; empty if numbers
    /// count through the program.
    pub tag: Name,
}

/// Outlines all blocks. Adds the names of the units that it changes or adds to `changed`.
pub(super) fn outline(
    program: &mut Program,
    families: &Families,
    changed: &mut ChangedUnits,
    diagnostics: &mut Vec<Diagnostic>,
) -> OutlinedBlocks {
    let mut places: Vec<usize> = (0..program.units.len())
        .filter(|i| has_ad_blocks(&program.units[*i].body))
        .collect();
    if places.is_empty() {
        return OutlinedBlocks::new();
    }
    places.sort_by(|a, b| program.units[*a].name.cmp(&program.units[*b].name));
    let mut taken = taken_names(program);
    let counted = counted_through(program, &places, families);
    let mut tags = Tags::default();
    let mut blocks = OutlinedBlocks::new();
    let sharing = StorageSharing::of(program, &places);
    let mut changing = bounds::changing(program);
    let mut new: Vec<Vec<Unit>> = vec![Vec::new(); program.units.len()];
    for at in places {
        let (before, tag) = match counted {
            true => (0, Name::default()),
            false => (blocks.len(), tags.of(&program.units[at].name)),
        };
        let mut outline = Outline {
            taken: &mut taken,
            blocks: &mut blocks,
            before,
            tag,
            formats: Vec::new(),
            sharing: sharing.as_ref(),
            new: Vec::new(),
            counts: HashSet::new(),
            on_entry: EntryBounds::of(changing.remove(&program.units[at].name).unwrap_or_default()),
            diagnostics,
        };
        outline.unit(&mut program.units[at], &mut new[at]);
        changed.insert(program.units[at].name.clone());
        changed.extend(new[at].iter().map(|u| u.name.clone()));
    }
    let old = std::mem::take(&mut program.units);
    // Each new subroutine precedes its unit.
    program.units = old
        .into_iter()
        .zip(new)
        .flat_map(|(unit, new)| new.into_iter().chain([unit]))
        .collect();
    blocks
}

/// Whether the program is so small that its blocks are numbered through. `places` holds the indices
/// of the units with blocks.
fn counted_through(program: &Program, places: &[usize], families: &Families) -> bool {
    let mut found = BTreeSet::new();
    let mut count = 0;
    for at in places {
        let unit = &program.units[*at];
        found.insert(families.of(&unit.name));
        walk_block(&unit.body, &mut |s| {
            count += usize::from(matches!(s.kind, StmtKind::Ad(_)));
        });
        if families.part || found.len() > 1 || count > FEW {
            return false;
        }
    }
    true
}

struct Outline<'a> {
    taken: &'a mut HashSet<Name>,
    blocks: &'a mut OutlinedBlocks,
    /// The number of earlier blocks that the numbers here do not include.
    before: usize,
    tag: Name,
    /// The FORMAT statements of the unit.
    formats: Vec<Spec>,
    sharing: Option<&'a StorageSharing>,
    /// The subroutines of the unit's blocks.
    new: Vec<Unit>,
    /// The arguments that are numbers of directions, each with its subroutine.
    counts: HashSet<(Name, SymId)>,
    /// The values on entry on which the unit's array bounds depend.
    on_entry: EntryBounds,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Outline<'_> {
    /// Takes the blocks out of a unit, and adds the new subroutines to `out`, each after those of
    /// the blocks within it.
    fn unit(&mut self, unit: &mut Unit, out: &mut Vec<Unit>) {
        let mut body = std::mem::take(&mut unit.body);
        self.formats = formats(unit, &body);
        self.blocks(unit, &mut body);
        // The values saved here do not change in the subroutines.
        let on_entry = std::mem::take(&mut self.on_entry);
        unit.body = on_entry.save_at_entries(unit, body);
        for mut new in std::mem::take(&mut self.new) {
            self.unit(&mut new, out);
            out.push(new);
        }
    }

    fn blocks(&mut self, unit: &mut Unit, body: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(body) {
            let span = stmt.span;
            if let Some(count) = self.unbound_count(unit, &stmt) {
                self.sweep(unit, stmt, count, body);
                continue;
            }
            if let StmtKind::Ad(block) = &mut stmt.kind {
                let rank = self.blocks.len();
                let number = (rank - self.before) as u32 + 1;
                let word = match block.mode {
                    AdMode::Forward => "ADF",
                    AdMode::Reverse => "ADR",
                };
                let name = unused_name(&format!("{}_{word}{number}", unit.name), &|n| {
                    self.taken.contains(n)
                });
                self.taken.insert(name.clone());
                let made_from = OutlinedBlock {
                    rank,
                    number,
                    tag: self.tag.clone(),
                };
                self.blocks.insert(name.clone(), made_from);
                let (outlined, mut before) = self.extract(unit, block, name, span);
                self.new.push(outlined);
                if let Some(first) = before.first_mut() {
                    first.label = stmt.label.take();
                }
                body.append(&mut before);
            } else {
                for inner in stmt.blocks_mut() {
                    self.blocks(unit, inner);
                }
            }
            body.push(stmt);
        }
    }

    /// Replaces the statements of a block by a call. Returns the subroutine with these statements,
    /// and the statements that must precede the block.
    fn extract(
        &mut self,
        unit: &mut Unit,
        block: &mut AdBlock,
        name: Name,
        span: Span,
    ) -> (Unit, Vec<Stmt>) {
        let mut mentioned = BTreeSet::new();
        for_each_symbol(&block.body, &mut |s| {
            mentioned.insert(s);
        });
        let (by, of) = block.named();
        let named = BlockVariables {
            mentioned: &mentioned,
            independents: &by,
            dependents: &of,
            inside: &independents_inside(block),
        };
        let tied = match self.sharing {
            Some(sharing) => sharing.tied(unit, block, &named),
            None => Vec::new(),
        };
        let copies = self.copies(unit, block, &tied, span);
        let (independents, dependents) = block.named();
        let both = independents.iter().chain(&dependents).copied();
        let mut all = variables_needed(&unit.symbols, mentioned.iter().copied().chain(both));
        for t in &tied {
            all.retain(|s| !t.members.contains(s));
            all.extend(&t.carriers);
        }
        for s in &all {
            let s = &unit.symbols[*s];
            if let Some(what) = s.reason_against_passing() {
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::AD_ALLOCATION,
                        span,
                        format!("{} is {what}, and cannot be used in an AD block", s.name),
                    )
                    .related(s.span, "declared here")
                    .help("put the block into a subroutine that gets it as a plain argument"),
                );
            }
        }
        if let Some(sharing) = self.sharing
            && let Some(error) = sharing.error(unit, block, &named, &all, &tied, span)
        {
            self.diagnostics.push(error);
        }
        let mut rest: Vec<SymId> = all
            .iter()
            .copied()
            .filter(|s| !independents.contains(s) && !dependents.contains(s))
            .collect();
        rest.sort_by(|a, b| unit.symbols[*a].name.cmp(&unit.symbols[*b].name));
        let last = dependents.into_iter().filter(|s| !independents.contains(s));
        let order: Vec<SymId> = independents
            .iter()
            .copied()
            .chain(rest)
            .chain(last)
            .collect();

        let mut outlined = Unit::new(UnitKind::Subroutine, name.clone(), span);
        outlined.origin = Origin::Generated;
        outlined.sizes = unit.sizes;
        outlined.directives.clone_from(&unit.directives);
        outlined.end_span = block.end_span;
        outlined.implicit = unit.implicit.clone();
        if !outlined.implicit.is_empty() {
            outlined.specs.push(Spec {
                kind: SpecKind::Implicit,
                span,
            });
        }
        let mut first = copies.first;
        let mut last = copies.last;
        let mut carried = Vec::new();
        for s in tied.iter().flat_map(|t| &t.carriers) {
            let dummy = self.stand_in(unit, *s, span);
            let mut take = self.copy(unit, *s, dummy, span);
            take.append(&mut first);
            first = take;
            last.extend(self.copy(unit, dummy, *s, span));
            carried.push((*s, dummy));
        }
        let dummy = |s: SymId| carried.iter().find(|(c, _)| *c == s).map_or(s, |(_, d)| *d);
        // An array keeps the bounds that it had on entry, even if their variables have changed
        // since.
        let shapes: Vec<Symbol> = order
            .iter()
            .map(|s| self.on_entry.seen(unit, dummy(*s), self.taken))
            .collect();
        let mut kept: Vec<SymId> = Vec::new();
        for e in shapes.iter().flat_map(bounds::bounds) {
            let of_entry = self.on_entry.variables();
            let of_entry: Vec<SymId> = of_entry.filter(|k| !kept.contains(k)).collect();
            e.for_each_symbol(&mut |s| {
                if of_entry.contains(&s) && !kept.contains(&s) {
                    kept.push(s);
                }
            });
        }
        let mut import = Import::new(unit);
        for s in &kept {
            import.add(&mut outlined, *s, StorageClass::Dummy);
        }
        // Bounds and lengths may depend on the scalars.
        let mut scalars_first: Vec<SymId> = order.iter().map(|s| dummy(*s)).collect();
        scalars_first.sort_by_key(|s| {
            let s = &unit.symbols[*s];
            (s.is_array(), s.length.is_some())
        });
        for s in scalars_first {
            import.add(&mut outlined, s, StorageClass::Dummy);
        }
        outlined.args = order
            .iter()
            .map(|s| Arg::Dummy(import.symbol(&mut outlined, dummy(*s))))
            .collect();
        if !kept.is_empty() {
            for (s, shape) in order.iter().zip(shapes) {
                let ours = import.symbol(&mut outlined, dummy(*s));
                let (mut dims, mut length) = (shape.dims, shape.length);
                for e in bounds::bounds_mut(&mut dims, &mut length) {
                    *e = import.expr(&mut outlined, e.clone());
                }
                outlined.symbols[ours].dims = dims;
                outlined.symbols[ours].length = length;
            }
        }
        for s in &kept {
            let dummy = import.symbol(&mut outlined, *s);
            outlined.args.push(Arg::Dummy(dummy));
        }
        Self::tie(unit, &mut outlined, &mut import, &tied);
        let mut body = first;
        body.append(&mut block.body);
        body.append(&mut last);
        for_each_symbol_mut(&mut body, &mut |s| *s = import.symbol(&mut outlined, *s));
        outlined.specs.extend(formats_needed(&self.formats, &body));
        outlined.body = body;

        let symbol = Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            ..Symbol::new(name, span)
        };
        let callee = unit.symbols.add(symbol);
        let args = order
            .iter()
            .chain(&kept)
            .map(|s| Expr::var(*s, span))
            .collect();
        block.body = vec![Stmt::call(callee, args, span)];
        (outlined, copies.before)
    }
}

/// Whether a block of a unit differentiates with respect to a variable. A variable that a block
/// only computes is not separate in this sense: it may be assigned through another name.
pub(super) fn is_independent(unit: &Unit, s: SymId) -> bool {
    independents(unit).contains(&s)
}

/// Returns the independent variables of all blocks of a unit.
pub(super) fn independents(unit: &Unit) -> HashSet<SymId> {
    let mut found = HashSet::new();
    walk_block(&unit.body, &mut |stmt| {
        if let StmtKind::Ad(block) = &stmt.kind {
            found.extend(block.named().0);
        }
    });
    found
}

/// Returns all FORMAT statements of a unit with these statements.
pub(super) fn formats(unit: &Unit, body: &[Stmt]) -> Vec<Spec> {
    let mut found: Vec<Spec> = unit
        .specs
        .iter()
        .filter(|s| matches!(s.kind, SpecKind::Format(..)))
        .cloned()
        .collect();
    walk_block(body, &mut |s| {
        if let (StmtKind::Format(text), Some(l)) = (&s.kind, s.label) {
            found.push(Spec {
                kind: SpecKind::Format(l, text.clone()),
                span: s.span,
            });
        }
    });
    found
}

/// Returns the FORMAT statements to which the input and output statements of a block refer, and
/// which are outside of the block.
pub(super) fn formats_needed(formats: &[Spec], body: &[Stmt]) -> Vec<Spec> {
    let mut wanted: BTreeSet<Label> = BTreeSet::new();
    let mut inside: BTreeSet<Label> = BTreeSet::new();
    walk_block(body, &mut |s| {
        inside.extend(s.label);
        if let StmtKind::Io(io) = &s.kind {
            for c in &io.control {
                let value = match &c.kind {
                    ExprKind::Keyword(_, e) => &e.kind,
                    other => other,
                };
                if let ExprKind::Int(n) = value {
                    wanted.extend(Label::try_from(*n));
                }
            }
        }
    });
    let needed = |l: &Label| wanted.contains(l) && !inside.contains(l);
    formats
        .iter()
        .filter(|s| matches!(&s.kind, SpecKind::Format(l, _) if needed(l)))
        .cloned()
        .collect()
}
