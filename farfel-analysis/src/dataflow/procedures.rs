//! Interprocedural analysis of what procedures do with their arguments and with COMMON blocks.

use super::commons::{CommonPieces, Commons, WholeProgram, flatten};
use super::events::TrackedVariables;
use super::unit::follow_from;
use super::{Intents, Summary, VariableUse};
use crate::solve::fixed_point;
use farfel_ir::callgraph::{CallGraph, callees_first};
use farfel_ir::ir::{
    Arg, Class, Entry, EntryPoint, Name, Program, StorageClass, SymId, Unit, UnitKind, walk_block,
};
use farfel_ir::targets::CallTargets;
use std::collections::{BTreeSet, HashMap};

/// What one procedure does with its arguments and with COMMON blocks.
#[derive(Debug, Clone)]
pub struct Procedure<'p> {
    /// The procedure's unit.
    pub unit: &'p Unit,
    /// The top-level unit that contains it, if it is nested.
    pub within: Option<&'p Unit>,
    /// The ENTRY through which the unit is entered; `None` for the unit's own name.
    pub entry: Option<Name>,
    /// Its arguments, except alternate returns.
    pub args: Vec<Argument>,
    /// The COMMON blocks that it declares, or that the procedures it calls use.
    pub commons: Vec<CommonUse>,
    /// The procedures without source that it calls: these are assumed to read and set their
    /// arguments, but no COMMON.
    pub unknown: Vec<Name>,
}

/// An argument of a [`Procedure`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The dummy argument.
    pub sym: SymId,
    /// Whether it is a procedure.
    pub procedure: bool,
    /// What is done with it.
    pub used: VariableUse,
}

/// A COMMON block that a [`Procedure`] uses or declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommonUse {
    /// Its name.
    pub block: Name,
    /// The unit whose declaration supplies the names of the variables: the procedure's own if it
    /// declares the block.
    pub declared_in: Name,
    /// The variables of the block, and what is done with them.
    pub variables: Vec<(Name, VariableUse)>,
}

/// Analyses all procedures of a resolved program, across calls, with a fixed point for recursion.
/// `real` is the size of a default REAL in bytes.
pub fn procedures(program: &Program, real: u8) -> Vec<Procedure<'_>> {
    let commons = Commons::of(program, real);
    let targets = CallTargets::of(program);
    let graph = CallGraph::of(program);
    let search = solved(program, &commons, &targets, &graph);
    let mut found = Vec::new();
    for (i, unit) in program.units.iter().enumerate() {
        // BLOCK DATA has no executable statements.
        if graph.index(&unit.name) == Some(i) && unit.kind != UnitKind::BlockData {
            search.show(i, &mut found);
        }
    }
    found
}

/// Computes only the uses of arguments.
pub(super) fn intents(program: &Program) -> Intents {
    let commons = Commons::of(program, 4);
    let targets = CallTargets::of(program);
    solved(program, &commons, &targets, &CallGraph::of(program)).intents
}

fn solved<'p, 'a>(
    program: &'p Program,
    commons: &'a Commons,
    targets: &'a CallTargets,
    graph: &CallGraph,
) -> Search<'p, 'a> {
    let mut search = Search {
        program,
        whole: WholeProgram {
            commons,
            targets,
            closed: program.units.iter().all(|u| u.nested.is_empty()),
        },
        intents: Intents::default(),
        reach: Vec::new(),
    };
    let callees: Vec<Vec<usize>> = (0..program.units.len())
        .map(|i| {
            let mut all = graph.callees(i).to_vec();
            all.extend(targets.callees().get(i).into_iter().flatten());
            all.sort_unstable();
            all.dedup();
            all
        })
        .collect();
    let order = callees_first(0..program.units.len(), |i| &callees[i]);
    let mut callers = vec![Vec::new(); callees.len()];
    for (i, list) in callees.iter().enumerate() {
        list.iter().for_each(|c| callers[*c].push(i));
    }
    search.start(&order, &callees, &callers);
    search.solve(graph, &order, &callers);
    search
}

struct Search<'p, 'a> {
    program: &'p Program,
    whole: WholeProgram<'a>,
    intents: Intents,
    /// For each unit, the pieces that it and its callees may touch.
    reach: Vec<Vec<u32>>,
}

