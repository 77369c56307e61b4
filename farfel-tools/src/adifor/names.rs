//! Translation between names in the program and names that ADIFOR can read.

use farfel_ad::locations::common_members;
use farfel_lang::ir::{Name, SaveItem, SpecKind, Unit, unused_name};
use std::collections::{BTreeMap, BTreeSet};

/// The longest names that are known to work with ADIFOR 2. Its manual states no limit; the programs
/// of the authors of Farfel have names of twenty characters.
const LONGEST: usize = 20;

/// The tool's name for blank COMMON.
const BLANK: &str = "BLANKC";

/// The names of a closure, in the program and for the tool.
#[derive(Debug, Default)]
pub(super) struct Names {
    to_tool: BTreeMap<Name, Name>,
    back: BTreeMap<Name, Name>,
    /// AD_PREFIX, in upper case.
    pub prefix: String,
}

impl Names {
    /// Chooses names for some units. The result depends only on the names in them.
    pub fn of(units: &[Unit]) -> Self {
        let mut all: BTreeSet<Name> = BTreeSet::new();
        let mut blank = false;
        for u in units {
            all.insert(u.name.clone());
            all.extend(u.symbols.iter().map(|(_, s)| s.name.clone()));
            for block in common_members(u).into_keys() {
                blank |= block.is_empty();
                all.insert(block);
            }
        }
        all.remove("");
        let mut names = Names::default();
        let mut taken = all.clone();
        let mut add = |from: &str, wanted: &str| {
            let to = unused_name(wanted, &|n| taken.contains(n));
            taken.insert(to.clone());
            names.back.insert(to.clone(), from.into());
            names.to_tool.insert(from.into(), to);
        };
        if blank {
            add("", BLANK);
        }
        for n in &all {
            if n.len() > LONGEST {
                // The first letter is kept, and with it the implicit type.
                let start = n.get(..10).unwrap_or(n).trim_end_matches('_');
                add(n, &format!("{start}_Z"));
            } else if is_temporary(n) {
                // Temporaries from an earlier run must not clash with those of this one.
                add(n, &format!("{}T", n.replace('_', "")));
            }
        }
        names.prefix = prefix(&taken);
        names
    }

    /// Returns the tool's name for a name.
    pub fn tool(&self, name: &str) -> Name {
        self.to_tool
            .get(name)
            .cloned()
            .unwrap_or_else(|| name.into())
    }

    /// Returns the original of a tool's name.
    pub fn original(&self, name: &str) -> Name {
        self.back.get(name).cloned().unwrap_or_else(|| name.into())
    }

    /// Returns `G_X` for `X`.
    pub fn derivative(&self, tool_name: &str) -> String {
        format!("{}_{tool_name}", self.prefix)
    }

    /// Returns the tool's name `X` for `G_X`.
    pub fn of_derivative<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(self.prefix.as_str())?.strip_prefix('_')
    }

    /// Renames everything in a unit for the tool.
    pub fn for_tool(&self, unit: &mut Unit) {
        unit.name = self.tool(&unit.name);
        let ids: Vec<_> = unit.symbols.ids().collect();
        for id in ids {
            if let Some(new) = self.to_tool.get(&unit.symbols[id].name) {
                unit.symbols.rename(id, new.clone());
            }
        }
        rename_blocks(unit, &|block| self.tool(block));
    }
}

/// Renames the COMMON blocks of a unit.
pub(super) fn rename_blocks(unit: &mut Unit, new: &dyn Fn(&Name) -> Name) {
    let ids: Vec<_> = unit.symbols.ids().collect();
    for id in ids {
        if let farfel_lang::ir::StorageClass::Common(block) = &mut unit.symbols[id].storage_class {
            *block = new(block);
        }
    }
    for spec in &mut unit.specs {
        match &mut spec.kind {
            SpecKind::Common(blocks) => {
                for (block, _) in blocks {
                    *block = new(block);
                }
            }
            SpecKind::Save(items) => {
                for item in items {
                    if let SaveItem::Common(block) = item {
                        *block = new(block);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether this is the name of a temporary of ADIFOR: D1_P, R12_V, D2_W.
fn is_temporary(name: &str) -> bool {
    let Some((head, tail)) = name.split_once('_') else {
        return false;
    };
    let digits = head.get(1..).unwrap_or("");
    tail.len() == 1
        && tail.starts_with(|c: char| c.is_ascii_alphabetic())
        && !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the first prefix with which no name begins: G, H, … Z, A, … F, then two letters.
fn prefix(taken: &BTreeSet<Name>) -> String {
    let letters = || ('G'..='Z').chain('A'..='F');
    let free = |p: &String| {
        let (variable, dimension) = (format!("{p}_"), format!("LD{p}_"));
        !taken
            .iter()
            .any(|n| n.starts_with(&variable) || n.starts_with(&dimension))
    };
    let one = letters().map(String::from);
    let two = letters().flat_map(|a| letters().map(move |b| format!("{a}{b}")));
    let three = (0u32..).map(|n| format!("G{n}"));
    one.chain(two).chain(three).find(free).unwrap_or_default()
}
