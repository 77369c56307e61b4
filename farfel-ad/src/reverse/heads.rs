//! Adjoints of several heads at once that are called from outside.
//!
//! Each head becomes one subroutine with both sweeps. A subprogram below a head has separate sweeps,
//! FOO_B_FWD and FOO_B_BWD, with the tapes as additional arguments. If the forward sweep records nothing, the
//! original subprogram is called, and the reverse sweep is FOO_B. A head that is also called by other
//! subprograms gets both forms.

use super::fixed_point::NotReduced;
use super::generated::SweepResults;
use super::repeated_calls::ExecutedOnce;
use super::sweep_data::UnitFacts;
use super::{AdjointEngine, Part, cost, dead_code, prepare, state};
use crate::custom_rules::rules::Rules;
use crate::layout::Layout;
use crate::layout::{GROWING, MOST_TAPE};
use crate::locations::{Commons, Context, Set, common_members};
use crate::tangent::{self, Head, Tangent, Tangents, UserDerivative};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, Severity};
use farfel_lang::ir::{
    Expr, Name, Program, Request, StmtKind, StorageClass, SymId, Unit, for_each_reference,
    unused_name, walk_block,
};
use farfel_lang::verify::Primals;
use std::collections::{BTreeSet, HashMap, HashSet};

/// What the adjoints of one run are made for: a request or heads.
pub(super) struct AdjointGoal {
    /// The AD block that requests them, or [`Span::NONE`].
    pub span: Span,
    /// The derivatives that are called from outside, or passed as arguments.
    pub roots: HashSet<Name>,
    /// The suffix of the names of added symbols.
    pub suffix: Name,
    /// They are made for heads that are called from outside, not for an AD block.
    pub heads: bool,
    /// Whether the user defines sizes of arrays that must be saved ([`Layout::ask_saved_sizes`]).
    pub asks_sizes: bool,
    /// The derivatives that are given, not generated.
    pub rules: Rules,
    /// The arguments of [`NOT_REDUCED`](super::NOT_REDUCED).
    pub not_reduced: NotReduced,
}

impl AdjointGoal {
    /// The goal for a request of the compiler.
    pub fn of(request: &Request, closure: &Program) -> Self {
        AdjointGoal {
            span: request.span,
            roots: HashSet::from([request.derivative.clone()]),
            suffix: request.suffix.clone(),
            heads: false,
            asks_sizes: false,
            rules: Rules::of(closure),
            not_reduced: NotReduced::of(closure, 4),
        }
    }

    /// The name of the forward sweep of a subprogram `of` whose tangent is called `name`.
    pub fn forward_name(&self, of: &Name, name: &Name) -> Name {
        match name.strip_prefix(of.as_str()) {
            _ if self.heads => format!("{name}_FWD").into(),
            Some(rest) => format!("{of}_F{rest}").into(),
            None => format!("{name}_F{}", self.suffix).into(),
        }
    }
}

/// The adjoint of a subprogram, or one of its sweeps.
#[derive(Debug)]
pub struct Adjoint {
    /// The subprogram that it is the derivative of.
    pub of: Name,
    /// The context of a head, if it is the adjoint of one.
    pub head: Option<Context>,
    /// The derivative.
    pub unit: Unit,
}

/// The adjoints of some heads.
#[derive(Debug)]
pub struct Adjoints {
    /// The derivatives.
    pub units: Vec<Adjoint>,
    /// Procedures without source text whose derivatives are called.
    pub user_derivatives: Vec<UserDerivative>,
    /// The dependence analysis that slots are numbered by.
    pub dependence: crate::depend::Dependence,
}

