//! Parallel loops of OpenMP.
//!
//! For the parser, directives are comments, and sequential programs treat them so. [`read`] makes
//! `!$OMP PARALLEL DO`, and PARALLEL regions that consist of DO loops, parts of these loops
//! ([`Parallel`]), so that passes can follow the variables in their clauses. All other directives
//! stay comments; derivatives are made as if these were not there ([`is_directive`]).
//!
//! Source: OpenMP Application Programming Interface 5.0, sections 2.9.2 and 2.19.

use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Attribute, BinOp, Block, Do, DoControl, Expr, ExprKind, LoopDirective, LoopDirectiveKind, Name,
    Parallel, Program, Reduction, Schedule, Spec, SpecKind, Stmt, StmtKind, StorageClass, SymId,
    Symbol, Type, Unit, for_each_symbol, walk_block, walk_block_mut,
};
use crate::source::{Sources, Span};
use crate::syntax::{Form, NoIncludes, parse};
use std::collections::{BTreeSet, HashSet};

/// Returns the words of a directive of OpenMP in a comment, in upper case.
fn words(comment: &str) -> Option<String> {
    let sentinel = comment.get(..4)?;
    let rest = comment.get(4..)?;
    let found = sentinel.eq_ignore_ascii_case("$OMP") && rest.starts_with([' ', '\t']);
    found.then(|| rest.trim().to_ascii_uppercase())
}

/// Whether a comment is a directive of OpenMP, or a statement that only compilers with OpenMP see.
pub fn is_directive(comment: &str) -> bool {
    words(comment).is_some() || is_conditional(comment)
}

/// Whether a comment is a statement that only compilers with OpenMP see (`!$ N = 4`).
pub fn is_conditional(comment: &str) -> bool {
    comment.starts_with("$ ")
}

/// Whether a comment is `$OMP ATOMIC`, of a statement that updates a variable.
pub fn is_atomic(comment: &str) -> bool {
    words(comment).is_some_and(|w| w == "ATOMIC" || w == "ATOMIC UPDATE")
}

/// Whether a comment is `$OMP CRITICAL`, with or without a name.
pub fn begins_critical(comment: &str) -> bool {
    words(comment).is_some_and(|w| strip_words(&w, &["CRITICAL"]).is_some())
}

/// Whether a comment is `$OMP END CRITICAL`.
pub fn ends_critical(comment: &str) -> bool {
    words(comment).is_some_and(|w| strip_words(&w, &["END", "CRITICAL"]).is_some())
}

/// Makes the parallel loops of a resolved program from their directives.
///
/// Units with AD blocks keep no other directives: these blocks use variables of which the directives
/// do not say who shares them. A warning says so.
pub fn read(program: &mut Program) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for unit in &mut program.units {
        read_unit(unit, &mut warnings);
    }
    warnings
}

fn read_unit(unit: &mut Unit, warnings: &mut Vec<Diagnostic>) {
    take_from_declarations(unit);
    take_thread_private(unit);
    let reader = Reader {
        unit,
        divides: false,
    };
    let mut body = unit.body.clone();
    reader.block(&mut body);
    unit.body = body;
    let mut blocks = false;
    walk_block(&unit.body, &mut |s| {
        blocks |= matches!(s.kind, StmtKind::Ad(_))
    });
    if blocks && let Some(span) = remove(&mut unit.body) {
        warnings.push(
            Diagnostic::warning(
                &rules::OPENMP,
                span,
                "this directive is ignored, because the unit has AD blocks",
            )
            .help("only PARALLEL DO may enclose or precede AD blocks; call a subprogram that has the other directives"),
        );
    }
    for nested in &mut unit.nested {
        read_unit(nested, warnings);
    }
}

/// Removes the directives that are comments. Returns the position of the first one.
pub fn remove(block: &mut Block) -> Option<Span> {
    let mut first = None;
    block.retain_mut(|s| {
        if let StmtKind::Comment(text) = &s.kind
            && is_directive(text)
        {
            first.get_or_insert(s.span);
            return false;
        }
        for b in s.blocks_mut() {
            let found = remove(b);
            first = first.or(found);
        }
        true
    });
    first
}

