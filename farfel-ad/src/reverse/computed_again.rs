//! Local arrays that the reverse sweep computes again, instead of keeping them on a tape from the end of the forward sweep.
//!
//! ```fortran
//!       SUBROUTINE SOLVE(X, KAPPA)
//!       REAL X(1000), KAPPA(1000), A(1000), B(1000), C(1000)
//! C     A, B, and C depend on nothing but KAPPA, which SOLVE does not change.
//! ```
//!
//! The statements that compute such arrays are the reverse sweep's first ones. Writing a value to a tape and reading it later
//! takes about as long as a few operations, and a long tape has to be provided by the system. What these statements read
//! must be there when the reverse sweep begins, so that callers may have to keep it: but that is less than the arrays.

use super::sweep::Sweeper;
use super::tbr::Needs;
use super::transpose::is_derivative;
use farfel_lang::ir::{
    Block, Class, DoControl, Expr, ExprKind, Stmt, StmtKind, StorageClass, SymId,
};
use farfel_lang::storage::constant;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The smallest number of elements for which this is done.
const LEAST_ELEMENTS: i64 = 256;

/// The maximum number of operations for each value, on average.
const MOST_OPERATIONS: f64 = 12.0;

/// The number of elements that need not be kept, for each that callers may have to keep.
const LEAST_GAIN: i64 = 2;

/// An assignment in a unit.
struct Definition {
    target: SymId,
    /// What the value, the place, and the conditions and loops around it depend on, other than the variables of these loops.
    reads: BTreeSet<SymId>,
    operations: f64,
    /// Whether it is executed whenever the unit is, and about as often as the variable has elements.
    is_repeatable: bool,
}

/// The assignments of a unit, by location.
#[derive(Default)]
struct Definitions {
    by_loc: BTreeMap<usize, Vec<Definition>>,
    /// The locations that are assigned in other ways.
    other: HashSet<usize>,
    loop_vars: HashSet<usize>,
    /// Whether statements are executed in another order than they are written.
    jumps: bool,
}

/// Where a statement is.
#[derive(Clone, Default)]
struct Surroundings {
    reads: BTreeSet<SymId>,
    loops: Vec<SymId>,
    /// Whether a condition or a place need not be the same when the reverse sweep begins, or must not be computed twice.
    is_uncertain: bool,
}

/// What a variable is computed from.
#[derive(Clone, Default)]
struct Computation {
    /// The local variables that are computed on the way, and the variable itself.
    computed: BTreeSet<usize>,
    inputs: BTreeSet<SymId>,
}

