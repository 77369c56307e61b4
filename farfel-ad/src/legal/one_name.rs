//! Calls that pass one array as two arguments, one of which is assigned.
//!
//! Fortran forbids such calls, but solvers rely on them: ODEPACK's steppers receive their history
//! as `YH(NYH,*)` and a second time as `YH1(*)`. A value that is overwritten under one name would
//! be taped under that name only. So such a call is replaced by a call of a copy of the subprogram
//! that has one argument for both:
//!
//! ```text
//! CALL S(W(K), W(K), N)           CALL S_1(W(K), N)
//!
//! SUBROUTINE S(A, B, N)           SUBROUTINE S_1(A, N)
//! REAL A(N,*), B(*)               REAL A(*)
//! A(I,J) = B(K)                   A(I + (J - 1)*N) = A(K)
//! ```

use crate::legal::structure::taken_names;
use crate::subscripts::{begin_alike, elements_before, lower, plus};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    Arg, Class, Dim, Expr, ExprKind, Name, Program, StmtKind, StorageClass, SymId, Symbol, Type,
    Unit, UnitKind, rewrite_exprs, unused_name, walk_block, walk_block_mut, walk_exprs,
};
use farfel_lang::lower::compact;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Two arguments that are the same array: the position of the first, and that of another one.
type Pair = (usize, usize);

/// Whether a call passes an array twice.
pub(crate) fn has_arrays_twice(program: &Program) -> bool {
    program.units.iter().any(|u| {
        let mut found = false;
        walk_block(&u.body, &mut |s| {
            if let StmtKind::Call(_, args) = &s.kind {
                found = found || (1..args.len()).any(|j| same_as_earlier(u, args, j).is_some());
            }
        });
        found
    })
}

/// Returns the position of an earlier argument that passes the same array as argument `j`.
fn same_as_earlier(unit: &Unit, args: &[Expr], j: usize) -> Option<usize> {
    let is_array = |e: &Expr| e.base().is_some_and(|s| unit.symbols[s].is_array());
    is_array(&args[j])
        .then(|| (0..j).find(|i| is_array(&args[*i]) && begin_alike(unit, &args[*i], &args[j])))
        .flatten()
}

/// Replaces such calls by calls of copies with one argument for the array, whose names end in
/// `suffix`. Returns a warning for each. Subprograms that use such an array as a whole are left as
/// they are.
pub(crate) fn with_one_name(program: &mut Program, suffix: &str) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let mut assigned = Assigned::of(program);
    let mut taken = taken_names(program);
    let mut copies: HashMap<(Name, Vec<Pair>), Option<Name>> = HashMap::new();
    let mut at = 0;
    // The copies are appended, and visited by this loop, too.
    while at < program.units.len() {
        let mut caller = program.units[at].clone();
        let mut body = std::mem::take(&mut caller.body);
        let mut changed = false;
        walk_block_mut(&mut body, &mut |s| {
            let StmtKind::Call(callee, args) = &mut s.kind else {
                return;
            };
            let Some((name, pairs)) = twice(program, &assigned, &caller, *callee, args) else {
                return;
            };
            let copy = copies
                .entry((name.clone(), pairs.clone()))
                .or_insert_with(|| {
                    let of = program.unit(&name)?;
                    let name = unused_name(&format!("{name}_1{suffix}"), &|n| taken.contains(n));
                    let copy = with_one_argument(of, name, &pairs)?;
                    taken.insert(copy.name.clone());
                    assigned.add(&copy);
                    let name = copy.name.clone();
                    program.units.push(copy);
                    Some(name)
                });
            let Some(copy) = copy else { return };
            for (_, j) in &pairs {
                warnings.extend(warning(&name, args[*j].span));
            }
            let mut position = 0;
            args.retain(|_| {
                position += 1;
                !pairs.iter().any(|(_, j)| *j == position - 1)
            });
            *callee = procedure(&mut caller, copy);
            changed = true;
        });
        if changed {
            caller.body = body;
            compact(&mut caller);
            program.units[at] = caller;
        }
        at += 1;
    }
    warnings
}

/// Returns the warning, if the call is in the user's source.
fn warning(name: &Name, at: Span) -> Option<Diagnostic> {
    (at != Span::NONE).then(|| {
        Diagnostic::warning(
            &rules::SHARED_ARGUMENT,
            at,
            format!("{name} gets this array twice, and sets it: its adjoint takes the two for one"),
        )
        .help("Fortran forbids it, and compilers may take them for two: pass it once")
    })
}

/// Returns the callee and the pairs of arguments that a call passes twice, if one of each may be
/// assigned.
fn twice(
    program: &Program,
    assigned: &Assigned,
    caller: &Unit,
    callee: SymId,
    args: &[Expr],
) -> Option<(Name, Vec<Pair>)> {
    let callee = &caller.symbols[callee];
    let of = program.unit(&callee.name)?;
    if callee.storage_class != StorageClass::Global
        || of.kind != UnitKind::Subroutine
        || of.args.len() != args.len()
    {
        return None;
    }
    let dummy = |i: usize| of.args.get(i)?.sym().map(|s| &of.symbols[s]);
    let array = |i: usize| dummy(i).is_some_and(Symbol::is_array);
    let pairs = (1..args.len()).filter_map(|j| {
        let i = same_as_earlier(caller, args, j)?;
        let alike = dummy(i)?.ty == dummy(j)?.ty && dummy(i)?.ty != Some(Type::Character);
        (array(i) && array(j) && alike).then_some((i, j))
    });
    let mut pairs: Vec<Pair> = pairs.collect();
    // Of several names for an array, any one may be assigned.
    let writes = |k: usize| assigned.argument(&of.name, k);
    let written = pairs.iter().filter(|(i, j)| writes(*i) || writes(*j));
    let written: HashSet<usize> = written.map(|(i, _)| *i).collect();
    pairs.retain(|(i, _)| written.contains(i));
    (!pairs.is_empty()).then(|| (of.name.clone(), pairs))
}

