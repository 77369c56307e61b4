//! The calls of MPI that have derivatives: one table, from which everything else follows.
//!
//! Each call is replaced by one of a procedure of Farfel's run-time library for MPI (`legal/messages.rs`),
//! which has a rule like any other procedure with given derivatives. It has the arguments of the call and
//! some more at the end: for a call with a status, whether the status is wanted, and always the *channel*.
//!
//! The channel is a variable in COMMON that stands for all messages in flight. Every call reads and changes
//! it, so that derivatives propagate from what is sent to it, and from it to what is received. The head of an
//! AD block has it as an additional independent and dependent variable: which rank receives what is not
//! known, so every buffer of real numbers in a block has a derivative, on every rank.

use farfel_lang::Span;
use farfel_lang::ir::{ArgumentUsage, ProcedureDirective, Type};
use std::fmt::Write as _;

/// What an argument of a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A buffer that is sent.
    Send,
    /// A buffer that is received into.
    Receive,
    /// A buffer that is sent on some ranks, or received into in place.
    Both,
    /// The datatype of the buffers before it.
    Datatype,
    /// The operation of a reduction.
    Operation,
    /// The request of a message, which the call sets.
    NewRequest,
    /// The request or requests that the call completes.
    Request,
    /// A status, or an array of them.
    Status,
    /// The error code.
    Error,
    /// An INTEGER that is read: a count, a rank, a tag, a communicator.
    Read,
}

use Role::{Both, Datatype, Error, NewRequest, Operation, Read, Receive, Request, Send, Status};

impl Role {
    /// Whether it is a buffer.
    pub fn is_buffer(self) -> bool {
        matches!(self, Send | Receive | Both)
    }

    fn usage(self) -> ArgumentUsage {
        let (reads, writes) = match self {
            Send | Datatype | Operation | Read => (true, false),
            Receive | NewRequest | Status | Error => (false, true),
            // Elements beyond those of the message keep their values.
            Both | Request => (true, true),
        };
        ArgumentUsage { reads, writes }
    }
}

/// A call of MPI.
#[derive(Debug, Clone, Copy)]
pub struct MpiCall {
    /// Its name without `MPI_`.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: &'static [Role],
}

/// The calls that have derivatives, sorted.
pub const CALLS: &[MpiCall] = &[
    call(
        "ALLGATHER",
        &[Send, Read, Datatype, Receive, Read, Datatype, Read, Error],
    ),
    call(
        "ALLGATHERV",
        &[
            Send, Read, Datatype, Receive, Read, Read, Datatype, Read, Error,
        ],
    ),
    call(
        "ALLREDUCE",
        &[Send, Receive, Read, Datatype, Operation, Read, Error],
    ),
    call("BARRIER", &[Read, Error]),
    call("BCAST", &[Both, Read, Datatype, Read, Read, Error]),
    call(
        "GATHER",
        &[
            Send, Read, Datatype, Receive, Read, Datatype, Read, Read, Error,
        ],
    ),
    call(
        "GATHERV",
        &[
            Send, Read, Datatype, Receive, Read, Read, Datatype, Read, Read, Error,
        ],
    ),
    call(
        "IRECV",
        &[Receive, Read, Datatype, Read, Read, Read, NewRequest, Error],
    ),
    call(
        "ISEND",
        &[Send, Read, Datatype, Read, Read, Read, NewRequest, Error],
    ),
    call(
        "RECV",
        &[Receive, Read, Datatype, Read, Read, Read, Status, Error],
    ),
    call(
        "REDUCE",
        &[Send, Receive, Read, Datatype, Operation, Read, Read, Error],
    ),
    call(
        "SCATTER",
        &[
            Send, Read, Datatype, Receive, Read, Datatype, Read, Read, Error,
        ],
    ),
    call(
        "SCATTERV",
        &[
            Send, Read, Read, Datatype, Receive, Read, Datatype, Read, Read, Error,
        ],
    ),
    call("SEND", &[Send, Read, Datatype, Read, Read, Read, Error]),
    call(
        "SENDRECV",
        &[
            Send, Read, Datatype, Read, Read, Receive, Read, Datatype, Read, Read, Read, Status,
            Error,
        ],
    ),
    call("WAIT", &[Request, Status, Error]),
    call("WAITALL", &[Read, Request, Status, Error]),
];

