//! The cost of derivatives of real code: the unmodified routines of `tests/corpora/derivatives`, from SciPy,
//! LAPACK, CalculiX, Octave, assimulo, PySCeS and pyslalib, with their tangents and adjoints.
//!
//! `cargo bench -p farfel-benches --bench routines`; `README.md` explains what is measured. The corpora must
//! exist (`cargo run -p farfel-tests --bin corpora` downloads them). Environment variables:
//! `FARFEL_BENCH_TURNS`, the number of turns of each routine (15); `FARFEL_BENCH_ONLY`, a part of the names
//! PROGRAM/ROUTINE that are measured; `FARFEL_BENCH_KEEP`, a folder to leave the programs in; `FARFEL_BENCH_LEVEL`, the one optimisation
//! level to measure; `FARFEL_BENCH_COMBINE`, to set `combine-divisions` for our derivatives; `TAPENADE_HOME`, the location of Tapenade, if its derivatives are to run in turns with
//! ours for comparison.
//!
//! Exits with 1 when the dot products of tangents and adjoints differ, when the medians exceed their limits, an
//! adjoint takes more than ten times as long as its routine, there are too few routines, or, with Tapenade,
//! derivatives take too long beside its. Without `--bench`, it compiles one program and checks the dot products.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_benches::{exit_code, memory};
use farfel_driver::{Config, ExpandStage, Session, toolchain};
use farfel_tests::corpora::routines::{PROGRAMS, are_there, files_of, is_beyond, one_by_one};
use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The level of `-O`, other flags, and the maximum times of tangents and adjoints relative to the routine, in
/// the median.
const FLAGS: [(&str, &[&str], [f64; 2]); 2] = [
    ("2", &[], [1.6, 3.2]),
    ("3", &["-march=native"], [1.6, 3.2]),
];

/// The measuring subroutines of `programs/routines.ff`.
const MEASURING: [&str; 11] = [
    "ROUTIN", "ROUFWD", "SCALAR", "SCAFWD", "VECTOR", "VECFWD", "POINTS", "COUNTS", "PRIMAL",
    "FORWRD", "REVERS",
];

/// The beginnings of statements that are not executable.
const DECLARATIONS: [&str; 9] = [
    "SUBROUTINE ",
    "IMPLICIT ",
    "DIMENSION ",
    "DOUBLE PRECISION ",
    "REAL ",
    "INTEGER ",
    "LOGICAL ",
    "EXTERNAL ",
    "END",
];

/// The tolerance of the dot products, relative to the terms of their sums.
const TOLERANCE: f64 = 1e-11;

/// How many routines are measured at least, and how many of them with a [`Feature`].
const ROUTINES: [usize; 2] = [150, 50];

/// How many routines with a [`Feature`] are at least from other packages than SciPy, LAPACK and CalculiX.
const BEYOND: usize = 50;

/// The maximum times of our tangents and adjoints relative to Tapenade's, as geometric means.
const OF_TAPENADES: [f64; 2] = [0.95, 0.7];

/// The maximum time of one derivative relative to Tapenade's.
const WORST_OF_TAPENADES: f64 = 1.25;

/// The maximum times of tangents that are above it. Tapenade rearranges products and quotients of the program
/// itself, so that its tangents of series compute other values, some in less time than the routine. Where ours divide once,
/// too (`true`), they are within the maximum.
const TANGENTS_ABOVE: [(&str, f64, bool); 6] = [
    ("itairy", 2.6, true),
    ("fcs", 2.3, true),
    ("airyb", 2.2, true),
    ("klvna", 1.8, true),
    ("cisia", 1.6, true),
    // Only at `-O3`, where gfortran copies Tapenade's DGESL for the constant size, and not ours.
    ("ddecbt", 1.9, false),
];

/// The maximum time of one adjoint relative to its routine's.
const WORST_ADJOINT: f64 = 10.0;

type Failure = Box<dyn std::error::Error>;

/// The measurements of one routine.
struct Row {
    name: String,
    /// Nanoseconds per call: of the routine, of its tangent, and of its adjoint, if there is one.
    times: [Option<f64>; 3],
    /// The difference of the dot products.
    error: f64,
    /// Bytes on the heap during the adjoint.
    peak: f64,
}

impl Row {
    fn ratio(&self, which: usize) -> Option<f64> {
        Some(self.times[which]? / self.times[0]?)
    }
}

