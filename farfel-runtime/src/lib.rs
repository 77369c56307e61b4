//! Run-time support for the bindings that Farfel generates, and the types that a program calling
//! them uses: [`Error`], [`Complex`] and [`include_bindings!`].
//!
//! In a crate whose `build.rs` calls `farfel_build::compile()`:
//!
//! ```ignore
//! mod fortran {
//!     farfel_runtime::include_bindings!();
//! }
//!
//! fn main() -> Result<(), farfel_runtime::Error> {
//!     let norm = fortran::norm(&[1.0, 2.0, 2.0])?;
//!     println!("{norm}");
//!     Ok(())
//! }
//! ```
//!
//! # What a call does
//!
//! - Array lengths are checked against the declared bounds, which are evaluated with the values of
//!   the other arguments.
//! - A subprogram receives the length of each array and passes it on with the array. An
//!   out-of-range subscript, section or substring, in the subprogram or in anything it calls,
//!   becomes [`Error::Bounds`]; references that cannot be out of range are not checked. A function
//!   that cannot be checked, because it calls code whose source is not available or uses Cray
//!   pointers, is `unsafe`, and its documentation says why.
//! - Subprograms that use COMMON, saved variables, or input and output are run by one thread at a
//!   time; all others may run in any number of threads at once. With the setting `instance =
//!   "Model"`, COMMON and saved variables belong to a value of type `Model`, and the subprograms
//!   are its methods.
//! - A CHARACTER argument is a `&str`, a `String` or bytes, without trailing blanks. One that may be
//!   assigned is a `&mut String`, of which Fortran sees as many bytes as its declaration says, or a
//!   `&mut [u8]` if it is declared `CHARACTER*(*)`. An array of CHARACTER is a slice of such texts.
//! - Whatever would end a Fortran program ends the call instead, with an [`Error`] that names the
//!   place in the source: STOP, PAUSE, a failing READ without IOSTAT, a failing ALLOCATE without
//!   STAT, an INTEGER division by zero. A failing `PRINT *` panics, as `print!` does. In a program
//!   built with `panic = "abort"`, each of these ends the process with the message.
//!
//! Functions take only the arguments that the caller must supply. The functions with all arguments
//! of the Fortran subprogram are in a module `raw`. The short functions only call the raw ones, so
//! the checks are the same.
//!
//! # Closures
//!
//! A procedure argument of a subprogram becomes a closure; its type follows from the way the
//! Fortran code calls the procedure:
//!
//! ```ignore
//! // DOUBLE PRECISION FUNCTION AREA(F, A, B, N)
//! let area = fortran::area(|x| x.sin(), 0.0, 1.0, 1000);
//! ```
//!
//! The closure runs in the thread that called the function. It may itself call functions of the
//! library, including the same one; if these use COMMON or saved variables, they share them with
//! the call in progress. A panic in the closure unwinds the Fortran code, as STOP does, and
//! continues in Rust. The call also panics if Fortran passes the same variable for two arguments of
//! the closure and the closure may assign one of them.
//!
//! **Invariant:** this crate knows nothing of the compiler. It is linked into every
//! program that calls Farfel code, so it stays small, and it is the only place apart from
//! the generated bindings where Rust and Fortran meet.

// Whatever the user does must lead to a proper message, so accidental panics are denied.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod arrays;
#[doc(hidden)]
pub mod c;
mod closure;
mod dimensions;
#[cfg(feature = "num-dual")]
pub mod dual;
mod end;
mod error;
mod formats;
mod lock;
mod matrix;
pub mod memory;
#[cfg(feature = "argmin")]
pub mod optimize;
mod sizes;
pub mod sparse;
mod stack;
mod state;
mod texts;

pub use arrays::{
    LogicalKind, check_extent, elements, from_logicals, into_logicals, power, to_logicals, truths,
};
pub use closure::{Area, Copied, Given, Lent, Slot};
pub use dimensions::{Array, ArrayMut, OwnedArray};
pub use end::{catch_end, expect_no_end, need_stack};
pub use error::Error;
pub use lock::{Guard, Lock, SharedLock};
pub use matrix::{Matrix, MatrixMut, OwnedMatrix};
pub use num_complex::{self, Complex};
pub use sizes::{agree, dense, fits, size, zero_array, zero_matrix, zeros};
pub use state::{State, common_values, set_common_values};
pub use texts::{Texts, padded, string_of, text_of};

/// Wraps the code in generated bindings that crosses the border to Fortran. The macro supplies the
/// word `unsafe`, so that bindings compile in a crate with `#![forbid(unsafe_code)]`, which forbids
/// only unsafe code written in that crate.
///
/// For generated code. Anyone who uses it by hand is responsible for its contents, as with
/// `unsafe`.
#[doc(hidden)]
#[macro_export]
macro_rules! border {
    (extern $abi:literal { $($items:tt)* }) => { unsafe extern $abi { $($items)* } };
    (extern $abi:literal fn $($function:tt)*) => { unsafe extern $abi fn $($function)* };
    ($($code:tt)*) => { unsafe { $($code)* } };
}

/// Defines a function of the generated bindings that cannot be checked and is therefore `unsafe`.
/// The macro supplies the word `unsafe` and the function's outer tokens, for the same reason as in
/// [`border!`]; a call of the function is unsafe code of the caller.
#[doc(hidden)]
#[macro_export]
macro_rules! exposed {
    ($(#[$about:meta])* fn $name:ident ($($arguments:tt)*) $(-> $returned:ty)? { $($body:tt)* }) => {
        $(#[$about])*
        pub unsafe fn $name($($arguments)*) $(-> $returned)? { $($body)* }
    };
}

/// Items of generated code that need the feature `num-dual`. They are left out without it.
#[cfg(feature = "num-dual")]
#[doc(hidden)]
#[macro_export]
macro_rules! num_dual_items {
    ($($items:tt)*) => { $($items)* };
}

/// Items of generated code that need the feature `num-dual`. They are left out without it.
#[cfg(not(feature = "num-dual"))]
#[doc(hidden)]
#[macro_export]
macro_rules! num_dual_items {
    ($($items:tt)*) => {};
}

/// Brings the functions that the build script generated into the current module: all, or those that are listed.
///
/// Works at the crate root and in any module; a separate module keeps the Fortran names together. Lists are for
/// large libraries: rustc reads only the functions in the list, whenever the package is compiled.
///
/// ```ignore
/// mod lapack {
///     farfel_runtime::include_bindings!(dgesv, dsyev);
/// }
/// ```
#[macro_export]
macro_rules! include_bindings {
    () => {
        include!(concat!(env!("OUT_DIR"), "/farfel_bindings.rs"));
    };
    ($($function:ident),+ $(,)?) => {
        include!(concat!(env!("OUT_DIR"), "/farfel_bindings/shared.rs"));
        $(include!(concat!(env!("OUT_DIR"), "/farfel_bindings/of_", stringify!($function), ".rs"));)+
        /// The functions with all arguments of the Fortran subprograms.
        #[allow(unused_imports)]
        pub mod raw {
            use super::*;
            $(include!(concat!(env!("OUT_DIR"), "/farfel_bindings/raw_", stringify!($function), ".rs"));)+
        }
    };
}
