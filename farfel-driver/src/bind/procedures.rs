//! Procedures passed from Rust. Derives the type of the closure for a dummy procedure from the
//! calls in the Fortran code, and generates the code that makes a C function of the closure.
//!
//! The C function has no argument through which to find the closure. So each dummy procedure of
//! each function has a `farfel_runtime::Slot` in every thread, which points to the closure of the
//! innermost call in progress. Only Fortran code of that call can use it, as calls end in the
//! reverse order of their start.

use super::argument_comments::comments;
use super::closure_comments;
use super::closure_values::{self, Passed};
use super::{border_type, enumerated, identifier, rust_type};
use crate::Config;
use crate::bounds_checks::BoundsCheckPlan;
use crate::bounds_checks::dummy_procedures::{
    Shape, counted, has_length, is_procedure, is_text, shape,
};
use crate::calls::for_each_call;
use crate::config::ClosureIntent;
use crate::derive::DerivedSubprogram;
use farfel_lang::effects::{closure_may_assign, procedure_dummies};
use farfel_lang::ir::{
    AdMode, Class, Expr, ExprKind, Name, ProcedureDirective as Rule, Program, StorageClass, SymId,
    Type, Unit, UnitKind,
};
use farfel_lang::print::print_expr;
use farfel_lang::types::{rank, type_of};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

/// The type of a closure.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) result: Option<Type>,
    pub(super) args: Vec<ClosureArgument>,
    /// The first call, for the documentation; `None` if the procedure is never called and so need not be
    /// passed.
    pub(super) call: Option<String>,
    /// The derivative that it computes, if a directive says so.
    pub(super) computes: Option<String>,
}

/// An argument of a closure.
#[derive(Debug)]
pub(super) enum ClosureArgument {
    /// A value, a variable or an array.
    Data(DataArgument),
    /// Another procedure argument of the same call, which the closure may call in turn: the name of its
    /// slot and its type.
    Procedure(String, Interface),
}

/// A scalar or an array.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataArgument {
    pub(super) ty: Type,
    /// Whether the closure may assign it.
    pub(super) assigns: bool,
    /// Whether it is an array.
    pub(super) array: bool,
    /// Whether one of the calls passes the rest of an array, up to the end of its storage.
    open: bool,
    /// Whether it may be a variable of the program, which other code may access while the closure runs. The
    /// closure receives a copy of such an array. Scalars are always copied.
    lasting: bool,
}

/// The units to which a procedure is passed, each with the position of the dummy argument.
type Reached = BTreeSet<(Name, usize)>;

/// A call of the dummy procedure.
struct CallSite<'p> {
    unit: &'p Unit,
    callee: SymId,
    args: &'p [Expr],
}

/// Returns the type of the closure for the dummy procedure at a position of an exported unit.
///
/// # Errors
///
/// The reason why no closure can be passed.
pub(super) fn interface(
    program: &Program,
    unit: &Unit,
    position: usize,
    config: &Config,
    plan: &BoundsCheckPlan,
) -> Result<Interface, String> {
    let library = ProcedureSearch {
        program,
        unit,
        config,
        plan,
    };
    interface_of(&library, position)
}

fn interface_of(library: &ProcedureSearch, position: usize) -> Result<Interface, String> {
    match library.rule_of(position) {
        Some((rule, adjoint)) => library.companion(position, rule, adjoint),
        None => library.interface(position, 0),
    }
}

/// A procedure of an exported subprogram with the procedures that compute its derivatives, all for the same
/// type of numbers.
#[derive(Debug)]
pub(super) struct Family {
    /// The Rust name of the procedure.
    pub(super) name: String,
    /// The name of the trait for it.
    pub(super) of_trait: String,
    /// How Fortran calls it.
    pub(super) call: String,
    /// The Rust type of its numbers.
    pub(super) number: &'static str,
    /// Whether some of them are only REAL, and converted to that type.
    pub(super) mixed: bool,
    pub(super) function: bool,
    /// Whether the value of the function is COMPLEX.
    pub(super) complex: bool,
    pub(super) arguments: Vec<FamilyArgument>,
    /// The procedure itself and its derivatives.
    pub(super) members: Vec<Member>,
}

/// An argument of the procedure of a family.
#[derive(Debug)]
pub(super) struct FamilyArgument {
    pub(super) name: Name,
    pub(super) data: DataArgument,
    /// Whether it is followed by its derivative.
    pub(super) active: bool,
    /// Whether derivatives go in and out through it.
    pub(super) reads: bool,
    pub(super) sets: bool,
}

/// A procedure of a family.
#[derive(Debug)]
pub(super) struct Member {
    /// The position of the argument of the exported subprogram.
    pub(super) position: usize,
    /// The derivatives that lead to it, the first one of the procedure itself.
    pub(super) modes: Vec<AdMode>,
    /// Whether each of its arguments is an array, and whether the closure assigns it.
    pub(super) arguments: Vec<(bool, bool)>,
}

/// Returns the procedures of an exported subprogram that have derivatives; nothing if there are none, or if one
/// of them cannot be written for numbers of any kind: if it takes texts or procedures, or assigns an argument without derivative.
pub(super) fn families(
    program: &Program,
    unit: &Unit,
    config: &Config,
    plan: &BoundsCheckPlan,
) -> Option<Vec<Family>> {
    let library = ProcedureSearch {
        program,
        unit,
        config,
        plan,
    };
    let positions: Vec<usize> = procedure_dummies(unit).map(|(p, _)| p).collect();
    let mut families = Vec::new();
    for base in positions.iter().filter(|p| library.rule_of(**p).is_none()) {
        let name = library.name(*base)?;
        let mut rules = unit.directives.iter().filter(|g| g.dummy_of.is_some());
        let Some(rule) = rules.find(|g| g.procedure == *name && !g.is_constant()) else {
            continue;
        };
        families.push(library.family(*base, rule, &positions)?);
    }
    (!families.is_empty()).then_some(families)
}

/// Whether a type is COMPLEX.
pub(super) fn is_complex(ty: Type) -> bool {
    matches!(ty, Type::Complex(_))
}

/// How many derivatives of derivatives a directive may name.
const DEEPEST: usize = 8;

/// The context in which the calls of dummy procedures are collected.
struct ProcedureSearch<'p> {
    program: &'p Program,
    /// The exported unit.
    unit: &'p Unit,
    config: &'p Config,
    plan: &'p BoundsCheckPlan,
}

