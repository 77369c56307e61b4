//! Programs print the same if their main program becomes a subprogram with instances.

use super::{BYTES, START, StateSignatures, convert};
use crate::assemble::{Library, Links};
use crate::border::fixed_form;
use crate::bounds_checks::number_labels;
use crate::names::Names;
use farfel_lang::Sources;
use farfel_lang::ir::{Program, UnitKind};
use farfel_random::compiled::{expand, read, run};
use farfel_random::generated::{Case, program};
use farfel_random::many::FLAT;
use farfel_random::{sandbox, trial};
use std::collections::{BTreeSet, HashSet};

/// Converts Fortran to use instances, with a main program that creates two of them and runs the first one.
fn with_instance(fortran: &str) -> Result<String, String> {
    let mut program = read(fortran)?.program;
    if let Some((unit, why)) = super::obstacle(&program, &BTreeSet::new()) {
        return Err(format!("{unit}: {why}"));
    }
    let main = main_unit(&mut program)?;
    // As the checks do beforehand: labels are only stored in variables of gfortran's own.
    for unit in &mut program.units {
        let mut body = std::mem::take(&mut unit.body);
        number_labels(unit, &mut body);
        unit.body = body;
    }
    let exports = [main.clone(), BYTES.into(), START.into()];
    let signatures = StateSignatures {
        with: HashSet::from([&main]),
        ..StateSignatures::default()
    };
    convert(&mut program, &signatures, &[], &BTreeSet::new(), 4);
    let names = Names::new("test", "1");
    let library = Library::new(program, names.clone(), &Links::default());
    let mut text = library.text(&exports, &[], &Sources::new(), false);
    let mut put = |s: String| text.push_str(&fixed_form(&s));
    put("PROGRAM FARFEL_MAIN".into());
    put("INTERFACE".into());
    for (name, argument) in [
        (BYTES, "INTEGER*8 A, A2(*)"),
        (START, "INTEGER*16 A(*)"),
        (&main, "INTEGER*16 A(*)"),
    ] {
        let short = &name[..name.len().min(20)];
        let more = if name == BYTES { ", A2" } else { "" };
        put(format!(
            "SUBROUTINE F_{short}(A{more}) BIND(C, NAME='{}')",
            names.symbol(name)
        ));
        put(argument.into());
        put("END SUBROUTINE".into());
    }
    put("END INTERFACE".into());
    put("INTEGER*8 N, PLACES(1)".into());
    put("INTEGER*16, ALLOCATABLE :: A(:), B(:)".into());
    put(format!(
        "CALL F_{}(N, PLACES)",
        &BYTES[..BYTES.len().min(20)]
    ));
    put("ALLOCATE (A(N/16 + 1), B(N/16 + 1))".into());
    put("A = 0".into());
    put("B = 0".into());
    let short = &START[..START.len().min(20)];
    put(format!("CALL F_{short}(A)"));
    put(format!("CALL F_{short}(B)"));
    put(format!("CALL F_{}(A)", &main[..main.len().min(20)]));
    put("END".into());
    Ok(text)
}

/// Converts the main program to a subroutine, and returns its name.
fn main_unit(program: &mut Program) -> Result<farfel_lang::ir::Name, String> {
    let main = program
        .units
        .iter_mut()
        .find(|u| u.kind == UnitKind::Program);
    let main = main.ok_or("there is no main program")?;
    main.kind = UnitKind::Subroutine;
    main.name = "FARFEL_RUN".into();
    Ok(main.name.clone())
}

/// Compares the output with and without instances.
fn compare(fortran: &str, flags: &[&str]) -> Result<(), String> {
    let (one, other) = (sandbox(), sandbox());
    let mut all = vec!["-fcray-pointer", "-fdollar-ok"];
    all.extend(flags);
    let expected = match run(fortran, &all, "", one.path()) {
        Err(e) if e.contains("internal compiler error") => return Ok(()),
        // gfortran 12 takes the whole of some subprograms with an assigned GOTO for unreachable, so that
        // they have no code at all with optimization.
        Err(e)
            if e.contains("signal")
                && run(fortran, &[&all[..], &["-O0"]].concat(), "", one.path()).is_ok() =>
        {
            return Ok(());
        }
        expected => expected?,
    };
    let text = with_instance(fortran)?;
    let modules = format!("-J{}", other.path().display());
    all.push(&modules);
    let found = run(&text, &all, "", other.path()).map_err(|e| format!("{e}\n{text}"))?;
    match are_same(&found, &expected) {
        true => Ok(()),
        false => Err(format!("expected\n{expected}\nfound\n{found}\n{text}")),
    }
}

/// Whether two outputs have the same words, and the same numbers to rounding: with optimization, gfortran may evaluate a constant
/// expression or a common one itself in one of the programs.
fn are_same(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (
        a.split_whitespace().collect(),
        b.split_whitespace().collect(),
    );
    let same = |(a, b): (&&str, &&str)| match (a.parse::<f64>(), b.parse::<f64>()) {
        _ if a == b => true,
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-13 * a.abs().max(b.abs()).max(1e-3),
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(&b).all(same)
}

#[test]
fn programs_of_the_tests_print_the_same() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs");
    let mut failed = Vec::new();
    let mut passed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let Ok(fortran) = read(&text).and_then(expand) else {
            continue;
        };
        match compare(&fortran, &["-O1"]) {
            Ok(()) => passed += 1,
            Err(e) => failed.push(format!("{}: {e}", path.display())),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 60, "{passed}");
}

/// Random programs in Fortran 77, with COMMON, EQUIVALENCE, SAVE, DATA and ENTRY in every form, and with
/// their derivatives. The seed is a new one each time, unless `.ci/run` sets it, and is shown in the message.
#[test]
fn random_programs_print_the_same() {
    let fixed = std::env::var("PROPTEST_RNG_SEED").ok();
    let fresh = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0) % 1_000_000;
    let seed = fixed.and_then(|s| s.parse().ok()).unwrap_or(fresh);
    let mut compared = 0;
    for bundle in 0..2 {
        let cases: Vec<Case> = (0..25)
            .map(|i| Case::new(seed, bundle * 25 + i, FLAT))
            .collect();
        let fine: Vec<&Case> = cases.iter().filter(|c| made(c).is_ok()).collect();
        let Ok(fortran) = trial::fortran(&fine, FLAT, trial::Translation::Compiled) else {
            continue;
        };
        if let Err(all) = compare(&fortran, &["-O1"]) {
            for case in &fine {
                if let Err(e) = made(case).and_then(|f| compare(&f, &["-O1"])) {
                    panic!(
                        "seed {seed}, {}: {e}\n{}",
                        case.name,
                        program(&[(*case).clone()])
                    );
                }
            }
            panic!("seed {seed}, bundle {bundle}: {all}");
        }
        compared += fine.len();
    }
    assert!(compared > 20, "seed {seed}: {compared}");
}

fn made(case: &Case) -> Result<String, String> {
    trial::fortran(&[case], FLAT, trial::Translation::Compiled)
}
