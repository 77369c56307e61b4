//! The argument list with which the program calls the derivative.

use super::input::Prepared;
use super::output::broken;
use super::units::{rename_in, rename_self, tidy};
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    AdMode, Arg, Class, Dim, Expr, ExprKind, Name, Program, Request, SpecKind, Stmt, StorageClass,
    SymId, Symbol, Type, Unit, UnitKind,
};

/// The kind of an argument of a derivative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// The head's argument at this position.
    Primal(usize),
    /// The derivative of the head's argument at this position.
    Derivative(usize),
    /// The number of directions.
    Count,
}

/// Returns the argument list that the program uses.
fn wanted(request: &Request, head: &Unit) -> Vec<Slot> {
    let mut slots = Vec::new();
    for i in 0..head.args.len() {
        slots.push(Slot::Primal(i));
        if request.paired.contains(&i) {
            slots.push(Slot::Derivative(i));
        }
    }
    if request.vector {
        slots.push(Slot::Count);
    }
    slots
}

/// Returns the argument list of the tool's derivative, determined by names: the arguments of the
/// head, each followed by its derivative.
fn layout(request: &Request, head: &Unit, root: &Unit) -> Option<Vec<Slot>> {
    let name = |u: &Unit, a: &Arg| a.sym().map(|s| u.symbols[s].name.clone());
    let ty = |u: &Unit, a: &Arg| a.sym().and_then(|s| u.symbols[s].ty);
    let position = |n: &Name| {
        head.args
            .iter()
            .position(|a| name(head, a).as_ref() == Some(n))
    };
    let mut slots: Vec<Slot> = Vec::new();
    for a in &root.args {
        let n = name(root, a)?;
        let slot = if let Some(i) = position(&n) {
            Slot::Primal(i)
        } else if let Some(i) = n
            .strip_suffix(request.suffix.as_str())
            .and_then(|n| position(&n.into()))
        {
            Slot::Derivative(i)
        } else if let Some(Slot::Primal(i)) = slots.last()
            && ty(head, &head.args[*i]) == ty(root, a)
        {
            // The name was taken and got a number.
            Slot::Derivative(*i)
        } else if n == "NBDIRS" {
            Slot::Count
        } else {
            return None;
        };
        if slots.contains(&slot) {
            return None;
        }
        slots.push(slot);
    }
    Some(slots)
}

/// Creates the derivative that the program calls: the tool's own under another name, or a
/// subroutine that calls it.
pub(super) fn fit_arguments(
    program: &Program,
    request: &Request,
    p: &Prepared,
    mut units: Vec<Unit>,
    root_name: &Name,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let (Some(head), Some(at)) = (
        program.unit(&request.head),
        units.iter().position(|u| u.name == *root_name),
    ) else {
        return Ok(units);
    };
    let root = &units[at];
    let Some(slots) = (root.kind == UnitKind::Subroutine)
        .then(|| layout(request, head, root))
        .flatten()
    else {
        return Err(vec![broken(
            p,
            request,
            format!(
                "Tapenade made a derivative of {} whose arguments are not known",
                head.name
            ),
        )]);
    };
    if let Some(i) = slots.iter().find_map(|s| match s {
        Slot::Derivative(i) if !request.paired.contains(i) => Some(*i),
        _ => None,
    }) {
        return Err(vec![unpaired(request, head, i)]);
    }
    let lost = undefined(&root.comments, head);
    for u in &mut units {
        u.comments.clear();
        tidy(u);
    }
    let zeroed = zeroed(program, request, &slots, &lost);
    if slots == wanted(request, head) && zeroed.is_empty() {
        let derivative = request.derivative.clone();
        for u in &mut units {
            rename_in(u, root_name, &derivative);
        }
        rename_self(&mut units[at], &derivative);
        return Ok(units);
    }
    let call = Call {
        name: root_name.clone(),
        slots,
    };
    units.push(wrapper(request, head, Some(call), &zeroed)?);
    Ok(units)
}

/// Returns the derivative of a head without dependences.
pub(super) fn passive(program: &Program, request: &Request) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let Some(head) = program.unit(&request.head) else {
        return Ok(Vec::new());
    };
    let call = computes_results(request).then(|| Call {
        name: head.name.clone(),
        slots: (0..head.args.len()).map(Slot::Primal).collect(),
    });
    let zeroed = zeroed(program, request, &[], &[]);
    Ok(vec![wrapper(request, head, call, &zeroed)?])
}

fn unpaired(request: &Request, head: &Unit, i: usize) -> Diagnostic {
    let s = head.args[i].sym().map(|s| &head.symbols[s]);
    let (name, span) = s.map_or(("?", request.span), |s| (s.name.as_str(), s.span));
    Diagnostic::error(
        &rules::AD_SIZE,
        span.or(request.span),
        format!("the derivative of {name} is needed, but its size is not known"),
    )
    .label("an array of assumed size")
    .related(request.span, "for this AD block")
    .help(format!("declare {name} with its size"))
}

/// Returns the derivatives that have to be set to zero, because the tool omitted them.
fn zeroed(program: &Program, request: &Request, slots: &[Slot], lost: &[usize]) -> Vec<usize> {
    let (results, starts) = match request.mode {
        AdMode::Forward => (&request.dependents, &request.independents),
        AdMode::Reverse => (&request.independents, &request.dependents),
    };
    // Computed only if it is needed.
    let mut assigned: Option<Assigned> = None;
    results
        .iter()
        .copied()
        .filter(|i| {
            if slots.contains(&Slot::Derivative(*i)) {
                return lost.contains(i);
            }
            // A derivative that has a value on entry keeps it if the head does not assign the
            // variable.
            !starts.contains(i)
                || assigned
                    .get_or_insert_with(|| Assigned::of(program))
                    .argument(&request.head, *i)
        })
        .collect()
}

