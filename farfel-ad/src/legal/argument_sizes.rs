//! Array arguments whose declarations leave their sizes open, `X(*)` or, in old programs, `X(1)`.
//!
//! A procedure without source text may overwrite any element of an array that it gets, so the sweeps of reverse mode have
//! to save all of them before the call. A given derivative, which has one direction, is called once for each of several
//! ones with a copy of each array. The size comes from the callers, where the array is declared:
//!
//! ```text
//! CALL S(F, W(K))                 CALL S(F, W(K), LW - (K - 1))
//!
//! SUBROUTINE S(F, X)              SUBROUTINE S(F, X, X_SIZE)
//! REAL X(*)                       REAL X(X_SIZE)
//! CALL F(X)                       CALL F(X)
//! ```
//!
//! The rest of W may belong to other arguments. The values that are saved are right for them, too, but a whole
//! derivative may not be set to zero: the bounds of derivatives stay open.

use crate::legal::called::called;
use crate::legal::entry_bounds::add_bound;
use crate::subscripts::{elements_before, extent, is_open, minus, paren};
use farfel_lang::Span;
use farfel_lang::effects::Assigned;
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{
    Attribute, BinOp, Class, Expr, ExprKind, Name, Program, Reference, StmtKind, StorageClass,
    SymId, Symbol, Type, Unit, for_each_reference, rewrite_exprs, walk_block_mut,
};
use farfel_lang::types::rank;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The array arguments that get sizes: for each unit, their positions among its arguments.
type Sized = BTreeMap<Name, BTreeSet<usize>>;

/// An array argument: the unit and the name.
pub(crate) type ArrayArgument = (Name, Name);

/// Passes the sizes of some array arguments, as far as they are known below the head. Returns the units that this changes.
pub(crate) fn pass_sizes(
    program: &mut Program,
    wanted: &BTreeSet<ArrayArgument>,
    head: &str,
    known: &mut BTreeSet<ArrayArgument>,
) -> HashSet<Name> {
    let sizes = Sizes {
        program,
        assigned: Assigned::of(program),
        head,
        known,
    };
    let mut sized = Sized::new();
    for argument in wanted.iter().filter_map(|w| sizes.with_origins(w)) {
        for (unit, position) in argument {
            sized.entry(unit).or_default().insert(position);
        }
    }
    let mut changed: HashSet<Name> = sized.keys().cloned().collect();
    for (unit, positions) in &sized {
        if let Some(unit) = program.unit_mut(unit) {
            for position in positions {
                known.extend(declare_size(unit, *position));
            }
        }
    }
    for unit in &mut program.units {
        if called(unit).any(|n| sized.contains_key(&n)) {
            pass_on(unit, &sized);
        }
    }
    // The callers of a changed unit call a copy of it.
    let mut again = !changed.is_empty();
    while again {
        let calls =
            |u: &&Unit| !changed.contains(&u.name) && called(u).any(|n| changed.contains(&n));
        let more: Vec<Name> = program
            .units
            .iter()
            .filter(calls)
            .map(|u| u.name.clone())
            .collect();
        again = !more.is_empty();
        changed.extend(more);
    }
    changed
}

struct Sizes<'p> {
    program: &'p Program,
    assigned: Assigned,
    head: &'p str,
    known: &'p BTreeSet<ArrayArgument>,
}

