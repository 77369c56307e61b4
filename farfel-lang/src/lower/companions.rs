//! Binds the dummy procedures of exported subprograms whose derivatives are given.
//!
//! ```fortran
//!       SUBROUTINE NEWTON(F, FD, X)
//! !farfel: derivative(F(X), tangent = FD, in = X)
//! ```
//!
//! Code outside of the program chooses F. Before `specialize`, [`bind`] adds a call of NEWTON with
//! the procedures NEWTON_F and NEWTON_FD, of which there is no source. So all subprograms to which
//! NEWTON passes F are copied for NEWTON_F, directives about their dummy procedures become
//! directives about NEWTON_F, and [`Outside::settle`] lets the copy of NEWTON take the place of
//! NEWTON. When no pass needs to know any more which procedure it is, [`Outside::thread`] turns
//! NEWTON_F and NEWTON_FD into dummy procedures again, of all units that need them: their names
//! occur for nothing else in the program. While a derivative is generated, [`as_globals`] makes
//! external procedures of them once more, and [`as_dummies`] turns them back.

use super::calls::{KnownProcedure, for_each_call, for_each_call_mut, global, has_ad_blocks};
use super::compact::ChangedUnits;
use super::copies::SubprogramCopy;
use super::naming::taken_names;
use super::procedure_activity::{Activity, Derivatives};
use crate::callgraph::CallGraph;
use crate::diagnostic::{Diagnostic, any_errors, rules};
use crate::effects::{closure_may_assign, procedure_dummies};
use crate::ir::{
    AdMode, Arg, Class, Expr, ExprKind, Label, Name, ProcedureDirective, Program, Request, Stmt,
    StmtKind, StorageClass, SymId, Symbol, Type, Unit, UnitKind, unused_name,
};
use crate::source::Span;
use crate::types::type_of;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The exported subprograms whose dummy procedures are bound.
#[derive(Default)]
pub(super) struct Outside {
    exported: Vec<Exported>,
    /// The rule of each procedure that has one.
    rules: BTreeMap<Name, ProcedureDirective>,
}

/// An exported subprogram.
struct Exported {
    name: Name,
    /// The unit that calls it with the procedures.
    caller: Name,
    procedures: Vec<Procedure>,
}

/// A procedure that stands for a dummy procedure.
struct Procedure {
    name: Name,
    /// Whether arguments for its derivatives can be added.
    extensible: bool,
    /// The position of the dummy procedure.
    position: usize,
    dummy: Symbol,
}

fn of_dummies(unit: &Unit) -> bool {
    unit.directives.iter().any(|g| g.dummy_of.is_some())
}

/// Adds the calls. The subprograms in `adding` get further arguments for the derivatives of the
/// dummy procedures that have no directive.
pub(super) fn bind(program: &mut Program, roots: &HashSet<Name>, adding: &[Name]) -> Outside {
    let mut outside = Outside::default();
    let asks = |u: &Unit, add: bool| of_dummies(u) || add && has_ad_blocks(&u.body);
    if !program.units.iter().any(|u| asks(u, !adding.is_empty())) {
        return outside;
    }
    let graph = CallGraph::of(program);
    let mut taken = taken_names(program);
    let mut callers = Vec::new();
    for unit in program.units.iter().filter(|u| roots.contains(&u.name)) {
        let mut entries = unit.body.iter();
        let entered = entries.any(|s| matches!(s.kind, StmtKind::Entry(_)));
        if entered || procedure_dummies(unit).next().is_none() {
            continue;
        }
        let add = adding.contains(&unit.name);
        let below = graph.reached(graph.index(&unit.name));
        if !below.into_iter().any(|i| asks(&program.units[i], add)) {
            continue;
        }
        let mut name = |wanted: String| {
            let name = unused_name(&wanted, &|n| taken.contains(n));
            taken.insert(name.clone());
            name
        };
        let procedures = procedure_dummies(unit).map(|(position, s)| Procedure {
            name: name(format!("{}_{}", unit.name, unit.symbols[s].name)),
            extensible: add,
            position,
            dummy: unit.symbols[s].clone(),
        });
        let exported = Exported {
            procedures: procedures.collect(),
            caller: name(format!("{}_OUTSIDE", unit.name)),
            name: unit.name.clone(),
        };
        callers.push(exported.call(unit));
        outside.exported.push(exported);
    }
    program.units.extend(callers);
    outside
}

/// The label to which the alternate returns of an exported subprogram lead.
const END: Label = 1;

