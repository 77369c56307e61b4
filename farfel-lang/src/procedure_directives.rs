//! Directives about derivatives: which subprograms compute the derivatives of a procedure, and what
//! is constant for differentiation.
//!
//! ```fortran
//! !farfel: derivative(SOLVE(N, A, B, X), tangent = SOLVE_D, adjoint = SOLVE_B, in = (A, B), out = (X))
//! !farfel: constant(TABLE)
//! !farfel: constant begin
//! !farfel: external(EXCHANGE(A, N, WORK), reads = (A, N), writes = (A, WORK))
//! ```
//!
//! The last one describes a procedure whose source is not part of the program: what it does with
//! its arguments, so that it need not be assumed to change all of them. Tapenade's
//! `C$AD DO-NOT-DIFF` and `C$AD END-DO-NOT-DIFF` are understood as well: the statements between
//! them are constant and leave derivatives unchanged, whereas Farfel's own regions set them to
//! zero.
//!
//! Between `!farfel: checkpoint begin` and `!farfel: checkpoint end`, or Tapenade's `C$AD CHECKPOINT-START` and
//! `C$AD CHECKPOINT-END`, are statements that an adjoint executes again.
//!
//! A directive about a procedure may appear in any program unit, or before one; without the name of
//! a procedure it applies to the unit in which it appears. The procedure may be a dummy procedure of
//! that unit (`dummies`); lowering then binds the directive with it. `read` finds the directives when a file
//! is parsed; `attach_to_callers` checks them when names are resolved, and attaches each to the
//! units that call the procedure, so that these can reach its derivatives.

mod dummies;

use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    ArgumentUsage, Attribute, Name, ProcedureDirective, Program, SpecKind, StmtKind, StorageClass,
    SymId, Symbol, Type, Unit, UnitKind, for_each_reference, walk_block,
};
use crate::source::Span;
use crate::types::type_of;
use std::collections::BTreeMap;

/// The form of a directive about a procedure without source.
const EXTERNAL_FORM: &str = "the form is `external(P(A, B, N), reads = (A, N), writes = (B))`";

/// The form of a directive about derivatives.
const DERIVATIVE_FORM: &str = "the form is `derivative(P(A, B, X), tangent = P_D, adjoint = P_B, in = (A, B), out = (X))`; without `P(…)` it applies to the subprogram that contains it";

fn error(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(&rules::GIVEN_DERIVATIVE, span, message)
}

// ---- Reading. ----

/// Finds the directives in the comments of a unit and of the units nested in it.
pub(crate) fn read(unit: &mut Unit, errors: &mut Vec<Diagnostic>) {
    let mut found = Vec::new();
    let mut constants = Vec::new();
    let mut look = |text: &str, span: Span| {
        let word = text.trim_start_matches(['!', ' ', '\t']);
        if word.starts_with(['F', 'f']) {
            match directive(word, span) {
                Some(Ok(Directive::External(directive))) => found.push(directive),
                Some(Ok(Directive::Derivative(mut directive))) => {
                    if directive.procedure.is_empty() {
                        directive.procedure = unit.name.clone();
                    }
                    found.push(directive);
                }
                Some(Ok(Directive::Library(names))) => {
                    found.extend(names.into_iter().map(|n| ProcedureDirective {
                        tangent: Some(format!("{BUILT_IN_PREFIX}{n}_D").into()),
                        adjoint: Some(format!("{BUILT_IN_PREFIX}{n}_B").into()),
                        ..ProcedureDirective::constant(n, span)
                    }));
                }
                Some(Ok(Directive::Constant(names))) if names.is_empty() => {
                    found.push(ProcedureDirective::constant(unit.name.clone(), span));
                }
                Some(Ok(Directive::Constant(names))) => {
                    constants.extend(names.into_iter().map(|n| (n, span)));
                }
                Some(Err(d)) => errors.push(*d),
                // Lowering handles them.
                Some(Ok(Directive::Region(_))) | None => {}
            }
        }
    };
    unit.for_each_comment(&mut look);
    let names = constants.into_iter();
    found.extend(names.map(|(n, span)| ProcedureDirective::constant(n, span)));
    unit.directives = found;
    for nested in &mut unit.nested {
        read(nested, errors);
    }
}

/// The prefix of the names of derivatives that Farfel itself provides.
const BUILT_IN_PREFIX: &str = "FARFEL_";

