//! Diagnostics as data. Rendering them is left to whoever displays them.

use crate::source::Span;

/// How bad a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the build continues.
    Warning,
    /// The program is wrong; nothing is generated.
    Error,
}

/// What happens to the warnings of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// They are suppressed.
    Allow,
    /// They are shown, and the build continues.
    Warn,
    /// They are errors.
    Deny,
}

impl Level {
    /// All levels.
    pub const ALL: [Level; 3] = [Level::Allow, Level::Warn, Level::Deny];

    /// Returns the level as written in settings.
    pub fn word(self) -> &'static str {
        match self {
            Level::Allow => "allow",
            Level::Warn => "warn",
            Level::Deny => "deny",
        }
    }
}

/// A kind of diagnostic: its stable code and its name.
///
/// All rules are in [`rules`]. Each is explained, with examples, on its own page in `docs/errors`,
/// which `farfel explain CODE` prints.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable code, `F` and four digits.
    pub code: &'static str,
    /// The name in kebab case.
    pub name: &'static str,
    /// The default level of its warnings, which settings can change (`farfel_lang::lints`); `None`
    /// for rules that only have errors.
    pub level: Option<Level>,
}

/// An error or warning with its position and everything a person needs to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule it belongs to.
    pub rule: &'static Rule,
    /// Whether it is an error or a warning.
    pub severity: Severity,
    /// The headline: what is wrong, in one sentence without a full stop.
    pub message: String,
    /// The source position.
    pub span: Span,
    /// The text under the marked position; may be empty.
    pub label: String,
    /// Other relevant positions, each with a text.
    pub related: Vec<(Span, String)>,
    /// How to fix it, where that is known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Creates an error of `rule` at `span`.
    pub fn error(rule: &'static Rule, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            rule,
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// Creates a warning of `rule` at `span`.
    pub fn warning(rule: &'static Rule, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Self::error(rule, span, message)
        }
    }

    /// Sets the text under the marked position.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds another relevant position.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// Sets the suggestion for a fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Whether any of the diagnostics is an error.
pub fn any_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// All rules.
///
/// Codes are never reused. F00xx: text and syntax. F01xx: names and types. F02xx: nested
/// subprograms and lowering. F03xx: AD. F04xx: building. F05xx: code that is legal, or compiles,
/// but is probably a mistake. F09xx: internal errors of Farfel.
///
/// Rules with a [`Level`] have warnings with a configurable level; all others are errors.
pub mod rules {
    use super::{Level, Rule};

    macro_rules! rules {
        ($($id:ident = $code:literal, $name:literal $(, $level:ident)?;)*) => {
            $(
                #[doc = concat!("`", $name, "`; `docs/errors/", $code, ".md` explains it.")]
                pub static $id: Rule = Rule { code: $code, name: $name, level: rules!(@ $($level)?) };
            )*
            /// All rules, in the order of their codes.
            pub static ALL: &[&Rule] = &[$(&$id),*];
        };
        (@) => { None };
        (@ $level:ident) => { Some(Level::$level) };
    }

