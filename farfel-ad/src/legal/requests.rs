//! Which IRECVs a WAIT completes.
//!
//! The adjoint of a WAIT sends the adjoint of the buffer, of which the WAIT itself says nothing. So a subprogram
//! is needed in which both are known: the IRECV with its buffer, and the WAIT of the same request, each in a
//! statement of its own or somewhere below a call. Requests and buffers are followed through arguments and COMMON.

use crate::custom_rules::mpi::{MpiCall, PREFIX, Role};
use crate::locations::differentiable;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{Expr, Name, Program, Stmt, StmtKind, StorageClass, SymId, Unit, walk_block};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Returns the name of the MPI procedure, or procedure of the run-time library, that a statement calls.
pub(super) fn called<'u>(unit: &'u Unit, s: &Stmt) -> Option<&'u Name> {
    let StmtKind::Call(callee, _) = &s.kind else {
        return None;
    };
    let symbol = &unit.symbols[*callee];
    let of_mpi = symbol.name.starts_with("MPI_") || symbol.name.starts_with(PREFIX);
    (of_mpi && symbol.storage_class == StorageClass::Global).then_some(&symbol.name)
}

/// Returns an error about a message.
pub(super) fn error(span: Span, message: impl Into<String>, help: &str) -> Diagnostic {
    Diagnostic::error(&rules::AD_MESSAGE, span, message).help(help)
}

/// A variable of a unit, or one in COMMON, which a unit need not declare.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Own(SymId),
    Common(Name, Name),
}

impl Place {
    fn of(unit: &Unit, s: SymId) -> Place {
        let symbol = &unit.symbols[s];
        match &symbol.storage_class {
            StorageClass::Common(block) => Place::Common(block.clone(), symbol.name.clone()),
            _ => Place::Own(s),
        }
    }

    /// Returns the variable in a unit.
    fn here(&self, unit: &Unit) -> Option<SymId> {
        match self {
            Place::Own(s) => Some(*s),
            Place::Common(block, name) => unit.symbols.find(name).filter(
                |s| matches!(&unit.symbols[*s].storage_class, StorageClass::Common(b) if b == block),
            ),
        }
    }

    /// Returns the place in the caller of a unit.
    fn in_caller(&self, callee: &Unit, caller: &Unit, args: &[Expr]) -> Option<Place> {
        match self {
            Place::Common(..) => Some(self.clone()),
            Place::Own(s) => {
                let at = callee.args.iter().position(|a| a.sym() == Some(*s))?;
                Some(Place::of(caller, args.get(at)?.base()?))
            }
        }
    }
}

/// An IRECV into a part of a variable, for a request in another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Receive {
    number: i64,
    buffer: Place,
    request: Place,
    /// It is a statement of the unit, and not below a call.
    own: bool,
}

/// What a unit does with requests.
#[derive(Debug, Clone, Default)]
struct Summary {
    receives: BTreeSet<Receive>,
    /// The requests that it, or what it calls, completes.
    completes: BTreeSet<Place>,
}

impl Summary {
    /// Whether a request that the unit knows is completed in it.
    fn completes(&self, r: &Receive) -> bool {
        self.completes.contains(&r.request)
    }
}

/// The requests of a program.
pub(super) struct Requests {
    units: HashMap<Name, (Unit, Summary)>,
    /// For each IRECV, by its number: the unit, its request, and its position.
    begun: BTreeMap<i64, (Name, SymId, Span)>,
}

/// A variable with its number.
type Numbered = (i64, SymId);

impl Requests {
    /// Follows the requests of a program. `known` are procedures that are not MPI's.
    pub fn of(program: &Program, known: &HashSet<Name>, errors: &mut Vec<Diagnostic>) -> Self {
        let mut made = Requests {
            units: HashMap::new(),
            begun: BTreeMap::new(),
        };
        let mut any = false;
        for unit in &program.units {
            let mut summary = Summary::default();
            walk_block(&unit.body, &mut |s| {
                any |= own(unit, s, known, &mut summary, &mut made.begun);
            });
            // Only names and arguments are needed.
            let mut head = unit.clone();
            head.body.retain(|_| false);
            made.units.insert(unit.name.clone(), (head, summary));
        }
        if !any {
            return made;
        }
        let mut again = true;
        while again {
            again = false;
            for unit in &program.units {
                let mut found = made.units[&unit.name].1.clone();
                let before = (found.receives.len(), found.completes.len());
                walk_block(&unit.body, &mut |s| {
                    if let StmtKind::Call(callee, args) = &s.kind {
                        let callee = &unit.symbols[*callee].name;
                        made.lift(unit, callee, args, &mut found);
                    }
                });
                again |= before != (found.receives.len(), found.completes.len());
                if let Some((_, summary)) = made.units.get_mut(&unit.name) {
                    *summary = found;
                }
            }
        }
        let mut done = HashSet::new();
        for (unit, summary) in made.units.values() {
            for r in summary.receives.iter().filter(|r| summary.completes(r)) {
                if r.buffer.here(unit).is_some() {
                    done.insert(r.number);
                }
            }
        }
        for (_, (unit, request, span)) in made.begun.iter().filter(|(n, _)| !done.contains(*n)) {
            let name = &made.units[unit].0.symbols[*request].name;
            errors.push(error(
                *span,
                format!(
                    "the request {name} is not completed in this subprogram, or in one that knows the request and the buffer"
                ),
                "call MPI_WAIT or MPI_WAITALL in a subprogram that has the request and the buffer as variables, or calls one that does, so that the adjoint of the buffer is known there",
            ));
        }
        made
    }

