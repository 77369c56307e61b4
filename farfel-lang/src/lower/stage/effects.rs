//! What the statements of an ADR block change, seen from outside of their subroutine.
//!
//! The derivative runs after the statements have run, and from the same start. So all that
//! they change must be put back for it.

use crate::diagnostic::{Diagnostic, rules};
use crate::effects::Assigned;
use crate::ir::{
    AdMode, BinOp, Class, Expr, ExprKind, Name, Place, Program, SpecKind, StmtKind, SymId, Type,
    UnOp, Unit, walk_block,
};
use crate::lower::outline::Blocks;
use crate::lower::prune::CallGraph;
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What the subroutine of an ADR block, and all that it calls, changes.
pub(super) struct HeadEffects {
    /// Which of its arguments it may assign.
    pub assigned: Vec<bool>,
    /// The COMMON variables that it may assign.
    pub commons: Vec<ChangedCommon>,
    /// What it changes that cannot be put back.
    pub faults: Vec<Diagnostic>,
}

/// The variables of a COMMON block that may be assigned.
pub(super) struct ChangedCommon {
    /// The unit that declares them; `None` for the unit with the AD block.
    pub from: Option<Unit>,
    /// The variables, in the order of the block.
    pub members: Vec<SymId>,
}

impl HeadEffects {
    /// For the subroutine of every ADR block.
    pub fn of(program: &Program, blocks: &Blocks) -> HashMap<Name, HeadEffects> {
        let mut heads: Vec<(&Unit, &Name, Span)> = Vec::new();
        for unit in &program.units {
            walk_block(&unit.body, &mut |s| {
                if let StmtKind::Ad(block) = &s.kind
                    && block.mode == AdMode::Reverse
                    && let Some(StmtKind::Call(head, _)) = block.body.first().map(|s| &s.kind)
                    && blocks.contains_key(&unit.symbols[*head].name)
                {
                    heads.push((unit, &unit.symbols[*head].name, s.span));
                }
            });
        }
        if heads.is_empty() {
            return HashMap::new();
        }
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
            known: HashMap::new(),
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
    known: HashMap<usize, Changes>,
}

/// What one unit changes itself.
#[derive(Default)]
struct Changes {
    /// COMMON variables, by block.
    commons: BTreeMap<Name, BTreeSet<SymId>>,
    /// Saved variables that share their storage, which `state` does not move to COMMON.
    stuck: Vec<SymId>,
}

impl<'p> Search<'p> {
    fn head(&mut self, caller: &'p Unit, head: &Name, span: Span) -> HeadEffects {
        let count = self
            .places
            .get(head)
            .map_or(0, |i| self.program.units[*i].args.len());
        let mut effects = HeadEffects {
            assigned: (0..count)
                .map(|p| self.assigned.argument(head, p))
                .collect(),
            commons: Vec::new(),
            faults: Vec::new(),
        };
        let reached = self.graph.reached([head]);
        let mut closure: Vec<usize> = reached
            .iter()
            .filter_map(|n| self.places.get(n))
            .copied()
            .collect();
        closure.sort_by(|a, b| {
            self.program.units[*a]
                .name
                .cmp(&self.program.units[*b].name)
        });
        let mut changed: BTreeSet<Name> = BTreeSet::new();
        for i in &closure {
            let unit = &self.program.units[*i];
            let changes = self.changes(*i);
            changed.extend(changes.commons.keys().cloned());
            for s in &changes.stuck {
                let s = &unit.symbols[*s];
                effects.faults.push(
                    Diagnostic::error(
                        &rules::AD_UNSUPPORTED,
                        s.span.or(span),
                        format!("{} keeps its value from call to call and shares its storage, so that ADR cannot put it back", s.name),
                    )
                    .related(span, "for the derivative of this block")
                    .help("take it out of the EQUIVALENCE, or out of the SAVE"),
                );
            }
        }
        for block in changed {
            match self.common(caller, &block, &closure, span) {
                Ok(c) => effects.commons.push(c),
                Err(d) => effects.faults.push(*d),
            }
        }
        effects
    }

    fn changes(&mut self, at: usize) -> &Changes {
        let (program, assigned) = (self.program, &self.assigned);
        self.known
            .entry(at)
            .or_insert_with(|| changes(&program.units[at], assigned))
    }

