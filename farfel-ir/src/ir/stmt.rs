//! Executable statements.

use super::{Expr, ExprKind, ImpliedDo, Label, Name, SymId, Type, Unit, walk_block_mut};
use crate::source::Span;

/// Identifies a statement within its unit, whatever passes do to the statements around it.
///
/// A statement keeps its id as long as it is the same statement: passes move it, attach a label to
/// it, and take its contents apart. Statements created by a pass have [`StmtId::NONE`] until the
/// unit is numbered, and so do copies that would exist beside the original: see [`Unit::number`].
/// [`FlowGraph::node`](crate::flow::FlowGraph::node) maps an id to a node in the unit's control
/// flow graph.
///
/// ```
/// use farfel_ir::Span;
/// use farfel_ir::ir::{Stmt, StmtId, StmtKind, Unit, UnitKind};
///
/// let mut unit = Unit::new(UnitKind::Subroutine, "S".into(), Span::NONE);
/// unit.body = vec![Stmt::new(StmtKind::Continue, Span::NONE); 2];
/// unit.number();
/// let (first, second) = (unit.body[0].id, unit.body[1].id);
/// assert!(first != second && first != StmtId::NONE);
/// unit.body.insert(0, Stmt::new(StmtKind::Return(None), Span::NONE));
/// unit.number();
/// assert_eq!((unit.body[1].id, unit.body[2].id), (first, second));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct StmtId(u32);

impl StmtId {
    /// The id of statements that have not been numbered.
    pub const NONE: StmtId = StmtId(0);

    /// Returns its index in a list with one slot for each id that the unit has assigned, and one
    /// for [`StmtId::NONE`].
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The ids that a unit has assigned to statements.
#[derive(Debug, Clone, Default)]
pub struct StmtIds {
    last: u32,
}

impl PartialEq for StmtIds {
    fn eq(&self, _: &Self) -> bool {
        // The number of ids assigned so far is not part of a unit's identity.
        true
    }
}

impl StmtIds {
    /// Returns an id that no statement has yet.
    pub fn fresh(&mut self) -> StmtId {
        self.last += 1;
        StmtId(self.last)
    }

