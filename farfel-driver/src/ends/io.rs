//! Input and output: a failure ends the current call, and nothing ends it in the middle of a statement.
//!
//! gfortran's run-time library locks a file while a statement uses it. A call that ended in the meantime, by
//! STOP in a function of the list, a failed subscript check, or a panic of a closure, would leave it locked
//! forever. Therefore functions are called, and subscripts checked, before the statement. What depends on a
//! value that the statement itself has read stays where it is; `farfel-runtime` is notified of such a
//! statement, and thus knows which files are lost if a call ends in it. It is asked before other statements.

use super::EndReplacer;
use crate::support::{Ending, Support, has_another, intrinsic};
use farfel_lang::Span;
use farfel_lang::ir::{
    Allocation, BinOp, Block, Class, Expr, ExprKind, ImpliedDo, Io, IoKind, Label, Name, Stmt,
    StmtKind, StorageClass, SymId, Type, Unit,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::{Constants, constant};
use farfel_lang::types::{rank, type_of};
use std::collections::HashSet;

/// A loop around an item: variable, bounds and step.
type Loop = (SymId, [Expr; 2], Option<Expr>);

impl EndReplacer<'_> {
    /// Rewrites an input or output statement, and adds the statements that must follow it.
    pub(super) fn input_output(&mut self, mut s: Stmt) -> Block {
        let span = s.span;
        let StmtKind::Io(io) = &mut s.kind else {
            return vec![s];
        };
        io.control.iter_mut().for_each(|c| self.expr(c));
        // The unit and the format must be known before the statement.
        for e in [unit_of(io), io.format()].into_iter().flatten() {
            self.call_before(&mut io.control[e], &mut Vec::new());
        }
        let mut behind = Vec::new();
        let mut read = HashSet::new();
        let mut left = false;
        let file = file_of(io, &self.unit, span);
        for item in &mut io.items {
            self.expr(item);
            if matches!(io.kind, IoKind::Write | IoKind::Print) {
                self.call_before(item, &mut Vec::new());
            } else if let ExprKind::ImpliedDo(d) = &mut item.kind
                && read.is_empty()
            {
                self.call_bounds_before(d);
            }
            let alone =
                self.is_alone(item, &read) && !(io.kind == IoKind::Read && selects_by_itself(item));
            match alone {
                true => {
                    let checks = self.checks(item);
                    self.before.extend(checks);
                }
                false => {
                    left |= may_end(&self.unit, item);
                    if io.kind == IoKind::Read && file.is_some() {
                        self.check_later(item);
                    }
                }
            }
            if io.kind == IoKind::Read {
                item.for_each_symbol(&mut |s| {
                    read.insert(s);
                });
            }
        }
        let named =
            matches!(io.kind, IoKind::Open) || (io.kind == IoKind::Inquire && has(io, "FILE"));
        // Even if the statement checks its own status.
        self.ends.surprising |= named || file.is_some();
        if named {
            let ask = self.ask(Expr::int(-1, span), span);
            self.before.push(ask);
        } else if let Some(file) = file.clone() {
            let ask = self.ask(file, span);
            self.before.push(ask);
        }
        if let Some(check) = self.check_of_format(io, span) {
            self.before.push(check);
            match ends_the_process(io) {
                true => self.ends.expected = true,
                false => self.ends.surprising = true,
            }
        }
        let file = file.filter(|_| left);
        self.ends.lingers |= file.is_some();
        if ends_the_process(io) || file.is_some() {
            match is_print(io) {
                true => self.ends.surprising = true,
                false => self.ends.expected = true,
            }
            in_parentheses(io);
            if let Some(file) = &file {
                let enter = self.tell("FARFEL_ENTER_V1", vec![file.clone()], span);
                self.before.push(enter);
                behind.push(self.tell("FARFEL_LEAVE_V1", Vec::new(), span));
            }
            let given = io.control.iter().find_map(|c| match &c.kind {
                ExprKind::Keyword(k, e) if k == "IOSTAT" => Some((**e).clone()),
                _ => None,
            });
            // Jumps are made after the statement, because `farfel-runtime` must first be told that it is
            // over.
            let jumps = match file.is_some() {
                true => jumps(io),
                false => Vec::new(),
            };
            let asks = given.is_some() || !ends_the_process_but(io, &jumps);
            let status = match given {
                Some(e) => e,
                None => self.status("IOSTAT", &mut io.control, span),
            };
            for (key, label) in &jumps {
                let op = match key.as_str() {
                    "END" => BinOp::Eq,
                    _ => BinOp::Gt,
                };
                let code = if key == "END" { -1 } else { 0 };
                let is = Expr::binary(op, status.clone(), Expr::int(code, span));
                let jump = Stmt::goto(*label, span);
                behind.push(Stmt::logical_if(is, jump, span));
            }
            if !asks {
                let text = self.variable("FARFEL_M", Type::Character, Some(Expr::int(200, span)));
                let text = Expr::var(text, span);
                io.control.push(Expr::keyword("IOMSG", text.clone(), span));
                behind.push(self.end_if_failed(Ending::InputOutput, status, text, span));
            }
        }
        std::iter::once(s).chain(behind).collect()
    }

    /// Returns a call that ends the current one if a file cannot be used.
    pub(super) fn ask(&mut self, file: Expr, span: Span) -> Stmt {
        let args = vec![file, self.place(span)];
        self.tell("FARFEL_UNIT_V2", args, span)
    }

    /// Returns a call of a subroutine in `farfel-runtime`.
    pub(super) fn tell(&mut self, name: &str, args: Vec<Expr>, span: Span) -> Stmt {
        let callee = self.procedure(name, Class::Subroutine, None);
        Stmt::call(callee, args, span)
    }

    /// Returns the check of a format that is known only at run time.
    fn check_of_format(&mut self, io: &Io, span: Span) -> Option<Stmt> {
        let place = self.place(span);
        match variable_format(io, &self.unit)? {
            VariableFormat::Text(text) => {
                let args = vec![text.clone(), place];
                Some(self.tell("FARFEL_FORMAT_V1", args, span))
            }
            VariableFormat::Array(array) => {
                let whole = || Expr::var(array, span);
                let symbol = &self.unit.symbols[array];
                let bytes = match symbol.ty {
                    Some(Type::Character) => None,
                    _ => Constants::of(&self.unit).element_size(array),
                };
                let long = |e: Expr| Expr::binary(BinOp::Add, Expr::long(0, span), e);
                let bytes = match bytes {
                    Some(bytes) => Expr::long(bytes, span),
                    None => {
                        let len = intrinsic(&mut self.unit, "LEN")?;
                        Expr::call(len, vec![whole(), Expr::int(8, span)], span)
                    }
                };
                let size = intrinsic(&mut self.unit, "SIZE")?;
                let count = long(Expr::call(size, vec![whole()], span));
                let address = Expr::call(intrinsic(&mut self.unit, "LOC")?, vec![whole()], span);
                // gfortran would pass on the length of a CHARACTER with the bare value.
                let args = vec![long(address), count, bytes, place];
                Some(self.tell("FARFEL_FORMAT_ARRAY_V1", args, span))
            }
            // Reported by `obstacle`.
            VariableFormat::Unchecked => None,
        }
    }

    /// Calls the functions in the bounds of an implied loop before the statement.
    fn call_bounds_before(&mut self, d: &mut ImpliedDo<Expr>) {
        let bounds = [&mut d.from, &mut d.to].into_iter().chain(&mut d.step);
        bounds.for_each(|e| self.call_before(e, &mut Vec::new()));
    }

    /// Calls the functions in an output item before the statement. `loops` are the enclosing loops.
    fn call_before(&mut self, item: &mut Expr, loops: &mut Vec<Loop>) {
        if !calls_functions(&self.unit, item) {
            return;
        }
        if let ExprKind::ImpliedDo(d) = &mut item.kind {
            if loops.is_empty() {
                self.call_bounds_before(d);
            }
            let bounds = [&d.from, &d.to].into_iter().chain(&d.step);
            if bounds.into_iter().any(|e| calls_functions(&self.unit, e)) {
                return;
            }
            loops.push((d.var, [d.from.clone(), d.to.clone()], d.step.clone()));
            let items = d.items.iter_mut();
            items.for_each(|i| self.call_before(i, loops));
            loops.pop();
            return;
        }
        if !matches!(item.kind, ExprKind::Call(..)) || !is_outer_call(&self.unit, item) {
            let operands = item.children_mut().into_iter();
            operands.for_each(|c| self.call_before(c, loops));
            return;
        }
        let span = item.span;
        let Some(ty) = type_of(&self.unit, item).filter(|_| rank(&self.unit, item) == 0) else {
            return;
        };
        let length = match (&item.kind, ty) {
            (ExprKind::Call(f, _), Type::Character) => {
                let declared = self.unit.symbols[*f].length.clone();
                match declared {
                    Some(e) => match constant::integer(&self.unit, &e) {
                        Some(n) => Some(Expr::int(n, span)),
                        None => return,
                    },
                    None => None,
                }
            }
            _ => None,
        };
        if loops.is_empty() {
            let value = self.new_variable("FARFEL_F", ty, length, 0);
            let value = Expr::var(value, span);
            let item = std::mem::replace(item, value.clone());
            self.before.push(Stmt::assign(value, item, span));
            return;
        }
        let values = self.new_variable("FARFEL_F", ty, length, 1);
        let count = self.new_variable("FARFEL_K", Type::Integer(8), None, 0);
        let count = || Expr::var(count, span);
        let none = || Stmt::assign(count(), Expr::long(0, span), span);
        let more = Expr::binary(BinOp::Add, count(), Expr::long(1, span));
        let more = Stmt::assign(count(), more, span);
        let next = self.support(Support::Next, vec![count()], span);
        let item = std::mem::replace(item, Expr::element(values, vec![next], span));
        let set = Stmt::assign(Expr::element(values, vec![count()], span), item, span);
        self.before.push(none());
        self.before.push(nest(loops, vec![more.clone()]));
        self.free(values);
        let room = Expr::element(values, vec![count()], span);
        let mut control = Vec::new();
        let status = self.status("STAT", &mut control, span);
        self.before.push(allocation(false, room, control));
        let shown = Expr::text("the output list", span);
        let end = self.end_if_failed(Ending::Memory, status, shown, span);
        self.before.extend([end, none()]);
        self.before.push(nest(loops, vec![more, set]));
        self.before.push(none());
        self.ends.expected = true;
    }

    /// Frees an array that may be left from the last execution.
    fn free(&mut self, values: SymId) {
        let span = Span::NONE;
        let mut control = Vec::new();
        self.status("STAT", &mut control, span);
        let free = allocation(true, Expr::var(values, span), control);
        self.before.push(free);
    }

    /// Makes the checks of elements that are read report failures only after the statement, as far as the
    /// first element of an array is known.
    fn check_later(&mut self, item: &mut Expr) {
        item.children_mut()
            .into_iter()
            .for_each(|c| self.check_later(c));
        let ExprKind::Element(array, subscripts) = &mut item.kind else {
            return;
        };
        let Some((last, others)) = subscripts.split_last_mut() else {
            return;
        };
        let ExprKind::Call(f, args) = &last.kind else {
            return;
        };
        let rank = others.len() + 1;
        let subscript = self.unit.symbols[*f].name == Support::Subscript.name();
        let element = rank > 1 && self.unit.symbols[*f].name == Support::Element(rank).name();
        let dims = &self.unit.symbols[*array].dims;
        let lowers: Option<Vec<i64>> = dims
            .iter()
            .map(|d| match &d.lower {
                Some(e) => constant::integer(&self.unit, e),
                None => Some(1),
            })
            .collect();
        let Some(lowers) = lowers.filter(|l| l.len() == rank && (subscript || element)) else {
            return;
        };
        let span = last.span;
        let args = match (subscript, &args[..]) {
            (true, [i, l, n, what]) => {
                let before = Expr::binary(BinOp::Sub, i.clone(), l.clone());
                let number = Expr::binary(BinOp::Add, before, Expr::long(1, span));
                vec![i.clone(), number, n.clone(), what.clone()]
            }
            _ => args.clone(),
        };
        let all = others.iter_mut().chain([last]);
        for (k, (s, low)) in all.zip(lowers).enumerate() {
            let mut args = args.clone();
            args.push(Expr::long(k as i64 + 1, span));
            args.push(Expr::long(low, span));
            let later = Support::Later(rank);
            *s = self.support(later, args, span);
        }
    }

    /// Whether the checks of an item can be made before the statement. They cannot if they depend on what it
    /// reads.
    fn is_alone(&self, item: &Expr, read: &HashSet<SymId>) -> bool {
        let mut alone = !calls_functions(&self.unit, item);
        item.walk(&mut |e| {
            if let ExprKind::Var(s) | ExprKind::Element(s, _) = &e.kind {
                alone &= !read.contains(s);
            }
        });
        alone
    }

    /// Returns the checks of an item.
    fn checks(&mut self, item: &Expr) -> Block {
        match &item.kind {
            ExprKind::ImpliedDo(d) => {
                let body: Block = d.items.iter().flat_map(|i| self.checks(i)).collect();
                let ends = [d.from.clone(), d.to.clone()];
                let bounds = [&d.from, &d.to].into_iter().chain(&d.step);
                let mut made: Block = bounds.flat_map(|e| self.checks(e)).collect();
                if !body.is_empty() {
                    made.push(nest(&[(d.var, ends, d.step.clone())], body));
                }
                made
            }
            ExprKind::Call(f, _) if self.unit.symbols[*f].name == Support::Next.name() => {
                Vec::new()
            }
            ExprKind::Call(f, _) if is_check(&self.unit, *f) => {
                let to = self.variable("FARFEL_C", Type::Integer(8), None);
                vec![Stmt::assign(
                    Expr::var(to, item.span),
                    item.clone(),
                    item.span,
                )]
            }
            _ => {
                let children: Vec<Expr> = item.children().into_iter().cloned().collect();
                children.iter().flat_map(|c| self.checks(c)).collect()
            }
        }
    }
}