/// Moves directives that precede the first statement from the declarations to the statements.
fn take_from_declarations(unit: &mut Unit) {
    let comment = |s: &crate::ir::Spec| match &s.kind {
        SpecKind::Comment(text) => Some(words(text)),
        _ => None,
    };
    let run = unit.specs.iter().rev().take_while(|s| comment(s).is_some());
    let start = unit.specs.len() - run.count();
    let executes = |w: &str| !w.starts_with("THREADPRIVATE") && !w.starts_with("DECLARE");
    let first = (start..unit.specs.len()).find(|i| {
        comment(&unit.specs[*i])
            .flatten()
            .is_some_and(|w| executes(&w))
    });
    let Some(first) = first else { return };
    let moved = unit.specs.split_off(first).into_iter();
    let moved = moved.filter_map(|s| match s.kind {
        SpecKind::Comment(text) => Some(Stmt::new(StmtKind::Comment(text), s.span)),
        _ => None,
    });
    let mut body: Block = moved.collect();
    body.append(&mut unit.body);
    unit.body = body;
    unit.number();
}

/// Makes `!$OMP THREADPRIVATE` about COMMON blocks part of the declarations. What it says about other
/// variables stays a comment.
fn take_thread_private(unit: &mut Unit) {
    let blocks_of = |text: &str| -> Option<Vec<Name>> {
        let list = words(text)?;
        let list = strip_words(&list, &["THREADPRIVATE"])?.trim();
        let list = list.strip_prefix('(')?.strip_suffix(')')?;
        let block = |item: &str| {
            let name = item.trim().strip_prefix('/')?.strip_suffix('/')?;
            Some(Name::from(name.trim()))
        };
        list.split(',').map(block).collect()
    };
    let mut found: Vec<(Name, Span)> = Vec::new();
    let mut take = |text: &str, span: Span| {
        let blocks = blocks_of(text);
        let is_one = blocks.is_some();
        found.extend(blocks.into_iter().flatten().map(|b| (b, span)));
        is_one
    };
    unit.specs.retain(|s| match &s.kind {
        SpecKind::Comment(text) => !take(text, s.span),
        _ => true,
    });
    // Comments before the first statement may be among the statements.
    unit.body.retain(|s| match &s.kind {
        StmtKind::Comment(text) => !take(text, s.span),
        _ => true,
    });
    for (block, span) in found {
        declare_thread_private(unit, block, span);
    }
}

/// Declares after a COMMON block of a unit that each thread has its own.
fn declare_thread_private(unit: &mut Unit, block: Name, span: Span) {
    let declares = |s: &Spec| match &s.kind {
        SpecKind::Common(blocks) => blocks.iter().any(|(b, _)| *b == block),
        _ => false,
    };
    // The compiler reports a block that does not exist.
    let at = unit.specs.iter().rposition(declares);
    let at = at.map_or(unit.specs.len(), |at| at + 1);
    let kind = SpecKind::ThreadPrivate(vec![block]);
    unit.specs.insert(at, Spec { kind, span });
}

/// Makes THREADPRIVATE blocks what they are in every unit that declares them.
pub fn spread_thread_private<'u>(
    units: impl IntoIterator<Item = &'u mut Unit>,
    blocks: &BTreeSet<Name>,
) {
    if blocks.is_empty() {
        return;
    }
    for unit in units {
        unit.without_undeclared_thread_private();
        let known: Vec<&Name> = unit.thread_private().collect();
        let mut missing: BTreeSet<Name> = BTreeSet::new();
        for s in &unit.specs {
            if let SpecKind::Common(list) = &s.kind {
                let new = list.iter().map(|(b, _)| b);
                missing.extend(
                    new.filter(|b| blocks.contains(*b) && !known.contains(b))
                        .cloned(),
                );
            }
        }
        let span = unit.span;
        for block in missing {
            declare_thread_private(unit, block, span);
        }
        spread_thread_private(&mut unit.nested, blocks);
    }
}

/// The COMMON blocks of a program of which each thread has its own.
pub fn thread_private_blocks(units: &[Unit]) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    for u in units {
        found.extend(u.thread_private().cloned());
        found.extend(thread_private_blocks(&u.nested));
    }
    found
}

