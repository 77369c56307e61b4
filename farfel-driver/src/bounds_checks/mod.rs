//! Bounds checks: no function that safe Rust calls may access memory outside its arrays.
//!
//! This is a pass over the final program of a library, before it is printed:
//!
//! 1. Every subprogram gets, after its other arguments, an INTEGER*8 for each array argument: the number of
//!    elements from the first one on. Calls pass on what remains of the arrays that they pass. In COMMON and
//!    EQUIVALENCE this extends to the end of the storage.
//! 2. Every subscript, section (`sections`), substring and whole array is checked against these lengths, by its position
//!    in storage and not by each bound: old programs run through a matrix with one subscript. What can be
//!    proven is not checked: constants (`rewrite`), and what can be decided before a loop begins (`frames`,
//!    `prove`); such a loop has two versions.
//! 3. A check that fails calls `farfel-runtime`, which unwinds to the Rust function as STOP does.
//!
//! The checks hold whatever the program computes: objects with checks are compiled so that integer arithmetic
//! wraps, and a subscript is evaluated in the same place where it is checked and used.
//!
//! Procedures that are arguments are Rust closures and get a length with every argument: see
//! [`dummy_procedures`].
//!
//! Anything that the pass does not cover is a reason ([`CheckFacts::exposed`]) to make the functions that
//! reach it `unsafe`. The arguments of subprograms that C calls by name, or that are passed on as arguments,
//! are left unchanged.

mod actual_arguments;
mod arrays;
mod control;
pub(crate) mod dummy_procedures;
mod entry_points;
mod frames;
mod intrinsics;
mod labels;
mod poly;
pub(crate) mod program_variables;
mod prove;
mod rewrite;
mod sections;
mod shapes;
mod statement_labels;
mod temporaries;

use crate::calls::{callees, entries, for_each_call, for_each_passed, spread};
use farfel_lang::Sources;
use farfel_lang::ir::{
    Arg, Attribute, Block, Class, Expr, ExprKind, Name, Origin, Program, SpecKind, StmtKind,
    StorageClass, SymId, Symbol, Type, Unit, UnitKind, walk_block_mut,
};
use farfel_lang::storage::Constants;
pub(crate) use labels::number as number_labels;
use program_variables::ProgramVariableArguments;
use rewrite::CheckInserter;
pub(crate) use rewrite::{place_of, under, unlabel_loops};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The reason given when the settings disable checks.
pub(crate) const UNCHECKED: &str = "the settings leave out its checks";

/// Decisions for a whole library that are made before any of its objects.
#[derive(Debug, Default)]
pub(crate) struct BoundsCheckPlan {
    /// The units that get no lengths, with the reasons.
    unmeasured: HashMap<Name, String>,
    /// The units in which the settings disable checks; `None` for all units.
    unchecked: Option<HashSet<Name>>,
    /// The arguments that may be variables of the program.
    pub program_variables: ProgramVariableArguments,
    /// The size of a default REAL in bytes.
    real: u8,
}

/// What is known about the units of a program with checks.
#[derive(Debug, Default)]
pub(crate) struct CheckFacts {
    /// The units in which a check may fail.
    pub fails: HashSet<Name>,
    /// The units in which there may be no memory for a text, which nobody expects.
    pub surprises: HashSet<Name>,
    /// The units with something that is not covered, each with the first reason.
    pub exposed: HashMap<Name, String>,
}

/// What callers must know about a subprogram.
struct Interface {
    args: Vec<Dummy>,
    /// For a function, the type of its result, and for a CHARACTER its length if that is constant.
    result: Option<(Option<Type>, Option<i64>)>,
    measured: bool,
}

enum Dummy {
    /// `size` is the size of an element in bytes; `any` means that it accepts texts of any length.
    Scalar {
        size: Option<i64>,
        any: bool,
    },
    Array {
        size: Option<i64>,
        any: bool,
    },
    /// A procedure or an alternate return.
    Other,
}

/// A unit with checks.
struct CheckedUnit {
    unit: Unit,
    /// Whether one of them may fail.
    fails: bool,
    /// Whether there may be no memory for a text.
    surprises: bool,
    /// The reasons why they do not cover everything.
    reasons: BTreeSet<String>,
}