enum Directive {
    Derivative(ProcedureDirective),
    /// What a procedure without source does with its arguments.
    External(ProcedureDirective),
    /// Library procedures whose derivatives Farfel provides.
    Library(Vec<Name>),
    /// Names that are constant; if there are none, the unit itself.
    Constant(Vec<Name>),
    /// The beginning or end of a region.
    Region(RegionBoundary),
}

/// What the directives around some statements say about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegionKind {
    /// They are constant for differentiation.
    Constant,
    /// Reverse sweeps execute them again, so that less is on the tape.
    Checkpoint,
}

/// Where a region of statements begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegionBoundary {
    /// The region begins after this comment.
    Begin {
        kind: RegionKind,
        /// Whether the derivatives of the variables that constant statements change stay unchanged.
        leaves: bool,
    },
    /// The region ends before this comment.
    End(RegionKind),
}

impl RegionBoundary {
    const fn begin(kind: RegionKind) -> Self {
        RegionBoundary::Begin {
            kind,
            leaves: false,
        }
    }

    /// Returns the boundary that the words of Farfel's own directive mean.
    fn of(kind: RegionKind, words: &DirectiveText) -> Option<Self> {
        match words.0.iter().rev().collect::<String>().trim() {
            "BEGIN" => Some(Self::begin(kind)),
            "END" => Some(RegionBoundary::End(kind)),
            _ => None,
        }
    }
}

/// Returns the boundary of a region that a comment marks, if it does.
pub(crate) fn region_boundary(text: &str) -> Option<RegionBoundary> {
    let word = text.trim_start_matches(['!', ' ', '\t']);
    if let Some(tapenade) = word.strip_prefix('$') {
        return tapenade_region_boundary(tapenade);
    }
    if !word.starts_with(['F', 'f']) {
        return None;
    }
    match directive(word, Span::NONE) {
        Some(Ok(Directive::Region(boundary))) => Some(boundary),
        _ => None,
    }
}

/// Like [`region_boundary`], for the text after the `$` of a Tapenade directive.
fn tapenade_region_boundary(text: &str) -> Option<RegionBoundary> {
    let mut words = text.split_ascii_whitespace();
    let ad = words.next()?;
    let word = words.next().filter(|_| ad.eq_ignore_ascii_case("AD"))?;
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    match () {
        () if is("DO-NOT-DIFF") => Some(RegionBoundary::Begin {
            kind: RegionKind::Constant,
            leaves: true,
        }),
        () if is("END-DO-NOT-DIFF") => Some(RegionBoundary::End(RegionKind::Constant)),
        () if is("CHECKPOINT-START") => Some(RegionBoundary::begin(RegionKind::Checkpoint)),
        () if is("CHECKPOINT-END") => Some(RegionBoundary::End(RegionKind::Checkpoint)),
        () => None,
    }
}

/// Parses a comment; `None` if it is not one of these directives.
fn directive(text: &str, span: Span) -> Option<Result<Directive, Box<Diagnostic>>> {
    let (word, rest) = text.split_once(':')?;
    if !word.trim().eq_ignore_ascii_case("farfel") {
        return None;
    }
    let mut words = DirectiveText::of(rest);
    let first = words.name()?;
    match first.as_str() {
        "DERIVATIVE" => Some(match derivative(&mut words, span) {
            Some(directive) => Ok(Directive::Derivative(directive)),
            None => Err(Box::new(
                error(span, "this directive is not understood").help(DERIVATIVE_FORM),
            )),
        }),
        "EXTERNAL" => Some(match external(&mut words, span) {
            Some(directive) => Ok(Directive::External(directive)),
            None => Err(Box::new(
                error(span, "this directive is not understood").help(EXTERNAL_FORM),
            )),
        }),
        "LIBRARY" => {
            let names = words.names().filter(|l| !l.is_empty() && words.done());
            Some(names.map(Directive::Library).ok_or_else(|| {
                Box::new(
                    error(span, "this directive is not understood")
                        .help("the form is `library(DGEMM, DGETRF)`"),
                )
            }))
        }
        "CONSTANT" => {
            if let Some(boundary) = RegionBoundary::of(RegionKind::Constant, &words) {
                return Some(Ok(Directive::Region(boundary)));
            }
            let names = match words.done() {
                true => Some(Vec::new()),
                false => words.names().filter(|l| !l.is_empty() && words.done()),
            };
            Some(names.map(Directive::Constant).ok_or_else(|| {
                Box::new(
                    error(span, "this directive is not understood")
                        .help("the form is `constant(NAME, NAME)`, `constant` for the subprogram that contains it, or `constant begin` and `constant end` around statements"),
                )
            }))
        }
        // Other directives with this name are about loops and calls.
        "CHECKPOINT" => RegionBoundary::of(RegionKind::Checkpoint, &words)
            .map(|boundary| Ok(Directive::Region(boundary))),
        _ => None,
    }
}

