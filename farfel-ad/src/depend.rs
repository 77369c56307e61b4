//! What depends on what: variables as locations, the assignments that a statement makes,
//! and for each unit which of its outputs depend on which of its inputs.
//!
//! "Depends" always means: with a derivative that may differ from zero. A value that goes
//! through an INTEGER, a condition or a subscript does not depend on where it came from.
//!
//! # Locations and slots
//!
//! Inside one unit, a *location* stands for a variable or a whole array: location `i` is
//! symbol `i`, unless that symbol is in COMMON; then it is one of the program's COMMON
//! variables, which come after the symbols. Variables that EQUIVALENCE ties together are
//! one location.
//!
//! Seen from outside, a unit has *slots*: its arguments in order, its result, and again
//! all COMMON variables of the program.

use crate::callgraph::CallGraph;
use crate::flow::Flow;
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::{
    BinOp, Class, DoControl, Expr, ExprKind, IoKind, Name, Place, SaveItem, SpecKind, Stmt,
    StmtKind, SymId, Symbol, Type, Unit,
};
use fixedbitset::FixedBitSet;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A set of locations or of slots.
pub type Set = FixedBitSet;

/// True for a variable or array that can have a derivative.
pub fn differentiable(s: &Symbol) -> bool {
    s.is_variable() && s.ty.is_some_and(Type::is_differentiable)
}

/// A variable in a COMMON block, as the first unit that has the block declares it.
#[derive(Debug, Clone)]
pub struct CommonVar {
    /// The block; empty for blank COMMON.
    pub block: Name,
    /// Its number in the block, from 0.
    pub position: usize,
    /// The unit that declares it.
    pub unit: Name,
    /// Its symbol there.
    pub sym: SymId,
    /// An array, or one location for a whole block that units divide differently.
    pub array: bool,
    /// Can have a derivative.
    pub differentiable: bool,
}

/// The COMMON variables of a program.
#[derive(Debug, Default)]
pub struct Commons {
    /// All of them; blocks one after the other.
    pub vars: Vec<CommonVar>,
    by_place: HashMap<(Name, usize), usize>,
    /// Blocks that not all units divide into the same variables.
    pub irregular: HashSet<Name>,
}

/// The members of a unit's COMMON blocks, in order.
pub fn common_members(unit: &Unit) -> BTreeMap<Name, Vec<SymId>> {
    let mut blocks: BTreeMap<Name, Vec<SymId>> = BTreeMap::new();
    for spec in &unit.specs {
        if let SpecKind::Common(list) = &spec.kind {
            for (name, members) in list {
                blocks
                    .entry(name.clone())
                    .or_default()
                    .extend(members.iter().map(|e| e.sym));
            }
        }
    }
    blocks
}

