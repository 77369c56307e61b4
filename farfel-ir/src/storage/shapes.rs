//! COMMON blocks that units divide differently.

use super::layout::{BlockLayout, BlockMember, CommonBlock, StorageLayout};
use super::wording::{bytes, shown, unit_name};
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Name, SpecKind, Type, Unit};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Compares the shapes of all blocks. `units` are those of the layout, by their ids.
pub(super) fn check(layout: &StorageLayout, units: &[&Unit], diagnostics: &mut Vec<Diagnostic>) {
    for (name, block) in layout.blocks() {
        if block.layouts.len() > 1 {
            let mut comparison = Comparison {
                name,
                units,
                diagnostics,
            };
            if !name.is_empty() {
                comparison.sizes(block);
            }
            comparison.types(block);
        }
    }
}

struct Comparison<'a> {
    name: &'a Name,
    units: &'a [&'a Unit],
    diagnostics: &'a mut Vec<Diagnostic>,
}

/// A range of bytes that is covered by the same variables of a shape.
struct Segment<'a> {
    end: i64,
    shape: usize,
    parts: Vec<&'a BlockMember>,
}

impl Comparison<'_> {
    /// Returns the first unit that uses a shape.
    fn unit(&self, shape: &BlockLayout) -> Option<&Unit> {
        let first = shape.units.first()?;
        self.units.get(first.0 as usize).copied()
    }

    /// Returns where the first unit of a shape names the block, or one of its variables.
    fn place(&self, shape: &BlockLayout, part: Option<&BlockMember>) -> Span {
        let Some(unit) = self.unit(shape) else {
            return Span::NONE;
        };
        let sym = part.and_then(|p| unit.symbols.find(&p.name));
        for spec in &unit.specs {
            let here = match &spec.kind {
                SpecKind::Common(blocks) => blocks.iter().any(|(name, list)| {
                    name == self.name && sym.is_none_or(|s| list.iter().any(|e| e.sym == s))
                }),
                SpecKind::Equivalence(groups) => {
                    sym.is_some() && groups.iter().flatten().any(|e| e.base() == sym)
                }
                _ => false,
            };
            if here {
                return spec.span;
            }
        }
        unit.name_span
    }

    /// Reports named blocks that differ in size: the size must be the same in all units (ANSI
    /// X3.9-1978, 8.3.5).
    fn sizes(&mut self, block: &CommonBlock) {
        let first = &block.layouts[0];
        let mut known = BTreeSet::from([first.size]);
        for shape in &block.layouts[1..] {
            if !known.insert(shape.size) {
                continue;
            }
            let name = |s: &BlockLayout| self.unit(s).map_or("", unit_name);
            let d = Diagnostic::warning(
                &rules::COMMON_SIZE,
                self.place(shape, None),
                format!(
                    "{} has {} in {}, but {} in {}",
                    shown(self.name),
                    bytes(shape.size),
                    name(shape),
                    bytes(first.size),
                    name(first)
                ),
            )
            .related(
                self.place(first, None),
                format!("{} in {}", bytes(first.size), name(first)),
            )
            .help("declare all of a named block in every unit");
            self.diagnostics.push(d);
        }
    }

    /// Reports storage that different units access with different types.
    fn types(&mut self, block: &CommonBlock) {
        // The segments of the shapes so far, by their first byte. Existing segments are kept.
        let mut known: BTreeMap<i64, Segment> = BTreeMap::new();
        for (number, shape) in block.layouts.iter().enumerate() {
            let mut first: Option<(&BlockMember, &BlockMember, usize)> = None;
            let mut more = 0usize;
            let mut fresh = Vec::new();
            for (start, segment) in segments(number, shape) {
                let mut from = start;
                // The preceding segment may extend into this one.
                let before = known.range(..=start).next_back().map(|(at, _)| *at);
                let at = before.unwrap_or(start);
                for (at, old) in known.range(at..segment.end) {
                    if old.end <= from {
                        continue;
                    }
                    if *at > from {
                        fresh.push((from, *at, segment.parts.clone()));
                    }
                    from = old.end;
                    if let Some((p, q)) = differ(&segment.parts, &old.parts) {
                        match first {
                            None => first = Some((p, q, old.shape)),
                            // One place per variable is enough.
                            Some((seen, ..)) if std::ptr::eq(seen, p) => {}
                            Some(_) => more += 1,
                        }
                    }
                }
                if from < segment.end {
                    fresh.push((from, segment.end, segment.parts.clone()));
                }
            }
            for (start, end, parts) in fresh {
                let shape = number;
                known.insert(start, Segment { end, shape, parts });
            }
            if let Some((p, q, other)) = first {
                self.mismatch(shape, p, &block.layouts[other], q, more);
            }
        }
    }

    fn mismatch(
        &mut self,
        shape: &BlockLayout,
        p: &BlockMember,
        other: &BlockLayout,
        q: &BlockMember,
        more: usize,
    ) {
        let (Some(here), Some(there)) = (self.unit(shape), self.unit(other)) else {
            return;
        };
        let ty = |p: &BlockMember| p.ty.map_or_else(String::new, |t| t.to_string());
        let last = |p: &BlockMember| p.start.saturating_add(p.size).saturating_sub(1);
        let among = match more {
            0 => String::new(),
            1 => "; so does one more variable".to_owned(),
            n => format!("; so do {n} more variables"),
        };
        let what = format!(
            "{} is {} and shares storage with {} of {}, which is {}, in {}{among}",
            p.name,
            ty(p),
            q.name,
            unit_name(there),
            ty(q),
            shown(self.name)
        );
        let d = Diagnostic::warning(
            &rules::COMMON_TYPE_MISMATCH,
            self.place(shape, Some(p)),
            what,
        )
        .label(format!(
            "{} of {}: bytes {} to {}",
            p.name,
            unit_name(here),
            p.start,
            last(p)
        ))
        .related(
            self.place(other, Some(q)),
            format!(
                "{} of {}: bytes {} to {}",
                q.name,
                unit_name(there),
                q.start,
                last(q)
            ),
        )
        .help("declare the block alike in all units; an INCLUDE file does that");
        self.diagnostics.push(d);
    }
}