fn derivative(words: &mut DirectiveText, span: Span) -> Option<ProcedureDirective> {
    let mut directive = ProcedureDirective::constant(Name::default(), span);
    words.take('(')?;
    loop {
        let word = words.name()?;
        if words.take('=').is_some() {
            match word.as_str() {
                "TANGENT" => directive.tangent = Some(words.name()?),
                "ADJOINT" => directive.adjoint = Some(words.name()?),
                "IN" => directive.inputs = Some(words.names()?),
                "SETS" => directive.sets = words.names()?,
                "VALUES" => directive.values = Some(words.names()?),
                "OUT" => directive.outputs = Some(words.names()?),
                _ => return None,
            }
        } else if directive.procedure.is_empty() {
            directive.procedure = word;
            if words.peek() == Some('(') {
                directive.arguments = Some(words.names()?);
            }
        } else {
            return None;
        }
        if words.take(',').is_none() {
            words.take(')')?;
            let any = directive.tangent.is_some() || directive.adjoint.is_some();
            return (any && words.done()).then_some(directive);
        }
    }
}

fn external(words: &mut DirectiveText, span: Span) -> Option<ProcedureDirective> {
    words.take('(')?;
    let name = words.name()?;
    let arguments = words.names().filter(|_| words.peek() != Some('('))?;
    let (mut reads, mut writes) = (None, None);
    while words.take(',').is_some() {
        let list = match words.name()?.as_str() {
            "READS" => &mut reads,
            "WRITES" => &mut writes,
            _ => return None,
        };
        words.take('=')?;
        if list.replace(words.names()?).is_some() {
            return None;
        }
    }
    words.take(')')?;
    if !words.done() || reads.is_none() && writes.is_none() {
        return None;
    }
    let lists = |list: &Option<Vec<Name>>, n: &Name| list.as_ref().is_some_and(|l| l.contains(n));
    let usage = arguments.iter().map(|n| ArgumentUsage {
        reads: lists(&reads, n),
        writes: lists(&writes, n),
    });
    Some(ProcedureDirective {
        inputs: reads.clone(),
        outputs: writes.clone(),
        arguments: Some(arguments.clone()),
        ..ProcedureDirective::described(name, usage.collect(), span)
    })
}

/// Reads names and symbols from a text, ignoring blanks and case.
pub(crate) struct DirectiveText(Vec<char>);

impl DirectiveText {
    pub(crate) fn of(text: &str) -> DirectiveText {
        DirectiveText(text.to_ascii_uppercase().chars().rev().collect())
    }

    pub(crate) fn peek(&mut self) -> Option<char> {
        while self.0.last().is_some_and(|c| c.is_whitespace()) {
            self.0.pop();
        }
        self.0.last().copied()
    }

    pub(crate) fn done(&mut self) -> bool {
        self.peek().is_none()
    }

    pub(crate) fn take(&mut self, sign: char) -> Option<()> {
        if self.peek()? == sign {
            self.0.pop();
            return Some(());
        }
        None
    }

    pub(crate) fn name(&mut self) -> Option<Name> {
        self.peek().filter(|c| c.is_ascii_alphabetic())?;
        let mut name = String::new();
        while let Some(c) = self.0.last().copied()
            && (c.is_ascii_alphanumeric() || c == '_' || c == '$')
        {
            name.push(c);
            self.0.pop();
        }
        Some(name.into())
    }

    /// Reads digits and whatever else may be part of a real constant.
    pub(crate) fn number(&mut self) -> Option<String> {
        self.peek().filter(|c| c.is_ascii_digit() || *c == '.')?;
        let mut number = String::new();
        while let Some(c) = self.0.last().copied()
            && (c.is_ascii_digit()
                || matches!(c, '.' | 'E' | 'D')
                || matches!(c, '+' | '-') && number.ends_with(['E', 'D']))
        {
            number.push(c);
            self.0.pop();
        }
        Some(number)
    }

