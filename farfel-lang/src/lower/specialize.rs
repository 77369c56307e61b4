//! Copies subprograms so that they take the variables of a closure instead of a procedure.
//!
//! `ROOT(F, X0, N)`, called with the closure EQLBRM_F {BIGA, BIGB, BSTAR, N}, becomes
//! `ROOT_2(BIGA, BIGB, BSTAR, X0, N)`, in which F is the constant EQLBRM_F. All calls that pass the
//! same procedures in the same way share a copy.

mod bind;
mod errors;
mod slots;

use self::bind::{passed, procedure_like, substitute};
use self::slots::{Slot, passes_twice};
use super::calls::{
    KnownProcedure, UnitReferences, for_each_call, for_each_call_mut, for_each_placed_call_mut,
    global,
};
use super::compact::{ChangedUnits, compact};
use super::companions::rebind_constants;
use super::copies::{CopyUse, SubprogramCopy};
use super::naming::{FEW, Families, Tags, taken_names};
use super::passed_procedures::PassedProcedures;
use super::prune::reached;
use super::saved_variables::{keeps_state, share};
use crate::callgraph::{CallGraph, UnitIndex};
use crate::diagnostic::{Diagnostic, any_errors};
use crate::effects::{Assigned, DummyAssumptions, procedure_dummies};
use crate::ir::{Expr, ExprKind, Name, Program, StmtKind, SymId, Unit, unused_name};
use crate::source::Span;
use std::collections::{HashMap, HashSet};

