//! Text to tree.
