//! Source text and positions in it.

use std::sync::{Arc, OnceLock};

/// A source file, as an index into [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A half-open range of bytes in one source file.
///
/// [`Span::NONE`] marks code without a source position. Passes that generate code give it the span
/// of the code it is derived from, so that messages and debuggers point there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Default for Span {
    fn default() -> Self {
        Span::NONE
    }
}

impl Span {
    /// The span of code that is not in any source file.
    pub const NONE: Span = Span {
        file: FileId(u32::MAX),
        start: 0,
        end: 0,
    };

    /// Returns the span of `file` from byte `start` up to, but not including, byte `end`.
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Span { file, start, end }
    }

    /// Whether this is [`Span::NONE`].
    pub fn is_none(self) -> bool {
        self.file == Span::NONE.file
    }

    /// Returns this span, or `other` if this is [`Span::NONE`].
    #[must_use]
    pub fn or(self, other: Span) -> Span {
        if self.is_none() { other } else { self }
    }

    /// Returns the smallest span that contains both; `self` if they are in different files.
    ///
    /// ```
    /// # use farfel_ir::{FileId, Span};
    /// let f = FileId(0);
    /// assert_eq!(Span::new(f, 3, 5).to(Span::new(f, 9, 10)), Span::new(f, 3, 10));
    /// ```
    pub fn to(self, other: Span) -> Span {
        if self.is_none() {
            return other;
        }
        if self.file != other.file {
            return self;
        }
        Span {
            file: self.file,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A source file: its name as shown to people, and its text.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The path as the user would write it, relative to the project where possible.
    pub name: String,
    /// The text, exactly as read.
    pub text: Arc<str>,
    line_starts: Arc<OnceLock<Vec<u32>>>,
}

/// All source files of a compilation, including INCLUDE files.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
}

/// A position for people: line and column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters (not bytes), from 1.
    pub column: usize,
}

impl Sources {
    /// Returns an empty set of files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file and returns its handle.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        let text: Arc<str> = text.into();
        self.files.push(SourceFile {
            name: name.into(),
            text,
            line_starts: Arc::default(),
        });
        FileId(self.files.len() as u32 - 1)
    }

    /// Returns the file of a handle; `None` for the file of [`Span::NONE`].
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// All files, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files
            .iter()
            .enumerate()
            .map(|(i, f)| (FileId(i as u32), f))
    }

    /// Returns the text of a span; empty for [`Span::NONE`].
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file)
            .and_then(|f| f.text.get(span.start as usize..span.end as usize))
            .unwrap_or("")
    }
}

impl SourceFile {
    /// Returns the byte offsets at which lines begin, computed on first use.
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let bytes = self.text.bytes().enumerate();
            let ends = bytes.filter(|(_, b)| *b == b'\n');
            std::iter::once(0)
                .chain(ends.map(|(i, _)| i as u32 + 1))
                .collect()
        })
    }

    /// Returns the byte offset at which a line begins, the first line being 1; `None` beyond the
    /// end.
    ///
    /// ```
    /// # use farfel_ir::Sources;
    /// let mut sources = Sources::new();
    /// let id = sources.add("a.ff", "      X = 1\n      Y = 2\n");
    /// assert_eq!(sources.get(id).unwrap().line_start(2), Some(12));
    /// ```
    pub fn line_start(&self, line: usize) -> Option<u32> {
        self.line_starts().get(line.checked_sub(1)?).copied()
    }

    /// Returns the line and column of a byte offset.
    ///
    /// ```
    /// # use farfel_ir::Sources;
    /// let mut sources = Sources::new();
    /// let id = sources.add("a.ff", "      X = 1\n      Y = 2\n");
    /// let place = sources.get(id).unwrap().line_column(18);
    /// assert_eq!((place.line, place.column), (2, 7));
    /// ```
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let starts = self.line_starts();
        let line = starts.partition_point(|s| *s <= offset).max(1);
        let start = starts[line - 1] as usize;
        let end = (offset as usize).min(self.text.len());
        let column = self
            .text
            .get(start..end)
            .map_or(end - start, |t| t.chars().count())
            + 1;
        LineColumn { line, column }
    }
}
