//! CHARACTER arguments and results: texts of Rust, of any length and encoding, as the bytes of fixed length that
//! Fortran sees, and back.

use crate::Error;
use crate::sizes::no_memory;
use std::borrow::Cow;

/// Returns a text as Fortran expects it for a CHARACTER of fixed length: padded with blanks if it
/// is shorter than `length` bytes.
///
/// ```
/// use farfel_runtime::padded;
/// assert_eq!(*padded(b"UP", 4), *b"UP  ");
/// assert_eq!(*padded(b"UPPER", 4), *b"UPPER");
/// ```
pub fn padded(text: &[u8], length: usize) -> Cow<'_, [u8]> {
    if text.len() < length {
        let mut bytes = text.to_vec();
        bytes.resize(length, b' ');
        Cow::Owned(bytes)
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the bytes of a string as Fortran expects them for a CHARACTER of fixed length that it
/// may assign: padded with blanks or truncated to `length` bytes.
///
/// ```
/// use farfel_runtime::text_of;
/// assert_eq!(text_of("UP", 4), b"UP  ");
/// assert_eq!(text_of("UPPER", 4), b"UPPE");
/// ```
pub fn text_of(text: &str, length: usize) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(length, b' ');
    bytes
}

/// Converts a Fortran CHARACTER to a `String` without trailing blanks. Bytes that are not valid
/// UTF-8 become U+FFFD.
///
/// ```
/// use farfel_runtime::string_of;
/// assert_eq!(string_of(b"UP  "), "UP");
/// ```
pub fn string_of(text: &[u8]) -> String {
    let end = text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
    String::from_utf8_lossy(&text[..end]).into_owned()
}

/// The elements of a CHARACTER array, one after another, each with the same number of bytes. For
/// generated code.
#[derive(Debug)]
pub struct Texts {
    bytes: Vec<u8>,
    length: usize,
}

impl Texts {
    /// Copies texts to elements of `length` bytes, padded with blanks or truncated; `None` stands for
    /// the length of the longest text.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if there is no memory for them. `declaration` is the Fortran declaration.
    pub fn of<T: AsRef<[u8]>>(
        declaration: &'static str,
        texts: &[T],
        length: Option<usize>,
    ) -> Result<Texts, Error> {
        let longest = || texts.iter().map(|t| t.as_ref().len()).max().unwrap_or(0);
        let length = length.unwrap_or_else(longest);
        let mut all = Texts::empty(declaration, texts.len(), length)?;
        texts.iter().for_each(|t| all.push(t.as_ref()));
        Ok(all)
    }

    /// Copies texts that Fortran may assign. Their length is the length of the elements.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if their lengths differ; [`Error::Memory`] as for [`Texts::of`].
    pub fn of_mut<T: AsMut<[u8]>>(
        function: &'static str,
        argument: &'static str,
        declaration: &'static str,
        texts: &mut [T],
    ) -> Result<Texts, Error> {
        let length = texts.first_mut().map_or(0, |t| t.as_mut().len());
        let mut all = Texts::empty(declaration, texts.len(), length)?;
        for text in texts {
            let text = text.as_mut();
            if text.len() != length {
                return Err(Error::Shape {
                    function,
                    argument,
                    what: "bytes in an element",
                    got: text.len(),
                    wanted: format!("{length}, as in the first element"),
                });
            }
            all.push(text);
        }
        Ok(all)
    }

    fn empty(declaration: &'static str, count: usize, length: usize) -> Result<Texts, Error> {
        let mut bytes = Vec::new();
        let total = count.checked_mul(length);
        let reserved = total.is_some_and(|total| bytes.try_reserve_exact(total).is_ok());
        match reserved {
            true => Ok(Texts { bytes, length }),
            false => Err(no_memory(declaration)),
        }
    }

    fn push(&mut self, text: &[u8]) {
        let start = self.bytes.len();
        self.bytes
            .extend_from_slice(&text[..text.len().min(self.length)]);
        self.bytes.resize(start + self.length, b' ');
    }

    /// Returns the number of bytes in an element.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the address of the first element.
    pub fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    /// Returns the address of the first element, for assignments.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }

    /// Copies the elements back to strings, without trailing blanks.
    pub fn to_strings(&self, strings: &mut [String]) {
        let mut elements = self.elements();
        for string in strings {
            *string = string_of(elements.next().unwrap_or_default());
        }
    }

    /// Copies the elements back to the texts.
    pub fn put_back<T: AsMut<[u8]>>(&self, texts: &mut [T]) {
        for (text, element) in texts.iter_mut().zip(self.elements()) {
            let bytes = text.as_mut().iter_mut().zip(element);
            bytes.for_each(|(to, from)| *to = *from);
        }
    }

    fn elements(&self) -> impl Iterator<Item = &[u8]> {
        // Elements of no length have nothing to be copied.
        self.bytes.chunks_exact(self.length.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_elements_and_texts_again() {
        let all = Texts::of("C", &["ab", "Größe", ""], Some(4)).unwrap();
        assert_eq!(all.bytes, "ab  Grö    ".as_bytes());
        let mut back = ["x"; 3].map(String::from);
        all.to_strings(&mut back);
        assert_eq!(back, ["ab", "Grö", ""]);
        // A character that does not fit is not half a character afterwards.
        Texts::of("C", &["Größe"], Some(3))
            .unwrap()
            .to_strings(&mut back[..1]);
        assert_eq!(back[0], "Gr\u{fffd}");

        let longest = Texts::of("C", &[&b"a"[..], b"\xff\x00bc"], None).unwrap();
        assert_eq!(
            (longest.length(), &longest.bytes[..]),
            (4, &b"a   \xff\x00bc"[..])
        );
        let none: [&str; 0] = [];
        assert_eq!(Texts::of("C", &none, None).unwrap().length(), 0);
        let huge = Texts::of("C(*)", &["", ""], Some(usize::MAX));
        assert!(matches!(huge, Err(Error::Memory { .. })), "{huge:?}");
    }

    #[test]
    fn elements_that_are_assigned_have_one_length() {
        let mut texts = [*b"abc", *b"def"];
        let mut all = Texts::of_mut("f", "c", "C(2)", &mut texts).unwrap();
        assert_eq!((all.length(), &all.bytes[..]), (3, &b"abcdef"[..]));
        all.bytes[5] = b'!';
        all.put_back(&mut texts);
        assert_eq!(texts, [*b"abc", *b"de!"]);
        let mut uneven = [vec![b'a'], vec![]];
        let error = Texts::of_mut("f", "c", "C(2)", &mut uneven).unwrap_err();
        assert_eq!(
            error.to_string(),
            "f: argument `c` has 0 bytes in an element, and must have 1, as in the first element"
        );
        let mut empty = [vec![], vec![]];
        let all = Texts::of_mut("f", "c", "C(2)", &mut empty).unwrap();
        all.put_back(&mut empty);
        all.to_strings(&mut [String::new()]);
    }
}
