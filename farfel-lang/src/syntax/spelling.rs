//! What a misspelt word may have been meant to be.

use super::classify::words;

/// The keyword that a word may have been meant to be.
pub(super) fn suggestion(word: &str) -> Option<&'static str> {
    words().filter(|w| w.len() > 2).find(|w| {
        let compact: String = w.chars().filter(|c| *c != ' ').collect();
        // What follows the keyword may stick to it.
        let most = word.len().min(compact.len() + 1);
        (compact.len().saturating_sub(1)..=most)
            .filter_map(|n| word.get(..n))
            .any(|start| close_to(start, &compact))
    })
}

/// One letter wrong, missing, extra, or two exchanged.
pub(super) fn close_to(word: &str, meant: &str) -> bool {
    let (a, b) = (word.as_bytes(), meant.as_bytes());
    if a.len().abs_diff(b.len()) > 1 || a == b {
        return false;
    }
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    match a.len().cmp(&b.len()) {
        std::cmp::Ordering::Less => *a == b[1..],
        std::cmp::Ordering::Greater => a[1..] == *b,
        std::cmp::Ordering::Equal => {
            a[1..] == b[1..] || a.len() >= 2 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..]
        }
    }
}