    /// Reads `(A, B)`, or a single name without parentheses.
    fn names(&mut self) -> Option<Vec<Name>> {
        if self.take('(').is_none() {
            return Some(vec![self.name()?]);
        }
        let mut names = Vec::new();
        if self.take(')').is_some() {
            return Some(names);
        }
        loop {
            names.push(self.name()?);
            if self.take(',').is_none() {
                self.take(')')?;
                return Some(names);
            }
        }
    }
}

// ---- Settling. ----

/// The directives by procedure. A procedure without source can have two: a description (`true`), and one
/// about its derivative.
type Settled = BTreeMap<(Name, bool), ProcedureDirective>;

/// Checks the directives of a resolved program, completes them, and attaches each to the units that
/// call the procedure.
pub(crate) fn attach_to_callers(program: &mut Program, errors: &mut Vec<Diagnostic>) {
    let mut written = Vec::new();
    for at in 0..program.units.len() {
        let mut of_dummies = Vec::new();
        collect(
            &mut program.units[at],
            &mut written,
            &mut of_dummies,
            errors,
        );
        if !of_dummies.is_empty() {
            let mut unit = program.units[at].clone();
            dummies::settle(&mut unit, of_dummies, program, errors);
            program.units[at] = unit;
        }
    }
    if written.is_empty() {
        return;
    }
    let mut settled = Settled::new();
    // A description comes first: it completes a directive about the derivative.
    let (descriptions, others): (Vec<_>, Vec<_>) =
        written.into_iter().partition(|g| g.usage.is_some());
    for directive in descriptions.into_iter().chain(others) {
        let name = directive.procedure.clone();
        let describes = directive.usage.is_some();
        let description = settled.get(&(name.clone(), true));
        let contradicts = description.filter(|_| directive.is_constant() && !describes);
        let other = contradicts.or(settled.get(&(name.clone(), describes)));
        if let Some(other) = other {
            let message = match other.usage.is_some() {
                true => format!("two directives say what {name} does"),
                false => format!("the derivative of {name} is given twice"),
            };
            errors.push(error(directive.span, message).related(other.span, "here, too"));
        } else if let Some(directive) = complete(directive, description, program, errors) {
            settled.insert((name, describes), directive);
        }
    }
    let known = |name: &Name| program.unit(name).is_some();
    let described: BTreeMap<&Name, &ProcedureDirective> = (settled.iter())
        .filter(|((name, _), directive)| directive.arguments.is_some() && !known(name))
        .map(|((name, _), directive)| (name, directive))
        .collect();
    for unit in &program.units {
        check_calls(unit, &described, errors);
    }
    for unit in &mut program.units {
        attach(unit, &settled);
    }
}

/// Checks that calls of procedures without source have the arguments that the directive lists:
/// nothing else says what such a procedure does with others.
fn check_calls(
    unit: &Unit,
    described: &BTreeMap<&Name, &ProcedureDirective>,
    errors: &mut Vec<Diagnostic>,
) {
    for_each_reference(&unit.body, &mut |call| {
        let symbol = &unit.symbols[call.procedure];
        let directive = described
            .get(&symbol.name)
            .filter(|_| symbol.storage_class == StorageClass::Global);
        let expected = directive.and_then(|g| Some((g.span, g.arguments.as_ref()?.len())));
        if let Some((directive, expected)) = expected
            && expected != call.args.len()
        {
            let message = format!(
                "{} has {} here, and {expected} in the directive that describes it",
                symbol.name,
                arguments(call.args.len()),
            );
            errors.push(error(call.span, message).related(directive, "the directive"));
        }
    });
    for nested in &unit.nested {
        check_calls(nested, described, errors);
    }
}

fn arguments(n: usize) -> String {
    match n {
        1 => "1 argument".to_owned(),
        n => format!("{n} arguments"),
    }
}

