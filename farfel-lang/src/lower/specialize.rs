//! Copies of subprograms that take a closure's variables instead of a procedure.
//!
//! `ROOT(F, X0, N)`, called with the closure EQLBRM_F {BIGA, BIGB, BSTAR, N}, becomes
//! `ROOT_2(BIGA, BIGB, BSTAR, X0, N)`, in which F is the constant EQLBRM_F. A copy is
//! shared by all calls that agree in what they pass.

mod slots;

use self::slots::{Slot, passes_twice};
use super::calls::{Constant, Mentions, check_calls, for_each_call, for_each_call_mut, global};
use super::compact::Changed;
use super::import::Import;
use super::naming::{FEW, Families, Tags, taken_names};
use super::passed::Passed;
use super::prune::reached;
use super::state::share;
use crate::callgraph::{CallGraph, UnitIndex};
use crate::diagnostic::{Diagnostic, any_errors, rules};
use crate::effects::{Assigned, procedure_dummies};
use crate::ir::{
    Arg, Class, Expr, ExprKind, Name, Place, Program, SymId, Symbol, Type, Unit, UnitKind,
    unused_name,
};
use crate::source::Span;
use std::collections::{BTreeMap, HashMap, HashSet};

/// More copies of one subprogram than this means that they would never end.
const MOST_COPIES: usize = 500;

/// Adds the names of the units that it changes or adds to `changed`.
pub(super) fn specialize(
    program: &mut Program,
    roots: &HashSet<Name>,
    families: &mut Families,
    changed: &mut Changed,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut specializer = Specializer {
        assigned: None,
        otherwise_assigned: None,
        taken: HashSet::new(),
        program,
        copies: HashMap::new(),
        tags: Tags::default(),
        counts: HashMap::new(),
        totals: HashMap::new(),
        original: HashMap::new(),
        made: Vec::new(),
        places: HashMap::new(),
        copies_of: HashMap::new(),
        families,
        changed,
        diagnostics,
    };
    specializer.round();
    // What is left of procedure arguments are plain procedures. Those that differ from call
    // to call need copies too.
    while !any_errors(specializer.diagnostics) && specializer.close_constants(roots) {
        specializer.round();
    }
    specializer.count_through();
}

/// Copies are made of units with dummy procedures only.
fn copied(program: &Program) -> Vec<bool> {
    let units = program.units.iter();
    units
        .map(|u| procedure_dummies(u).next().is_some())
        .collect()
}

/// The units that pass closures on, so that what is called comes before what calls it; a
/// lifted subprogram comes behind the unit that it was nested in.
fn callers_of_closures(program: &Program) -> Vec<usize> {
    /// Recursion is followed on a list, not on the stack: call chains may be long.
    enum Step {
        Visit(usize),
        Done(usize),
    }
    let index = UnitIndex::of(program);
    let units: Vec<Mentions> = program
        .units
        .iter()
        .map(|u| Mentions::of(u, &index))
        .collect();
    let mut order = Vec::new();
    if !units.iter().any(|u| u.passes_closures) {
        return order;
    }
    let mut is_nested = vec![false; units.len()];
    for c in units.iter().flat_map(|u| &u.closures) {
        is_nested[*c] = true;
    }
    // Lifted subprograms stand before their surroundings, innermost first, and bear their
    // name as a prefix; they are visited with them.
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
            let Mentions {
                references,
                closures,
                ..
            } = &units[at];
            let callees = references.iter().filter(|c| !closures.contains(c));
            next.extend(callees.map(|c| Step::Visit(*c)));
            // What the closures call must be ready too, before this unit passes them on.
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
    /// These two are found when the first copy may be needed.
    assigned: Option<Assigned>,
    /// What units assign if what is passed to them assigns nothing; found when it matters.
    otherwise_assigned: Option<Assigned>,
    taken: HashSet<Name>,
    /// What a copy was made for, and its name.
    copies: HashMap<Key, Name>,
    /// What is in the names of copies.
    tags: Tags,
    /// How many copies of a unit there are for the same procedures.
    counts: HashMap<(Name, Name), usize>,
    /// The same for subprograms of the source, copies of copies included.
    totals: HashMap<Name, usize>,
    /// The subprogram of the source that a copy finally comes from.
    original: HashMap<Name, Name>,
    /// All copies, each with what it was made of.
    made: Vec<(Name, Name)>,
    /// Where the units of the program are. Copies of the round at hand stand at the end.
    places: HashMap<Name, usize>,
    /// For subprograms of the source with copies: themselves and all copies, in the order
    /// that they get in the program.
    copies_of: HashMap<Name, Vec<Name>>,
    /// Whom units belong to.
    families: &'a mut Families,
    changed: &'a mut Changed,
    diagnostics: &'a mut Vec<Diagnostic>,
}

