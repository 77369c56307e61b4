//! Adapts the output of the tool to the calls in the program.

use super::input::Prepared;
use super::output::{GeneratedUnit, broken};
use super::units::{called, own_units, rename_in, rename_self};
use super::{argument_list, hide, mixed, stack, vector};
use farfel_ad::spans;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{Name, Program, Request, Unit, unused_name};
use std::collections::HashSet;

/// Returns the units to add to the program.
pub(super) fn adapt(
    program: &Program,
    request: &Request,
    p: &Prepared,
    made: Vec<GeneratedUnit>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let root = root(p, request, &made)?;
    let root_name = made[root].unit.name.clone();
    let is_stub = |m: &GeneratedUnit| m.of.as_ref().is_some_and(|n| p.stubs.contains(n));
    let (stubs, made): (Vec<GeneratedUnit>, Vec<GeneratedUnit>) =
        made.into_iter().partition(is_stub);
    let mut units: Vec<Unit> = Vec::new();
    for GeneratedUnit { mut unit, of } in made {
        hide::restore_stops(&mut unit, &p.placeholders);
        mixed::keep_precision(&mut unit);
        vector::generalise(&mut unit).map_err(|f| vec![directions(p, request, &unit, &f)])?;
        let of = of.and_then(|n| p.unit(&n));
        spans::place_unit(
            &mut unit,
            of.map_or(request.span, |u| u.name_span).or(request.span),
        );
        units.push(unit);
    }
    let pairs = stack_pairs(p, request, &stubs, &mut units)?;
    units.extend(pairs);
    add_copies(program, request, p, &mut units);
    let mut taken: HashSet<Name> = program.units.iter().map(|u| u.name.clone()).collect();
    taken.insert(request.derivative.clone());
    let mut root_name = root_name;
    avoid(&mut units, &mut root_name, &taken);
    argument_list::fit_arguments(program, request, p, units, &root_name)
}

/// Returns the position of the head's derivative.
fn root(p: &Prepared, request: &Request, made: &[GeneratedUnit]) -> Result<usize, Vec<Diagnostic>> {
    let of_head = |m: &GeneratedUnit| m.of.as_ref() == Some(&request.head);
    let named = |m: &GeneratedUnit| m.unit.name == format!("{}{}", request.head, request.suffix);
    made.iter()
        .position(|m| of_head(m) && named(m))
        .or_else(|| made.iter().position(of_head))
        .ok_or_else(|| {
            vec![broken(
                p,
                request,
                format!(
                    "the output of Tapenade has no derivative of {}",
                    request.head
                ),
            )]
        })
}

fn directions(
    p: &Prepared,
    request: &Request,
    unit: &Unit,
    error: &vector::NotGeneralisable,
) -> Diagnostic {
    match error {
        vector::NotGeneralisable::Static(name) => Diagnostic::error(
            &rules::AD_DIRECTIONS,
            request.span,
            format!(
                "{} of {} outlives the call, so its size cannot depend on the number of directions",
                name, unit.name
            ),
        )
        .help("pass what is in COMMON as arguments, or ask for one direction at a time"),
        vector::NotGeneralisable::NoCount => broken(
            p,
            request,
            format!("{} does not take the number of directions", unit.name),
        ),
    }
}