/// Whether an item of READ reads variables that select what else it reads, as in `(I, X(I), J = 1, N)`.
fn selects_by_itself(item: &Expr) -> bool {
    fn bases(item: &Expr, found: &mut HashSet<SymId>) {
        match &item.kind {
            ExprKind::ImpliedDo(d) => d.items.iter().for_each(|i| bases(i, found)),
            _ => found.extend(item.base()),
        }
    }
    fn selectors(item: &Expr, found: &mut HashSet<SymId>) {
        let mut note = |e: &Expr| {
            e.for_each_symbol(&mut |s| {
                found.insert(s);
            });
        };
        match &item.kind {
            ExprKind::ImpliedDo(d) => {
                [&d.from, &d.to].into_iter().chain(&d.step).for_each(note);
                d.items.iter().for_each(|i| selectors(i, found));
            }
            ExprKind::Element(_, subscripts) => subscripts.iter().for_each(note),
            ExprKind::Substring(base, from, to) => {
                [from, to].into_iter().flatten().for_each(|e| note(e));
                selectors(base, found);
            }
            _ => {}
        }
    }
    let (mut read, mut selecting) = (HashSet::new(), HashSet::new());
    bases(item, &mut read);
    selectors(item, &mut selecting);
    !read.is_disjoint(&selecting)
}

