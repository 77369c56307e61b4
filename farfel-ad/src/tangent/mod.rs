//! Forward mode: tangents.
//!
//! # What is generated
//!
//! The derivative of the head has the head's arguments, each that the request pairs
//! followed by its derivative. Below it, each subprogram through which derivatives flow is
//! copied once for each *context*: which of its inputs have a derivative, and which of its
//! outputs' derivatives are used. In such a copy each active argument is followed by its
//! derivative. A FUNCTION becomes a SUBROUTINE whose last arguments are the result and,
//! where it is active, the result's derivative. Calls without derivatives go to the
//! original.
//!
//! The first context of FOO is named FOO and the suffix, the next ones get a number. When
//! a unit has [`MOST_CONTEXTS`] of them, later calls that would need another one share a
//! copy in which everything is active that can be.
//!
//! COMMON blocks with active variables have a block of derivatives beside them, named
//! after the block and the suffix.

mod expr;
mod names;
mod rules;
mod stmt;
mod symbols;

use crate::activity::Context;
use crate::depend::Dependence;
use crate::flow::Flow;
use crate::locations::{Set, Space};
use farfel_lang::callgraph::{Below, UnitIndex};
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Name, Program, Request, Unit};
use names::Names;
use std::cell::RefCell;

/// After how many contexts a unit's later calls share one copy.
pub const MOST_CONTEXTS: usize = 8;

/// The tangent of a request's head and of what is active below it.
pub fn differentiate(
    program: &Program,
    request: &Request,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let index = UnitIndex::of(program);
    let dependence = Dependence::of(&Below::of(program, &index, &request.head));
    let engine = Engine {
        program,
        request,
        names: RefCell::new(Names::new(program, request, &dependence)),
        dependence,
        warnings: RefCell::new(Vec::new()),
    };
    let Some(head) = program.unit(&request.head) else {
        return Ok(Vec::new());
    };
    let mut units = Vec::new();
    let mut errors = Vec::new();
    match engine.unit(head, &engine.root(head), Some(request)) {
        Ok(u) => units.push(u),
        Err(e) => errors.extend(e),
    }
    let mut done = 0;
    loop {
        let Some(wanted) = engine.names.borrow().wanted(done) else {
            break;
        };
        done += 1;
        let Some(source) = program.unit(&wanted.unit) else {
            continue;
        };
        match engine.unit(source, &wanted, None) {
            Ok(u) => units.push(u),
            Err(e) => errors.extend(e),
        }
    }
    warnings.append(&mut engine.warnings.borrow_mut());
    if errors.is_empty() {
        Ok(units)
    } else {
        errors.sort_by_key(|d: &Diagnostic| (d.span.file, d.span.start));
        errors.dedup();
        Err(errors)
    }
}

/// A derivative unit to generate.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// The unit to differentiate.
    pub unit: Name,
    /// In which context.
    pub context: Context,
    /// The name of the derivative.
    pub name: Name,
}

/// One run of the engine: everything that the units of one request share.
pub(crate) struct Engine<'a> {
    pub program: &'a Program,
    pub request: &'a Request,
    pub dependence: Dependence,
    pub names: RefCell<Names>,
    pub warnings: RefCell<Vec<Diagnostic>>,
}

impl Engine<'_> {
    /// The context of the head: what the request says.
    fn root(&self, head: &Unit) -> Wanted {
        let slots = Space::of(head, &self.dependence.commons).slots;
        let set = |positions: &[usize]| {
            let mut s = Set::with_capacity(slots);
            s.extend(positions.iter().copied());
            s
        };
        Wanted {
            unit: head.name.clone(),
            context: Context {
                inputs: set(&self.request.independents),
                outputs: set(&self.request.dependents),
            },
            name: self.request.derivative.clone(),
        }
    }

    /// The derivative of one unit in one context.
    fn unit(
        &self,
        source: &Unit,
        wanted: &Wanted,
        root: Option<&Request>,
    ) -> Result<Unit, Vec<Diagnostic>> {
        let space = Space::of(source, &self.dependence.commons);
        let flow = Flow::of(source);
        self.names.borrow_mut().freeze();
        stmt::generate(self, source, &space, &flow, wanted, root)
    }
}
