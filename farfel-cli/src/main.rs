//! The `farfel` command.

fn main() {}
