//! Generated statements, written as Fortran text.
//!
//! Turns a fragment of Fortran text with *holes* into statements of a unit.
//! [`quote!`](crate::quote!) defines a type for the fragment, with a field for each hole, so that
//! none can be forgotten. The text is parsed only once:
//!
//! ```
//! use farfel_lang::Span;
//! use farfel_lang::ir::{Block, Expr, SymId, Symbol, Symbols, Type};
//!
//! farfel_lang::quote! {
//!     /// Takes the last value back.
//!     struct Pop { values: SymId, top: SymId, to: Expr, after: Block }
//!     "
//!     to = values(top)
//!     top = top - 1
//!     call after
//!     "
//! }
//!
//! let mut symbols = Symbols::default();
//! let mut add = |name: &str| symbols.add(Symbol::variable(name.into(), Type::INTEGER, Span::NONE));
//! let (values, top, x) = (add("TAPE"), add("TOP"), add("X"));
//! let to = Expr::var(x, Span::NONE);
//! let made = Pop { values, top, to, after: Vec::new() }.block(&symbols, Span::NONE);
//! assert_eq!(made.len(), 2);
//! ```
//!
//! The type of a field determines what its hole is:
//!
//! | type | in the text |
//! |---|---|
//! | [`SymId`] | a name, wherever a name can appear; with arguments it is an array element or a call, depending on the symbol |
//! | [`Expr`] | a name in place of a value, or of the target of an assignment |
//! | [`Block`] | `CALL name`, which the statements replace |
//!
//! Every name is a hole, even those of intrinsic functions, since they may mean something else in
//! the unit. An operation that fills a hole gets parentheses where the functions of
//! [`crate::ir::build`] would add them, and IF and DO statements whose bodies turn out to be empty
//! are dropped, as these functions do. Comments in the text are for its readers only. Labels are not supported.
//!
//! `quote!` also generates a test, named after the type, which checks that the text can be parsed
//! and has the holes that the type declares.

use crate::ir::build::{choice, paren};
use crate::ir::{
    Allocation, BinOp, Block, Do, DoControl, DoEnd, Expr, ExprKind, Stmt, StmtKind, SymId, Symbols,
    UnOp, for_each_symbol, walk_block,
};
use crate::source::{Sources, Span};
use crate::syntax::{Form, NoIncludes, parse};
use std::sync::OnceLock;

/// Defines a type for a fragment of Fortran text: see [`mod@crate::quote`].
#[macro_export]
macro_rules! quote {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $name:ident { $($hole:ident: $type:ty),* $(,)? }
        $text:literal
    ) => {
        $(#[$attribute])*
        $visible struct $name {
            $(pub $hole: $type,)*
        }

        impl $name {
            fn template() -> &'static $crate::quote::Template {
                static TEMPLATE: $crate::quote::Template = $crate::quote::Template::new(
                    $text,
                    &[$((stringify!($hole), <$type as $crate::quote::Fill>::KIND)),*],
                );
                &TEMPLATE
            }

            /// Returns the statements, for a unit with these symbols.
            $visible fn block(
                self,
                symbols: &$crate::ir::Symbols,
                span: $crate::Span,
            ) -> $crate::ir::Block {
                let filled = vec![$($crate::quote::Fill::filling(self.$hole)),*];
                Self::template().filled(&filled, symbols, span)
            }
        }

        #[cfg(test)]
        #[test]
        #[allow(non_snake_case)]
        fn $name() {
            assert_eq!($name::template().errors(), [""; 0]);
        }
    };
}

/// The kinds of holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoleKind {
    /// A symbol.
    Symbol,
    /// An expression.
    Expr,
    /// Statements.
    Block,
}

/// The contents of a hole.
#[derive(Debug, Clone)]
pub enum HoleValue {
    /// A symbol.
    Symbol(SymId),
    /// An expression.
    Expr(Expr),
    /// Statements.
    Block(Block),
}

/// Types that can fill a hole.
pub trait Fill {
    /// The kind of hole that a value of this type fills.
    const KIND: HoleKind;

    /// Returns the value as the contents of a hole.
    fn filling(self) -> HoleValue;
}

impl Fill for SymId {
    const KIND: HoleKind = HoleKind::Symbol;

    fn filling(self) -> HoleValue {
        HoleValue::Symbol(self)
    }
}

impl Fill for Expr {
    const KIND: HoleKind = HoleKind::Expr;

    fn filling(self) -> HoleValue {
        HoleValue::Expr(self)
    }
}

impl Fill for Block {
    const KIND: HoleKind = HoleKind::Block;

    fn filling(self) -> HoleValue {
        HoleValue::Block(self)
    }
}

