//! Arrays of assumed size.
//!
//! The tool sets derivatives of whole arrays to zero, and saves whole arrays. It does not know the
//! size of `X(*)`, and asks the user for an include file with constants; for `X(1)`, as written in
//! old programs, it assumes a single element. So in the copy that the tool reads, such an array
//! below the head has its number of elements as an additional argument, and the calls pass it.

use super::vector::declare_first;
use farfel_lang::ir::build::paren;
use farfel_lang::ir::{
    Arg, BinOp, Class, Dim, Expr, ExprKind, Name, StmtKind, StorageClass, SymId, Symbol, Type,
    Unit, for_each_reference, rewrite_exprs, walk_block, walk_block_mut,
};
use std::collections::{HashMap, HashSet};

/// For each unit, the positions of the arguments that get a size.
type SizedArguments = HashMap<Name, Vec<usize>>;

/// Gives a size to arrays of assumed size below the head (which is the last unit).
pub(super) fn give_sizes(units: &mut [Unit], changed: &mut HashSet<Name>) {
    let Some((_, below)) = units.split_last() else {
        return;
    };
    let mut chosen: SizedArguments = below
        .iter()
        .map(|u| (u.name.clone(), candidates(u)))
        .filter(|(_, c)| !c.is_empty())
        .collect();
    if chosen.is_empty() {
        return;
    }
    // A size is known if every caller knows it, possibly from a size that it receives itself.
    while let Some(name) = unknown(units, &chosen) {
        chosen.remove(&name);
    }
    // First all the sizes, then the calls that pass them on.
    let mut sizes: HashMap<Name, HashMap<SymId, SymId>> = HashMap::new();
    for u in units.iter_mut() {
        if let Some(positions) = chosen.get(&u.name) {
            let own = add_sizes(u, positions);
            sizes.insert(u.name.clone(), own);
            changed.insert(u.name.clone());
        }
    }
    let none = HashMap::new();
    for u in units.iter_mut() {
        let own = sizes.get(&u.name).unwrap_or(&none);
        pass_sizes(u, own, &chosen);
    }
}

/// Returns the dummy arrays of a unit whose size is not in their declaration.
fn candidates(unit: &Unit) -> Vec<usize> {
    let mut entries = false;
    walk_block(&unit.body, &mut |s| {
        entries |= matches!(s.kind, StmtKind::Entry(_));
    });
    if entries {
        return Vec::new();
    }
    let open =
        |s: &Symbol| s.ty != Some(Type::Character) && s.dims.last().is_some_and(|d| open(d, true));
    let symbol = |a: &Arg| a.sym().map(|s| &unit.symbols[s]);
    (0..unit.args.len())
        .filter(|i| symbol(&unit.args[*i]).is_some_and(open))
        .collect()
}

/// Whether a dimension is `*`, or 1, which means the same for a `dummy` of an old program.
fn open(d: &Dim, dummy: bool) -> bool {
    let one = |e: &Expr| e.kind == ExprKind::Int(1);
    match d.upper.as_ref().map(|e| &e.kind) {
        Some(ExprKind::Star) => true,
        Some(ExprKind::Int(1)) => dummy && d.lower.as_ref().is_none_or(one),
        _ => false,
    }
}

/// Returns a chosen unit that some caller cannot call with sizes.
fn unknown(units: &[Unit], chosen: &SizedArguments) -> Option<Name> {
    for u in units {
        let own: HashSet<SymId> = chosen
            .get(&u.name)
            .into_iter()
            .flatten()
            .filter_map(|i| u.args[*i].sym())
            .collect();
        let mut bad = None;
        let mut judge = |callee: SymId, args: &[Expr]| {
            let name = &u.symbols[callee].name;
            if u.symbols[callee].storage_class == StorageClass::Global
                && let Some(positions) = chosen.get(name)
                && !positions
                    .iter()
                    .all(|i| args.get(*i).is_some_and(|a| countable(u, &own, a)))
            {
                bad = Some(name.clone());
            }
        };
        for_each_reference(&u.body, &mut |r| judge(r.procedure, r.args));
        // A unit that is passed as an argument, or called in a statement function, is called
        // elsewhere.
        let mut passed = |s: SymId| {
            let s = &u.symbols[s];
            if s.storage_class == StorageClass::Global && chosen.contains_key(&s.name) {
                bad = Some(s.name.clone());
            }
        };
        walk_block(&u.body, &mut |s| {
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let ExprKind::Var(s) = e.kind {
                        passed(s);
                    }
                });
            });
        });
        for (_, s) in u.symbols.iter() {
            if let Class::StatementFunction(_, value) = &s.class {
                value.for_each_symbol(&mut passed);
            }
        }
        if bad.is_some() {
            return bad;
        }
    }
    None
}

/// Whether the number of elements from an actual argument on can be expressed.
fn countable(unit: &Unit, own: &HashSet<SymId>, actual: &Expr) -> bool {
    let (array, subscripts): (SymId, &[Expr]) = match &actual.kind {
        ExprKind::Var(s) => (*s, &[]),
        ExprKind::Element(s, subscripts) => (*s, subscripts),
        _ => return false,
    };
    let s = &unit.symbols[array];
    let dummy = s.storage_class == StorageClass::Dummy;
    let simple = |e: &Expr| {
        let mut simple = true;
        e.walk(&mut |e| {
            simple &= !matches!(e.kind, ExprKind::Call(..) | ExprKind::Range(..));
        });
        simple
    };
    s.is_variable()
        && subscripts.iter().all(simple)
        && (own.contains(&array)
            || s.dims
                .iter()
                .all(|d| d.upper.is_some() && !open(d, dummy && s.dims.len() == 1)))
}