impl<'p> ProcedureSearch<'p> {
    /// The name of the dummy argument at a position.
    fn name(&self, position: usize) -> Option<&'p Name> {
        let dummy = self.unit.args.get(position)?.sym()?;
        Some(&self.unit.symbols[dummy].name)
    }

    /// The directive that says that the procedure at a position computes the derivative of another argument,
    /// and whether that is the adjoint.
    fn rule_of(&self, position: usize) -> Option<(&'p Rule, bool)> {
        let name = self.name(position);
        let mut rules = self.unit.directives.iter().filter(|g| g.dummy_of.is_some());
        rules.find_map(|g| match name {
            Some(_) if g.tangent.as_ref() == name => Some((g, false)),
            Some(_) if g.adjoint.as_ref() == name => Some((g, true)),
            _ => None,
        })
    }

    fn family(&self, base: usize, rule: &Rule, positions: &[usize]) -> Option<Family> {
        let interface = self.interface(base, 0).ok()?;
        let call = interface.call.clone()?;
        let names = rule.arguments.as_deref()?;
        let mut numbers: Vec<Type> = interface.result.into_iter().collect();
        let mut arguments = Vec::new();
        if names.len() != interface.args.len() {
            return None;
        }
        for (name, given) in names.iter().zip(&interface.args) {
            let ClosureArgument::Data(data) = given else {
                return None;
            };
            let has = |list: &Option<Vec<Name>>| list.iter().flatten().any(|l| l == name);
            let (reads, sets) = (has(&rule.inputs), has(&rule.outputs));
            match reads || sets {
                true => numbers.push(data.ty),
                false if data.assigns || data.is_text() => return None,
                false => {}
            }
            arguments.push(FamilyArgument {
                name: name.clone(),
                data: *data,
                active: reads || sets,
                reads,
                sets,
            });
        }
        let real = |ty: Type| match ty {
            Type::Real(n) | Type::Complex(n) => Some(Type::Real(n)),
            _ => None,
        };
        let numbers: Option<Vec<Type>> = numbers.into_iter().map(real).collect();
        let numbers = numbers?.into_iter();
        let numbers: Result<BTreeSet<&str>, _> =
            numbers.map(|t| rust_type(Some(t), self.config)).collect();
        let numbers = numbers.ok()?;
        let mixed = numbers.len() > 1;
        // The greater one, `f64`, if there are two.
        let number = *numbers.last()?;
        let mut members = Vec::new();
        for position in positions {
            let mut modes = Vec::new();
            let mut at = *position;
            while let Some((rule, adjoint)) = self.rule_of(at) {
                modes.insert(
                    0,
                    match adjoint {
                        true => AdMode::Reverse,
                        false => AdMode::Forward,
                    },
                );
                at = (0..self.unit.args.len()).find(|i| self.name(*i) == Some(&rule.procedure))?;
                if modes.len() > DEEPEST {
                    return None;
                }
            }
            if at != base {
                continue;
            }
            let own = interface_of(self, *position).ok()?;
            let own: Option<Vec<(bool, bool)>> = (own.args.iter())
                .map(|a| match a {
                    ClosureArgument::Data(data) => Some((data.array, data.assigns)),
                    ClosureArgument::Procedure(..) => None,
                })
                .collect();
            let own = own?;
            let copies = 1usize << modes.len();
            let result = match (interface.result, modes.is_empty()) {
                (Some(_), false) => copies,
                _ => 0,
            };
            let expected = arguments.iter().map(|a| if a.active { copies } else { 1 });
            // A directive of the user's may list other arguments.
            if own.len() != expected.sum::<usize>() + result {
                return None;
            }
            members.push(Member {
                position: *position,
                modes,
                arguments: own,
            });
        }
        Some(Family {
            name: identifier(self.name(base)?),
            of_trait: String::new(),
            call,
            number,
            mixed,
            function: interface.result.is_some(),
            complex: interface.result.is_some_and(is_complex),
            arguments,
            members,
        })
    }

    /// The closure for a procedure that computes a derivative: its arguments are those of the procedure of
    /// which it is the derivative, and their derivatives.
    fn companion(&self, position: usize, rule: &Rule, adjoint: bool) -> Result<Interface, String> {
        let name = self.name(position).cloned().unwrap_or_default();
        let error = |why: String| format!("its argument {name} is a procedure {why}");
        let mut chain = vec![(position, rule, adjoint)];
        let mut base = None;
        while chain.len() <= DEEPEST {
            let Some((_, rule, _)) = chain.last() else {
                break;
            };
            let of = (0..self.unit.args.len()).find(|i| self.name(*i) == Some(&rule.procedure));
            let of = of.ok_or_else(|| {
                error(format!(
                    "that computes the derivative of {}, which is not an argument",
                    rule.procedure
                ))
            })?;
            match self.rule_of(of) {
                Some((rule, adjoint)) => chain.push((of, rule, adjoint)),
                None => {
                    base = Some(self.interface(of, 0)?);
                    break;
                }
            }
        }
        let mut made =
            base.ok_or_else(|| error("that computes the derivative of itself".into()))?;
        if made.call.is_none() {
            return Ok(made);
        }
        for (position, rule, adjoint) in chain.into_iter().rev() {
            made = made
                .derivative(self.name(position), rule, adjoint)
                .map_err(&error)?;
            self.calls_fit(position, &made).map_err(&error)?;
        }
        Ok(made)
    }

    /// Checks that the Fortran code calls a procedure with the arguments that a directive says it has.
    fn calls_fit(&self, position: usize, made: &Interface) -> Result<(), String> {
        let (reached, _) = reached(self.program, self.unit, position)?;
        let mut fits = true;
        for (u, s) in reached.iter().filter_map(|at| dummy(self.program, at)) {
            for_each_call(u, &mut |callee, args| {
                let mut types = args.iter().zip(&made.args);
                let same = |(a, g): (&Expr, &ClosureArgument)| match g {
                    ClosureArgument::Data(data) => type_of(u, a) == Some(data.ty),
                    ClosureArgument::Procedure(..) => false,
                };
                if callee == s {
                    fits &= args.len() == made.args.len() && types.all(same);
                    fits &= u.symbols[s].class != Class::Function;
                }
            });
        }
        match fits {
            true => Ok(()),
            false => Err("that is called with other arguments than its directive says".into()),
        }
    }

    fn interface(&self, position: usize, depth: usize) -> Result<Interface, String> {
        let (program, unit) = (self.program, self.unit);
        let name = unit.args[position]
            .sym()
            .map(|s| unit.symbols[s].name.clone())
            .unwrap_or_default();
        let error = |why: String| format!("its argument {name} is a procedure {why}");
        let (reached, lent) = reached(program, unit, position).map_err(&error)?;
        let mut names: Vec<&(Name, usize)> = reached.iter().collect();
        // The exported unit comes first, the others in a fixed order.
        names.sort_by_key(|(n, p)| (*n != unit.name, n.clone(), *p));
        let mut sites: Vec<CallSite> = Vec::new();
        for at in names {
            let Some((u, s)) = dummy(program, at) else {
                continue;
            };
            for_each_call(u, &mut |callee, args| {
                if callee == s {
                    sites.push(CallSite {
                        unit: u,
                        callee,
                        args,
                    });
                }
            });
        }
        let Some(first) = sites.first() else {
            if lent {
                let found = self.lent(&reached, depth);
                return found.ok_or_else(|| error("that only closures get".into()));
            }
            return Ok(Interface {
                result: None,
                args: Vec::new(),
                call: None,
                computes: None,
            });
        };
        let class = &first.unit.symbols[first.callee].class;
        let result = |s: &CallSite| match s.unit.symbols[s.callee].class {
            Class::Function => s.unit.symbols[s.callee].ty,
            _ => None,
        };
        let same = |s: &CallSite| {
            s.unit.symbols[s.callee].class == *class
                && result(s) == result(first)
                && s.args.len() == first.args.len()
        };
        if !sites.iter().all(same) {
            return Err(error("that is called in different ways".into()));
        }
        if *class == Class::Function {
            rust_type(result(first), self.config)
                .map_err(|ty| error(format!("whose result is {ty}")))?;
        }
        let args: Result<Vec<ClosureArgument>, String> = (0..first.args.len())
            .map(|k| {
                let why = |e| format!("whose argument {} {e}", k + 1);
                self.given(&sites, k, depth).map_err(why)
            })
            .collect();
        let mut args = args.map_err(error)?;
        // What this subprogram says of the procedure holds even if others that call it say less.
        let mut directives = unit.directives.iter();
        if !directives.any(|g| g.dummy_of.is_some() && g.procedure == name)
            && let Some(dummy) = unit.args[position].sym()
        {
            for k in &unit.symbols[dummy].only_reads {
                if let Some(ClosureArgument::Data(data)) = args.get_mut(*k) {
                    data.assigns = false;
                }
            }
        }
        let shown: Vec<String> = first
            .args
            .iter()
            .map(|a| print_expr(first.unit, a))
            .collect();
        let verb = if result(first).is_some() { "" } else { "CALL " };
        let mut called = &first.unit.symbols[first.callee].name;
        // Elsewhere lowering gives procedures with derivatives a name that occurs once.
        if **called == format!("{}_{name}", unit.name) {
            called = &name;
        }
        Ok(Interface {
            result: result(first),
            args,
            call: Some(format!("{verb}{called}({})", shown.join(", "))),
            computes: None,
        })
    }

    /// Returns the type of a procedure that only other dummy procedures get: that with which the subprograms call it that
    /// can be passed for these, such as the solvers for linear equations of a program. Nothing if there are none, or if they
    /// do not agree. Only closures call it: where Fortran passes one of these subprograms, a copy calls it by its name.
    fn lent(&self, reached: &Reached, depth: usize) -> Option<Interface> {
        let mut takers = BTreeSet::new();
        for (unit, dummy) in reached.iter().filter_map(|at| dummy(self.program, at)) {
            for_each_call(unit, &mut |callee, args| {
                let passed = args.iter().enumerate();
                for (i, _) in passed.filter(|(_, a)| a.kind == ExprKind::Var(dummy)) {
                    let units = self.program.units.iter();
                    let suitable = units.filter(|u| can_be(u, unit, callee, args));
                    takers.extend(suitable.map(|u| (u.name.clone(), i)));
                }
            });
        }
        let mut found: Option<Interface> = None;
        for (name, position) in takers {
            let taker = ProcedureSearch {
                unit: self.program.unit(&name)?,
                ..*self
            };
            let Ok(own) = taker.interface(position, depth) else {
                continue;
            };
            if own.call.is_none() {
                continue;
            }
            found = Some(match found {
                None => own,
                Some(others) => others.and(own)?,
            });
        }
        found
    }

    /// Returns the argument of the closure at a position.
    fn given(&self, sites: &[CallSite], k: usize, depth: usize) -> Result<ClosureArgument, String> {
        let procedure = |site: &&CallSite| is_procedure(site.unit, &site.args[k]);
        match sites.iter().filter(procedure).count() {
            0 => data(sites, k, self.config, self.plan).map(ClosureArgument::Data),
            n if n == sites.len() => self.procedure(sites, k, depth),
            _ => Err("is a procedure in some of its calls".into()),
        }
    }

    /// Returns the procedure argument of the closure at a position. It must be a dummy procedure of the
    /// exported unit.
    fn procedure(
        &self,
        sites: &[CallSite],
        k: usize,
        depth: usize,
    ) -> Result<ClosureArgument, String> {
        if depth > 0 {
            return Err("is a third one".into());
        }
        let mut found: BTreeSet<usize> = BTreeSet::new();
        for site in sites {
            let own = match site.args[k].kind {
                ExprKind::Var(s) => site.unit.arg_position(s),
                _ => None,
            };
            let place = own.map(|own| (site.unit.name.clone(), own));
            let place = place.ok_or("is a procedure of the program")?;
            for (p, _) in procedure_dummies(self.unit) {
                if reached(self.program, self.unit, p)?.0.contains(&place) {
                    found.insert(p);
                }
            }
        }
        match found.into_iter().collect::<Vec<_>>()[..] {
            [p] => {
                let inner = self.interface(p, depth + 1);
                let inner = inner.map_err(|why| format!("is one, too, and {why}"))?;
                let text =
                    |a: &ClosureArgument| matches!(a, ClosureArgument::Data(d) if d.is_text());
                if inner.args.iter().any(text) {
                    return Err("is one, too, and takes a CHARACTER".into());
                }
                let name = self.unit.args[p].sym().map(|s| &self.unit.symbols[s].name);
                let slot = name.map(|n| slot(&identifier(n))).unwrap_or_default();
                Ok(ClosureArgument::Procedure(slot, inner))
            }
            _ => Err("is not always the same procedure".into()),
        }
    }
}