/// Collects the directives about procedures, and applies those about variables.
fn collect(
    unit: &mut Unit,
    written: &mut Vec<ProcedureDirective>,
    of_dummies: &mut Vec<(SymId, ProcedureDirective)>,
    errors: &mut Vec<Diagnostic>,
) {
    let mut all = std::mem::take(&mut unit.directives);
    let mut nested = std::mem::take(&mut unit.nested);
    nested
        .iter_mut()
        .for_each(|n| dummies::of_host(unit, n, &mut all));
    unit.nested = nested;
    for directive in all {
        if let Some(dummy) = dummies::dummy(unit, &directive) {
            of_dummies.push((dummy, directive));
            continue;
        }
        let named = unit.symbols.find(&directive.procedure);
        let variable = named.filter(|s| {
            directive.is_constant()
                && unit.symbols[*s].is_variable()
                && unit.name != directive.procedure
        });
        match variable {
            Some(s) => match reason_against_constant(unit, s) {
                None => unit.symbols[s].attributes.insert(Attribute::Constant),
                Some((why, help)) => {
                    let message = format!("{} cannot be constant: {why}", directive.procedure);
                    errors.push(error(directive.span, message).help(help));
                }
            },
            None => written.push(directive),
        }
    }
    for nested in &mut unit.nested {
        let mut theirs = Vec::new();
        collect(nested, written, &mut theirs, errors);
        for (_, directive) in theirs {
            let message = format!(
                "{} is an argument of the nested subprogram {}: its derivative cannot be given",
                directive.procedure, nested.name
            );
            let help = "make a subprogram of its own of it, or differentiate with a procedure of the program";
            errors.push(error(directive.span, message).help(help));
        }
    }
}

/// Returns why a variable cannot be constant for differentiation, and the help for it.
fn reason_against_constant(unit: &Unit, s: SymId) -> Option<(&'static str, &'static str)> {
    let symbol = &unit.symbols[s];
    let copy = "assign it to a variable of its own, and make that constant";
    match symbol.storage_class {
        StorageClass::Common(_) => return Some(("it lies in COMMON", copy)),
        StorageClass::Host(_) => {
            let help = "say so in the program unit to which it belongs";
            return Some(("it belongs to the surroundings", help));
        }
        StorageClass::Dummy if assigned(unit).contains(&symbol.name) => {
            return Some(("it is an argument that gets a value here", copy));
        }
        _ => {}
    }
    let tied = unit.specs.iter().any(|spec| match &spec.kind {
        SpecKind::Equivalence(groups) => groups.iter().flatten().any(|e| e.base() == Some(s)),
        _ => false,
    });
    if tied {
        return Some(("it shares its storage", copy));
    }
    let mut asked = false;
    walk_block(&unit.body, &mut |st| {
        if let StmtKind::Ad(block) = &st.kind {
            for item in block.opening.iter().chain(&block.closing) {
                item.for_each_assign(&mut |a| asked |= a.var.base() == Some(s));
            }
        }
    });
    asked.then_some((
        "an AD block asks for its derivative",
        "take it out of the directive, or out of the block",
    ))
}

/// Whether a unit, or one nested in it, calls or passes on a global procedure.
fn mentions(unit: &Unit, name: &str) -> bool {
    let symbol = unit.symbols.find(name).map(|s| &unit.symbols[s]);
    symbol.is_some_and(|s| s.storage_class == StorageClass::Global && s.class.is_procedure())
        || unit.nested.iter().any(|n| mentions(n, name))
}

fn attach(unit: &mut Unit, settled: &Settled) {
    for ((name, _), directive) in settled {
        if mentions(unit, name) {
            unit.directives.push(directive.clone());
        }
    }
    for nested in &mut unit.nested {
        attach(nested, settled);
    }
}

