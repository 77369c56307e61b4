//! Suggestions for misspelled names.

/// Returns the known name most similar to `name`, if any is similar enough to have been meant.
///
/// ```
/// use farfel_lang::spelling::closest;
/// assert_eq!(closest("KEPLR", ["KEPLER", "NEWTON"].into_iter()), Some("KEPLER"));
/// ```
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Any two names of one or two letters are similar.
    let most = |k: &str| (name.len().min(k.len()) / 3).max(1);
    known
        .filter(|k| name.len() > 2 && k.len() > 2 && name.len().abs_diff(k.len()) <= most(k))
        .map(|k| (strsim::damerau_levenshtein(name, k), k))
        .filter(|(d, k)| *d > 0 && *d <= most(k))
        // Prefers a long common prefix: people usually get the beginning of a name right.
        .min_by_key(|(d, k)| (*d, usize::MAX - common_start(name, k), *k))
        .map(|(_, k)| k)
}

fn common_start(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count()
}