/// Notes in a program which arguments procedures from outside only read, according to the settings, to
/// comments, or because it makes no difference whether they assign them. What is said of a dummy procedure also holds where its unit passes it on, unless something else is
/// said there. A directive for derivatives says the same in more detail. What is said of a subprogram that the
/// settings differentiate is said of its derivative.
pub(crate) fn describe(program: &mut Program, config: &Config) {
    let mut asked = HashMap::new();
    let mut commented = HashMap::new();
    let mut inherited: HashMap<(Name, usize), BTreeSet<usize>> = HashMap::new();
    let mut values: HashMap<(Name, usize), BTreeSet<usize>> = HashMap::new();
    for unit in &program.units {
        let notes = comments(unit);
        for (position, dummy) in procedure_dummies(unit) {
            let name = &unit.symbols[dummy].name;
            let mut directives = unit.directives.iter();
            if directives.any(|g| g.dummy_of.is_some() && g.procedure == *name) {
                continue;
            }
            let settings = settings(unit, name, config);
            let Ok((reached, lent)) = reached(program, unit, position) else {
                continue;
            };
            let passed = passed(program, &reached, lent || config.is_static());
            let found = passed
                .as_ref()
                .map(|p| positions(&p.values))
                .unwrap_or_default();
            for at in &reached {
                match values.get_mut(at) {
                    Some(others) => *others = &*others & &found,
                    None => drop(values.insert(at.clone(), found.clone())),
                }
            }
            if settings.is_none() && !closure_comments::has_head(&notes, name) {
                continue;
            }
            if let Some(inputs) = settings {
                asked.extend(reached.into_iter().map(|at| (at, inputs.clone())));
                continue;
            }
            let Some(assignable) = assignable(program, &reached) else {
                continue;
            };
            let mut inputs = closure_comments::inputs(&notes, name, assignable.len());
            if let Some(passed) = &passed {
                inputs.retain(|k| passed.undefined.get(*k) != Some(&true));
            }
            // A subroutine that assigns nothing has been misunderstood.
            let mut outputs = (assignable.iter().enumerate()).filter(|(k, _)| !inputs.contains(k));
            if !outputs.any(|(_, may)| *may) {
                continue;
            }
            for at in reached {
                match inherited.get_mut(&at) {
                    Some(others) => *others = &*others & &inputs,
                    None => drop(inherited.insert(at, inputs.clone())),
                }
            }
            commented.insert((unit.name.clone(), position), inputs);
        }
    }
    for derived in &config.derive {
        let (Some(unit), Some(of)) = (
            program.unit(&derived.function()),
            program.unit(&derived.subprogram()),
        ) else {
            continue;
        };
        for (position, dummy) in procedure_dummies(unit) {
            let name = &unit.symbols[dummy].name;
            let mut theirs = procedure_dummies(of);
            let theirs = theirs.find(|(_, s)| of.symbols[*s].name == *name);
            let Some(theirs) = theirs.map(|(p, _)| (of.name.clone(), p)) else {
                continue;
            };
            let own = (unit.name.clone(), position);
            if settings(unit, name, config).is_some() {
                continue;
            }
            if let Some(inputs) = asked.get(&theirs).cloned() {
                asked.insert(own, inputs);
            } else if let Some(inputs) = commented.get(&theirs).cloned() {
                commented.insert(own, inputs);
            }
        }
    }
    // The last one counts.
    let mut said: HashMap<_, _> = inherited.into_iter().chain(commented).collect();
    for (at, found) in values {
        said.entry(at).or_insert_with(BTreeSet::new).extend(found);
    }
    said.extend(asked);
    for ((name, position), inputs) in said {
        if let Some(unit) = program.unit_mut(&name)
            && let Some(dummy) = unit.args.get(position).and_then(|a| a.sym())
        {
            unit.symbols[dummy].only_reads = inputs.into_iter().collect();
        }
    }
}

