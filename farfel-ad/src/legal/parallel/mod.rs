//! Moves the bodies of parallel loops of OpenMP into subroutines.
//!
//! ```text
//! !$OMP PARALLEL DO PRIVATE(T)           !$OMP PARALLEL DO
//!       DO I = 1, N                            DO I = 1, N
//!         T = SIN(X(I))                  →       CALL F_P_G1(I, X, Y)
//!         Y(I) = T*X(I)                        END DO
//!       END DO
//! ```
//!
//! Private variables become local variables of the subroutine. So do their derivatives, the tape of
//! an iteration, and all variables that differentiation adds: each call has its own, and nothing has
//! to be said about them in clauses. The adjoint of the loop is a loop of calls of the subroutine
//! with both sweeps ([`crate::reverse`]): iterations of a parallel loop do not depend on each other,
//! so each can be executed once more and reversed immediately, in any order.
//!
//! The loops remember which shared variables are updated by ATOMIC, and of which no two iterations
//! access the same element (`disjoint`). [`crate::parallel`] decides with this what the adjoints of
//! shared variables need.
//!
//! If this is not possible, the loop loses its directive in the derivative, which is then
//! sequential, and a warning says why. All other directives of OpenMP are removed from what is
//! differentiated.
//!
//! Sources: J. Hückelheim and L. Hascoët, *Source-to-source automatic differentiation of OpenMP
//! parallel loops*, ACM TOMS 48(1), 2022.

pub(crate) mod disjoint;
mod own_commons;
mod parts;
pub(crate) mod sums;

use super::regions;
use farfel_lang::Span;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::effects::Assigned;
use farfel_lang::ir::build::{binary, paren};
use farfel_lang::ir::{
    Arg, Attribute, BinOp, Block, Class, Do, DoControl, DoEnd, Expr, ExprKind, Name, Parallel,
    Program, Reduction, SpecKind, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit,
    UnitKind, for_each_symbol, unused_name, walk_block, walk_block_mut,
};
use farfel_lang::openmp;
use farfel_lang::storage::{UnitStorage, constant};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Whether a unit that is reachable from the heads has directives of OpenMP.
pub(crate) fn has_directives(program: &Program, heads: &[&str]) -> bool {
    reached(program, heads).any(|i| unit_has_directives(&program.units[i]))
}

fn reached<'p>(program: &'p Program, heads: &[&str]) -> impl Iterator<Item = usize> + use<'p> {
    let graph = CallGraph::of(program);
    let heads: Vec<usize> = heads.iter().filter_map(|h| graph.index(h)).collect();
    let found: BTreeSet<usize> = graph.reached(heads).into_iter().collect();
    found.into_iter().filter(|i| *i < program.units.len())
}

fn unit_has_directives(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        found |= match &s.kind {
            StmtKind::Comment(text) => openmp::is_directive(text),
            StmtKind::Do(d) => d.parallel().is_some(),
            _ => false,
        };
    });
    found
}

fn has_parallel_loops(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        found |= matches!(&s.kind, StmtKind::Do(d) if d.parallel().is_some());
    });
    found
}

/// Whether a unit has directives that say more about its statements than that loops are parallel.
fn synchronizes(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Comment(text) = &s.kind {
            found |= openmp::is_directive(text);
        }
    });
    let mut specs = unit.specs.iter();
    found |= specs.any(|s| matches!(&s.kind, SpecKind::Comment(c) if openmp::is_directive(c)));
    found
}

