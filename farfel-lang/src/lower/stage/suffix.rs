//! Chooses the suffixes of the names of derivatives.

use crate::ir::{Name, Program, StorageClass};
use std::collections::HashSet;

/// The suffixes that are available. An AD tool sees only a part of the program, so no name anywhere
/// may look as if it consisted of another name and the suffix.
pub(super) struct Suffixes {
    /// Everything in names of the program that could be taken for a suffix, and the suffixes
    /// already given out.
    in_use: HashSet<Name>,
}

impl Suffixes {
    pub fn of(program: &Program) -> Suffixes {
        let mut in_use = HashSet::new();
        for unit in &program.units {
            alike(&unit.name, &mut in_use);
            for (_, symbol) in unit.symbols.iter() {
                alike(&symbol.name, &mut in_use);
                if let StorageClass::Common(block) = &symbol.storage_class {
                    alike(block, &mut in_use);
                }
            }
        }
        Suffixes { in_use }
    }

    /// Returns `_G3` for block 3, or `_G3SLOPE` with a tag; if the user has such names, `_G3A`,
    /// `_G3B`, and so on.
    pub fn unused(&mut self, number: u32, tag: &str) -> Name {
        let wanted = Name::from(format!("_G{number}{tag}"));
        let lettered = (1usize..).map(|n| {
            let letter = char::from(b'A' + ((n - 1) % 26) as u8);
            Name::from(format!(
                "{wanted}{}",
                letter.to_string().repeat(1 + (n - 1) / 26)
            ))
        });
        let suffix = std::iter::once(wanted.clone())
            .chain(lettered)
            .find(|s| !self.in_use.contains(s))
            .unwrap_or(wanted);
        self.in_use.insert(suffix.clone());
        suffix
    }
}

/// Adds the parts of a name that begin with `_G` and could be a suffix: `_G12` is not one in
/// `X_G123`.
fn alike(name: &str, to: &mut HashSet<Name>) {
    for (start, _) in name.match_indices("_G") {
        let rest = &name[start..];
        let word = rest[2..]
            .find(|c: char| !c.is_ascii_alphanumeric())
            .map_or(rest, |end| &rest[..end + 2]);
        for end in 3..=word.len() {
            if !word[end..].starts_with(|c: char| c.is_ascii_digit()) {
                to.insert(word[..end].into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Unit, UnitKind};
    use crate::source::Span;

    #[test]
    fn what_users_have_is_no_suffix() {
        let names = ["SQ_G1", "B_G2A", "C_G2_G31", "D_GX", "E_G5SLOPE"];
        let units = names.map(|n| Unit::new(UnitKind::Subroutine, n.into(), Span::NONE));
        let mut suffixes = Suffixes::of(&Program {
            units: units.to_vec(),
        });
        let mut get = |number, tag| suffixes.unused(number, tag).to_string();
        assert_eq!(get(1, ""), "_G1A");
        // The plain suffix and the one with A are each taken by some name.
        assert_eq!(get(2, ""), "_G2B");
        assert_eq!(get(3, ""), "_G3");
        assert_eq!(get(31, ""), "_G31A");
        assert_eq!(get(4, "SLOPE"), "_G4SLOPE");
        assert_eq!(get(5, "SLOPE"), "_G5SLOPEA");
        // No suffix is given out twice.
        assert_eq!(get(5, "SLOPEA"), "_G5SLOPEAA");
        assert_eq!(get(4, "SLOPE"), "_G4SLOPEA");
    }
}
