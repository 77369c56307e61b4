//! Stretches of statements whose tangents are all multiples of one tangent.
//!
//! In a Horner scheme or a series in Z, each tangent is a multiple of that of Z, and the product
//! rule multiplies by it in each iteration:
//!
//! ```fortran
//!       GR_G = 0.0D0
//!       GR = G(26)
//!       DO 20 K = 25, 1, -1
//!         GR_G = GR_G*Z + GR*Z_G
//!         GR = GR*Z + G(K)
//!    20 CONTINUE
//! ```
//!
//! This pass makes such statements compute derivatives with respect to Z, and multiplies once after them:
//!
//! ```fortran
//!       GR_BY_Z = 0.0D0
//!       GR = G(26)
//!       DO 20 K = 25, 1, -1
//!         GR_BY_Z = GR_BY_Z*Z + GR
//!         GR = GR*Z + G(K)
//!    20 CONTINUE
//!       GR_G = GR_BY_Z*Z_G
//! ```
//!
//! With several directions the loop is executed once for all of them. A stretch is one or more statements of
//! a block, with everything inside them and a single entry: a loop, what follows the assignment to Z_G, or a
//! whole subprogram of one scalar.
//!
//! The tangents must be scalars of one type that the stretch assigns from themselves and from one tangent
//! that it does not assign, and their values before it must be zero or multiples of that tangent. Other
//! tangents may stay unchanged in the stretch, if they are multiples. The stretch is rewritten if that saves
//! multiplications, where statements in loops count more than those around them. Where a derivative is
//! infinite and the tangent zero, the product is NaN.
//!
//! Statements that reverse mode transposes keep the form that the rules give.
//!
//! [`plan`] finds the stretches by the control flow and the liveness of tangents ([`facts`]), [`multiples`]
//! recognises multiples, [`rewrite`] carries out the plans.

mod facts;
mod multiples;
mod plan;
mod rewrite;

use crate::simplify::preaccumulate::{named_in_specs, undeclare_unused};
use facts::TangentFacts;
use farfel_lang::ir::{SymId, Unit};
use rewrite::{NamedPlan, apply, drop};
use std::collections::{HashMap, HashSet};

/// The maximum number of repetitions of the pass: changed stretches may make it apply to their surroundings.
const MOST_ROUNDS: usize = 3;

/// Rewrites the stretches of a unit. `primal` has the variable of each tangent. Returns the new variables:
/// these are derivatives, but not tangents.
pub(crate) fn in_one_direction(
    unit: &mut Unit,
    tangents: &HashSet<SymId>,
    primal: &HashMap<SymId, SymId>,
) -> HashSet<SymId> {
    let mut made = HashSet::new();
    let mut multiples = HashSet::new();
    let mut fixed = HashSet::new();
    named_in_specs(unit, &mut fixed);
    unit.number();
    for _ in 0..MOST_ROUNDS {
        let plans = TangentFacts::of(unit, tangents, &fixed).map_or_else(Vec::new, |f| f.plans());
        if plans.is_empty() {
            break;
        }
        let mut ready = HashMap::new();
        for plan in plans {
            let named = NamedPlan::of(unit, plan, tangents, primal);
            made.extend(named.by.values().copied());
            multiples.extend(named.by.keys().copied());
            ready.insert(named.plan.first, named);
        }
        let mut body = std::mem::take(&mut unit.body);
        apply(unit, &ready, &mut body);
        unit.body = body;
        unit.number();
    }
    let all: HashSet<SymId> = tangents.union(&made).copied().collect();
    if !made.is_empty()
        && let Some(facts) = TangentFacts::of(unit, &all, &fixed)
    {
        multiples.extend(&made);
        let dead = facts.dead(&multiples);
        let mut body = std::mem::take(&mut unit.body);
        drop(&dead, &mut body);
        unit.body = body;
        undeclare_unused(unit, &all);
    }
    made
}
