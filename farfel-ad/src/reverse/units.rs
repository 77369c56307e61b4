//! Generates subprograms from sweeps.

use super::effects::Effects;
use super::growing::{self, Growers};
use super::known::{Facts, Sweeps};
use super::made::{Known, Made};
use super::maker::{Maker, zero};
use super::tape::{Kind, Tapes};
use super::tape_size::{self, Swept};
use super::{Part, World, aliased_arguments, dead_code, groups, heads, state};
use crate::locations::{Set, Space, common_members};
use crate::passes::{Derivative, simplify_derivative};
use farfel_lang::Span;
use farfel_lang::callgraph::Below;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    Block, Expr, Name, Place, Program, SpecKind, Stmt, SymId, Type, Unit, UnitKind, for_each_symbol,
};
use farfel_lang::lower::{join_declarations, without_unused};
use farfel_lang::verify::{Primals, is_on};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Numbers and verifies what has been made so far.
fn verified(pass: &str, closure: &Program, made: &mut [Made]) -> Result<(), Vec<Diagnostic>> {
    made.iter_mut().for_each(|m| m.unit.number());
    if !is_on() {
        return Ok(());
    }
    let units: Vec<Unit> = made.iter().map(|m| m.unit.clone()).collect();
    let primals = made
        .iter()
        .map(|m| (m.unit.name.clone(), m.primals.clone()));
    crate::verify::made(pass, closure, &units, &Primals::of_adjoints(primals))
}

