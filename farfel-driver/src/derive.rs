//! Generates the derivatives of whole subprograms that the setting `derive` requests.
//!
//! `cost_gradient = { gradient = "cost", by = "x" }` becomes a subprogram with an AD block, as a
//! user would write it, in a separate source that is parsed with the others:
//!
//! ```fortran
//!       DOUBLE PRECISION FUNCTION COST_GRADIENT(N, X, X_GRADIENT)
//!       INTEGER N
//!       DOUBLE PRECISION X(N), COST, X_GRADIENT(N)
//!       ADR(COST_GRADIENT)
//!       COST_GRADIENT = COST(N, X)
//!       END ADR(X_GRADIENT = COTANGENT(X))
//!       END
//! ```
//!
//! Its arguments are those of the subprogram, in the same order and with the same declarations,
//! followed by the derivatives. `farfel expand --stage parse` prints it.

use crate::Error;
use crate::calls::entered_at;
use farfel_lang::ir::{
    Arg, Class, DefaultSizes, Dim, ExprKind, Name, Program, Remarks, SpecKind, StorageClass, SymId,
    Symbol, Type, Unit, UnitKind,
};
use farfel_lang::lower::compact;
use farfel_lang::print::{Form, Options, print_unit};
use farfel_lang::resolve::resolve;
use farfel_lang::source::Span;
use farfel_lang::spelling::closest;
use farfel_lang::storage::constant::extents;
use farfel_lang::syntax::{NoIncludes, ReadOptions, parse_with};
use farfel_lang::{FileId, Sources};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The maximum number of dimensions of an array.
const MOST_DIMENSIONS: usize = 7;

/// The kind of a derivative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of a scalar with respect to arguments, in reverse mode.
    Gradient,
    /// Of arguments with respect to arguments, in forward mode with a direction for each element.
    Jacobian,
    /// The Jacobian times a vector: forward mode.
    Jvp,
    /// A vector times the Jacobian: reverse mode.
    Vjp,
    /// The second derivatives of a scalar: forward over reverse mode.
    Hessian,
    /// The Hessian times a vector, and the gradient.
    Hvp,
}

/// A derivative requested in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedSubprogram {
    /// The name in the settings.
    pub(crate) name: String,
    /// The kind of the derivative.
    kind: Kind,
    /// The subprogram to differentiate.
    subprogram: String,
    /// The dependent variables: arguments, or the name of the function.
    of: Vec<Variable>,
    /// The independent variables.
    by: Vec<Variable>,
    /// Whether a Jacobian is computed by rows, in reverse mode.
    reverse: bool,
}

/// An argument with the bounds that its declaration leaves open: `x(n)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    /// The name of the argument, in upper case.
    pub(crate) name: Name,
    /// The text of the bounds, without parentheses.
    pub(crate) bounds: Option<String>,
}

/// An entry of the table `derive`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    gradient: Option<String>,
    jacobian: Option<String>,
    jvp: Option<String>,
    vjp: Option<String>,
    hessian: Option<String>,
    hvp: Option<String>,
    of: Option<OneOrSeveral>,
    by: OneOrSeveral,
    #[serde(default)]
    reverse: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrSeveral {
    One(String),
    Several(Vec<String>),
}

impl OneOrSeveral {
    fn list(self) -> Vec<String> {
        match self {
            OneOrSeveral::One(name) => vec![name],
            OneOrSeveral::Several(names) => names,
        }
    }
}

impl Settings {
    /// Converts an entry to a request.
    ///
    /// # Errors
    ///
    /// The description of what is wrong with the entry.
    pub(crate) fn of(self, name: &str) -> Result<DerivedSubprogram, String> {
        let asked = [
            (Kind::Gradient, self.gradient),
            (Kind::Jacobian, self.jacobian),
            (Kind::Jvp, self.jvp),
            (Kind::Vjp, self.vjp),
            (Kind::Hessian, self.hessian),
            (Kind::Hvp, self.hvp),
        ];
        let mut asked = asked.into_iter().filter_map(|(kind, of)| Some((kind, of?)));
        let (Some((kind, subprogram)), None) = (asked.next(), asked.next()) else {
            return Err(
                "it needs one of `gradient`, `jacobian`, `jvp`, `vjp`, `hessian` and `hvp`, with the name of a subprogram".into(),
            );
        };
        if !is_identifier(name) {
            return Err("this is not a name that a subprogram can have".into());
        }
        let variables = |names: Vec<String>| -> Result<Vec<Variable>, String> {
            names.iter().map(|n| Variable::read(n)).collect()
        };
        // The result of a function is the dependent variable unless arguments are named.
        let of = match self.of {
            Some(names) => names.list(),
            None => vec![subprogram.clone()],
        };
        let (of, by) = (variables(of)?, variables(self.by.list())?);
        if self.reverse && kind != Kind::Jacobian {
            return Err("`reverse` is for a Jacobian: the others have one mode".into());
        }
        if of.is_empty() || by.is_empty() {
            return Err("`of` and `by` must each name a variable".into());
        }
        Ok(DerivedSubprogram {
            name: name.to_owned(),
            kind,
            subprogram,
            of,
            by,
            reverse: self.reverse,
        })
    }
}

