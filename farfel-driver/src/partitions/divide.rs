//! Decides which units depend on each other.
//!
//! Two units do if one of them mentions a name that the other one defines, or if both have the same COMMON
//! block: whatever a pass can learn about one unit by looking at another, it learns through a name. A mention
//! may refer to something else, such as a local variable; then the units are joined needlessly, which does no
//! harm.
//!
//! A *light* unit joins no others: a short unit without state, or one that takes procedures, of which
//! lowering makes copies anyway. Each partition that mentions a light unit includes it, too, and the unit has
//! a partition of its own, where it is checked and, if Rust calls it, exported. Thus libraries of
//! small functions and solvers do not join all their users into one partition. A light unit must mean the
//! same without its callers: if only a caller can tell whether an argument is a procedure, the unit is not
//! light.

use super::summary::{Dummy, Summary};
use crate::plan::groups::UnionFind;
use farfel_lang::intrinsics::Intrinsic;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// A set of units that depend on each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Partition {
    /// The units that belong to this partition, by position, ascending.
    pub home: Vec<usize>,
    /// Light units that belong elsewhere and are mentioned here, directly or by each other.
    pub helpers: Vec<usize>,
}

/// If there would be more copies of units than this multiple of their number, no unit is light.
const MOST_COPIES: usize = 2;

/// Divides a program. Each unit is in exactly one home, and partitions are in the order of their first units.
pub(super) fn divide(units: &[Summary]) -> Vec<Partition> {
    let refers = references(units);
    let light = light(units, &refers);
    let partitions = partitions(units, &refers, &light);
    let copies: usize = partitions.iter().map(|s| s.helpers.len()).sum();
    match copies > MOST_COPIES * units.len() {
        true => self::partitions(units, &refers, &vec![false; units.len()]),
        false => partitions,
    }
}

/// Merges some partitions, given by their positions, into one and keeps the others.
pub(super) fn joined(mut partitions: Vec<Partition>, together: &BTreeSet<usize>) -> Vec<Partition> {
    let mut one = Partition {
        home: Vec::new(),
        helpers: Vec::new(),
    };
    let mut at = 0;
    partitions.retain_mut(|s| {
        at += 1;
        let joins = together.contains(&(at - 1));
        if joins {
            one.home.append(&mut s.home);
            one.helpers.append(&mut s.helpers);
        }
        !joins
    });
    one.home.sort_unstable();
    one.helpers.sort_unstable();
    one.helpers.dedup();
    one.helpers.retain(|h| one.home.binary_search(h).is_err());
    partitions.push(one);
    partitions.sort();
    partitions
}

