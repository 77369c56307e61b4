//! Short signatures, with only the arguments that the caller must supply.
//!
//! The function with all arguments of a subprogram remains, in the module `raw`. A short function
//! only calls it. Everything that soundness depends on is checked in the raw function, so the worst
//! effect of a mistake here is that a user needs the raw function. An argument is left out only if
//! nothing is lost:
//!
//! - An INTEGER N that is only read, and is the bound of an array that the caller passes, `X(N)`: it is the
//!   length of the slice. Slices that share it must agree.
//! - A scalar whose value on entry is never read, and that every path through the subprogram sets: it is a
//!   result.
//! - An array of which the same holds for each element ([`full_assignment`](super::full_assignment)), and
//!   whose bounds depend only on arguments that the caller passes: it is a result, a `Vec`, an
//!   `OwnedMatrix` if it has rank 2, or an `OwnedArray` if it has more.
//! - The leading dimension and the extents of an array of rank 2 that the caller passes: they are those of a
//!   `Matrix`. The extents of an array of higher rank: those of an `Array`.
//! - A work array: it is allocated. It must have the name of a work array, and its values on entry must
//!   never be read, here or where pieces of it are passed; or a comment must call it a work array.
//! - INFO, if all values but 0 are errors according to a comment: errors become [`Err`].
//!
//! The settings, INTENT(OUT), and comments in the styles of LAPACK and MINPACK
//! ([`argument_comments`](super::argument_comments)) or in lists ([`argument_lists`](super::argument_lists)) count as
//! well as the results of the analysis, unless the code contradicts a comment
//! ([`entry_values`](super::entry_values)). Anything that cannot be established remains an argument. A derivative that the settings request (`derive`) treats
//! the arguments as its original subprogram does.

use super::argument_comments::{ArgumentComment, Comments, Meaning, argument_comment, meanings};
use super::argument_lists::{self, ArgumentList, Conditions};
use super::entry_values::EntryValues;
use super::flows::Flows;
use super::full_assignment::{FullAssignments, is_divided};
use super::procedures;
use super::value::{Language, value};
use super::{Exports, identifier};
use crate::calls::entered;
use crate::config::{ClosureIntent, SignatureSettings, Signatures};
use crate::derive::{DerivedSubprogram, Variable};
use crate::{Config, Error};
use farfel_lang::dataflow::{Intents, VariableUse};
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    Class, Dim, ExprKind, Intent, Name, Program, SpecKind, StorageClass, SymId, Type, Unit,
};
use farfel_lang::print::print_expr;
use farfel_lang::resolve::resolve;
use farfel_lang::spelling::closest;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Sources, diagnostic};
use std::collections::{BTreeMap, HashMap};

/// The signatures of exported subprograms, by their names.
pub(crate) type SignatureMap = HashMap<Name, Signature>;

/// The treatment of the arguments of a subprogram.
#[derive(Debug, Default)]
pub(crate) struct Signature {
    /// The roles, by position. Alternate returns have no meaningful role.
    pub(super) roles: Vec<Role>,
    /// The arguments that are matrices or arrays of higher rank, by position.
    pub(super) views: HashMap<usize, View>,
    /// The comment lines about each argument, by position.
    pub(super) about: Vec<Vec<String>>,
    /// The status arguments.
    pub(super) statuses: Vec<Status>,
}

impl Signature {
    /// Whether the function has all arguments as they are in Fortran.
    pub(super) fn has_all_arguments(&self) -> bool {
        let given = self.roles.iter().all(|r| *r == Role::Given);
        given && self.statuses.is_empty() && self.views.is_empty()
    }
}

/// The treatment of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// The caller passes it.
    Given,
    /// A size, which each of these sources provides.
    Size(Vec<SizeSource>),
    /// The length of a work array that is allocated.
    Length(Bounds),
    /// The leading dimension of a matrix that is allocated without gaps: its number of rows.
    Leading(Bounds),
    /// A result; an array has bounds.
    Output(Option<Bounds>),
    /// A work array, allocated for the duration of the call.
    Workspace(Bounds),
    /// A status that is only used for errors and not returned.
    Status,
}

/// The origin of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizeSource {
    /// The position of the array.
    pub position: usize,
    /// The measure of the array.
    pub what: Measure,
}

/// A measure of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The number of elements.
    Elements,
    /// The number of rows.
    Rows,
    /// The number of columns.
    Columns,
    /// The leading dimension: the distance between the starts of adjacent columns.
    Leading,
    /// The extent in a dimension, counted from 0, of an array of rank 3 or higher.
    Extent(usize),
}

impl Measure {
    /// Returns the name of the measure for messages.
    pub(super) fn words(self) -> &'static str {
        match self {
            Measure::Elements => "elements",
            Measure::Rows => "rows",
            Measure::Columns => "columns",
            Measure::Leading => "elements from column to column",
            Measure::Extent(dimension) => {
                let words = Self::EXTENTS.get(dimension).copied();
                words.unwrap_or("elements in a dimension")
            }
        }
    }

    /// The names of the extents of as many dimensions as FORTRAN 77 has.
    const EXTENTS: [&str; 7] = [
        "elements in dimension 1",
        "elements in dimension 2",
        "elements in dimension 3",
        "elements in dimension 4",
        "elements in dimension 5",
        "elements in dimension 6",
        "elements in dimension 7",
    ];
}

