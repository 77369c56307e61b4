//! Chooses the names of everything that lowering creates.
//!
//! Copies of subprograms, subroutines of AD blocks and the suffixes of their derivatives are
//! numbered. The paper counts blocks through the whole program. But then adding a block would
//! rename all later ones, and their derivatives would be regenerated although nothing in them has
//! changed. So names depend on as little as possible:
//!
//! | what | name | depends on |
//! |---|---|---|
//! | the nested subprogram INNER of OUTER | `OUTER_INNER` | |
//! | the copy of ROOT for the procedure SQ | `ROOT_1SQ` | what is bound in the copy |
//! | the subroutine of the second block of SLOPE | `SLOPE_ADF2` | the blocks before it in SLOPE |
//! | the derivatives for that block | `…_G2SLOPE` | the same |
//!
//! The letters after a number are a [tag](Tags): the name of the subprogram to which the item
//! belongs or for which it is made. The tag is necessary. `CUBE_G2SLOPE` is one of several
//! derivatives of CUBE, which may be in the same object file, or be needed by the same block of a
//! third subprogram. No number could tell them apart without knowing about all of them.
//!
//! A program as small as the paper's, where everything belongs to one subprogram, needs no tags.
//! There, numbers count through the program, in the alphabetical order of the units and then in
//! textual order, and names are those of the paper: `DERIV1_1_ADF1` with `_G1` to `DERIV2_2_ADF5`
//! with `_G5`. For blocks, small means that there are at most [`FEW`], all in one
//! [family](Families). For copies, it means that no subprogram has more than that, and that all
//! copies are made for one family, apart from those for a subprogram that is copied itself
//! (`ROOT_1` for ARGMAX). A change that makes a program larger than this renames those few once. A
//! program that is lowered as a part of a larger one is not small.
//!
//! One dependency on other parts of the program remains: a subprogram that receives the same plain
//! procedure from every caller is not copied, and a second procedure leads to two copies of it.

use super::calls::KnownProcedure;
use crate::ir::{Name, Program, StorageClass, Unit, UnitKind, short_hash, unused_name};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The maximum number of items of a kind in a small program.
pub(super) const FEW: usize = 9;

/// Returns the names that new units must not have: those of units, of everything in them, and of
/// COMMON blocks. The latter share the compiler's name space with procedures.
pub(super) fn taken_names(program: &Program) -> HashSet<Name> {
    fn add(unit: &Unit, taken: &mut HashSet<Name>) {
        taken.insert(unit.name.clone());
        for (_, s) in unit.symbols.iter() {
            taken.insert(s.name.clone());
            if let StorageClass::Common(block) = &s.storage_class {
                taken.insert(block.clone());
            }
        }
        unit.nested.iter().for_each(|n| add(n, taken));
    }
    let mut taken = HashSet::new();
    program.units.iter().for_each(|u| add(u, &mut taken));
    taken
}

/// Renames main programs and BLOCK DATA units if something in them has the same name, or if a
/// COMMON block or a variable in COMMON does, including variables moved there because they are
/// saved: gfortran rejects this. These units are never called, so their names do not matter
/// elsewhere.
pub(super) fn make_unit_names_unique(program: &mut Program) {
    let mut commons: HashSet<&Name> = HashSet::new();
    let mut named: HashSet<&Name> = HashSet::new();
    for (_, s) in program.units.iter().flat_map(|u| u.symbols.iter()) {
        match &s.storage_class {
            StorageClass::Common(block) => commons.extend([&s.name, block]),
            StorageClass::Global => _ = named.insert(&s.name),
            _ => {}
        }
    }
    let concerned = |u: &Unit| {
        let own = || u.symbols.find(&u.name).is_some();
        match u.kind {
            UnitKind::Program => own() || commons.contains(&u.name),
            // An EXTERNAL statement may name it, so that a linker finds it.
            UnitKind::BlockData => !named.contains(&u.name) && (own() || commons.contains(&u.name)),
            _ => false,
        }
    };
    let places: Vec<usize> = (0..program.units.len())
        .filter(|i| concerned(&program.units[*i]))
        .collect();
    for i in places {
        let word = match program.units[i].kind {
            UnitKind::Program => "MAIN",
            _ => "DATA",
        };
        let taken = taken_names(program);
        let wanted = format!("{}_{word}", program.units[i].name);
        program.units[i].name = unused_name(&wanted, &|n| taken.contains(n));
    }
}