/// Nests statements in loops, the outermost first.
fn nest(loops: &[Loop], body: Block) -> Stmt {
    let span = Span::NONE;
    let mut body = body;
    for (var, ends, step) in loops.iter().rev() {
        body = vec![Stmt::count(*var, ends.clone(), step.clone(), body, span)];
    }
    body.pop().unwrap_or_else(|| Stmt::continues(span))
}

fn allocation(free: bool, object: Expr, control: Vec<Expr>) -> Stmt {
    let span = object.span;
    let allocation = Allocation {
        free,
        objects: vec![object],
        control,
    };
    Stmt::new(StmtKind::Allocation(Box::new(allocation)), span)
}

/// Whether an expression calls functions of the program or of Rust, or statement functions in which a call
/// may end.
fn calls_functions(unit: &Unit, e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        if let ExprKind::Call(f, _) = &e.kind {
            found |= match &unit.symbols[*f].class {
                Class::Intrinsic(_) => false,
                Class::StatementFunction(_, value) => may_end(unit, value),
                _ => !is_check(unit, *f),
            };
        }
    });
    found
}

fn is_check(unit: &Unit, function: SymId) -> bool {
    let symbol = &unit.symbols[function];
    symbol.storage_class == StorageClass::Global && Support::is_name(&symbol.name)
}