/// An array of rank 2 or higher that the caller passes with its extents.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// The number of dimensions.
    pub(super) rank: usize,
    /// The required extents.
    pub(super) extents: Vec<Extent>,
    /// Whether the columns of a matrix must be contiguous.
    pub(super) dense: bool,
}

/// A required extent of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extent {
    /// The measure.
    pub what: Measure,
    /// The bounds in Rust: a pair of `i64`.
    pub rust: String,
    /// The array with its bounds in Fortran.
    pub shown: String,
    /// The argument that equals the extent, if there is one.
    pub whole: Option<Name>,
}

/// A status argument, such as INFO.
#[derive(Debug)]
pub(super) struct Status {
    /// The position of the argument.
    pub position: usize,
    /// The conditions for errors: Rust operators, and the numbers to compare with.
    pub wrong: Vec<(&'static str, i64)>,
    /// The meanings of values, from comments.
    pub meanings: Vec<Meaning>,
}

/// The bounds of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The bounds in Rust: pairs of `i64`.
    pub rust: String,
    /// The same pairs, one for each dimension.
    pub pairs: Vec<String>,
    /// The extents in Python, with the names of arguments in small letters.
    pub python: Vec<String>,
    /// The array with its bounds in Fortran: `W(8*N)`.
    pub shown: String,
    /// For each dimension the argument that is its upper bound, if the lower bound is 1.
    whole: Vec<Option<Name>>,
    /// The arguments in the bounds.
    mentions: Vec<Name>,
}

impl Bounds {
    /// The number of dimensions.
    pub(super) fn rank(&self) -> usize {
        self.pairs.len()
    }
}

/// Determines the signatures of the subprograms that Rust can call; none if the settings ask for all
/// arguments.
///
/// # Errors
///
/// [`Error::Config`] with all errors in the tables `signature`.
pub(crate) fn signatures(
    program: &Program,
    exports: &Exports,
    config: &Config,
    assigned: &Assigned,
) -> Result<Option<SignatureMap>, Error> {
    if config.signatures == Signatures::Fortran {
        return Ok(None);
    }
    let tables: BTreeMap<String, (&String, &SignatureSettings)> = config
        .signature
        .iter()
        .map(|(name, table)| (name.to_ascii_uppercase(), (name, table)))
        .collect();
    let mut errors = Vec::new();
    for (name, reason) in &exports.skipped {
        if let Some((name, _)) = tables.get(name.as_str()) {
            errors.push(((*name).clone(), format!("Rust cannot call it: {reason}")));
        }
    }
    let intents = Intents::of(program);
    let flows = Flows::new(program);
    let full_assignments = FullAssignments::new(program, assigned, &flows);
    let entry_values = EntryValues::new(program, assigned, &flows);
    let mut all = SignatureMap::new();
    for name in &exports.names {
        let Some(unit) = entered(program, name) else {
            continue;
        };
        let table = tables.get(name.as_str());
        let nothing = SignatureSettings::default();
        let settings = |name: &str| tables.get(name).map_or(&nothing, |t| t.1);
        let mut builder = SignatureBuilder::new(
            &unit,
            settings(name),
            assigned,
            &intents,
            &full_assignments,
            &entry_values,
        );
        let is_this = |d: &&DerivedSubprogram| d.name.eq_ignore_ascii_case(name);
        if let Some(derived) = config.derive.iter().find(is_this) {
            let of = derived.subprogram();
            if let Some(unit) = entered(program, &of) {
                let roles = SignatureBuilder::new(
                    &unit,
                    settings(&of),
                    assigned,
                    &intents,
                    &full_assignments,
                    &entry_values,
                )
                .signature()
                .roles;
                builder.take_over(&unit, &roles);
            }
            builder.take_results(derived);
        }
        let signature = builder.signature();
        builder.check_closures(program);
        if let Some((name, _)) = table {
            let own = builder.errors.into_iter();
            errors.extend(own.map(|error| ((*name).clone(), error)));
        }
        all.insert(name.clone(), signature);
    }
    match faulty(errors) {
        Some(error) => Err(error),
        None => Ok(Some(all)),
    }
}

/// Checks that the subprograms named in tables exist and are exported.
///
/// # Errors
///
/// [`Error::Config`] with all others.
pub(crate) fn exist(written: &mut dyn Iterator<Item = &str>, config: &Config) -> Result<(), Error> {
    if config.signature.is_empty() {
        return Ok(());
    }
    let written: Vec<&str> = written.collect();
    let exported = |name: &str| {
        let mut names = config.exports.iter().flatten();
        config.exports.is_none() || names.any(|n| n.eq_ignore_ascii_case(name))
    };
    let useless = config.signature.keys().filter_map(|name| {
        let upper = name.to_ascii_uppercase();
        if written.contains(&upper.as_str()) {
            let message = format!("{name} is not exported: add it to the setting `exports`");
            return (!exported(name)).then(|| (name.clone(), message));
        }
        let meant = closest(&upper, written.iter().copied());
        let meant = meant.map(|m| format!("; did you mean `{}`?", m.to_ascii_lowercase()));
        let meant = meant.unwrap_or_default();
        let message = format!("there is no top-level subprogram of this name{meant}");
        Some((name.clone(), message))
    });
    faulty(useless.collect()).map_or(Ok(()), Err)
}