/// Adds a size argument for each of some arguments. Returns the size for each array.
fn add_sizes(unit: &mut Unit, positions: &[usize]) -> HashMap<SymId, SymId> {
    let mut own = HashMap::new();
    for i in positions {
        let Some(array) = unit.args[*i].sym() else {
            continue;
        };
        let span = unit.symbols[array].span;
        let wanted = format!("{}_SIZE", unit.symbols[array].name);
        let name = unit.symbols.unused(&wanted, &|_| false);
        let size = unit.symbols.add(Symbol {
            storage_class: StorageClass::Dummy,
            typed: true,
            ..Symbol::variable(name, Type::INTEGER, span)
        });
        declare_first(unit, size);
        unit.args.push(Arg::Dummy(size));
        let size_of = Expr::var(size, span);
        let dims = &mut unit.symbols[array].dims;
        let before = dims.len().saturating_sub(1);
        let mut count = size_of;
        for d in &dims[..before] {
            count = binary(BinOp::Div, count, extent(d));
        }
        if let Some(last) = dims.last_mut() {
            let upper = match &last.lower {
                None => count,
                Some(l) => binary(
                    BinOp::Sub,
                    binary(BinOp::Add, count, l.clone()),
                    Expr::int(1, span),
                ),
            };
            last.upper = Some(upper);
        }
        own.insert(array, size);
    }
    own
}

/// Adds the sizes to the calls in a unit.
fn pass_sizes(unit: &mut Unit, own: &HashMap<SymId, SymId>, chosen: &SizedArguments) {
    let symbols = unit.symbols.clone();
    let sizes = |callee: SymId, args: &[Expr]| -> Vec<Expr> {
        let s = &symbols[callee];
        chosen
            .get(&s.name)
            .filter(|_| s.storage_class == StorageClass::Global)
            .into_iter()
            .flatten()
            .filter_map(|i| args.get(*i))
            .map(|a| {
                let array = a.base().map(|s| (s, &symbols[s].dims[..]));
                elements(a, array, own)
            })
            .collect()
    };
    walk_block_mut(&mut unit.body, &mut |s| {
        if let StmtKind::Call(callee, args) = &mut s.kind {
            let more = sizes(*callee, args);
            args.extend(more);
        }
    });
    rewrite_exprs(&mut unit.body, &mut |e| {
        if let ExprKind::Call(callee, args) = &mut e.kind {
            let more = sizes(*callee, args);
            args.extend(more);
        }
    });
}

/// Returns the number of elements from an actual argument on.
fn elements(actual: &Expr, array: Option<(SymId, &[Dim])>, own: &HashMap<SymId, SymId>) -> Expr {
    let span = actual.span;
    let one = || Expr::int(1, span);
    let Some((array, dims)) = array else {
        return one();
    };
    let all = match own.get(&array) {
        Some(size) => Expr::var(*size, span),
        None => dims
            .iter()
            .map(extent)
            .reduce(|a, b| binary(BinOp::Mul, a, b))
            .unwrap_or_else(one),
    };
    let ExprKind::Element(_, subscripts) = &actual.kind else {
        return all;
    };
    let mut before: Option<Expr> = None;
    let mut stride: Option<Expr> = None;
    for (d, s) in dims.iter().zip(subscripts) {
        let step = binary(BinOp::Sub, s.clone(), d.lower.clone().unwrap_or_else(one));
        let step = match &stride {
            Some(stride) => binary(BinOp::Mul, step, stride.clone()),
            None => step,
        };
        before = Some(match before {
            Some(b) => binary(BinOp::Add, b, step),
            None => step,
        });
        // The last extent is not needed, and may be the one that is being computed.
        stride = Some(match stride {
            Some(stride) => binary(BinOp::Mul, stride, extent(d)),
            None => extent(d),
        });
    }
    match before {
        Some(b) => binary(BinOp::Sub, all, b),
        None => all,
    }
}

/// Returns the number of elements in one dimension.
fn extent(d: &Dim) -> Expr {
    let upper = d
        .upper
        .clone()
        .unwrap_or_else(|| Expr::int(1, farfel_lang::Span::NONE));
    match &d.lower {
        None => upper,
        Some(l) => {
            let span = upper.span;
            binary(
                BinOp::Add,
                binary(BinOp::Sub, upper, l.clone()),
                Expr::int(1, span),
            )
        }
    }
}

/// Returns an operation, evaluated if both operands are constants.
fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    if let (ExprKind::Int(x), ExprKind::Int(y)) = (&a.kind, &b.kind) {
        let value = match op {
            BinOp::Add => x.checked_add(*y),
            BinOp::Sub => x.checked_sub(*y),
            BinOp::Mul => x.checked_mul(*y),
            BinOp::Div => x.checked_div(*y),
            _ => None,
        };
        if let Some(v) = value.filter(|v| *v >= 0) {
            return Expr::int(v, a.span);
        }
    }
    Expr::binary(op, paren(a), paren(b))
}
