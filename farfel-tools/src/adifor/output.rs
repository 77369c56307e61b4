//! Turns the output of ADIFOR into the subroutines that the program calls.

use super::Options;
use super::input::Prepared;
use super::names::rename_blocks;
use super::place::place;
use super::zero::{Block, subroutine, zero};
use crate::external::{RunResult, fixed_form};
use farfel_ad::depend::Dependence;
use farfel_ad::locations::common_members;
use farfel_lang::access::{self, Access};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::intrinsics::is_vendor_procedure;
use farfel_lang::ir::{
    Arg, Class, Dim, Expr, IoKind, Level, Name, Program, Request, SaveItem, SpecKind, Stmt,
    StmtKind, StorageClass, SymId, Symbol, Type, Unit, UnitKind, for_each_symbol_mut, unused_name,
    verify, walk_block,
};
use farfel_lang::lints::Lints;
use farfel_lang::resolve::resolve_with;
use farfel_lang::syntax::{NoIncludes, parse_with};
use farfel_lang::{Sources, Span};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Returns the units that a run has created for a request.
pub(super) fn read(
    program: &Program,
    request: &Request,
    options: &Options,
    prepared: &Prepared,
    ran: &RunResult,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let reader = Reader {
        program,
        request,
        options,
        prepared,
    };
    let mut units = reader.units(ran).map_err(|d| vec![d])?;
    reader.warnings(&units, ran, warnings);
    for u in &mut units {
        place(u, reader.source(&u.name).0);
    }
    let made: HashSet<Name> = units.iter().map(|u| u.name.clone()).collect();
    let errors: Vec<Diagnostic> = units.iter().flat_map(|u| reader.check(u, &made)).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    reader.adapt(units).map_err(|d| vec![d])
}

/// Returns the derivative of a head without independents or without dependents, for which ADIFOR
/// cannot be run: the head, with derivatives that it does not touch.
pub(super) fn passive(
    program: &Program,
    request: &Request,
    options: &Options,
    prepared: &Prepared,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let reader = Reader {
        program,
        request,
        options,
        prepared,
    };
    let mut unit = prepared.head().into_iter().cloned().collect::<Vec<_>>();
    for u in &mut unit {
        u.name = reader.head_name();
    }
    reader.adapt(unit).map_err(|d| vec![d])
}

struct Reader<'a> {
    program: &'a Program,
    request: &'a Request,
    options: &'a Options,
    prepared: &'a Prepared,
}

