//! What the statements of an ADR block change, as seen from outside of their subroutine.
//!
//! The derivative runs after the statements, and from the same starting point. So everything that
//! they change must be restored for it.

use super::input;
use super::observers::only_compute;
use crate::callgraph::CallGraph;
use crate::dataflow::Intents;
use crate::diagnostic::{Diagnostic, rules};
use crate::effects::Assigned;
use crate::ir::{
    AdMode, Class, Name, Program, SpecKind, StmtKind, StorageClass, SymId, Type, Unit, walk_block,
};
use crate::lower::outline::OutlinedBlocks;
use crate::source::Span;
use crate::storage::{Area, Constants, UnitStorage};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// The effects of the subroutine of an ADR block, including everything that it calls.
pub(super) struct HeadEffects {
    /// Which of its arguments it may assign.
    pub assigned: Vec<bool>,
    /// What the derivative must find in each of its arguments.
    pub starts: Vec<RequiredValue>,
    /// The COMMON variables that it may assign.
    pub commons: Vec<ChangedCommon>,
    /// Whether it changes nothing else, and does nothing but compute.
    pub only_computes: bool,
    /// Errors about effects that cannot be undone.
    pub errors: Vec<Diagnostic>,
}

/// The value that the derivative must find in an argument that the statements assign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequiredValue {
    /// Any value, since nothing reads it.
    Anything,
    /// The value from before the statements.
    Before,
    /// The value from after the statements, which they read as input.
    After,
}

/// The variables of a COMMON block that may be assigned.
pub(super) struct ChangedCommon {
    /// The name of the block.
    pub block: Name,
    /// A unit that declares the block, if the one with the AD block does not. The same for all AD
    /// blocks of a unit.
    pub from: Option<Rc<Unit>>,
    /// The positions of these variables in the block.
    pub positions: Vec<usize>,
}

impl HeadEffects {
    /// Computes the effects of the subroutine of every ADR block.
    pub fn of(program: &Program, blocks: &OutlinedBlocks) -> HashMap<Name, HeadEffects> {
        let mut heads: Vec<(usize, &Name, Span)> = Vec::new();
        for (i, unit) in program.units.iter().enumerate() {
            walk_block(&unit.body, &mut |s| {
                if let StmtKind::Ad(block) = &s.kind
                    && block.mode == AdMode::Reverse
                    && let Some(StmtKind::Call(head, _)) = block.body.first().map(|s| &s.kind)
                    && blocks.contains_key(&unit.symbols[*head].name)
                {
                    heads.push((i, &unit.symbols[*head].name, s.span));
                }
            });
        }
        if heads.is_empty() {
            return HashMap::new();
        }
        let layouts: Vec<_> = program.units.iter().map(CommonLayout::of).collect();
        let mut search = Search {
            program,
            places: program
                .units
                .iter()
                .enumerate()
                .map(|(i, u)| (&u.name, i))
                .collect(),
            graph: CallGraph::of(program),
            assigned: Assigned::of(program),
            intents: Intents::of(program),
            known: HashMap::new(),
            longest: longest(program, &layouts),
            layouts,
        };
        heads
            .into_iter()
            .map(|(caller, head, span)| (head.clone(), search.head(caller, head, span)))
            .collect()
    }
}

struct Search<'p> {
    program: &'p Program,
    places: HashMap<&'p Name, usize>,
    graph: CallGraph,
    assigned: Assigned,
    intents: Intents,
    known: HashMap<usize, UnitChanges>,
    /// The COMMON blocks that each unit declares.
    layouts: Vec<BTreeMap<Name, CommonLayout>>,
    /// For each COMMON block, the unit that declares the largest part of it, without its
    /// statements.
    longest: HashMap<Name, (usize, Rc<Unit>)>,
}

/// The variables that a unit changes itself.
#[derive(Default)]
struct UnitChanges {
    /// The COMMON variables, by block.
    commons: BTreeMap<Name, BTreeSet<SymId>>,
    /// Saved variables that share storage, which `saved_variables` does not move to COMMON.
    stuck: Vec<SymId>,
    /// The statements that receive values from outside of the program.
    input: Vec<Span>,
}

