//! Products, and greatest and least values, of parallel loops: `REDUCTION(*:P)`, `MAX` and `MIN`.
//!
//! Derivatives of these are not sums to which iterations could contribute independently: those of a product
//! need all other factors. So each iteration keeps its part, and the parts are combined after the loop, by
//! one thread, in the order of the iterations. This takes no time compared with the loop, and differentiation
//! needs no rules for it.
//!
//! ```text
//! !$OMP PARALLEL DO REDUCTION(*:P)             ALLOCATE (P1(N))
//!       DO I = 1, N                      → !$OMP PARALLEL DO
//!         P = P*SIN(X(I))                      DO I = 1, N
//!       END DO                                   P1(I) = 1
//!                                                P1(I) = P1(I)*SIN(X(I))
//!                                              END DO
//!                                              DO J = 1, N
//!                                                P = P*P1(J)
//!                                              END DO
//!                                              DEALLOCATE (P1)
//! ```

use farfel_lang::Span;
use farfel_lang::effects::Assigned;
use farfel_lang::intrinsics::Intrinsic;
use farfel_lang::ir::build::{binary, negative, zero};
use farfel_lang::ir::{
    Allocation, Attribute, BinOp, Block, Class, Dim, Do, DoControl, DoEnd, Expr, ExprKind,
    Reduction, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit, rewrite_exprs,
};
use farfel_lang::openmp;
use farfel_lang::storage::constant;
use std::collections::{BTreeSet, HashSet};

/// How a statement changes the variable of a reduction.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Update {
    /// `P = P*…`
    Product,
    /// `P = MAX(…)`; whether P is the first argument.
    Extreme { first: bool },
    /// `IF (… .GT. P) P = …`, with this comparison.
    Branch(BinOp),
}

/// Makes the loops of a unit keep the parts of their reductions. `matters` says whether values are computed
/// from a variable; if not, it has no derivative. Returns the arrays that have these.
pub(super) fn keep_parts(
    unit: &mut Unit,
    assigned: &Assigned,
    matters: &HashSet<SymId>,
) -> BTreeSet<SymId> {
    let mut arrays = BTreeSet::new();
    let mut body = std::mem::take(&mut unit.body);
    in_block(unit, assigned, matters, &mut body, &mut arrays);
    unit.body = body;
    unit.number();
    arrays
}

fn in_block(
    unit: &mut Unit,
    assigned: &Assigned,
    matters: &HashSet<SymId>,
    block: &mut Block,
    arrays: &mut BTreeSet<SymId>,
) {
    let mut out: Block = Vec::with_capacity(block.len());
    for mut s in std::mem::take(block) {
        let is_parallel = matches!(&s.kind, StmtKind::Do(d) if d.parallel().is_some());
        if !is_parallel {
            for b in s.blocks_mut() {
                in_block(unit, assigned, matters, b, arrays);
            }
            out.push(s);
            continue;
        }
        let span = s.span;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        if s.label.is_none()
            && let StmtKind::Do(d) = &mut s.kind
        {
            while let Some((op, variable, update)) = next(unit, assigned, matters, d) {
                let Some(kept) = keep(unit, d, op, variable, update, span) else {
                    break;
                };
                arrays.insert(kept.array);
                before.push(kept.before);
                after.extend(kept.after);
            }
        }
        out.append(&mut before);
        out.push(s);
        out.append(&mut after);
    }
    *block = out;
}

/// Returns the next reduction of a loop whose parts can be kept.
fn next(
    unit: &Unit,
    assigned: &Assigned,
    matters: &HashSet<SymId>,
    d: &Do,
) -> Option<(Reduction, SymId, Update)> {
    let p = d.parallel()?;
    if p.reverse || !p.atomic.is_empty() {
        return None;
    }
    let DoControl::Count { from, to, step, .. } = &d.control else {
        return None;
    };
    let changes: HashSet<SymId> = assigned.in_block(unit, &d.body);
    let mut fixed = step
        .as_ref()
        .is_none_or(|s| constant::integer(unit, s).is_some_and(|n| n != 0));
    for e in [from, to] {
        e.walk(&mut |e| {
            fixed &= match &e.kind {
                ExprKind::Var(s) => !changes.contains(s),
                ExprKind::Int(_)
                | ExprKind::Binary(..)
                | ExprKind::Unary(..)
                | ExprKind::Paren(_) => true,
                _ => false,
            };
        });
    }
    if !fixed {
        return None;
    }
    p.reductions.iter().find_map(|(op, s)| {
        let symbol = &unit.symbols[*s];
        let kept = matches!(op, Reduction::Multiply | Reduction::Max | Reduction::Min)
            && openmp::is_differentiable(unit, *s)
            && (symbol.storage_class != StorageClass::Local || matters.contains(s))
            && !symbol.is_array()
            && !matches!(symbol.storage_class, StorageClass::Common(_));
        let mut updates = Vec::new();
        let only = kept && only_updates(unit, &d.body, *s, *op, &mut updates);
        let first = updates.first().copied().filter(|_| only)?;
        Some((*op, *s, first))
    })
}