/// Combines the errors in `signature` tables into one error.
fn faulty(errors: Vec<(String, String)>) -> Option<Error> {
    let mut errors = errors.into_iter();
    let (first, message) = errors.next()?;
    let others = errors.map(|(name, message)| format!("\nsetting `signature.{name}`: {message}"));
    Some(Error::Config {
        origin: format!("setting `signature.{first}`"),
        message: message + &others.collect::<String>(),
    })
}

/// The treatment that a setting requests for an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestedRole {
    Keep,
    Output,
    Workspace,
}

/// The state while the signature of a subprogram is determined.
struct SignatureBuilder<'u, 'p> {
    unit: &'u Unit,
    table: &'u SignatureSettings,
    assigned: &'u Assigned,
    intents: &'u [VariableUse],
    full_assignments: &'u FullAssignments<'p>,
    entry_values: &'u EntryValues<'p>,
    comments: Comments<'u>,
    /// Information from comments, by position.
    argument_comments: Vec<ArgumentComment>,
    /// Requests in the settings, by position.
    requested: Vec<Option<RequestedRole>>,
    /// The bounds in the settings, by position.
    requested_bounds: HashMap<usize, String>,
    /// Outputs and work arrays that are known from a derivative or its original subprogram, by position.
    known: Vec<Option<RequestedRole>>,
    errors: Vec<String>,
    roles: Vec<Role>,
    views: HashMap<usize, View>,
}

impl<'u, 'p> SignatureBuilder<'u, 'p> {
    fn new(
        unit: &'u Unit,
        table: &'u SignatureSettings,
        assigned: &'u Assigned,
        intents: &'u Intents,
        full_assignments: &'u FullAssignments<'p>,
        entry_values: &'u EntryValues<'p>,
    ) -> Self {
        let comments = Comments::of(unit);
        let named = |a: &farfel_lang::ir::Arg| a.sym().map(|s| &unit.symbols[s].name);
        let names: Vec<&str> = unit
            .args
            .iter()
            .filter_map(named)
            .map(Name::as_str)
            .collect();
        let list = ArgumentList::of(&comments.lines, &names);
        let comments_of_arguments: Vec<ArgumentComment> = unit
            .args
            .iter()
            .map(|a| match named(a) {
                Some(name) => argument_comment(&comments, name).or(list.comment(name)),
                None => ArgumentComment::default(),
            })
            .collect();
        SignatureBuilder {
            unit,
            table,
            assigned,
            intents: intents.get(&unit.name).unwrap_or(&[]),
            full_assignments,
            entry_values,
            comments,
            argument_comments: comments_of_arguments,
            requested: vec![None; unit.args.len()],
            requested_bounds: HashMap::new(),
            known: vec![None; unit.args.len()],
            errors: Vec::new(),
            roles: vec![Role::Given; unit.args.len()],
            views: HashMap::new(),
        }
    }

    /// Treats arguments as outputs or work arrays if another subprogram does so with arguments of the
    /// same names.
    fn take_over(&mut self, of: &Unit, roles: &[Role]) {
        for (a, role) in of.args.iter().zip(roles) {
            let known = match role {
                Role::Output(_) | Role::Status => RequestedRole::Output,
                Role::Workspace(_) => RequestedRole::Workspace,
                Role::Given | Role::Size(_) | Role::Length(_) | Role::Leading(_) => continue,
            };
            let name = a.sym().map(|s| of.symbols[s].name.as_str());
            let own = (0..self.roles.len()).find(|p| Some(self.name(*p)) == name);
            if let Some(own) = own {
                self.known[own] = Some(known);
            }
        }
    }

    /// Treats the computed derivatives as outputs.
    fn take_results(&mut self, derived: &DerivedSubprogram) {
        let results = self.known.iter_mut().rev().take(derived.results());
        results.for_each(|known| *known = Some(RequestedRole::Output));
    }

    /// Determines the signature.
    fn signature(&mut self) -> Signature {
        self.read_table();
        // Scalars come first: the bounds of arrays depend on them.
        let statuses = self.statuses();
        for position in 0..self.roles.len() {
            if self.is_number(position) && self.roles[position] == Role::Given {
                let output = match self.requested[position] {
                    Some(RequestedRole::Keep) => false,
                    Some(RequestedRole::Output) => true,
                    _ => self.is_set(position),
                };
                if output {
                    self.roles[position] = Role::Output(None);
                }
            }
        }
        for position in 0..self.roles.len() {
            if self.is_array(position) {
                self.array(position);
            }
        }
        for position in 0..self.roles.len() {
            let view = self.view(position);
            self.views.extend(view.map(|v| (position, v)));
        }
        for position in 0..self.roles.len() {
            if self.is_integer(position) && self.roles[position] == Role::Given {
                self.size(position);
            }
        }
        Signature {
            roles: self.roles.clone(),
            views: self.views.clone(),
            about: self
                .argument_comments
                .iter()
                .map(|s| s.lines.clone())
                .collect(),
            statuses,
        }
    }

    fn sym(&self, position: usize) -> Option<SymId> {
        self.unit.args.get(position)?.sym()
    }

    fn name(&self, position: usize) -> &str {
        let symbol = self.sym(position).map(|s| &self.unit.symbols[s]);
        symbol.map_or("", |s| s.name.as_str())
    }

    fn is_array(&self, position: usize) -> bool {
        let symbol = self.sym(position).map(|s| &self.unit.symbols[s]);
        symbol.is_some_and(|s| s.is_variable() && s.is_array())
    }

