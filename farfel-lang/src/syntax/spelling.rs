//! Suggestions for misspelt keywords.

use super::classify::words;

/// Returns the keyword that a word may have been meant to be.
pub(super) fn suggestion(word: &str) -> Option<&'static str> {
    words().filter(|w| w.len() > 2).find(|w| {
        let compact: String = w.chars().filter(|c| *c != ' ').collect();
        // The text after the keyword may be joined to it.
        let most = word.len().min(compact.len() + 1);
        (compact.len().saturating_sub(1)..=most)
            .filter_map(|n| word.get(..n))
            .any(|start| close_to(start, &compact))
    })
}

/// Returns the Fortran equivalent of syntax from other languages. `statement` contains no blanks.
pub(super) fn foreign(word: &str, statement: &str) -> Option<&'static str> {
    let behind = statement.get(word.len()..).unwrap_or("");
    // Skip the subscripts of the variable that is assigned.
    let behind = match behind.starts_with('(') {
        true => behind.split_once(')').map_or("", |(_, rest)| rest),
        false => behind,
    };
    let starts = |words: &[&str]| words.iter().any(|w| word.starts_with(w));
    if word.starts_with("ADF") || word.starts_with("ADR") {
        Some("put the variables in parentheses, as in `ADF(X)` and `ADR(Y)`")
    } else if behind.starts_with(":=") {
        Some("an assignment is written with `=`")
    } else if behind.starts_with("==") {
        Some("an assignment has a single `=`")
    } else if ["++", "--", "+=", "-=", "*="]
        .iter()
        .any(|o| behind.starts_with(o))
    {
        Some("write the variable on both sides, as in `I = I + 1`")
    } else if behind.starts_with(['+', '-', '*', '/']) && behind.contains('=') {
        Some("the left side of `=` must be a variable, an array element or a substring")
    } else if word.starts_with("IF") && (statement.ends_with("THEN") || behind.contains('.')) {
        Some("put the condition in parentheses: `IF (…) THEN`")
    } else if word.starts_with("DOWHILE") || statement.starts_with("DOWHILE") {
        Some("put the condition in parentheses: `DO WHILE (…)`")
    } else if (word.starts_with("FOR") && !word.starts_with("FORMAT")) || word == "WHILE" {
        Some("loops are written `DO I = 1, N` and `DO WHILE (…)`")
    } else if starts(&["ELIF"]) {
        Some("did you mean ELSE IF?")
    } else if starts(&["FLOAT"]) {
        Some("the type is REAL, or DOUBLE PRECISION")
    } else if word.starts_with("DOUBLE") && !word.starts_with("DOUBLEP") {
        Some("the type is DOUBLE PRECISION")
    } else if word.starts_with("INT") && !word.starts_with("INTE") && !word.starts_with("INTR") {
        Some("the type is INTEGER")
    } else if starts(&["STRING"]) {
        Some("the type is CHARACTER")
    } else if starts(&["BOOL"]) {
        Some("the type is LOGICAL")
    } else {
        None
    }
}

/// Whether two words differ by one letter that is wrong, missing or extra, or by two that are
/// exchanged.
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
