//! One variable as two arguments.
//!
//! `CALL G(X, X)` is valid Fortran if G assigns neither argument. Its adjoint adds to the
//! derivatives of both, which are again one variable: that is not valid, and optimising compilers
//! lose one of the sums. So in the copy that the tool reads for an adjoint, the second argument is
//! a copy of the variable.

use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    Block, Dim, DoEnd, Expr, ExprKind, Label, Program, Request, Stmt, StmtKind, StorageClass,
    SymId, Symbol, Type, Unit, walk_block,
};
use std::collections::HashSet;

/// Separates such arguments in all of `units`.
pub(super) fn separate(units: &mut [Unit], request: &Request, errors: &mut Vec<Diagnostic>) {
    let program = Program {
        units: units.to_vec(),
    };
    let assigned = Assigned::of(&program);
    for unit in units {
        let mut labels = HashSet::new();
        walk_block(&unit.body, &mut |s| {
            if let StmtKind::Do(d) = &s.kind
                && let DoEnd::Label(l) = d.end
            {
                labels.insert(l);
            }
        });
        let mut body = std::mem::take(&mut unit.body);
        let mut pass = Pass {
            unit,
            program: &program,
            assigned: &assigned,
            ends: labels,
            request,
            errors,
        };
        pass.block(&mut body);
        unit.body = body;
    }
}

struct Pass<'a> {
    unit: &'a mut Unit,
    program: &'a Program,
    assigned: &'a Assigned,
    ends: HashSet<Label>,
    request: &'a Request,
    errors: &'a mut Vec<Diagnostic>,
}

