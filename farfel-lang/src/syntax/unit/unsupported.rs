//! Handles features of Fortran that Farfel does not support, with one error for each statement or
//! block, and USE.

use super::{Parser, label_of};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Spec, SpecKind, UnitKind};
use crate::source::Span;
use crate::syntax::classify::StatementKind;
use crate::syntax::form::Statement;
use crate::syntax::{modules, unsupported};

/// A block that is skipped up to its END.
#[derive(Debug)]
pub(super) struct SkippedBlock {
    /// The keyword after its END.
    word: &'static str,
    /// The number of nested open blocks of this kind.
    depth: usize,
    /// The number of open program units in it.
    units: usize,
    /// The MODULE statement, if this is a module at the level of program units.
    module: Option<Span>,
}

impl Parser<'_> {
    /// Reports a statement that Farfel does not support, and skips the block that it opens.
    pub(super) fn unsupported(&mut self, st: &Statement, free: bool, pos: usize) {
        if self.growing(st, free, pos) {
            return;
        }
        self.comments.clear();
        let line = self.line(st, free, 0);
        let Some(f) = unsupported::find(&line, 0) else {
            let word = line.text(0, pos).to_owned();
            return self.report(Diagnostic::error(
                &rules::UNSUPPORTED,
                st.whole(),
                format!("Farfel does not support {word} statements"),
            ));
        };
        // `FORALL (…) assignment` and `TYPE (name) :: X` open no block.
        let opens = f.block
            && match f.word {
                "FORALL" => line.closing(pos).is_some_and(|c| c + 1 == st.text.len()),
                "TYPE" => line.at(pos) != b'(',
                // `MODULE PROCEDURE` belongs to interface blocks.
                _ => true,
            };
        let what = if opens { "blocks" } else { "statements" };
        self.report(f.error(what, st.whole()));
        if opens {
            self.skipped = Some(SkippedBlock {
                // `ABSTRACT INTERFACE` ends with END INTERFACE.
                word: f.word.rsplit(' ').next().unwrap_or(f.word),
                depth: 1,
                units: 0,
                module: (f.word == "MODULE" && !self.open_unit.open).then(|| st.whole()),
            });
        }
    }

    /// Parses the declarations of growing tapes in generated text. Returns false for anything else.
    fn growing(&mut self, st: &Statement, free: bool, pos: usize) -> bool {
        let mut line = self.line(st, free, pos);
        if line.growing_type() {
            self.comments.clear();
            self.skipped = Some(SkippedBlock {
                word: "TYPE",
                depth: 1,
                units: 0,
                module: None,
            });
            return true;
        }
        let found = line.growing_tapes();
        if found {
            self.keep_comments();
        }
        found
    }

    /// Parses CONTAINS. The subprograms that follow are nested, and names have the scope that
    /// Fortran 90 gives them.
    pub(super) fn contains(&mut self, st: &Statement, free: bool, pos: usize) {
        let read = self.line(st, free, pos).end();
        self.check(read);
        let word = match self.open_unit.blocks.last() {
            Some(block) => Some(format!("{} is not closed", block.kind.word())),
            None if self.open_unit.unit.kind == UnitKind::BlockData => {
                Some("BLOCK DATA has no subprograms".to_owned())
            }
            None if self.open_unit.contains => {
                Some("there is a CONTAINS before this one".to_owned())
            }
            None => None,
        };
        if let Some(why) = word {
            let span = st.whole();
            self.report(Diagnostic::error(
                &rules::MISPLACED_STATEMENT,
                span,
                format!("CONTAINS is not allowed here: {why}"),
            ));
        }
        self.open_unit.executable = true;
        self.comments_to_body();
        self.open_unit.contains = true;
    }

    /// Whether a block is being skipped and the statement belongs to it or closes it.
    pub(super) fn skips(&mut self, st: &Statement, free: bool) -> bool {
        let Some(mut skipped) = self.skipped.take() else {
            return false;
        };
        self.comments.clear();
        let mut line = self.line(st, free, 0);
        if line.construct_name().is_some() {
            self.skipped = Some(skipped);
            return true;
        }
        let word = skipped.word;
        let ends = |l: &crate::syntax::statement_parser::StatementParser| {
            let after = l.keyword_end(0, "END").filter(|_| !word.is_empty());
            after.and_then(|e| l.keyword_end(e, word)).is_some()
        };
        if ends(&line) {
            skipped.depth -= 1;
        } else if !word.is_empty() && word != "TYPE" && line.keyword_end(0, word).is_some() {
            // MODULE PROCEDURE opens no block, nor does an assignment.
            let opens = line.keyword_end(0, "MODULE PROCEDURE").is_none()
                && !st.text.contains(&b'=')
                && word != "FORALL";
            skipped.depth += usize::from(opens);
        } else {
            let kind = line.classify();
            if kind.is_header() {
                skipped.units += 1;
            } else if kind == StatementKind::End {
                if skipped.units == 0 {
                    // It closes the module, or the unit around a block that has no END.
                    self.modules.extend(skipped.module);
                    return matches!(word, "MODULE" | "SUBMODULE");
                }
                skipped.units = skipped.units.saturating_sub(1);
            }
        }
        match skipped.depth {
            0 => self.modules.extend(skipped.module),
            _ => self.skipped = Some(skipped),
        }
        true
    }

    /// Parses USE of a module that is provided by compilers.
    pub(super) fn use_module(&mut self, st: &Statement, free: bool, pos: usize) {
        self.keep_comments();
        let nothing = |s: &&Spec| {
            matches!(
                s.kind,
                SpecKind::Use(_) | SpecKind::Include(_) | SpecKind::Comment(_)
            )
        };
        let mut earlier = self.open_unit.unit.specs.iter();
        let before = earlier.find(|s| !nothing(s)).map(|s| s.span);
        let mut line = self.line(st, free, pos);
        let read = line.used_module();
        match self.check(read) {
            Some(text) => self.open_unit.spec(SpecKind::Use(text), st.whole()),
            None => self.comments.clear(),
        }
        if self.open_unit.executable || before.is_some() || label_of(st).is_some() {
            let report = Diagnostic::error(
                &rules::MISPLACED_STATEMENT,
                st.whole(),
                "USE must come before all other specification statements, without a label",
            );
            let report = match before {
                Some(first) => report.related(first, "specifications begin here"),
                None => report,
            };
            self.report(report.help(
                "move it up to the line after SUBROUTINE, FUNCTION or PROGRAM, and take its label away",
            ));
        }
    }
}