/// Returns the arguments whose derivatives are undefined on return, according to a comment above
/// the routine: `RW status of diff variables: x:out y:in-killed`.
fn undefined(comments: &[String], head: &Unit) -> Vec<usize> {
    let Some(at) = comments.iter().position(|c| c.contains("RW status of")) else {
        return Vec::new();
    };
    let mut text = String::new();
    for (i, c) in comments[at..].iter().enumerate() {
        if i > 0 && !c.starts_with(' ') {
            break;
        }
        text += c;
        text.push(' ');
    }
    let list = text.split_once("variables:").map_or("", |(_, l)| l);
    list.split_whitespace()
        .filter_map(|w| w.rsplit_once(':'))
        .filter(|(_, status)| status.contains("killed") || status.contains("loc"))
        .filter_map(|(name, _)| {
            head.args.iter().position(|a| {
                a.sym()
                    .is_some_and(|s| head.symbols[s].name.eq_ignore_ascii_case(name))
            })
        })
        .collect()
}

/// A call of a subroutine by another one that has the arguments of the head.
struct Call {
    name: Name,
    slots: Vec<Slot>,
}

/// Returns a subroutine with the wanted arguments that calls another one, if any, and then sets
/// some derivatives to zero.
fn wrapper(
    request: &Request,
    head: &Unit,
    call: Option<Call>,
    zeroed: &[usize],
) -> Result<Unit, Vec<Diagnostic>> {
    let span = request.span;
    let mut unit = head.clone();
    unit.name = request.derivative.clone();
    unit.comments.clear();
    unit.body.clear();
    unit.nested.clear();
    unit.specs.retain(|s| {
        !matches!(
            s.kind,
            SpecKind::Comment(_)
                | SpecKind::Data(_)
                | SpecKind::Save(_)
                | SpecKind::Equivalence(_)
                | SpecKind::StatementFunction(_)
                | SpecKind::External(_)
                | SpecKind::Intrinsic(_)
                | SpecKind::Namelist(_)
                | SpecKind::Format(..)
        )
    });
    // Local variables are not needed. COMMON variables and constants may be used in bounds.
    let local: Vec<SymId> = unit
        .symbols
        .iter()
        .filter(|(_, s)| {
            matches!(s.storage_class, StorageClass::Local | StorageClass::Global)
                && !matches!(s.class, Class::Parameter(_))
        })
        .map(|(id, _)| id)
        .collect();
    local.into_iter().for_each(|id| unit.undeclare(id));
    farfel_ad::spans::place_unit(&mut unit, span);
    let dummies: Vec<Option<SymId>> = head.args.iter().map(|a| a.sym()).collect();
    let count = request.vector.then(|| {
        let name = unit.symbols.unused("NBDIRS", &|_| false);
        let id = unit.symbols.add(Symbol {
            storage_class: StorageClass::Dummy,
            typed: true,
            ..Symbol::variable(name, Type::INTEGER, span)
        });
        unit.declare(id);
        id
    });
    let mut derivatives: Vec<Option<SymId>> = vec![None; dummies.len()];
    for i in &request.paired {
        let Some(of) = dummies.get(*i).copied().flatten() else {
            continue;
        };
        let mut s = unit.symbols[of].clone();
        let name = format!("{}{}", s.name, request.suffix);
        s.name = unit.symbols.unused(&name, &|_| false);
        s.typed = true;
        if let Some(n) = count {
            s.dims.insert(
                0,
                Dim {
                    lower: None,
                    upper: Some(Expr::var(n, span)),
                },
            );
        }
        let id = unit.symbols.add(s);
        unit.declare(id);
        derivatives[*i] = Some(id);
    }
    let symbol = |slot: &Slot| match slot {
        Slot::Primal(i) => dummies[*i],
        Slot::Derivative(i) => derivatives[*i],
        Slot::Count => count,
    };
    unit.args = wanted(request, head)
        .iter()
        .filter_map(symbol)
        .map(Arg::Dummy)
        .collect();
    if let Some(Call { name, slots }) = call {
        let args: Vec<Expr> = slots
            .iter()
            .filter_map(symbol)
            .map(|s| Expr::var(s, span))
            .collect();
        let name = match unit.symbols.find(&name) {
            Some(s) => s,
            None => unit.symbols.add(Symbol::new(name, span)),
        };
        let s = &mut unit.symbols[name];
        s.class = Class::Subroutine;
        s.storage_class = StorageClass::Global;
        s.ty = None;
        unit.body.push(Stmt::call(name, args, span));
    }
    for i in zeroed {
        let Some(d) = derivatives[*i] else { continue };
        let s = &unit.symbols[d];
        let open = s.dims.last().and_then(|d| d.upper.as_ref());
        if open.is_some_and(|e| e.kind == ExprKind::Star) {
            return Err(vec![unpaired(request, head, *i)]);
        }
        let zero = match s.ty {
            Some(Type::Real(8) | Type::Complex(8)) => "0.D0",
            _ => "0.0",
        };
        let zero = Expr::real(zero, span);
        unit.body.push(Stmt::assign(Expr::var(d, span), zero, span));
    }
    Ok(unit)
}

/// Whether derivatives in this mode also compute the primal results.
fn computes_results(request: &Request) -> bool {
    request.mode == AdMode::Forward
}
