//! The meaning of Farfel: an interpreter against which the compiler is tested.
//!
//! It runs a resolved program without any lowering, and shares no code with `farfel_lang::lower`,
//! `farfel_lang::effects` or `farfel-ad`. It is meant to be read as a definition:
//!
//! | module | purpose |
//! |---|---|
//! | `number` | real numbers with derivatives: nested tangents, tapes |
//! | `value` | values of the Fortran types, and operators |
//! | `storage` | places that hold values |
//! | `scope` | activations of subprograms, and the meaning of names in them; a nested subprogram is a closure: its code and the activation of its host |
//! | `data` | initial values of variables |
//! | `expression` | evaluation of expressions |
//! | `intrinsic` | intrinsic functions |
//! | `statement` | execution of statements |
//! | `call` | argument passing |
//! | `block` | AD blocks |
//! | `coverage` | what was executed in blocks |
//!
//! Variables and arguments are places, as in Fortran, so two names may refer to the same place. A
//! program that reads a value which was never set is an error here, whatever compiled code would
//! do. Anything that the interpreter does not support is a [`RuntimeError`] that says `not interpreted`,
//! never a wrong value.

mod block;
mod call;
mod coverage;
mod data;
mod expression;
mod intrinsic;
mod number;
mod scope;
mod statement;
mod storage;
mod value;

use number::{Number, Precision};
use value::Value;

use farfel_lang::Span;
use farfel_lang::ir::{Expr, Label, Name, Program, Stmt, SymId, Unit, UnitKind};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::rc::{Rc, Weak};

/// The settings for running a program.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether REAL has 8 bytes, as with `real-kind = 8`.
    pub wide: bool,
    /// The input of `READ *`, item by item.
    pub input: Vec<String>,
    /// The maximum number of statements to execute.
    pub steps: u64,
    /// Whether a REAL that was not set is NaN. This is for compiler-generated Fortran, which copies
    /// such values without using them.
    pub unset: bool,
    /// Whether assigning a dummy argument that stands for a constant is an error, as in Fortran.
    pub strict: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            wide: false,
            input: Vec::new(),
            steps: 50_000_000,
            unset: false,
            strict: false,
        }
    }
}

/// The effects of a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The output, record by record.
    pub output: Vec<Vec<Printed>>,
    /// The number or text of the STOP statement, or an empty text.
    pub stop: Option<String>,
    /// What was executed in blocks, and how often.
    pub reached: BTreeMap<String, u64>,
}

impl Outcome {
    /// Returns the output as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for record in &self.output {
            for item in record {
                text += &match item {
                    Printed::Real(x, _) => format!(" {x:e}"),
                    Printed::Text(t) => format!(" {t}"),
                };
            }
            text.push('\n');
        }
        text
    }
}

/// An item of output.
#[derive(Debug, Clone, PartialEq)]
pub enum Printed {
    /// A REAL, and whether it has single precision. A COMPLEX consists of two of them.
    Real(f64, bool),
    /// Any other value as printed, without surrounding blanks.
    Text(String),
}

/// The reason why a program could not be run to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeError {
    /// The message.
    pub message: String,
    /// The place of the statement.
    pub span: Option<Span>,
}

impl fmt::Display for RuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Runs a main program.
///
/// # Errors
///
/// The program does something that has no meaning, or that the interpreter does not support.
pub fn run(program: &Program, options: &Options) -> Result<Outcome, RuntimeError> {
    // Recursion in the program is recursion in the interpreter.
    const STACK: usize = 1 << 30;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let running = thread.spawn_scoped(scope, || run_here(program, options));
        let outcome = running.map(|r| r.join());
        match outcome {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(error("the interpreter broke down")),
            Err(e) => Err(error(&format!("no thread: {e}"))),
        }
    })
}

fn error(message: &str) -> RuntimeError {
    RuntimeError {
        message: message.into(),
        span: None,
    }
}

