//! The copies made by specialization, for display.

use farfel_lang::lower::{CopyUse, Explanation};
use farfel_lang::source::{Sources, Span};
use serde::Serialize;
use std::fmt::Write as _;

/// The subprograms that were copied for the procedures that they receive as arguments and for which calls,
/// and those that were not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Copies {
    /// The copies, in order of creation.
    pub copies: Vec<Copy>,
    /// The dummy procedures for which no copy was made.
    pub kept: Vec<UncopiedDummy>,
    /// Groups of subprograms that call themselves, directly or through each other.
    pub recursive: Vec<Vec<String>>,
}

/// A copy of a subprogram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Copy {
    /// Its name.
    pub name: String,
    /// The subprogram that it is a copy of, which may be a copy itself.
    pub of: String,
    /// The procedures bound to its dummy procedures.
    pub bound: Vec<BoundProcedure>,
    /// The places that need it, the first of which caused it.
    pub uses: Vec<CopySite>,
    /// Whether the program needs it; otherwise it only exists to be copied again.
    pub reached: bool,
}

/// The procedure bound to a dummy procedure in a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoundProcedure {
    /// The dummy procedure.
    pub dummy: String,
    /// The procedure.
    pub procedure: String,
    /// The variables of the enclosing subprogram that it captures.
    pub captured: Vec<CapturedVariable>,
}

/// A variable that a procedure captures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CapturedVariable {
    /// Its name in the procedure.
    pub name: String,
    /// The argument of the copy that is the same variable, if there is one.
    pub same_as: Option<String>,
}

/// A place where a copy is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopySite {
    /// The unit, which may be a copy itself.
    pub unit: String,
    /// The file; empty if there is no place in the source.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

/// A dummy procedure for which no copy was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UncopiedDummy {
    /// The subprogram.
    pub unit: String,
    /// Its dummy procedure.
    pub dummy: String,
    /// The procedures that the program passes for it.
    pub procedures: Vec<String>,
    /// Whether code outside the program may pass others.
    pub outside: bool,
}

impl Copies {
    pub(crate) fn of(explanation: &Explanation, sources: &Sources) -> Self {
        let captured = |c: &farfel_lang::lower::CapturedVariable| CapturedVariable {
            name: c.name.to_string(),
            same_as: c.same_as.as_ref().map(ToString::to_string),
        };
        let copies = explanation.copies.iter().map(|c| Copy {
            name: c.name.to_string(),
            of: c.of.to_string(),
            bound: c
                .bound
                .iter()
                .map(|b| BoundProcedure {
                    dummy: b.dummy.to_string(),
                    procedure: b.procedure.to_string(),
                    captured: b.captured.iter().map(captured).collect(),
                })
                .collect(),
            uses: c.uses.iter().map(|u| place(u, sources)).collect(),
            reached: c.reached,
        });
        let kept = explanation.kept.iter().map(|k| UncopiedDummy {
            unit: k.unit.to_string(),
            dummy: k.dummy.to_string(),
            procedures: k.procedures.iter().map(ToString::to_string).collect(),
            outside: k.outside,
        });
        let group = |g: &Vec<_>| g.iter().map(ToString::to_string).collect();
        Copies {
            copies: copies.collect(),
            kept: kept.collect(),
            recursive: explanation.recursive.iter().map(group).collect(),
        }
    }

    /// Formats the copies for people.
    ///
    /// ```text
    /// 2 copies of 1 subprogram
    ///
    /// APPLY_1: APPLY, where F is MAIN_G with A, B
    ///   made for MAIN, main.ff:12:8
    ///   used by MAIN, main.ff:14:8
    /// ```
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut origins: Vec<&str> = self.copies.iter().map(|c| self.origin(&c.of)).collect();
        origins.sort_unstable();
        origins.dedup();
        // Writing to a string cannot fail, here and below.
        let _ = match self.copies.len() {
            0 => writeln!(text, "No copies"),
            n => writeln!(
                text,
                "{} of {}",
                count(n, "copy", "copies"),
                count(origins.len(), "subprogram", "subprograms")
            ),
        };
        for copy in &self.copies {
            let bound: Vec<String> = copy.bound.iter().map(shown).collect();
            let _ = writeln!(
                text,
                "\n{}: {}, where {}",
                copy.name,
                copy.of,
                bound.join(", and ")
            );
            for (i, place) in copy.uses.iter().enumerate() {
                let word = if i == 0 { "made for" } else { "used by" };
                let _ = writeln!(text, "  {word} {}", place.shown());
            }
            if !copy.reached {
                let _ = writeln!(text, "  only copied again, not in the program itself");
            }
        }
        if !self.kept.is_empty() {
            let _ = writeln!(text, "\nNot copied for");
            for k in &self.kept {
                let _ = writeln!(text, "  {} of {}: {}", k.dummy, k.unit, k.why());
            }
        }
        if !self.recursive.is_empty() {
            let _ = writeln!(text, "\nRecursive");
            for group in &self.recursive {
                let _ = match group.as_slice() {
                    [one] => writeln!(text, "  {one} calls itself"),
                    _ => writeln!(text, "  {} call each other", group.join(", ")),
                };
            }
        }
        text
    }

    /// Returns the original subprogram of a copy.
    fn origin<'a>(&'a self, mut of: &'a str) -> &'a str {
        while let Some(copy) = self.copies.iter().find(|c| c.name == of) {
            of = &copy.of;
        }
        of
    }

    /// Formats the copies as JSON:
    /// `{"copies": [{"name", "of", "bound": [{"dummy", "procedure", "captured":
    /// [{"name", "same_as"}]}], "uses": [{"unit", "file", "line", "column"}], "reached"}],
    /// "kept": [{"unit", "dummy", "procedures", "outside"}], "recursive": [[name]]}`.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

impl CopySite {
    fn shown(&self) -> String {
        match self.file.is_empty() {
            true => self.unit.clone(),
            false => format!("{}, {}:{}:{}", self.unit, self.file, self.line, self.column),
        }
    }
}

impl UncopiedDummy {
    fn why(&self) -> String {
        let known = self.procedures.join(", ");
        match (self.outside, self.procedures.len()) {
            (true, 0) => "what is passed from outside".into(),
            (true, _) => format!("{known}, and what is passed from outside"),
            (false, 0) => "nothing is passed".into(),
            (false, 1) => format!("always {known}"),
            (false, _) => known,
        }
    }
}

fn shown(bound: &BoundProcedure) -> String {
    let captured: Vec<String> = bound
        .captured
        .iter()
        .map(|c| match &c.same_as {
            Some(other) if *other != c.name => format!("{} (the argument {other})", c.name),
            Some(_) => format!("{} (shared)", c.name),
            None => c.name.clone(),
        })
        .collect();
    let with = match captured.is_empty() {
        true => String::new(),
        false => format!(" with {}", captured.join(", ")),
    };
    format!("{} is {}{with}", bound.dummy, bound.procedure)
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn place(used: &CopyUse, sources: &Sources) -> CopySite {
    let CopyUse { unit, span } = used;
    let unit = unit.to_string();
    let unknown = CopySite {
        unit: unit.clone(),
        file: String::new(),
        line: 0,
        column: 0,
    };
    if span.is_none() {
        return unknown;
    }
    let Span { file, start, .. } = *span;
    sources.get(file).map_or(unknown, |f| {
        let at = f.line_column(start);
        CopySite {
            unit,
            file: f.name.clone(),
            line: at.line,
            column: at.column,
        }
    })
}
