//! How much of the stack calls need.
//!
//! A compiler reserves the frame of a subprogram before its first statement, so a call that lacks the room cannot
//! be ended there. The Rust function asks before it calls: for the largest sum of frames on any path in the call
//! graph. Subprograms that call themselves ask on each entry, for the next round.
//!
//! A frame consists of local variables of fixed size, of temporaries of fixed size for arrays and texts, and of
//! what the compiler adds for scalars. Everything else is in static memory or on the heap.

use super::{MAX_STACK_ARRAY, is_large};
use crate::calls::for_each_call;
use crate::config::LocalPlacement;
use farfel_lang::callgraph::{callees_first, cycles};
use farfel_lang::intrinsics::Shape;
use farfel_lang::ir::{
    Attribute, BinOp, Class, Expr, ExprKind, Name, Origin, Program, SaveItem, SpecKind, StmtKind,
    StorageClass, SymId, Symbol, Type, Unit, walk_block,
};
use farfel_lang::storage::constant::{self, extents, integer};
use farfel_lang::storage::{Constants, UnitStorage};
use farfel_lang::types::{rank, type_of};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What a frame has besides variables and temporaries. The largest that gfortran makes for LAPACK, at any level of
/// optimization, have 944 bytes altogether.
const SCALARS: u64 = 1024;

/// What the run-time library needs for input and output, and for ending a call.
const LIBRARY: u64 = 16 * 1024;

/// What is left for callees of unknown size in a subprogram that calls itself, such as closures.
const STACK_OF_CALLEES: u64 = 192 * 1024;

/// The maximum number of calls of a subprogram by itself that a compiler merges into one frame.
const MERGED: u64 = 10;

/// Calls that need more ask whether it is there: any Rust function may need as much as this.
pub(crate) const UNASKED: u64 = 32 * 1024;

/// Calls that need more are expected to fail, because threads of usual size might not have it.
pub(crate) const PLENTY: u64 = 256 * 1024;

/// What determines the size of frames besides the program.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Where local variables are.
    pub placement: LocalPlacement,
    /// The number of bytes of a REAL.
    pub real: u8,
}

/// The number of bytes that calls need on the stack.
#[derive(Default)]
pub(crate) struct StackNeeds {
    /// For each unit, with its callees.
    pub calls: HashMap<Name, u64>,
    /// For each unit that may call itself, what it needs for the next round.
    pub recursive: BTreeMap<Name, u64>,
}

impl StackNeeds {
    /// Determines what the units of a program need. Stand-ins for derivatives need what the derivatives will.
    pub(crate) fn of(
        program: &Program,
        entries: &HashMap<Name, Name>,
        layout: Layout,
    ) -> StackNeeds {
        let units = &program.units;
        let calls = calls(program, entries);
        let mut groups = cycles(&calls);
        let mut group_of: HashMap<usize, usize> = HashMap::new();
        for (g, group) in groups.iter().enumerate() {
            group_of.extend(group.iter().map(|i| (*i, g)));
        }
        let recursive = groups.len();
        for i in 0..units.len() {
            group_of.entry(i).or_insert_with(|| {
                groups.push(vec![i]);
                groups.len() - 1
            });
        }
        let outside: Vec<Vec<usize>> = groups
            .iter()
            .enumerate()
            .map(|(g, group)| {
                let called = group.iter().flat_map(|i| &calls[*i]);
                let called: BTreeSet<usize> = called.map(|c| group_of[c]).collect();
                called.into_iter().filter(|c| *c != g).collect()
            })
            .collect();
        // For each group, what a call needs, and what a call of a derivative of it needs.
        let mut needs = vec![[0_u64; 2]; groups.len()];
        let mut found = StackNeeds::default();
        for g in callees_first(0..groups.len(), |g| outside[g].as_slice()) {
            let members = || groups[g].iter().map(|i| &units[*i]);
            let frames = members()
                .map(|u| Frame::of(u, layout))
                .fold(Frame::default(), |a, b| Frame {
                    variables: a.variables.saturating_add(b.variables),
                    temporaries: a.temporaries.saturating_add(b.temporaries),
                    scalars: a.scalars.saturating_add(b.scalars),
                });
            let below = |k: usize| outside[g].iter().map(|c| needs[*c][k]).max().unwrap_or(0);
            let library = if members().any(uses_library) {
                LIBRARY
            } else {
                0
            };
            let callees = below(0).max(library);
            let own = frames.total().saturating_add(callees);
            let derivative = frames.of_derivative().saturating_add(below(1).max(callees));
            let stand_in = members().any(|u| u.origin == Origin::Derivative);
            needs[g] = [if stand_in { derivative } else { own }, derivative];
            found
                .calls
                .extend(members().map(|u| (u.name.clone(), needs[g][0])));
            if g < recursive {
                let round = frames.total().saturating_mul(MERGED);
                let round = round
                    .saturating_add(callees)
                    .saturating_add(STACK_OF_CALLEES);
                found
                    .recursive
                    .extend(members().map(|u| (u.name.clone(), round)));
            }
        }
        found
    }

