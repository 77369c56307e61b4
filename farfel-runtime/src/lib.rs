//! What generated bindings use at run time.