fn has(io: &Io, key: &str) -> bool {
    let is = |c: &Expr| matches!(&c.kind, ExprKind::Keyword(k, _) if k == key);
    io.control.iter().any(is)
}

/// A format whose text is known only at run time. Some texts are too much for gfortran's library: with so many
/// parentheses inside each other that its stack does not suffice, with a zero byte, behind which it reads on, or with
/// numbers for which there is no memory.
enum VariableFormat<'a> {
    Text(&'a Expr),
    /// A whole array, whose elements together are the format.
    Array(SymId),
    /// It cannot be checked before the statement.
    Unchecked,
}

/// Whether an expression is an INTEGER of four bytes that calls no functions.
pub(super) fn is_simple(unit: &Unit, e: &Expr) -> bool {
    type_of(unit, e) == Some(Type::INTEGER) && !calls_functions(unit, e)
}

/// Returns the position of a statement's unit in its control list, if there is one.
fn unit_of(io: &Io) -> Option<usize> {
    let named = |c: &Expr| matches!(&c.kind, ExprKind::Keyword(k, _) if k == "UNIT");
    let bare = matches!(io.kind, IoKind::Read | IoKind::Print) && !io.parens;
    let first = |c: &&Expr| !bare && !matches!(c.kind, ExprKind::Keyword(..));
    let found = io.control.iter().position(named);
    found.or_else(|| io.control.first().filter(first).map(|_| 0))
}

