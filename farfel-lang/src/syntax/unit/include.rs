//! Parses INCLUDE.

use super::Parser;
use crate::diagnostic::{Diagnostic, rules};
use crate::syntax::form::{CHAR, Statement, StatementReader};
use crate::syntax::{FixedFormLayout, Form};

/// The maximum depth and number of INCLUDE files.
const MAX_INCLUDE_DEPTH: usize = 32;
const MAX_INCLUDES: usize = 10_000;

impl Parser<'_> {
    pub(super) fn include(&mut self, st: &Statement, free: bool, pos: usize) {
        if st.text.get(pos) != Some(&CHAR) || st.text.len() != pos + 1 {
            let mut line = self.line(st, free, pos);
            if line.eat(CHAR) {
                let read = line.end();
                self.check(read);
            } else {
                let error = line.expected("the name of a file in quotes");
                self.report(*error);
            }
            return;
        }
        let name = st.string_value(pos);
        let span = st.span(pos, pos + 1);
        let from = self
            .sources
            .get(st.file)
            .map_or_else(String::new, |f| f.name.clone());
        let failed = |why: String| {
            Diagnostic::error(
                &rules::INCLUDE_FAILED,
                span,
                format!("cannot include `{name}`: {why}"),
            )
        };
        self.includes += 1;
        if self.readers.len() > MAX_INCLUDE_DEPTH || self.includes > MAX_INCLUDES {
            let report = failed("too many files include each other".to_owned());
            self.report(report);
            return;
        }
        let (shown, text) = match self.loader.load(&from, name) {
            Ok(found) => found,
            Err(why) => {
                let report = failed(why);
                self.report(report);
                return;
            }
        };
        let open = |r: &StatementReader| self.sources.get(r.file).is_some_and(|f| f.name == shown);
        if self.readers.iter().any(open) {
            let report = failed("it includes itself".to_owned());
            self.report(report);
            return;
        }
        let form = if free { Form::Free } else { Form::Fixed };
        let columns = self
            .readers
            .last()
            .map_or_else(FixedFormLayout::default, StatementReader::columns);
        let file = self.sources.add(shown, text.clone());
        self.readers
            .push(StatementReader::new(file, text, form, columns));
    }
}
