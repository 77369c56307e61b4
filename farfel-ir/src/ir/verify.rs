//! The verifier: checks the invariants of the representation between passes.

use super::{
    Arg, Class, DataSet, DoEnd, EntryPoint, Expr, ExprKind, Label, Name, Program, SaveItem,
    SpecKind, StmtId, StmtKind, StorageClass, SymId, Unit,
};
use super::{for_each_symbol, walk_block, walk_exprs};
use std::collections::{HashMap, HashSet};

/// What holds for a program at some point of the pipeline. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Names are resolved: no unknown class, no undecided `NAME(…)`.
    Resolved,
    /// No nested subprograms and no references to names of an enclosing unit.
    Lifted,
    /// No closures.
    Specialized,
    /// No AD blocks: plain Fortran.
    Staged,
}

/// Returns every violation of the invariants of the representation, for tests and debug builds: it
/// is always an error in the compiler, never in the user's program.
///
/// ```
/// use farfel_ir::ir::{Level, Program, verify};
/// assert!(verify(&Program::default(), Level::Staged).is_empty());
/// ```
pub fn verify(program: &Program, level: Level) -> Vec<String> {
    verify_some(program, level, &|_| true)
}

/// Like [`verify`], but looks only into units for which `some` returns true: those that a pass has
/// changed.
pub fn verify_some(program: &Program, level: Level, some: &dyn Fn(&Unit) -> bool) -> Vec<String> {
    let mut errors = Vec::new();
    let mut names: HashSet<&Name> = HashSet::new();
    for unit in &program.units {
        if level >= Level::Lifted && !names.insert(&unit.name) {
            errors.push(format!("two units named {}", unit.name));
        }
        if some(unit) {
            verify_unit(unit, level, &[], &mut errors);
        }
    }
    errors
}

/// Like [`verify`], for a single unit.
pub fn verify_alone(unit: &Unit, level: Level) -> Vec<String> {
    let mut errors = Vec::new();
    verify_unit(unit, level, &[], &mut errors);
    errors
}

fn verify_unit(unit: &Unit, level: Level, around: &[&Unit], errors: &mut Vec<String>) {
    let mut ids = HashSet::new();
    let mut alone = true;
    walk_block(&unit.body, &mut |s| {
        alone &= s.id == StmtId::NONE || ids.insert(s.id)
    });
    if !alone {
        errors.push(format!("{}: two statements have one id", unit.name));
    }
    let mut error = |what: String| errors.push(format!("{}: {what}", unit.name));
    let known = |s: SymId| (s.0 as usize) < unit.symbols.len();
    let mut check = |s: SymId, what: &str| {
        if !known(s) {
            error(format!("{what} names a symbol that is not there"));
        }
    };
    for a in &unit.args {
        if let Arg::Dummy(s) = a {
            check(*s, "an argument");
        }
    }
    unit.result.iter().for_each(|s| check(*s, "the result"));
    // A dummy argument that a pass has removed may still be in the table.
    let mut named: HashSet<SymId> = HashSet::new();
    for_each_symbol(&unit.body, &mut |s| {
        if named.insert(s) {
            check(s, "a statement");
        }
    });
    for spec in &unit.specs {
        for_each_spec_symbol(&spec.kind, &mut |s| check(s, "a declaration"));
    }
    for (_, s) in unit.symbols.iter() {
        // The expressions in a host-associated symbol refer to the enclosing unit.
        if matches!(s.storage_class, StorageClass::Host(_)) {
            continue;
        }
        let mut facts: Vec<&Expr> = s
            .dims
            .iter()
            .flat_map(|d| d.lower.iter().chain(&d.upper))
            .collect();
        facts.extend(&s.length);
        facts.extend(s.init.as_deref());
        if let StorageClass::Pointee(pointer) = s.storage_class {
            check(pointer, "a Cray pointer");
        }
        match &s.class {
            Class::Parameter(e) | Class::StatementFunction(_, e) => facts.push(e),
            _ => {}
        }
        for e in facts {
            e.for_each_symbol(&mut |id| check(id, "a bound or value"));
        }
    }
    if errors.iter().any(|f| f.contains("not there")) {
        return;
    }
    let mut error = |what: String| errors.push(format!("{}: {what}", unit.name));
    for (id, s) in unit.symbols.iter() {
        if unit.symbols.find(&s.name) != Some(id) {
            error(format!("two symbols named {}", s.name));
        }
        if s.class == Class::Unknown {
            error(format!("{} is of unknown class", s.name));
        }
        let needs_type = matches!(
            s.class,
            Class::Variable | Class::Parameter(_) | Class::StatementFunction(..) | Class::Function
        );
        if needs_type && s.ty.is_none() {
            error(format!("{} has no type", s.name));
        }
        match s.storage_class {
            StorageClass::Dummy => {
                let takes = |e: EntryPoint| e.args.iter().any(|a| a.sym() == Some(id));
                if named.contains(&id) && !unit.entry_points().any(takes) {
                    error(format!("{} is not an argument", s.name));
                }
            }
            StorageClass::Host(h) => {
                let above = around
                    .last()
                    .is_some_and(|p| (h.0 as usize) < p.symbols.len());
                if level >= Level::Lifted || !above {
                    error(format!("{} is linked to nothing", s.name));
                }
            }
            StorageClass::Local
            | StorageClass::Result
            | StorageClass::Common(_)
            | StorageClass::Global
            | StorageClass::Pointee(_) => {}
        }
    }
    for a in &unit.args {
        if let Arg::Dummy(s) = a
            && unit.symbols[*s].storage_class != StorageClass::Dummy
        {
            error(format!(
                "the argument {} is not placed as one",
                unit.symbols[*s].name
            ));
        }
    }
    walk_exprs(&unit.body, &mut |e| match &e.kind {
        ExprKind::Apply(s, _) => error(format!("{}(…) is undecided", unit.symbols[*s].name)),
        ExprKind::Closure(s, _) if level >= Level::Specialized => {
            error(format!("a closure of {} is left", unit.symbols[*s].name));
        }
        ExprKind::Element(s, subscripts)
            if unit.symbols[*s].is_array() && unit.symbols[*s].dims.len() != subscripts.len() =>
        {
            error(format!(
                "an element of {} with {} subscripts, not {}",
                unit.symbols[*s].name,
                subscripts.len(),
                unit.symbols[*s].dims.len()
            ));
        }
        ExprKind::Element(s, _) if !unit.symbols[*s].is_array() => {
            error(format!(
                "an element of {}, which is not an array",
                unit.symbols[*s].name
            ));
        }
        _ => {}
    });
    labels(unit, &mut error);
    walk_block(&unit.body, &mut |s| {
        if level >= Level::Staged && matches!(s.kind, StmtKind::Ad(_)) {
            error("an AD block is left".into());
        }
    });
    if level >= Level::Lifted && !unit.nested.is_empty() {
        error("a nested subprogram is left".into());
    }
    let inner: Vec<&Unit> = around.iter().copied().chain([unit]).collect();
    for n in &unit.nested {
        verify_unit(n, level, &inner, errors);
    }
}