    /// Adds what a call does with requests to what its unit does.
    fn lift(&self, unit: &Unit, callee: &Name, args: &[Expr], to: &mut Summary) {
        let Some((of, theirs)) = self.units.get(callee) else {
            return;
        };
        for r in theirs.receives.iter().filter(|r| !theirs.completes(r)) {
            if let (Some(buffer), Some(request)) = (
                r.buffer.in_caller(of, unit, args),
                r.request.in_caller(of, unit, args),
            ) {
                to.receives.insert(Receive {
                    number: r.number,
                    buffer,
                    request,
                    own: false,
                });
            }
        }
        let completed = theirs.completes.iter();
        to.completes
            .extend(completed.filter_map(|p| p.in_caller(of, unit, args)));
    }

    /// The position of an IRECV.
    pub fn span(&self, number: i64) -> Option<Span> {
        self.begun.get(&number.abs()).map(|(.., span)| *span)
    }

    fn summary(&self, unit: &Unit) -> Summary {
        let found = self.units.get(&unit.name);
        found.map(|(_, s)| s.clone()).unwrap_or_default()
    }

    /// Whether a unit calls others that begin messages which it completes, or complete those that it begins.
    pub fn passes_through(&self, unit: &Name) -> bool {
        self.units
            .get(unit)
            .is_some_and(|(_, s)| s.receives.iter().any(|r| s.completes(r)))
    }

    /// The number of an IRECV, and its buffer. The number is negative if the unit that completes the request
    /// has named the buffer already.
    pub fn begun_here(&self, unit: &Unit, buffer: SymId, request: SymId) -> Vec<Numbered> {
        let summary = self.summary(unit);
        let (b, r) = (Place::of(unit, buffer), Place::of(unit, request));
        let mut all = summary.receives.iter();
        let found = all.find(|x| x.own && x.buffer == b && x.request == r);
        let numbered = found.map(|x| match summary.completes(x) {
            true => (x.number, buffer),
            false => (-x.number, buffer),
        });
        numbered.into_iter().collect()
    }

    /// The buffers of the IRECVs that a call begins and the unit completes.
    pub fn begun_by(&self, unit: &Unit, callee: &Name, args: &[Expr]) -> Vec<Numbered> {
        let mut below = Summary::default();
        self.lift(unit, callee, args, &mut below);
        let summary = self.summary(unit);
        let all = below.receives.iter().filter(|r| summary.completes(r));
        all.filter_map(|r| Some((r.number, r.buffer.here(unit)?)))
            .collect()
    }

    /// The buffers of the messages that a WAIT may complete.
    pub fn completed_here(&self, unit: &Unit, request: SymId) -> Vec<Numbered> {
        self.buffers(unit, &BTreeSet::from([Place::of(unit, request)]))
    }

    /// The buffers of the messages that a call may complete, other than those of the callee itself.
    pub fn completed_by(&self, unit: &Unit, callee: &Name, args: &[Expr]) -> Vec<Numbered> {
        let mut below = Summary::default();
        self.lift(unit, callee, args, &mut below);
        self.buffers(unit, &below.completes)
    }

    fn buffers(&self, unit: &Unit, requests: &BTreeSet<Place>) -> Vec<Numbered> {
        let summary = self.summary(unit);
        let all = summary.receives.iter();
        let mut found: Vec<Numbered> = all
            .filter(|r| requests.contains(&r.request))
            .filter_map(|r| Some((r.number, r.buffer.here(unit)?)))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Adds what a statement does with requests, if it calls MPI. Returns whether it begins a message.
fn own(
    unit: &Unit,
    s: &Stmt,
    known: &HashSet<Name>,
    summary: &mut Summary,
    begun: &mut BTreeMap<i64, (Name, SymId, Span)>,
) -> bool {
    let name = called(unit, s).filter(|n| !known.contains(*n));
    let (Some(call), StmtKind::Call(_, args)) = (name.and_then(|n| MpiCall::find(n)), &s.kind)
    else {
        return false;
    };
    let base = |role| args.get(call.position(role)?)?.base();
    if let Some(request) = base(Role::Request) {
        summary.completes.insert(Place::of(unit, request));
    }
    if !call.has(Role::NewRequest) {
        return false;
    }
    let (Some(buffer), Some(request)) = (base(Role::Receive), base(Role::NewRequest)) else {
        return false;
    };
    if !differentiable(&unit.symbols[buffer]) {
        return false;
    }
    let (b, r) = (Place::of(unit, buffer), Place::of(unit, request));
    let mut all = summary.receives.iter();
    if all.all(|x| x.buffer != b || x.request != r) {
        let number = begun.len() as i64 + 1;
        begun.insert(number, (unit.name.clone(), request, s.span));
        summary.receives.insert(Receive {
            number,
            buffer: b,
            request: r,
            own: true,
        });
    }
    true
}
