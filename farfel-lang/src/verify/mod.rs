//! Checks the invariants of a program after every pass, whoever wrote the program.
//!
//! An error found here is a bug in Farfel. Passes are verified once [`turn_on`] has been called,
//! and always in debug builds.
//!
//! | module | checks |
//! |---|---|
//! | [`ir::verify`](mod@crate::ir) | the representation itself: names, labels, declarations |
//! | [`resolve`](mod@crate::resolve) | types, shapes, jumps, arguments of calls: the same rules as for the user's text |
//! | `aliases` | no generated call passes storage twice that the callee assigns |
//! | `tangents` | derivatives and variables correspond one to one, in each derivative and across its calls |
//! | `tapes` | a growing tape is passed as a growing tape |
//! | `values` | no generated variable is read before it is set |
//!
//! Whatever the user's text does, on purpose or by mistake, its copies and derivatives do too. That
//! is not the error of a pass, so a [`Verifier`] first inspects the original program.

mod aliases;
mod tangents;
mod tapes;
mod values;

use crate::dataflow::{self, DoubtfulRead};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    self, Class, EntryPoint, Level, Name, Origin, Program, StorageClass, SymId, Symbol, Unit,
};
use crate::resolve::entry_points_of;
use crate::source::Span;
use crate::timing;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

static ON: AtomicBool = AtomicBool::new(false);

/// Verifies passes from now on in this process, even in release builds.
pub fn turn_on() {
    ON.store(true, Ordering::Relaxed);
}

/// Whether [`turn_on`] has been called.
pub fn is_requested() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Whether passes are verified. In debug builds they always are.
pub fn is_on() -> bool {
    is_requested() || cfg!(debug_assertions)
}

/// The variable to which each derivative belongs, by unit.
#[derive(Debug, Default)]
pub struct Primals {
    pairs: HashMap<Name, Vec<(SymId, SymId)>>,
    adjoints: bool,
}

impl Primals {
    /// Creates the table for tangents: for each unit pairs of a tangent and its variable. A tangent
    /// is undefined where its variable is.
    pub fn of_tangents(pairs: impl IntoIterator<Item = (Name, Vec<(SymId, SymId)>)>) -> Self {
        Primals {
            pairs: pairs.into_iter().collect(),
            adjoints: false,
        }
    }

    /// Creates the table for adjoints: for each unit pairs of a cotangent and its variable.
    pub fn of_adjoints(pairs: impl IntoIterator<Item = (Name, Vec<(SymId, SymId)>)>) -> Self {
        Primals {
            adjoints: true,
            ..Primals::of_tangents(pairs)
        }
    }

    fn get(&self, unit: &Name) -> Option<&Vec<(SymId, SymId)>> {
        self.pairs.get(unit)
    }

    fn of_tangent(&self, unit: &Name) -> Option<&Vec<(SymId, SymId)>> {
        self.get(unit).filter(|_| !self.adjoints)
    }
}

/// The name of the verifier in [`timing`].
const NAME: &str = "verify";

/// Verifies a program after each pass: the units that the pass has changed, and those that call a
/// unit whose arguments it has changed.
#[derive(Debug, Default)]
pub struct Verifier {
    on: bool,
    /// The units after the last pass.
    seen: HashMap<Name, Unit>,
    /// The level at which all of them were verified then.
    level: Option<Level>,
    /// Places where the original program already breaks a rule.
    known: Vec<Span>,
    /// Variables that the program reads without a value: its copies and derivatives do so too.
    uninitialised: HashSet<Name>,
}

impl Verifier {
    /// Creates a verifier for passes that start from this program, if passes are verified
    /// ([`is_on`]).
    pub fn of(program: &Program) -> Self {
        match is_on() {
            true => Verifier::always(program),
            false => Verifier::default(),
        }
    }

    /// Creates a verifier for passes that start from this program, in any case.
    pub fn always(program: &Program) -> Self {
        timing::pass(NAME, || Verifier::inspect(program))
    }