/// Does the same for the derivatives that the settings request, before a program is lowered: which derivatives
/// their procedures get depends on it. `lower` lowers a program, whose subprograms with these names are exported:
/// which procedure calls which one is not known before.
pub(crate) fn describe_derived(
    program: &mut Program,
    lower: &dyn Fn(Program, &[Name]) -> Program,
    config: &Config,
) {
    let takes_procedures = |d: &&DerivedSubprogram| {
        let unit = program.unit(&d.function());
        unit.is_some_and(|u| procedure_dummies(u).next().is_some())
    };
    let derived: Vec<_> = config.derive.iter().filter(takes_procedures).collect();
    if derived.is_empty() {
        return;
    }
    let functions: Vec<Name> = derived.iter().map(|d| d.function()).collect();
    let originals: Vec<Name> = derived.iter().map(|d| d.subprogram()).collect();
    let mut plain = program.clone();
    plain.units.retain(|u| !functions.contains(&u.name));
    let mut lowered = lower(plain, &originals);
    describe(&mut lowered, config);
    for derived in derived {
        let Some(unit) = program.unit_mut(&derived.function()) else {
            continue;
        };
        let of = lowered.unit(&derived.subprogram());
        let dummies: Vec<SymId> = procedure_dummies(unit).map(|(_, s)| s).collect();
        for s in dummies {
            let name = unit.symbols[s].name.clone();
            let theirs = of.and_then(|of| Some(&of.symbols[of.symbols.find(&name)?].only_reads));
            let inputs = settings(unit, &name, config).map(|asked| asked.into_iter().collect());
            unit.symbols[s].only_reads = inputs.or(theirs.cloned()).unwrap_or_default();
        }
    }
}

/// Combines what the calls of a dummy procedure in some units show; nothing if closures get it (`lent`), or if a
/// directive describes it.
fn passed(program: &Program, reached: &Reached, lent: bool) -> Option<Passed> {
    let mut all: Option<Passed> = None;
    for (unit, dummy) in reached.iter().filter_map(|at| self::dummy(program, at)) {
        let mut calls = false;
        for_each_call(unit, &mut |callee, _| calls |= callee == dummy);
        let described = unit.directives.iter().any(|g| g.dummy_of.is_some());
        if lent || described {
            return None;
        }
        if !calls {
            continue;
        }
        let here = closure_values::passed(unit, dummy)?;
        all = Some(match all {
            Some(others) => others.and(here)?,
            None => here,
        });
    }
    all
}

fn positions(of: &[bool]) -> BTreeSet<usize> {
    let positions = of.iter().enumerate().filter(|(_, is)| **is);
    positions.map(|(k, _)| k).collect()
}

/// Returns the positions of the arguments that a procedure argument only reads according to the settings.
fn settings(unit: &Unit, name: &Name, config: &Config) -> Option<BTreeSet<usize>> {
    let mut tables = config.signature.iter();
    let (_, table) = tables.find(|(n, _)| n.eq_ignore_ascii_case(&unit.name))?;
    let mut closures = table.closures.iter();
    let (_, intents) = closures.find(|(n, _)| n.eq_ignore_ascii_case(name))?;
    let inputs = intents.iter().enumerate();
    let inputs = inputs.filter(|(_, intent)| **intent == ClosureIntent::In);
    Some(inputs.map(|(k, _)| k).collect())
}

