//! The interface of a library for C, and on it that for Python: `farfel export`.
//!
//! Each Rust function with all arguments gets a function for C, which calls it: so the same checks apply, the
//! same locks are taken, and nothing ends the process. [`rust`] writes these functions, [`header`] their
//! declarations, and [`python`] a module that calls them.

mod header;
mod python;
mod rust;

pub(super) use python::python_name;

use super::procedures::{self, ClosureArgument, Interface};
use super::signature::{Role, Status};
use super::texts::TextLength;
use super::{Bindings, BindingsPart, declaration, shape, signature};
use crate::Config;
use farfel_lang::dataflow::Intents;
use farfel_lang::ir::{
    Arg, BinOp, Class, Expr, ExprKind, Name, StorageClass, SymId, Symbol, Type, UnOp, Unit,
    UnitKind,
};
use std::collections::HashSet;

/// A library for C and Python, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CInterface {
    /// The name of the library, with which all names begin.
    pub name: String,
    /// The C header.
    pub header: String,
    /// The functions for C in Rust. They expect the bindings in a module `fortran`.
    pub rust: String,
    /// The Python module, without what all such modules share.
    pub python: String,
    /// The number of functions.
    pub functions: usize,
    /// Notices for the user about subprograms that C cannot call.
    pub notices: Vec<String>,
}

impl CInterface {
    /// What all Python modules share: the file `_support.py`.
    pub const PYTHON_SUPPORT: &str = include_str!("c/support.py");

    /// Generates the interface of a library.
    pub(crate) fn of(part: &BindingsPart, config: &Config) -> CInterface {
        let name = prefix(&config.name);
        let instance = config.instance.as_deref();
        let library = Library {
            name: &name,
            config,
            instance,
            functions: part.c.iter().filter(|f| f.obstacle.is_none()).collect(),
            taken: part.c.iter().map(|f| f.name.as_str()).collect(),
        };
        let notices = part.c.iter().filter_map(|f| {
            let why = f.obstacle.as_ref()?;
            Some(format!(
                "{} cannot be called from C: {why}; call it from a Fortran subprogram without such arguments",
                f.name.to_ascii_uppercase()
            ))
        });
        CInterface {
            header: library.header(),
            rust: library.rust(),
            python: library.python(),
            functions: library.functions.len(),
            notices: notices.collect(),
            name,
        }
    }
}

/// What is to be written.
struct Library<'a> {
    /// The name with which all names begin.
    name: &'a str,
    config: &'a Config,
    instance: Option<&'a str>,
    functions: Vec<&'a CFunction>,
    /// The names of subprograms, which no other name may be.
    taken: HashSet<&'a str>,
}

impl Library<'_> {
    /// Returns the name of something in C that is not a subprogram.
    fn own_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.taken.contains(name.as_str()) {
            name.push('_');
        }
        format!("{}_{name}", self.name)
    }

    /// Returns the name of a subprogram in C.
    fn function_name(&self, function: &CFunction) -> String {
        format!("{}_{}", self.name, function.name)
    }

    /// Returns the type of the pointer to an instance.
    fn instance_type(&self) -> Option<String> {
        let mut name = self.instance?.to_ascii_lowercase();
        let ours = ["", "_new", "_clone", "_free"];
        while ours
            .iter()
            .any(|end| self.taken.contains(format!("{name}{end}").as_str()))
        {
            name.push('_');
        }
        Some(self.own_name(&name))
    }
}

/// Converts a package name to an identifier.
fn prefix(package: &str) -> String {
    package
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
            _ => '_',
        })
        .collect()
}