/// Makes the copies and returns them. Adds the names of the units that it changes or adds to
/// `changed`.
pub(super) fn specialize(
    program: &mut Program,
    roots: &HashSet<Name>,
    most_copies: usize,
    families: &mut Families,
    changed: &mut ChangedUnits,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<SubprogramCopy> {
    let mut specializer = Specializer::of(program, most_copies, families, changed, diagnostics);
    specializer.round();
    // The remaining procedure arguments are plain procedures. Those that differ from call to call
    // require copies, too.
    while !any_errors(specializer.diagnostics) && specializer.close_constants(roots) {
        specializer.round();
    }
    specializer.left_over(roots);
    specializer.count_through();
    specializer.made
}

/// Returns the program with copies of the subprograms to which procedures are passed, in which
/// these procedures are called by name, together with the names of the copies, which end with
/// `tag`. Only covers calls where the program contains the source of both. Returns `None` if a copy
/// would have a state of its own, or ENTRY points.
pub fn bind_passed(program: &Program, tag: &str) -> Option<(Program, Vec<Name>)> {
    let index = UnitIndex::of(program);
    let takes_procedures = |u: &Unit| procedure_dummies(u).next().is_some();
    let assigned = Assigned::of(program);
    let has_entries = |u: &Unit| u.body.iter().any(|s| matches!(s.kind, StmtKind::Entry(_)));
    let single = |u: &Unit| has_entries(u) || keeps_state(u, &assigned);
    if (program.units.iter()).any(|u| takes_procedures(u) && single(u)) {
        return None;
    }
    let mut bound = program.clone();
    let mut changed = ChangedUnits::new();
    for unit in &mut bound.units {
        let Unit { symbols, body, .. } = unit;
        for_each_call_mut(body, &mut |callee, args| {
            if global(symbols, *callee).is_none_or(|name| index.unit(program, name).is_none()) {
                return;
            }
            for a in args {
                if let ExprKind::Var(s) = a.kind
                    && let Some(KnownProcedure::Global(name)) = KnownProcedure::of(symbols, s)
                    && index.unit(program, &name).is_some()
                {
                    a.kind = ExprKind::Closure(s, Vec::new());
                }
            }
        });
    }
    let mut families = Families::default();
    let mut diagnostics = Vec::new();
    let mut specializer = Specializer::of(
        &mut bound,
        super::MOST_COPIES,
        &mut families,
        &mut changed,
        &mut diagnostics,
    );
    // The values that these units keep are constants, of which each copy can have its own.
    specializer.assigned = Some(assigned);
    specializer.taken = taken_names(specializer.program);
    specializer.round();
    specializer.count_through();
    let mut new: HashMap<Name, Name> = HashMap::new();
    for copy in &specializer.made {
        let wanted = format!("{}{tag}", copy.name);
        let name = unused_name(&wanted, &|n| specializer.taken.contains(n));
        specializer.taken.insert(name.clone());
        new.insert(copy.name.clone(), name);
    }
    specializer.rename(&new);
    let copies: Vec<Name> = new.into_values().collect();
    if any_errors(&diagnostics) || copies.is_empty() || bound.units.iter().any(has_closures) {
        return None;
    }
    for unit in &mut bound.units {
        if changed.contains(&unit.name) {
            compact(unit);
        }
    }
    Some((bound, copies))
}

/// Returns which units can be copied: those with dummy procedures.
fn copied(program: &Program) -> Vec<bool> {
    let units = program.units.iter();
    units
        .map(|u| procedure_dummies(u).next().is_some())
        .collect()
}

/// Returns the units that pass closures on, callees before callers. A lifted subprogram follows the
/// unit in which it was nested.
fn callers_of_closures(program: &Program) -> Vec<usize> {
    /// Recursion uses an explicit stack, as call chains may be long.
    enum Step {
        Visit(usize),
        Done(usize),
    }
    let index = UnitIndex::of(program);
    let units: Vec<UnitReferences> = program
        .units
        .iter()
        .map(|u| UnitReferences::of(u, &index))
        .collect();
    let mut order = Vec::new();
    if !units.iter().any(|u| u.passes_closures) {
        return order;
    }
    let mut is_nested = vec![false; units.len()];
    for c in units.iter().flat_map(|u| &u.closures) {
        is_nested[*c] = true;
    }
    // Lifted subprograms precede their host, innermost first, and have its name as a prefix; they
    // are visited together with it.
    let all = 0..units.len();
    let outer = all.clone().filter(|i| !is_nested[*i]);
    let mut done = vec![false; units.len()];
    let mut open: Vec<Step> = Vec::new();
    let mut next: Vec<Step> = Vec::new();
    for start in outer.chain(all) {
        open.push(Step::Visit(start));
        while let Some(step) = open.pop() {
            let at = match step {
                Step::Visit(at) => at,
                Step::Done(at) => {
                    if units[at].passes_closures {
                        order.push(at);
                    }
                    continue;
                }
            };
            if std::mem::replace(&mut done[at], true) {
                continue;
            }
            let UnitReferences {
                references,
                closures,
                ..
            } = &units[at];
            let callees = references.iter().filter(|c| !closures.contains(c));
            next.extend(callees.map(|c| Step::Visit(*c)));
            // The callees of the closures must be ready, too, before this unit passes the closures
            // on.
            for inner in closures.iter().map(|c| &units[*c]) {
                let callees = inner
                    .references
                    .iter()
                    .filter(|c| **c != at && !inner.closures.contains(c) && !closures.contains(c));
                next.extend(callees.map(|c| Step::Visit(*c)));
            }
            next.push(Step::Done(at));
            next.extend(closures.iter().map(|c| Step::Visit(*c)));
            open.extend(next.drain(..).rev());
        }
    }
    order
}

fn has_closures(unit: &Unit) -> bool {
    let mut found = false;
    for_each_call(&unit.body, &mut |_, args| {
        found |= args.iter().any(|a| matches!(a.kind, ExprKind::Closure(..)));
    });
    found
}

struct Specializer<'a> {
    program: &'a mut Program,
    /// This and the next field are computed when the first copy may be needed.
    assigned: Option<Assigned>,
    /// The variables that units assign if the procedures passed to them assign nothing; computed on
    /// demand.
    otherwise_assigned: Option<Assigned>,
    taken: HashSet<Name>,
    /// The name of the copy for each key.
    copies: HashMap<Key, Name>,
    /// The tags in the names of copies.
    tags: Tags,
    /// The number of copies of a unit for the same procedures.
    counts: HashMap<(Name, Name), usize>,
    /// The number of copies of a subprogram of the source, including copies of copies.
    totals: HashMap<Name, usize>,
    /// The subprogram of the source from which a copy ultimately comes.
    original: HashMap<Name, Name>,
    /// The maximum number of copies of a subprogram.
    most_copies: usize,
    /// All copies, in the order of creation.
    made: Vec<SubprogramCopy>,
    /// The index of each copy in `made`.
    copy_indices: HashMap<Name, usize>,
    /// The subprograms of the source that are bound in a copy, directly or through what is bound.
    holding: HashMap<Name, HashSet<Name>>,
    /// The units still to be processed.
    open: Vec<usize>,
    /// The indices of the units in the program. The copies of the current round are at the end.
    places: HashMap<Name, usize>,
    /// For each subprogram of the source with copies, the subprogram and all its copies, in the
    /// order in which they will appear in the program.
    copies_of: HashMap<Name, Vec<Name>>,
    /// The families to which units belong.
    families: &'a mut Families,
    changed: &'a mut ChangedUnits,
    diagnostics: &'a mut Vec<Diagnostic>,
}

