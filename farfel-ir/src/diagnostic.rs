//! Faults as data. Rendering is the business of whoever shows them.

use crate::source::Span;

/// How bad a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the build goes on.
    Warning,
    /// The program is wrong; nothing is generated.
    Error,
}

/// What becomes of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Nobody is told.
    Allow,
    /// It is shown, and the build goes on.
    Warn,
    /// It is an error.
    Deny,
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 3] = [Level::Allow, Level::Warn, Level::Deny];

    /// As settings write it.
    pub fn word(self) -> &'static str {
        match self {
            Level::Allow => "allow",
            Level::Warn => "warn",
            Level::Deny => "deny",
        }
    }
}

/// A kind of fault: its stable code, its name and what it is about.
///
/// All rules stand in [`rules`], with the text that `farfel explain CODE` prints.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable code, `F` and four digits.
    pub code: &'static str,
    /// Name in kebab case.
    pub name: &'static str,
    /// What becomes of its warnings where no setting says otherwise (`farfel_lang::lints`);
    /// `None` where there are none, only errors.
    pub level: Option<Level>,
    /// What the fault is, why it is one, and what to do.
    pub explanation: &'static str,
}

/// A fault at a place, with all that a person needs to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind of fault.
    pub rule: &'static Rule,
    /// How bad.
    pub severity: Severity,
    /// The headline: what is wrong, in one sentence without full stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to write under the marked place; may be empty.
    pub label: String,
    /// Other places that matter, each with what to say about it.
    pub related: Vec<(Span, String)>,
    /// What to do about it, where that is known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error of kind `rule` at `span`.
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

    /// A warning of kind `rule` at `span`.
    pub fn warning(rule: &'static Rule, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Self::error(rule, span, message)
        }
    }

    /// Adds the text under the marked place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds another place that matters.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// True for errors.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// True when there is an error among the diagnostics.
pub fn any_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// Every kind of fault that Farfel reports.
///
/// Codes are never reused. F00xx: text and syntax. F01xx: names and types.
/// F02xx: nested subprograms and lowering. F03xx: AD. F04xx: building. F05xx: what is legal,
/// or compiles, and is probably not meant. F09xx: faults of Farfel itself.
///
/// Rules with a [`Level`] have warnings, whose level can be set; the others are errors.
pub mod rules {
    use super::{Level, Rule};

