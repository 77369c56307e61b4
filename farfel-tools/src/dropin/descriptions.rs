//! Descriptions of procedures without source, for the option `-ext`, in Tapenade's format.
//!
//! ```text
//! subroutine exchange:
//!   external:
//!   shape: (param 1, param 2, common /c/[0, 8[)
//!   ReadNotWritten:     (0, 1, 0)
//!   NotReadThenWritten: (0, 0, 0)
//!   ReadThenWritten:    (1, 0, 0)
//!   deps: (id, 0, 0, 0, id)
//! ```
//!
//! Each list has one entry for each part of `shape`. The contents of `type` are not needed here,
//! nor descriptions of COMMON. `deps` has a row for each part, or `id` for a part that is left
//! unchanged: if all are `id`, no derivatives propagate through the procedure. Colons, blanks and
//! line breaks are ignored.

use farfel_lang::ir::{ArgumentUsage, Name};
use farfel_lang::{FileId, Span};
use std::collections::HashMap;

/// The description of one procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Description {
    /// How it uses its arguments.
    pub usage: Vec<ArgumentUsage>,
    /// Whether no derivatives propagate through it.
    pub constant: bool,
}

/// Why a file of descriptions cannot be parsed, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DescriptionError {
    pub at: Span,
    pub message: String,
}

/// Parses all descriptions in a text, by the names of the procedures. Of two for one procedure, the
/// last one counts, as in Tapenade.
pub(super) fn read(
    file: FileId,
    text: &str,
) -> Result<HashMap<Name, Description>, DescriptionError> {
    let mut reader = Reader {
        file,
        text,
        at: 0,
        word: 0..0,
    };
    let mut found = HashMap::new();
    let mut open: Option<(Name, DescriptionFields)> = None;
    while let Some(word) = reader.word() {
        match word.to_ascii_lowercase().as_str() {
            "subroutine" | "function" => {
                let Some(name) = reader.word() else {
                    return Err(reader.error("the name of a procedure is missing"));
                };
                let new = (
                    Name::from(name.to_ascii_uppercase()),
                    DescriptionFields::default(),
                );
                close(open.replace(new), &mut found);
            }
            // Constants, types and COMMON blocks have other kinds of description.
            "constant" | "type" if reader.peek() != Some('(') => {
                reader.word();
                close(open.take(), &mut found);
            }
            key => {
                let begin = reader.word.clone();
                let list = reader.list()?;
                let Some((_, fields)) = &mut open else {
                    reader.word = begin;
                    return Err(reader.error("no `subroutine` or `function` comes before this"));
                };
                let Some(list) = list else { continue };
                if !fields.take(key, &list) {
                    reader.word = begin;
                    return Err(reader.error("zeros and ones are expected"));
                }
            }
        }
    }
    close(open, &mut found);
    Ok(found)
}

fn close(open: Option<(Name, DescriptionFields)>, found: &mut HashMap<Name, Description>) {
    if let Some((name, fields)) = open
        && let Some(description) = fields.description()
    {
        found.insert(name, description);
    }
}

/// The lists of one description.
#[derive(Default)]
struct DescriptionFields {
    shape: Vec<String>,
    reads: Vec<bool>,
    writes: Vec<bool>,
    read_and_written: Vec<bool>,
    /// Whether reads or writes are specified.
    has_usage: bool,
    /// Whether `deps` has rows other than `id`.
    dependent: bool,
    deps: bool,
}

impl DescriptionFields {
    /// Stores a list. Returns false if it does not consist of zeros and ones.
    fn take(&mut self, key: &str, list: &[&str]) -> bool {
        let into = match key {
            "shape" => {
                // Positions in COMMON are half-open intervals: `common /c/[0, 8[` is one part.
                let parts = list.iter().filter(|s| !s.ends_with('['));
                self.shape = parts.map(|s| s.to_ascii_lowercase()).collect();
                return true;
            }
            "deps" => {
                self.deps = true;
                // Line breaks separate like commas.
                let mut words = list.iter().flat_map(|l| l.split_whitespace());
                let mut row: Vec<&str> = Vec::new();
                let width = self.shape.len().max(1);
                let mut rows = 0;
                let mut dependent = false;
                words.all(|w| match w {
                    "id" => {
                        rows += 1;
                        true
                    }
                    "0" | "1" => {
                        row.push(w);
                        if row.len() == width {
                            // If a part depends only on itself, its derivative is unchanged.
                            let own = |(i, x): (usize, &&str)| *x == "0" || i == rows;
                            dependent |= !row.iter().enumerate().all(own);
                            rows += 1;
                            row.clear();
                        }
                        true
                    }
                    _ => false,
                });
                self.dependent = dependent || !row.is_empty();
                return true;
            }
            "readnotwritten" => &mut self.reads,
            "notreadthenwritten" => &mut self.writes,
            "readthenwritten" => &mut self.read_and_written,
            _ => return true,
        };
        let bits = list.iter().map(|w| match *w {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        });
        match bits.collect() {
            Some(bits) => {
                *into = bits;
                self.has_usage = true;
                true
            }
            None => false,
        }
    }

    fn description(self) -> Option<Description> {
        if !self.has_usage {
            return None;
        }
        let at = |list: &[bool], i: usize| list.get(i).copied().unwrap_or(false);
        let parts = self.shape.iter().enumerate();
        let arguments = parts.filter(|(_, part)| part.starts_with("param"));
        let usage = arguments.map(|(i, _)| {
            let both = at(&self.read_and_written, i);
            ArgumentUsage {
                reads: both || at(&self.reads, i),
                writes: both || at(&self.writes, i),
            }
        });
        Some(Description {
            usage: usage.collect(),
            constant: self.deps && !self.dependent,
        })
    }
}

