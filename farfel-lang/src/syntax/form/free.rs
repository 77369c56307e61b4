//! Determines which lines form a statement in free form.

use super::scan::{CLASS, class};
use super::statement::Statement;
use super::{PhysicalLine, ScanStop, StatementReader};
use crate::diagnostic::{Diagnostic, rules};

impl StatementReader {
    pub(super) fn next_free(&mut self, st: &mut Statement) -> bool {
        self.begin();
        let mut stop = match self.rest.take() {
            Some(column) => {
                st.column = column as u32;
                self.scan(st, self.pos, column)
            }
            None => loop {
                match self.free_line(self.pos) {
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
                        st.column = column as u32;
                        if error.is_some() {
                            self.layout_error(st, error, text);
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
                            .help("the line before must end with `&`"),
                        );
                        break self.scan(st, text, column);
                    }
                }
            },
        };
        loop {
            match stop {
                ScanStop::Semicolon(column) => {
                    self.rest = Some(column);
                    break;
                }
                ScanStop::Line(_) => break,
                ScanStop::Ampersand => {}
            }
            let mut at = self.pos;
            let (text, begin) = loop {
                match self.free_line(at) {
                    PhysicalLine::End => break (at, 1),
                    PhysicalLine::Blank => {}
                    PhysicalLine::Comment { text } => self.comment(&mut st.comments, text),
                    PhysicalLine::Initial {
                        label,
                        text,
                        column,
                        ..
                    } => {
                        self.gap = true;
                        // A number at the beginning of this line is not a label but part of the
                        // statement.
                        break (label.map_or(text, |(_, s, _)| s), column);
                    }
                    PhysicalLine::Continuation { text, column } => break (text, column),
                }
                at = self.next_line(at);
            };
            if at >= self.text.len() {
                self.pos = at;
                break;
            }
            stop = self.scan(st, text, begin);
        }
        self.finish(st);
        true
    }

    /// Classifies the line that begins at `pos`.
    fn free_line(&self, pos: usize) -> PhysicalLine {
        if pos >= self.text.len() {
            return PhysicalLine::End;
        }
        if self.verbatim && self.goes_on(pos) {
            return PhysicalLine::Comment { text: pos + 1 };
        }
        let mut at = pos;
        while CLASS[usize::from(self.byte(at))] == class::BLANK {
            at += 1;
        }
        match self.byte(at) {
            b'\n' => return PhysicalLine::Blank,
            b'!' => return PhysicalLine::Comment { text: at + 1 },
            b'#' if at == pos => return self.hash(at),
            b'*' if at == pos => return PhysicalLine::Comment { text: at + 1 },
            b'&' => {
                return PhysicalLine::Continuation {
                    text: at + 1,
                    column: at + 2 - pos,
                };
            }
            // A fixed-form comment, as no statement consists of a name, a blank and a letter.
            b'C' | b'c' if at == pos && self.is_letter_c_comment(at) => {
                return PhysicalLine::Comment { text: at + 1 };
            }
            _ => {}
        }
        let digits = at;
        let mut number = 0u64;
        while let c @ b'0'..=b'9' = self.byte(at) {
            number = number
                .saturating_mul(10)
                .saturating_add(u64::from(c - b'0'));
            at += 1;
        }
        let label = (at > digits).then_some((number, digits, at));
        if label.is_some() {
            while CLASS[usize::from(self.byte(at))] == class::BLANK {
                at += 1;
            }
        }
        PhysicalLine::Initial {
            label,
            text: at,
            column: at + 1 - pos,
            error: None,
        }
    }

    fn is_letter_c_comment(&self, at: usize) -> bool {
        let mut i = at + 1;
        while matches!(self.byte(i), b' ' | b'\t') {
            i += 1;
        }
        i > at + 1 && (self.byte(i).is_ascii_alphanumeric() || self.byte(i) >= 0x80)
            || matches!(self.byte(i), b'\n' | b'\r')
    }
}