impl Exported {
    /// Returns a unit that calls the subprogram.
    fn call(&self, unit: &Unit) -> Unit {
        let span = Span::NONE;
        let mut caller = Unit::new(UnitKind::Subroutine, self.caller.clone(), span);
        caller.sizes = unit.sizes;
        let mut args: Vec<Expr> = Vec::new();
        for arg in &unit.args {
            let Some(s) = arg.sym() else {
                args.push(Expr::new(ExprKind::AltReturn(END), span));
                continue;
            };
            let symbol = &unit.symbols[s];
            let position = args.len();
            let procedure = self.procedures.iter().find(|p| p.position == position);
            args.push(match procedure {
                Some(p) => {
                    let s = caller.symbols.add(external(&p.name, &p.dummy));
                    Expr::new(ExprKind::Closure(s, Vec::new()), span)
                }
                None => {
                    let name = caller.symbols.unused(&symbol.name, &|_| false);
                    let local = Symbol {
                        ty: symbol.ty,
                        class: Class::Variable,
                        ..Symbol::new(name, span)
                    };
                    Expr::var(caller.symbols.add(local), span)
                }
            });
        }
        let result = unit.result.filter(|_| unit.kind == UnitKind::Function);
        let ty = result.and_then(|r| unit.symbols[r].ty);
        let class = match result {
            Some(_) => Class::Function,
            None => Class::Subroutine,
        };
        let callee = caller.symbols.add(Symbol {
            class,
            ty,
            storage_class: StorageClass::Global,
            ..Symbol::new(self.name.clone(), span)
        });
        caller.body = vec![match result {
            Some(_) => {
                let name = caller.symbols.unused("VALUE", &|_| false);
                let value = Symbol {
                    ty,
                    class: Class::Variable,
                    ..Symbol::new(name, span)
                };
                let value = Expr::var(caller.symbols.add(value), span);
                Stmt::assign(value, Expr::call(callee, args, span), span)
            }
            None => Stmt::call(callee, args, span),
        }];
        caller.body.push(Stmt {
            label: Some(END),
            ..Stmt::new(StmtKind::Continue, span)
        });
        caller
    }
}

fn external(name: &Name, like: &Symbol) -> Symbol {
    Symbol {
        name: name.clone(),
        storage_class: StorageClass::Global,
        external: true,
        ..like.clone()
    }
}

/// Changes the directives of a unit about its dummy procedures when some of these are bound. `bound`
/// returns the procedure for which a dummy procedure stands; `Some(None)` if directives cannot name
/// it, as it needs variables of its host.
pub(super) fn rebind(unit: &mut Unit, bound: &dyn Fn(&Name) -> Option<Option<Name>>) {
    unit.directives.retain_mut(|given| {
        if given.dummy_of.is_none() {
            return true;
        }
        for derivative in [&mut given.tangent, &mut given.adjoint] {
            if let Some(known) = derivative.as_ref().and_then(bound) {
                *derivative = known;
            }
        }
        match bound(&given.procedure) {
            Some(Some(known)) => {
                given.procedure = known;
                given.dummy_of = None;
            }
            Some(None) => return false,
            None => {}
        }
        !given.is_constant()
    });
}

/// Like [`rebind`], with constants.
pub(super) fn rebind_constants<'c>(
    unit: &mut Unit,
    bound: impl Iterator<Item = (Name, &'c KnownProcedure, bool)>,
) {
    let known: HashMap<Name, Option<Name>> = bound
        .map(|(dummy, constant, captures)| match constant {
            KnownProcedure::Global(name) if !captures => (dummy, Some(name.clone())),
            _ => (dummy, None),
        })
        .collect();
    if !known.is_empty() {
        rebind(unit, &|n| known.get(n).cloned());
    }
}

/// Checks the derivatives that come with procedures of the program, and leaves out those that
/// cannot be used.
pub(super) fn check(program: &mut Program, diagnostics: &mut Vec<Diagnostic>) {
    let mut errors = Vec::new();
    // The first derivatives of each procedure: whoever differentiates it looks it up by its name.
    let mut first: HashMap<(&Name, bool), &Name> = HashMap::new();
    let mut all: HashMap<&Name, ProcedureDirective> = HashMap::new();
    for unit in program.units.iter().filter(|u| !of_dummies(u)) {
        for given in unit.directives.iter().filter(|g| !g.is_constant()) {
            let text = program.unit(&given.procedure);
            match all.get_mut(&given.procedure) {
                // The description of a procedure is compared with its derivatives elsewhere.
                _ if given.usage.is_some() => {}
                None => drop(all.insert(&given.procedure, given.clone())),
                Some(known) => {
                    let named = (known.tangent.clone(), known.adjoint.clone());
                    let same =
                        |a: &Option<Name>, b: &Option<Name>| a.is_none() || b.is_none() || a == b;
                    if same(&named.0, &given.tangent)
                        && same(&named.1, &given.adjoint)
                        && !known.unite(given)
                    {
                        let message = format!(
                            "this lists other arguments of {} than another directive about it",
                            given.procedure
                        );
                        let d = Diagnostic::error(&rules::GIVEN_DERIVATIVE, given.span, message);
                        let d = d.related(known.span, "the other one");
                        errors.push(d.help("`in`, `out` and `sets` must be the same for the tangent and the adjoint"));
                    }
                }
            }
            for (derivative, adjoint) in [(&given.tangent, false), (&given.adjoint, true)] {
                if let Some(derivative) = derivative {
                    let known = first
                        .entry((&given.procedure, adjoint))
                        .or_insert(derivative);
                    if *known != derivative {
                        let what = if adjoint { "adjoint" } else { "tangent" };
                        let message = format!(
                            "{} is passed with the {what} {derivative}, and elsewhere with {known}",
                            given.procedure
                        );
                        let d = Diagnostic::error(&rules::GIVEN_DERIVATIVE, given.span, message);
                        errors.push(d.help("a procedure has one derivative in a program"));
                    }
                }
                let derivative = derivative.as_ref().and_then(|d| program.unit(d));
                if let Some(derivative) = derivative
                    && text.is_some()
                {
                    crate::procedure_directives::check_derivative_arguments(
                        given,
                        derivative,
                        text,
                        adjoint,
                        &mut errors,
                    );
                }
            }
        }
    }
    for e in errors {
        if !diagnostics.contains(&e) {
            diagnostics.push(e);
        }
    }
}

