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
            take(&mut attempt.units, &mut number.clone());
            match size(&attempt.units) < size(&best.units) && fails(&attempt) {
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
fn take(items: &mut Vec<Item>, number: &mut usize) -> bool {
    for i in 0..items.len() {
        if *number == 0 {
            items.remove(i);
            return true;
        }
        *number -= 1;
        if let Item::Group(g) = &mut items[i]
            && take(g, number)
        {
            return true;
        }
    }
    false
}
