//! Executes statements.

use super::scope::{Frame, Shape, Variable};
use super::storage::{Area, StorageLocation, size};
use super::value::{Value, binary, compare_texts};
use super::{Flow, Halt, Machine, Printed, Run};
use farfel_lang::ir::{
    Allocation, Attribute, BinOp, Block, Do, DoControl, DoEnd, Expr, ExprKind, IfBlock, ImpliedDo,
    Io, IoKind, Label, Select, Stmt, StmtKind, SymId, Where,
};
use std::cmp::Ordering;
use std::rc::Rc;

impl<'p> Machine<'p> {
    /// Executes the statements of a subprogram, from its beginning or from an ENTRY.
    pub fn body(&self, f: &Rc<Frame<'p>>, body: &'p Block, entry: Option<&'p Stmt>) -> Run<Flow> {
        let begin = match entry {
            Some(e) => body.iter().position(|s| std::ptr::eq(s, e)).unwrap_or(0),
            None => 0,
        };
        match self.block(f, body, begin)? {
            Flow::Goto(l) => Err(Halt::not_interpreted(format!("GOTO {l} into a block"))),
            flow => Ok(flow),
        }
    }

    /// Executes a list of statements. A jump to one of them continues there; others leave the list.
    fn block(&self, f: &Rc<Frame<'p>>, block: &'p Block, begin: usize) -> Run<Flow> {
        let mut at = begin;
        while let Some(stmt) = block.get(at) {
            let flow = self.statement(f, stmt).map_err(|h| h.at(stmt.span))?;
            at = match flow {
                Flow::Next => at + 1,
                Flow::Goto(label) => match target(block, label) {
                    Some(at) => at,
                    None => return Ok(flow),
                },
                _ => return Ok(flow),
            };
        }
        Ok(Flow::Next)
    }

    fn statement(&self, f: &Rc<Frame<'p>>, stmt: &'p Stmt) -> Run<Flow> {
        match self.steps.get().checked_sub(1) {
            Some(left) => self.steps.set(left),
            None => return Err(Halt::invalid("the program runs too long")),
        }
        self.coverage.statement(stmt);
        match &stmt.kind {
            StmtKind::Comment(_)
            | StmtKind::Continue
            | StmtKind::Format(_)
            | StmtKind::Entry(_) => Ok(Flow::Next),
            StmtKind::Assign(target, value) => self.assign(f, target, value),
            StmtKind::If(b) => self.if_block(f, b),
            StmtKind::Select(s) => self.select(f, s),
            StmtKind::Where(w) => self.masked(f, w),
            StmtKind::LogicalIf(condition, s) => {
                match self.eval(f, condition, None)?.as_logical()? {
                    true => self.statement(f, s),
                    false => Ok(Flow::Next),
                }
            }
            StmtKind::ArithmeticIf(e, [negative, zero, positive]) => {
                let zero_value = Value::integer(0);
                let e = self.eval(f, e, None)?;
                let is = |op| binary(op, &e, &zero_value)?.as_logical();
                Ok(Flow::Goto(match (is(BinOp::Lt)?, is(BinOp::Eq)?) {
                    (true, _) => *negative,
                    (_, true) => *zero,
                    _ => *positive,
                }))
            }
            StmtKind::Do(d) => self.repeat(f, d),
            StmtKind::Goto(l) => Ok(Flow::Goto(*l)),
            StmtKind::ComputedGoto(labels, e) => {
                let i = self.eval(f, e, None)?.as_integer()?;
                let label = usize::try_from(i - 1).ok().and_then(|i| labels.get(i));
                Ok(label.map_or(Flow::Next, |l| Flow::Goto(*l)))
            }
            StmtKind::AssignedGoto(s, _) => match self.variable(f, *s)?.place.read()? {
                Value::Label(l) => Ok(Flow::Goto(l)),
                _ => Err(Halt::invalid("GOTO to what is no label")),
            },
            StmtKind::AssignLabel(l, s) => {
                self.variable(f, *s)?.place.write(Value::Label(*l))?;
                Ok(Flow::Next)
            }
            StmtKind::Call(s, args) => {
                let callee = self.callee(f, *s)?;
                let actuals = self.actuals(f, args)?;
                let (_, label) = self.call(&callee, &actuals)?;
                Ok(label.map_or(Flow::Next, Flow::Goto))
            }
            StmtKind::Return(None) => Ok(Flow::Return(None)),
            StmtKind::Return(Some(e)) => {
                Ok(Flow::Return(Some(self.eval(f, e, None)?.as_integer()?)))
            }
            StmtKind::Stop(None) => Err(Halt::Stop(String::new())),
            StmtKind::Stop(Some(e)) => {
                let code = self.eval(f, e, None)?;
                Err(Halt::Stop(text(&code)?))
            }
            StmtKind::Io(io) => self.io(f, io),
            StmtKind::Cycle(name) => Ok(Flow::Cycle(name.clone())),
            StmtKind::Exit(name) => Ok(Flow::Exit(name.clone())),
            StmtKind::Ad(b) => self.ad_block(f, b),
            StmtKind::Pause(_) => Err(Halt::not_interpreted("PAUSE")),
            StmtKind::Allocation(a) => self.allocation(f, a),
        }
    }