/// Renames the global procedure that a unit calls.
fn rename(unit: &mut Unit, old: &Name, new: &Name) {
    if let Some(s) = unit.symbols.find(old)
        && global(&unit.symbols, s).is_some()
    {
        unit.symbols.rename(s, new.clone());
    }
}

impl Outside {
    /// The units that call the exported subprograms.
    pub(super) fn callers(&self) -> impl Iterator<Item = Name> {
        self.exported.iter().map(|e| e.caller.clone())
    }

    /// Puts the copies in the place of the exported subprograms.
    pub(super) fn settle(
        &mut self,
        program: &mut Program,
        copies: &mut Vec<SubprogramCopy>,
        changed: &mut ChangedUnits,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        if self.exported.is_empty() {
            return;
        }
        let mut callers = Vec::new();
        program.units.retain(|u| {
            let is_caller = self.exported.iter().any(|e| e.caller == u.name);
            if is_caller {
                callers.push(u.clone());
            }
            !is_caller
        });
        for c in &mut *copies {
            c.uses.retain(|u| !callers.iter().any(|k| k.name == u.unit));
        }
        if any_errors(diagnostics) {
            return;
        }
        let mut taken = taken_names(program);
        for exported in &self.exported {
            let caller = callers.iter().find(|c| c.name == exported.caller);
            let mut copy = None;
            for_each_call(caller.map_or(&[], |c| &c.body), &mut |callee, _| {
                copy = caller.map(|c| c.symbols[callee].name.clone());
            });
            let Some(copy) = copy.filter(|c| *c != exported.name) else {
                continue;
            };
            // Nothing that is kept calls the original.
            let original = unused_name(&format!("{}_ANY", exported.name), &|n| taken.contains(n));
            taken.insert(original.clone());
            for (old, new) in [(&exported.name, &original), (&copy, &exported.name)] {
                for unit in &mut program.units {
                    if unit.name == *old {
                        unit.name = new.clone();
                        if let Some(r) = unit.result
                            && unit.symbols[r].name == *old
                        {
                            unit.symbols.rename(r, new.clone());
                        }
                    } else {
                        rename(unit, old, new);
                    }
                }
            }
            program.units.retain(|u| u.name != original);
            copies.retain(|c| c.name != copy);
            changed.insert(exported.name.clone());
        }
        self.unite(program, diagnostics);
    }

    fn find(&self, name: &Name) -> Option<(&Exported, &Procedure)> {
        let mut all = self.exported.iter().flat_map(|e| {
            let procedures = e.procedures.iter();
            procedures.map(move |p| (e, p))
        });
        all.find(|(_, p)| p.name == *name)
    }

    /// Makes one rule for each procedure of the directives about it, and gives it to all units that
    /// mention the procedure.
    fn unite(&mut self, program: &mut Program, diagnostics: &mut Vec<Diagnostic>) {
        let mut rules: BTreeMap<Name, ProcedureDirective> = BTreeMap::new();
        let own = |name: &Name| self.exported.iter().any(|e| e.name == *name);
        // First what the exported subprograms themselves say.
        let (first, rest): (Vec<usize>, Vec<usize>) =
            (0..program.units.len()).partition(|i| own(&program.units[*i].name));
        for i in first.into_iter().chain(rest) {
            let unit = &mut program.units[i];
            for mut given in std::mem::take(&mut unit.directives) {
                let Some((exported, procedure)) = self.find(&given.procedure) else {
                    // Nobody who passes a procedure of the program passes a derivative from outside.
                    for derivative in [&mut given.tangent, &mut given.adjoint] {
                        let known = derivative.as_ref().and_then(|d| self.find(d));
                        if known.is_some() {
                            *derivative = None;
                        }
                    }
                    unit.directives.push(given);
                    continue;
                };
                given.dummy_of = Some(exported.name.clone());
                let Some(known) = rules.get_mut(&given.procedure) else {
                    rules.insert(given.procedure.clone(), given);
                    continue;
                };
                // One may give the tangent, and another one the adjoint.
                if !known.unite(&given) && known.span != given.span && !own(&unit.name) {
                    let message = format!(
                        "the derivative of {} is given in two different ways",
                        procedure.dummy.name
                    );
                    let d = Diagnostic::error(&rules::GIVEN_DERIVATIVE, given.span, message);
                    let d = d.related(known.span, "here, too");
                    diagnostics.push(d.help("both must list the same arguments in `in`, `out` and `sets`, and name the same procedures"));
                }
            }
        }
        self.add(program, &mut rules);
        for unit in &mut program.units {
            for (name, rule) in &rules {
                if unit.symbols.find(name).is_some() {
                    unit.directives.push(rule.clone());
                }
            }
        }
        self.rules = rules;
    }

