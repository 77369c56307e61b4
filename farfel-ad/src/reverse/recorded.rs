//! What adjoints record and what they omit, for reports.

use super::AdjointEngine;
use super::unit_builder::UnitBuilder;
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    Block, Expr, ExprKind, Name, Program, Request, StmtKind, SymId, Unit, walk_block,
};
use std::collections::HashSet;

/// What is known of an adjoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorded {
    /// The name of the adjoint.
    pub derivative: Name,
    /// The variables that the forward sweep records on tapes, each with its statement; [`Span::NONE`] for the
    /// end of the sweep.
    pub kept: Vec<(Span, Name)>,
    /// The variables that some caller needs with their values from before the call, so that they are saved here.
    pub before: Vec<Name>,
    /// The variables whose values after the forward sweep are needed by the reverse sweep.
    pub after: Vec<Name>,
    /// The statements of the forward sweep; `None` if the original subprogram is called instead.
    pub carried_out: Option<HashSet<Span>>,
}

/// Returns what the adjoints of a request record.
pub(crate) fn recorded(
    program: &Program,
    request: &Request,
    most: Option<u64>,
) -> Result<Vec<Recorded>, Vec<Diagnostic>> {
    let (closure, engine, known) = AdjointEngine::prepare(program, request, most, &mut Vec::new())?;
    let facts = known.facts.clone();
    let units = engine.units(&closure.program, known, &mut Vec::new())?;
    let mut found = Vec::new();
    for (i, p) in engine.parts.iter().enumerate() {
        let (sweeper, made, _) = engine.sweep(&facts, i);
        let mut kept = Vec::new();
        pushes(&sweeper.builder, &made.forward, &mut kept);
        let named = |slots: &crate::locations::Set| {
            let locs: Vec<usize> = slots.ones().filter_map(|s| p.space.slot(s)).collect();
            let symbols = p.builder.unit.symbols.iter();
            let here = symbols.filter(|(id, s)| {
                s.is_variable()
                    && !p.builder.derivatives.contains(id)
                    && locs.contains(&p.space.loc(*id))
            });
            here.map(|(_, s)| s.name.clone()).collect()
        };
        let forward = match p.root {
            true => Some(&p.backward_name),
            false => facts[i].forward.then_some(&p.forward_name),
        };
        let forward = forward.and_then(|name| units.iter().find(|u| u.unit.name == *name));
        found.push(Recorded {
            derivative: p.name.clone(),
            kept,
            before: named(&facts[i].entry),
            after: named(&facts[i].exit),
            carried_out: forward.map(|u| spans(&u.unit, &p.builder.derivatives)),
        });
    }
    Ok(found)
}

/// Finds what is put on tapes, `TAPE(TOP) = value`, or kept in variables.
fn pushes(builder: &UnitBuilder, block: &Block, found: &mut Vec<(Span, Name)>) {
    let unit = &builder.unit;
    let keeps = |t: SymId| unit.symbols[t].tape || builder.kept.contains(&t);
    walk_block(block, &mut |s| {
        if let StmtKind::Assign(to, value) = &s.kind
            && to.base().is_some_and(keeps)
        {
            let name = match &value.kind {
                ExprKind::Var(v) | ExprKind::Element(v, _) => unit.symbols[*v].name.clone(),
                // The number of a branch has no name.
                _ => return,
            };
            if !found.contains(&(s.span, name.clone())) {
                found.push((s.span, name));
            }
        }
    });
}

/// The statements of a unit that are not adjoints of statements.
fn spans(unit: &Unit, derivatives: &HashSet<SymId>) -> HashSet<Span> {
    let mut found = HashSet::new();
    walk_block(&unit.body, &mut |s| {
        let derivative = |e: &Expr| e.base().is_some_and(|b| derivatives.contains(&b));
        let own = match &s.kind {
            StmtKind::Assign(to, value) => {
                let tape = |e: &Expr| e.base().is_some_and(|b| unit.symbols[b].tape);
                !derivative(to) && !tape(to) && !tape(value)
            }
            _ => true,
        };
        if own {
            found.insert(s.span);
        }
    });
    found
}