fn run_here(program: &Program, options: &Options) -> Result<Outcome, RuntimeError> {
    let main = program.units.iter().find(|u| u.kind == UnitKind::Program);
    let main = main.ok_or_else(|| error("not interpreted: a program without a main program"))?;
    let machine = Machine {
        program,
        wide: options.wide,
        unset: options.unset,
        strict: options.strict,
        commons: RefCell::default(),
        statics: RefCell::default(),
        layouts: RefCell::default(),
        live: RefCell::default(),
        input: RefCell::new(options.input.iter().cloned().collect()),
        output: RefCell::default(),
        tags: Cell::new(0),
        steps: Cell::new(options.steps),
        depth: Cell::new(0),
        pattern: Cell::new(false),
        once: RefCell::default(),
        coverage: coverage::Coverage::default(),
    };
    let ended = machine.initialise().and_then(|()| {
        let frame = machine.enter(main, None, None, &[])?;
        machine.body(&frame, &main.body, None)
    });
    let mut outcome = Outcome {
        output: machine.output.take(),
        stop: None,
        reached: machine.coverage.reached(),
    };
    match ended {
        Ok(_) => Ok(outcome),
        Err(Halt::Stop(code)) => {
            outcome.stop = Some(code);
            Ok(outcome)
        }
        Err(Halt::RuntimeError(error)) => Err(error),
    }
}

/// The reason why execution stops.
#[derive(Debug, Clone)]
enum Halt {
    /// STOP
    Stop(String),
    RuntimeError(RuntimeError),
}

impl Halt {
    fn invalid(message: impl AsRef<str>) -> Self {
        Halt::RuntimeError(error(message.as_ref()))
    }

    fn not_interpreted(what: impl fmt::Display) -> Self {
        Halt::RuntimeError(error(&format!("not interpreted: {what}")))
    }

    /// Adds the place of a statement, unless a more precise one is known.
    fn at(self, span: Span) -> Self {
        match self {
            Halt::RuntimeError(f) => Halt::RuntimeError(RuntimeError {
                span: f.span.or(Some(span)),
                ..f
            }),
            stop => stop,
        }
    }
}

type Run<T> = Result<T, Halt>;

/// How a statement, or a list of statements, was left.
enum Flow {
    Next,
    Goto(Label),
    /// RETURN, with the number of an alternate return.
    Return(Option<i64>),
    Cycle(Option<Name>),
    Exit(Option<Name>),
}

/// A running program.
struct Machine<'p> {
    program: &'p Program,
    wide: bool,
    unset: bool,
    strict: bool,
    /// The COMMON blocks.
    commons: RefCell<HashMap<Name, Rc<storage::Area>>>,
    /// The variables that keep their values between activations, by unit and symbol.
    statics: RefCell<HashMap<(*const Unit, SymId), Rc<storage::Area>>>,
    layouts: RefCell<HashMap<*const Unit, Rc<scope::Layout>>>,
    /// The activations, some of which may have ended.
    live: RefCell<Vec<Weak<scope::Frame<'p>>>>,
    input: RefCell<VecDeque<String>>,
    output: RefCell<Vec<Vec<Printed>>>,
    tags: Cell<u64>,
    steps: Cell<u64>,
    depth: Cell<usize>,
    /// Whether execution is in a block that requests a pattern.
    pattern: Cell<bool>,
    /// Values that are computed only once for all elements of an array expression.
    once: RefCell<HashMap<*const Expr, Vec<Value>>>,
    coverage: coverage::Coverage,
}

/// A subprogram that can be called: its code and, for a nested one, the activation of its host.
#[derive(Clone)]
struct Procedure<'p> {
    code: Code<'p>,
    host: Option<Rc<scope::Frame<'p>>>,
}

#[derive(Clone, Copy)]
enum Code<'p> {
    /// A unit, from its beginning or from an ENTRY statement.
    Unit(&'p Unit, Option<&'p Stmt>),
    Intrinsic(&'static farfel_lang::intrinsics::Intrinsic),
}