/// The variables outside of COMMON of which each thread has its own by THREADPRIVATE.
pub fn thread_private_saved(unit: &Unit) -> BTreeSet<SymId> {
    let mut found = BTreeSet::new();
    let specs = unit.specs.iter().filter_map(|s| match &s.kind {
        SpecKind::Comment(text) => Some(text),
        _ => None,
    });
    let stmts = unit.body.iter().filter_map(|s| match &s.kind {
        StmtKind::Comment(text) => Some(text),
        _ => None,
    });
    for text in specs.chain(stmts) {
        let Some(list) = words(text) else { continue };
        let Some(list) = strip_words(&list, &["THREADPRIVATE"]) else {
            continue;
        };
        let items = list.trim().trim_start_matches('(').trim_end_matches(')');
        found.extend(items.split(',').filter_map(|i| unit.symbols.find(i.trim())));
    }
    found
}

/// Renames the COMMON blocks that a unit declares in its directives that are comments.
pub fn rename_blocks(unit: &mut Unit, new_name: &dyn Fn(&Name) -> Name) {
    let mut blocks: BTreeSet<Name> = BTreeSet::new();
    for s in &unit.specs {
        if let SpecKind::Common(list) = &s.kind {
            blocks.extend(list.iter().map(|(b, _)| b.clone()));
        }
    }
    walk_block_mut(&mut unit.body, &mut |s| {
        let StmtKind::Comment(c) = &mut s.kind else {
            return;
        };
        if !c.text.contains('/') || !is_directive(&c.text) {
            return;
        }
        let parts = c.text.split('/').map(|part| {
            let name = Name::from(part.trim().to_ascii_uppercase().as_str());
            match blocks.contains(&name) {
                true => new_name(&name).to_string(),
                false => part.to_owned(),
            }
        });
        c.text = parts.collect::<Vec<_>>().join("/");
    });
}

/// Makes loops of all regions of which a derivative can be parallel: those that [`read`] makes; the
/// loops of regions that also have SINGLE, MASTER, or BARRIER; and sections, where iteration `I`
/// executes section `I`. Only for what is differentiated: the statements of SINGLE are executed
/// between parallel loops.
pub fn divide_regions(unit: &mut Unit) {
    let reader = Reader {
        unit,
        divides: true,
    };
    let mut body = unit.body.clone();
    reader.block(&mut body);
    sections(unit, &mut body);
    unit.body = body;
    unit.number();
}

/// Makes loops of the `PARALLEL SECTIONS` in a block.
fn sections(unit: &mut Unit, block: &mut Block) {
    for s in block.iter_mut() {
        for b in s.blocks_mut() {
            sections(unit, b);
        }
    }
    let mut at = 0;
    while at < block.len() {
        if let Some((end, made)) = sections_at(unit, block, at) {
            block.splice(at..=end, [made]);
        }
        at += 1;
    }
}

/// Returns the loop for the `PARALLEL SECTIONS` at `at`, and where these end.
fn sections_at(unit: &mut Unit, block: &Block, at: usize) -> Option<(usize, Stmt)> {
    let directive = comment_words(&block[at])?;
    let clauses = clauses_of(strip_words(&directive, &["PARALLEL", "SECTIONS"])?)?;
    let span = block[at].span;
    let mut parts: Vec<Block> = vec![Vec::new()];
    let mut end = at + 1;
    loop {
        let s = block.get(end)?;
        match comment_words(s) {
            Some(w) if strip_words(&w, &["END", "PARALLEL", "SECTIONS"]).is_some() => break,
            Some(w) if w == "SECTION" => parts.push(Vec::new()),
            _ => parts.last_mut()?.push(s.clone()),
        }
        end += 1;
    }
    parts.retain(|p| p.iter().any(|s| !matches!(s.kind, StmtKind::Comment(_))));
    if parts.is_empty() {
        return None;
    }
    let name = unit.symbols.unused("SECTIO", &|_| false);
    let mut symbol = Symbol::variable(name, Type::INTEGER, span);
    symbol.typed = true;
    let var = unit.symbols.add(symbol);
    let count = parts.len() as i64;
    let arms = (1..).zip(parts).map(|(i, part)| {
        let is = Expr::binary(BinOp::Eq, Expr::var(var, span), Expr::int(i, span));
        (is, part)
    });
    let body = vec![Stmt::branches(arms.collect(), None, span)];
    let mut made = crate::ir::build::count(
        var,
        Expr::int(1, span),
        Expr::int(count, span),
        None,
        body,
        span,
    )?;
    let StmtKind::Do(d) = &mut made.kind else {
        return None;
    };
    let reader = Reader {
        unit,
        divides: true,
    };
    let mut parallel = reader.parallel(d, &clauses)?;
    // Each thread takes another section.
    parallel.sections = true;
    parallel.schedule = Some(Schedule {
        kind: "STATIC",
        chunk: Some(Expr::int(1, span)),
    });
    d.directive = Some(Box::new(LoopDirective {
        kind: LoopDirectiveKind::Parallel(Box::new(parallel)),
        span,
    }));
    unit.declare(var);
    Some((end, made))
}