/// The subprogram of the source to which each unit belongs. A lifted subprogram belongs to its
/// outermost host, a copy to the family of the procedure for which it is made, and any other unit
/// to itself.
#[derive(Debug, Default)]
pub(super) struct Families {
    of: HashMap<Name, Name>,
    /// Whether this is a part of a larger program, which is therefore not small.
    pub part: bool,
    captured: HashMap<Name, usize>,
}

impl Families {
    pub fn of<'a>(&'a self, unit: &'a Name) -> &'a Name {
        self.of.get(unit).unwrap_or(unit)
    }

    /// Whether nothing was lifted or copied.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Whether a unit was lifted, or is a copy.
    pub fn is_member(&self, unit: &Name) -> bool {
        self.of.contains_key(unit)
    }

    pub fn insert(&mut self, unit: Name, family: Name) {
        self.of.insert(unit, family);
    }

    /// Whether a unit is a nested subprogram of the source, or a copy of one.
    pub fn is_lifted(&self, unit: &Name) -> bool {
        self.captured.contains_key(unit)
    }

    /// Returns the number of arguments that lifting has added to the end of a unit's arguments.
    pub fn captured(&self, unit: &Name) -> usize {
        self.captured.get(unit).copied().unwrap_or(0)
    }

    /// Gives a copy the same number of captured arguments as its original.
    pub fn copy_captured(&mut self, of: &Name, copy: Name) {
        if let Some(count) = self.captured.get(of) {
            self.captured.insert(copy, *count);
        }
    }

    pub fn set_captured(&mut self, unit: Name, count: usize) {
        self.captured.insert(unit, count);
    }

    /// Returns the family of a copy for these procedures.
    pub fn of_copy<'a>(&self, bound: impl IntoIterator<Item = &'a KnownProcedure>) -> Name {
        let names = bound.into_iter().map(|c| match c {
            KnownProcedure::Global(name) => self.of(name).clone(),
            _ => text(c),
        });
        names.min().unwrap_or_default()
    }
}

/// Short words that stand for longer ones. A name of at most six letters and digits stands for
/// itself, anything else is replaced by a hash of four. No two are equal.
#[derive(Debug, Default)]
pub(super) struct Tags {
    by_word: HashMap<Name, Name>,
    used: BTreeSet<Name>,
}

impl Tags {
    pub fn of(&mut self, word: &str) -> Name {
        if let Some(tag) = self.by_word.get(word) {
            return tag.clone();
        }
        let mut tag = match word {
            _ if is_short(word) => Name::from(word),
            _ => short_hash(word),
        };
        let mut again = 1;
        while self.used.contains(&tag) {
            tag = short_hash(&format!("{word} {again}"));
            again += 1;
        }
        self.used.insert(tag.clone());
        self.by_word.insert(word.into(), tag.clone());
        tag
    }

    /// Returns the tag of a copy for these procedures.
    pub fn of_copy<'a>(&mut self, bound: impl IntoIterator<Item = &'a KnownProcedure>) -> Name {
        let names: Vec<Name> = bound.into_iter().map(text).collect();
        self.of(&names.join(" "))
    }
}

fn is_short(word: &str) -> bool {
    word.len() <= 6
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word
            .bytes()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// Returns the name of a procedure.
pub(super) fn text(procedure: &KnownProcedure) -> Name {
    match procedure {
        KnownProcedure::Global(name) => name.clone(),
        KnownProcedure::Intrinsic(name) => Name::from(*name),
        KnownProcedure::Outside => Name::from("OUTSIDE"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_short_and_distinct() {
        let mut tags = Tags::default();
        assert_eq!(tags.of("SLOPE"), "SLOPE");
        let long = tags.of("EQLBRM_F_G");
        assert_eq!(long.len(), 4);
        assert!(is_short(&long), "{long}");
        assert_eq!(tags.of("EQLBRM_F_G"), long);
        // A name may equal the hash of another one.
        let mut tags = Tags::default();
        assert_eq!(tags.of(&long), long);
        let other = tags.of("EQLBRM_F_G");
        assert_ne!(other, long);
        assert!(is_short(&other), "{other}");
        // A name with an underscore could be split in two ways.
        assert!(!tags.of("A_B").contains('_'));
    }
}