/// Returns for each argument of a dummy procedure that is called in some of these places whether all calls pass
/// something that it may assign; nothing if the numbers of arguments differ, or nothing calls it.
fn assignable(program: &Program, reached: &Reached) -> Option<Vec<bool>> {
    let mut found: Option<Vec<bool>> = None;
    let mut same = true;
    for (u, s) in reached.iter().filter_map(|at| dummy(program, at)) {
        for_each_call(u, &mut |callee, args| {
            if callee != s {
                return;
            }
            let here = args.iter().enumerate();
            let here: Vec<bool> = here.map(|(k, a)| closure_may_assign(u, s, k, a)).collect();
            found = Some(match &found {
                None => here,
                Some(others) => {
                    same &= others.len() == here.len();
                    others.iter().zip(here).map(|(a, b)| *a && b).collect()
                }
            });
        });
    }
    found.filter(|_| same)
}

/// Like [`assignable`], for the procedure argument at a position of a unit.
pub(super) fn assignable_arguments(
    program: &Program,
    unit: &Unit,
    position: usize,
) -> Option<Vec<bool>> {
    let (reached, _) = reached(program, unit, position).ok()?;
    assignable(program, &reached)
}

/// Whether a unit can be passed for the dummy procedure of a call.
fn can_be(unit: &Unit, caller: &Unit, callee: SymId, args: &[Expr]) -> bool {
    let target = &caller.symbols[callee];
    let fits = match unit.kind {
        UnitKind::Subroutine => target.class != Class::Function,
        UnitKind::Function => {
            let ty = unit.result.and_then(|s| unit.symbols[s].ty);
            target.class == Class::Function && target.ty == ty
        }
        _ => false,
    };
    target.storage_class == StorageClass::Dummy
        && fits
        && unit.args.len() == args.len()
        && unit.args.iter().zip(args).all(|(dummy, actual)| {
            let Some(dummy) = dummy.sym().map(|s| &unit.symbols[s]) else {
                return false;
            };
            match is_procedure(caller, actual) {
                true => dummy.class.is_procedure(),
                false => dummy.is_variable() && dummy.ty == type_of(caller, actual),
            }
        })
}

/// Returns the name of the slot that holds the closure for an argument of this name.
fn slot(name: &str) -> String {
    let plain = name.trim_start_matches("r#");
    format!("FARFEL_SLOT_{}", plain.to_ascii_uppercase())
}

fn dummy<'p>(program: &'p Program, (name, position): &(Name, usize)) -> Option<(&'p Unit, SymId)> {
    let unit = program.unit(name)?;
    Some((unit, unit.args.get(*position)?.sym()?))
}

/// Follows a dummy procedure through the calls that pass it on. Also returns whether it is passed to another
/// dummy procedure, that is, to a closure.
///
/// # Errors
///
/// The description of a call that passes it to an unknown procedure.
fn reached(program: &Program, unit: &Unit, position: usize) -> Result<(Reached, bool), String> {
    let mut lent = false;
    let start = (unit.name.clone(), position);
    let mut reached = Reached::from([start.clone()]);
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        let Some((u, s)) = dummy(program, &at) else {
            continue;
        };
        let mut error = None;
        for_each_call(u, &mut |callee, args| {
            let passed = args.iter().enumerate();
            for (i, _) in passed.filter(|(_, a)| a.kind == ExprKind::Var(s)) {
                let target = &u.symbols[callee];
                if target.storage_class == StorageClass::Dummy {
                    lent = true;
                    continue;
                }
                let found = program.unit(&target.name);
                let Some(found) = found.filter(|t| {
                    target.storage_class == StorageClass::Global && t.args.len() == args.len()
                }) else {
                    error = Some(format!(
                        "that is handed on to {}, of which nothing is known",
                        target.name
                    ));
                    return;
                };
                let place = (found.name.clone(), i);
                if reached.insert(place.clone()) {
                    open.push(place);
                }
            }
        });
        if let Some(error) = error {
            return Err(error);
        }
    }
    Ok((reached, lent))
}

/// Returns the data argument of the closure at a position, combined over all calls.
fn data(
    sites: &[CallSite],
    k: usize,
    config: &Config,
    plan: &BoundsCheckPlan,
) -> Result<DataArgument, String> {
    let mut found: Option<DataArgument> = None;
    for site in sites {
        let (unit, actual) = (site.unit, &site.args[k]);
        let Some(ty) = type_of(unit, actual) else {
            return Err("is of unknown type".into());
        };
        if is_text(unit, actual) {
            let here = text(site, k, plan)?;
            found = Some(match found {
                None => here,
                Some(given) if given.ty != ty => {
                    return Err(format!("is {} here and {ty} there", given.ty));
                }
                Some(given) => DataArgument {
                    assigns: given.assigns && here.assigns,
                    ..here
                },
            });
            continue;
        }
        rust_type(Some(ty), config).map_err(|ty| format!("is {ty}"))?;
        let shape = shape(unit, site.callee, actual, &counted(&unit.body));
        if shape == Shape::Unnamed {
            return Err("is an array without a name".into());
        }
        let ours = |s: SymId| unit.symbols[s].storage_class == StorageClass::Dummy;
        if shape == Shape::Rest && actual.base().is_some_and(ours) && !plan.is_measured(&unit.name)
        {
            return Err("is an array of which it is not known how long it is".into());
        }
        // Fortran procedures may not assign a variable that is passed twice, such as N for two extents.
        let twice = match &actual.kind {
            ExprKind::Var(s) if shape == Shape::One => {
                let same = site.args.iter().filter(|a| a.kind == ExprKind::Var(*s));
                same.count() > 1
            }
            _ => false,
        };
        let here = DataArgument {
            ty,
            assigns: !twice && closure_may_assign(unit, site.callee, k, actual),
            array: shape != Shape::One,
            open: shape == Shape::Rest,
            lasting: plan.program_variables.is_passed(unit, actual),
        };
        found = Some(match found {
            None => here,
            Some(given) if given.ty != ty => {
                return Err(format!("is {} here and {ty} there", given.ty));
            }
            Some(given) => DataArgument {
                ty,
                assigns: given.assigns && here.assigns,
                array: given.array || here.array,
                open: given.open || here.open,
                lasting: given.lasting || here.lasting,
            },
        });
    }
    found.ok_or("is not known".into())
}

/// Returns the CHARACTER argument of the closure at a position of one call.
fn text(site: &CallSite, k: usize, plan: &BoundsCheckPlan) -> Result<DataArgument, String> {
    let (unit, actual) = (site.unit, &site.args[k]);
    if rank(unit, actual) > 0 {
        return Err("is an array of CHARACTER".into());
    }
    if !plan.is_measured(&unit.name) || !has_length(unit, actual) {
        return Err("is a CHARACTER of which it is not known how long it is".into());
    }
    Ok(DataArgument {
        ty: Type::Character,
        assigns: closure_may_assign(unit, site.callee, k, actual),
        array: false,
        open: false,
        lasting: true,
    })
}