    /// Checks whether an argument is a scalar variable, other than a CHARACTER of assumed length.
    fn is_number(&self, position: usize) -> bool {
        let symbol = self.sym(position).map(|s| &self.unit.symbols[s]);
        symbol.is_some_and(|s| {
            let open = matches!(&s.length, Some(e) if e.kind == ExprKind::Star);
            s.is_variable() && !s.is_array() && !(s.ty == Some(Type::Character) && open)
        })
    }

    /// Checks whether an argument is an array of CHARACTER that a function cannot allocate: its elements have no
    /// length of their own, or it is a matrix.
    fn is_text_to_give(&self, position: usize) -> bool {
        let symbol = self.sym(position).map(|s| &self.unit.symbols[s]);
        symbol.is_some_and(|s| {
            let open = matches!(&s.length, Some(e) if e.kind == ExprKind::Star);
            s.is_array() && s.ty == Some(Type::Character) && (open || s.dims.len() > 1)
        })
    }

    fn is_integer(&self, position: usize) -> bool {
        let symbol = self.sym(position).map(|s| &self.unit.symbols[s]);
        self.is_number(position)
            && symbol.is_some_and(|s| matches!(s.ty, Some(Type::Integer(1 | 2 | 4 | 8))))
    }

    fn may_assign(&self, position: usize) -> bool {
        self.assigned.argument(&self.unit.name, position)
    }

    /// Checks whether the subprogram may read the value that the caller passes.
    fn is_read(&self, position: usize) -> bool {
        self.intents.get(position).is_none_or(|u| u.reads)
    }

    /// Checks whether the subprogram always sets an argument, and does not depend on its value on entry.
    fn is_set(&self, position: usize) -> bool {
        if !self.may_assign(position) {
            return false;
        }
        let Some(s) = self.sym(position) else {
            return false;
        };
        let always = self.intents.get(position).is_some_and(|u| u.always);
        let found = match self.unit.symbols[s].is_array() {
            false => always && !self.is_read(position),
            true => self.full_assignments.is_fully_assigned(self.unit, s),
        };
        found
            || self.known[position] == Some(RequestedRole::Output)
            || self.argument_comments[position].output && !self.needs_value(position)
            || declared(self.unit, s) == Some(Intent::Out)
    }

    /// Checks whether the code reads the value that the caller passes, whatever comments say.
    fn needs_value(&self, position: usize) -> bool {
        match self.sym(position) {
            Some(s) if self.unit.symbols[s].is_array() => self.entry_values.are_read(self.unit, s),
            _ => self.is_read(position),
        }
    }

    /// Checks whether an array has the name of a work array, its values on entry are never used, and the
    /// subprogram does not set all of it, so that it is no result. `W` is such a name if pieces of the array
    /// are passed on.
    fn is_scratch(&self, position: usize) -> bool {
        let Some(s) = self.sym(position) else {
            return false;
        };
        let name = self.name(position);
        let named = names_workspace(name)
            || matches!(name.trim_end_matches(char::is_numeric), "W" | "IW" | "RW")
                && is_divided(self.unit, s);
        named && self.full_assignments.needs_no_values(self.unit, s) && !self.is_set(position)
    }

    /// Reads the lists of arguments in the `signature` table.
    fn read_table(&mut self) {
        let table = self.table;
        for (list, asked) in [
            (&table.keep, Some(RequestedRole::Keep)),
            (&table.shapes, None),
            (&table.outputs, Some(RequestedRole::Output)),
            (&table.workspaces, Some(RequestedRole::Workspace)),
        ] {
            for text in list {
                let variable = match Variable::read(text) {
                    Ok(variable) => variable,
                    Err(message) => {
                        self.errors.push(message);
                        continue;
                    }
                };
                let Some(position) = self.argument(&variable.name) else {
                    continue;
                };
                let name = &variable.name;
                if let Some(asked) = asked
                    && self.requested[position].replace(asked).is_some()
                {
                    self.errors
                        .push(format!("{name} is named for more than one purpose"));
                }
                if asked == Some(RequestedRole::Workspace) && !self.is_array(position) {
                    self.errors.push(format!("{name} is not an array"));
                }
                if asked == Some(RequestedRole::Output) && !self.may_assign(position) {
                    self.errors
                        .push(format!("{name} is no output: nothing assigns it"));
                }
                if asked == Some(RequestedRole::Output)
                    && !self.is_array(position)
                    && !self.is_number(position)
                {
                    self.errors
                        .push(format!("{name} has no size of its own, and must be given"));
                }
                match variable.bounds {
                    Some(_) if !self.is_array(position) => {
                        self.errors.push(format!("{name} is not an array"));
                    }
                    Some(bounds) => {
                        self.requested_bounds.insert(position, bounds);
                    }
                    None => {}
                }
            }
        }
    }

    /// Returns the position of an argument that the settings name.
    fn argument(&mut self, name: &Name) -> Option<usize> {
        let unit = self.unit;
        let symbols = || unit.args.iter().map(|a| Some(&unit.symbols[a.sym()?]));
        let found = symbols().position(|s| s.is_some_and(|s| s.name == *name));
        match found {
            Some(position) if self.is_array(position) || !self.is_procedure(position) => {
                Some(position)
            }
            Some(_) => {
                self.errors.push(format!("{name} is a procedure"));
                None
            }
            None => {
                let known: Vec<&str> = symbols().flatten().map(|s| s.name.as_str()).collect();
                let meant = closest(name, known.iter().copied());
                let known = known.join(", ");
                let meant = meant.map_or(format!("; it has {known}"), |m| {
                    format!("; did you mean {m}?")
                });
                let message = format!("{} has no argument {name}{meant}", unit.name);
                self.errors.push(message);
                None
            }
        }
    }