    fn inspect(program: &Program) -> Self {
        let callable = entry_points_of(&program.units);
        let mut known = Vec::new();
        for unit in &program.units {
            let found = crate::resolve::errors_of(unit, &callable);
            known.extend(found.into_iter().map(|d| d.span));
        }
        let mut uninitialised = HashSet::new();
        if program.units.iter().any(|u| u.origin == Origin::Derivative) {
            dataflow::doubtful_reads(program, &mut |_, unit, found| {
                let unset = found.iter().filter(|d| d.never);
                uninitialised.extend(unset.map(|d| unit.symbols[d.sym].name.clone()));
            });
        }
        let seen = program.units.iter().map(|u| (u.name.clone(), u.clone()));
        Verifier {
            on: true,
            seen: seen.collect(),
            level: None,
            known,
            uninitialised,
        }
    }

    /// Records errors that passes have found in the program itself: before, it was not known what
    /// its dummy procedures stand for.
    pub fn record_diagnostics(&mut self, diagnostics: &[Diagnostic]) {
        if self.on {
            let said = diagnostics.iter().map(|d| d.span);
            let new = said.filter(|s| !self.known.contains(s));
            self.known.extend(new.collect::<Vec<_>>());
        }
    }

    /// Records the variables that `legal`, the form of the program from which derivatives are made,
    /// reads without a value: the derivatives read them so too. Without its STOPs, a program
    /// continues where a variable was not set.
    pub fn derives_from(&mut self, legal: &Program) {
        if self.on {
            let uninitialised = &mut self.uninitialised;
            dataflow::doubtful_reads(legal, &mut |_, unit, found| {
                let unset = found.iter().filter(|d| d.never);
                uninitialised.extend(unset.map(|d| unit.symbols[d.sym].name.clone()));
            });
        }
    }

    /// Verifies the program after a pass.
    ///
    /// # Errors
    ///
    /// The rules that the pass has broken.
    pub fn after(&mut self, pass: &str, program: &Program, level: Level) -> Result<(), Diagnostic> {
        match self.on {
            true => timing::pass(NAME, || self.verify_after(pass, program, level)),
            false => Ok(()),
        }
    }

    fn verify_after(
        &mut self,
        pass: &str,
        program: &Program,
        level: Level,
    ) -> Result<(), Diagnostic> {
        let mut changed: HashSet<Name> = HashSet::new();
        let mut called: HashSet<&Name> = HashSet::new();
        for unit in &program.units {
            let old = self.seen.get(&unit.name);
            if old == Some(unit) {
                continue;
            }
            changed.insert(unit.name.clone());
            if old.is_none_or(|old| !called_alike(old, unit)) {
                called.extend(unit.entry_points().map(|e| e.name));
            }
        }
        let is_changed = |u: &Unit| changed.contains(&u.name);
        let looked_at = |u: &Unit| is_changed(u) || calls_one_of(u, &called);
        let mut errors = match self.level == Some(level) {
            true => ir::verify_some(program, level, &is_changed),
            false => ir::verify(program, level),
        };
        if errors.is_empty() {
            errors = self.errors(program, &looked_at, &Primals::default());
        }
        self.level = Some(level);
        let new = program.units.iter().filter(|u| is_changed(u));
        self.seen.extend(new.map(|u| (u.name.clone(), u.clone())));
        judge(pass, &errors)
    }

    /// Verifies the units that a pass has added to a program, at a [`Level`].
    ///
    /// # Errors
    ///
    /// The rules that the pass has broken.
    pub fn new_units(
        &self,
        pass: &str,
        program: &Program,
        level: Level,
        new: &dyn Fn(&Unit) -> bool,
        primals: &Primals,
    ) -> Result<(), Diagnostic> {
        if !self.on {
            return Ok(());
        }
        timing::pass(NAME, || {
            let mut errors = ir::verify_some(program, level, new);
            if errors.is_empty() {
                errors = self.errors(program, new, primals);
            }
            judge(pass, &errors)
        })
    }

