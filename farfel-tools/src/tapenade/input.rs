//! The input of the tool: the closure of the request's head in the call graph.

use super::hide::{self, Placeholder};
use super::intrinsics::Helper;
use super::{aliases, array_sections, commons, functions, intrinsics, jumps, mixed, sizes, stack};
use farfel_ad::passes::{Form, Forms, Goal, legalise};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{
    AdMode, Block, Name, Program, Request, SpecKind, StmtKind, Unit, for_each_symbol,
};
use farfel_lang::print::{Options as PrintOptions, print_unit};
use farfel_lang::{FileId, Sources, Span};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

/// The copy of the closure that the tool reads, with information needed afterwards.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    /// The units, each after its callees; the head is the last.
    pub units: Vec<Unit>,
    /// The units whose copies behave differently from the originals or have other arguments.
    /// Generated code must call the copies.
    pub changed: HashSet<Name>,
    /// Our own units that replace intrinsic functions.
    pub helpers: Vec<Helper>,
    /// The support routines that have stubs.
    pub stubs: Vec<Name>,
    /// The placeholders for STOP.
    pub placeholders: Vec<Placeholder>,
    /// Whether parts of arrays are passed.
    pub passes_sections: bool,
    /// The source text of all of this.
    pub text: String,
    /// The origin of each line of the text.
    pub lines: Vec<Span>,
}

impl Prepared {
    /// Returns the unit with this name, in any case.
    pub(super) fn unit(&self, name: &str) -> Option<&Unit> {
        self.units
            .iter()
            .find(|u| u.name.eq_ignore_ascii_case(name))
    }

    /// Returns the head's copy.
    pub(super) fn head(&self) -> Option<&Unit> {
        self.units.last()
    }
}

/// Returns the forms in which the tool gets programs. Other restrictions are handled by the passes
/// of this adapter.
fn forms(mode: AdMode) -> Forms {
    match mode {
        AdMode::Forward => Forms::default(),
        AdMode::Reverse => Forms::of(&[Form::Silent]),
    }
}

/// Prepares the closure of a request's head.
///
/// The result depends only on the units of the closure and the request, so that equal closures give
/// equal texts.
pub(super) fn prepare(
    program: &Program,
    request: &Request,
    errors: &mut Vec<Diagnostic>,
) -> Prepared {
    let graph = ReachableUnits::of(program, [request.head.as_str()]);
    let mut closure = Program {
        units: graph.units.iter().map(|u| (*u).clone()).collect(),
    };
    for u in &mut closure.units {
        strip_comments(u);
        jumps::spell_out(u);
        functions::rename_dummies(u);
    }
    let mut p = Prepared::default();
    let goal = Goal {
        heads: &[request.head.as_str()],
        request: Some(request),
        named: &[],
        tag: "",
    };
    match legalise(Cow::Borrowed(&closure), forms(request.mode), &goal) {
        Ok(legal) => {
            p.changed = legal.notes.silenced;
            p.units = legal.program.into_owned().units;
        }
        // There may be further errors in the original.
        Err(found) => {
            errors.extend(found);
            p.units = closure.units;
        }
    }
    for u in &mut p.units {
        if request.mode == AdMode::Forward {
            hide::hide_stops(u, &mut p.placeholders);
        }
        hide::declare_named(u);
    }
    if request.mode == AdMode::Reverse {
        aliases::separate(&mut p.units, request, errors);
    }
    commons::declare(&mut p.units);
    // The sizes do not tell which part of an array is passed.
    p.passes_sections = array_sections::are_passed(&p.units);
    sizes::give_sizes(&mut p.units, &mut p.changed);
    p.helpers = intrinsics::replace(&mut p.units);
    p.units.iter_mut().for_each(mixed::separate);
    spread(&p.units, &mut p.changed);
    for u in &p.units {
        for name in stack::calls(u) {
            if program.unit(&name).is_none() && !p.stubs.contains(&name) {
                p.stubs.push(name);
            }
        }
    }
    p.stubs.sort_unstable();
    (p.text, p.lines) = print(&p);
    p
}