fn main() -> ExitCode {
    let bench = std::env::args().any(|a| a == "--bench");
    if !PROGRAMS.iter().all(|(_, folders)| are_there(folders)) {
        println!("The corpora are not there; `cargo run -p farfel-tests --bin corpora` gets them");
        return ExitCode::SUCCESS;
    }
    exit_code(if bench { measure() } else { check() })
}

/// Times everything and prints the tables. Returns the violations.
fn measure() -> Result<Vec<String>, Failure> {
    let turns: usize = match std::env::var("FARFEL_BENCH_TURNS") {
        Ok(text) => text.parse()?,
        Err(_) => 15,
    };
    let only = std::env::var("FARFEL_BENCH_ONLY").unwrap_or_default();
    let dir = tempfile::tempdir()?;
    let dir = match std::env::var_os("FARFEL_BENCH_KEEP") {
        Some(kept) => PathBuf::from(kept),
        None => dir.path().to_owned(),
    };
    let level = std::env::var("FARFEL_BENCH_LEVEL").unwrap_or_default();
    let levels: Vec<_> = (FLAGS.iter())
        .filter(|(l, ..)| level.is_empty() || *l == level)
        .collect();
    if levels.is_empty() {
        return Err(format!("FARFEL_BENCH_LEVEL: there is no level {level}").into());
    }
    println!("Nanoseconds of a call, best of {turns} turns; derivatives in multiples of it\n");
    let mut tables: Vec<Vec<Row>> = levels.iter().map(|_| Vec::new()).collect();
    let mut others: Vec<Vec<DerivativeTimes>> = levels.iter().map(|_| Vec::new()).collect();
    let tapenade = std::env::var_os("TAPENADE_HOME").map(PathBuf::from);
    let mut errors = Vec::new();
    let mut rejected = Vec::new();
    let mut features: Vec<Vec<Feature>> = Vec::new();
    let mut beyond = 0;
    let mut peaks: Vec<Peak> = Vec::new();
    for (program, folders) in PROGRAMS {
        for (routine, main) in one_by_one(program)? {
            let name = format!("{program}/{routine}");
            if !name.contains(&only) {
                continue;
            }
            eprintln!("{name}");
            let stem = name.replace(['/', ' '], "-");
            let session = session(&stem, &main, folders, "builtin", &dir)?;
            let texts = texts(&session)?;
            let found = Feature::of(&texts[1]);
            beyond += usize::from(!found.is_empty() && is_beyond(folders));
            features.push(found);
            let theirs = match &tapenade {
                None => None,
                Some(_) => match of_tapenade(&stem, &main, folders, &dir) {
                    Ok((texts, without_adjoint)) => {
                        rejected
                            .extend(without_adjoint.map(|why| format!("{name}, adjoint: {why}")));
                        Some(texts)
                    }
                    Err(why) => {
                        rejected.push(format!("{name}: {why}"));
                        None
                    }
                },
            };
            let promised = promised(&session)?;
            for (((level, flags, _), table), compared) in
                levels.iter().copied().zip(&mut tables).zip(&mut others)
            {
                let ours = build(&stem, &texts, level, flags, &dir, None)?;
                let mut rows = run(&ours, turns.max(1))?;
                let mut theirs_differ =
                    |why: String| rejected.push(format!("{name}, -O{level}: {why}"));
                if let Some(texts) = &theirs {
                    let other = format!("{stem}-tapenade");
                    let compare = || -> Result<(Vec<Row>, Vec<Row>), Failure> {
                        let theirs = build(&other, texts, level, flags, &dir, tapenade.as_deref())?;
                        // In turns, so that other load affects both.
                        let mut other = run(&theirs, turns.max(1))?;
                        let again = run(&ours, turns.max(1))?;
                        least(&mut other, run(&theirs, turns.max(1))?);
                        Ok((other, again))
                    };
                    match compare() {
                        Ok((other, again)) => {
                            least(&mut rows, again);
                            match wrong(&other).as_slice() {
                                [] => compared.extend(pairs(&rows, &other)),
                                [why, ..] => theirs_differ(why.clone()),
                            }
                        }
                        Err(why) => theirs_differ(why.to_string()),
                    }
                }
                errors.extend(wrong(&rows));
                let with_adjoint = rows.iter().filter(|r| r.times[2].is_some());
                peaks.extend(with_adjoint.map(|r| Peak {
                    name: r.name.clone(),
                    promised,
                    found: r.peak,
                }));
                table.extend(rows);
            }
        }
    }
    errors.extend(counted(&features, beyond, only.is_empty()));
    print!("{:20}", "");
    for (level, flags, _) in &levels {
        print!("{:^36}", format!("-O{level} {}", flags.join(" ")));
    }
    println!();
    let shown = |r: Option<f64>| r.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"));
    for (i, row) in tables.first().into_iter().flatten().enumerate() {
        print!("{:20}", row.name);
        for row in tables.iter().filter_map(|t| t.get(i)) {
            let [tangent, adjoint] = [1, 2].map(|w| shown(row.ratio(w)));
            print!("{:>12}{tangent:>12}{adjoint:>12}", shown(row.times[0]));
        }
        println!();
    }
    for ((level, flags, limits), table) in levels.iter().copied().zip(&tables) {
        for (w, name) in ["tangents", "adjoints"].into_iter().enumerate() {
            let mut ratios: Vec<f64> = table.iter().filter_map(|r| r.ratio(w + 1)).collect();
            ratios.sort_by(f64::total_cmp);
            let at = |part: f64| {
                let i = ((ratios.len() as f64 - 1.0) * part).round() as usize;
                ratios.get(i).copied().unwrap_or(0.0)
            };
            let flags = format!("-O{level} {}", flags.join(" "));
            println!(
                "{flags:20}{} {name}: median {:.2} (limit {}), quartiles {:.2} and {:.2}, worst {:.2}",
                ratios.len(),
                at(0.5),
                limits[w],
                at(0.25),
                at(0.75),
                at(1.0)
            );
            if only.is_empty() && at(0.5) > limits[w] {
                errors.push(format!(
                    "{flags}: {name} take {:.2} times as long as the routines, more than {}",
                    at(0.5),
                    limits[w]
                ));
            }
        }
        let flags = format!("-O{level} {}", flags.join(" "));
        for r in table {
            if r.ratio(2).is_some_and(|ratio| ratio > WORST_ADJOINT) {
                let (name, times) = (&r.name, shown(r.ratio(2)));
                errors.push(format!("{flags}: the adjoint of {name} takes {times} times as long as the routine, more than {WORST_ADJOINT}"));
            }
        }
    }
    for ((level, flags, _), pairs) in levels.iter().copied().zip(&others) {
        let flags = format!("-O{level} {}", flags.join(" "));
        errors.extend(compare(&flags, pairs, only.is_empty()));
    }
    if memory::IS_COUNTED {
        errors.extend(compare_memory(peaks));
    }
    if !rejected.is_empty() {
        println!("\nNot compared:");
    }
    for why in rejected {
        println!("    {}", why.trim().replace('\n', "\n        "));
    }
    Ok(errors)
}

