//! What a program does to its variables.
//!
//! | module | what |
//! |---|---|
//! | [`access`] | what each statement reads, changes, allocates, passes on, in order: the only table |
//! | [`solve`] | the solver for flow problems: forward and backward, may and must |
//! | [`effects`] | what procedures may do, whatever way control takes: which arguments and COMMON variables they assign and read, and what they do besides |
//! | [`dataflow`] | what procedures do along the ways that control takes: with arguments, COMMON and their surroundings, and variables that are read before they have a value |
//!
//! Three layers ask the one table another question each, and each has one fixed point over the calls. [`effects`]
//! asks what *may* happen: it is the cheapest, and what it finds holds for any part of a program. [`dataflow`] follows control:
//! what is read *first*, what is *always* set. `farfel_ad::depend` asks *which derivatives* an assignment
//! needs.
//!
//! # Terms
//!
//! The modules, and whoever uses them, mean the following.
//!
//! **Variable.** A scalar, a whole array or a whole string. What happens to an element or a
//! substring happens to the variable. Variables that share storage (EQUIVALENCE, COMMON that
//! units divide differently, one actual argument in two places) are told apart here; who cares puts
//! their storage together (`farfel_ir::storage`).
//!
//! **Read.** The value that a variable has decides something: another value, a way, a subscript, a
//! bound, what is written, what a callee does. Reading an element reads the array, and its subscripts.
//! Assigning an element reads the subscripts and not the array. An inquiry (`LEN`, `SIZE`, `LOC`)
//! asks for no value; as it is not said which functions are inquiries, these *may* read. The bounds
//! of arrays and the lengths of strings are read at entry, whatever becomes of their variables
//! later, also if the array is not used. A statement function reads, where it is named, what its
//! value names. Operands of `.AND.` and `.OR.` and the conditions of ELSE IF are read, even
//! though they may not be evaluated; what functions in them do may not happen. A function that a
//! statement function calls is called by the statement that names the statement function.
//!
//! **Write.** The whole variable gets a value whenever the statement is carried out: a variable that
//! is assigned, the variable of a loop (also if the loop runs not once), an item of READ without
//! `END=`, `ERR=`, `EOR=` and `IOSTAT=`, `IOSTAT=` and `STAT=` themselves. **Part:** a part of it, or all of it perhaps:
//! elements, substrings, under WHERE, items of an implied DO, members of a NAMELIST that
//! is read, all that several statements in an AD block assign. The variable of an implied DO in an array constructor is one of its own:
//! nothing happens to the variable of that name. After that it *may* have a value, and does not *have* one.
//!
//! **AD blocks.** What a block opens with is read before its statements, that of reverse mode after them; what it closes
//! with is set in the end: a number always, of an array a part. Of the variables whose derivatives these name, the values
//! *may* be read. The order of several statements in a block is not followed.
//!
//! **Order.** Operands come before operations, the value before the subscripts of the target, all
//! that a call reads before all that it sets. Items of READ come one after the other, so that the
//! first may be the subscript of the second. `IOSTAT=` and the text of an internal WRITE get their values last.
//!
//! **Passed.** A variable, an element or a substring as an actual argument: what the callee does to the
//! dummy argument, it does to the variable. Of an expression the value is passed, also of `(X)` and
//! `%VAL(X)`: it is read, and nothing that the callee does changes it.
//!
//! **Effect.** What a procedure may assign and read, seen from outside, by *slots*: its arguments, its result, COMMON
//! variables by a numbering that the asker gives; and what it does besides. To *assign* is here whatever changes a
//! variable: to write all or a part of it, to allocate, to free. A procedure without text may read and assign what it gets, and no COMMON;
//! of what else it does, nothing is known. So with dummy procedures, unless something is known of them ([`effects::Dummies`]).
//!
//! **Undefined.** A variable has no value where nothing on any way from the entry can have given it one.
//! Dummy arguments, COMMON and saved variables may always have one.
//!
//! **Allocated.** ALLOCATE reads bounds and gives the array storage, but no value: what it had is lost.
//! DEALLOCATE takes both.
//!
//! **Undone.** Reverse mode undoes what statements did, last first. What a statement overwrites is kept and put
//! back; that reads the value *before* the statement. An increment ([`access::increment`]) is undone by computing;
//! that reads the value that the variable has *after* the statement, and the step once more. So whoever
//! separates the sweeps must hand the last value of such a variable from one to the other: undoing
//! is a read at the end of the unit. The statements of an ADR block are undone as a whole: the derivative starts from
//! the values that were there before them.
//!
//! **Invariant:** facts about a program, found without changing it; of the text, only places.

// Whatever users do, they get a message.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod access;
pub mod dataflow;
pub mod effects;
pub mod solve;