impl World {
    /// Returns the units of all parts.
    pub(super) fn units(
        &self,
        closure: &Program,
        known: Known,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Made>, Vec<Diagnostic>> {
        let mut out: Vec<Made> = Vec::new();
        let Known {
            facts,
            swept,
            mut errors,
        } = known;
        // For each head, its tapes and their sizes.
        let mut all_rooms = BTreeMap::new();
        for (i, _) in self.parts.iter().enumerate().filter(|(_, p)| p.root) {
            let mut kinds = facts[i].tapes.clone();
            kinds.extend(swept[i].tapes.used.keys());
            let rooms = self.rooms(&swept, &kinds, i);
            all_rooms.insert(i, (kinds, rooms));
        }
        let growers = self.growers(closure, &all_rooms);
        for (i, (p, s)) in self.parts.iter().zip(swept).enumerate() {
            let (mut make, mut tapes, mut made) = (s.make, s.tapes, s.made);
            // Include tapes that only its callees use.
            let used = all_rooms
                .get(&i)
                .map_or(&facts[i].tapes, |(kinds, _)| kinds);
            for kind in used {
                tapes.vars(&mut make, *kind);
            }
            groups::group(&tapes, &mut made.forward);
            groups::group(&tapes, &mut made.backward);
            let grow = &growers[i];
            tapes.grow(&mut make, grow, [&mut made.forward, &mut made.backward]);
            let derivatives = make.derivatives.clone();
            let mut all = Set::with_capacity(self.commons.vars.len());
            all.insert_range(..);
            if p.root {
                let rooms = all_rooms.get(&i).map(|(_, rooms)| rooms.clone());
                let rooms = rooms.unwrap_or_default();
                let (wanted, commons) = self.wanted(p, &facts[i], derivatives.clone());
                let (unit, turn) = self.root(p, make, tapes, made, rooms, grow);
                out.push(Made {
                    unit,
                    turn: Some(turn),
                    of: p.of.clone(),
                    derivatives,
                    primals: p.primals.clone(),
                    wanted,
                    commons,
                    forward: false,
                    tapes: HashSet::new(),
                });
                continue;
            }
            if facts[i].forward {
                out.push(Made {
                    of: p.of.clone(),
                    derivatives: HashSet::new(),
                    primals: Vec::new(),
                    unit: self.forward(p, make.clone(), &tapes, made.forward),
                    wanted: make.unit.symbols.ids().collect(),
                    commons: all,
                    forward: true,
                    turn: None,
                    tapes: tapes.symbols().collect(),
                });
            }
            let mut wanted = derivatives;
            wanted.extend(tapes.symbols());
            let (wanted, commons) = self.wanted(p, &facts[i], wanted);
            out.push(Made {
                of: p.of.clone(),
                derivatives: make.derivatives.clone(),
                primals: p.primals.clone(),
                unit: self.backward(p, make, &tapes, made.backward),
                wanted,
                commons,
                forward: false,
                turn: None,
                tapes: HashSet::new(),
            });
        }
        let growers: Growers = growers.into_iter().flatten().collect();
        out.extend(growers.iter().map(|(kind, name)| {
            let unit = growing::grower(name, *kind, kind.limit(self.most_growing));
            Made {
                of: name.clone(),
                wanted: unit.symbols.ids().collect(),
                unit,
                derivatives: HashSet::new(),
                primals: Vec::new(),
                commons: Set::with_capacity(self.commons.vars.len()),
                forward: true,
                turn: None,
                tapes: HashSet::new(),
            }
        }));
        aliased_arguments::merge(self, closure, &mut out, &mut errors);
        if !errors.is_empty() {
            return Err(self.errors(errors));
        }
        // The generated units have other effects than the tangents of the same names.
        let mut all = closure.clone();
        all.units.extend(out.iter().map(|m| m.unit.clone()));
        let names: Vec<Name> = all.units.iter().map(|u| u.name.clone()).collect();
        let graph = Below::of(&all, names.iter().map(Name::as_str));
        let effects = Effects::of(&graph, &self.commons);
        warnings.extend(state::put_back(self, closure, &mut out, &effects));
        dead_code::remove_all(self, &mut out, &effects);
        verified("dead code", closure, &mut out)?;
        for m in &mut out {
            without_unused(&mut m.unit, &|_| true);
            join_declarations(&mut m.unit);
            // Remarks between the subprograms of a file do not apply to their sweeps.
            m.unit.remarks = Default::default();
            let mut derivative = Derivative {
                unit: &mut m.unit,
                tangents: &m.derivatives,
                primal: &HashMap::new(),
                parts: HashSet::new(),
            };
            simplify_derivative(&mut derivative)?;
        }
        Ok(out)
    }

    /// The variables and COMMON variables that are read after a unit: its derivatives, and values that
    /// callers need again. Other primal values are not used.
    fn wanted(&self, p: &Part, facts: &Facts, mut wanted: HashSet<SymId>) -> (HashSet<SymId>, Set) {
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
                wanted.extend(p.make.unit.args.get(slot).and_then(|a| a.sym()));
            } else if slot > n {
                commons.insert(slot - n - 1);
            }
        }
        let locs: HashSet<usize> = wanted.iter().map(|s| p.space.loc(*s)).collect();
        let ids = p.make.unit.symbols.ids();
        wanted.extend(ids.filter(|s| locs.contains(&p.space.loc(*s))));
        (wanted, commons)
    }

    /// How many values a unit and its callees put on each tape, where that is known.
    pub(super) fn rooms(
        &self,
        swept: &[Swept],
        kinds: &BTreeSet<Kind>,
        i: usize,
    ) -> Vec<Option<Vec<tape_size::Term>>> {
        kinds
            .iter()
            .map(|k| tape_size::room(self, swept, i, *k, None, 0).map(tape_size::Room::most))
            .collect()
    }

    /// Sweeps all units with the final facts.
    pub(super) fn all_swept(&self, facts: &[Facts], errors: &mut Vec<Diagnostic>) -> Vec<Swept> {
        let one = |i| {
            let (mut sweeper, made, _) = self.sweep(facts, i);
            errors.append(&mut sweeper.errors);
            Swept {
                make: sweeper.make,
                tapes: sweeper.tapes,
                made,
                replays: sweeper.replays,
                undeclared: sweeper.undeclared,
                unkept: sweeper.unkept,
                rooms: RefCell::default(),
            }
        };
        (0..self.parts.len()).map(one).collect()
    }

    /// Adds to `undone` the subroutines that have to save what they overwrite themselves, since their callers
    /// cannot. Returns true if there are new ones, so that the tangents must be made again.
    pub(super) fn undo(closure: &Program, known: &Known, undone: &mut HashSet<Name>) -> bool {
        let before = undone.len();
        let unkept = known.swept.iter().flat_map(|s| &s.unkept);
        let is_subroutine = |n: &&Name| {
            let unit = closure.unit(n);
            unit.is_some_and(|u| u.kind == UnitKind::Subroutine)
        };
        undone.extend(unkept.filter(is_subroutine).cloned());
        undone.len() > before
    }

    /// Declares the COMMON blocks whose variables sweeps must name, where that is possible. Returns true if
    /// any was declared, so that the sweeps must be made again.
    pub(super) fn declare(&mut self, closure: &Program, swept: &[Swept]) -> bool {
        let mut declared = false;
        for (i, s) in swept.iter().enumerate() {
            for k in &s.undeclared {
                let v = &self.commons.vars[*k];
                let own = common_members(&self.parts[i].make.unit);
                let Some((from, members)) = state::declaration(self, closure, &v.block) else {
                    continue;
                };
                if own.contains_key(&v.block) {
                    continue;
                }
                let of_tangent = self.parts.iter().find(|p| p.name == from.name);
                let derivatives: Vec<bool> = (members.iter())
                    .map(|m| of_tangent.is_some_and(|p| p.make.derivatives.contains(m)))
                    .collect();
                let (from, block) = (from.clone(), v.block.clone());
                let part = &mut self.parts[i];
                let made = part.make.import(&from, &block, &members);
                let found = made.into_iter().zip(derivatives).filter(|(_, d)| *d);
                part.make.derivatives.extend(found.map(|(s, _)| s));
                part.space = Space::of(&part.make.unit, &self.commons);
                declared = true;
            }
        }
        declared
    }

    /// Returns statements that set the cotangents of local variables to zero. In a head, this includes
    /// variables that EQUIVALENCE ties to COMMON, unless they are given there; below the head, those hold
    /// what callers have added.
    fn zeros(&self, make: &Maker, backward: &Block, head: Option<&Part>) -> Block {
        let mut tied = tied_to_common(&make.unit);
        if let Some(head) = head {
            let given = |block: &Name| head.given_in_common.iter().any(|(b, _)| b == block);
            tied.retain(|_, block| given(block));
        }
        let mut used = HashSet::new();
        for_each_symbol(backward, &mut |s| {
            used.insert(s);
        });
        let mut out = Vec::new();
        for (id, s) in make.unit.symbols.iter() {
            let own = s.place == Place::Local && !tied.contains_key(&id);
            // The cotangents of tapes are assigned where values are popped.
            let zeroed = own && !s.tape && used.contains(&id);
            if make.derivatives.contains(&id) && zeroed {
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
        mut make: Maker,
        tapes: Tapes,
        made: Sweeps,
        rooms: Vec<Option<Vec<tape_size::Term>>>,
        growers: &Growers,
    ) -> (Unit, usize) {
        let [mut body, at_turn] = {
            let most = (self.most_tape, self.most_growing);
            tapes.be_local(&mut make, rooms, most, growers)
        };
        body.extend(made.forward);
        body.extend(at_turn);
        let turn = body.len();
        if !p.last {
            body.extend(p.zero.iter().cloned());
            body.extend(self.zero_commons(&mut make, p));
        }
        body.extend(self.zeros(&make, &made.backward, Some(p).filter(|p| !p.last)));
        body.extend(made.backward);
        make.unit.name = p.backward_name.clone();
        make.unit.body = body;
        make.unit.comments = vec![title("Adjoint", &make.unit.comments)];
        if self.order.heads {
            heads::hide_result(&mut make.unit, p.value);
        }
        (make.unit, turn)
    }

    fn forward(&self, p: &Part, mut make: Maker, tapes: &Tapes, body: Block) -> Unit {
        make.unit.name = p.forward_name.clone();
        let args = std::mem::take(&mut make.unit.args);
        make.unit.args = args
            .into_iter()
            .zip(&p.derivative_args)
            .filter(|(_, d)| !**d)
            .map(|(a, _)| a)
            .collect();
        tapes.be_arguments(&mut make);
        make.unit.body = body;
        make.unit.comments = vec![format!(
            " {} with what its adjoint will need on the tape",
            p.of
        )];
        // Derivatives do not occur in it.
        let added = p.added_args.iter().zip(&p.make.unit.args);
        let added: Vec<SymId> = added
            .filter(|(a, _)| **a)
            .filter_map(|(_, a)| a.sym())
            .collect();
        let gone: HashSet<SymId> = make.derivatives.iter().chain(&added).copied().collect();
        make.unit.undeclare_all(&|s| gone.contains(&s));
        for d in gone {
            make.unit.symbols[d].place = Place::Local;
        }
        let derivatives = make.derivatives.clone();
        for spec in &mut make.unit.specs {
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
        make.unit.specs.retain(|s| match &s.kind {
            SpecKind::Common(blocks) => !blocks.is_empty(),
            SpecKind::Equivalence(groups) => !groups.is_empty(),
            _ => true,
        });
        make.unit
    }

    fn backward(&self, p: &Part, mut make: Maker, tapes: &Tapes, backward: Block) -> Unit {
        tapes.be_arguments(&mut make);
        let mut body = self.zeros(&make, &backward, None);
        body.extend(backward);
        make.unit.name = p.backward_name.clone();
        make.unit.body = body;
        make.unit.comments =
            match p.derivative_args.contains(&true) || !p.make.derivatives.is_empty() {
                true => vec![title("Adjoint", &make.unit.comments)],
                false => vec![format!(" Puts back what {} has overwritten", p.of)],
            };
        make.unit
    }

    /// Returns statements that set the cotangents of COMMON variables to zero: at the beginning nothing has
    /// been added to them.
    fn zero_commons(&self, make: &mut Maker, root: &Part) -> Block {
        let mut out = Vec::new();
        let mut done: HashSet<Name> = HashSet::new();
        for p in heads::reached(&self.parts, root, &self.index) {
            for (block, members) in crate::locations::common_members(&p.make.unit) {
                let theirs: Vec<SymId> = members
                    .iter()
                    .copied()
                    .filter(|s| p.make.derivatives.contains(s))
                    .collect();
                if theirs.is_empty() || !done.insert(block.clone()) {
                    continue;
                }
                let own = crate::locations::common_members(&make.unit)
                    .remove(&block)
                    .unwrap_or_else(|| {
                        let own = make.import(&p.make.unit, &block, &members);
                        make.derivatives.extend(own.iter().copied());
                        own
                    });
                for (position, s) in own.into_iter().enumerate() {
                    if root.given_in_common.contains(&(block.clone(), position)) {
                        continue;
                    }
                    let ty = make.unit.symbols[s].ty.unwrap_or(Type::REAL);
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
            let block = group.iter().find_map(|s| match &unit.symbols[*s].place {
                Place::Common(block) => Some(block.clone()),
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
