//! Checks the edit descriptors in FORMAT.

use super::form::{BAD, CHAR, HOLLERITH, Statement};
use crate::diagnostic::{Diagnostic, rules};
use crate::source::Span;

/// Descriptors that take any count of numbers; what follows them is not checked.
const WITH_NUMBERS: [&str; 12] = [
    "EN", "ES", "EX", "DT", "I", "B", "O", "Z", "F", "E", "D", "G",
];

/// Returns the error in a format that is the value of a constant, if there is one.
pub(crate) fn error_in_format(value: &str, span: Span) -> Option<Diagnostic> {
    Some(of_constant(value)?.at(span))
}

/// An error in a format, with the range of letters from `from` up to but excluding `to`.
struct DescriptorError {
    from: usize,
    to: usize,
    message: String,
    help: Option<&'static str>,
}

impl DescriptorError {
    fn at(self, span: Span) -> Diagnostic {
        let error = Diagnostic::error(&rules::SYNTAX, span, self.message);
        match self.help {
            Some(help) => error.help(help),
            None => error,
        }
    }
}

/// Checks the descriptors of a FORMAT statement between the letters `from` and `to`.
pub(super) fn of_statement(st: &Statement, from: usize, to: usize) -> Option<Diagnostic> {
    let error = Reader::new(st.text.get(from..to)?).all(false)?;
    let span = st.span(from + error.from, from + error.to);
    Some(error.at(span))
}

/// Checks a format that is the value of a constant.
fn of_constant(value: &str) -> Option<DescriptorError> {
    let letters = letters(value);
    let mut reader = Reader::new(&letters);
    if !reader.eat(b'(') {
        let to = letters.len().max(1);
        return Some(reader.error(
            0,
            to,
            "a format must be in parentheses",
            Some("`'(I5, F8.3)'`"),
        ));
    }
    reader.all(true)
}

/// Returns the letters of a format in the form of a [`Statement`]: upper case, without blanks, and
/// with marks for constants. An unterminated constant extends to the end.
fn letters(value: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    // Counts are in bytes.
    let value = crate::encoding::by_bytes(value);
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => {}
            '\'' | '"' => {
                // A doubled quote stands for itself; reading it as two constants is equivalent.
                rest.by_ref().find(|o| *o == c);
                if out.last() != Some(&CHAR) {
                    out.push(CHAR);
                }
            }
            'H' | 'h' => {
                let digits = out.iter().rev().take_while(|b| b.is_ascii_digit()).count();
                let number = out.split_off(out.len() - digits);
                let count = std::str::from_utf8(&number)
                    .ok()
                    .and_then(|n| n.parse().ok());
                match count {
                    Some(n) => {
                        rest.by_ref().take(n).for_each(drop);
                        out.push(HOLLERITH);
                    }
                    None => out.extend(number.into_iter().chain([b'H'])),
                }
            }
            c if c.is_ascii() => out.push(c.to_ascii_uppercase() as u8),
            _ => out.push(BAD),
        }
    }
    out
}

struct Reader<'a> {
    letters: &'a [u8],
    pos: usize,
}

impl<'a> Reader<'a> {
    fn new(letters: &'a [u8]) -> Self {
        Reader { letters, pos: 0 }
    }

    fn peek(&self) -> u8 {
        self.letters.get(self.pos).copied().unwrap_or(0)
    }

    fn eat(&mut self, letter: u8) -> bool {
        let found = self.peek() == letter;
        self.pos += usize::from(found);
        found
    }

    /// Reads a number. Returns whether there was one.
    fn number(&mut self) -> bool {
        let from = self.pos;
        while self.peek().is_ascii_digit() {
            self.pos += 1;
        }
        self.pos > from
    }

    fn word(&mut self, words: &[&str]) -> bool {
        let rest = self.letters.get(self.pos..).unwrap_or(&[]);
        let found = words.iter().find(|w| rest.starts_with(w.as_bytes()));
        self.pos += found.map_or(0, |w| w.len());
        found.is_some()
    }

    fn error(
        &self,
        from: usize,
        to: usize,
        message: impl Into<String>,
        help: Option<&'static str>,
    ) -> DescriptorError {
        DescriptorError {
            from,
            to: to.min(self.letters.len()).max(from),
            message: message.into(),
            help,
        }
    }

