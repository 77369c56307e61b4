//! Rewrites allocated arrays as local arrays of subroutines.
//!
//! Reverse mode executes statements twice, and in the second sweep arrays would have to exist
//! before their ALLOCATE, with the bounds and the values that they had. So the code between
//! ALLOCATE and DEALLOCATE becomes a subroutine that receives the bounds as arguments, and has the
//! array as a local array.
//!
//! ALLOCATE and DEALLOCATE at different levels of IF and DO are left as they are, and reverse mode
//! reports that it cannot handle them.

use farfel_lang::Span;
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    Allocation, Arg, Attribute, Attributes, Block, Class, Dim, Expr, ExprKind, Name, Program,
    SaveItem, SpecKind, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit, UnitKind,
    for_each_symbol, rewrite_exprs, unused_name, walk_block,
};
use farfel_lang::storage::UnitStorage;
use farfel_lang::types::type_of;
use std::collections::{BTreeSet, HashSet};

/// Whether there is an ALLOCATE or DEALLOCATE of anything but tapes.
pub(crate) fn has_allocations(program: &Program) -> bool {
    program.units.iter().any(allocates)
}

fn allocates(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| found |= allocation(unit, s).is_some());
    found
}

/// Outlines the regions of all units; the new subroutines have names that end in `suffix`.
pub(crate) fn without_allocations(program: &mut Program, suffix: &str) {
    let assigned = Assigned::of(program);
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
    let mut i = 0;
    while let Some(unit) = program.units.get_mut(i) {
        i += 1;
        if !allocates(unit) {
            continue;
        }
        let new = outlined(unit, &assigned, suffix, &mut taken, None);
        // The new units may contain regions, too.
        program.units.extend(new);
    }
}

/// Outlines the regions of some arrays of a unit, one in another if they are nested.
pub(super) fn outline(
    program: &mut Program,
    unit: usize,
    suffix: &str,
    taken: &mut HashSet<Name>,
    arrays: &BTreeSet<SymId>,
) {
    let assigned = Assigned::of(program);
    let mut next = program.units.len();
    let mut at = unit;
    // The new units have the same symbols.
    while let Some(unit) = program.units.get_mut(at) {
        let new = outlined(unit, &assigned, suffix, taken, Some(arrays));
        program.units.extend(new);
        at = next;
        next += 1;
    }
}

/// Outlines the regions of a unit, all or those of some arrays, and returns the new units.
fn outlined(
    unit: &mut Unit,
    assigned: &Assigned,
    suffix: &str,
    taken: &mut HashSet<Name>,
    only: Option<&BTreeSet<SymId>>,
) -> Vec<Unit> {
    let changing = assigned.in_unit(unit);
    let mut body = std::mem::take(&mut unit.body);
    let mut maker = RegionOutliner {
        unit,
        changing,
        suffix,
        taken,
        only,
        new: Vec::new(),
    };
    if only.is_none() {
        split_allocations(maker.unit, &mut body);
    }
    maker.block(&mut body, true);
    let new = maker.new;
    unit.body = body;
    new
}

/// Returns an ALLOCATE or DEALLOCATE of arrays that are not tapes.
fn allocation<'s>(unit: &Unit, s: &'s Stmt) -> Option<&'s Allocation> {
    let StmtKind::Allocation(a) = &s.kind else {
        return None;
    };
    let tape = |o: &Expr| o.base().is_some_and(|s| unit.symbols[s].tape);
    (!a.objects.iter().any(tape)).then_some(a)
}

/// Splits ALLOCATE and DEALLOCATE into a statement for each array. STAT= is set to success: a local
/// array exists, or the program ends.
fn split_allocations(unit: &Unit, block: &mut Block) {
    let mut out = Vec::with_capacity(block.len());
    for mut s in std::mem::take(block) {
        for b in s.blocks_mut() {
            split_allocations(unit, b);
        }
        let Some(a) = allocation(unit, &s) else {
            out.push(s);
            continue;
        };
        let mut stat = None;
        let mut others = false;
        for c in &a.control {
            match &c.kind {
                ExprKind::Keyword(n, v) if n == "STAT" => stat = Some((**v).clone()),
                _ => others = true,
            }
        }
        if others {
            out.push(s);
            continue;
        }
        for o in &a.objects {
            let one = Allocation {
                free: a.free,
                objects: vec![o.clone()],
                control: Vec::new(),
            };
            out.push(Stmt::allocation(one, s.span));
        }
        if let Some(stat) = stat {
            out.push(Stmt::assign(stat, Expr::int(0, s.span), s.span));
        }
    }
    *block = out;
}

