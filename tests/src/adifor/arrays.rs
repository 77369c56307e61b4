//! Arrays are assigned element by element, as in FORTRAN 77.

use farfel_lang::Span;
use farfel_lang::ir::{
    Dim, Do, DoControl, DoEnd, Expr, ExprKind, Stmt, StmtKind, SymId, Symbol, Type, Unit,
};

/// Converts assignments of constants to whole arrays and sections into loops.
pub fn by_element(unit: &mut Unit) {
    let body = std::mem::take(&mut unit.body);
    unit.body = block(unit, body);
}

fn block(unit: &mut Unit, body: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = Vec::new();
    for mut s in body {
        for b in s.blocks_mut() {
            let inner = std::mem::take(b);
            *b = block(unit, inner);
        }
        out.push(stmt(unit, s));
    }
    out
}

fn stmt(unit: &mut Unit, s: Stmt) -> Stmt {
    let StmtKind::Assign(target, value) = &s.kind else {
        return s;
    };
    let constant = matches!(value.kind, ExprKind::Real(_) | ExprKind::Complex(_));
    let Some(array) = target
        .base()
        .filter(|b| constant && unit.symbols[*b].is_array())
    else {
        return s;
    };
    let dims = unit.symbols[array].dims.clone();
    let all = || Expr::new(ExprKind::Range(None, None, None), s.span);
    let mut subscripts = match &target.kind {
        ExprKind::Var(_) => dims.iter().map(|_| all()).collect(),
        ExprKind::Element(_, l) => l.clone(),
        _ => return s,
    };
    let mut loops: Vec<(SymId, Dim)> = Vec::new();
    for (e, dim) in subscripts.iter_mut().zip(&dims) {
        if let ExprKind::Range(None, None, None) = e.kind {
            let star = dim.upper.as_ref().is_none_or(|u| u.kind == ExprKind::Star);
            if star {
                return s;
            }
            let i = index(unit, loops.len() + 1, s.span);
            *e = Expr::var(i, s.span);
            loops.push((i, dim.clone()));
        }
    }
    let (label, span) = (s.label, s.span);
    let element = Expr::new(ExprKind::Element(array, subscripts), span);
    let assigned = Stmt::assign(element, value.clone(), span);
    let mut whole = loops.into_iter().fold(assigned, |inner, (var, dim)| {
        let control = DoControl::Count {
            var,
            from: dim.lower.unwrap_or_else(|| Expr::int(1, span)),
            to: dim.upper.unwrap_or_else(|| Expr::int(1, span)),
            step: None,
        };
        let end = DoEnd::EndDo(None);
        let body = vec![inner];
        let name = None;
        Stmt::new(
            StmtKind::Do(Box::new(Do {
                name,
                control,
                body,
                end,
                end_span: Span::NONE,
                directive: None,
            })),
            span,
        )
    });
    whole.label = label;
    whole
}

fn index(unit: &mut Unit, k: usize, span: Span) -> SymId {
    let name = format!("I{k}_L");
    if let Some(s) = unit.symbols.find(&name) {
        return s;
    }
    let id = unit.symbols.add(Symbol {
        typed: true,
        ..Symbol::variable(name.as_str().into(), Type::INTEGER, span)
    });
    unit.declare(id);
    id
}