/// Returns Tapenade's texts for one routine; if it or the adapter rejects only the adjoint, those with the
/// tangent alone, and the reason.
fn of_tapenade(
    stem: &str,
    main: &str,
    folders: &[&str],
    dir: &Path,
) -> Result<([String; 2], Option<String>), Failure> {
    let stem = format!("{stem}-tapenade");
    let of = |main: &str| texts(&session(&stem, main, folders, "tapenade", dir)?);
    let rejected = match of(main) {
        Ok(texts) => return Ok((texts, None)),
        Err(why) => why,
    };
    let tangent = main
        .replace("CALL SCALAR('", "CALL SCAFWD('")
        .replace("CALL VECTOR('", "CALL VECFWD('");
    let texts = of(&tangent)?;
    Ok((texts, Some(rejected.to_string())))
}

/// A derivative generated by both tools, with times relative to the routine's.
struct DerivativeTimes {
    name: String,
    /// 1: a tangent, 2: an adjoint.
    which: usize,
    ours: f64,
    theirs: f64,
}

/// The memory of an adjoint.
struct Peak {
    name: String,
    /// The bytes of its tapes, if the analysis knows them.
    promised: Option<f64>,
    /// The bytes on the heap during the adjoint.
    found: f64,
}

/// Prints the memory of adjoints, which is the same at all levels of optimisation. Returns the violations.
fn compare_memory(mut peaks: Vec<Peak>) -> Vec<String> {
    peaks.dedup_by(|a, b| a.name == b.name);
    println!(
        "\nBytes on the heap during an adjoint, and those that the analysis promises for its tapes\n"
    );
    let mut errors = Vec::new();
    for Peak {
        name,
        promised,
        found,
    } in peaks
    {
        let shown = promised.map_or_else(|| "-".to_owned(), |n| n.to_string());
        println!("    {name:20}{found:>12}{shown:>12}");
        if promised.is_some_and(|p| found > p + memory::ALLOWANCE) {
            errors.push(format!(
                "{name}: the adjoint takes {found} bytes, and its tapes should have {shown}"
            ));
        }
    }
    errors
}

