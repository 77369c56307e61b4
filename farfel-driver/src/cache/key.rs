//! Keys of entries: hashes of all inputs of the work that makes them.

use std::fmt::Write;

/// The key of an entry: a hash of the kind of work and of all its inputs, together with a readable form.
///
/// A key includes the tools with their versions, options, and the text that is read. It does not include
/// times, absolute paths, the order of unrelated work, or the number of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    kind: &'static str,
    digest: [u8; 32],
    recipe: String,
}

impl Key {
    /// Starts a key. The kind names the work, such as `tapenade` or `compile`, and is hashed, too: equal
    /// fields of different kinds of work give different keys.
    pub fn builder(kind: &'static str) -> KeyBuilder {
        let mut hasher = blake3::Hasher::new_derive_key("farfel 2026-11 cache key");
        add(&mut hasher, kind.as_bytes());
        KeyBuilder {
            kind,
            hasher,
            recipe: format!("{kind}\n"),
        }
    }

    /// Returns the kind of work.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns the hash in 64 lower-case hexadecimal digits.
    pub fn hex(&self) -> String {
        hex(&self.digest)
    }

    /// Returns the fields of the key, one per line: short values literally, long ones by their length and
    /// hash. Comparing two recipes shows why something was redone.
    pub fn recipe(&self) -> &str {
        &self.recipe
    }

    /// Returns the hash itself.
    pub(super) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

/// Collects the fields of a [`Key`].
#[derive(Debug, Clone)]
pub struct KeyBuilder {
    kind: &'static str,
    hasher: blake3::Hasher,
    recipe: String,
}

/// The maximum length of values that the recipe shows literally.
const SHOWN: usize = 100;

impl KeyBuilder {
    /// Adds a value. Names, lengths and order matter: no two different lists of fields have the same key.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        add(&mut self.hasher, name.as_bytes());
        add(&mut self.hasher, value);
        let short = str::from_utf8(value).ok().filter(|text| {
            value.len() <= SHOWN && !text.chars().any(|c| c.is_control() && c != '\t')
        });
        self.recipe.push_str(name);
        match short {
            Some(text) => {
                self.recipe.push_str(" = ");
                self.recipe.push_str(text);
            }
            // The value is a hash already.
            None if value.len() == blake3::OUT_LEN => {
                self.recipe.push_str(" : ");
                self.recipe.push_str(&hex(&value[..16]));
            }
            None => {
                // Writing to a string cannot fail.
                let _ = write!(self.recipe, " : {} bytes, ", value.len());
                self.recipe
                    .push_str(&hex(&blake3::hash(value).as_bytes()[..8]));
            }
        }
        self.recipe.push('\n');
        self
    }

    /// Returns the key of all fields added so far.
    #[must_use]
    pub fn finish(self) -> Key {
        Key {
            kind: self.kind,
            digest: self.hasher.finalize().into(),
            recipe: self.recipe,
        }
    }
}

/// Hashes the length before the part itself, so that the boundaries between parts are unambiguous.
fn add(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |d: u8| char::from(DIGITS[usize::from(d & 15)]);
    bytes
        .iter()
        .flat_map(|b| [digit(b >> 4), digit(*b)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_differs_makes_another_key() {
        let keys = [
            Key::builder("a").finish(),
            Key::builder("b").finish(),
            Key::builder("a").field("", "").finish(),
            Key::builder("a").field("x", "yz").finish(),
            Key::builder("a").field("xy", "z").finish(),
            Key::builder("a").field("x", "y").field("z", "").finish(),
            Key::builder("a").field("z", "").field("x", "y").finish(),
            Key::builder("a").field("x", "y").field("", "z").finish(),
            Key::builder("a").field("x", "y\0z").finish(),
        ];
        for (i, one) in keys.iter().enumerate() {
            assert_eq!(one.hex().len(), 64);
            for other in &keys[i + 1..] {
                assert_ne!(one.hex(), other.hex(), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn keys_stay_the_same_from_build_to_build() {
        // If this hash ever changes, all existing caches become useless, and the directory of `Store` must be
        // renamed.
        let key = Key::builder("compile").field("flags", "-O2").finish();
        assert_eq!(
            key.hex(),
            "4f9582d28b6ecbac2b0b0d260d91376d4f8a00678ba5f7a19e028dc503d26acd"
        );
    }

    #[test]
    fn the_recipe_shows_short_values_and_names_long_ones() {
        let key = Key::builder("compile")
            .field("compiler", "GNU Fortran 12.2.0")
            .field("text", "      END\n".repeat(100))
            .finish();
        insta::assert_snapshot!(key.recipe(), @r"
        compile
        compiler = GNU Fortran 12.2.0
        text : 1000 bytes, 5aafa5fc2c90ad40
        ");
    }
}
