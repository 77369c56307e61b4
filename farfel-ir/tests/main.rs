//! The tests of this folder: one program, which is linked once. A new file has to be listed here.

mod callgraph;
mod names;
mod targets;
