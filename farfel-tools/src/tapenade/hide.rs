//! Hides what the tool does not need to see, or would lose.
//!
//! An adjoint does no input or output ([`Silent`](farfel_ad::passes::Form::Silent)). A tangent
//! does: the tool drops the code of STOP, so STOP with a text or number is preceded by a call of a
//! placeholder, which is replaced by the STOP in the output.

use farfel_lang::ir::{
    Block, Class, Expr, ExprKind, Name, Stmt, StmtKind, StorageClass, Symbol, Unit, walk_block,
    walk_block_mut,
};

/// Declares the variables in input and output, and functions in EXTERNAL: if a name only occurs
/// there, the tool forgets its implicit type.
pub(super) fn declare_named(unit: &mut Unit) {
    let mut named = Vec::new();
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Io(io) = &s.kind {
            for e in io.control.iter().chain(&io.items) {
                e.for_each_symbol(&mut |s| named.push(s));
            }
        }
    });
    let symbols = &unit.symbols;
    named.extend(symbols.ids().filter(|s| {
        let symbol = &symbols[*s];
        symbol.external && symbol.class == Class::Function
    }));
    for s in named {
        let symbol = &unit.symbols[s];
        if (symbol.is_variable() || symbol.external) && !symbol.typed {
            unit.symbols[s].typed = true;
            unit.declare(s);
        }
    }
}

/// A placeholder for STOP with a code.
#[derive(Debug, Clone)]
pub(super) struct Placeholder {
    /// The subroutine that is called.
    pub name: Name,
    /// The code of the STOP.
    pub code: Expr,
}

/// The prefix of the names of all placeholders.
pub(super) const PLACEHOLDER: &str = "FARFELSTOP";

/// Replaces every STOP with a code by a call and a STOP without a code.
pub(super) fn hide_stops(unit: &mut Unit, placeholders: &mut Vec<Placeholder>) {
    let mut body = std::mem::take(&mut unit.body);
    hide_in(unit, &mut body, placeholders);
    unit.body = body;
}

fn hide_in(unit: &mut Unit, block: &mut Block, placeholders: &mut Vec<Placeholder>) {
    for mut s in std::mem::take(block) {
        if let StmtKind::LogicalIf(c, inner) = &s.kind
            && matches!(inner.kind, StmtKind::Stop(Some(_)))
        {
            let arms = vec![(c.clone(), vec![(**inner).clone()])];
            s.kind = Stmt::branches(arms, None, s.span).kind;
        }
        for b in s.blocks_mut() {
            hide_in(unit, b, placeholders);
        }
        if let StmtKind::Stop(code) = &mut s.kind
            && code
                .as_ref()
                .is_some_and(|e| matches!(e.kind, ExprKind::Int(_) | ExprKind::Char(_)))
            && let Some(code) = code.take()
        {
            let name = Name::from(format!("{PLACEHOLDER}{}", placeholders.len() + 1));
            let sym = unit.symbols.add(Symbol {
                class: farfel_lang::ir::Class::Subroutine,
                storage_class: StorageClass::Global,
                ..Symbol::new(name.clone(), s.span)
            });
            block.push(Stmt {
                label: s.label.take(),
                ..Stmt::call(sym, Vec::new(), s.span)
            });
            placeholders.push(Placeholder { name, code });
        }
        block.push(s);
    }
}

/// Replaces the placeholders by the original STOPs.
pub(super) fn restore_stops(unit: &mut Unit, placeholders: &[Placeholder]) {
    let mut body = std::mem::take(&mut unit.body);
    walk_block_mut(&mut body, &mut |s| {
        if let StmtKind::Call(callee, _) = &s.kind
            && let Some(p) = placeholders
                .iter()
                .find(|p| p.name == unit.symbols[*callee].name)
        {
            let mut code = p.code.clone();
            farfel_ad::spans::place_expr(&mut code, s.span);
            s.kind = Stmt::stop(code, s.span).kind;
        }
    });
    drop_second_stops(&mut body);
    unit.body = body;
    for p in placeholders {
        if let Some(s) = unit.symbols.find(&p.name) {
            unit.undeclare(s);
        }
    }
}

/// Removes the STOP without a code that follows one with a code.
fn drop_second_stops(block: &mut Block) {
    let mut stopped = false;
    block.retain(|s| {
        let second = stopped && s.label.is_none() && s.kind == StmtKind::Stop(None);
        stopped = matches!(s.kind, StmtKind::Stop(Some(_)));
        !second
    });
    for s in block {
        s.blocks_mut().into_iter().for_each(drop_second_stops);
    }
}
