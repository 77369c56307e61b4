//! Facts about subprograms that their callers in Rust must know: whether they share state, and how they may
//! end.

mod locks;
mod stack;
mod state;

use stack::{Layout, StackNeeds};
pub(crate) use stack::{UNASKED, moved};
pub(crate) use state::{initialised, is_opaque, kept};

use crate::bounds_checks::BoundsCheckPlan;
use crate::calls::{entries, procedures, spread};
use crate::config::LocalPlacement;
use crate::ends::Ends;
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    Attribute, Name, Origin, Program, SaveItem, SpecKind, StmtKind, StorageClass, SymId, Symbol,
    Type, Unit, walk_block,
};
use farfel_lang::storage::constant::integer as constant;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The maximum size in bytes of local variables on the stack. Larger ones are static and thus shared by all
/// threads. gfortran is given the same number.
pub(crate) const MAX_STACK_ARRAY: u64 = 65536;

/// The facts about every top-level unit of a program.
pub(crate) struct Facts {
    /// Units that only one thread at a time may run: they, or their callees, use COMMON or saved variables
    /// that something may assign, input or output, or something unknown.
    pub shares_state: HashSet<Name>,
    /// The numbers of the locks of these units: units that share no state take different locks.
    pub locks: HashMap<Name, usize>,
    /// Units that have, or may have, state that belongs to an instance: see [`crate::instances`].
    pub of_instance: HashSet<Name>,
    /// Units that may end the call, for example by STOP, themselves or in their callees.
    pub stops: HashSet<Name>,
    /// Units in which, or in whose callees, a check of a subscript may fail.
    pub fails: HashSet<Name>,
    /// Units that may end the call where nobody expects it: a `PRINT *` that fails, a tape without memory.
    pub surprises: HashSet<Name>,
    /// Units that may be left in the middle: by STOP, by a failed check, or by a panic of a closure that is
    /// passed for a procedure.
    pub unwinds: HashSet<Name>,
    /// Units that may read or write anywhere, themselves or in their callees, with the reason.
    pub exposed: HashMap<Name, String>,
    /// What calls need on the stack.
    pub stack: StackNeeds,
    /// What determines the size of frames.
    pub layout: Layout,
    /// The plan of the checks.
    pub plan: BoundsCheckPlan,
}

/// Where variables are kept, apart from what the program says.
#[derive(Clone, Copy)]
pub(crate) struct MemoryModel<'a> {
    /// Whether every local variable is in static memory.
    pub all_static: bool,
    /// The names that C knows, and the COMMON blocks that C or Rust may assign.
    pub known_to_others: &'a BTreeSet<Name>,
    /// Whether COMMON and saved variables belong to instances.
    pub by_instance: bool,
    /// Whether floating-point exceptions are errors.
    pub float_errors: bool,
    /// Whether this is a part of a larger library.
    pub part: bool,
    /// Whether directives of OpenMP are followed.
    pub openmp: bool,
    /// Where local variables of fixed size are.
    pub placement: LocalPlacement,
}

