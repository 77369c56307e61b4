//! Where variables are stored: sizes, COMMON blocks, EQUIVALENCE classes, initial values.
//!
//! In Fortran 77 two names can denote the same storage: by EQUIVALENCE inside a unit, by COMMON
//! between units, which may divide a block in different ways, and by both. This module is the
//! single source of that information:
//!
//! | item | purpose |
//! |---|---|
//! | [`constant`] | values of constant expressions, bounds, sizes in bytes |
//! | [`UnitStorage`] | one unit: the position of its variables in COMMON and EQUIVALENCE |
//! | [`StorageLayout`] | a program: which variables share storage, across units |
//! | [`check`] | errors in any of these, and in DATA |
//!
//! The rules are those of ANSI X3.9-1978: sections 8.2 (EQUIVALENCE), 8.3 (COMMON), 9 (DATA) and
//! 17.1 (storage sequences and their association). The standard counts in storage units; this
//! module counts in bytes, so that it can handle the sizes that compilers have added, and it
//! inserts padding into COMMON where gfortran does.
//!
//! ```
//! use farfel_ir::{Sources, storage::StorageLayout};
//! use farfel_lang::{resolve::resolve, syntax};
//! let mut sources = Sources::new();
//! let file = sources.add("a.f", "
//!       SUBROUTINE A
//!       COMMON /STATE/ T, X(3)
//!       T = X(1)
//!       END
//!       SUBROUTINE B
//!       COMMON /STATE/ Y(4)
//!       EQUIVALENCE (Y(2), P)
//!       P = 0
//!       END
//! ");
//! let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
//! resolve(&mut parsed.program);
//!
//! let layout = StorageLayout::of(&parsed.program);
//! let (a, b) = (layout.find("A").unwrap(), layout.find("B").unwrap());
//! let sym = |i: usize, name| parsed.program.units[i].symbols.find(name).unwrap();
//!
//! // X of A is all of Y of B but its first element, and P is its first element.
//! let shared = layout.overlaps(a, sym(0, "X"));
//! assert_eq!(shared.len(), 2);
//! assert_eq!((shared[0].sym, shared[0].ours.clone(), shared[0].theirs), (sym(1, "Y"), 0..12, 4));
//! assert_eq!((shared[1].sym, shared[1].ours.clone(), shared[1].theirs), (sym(1, "P"), 0..4, 0));
//! assert!(!layout.same_storage((a, sym(0, "X")), (b, sym(1, "Y"))));
//! assert_eq!(layout.blocks()["STATE"].size, 16);
//! ```

mod check;
pub mod constant;
mod data;
mod expressions;
mod layout;
mod shapes;
mod unit;
mod value;
mod wording;

pub use check::check;
pub use constant::Constants;
pub use layout::{BlockLayout, BlockMember, CommonBlock, Overlap, StorageLayout, UnitId};
pub use unit::{Area, Member, StorageRange, UnitStorage, common_blocks, members};
pub use value::Value;
