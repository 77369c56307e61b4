//! Derivative units, as the product rule leaves them, simplified.

use farfel_ad::collect::collect;
use farfel_lang::ir::{SymId, Unit};
use farfel_lang::{Sources, print, resolve::resolve, syntax};
use std::collections::HashSet;

/// Parses one unit and simplifies it; `tangents` are the names of its tangents.
fn simplified(source: &str, tangents: &[&str]) -> String {
    let (mut unit, symbols) = unit(source, tangents);
    collect(&mut unit, &symbols);
    let once = text(&unit);
    collect(&mut unit, &symbols);
    assert_eq!(once, text(&unit), "a second run changes something");
    once
}

fn text(unit: &Unit) -> String {
    print::print_unit(unit, &print::Options::default())
}

fn unit(source: &str, tangents: &[&str]) -> (Unit, HashSet<SymId>) {
    let mut sources = Sources::new();
    let file = sources.add("test.f", source);
    let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let found = resolve(&mut parsed.program);
    assert!(found.is_empty(), "{found:?}");
    let unit = parsed.program.units.remove(0);
    let symbols = tangents
        .iter()
        .map(|t| unit.symbols.find(t).unwrap_or_else(|| panic!("no {t}")))
        .collect();
    (unit, symbols)
}

/// Simplifies the statements of a subroutine and shows them without the frame.
/// `head` are its dummy arguments and declarations.
fn check(args: &str, declarations: &str, tangents: &str, body: &str, expected: &str) {
    let mut source = format!("      SUBROUTINE S({args})\n");
    for line in declarations.lines().chain(body.lines()).map(str::trim) {
        match line.split_once(": ") {
            Some((label, rest)) => source.push_str(&format!("{label:>5} {rest}\n")),
            None => source.push_str(&format!("      {line}\n")),
        }
    }
    source.push_str("      END\n");
    let tangents: Vec<&str> = tangents.split_whitespace().collect();
    let shown = simplified(&source, &tangents);
    let (_, shown) = shown.split_once('\n').unwrap();
    let shown: Vec<&str> = shown
        .lines()
        .filter(|l| !declarations.lines().any(|d| d.trim() == l.trim()))
        .map(|l| l.strip_prefix("      ").unwrap_or(l))
        .filter(|l| *l != "END")
        .collect();
    let expected: Vec<String> = expected
        .lines()
        .map(str::trim_end)
        .filter(|l| !l.trim().is_empty())
        .map(|l| l.strip_prefix("        ").unwrap_or(l).to_owned())
        .collect();
    assert_eq!(shown.join("\n"), expected.join("\n"));
}

#[test]
fn the_example_of_the_paper() {
    check(
        "A, B, B_G2, R, R_G2",
        "",
        "B_G2 R_G2 PRICE_G2 COSTS_G2",
        "PRICE_G2 = -0.1*B_G2
         PRICE = 20-0.1*B-0.0999*A
         COSTS_G2 = B_G2*(10.005-0.05*B) - B*0.05*B_G2
         COSTS = B*(10.005-0.05*B)
         R_G2 = B_G2*PRICE + B*PRICE_G2 - COSTS_G2
         R = B*PRICE - COSTS",
        "",
    );
}
