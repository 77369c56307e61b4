//! What keeps variables on tapes, and what takes them back.

use super::maker::Maker;
use super::stretch::{Counted, give_places};
use super::tape::{Kind, Tapes};
use crate::affine::Affine;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::count;
use farfel_lang::ir::{Block, Expr, ExprKind, Symbol};

/// What keeps a variable, and what takes it back; of an array a section, where one is told.
pub(super) fn keep(
    make: &mut Maker,
    tapes: &mut Tapes,
    e: &Expr,
    section: Option<&[(Affine, Affine)]>,
    span: Span,
) -> Result<(Block, Block), Diagnostic> {
    let Some(s) = e.base() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let symbol = make.unit.symbols[s].clone();
    let Some(kind) = symbol.ty.and_then(Kind::of) else {
        return Err(cannot(
            &symbol,
            span,
            "which is CHARACTER",
            "assign it before the AD block, or use another variable",
        ));
    };
    let whole = match &e.kind {
        ExprKind::Var(_) => symbol.is_array(),
        _ => farfel_lang::types::rank(&make.unit, e) > 0,
    };
    if !whole {
        let push = tapes.push(make, kind, e.clone(), span);
        let pop = tapes.pop(make, kind, e.clone(), span);
        return Ok((push, pop));
    }
    let mut bounds = Vec::new();
    for d in &symbol.dims {
        match &d.upper {
            Some(u) if u.kind != ExprKind::Star => bounds.push((
                d.lower.clone().unwrap_or_else(|| Expr::int(1, span)),
                u.clone(),
            )),
            _ => {
                return Err(cannot(
                    &symbol,
                    span,
                    &format!("which has {}", symbol.openness()),
                    &format!("declare the bounds of {}", symbol.name),
                ));
            }
        }
    }
    // Nothing beyond the array, whatever a loop that is not carried out would do.
    for (bound, (low, high)) in bounds.iter_mut().zip(section.unwrap_or(&[])) {
        let within = |make: &mut Maker, name: &str, of: &Expr, wanted: &Affine| {
            let wanted = wanted.to_expr(span);
            match (of.kind == wanted.kind, &of.kind, &wanted.kind) {
                (true, ..) => wanted,
                (_, ExprKind::Int(a), ExprKind::Int(b)) => match name {
                    "MAX" => Expr::int(*a.max(b), span),
                    _ => Expr::int(*a.min(b), span),
                },
                _ => make.call(name, vec![of.clone(), wanted], span),
            }
        };
        let low = within(make, "MAX", &bound.0, low);
        let high = within(make, "MIN", &bound.1, high);
        *bound = (low, high);
    }
    let counters = make.take_counters(bounds.len());
    let subscripts = counters.iter().map(|c| Expr::var(*c, span)).collect();
    let element = Expr::element(s, subscripts, span);
    let mut push = tapes.push(make, kind, element.clone(), span);
    let mut pop = tapes.pop(make, kind, element, span);
    make.free_counters(bounds.len());
    for (i, (c, (low, high))) in counters.iter().zip(bounds).enumerate() {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        if i == 0 {
            let l = Counted {
                var: *c,
                from: &low,
                to: &high,
                step: 1,
            };
            let placed = give_places(make, tapes, kind, &l, [&mut push, &mut pop], span);
            (before, after) = placed.unwrap_or_default();
        }
        let down = Expr::int(-1, span);
        before.extend(count(*c, low.clone(), high.clone(), None, push, span));
        push = before;
        pop = count(*c, high, low, Some(down), pop, span)
            .into_iter()
            .chain(after)
            .collect();
    }
    Ok((push, pop))
}

fn cannot(symbol: &Symbol, span: Span, which: &str, help: &str) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_UNSUPPORTED,
        span,
        format!(
            "the backward sweep needs a value of {} that is overwritten here, and cannot keep it, {which}",
            symbol.name
        ),
    )
    .related(symbol.span, "declared here")
    .help(help)
}
