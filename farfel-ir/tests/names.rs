//! Generation of unused names.

use farfel_ir::Span;
use farfel_ir::ir::{LONGEST_NAME, Name, Symbol, Symbols, Type, unused_name};

fn variable(name: &str) -> Symbol {
    Symbol::variable(name.into(), Type::REAL, Span::NONE)
}

fn add(symbols: &mut Symbols, wanted: &str) -> Name {
    let name = symbols.unused(wanted, &|n| n == "T2");
    symbols.add(variable(&name));
    name
}

#[test]
fn the_first_number_that_is_free_is_taken() {
    let mut symbols = Symbols::default();
    symbols.add(variable("T4"));
    let found: Vec<Name> = (0..5).map(|_| add(&mut symbols, "T")).collect();
    assert_eq!(found, ["T", "T1", "T3", "T5", "T6"]);
    // A digit does not run into the number.
    assert_eq!(add(&mut symbols, "T1"), "T1_1");
    assert_eq!(add(&mut symbols, "T1"), "T1_2");
}

#[test]
fn names_that_are_given_up_are_free_again() {
    let mut symbols = Symbols::default();
    for _ in 0..4 {
        add(&mut symbols, "T");
    }
    let t1 = symbols.find("T1").unwrap();
    symbols.rename(t1, "OTHER".into());
    assert_eq!(add(&mut symbols, "T"), "T1");
    assert_eq!(add(&mut symbols, "T"), "T5");
    symbols.truncate(2);
    assert_eq!(add(&mut symbols, "T"), "T1");
    // Names added to a copy do not count in the original.
    let mut copy = symbols.clone();
    assert_eq!(add(&mut copy, "T"), "T3");
    assert_eq!(add(&mut symbols, "T"), "T3");
}

#[test]
fn symbols_that_were_taken_away_can_be_added_again() {
    let mut symbols = Symbols::default();
    for _ in 0..3 {
        add(&mut symbols, "T");
    }
    let taken = symbols.split_off(1);
    assert_eq!(taken.len(), 2);
    assert_eq!(add(&mut symbols, "T"), "T1");
    symbols.truncate(1);
    let ids: Vec<_> = taken.into_iter().map(|s| symbols.add(s)).collect();
    assert_eq!(symbols[ids[1]].name, "T3");
    assert_eq!(symbols.find("T3"), Some(ids[1]));
    assert_eq!(add(&mut symbols, "T"), "T4");
}

#[test]
fn long_names_are_cut_and_stay_different() {
    let long = "A".repeat(80);
    let mut symbols = Symbols::default();
    let found: Vec<Name> = (0..12).map(|_| add(&mut symbols, &long)).collect();
    assert!(found.iter().all(|n| n.len() <= LONGEST_NAME));
    let mut different = found.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), found.len());
    let other = unused_name(&format!("{long}B"), &|_| false);
    assert_ne!(found[0], other);
}