/// Keeps the smaller of two times of each routine.
fn least(rows: &mut [Row], again: Vec<Row>) {
    for (row, other) in rows.iter_mut().zip(again) {
        for (time, other) in row.times.iter_mut().zip(other.times) {
            *time = time.zip(other).map(|(a, b)| a.min(b));
        }
    }
}

/// Returns the derivatives that both tools have generated.
fn pairs(ours: &[Row], theirs: &[Row]) -> Vec<DerivativeTimes> {
    let both = ours.iter().filter_map(|o| {
        let same = theirs.iter().find(|t| t.name == o.name)?;
        let pair = |which: usize| {
            // The routine is the same, in separate programs.
            let primal = o.times[0]?.min(same.times[0]?);
            Some(DerivativeTimes {
                name: o.name.clone(),
                which,
                ours: o.times[which]? / primal,
                theirs: same.times[which]? / primal,
            })
        };
        Some([1, 2].into_iter().filter_map(pair).collect::<Vec<_>>())
    });
    both.flatten().collect()
}

/// Prints how derivatives compare with Tapenade's, those first that compare worst. Returns the violations; the
/// limits of geometric means hold if `all` are measured.
fn compare(flags: &str, pairs: &[DerivativeTimes], all: bool) -> Vec<String> {
    let mut errors = Vec::new();
    for (which, what) in [(1, "tangents"), (2, "adjoints")] {
        let mut of: Vec<&DerivativeTimes> = pairs.iter().filter(|p| p.which == which).collect();
        if of.is_empty() {
            continue;
        }
        let mean = |f: &dyn Fn(&DerivativeTimes) -> f64| {
            let sum: f64 = of.iter().map(|p| f(p).ln()).sum();
            (sum / of.len() as f64).exp()
        };
        println!(
            "\n{flags}, {} {what}: {:.2} times the routine, Tapenade's {:.2}; ratio {:.2} (geometric means)",
            of.len(),
            mean(&|p| p.ours),
            mean(&|p| p.theirs),
            mean(&|p| p.ours / p.theirs),
        );
        let ratio = mean(&|p| p.ours / p.theirs);
        if all && ratio > OF_TAPENADES[which - 1] {
            let limit = OF_TAPENADES[which - 1];
            errors.push(format!(
                "{flags}: {what} take {ratio:.2} times as long as Tapenade's, more than {limit}"
            ));
        }
        let limit = |p: &DerivativeTimes| {
            let own = |(name, _, of_divisions): &&(&str, f64, bool)| {
                p.which == 1 && *name == p.name && !(*of_divisions && combines_divisions())
            };
            let own = TANGENTS_ABOVE.iter().find(own);
            own.map_or(WORST_OF_TAPENADES, |(_, limit, _)| *limit)
        };
        let above = (of.iter()).filter(|p| p.ours > limit(p) * p.theirs);
        let above: Vec<&str> = above.map(|p| p.name.as_str()).collect();
        println!("{} above their limits", above.len());
        if !above.is_empty() {
            errors.push(format!(
                "{flags}: {what} that take too long beside Tapenade's: {}",
                above.join(", ")
            ));
        }
        of.sort_by(|a, b| (b.ours / b.theirs).total_cmp(&(a.ours / a.theirs)));
        for p in of {
            let (ours, theirs) = (p.ours, p.theirs);
            println!(
                "    {:20}{ours:8.2}{theirs:8.2}{:8.2}",
                p.name,
                ours / theirs
            );
        }
    }
    errors
}

