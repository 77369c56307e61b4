//! The statements of every AD block become a subroutine of their own.
//!
//! A block in UNIT becomes a call of UNIT_ADF1 (UNIT_ADR1), whose arguments are all
//! variables that the block mentions: the independents, the others in alphabetical order,
//! the dependents. Blocks are numbered in the order of the text, those of a small program
//! through all units in alphabetical order, else in each unit; see [`naming`](super::naming).

use super::calls::{global, has_ad_blocks};
use super::compact::Changed;
use super::import::{Import, variables_needed};
use super::naming::{FEW, Families, Tags, taken_names};
use crate::callgraph::CallGraph;
use crate::diagnostic::{Diagnostic, rules};
use crate::effects::Assigned;
use crate::ir::{
    AdBlock, AdItem, AdMode, Arg, Class, Expr, ExprKind, Label, Name, Place, Program, Spec,
    SpecKind, Stmt, StmtKind, SymId, Symbol, Unit, UnitKind, for_each_symbol, for_each_symbol_mut,
    unused_name, walk_block,
};
use crate::source::Span;
use crate::storage::{UnitStorage, common_blocks, members};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The block that each outlined subroutine comes from.
pub(super) type Blocks = HashMap<Name, Block>;

/// An AD block.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// How many there are before it in the program, by the alphabetical order of the units.
    pub rank: usize,
    /// It counts from 1.
    pub number: u32,
    /// What tells it from blocks of the same number in other units; empty where numbers
    /// count through the program.
    pub tag: Name,
}

/// Adds the names of the units that it changes or adds to `changed`.
pub(super) fn outline(
    program: &mut Program,
    families: &Families,
    changed: &mut Changed,
    diagnostics: &mut Vec<Diagnostic>,
) -> Blocks {
    let mut places: Vec<usize> = (0..program.units.len())
        .filter(|i| has_ad_blocks(&program.units[*i].body))
        .collect();
    if places.is_empty() {
        return Blocks::new();
    }
    places.sort_by(|a, b| program.units[*a].name.cmp(&program.units[*b].name));
    let mut taken = taken_names(program);
    let counted = counted_through(program, &places, families);
    let mut tags = Tags::default();
    let mut blocks = Blocks::new();
    let sharing = Sharing::of(program, &places);
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
            diagnostics,
        };
        outline.unit(&mut program.units[at], &mut new[at]);
        changed.insert(program.units[at].name.clone());
        changed.extend(new[at].iter().map(|u| u.name.clone()));
    }
    let old = std::mem::take(&mut program.units);
    // The new subroutines go before their unit.
    program.units = old
        .into_iter()
        .zip(new)
        .flat_map(|(unit, new)| new.into_iter().chain([unit]))
        .collect();
    blocks
}

/// Is the program so small that its blocks are counted through it? `places` are the
/// positions of the units with blocks.
fn counted_through(program: &Program, places: &[usize], families: &Families) -> bool {
    let mut found = BTreeSet::new();
    let mut count = 0;
    for at in places {
        let unit = &program.units[*at];
        found.insert(families.of(&unit.name));
        walk_block(&unit.body, &mut |s| {
            count += usize::from(matches!(s.kind, StmtKind::Ad(_)));
        });
        if found.len() > 1 || count > FEW {
            return false;
        }
    }
    true
}