/// The state of the pass.
struct CheckPass<'a> {
    plan: &'a BoundsCheckPlan,
    interfaces: HashMap<Name, Interface>,
    sources: Option<&'a Sources>,
    real: u8,
}

impl BoundsCheckPlan {
    /// Makes the plan for a staged program with stand-ins for its derivatives. `by_name` are the units that C
    /// calls. `unchecked` are the units in which the settings disable checks, `None` for all.
    pub(crate) fn of(
        program: &Program,
        by_name: &BTreeSet<Name>,
        unchecked: Option<HashSet<Name>>,
        real: u8,
    ) -> BoundsCheckPlan {
        let mut unmeasured: HashMap<Name, String> = HashMap::new();
        let own = entries(program);
        let mut leave = |name: &Name, why: &str| {
            if let Some(owner) = own.get(name) {
                let why = || why.to_owned();
                unmeasured.entry(owner.clone()).or_insert_with(why);
            }
        };
        for unit in &program.units {
            if by_name.contains(&unit.name) {
                leave(&unit.name, "C calls it, and says nothing of lengths");
            }
            for_each_call(unit, &mut |callee, args| {
                let symbol = &unit.symbols[callee];
                let name = match symbol.storage_class {
                    StorageClass::Result => &unit.name,
                    StorageClass::Global => &symbol.name,
                    _ => return,
                };
                let target = own.get(name).and_then(|owner| program.unit(owner));
                let Some(target) = target else {
                    return;
                };
                let wanted = match symbol.class {
                    Class::Subroutine => target.kind == UnitKind::Subroutine,
                    _ => target.kind == UnitKind::Function,
                };
                let point = target.entry_points().find(|e| e.name == name);
                if point.is_none_or(|e| e.args.len() != args.len()) || !wanted {
                    leave(name, "it is called with other arguments than it has");
                }
            });
            for_each_passed(unit, &mut |name| {
                leave(name, "it is passed on as an argument, without lengths");
            });
        }
        // ENTRY points are treated like their units.
        for (entry, unit) in own {
            if let Some(why) = unmeasured.get(&unit).cloned() {
                unmeasured.insert(entry, why);
            }
        }
        BoundsCheckPlan {
            unmeasured,
            unchecked,
            program_variables: ProgramVariableArguments::of(program),
            real,
        }
    }

    /// Whether a unit gets the lengths of its array arguments.
    pub(crate) fn is_measured(&self, unit: &str) -> bool {
        !self.unmeasured.contains_key(unit)
    }

    /// Returns the size of a default REAL in bytes.
    pub(crate) fn real(&self) -> u8 {
        self.real
    }

    /// Whether the subscripts of a unit are checked.
    pub(crate) fn is_checked(&self, unit: &str) -> bool {
        self.unchecked.as_ref().is_some_and(|u| !u.contains(unit))
    }

    /// Returns the plan's decisions about calls as text, for the keys of objects.
    pub(crate) fn recipe(&self) -> String {
        let mut names: Vec<&Name> = self.unmeasured.keys().collect();
        names.sort();
        let mut unchecked: Option<Vec<&Name>> = self.unchecked.as_ref().map(|u| u.iter().collect());
        unchecked.iter_mut().for_each(|u| u.sort());
        format!("without {names:?} unchecked {unchecked:?}")
    }

    /// Determines the checks of a program without changing it.
    pub(crate) fn analyse(&self, program: &Program) -> CheckFacts {
        let pass = CheckPass::new(self, &[program], None);
        let mut checked = CheckFacts::default();
        for unit in &program.units {
            let name = unit.name.clone();
            if unit.origin == Origin::Derivative {
                // A derivative does not exist yet. Its arrays are those of the original.
                continue;
            }
            let found = pass.unit(unit.clone());
            if found.fails {
                checked.fails.insert(name.clone());
            }
            if found.surprises {
                checked.surprises.insert(name.clone());
            }
            if let Some(reason) = found.reasons.into_iter().next() {
                checked.exposed.insert(name, reason);
            }
        }
        // A derivative has the arrays of all units that its original calls.
        let callees = callees(program);
        let mut arrays: HashSet<Name> = program
            .units
            .iter()
            .filter(|u| has_arrays(u))
            .map(|u| u.name.clone())
            .collect();
        spread(&callees, &mut arrays);
        let derivatives = program
            .units
            .iter()
            .filter(|u| u.origin == Origin::Derivative);
        let careful = derivatives.map(|u| &u.name).filter(|n| arrays.contains(*n));
        checked.fails.extend(careful.cloned());
        checked
    }