/// What makes a routine harder to differentiate well than its formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feature {
    /// Variables that keep their values: by SAVE or DATA.
    Save,
    /// COMMON
    Common,
    /// Arrays whose size only the caller knows: `W(*)`.
    AssumedSize,
    /// A WRITE or PRINT that can be reached.
    Write,
    /// A loop made of GOTO.
    GotoLoop,
}

impl Feature {
    const ALL: [(Feature, &str); 5] = [
        (Feature::Save, "SAVE or DATA"),
        (Feature::Common, "COMMON"),
        (Feature::AssumedSize, "arrays W(*)"),
        (Feature::Write, "WRITE that can be reached"),
        (Feature::GotoLoop, "GOTO loops"),
    ];

    /// Finds the features of a routine and of what it calls, in fixed form with a statement in a line. Initial values,
    /// in BLOCK DATA, may be those of subprograms that it does not call.
    fn of(text: &str) -> Vec<Feature> {
        let mut found = [false; 5];
        // The labels of the unit so far.
        let mut labels: Vec<&str> = Vec::new();
        let mut is_block_data = false;
        for line in text.lines().filter(|l| !l.starts_with(['C', '!'])) {
            let (label, words) = line.split_at_checked(6).unwrap_or((line, ""));
            let words = words.trim();
            is_block_data |= words.starts_with("BLOCK DATA");
            if is_block_data {
                is_block_data = words != "END";
                continue;
            }
            if !label.trim().is_empty() {
                labels.push(label.trim());
            }
            let type_names = [
                "DOUBLE PRECISION ",
                "REAL ",
                "INTEGER ",
                "COMPLEX",
                "DIMENSION ",
            ];
            let declares = type_names.iter().any(|t| words.starts_with(t));
            let back = words
                .rsplit_once("GOTO ")
                .is_some_and(|(_, l)| labels.contains(&l.trim()));
            // Variables of the program that keep their values are in blocks with the names of the unit and the
            // variable, since their derivatives' code uses them as well.
            let block = words.strip_prefix("COMMON /").unwrap_or_default();
            let is_saved = block.split('/').next().is_some_and(|n| n.contains('_'));
            found[0] |= is_saved;
            found[1] |= !is_saved && words.starts_with("COMMON ");
            found[2] |= declares && words.contains("*)") && !words.contains("TAPE");
            found[3] |= words.contains("WRITE (") || words.contains("PRINT ");
            found[4] |= back;
            if words == "END" {
                labels.clear();
            }
        }
        let all = Self::ALL.iter().zip(found);
        all.filter(|(_, is)| *is).map(|((f, _), _)| *f).collect()
    }
}

