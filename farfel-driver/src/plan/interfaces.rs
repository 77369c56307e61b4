//! Interfaces of derivatives that have not been computed yet.
//!
//! The bindings need to know which arguments a subprogram may assign, whether it shares state and whether it
//! may STOP, while its derivatives may not have been computed because the objects with them are cached.
//! Therefore each derivative is represented by a subprogram that calls the original subprogram and assigns
//! its derivative arguments.

use crate::staged::Staged;
use farfel_lang::ir::{
    AdMode, Arg, Class, Expr, Origin, Request, Stmt, StorageClass, Symbol, Type, Unit, UnitKind,
};

/// Returns a stand-in for each derivative, to be added to the staged program. `adjoints_share_state` means
/// that the tool's reverse-mode code uses state that is not in the program.
pub(crate) fn interfaces(staged: &Staged, adjoints_share_state: bool) -> Vec<Unit> {
    staged
        .requests
        .iter()
        .zip(&staged.references.heads)
        .map(|(request, head)| {
            let head = &staged.program.units[*head];
            let hidden = adjoints_share_state && request.mode == AdMode::Reverse;
            stand_in(request, head, hidden)
        })
        .collect()
}

fn stand_in(request: &Request, head: &Unit, hidden_state: bool) -> Unit {
    let span = request.span;
    let mut unit = Unit::new(UnitKind::Subroutine, request.derivative.clone(), span);
    unit.origin = Origin::Derivative;
    let mut procedure = |name: &str| {
        let callee = Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            ..Symbol::new(name.into(), span)
        };
        unit.symbols.add(callee)
    };
    let callee = procedure(&head.name);
    // Nothing is known about this procedure.
    let unknown = hidden_state.then(|| procedure(&format!("{}_STATE", request.derivative)));
    let mut actual = Vec::new();
    let mut assigned = Vec::new();
    for (position, arg) in head.args.iter().enumerate() {
        let Some(symbol) = arg.sym().map(|s| &head.symbols[s]) else {
            continue;
        };
        // Only their types matter, not their sizes.
        let mut dummy = |name: String| {
            let name = unit.symbols.unused(&name, &|_| false);
            let id = unit.symbols.add(Symbol {
                ty: symbol.ty,
                class: symbol.class.clone(),
                storage_class: StorageClass::Dummy,
                ..Symbol::new(name, span)
            });
            unit.args.push(Arg::Dummy(id));
            Expr::var(id, span)
        };
        actual.push(dummy(symbol.name.to_string()));
        if request.paired.contains(&position) {
            assigned.push(dummy(format!("{}{}", symbol.name, request.suffix)));
        }
    }
    if request.vector {
        let count = unit.symbols.unused("NBDIRS", &|_| false);
        let count = Symbol {
            storage_class: StorageClass::Dummy,
            ..Symbol::variable(count, Type::INTEGER, span)
        };
        unit.args.push(Arg::Dummy(unit.symbols.add(count)));
    }
    unit.body = vec![Stmt::call(callee, actual, span)];
    unit.body
        .extend(unknown.map(|s| Stmt::call(s, Vec::new(), span)));
    unit.body.extend(
        assigned
            .into_iter()
            .map(|d| Stmt::assign(d, Expr::int(0, span), span)),
    );
    unit
}