impl Pass<'_> {
    fn block(&mut self, block: &mut Block) {
        for mut s in std::mem::take(block) {
            for b in s.blocks_mut() {
                self.block(b);
            }
            let mut before = Vec::new();
            let end = s.label.is_some_and(|l| self.ends.contains(&l));
            self.statement(&mut s, &mut before);
            if !before.is_empty() && !end {
                // Jumps to this statement need the copies, too.
                before[0].label = s.label.take();
            }
            block.extend(before);
            block.push(s);
        }
    }

    /// Conditions and bounds are not differentiated, so nothing is added to derivatives there.
    fn statement(&mut self, s: &mut Stmt, before: &mut Block) {
        let span = s.span;
        match &mut s.kind {
            StmtKind::Call(callee, args) => self.call(*callee, args, span, before),
            // Unneeded copies do no harm.
            StmtKind::LogicalIf(_, inner) => return self.statement(inner, before),
            StmtKind::Assign(..) => {}
            _ => return,
        }
        s.for_each_own_expr_mut(&mut |e| {
            e.rewrite(&mut |e| {
                if let ExprKind::Call(callee, args) = &mut e.kind {
                    self.call(*callee, args, span, before);
                }
            });
        });
    }

    fn call(
        &mut self,
        callee: SymId,
        args: &mut [Expr],
        span: farfel_lang::Span,
        before: &mut Block,
    ) {
        let s = &self.unit.symbols[callee];
        if s.storage_class != StorageClass::Global {
            return;
        }
        let name = s.name.clone();
        let program = self.program;
        let Some(target) = program.unit(&name) else {
            return;
        };
        for i in 0..args.len() {
            for j in i + 1..args.len() {
                if !self.same(target, args, i, j) {
                    continue;
                }
                let free = |k: &usize| !self.assigned.argument(&name, *k);
                // An argument that is assigned must not be passed twice: the program is wrong, or
                // the elements are different.
                let Some(k) = [j, i].into_iter().find(free) else {
                    continue;
                };
                match self.copy(&args[k], target, k, before) {
                    Some(e) => args[k] = e,
                    None => self.errors.push(
                        Diagnostic::error(
                            &rules::AD_ALIAS,
                            span,
                            format!("{name} gets one variable as two arguments, and its adjoint would add to one derivative in two ways"),
                        )
                        .related(self.request.span, "for this AD block")
                        .help("pass a copy of the variable"),
                    ),
                }
            }
        }
    }

    /// Whether two arguments may be the same real variable.
    fn same(&self, target: &Unit, args: &[Expr], i: usize, j: usize) -> bool {
        let (Some(a), Some(b)) = (args[i].base(), args[j].base()) else {
            return false;
        };
        let real = self.unit.symbols[a].ty.is_some_and(Type::is_differentiable);
        let is_array = |k: usize| {
            let dummy = target.args.get(k).and_then(|a| a.sym());
            dummy.is_some_and(|s| target.symbols[s].is_array())
        };
        if a != b || !real || !self.unit.symbols[a].is_variable() {
            return false;
        }
        match (&args[i].kind, &args[j].kind) {
            (ExprKind::Element(_, x), ExprKind::Element(_, y)) => {
                let equal = x.iter().zip(y).all(|(x, y)| alike(x, y));
                let constant = |l: &[Expr]| l.iter().all(|e| matches!(e.kind, ExprKind::Int(_)));
                // Different elements as the start of arrays, such as columns of a matrix.
                equal || !(is_array(i) || is_array(j) || constant(x) && constant(y))
            }
            _ => true,
        }
    }

    /// Returns a copy of an actual argument, which the statements in `before` create.
    fn copy(&mut self, actual: &Expr, target: &Unit, k: usize, before: &mut Block) -> Option<Expr> {
        let span = actual.span;
        let base = actual.base()?;
        let dummy = target.args.get(k)?.sym()?;
        let whole = matches!(actual.kind, ExprKind::Var(_));
        let array = target.symbols[dummy].is_array();
        if array && !whole {
            return None;
        }
        let dims: Vec<Dim> = if array {
            self.unit.symbols[base].dims.clone()
        } else {
            Vec::new()
        };
        let known = |d: &Dim| d.upper.as_ref().is_some_and(|e| e.kind != ExprKind::Star);
        if !dims.iter().all(known) {
            return None;
        }
        let ty = self.unit.symbols[base].ty?;
        let copy = self.local("FARFEL_C", ty, dims.clone(), span);
        let loops: Vec<SymId> = dims
            .iter()
            .map(|_| self.local("FARFEL_I", Type::INTEGER, Vec::new(), span))
            .collect();
        let element = |s: SymId| {
            if loops.is_empty() {
                Expr::var(s, span)
            } else {
                let subscripts = loops.iter().map(|l| Expr::var(*l, span)).collect();
                Expr::element(s, subscripts, span)
            }
        };
        let from = if loops.is_empty() {
            actual.clone()
        } else {
            element(base)
        };
        let mut stmt = Stmt::assign(element(copy), from, span);
        for (d, var) in dims.iter().zip(&loops) {
            let from = d.lower.clone().unwrap_or_else(|| Expr::int(1, span));
            stmt = Stmt::count(*var, [from, d.upper.clone()?], None, vec![stmt], span);
        }
        before.push(stmt);
        Some(Expr::var(copy, span))
    }

    fn local(&mut self, name: &str, ty: Type, dims: Vec<Dim>, span: farfel_lang::Span) -> SymId {
        let name = self.unit.symbols.unused(name, &|_| false);
        let id = self.unit.symbols.add(Symbol {
            typed: true,
            dims,
            ..Symbol::variable(name, ty, span)
        });
        self.unit.declare(id);
        id
    }
}

/// Whether two subscripts are written identically.
fn alike(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Int(x), ExprKind::Int(y)) => x == y,
        (ExprKind::Var(x), ExprKind::Var(y)) => x == y,
        (ExprKind::Binary(f, a, b), ExprKind::Binary(g, c, d)) => {
            f == g && alike(a, c) && alike(b, d)
        }
        (ExprKind::Paren(a), ExprKind::Paren(b)) => alike(a, b),
        _ => false,
    }
}