impl<'p> Search<'p, '_> {
    /// Sets the initial assumption: procedures do nothing and never return.
    fn start(&mut self, order: &[usize], callees: &[Vec<usize>], callers: &[Vec<usize>]) {
        let commons = self.whole.commons;
        let mut blocks: Vec<BTreeSet<&Name>> = Vec::new();
        for unit in &self.program.units {
            let mut own = BTreeSet::new();
            let mut all = Vec::new();
            flatten(unit, &mut all);
            for u in all {
                own.extend(commons.declared(u).iter().map(|(_, name, _)| name));
            }
            blocks.push(own);
        }
        fixed_point(order, callers, &mut |i| {
            let mut all = std::mem::take(&mut blocks[i]);
            let before = all.len();
            for c in callees[i].iter().filter(|c| **c != i) {
                all.extend(blocks[*c].iter().copied());
            }
            let changed = all.len() != before;
            blocks[i] = all;
            changed
        });
        for (unit, blocks) in self.program.units.iter().zip(blocks) {
            let pieces = blocks.iter().filter_map(|b| commons.blocks.get(*b));
            let mut pieces: Vec<u32> = pieces.flat_map(CommonPieces::pieces).collect();
            pieces.sort_unstable();
            let nothing = VariableUse {
                always: true,
                ..VariableUse::default()
            };
            for EntryPoint { name, args, .. } in unit.entry_points() {
                self.intents
                    .by_name
                    .entry(name.clone())
                    .or_insert_with(|| Summary {
                        args: vec![nothing; args.len()],
                        pieces: pieces.iter().map(|p| (*p, nothing)).collect(),
                    });
            }
            self.reach.push(pieces);
        }
    }

    fn solve(&mut self, graph: &CallGraph, order: &[usize], callers: &[Vec<usize>]) {
        fixed_point(order, callers, &mut |i| {
            let unit = &self.program.units[i];
            // Of two units with the same name (a reported error) the first counts.
            if graph.index(&unit.name) != Some(i) {
                return false;
            }
            let mut changed = false;
            for EntryPoint {
                name, statement, ..
            } in unit.entry_points()
            {
                let now = self.summary(i, statement);
                let old = self.intents.by_name.insert(name.clone(), now);
                changed |= self.intents.by_name.get(name) != old.as_ref();
            }
            changed
        });
    }

    /// Returns the summary of a top-level unit for one entry point.
    fn summary(&self, at: usize, entry: Option<&Entry>) -> Summary {
        let unit = &self.program.units[at];
        let pieces = self.reach[at].clone();
        let tracked = TrackedVariables::whole(unit, self.whole.commons, pieces, None);
        self.follow(unit, entry, &tracked, &mut |_, _, _| ()).0
    }

    /// Returns what a unit does with arguments and COMMON, and with variables of the enclosing
    /// unit. Nested subprograms may be called anywhere; `found` is called for each of them.
    fn follow(
        &self,
        unit: &'p Unit,
        entry: Option<&Entry>,
        tracked: &TrackedVariables,
        found: &mut dyn FnMut(&'p Unit, Option<&Entry>, &Summary),
    ) -> (Summary, Vec<(SymId, VariableUse)>) {
        let whole = Some(&self.whole);
        let findings = follow_from(unit, Some(entry), &self.intents, tracked, whole);
        let mut summary = Summary {
            args: findings.args,
            pieces: findings.pieces,
        };
        let mut outer = findings.outer;
        let args = entry.map_or(&unit.args, |e| &e.args);
        for nested in &unit.nested {
            let pieces = tracked.pieces.clone();
            let inner = TrackedVariables::whole(nested, self.whole.commons, pieces, Some(tracked));
            for way in nested.entry_points().map(|e| e.statement) {
                let (theirs, reached) = self.follow(nested, way, &inner, found);
                found(nested, way, &theirs);
                for ((_, ours), (_, theirs)) in summary.pieces.iter_mut().zip(&theirs.pieces) {
                    ours.also(*theirs);
                }
                for (s, used) in reached {
                    if let Some(i) = args.iter().position(|a| a.sym() == Some(s)) {
                        summary.args[i].also(used);
                    } else if let StorageClass::Host(further) = unit.symbols[s].storage_class {
                        match outer.iter_mut().find(|(o, _)| *o == further) {
                            Some((_, ours)) => ours.also(used),
                            None => outer.push((further, used)),
                        }
                    }
                }
            }
        }
        (summary, outer)
    }

    fn show(&self, at: usize, found: &mut Vec<Procedure<'p>>) {
        let unit = &self.program.units[at];
        for point in unit.entry_points() {
            if let Some(summary) = self.intents.by_name.get(point.name) {
                found.push(self.procedure(unit, None, point.statement, summary));
            }
        }
        if !unit.nested.is_empty() {
            let pieces = self.reach[at].clone();
            let tracked = TrackedVariables::whole(unit, self.whole.commons, pieces, None);
            let first = found.len();
            self.follow(unit, None, &tracked, &mut |nested, entry, summary| {
                found.push(self.procedure(nested, Some(unit), entry, summary));
            });
            found[first..].sort_by_key(|p| p.unit.span.start);
        }
    }

    fn procedure(
        &self,
        unit: &'p Unit,
        within: Option<&'p Unit>,
        entry: Option<&Entry>,
        summary: &Summary,
    ) -> Procedure<'p> {
        let args = entry.map_or(&unit.args, |e| &e.args).iter();
        let args = args.zip(&summary.args).filter_map(|(a, used)| {
            let sym = a.sym()?;
            Some(Argument {
                sym,
                procedure: unit.symbols[sym].class.is_procedure(),
                used: *used,
            })
        });
        let used: HashMap<u32, VariableUse> = summary.pieces.iter().copied().collect();
        let mut commons = Vec::new();
        for (name, block) in &self.whole.commons.blocks {
            let declares = |u: &Unit| {
                let list = self.whole.commons.declared(u);
                list.iter().any(|(_, n, _)| n == name)
            };
            let touched = block.pieces().filter_map(|p| used.get(&p));
            let own = declares(unit);
            if !own && !touched.clone().any(|u| u.reads || u.writes) {
                continue;
            }
            let mut units = self.program.units.iter();
            let namer = match own {
                true => Some(unit),
                false => units.find(|u| declares(u)),
            };
            let Some(namer) = namer else { continue };
            let list = self.whole.commons.declared(namer).iter();
            let variables = list.filter(|(_, n, _)| n == name).map(|(s, _, range)| {
                let mut pieces = range.clone().map(|p| used.get(&p).copied());
                let first = pieces.next().flatten().unwrap_or_default();
                let all = pieces.fold(first, |mut all, next| {
                    let next = next.unwrap_or_default();
                    let always = all.always && next.always;
                    all.also(next);
                    VariableUse { always, ..all }
                });
                (namer.symbols[*s].name.clone(), all)
            });
            commons.push(CommonUse {
                block: name.clone(),
                declared_in: namer.name.clone(),
                variables: variables.collect(),
            });
        }
        Procedure {
            unit,
            within,
            entry: entry.map(|e| unit.symbols[e.name].name.clone()),
            args: args.collect(),
            commons,
            unknown: self.unknown(unit),
        }
    }

    /// Returns the procedures without source that a unit calls.
    fn unknown(&self, unit: &Unit) -> Vec<Name> {
        let mut found = BTreeSet::new();
        let mut look = |s: SymId| {
            let symbol = &unit.symbols[s];
            let unknown = match symbol.storage_class {
                _ if !symbol.class.is_procedure() => false,
                StorageClass::Global => !self.intents.by_name.contains_key(&symbol.name),
                StorageClass::Dummy => {
                    let position = unit.args.iter().position(|a| *a == Arg::Dummy(s));
                    let targets = position.map(|p| self.whole.targets.of_dummy(&unit.name, p));
                    let known = |n: &Name| self.intents.by_name.contains_key(n);
                    !self.whole.closed
                        || targets.is_none_or(|t| t.is_empty() || !t.iter().all(|t| known(&t.name)))
                }
                _ => false,
            };
            if unknown && !matches!(symbol.class, Class::Intrinsic(_)) {
                found.insert(symbol.name.clone());
            }
        };
        walk_block(&unit.body, &mut |s| {
            s.for_each_own_symbol(&mut look);
            s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut look));
        });
        found.into_iter().collect()
    }
}