/// Creates a copy of a subroutine in which the first argument of each pair replaces the other one.
/// `None` if the arrays are used as a whole.
fn with_one_argument(of: &Unit, name: Name, pairs: &[Pair]) -> Option<Unit> {
    let mut copy = of.clone();
    copy.name = name;
    let position = |i: usize| of.args.get(i).and_then(|a| a.sym());
    let mut places: HashMap<SymId, ElementTranslation> = HashMap::new();
    let mut firsts: Vec<usize> = pairs.iter().map(|(i, _)| *i).collect();
    firsts.dedup();
    let mut gone = HashSet::new();
    for first in firsts {
        let others = pairs.iter().filter(|(i, _)| *i == first).map(|(_, j)| *j);
        let all: Option<Vec<SymId>> = [first].into_iter().chain(others).map(position).collect();
        let all = all?;
        let symbol = copy.symbols[all[0]].clone();
        let alike = all
            .iter()
            .all(|s| same_shape(&of.symbols[*s].dims, &symbol.dims));
        let hidden = copy.symbols.unused(&symbol.name, &|_| false);
        copy.symbols.rename(all[0], hidden);
        let dims = match alike {
            true => symbol.dims.clone(),
            false => vec![Dim {
                lower: None,
                upper: Some(Expr::star(symbol.span)),
            }],
        };
        let one = copy.symbols.add(Symbol {
            dims,
            typed: true,
            ..symbol
        });
        for s in all {
            let dims = (!alike).then(|| copy.symbols[s].dims.clone());
            places.insert(s, ElementTranslation { one, dims });
            gone.insert(s);
        }
        copy.args[first] = Arg::Dummy(one);
    }
    let mut at = 0;
    copy.args.retain(|_| {
        at += 1;
        !pairs.iter().any(|(_, j)| *j == at - 1)
    });
    if !by_elements_only(&copy, &places) {
        return None;
    }
    let mut body = std::mem::take(&mut copy.body);
    let mut known = true;
    rewrite_exprs(&mut body, &mut |e| match &e.kind {
        ExprKind::Var(s) => {
            if let Some(p) = places.get(s) {
                *e = Expr::var(p.one, e.span);
            }
        }
        ExprKind::Element(s, subscripts) => {
            if let Some(p) = places.get(s) {
                match p.subscripts(subscripts, e.span) {
                    Some(subscripts) => *e = Expr::element(p.one, subscripts, e.span),
                    None => known = false,
                }
            }
        }
        _ => {}
    });
    copy.body = body;
    copy.undeclare_all(&|s| gone.contains(&s));
    for s in gone {
        copy.symbols[s].storage_class = StorageClass::Local;
    }
    // In an order that does not change from run to run.
    let ones: BTreeSet<SymId> = places.values().map(|p| p.one).collect();
    ones.into_iter().for_each(|s| copy.declare(s));
    compact(&mut copy);
    known.then_some(copy)
}

/// How the elements of an argument are translated.
struct ElementTranslation {
    one: SymId,
    /// The dimensions of the argument, if they differ from those of the replacement.
    dims: Option<Vec<Dim>>,
}

impl ElementTranslation {
    fn subscripts(&self, subscripts: &[Expr], span: Span) -> Option<Vec<Expr>> {
        let Some(dims) = &self.dims else {
            return Some(subscripts.to_vec());
        };
        if let ([d], [s]) = (&dims[..], subscripts)
            && lower(d, span).kind == ExprKind::Int(1)
        {
            return Some(vec![s.clone()]);
        }
        let before = elements_before(dims, subscripts, span)?;
        Some(vec![plus(before, Expr::int(1, span))])
    }
}

fn same_shape(a: &[Dim], b: &[Dim]) -> bool {
    let same = |a: &Option<Expr>, b: &Option<Expr>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.equals_ignoring_spans(b),
        _ => false,
    };
    let mut pairs = a.iter().zip(b);
    a.len() == b.len() && pairs.all(|(a, b)| same(&a.lower, &b.lower) && same(&a.upper, &b.upper))
}

/// Whether some arrays are only used by element or passed as arguments.
fn by_elements_only(unit: &Unit, arrays: &HashMap<SymId, ElementTranslation>) -> bool {
    let whole = |e: &Expr| matches!(e.kind, ExprKind::Var(s) if arrays.contains_key(&s));
    let count = |all: &[Expr]| all.iter().filter(|e| whole(e)).count();
    let (mut used, mut passed, mut sections) = (0, 0, false);
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Call(_, args) = &s.kind {
            passed += count(args);
        }
    });
    walk_exprs(&unit.body, &mut |e| {
        used += usize::from(whole(e));
        match &e.kind {
            ExprKind::Call(f, args) if unit.symbols[*f].class == Class::Function => {
                passed += count(args);
            }
            ExprKind::Element(s, l) if arrays.contains_key(s) => {
                sections |= l.iter().any(|s| matches!(s.kind, ExprKind::Range(..)));
            }
            _ => {}
        }
    });
    used == passed && !sections
}

/// Returns the symbol of a subroutine, adding it if necessary.
fn procedure(unit: &mut Unit, name: &Name) -> SymId {
    match unit.symbols.find(name) {
        Some(s) => s,
        None => unit.symbols.add(Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            ..Symbol::new(name.clone(), Span::NONE)
        }),
    }
}
