//! COMMON blocks as structs of Rust.
//!
//! A struct is laid out as in the first subprogram that declares the block: variables have the same byte offsets,
//! and fields fill the gaps between them. `offset_of!` is asserted for each, so that a mistake does not compile.
//!
//! With `instance` in the settings the struct is a part of the instance. With `commons` it is a copy: there are
//! functions that read and write the block while no other thread runs code that shares it. Both take the lock for
//! no longer than it takes to copy, so nothing else can run meanwhile, and they cannot wait for each other.

use super::{Bindings, camel, declaration, declared_type, identifier, lock_name, rust_type};
use crate::bounds_checks::place_of;
use crate::{Config, Error};
use farfel_lang::Sources;
use farfel_lang::ir::{Name, Program, SymId, Type, Unit};
use farfel_lang::spelling::closest;
use farfel_lang::storage::{Area, Constants, UnitStorage, common_blocks};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

/// Returns the COMMON blocks that the settings name.
///
/// # Errors
///
/// [`Error::Config`] with all that do not exist, or that subprograms declare in different ways.
pub(crate) fn commons(
    program: &Program,
    sources: &Sources,
    config: &Config,
) -> Result<BTreeSet<Name>, Error> {
    let all: BTreeSet<Name> = program.units.iter().flat_map(common_blocks).collect();
    let mut found = BTreeSet::new();
    let mut errors = Vec::new();
    for named in &config.commons {
        let upper = named.trim_matches('/').to_ascii_uppercase();
        let Some(block) = all.iter().find(|b| **b == *upper) else {
            let meant = closest(
                &upper,
                all.iter().map(Name::as_str).filter(|b| !b.is_empty()),
            );
            let meant = meant.map(|m| format!("; did you mean `{}`?", m.to_ascii_lowercase()));
            errors.push(format!(
                "no subprogram of the library declares COMMON /{upper}/{}",
                meant.unwrap_or_default()
            ));
            continue;
        };
        errors.extend(disagreement(program, sources, block, config));
        found.insert(block.clone());
    }
    match errors.is_empty() {
        true => Ok(found),
        false => Err(Error::Config {
            origin: "setting `commons`".into(),
            message: errors.join("\nsetting `commons`: "),
        }),
    }
}

/// Describes how subprograms declare a block in different ways, if they do. Names may differ.
fn disagreement(
    program: &Program,
    sources: &Sources,
    block: &Name,
    config: &Config,
) -> Option<String> {
    let (first, area) = first_shape(program, block, config)?;
    let expected = variables(first, &area);
    let place = |u: &Unit| {
        let place = place_of(sources, u.span).map(|p| format!(" ({p})"));
        format!("{}{}", u.name, place.unwrap_or_default())
    };
    for unit in &program.units {
        let Some(area) = area_of(unit, block, config) else {
            continue;
        };
        let there = variables(unit, &area);
        // Names are for the message only.
        let same = |(a, b): (&Variable, &Variable)| (a.start, &a.ty) == (b.start, &b.ty);
        if there.len() == expected.len() && expected.iter().zip(&there).all(same) {
            continue;
        }
        let pairs = expected.iter().map(Some).chain(std::iter::repeat(None));
        let others = there.iter().map(Some).chain(std::iter::repeat(None));
        let count = expected.len().max(there.len());
        let mut pairs = pairs.zip(others).take(count);
        let (one, other) = pairs.find(|(a, b)| match (a, b) {
            (Some(a), Some(b)) => !same((a, b)),
            _ => true,
        })?;
        let show = |v: Option<&Variable>| v.map_or("nothing".to_owned(), |v| v.shown.clone());
        return Some(format!(
            "COMMON {} cannot be a struct, as subprograms declare it in different ways: where {} has {}, {} has {}; \
             declare it in the same way everywhere, for example by INCLUDE",
            slashes(block),
            place(first),
            show(one),
            place(unit),
            show(other)
        ));
    }
    None
}

/// A variable of a block.
struct Variable {
    start: i64,
    /// The type with length and bounds, without the name.
    ty: String,
    shown: String,
}