/// Returns the format of a statement, if its text is known only at run time.
fn variable_format<'a>(io: &'a Io, unit: &Unit) -> Option<VariableFormat<'a>> {
    let format = match &io.control[io.format()?].kind {
        ExprKind::Keyword(_, e) => e,
        _ => &io.control[io.format()?],
    };
    let mut variable = false;
    format.for_each_symbol(&mut |s| {
        let symbol = &unit.symbols[s];
        variable |= symbol.is_variable() || matches!(symbol.class, Class::Function);
    });
    if !variable {
        return None;
    }
    let text = type_of(unit, format) == Some(Type::Character);
    Some(match &format.kind {
        ExprKind::Var(s) if unit.symbols[*s].is_array() => VariableFormat::Array(*s),
        // A variable for ASSIGN has been replaced.
        ExprKind::Var(_) if !text => return None,
        _ if !text || rank(unit, format) > 0 || calls_functions(unit, format) => {
            VariableFormat::Unchecked
        }
        _ => VariableFormat::Text(format),
    })
}

/// Returns the reason why a statement cannot be checked, if there is one.
pub(super) fn obstacle(unit: &Unit, io: &Io) -> Option<String> {
    let format = &io.control[io.format()?];
    let mut called = false;
    format.walk(&mut |e| {
        if let ExprKind::Call(f, _) = &e.kind
            && unit.symbols[*f].class == Class::Function
        {
            let length = unit.symbols[*f].length.as_ref();
            called |= length.is_some_and(|e| constant::integer(unit, e).is_none());
        }
    });
    let array = |s: SymId| {
        let symbol = &unit.symbols[s];
        let open = symbol.dims.iter().any(|d| d.upper.is_none());
        open || ["LEN", "SIZE", "LOC"].iter().any(|f| has_another(unit, f))
    };
    let unchecked = match variable_format(io, unit)? {
        VariableFormat::Text(_) => false,
        VariableFormat::Array(s) => array(s),
        // Functions are called before the statement.
        VariableFormat::Unchecked => {
            called || rank(unit, format) > 0 || type_of(unit, format) != Some(Type::Character)
        }
    };
    unchecked.then(|| {
        format!(
            "the format {} cannot be checked before the statement",
            print_expr(unit, format)
        )
    })
}