/// The code that a closure adds to the wrapper that takes it.
pub(super) struct ClosureCode {
    /// The type of the argument in Rust.
    pub rust: String,
    /// The type in the `extern` declaration.
    pub border: String,
    /// The actual argument of the Fortran call.
    pub actual: String,
    /// Items in the body of the wrapper.
    pub items: String,
    /// Statements before the call.
    pub before: String,
    /// The line about the closure in the documentation.
    pub note: String,
}

impl DataArgument {
    fn is_text(self) -> bool {
        self.ty == Type::Character
    }

    /// Whether the closure needs the length that Fortran passes.
    fn has_length(self) -> bool {
        self.array || self.is_text()
    }

    pub(super) fn rust(self, config: &Config) -> String {
        if self.is_text() {
            return if self.assigns { "&mut [u8]" } else { "&str" }.into();
        }
        let ty = rust_type(Some(self.ty), config).unwrap_or("()");
        match (self.array, self.assigns) {
            (true, true) => format!("&mut [{ty}]"),
            (true, false) => format!("&[{ty}]"),
            (false, true) => format!("&mut {ty}"),
            (false, false) => ty.to_owned(),
        }
    }

    /// Returns the type in the C function: a pointer.
    fn border(self, config: &Config) -> String {
        let access = if self.assigns { "mut" } else { "const" };
        let ty = match self.is_text() {
            true => "u8".into(),
            false => border_type(Some(self.ty), config),
        };
        format!("*{access} {ty}")
    }
}

impl ClosureArgument {
    fn rust(&self, config: &Config) -> String {
        match self {
            ClosureArgument::Data(data) => data.rust(config),
            ClosureArgument::Procedure(_, procedure) => {
                format!("&mut dyn {}", procedure.rust(config))
            }
        }
    }

    fn border(&self, config: &Config) -> String {
        match self {
            ClosureArgument::Data(data) => data.border(config),
            ClosureArgument::Procedure(_, procedure) => procedure.border(config),
        }
    }
}

impl Interface {
    /// Combines what two subprograms show of the same procedure; nothing if they differ.
    fn and(mut self, other: Interface) -> Option<Interface> {
        if self.result != other.result || self.args.len() != other.args.len() {
            return None;
        }
        for (own, other) in self.args.iter_mut().zip(other.args) {
            match (own, other) {
                (ClosureArgument::Data(own), ClosureArgument::Data(other))
                    if (own.ty, own.array) == (other.ty, other.array) =>
                {
                    own.assigns |= other.assigns;
                    own.open |= other.open;
                    own.lasting |= other.lasting;
                }
                _ => return None,
            }
        }
        Some(self)
    }

    /// The closure `name` that computes the derivative of this one.
    fn derivative(
        self,
        name: Option<&Name>,
        rule: &Rule,
        adjoint: bool,
    ) -> Result<Interface, String> {
        let arguments = rule.arguments.as_deref().unwrap_or_default();
        if arguments.len() != self.args.len() {
            return Err("whose directive lists other arguments".into());
        }
        let has = |list: &Option<Vec<Name>>, n: &Name| list.iter().flatten().any(|l| l == n);
        let (mut args, mut shown) = (Vec::new(), Vec::new());
        let (mut sets, mut adds, mut zeros) = (Vec::new(), Vec::new(), Vec::new());
        let clash = |letter: &&char| {
            let derivative = |n: &Name| Name::from(format!("{n}{letter}"));
            arguments.iter().any(|n| arguments.contains(&derivative(n)))
        };
        let letters = if adjoint { "BCGH" } else { "DEGH" };
        let letters: Vec<char> = letters.chars().collect();
        let letter = letters.iter().find(|l| !clash(l)).unwrap_or(&letters[0]);
        let free = |n: &&&str| !arguments.iter().any(|a| a.starts_with(**n));
        let value = *["Y", "V", "VALUE"].iter().find(free).unwrap_or(&"RESULT");
        for (position, (argument, given)) in arguments.iter().zip(self.args).enumerate() {
            let ClosureArgument::Data(data) = given else {
                return Err(format!("whose argument {argument} is a procedure"));
            };
            let output = has(&rule.outputs, argument);
            let assigns = data.assigns && !adjoint && rule.assigns(position);
            // The derivative code may pass variables of its own.
            let data = DataArgument {
                assigns,
                lasting: true,
                ..data
            };
            args.push(ClosureArgument::Data(data));
            shown.push(argument.to_string());
            if assigns {
                sets.push(argument.to_string());
            }
            if !rule.is_active(argument) {
                continue;
            }
            let derivative = format!("{argument}{letter}");
            match (adjoint, output) {
                (false, true) => sets.push(derivative.clone()),
                (true, true) => zeros.push(derivative.clone()),
                (true, false) => adds.push(derivative.clone()),
                (false, false) => {}
            }
            shown.push(derivative);
            args.push(ClosureArgument::Data(DataArgument {
                assigns: adjoint || output,
                ..data
            }));
        }
        if let Some(ty) = self.result {
            for derivative in [false, true] {
                let value = match derivative {
                    true => format!("{value}{letter}"),
                    false => value.to_owned(),
                };
                match (adjoint, derivative) {
                    (false, _) => sets.push(value.clone()),
                    (true, true) => zeros.push(value.clone()),
                    (true, false) => {}
                }
                shown.push(value);
                args.push(ClosureArgument::Data(DataArgument {
                    ty,
                    assigns: derivative || !adjoint,
                    array: false,
                    open: false,
                    lasting: true,
                }));
            }
        }
        let of = identifier(&rule.procedure);
        let computes = match adjoint {
            false => format!("the tangent of `{of}`: it sets {}", enumerated(&sets)),
            true => {
                let zeros = match zeros.is_empty() {
                    true => String::new(),
                    false => format!(", then sets {} to zero", enumerated(&zeros)),
                };
                format!(
                    "the adjoint of `{of}`: it adds to {}{zeros}",
                    enumerated(&adds)
                )
            }
        };
        let computes = match self.result {
            Some(_) => format!("{computes}; {value} is the value of `{of}`"),
            None => computes,
        };
        let name = name.map_or("", Name::as_str);
        Ok(Interface {
            result: None,
            args,
            call: Some(format!("CALL {name}({})", shown.join(", "))),
            computes: Some(computes),
        })
    }

    /// Returns the trait bound of the closure.
    fn rust(&self, config: &Config) -> String {
        let types: Vec<String> = self.args.iter().map(|a| a.rust(config)).collect();
        let result = self.result.map_or(String::new(), |ty| {
            format!(" -> {}", rust_type(Some(ty), config).unwrap_or("()"))
        });
        format!("FnMut({}){result}", types.join(", "))
    }

