//! The directive before a parallel loop of OpenMP.

use super::line::Line;
use super::scope::Scope;
use crate::ir::{Expr, Parallel, SymId};

/// Returns the text of THREADPRIVATE for a COMMON block, without its comment mark.
pub(super) fn thread_private(block: &str) -> String {
    format!("$OMP THREADPRIVATE(/{block}/)")
}

/// Returns the text of the directive, without its comment mark.
pub(super) fn directive(scope: &Scope, clauses: &Parallel) -> String {
    let Parallel {
        shared: _,
        private,
        first_private,
        last_private,
        thread_private: _,
        copy_in,
        reductions,
        schedule,
        threads,
        condition,
        collapse,
        atomic: _,
        disjoint: _,
        reverse: _,
        sections: _,
    } = clauses;
    let names = |list: &[SymId]| {
        let names = list.iter().map(|s| scope.unit.symbols[*s].name.as_str());
        names.collect::<Vec<_>>().join(",")
    };
    let expr = |e: &Expr| {
        let mut line = Line::default();
        line.expr(scope, e);
        line.into_text()
    };
    let mut text = "$OMP PARALLEL DO".to_owned();
    // A variable in two clauses is LASTPRIVATE and FIRSTPRIVATE; PRIVATE is implied.
    let mut private = private.clone();
    private.retain(|s| !last_private.contains(s));
    let lists = [
        ("PRIVATE", &private),
        ("FIRSTPRIVATE", first_private),
        ("LASTPRIVATE", last_private),
        ("COPYIN", copy_in),
    ];
    for (word, list) in lists {
        if !list.is_empty() {
            text.push_str(&format!(" {word}({})", names(list)));
        }
    }
    for (op, s) in reductions {
        text.push_str(&format!(" REDUCTION({}:{})", op.word(), names(&[*s])));
    }
    if let Some(schedule) = schedule {
        match &schedule.chunk {
            Some(chunk) => {
                text.push_str(&format!(" SCHEDULE({},{})", schedule.kind, expr(chunk)));
            }
            None => text.push_str(&format!(" SCHEDULE({})", schedule.kind)),
        }
    }
    if let Some(threads) = threads {
        text.push_str(&format!(" NUM_THREADS({})", expr(threads)));
    }
    if let Some(condition) = condition {
        text.push_str(&format!(" IF({})", expr(condition)));
    }
    if *collapse > 1 {
        text.push_str(&format!(" COLLAPSE({collapse})"));
    }
    text
}
