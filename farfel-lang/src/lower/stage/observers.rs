//! Whether anything observes the effects of the statements of an ADR block.
//!
//! The derivative computes everything that it needs itself. So if the statements only give values
//! to local variables that nothing else names, as in a subprogram that returns only a gradient,
//! they need not run before it.

use crate::access::{self, Access, SideEffect};
use crate::callgraph::CallGraph;
use crate::flow::FlowGraph;
use crate::ir::{
    AdBlock, AdItem, Class, Expr, Name, Program, SpecKind, Stmt, StmtKind, StorageClass, SymId,
    Symbol, Unit, walk_block,
};
use std::collections::{HashMap, HashSet};

/// Whether these units of a program do nothing but compute: no input, no output, no STOP, and no
/// calls of procedures without source.
pub(super) fn only_compute(program: &Program, units: &[usize], graph: &CallGraph) -> bool {
    units.iter().all(|i| {
        let unit = &program.units[*i];
        let known = |s: SymId| {
            let s = &unit.symbols[s];
            matches!(s.class, Class::Intrinsic(_))
                || s.storage_class == StorageClass::Global && graph.index(&s.name).is_some()
        };
        let mut fine = true;
        let mut look = |a: Access| match a {
            Access::Call(call) => fine &= known(call.callee),
            Access::SideEffect(what) => fine &= what == SideEffect::Storage,
            Access::Variable { .. } | Access::Closure { .. } => {}
        };
        access::at_entry(unit, None, &mut look);
        walk_block(&unit.body, &mut |s| {
            access::statement(unit, s, false, &mut look)
        });
        fine
    })
}

/// Where the variables of a unit with AD blocks are named.
#[derive(Default)]
pub(super) struct Observers {
    /// The variables that only one block names, in the call of its subroutine and as those of which
    /// it computes cotangents, each with the subroutine of the block.
    by_one: HashMap<SymId, Name>,
    /// The variables that are named anywhere else.
    elsewhere: HashSet<SymId>,
    /// The subroutines of blocks that may run more than once.
    repeated: HashSet<Name>,
}

impl Observers {
    pub fn of(unit: &Unit) -> Observers {
        let mut found = Observers::default();
        let everything = |k: &SpecKind| matches!(k, SpecKind::Save(l) if l.is_empty());
        let kept = unit.specs.iter().any(|s| everything(&s.kind));
        for (id, s) in unit.symbols.iter() {
            // A main program keeps its variables, but nothing reads them again.
            let own =
                s.class == Class::Variable && s.storage_class == StorageClass::Local && !s.saved;
            if !own || s.init.is_some() || s.attributes.iter().count() > 0 || kept {
                found.elsewhere.insert(id);
            }
            found.declaration(s);
        }
        for s in &unit.specs {
            found.spec(&s.kind);
        }
        let flow = FlowGraph::of(unit);
        for (i, s) in flow.stmts.iter().enumerate() {
            if let StmtKind::Ad(ad) = &s.kind
                && let Some((head, _)) = head(unit, ad)
                && flow.before(i)[i]
            {
                found.repeated.insert(head.clone());
            }
        }
        found.block(unit, &unit.body);
        found
    }

    /// Whether only a block observes a variable. `fresh` says that its value on entry may matter to
    /// the block.
    pub fn is_unseen(&self, s: SymId, block: &Name, fresh: bool) -> bool {
        !self.elsewhere.contains(&s)
            && self.by_one.get(&s) == Some(block)
            && !(fresh && self.repeated.contains(block))
    }

    fn declaration(&mut self, s: &Symbol) {
        for e in s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper)) {
            self.expr(e);
        }
        s.length.iter().for_each(|e| self.expr(e));
        match &s.class {
            Class::StatementFunction(_, e) | Class::Parameter(e) => self.expr(e),
            Class::Namelist(names) => self.elsewhere.extend(names),
            _ => {}
        }
    }

    fn spec(&mut self, spec: &SpecKind) {
        match spec {
            SpecKind::Equivalence(groups) => groups.iter().flatten().for_each(|e| self.expr(e)),
            SpecKind::Data(sets) => {
                sets.iter()
                    .flat_map(|s| &s.targets)
                    .for_each(|e| self.expr(e));
            }
            SpecKind::Pointer(pairs) => {
                for (pointer, e) in pairs {
                    self.elsewhere.extend([*pointer, e.sym]);
                }
            }
            _ => {}
        }
    }

    fn expr(&mut self, e: &Expr) {
        e.for_each_symbol(&mut |s| {
            self.elsewhere.insert(s);
        });
    }

    fn block(&mut self, unit: &Unit, block: &[Stmt]) {
        for s in block {
            if let StmtKind::Ad(ad) = &s.kind {
                self.ad(unit, ad);
                continue;
            }
            s.for_each_own_expr(&mut |e| self.expr(e));
            s.for_each_own_symbol(&mut |s| {
                self.elsewhere.insert(s);
            });
            if let StmtKind::LogicalIf(_, inner) = &s.kind {
                self.block(unit, std::slice::from_ref(inner));
            }
            for inner in s.blocks() {
                self.block(unit, inner);
            }
        }
    }

    fn ad(&mut self, unit: &Unit, ad: &AdBlock) {
        let Some((head, args)) = head(unit, ad) else {
            return;
        };
        for a in args {
            self.whole(a, head);
        }
        for item in ad.opening.iter().chain(&ad.closing) {
            self.item(item, head);
        }
    }

    /// Records a variable, or an element of one, that a block names in one of these ways.
    fn whole(&mut self, e: &Expr, head: &Name) {
        match e.base() {
            Some(s) => {
                let one = self.by_one.entry(s).or_insert_with(|| head.clone());
                if one != head {
                    self.elsewhere.insert(s);
                }
                e.children().into_iter().for_each(|c| self.expr(c));
            }
            None => self.expr(e),
        }
    }

    fn item(&mut self, item: &AdItem, head: &Name) {
        match item {
            AdItem::Assign(a) => {
                self.whole(&a.var, head);
                self.expr(&a.other);
            }
            AdItem::ImpliedDo(d) => {
                self.elsewhere.insert(d.var);
                [&d.from, &d.to]
                    .into_iter()
                    .chain(&d.step)
                    .for_each(|e| self.expr(e));
                d.items.iter().for_each(|i| self.item(i, head));
            }
        }
    }
}

/// Returns the subroutine that an AD block calls, with the arguments.
fn head<'u>(unit: &'u Unit, ad: &'u AdBlock) -> Option<(&'u Name, &'u [Expr])> {
    match &ad.body.first()?.kind {
        StmtKind::Call(head, args) => Some((&unit.symbols[*head].name, args)),
        _ => None,
    }
}
