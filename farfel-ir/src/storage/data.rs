//! Initial values: DATA and declarations (ANSI X3.9-1978, section 9).

use super::constant::Constants;
use super::expressions::{outside, zero_step};
use super::layout::UnitId;
use super::unit::UnitStorage;
use super::value::Value;
use super::wording::shown;
use crate::diagnostic::{Diagnostic, rules};
use crate::encoding;
use crate::ir::{
    Attribute, Class, DataSet, Expr, ExprKind, ImpliedDo, Name, SpecKind, StorageClass, SymId,
    Type, UnOp, UnitKind,
};
use crate::source::Span;
use std::collections::HashSet;

/// The largest number of implied DO iterations that are evaluated in a DATA statement. Larger ones
/// are not checked.
const MOST_ELEMENTS: usize = 1 << 18;

/// A piece of storage. Pieces with different keys are disjoint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum StorageKey {
    /// A COMMON block.
    Block(Name),
    /// An EQUIVALENCE class.
    Area(UnitId, usize),
    /// A variable with storage of its own.
    Own(UnitId, SymId),
}

/// A range of bytes that has an initial value.
#[derive(Debug, Clone)]
pub(super) struct InitialisedBytes {
    key: StorageKey,
    start: i64,
    end: i64,
    /// The variable's name in its unit.
    name: Name,
    span: Span,
}

/// Consecutive elements that a DATA statement initialises.
struct ElementRun {
    sym: SymId,
    /// First byte, from the start of the variable.
    start: i64,
    /// The size of each element in bytes.
    bytes: i64,
    count: i64,
    span: Span,
}

/// Checks the initial values in a unit and adds them to `initial`.
pub(super) fn check(
    id: UnitId,
    constants: &Constants,
    storage: &UnitStorage,
    initial: &mut Vec<InitialisedBytes>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut checker = Checker {
        id,
        constants,
        storage,
        initial,
        diagnostics,
        refused: HashSet::new(),
        blocks: HashSet::new(),
    };
    let unit = constants.unit;
    for (sym, s) in unit.symbols.iter() {
        if let Some(value) = &s.init
            && s.is_variable()
            && !matches!(s.storage_class, StorageClass::Host(_))
        {
            checker.declaration(sym, s.span, value);
        }
    }
    for spec in &unit.specs {
        if let SpecKind::Data(sets) = &spec.kind {
            sets.iter().for_each(|s| checker.set(s));
        }
    }
}

struct Checker<'a> {
    id: UnitId,
    constants: &'a Constants<'a>,
    storage: &'a UnitStorage,
    initial: &'a mut Vec<InitialisedBytes>,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// Variables that cannot have an initial value and have been reported.
    refused: HashSet<SymId>,
    /// COMMON blocks whose initialisation here has been reported.
    blocks: HashSet<Name>,
}