    /// Adds arguments for the derivatives that AD blocks need and that no directive gives.
    fn add(&mut self, program: &Program, rules: &mut BTreeMap<Name, ProcedureDirective>) {
        let mut procedures = self.exported.iter().flat_map(|e| &e.procedures);
        if !procedures.any(|p| p.extensible) {
            return;
        }
        let graph = CallGraph::of(program);
        let activity = Activity::of(program, &graph);
        let mut taken = taken_names(program);
        for exported in &mut self.exported {
            let given = std::mem::take(&mut exported.procedures);
            let shown: HashMap<Name, Name> = (given.iter())
                .map(|p| (p.name.clone(), p.dummy.name.clone()))
                .collect();
            let mut shift = 0;
            let mut all = Vec::new();
            for mut procedure in given {
                procedure.position += shift;
                let mut companions =
                    (rules.values()).flat_map(|r| r.tangent.iter().chain(&r.adjoint));
                if procedure.extensible && !companions.any(|c| *c == procedure.name) {
                    if let Some(rule) = constant_rule(program, &procedure) {
                        rules.entry(procedure.name.clone()).or_insert(rule);
                        all.push(procedure);
                        continue;
                    }
                    let needed = activity.derivatives(&procedure.name);
                    let added = add_derivatives(program, &procedure, needed, &shown, rules, |of| {
                        let name =
                            unused_name(&format!("{}_{of}", exported.name), &|n| taken.contains(n));
                        taken.insert(name.clone());
                        name
                    });
                    shift += added.len();
                    all.push(procedure);
                    all.extend(added);
                } else {
                    all.push(procedure);
                }
            }
            for rule in rules.values_mut().filter(|r| r.dummy_of.is_none()) {
                rule.dummy_of = Some(exported.name.clone());
            }
            exported.procedures = all;
        }
    }

    /// Adds a procedure and the procedures that compute its derivatives.
    fn with_companions(&self, name: &Name, found: &mut BTreeSet<Name>) {
        if self.find(name).is_none() || !found.insert(name.clone()) {
            return;
        }
        if let Some(rule) = self.rules.get(name) {
            for n in rule.tangent.iter().chain(&rule.adjoint) {
                self.with_companions(n, found);
            }
        }
    }

    /// Makes dummy procedures of the procedures again.
    pub(super) fn thread(
        &self,
        program: &mut Program,
        changed: &mut ChangedUnits,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        for unit in &mut program.units {
            // Directives about dummy procedures that are not bound.
            let known = |g: &ProcedureDirective| self.rules.contains_key(&g.procedure);
            unit.directives.retain(|g| g.dummy_of.is_none() || known(g));
        }
        if self.exported.is_empty() {
            return;
        }
        let mut needs: HashMap<Name, BTreeSet<Name>> = HashMap::new();
        for unit in &program.units {
            let mut own = BTreeSet::new();
            if let Some(e) = self.exported.iter().find(|e| e.name == unit.name) {
                own.extend(e.procedures.iter().map(|p| p.name.clone()));
            }
            for (_, s) in unit
                .symbols
                .iter()
                .filter(|(_, s)| s.storage_class == StorageClass::Global)
            {
                self.with_companions(&s.name, &mut own);
            }
            needs.insert(unit.name.clone(), own);
        }
        let units: Vec<&Unit> = program.units.iter().collect();
        spread(&units, &mut needs);
        for unit in &program.units {
            passed_on(unit, &needs, &mut |span, passed| {
                let message = format!(
                    "{passed} is passed on here, and needs a procedure that code outside of the program passes"
                );
                diagnostics.push(
                    Diagnostic::error(&rules::UNRESOLVED_DUMMY, span, message)
                        .label("this procedure cannot follow it there"),
                );
            });
        }
        // In the order of the arguments of the exported subprograms. In other units those with rules come
        // last, where `as_dummies` puts them in derivatives.
        let order: Vec<&Name> = (self.exported.iter())
            .flat_map(|e| e.procedures.iter().map(|p| &p.name))
            .collect();
        let with_rules: HashSet<&Name> = (self.rules.values())
            .flat_map(|r| [Some(&r.procedure), r.tangent.as_ref(), r.adjoint.as_ref()])
            .flatten()
            .collect();
        let own = |unit: &Name| self.exported.iter().any(|e| e.name == *unit);
        let sorted = |unit: &Name, set: &BTreeSet<Name>| -> Vec<Name> {
            let all = order.iter().filter(|n| set.contains(**n));
            let mut all: Vec<Name> = all.map(|n| (*n).clone()).collect();
            if !own(unit) {
                all.sort_by_key(|n| with_rules.contains(n));
            }
            all
        };
        let needs: HashMap<Name, Vec<Name>> = (needs.into_iter())
            .map(|(unit, set)| {
                let list = sorted(&unit, &set);
                (unit, list)
            })
            .collect();
        let like: HashMap<Name, Symbol> = (self.exported.iter())
            .flat_map(|e| &e.procedures)
            .map(|p| (p.name.clone(), p.dummy.clone()))
            .collect();
        // Calls of the exported subprograms themselves have the arguments where they were.
        let places: HashMap<Name, Vec<usize>> = (self.exported.iter())
            .map(|e| {
                let places = e.procedures.iter().map(|p| p.position);
                (e.name.clone(), places.collect())
            })
            .collect();
        // A unit that only passes a function on may not know its type.
        let mut functions: HashMap<Name, Symbol> = HashMap::new();
        for (_, s) in program.units.iter().flat_map(|u| u.symbols.iter()) {
            if s.class == Class::Function && like.contains_key(&s.name) {
                functions.insert(s.name.clone(), s.clone());
            }
        }
        for unit in &mut program.units {
            let own = needs.get(&unit.name).cloned().unwrap_or_default();
            if own.is_empty() {
                continue;
            }
            changed.insert(unit.name.clone());
            let at = places.get(&unit.name);
            add_arguments(unit, &own, &like, at);
            for (name, function) in &functions {
                if let Some(s) = unit.symbols.find(name)
                    && unit.symbols[s].class == Class::Procedure
                {
                    unit.symbols[s].class = Class::Function;
                    unit.symbols[s].ty = function.ty;
                    unit.symbols[s].typed = true;
                    unit.declare(s);
                }
            }
            add_to_calls(unit, &needs, &places);
            unit.directives
                .retain(|g| !self.rules.contains_key(&g.procedure));
            let rules = own.iter().filter_map(|n| self.rules.get(n));
            unit.directives.extend(rules.cloned());
            if let Some(e) = self.exported.iter().find(|e| e.name == unit.name) {
                e.take_names_back(unit);
            }
        }
    }
}

