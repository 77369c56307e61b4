//! Regions of statements that are constant for differentiation.
//!
//! ```fortran
//! !farfel: constant begin
//!       …
//! !farfel: constant end
//! ```
//!
//! The statements between the two comments become a nested subroutine that is marked as constant,
//! so that no other code needs to know about regions.

use super::outline::{formats, formats_needed};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Block, Class, DoEnd, Label, Name, Origin, Program, Spec, SpecKind, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Unit, UnitKind, for_each_symbol_mut, unused_name, walk_block,
};
use crate::procedure_directives::RegionBoundary;
use crate::source::Span;
use std::collections::HashSet;

/// Moves the regions of all units into subroutines, whose names end in `suffix`.
pub(super) fn to_subroutines(
    program: &mut Program,
    suffix: &str,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for unit in &mut program.units {
        visit(unit, suffix, diagnostics);
    }
}

fn visit(unit: &mut Unit, suffix: &str, diagnostics: &mut Vec<Diagnostic>) {
    for nested in &mut unit.nested {
        visit(nested, suffix, diagnostics);
    }
    let mut any = unit.specs.iter().any(|s| spec_region_boundary(s).is_some());
    walk_block(&unit.body, &mut |s| any |= region_boundary(s).is_some());
    if !any {
        return;
    }
    let mut body = std::mem::take(&mut unit.body);
    // Comments right before the first statement are among the declarations.
    let mut first = Vec::new();
    for s in &unit.specs {
        if let (Some(_), SpecKind::Comment(text)) = (spec_region_boundary(s), &s.kind) {
            first.push(Stmt::new(StmtKind::Comment(text.clone()), s.span));
        }
    }
    unit.specs.retain(|s| spec_region_boundary(s).is_none());
    body.splice(0..0, first);
    let all = formats(unit, &body);
    let unit_jumps = UnitJumps::of(&body);
    let mut regions = Regions {
        formats: all,
        unit_jumps,
        suffix,
        new: Vec::new(),
        diagnostics,
    };
    regions.block(unit, &mut body);
    let new = std::mem::take(&mut regions.new);
    unit.nested.extend(new);
    unit.body = body;
}

fn region_boundary(s: &Stmt) -> Option<RegionBoundary> {
    match &s.kind {
        StmtKind::Comment(text) => crate::procedure_directives::region_boundary(text),
        _ => None,
    }
}

fn spec_region_boundary(s: &Spec) -> Option<RegionBoundary> {
    match &s.kind {
        SpecKind::Comment(text) => crate::procedure_directives::region_boundary(text),
        _ => None,
    }
}

fn error(span: Span, message: &str) -> Diagnostic {
    Diagnostic::error(&rules::GIVEN_DERIVATIVE, span, message)
}

/// The jumps of a unit, with their places and their targets.
struct UnitJumps {
    jumps: Vec<(Span, Vec<Label>)>,
}

impl UnitJumps {
    fn of(body: &[Stmt]) -> Self {
        let mut found = Vec::new();
        walk_block(body, &mut |s| {
            let to = s.kind.jumps();
            if !to.is_empty() {
                found.push((s.span, to));
            }
        });
        UnitJumps { jumps: found }
    }
}