    /// Checks what the `signature` table says about the arguments of closures.
    fn check_closures(&mut self, program: &Program) {
        for (name, intents) in &self.table.closures {
            let upper = name.to_ascii_uppercase();
            let position = (0..self.roles.len()).find(|p| self.name(*p) == upper);
            let Some(position) = position.filter(|p| self.is_procedure(*p)) else {
                let unit = &self.unit.name;
                self.errors
                    .push(format!("{upper} is not a procedure argument of {unit}"));
                continue;
            };
            let Some(assignable) = procedures::assignable_arguments(program, self.unit, position)
            else {
                self.errors.push(format!("{upper} is never called"));
                continue;
            };
            if assignable.len() != intents.len() {
                self.errors.push(format!(
                    "{upper} is called with {} arguments, not {}",
                    assignable.len(),
                    intents.len()
                ));
                continue;
            }
            for (k, (may, intent)) in (1..).zip(assignable.iter().zip(intents)) {
                if !may && *intent != ClosureIntent::In {
                    self.errors.push(format!(
                        "argument {k} of {upper} is `in`: the Fortran code passes something that cannot be assigned"
                    ));
                }
            }
        }
    }

    fn is_procedure(&self, position: usize) -> bool {
        let symbol = self.sym(position).map(|s| &self.unit.symbols[s]);
        symbol.is_some_and(|s| s.class.is_procedure())
    }