impl Exported {
    /// Gives the dummy procedures of the subprogram the names in its source.
    fn take_names_back(&self, unit: &mut Unit) {
        let names: HashMap<&Name, &Name> = (self.procedures.iter())
            .map(|p| (&p.name, &p.dummy.name))
            .collect();
        for (from, to) in &names {
            if let Some(other) = unit.symbols.find(to) {
                let free = unit.symbols.unused(&format!("{to}_LOCAL"), &|_| false);
                unit.symbols.rename(other, free);
            }
            if let Some(s) = unit.symbols.find(from) {
                unit.symbols.rename(s, (*to).clone());
            }
        }
        for given in &mut unit.directives {
            let derivatives = given.tangent.iter_mut().chain(&mut given.adjoint);
            for name in derivatives.chain([&mut given.procedure]) {
                if let Some(to) = names.get(name) {
                    *name = (*to).clone();
                }
            }
        }
    }
}

/// Adds the procedures that compute the derivatives of a procedure that are needed, and its rule and
/// theirs. Procedures that a rule names already are not added. `shown` has the users' names of all
/// procedures, and `name` returns a free name for a derivative.
fn add_derivatives(
    program: &Program,
    procedure: &Procedure,
    needed: Derivatives,
    shown: &HashMap<Name, Name>,
    rules: &mut BTreeMap<Name, ProcedureDirective>,
    mut name: impl FnMut(&str) -> Name,
) -> Vec<Procedure> {
    let mut added: Vec<Procedure> = Vec::new();
    // The procedure for each sequence of modes, with the user's name, and its rule without derivatives.
    let mut known: BTreeMap<Vec<AdMode>, (Name, Name, ProcedureDirective)> = BTreeMap::new();
    let of_procedure = rules.get(&procedure.name).cloned();
    let Some(rule) = of_procedure.or_else(|| rule_from_calls(program, procedure)) else {
        return added;
    };
    let dummy = &procedure.dummy;
    // The exported subprogram may only pass it on.
    let mut symbols = (program.units.iter())
        .filter_map(|u| u.symbols.find(&procedure.name).map(|s| &u.symbols[s]));
    let function = symbols.any(|s| s.class == Class::Function);
    known.insert(
        Vec::new(),
        (procedure.name.clone(), dummy.name.clone(), rule),
    );
    let mut needed: Vec<Vec<AdMode>> = needed.into_iter().collect();
    needed.sort_by_key(Vec::len);
    for modes in needed {
        let Some((mode, before)) = modes.split_last() else {
            continue;
        };
        // If a rule names a procedure of the program, that is differentiated from its source.
        let Some((of, user, rule)) = known.get(before).cloned() else {
            continue;
        };
        let is_function = before.is_empty() && function;
        let rule = rules.entry(of).or_insert(rule);
        let (place, word) = match mode {
            AdMode::Forward => (&mut rule.tangent, "TANGENT"),
            AdMode::Reverse => (&mut rule.adjoint, "ADJOINT"),
        };
        let own = match place {
            Some(own) if shown.contains_key(own) => (own.clone(), shown[own].clone()),
            Some(_) => continue,
            None => {
                let user = Name::from(format!("{user}_{word}"));
                let own = name(&user);
                *place = Some(own.clone());
                added.push(Procedure {
                    name: own.clone(),
                    extensible: false,
                    position: procedure.position + 1 + added.len(),
                    dummy: Symbol {
                        class: Class::Subroutine,
                        storage_class: StorageClass::Dummy,
                        external: true,
                        ..Symbol::new(user.clone(), dummy.span)
                    },
                });
                (own, user)
            }
        };
        let rule = rule_of_derivative(rule, &own.0, *mode, is_function);
        let rule = rules.get(&own.0).cloned().unwrap_or(rule);
        known.insert(modes, (own.0, own.1, rule));
    }
    added
}