    /// Assigns ids to the statements of a block that have none, or whose id has already occurred.
    pub fn number(&mut self, block: &mut Block) {
        let mut seen = vec![false; self.last as usize + 1];
        seen[0] = true;
        walk_block_mut(block, &mut |s| {
            // Ids beyond the last one belong to statements from another unit.
            let known = seen.get_mut(s.id.index());
            if known.is_none_or(|seen| std::mem::replace(seen, true)) {
                s.id = self.fresh();
            }
        });
    }
}

/// A statement with its label and source position.
#[derive(Debug, Clone)]
pub struct Stmt {
    /// Its identity within the unit.
    pub id: StmtId,
    /// The label in columns 1 to 5.
    pub label: Option<Label>,
    /// The kind of statement, with its operands.
    pub kind: StmtKind,
    /// The whole statement; for blocks, the statement that opens them.
    pub span: Span,
}

impl PartialEq for Stmt {
    fn eq(&self, other: &Self) -> bool {
        // Statements are compared by content: their identity does not matter.
        self.label == other.label && self.kind == other.kind && self.span == other.span
    }
}

/// A list of statements that are executed in order.
pub type Block = Vec<Stmt>;

/// The kinds of statement.
#[derive(Debug, Clone, PartialEq)]
pub enum StmtKind {
    /// A comment line, without its marker (`C`, `*`, `!`) and trailing blanks.
    Comment(Comment),
    /// `target = value`
    Assign(Expr, Expr),
    /// `IF (…) THEN … ELSE IF (…) THEN … ELSE … END IF`
    If(IfBlock),
    /// `SELECT CASE (e) … CASE (values) … END SELECT`
    Select(Box<Select>),
    /// `WHERE (mask) assignment`, and the construct with ELSEWHERE.
    Where(Box<Where>),
    /// `IF (condition) statement`
    LogicalIf(Expr, Box<Stmt>),
    /// `IF (e) negative, zero, positive`
    ArithmeticIf(Expr, [Label; 3]),
    /// A loop.
    Do(Box<Do>),
    /// `CONTINUE`
    Continue,
    /// `GOTO label`
    Goto(Label),
    /// `GOTO (labels), e`
    ComputedGoto(Vec<Label>, Expr),
    /// `GOTO var, (labels)`; the list may be empty.
    AssignedGoto(SymId, Vec<Label>),
    /// `ASSIGN label TO var`
    AssignLabel(Label, SymId),
    /// `CALL sub(arguments)`
    Call(SymId, Vec<Expr>),
    /// `RETURN`, or `RETURN e` for an alternate return.
    Return(Option<Expr>),
    /// `STOP`, or `STOP` with a code or text.
    Stop(Option<Expr>),
    /// `PAUSE`
    Pause(Option<Expr>),
    /// READ, WRITE, PRINT, OPEN, CLOSE, INQUIRE, REWIND, BACKSPACE, ENDFILE, FLUSH.
    Io(Box<Io>),
    /// `FORMAT(…)`: the text between the outer parentheses, as written.
    Format(String),
    /// ALLOCATE or DEALLOCATE.
    Allocation(Box<Allocation>),
    /// `ENTRY name(arguments)`
    Entry(Box<Entry>),
    /// CYCLE, with the name of the loop if one is given.
    Cycle(Option<Name>),
    /// EXIT, with the name of the construct if one is given.
    Exit(Option<Name>),
    /// An ADF or ADR block.
    Ad(Box<AdBlock>),
}

/// A statement that divides or ends a block: ELSE IF, ELSE, CASE, END IF, ….
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockDelimiter {
    /// Its label.
    pub label: Option<Label>,
    /// Its source position.
    pub span: Span,
}

/// A comment: its text without its marker (`C`, `*`, `!`) and trailing blanks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comment {
    /// The text.
    pub text: String,
    /// Whether it follows the preceding statement on the same line.
    pub trailing: bool,
}

impl From<String> for Comment {
    /// Creates a comment on a line of its own.
    fn from(text: String) -> Self {
        Comment {
            text,
            trailing: false,
        }
    }
}

impl std::ops::Deref for Comment {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

/// A block IF.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IfBlock {
    /// Name of the construct (`name: IF …`).
    pub name: Option<Name>,
    /// IF and ELSE IF arms in order.
    pub arms: Vec<(Expr, Block)>,
    /// The ELSE arm.
    pub otherwise: Option<Block>,
    /// The ELSE IF and ELSE statements in order; in generated code they may be missing.
    pub marks: Vec<BlockDelimiter>,
    /// Label of the END IF.
    pub end_label: Option<Label>,
    /// The END IF.
    pub end_span: Span,
}

/// A SELECT CASE construct.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// Name of the construct (`name: SELECT CASE …`).
    pub name: Option<Name>,
    /// The expression that selects the case.
    pub selector: Expr,
    /// Comments between SELECT CASE and the first CASE.
    pub comments: Block,
    /// The cases in order. CASE DEFAULT may be any of them.
    pub cases: Vec<Case>,
    /// The END SELECT.
    pub end: BlockDelimiter,
}

/// One case of a SELECT CASE.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The values, constants or [`super::ExprKind::Range`]; `None` for CASE DEFAULT.
    pub values: Option<Vec<Expr>>,
    /// The statements to execute.
    pub body: Block,
    /// The CASE statement.
    pub mark: BlockDelimiter,
}

/// Assignments to those array elements for which a mask is true.
///
/// The arms are executed one after the other, each for the elements that no preceding mask
/// selected. All masks of an arm are evaluated before its assignments.
#[derive(Debug, Clone, PartialEq)]
pub struct Where {
    /// Whether it is written as one statement, `WHERE (mask) assignment`: one arm with one
    /// assignment.
    pub statement: bool,
    /// Masks and assignments, as in IF, ELSE IF and ELSE.
    pub block: IfBlock,
}

