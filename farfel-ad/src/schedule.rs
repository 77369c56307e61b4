//! Carries out the requests of a program, each on exactly the part of the program that it depends
//! on.

use crate::AdTool;
use crate::path::with_way_in;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Name, Program, Request, Unit};
use farfel_lang::print::{Options, print_unit};
use farfel_lang::verify::error;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

/// The derivatives of a program that have been generated so far.
///
/// Each request sees exactly what its head reaches, so that its result depends neither on which
/// other derivatives have been generated before, nor on the order.
///
/// ```
/// # use farfel_ad::{Builtin, schedule::Derivatives};
/// # use farfel_lang::{callgraph::CallGraph, ir::Program};
/// # let (program, requests) = (Program::default(), Vec::new());
/// let graph = CallGraph::staged(&program, &requests);
/// let derivatives = Derivatives::new(&Builtin, &program, &requests, &graph);
/// // In an order in which they can be carried out; those that do not need each other, also side by side.
/// for request in 0..requests.len() {
///     assert!(derivatives.make(request), "{:?}", derivatives.diagnostics([request]));
/// }
/// let with_derivatives = derivatives.whole();
/// # assert_eq!(with_derivatives.units.len(), program.units.len());
/// ```
pub struct Derivatives<'a> {
    tool: &'a dyn AdTool,
    program: &'a Program,
    requests: &'a [Request],
    optional: BTreeSet<usize>,
    /// For each request, the units that its head reaches, and the requests whose derivatives these
    /// call.
    below: Vec<(BTreeSet<usize>, BTreeSet<usize>)>,
    made: Vec<OnceLock<RequestResult>>,
}

/// The result of a request.
struct RequestResult {
    units: Result<Vec<Unit>, Vec<Diagnostic>>,
    warnings: Vec<Diagnostic>,
}

