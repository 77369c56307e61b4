//! Regions of statements that are constant for differentiation, or that reverse sweeps execute again.
//!
//! ```fortran
//! !farfel: constant begin
//!       …
//! !farfel: constant end
//! !farfel: checkpoint begin
//!       …
//! !farfel: checkpoint end
//! ```
//!
//! The statements between two comments become a nested subroutine that is marked as constant, or whose calls are
//! joint, so that no other code needs to know about regions. Regions that are executed again may contain others.

use super::outline::{formats, formats_needed};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Block, Class, DoEnd, Label, Name, Origin, Program, Spec, SpecKind, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Unit, UnitKind, for_each_symbol_mut, unused_name, walk_block,
};
use crate::procedure_directives::{RegionBoundary, RegionKind};
use crate::source::Span;
use std::collections::HashSet;

impl RegionKind {
    /// The word for such a region, and in its directives.
    fn word(self) -> &'static str {
        match self {
            RegionKind::Constant => "constant",
            RegionKind::Checkpoint => "checkpoint",
        }
    }
}

/// Moves the regions of all units into subroutines, whose names end in `suffix`. Those that reverse sweeps execute
/// again stay as they are if there are only tangents.
pub(super) fn to_subroutines(
    program: &mut Program,
    suffix: &str,
    adjoint: bool,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for unit in &mut program.units {
        visit(unit, suffix, adjoint, diagnostics);
    }
}

fn visit(unit: &mut Unit, suffix: &str, adjoint: bool, diagnostics: &mut Vec<Diagnostic>) {
    for nested in &mut unit.nested {
        visit(nested, suffix, adjoint, diagnostics);
    }
    let mut any = unit.specs.iter().any(|s| spec_region_boundary(s).is_some());
    walk_block(&unit.body, &mut |s| any |= region_boundary(s).is_some());
    if !any {
        return;
    }
    if !adjoint {
        remove_checkpoints(unit);
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
        adjoint,
        new: Vec::new(),
        diagnostics,
    };
    regions.block(unit, &mut body);
    let new = std::mem::take(&mut regions.new);
    unit.nested.extend(new);
    unit.body = body;
}

