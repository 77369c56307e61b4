//! `farfel verify`: compares derivatives with finite differences of the functions.
//!
//! The program is built with wrappers around the calls of derivatives (`instrument`), and run. At the first
//! few executions of an AD block, the statements of the block are run at points nearby, and the derivative
//! along some directions; the numbers are written to a file. `results` reads and judges them: see `judge`.
//!
//! | module | what |
//! |---|---|
//! | `instrument` | the wrappers |
//! | `support.f90` | the subroutines that they call |
//! | `judge` | the verdict: right, wrong, or not smooth |
//! | `table` | the presentation of the results |

pub(crate) mod instrument;
mod judge;
pub mod table;

pub use crate::config::VERIFY as ON;
use crate::derivative_checks::DerivativeChecks;
pub use crate::derivative_checks::{Block, Directions};
use crate::files;
use crate::staged::{References, Staged};
use crate::{Config, Error};
use farfel_lang::ir::{AdMode, IoKind, Name, Request, StmtKind, Type, walk_block};
use judge::{CentralDifference, Finding, Test, judge};
use std::collections::HashMap;
use std::path::Path;

/// The Fortran subroutines that instrumented programs call.
pub(crate) const SUPPORT: &str = include_str!("support.f90");

/// The environment variable with the file to which instrumented programs write. They also need a directory of
/// the same name with `.d` appended, where their runs leave files.
pub const OUT: &str = "FARFEL_VERIFY_OUT";
/// The environment variable with the number of executions that are checked for each block.
pub const POINTS: &str = "FARFEL_VERIFY_POINTS";
/// The environment variable with the number of seconds after which a run is abandoned.
pub const SECONDS: &str = "FARFEL_VERIFY_SECONDS";

/// Prepares a staged program for checks: plans them and adds the requests that they need.
pub(crate) fn prepare(staged: &mut Staged, config: &Config) {
    let mut plan = DerivativeChecks {
        package: config.name.clone(),
        blocks: blocks(staged, config),
    };
    for block in plan.blocks.iter_mut().filter(|b| b.refused.is_none()) {
        let request = &staged.requests[block.request];
        // For several cotangents, the tangent would have other arguments.
        if request.mode == AdMode::Reverse && !request.vector {
            block.tangent = Some(staged.requests.len());
            let tangent = tangent_of(request, staged);
            staged.requests.push(tangent);
        }
    }
    staged.references = References::of(&staged.program, &staged.requests);
    staged.verify = Some(plan);
}

/// Returns a request for the tangent of an adjoint's head.
fn tangent_of(adjoint: &Request, staged: &Staged) -> Request {
    let taken = |suffix: &str| {
        let units = staged.program.units.iter();
        staged.requests.iter().any(|r| r.suffix.contains(suffix))
            || units
                .flat_map(|u| u.symbols.iter())
                .any(|(_, s)| s.name.contains(suffix))
    };
    let mut suffix = Name::from(format!("_GT{}", staged.requests.len()));
    while taken(&suffix) {
        suffix = format!("{suffix}T").into();
    }
    Request {
        mode: AdMode::Forward,
        derivative: format!("{}{suffix}", adjoint.head).into(),
        suffix,
        ..adjoint.clone()
    }
}

/// The file in a build script's OUT_DIR that lists the blocks that the library checks.
const BLOCKS: &str = "farfel_blocks.json";

/// Writes the list of blocks that a library checks to OUT_DIR.
pub(crate) fn write<'p>(
    out: &Path,
    plans: impl Iterator<Item = &'p DerivativeChecks>,
) -> Result<(), Error> {
    let blocks: Vec<&Block> = plans.flat_map(|p| &p.blocks).collect();
    let text = serde_json::to_vec(&blocks).unwrap_or_default();
    files::write_if_changed(&out.join(BLOCKS), &text)?;
    Ok(())
}

