//! Rewrites array statements as DO loops over their elements.
//!
//! A statement on whole arrays has a derivative of the same form if each element of the target is
//! computed from the same element of other arrays. Everything else is written element by element
//! here, so that it gets a derivative: WHERE, array constructors, MATMUL, SPREAD, RESHAPE and the
//! like, reductions along one dimension or under a mask, vector subscripts, scalars that are used
//! in every element, and arrays that are assigned from other parts of themselves.
//!
//! Reverse mode always begins with this pass; forward mode uses it only where it could not proceed
//! without.
//!
//! | module | contents |
//! |---|---|
//! | `shape` | extents of expressions, and subscripts of elements |
//! | `value` | a single element of an expression |
//! | `reductions` | sums and other reductions |
//! | `statements` | assignments, WHERE, calls |
//!
//! A statement that cannot be rewritten is left as it is, and the engine reports what it cannot
//! differentiate.

mod reductions;
mod shape;
mod statements;
mod value;

use crate::legal::structure::name_saved;
use farfel_lang::Span;
use farfel_lang::effects::Assigned;
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::{
    Allocation, Attribute, Block, Class, Dim, DoEnd, Expr, ExprKind, Name, Program, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Type, Unit, walk_block,
};
use farfel_lang::storage::UnitStorage;
use farfel_lang::types::{rank, type_of};
use std::collections::{HashMap, HashSet};

/// Whether there is a statement that [`by_elements`] would rewrite.
pub(crate) fn has_arrays(program: &Program) -> bool {
    program.units.iter().any(has_wanted)
}

fn has_wanted(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| found |= is_wanted(unit, s));
    found
}

/// Rewrites all units of a program.
pub(crate) fn by_elements(program: &mut Program, pattern: bool) {
    let places: Vec<usize> = (0..program.units.len())
        .filter(|i| has_wanted(&program.units[*i]))
        .collect();
    if places.is_empty() {
        return;
    }
    let assigned = Assigned::of(program);
    let units: HashSet<Name> = program.units.iter().map(|u| u.name.clone()).collect();
    for i in places {
        let unit = &mut program.units[i];
        let assigned = assigned.in_unit(unit);
        let mut writer = Writer::of(unit, assigned, &units);
        writer.pattern = pattern;
        writer.unit();
    }
}

/// Whether a statement contains something that can only be differentiated element by element.
pub(crate) fn is_wanted(unit: &Unit, s: &Stmt) -> bool {
    let mut tape = false;
    s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |x| tape |= unit.symbols[x].tape));
    if tape {
        return false;
    }
    match &s.kind {
        StmtKind::Assign(target, value) => {
            type_of(unit, target).is_some_and(Type::is_differentiable)
                && (!is_simple(unit, target)
                    || !is_simple(unit, value)
                    || rank(unit, target) > 0 && meets_itself(unit, target, value))
        }
        StmtKind::Where(_) => true,
        StmtKind::Call(_, args) => args.iter().any(|a| {
            let ours = type_of(unit, a).is_some_and(Type::is_differentiable);
            ours && (!is_simple(unit, a) || is_made(unit, a))
        }),
        _ => false,
    }
}

/// Whether this is an array that is not a variable, or not one that a procedure could assign.
fn is_made(unit: &Unit, e: &Expr) -> bool {
    rank(unit, e) > 0 && !matches!(e.kind, ExprKind::Var(_) | ExprKind::Element(..))
}

/// Whether the engine can differentiate an expression for all of its elements at once.
fn is_simple(unit: &Unit, e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Array(_) => false,
        ExprKind::Element(_, subscripts) => subscripts
            .iter()
            .all(|s| matches!(s.kind, ExprKind::Range(..)) || rank(unit, s) == 0),
        ExprKind::Call(s, args) => match unit.symbols[*s].class {
            Class::Intrinsic(i) if !differentiable(unit, e) => {
                i.shape != Shape::Elemental || args.iter().all(|a| is_simple(unit, a))
            }
            Class::Intrinsic(i) if i.shape == Shape::Elemental => {
                let kinks = matches!(i.name, "SQRT" | "DSQRT" | "HYPOT" | "GAMMA" | "LOG_GAMMA");
                let keyword = |a: &Expr| matches!(a.kind, ExprKind::Keyword(..));
                let keywords = args.iter().any(keyword);
                args.iter().all(|a| is_simple(unit, a))
                    && !(keywords && names_of(i.name).is_some())
                    && (rank(unit, e) == 0 || !kinks && !keywords)
            }
            Class::Intrinsic(i) => match (i.name, args.as_slice()) {
                ("SUM", [a]) => is_simple(unit, a) && !has_scalars(unit, a),
                ("DOT_PRODUCT", [a, b]) => {
                    matches!(type_of(unit, e), Some(Type::Real(_)))
                        && [a, b]
                            .iter()
                            .all(|x| is_simple(unit, x) && !is_made(unit, x))
                }
                ("NORM2", [a]) => is_simple(unit, a) && !is_made(unit, a),
                _ => args
                    .iter()
                    .all(|a| rank(unit, a) == 0 && is_simple(unit, a)),
            },
            _ => args.iter().all(|a| is_simple(unit, a) && !is_made(unit, a)),
        },
        _ => e.children().into_iter().all(|c| is_simple(unit, c)),
    }
}

