//! Replaces subprograms with alternate returns by copies whose last argument says which return they
//! took.

use super::taken_names;
use super::target::unsupported;
use farfel_lang::Span;
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    Arg, Block, DoEnd, Expr, ExprKind, IfBlock, Name, Program, Stmt, StmtKind, StorageClass, SymId,
    Symbol, Type, Unit, unused_name, walk_block, walk_exprs,
};
use std::collections::{BTreeMap, HashSet};

/// Whether there are alternate returns, or calls that pass them.
pub(crate) fn has_alternate_returns(program: &Program) -> bool {
    let passed = |s: &Stmt| match &s.kind {
        StmtKind::Call(_, args) => args.iter().any(is_label),
        _ => false,
    };
    program.units.iter().any(|u| {
        let mut found = u.args.iter().any(|a| matches!(a, Arg::AltReturn(_)));
        walk_block(&u.body, &mut |s| found |= passed(s));
        found
    })
}

/// Creates copies of the subprograms that some heads reach, with names that end in `suffix`, and
/// replaces calls of the originals.
pub(crate) fn without_alternate_returns(
    program: &mut Program,
    heads: &[&str],
    suffix: &str,
    errors: &mut Vec<Diagnostic>,
) {
    let mut taken = taken_names(program);
    let reached: HashSet<Name> = ReachableUnits::of(program, heads.iter().copied())
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
        if heads.contains(&u.name.as_str()) {
            let what = format!("{} has alternate returns", u.name);
            errors.push(unsupported(u.name_span, what));
            continue;
        }
        let wanted = format!("{}_R{suffix}", u.name);
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

/// Creates the copy of a subprogram.
fn numbered(unit: &Unit, name: Name) -> Unit {
    let mut copy = unit.clone();
    let span = unit.name_span;
    copy.name = name;
    let number = copy.symbols.unused("IRETRN", &|_| false);
    let number = copy.symbols.add(Symbol {
        storage_class: StorageClass::Dummy,
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

/// Makes `RETURN e` store the number first.
fn returns(block: &mut Block, number: SymId) {
    for mut s in std::mem::take(block) {
        for b in s.blocks_mut() {
            returns(b, number);
        }
        let note = |e: Expr| {
            let span = e.span;
            let note = Stmt::assign(Expr::var(number, span), e, span);
            vec![note, Stmt::returns(span)]
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
        end_where_the_body_ends(&mut s);
        block.push(s);
    }
}

/// Replaces calls of subprograms with alternate returns by calls of the copies, followed by a jump
/// on the number.
fn call_numbered(unit: &mut Unit, new: &BTreeMap<Name, Name>, errors: &mut Vec<Diagnostic>) {
    let target = |s: SymId| {
        let symbol = &unit.symbols[s];
        match symbol.storage_class {
            StorageClass::Global if symbol.class.is_procedure() => new.get(&symbol.name),
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
            None if args.iter().any(is_label) => {
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
    if renamed.is_empty() {
        return;
    }
    let number = unit.symbols.unused("IRETRN", &|_| false);
    let number = Symbol::variable(number, Type::INTEGER, unit.name_span);
    let number = unit.symbols.add(number);
    unit.declare(number);
    jump_after_calls(&mut unit.body, number, &|s| renamed.contains_key(&s));
    for (id, name) in renamed {
        unit.symbols.rename(id, name);
    }
}

fn is_label(actual: &Expr) -> bool {
    matches!(actual.kind, ExprKind::AltReturn(_))
}

/// Replaces `CALL S(X, *10, *20)` by `CALL S(X, IRETRN)` and `GOTO (10, 20), IRETRN`.
fn jump_after_calls(block: &mut Block, number: SymId, is_called: &dyn Fn(SymId) -> bool) {
    let both = |kind: StmtKind, span: Span| -> Result<[Stmt; 2], StmtKind> {
        let (sub, args) = match kind {
            StmtKind::Call(sub, args) if is_called(sub) => (sub, args),
            other => return Err(other),
        };
        let (alternate, mut args): (Vec<Expr>, Vec<Expr>) = args.into_iter().partition(is_label);
        let labels = alternate.iter().filter_map(|a| match a.kind {
            ExprKind::AltReturn(l) => Some(l),
            _ => None,
        });
        let selector = Expr::var(number, span);
        args.push(selector.clone());
        let jump = StmtKind::ComputedGoto(labels.collect(), selector);
        let call = Stmt::call(sub, args, span);
        Ok([call, Stmt::new(jump, span)])
    };
    for mut s in std::mem::take(block) {
        for b in s.blocks_mut() {
            jump_after_calls(b, number, is_called);
        }
        let span = s.span;
        s.kind = match s.kind {
            StmtKind::LogicalIf(c, inner) => match both(inner.kind, inner.span) {
                Ok(both) => StmtKind::If(IfBlock {
                    arms: vec![(c, both.into())],
                    ..IfBlock::default()
                }),
                Err(kind) => StmtKind::LogicalIf(c, Box::new(Stmt { kind, ..*inner })),
            },
            kind => match both(kind, span) {
                Ok([call, jump]) => {
                    let label = s.label;
                    block.extend([Stmt { label, ..call }, jump]);
                    continue;
                }
                Err(kind) => kind,
            },
        };
        end_where_the_body_ends(&mut s);
        block.push(s);
    }
}

/// Ends a loop with END DO if its labelled last statement was expanded into several.
fn end_where_the_body_ends(s: &mut Stmt) {
    if let StmtKind::Do(d) = &mut s.kind
        && !d.has_its_end()
    {
        d.end = DoEnd::EndDo(None);
    }
}
