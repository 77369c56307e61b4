//! Generates subprograms from sweeps.

use super::effects::Effects;
use super::generated::{GeneratedUnit, SweepResults};
use super::growing::{self, Growers};
use super::placed_zeros::place_zeros;
use super::sweep_data::{Sweeps, UnitFacts};
use super::tape::{TapeKind, Tapes};
use super::tape_calls;
use super::tape_size::{self, SweptUnit, Unknown};
use super::unit_builder::{UnitBuilder, zero};
use super::{AdjointEngine, Part, aliased_arguments, dead_code, groups, heads, known_zeros, state};
use crate::legal::argument_sizes::ArrayArgument;
use crate::legal::called::called;
use crate::locations::{Set, Space, common_members};
use crate::parallel::{self, DerivativeUnit};
use crate::passes::{Derivative, simplify_derivative};
use farfel_lang::Span;
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::dataflow::Intents;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    Block, Expr, Name, Program, SpecKind, Stmt, StorageClass, SymId, Type, Unit, UnitKind,
    for_each_symbol,
};
use farfel_lang::lower::{join_declarations, without_unused};
use farfel_lang::verify::{Primals, is_on};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The declaration of a COMMON block.
struct Declaration {
    from: Unit,
    members: Vec<SymId>,
    /// Which of the members are derivatives.
    derivatives: Vec<bool>,
}

/// Numbers and verifies what has been made so far.
fn verified(
    pass: &str,
    closure: &Program,
    made: &mut [GeneratedUnit],
) -> Result<(), Vec<Diagnostic>> {
    made.iter_mut().for_each(|m| m.unit.number());
    if !is_on() {
        return Ok(());
    }
    let units: Vec<Unit> = made.iter().map(|m| m.unit.clone()).collect();
    let primals = made
        .iter()
        .map(|m| (m.unit.name.clone(), m.primals.clone()));
    crate::verify::generated_units(pass, closure, &units, &Primals::of_adjoints(primals))
}

/// Removes units that no head calls: adjoints that are only called with parts of one array, for which there is a copy,
/// and subprograms for tapes whose calls have been combined with others.
fn keep_called(made: &mut Vec<GeneratedUnit>) {
    let heads = made.iter().filter(|m| m.reverse_start.is_some());
    let mut open: Vec<Name> = heads.map(|m| m.unit.name.clone()).collect();
    let mut kept: HashSet<Name> = open.iter().cloned().collect();
    let by_name: HashMap<Name, &Unit> = made
        .iter()
        .map(|m| (m.unit.name.clone(), &m.unit))
        .collect();
    while let Some(name) = open.pop() {
        for callee in by_name.get(&name).into_iter().flat_map(|u| called(u)) {
            if kept.insert(callee.clone()) {
                open.push(callee);
            }
        }
    }
    made.retain(|m| kept.contains(&m.unit.name));
}