struct Regions<'d> {
    formats: Vec<Spec>,
    unit_jumps: UnitJumps,
    suffix: &'d str,
    new: Vec<Unit>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Regions<'_> {
    fn block(&mut self, unit: &mut Unit, body: &mut Block) {
        let mut open: Option<(Span, bool, Block)> = None;
        for mut s in std::mem::take(body) {
            match (region_boundary(&s), &mut open) {
                (Some(RegionBoundary::Begin { leaves }), None) => {
                    open = Some((s.span, leaves, Vec::new()))
                }
                (Some(RegionBoundary::Begin { .. }), Some((first, ..))) => {
                    let d = error(s.span, "a constant region within another one");
                    self.diagnostics
                        .push(d.related(*first, "the other one begins here"));
                }
                (Some(RegionBoundary::End), Some(_)) => {
                    if let Some((span, leaves, inner)) = open.take() {
                        body.extend(self.region(unit, span, leaves, inner));
                    }
                }
                (Some(RegionBoundary::End), None) => self.diagnostics.push(
                    error(
                        s.span,
                        "no constant region begins in this block of statements",
                    )
                    .help(
                        "write `!farfel: constant begin` before it, at the same depth of IF and DO",
                    ),
                ),
                (None, Some((.., inner))) => inner.push(s),
                (None, None) => {
                    for b in s.blocks_mut() {
                        self.block(unit, b);
                    }
                    body.push(s);
                }
            }
        }
        if let Some((span, _, inner)) = open {
            self.diagnostics.push(
                error(
                    span,
                    "this constant region does not end in the same block of statements",
                )
                .help("write `!farfel: constant end` behind it, at the same depth of IF and DO"),
            );
            body.extend(inner);
        }
    }

    /// Returns the call of a new subroutine that replaces some statements.
    fn region(&mut self, unit: &mut Unit, span: Span, leaves: bool, mut inner: Block) -> Block {
        walk_block(&inner, &mut |s| {
            if matches!(region_boundary(s), Some(RegionBoundary::Begin { .. })) {
                self.diagnostics
                    .push(error(s.span, "a constant region within another one"));
            }
        });
        if let Some((at, what)) = self.leaves(&inner) {
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::AD_JUMP,
                    at,
                    format!("{what} a region that is constant for differentiation"),
                )
                .related(span, "the region begins here")
                .help("set a flag in the region, and branch after it"),
            );
            return inner;
        }
        let wanted = format!("CONSTANT{}{}", self.new.len() + 1, self.suffix);
        let taken =
            |n: &str| unit.symbols.find(n).is_some() || unit.nested.iter().any(|u| u.name == n);
        let name: Name = unused_name(&wanted, &taken);
        let mut made = Unit::new(UnitKind::Subroutine, name.clone(), span);
        made.origin = Origin::Generated;
        made.sizes = unit.sizes;
        made.constant = true;
        made.leaves_derivatives = leaves;
        made.directives.clone_from(&unit.directives);
        let mut map: Vec<(SymId, SymId)> = Vec::new();
        for_each_symbol_mut(&mut inner, &mut |s| {
            *s = linked(unit, &mut made, *s, &mut map);
        });
        made.specs.extend(formats_needed(&self.formats, &inner));
        made.body = inner;
        self.new.push(made);
        let callee = unit.symbols.add(Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Local,
            ..Symbol::new(name, span)
        });
        vec![Stmt::call(callee, Vec::new(), span)]
    }

    /// Returns a statement by which control would enter or leave a region.
    fn leaves(&self, inner: &[Stmt]) -> Option<(Span, &'static str)> {
        let mut inside: HashSet<Label> = HashSet::new();
        let mut spans: HashSet<Span> = HashSet::new();
        let mut found = None;
        walk_block(inner, &mut |s| {
            spans.insert(s.span);
            inside.extend(s.label);
            match &s.kind {
                StmtKind::Do(d) => {
                    if let DoEnd::EndDo(Some(l)) | DoEnd::Label(l) = d.end {
                        inside.insert(l);
                    }
                }
                StmtKind::If(b) => inside.extend(b.end_label),
                StmtKind::Select(b) => inside.extend(b.end.label),
                _ => {}
            }
        });
        walk_block(inner, &mut |s| {
            let what = match &s.kind {
                StmtKind::Return(_) => Some("RETURN leaves"),
                StmtKind::Entry(_) => Some("ENTRY leads into"),
                StmtKind::AssignLabel(..) | StmtKind::AssignedGoto(..) => {
                    Some("labels in variables cannot be used in")
                }
                kind if kind.jumps().iter().any(|l| !inside.contains(l)) => Some("the jump leaves"),
                _ => None,
            };
            if found.is_none() {
                found = what.map(|w| (s.span, w));
            }
        });
        for s in inner {
            found = found.or_else(|| leaves_loop(s, &mut Vec::new()));
        }
        let mut others = self.unit_jumps.jumps.iter();
        found.or_else(|| {
            others
                .find(|(at, to)| !spans.contains(at) && to.iter().any(|l| inside.contains(l)))
                .map(|(at, _)| (*at, "the jump leads into"))
        })
    }
}

/// Finds EXIT and CYCLE statements of a construct that does not enclose them.
fn leaves_loop<'s>(
    s: &'s Stmt,
    around: &mut Vec<Option<&'s Name>>,
) -> Option<(Span, &'static str)> {
    let looped = matches!(s.kind, StmtKind::Do(_));
    let name = match &s.kind {
        StmtKind::Do(d) => d.name.as_ref(),
        StmtKind::If(b) => b.name.as_ref(),
        StmtKind::Select(b) => b.name.as_ref(),
        _ => None,
    };
    match &s.kind {
        StmtKind::Exit(to) | StmtKind::Cycle(to) => {
            let known = match to {
                Some(n) => around.contains(&Some(n)),
                None => around.iter().any(|a| a.is_none()),
            };
            return (!known).then_some((s.span, "EXIT or CYCLE leaves"));
        }
        StmtKind::LogicalIf(_, inner) => return leaves_loop(inner, around),
        _ => {}
    }
    let depth = around.len();
    if looped {
        around.push(None);
    }
    if name.is_some() {
        around.push(name);
    }
    let mut found = None;
    for b in s.blocks() {
        for s in b {
            found = found.or_else(|| leaves_loop(s, around));
        }
    }
    around.truncate(depth);
    found
}

/// Returns the symbol of the new subroutine for a symbol of the unit around it.
fn linked(unit: &Unit, made: &mut Unit, id: SymId, map: &mut Vec<(SymId, SymId)>) -> SymId {
    if let Some((_, ours)) = map.iter().find(|(theirs, _)| *theirs == id) {
        return *ours;
    }
    let seen = &unit.symbols[id];
    let place = match &seen.storage_class {
        StorageClass::Global => StorageClass::Global,
        _ if matches!(seen.class, Class::Intrinsic(_)) => StorageClass::Local,
        _ => StorageClass::Host(id),
    };
    let ours = made.symbols.add(Symbol {
        name: made.symbols.unused(&seen.name, &|_| false),
        storage_class: place,
        saved: false,
        init: None,
        ..seen.clone()
    });
    map.push((id, ours));
    ours
}
