//! Loops with `!farfel: checkpoint(n, disk = m)`: states that do not fit into memory go to files.
//!
//! Of n + m states, those that are saved first are read last and least often, so the forward sweep writes the first
//! m to files. The reverse sweep uses memory again as soon as there is room. Besides the states, there are two
//! files: the values at the end of the loop, and the cotangents, each time that the reverse sweep has finished with
//! a state in a file. With these, a process that is started again with the same inputs continues where another one
//! was ended.
//!
//! The files are written and read by a run-time library in C (`checkpoints/runtime.c` in `farfel-driver`), whose
//! comments describe them. A call of it says what is done, and calls for all values follow:
//!
//! ```fortran
//!       CALL FARFEL_CHECKPOINT_WRITE(HANDLE, FILED, STEP)
//!       CALL FARFEL_CHECKPOINT_R8(HANDLE, U(1,1), 1_8*N*M)
//!       CALL FARFEL_CHECKPOINT_DONE(HANDLE, STATUS, TEXT)
//!       IF (STATUS .NE. 0) STOP TEXT
//! ```
//!
//! Source: P. Stumm and A. Walther, *MultiStage approaches for optimal offline checkpointing*, SIAM J. Sci. Comput.
//! 31(3), 2009.

use super::recompute::{Unsaved, size};
use super::sweep::Sweeper;
use super::sweep_data::StateVariable;
use super::unit_builder::UnitBuilder;
use crate::custom_rules::bundled::CHECKPOINT_PREFIX;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::ir::build::{binary, difference};
use farfel_lang::ir::{
    Attribute, BinOp, Block, Class, Expr, ExprKind, Stmt, StorageClass, SymId, Symbol, Type,
};

/// The number of the file with the values at the end of the loop.
const FINAL: i64 = 0;

/// The number of the file with the cotangents.
const ADJOINT: i64 = -1;

/// The longest message of the run-time library.
const MESSAGE: i64 = 512;

/// The variables for states in files.
pub(super) struct DiskVars {
    /// The sweep, for the run-time library.
    pub handle: SymId,
    /// The maximum number of states in memory.
    pub room: SymId,
    /// The maximum number of states in files.
    pub disk: SymId,
    /// The current numbers of states in memory and in files.
    pub held: SymId,
    pub filed: SymId,
    /// The iteration that a sweep begins with.
    pub first: SymId,
    /// Whether a call has failed, and its message.
    status: SymId,
    text: SymId,
    /// A value for the run-time library.
    value: SymId,
}

/// The values in the files.
pub(super) struct DiskMembers {
    /// What the loop starts from, which identifies it.
    pub inputs: Vec<StateVariable>,
    /// The values at the end of the loop.
    pub end: Vec<StateVariable>,
    pub cotangents: Vec<StateVariable>,
}

impl Sweeper<'_> {
    /// The variables at some locations, which have to be written to files: those with derivatives, or those without.
    fn filed_members(&mut self, locs: &Set, cotangents: bool, at: Span) -> Vec<StateVariable> {
        let unsaved = Unsaved {
            what: "states of this loop cannot be written to files",
            why: "is read or changed in it",
            common: "uses",
            otherwise: ", or take `disk` out of the directive",
        };
        self.variables_at(locs, cotangents, &unsaved, at)
    }

    /// Determines the values in the files. `inputs`, `end` and `cotangents` are their locations.
    pub(super) fn disk_members(&mut self, sets: [&Set; 3], at: Span) -> DiskMembers {
        let [inputs, end, cotangents] = sets;
        let inputs = self.filed_members(inputs, false, at);
        if self.trial == 0 {
            self.clear_local(&inputs);
        }
        DiskMembers {
            inputs,
            end: self.filed_members(end, false, at),
            cotangents: self.filed_members(cotangents, true, at),
        }
    }

    /// Lets the forward sweep begin with zeros in local variables. Values that happen to be in memory would make the
    /// same inputs look different: those of work arrays, and the unused parts of larger arrays.
    fn clear_local(&mut self, members: &[StateVariable]) {
        let span = Span::NONE;
        for m in members {
            let s = &self.builder.unit.symbols[m.var];
            let local = s.storage_class == StorageClass::Local && !s.saved;
            if !local || s.has(Attribute::Allocatable) {
                continue;
            }
            let zero = match s.ty {
                Some(Type::Logical(_)) => Expr::logical(false, span),
                Some(Type::Character) => Expr::text(" ", span),
                _ => Expr::int(0, span),
            };
            self.first_forward
                .push(Stmt::assign(Expr::var(m.var, span), zero, span));
        }
    }

    pub(super) fn disk_variables(&mut self) -> DiskVars {
        let mut plain = |name: &str| self.builder.variable(name, Type::INTEGER);
        let (handle, room, disk) = (plain("HANDLE"), plain("ROOM"), plain("DISK"));
        let (held, filed, first) = (plain("HELD"), plain("FILED"), plain("FIRST"));
        let status = plain("STATUS");
        let value = self.builder.variable("VALUE", Type::Integer(8));
        let text = Symbol {
            length: Some(Expr::int(MESSAGE, Span::NONE)),
            ..Symbol::variable(self.builder.unused("TEXT"), Type::Character, Span::NONE)
        };
        let text = self.builder.declare(text);
        DiskVars {
            handle,
            room,
            disk,
            held,
            filed,
            first,
            status,
            text,
            value,
        }
    }
}

impl DiskVars {
    /// The condition that there are states in files: all fit into memory if there are few iterations.
    pub fn is_used(&self, span: Span) -> Expr {
        binary(BinOp::Gt, Expr::var(self.disk, span), Expr::int(0, span))
    }

