//! Generates the Rust side of the border between Rust and Fortran: `farfel_bindings.rs`.
//!
//! The file has one wrapper for each exported subprogram. The wrapper checks extents, takes the lock
//! if the subprogram shares state, converts LOGICAL, calls the `bind(C)` subroutine and converts STOP
//! to an error. It returns a `Result` if any of these steps can fail, and the plain value otherwise.
//!
//! Where a function can have fewer arguments than the Fortran subprogram, [`signature`] determines
//! which, and the wrapper is in a module `raw`, with a short function in front of it. With
//! `signatures = "fortran"` there are only the wrappers.
//!
//! The folder `farfel_bindings` has the same in a file for each function: `include_bindings!(solve)` reads only
//! the functions that it lists, and a change of one function does not move the others, for which the results of
//! rustc's last run would be lost. `farfel_bindings.rs` of a large library includes these files.

mod argument_comments;
mod argument_lists;
mod c;
mod closure_comments;
mod closure_values;
mod commons;
mod entry_values;
mod flows;
mod full_assignment;
mod generic;
mod instance;
mod procedures;
mod short;
mod signature;
mod texts;
mod value;

pub use self::c::CInterface;
pub(crate) use self::commons::commons;
pub(crate) use self::procedures::describe as describe_closures;
pub(crate) use self::procedures::describe_derived;
pub(crate) use self::signature::signatures;
use c::python_name;

use self::generic::Header;
use self::procedures::Family;
use self::texts::{TextLength, TextResult};
use self::value::{Language, value};
use crate::bounds_checks::{BoundsCheckPlan, UNCHECKED, place_of};
use crate::calls::{entered, entered_at};
use crate::facts::{Facts, UNASKED};
use crate::names::Names;
use crate::read::WrittenSubprogram;
use crate::{Config, Error};
use farfel_lang::Sources;
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    Arg, Attribute, Dim, Expr, ExprKind, Name, Program, SpecKind, StmtKind, SymId, Symbol, Type,
    Unit, UnitKind,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::constant;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;

/// The exported subprograms, and those that cannot be exported.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Exports {
    /// The subprograms that Rust can call.
    pub names: Vec<Name>,
    /// The subprograms that Rust cannot call, with the reasons.
    pub skipped: Vec<(Name, String)>,
}

/// Selects the exports among the subprograms that the user wrote.
///
/// # Errors
///
/// [`Error::Export`] if the settings name a subprogram that does not exist or cannot be called from
/// Rust; [`Error::Config`] if a `signature` table names one that does not exist.
pub(crate) fn choose(
    program: &Program,
    written: &[WrittenSubprogram],
    config: &Config,
    plan: &BoundsCheckPlan,
) -> Result<Exports, Error> {
    let names = written
        .iter()
        .flat_map(|w| std::iter::once(&w.name).chain(&w.entries));
    exist(&mut names.map(Name::as_str), config)?;
    choose_among(program, written, config, plan)
}

/// Checks that the subprograms named in the settings exist.
///
/// # Errors
///
/// [`Error::Export`] for the first unknown name in `exports`; [`Error::Config`] for all unknown names of
/// `signature` tables.
pub(crate) fn exist(written: &mut dyn Iterator<Item = &str>, config: &Config) -> Result<(), Error> {
    let written: HashSet<&str> = written.collect();
    signature::exist(&mut written.iter().copied(), config)?;
    let Some(wanted) = &config.exports else {
        return Ok(());
    };
    match wanted
        .iter()
        .find(|name| !written.contains(name.to_ascii_uppercase().as_str()))
    {
        None => Ok(()),
        Some(name) => Err(Error::Export {
            name: name.to_ascii_lowercase(),
            reason: "there is no top-level subprogram of this name".into(),
        }),
    }
}

/// Selects the exports among some of the subprograms that the user wrote.
///
/// # Errors
///
/// [`Error::Export`] if the settings name a subprogram that cannot be called from Rust.
pub(crate) fn choose_among(
    program: &Program,
    written: &[WrittenSubprogram],
    config: &Config,
    plan: &BoundsCheckPlan,
) -> Result<Exports, Error> {
    let mut exports = Exports::default();
    let wanted: Option<HashSet<String>> = config
        .exports
        .as_ref()
        .map(|l| l.iter().map(|n| n.to_ascii_uppercase()).collect());
    for of in written {
        let WrittenSubprogram {
            name,
            entries,
            takes_procedures,
            ..
        } = of;
        let is_wanted = |n: &Name| wanted.as_ref().is_none_or(|w| w.contains(n.as_str()));
        // The procedures passed to it would have to be differentiated.
        let differentiates = (of.lacks_derivatives() && wanted.is_none()).then(|| {
            "it takes procedures, and there are AD blocks in it or in what it calls".to_owned()
        });
        let Some(unit) = program.unit(name) else {
            if is_wanted(name) {
                exports.note(name, differentiates.or(Some(GONE.into())), &wanted)?;
            }
            continue;
        };
        for point in unit.entry_points().filter(|e| is_wanted(e.name)) {
            let Some(entered) = entered_at(unit, point.name) else {
                continue;
            };
            let obstacle = match &differentiates {
                Some(why) => Some(why.clone()),
                None => obstacle(program, &entered, config, plan),
            };
            let obstacle = obstacle.map(|why| match point.statement {
                Some(_) => format!("{ENTRY} of {name}, and {why}"),
                None => why,
            });
            exports.note(point.name, obstacle, &wanted)?;
        }
        let has = |n: &Name| unit.entry_points().any(|e| e.name == n);
        for gone in entries.iter().filter(|n| is_wanted(n) && !has(n)) {
            let why = match takes_procedures {
                true => format!("{ENTRY} of {name}, which takes procedures"),
                false => format!("{ENTRY} of {name}, and {GONE}"),
            };
            exports.note(gone, Some(why), &wanted)?;
        }
    }
    Ok(exports)
}

/// The beginning of the reason why an ENTRY point cannot be called from Rust.
const ENTRY: &str = "it is an ENTRY point";

/// The reason why a subprogram that lowering has replaced cannot be called.
const GONE: &str = "it is not in the program";

