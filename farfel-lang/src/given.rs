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
//! A directive about a procedure may appear in any program unit, or before one; without the name of
//! a procedure it applies to the unit in which it appears. `read` finds the directives when a file
//! is parsed; `settle` checks them when names are resolved, and attaches each to the units that
//! call the procedure, so that these can reach its derivatives.

use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Attribute, Given, Name, Place, Program, SpecKind, StmtKind, SymId, Symbol, Type, Unit,
    UnitKind, Usage, for_each_reference, walk_block,
};
use crate::source::Span;
use std::collections::BTreeMap;

/// The form of a directive about a procedure without source.
const EXTERNAL: &str = "the form is `external(P(A, B, N), reads = (A, N), writes = (B))`";

/// The form of a directive about derivatives.
const FORM: &str = "the form is `derivative(P(A, B, X), tangent = P_D, adjoint = P_B, in = (A, B), out = (X))`; without `P(…)` it applies to the subprogram that contains it";

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
                Some(Ok(Directive::External(given))) => found.push(given),
                Some(Ok(Directive::Derivative(mut given))) => {
                    if given.procedure.is_empty() {
                        given.procedure = unit.name.clone();
                    }
                    found.push(given);
                }
                Some(Ok(Directive::Library(names))) => {
                    found.extend(names.into_iter().map(|n| Given {
                        tangent: Some(format!("{OURS}{n}_D").into()),
                        adjoint: Some(format!("{OURS}{n}_B").into()),
                        ..Given::constant(n, span)
                    }));
                }
                Some(Ok(Directive::Constant(names))) if names.is_empty() => {
                    found.push(Given::constant(unit.name.clone(), span));
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
    found.extend(names.map(|(n, span)| Given::constant(n, span)));
    unit.given = found;
    for nested in &mut unit.nested {
        read(nested, errors);
    }
}

/// The prefix of the names of derivatives that Farfel itself provides.
const OURS: &str = "FARFEL_";

enum Directive {
    Derivative(Given),
    /// What a procedure without source does with its arguments.
    External(Given),
    /// Library procedures whose derivatives Farfel provides.
    Library(Vec<Name>),
    /// Names that are constant; if there are none, the unit itself.
    Constant(Vec<Name>),
    /// The beginning or end of a constant region.
    Region(Border),
}

/// Where a region of constant statements begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Border {
    /// The region begins after this comment.
    Begin {
        /// Whether the derivatives of the variables that the statements change stay unchanged.
        leaves: bool,
    },
    /// The region ends before this comment.
    End,
}

/// Returns the border of a region that a comment marks, if it does.
pub(crate) fn border(text: &str) -> Option<Border> {
    let word = text.trim_start_matches(['!', ' ', '\t']);
    if let Some(tapenade) = word.strip_prefix('$') {
        return tapenade_border(tapenade);
    }
    if !word.starts_with(['F', 'f']) {
        return None;
    }
    match directive(word, Span::NONE) {
        Some(Ok(Directive::Region(border))) => Some(border),
        _ => None,
    }
}

/// Like [`border`], for the text after the `$` of a Tapenade directive.
fn tapenade_border(text: &str) -> Option<Border> {
    let mut words = text.split_ascii_whitespace();
    let ad = words.next()?;
    let word = words.next().filter(|_| ad.eq_ignore_ascii_case("AD"))?;
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    match () {
        () if is("DO-NOT-DIFF") => Some(Border::Begin { leaves: true }),
        () if is("END-DO-NOT-DIFF") => Some(Border::End),
        () => None,
    }
}