/// Completes a directive from the source of the procedure, or from the description of one without source.
fn complete(
    mut directive: ProcedureDirective,
    description: Option<&ProcedureDirective>,
    program: &Program,
    errors: &mut Vec<Diagnostic>,
) -> Option<ProcedureDirective> {
    let name = directive.procedure.clone();
    let span = directive.span;
    let before = errors.len();
    let text = program.unit(&name);
    if text.is_none() && !program.units.iter().any(|u| mentions(u, &name)) {
        let taker = program.units.iter().find_map(|u| {
            let dummy = u.symbols.find(&name).map(|s| &u.symbols[s])?;
            (dummy.storage_class == StorageClass::Dummy && dummy.class.is_procedure())
                .then_some((u, dummy))
        });
        if let Some((unit, dummy)) = taker {
            let message = format!(
                "{name} is an argument of {}, and this directive is about procedures of the program",
                unit.name
            );
            let d = error(span, message).related(dummy.span, "the argument");
            errors.push(d.help(match directive.is_constant() {
                true => "put `!farfel: constant begin` and `!farfel: constant end` around the statements that call it",
                false => "write it in the subprogram that has the argument",
            }));
            return None;
        }
        let known = program.units.iter().map(|u| u.name.as_str());
        let mut d = error(
            span,
            format!("no procedure {name} is called in this program"),
        );
        if let Some(close) = crate::spelling::closest(&name, known) {
            d = d.help(format!("did you mean {close}?"));
        }
        errors.push(d);
        return None;
    }
    if directive.is_constant() {
        return Some(directive);
    }
    if directive.usage.is_some() {
        if let Some(unit) = text {
            let message = format!(
                "{name} is part of the program, so that its text says what it does with its arguments"
            );
            let d = error(span, message).related(unit.name_span, "defined here");
            errors.push(d.help("take the directive out"));
            return None;
        }
        let arguments = directive.arguments.iter().flatten();
        let arguments: Vec<&Name> = arguments.collect();
        for listed in directive.inputs.iter().chain(&directive.outputs).flatten() {
            if !arguments.contains(&listed) {
                let message = format!("{listed} is not an argument of {name}");
                errors.push(error(span, message));
            }
        }
        return (errors.len() == before).then_some(directive);
    }
    if let Some(description) = description {
        complete_from_description(&mut directive, description, program, errors);
        if errors.len() > before {
            return None;
        }
    }
    match text {
        Some(unit) => {
            if !matches!(unit.kind, UnitKind::Function | UnitKind::Subroutine) {
                errors.push(error(span, format!("{name} is not a subprogram")));
                return None;
            }
            complete_from_source(&mut directive, unit, errors);
        }
        None if directive.arguments.is_none()
            || directive.inputs.is_none()
            || directive.outputs.is_none() =>
        {
            errors.push(
                error(
                    span,
                    format!("the text of {name} is not known, so its arguments must be given"),
                )
                .help(DERIVATIVE_FORM),
            );
        }
        None => {}
    }
    check_names(&directive, errors);
    if errors.len() > before {
        return None;
    }
    for (derivative, adjoint) in [(&directive.tangent, false), (&directive.adjoint, true)] {
        let Some(derivative) = derivative else {
            continue;
        };
        match program.unit(derivative) {
            Some(unit) => check_derivative_arguments(&directive, unit, text, adjoint, errors),
            // Farfel provides it.
            None if derivative.starts_with(BUILT_IN_PREFIX) => {}
            None => {
                let message =
                    format!("{derivative}, a derivative of {name}, is not in the program");
                errors.push(
                    Diagnostic::warning(&rules::UNKNOWN_PROCEDURE, span, message)
                        .label("must be found by the linker"),
                );
            }
        }
    }
    (!errors[before..].iter().any(Diagnostic::is_error)).then_some(directive)
}

/// Takes what a directive about the derivative of a procedure without source leaves out from the description
/// of that procedure, and checks that they agree.
fn complete_from_description(
    directive: &mut ProcedureDirective,
    description: &ProcedureDirective,
    program: &Program,
    errors: &mut Vec<Diagnostic>,
) {
    let (Some(usage), Some(named)) = (&description.usage, &description.arguments) else {
        return;
    };
    let name = directive.procedure.clone();
    let span = directive.span;
    let arguments = directive.arguments.get_or_insert_with(|| named.clone());
    if arguments.len() != named.len() {
        let message = format!(
            "{name} has {} here, and {} in the directive that describes it",
            self::arguments(arguments.len()),
            named.len()
        );
        return errors.push(error(span, message).related(description.span, "the directive"));
    }
    let passed = passed_with_derivatives(program, &name, arguments.len());
    let those = |is: &dyn Fn(usize) -> bool| -> Vec<Name> {
        let found = arguments.iter().enumerate().filter(|(i, _)| is(*i));
        found.map(|(_, n)| n.clone()).collect()
    };
    let reads = those(&|i| usage[i].reads);
    let writes = those(&|i| usage[i].writes);
    directive
        .inputs
        .get_or_insert_with(|| those(&|i| usage[i].reads && passed[i]));
    let outputs = directive
        .outputs
        .get_or_insert_with(|| those(&|i| usage[i].writes && passed[i]));
    if directive.sets.is_empty() {
        directive.sets = writes
            .iter()
            .filter(|n| !outputs.contains(n))
            .cloned()
            .collect();
    }
    // The result of a function is an output that the description does not list.
    let is_argument = |n: &&Name| directive.arguments.iter().flatten().any(|a| a == *n);
    let assigned = directive.outputs.iter().flatten().chain(&directive.sets);
    let unlisted = (directive
        .inputs
        .iter()
        .flatten()
        .map(|n| (n, &reads, "reads")))
    .chain(assigned.map(|n| (n, &writes, "writes")))
    .filter(|(n, list, _)| is_argument(n) && !list.contains(n));
    for (n, _, word) in unlisted {
        let message = format!("{name} {word} {n} here, but not according to its description");
        let d = error(span, message).related(description.span, "the description");
        errors.push(d.help(format!("add {n} to `{word}` there")));
    }
}

