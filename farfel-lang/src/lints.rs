//! Which warnings are shown, and which are errors.
//!
//! Every rule with warnings has a level ([`Rule::level`]). [`Lints`] holds what the settings
//! say instead, and comments in the source say it for one unit:
//!
//! ```fortran
//!       SUBROUTINE OLD(X)
//! C     farfel: allow(unused-variable, argument-type)
//! ```
//!
//! Such a comment stands in a unit or right before it, and holds for the subprograms nested
//! in it as well. Nothing makes a warning of an error.

use crate::diagnostic::{Diagnostic, Level, Rule, Severity, rules};
use crate::ir::{Program, Unit};
use crate::source::{FileId, Span};

/// What settings say of warnings. Without any, each rule has its own level.
///
/// ```
/// use farfel_lang::diagnostic::{Level, rules};
/// use farfel_lang::lints::Lints;
/// let mut lints = Lints::default();
/// lints.set("unknown-procedure", Level::Deny).unwrap();
/// assert_eq!(lints.level(&rules::UNKNOWN_PROCEDURE), Level::Deny);
/// let fault = lints.set("unknwon-procedure", Level::Deny).unwrap_err();
/// assert_eq!(fault, "unknown warning `unknwon-procedure`; did you mean `unknown-procedure`?");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lints {
    /// What was set, the last last.
    set: Vec<(&'static Rule, Level)>,
    /// Files in which some rules are errors if nothing else was set.
    strict: Vec<FileId>,
    /// Files that are not the user's own: their warnings are not for him.
    quiet: Vec<FileId>,
    /// What comments say for single units; those of inner units come later.
    exceptions: Vec<Exception>,
    /// Bytes of a default REAL, where that is not 4.
    real: Option<u8>,
}

/// What a comment says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Exception {
    from: Span,
    to: Span,
    rule: &'static Rule,
    level: Level,
}

/// What the rules are that are errors in Farfel's own sources: there is no old code that
/// does so on purpose.
static STRICT: [&Rule; 4] = [
    &rules::UNKNOWN_PROCEDURE,
    &rules::ARGUMENT_MISMATCH,
    &rules::ARGUMENT_TYPE,
    &rules::ARGUMENT_SHAPE,
];

/// The names that stand for several warnings.
const GROUPS: [&str; 2] = ["all", "warnings"];

impl Lints {
    /// What another program has written must fit: nothing is as it is for old times' sake.
    pub fn strict() -> Self {
        Lints {
            set: STRICT.map(|r| (r, Level::Deny)).to_vec(),
            ..Lints::default()
        }
    }

    /// Warnings of storage count a default REAL as so many bytes.
    #[must_use]
    pub fn with_real(self, bytes: u8) -> Self {
        Lints {
            real: Some(bytes),
            ..self
        }
    }

    /// The bytes of a default REAL.
    pub(crate) fn real(&self) -> u8 {
        self.real.unwrap_or(4)
    }

    /// Sets the level of a warning, by name or code. `all` stands for all of them,
    /// `warnings` for those that are shown so far.
    ///
    /// # Errors
    ///
    /// There is no such warning, or it is always an error; with what may be meant.
    pub fn set(&mut self, name: &str, level: Level) -> Result<(), String> {
        match name {
            "all" => self.set.extend(lints().map(|r| (r, level))),
            "warnings" => {
                let shown: Vec<_> = lints().filter(|r| self.level(r) == Level::Warn).collect();
                self.set.extend(shown.into_iter().map(|r| (r, level)));
            }
            _ => self.set.push((lint(name, level)?, level)),
        }
        Ok(())
    }

    /// Sets several levels, in any order: names of single warnings outdo those of groups.
    ///
    /// # Errors
    ///
    /// As for [`Lints::set`].
    pub fn set_all<'a>(
        &mut self,
        levels: impl IntoIterator<Item = (&'a str, Level)>,
    ) -> Result<(), String> {
        let mut levels: Vec<_> = levels.into_iter().collect();
        let place = |name: &str| {
            GROUPS
                .iter()
                .position(|g| *g == name)
                .unwrap_or(GROUPS.len())
        };
        levels.sort_by_key(|(name, _)| place(name));
        levels
            .into_iter()
            .try_for_each(|(name, level)| self.set(name, level))
    }

    /// A source of Farfel's own: what hardly is meant there is an error.
    pub fn strict_in(&mut self, file: FileId) {
        self.strict.push(file);
    }

    /// A source of somebody else: its warnings are not shown.
    pub fn quiet_in(&mut self, file: FileId) {
        self.quiet.push(file);
    }

    /// The level of a rule, wherever it is broken.
    pub fn level(&self, rule: &Rule) -> Level {
        self.own(rule).or(rule.level).unwrap_or(Level::Deny)
    }

    fn own(&self, rule: &Rule) -> Option<Level> {
        let set = self.set.iter().rev().find(|(r, _)| *r == rule);
        set.map(|(_, level)| *level)
    }

    /// Is anything shown of this rule, in some unit? Otherwise it need not be looked for.
    pub fn wanted(&self, rule: &Rule) -> bool {
        let shown = |e: &Exception| e.rule == rule && e.level != Level::Allow;
        self.level(rule) != Level::Allow || self.exceptions.iter().any(shown)
    }

    /// These settings with those that comments of a program make for its units, and what
    /// is wrong with the comments.
    pub fn within(&self, program: &Program) -> (Self, Vec<Diagnostic>) {
        let mut found = self.clone();
        let mut faults = Vec::new();
        for unit in &program.units {
            found.in_unit(unit, &mut faults);
        }
        (found, faults)
    }

