//! What the tool does not need to see, or would lose.
//!
//! - An adjoint does no input or output: the primal run did it. So the tool gets a copy
//!   without. STOP goes too: where the primal run came through, it is not reached.
//! - A tangent keeps both. The tool forgets what STOP says, so STOP with a text or number
//!   becomes a call of a placeholder first, which is put back in the output.

use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Block, Class, Expr, ExprKind, IfBlock, Io, IoKind, Name, Place, Request, Stmt, StmtKind,
    Symbol, Type, Unit, walk_block, walk_block_mut,
};

/// Takes input, output, STOP and PAUSE out of a unit. Returns whether there was any.
pub(crate) fn silence(unit: &mut Unit, request: &Request, faults: &mut Vec<Diagnostic>) -> bool {
    let mut body = std::mem::take(&mut unit.body);
    let mut changed = false;
    walk_block_mut(&mut body, &mut |s| {
        let new = match &s.kind {
            StmtKind::Stop(_) | StmtKind::Pause(_) => StmtKind::Continue,
            StmtKind::Io(io) if !is_internal(unit, io) => {
                let reads_now = matches!(io.kind, IoKind::Read | IoKind::Inquire);
                // Lowering passes what the head itself reads, or refuses it.
                if reads_now && unit.name != request.head {
                    faults.push(reads(unit, s, request));
                }
                match status(io) {
                    _ if reads_now => StmtKind::Continue,
                    // Whoever looks at the status finds that all went well.
                    Some(v) => StmtKind::Assign(v.clone(), Expr::int(0, s.span)),
                    None => StmtKind::Continue,
                }
            }
            _ => return,
        };
        s.kind = new;
        changed = true;
    });
    unit.body = body;
    changed
}

fn reads(unit: &Unit, s: &Stmt, request: &Request) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_UNSUPPORTED,
        s.span,
        format!(
            "{} reads, and an ADR block computes its statements twice",
            unit.name
        ),
    )
    .label("would be done twice")
    .related(request.span, "for this AD block")
    .help("read before the ADR block, and use what was read inside")
}

/// Reading and writing of CHARACTER variables, which touches no file.
pub(crate) fn is_internal(unit: &Unit, io: &Io) -> bool {
    if !matches!(io.kind, IoKind::Read | IoKind::Write) || !io.parens {
        return false;
    }
    io.unit()
        .and_then(Expr::base)
        .is_some_and(|s| unit.symbols[s].ty == Some(Type::Character))
}

fn status(io: &Io) -> Option<&Expr> {
    io.control.iter().find_map(|e| match &e.kind {
        ExprKind::Keyword(name, e) if name == "IOSTAT" => Some(&**e),
        _ => None,
    })
}

/// Declares what input and output name, and functions in EXTERNAL: of what is only named there
/// the tool forgets that it has an implicit type.
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

/// What stands in for STOP with a code.
#[derive(Debug, Clone)]
pub(super) struct Placeholder {
    /// The subroutine that is called.
    pub name: Name,
    /// What STOP said.
    pub code: Expr,
}

/// The name that all placeholders begin with.
pub(super) const PLACEHOLDER: &str = "FARFELSTOP";

/// Replaces every STOP that says something by a call and a STOP that says nothing.
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
            s.kind = StmtKind::If(IfBlock {
                arms: vec![(c.clone(), vec![(**inner).clone()])],
                otherwise: None,
                ..IfBlock::default()
            });
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
                place: Place::Global,
                ..Symbol::new(name.clone(), s.span)
            });
            block.push(Stmt {
                label: s.label.take(),
                kind: StmtKind::Call(sym, Vec::new()),
                span: s.span,
            });
            placeholders.push(Placeholder { name, code });
        }
        block.push(s);
    }
}

/// Puts back what the placeholders stand for.
pub(super) fn restore_stops(unit: &mut Unit, placeholders: &[Placeholder]) {
    let mut body = std::mem::take(&mut unit.body);
    walk_block_mut(&mut body, &mut |s| {
        if let StmtKind::Call(callee, _) = &s.kind
            && let Some(p) = placeholders
                .iter()
                .find(|p| p.name == unit.symbols[*callee].name)
        {
            let mut code = p.code.clone();
            crate::spans::place_expr(&mut code, s.span);
            s.kind = StmtKind::Stop(Some(code));
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

/// The STOP that says nothing behind the one that does.
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