/// Which arguments of a procedure get actual arguments of a type with derivatives in all calls.
fn passed_with_derivatives(program: &Program, procedure: &Name, arguments: usize) -> Vec<bool> {
    fn look(unit: &Unit, procedure: &Name, passed: &mut [bool]) {
        for_each_reference(&unit.body, &mut |call| {
            let symbol = &unit.symbols[call.procedure];
            if symbol.name != *procedure || symbol.storage_class != StorageClass::Global {
                return;
            }
            for (passed, arg) in passed.iter_mut().zip(call.args) {
                *passed &= type_of(unit, arg).is_some_and(Type::is_differentiable);
            }
        });
        for nested in &unit.nested {
            look(nested, procedure, passed);
        }
    }
    let mut passed = vec![true; arguments];
    for unit in &program.units {
        look(unit, procedure, &mut passed);
    }
    passed
}

/// Checks that the lists of a directive only name arguments of the procedure, and that its tangent and its
/// adjoint are two procedures: they have the same arguments, and do different things with them.
fn check_names(directive: &ProcedureDirective, errors: &mut Vec<Diagnostic>) {
    let name = &directive.procedure;
    if let Some(tangent) = &directive.tangent
        && directive.adjoint.as_ref() == Some(tangent)
    {
        let message = format!("{tangent} cannot be both the tangent and the adjoint of {name}");
        errors.push(error(directive.span, message));
    }
    let arguments = directive.arguments.as_deref().unwrap_or_default();
    let lists = directive.inputs.iter().chain(&directive.outputs);
    let lists = lists.chain(&directive.values);
    for listed in lists.chain([&directive.sets]).flatten() {
        if !arguments.contains(listed) && listed != name {
            let message = format!("{listed} is not an argument of {name}");
            errors.push(error(directive.span, message));
        }
    }
}

fn differentiable(s: &Symbol) -> bool {
    s.is_variable() && s.ty.is_some_and(Type::is_differentiable)
}

/// Takes the arguments, and the default active ones, from the source of the procedure.
fn complete_from_source(
    directive: &mut ProcedureDirective,
    unit: &Unit,
    errors: &mut Vec<Diagnostic>,
) {
    let span = directive.span;
    let mut names = Vec::new();
    let mut active = Vec::new();
    for arg in &unit.args {
        let Some(s) = arg.sym().map(|s| &unit.symbols[s]) else {
            let message = format!(
                "{} has alternate returns, so that its derivative cannot be given",
                unit.name
            );
            return errors.push(error(span, message));
        };
        if s.class.is_procedure() {
            let message = format!(
                "{} takes the procedure {}, so that its derivative cannot be given",
                unit.name, s.name
            );
            return errors.push(error(span, message).related(s.span, "a procedure").help(
                "give the derivative of a subprogram that calls it with a procedure of its own",
            ));
        }
        names.push(s.name.clone());
        if differentiable(s) {
            active.push(s.name.clone());
        }
    }
    if let Some(written) = directive.arguments.as_ref().filter(|l| **l != names) {
        let message = format!(
            "the arguments of {} are not ({})",
            unit.name,
            written.join(", ")
        );
        errors.push(error(span, message).related(unit.name_span, "defined here"));
    }
    for listed in directive.inputs.iter().chain(&directive.outputs).flatten() {
        if names.contains(listed) && !active.contains(listed) {
            let message = format!("{listed} has a type without derivatives");
            errors.push(error(span, message).related(unit.name_span, "defined here"));
        }
    }
    directive.arguments = Some(names);
    directive.inputs.get_or_insert_with(|| active.clone());
    if directive.outputs.is_none() {
        let assigned = assigned(unit);
        active.retain(|n| assigned.contains(n));
        directive.outputs = Some(active);
    }
}