/// The value of an INTEGER expression of constants.
pub fn const_int(unit: &Unit, e: &Expr) -> Option<i64> {
    match &e.kind {
        ExprKind::Int(n) => Some(*n),
        ExprKind::Paren(a) => const_int(unit, a),
        ExprKind::Unary(farfel_lang::ir::UnOp::Minus, a) => const_int(unit, a)?.checked_neg(),
        ExprKind::Unary(farfel_lang::ir::UnOp::Plus, a) => const_int(unit, a),
        ExprKind::Var(s) => match &unit.symbols[*s].class {
            Class::Parameter(v) if matches!(unit.symbols[*s].ty, Some(Type::Integer(_))) => {
                const_int(unit, v)
            }
            _ => None,
        },
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (const_int(unit, a)?, const_int(unit, b)?);
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

/// Number of elements in each dimension, where constants tell.
pub fn extents(unit: &Unit, s: &Symbol) -> Option<Vec<i64>> {
    s.dims
        .iter()
        .map(|d| {
            let low = match &d.lower {
                Some(e) => const_int(unit, e)?,
                None => 1,
            };
            Some(const_int(unit, d.upper.as_ref()?)? - low + 1)
        })
        .collect()
}

impl Commons {
    /// Finds the COMMON variables of some units.
    pub fn of(units: &[&Unit]) -> Self {
        type Shape = (Option<Type>, Option<Vec<i64>>);
        let mut shapes: BTreeMap<Name, Vec<Shape>> = BTreeMap::new();
        let mut owner: BTreeMap<Name, (Name, Vec<SymId>)> = BTreeMap::new();
        let mut commons = Commons::default();
        for unit in units {
            for (block, members) in common_members(unit) {
                let shape: Vec<Shape> = members
                    .iter()
                    .map(|s| {
                        let s = &unit.symbols[*s];
                        (s.ty, extents(unit, s))
                    })
                    .collect();
                match shapes.get(&block) {
                    None => {
                        shapes.insert(block.clone(), shape);
                        owner.insert(block, (unit.name.clone(), members));
                    }
                    Some(first) if *first != shape => {
                        commons.irregular.insert(block);
                    }
                    Some(_) => {}
                }
            }
        }
        for (block, (unit_name, members)) in owner {
            let Some(unit) = units.iter().find(|u| u.name == unit_name) else {
                continue;
            };
            let irregular = commons.irregular.contains(&block);
            for (position, sym) in members.iter().enumerate() {
                if irregular && position > 0 {
                    break;
                }
                let s = &unit.symbols[*sym];
                commons
                    .by_place
                    .insert((block.clone(), position), commons.vars.len());
                commons.vars.push(CommonVar {
                    block: block.clone(),
                    position,
                    unit: unit_name.clone(),
                    sym: *sym,
                    array: irregular || s.is_array(),
                    differentiable: irregular || differentiable(s),
                });
            }
        }
        commons
    }

    /// The number of the variable at a place of a block.
    pub fn find(&self, block: &Name, position: usize) -> Option<usize> {
        let position = if self.irregular.contains(block) {
            0
        } else {
            position
        };
        self.by_place.get(&(block.clone(), position)).copied()
    }
}

/// The locations of one unit.
#[derive(Debug)]
pub struct Space {
    of_symbol: Vec<usize>,
    symbols: usize,
    args: usize,
    /// How many locations there are.
    pub len: usize,
    /// How many slots the unit has.
    pub slots: usize,
    /// Arrays and the like: an assignment leaves part of the old value.
    pub weak: Set,
    /// Those whose derivative would not be followed right: EQUIVALENCE, irregular COMMON.
    pub tangled: Set,
    /// Local variables that keep their value between calls.
    pub saved: Set,
    slot_locs: Vec<Option<usize>>,
}

impl Space {
    /// The locations of a unit.
    pub fn of(unit: &Unit, commons: &Commons) -> Self {
        let symbols = unit.symbols.len();
        let len = symbols + commons.vars.len();
        let mut of_symbol: Vec<usize> = (0..symbols).collect();
        for (block, members) in common_members(unit) {
            for (position, s) in members.iter().enumerate() {
                if let Some(k) = commons.find(&block, position) {
                    of_symbol[s.0 as usize] = symbols + k;
                }
            }
        }
        let mut weak = Set::with_capacity(len);
        let mut tangled = Set::with_capacity(len);
        let mut saved = Set::with_capacity(len);
        for (k, v) in commons.vars.iter().enumerate() {
            weak.set(symbols + k, v.array);
            tangled.set(symbols + k, commons.irregular.contains(&v.block));
        }
        for (id, s) in unit.symbols.iter() {
            if s.is_array() {
                weak.insert(of_symbol[id.0 as usize]);
            }
        }
        for spec in &unit.specs {
            match &spec.kind {
                SpecKind::Equivalence(groups) => {
                    for group in groups {
                        tie(group, &mut of_symbol, symbols, &mut weak, &mut tangled);
                    }
                }
                SpecKind::Save(items) if items.is_empty() => {
                    saved.extend(
                        unit.symbols
                            .iter()
                            .filter(|(_, s)| s.is_variable() && s.place == Place::Local)
                            .map(|(id, _)| of_symbol[id.0 as usize]),
                    );
                }
                SpecKind::Save(items) => {
                    saved.extend(items.iter().filter_map(|i| match i {
                        SaveItem::Var(s) => Some(of_symbol[s.0 as usize]),
                        SaveItem::Common(_) => None,
                    }));
                }
                SpecKind::Data(sets) => {
                    for t in sets.iter().flat_map(|s| &s.targets) {
                        t.for_each_symbol(&mut |s| {
                            if unit.symbols[s].is_variable()
                                && unit.symbols[s].place == Place::Local
                            {
                                saved.insert(of_symbol[s.0 as usize]);
                            }
                        });
                    }
                }
                _ => {}
            }
        }
        // COMMON keeps its values by itself.
        saved.remove_range_from(symbols);
        let args = unit.args.len();
        let mut slot_locs: Vec<Option<usize>> = unit
            .args
            .iter()
            .map(|a| {
                a.sym()
                    .filter(|s| unit.symbols[*s].is_variable())
                    .map(|s| of_symbol[s.0 as usize])
            })
            .collect();
        slot_locs.push(unit.result.map(|s| of_symbol[s.0 as usize]));
        slot_locs.extend((symbols..len).map(Some));
        Space {
            of_symbol,
            symbols,
            args,
            len,
            slots: slot_locs.len(),
            weak,
            tangled,
            saved,
            slot_locs,
        }
    }

    /// The location of a symbol.
    pub fn loc(&self, s: SymId) -> usize {
        // A symbol that was added after the analysis is nobody's location.
        self.of_symbol
            .get(s.0 as usize)
            .copied()
            .unwrap_or(s.0 as usize)
    }

    /// The location of the COMMON variable of a number.
    pub fn common(&self, k: usize) -> usize {
        self.symbols + k
    }

    /// The number of the COMMON variable at a location.
    pub fn common_at(&self, loc: usize) -> Option<usize> {
        loc.checked_sub(self.symbols)
    }

    /// The slot of the result.
    pub fn result_slot(&self) -> usize {
        self.args
    }

    /// The location behind a slot.
    pub fn slot(&self, slot: usize) -> Option<usize> {
        self.slot_locs.get(slot).copied().flatten()
    }

    /// The locations of some slots.
    pub fn locs(&self, slots: &Set) -> Set {
        let mut out = Set::with_capacity(self.len);
        out.extend(slots.ones().filter_map(|s| self.slot(s)));
        out
    }
}

trait RemoveFrom {
    fn remove_range_from(&mut self, from: usize);
}

impl RemoveFrom for Set {
    fn remove_range_from(&mut self, from: usize) {
        if from < self.len() {
            self.set_range(from.., false);
        }
    }
}

fn tie(group: &[Expr], of_symbol: &mut [usize], symbols: usize, weak: &mut Set, tangled: &mut Set) {
    let locs: Vec<usize> = group
        .iter()
        .filter_map(Expr::base)
        .map(|s| of_symbol[s.0 as usize])
        .collect();
    // Prefer a COMMON location: it is the one that others know.
    let Some(&one) = locs
        .iter()
        .find(|l| **l >= symbols)
        .or_else(|| locs.first())
    else {
        return;
    };
    for l in of_symbol.iter_mut() {
        if locs.contains(l) {
            *l = one;
        }
    }
    weak.insert(one);
    tangled.insert(one);
}

/// An assignment that a statement makes, as far as dependence goes.
#[derive(Debug, Clone)]
pub struct Move {
    /// What is assigned.
    pub target: usize,
    /// The whole of the target gets a new value.
    pub strong: bool,
    /// What the new value depends on.
    pub from: Set,
}

/// What one unit does, seen from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// For each slot, which slots its value on exit depends on.
    pub depends: Vec<Set>,
    /// Slots that may be assigned.
    pub assigned: Set,
    /// The formal arguments that are arrays.
    pub arrays: Set,
    /// The formal arguments that are arrays of assumed size.
    pub assumed_size: Set,
    /// How many arguments it has.
    pub args: usize,
}

/// A call in a statement.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'e> {
    /// The procedure's symbol.
    pub callee: SymId,
    /// Its actual arguments.
    pub args: &'e [Expr],
}

