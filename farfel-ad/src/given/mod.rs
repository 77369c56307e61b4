//! Derivatives that do not come from the text of a procedure.
//!
//! | module | what |
//! |---|---|
//! | [`shipped`] | Fortran text that comes along with derivatives |
//! | [`functions`] | intrinsic functions that are differentiated as Fortran text |

pub mod functions;
pub mod shipped;