/// Removes the directives around regions that reverse sweeps execute again.
fn remove_checkpoints(unit: &mut Unit) {
    let is_checkpoint = |boundary: Option<RegionBoundary>| match boundary {
        Some(RegionBoundary::Begin { kind, .. } | RegionBoundary::End(kind)) => {
            kind == RegionKind::Checkpoint
        }
        None => false,
    };
    fn remove(block: &mut Block, is: &dyn Fn(Option<RegionBoundary>) -> bool) {
        block.retain(|s| !is(region_boundary(s)));
        for s in block {
            (s.blocks_mut().into_iter()).for_each(|inner| remove(inner, is));
        }
    }
    (unit.specs).retain(|s| !is_checkpoint(spec_region_boundary(s)));
    remove(&mut unit.body, &is_checkpoint);
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

fn within_another(span: Span, other: Span) -> Diagnostic {
    error(span, "a constant region within another one").related(other, "the other one begins here")
}

fn unmatched(span: Span, kind: RegionKind) -> Diagnostic {
    let word = kind.word();
    let message = format!("no {word} region begins in this block of statements");
    error(span, &message).help(format!(
        "write `!farfel: {word} begin` before it, at the same depth of IF and DO"
    ))
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

/// A region of which the end has not been found yet.
struct OpenRegion {
    kind: RegionKind,
    /// Whether constant statements leave derivatives unchanged.
    leaves: bool,
    /// The place of the directive.
    span: Span,
    /// The regions within this one that are open as well.
    within: Vec<RegionKind>,
    body: Block,
}

struct Regions<'d> {
    formats: Vec<Spec>,
    unit_jumps: UnitJumps,
    suffix: &'d str,
    adjoint: bool,
    new: Vec<Unit>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Regions<'_> {
    fn block(&mut self, unit: &mut Unit, body: &mut Block) {
        let mut open: Option<OpenRegion> = None;
        for mut s in std::mem::take(body) {
            let boundary = region_boundary(&s);
            let is_inner = open.as_ref().is_some_and(|o| !o.within.is_empty());
            match (boundary, &mut open) {
                (Some(RegionBoundary::Begin { kind, leaves }), None) => {
                    open = Some(OpenRegion {
                        kind,
                        leaves,
                        span: s.span,
                        within: Vec::new(),
                        body: Vec::new(),
                    });
                }
                (Some(RegionBoundary::Begin { kind, .. }), Some(o)) => {
                    let constant = RegionKind::Constant;
                    let is_within = o.kind == constant || o.within.contains(&constant);
                    if kind == constant && is_within {
                        self.diagnostics.push(within_another(s.span, o.span));
                        continue;
                    }
                    o.within.push(kind);
                    o.body.push(s);
                }
                (Some(RegionBoundary::End(kind)), Some(o)) if is_inner => {
                    if o.within.last() != Some(&kind) {
                        self.diagnostics.push(unmatched(s.span, kind));
                        continue;
                    }
                    o.within.pop();
                    o.body.push(s);
                }
                (Some(RegionBoundary::End(kind)), Some(o)) if o.kind == kind => {
                    if let Some(region) = open.take() {
                        body.extend(self.region(unit, region));
                    }
                }
                (Some(RegionBoundary::End(kind)), _) => {
                    self.diagnostics.push(unmatched(s.span, kind));
                }
                (None, Some(o)) => o.body.push(s),
                (None, None) => {
                    for b in s.blocks_mut() {
                        self.block(unit, b);
                    }
                    body.push(s);
                }
            }
        }
        if let Some(o) = open {
            let word = o.kind.word();
            let message =
                format!("this {word} region does not end in the same block of statements");
            self.diagnostics.push(error(o.span, &message).help(format!(
                "write `!farfel: {word} end` behind it, at the same depth of IF and DO"
            )));
            body.extend(o.body);
        }
    }

    /// Returns the call of a new subroutine that replaces some statements.
    fn region(&mut self, unit: &mut Unit, region: OpenRegion) -> Block {
        let OpenRegion {
            kind,
            leaves,
            span,
            body: mut inner,
            ..
        } = region;
        let is_constant = kind == RegionKind::Constant;
        walk_block(&inner, &mut |s| {
            if let Some(RegionBoundary::Begin {
                kind: RegionKind::Constant,
                ..
            }) = region_boundary(s)
                && is_constant
            {
                self.diagnostics.push(within_another(s.span, span));
            }
        });
        if let Some((at, what)) = self.leaves(&inner) {
            self.diagnostics.push(
                Diagnostic::error(
                    &rules::AD_JUMP,
                    at,
                    match kind {
                        RegionKind::Constant => {
                            format!("{what} a region that is constant for differentiation")
                        }
                        RegionKind::Checkpoint => {
                            format!("{what} a region that is executed again")
                        }
                    },
                )
                .related(span, "the region begins here")
                .help("set a flag in the region, and branch after it"),
            );
            return inner;
        }
        let word = kind.word().to_uppercase();
        let wanted = format!("{word}{}{}", self.new.len() + 1, self.suffix);
        let taken =
            |n: &str| unit.symbols.find(n).is_some() || unit.nested.iter().any(|u| u.name == n);
        let name: Name = unused_name(&wanted, &taken);
        let mut made = Unit::new(UnitKind::Subroutine, name.clone(), span);
        made.origin = Origin::Generated;
        made.sizes = unit.sizes;
        made.constant = is_constant;
        made.leaves_derivatives = leaves;
        made.joint = kind == RegionKind::Checkpoint;
        made.directives.clone_from(&unit.directives);
        let mut map: Vec<(SymId, SymId)> = Vec::new();
        for_each_symbol_mut(&mut inner, &mut |s| {
            *s = linked(unit, &mut made, *s, &mut map);
        });
        made.specs.extend(formats_needed(&self.formats, &inner));
        made.body = inner;
        // The name of this one already ends in the suffix.
        visit(&mut made, "", self.adjoint, self.diagnostics);
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