impl Exports {
    /// Records a subprogram, or the obstacle to calling it. The obstacle is an error if the settings list
    /// the exports (`wanted`).
    fn note(
        &mut self,
        name: &Name,
        obstacle: Option<String>,
        wanted: &Option<HashSet<String>>,
    ) -> Result<(), Error> {
        match obstacle {
            None => self.names.push(name.clone()),
            Some(reason) if wanted.is_some() => {
                return Err(Error::Export {
                    name: name.to_ascii_lowercase(),
                    reason,
                });
            }
            Some(reason) => self.skipped.push((name.clone(), reason)),
        }
        Ok(())
    }
}

/// Returns the reason why a unit cannot be called from Rust, if there is one.
fn obstacle(
    program: &Program,
    unit: &Unit,
    config: &Config,
    plan: &BoundsCheckPlan,
) -> Option<String> {
    if unit.name.contains('$') {
        return Some("its name is not one that Rust allows".into());
    }
    for (position, arg) in unit.args.iter().enumerate() {
        let Arg::Dummy(id) = arg else {
            continue;
        };
        let s = &unit.symbols[*id];
        for attribute in [Attribute::Optional, Attribute::Allocatable] {
            if s.has(attribute) {
                return Some(format!("its argument {} is {}", s.name, attribute.word()));
            }
        }
        if s.has(Attribute::Growing) {
            return Some(format!("its argument {} is a tape", s.name));
        }
        if s.class.is_procedure() {
            if program.unit(&unit.name).is_none() {
                return Some(format!("its argument {} is a procedure", s.name));
            }
            match procedures::interface(program, unit, position, config, plan) {
                Ok(_) => continue,
                Err(reason) => return Some(reason),
            }
        }
        if s.ty == Some(Type::Character) {
            let argument = |s| unit.arg_position(s).map(|_| String::new());
            if TextLength::of(unit, s, &argument).is_none() {
                return Some(format!(
                    "the length of its argument {} is not known to its caller",
                    s.name
                ));
            }
        } else if let Err(ty) = rust_type(s.ty, config) {
            return Some(format!("its argument {} is {ty}", s.name));
        }
        if s.dims.iter().any(|d| d.upper.is_none()) {
            return Some(format!("its argument {} has no bounds", s.name));
        }
        if s.name.contains('$') {
            return Some(format!("{} is not a name that Rust allows", s.name));
        }
    }
    if unit.kind == UnitKind::Function
        && let Some(result) = unit.result
    {
        let result = &unit.symbols[result];
        if result.is_array() {
            return Some("its result is an array".into());
        }
        if result.ty == Some(Type::Character) {
            if TextLength::of(unit, result, &|_| None).is_none() {
                return Some("the length of its result is not constant".into());
            }
        } else if let Err(ty) = rust_type(result.ty, config) {
            return Some(format!("its result is {ty}"));
        }
    }
    None
}

/// Returns the Rust type that corresponds to a Fortran type, `bool` for LOGICAL.
///
/// # Errors
///
/// The description of a type that has no counterpart in Rust.
fn rust_type(ty: Option<Type>, config: &Config) -> Result<&'static str, String> {
    Ok(match ty.map(|t| t.with_real(config.real_kind)) {
        Some(Type::Integer(1)) => "i8",
        Some(Type::Integer(2)) => "i16",
        Some(Type::Integer(4)) => "i32",
        Some(Type::Integer(8)) => "i64",
        Some(Type::Real(4)) => "f32",
        Some(Type::Real(8)) => "f64",
        Some(Type::Complex(4)) => "::farfel_runtime::Complex<f32>",
        Some(Type::Complex(8)) => "::farfel_runtime::Complex<f64>",
        Some(Type::Logical(1 | 2 | 4 | 8)) => "bool",
        Some(other) => return Err(other.to_string()),
        None => return Err("of unknown type".into()),
    })
}

/// Returns the type in the `extern` declaration, where a LOGICAL is an integer of the same size.
fn border_type(ty: Option<Type>, config: &Config) -> String {
    match ty {
        Some(Type::Logical(n)) => format!("i{}", 8 * u32::from(n)),
        _ => rust_type(ty, config).unwrap_or("()").to_owned(),
    }
}

/// The input for the bindings of a library.
pub(crate) struct Bindings<'a> {
    /// The lowered program.
    pub program: &'a Program,
    /// The subprograms to export.
    pub exports: &'a Exports,
    /// The linker symbols of the subprograms.
    pub names: &'a Names,
    /// The sources, for the locations in the documentation.
    pub sources: &'a Sources,
    /// The settings.
    pub config: &'a Config,
    /// Locks, errors and instance state of each subprogram.
    pub facts: &'a Facts,
    /// The dummy arguments that may be assigned.
    pub assigned: &'a Assigned,
    /// The signatures of the short functions, unless the settings request only those with all arguments.
    pub signatures: Option<&'a signature::SignatureMap>,
    /// The procedures and COMMON blocks that C code uses by name.
    pub by_name: &'a BTreeSet<Name>,
    /// The COMMON blocks that Rust can read and set.
    pub commons: &'a BTreeSet<Name>,
}

/// The contribution of a part of a library to its bindings.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct BindingsPart {
    /// The subprograms that Rust cannot call, with the reasons.
    pub skipped: Vec<(String, String)>,
    /// The exported subprograms, with the text of their wrappers.
    pub functions: Vec<(String, String)>,
    /// The content of the module `raw`, for each subprogram; empty if there is no such module.
    pub raw: Vec<(String, String)>,
    /// The subprograms whose wrappers are `unsafe`, with the reasons.
    pub exposed: Vec<(String, String)>,
    /// The number of locks that the wrappers use.
    pub locks: usize,
    /// The text of the type whose values hold the state, or of the functions for COMMON blocks; empty unless the
    /// settings request one of them.
    pub state: String,
    /// The functions for C, if they are wanted.
    pub c: Vec<c::CFunction>,
}

