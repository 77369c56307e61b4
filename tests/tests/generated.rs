//! Generated programs: what the compiler makes of them prints what the interpreter says.
//!
//! `FARFEL_CASES=n` tries n programs, `FARFEL_SEED=n` other ones than those of every run, and
//! `FARFEL_FROM=n` those from the number n on, so that a long run can be done in portions. With
//! `FARFEL_COMPILE_ONE_IN=n` gfortran compiles one in n bundles of programs, and the interpreter
//! carries out the Fortran that the compiler has made of the others: that takes a third of the
//! time, and where the two differ gfortran decides. `FARFEL_FAULTS=n` ends a run after n faults.
//! With `--nocapture` it says how many programs agreed, what became of the others, and how often
//! ADR blocks reached each construct.

use farfel_tests::compiled::{self, Tolerance, compare, expand, read, run};
use farfel_tests::generated::{Case, Kind, program, smaller};
use farfel_tests::interpreter::{self, Options, Outcome};
use farfel_tests::sandbox;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

/// So many programs become one executable file.
const TOGETHER: usize = 25;

fn setting(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(default, |v| v.parse().unwrap_or(default))
}

/// What becomes of a program by itself.
enum Verdict {
    /// It can be compiled, and should print this.
    Fine(Outcome),
    /// It takes too long, or is beyond the interpreter.
    Passed(String),
    /// It is not what it should be.
    Wrong(String),
}

fn options(kind: Kind) -> Options {
    Options {
        wide: kind.real,
        steps: setting("FARFEL_STEPS", 20_000),
        ..Options::default()
    }
}

fn interpret(text: &str, kind: Kind) -> Result<Outcome, String> {
    let read = read(text).map_err(|e| format!("not read: {e}"))?;
    meaning(&read, kind)
}

fn meaning(read: &compiled::Read, kind: Kind) -> Result<Outcome, String> {
    interpreter::run(&read.program, &options(kind)).map_err(|f| {
        let line = f.span.map_or(0, |s| read.line(s));
        format!("{f} (line {line})")
    })
}

fn examine(case: &Case, kind: Kind) -> Verdict {
    let text = case.program();
    let read = match read(&text) {
        Ok(read) => read,
        Err(e) => return Verdict::Wrong(format!("not read: {e}")),
    };
    let outcome = match meaning(&read, kind) {
        Ok(outcome) => outcome,
        Err(e) if e.contains("not interpreted") || e.contains("too long") => {
            return Verdict::Passed(e);
        }
        // A dummy procedure that a unit only hands on to itself: nothing says that it is one.
        Err(e) if e.contains("is no variable") => {
            let why = e.split_once(' ').map_or("", |(_, why)| why);
            return Verdict::Passed(format!("a name {why}"));
        }
        Err(e) => return Verdict::Wrong(e),
    };
    match compiled::shares_arguments(&read) {
        true => Verdict::Passed("one variable under two names, F0204".into()),
        false => Verdict::Fine(outcome),
    }
}

/// Compiles and runs a program, and compares what it prints.
fn agrees(text: &str, kind: Kind, checked: bool) -> Result<(), String> {
    let expected = interpret(text, kind)?;
    let fortran = read(text).and_then(expand)?;
    prints(&fortran, &expected, kind, checked)
}

/// Does Fortran text print what it should?
fn prints(fortran: &str, expected: &Outcome, kind: Kind, checked: bool) -> Result<(), String> {
    let mut flags = vec!["-O0"];
    if checked {
        flags.push("-fcheck=all");
    }
    if kind.real {
        flags.extend(["-fdefault-real-8", "-fdefault-double-8"]);
    }
    let dir = sandbox();
    let printed = run(fortran, &flags, "", dir.path())?;
    compare(expected, &printed, tolerance(kind))
}

/// Values of single precision go into all others, and derivatives of such variables, which have
/// single precision in compiled code, have double precision in the interpreter.
fn tolerance(kind: Kind) -> Tolerance {
    Tolerance {
        double: if kind.mixed { 1e-3 } else { 1e-9 },
        single: 1e-3,
    }
}

/// Does Fortran text, as the interpreter understands it, print what it should?
fn interpret_again(fortran: &str, expected: &Outcome, kind: Kind) -> Result<(), String> {
    let read = read(fortran).map_err(|e| format!("Fortran is not read: {e}"))?;
    let options = Options {
        steps: 10_000_000,
        unset: true,
        ..options(kind)
    };
    let printed = interpreter::run(&read.program, &options);
    let printed = printed.map_err(|f| {
        let line = f.span.map_or(0, |s| read.line(s));
        format!("{f} (line {line} of the Fortran)")
    })?;
    compare(expected, &printed.text(), tolerance(kind))
}

