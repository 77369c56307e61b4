//! Dataflow analysis of the variables of one unit.

use super::commons::WholeProgram;
use super::events::{Event, EventFinder, EventKind, TrackedVariables};
use super::{Intents, UnsetRead, VariableUse};
use crate::solve::{BasicBlocks, Graph, May, Must, forward};
use farfel_ir::flow::FlowGraph;
use farfel_ir::ir::{Entry, Origin, Stmt, StmtKind, StorageClass, SymId, Unit};
use farfel_ir::source::Span;
use std::collections::HashMap;
use std::ops::Range;

/// The results of the analysis of a unit.
#[derive(Debug)]
pub struct Findings<'p> {
    /// What it does with its arguments.
    pub args: Vec<VariableUse>,
    /// What it does with each tracked variable. Reads of its own variables are reads before they
    /// have a value.
    pub used: HashMap<SymId, VariableUse>,
    /// What it does with pieces of COMMON blocks.
    pub(super) pieces: Vec<(u32, VariableUse)>,
    /// What it does with variables of the enclosing unit.
    pub(super) outer: Vec<(SymId, VariableUse)>,
    /// Variables that are read before anything can have set them, with the first such read.
    pub unset: Vec<UnsetRead>,
    /// The first statements of unreachable pieces of code.
    pub unreachable: Vec<&'p Stmt>,
    /// Whether the function returns but its result is never assigned.
    pub no_result: bool,
    /// Reads of local variables without an assignment on any path to the read, and for generated
    /// variables and derivatives, also without one on some path. Empty for units so large that
    /// their variables are processed in groups.
    pub doubtful: Vec<DoubtfulRead>,
    /// Assignments to dummy arguments: the argument, the position, and whether the statement is a
    /// CALL.
    pub writes: Vec<(SymId, Span, bool)>,
}

/// The variables that may have a value, and those that have one on every path.
type Values = (May, Must);

/// A read of a variable that has no value on some path to it.
#[derive(Debug)]
pub struct DoubtfulRead {
    /// The variable.
    pub sym: SymId,
    /// Whether it has no value on any path.
    pub never: bool,
    /// Whether a statement reads it; otherwise a procedure may.
    pub certain: bool,
    /// Whether the source of the code that may read it is available.
    pub known: bool,
    /// The other variables that have no value on some path to the read.
    pub others: Vec<SymId>,
    /// The other variables that have no value on any path to it.
    pub others_never: Vec<SymId>,
}

/// Follows the values through a unit.
pub(super) fn follow<'p>(unit: &'p Unit, intents: &Intents) -> Findings<'p> {
    follow_from(unit, None, intents, &TrackedVariables::of(unit), None)
}

/// Like [`follow`], assuming that procedures set everything that they may set.
pub(super) fn follow_assuming_set<'p>(unit: &'p Unit, intents: &Intents) -> Findings<'p> {
    let mut tracked = TrackedVariables::of(unit);
    tracked.assume_set = true;
    follow_from(unit, None, intents, &tracked, None)
}