/// A loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Do {
    /// Name of the construct (`name: DO …`).
    pub name: Option<Name>,
    /// How it iterates.
    pub control: DoControl,
    /// The statements of the loop, including the labelled terminal statement.
    pub body: Block,
    /// How the loop ends in the source.
    pub end: DoEnd,
    /// The END DO, if the loop ends with one.
    pub end_span: Span,
    /// What a comment before the loop requests.
    pub directive: Option<Box<LoopDirective>>,
}

impl Do {
    /// Returns the clauses, if this is a parallel loop of OpenMP.
    pub fn parallel(&self) -> Option<&Parallel> {
        match &self.directive.as_ref()?.kind {
            LoopDirectiveKind::Parallel(p) => Some(p),
            _ => None,
        }
    }

    /// Like [`Do::parallel`], mutable.
    pub fn parallel_mut(&mut self) -> Option<&mut Parallel> {
        match &mut self.directive.as_mut()?.kind {
            LoopDirectiveKind::Parallel(p) => Some(p),
            _ => None,
        }
    }

    /// For a loop that ends at a label: whether its last statement has this label, or is a loop
    /// that ends there. (A block construct cannot be the terminal statement.) True for all other
    /// loops.
    pub fn has_its_end(&self) -> bool {
        let DoEnd::Label(label) = self.end else {
            return true;
        };
        let mut last = self.body.iter().rev();
        let last = last.find(|s| !matches!(s.kind, StmtKind::Comment(_)));
        last.is_some_and(|s| match &s.kind {
            StmtKind::Do(d) => d.end == DoEnd::Label(label),
            StmtKind::If(_) | StmtKind::Select(_) => false,
            _ => s.label == Some(label),
        })
    }
}

/// A comment's request for the loop that follows, which must not change the result.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopDirective {
    /// What it requests.
    pub kind: LoopDirectiveKind,
    /// The position of the comment.
    pub span: Span,
}

/// The kinds of [`LoopDirective`].
#[derive(Debug, Clone, PartialEq)]
pub enum LoopDirectiveKind {
    /// `checkpoint(n)`: the values before at most `n` iterations are stored as checkpoints, and
    /// iterations are re-executed from there. With `checkpoint(n, disk = m)`, up to `m` more are stored
    /// in files.
    Checkpoint {
        /// The number of checkpoints in memory.
        memory: u32,
        /// The number of checkpoints in files.
        disk: u32,
    },
    /// `fixed-point(tolerance = t, iterations = n)`: the loop iterates until its variables no
    /// longer change.
    FixedPoint {
        /// The relative change of the derivatives below which the adjoint iteration has converged.
        tolerance: Option<Name>,
        /// The number of iterations after which the adjoint gives up.
        iterations: Option<u32>,
        /// The variables that become stationary, by Tapenade's FP-LOOP.
        variables: Vec<Name>,
    },
    /// `independent`: no iteration depends on the results of another one.
    Independent,
    /// Set by differentiation: this is the reverse sweep of a loop whose iterations it re-executes.
    Replayed,
    /// `!$OMP PARALLEL DO`: threads share the iterations.
    Parallel(Box<Parallel>),
}