/// Returns the argument keywords of elemental functions, whose derivatives depend on the positions
/// of arguments.
fn names_of(function: &str) -> Option<&'static [&'static str]> {
    Some(match function {
        "MERGE" => &["TSOURCE", "FSOURCE", "MASK"],
        "MOD" | "MODULO" => &["A", "P"],
        "SIGN" => &["A", "B"],
        "DIM" | "HYPOT" => &["X", "Y"],
        "ATAN2" => &["Y", "X"],
        "CMPLX" => &["X", "Y", "KIND"],
        "REAL" => &["A", "KIND"],
        _ => return None,
    })
}

/// Reorders the arguments of a function to the order of its dummy arguments.
fn in_order(function: &str, args: &mut Vec<Expr>) {
    let Some(names) = names_of(function) else {
        return;
    };
    let mut ordered: Vec<Expr> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let Some(a) = shape::argument(args, i, &[name]) else {
            break;
        };
        ordered.push(a.clone());
    }
    if ordered.len() == args.len() {
        *args = ordered;
    }
}

fn differentiable(unit: &Unit, e: &Expr) -> bool {
    type_of(unit, e).is_some_and(Type::is_differentiable)
}

/// Whether an array expression contains a scalar that may have a derivative.
fn has_scalars(unit: &Unit, e: &Expr) -> bool {
    if rank(unit, e) > 0 {
        return match &e.kind {
            ExprKind::Element(..) => false,
            _ => e.children().into_iter().any(|c| has_scalars(unit, c)),
        };
    }
    let mut found = false;
    e.for_each_symbol(&mut |s| {
        let s = &unit.symbols[s];
        found |= s.class != Class::Unknown
            && !matches!(s.class, Class::Parameter(_) | Class::Intrinsic(_))
            && s.ty.is_some_and(Type::is_differentiable);
    });
    found
}

/// Whether the value contains other elements of the assigned variable.
fn meets_itself(unit: &Unit, target: &Expr, value: &Expr) -> bool {
    let Some(base) = target.base() else {
        return false;
    };
    let mut found = false;
    value.walk(&mut |e| {
        if let ExprKind::Var(s) | ExprKind::Element(s, _) = &e.kind {
            found |= *s == base && !e.equals_ignoring_spans(target);
        }
    });
    if found || !has_equivalence(unit) {
        return found;
    }
    let storage = UnitStorage::of(unit);
    value.for_each_symbol(&mut |s| found |= s != base && storage.overlap(s, base));
    found
}

fn has_equivalence(unit: &Unit) -> bool {
    let of =
        |s: &farfel_lang::ir::Spec| matches!(s.kind, farfel_lang::ir::SpecKind::Equivalence(_));
    unit.specs.iter().any(of)
}

/// The state of rewriting one unit.
struct Writer<'u> {
    unit: &'u mut Unit,
    /// The names of procedures.
    taken: &'u HashSet<Name>,
    /// The variables that the unit assigns.
    assigned: HashSet<SymId>,
    storage: Option<UnitStorage>,
    /// Whether the unit has ENTRY statements, so that not all arguments are present at each entry.
    entries: bool,
    /// The variables that were added.
    new: Vec<SymId>,
    /// The extents of arrays that were added for the current statement.
    shapes: HashMap<SymId, Vec<Expr>>,
    /// The loop variables, and how many of them are in use.
    counters: Vec<SymId>,
    counting: usize,
    /// The statements before and after the current statement.
    before: Block,
    after: Block,
    span: Span,
    /// Whether values do not select among elements: a pattern includes everything that could be
    /// selected.
    pattern: bool,
}