/// Returns the blocks that are checked by the library whose build script had this OUT_DIR; none if it is not
/// a Farfel library, or was compiled without checks.
pub fn blocks_in(out: &Path) -> Vec<Block> {
    let text = std::fs::read(out.join(BLOCKS)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Returns all AD blocks of a staged program, in the order in which their derivatives are computed.
pub(crate) fn blocks(staged: &Staged, config: &Config) -> Vec<Block> {
    let sources = &staged.report.sources;
    let place = |span: farfel_lang::Span| {
        let file = sources.get(span.file)?;
        let line = file.line_column(span.start).line;
        Some(format!("{}:{line}", file.name))
    };
    let requests = staged.requests.iter().enumerate();
    let blocks = requests.filter_map(|(i, request)| {
        let head = staged.program.units.get(*staged.references.heads.get(i)?)?;
        let symbols = |positions: &[usize]| -> Vec<_> {
            let symbols = positions.iter().filter_map(|p| head.args.get(*p)?.sym());
            symbols.collect()
        };
        let names = |positions: &[usize]| {
            let symbols = symbols(positions).into_iter();
            symbols.map(|s| head.symbols[s].name.to_string()).collect()
        };
        let mut all = symbols(&request.independents);
        all.extend(symbols(&request.dependents));
        let single = |t: Type| matches!(t, Type::Real(4) | Type::Complex(4));
        let end = request.head.rfind("_AD").unwrap_or(request.head.len());
        Some(Block {
            number: i + 1,
            package: config.name.clone(),
            place: place(request.span).unwrap_or_default(),
            unit: request.head[..end].to_owned(),
            reverse: request.mode == AdMode::Reverse,
            directions: match (request.vector, request.directions.pattern) {
                (false, _) => Directions::One,
                (true, false) => Directions::Several,
                (true, true) => Directions::Pattern,
            },
            independents: names(&request.independents),
            dependents: names(&request.dependents),
            refused: refused(staged, i, request, &place),
            constant: constant(staged, i, &place),
            single: config.real_kind != 8
                && all.iter().any(|s| head.symbols[*s].ty.is_some_and(single)),
            request: i,
            tangent: None,
        })
    });
    blocks.collect()
}

/// Returns the reason why a block cannot be run several times, if there is one.
fn refused(
    staged: &Staged,
    number: usize,
    request: &Request,
    place: &dyn Fn(farfel_lang::Span) -> Option<String>,
) -> Option<String> {
    if request.dependents.is_empty() || request.independents.is_empty() {
        return Some("it asks for no derivative".into());
    }
    let head = *staged.references.heads.get(number)?;
    for i in staged.references.reached([head]) {
        let unit = &staged.program.units[i];
        let mut found = None;
        walk_block(&unit.body, &mut |s| {
            let what = match &s.kind {
                StmtKind::Io(io) if io.is_internal(unit) => None,
                StmtKind::Io(io) => match io.kind {
                    IoKind::Read => Some("reads input"),
                    IoKind::Open | IoKind::Close => Some("opens or closes files"),
                    IoKind::Rewind | IoKind::Backspace | IoKind::Endfile => Some("moves in files"),
                    IoKind::Write | IoKind::Print | IoKind::Inquire | IoKind::Flush => None,
                },
                StmtKind::Pause(_) => Some("waits for the user"),
                _ => None,
            };
            if found.is_none() {
                found = what.map(|what| (what, s.span));
            }
        });
        if let Some((what, span)) = found {
            let at = place(span).map(|p| format!(" ({p})")).unwrap_or_default();
            return Some(format!("it {what}{at}"));
        }
    }
    None
}

/// Returns the first variable or procedure reached by a block that a directive or a setting declares
/// constant.
fn constant(
    staged: &Staged,
    number: usize,
    place: &dyn Fn(farfel_lang::Span) -> Option<String>,
) -> Option<String> {
    let head = *staged.references.heads.get(number)?;
    let reached = staged.references.reached([head]);
    let (what, span) = reached.into_iter().find_map(|i| {
        let unit = &staged.program.units[i];
        if unit.constant {
            return Some(("statements".to_owned(), unit.span));
        }
        let mut given = unit.directives.iter().filter(|g| g.is_constant());
        let named = given.find(|g| unit.symbols.find(&g.procedure).is_some())?;
        Some((named.procedure.to_string(), named.span))
    })?;
    let at = place(span).map(|p| format!(" ({p})")).unwrap_or_default();
    Some(format!("{what}{at}"))
}

/// The result of checking a block.
#[derive(Debug, Clone)]
pub struct CheckResult {
    /// The block.
    pub block: Block,
    /// The number of executions that were checked.
    pub points: usize,
    /// The largest relative error of a derivative.
    pub error: Option<f64>,
    /// The verdict from all points.
    pub verdict: Verdict,
    /// The method of the check.
    pub method: &'static str,
    /// Messages for the user, one per line.
    pub notes: Vec<String>,
}

/// The verdict on a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Its derivatives are right.
    Right,
    /// At least one derivative is wrong.
    Wrong,
    /// The derivatives that could be checked are right; at some points the function is not differentiable.
    NotSmooth,
    /// Finite differences are inconclusive.
    Unclear,
    /// The program never executed the block.
    NotRun,
    /// It cannot be checked.
    Refused,
}

impl Verdict {
    /// Returns the verdict as shown to people.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Right => "right",
            Verdict::Wrong => "WRONG",
            Verdict::NotSmooth => "not smooth",
            Verdict::Unclear => "unclear",
            Verdict::NotRun => "not run",
            Verdict::Refused => "not checked",
        }
    }
}