struct RegionOutliner<'u> {
    unit: &'u mut Unit,
    /// The variables that the unit assigns.
    changing: HashSet<SymId>,
    suffix: &'u str,
    taken: &'u mut HashSet<Name>,
    /// The arrays that are outlined; nothing for all.
    only: Option<&'u BTreeSet<SymId>>,
    new: Vec<Unit>,
}

/// Returns the array of an `ALLOCATE (A(…))` or `DEALLOCATE (A)` with a single array.
fn single(s: &Stmt) -> Option<(SymId, bool, &Expr)> {
    let StmtKind::Allocation(a) = &s.kind else {
        return None;
    };
    let [object] = a.objects.as_slice() else {
        return None;
    };
    (a.control.is_empty()).then_some((object.base()?, a.free, object))
}

/// Whether a statement deallocates the array, directly or if it is allocated.
fn frees(unit: &Unit, s: &Stmt, array: SymId) -> bool {
    let inner = match &s.kind {
        StmtKind::LogicalIf(c, inner) if is_allocated(unit, c) == Some(array) => inner,
        StmtKind::If(b) => match (b.arms.as_slice(), &b.otherwise) {
            ([(c, block)], None) if is_allocated(unit, c) == Some(array) => {
                let [inner] = block.as_slice() else {
                    return false;
                };
                inner
            }
            _ => return false,
        },
        _ => s,
    };
    single(inner).is_some_and(|(s, free, _)| s == array && free)
}

/// Returns the array of `ALLOCATED (A)`.
fn is_allocated(unit: &Unit, e: &Expr) -> Option<SymId> {
    let ExprKind::Call(s, args) = &e.kind else {
        return None;
    };
    match (&unit.symbols[*s].class, args.as_slice()) {
        (Class::Intrinsic(i), [a]) if i.name == "ALLOCATED" => a.base(),
        _ => None,
    }
}

fn names(s: &[Stmt], array: SymId) -> bool {
    let mut found = false;
    for_each_symbol(s, &mut |x| found |= x == array);
    found
}

