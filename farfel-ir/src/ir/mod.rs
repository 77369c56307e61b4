//! The one representation of a program, from the parser to the printer.
//!
//! # What the representation means
//!
//! A [`Program`] is a list of top-level [`Unit`]s. A unit owns a table of [`Symbol`]s; everything
//! inside it refers to names by [`SymId`], an index into *that unit's* table, so renaming a symbol
//! renames it everywhere. Nested subprograms are units inside a unit; their references to names of
//! the enclosing unit are symbols with [`StorageClass::Host`]. Program units refer to each other by
//! name ([`StorageClass::Global`]).
//!
//! The same tree is used before and after name resolution: the parser produces [`Class::Unknown`]
//! and [`ExprKind::Apply`], `resolve` replaces them, and no later pass encounters either.
//! Specification statements stay in the order the user wrote them in [`Unit::specs`], but the facts
//! are in the symbols (type, bounds, value): a [`Spec`] only says where a fact is written down.
//! Passes use [`Unit::declare`] and [`Unit::undeclare`], which keep the two consistent.
//!
//! Passes construct new code with [`build`]; longer pieces are quoted Fortran, with
//! `farfel_lang::quote`.
//!
//! Comments are statements, so passes keep them in place without special handling.

pub mod build;
mod expr;
mod request;
mod stmt;
mod unit;
mod verify;
mod visit;

pub use crate::scalar::{DefaultSizes, Type};
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