/// One execution of a block.
#[derive(Debug, Default)]
struct Point {
    /// The first elements of the independent variables, each with the number of its variable.
    at: Vec<(usize, f64)>,
    tests: Vec<Test>,
    failed: Option<String>,
    /// The relative difference between the results with and without derivatives.
    primal: f64,
}

/// Reads and judges what instrumented programs have written about blocks.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be read. If it does not exist, nothing was run.
pub fn results(blocks: Vec<Block>, file: &Path) -> Result<Vec<CheckResult>, Error> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(Error::io(file)(e)),
    };
    let mut points = read(&text);
    // In source order instead of the order in which derivatives are computed.
    let mut blocks = blocks;
    blocks.sort_by_cached_key(|b| {
        let (file, line) = b.place.rsplit_once(':').unwrap_or((&b.place, ""));
        let line: usize = line.parse().unwrap_or(0);
        (file.to_owned(), line, b.number)
    });
    let checked = blocks.into_iter().map(|block| {
        let key = (block.package.clone(), block.number);
        let points = points.remove(&key).unwrap_or_default();
        check(block, &points)
    });
    Ok(checked.collect())
}

/// Parses the points of each block, by package and number.
fn read(text: &str) -> HashMap<(String, usize), Vec<Point>> {
    let mut found: HashMap<(String, usize), Vec<Point>> = HashMap::new();
    let mut key = None;
    let mut point = Point::default();
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers: Vec<f64> = rest
            .split_whitespace()
            .map(|w| w.parse().unwrap_or(f64::NAN))
            .collect();
        match (word, numbers.as_slice()) {
            ("BLOCK", [number, ..]) => {
                let package = rest.split_once(' ').map_or("", |(_, p)| p.trim());
                key = Some((package.to_owned(), *number as usize));
                point = Point::default();
            }
            ("X", [k, value]) => point.at.push((*k as usize, *value)),
            ("FAIL", _) => point.failed = Some(rest.to_owned()),
            ("PRIMAL", [differs]) => point.primal = point.primal.max(*differs),
            ("TEST", [projection, direction, claimed, scale, exact, center]) => {
                point.tests.push(Test {
                    projection: *projection as usize,
                    direction: *direction as usize,
                    claimed: *claimed,
                    scale: *scale,
                    exact: (rest.split_whitespace().nth(4) != Some("-")).then_some(*exact),
                    center: *center,
                    around: Vec::new(),
                });
            }
            ("AT", [step, plus, minus]) => {
                if let Some(test) = point.tests.last_mut() {
                    test.around.push(CentralDifference {
                        step: *step,
                        plus: *plus,
                        minus: *minus,
                    });
                }
            }
            ("END", _) => {
                if let Some(key) = key.take() {
                    let point = std::mem::take(&mut point);
                    found.entry(key).or_default().push(point);
                }
            }
            _ => {}
        }
    }
    found
}

