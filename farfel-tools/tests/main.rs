//! The tests of this folder: one program, which is linked once. A new file has to be listed here.

// What the tests of the engine have, of which these need a part.
#[allow(dead_code)]
#[path = "../../farfel-ad/tests/support/mod.rs"]
mod support;
mod tapenade;

mod adifor;
mod reverse_real;
mod tapenade_drop_in;
mod tapenade_input;
mod tapenade_output;
mod tapenade_real;
mod tapenade_support;
