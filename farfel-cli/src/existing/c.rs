//! What is to be known of C sources.

/// Whether a C source defines `main`. Such a file is a program of its own, and cannot be linked with one in Fortran or
/// with a library.
pub(super) fn has_main(text: &[u8]) -> bool {
    let words = words(text);
    let mut depth = 0i32;
    for (at, word) in words.iter().enumerate() {
        match *word {
            b"{" => depth += 1,
            b"}" => depth -= 1,
            b"main" if depth == 0 && words.get(at + 1) == Some(&&b"("[..]) => {
                let mut inside = 0i32;
                let end = words[at + 1..].iter().position(|w| {
                    inside += match *w {
                        b"(" => 1,
                        b")" => -1,
                        _ => 0,
                    };
                    inside == 0
                });
                // A declaration ends here, and old C declares the arguments here.
                let next = end.and_then(|end| words.get(at + end + 2));
                if next.is_some_and(|w| !matches!(*w, b";" | b"," | b")")) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Names and signs, without comments, texts and lines of the preprocessor.
fn words(text: &[u8]) -> Vec<&[u8]> {
    let is_letter = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let mut words = Vec::new();
    let mut rest = text;
    let mut line_begins = true;
    while let Some(first) = rest.first() {
        let length = match first {
            b'#' if line_begins => line_length(rest),
            b'/' if rest.starts_with(b"//") => line_length(rest),
            b'/' if rest.starts_with(b"/*") => {
                let end = rest[2..].windows(2).position(|w| w == b"*/");
                end.map_or(rest.len(), |end| end + 4)
            }
            b'"' | b'\'' => quoted_length(rest),
            _ if is_letter(first) => {
                let length = rest.iter().position(|b| !is_letter(b));
                let length = length.unwrap_or(rest.len());
                words.push(&rest[..length]);
                length
            }
            _ => {
                if !first.is_ascii_whitespace() {
                    words.push(&rest[..1]);
                }
                1
            }
        };
        line_begins = match first {
            b'\n' => true,
            _ => line_begins && first.is_ascii_whitespace(),
        };
        rest = &rest[length..];
    }
    words
}

/// Up to the end of a line that no `\` continues.
fn line_length(text: &[u8]) -> usize {
    let ends = |at: &usize| {
        let before = text[..*at].strip_suffix(b"\r").unwrap_or(&text[..*at]);
        text[*at] == b'\n' && !before.ends_with(b"\\")
    };
    (0..text.len()).find(ends).unwrap_or(text.len())
}

/// A text or letter in quotes, which ends with the line at the latest.
fn quoted_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            _ if *byte == text[0] => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_main() {
        for (text, expected) in [
            ("int main(void) { return 0; }", true),
            (
                "#include <stdio.h>\nmain (argc, argv)\nint argc;\nchar **argv;\n{\n}\n",
                true,
            ),
            ("int\nmain(int argc, char *argv[])\n{", true),
            ("char c = '\"'; int main() {", true),
            ("int main(void);\nvoid f(void) { main(); }\n", false),
            ("/* int main() { } */ // int main() {}\nint f() { }", false),
            ("#define M \\\n int main() { }\nint f() { }", false),
            ("char *s = \"int main() {\\\" }\";", false),
            ("int domain(int i) { return i; }", false),
            ("void f() { if (main(1)) { } }", false),
            ("int main", false),
            ("int main(", false),
            ("\"", false),
            ("'\\", false),
            ("/*", false),
            ("", false),
        ] {
            assert_eq!(has_main(text.as_bytes()), expected, "{text}");
        }
    }
}