impl BindingsPart {
    /// Returns the notices for the user about subprograms that Rust cannot call, or only as `unsafe`
    /// functions. Each is one line, with a remedy if there is one.
    pub(crate) fn notices(&self) -> Vec<String> {
        let skipped = self.skipped.iter().map(|(name, reason)| {
            let by = match reason.starts_with(ENTRY) {
                true => "a Fortran subprogram",
                false => "a Fortran subprogram without such arguments",
            };
            format!(
                "{name} cannot be called from Rust: {reason}; call it from {by}, or name what you need in the \
                 setting `exports`"
            )
        });
        // The user asked for unchecked subscripts.
        let exposed = self.exposed.iter();
        let exposed = exposed.filter(|(_, reason)| !reason.starts_with(UNCHECKED));
        let exposed = exposed.map(|(name, reason)| {
            format!(
                "{} is `unsafe`, as it cannot be checked: {reason}; {}",
                identifier(name),
                remedy(reason)
            )
        });
        skipped.chain(exposed).collect()
    }

    /// Returns the text of `farfel_bindings.rs`.
    pub(crate) fn text(&self, config: &Config) -> String {
        match self.functions.len() > WHOLE {
            true => self.including_text(config),
            false => self.whole_text(config),
        }
    }

    fn whole_text(&self, config: &Config) -> String {
        let mut text = self.shared(config);
        for (_, function) in &self.functions {
            text.push('\n');
            text.push_str(function);
        }
        if !self.raw.is_empty() {
            text.push_str(RAW);
            for (_, function) in &self.raw {
                text.push('\n');
                text.push_str(function);
            }
            text.push_str("}\n");
        }
        text
    }

    /// Returns a text that includes the [`files`](Self::files).
    fn including_text(&self, config: &Config) -> String {
        let mut text = made_by(config);
        let mut include = |file: &str| {
            let _ = writeln!(text, "include!(\"{FOLDER}/{file}\");");
        };
        include(SHARED);
        for (name, _) in &self.functions {
            include(&file_of("of", name, config));
        }
        if !self.raw.is_empty() {
            text.push_str(RAW);
            for (name, _) in &self.raw {
                let _ = writeln!(
                    text,
                    "include!(\"{FOLDER}/{}\");",
                    file_of("raw", name, config)
                );
            }
            text.push_str("}\n");
        }
        text
    }

    /// Returns the files of the folder [`FOLDER`], with their names: what all functions need, and for each function
    /// one for itself and one for the module `raw`, as the macro `include_bindings` of farfel-runtime reads them.
    pub(crate) fn files(&self, config: &Config) -> Vec<(String, Cow<'_, str>)> {
        let mut files: Vec<(String, Cow<'_, str>)> =
            vec![(SHARED.to_owned(), Cow::Owned(self.shared(config)))];
        let raw: BTreeMap<&str, &str> = self
            .raw
            .iter()
            .map(|(n, t)| (n.as_str(), t.as_str()))
            .collect();
        for (name, text) in &self.functions {
            let raw = raw.get(name.as_str()).copied().unwrap_or_default();
            files.push((file_of("of", name, config), Cow::Borrowed(text.as_str())));
            files.push((file_of("raw", name, config), Cow::Borrowed(raw)));
        }
        files
    }

    /// Returns what all functions need: locks, and the type that holds the state or the functions for COMMON blocks.
    fn shared(&self, config: &Config) -> String {
        let mut text = made_by(config);
        for (name, reason) in &self.skipped {
            let _ = writeln!(text, "// {name} cannot be called from Rust: {reason}.");
        }
        for number in 0..self.locks {
            let _ = write!(
                text,
                "\n// Held by functions that share COMMON, saved variables or input and output.\n#[allow(dead_code)]\n\
                 static {0}: ::farfel_runtime::SharedLock = ::farfel_runtime::SharedLock::new(\"{1} {2} {0}\");\n",
                lock_name(number),
                config.name,
                config.version
            );
        }
        text.push_str(&self.state);
        text
    }
}

/// The folder with a file for each function, beside `farfel_bindings.rs`.
pub(crate) const FOLDER: &str = "farfel_bindings";

/// The file with what all functions need.
const SHARED: &str = "shared.rs";

/// The number of functions up to which `farfel_bindings.rs` has their text, where a person can read it.
const WHOLE: usize = 100;

/// The beginning of the module `raw`.
const RAW: &str = "\n/// The functions with all arguments of the Fortran subprograms.\n\
     #[allow(unused_imports)]\npub mod raw {\nuse super::*;\n";

/// Returns the first line of generated files.
fn made_by(config: &Config) -> String {
    format!(
        "// Made by farfel-build {} from the Fortran sources of {}. Do not edit.\n",
        env!("CARGO_PKG_VERSION"),
        config.name
    )
}

/// Returns the name of a function's file. With a prefix it is none that Windows reserves, like `aux.rs`.
fn file_of(prefix: &str, name: &str, config: &Config) -> String {
    let name = match config.instance {
        Some(_) => method(name),
        None => identifier(name),
    };
    format!("{prefix}_{name}.rs")
}

/// Returns what can be done about the reason for which a function is `unsafe`.
fn remedy(reason: &str) -> &'static str {
    const REMEDIES: [(&str, &str); 15] = [
        ("text is not there", "add its source to the project"),
        ("Cray pointers", "use ALLOCATE instead"),
        ("have the same shape", "write a loop"),
        ("is not simple", "write a loop over the subscripts"),
        ("takes from its source", "write the shape as (/M, N/)"),
        (
            "of another type or length here",
            "declare the function with its type, and with a constant length",
        ),
        ("how much memory", "assign it to a variable first"),
        ("not a constant", "write a constant there"),
        ("threads of OpenMP", "build without `openmp`"),
        ("kept between calls", "make the array an argument"),
        ("ENTRY", "write a subprogram for each ENTRY point"),
        (
            "whose argument it is not",
            "write a subprogram for each ENTRY point",
        ),
        ("the format", "assign it to a CHARACTER variable first"),
        (
            "functions are called",
            "assign their values to variables first",
        ),
        ("takes more than", "pass what the subprogram declares"),
    ];
    let found = REMEDIES.iter().find(|(text, _)| reason.contains(text));
    found.map_or("its documentation says what must hold", |(_, remedy)| {
        remedy
    })
}

/// Returns the name of a lock in the bindings.
fn lock_name(number: usize) -> String {
    match number {
        0 => "FARFEL_LOCK".to_owned(),
        _ => format!("FARFEL_LOCK_{}", number + 1),
    }
}

