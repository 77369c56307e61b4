//! Custom rules: derivatives that are not derived from a procedure's source. They are supplied by
//! users, who call them given derivatives, or bundled.
//!
//! | module | contents |
//! |---|---|
//! | `rules` | which procedures have a custom rule |
//! | [`bundled`] | the bundled Fortran source |
//! | [`mpi`] | the calls of MPI, whose derivatives are in a run-time library |
//! | `directions` | calls of given derivatives in several directions |
//! | `functions` | intrinsic functions that are differentiated as Fortran functions |

pub mod bundled;
pub(crate) mod directions;
pub(crate) mod functions;
pub mod mpi;
pub(crate) mod rules;
