//! Verification of generated code.

use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Expr, ExprKind, Level, Name, Program, StmtKind, SymId, Unit, walk_block};
use farfel_lang::verify::{Primals, Verifier, is_on};
use std::collections::{BTreeMap, HashSet};

/// Verifies one unit that a pass has changed: its structure, not its data flow.
///
/// # Errors
///
/// The pass has broken an invariant.
pub(crate) fn unit(pass: &str, unit: &Unit) -> Result<(), Vec<Diagnostic>> {
    if !is_on() {
        return Ok(());
    }
    result_of(pass, &farfel_lang::verify::errors_of(unit))
}

fn result_of(pass: &str, errors: &[String]) -> Result<(), Vec<Diagnostic>> {
    match errors.is_empty() {
        true => Ok(()),
        false => Err(vec![farfel_lang::verify::error(pass, errors)]),
    }
}

/// For each tape, the number of reads of its values within larger expressions.
///
/// No pass that simplifies tangents may add any. A statement that only pops a value from a tape has
/// a derivative in any case ([`crate::activity::is_pop`]), which sets the adjoint of the tape;
/// other statements only have one if their results are useful.
#[derive(Default)]
pub(crate) struct TapeReads(BTreeMap<SymId, usize>);

impl TapeReads {
    /// Counts the reads in a unit, if verification is enabled.
    pub(crate) fn of(unit: &Unit) -> TapeReads {
        let mut found = TapeReads::default();
        if is_on() {
            walk_block(&unit.body, &mut |s| {
                if let StmtKind::Assign(_, value) = &s.kind {
                    let parts = value.children();
                    parts.into_iter().for_each(|e| found.add(unit, e));
                }
            });
        }
        found
    }

    /// Verifies that passes have not added any reads to a unit that had these.
    ///
    /// # Errors
    ///
    /// The tapes with additional reads.
    pub(crate) fn verify(&self, passes: &str, unit: &Unit) -> Result<(), Vec<Diagnostic>> {
        let after = TapeReads::of(unit);
        let more = after.0.iter().filter(|(s, n)| self.0.get(s) < Some(n));
        let errors: Vec<String> = more
            .map(|(s, _)| {
                let name = &unit.symbols[*s].name;
                format!(
                    "{}: a value of the tape {name} is read in an expression",
                    unit.name
                )
            })
            .collect();
        result_of(passes, &errors)
    }

    fn add(&mut self, unit: &Unit, e: &Expr) {
        e.walk(&mut |e| {
            if let ExprKind::Element(s, _) = e.kind
                && unit.symbols[s].tape
            {
                *self.0.entry(s).or_default() += 1;
            }
        });
    }
}

/// Verifies the units that a pass has added to a program, or replaced in it.
///
/// # Errors
///
/// The units violate an invariant.
pub(crate) fn generated_units(
    pass: &str,
    program: &Program,
    made: &[Unit],
    primals: &Primals,
) -> Result<(), Vec<Diagnostic>> {
    generated_units_of(pass, program, None, made, primals)
}

/// Like [`generated_units`], for units that were generated from the legalised program.
///
/// # Errors
///
/// The units violate an invariant.
pub(crate) fn generated_units_of(
    pass: &str,
    program: &Program,
    legal: Option<&Program>,
    made: &[Unit],
    primals: &Primals,
) -> Result<(), Vec<Diagnostic>> {
    if !is_on() {
        return Ok(());
    }
    let new: HashSet<&Name> = made.iter().map(|u| &u.name).collect();
    let mut all = program.clone();
    all.units.retain(|u| !new.contains(&u.name));
    let mut verifier = Verifier::always(&all);
    if let Some(legal) = legal {
        verifier.derives_from(legal);
    }
    all.units.extend(made.iter().cloned());
    let is_new = |u: &Unit| new.contains(&u.name);
    let found = verifier.new_units(pass, &all, Level::Staged, &is_new, primals);
    found.map_err(|error| vec![error])
}