/// Prints how many routines there are, how many have each feature, and how many of those are from beyond SciPy,
/// LAPACK and CalculiX. Returns the violations, if `all` are measured.
fn counted(routines: &[Vec<Feature>], beyond: usize, all: bool) -> Vec<String> {
    let with = routines.iter().filter(|f| !f.is_empty()).count();
    let counts = Feature::ALL.iter().map(|(feature, name)| {
        let count = routines.iter().filter(|f| f.contains(feature)).count();
        format!("{count} with {name}")
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let n = routines.len();
    println!(
        "{n} routines, {with} of them with at least one of these: {counts}; {beyond} of those with one are from beyond SciPy, LAPACK and CalculiX\n"
    );
    match all && (n < ROUTINES[0] || with < ROUTINES[1] || beyond < BEYOND) {
        true => vec![format!(
            "{n} routines, {with} of them with SAVE, COMMON, W(*), WRITE or GOTO loops, {beyond} from beyond SciPy, LAPACK and CalculiX; fewer than {ROUTINES:?} and {BEYOND}"
        )],
        false => Vec::new(),
    }
}

/// Checks the dot products of one program.
fn check() -> Result<Vec<String>, Failure> {
    let dir = tempfile::tempdir()?;
    let (name, folders) = PROGRAMS
        .into_iter()
        .find(|(name, _)| *name == "ode")
        .ok_or("no program")?;
    let mut errors = Vec::new();
    let mut most = 0.0f64;
    for (routine, main) in one_by_one(name)? {
        let texts = texts(&session(&routine, &main, folders, "builtin", dir.path())?)?;
        let program = build(&routine, &texts, "1", &[], dir.path(), None)?;
        let rows = run(&program, 1)?;
        most = rows.iter().map(|r| r.peak).fold(most, f64::max);
        errors.extend(wrong(&rows));
    }
    // The tapes of the solvers grow.
    if memory::IS_COUNTED && most == 0.0 {
        errors.push(format!("{name}: no adjoint has memory on the heap"));
    }
    Ok(errors)
}

/// Reads a program that measures a routine.
fn session(
    stem: &str,
    main: &str,
    folders: &[&str],
    tool: &str,
    dir: &Path,
) -> Result<Session, Failure> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/routines.ff");
    let path = dir.join(format!("{stem}.ff"));
    std::fs::write(&path, main)?;
    let files = files_of(&path, folders, &library)?;
    let mut config = Config::default();
    config.cache.enabled = false;
    tool.clone_into(&mut config.ad_tool);
    config.combine_divisions = tool == "builtin" && combines_divisions();
    Ok(Session::of_files(&files, &config)?)
}

/// Whether our derivatives divide once where products have several divisors.
fn combines_divisions() -> bool {
    std::env::var_os("FARFEL_BENCH_COMBINE").is_some()
}

/// Returns the bytes that the analysis of the adjoint promises for its tapes; none if it cannot know them.
fn promised(session: &Session) -> Result<Option<f64>, Failure> {
    let blocks: serde_json::Value = serde_json::from_str(&session.activity()?.0.json())?;
    let of_adjoints = (blocks.as_array().into_iter().flatten())
        .filter(|b| b["unit"].as_str().is_some_and(|u| u.starts_with("ADJOIN")));
    let tapes = of_adjoints.flat_map(|b| b["tapes"].as_array().into_iter().flatten());
    let mut sum = 0;
    for tape in tapes {
        let values = tape["values"].as_str().and_then(|v| v.parse::<u64>().ok());
        let (Some(bytes), Some(values)) = (tape["bytes"].as_u64(), values) else {
            return Ok(None);
        };
        sum += bytes * values;
    }
    Ok(Some(sum as f64))
}

/// Returns the text of a program in two files: the measuring code, and the measured code.
///
/// The compiler cannot inline from one into the other, so a routine and its derivatives are called as from
/// any program, however small they are.
fn texts(session: &Session) -> Result<[String; 2], Failure> {
    let (text, _) = session.expand(ExpandStage::Final)?;
    let mut units = vec![Vec::new()];
    for line in statements(&text) {
        let ends = line.trim() == "END" && line.starts_with(' ');
        if let Some(unit) = units.last_mut() {
            unit.push(line);
        }
        if ends {
            units.push(Vec::new());
        }
    }
    let units: Vec<Unit> = units.into_iter().map(Unit::new).collect();
    let by_name: HashMap<&str, &Unit> = units.iter().map(|u| (u.name.as_str(), u)).collect();
    let mut parts = [String::new(), String::new()];
    for unit in &units {
        // Names of copies made by the lowering continue after an underscore.
        let original = unit.name.split('_').next().unwrap_or_default();
        let measures = MEASURING.contains(&original) || unit.is_program;
        let mut locals = Vec::new();
        let mut statements = unit.statements.clone();
        for s in &mut statements {
            if measures
                && ["FORWRD", "REVERS"].contains(&original)
                && let Some(at) = s.find("CALL TANGEN").or_else(|| s.find("CALL ADJOIN"))
                && let Some(direct) =
                    call(s).and_then(|c| derivative(&by_name, &c, original, &mut locals))
            {
                s.replace_range(at.., &format!("CALL {}({})", direct.0, direct.1.join(", ")));
            }
        }
        let declared = (statements.iter()).position(|s| s.trim_start().starts_with("DIMENSION"));
        let at = declared.map_or(0, |d| d + 1);
        // Declarations come before the DATA statements.
        locals.sort_by(|a, b| b.cmp(a));
        locals.dedup();
        statements.splice(at..at, locals);
        for s in statements {
            let part = &mut parts[usize::from(!measures)];
            part.push_str(&s);
            part.push('\n');
        }
    }
    Ok(parts)
}

/// A call: the procedure and the arguments.
type Call = (String, Vec<String>);

/// A program unit in fixed form.
struct Unit {
    name: String,
    is_program: bool,
    /// The dummy arguments of a subroutine.
    dummies: Vec<String>,
    /// The statements with their continuation lines, and comments.
    statements: Vec<String>,
}

impl Unit {
    fn new(statements: Vec<String>) -> Unit {
        let is_comment = |s: &str| s.starts_with(['C', '!']) || s.trim().is_empty();
        let first = statements.iter().find(|s| !is_comment(s));
        let is_program = first.is_some_and(|s| s.trim_start().starts_with("PROGRAM"));
        let head = statements
            .iter()
            .find_map(|s| s.strip_prefix("      SUBROUTINE "));
        let (name, dummies) = match head {
            Some(head) => parts_of_call(head).unwrap_or((head.to_owned(), Vec::new())),
            None => Default::default(),
        };
        Unit {
            name,
            is_program,
            dummies,
            statements,
        }
    }

    /// Returns the calls of subroutines in it.
    fn calls(&self) -> impl Iterator<Item = Call> {
        self.statements.iter().filter_map(|s| call(s))
    }

    /// Returns declarations of a variable as in this unit, initialised to zero. `None` for an adjustable
    /// array.
    fn zeros(&self, variable: &str) -> Option<[String; 2]> {
        let bounds = self.statements.iter().find_map(|s| {
            let (_, rest) = s.split_once(&format!("{variable}("))?;
            (s.trim_start().starts_with("DOUBLE PRECISION")).then_some(())?;
            rest.split(')').next()
        });
        let mut count = 1;
        for extent in bounds.into_iter().flat_map(|b| b.split(',')) {
            count *= extent.trim().parse::<usize>().ok()?;
        }
        let bounds = bounds.map_or(String::new(), |b| format!("({b})"));
        Some([
            format!("      DATA {variable} /{count}*0D0/"),
            format!("      DOUBLE PRECISION {variable}{bounds}"),
        ])
    }

    /// Returns the single call that the unit consists of, if it does nothing else.
    fn only_call(&self) -> Option<Call> {
        let mut made = None;
        for s in &self.statements {
            let words = s.trim_start();
            let silent = s.starts_with(['C', '!'])
                || words.is_empty()
                || DECLARATIONS.iter().any(|d| words.starts_with(d));
            match call(s) {
                _ if silent => {}
                Some(c) if made.is_none() => made = Some(c),
                _ => return None,
            }
        }
        made
    }
}

/// Returns the call of the derivative of the routine itself, in place of a call of TANGEN or ADJOIN: without
/// the copies that the block makes, and without the block's own subroutine if that only passes its arguments
/// on. Declarations for derivatives of variables that the routine has from its host are added to `locals`.
fn derivative(
    units: &HashMap<&str, &Unit>,
    outer: &Call,
    which: &str,
    locals: &mut Vec<String>,
) -> Option<Call> {
    let (callee, actuals) = outer;
    let block = units.get(callee.as_str())?;
    let (mut callee, args) = block.calls().find(|(callee, _)| {
        ["TANGEN", "ADJOIN"].iter().any(|n| callee.starts_with(n))
            && callee
                .rsplit('_')
                .next()
                .is_some_and(|s| s.starts_with('G'))
    })?;
    let passed = |a: &String| match actual(a, which) {
        Some(known) => Some(known.to_owned()),
        // A variable that the routine has from its host.
        None if a.contains("_G") => {
            locals.extend(block.zeros(a)?);
            Some(a.clone())
        }
        None => {
            // The block may use a copy from before its primal run.
            let original = a.split("_C").next()?;
            let at = block.dummies.iter().position(|d| d == original)?;
            Some(actuals.get(at)?.clone())
        }
    };
    let mut args = args.iter().map(passed).collect::<Option<Vec<_>>>()?;
    while let Some(unit) = units.get(callee.as_str())
        && let Some((inner, handed)) = unit.only_call()
        && let Some(handed) = (handed.iter())
            .map(|a| {
                let at = unit.dummies.iter().position(|d| d == a)?;
                args.get(at).cloned()
            })
            .collect::<Option<Vec<_>>>()
    {
        (callee, args) = (inner, handed);
    }
    Some((callee, args))
}

/// Returns the actual argument of the measuring subroutines for a dummy argument of a generated one.
fn actual(dummy: &str, which: &str) -> Option<&'static str> {
    let derivative = dummy.contains("_G");
    Some(match (dummy.split('_').next()?, derivative, which) {
        ("N", false, _) => "N",
        ("M", false, _) => "M",
        ("X", false, _) => "W(1, J)",
        ("Y", false, _) => "Y(1, J)",
        ("X", true, "FORWRD") => "V",
        ("Y", true, "FORWRD") => "D(1, J)",
        ("X", true, _) => "G(1, J)",
        ("Y", true, _) => "U",
        _ => return None,
    })
}