    /// Reads all descriptors. `closed` says that the parenthesis which closes the format is part of
    /// the text, and anything may follow it.
    fn all(&mut self, closed: bool) -> Option<DescriptorError> {
        // The beginnings of the open groups.
        let mut open: Vec<usize> = Vec::new();
        // A descriptor must follow `(` or `,`, unless the format is empty.
        let mut wanted = false;
        loop {
            let from = self.pos;
            match self.peek() {
                0 if !closed && open.is_empty() && !wanted => return None,
                0 if wanted && !closed && open.is_empty() => {
                    return Some(self.error(
                        from.saturating_sub(1),
                        from,
                        "an edit descriptor is missing after the comma",
                        None,
                    ));
                }
                0 => {
                    let at = open.last().copied().unwrap_or(0);
                    let help = Some("a parenthesis is not closed");
                    return Some(self.error(at, from, "expected `)`", help));
                }
                b')' if wanted => {
                    let message = "an edit descriptor is missing before the parenthesis";
                    return Some(self.error(from, from + 1, message, None));
                }
                b')' => {
                    self.pos += 1;
                    // The parenthesis that opens the format itself.
                    open.pop()?;
                }
                b',' if wanted || from == 0 || self.letters[from - 1] == b'(' => {
                    let message = "an edit descriptor is missing before the comma";
                    return Some(self.error(from, from + 1, message, None));
                }
                b',' => {
                    self.pos += 1;
                    wanted = true;
                    continue;
                }
                _ => match self.item() {
                    Ok(true) => {
                        open.push(self.pos - 1);
                        wanted = self.peek() == b')';
                        continue;
                    }
                    Ok(false) => {}
                    Err(error) => return Some(error),
                },
            }
            wanted = false;
        }
    }

    /// Reads a descriptor, or the parenthesis that opens a group. Returns true for the latter.
    fn item(&mut self) -> Result<bool, DescriptorError> {
        let from = self.pos;
        let signed = self.eat(b'+') || self.eat(b'-');
        let counted = self.number();
        let zero = counted && self.letters[from..self.pos].iter().all(|c| *c == b'0');
        let unlimited = !signed && !counted && self.eat(b'*');
        let at = self.pos;
        if signed || unlimited {
            return match (self.peek(), unlimited) {
                (b'(', true) => {
                    self.pos += 1;
                    Ok(true)
                }
                (b'P', false) if counted => {
                    self.pos += 1;
                    Ok(false)
                }
                (_, true) => {
                    let message = "`*` in a format repeats a group in parentheses";
                    Err(self.error(from, at, message, None))
                }
                _ => {
                    let message = "only the scale factor P has a sign";
                    Err(self.error(from, at + 1, message, None))
                }
            };
        }
        if zero && !matches!(self.peek(), b'P' | b'H' | 0 | b')' | b',') {
            let message = "nothing can be repeated zero times; only the scale factor P may be 0";
            return Err(self.error(from, at + 1, message, None));
        }
        match self.peek() {
            b'(' => {
                self.pos += 1;
                return Ok(true);
            }
            b'P' => {
                self.pos += 1;
                if !counted {
                    let message = "P needs a scale factor before it";
                    return Err(self.error(from, at + 1, message, Some("write `1P`, or `0P`")));
                }
                return Ok(false);
            }
            // These cannot be repeated.
            CHAR | HOLLERITH | b':' | b'$' if counted => {
                let message = "this descriptor cannot be repeated with a number";
                let help = Some("put it into parentheses: `3('*')`");
                return Err(self.error(from, at + 1, message, help));
            }
            CHAR | HOLLERITH | b':' | b'$' | b'/' | b'X' => {
                self.pos += 1;
                return Ok(false);
            }
            b'T' => {
                self.pos += 1;
                let _ = self.eat(b'L') || self.eat(b'R');
                if !self.number() {
                    let message = "T needs the number of a column, TL and TR need a distance";
                    return Err(self.error(from, self.pos, message, None));
                }
                return Ok(false);
            }
            _ => {}
        }
        // Longer descriptors precede their prefixes.
        const PLAIN: [&str; 17] = [
            "BN", "BZ", "SP", "SS", "SU", "S", "RU", "RD", "RZ", "RN", "RC", "RP", "DC", "DP", "A",
            "L", "H",
        ];
        if self.word(&["DT"]) {
            self.eat(CHAR);
            if self.eat(b'(') {
                while !matches!(self.peek(), 0 | b')') {
                    self.pos += 1;
                }
                self.eat(b')');
            }
            return Ok(false);
        }
        if self.peek() != b'H' && self.word(&PLAIN) {
            self.number();
            return Ok(false);
        }
        if self.word(&WITH_NUMBERS) {
            self.widths(from, at)?;
            return Ok(false);
        }
        Err(self.unknown(from, at))
    }

