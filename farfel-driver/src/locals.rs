//! Large local arrays of derivatives and of subprograms that are RECURSIVE are allocated, and what derivatives
//! remember is shared between threads.
//!
//! gfortran puts variables that are too large for the stack into static memory, which all threads share. A
//! subprogram with such an array is known and takes the lock; but its derivative, which does not exist yet
//! when locks are assigned, may have larger arrays than the original, for example tangents in all directions.
//! Therefore, in libraries, these arrays are allocated in each call. So are others, until those that remain on the
//! stack are small ([`moved`]): nobody knows the derivative when the bindings are made, which ask
//! whether the stack suffices. In RECURSIVE subprograms, gfortran puts all arrays on the stack.
//!
//! Derivatives remember from call to call how much the last one has put on a tape. Threads share these
//! variables, too, so all accesses are atomic: in libraries by functions of `farfel-runtime`, in programs with
//! OpenMP by its directives.

use crate::facts::moved;
use crate::support::{END, Ending, intrinsic};
use farfel_lang::ir::{
    Allocation, Attribute, BinOp, Block, Class, Dim, Expr, ExprKind, Name, Origin, Program, Stmt,
    StmtKind, StorageClass, SymId, Symbol, Type, Unit, walk_block, walk_block_mut,
};
use std::collections::HashSet;

/// The procedures of `farfel-runtime` that read and assign a variable that threads share.
const REMEMBERED: &str = "FARFEL_REMEMBERED_V1";
const REMEMBER: &str = "FARFEL_REMEMBER_V1";

/// Makes accesses to what derivatives remember of their tapes atomic, in a library or in a program.
pub(crate) fn share(program: &mut Program, library: bool) {
    if !library && !program.units.iter().any(has_threads) {
        return;
    }
    for unit in &mut program.units {
        let symbols = unit.symbols.iter();
        let remembered = symbols.filter(|(_, s)| s.tape && s.saved && !s.is_array());
        let remembered: HashSet<SymId> = remembered.map(|(id, _)| id).collect();
        match library {
            _ if remembered.is_empty() => {}
            true => by_functions(unit, &remembered),
            false => by_directives(unit, &remembered),
        }
    }
}

/// Whether a unit has parallel loops or regions.
fn has_threads(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        found |= match &s.kind {
            StmtKind::Do(d) => d.parallel().is_some(),
            StmtKind::Comment(text) => text.starts_with("$OMP"),
            _ => false,
        }
    });
    found
}

fn by_functions(unit: &mut Unit, remembered: &HashSet<SymId>) {
    let mut procedure = |name: &str, class: Class, ty: Option<Type>| {
        let id = unit.symbols.add(Symbol {
            class,
            ty,
            typed: ty.is_some(),
            external: ty.is_some(),
            storage_class: StorageClass::Global,
            origin: Origin::Generated,
            ..Symbol::new(name.into(), unit.span)
        });
        unit.declare(id);
        id
    };
    let read = procedure(REMEMBERED, Class::Function, Some(Type::Integer(8)));
    let assign = procedure(REMEMBER, Class::Subroutine, None);
    walk_block_mut(&mut unit.body, &mut |s| {
        let StmtKind::Assign(target, value) = &mut s.kind else {
            return;
        };
        value.rewrite(&mut |e| {
            if is_one_of(remembered, e) {
                *e = Expr::call(read, vec![e.clone()], e.span);
            }
        });
        if is_one_of(remembered, target) {
            s.kind = StmtKind::Call(assign, vec![target.clone(), value.clone()]);
        }
    });
}