struct Reader<'a> {
    unit: &'a Unit,
    /// Whether regions may have other parts than loops.
    divides: bool,
}

/// A clause: its name and what is in its parentheses.
type Clause = (String, Option<String>);

impl Reader<'_> {
    fn block(&self, block: &mut Block) {
        for s in block.iter_mut() {
            s.blocks_mut().into_iter().for_each(|b| self.block(b));
        }
        let mut i = 0;
        while i < block.len() {
            let Some(directive) = comment_words(&block[i]) else {
                i += 1;
                continue;
            };
            let made = if let Some(rest) = strip_words(&directive, &["PARALLEL", "DO"]) {
                self.parallel_do(block, i, rest)
            } else if let Some(rest) = strip_words(&directive, &["PARALLEL"])
                .filter(|r| !r.starts_with("SECTIONS") && !r.starts_with("WORKSHARE"))
            {
                self.region(block, i, rest)
            } else {
                None
            };
            i = made.unwrap_or(i + 1);
        }
    }

    /// Reads the loop of `PARALLEL DO` at `at`. Returns where to continue.
    fn parallel_do(&self, block: &mut Block, at: usize, clauses: &str) -> Option<usize> {
        let clauses = clauses_of(clauses)?;
        let loop_at = self.attach(block, at, &clauses)?;
        if let Some(words) = block.get(loop_at + 1).and_then(comment_words)
            && strip_words(&words, &["END", "PARALLEL", "DO"]).is_some()
        {
            block.remove(loop_at + 1);
        }
        block.remove(at);
        Some(loop_at)
    }

    /// Reads a PARALLEL region that consists of DO loops.
    fn region(&self, block: &mut Block, at: usize, clauses: &str) -> Option<usize> {
        let around = clauses_of(clauses)?;
        let mut made = block.clone();
        made.remove(at);
        let mut i = at;
        let mut loops = 0;
        loop {
            let s = made.get(i)?;
            let Some(words) = comment_words(s) else {
                match s.kind {
                    StmtKind::Comment(_) => i += 1,
                    _ => return None,
                }
                continue;
            };
            if strip_words(&words, &["END", "PARALLEL"]).is_some() {
                made.remove(i);
                break;
            }
            if self.divides && words == "BARRIER" {
                made.remove(i);
                continue;
            }
            if self.divides
                && let Some(part) = ["SINGLE", "MASTER"].into_iter().find(|w| **w == words)
            {
                i = self.one_thread(&mut made, i, part, &around)?;
                loops += 1;
                continue;
            }
            if self.divides
                && let Some(rest) = strip_words(&words, &["SECTIONS"])
            {
                i = region_of_sections(&mut made, i, rest, &around)?;
                loops += 1;
                continue;
            }
            let rest = strip_words(&words, &["DO"])?;
            let mut all = around.clone();
            all.extend(clauses_of(rest)?);
            i = self.attach(&mut made, i, &all)?;
            made.remove(i - 1);
            if let Some(words) = made.get(i).and_then(comment_words)
                && strip_words(&words, &["END", "DO"]).is_some()
            {
                made.remove(i);
            }
            loops += 1;
        }
        if loops == 0 {
            return None;
        }
        *block = made;
        Some(i)
    }

    /// Takes the directive out that says that one thread executes the statements after it. Returns
    /// where these end; nothing if they would do something else between regions.
    fn one_thread(
        &self,
        made: &mut Block,
        at: usize,
        word: &str,
        around: &[Clause],
    ) -> Option<usize> {
        let is_end = |s: &Stmt| {
            comment_words(s).is_some_and(|w| {
                let rest = strip_words(&w, &["END", word]);
                rest.is_some_and(|r| r.is_empty() || r == "NOWAIT")
            })
        };
        let end = at + made[at..].iter().position(is_end)?;
        let body = &made[at + 1..end];
        let mut plain = true;
        walk_block(body, &mut |s| {
            plain &= !matches!(&s.kind, StmtKind::Comment(c) if is_directive(c));
            plain &= !matches!(&s.kind, StmtKind::Do(d) if d.parallel().is_some());
            plain &= s.kind.jumps().is_empty();
        });
        let mut used = HashSet::new();
        for_each_symbol(body, &mut |s| {
            used.insert(s);
        });
        let symbols = &self.unit.symbols;
        // These would be those of the thread before the region.
        plain &= !used.iter().any(|s| symbols[*s].name.starts_with("OMP_"));
        plain &= !used.iter().any(|s| self.unit.is_thread_private(*s));
        for (name, contents) in around {
            let contents = contents.as_deref();
            match name.as_str() {
                "PRIVATE" | "FIRSTPRIVATE" => {
                    // After the region, these have the values from before.
                    let own = self.variables(contents?)?;
                    let mut own = own.iter().filter(|s| used.contains(s));
                    plain &= own.all(|s| self.is_of_regions(*s));
                }
                "REDUCTION" => {
                    let (_, list) = contents?.split_once(':')?;
                    let own = self.variables(list)?;
                    plain &= !own.iter().any(|s| used.contains(s));
                }
                "DEFAULT" => plain &= matches!(contents, Some("SHARED" | "NONE")),
                _ => {}
            }
        }
        if !plain {
            return None;
        }
        made.remove(end);
        made.remove(at);
        Some(end - 1)
    }

    /// Whether nothing uses a variable outside of regions in which threads have their own.
    fn is_of_regions(&self, s: SymId) -> bool {
        let symbol = &self.unit.symbols[s];
        symbol.storage_class == StorageClass::Local
            && !symbol.saved
            && symbol.init.is_none()
            && self.uses_of_regions(s, &self.unit.body)
    }

    fn uses_of_regions(&self, s: SymId, block: &[Stmt]) -> bool {
        let mut region = false;
        block.iter().all(|stmt| {
            if let Some(words) = comment_words(stmt) {
                if strip_words(&words, &["END", "PARALLEL"]).is_some() {
                    region = false;
                } else if let Some(clauses) = strip_words(&words, &["PARALLEL"]) {
                    let clauses = clauses.strip_prefix("SECTIONS").unwrap_or(clauses);
                    let own = |(name, contents): &Clause| {
                        let list = contents.as_deref().and_then(|c| self.variables(c));
                        matches!(name.as_str(), "PRIVATE" | "FIRSTPRIVATE")
                            && list.is_some_and(|l| l.contains(&s))
                    };
                    let clauses = clauses_of(clauses).unwrap_or_default();
                    // The END of PARALLEL DO may be missing.
                    let is_loop = clauses.first().is_some_and(|(name, _)| name == "DO");
                    region = !is_loop && clauses.iter().any(own);
                }
            }
            let own = match &stmt.kind {
                StmtKind::Do(d) => d
                    .parallel()
                    .is_some_and(|p| p.private.contains(&s) && !p.last_private.contains(&s)),
                _ => false,
            };
            let mut used = false;
            let blocks = stmt.blocks();
            match blocks.is_empty() {
                true => for_each_symbol(std::slice::from_ref(stmt), &mut |x| used |= x == s),
                false => {
                    stmt.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |x| used |= x == s))
                }
            }
            if let StmtKind::Do(d) = &stmt.kind
                && let DoControl::Count { var, .. } = d.control
            {
                used |= var == s;
            }
            region || own || !used && blocks.into_iter().all(|b| self.uses_of_regions(s, b))
        })
    }

    /// Gives the loop after a directive its clauses. Returns the place of the loop.
    fn attach(&self, block: &mut Block, at: usize, clauses: &[Clause]) -> Option<usize> {
        let span = block[at].span;
        let plain = |s: &Stmt| matches!(s.kind, StmtKind::Comment(_)) && comment_words(s).is_none();
        let loop_at = at + 1 + block[at + 1..].iter().take_while(|s| plain(s)).count();
        let StmtKind::Do(d) = &mut block.get_mut(loop_at)?.kind else {
            return None;
        };
        if d.directive.is_some() {
            return None;
        }
        let parallel = self.parallel(d, clauses)?;
        d.directive = Some(Box::new(LoopDirective {
            kind: LoopDirectiveKind::Parallel(Box::new(parallel)),
            span,
        }));
        Some(loop_at)
    }

    /// Returns what the clauses say about a loop; `None` if that cannot be expressed.
    fn parallel(&self, d: &Do, clauses: &[Clause]) -> Option<Parallel> {
        let DoControl::Count { var, .. } = d.control else {
            return None;
        };
        let mut parallel = Parallel {
            collapse: 1,
            ..Parallel::default()
        };
        let mut default = "SHARED".to_owned();
        for (name, contents) in clauses {
            let contents = contents.as_deref();
            match name.as_str() {
                "PRIVATE" => parallel.private.extend(self.variables(contents?)?),
                "FIRSTPRIVATE" => parallel.first_private.extend(self.variables(contents?)?),
                "LASTPRIVATE" => parallel.last_private.extend(self.variables(contents?)?),
                "SHARED" => parallel.shared.extend(self.variables(contents?)?),
                "COPYIN" => parallel.copy_in.extend(self.copied_in(contents?)?),
                "DEFAULT" => default = contents?.to_owned(),
                "REDUCTION" => {
                    let (op, list) = contents?.split_once(':')?;
                    let op = match op.trim() {
                        // OpenMP adds the parts of both.
                        "+" | "-" => Reduction::Add,
                        "*" => Reduction::Multiply,
                        "MAX" => Reduction::Max,
                        "MIN" => Reduction::Min,
                        ".AND." => Reduction::And,
                        ".OR." => Reduction::Or,
                        ".EQV." => Reduction::Eqv,
                        ".NEQV." => Reduction::Neqv,
                        "IAND" => Reduction::BitAnd,
                        "IOR" => Reduction::BitOr,
                        "IEOR" => Reduction::BitXor,
                        _ => return None,
                    };
                    let list = self.variables(list)?;
                    parallel
                        .reductions
                        .extend(list.into_iter().map(|s| (op, s)));
                }
                "SCHEDULE" => parallel.schedule = Some(self.schedule(contents?)?),
                "NUM_THREADS" => parallel.threads = Some(self.expr(contents?)?),
                "IF" => {
                    let text = contents?.trim();
                    let text = text.strip_prefix("PARALLEL").map_or(text, str::trim_start);
                    let text = text.strip_prefix(':').unwrap_or(text);
                    parallel.condition = Some(self.expr(text)?);
                }
                "COLLAPSE" => parallel.collapse = contents?.trim().parse().ok()?,
                _ => return None,
            }
        }
        self.classify(d, var, &default, &mut parallel)?;
        Some(parallel)
    }

    /// Puts every variable of a loop into one of the lists.
    fn classify(&self, d: &Do, var: SymId, default: &str, parallel: &mut Parallel) -> Option<()> {
        let unit = self.unit;
        let mut counters = vec![var];
        walk_block(&d.body, &mut |s| {
            if let StmtKind::Do(d) = &s.kind
                && let DoControl::Count { var, .. } = d.control
            {
                counters.push(var);
            }
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let ExprKind::ImpliedDo(d) = &e.kind {
                        counters.push(d.var);
                    }
                });
            });
        });
        let mut all = counters.clone();
        for_each_symbol(&d.body, &mut |s| all.push(s));
        let mut seen = HashSet::new();
        for s in all {
            if !seen.insert(s) || !unit.symbols[s].is_variable() {
                continue;
            }
            if unit.is_thread_private(s) {
                parallel.thread_private.push(s);
                continue;
            }
            let listed = [
                parallel.shared.contains(&s),
                parallel.private.contains(&s),
                parallel.first_private.contains(&s),
                parallel.reduction(s).is_some(),
            ];
            match listed.iter().filter(|l| **l).count() {
                0 if parallel.last_private.contains(&s) => parallel.private.push(s),
                0 if counters.contains(&s) => parallel.private.push(s),
                0 => match default.trim() {
                    "SHARED" | "NONE" => parallel.shared.push(s),
                    "PRIVATE" => parallel.private.push(s),
                    "FIRSTPRIVATE" => parallel.first_private.push(s),
                    _ => return None,
                },
                1 => {}
                _ => return None,
            }
        }
        // Those that the loop does not mention, too.
        let unlisted: Vec<SymId> = (parallel.last_private.iter())
            .filter(|s| !parallel.private.contains(s) && !parallel.first_private.contains(s))
            .copied()
            .collect();
        parallel.private.extend(unlisted);
        Some(())
    }

    /// The THREADPRIVATE variables in a list of variables and blocks.
    fn copied_in(&self, list: &str) -> Option<Vec<SymId>> {
        let mut found = Vec::new();
        for item in list.split(',').map(str::trim) {
            match item.strip_prefix('/').and_then(|i| i.strip_suffix('/')) {
                Some(block) => found.extend(self.unit.symbols.iter().filter_map(|(id, s)| {
                    let own =
                        matches!(&s.storage_class, StorageClass::Common(b) if *b == *block.trim());
                    own.then_some(id)
                })),
                None => found.extend(self.variables(item)?),
            }
        }
        let own = found.iter().all(|s| self.unit.is_thread_private(*s));
        (own && !found.is_empty()).then_some(found)
    }

    fn variables(&self, list: &str) -> Option<Vec<SymId>> {
        let one = |name: &str| {
            let s = self.unit.symbols.find(name.trim())?;
            self.unit.symbols[s].is_variable().then_some(s)
        };
        list.split(',').map(one).collect()
    }

    fn schedule(&self, text: &str) -> Option<Schedule> {
        let (kind, chunk) = match text.split_once(',') {
            Some((kind, chunk)) => (kind, Some(self.expr(chunk)?)),
            None => (text, None),
        };
        let kinds = ["STATIC", "DYNAMIC", "GUIDED", "AUTO", "RUNTIME"];
        let kind = kinds.into_iter().find(|k| *k == kind.trim())?;
        Some(Schedule { kind, chunk })
    }

    /// Parses an expression of constants and scalar variables.
    fn expr(&self, text: &str) -> Option<Expr> {
        let mut sources = Sources::new();
        let text = format!("subroutine clause\ncontinue\nx = {text}\nend\n");
        let file = sources.add("clause", text);
        let parsed = parse(&mut sources, file, Some(Form::Free), &mut NoIncludes);
        if parsed.diagnostics.iter().any(Diagnostic::is_error) {
            return None;
        }
        let [unit] = parsed.program.units.as_slice() else {
            return None;
        };
        let value = unit.body.iter().find_map(|s| match &s.kind {
            StmtKind::Assign(_, value) => Some(value.clone()),
            _ => None,
        });
        let mut value = value?;
        let mut ok = true;
        value.rewrite(&mut |e| {
            e.span = Span::NONE;
            match &mut e.kind {
                ExprKind::Var(s) => {
                    let own = self.unit.symbols.find(&unit.symbols[*s].name);
                    let own = own.filter(|s| {
                        let symbol = &self.unit.symbols[*s];
                        symbol.is_variable() && !symbol.is_array()
                    });
                    match own {
                        Some(own) => *s = own,
                        None => ok = false,
                    }
                }
                ExprKind::Int(_)
                | ExprKind::Logical(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Paren(_) => {}
                _ => ok = false,
            }
        });
        ok.then_some(value)
    }
}

