//! Makes the text of derivatives shorter; what is executed stays the same.
//!
//! * A value of a generated temporary that is read once, by a later assignment of the same stretch, is put there
//!   where that saves a line; a value of few operations also if it is read twice.
//! * A number on a tape that only a condition reads is read there.
//! * The most frequent value of a generated variable is assigned before the branches instead (`defaults`).
//! * A loop that only saves or restores an array becomes an assignment of sections.
//! * Branches in branches are joined (`nesting`).
//! * `IF (…) THEN` with one assignment, call or jump becomes a single statement if that has fewer lines.

use super::defaults::assign_before_branches;
use super::increments::{INDENT, all_places, assignment, lines, lines_of, may_share};
use super::loops::drop_directives;
use super::nesting::join_branches;
use super::preaccumulate::{for_each_read, named_in_specs, scalar_target, stretch_len};
use crate::affine::{Affine, counted_by_one};
use farfel_lang::Span;
use farfel_lang::ir::{
    Attribute, BinOp, Block, Class, Do, DoControl, Expr, ExprKind, Name, Origin, Stmt, StmtKind,
    StorageClass, SymId, Type, Unit, for_each_symbol,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::UnitStorage;
use farfel_lang::types::type_of;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// The number of operations of a value that may be written twice.
const MOST_TWICE: usize = 1;

/// The number of statements between a value and its reader, at most: what they assign is compared with the value.
const MOST_APART: usize = 1000;

/// Subprograms that move values between variables and tapes, and do nothing else.
#[derive(Debug, Default)]
pub(crate) struct TapeSubprograms {
    /// Those that assign nothing but tapes.
    pub push: HashSet<Name>,
    /// Those that also assign their first argument.
    pub pop: HashSet<Name>,
}

/// Shortens the text of a derivative.
pub(crate) fn shorten(unit: &mut Unit, tape_subprograms: &TapeSubprograms) {
    let mut body = std::mem::take(&mut unit.body);
    let mut specified = HashSet::new();
    named_in_specs(unit, &mut specified);
    let local = |s: SymId| is_local_scalar(unit, s, &specified);
    let generated = |s: SymId| unit.symbols[s].origin == Origin::Generated && local(s);
    let any = |s: SymId| unit.symbols[s].origin != Origin::Written && local(s);
    assign_before_branches(unit, &tape_subprograms.push, &any, &mut body);
    let pass = Pass {
        unit,
        storage: UnitStorage::of(unit),
        generated: &generated,
        crossing: crossing(unit, tape_subprograms, &body),
        tape_subprograms,
        read_after: read_after_loops(unit, &body),
        exposed: exposed(&body),
    };
    let mut replaced = HashSet::new();
    pass.block(&mut body, 0, &mut replaced);
    for_each_symbol(&body, &mut |s| {
        replaced.remove(&s);
    });
    drop_directives(&mut body);
    unit.body = body;
    unit.undeclare_all(&|s| replaced.contains(&s));
}

/// Whether a symbol is a local scalar that nothing else can refer to. `specified` are the variables that specification
/// statements give a meaning.
pub(super) fn is_local_scalar(unit: &Unit, s: SymId, specified: &HashSet<SymId>) -> bool {
    let symbol = &unit.symbols[s];
    symbol.is_variable()
        && !symbol.is_array()
        && !symbol.saved
        && !symbol.tape
        && !symbol.has(Attribute::Volatile)
        && symbol.storage_class == StorageClass::Local
        && !specified.contains(&s)
}

/// The variables whose values may be read outside of the stretch in which they are assigned.
fn crossing(unit: &Unit, tapes: &TapeSubprograms, body: &[Stmt]) -> HashSet<SymId> {
    let mut found = HashSet::new();
    add_crossing(unit, tapes, body, &mut found);
    found
}

/// The number of statements that a block begins with that are assignments, or move values between variables and tapes.
fn len(unit: &Unit, tapes: &TapeSubprograms, block: &[Stmt]) -> usize {
    let mut len = 0;
    loop {
        len += stretch_len(unit, &block[len..]);
        match block.get(len) {
            Some(s) if moved(unit, tapes, s).is_some() => len += 1,
            _ => return len,
        }
    }
}

/// What a statement assigns that only moves values between variables and tapes, or stops when a tape is full.
fn moved<'s>(unit: &Unit, tapes: &TapeSubprograms, s: &'s Stmt) -> Option<Option<&'s Expr>> {
    let call = match &s.kind {
        StmtKind::LogicalIf(_, action) if matches!(action.kind, StmtKind::Stop(_)) => {
            return s.label.is_none().then_some(None);
        }
        StmtKind::LogicalIf(_, action) => action,
        _ => s,
    };
    let StmtKind::Call(f, args) = &call.kind else {
        return None;
    };
    let name = &unit.symbols[*f].name;
    if s.label.is_some() {
        None
    } else if tapes.push.contains(name) {
        Some(None)
    } else if tapes.pop.contains(name) {
        Some(args.first())
    } else {
        None
    }
}

