//! Passes that bring a program into the forms that the generator takes. What it computes stays the
//! same. `passes` has the list of them, with what each requires and establishes.
//!
//! | module | what |
//! |---|---|
//! | `called` | what derivatives call of a program in such forms |
//! | `fixed_tapes` | adjoints, to be differentiated again, whose tapes do not grow |
//! | `input_output` | subprograms without input and output, for adjoints |
//! | `loop_control` | loops whose control derivatives go through |
//! | `structure` | units without ENTRY, alternate returns and jumps |
//! | `entry_bounds` | subprograms that change what their bounds are made of |
//! | `reroll` | loops that were unrolled by hand |
//! | `scalarize` | array statements as DO loops |
//! | `regions` | what ALLOCATE makes, as local arrays |
//! | `cleared` | tapes of adjoints that end |
//! | `one_name` | calls that pass one array by two arguments |
//! | `shared_elements` | scalars that EQUIVALENCE puts over elements of arrays |
//! | `common_sizes` | COMMON blocks that all units declare whole |

pub(crate) mod called;
pub(crate) mod cleared;
pub(crate) mod common_sizes;
pub(crate) mod entry_bounds;
pub(crate) mod fixed_tapes;
pub(crate) mod input_output;
pub(crate) mod loop_control;
pub(crate) mod one_name;

pub(crate) mod regions;
pub(crate) mod reroll;
pub(crate) mod scalarize;
pub(crate) mod shared_elements;
pub(crate) mod structure;
