//! The one representation of a program, from the parser to the printer.
//!
//! # What it means
//!
//! A [`Program`] is a list of top-level [`Unit`]s. A unit owns a table of [`Symbol`]s;
//! everything inside it names things by [`SymId`], an index into *that unit's* table, so
//! renaming a symbol renames it everywhere. Nested subprograms are units inside a unit;
//! their references to names of the surroundings are symbols with
//! [`Place::Host`]. Program units refer to each other by name
//! ([`Place::Global`]).
//!
//! The same tree is used before and after name resolution: the parser leaves
//! [`Class::Unknown`] and [`ExprKind::Apply`], `resolve` replaces them, and no later pass
//! meets either. Specification statements stay as the user ordered them in
//! [`Unit::specs`], but the facts are in the symbols (type, bounds, value): a
//! [`Spec`] only says where a fact is written down. Passes use [`Unit::declare`] and
//! [`Unit::undeclare`], which keep the two together.
//!
//! What passes write is made by [`build`]; longer text is quoted Fortran, by `farfel_lang::quote`.
//!
//! Comments are statements, so that passes keep them in place without trying.

pub mod build;
mod expr;
mod request;
mod stmt;
mod unit;
mod verify;
mod visit;

pub use crate::scalar::Type;
pub use expr::*;
pub use request::*;
pub use stmt::*;
pub use unit::*;
pub use verify::*;
pub use visit::*;

/// A Fortran name in canonical upper case.
pub type Name = smol_str::SmolStr;

/// A statement label, 1 to 99999.
pub type Label = u32;
