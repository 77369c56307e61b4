//! How messages word the names of blocks and units, and sizes.

use crate::ir::{Name, Unit, UnitKind};

/// `COMMON /NAME/`, or `blank COMMON`.
pub(super) fn shown(block: &Name) -> String {
    match block.as_str() {
        "" => "blank COMMON".to_owned(),
        b => format!("COMMON /{b}/"),
    }
}

/// `1 byte`, `2 bytes`.
pub(super) fn bytes(n: i64) -> String {
    match n {
        1 => "1 byte".to_owned(),
        n => format!("{n} bytes"),
    }
}

/// Returns the unit's name, or its kind where it has no name.
pub(super) fn unit_name(unit: &Unit) -> &str {
    match (unit.name.as_str(), unit.kind) {
        ("", UnitKind::BlockData) => "BLOCK DATA",
        ("", _) => "the main program",
        (name, _) => name,
    }
}