impl RegionOutliner<'_> {
    fn block(&mut self, block: &mut Block, whole: bool) {
        let mut i = 0;
        while i < block.len() {
            let wanted = |(array, free, object)| {
                let wanted = self.only.is_none_or(|only| only.contains(&array));
                wanted.then_some((array, free, object))
            };
            let Some((array, false, _)) = block.get(i).and_then(single).and_then(wanted) else {
                if let Some(s) = block.get_mut(i) {
                    for b in s.blocks_mut() {
                        self.block(b, false);
                    }
                }
                i += 1;
                continue;
            };
            let made = self
                .end(block, i, array, whole)
                .and_then(|end| Some((end, self.region(block.get(i..end)?)?)));
            if let Some((end, call)) = made {
                block.splice(i..end, [call]);
            }
            i += 1;
        }
    }

    /// Returns the end of the region that begins with an ALLOCATE, including the regions that begin
    /// inside it.
    fn end(&self, block: &[Stmt], from: usize, array: SymId, whole: bool) -> Option<usize> {
        let s = &self.unit.symbols[array];
        if s.storage_class != StorageClass::Local || !s.has(Attribute::Allocatable) {
            return None;
        }
        let mut open = vec![array];
        for (i, s) in block.iter().enumerate().skip(from + 1) {
            if let Some((a, false, _)) = single(s) {
                if open.contains(&a) {
                    return None;
                }
                open.push(a);
            } else if let Some(k) = open.iter().position(|a| frees(self.unit, s, *a)) {
                open.remove(k);
                if open.is_empty() {
                    return Some(i + 1);
                }
            }
        }
        // An array that is not deallocated explicitly is deallocated at the end of the unit.
        whole.then_some(block.len())
    }

    /// Creates a subroutine for a region, and returns the call.
    fn region(&mut self, stmts: &[Stmt]) -> Option<Stmt> {
        let (first, rest) = stmts.split_first()?;
        let (array, _, object) = single(first)?;
        let span = first.span;
        let mut body: Block = Vec::new();
        let last = rest.len();
        for (i, s) in rest.iter().enumerate() {
            // Other ways of deallocating it are not supported.
            match frees(self.unit, s, array) {
                true if i + 1 == last || !names(&rest[i + 1..], array) => {}
                true => return None,
                false => body.push(s.clone()),
            }
        }
        let mut odd = false;
        walk_block(&body, &mut |s| {
            odd |= matches!(s.kind, StmtKind::Io(_) | StmtKind::Format(_));
            if let StmtKind::Allocation(a) = &s.kind {
                odd |= a.objects.iter().any(|o| o.base() == Some(array));
            }
        });
        let mut specs = self.unit.specs.iter();
        odd |= specs.any(|s| matches!(s.kind, SpecKind::Pointer(_)));
        if odd {
            return None;
        }
        rewrite_exprs(&mut body, &mut |e| {
            if is_allocated(self.unit, e) == Some(array) {
                e.kind = ExprKind::Logical(true);
            }
        });
        let needed = self.needed(&body, array)?;
        if self.has_second_names(&body, &needed) {
            return None;
        }
        let wanted = format!("{}_R{}", self.unit.name, self.suffix);
        let name = unused_name(&wanted, &|n| self.taken.contains(n));
        self.taken.insert(name.clone());
        let mut new = self.unit.clone();
        new.kind = UnitKind::Subroutine;
        new.name = name.clone();
        new.span = span;
        new.comments.clear();
        new.remarks = Default::default();
        new.result = None;
        new.typed_header = false;
        new.body = body;
        let mut args: Vec<Expr> = needed.iter().map(|s| Expr::var(*s, span)).collect();
        new.args = needed.iter().map(|s| Arg::Dummy(*s)).collect();
        declarations(&mut new, &needed, Some(array));
        self.bounds(&mut new, object, array, &mut args)?;
        self.new.push(new);
        let symbol = Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            ..Symbol::new(name, span)
        };
        let callee = self.unit.symbols.add(symbol);
        Some(Stmt::call(callee, args, span))
    }

    /// Whether the region would access storage both through an argument and under another name, by
    /// EQUIVALENCE.
    fn has_second_names(&self, body: &[Stmt], needed: &BTreeSet<SymId>) -> bool {
        let storage = UnitStorage::of(self.unit);
        let mut named = needed.clone();
        for_each_symbol(body, &mut |s| {
            named.insert(s);
        });
        let calls = named.iter().any(|s| {
            let class = &self.unit.symbols[*s].class;
            matches!(class, Class::Subroutine | Class::Function)
        });
        needed.iter().any(|s| {
            let by_call = calls && storage.is_in_common(*s);
            let mut others = storage.overlapping(*s);
            by_call || others.any(|o| o != *s && named.contains(&o))
        })
    }

    /// Returns the variables and procedures that a region needs as arguments; `None` if one cannot
    /// be passed.
    fn needed(&self, body: &[Stmt], array: SymId) -> Option<BTreeSet<SymId>> {
        let unit = &*self.unit;
        let mut open: Vec<SymId> = Vec::new();
        for_each_symbol(body, &mut |s| open.push(s));
        // The arrays of nested regions.
        let mut inner = BTreeSet::from([array]);
        walk_block(body, &mut |s| {
            if let Some((a, false, _)) = single(s) {
                inner.insert(a);
            }
        });
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        while let Some(s) = open.pop() {
            if !seen.insert(s) || inner.contains(&s) {
                continue;
            }
            let symbol = &unit.symbols[s];
            match &symbol.class {
                Class::Variable => {}
                Class::StatementFunction(dummies, value) => {
                    // Its dummy arguments may have the names of variables.
                    value.for_each_symbol(&mut |s| {
                        open.extend((!dummies.contains(&s)).then_some(s))
                    });
                    continue;
                }
                c if c.is_procedure() && symbol.storage_class == StorageClass::Dummy => {
                    found.insert(s);
                    continue;
                }
                _ => continue,
            }
            if matches!(
                symbol.storage_class,
                StorageClass::Pointee(_) | StorageClass::Host(_)
            ) || symbol.has(Attribute::Allocatable)
                || symbol.has(Attribute::Optional)
                || symbol.is_assumed_shape()
            {
                return None;
            }
            let bounds = symbol
                .dims
                .iter()
                .flat_map(|d| d.lower.iter().chain(&d.upper));
            let mut changes = false;
            for e in bounds.chain(&symbol.length) {
                e.for_each_symbol(&mut |x| {
                    open.push(x);
                    changes |= self.changing.contains(&x);
                });
            }
            if changes {
                return None;
            }
            if !matches!(symbol.storage_class, StorageClass::Common(_)) {
                found.insert(s);
            }
        }
        Some(found)
    }

    /// Declares the array, with arguments as its bounds.
    fn bounds(
        &self,
        new: &mut Unit,
        object: &Expr,
        array: SymId,
        args: &mut Vec<Expr>,
    ) -> Option<()> {
        let ExprKind::Element(_, subscripts) = &object.kind else {
            return None;
        };
        let mut bound = |e: &Expr| {
            if let ExprKind::Int(_) = e.kind {
                return e.clone();
            }
            let name = new.symbols.unused("NB", &|_| false);
            let ty = type_of(self.unit, e).unwrap_or(Type::INTEGER);
            let mut symbol = Symbol::variable(name, ty, Span::NONE);
            symbol.typed = true;
            symbol.storage_class = StorageClass::Dummy;
            let s = new.symbols.add(symbol);
            new.declare(s);
            new.args.push(Arg::Dummy(s));
            // Passed by value, so that it stays the same even if the variable changes.
            args.push(match e.kind {
                ExprKind::Var(_) | ExprKind::Element(..) => Expr::parens(e.clone(), e.span),
                _ => e.clone(),
            });
            Expr::var(s, e.span)
        };
        let mut dims = Vec::new();
        for s in subscripts {
            dims.push(match &s.kind {
                ExprKind::Range(from, to, None) => Dim {
                    lower: from.as_deref().map(&mut bound),
                    upper: Some(bound(to.as_deref()?)),
                },
                _ => Dim {
                    lower: None,
                    upper: Some(bound(s)),
                },
            });
        }
        new.undeclare(array);
        let symbol = &mut new.symbols[array];
        symbol.dims = dims;
        symbol.typed = true;
        symbol.attributes = without(symbol.attributes, Attribute::Allocatable);
        new.declare(array);
        Some(())
    }
}