/// The key by which calls share a copy: the callee and, for each argument that is a closure, the
/// procedure and the slot in which each captured variable is passed.
type Key = (Name, Vec<Option<(KnownProcedure, Vec<Slot>)>>);

impl<'a> Specializer<'a> {
    fn of(
        program: &'a mut Program,
        most_copies: usize,
        families: &'a mut Families,
        changed: &'a mut ChangedUnits,
        diagnostics: &'a mut Vec<Diagnostic>,
    ) -> Self {
        Specializer {
            assigned: None,
            otherwise_assigned: None,
            taken: HashSet::new(),
            program,
            copies: HashMap::new(),
            tags: Tags::default(),
            counts: HashMap::new(),
            totals: HashMap::new(),
            original: HashMap::new(),
            most_copies,
            made: Vec::new(),
            copy_indices: HashMap::new(),
            holding: HashMap::new(),
            open: Vec::new(),
            places: HashMap::new(),
            copies_of: HashMap::new(),
            families,
            changed,
            diagnostics,
        }
    }

    /// Processes every unit once, then moves the new copies to their places.
    fn round(&mut self) {
        let order = callers_of_closures(self.program);
        if order.is_empty() {
            return;
        }
        if self.assigned.is_none() {
            share(self.program, &copied(self.program), self.changed);
            self.assigned = Some(Assigned::of(self.program));
            self.taken = taken_names(self.program);
        }
        let units = self.program.units.iter().enumerate();
        self.places = units.map(|(i, u)| (u.name.clone(), i)).collect();
        let before = self.program.units.len();
        for at in order {
            // Copies wait on an explicit stack, as call chains may be long.
            self.open.push(at);
            while let Some(at) = self.open.pop() {
                let first = self.open.len();
                self.unit(at);
                // The first call is processed first.
                self.open[first..].reverse();
            }
        }
        if self.program.units.len() > before {
            self.put_in_order();
        }
    }

    /// Moves the copies behind the subprogram of the source from which they come.
    fn put_in_order(&mut self) {
        let units = std::mem::take(&mut self.program.units);
        let mut order: Vec<usize> = Vec::with_capacity(units.len());
        for (i, unit) in units.iter().enumerate() {
            if self.original.contains_key(&unit.name) {
                continue;
            }
            match self.copies_of.get(&unit.name) {
                Some(family) => order.extend(family.iter().filter_map(|n| self.places.get(n))),
                None => order.push(i),
            }
        }
        let mut units: Vec<Option<Unit>> = units.into_iter().map(Some).collect();
        self.program.units = order.into_iter().filter_map(|i| units[i].take()).collect();
    }

    /// Returns the unit with a name.
    fn find(&self, name: &str) -> Option<&Unit> {
        self.places.get(name).map(|i| &self.program.units[*i])
    }

    /// Redirects every call of a unit that passes closures to a copy that takes none.
    fn unit(&mut self, index: usize) {
        if !has_closures(&self.program.units[index]) {
            return;
        }
        self.changed.insert(self.program.units[index].name.clone());
        // The unit itself stays in place meanwhile, so that recursive calls can copy it.
        let mut caller = self.program.units[index].clone();
        let mut body = std::mem::take(&mut caller.body);
        for_each_placed_call_mut(&mut body, &mut |callee, args, span| {
            if args.iter().any(|a| matches!(a.kind, ExprKind::Closure(..))) {
                self.call(&mut caller, callee, args, span);
            }
        });
        caller.body = body;
        self.program.units[index] = caller;
    }

    fn call(&mut self, caller: &mut Unit, callee: &mut SymId, args: &mut Vec<Expr>, span: Span) {
        let Some(name) = global(&caller.symbols, *callee).cloned() else {
            self.unresolved(caller, *callee, args);
            return;
        };
        let Some(target) = self.places.get(&name).copied() else {
            self.unresolved(caller, *callee, args);
            return;
        };
        if self.otherwise_assigned.is_none() && passes_twice(args) {
            let found = Assigned::with(self.program, DummyAssumptions::Harmless);
            self.otherwise_assigned = Some(found);
        }
        self.warn_of_parts(caller, &name, args);
        let slots = self.slots(caller, &self.program.units[target], args);
        let key = self.key(caller, name, args, &slots);
        let Some(copy) = self.copy_for(target, key, args, (caller, span)) else {
            return;
        };
        *args = passed(std::mem::take(args), slots);
        *callee = procedure_like(caller, copy, *callee);
    }

