//! Directives in comments before loops, about the adjoints of these loops.
//!
//! ```fortran
//! !farfel: checkpoint(20)
//! !farfel: checkpoint(20, disk = 100)
//! !farfel: independent
//! !farfel: fixed-point(tolerance = 1D-12, iterations = 500)
//! ```
//!
//! Tapenade's directives with the same meaning are understood as well:
//! `C$AD FP-LOOP "Z" adj_reduction=1.e-6`, whose list of variables only matters to adjoints in place of Tapenade's,
//! and `C$AD BINOMIAL-CKP 1000 20 1`, whose second number corresponds to that of `checkpoint`.
//!
//! `!farfel: checkpoint` among the declarations of a subprogram applies to calls of the subprogram, and `checkpoint
//! begin` to a [region](crate::procedure_directives).
//!
//! `read` finds the directives when a file is parsed and attaches them to the loops. From then on
//! they are part of the loops and no longer comments.

use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Block, LoopDirective, LoopDirectiveKind, Name, SpecKind, Stmt, StmtKind, Unit, UnitKind,
};
use crate::procedure_directives::DirectiveText;
use crate::source::Span;

/// The largest number that a directive accepts.
const MOST: u32 = 1_000_000_000;

fn error(span: Span, message: &str) -> Diagnostic {
    Diagnostic::error(&rules::LOOP_MARK, span, message)
}

/// Attaches the directives in a unit, and in the units nested in it, to their loops.
pub(crate) fn read(unit: &mut Unit, errors: &mut Vec<Diagnostic>) {
    let subprogram = matches!(unit.kind, UnitKind::Subroutine | UnitKind::Function);
    for text in &unit.comments {
        if subprogram && is_joint(text) {
            unit.joint = true;
        } else if directive(text).is_some() {
            errors.push(misplaced(unit.name_span));
        }
    }
    // Comments before the first statement belong to the declarations.
    let mut first = None;
    let is_loop = |s: &Stmt| matches!(s.kind, StmtKind::Do(_));
    let mut stmts = unit.body.iter();
    let loop_follows = stmts
        .find(|s| !matches!(s.kind, StmtKind::Comment(_)))
        .is_some_and(is_loop);
    let declared = unit
        .specs
        .iter()
        .rposition(|s| !matches!(s.kind, SpecKind::Comment(_)));
    let mut at = 0;
    unit.specs.retain(|spec| {
        at += 1;
        let SpecKind::Comment(text) = &spec.kind else {
            if let Some(LoopDirective { span, .. }) = first.take() {
                errors.push(misplaced(span));
            }
            return true;
        };
        if subprogram && is_joint(text) && (!loop_follows || declared >= Some(at)) {
            unit.joint = true;
            return false;
        }
        match directive(text) {
            None => true,
            Some(found) => {
                add_directive(found, spec.span, text.trailing, &mut first, errors);
                false
            }
        }
    });
    attach_in_block(&mut unit.body, first, errors);
    for nested in &mut unit.nested {
        read(nested, errors);
    }
}

fn attach_in_block(
    stmts: &mut Block,
    mut open: Option<LoopDirective>,
    errors: &mut Vec<Diagnostic>,
) {
    stmts.retain_mut(|s| {
        if let StmtKind::Comment(text) = &s.kind {
            let Some(found) = directive(text) else {
                return true;
            };
            add_directive(found, s.span, text.trailing, &mut open, errors);
            return false;
        }
        if let Some(found) = open.take() {
            match &mut s.kind {
                StmtKind::Do(d) => d.directive = Some(Box::new(found)),
                _ => errors.push(misplaced(found.span)),
            }
        }
        if let StmtKind::Select(b) = &mut s.kind {
            attach_in_block(&mut b.comments, None, errors);
        }
        for inner in s.blocks_mut() {
            attach_in_block(inner, None, errors);
        }
        true
    });
    if let Some(found) = open {
        errors.push(misplaced(found.span));
    }
}

fn add_directive(
    found: Result<LoopDirectiveKind, &'static str>,
    span: Span,
    trailing: bool,
    open: &mut Option<LoopDirective>,
    errors: &mut Vec<Diagnostic>,
) {
    let kind = match found {
        Ok(kind) => kind,
        Err(form) => {
            return errors.push(error(span, "this directive is not understood").help(form));
        }
    };
    if trailing {
        return errors.push(misplaced(span));
    }
    if let Some(other) = open.replace(LoopDirective { kind, span }) {
        errors.push(error(span, "a loop has one directive").related(other.span, "here, too"));
    }
}

fn misplaced(span: Span) -> Diagnostic {
    error(span, "this directive is about a loop, and none follows")
        .help("write it on a line of its own right before DO")
}

/// Whether a comment is the directive about calls of the subprogram in which it appears.
fn is_joint(text: &str) -> bool {
    let text = text.trim_start_matches(['!', ' ', '\t']);
    let Some((word, rest)) = text.split_once(':') else {
        return false;
    };
    word.trim().eq_ignore_ascii_case("farfel") && rest.trim().eq_ignore_ascii_case("checkpoint")
}