    rules! {
        SYNTAX = "F0001", "syntax";
        UNKNOWN_STATEMENT = "F0002", "unknown-statement";
        UNCLOSED_BLOCK = "F0003", "unclosed-block";
        BAD_LABEL = "F0004", "bad-label";
        BAD_CHARACTER = "F0005", "bad-character";
        INCLUDE_FAILED = "F0006", "include-failed";
        MISPLACED_STATEMENT = "F0007", "misplaced-statement";
        UNSUPPORTED = "F0008", "unsupported";
        CONSTRUCT_NAME = "F0009", "construct-name";
        PREPROCESSOR = "F0010", "preprocessor";
        UNDECLARED = "F0101", "undeclared";
        CONFLICTING_DECLARATION = "F0102", "conflicting-declaration";
        ARGUMENT_MISMATCH = "F0103", "argument-mismatch", Warn;
        TYPE_MISMATCH = "F0104", "type-mismatch";
        DUPLICATE_UNIT = "F0105", "duplicate-unit";
        NOT_ASSIGNABLE = "F0106", "not-assignable";
        UNKNOWN_PROCEDURE = "F0107", "unknown-procedure", Warn;
        NOT_A_PROCEDURE = "F0108", "not-a-procedure";
        RANK_MISMATCH = "F0109", "rank-mismatch";
        NOT_A_VALUE = "F0110", "not-a-value";
        PACKAGE_CONFLICT = "F0111", "package-conflict";
        BAD_CONSTANT = "F0140", "bad-constant", Warn;
        NOT_CONSTANT = "F0141", "not-constant";
        OUT_OF_BOUNDS = "F0142", "out-of-bounds", Warn;
        ZERO_STEP = "F0143", "zero-step";
        EQUIVALENCE_CONFLICT = "F0144", "equivalence-conflict";
        COMMON_EXTENDED_LEFT = "F0145", "common-extended-left";
        COMMONS_TIED = "F0146", "commons-tied";
        DATA_COUNT = "F0147", "data-count";
        DATA_TYPE = "F0148", "data-type";
        NO_INITIAL_VALUE = "F0149", "no-initial-value";
        ESCAPING_CLOSURE = "F0201", "escaping-closure";
        UNRESOLVED_DUMMY = "F0202", "unresolved-dummy";
        ENDLESS_SPECIALIZATION = "F0203", "endless-specialization";
        SHARED_ARGUMENT = "F0204", "shared-argument", Warn;
        AD_NOT_DIFFERENTIABLE = "F0301", "not-differentiable";
        AD_NOT_COMPUTED = "F0302", "not-computed";
        AD_JUMP = "F0303", "ad-jump";
        AD_UNKNOWN_PROCEDURE = "F0304", "ad-unknown-procedure", Warn;
        AD_UNSUPPORTED = "F0305", "ad-unsupported", Warn;
        AD_RECURSION = "F0306", "ad-recursion";
        AD_LOST_DERIVATIVE = "F0307", "lost-derivative", Warn;
        AD_TOOL = "F0308", "ad-tool", Warn;
        AD_TWICE = "F0309", "given-twice";
        GIVEN_DERIVATIVE = "F0310", "given-derivative";
        AD_OUTPUT = "F0311", "active-output", Warn;
        LOOP_MARK = "F0312", "loop-mark";
        AD_PASSED_COMMON = "F0313", "ad-passed-common";
        AD_ARGUMENT = "F0314", "ad-argument", Warn;
        AD_SIZE = "F0315", "ad-size";
        AD_POINTER = "F0316", "ad-pointer";
        AD_INPUT = "F0317", "ad-input";
        AD_DIRECTIONS = "F0318", "ad-directions";
        AD_LOOP = "F0319", "ad-loop";
        AD_ALIAS = "F0320", "ad-alias";
        AD_ALLOCATION = "F0321", "ad-allocation";
        AD_GIVEN = "F0322", "ad-given";
        AD_STORAGE = "F0323", "ad-storage", Warn;
        AD_OTHER_TOOL = "F0324", "ad-other-tool", Warn;
        AD_CONTROL = "F0325", "ad-control";
        AD_MESSAGE = "F0326", "ad-message";
        OPENMP = "F0327", "openmp", Warn;
        COMPILER = "F0401", "compiler", Warn;
        UNKNOWN_LINT = "F0500", "unknown-lint";
        SUSPICIOUS_LAYOUT = "F0501", "suspicious-layout", Warn;
        ARGUMENT_TYPE = "F0502", "argument-type", Warn;
        ARGUMENT_SHAPE = "F0503", "argument-shape", Warn;
        USED_BEFORE_SET = "F0504", "used-before-set", Warn;
        UNUSED_VARIABLE = "F0505", "unused-variable", Allow;
        UNUSED_ARGUMENT = "F0506", "unused-argument", Allow;
        UNREACHABLE_CODE = "F0507", "unreachable-code", Warn;
        RESULT_NOT_SET = "F0508", "result-not-set", Warn;
        UNUSED_LABEL = "F0509", "unused-label", Allow;
        COMMON_PADDING = "F0510", "common-padding", Warn;
        COMMON_SIZE = "F0511", "common-size", Warn;
        COMMON_TYPE_MISMATCH = "F0512", "common-type-mismatch", Warn;
        DATA_TRUNCATED = "F0513", "data-truncated", Warn;
        INITIALISED_TWICE = "F0514", "initialised-twice", Warn;
        COMMON_INITIALISED = "F0515", "common-initialised", Warn;
        IMPLICIT_TYPING = "F0520", "implicit-typing", Allow;
        OBSOLESCENT = "F0521", "obsolescent", Allow;
        RECURSION = "F0522", "recursion", Warn;
        LOOP_VARIABLE = "F0523", "loop-variable";
        INTENT = "F0524", "intent", Warn;
        CONSTANT_SET = "F0525", "constant-set", Warn;
        SHARED_LOOP_VARIABLE = "F0526", "shared-loop-variable", Warn;
        TEXT_CUT_OFF = "F0527", "text-cut-off", Warn;
        UNKNOWN_DIRECTIVE = "F0528", "unknown-directive", Warn;
        INTERNAL_ERROR = "F0901", "internal-error";
    }

    /// The rules for code that an AD tool cannot differentiate.
    pub static AD_REFUSED: &[&Rule] = &[
        &AD_UNSUPPORTED,
        &AD_PASSED_COMMON,
        &AD_ARGUMENT,
        &AD_SIZE,
        &AD_POINTER,
        &AD_INPUT,
        &AD_DIRECTIONS,
        &AD_LOOP,
        &AD_ALIAS,
        &AD_ALLOCATION,
        &AD_GIVEN,
        &AD_STORAGE,
        &AD_OTHER_TOOL,
        &AD_CONTROL,
        &AD_MESSAGE,
    ];
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_unique_and_sorted() {
        let codes: Vec<_> = super::rules::ALL.iter().map(|r| r.code).collect();
        let mut sorted = codes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(codes, sorted);
    }
}
