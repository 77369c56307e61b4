//! Custom rules: derivatives that do not come from the text of a procedure. Users provide them, and
//! call them given derivatives, or they come along.
//!
//! | module | what |
//! |---|---|
//! | `rules` | which procedures have a custom rule |
//! | [`shipped`] | Fortran text that comes along with derivatives |
//! | `functions` | intrinsic functions that are differentiated as Fortran text |

pub(crate) mod functions;
pub(crate) mod rules;
pub mod shipped;
