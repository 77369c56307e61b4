//! THREADPRIVATE COMMON blocks in the iterations of parallel loops.
//!
//! An iteration may use them for values of its own, which it assigns before it reads them, and may read the
//! values that COPYIN gives all threads. These become values of the loop, which iterations copy:
//!
//! ```text
//! !$OMP PARALLEL DO COPYIN(/C/)              Q_1 = Q
//!       DO I = 1, N                     →  !$OMP PARALLEL DO
//!         CALL F_P_G1(I, X, Y)                 DO I = 1, N
//!       END DO                                   CALL F_P_G1(I, X, Y, Q_1)     assigns Q = Q_1 first
//! ```
//!
//! So no iteration depends on what its thread did before, and the derivative of `Q` goes to `Q_1`, which all
//! iterations share, like any other variable. The derivatives of a block are in a block that is
//! THREADPRIVATE, too; between iterations, its adjoints are zero.

use super::{Reason, sequential, sums};
use farfel_lang::callgraph::CallGraph;
use farfel_lang::dataflow::{CommonUse, VariableUse, procedures};
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    Arg, Block, Do, Expr, Name, Program, Stmt, StmtKind, StorageClass, SymId, Symbol, Unit,
    walk_block,
};
use farfel_lang::openmp;
use std::collections::{BTreeMap, HashMap};

/// Makes loops sequential whose iterations depend on what their threads did before, and passes the values of
/// COPYIN to the others. `known` has the number of units before loops were outlined.
pub(super) fn pass_copies(program: &mut Program, known: usize, warnings: &mut Vec<Diagnostic>) {
    if openmp::thread_private_blocks(&program.units).is_empty() {
        return;
    }
    let uses: HashMap<Name, Vec<CommonUse>> = procedures(program, 4)
        .into_iter()
        .filter(|p| p.entry.is_none() && p.within.is_none())
        .map(|p| (p.unit.name.clone(), p.commons))
        .collect();
    let mut copies: BTreeMap<usize, Vec<(SymId, Symbol)>> = BTreeMap::new();
    for i in 0..known {
        let mut unit = program.units[i].clone();
        let mut body = std::mem::take(&mut unit.body);
        let mut loops = Loops {
            program,
            known,
            uses: &uses,
            copies: &mut copies,
            warnings,
        };
        if loops.block(&mut unit, &mut body) {
            unit.body = body;
            program.units[i] = unit;
        }
    }
    for (i, list) in copies {
        let unit = &mut program.units[i];
        let span = unit.span;
        let assign = |(own, copy): (SymId, Symbol)| {
            let copy = unit.symbols.add(copy);
            unit.declare(copy);
            unit.args.push(Arg::Dummy(copy));
            Stmt::assign(Expr::var(own, span), Expr::var(copy, span), span)
        };
        let mut body: Block = list.into_iter().map(assign).collect();
        body.append(&mut unit.body);
        unit.body = body;
    }
}

struct Loops<'l> {
    program: &'l Program,
    known: usize,
    /// What each unit does with COMMON.
    uses: &'l HashMap<Name, Vec<CommonUse>>,
    /// For each iteration, the variables that it copies, with the arguments that have their values.
    copies: &'l mut BTreeMap<usize, Vec<(SymId, Symbol)>>,
    warnings: &'l mut Vec<Diagnostic>,
}

