//! Passes that make derivatives fast. What they compute stays the same, but for the order in which
//! sums of derivatives are added. `passes` has the list of them.
//!
//! | module | what |
//! |---|---|
//! | [`preaccumulate`] | tangents of straight stretches as sums with affine coefficients |
//! | `reciprocals` | divisions of tangents as multiplications by reciprocals |
//! | `one_direction` | stretches whose tangents are all multiples of one |
//! | `signs` | differences the other way round in place of changes of sign |
//! | [`loops`] | inner loops in the form that compilers make fast code of |

pub mod loops;
pub(crate) mod one_direction;
pub mod preaccumulate;
pub(crate) mod reciprocals;
pub(crate) mod signs;