struct Outline<'a> {
    taken: &'a mut HashSet<Name>,
    blocks: &'a mut Blocks,
    /// How many blocks do not count for the numbers here.
    before: usize,
    tag: Name,
    /// The FORMAT statements of the unit.
    formats: Vec<Spec>,
    sharing: Option<&'a Sharing>,
    /// The subroutines of the unit's blocks.
    new: Vec<Unit>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Outline<'_> {
    /// Takes the blocks out of a unit, and adds the new subroutines to `out`, each behind
    /// those that come out of blocks inside of it.
    fn unit(&mut self, unit: &mut Unit, out: &mut Vec<Unit>) {
        let mut body = std::mem::take(&mut unit.body);
        self.formats = formats(unit, &body);
        self.blocks(unit, &mut body);
        unit.body = body;
        for mut new in std::mem::take(&mut self.new) {
            self.unit(&mut new, out);
            out.push(new);
        }
    }

    fn blocks(&mut self, unit: &mut Unit, body: &mut [Stmt]) {
        for stmt in body {
            let span = stmt.span;
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
                let made_from = Block {
                    rank,
                    number,
                    tag: self.tag.clone(),
                };
                self.blocks.insert(name.clone(), made_from);
                let outlined = self.extract(unit, block, name, span);
                self.new.push(outlined);
            } else {
                for inner in stmt.blocks_mut() {
                    self.blocks(unit, inner);
                }
            }
        }
    }

    /// Replaces the statements of a block by a call and returns the subroutine that holds
    /// them.
    fn extract(&mut self, unit: &mut Unit, block: &mut AdBlock, name: Name, span: Span) -> Unit {
        let mut mentioned = BTreeSet::new();
        for_each_symbol(&block.body, &mut |s| {
            mentioned.insert(s);
        });
        let (independents, dependents) = match block.mode {
            AdMode::Forward => (bases(&block.opening), bases(&block.closing)),
            AdMode::Reverse => (bases(&block.closing), bases(&block.opening)),
        };
        for s in independents.iter().chain(&dependents) {
            if let Place::Common(b) = &unit.symbols[*s].place {
                let what = if b.is_empty() {
                    "blank COMMON".into()
                } else {
                    format!("COMMON /{b}/")
                };
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::AD_UNSUPPORTED,
                        span,
                        format!(
                            "{} is in {what}, where this version cannot differentiate it",
                            unit.symbols[*s].name
                        ),
                    )
                    .help("copy it to a local variable before the block, or from one after it"),
                );
            }
        }
        let listed = independents.iter().chain(&dependents).copied();
        let all = variables_needed(&unit.symbols, mentioned.iter().copied().chain(listed));
        for s in &all {
            let s = &unit.symbols[*s];
            if let Some(what) = s.handover_bar() {
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::AD_UNSUPPORTED,
                        span,
                        format!("{} is {what}, and cannot be used in an AD block", s.name),
                    )
                    .related(s.span, "declared here")
                    .help("put the block into a subroutine that gets it as a plain argument"),
                );
            }
        }
        if let Some(sharing) = self.sharing
            && let Some(fault) = sharing.fault(unit, block, &mentioned, &all, span)
        {
            self.diagnostics.push(fault);
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
        outlined.end_span = block.end_span;
        outlined.implicit = unit.implicit.clone();
        if !outlined.implicit.is_empty() {
            outlined.specs.push(Spec {
                kind: SpecKind::Implicit,
                span,
            });
        }
        let mut import = Import::new(unit);
        // The bounds of arrays may depend on the scalars.
        let mut scalars_first = order.clone();
        scalars_first.sort_by_key(|s| unit.symbols[*s].is_array());
        for s in scalars_first {
            import.add(&mut outlined, s, Place::Dummy);
        }
        outlined.args = order
            .iter()
            .map(|s| Arg::Dummy(import.symbol(&mut outlined, *s)))
            .collect();
        let mut body = std::mem::take(&mut block.body);
        for_each_symbol_mut(&mut body, &mut |s| *s = import.symbol(&mut outlined, *s));
        outlined.specs.extend(formats_needed(&self.formats, &body));
        outlined.body = body;

        let symbol = Symbol {
            class: Class::Subroutine,
            place: Place::Global,
            ..Symbol::new(name, span)
        };
        let callee = unit.symbols.add(symbol);
        let args = order.iter().map(|s| Expr::var(*s, span)).collect();
        block.body = vec![Stmt::new(StmtKind::Call(callee, args), span)];
        outlined
    }
}

