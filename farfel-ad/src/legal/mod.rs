//! Passes that bring a program into the forms that the generator accepts, without changing what it
//! computes. `passes` lists them, with the forms that each requires and establishes.
//!
//! | module | purpose |
//! |---|---|
//! | `argument_sizes` | passing the sizes of array arguments to where they must be known |
//! | `called` | adding the subprograms of legalised programs that derivatives call |
//! | `fixed_tapes` | adjoints to be differentiated again, with tapes of fixed size |
//! | `input_output` | removing input and output, for adjoints |
//! | `loop_control` | loops whose control involves derivatives |
//! | `structure` | removing ENTRY, alternate returns and jumps |
//! | `entry_bounds` | subprograms that change variables in their array bounds |
//! | `reroll` | rerolling manually unrolled loops |
//! | `scalarize` | writing array statements as DO loops |
//! | `regions` | writing allocated arrays as local arrays |
//! | `parallel` | bodies of parallel loops of OpenMP as subroutines |
//! | `cleared` | marking the end of use of tapes |
//! | `messages` | calls of MPI, whose derivatives are in a run-time library |
//! | `requests` | which IRECVs of MPI a WAIT completes |
//! | `one_name` | calls that pass one array as two arguments |
//! | `shared_elements` | scalars that share storage with array elements by EQUIVALENCE |
//! | `common_division` | dividing COMMON blocks in the same way in all units |
//! | `common_sizes` | declaring COMMON blocks completely in all units |

pub(crate) mod argument_sizes;
pub(crate) mod called;
pub(crate) mod cleared;
pub(crate) mod common_division;
pub(crate) mod common_sizes;
pub(crate) mod entry_bounds;
pub(crate) mod fixed_tapes;
pub(crate) mod input_output;
pub(crate) mod loop_control;
pub(crate) mod messages;
pub(crate) mod one_name;
pub(crate) mod parallel;
pub(crate) mod regions;
mod requests;
pub(crate) mod reroll;
pub(crate) mod scalarize;
pub(crate) mod shared_elements;
pub(crate) mod structure;