impl DerivedSubprogram {
    /// Returns the name of the subprogram to differentiate.
    pub(crate) fn subprogram(&self) -> Name {
        upper(&self.subprogram)
    }

    /// Returns the name of the subprogram that computes the derivative.
    pub(crate) fn function(&self) -> Name {
        upper(&self.name)
    }

    /// Returns how many of the last arguments are computed derivatives; the seeds precede them.
    pub(crate) fn results(&self) -> usize {
        let (of, by) = (self.of.len(), self.by.len());
        match self.kind {
            Kind::Gradient | Kind::Vjp => by,
            Kind::Jvp => of,
            Kind::Hvp | Kind::Hessian => 2 * by,
            Kind::Jacobian => of * by,
        }
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= farfel_lang::ir::LONGEST_NAME
}

impl Variable {
    /// Parses `x` or `x(n)`.
    ///
    /// # Errors
    ///
    /// The description of what is wrong with the text.
    pub(crate) fn read(text: &str) -> Result<Variable, String> {
        let (name, bounds) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => {
                let bounds = rest.trim_end().strip_suffix(')').map(str::trim);
                (name, Some(bounds.filter(|b| !b.is_empty()).unwrap_or("?")))
            }
        };
        let plain = |b: &str| !b.contains(['?', '!', '&', ';', '\'', '"', '\n']);
        if !is_identifier(name.trim()) || !bounds.is_none_or(plain) {
            return Err(format!(
                "`{text}` is neither the name of an argument nor one with bounds, such as `x(n)`"
            ));
        }
        Ok(Variable {
            name: upper(name.trim()),
            bounds: bounds.map(str::to_owned),
        })
    }
}

fn upper(name: &str) -> Name {
    name.to_ascii_uppercase().into()
}

/// Adds the requested subprograms to a parsed program. They may be derivatives of subprograms in
/// `libraries`, too. `all` is whether this is the whole project: a single file need not contain the
/// subprograms named in the settings. Returns the files of the generated sources. They need no
/// warnings, because the user's own code has been checked.
///
/// # Errors
///
/// [`Error::Config`] with all errors in the table `derive`.
pub(crate) fn add(
    program: &mut Program,
    libraries: &[&Program],
    derived: &[DerivedSubprogram],
    all: bool,
    sizes: DefaultSizes,
    sources: &mut Sources,
) -> Result<Vec<FileId>, Error> {
    let mut errors: Vec<(String, String)> = Vec::new();
    let mut texts = Vec::new();
    let mut taken: BTreeSet<Name> = program.units.iter().map(|u| u.name.clone()).collect();
    for wanted in derived {
        let mut error = |message: String| errors.push((wanted.name.clone(), message));
        let named = upper(&wanted.subprogram);
        let programs = || std::iter::once(&*program).chain(libraries.iter().copied());
        let mut units = programs().flat_map(|p| &p.units);
        let Some(unit) = units.find(|u| u.entry_points().any(|e| *e.name == named)) else {
            if all {
                let units = programs().flat_map(|p| &p.units);
                let known = units.flat_map(|u| u.entry_points().map(|e| e.name.as_str()));
                let meant = closest(&named, known);
                let meant = meant.map(|m| format!("; did you mean {m}?"));
                error(format!(
                    "there is no subprogram {named}{}",
                    meant.unwrap_or_default()
                ));
            }
            continue;
        };
        let name = upper(&wanted.name);
        if !taken.insert(name.clone()) {
            error(format!("there is a subprogram {name} already"));
            continue;
        }
        let own = program.units.iter().any(|u| std::ptr::eq(u, unit));
        let place = unit.name_span;
        let built = DerivativeBuilder::new(unit, own, wanted, &name);
        match built.map(|builder| builder.text(wanted)) {
            Ok(text) => {
                let file = sources.add(format!("derive.{}", wanted.name), text);
                let options = ReadOptions {
                    sizes,
                    ..free_form()
                };
                let parsed = parse_with(sources, file, &options, &mut NoIncludes);
                texts.push(file);
                match parsed.diagnostics.iter().find(|d| d.is_error()) {
                    None => program.units.extend(parsed.program.units),
                    Some(d) => error(format!("{}: {}", sources.text(d.span), d.message)),
                }
            }
            Err(messages) => {
                let place = match sources.get(place.file) {
                    Some(f) => format!(" ({}:{})", f.name, f.line_column(place.start).line),
                    None => String::new(),
                };
                let messages = messages.into_iter();
                messages.map(|m| m + &place).for_each(error);
            }
        }
    }
    let mut errors = errors.into_iter();
    let Some((first, message)) = errors.next() else {
        return Ok(texts);
    };
    let others = errors.map(|(name, message)| format!("\nsetting `derive.{name}`: {message}"));
    Err(Error::Config {
        origin: format!("setting `derive.{first}`"),
        message: message + &others.collect::<String>(),
    })
}