/// Larger arrays of unknown size are allocated.
const MOST_ON_STACK: i64 = 1000;

impl<'u> Writer<'u> {
    fn of(unit: &'u mut Unit, assigned: HashSet<SymId>, taken: &'u HashSet<Name>) -> Self {
        let storage = has_equivalence(unit).then(|| UnitStorage::of(unit));
        let mut entries = false;
        walk_block(&unit.body, &mut |s| {
            entries |= matches!(s.kind, StmtKind::Entry(_));
        });
        Writer {
            unit,
            entries,
            taken,
            assigned,
            storage,
            new: Vec::new(),
            shapes: HashMap::new(),
            counters: Vec::new(),
            counting: 0,
            before: Vec::new(),
            after: Vec::new(),
            span: Span::NONE,
            pattern: false,
        }
    }

    fn unit(mut self) {
        let mut body = std::mem::take(&mut self.unit.body);
        let mut ends = HashSet::new();
        walk_block(&body, &mut |s| {
            if let StmtKind::Do(d) = &s.kind
                && let DoEnd::Label(l) = d.end
            {
                ends.insert(l);
            }
        });
        self.block(&mut body, &|s| s.label.is_some_and(|l| ends.contains(&l)));
        self.unit.body = body;
        if !self.new.is_empty() {
            name_saved(self.unit, &self.new);
        }
        for s in std::mem::take(&mut self.new) {
            self.unit.declare(s);
        }
    }

    fn block(&mut self, block: &mut Block, stays: &dyn Fn(&Stmt) -> bool) -> bool {
        let mut done = false;
        let mut out = Vec::with_capacity(block.len());
        for mut s in std::mem::take(block) {
            if let StmtKind::LogicalIf(c, inner) = &s.kind
                && is_wanted(self.unit, inner)
                && !stays(&s)
            {
                s.kind = StmtKind::If(farfel_lang::ir::IfBlock {
                    arms: vec![(c.clone(), vec![(**inner).clone()])],
                    ..Default::default()
                });
            }
            if !matches!(s.kind, StmtKind::Where(_)) {
                for b in s.blocks_mut() {
                    done |= self.block(b, stays);
                }
            }
            if stays(&s) || !is_wanted(self.unit, &s) {
                out.push(s);
                continue;
            }
            let (symbols, added) = (self.unit.symbols.len(), self.new.len());
            let counters = self.counters.len();
            self.span = s.span;
            self.shapes.clear();
            match self.statement(&s) {
                Some(mut made) => {
                    let mut first = std::mem::take(&mut self.before);
                    first.append(&mut made);
                    first.append(&mut self.after);
                    match first.first_mut() {
                        Some(stmt) => stmt.label = s.label,
                        None => first.push(Stmt {
                            id: s.id,
                            label: s.label,
                            ..Stmt::continues(s.span)
                        }),
                    }
                    out.append(&mut first);
                    done = true;
                }
                None => {
                    // Names of functions may stay in the table: they do no harm.
                    self.before.clear();
                    self.after.clear();
                    self.new.truncate(added);
                    self.counters.truncate(counters);
                    self.unit.symbols.truncate(symbols);
                    out.push(s);
                }
            }
            self.counting = 0;
        }
        *block = out;
        done
    }

    fn name(&self, wanted: &str) -> Name {
        let taken = |n: &str| self.taken.contains(n) || n == self.unit.name;
        self.unit.symbols.unused(wanted, &taken)
    }

    fn variable(&mut self, wanted: &str, ty: Type, dims: Vec<Dim>) -> SymId {
        let mut symbol = Symbol::variable(self.name(wanted), ty, self.span);
        symbol.typed = true;
        symbol.dims = dims;
        if symbol.dims.iter().any(|d| d.upper.is_none()) {
            symbol.attributes.insert(Attribute::Allocatable);
        }
        let s = self.unit.symbols.add(symbol);
        self.new.push(s);
        s
    }

    /// Adds a new scalar.
    fn scalar_variable(&mut self, ty: Type) -> Expr {
        let wanted = match ty {
            Type::Integer(_) => "NE",
            Type::Logical(_) => "LE",
            _ => "TE",
        };
        Expr::var(self.variable(wanted, ty, Vec::new()), self.span)
    }