    /// The variables of a block that some unit of the closure assigns, as the caller sees
    /// them if it declares the block, else as the unit that declares most of it.
    fn common(
        &self,
        caller: &Unit,
        block: &Name,
        closure: &[usize],
        span: Span,
    ) -> Result<ChangedCommon, Box<Diagnostic>> {
        let mut layouts = Vec::new();
        for i in closure {
            let unit = &self.program.units[*i];
            if let Some(layout) = Layout::of(unit, block) {
                let changed = self
                    .known
                    .get(i)
                    .and_then(|c| c.commons.get(block))
                    .cloned()
                    .unwrap_or_default();
                layouts.push((unit, layout, changed));
            }
        }
        let ours = Layout::of(caller, block);
        let largest = layouts
            .iter()
            .enumerate()
            // The first of equals.
            .max_by_key(|(i, (_, l, _))| (l.size, std::cmp::Reverse(*i)))
            .map(|(_, l)| l);
        let Some((unit, layout, _)) = largest else {
            return Ok(ChangedCommon {
                from: None,
                members: Vec::new(),
            });
        };
        let (from, used) = match &ours {
            Some(l) => (None, l),
            None => (Some(*unit), layout),
        };
        if let Some((longer, l, _)) = layouts.iter().find(|(_, l, _)| l.reach > used.size) {
            let name = match block.as_str() {
                "" => "blank COMMON".to_owned(),
                b => format!("COMMON /{b}/"),
            };
            let short = &from.unwrap_or(caller).name;
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
                    &rules::AD_UNSUPPORTED,
                    span,
                    format!(
                        "{name}, which this block changes, {why}, so that ADR cannot put it back"
                    ),
                )
                .label("ADR block")
                .help(help),
            ));
        }
        // Where all see the same variables, those that nobody assigns can stay.
        let same = layouts.iter().all(|(_, l, _)| l.shapes == used.shapes);
        let members = used
            .members
            .iter()
            .enumerate()
            .filter(|(i, _)| !same || layouts.iter().any(|(_, l, c)| c.contains(&l.members[*i])))
            .map(|(_, s)| *s)
            .collect();
        Ok(ChangedCommon {
            from: from.map(declarations),
            members,
        })
    }
}

/// A unit without its statements.
fn declarations(unit: &Unit) -> Unit {
    Unit {
        specs: unit.specs.clone(),
        symbols: unit.symbols.clone(),
        implicit: unit.implicit.clone(),
        ..Unit::new(unit.kind, unit.name.clone(), unit.span)
    }
}