fn add_crossing(unit: &Unit, tapes: &TapeSubprograms, block: &[Stmt], found: &mut HashSet<SymId>) {
    let mut at = 0;
    while at < block.len() {
        let len = len(unit, tapes, &block[at..]);
        let mut assigned = HashSet::new();
        for s in &block[at..at + len] {
            let mut read = Vec::new();
            match assignment(s) {
                Some(_) => for_each_read(s, &mut |x| read.push(x)),
                None => for_each_symbol(std::slice::from_ref(s), &mut |x| read.push(x)),
            }
            found.extend(read.into_iter().filter(|x| !assigned.contains(x)));
            assigned.extend(scalar_target(unit, s));
        }
        at += len;
        let Some(other) = block.get(at).filter(|_| len == 0) else {
            continue;
        };
        let inner = other.blocks();
        if inner.is_empty() {
            for_each_symbol(std::slice::from_ref(other), &mut |x| {
                found.insert(x);
            });
        } else {
            other.for_each_own_symbol(&mut |x| {
                found.insert(x);
            });
            other.for_each_own_expr(&mut |e| {
                e.for_each_symbol(&mut |x| {
                    found.insert(x);
                });
            });
            inner
                .iter()
                .for_each(|b| add_crossing(unit, tapes, b, found));
        }
        at += 1;
    }
}

/// The variables that some statement reads, but that no statement before it in the same block assigns for sure: their
/// values may come from anywhere.
fn exposed(body: &[Stmt]) -> HashSet<SymId> {
    let mut found = HashSet::new();
    add_exposed(body, &mut found);
    found
}

/// Adds the exposed variables of a block. Returns the variables that it assigns for sure.
fn add_exposed(block: &[Stmt], found: &mut HashSet<SymId>) -> HashSet<SymId> {
    let mut assigned: HashSet<SymId> = HashSet::new();
    for s in block {
        if s.label.is_some() {
            // It may be reached from elsewhere.
            assigned.clear();
        }
        let scalar = match &s.kind {
            StmtKind::Assign(target, _) => match target.kind {
                ExprKind::Var(x) => Some(x),
                _ => None,
            },
            _ => None,
        };
        let mut read = Vec::new();
        match (&s.kind, scalar) {
            (StmtKind::Assign(_, value), Some(_)) => value.for_each_symbol(&mut |x| read.push(x)),
            _ if s.blocks().is_empty() => {
                for_each_symbol(std::slice::from_ref(s), &mut |x| read.push(x));
            }
            _ => {
                s.for_each_own_symbol(&mut |x| read.push(x));
                s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |x| read.push(x)));
            }
        }
        found.extend(read.into_iter().filter(|x| !assigned.contains(x)));
        let mut in_all: Option<HashSet<SymId>> = None;
        for inner in s.blocks() {
            let own = add_exposed(inner, found);
            in_all = Some(match in_all {
                None => own,
                Some(before) => before.intersection(&own).copied().collect(),
            });
        }
        if let StmtKind::If(b) = &s.kind
            && b.otherwise.is_some()
        {
            assigned.extend(in_all.unwrap_or_default());
        }
        assigned.extend(scalar);
    }
    assigned
}