impl Sizes<'_> {
    /// Returns an array argument with those of the callers that its size is known from; `None` if it is not
    /// known.
    fn with_origins(&self, (unit, array): &ArrayArgument) -> Option<BTreeSet<(Name, usize)>> {
        let of = self.program.unit(unit)?;
        let array = of.symbols.find(array)?;
        let mut found = BTreeSet::new();
        let mut open = vec![(unit.clone(), position(of, array)?)];
        while let Some(argument) = open.pop() {
            let (name, at) = argument.clone();
            let of = self.program.unit(&name)?;
            let dummy = &of.symbols[of.args.get(at)?.sym()?];
            let place = (name.clone(), dummy.name.clone());
            if self.known.contains(&place) || !found.insert(argument) {
                continue;
            }
            // With several dimensions, the last column may be incomplete.
            let has_place = name != self.head && dummy.dims.len() == 1 && is_open(dummy);
            if !has_place || self.is_passed(&name) || dummy.ty == Some(Type::Character) {
                return None;
            }
            for caller in &self.program.units {
                let mut origins: Vec<Option<Option<usize>>> = Vec::new();
                for_each_reference(&caller.body, &mut |r: Reference| {
                    if is_call_of(&caller.symbols[r.procedure], &name) {
                        let actual = r.args.get(at);
                        origins.push(actual.and_then(|a| self.origin(caller, a, dummy.ty)));
                    }
                });
                for origin in origins {
                    open.extend(origin?.map(|at| (caller.name.clone(), at)));
                }
            }
        }
        Some(found)
    }

    /// Whether a unit may be called by another name, or by a statement function.
    fn is_passed(&self, name: &Name) -> bool {
        self.program.units.iter().any(|u| {
            let is = |s: SymId| is_call_of(&u.symbols[s], name);
            let mut found = false;
            for_each_reference(&u.body, &mut |r| {
                found |= r
                    .args
                    .iter()
                    .any(|a| matches!(a.kind, ExprKind::Var(s) if is(s)));
            });
            for (_, s) in u.symbols.iter() {
                if let Class::StatementFunction(_, value) = &s.class {
                    value.for_each_symbol(&mut |s| found |= is(s));
                }
            }
            found
        })
    }

    /// Where the size of an actual argument is known from: the position of an argument of the caller, or
    /// nothing but the declaration of the array. `None` if it is not known.
    fn origin(&self, caller: &Unit, actual: &Expr, ty: Option<Type>) -> Option<Option<usize>> {
        let (array, subscripts) = place(actual)?;
        let symbol = &caller.symbols[array];
        let mut simple = symbol.is_array() && (subscripts.is_empty() || rank(caller, actual) == 0);
        for s in subscripts {
            s.walk(&mut |e| {
                if let ExprKind::Call(f, _) = e.kind {
                    simple &= matches!(caller.symbols[f].class, Class::Intrinsic(_));
                }
            });
        }
        let bounds = symbol.dims.iter().all(|d| d.upper.is_some());
        if !simple || !bounds || symbol.ty != ty || symbol.has(Attribute::Allocatable) {
            return None;
        }
        if is_open(symbol) {
            return position(caller, array).map(Some);
        }
        // The bounds must be those that the array was declared with.
        let assigned = self.assigned.in_unit(caller);
        let mut fixed = true;
        for d in &symbol.dims {
            for e in d.lower.iter().chain(&d.upper) {
                e.for_each_symbol(&mut |s| {
                    let common = matches!(caller.symbols[s].storage_class, StorageClass::Common(_));
                    fixed &= !(assigned.contains(&s) || common && caller.name == self.head);
                });
            }
        }
        fixed.then_some(None)
    }
}

/// Whether a symbol is the global procedure with this name.
fn is_call_of(symbol: &Symbol, name: &Name) -> bool {
    symbol.storage_class == StorageClass::Global
        && symbol.class.is_procedure()
        && symbol.name == *name
}

/// The array and the subscripts that an actual argument begins at.
fn place(actual: &Expr) -> Option<(SymId, &[Expr])> {
    match &actual.kind {
        ExprKind::Var(s) => Some((*s, &[])),
        ExprKind::Element(s, subscripts) => Some((*s, subscripts)),
        _ => None,
    }
}

/// The position of a variable among the arguments.
fn position(unit: &Unit, s: SymId) -> Option<usize> {
    unit.args.iter().position(|a| a.sym() == Some(s))
}

/// Adds an argument for the size of an array argument.
fn declare_size(unit: &mut Unit, position: usize) -> Option<ArrayArgument> {
    let array = unit.args.get(position)?.sym()?;
    let (name, span) = (unit.symbols[array].name.clone(), unit.symbols[array].span);
    let size = add_bound(unit, &format!("{name}_SIZE"), Type::INTEGER);
    let last = unit.symbols[array].dims.last_mut()?;
    let size = Expr::var(size, span);
    last.upper = Some(match last.lower.clone() {
        Some(low) => minus(size, minus(Expr::int(1, span), low)),
        None => size,
    });
    Some((unit.name.clone(), name))
}

/// Adds the sizes to the calls in a unit.
fn pass_on(unit: &mut Unit, sized: &Sized) {
    let mut positions: HashMap<SymId, &BTreeSet<usize>> = HashMap::new();
    for (id, s) in unit.symbols.iter() {
        let found = sized.get(&s.name).filter(|_| is_call_of(s, &s.name));
        positions.extend(found.map(|p| (id, p)));
    }
    let mut body = std::mem::take(&mut unit.body);
    let own = &*unit;
    let add = |callee: SymId, args: &mut Vec<Expr>, span: Span| {
        let sizes: Vec<Expr> = positions
            .get(&callee)
            .into_iter()
            .flat_map(|p| p.iter())
            .filter_map(|p| size(own, args.get(*p)?, span))
            .collect();
        args.extend(sizes);
    };
    walk_block_mut(&mut body, &mut |s| {
        let span = s.span;
        if let StmtKind::Call(callee, args) = &mut s.kind {
            add(*callee, args, span);
        }
    });
    rewrite_exprs(&mut body, &mut |e| {
        let span = e.span;
        if let ExprKind::Call(callee, args) = &mut e.kind {
            add(*callee, args, span);
        }
    });
    unit.body = body;
}

/// The number of elements from the first one of an actual argument on.
fn size(unit: &Unit, actual: &Expr, span: Span) -> Option<Expr> {
    let (array, subscripts) = place(actual)?;
    let dims = &unit.symbols[array].dims;
    let mut all = dims.iter().map(|d| extent(d, span));
    let first = all.next()?;
    let total = all.fold(first, |a, b| binary(BinOp::Mul, paren(a), paren(b)));
    match subscripts {
        [] => Some(total),
        _ => Some(minus(total, elements_before(dims, subscripts, span)?)),
    }
}
