//! Whether the value that an argument has on entry can matter.

use crate::ir::{
    AdBlock, AdItem, AdMode, Arg, Block, Class, DoControl, Expr, ExprKind, Name, Place, Stmt,
    StmtKind, SymId, Unit, walk_block,
};
use std::collections::HashMap;

/// Finds out what happens first to an argument, through calls.
pub(super) struct Entry<'p> {
    units: HashMap<&'p Name, &'p Unit>,
    /// For arguments that were looked at; [`First::Read`] while one is.
    known: HashMap<(Name, usize), First>,
}

/// What happens first to a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// Nobody reads it, and it is assigned on some ways only, if at all.
    Nothing,
    /// It is assigned.
    Assigned,
    /// It may be read.
    Read,
}

impl<'p> Entry<'p> {
    pub fn of(units: impl IntoIterator<Item = &'p Unit>) -> Self {
        Entry {
            units: units.into_iter().map(|u| (&u.name, u)).collect(),
            known: HashMap::new(),
        }
    }

    /// Can anything depend on what the argument of `unit` at `position` holds on entry?
    ///
    /// False only where the statements, whatever branches are taken, assign it before
    /// anything reads it.
    pub fn matters(&mut self, unit: &Name, position: usize) -> bool {
        self.argument(unit, position) == First::Read
    }

    /// Is the variable read before it is assigned, if these statements are left out?
    pub fn matters_without(
        &mut self,
        unit: &'p Unit,
        s: SymId,
        left_out: &dyn Fn(&Stmt) -> bool,
    ) -> bool {
        let mut look = Look {
            entry: self,
            unit,
            s,
            left_out,
        };
        in_functions(unit, s) || look.block(&unit.body) == First::Read
    }

    fn argument(&mut self, name: &Name, position: usize) -> First {
        let key = (name.clone(), position);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        self.known.insert(key.clone(), First::Read);
        let first = match self.units.get(name).copied() {
            Some(unit) => self.in_unit(unit, position),
            None => First::Read,
        };
        self.known.insert(key, first);
        first
    }

    fn in_unit(&mut self, unit: &'p Unit, position: usize) -> First {
        let Some(s) = unit.args.get(position).and_then(|a| a.sym()) else {
            return First::Read;
        };
        if unit.symbols[s].is_array() || has_jumps(unit) {
            return First::Read;
        }
        // Bounds and lengths are evaluated on entry.
        let mut bound = false;
        for (_, other) in unit.symbols.iter() {
            let dims = other.dims.iter();
            let exprs = dims.flat_map(|d| d.lower.iter().chain(&d.upper));
            for e in exprs.chain(&other.length) {
                bound |= names(e, s);
            }
        }
        if bound || in_functions(unit, s) {
            return First::Read;
        }
        Look {
            entry: self,
            unit,
            s,
            left_out: &|_| false,
        }
        .block(&unit.body)
    }
}

/// Do statements of a unit go anywhere but to the next one?
pub(super) fn has_jumps(unit: &Unit) -> bool {
    let mut jumps = false;
    walk_block(&unit.body, &mut |stmt| {
        jumps |= match &stmt.kind {
            StmtKind::Goto(_)
            | StmtKind::ArithmeticIf(..)
            | StmtKind::ComputedGoto(..)
            | StmtKind::AssignedGoto(..)
            | StmtKind::Entry(_) => true,
            StmtKind::Call(_, args) => {
                args.iter().any(|a| matches!(a.kind, ExprKind::AltReturn(_)))
            }
            StmtKind::Io(io) => io.control.iter().any(|c| {
                matches!(&c.kind, ExprKind::Keyword(k, _) if matches!(k.as_str(), "END" | "ERR" | "EOR"))
            }),
            _ => false,
        };
    });
    let mut last = unit.body.iter().rev();
    let end = last.find(|s| !matches!(s.kind, StmtKind::Comment(_)));
    walk_block(&unit.body, &mut |stmt| {
        if let StmtKind::Return(_) = stmt.kind {
            jumps |= !end.is_some_and(|e| std::ptr::eq(e, stmt));
        }
    });
    jumps
}

fn names(e: &Expr, s: SymId) -> bool {
    let mut named = false;
    e.for_each_symbol(&mut |x| named |= x == s);
    named
}

/// Do statement functions of a unit name a variable? They may be evaluated anywhere.
fn in_functions(unit: &Unit, s: SymId) -> bool {
    let mut symbols = unit.symbols.iter();
    symbols.any(|(_, f)| match &f.class {
        Class::StatementFunction(_, value) => names(value, s),
        _ => false,
    })
}

