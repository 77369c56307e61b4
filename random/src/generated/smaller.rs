//! Reduces a case that fails to a smaller one that fails in the same way.
//!
//! Parts are removed as long as the case fails without them: subprograms and constructs, then the
//! constructs around statements, statements, arguments together with what calls pass for them, and
//! parts of statements. The attempts depend on the case only.

use super::{Case, Item, plain_statement};

/// Removes everything without which the case still fails. `fails` is called for each attempt.
pub fn smaller(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    loop {
        // The text gets shorter, or has fewer variables.
        let before = best.text();
        parts(&mut best, fails);
        arguments(&mut best, fails);
        pieces(&mut best, fails);
        if best.text() == before {
            return best;
        }
    }
}

/// Removes whole parts, large ones first, and constructs around their contents.
fn parts(best: &mut Case, fails: &mut dyn FnMut(&Case) -> bool) {
    let mut number = 0;
    while number < count(&best.units) {
        let mut attempt = best.clone();
        let taken = take(&mut attempt.units, &mut number.clone());
        let sound = taken.is_some_and(|t| !declares(&t, None, &attempt));
        if sound && fails(&attempt) {
            *best = attempt;
            continue;
        }
        let mut attempt = best.clone();
        if unwrap(&mut attempt.units, &mut number.clone()) && fails(&attempt) {
            *best = attempt;
            continue;
        }
        number += 1;
    }
}

/// Returns the number of parts; groups precede their contents.
fn count(items: &[Item]) -> usize {
    items
        .iter()
        .map(|i| match i {
            Item::Line(_) => 1,
            Item::Group(g) => 1 + count(g),
        })
        .sum()
}

/// Removes part `number`.
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

/// Removes the first and last line of part `number`.
fn unwrap(items: &mut Vec<Item>, number: &mut usize) -> bool {
    for i in 0..items.len() {
        let own = *number == 0;
        *number = number.wrapping_sub(1);
        let Item::Group(g) = &mut items[i] else {
            if own {
                return false;
            }
            continue;
        };
        if own {
            if g.len() < 3 {
                return false;
            }
            let inner: Vec<Item> = g.drain(1..g.len() - 1).collect();
            items.splice(i..=i, inner);
            return true;
        }
        if *number < count(g) {
            return unwrap(g, number);
        }
        *number -= count(g);
    }
    false
}

fn lines<'a>(items: &'a mut [Item], all: &mut Vec<&'a mut String>) {
    for item in items {
        match item {
            Item::Line(l) => all.push(l),
            Item::Group(g) => lines(g, all),
        }
    }
}

/// Splits a statement into words and signs.
fn tokens(line: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let end = match bytes[at] {
            b' ' => at + 1,
            b'\'' => line[at + 1..].find('\'').map_or(line.len(), |n| at + n + 2),
            // A number with its exponent.
            b if b.is_ascii_digit() => {
                let mut end = at;
                while end < bytes.len() && (word(bytes[end]) || bytes[end] == b'.') {
                    // `1.AND.` is not a number.
                    let letter = bytes.get(end + 1).is_some_and(|b| b.is_ascii_alphabetic());
                    if bytes[end] == b'.' && letter && bytes.get(end + 1) != Some(&b'D') {
                        break;
                    }
                    end += 1;
                }
                end
            }
            b'.' => line[at + 1..].find('.').map_or(line.len(), |n| at + n + 2),
            b'*' | b'/' if bytes.get(at + 1) == Some(&bytes[at]) => at + 2,
            b if word(b) => at + bytes[at..].iter().take_while(|b| word(**b)).count(),
            _ => at + 1,
        };
        if bytes[at] != b' ' {
            all.push(&line[at..end]);
        }
        at = end;
    }
    all
}

fn joined(tokens: &[&str]) -> String {
    let mut text = String::new();
    let mut before = "";
    for t in tokens {
        let word = |t: &str, last: bool| {
            let c = if last {
                t.chars().last()
            } else {
                t.chars().next()
            };
            c.is_some_and(|c| c.is_ascii_alphanumeric())
        };
        if word(before, true) && word(t, false) {
            text.push(' ');
        }
        text.push_str(t);
        before = t;
    }
    text
}

/// Reduces parts of statements between matching parentheses, longest first: removes them, or
/// replaces them by a number or variable that they contain.
fn pieces(best: &mut Case, fails: &mut dyn FnMut(&Case) -> bool) {
    let mut all = Vec::new();
    lines(&mut best.units, &mut all);
    for at in 0..all.len() {
        let mut length = usize::MAX;
        loop {
            let mut copy = best.clone();
            let mut all = Vec::new();
            lines(&mut copy.units, &mut all);
            let old = all[at].clone();
            if old.starts_with('!') {
                break;
            }
            let tokens = tokens(&old);
            length = length.min(tokens.len().saturating_sub(1));
            if length == 0 {
                break;
            }
            let mut changed = false;
            'places: for from in 0..=tokens.len() - length {
                let piece = &tokens[from..from + length];
                if !balanced(piece) {
                    continue;
                }
                let mut instead = vec![None];
                let variable = |t: &str| t.len() == 1 && t.starts_with(char::is_alphabetic);
                if length == 1 && variable(piece[0]) {
                    instead.extend([Some("1"), Some("1D0")]);
                }
                if length > 1 {
                    let real = piece.iter().any(|t| t.contains('.'));
                    instead.push(Some(if real { "0.5D0" } else { "1" }));
                    let names = piece.iter().filter(|t| t.starts_with(char::is_alphabetic));
                    instead.extend(names.take(2).map(|t| Some(*t)));
                }
                for new in instead {
                    let parts = [&tokens[..from], new.as_slice(), &tokens[from + length..]];
                    let text = joined(&parts.concat());
                    let mut attempt = best.clone();
                    let mut all = Vec::new();
                    lines(&mut attempt.units, &mut all);
                    let other = length > 1 && new.is_some();
                    if other && text.len() >= all[at].len() {
                        continue;
                    }
                    all[at].clone_from(&text);
                    if declares(&Item::Line(old.clone()), Some(&text), &attempt) {
                        continue;
                    }
                    if fails(&attempt) {
                        *best = attempt;
                        changed = true;
                        break 'places;
                    }
                }
            }
            if !changed {
                length -= 1;
            }
        }
    }
}