/// The clauses of a parallel loop of OpenMP.
///
/// Every variable of the loop is in exactly one of the lists `shared`, `private`, `first_private`,
/// `thread_private` and `reductions`, so that it is known which variables passes have added; those of
/// `first_private` and `private` may be in `last_private`, too.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parallel {
    /// Variables that all threads share.
    pub shared: Vec<SymId>,
    /// Variables of which each thread has one that is undefined at first, including loop variables.
    pub private: Vec<SymId>,
    /// Variables of which each thread has one that begins with the value before the loop.
    pub first_private: Vec<SymId>,
    /// Variables that get their value of the last iteration.
    pub last_private: Vec<SymId>,
    /// Variables of THREADPRIVATE blocks.
    pub thread_private: Vec<SymId>,
    /// COPYIN: those of them that begin with the values of the first thread.
    pub copy_in: Vec<SymId>,
    /// Variables to which all iterations contribute.
    pub reductions: Vec<(Reduction, SymId)>,
    /// SCHEDULE: how iterations are distributed over threads.
    pub schedule: Option<Schedule>,
    /// NUM_THREADS.
    pub threads: Option<Expr>,
    /// IF: whether the loop is executed in parallel.
    pub condition: Option<Expr>,
    /// COLLAPSE: the number of nested loops whose iterations are distributed; 1 without it.
    pub collapse: u32,
    /// Set by differentiation, if the loop consists of a call: shared variables that the called
    /// subroutine only updates, by ATOMIC.
    pub atomic: Vec<SymId>,
    /// Set by differentiation: shared variables of which no two iterations access the same element.
    pub disjoint: Vec<SymId>,
    /// Set by differentiation: this is a reverse sweep.
    pub reverse: bool,
    /// Each iteration executes one of the SECTIONS.
    pub sections: bool,
}

/// The operators of reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Reduction {
    Add,
    Multiply,
    Max,
    Min,
    And,
    Or,
    Eqv,
    Neqv,
    BitAnd,
    BitOr,
    BitXor,
}

impl Reduction {
    /// Returns the operator as written in the clause.
    pub fn word(self) -> &'static str {
        match self {
            Reduction::Add => "+",
            Reduction::Multiply => "*",
            Reduction::Max => "MAX",
            Reduction::Min => "MIN",
            Reduction::And => ".AND.",
            Reduction::Or => ".OR.",
            Reduction::Eqv => ".EQV.",
            Reduction::Neqv => ".NEQV.",
            Reduction::BitAnd => "IAND",
            Reduction::BitOr => "IOR",
            Reduction::BitXor => "IEOR",
        }
    }
}

/// How the iterations of a parallel loop are distributed over threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// STATIC, DYNAMIC, GUIDED, AUTO or RUNTIME.
    pub kind: &'static str,
    /// The number of iterations that a thread gets at a time.
    pub chunk: Option<Expr>,
}

impl Parallel {
    /// Returns the lists of variables.
    fn lists(&self) -> [&Vec<SymId>; 8] {
        let Parallel {
            shared,
            private,
            first_private,
            last_private,
            thread_private,
            copy_in,
            reductions: _,
            schedule: _,
            threads: _,
            condition: _,
            collapse: _,
            atomic,
            disjoint,
            reverse: _,
            sections: _,
        } = self;
        [
            shared,
            private,
            first_private,
            last_private,
            thread_private,
            copy_in,
            atomic,
            disjoint,
        ]
    }

    /// Whether a variable is in one of the lists.
    pub fn has(&self, s: SymId) -> bool {
        self.lists().iter().any(|l| l.contains(&s)) || self.reduction(s).is_some()
    }

    /// Returns the operator of the reduction to a variable, if there is one.
    pub fn reduction(&self, s: SymId) -> Option<Reduction> {
        let mut all = self.reductions.iter();
        all.find(|(_, r)| *r == s).map(|(op, _)| *op)
    }

    /// Calls `f` on all variables in the lists.
    pub fn for_each_symbol(&self, f: &mut dyn FnMut(SymId)) {
        self.lists()
            .into_iter()
            .flatten()
            .copied()
            .for_each(&mut *f);
        self.reductions.iter().for_each(|(_, s)| f(*s));
    }