    /// Adds the generated units of a program that may call themselves.
    pub(crate) fn with_generated(&self, program: &Program, layout: Layout) -> BTreeMap<Name, u64> {
        let mut found = self.recursive.clone();
        let own = StackNeeds::of(program, &crate::calls::entries(program), layout);
        for (name, bytes) in own.recursive {
            found.entry(name).or_insert(bytes);
        }
        found
    }
}

/// Returns the positions of the units that each unit calls.
fn calls(program: &Program, entries: &HashMap<Name, Name>) -> Vec<Vec<usize>> {
    let index: HashMap<&Name, usize> = program
        .units
        .iter()
        .enumerate()
        .map(|(i, u)| (&u.name, i))
        .collect();
    let of = |unit: &Unit| {
        let mut called = BTreeSet::new();
        for_each_call(unit, &mut |callee, _| {
            let symbol = &unit.symbols[callee];
            let name = match symbol.storage_class {
                StorageClass::Result => &unit.name,
                _ => &symbol.name,
            };
            called.extend(entries.get(name).and_then(|owner| index.get(owner)));
        });
        called.into_iter().collect()
    };
    program.units.iter().map(of).collect()
}

fn uses_library(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        found |= matches!(
            s.kind,
            StmtKind::Io(_) | StmtKind::Allocation(_) | StmtKind::Stop(_) | StmtKind::Pause(_)
        );
    });
    found
}

/// The parts of a frame, in bytes.
#[derive(Clone, Copy, Default)]
struct Frame {
    variables: u64,
    temporaries: u64,
    scalars: u64,
}

impl Frame {
    fn of(unit: &Unit, layout: Layout) -> Frame {
        let temporaries = Temporaries {
            unit,
            constants: Constants::of(unit),
            storage: UnitStorage::of(unit),
            most: match layout.placement {
                LocalPlacement::Stack => u64::MAX,
                _ => MAX_STACK_ARRAY,
            },
        };
        Frame {
            variables: variables(unit, layout),
            temporaries: temporaries.of_unit(),
            scalars: SCALARS,
        }
    }

    fn total(self) -> u64 {
        let fixed = self.scalars.saturating_add(self.variables);
        fixed.saturating_add(self.temporaries)
    }

    /// What the frame of a derivative has at most: [`locals`] limits its arrays, but not those in EQUIVALENCE.
    fn of_derivative(self) -> u64 {
        let arrays = self.variables.saturating_add(MOST_ON_STACK);
        let copies = self.temporaries.saturating_mul(4);
        arrays
            .saturating_add(copies)
            .saturating_add(self.scalars.saturating_mul(2))
    }
}

/// The number of bytes on the stack that a derivative, or a RECURSIVE subprogram, may use for arrays. Little: a nest of
/// derivatives is a long chain of calls, all of which are assumed to use this much.
const MOST_ON_STACK: u64 = 4 * 1024;

