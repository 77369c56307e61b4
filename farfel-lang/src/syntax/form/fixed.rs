//! Determines which lines form a statement in fixed form.

use super::statement::{HOLLERITH, Statement};
use super::{LayoutError, PhysicalLine, ScanMode, ScanStop, StatementReader};
use crate::diagnostic::{Diagnostic, rules};

impl StatementReader {
    pub(super) fn next_fixed(&mut self, st: &mut Statement) -> bool {
        self.begin();
        let stop = match self.rest.take() {
            Some(column) => {
                st.column = column as u32;
                self.scan(st, self.pos, column)
            }
            None => loop {
                match self.fixed_line(self.pos) {
                    PhysicalLine::End => return false,
                    PhysicalLine::Blank => {
                        self.apart = true;
                        self.pos = self.next_line(self.pos);
                    }
                    PhysicalLine::Comment { text } => {
                        self.comment(&mut st.comments, text);
                        self.pos = self.next_line(text);
                    }
                    PhysicalLine::Initial {
                        label,
                        text,
                        column,
                        error,
                    } => {
                        self.set_label(st, label);
                        self.layout_error(st, error, text);
                        st.column = column as u32;
                        if matches!(error, Some(LayoutError::Preprocessor)) {
                            self.preprocessor = true;
                            self.pos = self.next_line(text);
                            return true;
                        }
                        break self.scan(st, text, column);
                    }
                    PhysicalLine::Continuation { text, column } => {
                        self.error(
                            st,
                            Diagnostic::error(
                                &rules::SYNTAX,
                                self.character_before(text),
                                "there is no statement that this line could continue",
                            )
                            .label("continuation mark in column 6")
                            .help("a statement begins in column 7 or later"),
                        );
                        break self.scan(st, text, column);
                    }
                }
            },
        };
        let mut stop = stop;
        loop {
            let column = match stop {
                ScanStop::Semicolon(column) => {
                    self.rest = Some(column);
                    break;
                }
                ScanStop::Line(column) => column,
                ScanStop::Ampersand => self.last_column(),
            };
            let Some((text, begin)) = self.fixed_continuation(st) else {
                break;
            };
            // A card has 72 columns, and the blanks up to the last column belong to a constant.
            let pad = (self.last_column() + 1).saturating_sub(column);
            match &mut self.mode {
                ScanMode::Code => {}
                ScanMode::Quote(..) => self.value.extend(std::iter::repeat_n(b' ', pad)),
                ScanMode::Hollerith(left, start) => {
                    let pad = pad.min(*left);
                    *left -= pad;
                    let (left, start) = (*left, *start);
                    self.value.extend(std::iter::repeat_n(b' ', pad));
                    if left == 0 {
                        self.finish_string(st, HOLLERITH, start, self.pos.saturating_sub(1));
                    }
                }
            }
            stop = self.scan(st, text, begin);
        }
        self.finish(st);
        true
    }

    /// Returns the text of the next continuation line, if there is one. Skips the comments before
    /// it.
    fn fixed_continuation(&mut self, st: &mut Statement) -> Option<(usize, usize)> {
        let mut at = self.pos;
        let (mut blank, mut commented) = (false, false);
        let found = loop {
            match self.fixed_line(at) {
                PhysicalLine::Blank => blank = true,
                PhysicalLine::Comment { .. } => commented = true,
                PhysicalLine::Continuation { text, column } => break (text, column),
                PhysicalLine::End | PhysicalLine::Initial { .. } => return None,
            }
            at = self.next_line(at);
        };
        if blank || commented {
            // Only now is it known that these comments belong to the statement.
            let mut at = self.pos;
            while at < found.0 {
                if let PhysicalLine::Comment { text } = self.fixed_line(at) {
                    self.comment(&mut st.comments, text);
                }
                at = self.next_line(at);
            }
        }
        Some(found)
    }

