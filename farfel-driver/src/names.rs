//! The names of a library's symbols in object files.

use farfel_lang::ir::{LONGEST_NAME, Name};

/// The names of one library, which differ from those of any other package or version, so that several can be
/// linked into one program.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// `FARFEL_DEMO_0_3_1`: the name of the module, and the prefix of COMMON blocks and of subprograms
    /// outside the module.
    pub module: Name,
}

impl Names {
    /// Returns the names for a package.
    pub(crate) fn new(package: &str, version: &str) -> Names {
        let safe = |text: &str| -> String {
            text.chars()
                .map(|c| match c {
                    'a'..='z' | 'A'..='Z' | '0'..='9' => c.to_ascii_uppercase(),
                    _ => '_',
                })
                .collect()
        };
        let plain = format!("FARFEL_{}_{}", safe(package), safe(version));
        let lossless = package
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        // Half of the length is left for what follows the prefix.
        Names {
            module: if lossless && plain.len() <= LONGEST_NAME / 2 {
                plain.into()
            } else {
                shorten(&plain, package, LONGEST_NAME / 2)
            },
        }
    }

    /// Returns the global name for `name` in the program.
    pub(crate) fn global(&self, name: &str) -> Name {
        let full = format!("{}_{name}", self.module);
        if full.len() <= LONGEST_NAME {
            full.into()
        } else {
            shorten(&full, name, LONGEST_NAME)
        }
    }

    /// Returns the name of a COMMON block, which is blank for the blank block. A subprogram may have the
    /// same name in the source: the linker would take its code for the block. No Fortran name starts with a
    /// digit, so a block's name differs from all others.
    pub(crate) fn common(&self, block: &str) -> Name {
        self.global(&format!("1{block}"))
    }

    /// Returns the Fortran name of the subroutine through which Rust calls a subprogram.
    pub(crate) fn wrapper(&self, unit: &str) -> Name {
        let full = format!("FARFEL_EXPORT_{unit}");
        if full.len() <= LONGEST_NAME {
            full.into()
        } else {
            shorten(&full, unit, LONGEST_NAME)
        }
    }

    /// Returns the symbol by which Rust finds a subprogram. It differs from all [`Names::global`], since no
    /// Fortran name starts with an underscore.
    pub(crate) fn symbol(&self, unit: &str) -> String {
        format!("{}__{unit}", self.module).to_ascii_lowercase()
    }

    /// Returns the name of the static library: the part between `lib` and `.a`.
    pub(crate) fn library(&self) -> String {
        self.module.to_ascii_lowercase()
    }
}

/// Cuts `text` to `max` characters, the last of which are a hash of `whole` and `text`.
fn shorten(text: &str, whole: &str, max: usize) -> Name {
    // FNV-1a is short, and the same in every version of the standard library.
    let hash = whole
        .bytes()
        .chain(text.bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
    let number = format!("_{:08X}", hash as u32);
    let keep = text.len().min(max - number.len());
    format!("{}{number}", &text[..keep]).into()
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_fit_and_differ() {
        let n = Names::new("two-player", "0.3.1");
        assert_eq!(n.module, "FARFEL_TWO_PLAYER_0_3_1");
        assert_eq!(n.global("DAXPY"), "FARFEL_TWO_PLAYER_0_3_1_DAXPY");
        assert_eq!(n.common("STORE"), "FARFEL_TWO_PLAYER_0_3_1_1STORE");
        assert_eq!(n.common(""), "FARFEL_TWO_PLAYER_0_3_1_1");
        assert_eq!(n.symbol("EQLBRM"), "farfel_two_player_0_3_1__eqlbrm");
        let long = "a".repeat(60);
        let (a, b) = (Names::new(&long, "1.0.0"), Names::new(&long, "1.0.1"));
        assert!(a.module.len() <= 31 && a.module != b.module);
        let unit = "X".repeat(63);
        assert_eq!(n.global(&unit).len(), 63);
        assert_ne!(n.global(&unit), n.global(&unit[1..]));
        assert_ne!(Names::new("è", "1").module, Names::new("é", "1").module);
    }
}