/// The variables that are named outside of the loops over them, and those that are not local.
fn read_after_loops(unit: &Unit, body: &[Stmt]) -> HashSet<SymId> {
    fn add(block: &[Stmt], loops: &mut Vec<SymId>, found: &mut HashSet<SymId>) {
        for s in block {
            let mut own = Vec::new();
            s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |x| own.push(x)));
            let variable = match &s.kind {
                StmtKind::Do(d) => match &d.control {
                    DoControl::Count { var, .. } => Some(*var),
                    _ => None,
                },
                _ => None,
            };
            s.for_each_own_symbol(&mut |x| own.extend((Some(x) != variable).then_some(x)));
            if s.blocks().is_empty() {
                for_each_symbol(std::slice::from_ref(s), &mut |x| own.push(x));
            }
            found.extend(own.into_iter().filter(|x| !loops.contains(x)));
            let outer = loops.len();
            loops.extend(variable);
            for b in s.blocks() {
                add(b, loops, found);
            }
            loops.truncate(outer);
        }
    }
    let mut found = HashSet::new();
    add(body, &mut Vec::new(), &mut found);
    let others = unit.symbols.iter().filter(|(_, s)| {
        s.storage_class != StorageClass::Local || s.saved || s.has(Attribute::Volatile)
    });
    found.extend(others.map(|(id, _)| id));
    named_in_specs(unit, &mut found);
    found
}

/// The statements of a stretch that name each variable.
///
/// They are counted from the end of the block, where nothing changes while the pass goes from the first to the last.
#[derive(Default)]
struct Stretch {
    /// From the last statement, which may be the end of the block, to the first.
    range: Range<usize>,
    naming: HashMap<SymId, BTreeSet<usize>>,
}

impl Stretch {
    /// Finds the stretch to which the statement with index `at` belongs, unless it is this one.
    fn find(&mut self, unit: &Unit, tapes: &TapeSubprograms, block: &[Stmt], at: usize) {
        let from_end = block.len() - at;
        if self.range.contains(&from_end) {
            return;
        }
        self.naming.clear();
        let len = len(unit, tapes, &block[at..]);
        self.range = from_end - len + 1..from_end + 1;
        for i in at..at + len {
            self.add(block, i);
        }
    }

    /// Adds what the statement with index `at` names.
    fn add(&mut self, block: &[Stmt], at: usize) {
        for_each_symbol(std::slice::from_ref(&block[at]), &mut |x| {
            self.naming.entry(x).or_default().insert(block.len() - at);
        });
    }

    /// The indices of the statements that name a variable, from the one with index `first` on.
    fn naming(&self, block: &[Stmt], variable: SymId, first: usize) -> impl Iterator<Item = usize> {
        let len = block.len();
        let all = self.naming.get(&variable).into_iter();
        all.flat_map(move |of| of.range(..=len - first).rev())
            .map(move |from_end| len - from_end)
    }
}

struct Pass<'a> {
    unit: &'a Unit,
    tape_subprograms: &'a TapeSubprograms,
    storage: UnitStorage,
    /// Whether a variable is a generated scalar that nothing else shares.
    generated: &'a dyn Fn(SymId) -> bool,
    /// See [`crossing`].
    crossing: HashSet<SymId>,
    /// See [`read_after_loops`].
    read_after: HashSet<SymId>,
    /// See [`exposed`].
    exposed: HashSet<SymId>,
}