    /// Executes the statements inside a construct or AD block.
    pub fn inside(&self, f: &Rc<Frame<'p>>, block: &'p Block) -> Run<Flow> {
        self.block(f, block, 0)
    }

    fn assign(&self, f: &Rc<Frame<'p>>, target: &'p Expr, value: &'p Expr) -> Run<Flow> {
        if !self.is_array(f, target) {
            let value = self.eval(f, value, None)?;
            self.place(f, target)?.write(value)?;
            return Ok(Flow::Next);
        }
        let places = self.places(f, target)?;
        let values = self.values(f, value, places.len())?;
        for (place, value) in places.iter().zip(values) {
            place.write(value)?;
        }
        Ok(Flow::Next)
    }

    fn if_block(&self, f: &Rc<Frame<'p>>, b: &'p IfBlock) -> Run<Flow> {
        for (condition, arm) in &b.arms {
            if self.eval(f, condition, None)?.as_logical()? {
                let flow = self.inside(f, arm)?;
                return Ok(leave(flow, b.end_label, b.name.as_ref()));
            }
        }
        match &b.otherwise {
            Some(arm) => {
                let flow = self.inside(f, arm)?;
                Ok(leave(flow, b.end_label, b.name.as_ref()))
            }
            None => Ok(Flow::Next),
        }
    }

    fn select(&self, f: &Rc<Frame<'p>>, s: &'p Select) -> Run<Flow> {
        let selector = self.eval(f, &s.selector, None)?;
        let mut chosen = None;
        for case in &s.cases {
            let Some(values) = &case.values else { continue };
            for v in values {
                if self.is_case(f, &selector, v)? {
                    chosen = Some(case);
                }
            }
        }
        let default = || s.cases.iter().find(|c| c.values.is_none());
        match chosen.or_else(default) {
            Some(case) => {
                let flow = self.inside(f, &case.body)?;
                Ok(leave(flow, s.end.label, s.name.as_ref()))
            }
            None => Ok(Flow::Next),
        }
    }

    /// Executes ALLOCATE and DEALLOCATE.
    fn allocation(&self, f: &Rc<Frame<'p>>, a: &'p Allocation) -> Run<Flow> {
        for c in &a.control {
            match &c.kind {
                ExprKind::Keyword(name, status) if name == "STAT" => {
                    let status = self.place(f, status)?;
                    status.write(Value::Integer(4, 0))?;
                }
                _ => return Err(Halt::not_interpreted("ERRMSG")),
            }
        }
        for e in &a.objects {
            let Some(s) = e.base() else {
                return Err(Halt::not_interpreted("ALLOCATE of this"));
            };
            let old = self.variable(f, s)?;
            if f.unit.symbols[s].has(Attribute::Growing) {
                // The caller that passes it has the same area, whose contents are kept.
                if let ExprKind::Element(_, subscripts) = &e.kind {
                    let count = self.eval(f, &subscripts[0], None)?.as_integer()?;
                    let count = usize::try_from(count).unwrap_or(0);
                    let step = size(old.place.ty, old.place.length);
                    old.place.area.reserve(count * step);
                }
                continue;
            }
            let subscripts: &[Expr] = match &e.kind {
                ExprKind::Element(_, subscripts) => subscripts,
                _ => &[],
            };
            let mut bounds = Vec::new();
            for b in subscripts {
                let integer = |e: &'p Expr| self.eval(f, e, None)?.as_integer();
                let (lower, upper) = match &b.kind {
                    ExprKind::Range(Some(from), Some(to), None) => (integer(from)?, integer(to)?),
                    _ => (1, integer(b)?),
                };
                bounds.push((lower, Some((upper - lower + 1).max(0))));
            }
            if a.free {
                let dimensions = old.shape.map_or(0, |s| s.0.len());
                bounds = vec![(1, Some(0)); dimensions];
            }
            let shape = Shape(bounds);
            let area = Area::of_elements(old.place.ty, old.place.length, shape.count()?);
            let place = StorageLocation {
                area,
                byte: 0,
                ..old.place
            };
            let shape = Some(Rc::new(shape));
            let (owner, s) = f.owner(s)?;
            owner.bind(s, Variable { place, shape });
        }
        Ok(Flow::Next)
    }

