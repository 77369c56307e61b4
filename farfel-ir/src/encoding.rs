//! Bytes that are not UTF-8, kept as one character each.
//!
//! Old programs have national letters in comments and constants, one byte each, in Latin-1 and
//! other encodings. Fortran counts bytes: the length of a constant, the count of a Hollerith
//! constant and the columns of a line all depend on it. So from reading to writing each such byte
//! is represented by one private-use character, U+F700 plus the byte: it is neither lost nor
//! doubled, whatever its encoding was. [`decode`] converts the bytes of a file to text, [`encode`]
//! converts text back to the original bytes, and [`legible`] makes text suitable for display.

use std::borrow::Cow;

/// The code point of the private-use character for byte 0.
const BASE: u32 = 0xf700;

/// Returns the text of a file. If the file is not UTF-8, or already contains the private-use
/// characters, each byte beyond ASCII becomes a private-use character.
///
/// ```
/// # use farfel_ir::encoding::{decode, encode, len};
/// let text = decode(b"'Stra\xdfe'".to_vec());
/// assert_eq!(len(&text), 8);
/// assert_eq!(&*encode(&text), b"'Stra\xdfe'");
/// assert_eq!(decode("Straße".into()), "Straße");
/// ```
pub fn decode(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) if has_raw(&text) => singles(text.as_bytes()),
        Ok(text) => text,
        Err(e) => singles(e.as_bytes()),
    }
}

/// Returns the bytes that a text has in its file.
pub fn encode(text: &str) -> Cow<'_, [u8]> {
    if !has_raw(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte(c) {
            Some(b) => bytes.push(b),
            None => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// Returns the text for display, with each private-use character replaced by the Latin-1 letter of
/// its byte.
pub fn legible(text: &str) -> Cow<'_, str> {
    if !has_raw(text) {
        return Cow::Borrowed(text);
    }
    let letter = |c| byte(c).map_or(c, char::from);
    text.chars().map(letter).collect::<String>().into()
}

/// Returns the number of bytes that the text has in a file, which is what compilers count.
pub fn len(text: &str) -> usize {
    text.len() - 2 * text.chars().filter(|c| byte(*c).is_some()).count()
}

/// Returns the number of bytes that a character has in a file.
pub fn width(c: char) -> usize {
    match byte(c) {
        Some(_) => 1,
        None => c.len_utf8(),
    }
}

/// Returns the text with one character for each of its bytes.
pub fn by_bytes(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_owned(),
        false => singles(&encode(text)),
    }
}

/// Whether the text contains a private-use character.
pub fn has_raw(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(|c| byte(c).is_some())
}

/// Returns the byte that a private-use character represents.
pub fn byte(c: char) -> Option<u8> {
    let b = u8::try_from(u32::from(c).checked_sub(BASE)?).ok()?;
    (!b.is_ascii()).then_some(b)
}

/// Returns the character that represents a byte.
pub fn single(b: u8) -> char {
    match b.is_ascii() {
        true => char::from(b),
        false => char::from_u32(BASE + u32::from(b)).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// Whether a private-use character begins at `at` in the bytes of a text.
pub fn begins_raw(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at..at + 2), Some([0xef, 0x9e | 0x9f]))
}

fn singles(bytes: &[u8]) -> String {
    bytes.iter().copied().map(single).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let text = decode(all.clone());
        assert_eq!(text.chars().count(), 256);
        assert_eq!((len(&text), &*encode(&text)), (256, &all[..]));
        let shown: String = all.iter().copied().map(char::from).collect();
        assert_eq!(legible(&text), shown);
        for (at, c) in text.char_indices() {
            assert_eq!(begins_raw(text.as_bytes(), at), !c.is_ascii(), "{c:?}");
        }
    }

    /// A UTF-8 file that contains the private-use characters keeps its bytes, too.
    #[test]
    fn private_characters_in_utf_8() {
        let written = "é\u{f7e9}";
        let text = decode(written.into());
        assert_eq!(text.chars().count(), 5);
        assert_eq!(&*encode(&text), written.as_bytes());
        for other in ["é", "\u{f77f}", "\u{f800}", "\u{f6e9}", "\u{ffff}"] {
            assert_eq!(decode(other.into()), other);
            assert_eq!(len(other), other.len());
            assert_eq!(by_bytes(other).chars().count(), other.len());
        }
    }
}