    /// Classifies the line that begins at `pos`.
    fn fixed_line(&self, pos: usize) -> PhysicalLine {
        if pos >= self.text.len() {
            return PhysicalLine::End;
        }
        let mut at = pos;
        while self.byte(at) == 0x0c {
            at += 1;
        }
        let mut first = 0;
        if self.verbatim && self.goes_on(pos) {
            return PhysicalLine::Comment { text: pos + 1 };
        }
        match self.byte(at) {
            b'C' | b'c' | b'*' | b'!' => return PhysicalLine::Comment { text: at + 1 },
            b'#' => return self.hash(at),
            b'D' | b'd' if self.is_debug_line(at) => {
                if !self.columns.debug_lines {
                    return PhysicalLine::Comment { text: at + 1 };
                }
                first = 1;
            }
            _ => {}
        }
        at += first;
        let mut column = 1 + first;
        let mut label: Option<(u64, usize, usize)> = None;
        let (text, begin) = loop {
            let c = self.byte(at);
            match c {
                b'\n' => {
                    return match label {
                        None => PhysicalLine::Blank,
                        label => PhysicalLine::Initial {
                            label,
                            text: at,
                            column,
                            error: None,
                        },
                    };
                }
                b'\t' => {
                    // A tab moves to column 7, or to column 6 if a digit follows.
                    if matches!(self.byte(at + 1), b'1'..=b'9') && label.is_none() {
                        return PhysicalLine::Continuation {
                            text: at + 2,
                            column: 7,
                        };
                    }
                    break (at + 1, 7);
                }
                _ if column == 6 => {
                    if matches!(c, b' ' | b'0' | b'\r' | 0x0c) {
                        break (at + 1, 7);
                    }
                    if label.is_some() {
                        return PhysicalLine::Initial {
                            label,
                            text: at,
                            column,
                            error: Some(LayoutError::LabelledContinuation),
                        };
                    }
                    let mut end = at + 1;
                    while (0x80..0xc0).contains(&self.byte(end)) {
                        end += 1;
                    }
                    return PhysicalLine::Continuation {
                        text: end,
                        column: 7,
                    };
                }
                b' ' | b'\r' | 0x0b | 0x0c | 0x1a => {}
                b'0'..=b'9' => {
                    let digit = u64::from(c - b'0');
                    label = Some(match label {
                        None => (digit, at, at + 1),
                        Some((n, start, _)) => (n * 10 + digit, start, at + 1),
                    });
                }
                b'!' if label.is_none() => return PhysicalLine::Comment { text: at + 1 },
                _ => {
                    return PhysicalLine::Initial {
                        label,
                        text: at,
                        column,
                        error: Some(LayoutError::LabelField),
                    };
                }
            }
            at += 1;
            column += 1;
        };
        let mut first = text;
        while matches!(self.byte(first), b' ' | b'\t' | b'\r' | 0x0b | 0x0c | 0x1a) {
            first += 1;
        }
        match self.byte(first) {
            b'\n' if label.is_none() => PhysicalLine::Blank,
            b'!' if label.is_none() => PhysicalLine::Comment { text: first + 1 },
            _ => PhysicalLine::Initial {
                label,
                text: first,
                column: begin + (first - text),
                error: None,
            },
        }
    }

    /// Classifies a line with `#` in column 1. `# 12 "file"`, which preprocessors leave, does not
    /// matter here, but a line meant for a preprocessor must not be ignored.
    pub(super) fn hash(&self, at: usize) -> PhysicalLine {
        if self.verbatim {
            return PhysicalLine::Comment { text: at + 1 };
        }
        let rest = self.text.get(at + 1..self.next_line(at)).unwrap_or("");
        let rest = rest.trim_start();
        if self.preprocessor
            || rest.is_empty()
            || rest.starts_with("line")
            || rest.starts_with(|c: char| c.is_ascii_digit())
        {
            return PhysicalLine::Blank;
        }
        PhysicalLine::Initial {
            label: None,
            text: at,
            column: 1,
            error: Some(LayoutError::Preprocessor),
        }
    }

    /// Whether the line continues a preprocessor line, which ends with a backslash.
    pub(super) fn goes_on(&self, line: usize) -> bool {
        let mut lines = self.text.get(..line).unwrap_or("").lines().rev();
        let mut hash = false;
        for before in lines.by_ref().take_while(|l| l.ends_with('\\')) {
            hash = before.starts_with('#');
            if hash {
                break;
            }
        }
        hash && self.byte(line) != b'\n'
    }

    /// Whether `D` in column 1 makes the line a comment. This requires the rest of the label field
    /// to be empty; otherwise it is a statement in the wrong columns, which must not be lost.
    fn is_debug_line(&self, at: usize) -> bool {
        (1..5)
            .map(|i| self.byte(at + i))
            .take_while(|c| !matches!(c, b'\n' | b'\t'))
            .all(|c| matches!(c, b' ' | b'\r' | b'0'..=b'9'))
    }
}