impl Sweeper<'_> {
    /// Chooses some of the local variables that the reverse sweep needs. Returns their locations, and the statements that
    /// compute them. What these read is needed from now on.
    pub(super) fn compute_again(
        &self,
        own: &[SymId],
        needs: &mut Needs,
    ) -> (BTreeSet<usize>, Block) {
        let candidates: Vec<SymId> = (own.iter().copied())
            .filter(|s| self.builder.unit.symbols[*s].is_array())
            .filter(|s| is_needed_in_all_dimensions(self.space.loc(*s), needs))
            .collect();
        if !self.engine.computes_again || candidates.is_empty() {
            return Default::default();
        }
        let body = &self.engine.parts[self.part].body;
        let mut all = Definitions::default();
        self.add_definitions(body, &Surroundings::default(), &mut all);
        if all.jumps {
            return Default::default();
        }
        let computations: Vec<Computation> = (candidates.iter())
            .filter_map(|s| self.computation(self.space.loc(*s), &all))
            .collect();
        let kept: BTreeSet<usize> = candidates.iter().map(|s| self.space.loc(*s)).collect();
        let mut chosen = Computation::default();
        loop {
            let before = chosen.computed.len();
            for c in &computations {
                let inputs: BTreeSet<SymId> = &chosen.inputs | &c.inputs;
                // Everything that can be computed from the same.
                let same = computations.iter().filter(|o| o.inputs.is_subset(&inputs));
                let computed = same.flat_map(|o| &o.computed).copied().collect();
                let all = Computation { computed, inputs };
                if self.is_worth_it(&all, &chosen, &kept, needs) {
                    chosen.computed.extend(&all.computed);
                    chosen.inputs.extend(&all.inputs);
                }
            }
            if chosen.computed.len() == before {
                break;
            }
        }
        for s in &chosen.inputs {
            needs.add_all(self.space.loc(*s));
        }
        let statements = self.slice(body, &chosen.computed);
        (chosen.computed, statements)
    }

    /// Whether computing some arrays again saves enough, if others are computed again already.
    fn is_worth_it(
        &self,
        c: &Computation,
        chosen: &Computation,
        kept: &BTreeSet<usize>,
        needs: &Needs,
    ) -> bool {
        let new = |loc: &&usize| kept.contains(loc) && !chosen.computed.contains(loc);
        let gain = c.computed.iter().filter(new).map(|l| self.elements(*l));
        let gain: i64 = gain.fold(0, i64::saturating_add);
        let inputs = (c.inputs.iter())
            .filter(|s| !chosen.inputs.contains(s) && !needs.is_own(self.space.loc(**s)));
        let loss = inputs.map(|s| self.elements(self.space.loc(*s)));
        let loss: i64 = loss.fold(0, i64::saturating_add);
        gain >= LEAST_ELEMENTS && gain >= loss.saturating_mul(LEAST_GAIN)
    }

    /// The number of elements at a location. Arrays whose bounds are not known count as [`LEAST_ELEMENTS`].
    fn elements(&self, loc: usize) -> i64 {
        let unit = &self.builder.unit;
        let here = self.variables.get(&loc).into_iter().flatten();
        let sizes = here.map(|s| match constant::extents(unit, &unit.symbols[*s].dims) {
            Some(extents) => extents.iter().fold(1, |n: i64, e| n.saturating_mul(*e)),
            None => LEAST_ELEMENTS,
        });
        sizes.max().unwrap_or(LEAST_ELEMENTS)
    }

    /// What a local variable is computed from, if its value at the end of the unit can be computed again from variables that
    /// the unit does not change.
    fn computation(&self, loc: usize, all: &Definitions) -> Option<Computation> {
        let unit = &self.builder.unit;
        let mut found = Computation::default();
        let mut open = vec![loc];
        let (mut operations, mut values) = (0.0, 0.0);
        while let Some(loc) = open.pop() {
            if !found.computed.insert(loc) {
                continue;
            }
            if all.other.contains(&loc) || all.loop_vars.contains(&loc) {
                return None;
            }
            for d in all.by_loc.get(&loc)? {
                let symbol = &unit.symbols[d.target];
                let is_own = symbol.storage_class == StorageClass::Local
                    && !self.space.saved.contains(loc)
                    && !self.space.tangled.contains(loc);
                if !is_own || !d.is_repeatable {
                    return None;
                }
                operations += d.operations;
                values += f64::from(u8::from(symbol.is_array()));
                for s in &d.reads {
                    let read = self.space.loc(*s);
                    match self.assigned.contains(read) {
                        true => open.push(read),
                        // It has no value, or a constant one.
                        false if unit.symbols[*s].storage_class == StorageClass::Local => {}
                        false => {
                            found.inputs.insert(*s);
                        }
                    }
                }
            }
        }
        (operations <= MOST_OPERATIONS * values).then_some(found)
    }

    fn add_definitions(&self, block: &[Stmt], around: &Surroundings, all: &mut Definitions) {
        for s in block {
            all.jumps |= s.label.is_some();
            match &s.kind {
                StmtKind::Comment(_)
                | StmtKind::Continue
                | StmtKind::Format(_)
                | StmtKind::Stop(_) => {}
                StmtKind::Assign(to, value) => self.add_definition(s, to, value, around, all),
                StmtKind::LogicalIf(condition, inner) => {
                    let inside = self.if_holds(around, &[condition]);
                    self.add_definitions(std::slice::from_ref(inner), &inside, all);
                }
                StmtKind::If(b) => {
                    let conditions: Vec<&Expr> = b.arms.iter().map(|(c, _)| c).collect();
                    let inside = self.if_holds(around, &conditions);
                    for b in s.blocks() {
                        self.add_definitions(b, &inside, all);
                    }
                }
                StmtKind::Do(d) => match &d.control {
                    DoControl::Count {
                        var,
                        from,
                        to,
                        step,
                    } => {
                        all.loop_vars.insert(self.space.loc(*var));
                        let bounds: Vec<&Expr> = [from, to].into_iter().chain(step).collect();
                        let inside = self.under(around, &bounds, Some(*var));
                        self.add_definitions(&d.body, &inside, all);
                    }
                    _ => self.add_other(s, all),
                },
                StmtKind::Call(..)
                | StmtKind::Io(_)
                | StmtKind::Select(_)
                | StmtKind::Where(_)
                | StmtKind::Allocation(_) => self.add_other(s, all),
                _ => all.jumps = true,
            }
        }
    }

    fn add_definition(
        &self,
        s: &Stmt,
        to: &Expr,
        value: &Expr,
        around: &Surroundings,
        all: &mut Definitions,
    ) {
        if is_derivative(&self.builder.derivatives, to) {
            return;
        }
        let symbols = &self.builder.unit.symbols;
        let mut operations = 0.0;
        value.walk(&mut |e| operations += self.operation(e));
        let Some(target) = to.base() else {
            return self.add_other(s, all);
        };
        let place = to.children();
        let of: Vec<&Expr> = std::iter::once(value).chain(place).collect();
        let inside = self.under(around, &of, None);
        let mut subscripts = BTreeSet::new();
        for e in to.children() {
            e.for_each_symbol(&mut |s| {
                subscripts.insert(s);
            });
        }
        let mut reads = inside.reads;
        let in_loop = |s: &SymId| around.loops.contains(s);
        let is_repeatable = match symbols[target].is_array() {
            true => around.loops.iter().all(|v| subscripts.contains(v)),
            false => !reads.contains(&target),
        } && !inside.is_uncertain;
        reads.retain(|s| !in_loop(s));
        let made = Definition {
            target,
            reads,
            operations,
            is_repeatable,
        };
        let loc = self.space.loc(target);
        all.by_loc.entry(loc).or_default().push(made);
    }

    /// Adds what a statement assigns in a way that is not looked into.
    fn add_other(&self, s: &Stmt, all: &mut Definitions) {
        let (unit, block) = (&self.builder.unit, std::slice::from_ref(s));
        let assigned = self.engine.assigned_in(unit, self.space, block);
        all.other.extend(assigned.ones());
    }

    /// The surroundings of what is executed under some conditions.
    fn if_holds(&self, around: &Surroundings, conditions: &[&Expr]) -> Surroundings {
        let mut inside = self.under(around, conditions, None);
        for e in conditions {
            e.for_each_symbol(&mut |s| {
                let symbol = &self.builder.unit.symbols[s];
                inside.is_uncertain |= self.may_be_set_unseen(symbol);
            });
        }
        inside
    }

    /// The surroundings of what is inside a statement with these expressions.
    fn under(&self, around: &Surroundings, of: &[&Expr], var: Option<SymId>) -> Surroundings {
        let mut inside = around.clone();
        for e in of {
            e.for_each_symbol(&mut |s| {
                let symbol = &self.builder.unit.symbols[s];
                if symbol.is_variable() && !inside.loops.contains(&s) {
                    inside.reads.insert(s);
                }
            });
            e.walk(&mut |e| {
                if let ExprKind::Call(f, _) = &e.kind {
                    let class = &self.builder.unit.symbols[*f].class;
                    inside.is_uncertain |= !matches!(class, Class::Intrinsic(_));
                }
            });
        }
        inside.loops.extend(var);
        inside
    }

    /// The statements that assign variables at some locations.
    fn slice(&self, block: &[Stmt], locs: &BTreeSet<usize>) -> Block {
        let mut out = Vec::new();
        for s in block {
            let mut kind = s.kind.clone();
            let keeps = match &mut kind {
                StmtKind::Assign(to, _) => {
                    let base = to.base().map(|b| self.space.loc(b));
                    base.is_some_and(|l| locs.contains(&l))
                        && !is_derivative(&self.builder.derivatives, to)
                }
                StmtKind::LogicalIf(_, inner) => {
                    !self.slice(std::slice::from_ref(inner), locs).is_empty()
                }
                StmtKind::If(b) => {
                    let mut any = false;
                    for b in b.blocks_mut() {
                        *b = self.slice(b, locs);
                        any |= !b.is_empty();
                    }
                    any
                }
                StmtKind::Do(d) => {
                    d.directive = None;
                    d.body = self.slice(&d.body, locs);
                    !d.body.is_empty()
                }
                _ => false,
            };
            if keeps {
                out.push(Stmt::new(kind, s.span));
            }
        }
        out
    }
}

/// Whether more of an array is needed than what has one number as a subscript.
fn is_needed_in_all_dimensions(loc: usize, needs: &Needs) -> bool {
    needs.elements(loc).is_none_or(|list| {
        let mut ranges = list.iter().map(|e| &e.ranges);
        ranges.any(|r| r.iter().all(|r| r.low.is_none() || r.low != r.high))
    })
}