/// Parses a directive about a loop. Returns the correct form if the directive is malformed, and
/// `None` if the comment is not about a loop.
fn directive(text: &str) -> Option<Result<LoopDirectiveKind, &'static str>> {
    if let Some(tapenade) = text.trim_start_matches(['!', ' ', '\t']).strip_prefix('$') {
        return tapenade_directive(tapenade).map(Ok);
    }
    let (word, rest) = text.trim_start_matches(['!', ' ', '\t']).split_once(':')?;
    if !word.trim().eq_ignore_ascii_case("farfel") {
        return None;
    }
    if crate::procedure_directives::region_boundary(text).is_some() {
        return None;
    }
    let mut words = DirectiveText::of(rest);
    match words.name()?.as_str() {
        "CHECKPOINT" => Some(
            checkpoint(&mut words)
                .ok_or("the form is `checkpoint(20)` or `checkpoint(20, disk = 100)`, with the most iterations to keep values of, in memory and in files, or `checkpoint begin` and `checkpoint end` around statements"),
        ),
        "INDEPENDENT" => Some(match words.done() {
            true => Ok(LoopDirectiveKind::Independent),
            false => Err("the form is `independent`"),
        }),
        "FIXED" if words.peek() == Some('-') => Some(fixed_point(&mut words).ok_or(
            "the form is `fixed-point` or `fixed-point(tolerance = 1D-12, iterations = 500)`",
        )),
        _ => None,
    }
}

/// Like [`directive`], for the text after the `$` of a Tapenade directive.
fn tapenade_directive(text: &str) -> Option<LoopDirectiveKind> {
    let (ad, rest) = text.trim().split_once(char::is_whitespace)?;
    if !ad.eq_ignore_ascii_case("AD") {
        return None;
    }
    let (word, rest) = rest.trim().split_once(char::is_whitespace)?;
    match word.to_ascii_uppercase().as_str() {
        "FP-LOOP" => {
            // The settings follow the names of the variables that become stationary.
            let (list, settings) = rest.rsplit_once('"').unwrap_or(("", rest));
            let variables = list.split(['"', ',']).map(str::trim);
            let variables = variables.filter(|v| !v.is_empty());
            let variables = variables.map(|v| v.to_ascii_uppercase().into()).collect();
            let mut tolerance = None;
            let mut words = DirectiveText::of(settings);
            while let Some(name) = words.name() {
                words.take('=')?;
                let number = words.number()?;
                if name == "ADJ_REDUCTION" {
                    tolerance = relative(number);
                }
            }
            Some(LoopDirectiveKind::FixedPoint {
                tolerance,
                iterations: None,
                variables,
            })
        }
        "BINOMIAL-CKP" => {
            let most = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
            (1..=MOST)
                .contains(&most)
                .then_some(LoopDirectiveKind::Checkpoint {
                    memory: most,
                    disk: 0,
                })
        }
        _ => None,
    }
}

/// Returns a constant if it is between zero and one.
fn relative(number: String) -> Option<Name> {
    let value: f64 = number.replace('D', "E").parse().ok()?;
    (value > 0.0 && value < 1.0).then(|| number.into())
}

fn whole(words: &mut DirectiveText) -> Option<u32> {
    let n: u32 = words.number()?.parse().ok()?;
    (1..=MOST).contains(&n).then_some(n)
}

fn checkpoint(words: &mut DirectiveText) -> Option<LoopDirectiveKind> {
    words.take('(')?;
    let memory = whole(words)?;
    let mut disk = 0;
    if words.take(',').is_some() {
        if words.name()? != "DISK" {
            return None;
        }
        words.take('=')?;
        disk = whole(words)?;
    }
    words.take(')')?;
    // The total is a Fortran INTEGER.
    let all = memory.checked_add(disk).filter(|n| *n <= MOST);
    (words.done() && all.is_some()).then_some(LoopDirectiveKind::Checkpoint { memory, disk })
}

fn fixed_point(words: &mut DirectiveText) -> Option<LoopDirectiveKind> {
    words.take('-')?;
    if words.name()? != "POINT" {
        return None;
    }
    let (mut tolerance, mut iterations) = (None, None);
    if words.take('(').is_some() {
        loop {
            let word = words.name()?;
            words.take('=')?;
            match word.as_str() {
                "TOLERANCE" => {
                    tolerance = Some(relative(words.number()?)?);
                }
                "ITERATIONS" => iterations = Some(whole(words)?),
                _ => return None,
            }
            if words.take(',').is_none() {
                words.take(')')?;
                break;
            }
        }
    }
    words.done().then_some(LoopDirectiveKind::FixedPoint {
        tolerance,
        iterations,
        variables: Vec::new(),
    })
}