/// Makes a region of the SECTIONS in a region. Returns where these end.
fn region_of_sections(
    made: &mut Block,
    at: usize,
    clauses: &str,
    around: &[Clause],
) -> Option<usize> {
    let is_end = |s: &Stmt| {
        comment_words(s).is_some_and(|w| strip_words(&w, &["END", "SECTIONS"]).is_some())
    };
    let end = at + made[at..].iter().position(is_end)?;
    let mut text = format!("$OMP PARALLEL SECTIONS {clauses}");
    for (name, contents) in around {
        match contents {
            Some(contents) => text.push_str(&format!(" {name}({contents})")),
            None => text.push_str(&format!(" {name}")),
        }
    }
    made[at] = Stmt::comment(&text, made[at].span);
    made[end] = Stmt::comment("$OMP END PARALLEL SECTIONS", made[end].span);
    Some(end + 1)
}

/// Returns the words of the directive in a statement.
fn comment_words(s: &Stmt) -> Option<String> {
    match &s.kind {
        StmtKind::Comment(text) => words(text),
        _ => None,
    }
}

/// Returns what follows some words.
fn strip_words<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    let mut rest = text;
    for (i, word) in words.iter().enumerate() {
        rest = rest.trim_start().strip_prefix(word)?;
        // Blanks between words may be missing: PARALLELDO, ENDDO.
        if i + 1 == words.len() && rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        {
            return None;
        }
    }
    Some(rest.trim_start())
}