impl Bindings<'_> {
    /// Generates the content of `farfel_bindings.rs`.
    pub(crate) fn part(&self) -> BindingsPart {
        let units: Vec<Cow<Unit>> = self
            .exports
            .names
            .iter()
            .filter_map(|n| entered(self.program, n))
            .collect();
        let mut families: BTreeMap<Name, Vec<Family>> = (units.iter())
            .filter(|_| self.config.instance.is_none())
            .filter_map(|unit| {
                let found =
                    procedures::families(self.program, unit, self.config, &self.facts.plan)?;
                Some((unit.name.clone(), found))
            })
            .collect();
        let owner = |unit: &Name| {
            let derived = self.config.derive.iter().find(|d| d.function() == *unit);
            derived.map_or(unit.clone(), |d| d.subprogram())
        };
        let traits = generic::traits(&mut families, &owner, self.config);
        let mut functions = Vec::new();
        let mut raw = Vec::new();
        for unit in &units {
            let name = unit.name.to_string();
            let families = families.get(&unit.name).map_or(&[][..], Vec::as_slice);
            let (function, of_raw) = self.forms(unit, families);
            raw.extend(of_raw.map(|text| (name.clone(), text)));
            functions.push((name, function));
        }
        BindingsPart {
            skipped: self
                .exports
                .skipped
                .iter()
                .map(|(name, reason)| (name.to_string(), reason.clone()))
                .collect(),
            exposed: units
                .iter()
                .filter_map(|u| {
                    let reason = self.facts.exposed.get(&u.name)?;
                    Some((u.name.to_string(), reason.clone()))
                })
                .collect(),
            locks: units
                .iter()
                .filter_map(|u| self.lock(u))
                .chain(self.commons.iter().map(|block| self.lock_of(block)))
                .map(|lock| lock + 1)
                .max()
                .unwrap_or(0),
            state: match &self.config.instance {
                Some(name) => {
                    instance::instance(name, self.program, self.by_name, self.config, self.names)
                }
                None => self.commons() + &traits,
            },
            functions,
            raw,
            c: match self.config.c_interface {
                true => self.c_functions(&units),
                false => Vec::new(),
            },
        }
    }

    /// Generates the function under the subprogram's name, and its form in the module `raw`, if there is
    /// such a module.
    fn forms(&self, unit: &Unit, families: &[Family]) -> (String, Option<String>) {
        let signature = self.signatures.and_then(|all| all.get(&unit.name));
        let Some(signature) = signature else {
            let (text, function) = self.function(unit, false);
            let generic = self.generic(families, &function, &Header::of(&function));
            return (text + &generic, None);
        };
        // C gets all arguments.
        if self.config.c_interface {
            return (self.function(unit, false).0, None);
        }
        if signature.has_all_arguments() && self.instance(unit).is_none() {
            let (text, function) = self.function(unit, false);
            let generic = self.generic(families, &function, &Header::of(&function));
            return (text + &generic, Some(short::reexport(&function)));
        }
        let (text, raw) = self.function(unit, true);
        let args: Vec<&Argument> = raw.args.iter().map(|(_, a)| a).collect();
        let locked = self.lock(unit).is_some();
        let short = short::function(unit, signature, &raw, &|text, about, errors| {
            let head = head(unit);
            self.documentation(text, unit, &args, locked, [&head, about, errors]);
        });
        let header = short::header(unit, signature, &raw);
        (short + &self.generic(families, &raw, &header), Some(text))
    }

    /// Generates the form of a function that takes procedures for numbers of any kind, if there is one.
    fn generic(&self, families: &[Family], raw: &RawFunction, header: &Header) -> String {
        let plain = raw.instance.is_none()
            && !raw.exposed
            && raw.place.is_none()
            && raw.returns.is_none()
            && !["raw", "procedures"].contains(&raw.function.as_str());
        match families {
            [_, ..] if plain => generic::module(&raw.function, header, families, self.config),
            _ => String::new(),
        }
    }

    /// Returns the type that a unit is a method of, if there is one.
    fn instance(&self, unit: &Unit) -> Option<&String> {
        let instance = self.config.instance.as_ref();
        instance.filter(|_| self.facts.of_instance.contains(&unit.name))
    }

    /// Returns the number of the lock that a unit takes.
    fn lock(&self, unit: &Unit) -> Option<usize> {
        self.facts.locks.get(&unit.name).copied()
    }

    /// Generates the wrapper with all arguments, `behind` a short function or not. Also returns what the
    /// short function needs in order to call it.
    fn function(&self, unit: &Unit, behind: bool) -> (String, RawFunction) {
        let instance = self.instance(unit);
        // The functions in `raw` are not methods: they take the instance as an argument.
        let model = if behind { "farfel_model" } else { "self" };
        let function = match instance {
            Some(_) => method(&unit.name),
            None => identifier(&unit.name),
        };
        let positioned: Vec<(usize, Argument)> = unit
            .args
            .iter()
            .enumerate()
            .filter_map(|(i, a)| a.sym().map(|s| (i, self.argument(unit, i, s))))
            .collect();
        let args: Vec<&Argument> = positioned.iter().map(|(_, a)| a).collect();
        let alternates = unit.args.iter().filter(|a| a.sym().is_none()).count();
        let symbol = unit.result.filter(|_| unit.kind == UnitKind::Function);
        let symbol = symbol.map(|r| &unit.symbols[r]);
        let text = symbol.and_then(|s| TextResult::of(unit, s));
        let result = match symbol {
            Some(s) => Some(s.ty),
            // The result is the number of the alternate return.
            _ if alternates > 0 => Some(Some(Type::Integer(4))),
            _ => None,
        };
        let returns = (alternates > 0).then(|| format!("{}Return", camel(&unit.name)));
        let fails = self.facts.fails.contains(&unit.name);
        // A failed check ends a call in the same way as STOP.
        let stops = fails || self.facts.stops.contains(&unit.name);
        let exposed = self.facts.exposed.get(&unit.name);
        let takes_closures = args.iter().any(|a| a.closure_note.is_some());
        let fallible = stops || args.iter().any(|a| a.check.is_some() || a.fallible);
        let lock = self.lock(unit);

        let mut t = String::new();
        if let Some(returns) = &returns {
            t.push_str(&alternate_returns(returns, unit, alternates));
        }
        let within = instance.filter(|_| !behind);
        if let Some(name) = within {
            let _ = writeln!(t, "impl {name} {{");
        }
        if exposed.is_some() {
            t.push_str("::farfel_runtime::exposed! {\n");
        }
        let head = match (behind, instance) {
            (false, _) => head(unit),
            (true, None) => with_all_arguments(&format!("{function}()")),
            (true, Some(name)) => with_all_arguments(&format!("{name}::{function}()")),
        };
        self.documentation(&mut t, unit, &args, lock.is_some(), [&head, &[], &[]]);
        // So that rustc generates code for the functions that are called, not for all of a large library.
        t.push_str("#[inline]\n");
        t.push_str("#[allow(dead_code, non_snake_case, unused_qualifications, clippy::all, clippy::pedantic)]\n");
        // The macro adds `pub unsafe`.
        let visible = if exposed.is_some() { "" } else { "pub " };
        let _ = write!(t, "{visible}fn {function}(");
        let receiver = instance.map(|name| match within {
            Some(_) => "&mut self".to_owned(),
            None => format!("{model}: &mut {name}"),
        });
        // A dummy procedure that is never called has no Rust type, and is not an argument of the wrapper.
        let arguments = args.iter().filter(|a| !a.rust.is_empty());
        let arguments = arguments.map(|a| match a.closure_note {
            Some(_) => format!("mut {}: {}", a.name, a.rust),
            None => format!("{}: {}", a.name, a.rust),
        });
        let place = text.as_ref().and_then(|t| t.argument.as_ref());
        let place = place.map(|a| format!("{}: {}", a.name, a.rust));
        let declared: Vec<String> = receiver.into_iter().chain(arguments).chain(place).collect();
        let value = match (&returns, &text) {
            (Some(returns), _) => Some(returns.as_str()),
            (None, Some(text)) => text.value,
            (None, None) => result.map(|ty| rust_type(ty, self.config).unwrap_or("()")),
        };
        let returned = match (value, fallible) {
            (Some(v), true) => format!(" -> ::core::result::Result<{v}, ::farfel_runtime::Error>"),
            (None, true) => " -> ::core::result::Result<(), ::farfel_runtime::Error>".into(),
            (Some(v), false) => format!(" -> {v}"),
            (None, false) => String::new(),
        };
        let _ = writeln!(t, "{}){returned} {{", declared.join(", "));

        // The `extern` declaration.
        let state = instance.map(|_| "farfel_state: *mut i8".to_owned());
        let others = args.iter().map(|a| format!("{}: {}", a.name, a.border));
        let mut c_args: Vec<String> = state.into_iter().chain(others).collect();
        let lengths: Vec<&str> = args.iter().filter_map(|a| a.count.as_deref()).collect();
        c_args.extend(lengths.iter().map(|n| format!("{n}: *const i64")));
        if let Some(ty) = result {
            c_args.push(match text {
                Some(_) => "farfel_result: *mut u8".into(),
                None => format!("farfel_result: *mut {}", border_type(ty, self.config)),
            });
        }
        let text_lengths = args.iter().filter_map(|a| a.length.clone());
        let text_lengths = text_lengths.chain(text.as_ref().map(|t| t.length.clone()));
        let text_lengths: Vec<String> = text_lengths.collect();
        c_args.extend(text_lengths.iter().map(|l| format!("{l}: *const i64")));
        let surprises = !stops && self.facts.surprises.contains(&unit.name);
        let abi = if stops || surprises || takes_closures {
            "C-unwind"
        } else {
            "C"
        };
        let _ = writeln!(
            t,
            "    ::farfel_runtime::border! {{ extern \"{abi}\" {{\n        #[link_name = \"{}\"]\n        fn farfel_call({});\n    }} }}",
            self.names.symbol(&unit.name),
            c_args.join(", ")
        );

        args.iter().for_each(|a| t.push_str(&a.items));
        let shown = function.trim_start_matches("r#");
        for a in &args {
            if let Some(bounds) = &a.check {
                let _ = writeln!(
                    t,
                    "    ::farfel_runtime::check_extent(\"{shown}\", \"{}\", {}.len(), &[{bounds}])?;",
                    a.name.trim_start_matches("r#"),
                    a.name
                );
            }
        }
        for a in &args {
            if let Some(count) = &a.count {
                let _ = writeln!(t, "    let {count}: i64 = {}.len() as i64;", a.name);
            }
            t.push_str(&a.before);
        }
        if let Some(text) = &text {
            t.push_str(&text.before);
        } else if let Some(ty) = result {
            let ty = border_type(ty, self.config);
            let _ = writeln!(
                t,
                "    let mut farfel_result: {ty} = ::core::default::Default::default();"
            );
        }
        if let Some(number) = lock {
            let take = if fallible {
                "lock()?"
            } else {
                "lock_or_panic()"
            };
            let name = lock_name(number);
            let _ = writeln!(t, "    let farfel_guard = {name}.{take};");
        }
        let state = instance.map(|_| format!("{model}.farfel_state.as_mut_ptr()"));
        let others = args.iter().map(|a| a.actual.clone());
        let mut actual: Vec<String> = state.into_iter().chain(others).collect();
        actual.extend(lengths.iter().map(|n| format!("&{n}")));
        match &text {
            Some(text) => actual.push(text.actual.clone()),
            None => actual.extend(result.map(|_| "&mut farfel_result".to_owned())),
        }
        actual.extend(text_lengths.iter().map(|l| format!("&{l}")));
        let call = format!(
            "::farfel_runtime::border! {{ farfel_call({}) }}",
            actual.join(", ")
        );
        let call = match self.facts.stack.calls.get(&unit.name) {
            Some(bytes) if *bytes > UNASKED && (stops || surprises) => {
                let place = place_of(self.sources, unit.span).unwrap_or_default();
                format!(
                    "{{\n        ::farfel_runtime::need_stack({bytes}, \"{}\", {place:?});\n        {call}\n    }}",
                    unit.name
                )
            }
            _ => call,
        };
        t.push_str(
            "    // SAFETY: the declaration is that of the subroutine in the library; arrays have the\n    // elements that the Fortran declarations ask for.\n",
        );
        if stops {
            let _ = writeln!(
                t,
                "    let farfel_outcome = ::farfel_runtime::catch_end(|| {call});"
            );
        } else if surprises {
            let _ = writeln!(t, "    ::farfel_runtime::expect_no_end(|| {call});");
        } else {
            let _ = writeln!(t, "    {call};");
        }
        if lock.is_some() {
            t.push_str("    ::core::mem::drop(farfel_guard);\n");
        }
        for a in &args {
            t.push_str(&a.after);
        }
        if stops {
            t.push_str("    farfel_outcome?;\n");
        }
        let converted = match (&returns, result) {
            (Some(returns), _) => format!("{returns}::farfel_of(farfel_result)"),
            (None, Some(Some(Type::Logical(_)))) => "farfel_result != 0".into(),
            (None, Some(Some(Type::Character))) if value.is_some() => {
                "::farfel_runtime::string_of(&farfel_result)".into()
            }
            (None, Some(_)) if value.is_some() => "farfel_result".into(),
            (None, _) => "()".into(),
        };
        match (fallible, value.is_some()) {
            (true, _) => {
                let _ = writeln!(t, "    ::core::result::Result::Ok({converted})");
            }
            (false, true) => {
                let _ = writeln!(t, "    {converted}");
            }
            (false, false) => {}
        }
        t.push_str("}\n");
        if exposed.is_some() {
            t.push_str("}\n");
        }
        if within.is_some() {
            t.push_str("}\n");
        }
        let raw = RawFunction {
            value: value.map(str::to_owned),
            function,
            fallible,
            exposed: exposed.is_some(),
            instance: instance.cloned(),
            returns,
            args: positioned,
            place: text.and_then(|text| text.argument),
        };
        (t, raw)
    }

    /// Generates the code for an argument of a wrapper.
    fn argument(&self, unit: &Unit, position: usize, id: SymId) -> Argument {
        let symbol = &unit.symbols[id];
        let name = identifier(&symbol.name);
        let rust = rust_type(symbol.ty, self.config).unwrap_or("()");
        let border = border_type(symbol.ty, self.config);
        let logical = matches!(symbol.ty, Some(Type::Logical(_)));
        let assigned = self.assigned.argument(&unit.name, position);
        let pointer = if assigned { "*mut" } else { "*const" };
        // The variable for the Fortran representation, for example of a LOGICAL.
        let copy = format!("farfel_{}", name.trim_start_matches("r#"));
        let mut a = Argument {
            border: format!("{pointer} {border}"),
            name: name.clone(),
            ..Argument::default()
        };
        if symbol.class.is_procedure()
            && let Ok(interface) =
                procedures::interface(self.program, unit, position, self.config, &self.facts.plan)
        {
            let code = interface.code(unit, &name, self.config);
            return Argument {
                border: code.border,
                rust: code.rust,
                actual: code.actual,
                before: code.before,
                items: code.items,
                closure_note: Some(code.note),
                ..a
            };
        }
        let measured = self.facts.plan.is_measured(&unit.name);
        if symbol.ty == Some(Type::Character) {
            a.border = format!("{pointer} u8");
            let length = TextLength::of(unit, symbol, &|s| self.integer(unit, s));
            let length = length.unwrap_or(TextLength::Open);
            if symbol.is_array() {
                let declared = declaration(unit, symbol);
                let function = identifier(&unit.name);
                let function = function.trim_start_matches("r#");
                a.check = self.extent(unit, symbol).check();
                a.count = measured.then(|| format!("{copy}_count"));
                texts::array(&mut a, function, &length, &declared, assigned);
            } else {
                let declared = format!("{} {}", declared_type(unit, symbol), symbol.name);
                texts::scalar(&mut a, &length, &declared, assigned);
            }
            return a;
        }
        if symbol.is_array() {
            a.rust = format!("&{}[{rust}]", if assigned { "mut " } else { "" });
            a.check = self.extent(unit, symbol).check();
            a.count = measured.then(|| format!("{copy}_count"));
            let method = if assigned { "as_mut_ptr" } else { "as_ptr" };
            if logical {
                let mutable = if assigned { "mut " } else { "" };
                a.before = format!(
                    "    let {mutable}{copy}: ::std::vec::Vec<{border}> = ::farfel_runtime::to_logicals({name});\n"
                );
                a.actual = format!("{copy}.{method}()");
                if assigned {
                    a.after = format!("    ::farfel_runtime::from_logicals(&{copy}, {name});\n");
                }
            } else {
                a.actual = format!("{name}.{method}()");
            }
        } else if assigned {
            a.rust = format!("&mut {rust}");
            if logical {
                a.before = format!("    let mut {copy} = {border}::from(*{name});\n");
                a.actual = format!("&mut {copy}");
                a.after = format!("    *{name} = {copy} != 0;\n");
            } else {
                a.actual = format!("&mut *{name}");
            }
        } else {
            a.rust = rust.into();
            if logical {
                a.before = format!("    let {copy} = {border}::from({name});\n");
                a.actual = format!("&{copy}");
            } else {
                a.actual = format!("&{name}");
            }
        }
        a
    }

    /// Determines which extents of an array the wrapper can check.
    fn extent(&self, unit: &Unit, symbol: &Symbol) -> Extent {
        let bounds = |dims: &[Dim]| -> Option<String> {
            let pairs: Option<Vec<String>> = dims
                .iter()
                .map(|d| {
                    let lower = match &d.lower {
                        Some(e) => self.value(unit, e, 0)?,
                        None => "1".into(),
                    };
                    let upper = self.value(unit, d.upper.as_ref()?, 0)?;
                    Some(format!("({lower}, {upper})"))
                })
                .collect();
            pairs.map(|p| p.join(", "))
        };
        let assumed_size = symbol
            .dims
            .last()
            .and_then(|d| d.upper.as_ref())
            .is_some_and(|e| e.kind == ExprKind::Star);
        // Old programs declare `X(1)` for an array of any length.
        let one = symbol
            .dims
            .last()
            .filter(|d| d.lower.is_none())
            .and_then(|d| d.upper.as_ref())
            .is_some_and(|e| e.kind == ExprKind::Int(1));
        if one {
            return bounds(&symbol.dims).map_or(Extent::Unknown, Extent::Partly);
        }
        if assumed_size {
            // The array must have at least one element for each combination of the leading subscripts.
            let leading = &symbol.dims[..symbol.dims.len() - 1];
            return match bounds(leading) {
                Some(b) if !leading.is_empty() => Extent::Partly(b),
                _ => Extent::Unknown,
            };
        }
        bounds(&symbol.dims).map_or(Extent::Unknown, Extent::Checked)
    }

    /// Returns a bound as a Rust expression of type `i64` in the arguments of the wrapper; `None` if the
    /// bound depends on anything else.
    fn value(&self, unit: &Unit, expr: &Expr, depth: u32) -> Option<String> {
        value(unit, expr, depth, Language::Rust, &|s| {
            self.integer(unit, s)
        })
    }

    /// Returns an INTEGER argument of the wrapper as a Rust expression of type `i64`.
    fn integer(&self, unit: &Unit, argument: SymId) -> Option<String> {
        let position = unit.arg_position(argument)?;
        let assigned = self.assigned.argument(&unit.name, position);
        let star = if assigned { "*" } else { "" };
        let name = identifier(&unit.symbols[argument].name);
        Some(format!("i64::from({star}{name})"))
    }

    /// Writes the documentation of a function, which begins with the lines `head`. `about` and `errors` are
    /// additional lines about the function and about its errors.
    fn documentation(
        &self,
        text: &mut String,
        unit: &Unit,
        args: &[&Argument],
        locked: bool,
        [head, about, errors]: [&[String]; 3],
    ) {
        let fails = self.facts.fails.contains(&unit.name);
        let stops = self.facts.stops.contains(&unit.name);
        let mut lines = head.to_vec();
        lines.push(String::new());
        lines.push("```text".into());
        lines.push(signature(unit));
        lines.extend(unit.args.iter().filter_map(|a| {
            let symbol = &unit.symbols[a.sym()?];
            symbol.is_array().then(|| declaration(unit, symbol))
        }));
        lines.push("```".into());
        if let Some(file) = self.sources.get(unit.span.file) {
            let place = file.line_column(unit.span.start);
            lines.push(String::new());
            lines.push(format!("Defined at `{}:{}`.", file.name, place.line));
        }
        if !about.is_empty() {
            lines.push(String::new());
            lines.extend_from_slice(about);
        }
        if locked {
            lines.push(String::new());
            lines.push(
                "It shares state with other functions of this library, so one thread at a time runs them."
                    .into(),
            );
        }
        let closures: Vec<&str> = args
            .iter()
            .filter_map(|a| a.closure_note.as_deref())
            .collect();
        if !closures.is_empty() {
            lines.push(String::new());
            lines.extend(closures.iter().map(|note| (*note).to_owned()));
            if locked {
                lines.push(
                    "Calls of functions of this library from there share COMMON and saved variables with this one."
                        .into(),
                );
            }
        }
        if let Some(reason) = self.facts.exposed.get(&unit.name) {
            lines.extend([String::new(), "# Safety".into(), String::new()]);
            lines.push(
                "The subprogram, and all that it calls, must stay inside the arrays and texts that it is \
                 given and that it has."
                    .into(),
            );
            lines.push(format!("That cannot be checked: {reason}."));
        }
        let no_memory = args.iter().any(|a| a.fallible);
        let short = args.iter().any(|a| a.check.is_some());
        if stops || fails || !errors.is_empty() || short || no_memory {
            lines.extend([String::new(), "# Errors".into(), String::new()]);
            if short {
                lines.push("When an array is too short for its declared bounds.".into());
            }
            if no_memory {
                lines.push("When there is no memory for a copy of texts.".into());
            }
            lines.extend_from_slice(errors);
            if fails {
                lines.push(
                    "When a subscript leads out of an array, or a substring out of a text.".into(),
                );
            }
            if stops {
                lines.push(
                    "When the program executes STOP, or does what would end a Fortran program: input and output that fail, \
                     a division by zero."
                        .into(),
                );
            }
            if !self.config.float_errors.is_empty() {
                lines.push("When a floating-point operation in it has no result of use.".into());
            }
        }
        for line in lines.iter().map(|l| crate::rustdoc::legal(l)) {
            let _ = writeln!(text, "///{}{line}", if line.is_empty() { "" } else { " " });
        }
    }
}