/// What makes two calls share a copy: the callee and, for each argument that is a closure,
/// the procedure with the place that each captured variable is passed at.
type Key = (Name, Vec<Option<(Constant, Vec<Slot>)>>);

impl Specializer<'_> {
    /// Does every unit once, then puts the new copies where they belong.
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
            self.unit(at);
        }
        if self.program.units.len() > before {
            self.put_in_order();
        }
    }

    /// Copies go behind the subprogram of the source that they come from.
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

    /// The unit of a name.
    fn find(&self, name: &str) -> Option<&Unit> {
        self.places.get(name).map(|i| &self.program.units[*i])
    }

    /// Gives every call of a unit that passes closures a copy that takes none.
    fn unit(&mut self, index: usize) {
        if !has_closures(&self.program.units[index]) {
            return;
        }
        self.changed.insert(self.program.units[index].name.clone());
        // The unit itself stays in place meanwhile, for copies of it in recursion.
        let mut caller = self.program.units[index].clone();
        let mut body = std::mem::take(&mut caller.body);
        for_each_call_mut(&mut body, &mut |callee, args| {
            if args.iter().any(|a| matches!(a.kind, ExprKind::Closure(..))) {
                self.call(&mut caller, callee, args);
            }
        });
        caller.body = body;
        self.program.units[index] = caller;
    }

    fn call(&mut self, caller: &mut Unit, callee: &mut SymId, args: &mut Vec<Expr>) {
        let Some(name) = global(&caller.symbols, *callee).cloned() else {
            self.unresolved(caller, *callee, args);
            return;
        };
        let Some(target) = self.places.get(&name).copied() else {
            self.unresolved(caller, *callee, args);
            return;
        };
        if self.otherwise_assigned.is_none() && passes_twice(args) {
            let found = Assigned::with_harmless_procedures(self.program);
            self.otherwise_assigned = Some(found);
        }
        self.warn_of_parts(caller, &name, args);
        let slots = self.slots(caller, &self.program.units[target], args);
        let key: Key = (
            name.clone(),
            args.iter()
                .zip(&slots)
                .map(|(a, s)| match &a.kind {
                    ExprKind::Closure(p, _) => {
                        Constant::of(&caller.symbols, *p).map(|c| (c, s.clone()))
                    }
                    _ => None,
                })
                .collect(),
        );
        let copy = match self.copies.get(&key) {
            Some(c) => c.clone(),
            None => match self.copy(target, &key, args) {
                Some(c) => c,
                None => return,
            },
        };
        let mut passed = Vec::new();
        for (a, slots) in std::mem::take(args).into_iter().zip(slots) {
            match a.kind {
                ExprKind::Closure(_, captured) => passed.extend(
                    captured
                        .into_iter()
                        .zip(slots)
                        .filter(|(_, s)| *s == Slot::New)
                        .map(|(c, _)| Expr::var(c, a.span)),
                ),
                _ => passed.push(a),
            }
        }
        *args = passed;
        let known = &caller.symbols[*callee];
        let (class, ty, span) = (known.class.clone(), known.ty, known.span);
        *callee = match caller.symbols.find(&copy) {
            Some(s) => s,
            None => {
                let id = caller.symbols.add(Symbol {
                    class,
                    ty,
                    place: Place::Global,
                    ..Symbol::new(copy, span)
                });
                if caller.symbols[id].class == Class::Function {
                    caller.declare(id);
                }
                id
            }
        };
    }

    /// A callee of which no copy can be made. Nested subprograms that need nothing of their
    /// surroundings are passed to it as they are.
    fn unresolved(&mut self, caller: &mut Unit, callee: SymId, args: &mut [Expr]) {
        for a in args {
            if let ExprKind::Closure(p, captured) = &a.kind {
                let p = *p;
                if captured.is_empty() {
                    caller.declare(p);
                    a.kind = ExprKind::Var(p);
                    continue;
                }
                let callee = &caller.symbols[callee];
                let why = if callee.place == Place::Dummy {
                    "a dummy procedure"
                } else {
                    "not part of this program"
                };
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::UNRESOLVED_DUMMY,
                        a.span,
                        format!(
                            "the nested subprogram {} is passed to {}, which is {why}",
                            caller.symbols[p].name, callee.name
                        ),
                    )
                    .label("its surroundings cannot follow it there")
                    .help(format!("add the source of {} to the program", callee.name)),
                );
            }
        }
    }

    /// Makes the copy of the unit at `target` for a key and returns its name.
    fn copy(&mut self, target: usize, key: &Key, args: &[Expr]) -> Option<Name> {
        let target = &self.program.units[target];
        let (target_name, target_span) = (target.name.clone(), target.name_span);
        let root = self
            .original
            .get(&target_name)
            .cloned()
            .unwrap_or_else(|| target_name.clone());
        let total = self.totals.entry(root.clone()).or_default();
        *total += 1;
        if *total > MOST_COPIES {
            if *total == MOST_COPIES + 1 {
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::ENDLESS_SPECIALIZATION,
                        target_span,
                        format!("{root} would need more than {MOST_COPIES} copies"),
                    )
                    .help("a subprogram that passes a nested subprogram of its own to itself cannot be specialised"),
                );
            }
            return None;
        }
        let mut copy = target.clone();
        let bound = || key.1.iter().flatten().map(|(procedure, _)| procedure);
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
        let captured = self.families.captured(&target_name);
        self.families.set_captured(name.clone(), captured);
        self.made.push((name.clone(), target_name.clone()));
        self.original.insert(name.clone(), root.clone());
        self.copies.insert(key.clone(), name.clone());

        if let Some(r) = copy.result
            && copy.symbols[r].name == copy.name
        {
            copy.symbols.rename(r, name.clone());
        }
        copy.name = name.clone();
        let substitutes = self.bind(&mut copy, key, args);
        if self.grows(&copy, &substitutes) {
            return None;
        }
        substitute(&mut copy, &substitutes);
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
        self.unit(at);
        Some(name)
    }

    /// In a small program copies are counted by what they are made of: ROOT_1, ROOT_2.
    fn count_through(&mut self) {
        let mut counts: HashMap<&Name, usize> = HashMap::new();
        let mut numbers = Vec::new();
        for (_, target) in &self.made {
            let number = counts.entry(target).or_default();
            *number += 1;
            numbers.push(*number);
        }
        let asking: HashSet<&Name> = self
            .made
            .iter()
            .map(|(copy, _)| self.families.of(copy))
            .filter(|f| !counts.contains_key(f))
            .collect();
        if self.made.is_empty() || asking.len() > 1 || numbers.iter().any(|n| *n > FEW) {
            return;
        }
        for (copy, _) in &self.made {
            self.taken.remove(copy);
        }
        let mut new: HashMap<Name, Name> = HashMap::new();
        for ((copy, target), number) in self.made.iter().zip(numbers) {
            let target = new.get(target).unwrap_or(target);
            let name = unused_name(&format!("{target}_{number}"), &|n| self.taken.contains(n));
            self.taken.insert(name.clone());
            let family = self.families.of(copy).clone();
            self.families.insert(name.clone(), family);
            let captured = self.families.captured(copy);
            self.families.set_captured(name.clone(), captured);
            new.insert(copy.clone(), name);
        }
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
        let renamed = new.into_values();
        self.changed.extend(renamed);
    }

    /// A subprogram that passes itself (directly or not) a nested subprogram which takes the
    /// procedure along that it got: every round would need a copy with one closure more.
    fn grows(&mut self, copy: &Unit, substitutes: &BTreeMap<SymId, Substitute>) -> bool {
        let mut found = None;
        crate::ir::walk_exprs(&copy.body, &mut |e| {
            if let ExprKind::Closure(p, captured) = &e.kind
                && let Some(c) = captured.iter().find(|c| substitutes.contains_key(c))
            {
                found.get_or_insert((e.span, *p, *c));
            }
        });
        let Some((span, procedure, taken)) = found else {
            return false;
        };
        let (procedure, taken) = (&copy.symbols[procedure].name, &copy.symbols[taken].name);
        self.diagnostics.push(
            Diagnostic::error(
                &rules::ENDLESS_SPECIALIZATION,
                span,
                format!("{procedure} takes the procedure {taken} along and is passed on where {taken} came from"),
            )
            .label("each call would need another copy")
            .help("pass data on instead of a procedure, so that the recursion does not nest closures"),
        );
        true
    }

    /// A copy stands behind the unit that it is a copy of and the copies made of that before.
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

    /// Replaces the dummy procedures by dummy arguments for what the closures capture.
    fn bind(&mut self, copy: &mut Unit, key: &Key, args: &[Expr]) -> BTreeMap<SymId, Substitute> {
        let mut substitutes = BTreeMap::new();
        let old_args = copy.args.clone();
        let mut new_args: Vec<Vec<Arg>> = old_args.iter().map(|a| vec![*a]).collect();
        let mut captured_at: HashMap<(usize, usize), SymId> = HashMap::new();
        for (i, bound) in key.1.iter().enumerate() {
            let Some((procedure, slots)) = bound else {
                continue;
            };
            let Some(dummy) = old_args.get(i).and_then(|a| a.sym()) else {
                continue;
            };
            let known = match procedure {
                Constant::Global(name) => self.places.get(name).map(|i| &self.program.units[*i]),
                _ => None,
            };
            let span = args.get(i).map_or(Span::NONE, |a| a.span);
            new_args[i] = Vec::new();
            let mut captured = Vec::new();
            if let Some(unit) = known {
                let first = unit.args.len().saturating_sub(slots.len());
                let dummies: Vec<Option<SymId>> =
                    unit.args[first..].iter().map(|a| a.sym()).collect();
                let mut import = Import::new(unit);
                for (k, slot) in slots.iter().enumerate() {
                    let ours = match slot {
                        Slot::Ordinary(j) => old_args.get(*j).and_then(|a| a.sym()),
                        Slot::Closure(at, number) => captured_at.get(&(*at, *number)).copied(),
                        Slot::New => None,
                    };
                    if let (Some(ours), Some(Some(theirs))) = (ours, dummies.get(k)) {
                        import.bind(*theirs, ours);
                    }
                }
                // Scalars first: the bounds of arrays may depend on them.
                let mut pending: Vec<usize> = (0..slots.len()).collect();
                pending.sort_by_key(|k| {
                    dummies[*k].map(|d| {
                        let s = &unit.symbols[d];
                        (s.is_array(), s.length.is_some())
                    })
                });
                for k in pending {
                    let Some(theirs) = dummies[k] else { continue };
                    if slots[k] == Slot::New {
                        import.add(copy, theirs, Place::Dummy);
                    }
                }
                for (k, slot) in slots.iter().enumerate() {
                    let Some(theirs) = dummies[k] else { continue };
                    let ours = import.symbol(copy, theirs);
                    captured.push(ours);
                    if *slot == Slot::New {
                        captured_at.insert((i, k), ours);
                        new_args[i].push(Arg::Dummy(ours));
                    }
                }
            }
            let seen = Symbol {
                span,
                ..copy.symbols[dummy].clone()
            };
            let id = procedure.symbol(copy, known.map(class_and_type), (dummy, &seen));
            if let Some(unit) = known {
                check_calls(copy, dummy, unit, slots.len(), self.diagnostics);
            }
            copy.undeclare(dummy);
            substitutes.insert(
                dummy,
                Substitute {
                    procedure: id,
                    captured,
                },
            );
        }
        copy.args = new_args.into_iter().flatten().collect();
        substitutes
    }

    /// Turns plain procedures that are passed where others are passed too into closures
    /// that capture nothing, so that [`Specializer::unit`] makes copies. Returns whether
    /// there were any.
    fn close_constants(&mut self, roots: &HashSet<Name>) -> bool {
        let reached = reached(&CallGraph::of(self.program), roots);
        let crowded = Passed::of(self.program, &reached).crowded(roots);
        if crowded.is_empty() {
            return false;
        }
        share(self.program, &copied(self.program), self.changed);
        let mut any = false;
        // What `share` adds has no calls.
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
                        && Constant::of(symbols, s).is_some()
                        && crowded.contains(&(name.clone(), i))
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

/// What callers see of a subprogram.
pub(super) fn class_and_type(unit: &Unit) -> (Class, Option<Type>) {
    match unit.kind {
        UnitKind::Function => (
            Class::Function,
            unit.result.and_then(|r| unit.symbols[r].ty),
        ),
        _ => (Class::Subroutine, None),
    }
}

/// What a dummy procedure is replaced by.
struct Substitute {
    procedure: SymId,
    captured: Vec<SymId>,
}

fn substitute(copy: &mut Unit, substitutes: &BTreeMap<SymId, Substitute>) {
    crate::ir::rewrite_exprs(&mut copy.body, &mut |e| {
        if let ExprKind::Var(s) = &mut e.kind
            && let Some(new) = substitutes.get(s)
        {
            e.kind = ExprKind::Closure(new.procedure, new.captured.clone());
        }
    });
    for_each_call_mut(&mut copy.body, &mut |callee, args| {
        if let Some(new) = substitutes.get(callee) {
            *callee = new.procedure;
            args.extend(new.captured.iter().map(|c| Expr::var(*c, Span::NONE)));
        }
    });
}
