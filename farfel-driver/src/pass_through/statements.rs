//! Splits a text in any Fortran into statements, as precisely as their first words require.

use farfel_lang::syntax::{FixedFormLayout, Form};

/// A statement in lower case with single blanks, without label, comments and the contents of quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub text: String,
    /// The line where it begins, as compilers print it: `src/grid.f90:12:`.
    pub place: String,
}

/// Returns all statements. Line markers of a preprocessor determine the places.
pub(crate) fn statements(text: &str, form: Form, layout: FixedFormLayout) -> Vec<Statement> {
    let mut reader = Reader::default();
    let (mut file, mut number) = (String::new(), 0usize);
    for line in text.lines() {
        number += 1;
        if line.starts_with('#') {
            if let Some((next, name)) = marker(line) {
                (file, number) = (name, next.saturating_sub(1));
            }
            continue;
        }
        let place = || format!("{file}:{number}:");
        match form {
            Form::Free => reader.free(line, &place),
            Form::Fixed => reader.fixed(line, layout, &place),
        }
    }
    reader.end();
    reader.done
}

/// Parses `# 12 "file"` into the line and the file.
pub(crate) fn marker(line: &str) -> Option<(usize, String)> {
    let (number, rest) = line.strip_prefix("# ")?.split_once(' ')?;
    let mut letters = rest.strip_prefix('"')?.chars();
    let mut name = String::new();
    loop {
        match letters.next()? {
            '"' => return Some((number.parse().ok()?, name)),
            '\\' => name.push(letters.next()?),
            c => name.push(c),
        }
    }
}

#[derive(Default)]
struct Reader {
    done: Vec<Statement>,
    text: String,
    place: String,
    /// The open quote.
    quote: Option<char>,
    /// Whether the statement continues on the next line, in free form.
    goes_on: bool,
}

impl Reader {
    /// Ends the current statement.
    fn end(&mut self) {
        let words = self.text.split_whitespace();
        let text = words.collect::<Vec<_>>().join(" ");
        let text = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        if !text.is_empty() {
            self.done.push(Statement {
                text: text.to_owned(),
                place: std::mem::take(&mut self.place),
            });
        }
        self.text.clear();
        self.quote = None;
    }

    fn free(&mut self, line: &str, place: &dyn Fn() -> String) {
        let mut rest = line.trim_start();
        if rest.is_empty() || rest.starts_with('!') {
            return;
        }
        if self.goes_on {
            rest = rest.strip_prefix('&').unwrap_or(rest);
        } else {
            self.end();
        }
        self.letters(rest, place);
        self.goes_on = self.text.ends_with('&');
        if self.goes_on {
            self.text.pop();
        }
    }

    fn fixed(&mut self, line: &str, layout: FixedFormLayout, place: &dyn Fn() -> String) {
        let comment = match line.chars().next() {
            None | Some('C' | 'c' | '*' | '!') => true,
            Some('D' | 'd') => !layout.debug_lines,
            Some(_) => false,
        };
        if comment || line.trim().is_empty() {
            return;
        }
        let columns = line.chars().take(layout.line_length);
        let (label, rest): (String, String) = match line.find('\t').filter(|at| *at < 6) {
            Some(at) => (line[..at].to_owned(), line[at + 1..].to_owned()),
            None => (columns.clone().take(5).collect(), columns.skip(5).collect()),
        };
        let with_tab = label.len() < 5 && line.contains('\t');
        let first = rest.chars().next();
        let goes_on = match with_tab {
            true => first.is_some_and(|c| ('1'..='9').contains(&c)),
            false => first.is_some_and(|c| c != ' ' && c != '0'),
        };
        if label.contains('!') {
            return;
        }
        let skipped = usize::from(goes_on || !with_tab);
        let rest: String = rest.chars().skip(skipped).collect();
        if !goes_on {
            self.end();
        }
        self.letters(&rest, place);
    }

    /// Adds the characters of a line up to a comment.
    fn letters(&mut self, line: &str, place: &dyn Fn() -> String) {
        let mut letters = line.chars().peekable();
        while let Some(c) = letters.next() {
            match self.quote {
                // A doubled quote closes and reopens the text, which makes no difference.
                Some(quote) if c == quote => self.quote = None,
                Some(_) if c == '&' && letters.clone().all(char::is_whitespace) => {
                    self.text.push('&');
                    return;
                }
                Some(_) => continue,
                None if c == '!' => break,
                None if c == ';' => {
                    self.end();
                    continue;
                }
                None => {
                    if self.text.is_empty() && self.place.is_empty() {
                        self.place = place();
                    }
                    if c == '\'' || c == '"' {
                        self.quote = Some(c);
                    }
                }
            }
            self.text.push(c.to_ascii_lowercase());
        }
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        if !self.text.ends_with('&') {
            self.text.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, form: Form) -> Vec<String> {
        let found = statements(text, form, FixedFormLayout::default()).into_iter();
        found.map(|s| format!("{} {}", s.place, s.text)).collect()
    }

    #[test]
    fn free_form() {
        let text = "# 1 \"src/a.f90\"\n\
            Module A ! 'not open\n\
            \n\
            print *, 'use b; &\n\
            ! no comment in between\n\
            & module c' ; USE &\n\
            # 9 \"a b.inc\"\n\
               D\n\
            10 x = \"it's ! & here\"; call y&\n\
              &z(1)\n";
        let expected = [
            "src/a.f90:1: module a",
            "src/a.f90:3: print *, ''",
            "src/a.f90:5: use d",
            "a b.inc:10: x = \"\"",
            "a b.inc:10: call yz(1)",
        ];
        assert_eq!(texts(text, Form::Free), expected);
    }

    #[test]
    fn fixed_form() {
        let text = "# 1 \"a.f\"\n\
            C     USE X\n      MODULE\n     1 A\n*\n\
            \tUSE B ! C\n\t1, ONLY: D\n   10 PRINT *, 'USE C'; USE E\n!\nd     use f\n     & , only: g";
        let expected = [
            "a.f:2: module a",
            "a.f:5: use b , only: d",
            "a.f:7: print *, ''",
            "a.f:7: use e , only: g",
        ];
        assert_eq!(texts(text, Form::Fixed), expected);
    }
}