/// The search for one variable in one unit.
struct Look<'e, 'p> {
    entry: &'e mut Entry<'p>,
    unit: &'p Unit,
    s: SymId,
    left_out: &'e dyn Fn(&Stmt) -> bool,
}

impl Look<'_, '_> {
    fn block(&mut self, stmts: &[Stmt]) -> First {
        for stmt in stmts {
            let first = self.statement(stmt);
            if first != First::Nothing {
                return first;
            }
        }
        First::Nothing
    }

    /// For statements of which one or none is executed; `all`: it is one.
    fn one_of<'b>(&mut self, blocks: impl Iterator<Item = &'b Block>, all: bool) -> First {
        let firsts: Vec<First> = blocks.map(|b| self.block(b)).collect();
        if firsts.contains(&First::Read) {
            First::Read
        } else if all && firsts.iter().all(|f| *f == First::Assigned) {
            First::Assigned
        } else {
            First::Nothing
        }
    }

    fn statement(&mut self, stmt: &Stmt) -> First {
        if (self.left_out)(stmt) {
            return First::Nothing;
        }
        let s = self.s;
        match &stmt.kind {
            StmtKind::Assign(target, value) => match target.kind {
                _ if names(value, s) => First::Read,
                ExprKind::Var(t) if t == s => First::Assigned,
                _ => read_if(names(target, s)),
            },
            StmtKind::If(b) => {
                if b.arms.iter().any(|(c, _)| names(c, s)) {
                    return First::Read;
                }
                let arms = b.arms.iter().map(|(_, b)| b).chain(&b.otherwise);
                self.one_of(arms, b.otherwise.is_some())
            }
            StmtKind::Select(b) => {
                let mut named = false;
                stmt.for_each_own_expr(&mut |e| named |= names(e, s));
                if named {
                    return First::Read;
                }
                let all = b.cases.iter().any(|c| c.values.is_none());
                self.one_of(b.cases.iter().map(|c| &c.body), all)
            }
            StmtKind::Where(_) => {
                let mut named = false;
                stmt.walk(&mut |inner| inner.for_each_own_expr(&mut |e| named |= names(e, s)));
                read_if(named)
            }
            StmtKind::LogicalIf(c, inner) => {
                if names(c, s) {
                    return First::Read;
                }
                read_if(self.statement(inner) == First::Read)
            }
            StmtKind::Do(d) => {
                let mut named = false;
                stmt.for_each_own_expr(&mut |e| named |= names(e, s));
                if named {
                    return First::Read;
                }
                match d.control {
                    DoControl::Count { var, .. } if var == s => First::Assigned,
                    // The statements may run not at all.
                    _ => read_if(self.block(&d.body) == First::Read),
                }
            }
            StmtKind::Call(callee, args) => self.call(*callee, args),
            StmtKind::Ad(block) => self.ad(block),
            _ => {
                let mut named = false;
                stmt.for_each_own_symbol(&mut |x| named |= x == s);
                stmt.for_each_own_expr(&mut |e| named |= names(e, s));
                read_if(named)
            }
        }
    }

    fn call(&mut self, callee: SymId, args: &[Expr]) -> First {
        let s = self.s;
        let named: Vec<usize> = (0..args.len()).filter(|i| names(&args[*i], s)).collect();
        let callee = &self.unit.symbols[callee];
        match named[..] {
            [] => First::Nothing,
            [i] if args[i].kind == ExprKind::Var(s) && callee.place == Place::Global => {
                let takes_scalar = self.entry.units.get(&callee.name).is_some_and(
                    |u| matches!(u.args.get(i), Some(Arg::Dummy(d)) if !u.symbols[*d].is_array()),
                );
                match takes_scalar {
                    true => self.entry.argument(&callee.name, i),
                    false => First::Read,
                }
            }
            _ => First::Read,
        }
    }

    fn ad(&mut self, block: &AdBlock) -> First {
        let s = self.s;
        let named = |items: &[AdItem]| {
            let mut named = false;
            for i in items {
                i.for_each_expr(&mut |e| named |= names(e, s));
            }
            named
        };
        let body = match block.mode {
            AdMode::Forward if named(&block.opening) => First::Read,
            _ => self.block(&block.body),
        };
        if body != First::Nothing || block.mode == AdMode::Reverse && named(&block.opening) {
            return if body == First::Nothing {
                First::Read
            } else {
                body
            };
        }
        for item in &block.closing {
            match item {
                AdItem::Assign(a) if a.other.kind == ExprKind::Var(s) => return First::Assigned,
                _ if named(std::slice::from_ref(item)) => return First::Read,
                _ => {}
            }
        }
        First::Nothing
    }
}

fn read_if(named: bool) -> First {
    if named { First::Read } else { First::Nothing }
}