    fn is_case(&self, f: &Rc<Frame<'p>>, selector: &Value, case: &'p Expr) -> Run<bool> {
        let order = |e: &'p Expr| -> Run<Ordering> {
            let value = self.eval(f, e, None)?;
            Ok(match (selector, &value) {
                (Value::Text(a), Value::Text(b)) => compare_texts(a, b),
                (Value::Logical(_, a), Value::Logical(_, b)) => a.cmp(b),
                _ => selector.as_integer()?.cmp(&value.as_integer()?),
            })
        };
        match &case.kind {
            ExprKind::Range(from, to, _) => {
                let above = from.as_ref().map_or(Ok(true), |e| Ok(order(e)?.is_ge()));
                let below = to.as_ref().map_or(Ok(true), |e| Ok(order(e)?.is_le()));
                Ok(above? && below?)
            }
            _ => Ok(order(case)?.is_eq()),
        }
    }

    fn masked(&self, f: &Rc<Frame<'p>>, w: &'p Where) -> Run<Flow> {
        let assignments = |block: &'p Block| {
            block.iter().filter_map(|s| match &s.kind {
                StmtKind::Assign(target, value) => Some((target, value)),
                _ => None,
            })
        };
        let mut done: Vec<bool> = Vec::new();
        let arms = w.block.arms.iter().map(|(mask, arm)| (Some(mask), arm));
        let last = w.block.otherwise.iter().map(|arm| (None, arm));
        for (mask, arm) in arms.chain(last) {
            let Some((first, _)) = assignments(arm).next() else {
                return Err(Halt::not_interpreted("WHERE without an assignment"));
            };
            let count = self.places(f, first)?.len();
            done.resize(count, false);
            let mut chosen = Vec::new();
            let masks = match mask {
                Some(m) => self.each(f, m, 0..count)?,
                None => vec![Value::logical(true); count],
            };
            for (i, (done, wanted)) in done.iter_mut().zip(masks).enumerate() {
                if wanted.as_logical()? && !*done {
                    *done = true;
                    chosen.push(i);
                }
            }
            for (target, value) in assignments(arm) {
                let places = self.places(f, target)?;
                let values = self.each(f, value, chosen.iter().copied())?;
                for (i, value) in chosen.iter().zip(values) {
                    let none = || Halt::invalid("arrays of different sizes");
                    places.get(*i).ok_or_else(none)?.write(value)?;
                }
            }
        }
        Ok(Flow::Next)
    }

    fn repeat(&self, f: &Rc<Frame<'p>>, d: &'p Do) -> Run<Flow> {
        match &d.control {
            DoControl::Count {
                var,
                from,
                to,
                step,
            } => self.count(f, *var, from, to, step.as_ref(), &mut || self.round(f, d)),
            DoControl::While(condition) => {
                while self.eval(f, condition, None)?.as_logical()? {
                    if let Some(flow) = self.round(f, d)? {
                        return Ok(flow);
                    }
                }
                Ok(Flow::Next)
            }
            DoControl::Forever => loop {
                if let Some(flow) = self.round(f, d)? {
                    return Ok(flow);
                }
            },
        }
    }

    /// Executes the body of a loop once. Returns `None` if the loop continues.
    fn round(&self, f: &Rc<Frame<'p>>, d: &'p Do) -> Run<Option<Flow>> {
        let own = |name: &Option<_>| name.is_none() || *name == d.name;
        Ok(match self.inside(f, &d.body)? {
            Flow::Next => None,
            Flow::Cycle(name) if own(&name) => None,
            Flow::Exit(name) if own(&name) => Some(Flow::Next),
            Flow::Goto(l) if d.end == DoEnd::EndDo(Some(l)) => None,
            flow => Some(flow),
        })
    }

    /// Executes a counted loop (ANSI X3.9-1978, 11.10.3). The number of iterations is determined
    /// before the first one.
    fn count(
        &self,
        f: &Rc<Frame<'p>>,
        var: SymId,
        from: &'p Expr,
        to: &'p Expr,
        step: Option<&'p Expr>,
        body: &mut dyn FnMut() -> Run<Option<Flow>>,
    ) -> Run<Flow> {
        let var = self.variable(f, var)?.place;
        let value = |e: &'p Expr| self.eval(f, e, None)?.convert(var.ty);
        let (from, to) = (value(from)?, value(to)?);
        let step = match step {
            Some(e) => value(e)?,
            None => Value::integer(1).convert(var.ty)?,
        };
        let span = binary(BinOp::Add, &binary(BinOp::Sub, &to, &from)?, &step)?;
        if step.as_real()?.plain() == 0.0 {
            return Err(Halt::invalid("a step of zero"));
        }
        let rounds = binary(BinOp::Div, &span, &step)?.as_real()?.plain().trunc();
        var.write(from)?;
        for _ in 0..rounds.max(0.0) as u64 {
            if let Some(flow) = body()? {
                return Ok(flow);
            }
            var.write(binary(BinOp::Add, &var.read()?, &step)?)?;
        }
        Ok(Flow::Next)
    }

    /// Executes an implied DO. Its variable is one of the program, like that of a loop.
    pub fn implied_do<T>(
        &self,
        f: &Rc<Frame<'p>>,
        d: &'p ImpliedDo<T>,
        item: &mut dyn FnMut(&'p T) -> Run<()>,
    ) -> Run<()> {
        let body = &mut || d.items.iter().try_for_each(&mut *item).map(|()| None);
        self.count(f, d.var, &d.from, &d.to, d.step.as_ref(), body)?;
        Ok(())
    }

    fn io(&self, f: &Rc<Frame<'p>>, io: &'p Io) -> Run<Flow> {
        // List-directed output to standard output, and input from standard input.
        let simple = match (io.kind, &io.control[..]) {
            (IoKind::Print, [format]) => format.kind == ExprKind::Star,
            (IoKind::Read, [format]) if !io.parens => format.kind == ExprKind::Star,
            (IoKind::Write | IoKind::Read, [unit, format]) => {
                let standard = match unit.kind {
                    ExprKind::Int(n) => n == if io.kind == IoKind::Read { 5 } else { 6 },
                    _ => unit.kind == ExprKind::Star,
                };
                standard && format.kind == ExprKind::Star
            }
            _ => false,
        };
        if !simple {
            return Err(Halt::not_interpreted(
                "input or output but by READ *, PRINT *",
            ));
        }
        if io.kind == IoKind::Read {
            for item in &io.items {
                self.read(f, item)?;
            }
            return Ok(Flow::Next);
        }
        let mut record = Vec::new();
        for item in &io.items {
            self.print(f, item, &mut record)?;
        }
        self.output.borrow_mut().push(record);
        Ok(Flow::Next)
    }

    fn print(&self, f: &Rc<Frame<'p>>, item: &'p Expr, out: &mut Vec<Printed>) -> Run<()> {
        if let ExprKind::ImpliedDo(d) = &item.kind {
            return self.implied_do(f, d, &mut |item| self.print(f, item, out));
        }
        let values = match self.is_array(f, item) {
            true => self
                .places(f, item)?
                .iter()
                .map(|p| p.read())
                .collect::<Run<_>>()?,
            false => vec![self.eval(f, item, None)?],
        };
        for value in values {
            let single = |p| p == super::Precision::Single;
            match &value {
                Value::Real(p, x) => out.push(Printed::Real(x.plain(), single(*p))),
                Value::Complex(p, re, im) => {
                    out.push(Printed::Real(re.plain(), single(*p)));
                    out.push(Printed::Real(im.plain(), single(*p)));
                }
                other => out.push(Printed::Text(text(other)?)),
            }
        }
        Ok(())
    }

    fn read(&self, f: &Rc<Frame<'p>>, item: &'p Expr) -> Run<()> {
        if let ExprKind::ImpliedDo(d) = &item.kind {
            return self.implied_do(f, d, &mut |item| self.read(f, item));
        }
        for place in self.places(f, item)? {
            let end = || Halt::invalid("the input ends");
            let word = self.input.borrow_mut().pop_front().ok_or_else(end)?;
            let number: Option<f64> = word.replace(['D', 'd'], "E").parse().ok();
            let value = match number {
                Some(x) => Value::Real(super::Precision::Double, super::Number::Plain(x)),
                None => return Err(Halt::not_interpreted("input that is no number")),
            };
            place.write(value)?;
        }
        Ok(())
    }
}

/// Returns the index in a list of statements at which a jump to a label continues.
fn target(block: &Block, label: Label) -> Option<usize> {
    block.iter().position(|s| s.label == Some(label))
}

/// Handles a jump from within a construct to its end, and EXIT by its name: both continue after it.
fn leave(flow: Flow, end: Option<Label>, name: Option<&farfel_lang::ir::Name>) -> Flow {
    match flow {
        Flow::Goto(l) if end == Some(l) => Flow::Next,
        Flow::Exit(Some(n)) if name == Some(&n) => Flow::Next,
        flow => flow,
    }
}

/// Returns a value as printed, without surrounding blanks.
fn text(value: &Value) -> Run<String> {
    Ok(match value {
        Value::Integer(_, i) => i.to_string(),
        Value::Logical(_, true) => "T".into(),
        Value::Logical(_, false) => "F".into(),
        Value::Text(t) => String::from_utf8_lossy(t).trim().to_owned(),
        Value::Real(_, x) => x.plain().to_string(),
        Value::Complex(..) | Value::Label(_) => {
            return Err(Halt::not_interpreted("this in output"));
        }
    })
}