/// Outlines the bodies of the parallel loops below the heads, and removes all other directives. The
/// names of the new subroutines end in `suffix`; `reverse` says whether adjoints will be made.
pub(crate) fn with_called_bodies(
    program: &mut Program,
    heads: &[&str],
    suffix: &str,
    reverse: bool,
    warnings: &mut Vec<Diagnostic>,
) {
    let mut taken: HashSet<Name> = HashSet::new();
    for u in &program.units {
        taken.insert(u.name.clone());
        for (_, s) in u.symbols.iter() {
            taken.insert(s.name.clone());
            if let StorageClass::Common(block) = &s.storage_class {
                taken.insert(block.clone());
            }
        }
    }
    let assigned = Assigned::of(program);
    for i in reached(program, heads).collect::<Vec<_>>() {
        let unit = &mut program.units[i];
        if has_parallel_loops(unit) {
            let mut values = HashSet::new();
            add_values(unit, &unit.body, &mut Vec::new(), &mut values);
            let arrays = parts::keep_parts(unit, &assigned, &values);
            if !arrays.is_empty() {
                regions::outline(program, i, suffix, &mut taken, &arrays);
            }
        }
    }
    let graph = CallGraph::of(program);
    let synchronizing: Vec<usize> = (0..program.units.len())
        .filter(|i| synchronizes(&program.units[*i]))
        .collect();
    // The units that reach such a unit.
    let synchronizing: HashSet<Name> = (0..program.units.len())
        .filter(|i| {
            graph
                .reached([*i])
                .iter()
                .any(|r| synchronizing.contains(r))
        })
        .map(|i| program.units[i].name.clone())
        .collect();
    let scalars: HashMap<Name, Vec<bool>> = (program.units.iter())
        .map(|u| {
            let scalar = |a: &Arg| a.sym().is_some_and(|s| !u.symbols[s].is_array());
            (u.name.clone(), u.args.iter().map(scalar).collect())
        })
        .collect();
    let assigned = Assigned::of(program);
    let mut new = Vec::new();
    for i in reached(program, heads).collect::<Vec<_>>() {
        let unit = &mut program.units[i];
        if !unit_has_directives(unit) {
            continue;
        }
        let changing = assigned.in_unit(unit);
        let mut values = HashSet::new();
        add_values(unit, &unit.body, &mut Vec::new(), &mut values);
        let mut body = std::mem::take(&mut unit.body);
        let mut outliner = Outliner {
            unit,
            assigned: &assigned,
            changing,
            values,
            reverse,
            synchronizing: &synchronizing,
            scalars: &scalars,
            suffix,
            taken: &mut taken,
            new: &mut new,
            warnings,
        };
        outliner.block(&mut body);
        openmp::remove(&mut body);
        program.units[i].body = body;
    }
    let known = program.units.len();
    program.units.append(&mut new);
    own_commons::pass_copies(program, known, warnings);
}

/// The warning that the derivative of a loop, or of `sections`, is sequential.
pub(crate) fn sequential(span: Span, sections: bool, why: &str) -> Diagnostic {
    let what = match sections {
        true => "these sections",
        false => "this loop",
    };
    let message = format!("the derivative of {what} is not parallel: {why}");
    Diagnostic::warning(&rules::OPENMP, span, message)
}

/// Errors about variables below some heads of which each thread has its own, outside of COMMON.
pub fn errors_of_thread_private(program: &Program, heads: &[&str]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for i in reached(program, heads) {
        let unit = &program.units[i];
        let mut own = openmp::thread_private_saved(unit).into_iter();
        let Some(first) = own.find(|s| openmp::is_differentiable(unit, *s)) else {
            continue;
        };
        let symbol = &unit.symbols[first];
        found.push(
            Diagnostic::error(
                &rules::AD_UNSUPPORTED,
                symbol.span,
                format!(
                    "{} is THREADPRIVATE and not in COMMON: where its derivative would be is not known",
                    symbol.name
                ),
            )
            .help("put it into a COMMON block that is THREADPRIVATE"),
        );
    }
    found
}

/// Makes parallel loops of the regions below some heads ([`openmp::divide_regions`]). Returns nothing if
/// there are no such regions.
pub fn with_divided_regions(program: &Program, heads: &[&str]) -> Option<Program> {
    let with_regions: Vec<usize> = reached(program, heads)
        .filter(|i| directive_outside_loops(&program.units[*i].body).is_some())
        .collect();
    if with_regions.is_empty() {
        return None;
    }
    let mut program = program.clone();
    for i in with_regions {
        openmp::divide_regions(&mut program.units[i]);
    }
    Some(program)
}