    /// Returns a loop variable, in use until [`Writer::free_counters`].
    fn counter(&mut self) -> SymId {
        if self.counting == self.counters.len() {
            let c = self.variable("IE", Type::INTEGER, Vec::new());
            self.counters.push(c);
        }
        self.counting += 1;
        self.counters[self.counting - 1]
    }

    fn free_counters(&mut self, n: usize) {
        self.counting = self.counting.saturating_sub(n);
    }

    /// Adds a new array with these extents, which may only be known when the statement is executed.
    fn array(&mut self, ty: Type, extents: &[Expr]) -> SymId {
        self.array_with_room(ty, extents, None)
    }

    /// Like [`Self::array`], for an array of which only single elements are referenced: it may be
    /// larger. `of`: an array expression with at least as many elements.
    fn array_by_elements(&mut self, ty: Type, extents: &[Expr], of: &Expr) -> SymId {
        self.array_with_room(ty, extents, Some(of))
    }

    fn array_with_room(&mut self, ty: Type, extents: &[Expr], of: Option<&Expr>) -> SymId {
        let span = self.span;
        let known = extents.iter().all(|e| self.is_known(e));
        let most = match known {
            true => Some(extents.to_vec()),
            // For a part of a small array of constant size, reserve as much as for the whole array.
            false => of
                .and_then(|of| self.most(of))
                .filter(|most| {
                    let all = most.iter().try_fold(1i64, |n, e| n.checked_mul(*e));
                    most.len() == extents.len() && all.is_some_and(|n| n <= MOST_ON_STACK)
                })
                .map(|most| most.iter().map(|n| Expr::int(*n, span)).collect()),
        };
        let known = most.is_some();
        let dims = (0..extents.len()).map(|d| Dim {
            lower: None,
            upper: most.as_ref().and_then(|m| m.get(d)).cloned(),
        });
        let dims = dims.collect();
        let wanted = match ty {
            Type::Logical(_) => "LA",
            _ => "TA",
        };
        let s = self.variable(wanted, ty, dims);
        self.shapes.insert(s, extents.to_vec());
        if !known {
            let make = |free, object| {
                let made = Allocation {
                    free,
                    objects: vec![object],
                    control: Vec::new(),
                };
                Stmt::allocation(made, span)
            };
            let bounds = Expr::element(s, extents.to_vec(), span);
            self.before.push(make(false, bounds));
            // Deallocate in reverse order.
            self.after.insert(0, make(true, Expr::var(s, span)));
        }
        s
    }

    /// Whether this can be a bound in a declaration: it is a constant, or computed from arguments
    /// that do not change.
    fn is_known(&self, e: &Expr) -> bool {
        let mut given = !self.entries;
        given |= matches!(e.kind, ExprKind::Int(_));
        e.for_each_symbol(&mut |s| {
            let s = &self.unit.symbols[s];
            given &= matches!(s.class, Class::Parameter(_))
                || s.storage_class == StorageClass::Dummy
                    && matches!(s.ty, Some(Type::Integer(_)))
                    && !s.is_array();
        });
        given && self.is_kept(e)
    }

    /// Returns a call of an intrinsic function; `None` if the name has another meaning here.
    fn call(&mut self, name: &str, args: Vec<Expr>) -> Option<Expr> {
        let s = match self.unit.symbols.find(name) {
            Some(s) => matches!(self.unit.symbols[s].class, Class::Intrinsic(_)).then_some(s)?,
            None => self.unit.symbols.add(Symbol {
                class: Class::Intrinsic(Intrinsic::find(name)?),
                storage_class: StorageClass::Global,
                ..Symbol::new(name.into(), Span::NONE)
            }),
        };
        Some(Expr::call(s, args, self.span))
    }

    fn rank(&self, e: &Expr) -> usize {
        rank(self.unit, e)
    }

    fn ty(&self, e: &Expr) -> Option<Type> {
        type_of(self.unit, e)
    }

    /// Whether a variable shares storage with COMMON.
    fn is_shared(&self, s: SymId) -> bool {
        let mut symbols = self.unit.symbols.iter();
        symbols.any(|(id, o)| {
            matches!(o.storage_class, StorageClass::Common(_)) && self.overlap(id, s)
        })
    }

    /// Whether two variables may share storage.
    fn overlap(&self, a: SymId, b: SymId) -> bool {
        a == b || self.storage.as_ref().is_some_and(|s| s.overlap(a, b))
    }
}