/// Whether a block uses a variable only in updates of this kind.
fn only_updates(
    unit: &Unit,
    block: &[Stmt],
    s: SymId,
    op: Reduction,
    found: &mut Vec<Update>,
) -> bool {
    block.iter().all(|stmt| {
        if let Some(update) = update(unit, stmt, s, op) {
            found.push(update);
            return true;
        }
        let mut used = false;
        match &stmt.kind {
            StmtKind::Do(d) => {
                if let DoControl::Count { var, .. } = d.control {
                    used |= var == s;
                }
            }
            _ if stmt.blocks().is_empty() => stmt.for_each_own_symbol(&mut |x| used |= x == s),
            _ => {}
        }
        stmt.for_each_own_expr(&mut |e| used |= mentions(e, s));
        if let StmtKind::LogicalIf(_, inner) = &stmt.kind {
            let inner = std::slice::from_ref(&**inner);
            return !used && only_updates(unit, inner, s, op, found);
        }
        !used && (stmt.blocks().into_iter()).all(|b| only_updates(unit, b, s, op, found))
    })
}

/// How a statement updates a variable.
fn update(unit: &Unit, stmt: &Stmt, s: SymId, op: Reduction) -> Option<Update> {
    let is_s = |e: &Expr| matches!(e.kind, ExprKind::Var(x) if x == s);
    match &stmt.kind {
        StmtKind::Assign(target, value) if is_s(target) => match op {
            Reduction::Multiply => is_factor(value, s).then_some(Update::Product),
            _ => {
                let ExprKind::Call(f, args) = &value.kind else {
                    return None;
                };
                let Class::Intrinsic(i) = unit.symbols[*f].class else {
                    return None;
                };
                let names: &[&str] = match op {
                    Reduction::Max => &["MAX", "AMAX1", "DMAX1"],
                    _ => &["MIN", "AMIN1", "DMIN1"],
                };
                let others = args.iter().filter(|a| mentions(a, s)).count();
                let own = args.iter().position(is_s)?;
                (names.contains(&i.name) && others == 1)
                    .then_some(Update::Extreme { first: own == 0 })
            }
        },
        StmtKind::LogicalIf(condition, inner) => branch(condition, inner, s, op),
        StmtKind::If(block) => match (block.arms.as_slice(), &block.otherwise) {
            ([(condition, arm)], None) => {
                let mut arm = arm
                    .iter()
                    .filter(|s| !matches!(s.kind, StmtKind::Comment(_)));
                match (arm.next(), arm.next()) {
                    (Some(inner), None) => branch(condition, inner, s, op),
                    _ => None,
                }
            }
            _ => None,
        },
        _ => None,
    }
}

/// `IF (value .GT. P) P = value`
fn branch(condition: &Expr, inner: &Stmt, s: SymId, op: Reduction) -> Option<Update> {
    let is_s = |e: &Expr| matches!(e.kind, ExprKind::Var(x) if x == s);
    let StmtKind::Assign(target, value) = &inner.kind else {
        return None;
    };
    let mut condition = condition;
    while let ExprKind::Paren(e) = &condition.kind {
        condition = e;
    }
    let ExprKind::Binary(compare, a, b) = &condition.kind else {
        return None;
    };
    let (other, compare) = match (is_s(a), is_s(b)) {
        (false, true) => (a, *compare),
        (true, false) => (
            b,
            match compare {
                BinOp::Lt => BinOp::Gt,
                BinOp::Le => BinOp::Ge,
                BinOp::Gt => BinOp::Lt,
                BinOp::Ge => BinOp::Le,
                _ => return None,
            },
        ),
        _ => return None,
    };
    let fits = match op {
        Reduction::Max => matches!(compare, BinOp::Gt | BinOp::Ge),
        Reduction::Min => matches!(compare, BinOp::Lt | BinOp::Le),
        _ => false,
    };
    let same = is_s(target) && !mentions(value, s) && value.equals_ignoring_spans(other);
    (fits && same).then_some(Update::Branch(compare))
}

/// Whether an expression is a product of a variable and others that do not mention it.
fn is_factor(e: &Expr, s: SymId) -> bool {
    match &e.kind {
        ExprKind::Binary(BinOp::Mul, a, b) => {
            is_own_factor(a, s) && !mentions(b, s) || !mentions(a, s) && is_own_factor(b, s)
        }
        ExprKind::Binary(BinOp::Div, a, b) => is_factor(a, s) && !mentions(b, s),
        ExprKind::Paren(a) => is_factor(a, s),
        _ => false,
    }
}