/// Warnings about directives below some heads that derivatives do not follow, one for each unit.
pub fn warnings_of_directives(program: &Program, heads: &[&str]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for i in reached(program, heads) {
        let Some((span, text)) = directive_outside_loops(&program.units[i].body) else {
            continue;
        };
        found.push(match openmp::is_conditional(text) {
            true => Diagnostic::warning(
                &rules::OPENMP,
                span,
                "derivatives are those of the program without this statement",
            )
            .help("leave the `!$` out, if the statement matters for derivatives"),
            false => Diagnostic::warning(
                &rules::OPENMP,
                span,
                "derivatives do not follow this directive: they are computed by one thread",
            )
            .help("PARALLEL DO, PARALLEL SECTIONS, and PARALLEL around DO, SECTIONS, SINGLE and MASTER only, are kept in derivatives"),
        });
    }
    found
}

/// Returns the first directive that is not in a parallel loop, of which a warning says more.
fn directive_outside_loops(block: &Block) -> Option<(Span, &str)> {
    block.iter().find_map(|s| match &s.kind {
        StmtKind::Comment(text) if openmp::is_directive(text) && !openmp::is_atomic(text) => {
            Some((s.span, &*text.text))
        }
        StmtKind::Do(d) if d.parallel().is_some() => None,
        _ => s.blocks().into_iter().find_map(directive_outside_loops),
    })
}

struct Outliner<'u> {
    unit: &'u mut Unit,
    assigned: &'u Assigned,
    /// The variables that the unit assigns.
    changing: HashSet<SymId>,
    /// The variables that values are computed from, other than in reductions to themselves. Others
    /// only occur in conditions.
    values: HashSet<SymId>,
    /// Whether adjoints will be made.
    reverse: bool,
    /// The units that have, or reach, other directives.
    synchronizing: &'u HashSet<Name>,
    /// Which arguments of units are scalars.
    scalars: &'u HashMap<Name, Vec<bool>>,
    suffix: &'u str,
    taken: &'u mut HashSet<Name>,
    new: &'u mut Vec<Unit>,
    warnings: &'u mut Vec<Diagnostic>,
}

/// Why a body cannot be outlined.
type Reason = String;