/// A subprogram as C calls it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct CFunction {
    /// The name, in lower case.
    name: String,
    /// The Rust function.
    rust: String,
    /// The comment, as plain text.
    about: Vec<String>,
    /// The arguments.
    args: Vec<CArgument>,
    /// The arguments that say what went wrong.
    statuses: Vec<PythonStatus>,
    /// The type of the value.
    value: Option<CType>,
    /// Whether the value is the number of the alternate return.
    returns: bool,
    /// Whether the Rust function returns a `Result`.
    fallible: bool,
    /// Whether it is a method of an instance.
    of_instance: bool,
    /// Why C cannot call it.
    obstacle: Option<String>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CArgument {
    /// The name, in lower case.
    name: String,
    kind: CKind,
    /// What Python does with it.
    python: PythonRole,
}

/// What the Python module does with an argument, whereas C passes all of them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum PythonRole {
    /// The caller passes it.
    #[default]
    Given,
    /// The module makes it, an array with these extents, or a scalar, and returns it.
    Output(Vec<String>),
    /// The module makes an array with these extents.
    Workspace(Vec<String>),
    /// This is its value.
    Computed(String),
    /// It is only used for errors.
    Status,
}

/// A status argument, of which some values are errors in Python.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PythonStatus {
    /// The name of the argument.
    name: String,
    /// The conditions for errors: Python operators, and the numbers to compare with.
    wrong: Vec<(&'static str, i64)>,
    /// Operators, numbers and what they mean.
    meanings: Vec<(&'static str, i64, String)>,
}

impl PythonRole {
    /// Whether the module makes an array, or a value from extents.
    fn is_made(&self) -> bool {
        match self {
            PythonRole::Output(extents) => !extents.is_empty(),
            PythonRole::Workspace(_) | PythonRole::Computed(_) => true,
            PythonRole::Given | PythonRole::Status => false,
        }
    }

    fn of(role: Option<&Role>) -> Self {
        match role {
            None | Some(Role::Given | Role::Size(_)) => PythonRole::Given,
            Some(Role::Length(bounds)) => {
                let extents = bounds.python.iter().map(|e| format!("max({e}, 0)"));
                PythonRole::Computed(extents.collect::<Vec<_>>().join("*"))
            }
            Some(Role::Leading(bounds)) => {
                let rows = bounds.python.first().map_or("1", String::as_str);
                PythonRole::Computed(format!("max({rows}, 1)"))
            }
            Some(Role::Output(bounds)) => PythonRole::Output(
                bounds
                    .as_ref()
                    .map(|b| b.python.clone())
                    .unwrap_or_default(),
            ),
            Some(Role::Workspace(bounds)) => PythonRole::Workspace(bounds.python.clone()),
            Some(Role::Status) => PythonRole::Status,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CKind {
    /// A scalar that is only read.
    Value(CType),
    /// A scalar that may be assigned, and whether its value at the start may be read.
    Variable(CType, bool),
    /// An array.
    Array(CArray),
    /// A CHARACTER that is only read.
    Text,
    /// A CHARACTER that may be assigned, of at least this length.
    TextVariable {
        least: usize,
        /// Whether its length is that of the actual argument.
        open: bool,
        /// Whether its value at the start may be read.
        reads: bool,
    },
    /// A procedure.
    Procedure(CProcedure),
}

/// An array.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CArray {
    ty: CType,
    assigned: bool,
    /// The array with its bounds in Fortran: `X(N)`.
    shown: String,
    /// The extents.
    extents: Vec<CExtent>,
}

/// The extent of an array in one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CExtent {
    /// An INTEGER argument that is only read.
    Argument(String),
    /// An expression in the arguments, as Python understands it.
    Expression(String),
    /// Not known, or as long as the actual argument.
    Unknown,
}

/// A procedure argument.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CProcedure {
    /// How Fortran calls it, and what it computes, for the documentation.
    about: String,
    value: Option<CType>,
    args: Vec<CGiven>,
}

/// An argument of a procedure that Fortran calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CGiven {
    ty: CType,
    array: bool,
    assigned: bool,
}

/// A type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CType {
    Integer(u8),
    Float,
    Double,
    ComplexFloat,
    Complex,
    Bool,
}