fn mentions(e: &Expr, s: SymId) -> bool {
    let mut found = false;
    e.for_each_symbol(&mut |x| found |= x == s);
    found
}

fn is_own_factor(e: &Expr, s: SymId) -> bool {
    matches!(e.kind, ExprKind::Var(x) if x == s) || is_factor(e, s)
}

/// A reduction whose parts are kept.
struct Kept {
    array: SymId,
    before: Stmt,
    after: Block,
}

/// Makes iterations keep their parts of a reduction.
fn keep(
    unit: &mut Unit,
    d: &mut Do,
    op: Reduction,
    variable: SymId,
    update: Update,
    span: Span,
) -> Option<Kept> {
    let DoControl::Count {
        var,
        from,
        to,
        step,
    } = d.control.clone()
    else {
        return None;
    };
    let of = unit.symbols[variable].clone();
    let ty = of.ty?;
    let huge = match unit.symbols.find("HUGE") {
        Some(s) => matches!(unit.symbols[s].class, Class::Intrinsic(_)).then_some(s)?,
        None => unit.symbols.add(Symbol {
            class: Class::Intrinsic(Intrinsic::find("HUGE")?),
            storage_class: StorageClass::Global,
            ..Symbol::new("HUGE".into(), Span::NONE)
        }),
    };
    let mut symbol = Symbol::variable(unit.symbols.unused(&of.name, &|_| false), ty, span);
    symbol.typed = true;
    symbol.dims = vec![Dim {
        lower: None,
        upper: None,
    }];
    symbol.attributes.insert(Attribute::Allocatable);
    let array = unit.symbols.add(symbol);
    unit.declare(array);
    let mut counter =
        Symbol::variable(unit.symbols.unused("PART", &|_| false), Type::INTEGER, span);
    counter.typed = true;
    let counter = unit.symbols.add(counter);
    unit.declare(counter);
    let one = || Expr::int(1, span);
    // The elements have the values of the loop variable as subscripts.
    let falls = (step.as_ref()).is_some_and(|s| constant::integer(unit, s).is_some_and(|n| n < 0));
    let [low, high] = match falls {
        true => [to.clone(), from.clone()],
        false => [from.clone(), to.clone()],
    };
    let bounds = match low.kind {
        ExprKind::Int(1) => high,
        _ => Expr::range(Some(low), Some(high), None, span),
    };
    let part = |at: Expr| Expr::element(array, vec![at], span);
    let greatest = || Expr::call(huge, vec![zero(ty, span)], span);
    let neutral = match op {
        Reduction::Multiply => one(),
        Reduction::Max => negative(greatest()),
        _ => greatest(),
    };
    let own = part(Expr::var(var, span));
    rewrite_exprs(&mut d.body, &mut |e| {
        if matches!(e.kind, ExprKind::Var(x) if x == variable) {
            e.kind = own.kind.clone();
        }
    });
    d.body.insert(0, Stmt::assign(own, neutral, span));
    // Statements after a label would be executed in each iteration.
    if let DoEnd::Label(_) = d.end {
        d.end = DoEnd::EndDo(None);
    }
    let p = d.parallel_mut()?;
    p.reductions.retain(|(_, s)| *s != variable);
    p.shared.push(array);
    let total = || Expr::var(variable, span);
    let each = part(Expr::var(counter, span));
    let combine = match update {
        Update::Product => Stmt::assign(total(), binary(BinOp::Mul, total(), each), span),
        Update::Extreme { first } => {
            let name = if op == Reduction::Max { "MAX" } else { "MIN" };
            let f = match unit.symbols.find(name) {
                Some(s) => s,
                None => unit.symbols.add(Symbol {
                    class: Class::Intrinsic(Intrinsic::find(name)?),
                    storage_class: StorageClass::Global,
                    ..Symbol::new(name.into(), Span::NONE)
                }),
            };
            let args = match first {
                true => vec![total(), each],
                false => vec![each, total()],
            };
            Stmt::assign(total(), Expr::call(f, args, span), span)
        }
        Update::Branch(compare) => Stmt::branches(
            vec![(
                Expr::binary(compare, each.clone(), total()),
                vec![Stmt::assign(total(), each, span)],
            )],
            None,
            span,
        ),
    };
    let all = Stmt::count(counter, [from, to], step, vec![combine], span);
    let freed = Allocation {
        free: true,
        objects: vec![Expr::var(array, span)],
        control: Vec::new(),
    };
    Some(Kept {
        array,
        before: Stmt::allocate(vec![part(bounds)], span),
        after: vec![all, Stmt::allocation(freed, span)],
    })
}