    /// Like [`Parallel::for_each_symbol`], mutable.
    pub fn for_each_symbol_mut(&mut self, f: &mut dyn FnMut(&mut SymId)) {
        for list in [
            &mut self.shared,
            &mut self.private,
            &mut self.first_private,
            &mut self.last_private,
            &mut self.thread_private,
            &mut self.copy_in,
            &mut self.atomic,
            &mut self.disjoint,
        ] {
            list.iter_mut().for_each(&mut *f);
        }
        self.reductions.iter_mut().for_each(|(_, s)| f(s));
    }

    /// Calls `f` on the expressions of the clauses.
    pub fn for_each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        let chunk = self.schedule.iter().filter_map(|s| s.chunk.as_ref());
        chunk
            .chain(&self.threads)
            .chain(&self.condition)
            .for_each(f);
    }

    /// Like [`Parallel::for_each_expr`], mutable.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        let chunk = self.schedule.iter_mut().filter_map(|s| s.chunk.as_mut());
        chunk
            .chain(&mut self.threads)
            .chain(&mut self.condition)
            .for_each(f);
    }
}

impl std::fmt::Display for LoopDirectiveKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoopDirectiveKind::Checkpoint { memory, disk: 0 } => write!(f, "checkpoint({memory})"),
            LoopDirectiveKind::Checkpoint { memory, disk } => {
                write!(f, "checkpoint({memory}, disk = {disk})")
            }
            LoopDirectiveKind::Independent => f.write_str("independent"),
            LoopDirectiveKind::Replayed => Ok(()),
            LoopDirectiveKind::Parallel(_) => f.write_str("parallel"),
            LoopDirectiveKind::FixedPoint {
                tolerance,
                iterations,
                ..
            } => {
                let tolerance = tolerance.as_ref().map(|t| format!("tolerance = {t}"));
                let iterations = iterations.map(|n| format!("iterations = {n}"));
                let list: Vec<String> = tolerance.into_iter().chain(iterations).collect();
                f.write_str("fixed-point")?;
                match list.is_empty() {
                    true => Ok(()),
                    false => write!(f, "({})", list.join(", ")),
                }
            }
        }
    }
}

/// How a loop iterates.
#[derive(Debug, Clone, PartialEq)]
pub enum DoControl {
    /// `DO var = from, to, step`
    Count {
        /// The loop variable.
        var: SymId,
        /// First value.
        from: Expr,
        /// Last value.
        to: Expr,
        /// Step; 1 if absent.
        step: Option<Expr>,
    },
    /// `DO WHILE (condition)`
    While(Expr),
    /// `DO` without an end condition.
    Forever,
}

/// How a loop ends in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoEnd {
    /// `END DO`, with its label.
    EndDo(Option<Label>),
    /// `DO label …`: the last statement of the body has the label. If that statement is itself a
    /// loop that ends at the same label, the two share their terminal statement, which is in the
    /// innermost loop.
    Label(Label),
}

/// An input or output statement: its kind, its control list and its items.
#[derive(Debug, Clone, PartialEq)]
pub struct Io {
    /// Which statement.
    pub kind: IoKind,
    /// The contents of the parentheses, in order; for `READ f, …` and `PRINT f, …` only the format;
    /// for `REWIND u` only the unit. Keyword arguments are [`super::ExprKind::Keyword`]; labels
    /// (FMT=10, END=20, ERR=30) are integer constants.
    pub control: Vec<Expr>,
    /// Whether it has the form with parentheses.
    pub parens: bool,
    /// The input or output list.
    pub items: Vec<Expr>,
}

impl Io {
    /// Returns the unit in the parentheses: a number, a CHARACTER variable or `*`; `None` if the
    /// statement names none.
    pub fn unit(&self) -> Option<&Expr> {
        let at = |(i, e): (usize, &'_ Expr)| match &e.kind {
            ExprKind::Keyword(name, _) => name == "UNIT",
            _ => i == 0,
        };
        let (_, found) = self.control.iter().enumerate().find(|c| at(*c))?;
        match &found.kind {
            ExprKind::Keyword(_, e) => Some(e),
            _ => Some(found),
        }
    }

