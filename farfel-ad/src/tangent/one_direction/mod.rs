//! Loops whose tangents are all multiples of one.
//!
//! In a Horner scheme or a series in Z, each tangent is a multiple of that of Z, and the product
//! rule multiplies by it in each iteration:
//!
//! ```fortran
//!       DO 20 K = 25, 1, -1
//!         GR_G = GR_G*Z + GR*Z_G
//!         GR = GR*Z + G(K)
//!    20 CONTINUE
//! ```
//!
//! This pass lets such a loop compute the derivative by Z, and multiplies once behind it:
//!
//! ```fortran
//!       GR_BY_Z = 0.0D0
//!       DO 20 K = 25, 1, -1
//!         GR_BY_Z = GR_BY_Z*Z + GR
//!         GR = GR*Z + G(K)
//!    20 CONTINUE
//!       GR_G = GR_BY_Z*Z_G
//! ```
//!
//! With several directions the loop is carried out once for all of them.
//!
//! It holds for scalars of one type that the loop assigns, from themselves and from one tangent
//! that it does not assign, where their values before the loop are zero or multiples of that
//! tangent. Where a derivative is infinite and the tangent zero, the product is NaN.
//!
//! What reverse mode transposes stays as the rules give it.

mod facts;
mod form;
mod plan;
mod rewrite;

use crate::collect::{named_in_specs, undeclare_unused};
use facts::Facts;
use farfel_lang::ir::{SymId, Unit};
use rewrite::{Named, apply, drop};
use std::collections::{HashMap, HashSet};

/// How often the pass is repeated, at most: loops around those that it has changed may be next.
const MOST_ROUNDS: usize = 3;

/// Rewrites the loops of a unit. `primal` says of which variable a tangent is. Gives the new
/// variables: derivatives, but no tangents.
pub(super) fn in_one_direction(
    unit: &mut Unit,
    tangents: &HashSet<SymId>,
    primal: &HashMap<SymId, SymId>,
) -> HashSet<SymId> {
    let mut made = HashSet::new();
    let mut multiples = HashSet::new();
    let mut fixed = HashSet::new();
    named_in_specs(unit, &mut fixed);
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
            ready.insert(named.plan.head, named);
        }
        let mut body = std::mem::take(&mut unit.body);
        apply(unit, &ready, &mut body, &mut 0);
        unit.body = body;
    }
    if !multiples.is_empty()
        && let Some(facts) = Facts::of(unit, tangents, &fixed)
    {
        let dead = facts.dead(&multiples);
        let mut body = std::mem::take(&mut unit.body);
        drop(&dead, &mut body, &mut 0);
        unit.body = body;
        undeclare_unused(unit, tangents);
    }
    made
}