struct Reader<'t> {
    file: FileId,
    text: &'t str,
    at: usize,
    /// The last word.
    word: std::ops::Range<usize>,
}

impl<'t> Reader<'t> {
    fn error(&self, message: &str) -> DescriptionError {
        let (start, end) = (self.word.start as u32, self.word.end as u32);
        DescriptionError {
            at: Span::new(self.file, start, end),
            message: message.to_owned(),
        }
    }

    /// Returns the next character after blanks and colons.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        let skipped = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ':');
        self.at += rest.len() - skipped.len();
        skipped.chars().next()
    }

    fn word(&mut self) -> Option<&'t str> {
        let first = self.peek()?;
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_whitespace() || matches!(c, ':' | '(' | ')' | ',');
        let length = match rest.find(ends) {
            // A single character.
            Some(0) => first.len_utf8(),
            Some(length) => length,
            None => rest.len(),
        };
        self.word = self.at..self.at + length;
        self.at += length;
        Some(&rest[..length])
    }

    /// Returns the items of a list in parentheses, if there is one.
    fn list(&mut self) -> Result<Option<Vec<&'t str>>, DescriptionError> {
        if self.peek() != Some('(') {
            return Ok(None);
        }
        let begin = self.at;
        let mut depth = 0usize;
        let mut parts = Vec::new();
        let mut from = begin + 1;
        for (i, c) in self.text[begin..]
            .char_indices()
            .map(|(i, c)| (begin + i, c))
        {
            match c {
                '(' => depth += 1,
                ')' if depth == 1 => {
                    parts.push(self.text[from..i].trim());
                    self.at = i + 1;
                    if parts == [""] {
                        parts.clear();
                    }
                    return Ok(Some(parts));
                }
                ')' => depth -= 1,
                ',' if depth == 1 => {
                    parts.push(self.text[from..i].trim());
                    from = i + 1;
                }
                _ => {}
            }
        }
        self.word = begin..begin + 1;
        Err(self.error("this parenthesis is not closed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::Sources;

    fn found(text: &str) -> Result<HashMap<Name, Description>, DescriptionError> {
        let mut sources = Sources::new();
        let file = sources.add("lib", text);
        read(file, text)
    }

    fn usage(description: &Description) -> String {
        let letter = |u: &ArgumentUsage| match (u.reads, u.writes) {
            (true, true) => 'b',
            (true, false) => 'r',
            (false, true) => 'w',
            (false, false) => '-',
        };
        description.usage.iter().map(letter).collect()
    }

    #[test]
    fn lists_follow_the_shape() {
        let text = "subroutine exchange:\n external:\n shape: (param 1, common /c/[0,*[, param 2,\n param 3)\n\
            type: (arrayType(float(), dimColons(dimColon(none(), none()))), none(), none(), none())\n\
            NotReadNotWritten: (0,0,0,0)\n ReadNotWritten: (0,1,1,0)\n NotReadThenWritten (0,0,0,1)\n ReadThenWritten: (1,0,0,0)\n\n\
            function IlnBlnk:\n external\n shape(param 1, result)\n ReadNotWritten: (1, 0)\n NotReadThenWritten: (0, 1)\n";
        let found = found(text).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(usage(&found["EXCHANGE"]), "brw");
        assert_eq!(usage(&found["ILNBLNK"]), "r");
        assert!(!found["EXCHANGE"].constant);
    }

    #[test]
    fn identities_have_no_derivatives() {
        let with = |deps: &str| {
            let text = format!(
                "subroutine s:\nexternal:\nshape: (param 1, param 2)\nReadNotWritten: (1, 0)\nReadThenWritten: (0, 1)\ndeps: {deps}\n"
            );
            found(&text).unwrap()["S"].constant
        };
        assert!(with("(id, id)"));
        assert!(with("(id,\n 0, 1)"));
        assert!(with("(id,\n 0, 0)"));
        assert!(!with("(id,\n 1, 0)"));
        assert!(!with("(id,\n 1 0)"));
    }

    #[test]
    fn the_last_description_counts_and_one_without_lists_is_none() {
        let text = "subroutine a:\nexternal:\nshape:(param 1)\nReadNotWritten:(1)\n\
            subroutine a:\nexternal:\nshape:(param 1)\nNotReadThenWritten:(1)\nsubroutine b:\nexternal:\n";
        let found = found(text).unwrap();
        assert_eq!(usage(&found["A"]), "w");
        assert!(!found.contains_key("B"));
    }

    #[test]
    fn errors_have_places() {
        let error = |text: &str| {
            let f = found(text).unwrap_err();
            let (start, end) = (f.at.start as usize, f.at.end as usize);
            format!("{}: {}", &text[start..end], f.message)
        };
        let says = error("subroutine a:\nshape: (param 1\n");
        assert_eq!(says, "(: this parenthesis is not closed");
        let says = error("shape: (param 1)\n");
        assert_eq!(
            says,
            "shape: no `subroutine` or `function` comes before this"
        );
        let says = error("subroutine a:\nshape: (param 1)\nReadNotWritten: (yes)\n");
        assert_eq!(says, "ReadNotWritten: zeros and ones are expected");
    }
}