/// Returns the adjoints of some heads and of the active subprograms below them, laid out by `layout`. Calls of
/// subprograms other than those in `once` are executed again if their tapes would be long.
///
/// # Errors
///
/// Returns an error for each construct that cannot be differentiated, with its place in the source.
pub fn differentiate_heads(
    program: &Program,
    heads: &[Head],
    layout: &Layout,
    once: &ExecutedOnce,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Adjoints, Vec<Diagnostic>> {
    let names: Vec<&str> = heads.iter().map(|h| h.unit.as_str()).collect();
    let closure = prepare::prepare_heads(program, &names)?;
    let heads = &tangent::renumbered(heads, program, &closure.program)[..];
    let mut self_restoring = HashSet::new();
    let (
        PreparedHeads {
            engine,
            contexts,
            user_derivatives,
            dependence,
        },
        known,
    ) = loop {
        let mut found = Vec::new();
        let made =
            tangent::linear_heads(&closure.program, heads, layout, &self_restoring, &mut found)?;
        let mut prepared = PreparedHeads::of(&closure.program, heads, layout, made)?;
        prepared.engine.goal.not_reduced = NotReduced::of(program, layout.real);
        let known = prepared
            .engine
            .facts_and_sweeps_with_declarations(&closure.program);
        if !AdjointEngine::find_self_restoring(&closure.program, &known, &mut self_restoring) {
            let known =
                prepared
                    .engine
                    .with_repeated_calls(&closure.program, once, known, &mut found);
            warnings.extend(closure.warnings.iter().cloned());
            warnings.append(&mut found);
            break (prepared, known);
        }
    };
    let made_units = engine.units(&closure.program, known, warnings)?;
    let (mut of, mut units): (Vec<Name>, Vec<Unit>) =
        made_units.into_iter().map(|m| (m.of, m.unit)).unzip();
    closure.finish(&mut units, &Name::default());
    units.iter_mut().for_each(Unit::number);
    let legal = Some(&closure.program);
    crate::verify::generated_units_of("reverse", program, legal, &units, &Primals::default())?;
    // Added units are not the derivative of anything.
    of.extend(units[of.len()..].iter().map(|u| u.name.clone()));
    let adjoints = of.into_iter().zip(units).map(|(of, unit)| {
        let context = contexts.iter().find(|(n, _)| *n == unit.name);
        Adjoint {
            of,
            head: context.map(|(_, c)| c.clone()),
            unit,
        }
    });
    Ok(Adjoints {
        units: adjoints.collect(),
        user_derivatives,
        dependence,
    })
}

/// Returns the tangents that [`differentiate_heads`] makes the adjoints of: adjoints propagate through the same calls.
/// This takes a small part of the time.
///
/// # Errors
///
/// Returns an error for each construct that cannot be differentiated, with its place in the source.
pub fn tangents_of_heads(
    program: &Program,
    heads: &[Head],
    layout: &Layout,
) -> Result<Vec<Tangent>, Vec<Diagnostic>> {
    let names: Vec<&str> = heads.iter().map(|h| h.unit.as_str()).collect();
    let closure = prepare::prepare_heads(program, &names)?;
    let heads = tangent::renumbered(heads, program, &closure.program);
    let (none, mut warnings) = (HashSet::new(), Vec::new());
    let made = tangent::linear_heads(&closure.program, &heads, layout, &none, &mut warnings)?;
    Ok(made.units)
}

/// The state from which the adjoints of heads are generated.
struct PreparedHeads {
    engine: AdjointEngine,
    contexts: Vec<(Name, Context)>,
    user_derivatives: Vec<UserDerivative>,
    dependence: crate::depend::Dependence,
}

impl PreparedHeads {
    fn of(
        closure: &Program,
        heads: &[Head],
        layout: &Layout,
        made: Tangents,
    ) -> Result<Self, Vec<Diagnostic>> {
        let names: Vec<&str> = heads.iter().map(|h| h.unit.as_str()).collect();
        let is_head = |t: &Tangent| heads.iter().any(|h| h.unit == t.of);
        let passed = passed_as_arguments(&made.units);
        let is_root = |t: &&Tangent| is_head(t) || passed.contains(&t.unit.name);
        let goal = AdjointGoal {
            span: Span::NONE,
            roots: (made.units.iter().filter(is_root))
                .map(|t| t.unit.name.clone())
                .collect(),
            suffix: Name::default(),
            heads: true,
            asks_sizes: layout.ask_saved_sizes,
            rules: Rules::assumed(&made.user_derivatives, &made.dependence.rules),
            not_reduced: NotReduced::of(closure, layout.real),
        };
        let contexts = (made.units.iter().filter(|t| is_head(t)))
            .map(|t| (t.unit.name.clone(), t.context.clone()))
            .collect();
        let mut engine = AdjointEngine::of(closure, made.units, goal)?;
        engine.most_growing = MOST_TAPE * GROWING;
        engine.state = state::of(closure, &names, &engine.commons, layout.real);
        // The adjoints below the heads have the names and arguments that Tapenade gives them.
        dead_code::remove_unneeded_values(&mut engine, closure, false);
        Ok(PreparedHeads {
            engine,
            contexts,
            user_derivatives: made.user_derivatives,
            dependence: made.dependence,
        })
    }
}

impl AdjointEngine {
    /// Like [`AdjointEngine::facts_and_sweeps`], after declaring in the units all COMMON blocks whose
    /// variables the sweeps must name.
    fn facts_and_sweeps_with_declarations(&mut self, closure: &Program) -> SweepResults {
        let known = self.facts_and_sweeps();
        let known = self.with_declarations(closure, known);
        if !self.computes_again || !known.lacks_something() {
            return known;
        }
        self.computes_again = false;
        self.facts_and_sweeps_with_declarations(closure)
    }

    /// Declares in the units all COMMON blocks whose variables the sweeps must name, and sweeps again what that changes.
    fn with_declarations(&mut self, closure: &Program, mut known: SweepResults) -> SweepResults {
        loop {
            let declared = self.declare(closure, &known.swept);
            if declared.is_empty() {
                return known;
            }
            known = self.swept_again(known, declared);
        }
    }

    /// Makes calls joint if the user has marked them, or if that saves much memory. `known` are the sweeps with split
    /// calls.
    fn with_repeated_calls(
        &mut self,
        closure: &Program,
        once: &ExecutedOnce,
        known: SweepResults,
        warnings: &mut Vec<Diagnostic>,
    ) -> SweepResults {
        // Errors end the command, and sweeps that stay would lose them.
        if known.has_errors() {
            return known;
        }
        let (marked, refused) = self.marked_calls(closure);
        let not_followed = |engine: &Self, i: usize| Diagnostic {
            severity: Severity::Warning,
            ..cost::not_repeatable(closure, &engine.parts[i])
        };
        warnings.extend(refused.into_iter().map(|i| not_followed(self, i)));
        let chosen = self.choose_repeated(once, &known);
        let automatic = &chosen.steps | &chosen.others;
        let all = &automatic | &marked;
        if all.is_empty() {
            return known;
        }
        let split = self.only_split.clone();
        let below = self.with_called(chosen.others);
        // From the beginning: callers need less.
        drop(known);
        let has_marked = !marked.is_subset(&automatic);
        for joint in std::iter::once(all).chain(has_marked.then_some(automatic)) {
            self.joint = joint;
            self.only_split = &split | &below;
            let joint = self.facts_and_sweeps();
            let joint = self.with_declarations(closure, joint);
            let unsavable = joint.swept.iter().any(|s| !s.unsavable_calls.is_empty());
            if !joint.has_errors() && !unsavable {
                return joint;
            }
            // Something would have to be saved that cannot be.
            let lost = marked.iter().filter(|_| self.joint.is_superset(&marked));
            warnings.extend(lost.map(|i| not_followed(self, *i)));
        }
        self.joint.clear();
        self.only_split = split;
        self.facts_and_sweeps()
    }

    /// Sweeps some parts again, and all for which something else is needed now.
    fn swept_again(&mut self, known: SweepResults, again: BTreeSet<usize>) -> SweepResults {
        let SweepResults { facts, swept, .. } = known;
        let parts = 0..self.parts.len();
        let (facts, mut changed) =
            self.facts_from(facts, parts.map(|i| again.contains(&i)).collect());
        changed.extend(again);
        let names = |engine: &Self| -> Vec<Name> {
            let parts = engine.parts.iter();
            parts.map(|p| p.backward_name.clone()).collect()
        };
        let before = names(self);
        name_backward(self, &facts);
        let after = names(self);
        let renamed = (0..before.len()).filter(|i| before[*i] != after[*i]);
        let renamed: BTreeSet<usize> = renamed.collect();
        let calls = |p: &Part| !self.called_by(&p.builder, &p.body).is_disjoint(&renamed);
        let callers = self.parts.iter().enumerate().filter(|(_, p)| calls(p));
        changed.extend(callers.map(|(i, _)| i).chain(renamed.iter().copied()));
        let swept = swept.into_iter().enumerate();
        let swept = swept.map(|(i, known)| match changed.contains(&i) {
            true => self.swept(&facts, i),
            false => known,
        });
        let swept = swept.collect();
        SweepResults::new(facts, swept)
    }

    /// Returns what the units must preserve for each other, and their sweeps.
    fn facts_and_sweeps(&mut self) -> SweepResults {
        let facts = self.facts();
        self.sweeps(facts)
    }

    fn sweeps(&mut self, facts: Vec<UnitFacts>) -> SweepResults {
        name_backward(self, &facts);
        let swept = self.all_swept(&facts);
        SweepResults::new(facts, swept)
    }
}

/// Names the reverse sweeps. The plain name of a derivative is reserved for the unit that has the
/// derivative's arguments, so a reverse sweep gets another name if it takes a tape, or if the complete
/// adjoint exists as well.
fn name_backward(engine: &mut AdjointEngine, facts: &[UnitFacts]) {
    let mut taken: HashSet<Name> = (engine.parts.iter())
        .flat_map(|p| [p.name.clone(), p.forward_name.clone()])
        .collect();
    for (p, facts) in engine.parts.iter_mut().zip(facts) {
        p.backward_name = p.name.clone();
        let own = !p.is_called_from_outside && !facts.forward && facts.tapes.is_empty();
        if !p.root && !own {
            p.backward_name = unused_name(&format!("{}_BWD", p.name), &|n| taken.contains(n));
            taken.insert(p.backward_name.clone());
        }
    }
}

/// Members of COMMON blocks: the block, and the zero-based position in it.
pub(super) type CommonMembers = HashSet<(Name, usize)>;

/// The COMMON derivatives that are set when a head's adjoint is called: those of its dependent variables. If
/// a block is a single location, all of its members.
pub(super) fn given_in_common(
    tangents: &[Tangent],
    root: &Tangent,
    commons: &Commons,
) -> CommonMembers {
    let numbers: Set = (root.context.outputs.ones())
        .filter_map(|slot| slot.checked_sub(root.args + 1))
        .collect();
    let mut found = CommonMembers::new();
    for t in tangents {
        let members = common_members(&t.unit);
        for (slot, d) in &t.by_slot {
            let StorageClass::Common(block) = &t.unit.symbols[*d].storage_class else {
                continue;
            };
            let number = slot.checked_sub(t.args + 1);
            let position = members
                .get(block)
                .and_then(|m| m.iter().position(|s| s == d));
            let (Some(k), Some(position)) = (number, position) else {
                continue;
            };
            if !numbers.contains(k) {
                continue;
            }
            let whole = commons.irregular.contains(&commons.vars[k].block);
            let members = members.get(block).map_or(0, Vec::len);
            let positions = match whole {
                true => 0..members,
                false => position..position + 1,
            };
            found.extend(positions.map(|p| (block.clone(), p)));
        }
    }
    found
}

/// Removes the value of a function from the arguments of its adjoint: the caller has no use for it.
pub(super) fn hide_result(unit: &mut Unit, value: Option<SymId>) {
    let Some(value) = value else { return };
    unit.args.retain(|a| a.sym() != Some(value));
    unit.symbols[value].storage_class = StorageClass::Local;
}

/// The names of all procedures that the tangents call.
pub(super) fn called(tangents: &[Tangent]) -> HashSet<Name> {
    let mut found = HashSet::new();
    for t in tangents {
        walk_block(&t.unit.body, &mut |s| {
            if let StmtKind::Call(callee, _) = &s.kind {
                found.insert(t.unit.symbols[*callee].name.clone());
            }
        });
    }
    found
}

/// The names of tangents that are passed as arguments. The procedures that receive them call their adjoints
/// like those of heads, with both sweeps in one unit.
fn passed_as_arguments(tangents: &[Tangent]) -> HashSet<Name> {
    let mut found = HashSet::new();
    for t in tangents {
        for_each_reference(&t.unit.body, &mut |call| {
            let named = call.args.iter().filter_map(Expr::base);
            let symbols = named.map(|s| &t.unit.symbols[s]);
            let procedures = symbols.filter(|s| s.class.is_procedure());
            found.extend(procedures.map(|s| s.name.clone()));
        });
    }
    found
}

/// The parts that are reachable from a head, including itself.
pub(super) fn reached<'p>(
    parts: &'p [Part],
    root: &'p Part,
    index: &HashMap<Name, usize>,
) -> Vec<&'p Part> {
    let mut found = vec![root];
    let mut seen: HashSet<usize> = HashSet::new();
    let mut at = 0;
    while let Some(p) = found.get(at).copied() {
        walk_block(&p.body, &mut |s| {
            if let StmtKind::Call(callee, _) = &s.kind
                && let Some(i) = index.get(&p.builder.unit.symbols[*callee].name)
                && seen.insert(*i)
            {
                found.extend(parts.get(*i));
            }
        });
        at += 1;
    }
    found
}
