//! Checks of the storage of a program.

use super::constant::Constants;
use super::data::{self, InitialisedBytes};
use super::layout::{StorageLayout, UnitId};
use super::unit::{StorageProblem, UnitStorage};
use super::wording::{bytes, shown};
use super::{expressions, shapes};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Program, Unit};

/// Reports errors in constants, in COMMON and EQUIVALENCE, and in initial values, with a default
/// REAL of `real` bytes. `usable` tells for a top-level unit, by its position, whether its names
/// were resolved without errors.
pub fn check(program: &Program, real: u8, usable: &dyn Fn(usize) -> bool) -> Vec<Diagnostic> {
    let mut checker = Checker {
        layout: StorageLayout::default(),
        units: Vec::new(),
        initial: Vec::new(),
        diagnostics: Vec::new(),
    };
    for (i, unit) in program.units.iter().enumerate() {
        if usable(i) {
            checker.unit(&Constants::of(unit).with_real(real), unit);
        }
    }
    shapes::check(&checker.layout, &checker.units, &mut checker.diagnostics);
    data::check_twice(checker.initial, &mut checker.diagnostics);
    checker.diagnostics
}

struct Checker<'p> {
    layout: StorageLayout,
    /// The units, indexed by their [`UnitId`] in the layout.
    units: Vec<&'p Unit>,
    /// Initial values of variables so far, to find storage that is initialised twice.
    initial: Vec<InitialisedBytes>,
    diagnostics: Vec<Diagnostic>,
}

impl<'p> Checker<'p> {
    fn unit(&mut self, constants: &Constants, unit: &'p Unit) {
        expressions::check(constants, &mut self.diagnostics);
        let (storage, problems) = UnitStorage::build(constants);
        let found = problems.into_iter().map(|t| problem_diagnostic(unit, t));
        self.diagnostics.extend(found);
        let id = UnitId(self.units.len() as u32);
        data::check(
            id,
            constants,
            &storage,
            &mut self.initial,
            &mut self.diagnostics,
        );
        self.layout.add(constants, storage);
        self.units.push(unit);
        for n in &unit.nested {
            self.unit(&constants.nested(n), n);
        }
    }
}

fn problem_diagnostic(unit: &Unit, t: StorageProblem) -> Diagnostic {
    let name = |s| &unit.symbols[s].name;
    match t {
        StorageProblem::Inconsistent {
            span,
            first,
            second,
        } if first == second => Diagnostic::error(
            &rules::EQUIVALENCE_CONFLICT,
            span,
            format!("this would put {} at two places", name(first)),
        )
        .label("lies elsewhere already"),
        StorageProblem::Inconsistent {
            span,
            first,
            second,
        } => Diagnostic::error(
            &rules::EQUIVALENCE_CONFLICT,
            span,
            format!(
                "{} and {} are tied together already, at another distance",
                name(first),
                name(second)
            ),
        )
        .label("lies elsewhere already"),
        StorageProblem::Order { span, sym, block } => Diagnostic::error(
            &rules::EQUIVALENCE_CONFLICT,
            span,
            format!(
                "EQUIVALENCE puts {} at another place than {} does",
                name(sym),
                shown(&block)
            ),
        )
        .related(
            unit.symbols[sym].span,
            format!("{} comes from here", name(sym)),
        ),
        StorageProblem::TwoBlocks { span, sym, other } => Diagnostic::error(
            &rules::COMMONS_TIED,
            span,
            format!(
                "{} and {} are in different COMMON blocks and cannot share storage",
                name(sym),
                name(other)
            ),
        ),
        StorageProblem::BeforeBlock {
            span,
            sym,
            block,
            bytes: n,
        } => Diagnostic::error(
            &rules::COMMON_EXTENDED_LEFT,
            span,
            format!(
                "{} would begin {} before {}",
                name(sym),
                bytes(n),
                shown(&block)
            ),
        )
        .help("EQUIVALENCE can make a COMMON block longer only at its end"),
        StorageProblem::Padding {
            span,
            sym,
            block,
            bytes: n,
        } => Diagnostic::warning(
            &rules::COMMON_PADDING,
            span,
            format!(
                "{} in {} comes after {} that {} not used",
                name(sym),
                shown(&block),
                bytes(n),
                if n == 1 { "is" } else { "are" }
            ),
        )
        .help("name the variables of the largest types first"),
        StorageProblem::Misaligned { span, sym } => Diagnostic::error(
            &rules::EQUIVALENCE_CONFLICT,
            span,
            format!(
                "{} would lie in COMMON where no {} can begin",
                name(sym),
                unit.symbols[sym]
                    .ty
                    .map_or_else(|| "variable".to_owned(), |t| t.to_string())
            ),
        )
        .help("unused bytes before the variables that it is tied to cannot mend that"),
        StorageProblem::NotConstant { span } => Diagnostic::error(
            &rules::NOT_CONSTANT,
            span,
            "EQUIVALENCE takes elements and substrings at constant places",
        ),
        StorageProblem::Unsized { span, sym, common } => {
            let s = &unit.symbols[sym];
            let place = match common {
                true => "in COMMON",
                false => "in EQUIVALENCE",
            };
            let kind = match s.storage_class {
                crate::ir::StorageClass::Dummy => "is a dummy argument and cannot be",
                _ => "has no constant size and cannot be",
            };
            Diagnostic::error(
                &rules::NOT_CONSTANT,
                span,
                format!("{} {kind} {place}", s.name),
            )
            .related(s.span, format!("{} comes from here", s.name))
        }
    }
}