impl Checker<'_> {
    fn declaration(&mut self, sym: SymId, span: Span, value: &Expr) {
        if !self.may_have_value(sym, span) {
            return;
        }
        self.fits(sym, value);
        if let Some(size) = self.constants.size(sym) {
            self.add(sym, 0, size, span);
        }
    }

    fn set(&mut self, set: &DataSet) {
        let mut targets = Vec::new();
        let mut left = MOST_ELEMENTS;
        let usable: Option<Vec<()>> = set
            .targets
            .iter()
            .map(|t| self.target(t, &mut targets, &mut left))
            .collect();
        let values: Vec<Option<(i64, &Expr)>> = set
            .values
            .iter()
            .map(|(n, v)| Some((self.repeats(n.as_ref())?, v)))
            .collect();
        let values: Option<Vec<(i64, &Expr)>> = values.into_iter().collect();
        let (Some(_), Some(values)) = (usable, values) else {
            return;
        };
        self.values(&targets, &values);
        let elements = targets.iter().fold(0i64, |n, r| n.saturating_add(r.count));
        let given = values.iter().fold(0i64, |n, v| n.saturating_add(v.0));
        if elements != given
            && let (Some(first), Some((_, last))) = (set.targets.first(), values.last())
        {
            let s = |n| if n == 1 { "" } else { "s" };
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::DATA_COUNT,
                    first.span.to(last.span),
                    format!(
                        "{given} value{} for {elements} element{}",
                        s(given),
                        s(elements)
                    ),
                )
                .help("an array counts with all its elements; `3*0.0` gives three values"),
            );
        }
    }

    /// Assigns the values to the targets in order.
    fn values(&mut self, targets: &[ElementRun], values: &[(i64, &Expr)]) {
        let mut values = values.iter().copied().enumerate();
        let mut value = values.next();
        // The same value for several elements of one variable is checked once.
        let mut seen: Option<(SymId, usize)> = None;
        for run in targets {
            let mut done = 0i64;
            while done < run.count {
                let Some((i, (left, e))) = value else { break };
                let n = left.min(run.count - done);
                if n > 0 && seen != Some((run.sym, i)) {
                    seen = Some((run.sym, i));
                    self.fits(run.sym, e);
                }
                done += n;
                value = match left - n {
                    0 => values.next(),
                    left => Some((i, (left, e))),
                };
            }
            if done > 0 {
                let end = run.start.saturating_add(run.bytes.saturating_mul(done));
                self.add(run.sym, run.start, end, run.span);
            }
        }
    }

    fn repeats(&mut self, n: Option<&Expr>) -> Option<i64> {
        let Some(n) = n else { return Some(1) };
        let value = self.constants.integer(n);
        if value.is_none_or(|n| n < 0) {
            self.diagnostics.push(Diagnostic::error(
                &rules::NOT_CONSTANT,
                n.span,
                "a repeat count must be a constant INTEGER that is not negative",
            ));
            return None;
        }
        value
    }

    /// Appends the elements of a target to `found`; `None` if they are not known.
    fn target(&mut self, e: &Expr, found: &mut Vec<ElementRun>, left: &mut usize) -> Option<()> {
        if let ExprKind::ImpliedDo(d) = &e.kind {
            return self.implied(d, found, left);
        }
        let sym = e.base()?;
        if !self.may_have_value(sym, e.span) {
            return None;
        }
        let constants = self.constants;
        let bytes = constants.element_size(sym)?;
        let (start, bytes, count) = match &e.kind {
            ExprKind::Var(_) => (0, bytes, constants.count(sym)?),
            ExprKind::Element(_, subscripts) => {
                for (k, at) in subscripts.iter().enumerate() {
                    let value = constants.integer(at)?;
                    if let Some(message) = outside(constants, sym, k, value) {
                        let d = Diagnostic::error(&rules::OUT_OF_BOUNDS, e.span, message)
                            .label("outside of the array");
                        // Report it once and not for each iteration.
                        if !self
                            .diagnostics
                            .iter()
                            .rev()
                            .take(1)
                            .any(|l| l.span == d.span)
                        {
                            self.diagnostics.push(d);
                        }
                        return None;
                    }
                }
                (constants.offset(e)?, bytes, 1)
            }
            ExprKind::Substring(_, from, to) => {
                let low = match from {
                    Some(e) => constants.integer(e)?,
                    None => 1,
                };
                let high = match to {
                    Some(e) => constants.integer(e)?,
                    None => bytes,
                };
                let part = high.checked_sub(low)?.checked_add(1)?.max(0);
                (constants.offset(e)?, part, 1)
            }
            _ => return None,
        };
        if let Some(last) = found.last_mut()
            && last.sym == sym
            && last.span == e.span
            && last.bytes == bytes
            && last
                .start
                .checked_add(last.bytes.checked_mul(last.count)?)?
                == start
        {
            last.count = last.count.checked_add(count)?;
            return Some(());
        }
        found.push(ElementRun {
            sym,
            start,
            bytes,
            count,
            span: e.span,
        });
        Some(())
    }

    fn implied(
        &mut self,
        d: &ImpliedDo<Expr>,
        found: &mut Vec<ElementRun>,
        left: &mut usize,
    ) -> Option<()> {
        let constants = self.constants;
        let (from, to) = (constants.integer(&d.from)?, constants.integer(&d.to)?);
        let step = match &d.step {
            Some(e) => constants.integer(e)?,
            None => 1,
        };
        if step == 0 {
            let span = d.step.as_ref().map_or(d.from.span, |e| e.span);
            self.diagnostics.push(zero_step(span));
            return None;
        }
        let mut at = from;
        while if step > 0 { at <= to } else { at >= to } {
            *left = left.checked_sub(1)?;
            for item in &d.items {
                constants.with(d.var, at, || self.target(item, found, left))?;
            }
            at = at.checked_add(step)?;
        }
        Some(())
    }

    /// Whether a variable can have an initial value. Reports why not.
    fn may_have_value(&mut self, sym: SymId, span: Span) -> bool {
        let unit = self.constants.unit;
        let s = &unit.symbols[sym];
        let entry_result = unit.result.is_some() && s.storage_class == StorageClass::Result;
        let variable = |e: &Expr| {
            let mut found = e.kind == ExprKind::Star;
            e.for_each_symbol(&mut |v| found |= unit.symbols[v].is_variable());
            found
        };
        let bounds = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
        let why = if !s.is_variable() {
            "is not a variable"
        } else if s.storage_class == StorageClass::Dummy {
            "is a dummy argument: its value comes from the caller"
        } else if entry_result {
            "is the result of the function"
        } else if matches!(s.storage_class, StorageClass::Pointee(_))
            || s.has(Attribute::Allocatable)
        {
            "has no storage of its own"
        } else if bounds.chain(&s.length).any(variable) {
            "has no constant size"
        } else {
            if let StorageClass::Common(block) = &s.storage_class {
                self.common(block, span);
            }
            return true;
        };
        if self.refused.insert(sym) {
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::NO_INITIAL_VALUE,
                    span,
                    format!("{} cannot have an initial value: it {why}", s.name),
                )
                .related(s.span, format!("{} comes from here", s.name)),
            );
        }
        false
    }

    /// Warns of COMMON initialised outside of BLOCK DATA, and of initialised blank COMMON.
    fn common(&mut self, block: &Name, span: Span) {
        let reported = block.is_empty() || self.constants.unit.kind != UnitKind::BlockData;
        if reported && self.blocks.insert(block.clone()) {
            let message = match block.as_str() {
                "" => "blank COMMON has an initial value, which the standard does not allow"
                    .to_owned(),
                _ => format!("{} is initialised outside of BLOCK DATA", shown(block)),
            };
            self.diagnostics.push(
                Diagnostic::warning(&rules::COMMON_INITIALISED, span, message)
                    .help("compilers allow it; BLOCK DATA does it in every compiler"),
            );
        }
    }

    /// Checks whether a value suits this variable.
    fn fits(&mut self, sym: SymId, value: &Expr) {
        let unit = self.constants.unit;
        let s = &unit.symbols[sym];
        let plain = match &value.kind {
            ExprKind::Unary(UnOp::Plus | UnOp::Minus, e) | ExprKind::Paren(e) => e,
            _ => value,
        };
        if let ExprKind::Var(v) = plain.kind
            && !matches!(unit.symbols[v].class, Class::Parameter(_))
        {
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::NOT_CONSTANT,
                    value.span,
                    format!("{} is not a constant", unit.symbols[v].name),
                )
                .help("initial values are constants, or names that PARAMETER defines"),
            );
            return;
        }
        // Typeless bits and characters suit any variable.
        if let ExprKind::Bits(_) | ExprKind::Hollerith(_) = plain.kind {
            return;
        }
        let (Some(ty), Some(v)) = (s.ty, self.constants.value(value)) else {
            return;
        };
        let given = v.ty();
        let alike = match (ty, given) {
            (Type::Character, Type::Character) | (Type::Logical(_), Type::Logical(_)) => true,
            _ => ty.is_numeric() && given.is_numeric(),
        };
        if !alike {
            let d = Diagnostic::error(
                &rules::DATA_TYPE,
                value.span,
                format!("{} is {ty}, but this value is {given}", s.name),
            )
            .related(s.span, format!("{} comes from here", s.name));
            self.diagnostics.push(match &v {
                Value::Character(text) if ty != Type::Character => d.help(format!(
                    "characters in numbers are Hollerith constants: `{}H{}`",
                    encoding::len(text),
                    encoding::decode(encoding::encode(text).into_owned())
                )),
                Value::Integer(n @ (0 | 1), _) if matches!(ty, Type::Logical(_)) => {
                    d.help(match n {
                        0 => "write .FALSE.",
                        _ => "write .TRUE.",
                    })
                }
                _ => d,
            });
            return;
        }
        if let Value::Character(text) = &v {
            let length = self.constants.element_size(sym);
            let used = text.trim_end_matches(' ').chars().count() as i64;
            if let Some(length) = length.filter(|l| used > *l) {
                self.diagnostics.push(
                    Diagnostic::warning(
                        &rules::DATA_TRUNCATED,
                        value.span,
                        format!("{} takes {length} of these {used} characters", s.name),
                    )
                    .related(s.span, format!("{} comes from here", s.name)),
                );
            }
        } else if let Err(why) = self.constants.converted(v, sym) {
            self.diagnostics
                .push(super::expressions::wrong(value.span, why));
        }
    }

    fn add(&mut self, sym: SymId, start: i64, end: i64, span: Span) {
        let (key, from) = match self.storage.range(sym) {
            None => (StorageKey::Own(self.id, sym), 0),
            Some(spot) => {
                let block = self.storage.areas()[spot.area].block.clone();
                let area = StorageKey::Area(self.id, spot.area);
                (block.map_or(area, StorageKey::Block), spot.start)
            }
        };
        self.initial.push(InitialisedBytes {
            key,
            start: start.saturating_add(from),
            end: end.saturating_add(from),
            name: self.constants.unit.symbols[sym].name.clone(),
            span,
        });
    }
}