fn changes(unit: &Unit, assigned: &Assigned) -> Changes {
    let mut changed: HashSet<SymId> = assigned.in_unit(unit);
    let groups: Vec<Vec<SymId>> = unit
        .specs
        .iter()
        .filter_map(|s| match &s.kind {
            SpecKind::Equivalence(groups) => Some(groups),
            _ => None,
        })
        .flatten()
        .map(|g| g.iter().filter_map(Expr::base).collect())
        .collect();
    // Names for one storage. Which part of it they share is left open.
    let mut whole: BTreeSet<Name> = BTreeSet::new();
    loop {
        let before = (changed.len(), whole.len());
        for group in &groups {
            if group.iter().any(|s| changed.contains(s)) {
                changed.extend(group);
            }
            for s in group.iter().filter(|s| changed.contains(s)) {
                if let Place::Common(b) = &unit.symbols[*s].place {
                    whole.insert(b.clone());
                }
            }
        }
        for (id, s) in unit.symbols.iter() {
            if matches!(&s.place, Place::Common(b) if whole.contains(b)) {
                changed.insert(id);
            }
        }
        if (changed.len(), whole.len()) == before {
            break;
        }
    }
    let everything = unit
        .specs
        .iter()
        .any(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
    let mut found = Changes::default();
    for id in unit.symbols.ids().filter(|id| changed.contains(id)) {
        let s = &unit.symbols[id];
        match &s.place {
            Place::Common(b) => {
                found.commons.entry(b.clone()).or_default().insert(id);
            }
            Place::Local if s.class == Class::Variable && (s.saved || everything) => {
                found.stuck.push(id);
            }
            _ => {}
        }
    }
    found
}

/// A COMMON block as one unit declares it.
struct Layout {
    members: Vec<SymId>,
    /// Type, length and number of elements of each member.
    shapes: Vec<(Option<Type>, i64, i64)>,
    /// Bytes of all members.
    size: i64,
    /// Bytes with what EQUIVALENCE adds.
    reach: i64,
}

impl Layout {
    fn of(unit: &Unit, block: &Name) -> Option<Layout> {
        let mut members = Vec::new();
        for spec in &unit.specs {
            if let SpecKind::Common(blocks) = &spec.kind {
                let these = blocks.iter().filter(|(n, _)| n == block);
                members.extend(these.flat_map(|(_, l)| l).map(|e| e.sym));
            }
        }
        if members.is_empty() {
            return None;
        }
        let mut starts: HashMap<SymId, i64> = HashMap::new();
        let mut shapes = Vec::new();
        let mut size = 0;
        for m in &members {
            starts.insert(*m, size);
            let (bytes, count) = extent(unit, *m);
            size = bytes.saturating_mul(count).saturating_add(size);
            shapes.push((unit.symbols[*m].ty, bytes, count));
        }
        let mut reach = size;
        for spec in &unit.specs {
            let SpecKind::Equivalence(groups) = &spec.kind else {
                continue;
            };
            for group in groups {
                let Some(at) = group.iter().find_map(|e| {
                    let start = starts.get(&e.base()?)?;
                    Some(offset(unit, e).saturating_add(*start))
                }) else {
                    continue;
                };
                for e in group {
                    if let Some(s) = e.base() {
                        let (bytes, count) = extent(unit, s);
                        let end = at.saturating_sub(offset(unit, e));
                        reach = reach.max(bytes.saturating_mul(count).saturating_add(end));
                    }
                }
            }
        }
        Some(Layout {
            members,
            shapes,
            size,
            reach,
        })
    }
}

/// Bytes of an element, and how many there are. What is not constant counts as one.
fn extent(unit: &Unit, id: SymId) -> (i64, i64) {
    let s = &unit.symbols[id];
    let bytes = match s.ty {
        Some(Type::Integer(n) | Type::Real(n) | Type::Logical(n)) => i64::from(n),
        Some(Type::Complex(n)) => 2 * i64::from(n),
        Some(Type::Character) => s
            .length
            .as_ref()
            .map_or(Some(1), |l| constant(unit, l))
            .unwrap_or(1),
        None => 1,
    };
    let count = (0..s.dims.len())
        .map(|k| bounds(unit, id, k))
        .map(|(lo, hi)| hi.saturating_sub(lo).saturating_add(1).max(1));
    (bytes, count.fold(1, i64::saturating_mul))
}

/// Lower and upper bound of a dimension.
fn bounds(unit: &Unit, id: SymId, dimension: usize) -> (i64, i64) {
    let d = &unit.symbols[id].dims[dimension];
    let value = |e: &Option<Expr>| e.as_ref().and_then(|e| constant(unit, e));
    let lower = value(&d.lower).unwrap_or(1);
    (lower, value(&d.upper).unwrap_or(lower))
}

/// Bytes from the start of a variable to the element that is named.
fn offset(unit: &Unit, e: &Expr) -> i64 {
    match &e.kind {
        ExprKind::Element(s, subscripts) => {
            let mut stride = extent(unit, *s).0;
            let mut at = 0;
            for (k, e) in subscripts
                .iter()
                .enumerate()
                .take(unit.symbols[*s].dims.len())
            {
                let (lower, upper) = bounds(unit, *s, k);
                let index = constant(unit, e).unwrap_or(lower).saturating_sub(lower);
                at = stride.saturating_mul(index).saturating_add(at);
                let count = upper.saturating_sub(lower).saturating_add(1).max(1);
                stride = stride.saturating_mul(count);
            }
            at
        }
        ExprKind::Substring(base, from, _) => {
            let from = from.as_ref().and_then(|e| constant(unit, e)).unwrap_or(1);
            offset(unit, base).saturating_add(from).saturating_sub(1)
        }
        _ => 0,
    }
}

/// The value of an integer constant expression.
fn constant(unit: &Unit, e: &Expr) -> Option<i64> {
    match &e.kind {
        ExprKind::Int(n) => Some(*n),
        ExprKind::Var(s) => match &unit.symbols[*s].class {
            Class::Parameter(value) => constant(unit, value),
            _ => None,
        },
        ExprKind::Paren(e) | ExprKind::Unary(UnOp::Plus, e) => constant(unit, e),
        ExprKind::Unary(UnOp::Minus, e) => constant(unit, e)?.checked_neg(),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (constant(unit, a)?, constant(unit, b)?);
            match op {
                BinOp::Add => a.checked_add(b),
                BinOp::Sub => a.checked_sub(b),
                BinOp::Mul => a.checked_mul(b),
                BinOp::Div => a.checked_div(b),
                BinOp::Pow => a.checked_pow(u32::try_from(b).ok()?),
                _ => None,
            }
        }
        _ => None,
    }
}