impl CType {
    fn of(ty: Option<Type>, config: &Config) -> Option<CType> {
        Some(match ty?.with_real(config.real_kind) {
            Type::Integer(n @ (1 | 2 | 4 | 8)) => CType::Integer(n),
            Type::Real(4) => CType::Float,
            Type::Real(8) => CType::Double,
            Type::Complex(4) => CType::ComplexFloat,
            Type::Complex(8) => CType::Complex,
            Type::Logical(1 | 2 | 4 | 8) => CType::Bool,
            _ => return None,
        })
    }

    fn rust(self) -> &'static str {
        match self {
            CType::Integer(1) => "i8",
            CType::Integer(2) => "i16",
            CType::Integer(4) => "i32",
            CType::Integer(_) => "i64",
            CType::Float => "f32",
            CType::Double => "f64",
            CType::ComplexFloat => "::farfel_runtime::Complex<f32>",
            CType::Complex => "::farfel_runtime::Complex<f64>",
            CType::Bool => "bool",
        }
    }

    fn c(self, library: &Library) -> String {
        match self {
            CType::Integer(n) => format!("int{}_t", 8 * u32::from(n)),
            CType::Float => "float".into(),
            CType::Double => "double".into(),
            CType::ComplexFloat => library.own_name("complex_float"),
            CType::Complex => library.own_name("complex"),
            CType::Bool => "bool".into(),
        }
    }

    /// The name of the type in numpy.
    fn numpy(self) -> &'static str {
        match self {
            CType::Integer(1) => "int8",
            CType::Integer(2) => "int16",
            CType::Integer(4) => "int32",
            CType::Integer(_) => "int64",
            CType::Float => "float32",
            CType::Double => "float64",
            CType::ComplexFloat => "complex64",
            CType::Complex => "complex128",
            CType::Bool => "bool",
        }
    }
}