/// Splits a fixed-form text into statements, each with its continuation lines.
fn statements(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("     +"), out.last_mut()) {
            (Some(rest), Some(last)) => {
                last.push(' ');
                last.push_str(rest.trim_start());
            }
            _ => out.push(line.to_owned()),
        }
    }
    out
}

/// Parses a statement that is a call.
fn call(statement: &str) -> Option<Call> {
    if statement.starts_with('C') {
        return None;
    }
    let (_, rest) = statement.split_once("CALL ")?;
    parts_of_call(rest)
}

/// Splits `F(A, B)` into the name and the arguments, which may contain parentheses.
fn parts_of_call(text: &str) -> Option<Call> {
    let (name, args) = text.split_once('(')?;
    let args = args.trim_end().strip_suffix(')')?;
    let mut out = vec![String::new()];
    let mut depth = 0;
    for c in args.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = out.last_mut()
            && !(c == ' ' && last.is_empty())
        {
            last.push(c);
        }
    }
    Some((name.to_owned(), out))
}

/// Compiles and links the texts; for Tapenade's derivatives, with its stack.
fn build(
    name: &str,
    texts: &[String; 2],
    level: &str,
    flags: &[&str],
    dir: &Path,
    tapenade: Option<&Path>,
) -> Result<PathBuf, Failure> {
    let program = dir.join(format!("{name}-O{level}"));
    let mut sources = Vec::new();
    for (text, part) in texts.iter().zip(["times", "derivatives"]) {
        let path = dir.join(format!("{name}-{part}.f"));
        std::fs::write(&path, text)?;
        sources.push(path);
    }
    if let Some(home) = tapenade {
        let kit = home.join("ADFirstAidKit");
        let stack = std::fs::read_to_string(kit.join("adStack.c"))?;
        // Before the kit was entirely in C, it kept single values in buffers written in Fortran.
        if !stack.to_ascii_lowercase().contains("pushcontrol") {
            sources.push(kit.join("adBuffer.f"));
        }
        sources.push(kit.join("adStack.c"));
    }
    let compiler = toolchain::find(&Config::default())?.path;
    let made = Command::new(&compiler)
        .args([
            &format!("-O{level}"),
            "-w",
            "-std=legacy",
            "-ffixed-line-length-none",
        ])
        .args(flags)
        .args(memory::counting(&dir.join("peak"))?)
        .arg("-o")
        .arg(&program)
        .args(&sources)
        .output()?;
    match made.status.success() {
        true => Ok(program),
        false => {
            let output = String::from_utf8_lossy(&made.stderr);
            let output = output.lines().take(5).collect::<Vec<_>>().join("\n");
            Err(format!("{} refuses {name}: {output}", compiler.display()).into())
        }
    }
}

/// Runs a program and returns its measurements.
fn run(program: &Path, turns: usize) -> Result<Vec<Row>, Failure> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{turns}")?;
    }
    let ended = child.wait_with_output()?;
    if !ended.status.success() {
        return Err(format!("{} ended with {}", program.display(), ended.status).into());
    }
    let mut rows = Vec::new();
    for line in String::from_utf8(ended.stdout)?.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name @ .., primal, tangent, adjoint, error, peak] = words.as_slice() else {
            return Err(format!("{} wrote {line:?}", program.display()).into());
        };
        let time = |text: &str| -> Result<Option<f64>, Failure> {
            Ok(Some(text.parse::<f64>()?).filter(|t| *t >= 0.0))
        };
        rows.push(Row {
            name: name.join(" "),
            times: [time(primal)?, time(tangent)?, time(adjoint)?],
            error: error.parse()?,
            peak: peak.parse()?,
        });
    }
    Ok(rows)
}

/// Returns messages for the routines whose dot products differ.
fn wrong(rows: &[Row]) -> Vec<String> {
    rows.iter()
        .filter(|r| r.error.is_nan() || r.error > TOLERANCE)
        .map(|r| format!("{}: the products differ by {:e}", r.name, r.error))
        .collect()
}