impl Loops<'_> {
    /// Returns whether there is a parallel loop.
    fn block(&mut self, unit: &mut Unit, block: &mut Block) -> bool {
        let mut found = false;
        let mut out: Block = Vec::with_capacity(block.len());
        for mut s in std::mem::take(block) {
            for b in s.blocks_mut() {
                found |= self.block(unit, b);
            }
            let span = s.span;
            if let StmtKind::Do(d) = &mut s.kind
                && d.parallel().is_some()
            {
                found = true;
                match self.copies(unit, d) {
                    Ok(before) => out.extend(before),
                    Err(why) => {
                        let at = d.directive.as_ref().map_or(span, |m| m.span);
                        let sections = d.parallel().is_some_and(|p| p.sections);
                        self.warnings.push(sequential(at, sections, &why));
                        d.directive = None;
                    }
                }
            }
            out.push(s);
        }
        *block = out;
        found
    }

    /// Passes what a loop copies to its iterations. Returns the statements before the loop.
    fn copies(&mut self, unit: &mut Unit, d: &mut Do) -> Result<Block, Reason> {
        let [
            Stmt {
                kind: StmtKind::Call(f, args),
                span,
                ..
            },
        ] = d.body.as_slice()
        else {
            return Ok(Vec::new());
        };
        let (span, mut args) = (*span, args.clone());
        let f = *f;
        let name = unit.symbols[f].name.clone();
        let added = (self.program.units[self.known..].iter()).position(|u| u.name == name);
        let Some(at) = added.map(|at| at + self.known) else {
            return Ok(Vec::new());
        };
        let iteration = &self.program.units[at];
        let copied: Vec<SymId> = d.parallel().map_or(Vec::new(), |p| p.copy_in.clone());
        let mut wanted: Vec<SymId> = Vec::new();
        for c in self.uses.get(&name).into_iter().flatten() {
            if !self.is_thread_private(&c.block) {
                continue;
            }
            for (variable, used) in &c.variables {
                let here = unit.symbols.find(variable).filter(|s| {
                    let class = &unit.symbols[*s].storage_class;
                    matches!(class, StorageClass::Common(b) if *b == c.block)
                });
                let copied = here.filter(|s| copied.contains(s));
                let declared = self.program.unit(&c.declared_in);
                if self.is_copied(at, &c.block, variable, *used, copied.is_some(), declared)? {
                    wanted.extend(copied);
                }
            }
        }
        let mut before: Block = Vec::new();
        let mut list = Vec::new();
        let mut names = iteration.symbols.clone();
        for s in wanted {
            let of = unit.symbols[s].clone();
            let name = unit.symbols.unused(&of.name, &|n| names.find(n).is_some());
            let mut symbol = Symbol {
                storage_class: StorageClass::Local,
                name: name.clone(),
                typed: true,
                saved: false,
                init: None,
                ..of.clone()
            };
            let copy = unit.symbols.add(symbol.clone());
            unit.declare(copy);
            before.push(Stmt::assign(
                Expr::var(copy, span),
                Expr::var(s, span),
                span,
            ));
            args.push(Expr::var(copy, span));
            symbol.storage_class = StorageClass::Dummy;
            let own = iteration.symbols.find(&of.name).ok_or_else(String::new)?;
            names.add(symbol.clone());
            list.push((own, symbol));
            if let Some(p) = d.parallel_mut() {
                p.shared.push(copy);
            }
        }
        if let Some(p) = d.parallel_mut() {
            p.copy_in.clear();
        }
        d.body = vec![Stmt::call(f, args, span)];
        self.copies.insert(at, list);
        Ok(before)
    }

    fn is_thread_private(&self, block: &Name) -> bool {
        let mut units = self.program.units.iter();
        units.any(|u| u.thread_private().any(|b| b == block))
    }

    /// Whether an iteration needs the value of a variable from before the loop.
    fn is_copied(
        &self,
        iteration: usize,
        block: &Name,
        variable: &Name,
        used: VariableUse,
        copied: bool,
        declared: Option<&Unit>,
    ) -> Result<bool, Reason> {
        if !used.reads {
            return Ok(false);
        }
        let symbol = declared.and_then(|u| Some(&u.symbols[u.symbols.find(variable)?]));
        let is_array = symbol.is_none_or(Symbol::is_array);
        if !used.writes {
            return match copied {
                true => Ok(true),
                false => Err(format!(
                    "{variable} in /{block}/ is THREADPRIVATE and has a value from before, without COPYIN(/{block}/)"
                )),
            };
        }
        // An array may be assigned element by element before it is read.
        if !is_array || self.only_adds(iteration, block, variable) {
            return Err(format!(
                "iterations read {variable} in /{block}/, which is THREADPRIVATE, before they assign it, and change it"
            ));
        }
        Ok(copied)
    }

    /// Whether an iteration, or what it calls, only adds to elements of an array. True if that is not known.
    fn only_adds(&self, iteration: usize, block: &Name, variable: &Name) -> bool {
        let graph = CallGraph::of(self.program);
        let mut assigned = false;
        for i in graph.reached([iteration]) {
            let Some(unit) = self.program.units.get(i) else {
                continue;
            };
            let in_block = |s: SymId| match &unit.symbols[s].storage_class {
                StorageClass::Common(b) => b == block,
                _ => false,
            };
            let declares = unit.symbols.ids().into_iter().any(in_block);
            match unit.symbols.find(variable).filter(|s| in_block(*s)) {
                None if declares => return true,
                None => {}
                Some(s) => walk_block(&unit.body, &mut |stmt| match &stmt.kind {
                    StmtKind::Assign(t, _) => {
                        assigned |= t.base() == Some(s) && !sums::is_update(stmt);
                    }
                    StmtKind::Call(_, args) => {
                        assigned |= args.iter().any(|a| a.base() == Some(s));
                    }
                    _ => {}
                }),
            }
        }
        !assigned
    }
}