fn by_directives(unit: &mut Unit, remembered: &HashSet<SymId>) {
    let name = unit.symbols.unused("FARFEL_L", &|_| false);
    let copy = Symbol::variable(name, Type::Integer(8), unit.span);
    let copy = unit.symbols.add(copy);
    unit.declare(copy);
    let mut made = Block::new();
    for mut s in std::mem::take(&mut unit.body) {
        let span = s.span;
        let copy = || Expr::var(copy, span);
        if let StmtKind::Assign(target, value) = &mut s.kind {
            let mut read = None;
            value.rewrite(&mut |e| {
                if is_one_of(remembered, e) {
                    read = Some(std::mem::replace(e, copy()));
                }
            });
            if let Some(variable) = read {
                made.push(Stmt::comment("$OMP ATOMIC READ", span));
                made.push(Stmt::assign(copy(), variable, span));
            }
            if is_one_of(remembered, target) {
                let target = std::mem::replace(target, copy());
                made.push(s);
                made.push(Stmt::comment("$OMP ATOMIC WRITE", span));
                made.push(Stmt::assign(target, copy(), span));
                continue;
            }
        }
        made.push(s);
    }
    unit.body = made;
}

fn is_one_of(remembered: &HashSet<SymId>, e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Var(s) if remembered.contains(&s))
}

/// Allocates the large arrays in the units of a program that are not `known`, and in those that are RECURSIVE.
pub(crate) fn allocate(program: &mut Program, known: &HashSet<&Name>) {
    for unit in &mut program.units {
        if unit.recursive || !known.contains(&unit.name) {
            of_unit(unit);
        }
    }
}

fn of_unit(unit: &mut Unit) {
    let arrays = moved(unit);
    if arrays.is_empty() {
        return;
    }
    let span = unit.span;
    // Execution from the first entry passes ENTRY points.
    let has_entries = unit.entry_points().nth(1).is_some();
    let allocated = match has_entries {
        true => match intrinsic(unit, "ALLOCATED") {
            None => return,
            function => function,
        },
        false => None,
    };
    let status = unit.symbols.unused("FARFEL_S", &|_| false);
    let status = Symbol::variable(status, Type::INTEGER, span);
    let status = unit.symbols.add(status);
    unit.declare(status);
    let end = unit.symbols.find(END).unwrap_or_else(|| {
        unit.symbols.add(Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            origin: Origin::Generated,
            ..Symbol::new(END.into(), span)
        })
    });
    let mut made = Block::new();
    for id in arrays {
        let name = unit.symbols[id].name.clone();
        let open = |_: &Dim| Dim {
            lower: None,
            upper: None,
        };
        let bounds: Vec<Dim> = unit.symbols[id].dims.clone();
        unit.undeclare(id);
        let symbol = &mut unit.symbols[id];
        symbol.dims = bounds.iter().map(open).collect();
        symbol.attributes.insert(Attribute::Allocatable);
        unit.declare(id);
        let subscripts = bounds.into_iter().map(|d| match (d.lower, d.upper) {
            (None, Some(upper)) => upper,
            (lower, upper) => Expr::range(lower, upper, None, span),
        });
        let room = Expr::element(id, subscripts.collect(), span);
        let state = Expr::var(status, span);
        let allocation = Stmt::new(
            StmtKind::Allocation(Box::new(Allocation {
                free: false,
                objects: vec![room],
                control: vec![Expr::keyword("STAT", state.clone(), span)],
            })),
            span,
        );
        made.push(match allocated {
            Some(function) => {
                let is_there = Expr::call(function, vec![Expr::var(id, span)], span);
                Stmt::logical_if(Expr::not(is_there, span), allocation, span)
            }
            None => allocation,
        });
        let failed = Expr::binary(BinOp::Ne, state.clone(), Expr::int(0, span));
        let shown = format!("making room for {name}");
        let args = vec![
            Expr::int(Ending::Memory as i64, span),
            state,
            Expr::text(shown, span),
            Expr::text(unit.name.to_string(), span),
        ];
        made.push(Stmt::logical_if(failed, Stmt::call(end, args, span), span));
    }
    let none = Stmt::assign(Expr::var(status, span), Expr::int(0, span), span);
    made.insert(0, none);
    let entries = unit.body.iter().enumerate().rev();
    let entries = entries.filter(|(_, s)| matches!(s.kind, StmtKind::Entry(_)));
    let entries: Vec<usize> = entries.map(|(i, _)| i + 1).collect();
    for at in entries.into_iter().chain([0]) {
        unit.body.splice(at..at, made.iter().cloned());
    }
}