impl<'p> Search<'p> {
    fn head(&mut self, caller: usize, head: &Name, span: Span) -> HeadEffects {
        let mut effects = HeadEffects {
            assigned: Vec::new(),
            starts: Vec::new(),
            commons: Vec::new(),
            only_computes: false,
            errors: Vec::new(),
        };
        let Some(unit) = self.places.get(head).map(|i| &self.program.units[*i]) else {
            return effects;
        };
        for p in 0..unit.args.len() {
            effects.assigned.push(self.assigned.argument(head, p));
            let used = self.intents.get(head).and_then(|all| all.get(p));
            effects.starts.push(match used.is_none_or(|u| u.reads) {
                true => RequiredValue::Before,
                false => RequiredValue::Anything,
            });
        }
        let (assigned, intents) = (&self.assigned, &self.intents);
        for p in input::read_by_head(unit, span, assigned, intents, &mut effects.errors) {
            effects.starts[p] = RequiredValue::After;
        }
        let mut closure: Vec<usize> = self.graph.reached(self.graph.index(head));
        closure.sort_by(|a, b| {
            self.program.units[*a]
                .name
                .cmp(&self.program.units[*b].name)
        });
        let mut changed: BTreeSet<Name> = BTreeSet::new();
        for i in &closure {
            let unit = &self.program.units[*i];
            let changes = self.changes(*i);
            if unit.name != *head {
                let input = changes.input.iter();
                effects
                    .errors
                    .extend(input.map(|at| input::error(*at, span)));
            }
            changed.extend(changes.commons.keys().cloned());
            for s in &changes.stuck {
                let s = &unit.symbols[*s];
                effects.errors.push(
                    Diagnostic::error(
                        &rules::AD_STORAGE,
                        s.span.or(span),
                        format!("{} keeps its value from call to call and shares its storage, so ADR cannot restore it", s.name),
                    )
                    .related(span, "for the derivative of this block")
                    .help("take it out of the EQUIVALENCE, or out of the SAVE"),
                );
            }
        }
        for block in changed {
            match self.common(caller, &block, &closure, span) {
                Ok(c) => effects.commons.push(c),
                Err(d) => effects.errors.push(*d),
            }
        }
        let changes = !effects.commons.is_empty() || !effects.errors.is_empty();
        effects.only_computes = !changes && only_compute(self.program, &closure, &self.graph);
        effects
    }

    fn changes(&mut self, at: usize) -> &UnitChanges {
        let (program, assigned) = (self.program, &self.assigned);
        self.known
            .entry(at)
            .or_insert_with(|| changes(&program.units[at], assigned))
    }

    /// Returns the variables of a COMMON block that some unit of the closure assigns, as the caller
    /// declares them or, if it does not, as the unit that declares the largest part of the block.
    fn common(
        &self,
        caller: usize,
        block: &Name,
        closure: &[usize],
        span: Span,
    ) -> Result<ChangedCommon, Box<Diagnostic>> {
        let nothing = BTreeSet::new();
        let mut layouts = Vec::new();
        for i in closure {
            if let Some(layout) = self.layouts[*i].get(block) {
                let changed = self.known.get(i).and_then(|c| c.commons.get(block));
                layouts.push((*i, layout, changed.unwrap_or(&nothing)));
            }
        }
        let ours = self.layouts[caller].get(block);
        let longest = self.longest.get(block);
        let (seen_by, used, from) = match (ours, longest) {
            (Some(ours), _) => (caller, ours, None),
            (None, Some((unit, declarations))) => (
                *unit,
                &self.layouts[*unit][block],
                Some(declarations.clone()),
            ),
            (None, None) => {
                return Ok(ChangedCommon {
                    block: block.clone(),
                    from: None,
                    positions: Vec::new(),
                });
            }
        };
        if let Some((longer, l, _)) = layouts.iter().find(|(_, l, _)| l.reach > used.size) {
            let name = match block.as_str() {
                "" => "blank COMMON".to_owned(),
                b => format!("COMMON /{b}/"),
            };
            let longer = &self.program.units[*longer];
            let short = &self.program.units[seen_by].name;
            let (why, help) = match l.reach > l.size {
                true => (
                    format!("is made longer by EQUIVALENCE in {}", longer.name),
                    "declare all of it in COMMON".to_owned(),
                ),
                false => (
                    format!("is longer in {} than in {short}", longer.name),
                    format!("declare all of it in {short}"),
                ),
            };
            return Err(Box::new(
                Diagnostic::error(
                    &rules::AD_STORAGE,
                    span,
                    format!("{name}, which this block changes, {why}, so ADR cannot restore it"),
                )
                .label("ADR block")
                .help(help),
            ));
        }
        // If all units see the same variables, those that nothing assigns can be left out.
        let same = layouts
            .iter()
            .all(|(_, l, _)| used.shapes.starts_with(&l.shapes));
        let assigned = |i: usize| {
            let mut all = layouts.iter();
            all.any(|(_, l, changed)| l.members.get(i).is_some_and(|m| changed.contains(m)))
        };
        let positions = (0..used.members.len())
            .filter(|i| !same || assigned(*i))
            .collect();
        Ok(ChangedCommon {
            block: block.clone(),
            from,
            positions,
        })
    }
}