impl<'a> Derivatives<'a> {
    /// Creates an object without any derivatives. `graph` has to be the call graph of the program
    /// with these requests: [`CallGraph::staged`].
    pub fn new(
        tool: &'a dyn AdTool,
        program: &'a Program,
        requests: &'a [Request],
        graph: &CallGraph,
    ) -> Self {
        let below = requests.iter().map(|request| {
            let units: BTreeSet<usize> = graph
                .reached(graph.index(&request.head))
                .into_iter()
                .collect();
            let needs = units.iter().flat_map(|u| graph.requests(*u)).copied();
            let needs = needs.collect();
            (units, needs)
        });
        Derivatives {
            tool,
            program,
            requests,
            optional: BTreeSet::new(),
            below: below.collect(),
            made: requests.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// Marks a request as optional: if it fails, the others go ahead without it.
    pub fn set_optional(&mut self, request: usize) {
        self.optional.insert(request);
    }

    /// Returns the requests that must be carried out before this one.
    pub fn needs(&self, request: usize) -> &BTreeSet<usize> {
        &self.below[request].1
    }

    /// Carries out a request; those that it needs must have been carried out. Returns whether it
    /// succeeded or is optional.
    pub fn make(&self, request: usize) -> bool {
        let program = self.seen_by(request);
        let mut warnings = Vec::new();
        let units =
            self.tool
                .differentiate_warning(&program, &self.requests[request], &mut warnings);
        let made = RequestResult { units, warnings };
        self.made[request].get_or_init(|| made).units.is_ok() || self.optional.contains(&request)
    }

    /// Whether a request has been carried out without success.
    pub fn has_failed(&self, request: usize) -> bool {
        let made = self.made[request].get();
        made.is_some_and(|m| m.units.is_err())
    }

    /// Returns the program that a request sees, after those that it needs have been carried out.
    pub fn seen_by(&self, request: usize) -> Program {
        let (units, needs) = &self.below[request];
        self.program(units.iter().copied(), needs.iter().copied())
    }

    /// Returns a program with some units, and with the derivatives from some requests.
    pub fn program(
        &self,
        units: impl IntoIterator<Item = usize>,
        requests: impl IntoIterator<Item = usize>,
    ) -> Program {
        let all = &self.program.units;
        let mut program = Program {
            units: units.into_iter().map(|i| all[i].clone()).collect(),
        };
        let mut places: HashMap<Name, usize> = program
            .units
            .iter()
            .enumerate()
            .map(|(i, u)| (u.name.clone(), i))
            .collect();
        for request in requests {
            let Some(Ok(units)) = self.made[request].get().map(|m| &m.units) else {
                continue;
            };
            for unit in units {
                match places.get(&unit.name) {
                    Some(at) => program.units[*at] = unit.clone(),
                    None => {
                        places.insert(unit.name.clone(), program.units.len());
                        program.units.push(unit.clone());
                    }
                }
            }
        }
        program
    }

    /// Returns the program with all derivatives that have been generated.
    pub fn whole(&self) -> Program {
        self.program(0..self.program.units.len(), 0..self.requests.len())
    }

    /// Returns the tool's diagnostics for some requests, without duplicates; reports an error if
    /// two of them generated different units with the same name, as [`Derivatives::program`] would
    /// only contain the last one.
    pub fn diagnostics(&self, requests: impl IntoIterator<Item = usize>) -> Vec<Diagnostic> {
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        let wanted = requests.into_iter().filter(|r| !self.optional.contains(r));
        let made = wanted.filter_map(|r| Some((r, self.made[r].get()?)));
        let made: Vec<(usize, &RequestResult)> = made.collect();
        let twice = self.name_clashes(&made);
        if !twice.is_empty() {
            diagnostics.push(error("differentiate", &twice));
        }
        for (_, made) in made {
            let errors = made.units.as_ref().err();
            for d in made.warnings.iter().chain(errors.into_iter().flatten()) {
                // The same statement occurs in other contexts and requests.
                let known = |x: &Diagnostic| match d.is_error() {
                    true => x == d,
                    false => x.rule == d.rule && x.span == d.span,
                };
                if !diagnostics.iter().any(known) {
                    diagnostics.push(d.clone());
                }
            }
        }
        let whole = |d| with_way_in(d, self.program);
        diagnostics.into_iter().map(whole).collect()
    }

    /// Returns errors for name clashes: requests that do not see each other must choose distinct
    /// names.
    fn name_clashes(&self, made: &[(usize, &RequestResult)]) -> Vec<String> {
        let text = |u: &Unit| {
            let options = Options {
                comments: false,
                ..Options::default()
            };
            print_unit(u, &options)
        };
        let own: HashSet<&Name> = self.program.units.iter().map(|u| &u.name).collect();
        let mut first: HashMap<&Name, (usize, &Unit)> = HashMap::new();
        let mut twice = Vec::new();
        for (request, made) in made {
            for unit in made.units.iter().flatten() {
                let Some((other, known)) = first.get(&unit.name) else {
                    first.insert(&unit.name, (*request, unit));
                    continue;
                };
                // A request may replace units that it sees.
                let sees = own.contains(&unit.name) || self.needs(*request).contains(other);
                if !sees && text(known) != text(unit) {
                    twice.push(format!("two requests made a {} each", unit.name));
                }
            }
        }
        twice
    }
}

/// Carries out requests one after the other; each sees the derivatives that earlier ones generated
/// for it.
///
/// # Errors
///
/// The errors of the first request that fails.
pub fn differentiate_all(
    tool: &dyn AdTool,
    program: Program,
    requests: &[Request],
) -> Result<Program, Vec<Diagnostic>> {
    differentiate_all_warning(tool, program, requests, &mut Vec::new())
}

/// Like [`differentiate_all`], and adds the tool's warnings to `warnings`, without duplicates.
///
/// # Errors
///
/// Those of [`differentiate_all`].
pub fn differentiate_all_warning(
    tool: &dyn AdTool,
    program: Program,
    requests: &[Request],
    warnings: &mut Vec<Diagnostic>,
) -> Result<Program, Vec<Diagnostic>> {
    let graph = CallGraph::staged(&program, requests);
    let derivatives = Derivatives::new(tool, &program, requests, &graph);
    if let Some(failed) = (0..requests.len()).find(|r| !derivatives.make(*r)) {
        let mut errors = derivatives.diagnostics([failed]);
        errors.retain(Diagnostic::is_error);
        return Err(errors);
    }
    let (errors, diagnostics): (Vec<_>, Vec<_>) = derivatives
        .diagnostics(0..requests.len())
        .into_iter()
        .partition(Diagnostic::is_error);
    if !errors.is_empty() {
        return Err(errors);
    }
    for w in diagnostics {
        let known = |x: &Diagnostic| x.rule == w.rule && x.span == w.span;
        if !warnings.iter().any(known) {
            warnings.push(w);
        }
    }
    Ok(derivatives.whole())
}