impl Pass<'_> {
    fn block(&self, block: &mut Block, indent: usize, replaced: &mut HashSet<SymId>) {
        // Statements that are done leave the block: removing one of many statements from it would take too long.
        let mut done = Block::new();
        let mut at = 0;
        let mut stretch = Stretch::default();
        while at < block.len() {
            if let Some(temporary) = self.put_into_reader(block, at, indent, &mut stretch) {
                replaced.insert(temporary);
                // The value of the one before may go there now.
                match done.pop() {
                    Some(before) => block[at] = before,
                    None => at += 1,
                }
                continue;
            }
            if let Some(number) = self.read_in_condition(block, at, indent) {
                replaced.insert(number);
                at += 1;
                continue;
            }
            if !matches!(block[at].kind, StmtKind::Where(_)) {
                for inner in block[at].blocks_mut() {
                    self.block(inner, indent + INDENT[0], replaced);
                }
            }
            self.by_section(&mut block[at], done.last());
            join_branches(self.unit, &mut block[at], indent);
            self.single(&mut block[at], indent);
            let nothing = Stmt::continues(Span::NONE);
            done.push(std::mem::replace(&mut block[at], nothing));
            at += 1;
        }
        *block = done;
    }

    /// Puts the value of a temporary where it is read. Returns the temporary, whose assignment is to be removed.
    fn put_into_reader(
        &self,
        block: &mut [Stmt],
        at: usize,
        indent: usize,
        stretch: &mut Stretch,
    ) -> Option<SymId> {
        let (target, value) = assignment(&block[at])?;
        let ExprKind::Var(temporary) = target.kind else {
            return None;
        };
        let ty = type_of(self.unit, target);
        // A sine and a cosine beside each other are computed together. What a tape contains is read at once: the
        // adjoint of this adjoint saves what it reads later.
        let mut stays = false;
        value.walk(&mut |e| {
            stays |= match e.kind {
                ExprKind::Call(f, _) => !is_separate(self.unit, f),
                ExprKind::Element(s, _) => self.unit.symbols[s].tape,
                _ => false,
            }
        });
        if stays
            || !(self.generated)(temporary)
            || block[at].label.is_some()
            || type_of(self.unit, value) != ty
            || stretch_len(self.unit, &block[at..at + 1]) == 0
        {
            return None;
        }
        let after = at + 1;
        stretch.find(self.unit, self.tape_subprograms, block, after);
        let mut readers = Vec::new();
        let mut reads = 0;
        // Whether nothing reads it after this stretch.
        let mut gone = !self.crossing.contains(&temporary);
        for i in stretch.naming(block, temporary, after) {
            let Some(read) = next_read(self.unit, &block[i], temporary) else {
                // A comment, or a call.
                moved(self.unit, self.tape_subprograms, &block[i])
                    .is_none()
                    .then_some(())?;
                continue;
            };
            if !read {
                gone = true;
                break;
            }
            let (place, sum) = assignment(&block[i])?;
            if block[i].label.is_some()
                || names(place, temporary)
                || type_of(self.unit, place) != ty
            {
                return None;
            }
            readers.push(i);
            reads += count(sum, temporary);
        }
        let last = *readers.last()?;
        let far = last - at > MOST_APART;
        if !gone || far || reads > 2 || reads == 2 && !is_cheap(value) {
            return None;
        }
        let assigned = |s| match assignment(s) {
            Some((target, _)) => Some(target),
            None => moved(self.unit, self.tape_subprograms, s).flatten(),
        };
        let between: Vec<&Expr> = block[after..last].iter().filter_map(assigned).collect();
        let free = |e: &Expr| {
            let shares = |b: &&Expr| may_share(self.unit, &self.storage, b, e);
            !between.iter().any(shares)
        };
        if !all_places(value, &free) || self.is_of_tape(value, &block[after..last]) {
            return None;
        }
        let mut before = lines(self.unit, target, value, indent);
        let mut then = 0;
        let mut new = Vec::new();
        for i in readers {
            let (place, sum) = assignment(&block[i])?;
            let mut with_value = sum.clone();
            self.put(&mut with_value, temporary, value);
            before += lines(self.unit, place, sum, indent);
            then += lines(self.unit, place, &with_value, indent);
            new.push((i, with_value));
        }
        if then >= before {
            return None;
        }
        for (i, with_value) in new {
            if let StmtKind::Assign(_, sum) = &mut block[i].kind {
                *sum = with_value;
            }
            stretch.add(block, i);
        }
        Some(temporary)
    }

    /// Whether a value contains the number of values on a tape, a component of it, which statements change that push or pop.
    fn is_of_tape(&self, value: &Expr, stmts: &[Stmt]) -> bool {
        let moves = |s: &Stmt| moved(self.unit, self.tape_subprograms, s).is_some();
        let mut found = false;
        value.for_each_symbol(&mut |x| found |= self.unit.symbols[x].name.contains('%'));
        found && stmts.iter().any(moves)
    }

    /// Makes a condition read a number on a tape itself, if nothing else reads the variable that it is loaded to. Returns the
    /// variable, whose assignment is to be removed.
    fn read_in_condition(&self, block: &mut [Stmt], at: usize, indent: usize) -> Option<SymId> {
        let (target, value) = assignment(&block[at]).filter(|_| block[at].label.is_none())?;
        let (ExprKind::Var(number), ExprKind::Element(tape, place)) = (&target.kind, &value.kind)
        else {
            return None;
        };
        let (number, tape) = (*number, *tape);
        let [place] = place.as_slice() else {
            return None;
        };
        let local = (self.generated)(number) && !self.exposed.contains(&number);
        let integer = matches!(type_of(self.unit, value), Some(Type::Integer(_)));
        if !local || !integer || !self.unit.symbols[tape].tape {
            return None;
        }
        let written = place;
        let mut place = Affine::of(self.unit, place)?;
        let as_written = place.clone();
        let mut reader = at + 1;
        while let Some((target, value)) = block.get(reader).and_then(assignment) {
            let base = target.base()?;
            let named = names(target, number) || names(value, number);
            if named || base == tape || block[reader].label.is_some() {
                return None;
            }
            if place.factor(base) != 0 {
                // The counter of the tape.
                let change = Affine::of(self.unit, value)?.plus(&Affine::var(base), -1)?;
                let before = Affine::var(base).plus(&Affine::number(change.value()?), -1)?;
                place = place.with(base, &before)?;
            } else if !matches!(target.kind, ExprKind::Var(_)) || self.unit.symbols[base].is_array()
            {
                return None;
            }
            reader += 1;
        }
        let place = match place == as_written {
            true => written.clone(),
            false => place.to_expr(value.span),
        };
        let on_tape = Expr::element(tape, vec![place], value.span);
        let (old, after) = block.get_mut(reader..)?.split_first_mut()?;
        let StmtKind::If(branches) = &mut old.kind else {
            return None;
        };
        let reads: usize = branches.arms.iter().map(|(c, _)| count(c, number)).sum();
        let (condition, _) = branches.arms.first_mut()?;
        if old.label.is_some() || reads != 1 || count(condition, number) != 1 {
            return None;
        }
        for s in after.iter() {
            let mut read = false;
            let mut name = |x: SymId| read |= x == number;
            if s.blocks().is_empty() {
                for_each_symbol(std::slice::from_ref(s), &mut name);
            } else {
                s.for_each_own_symbol(&mut name);
                s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut name));
            }
            let assigned = assignment(s).filter(|(t, v)| {
                matches!(t.kind, ExprKind::Var(x) if x == number) && !names(v, number)
            });
            match assigned {
                Some(_) => break,
                None if read => return None,
                None => {}
            }
        }
        let mut new = condition.clone();
        self.put(&mut new, number, &on_tape);
        let text = |e: &Expr| "IF () THEN".len() + print_expr(self.unit, e).len();
        if lines_of(text(&new), indent) > lines_of(text(condition), indent) {
            return None;
        }
        *condition = new;
        Some(number)
    }

    /// Replaces a variable by its value, in parentheses where these matter.
    fn put(&self, e: &mut Expr, variable: SymId, value: &Expr) {
        let bare = match &value.kind {
            ExprKind::Paren(inner) => inner,
            _ => value,
        };
        let is_variable = |e: &Expr| matches!(e.kind, ExprKind::Var(s) if s == variable);
        if is_variable(e) {
            *e = bare.clone();
            return;
        }
        let intrinsic = match &e.kind {
            ExprKind::Call(f, _) => matches!(self.unit.symbols[*f].class, Class::Intrinsic(_)),
            _ => false,
        };
        let delimited = intrinsic || matches!(e.kind, ExprKind::Paren(_) | ExprKind::Element(..));
        let atom = match bare.kind {
            ExprKind::Int(n) => n >= 0,
            _ => matches!(bare.kind, ExprKind::Var(_) | ExprKind::Element(..)),
        };
        for operand in e.children_mut() {
            match is_variable(operand) {
                true if delimited || atom => *operand = bare.clone(),
                true => *operand = Expr::parens(bare.clone(), bare.span),
                false => self.put(operand, variable, value),
            }
        }
    }

    /// Makes a loop that copies an array to a tape or back an assignment of sections.
    fn by_section(&self, s: &mut Stmt, before: Option<&Stmt>) {
        let StmtKind::Do(d) = &s.kind else {
            return;
        };
        let foreign = match before.map(|s| &s.kind) {
            // Directives of ours go with the loop.
            Some(StmtKind::Comment(c)) => c.text.contains('$') && !c.text.starts_with("GCC$"),
            _ => false,
        };
        if let Some(assign) = self.sections(d)
            && !foreign
            && s.label.is_none()
        {
            s.kind = assign;
        }
    }

    fn sections(&self, d: &Do) -> Option<StmtKind> {
        let (var, low, high) = counted_by_one(&d.control)?;
        let [only] = d.body.as_slice() else {
            return None;
        };
        let (target, value) = assignment(only).filter(|_| only.label.is_none())?;
        let on_tape = |e: &Expr| e.base().is_some_and(|s| self.unit.symbols[s].tape);
        let plain = d.name.is_none()
            && d.parallel().is_none()
            && !self.read_after.contains(&var)
            && on_tape(target) != on_tape(value)
            && type_of(self.unit, target) == type_of(self.unit, value)
            && type_of(self.unit, target) != Some(Type::Character);
        let base = target.base()?;
        let mut kept = true;
        let subscripts = target.children().into_iter().chain(value.children());
        for e in subscripts.chain([low, high]) {
            e.for_each_symbol(&mut |x| {
                let own = self.storage.is_own(x) || self.storage.is_own(base);
                kept &= x != base && own;
            });
        }
        let section = |e: &Expr| self.section(e, var, low, high);
        (plain && kept).then_some(StmtKind::Assign(section(target)?, section(value)?))
    }

    /// The section of an array that a loop variable goes through, one element after the other.
    fn section(&self, e: &Expr, variable: SymId, low: &Expr, high: &Expr) -> Option<Expr> {
        let ExprKind::Element(array, subscripts) = &e.kind else {
            return None;
        };
        let one = Affine::var(variable);
        let mut found = false;
        let mut sections = Vec::new();
        for subscript in subscripts {
            if !names(subscript, variable) {
                sections.push(subscript.clone());
                continue;
            }
            let place = Affine::of(self.unit, subscript)?;
            if std::mem::replace(&mut found, true) || place.factor(variable) != 1 {
                return None;
            }
            let rest = place.plus(&one, -1)?;
            let at = |bound: &Expr| {
                let mut put = subscript.clone();
                self.put(&mut put, variable, bound);
                let simple = Affine::of(self.unit, bound)?;
                let simple = rest.clone().plus(&simple, 1)?.to_expr(e.span);
                let text = |e: &Expr| print_expr(self.unit, e).len();
                let shorter = if text(&simple) < text(&put) {
                    simple
                } else {
                    put
                };
                Some(Box::new(shorter))
            };
            let range = ExprKind::Range(Some(at(low)?), Some(at(high)?), None);
            sections.push(Expr::new(range, e.span));
        }
        found.then(|| Expr::element(*array, sections, e.span))
    }

    /// Makes an IF with one assignment, call or jump a single statement.
    fn single(&self, s: &mut Stmt, indent: usize) {
        let StmtKind::If(b) = &mut s.kind else { return };
        if b.otherwise.is_some() || b.name.is_some() || b.end_label.is_some() {
            return;
        }
        let [(condition, body)] = b.arms.as_mut_slice() else {
            return;
        };
        let [inner] = body.as_mut_slice() else { return };
        let text = |e: &Expr| print_expr(self.unit, e).len();
        let own = match &inner.kind {
            StmtKind::Assign(target, value) => text(target) + " = ".len() + text(value),
            StmtKind::Call(f, args) => {
                let name = self.unit.symbols[*f].name.as_str().len();
                let args: usize = args.iter().map(|a| text(a) + ", ".len()).sum();
                "CALL ".len() + name + args.max(2)
            }
            StmtKind::Exit(None) | StmtKind::Cycle(None) => "CYCLE".len(),
            StmtKind::Goto(_) => "GOTO 99999".len(),
            StmtKind::Return(None) => "RETURN".len(),
            _ => return,
        };
        let condition_alone = "IF () ".len() + text(condition);
        let single = lines_of(condition_alone + own, indent);
        let block = lines_of(condition_alone + "THEN".len(), indent)
            + lines_of(own, indent + INDENT[0])
            + 1;
        if inner.label.is_some() || single >= block {
            return;
        }
        let inner = inner.clone();
        s.kind = StmtKind::LogicalIf(condition.clone(), Box::new(inner));
    }
}

