//! From a case that fails to a smaller one that fails likewise.

use super::{Case, Item};

/// The case without everything that it fails without, too. `fails` is asked for each attempt.
pub fn smaller(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    loop {
        let before = size(&best.units);
        // Large parts first.
        let mut number = 0;
        while number < count(&best.units) {
            let mut attempt = best.clone();
            let taken = take(&mut attempt.units, &mut number.clone());
            let sound = taken.is_some_and(|t| !declares(&t, &attempt));
            match sound && size(&attempt.units) < size(&best.units) && fails(&attempt) {
                true => best = attempt,
                false => number += 1,
            }
        }
        if size(&best.units) == before {
            return best;
        }
    }
}

fn size(items: &[Item]) -> usize {
    items
        .iter()
        .map(|i| match i {
            Item::Line(l) => l.len(),
            Item::Group(g) => size(g),
        })
        .sum()
}

/// How many parts there are, groups before what is in them.
fn count(items: &[Item]) -> usize {
    items
        .iter()
        .map(|i| match i {
            Item::Line(_) => 1,
            Item::Group(g) => 1 + count(g),
        })
        .sum()
}

/// Takes part `number` away.
fn take(items: &mut Vec<Item>, number: &mut usize) -> Option<Item> {
    for i in 0..items.len() {
        if *number == 0 {
            return Some(items.remove(i));
        }
        *number -= 1;
        if let Item::Group(g) = &mut items[i]
            && let Some(taken) = take(g, number)
        {
            return Some(taken);
        }
    }
    None
}

/// Is a line the declaration of a name that is still used? Without it, the name would be that of
/// a variable of the surroundings, which a function must not change.
fn declares(item: &Item, case: &Case) -> bool {
    let Item::Line(line) = item else {
        return false;
    };
    if line.starts_with("IMPLICIT") {
        return true;
    }
    let types = [
        "DOUBLE PRECISION ",
        "REAL ",
        "REAL*4 ",
        "INTEGER ",
        "COMPLEX*16 ",
        "LOGICAL ",
    ];
    let Some(names) = types.iter().find_map(|t| line.strip_prefix(t)) else {
        return false;
    };
    let parts = |text: &str| -> Vec<String> {
        let word = |c: char| !c.is_ascii_alphanumeric();
        text.split(word).map(str::to_owned).collect()
    };
    let text = case.program();
    let used = parts(&text);
    let name = |n: &String| n.starts_with(|c: char| c.is_ascii_alphabetic());
    parts(names)
        .iter()
        .filter(|n| name(n))
        .any(|n| used.contains(n))
}