/// Returns the local arrays of a unit that would be static only because of their size, and others that together are
/// too large for the stack.
pub(crate) fn moved(unit: &Unit) -> Vec<SymId> {
    let constants = Constants::of(unit);
    let mut arrays: Vec<(u64, SymId)> = candidates(unit)
        .into_iter()
        .map(|id| {
            let bytes = constants.size(id).and_then(|n| u64::try_from(n).ok());
            (bytes.unwrap_or(u64::MAX), id)
        })
        .collect();
    arrays.sort_by_key(|(bytes, _)| *bytes);
    let mut sum = 0_u64;
    let mut moved = Vec::new();
    for (bytes, id) in arrays {
        sum = sum.saturating_add(bytes);
        if sum > MOST_ON_STACK || is_large(unit, &unit.symbols[id]) {
            moved.push(id);
        }
    }
    moved.sort_unstable();
    moved
}

/// Returns the local arrays of a unit that can be allocated instead.
fn candidates(unit: &Unit) -> Vec<SymId> {
    let mut kept = HashSet::new();
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Save(items) if items.is_empty() => return Vec::new(),
            SpecKind::Save(items) => kept.extend(items.iter().filter_map(|i| match i {
                SaveItem::Var(s) => Some(*s),
                SaveItem::Common(_) => None,
            })),
            SpecKind::Data(sets) => {
                let targets = sets.iter().flat_map(|s| &s.targets);
                kept.extend(targets.flat_map(super::initialised));
            }
            _ => {}
        }
    }
    let storage = UnitStorage::of(unit);
    let wanted = |(id, s): (SymId, &Symbol)| {
        let own = s.storage_class == StorageClass::Local && s.is_variable() && s.is_array();
        let plain = s.attributes == Default::default() && !s.saved && s.init.is_none();
        let constant = constant::extents(unit, &s.dims).is_some();
        let alone = storage.range(id).is_none() && !kept.contains(&id);
        (own && plain && constant && alone).then_some(id)
    };
    unit.symbols.iter().filter_map(wanted).collect()
}

/// Returns the number of bytes that the local variables of a unit take on the stack.
fn variables(unit: &Unit, layout: Layout) -> u64 {
    let constants = Constants::of(unit).with_real(layout.real);
    let moved = match unit.recursive {
        true => moved(unit),
        false => Vec::new(),
    };
    let bytes = unit.symbols.iter().filter_map(|(id, s)| {
        let local = s.storage_class == StorageClass::Local;
        let own = s.is_variable() && local && !s.saved && !moved.contains(&id);
        let open = s.has(Attribute::Allocatable);
        let fixed = layout.placement == LocalPlacement::Static && !s.has(Attribute::Automatic);
        if !own || open || fixed {
            return None;
        }
        let elements = extents(unit, &s.dims)?.into_iter().map(|n| n.max(0));
        let elements = elements.fold(1_i64, i64::saturating_mul);
        let bytes = constants.element_size(id)?.saturating_mul(elements);
        let bytes = u64::try_from(bytes).ok()?;
        let stays = layout.placement == LocalPlacement::Stack
            || unit.recursive
            || s.has(Attribute::Automatic)
            || bytes <= MAX_STACK_ARRAY;
        stays.then_some(bytes)
    });
    bytes.fold(0, u64::saturating_add)
}

/// The temporaries that a compiler may make for the expressions of a unit. Those of different statements need not
/// share memory.
struct Temporaries<'a> {
    unit: &'a Unit,
    constants: Constants<'a>,
    storage: UnitStorage,
    /// Larger ones are on the heap.
    most: u64,
}