/// The summaries of all units that can be reached from a head.
#[derive(Debug)]
pub struct Dependence {
    /// The COMMON variables.
    pub commons: Commons,
    summaries: HashMap<Name, Summary>,
}

impl Dependence {
    /// Analyses the units of a call graph: a fixed point that starts from below.
    pub fn of(graph: &CallGraph) -> Self {
        let commons = Commons::of(&graph.units);
        let mut d = Dependence {
            commons,
            summaries: HashMap::new(),
        };
        let parts: Vec<(&Unit, Space, Flow)> = graph
            .units
            .iter()
            .map(|u| (*u, Space::of(u, &d.commons), Flow::of(u)))
            .collect();
        for (u, space, _) in &parts {
            let is = |f: &dyn Fn(&Symbol) -> bool| {
                let mut set = Set::with_capacity(space.slots);
                set.extend(
                    u.args
                        .iter()
                        .enumerate()
                        .filter(|(_, a)| a.sym().is_some_and(|s| f(&u.symbols[s])))
                        .map(|(i, _)| i),
                );
                set
            };
            d.summaries.insert(
                u.name.clone(),
                Summary {
                    depends: vec![Set::with_capacity(space.slots); space.slots],
                    assigned: Set::with_capacity(space.slots),
                    arrays: is(&Symbol::is_array),
                    assumed_size: is(&|s| {
                        s.dims.last().is_some_and(|d| {
                            d.upper.as_ref().is_none_or(|u| u.kind == ExprKind::Star)
                        })
                    }),
                    args: u.args.len(),
                },
            );
        }
        // What is assigned, first: it decides which old values survive a call.
        graph.fixed_point(|i| {
            let (unit, space, flow) = &parts[i];
            let new = d.assigned(unit, space, flow);
            match d.summaries.get_mut(&unit.name) {
                Some(old) if !new.is_subset(&old.assigned) => {
                    old.assigned.union_with(&new);
                    true
                }
                _ => false,
            }
        });
        // Then dependence, from below: what is assigned depends on nothing until shown
        // otherwise, and the sets only grow.
        for summary in d.summaries.values_mut() {
            for (i, set) in summary.depends.iter_mut().enumerate() {
                if i != summary.args && !summary.assigned.contains(i) {
                    set.insert(i);
                }
            }
        }
        graph.fixed_point(|i| {
            let (unit, space, flow) = &parts[i];
            let new = d.dependence(unit, space, flow);
            let mut changed = false;
            if let Some(old) = d.summaries.get_mut(&unit.name) {
                for (o, n) in old.depends.iter_mut().zip(&new) {
                    if !n.is_subset(o) {
                        o.union_with(n);
                        changed = true;
                    }
                }
            }
            changed
        });
        d
    }