impl Bindings<'_> {
    /// Returns the exported subprograms as C calls them.
    pub(super) fn c_functions(&self, units: &[std::borrow::Cow<Unit>]) -> Vec<CFunction> {
        let intents = Intents::of(self.program);
        let c_function = |unit: &std::borrow::Cow<Unit>| match self.c_function(unit, &intents) {
            Ok(function) => function,
            Err(why) => CFunction {
                name: unit.name.to_ascii_lowercase(),
                obstacle: Some(why),
                ..CFunction::default()
            },
        };
        units.iter().map(c_function).collect()
    }

    fn c_function(&self, unit: &Unit, intents: &Intents) -> Result<CFunction, String> {
        let (_, raw) = self.function(unit, false);
        let uses = intents.get(&unit.name).unwrap_or_default();
        let signature = self.signatures.and_then(|all| all.get(&unit.name));
        let mut args = Vec::new();
        for (position, arg) in &raw.args {
            let Some(id) = unit.args[*position].sym() else {
                continue;
            };
            // A dummy procedure that is never called.
            if arg.rust.is_empty() {
                continue;
            }
            let symbol = &unit.symbols[id];
            // If nothing is known about it, it is read.
            let reads = uses.get(*position).is_none_or(|u| u.reads || !u.always);
            args.push(CArgument {
                name: symbol.name.to_ascii_lowercase(),
                kind: self.c_argument(unit, *position, id, symbol, reads)?,
                python: PythonRole::of(signature.and_then(|s| s.roles.get(*position))),
            });
        }
        let statuses = signature.iter().flat_map(|s| &s.statuses);
        let statuses = statuses.filter_map(|s| PythonStatus::of(unit, s)).collect();
        let alternates = unit.args.iter().any(|a| a.sym().is_none());
        let value = match (unit.kind, unit.result) {
            (UnitKind::Function, Some(r)) => {
                let ty = CType::of(unit.symbols[r].ty, self.config);
                Some(ty.ok_or("the type of its result")?)
            }
            _ if alternates => Some(CType::Integer(4)),
            _ => None,
        };
        Ok(CFunction {
            name: unit.name.to_ascii_lowercase(),
            about: self.plain_documentation(unit),
            args,
            statuses,
            value,
            returns: alternates,
            fallible: raw.fallible,
            of_instance: raw.instance.is_some(),
            rust: raw.function,
            obstacle: None,
        })
    }

    fn c_argument(
        &self,
        unit: &Unit,
        position: usize,
        id: SymId,
        symbol: &Symbol,
        reads: bool,
    ) -> Result<CKind, String> {
        if symbol.class.is_procedure() {
            let interface =
                procedures::interface(self.program, unit, position, self.config, &self.facts.plan)?;
            return CProcedure::of(&interface, &symbol.name, self.config).map(CKind::Procedure);
        }
        let assigned = self.assigned.argument(&unit.name, position);
        if symbol.ty == Some(Type::Character) {
            if symbol.is_array() {
                return Err(format!("its argument {}, an array of texts", symbol.name));
            }
            let (least, open) = match TextLength::of(unit, symbol, &|_| None) {
                Some(TextLength::Fixed(n)) => (n, false),
                Some(TextLength::Open) => (0, true),
                _ => {
                    return Err(format!(
                        "the length of its argument {}, which is not constant",
                        symbol.name
                    ));
                }
            };
            return Ok(match assigned {
                false => CKind::Text,
                true => CKind::TextVariable {
                    least: usize::try_from(least).unwrap_or(0),
                    open,
                    reads,
                },
            });
        }
        let ty = CType::of(symbol.ty, self.config);
        let ty = ty.ok_or_else(|| format!("the type of its argument {}", symbol.name))?;
        Ok(match (symbol.is_array(), assigned) {
            (true, _) => {
                let extents = symbol.dims.iter().map(|d| match &d.upper {
                    Some(upper) => self.c_extent(unit, d.lower.as_ref(), upper),
                    None => CExtent::Unknown,
                });
                let mut extents: Vec<CExtent> = extents.collect();
                // Old programs declare `X(1)` for an array of any length.
                if let Some(last) = extents.last_mut()
                    && *last == CExtent::Expression("1".into())
                {
                    *last = CExtent::Unknown;
                }
                CKind::Array(CArray {
                    ty,
                    assigned,
                    shown: shape(unit, &symbol.name, &symbol.dims),
                    extents,
                })
            }
            (false, true) => CKind::Variable(ty, reads),
            (false, false) => {
                debug_assert!(unit.arg_position(id).is_some());
                CKind::Value(ty)
            }
        })
    }

    /// Returns an extent of an array in the arguments of its unit.
    fn c_extent(&self, unit: &Unit, lower: Option<&Expr>, upper: &Expr) -> CExtent {
        let read_only = |s: SymId| {
            let position = unit.arg_position(s)?;
            let symbol = &unit.symbols[s];
            let only_read = !self.assigned.argument(&unit.name, position) && !symbol.is_array();
            let integer = matches!(symbol.ty, Some(Type::Integer(_)));
            (only_read && integer).then(|| symbol.name.to_ascii_lowercase())
        };
        if let (None, ExprKind::Var(s)) = (lower, &upper.kind)
            && unit.symbols[*s].class == Class::Variable
        {
            return read_only(*s).map_or(CExtent::Unknown, CExtent::Argument);
        }
        let upper = arithmetic(unit, upper, 0, &read_only);
        let extent = match lower {
            None => upper,
            Some(lower) => upper
                .zip(arithmetic(unit, lower, 0, &read_only))
                .map(|(u, l)| format!("{u} - ({l}) + 1")),
        };
        extent.map_or(CExtent::Unknown, CExtent::Expression)
    }

    /// Returns the comment of a subprogram, its declaration and its place.
    fn plain_documentation(&self, unit: &Unit) -> Vec<String> {
        let mut lines = crate::rustdoc::plain(&unit.comments);
        if lines.is_empty() {
            lines = crate::rustdoc::plain(&super::comments_inside(unit));
        }
        if lines.is_empty() {
            lines.push(format!("The Fortran subprogram {}.", unit.name));
        }
        lines.push(String::new());
        lines.push(format!("  {}", signature(unit)));
        lines.extend(unit.args.iter().filter_map(|a| {
            let Arg::Dummy(s) = a else {
                return None;
            };
            let symbol = &unit.symbols[*s];
            symbol
                .is_array()
                .then(|| format!("  {}", declaration(unit, symbol)))
        }));
        if let Some(file) = self.sources.get(unit.span.file) {
            let place = file.line_column(unit.span.start);
            lines.push(String::new());
            lines.push(format!("Defined at {}:{}.", file.name, place.line));
        }
        if self.lock(unit).is_some() {
            lines.push(
                "It shares state with other functions of this library, so one thread at a time runs them."
                    .into(),
            );
        }
        if let Some(reason) = self.facts.exposed.get(&unit.name) {
            lines.push(format!("Its subscripts are not checked: {reason}."));
        }
        lines
    }
}

