//! Derivatives that do not come from the text of a procedure.
//!
//! | module | what |
//! |---|---|
//! | [`rules`] | which procedures have a derivative that is given |
//! | [`shipped`] | Fortran text that comes along with derivatives |
//! | [`functions`] | intrinsic functions that are differentiated as Fortran text |

pub mod functions;
pub mod rules;
pub mod shipped;
