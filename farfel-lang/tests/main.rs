//! The tests of this folder: one program, which is linked once. A new file has to be listed here.

mod common;

mod errors;
mod faulty;
mod fuzzed;
mod lints;
mod lowering;
mod naming;
mod print_programs;
mod print_properties;
mod print_statements;
mod print_trees;
mod reverse;
mod storage;