/// Returns the variables of a block in one unit, in order.
fn variables(unit: &Unit, area: &Area) -> Vec<Variable> {
    let constants = Constants::of(unit);
    let members = area.members.iter().filter(|m| m.named && m.size > 0);
    let mut found: Vec<Variable> = members
        .map(|m| {
            let symbol = &unit.symbols[m.sym];
            let bounds: Vec<_> = (0..symbol.dims.len())
                .map(|k| constants.bounds(m.sym, k))
                .collect();
            let shown = match symbol.is_array() {
                true => declaration(unit, symbol),
                false => format!("{} {}", declared_type(unit, symbol), symbol.name),
            };
            Variable {
                start: m.start,
                ty: format!("{} {bounds:?}", declared_type(unit, symbol)),
                shown,
            }
        })
        .collect();
    found.sort_by_key(|v| v.start);
    found
}

/// Returns a block as Fortran writes it: `/FLOW/`.
fn slashes(block: &Name) -> String {
    format!("/{block}/")
}

/// Returns a block for documentation.
pub(super) fn shown(block: &Name) -> String {
    match block.as_str() {
        "" => "Blank COMMON".to_owned(),
        _ => format!("COMMON {}", slashes(block)),
    }
}

/// The names of blocks in Rust.
#[derive(Default)]
pub(super) struct BlockNames {
    taken: HashSet<String>,
}

impl BlockNames {
    /// Returns the name of the struct for a block, and the end of the names of its functions.
    pub(super) fn of(&mut self, block: &Name) -> (String, String) {
        let name = match block.as_str() {
            "" => "BLANK",
            name => name,
        };
        let mut ty = camel(name);
        while !self.taken.insert(ty.clone()) {
            ty.push('_');
        }
        let method = identifier(&name.to_ascii_lowercase());
        (ty, method.trim_start_matches("r#").to_owned())
    }
}

/// Returns the module with the structs.
pub(super) fn module(structs: &str) -> String {
    if structs.is_empty() {
        return String::new();
    }
    format!(
        "\n/// COMMON blocks, as Fortran lays them out. Arrays of several dimensions have the first one \
         innermost: `A(I, J)` is `a[j - 1][i - 1]`. A LOGICAL is an integer, 0 for false.\n\
         #[allow(dead_code, unused_qualifications, clippy::all, clippy::pedantic)]\npub mod common {{\n{structs}}}\n"
    )
}

impl Bindings<'_> {
    /// Generates the structs and functions for the blocks that the settings name.
    pub(super) fn commons(&self) -> String {
        let mut text = String::new();
        let mut structs = String::new();
        let mut names = BlockNames::default();
        for block in self.commons {
            let Some((unit, area)) = first_shape(self.program, block, self.config) else {
                continue;
            };
            let (ty, method) = names.of(block);
            structs.push_str(&block_type(&ty, block, unit, &area, self.config));
            let bytes = area.members.iter().filter(|m| m.named);
            let bytes = bytes.map(|m| m.start + m.size).max().unwrap_or(0);
            let about = shown(block);
            let symbol = match self.by_name.contains(block) {
                true => block.clone(),
                false => self.names.common(block),
            };
            // What gfortran adds to a name.
            let symbol = format!("{}_", symbol.to_ascii_lowercase());
            let lock = lock_name(self.lock_of(block));
            let allow = "#[allow(dead_code, improper_ctypes, unused_qualifications, clippy::all, clippy::pedantic)]";
            let body = format!(
                "    ::farfel_runtime::border! {{ extern \"C\" {{\n        #[link_name = \"{symbol}\"]\n        \
                 static mut FARFEL_BLOCK: common::{ty};\n    }} }}\n    \
                 let _farfel_guard = {lock}.lock_or_panic();\n    \
                 // SAFETY: the block has this many bytes, any bytes are values of its fields, and what else uses it\n    \
                 // takes the lock.\n"
            );
            let wait = "Waits while another thread runs a function that shares it.";
            let _ = write!(
                text,
                "\n/// Returns a copy of {about}, as {} divides it. {wait}\n{allow}\n\
                 pub fn common_{method}() -> ::std::boxed::Box<common::{ty}> {{\n{body}    \
                 ::farfel_runtime::border! {{ ::farfel_runtime::common_values(&raw const FARFEL_BLOCK, {bytes}) }}\n}}\n\
                 \n/// Sets all variables of {about}. {wait}\n{allow}\n\
                 pub fn set_common_{method}(values: &common::{ty}) {{\n{body}    \
                 ::farfel_runtime::border! {{ ::farfel_runtime::set_common_values(&raw mut FARFEL_BLOCK, values, {bytes}) }}\n}}\n",
                unit.name
            );
        }
        text.push_str(&module(&structs));
        text
    }

    /// Returns the number of the lock of the subprograms that share a block.
    pub(super) fn lock_of(&self, block: &Name) -> usize {
        let mut units = self.program.units.iter();
        let lock = units.find_map(|u| {
            let lock = self.facts.locks.get(&u.name)?;
            common_blocks(u).contains(block).then_some(*lock)
        });
        lock.unwrap_or(0)
    }
}

