//! Room for temporary values: compilers take it from `malloc`, use it without asking whether it is there, or end the
//! process if it is not. So what a statement needs at most is asked for before it is executed, if it is
//! [not little](crate::support::SMALL_TEMPORARY).
//!
//! | construct | needs |
//! |---|---|
//! | MATMUL, TRANSPOSE, RESHAPE, PACK, UNPACK, CSHIFT, EOSHIFT, SUM and others with DIM | the result |
//! | SPREAD, REPEAT, TRANSFER with SIZE | the result; if the number of copies is not known before the statement, it is checked where it is used |
//! | array constructors | the elements |
//! | `X = …X…`, where X is not used element by element | another X |
//! | `W = …` for an array that ALLOCATE creates | the value |
//! | WHERE | its masks |
//! | arrays of subscripts | their values, twice |
//! | expressions and sections with gaps that are passed to subprograms, expressions that are passed to functions like MATMUL | the elements |
//! | `//`, TRIM, ADJUSTL, functions whose values are texts, arrays of texts | the characters |
//!
//! Sums of arrays and other functions that a compiler computes in a loop need nothing. What is left to the process is
//! little, as for a `String` in Rust: such allocations fail only if there is no memory for anything.

use super::arrays::{Length, long};
use super::intrinsics::{MOST, copies_of};
use super::rewrite::CheckInserter;
use super::shapes::argument;
use crate::support::{PLENTY, SMALL_TEMPORARY, Support, intrinsic};
use farfel_lang::Span;
use farfel_lang::intrinsics::{Intrinsic, Shape};
use farfel_lang::ir::{
    BinOp, Class, DoControl, Expr, ExprKind, Origin, Stmt, StmtKind, SymId, Type,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::Constants;
use farfel_lang::types::{rank, type_of};

/// What a statement needs.
#[derive(Default)]
struct Needs {
    /// The bytes that do not depend on the call.
    fixed: i64,
    /// The other ones.
    open: Vec<Expr>,
    /// Whether some are for an array.
    arrays: bool,
    /// The first expression that needs memory, for messages.
    shown: Option<String>,
}

impl CheckInserter<'_> {
    /// Asks for the memory that a statement needs for temporary values, without the statements in it.
    pub(super) fn make_room(&mut self, s: &Stmt) {
        let mut needs = Needs::default();
        match &s.kind {
            // Each condition has its own checks.
            StmtKind::If(_) => return,
            StmtKind::Do(d) => {
                let DoControl::Count { from, to, step, .. } = &d.control else {
                    return;
                };
                for e in [Some(from), Some(to), step.as_ref()].into_iter().flatten() {
                    self.inside_value(e, &mut needs);
                }
            }
            StmtKind::Assign(target, value) => {
                self.inside_value(target, &mut needs);
                self.inside_value(value, &mut needs);
                if matches!(target.kind, ExprKind::Var(array) if self.is_reallocated(array, value))
                {
                    self.needs(value, 1, &mut needs);
                }
                if self.overlaps(target, value) {
                    self.needs(target, 1, &mut needs);
                }
            }
            StmtKind::Where(w) => {
                for (mask, _) in &w.block.arms {
                    self.inside_value(mask, &mut needs);
                    self.needs(mask, 2, &mut needs);
                }
            }
            StmtKind::Call(_, args) => {
                for a in args {
                    self.inside_value(a, &mut needs);
                    self.argument_needs(a, &mut needs);
                }
            }
            StmtKind::Io(io) => {
                for e in &io.control {
                    self.inside_value(e, &mut needs);
                }
                for e in &io.items {
                    self.inside_value(e, &mut needs);
                    self.argument_needs(e, &mut needs);
                }
            }
            _ => {
                let mut own = Vec::new();
                s.for_each_own_expr(&mut |e| own.push(e.clone()));
                for e in &own {
                    self.inside_value(e, &mut needs);
                }
            }
        }
        self.ask_for(needs, s.span);
    }

    /// Asks for the memory that an expression needs.
    pub(super) fn make_room_for_value(&mut self, e: &Expr) {
        let mut needs = Needs::default();
        self.inside_value(e, &mut needs);
        self.ask_for(needs, e.span);
    }

    fn ask_for(&mut self, needs: Needs, span: Span) {
        if !self.checks || (needs.open.is_empty() && needs.fixed < SMALL_TEMPORARY) {
            return;
        }
        let mut bytes = needs.open;
        if needs.fixed > 0 {
            bytes.push(Expr::long(needs.fixed, span));
        }
        let sum = bytes
            .into_iter()
            .reduce(|a, b| Expr::binary(BinOp::Add, a, b));
        let shown = format!(
            "temporary values, such as {}",
            needs.shown.unwrap_or_default()
        );
        // For a text it is a panic, as for a `String` in Rust; arrays are large.
        match needs.arrays {
            true => self.fails = true,
            false => self.surprises = true,
        }
        if let Some(sum) = sum {
            let check = self.room_check(sum, &shown, span);
            self.before.push(check);
        }
    }

    /// Adds what an expression and those inside it need.
    fn inside_value(&mut self, e: &Expr, needs: &mut Needs) {
        self.node_needs(e, needs);
        if let ExprKind::Call(f, _) = &e.kind
            && let Class::StatementFunction(_, value) = self.unit.symbols[*f].class.clone()
        {
            // Its arguments have no values here.
            let held = std::mem::replace(&mut self.undisturbed, false);
            self.inside_value(&value, needs);
            self.undisturbed = held;
        }
        for child in e.children() {
            self.inside_value(child, needs);
        }
    }

    /// Adds what an expression needs, without the expressions inside it.
    fn node_needs(&mut self, e: &Expr, needs: &mut Needs) {
        match &e.kind {
            ExprKind::Call(f, args) => match self.unit.symbols[*f].class {
                Class::Intrinsic(i) => {
                    let elemental = i.shape == Shape::Elemental;
                    if elemental && type_of(&self.unit, e) != Some(Type::Character) {
                        return;
                    }
                    if !elemental && !self.is_loop(i, args) {
                        for a in args {
                            self.operand_needs(a, needs);
                        }
                    }
                    if i.name == "REPEAT" {
                        if let Some(bytes) = self.bytes_of_copies(i, args) {
                            self.add(bytes, 1, e, needs);
                        }
                    } else if rank(&self.unit, e) > 0
                        || type_of(&self.unit, e) == Some(Type::Character)
                    {
                        self.needs(e, 1, needs);
                    }
                }
                Class::StatementFunction(..) => {}
                _ => {
                    for a in args {
                        self.argument_needs(a, needs);
                    }
                    if type_of(&self.unit, e) == Some(Type::Character) {
                        self.needs(e, 1, needs);
                    }
                }
            },
            ExprKind::Array(_) | ExprKind::Binary(BinOp::Concat, ..) => self.needs(e, 1, needs),
            ExprKind::Element(_, subscripts) => {
                for x in subscripts {
                    if !matches!(x.kind, ExprKind::Range(..)) && rank(&self.unit, x) > 0 {
                        self.needs(x, 4, needs);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether compilers compute a function in a loop over its arguments.
    fn is_loop(&self, function: &Intrinsic, args: &[Expr]) -> bool {
        const LOOPS: [&str; 8] = [
            "SUM",
            "PRODUCT",
            "MAXVAL",
            "MINVAL",
            "ANY",
            "ALL",
            "COUNT",
            "DOT_PRODUCT",
        ];
        let dimension = argument(args, 1, "DIM").is_some_and(|e| {
            rank(&self.unit, e) == 0 && matches!(type_of(&self.unit, e), Some(Type::Integer(_)))
        });
        let asks = matches!(function.name, "SIZE" | "LBOUND" | "UBOUND" | "SHAPE");
        asks || (LOOPS.contains(&function.name) && !dimension)
    }

    /// Adds what is made for an argument of a function like MATMUL.
    fn operand_needs(&mut self, a: &Expr, needs: &mut Needs) {
        let there = matches!(
            a.kind,
            ExprKind::Var(_) | ExprKind::Element(..) | ExprKind::Call(..) | ExprKind::Array(_)
        );
        if !there && rank(&self.unit, a) > 0 {
            self.needs(a, 1, needs);
        }
    }

    /// Adds what is made for an argument of a subprogram, which must lie in memory without gaps.
    fn argument_needs(&mut self, a: &Expr, needs: &mut Needs) {
        let there = match &a.kind {
            ExprKind::Var(_) | ExprKind::Call(..) | ExprKind::Array(_) => true,
            ExprKind::Element(_, subscripts) => {
                // Complete columns, or a part of one.
                let mut rest = subscripts.iter();
                for s in rest.by_ref() {
                    match &s.kind {
                        ExprKind::Range(None, None, None) => {}
                        ExprKind::Range(_, _, None) => break,
                        _ if self.selects_several(s) => return self.needs(a, 1, needs),
                        _ => break,
                    }
                }
                !rest.any(|s| self.selects_several(s))
            }
            _ => false,
        };
        if !there && rank(&self.unit, a) > 0 {
            self.needs(a, 1, needs);
        }
    }

    /// Whether the value of an assignment may depend on elements of the target that are assigned before they are used.
    fn overlaps(&self, target: &Expr, value: &Expr) -> bool {
        let Some(base) = target.base().filter(|_| rank(&self.unit, target) > 0) else {
            return false;
        };
        let mut others: Vec<SymId> = self.storage.overlapping(base).collect();
        others.push(base);
        self.mixes(target, value, &others)
    }

    fn mixes(&self, target: &Expr, e: &Expr, names: &[SymId]) -> bool {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= names.contains(&s));
        if !found {
            return false;
        }
        match &e.kind {
            // The same elements, one after the other.
            ExprKind::Var(_) => !e.equals_ignoring_spans(target),
            ExprKind::Element(..) if rank(&self.unit, e) == 0 => true,
            // Checks in a section would make it another one for compilers.
            ExprKind::Element(_, subscripts) => {
                !e.equals_ignoring_spans(target) || !self.holds_before(subscripts)
            }
            ExprKind::Call(f, args) => match self.unit.symbols[*f].class {
                Class::Intrinsic(i) if i.shape == Shape::Elemental => {
                    args.iter().any(|a| self.mixes(target, a, names))
                }
                _ => true,
            },
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Paren(_) => e
                .children()
                .into_iter()
                .any(|c| self.mixes(target, c, names)),
            _ => true,
        }
    }

    /// Adds a value, `times` times.
    fn needs(&mut self, e: &Expr, times: i64, needs: &mut Needs) {
        match self.bytes_of(e) {
            Some(bytes) => self.add(bytes, times, e, needs),
            None => {
                // Arrays that differentiation creates are as large as those of the program.
                let mut generated = false;
                e.for_each_symbol(&mut |s| {
                    let symbol = &self.unit.symbols[s];
                    generated |= symbol.is_variable() && symbol.origin != Origin::Written;
                });
                if !generated {
                    let shown = print_expr(&self.unit, e);
                    self.reason(format!("it is not known how much memory {shown} takes"));
                }
            }
        }
    }

    fn add(&mut self, bytes: Expr, times: i64, e: &Expr, needs: &mut Needs) {
        needs.arrays |= rank(&self.unit, e) > 0;
        if needs.shown.is_none() {
            needs.shown = Some(print_expr(&self.unit, e));
        }
        match Constants::of(&self.unit).integer(&bytes) {
            Some(n) => {
                let more = n.saturating_mul(times).clamp(0, PLENTY);
                needs.fixed = needs.fixed.saturating_add(more).min(PLENTY);
            }
            None if times == 1 => needs.open.push(bytes),
            None => {
                let factor = Expr::long(times, e.span);
                needs.open.push(Expr::binary(
                    BinOp::Mul,
                    factor,
                    Expr::parens(bytes, e.span),
                ));
            }
        }
    }

    /// Returns the number of bytes of a value, at most, as an expression that holds before the statement.
    fn bytes_of(&mut self, e: &Expr) -> Option<Expr> {
        let elements = self.elements(e)?;
        let each = self.bytes_of_element(e)?;
        Some(self.product_of(elements, each))
    }

    /// Returns the product of two numbers, [`PLENTY`] at most.
    fn product_of(&mut self, a: Expr, b: Expr) -> Expr {
        let span = a.span;
        let constants = Constants::of(&self.unit);
        match (constants.integer(&a), constants.integer(&b)) {
            (Some(a), Some(b)) => Expr::long(a.max(0).saturating_mul(b.max(0)).min(PLENTY), span),
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => self.call_support(Support::Times, vec![a, b], span),
        }
    }

    pub(super) fn bytes_of_element(&mut self, e: &Expr) -> Option<Expr> {
        let bytes = match type_of(&self.unit, e) {
            Some(Type::Character) => return self.bytes_of_text(e),
            Some(ty) => super::bytes(ty, self.pass.real).unwrap_or(16),
            None => 16,
        };
        Some(Expr::long(bytes, e.span))
    }

    /// Returns the number of elements of an array, at most.
    pub(super) fn elements(&mut self, e: &Expr) -> Option<Expr> {
        let span = e.span;
        if rank(&self.unit, e) == 0 {
            return Some(Expr::long(1, span));
        }
        if let Some(extents) = self.extents(e) {
            let count = self.saturated(extents, span);
            return Some(match &e.kind {
                // Wrong bounds are an error where the section is used.
                ExprKind::Element(s, subscripts) if !self.has_vector(subscripts) => {
                    match self.array(*s).length {
                        Length::Known(length) => self.least(count, length.expr(span)),
                        _ => count,
                    }
                }
                _ => count,
            });
        }
        match &e.kind {
            ExprKind::Var(s) => match self.array(*s).length {
                Length::Known(length) => Some(length.expr(span)),
                _ => None,
            },
            ExprKind::Element(s, subscripts) => {
                if !self.has_vector(subscripts) {
                    return match self.array(*s).length {
                        Length::Known(length) => Some(length.expr(span)),
                        _ => None,
                    };
                }
                let mut counts = Vec::new();
                for (k, x) in subscripts.iter().enumerate() {
                    if let ExprKind::Range(..) = x.kind {
                        counts.push(self.size_of_dimension(*s, k)?);
                    } else if rank(&self.unit, x) > 0 {
                        counts.push(self.elements(x)?);
                    }
                }
                Some(self.saturated(counts, span))
            }
            ExprKind::Array(c) => self.most_items(&c.items),
            ExprKind::Call(f, args) => {
                let Class::Intrinsic(i) = self.unit.symbols[*f].class else {
                    return None;
                };
                match i.shape {
                    Shape::Elemental => self.elements_of_any(&args.iter().collect::<Vec<_>>()),
                    Shape::Vector if i.name == "SHAPE" => Some(Expr::long(7, span)),
                    Shape::Bounds => Some(Expr::long(7, span)),
                    Shape::Location if args.len() == 1 => Some(Expr::long(7, span)),
                    Shape::Vector if args.len() == 3 => self.elements(&args[2]),
                    Shape::First | Shape::Reduced | Shape::Location | Shape::Vector => {
                        self.elements(args.first()?)
                    }
                    Shape::More if i.name == "UNPACK" => self.elements(args.get(1)?),
                    Shape::More => {
                        let copies = argument(args, 2, "NCOPIES")?;
                        let one = self.elements(args.first()?)?;
                        // Otherwise the number is checked where it is used.
                        match self.is_known_before(copies) {
                            true => {
                                let copies = long(copies.clone());
                                Some(self.product_of(copies, one))
                            }
                            false => Some(one),
                        }
                    }
                    // Its shape is checked where it is used.
                    Shape::Reshaped => self.elements(args.first()?),
                    Shape::Scalar if i.name == "TRANSFER" && args.len() == 3 => {
                        // The number is checked where it is used.
                        Some(Expr::long(0, span))
                    }
                    // At least a byte each.
                    Shape::Scalar if i.name == "TRANSFER" => self.bytes_of(args.first()?),
                    Shape::Product | Shape::Scalar => None,
                }
            }
            _ => self.elements_of_any(&e.children()),
        }
    }

    fn has_vector(&self, subscripts: &[Expr]) -> bool {
        let mut all = subscripts.iter();
        all.any(|s| !matches!(s.kind, ExprKind::Range(..)) && rank(&self.unit, s) > 0)
    }

    fn least(&mut self, a: Expr, b: Expr) -> Expr {
        let span = a.span;
        match intrinsic(&mut self.unit, "MIN") {
            Some(min) => Expr::call(min, vec![a, b], span),
            None => a,
        }
    }

    /// Returns the number of elements of the first array among operands that have the same shape.
    fn elements_of_any(&mut self, operands: &[&Expr]) -> Option<Expr> {
        let arrays = operands.iter().filter(|e| rank(&self.unit, e) > 0);
        let arrays: Vec<&Expr> = arrays.copied().collect();
        arrays.into_iter().find_map(|e| self.elements(e))
    }

    /// Returns the number of elements in an array constructor whose loops depend on more than is known before it.
    fn most_items(&mut self, items: &[Expr]) -> Option<Expr> {
        let mut sum = Expr::long(0, Span::NONE);
        for item in items {
            let more = match &item.kind {
                // Such a loop is checked where it is used.
                ExprKind::ImpliedDo(d) if d.items.iter().all(|e| rank(&self.unit, e) == 0) => {
                    let nested = |e: &Expr| matches!(e.kind, ExprKind::ImpliedDo(_));
                    if d.items.iter().any(nested) {
                        return None;
                    }
                    let each = i64::try_from(d.items.len()).ok()?;
                    Expr::long(MOST.saturating_mul(each), item.span)
                }
                ExprKind::ImpliedDo(_) => return None,
                _ => self.elements(item)?,
            };
            sum = Expr::binary(BinOp::Add, sum, more);
        }
        Some(sum)
    }

    /// Returns the number of characters of a text, at most.
    fn bytes_of_text(&mut self, e: &Expr) -> Option<Expr> {
        let span = e.span;
        match &e.kind {
            ExprKind::Char(text) | ExprKind::Hollerith(text) => {
                Some(Expr::long(i64::try_from(text.len()).ok()?, span))
            }
            ExprKind::Var(s) | ExprKind::Element(s, _) => self.declared_length(*s, span),
            ExprKind::Substring(base, from, to) => {
                let whole = self.bytes_of_text(base)?;
                let given = [from, to].into_iter().flatten();
                if !given.into_iter().all(|e| self.is_known_before(e)) {
                    return Some(whole);
                }
                let first = match from {
                    Some(e) => long((**e).clone()),
                    None => Expr::long(1, span),
                };
                let last = match to {
                    Some(e) => long((**e).clone()),
                    None => whole.clone(),
                };
                let constants = Constants::of(&self.unit);
                if let (Some(first), Some(last)) =
                    (constants.integer(&first), constants.integer(&last))
                {
                    let length = last.saturating_sub(first).saturating_add(1).max(0);
                    return Some(Expr::long(length, span));
                }
                let count = self.call_support(Support::Count, vec![first, last], span);
                Some(self.least(count, whole))
            }
            ExprKind::Binary(BinOp::Concat, a, b) => {
                let (a, b) = (self.bytes_of_text(a)?, self.bytes_of_text(b)?);
                let constants = Constants::of(&self.unit);
                Some(match (constants.integer(&a), constants.integer(&b)) {
                    (Some(a), Some(b)) => Expr::long(a.saturating_add(b).min(PLENTY), span),
                    _ => Expr::binary(BinOp::Add, a, b),
                })
            }
            ExprKind::Paren(e) | ExprKind::Keyword(_, e) => self.bytes_of_text(e),
            ExprKind::Array(c) => {
                let mut lengths = Vec::new();
                for item in &c.items {
                    let mut item = item;
                    while let ExprKind::ImpliedDo(d) = &item.kind {
                        item = d.items.first()?;
                    }
                    lengths.push(self.bytes_of_text(item)?);
                }
                lengths
                    .into_iter()
                    .reduce(|a, b| Expr::binary(BinOp::Add, a, b))
            }
            ExprKind::Call(f, args) => match self.unit.symbols[*f].class.clone() {
                Class::Intrinsic(i) => match i.name {
                    "CHAR" | "ACHAR" => Some(Expr::long(1, span)),
                    "REPEAT" => Some(
                        self.bytes_of_copies(i, args)
                            .unwrap_or_else(|| Expr::long(1, span)),
                    ),
                    "TRANSFER" => self.bytes_of_text(args.get(1)?),
                    "MERGE" | "MAX" | "MIN" => {
                        let texts = args
                            .iter()
                            .filter(|a| type_of(&self.unit, a) == Some(Type::Character));
                        let texts: Vec<&Expr> = texts.collect();
                        let mut sum: Option<Expr> = None;
                        for text in texts {
                            let more = self.bytes_of_text(text)?;
                            sum = Some(match sum {
                                Some(sum) => Expr::binary(BinOp::Add, sum, more),
                                None => more,
                            });
                        }
                        sum
                    }
                    _ => match args.first() {
                        Some(a) if type_of(&self.unit, a) == Some(Type::Character) => {
                            self.bytes_of_text(a)
                        }
                        // What the compiler or the date is called.
                        _ => Some(Expr::long(4096, span)),
                    },
                },
                _ => self.declared_length(*f, span),
            },
            _ => None,
        }
    }

    /// Returns the length with which a text is declared.
    fn declared_length(&mut self, s: SymId, span: Span) -> Option<Expr> {
        let symbol = &self.unit.symbols[s];
        let length = match &symbol.length {
            None => Some(1),
            Some(e) => Constants::of(&self.unit).integer(e),
        };
        match (length, &symbol.class) {
            (Some(n), _) => Some(Expr::long(n.max(0), span)),
            (None, Class::Variable | Class::Parameter(_)) => {
                let len = intrinsic(&mut self.unit, "LEN")?;
                Some(long(Expr::call(len, vec![Expr::var(s, span)], span)))
            }
            // Another rule demands that the caller and the function agree.
            (None, Class::StatementFunction(..)) => None,
            (None, _) => Some(Expr::long(0, span)),
        }
    }

    /// Returns the number of bytes of the result of REPEAT or TRANSFER, if the number of copies is known before the
    /// statement.
    fn bytes_of_copies(&mut self, function: &Intrinsic, args: &[Expr]) -> Option<Expr> {
        let (at, keyword) = copies_of(function.name)?;
        let copies = argument(args, at, keyword)?;
        if !self.is_known_before(copies) {
            return None;
        }
        let copies = long(copies.clone());
        let each = self.bytes_of_copy(function.name, args)?;
        Some(self.product_of(copies, each))
    }

    /// Returns the number of bytes of one copy.
    pub(super) fn bytes_of_copy(&mut self, function: &str, args: &[Expr]) -> Option<Expr> {
        let one = match function {
            "TRANSFER" => args.get(1)?,
            _ => args.first()?,
        };
        let each = self.bytes_of_element(one)?;
        if function == "SPREAD" {
            let elements = self.elements(one)?;
            return Some(self.product_of(elements, each));
        }
        Some(each)
    }
}
