//! Generates the type whose values hold the state of a library: `instance = "Model"` in the
//! settings.
//!
//! Each COMMON block is exposed as a struct, laid out as in the first subprogram that declares the
//! block: variables have the same byte offsets, and fields fill the gaps between them. `offset_of!`
//! is asserted for each, so that a mistake does not compile.

use super::{camel, identifier, rust_type};
use crate::Config;
use crate::instances::{BYTES, START, lent_blocks};
use crate::names::Names;
use farfel_lang::ir::{Name, Program, SymId, Type, Unit};
use farfel_lang::storage::{Area, Constants, UnitStorage};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

/// Generates the type and a module `common` with the COMMON blocks. `by_name` lists the blocks that C
/// code uses by name: they are not part of an instance.
pub(super) fn instance(
    name: &str,
    program: &Program,
    by_name: &BTreeSet<Name>,
    config: &Config,
    names: &Names,
) -> String {
    let blocks = lent_blocks(program, by_name);
    let (bytes, start) = (names.symbol(BYTES), names.symbol(START));
    let count = blocks.len();
    let mut text = format!(
        r#"
/// COMMON and saved variables of the library, one set for each value.
///
/// A new one has the initial values that BLOCK DATA and DATA give, and zero elsewhere. A clone goes on
/// from where the original is. Instances do not know of each other, so each thread may have its own.
#[derive(Debug, Clone)]
#[allow(dead_code)]
pub struct {name} {{
    farfel_state: ::farfel_runtime::State,
    /// Where COMMON blocks begin.
    farfel_blocks: [i64; {count}],
}}

#[allow(dead_code, unused_qualifications, clippy::all, clippy::pedantic)]
impl {name} {{
    /// An instance with the initial values.
    pub fn new() -> Self {{
        ::farfel_runtime::border! {{ extern "C" {{
            #[link_name = "{bytes}"]
            fn farfel_bytes(bytes: *mut i64, blocks: *mut i64);
            #[link_name = "{start}"]
            fn farfel_start(state: *mut i8);
        }} }}
        let mut bytes = 0;
        let mut farfel_blocks = [0; {count}];
        // SAFETY: the subroutine sets its arguments; there are as many blocks.
        ::farfel_runtime::border! {{ farfel_bytes(&mut bytes, farfel_blocks.as_mut_ptr()) }};
        let mut farfel_state = ::farfel_runtime::State::new(bytes);
        // SAFETY: the memory is as large as the library says.
        ::farfel_runtime::border! {{ farfel_start(farfel_state.as_mut_ptr()) }};
        {name} {{ farfel_state, farfel_blocks }}
    }}
"#
    );
    let mut taken = HashSet::new();
    let mut structs = String::new();
    for (position, block) in blocks.iter().enumerate() {
        let Some((unit, area)) = first_shape(program, block, config) else {
            continue;
        };
        let shown = match block.as_str() {
            "" => "BLANK",
            name => name,
        };
        let mut ty = camel(shown);
        while !taken.insert(ty.clone()) {
            ty.push('_');
        }
        structs.push_str(&block_type(&ty, block, unit, &area, config));
        let method = identifier(&shown.to_ascii_lowercase());
        let method = method.trim_start_matches("r#");
        let about = match block.as_str() {
            "" => "Blank COMMON".to_owned(),
            name => format!("COMMON /{name}/"),
        };
        let _ = write!(
            text,
            r#"
    /// {about}, as {} divides it.
    pub fn common_{method}(&self) -> &common::{ty} {{
        // SAFETY: the block is there, is as long, and any bytes are values of its fields.
        ::farfel_runtime::border! {{ self.farfel_state.at(self.farfel_blocks[{position}]) }}
    }}

    /// {about}, to change it.
    pub fn common_{method}_mut(&mut self) -> &mut common::{ty} {{
        // SAFETY: as above.
        ::farfel_runtime::border! {{ self.farfel_state.at_mut(self.farfel_blocks[{position}]) }}
    }}
"#,
            unit.name
        );
    }
    let _ = writeln!(
        text,
        "}}\n\nimpl ::core::default::Default for {name} {{\n    fn default() -> Self {{\n        {name}::new()\n    }}\n}}"
    );
    if !structs.is_empty() {
        let _ = write!(
            text,
            "\n/// The COMMON blocks of an instance, as Fortran lays them out. Arrays of several dimensions have the first one \
             innermost: `A(I, J)` is `a[j - 1][i - 1]`. A LOGICAL is an integer, 0 for false.\n\
             #[allow(dead_code, unused_qualifications, clippy::all, clippy::pedantic)]\npub mod common {{\n{structs}}}\n"
        );
    }
    text
}

/// Returns the first named unit that declares a block, with the layout of the block in it.
fn first_shape<'p>(program: &'p Program, block: &str, config: &Config) -> Option<(&'p Unit, Area)> {
    program.units.iter().find_map(|u| {
        let constants = Constants::of(u).with_real(config.real_bytes());
        let storage = UnitStorage::within(&constants);
        let area = storage.block(block).cloned()?;
        (!u.name.is_empty()).then_some((u, area))
    })
}

/// Generates the struct for a block.
fn block_type(ty: &str, block: &Name, unit: &Unit, area: &Area, config: &Config) -> String {
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
            true => super::declaration(unit, symbol),
            false => format!(
                "{} {}",
                symbol.ty.map(|t| t.to_string()).unwrap_or_default(),
                symbol.name
            ),
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
    let about = match block.as_str() {
        "" => "Blank COMMON".to_owned(),
        name => format!("COMMON /{name}/"),
    };
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
