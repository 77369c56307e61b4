//! Subprograms with alternate returns: copies that say in a last argument which one they
//! took.

use super::tree::unsupported;
use farfel_lang::callgraph::Below;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    Arg, Block, Expr, ExprKind, IfBlock, Name, Place, Program, Stmt, StmtKind, SymId, Symbol, Type,
    Unit, unused_name, walk_block, walk_exprs,
};
use std::collections::{BTreeMap, HashSet};

/// Makes the copies of what `head` reaches, and has them called instead.
pub(super) fn number(
    program: &mut Program,
    head: &str,
    taken: &mut HashSet<Name>,
    errors: &mut Vec<Diagnostic>,
) {
    let reached: HashSet<Name> = Below::of(program, [head])
        .units
        .iter()
        .map(|u| u.name.clone())
        .collect();
    let has = |u: &Unit| u.args.iter().any(|a| matches!(a, Arg::AltReturn(_)));
    let mut new: BTreeMap<Name, Name> = BTreeMap::new();
    let mut made = Vec::new();
    let mut all = HashSet::new();
    for u in &program.units {
        all.extend(u.symbols.iter().map(|(_, s)| s.name.clone()));
    }
    for u in program.units.iter().filter(|u| reached.contains(&u.name)) {
        if !has(u) {
            continue;
        }
        if u.name == head {
            let what = format!("{head} has alternate returns");
            errors.push(unsupported(u.name_span, what));
            continue;
        }
        let wanted = format!("{}_R", u.name);
        let name = unused_name(&wanted, &|n| taken.contains(n) || all.contains(n));
        taken.insert(name.clone());
        new.insert(u.name.clone(), name.clone());
        made.push(numbered(u, name));
    }
    let below: Vec<&mut Unit> = program
        .units
        .iter_mut()
        .filter(|u| reached.contains(&u.name) && !new.contains_key(&u.name))
        .chain(&mut made)
        .collect();
    for u in below {
        call_numbered(u, &new, errors);
    }
    program.units.extend(made);
}

/// The copy of a subprogram.
fn numbered(unit: &Unit, name: Name) -> Unit {
    let mut copy = unit.clone();
    let span = unit.name_span;
    copy.name = name;
    let number = copy.symbols.unused("IRETRN", &|_| false);
    let number = copy.symbols.add(Symbol {
        place: Place::Dummy,
        ..Symbol::variable(number, Type::INTEGER, span)
    });
    copy.args.retain(|a| matches!(a, Arg::Dummy(_)));
    copy.args.push(Arg::Dummy(number));
    copy.declare(number);
    returns(&mut copy.body, number);
    let none = Stmt::assign(Expr::var(number, span), Expr::int(0, span), span);
    copy.body.insert(0, none);
    copy
}

/// `RETURN e` notes the number first.
fn returns(block: &mut Block, number: SymId) {
    for mut s in std::mem::take(block) {
        for b in s.blocks_mut() {
            returns(b, number);
        }
        let note = |e: Expr| {
            let span = e.span;
            let note = Stmt::assign(Expr::var(number, span), e, span);
            vec![note, Stmt::new(StmtKind::Return(None), span)]
        };
        match s.kind {
            StmtKind::Return(Some(e)) => {
                let mut both = note(e);
                if let Some(first) = both.first_mut() {
                    first.label = s.label;
                }
                block.extend(both);
                continue;
            }
            StmtKind::LogicalIf(c, inner) => {
                s.kind = match inner.kind {
                    StmtKind::Return(Some(e)) => StmtKind::If(IfBlock {
                        arms: vec![(c, note(e))],
                        ..IfBlock::default()
                    }),
                    _ => StmtKind::LogicalIf(c, inner),
                };
            }
            _ => {}
        }
        block.push(s);
    }
}

/// Calls of subprograms with alternate returns call the copies.
fn call_numbered(unit: &mut Unit, new: &BTreeMap<Name, Name>, errors: &mut Vec<Diagnostic>) {
    let target = |s: SymId| {
        let symbol = &unit.symbols[s];
        match symbol.place {
            Place::Global if symbol.class.is_procedure() => new.get(&symbol.name),
            _ => None,
        }
    };
    let mut renamed: BTreeMap<SymId, Name> = BTreeMap::new();
    walk_block(&unit.body, &mut |s| {
        let StmtKind::Call(sub, args) = &s.kind else {
            return;
        };
        match target(*sub) {
            Some(name) => {
                renamed.insert(*sub, name.clone());
            }
            None if args
                .iter()
                .any(|a| matches!(a.kind, ExprKind::AltReturn(_))) =>
            {
                let what = format!(
                    "{}, which gets alternate returns, is not in the program",
                    unit.symbols[*sub].name
                );
                errors.push(unsupported(s.span, what));
            }
            None => {}
        }
    });
    walk_exprs(&unit.body, &mut |e| {
        if let ExprKind::Var(s) = e.kind
            && target(s).is_some()
        {
            let what = format!(
                "{}, which has alternate returns, is passed on",
                unit.symbols[s].name
            );
            errors.push(unsupported(e.span, what));
        }
    });
    for (id, name) in renamed {
        unit.symbols.rename(id, name);
    }
}