/// Returns for each unit the other units that define a name which it mentions, ascending.
fn references(units: &[Summary]) -> Vec<Vec<usize>> {
    let mut owners: HashMap<&str, Vec<usize>, Quick> = HashMap::default();
    for (i, unit) in units.iter().enumerate() {
        for name in &unit.defines {
            owners.entry(name).or_default().push(i);
        }
    }
    let refers = units.iter().enumerate().map(|(i, unit)| {
        let names = unit
            .mentions
            .iter()
            .chain(unit.defines.iter().map(|d| &**d));
        let mut all: Vec<usize> = Vec::new();
        for name in names {
            if let Some(owners) = owners.get(name) {
                all.extend(owners.iter().filter(|o| **o != i));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    });
    refers.collect()
}

/// A fast hash for names in a project's sources: the tables live for one build, and nobody gains from an
/// attack on them.
type Quick = BuildHasherDefault<Fnv>;

struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn light(units: &[Summary], refers: &[Vec<usize>]) -> Vec<bool> {
    let mut place: HashMap<&str, usize, Quick> = HashMap::default();
    let mut twice = BTreeSet::new();
    for (i, unit) in units.iter().enumerate() {
        for name in &unit.defines {
            if let Some(first) = place.insert(name, i) {
                twice.extend([first, i]);
            }
        }
    }
    // What is known about each argument.
    let mut kinds: Vec<Vec<Option<&Dummy>>> = units
        .iter()
        .map(|u| {
            let kinds = u.dummies.iter();
            kinds
                .map(|d| (!matches!(d, Dummy::Passed(_))).then_some(d))
                .collect()
        })
        .collect();
    loop {
        let mut more = false;
        for (i, unit) in units.iter().enumerate() {
            for (k, dummy) in unit.dummies.iter().enumerate() {
                let Dummy::Passed(places) = dummy else {
                    continue;
                };
                if kinds[i][k].is_some() {
                    continue;
                }
                let there = |(name, position): &(String, u64)| match place.get(name.as_str()) {
                    Some(callee) => *kinds[*callee].get(usize::try_from(*position).ok()?)?,
                    // An intrinsic takes no procedures.
                    None => Intrinsic::find(name).map(|_| &Dummy::Data),
                };
                let mut found = places.iter().map(there);
                kinds[i][k] = match found.clone().any(|d| d == Some(&Dummy::Procedure)) {
                    true => Some(&Dummy::Procedure),
                    false if places.is_empty() => None,
                    false => found.all(|d| d.is_some()).then_some(&Dummy::Data),
                };
                more |= kinds[i][k].is_some();
            }
        }
        if !more {
            break;
        }
    }
    let mut light: Vec<bool> = units
        .iter()
        .enumerate()
        .map(|(i, u)| {
            // A unit that takes procedures is only compiled in the partitions of its callers.
            let known =
                kinds[i].contains(&Some(&Dummy::Procedure)) || kinds[i].iter().all(Option::is_some);
            u.light && known && !twice.contains(&i)
        })
        .collect();
    // A partition with a light unit includes everything that it mentions.
    loop {
        let before = light.clone();
        for (i, refers) in refers.iter().enumerate() {
            light[i] = light[i] && refers.iter().all(|r| light[*r]);
        }
        if light == before {
            return light;
        }
    }
}

fn partitions(units: &[Summary], refers: &[Vec<usize>], light: &[bool]) -> Vec<Partition> {
    let mut together = UnionFind::new(units.len());
    let mut first_user: HashMap<&str, usize, Quick> = HashMap::default();
    for (i, unit) in units.iter().enumerate() {
        for other in refers[i].iter().filter(|o| !light[**o]) {
            together.join(i, *other);
        }
        for block in &unit.commons {
            together.join(i, *first_user.entry(block).or_insert(i));
        }
    }
    let mut homes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for i in 0..units.len() {
        homes.entry(together.first(i)).or_default().push(i);
    }
    homes
        .into_values()
        .map(|home| {
            let mut helpers = BTreeSet::new();
            let mut open = home.clone();
            while let Some(i) = open.pop() {
                for other in refers[i].iter().filter(|o| light[**o]) {
                    if home.binary_search(other).is_err() && helpers.insert(*other) {
                        open.push(*other);
                    }
                }
            }
            Partition {
                home,
                helpers: helpers.into_iter().collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::summaries;
    use super::*;

    /// Checks the partitions of a program by names: `A B + C` for a home of A and B with C as a helper.
    fn check(text: &str, expected: &[&str]) {
        let units = summaries(text);
        let names = |list: &[usize]| {
            let names: Vec<_> = list.iter().map(|i| units[*i].name.as_str()).collect();
            names.join(" ")
        };
        let found: Vec<String> = divide(&units)
            .iter()
            .map(|s| match s.helpers.is_empty() {
                true => names(&s.home),
                false => format!("{} + {}", names(&s.home), names(&s.helpers)),
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    const KEEPS: &str = "SAVE K; ";

    #[test]
    fn what_mentions_another_is_with_it() {
        let text = format!(
            "SUBROUTINE A(X); {KEEPS}X = B(X); END\nFUNCTION B(X); {KEEPS}B = X; END\n\
             SUBROUTINE C(X); {KEEPS}COMMON /Q/ Y; X = Y; END\nSUBROUTINE D(X); X = 1; END\n\
             SUBROUTINE E(X); COMMON /Q/ Y; X = X + Y; END\n"
        );
        check(&text, &["A B", "C E", "D"]);
        // Through an ENTRY, an EXTERNAL statement, or a name that may be a variable.
        let text = format!(
            "SUBROUTINE A(X); ENTRY EA(X); X = 1; END\nSUBROUTINE B(X); {KEEPS}CALL EA(X); END\n\
             SUBROUTINE C(X); {KEEPS}EXTERNAL D; CALL O(D, X); END\nFUNCTION D(X); {KEEPS}D = X; END\n\
             SUBROUTINE E(X); {KEEPS}F = X; X = F; END\nFUNCTION F(X); {KEEPS}F = X; END\n"
        );
        check(&text, &["A B", "C D", "E F"]);
        // Two units with the same name.
        check(
            "SUBROUTINE A(X); X = 1; END\nSUBROUTINE A(X); X = 2; END\n",
            &["A A"],
        );
    }

    #[test]
    fn light_ones_go_along() {
        let text = format!(
            "SUBROUTINE A(X); {KEEPS}X = ROOT(F, X); END\nSUBROUTINE B(X); {KEEPS}X = ROOT(G, X); END\n\
             FUNCTION ROOT(H, X); ROOT = STEP(H, X); END\nFUNCTION STEP(H, X); STEP = H(X); END\n\
             FUNCTION F(X); {KEEPS}F = X; END\nFUNCTION G(X); G = SIN(X); END\n"
        );
        let expected = [
            "A F + ROOT STEP",
            "B + ROOT STEP G",
            "ROOT + STEP",
            "STEP",
            "G",
        ];
        check(&text, &expected);
        // A unit that a light unit needs must be light, too.
        let text = format!(
            "SUBROUTINE A(X); {KEEPS}X = F(X); END\nSUBROUTINE B(X); {KEEPS}X = F(X); END\n\
             FUNCTION F(X); F = G(X); END\nFUNCTION G(X); {KEEPS}G = X; END\n"
        );
        check(&text, &["A B F G"]);
    }

    /// Checks whether P is light and thus has a partition of its own.
    #[test]
    fn what_only_callers_know() {
        for (unit, is_light) in [
            ("SUBROUTINE P(X); X = 1; END", true),
            ("SUBROUTINE P(X); Y = SIN(X); END", true),
            (
                "SUBROUTINE P(X); DIMENSION Y(3), X(3); CALL O(X); END",
                true,
            ),
            ("SUBROUTINE P(X); CALL X(1); END", true),
            ("SUBROUTINE P(X); EXTERNAL X; CALL O(X); END", true),
            ("SUBROUTINE P(N); DIMENSION Y(N); END", true),
            ("SUBROUTINE P(X); END", false),
            ("SUBROUTINE P(X); CALL O(X); END", false),
            ("SUBROUTINE P(X); CALL P(X); END", false),
            ("SUBROUTINE P(X); X = 1; ENTRY Q(Y); Y = 1; END", false),
            ("SUBROUTINE P(X); DATA Y /1.0/; X = Y; END", false),
            ("SUBROUTINE P(X); COMMON Y; X = Y; END", false),
        ] {
            let text = format!("{unit}\nSUBROUTINE USER(Z); SAVE K; CALL P(Z); END\n");
            let expected: &[&str] = match is_light {
                true => &["P", "USER + P"],
                false => &["P USER"],
            };
            check(&text, expected);
        }
    }

    #[test]
    fn too_many_copies_are_none() {
        let mut text = String::new();
        for i in 0..20 {
            text += &format!("FUNCTION F{i}(X); F{i} = X");
            (0..i).for_each(|j| text += &format!(" + F{j}(X)"));
            text += "; END\n";
        }
        assert_eq!(divide(&summaries(&text)).len(), 1);
    }

    #[test]
    fn shares_can_be_joined() {
        let partition = |home: &[usize], helpers: &[usize]| Partition {
            home: home.to_vec(),
            helpers: helpers.to_vec(),
        };
        let partitions = vec![
            partition(&[0, 5], &[3]),
            partition(&[1], &[]),
            partition(&[3], &[1, 4]),
        ];
        let joined = joined(partitions, &BTreeSet::from([0, 2]));
        assert_eq!(
            joined,
            [partition(&[0, 3, 5], &[1, 4]), partition(&[1], &[])]
        );
    }
}