/// Returns the first lines of the documentation of a function: the comments of the subprogram.
fn head(unit: &Unit) -> Vec<String> {
    let mut lines = crate::rustdoc::comments(&unit.comments);
    if lines.is_empty() {
        lines = crate::rustdoc::comments(&comments_inside(unit));
    }
    if lines.is_empty() {
        lines.push(format!("The Fortran subprogram {}.", unit.name));
    }
    lines
}

/// Returns the first lines of the documentation of a function in `raw`: where the comments are.
fn with_all_arguments(short: &str) -> Vec<String> {
    let short = short.replace("r#", "");
    vec![format!(
        "[`{short}`](super::{short}) with all arguments of the Fortran subprogram."
    )]
}

/// Returns the comments after the head of a subprogram, as in MINPACK: the first ones, unless they are a line
/// or two among the declarations.
fn comments_inside(unit: &Unit) -> Vec<String> {
    let specs = unit.specs.iter().map(|s| match &s.kind {
        SpecKind::Comment(text) => Some(text.to_string()),
        _ => None,
    });
    let body = unit.body.iter().map(|s| match &s.kind {
        StmtKind::Comment(text) => Some(text.to_string()),
        _ => None,
    });
    let all: Vec<Option<String>> = specs.chain(body).collect();
    let Some(first) = all.iter().position(Option::is_some) else {
        return Vec::new();
    };
    let found: Vec<String> = all.into_iter().skip(first).map_while(|c| c).collect();
    let written = found.iter().filter(|l| !l.trim().is_empty());
    match first == 0 || first <= unit.specs.len() && written.count() > 2 {
        true => found,
        false => Vec::new(),
    }
}

