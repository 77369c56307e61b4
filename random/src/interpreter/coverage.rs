//! Records what a program executes in its blocks, to judge the quality of generated programs.

use super::call::Actual;
use super::storage::StorageLocation;
use super::{Code, Procedure};
use farfel_lang::ir::{
    AdMode, DoControl, Expr, ExprKind, Stmt, StmtKind, StorageClass as Home, Symbol, Type,
};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Counts what is executed in ADR blocks, and how blocks are nested.
#[derive(Default)]
pub struct Coverage {
    /// The blocks being executed, innermost last.
    blocks: RefCell<Vec<AdMode>>,
    reached: RefCell<BTreeMap<String, u64>>,
    /// The addresses of the units that are active in blocks.
    units: RefCell<Vec<usize>>,
}

impl Coverage {
    /// Records that a block begins.
    pub fn enter(&self, mode: AdMode) {
        let mut blocks = self.blocks.borrow_mut();
        blocks.push(mode);
        let words = blocks.iter().map(|m| match m {
            AdMode::Forward => "ADF",
            AdMode::Reverse => "ADR",
        });
        let words: Vec<&str> = words.take(4).collect();
        let deeper = if blocks.len() > 4 { " > ..." } else { "" };
        self.count(format!("block {}{deeper}", words.join(" > ")));
    }

    /// Records that the innermost block ends.
    pub fn leave(&self) {
        self.blocks.borrow_mut().pop();
    }

    /// Returns what was executed, and how often.
    pub fn reached(&self) -> BTreeMap<String, u64> {
        self.reached.take()
    }

    fn count(&self, what: String) {
        *self.reached.borrow_mut().entry(what).or_default() += 1;
    }

    fn in_reverse(&self) -> bool {
        self.blocks.borrow().contains(&AdMode::Reverse)
    }

    /// Records the execution of something not covered by the other functions.
    pub fn note(&self, what: &str) {
        if self.in_reverse() {
            self.count(format!("in ADR: {what}"));
        }
    }

    /// Records the execution of a statement.
    pub fn statement(&self, stmt: &Stmt) {
        if !self.in_reverse() {
            return;
        }
        let what = match &stmt.kind {
            StmtKind::Assign(target, value) => match reads_itself(target, value) {
                true => "assignment that reads what it assigns",
                false => "assignment",
            },
            StmtKind::If(_) => "IF block",
            StmtKind::Select(_) => "SELECT CASE",
            StmtKind::Where(_) => "WHERE",
            StmtKind::LogicalIf(..) => "logical IF",
            StmtKind::ArithmeticIf(..) => "arithmetic IF",
            StmtKind::Do(d) if d.directive.is_some() => "DO with a mark",
            StmtKind::Do(d) => match d.control {
                DoControl::Count { .. } => "DO",
                DoControl::While(_) => "DO WHILE",
                DoControl::Forever => "DO without end",
            },
            StmtKind::Goto(_) => "GOTO",
            StmtKind::ComputedGoto(..) => "computed GOTO",
            StmtKind::AssignedGoto(..) => "assigned GOTO",
            StmtKind::Call(..) => "CALL",
            StmtKind::Return(None) => "RETURN",
            StmtKind::Return(Some(_)) => "alternate return",
            StmtKind::Cycle(_) => "CYCLE",
            StmtKind::Exit(_) => "EXIT",
            StmtKind::Io(_) => "PRINT",
            _ => return,
        };
        self.note(what);
    }

    /// Records the call of a procedure with these arguments.
    pub fn call(&self, callee: &Procedure<'_>, actuals: &[Actual<'_>]) {
        let Code::Unit(unit, entry) = callee.code else {
            return;
        };
        let address = std::ptr::from_ref(unit) as usize;
        let mut units = self.units.borrow_mut();
        if self.in_reverse() {
            if units.contains(&address) {
                self.note("recursion");
            }
            if entry.is_some() {
                self.note("call of an ENTRY");
            }
            if callee.host.is_some() {
                self.note("call of a closure");
            }
            if unit.result.is_some() {
                self.note("call of a function");
            }
            for a in actuals {
                match a {
                    Actual::Location(p) if p.byte > 0 => self.note("argument amid storage"),
                    Actual::Procedure(_) => self.note("procedure as argument"),
                    _ => {}
                }
            }
        }
        units.push(address);
    }

    /// Records that the procedure called last returns.
    pub fn returned(&self) {
        self.units.borrow_mut().pop();
    }

    /// Records the use of a variable.
    pub fn variable(&self, symbol: &Symbol, place: &StorageLocation, shared: bool) {
        if !self.in_reverse() {
            return;
        }
        let number = match place.ty {
            Type::Real(_) => "REAL",
            Type::Complex(_) => "COMPLEX",
            _ => return,
        };
        if place.ty == Type::Real(4) {
            self.note("variable of single precision");
        }
        if number == "COMPLEX" {
            self.note("variable that is COMPLEX");
        }
        if shared {
            self.note("variable in COMMON or EQUIVALENCE");
        }
        if symbol.saved {
            self.note("variable with SAVE or DATA");
        }
        if symbol.storage_class == Home::Dummy {
            let bounds = symbol.dims.last().and_then(|d| d.upper.as_ref());
            match bounds.map(|e| &e.kind) {
                None => {}
                Some(ExprKind::Star) => self.note("array of assumed size"),
                Some(ExprKind::Int(_)) => self.note("array argument"),
                Some(_) => self.note("adjustable array"),
            }
        }
        if symbol.dims.len() > 1 {
            self.note("array of two dimensions");
        }
    }
}

/// Whether an assignment reads the variable that it assigns.
fn reads_itself(target: &Expr, value: &Expr) -> bool {
    let Some(s) = target.base() else {
        return false;
    };
    let mut found = false;
    value.walk(&mut |e| found |= e.base() == Some(s));
    found
}