fn agrees_quickly(text: &str, kind: Kind) -> Result<(), String> {
    let expected = interpret(text, kind)?;
    interpret_again(&read(text).and_then(expand)?, &expected, kind)
}

/// The kind of fault, so that a smaller program fails likewise and not otherwise.
fn sort(fault: &str) -> String {
    let words = [
        "panic",
        "gfortran:",
        "signal",
        "exit status",
        "not read",
        "expected",
        "also printed",
    ];
    if let Some((_, said)) = fault.split_once("Error: ") {
        // Without the names in it.
        let said = said.split(['\'', '‘', '(']).next().unwrap_or_default();
        return format!("gfortran: {said}");
    }
    if fault.contains("undefined reference") {
        let name = fault.split_once('`').map_or("", |(_, n)| n);
        let name = name.split_once("reference to `").map_or("", |(_, n)| n);
        let letters = |c: &char| c.is_ascii_alphabetic();
        return format!(
            "undefined reference {}",
            name.chars().take_while(letters).collect::<String>()
        );
    }
    let known = words.iter().find(|w| fault.contains(**w));
    let code = fault.split_whitespace().find(|w| w.starts_with("F0"));
    known.map_or_else(|| code.unwrap_or("?").to_owned(), |w| (*w).to_owned())
}

fn report(case: &Case, kind: Kind, fault: &str) -> String {
    let wanted = sort(fault);
    let mut attempts = setting("FARFEL_SHRINK", 300);
    // Where interpreted Fortran fails likewise, nothing need be compiled.
    let quick = |text: &str| agrees_quickly(text, kind);
    let is_quick = quick(&case.program()).is_err_and(|f| sort(&f) == wanted);
    if is_quick {
        attempts *= 20;
    }
    let small = smaller(case, &mut |attempt| {
        attempts = u64::saturating_sub(attempts, 1);
        let text = attempt.program();
        let fails = || match is_quick {
            true => quick(&text).err(),
            false => agrees(&text, kind, true).err(),
        };
        attempts > 0 && fails().is_some_and(|f| sort(&f) == wanted)
    });
    let text = small.program();
    let left = agrees(&text, kind, true).err().unwrap_or_default();
    format!(
        "{} ({kind:?}): {fault}\nmade smaller: {left}\n{text}",
        case.name
    )
}

struct Tally {
    counts: BTreeMap<String, usize>,
    /// How often blocks reach what: executions, and programs.
    reached: BTreeMap<String, (u64, usize)>,
    /// Where the time went, in milliseconds of each thread.
    times: BTreeMap<&'static str, u128>,
    faults: Vec<String>,
}

impl Tally {
    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    fn time(&mut self, what: &'static str, since: Instant) {
        *self.times.entry(what).or_default() += since.elapsed().as_millis();
    }

    fn refused(&mut self, case: &Case, e: &str) {
        let why = e.lines().next().unwrap_or_default();
        let (code, message) = why.split_once(": ").unwrap_or((why, ""));
        let code = code.split(' ').next().unwrap_or_default();
        // Names differ, what is said about them does not.
        let is_name = |w: &&str| !w.chars().any(|c| c.is_ascii_uppercase());
        let words: Vec<&str> = message.split(' ').filter(is_name).collect();
        self.count(&format!("refused: {code} {}", words.join(" ")));
        if std::env::var("FARFEL_DRY").is_ok() {
            self.count(&format!("{} {e}", case.name));
        }
    }
}

