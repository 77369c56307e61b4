//! Versions of Tapenade and their capabilities.

use std::fmt;
use std::str::FromStr;

/// A version of Tapenade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The 3 in 3.16.
    pub major: u32,
    /// The 16 in 3.16.
    pub minor: u32,
}

impl Version {
    /// Creates a version.
    pub const fn new(major: u32, minor: u32) -> Self {
        Version { major, minor }
    }

    /// Whether suffixes are given by `-tgt…` and `-adj…` instead of `-diff…`.
    ///
    /// The old options are accepted at least up to 3.16, so the exact version that introduced the
    /// new ones does not matter: 3.13 is the first that has been seen to use them.
    pub fn has_suffix_for_each_mode(self) -> bool {
        self >= Version::new(3, 13)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The error for text without a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoVersion;

impl fmt::Display for NoVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no version of Tapenade in this text")
    }
}

impl std::error::Error for NoVersion {}

/// Parses the output of `tapenade -version`: the number after the first `Tapenade` that is followed
/// by one.
///
/// ```
/// use farfel_tools::tapenade::Version;
/// let said = "Tapenade 3.16 (master) -  9 Oct 2020 17:47 - Java 17.0.15 Linux\n";
/// assert_eq!(said.parse(), Ok(Version { major: 3, minor: 16 }));
/// ```
impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(output: &str) -> Result<Self, NoVersion> {
        let lower = output.to_ascii_lowercase();
        lower
            .match_indices("tapenade")
            .find_map(|(at, word)| {
                let rest = lower[at + word.len()..].trim_start();
                number(rest.strip_prefix("version").map_or(rest, str::trim_start))
            })
            .or_else(|| number(lower.trim()))
            .ok_or(NoVersion)
    }
}

fn number(text: &str) -> Option<Version> {
    let digits = |t: &str| -> Option<(u32, usize)> {
        let len = t.bytes().take_while(u8::is_ascii_digit).count();
        t[..len].parse().ok().map(|n| (n, len))
    };
    let (major, len) = digits(text)?;
    let (minor, _) = digits(text[len..].strip_prefix('.')?)?;
    Some(Version { major, minor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_versions_print() {
        for (output, version) in [
            ("Tapenade 3.6 (r4343) - 10 Feb 2012 10:52", Some((3, 6))),
            ("TAPENADE 3.10\n", Some((3, 10))),
            (
                "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nTapenade 3.16 (master) -  9 Oct 2020",
                Some((3, 16)),
            ),
            (
                "@@ TAPENADE_HOME=/opt/x\nTapenade version 4.0",
                Some((4, 0)),
            ),
            ("3.9", Some((3, 9))),
            ("java: command not found", None),
            ("Tapenade", None),
            ("Tapenade 99999999999.1", None),
            ("", None),
        ] {
            let expected = version.map(|(a, b)| Version::new(a, b)).ok_or(NoVersion);
            assert_eq!(output.parse(), expected, "{output}");
        }
        assert!(Version::new(3, 6) < Version::new(3, 10));
    }
}