fn check(block: Block, points: &[Point]) -> CheckResult {
    let epsilon = block.epsilon();
    let mut checked = CheckResult {
        points: points.len(),
        error: None,
        verdict: Verdict::Right,
        method: "differences",
        notes: Vec::new(),
        block,
    };
    if let Some(reason) = &checked.block.refused {
        checked.verdict = Verdict::Refused;
        checked.notes.push(reason.clone());
        return checked;
    }
    if points.is_empty() {
        checked.verdict = Verdict::NotRun;
        return checked;
    }
    let (mut wrong, mut rough, mut unclear, mut right) = (0, 0, 0, 0);
    let mut constant = false;
    for (n, point) in points.iter().enumerate() {
        let place = point_text(&checked.block, point);
        let place = format!("point {}{place}", n + 1);
        if let Some(failed) = &point.failed {
            unclear += 1;
            let what = match failed.as_str() {
                "statements" => "the statements stop, or run too long",
                "derivative" => "the derivative stops, or runs too long",
                _ => "cotangents and results do not fit",
            };
            checked.notes.push(format!("{place}: {what}"));
            continue;
        }
        // Optimized code may round differently.
        if point.primal > 1e6 * epsilon {
            wrong += 1;
            checked.notes.push(format!(
                "{place}: with derivatives the results are others (by {:.1e}, relatively)",
                point.primal
            ));
        }
        let mut remarks = Vec::new();
        for test in &point.tests {
            if test.exact.is_some() {
                checked.method = "differences, dot product";
            }
            let found = judge(test, epsilon);
            let note = match found {
                Finding::Right { error } => {
                    right += 1;
                    checked.error = Some(checked.error.unwrap_or(0.0).max(error));
                    None
                }
                Finding::Wrong { differences, .. } if is_constant(&checked.block, test) => {
                    unclear += 1;
                    constant = true;
                    Some(format!(
                        "the derivative is {:.6e}, differences, which vary what is constant, give {differences:.6e}",
                        test.claimed
                    ))
                }
                Finding::Wrong { differences, .. }
                    if checked.block.directions == Directions::Pattern =>
                {
                    wrong += 1;
                    Some(format!(
                        "by the pattern it does not depend on it, differences give {differences:.6e}"
                    ))
                }
                Finding::Wrong { differences, error } => {
                    wrong += 1;
                    checked.error = Some(checked.error.unwrap_or(0.0).max(error));
                    Some(format!(
                        "the derivative is {:.6e}, differences give {differences:.6e}",
                        test.claimed
                    ))
                }
                Finding::Disagree { tangent, error } => {
                    wrong += 1;
                    checked.error = Some(checked.error.unwrap_or(0.0).max(error));
                    Some(format!(
                        "the adjoint gives {:.6e}, the tangent {tangent:.6e}",
                        test.claimed
                    ))
                }
                Finding::Kink { left, right } => {
                    rough += 1;
                    Some(format!(
                        "a kink: {left:.6e} on one side, {right:.6e} on the other; the derivative is {:.6e}",
                        test.claimed
                    ))
                }
                Finding::Jump => {
                    rough += 1;
                    Some("the function jumps".to_owned())
                }
                Finding::Edge { right } => {
                    rough += 1;
                    let is = if right { "is" } else { "is not" };
                    Some(format!(
                        "the function ends here; the derivative {is} that of the one side"
                    ))
                }
                Finding::Vertical => {
                    rough += 1;
                    Some("the function is infinitely steep".to_owned())
                }
                Finding::NoValue => {
                    unclear += 1;
                    Some("the function has no value here".to_owned())
                }
                Finding::Unclear => {
                    unclear += 1;
                    Some("differences do not converge".to_owned())
                }
            };
            if let Some(note) = note {
                let what = direction(&checked.block, test);
                let severe = matches!(found, Finding::Wrong { .. } | Finding::Disagree { .. });
                remarks.push((!severe, format!("{place}, {what}: {note}")));
            }
        }
        // Only the worst findings at a point are reported.
        remarks.sort_by_key(|(mild, _)| *mild);
        checked
            .notes
            .extend(remarks.into_iter().map(|(_, s)| s).take(2));
    }
    if let (true, Some(what)) = (constant, &checked.block.constant) {
        let note =
            format!("differences cannot tell: by a directive or a setting, constant is {what}");
        checked.notes.push(note);
    }
    checked.verdict = match (wrong, rough, unclear, right) {
        (1.., ..) => Verdict::Wrong,
        (_, 1.., ..) => Verdict::NotSmooth,
        (_, _, 1.., _) | (_, _, _, 0) => Verdict::Unclear,
        _ => Verdict::Right,
    };
    checked
}

/// Whether a derivative may differ from finite differences because something in the block is held constant.
/// The tangent, if there is one, treats the same things as constant, so the derivative must agree with it.
fn is_constant(block: &Block, test: &Test) -> bool {
    let floor = 3e3 * block.epsilon();
    let off = |tangent: f64| (test.claimed - tangent).abs() > floor * test.scale;
    block.constant.is_some() && test.claimed.is_finite() && !test.exact.is_some_and(off)
}

/// Formats the position of a point: ` (X = 1.5, Y = 2, …)`.
fn point_text(block: &Block, point: &Point) -> String {
    let mut values = Vec::new();
    for (k, name) in block.independents.iter().enumerate() {
        let of: Vec<f64> = point
            .at
            .iter()
            .filter(|(v, _)| *v == k + 1)
            .map(|(_, x)| *x)
            .collect();
        match of.as_slice() {
            [] => {}
            [x] => values.push(format!("{name} = {x}")),
            [first, ..] => values.push(format!("{name} = {first}, …")),
        }
    }
    match values.is_empty() {
        true => String::new(),
        false => format!(" ({})", values.join(", ")),
    }
}

fn direction(block: &Block, test: &Test) -> String {
    let name = |names: &[String], i: usize| names.get(i.wrapping_sub(1)).cloned();
    if block.reverse {
        let cotangents = match (block.directions, test.projection) {
            (Directions::Several, 0) => "other cotangents".to_owned(),
            (Directions::Several, n) => format!("the program's cotangents in direction {n}"),
            (_, 1) => "the program's cotangents".to_owned(),
            _ => "other cotangents".to_owned(),
        };
        match name(&block.independents, test.direction) {
            Some(x) => format!("by {x}, {cotangents}"),
            None => cotangents,
        }
    } else {
        let of = name(&block.dependents, test.projection).unwrap_or_default();
        match (block.directions, test.direction) {
            (Directions::One, 1) => format!("{of} along the program's direction"),
            (_, 0) | (Directions::One, _) => format!("{of} along another direction"),
            (Directions::Several, n) => format!("{of} along direction {n} of the program"),
            (Directions::Pattern, n) => format!("{of} and column {n} of the pattern"),
        }
    }
}
