//! Analyses of what a program does to its variables.
//!
//! | module | contents |
//! |---|---|
//! | [`access`] | what each statement reads, changes, allocates and passes, in order: the single source of this information |
//! | [`solve`] | the solver for dataflow problems: forward and backward, may and must |
//! | [`effects`] | flow-insensitive: the arguments and COMMON variables that procedures may assign and read, and their other side effects |
//! | [`dataflow`] | flow-sensitive: what procedures do with arguments, COMMON and variables of the enclosing unit, and which variables are read before they have a value |
//!
//! Three layers query that table, each with its own question and its own fixed point over the call
//! graph. [`effects`] asks what *may* happen: it is the cheapest, and its results hold for any part
//! of a program. [`dataflow`] follows control flow: what is read *first*, what is *always* set.
//! `farfel_ad::depend` asks *which derivatives* an assignment needs.
//!
//! # Terms
//!
//! The modules and their users use these terms as follows.
//!
//! **Variable.** A scalar, a whole array or a whole string. Anything that happens to an element or
//! a substring happens to the variable. Variables that share storage (EQUIVALENCE, COMMON that
//! units divide differently, one actual argument in two positions) are distinct here; callers for
//! whom sharing matters combine them (`farfel_ir::storage`).
//!
//! **Read.** The value of a variable affects something: another value, the control flow, a
//! subscript, a bound, output, the behaviour of a callee. Reading an element reads the array and
//! the subscripts. Assigning an element reads the subscripts but not the array. An inquiry (`LEN`,
//! `SIZE`, `LOC`) does not need a value; since the intrinsics table does not mark inquiries, these
//! *may* read. The bounds of arrays and the lengths of strings are read at entry, whatever happens
//! to their variables later, even if the array is not used. A reference to a statement function
//! reads the variables in its value. Operands of `.AND.` and `.OR.` and the conditions of ELSE IF
//! count as read, even though they may not be evaluated; the effects of functions in them may not
//! happen. A function that a statement function calls is called by the statement that refers to the
//! statement function.
//!
//! **Write.** The whole variable gets a value whenever the statement is executed: an assigned
//! variable, a loop variable (even of a loop with zero iterations), an item of READ without `END=`,
//! `ERR=`, `EOR=` and `IOSTAT=`, and the variables of `IOSTAT=` and `STAT=` themselves. **Part:** a
//! part of it, or possibly all of it, gets a value: elements, substrings, assignments under WHERE,
//! items of an implied DO, members of a NAMELIST that is read, everything that an AD block with
//! several statements assigns. Afterwards the variable *may* have a value, but it does not
//! *definitely* have one. The variable of an implied DO in an array constructor is local to it: the
//! variable of the same name is not affected.
//!
//! **AD blocks.** The values in the opening are read before the block's statements in forward mode,
//! and after them in reverse mode; the destinations in the closing are set at the end: scalars
//! completely, arrays in part. The values of the variables whose derivatives are named there *may*
//! be read. The order of the statements in a block with several statements is not tracked.
//!
//! **Order.** Operands precede operations, the value of an assignment precedes the subscripts of
//! the target, and everything that a call reads precedes everything that it sets. Items of READ
//! follow one another, so that the first can be a subscript of the second. `IOSTAT=` and the text
//! of an internal WRITE get their values last.
//!
//! **Passed.** A variable, an element or a substring as an actual argument: what the callee does to
//! the dummy argument, it does to the variable. For any other expression, including `(X)` and
//! `%VAL(X)`, the value is passed: it is read, and the callee cannot change it.
//!
//! **Effect.** What a procedure may assign and read, as seen by callers, in terms of *slots*: its
//! arguments, its result, and the COMMON variables in a numbering supplied by the client; and its
//! other side effects. To *assign* means here to change a variable in any way: to write all or a
//! part of it, to allocate or deallocate it. A procedure without source may read and assign its
//! arguments, but no COMMON; nothing is known about its other side effects. The same goes for dummy
//! procedures, unless something is known about them ([`effects::DummyAssumptions`]).
//!
//! **Undefined.** A variable has no value where nothing on any path from the entry can have given
//! it one. Dummy arguments, COMMON and saved variables may always have a value.
//!
//! **Allocated.** ALLOCATE reads bounds and gives the array storage but no value: any previous
//! value is lost. DEALLOCATE removes both.
//!
//! **Undone.** Reverse mode undoes the effects of statements, last first. The value that a
//! statement overwrites is saved and restored, which reads the value *before* the statement. An
//! increment ([`access::increment`]) is undone by computation, which reads the value that the
//! variable has *after* the statement, and the step a second time. So code that separates the
//! forward and the reverse sweep has to pass the last value of such a variable from one to the
//! other: undoing is a read at the end of the unit. The statements of an ADR block are undone as a
//! whole: the derivative starts from the values before them.
//!
//! **Invariant:** computes facts about a program without changing it; knows only positions in the
//! source text.

// Whatever users write, they get a diagnostic and never a panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod access;
pub mod dataflow;
pub mod effects;
pub mod solve;