/// How a subroutine with alternate returns may return.
fn alternate_returns(name: &str, unit: &Unit, count: usize) -> String {
    let mut variants = String::new();
    let mut arms = String::new();
    for n in 1..=count {
        let _ = writeln!(
            variants,
            "    /// By `RETURN {n}`: to the label that the alternate return number {n} stands for.\n    Alternate{n},"
        );
        if n < count {
            let _ = writeln!(arms, "            {n} => {name}::Alternate{n},");
        }
    }
    format!(
        "/// How [`{}`] returned.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\n#[allow(dead_code, non_camel_case_types)]\npub enum {name} {{\n    \
         /// As other subroutines do.\n    Normal,\n{variants}}}\n\nimpl {name} {{\n    fn farfel_of(number: i32) -> Self {{\n        \
         match number {{\n            0 => {name}::Normal,\n{arms}            _ => {name}::Alternate{count},\n        }}\n    }}\n}}\n\n",
        identifier(&unit.name).trim_start_matches("r#")
    )
}

/// Joins words: A, B and C.
fn enumerated(words: &[String]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Converts a Fortran name to a Rust type name.
fn camel(name: &str) -> String {
    let mut text = String::new();
    for word in name.split(['_', '$']) {
        // Keeps `A_1` and `A1` distinct, and `A__B` and `A_B`.
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            text.push('_');
        }
        let (first, rest) = word.split_at(word.len().min(1));
        text.push_str(first);
        text.push_str(&rest.to_ascii_lowercase());
    }
    match text.as_str() {
        "Self" | "" => format!("{text}_"),
        _ => text,
    }
}

