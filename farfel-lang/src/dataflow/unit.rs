//! The values of the variables of one unit.

use super::commons::Whole;
use super::events::{Event, Finder, Followed, Kind};
use super::{Intents, Unset, Use};
use crate::flow::{Flow, size};
use crate::ir::{Entry, Place, Stmt, StmtKind, SymId, Unit};

/// What was found out about a unit.
#[derive(Debug)]
pub struct Findings<'p> {
    /// What it does with its arguments.
    pub args: Vec<Use>,
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
    /// Dummy arguments that statements of the unit or of procedures give values to, where.
    pub writes: Vec<(SymId, crate::source::Span, bool)>,
}

/// Sets of variables, one for each node.
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn new(nodes: usize, words: usize, fill: u64) -> Self {
        Sets {
            words,
            bits: vec![fill; nodes * words],
        }
    }

    fn of(&self, node: usize) -> &[u64] {
        &self.bits[node * self.words..(node + 1) * self.words]
    }

    /// Replaces a set; true when it was another one.
    fn replace(&mut self, node: usize, new: &[u64]) -> bool {
        let old = &mut self.bits[node * self.words..(node + 1) * self.words];
        let changed = old != new;
        old.copy_from_slice(new);
        changed
    }
}

fn has(set: &[u64], bit: u32) -> bool {
    set[bit as usize / 64] & (1 << (bit % 64)) != 0
}

fn insert(set: &mut [u64], bit: u32) {
    set[bit as usize / 64] |= 1 << (bit % 64);
}

/// Follows the values through a unit.
pub(super) fn follow<'p>(unit: &'p Unit, intents: &Intents) -> Findings<'p> {
    follow_from(unit, None, intents, &Followed::of(unit), None)
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
            flow.enter_at(at);
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
    // Up to which node a mask holds, or an AD block reaches.
    let (mut masked, mut inside) = (0, 0);
    let mut ranges = Vec::with_capacity(flow.len() + 1);
    let mut apart = vec![false; flow.stmts.len()];
    for (i, s) in flow.stmts.iter().enumerate() {
        ranges.push(finder.events.len());
        if i < inside {
            apart[i] = true;
            continue;
        }
        match s.kind {
            StmtKind::Where(_) => masked = i + size(s),
            StmtKind::Ad(_) => inside = i + size(s),
            _ => {}
        }
        finder.statement(s, i < masked);
    }
    // Neither entry nor exit does anything.
    ranges.extend([finder.events.len(); 3]);
    let events = finder.events;
    let of_node = |n: usize| &events[ranges[n]..ranges[n + 1]];

    let order = reverse_postorder(&flow);
    let mut reached = vec![false; flow.len()];
    order.iter().for_each(|n| reached[*n] = true);
    let words = followed.len().div_ceil(64).max(1);
    let mut may = Sets::new(flow.len(), words, 0);
    let mut must = Sets::new(flow.len(), words, u64::MAX);
    // Arguments may have a value from the start.
    let mut given = vec![0; words];
    for (bit, s) in followed.symbols.iter().enumerate() {
        if unit.symbols[*s].place == Place::Dummy {
            insert(&mut given, bit as u32);
        }
    }
    let before = |node: usize, may: &Sets, must: &Sets, any: &mut [u64], all: &mut [u64]| {
        if node == flow.entry {
            any.copy_from_slice(&given);
            all.fill(0);
            return;
        }
        any.fill(0);
        all.fill(u64::MAX);
        for p in flow.predecessors[node].iter().filter(|p| reached[**p]) {
            for (to, from) in any.iter_mut().zip(may.of(*p)) {
                *to |= from;
            }
            for (to, from) in all.iter_mut().zip(must.of(*p)) {
                *to &= from;
            }
        }
    };
    let (mut any, mut all) = (vec![0; words], vec![0; words]);
    loop {
        let mut changed = false;
        for &node in &order {
            before(node, &may, &must, &mut any, &mut all);
            for e in of_node(node) {
                step(e, &mut any, &mut all);
            }
            changed |= may.replace(node, &any);
            changed |= must.replace(node, &all);
        }
        if !changed {
            break;
        }
    }

    let mut unset: Vec<Unset> = Vec::new();
    let mut told = vec![false; followed.len()];
    let mut uses = vec![Use::default(); followed.len()];
    let mut writes = Vec::new();
    for node in (0..flow.stmts.len()).filter(|n| reached[*n]) {
        let list = of_node(node);
        if list.is_empty() {
            continue;
        }
        before(node, &may, &must, &mut any, &mut all);
        for e in list {
            let bit = e.bit as usize;
            let sym = followed.symbols.get(bit).copied();
            match e.kind {
                Kind::Read | Kind::MayRead => {
                    uses[bit].reads |= !has(&all, e.bit);
                    if let Some(sym) = sym
                        && e.kind == Kind::Read
                        && !has(&any, e.bit)
                        && !told[bit]
                    {
                        told[bit] = true;
                        unset.push(Unset {
                            sym,
                            span: e.span,
                            set_elsewhere: false,
                        });
                    }
                }
                Kind::Write | Kind::Part => {
                    uses[bit].writes = true;
                    uses[bit].assigned = true;
                    if let Some(sym) = sym
                        && unit.symbols[sym].place == Place::Dummy
                    {
                        let called = matches!(flow.stmts[node].kind, StmtKind::Call(..));
                        writes.push((sym, e.span, called));
                    }
                }
                Kind::Unknown => uses[bit].writes = true,
                Kind::Set => {}
            }
            step(e, &mut any, &mut all);
        }
    }
    for u in &mut unset {
        let bit = followed.bit(u.sym);
        u.set_elsewhere = bit.is_some_and(|b| uses[b as usize].writes);
    }
    let returns = reached[flow.exit];
    if returns {
        before(flow.exit, &may, &must, &mut any, &mut all);
    }
    let no_result = returns
        && unit.result.is_some_and(|r| {
            let bit = followed.bit(r);
            let has_entries = flow
                .stmts
                .iter()
                .any(|s| matches!(s.kind, StmtKind::Entry(_)));
            !has_entries && bit.is_some_and(|b| !has(&any, b))
        });
    for (bit, u) in uses.iter_mut().enumerate() {
        // Where nothing comes back everything is as it should be.
        u.always = !returns || has(&all, bit as u32);
    }
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
    Findings {
        args,
        pieces: pieces.map(|(p, u)| (*p, *u)).collect(),
        outer: outer.collect(),
        unset,
        unreachable: unreachable(&flow, &reached, &apart),
        no_result,
        writes,
    }
}

fn step(e: &Event, any: &mut [u64], all: &mut [u64]) {
    match e.kind {
        Kind::Read | Kind::MayRead => {}
        Kind::Write | Kind::Set => {
            insert(any, e.bit);
            insert(all, e.bit);
        }
        Kind::Part | Kind::Unknown => insert(any, e.bit),
    }
}

/// The nodes that the entry leads to, most of them after their predecessors.
fn reverse_postorder(flow: &Flow) -> Vec<usize> {
    let mut seen = vec![false; flow.len()];
    let mut order = Vec::with_capacity(flow.len());
    // Each entry: a node, and how many of its successors have been followed.
    let mut path = vec![(flow.entry, 0)];
    seen[flow.entry] = true;
    while let Some((node, next)) = path.pop() {
        match flow.successors[node].get(next) {
            Some(to) => {
                path.push((node, next + 1));
                if !std::mem::replace(&mut seen[*to], true) {
                    path.push((*to, 0));
                }
            }
            None => order.push(node),
        }
    }
    order.reverse();
    order
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