fn balanced(piece: &[&str]) -> bool {
    let mut depth = 0;
    for t in piece {
        depth += i32::from(*t == "(") - i32::from(*t == ")");
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// Removes arguments, together with what every call passes for them.
fn arguments(best: &mut Case, fails: &mut dyn FnMut(&Case) -> bool) {
    let mut names = Vec::new();
    let mut all = Vec::new();
    lines(&mut best.units, &mut all);
    for l in all {
        let tokens = tokens(l);
        let header = ["SUBROUTINE", "FUNCTION", "ENTRY"].contains(tokens.first().unwrap_or(&""));
        if let (true, Some(name)) = (header, tokens.get(1)) {
            names.push((*name).to_owned());
        }
    }
    for name in names {
        for number in (0..8).rev() {
            let mut attempt = best.clone();
            let mut all = Vec::new();
            lines(&mut attempt.units, &mut all);
            let mut dummy = None;
            let mut changed = false;
            for l in all {
                let (text, header) = without_argument(l, &name, number);
                changed |= text != *l;
                dummy = dummy.or(header);
                *l = text;
            }
            // A name of the host must not take its place.
            let hides = dummy.is_some_and(|d| {
                let unit = unit_of(&attempt.units, &name);
                unit.is_some_and(|u| {
                    let mut lines_of = u.clone();
                    let mut all = Vec::new();
                    lines(&mut lines_of, &mut all);
                    all.iter().any(|l| tokens(l).contains(&&d[..]))
                })
            });
            if changed && !hides && fails(&attempt) {
                *best = attempt;
            }
        }
    }
}

/// Returns the subprogram with a name.
fn unit_of(items: &[Item], name: &str) -> Option<Vec<Item>> {
    for item in items {
        let Item::Group(g) = item else { continue };
        if let Some(Item::Line(l)) = g.first() {
            let tokens = tokens(l);
            if tokens.get(1) == Some(&name) && ["SUBROUTINE", "FUNCTION"].contains(&tokens[0]) {
                return Some(g.clone());
            }
        }
        if let Some(found) = unit_of(g, name) {
            return Some(found);
        }
    }
    None
}

/// Returns a statement in which argument lists after a name lose one item, and the dummy argument
/// that a header loses.
fn without_argument(line: &str, name: &str, number: usize) -> (String, Option<String>) {
    let all = tokens(line);
    let header = ["SUBROUTINE", "FUNCTION", "ENTRY"].contains(all.first().unwrap_or(&""));
    let mut out: Vec<&str> = Vec::new();
    let mut dummy = None;
    let mut at = 0;
    while at < all.len() {
        out.push(all[at]);
        let list = all[at] == name && all.get(at + 1) == Some(&"(");
        at += 1;
        if !list {
            continue;
        }
        out.push("(");
        at += 1;
        let (mut depth, mut item, mut kept) = (0, 0, false);
        while at < all.len() && !(depth == 0 && all[at] == ")") {
            if depth == 0 && all[at] == "," {
                item += 1;
                at += 1;
                continue;
            }
            let first = depth == 0 && (all[at - 1] == "," || all[at - 1] == "(");
            depth += i32::from(all[at] == "(") - i32::from(all[at] == ")");
            if item == number {
                if header {
                    dummy = Some(all[at].to_owned());
                }
            } else {
                if first && kept {
                    out.push(",");
                }
                kept = true;
                out.push(all[at]);
            }
            at += 1;
        }
    }
    let text = joined(&out);
    match text == joined(&all) {
        true => (line.to_owned(), None),
        false => (text, dummy),
    }
}

/// Whether a line is a declaration which loses a name that is still used. Without it, the name
/// would be that of a host's variable, which a function must not change.
fn declares(item: &Item, new: Option<&str>, case: &Case) -> bool {
    let Item::Line(line) = item else {
        return false;
    };
    let line = plain_statement(line);
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
        "CHARACTER ",
    ];
    let declared = |line| {
        types
            .iter()
            .find_map(|t| plain_statement(line).strip_prefix(t))
    };
    let Some(names) = declared(line) else {
        return false;
    };
    let left = new.map(tokens).unwrap_or_default();
    let text = case.text();
    let joined_lines = text.replace("\n     +", "");
    let used: std::collections::BTreeSet<&str> = joined_lines
        .lines()
        .map(str::trim_start)
        .filter(|l| declared(l).is_none())
        .flat_map(tokens)
        .collect();
    let name = |n: &&str| n.starts_with(|c: char| c.is_ascii_alphabetic());
    tokens(names)
        .into_iter()
        .filter(name)
        .any(|n| !left.contains(&n) && used.contains(n))
}
