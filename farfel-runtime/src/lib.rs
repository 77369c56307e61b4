//! What the bindings that Farfel generates use at run time, and what a program that calls
//! them meets: [`Error`], [`Complex`] and [`include_bindings!`].
//!
//! In a crate whose `build.rs` calls `farfel_build::compile()`:
//!
//! ```ignore
//! mod fortran {
//!     farfel_runtime::include_bindings!();
//! }
//!
//! fn main() -> Result<(), farfel_runtime::Error> {
//!     let norm = fortran::norm(3, &[1.0, 2.0, 2.0])?;
//!     println!("{norm}");
//!     Ok(())
//! }
//! ```
//!
//! # What a call does
//!
//! - Arrays are checked against their declared bounds, which are evaluated with the values
//!   of the other arguments.
//! - A subprogram gets the length of each array, and hands it on with the array. A subscript, section
//!   or substring that leads outside, in it or in what it calls, becomes [`Error::Bounds`]; what cannot
//!   lead there is not checked. A function is `unsafe` where that cannot be done, as its documentation
//!   says: it calls code whose text is not there, or has Cray pointers.
//! - Subprograms that use COMMON, saved variables, or input and output are run by one
//!   thread at a time; all others by as many as there are. With the setting `instance = "Model"`, COMMON and saved
//!   variables belong to a value of `Model`, and the subprograms are its methods.
//! - A CHARACTER is a `&str`, without the blanks at its end. One that may be assigned is a `&mut String`, of which
//!   Fortran sees as much as its declaration says, or, if that is `CHARACTER*(*)`, a `&mut [u8]`.
//! - What ends a Fortran program ends the call, with an [`Error`] that names the place in the source: STOP, PAUSE, a READ
//!   without IOSTAT that fails, an ALLOCATE without STAT, an INTEGER that is divided by zero. `PRINT *` that fails panics,
//!   as `print!` does. In a program that is built with `panic = "abort"`, all of it ends the process, with the message.
//!
//! With the setting `signatures = "rust"` functions are shorter, and those that have all arguments of the Fortran
//! subprogram are in a module `raw`. The short ones only call these: what is checked does not change.
//!
//! # Closures
//!
//! A procedure that a subprogram takes is a closure of the kind that its calls in the Fortran code
//! ask for:
//!
//! ```ignore
//! // DOUBLE PRECISION FUNCTION AREA(F, A, B, N)
//! let area = fortran::area(|x| x.sin(), 0.0, 1.0, 1000);
//! ```
//!
//! It is called in the thread that called the function, and may call functions of the library
//! itself, also the same one; those that share COMMON or saved variables then share them with the
//! call that is under way. A panic in it ends the Fortran code as STOP does, and goes on in Rust. It
//! ends with a panic, too, where Fortran passes one variable twice for arguments of which it may
//! assign one.
//!
//! **Invariant:** this crate knows nothing of the compiler. It is linked into every
//! program that calls Farfel code, so it stays small, and it is the only place apart from
//! the generated bindings where Rust and Fortran meet.

// Whatever users do, they get a message.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod arrays;
mod closure;
mod end;
mod error;
mod lock;
mod matrix;
mod sizes;
pub mod sparse;
mod state;

pub use arrays::{
    LogicalKind, check_extent, elements, from_logicals, into_logicals, padded, string_of, text_of,
    to_logicals, truths,
};
pub use closure::{Area, Copied, Given, Lent, Slot};
pub use end::{catch_end, expect_no_end};
pub use error::Error;
pub use lock::{Guard, Lock};
pub use matrix::{Matrix, MatrixMut};
pub use num_complex::{self, Complex};
pub use sizes::{agree, dense, fits, size, zeros};
pub use state::State;

/// What stands in generated bindings at the border to Fortran. The word `unsafe` comes from here,
/// so that bindings compile in a crate with `#![forbid(unsafe_code)]`: what such a crate forbids is
/// unsafe code of its own.
///
/// For generated code. Who writes it by hand vouches for what stands in it as for `unsafe`.
#[doc(hidden)]
#[macro_export]
macro_rules! border {
    (extern $abi:literal { $($items:tt)* }) => { unsafe extern $abi { $($items)* } };
    (extern $abi:literal fn $($function:tt)*) => { unsafe extern $abi fn $($function)* };
    ($($code:tt)*) => { unsafe { $($code)* } };
}

/// A function of generated bindings that cannot be checked, so that it is `unsafe`. The word comes from
/// here, and the function begins and ends here, for the same reason as in [`border!`]; calls of it are unsafe
/// code of those who make them.
#[doc(hidden)]
#[macro_export]
macro_rules! exposed {
    ($(#[$about:meta])* fn $name:ident ($($arguments:tt)*) $(-> $returned:ty)? { $($body:tt)* }) => {
        $(#[$about])*
        pub unsafe fn $name($($arguments)*) $(-> $returned)? { $($body)* }
    };
}

/// Brings the functions that the build script generated into the current module.
///
/// Works at the top of a crate and in any module; a module of its own keeps the Fortran
/// names together.
#[macro_export]
macro_rules! include_bindings {
    () => {
        include!(concat!(env!("OUT_DIR"), "/farfel_bindings.rs"));
    };
}
