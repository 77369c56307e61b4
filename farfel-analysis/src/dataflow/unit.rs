//! The values of the variables of one unit.

use super::commons::Whole;
use super::events::{Event, Finder, Followed, Kind};
use super::{Intents, Unset, Use};
use crate::solve::{Blocks, Graph, May, Must, forward};
use farfel_ir::flow::Flow;
use farfel_ir::ir::{Entry, Origin, Place, Stmt, StmtKind, SymId, Unit};
use farfel_ir::source::Span;
use std::collections::HashMap;
use std::ops::Range;

/// What was found out about a unit.
#[derive(Debug)]
pub struct Findings<'p> {
    /// What it does with its arguments.
    pub args: Vec<Use>,
    /// What it does with all variables that are followed; of its own, they read those that have no value.
    pub used: HashMap<SymId, Use>,
    /// What it does with pieces of COMMON blocks.
    pub(super) pieces: Vec<(u32, Use)>,
    /// What it does with variables of its surroundings.
    pub(super) outer: Vec<(SymId, Use)>,
    /// Variables that are read before anything can have set them: where that is first.
    pub unset: Vec<Unset>,
    /// The first statements of pieces that nothing leads to.
    pub unreachable: Vec<&'p Stmt>,
    /// The function's result gets no value anywhere, though the function returns.
    pub no_result: bool,
    /// Reads that some way reaches without a value, in what passes and differentiation made. None for
    /// units so large that their variables are followed in groups.
    pub doubtful: Vec<Doubtful>,
    /// Dummy arguments that statements of the unit or of procedures give values to, where.
    pub writes: Vec<(SymId, Span, bool)>,
}

/// Which variables may have a value, and which have one on every way.
type Values = (May, Must);

/// A read of a variable that is without a value on some way there.
#[derive(Debug)]
pub struct Doubtful {
    /// Which.
    pub sym: SymId,
    /// No way gives it a value.
    pub never: bool,
    /// A statement reads it; else a procedure may.
    pub certain: bool,
    /// The text of what may read it is known.
    pub known: bool,
    /// What else has no value on some way there.
    pub others: Vec<SymId>,
    /// What else has none on any.
    pub others_never: Vec<SymId>,
}

/// Follows the values through a unit.
pub(super) fn follow<'p>(unit: &'p Unit, intents: &Intents) -> Findings<'p> {
    follow_from(unit, None, intents, &Followed::of(unit), None)
}

/// The same, where procedures set what they may set.
pub(super) fn follow_trusting<'p>(unit: &'p Unit, intents: &Intents) -> Findings<'p> {
    let mut followed = Followed::of(unit);
    followed.trusting = true;
    follow_from(unit, None, intents, &followed, None)
}