/// Whether an expression names a variable.
fn names(e: &Expr, variable: SymId) -> bool {
    let mut found = false;
    e.for_each_symbol(&mut |s| found |= s == variable);
    found
}

/// Whether a value may be written twice: compilers compute it once, and it is not long.
fn is_cheap(value: &Expr) -> bool {
    let mut operations = 0;
    let mut cheap = true;
    value.walk(&mut |e| match &e.kind {
        ExprKind::Binary(op, ..) => {
            operations += 1;
            cheap &= matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul);
        }
        ExprKind::Var(_)
        | ExprKind::Element(..)
        | ExprKind::Int(_)
        | ExprKind::Real(_)
        | ExprKind::Unary(..)
        | ExprKind::Paren(_) => {}
        _ => cheap = false,
    });
    cheap && operations <= MOST_TWICE
}

/// How often an expression names a variable.
fn count(e: &Expr, variable: SymId) -> usize {
    let mut found = 0;
    e.for_each_symbol(&mut |s| found += usize::from(s == variable));
    found
}

/// Whether an assignment reads a variable; `None` if it does not name it.
fn next_read(unit: &Unit, s: &Stmt, variable: SymId) -> Option<bool> {
    let mut read = false;
    for_each_read(s, &mut |x| read |= x == variable);
    (read || scalar_target(unit, s) == Some(variable)).then_some(read)
}

/// Whether a function is an intrinsic one that is not computed together with another one.
fn is_separate(unit: &Unit, f: SymId) -> bool {
    let symbol = &unit.symbols[f];
    let together = ["SIN", "COS", "DSIN", "DCOS", "CSIN", "CCOS", "ZSIN", "ZCOS"];
    matches!(symbol.class, Class::Intrinsic(_)) && !together.contains(&symbol.name.as_str())
}