/// Like [`follow`], entered at the beginning (`Some(None)`) or at an ENTRY; `None` means at all of
/// them.
pub(super) fn follow_from<'p>(
    unit: &'p Unit,
    enter: Option<Option<&Entry>>,
    intents: &Intents,
    tracked: &TrackedVariables,
    whole: Option<&WholeProgram>,
) -> Findings<'p> {
    let mut flow = FlowGraph::of(unit);
    let dummies = match enter {
        Some(at) => {
            flow.enter_at(at.map(|e| e.name));
            at.map_or(&unit.args, |e| &e.args)
        }
        None => &unit.args,
    };
    let mut finder = EventFinder {
        unit,
        tracked,
        intents,
        whole,
        events: Vec::new(),
    };
    // The end of the nodes of the current AD block.
    let mut inside = 0;
    let mut ranges = Vec::with_capacity(flow.len() + 1);
    let mut apart = vec![false; flow.stmts.len()];
    for (i, s) in flow.stmts.iter().enumerate() {
        ranges.push(finder.events.len());
        if i < inside {
            apart[i] = true;
            continue;
        }
        if let StmtKind::Ad(_) = s.kind {
            inside = flow.nodes_within(i).end;
        }
        finder.statement(s, flow.masked[i]);
    }
    // Followed by the entry, and by the exit, which does nothing.
    ranges.push(finder.events.len());
    finder.entry(enter.map(|_| dummies.as_slice()));
    ranges.extend([finder.events.len(); 2]);
    let events = finder.events;

    // Facts are only needed for basic blocks.
    let blocks = BasicBlocks::of(&Graph::of(&flow), flow.entry);
    let graph = Graph::new(&blocks.successors);
    let is_dummy = |bit: usize| {
        let sym = tracked.symbols.get(bit);
        sym.is_some_and(|s| unit.symbols[*s].storage_class == StorageClass::Dummy)
    };
    let mut reached = vec![false; flow.len()];
    let mut uses = vec![VariableUse::default(); tracked.len()];
    let mut writes = Vec::new();
    // For each variable, the first event that reads it before anything can have set it.
    let mut first_unset: Vec<Option<usize>> = vec![None; tracked.len()];
    let mut set_at_exit = vec![true; tracked.len()];
    let mut returns = false;
    let mut doubtful: Vec<DoubtfulRead> = Vec::new();
    let is_generated = |sym: SymId| {
        unit.origin == Origin::Derivative || unit.symbols[sym].origin != Origin::Written
    };
    // The variables that are not in the set, except arguments.
    let without = |set: &May| {
        let all = tracked.symbols.iter().enumerate();
        let open = all.filter(|(v, s)| {
            !set.contains(*v) && unit.symbols[**s].storage_class != StorageClass::Dummy
        });
        open.map(|(_, s)| *s).collect::<Vec<_>>()
    };
    let groups = groups(&blocks, &ranges, &events, tracked.len());
    let in_one = groups.len() == 1;
    for group in groups {
        let of_block = |b: usize| {
            let range = group.starts[b]..group.starts[b + 1];
            group.events[range].iter().map(|e| (*e, &events[*e]))
        };
        let size = group.variables.len();
        let base = group.variables.start;
        // Arguments may have a value from the start.
        let mut given = May::with_capacity(size);
        group
            .variables
            .clone()
            .for_each(|v| given.set(v - base, is_dummy(v)));
        // The variables that may have a value, and those that have one on every path.
        let start = (given, Must(May::with_capacity(size)));
        let facts = forward(&graph, blocks.of_node[flow.entry], start, &mut |b, fact| {
            of_block(b).for_each(|(_, e)| step(e, base, fact));
        });
        for (b, fact) in facts.into_iter().enumerate() {
            let Some(mut fact) = fact else { continue };
            blocks.nodes[b].iter().for_each(|n| reached[*n] = true);
            for (at, e) in of_block(b) {
                let bit = e.bit as usize;
                let used = &mut uses[bit];
                match e.kind {
                    EventKind::Read | EventKind::MayRead | EventKind::Passed => {
                        used.reads |= !fact.1.0.contains(bit - base);
                        if in_one
                            && let Some(sym) = tracked.symbols.get(bit).copied()
                            && !fact.1.0.contains(bit)
                            // A write of a part of an array counts as a write of all of it.
                            && !(unit.symbols[sym].is_array() && fact.0.contains(bit))
                            && unit.symbols[sym].storage_class == StorageClass::Local
                            && (is_generated(sym) || !fact.0.contains(bit))
                        {
                            doubtful.push(DoubtfulRead {
                                sym,
                                never: !fact.0.contains(bit),
                                certain: e.kind == EventKind::Read,
                                known: e.kind != EventKind::Passed,
                                others: without(&fact.1.0),
                                others_never: without(&fact.0),
                            });
                        }
                        let unset = e.kind == EventKind::Read && !fact.0.contains(bit - base);
                        if unset && bit < tracked.symbols.len() {
                            let first = &mut first_unset[bit];
                            *first = Some(first.map_or(at, |other| other.min(at)));
                        }
                    }
                    EventKind::Write | EventKind::Part => {
                        used.writes = true;
                        used.assigned = true;
                        if is_dummy(bit) {
                            writes.push((at, tracked.symbols[bit]));
                        }
                    }
                    EventKind::Unknown => used.writes = true,
                    EventKind::Set => {}
                }
                step(e, base, &mut fact);
            }
            // Nothing follows the exit.
            if blocks.of_node[flow.exit] == b {
                returns = true;
                for v in group.variables.clone() {
                    uses[v].always = fact.1.0.contains(v - base);
                    set_at_exit[v] = fact.0.contains(v - base);
                }
            }
        }
    }
    writes.sort_unstable();
    let node_of = |at: usize| ranges.partition_point(|first| *first <= at) - 1;
    let writes = writes.into_iter().map(|(at, sym)| {
        let called = flow.stmts.get(node_of(at));
        let called = called.is_some_and(|s| matches!(s.kind, StmtKind::Call(..)));
        (sym, events[at].span, called)
    });
    let mut first_unset: Vec<usize> = first_unset.into_iter().flatten().collect();
    first_unset.sort_unstable();
    let unset = first_unset.into_iter().map(|at| {
        let bit = events[at].bit as usize;
        UnsetRead {
            sym: tracked.symbols[bit],
            span: events[at].span,
            set_elsewhere: uses[bit].writes,
        }
    });
    let (unset, writes) = (unset.collect(), writes.collect());
    let no_result = returns
        && unit.result.is_some_and(|r| {
            let bit = tracked.bit(r);
            let mut stmts = flow.stmts.iter();
            let has_entries = stmts.any(|s| matches!(s.kind, StmtKind::Entry(_)));
            !has_entries && bit.is_some_and(|b| !set_at_exit[b as usize])
        });
    // If the unit never returns, everything holds for every path to the end.
    uses.iter_mut().for_each(|u| u.always |= !returns);
    let args = dummies
        .iter()
        .map(|a| {
            let Some(s) = a.sym() else {
                return VariableUse::default();
            };
            match tracked.bit(s) {
                Some(bit) => uses[bit as usize],
                // A procedure, or a variable that nested subprograms access.
                None => VariableUse {
                    reads: true,
                    writes: !unit.symbols[s].class.is_procedure(),
                    ..VariableUse::default()
                },
            }
        })
        .collect();
    let first = tracked.symbols.len();
    let pieces = tracked.pieces.iter().zip(&uses[first..]);
    let outer = tracked.symbols.iter().zip(&uses);
    let outer = outer.filter_map(|(s, u)| match unit.symbols[*s].storage_class {
        StorageClass::Host(outer) if u.reads || u.writes => Some((outer, *u)),
        _ => None,
    });
    let used = tracked.symbols.iter().copied().zip(uses.iter().copied());
    Findings {
        args,
        used: used.collect(),
        pieces: pieces.map(|(p, u)| (*p, *u)).collect(),
        outer: outer.collect(),
        unset,
        doubtful,
        unreachable: unreachable(&flow, &reached, &apart),
        no_result,
        writes,
    }
}