    /// A call of the run-time library for this sweep.
    pub fn call(&self, builder: &mut UnitBuilder, name: &str, args: Vec<Expr>, span: Span) -> Stmt {
        let name = format!("{CHECKPOINT_PREFIX}{name}");
        let callee = builder.procedure(&name.as_str().into(), Class::Subroutine, None);
        let mut all = vec![Expr::var(self.handle, span)];
        all.extend(args);
        Stmt::call(callee, all, span)
    }

    /// A call that may fail. The program then stops with the message.
    pub fn checked(
        &self,
        builder: &mut UnitBuilder,
        name: &str,
        mut args: Vec<Expr>,
        span: Span,
    ) -> Block {
        args.extend([self.status, self.text].map(|s| Expr::var(s, span)));
        let call = self.call(builder, name, args, span);
        let failed = binary(BinOp::Ne, Expr::var(self.status, span), Expr::int(0, span));
        let stop = Stmt::stop(Expr::var(self.text, span), span);
        vec![call, Stmt::logical_if(failed, stop, span)]
    }

    /// Calls for all values of some variables.
    fn values(&self, builder: &mut UnitBuilder, members: &[StateVariable], span: Span) -> Block {
        let mut out = Vec::new();
        for m in members {
            let text = m.bounds.len() > builder.unit.symbols[m.var].dims.len();
            let lows = m.bounds.iter().skip(usize::from(text));
            let lows: Vec<Expr> = lows.map(|(low, _)| low.clone()).collect();
            let mut begin = match lows.is_empty() {
                true => Expr::var(m.var, span),
                false => Expr::element(m.var, lows, span),
            };
            if text {
                // All arguments of the procedure have the same length.
                begin = Expr::substring(begin, Expr::int(1, span), Expr::int(1, span), span);
            }
            let all = size(m, span);
            let constant = |(low, high): &(Expr, Expr)| matches!((&low.kind, &high.kind), (ExprKind::Int(a), ExprKind::Int(b)) if a <= b);
            let call = self.call(builder, &m.kind.letter(), vec![begin, all], span);
            // An array without elements has no first one.
            let any = m.bounds.iter().filter(|b| !constant(b));
            let any = any
                .map(|(low, high)| binary(BinOp::Ge, high.clone(), low.clone()))
                .reduce(|a, b| binary(BinOp::And, a, b));
            out.push(match any {
                Some(any) => Stmt::logical_if(any, call, span),
                None => call,
            });
        }
        out
    }

    /// Begins the sweep: returns the statements that find out what is there from an earlier process.
    pub fn open(
        &self,
        builder: &mut UnitBuilder,
        name: String,
        numbers: [Expr; 3],
        ends: [Expr; 2],
        members: &DiskMembers,
        span: Span,
    ) -> Block {
        let mut args = vec![Expr::text(name, span)];
        args.extend(numbers);
        let mut out = vec![self.call(builder, "OPEN", args, span)];
        for end in ends {
            let value = Expr::var(self.value, span);
            out.push(Stmt::assign(value.clone(), end, span));
            let one = Expr::long(1, span);
            out.push(self.call(builder, "I8", vec![value, one], span));
        }
        out.extend(self.values(builder, &members.inputs, span));
        let found = [self.filed, self.first].map(|s| Expr::var(s, span));
        out.extend(self.checked(builder, "FIND", found.to_vec(), span));
        out
    }

    /// Writes a file.
    pub fn write(
        &self,
        builder: &mut UnitBuilder,
        (number, step): (Expr, Expr),
        members: &[StateVariable],
        span: Span,
    ) -> Block {
        let mut out = vec![self.call(builder, "WRITE", vec![number, step], span)];
        out.extend(self.values(builder, members, span));
        out.extend(self.checked(builder, "DONE", Vec::new(), span));
        out
    }

    /// Reads a file.
    pub fn read(
        &self,
        builder: &mut UnitBuilder,
        number: Expr,
        members: &[StateVariable],
        span: Span,
    ) -> Block {
        let mut out = vec![self.call(builder, "READ", vec![number], span)];
        out.extend(self.values(builder, members, span));
        out.extend(self.checked(builder, "DONE", Vec::new(), span));
        out
    }

    /// Writes the values at the end of the loop.
    pub fn write_end(
        &self,
        builder: &mut UnitBuilder,
        steps: Expr,
        members: &DiskMembers,
        span: Span,
    ) -> Block {
        self.write(builder, (Expr::int(FINAL, span), steps), &members.end, span)
    }

    /// Reads the values at the end of the loop.
    pub fn read_end(&self, builder: &mut UnitBuilder, members: &DiskMembers, span: Span) -> Block {
        self.read(builder, Expr::int(FINAL, span), &members.end, span)
    }

    /// Writes the cotangents, before the adjoint of iteration `last - 1`.
    pub fn write_cotangents(
        &self,
        builder: &mut UnitBuilder,
        last: Expr,
        members: &DiskMembers,
        span: Span,
    ) -> Block {
        let step = difference(last, Expr::int(1, span));
        let number = Expr::int(ADJOINT, span);
        self.write(builder, (number, step), &members.cotangents, span)
    }

    /// Begins the reverse sweep: `first` gets the iteration that is reversed next. Returns the statements for that,
    /// and those that read the cotangents if it is not the last iteration.
    pub fn resume(
        &self,
        builder: &mut UnitBuilder,
        members: &DiskMembers,
        span: Span,
    ) -> [Block; 2] {
        let mut out = vec![self.call(builder, "SEEDS", Vec::new(), span)];
        out.extend(self.values(builder, &members.cotangents, span));
        let first = vec![Expr::var(self.first, span)];
        out.extend(self.checked(builder, "RESUME", first, span));
        let number = Expr::int(ADJOINT, span);
        let read = self.read(builder, number, &members.cotangents, span);
        [out, read]
    }
}
