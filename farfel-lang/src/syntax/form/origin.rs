//! The origins of the lines of a preprocessed text.
//!
//! Preprocessors emit `# 12 "file"` before the text from line 12 of a file. From this, every place
//! in the text is mapped to a place in one of the user's files as far as possible: to the same
//! line, and to the same column unless the preprocessor has changed the line.

use super::statement::Statement;
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Sources, Span};

/// The lines of a text with their origins.
#[derive(Debug)]
pub(crate) struct Origins {
    /// The text.
    file: FileId,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    /// The offset of its first byte in the text.
    start: u32,
    /// The file, and the first and last byte of the line in it.
    origin: (FileId, u32, u32),
}

/// Parses `# 12 "file"` or `#line 12 "file"` into the line number and the file name.
fn marker(line: &str) -> Option<(u32, String)> {
    let rest = line.strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest.get(..digits)?.parse().ok()?;
    let quoted = rest.get(digits..)?.trim_start().strip_prefix('"')?;
    let mut name = String::new();
    let mut letters = quoted.chars();
    loop {
        match letters.next()? {
            '"' => return Some((number, name)),
            '\\' => name.push(letters.next()?),
            c => name.push(c),
        }
    }
}

impl Origins {
    /// Reads the markers of a text. Returns `None` if there are none, or none names a file of
    /// `sources`.
    pub fn read(sources: &Sources, file: FileId, text: &str) -> Option<Origins> {
        if !text.starts_with('#') && !text.contains("\n#") {
            return None;
        }
        let mut known = false;
        let mut lines = Vec::new();
        // The file from which the next line comes, and its line number there.
        let mut next: Option<(FileId, usize)> = None;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if let Some((number, name)) = marker(line) {
                let id = sources.iter().find(|(id, f)| f.name == name && *id != file);
                next = id.map(|(id, _)| (id, number as usize));
                known |= next.is_some();
            }
            let own = (file, start, start + line.len() as u32);
            let mut origin = own;
            if !line.starts_with('#')
                && let Some((id, number)) = &mut next
            {
                if let Some(f) = sources.get(*id)
                    && let Some(first) = f.line_start(*number)
                {
                    let end = f.line_start(*number + 1).unwrap_or(f.text.len() as u32);
                    let there = f.text.get(first as usize..end as usize).unwrap_or("");
                    origin = (*id, first, first + there.trim_end().len() as u32);
                }
                *number += 1;
            }
            lines.push(Line { start, origin });
            start += line.len() as u32;
        }
        known.then_some(Origins { file, lines })
    }

    fn line(&self, offset: u32) -> Option<&Line> {
        let at = self.lines.partition_point(|l| l.start <= offset);
        self.lines.get(at.checked_sub(1)?)
    }

    fn place(&self, offset: u32) -> (FileId, u32) {
        match self.line(offset) {
            Some(line) => {
                let (file, first, last) = line.origin;
                (file, (first + (offset - line.start)).min(last.max(first)))
            }
            None => (self.file, offset),
        }
    }

    /// Maps a span to the user's file.
    pub fn span(&self, span: Span) -> Span {
        if span.file != self.file {
            return span;
        }
        let (file, start) = self.place(span.start);
        let (last, end) = self.place(span.end.max(span.start + 1) - 1);
        let end = if last == file {
            end + u32::from(span.end > span.start)
        } else {
            start
        };
        Span::new(file, start, end.max(start))
    }

    /// Maps the spans of a diagnostic to the user's files.
    pub fn diagnostic(&self, diagnostic: &mut Diagnostic) {
        diagnostic.span = self.span(diagnostic.span);
        for (span, _) in &mut diagnostic.related {
            *span = self.span(*span);
        }
    }

    /// Maps the spans of a statement to the user's files. A statement that extends over several
    /// files is assigned to the first.
    pub fn statement(&self, st: &mut Statement) {
        for comment in &mut st.comments {
            comment.span = self.span(comment.span);
        }
        if let Some((_, span)) = &mut st.label {
            *span = self.span(*span);
        }
        if let Some(span) = &mut st.cut_off {
            *span = self.span(*span);
        }
        if let Some(error) = &mut st.error {
            self.diagnostic(error);
        }
        let first = st.label.map(|(_, s)| s.file);
        let text = self.file;
        st.relocate(|offset, file| {
            let (origin, place) = self.place(offset);
            let here = *file.get_or_insert(first.unwrap_or(origin));
            if origin == here || here == text {
                Some(place)
            } else {
                None
            }
        });
    }
}