impl PythonStatus {
    fn of(unit: &Unit, status: &Status) -> Option<PythonStatus> {
        let symbol = &unit.symbols[unit.args.get(status.position)?.sym()?];
        let meanings = status.meanings.iter().map(|m| {
            let operator = match m.relation {
                "=" => "==",
                "/=" => "!=",
                other => other,
            };
            (operator, m.value, m.text.clone())
        });
        Some(PythonStatus {
            name: symbol.name.to_ascii_lowercase(),
            wrong: status.wrong.clone(),
            meanings: meanings.collect(),
        })
    }
}

impl CProcedure {
    /// # Errors
    ///
    /// The reason why C cannot pass such a procedure.
    fn of(interface: &Interface, name: &Name, config: &Config) -> Result<CProcedure, String> {
        let args = interface.args.iter().map(|a| match a {
            ClosureArgument::Data(data) => CType::of(Some(data.ty), config)
                .map(|ty| CGiven {
                    ty,
                    array: data.array,
                    assigned: data.assigns,
                })
                .ok_or_else(|| format!("its argument {name} is a procedure that gets {}", data.ty)),
            ClosureArgument::Procedure(..) => Err(format!(
                "its argument {name} is a procedure that gets procedures"
            )),
        });
        let about = interface.call.clone().unwrap_or_default();
        let about = match &interface.computes {
            Some(computes) => format!("called as {about}, and computes {computes}"),
            None => format!("called as {about}"),
        };
        Ok(CProcedure {
            about,
            value: interface.result.and_then(|ty| CType::of(Some(ty), config)),
            args: args.collect::<Result<_, _>>()?,
        })
    }
}

/// Translates an expression in INTEGER arguments to one that C and Python understand; `None` if it is not a
/// sum of products.
fn arithmetic(
    unit: &Unit,
    expr: &Expr,
    depth: u32,
    variable: &dyn Fn(SymId) -> Option<String>,
) -> Option<String> {
    // Invalid programs may define a constant in terms of itself.
    if depth > 64 {
        return None;
    }
    let value = |e: &Expr| arithmetic(unit, e, depth + 1, variable);
    Some(match &expr.kind {
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Paren(e) | ExprKind::Unary(UnOp::Plus, e) => format!("({})", value(e)?),
        ExprKind::Unary(UnOp::Minus, e) => format!("-({})", value(e)?),
        ExprKind::Var(s) => match (&unit.symbols[*s].class, &unit.symbols[*s].storage_class) {
            (Class::Parameter(v), _) => value(v)?,
            (Class::Variable, StorageClass::Dummy) => variable(*s)?,
            _ => return None,
        },
        ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), a, b) => {
            let sign = match op {
                BinOp::Add => "+",
                BinOp::Sub => "-",
                _ => "*",
            };
            format!("({} {sign} {})", value(a)?, value(b)?)
        }
        _ => return None,
    })
}