fn bundle(cases: &[Case], kind: Kind, checked: bool, compile: bool, tally: &Mutex<Tally>) {
    let begin = Instant::now();
    let mut fine = Vec::new();
    for case in cases {
        match examine(case, kind) {
            Verdict::Fine(outcome) => fine.push((case, outcome)),
            Verdict::Passed(why) => {
                let why = why.split(" (line").next().unwrap_or_default();
                tally.lock().unwrap().count(&format!("passed over: {why}"));
            }
            Verdict::Wrong(e) => {
                let text = format!("{} is not valid: {e}\n{}", case.name, case.program());
                tally.lock().unwrap().faults.push(text);
            }
        }
    }
    tally.lock().unwrap().time("interpreter", begin);
    let begin = Instant::now();
    let together = |fine: &[(&Case, Outcome)]| {
        let cases: Vec<Case> = fine.iter().map(|(case, _)| (*case).clone()).collect();
        program(&cases)
    };
    let mut fortran = read(&together(&fine)).and_then(expand);
    while let Err(e) = &fortran {
        // Some are refused.
        let refused = blamed(e, &fine);
        if refused.is_empty() {
            break;
        }
        for (at, e) in refused.into_iter().rev() {
            let (case, _) = fine.remove(at);
            tally.lock().unwrap().refused(case, &e);
        }
        fortran = read(&together(&fine)).and_then(expand);
    }
    tally.lock().unwrap().time("engine", begin);
    if fine.is_empty() || std::env::var("FARFEL_DRY").is_ok() {
        return;
    }
    let begin = Instant::now();
    let expected = Outcome {
        output: fine.iter().flat_map(|(_, o)| o.output.clone()).collect(),
        ..Outcome::default()
    };
    let agreed = match fortran {
        // The Fortran with all derivatives is a program that has a meaning, too.
        Ok(f) if !compile => interpret_again(&f, &expected, kind),
        fortran => fortran.and_then(|f| prints(&f, &expected, kind, checked)),
    };
    tally.lock().unwrap().time("gfortran", begin);
    if let Err(all) = agreed {
        // Where one is not as the interpreter expects it, the compiled program decides.
        let mut found = false;
        for (case, _) in &fine {
            if tally.lock().unwrap().faults.len() >= most_faults() {
                return;
            }
            if !compile {
                let Err(e) = agrees_quickly(&case.program(), kind) else {
                    continue;
                };
                found = true;
                tally.lock().unwrap().count(&format!("compiled, since {e}"));
            }
            if let Err(fault) = agrees(&case.program(), kind, true) {
                found = true;
                let text = report(case, kind, &fault);
                let mut tally = tally.lock().unwrap();
                tally.count("disagreed");
                tally.faults.push(text);
            }
        }
        if !found {
            let text = format!("only together: {all}\n{}", together(&fine));
            tally.lock().unwrap().faults.push(text);
        }
    }
    let mut tally = tally.lock().unwrap();
    for (_, outcome) in &fine {
        tally.count("compared");
        tally.count(match compile {
            true => "compared, compiled by gfortran",
            false => "compared, as interpreted Fortran",
        });
        if outcome.reached.keys().any(|what| what.contains("ADR")) {
            tally.count("compared, with ADR");
        }
        for (what, times) in &outcome.reached {
            let (all, programs) = tally.reached.entry(what.clone()).or_default();
            *all += times;
            *programs += 1;
        }
    }
}

/// Which cases of a program errors are about, each with its first one.
fn blamed(errors: &str, cases: &[(&Case, Outcome)]) -> BTreeMap<usize, String> {
    let mut blamed = BTreeMap::new();
    let lines = |case: &Case| case.program().lines().count() - 3;
    for error in errors.lines().filter(|e| !e.contains("panic")) {
        let Some((_, rest)) = error.split_once(" line ") else {
            continue;
        };
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        let Some(line) = digits.and_then(|d| d.parse::<usize>().ok()) else {
            continue;
        };
        // The main program calls each case.
        let mut end = cases.len() + 2;
        for (at, (case, _)) in cases.iter().enumerate() {
            end += lines(case);
            if line <= end {
                blamed.entry(at).or_insert_with(|| error.to_owned());
                break;
            }
        }
    }
    blamed
}

/// Of so many executable files one is compiled; of the others the interpreter carries the Fortran
/// out that the compiler has made.
fn compiled_one_in() -> usize {
    setting("FARFEL_COMPILE_ONE_IN", 1).max(1) as usize
}

/// After so many faults a run ends.
fn most_faults() -> usize {
    setting("FARFEL_FAULTS", 2) as usize
}

fn many(count: usize, kind: Kind) {
    let seed = setting("FARFEL_SEED", 1);
    let tally = Mutex::new(Tally {
        counts: BTreeMap::new(),
        reached: BTreeMap::new(),
        times: BTreeMap::new(),
        faults: Vec::new(),
    });
    let first = setting("FARFEL_FROM", 0) as usize;
    let next = std::sync::atomic::AtomicUsize::new(first);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(TOGETHER, std::sync::atomic::Ordering::Relaxed);
                    if from >= first + count || tally.lock().unwrap().faults.len() >= most_faults()
                    {
                        break;
                    }
                    let numbers = from..(first + count).min(from + TOGETHER);
                    let cases: Vec<Case> = numbers.map(|n| Case::new(seed, n, kind)).collect();
                    // Checks at run time make compiling slow: in long runs some have them.
                    let checked = from < 1000 || from.is_multiple_of(8 * TOGETHER);
                    // In long runs the interpreter carries most of them out: that is much faster.
                    let compile = (from / TOGETHER).is_multiple_of(compiled_one_in());
                    bundle(&cases, kind, checked, compile, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    if count > 1000 || std::env::var("FARFEL_CASES").is_ok() {
        let mut text = String::new();
        for (what, n) in &tally.counts {
            text += &format!("{n:8} {what}\n");
        }
        for (what, ms) in &tally.times {
            text += &format!("{:8.1} s {what}\n", *ms as f64 / 1e3);
        }
        text += "reached by blocks: executions, programs\n";
        for (what, (all, programs)) in &tally.reached {
            text += &format!("{all:10} {programs:7} {what}\n");
        }
        std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes()).unwrap();
    }
    let faults = tally.faults.join("\n\n");
    assert!(tally.faults.is_empty(), "{:#?}\n{faults}", tally.counts);
    let compared = tally.counts.get("compared").copied().unwrap_or(0);
    assert!(compared * 2 > count, "{:#?}", tally.counts);
}

