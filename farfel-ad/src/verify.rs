//! What was generated, verified.

use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Level, Name, Program, Unit};
use farfel_lang::verify::{Primals, Verifier, is_on};
use std::collections::HashSet;

/// Verifies one unit that a pass has changed by itself: what it is made of, not what runs through it.
///
/// # Errors
///
/// What the pass has broken.
pub(crate) fn unit(pass: &str, unit: &Unit) -> Result<(), Vec<Diagnostic>> {
    if !is_on() {
        return Ok(());
    }
    let faults = farfel_lang::verify::faults_of(unit);
    match faults.is_empty() {
        true => Ok(()),
        false => Err(vec![farfel_lang::verify::fault(pass, &faults)]),
    }
}

/// Verifies the units that a pass has made, or replaced, in a program.
///
/// # Errors
///
/// What they break.
pub(crate) fn made(
    pass: &str,
    program: &Program,
    made: &[Unit],
    primals: &Primals,
) -> Result<(), Vec<Diagnostic>> {
    if !is_on() {
        return Ok(());
    }
    let new: HashSet<&Name> = made.iter().map(|u| &u.name).collect();
    let mut all = program.clone();
    all.units.retain(|u| !new.contains(&u.name));
    let verifier = Verifier::always(&all);
    all.units.extend(made.iter().cloned());
    let is_new = |u: &Unit| new.contains(&u.name);
    let found = verifier.new_units(pass, &all, Level::Staged, &is_new, primals);
    found.map_err(|fault| vec![fault])
}