    /// Reads what follows a numeric descriptor, whose letters begin at `at`: the width, the digits,
    /// and those of the exponent. Its count begins at `from`.
    fn widths(&mut self, from: usize, at: usize) -> Result<(), DescriptorError> {
        let word = std::str::from_utf8(&self.letters[at..self.pos])
            .unwrap_or("")
            .to_owned();
        let general = word == "G";
        let whole = matches!(word.as_str(), "I" | "B" | "O" | "Z");
        let zero = self.peek() == b'0';
        let digits = self.pos;
        let wide = self.number();
        let nothing = zero && self.letters[digits..self.pos].iter().all(|c| *c == b'0');
        if !wide && (whole || matches!(word.as_str(), "F" | "EN" | "ES")) {
            let message = format!("{word} needs a width");
            return Err(self.error(from, self.pos, message, Some("for instance `I5` or `F8.3`")));
        }
        if !wide && self.peek() == b'.' && word != "EX" {
            let message = format!("{word} needs a width in front of the point");
            return Err(self.error(from, self.pos + 1, message, None));
        }
        let pointed = self.eat(b'.');
        if pointed && !self.number() {
            let message = "the number of digits is missing after the point";
            return Err(self.error(from, self.pos, message, None));
        }
        // Exponents: `E12.4E3`. `I5E12.4` is two descriptors.
        if pointed && !nothing && matches!(word.as_str(), "E" | "EN" | "ES") || general && pointed {
            let mark = self.pos;
            if self.eat(b'E') {
                let none = !self.number();
                if self.peek() == b'.' && !none {
                    // This is the next descriptor.
                    self.pos = mark;
                } else if none {
                    let message = "the exponent needs a number of digits";
                    return Err(self.error(
                        mark,
                        self.pos,
                        message,
                        Some("for instance `E12.4E3`"),
                    ));
                }
            }
        }
        Ok(())
    }

    fn unknown(&self, from: usize, at: usize) -> DescriptorError {
        let c = self.peek();
        let to = at + 1;
        let (message, help) = match c {
            0 | b')' | b',' => (
                "a number without an edit descriptor".to_owned(),
                Some("write what it repeats, for instance `5X`"),
            ),
            b'<' => (
                "gfortran has no numbers between `<` and `>` in formats".to_owned(),
                Some("write the format into a CHARACTER variable and give that as format"),
            ),
            b'\\' => (
                "`\\` is not an edit descriptor".to_owned(),
                Some("what keeps the line open is `$` here"),
            ),
            b'Q' => (
                "gfortran has no edit descriptor Q".to_owned(),
                Some("SIZE= gives the number of characters in READ with ADVANCE='NO'"),
            ),
            BAD => ("expected an edit descriptor".to_owned(), None),
            b'A'..=b'Z' => (
                format!("there is no edit descriptor {}", c as char),
                Some("those that are: I, F, E, D, G, L, A, X, T, P, B, O, Z, H, /, : and the like"),
            ),
            c => (format!("`{}` is not an edit descriptor", c as char), None),
        };
        self.error(from, to, message, help)
    }
}

#[cfg(test)]
mod tests {
    use super::of_constant;

    #[test]
    fn formats_that_gfortran_takes() {
        for format in [
            "I5",
            "I5.2",
            "B8.2",
            "BN",
            "Z8.8",
            "F8.3",
            "F0.2",
            "E12.4E3",
            "E12.4D3",
            "G0",
            "EN12.3",
            "L",
            "L4",
            "A",
            "A5",
            "X",
            "3X",
            "T5",
            "TL5",
            "TR3",
            "S",
            "SP",
            "/",
            "2/",
            "//",
            ":",
            "::",
            "$",
            "1P",
            "-1P",
            "+2P",
            "1PE12.4",
            "1P,E12.4",
            "1P3E12.4",
            "1P/",
            "RU",
            "RN",
            "DC",
            "DT",
            "DT'a'",
            "DT'a'(1)",
            "3HABC",
            "3HA)(",
            "'A'",
            "2(I5)",
            "(I5)",
            "I5 I6",
            "1X I5",
            "I5/I6",
            "'A' 'B' I5",
            "'A''(B'",
            "2I5I3",
            "I5E12.3",
            "*(I5)",
            "A$",
            "2((I5),3(F8.2))",
            "(/,/)",
            "1XX",
            "3XA5",
            "BNI5",
            "SPI5",
            "E12.4I5",
            "3HABCI5",
            "''",
            "",
            "i5, e10.3",
            "E12.4E12.4",
        ] {
            let format = format!("({format})");
            let error = of_constant(&format).map(|f| f.message);
            assert_eq!(error, None, "{format}");
        }
    }

    #[test]
    fn formats_that_it_does_not_take() {
        for (format, from, to) in [
            ("Q9", 1, 2),
            ("I5, Q9", 4, 5),
            ("I5,,I5", 4, 5),
            (",I5", 1, 2),
            ("I5,", 4, 5),
            ("(I5,)", 5, 6),
            ("()", 2, 3),
            ("3:", 1, 3),
            ("5$", 1, 3),
            ("3'A'", 1, 3),
            ("P", 1, 2),
            ("T", 1, 2),
            ("TL", 1, 3),
            ("X3", 2, 4),
            ("5", 1, 3),
            ("-2I5", 1, 4),
            ("*I5", 1, 2),
            ("I5;I6", 3, 4),
            ("F8.", 1, 4),
            ("F8.3.2", 5, 6),
            ("<N>I5", 1, 2),
            ("N", 1, 2),
        ] {
            let format = format!("({format})");
            let error = of_constant(&format).map(|f| (f.from, f.to));
            assert_eq!(error, Some((from, to)), "{format}");
        }
        assert!(of_constant("(5H").is_some());
        assert!(of_constant("(I5").is_some());
        assert!(of_constant("I5)").is_some());
        assert!(of_constant("").is_some());
    }
}