    /// Returns the key of a copy for these arguments.
    fn key(&self, caller: &Unit, target: Name, args: &[Expr], slots: &[Vec<Slot>]) -> Key {
        let bound = args.iter().zip(slots).map(|(a, s)| match &a.kind {
            ExprKind::Closure(p, _) => {
                KnownProcedure::of(&caller.symbols, *p).map(|c| (c, s.clone()))
            }
            _ => None,
        });
        (target, bound.collect())
    }

    /// Returns the copy for a key, which `from` needs at a place.
    fn copy_for(
        &mut self,
        target: usize,
        key: Key,
        args: &[Expr],
        from: (&Unit, Span),
    ) -> Option<Name> {
        let used = CopyUse {
            unit: from.0.name.clone(),
            span: from.1,
        };
        let Some(known) = self.copies.get(&key) else {
            if let Some(at) = self.holds_itself(&key) {
                self.report_growth(&key, at, &used);
                return None;
            }
            return self.copy(target, &key, args, used);
        };
        if let Some(copy) = self.copy_indices.get(known) {
            self.made[*copy].uses.push(used);
        }
        Some(known.clone())
    }

    /// Returns the subprogram, of the source or lifted, of which a unit is a copy.
    fn origin(&self, name: &Name) -> Name {
        self.original.get(name).unwrap_or(name).clone()
    }

    /// Makes the copy of the unit at `target` for a key and returns its name.
    fn copy(&mut self, target: usize, key: &Key, args: &[Expr], used: CopyUse) -> Option<Name> {
        let target = &self.program.units[target];
        let (target_name, target_span) = (target.name.clone(), target.name_span);
        let root = self.origin(&target_name);
        let total = self.totals.entry(root.clone()).or_default();
        *total += 1;
        if *total > self.most_copies {
            if *total == self.most_copies + 1 {
                self.report_too_many_copies(target_span, &root, &used);
            }
            return None;
        }
        let mut copy = target.clone();
        let bound = || key.1.iter().flatten().map(|(procedure, _)| procedure);
        let mut holding = self.holding.get(&target_name).cloned().unwrap_or_default();
        for procedure in bound() {
            if let KnownProcedure::Global(name) = procedure {
                holding.extend(self.held(name));
            }
        }
        let record = self.record(target, key, used);
        // Some of the last arguments, which are captured variables, may be bound.
        let first = (target.args.len()).saturating_sub(self.families.captured(&target_name));
        let captured = key.1.iter().skip(first).map(|bound| match bound {
            Some((_, slots)) => slots.iter().filter(|s| **s == Slot::New).count(),
            None => 1,
        });
        let captured = captured.sum();
        let tag = self.tags.of_copy(bound());
        let key_of_count = (target_name.clone(), tag.clone());
        let number = self.counts.entry(key_of_count).or_default();
        *number += 1;
        let name = unused_name(&format!("{target_name}_{number}{tag}"), &|n| {
            self.taken.contains(n)
        });
        self.taken.insert(name.clone());
        let family = self.families.of_copy(bound());
        self.families.insert(name.clone(), family);
        if self.families.is_lifted(&target_name) {
            self.families.set_captured(name.clone(), captured);
        }
        self.holding.insert(name.clone(), holding);
        self.copy_indices.insert(name.clone(), self.made.len());
        self.made.push(SubprogramCopy {
            name: name.clone(),
            ..record
        });
        self.original.insert(name.clone(), root.clone());
        self.copies.insert(key.clone(), name.clone());

        if let Some(r) = copy.result
            && copy.symbols[r].name == copy.name
        {
            copy.symbols.rename(r, name.clone());
        }
        copy.name = name.clone();
        let dummies: Vec<(Name, usize)> = procedure_dummies(&copy)
            .filter(|(i, _)| *i < key.1.len())
            .map(|(i, s)| (copy.symbols[s].name.clone(), i))
            .collect();
        let substitutes = self.bind(&mut copy, key, args);
        self.bind_captured(&mut copy, &substitutes);
        substitute(&mut copy, &substitutes);
        let dummies = dummies.iter().map(|(name, i)| {
            let bound = key.1[*i].as_ref();
            bound.map(|(constant, slots)| (name.clone(), constant, !slots.is_empty()))
        });
        rebind_constants(&mut copy, dummies.flatten());
        let ids: Vec<SymId> = copy
            .result
            .into_iter()
            .chain(copy.args.iter().filter_map(|a| a.sym()))
            .collect();
        ids.into_iter().for_each(|id| copy.declare(id));
        for assigned in [&mut self.assigned, &mut self.otherwise_assigned]
            .into_iter()
            .flatten()
        {
            assigned.add(&copy);
        }
        let at = self.program.units.len();
        self.places.insert(name.clone(), at);
        self.changed.insert(name.clone());
        self.program.units.push(copy);
        self.join_family(root, &target_name, &name);
        self.open.push(at);
        Some(name)
    }