/// What is needed to see whether the arguments of a block's subroutine share storage.
struct Sharing {
    assigned: Assigned,
    graph: CallGraph,
    /// For every unit, its name and the COMMON blocks that it declares.
    commons: Vec<(Name, Vec<Name>)>,
}

impl Sharing {
    /// Nothing if no unit with an AD block has an EQUIVALENCE. `with_blocks` are the
    /// positions of the units with AD blocks.
    fn of(program: &Program, with_blocks: &[usize]) -> Option<Self> {
        let concerned = with_blocks
            .iter()
            .any(|i| has_equivalence(&program.units[*i]));
        concerned.then(|| Sharing {
            assigned: Assigned::of(program),
            graph: CallGraph::of(program),
            commons: program
                .units
                .iter()
                .map(|u| (u.name.clone(), common_blocks(u)))
                .collect(),
        })
    }

    /// Two names for one storage would be two arguments of the subroutine, or an argument
    /// and a COMMON variable. Derivatives would not pass from one to the other.
    fn fault(
        &self,
        unit: &Unit,
        block: &AdBlock,
        mentioned: &BTreeSet<SymId>,
        arguments: &BTreeSet<SymId>,
        span: Span,
    ) -> Option<Diagnostic> {
        if !has_equivalence(unit) {
            return None;
        }
        let storage = UnitStorage::of(unit);
        let name = |s: SymId| &unit.symbols[s].name;
        let fault = |message: String| {
            Diagnostic::error(&rules::AD_UNSUPPORTED, span, message)
                .label("AD block")
                .help("use one name for it in the block, or a variable of its own")
        };
        let changed = self.assigned.in_block(unit, &block.body);
        let used: BTreeSet<SymId> = mentioned.union(arguments).copied().collect();
        for a in used.iter().filter(|a| changed.contains(a)) {
            if let Some(b) = used.iter().find(|b| storage.overlap(*a, **b)) {
                return Some(fault(format!(
                    "{} and {} share their storage, and the block assigns {}",
                    name(*a),
                    name(*b),
                    name(*a)
                )));
            }
        }
        // What the block calls may see the same storage as COMMON.
        let mut called: BTreeSet<Name> = BTreeSet::new();
        for_each_symbol(&block.body, &mut |s| {
            called.extend(global(&unit.symbols, s).cloned())
        });
        let called = called.iter().filter_map(|n| self.graph.index(n));
        let reached = self.graph.reached(called);
        for common in common_blocks(unit) {
            let mut seen: Vec<&Name> = reached
                .iter()
                .map(|u| &self.commons[*u])
                .filter(|(_, declared)| declared.contains(&common))
                .map(|(name, _)| name)
                .collect();
            seen.sort();
            let members = members(unit, &common);
            for a in arguments {
                if let Some(by) = seen.first()
                    && members.iter().any(|m| storage.overlap(*a, *m))
                {
                    let common = match common.as_str() {
                        "" => "blank COMMON".to_owned(),
                        c => format!("COMMON /{c}/"),
                    };
                    return Some(fault(format!(
                        "{} lies in {common}, which {by} sees, too",
                        name(*a)
                    )));
                }
            }
        }
        None
    }
}

fn has_equivalence(unit: &Unit) -> bool {
    unit.specs
        .iter()
        .any(|s| matches!(s.kind, SpecKind::Equivalence(_)))
}

/// The variables of an opening or closing, each once, in order.
pub(super) fn bases(items: &[AdItem]) -> Vec<SymId> {
    let mut found = Vec::new();
    for item in items {
        item.for_each_assign(&mut |a| {
            if let Some(s) = a.var.base()
                && !found.contains(&s)
            {
                found.push(s);
            }
        });
    }
    found
}

/// All FORMAT statements of a unit with these statements.
fn formats(unit: &Unit, body: &[Stmt]) -> Vec<Spec> {
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

/// Those among the FORMAT statements that the input and output of a block refers to and
/// that stand outside of it.
fn formats_needed(formats: &[Spec], body: &[Stmt]) -> Vec<Spec> {
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