/// Returns the layout of a block in a unit that declares it.
fn area_of(unit: &Unit, block: &str, config: &Config) -> Option<Area> {
    let constants = Constants::of(unit).with_real(config.real_bytes());
    UnitStorage::within(&constants).block(block).cloned()
}

/// Returns the first named unit that declares a block, with the layout of the block in it.
pub(super) fn first_shape<'p>(
    program: &'p Program,
    block: &str,
    config: &Config,
) -> Option<(&'p Unit, Area)> {
    program.units.iter().find_map(|u| {
        let area = area_of(u, block, config)?;
        (!u.name.is_empty()).then_some((u, area))
    })
}

/// Generates the struct for a block.
pub(super) fn block_type(
    ty: &str,
    block: &Name,
    unit: &Unit,
    area: &Area,
    config: &Config,
) -> String {
    let mut fields = String::new();
    let mut checks = String::new();
    let mut names = HashSet::new();
    // The end of the last field, in bytes.
    let mut end = 0;
    let mut gaps = 0;
    let mut gap = |fields: &mut String, bytes: i64| {
        gaps += 1;
        let _ = writeln!(
            fields,
            "        #[doc(hidden)]\n        pub farfel_gap{gaps}: [u8; {bytes}],"
        );
    };
    for m in area.members.iter().filter(|m| m.named && m.size > 0) {
        if m.start < end {
            continue;
        }
        if m.start > end {
            gap(&mut fields, m.start - end);
        }
        let symbol = &unit.symbols[m.sym];
        let Some(field) = field_type(unit, m.sym, m.size, config) else {
            gap(&mut fields, m.size);
            end = m.start + m.size;
            continue;
        };
        let mut name = identifier(&symbol.name);
        while !names.insert(name.clone()) {
            name.push('_');
        }
        let declared = match symbol.is_array() {
            true => declaration(unit, symbol),
            false => format!("{} {}", declared_type(unit, symbol), symbol.name),
        };
        let _ = writeln!(
            fields,
            "        /// `{declared}`\n        pub {name}: {field},"
        );
        let _ = writeln!(
            checks,
            "    const _: () = assert!(::core::mem::offset_of!({ty}, {name}) == {});",
            m.start
        );
        end = m.start + m.size;
    }
    let about = shown(block);
    format!(
        "    /// {about}, as {} divides it.\n    #[derive(Debug, Clone, PartialEq)]\n    #[repr(C)]\n    pub struct {ty} {{\n{fields}    }}\n{checks}\n",
        unit.name
    )
}

/// Returns the type of the field for a variable. Every bit pattern must be a valid value of it.
fn field_type(unit: &Unit, sym: SymId, size: i64, config: &Config) -> Option<String> {
    let symbol = &unit.symbols[sym];
    let constants = Constants::of(unit);
    let mut ty = match symbol.ty? {
        Type::Character => {
            let count = constants.count(sym)?;
            let length = size.checked_div(count)?;
            format!("[u8; {length}]")
        }
        Type::Logical(bytes) => format!("i{}", 8 * u32::from(bytes)),
        other => rust_type(Some(other), config).ok()?.to_owned(),
    };
    for dimension in 0..symbol.dims.len() {
        let (low, high) = constants.bounds(sym, dimension);
        let extent = high?.checked_sub(low?)?.checked_add(1)?.max(0);
        ty = format!("[{ty}; {extent}]");
    }
    Some(ty)
}