impl Facts {
    /// Analyses a resolved, lowered program with stand-ins for its derivatives. `assigned` must be computed
    /// with closures for dummy procedures.
    pub(crate) fn of(
        program: &Program,
        assigned: &Assigned,
        memory: MemoryModel,
        plan: BoundsCheckPlan,
    ) -> Facts {
        let entries = entries(program);
        let changing = match memory.by_instance {
            true => state::of_others(program, memory),
            false => state::changing(program, assigned, memory),
        };
        // gfortran's run-time library is thread-safe, except for statements in which a call may end.
        let lingers = |u: &Unit| Ends::of(u, &|name| entries.contains_key(name)).lingers;
        let files_are_shared = !memory.by_instance || program.units.iter().any(lingers);
        // Units with shared variables, whether these are assigned or not.
        let mut having = HashSet::new();
        // Units with variables joined by EQUIVALENCE: all of them are static if their derivatives are large.
        let mut tied = HashSet::new();
        let mut callees: HashMap<Name, HashSet<Name>> = HashMap::new();
        let mut shared = locks::SharedUses::default();
        let layout = Layout {
            placement: memory.placement,
            real: plan.real(),
        };
        let mut facts = Facts {
            shares_state: HashSet::new(),
            locks: HashMap::new(),
            of_instance: HashSet::new(),
            stops: HashSet::new(),
            surprises: HashSet::new(),
            fails: HashSet::new(),
            unwinds: HashSet::new(),
            exposed: HashMap::new(),
            stack: StackNeeds::of(program, &entries, layout),
            layout,
            plan,
        };
        // The stack may not suffice.
        facts.stops.extend(facts.stack.recursive.keys().cloned());
        for (name, bytes) in &facts.stack.calls {
            if *bytes > stack::PLENTY {
                facts.stops.insert(name.clone());
            } else if *bytes > UNASKED {
                facts.surprises.insert(name.clone());
            }
        }
        for unit in &program.units {
            let mut shares = changing.contains(&unit.name);
            let mut known = HashSet::new();
            let mut unwinds = false;
            for (_, symbol) in procedures(unit) {
                match &symbol.storage_class {
                    StorageClass::Global => match entries.get(&symbol.name) {
                        Some(owner) => {
                            known.insert(owner.clone());
                        }
                        None => {
                            shares = true;
                            shared.unknown = true;
                        }
                    },
                    // A Rust closure, which runs on the caller's thread: after lowering there are no other
                    // dummy procedures.
                    StorageClass::Dummy => {
                        unwinds = true;
                        shared.closures.insert(unit.name.clone());
                    }
                    _ => {}
                }
            }
            let mut files = false;
            walk_block(&unit.body, &mut |s| {
                files |= matches!(s.kind, StmtKind::Io(_) | StmtKind::Pause(_));
            });
            if files && files_are_shared {
                shares = true;
                shared.files.insert(unit.name.clone());
            }
            let ends = Ends::of(unit, &|name| entries.contains_key(name));
            if let Some(reason) = crate::ends::obstacle(unit) {
                facts.exposed.insert(unit.name.clone(), reason);
            }
            if memory.openmp && has_threads(unit) {
                let reason = "threads of OpenMP execute a part of it, in which an error ends the process, and iterations \
                              that conflict can do anything";
                facts.exposed.insert(unit.name.clone(), reason.into());
            }
            callees.insert(unit.name.clone(), known);
            if shares || state::has_any(unit, memory) {
                having.insert(unit.name.clone());
            }
            if state::has_tied(unit) {
                tied.insert(unit.name.clone());
            }
            if shares {
                facts.shares_state.insert(unit.name.clone());
            }
            if ends.expected || memory.float_errors {
                facts.stops.insert(unit.name.clone());
            }
            // A derivative does not exist yet.
            if ends.surprising || unit.origin == Origin::Derivative {
                facts.surprises.insert(unit.name.clone());
            }
            if unwinds {
                facts.unwinds.insert(unit.name.clone());
            }
        }
        spread(&callees, &mut having);
        spread(&callees, &mut tied);
        // What a derivative does with such variables is not known yet.
        let derivatives = program.units.iter();
        let derivatives = derivatives.filter(|u| u.origin == Origin::Derivative);
        let careful = derivatives.map(|u| &u.name);
        let careful = careful.filter(|n| having.contains(*n) || tied.contains(*n));
        match memory.by_instance {
            true => {
                facts.of_instance.extend(careful.cloned());
                facts.of_instance.extend(having);
                spread(&callees, &mut facts.of_instance);
            }
            false => facts.shares_state.extend(careful.cloned()),
        }
        spread(&callees, &mut facts.shares_state);
        spread(&callees, &mut shared.closures);
        for unit in &program.units {
            let again = shared.closures.contains(&unit.name)
                || facts.stack.recursive.contains_key(&unit.name);
            if let Some(array) = kept_on_heap(unit, memory.all_static).filter(|_| again) {
                let reason =
                    format!("{array} is kept between calls, and a call in between could free it");
                facts.exposed.entry(unit.name.clone()).or_insert(reason);
            }
        }
        facts.locks = locks::locks(program, &facts.shares_state, &callees, &shared, memory);
        let checked = facts.plan.analyse(program);
        facts.surprises.extend(checked.surprises);
        spread(&callees, &mut facts.stops);
        spread(&callees, &mut facts.surprises);
        facts.fails = checked.fails;
        spread(&callees, &mut facts.fails);
        let ending = [&facts.stops, &facts.surprises, &facts.fails];
        facts.unwinds.extend(ending.into_iter().flatten().cloned());
        spread(&callees, &mut facts.unwinds);
        facts.exposed.extend(checked.exposed);
        spread_reasons(&callees, &mut facts.exposed);
        for (entry, unit) in entries {
            facts.enter(&entry, &unit);
        }
        facts
    }
}