/// Returns, for each COMMON block, the declarations of the unit that declares the largest part of
/// it; of several such units, the first by name.
fn longest(
    program: &Program,
    layouts: &[BTreeMap<Name, CommonLayout>],
) -> HashMap<Name, (usize, Rc<Unit>)> {
    let mut found: HashMap<&Name, usize> = HashMap::new();
    for (i, declared) in layouts.iter().enumerate() {
        for (block, layout) in declared {
            let best = found.entry(block).or_insert(i);
            let key = |size: i64, i: usize| (size, std::cmp::Reverse(&program.units[i].name));
            if key(layout.size, i) > key(layouts[*best][block].size, *best) {
                *best = i;
            }
        }
    }
    let mut shown: HashMap<usize, Rc<Unit>> = HashMap::new();
    let all = found.into_iter().map(|(block, i)| {
        let unit = shown
            .entry(i)
            .or_insert_with(|| Rc::new(declarations(&program.units[i])));
        (block.clone(), (i, unit.clone()))
    });
    all.collect()
}

/// Returns a unit without its statements.
fn declarations(unit: &Unit) -> Unit {
    Unit {
        specs: unit.specs.clone(),
        symbols: unit.symbols.clone(),
        implicit: unit.implicit.clone(),
        sizes: unit.sizes,
        ..Unit::new(unit.kind, unit.name.clone(), unit.span)
    }
}

fn changes(unit: &Unit, assigned: &Assigned) -> UnitChanges {
    let mut changed: HashSet<SymId> = assigned.in_unit(unit);
    // Include the variables that share storage with those that are assigned.
    let storage = UnitStorage::of(unit);
    let shared: Vec<SymId> = changed
        .iter()
        .flat_map(|s| storage.overlapping(*s))
        .collect();
    changed.extend(shared);
    let everything = unit
        .specs
        .iter()
        .any(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
    let mut found = UnitChanges {
        input: input::statements(unit),
        ..UnitChanges::default()
    };
    for id in unit.symbols.ids().filter(|id| changed.contains(id)) {
        let s = &unit.symbols[id];
        match &s.storage_class {
            StorageClass::Common(b) => {
                found.commons.entry(b.clone()).or_default().insert(id);
            }
            // Variables that EQUIVALENCE puts into COMMON are there regardless of SAVE.
            StorageClass::Local
                if s.class == Class::Variable
                    && (s.saved || everything)
                    && !storage.is_in_common(id) =>
            {
                found.stuck.push(id);
            }
            _ => {}
        }
    }
    found
}

/// A COMMON block as declared in one unit.
struct CommonLayout {
    members: Vec<SymId>,
    /// The type, length and number of elements of each member.
    shapes: Vec<(Option<Type>, i64, i64)>,
    /// The size of all members in bytes.
    size: i64,
    /// The size in bytes, including what EQUIVALENCE adds.
    reach: i64,
}

impl CommonLayout {
    /// Returns the layouts of all blocks of a unit.
    fn of(unit: &Unit) -> BTreeMap<Name, CommonLayout> {
        let storage = UnitStorage::of(unit);
        let constants = Constants::of(unit);
        let layout = |area: &Area| {
            let named = || area.members.iter().filter(|m| m.named);
            let shape = |s: SymId| {
                // A size that is not constant counts as one.
                let bytes = constants.element_size(s).unwrap_or(1);
                (unit.symbols[s].ty, bytes, constants.count(s).unwrap_or(1))
            };
            CommonLayout {
                members: named().map(|m| m.sym).collect(),
                shapes: named().map(|m| shape(m.sym)).collect(),
                size: named()
                    .map(|m| m.start.saturating_add(m.size))
                    .max()
                    .unwrap_or(0),
                reach: area.size,
            }
        };
        let areas = storage.areas().iter();
        areas
            .filter_map(|a| Some((a.block.clone()?, layout(a))))
            .collect()
    }
}