/// A wrapper with all arguments.
struct RawFunction {
    /// The name of the function.
    function: String,
    /// The arguments, with their positions in Fortran.
    args: Vec<(usize, Argument)>,
    /// The type of the value.
    value: Option<String>,
    /// Whether the function returns a `Result`.
    fallible: bool,
    /// Whether the function is `unsafe`.
    exposed: bool,
    /// The instance type, of which the function takes a mutable reference as its receiver or first argument.
    instance: Option<String>,
    /// The enum of alternate returns, if the subroutine has any.
    returns: Option<String>,
    /// The last argument, for the value of a `CHARACTER*(*) FUNCTION`.
    place: Option<Argument>,
}

/// One argument of a wrapper.
#[derive(Default)]
struct Argument {
    /// The name in Rust.
    name: String,
    /// The type in Rust; empty if the wrapper does not take the argument.
    rust: String,
    /// The type in the `extern` declaration.
    border: String,
    /// The actual argument of the Fortran call.
    actual: String,
    /// The bounds to check, as a list of pairs.
    check: Option<String>,
    /// Whether `before` may return an error.
    fallible: bool,
    /// The variable for the number of elements of an array, if the subprogram takes that number.
    count: Option<String>,
    /// The variable for the length of a CHARACTER.
    length: Option<String>,
    /// Items in the body of the wrapper.
    items: String,
    /// The documentation of a closure.
    closure_note: Option<String>,
    /// Statements before the call.
    before: String,
    /// Statements after the call.
    after: String,
}

