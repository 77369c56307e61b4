//! In a library, makes statements that would end the process end the current call from Rust instead.
//!
//! This is a pass over the final program of a library, after [`bounds_checks`](crate::bounds_checks). In
//! each of these cases the program calls `farfel-runtime`, which unwinds to the Rust function, with the
//! place in the source:
//!
//! | | what is done |
//! |---|---|
//! | STOP, PAUSE, CALL EXIT, CALL ABORT | replaced by the call |
//! | input and output | gets IOSTAT and IOMSG if it has no IOSTAT, and its status is checked ([`io`]) |
//! | ALLOCATE and DEALLOCATE | get STAT if they have none, and the status is checked |
//! | arrays whose size depends on the call | checked on entry to the unit |
//! | texts whose length depends on the call | allocated on entry to the unit |
//! | a unit that may call itself | checks on entry that the stack suffices |
//! | `I/J`, MOD, MODULO, `I**J` of INTEGERs | replaced by functions that check J, unless it is constant |
//! | steps of loops and sections | the same |

mod arithmetic;
mod io;

use crate::bounds_checks::{place_of, under, unlabel_loops};
use crate::support::{END, Ending, Support, has_another, intrinsic};
use farfel_lang::ir::{
    Allocation, Attribute, BinOp, Block, Class, Dim, DoControl, Expr, ExprKind, Name, Origin,
    Program, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit, walk_block,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::constant::{self, extents};
use farfel_lang::types::type_of;
use farfel_lang::{Sources, Span};
use std::collections::{BTreeMap, HashMap};

/// How a unit may end a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ends {
    /// In a way that its callers must expect.
    pub expected: bool,
    /// In a way that callers need not handle: `PRINT *` fails, where Rust's `print!` panics, or a file was
    /// lost in an earlier call.
    pub surprising: bool,
    /// In the middle of a statement that uses a file.
    pub lingers: bool,
}

impl Ends {
    /// Determines how a unit may end a call, apart from its callees.
    pub(crate) fn of(unit: &Unit, own: IsOwnProcedure) -> Ends {
        let mut replacer = EndReplacer::new(unit.clone(), own, None);
        replacer.run();
        replacer.ends
    }
}

/// Whether the library has a procedure with this name.
pub(crate) type IsOwnProcedure<'a> = &'a dyn Fn(&str) -> bool;

/// Returns the reason why a unit's declarations may end the process, if this cannot be prevented.
pub(crate) fn obstacle(unit: &Unit) -> Option<String> {
    let divides = |e: &Expr| {
        let mut found = false;
        e.walk(&mut |e| found |= arithmetic::may_fail(unit, e).is_some());
        found
    };
    let variables = || unit.symbols.iter().filter(|(_, s)| s.is_variable());
    let sizes = |s: &Symbol| {
        let bounds = s.dims.iter().flat_map(|d| [&d.lower, &d.upper]);
        bounds.flatten().chain(&s.length).any(&divides)
    };
    if let Some((_, s)) = variables().find(|(_, s)| sizes(s)) {
        return Some(format!("the size of {} is a quotient", s.name));
    }
    let mut format = None;
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Io(i) = &s.kind
            && format.is_none()
        {
            format = io::obstacle(unit, i);
        }
    });
    if format.is_some() {
        return format;
    }
    let named = |id: SymId| {
        unit.symbols
            .iter()
            .any(|(_, s)| matches!(&s.class, Class::Namelist(members) if members.contains(&id)))
    };
    if let Some((_, s)) = variables()
        .filter(|(_, s)| is_automatic_text(unit, s))
        .find(|(id, _)| named(*id) || has_another(unit, "ALLOCATED"))
    {
        return Some(format!("the call decides how long the text {} is", s.name));
    }
    let (_, s) = variables().find(|(_, s)| is_automatic(unit, s))?;
    has_another(unit, "LOC").then(|| {
        format!(
            "the call decides how large {} is, and LOC, which is asked for it, is the program's",
            s.name
        )
    })
}

/// Whether a variable is an array whose size depends on the call.
fn is_automatic(unit: &Unit, s: &Symbol) -> bool {
    let own = s.storage_class == StorageClass::Local && s.is_variable() && s.is_array();
    own && s.dims.iter().all(|d| d.upper.is_some()) && extents(unit, &s.dims).is_none()
}

/// Whether a variable is a text whose length depends on the call. gfortran would put it on the stack.
fn is_automatic_text(unit: &Unit, s: &Symbol) -> bool {
    let open = s
        .length
        .as_ref()
        .is_some_and(|e| e.kind != ExprKind::Star && constant::integer(unit, e).is_none());
    let own = s.storage_class == StorageClass::Local && s.is_variable() && !s.is_array();
    own && open && !s.has(Attribute::Allocatable)
}