/// A text with holes, which is parsed on first use.
#[derive(Debug)]
pub struct Template {
    text: &'static str,
    holes: &'static [(&'static str, HoleKind)],
    parsed: OnceLock<Parsed>,
}

#[derive(Debug)]
struct Parsed {
    body: Block,
    /// The symbol with the name of each hole.
    names: Vec<Option<SymId>>,
    /// What is wrong with the text.
    errors: Vec<String>,
}

impl Template {
    /// Creates a template from a text and its holes.
    pub const fn new(text: &'static str, holes: &'static [(&'static str, HoleKind)]) -> Self {
        Template {
            text,
            holes,
            parsed: OnceLock::new(),
        }
    }

    /// Returns what is wrong with the template: text that is not Fortran, names that are not holes,
    /// and holes that do not appear in the text or appear where that kind of hole cannot.
    pub fn errors(&self) -> &[String] {
        &self.parsed().errors
    }

    /// Returns the statements with the holes filled; `fillings` are in the order of the holes.
    pub fn filled(&self, fillings: &[HoleValue], symbols: &Symbols, span: Span) -> Block {
        let parsed = self.parsed();
        // The test of each template rules this out. Continuing would lose statements.
        debug_assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
        let filler = Filler {
            fillings,
            names: &parsed.names,
            symbols,
            span,
        };
        filler.block(&parsed.body)
    }

    fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(|| {
            let mut sources = Sources::new();
            // After an executable statement no declarations follow, so `F(I) = X` is an assignment
            // and not a statement function.
            let text = format!("subroutine quoted\ncontinue\n{}\nend\n", self.text);
            let file = sources.add("quoted", text);
            let read = parse(&mut sources, file, Some(Form::Free), &mut NoIncludes);
            let errors = read.diagnostics.iter().map(|d| d.message.to_string());
            let mut errors: Vec<String> = errors.collect();
            let mut units = read.program.units.into_iter();
            let (Some(unit), None) = (units.next(), units.next()) else {
                errors.push("more than statements".to_owned());
                return Parsed {
                    body: Vec::new(),
                    names: Vec::new(),
                    errors,
                };
            };
            let mut body = unit.body;
            body.retain(|s| !matches!(s.kind, StmtKind::Comment(_)));
            if !body.is_empty() {
                body.remove(0);
            }
            let name = |(hole, _): &(&str, HoleKind)| unit.symbols.find(&hole.to_ascii_uppercase());
            let names: Vec<Option<SymId>> = self.holes.iter().map(name).collect();
            self.check(&body, &names, &unit.symbols, &mut errors);
            Parsed {
                body,
                names,
                errors,
            }
        })
    }

    fn check(
        &self,
        body: &Block,
        names: &[Option<SymId>],
        symbols: &Symbols,
        errors: &mut Vec<String>,
    ) {
        let mut used: Vec<SymId> = Vec::new();
        for_each_symbol(body, &mut |s| used.push(s));
        let (mut values, mut statements) = (Vec::new(), Vec::new());
        crate::ir::walk_exprs(body, &mut |e| match &e.kind {
            ExprKind::Var(s) => values.push(*s),
            ExprKind::ImpliedDo(_) => errors.push("an implied DO".to_owned()),
            _ => {}
        });
        blocks_called(body, &mut statements);
        for ((hole, kind), name) in self.holes.iter().zip(names) {
            let Some(name) = name.filter(|n| used.contains(n)) else {
                errors.push(format!("{hole} is not in the text"));
                continue;
            };
            let times = |list: &[SymId]| list.iter().filter(|s| **s == name).count();
            let proper = match kind {
                HoleKind::Symbol => times(&used),
                HoleKind::Expr => times(&values),
                HoleKind::Block => times(&statements),
            };
            if proper != times(&used) {
                errors.push(format!("{hole} stands where no {kind:?} can be"));
            }
        }
        used.sort();
        used.dedup();
        for s in used.iter().filter(|s| !names.contains(&Some(**s))) {
            errors.push(format!("{} is no hole", symbols[*s].name));
        }
        walk_block(body, &mut |s| {
            let known = matches!(
                s.kind,
                StmtKind::Assign(..)
                    | StmtKind::If(_)
                    | StmtKind::LogicalIf(..)
                    | StmtKind::Do(_)
                    | StmtKind::Call(..)
                    | StmtKind::Continue
                    | StmtKind::Return(None)
                    | StmtKind::Stop(_)
                    | StmtKind::Exit(None)
                    | StmtKind::Cycle(None)
                    | StmtKind::Allocation(_)
                    | StmtKind::Comment(_)
            );
            if !known || s.label.is_some() {
                errors.push(format!("a statement that cannot be quoted: {:?}", s.kind));
            }
        });
    }
}

/// Collects the holes for blocks: names that are called where statements can replace the call.
fn blocks_called(block: &Block, found: &mut Vec<SymId>) {
    for s in block {
        if let Some(name) = called_block(s) {
            found.push(name);
        }
        s.blocks().iter().for_each(|b| blocks_called(b, found));
    }
}

fn called_block(s: &Stmt) -> Option<SymId> {
    match &s.kind {
        StmtKind::Call(name, args) => args.is_empty().then_some(*name),
        _ => None,
    }
}

struct Filler<'a> {
    fillings: &'a [HoleValue],
    names: &'a [Option<SymId>],
    symbols: &'a Symbols,
    span: Span,
}