fn without(all: Attributes, one: Attribute) -> Attributes {
    let mut left = Attributes::default();
    all.iter()
        .filter(|a| *a != one)
        .for_each(|a| left.insert(a));
    if all.has(Attribute::Constant) {
        left.insert(Attribute::Constant);
    }
    left
}

/// Removes declarations from the new unit, except those of arguments, COMMON and the array.
pub(super) fn declarations(new: &mut Unit, needed: &BTreeSet<SymId>, array: Option<SymId>) {
    let mut mentioned: BTreeSet<SymId> = needed.clone();
    for_each_symbol(&new.body, &mut |s| {
        mentioned.insert(s);
    });
    mentioned.extend(array);
    for spec in &mut new.specs {
        match &mut spec.kind {
            SpecKind::Save(list) => list.retain(|i| !matches!(i, SaveItem::Var(_))),
            SpecKind::Attribute(Attribute::Automatic | Attribute::Volatile, list) => list.clear(),
            _ => {}
        }
    }
    new.specs.retain(|s| match &s.kind {
        SpecKind::Save(list) => !list.is_empty(),
        SpecKind::Attribute(_, list) => !list.is_empty(),
        SpecKind::Data(_)
        | SpecKind::Comment(_)
        | SpecKind::Equivalence(_)
        | SpecKind::Namelist(_) => false,
        _ => true,
    });
    // Only statement functions that are called are kept, with their dummy arguments. Others could
    // refer to variables that do not exist here.
    let mut formulas = BTreeSet::new();
    let mut parts = BTreeSet::new();
    let mut open: Vec<SymId> = mentioned.iter().copied().collect();
    while let Some(s) = open.pop() {
        if let Class::StatementFunction(dummies, value) = &new.symbols[s].class
            && formulas.insert(s)
        {
            parts.extend(dummies.iter().copied());
            value.for_each_symbol(&mut |s| open.push(s));
        }
    }
    for s in new.symbols.ids().collect::<Vec<_>>() {
        if matches!(new.symbols[s].class, Class::StatementFunction(..)) && !formulas.contains(&s) {
            new.undeclare(s);
            continue;
        }
        let symbol = &mut new.symbols[s];
        let variable = symbol.is_variable();
        let procedure = symbol.class.is_procedure() && symbol.storage_class == StorageClass::Dummy;
        if !variable && !procedure || matches!(symbol.storage_class, StorageClass::Common(_)) {
            continue;
        }
        symbol.saved = false;
        symbol.init = None;
        if needed.contains(&s) {
            let result = symbol.storage_class == StorageClass::Result;
            symbol.storage_class = StorageClass::Dummy;
            symbol.attributes = without(symbol.attributes, Attribute::Automatic);
            symbol.attributes = without(symbol.attributes, Attribute::Volatile);
            if result {
                symbol.typed = true;
                new.declare(s);
            }
        } else if parts.contains(&s) {
            symbol.storage_class = StorageClass::Local;
        } else if !mentioned.contains(&s) {
            symbol.storage_class = StorageClass::Local;
            new.undeclare(s);
        }
    }
}
