//! The tests of this folder: one program, which is linked once. A new file has to be listed here.

mod generated;
mod interpreter;
mod smaller;