    /// Returns the rules that some units break, in a program whose representation is valid.
    fn errors(
        &self,
        program: &Program,
        new: &dyn Fn(&Unit) -> bool,
        primals: &Primals,
    ) -> Vec<String> {
        let mut errors = Vec::new();
        let callable = entry_points_of(&program.units);
        for unit in program.units.iter().filter(|u| new(u)) {
            for d in crate::resolve::errors_of(unit, &callable) {
                if !self.is_known(d.span) {
                    errors.push(format!("{}: {}", unit.name, d.message));
                }
            }
        }
        let made = |u: &Unit| u.origin == Origin::Derivative && new(u);
        if !program.units.iter().any(made) {
            return errors;
        }
        let mut doubtful: Vec<(usize, Vec<DoubtfulRead>)> = Vec::new();
        let mut uninitialised = self.uninitialised.clone();
        let intents = dataflow::doubtful_reads(program, &mut |i, unit, found| {
            if unit.origin != Origin::Derivative {
                let unset = found.iter().filter(|d| d.never);
                uninitialised.extend(unset.map(|d| unit.symbols[d.sym].name.clone()));
            } else if made(unit) {
                doubtful.push((i, found));
            }
        });
        for (i, found) in doubtful {
            let unit = &program.units[i];
            let of = primals.of_tangent(&unit.name);
            values::check(unit, found, of, &uninitialised, &mut errors);
        }
        let procedures = aliases::CommonUses::of(program);
        for unit in program.units.iter().filter(|u| made(u)) {
            aliases::check(unit, &intents, &callable, &procedures, &mut errors);
            tangents::check(unit, primals, &callable, &mut errors);
            tapes::check(unit, &callable, &mut errors);
        }
        errors
    }

    /// Whether the program broke a rule at this place before, in the user's text or in what was
    /// made from it.
    fn is_known(&self, span: Span) -> bool {
        let overlap = |k: &Span| k.file == span.file && k.start <= span.end && span.start <= k.end;
        span != Span::NONE && self.known.iter().any(overlap)
    }
}

/// Whether a unit is called as before: compares arguments with their bounds, and the result.
fn called_alike(old: &Unit, new: &Unit) -> bool {
    let head = |a: EntryPoint, b: EntryPoint| {
        let dummies = a.args.iter().zip(b.args).map(|(x, y)| (x.sym(), y.sym()));
        a.name == b.name
            && a.args.len() == b.args.len()
            && dummies
                .chain([(a.result, b.result)])
                .all(|(x, y)| x.map(|s| &old.symbols[s]) == y.map(|s| &new.symbols[s]))
    };
    old.kind == new.kind
        && old.entry_points().count() == new.entry_points().count()
        && old
            .entry_points()
            .zip(new.entry_points())
            .all(|(a, b)| head(a, b))
        && constants(old).eq(constants(new))
}

/// Returns the PARAMETER constants of a unit.
fn constants(unit: &Unit) -> impl Iterator<Item = &Symbol> {
    let symbols = unit.symbols.iter().map(|(_, s)| s);
    symbols.filter(|s| matches!(s.class, Class::Parameter(_)))
}

/// Whether a unit, or one nested in it, refers to one of some procedures.
fn calls_one_of(unit: &Unit, names: &HashSet<&Name>) -> bool {
    let global = |s: &Symbol| s.storage_class == StorageClass::Global && names.contains(&s.name);
    !names.is_empty()
        && (unit.symbols.iter().any(|(_, s)| global(s))
            || unit.nested.iter().any(|n| calls_one_of(n, names)))
}

/// Turns the errors after a pass into a result.
fn judge(pass: &str, errors: &[String]) -> Result<(), Diagnostic> {
    match errors.is_empty() {
        true => Ok(()),
        false => Err(error(pass, errors)),
    }
}

/// Returns the rules that a staged unit breaks by itself: names, labels, declarations.
pub fn errors_of(unit: &Unit) -> Vec<String> {
    ir::verify_alone(unit, Level::Staged)
}

/// Creates the diagnostic about a pass that broke something.
pub fn error(pass: &str, errors: &[String]) -> Diagnostic {
    let first = errors.first().map_or("", String::as_str);
    let more = match errors.len() {
        0 | 1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    Diagnostic::error(
        &rules::INTERNAL_ERROR,
        Span::NONE,
        format!("a bug in Farfel: the pass {pass} has broken the program: {first}{more}"),
    )
    .help(format!(
        "please report it with this message and the source: {REPORT}"
    ))
}

/// The address for reports of bugs in Farfel.
pub const REPORT: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");

#[cfg(test)]
mod tests;