/// A unit with the declarations of a subprogram and additions to them.
struct DerivativeBuilder {
    unit: Unit,
    /// The subprogram to differentiate, by the name that callers use.
    callee: Name,
    /// The arguments of the call; `None` for alternate returns.
    actual: Vec<Option<SymId>>,
    /// The number of the alternate return that the call took, if there are any.
    returned: Option<SymId>,
    /// The dependent variables.
    of: Vec<SymId>,
    /// The independent variables.
    by: Vec<SymId>,
    /// Whether a Jacobian is computed in reverse mode.
    reverse: bool,
}

impl DerivativeBuilder {
    /// Prepares everything that is common to all kinds of derivatives.
    ///
    /// # Errors
    ///
    /// All reasons why the derivative cannot be generated.
    fn new(
        unit: &Unit,
        own: bool,
        wanted: &DerivedSubprogram,
        name: &Name,
    ) -> Result<DerivativeBuilder, Vec<String>> {
        let callee = wanted.subprogram();
        if !matches!(unit.kind, UnitKind::Subroutine | UnitKind::Function) {
            return Err(vec![format!("{callee} is not a subprogram")]);
        }
        // Resolves the unit for its types and shapes. Errors are reported when the whole program is resolved.
        let mut alone = Program {
            units: vec![unit.clone()],
        };
        resolve(&mut alone);
        let unit = alone.units.remove(0);
        // With the arguments of the ENTRY point.
        let mut unit = entered_at(&unit, &callee).map_or(unit.clone(), Cow::into_owned);
        let mut errors = Vec::new();
        for symbol in unit.args.iter().filter_map(|a| a.sym()) {
            let symbol = &unit.symbols[symbol];
            if symbol.name == *name {
                errors.push(format!(
                    "{name} is the name of an argument of {callee}, too"
                ));
            }
            if symbol.class.is_procedure() {
                // Callers pass it on, together with its derivatives.
            } else if let Some(bar) = symbol.reason_against_passing() {
                errors.push(format!("the argument {} is {bar}", symbol.name));
            }
        }
        let single = matches!(wanted.kind, Kind::Gradient | Kind::Hessian | Kind::Hvp);
        let of = find(&unit, &wanted.of, "of", &mut errors);
        let by = find(&unit, &wanted.by, "by", &mut errors);
        if single && (of.len() > 1 || of.iter().any(|s| unit.symbols[*s].is_array())) {
            errors.push("it is of one number: `of` must name one that is not an array".into());
        }
        let real = |s: &SymId| matches!(unit.symbols[*s].ty, Some(Type::Real(_)));
        if matches!(wanted.kind, Kind::Jacobian | Kind::Hessian) && !of.iter().chain(&by).all(real)
        {
            errors.push("its matrix is of real numbers, and there is a COMPLEX one: `jvp` and `vjp` take them".into());
        }
        if wanted.kind == Kind::Hessian && by.len() > 1 {
            errors.push("a Hessian is by one argument".into());
        }
        let rank = |s: &SymId| unit.symbols[*s].dims.len();
        let most = |list: &[SymId]| list.iter().map(rank).max().unwrap_or_default();
        let dimensions = match wanted.kind {
            Kind::Jacobian => most(&of) + most(&by),
            Kind::Hessian => 2 * most(&by),
            _ => 0,
        };
        if dimensions > MOST_DIMENSIONS {
            errors.push(format!(
                "its array would have {dimensions} dimensions, and {MOST_DIMENSIONS} are the most"
            ));
        }
        set_bounds(&mut unit, wanted, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        // Removing symbols renumbers the others, so arguments are identified by their positions.
        let positions = |list: &[SymId]| -> Vec<Option<usize>> {
            list.iter().map(|s| unit.arg_position(*s)).collect()
        };
        let (of, by) = (positions(&of), positions(&by));
        strip(&mut unit, name);
        if !own && let Some(block) = common(&unit) {
            // Here, the block would be another one.
            return Err(vec![format!(
                "the arguments of {callee} have bounds in COMMON /{block}/ of another package: say what they are, such as `x(n)`"
            )]);
        }
        let actual: Vec<Option<SymId>> = unit.args.iter().map(|a| a.sym()).collect();
        let back = |list: Vec<Option<usize>>| -> Vec<SymId> {
            let one = |p: Option<usize>| match p {
                Some(p) => actual.get(p).copied().flatten(),
                None => unit.result,
            };
            list.into_iter().filter_map(one).collect()
        };
        let (of, by) = (back(of), back(by));
        let mut builder = DerivativeBuilder {
            unit,
            callee,
            actual,
            returned: None,
            of,
            by,
            reverse: wanted.reverse,
        };
        if builder.actual.contains(&None) {
            builder.returned = Some(builder.integer("IRETURN"));
        }
        Ok(builder)
    }

    /// Returns the text of the whole subprogram.
    fn text(mut self, wanted: &DerivedSubprogram) -> String {
        let body = match wanted.kind {
            Kind::Gradient => self.gradient(),
            Kind::Jacobian => self.jacobian(),
            Kind::Jvp => self.jvp(),
            Kind::Vjp => self.vjp(),
            Kind::Hessian => self.hessian(),
            Kind::Hvp => self.hvp(),
        };
        let options = Options {
            form: Form::Free,
            ..Options::default()
        };
        let mut text = print_unit(&self.unit, &options);
        let end = text.rfind("END").unwrap_or(text.len());
        text.insert_str(end, &body);
        if let Some(number) = self.returned {
            let end = text.rfind("END").unwrap_or(text.len());
            text.insert_str(end, &format!("RETURN {}\n", self.name(number)));
        }
        text
    }

    fn name(&self, s: SymId) -> &Name {
        &self.unit.symbols[s].name
    }

    /// Returns `CALL F(X)` or `F_GRADIENT = F(X)`. A call with alternate returns is followed by
    /// statements that note which of them it took: blocks end where they began.
    fn call(&self) -> String {
        let mut labels = 1..;
        let one = |a: &Option<SymId>| match a {
            Some(s) => self.name(*s).to_string(),
            None => format!("*{}", labels.next().unwrap_or_default()),
        };
        let actual: Vec<String> = self.actual.iter().map(one).collect();
        let call = format!("{}({})", self.callee, actual.join(", "));
        let Some(number) = self.returned.map(|s| self.name(s)) else {
            return match self.unit.result {
                Some(result) => format!("{} = {call}", self.name(result)),
                None => format!("CALL {call}"),
            };
        };
        let last = labels.start;
        let mut text = format!("{number} = 0\nCALL {call}\n");
        for label in 1..last {
            let _ = write!(text, "GOTO {last}\n{label} {number} = {label}\n");
        }
        let _ = write!(text, "{last} CONTINUE");
        text
    }

    /// Adds an argument with the type of `of` and the concatenated dimensions of `shaped`.
    fn argument(&mut self, of: SymId, what: &str, shaped: &[SymId]) -> SymId {
        let wanted = format!("{}_{what}", self.name(of));
        let dims = shaped
            .iter()
            .flat_map(|s| self.unit.symbols[*s].dims.clone());
        let symbol = Symbol {
            storage_class: StorageClass::Dummy,
            dims: dims.collect(),
            ..self.variable(&wanted, self.unit.symbols[of].ty)
        };
        let s = self.unit.symbols.add(symbol);
        self.unit.args.push(Arg::Dummy(s));
        self.unit.declare(s);
        s
    }

    fn variable(&self, wanted: &str, ty: Option<Type>) -> Symbol {
        let taken = |name: &str| *self.unit.name == *name || *self.callee == *name;
        let name = self.unit.symbols.unused(wanted, &taken);
        Symbol {
            typed: true,
            ty,
            ..Symbol::variable(name, Type::REAL, self.unit.span)
        }
    }

    /// Adds INTEGER loop variables.
    fn counters(&mut self, count: usize) -> Vec<SymId> {
        (1..=count)
            .map(|i| self.integer(&format!("I{i}")))
            .collect()
    }

    /// Adds an INTEGER variable.
    fn integer(&mut self, wanted: &str) -> SymId {
        let symbol = self.variable(wanted, Some(Type::INTEGER));
        let s = self.unit.symbols.add(symbol);
        self.unit.declare(s);
        s
    }

    fn document(&mut self, lines: &[String]) {
        let mut comments: Vec<String> = lines.iter().map(|l| format!(" {l}")).collect();
        if !self.unit.comments.is_empty() {
            comments.push(String::new());
            comments.append(&mut self.unit.comments);
        }
        self.unit.comments = comments;
    }

    fn listed(&self, list: &[SymId]) -> String {
        let names: Vec<&str> = list.iter().map(|s| self.name(*s).as_str()).collect();
        names.join(" and ")
    }

    /// Describes the dependent variables: the function itself, or its arguments.
    fn dependents(&self) -> String {
        match (self.unit.result, &self.of[..]) {
            (Some(result), [of]) if *of == result => self.callee.to_string(),
            _ => format!("{} in {}", self.listed(&self.of), self.callee),
        }
    }

    fn gradient(&mut self) -> String {
        let (of, by) = (self.of[0], self.by.clone());
        let results = self.each(&by, "GRADIENT");
        self.document(&[format!(
            "The gradient of {} by {}: {} is the derivative by each element.",
            self.dependents(),
            self.listed(&by),
            self.listed(&results),
        )]);
        let closing = self.assigned(&results, "COTANGENT", &by);
        let (of, call) = (self.name(of), self.call());
        format!("ADR({of})\n{call}\nEND ADR({closing})\n")
    }

    fn jvp(&mut self) -> String {
        let (of, by) = (self.of.clone(), self.by.clone());
        let seeds = self.each(&by, "TANGENT");
        let results = self.each_result(&of, &by, "TANGENT");
        self.document(&[format!(
            "The derivative of {} in the direction {} of {}: {}.",
            self.dependents(),
            self.listed(&seeds),
            self.listed(&by),
            self.listed(&results),
        )]);
        let opening = self.given("TANGENT", &by, &seeds);
        let closing = self.assigned(&results, "TANGENT", &of);
        let call = self.call();
        format!("ADF({opening})\n{call}\nEND ADF({closing})\n")
    }

    fn vjp(&mut self) -> String {
        let (of, by) = (self.of.clone(), self.by.clone());
        let seeds = self.each_result(&of, &by, "COTANGENT");
        let results = self.each(&by, "COTANGENT");
        self.document(&[format!(
            "The gradient by {} of the sum of {} times {}: {}.",
            self.listed(&by),
            self.listed(&seeds),
            self.dependents(),
            self.listed(&results),
        )]);
        let opening = self.given("COTANGENT", &of, &seeds);
        let closing = self.assigned(&results, "COTANGENT", &by);
        let call = self.call();
        format!("ADR({opening})\n{call}\nEND ADR({closing})\n")
    }

    fn hvp(&mut self) -> String {
        let (of, by) = (self.of[0], self.by.clone());
        let seeds = self.each(&by, "DIRECTION");
        let gradients = self.each(&by, "GRADIENT");
        let results = self.each(&by, "HVP");
        self.document(&[format!(
            "The Hessian of {} by {} times {}: {}; {} {} the gradient.",
            self.dependents(),
            self.listed(&by),
            self.listed(&seeds),
            self.listed(&results),
            self.listed(&gradients),
            if gradients.len() > 1 { "are" } else { "is" },
        )]);
        let opening = self.given("TANGENT", &by, &seeds);
        let inner = self.assigned(&gradients, "COTANGENT", &by);
        let closing = self.assigned(&results, "TANGENT", &gradients);
        let (of, call) = (self.name(of), self.call());
        format!("ADF({opening})\nADR({of})\n{call}\nEND ADR({inner})\nEND ADF({closing})\n")
    }

    fn hessian(&mut self) -> String {
        let (of, by) = (self.of[0], self.by[0]);
        let gradient = self.argument(by, "GRADIENT", &[by]);
        let result = self.argument(by, "HESSIAN", &[by, by]);
        let rank = self.unit.symbols[by].dims.len();
        let counters = self.counters(2 * rank);
        let (rows, columns) = counters.split_at(rank);
        self.document(&[format!(
            "The Hessian of {} by {}: {}; {} is the gradient.",
            self.dependents(),
            self.name(by),
            self.name(result),
            self.name(gradient),
        )]);
        let seed = format!("TANGENT({}) = 1", self.seeded(by, columns, &[]));
        let opening = self.counted(seed, &[(by, columns)]);
        let element = format!(
            "{} = TANGENT({})",
            self.element(result, &counters),
            self.seeded_as(gradient, rows, by, columns, &[])
        );
        let closing = self.counted(element, &[(by, rows), (by, columns)]);
        let inner = self.assigned(&[gradient], "COTANGENT", &[by]);
        let count = self.size(by);
        let (of, call) = (self.name(of), self.call());
        format!(
            "ADF(DIRECTIONS = {count}, &\n  {opening})\nADR({of})\n{call}\nEND ADR({inner})\nEND ADF({closing})\n"
        )
    }

    fn jacobian(&mut self) -> String {
        let (of, by) = (self.of.clone(), self.by.clone());
        let mut results = Vec::new();
        for y in &of {
            for x in &by {
                let what = format!("BY_{}", self.name(*x));
                results.push((*y, *x, self.argument(*y, &what, &[*y, *x])));
            }
        }
        let rank = |m: &DerivativeBuilder, s: SymId| m.unit.symbols[s].dims.len();
        let most = |list: &[SymId]| {
            list.iter()
                .map(|s| rank(self, *s))
                .max()
                .unwrap_or_default()
        };
        let (most_rows, most_columns) = (most(&of), most(&by));
        let counters = self.counters(most_rows + most_columns);
        let (rows, columns) = counters.split_at(most_rows);
        let all: Vec<SymId> = results.iter().map(|(.., s)| *s).collect();
        self.document(&[
            format!(
                "The Jacobian of {} by {}: {}. Its first dimensions are those of what is differentiated.",
                self.dependents(),
                self.listed(&by),
                self.listed(&all),
            ),
        ]);
        // These variables get unit seeds, in one direction for each element.
        let (mode, word) = match self.reverse {
            false => ("ADF", "TANGENT"),
            true => ("ADR", "COTANGENT"),
        };
        let seeded = if self.reverse { &of } else { &by };
        let counts = |m: &DerivativeBuilder, s: SymId| match m.reverse {
            false => columns[..rank(m, s)].to_vec(),
            true => rows[..rank(m, s)].to_vec(),
        };
        let mut opening = Vec::new();
        for (i, x) in seeded.iter().enumerate() {
            let own = counts(self, *x);
            let seed = format!("{word}({}) = 1", self.seeded(*x, &own, &seeded[..i]));
            opening.push(self.counted(seed, &[(*x, &own)]));
        }
        let mut closing = Vec::new();
        for (y, x, result) in results {
            let (rows, columns) = (&rows[..rank(self, y)], &columns[..rank(self, x)]);
            let (of, at, seed, along) = match self.reverse {
                false => (y, rows, x, columns),
                true => (x, columns, y, rows),
            };
            let before = seeded.iter().position(|s| *s == seed).unwrap_or_default();
            let element = format!(
                "{} = {word}({})",
                self.element(result, &[rows, columns].concat()),
                self.seeded_as(of, at, seed, along, &seeded[..before])
            );
            closing.push(self.counted(element, &[(y, rows), (x, columns)]));
        }
        let sizes: Vec<String> = seeded.iter().map(|x| self.size(*x)).collect();
        format!(
            "{mode}(DIRECTIONS = {}, &\n  {})\n{}\nEND {mode}({})\n",
            sizes.join(" + "),
            opening.join(", &\n  "),
            self.call(),
            closing.join(", &\n  ")
        )
    }

    /// Adds an argument with the same type and shape for each of these variables.
    fn each(&mut self, list: &[SymId], what: &str) -> Vec<SymId> {
        list.iter()
            .map(|s| self.argument(*s, what, &[*s]))
            .collect()
    }

    /// Like [`Self::each`], for the values that the subprogram computes. If one of these variables is an
    /// independent variable, too, that of its value on entry has the plain name.
    fn each_result(&mut self, list: &[SymId], by: &[SymId], what: &str) -> Vec<SymId> {
        let one = |s: &SymId| match by.contains(s) {
            true => self.argument(*s, &format!("RESULT_{what}"), &[*s]),
            false => self.argument(*s, what, &[*s]),
        };
        list.iter().map(one).collect()
    }

    /// Returns `X_GRADIENT = COTANGENT(X), …`.
    fn assigned(&self, to: &[SymId], word: &str, of: &[SymId]) -> String {
        let one =
            |(to, of): (&SymId, &SymId)| format!("{} = {word}({})", self.name(*to), self.name(*of));
        let all: Vec<String> = to.iter().zip(of).map(one).collect();
        all.join(", &\n  ")
    }

    /// Returns `TANGENT(X) = X_TANGENT, …`.
    fn given(&self, word: &str, of: &[SymId], values: &[SymId]) -> String {
        let one = |(of, value): (&SymId, &SymId)| {
            format!("{word}({}) = {}", self.name(*of), self.name(*value))
        };
        let all: Vec<String> = of.iter().zip(values).map(one).collect();
        all.join(", &\n  ")
    }

    /// Returns `X(I1, I2)` or `X`.
    fn element(&self, s: SymId, subscripts: &[SymId]) -> String {
        let name = self.name(s);
        match subscripts {
            [] => name.to_string(),
            _ => {
                let all: Vec<&str> = subscripts.iter().map(|s| self.name(*s).as_str()).collect();
                format!("{name}({})", all.join(", "))
            }
        }
    }

    /// Returns an element of a seeded variable with its direction. The directions of the variables
    /// `before` precede it.
    fn seeded(&self, x: SymId, subscripts: &[SymId], before: &[SymId]) -> String {
        self.seeded_as(x, subscripts, x, subscripts, before)
    }

    /// Returns an element of the variable `y` with the direction of an element of the seeded variable `x`.
    fn seeded_as(
        &self,
        y: SymId,
        rows: &[SymId],
        x: SymId,
        columns: &[SymId],
        before: &[SymId],
    ) -> String {
        let mut direction = before.iter().fold(String::new(), |mut text, s| {
            text += &self.size(*s);
            text += " + ";
            text
        });
        match columns {
            [] => direction += "1",
            _ => {
                let array = self.name(x);
                let mut stride = String::new();
                for (d, counter) in columns.iter().enumerate() {
                    let (d, counter) = (d + 1, self.name(*counter));
                    // Writing to a string cannot fail.
                    let first = self.first(x, d);
                    let _ = match (d, &*first) {
                        (1, "1") => write!(direction, "{counter}"),
                        (1, _) => write!(direction, "{counter} - {first} + 1"),
                        _ => write!(direction, " + {stride}*({counter} - {first})"),
                    };
                    if d > 1 {
                        stride.push('*');
                    }
                    let _ = write!(stride, "SIZE({array}, {d})");
                }
            }
        }
        format!("{}, {direction}", self.element(y, rows))
    }

    /// Returns an implied DO with an item for each element of arrays:
    /// `(item, I1 = LBOUND(X, 1), UBOUND(X, 1))`.
    fn counted(&self, item: String, of: &[(SymId, &[SymId])]) -> String {
        let mut text = item;
        for (array, counters) in of {
            for (d, counter) in counters.iter().enumerate() {
                let (d, counter) = (d + 1, self.name(*counter));
                let (first, array) = (self.first(*array, d), self.name(*array));
                text = format!("({text}, &\n    {counter} = {first}, UBOUND({array}, {d}))");
            }
        }
        text
    }

    /// Returns the lower bound of a dimension. Dimensions are numbered from 1.
    fn first(&self, array: SymId, dimension: usize) -> String {
        let dim = self.unit.symbols[array].dims.get(dimension - 1);
        match dim.and_then(|d| d.lower.as_ref()).map(|e| &e.kind) {
            None => "1".into(),
            Some(ExprKind::Int(n)) => n.to_string(),
            Some(_) => format!("LBOUND({}, {dimension})", self.name(array)),
        }
    }

    /// Returns the number of elements of a variable.
    fn size(&self, s: SymId) -> String {
        let known = extents(&self.unit, &self.unit.symbols[s].dims);
        let size = known.and_then(|known| {
            let mut each = known.iter().map(|n| (*n).max(0));
            each.try_fold(1_i64, i64::checked_mul)
        });
        match size {
            Some(size) => size.to_string(),
            None => format!("SIZE({})", self.name(s)),
        }
    }
}

/// Returns the variables with these names, and reports names that are not differentiable variables of
/// the unit.
fn find(unit: &Unit, names: &[Variable], setting: &str, errors: &mut Vec<String>) -> Vec<SymId> {
    let mut found: Vec<SymId> = Vec::new();
    for Variable { name, .. } in names {
        let is = |s: &SymId| unit.symbols[*s].name == *name;
        let args = || unit.args.iter().filter_map(|a| a.sym());
        let result = unit
            .result
            .filter(|_| setting == "of" && *name == unit.name);
        let Some(s) = result.or_else(|| args().find(is)) else {
            let known: Vec<&str> = args().map(|s| unit.symbols[s].name.as_str()).collect();
            errors.push(match (unit.kind, *name == unit.name) {
                (UnitKind::Subroutine, true) => format!(
                    "{name} is a subroutine: `{setting}` must say which of its arguments {} is meant",
                    known.join(", ")
                ),
                _ => format!(
                    "`{setting}` names {name}, and {} has the arguments {}",
                    unit.name,
                    known.join(", ")
                ),
            });
            continue;
        };
        let symbol = &unit.symbols[s];
        if !symbol.ty.is_some_and(Type::is_differentiable) || !symbol.is_variable() {
            errors.push(format!(
                "{name} is neither REAL, DOUBLE PRECISION nor COMPLEX"
            ));
        } else if found.contains(&s) {
            errors.push(format!("`{setting}` names {name} twice"));
        } else {
            found.push(s);
        }
    }
    found
}

/// Sets the bounds of arrays from the settings, and reports named arrays that lack bounds.
fn set_bounds(unit: &mut Unit, wanted: &DerivedSubprogram, errors: &mut Vec<String>) {
    let args: Vec<SymId> = unit.args.iter().filter_map(|a| a.sym()).collect();
    for s in args {
        let name = unit.symbols[s].name.clone();
        let named = wanted.of.iter().chain(&wanted.by);
        let named: Vec<&Variable> = named.filter(|v| v.name == name).collect();
        let mut bounds = named.iter().filter_map(|v| v.bounds.as_deref());
        let Some(own) = bounds.next() else {
            let star = |d: &Dim| matches!(&d.upper, Some(e) if e.kind == ExprKind::Star);
            if !named.is_empty() && unit.symbols[s].dims.last().is_some_and(star) {
                errors.push(format!(
                    "{name} is declared without its last bound: say what it is, such as `{}(n)`",
                    name.to_ascii_lowercase()
                ));
            }
            continue;
        };
        if let Some(other) = bounds.find(|b| *b != own) {
            errors.push(format!("{name} has the bounds {own} and {other}"));
        }
        if !unit.symbols[s].is_array() {
            errors.push(format!("{name} is not an array"));
            continue;
        }
        match read_bounds(unit, own) {
            Ok(dims) => unit.symbols[s].dims = dims,
            Err(message) => errors.push(format!("the bounds {own} of {name}: {message}")),
        }
    }
}

/// Parses bounds from text, with the names of a unit.
fn read_bounds(unit: &mut Unit, text: &str) -> Result<Vec<Dim>, String> {
    let mut sources = Sources::new();
    let statement = format!("SUBROUTINE BOUNDS\nDIMENSION FARFEL_ARRAY({text})\nEND\n");
    let file = sources.add("bounds", statement);
    let mut parsed = parse_with(&mut sources, file, &free_form(), &mut NoIncludes);
    if let Some(error) = parsed.diagnostics.first() {
        return Err(error.message.clone());
    }
    let own = parsed.program.units.first_mut();
    let Some((own, array)) = own
        .and_then(|u| Some((u.symbols.find("FARFEL_ARRAY")?, u)))
        .map(|(s, u)| (u, s))
    else {
        return Err("they cannot be read".into());
    };
    let mut dims = own.symbols[array].dims.clone();
    let star = |d: &Dim| matches!(&d.upper, Some(e) if e.kind == ExprKind::Star);
    if dims.iter().any(|d| d.upper.is_none() || star(d)) {
        return Err("they must have an end".into());
    }
    let mut unknown = None;
    for expr in dims
        .iter_mut()
        .flat_map(|d| d.lower.iter_mut().chain(&mut d.upper))
    {
        expr.for_each_symbol_mut(&mut |s| {
            let name = &own.symbols[*s].name;
            match unit.symbols.find(name) {
                Some(theirs) => *s = theirs,
                None => unknown = Some(name.clone()),
            }
        });
    }
    match unknown {
        Some(name) => Err(format!("{} has no {name}", unit.name)),
        None => Ok(dims),
    }
}

fn free_form() -> ReadOptions {
    ReadOptions {
        form: Some(Form::Free),
        ..ReadOptions::default()
    }
}

/// Removes everything but the declarations of the arguments, and renames the unit.
fn strip(unit: &mut Unit, name: &Name) {
    let old = std::mem::replace(&mut unit.name, name.clone());
    unit.body.clear();
    // Arguments of other entry points.
    let others = unit.symbols.ids();
    let others: Vec<SymId> = others
        .filter(|s| unit.symbols[*s].storage_class == StorageClass::Dummy)
        .filter(|s| unit.arg_position(*s).is_none())
        .collect();
    for s in others {
        unit.symbols[s].storage_class = StorageClass::Local;
    }
    unit.nested.clear();
    unit.directives.clear();
    unit.remarks = Remarks::default();
    unit.recursive = false;
    unit.contained = false;
    unit.constant = false;
    unit.joint = false;
    let needed = needed(unit);
    unit.specs.retain_mut(|spec| match &mut spec.kind {
        SpecKind::Common(blocks) => {
            blocks.retain(|(_, l)| l.iter().any(|e| needed.contains(&e.sym)));
            !blocks.is_empty()
        }
        SpecKind::Implicit
        | SpecKind::Type(..)
        | SpecKind::Attribute(..)
        | SpecKind::Dimension(_)
        | SpecKind::ThreadPrivate(_)
        | SpecKind::Intrinsic(_)
        | SpecKind::External(_)
        | SpecKind::Parameter(_)
        | SpecKind::Use(_)
        | SpecKind::Intent(..) => true,
        SpecKind::Comment(_)
        | SpecKind::Pointer(_)
        | SpecKind::Equivalence(_)
        | SpecKind::Save(_)
        | SpecKind::Data(_)
        | SpecKind::StatementFunction(_)
        | SpecKind::Namelist(_)
        | SpecKind::Format(..)
        | SpecKind::Include(_) => false,
    });
    unit.without_undeclared_thread_private();
    compact(unit);
    let args: Vec<SymId> = unit.args.iter().filter_map(|a| a.sym()).collect();
    for s in args {
        if unit.symbols[s].class.is_procedure() {
            unit.symbols[s].external = true;
            unit.declare(s);
        }
    }
    if let Some(result) = unit.result {
        let of = unit.symbols[result].clone();
        unit.symbols.rename(result, name.clone());
        let function = unit.symbols.intern(&old, Span::NONE);
        unit.symbols[function] = Symbol {
            class: Class::Function,
            storage_class: StorageClass::Global,
            external: true,
            typed: true,
            ty: of.ty,
            length: of.length,
            ..Symbol::new(old, Span::NONE)
        };
        unit.declare(function);
    }
}

/// Returns the first COMMON block that the declarations of a unit mention.
fn common(unit: &Unit) -> Option<&Name> {
    let mut blocks = unit.specs.iter().filter_map(|spec| match &spec.kind {
        SpecKind::Common(blocks) => blocks.first().map(|(name, _)| name),
        _ => None,
    });
    blocks.next()
}

/// Returns the symbols in the declarations of the arguments and the result.
fn needed(unit: &Unit) -> BTreeSet<SymId> {
    let mut found = BTreeSet::new();
    let args = unit.args.iter().filter_map(|a| a.sym());
    let mut open: Vec<SymId> = args.chain(unit.result).collect();
    while let Some(s) = open.pop() {
        if !found.insert(s) {
            continue;
        }
        let symbol = &unit.symbols[s];
        let bounds = symbol
            .dims
            .iter()
            .flat_map(|d| d.lower.iter().chain(&d.upper));
        let value = match &symbol.class {
            Class::Parameter(value) => Some(&**value),
            _ => None,
        };
        for expr in bounds.chain(&symbol.length).chain(value) {
            expr.for_each_symbol(&mut |s| open.push(s));
        }
    }
    found
}

#[cfg(test)]
mod tests;
