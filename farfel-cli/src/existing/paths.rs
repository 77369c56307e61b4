//! Paths and patterns in build files.

use std::path::{Component, Path, PathBuf};

/// Returns a path from a file in the folder `here`, with `.` and `..` resolved as far as possible.
pub(super) fn joined(here: &Path, word: &str) -> PathBuf {
    let mut joined = PathBuf::new();
    for part in here.join(word).components() {
        match part {
            Component::ParentDir => {
                joined.pop();
            }
            Component::CurDir => {}
            part => joined.push(part),
        }
    }
    joined
}

/// Whether a path matches a shell pattern: `*` and `?` match characters of a single component, `**` any.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), path.chars().collect());
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    let mut at = 0;
    while at < pattern.len() {
        let any = pattern[at..].starts_with(&['*', '*']);
        let mut next = vec![false; path.len() + 1];
        for i in 0..=path.len() {
            if pattern[at] == '*' {
                let grown = i > 0 && next[i - 1] && (any || path[i - 1] != '/');
                next[i] = reached[i] || grown;
            } else if i > 0 && reached[i - 1] {
                let one = pattern[at] == '?' && path[i - 1] != '/';
                next[i] = one || pattern[at] == path[i - 1];
            }
        }
        reached = next;
        at += if any { 2 } else { 1 };
    }
    reached[path.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, path, fits) in [
            ("*.f", "a.f", true),
            ("*.f", "src/a.f", false),
            ("src/*.f", "src/a.f", true),
            ("**.f", "src/a.f", true),
            ("a?.f*", "ab.for", true),
            ("a?.f", "a.f", false),
            ("*a*b*", "xaxxb", true),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn paths() {
        let here = Path::new("lib/a");
        assert_eq!(joined(here, "../b/./c.f"), Path::new("lib/b/c.f"));
        assert_eq!(joined(here, "../../../c.f"), Path::new("c.f"));
    }
}