impl Filler<'_> {
    fn filling(&self, name: SymId) -> Option<&HoleValue> {
        let hole = self.names.iter().position(|n| *n == Some(name))?;
        self.fillings.get(hole)
    }

    fn symbol(&self, name: SymId) -> SymId {
        match self.filling(name) {
            Some(HoleValue::Symbol(s)) => *s,
            // The test of the template rules this out.
            _ => name,
        }
    }

    fn block(&self, block: &Block) -> Block {
        let mut out = Vec::with_capacity(block.len());
        for s in block {
            self.statement(s, &mut out);
        }
        out
    }

    fn statement(&self, s: &Stmt, out: &mut Block) {
        let span = self.span;
        if let Some(name) = called_block(s)
            && let Some(HoleValue::Block(made)) = self.filling(name)
        {
            out.extend(made.iter().cloned());
            return;
        }
        let made = match &s.kind {
            StmtKind::Comment(_) => return,
            StmtKind::Assign(to, value) => Stmt::assign(self.expr(to), self.expr(value), span),
            StmtKind::If(b) => {
                let arms = b.arms.iter();
                let arms = arms.map(|(c, b)| (self.expr(c), self.block(b))).collect();
                let otherwise = b.otherwise.as_ref().map(|b| self.block(b));
                let made = choice(arms, otherwise.unwrap_or_default(), span);
                return out.extend(made);
            }
            StmtKind::LogicalIf(condition, inner) => {
                let mut statement = Vec::with_capacity(1);
                self.statement(inner, &mut statement);
                let condition = self.expr(condition);
                let made = statement.pop();
                return out.extend(made.map(|s| Stmt::logical_if(condition, s, span)));
            }
            StmtKind::Do(d) => {
                let body = self.block(&d.body);
                let control = match &d.control {
                    DoControl::Count { .. } if body.is_empty() => return,
                    DoControl::Count {
                        var,
                        from,
                        to,
                        step,
                    } => DoControl::Count {
                        var: self.symbol(*var),
                        from: self.expr(from),
                        to: self.expr(to),
                        step: step.as_ref().map(|e| self.expr(e)),
                    },
                    DoControl::While(c) => DoControl::While(self.expr(c)),
                    DoControl::Forever => DoControl::Forever,
                };
                let made = Do {
                    name: None,
                    control,
                    body,
                    end: DoEnd::EndDo(None),
                    end_span: span,
                    directive: None,
                };
                Stmt::repeat(made, span)
            }
            StmtKind::Call(name, args) => Stmt::call(self.symbol(*name), self.list(args), span),
            StmtKind::Allocation(a) => {
                let made = Allocation {
                    free: a.free,
                    objects: self.list(&a.objects),
                    control: self.list(&a.control),
                };
                Stmt::allocation(made, span)
            }
            StmtKind::Stop(e) => Stmt::new(StmtKind::Stop(e.as_ref().map(|e| self.expr(e))), span),
            other => Stmt::new(other.clone(), span),
        };
        out.push(made);
    }

    fn list(&self, list: &[Expr]) -> Vec<Expr> {
        list.iter().map(|e| self.expr(e)).collect()
    }

    fn expr(&self, e: &Expr) -> Expr {
        let span = self.span;
        match &e.kind {
            ExprKind::Var(name) => match self.filling(*name) {
                Some(HoleValue::Expr(e)) => e.clone(),
                _ => Expr::var(self.symbol(*name), span),
            },
            ExprKind::Apply(name, args) => {
                let (s, args) = (self.symbol(*name), self.list(args));
                match self.symbols[s].is_variable() {
                    true => Expr::element(s, args, span),
                    false => Expr::call(s, args, span),
                }
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = match op {
                    BinOp::Add | BinOp::Sub => (self.expr(a), self.operand(b)),
                    BinOp::Mul | BinOp::Div | BinOp::Pow => (self.operand(a), self.operand(b)),
                    _ => (self.expr(a), self.expr(b)),
                };
                Expr::binary(*op, a, b).at(span)
            }
            ExprKind::Unary(UnOp::Minus, a) if matches!(a.kind, ExprKind::Int(_)) => match a.kind {
                ExprKind::Int(n) => Expr::int(-n, span),
                _ => self.expr(a),
            },
            ExprKind::Unary(op, a) => Expr::unary(*op, self.operand(a), span),
            _ => {
                let mut made = e.clone().at(span);
                let children = made.children_mut().into_iter().zip(e.children());
                children.for_each(|(to, from)| *to = self.expr(from));
                made
            }
        }
    }

    /// Fills in an operand. The contents of a hole may be an operation, which gets parentheses.
    fn operand(&self, e: &Expr) -> Expr {
        match e.kind {
            ExprKind::Var(_) => paren(self.expr(e)),
            _ => self.expr(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intrinsics::Intrinsic;
    use crate::ir::{Class, Symbol, Type, Unit, UnitKind};

    quote! {
        struct Loop {
            i: SymId, n: Expr, a: SymId, abs: SymId, most: Expr, body: Block, last: Block,
        }
        "
        do i = n, 1, -1
          ! What the loop is for.
          if (a(i) > most .or. .not. n < 2) then
            call body
          else
            a(i) = abs(most)*n - n + (n - 1)/most
          end if
          if (n < 1) exit
        end do
        if (n > 1) then
          call last
        end if
        "
    }

    fn unit() -> (Unit, [SymId; 4]) {
        let mut unit = Unit::new(UnitKind::Subroutine, "S".into(), Span::NONE);
        let array = Symbol {
            dims: vec![crate::ir::Dim {
                lower: None,
                upper: Some(Expr::star(Span::NONE)),
            }],
            ..Symbol::variable("X".into(), Type::DOUBLE, Span::NONE)
        };
        let abs = Symbol {
            class: Class::Intrinsic(Intrinsic::find("ABS").unwrap()),
            ..Symbol::new("ABS".into(), Span::NONE)
        };
        let scalar = |name: &str| Symbol::variable(name.into(), Type::INTEGER, Span::NONE);
        let symbols = [array, abs, scalar("K"), scalar("M")].map(|s| unit.symbols.add(s));
        (unit, symbols)
    }

    #[test]
    fn holes_are_filled() {
        let (mut unit, [x, abs, k, m]) = unit();
        let var = |s| Expr::var(s, Span::NONE);
        let sum = |a, b| Expr::binary(BinOp::Add, a, b);
        let quoted = Loop {
            i: k,
            n: sum(var(m), Expr::int(3, Span::NONE)),
            a: x,
            abs,
            most: var(m),
            body: vec![Stmt::continues(Span::NONE); 2],
            last: Vec::new(),
        };
        unit.body = quoted.block(&unit.symbols, Span::NONE);
        let mut program = crate::ir::Program::default();
        program.units.push(unit);
        let text = crate::print::print_program(&program, &Default::default());
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let expected = [
            "DO K = M + 3, 1, -1",
            "IF (X(K) .GT. M .OR. .NOT. M + 3 .LT. 2) THEN",
            "CONTINUE",
            "CONTINUE",
            "ELSE",
            "X(K) = ABS(M)*(M + 3) - (M + 3) + (M + 3 - 1)/M",
            "END IF",
            "IF (M + 3 .LT. 1) EXIT",
            "END DO",
        ];
        let from = lines.iter().position(|l| *l == expected[0]);
        let from = from.unwrap_or_else(|| panic!("{text}"));
        assert_eq!(lines[from..from + expected.len()], expected, "{text}");
        assert_eq!(lines[from + expected.len()..], ["END"], "{text}");
    }

    #[test]
    fn errors_are_found() {
        let errors = |text: &'static str, holes: &'static [(&'static str, HoleKind)]| {
            Template::new(text, holes).errors().join("; ")
        };
        const SYMBOL: HoleKind = HoleKind::Symbol;
        assert_eq!(errors("x = y", &[("x", HoleKind::Expr)]), "Y is no hole");
        let unused = errors("x = 1", &[("x", SYMBOL), ("y", SYMBOL)]);
        assert_eq!(unused, "y is not in the text");
        let function = errors("x = f(1)", &[("x", SYMBOL), ("f", HoleKind::Expr)]);
        assert_eq!(function, "f stands where no Expr can be");
        let value = errors("x = b", &[("x", SYMBOL), ("b", HoleKind::Block)]);
        assert_eq!(value, "b stands where no Block can be");
        let inner = errors("if (x) call b", &[("x", SYMBOL), ("b", HoleKind::Block)]);
        assert_eq!(inner, "b stands where no Block can be");
        assert!(errors("10 x = 1", &[("x", SYMBOL)]).contains("cannot be quoted"));
        assert!(!errors("x = ", &[("x", SYMBOL)]).is_empty());
        assert!(errors("x = 1\nend\nsubroutine t", &[("x", SYMBOL)]).contains("more than"));
    }
}