    /// The summary of a top-level unit.
    pub fn summary(&self, unit: &str) -> Option<&Summary> {
        self.summaries.get(unit)
    }

    /// The summary of a procedure that a unit calls; `None` when its text is not known.
    pub fn callee<'s>(&'s self, unit: &Unit, s: SymId) -> Option<&'s Summary> {
        let s = &unit.symbols[s];
        (s.place == Place::Global)
            .then(|| self.summaries.get(&s.name))
            .flatten()
    }

    /// Adds the locations that the value of an expression depends on.
    pub fn depends(&self, unit: &Unit, space: &Space, e: &Expr, out: &mut Set) {
        match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) if differentiable(&unit.symbols[*s]) => {
                out.insert(space.loc(*s));
            }
            ExprKind::Paren(a) | ExprKind::Unary(_, a) => self.depends(unit, space, a, out),
            ExprKind::Binary(op, a, b) if op.is_arithmetic() => {
                self.depends(unit, space, a, out);
                self.depends(unit, space, b, out);
            }
            ExprKind::Call(s, args) => match &unit.symbols[*s].class {
                Class::Intrinsic(i) => {
                    let n = match i.op {
                        Op::Aint | Op::Anint | Op::Nint | Op::Other => 0,
                        Op::Sign => 1,
                        Op::Convert | Op::Max | Op::Min
                            if matches!(
                                i.result,
                                farfel_lang::intrinsics::ResultType::Fixed(Type::Integer(_))
                            ) =>
                        {
                            0
                        }
                        _ => args.len(),
                    };
                    for a in args.iter().take(n) {
                        self.depends(unit, space, a, out);
                    }
                }
                Class::StatementFunction(_, value) => {
                    for a in args {
                        self.depends(unit, space, a, out);
                    }
                    self.depends(unit, space, value, out);
                }
                _ => {
                    if !unit.symbols[*s].ty.is_some_and(Type::is_differentiable) {
                        return;
                    }
                    match self.callee(unit, *s) {
                        Some(summary) => {
                            let from = &summary.depends[summary.args];
                            self.slots_to_locs(unit, space, summary, args, from, out);
                        }
                        None => {
                            for a in args {
                                self.depends(unit, space, a, out);
                            }
                        }
                    }
                }
            },
            _ => {}
        }
    }

    /// Adds what the actual arguments at some slots of a callee depend on.
    fn slots_to_locs(
        &self,
        unit: &Unit,
        space: &Space,
        callee: &Summary,
        args: &[Expr],
        slots: &Set,
        out: &mut Set,
    ) {
        for j in slots.ones() {
            if j < callee.args {
                if let Some(a) = args.get(j) {
                    self.depends(unit, space, a, out);
                }
            } else if j > callee.args {
                out.insert(space.common(j - callee.args - 1));
            }
        }
    }

    /// The assignments that one call makes at once.
    pub fn call_moves(&self, unit: &Unit, space: &Space, call: CallSite) -> Vec<Move> {
        let mut moves = Vec::new();
        let target = |a: &Expr| match &a.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) if differentiable(&unit.symbols[*s]) => {
                let loc = space.loc(*s);
                Some((
                    loc,
                    matches!(a.kind, ExprKind::Var(_)) && !space.weak.contains(loc),
                ))
            }
            _ => None,
        };
        let Some(callee) = self.callee(unit, call.callee) else {
            let mut from = Set::with_capacity(space.len);
            for a in call.args {
                self.depends(unit, space, a, &mut from);
            }
            for (target, _) in call.args.iter().filter_map(target) {
                moves.push(Move {
                    target,
                    strong: false,
                    from: from.clone(),
                });
            }
            return moves;
        };
        for o in callee.assigned.ones() {
            let (target, strong) = if o < callee.args {
                match call.args.get(o).and_then(target) {
                    Some(t) => t,
                    None => continue,
                }
            } else if o > callee.args {
                let loc = space.common(o - callee.args - 1);
                (loc, !space.weak.contains(loc))
            } else {
                continue;
            };
            let mut from = Set::with_capacity(space.len);
            self.slots_to_locs(
                unit,
                space,
                callee,
                call.args,
                &callee.depends[o],
                &mut from,
            );
            moves.push(Move {
                target,
                strong,
                from,
            });
        }
        moves
    }

    /// The assignments of a statement itself: groups that happen one after the other, each
    /// at once.
    pub fn moves(&self, unit: &Unit, space: &Space, stmt: &Stmt) -> Vec<Vec<Move>> {
        let mut groups = Vec::new();
        for (call, certain) in calls(unit, stmt) {
            let mut group = self.call_moves(unit, space, call);
            if !certain {
                group.iter_mut().for_each(|m| m.strong = false);
            }
            if !group.is_empty() {
                groups.push(group);
            }
        }
        let mut own = Vec::new();
        let mut set = |s: SymId, whole: bool, values: &[&Expr]| {
            if !differentiable(&unit.symbols[s]) {
                return;
            }
            let mut from = Set::with_capacity(space.len);
            for v in values {
                self.depends(unit, space, v, &mut from);
            }
            let target = space.loc(s);
            own.push(Move {
                target,
                strong: whole
                    && (!space.weak.contains(target)
                        || unit.symbols[s].is_array() && !space.tangled.contains(target)),
                from,
            });
        };
        match &stmt.kind {
            StmtKind::Assign(target, value) => {
                if let Some(s) = target.base() {
                    set(s, matches!(target.kind, ExprKind::Var(_)), &[value]);
                }
            }
            StmtKind::Do(d) => {
                if let DoControl::Count {
                    var,
                    from,
                    to: _,
                    step,
                } = &d.control
                {
                    let mut values = vec![from];
                    values.extend(step.iter());
                    set(*var, false, &values);
                }
            }
            StmtKind::Io(io) if io.kind == IoKind::Read => {
                for item in &io.items {
                    read_targets(item, &mut |s, whole| set(s, whole, &[]));
                }
            }
            _ => {}
        }
        if !own.is_empty() {
            groups.push(own);
        }
        groups
    }

    /// The slots of a unit that its statements assign.
    fn assigned(&self, unit: &Unit, space: &Space, flow: &Flow) -> Set {
        let mut targets = Set::with_capacity(space.len);
        for s in &flow.stmts {
            let moves = self.moves(unit, space, s);
            targets.extend(moves.iter().flatten().map(|m| m.target));
        }
        let mut slots = Set::with_capacity(space.slots);
        slots.extend(
            (0..space.slots).filter(|s| space.slot(*s).is_some_and(|l| targets.contains(l))),
        );
        slots
    }

    /// For each slot of a unit, the slots that its value on exit depends on.
    fn dependence(&self, unit: &Unit, space: &Space, flow: &Flow) -> Vec<Set> {
        let mut depends = vec![Set::with_capacity(space.slots); space.slots];
        let moves: Vec<Vec<Vec<Move>>> = flow
            .stmts
            .iter()
            .map(|s| self.moves(unit, space, s))
            .collect();
        // The state: for each location, the slots it depends on.
        let mut entry = Matrix::new(space.len, space.slots);
        for slot in 0..space.slots {
            if slot != space.result_slot()
                && let Some(loc) = space.slot(slot)
            {
                entry.insert(loc, slot);
            }
        }
        let exit = loop {
            let mut states = vec![None; flow.len()];
            states[flow.entry] = Some(entry.clone());
            let mut work: VecDeque<usize> = [flow.entry].into();
            let mut queued = vec![false; flow.len()];
            while let Some(n) = work.pop_front() {
                queued[n] = false;
                let Some(mut state) = states[n].clone() else {
                    continue;
                };
                for group in moves.get(n).into_iter().flatten() {
                    state.assign(group);
                }
                for &to in &flow.successors[n] {
                    let changed = match &mut states[to] {
                        Some(there) => there.union_with(&state),
                        none => {
                            *none = Some(state.clone());
                            true
                        }
                    };
                    if changed && !queued[to] {
                        queued[to] = true;
                        work.push_back(to);
                    }
                }
            }
            let Some(exit) = states[flow.exit].take() else {
                // It never returns.
                return depends;
            };
            let mut changed = false;
            for loc in space.saved.ones() {
                changed |= entry.union_row(loc, &exit);
            }
            if !changed {
                break exit;
            }
        };
        for (slot, set) in depends.iter_mut().enumerate() {
            if let Some(loc) = space.slot(slot) {
                set.extend(exit.row(loc));
                if space.weak.contains(loc) && slot != space.result_slot() {
                    // The caller's array may be larger.
                    set.insert(slot);
                }
            }
        }
        depends
    }
}