    /// In a small program, numbers the copies by their originals: ROOT_1, ROOT_2.
    fn count_through(&mut self) {
        let mut counts: HashMap<&Name, usize> = HashMap::new();
        let mut numbers = Vec::new();
        for copy in &self.made {
            let number = counts.entry(&copy.of).or_default();
            *number += 1;
            numbers.push(*number);
        }
        let asking: HashSet<&Name> = self
            .made
            .iter()
            .map(|copy| self.families.of(&copy.name))
            .filter(|f| !counts.contains_key(f))
            .collect();
        let large = self.families.part || asking.len() > 1;
        if self.made.is_empty() || large || numbers.iter().any(|n| *n > FEW) {
            return;
        }
        for copy in &self.made {
            self.taken.remove(&copy.name);
        }
        let mut new: HashMap<Name, Name> = HashMap::new();
        for (SubprogramCopy { name: copy, of, .. }, number) in self.made.iter().zip(numbers) {
            let target = new.get(of).unwrap_or(of);
            let name = unused_name(&format!("{target}_{number}"), &|n| self.taken.contains(n));
            self.taken.insert(name.clone());
            let family = self.families.of(copy).clone();
            self.families.insert(name.clone(), family);
            self.families.copy_captured(copy, name.clone());
            new.insert(copy.clone(), name);
        }
        self.rename(&new);
    }

    /// Renames copies.
    fn rename(&mut self, new: &HashMap<Name, Name>) {
        let units = self.program.units.iter_mut();
        for unit in units.filter(|u| self.changed.contains(&u.name)) {
            for id in unit.symbols.ids() {
                if let Some(name) = new.get(&unit.symbols[id].name) {
                    unit.symbols.rename(id, name.clone());
                }
            }
            if let Some(name) = new.get(&unit.name) {
                unit.name = name.clone();
            }
        }
        for copy in &mut self.made {
            copy.rename(new);
        }
        self.changed.extend(new.values().cloned());
    }

    /// Places a copy after its original and the copies already made of it.
    fn join_family(&mut self, root: Name, target: &Name, copy: &Name) {
        let family = self
            .copies_of
            .entry(root.clone())
            .or_insert_with(|| vec![root]);
        let own = format!("{target}_");
        let mut at = family.iter().position(|n| n == target).map_or(0, |i| i + 1);
        while family.get(at).is_some_and(|n| n.starts_with(&own)) {
            at += 1;
        }
        family.insert(at, copy.clone());
    }

    /// Turns plain procedures that are passed where other calls pass others into closures that
    /// capture nothing, so that [`Specializer::unit`] makes copies. Returns whether there were any.
    fn close_constants(&mut self, roots: &HashSet<Name>) -> bool {
        let reached = reached(&CallGraph::of(self.program), roots);
        let need_copies = PassedProcedures::of(self.program, &reached).need_copies(roots);
        if need_copies.is_empty() {
            return false;
        }
        share(self.program, &copied(self.program), self.changed);
        let mut any = false;
        // The units that `share` adds contain no calls.
        for (unit, _) in self
            .program
            .units
            .iter_mut()
            .zip(reached)
            .filter(|(_, reached)| *reached)
        {
            let Unit { symbols, body, .. } = unit;
            for_each_call_mut(body, &mut |callee, args| {
                let Some(name) = global(symbols, *callee) else {
                    return;
                };
                for (i, a) in args.iter_mut().enumerate() {
                    if let ExprKind::Var(s) = a.kind
                        && KnownProcedure::of(symbols, s).is_some()
                        && need_copies.contains(&(name.clone(), i))
                    {
                        a.kind = ExprKind::Closure(s, Vec::new());
                        any = true;
                    }
                }
            });
        }
        any
    }
}