/// Replaces the derivatives of stubs by subroutines of our own, and pairs each value on the stack
/// with a derivative.
fn stack_pairs(
    p: &Prepared,
    request: &Request,
    stubs: &[GeneratedUnit],
    units: &mut [Unit],
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let mut text = String::new();
    let unexpected = |name: &Name| {
        vec![broken(
            p,
            request,
            format!("Tapenade calls {name} in a way that is not known"),
        )]
    };
    for m in stubs {
        let Some((r, of)) =
            m.of.as_ref()
                .and_then(|of| stack::routine(of).map(|r| (r, of)))
        else {
            continue;
        };
        let expected = 2 + usize::from(r.array) + usize::from(request.vector);
        let kind = if request.vector {
            stack::Pair::Many
        } else {
            stack::Pair::One
        };
        match stack::pair(r, &m.unit.name, kind) {
            Some(t) if m.unit.args.len() == expected => text += &t,
            _ => return Err(unexpected(of)),
        }
    }
    // Find the real values that are pushed without a derivative.
    if !stubs.is_empty() {
        let mut plain: Vec<Name> = Vec::new();
        for u in units.iter_mut() {
            pair_up(u, request, &mut plain);
        }
        if request.vector && !plain.is_empty() {
            return Err(vec![Diagnostic::error(
                &rules::AD_DIRECTIONS,
                request.span,
                "several directions through an adjoint of Tapenade's are not possible yet",
            )]);
        }
        for name in plain {
            let made = stack::routine(&name)
                .and_then(|r| stack::pair(r, &zero_name(&name, request), stack::Pair::Zero));
            text += &made.ok_or_else(|| unexpected(&name))?;
        }
    }
    Ok(own_units(&text, request.span))
}

/// Returns the name of the routine that pairs a value with a zero derivative.
fn zero_name(name: &str, request: &Request) -> String {
    format!("{name}{}_ZERO", request.suffix)
}

/// Replaces each PUSH and POP of a real value by the pairing variant.
fn pair_up(unit: &mut Unit, request: &Request, plain: &mut Vec<Name>) {
    for name in stack::calls(unit) {
        if stack::routine(&name).is_some_and(|r| r.real().is_some())
            && let Some(sym) = unit.symbols.find(&name)
        {
            let new = zero_name(&name, request).into();
            unit.symbols.rename(sym, new);
            if !plain.contains(&name) {
                plain.push(name);
            }
        }
    }
}

/// Adds copies of the units that the tool read in a changed form, under new names, and the helpers,
/// as far as the derivatives call them.
fn add_copies(program: &Program, request: &Request, p: &Prepared, units: &mut Vec<Unit>) {
    let mut open: Vec<Name> = units.iter().flat_map(called).collect();
    let mut done: HashSet<Name> = HashSet::new();
    let mut renamed: Vec<(Name, Name)> = Vec::new();
    while let Some(name) = open.pop() {
        if !done.insert(name.clone()) {
            continue;
        }
        if let Some(helper) = p.helpers.iter().find(|h| h.real.name == name) {
            if program.unit(&name).is_none() {
                let mut unit = helper.real.clone();
                spans::place_unit(&mut unit, request.span);
                units.push(unit);
            }
            continue;
        }
        if !p.changed.contains(&name) {
            continue;
        }
        let Some(copy) = p.unit(&name) else { continue };
        open.extend(called(copy));
        let mut copy = copy.clone();
        let new = unused_name(&format!("{name}{}_P", request.suffix), &|n| {
            program.unit(n).is_some()
                || units
                    .iter()
                    .any(|u| u.name == n || u.symbols.find(n).is_some())
        });
        rename_self(&mut copy, &new);
        hide::restore_stops(&mut copy, &p.placeholders);
        renamed.push((name, new));
        units.push(copy);
    }
    for (old, new) in renamed {
        for u in units.iter_mut() {
            rename_in(u, &old, &new);
        }
    }
}

/// Renames units whose names already exist in the program.
fn avoid(units: &mut [Unit], root: &mut Name, taken: &HashSet<Name>) {
    for i in 0..units.len() {
        let name = units[i].name.clone();
        // Helpers are the same wherever they come from.
        if !taken.contains(&name) {
            continue;
        }
        let new = unused_name(&name, &|n| {
            taken.contains(n)
                || units
                    .iter()
                    .any(|u| u.name == n || u.symbols.find(n).is_some())
        });
        for u in units.iter_mut() {
            rename_in(u, &name, &new);
        }
        rename_self(&mut units[i], &new);
        if *root == name {
            *root = new;
        }
    }
}