/// Whether an error in the statement would end the process, because nothing checks its status.
fn ends_the_process(io: &Io) -> bool {
    ends_the_process_but(io, &[])
}

/// Like [`ends_the_process`], if the jumps to some labels have been replaced by other statements.
fn ends_the_process_but(io: &Io, jumps: &[(Name, Label)]) -> bool {
    let leads = |key: &str| has(io, key) || jumps.iter().any(|(k, _)| k == key);
    if has(io, "IOSTAT") {
        return false;
    }
    match io.kind {
        IoKind::Read => !leads("ERR") || !leads("END") || has(io, "ADVANCE"),
        IoKind::Inquire if has(io, "IOLENGTH") => false,
        _ => !leads("ERR"),
    }
}

/// Removes the labels to which a statement may jump, and returns them.
fn jumps(io: &mut Io) -> Vec<(Name, Label)> {
    let mut found = Vec::new();
    io.control.retain(|c| match &c.kind {
        ExprKind::Keyword(key, e) if matches!(key.as_str(), "END" | "ERR") => {
            let label = match e.kind {
                ExprKind::Int(n) => Label::try_from(n).ok(),
                _ => None,
            };
            found.extend(label.map(|l| (key.clone(), l)));
            label.is_none()
        }
        _ => true,
    });
    found
}

/// Returns the unit number of the file that a statement uses, if any.
fn file_of(io: &Io, unit: &Unit, span: Span) -> Option<Expr> {
    let standard = || match io.kind {
        IoKind::Read => Some(Expr::int(5, span)),
        IoKind::Write | IoKind::Print => Some(Expr::int(6, span)),
        _ => None,
    };
    if matches!(io.kind, IoKind::Read | IoKind::Print) && !io.parens {
        return standard();
    }
    let number = io.unit().filter(|e| !calls_functions(unit, e))?;
    match (&number.kind, type_of(unit, number)) {
        (ExprKind::Star, _) => standard(),
        (_, Some(Type::Integer(4 | 8))) => Some(number.clone()),
        (_, Some(Type::Integer(_))) => {
            let zero = Expr::int(0, span);
            Some(Expr::binary(BinOp::Add, zero, number.clone()))
        }
        _ => None,
    }
}

/// Whether an expression contains checks.
fn has_checks(unit: &Unit, e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.kind, ExprKind::Call(f, _) if is_check(unit, f)));
    found
}

/// Whether an expression is itself the call of a function, other than a check, that may end the current call.
fn is_outer_call(unit: &Unit, e: &Expr) -> bool {
    let ExprKind::Call(f, _) = &e.kind else {
        return false;
    };
    match &unit.symbols[*f].class {
        Class::Intrinsic(_) => false,
        Class::StatementFunction(_, value) => may_end(unit, value),
        _ => !is_check(unit, *f),
    }
}

/// Whether the current call may end while an expression is evaluated.
fn may_end(unit: &Unit, e: &Expr) -> bool {
    calls_functions(unit, e) || has_checks(unit, e)
}

/// Whether a statement is `PRINT *` or `WRITE (*, *)`.
fn is_print(io: &Io) -> bool {
    let star = |e: Option<&Expr>| match e.map(|e| &e.kind) {
        Some(ExprKind::Keyword(_, e)) => e.kind == ExprKind::Star,
        Some(kind) => *kind == ExprKind::Star,
        None => false,
    };
    match io.kind {
        IoKind::Print => star(io.control.first()),
        IoKind::Write => io.control.len() == 2 && io.control.iter().all(|e| star(Some(e))),
        _ => false,
    }
}

/// Rewrites `READ f, …` as `READ (*, f) …`, and so on.
fn in_parentheses(io: &mut Io) {
    if io.parens {
        return;
    }
    io.parens = true;
    if matches!(io.kind, IoKind::Read | IoKind::Print) {
        let span = io.control.first().map_or(Span::NONE, |e| e.span);
        io.control.insert(0, Expr::new(ExprKind::Star, span));
    }
    if io.kind == IoKind::Print {
        io.kind = IoKind::Write;
    }
}