/// Returns the name of an array that ALLOCATE creates and that is kept between calls, if there is one.
fn kept_on_heap(unit: &Unit, all_static: bool) -> Option<&Name> {
    let all = all_static
        || unit
            .specs
            .iter()
            .any(|s| matches!(&s.kind, SpecKind::Save(items) if items.is_empty()));
    let named = |id: SymId| {
        unit.specs.iter().any(|s| match &s.kind {
            SpecKind::Save(items) => items
                .iter()
                .any(|i| matches!(i, SaveItem::Var(v) if *v == id)),
            _ => false,
        })
    };
    let arrays = unit
        .symbols
        .iter()
        .filter(|(_, s)| s.has(Attribute::Allocatable) && s.origin == Origin::Written);
    let mut kept = arrays.filter(|(id, s)| all || s.saved || named(*id));
    kept.next().map(|(_, s)| &s.name)
}

/// Whether a directive of OpenMP starts threads.
fn has_threads(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        found |= match &s.kind {
            StmtKind::Do(d) => d.parallel().is_some(),
            StmtKind::Comment(text) => {
                let directive = text.get(..4);
                directive.is_some_and(|d| d.eq_ignore_ascii_case("$OMP"))
            }
            _ => false,
        };
    });
    found
}

impl Facts {
    /// Copies the facts about a unit to one of its ENTRY points.
    fn enter(&mut self, entry: &Name, unit: &Name) {
        for set in [
            &mut self.shares_state,
            &mut self.of_instance,
            &mut self.stops,
            &mut self.surprises,
            &mut self.fails,
            &mut self.unwinds,
        ] {
            if set.contains(unit) {
                set.insert(entry.clone());
            }
        }
        if let Some(reason) = self.exposed.get(unit).cloned() {
            self.exposed.insert(entry.clone(), reason);
        }
        if let Some(bytes) = self.stack.calls.get(unit).copied() {
            self.stack.calls.insert(entry.clone(), bytes);
        }
        if let Some(lock) = self.locks.get(unit).copied() {
            self.locks.insert(entry.clone(), lock);
        }
    }
}

/// Propagates reasons from units to their callers, together with the unit that a reason comes from.
fn spread_reasons(callees: &HashMap<Name, HashSet<Name>>, reasons: &mut HashMap<Name, String>) {
    let mut callers: HashMap<&Name, Vec<&Name>> = HashMap::new();
    for (unit, called) in callees {
        called
            .iter()
            .for_each(|c| callers.entry(c).or_default().push(unit));
    }
    let mut open: Vec<Name> = reasons.keys().cloned().collect();
    open.sort();
    let mut open = std::collections::VecDeque::from(open);
    while let Some(name) = open.pop_front() {
        let Some(reason) = reasons.get(&name).cloned() else {
            continue;
        };
        let reason = match reason.contains(" (in ") {
            true => reason,
            false => format!("{reason} (in {name})"),
        };
        let mut next = callers.remove(&name).unwrap_or_default();
        next.sort();
        for caller in next {
            if !reasons.contains_key(caller) {
                reasons.insert(caller.clone(), reason.clone());
                open.push_back(caller.clone());
            }
        }
    }
}

/// Whether a unit keeps its own values between calls. Copies of it would each have their own.
pub(crate) fn keeps_state(unit: &Unit) -> bool {
    let declared = unit.specs.iter().any(|s| match &s.kind {
        SpecKind::Data(_) => true,
        SpecKind::Save(items) => {
            items.is_empty() || items.iter().any(|i| matches!(i, SaveItem::Var(_)))
        }
        _ => false,
    });
    declared || unit.symbols.iter().any(|(_, s)| s.saved)
}