impl AdjointEngine {
    /// Returns the units of all parts.
    pub(super) fn units(
        &self,
        closure: &Program,
        known: SweepResults,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<GeneratedUnit>, Vec<Diagnostic>> {
        let mut out: Vec<GeneratedUnit> = Vec::new();
        let SweepResults {
            facts,
            mut swept,
            mut errors,
        } = known;
        let found = swept.iter_mut().flat_map(|s| std::mem::take(&mut s.errors));
        errors.extend(found);
        // For each head, its tapes and their sizes.
        let mut all_tape_sizes = BTreeMap::new();
        for (i, _) in self.parts.iter().enumerate().filter(|(_, p)| p.root) {
            let mut kinds = facts[i].tapes.clone();
            kinds.extend(swept[i].tapes.used.keys());
            let tape_sizes = self.tape_sizes(&swept, &kinds, i);
            all_tape_sizes.insert(i, (kinds, tape_sizes));
        }
        let growers = self.growers(closure, &all_tape_sizes);
        let calls = self.tape_calls(closure, &swept, &growers);
        for (i, (p, s)) in self.parts.iter().zip(swept).enumerate() {
            let (mut builder, mut tapes, mut made) = (s.builder, s.tapes, s.made);
            // Include tapes that only its callees use.
            let used = all_tape_sizes
                .get(&i)
                .map_or(&facts[i].tapes, |(kinds, _)| kinds);
            for kind in used {
                tapes.vars(&mut builder, *kind);
            }
            let grow = &growers[i];
            let own = &calls[i];
            groups::group(&builder.unit, &tapes, grow, own, &mut made.forward);
            groups::group(&builder.unit, &tapes, grow, own, &mut made.backward);
            tapes.grow(&mut builder, grow, [&mut made.forward, &mut made.backward]);
            let derivatives = builder.derivatives.clone();
            let mut all = Set::with_capacity(self.commons.vars.len());
            all.insert_range(..);
            if p.root {
                let tape_sizes = all_tape_sizes
                    .get(&i)
                    .map(|(_, tape_sizes)| tape_sizes.clone());
                let tape_sizes = tape_sizes.unwrap_or_default();
                let (live_after, commons) = self.live_after(p, &facts[i], derivatives.clone());
                let (unit, reverse_start) = self.root(p, builder, tapes, made, tape_sizes, grow);
                out.push(GeneratedUnit {
                    unit,
                    reverse_start: Some(reverse_start),
                    of: p.of.clone(),
                    derivatives,
                    primals: p.primals.clone(),
                    live_after,
                    commons,
                    forward: false,
                    tapes: HashSet::new(),
                });
                continue;
            }
            if facts[i].forward {
                out.push(GeneratedUnit {
                    of: p.of.clone(),
                    derivatives: HashSet::new(),
                    primals: Vec::new(),
                    unit: self.forward(p, builder.clone(), &tapes, made.forward),
                    live_after: builder.unit.symbols.ids().collect(),
                    commons: all,
                    forward: true,
                    reverse_start: None,
                    tapes: tapes.symbols().collect(),
                });
            }
            let mut live_after = derivatives;
            live_after.extend(tapes.symbols());
            let (live_after, commons) = self.live_after(p, &facts[i], live_after);
            out.push(GeneratedUnit {
                of: p.of.clone(),
                derivatives: builder.derivatives.clone(),
                primals: p.primals.clone(),
                unit: self.backward(p, builder, &tapes, made.backward),
                live_after,
                commons,
                forward: false,
                reverse_start: None,
                tapes: HashSet::new(),
            });
        }
        let tape_subprograms = self.tape_subprograms(&growers, &calls);
        let growers: Growers = growers.into_iter().flatten().collect();
        out.extend(growers.iter().map(|(kind, name)| {
            let unit = growing::grower(name, *kind, kind.limit(self.most_growing));
            self.not_derived(unit)
        }));
        aliased_arguments::redirect_aliased_calls(self, closure, &mut out, &mut errors);
        if !errors.is_empty() {
            return Err(self.errors(errors));
        }
        // The generated units have other effects than the tangents of the same names.
        let (effects, intents) = self.effects_and_intents(closure, &mut out);
        warnings.extend(state::restore(self, closure, &mut out, &effects));
        if !dead_code::has_derivatives(closure) {
            for m in &mut out {
                known_zeros::use_known_zeros(m, &self.commons, &effects);
            }
        }
        dead_code::remove_all(self, closure, &mut out, &effects, &intents);
        verified("dead code", closure, &mut out)?;
        let mut parallel: Vec<DerivativeUnit> = (out.iter_mut())
            .map(|m| DerivativeUnit {
                of: &m.of,
                unit: &mut m.unit,
                derivatives: &m.derivatives,
                primals: &m.primals,
            })
            .collect();
        parallel::settle(&mut parallel, closure, warnings);
        let threads = parallel.iter().any(|u| parallel::has_loops(u.unit));
        for m in &mut out {
            let named = |p: &&Part| [&p.forward_name, &p.backward_name].contains(&&m.unit.name);
            let all = || self.parts.iter().zip(&calls);
            let own = all().find(|(p, _)| named(p));
            // Copies for parts of one array.
            let own = own.or_else(|| all().find(|(p, _)| p.of == m.of));
            if let Some((_, calls)) = own {
                tape_calls::call(&mut m.unit, &growers, calls);
            }
        }
        let moves = tape_calls::moves(&growers, &calls);
        for m in &mut out {
            without_unused(&mut m.unit, &|_| true);
            if threads {
                parallel::own_tape_sizes(&mut m.unit);
            }
            // Remarks between the subprograms of a file do not apply to their sweeps.
            m.unit.remarks = Default::default();
            // Nothing may come between ATOMIC and its statement.
            if !parallel::has_atomics(&m.unit) {
                let mut derivative = Derivative {
                    unit: &mut m.unit,
                    tangents: &m.derivatives,
                    primal: &HashMap::new(),
                    parts: HashSet::new(),
                    tape_subprograms: &moves,
                };
                simplify_derivative(&mut derivative)?;
            }
            join_declarations(&mut m.unit);
        }
        let subprograms = tape_subprograms.into_iter();
        out.extend(subprograms.map(|unit| self.not_derived(unit)));
        keep_called(&mut out);
        Ok(out)
    }

    /// A unit that is not the derivative of another one.
    fn not_derived(&self, unit: Unit) -> GeneratedUnit {
        GeneratedUnit {
            of: unit.name.clone(),
            live_after: unit.symbols.ids().collect(),
            unit,
            derivatives: HashSet::new(),
            primals: Vec::new(),
            commons: Set::with_capacity(self.commons.vars.len()),
            forward: true,
            reverse_start: None,
            tapes: HashSet::new(),
        }
    }

    /// The effects of the program with some generated units, and how it uses its variables.
    fn effects_and_intents(
        &self,
        closure: &Program,
        made: &mut [GeneratedUnit],
    ) -> (Effects, Intents) {
        let mut all = closure.clone();
        let own = all.units.len();
        // Moved there and back: together they are as large as the program.
        let empty = || Unit::new(UnitKind::Subroutine, Name::default(), Span::NONE);
        let units = made
            .iter_mut()
            .map(|m| std::mem::replace(&mut m.unit, empty()));
        all.units.extend(units);
        let names: Vec<Name> = all.units.iter().map(|u| u.name.clone()).collect();
        let graph = ReachableUnits::of(&all, names.iter().map(Name::as_str));
        let effects = Effects::of(&graph, &self.commons);
        let intents = Intents::of(&all);
        for (m, unit) in made.iter_mut().zip(all.units.drain(own..)) {
            m.unit = unit;
        }
        (effects, intents)
    }

    /// The variables and COMMON variables that are read after a unit: its derivatives, and values that
    /// callers need again. Other primal values are not used.
    fn live_after(
        &self,
        p: &Part,
        facts: &UnitFacts,
        mut live_after: HashSet<SymId>,
    ) -> (HashSet<SymId>, Set) {
        let n = p.derivative_args.len();
        let mut commons = self.derivative_commons.clone();
        commons.extend(
            self.state
                .get(&p.of)
                .filter(|_| p.root)
                .into_iter()
                .flat_map(Set::ones),
        );
        for slot in facts.entry.ones() {
            if slot < n {
                live_after.extend(p.builder.unit.args.get(slot).and_then(|a| a.sym()));
            } else if slot > n {
                commons.insert(slot - n - 1);
            }
        }
        let locs: HashSet<usize> = live_after.iter().map(|s| p.space.loc(*s)).collect();
        let ids = p.builder.unit.symbols.ids();
        live_after.extend(ids.filter(|s| locs.contains(&p.space.loc(*s))));
        (live_after, commons)
    }

    /// How many values a unit and its callees put on each tape, where that is known.
    pub(super) fn tape_sizes(
        &self,
        swept: &[SweptUnit],
        kinds: &BTreeSet<TapeKind>,
        i: usize,
    ) -> Vec<Option<Vec<tape_size::Term>>> {
        let usage = |kind: &TapeKind, unknown| {
            let terms = tape_size::tape_usage(self, swept, i, *kind, unknown, 0)?.peak();
            // The only call may have constants as arguments.
            let in_head = tape_size::seen_from_head(self, swept, i, terms.clone());
            Some(
                in_head
                    .and_then(|(_, t)| tape_size::folded(&t))
                    .unwrap_or(terms),
            )
        };
        let size = |kind: &TapeKind| {
            let most = || usage(kind, Unknown::Maximum).filter(|t| tape_size::is_small(*kind, t));
            // Room for iterations that are hardly ever executed costs nothing in a small array.
            usage(kind, Unknown::Nothing).or_else(most)
        };
        kinds.iter().map(size).collect()
    }

    /// Sweeps all units with the final facts.
    pub(super) fn all_swept(&self, facts: &[UnitFacts]) -> Vec<SweptUnit> {
        let all = 0..self.parts.len();
        all.map(|i| self.swept(facts, i)).collect()
    }

    /// Sweeps a unit with the final facts.
    pub(super) fn swept(&self, facts: &[UnitFacts], i: usize) -> SweptUnit {
        let (sweeper, made, _) = self.sweep(facts, i);
        SweptUnit {
            errors: sweeper.errors,
            builder: sweeper.builder,
            tapes: sweeper.tapes,
            made,
            replays: sweeper.replays,
            undeclared: sweeper.undeclared,
            unsavable_calls: sweeper.unsavable_calls,
            open_arguments: sweeper.open_arguments,
            usage_cache: RefCell::default(),
        }
    }

    /// Adds to `self_restoring` the subroutines that have to save what they overwrite themselves, since their
    /// callers cannot. Returns true if there are new ones, so that the tangents must be made again.
    pub(super) fn find_self_restoring(
        closure: &Program,
        known: &SweepResults,
        self_restoring: &mut HashSet<Name>,
    ) -> bool {
        let before = self_restoring.len();
        let unsavable_calls = known.swept.iter().flat_map(|s| &s.unsavable_calls);
        let is_subroutine = |n: &&Name| {
            let unit = closure.unit(n);
            unit.is_some_and(|u| u.kind == UnitKind::Subroutine)
        };
        self_restoring.extend(unsavable_calls.filter(is_subroutine).cloned());
        self_restoring.len() > before
    }

    /// The arguments that sweeps cannot save because their sizes are not known.
    pub(super) fn open_arguments(&self, known: &SweepResults) -> BTreeSet<ArrayArgument> {
        let swept = self.parts.iter().zip(&known.swept);
        let open =
            swept.flat_map(|(p, s)| s.open_arguments.iter().map(|a| (p.of.clone(), a.clone())));
        open.collect()
    }

    /// Declares the COMMON blocks whose variables sweeps must name, where that is possible. Returns the parts in which
    /// any was declared, so that these must be swept again.
    pub(super) fn declare(&mut self, closure: &Program, swept: &[SweptUnit]) -> BTreeSet<usize> {
        let mut declared = BTreeSet::new();
        let mut declarations: HashMap<Name, Option<Declaration>> = HashMap::new();
        for (i, s) in swept
            .iter()
            .enumerate()
            .filter(|(_, s)| !s.undeclared.is_empty())
        {
            let mut own = common_members(&self.parts[i].builder.unit);
            for k in &s.undeclared {
                let block = &self.commons.vars[*k].block;
                if own.contains_key(block) {
                    continue;
                }
                let declaration = declarations.entry(block.clone()).or_insert_with(|| {
                    let (from, members) = state::declaration(self, closure, block)?;
                    let of_tangent = self.parts.iter().find(|p| p.name == from.name);
                    let derivatives = (members.iter())
                        .map(|m| of_tangent.is_some_and(|p| p.builder.derivatives.contains(m)))
                        .collect();
                    Some(Declaration {
                        from: from.clone(),
                        members,
                        derivatives,
                    })
                });
                let Some(d) = declaration else {
                    continue;
                };
                let part = &mut self.parts[i];
                let made = part.builder.import(&d.from, block, &d.members);
                let found = made.into_iter().zip(&d.derivatives).filter(|(_, d)| **d);
                part.builder.derivatives.extend(found.map(|(s, _)| s));
                part.space = Space::of(&part.builder.unit, &self.commons);
                own = common_members(&part.builder.unit);
                declared.insert(i);
            }
        }
        declared
    }

    /// Returns statements that set the cotangents of local variables to zero. In a head, this includes
    /// variables that EQUIVALENCE ties to COMMON, unless they are given there; below the head, those hold
    /// what callers have added.
    fn zeros(&self, builder: &UnitBuilder, backward: &Block, head: Option<&Part>) -> Block {
        let mut tied = tied_to_common(&builder.unit);
        if let Some(head) = head {
            let given = |block: &Name| head.given_in_common.iter().any(|(b, _)| b == block);
            tied.retain(|_, block| given(block));
        }
        let mut used = HashSet::new();
        for_each_symbol(backward, &mut |s| {
            used.insert(s);
        });
        let mut out = Vec::new();
        for (id, s) in builder.unit.symbols.iter() {
            let own = s.storage_class == StorageClass::Local && !tied.contains_key(&id);
            // The cotangents of tapes are assigned where values are popped.
            let zeroed = own && !s.tape && used.contains(&id);
            if builder.derivatives.contains(&id) && zeroed {
                let ty = s.ty.unwrap_or(Type::REAL);
                out.push(Stmt::assign(
                    Expr::var(id, Span::NONE),
                    zero(ty, Span::NONE),
                    Span::NONE,
                ));
            }
        }
        out
    }

    fn root(
        &self,
        p: &Part,
        mut builder: UnitBuilder,
        tapes: Tapes,
        made: Sweeps,
        tape_sizes: Vec<Option<Vec<tape_size::Term>>>,
        growers: &Growers,
    ) -> (Unit, usize) {
        let checks = tapes.emptiness_checks(&tape_sizes, self.lacks_source);
        let [mut body, at_turn] = {
            let most = (self.most_tape, self.most_growing);
            tapes.declare_local(&mut builder, tape_sizes, most, growers)
        };
        body.extend(made.forward);
        body.extend(at_turn);
        let reverse_start = body.len();
        if !p.is_last_call {
            body.extend(p.zero.iter().cloned());
            body.extend(self.zero_commons(&mut builder, p));
        }
        let head = Some(p).filter(|p| !p.is_last_call);
        let zeros = self.zeros(&builder, &made.backward, head);
        body.extend(place_zeros(&builder.unit, zeros, made.backward));
        body.extend(checks);
        builder.unit.name = p.backward_name.clone();
        builder.unit.body = body;
        builder.unit.comments = vec![title("Adjoint", &builder.unit.comments)];
        if self.goal.heads {
            heads::hide_result(&mut builder.unit, p.value);
        }
        (builder.unit, reverse_start)
    }

    fn forward(&self, p: &Part, mut builder: UnitBuilder, tapes: &Tapes, body: Block) -> Unit {
        builder.unit.name = p.forward_name.clone();
        let args = std::mem::take(&mut builder.unit.args);
        builder.unit.args = args
            .into_iter()
            .zip(&p.derivative_args)
            .filter(|(_, d)| !**d)
            .map(|(a, _)| a)
            .collect();
        tapes.add_arguments(&mut builder);
        builder.unit.body = body;
        builder.unit.comments = vec![format!(
            " {} with what its adjoint will need on the tape",
            p.of
        )];
        // Derivatives do not occur in it.
        let added = p.added_args.iter().zip(&p.builder.unit.args);
        let added: Vec<SymId> = added
            .filter(|(a, _)| **a)
            .filter_map(|(_, a)| a.sym())
            .collect();
        let gone: HashSet<SymId> = builder.derivatives.iter().chain(&added).copied().collect();
        builder.unit.undeclare_all(&|s| gone.contains(&s));
        for d in gone {
            builder.unit.symbols[d].storage_class = StorageClass::Local;
        }
        let derivatives = builder.derivatives.clone();
        for spec in &mut builder.unit.specs {
            match &mut spec.kind {
                SpecKind::Common(blocks) => {
                    for (_, members) in blocks.iter_mut() {
                        members.retain(|e| !derivatives.contains(&e.sym));
                    }
                    blocks.retain(|(_, members)| !members.is_empty());
                }
                SpecKind::Equivalence(groups) => {
                    groups.retain(|g| {
                        !g.iter()
                            .filter_map(Expr::base)
                            .any(|s| derivatives.contains(&s))
                    });
                }
                _ => {}
            }
        }
        builder.unit.specs.retain(|s| match &s.kind {
            SpecKind::Common(blocks) => !blocks.is_empty(),
            SpecKind::Equivalence(groups) => !groups.is_empty(),
            _ => true,
        });
        builder.unit.without_undeclared_thread_private();
        builder.unit
    }

    fn backward(&self, p: &Part, mut builder: UnitBuilder, tapes: &Tapes, backward: Block) -> Unit {
        tapes.add_arguments(&mut builder);
        let zeros = self.zeros(&builder, &backward, None);
        builder.unit.name = p.backward_name.clone();
        builder.unit.body = place_zeros(&builder.unit, zeros, backward);
        builder.unit.comments =
            match p.derivative_args.contains(&true) || !p.builder.derivatives.is_empty() {
                true => vec![title("Adjoint", &builder.unit.comments)],
                false => vec![format!(" Puts back what {} has overwritten", p.of)],
            };
        builder.unit
    }

    /// Returns statements that set the cotangents of COMMON variables to zero: at the beginning nothing has
    /// been added to them.
    fn zero_commons(&self, builder: &mut UnitBuilder, root: &Part) -> Block {
        let mut out = Vec::new();
        let mut done: HashSet<Name> = HashSet::new();
        for p in heads::reached(&self.parts, root, &self.index) {
            for (block, members) in crate::locations::common_members(&p.builder.unit) {
                let theirs: Vec<SymId> = members
                    .iter()
                    .copied()
                    .filter(|s| p.builder.derivatives.contains(s))
                    .collect();
                if theirs.is_empty() || !done.insert(block.clone()) {
                    continue;
                }
                let own = crate::locations::common_members(&builder.unit)
                    .remove(&block)
                    .unwrap_or_else(|| {
                        let own = builder.import(&p.builder.unit, &block, &members);
                        builder.derivatives.extend(own.iter().copied());
                        own
                    });
                for (position, s) in own.into_iter().enumerate() {
                    if root.given_in_common.contains(&(block.clone(), position)) {
                        continue;
                    }
                    let ty = builder.unit.symbols[s].ty.unwrap_or(Type::REAL);
                    let to = Expr::var(s, Span::NONE);
                    out.push(Stmt::assign(to, zero(ty, Span::NONE), Span::NONE));
                }
            }
        }
        out
    }
}

/// Variables that EQUIVALENCE places in COMMON blocks, with the blocks.
fn tied_to_common(unit: &Unit) -> HashMap<SymId, Name> {
    let groups = unit.specs.iter().filter_map(|s| match &s.kind {
        SpecKind::Equivalence(groups) => Some(groups),
        _ => None,
    });
    let groups: Vec<Vec<SymId>> = groups
        .flatten()
        .map(|g| g.iter().filter_map(Expr::base).collect())
        .collect();
    let mut tied: HashMap<SymId, Name> = HashMap::new();
    loop {
        let before = tied.len();
        for group in &groups {
            let block = group
                .iter()
                .find_map(|s| match &unit.symbols[*s].storage_class {
                    StorageClass::Common(block) => Some(block.clone()),
                    _ => tied.get(s).cloned(),
                });
            if let Some(block) = block {
                tied.extend(group.iter().map(|s| (*s, block.clone())));
            }
        }
        if tied.len() == before {
            return tied;
        }
    }
}

/// Makes the title of an adjoint from that of the tangent, `Tangent of F: …`.
fn title(kind: &str, comments: &[String]) -> String {
    let first = comments.first().map_or("", |c| c.as_str());
    match first.trim_start().strip_prefix("Tangent") {
        Some(rest) => format!(" {kind}{rest}"),
        None => first.to_owned(),
    }
}