    /// Returns the type of the C function that Fortran receives.
    fn border(&self, config: &Config) -> String {
        let mut types: Vec<String> = self.args.iter().map(|a| a.border(config)).collect();
        let data = self
            .args
            .iter()
            .filter(|a| matches!(a, ClosureArgument::Data(_)));
        types.extend(data.map(|_| "*const i64".to_owned()));
        let result = self.border_result(config);
        format!(
            "unsafe extern \"C-unwind\" fn({}){result}",
            types.join(", ")
        )
    }

    fn border_result(&self, config: &Config) -> String {
        self.result.map_or(String::new(), |ty| {
            format!(" -> {}", border_type(Some(ty), config))
        })
    }

    /// Writes a closure `farfel_aI` that calls the procedure that Fortran code passes as argument `i` of
    /// another closure.
    fn caller(&self, t: &mut String, i: usize, slot: &str, config: &Config) {
        let mut declared = Vec::new();
        let (mut before, mut after) = (String::new(), String::new());
        let (mut actual, mut lengths) = (Vec::new(), Vec::new());
        for (k, a) in (1..).zip(&self.args) {
            let ClosureArgument::Data(a) = a else {
                continue;
            };
            let x = format!("farfel_x{k}");
            let ty = border_type(Some(a.ty), config);
            declared.push(format!("{x}: {}", a.rust(config)));
            lengths.push(match a.array {
                true => format!("&({x}.len() as i64)"),
                false => "&1_i64".to_owned(),
            });
            let mutable = if a.assigns { "mut " } else { "" };
            let method = if a.assigns { "as_mut_ptr" } else { "as_ptr" };
            let truth = matches!(a.ty, Type::Logical(_));
            if truth {
                let value = match (a.array, a.assigns) {
                    (true, _) => format!("::farfel_runtime::to_logicals::<{ty}>({x})"),
                    (false, true) => format!("{ty}::from(*{x})"),
                    (false, false) => format!("{ty}::from({x})"),
                };
                let _ = write!(before, " let {mutable}farfel_y{k} = {value};");
                if a.assigns {
                    let _ = match a.array {
                        true => write!(
                            after,
                            " ::farfel_runtime::from_logicals(&farfel_y{k}, {x});"
                        ),
                        false => write!(after, " *{x} = farfel_y{k} != 0;"),
                    };
                }
            }
            let held = if truth { format!("farfel_y{k}") } else { x };
            actual.push(match (a.array, truth || !a.assigns) {
                (true, _) => format!("{held}.{method}()"),
                (false, true) => format!("&{mutable}{held}"),
                (false, false) => held,
            });
        }
        actual.extend(lengths);
        let result = self.result.map_or(String::new(), |ty| {
            format!(" -> {}", rust_type(Some(ty), config).unwrap_or("()"))
        });
        let truth = match self.result {
            Some(Type::Logical(_)) => " != 0",
            _ => "",
        };
        let _ = writeln!(
            t,
            "            let farfel_l{i} = ::farfel_runtime::Lent::of(&{slot});\n            \
             let mut farfel_a{i} = |{}|{result} {{{before} let farfel_y = farfel_l{i}.during(|| a{i}({})){truth};{after} farfel_y }};",
            declared.join(", "),
            actual.join(", ")
        );
    }

    /// Generates the code for the argument `name` of the wrapper of `unit`.
    pub(super) fn code(&self, unit: &Unit, name: &str, config: &Config) -> ClosureCode {
        let plain = name.trim_start_matches("r#");
        let Some(call) = &self.call else {
            let function = format!("farfel_unused_{plain}");
            return ClosureCode {
                rust: String::new(),
                border: self.border(config),
                items: format!(
                    "    ::farfel_runtime::border! {{ extern \"C-unwind\" fn {function}() {{}} }}\n"
                ),
                actual: function,
                before: String::new(),
                note: format!(
                    "The procedure {} is not called, and is not an argument here.",
                    plain.to_ascii_uppercase()
                ),
            };
        };
        let has_length =
            |a: &ClosureArgument| matches!(a, ClosureArgument::Data(d) if d.has_length());
        let is_data = |a: &ClosureArgument| matches!(a, ClosureArgument::Data(_));
        let numbered = || (1..).zip(&self.args);
        let arguments: Vec<String> = numbered().map(|(i, _)| format!("a{i}")).collect();
        let declared: Vec<String> = numbered()
            .map(|(i, a)| format!("a{i}: {}", a.border(config)))
            .collect();
        // Fortran passes a length for each data argument; only those of arrays and texts are used.
        let lengths = numbered().filter(|(_, a)| is_data(a)).map(|(i, a)| {
            let unused = if has_length(a) { "" } else { "_" };
            format!("{unused}n{i}: *const i64")
        });
        let all: Vec<String> = declared.iter().cloned().chain(lengths).collect();
        let own: Vec<String> = numbered()
            .filter(|(_, a)| has_length(a))
            .map(|(i, _)| format!("n{i}"))
            .collect();
        let handed = [arguments, own.clone()].concat();
        let own = own.iter().map(|n| format!("{n}: *const i64"));
        let own: Vec<String> = declared.iter().cloned().chain(own).collect();
        let types = |declared: &[String]| -> String {
            let each = declared.iter().filter_map(|d| d.split_once(": "));
            each.map(|(_, ty)| ty).collect::<Vec<_>>().join(", ")
        };
        let function = self.border(config);
        let border_result = self.border_result(config);
        let bound = format!("FnMut({}){border_result}", types(&own));
        let slot = slot(name);

        let mut items = String::new();
        let _ = writeln!(
            items,
            "    ::std::thread_local! {{\n        static {slot}: ::farfel_runtime::Slot = const {{ ::farfel_runtime::Slot::new() }};\n    }}\n    \
             ::farfel_runtime::border! {{ extern \"C-unwind\" fn farfel_enter_{plain}<F: {bound}>({}){border_result} {{\n        \
             // SAFETY: the slot is filled with an F for the time of the call that got this function.\n        \
             ::farfel_runtime::border! {{ ::farfel_runtime::Slot::with::<F, _>(&{slot}, |f| f({})) }}\n    }} }}\n    \
             fn farfel_entry_{plain}<F: {bound}>(_: &F) -> {function} {{\n        farfel_enter_{plain}::<F>\n    }}",
            all.join(", "),
            handed.join(", "),
        );
        let before = self.adapter(unit, name, &own, config);
        ClosureCode {
            rust: format!("impl {}", self.rust(config)),
            border: function,
            actual: format!("farfel_code_{plain}"),
            items,
            before: format!(
                "{before}    let farfel_code_{plain} = farfel_entry_{plain}(&farfel_{plain});\n    \
                 let _farfel_given_{plain} = ::farfel_runtime::Given::new(&{slot}, &mut farfel_{plain});\n"
            ),
            note: match &self.computes {
                Some(computes) => {
                    format!("`{plain}` is called as `{call}` and computes {computes}.")
                }
                None => format!("`{plain}` is called as `{call}`."),
            },
        }
    }