/// Whether a local variable of fixed size is too large for the stack.
pub(crate) fn is_large(unit: &Unit, symbol: &Symbol) -> bool {
    let size = match (symbol.ty, &symbol.length) {
        (Some(Type::Integer(n) | Type::Real(n) | Type::Logical(n)), _) => u64::from(n),
        (Some(Type::Complex(n)), _) => 2 * u64::from(n),
        (Some(Type::Character), None) => 1,
        (Some(Type::Character), Some(length)) => match constant(unit, length) {
            Some(length) => length.max(0).unsigned_abs(),
            None => return !mentions_variable(unit, symbol),
        },
        // Any other type is not larger.
        _ => 1024,
    };
    let mut elements: u64 = 1;
    for dim in &symbol.dims {
        let (lower, upper) = (&dim.lower, &dim.upper);
        let Some(upper) = upper else {
            return false; // allocatable: on the heap
        };
        let lower = lower.as_ref().map_or(Some(1), |e| constant(unit, e));
        match (lower, constant(unit, upper)) {
            (Some(lower), Some(upper)) => {
                let extent = upper.saturating_sub(lower).saturating_add(1).max(0);
                elements = elements.saturating_mul(extent.unsigned_abs());
            }
            // An automatic array is on the stack or on the heap. A bound that is constant but cannot be
            // evaluated counts as large.
            _ => return !mentions_variable(unit, symbol),
        }
    }
    exceeds_stack(elements.saturating_mul(size))
}

fn exceeds_stack(bytes: u64) -> bool {
    // The setting for the size of REAL may double the size.
    bytes.saturating_mul(2) > MAX_STACK_ARRAY
}