impl Outliner<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out: Block = Vec::with_capacity(block.len());
        for mut s in std::mem::take(block) {
            let span = s.span;
            let is_parallel = matches!(&s.kind, StmtKind::Do(d) if d.parallel().is_some());
            if !is_parallel {
                for b in s.blocks_mut() {
                    self.block(b);
                }
                out.push(s);
                continue;
            }
            let StmtKind::Do(d) = &mut s.kind else {
                continue;
            };
            let at = d.directive.as_ref().map_or(span, |m| m.span);
            let sections = d.parallel().is_some_and(|p| p.sections);
            if let Err(why) = self.parallel_loop(d, span) {
                d.directive = None;
                openmp::remove(&mut d.body);
                let inner = |s: &mut Stmt| {
                    if let StmtKind::Do(d) = &mut s.kind
                        && d.parallel().is_some()
                    {
                        d.directive = None;
                    }
                };
                walk_block_mut(&mut d.body, &mut { inner });
                self.warnings.push(sequential(at, sections, &why));
                if let Some(parts) = sections.then(|| parts_of(d)).flatten() {
                    out.extend(parts);
                    continue;
                }
            }
            out.push(s);
        }
        *block = out;
    }

    /// Replaces the body of a parallel loop by a call.
    fn parallel_loop(&mut self, d: &mut Do, span: Span) -> Result<(), Reason> {
        let parallel = d.parallel().ok_or_else(String::new)?.clone();
        let DoControl::Count {
            var,
            from,
            to,
            step,
        } = &d.control
        else {
            return Err("the number of its iterations is not known".to_owned());
        };
        if parallel.reverse || !parallel.atomic.is_empty() {
            return Err("it is an adjoint already".to_owned());
        }
        let mut body = d.body.clone();
        let inner = |s: &mut Stmt| {
            if let StmtKind::Do(d) = &mut s.kind
                && d.parallel().is_some()
            {
                d.directive = None;
            }
        };
        walk_block_mut(&mut body, &mut { inner });
        let atomic = self.take_atomics(&mut body, &parallel)?;
        self.plain(&mut body)?;
        let assigned = self.assigned.in_block(self.unit, &body);
        self.reductions(&body, &parallel)?;
        let alone = disjoint::of_one_iteration(self.unit, &body, *var);
        self.check_lists(&parallel, &assigned, &atomic, &alone)?;
        let step_value = match step {
            None => Some(1),
            Some(s) => constant::integer(self.unit, s),
        };
        let bounds = [from, to];
        let disjoint = disjoint::disjoint(&disjoint::LoopBody {
            unit: self.unit,
            body: &body,
            var: *var,
            step: step_value,
            shared: &parallel.shared,
            first_private: &parallel.first_private,
            atomic: &atomic,
            assigned: &assigned,
            scalars: self.scalars,
        });
        let last = match parallel.last_private.is_empty() {
            true => None,
            false => Some(last_value(bounds, step.as_ref(), step_value)),
        };
        let call = self.outline(body, *var, &parallel, &assigned, last, span)?;
        let mut clauses = parallel;
        // The subroutine assigns LASTPRIVATE variables in the last iteration only.
        let last_private = std::mem::take(&mut clauses.last_private);
        let passed: Vec<SymId> = call.1.iter().filter_map(Expr::base).collect();
        let reduced: Vec<SymId> = clauses.reductions.iter().map(|(_, s)| *s).collect();
        clauses.shared = passed;
        clauses.shared.retain(|s| s != var && !reduced.contains(s));
        for (s, symbol) in self.unit.symbols.iter() {
            let common = matches!(symbol.storage_class, StorageClass::Common(_));
            if common && d.parallel().is_some_and(|p| p.shared.contains(&s)) {
                clauses.shared.push(s);
            }
        }
        clauses.private = vec![*var];
        clauses.first_private.clear();
        clauses.collapse = 1;
        clauses.thread_private.clear();
        clauses.atomic = atomic.into_iter().collect();
        clauses.disjoint = disjoint;
        clauses.disjoint.extend(alone);
        clauses.disjoint.extend(last_private);
        let (callee, args) = call;
        d.body = vec![Stmt::call(callee, args, span)];
        d.end = DoEnd::EndDo(None);
        if let Some(p) = d.parallel_mut() {
            *p = clauses;
        }
        Ok(())
    }

    /// Removes the ATOMIC directives of a body, and CRITICAL around what ATOMIC could be about.
    /// Returns the variables that they are about.
    fn take_atomics(
        &self,
        body: &mut Block,
        parallel: &Parallel,
    ) -> Result<BTreeSet<SymId>, Reason> {
        let mut found = BTreeSet::new();
        self.take_atomics_in(body, &mut found)?;
        for s in &found {
            if !parallel.shared.contains(s) {
                return Err(format!(
                    "ATOMIC is about {}, which is not shared",
                    self.unit.symbols[*s].name
                ));
            }
            if !sums::only_updates(body, *s) {
                return Err(format!(
                    "{} is used otherwise than in updates by ATOMIC or CRITICAL",
                    self.unit.symbols[*s].name
                ));
            }
        }
        Ok(found)
    }

    fn take_atomics_in(
        &self,
        block: &mut Block,
        found: &mut BTreeSet<SymId>,
    ) -> Result<(), Reason> {
        let mut out: Block = Vec::with_capacity(block.len());
        let mut stmts = std::mem::take(block).into_iter().peekable();
        while let Some(mut s) = stmts.next() {
            match &s.kind {
                StmtKind::Comment(text) if openmp::is_atomic(text) => {
                    let target = stmts.peek().and_then(|s| match &s.kind {
                        StmtKind::Assign(target, _) if sums::is_update(s) => target.base(),
                        _ => None,
                    });
                    let Some(target) = target else {
                        return Err("ATOMIC is about a statement that is not a sum".to_owned());
                    };
                    found.insert(target);
                    continue;
                }
                StmtKind::Comment(text) if openmp::begins_critical(text) => {
                    let mut sums: Block = Vec::new();
                    loop {
                        match stmts.next() {
                            Some(s) if is_comment(&s, openmp::ends_critical) => break,
                            Some(s) => sums.push(s),
                            None => return Err("CRITICAL does not end".to_owned()),
                        }
                    }
                    self.sums_in(&sums, found)?;
                    out.append(&mut sums);
                    continue;
                }
                StmtKind::Comment(text) if openmp::is_directive(text) => {
                    return Err(format!("it contains `!{}`", text.text.trim()));
                }
                _ => {}
            }
            for b in s.blocks_mut() {
                self.take_atomics_in(b, found)?;
            }
            out.push(s);
        }
        *block = out;
        Ok(())
    }

    /// Adds the variables that a CRITICAL adds to. Nothing else may happen there.
    fn sums_in(&self, block: &Block, found: &mut BTreeSet<SymId>) -> Result<(), Reason> {
        for s in block {
            // They may change something that CRITICAL protects.
            if calls_procedures(self.unit, s) {
                return Err("CRITICAL is about calls of procedures".to_owned());
            }
            match &s.kind {
                StmtKind::Assign(target, _) if sums::is_update(s) => found.extend(target.base()),
                StmtKind::LogicalIf(_, inner) => {
                    self.sums_in(&vec![(**inner).clone()], found)?;
                }
                StmtKind::Comment(c) if !openmp::is_directive(c) => {}
                StmtKind::Continue => {}
                StmtKind::Do(_) | StmtKind::If(_) => {
                    for b in s.blocks() {
                        self.sums_in(b, found)?;
                    }
                }
                _ => return Err("CRITICAL is about other statements than sums".to_owned()),
            }
        }
        Ok(())
    }

    /// Checks that a body has only statements that a subroutine can have; CYCLE becomes RETURN.
    fn plain(&self, body: &mut Block) -> Result<(), Reason> {
        self.cycles(body)?;
        let mut reason = None;
        let mut labels = HashSet::new();
        let mut jumps = Vec::new();
        walk_block(body, &mut |s| {
            labels.extend(s.label);
            jumps.extend(s.kind.jumps());
            let what = match &s.kind {
                StmtKind::Io(_) | StmtKind::Format(_) => "it has input or output",
                StmtKind::Allocation(_) => "it allocates arrays",
                StmtKind::AssignedGoto(..) | StmtKind::AssignLabel(..) => "it assigns labels",
                StmtKind::Entry(_) => "it has an ENTRY",
                StmtKind::Ad(_) => "it has an AD block",
                StmtKind::Stop(_) | StmtKind::Pause(_) => "it may end the program",
                StmtKind::Cycle(Some(_)) | StmtKind::Exit(Some(_)) => "it leaves a named loop",
                _ => return,
            };
            reason.get_or_insert(what);
        });
        if let Some(what) = reason {
            return Err(what.to_owned());
        }
        if jumps.iter().any(|l| !labels.contains(l)) {
            return Err("it jumps out of the loop".to_owned());
        }
        for s in called(self.unit, body) {
            if self.synchronizing.contains(&s) {
                return Err(format!("{s} has directives of OpenMP"));
            }
        }
        Ok(())
    }

    fn cycles(&self, block: &mut Block) -> Result<(), Reason> {
        for s in block {
            match &mut s.kind {
                StmtKind::Return(_) => return Err("it has a RETURN".to_owned()),
                StmtKind::Cycle(None) => s.kind = StmtKind::Return(None),
                StmtKind::Exit(None) => return Err("it has an EXIT".to_owned()),
                // CYCLE and EXIT are about these.
                StmtKind::Do(_) => {}
                StmtKind::LogicalIf(_, inner) => {
                    let mut one = vec![(**inner).clone()];
                    self.cycles(&mut one)?;
                    **inner = one.remove(0);
                }
                _ => {
                    for b in s.blocks_mut() {
                        self.cycles(b)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that sums are used only as such.
    fn reductions(&self, body: &Block, parallel: &Parallel) -> Result<(), Reason> {
        for (op, s) in &parallel.reductions {
            let symbol = &self.unit.symbols[*s];
            let matters = openmp::is_differentiable(self.unit, *s);
            if matters && *op == Reduction::Add && !sums::only_updates(body, *s) {
                return Err(format!(
                    "{} is used otherwise than in {} = {} + …",
                    symbol.name, symbol.name, symbol.name
                ));
            }
            if matches!(symbol.storage_class, StorageClass::Common(_)) {
                return Err(format!("{} is in COMMON", symbol.name));
            }
            // An iteration of the adjoint does not know the value that the iterations before have made.
            let used = symbol.storage_class != StorageClass::Local || self.values.contains(s);
            if self.reverse && matters && *op != Reduction::Add && used {
                return Err(format!(
                    "the derivative of REDUCTION({}:{}) is not a sum",
                    op.word(),
                    symbol.name
                ));
            }
        }
        Ok(())
    }

    /// Checks what the clauses say about variables.
    fn check_lists(
        &self,
        parallel: &Parallel,
        assigned: &HashSet<SymId>,
        atomic: &BTreeSet<SymId>,
        alone: &BTreeSet<SymId>,
    ) -> Result<(), Reason> {
        let name = |s: SymId| &self.unit.symbols[s].name;
        let storage = UnitStorage::of(self.unit);
        for s in &parallel.first_private {
            if assigned.contains(s) {
                return Err(format!(
                    "{} is FIRSTPRIVATE, and the loop changes it",
                    name(*s)
                ));
            }
        }
        for s in &parallel.last_private {
            let symbol = &self.unit.symbols[*s];
            if symbol.is_array() || symbol.ty == Some(Type::Character) {
                return Err(format!("{} is LASTPRIVATE and not a number", name(*s)));
            }
        }
        for s in &parallel.shared {
            let symbol = &self.unit.symbols[*s];
            let passed = !matches!(symbol.storage_class, StorageClass::Common(_));
            let known = atomic.contains(s) || alone.contains(s);
            if passed && assigned.contains(s) && !symbol.is_array() && !known {
                return Err(format!(
                    "all iterations may assign {}, which they share",
                    name(*s)
                ));
            }
        }
        let own = parallel.private.iter().chain(&parallel.last_private);
        for s in own {
            if matches!(self.unit.symbols[*s].storage_class, StorageClass::Common(_)) {
                return Err(format!("{} is private and in COMMON", name(*s)));
            }
        }
        let mut all = Vec::new();
        parallel.for_each_symbol(&mut |s| all.push(s));
        for s in all {
            if storage.overlapping(s).any(|o| o != s) {
                return Err(format!("{} shares storage by EQUIVALENCE", name(s)));
            }
        }
        Ok(())
    }

    /// Makes a subroutine of a body. Returns its symbol and the arguments of its call.
    fn outline(
        &mut self,
        mut body: Block,
        var: SymId,
        parallel: &Parallel,
        assigned: &HashSet<SymId>,
        last: Option<Expr>,
        span: Span,
    ) -> Result<(SymId, Vec<Expr>), Reason> {
        let own: HashSet<SymId> = parallel
            .private
            .iter()
            .chain(&parallel.last_private)
            .copied()
            .filter(|s| *s != var)
            .collect();
        let mut needed = self.needed(&body, &own, assigned)?;
        needed.remove(&var);
        let mut names = self.unit.symbols.clone();
        let wanted = format!("{}_P{}", self.unit.name, self.suffix);
        let name = unused_name(&wanted, &|n| self.taken.contains(n));
        self.taken.insert(name.clone());
        // LASTPRIVATE variables are local, and assigned to an argument at the end.
        let mut new = self.unit.clone();
        let mut renamed: Vec<(SymId, SymId)> = Vec::new();
        for s in &parallel.last_private {
            let of = &self.unit.symbols[*s];
            let mut symbol = Symbol::variable(
                names.unused(&of.name, &|_| false),
                of.ty.unwrap_or(Type::REAL),
                of.span,
            );
            symbol.typed = true;
            names.add(symbol.clone());
            renamed.push((*s, new.symbols.add(symbol)));
            needed.insert(*s);
        }
        farfel_lang::ir::for_each_symbol_mut(&mut body, &mut |s| {
            if let Some((_, own)) = renamed.iter().find(|(of, _)| of == s) {
                *s = *own;
            }
        });
        let mut args = vec![Expr::var(var, span)];
        args.extend(needed.iter().map(|s| Expr::var(*s, span)));
        new.kind = UnitKind::Subroutine;
        new.name = name.clone();
        new.span = span;
        new.comments = vec![format!(
            " One iteration of a parallel loop of {}",
            self.unit.name
        )];
        new.remarks = Default::default();
        new.result = None;
        new.typed_header = false;
        new.args = [var]
            .iter()
            .chain(&needed)
            .map(|s| Arg::Dummy(*s))
            .collect();
        if let Some(last) = last {
            let mut symbol =
                Symbol::variable(new.symbols.unused("LAST", &|_| false), Type::INTEGER, span);
            symbol.ty = self.unit.symbols[var].ty;
            symbol.typed = true;
            symbol.storage_class = StorageClass::Dummy;
            let s = new.symbols.add(symbol);
            new.declare(s);
            new.args.push(Arg::Dummy(s));
            args.push(paren(last));
            let is_last = binary(BinOp::Eq, Expr::var(var, span), Expr::var(s, span));
            let assign = |(of, own): &(SymId, SymId)| {
                Stmt::assign(Expr::var(*of, span), Expr::var(*own, span), span)
            };
            let assign = renamed.iter().map(assign).collect();
            body.push(Stmt::branches(vec![(is_last, assign)], None, span));
        }
        new.body = body;
        let mut dummies = needed.clone();
        dummies.insert(var);
        regions::declarations(&mut new, &dummies, None);
        for (_, own) in &renamed {
            new.declare(*own);
        }
        // Private variables that were arguments, or the result.
        for s in own.iter().filter(|s| !dummies.contains(s)) {
            let symbol = &mut new.symbols[*s];
            if matches!(
                symbol.storage_class,
                StorageClass::Dummy | StorageClass::Result
            ) {
                symbol.storage_class = StorageClass::Local;
                symbol.typed = true;
                new.declare(*s);
            }
        }
        self.new.push(new);
        let symbol = Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            ..Symbol::new(name, span)
        };
        Ok((self.unit.symbols.add(symbol), args))
    }

    /// Returns the variables and procedures that a body needs as arguments.
    fn needed(
        &self,
        body: &[Stmt],
        own: &HashSet<SymId>,
        assigned: &HashSet<SymId>,
    ) -> Result<BTreeSet<SymId>, Reason> {
        let unit = &*self.unit;
        let mut open: Vec<SymId> = Vec::new();
        for_each_symbol(body, &mut |s| open.push(s));
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        while let Some(s) = open.pop() {
            if !seen.insert(s) {
                continue;
            }
            let symbol = &unit.symbols[s];
            match &symbol.class {
                Class::Variable => {}
                Class::StatementFunction(dummies, value) => {
                    value.for_each_symbol(&mut |s| {
                        open.extend((!dummies.contains(&s)).then_some(s));
                    });
                    continue;
                }
                c if c.is_procedure() && symbol.storage_class == StorageClass::Dummy => {
                    found.insert(s);
                    continue;
                }
                _ => continue,
            }
            let name = &symbol.name;
            if matches!(
                symbol.storage_class,
                StorageClass::Pointee(_) | StorageClass::Host(_)
            ) || symbol.has(Attribute::Allocatable)
                || symbol.has(Attribute::Optional)
                || symbol.is_assumed_shape()
            {
                return Err(format!("{name} cannot be passed to a subroutine"));
            }
            let bounds = symbol
                .dims
                .iter()
                .flat_map(|d| d.lower.iter().chain(&d.upper));
            let mut changes = false;
            for e in bounds.chain(&symbol.length) {
                e.for_each_symbol(&mut |x| {
                    open.push(x);
                    changes |= self.changing.contains(&x) || assigned.contains(&x);
                });
            }
            if changes {
                return Err(format!("the bounds of {name} change"));
            }
            if own.contains(&s) {
                continue;
            }
            if !matches!(symbol.storage_class, StorageClass::Common(_)) {
                found.insert(s);
            }
        }
        Ok(found)
    }
}

/// Adds the variables that a block computes values from. `reduced` has those of reductions in
/// enclosing loops, which do not count there.
fn add_values(unit: &Unit, block: &[Stmt], reduced: &mut Vec<SymId>, out: &mut HashSet<SymId>) {
    for s in block {
        let known = reduced.len();
        let mut add = |e: &Expr| {
            e.for_each_symbol(&mut |s| {
                if !reduced.contains(&s) {
                    out.insert(s);
                }
            });
        };
        match &s.kind {
            StmtKind::Assign(target, value) => {
                add(value);
                target.children().into_iter().for_each(&mut add);
            }
            StmtKind::Call(_, args) => args.iter().for_each(&mut add),
            StmtKind::Io(_) => {}
            _ => s.for_each_own_expr(&mut |e| {
                let mut calls = false;
                e.walk(&mut |e| {
                    if let ExprKind::Call(f, _) = &e.kind {
                        calls |= !matches!(unit.symbols[*f].class, Class::Intrinsic(_));
                    }
                });
                if calls {
                    add(e);
                }
            }),
        }
        if let StmtKind::Do(d) = &s.kind
            && let Some(parallel) = d.parallel()
        {
            reduced.extend(parallel.reductions.iter().map(|(_, s)| *s));
        }
        if let StmtKind::LogicalIf(_, inner) = &s.kind {
            add_values(unit, std::slice::from_ref(&**inner), reduced, out);
        }
        for b in s.blocks() {
            add_values(unit, b, reduced, out);
        }
        reduced.truncate(known);
    }
}

/// The value of a loop variable in the last iteration.
fn last_value([from, to]: [&Expr; 2], step: Option<&Expr>, known: Option<i64>) -> Expr {
    match (step, known) {
        (None, _) | (_, Some(1 | -1)) => to.clone(),
        (Some(step), _) => {
            let length = binary(BinOp::Sub, to.clone(), paren(from.clone()));
            let steps = paren(binary(BinOp::Div, paren(length), paren(step.clone())));
            binary(
                BinOp::Add,
                from.clone(),
                binary(BinOp::Mul, steps, paren(step.clone())),
            )
        }
    }
}

/// Returns the statements of the sections that the iterations of a loop execute; nothing if they have become a call.
fn parts_of(d: &mut Do) -> Option<Block> {
    match d.body.as_mut_slice() {
        [
            Stmt {
                kind: StmtKind::If(choice),
                ..
            },
        ] if choice.otherwise.is_none() => {
            let arms = choice.arms.iter_mut();
            Some(arms.flat_map(|(_, part)| std::mem::take(part)).collect())
        }
        _ => None,
    }
}

/// Whether a statement calls procedures other than intrinsic ones.
fn calls_procedures(unit: &Unit, s: &Stmt) -> bool {
    let mut found = false;
    walk_block(std::slice::from_ref(s), &mut |s| {
        found |= matches!(s.kind, StmtKind::Call(..));
        s.for_each_own_expr(&mut |e| {
            e.walk(&mut |e| {
                found |= matches!(&e.kind, ExprKind::Call(f, _)
                    if !matches!(unit.symbols[*f].class, Class::Intrinsic(_)));
            });
        });
    });
    found
}

fn is_comment(s: &Stmt, is: impl Fn(&str) -> bool) -> bool {
    matches!(&s.kind, StmtKind::Comment(c) if is(c))
}

/// The top-level procedures that a block refers to.
fn called(unit: &Unit, body: &[Stmt]) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    for_each_symbol(body, &mut |s| {
        let s = &unit.symbols[s];
        if s.storage_class == StorageClass::Global && s.class.is_procedure() {
            found.insert(s.name.clone());
        }
    });
    found
}