/// For each location a set of slots, in one piece of memory.
#[derive(Debug, Clone)]
struct Matrix {
    bits: Vec<u64>,
    /// Words in a row.
    width: usize,
}

impl Matrix {
    fn new(rows: usize, columns: usize) -> Self {
        let width = columns.div_ceil(64);
        Matrix {
            bits: vec![0; rows * width],
            width,
        }
    }

    fn insert(&mut self, row: usize, column: usize) {
        self.bits[row * self.width + column / 64] |= 1 << (column % 64);
    }

    fn row(&self, row: usize) -> impl Iterator<Item = usize> {
        let words = &self.bits[row * self.width..(row + 1) * self.width];
        words.iter().enumerate().flat_map(|(i, w)| {
            (0..64)
                .filter(move |b| w >> b & 1 == 1)
                .map(move |b| i * 64 + b)
        })
    }

    /// Adds another matrix; true when that changed something.
    fn union_with(&mut self, other: &Matrix) -> bool {
        let mut changed = false;
        for (a, b) in self.bits.iter_mut().zip(&other.bits) {
            changed |= *b & !*a != 0;
            *a |= b;
        }
        changed
    }

    fn union_row(&mut self, row: usize, other: &Matrix) -> bool {
        let mut changed = false;
        for i in row * self.width..(row + 1) * self.width {
            changed |= other.bits[i] & !self.bits[i] != 0;
            self.bits[i] |= other.bits[i];
        }
        changed
    }