impl Temporaries<'_> {
    fn of_unit(&self) -> u64 {
        let mut sum = 0_u64;
        walk_block(&self.unit.body, &mut |s| {
            let mut add = |bytes: u64| sum = sum.saturating_add(bytes);
            s.for_each_own_expr(&mut |e| e.walk(&mut |e| add(self.of_node(e))));
            match &s.kind {
                StmtKind::Assign(target, value) if self.may_overlap(target, value) => {
                    add(self.bytes(target));
                }
                // The masks are kept.
                StmtKind::Where(w) => {
                    for (mask, _) in &w.block.arms {
                        add(self.bytes(mask).saturating_mul(2));
                    }
                }
                StmtKind::Call(_, args) => args.iter().for_each(|a| add(self.of_argument(a))),
                StmtKind::Io(io) => io.items.iter().for_each(|a| add(self.of_argument(a))),
                _ => {}
            }
        });
        sum
    }

    /// Returns the size of what is made for an expression, without the expressions inside it.
    fn of_node(&self, e: &Expr) -> u64 {
        match &e.kind {
            ExprKind::Call(f, args) => {
                let (intrinsic, elemental) = match self.unit.symbols[*f].class {
                    Class::Intrinsic(i) => (true, i.shape == Shape::Elemental),
                    _ => (false, false),
                };
                if elemental && type_of(self.unit, e) != Some(Type::Character) {
                    return 0;
                }
                let args = args.iter().map(|a| match intrinsic && elemental {
                    true => 0,
                    false => self.of_argument(a),
                });
                let args = args.fold(0, u64::saturating_add);
                args.saturating_add(self.bytes(e))
            }
            ExprKind::Array(_) | ExprKind::Binary(BinOp::Concat, ..) => self.bytes(e),
            ExprKind::Element(_, subscripts) => subscripts
                .iter()
                .filter(|x| !matches!(x.kind, ExprKind::Range(..)) && rank(self.unit, x) > 0)
                .map(|x| self.bytes(x).saturating_mul(2))
                .fold(0, u64::saturating_add),
            _ => 0,
        }
    }

    fn of_argument(&self, e: &Expr) -> u64 {
        match e.kind {
            ExprKind::Var(_) | ExprKind::Call(..) => 0,
            _ if rank(self.unit, e) > 0 => self.bytes(e),
            _ => 0,
        }
    }

    /// Whether the value of an assignment may contain what it assigns.
    fn may_overlap(&self, target: &Expr, value: &Expr) -> bool {
        let Some(base) = target.base().filter(|_| rank(self.unit, target) > 0) else {
            return false;
        };
        let others: BTreeSet<SymId> = self.storage.overlapping(base).collect();
        let mut found = false;
        value.for_each_symbol(&mut |s| found |= s == base || others.contains(&s));
        found
    }

    /// Returns the size of a value, if it is fixed and not too large for the stack.
    fn bytes(&self, e: &Expr) -> u64 {
        let Some(extents) = self.extents(e) else {
            return 0;
        };
        let elements = extents.into_iter().fold(1_u64, u64::saturating_mul);
        let bytes = elements.saturating_mul(self.element(e));
        if bytes > self.most { 0 } else { bytes }
    }

    /// Returns the size of an element of a value, 0 for texts of variable length.
    fn element(&self, e: &Expr) -> u64 {
        match type_of(self.unit, e) {
            Some(Type::Character) => self.length(e).unwrap_or(0),
            Some(Type::Complex(n)) => 2 * u64::from(n.max(8)),
            // The setting for the size of REAL may double it.
            Some(Type::Real(n)) => u64::from(n.max(8)),
            Some(Type::Integer(n) | Type::Logical(n)) => n.into(),
            None => 8,
        }
    }

    fn length(&self, e: &Expr) -> Option<u64> {
        let of = |id: SymId| {
            let size = self.constants.element_size(id)?;
            u64::try_from(size).ok()
        };
        match &e.kind {
            ExprKind::Char(text) => Some(text.len() as u64),
            ExprKind::Var(s) | ExprKind::Element(s, _) => of(*s),
            ExprKind::Call(s, args) => match self.unit.symbols[*s].class {
                Class::Intrinsic(i) if matches!(i.name, "REPEAT") => {
                    let copies = u64::try_from(integer(self.unit, args.get(1)?)?).ok()?;
                    Some(self.length(&args[0])?.saturating_mul(copies))
                }
                Class::Intrinsic(_) => match args.first() {
                    Some(a) if type_of(self.unit, a) == Some(Type::Character) => self.length(a),
                    _ => Some(256),
                },
                _ => of(*s),
            },
            ExprKind::Binary(BinOp::Concat, a, b) => {
                Some(self.length(a)?.saturating_add(self.length(b)?))
            }
            ExprKind::Paren(a) => self.length(a),
            ExprKind::Substring(base, from, to) => {
                let number = |e: &Option<Box<Expr>>| e.as_ref().map(|e| integer(self.unit, e));
                match (number(from).unwrap_or(Some(1)), number(to)) {
                    (Some(from), Some(Some(to))) => {
                        u64::try_from(to.saturating_sub(from).saturating_add(1).max(0)).ok()
                    }
                    (Some(_), None) => self.length(base),
                    _ => None,
                }
            }
            ExprKind::Array(a) => {
                let mut lengths = a.items.iter().map(|i| self.length(i));
                lengths.try_fold(0, |most, length| Some(length?.max(most)))
            }
            _ => None,
        }
    }

    /// Returns the extents of a value, at most; `None` if they are not fixed.
    fn extents(&self, e: &Expr) -> Option<Vec<u64>> {
        let unit = self.unit;
        if rank(unit, e) == 0 {
            return Some(Vec::new());
        }
        let sizes = |s: SymId| {
            let extents = extents(unit, &unit.symbols[s].dims)?;
            let sizes = extents.into_iter().map(|n| n.max(0).unsigned_abs());
            Some(sizes.collect::<Vec<u64>>())
        };
        // What may be fixed although it is not evaluated here.
        let unknown = || {
            Some(vec![
                self.most.min(MAX_STACK_ARRAY) / self.element(e).max(1),
            ])
        };
        let first = |operands: &[&Expr]| {
            let arrays = operands.iter().filter(|e| rank(unit, e) > 0);
            let mut known = arrays.filter_map(|e| self.extents(e));
            known.next()
        };
        match &e.kind {
            ExprKind::Var(s) => sizes(*s),
            ExprKind::Element(s, subscripts) => {
                let mut found = Vec::new();
                for (k, x) in subscripts.iter().enumerate() {
                    match &x.kind {
                        ExprKind::Range(None, None, None) => {
                            found.push(sizes(*s).and_then(|e| e.get(k).copied())?);
                        }
                        ExprKind::Range(from, to, step) => {
                            let (low, high) = self.constants.bounds(*s, k);
                            let of = |e: &Option<Box<Expr>>, declared| match e {
                                Some(e) => integer(unit, e),
                                None => declared,
                            };
                            let step = step.as_ref().map_or(Some(1), |e| integer(unit, e))?;
                            let (from, to) = match step < 0 {
                                true => (of(from, high)?, of(to, low)?),
                                false => (of(from, low)?, of(to, high)?),
                            };
                            let way = to.abs_diff(from);
                            found.push(way / step.unsigned_abs().max(1) + 1);
                        }
                        _ if rank(unit, x) > 0 => found.extend(self.extents(x)?),
                        _ => {}
                    }
                }
                Some(found)
            }
            ExprKind::Array(a) => {
                let plain =
                    |i: &Expr| rank(unit, i) == 0 && !matches!(i.kind, ExprKind::ImpliedDo(_));
                match a.items.iter().all(plain) {
                    true => Some(vec![a.items.len() as u64]),
                    false => unknown(),
                }
            }
            ExprKind::Call(f, args) => match self.unit.symbols[*f].class {
                Class::Intrinsic(i) => match i.shape {
                    Shape::Product => {
                        let (mut a, b) =
                            (self.extents(args.first()?)?, self.extents(args.get(1)?)?);
                        a.pop();
                        a.extend(b.into_iter().skip(1));
                        Some(a)
                    }
                    Shape::Elemental => first(&args.iter().collect::<Vec<_>>()),
                    Shape::First | Shape::Reduced => self.extents(args.first()?),
                    Shape::Bounds | Shape::Location => Some(vec![
                        self.extents(args.first()?)
                            .map_or(7, |e| e.into_iter().fold(1, u64::saturating_mul)),
                    ]),
                    Shape::Scalar => Some(Vec::new()),
                    Shape::More | Shape::Vector | Shape::Reshaped => unknown(),
                },
                _ => None,
            },
            _ => first(&e.children()),
        }
    }
}
