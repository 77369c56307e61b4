//! Generates the type whose values hold the state of a library: `instance = "Model"` in the
//! settings.
//!
//! Each COMMON block is exposed as a struct: see [`commons`](super::commons).

use super::commons::{self, BlockNames};
use crate::Config;
use crate::instances::{BYTES, START, lent_blocks};
use crate::names::Names;
use farfel_lang::ir::{Name, Program};
use std::collections::BTreeSet;
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
    let mut names = BlockNames::default();
    let mut structs = String::new();
    for (position, block) in blocks.iter().enumerate() {
        let Some((unit, area)) = commons::first_shape(program, block, config) else {
            continue;
        };
        let (ty, method) = names.of(block);
        structs.push_str(&commons::block_type(&ty, block, unit, &area, config));
        let about = commons::shown(block);
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
    text.push_str(&commons::module(&structs));
    text
}