    /// Adds checks to a program. `library` has the interfaces of units in other objects.
    pub(crate) fn protect(&self, program: &mut Program, library: &Program, sources: &Sources) {
        let pass = CheckPass::new(self, &[library, program], Some(sources));
        let units = std::mem::take(&mut program.units);
        program.units = units.into_iter().map(|u| pass.unit(u).unit).collect();
    }
}

fn has_arrays(unit: &Unit) -> bool {
    let text = |s: &Symbol| s.ty == Some(Type::Character);
    unit.symbols
        .iter()
        .any(|(_, s)| s.is_variable() && (s.is_array() || text(s)))
}

/// Returns the size in bytes of a number or logical value, with a default REAL of `real` bytes.
fn bytes(ty: Type, real: u8) -> Option<i64> {
    Some(match ty.with_real(real) {
        Type::Integer(n) | Type::Real(n) | Type::Logical(n) => i64::from(n),
        Type::Complex(n) => 2 * i64::from(n),
        Type::Character => return None,
    })
}

/// Whether this is a procedure of gfortran that is called like one of the program and touches only its
/// arguments.
fn is_harmless(symbol: &Symbol) -> bool {
    const HARMLESS: [&str; 13] = [
        "ABORT",
        "CPU_TIME",
        "DATE_AND_TIME",
        "DTIME",
        "ETIME",
        "EXIT",
        "FLUSH",
        "GETENV",
        "IDATE",
        "ITIME",
        "RANDOM_NUMBER",
        "SECOND",
        "SYSTEM_CLOCK",
    ];
    !symbol.external && HARMLESS.contains(&symbol.name.as_str())
}

impl<'a> CheckPass<'a> {
    fn new(
        plan: &'a BoundsCheckPlan,
        programs: &[&Program],
        sources: Option<&'a Sources>,
    ) -> CheckPass<'a> {
        let mut interfaces = HashMap::new();
        for unit in programs.iter().flat_map(|p| &p.units) {
            for point in unit.entry_points() {
                let args = point.args.iter().map(|a| dummy(unit, *a, plan.real));
                let result = point.result.filter(|_| unit.kind == UnitKind::Function);
                let interface = Interface {
                    args: args.collect(),
                    result: result.map(|r| result_of(unit, r)),
                    measured: plan.is_measured(&unit.name),
                };
                interfaces.insert(point.name.clone(), interface);
            }
        }
        CheckPass {
            plan,
            interfaces,
            sources,
            real: plan.real,
        }
    }

    /// Returns a unit with its checks.
    fn unit(&self, mut unit: Unit) -> CheckedUnit {
        if !matches!(unit.kind, UnitKind::Subroutine | UnitKind::Function) {
            return CheckedUnit {
                unit,
                fails: false,
                surprises: false,
                reasons: BTreeSet::new(),
            };
        }
        let mut body = std::mem::take(&mut unit.body);
        let jumps = labels::number(&unit, &mut body);
        let checks = self.plan.is_checked(&unit.name);
        if checks && self.plan.is_measured(&unit.name) {
            entry_points::leave_open(&mut unit, &body);
        }
        let mut inserter = CheckInserter::new(self, unit);
        inserter.fails = jumps;
        inserter.checks = checks;
        match self.plan.unmeasured.get(&inserter.unit.name) {
            Some(why) => inserter.no_lengths = Some(why.clone()),
            None => add_lengths(&mut inserter, &mut body),
        }
        if !inserter.checks {
            inserter.reasons.insert(UNCHECKED.into());
        }
        add_obstacles(&mut inserter, &body);
        inserter.run(body)
    }
}

