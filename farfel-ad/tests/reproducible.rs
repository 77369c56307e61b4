//! The same source always gives the same text: caches and readers rely on this.

use crate::support::{expand, programs_that_check_themselves};

/// A hash table has another order each time it is created, even in one process.
#[test]
fn the_same_source_gives_the_same_text() {
    let mut different = Vec::new();
    for (path, text) in programs_that_check_themselves() {
        let first = expand(&text);
        if (0..3).any(|_| expand(&text) != first) {
            different.push(path);
        }
    }
    assert!(different.is_empty(), "{different:?}");
}
