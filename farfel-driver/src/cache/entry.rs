//! Cache entries, in memory and as the bytes of a file.
//!
//! ```text
//! magic and format   8   "farfel" 0 1
//! key               32
//! length of recipe   4   little endian, as all numbers
//! recipe                 text; its first line is the kind of work
//! number of files    4
//!   length of name   4   for each file
//!   name
//!   length           8
//! contents               of all files, one after the other
//! digest            32   BLAKE3 of all before it
//! ```
//!
//! Nothing in it depends on when, where or by whom it is written: the same work gives the same bytes.

use super::key::Key;

/// The result of some work: named contents, whose order is preserved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// Names and contents. A name is never interpreted as a path.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Entry {
    /// Creates an entry with one file.
    pub fn one(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Entry {
        Entry {
            files: vec![(name.into(), content.into())],
        }
    }

    /// Returns the content of a file.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        let found = self.files.iter().find(|(n, _)| n == name);
        found.map(|(_, content)| content.as_slice())
    }
}

const MAGIC: &[u8; 8] = b"farfel\0\x01";
const DIGEST: usize = 32;

/// Encodes an entry with its key as bytes. Returns `None` if a length does not fit its field, which is not
/// worth an error.
pub(super) fn encode(key: &Key, entry: &Entry) -> Option<Vec<u8>> {
    let contents: usize = entry.files.iter().map(|(_, content)| content.len()).sum();
    let names: usize = entry.files.iter().map(|(name, _)| name.len() + 12).sum();
    let recipe = key.recipe().as_bytes();
    let mut bytes = Vec::with_capacity(48 + recipe.len() + names + contents + DIGEST);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(key.digest());
    bytes.extend_from_slice(&u32::try_from(recipe.len()).ok()?.to_le_bytes());
    bytes.extend_from_slice(recipe);
    bytes.extend_from_slice(&u32::try_from(entry.files.len()).ok()?.to_le_bytes());
    for (name, content) in &entry.files {
        bytes.extend_from_slice(&u32::try_from(name.len()).ok()?.to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    }
    for (_, content) in &entry.files {
        bytes.extend_from_slice(content);
    }
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    Some(bytes)
}

/// Decodes an entry if the bytes are complete, undamaged and for this key.
pub(super) fn decode(key: &[u8; 32], bytes: &[u8]) -> Option<Entry> {
    let mut rest = checked(bytes)?;
    let magic: [u8; 8] = take(&mut rest)?;
    let of: [u8; 32] = take(&mut rest)?;
    if magic != *MAGIC || of != *key {
        return None;
    }
    let recipe = number(&mut rest)?;
    part(&mut rest, recipe)?;
    let count = number(&mut rest)?;
    let mut names = Vec::new();
    for _ in 0..count {
        let length = number(&mut rest)?;
        let name = part(&mut rest, length)?;
        let length = u64::from_le_bytes(take(&mut rest)?);
        names.push((str::from_utf8(name).ok()?, usize::try_from(length).ok()?));
    }
    let mut files = Vec::with_capacity(names.len());
    for (name, length) in names {
        files.push((name.to_owned(), part(&mut rest, length)?.to_vec()));
    }
    rest.is_empty().then_some(Entry { files })
}

/// Whether bytes begin as every entry does. If not, they were never an entry.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let length = bytes.len().min(MAGIC.len());
    !bytes.is_empty() && bytes[..length] == MAGIC[..length]
}

/// Returns the bytes without the digest if the digest is correct.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (body, digest) = bytes.split_last_chunk::<DIGEST>()?;
    (blake3::hash(body) == *digest).then_some(body)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(take(rest)?)).ok()
}

fn part<'b>(rest: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::builder("test").field("name", name).finish()
    }

    fn entry() -> Entry {
        Entry {
            files: vec![
                ("b".into(), b"two".to_vec()),
                ("".into(), Vec::new()),
                ("a ä".into(), vec![0, 255]),
            ],
        }
    }

    #[test]
    fn comes_back_as_it_was() {
        let key = key("k");
        for entry in [entry(), Entry::default(), Entry::one("x", "y")] {
            let bytes = encode(&key, &entry).unwrap();
            assert_eq!(decode(key.digest(), &bytes), Some(entry));
        }
        assert_eq!(entry().file("b"), Some(&b"two"[..]));
        assert_eq!(entry().file("c"), None);
    }

    #[test]
    fn any_flipped_bit_any_truncation_any_addition_is_seen() {
        let key = key("k");
        let bytes = encode(&key, &entry()).unwrap();
        for i in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[i] ^= 1 << bit;
                assert_eq!(
                    decode(key.digest(), &damaged),
                    None,
                    "bit {bit} of byte {i}"
                );
            }
            assert_eq!(decode(key.digest(), &bytes[..i]), None, "length {i}");
            assert_eq!(decode(key.digest(), &bytes[i + 1..]), None, "from {i}");
        }
        assert_eq!(decode(key.digest(), &[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn an_entry_is_good_for_its_own_key_only() {
        let bytes = encode(&key("one"), &entry()).unwrap();
        assert_eq!(decode(key("two").digest(), &bytes), None);
    }

    #[test]
    fn lengths_that_lie_under_a_right_digest_are_refused() {
        let key = key("k");
        let bytes = encode(&key, &entry()).unwrap();
        let body = &bytes[..bytes.len() - DIGEST];
        // Make each number in turn far too large, and compute the digest anew.
        for i in 40..body.len() - 4 {
            let mut lying = body.to_vec();
            lying[i..i + 4].fill(0xff);
            let digest = blake3::hash(&lying);
            lying.extend_from_slice(digest.as_bytes());
            // The contents may differ; what matters is that decoding neither panics nor allocates without
            // bounds.
            let _ = decode(key.digest(), &lying);
        }
        let mut lying = body.to_vec();
        lying[40..44].fill(0xff);
        let digest = blake3::hash(&lying);
        lying.extend_from_slice(digest.as_bytes());
        assert_eq!(decode(key.digest(), &lying), None);
    }
}