/// Returns the names of the variables that a unit may assign.
fn assigned(unit: &Unit) -> Vec<Name> {
    let program = Program {
        units: vec![unit.clone()],
    };
    let found = crate::effects::Assigned::of(&program);
    let ids = found.in_unit(unit).into_iter();
    ids.map(|s| unit.symbols[s].name.clone()).collect()
}

/// An argument that a derivative must have.
struct Wanted {
    name: String,
    /// Its type, where that is known; `Some(None)` for what has no type.
    ty: Option<Option<Type>>,
    is_derivative: bool,
}

impl Wanted {
    /// Whether the argument may have a type.
    fn allows(&self, ty: Option<Type>) -> bool {
        match self.ty {
            Some(wanted) => ty == wanted,
            None => !self.is_derivative || ty.is_some_and(Type::is_differentiable),
        }
    }
}

/// Returns the arguments of the derivatives of a procedure. `ty` returns the type of an argument;
/// `result` is that of the result of a function. Types that are not known are `None`.
fn wanted(
    directive: &ProcedureDirective,
    ty: &dyn Fn(usize) -> Option<Option<Type>>,
    result: Option<Option<Option<Type>>>,
) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    let mut add = |name: String, ty, is_derivative| {
        wanted.push(Wanted {
            name,
            ty,
            is_derivative,
        });
    };
    for (i, name) in directive.arguments.iter().flatten().enumerate() {
        add(name.to_string(), ty(i), false);
        if directive.is_active(name) {
            add(format!("the derivative of {name}"), ty(i), true);
        }
    }
    if let Some(ty) = result {
        add("the result".to_owned(), ty, false);
        add("the derivative of the result".to_owned(), ty, true);
    }
    wanted
}

/// Checks the argument list of a derivative whose source is known.
pub(crate) fn check_derivative_arguments(
    directive: &ProcedureDirective,
    derivative: &Unit,
    original: Option<&Unit>,
    adjoint: bool,
    errors: &mut Vec<Diagnostic>,
) {
    let kind = if adjoint { "adjoint" } else { "tangent" };
    let ty = |i: usize| {
        let symbol = original.and_then(|u| Some(&u.symbols[u.args.get(i)?.sym()?]));
        symbol.map(|s| s.ty)
    };
    let function = match original {
        Some(u) => u.kind == UnitKind::Function,
        None => directive.is_active(&directive.procedure),
    };
    let result = function.then(|| original.and_then(|u| Some(u.symbols[u.result?].ty)));
    let wanted = wanted(directive, &ty, result);
    fits_list(directive, derivative, kind, &wanted, errors);
}

/// Like [`fits`], with the arguments that the derivative must have.
fn fits_list(
    directive: &ProcedureDirective,
    derivative: &Unit,
    kind: &str,
    wanted: &[Wanted],
    errors: &mut Vec<Diagnostic>,
) {
    let span = directive.span;
    let place = |d: Diagnostic| d.related(derivative.name_span, "defined here");
    if derivative.kind != UnitKind::Subroutine {
        let message = format!(
            "{}, the {kind} of {}, is not a subroutine",
            derivative.name, directive.procedure
        );
        return errors.push(place(error(span, message)));
    }
    if wanted.len() != derivative.args.len() {
        let list: Vec<&str> = wanted.iter().map(|w| w.name.as_str()).collect();
        let message = format!(
            "{}, the {kind} of {}, has {} arguments where {} are needed",
            derivative.name,
            directive.procedure,
            derivative.args.len(),
            wanted.len()
        );
        let help = format!("they are {}", list.join(", "));
        return errors.push(place(error(span, message)).help(help));
    }
    for (wanted, arg) in wanted.iter().zip(&derivative.args) {
        let Some(symbol) = arg.sym().map(|s| &derivative.symbols[s]) else {
            continue;
        };
        if !wanted.allows(symbol.ty) {
            let found = symbol.ty.map_or("of no type".to_owned(), |t| t.to_string());
            let message = format!(
                "{}, which corresponds to {} in the {kind} {}, is {found}",
                symbol.name, wanted.name, derivative.name
            );
            let mut d = error(span, message).related(symbol.span, "declared here");
            if let Some(Some(ty)) = wanted.ty {
                d = d.help(format!("declare it {ty}"));
            }
            errors.push(d);
        }
    }
}
