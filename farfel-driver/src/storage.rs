//! COMMON blocks and EQUIVALENCE classes of a program, for display.

use farfel_lang::ir::{Program, Unit};
use farfel_lang::storage::{BlockMember, Member, StorageLayout};
use serde::Serialize;
use std::fmt::Write as _;

/// The storage that variables of a program share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Storage {
    /// COMMON blocks by name.
    pub common: Vec<Block>,
    /// Variables that are joined by EQUIVALENCE but not in a COMMON block, unit by unit.
    pub equivalence: Vec<Class>,
}

/// A COMMON block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Its name; empty for blank COMMON.
    pub name: String,
    /// The size in bytes in the unit that declares most of it.
    pub bytes: i64,
    /// The ways in which units divide it.
    pub shapes: Vec<Shape>,
}

/// A way to divide a COMMON block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// The units that divide it in this way.
    pub units: Vec<String>,
    /// The size in bytes.
    pub bytes: i64,
    /// The variables, by first byte.
    pub variables: Vec<Variable>,
}

/// An EQUIVALENCE class of one unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Class {
    /// The unit.
    pub unit: String,
    /// The size in bytes.
    pub bytes: i64,
    /// The variables, by first byte.
    pub variables: Vec<Variable>,
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type, as in a declaration.
    #[serde(rename = "type")]
    pub ty: String,
    /// The offset of its first byte.
    pub offset: i64,
    /// The size in bytes.
    pub bytes: i64,
    /// Whether it is there because of EQUIVALENCE and not of COMMON.
    pub equivalence: bool,
}

impl Storage {
    /// Determines the storage of a resolved program with a default REAL of this many bytes.
    pub fn of(program: &Program, real: u8) -> Self {
        let layout = StorageLayout::with_real(program, real);
        let shape = |s: &farfel_lang::storage::BlockLayout| Shape {
            units: s.units.iter().map(|u| named(layout.name(*u))).collect(),
            bytes: s.size,
            variables: s.members.iter().map(of_part).collect(),
        };
        let block =
            |(name, b): (&farfel_lang::ir::Name, &farfel_lang::storage::CommonBlock)| Block {
                name: name.to_string(),
                bytes: b.size,
                shapes: b.layouts.iter().map(shape).collect(),
            };
        let mut units = Vec::new();
        program.units.iter().for_each(|u| flatten(u, &mut units));
        let mut equivalence = Vec::new();
        for ((_, _, storage), unit) in layout.units().zip(units) {
            for area in storage.areas().iter().filter(|a| a.block.is_none()) {
                equivalence.push(Class {
                    unit: named(&unit.name),
                    bytes: area.size,
                    variables: area.members.iter().map(|m| of_member(unit, m)).collect(),
                });
            }
        }
        Storage {
            common: layout.blocks().iter().map(block).collect(),
            equivalence,
        }
    }

    /// Formats the storage as a table for people.
    ///
    /// ```text
    /// COMMON /STATE/: 16 bytes
    ///   A, B
    ///          0       4  T  REAL
    ///          4      12  X  REAL
    /// ```
    pub fn text(&self) -> String {
        let mut text = String::new();
        for block in &self.common {
            let name = match block.name.as_str() {
                "" => "Blank COMMON".to_owned(),
                name => format!("COMMON /{name}/"),
            };
            let _ = writeln!(text, "{name}: {}", bytes(block.bytes));
            for shape in &block.shapes {
                let size = match shape.bytes == block.bytes {
                    true => String::new(),
                    false => format!(": {}", bytes(shape.bytes)),
                };
                let _ = writeln!(text, "  {}{size}", shape.units.join(", "));
                table(&mut text, &shape.variables, true);
            }
        }
        for class in &self.equivalence {
            let _ = writeln!(
                text,
                "EQUIVALENCE in {}: {}",
                class.unit,
                bytes(class.bytes)
            );
            table(&mut text, &class.variables, false);
        }
        text
    }

    /// Formats the storage as JSON:
    /// `{"common": [{"name", "bytes", "shapes": [{"units", "bytes", "variables":
    /// [{"name", "type", "offset", "bytes", "equivalence"}]}]}], "equivalence": [{"unit",
    /// "bytes", "variables"}]}`.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn of_part(p: &BlockMember) -> Variable {
    Variable {
        name: p.name.to_string(),
        ty: p.ty.map_or_else(String::new, |t| t.to_string()),
        offset: p.start,
        bytes: p.size,
        equivalence: !p.named,
    }
}

fn of_member(unit: &Unit, m: &Member) -> Variable {
    let s = &unit.symbols[m.sym];
    Variable {
        name: s.name.to_string(),
        ty: s.ty.map_or_else(String::new, |t| t.to_string()),
        offset: m.start,
        bytes: m.size,
        equivalence: true,
    }
}

/// Collects units in the order of a layout.
fn flatten<'p>(unit: &'p Unit, found: &mut Vec<&'p Unit>) {
    found.push(unit);
    unit.nested.iter().for_each(|n| flatten(n, found));
}

fn bytes(n: i64) -> String {
    match n {
        1 => "1 byte".to_owned(),
        n => format!("{n} bytes"),
    }
}

/// The name of a unit. Only BLOCK DATA may have none.
fn named(unit: &str) -> String {
    match unit {
        "" => "BLOCK DATA".to_owned(),
        name => name.to_owned(),
    }
}

/// Writes offset, size, name and type of each variable.
fn table(text: &mut String, variables: &[Variable], common: bool) {
    let width = variables.iter().map(|v| v.name.len()).max().unwrap_or(0);
    for v in variables {
        let by = match v.equivalence && common {
            true => ", by EQUIVALENCE",
            false => "",
        };
        let _ = writeln!(
            text,
            "    {:>7} {:>7}  {:width$}  {}{by}",
            v.offset, v.bytes, v.name, v.ty
        );
    }
}