/// Inserts calls of `farfel-runtime` where the units of a program would end the process. `library` has all
/// units of the library, `recursive` those that may call themselves, with the number of bytes on the stack that a
/// call needs.
pub(crate) fn replace(
    program: &mut Program,
    library: &Program,
    recursive: &BTreeMap<Name, u64>,
    sources: &Sources,
) {
    let own = |name: &str| {
        let mut points = library.units.iter().flat_map(Unit::entry_points);
        points.any(|e| e.name == name)
    };
    for unit in std::mem::take(&mut program.units) {
        let mut replacer = EndReplacer::new(unit, &own, Some(sources));
        replacer.stack = recursive.get(&replacer.unit.name).copied();
        replacer.run();
        program.units.push(replacer.unit);
    }
}

/// A unit being rewritten. Its body has been taken out.
struct EndReplacer<'a> {
    unit: Unit,
    own: IsOwnProcedure<'a>,
    sources: Option<&'a Sources>,
    ends: Ends,
    /// The number of bytes on the stack that a call needs, if the unit may call itself.
    stack: Option<u64>,
    /// Statements to be inserted before the current one.
    before: Block,
    /// Variables for the status of statements.
    reports: HashMap<&'static str, SymId>,
}

impl<'a> EndReplacer<'a> {
    fn new(unit: Unit, own: IsOwnProcedure<'a>, sources: Option<&'a Sources>) -> EndReplacer<'a> {
        EndReplacer {
            unit,
            own,
            sources,
            ends: Ends::default(),
            stack: None,
            before: Vec::new(),
            reports: HashMap::new(),
        }
    }

    fn run(&mut self) {
        let mut body = std::mem::take(&mut self.unit.body);
        unlabel_loops(&mut body);
        for id in self.unit.symbols.ids() {
            if let Class::StatementFunction(args, value) = self.unit.symbols[id].class.clone() {
                let mut value = *value;
                self.expr(&mut value);
                self.unit.symbols[id].class = Class::StatementFunction(args, Box::new(value));
            }
        }
        let mut body = self.block(body);
        let mut there = self.automatic_arrays();
        there.splice(0..0, self.automatic_texts());
        there.splice(0..0, self.stack_check());
        // An ENTRY point begins at its statement.
        let entries = body.iter().enumerate().rev();
        let entries = entries.filter(|(_, s)| matches!(s.kind, StmtKind::Entry(_)));
        let entries: Vec<usize> = entries.map(|(i, _)| i + 1).collect();
        for at in entries.into_iter().chain([0]) {
            body.splice(at..at, there.iter().cloned());
        }
        self.unit.body = body;
    }

    /// Checks whether the stack suffices for another call of a unit that may call itself.
    fn stack_check(&mut self) -> Option<Stmt> {
        let bytes = i64::try_from(self.stack?).unwrap_or(i64::MAX);
        let span = self.unit.span;
        let shown = format!("making room for another call of {}", self.unit.name);
        let args = vec![
            Expr::long(bytes, span),
            Expr::text(shown, span),
            self.place(span),
        ];
        self.ends.expected = true;
        Some(self.tell("FARFEL_STACK_V1", args, span))
    }

    /// Checks whether there is enough memory for arrays whose size depends on the call, which gfortran does
    /// not.
    fn automatic_arrays(&mut self) -> Block {
        let ids: Vec<SymId> = self.unit.symbols.ids().collect();
        let arrays = ids
            .into_iter()
            .filter(|id| is_automatic(&self.unit, &self.unit.symbols[*id]));
        let arrays: Vec<SymId> = arrays.collect();
        let mut found = Vec::new();
        for id in arrays {
            let Some(loc) = intrinsic(&mut self.unit, "LOC") else {
                continue;
            };
            let (span, name) = (
                self.unit.symbols[id].span,
                self.unit.symbols[id].name.clone(),
            );
            // Added to 0, because gfortran would pass on the length of a CHARACTER with the bare value.
            let at = Expr::call(loc, vec![Expr::var(id, span)], span);
            let at = Expr::binary(BinOp::Add, Expr::long(0, span), at);
            let shown = Expr::text(format!("making room for {name}"), span);
            let there = Support::There;
            let callee = self.procedure(&there.name(), Class::Subroutine, None);
            let args = vec![at, shown, self.place(span)];
            found.push(Stmt::call(callee, args, span));
            self.ends.expected = true;
        }
        found
    }

    /// Allocates texts whose length depends on the call.
    fn automatic_texts(&mut self) -> Block {
        let ids: Vec<SymId> = self.unit.symbols.ids().collect();
        let texts = ids
            .into_iter()
            .filter(|id| is_automatic_text(&self.unit, &self.unit.symbols[*id]));
        let texts: Vec<SymId> = texts.collect();
        let mut made = Vec::new();
        for id in texts {
            // Execution from the first entry passes ENTRY points.
            let Some(allocated) = intrinsic(&mut self.unit, "ALLOCATED") else {
                continue;
            };
            let (span, name) = (
                self.unit.symbols[id].span,
                self.unit.symbols[id].name.clone(),
            );
            self.unit.undeclare(id);
            self.unit.symbols[id]
                .attributes
                .insert(Attribute::Allocatable);
            self.unit.declare(id);
            let mut control = Vec::new();
            let status = self.status("STAT", &mut control, span);
            let allocation = Allocation {
                free: false,
                objects: vec![Expr::var(id, span)],
                control,
            };
            let allocation = Stmt::new(StmtKind::Allocation(Box::new(allocation)), span);
            let shown = Expr::text(format!("making room for {name}"), span);
            let end = self.end_if_failed(Ending::Memory, status, shown, span);
            let there = Expr::call(allocated, vec![Expr::var(id, span)], span);
            let absent = Expr::not(there, span);
            made.push(Stmt::branches(
                vec![(absent, vec![allocation, end])],
                None,
                span,
            ));
            self.ends.expected = true;
        }
        made
    }

    fn block(&mut self, block: Block) -> Block {
        let mut made = Vec::with_capacity(block.len());
        for s in block {
            let outer = std::mem::take(&mut self.before);
            let (label, span) = (s.label, s.span);
            let mut all = self.statement(s);
            if !self.before.is_empty() || (label.is_some() && all.len() > 1) {
                if let Some(first) = all.first_mut() {
                    first.label = None;
                }
                let at = label.map(|l| Stmt::labelled(Some(l), StmtKind::Continue, span));
                made.extend(at);
            }
            made.append(&mut self.before);
            made.append(&mut all);
            self.before = outer;
        }
        made
    }

    /// Rewrites a statement, and adds the statements that must follow it.
    fn statement(&mut self, mut s: Stmt) -> Block {
        let span = s.span;
        match &mut s.kind {
            StmtKind::Stop(code) => {
                let code = code.take();
                s.kind = self.stop(Ending::Stop, code, span);
            }
            StmtKind::Pause(text) => {
                let text = text.take();
                s.kind = self.stop(Ending::Pause, text, span);
            }
            StmtKind::Call(callee, args) if self.is_gnu(*callee, "EXIT") && args.len() <= 1 => {
                let code = args.pop();
                s.kind = self.stop(Ending::Stop, code, span);
            }
            StmtKind::Call(callee, args) if self.is_gnu(*callee, "ABORT") && args.is_empty() => {
                let text = Expr::text("ABORT", span);
                s.kind = self.stop(Ending::Stop, Some(text), span);
            }
            StmtKind::Call(callee, args) if self.is_gnu(*callee, "FLUSH") => {
                args.iter_mut().for_each(|a| self.expr(a));
                let file = match args.first() {
                    Some(unit) if io::is_simple(&self.unit, unit) => unit.clone(),
                    _ => Expr::int(-1, span),
                };
                let ask = self.ask(file, span);
                self.before.push(ask);
                self.ends.surprising = true;
            }
            StmtKind::Io(_) => return self.input_output(s),
            StmtKind::Allocation(a) => {
                let given = |c: &Expr| matches!(&c.kind, ExprKind::Keyword(k, _) if k == "STAT");
                let objects = a.objects.iter_mut().chain(&mut a.control);
                objects.for_each(|e| self.expr(e));
                if !a.control.iter().any(given) {
                    let shown: Vec<String> = a
                        .objects
                        .iter()
                        .map(|e| print_expr(&self.unit, e))
                        .collect();
                    let word = if a.free { "DEALLOCATE" } else { "ALLOCATE" };
                    let shown = Expr::text(format!("{word} ({})", shown.join(", ")), span);
                    let status = self.status("STAT", &mut a.control, span);
                    self.ends.expected = true;
                    return vec![s, self.end_if_failed(Ending::Memory, status, shown, span)];
                }
            }
            StmtKind::LogicalIf(condition, inner) => {
                self.expr(condition);
                let inner = std::mem::replace(&mut **inner, Stmt::continues(span));
                let arm = self.block(vec![inner]);
                let condition = std::mem::replace(condition, Expr::logical(true, span));
                s.kind = under(condition, arm, span);
            }
            StmtKind::Where(_) => {
                // Its statements are inseparable from it.
                s.walk_mut(&mut |s| s.for_each_own_expr_mut(&mut |e| self.expr(e)));
            }
            _ => {
                s.for_each_own_expr_mut(&mut |e| self.expr(e));
                if let StmtKind::Do(d) = &mut s.kind
                    && let DoControl::Count {
                        step: Some(step), ..
                    } = &mut d.control
                {
                    self.step(step);
                }
                for block in s.blocks_mut() {
                    let inside = std::mem::take(block);
                    *block = self.block(inside);
                }
            }
        }
        vec![s]
    }

    /// Returns a call to the runtime that ends the current call, with a number or a text.
    fn stop(&mut self, ending: Ending, code: Option<Expr>, span: Span) -> StmtKind {
        self.ends.expected = true;
        let (number, text) = match code {
            None => (Expr::int(0, span), Expr::text(" ", span)),
            Some(mut e) => {
                self.expr(&mut e);
                match type_of(&self.unit, &e) {
                    Some(Type::Character) => (Expr::int(0, span), e),
                    // The runtime expects four bytes.
                    Some(Type::Integer(1 | 2)) => {
                        let number = Expr::binary(BinOp::Add, Expr::int(0, span), e);
                        (number, Expr::text(" ", span))
                    }
                    _ => (e, Expr::text(" ", span)),
                }
            }
        };
        self.end(ending, number, text, span).kind
    }

    fn end(&mut self, ending: Ending, code: Expr, text: Expr, span: Span) -> Stmt {
        let callee = self.procedure(END, Class::Subroutine, None);
        let number = Expr::int(ending as i64, span);
        let place = self.place(span);
        Stmt::call(callee, vec![number, code, text, place], span)
    }

    /// Returns a statement that ends the current call if a status is not zero.
    fn end_if_failed(&mut self, ending: Ending, status: Expr, text: Expr, span: Span) -> Stmt {
        let failed = Expr::binary(BinOp::Ne, status.clone(), Expr::int(0, span));
        let end = self.end(ending, status, text, span);
        Stmt::logical_if(failed, end, span)
    }

    /// Makes a statement report its status in a variable.
    fn status(&mut self, key: &'static str, control: &mut Vec<Expr>, span: Span) -> Expr {
        let status = self.variable("FARFEL_S", Type::INTEGER, None);
        let status = Expr::var(status, span);
        control.push(Expr::keyword(key, status.clone(), span));
        status
    }

    /// Returns a variable for internal use, which is declared once in the unit.
    fn variable(&mut self, name: &'static str, ty: Type, length: Option<Expr>) -> SymId {
        if let Some(found) = self.reports.get(name) {
            return *found;
        }
        let id = self.new_variable(name, ty, length, 0);
        self.reports.insert(name, id);
        id
    }

    /// Declares a new variable for internal use.
    fn new_variable(&mut self, name: &str, ty: Type, length: Option<Expr>, rank: usize) -> SymId {
        let name = self.unit.symbols.unused(name, &|_| false);
        let open = || Dim {
            lower: None,
            upper: None,
        };
        let mut symbol = Symbol {
            length,
            dims: (0..rank).map(|_| open()).collect(),
            origin: Origin::Generated,
            ..Symbol::variable(name, ty, Span::NONE)
        };
        if rank > 0 {
            symbol.attributes.insert(Attribute::Allocatable);
        }
        let id = self.unit.symbols.add(symbol);
        self.unit.declare(id);
        id
    }

    /// Returns a procedure for internal use.
    fn procedure(&mut self, name: &str, class: Class, ty: Option<Type>) -> SymId {
        if let Some(found) = self.unit.symbols.find(name) {
            return found;
        }
        let symbol = Symbol {
            class,
            ty,
            storage_class: StorageClass::Global,
            origin: Origin::Generated,
            ..Symbol::new(name.into(), Span::NONE)
        };
        self.unit.symbols.add(symbol)
    }

    /// Returns a call of a function that checks its arguments.
    fn support(&mut self, support: Support, args: Vec<Expr>, span: Span) -> Expr {
        let function = self.procedure(&support.name(), Class::Function, support.ty());
        Expr::call(function, args, span)
    }

    /// Returns a place in the source as text.
    fn place(&self, span: Span) -> Expr {
        let place = self.sources.and_then(|s| place_of(s, span));
        Expr::text(place.unwrap_or_else(|| self.unit.name.to_string()), span)
    }

    /// Whether a callee is this subroutine of gfortran.
    fn is_gnu(&self, callee: SymId, name: &str) -> bool {
        let symbol = &self.unit.symbols[callee];
        let global = symbol.storage_class == StorageClass::Global && !symbol.external;
        symbol.name == name && global && !(self.own)(name)
    }
}
