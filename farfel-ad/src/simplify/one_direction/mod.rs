//! Stretches of statements whose tangents are all multiples of one.
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
//! This pass lets such statements compute derivatives by Z, and multiplies once behind them:
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
//! With several directions the loop is carried out once for all of them. A stretch is one or more
//! statements of a block, with all that is inside of them and one way in: a loop, what follows the
//! assignment to Z_G, or a whole subprogram of one scalar.
//!
//! It holds for scalars of one type that the stretch assigns, from themselves and from one tangent
//! that it does not assign, where their values before it are zero or multiples of that tangent.
//! Other tangents may stay the same in it, if they are multiples. It is done where it saves
//! multiplications, statements in loops counting more often than those around them.
//! Where a derivative is infinite and the tangent zero, the product is NaN.
//!
//! What reverse mode transposes stays as the rules give it.
//!
//! [`plan`] finds the stretches by the flow of control and the liveness of tangents ([`facts`]),
//! [`form`] recognises multiples, [`rewrite`] does what was planned.

mod facts;
mod form;
mod plan;
mod rewrite;

use crate::simplify::preaccumulate::{named_in_specs, undeclare_unused};
use facts::Facts;
use farfel_lang::ir::{SymId, Unit};
use rewrite::{Named, apply, drop};
use std::collections::{HashMap, HashSet};

/// How often the pass is repeated, at most: what is around changed stretches may be next.
const MOST_ROUNDS: usize = 3;

/// Rewrites the stretches of a unit. `primal` says of which variable a tangent is. Gives the new
/// variables: derivatives, but no tangents.
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
        let plans = Facts::of(unit, tangents, &fixed).map_or_else(Vec::new, |f| f.plans());
        if plans.is_empty() {
            break;
        }
        let mut ready = HashMap::new();
        for plan in plans {
            let named = Named::of(unit, plan, tangents, primal);
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
        && let Some(facts) = Facts::of(unit, &all, &fixed)
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