/// Returns the type of the stored values: a COMPLEX is two REALs (ANSI X3.9-1978, 4.6).
fn kinds(ty: Option<Type>) -> Option<Type> {
    match ty {
        Some(Type::Complex(n)) => Some(Type::Real(n)),
        ty => ty,
    }
}

/// Returns a variable of each side if no variable of one side has the same type as one of the
/// other.
fn differ<'a, 'b>(
    a: &[&'a BlockMember],
    b: &[&'b BlockMember],
) -> Option<(&'a BlockMember, &'b BlockMember)> {
    let alike = |p: &BlockMember, q: &BlockMember| kinds(p.ty) == kinds(q.ty);
    if a.iter().any(|p| b.iter().any(|q| alike(p, q))) {
        return None;
    }
    let named = |l: &[&BlockMember]| l.iter().position(|p| p.named).unwrap_or(0);
    Some((*a.get(named(a))?, *b.get(named(b))?))
}

/// Splits a shape at the bytes where its variables begin and end.
fn segments(number: usize, shape: &BlockLayout) -> Vec<(i64, Segment<'_>)> {
    let end = |p: &BlockMember| p.start.saturating_add(p.size);
    let parts = || shape.members.iter().filter(|p| p.size > 0);
    let mut cuts: Vec<i64> = parts().flat_map(|p| [p.start, end(p)]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut found = Vec::new();
    let mut open: Vec<&BlockMember> = Vec::new();
    let mut next = parts().peekable();
    for pair in cuts.windows(2) {
        open.retain(|p| end(p) > pair[0]);
        while let Some(p) = next.next_if(|p| p.start <= pair[0]) {
            open.push(p);
        }
        if !open.is_empty() {
            let parts = open.clone();
            let segment = Segment {
                end: pair[1],
                shape: number,
                parts,
            };
            found.push((pair[0], segment));
        }
    }
    found
}
