//! A compact binary encoding for records between builds: they are read in each build, so reading must be
//! cheap.

use std::fs;
use std::path::Path;

/// Reads a file written with the bytes of [`Writer::sealed`]; `None` if it is damaged.
pub(crate) fn unsealed(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let (digest, rest) = bytes.split_first_chunk::<32>()?;
    if blake3::hash(rest).as_bytes() != digest {
        return None;
    }
    bytes.drain(..32);
    Some(bytes)
}

/// Encodes values.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    /// Returns the contents of a file: a hash and the bytes.
    pub(crate) fn sealed(self) -> Vec<u8> {
        let digest = blake3::hash(&self.0);
        [digest.as_bytes(), &self.0[..]].concat()
    }

    /// Writes seven bits per byte, the lowest first; all bytes but the last have the eighth bit set.
    pub(crate) fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push((n as u8) | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Writer, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|i| each(self, i));
    }
}

/// Decodes values; its methods return `None` if the bytes were not written by a [`Writer`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            n |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Some(n);
            }
        }
        None
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.bytes()?).ok()
    }

    pub(crate) fn list<T>(
        &mut self,
        mut each: impl FnMut(&mut Reader<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let len = self.number()?;
        // The length may be wrong, so nothing is allocated for it in advance.
        (0..len).map(|_| each(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut w = Writer::default();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        w.list(&numbers, |w, n| w.number(*n));
        w.text("ä b");
        w.bytes(&[0, 255]);
        let mut r = Reader(&w.0);
        assert_eq!(r.list(Reader::number).unwrap(), numbers);
        assert_eq!(r.text(), Some("ä b"));
        assert_eq!(r.bytes(), Some(&[0, 255][..]));
        assert!(r.0.is_empty() && r.number().is_none() && r.bytes().is_none());
        // Truncated input is rejected.
        for i in 0..w.0.len() {
            let mut r = Reader(&w.0[..i]);
            let all = r.list(Reader::number).and(r.text()).and(r.bytes());
            assert_eq!(all, None, "{i}");
        }
        // Wrong lengths.
        assert_eq!(Reader(&[0xff; 30]).number(), None);
        assert_eq!(Reader(&[0xff, 0xff, 0x7f, 1]).bytes(), None);
        assert_eq!(Reader(&[0xff, 0xff, 0x7f, 1]).list(Reader::number), None);
    }
}