/// Applies an event to the two sets, whose first variable is `base`.
fn step(e: &Event, base: usize, (any, all): &mut Values) {
    let bit = e.bit as usize - base;
    match e.kind {
        EventKind::Read | EventKind::MayRead | EventKind::Passed => {}
        EventKind::Write | EventKind::Set => {
            any.insert(bit);
            all.0.insert(bit);
        }
        EventKind::Part | EventKind::Unknown => any.insert(bit),
    }
}

/// Variables that are processed together, so that the sets of a large unit do not exhaust memory.
struct Group {
    variables: Range<usize>,
    /// The indices of their events, block by block.
    events: Vec<usize>,
    /// Where the events of each block begin, and the end of the last ones.
    starts: Vec<usize>,
}

/// The maximum number of bits in all sets of a group.
const MOST_BITS: usize = 1 << 28;

/// Divides the variables into groups. There is at least one.
fn groups(
    blocks: &BasicBlocks,
    ranges: &[usize],
    events: &[Event],
    variables: usize,
) -> Vec<Group> {
    let most = (MOST_BITS / blocks.nodes.len().max(1)).clamp(64, variables.max(64));
    let mut list: Vec<Group> = (0..variables.div_ceil(most).max(1))
        .map(|g| Group {
            variables: g * most..(g * most + most).min(variables),
            events: Vec::new(),
            starts: Vec::with_capacity(blocks.nodes.len() + 1),
        })
        .collect();
    for block in &blocks.nodes {
        list.iter_mut().for_each(|g| g.starts.push(g.events.len()));
        for at in block.iter().flat_map(|n| ranges[*n]..ranges[n + 1]) {
            list[events[at].bit as usize / most].events.push(at);
        }
    }
    list.iter_mut().for_each(|g| g.starts.push(g.events.len()));
    list
}

/// Returns the first statements of unreachable pieces of code. Pieces that consist of jumps, RETURN
/// or STOP are common after calls that do not return, and harmless.
fn unreachable<'p>(flow: &FlowGraph<'p>, reached: &[bool], apart: &[bool]) -> Vec<&'p Stmt> {
    let mut found = Vec::new();
    let mut in_piece = false;
    for (i, s) in flow.stmts.iter().enumerate() {
        if matches!(
            s.kind,
            StmtKind::Comment(_) | StmtKind::Format(_) | StmtKind::Entry(_)
        ) || apart[i]
        {
            continue;
        }
        if reached[i] {
            in_piece = false;
            continue;
        }
        let harmless = matches!(
            s.kind,
            StmtKind::Continue
                | StmtKind::Goto(_)
                | StmtKind::Return(_)
                | StmtKind::Stop(_)
                | StmtKind::Cycle(_)
                | StmtKind::Exit(_)
        );
        if !harmless && !in_piece {
            in_piece = true;
            found.push(*s);
        }
    }
    found
}
