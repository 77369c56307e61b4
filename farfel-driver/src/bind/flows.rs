//! The control flow of units, determined once for all questions about their arguments.

use farfel_lang::flow::FlowGraph;
use farfel_lang::ir::{Name, Program, StmtKind, Unit, walk_block};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The control flow of a program's units, as far as it was asked for.
pub(super) struct Flows<'p> {
    program: &'p Program,
    known: RefCell<HashMap<Name, Rc<FlowGraph<'p>>>>,
}

impl<'p> Flows<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Flows {
            program,
            known: RefCell::default(),
        }
    }

    /// Returns the control flow of a unit, from the ENTRY point whose name it has if there is one.
    pub(super) fn of<'u>(&self, unit: &'u Unit) -> Rc<FlowGraph<'u>>
    where
        'p: 'u,
    {
        // Units for ENTRY points are copies that the program does not have.
        let own = self.program.unit(&unit.name);
        let Some(own) = own.filter(|own| std::ptr::eq(*own, unit)) else {
            return Rc::new(entered(unit));
        };
        let mut known = self.known.borrow_mut();
        let flow = known.entry(unit.name.clone());
        flow.or_insert_with(|| Rc::new(entered(own))).clone()
    }
}

fn entered(unit: &Unit) -> FlowGraph<'_> {
    let mut flow = FlowGraph::of(unit);
    let mut entry = None;
    walk_block(&unit.body, &mut |s| match &s.kind {
        StmtKind::Entry(e) if unit.symbols[e.name].name == unit.name => entry = Some(e.name),
        _ => {}
    });
    flow.enter_at(entry);
    flow
}