impl Reader<'_> {
    fn error(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(&rules::AD_TOOL, self.request.span, message)
            .label("derivative asked for here")
    }

    fn head_name(&self) -> Name {
        let head = self.prepared.names.tool(&self.request.head);
        self.prepared.names.derivative(&head).into()
    }

    /// Returns the derivatives in the file that the head's derivative reaches, with itself last.
    fn units(&self, ran: &RunResult) -> Result<Vec<Unit>, Diagnostic> {
        let file_name = &self.prepared.output;
        let Some(text) = ran.files.get(file_name) else {
            return Err(self.error(format!("ADIFOR has not written {file_name}")));
        };
        let mut sources = Sources::new();
        let input = sources.add("closure", self.prepared.text.as_str());
        let output = sources.add(file_name.as_str(), text.as_str());
        let options = fixed_form(self.request.real);
        let closure = parse_with(&mut sources, input, &options, &mut NoIncludes);
        let written = parse_with(&mut sources, output, &options, &mut NoIncludes);
        let mut all = closure.program;
        let known: HashSet<Name> = all.units.iter().map(|u| u.name.clone()).collect();
        // Units that need no derivative may be written again unchanged.
        let new = written.program.units.into_iter();
        all.units.extend(new.filter(|u| !known.contains(&u.name)));
        let mut found = written.diagnostics;
        if found.iter().all(|d| !d.is_error()) {
            found = resolve_with(&mut all, &Lints::strict());
        }
        let wrong = found.iter().find(|d| {
            // Procedures without source are checked below.
            d.is_error() && d.span.file == output && d.rule != &rules::UNKNOWN_PROCEDURE
        });
        if let Some(d) = wrong {
            let line = sources
                .get(output)
                .map_or(0, |f| f.line_column(d.span.start).line);
            let shown: String = super::clean(text.lines().nth(line.wrapping_sub(1)).unwrap_or(""));
            return Err(self.error(format!(
                "what ADIFOR has written cannot be read: {}, in line {line} of {file_name}: {}",
                d.message,
                shown.trim()
            )));
        }
        let head = self.head_name();
        if all.unit(&head).is_none() {
            return Err(self.error(format!(
                "ADIFOR has written no {head}, the derivative of {}",
                self.request.head
            )));
        }
        let reached = ReachableUnits::of(&all, [head.as_str()]);
        let units: Vec<Unit> = reached
            .units
            .into_iter()
            .filter(|u| !known.contains(&u.name))
            .cloned()
            .collect();
        let part = Program { units };
        match verify(&part, Level::Staged).first() {
            None => Ok(part.units),
            Some(f) => Err(self.error(format!(
                "what ADIFOR has written in {file_name} cannot be used: {f}"
            ))),
        }
    }

    /// Returns the origin of a derivative unit: a position, and the name of the original.
    fn source(&self, derivative: &str) -> (Span, Name) {
        let names = &self.prepared.names;
        let original = names.original(names.of_derivative(derivative).unwrap_or(derivative));
        let unit = self.program.unit(&original);
        let span = unit.map_or(Span::NONE, |u| u.span);
        (span.or(self.request.span), original)
    }

    /// Adds the tool's warnings.
    fn warnings(&self, units: &[Unit], ran: &RunResult, warnings: &mut Vec<Diagnostic>) {
        const MARK: &str = "*ADIFOR*";
        let mut add = |span: Span, text: &str| {
            let text = super::clean(text);
            let d = Diagnostic::warning(&rules::AD_TOOL, span, format!("ADIFOR: {}", text.trim()));
            if !warnings.contains(&d) {
                warnings.push(d);
            }
        };
        for u in units {
            let (span, _) = self.source(&u.name);
            let spec_comments = u.specs.iter().filter_map(|s| match &s.kind {
                SpecKind::Comment(c) => Some(&c.text),
                _ => None,
            });
            for c in u.comments.iter().chain(spec_comments) {
                if let Some(text) = c.trim().strip_prefix(MARK) {
                    add(span, text);
                }
            }
            walk_block(&u.body, &mut |s| {
                if let StmtKind::Comment(c) = &s.kind
                    && let Some(text) = c.trim().strip_prefix(MARK)
                {
                    add(span, text);
                }
            });
        }
        for line in ran.output.lines() {
            if line.to_ascii_lowercase().contains("warning") {
                add(self.request.span, line.trim());
            }
        }
    }

    /// Reports calls of missing procedures, and derivatives that READ would leave unchanged.
    fn check(&self, unit: &Unit, made: &HashSet<Name>) -> Vec<Diagnostic> {
        let names = &self.prepared.names;
        let mut errors = Vec::new();
        let (span, _) = self.source(&unit.name);
        let in_closure = |name: &str| self.prepared.closure.iter().any(|u| u.name == name);
        for (_, s) in unit.symbols.iter() {
            let name = &s.name;
            if s.storage_class != StorageClass::Global
                || !s.class.is_procedure()
                || made.contains(name)
                || in_closure(name)
                || is_vendor_procedure(name)
                || self.options.allows(&names.original(name))
            {
                continue;
            }
            if names.of_derivative(name).is_some_and(in_closure) {
                let message = format!("ADIFOR has not written {name}, which {} calls", unit.name);
                errors.push(Diagnostic {
                    span,
                    ..self.error(message)
                });
            } else {
                let message = format!("ADIFOR's code calls {name}, which nobody has");
                let d = Diagnostic {
                    span,
                    ..self.error(message)
                };
                errors.push(d.help(format!(
                    "if it belongs to ADIFOR's libraries and you link them, set `allow-unknown = [\"{}\"]`",
                    name.to_ascii_lowercase()
                )));
            }
        }
        walk_block(&unit.body, &mut |s| {
            let StmtKind::Io(io) = &s.kind else { return };
            if io.kind != IoKind::Read {
                return;
            }
            let mut read: Vec<SymId> = Vec::new();
            access::statement(unit, s, false, &mut |a| {
                if let Access::Variable { sym, kind, .. } = a
                    && kind.changes()
                    && !read.contains(&sym)
                {
                    read.push(sym);
                }
            });
            for v in read {
                let name = &unit.symbols[v].name;
                // The name of a function's result when it has become an argument, and of its
                // derivative, is not documented.
                let result = names.of_derivative(&unit.name) == Some(name.as_str());
                if result || unit.symbols.find(&names.derivative(name)).is_some() {
                    let message =
                        format!("READ sets {name}, and ADIFOR leaves its derivative as it was");
                    let d = Diagnostic::error(&rules::AD_OTHER_TOOL, span, message);
                    errors.push(d.help("read into another variable, and assign that"));
                }
            }
        });
        errors
    }

    /// Gives the units the names, and the head the arguments, that the program uses.
    fn adapt(&self, mut units: Vec<Unit>) -> Result<Vec<Unit>, Diagnostic> {
        let head_name = self.head_name();
        for u in &mut units {
            self.unsave(u);
            if u.name == head_name {
                self.adapt_head(u)?;
            }
        }
        let globals = self.global_names(&units);
        let blocks = self.block_names(&units, &globals);
        let derivatives: HashSet<Name> = blocks
            .iter()
            .filter(|(old, _)| self.prepared.names.of_derivative(old).is_some())
            .map(|(_, new)| new.clone())
            .collect();
        for u in &mut units {
            if let Some(n) = globals.get(&u.name) {
                u.name = n.clone();
            }
            self.rename_symbols(u, &globals);
            rename_blocks(u, &|b| blocks.get(b).unwrap_or(b).clone());
        }
        self.zero_blocks(&mut units, &derivatives)?;
        let part = Program { units };
        match verify(&part, Level::Staged).first() {
            None => Ok(part.units),
            Some(f) => Err(self.error(format!("what ADIFOR has written cannot be used: {f}"))),
        }
    }

    /// Removes SAVE for local derivatives: their values do not outlive a call. (Lowering has moved
    /// variables of the closure that are saved to COMMON.)
    fn unsave(&self, unit: &mut Unit) {
        let local: HashSet<SymId> = unit
            .symbols
            .iter()
            .filter(|(_, s)| {
                let of = self.prepared.names.of_derivative(&s.name);
                // A counter of ADIFOR's exception library, which has DATA, is kept.
                s.storage_class == StorageClass::Local && of.is_some_and(|n| n != "EHFID")
            })
            .map(|(id, _)| id)
            .collect();
        for spec in &mut unit.specs {
            if let SpecKind::Save(items) = &mut spec.kind
                && !items.is_empty()
            {
                items.retain(|i| !matches!(i, SaveItem::Var(s) if local.contains(s)));
                if items.is_empty() {
                    // An empty list would mean "everything".
                    spec.kind = SpecKind::Comment(Default::default());
                }
            }
        }
        unit.specs
            .retain(|s| !matches!(s.kind, SpecKind::Comment(_)));
        for id in local {
            unit.symbols[id].saved = false;
        }
    }

    /// Makes the head's derivative accept the arguments that the program passes: the head's
    /// arguments, each that the request pairs followed by its derivative; then the number of
    /// directions.
    fn adapt_head(&self, unit: &mut Unit) -> Result<(), Diagnostic> {
        let (request, span) = (self.request, unit.span);
        let names = &self.prepared.names;
        let Some(head) = self.prepared.head() else {
            return Err(self.error("there is nothing to differentiate"));
        };
        let (pairs, mut count, leading) = self.arguments(unit, head)?;
        let asked = !request.independents.is_empty() && !request.dependents.is_empty();
        if request.vector && !asked {
            let name = unit.symbols.unused(&names.derivative("P_"), &|_| false);
            let id = unit.symbols.add(Symbol {
                typed: true,
                storage_class: StorageClass::Dummy,
                ..Symbol::variable(name, Type::INTEGER, span)
            });
            unit.declare(id);
            count = Some(id);
        }
        if request.vector && count.is_none() {
            return Err(self.error(format!(
                "{} has no {}, the number of directions",
                unit.name,
                names.derivative("P_")
            )));
        }
        let mut args = Vec::new();
        let mut prologue = Vec::new();
        for (i, (primal, derivative)) in pairs.into_iter().enumerate() {
            args.push(primal);
            let paired = request.paired.contains(&i);
            match (primal, derivative) {
                (_, Some(d)) if paired => args.push(Arg::Dummy(d)),
                (Arg::Dummy(p), Some(_)) => {
                    let name = names.original(&unit.symbols[p].name);
                    let d = Diagnostic::error(
                        &rules::AD_SIZE,
                        request.span,
                        format!("{name} has assumed size, so that its tangent cannot be stored"),
                    );
                    return Err(d.help(format!("declare its bounds, for instance {name}(N)")));
                }
                (Arg::Dummy(p), None) if paired => {
                    let d = self.passive(unit, p, count);
                    args.push(Arg::Dummy(d));
                    if request.dependents.contains(&i) && !self.passes(i)? {
                        let set = zero(unit, d, span).ok_or_else(|| {
                            let name = names.original(&unit.symbols[p].name);
                            self.error(format!("ADIFOR gives no derivative of {name}"))
                        })?;
                        prologue.extend(set);
                    }
                }
                _ => {}
            }
        }
        if let Some(c) = count.filter(|_| request.vector) {
            args.push(Arg::Dummy(c));
            // The program passes the number of directions as leading dimensions.
            let same = |s: &mut SymId| {
                if leading.contains(s) {
                    *s = c;
                }
            };
            for_each_symbol_mut(&mut unit.body, &mut |s| same(s));
            let ids: Vec<_> = unit.symbols.ids().collect();
            for id in ids {
                for d in &mut unit.symbols[id].dims {
                    for e in d.lower.iter_mut().chain(&mut d.upper) {
                        e.for_each_symbol_mut(&mut |s| same(s));
                    }
                }
            }
            for l in leading {
                unit.undeclare(l);
                unit.symbols[l].storage_class = StorageClass::Local;
            }
        }
        unit.args = args;
        let body = std::mem::take(&mut unit.body);
        unit.body = prologue.into_iter().chain(body).collect();
        Ok(())
    }

    /// Returns the arguments of the head's derivative: each of the head's with its derivative, if
    /// it has one; the number of directions; the leading dimensions.
    #[allow(clippy::type_complexity)]
    fn arguments(
        &self,
        unit: &Unit,
        head: &Unit,
    ) -> Result<(Vec<(Arg, Option<SymId>)>, Option<SymId>, Vec<SymId>), Diagnostic> {
        let names = &self.prepared.names;
        let other = || {
            let list = |u: &Unit| -> String {
                let names = u.args.iter().map(|a| match a.sym() {
                    Some(s) => u.symbols[s].name.as_str(),
                    None => "*",
                });
                names.collect::<Vec<_>>().join(", ")
            };
            self.error(format!(
                "ADIFOR's {}({}) does not fit {}({})",
                unit.name,
                list(unit),
                head.name,
                list(head)
            ))
        };
        if unit.kind != UnitKind::Subroutine {
            return Err(other());
        }
        let mut rest = unit.args.iter().filter_map(|a| a.sym()).peekable();
        let mut next = |wanted: &str| rest.next_if(|s| unit.symbols[*s].name == wanted);
        let count = next(&names.derivative("P_"));
        let mut pairs = Vec::new();
        let mut leading = Vec::new();
        for a in &head.args {
            let Some(s) = a.sym() else {
                return Err(other());
            };
            let name = &head.symbols[s].name;
            let primal = next(name).ok_or_else(other)?;
            let derivative = next(&names.derivative(name));
            if derivative.is_some() {
                leading.extend(next(&format!("LD{}", names.derivative(name))));
            }
            pairs.push((Arg::Dummy(primal), derivative));
        }
        let used = pairs.len()
            + pairs.iter().filter(|(_, d)| d.is_some()).count()
            + leading.len()
            + usize::from(count.is_some());
        let many = count.is_some() || !leading.is_empty();
        if used != unit.args.len() || many && !self.request.vector {
            return Err(other());
        }
        Ok((pairs, count, leading))
    }

    /// Adds the derivative of an argument that is passive for ADIFOR.
    fn passive(&self, unit: &mut Unit, primal: SymId, count: Option<SymId>) -> SymId {
        let of = unit.symbols[primal].clone();
        let wanted = self.prepared.names.derivative(&of.name);
        let name = unit.symbols.unused(&wanted, &|_| false);
        let mut dims = of.dims;
        if let Some(c) = count {
            let upper = Some(Expr::var(c, of.span));
            dims.insert(0, Dim { lower: None, upper });
        }
        let id = unit.symbols.add(Symbol {
            typed: true,
            dims,
            storage_class: StorageClass::Dummy,
            ..Symbol::variable(name, of.ty.unwrap_or(Type::REAL), of.span)
        });
        unit.declare(id);
        id
    }

    /// Whether an argument without a derivative keeps the tangent that it is given: it is an
    /// independent that the head does not assign.
    fn passes(&self, position: usize) -> Result<bool, Diagnostic> {
        if !self.request.independents.contains(&position) {
            return Ok(false);
        }
        let head = &self.request.head;
        let dependence = Dependence::of(&ReachableUnits::of(self.program, [head.as_str()]));
        match dependence.summary(head) {
            Some(s) if !s.assigned.contains(position) => Ok(true),
            _ => Err(self.error(format!(
                "ADIFOR gives no derivative of argument {} of {head}, which is independent and dependent",
                position + 1
            ))),
        }
    }

    /// Returns the new names of units, by the names of the units and of those that they call.
    fn global_names(&self, units: &[Unit]) -> BTreeMap<Name, Name> {
        let names = &self.prepared.names;
        let request = self.request;
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        for u in &self.program.units {
            taken.insert(&u.name);
            for s in &u.specs {
                if let SpecKind::Common(blocks) = &s.kind {
                    taken.extend(blocks.iter().map(|(b, _)| b.as_str()));
                }
            }
        }
        for u in units.iter().chain(&self.prepared.closure) {
            taken.extend(u.symbols.iter().map(|(_, s)| s.name.as_str()));
        }
        taken.insert(&request.derivative);
        let mut map: BTreeMap<Name, Name> = self
            .prepared
            .closure
            .iter()
            .map(|u| (u.name.clone(), names.original(&u.name)))
            .collect();
        let mut new: BTreeSet<Name> = BTreeSet::new();
        let head = self.head_name();
        for u in units {
            let name = if u.name == head {
                request.derivative.clone()
            } else {
                let (_, original) = self.source(&u.name);
                unused_name(&format!("{original}{}", request.suffix), &|n| {
                    taken.contains(n) || new.contains(n)
                })
            };
            new.insert(name.clone());
            map.insert(u.name.clone(), name);
        }
        map
    }

    /// Returns the new names of COMMON blocks, by their current names.
    fn block_names(&self, units: &[Unit], globals: &BTreeMap<Name, Name>) -> BTreeMap<Name, Name> {
        let names = &self.prepared.names;
        let mut all: BTreeSet<Name> = BTreeSet::new();
        for u in units {
            all.extend(common_members(u).into_keys());
        }
        let mut taken: BTreeSet<Name> = globals.values().cloned().collect();
        for u in &self.program.units {
            taken.insert(u.name.clone());
            for s in &u.specs {
                if let SpecKind::Common(blocks) = &s.kind {
                    taken.extend(blocks.iter().map(|(b, _)| b.clone()));
                }
            }
        }
        let mut map = BTreeMap::new();
        for block in all {
            let new = match names.of_derivative(&block) {
                None => names.original(&block),
                Some(of) => {
                    let of = names.original(of);
                    let of = if of.is_empty() { "BLANK" } else { &of };
                    let wanted = format!("{of}{}", self.request.suffix);
                    unused_name(&wanted, &|n| taken.contains(n))
                }
            };
            taken.insert(new.clone());
            map.insert(block, new);
        }
        map
    }

    /// Restores the names in a unit: always for procedures, for others where possible.
    fn rename_symbols(&self, unit: &mut Unit, globals: &BTreeMap<Name, Name>) {
        let names = &self.prepared.names;
        let ids: Vec<_> = unit.symbols.ids().collect();
        for id in &ids {
            let s = &unit.symbols[*id];
            if s.storage_class == StorageClass::Global && s.class.is_procedure() {
                let new = match globals.get(&s.name) {
                    Some(n) => n.clone(),
                    None => names.original(&s.name),
                };
                if let Some(other) = unit.symbols.find(&new)
                    && other != *id
                {
                    let out_of_the_way = unit.symbols.unused(&format!("{new}_"), &|_| false);
                    unit.symbols.rename(other, out_of_the_way);
                }
                unit.symbols.rename(*id, new);
            }
        }
        for id in ids {
            let s = &unit.symbols[id];
            if s.storage_class == StorageClass::Global {
                continue;
            }
            let new = match names.of_derivative(&s.name) {
                Some(of) => names.derivative(&names.original(of)),
                None => names.original(&s.name).to_string(),
            };
            let new = unused_name(&new, &|n| n.len() > 63);
            let free = unit.symbols.find(&new).is_none() && !globals.values().any(|g| *g == new);
            if free && !new.is_empty() {
                unit.symbols.rename(id, new);
            }
        }
    }

    /// Adds a subroutine that sets the derivatives in COMMON to zero, and a call of it.
    fn zero_blocks(
        &self,
        units: &mut Vec<Unit>,
        derivatives: &HashSet<Name>,
    ) -> Result<(), Diagnostic> {
        let span = self.request.span;
        let taken: BTreeSet<Name> = units
            .iter()
            .flat_map(|u| u.symbols.iter().map(|(_, s)| s.name.clone()))
            .chain(units.iter().map(|u| u.name.clone()))
            .chain(self.program.units.iter().map(|u| u.name.clone()))
            .chain(derivatives.iter().cloned())
            .collect();
        let mut found: BTreeMap<Name, Block> = BTreeMap::new();
        for u in &*units {
            for (name, members) in common_members(u) {
                if !derivatives.contains(&name) {
                    continue;
                }
                let block = Block {
                    name: name.clone(),
                    unit: u,
                    members,
                };
                match found.get(&name) {
                    Some(first) if first.size() != block.size() => {
                        return Err(self.error(format!(
                            "program units divide COMMON /{name}/ differently, and it carries derivatives"
                        )));
                    }
                    Some(_) => {}
                    None => {
                        found.insert(name, block);
                    }
                }
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        let name = unused_name(&format!("ZERO{}", self.request.suffix), &|n| {
            taken.contains(n)
        });
        let blocks: Vec<Block> = found.into_values().collect();
        let made = subroutine(name.clone(), &blocks, span).map_err(|member| {
            self.error(format!(
                "{member} is in COMMON and its size is not constant"
            ))
        })?;
        if let Some(head) = units.iter_mut().find(|u| u.name == self.request.derivative) {
            let callee = head.symbols.add(Symbol {
                class: Class::Subroutine,
                storage_class: StorageClass::Global,
                ..Symbol::new(name, span)
            });
            let call = Stmt::call(callee, Vec::new(), span);
            head.body.insert(0, call);
        }
        units.insert(0, made);
        Ok(())
    }
}