    /// Leaves out the warnings that are allowed, and makes errors of those that are denied.
    /// Errors stay.
    pub fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.retain_mut(|d| {
            if d.is_error() {
                return true;
            }
            if self.quiet.contains(&d.span.file) {
                return false;
            }
            let level = self
                .exception(d)
                .or_else(|| self.own(d.rule))
                .or_else(|| {
                    let strict = STRICT.contains(&d.rule) && self.strict.contains(&d.span.file);
                    strict.then_some(Level::Deny)
                })
                .or(d.rule.level);
            if level == Some(Level::Deny) {
                d.severity = Severity::Error;
            }
            level != Some(Level::Allow)
        });
    }

    fn in_unit(&mut self, unit: &Unit, faults: &mut Vec<Diagnostic>) {
        let mut look = |text: &str, span: Span| {
            // Most comments are none.
            let word = text.trim_start_matches(['!', ' ', '\t']);
            if word.starts_with(['F', 'f']) {
                self.comment(unit, word, span, faults);
            }
        };
        unit.for_each_comment(&mut look);
        for nested in &unit.nested {
            self.in_unit(nested, faults);
        }
    }

    /// `farfel: allow(one, two), deny(three)`
    fn comment(&mut self, unit: &Unit, text: &str, span: Span, faults: &mut Vec<Diagnostic>) {
        let Some((word, mut rest)) = text.split_once(':') else {
            return;
        };
        if !word.trim().eq_ignore_ascii_case("farfel") {
            return;
        }
        faults.extend(unknown_directive(rest, span));
        while let Some((head, tail)) = rest.split_once('(') {
            let word = head.trim_matches([',', ' ', '\t']);
            let level = Level::ALL
                .into_iter()
                .find(|l| l.word().eq_ignore_ascii_case(word));
            let (names, after) = tail.split_once(')').unwrap_or((tail, ""));
            // Other things may be asked for, by whoever reads them.
            let Some(level) = level else { return };
            for name in names.split(',').map(str::trim) {
                let rules = match name.to_ascii_lowercase().as_str() {
                    "all" => Ok(lints().collect()),
                    _ => lint(name, level).map(|r| vec![r]),
                };
                match rules {
                    Ok(rules) => self
                        .exceptions
                        .extend(rules.into_iter().map(|rule| Exception {
                            from: unit.span,
                            to: unit.end_span,
                            rule,
                            level,
                        })),
                    Err(text) => {
                        faults.push(Diagnostic::error(&rules::UNKNOWN_LINT, span, text));
                    }
                }
            }
            rest = after;
        }
    }

    /// What the innermost unit around a diagnostic says.
    fn exception(&self, d: &Diagnostic) -> Option<Level> {
        let at = d.span;
        let around = |e: &&Exception| {
            e.rule == d.rule
                && at.file == e.from.file
                && at.start >= e.from.start
                && at.start <= e.to.end
        };
        // Units around come before those nested in them.
        let found = self.exceptions.iter().rev().find(around);
        found.map(|e| e.level)
    }
}

/// What comments can begin with behind `farfel:`, besides levels.
const DIRECTIVES: [&str; 10] = [
    "checkpoint",
    "constant",
    "debug-lines",
    "derivative",
    "external",
    "fixed-point",
    "form",
    "independent",
    "library",
    "line-length",
];

/// Does a comment ask for something that there is not? Words that follow each other are prose.
fn unknown_directive(text: &str, span: Span) -> Option<Diagnostic> {
    let text = text.trim();
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let end = text.find(|c| !in_word(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let name = word.to_ascii_lowercase();
    let levels = Level::ALL.into_iter().map(Level::word);
    let known: Vec<&str> = DIRECTIVES.into_iter().chain(levels).collect();
    if name.is_empty() || known.contains(&name.as_str()) {
        return None;
    }
    let meant = crate::spelling::closest(&name, known.iter().copied());
    let prose = rest.trim_start().starts_with(|c: char| !"(=,".contains(c));
    if prose && meant.is_none() {
        return None;
    }
    let help = match meant {
        Some(known) => format!("did you mean `{known}`?"),
        None => format!("the directives are {}", known.join(", ")),
    };
    let message = format!("there is no directive `{word}`; this comment has no effect");
    Some(Diagnostic::warning(&rules::UNKNOWN_DIRECTIVE, span, message).help(help))
}

/// All rules that have warnings.
pub fn lints() -> impl Iterator<Item = &'static Rule> {
    rules::ALL.iter().copied().filter(|r| r.level.is_some())
}

/// The rule of a name or code, whichever kind it is.
///
/// # Errors
///
/// There is none; with what may be meant.
pub fn rule(name: &str) -> Result<&'static Rule, String> {
    let wanted = name.to_ascii_lowercase();
    let mut all = rules::ALL.iter().copied();
    let found = all.find(|r| r.name == wanted || r.code.eq_ignore_ascii_case(&wanted));
    found.ok_or_else(|| format!("there is no rule `{name}`{}", similar(&wanted, true)))
}

/// The rule with warnings of a name or code.
fn lint(name: &str, level: Level) -> Result<&'static Rule, String> {
    match rule(name) {
        Ok(rule) if rule.level.is_some() || level == Level::Deny => Ok(rule),
        Ok(rule) => Err(format!(
            "`{}` is always an error and cannot be set to `{}`",
            rule.name,
            level.word()
        )),
        Err(_) => Err(format!(
            "unknown warning `{name}`{}",
            similar(&name.to_ascii_lowercase(), false)
        )),
    }
}

/// What may be meant by a name that is none.
fn similar(name: &str, errors: bool) -> String {
    let known = rules::ALL
        .iter()
        .filter(|r| errors || r.level.is_some())
        .map(|r| r.name)
        .chain(GROUPS);
    match crate::spelling::closest(name, known) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => "; `farfel explain` lists them".into(),
    }
}
