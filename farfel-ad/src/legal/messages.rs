//! Calls of MPI with real numbers in their buffers: makes them calls of the run-time library, whose
//! procedures have derivatives. The table of the calls is in `custom_rules/mpi.rs`.
//!
//! ```text
//! CALL MPI_IRECV(U(0), 1, MPI_REAL8, L, 1, COMM, R, IE)
//! CALL MPI_WAIT(R, MPI_STATUS_IGNORE, IE)
//!
//! CALL FARFEL_MPI_BASE(1, U)
//! CALL FARFEL_MPI_IRECV(U(0), 1, MPI_REAL8, L, 1, COMM, R, IE, FARFEL_CHANNEL)
//! CALL FARFEL_MPI_WAIT(R, 0, IE, 0, FARFEL_CHANNEL)
//! CALL FARFEL_MPI_WAITED(1, U, FARFEL_CHANNEL)
//! ```
//!
//! [`super::requests`] knows which IRECVs a WAIT completes.

use super::requests::{Requests, called, error};
use crate::custom_rules::functions::symbol;
use crate::custom_rules::mpi::{
    self, BASE, CHANNEL, MpiCall, OPERATIONS, PREFIX, Procedure, Role, WAITED, datatypes,
};
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    AdMode, Block, Class, DoEnd, Entity, Expr, ExprKind, IfBlock, Name, ProcedureDirective,
    Program, Request, SpecKind, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit,
    walk_block, walk_block_mut,
};
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// Whether a program calls MPI.
pub(crate) fn has_messages(program: &Program) -> bool {
    program.units.iter().any(|u| {
        let mut found = false;
        walk_block(&u.body, &mut |s| found |= called(u, s).is_some());
        found
    })
}

/// Replaces the calls in all units, and returns the names of those that have any. Calls of procedures that
/// the program contains, or that directives describe, are ordinary calls.
pub(crate) fn with_derivatives(
    program: &mut Program,
    request: &Request,
    errors: &mut Vec<Diagnostic>,
) -> Vec<Name> {
    let mut changed = Vec::new();
    let own = program.units.iter().map(|u| u.name.clone());
    let given = program.units.iter().flat_map(|u| &u.directives);
    let given = given.filter(|g| g.usage.is_none());
    let known: HashSet<Name> = own.chain(given.map(|g| g.procedure.clone())).collect();
    let all = Requests::of(program, &known, errors);
    for unit in &mut program.units {
        let mut any = all.passes_through(&unit.name);
        walk_block(&unit.body, &mut |s| {
            any |= called(unit, s).is_some_and(|n| !known.contains(n));
        });
        if !any {
            continue;
        }
        let mut body = std::mem::take(&mut unit.body);
        // Labels stay where they are, but loops no longer end at them.
        walk_block_mut(&mut body, &mut |s| {
            if let StmtKind::Do(d) = &mut s.kind {
                d.end = DoEnd::EndDo(None);
            }
        });
        let mut rewriter = Rewriter {
            unit,
            known: &known,
            real: request.real,
            reverse: request.mode == AdMode::Reverse,
            requests: &all,
            channel: None,
            errors,
        };
        rewriter.block(&mut body);
        unit.body = body;
        changed.push(unit.name.clone());
    }
    changed
}

/// Calls without buffers that may be about messages with derivatives. The adjoint still needs communicators.
const OF_MESSAGES: [&str; 15] = [
    "MPI_CANCEL",
    "MPI_COMM_FREE",
    "MPI_IPROBE",
    "MPI_MPROBE",
    "MPI_PROBE",
    "MPI_REQUEST_FREE",
    "MPI_REQUEST_GET_STATUS",
    "MPI_START",
    "MPI_STARTALL",
    "MPI_TEST",
    "MPI_TESTALL",
    "MPI_TESTANY",
    "MPI_TESTSOME",
    "MPI_WAITANY",
    "MPI_WAITSOME",
];