/// Returns the rule, without derivatives, of the procedure `name` that computes a derivative of the
/// procedure of another rule.
fn rule_of_derivative(
    of: &ProcedureDirective,
    name: &Name,
    mode: AdMode,
    is_function: bool,
) -> ProcedureDirective {
    let mut taken: HashSet<Name> = of.arguments.iter().flatten().cloned().collect();
    let letter = match mode {
        AdMode::Forward => 'D',
        AdMode::Reverse => 'B',
    };
    let has = |list: &Option<Vec<Name>>, n: &Name| list.iter().flatten().any(|l| l == n);
    // The arguments, and whether the procedure reads and assigns those with a derivative.
    let mut all: Vec<(Name, bool, bool)> = (of.arguments.iter().flatten())
        .map(|n| (n.clone(), has(&of.inputs, n), has(&of.outputs, n)))
        .collect();
    if is_function {
        all.push((unused_name("Y", &|n| taken.contains(n)), false, true));
    }
    let (mut arguments, mut inputs, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    for (own, reads, assigns) in all {
        arguments.push(own.clone());
        taken.insert(own.clone());
        if !reads && !assigns {
            continue;
        }
        let derivative = unused_name(&format!("{own}{letter}"), &|n| taken.contains(n));
        taken.insert(derivative.clone());
        arguments.push(derivative.clone());
        match mode {
            AdMode::Forward => {
                if assigns {
                    outputs.extend([own.clone(), derivative.clone()]);
                }
                if reads {
                    inputs.extend([own, derivative]);
                }
            }
            // The value of an output may be undefined; nothing depends on it.
            AdMode::Reverse => {
                inputs.extend([own, derivative.clone()]);
                outputs.push(derivative);
            }
        }
    }
    ProcedureDirective {
        arguments: Some(arguments),
        inputs: Some(inputs),
        outputs: Some(outputs),
        sets: match mode {
            AdMode::Forward => of.sets.clone(),
            AdMode::Reverse => Vec::new(),
        },
        dummy_of: of.dummy_of.clone(),
        ..ProcedureDirective::constant(name.clone(), of.span)
    }
}

/// Returns the rule of a subroutine that has no derivative, because it is known which arguments it only reads,
/// and the others have none.
fn constant_rule(program: &Program, procedure: &Procedure) -> Option<ProcedureDirective> {
    if procedure.dummy.only_reads.is_empty() {
        return None;
    }
    let mut symbols = (program.units.iter())
        .filter_map(|u| u.symbols.find(&procedure.name).map(|s| &u.symbols[s]));
    if symbols.any(|s| s.class == Class::Function) {
        return None;
    }
    let rule = rule_from_calls(program, procedure)?;
    let assigns = rule.outputs.as_ref().is_none_or(|l| !l.is_empty());
    (!assigns).then_some(rule)
}

/// Returns what the calls of a procedure say about its arguments: every argument with a derivative
/// is an input, and what it may assign an output.
fn rule_from_calls(program: &Program, procedure: &Procedure) -> Option<ProcedureDirective> {
    let span = procedure.dummy.span;
    let mut rule: Option<ProcedureDirective> = None;
    for unit in &program.units {
        let Some(own) = unit.symbols.find(&procedure.name) else {
            continue;
        };
        for_each_call(&unit.body, &mut |callee, args| {
            if callee != own {
                return;
            }
            let given = rule.get_or_insert_with(|| {
                let mut names: Vec<Name> = Vec::new();
                for (i, a) in args.iter().enumerate() {
                    let base = a.base().map(|s| unit.symbols[s].name.clone());
                    let base = base.filter(|n| !names.contains(n));
                    names.push(base.unwrap_or_else(|| format!("ARG{}", i + 1).into()));
                }
                let all = || names.iter().cloned().zip(args);
                let varies = |a: &Expr| type_of(unit, a).is_some_and(Type::is_differentiable);
                let inputs = all().filter(|(_, a)| varies(a)).map(|(n, _)| n);
                let rest = all().filter(|(_, a)| !varies(a)).map(|(n, _)| n);
                let (inputs, sets): (Vec<Name>, Vec<Name>) = (inputs.collect(), rest.collect());
                ProcedureDirective {
                    outputs: Some(inputs.clone()),
                    inputs: Some(inputs),
                    sets,
                    arguments: Some(names),
                    ..ProcedureDirective::constant(procedure.name.clone(), span)
                }
            });
            let arguments = given.arguments.iter().flatten().enumerate();
            let fixed: Vec<Name> = arguments
                .filter(|(i, _)| {
                    let a = args.get(*i);
                    procedure.dummy.only_reads.contains(i)
                        || !a.is_some_and(|a| closure_may_assign(unit, callee, *i, a))
                })
                .map(|(_, n)| n.clone())
                .collect();
            given.sets.retain(|n| !fixed.contains(n));
            given
                .outputs
                .iter_mut()
                .for_each(|l| l.retain(|n| !fixed.contains(n)));
        });
    }
    rule
}

/// Adds to what units need what the units need that they call.
fn spread(units: &[&Unit], needs: &mut HashMap<Name, BTreeSet<Name>>) {
    let mut grown = true;
    while grown {
        grown = false;
        for unit in units {
            let mut more = BTreeSet::new();
            for_each_call(&unit.body, &mut |callee, _| {
                let theirs = global(&unit.symbols, callee).and_then(|n| needs.get(n));
                more.extend(theirs.into_iter().flatten().cloned());
            });
            let own = needs.entry(unit.name.clone()).or_default();
            let before = own.len();
            own.append(&mut more);
            grown |= own.len() > before;
        }
    }
}

/// Calls `f` for every unit that is passed as an argument and needs something.
fn passed_on(unit: &Unit, needs: &HashMap<Name, BTreeSet<Name>>, f: &mut dyn FnMut(Span, &Name)) {
    for_each_call(&unit.body, &mut |_, args| {
        for a in args {
            if let ExprKind::Var(s) = a.kind
                && let Some(name) = global(&unit.symbols, s)
                && needs.get(name).is_some_and(|n| !n.is_empty())
            {
                f(a.span, name);
            }
        }
    });
}

/// Adds dummy procedures to a unit: at the end, or at given positions.
fn add_arguments(
    unit: &mut Unit,
    names: &[Name],
    like: &HashMap<Name, Symbol>,
    at: Option<&Vec<usize>>,
) {
    for (i, name) in names.iter().enumerate() {
        let known = unit.symbols.find(name);
        let known = known.or_else(|| {
            let symbol = external(name, like.get(name)?);
            Some(unit.symbols.add(symbol))
        });
        let Some(s) = known else { continue };
        unit.symbols[s].storage_class = StorageClass::Dummy;
        unit.symbols[s].external = true;
        if let Some(like) = like.get(name) {
            unit.symbols[s].span = like.span;
        }
        unit.declare(s);
        match at.and_then(|at| at.get(i)) {
            Some(at) if *at <= unit.args.len() => unit.args.insert(*at, Arg::Dummy(s)),
            _ => unit.args.push(Arg::Dummy(s)),
        }
    }
}

fn add_to_calls(
    unit: &mut Unit,
    needs: &HashMap<Name, Vec<Name>>,
    places: &HashMap<Name, Vec<usize>>,
) {
    let Unit { symbols, body, .. } = unit;
    for_each_call_mut(body, &mut |callee, args| {
        let Some(name) = global(symbols, *callee) else {
            return;
        };
        let at = places.get(name);
        let wanted = needs.get(name).into_iter().flatten();
        for (i, n) in wanted.enumerate() {
            let Some(s) = symbols.find(n) else { continue };
            let actual = Expr::var(s, Span::NONE);
            match at.and_then(|at| at.get(i)) {
                Some(at) if *at <= args.len() => args.insert(*at, actual),
                _ => args.push(actual),
            }
        }
    });
}

// ---- While derivatives are generated. ----

/// The procedures that [`as_globals`] has made of dummy procedures.
#[derive(Debug, Default)]
pub struct Threaded {
    /// Each with a symbol for it.
    like: BTreeMap<Name, Symbol>,
    /// The units that took them, with the names in the order of their arguments.
    takers: HashMap<Name, Vec<Name>>,
    /// What users call each of them.
    shown: HashMap<Name, Name>,
}

impl Threaded {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.like.is_empty()
    }

    /// Returns what users call a procedure.
    pub fn shown(&self, name: &str) -> Option<&Name> {
        self.shown.get(name)
    }

    /// All procedures, and what users call them.
    pub fn names(&self) -> impl Iterator<Item = (&Name, &Name)> {
        self.shown.iter()
    }
}

