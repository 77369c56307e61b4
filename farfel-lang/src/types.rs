//! The types of expressions.