/// The same, entered by its beginning, or by an ENTRY where one is given; `None` enters it
/// by all of them.
pub(super) fn follow_from<'p>(
    unit: &'p Unit,
    enter: Option<Option<&Entry>>,
    intents: &Intents,
    followed: &Followed,
    whole: Option<&Whole>,
) -> Findings<'p> {
    let mut flow = Flow::of(unit);
    let dummies = match enter {
        Some(at) => {
            flow.enter_at(at.map(|e| e.name));
            at.map_or(&unit.args, |e| &e.args)
        }
        None => &unit.args,
    };
    let mut finder = Finder {
        unit,
        followed,
        intents,
        whole,
        events: Vec::new(),
    };
    // Up to which node an AD block reaches.
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
    // Then entry and exit, which does nothing.
    ranges.push(finder.events.len());
    finder.entry(enter.map(|_| dummies.as_slice()));
    ranges.extend([finder.events.len(); 2]);
    let events = finder.events;

    // Facts are needed for blocks only.
    let blocks = Blocks::of(&Graph::of(&flow), flow.entry);
    let graph = Graph::new(&blocks.successors);
    let is_dummy = |bit: usize| {
        let sym = followed.symbols.get(bit);
        sym.is_some_and(|s| unit.symbols[*s].place == Place::Dummy)
    };
    let mut reached = vec![false; flow.len()];
    let mut uses = vec![Use::default(); followed.len()];
    let mut writes = Vec::new();
    // Of every variable the event that reads it first before anything can have set it.
    let mut first_unset: Vec<Option<usize>> = vec![None; followed.len()];
    let mut set_at_exit = vec![true; followed.len()];
    let mut returns = false;
    let mut doubtful: Vec<Doubtful> = Vec::new();
    let is_generated = |sym: SymId| {
        unit.origin == Origin::Derivative || unit.symbols[sym].origin != Origin::Written
    };
    // The variables that are in neither set, but for arguments.
    let without = |set: &May| {
        let all = followed.symbols.iter().enumerate();
        let open =
            all.filter(|(v, s)| !set.contains(*v) && unit.symbols[**s].place != Place::Dummy);
        open.map(|(_, s)| *s).collect::<Vec<_>>()
    };
    let groups = groups(&blocks, &ranges, &events, followed.len());
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
        // What may have a value, and what has one on every way.
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
                    Kind::Read | Kind::MayRead | Kind::Passed => {
                        used.reads |= !fact.1.0.contains(bit - base);
                        if in_one
                            && let Some(sym) = followed.symbols.get(bit).copied()
                            && !fact.1.0.contains(bit)
                            // A write of a part of an array counts as one of all of it.
                            && !(unit.symbols[sym].is_array() && fact.0.contains(bit))
                            && unit.symbols[sym].place == Place::Local
                            && (is_generated(sym) || !fact.0.contains(bit))
                        {
                            doubtful.push(Doubtful {
                                sym,
                                never: !fact.0.contains(bit),
                                certain: e.kind == Kind::Read,
                                known: e.kind != Kind::Passed,
                                others: without(&fact.1.0),
                                others_never: without(&fact.0),
                            });
                        }
                        let unset = e.kind == Kind::Read && !fact.0.contains(bit - base);
                        if unset && bit < followed.symbols.len() {
                            let first = &mut first_unset[bit];
                            *first = Some(first.map_or(at, |other| other.min(at)));
                        }
                    }
                    Kind::Write | Kind::Part => {
                        used.writes = true;
                        used.assigned = true;
                        if is_dummy(bit) {
                            writes.push((at, followed.symbols[bit]));
                        }
                    }
                    Kind::Unknown => used.writes = true,
                    Kind::Set => {}
                }
                step(e, base, &mut fact);
            }
            // Nothing comes behind the exit.
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
        Unset {
            sym: followed.symbols[bit],
            span: events[at].span,
            set_elsewhere: uses[bit].writes,
        }
    });
    let (unset, writes) = (unset.collect(), writes.collect());
    let no_result = returns
        && unit.result.is_some_and(|r| {
            let bit = followed.bit(r);
            let mut stmts = flow.stmts.iter();
            let has_entries = stmts.any(|s| matches!(s.kind, StmtKind::Entry(_)));
            !has_entries && bit.is_some_and(|b| !set_at_exit[b as usize])
        });
    // Where nothing comes back everything is as it should be.
    uses.iter_mut().for_each(|u| u.always |= !returns);
    let args = dummies
        .iter()
        .map(|a| {
            let Some(s) = a.sym() else {
                return Use::default();
            };
            match followed.bit(s) {
                Some(bit) => uses[bit as usize],
                // A procedure, or what nested subprograms see.
                None => Use {
                    reads: true,
                    writes: !unit.symbols[s].class.is_procedure(),
                    ..Use::default()
                },
            }
        })
        .collect();
    let first = followed.symbols.len();
    let pieces = followed.pieces.iter().zip(&uses[first..]);
    let outer = followed.symbols.iter().zip(&uses);
    let outer = outer.filter_map(|(s, u)| match unit.symbols[*s].place {
        Place::Host(outer) if u.reads || u.writes => Some((outer, *u)),
        _ => None,
    });
    let used = followed.symbols.iter().copied().zip(uses.iter().copied());
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

/// What an event does to the sets, which begin with the variable `base`.
fn step(e: &Event, base: usize, (any, all): &mut Values) {
    let bit = e.bit as usize - base;
    match e.kind {
        Kind::Read | Kind::MayRead | Kind::Passed => {}
        Kind::Write | Kind::Set => {
            any.insert(bit);
            all.0.insert(bit);
        }
        Kind::Part | Kind::Unknown => any.insert(bit),
    }
}

/// Variables that are followed together, so that the sets of a large unit do not take all memory.
struct Group {
    variables: Range<usize>,
    /// What happens to them, block by block: the numbers of the events.
    events: Vec<usize>,
    /// Where the events of each block begin, and where the last ones end.
    starts: Vec<usize>,
}

/// How many bits all sets of a group may have.
const MOST_BITS: usize = 1 << 28;

/// All variables, in groups. There is one at least.
fn groups(blocks: &Blocks, ranges: &[usize], events: &[Event], variables: usize) -> Vec<Group> {
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

/// Where pieces begin that nothing leads to. Pieces that only jump or end are usual after
/// calls that do not come back, and no harm.
fn unreachable<'p>(flow: &Flow<'p>, reached: &[bool], apart: &[bool]) -> Vec<&'p Stmt> {
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