struct Rewriter<'a> {
    unit: &'a mut Unit,
    known: &'a HashSet<Name>,
    /// The size of a default REAL in bytes.
    real: u8,
    /// The derivative is an adjoint.
    reverse: bool,
    requests: &'a Requests,
    channel: Option<SymId>,
    errors: &'a mut Vec<Diagnostic>,
}

impl Rewriter<'_> {
    fn block(&mut self, block: &mut Block) {
        for mut s in std::mem::take(block) {
            s.blocks_mut().into_iter().for_each(|b| self.block(b));
            if let StmtKind::LogicalIf(condition, inner) = &mut s.kind {
                let mut then = vec![(**inner).clone()];
                self.block(&mut then);
                match <[Stmt; 1]>::try_from(then) {
                    Ok([one]) => **inner = one,
                    Err(then) => {
                        s.kind = StmtKind::If(IfBlock {
                            name: None,
                            arms: vec![(condition.clone(), then)],
                            otherwise: None,
                            marks: Vec::new(),
                            end_label: None,
                            end_span: s.span,
                        });
                    }
                }
            }
            let (mut before, after) = self.statement(&mut s);
            // The label belongs to what is executed first.
            if let Some(first) = before.first_mut() {
                first.label = s.label.take();
            }
            block.extend(before);
            block.push(s);
            block.extend(after);
        }
    }

    /// Rewrites a statement. Returns the statements to be executed before and after it.
    fn statement(&mut self, s: &mut Stmt) -> (Block, Block) {
        let name = called(self.unit, s).filter(|n| !self.known.contains(*n));
        let span = s.span;
        if name.is_none()
            && let StmtKind::Call(callee, args) = &s.kind
        {
            let callee = self.unit.symbols[*callee].name.clone();
            let begun = self.requests.begun_by(self.unit, &callee, args);
            let completed = self.requests.completed_by(self.unit, &callee, args);
            let (before, after) = (self.bases(&begun, None), self.waited(&completed, None));
            return (before, after);
        }
        let (Some(name), StmtKind::Call(callee, args)) = (name.cloned(), &mut s.kind) else {
            return Default::default();
        };
        if name.starts_with(PREFIX) {
            self.errors.push(error(
                span,
                "MPI is called in an AD block that another one contains",
                "messages have first derivatives only; differentiate once",
            ));
            return Default::default();
        }
        let Some(call) = MpiCall::find(&name) else {
            self.refuse_other(&name, args);
            return Default::default();
        };
        if args.len() != call.arguments.len() {
            self.errors.push(error(
                span,
                format!(
                    "{name} has {} arguments here, and {} in the Fortran binding of MPI",
                    args.len(),
                    call.arguments.len()
                ),
                "correct the call",
            ));
            return Default::default();
        }
        let Some(procedure) = self.procedure(call, &name, args) else {
            return Default::default();
        };
        let mut actuals = Vec::new();
        for (role, a) in call.arguments.iter().zip(args.iter()) {
            if *role == Role::Send && self.is_constant(a, "MPI_IN_PLACE") {
                continue;
            }
            let ignored = ["MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE"];
            actuals.push(match role {
                Role::Status if ignored.iter().any(|n| self.is_constant(a, n)) => {
                    Expr::int(0, a.span)
                }
                _ => a.clone(),
            });
        }
        if let Some(status) = call.position(Role::Status) {
            let kept = !matches!(actuals[status].kind, ExprKind::Int(_));
            actuals.push(Expr::int(i64::from(kept), span));
        }
        actuals.push(Expr::var(self.channel(), span));
        let base = |role| args.get(call.position(role)?)?.base();
        let (mut before, mut after) = (Block::new(), Block::new());
        if let (true, Some(buffer), Some(request)) = (
            call.has(Role::NewRequest),
            base(Role::Receive),
            base(Role::NewRequest),
        ) {
            before = self.bases(
                &self.requests.begun_here(self.unit, buffer, request),
                Some(span),
            );
        }
        if let Some(request) = base(Role::Request) {
            after = self.waited(
                &self.requests.completed_here(self.unit, request),
                Some(span),
            );
        }
        *callee = symbol(self.unit, &procedure.name, Class::Subroutine, None);
        *args = actuals;
        self.describe(vec![procedure.description(span)], span);
        (before, after)
    }

    /// Calls that name the variables of buffers before their IRECVs. They are at a statement that calls MPI: that
    /// at `span`, or the IRECV, so that the compiler's warnings about buffers of several types are not shown.
    fn bases(&mut self, all: &[(i64, SymId)], span: Option<Span>) -> Block {
        let mut made = Block::new();
        for (number, buffer) in all {
            let span = self.place(*number, span);
            let f = symbol(self.unit, BASE, Class::Subroutine, None);
            let args = vec![Expr::int(*number, span), Expr::var(*buffer, span)];
            made.push(Stmt::call(f, args, span));
        }
        if let Some(first) = made.first() {
            self.describe(Vec::new(), first.span);
        }
        made
    }

    fn place(&self, number: i64, span: Option<Span>) -> Span {
        span.or_else(|| self.requests.span(number))
            .unwrap_or(Span::NONE)
    }

    /// Calls that tell after a WAIT which variables may have been received into.
    fn waited(&mut self, all: &[(i64, SymId)], span: Option<Span>) -> Block {
        let mut made = Block::new();
        for (number, buffer) in all {
            let span = self.place(*number, span);
            let channel = Expr::var(self.channel(), span);
            let f = symbol(self.unit, WAITED, Class::Subroutine, None);
            let args = vec![Expr::int(*number, span), Expr::var(*buffer, span), channel];
            made.push(Stmt::call(f, args, span));
        }
        if let Some(first) = made.first() {
            self.describe(Vec::new(), first.span);
        }
        made
    }

    /// Adds what procedures of the run-time library do with their arguments.
    fn describe(&mut self, more: Vec<ProcedureDirective>, span: Span) {
        let buffers = mpi::descriptions_of_buffers(span);
        for description in buffers.into_iter().chain(more) {
            let given = &mut self.unit.directives;
            if !given.iter().any(|g| g.procedure == description.procedure) {
                given.push(description);
            }
        }
    }

    /// Returns the procedure of the run-time library for a call; `None` if the call stays as it is, because
    /// its buffers have no derivatives, or after an error.
    fn procedure(&mut self, call: &MpiCall, name: &Name, args: &[Expr]) -> Option<Procedure> {
        let before = self.errors.len();
        let in_place =
            (call.position(Role::Send)).is_some_and(|p| self.is_constant(&args[p], "MPI_IN_PLACE"));
        let buffers: Vec<usize> = (0..args.len())
            .filter(|i| call.arguments[*i].is_buffer())
            .filter(|i| !(in_place && call.arguments[*i] == Role::Send))
            .collect();
        let real = |unit: &Unit, e: &Expr| {
            let ty = type_of(unit, e).map(|t| t.with_real(self.real));
            ty.filter(|t| !datatypes(*t).is_empty())
        };
        let types: Vec<Option<Type>> = buffers.iter().map(|i| real(self.unit, &args[*i])).collect();
        if !buffers.is_empty() && types.iter().all(Option::is_none) {
            self.refuse_any_source(name, args);
            return None;
        }
        if in_place && !call.has(Role::Operation) {
            self.errors.push(error(
                args[call.position(Role::Send)?].span,
                format!("{name} with MPI_IN_PLACE has no derivative"),
                "send a copy; MPI_REDUCE and MPI_ALLREDUCE may be in place",
            ));
        }
        for (i, ty) in buffers.iter().zip(&types) {
            let Some(ty) = ty else {
                self.errors.push(error(
                    args[*i].span,
                    format!("one buffer of {name} has real numbers, and this one has not"),
                    "pass an array of the same type, on the ranks that do not use it, too",
                ));
                continue;
            };
            if call.arguments[*i] != Role::Send && args[*i].base().is_none() {
                self.errors.push(error(
                    args[*i].span,
                    format!("{name} receives into an expression"),
                    "pass a variable",
                ));
            }
            let mut later = (*i..args.len()).filter(|k| call.arguments[*k] == Role::Datatype);
            if let Some(wrong) = later
                .next()
                .and_then(|k| self.wrong(&args[k], datatypes(*ty)))
            {
                self.errors.push(error(
                    wrong.1,
                    format!(
                        "the datatype of {ty} numbers is {wrong_name} here",
                        wrong_name = wrong.0
                    ),
                    &format!("it is {}", datatypes(*ty).join(" or ")),
                ));
            }
        }
        let mut sum = false;
        if let Some(operation) = call.position(Role::Operation) {
            let operation = &args[operation];
            sum = self.is_constant(operation, "MPI_SUM");
            if let Some(wrong) = self.wrong(operation, &OPERATIONS) {
                self.errors.push(error(
                    wrong.1,
                    format!("{name} of real numbers with {} has no derivative", wrong.0),
                    &format!("there are derivatives for {}", OPERATIONS.join(", ")),
                ));
            }
        }
        (self.errors.len() == before).then(|| Procedure::of(call, sum, in_place))
    }

    /// Returns the name and place of a constant of MPI that is not one of some.
    fn wrong(&self, e: &Expr, right: &[&str]) -> Option<(Name, Span)> {
        let ExprKind::Var(s) = e.kind else {
            return None;
        };
        let symbol = &self.unit.symbols[s];
        let wrong = matches!(symbol.class, Class::Parameter(_))
            && symbol.name.starts_with("MPI_")
            && !right.contains(&symbol.name.as_str());
        wrong.then(|| (symbol.name.clone(), e.span))
    }

    /// Whether this is the constant of MPI with a name. Some are variables in COMMON, of which only the
    /// address counts.
    fn is_constant(&self, e: &Expr, name: &str) -> bool {
        e.base().is_some_and(|s| self.unit.symbols[s].name == name)
    }

    /// Reports a call without derivatives that has real arguments.
    fn refuse_other(&mut self, name: &Name, args: &[Expr]) {
        let real = |e: &&Expr| {
            type_of(self.unit, e).is_some_and(|t| !datatypes(t.with_real(self.real)).is_empty())
        };
        if let Some(a) = args.iter().find(real) {
            self.errors.push(error(
                a.span,
                format!("{name} of real numbers has no derivative"),
                "use one of the calls in the table of docs/mpi.md; if no derivative goes through it, `!farfel: constant(NAME)` says so",
            ));
        } else if OF_MESSAGES.contains(&name.as_str())
            && let Some(a) = args.first()
        {
            self.errors.push(error(
                a.span,
                format!("{name} has no derivative, and may be about a message that has one"),
                "complete requests by MPI_WAIT or MPI_WAITALL, and receive without probing; if it is about INTEGERs, `!farfel: constant(NAME)` says so",
            ));
        }
    }

    /// Reports an INTEGER message from any rank in an ADR block: it could be that of the run before the
    /// forward sweep.
    fn refuse_any_source(&mut self, name: &Name, args: &[Expr]) {
        let any = ["MPI_ANY_SOURCE", "MPI_ANY_TAG"];
        let found = args
            .iter()
            .find(|a| any.iter().any(|n| self.is_constant(a, n)));
        if let Some(a) = found.filter(|_| self.reverse) {
            self.errors.push(error(
                a.span,
                format!(
                    "{name} of INTEGERs may receive that of another run: an ADR block runs twice"
                ),
                "name the source and the tag, or receive in front of the block",
            ));
        }
    }

    /// Returns the channel, and declares it if necessary.
    fn channel(&mut self) -> SymId {
        if let Some(channel) = self.channel {
            return channel;
        }
        let unit = &mut *self.unit;
        let (block, span) = (Name::from(CHANNEL), unit.span);
        let name = unit.symbols.unused(CHANNEL, &|_| false);
        let sym = unit.symbols.add(Symbol {
            typed: true,
            storage_class: StorageClass::Common(block.clone()),
            ..Symbol::variable(name, Type::DOUBLE, span)
        });
        unit.declare(sym);
        let entity = Entity { sym, dims: false };
        unit.add_spec(SpecKind::Common(vec![(block, vec![entity])]), span);
        self.channel = Some(sym);
        sym
    }
}