/// Adds the arguments with the lengths of arrays, also to ENTRY points.
fn add_lengths(inserter: &mut CheckInserter, body: &mut Block) {
    let mut args = std::mem::take(&mut inserter.unit.args);
    lengths_of(inserter, &mut args);
    inserter.unit.args = args;
    for s in body {
        if let StmtKind::Entry(entry) = &mut s.kind {
            lengths_of(inserter, &mut entry.args);
        }
    }
}

fn lengths_of(inserter: &mut CheckInserter, args: &mut Vec<Arg>) {
    for i in 0..args.len() {
        let Some(array) = args[i].sym() else {
            continue;
        };
        if !takes_length(&inserter.unit.symbols[array]) {
            continue;
        }
        let length = match inserter.given.get(&array) {
            Some(length) => *length,
            None => {
                let name = format!("{}_N", inserter.unit.symbols[array].name);
                let length = arrays::variable(&mut inserter.unit, &name);
                inserter.unit.symbols[length].storage_class = StorageClass::Dummy;
                inserter.given.insert(array, length);
                length
            }
        };
        args.push(Arg::Dummy(length));
    }
}

/// Whether a dummy argument is accompanied by a length.
fn takes_length(symbol: &Symbol) -> bool {
    symbol.is_variable() && symbol.is_array()
}

/// Records the features of a unit that no check covers.
fn add_obstacles(inserter: &mut CheckInserter, body: &Block) {
    let unit = &inserter.unit;
    let mut found: Vec<String> = Vec::new();
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Pointer(_) => found.push("it has Cray pointers".into()),
            SpecKind::Use(_) | SpecKind::Include(_) => {
                found.push("it uses what is not in the program".into());
            }
            _ => {}
        }
    }
    for (_, s) in unit.symbols.iter() {
        if s.has(Attribute::Optional) {
            found.push(format!("its argument {} is OPTIONAL", s.name));
        }
    }
    let absent = entry_points::absent(unit, body);
    let mut jumps: HashMap<u32, usize> = HashMap::new();
    let mut copy = body.clone();
    walk_block_mut(&mut copy, &mut |s| {
        statement_labels::for_each_jump(s, &mut |label| *jumps.entry(*label).or_default() += 1);
    });
    match absent {
        Ok(absent) if absent.is_empty() => {}
        Ok(absent) => {
            inserter.absent = absent;
            inserter.entered = Some(arrays::variable(&mut inserter.unit, "FARFEL_E"));
        }
        Err(why) => found.push(why),
    }
    inserter.jumps = jumps;
    inserter.counted = dummy_procedures::counted(body);
    found.into_iter().for_each(|why| inserter.reason(why));
}

fn dummy(unit: &Unit, arg: Arg, real: u8) -> Dummy {
    let Some(id) = arg.sym() else {
        return Dummy::Other;
    };
    let symbol = &unit.symbols[id];
    if !symbol.is_variable() {
        return Dummy::Other;
    }
    let size = symbol.ty.and_then(|ty| match ty {
        Type::Character => text_length(unit, symbol),
        ty => bytes(ty, real),
    });
    let any = matches!(&symbol.length, Some(e) if e.kind == ExprKind::Star);
    match symbol.is_array() {
        true => Dummy::Array { size, any },
        false => Dummy::Scalar { size, any },
    }
}

/// Returns the type of a function, or of a reference to one, and the length if it is a CHARACTER.
fn result_of(unit: &Unit, function: SymId) -> (Option<Type>, Option<i64>) {
    let symbol = &unit.symbols[function];
    let length = (symbol.ty == Some(Type::Character)).then(|| text_length(unit, symbol));
    (symbol.ty, length.flatten())
}

/// Returns the length with which a CHARACTER is declared; `None` for `*(*)` and for lengths that are not
/// constant.
fn text_length(unit: &Unit, symbol: &Symbol) -> Option<i64> {
    let constant = |e: &Expr| Constants::of(unit).integer(e);
    match &symbol.length {
        None => Some(1),
        Some(e) => constant(e),
    }
}