    /// Carries a group of assignments out.
    fn assign(&mut self, group: &[Move]) {
        let w = self.width;
        let mut new = vec![0u64; group.len() * w];
        for (value, m) in new.chunks_exact_mut(w.max(1)).zip(group) {
            for f in m.from.ones() {
                for (a, b) in value.iter_mut().zip(&self.bits[f * w..(f + 1) * w]) {
                    *a |= b;
                }
            }
        }
        for m in group {
            // Several moves to one location (an array passed twice) all count.
            if m.strong && group.iter().filter(|x| x.target == m.target).count() == 1 {
                self.bits[m.target * w..(m.target + 1) * w].fill(0);
            }
        }
        for (value, m) in new.chunks_exact(w.max(1)).zip(group) {
            let row = &mut self.bits[m.target * w..(m.target + 1) * w];
            for (a, b) in row.iter_mut().zip(value) {
                *a |= b;
            }
        }
    }
}

/// Carries a group of assignments out on a set of varied locations.
pub fn apply_varied(varied: &mut Set, group: &[Move]) {
    let hit: Vec<bool> = group.iter().map(|m| !m.from.is_disjoint(varied)).collect();
    for m in group {
        if m.strong && group.iter().filter(|x| x.target == m.target).count() == 1 {
            varied.remove(m.target);
        }
    }
    for (m, hit) in group.iter().zip(hit) {
        if hit {
            varied.insert(m.target);
        }
    }
}