/// Returns whether a unit has dummy procedures with given derivatives that [`as_globals`] would
/// make external procedures of. Those of the exported subprograms have other names.
fn names_threaded(unit: &Unit) -> impl Iterator<Item = (&Name, &Name)> {
    let given = unit.directives.iter();
    let given = given.filter_map(|g| Some((g, g.dummy_of.as_ref()?)));
    let given = given.filter(|(_, of)| **of != unit.name);
    given.flat_map(|(g, of)| {
        let names = [Some(&g.procedure), g.tangent.as_ref(), g.adjoint.as_ref()];
        names.into_iter().flatten().map(move |n| (n, of))
    })
}

/// Makes external procedures of the dummy procedures whose derivatives are given. The engine knows
/// external procedures with given derivatives, and each of these dummy procedures has one name in
/// all units.
pub fn as_globals(program: &mut Program) -> Threaded {
    let mut threaded = Threaded::default();
    let mut names: BTreeMap<Name, Name> = BTreeMap::new();
    for unit in &program.units {
        for (name, of) in names_threaded(unit) {
            names.entry(name.clone()).or_insert_with(|| of.clone());
        }
    }
    if names.is_empty() {
        return threaded;
    }
    let mut positions: HashMap<Name, Vec<usize>> = HashMap::new();
    for unit in &mut program.units {
        let dummies: Vec<(usize, SymId)> = procedure_dummies(unit)
            .filter(|(_, s)| names.contains_key(&unit.symbols[*s].name))
            .collect();
        if dummies.is_empty() {
            continue;
        }
        for (_, s) in &dummies {
            let symbol = &mut unit.symbols[*s];
            symbol.storage_class = StorageClass::Global;
            let name = symbol.name.clone();
            let prefix = names.get(&name).map(|of| format!("{of}_"));
            let shown = prefix.and_then(|p| name.strip_prefix(&*p).map(Name::from));
            threaded
                .shown
                .insert(name.clone(), shown.unwrap_or(name.clone()));
            let like = threaded.like.entry(name.clone());
            like.or_insert_with(|| symbol.clone());
            threaded
                .takers
                .entry(unit.name.clone())
                .or_default()
                .push(name);
        }
        let at: Vec<usize> = dummies.iter().map(|(i, _)| *i).collect();
        drop_at(&mut unit.args, &at);
        positions.insert(unit.name.clone(), at);
    }
    for unit in &mut program.units {
        let Unit { symbols, body, .. } = unit;
        for_each_call_mut(body, &mut |callee, args| {
            if let Some(at) = global(symbols, *callee).and_then(|n| positions.get(n)) {
                drop_at(args, at);
            }
        });
    }
    threaded
}