/// Parses a comment; `None` if it is not one of these directives.
fn directive(text: &str, span: Span) -> Option<Result<Directive, Box<Diagnostic>>> {
    let (word, rest) = text.split_once(':')?;
    if !word.trim().eq_ignore_ascii_case("farfel") {
        return None;
    }
    let mut words = Words::of(rest);
    let first = words.name()?;
    match first.as_str() {
        "DERIVATIVE" => Some(match derivative(&mut words, span) {
            Some(given) => Ok(Directive::Derivative(given)),
            None => Err(Box::new(
                error(span, "this directive is not understood").help(FORM),
            )),
        }),
        "EXTERNAL" => Some(match external(&mut words, span) {
            Some(given) => Ok(Directive::External(given)),
            None => Err(Box::new(
                error(span, "this directive is not understood").help(EXTERNAL),
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
            let border = match words.0.iter().rev().collect::<String>().trim() {
                "BEGIN" => Some(Border::Begin { leaves: false }),
                "END" => Some(Border::End),
                _ => None,
            };
            if let Some(border) = border {
                return Some(Ok(Directive::Region(border)));
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
        _ => None,
    }
}

fn derivative(words: &mut Words, span: Span) -> Option<Given> {
    let mut given = Given::constant(Name::default(), span);
    words.take('(')?;
    loop {
        let word = words.name()?;
        if words.take('=').is_some() {
            match word.as_str() {
                "TANGENT" => given.tangent = Some(words.name()?),
                "ADJOINT" => given.adjoint = Some(words.name()?),
                "IN" => given.inputs = Some(words.names()?),
                "SETS" => given.sets = words.names()?,
                "OUT" => given.outputs = Some(words.names()?),
                _ => return None,
            }
        } else if given.procedure.is_empty() {
            given.procedure = word;
            if words.peek() == Some('(') {
                given.arguments = Some(words.names()?);
            }
        } else {
            return None;
        }
        if words.take(',').is_none() {
            words.take(')')?;
            let any = given.tangent.is_some() || given.adjoint.is_some();
            return (any && words.done()).then_some(given);
        }
    }
}

fn external(words: &mut Words, span: Span) -> Option<Given> {
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
    let said = |list: &Option<Vec<Name>>, n: &Name| list.as_ref().is_some_and(|l| l.contains(n));
    let usage = arguments.iter().map(|n| Usage {
        reads: said(&reads, n),
        writes: said(&writes, n),
    });
    Some(Given {
        inputs: reads.clone(),
        outputs: writes.clone(),
        arguments: Some(arguments.clone()),
        ..Given::described(name, usage.collect(), span)
    })
}

/// Reads names and symbols from a text, ignoring blanks and case.
pub(crate) struct Words(Vec<char>);

impl Words {
    pub(crate) fn of(text: &str) -> Words {
        Words(text.to_ascii_uppercase().chars().rev().collect())
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

/// Checks the directives of a resolved program, completes them, and attaches each to the units that
/// call the procedure.
pub(crate) fn settle(program: &mut Program, errors: &mut Vec<Diagnostic>) {
    let mut written = Vec::new();
    for unit in &mut program.units {
        take(unit, &mut written, errors);
    }
    if written.is_empty() {
        return;
    }
    let mut settled: BTreeMap<Name, Given> = BTreeMap::new();
    for given in written {
        if let Some(other) = settled.get(&given.procedure) {
            let message = match given.usage.is_some() || other.usage.is_some() {
                true => format!("two directives say what {} does", given.procedure),
                false => format!("the derivative of {} is given twice", given.procedure),
            };
            errors.push(error(given.span, message).related(other.span, "here, too"));
        } else if let Some(given) = complete(given, program, errors) {
            settled.insert(given.procedure.clone(), given);
        }
    }
    let known = |name: &Name| program.unit(name).is_some();
    let told: BTreeMap<&Name, &Given> = (settled.iter())
        .filter(|(name, given)| given.arguments.is_some() && !known(name))
        .collect();
    for unit in &program.units {
        calls_fit(unit, &told, errors);
    }
    for unit in &mut program.units {
        give(unit, &settled);
    }
}

/// Checks that calls of procedures without source have the arguments that the directive lists:
/// nothing else says what such a procedure does with others.
fn calls_fit(unit: &Unit, told: &BTreeMap<&Name, &Given>, errors: &mut Vec<Diagnostic>) {
    for_each_reference(&unit.body, &mut |call| {
        let symbol = &unit.symbols[call.procedure];
        let given = told
            .get(&symbol.name)
            .filter(|_| symbol.place == Place::Global);
        let wants = given.and_then(|g| Some((g.span, g.arguments.as_ref()?.len())));
        if let Some((said, wants)) = wants
            && wants != call.args.len()
        {
            let message = format!(
                "{} has {} here, and {wants} in the directive that describes it",
                symbol.name,
                arguments(call.args.len()),
            );
            errors.push(error(call.span, message).related(said, "the directive"));
        }
    });
    for nested in &unit.nested {
        calls_fit(nested, told, errors);
    }
}

fn arguments(n: usize) -> String {
    match n {
        1 => "1 argument".to_owned(),
        n => format!("{n} arguments"),
    }
}

/// Collects the directives about procedures, and applies those about variables.
fn take(unit: &mut Unit, written: &mut Vec<Given>, errors: &mut Vec<Diagnostic>) {
    for given in std::mem::take(&mut unit.given) {
        let named = unit.symbols.find(&given.procedure);
        let variable = named.filter(|s| {
            given.is_constant() && unit.symbols[*s].is_variable() && unit.name != given.procedure
        });
        match variable {
            Some(s) => match bar(unit, s) {
                None => unit.symbols[s].attributes.insert(Attribute::Constant),
                Some((why, help)) => {
                    let message = format!("{} cannot be constant: {why}", given.procedure);
                    errors.push(error(given.span, message).help(help));
                }
            },
            None => written.push(given),
        }
    }
    for nested in &mut unit.nested {
        take(nested, written, errors);
    }
}

/// Returns why a variable cannot be constant for differentiation, and the help for it.
fn bar(unit: &Unit, s: SymId) -> Option<(&'static str, &'static str)> {
    let symbol = &unit.symbols[s];
    let copy = "assign it to a variable of its own, and make that constant";
    match symbol.place {
        Place::Common(_) => return Some(("it lies in COMMON", copy)),
        Place::Host(_) => {
            let help = "say so in the program unit to which it belongs";
            return Some(("it belongs to the surroundings", help));
        }
        Place::Dummy if assigned(unit).contains(&symbol.name) => {
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
    symbol.is_some_and(|s| s.place == Place::Global && s.class.is_procedure())
        || unit.nested.iter().any(|n| mentions(n, name))
}

fn give(unit: &mut Unit, settled: &BTreeMap<Name, Given>) {
    for (name, given) in settled {
        if mentions(unit, name) {
            unit.given.push(given.clone());
        }
    }
    for nested in &mut unit.nested {
        give(nested, settled);
    }
}

/// Completes a directive from the source of the procedure.
fn complete(mut given: Given, program: &Program, errors: &mut Vec<Diagnostic>) -> Option<Given> {
    let name = given.procedure.clone();
    let span = given.span;
    let before = errors.len();
    let text = program.unit(&name);
    if text.is_none() && !program.units.iter().any(|u| mentions(u, &name)) {
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
    if given.is_constant() {
        return Some(given);
    }
    if given.usage.is_some() {
        if let Some(unit) = text {
            let message = format!(
                "{name} is part of the program, so that its text says what it does with its arguments"
            );
            let d = error(span, message).related(unit.name_span, "defined here");
            errors.push(d.help("take the directive out"));
            return None;
        }
        let arguments = given.arguments.iter().flatten();
        let arguments: Vec<&Name> = arguments.collect();
        for listed in given.inputs.iter().chain(&given.outputs).flatten() {
            if !arguments.contains(&listed) {
                let message = format!("{listed} is not an argument of {name}");
                errors.push(error(span, message));
            }
        }
        return (errors.len() == before).then_some(given);
    }
    match text {
        Some(unit) => {
            if !matches!(unit.kind, UnitKind::Function | UnitKind::Subroutine) {
                errors.push(error(span, format!("{name} is not a subprogram")));
                return None;
            }
            from_text(&mut given, unit, errors);
        }
        None if given.arguments.is_none() || given.inputs.is_none() || given.outputs.is_none() => {
            errors.push(
                error(
                    span,
                    format!("the text of {name} is not known, so its arguments must be given"),
                )
                .help(FORM),
            );
        }
        None => {}
    }
    let arguments = given.arguments.clone().unwrap_or_default();
    let lists = given.inputs.iter().chain(&given.outputs);
    for listed in lists.chain([&given.sets]).flatten() {
        if !arguments.contains(listed) && *listed != name {
            let message = format!("{listed} is not an argument of {name}");
            errors.push(error(span, message));
        }
    }
    if errors.len() > before {
        return None;
    }
    for (derivative, adjoint) in [(&given.tangent, false), (&given.adjoint, true)] {
        let Some(derivative) = derivative else {
            continue;
        };
        match program.unit(derivative) {
            Some(unit) => fits(&given, unit, text, adjoint, errors),
            // Farfel provides it.
            None if derivative.starts_with(OURS) => {}
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
    (!errors[before..].iter().any(Diagnostic::is_error)).then_some(given)
}

fn differentiable(s: &Symbol) -> bool {
    s.is_variable() && s.ty.is_some_and(Type::is_differentiable)
}

/// Takes the arguments, and the default active ones, from the source of the procedure.
fn from_text(given: &mut Given, unit: &Unit, errors: &mut Vec<Diagnostic>) {
    let span = given.span;
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
    if let Some(written) = given.arguments.as_ref().filter(|l| **l != names) {
        let message = format!(
            "the arguments of {} are not ({})",
            unit.name,
            written.join(", ")
        );
        errors.push(error(span, message).related(unit.name_span, "defined here"));
    }
    for listed in given.inputs.iter().chain(&given.outputs).flatten() {
        if names.contains(listed) && !active.contains(listed) {
            let message = format!("{listed} has a type without derivatives");
            errors.push(error(span, message).related(unit.name_span, "defined here"));
        }
    }
    given.arguments = Some(names);
    given.inputs.get_or_insert_with(|| active.clone());
    if given.outputs.is_none() {
        let assigned = assigned(unit);
        active.retain(|n| assigned.contains(n));
        given.outputs = Some(active);
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

/// Checks the argument list of a derivative whose source is known.
fn fits(
    given: &Given,
    derivative: &Unit,
    original: Option<&Unit>,
    adjoint: bool,
    errors: &mut Vec<Diagnostic>,
) {
    let span = given.span;
    let place = |d: Diagnostic| d.related(derivative.name_span, "defined here");
    let kind = if adjoint { "adjoint" } else { "tangent" };
    if derivative.kind != UnitKind::Subroutine {
        let message = format!(
            "{}, the {kind} of {}, is not a subroutine",
            derivative.name, given.procedure
        );
        return errors.push(place(error(span, message)));
    }
    // The expected arguments: for each its name, and its type where that is known.
    let mut wanted: Vec<(String, Option<Option<Type>>, bool)> = Vec::new();
    for (i, name) in given.arguments.iter().flatten().enumerate() {
        let symbol = original.and_then(|u| Some(&u.symbols[u.args.get(i)?.sym()?]));
        let ty = symbol.map(|s| s.ty);
        wanted.push((name.to_string(), ty, false));
        if given.is_active(name) {
            wanted.push((format!("the derivative of {name}"), ty, true));
        }
    }
    let function = match original {
        Some(u) => u.kind == UnitKind::Function,
        None => given.is_active(&given.procedure),
    };
    if function {
        let ty = original.and_then(|u| Some(u.symbols[u.result?].ty));
        wanted.push(("the result".to_owned(), ty, false));
        wanted.push(("the derivative of the result".to_owned(), ty, true));
    }
    if wanted.len() != derivative.args.len() {
        let list: Vec<&str> = wanted.iter().map(|(n, ..)| n.as_str()).collect();
        let message = format!(
            "{}, the {kind} of {}, has {} arguments where {} are needed",
            derivative.name,
            given.procedure,
            derivative.args.len(),
            wanted.len()
        );
        let help = format!("they are {}", list.join(", "));
        return errors.push(place(error(span, message)).help(help));
    }
    for ((name, ty, is_derivative), arg) in wanted.iter().zip(&derivative.args) {
        let Some(symbol) = arg.sym().map(|s| &derivative.symbols[s]) else {
            continue;
        };
        let wrong = match ty {
            Some(ty) => symbol.ty != *ty,
            None => *is_derivative && !symbol.ty.is_some_and(Type::is_differentiable),
        };
        if wrong {
            let found = symbol.ty.map_or("of no type".to_owned(), |t| t.to_string());
            let message = format!(
                "{}, which corresponds to {name} in the {kind} {}, is {found}",
                symbol.name, derivative.name
            );
            let mut d = error(span, message).related(symbol.span, "declared here");
            if let Some(Some(ty)) = ty {
                d = d.help(format!("declare it {ty}"));
            }
            errors.push(d);
        }
    }
}