/// Callers of changed units are changed, too.
fn spread(units: &[Unit], changed: &mut HashSet<Name>) {
    if changed.is_empty() {
        return;
    }
    let mut again = true;
    while again {
        again = false;
        for u in units {
            if !changed.contains(&u.name) && names_any(u, changed) {
                changed.insert(u.name.clone());
                again = true;
            }
        }
    }
}

/// Whether a unit refers to one of some top-level units.
fn names_any(unit: &Unit, names: &HashSet<Name>) -> bool {
    let mut found = false;
    for_each_symbol(&unit.body, &mut |s| {
        let s = &unit.symbols[s];
        found |=
            s.storage_class == farfel_lang::ir::StorageClass::Global && names.contains(&s.name);
    });
    found
}

fn strip_comments(unit: &mut Unit) {
    unit.comments.clear();
    unit.specs
        .retain(|s| !matches!(s.kind, SpecKind::Comment(_)));
    strip_block(&mut unit.body);
}

fn strip_block(block: &mut Block) {
    block.retain(|s| !matches!(s.kind, StmtKind::Comment(_)));
    for s in block {
        s.blocks_mut().into_iter().for_each(strip_block);
    }
}

/// Returns the text of everything, and the origin of each line.
fn print(p: &Prepared) -> (String, Vec<Span>) {
    let mut text = String::new();
    let mut lines = Vec::new();
    let helpers = p.helpers.iter().map(|h| &h.seen);
    for u in p.units.iter().rev().chain(helpers) {
        print_one(u, &mut text, &mut lines);
        text.push('\n');
        lines.push(u.end_span);
    }
    let head = p.head().map_or(Span::NONE, |u| u.name_span);
    for s in &p.stubs {
        let stub = stack::stub(s);
        lines.extend(stub.lines().map(|_| head));
        text += &stub;
    }
    (text, lines)
}

/// Prints a unit with artificial line markers, which tell the statement for each line, and removes
/// the markers again.
fn print_one(unit: &Unit, text: &mut String, lines: &mut Vec<Span>) {
    let mut unit = unit.clone();
    let mut places: Vec<Span> = Vec::new();
    number(&mut unit, &mut places);
    let mut sources = Sources::new();
    let file = sources.add("x", "\n".repeat(places.len() + 1));
    debug_assert_eq!(file, FileId(0));
    let options = PrintOptions {
        line_markers: Some(&sources),
        ..PrintOptions::default()
    };
    let mut now = 0usize;
    let mut last = unit.span;
    for line in print_unit(&unit, &options).lines() {
        if let Some(marker) = line.strip_prefix("# ") {
            let n: Option<usize> = marker.split(' ').next().and_then(|n| n.parse().ok());
            now = n.unwrap_or(now);
            continue;
        }
        let continues = line.as_bytes().get(5).is_some_and(|c| *c != b' ');
        if !continues {
            last = places.get(now.wrapping_sub(1)).copied().unwrap_or(last);
        }
        now += 1;
        lines.push(last);
        let _ = writeln!(text, "{line}");
    }
}

/// Gives each statement an artificial line, and records its real position.
fn number(unit: &mut Unit, places: &mut Vec<Span>) {
    let mut next = |span: &mut Span| {
        let at = places.len() as u32;
        places.push(*span);
        *span = Span::new(FileId(0), at, at + 1);
    };
    next(&mut unit.span);
    for s in &mut unit.specs {
        next(&mut s.span);
    }
    farfel_lang::ir::walk_block_mut(&mut unit.body, &mut |s| {
        next(&mut s.span);
        if let StmtKind::If(b) = &mut s.kind {
            for (condition, _) in b.arms.iter_mut().skip(1) {
                next(&mut condition.span);
            }
        }
    });
    next(&mut unit.end_span);
}