impl crate::syntax::statement_parser::StatementParser<'_> {
    /// Parses `NAME`, or `NAME, ONLY: names`, into canonical form.
    fn used_module(&mut self) -> crate::syntax::statement_parser::ParseResult<String> {
        if self.eat(b',') {
            if !self.keyword("INTRINSIC") {
                return Err(self.expected("INTRINSIC"));
            }
            self.expect(b':')?;
            self.expect(b':')?;
        } else if self.eat(b':') {
            self.expect(b':')?;
        }
        let (name, span) = self.expect_name("the name of a module")?;
        let Some(names) = modules::names(name) else {
            return Err(Box::new(
                Diagnostic::error(
                    &rules::UNSUPPORTED,
                    span,
                    format!("the module {name} is not known"),
                )
                .label("Farfel knows only modules that come with the compiler")
                .help("declare what is needed from it here, or put it into COMMON blocks"),
            ));
        };
        // The names as they are in this unit, each with its name in the module.
        let mut listed: Vec<(String, String, Span)> = Vec::new();
        let mut only = false;
        if self.eat(b',') {
            only = self.keyword("ONLY");
            if only {
                self.expect(b':')?;
            }
            while !self.done() {
                let (own, at) = self.expect_name("a name of the module")?;
                let mut meant = own;
                if self.peek() == b'=' && self.at(self.pos + 1) == b'>' {
                    self.pos += 2;
                    meant = self.expect_name("a name of the module")?.0;
                } else if !only {
                    return Err(self.expected("ONLY, or `=>` and a name of the module"));
                }
                listed.push((own.to_owned(), meant.to_owned(), at));
                if !self.eat(b',') {
                    break;
                }
            }
        }
        self.end()?;
        let mut text = name.to_owned();
        if only || !listed.is_empty() {
            let shown: Vec<String> = listed
                .iter()
                .map(|(own, meant, _)| match own == meant {
                    true => own.clone(),
                    false => format!("{own} => {meant}"),
                })
                .collect();
            let word = if only { "ONLY: " } else { "" };
            text = format!("{name}, {word}{}", shown.join(", "));
        }
        for (n, meaning) in names {
            let mut renamed = false;
            for (own, _, at) in listed.iter().filter(|(_, meant, _)| meant == n) {
                renamed = true;
                let sym = self.intern(own, *at);
                meaning.apply_to(&mut self.open_unit.unit.symbols[sym], *at);
            }
            if !only && !renamed {
                let sym = self.intern(n, span);
                meaning.apply_to(&mut self.open_unit.unit.symbols[sym], span);
            }
        }
        Ok(text)
    }
}