/// The bounds of an array that the wrapper can check, as a list of pairs.
enum Extent {
    /// All bounds are known.
    Checked(String),
    /// These bounds only give a lower limit for the number of elements.
    Partly(String),
    /// Nothing can be checked.
    Unknown,
}

impl Extent {
    /// Returns the bounds to check.
    fn check(self) -> Option<String> {
        match self {
            Extent::Checked(bounds) | Extent::Partly(bounds) => Some(bounds),
            Extent::Unknown => None,
        }
    }
}

/// Returns the first line of the subprogram in Fortran.
fn signature(unit: &Unit) -> String {
    let args: Vec<&str> = unit
        .args
        .iter()
        .map(|a| match a {
            Arg::Dummy(s) => unit.symbols[*s].name.as_str(),
            Arg::AltReturn(_) => "*",
        })
        .collect();
    let args = args.join(", ");
    match (unit.kind, unit.result) {
        (UnitKind::Function, Some(result)) => {
            let ty = declared_type(unit, &unit.symbols[result]);
            format!("{ty} FUNCTION {}({args})", unit.name)
        }
        _ => format!("SUBROUTINE {}({args})", unit.name),
    }
}

/// Returns the Fortran declaration of an array, with its bounds.
fn declaration(unit: &Unit, symbol: &Symbol) -> String {
    let ty = declared_type(unit, symbol);
    format!("{ty} {}", shape(unit, &symbol.name, &symbol.dims))
}

/// Returns the type of a variable as Fortran declares it: `CHARACTER*8`.
fn declared_type(unit: &Unit, symbol: &Symbol) -> String {
    let ty = symbol.ty.map(|t| t.to_string()).unwrap_or_default();
    match &symbol.length {
        Some(e) if e.kind == ExprKind::Star => format!("{ty}*(*)"),
        Some(e) => match constant::integer(unit, e) {
            Some(length) => format!("{ty}*{length}"),
            None => format!("{ty}*({})", print_expr(unit, e)),
        },
        None => ty,
    }
}

/// Returns an array name with its bounds: `X(N)`.
fn shape(unit: &Unit, name: &Name, dims: &[Dim]) -> String {
    let dims: Vec<String> = dims
        .iter()
        .map(|d| {
            let bound = |e: &Option<Expr>| e.as_ref().map(|e| print_expr(unit, e));
            match (bound(&d.lower), bound(&d.upper)) {
                (Some(lower), Some(upper)) => format!("{lower}:{upper}"),
                (None, Some(upper)) => upper,
                (_, None) => ":".into(),
            }
        })
        .collect();
    format!("{name}({})", dims.join(", "))
}

/// Converts a Fortran name to a Rust identifier.
fn identifier(name: &str) -> String {
    // Fortran compilers accept `$` in names.
    let name = name.to_ascii_lowercase().replace('$', "_");
    if matches!(name.as_str(), "self" | "super" | "crate") || name.starts_with("farfel_") {
        // These keywords have no raw form; the prefix `farfel_` is reserved for generated code.
        return format!("{name}_");
    }
    if KEYWORDS.contains(&name.as_str()) {
        return format!("r#{name}");
    }
    name
}

/// Converts a Fortran name to a method name that does not clash with the methods of every instance type.
fn method(name: &str) -> String {
    match identifier(name) {
        name if matches!(name.as_str(), "new" | "clone" | "default") => format!("{name}_"),
        name => name,
    }
}

/// The keywords of all Rust editions, including those reserved for future use.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];