    /// Generates the closure that takes pointers and calls the user's closure.
    fn adapter(&self, unit: &Unit, name: &str, declared: &[String], config: &Config) -> String {
        let result = self.border_result(config);
        let plain = name.trim_start_matches("r#");
        let shown = identifier(&unit.name);
        let shown = shown.trim_start_matches("r#");
        let mut t = String::new();
        let _ = writeln!(
            t,
            "    let mut farfel_{plain} = |{}|{result} {{",
            declared.join(", ")
        );
        t.push_str("        // SAFETY: Fortran passes the addresses of variables and arrays of this size.\n        ::farfel_runtime::border! {\n");
        let place = format!("\"{shown}\", \"{plain}\"");
        let mut actual = Vec::new();
        let mut areas = Vec::new();
        let mut slices = String::new();
        let mut after = String::new();
        for (i, a) in (1..).zip(&self.args) {
            let a = match a {
                ClosureArgument::Data(data) => data,
                ClosureArgument::Procedure(slot, procedure) => {
                    procedure.caller(&mut slices, i, slot, config);
                    actual.push(format!("&mut farfel_a{i}"));
                    continue;
                }
            };
            if a.is_text() {
                let mutable = if a.assigns { "mut " } else { "" };
                let copied = format!(
                    "let {mutable}farfel_c{i} = ::farfel_runtime::Copied::text(a{i}, n{i});"
                );
                let _ = writeln!(slices, "            {copied}");
                if a.assigns {
                    let _ = writeln!(after, "            farfel_c{i}.put_back(a{i});");
                    actual.push(format!("farfel_c{i}.values_mut()"));
                } else {
                    actual.push(format!(
                        "&::farfel_runtime::string_of(farfel_c{i}.values())"
                    ));
                }
                continue;
            }
            let truth = matches!(a.ty, Type::Logical(_));
            if !a.array && !a.assigns {
                let truth = if truth { " != 0" } else { "" };
                let read = format!("::farfel_runtime::Area::value(a{i})");
                let _ = writeln!(t, "            let farfel_a{i} = {read}{truth};");
                actual.push(format!("farfel_a{i}"));
                continue;
            }
            let area = areas.len();
            areas.push(match a.array {
                true => format!("array(a{i}, n{i}, {}, {})", a.assigns, a.open),
                false => format!("one(a{i}, {})", a.assigns),
            });
            let count = format!("farfel_areas[{area}].count_of(a{i})");
            let mutable = if a.assigns { "mut " } else { "" };
            let line = |t: &mut String, text: String| {
                let _ = writeln!(t, "            {text}");
            };
            if !a.array {
                // Other code may access the variable while the closure runs, so the closure receives a copy.
                let (is, back) = match truth {
                    true => (" != 0", ".into()"),
                    false => ("", ""),
                };
                line(
                    &mut slices,
                    format!("let farfel_o{i} = ::farfel_runtime::Area::value(a{i}){is};"),
                );
                line(&mut slices, format!("let mut farfel_b{i} = farfel_o{i};"));
                line(
                    &mut after,
                    format!(
                        "if farfel_b{i} != farfel_o{i} {{ ::farfel_runtime::Area::assign(a{i}, farfel_b{i}{back}); }}"
                    ),
                );
                actual.push(format!("&mut farfel_b{i}"));
            } else if a.lasting {
                line(
                    &mut slices,
                    format!(
                        "let {mutable}farfel_c{i} = ::farfel_runtime::Copied::of(a{i}, {count});"
                    ),
                );
                let values = if a.assigns { "values_mut" } else { "values" };
                let mut given = format!("farfel_c{i}.{values}()");
                if a.assigns {
                    after.insert_str(0, &format!("            farfel_c{i}.put_back(a{i});\n"));
                }
                if truth {
                    line(
                        &mut slices,
                        format!("let {mutable}farfel_b{i} = ::farfel_runtime::truths({given});"),
                    );
                    if a.assigns {
                        after.insert_str(0, &format!("            ::farfel_runtime::into_logicals(&farfel_b{i}, {given});\n"));
                    }
                    given = format!("&{mutable}farfel_b{i}");
                }
                actual.push(given);
            } else {
                let maker = if a.assigns { "exclusive" } else { "shared" };
                line(
                    &mut slices,
                    format!(
                        "let farfel_a{i} = ::farfel_runtime::Area::{maker}({place}, a{i}, {count});"
                    ),
                );
                if !truth {
                    actual.push(format!("farfel_a{i}"));
                    continue;
                }
                line(
                    &mut slices,
                    format!("let {mutable}farfel_b{i} = ::farfel_runtime::truths(farfel_a{i});"),
                );
                if a.assigns {
                    line(
                        &mut after,
                        format!("::farfel_runtime::into_logicals(&farfel_b{i}, farfel_a{i});"),
                    );
                }
                actual.push(format!("&{mutable}farfel_b{i}"));
            }
        }
        let arrays = areas.iter().any(|a| a.starts_with("array"));
        if arrays || areas.len() > 1 {
            let areas: Vec<String> = areas
                .iter()
                .map(|a| format!("::farfel_runtime::Area::{a}"))
                .collect();
            let assigns = |a: &ClosureArgument| matches!(a, ClosureArgument::Data(d) if d.assigns);
            let writes = self.args.iter().any(assigns) && areas.len() > 1;
            let mutable = if writes { "mut " } else { "" };
            let _ = writeln!(
                t,
                "            let {mutable}farfel_areas = [{}];",
                areas.join(", ")
            );
            if writes {
                let _ = writeln!(
                    t,
                    "            ::farfel_runtime::Area::apart({place}, &mut farfel_areas);"
                );
            }
        }
        t.push_str(&slices);
        let call = format!("{name}({})", actual.join(", "));
        let result = match self.result {
            Some(Type::Logical(_)) => "            farfel_result.into()\n",
            Some(_) => "            farfel_result\n",
            None => "",
        };
        let kept = if self.result.is_some() {
            "let farfel_result = "
        } else {
            ""
        };
        let _ = write!(t, "            {kept}{call};\n{after}{result}");
        t.push_str("        }\n    };\n");
        t
    }
}
