//! Several directions: ADIFOR's arguments for the number of directions, the leading dimensions and the
//! maximum number of directions.

use super::MARK;
use super::script::Script;
use farfel_lang::Span;
use farfel_lang::ir::{
    Arg, BinOp, Class, Entity, Expr, ExprKind, IfBlock, Io, IoKind, Name, Spec, SpecKind, Stmt,
    StmtKind, StorageClass, SymId, Symbol, Type, Unit, for_each_symbol_mut, walk_block_mut,
};
use std::collections::BTreeMap;

/// Returns, for each generated unit, which of its arguments are derivatives. The last argument is the number
/// of directions.
pub fn layouts(made: &[Unit]) -> BTreeMap<Name, Vec<bool>> {
    made.iter()
        .map(|u| {
            let is = |a: &Arg| a.sym().is_some_and(|s| is_derivative(u, s));
            (u.name.clone(), u.args.iter().map(is).collect())
        })
        .collect()
}

fn is_derivative(unit: &Unit, s: SymId) -> bool {
    let s = &unit.symbols[s];
    s.is_variable() && s.name.contains(MARK)
}

/// Arranges the arguments of a unit as ADIFOR does, with names that begin with `prefix`.
pub fn lay_out(
    unit: &mut Unit,
    script: &Script,
    layouts: &BTreeMap<Name, Vec<bool>>,
) -> Result<(), String> {
    let Some(Arg::Dummy(count)) = unit.args.pop() else {
        return Err(format!("{} has no number of directions", unit.name));
    };
    let (prefix, span) = (&script.prefix, unit.span);
    let most = parameter(unit, format!("{prefix}_PMAX_"), script.most, span);
    let name = unit.symbols[count].name.clone();
    debug_assert!(name.starts_with("NBDIRS"), "{name}");
    unit.symbols.rename(count, format!("{prefix}_P_").into());
    // Leading dimensions.
    let mut args = Vec::new();
    if !script.no_count {
        args.push(Arg::Dummy(count));
    }
    let mut leading: BTreeMap<SymId, SymId> = BTreeMap::new();
    for a in std::mem::take(&mut unit.args) {
        args.push(a);
        let Some(d) = a.sym().filter(|s| is_derivative(unit, *s)) else {
            continue;
        };
        if script.no_leading {
            continue;
        }
        let of = unit.symbols[d].name.replace(MARK, "");
        let name = unit.symbols.unused(&format!("LD{prefix}_{of}"), &|_| false);
        let l = integer(unit, name, StorageClass::Dummy, span);
        leading.insert(d, l);
        args.push(Arg::Dummy(l));
    }
    unit.args = args;
    let ids: Vec<SymId> = unit.symbols.ids().collect();
    for id in ids {
        if is_derivative(unit, id)
            && let Some(first) = unit.symbols[id].dims.first_mut()
        {
            let bound = leading.get(&id).copied().unwrap_or(most);
            first.upper = Some(Expr::var(bound, span));
        }
    }
    // Calls.
    let names: BTreeMap<SymId, Name> = unit
        .symbols
        .iter()
        .filter(|(_, s)| s.storage_class == StorageClass::Global)
        .map(|(id, s)| (id, s.name.clone()))
        .collect();
    walk_block_mut(&mut unit.body, &mut |s| {
        if let StmtKind::Call(callee, actuals) = &mut s.kind
            && let Some(layout) = names.get(callee).and_then(|n| layouts.get(n))
        {
            let mut new = Vec::new();
            let number = actuals.pop().filter(|_| !script.no_count);
            new.extend(number);
            for (a, derivative) in std::mem::take(actuals).into_iter().zip(layout) {
                let bound = a.base().map(|b| leading.get(&b).copied().unwrap_or(most));
                new.push(a);
                if *derivative && !script.no_leading {
                    new.extend(bound.map(|b| Expr::var(b, span)));
                }
            }
            *actuals = new;
        }
    });
    if script.no_count {
        for_each_symbol_mut(&mut unit.body, &mut |s| {
            if *s == count {
                *s = most;
            }
        });
        unit.undeclare(count);
        unit.symbols[count].storage_class = StorageClass::Local;
    } else {
        unit.body.insert(0, check(count, most, span));
    }
    Ok(())
}

/// `if (g_p_ .gt. g_pmax_) then …`
fn check(count: SymId, most: SymId, span: Span) -> Stmt {
    let too_many = Expr::binary(BinOp::Gt, Expr::var(count, span), Expr::var(most, span));
    let text = ExprKind::Char("more directions than there is room for".to_owned());
    let print = Io {
        kind: IoKind::Print,
        control: vec![Expr::new(ExprKind::Star, span)],
        parens: false,
        items: vec![Expr::new(text, span)],
    };
    let body = vec![
        Stmt::new(StmtKind::Io(Box::new(print)), span),
        Stmt::new(StmtKind::Stop(None), span),
    ];
    Stmt::new(
        StmtKind::If(IfBlock {
            arms: vec![(too_many, body)],
            otherwise: None,
            ..IfBlock::default()
        }),
        span,
    )
}

/// Adds an INTEGER before all declarations whose bounds may refer to it.
fn integer(unit: &mut Unit, name: Name, place: StorageClass, span: Span) -> SymId {
    let id = unit.symbols.add(Symbol {
        storage_class: place,
        typed: true,
        ..Symbol::variable(name, Type::INTEGER, span)
    });
    insert(
        unit,
        SpecKind::Type(
            Type::INTEGER,
            vec![Entity {
                sym: id,
                dims: false,
            }],
        ),
        0,
        span,
    );
    id
}

fn parameter(unit: &mut Unit, name: String, value: u32, span: Span) -> SymId {
    let id = integer(unit, name.into(), StorageClass::Local, span);
    unit.symbols[id].class = Class::Parameter(Box::new(Expr::int(value.into(), span)));
    insert(unit, SpecKind::Parameter(vec![id]), 1, span);
    id
}

fn insert(unit: &mut Unit, kind: SpecKind, after: usize, span: Span) {
    let first = unit
        .specs
        .iter()
        .rposition(|s| s.kind == SpecKind::Implicit)
        .map_or(0, |i| i + 1);
    unit.specs.insert(first + after, Spec { kind, span });
}