const fn call(name: &'static str, arguments: &'static [Role]) -> MpiCall {
    MpiCall { name, arguments }
}

/// Calls with only INTEGER arguments, through which no derivatives propagate.
const OTHERS: &[MpiCall] = &[
    call("COMM_RANK", &[Read, Error, Error]),
    call("COMM_SIZE", &[Read, Error, Error]),
    call("GET_COUNT", &[Read, Read, Error, Error]),
];

/// The prefix of the procedures of the run-time library.
pub const PREFIX: &str = "FARFEL_MPI_";

/// The COMMON block of the channel, and its only variable.
pub const CHANNEL: &str = "FARFEL_CHANNEL";

/// Names the variable of the next IRECV's buffer.
pub const BASE: &str = "FARFEL_MPI_BASE";

/// Tells which variable an IRECV that was completed may have received into.
pub const WAITED: &str = "FARFEL_MPI_WAITED";

impl MpiCall {
    /// Returns the call with this name, if it has derivatives.
    pub fn find(name: &str) -> Option<&'static MpiCall> {
        let name = name.strip_prefix("MPI_")?;
        CALLS.iter().find(|c| c.name == name)
    }

    /// Whether it has an argument with this role.
    pub fn has(&self, role: Role) -> bool {
        self.arguments.contains(&role)
    }

    /// Returns the position of the first argument with this role.
    pub fn position(&self, role: Role) -> Option<usize> {
        self.arguments.iter().position(|a| *a == role)
    }
}

/// A procedure of the run-time library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// The arguments of the call that it has, without the additional ones.
    pub arguments: Vec<Role>,
    /// The adjoint reads the values of what is sent.
    values: bool,
}

impl Procedure {
    /// Returns the procedure for a call. `sum`: the operation is MPI_SUM; `in_place`: what is sent is where
    /// the result is received.
    pub fn of(call: &MpiCall, sum: bool, in_place: bool) -> Procedure {
        let mut name = format!("{PREFIX}{}", call.name);
        let mut arguments = call.arguments.to_vec();
        if sum {
            name += "_SUM";
        }
        if in_place {
            name += "_IN_PLACE";
            arguments.retain(|r| *r != Send);
            let received = arguments.iter_mut().filter(|r| **r == Receive);
            received.for_each(|r| *r = Both);
        }
        Procedure {
            name,
            arguments,
            values: call.has(Operation) && !sum,
        }
    }

    /// All procedures that calls are replaced by.
    fn all() -> impl Iterator<Item = Procedure> {
        CALLS.iter().flat_map(|call| {
            let reduces = call.has(Operation);
            let variants: &[(bool, bool)] = match reduces {
                true => &[(false, false), (true, false), (false, true), (true, true)],
                false => &[(false, false)],
            };
            variants
                .iter()
                .map(|(sum, in_place)| Procedure::of(call, *sum, *in_place))
        })
    }

    /// Describes what it does with its arguments. The channel has no value.
    pub fn description(&self, span: Span) -> ProcedureDirective {
        let mut usage: Vec<ArgumentUsage> = self.arguments.iter().map(|r| r.usage()).collect();
        if self.arguments.contains(&Status) {
            usage.push(Read.usage());
        }
        usage.push(NOT_USED);
        ProcedureDirective::described(self.name.as_str().into(), usage, span)
    }

    /// The directive that gives its derivatives.
    fn directive(&self) -> String {
        let names: Vec<String> = (1..=self.arguments.len())
            .map(|i| format!("A{i}"))
            .collect();
        let of = |wanted: &dyn Fn(Role) -> bool| -> Vec<&str> {
            let found = names.iter().zip(&self.arguments);
            found
                .filter(|(_, r)| wanted(**r))
                .map(|(n, _)| n.as_str())
                .collect()
        };
        let keep: &[&str] = match self.arguments.contains(&Status) {
            true => &["KEEP"],
            false => &[],
        };
        let all: Vec<&str> = of(&|_| true)
            .into_iter()
            .chain(keep.iter().copied())
            .collect();
        let sent = of(&|r| matches!(r, Send | Both));
        let received = of(&|r| matches!(r, Receive | Both));
        let sets = of(&|r| !r.is_buffer() && r.usage().writes);
        let values = if self.values {
            sent.clone()
        } else {
            Vec::new()
        };
        directive(&self.name, &all, &sent, &received, &sets, &values)
    }
}