/// Calls `f` on each variable that an item of READ assigns; with true when all of it is.
pub fn read_targets(item: &Expr, f: &mut dyn FnMut(SymId, bool)) {
    match &item.kind {
        ExprKind::ImpliedDo(d) => d
            .items
            .iter()
            .for_each(|i| read_targets(i, &mut |s, _| f(s, false))),
        ExprKind::Var(s) => f(*s, true),
        _ => item.base().into_iter().for_each(|s| f(s, false)),
    }
}

/// The calls that a statement itself makes to anything but intrinsic and statement
/// functions, innermost first; with false where it may also not happen (ELSE IF).
pub fn calls<'e>(unit: &Unit, stmt: &'e Stmt) -> Vec<(CallSite<'e>, bool)> {
    let mut found = Vec::new();
    let mut number = 0;
    stmt.for_each_own_expr(&mut |e| {
        let certain = number == 0 || !matches!(stmt.kind, StmtKind::If(_));
        number += 1;
        calls_in(unit, e, &mut |c| found.push((c, certain)));
    });
    if let StmtKind::Call(callee, args) = &stmt.kind {
        found.push((
            CallSite {
                callee: *callee,
                args,
            },
            true,
        ));
    }
    found
}

/// The calls in an expression, innermost first.
pub fn calls_in<'e>(unit: &Unit, e: &'e Expr, f: &mut dyn FnMut(CallSite<'e>)) {
    for c in e.children() {
        calls_in(unit, c, f);
    }
    if let ExprKind::Call(s, args) = &e.kind
        && !matches!(
            unit.symbols[*s].class,
            Class::Intrinsic(_) | Class::StatementFunction(..)
        )
    {
        f(CallSite { callee: *s, args });
    }
}