    /// Returns the position of the format, or of the NAMELIST group, in the control list, if there is one.
    pub fn format(&self) -> Option<usize> {
        let place = match self.kind {
            IoKind::Read | IoKind::Write | IoKind::Print => usize::from(self.parens),
            _ => return None,
        };
        let named = |c: &Expr| matches!(&c.kind, ExprKind::Keyword(k, _) if k == "FMT");
        let positional = |c: &&Expr| !matches!(c.kind, ExprKind::Keyword(..));
        let found = self.control.iter().position(named);
        found.or_else(|| {
            let second = self.control.get(place).filter(positional);
            second.map(|_| place)
        })
    }

    /// Whether it reads from, or writes to, a CHARACTER variable of `unit`, which touches no file.
    pub fn is_internal(&self, unit: &Unit) -> bool {
        let base = self.unit().and_then(Expr::base);
        self.parens
            && matches!(self.kind, IoKind::Read | IoKind::Write)
            && base.is_some_and(|s| unit.symbols[s].ty == Some(Type::Character))
    }
}

/// The kinds of input and output statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IoKind {
    Read,
    Write,
    Print,
    Open,
    Close,
    Inquire,
    Rewind,
    Backspace,
    Endfile,
    Flush,
}

/// An ALLOCATE or DEALLOCATE statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// Whether this is DEALLOCATE.
    pub free: bool,
    /// The arrays; in ALLOCATE with their bounds, as elements whose subscripts are upper bounds or
    /// ranges.
    pub objects: Vec<Expr>,
    /// `STAT=variable` and the like.
    pub control: Vec<Expr>,
}

/// An ENTRY statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name of the entry (in a function, also its result).
    pub name: SymId,
    /// Its dummy arguments.
    pub args: Vec<super::Arg>,
}

/// The mode of differentiation: forward or reverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AdMode {
    /// ADF: tangents.
    Forward,
    /// ADR: adjoints (called cotangents in the language).
    Reverse,
}

/// A block that requests derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct AdBlock {
    /// ADF or ADR.
    pub mode: AdMode,
    /// Vector mode: several directions in one sweep.
    pub vector_mode: Option<VectorMode>,
    /// ADF: independents and their tangents (seeds). ADR: dependents and their cotangents.
    pub opening: Vec<AdItem>,
    /// The statements that are differentiated.
    pub body: Block,
    /// ADF: destinations and the tangents of dependents assigned to them. ADR: destinations and the
    /// cotangents of independents.
    pub closing: Vec<AdItem>,
    /// The END ADF or END ADR statement.
    pub end_span: Span,
}

/// The first item in the opening of a vector-mode ADF block.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorMode {
    /// Whether this is `PATTERN = count`, which computes which tangents can be nonzero instead of
    /// the tangents; otherwise it is `DIRECTIONS = count`.
    pub pattern: bool,
    /// The number of directions.
    pub count: Expr,
}

impl VectorMode {
    /// Returns the keyword before the `=`.
    pub fn word(&self) -> &'static str {
        match self.pattern {
            true => "PATTERN",
            false => "DIRECTIONS",
        }
    }
}

/// One item of an opening or closing.
#[derive(Debug, Clone, PartialEq)]
pub enum AdItem {
    /// `TANGENT(var) = other` or `other = TANGENT(var)`.
    Assign(AdAssign),
    /// `(items, var = from, to, step)`
    ImpliedDo(Box<ImpliedDo<AdItem>>),
}

/// One assignment of an opening or closing.
#[derive(Debug, Clone, PartialEq)]
pub struct AdAssign {
    /// The argument of TANGENT(…) or COTANGENT(…).
    pub var: Expr,
    /// The direction in `TANGENT(var, direction)`.
    pub direction: Option<Expr>,
    /// In an opening the value, in a closing the destination.
    pub other: Expr,
    /// Whether it is written in the short form `ADF(v)`.
    pub short: bool,
    /// The whole assignment.
    pub span: Span,
}