fn mentions_variable(unit: &Unit, symbol: &Symbol) -> bool {
    let mut found = false;
    let bounds = symbol.dims.iter().flat_map(|d| [&d.lower, &d.upper]);
    for bound in bounds.chain([&symbol.length]).flatten() {
        bound.for_each_symbol(&mut |s| found |= unit.symbols[s].is_variable());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::Sources;
    use farfel_lang::effects::DummyAssumptions;
    use farfel_lang::resolve::resolve;
    use farfel_lang::syntax::{Form, NoIncludes, parse};

    /// Returns whether subroutine A of a program shares state, and whether it may stop.
    fn check(lines: &[&str]) -> (bool, bool) {
        let facts = facts(lines, |_| {}, false);
        (facts.shares_state.contains("A"), facts.stops.contains("A"))
    }

    /// Returns the facts about a program after a change. C knows the block /FROMC/.
    fn facts(lines: &[&str], change: impl Fn(&mut Program), all_static: bool) -> Facts {
        facts_of(lines, change, all_static, false)
    }

    fn facts_of(
        lines: &[&str],
        change: impl Fn(&mut Program),
        all_static: bool,
        part: bool,
    ) -> Facts {
        let label = |l: &&str| l.len() - l.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let line = |l: &&str| match l.starts_with('!') {
            true => format!("{l}\n"),
            false => format!("{:<6}{}\n", &l[..label(l)], l[label(l)..].trim_start()),
        };
        let text: String = lines.iter().map(line).collect();
        let mut sources = Sources::new();
        let file = sources.add("a.f", text.as_str());
        let parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
        let mut program = parsed.program;
        let errors = [parsed.diagnostics, resolve(&mut program)].concat();
        assert!(
            !farfel_lang::diagnostic::any_errors(&errors),
            "{text}\n{errors:?}"
        );
        change(&mut program);
        let assigned = Assigned::with(&program, DummyAssumptions::Closures);
        let memory = MemoryModel {
            part,
            all_static,
            known_to_others: &BTreeSet::from(["FROMC".into()]),
            by_instance: false,
            float_errors: false,
            openmp: true,
            placement: LocalPlacement::BySize,
        };
        let plan = BoundsCheckPlan::of(&program, memory.known_to_others, Some(HashSet::new()), 4);
        Facts::of(&program, &assigned, memory, plan)
    }

    /// Checks which subprograms take the same lock: groups of names, in the order of the program.
    #[test]
    fn what_shares_a_lock() {
        const FLOW: [&str; 4] = ["SUBROUTINE A(X)", "COMMON /FLOW/ U", "U = X", "END"];
        const GRID: [&str; 4] = ["SUBROUTINE B(X)", "COMMON /GRID/ D", "D = X", "END"];
        const COUNT: [&str; 4] = ["SUBROUTINE C(X)", "DATA N /0/", "N = N + 1", "END"];
        let one = |name: &'static str, lines: &[&'static str]| -> Vec<&'static str> {
            [&[name], lines, &["END"]].concat()
        };
        for (more, groups) in [
            (vec![], "A|B|C"),
            // A unit that calls two others joins them; the callee may be below something without state.
            (
                one("SUBROUTINE D(X)", &["CALL A(X)", "CALL B(X)"]),
                "A B D|C",
            ),
            (
                [
                    one(
                        "SUBROUTINE D(X)",
                        &["COMMON /GRID/ E", "E = 1", "CALL P(X)"],
                    ),
                    one("SUBROUTINE P(X)", &["CALL C(X)"]),
                ]
                .concat(),
                "A|B C D P",
            ),
            // A block with other names of variables is the same block, and a unit without any is in no group.
            (
                one("SUBROUTINE D(X)", &["COMMON /FLOW/ Z(1)", "Z(1) = X"]),
                "A D|B|C",
            ),
            (one("SUBROUTINE D(X)", &["X = 1"]), "A|B|C"),
            // All files are one state.
            (
                [
                    one("SUBROUTINE D(X)", &["COMMON /GRID/ E", "WRITE (7, *) E"]),
                    one("SUBROUTINE E(X)", &["READ (8, *) X"]),
                ]
                .concat(),
                "A|B D E|C",
            ),
            // While closures run, only one lock is held, and not two that others take in the opposite order.
            (
                [
                    one(
                        "SUBROUTINE D(F)",
                        &["COMMON /GRID/ E", "E = 1", "CALL F(1.0)"],
                    ),
                    one("SUBROUTINE E(F)", &["EXTERNAL F", "CALL C(Z)", "CALL P(F)"]),
                    one("SUBROUTINE P(F)", &["CALL F(1.0)"]),
                ]
                .concat(),
                "A|B C D E",
            ),
            // Nothing is known about code without source.
            (
                one("SUBROUTINE D(X)", &["EXTERNAL Q", "CALL Q(X)"]),
                "A B C D",
            ),
            (
                one("SUBROUTINE D(X)", &["POINTER (P, Y)", "Y = X"]),
                "A B C",
            ),
        ] {
            let lines = [&FLOW[..], &GRID, &COUNT, &more].concat();
            for whole in [true, false] {
                let facts = facts_of(&lines, |_| {}, false, !whole);
                let mut found: Vec<Vec<String>> = Vec::new();
                let mut names: Vec<_> = facts.locks.iter().collect();
                names.sort();
                for (name, number) in names {
                    found.resize(found.len().max(number + 1), Vec::new());
                    found[*number].push(name.to_string());
                }
                let found: Vec<String> = found.iter().map(|g| g.join(" ")).collect();
                match whole {
                    true => assert_eq!(found.join("|"), groups, "{lines:?}"),
                    // A part of a library does not know what the others share.
                    false => assert_eq!(found.len(), 1, "{lines:?}"),
                }
            }
        }
    }

    #[test]
    fn what_shares_state() {
        for (lines, shares) in [
            (
                &["SUBROUTINE A(X)", "Y = X", "X = Y + SIN(X)", "END"][..],
                false,
            ),
            (&["SUBROUTINE A(X)", "COMMON /C/ Y", "Y = X", "END"], true),
            (&["SUBROUTINE A(X)", "SAVE Y", "Y = X", "END"], true),
            (&["SUBROUTINE A(X)", "DATA Y /1.0/", "Y = X*Y", "END"], true),
            (&["SUBROUTINE A(X)", "WRITE (*, *) X", "END"], true),
            (&["SUBROUTINE A(X)", "EXTERNAL B", "CALL B(X)", "END"], true),
            (
                &["SUBROUTINE A(F)", "EXTERNAL F", "CALL F(1.0)", "END"],
                false,
            ),
            // A closure for a subroutine may assign its arguments, one for a function may not.
            (
                &["SUBROUTINE A(F)", "DATA Y /1.0/", "CALL F(Y)", "END"],
                true,
            ),
            (
                &["SUBROUTINE A(F, X)", "DATA Y /1.0/", "X = F(Y)", "END"],
                false,
            ),
            // On the stack, in static memory, on the stack or the heap.
            (
                &[
                    "SUBROUTINE A(X)",
                    "PARAMETER (N = 8)",
                    "REAL W(N*N, 0:99)",
                    "X = W(1, 0)",
                    "END",
                ],
                false,
            ),
            (
                &[
                    "SUBROUTINE A(X)",
                    "PARAMETER (N = 80)",
                    "REAL W(N*N, 0:99)",
                    "W(1, 0) = X",
                    "END",
                ],
                true,
            ),
            (
                &["SUBROUTINE A(X)", "CHARACTER*40000 T", "T = ' '", "END"],
                true,
            ),
            (
                &[
                    "SUBROUTINE A(X, N)",
                    "REAL W(N, 100000)",
                    "X = W(1, 1)",
                    "END",
                ],
                false,
            ),
            (
                &["SUBROUTINE A(X)", "REAL X(100000)", "X(1) = 0", "END"],
                false,
            ),
            // Through calls, including recursive ones, but not from callers.
            (
                &[
                    "SUBROUTINE A(X)",
                    "CALL B(X)",
                    "END",
                    "SUBROUTINE B(X)",
                    "X = C(X)",
                    "END",
                    "FUNCTION C(X)",
                    "PRINT *, X",
                    "C = X",
                    "END",
                ],
                true,
            ),
            (
                &[
                    "SUBROUTINE A(X)",
                    "X = 1",
                    "END",
                    "SUBROUTINE B(X)",
                    "PRINT *, X",
                    "CALL A(X)",
                    "END",
                ],
                false,
            ),
        ] {
            assert_eq!(check(lines).0, shares, "{lines:?}");
        }
    }

    /// Variables that keep their values are state if something may assign them.
    #[test]
    fn which_variables_are_state() {
        for (lines, shares) in [
            (&["DATA Y /1.0/", "X = Y"][..], false),
            (&["SAVE Y", "X = Y"], false),
            (&["SAVE", "X = 1", "DATA Y /1.0/"], false),
            (&["SAVE", "Y = X", "X = Y"], true),
            (&["SAVE", "DO 1 I = 1, 9", "1 X = I"], true),
            (&["REAL :: Y = 1.0", "X = Y"], false),
            (&["REAL :: Y = 1.0", "Y = X"], true),
            (&["REAL T(3)", "DATA T /3*1.0/", "X = T(2)"], false),
            (
                &["REAL T(3)", "DATA T(1) /1.0/", "T(2) = X", "X = T(1)"],
                true,
            ),
            // The loop variable in DATA keeps nothing.
            (
                &[
                    "REAL T(3)",
                    "DATA (T(I), I = 1, 3) /3*1.0/",
                    "DO 1 I = 1, 3",
                    "1 X = X + T(I)",
                ],
                false,
            ),
            (&["CHARACTER*4 C", "DATA C /'ABCD'/", "C(2:3) = '  '"], true),
            (&["DATA Y /1.0/", "READ (*, *) Y"], true),
            (&["DATA I /1/", "DO 1 I = 1, 9", "1 X = I"], true),
            (&["DATA I /1/", "ASSIGN 1 TO I", "1 X = 1"], true),
            (&["DATA Y /1.0/", "CALL SETS(Y)"], true),
            (&["DATA Y /1.0/", "CALL PASSES(Y)"], true),
            (&["DATA Y /1.0/", "CALL READS(Y)", "X = Y"], false),
            (&["DATA Y /1.0/", "CALL SETS((Y))", "X = Y"], false),
            (&["DATA Y /1.0/", "CALL TAKES(X, Y)"], true),
            (&["DATA Y /1.0/", "CALL NOBODY(Y)"], true),
            (
                &[
                    "DATA Y /1.0/",
                    "ADF(TANGENT(X) = 1)",
                    "Z = X",
                    "END ADF(Y = TANGENT(Z))",
                ],
                true,
            ),
            // Through EQUIVALENCE, with a saved variable and with an array that is too large.
            (
                &["EQUIVALENCE (Y, Z)", "DATA Y /1.0/", "Z = X", "X = Y"],
                true,
            ),
            (
                &["EQUIVALENCE (Y, Z)", "DATA Y /1.0/", "X = Z", "W = X"],
                false,
            ),
            (
                &[
                    "DIMENSION V(5000), W(5000)",
                    "EQUIVALENCE (V(5000), W)",
                    "V(1) = X",
                ],
                true,
            ),
            // COMMON that nobody assigns, that somebody assigns, or for which this is unknown.
            (&["COMMON /TABLE/ Y", "X = Y"], false),
            (&["COMMON /TABLE/ Y", "CALL READS(Y)"], false),
            (&["COMMON /TABLE/ Y", "CALL SETS(Y)"], true),
            (&["COMMON /FROMC/ Y", "X = Y"], true),
            (&["COMMON /COUNT/ Y, Z", "X = Y"], true),
            (
                &[
                    "COMMON /TABLE/ Y",
                    "EQUIVALENCE (Y, Z)",
                    "Z = X",
                    "DATA W /0.0/",
                ],
                true,
            ),
            // By other means.
            (
                &["DATA Y /1.0/", "POINTER (P, Z)", "P = LOC(Y)", "Z = X"],
                true,
            ),
            (&["REAL, VOLATILE, SAVE :: Y", "X = Y"], true),
        ] {
            let callees = [
                "SUBROUTINE SETS(Z)\nZ = 1\nEND",
                "SUBROUTINE PASSES(Z)\nCALL SETS(Z)\nEND",
                "SUBROUTINE READS(Z)\nW = Z\nEND",
                "SUBROUTINE TAKES(V, W)\nENTRY TAKEN(W)\nW = 1\nEND",
                "SUBROUTINE COUNTS\nCOMMON /COUNT/ I, J\nJ = J + 1\nEND",
                "BLOCK DATA\nCOMMON /TABLE/ T\nDATA T /1.0/\nEND",
            ];
            let callees = callees.iter().flat_map(|c| c.lines());
            let unit = ["SUBROUTINE A(X)"].into_iter().chain(lines.iter().copied());
            let program: Vec<&str> = unit.chain(["END"]).chain(callees).collect();
            assert_eq!(check(&program).0, shares, "{lines:?}");
        }
    }

    /// A derivative has state if the original has any variables that could be state, and if there are
    /// derivatives, so has every unit that uses COMMON.
    #[test]
    fn derivatives_are_not_known() {
        let lines = [
            "SUBROUTINE A(X)",
            "CALL F_D(X)",
            "END",
            "SUBROUTINE F(X)",
            "DATA Y /1.0/",
            "X = Y",
            "END",
            "SUBROUTINE F_D(X)",
            "CALL F(X)",
            "END",
            "SUBROUTINE G(X)",
            "COMMON /C/ Y",
            "X = Y",
            "END",
            "SUBROUTINE H_D(X)",
            "CALL H(X)",
            "END",
            "SUBROUTINE H(X)",
            "DIMENSION V(9), W(9)",
            "EQUIVALENCE (V, W)",
            "V(1) = X",
            "X = W(1)",
            "END",
        ];
        let derivative = |program: &mut Program| {
            for name in ["F_D", "H_D"] {
                let unit = program.unit_mut(name).expect("it is there");
                unit.origin = Origin::Derivative;
            }
        };
        let shares = |facts: Facts| {
            let mut names: Vec<String> = facts.shares_state.iter().map(|n| n.to_string()).collect();
            names.sort();
            names
        };
        assert_eq!(shares(facts(&lines, |_| {}, false)), [""; 0]);
        let found = shares(facts(&lines, derivative, false));
        assert_eq!(found, ["A", "F_D", "G", "H_D"]);
    }

    #[test]
    fn static_memory_is_state() {
        for (all_static, shares) in [(true, true), (false, false)] {
            let found = facts(&["SUBROUTINE A(X)", "X = 1", "END"], |_| {}, all_static);
            assert_eq!(found.shares_state.contains("A"), shares, "{all_static}");
        }
    }

    /// An error in one of several threads cannot be returned.
    #[test]
    fn what_has_threads() {
        let of = |first: &'static str| {
            let lines = [
                "SUBROUTINE A(N, X)",
                "REAL X(N)",
                "CALL B(N, X)",
                "END",
                "SUBROUTINE B(N, X)",
                "REAL X(N)",
                first,
                "DO I = 1, N",
                "X(I) = I",
                "END DO",
                "END",
            ];
            let facts = facts(&lines, |_| (), false);
            ["A", "B"].map(|unit| facts.exposed.contains_key(unit))
        };
        assert_eq!(of("!$OMP PARALLEL DO"), [true, true]);
        assert_eq!(of("!$OMP PARALLEL"), [true, true]);
        assert_eq!(of("! $OMP PARALLEL DO"), [false, false]);
    }

    #[test]
    fn what_stops() {
        let callee = [
            "SUBROUTINE A(X)",
            "IF (X .GT. 0) Y = B(X)",
            "END",
            "FUNCTION B(X)",
            "B = X",
            "IF (X .GT. 1) STOP",
            "END",
        ];
        assert_eq!(check(&callee), (false, true));
    }

    /// Everything that ends a Fortran program ends a call.
    #[test]
    fn what_ends_a_call() {
        for (lines, stops) in [
            (&["X = X/Y"][..], false),
            (&["PAUSE"], true),
            (&["CALL EXIT(3)"], true),
            (&["CALL ABORT"], true),
            (&["EXTERNAL EXIT", "CALL EXIT(3)"], false),
            // A failure here is a panic, as in Rust.
            (&["PRINT *, X"], false),
            (&["WRITE (*, *) X"], false),
            (&["PRINT '(F5.2)', X"], true),
            (&["WRITE (3) X"], true),
            (&["WRITE (3, ERR=1) X", "1 X = 0"], false),
            (&["WRITE (3, IOSTAT=I) X"], false),
            (&["READ (3) X"], true),
            (&["READ (3, END=1) X", "1 X = 0"], true),
            (&["READ (3, ERR=1) X", "1 X = 0"], true),
            (&["READ (3, END=1, ERR=1) X", "1 X = 0"], false),
            (&["INQUIRE (IOLENGTH=I) X"], false),
            (&["REWIND 3"], true),
            (&["REAL, ALLOCATABLE :: W(:)", "ALLOCATE (W(3))"], true),
            (
                &["REAL, ALLOCATABLE :: W(:)", "ALLOCATE (W(3), STAT=I)"],
                false,
            ),
            (&["REAL W(J)", "X = W(1)"], true),
            (&["REAL W(9)", "X = W(1)"], false),
            // Even if the function that is needed has the same name as a variable.
            (&["REAL W(J), LOC(2)", "LOC(1) = 1", "X = W(1)"], true),
            (&["I = I/J"], true),
            (&["I = I/2"], false),
            (&["PARAMETER (N = 7)", "I = MOD(I, N)"], false),
            (&["I = MOD(I, J)"], true),
            (&["I = MODULO(I, J)"], true),
            (&["X = MOD(X, Y)"], false),
            (&["I = I**J"], true),
            (&["I = I**3"], false),
            (&["I = (-1)**J"], false),
            (&["X = X**J"], false),
            (&["DO 1 I = 1, 9, J", "1 X = I"], true),
            (&["DO 1 I = 9, 1, -1", "1 X = I"], false),
            (&["IF (X .GT. 0) I = I/J"], true),
            (&["Y(Z) = Z*(K/J)", "X = Y(X)"], true),
        ] {
            let unit = ["SUBROUTINE A(X, J)"].into_iter();
            let program: Vec<&str> = unit.chain(lines.iter().copied()).chain(["END"]).collect();
            assert_eq!(check(&program).1, stops, "{lines:?}");
        }
    }
}
