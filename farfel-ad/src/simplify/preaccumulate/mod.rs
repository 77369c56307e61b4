//! Makes generated tangent code as good as handwritten code.
//!
//! The product rule leaves the derivative of `B*(20 - 0.1*B) - B*(10 - 0.05*B)` scattered over temporaries:
//! one for each factor, with terms in `B` in each of them. This pass combines the statements of a
//! straight-line stretch (local accumulation of the Jacobian): each tangent becomes
//!
//! ```fortran
//!       R_G = B_G*(10.0 - 0.1*B)
//! ```
//!
//! # What it does
//!
//! Within each stretch of assignments without labels, jumps, calls and blocks between them (`stretch`):
//!
//! * every assignment to a tangent is read as a sum of tangents with coefficients (`linear`), each
//!   coefficient a sum of products with literal factors (`affine`);
//! * names of earlier tangents of the stretch are replaced by their values;
//! * a variable or parenthesis in a coefficient whose value is known as such a sum is replaced by the sum, if
//!   that merges like terms. Only literals are multiplied into sums: other products stay products;
//! * literals are folded exactly, as decimal numbers (`decimal`);
//! * the result is written so that compilers can move most of it out of loops (`emit`);
//! * assignments to tangents that are no longer read are removed.
//!
//! # What it keeps
//!
//! Only assignments to tangents are rewritten or removed, never other statements, so the values of the
//! program itself stay exactly the same. Those of tangents may differ in the last bits: sums are regrouped,
//! even across parentheses. What is computed in another type than the tangent's stays as it is: `0.1` and
//! `0.1D0` are different numbers. No two variables are multiplied that the program does not multiply: where
//! the tangent is zero, the product might be infinite, and zero times infinity is not zero.
//!
//! As the standard allows, dummy arguments that are assigned are taken to be different variables.
//!
//! # Why code does not grow
//!
//! Each statement has an allowance: at first the cost of its own text (`emit::cost`). A tangent is put into
//! the statement that reads it if the statement's cost does not grow, or if this is the only reader, so that
//! the assignment is removed: then the cost may grow by that of the assignment, and the statement inherits
//! its allowance. A text whose cost exceeds the allowance is never used. Since each allowance is inherited at
//! most once, the cost of all statements together never exceeds what it was. Names are replaced by what was
//! assigned to them earlier in the stretch, which names only what was assigned still earlier, so the
//! replacement terminates.

mod coefficient;
mod decimal;
mod emit;
mod linear;
mod liveness;
mod straight_line;

use farfel_lang::ir::{Block, Expr, Stmt, StmtKind, SymId, Unit, for_each_symbol};
use farfel_lang::storage::UnitStorage;
pub(crate) use liveness::named_in_specs;
use std::collections::{HashMap, HashSet};
pub(crate) use straight_line::{for_each_read, len as stretch_len, scalar_target};

/// The maximum number of repetitions of the pass, which stops when nothing changes.
const MOST_ROUNDS: usize = 4;

/// Simplifies the assignments to tangents in a derivative unit.
///
/// `derivatives` are the symbols of the unit that hold tangents: dummy arguments, locals,
/// results. Symbols that hold tangents of an earlier differentiation are ordinary
/// variables here.
pub fn preaccumulate(unit: &mut Unit, derivatives: &HashSet<SymId>) {
    for _ in 0..MOST_ROUNDS {
        let mut body = std::mem::take(&mut unit.body);
        let changed = Pass::new(unit, &body, derivatives).block(&mut body);
        unit.body = body;
        if !changed {
            break;
        }
    }
    undeclare_unused(unit, derivatives);
}

/// What the pass knows about the unit.
struct Pass<'a> {
    unit: &'a Unit,
    tangents: &'a HashSet<SymId>,
    /// The variable of each tangent, if the name of the tangent tells it.
    variables: HashMap<SymId, SymId>,
    /// All variables that have tangents.
    active: HashSet<SymId>,
    /// Which variables share storage with others.
    storage: UnitStorage,
    /// Tangents that no stretch reads without having assigned them, and that nothing else
    /// reads: at the end of a stretch they are dead.
    local: HashSet<SymId>,
}

impl<'a> Pass<'a> {
    fn new(unit: &'a Unit, body: &Block, tangents: &'a HashSet<SymId>) -> Self {
        let variables: HashMap<SymId, SymId> = tangents
            .iter()
            .filter_map(|t| Some((*t, variable_of(unit, *t, tangents)?)))
            .collect();
        let storage = UnitStorage::of(unit);
        Pass {
            unit,
            tangents,
            active: variables.values().copied().collect(),
            variables,
            local: liveness::local(unit, body, tangents, &storage),
            storage,
        }
    }

    /// Rewrites the stretches of a block and of the blocks in it. Returns true if anything changed.
    fn block(&self, block: &mut Block) -> bool {
        let mut changed = false;
        let mut from = 0;
        while from < block.len() {
            let to = from + straight_line::len(self.unit, &block[from..]);
            if to > from {
                let removed = self.stretch(&mut block[from..to], &mut changed);
                let mut at = 0;
                block.retain(|_| {
                    at += 1;
                    !(from < at && at <= to && removed[at - 1 - from])
                });
                let gone = removed.iter().filter(|r| **r).count();
                changed |= gone > 0;
                from = to - gone;
                continue;
            }
            let stmt = &mut block[from];
            // Assignments in WHERE assign only some elements of arrays.
            if !matches!(stmt.kind, StmtKind::Where(_)) {
                for inner in stmt.blocks_mut() {
                    changed |= self.block(inner);
                }
            }
            if let StmtKind::LogicalIf(_, inner) = &mut stmt.kind
                && straight_line::len(self.unit, std::slice::from_ref(inner)) == 1
            {
                // Nothing can be removed: the IF needs its statement.
                self.stretch(std::slice::from_mut(inner), &mut changed);
            }
            from += 1;
        }
        changed
    }
}

/// The variable of a tangent, from its name: `B_G2_G5` is the tangent of the variable `B_G2`, or of `B` if
/// there is no such variable. This affects only the order of terms.
fn variable_of(unit: &Unit, tangent: SymId, tangents: &HashSet<SymId>) -> Option<SymId> {
    let mut name = unit.symbols[tangent].name.as_str();
    while let Some((shorter, _)) = name.rsplit_once('_') {
        name = shorter;
        if let Some(s) = unit.symbols.find(name)
            && unit.symbols[s].is_variable()
            && !tangents.contains(&s)
        {
            return Some(s);
        }
    }
    None
}

/// Removes the declarations of tangents that are no longer named.
pub(crate) fn undeclare_unused(unit: &mut Unit, tangents: &HashSet<SymId>) {
    let mut named = HashSet::new();
    for_each_symbol(&unit.body, &mut |s| {
        named.insert(s);
    });
    named.extend(unit.args.iter().filter_map(|a| a.sym()));
    named.extend(unit.result);
    liveness::named_in_specs(unit, &mut named);
    for nested in &unit.nested {
        liveness::captured(nested, &mut named);
    }
    unit.undeclare_all(&|s| tangents.contains(&s) && !named.contains(&s));
}

/// The variable and value of an assignment.
fn assignment(stmt: &Stmt) -> Option<(&Expr, &Expr)> {
    match &stmt.kind {
        StmtKind::Assign(target, value) => Some((target, value)),
        _ => None,
    }
}