/// Checks labels: each is defined once, jumps lead to labels of statements, and labelled loops end
/// at their label.
fn labels(unit: &Unit, error: &mut dyn FnMut(String)) {
    let mut found: HashMap<Label, bool> = HashMap::new();
    let mut twice = Vec::new();
    let mut add = |label: Label, format: bool| {
        if found.insert(label, format).is_some() {
            twice.push(label);
        }
    };
    for spec in &unit.specs {
        if let SpecKind::Format(label, _) = spec.kind {
            add(label, true);
        }
    }
    let mut ends = Vec::new();
    walk_block(&unit.body, &mut |s| {
        if let Some(label) = s.label {
            add(label, matches!(s.kind, StmtKind::Format(_)));
        }
        match &s.kind {
            StmtKind::Do(d) => match d.end {
                DoEnd::EndDo(label) => label.iter().for_each(|l| add(*l, false)),
                DoEnd::Label(label) if !d.has_its_end() => ends.push(label),
                DoEnd::Label(_) => {}
            },
            StmtKind::If(b) => {
                b.marks
                    .iter()
                    .filter_map(|m| m.label)
                    .for_each(|l| add(l, false));
                b.end_label.iter().for_each(|l| add(*l, false));
            }
            StmtKind::Select(s) => {
                let cases = s.cases.iter().map(|c| c.mark).chain([s.end]);
                cases.filter_map(|m| m.label).for_each(|l| add(l, false));
            }
            _ => {}
        }
    });
    for label in twice {
        error(format!("the label {label} occurs twice"));
    }
    for label in ends {
        error(format!(
            "a loop ends at {label}, but its last statement is another one"
        ));
    }
    walk_block(&unit.body, &mut |s| {
        for label in s.kind.jumps() {
            match found.get(&label) {
                Some(false) => {}
                Some(true) => error(format!("a jump to {label}, which is a FORMAT")),
                None => error(format!("a jump to {label}, which is not there")),
            }
        }
        if let StmtKind::AssignLabel(label, _) = s.kind
            && !found.contains_key(&label)
        {
            error(format!("ASSIGN of the label {label}, which is not there"));
        }
    });
}

fn for_each_spec_symbol(spec: &SpecKind, f: &mut dyn FnMut(SymId)) {
    match spec {
        SpecKind::Comment(_)
        | SpecKind::Implicit
        | SpecKind::ThreadPrivate(_)
        | SpecKind::Include(_)
        | SpecKind::Use(_)
        | SpecKind::Format(..) => {}
        SpecKind::Type(_, l) | SpecKind::Attribute(_, l) => l.iter().for_each(|e| f(e.sym)),
        SpecKind::Pointer(l) => l.iter().for_each(|(p, e)| {
            f(*p);
            f(e.sym);
        }),
        SpecKind::Common(blocks) => blocks.iter().flat_map(|(_, l)| l).for_each(|e| f(e.sym)),
        SpecKind::Dimension(l)
        | SpecKind::External(l)
        | SpecKind::Intrinsic(l)
        | SpecKind::Parameter(l)
        | SpecKind::Intent(_, l) => l.iter().copied().for_each(f),
        SpecKind::Equivalence(groups) => groups.iter().flatten().for_each(|e| e.for_each_symbol(f)),
        SpecKind::Data(sets) => {
            for DataSet { targets, values } in sets {
                targets.iter().for_each(|e| e.for_each_symbol(f));
                for (repeat, value) in values {
                    repeat
                        .iter()
                        .chain([value])
                        .for_each(|e| e.for_each_symbol(f));
                }
            }
        }
        SpecKind::Save(items) => {
            for i in items {
                if let SaveItem::Var(s) = i {
                    f(*s);
                }
            }
        }
        SpecKind::StatementFunction(s) | SpecKind::Namelist(s) => f(*s),
    }
}