impl StmtKind {
    /// Returns the labels to which a statement may jump, except those of an assigned GOTO without a
    /// list.
    ///
    /// ```
    /// use farfel_ir::ir::StmtKind;
    ///
    /// assert_eq!(StmtKind::Goto(10).jumps(), [10]);
    /// assert!(StmtKind::Continue.jumps().is_empty());
    /// ```
    pub fn jumps(&self) -> Vec<Label> {
        match self {
            StmtKind::Goto(l) => vec![*l],
            StmtKind::ArithmeticIf(_, l) => l.to_vec(),
            StmtKind::ComputedGoto(l, _) | StmtKind::AssignedGoto(_, l) => l.clone(),
            StmtKind::Call(_, args) => args
                .iter()
                .filter_map(|a| match a.kind {
                    ExprKind::AltReturn(l) => Some(l),
                    _ => None,
                })
                .collect(),
            StmtKind::Io(io) => {
                let on = |name: &str| matches!(name, "END" | "ERR" | "EOR");
                let label = |c: &Expr| match &c.kind {
                    ExprKind::Keyword(name, e) if on(name) => match e.kind {
                        ExprKind::Int(label) => Label::try_from(label).ok(),
                        _ => None,
                    },
                    _ => None,
                };
                io.control.iter().filter_map(label).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Finds items of an opening or closing that have no effect because a later item assigns the same
/// variable again. Returns, for each later item that overrides others, its position and that of the
/// last one it overrides.
pub fn overwritten_items(items: &[AdItem], opening: bool) -> Vec<(usize, usize)> {
    fn assigned(a: &AdAssign, opening: bool) -> &Expr {
        if opening { &a.var } else { &a.other }
    }
    let mut found = Vec::new();
    for (n, later) in items.iter().enumerate() {
        let AdItem::Assign(later) = later else {
            continue;
        };
        let target = assigned(later, opening);
        let covered = |a: &AdAssign| {
            let earlier = assigned(a, opening);
            let along = match (&a.direction, &later.direction) {
                (Some(a), Some(b)) if opening => a.equals_ignoring_spans(b) && !a.has_calls(),
                (a, b) => !opening || a.is_none() && b.is_none(),
            };
            along
                && match target.kind {
                    ExprKind::Var(v) => earlier.base() == Some(v),
                    _ => earlier.equals_ignoring_spans(target) && !target.has_calls(),
                }
        };
        let lost = items[..n].iter().rposition(|item| {
            let (mut all, mut any) = (true, false);
            item.for_each_assign(&mut |a| {
                all &= covered(a);
                any = true;
            });
            all && any
        });
        found.extend(lost.map(|l| (n, l)));
    }
    found
}

impl AdBlock {
    /// Returns the independents and the dependents of a block, each once, in order.
    pub fn named(&self) -> (Vec<SymId>, Vec<SymId>) {
        let (opening, closing) = (AdItem::bases(&self.opening), AdItem::bases(&self.closing));
        match self.mode {
            AdMode::Forward => (opening, closing),
            AdMode::Reverse => (closing, opening),
        }
    }
}

impl AdItem {
    /// Returns the variables of an opening or closing, each once, in order.
    pub fn bases(items: &[AdItem]) -> Vec<SymId> {
        let mut found = Vec::new();
        for item in items {
            item.for_each_assign(&mut |a| {
                if let Some(s) = a.var.base()
                    && !found.contains(&s)
                {
                    found.push(s);
                }
            });
        }
        found
    }

    /// Calls `f` on every assignment in the item, descending into implied DOs.
    pub fn for_each_assign<'a>(&'a self, f: &mut dyn FnMut(&'a AdAssign)) {
        match self {
            AdItem::Assign(a) => f(a),
            AdItem::ImpliedDo(d) => d.items.iter().for_each(|i| i.for_each_assign(f)),
        }
    }
}