fn drop_at<T>(list: &mut Vec<T>, positions: &[usize]) {
    let mut position = 0;
    list.retain(|_| {
        position += 1;
        !positions.contains(&(position - 1))
    });
}

/// Makes dummy procedures of the procedures again, in new units. The derivative of the head takes
/// what the head takes.
pub fn as_dummies(units: &mut [Unit], threaded: &Threaded, request: &Request) {
    if threaded.is_empty() {
        return;
    }
    let mut needs: HashMap<Name, BTreeSet<Name>> = (threaded.takers.iter())
        .map(|(unit, names)| (unit.clone(), names.iter().cloned().collect()))
        .collect();
    if let Some(names) = threaded.takers.get(&request.head) {
        needs.insert(request.derivative.clone(), names.iter().cloned().collect());
    }
    for unit in &*units {
        let own = needs.entry(unit.name.clone()).or_default();
        let mentioned = unit
            .symbols
            .iter()
            .filter(|(_, s)| s.storage_class == StorageClass::Global);
        let mentioned = mentioned.filter(|(_, s)| threaded.like.contains_key(&s.name));
        own.extend(mentioned.map(|(_, s)| s.name.clone()));
    }
    spread(&units.iter().collect::<Vec<_>>(), &mut needs);
    let order = |name: &Name, set: BTreeSet<Name>| -> Vec<Name> {
        let known = match *name == request.derivative {
            true => threaded.takers.get(&request.head),
            false => threaded.takers.get(name),
        };
        let first = known.into_iter().flatten().cloned();
        let mut all: Vec<Name> = first.collect();
        let rest = set.into_iter().filter(|n| !all.contains(n));
        let rest: Vec<Name> = rest.collect();
        all.extend(rest);
        all
    };
    let needs: HashMap<Name, Vec<Name>> = (needs.into_iter())
        .map(|(name, set)| {
            let list = order(&name, set);
            (name, list)
        })
        .collect();
    let like: HashMap<Name, Symbol> = (threaded.like.iter())
        .map(|(n, s)| (n.clone(), s.clone()))
        .collect();
    // The number of directions comes last.
    let mut places: HashMap<Name, Vec<usize>> = HashMap::new();
    if request.vector
        && let Some(head) = units.iter().find(|u| u.name == request.derivative)
        && let Some(count) = needs.get(&head.name).map(Vec::len)
    {
        let first = head.args.len().saturating_sub(1);
        places.insert(head.name.clone(), (first..first + count).collect());
    }
    for unit in units {
        let own = needs.get(&unit.name).cloned().unwrap_or_default();
        if own.is_empty() {
            continue;
        }
        add_arguments(unit, &own, &like, places.get(&unit.name));
        add_to_calls(unit, &needs, &places);
    }
}