    /// Collects the status arguments and assigns their roles.
    fn statuses(&mut self) -> Vec<Status> {
        let mut statuses = Vec::new();
        let mut asked: HashMap<usize, Vec<(&'static str, i64)>> = HashMap::new();
        for (name, values) in &self.table.errors {
            let Some(position) = self.argument(&name.to_ascii_uppercase().into()) else {
                continue;
            };
            let upper = name.to_ascii_uppercase();
            if !self.is_integer(position) {
                self.errors.push(format!("{upper} is not an INTEGER"));
            } else if !self.may_assign(position) {
                self.errors.push(format!(
                    "{upper} does not say how it went: nothing assigns it"
                ));
            }
            let mut wrong = Vec::new();
            if values.list().is_empty() {
                self.errors
                    .push(format!("no value of {upper} is an error: leave it out"));
            }
            for text in values.list() {
                match condition(text) {
                    Some(condition) => wrong.push(condition),
                    None => self.errors.push(format!(
                        "`{text}` does not say which values of {upper} are errors; `/= 0`, `< 0` or `== 3` does"
                    )),
                }
            }
            asked.insert(position, wrong);
        }
        for position in 0..self.roles.len() {
            if !self.is_integer(position) || !self.may_assign(position) {
                continue;
            }
            let (said, meanings) = self.errors_in_comments(position);
            let wrong = match (asked.remove(&position), said) {
                (Some(wrong), _) => wrong,
                (None, _) if self.requested[position] == Some(RequestedRole::Keep) => continue,
                (None, Some(wrong)) => wrong,
                (None, None) => continue,
            };
            // If only one value means success, the status need not be returned.
            if self.is_set(position) && self.requested[position].is_none() {
                self.roles[position] = match wrong[..] {
                    [("!=", _)] => Role::Status,
                    _ => Role::Output(None),
                };
            }
            statuses.push(Status {
                position,
                wrong,
                meanings,
            });
        }
        statuses
    }

    /// Returns the values of a status that are errors according to comments, and the meanings of values.
    fn errors_in_comments(&self, position: usize) -> (Option<Conditions>, Vec<Meaning>) {
        let name = self.name(position);
        let lines = &self.argument_comments[position].lines;
        let known = meanings(name, lines);
        let success = |m: &Meaning| m.relation == "=" && m.value == 0 && m.text.contains("success");
        if known.iter().any(success) {
            return (Some(vec![("!=", 0)]), known);
        }
        let inout = self.is_read(position);
        match argument_lists::status(name, lines, &self.comments.lines, known.clone(), inout) {
            Some((wrong, meanings)) => (Some(wrong), meanings),
            None => (None, known),
        }
    }

    /// Assigns the role of an array.
    fn array(&mut self, position: usize) {
        if self.requested[position] == Some(RequestedRole::Keep) {
            return;
        }
        if self.is_text_to_give(position) {
            if self.requested[position].is_some() {
                let name = self.name(position).to_owned();
                self.errors.push(format!(
                    "{name} is an array of CHARACTER*(*) or has several dimensions, and must be given"
                ));
            }
            return;
        }
        let comment = &self.argument_comments[position];
        let workspace = match self.requested[position] {
            Some(asked) => asked == RequestedRole::Workspace,
            None => {
                comment.workspace && !self.needs_value(position)
                    || self.known[position] == Some(RequestedRole::Workspace)
                    || names_workspace(self.name(position))
                        && (comment.output || !self.is_read(position))
                    || self.is_scratch(position)
            }
        };
        let output = !workspace
            && (self.requested[position] == Some(RequestedRole::Output) || self.is_set(position));
        if !workspace && !output {
            // Reports errors in the bounds given in the settings.
            if self.requested_bounds.contains_key(&position) {
                self.bounds(position);
            }
            return;
        }
        let (bounds, least) = match self.least_bounds(position, workspace) {
            Some(bounds) => (Some(bounds), true),
            None => (
                self.bounds(position).or_else(|| self.enough(position)),
                false,
            ),
        };
        match bounds {
            Some(bounds) => {
                if workspace || least {
                    self.lengths(position, &bounds);
                }
                self.leading(position, &bounds);
                self.roles[position] = match workspace {
                    true => Role::Workspace(bounds),
                    false => Role::Output(Some(bounds)),
                };
            }
            None if self.requested[position].is_some()
                && !self.requested_bounds.contains_key(&position) =>
            {
                let name = self.name(position).to_owned();
                let lower = name.to_ascii_lowercase();
                self.errors.push(format!(
                    "it is not known how long {name} must be: say it, such as `{lower}(2*n)`, with INTEGER arguments that are given"
                ));
            }
            None => {}
        }
    }

    /// Returns the bounds of an array that is allocated, if comments give the least value of its first declared
    /// bound: `lwa is a positive integer input variable not less than 5*n+m`.
    fn least_bounds(&self, position: usize, workspace: bool) -> Option<Bounds> {
        if self.requested_bounds.contains_key(&position) {
            return None;
        }
        let symbol = &self.unit.symbols[self.sym(position)?];
        let (first, others) = symbol.dims.split_first()?;
        let bound = match (&first.lower, &first.upper.as_ref()?.kind) {
            (None, ExprKind::Var(s)) => self.unit.arg_position(*s)?,
            _ => return None,
        };
        let free = self.roles[bound] == Role::Given && self.requested[bound].is_none();
        if !free || self.may_assign(bound) || others.len() > 1 {
            return None;
        }
        let comment = &self.argument_comments[bound];
        let length = comment.work_length.as_ref().filter(|_| workspace);
        let mut text = comment.least.as_ref().or(length)?.clone();
        for dim in others {
            let upper = dim.upper.as_ref().filter(|_| dim.lower.is_none())?;
            text = format!("{text}, {}", print_expr(self.unit, upper));
        }
        self.read_bounds(&symbol.name, &text).ok()
    }

    /// Assigns the role of the argument that holds the length of a work array: the bound in its
    /// declaration, or LWORK for an assumed-size array WORK.
    fn lengths(&mut self, position: usize, bounds: &Bounds) {
        let name = format!("L{}", self.name(position));
        let declared = self.sym(position).map(|s| &self.unit.symbols[s].dims[..]);
        let bound = match declared {
            Some([dim]) if dim.lower.is_none() => dim.upper.as_ref(),
            _ => None,
        };
        let bound = match bound.map(|e| &e.kind) {
            Some(ExprKind::Var(s)) => self.unit.arg_position(*s),
            Some(ExprKind::Star) => (0..self.roles.len()).find(|p| self.name(*p) == name),
            _ => None,
        };
        let Some(bound) = bound.filter(|b| self.is_integer(*b) && !self.may_assign(*b)) else {
            return;
        };
        let free = self.roles[bound] == Role::Given && self.requested[bound].is_none();
        if free && !bounds.mentions.iter().any(|n| n == self.name(bound)) {
            self.roles[bound] = Role::Length(bounds.clone());
        }
    }

    /// Makes LDB of `B(LDB, *)` the leading dimension of B, if B is allocated with other bounds and no other
    /// array uses LDB.
    fn leading(&mut self, position: usize, bounds: &Bounds) {
        let variable = |dim: &Dim| match (&dim.lower, dim.upper.as_ref().map(|e| &e.kind)) {
            (None, Some(ExprKind::Var(s))) => Some(*s),
            _ => None,
        };
        let declared = self.sym(position).map(|s| &self.unit.symbols[s].dims[..]);
        let Some(first) = declared
            .filter(|d| d.len() == 2)
            .and_then(|d| variable(&d[0]))
        else {
            return;
        };
        let others = (0..self.roles.len()).filter(|p| *p != position);
        let mut dims = others
            .filter_map(|p| self.sym(p))
            .flat_map(|s| &self.unit.symbols[s].dims)
            .flat_map(|d| [&d.lower, &d.upper])
            .flatten();
        let alone = !dims.any(|e| {
            let mut found = false;
            e.for_each_symbol(&mut |s| found |= s == first);
            found
        });
        let Some(bound) = self.unit.arg_position(first).filter(|_| alone) else {
            return;
        };
        let free = self.is_integer(bound)
            && !self.may_assign(bound)
            && self.roles[bound] == Role::Given
            && self.requested[bound].is_none();
        if free && !bounds.mentions.iter().any(|n| n == self.name(bound)) {
            self.roles[bound] = Role::Leading(bounds.clone());
        }
    }

    /// Returns the shape of an array of rank 2 or higher that the caller passes. In a matrix the first
    /// declared bound is the leading dimension. There may be fewer rows if its name begins with LD, as LDA,
    /// or if the settings or comments give another number of rows.
    fn view(&mut self, position: usize) -> Option<View> {
        let symbol = &self.unit.symbols[self.sym(position)?];
        let keeps = self.requested[position] == Some(RequestedRole::Keep);
        let given = self.is_array(position) && self.roles[position] == Role::Given;
        let text = symbol.ty == Some(Type::Character);
        let (_, before) = symbol.dims.split_last()?;
        if !given || keeps || text || before.is_empty() || has_any_length(&symbol.dims[..1]) {
            return None;
        }
        let leading = self.of_dims(self.unit, &symbol.name, before)?;
        let extent = |what, of: &Bounds, dimension: usize| Extent {
            what,
            rust: of.pairs[dimension].clone(),
            shown: of.shown.clone(),
            whole: of.whole[dimension].clone(),
        };
        let all = self.bounds(position);
        let rank = symbol.dims.len();
        if rank > 2 {
            // The last bound may be unknown, and there are no gaps.
            let of_last = all.as_ref().map(|all| (all, rank - 1));
            let others = (0..rank - 1).map(|dimension| (&leading, dimension));
            let extents = others.chain(of_last);
            return Some(View {
                rank,
                extents: extents
                    .map(|(of, d)| extent(Measure::Extent(d), of, d))
                    .collect(),
                dense: false,
            });
        }
        let mut view = View {
            rank,
            ..View::default()
        };
        let apart = leading.whole[0].as_ref();
        let others = |b: &&Bounds| apart.is_some() && b.pairs[0] != leading.pairs[0];
        match all.as_ref().filter(others) {
            Some(all) => {
                view.extents.push(extent(Measure::Rows, all, 0));
                view.extents.push(extent(Measure::Leading, &leading, 0));
            }
            None if apart.is_some_and(|n| n.starts_with("LD")) => {
                view.extents.push(extent(Measure::Leading, &leading, 0));
            }
            None => {
                view.extents.push(extent(Measure::Rows, &leading, 0));
                view.dense = true;
            }
        }
        if let Some(all) = &all {
            view.extents.push(extent(Measure::Columns, all, 1));
        }
        Some(view)
    }

    /// Assigns the role of an INTEGER that is only read and is a size of arrays that the caller passes.
    fn size(&mut self, position: usize) {
        if self.may_assign(position) || self.requested[position].is_some() {
            return;
        }
        let name = self.name(position).to_owned();
        let length_of = self.argument_comments[position].length_of.clone();
        let mut sources = Vec::new();
        for array in 0..self.roles.len() {
            if !self.is_array(array) || self.roles[array] != Role::Given {
                continue;
            }
            let Some(symbol) = self.sym(array).map(|s| &self.unit.symbols[s]) else {
                continue;
            };
            let described = length_of
                .as_ref()
                .is_some_and(|n| n.eq_ignore_ascii_case(self.name(array)));
            if described && matches!(&symbol.dims[..], [dim] if dim.lower.is_none()) {
                sources.push(SizeSource {
                    position: array,
                    what: Measure::Elements,
                });
                continue;
            }
            if let Some(view) = self.views.get(&array) {
                let of_this = view.extents.iter();
                let of_this = of_this.filter(|e| e.whole.as_ref().is_some_and(|w| **w == *name));
                sources.extend(of_this.map(|e| SizeSource {
                    position: array,
                    what: e.what,
                }));
                continue;
            }
            if let Some(bounds) = self.bounds(array)
                && let [Some(whole)] = &bounds.whole[..]
                && *whole == *name
            {
                sources.push(SizeSource {
                    position: array,
                    what: Measure::Elements,
                });
            }
        }
        if !sources.is_empty() {
            self.roles[position] = Role::Size(sources);
        }
    }

    /// Returns the bounds of an array from the settings, the declaration or comments, if they depend only on
    /// arguments that the caller passes.
    fn bounds(&mut self, position: usize) -> Option<Bounds> {
        let symbol = &self.unit.symbols[self.sym(position)?];
        let name = symbol.name.clone();
        let rank = symbol.dims.len();
        if let Some(text) = self.requested_bounds.get(&position).cloned() {
            return match self.read_bounds(&name, &text) {
                Ok(bounds) if bounds.whole.len() != rank => {
                    let of = bounds.whole.len();
                    self.error(format!("{name} has {rank} dimensions, not {of}"));
                    None
                }
                Ok(bounds) => Some(bounds),
                Err(message) => {
                    self.error(format!("the bounds {text} of {name}: {message}"));
                    None
                }
            };
        }
        if !has_any_length(&symbol.dims)
            && let Some(declared) = self.of_dims(self.unit, &name, &symbol.dims)
        {
            return Some(declared);
        }
        let text = self.argument_comments[position].dimension.clone()?;
        let bounds = self.read_bounds(&name, &text).ok()?;
        (bounds.whole.len() == rank).then_some(bounds)
    }

    /// Returns bounds of an array to be allocated that are enough according to comments.
    fn enough(&self, position: usize) -> Option<Bounds> {
        let symbol = &self.unit.symbols[self.sym(position)?];
        if self.requested_bounds.contains_key(&position) {
            return None;
        }
        let text = self.argument_comments[position].enough.as_ref()?;
        let bounds = self.read_bounds(&symbol.name, text).ok()?;
        (bounds.whole.len() == symbol.dims.len()).then_some(bounds)
    }

    fn error(&mut self, message: String) {
        if !self.errors.contains(&message) {
            self.errors.push(message);
        }
    }

    /// Parses bounds from text, with the names of the arguments.
    fn read_bounds(&self, name: &Name, text: &str) -> Result<Bounds, String> {
        let integers: Vec<&str> = (0..self.roles.len())
            .filter(|p| self.is_integer(*p))
            .map(|p| self.name(p))
            .collect();
        let list = integers.join(", ");
        let declared = match integers.is_empty() {
            true => String::new(),
            false => format!("INTEGER {list}\n"),
        };
        // The array is a dummy argument, because only these may have such bounds.
        let separator = if integers.is_empty() { "" } else { ", " };
        let statement = format!(
            "SUBROUTINE BOUNDS({list}{separator}FARFEL_ARRAY)\n{declared}REAL FARFEL_ARRAY({text})\nEND\n"
        );
        let mut sources = Sources::new();
        let file = sources.add("bounds", statement);
        let mut parsed = parse(&mut sources, file, Some(Form::Free), &mut NoIncludes);
        let mut errors = parsed.diagnostics;
        if !diagnostic::any_errors(&errors) {
            errors.extend(resolve(&mut parsed.program));
        }
        if let Some(error) = errors.iter().find(|d| d.is_error()) {
            return Err(error.message.clone());
        }
        let own = parsed.program.units.first();
        let found = own.and_then(|u| Some((u, u.symbols.find("FARFEL_ARRAY")?)));
        let (unit, array) = found.ok_or("they cannot be read")?;
        let mut unknown = None;
        for (_, symbol) in unit.symbols.iter() {
            let other = symbol.is_variable() && symbol.storage_class != StorageClass::Dummy;
            if other || matches!(symbol.class, Class::Function) {
                unknown = Some(symbol.name.clone());
            }
        }
        if let Some(unknown) = unknown {
            return Err(format!(
                "{} has no INTEGER argument {unknown}",
                self.unit.name
            ));
        }
        let dims = &unit.symbols[array].dims;
        let bounds = self.of_dims(unit, name, dims);
        bounds
            .filter(|_| !has_any_length(dims))
            .ok_or_else(|| "they do not follow from INTEGER arguments that are given".to_owned())
    }

    /// Translates bounds in a unit whose arguments have the same names as those of the subprogram.
    /// Returns `None` if they depend on anything but INTEGER arguments that remain or are sizes.
    fn of_dims(&self, unit: &Unit, name: &Name, dims: &[Dim]) -> Option<Bounds> {
        let mentions = std::cell::RefCell::new(Vec::new());
        let variable = |s: SymId| {
            let name = &unit.symbols[s].name;
            let position = (0..self.roles.len()).find(|p| self.name(*p) == name.as_str())?;
            let given = matches!(self.roles[position], Role::Given | Role::Size(_));
            if !given || !self.is_integer(position) {
                return None;
            }
            mentions.borrow_mut().push(name.clone());
            let star = if self.may_assign(position) { "*" } else { "" };
            Some(format!("i64::from({star}{})", identifier(name)))
        };
        let named = |s: SymId| {
            Some(super::python_name(
                &unit.symbols[s].name.to_ascii_lowercase(),
            ))
        };
        let mut pairs = Vec::new();
        let mut python = Vec::new();
        let mut whole = Vec::new();
        for dim in dims {
            let last = dim.upper.as_ref()?;
            let lower = match &dim.lower {
                Some(lower) => value(unit, lower, 0, Language::Rust, &variable)?,
                None => "1".to_owned(),
            };
            let upper = value(unit, last, 0, Language::Rust, &variable)?;
            let extent = value(unit, last, 0, Language::Python, &named)?;
            python.push(match &dim.lower {
                Some(lower) => {
                    let lower = value(unit, lower, 0, Language::Python, &named)?;
                    format!("{extent} - {lower} + 1")
                }
                None => extent,
            });
            whole.push(match last.kind {
                ExprKind::Var(s) if matches!(lower.as_str(), "1" | "1_i64") => {
                    let symbol = &unit.symbols[s];
                    (symbol.storage_class == StorageClass::Dummy).then(|| symbol.name.clone())
                }
                _ => None,
            });
            pairs.push(format!("({lower}, {upper})"));
        }
        Some(Bounds {
            rust: pairs.join(", "),
            pairs,
            python,
            shown: super::shape(unit, name, dims),
            whole,
            mentions: mentions.into_inner(),
        })
    }
}

/// Checks whether an array is declared as in old programs, which write `X(1)` for an array of any length.
fn has_any_length(dims: &[Dim]) -> bool {
    let last = dims.last().filter(|d| d.lower.is_none());
    let last = last.and_then(|d| d.upper.as_ref());
    last.is_some_and(|upper| matches!(upper.kind, ExprKind::Int(1)))
}

/// Returns the INTENT that a unit declares for an argument.
fn declared(unit: &Unit, argument: SymId) -> Option<Intent> {
    unit.specs.iter().find_map(|s| match &s.kind {
        SpecKind::Intent(intent, list) if list.contains(&argument) => Some(*intent),
        _ => None,
    })
}

/// Checks whether a name is a common one for work arrays.
fn names_workspace(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.contains("WORK") || name.contains("WRK") || matches!(name, "WA" | "IWA")
}

/// Parses a condition such as `/= 0` into a Rust operator and a number.
fn condition(text: &str) -> Option<(&'static str, i64)> {
    const OPERATORS: [(&str, &str); 6] = [
        ("/=", "!="),
        ("==", "=="),
        ("<=", "<="),
        (">=", ">="),
        ("<", "<"),
        (">", ">"),
    ];
    let text = text.trim();
    let (fortran, rust) = OPERATORS.iter().find(|(f, _)| text.starts_with(f))?;
    Some((rust, text[fortran.len()..].trim().parse().ok()?))
}

#[cfg(test)]
mod tests;
