//! Passes that make derivatives fast. Their results stay the same, except for the order in which sums of
//! derivatives are added. `passes` has the list of them.
//!
//! | module | what |
//! |---|---|
//! | [`preaccumulate`] | tangents of straight-line stretches become sums with affine coefficients |
//! | `reciprocals` | divisions in tangents become multiplications by reciprocals, and those of adjoints that share one |
//! | `one_direction` | stretches whose tangents are all multiples of one |
//! | `signs` | operands of differences are swapped instead of changing signs |
//! | `sums` | the terms of a product rule are added to an element one after the other |
//! | [`loops`] | inner loops get forms that compilers turn into fast code |
//! | `increments` | what is added to one derivative by several statements is added by one |
//! | `copies` | temporaries become the variables that they are copied to |
//! | `defaults` | the most frequent value of a variable is assigned before the branches that would assign it |
//! | `nesting` | branches in branches are joined |
//! | `empty_arms` | arms without statements are removed |
//! | `shorter` | `defaults` and `nesting`, temporaries that are read once, and IFs with one statement |

pub(crate) mod copies;
pub(crate) mod defaults;
pub(crate) mod empty_arms;
pub(crate) mod increments;
pub mod loops;
pub(crate) mod nesting;
pub(crate) mod one_direction;
pub mod preaccumulate;
pub(crate) mod reciprocals;
pub(crate) mod shorter;
pub(crate) mod signs;
pub(crate) mod sums;