/// Reports storage that is initialised twice, in any units and under any names.
pub(super) fn check_twice(mut initial: Vec<InitialisedBytes>, diagnostics: &mut Vec<Diagnostic>) {
    initial.retain(|i| i.start < i.end);
    initial.sort_by(|a, b| (&a.key, a.start).cmp(&(&b.key, b.start)));
    let mut reported = HashSet::new();
    // The range that extends farthest so far.
    let mut before: Option<&InitialisedBytes> = None;
    for i in &initial {
        if let Some(b) = before
            && b.key == i.key
            && i.start < b.end
        {
            let order = |x: &InitialisedBytes| (x.span.file, x.span.start);
            let (first, second) = match order(b) <= order(i) {
                true => (b, i),
                false => (i, b),
            };
            if reported.insert((first.span, second.span)) {
                let message = match first.name == second.name {
                    true => format!("{} is initialised twice", first.name),
                    false => format!(
                        "{} is initialised twice: it shares storage with {}",
                        second.name, first.name
                    ),
                };
                diagnostics.push(
                    Diagnostic::warning(&rules::INITIALISED_TWICE, second.span, message)
                        .related(first.span, "first here"),
                );
            }
        }
        before = match before {
            Some(b) if b.key == i.key && b.end > i.end => Some(b),
            _ => Some(i),
        };
    }
}
