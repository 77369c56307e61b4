//! The meaning of Farfel: an interpreter to test the compiler against.
//!
//! It runs a resolved program as it stands, without any lowering, and shares nothing with
//! `farfel_lang::lower`, `farfel_lang::effects` or `farfel-ad`. Readable like a definition:
//!
//! | module | what |
//! |---|---|
//! | `number` | real numbers with derivatives: nested tangents, tapes |
//! | `value` | values of the Fortran types, and operators |
//! | `storage` | places that hold values |
//! | `scope` | activations of subprograms, what names stand for in them; nested subprograms are closures: code and the activation around it |
//! | `data` | values that variables have from the start |
//! | `expression` | what expressions mean |
//! | `intrinsic` | intrinsic functions |
//! | `statement` | what statements do |
//! | `call` | how arguments are handed over |
//! | `block` | AD blocks |
//! | `coverage` | what was executed in blocks |
//!
//! Variables and arguments are places, as in Fortran, so that two names may mean one place. A
//! program that reads what was never set is at fault here, whatever compiled code would do.
//! What the interpreter does not know is a [`Fault`] that says `not interpreted`, never a
//! wrong value.

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

/// How a program is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// REAL has 8 bytes, as with `real-kind = 8`.
    pub wide: bool,
    /// What `READ *` gets, item by item.
    pub input: Vec<String>,
    /// How many statements it may execute.
    pub steps: u64,
    /// A REAL that was not set is NaN: in Fortran that a compiler made, which copies such values
    /// without using them.
    pub unset: bool,
    /// A dummy argument that stands for a constant must not be assigned, as in Fortran.
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

/// What a program did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// What it printed, record by record.
    pub output: Vec<Vec<Printed>>,
    /// What a STOP statement said: a number, a text, or nothing.
    pub stop: Option<String>,
    /// What was executed in blocks, and how often.
    pub reached: BTreeMap<String, u64>,
}

impl Outcome {
    /// The output as text.
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

/// One item of output.
#[derive(Debug, Clone, PartialEq)]
pub enum Printed {
    /// A REAL and whether it is one of single precision. COMPLEX are two of them.
    Real(f64, bool),
    /// Everything else, as it is printed, without blanks around it.
    Text(String),
}

/// Why a program could not be run to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// What it is.
    pub message: String,
    /// The statement.
    pub span: Option<Span>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Runs a main program.
///
/// # Errors
///
/// What the program does has no meaning, or the interpreter does not know it.
pub fn run(program: &Program, options: &Options) -> Result<Outcome, Fault> {
    // Subprograms that call each other are functions here that do so.
    const STACK: usize = 1 << 30;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let running = thread.spawn_scoped(scope, || run_here(program, options));
        let outcome = running.map(|r| r.join());
        match outcome {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(fault("the interpreter broke down")),
            Err(e) => Err(fault(&format!("no thread: {e}"))),
        }
    })
}

fn fault(message: &str) -> Fault {
    Fault {
        message: message.into(),
        span: None,
    }
}

fn run_here(program: &Program, options: &Options) -> Result<Outcome, Fault> {
    let main = program.units.iter().find(|u| u.kind == UnitKind::Program);
    let main = main.ok_or_else(|| fault("not interpreted: a program without a main program"))?;
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
        Err(Halt::Fault(fault)) => Err(fault),
    }
}

/// Why execution does not go on.
#[derive(Debug, Clone)]
enum Halt {
    /// STOP
    Stop(String),
    Fault(Fault),
}

impl Halt {
    fn invalid(message: impl AsRef<str>) -> Self {
        Halt::Fault(fault(message.as_ref()))
    }

    fn not_interpreted(what: impl fmt::Display) -> Self {
        Halt::Fault(fault(&format!("not interpreted: {what}")))
    }

    /// With the place of a statement, unless one is known that is more exact.
    fn at(self, span: Span) -> Self {
        match self {
            Halt::Fault(f) => Halt::Fault(Fault {
                span: f.span.or(Some(span)),
                ..f
            }),
            stop => stop,
        }
    }
}

type Run<T> = Result<T, Halt>;

/// How a statement, or a list of them, was left.
enum Flow {
    Next,
    Goto(Label),
    /// RETURN, with the number of an alternate return.
    Return(Option<i64>),
    Cycle(Option<Name>),
    Exit(Option<Name>),
}

/// A program that runs.
struct Machine<'p> {
    program: &'p Program,
    wide: bool,
    unset: bool,
    strict: bool,
    /// COMMON blocks.
    commons: RefCell<HashMap<Name, Rc<storage::Area>>>,
    /// What keeps its value between activations, by unit and variable.
    statics: RefCell<HashMap<(*const Unit, SymId), Rc<storage::Area>>>,
    layouts: RefCell<HashMap<*const Unit, Rc<scope::Layout>>>,
    /// Activations, of which some have ended.
    live: RefCell<Vec<Weak<scope::Frame<'p>>>>,
    input: RefCell<VecDeque<String>>,
    output: RefCell<Vec<Vec<Printed>>>,
    tags: Cell<u64>,
    steps: Cell<u64>,
    depth: Cell<usize>,
    /// In a block that asks for a pattern.
    pattern: Cell<bool>,
    /// What is evaluated once for all elements of an array expression.
    once: RefCell<HashMap<*const Expr, Vec<Value>>>,
    coverage: coverage::Coverage,
}

/// A subprogram to call: its code, and for a nested one the activation that it sees.
#[derive(Clone)]
struct Procedure<'p> {
    code: Code<'p>,
    host: Option<Rc<scope::Frame<'p>>>,
}

#[derive(Clone, Copy)]
enum Code<'p> {
    /// A unit, from its top or from an ENTRY statement.
    Unit(&'p Unit, Option<&'p Stmt>),
    Intrinsic(&'static farfel_lang::intrinsics::Intrinsic),
}