const DOUBLE: Kind = Kind {
    real: false,
    reverse: false,
    gradients: false,
    aliases: false,
    mixed: false,
};

fn cases(default: u64) -> usize {
    setting("FARFEL_CASES", default) as usize
}

#[test]
fn double_precision() {
    many(cases(90), DOUBLE);
}

#[test]
fn implicit_real() {
    many(
        cases(50),
        Kind {
            real: true,
            ..DOUBLE
        },
    );
}

#[test]
fn closure_variables_as_arguments() {
    many(
        cases(50),
        Kind {
            aliases: true,
            ..DOUBLE
        },
    );
}

/// Adjoints, nested with tangents and with each other in any order.
#[test]
fn reverse_mode() {
    let kind = Kind {
        reverse: true,
        gradients: true,
        ..DOUBLE
    };
    many(cases(40), kind);
}

/// Both with variables of single precision among those of double precision.
#[test]
fn mixed_precision() {
    let kind = Kind {
        reverse: true,
        gradients: true,
        mixed: true,
        ..DOUBLE
    };
    many(cases(25), kind);
}

/// A gradient by one variable is a tangent by it.
#[test]
fn reverse_mode_is_forward_mode() {
    let seed = setting("FARFEL_SEED", 1);
    let kind = Kind {
        reverse: true,
        ..DOUBLE
    };
    let mut blocks = 0;
    for number in 0..cases(150) {
        let case = Case::new(seed, number, kind);
        let text = case.program();
        let forward = forward_only(&text);
        blocks += text.matches("END ADR").count();
        let tolerance = |a: &str, b: &str| {
            let number = |t: &str| t.parse::<f64>().ok();
            match (number(a), number(b)) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
                _ => a == b,
            }
        };
        match (interpret(&text, kind), interpret(&forward, kind)) {
            (Ok(a), Ok(b)) => {
                let (a, b) = (format!("{:?}", a.output), format!("{:?}", b.output));
                let separators = |c: char| "(), []".contains(c);
                let same = a
                    .split(separators)
                    .eq_by_words(b.split(separators), tolerance);
                assert!(same, "{a}\n{b}\n{text}");
            }
            (Err(a), Err(b)) if a == b => {}
            (a, b) => panic!("{a:?}\n{b:?}\n{text}"),
        }
    }
    assert!(blocks > 20);
}

/// Every `ADR(y) … END ADR(d = COTANGENT(x))` as `ADF(x) … END ADF(d = TANGENT(y))`.
fn forward_only(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut open = Vec::new();
    for i in 0..lines.len() {
        let line = lines[i].trim().to_owned();
        if let Some(y) = line.strip_prefix("ADR(").and_then(|l| l.strip_suffix(')')) {
            open.push((i, y.to_owned()));
        } else if let Some(rest) = line.strip_prefix("END ADR(")
            && let Some((dest, x)) = rest.split_once(" = COTANGENT(")
            && let Some((at, y)) = open.pop()
        {
            let x = x.trim_end_matches(')');
            lines[at] = format!("      ADF({x})");
            lines[i] = format!("      END ADF({dest} = TANGENT({y}))");
        }
    }
    lines.join("\n") + "\n"
}

/// Compares words one by one.
trait Words<'a>: Iterator<Item = &'a str> + Sized {
    fn eq_by_words(
        self,
        other: impl Iterator<Item = &'a str>,
        same: impl Fn(&str, &str) -> bool,
    ) -> bool {
        let (a, b): (Vec<&str>, Vec<&str>) = (self.collect(), other.collect());
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a, b))
    }
}

impl<'a, I: Iterator<Item = &'a str>> Words<'a> for I {}

/// The text of one case, to look at: `FARFEL_CASE=n cargo test … -- --ignored show`.
#[test]
#[ignore = "shows a case"]
fn show() {
    let kind = Kind {
        aliases: std::env::var("FARFEL_ALIASES").is_ok(),
        reverse: std::env::var("FARFEL_REVERSE").is_ok(),
        gradients: std::env::var("FARFEL_REVERSE").is_ok(),
        mixed: std::env::var("FARFEL_MIXED").is_ok(),
        ..DOUBLE
    };
    let number = setting("FARFEL_CASE", 0) as usize;
    let text = Case::new(setting("FARFEL_SEED", 1), number, kind).program();
    let fault = compiled::read(&text).err().unwrap_or_default();
    panic!("{text}\n{fault}\n{:?}", interpret(&text, kind));
}