/// Divides a list of clauses.
fn clauses_of(text: &str) -> Option<Vec<Clause>> {
    let mut clauses = Vec::new();
    let mut rest = text.trim_start_matches([' ', ',']);
    while !rest.is_empty() {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = rest.find(|c| !letter(c)).unwrap_or(rest.len());
        if end == 0 {
            return None;
        }
        let (name, after) = rest.split_at(end);
        rest = after.trim_start();
        let mut contents = None;
        if rest.starts_with('(') {
            let mut depth = 0;
            let close = rest.char_indices().find(|(_, c)| {
                depth += match c {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                depth == 0
            });
            let (close, _) = close?;
            contents = Some(rest[1..close].trim().to_owned());
            rest = &rest[close + 1..];
        }
        clauses.push((name.to_owned(), contents));
        rest = rest.trim_start_matches([' ', ',']);
    }
    Some(clauses)
}

/// Completes the clauses of parallel loops after passes have added variables to them: each thread
/// gets its own of a variable that nothing else uses. If that is not possible, the loop is not
/// parallel any more, and a warning says so.
pub fn complete(program: &mut Program) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let blocks = thread_private_blocks(&program.units);
    spread_thread_private(&mut program.units, &blocks);
    for unit in &mut program.units {
        let mut total = vec![0usize; unit.symbols.len()];
        for_each_statement_symbol(&unit.body, &mut |s| total[s.0 as usize] += 1);
        let symbols = &unit.symbols;
        walk_block_mut(&mut unit.body, &mut |s| {
            let StmtKind::Do(d) = &mut s.kind else { return };
            let Some(parallel) = d.parallel() else { return };
            let mut inside = vec![0usize; symbols.len()];
            for_each_statement_symbol(&d.body, &mut |s| inside[s.0 as usize] += 1);
            let own = |s: &SymId| match &symbols[*s].storage_class {
                StorageClass::Common(block) => blocks.contains(block),
                _ => false,
            };
            let added: Vec<SymId> = symbols
                .ids()
                .filter(|s| {
                    let known = parallel.has(*s) || own(s);
                    inside[s.0 as usize] > 0 && symbols[*s].is_variable() && !known
                })
                .collect();
            let var = match d.control {
                DoControl::Count { var, .. } => Some(var),
                _ => None,
            };
            let alone = |s: &SymId| {
                let symbol = &symbols[*s];
                symbol.storage_class == StorageClass::Local
                    && !symbol.saved
                    && symbol.init.is_none()
                    && !symbol.has(Attribute::Allocatable)
                    && inside[s.0 as usize] == total[s.0 as usize]
                    && Some(*s) != var
            };
            if added.iter().all(alone) {
                if let Some(parallel) = d.parallel_mut() {
                    parallel.private.extend(added);
                }
                return;
            }
            let span = d.directive.take().map_or(s.span, |m| m.span);
            let name = added.iter().find(|s| !alone(s)).map(|s| &symbols[*s].name);
            warnings.push(
                Diagnostic::warning(
                    &rules::OPENMP,
                    span,
                    format!(
                        "this loop is not parallel: its iterations share {}",
                        name.map_or("a variable", |n| n.as_str())
                    ),
                )
                .help("put what the loop does into a subprogram"),
            );
        });
    }
    warnings
}

/// Calls `f` on the symbols of a block, except those that only clauses name.
fn for_each_statement_symbol(block: &[Stmt], f: &mut dyn FnMut(SymId)) {
    walk_block(block, &mut |s| {
        match &s.kind {
            StmtKind::Do(d) => {
                if let DoControl::Count { var, .. } = d.control {
                    f(var);
                }
            }
            _ => s.for_each_own_symbol(f),
        }
        s.for_each_own_expr(&mut |e| e.for_each_symbol(f));
    });
}

/// Whether a variable has values that derivatives can have.
pub fn is_differentiable(unit: &Unit, s: SymId) -> bool {
    matches!(unit.symbols[s].ty, Some(Type::Real(_) | Type::Complex(_)))
}