/// An argument that is neither read nor changed.
const NOT_USED: ArgumentUsage = ArgumentUsage {
    reads: false,
    writes: false,
};

fn directive(
    name: &str,
    all: &[&str],
    sent: &[&str],
    received: &[&str],
    sets: &[&str],
    values: &[&str],
) -> String {
    let with_channel = |list: &[&str]| [list, &["CHANNEL"]].concat().join(", ");
    format!(
        "C     farfel: derivative({name}({}), tangent = {name}_D, adjoint = {name}_B, in = ({}), out = ({}), sets = ({}), values = ({}))\n",
        with_channel(all),
        with_channel(sent),
        with_channel(received),
        sets.join(", "),
        values.join(", "),
    )
}

/// Describes what [`BASE`] and [`WAITED`] do with their arguments: nothing with the values.
pub fn descriptions_of_buffers(span: Span) -> [ProcedureDirective; 2] {
    let of = |name: &str, count: usize| {
        let mut usage = vec![NOT_USED; count];
        usage[0] = Read.usage();
        ProcedureDirective::described(name.into(), usage, span)
    };
    [of(BASE, 2), of(WAITED, 3)]
}

/// Describes what calls of MPI themselves do with their arguments.
pub fn descriptions() -> impl Iterator<Item = ProcedureDirective> {
    CALLS.iter().chain(OTHERS).map(|call| {
        let usage = call.arguments.iter().map(|r| r.usage()).collect();
        ProcedureDirective::described(format!("MPI_{}", call.name).into(), usage, Span::NONE)
    })
}

/// The rules for the run-time library, as source text with directives.
pub(super) fn text() -> String {
    let mut text = String::from("C     farfel: constant(MPI_WTIME, MPI_WTICK)\n");
    for procedure in Procedure::all() {
        text += &procedure.directive();
    }
    let base = ["BASE"];
    text += &directive(WAITED, &["VARIABLE", "BASE"], &base, &base, &[], &[]);
    let _ = writeln!(text, "C     farfel: constant({BASE})");
    text + "      SUBROUTINE FARFEL_MPI\n      END\n"
}

/// Returns the datatypes of numbers of a type; empty if they have no derivatives.
pub fn datatypes(ty: Type) -> &'static [&'static str] {
    match ty {
        Type::Real(4) => &["MPI_REAL", "MPI_REAL4"],
        Type::Real(8) => &["MPI_DOUBLE_PRECISION", "MPI_REAL8"],
        Type::Complex(4) => &["MPI_COMPLEX", "MPI_COMPLEX8"],
        Type::Complex(8) => &["MPI_DOUBLE_COMPLEX", "MPI_COMPLEX16"],
        _ => &[],
    }
}

/// The operations of reductions that have derivatives.
pub const OPERATIONS: [&str; 4] = ["MPI_SUM", "MPI_MAX", "MPI_MIN", "MPI_PROD"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_sorted() {
        assert!(CALLS.is_sorted_by_key(|c| c.name));
    }

    #[test]
    fn directives() {
        let call = MpiCall::find("MPI_RECV").unwrap();
        assert_eq!(
            Procedure::of(call, false, false).directive(),
            "C     farfel: derivative(FARFEL_MPI_RECV(A1, A2, A3, A4, A5, A6, A7, A8, KEEP, CHANNEL), tangent = FARFEL_MPI_RECV_D, \
             adjoint = FARFEL_MPI_RECV_B, in = (CHANNEL), out = (A1, CHANNEL), sets = (A7, A8), values = ())\n"
        );
        let call = MpiCall::find("MPI_ALLREDUCE").unwrap();
        let in_place = Procedure::of(call, false, true);
        assert_eq!(in_place.name, "FARFEL_MPI_ALLREDUCE_IN_PLACE");
        assert_eq!(
            in_place.arguments,
            [Both, Read, Datatype, Operation, Read, Error]
        );
        assert!(in_place.directive().ends_with("values = (A1))\n"));
    }
}