    macro_rules! rules {
        ($($id:ident = $code:literal, $name:literal, $($level:ident,)? $text:literal;)*) => {
            $(#[doc = $text] pub static $id: Rule = Rule { code: $code, name: $name, level: rules!(@ $($level)?), explanation: $text };)*
            /// All rules, in the order of their codes.
            pub static ALL: &[&Rule] = &[$(&$id),*];
        };
        (@) => { None };
        (@ $level:ident) => { Some(Level::$level) };
    }

    rules! {
        SYNTAX = "F0001", "syntax",
            "The statement is not written as Fortran or Farfel writes it. The mark stands where reading stopped.";
        UNKNOWN_STATEMENT = "F0002", "unknown-statement",
            "Farfel knows no statement that begins like this, and it is not an assignment. In fixed form statements stand in columns 7 to 72, and a character in column 6 continues the line before.";
        UNCLOSED_BLOCK = "F0003", "unclosed-block",
            "An IF, DO, ADF or ADR block, or a program unit, is opened and not closed, or closed and not opened, or closed by the END of another kind.";
        BAD_LABEL = "F0004", "bad-label",
            "A statement label is a number from 1 to 99999 in columns 1 to 5, defined once in its program unit, and everything that refers to it must find it.";
        BAD_CHARACTER = "F0005", "bad-character",
            "The character has no meaning in Fortran outside of character constants and comments.";
        INCLUDE_FAILED = "F0006", "include-failed",
            "The file named by INCLUDE could not be read, or it includes itself.";
        MISPLACED_STATEMENT = "F0007", "misplaced-statement",
            "The statement may not stand here: specification statements come first, then nested subprograms and statement functions, then executable statements.";
        UNSUPPORTED = "F0008", "unsupported",
            "The statement is right, but this version of Farfel does not handle it yet.";
        CONSTRUCT_NAME = "F0009", "construct-name",
            "The name of a construct stands before its first statement, with a colon, and again after its END; CYCLE and EXIT name a construct around them.";
        PREPROCESSOR = "F0010", "preprocessor",
            "The preprocessor could not go through the file: a name, a condition or a file that it needs is missing or wrong.";
        UNDECLARED = "F0101", "undeclared",
            "Under IMPLICIT NONE every name needs a declaration.";
        CONFLICTING_DECLARATION = "F0102", "conflicting-declaration",
            "A name is declared twice in ways that exclude each other.";
        ARGUMENT_MISMATCH = "F0103", "argument-mismatch", Warn,
            "A call does not fit the subprogram it calls: the number of arguments, a procedure where data is wanted or the reverse, CHARACTER where a number is wanted. Compilers that see both only warn, so old code is full of it; what runs then is undefined. In Farfel sources (.ff) this is an error unless a setting says otherwise.";
        TYPE_MISMATCH = "F0104", "type-mismatch",
            "Operands, or the two sides of an assignment, are of types that do not go together.";
        DUPLICATE_UNIT = "F0105", "duplicate-unit",
            "Two program units have the same name.";
        NOT_ASSIGNABLE = "F0106", "not-assignable",
            "Only variables, array elements, substrings and the function's own result can be assigned.";
        UNKNOWN_PROCEDURE = "F0107", "unknown-procedure", Warn,
            "No program unit, nested subprogram, intrinsic function or declared array has this name. Where a library provides it, EXTERNAL says so. In Farfel sources (.ff) this is an error unless a setting says otherwise.";
        NOT_A_PROCEDURE = "F0108", "not-a-procedure",
            "The name is called like a procedure but it is a variable.";
        RANK_MISMATCH = "F0109", "rank-mismatch",
            "An array is used with a number of subscripts that differs from its declaration, or with an array of another shape, or where a scalar is wanted.";
        NOT_A_VALUE = "F0110", "not-a-value",
            "A procedure or a NAMELIST group is used where a value is wanted. Functions need their arguments, if only `()`; only an actual argument can be a procedure itself.";
        PACKAGE_CONFLICT = "F0111", "package-conflict",
            "Two packages have a name, and it cannot be told which of them is meant: a subprogram that two libraries define, or a COMMON block of a library in a package that uses it. Each package has its own COMMON blocks.";
        BAD_CONSTANT = "F0140", "bad-constant", Warn,
            "An operation on constants has no value: it divides by zero, or the result does not fit its type.";
        NOT_CONSTANT = "F0141", "not-constant",
            "Only constants can stand here: values of PARAMETER and DATA, sizes of what lies in COMMON, in EQUIVALENCE or in a main program.";
        OUT_OF_BOUNDS = "F0142", "out-of-bounds", Warn,
            "A constant subscript is not within the bounds of its array, or a substring not within its variable. The last bound of a dummy array that is `*` or `1` counts as open.";
        ZERO_STEP = "F0143", "zero-step",
            "The step of a DO loop is zero, so that the loop would never end.";
        EQUIVALENCE_CONFLICT = "F0144", "equivalence-conflict",
            "EQUIVALENCE statements, together with COMMON, want a variable at two places.";
        COMMON_EXTENDED_LEFT = "F0145", "common-extended-left",
            "EQUIVALENCE can make a COMMON block longer at its end, never before its first variable.";
        COMMONS_TIED = "F0146", "commons-tied",
            "EQUIVALENCE cannot make variables of two COMMON blocks one, and not two of one block.";
        DATA_COUNT = "F0147", "data-count",
            "A DATA statement has as many values as there are elements to initialise.";
        DATA_TYPE = "F0148", "data-type",
            "An initial value is of a type that does not go with its variable: numbers go with numbers, LOGICAL with LOGICAL, CHARACTER with CHARACTER. Hollerith constants go with all.";
        NO_INITIAL_VALUE = "F0149", "no-initial-value",
            "Dummy arguments, function results, and arrays whose size is not constant have no initial value.";
        ESCAPING_CLOSURE = "F0201", "escaping-closure",
            "A nested subprogram is used where its surroundings cannot follow it.";
        UNRESOLVED_DUMMY = "F0202", "unresolved-dummy",
            "A nested subprogram is passed to a procedure whose text is not known, so that no copy can be made that takes its surroundings along.";
        ENDLESS_SPECIALIZATION = "F0203", "endless-specialization",
            "A procedure passes itself on in ever larger closures, so that the copies would never end.";
        SHARED_ARGUMENT = "F0204", "shared-argument", Warn,
            "A nested subprogram uses a variable of its surroundings, and gets it, a part of it or something that shares its storage as an argument, too. Where it assigns one of the two, Fortran forbids that, in nested subprograms as elsewhere. A variable that is passed as a whole, with the same type and shape, becomes one variable; in all other cases a compiler may keep the value under one name when it changes under the other.";
        AD_NOT_DIFFERENTIABLE = "F0301", "not-differentiable",
            "Only REAL, DOUBLE PRECISION and COMPLEX variables have tangents and cotangents.";
        AD_NOT_COMPUTED = "F0302", "not-computed",
            "The closing of an AD block names a variable that the block does not compute.";
        AD_JUMP = "F0303", "ad-jump",
            "An AD block is entered at its top and left at its bottom; GOTO into or out of it, RETURN, ENTRY and alternate returns are not allowed.";
        AD_UNKNOWN_PROCEDURE = "F0304", "ad-unknown-procedure", Warn,
            "A derivative needs the text of a procedure that is not known here.";
        AD_UNSUPPORTED = "F0305", "ad-unsupported", Warn,
            "The chosen AD tool cannot differentiate this construct yet.";
        AD_RECURSION = "F0306", "ad-recursion",
            "A derivative would be needed to generate itself.";
        AD_LOST_DERIVATIVE = "F0307", "lost-derivative", Warn,
            "A value that carries a derivative passes through something that drops it, such as an INTEGER.";
        AD_TOOL = "F0308", "ad-tool", Warn,
            "The AD tool reports something about the program, or it failed, or what it wrote cannot be used. The message says in its own words what it is, with its own code where it has one.";
        AD_TWICE = "F0309", "given-twice",
            "An opening gives the derivative of a variable twice, or a closing assigns two derivatives to one destination, so that the first is lost. The assignments of a list are carried out in their order: a whole array first and single elements after it is fine.";
        GIVEN_DERIVATIVE = "F0310", "given-derivative",
            "A comment `!farfel: derivative(…)` or a setting names the subprograms that compute the derivatives of a procedure, and something in it is wrong: the procedure is not there, an argument is none, or the argument list of a derivative does not fit. The derivative of P(A, N, X) with derivatives of A and X is P_D(A, AD, N, X, XD): each argument that has a derivative is followed by it, and a function becomes a subroutine with the result and its derivative as its last arguments.";
        AD_OUTPUT = "F0311", "active-output", Warn,
            "A value that carries a derivative is written to a file or to a CHARACTER variable. What is read back from there has derivative zero. Values that are written to the standard output (PRINT, WRITE to * or 6) are no cause for a warning.";
        LOOP_MARK = "F0312", "loop-mark",
            "A comment `!farfel: checkpoint(n)`, `!farfel: fixed-point` or `!farfel: independent` says how the adjoint of the DO loop on the next line is made. It stands before a loop, once, and for a loop that is left at its end only.";
        AD_PASSED_COMMON = "F0313", "ad-passed-common",
            "A procedure is passed as an argument and uses COMMON variables that carry derivatives. Whoever calls it there knows of its arguments only. AD blocks, and `farfel tapenade` where it can, differentiate copies of the subprograms that it is passed to, in which the procedure is called by its name. That is not possible where such a subprogram has ENTRY points.";
        COMPILER = "F0401", "compiler", Warn,
            "The Fortran compiler refused the program, or warns of it.";
        UNKNOWN_LINT = "F0500", "unknown-lint",
            "A setting or a comment `!farfel: allow(NAME)` names no warning. `farfel explain` lists all of them. What is always an error cannot be allowed.";
        SUSPICIOUS_LAYOUT = "F0501", "suspicious-layout", Warn,
            "The statement means something else than it looks like: blanks mean nothing in fixed form, and some labels have no effect.";
        ARGUMENT_TYPE = "F0502", "argument-type", Warn,
            "An actual argument has another type than the dummy argument. The subprogram then reads the same storage as something else, which old code does on purpose: a COMPLEX array as pairs of REAL, work space for several types. No derivative goes through it. In Farfel sources (.ff) this is an error unless a setting says otherwise.";
        ARGUMENT_SHAPE = "F0503", "argument-shape", Warn,
            "An actual argument is smaller than the dummy argument: a scalar where an array is wanted, or an array with fewer elements. An array element is fine: the array begins there. In Farfel sources (.ff) this is an error unless a setting says otherwise.";
        USED_BEFORE_SET = "F0504", "used-before-set", Warn,
            "A local variable is read where no statement before, on any way there, can have given it a value. What it holds then is left over from something else. Variables in COMMON, EQUIVALENCE, DATA and SAVE are not looked at.";
        UNUSED_VARIABLE = "F0505", "unused-variable", Allow,
            "A variable is declared, and no statement uses it.";
        UNUSED_ARGUMENT = "F0506", "unused-argument", Allow,
            "A subprogram does not use one of its dummy arguments.";
        UNREACHABLE_CODE = "F0507", "unreachable-code", Warn,
            "No way leads from the start of the program unit to this statement.";
        RESULT_NOT_SET = "F0508", "result-not-set", Warn,
            "No statement gives the function's result a value before the function returns.";
        UNUSED_LABEL = "F0509", "unused-label", Allow,
            "No statement refers to this label.";
        COMMON_PADDING = "F0510", "common-padding", Warn,
            "A variable in COMMON would lie where its type should not begin, for instance a DOUBLE PRECISION behind one INTEGER. Compilers leave unused bytes before it, so that units which divide the block in another way see something else.";
        COMMON_SIZE = "F0511", "common-size", Warn,
            "A named COMMON block has the same size in all units of a program. Blank COMMON may differ.";
        COMMON_TYPE_MISMATCH = "F0512", "common-type-mismatch", Warn,
            "Two units divide a COMMON block so that the same bytes are values of different types. What one unit stores makes no sense to the other one.";
        DATA_TRUNCATED = "F0513", "data-truncated", Warn,
            "An initial value has more characters than its variable takes.";
        INITIALISED_TWICE = "F0514", "initialised-twice", Warn,
            "A variable has two initial values, perhaps under two names that share storage. Which of them it gets is up to the compiler.";
        COMMON_INITIALISED = "F0515", "common-initialised", Warn,
            "Standard Fortran gives initial values to variables in named COMMON blocks by BLOCK DATA only, and to blank COMMON not at all. Compilers allow it.";
        IMPLICIT_TYPING = "F0520", "implicit-typing", Allow,
            "The name is not declared; its type follows from its first letter.";
        OBSOLESCENT = "F0521", "obsolescent", Allow,
            "Later standards have removed the statement or advise against it.";
        RECURSION = "F0522", "recursion", Warn,
            "A subprogram calls itself, directly or through others, and is not declared RECURSIVE. FORTRAN 77 does not allow that; what its local variables hold after the call depends on the compiler.";
        LOOP_VARIABLE = "F0523", "loop-variable",
            "The variable of a DO loop is set inside of the loop. How often the loop runs is known when it begins.";
        INTENT = "F0524", "intent", Warn,
            "A dummy argument with INTENT(IN) is set: an error where a statement does so, a warning where it is passed to a procedure that may.";
        CONSTANT_SET = "F0525", "constant-set", Warn,
            "A constant is passed for a dummy argument that the procedure sets, whatever way it takes. Farfel passes a copy, so that the value is lost; with other compilers that changes the constant for all later uses, or stops the program.";
        SHARED_LOOP_VARIABLE = "F0526", "shared-loop-variable", Warn,
            "A nested subprogram that is called in a loop counts a loop of its own by the same variable: an undeclared name is that of the unit around. The loop outside goes on with a variable that has been changed. Declare the variable in the nested subprogram, so that it has one of its own.";
        TEXT_CUT_OFF = "F0527", "text-cut-off", Warn,
            "A line of fixed form goes on beyond its last column, which is 72 unless a setting says otherwise, with what looks like a part of the statement. It is not read, and the statement is complete without it. Numbers of cards in columns 73 to 80 are no cause for a warning.";
        UNKNOWN_DIRECTIVE = "F0528", "unknown-directive", Warn,
            "A comment `!farfel: NAME` names no directive and has no effect. The directives are `checkpoint`, `constant`, `derivative`, `fixed-point`, `independent`, `library`, the levels of warnings `allow`, `warn` and `deny`, and, in the first lines of a file, `form`, `line-length` and `debug-lines`.";
        FAULT_OF_FARFEL = "F0901", "fault-of-farfel",
            "A pass of Farfel has made a program that breaks the rules of Farfel's own representation, so that what it computes could be wrong. The program that was compiled is not at fault. `--verify-passes` (for a build by cargo, FARFEL_VERIFY_PASSES=1) looks at the program after every pass and finds this. Please report it with the message and, if possible, the source.";
    }
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
