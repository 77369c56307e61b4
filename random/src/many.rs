//! Tries many programs, in bundles and in parallel, and collects the results.

use crate::generated::{Case, Kind, smaller};
use crate::interpreter::Outcome;
use crate::trial::{
    Execution, Translation, Verdict, agrees, command, examine, fortran, is_gfortrans, is_refusal,
    prints, sort, source,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The number of programs compiled into one executable.
const TOGETHER: usize = 25;

/// The maximum time to reduce a program that disagrees.
const LONGEST: Duration = Duration::from_secs(120);

/// Forward mode only, in double precision.
pub const DOUBLE: Kind = Kind {
    real: false,
    reverse: false,
    gradients: false,
    aliases: false,
    mixed: false,
    flat: false,
};

/// The kinds of programs, used in turn. Kinds with more derivatives occur more often.
pub const KINDS: [Kind; 8] = [
    DOUBLE,
    GRADIENTS,
    FLAT,
    Kind {
        real: true,
        ..DOUBLE
    },
    FLAT,
    Kind {
        aliases: true,
        ..DOUBLE
    },
    GRADIENTS,
    Kind {
        mixed: true,
        ..GRADIENTS
    },
];

/// Adjoints, nested with tangents and with each other in any order.
pub const GRADIENTS: Kind = Kind {
    reverse: true,
    gradients: true,
    ..DOUBLE
};

/// Fortran 77 for Tapenade's command line.
pub const FLAT: Kind = Kind {
    flat: true,
    ..DOUBLE
};

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The seed from which all programs are generated.
    pub seed: u64,
    /// The number of the first program.
    pub from: usize,
    /// The maximum number of programs.
    pub cases: usize,
    /// The time after which no further bundle starts.
    pub time: Option<Duration>,
    /// The number of threads.
    pub jobs: usize,
    /// The kinds of programs, used in turn for each bundle.
    pub kinds: Vec<Kind>,
    /// Of this many bundles of a kind, gfortran compiles one with its checks and one with all
    /// optimizations. The interpreter runs the Fortran of the others.
    pub compile_one_in: usize,
    /// The number of disagreements after which the run ends.
    pub errors: usize,
    /// The number of attempts to reduce the program for each disagreement.
    pub attempts: u64,
}

impl Settings {
    /// Returns the program with a number, and its kind.
    pub fn case(&self, number: usize) -> (Kind, Case) {
        let kind = self.kinds[number / TOGETHER % self.kinds.len()];
        (kind, Case::new(self.seed, number, kind))
    }
}

/// A program whose compiled form does not do what it means.
#[derive(Debug, Clone)]
pub struct Disagreement {
    /// The number of the program.
    pub number: usize,
    /// The kind of the program.
    pub kind: Kind,
    /// How it was compiled.
    pub translation: Translation,
    /// How the result was run.
    pub execution: Execution,
    /// The disagreement in the program as generated.
    pub message: String,
    /// The disagreement in the reduced program.
    pub message_of_small: String,
    /// The text of the reduced program.
    pub text: String,
}

impl Disagreement {
    /// Returns the name and the contents of a file with the reduced program and its description.
    pub fn file(&self, seed: u64) -> (String, String) {
        let (number, kind) = (self.number, self.kind);
        let translation = self.translation.name();
        let mut text = format!(
            "C     --seed {seed} --from {number} --cases 1, {translation}, {:?}\n",
            self.execution
        );
        let _ = writeln!(text, "C     {kind:?}");
        for (what, message) in [
            ("as generated", &self.message),
            ("here", &self.message_of_small),
        ] {
            for line in message.lines().take(12) {
                let line: String = line.chars().take(200).collect();
                let _ = writeln!(text, "C     {what}: {line}");
            }
        }
        text += &self.text;
        let translation = translation.replace([' ', '-'], "");
        (format!("{seed}-{number}-{translation}.ff"), text)
    }
}

/// The results of a run.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of programs.
    pub programs: usize,
    /// The number of programs for which everything agreed.
    pub agreed: usize,
    /// Counts of various events, by description.
    pub counts: BTreeMap<String, usize>,
    /// How often blocks reach each feature: executions, and programs.
    pub reached: BTreeMap<String, (u64, usize)>,
    /// The number of programs that contain each construct.
    pub constructs: BTreeMap<&'static str, usize>,
    /// The time spent on each activity, summed over all threads.
    pub times: BTreeMap<&'static str, Duration>,
    /// The disagreements found.
    pub errors: Vec<Disagreement>,
    /// The duration of the run.
    pub elapsed: Duration,
}

impl Tally {
    fn count(&mut self, what: &str, number: usize) {
        *self.counts.entry(what.to_owned()).or_default() += number;
    }

    fn time(&mut self, what: &'static str, since: Instant) {
        *self.times.entry(what).or_default() += since.elapsed();
    }

    fn refused(&mut self, translation: Translation, e: &str) {
        let why = e.lines().next().unwrap_or_default();
        let (code, message) = why.split_once(": ").unwrap_or((why, ""));
        let code = code.split(' ').next().unwrap_or_default();
        // Names differ, but the rest of a message does not.
        let is_name = |w: &&str| {
            !w.chars()
                .any(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        };
        let words: Vec<&str> = message.split(' ').filter(is_name).collect();
        let translation = translation.name();
        self.count(
            &format!("refused ({translation}): {code} {}", words.join(" ")),
            1,
        );
    }

    /// Returns a summary for display.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let seconds = self.elapsed.as_secs_f64();
        let rate = self.programs as f64 / seconds.max(1e-9);
        let _ = writeln!(
            text,
            "{} programs, {} agreed in all that was made of them, {} disagreements, {seconds:.0} s, {rate:.1} programs/s",
            self.programs,
            self.agreed,
            self.errors.len()
        );
        for (what, n) in &self.counts {
            let _ = writeln!(text, "{n:8} {what}");
        }
        for (what, time) in &self.times {
            let _ = writeln!(text, "{:8.1} s {what}", time.as_secs_f64());
        }
        text += "programs with\n";
        for (what, n) in &self.constructs {
            let _ = writeln!(text, "{n:8} {what}");
        }
        text += "reached by blocks: executions, programs\n";
        for (what, (all, programs)) in &self.reached {
            let _ = writeln!(text, "{all:10} {programs:7} {what}");
        }
        text
    }
}

/// Tries the programs. Each disagreement is passed to `found` as soon as it is known.
pub fn many(settings: &Settings, found: &(dyn Fn(&Disagreement) + Sync)) -> Tally {
    let begin = Instant::now();
    let tally = Mutex::new(Tally::default());
    let next = AtomicUsize::new(settings.from);
    let end = settings.from.saturating_add(settings.cases);
    let over = || {
        let late = settings.time.is_some_and(|t| begin.elapsed() >= t);
        late || lock(&tally).errors.len() >= settings.errors
    };
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.max(1) {
            scope.spawn(|| {
                while !over() {
                    // Bundles begin at multiples of their size, wherever the run starts.
                    let from = next
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                            Some((n / TOGETHER + 1) * TOGETHER)
                        })
                        .unwrap_or(end);
                    if from >= end {
                        break;
                    }
                    let to = ((from / TOGETHER + 1) * TOGETHER).min(end);
                    let batch = Batch::new(settings, from, to);
                    batch.attempt(&tally, found);
                }
            });
        }
    });
    let mut tally = tally.into_inner().unwrap_or_else(|e| e.into_inner());
    tally.elapsed = begin.elapsed();
    tally
}

fn lock(tally: &Mutex<Tally>) -> std::sync::MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(|e| e.into_inner())
}

/// Programs that are tried together.
struct Batch<'s> {
    settings: &'s Settings,
    kind: Kind,
    execution: Execution,
    /// The programs with their numbers.
    cases: Vec<(usize, Case)>,
}

impl<'s> Batch<'s> {
    fn new(settings: &'s Settings, from: usize, to: usize) -> Self {
        let (kind, _) = settings.case(from);
        let one_in = settings.compile_one_in.max(1);
        let turn = from / TOGETHER / settings.kinds.len();
        let execution = match turn % one_in {
            // If all bundles are compiled, the two ways alternate.
            0 if one_in == 1 && turn % 2 == 1 => Execution::Fast,
            0 => Execution::Checked,
            1 => Execution::Fast,
            _ => Execution::Interpreted,
        };
        let cases = (from..to).map(|n| (n, settings.case(n).1));
        Batch {
            settings,
            kind,
            execution,
            cases: cases.collect(),
        }
    }

    fn attempt(&self, tally: &Mutex<Tally>, found: &(dyn Fn(&Disagreement) + Sync)) {
        let mut compared = vec![0; self.cases.len()];
        let all = Translation::all(self.kind);
        for translation in &all {
            for at in self.compare(*translation, tally, found) {
                compared[at] += 1;
            }
        }
        let mut tally = lock(tally);
        tally.programs += self.cases.len();
        tally.agreed += compared.iter().filter(|n| **n == all.len()).count();
        let some = compared.iter().filter(|n| **n > 0 && **n < all.len());
        let some = some.count();
        tally.count("programs of which something was passed over", some);
        let none = compared.iter().filter(|n| **n == 0).count();
        tally.count("programs that were passed over", none);
        for (_, case) in &self.cases {
            for construct in case.constructs() {
                *tally.constructs.entry(construct).or_default() += 1;
            }
        }
    }

    /// Returns the indices in this bundle of the cases that agreed.
    fn compare(
        &self,
        translation: Translation,
        tally: &Mutex<Tally>,
        found: &(dyn Fn(&Disagreement) + Sync),
    ) -> Vec<usize> {
        let (kind, execution) = (self.kind, self.execution);
        let begin = Instant::now();
        let mut fine: Vec<(usize, &Case, Outcome)> = Vec::new();
        for (at, (_, case)) in self.cases.iter().enumerate() {
            match examine(case, kind, translation) {
                Verdict::Fine(outcome) => fine.push((at, case, outcome)),
                Verdict::Skipped(why) => {
                    let why = why.split(" (line").next().unwrap_or_default();
                    let translation = translation.name();
                    lock(tally).count(&format!("passed over ({translation}): {why}"), 1);
                }
                Verdict::Wrong(e) => {
                    let message = format!("invalid: {e}");
                    if let Some(error) =
                        self.error(at, translation, Execution::Interpreted, message)
                    {
                        found(&error);
                        lock(tally).errors.push(error);
                    }
                }
            }
        }
        lock(tally).time("interpreter", begin);
        let begin = Instant::now();
        let cases = |fine: &[(usize, &Case, Outcome)]| -> Vec<Case> {
            fine.iter().map(|(_, case, _)| (*case).clone()).collect()
        };
        let together = |fine: &[(usize, &Case, Outcome)]| {
            let cases = cases(fine);
            fortran(&cases.iter().collect::<Vec<_>>(), kind, translation)
        };
        let mut text = together(&fine);
        if text.is_err() {
            // Some cases are rejected.
            fine.retain(|(_, case, _)| match fortran(&[case], kind, translation) {
                Err(e) if is_refusal(&e) => {
                    lock(tally).refused(translation, &e);
                    false
                }
                _ => true,
            });
            text = together(&fine);
            // If the bundle is rejected, single cases need not be.
            if matches!(&text, Err(e) if is_refusal(e)) {
                lock(tally).count("refused only together", fine.len());
                return Vec::new();
            }
        }
        lock(tally).time("compiler", begin);
        if fine.is_empty() {
            return Vec::new();
        }
        let begin = Instant::now();
        let expected = Outcome {
            output: fine.iter().flat_map(|(.., o)| o.output.clone()).collect(),
            ..Outcome::default()
        };
        let agreed = text.and_then(|text: String| prints(&text, &expected, kind, execution));
        lock(tally).time(
            match execution {
                Execution::Interpreted => "interpreter, of what was made",
                Execution::Checked => "gfortran -O0 with checks",
                Execution::Fast => "gfortran -O3",
            },
            begin,
        );
        let mut wrong = Vec::new();
        if let Err(all) = agreed {
            for (at, case, _) in &fine {
                let Err(first) = agrees(case, kind, translation, execution) else {
                    continue;
                };
                // gfortran decides if the interpreter disagrees.
                let decided = match execution {
                    Execution::Interpreted => Execution::Checked,
                    other => other,
                };
                let message = match agrees(case, kind, translation, decided) {
                    Err(message) => message,
                    Ok(()) => {
                        lock(tally)
                            .count(&format!("only interpreted otherwise: {}", sort(&first)), 1);
                        continue;
                    }
                };
                wrong.push(*at);
                let Some(error) = self.error(*at, translation, decided, message) else {
                    lock(tally).count("wrong by gfortran -O3 alone, without us", 1);
                    continue;
                };
                found(&error);
                lock(tally).errors.push(error);
                if lock(tally).errors.len() >= self.settings.errors {
                    return Vec::new();
                }
            }
            // Files from Tapenade's command line contain tapes, which differ.
            let known = all.contains("internal compiler error")
                || execution == Execution::Interpreted
                || matches!(translation, Translation::Tapenade(_));
            if known {
                lock(tally).count(
                    &format!("agreed only one by one ({})", translation.name()),
                    1,
                );
            } else if wrong.is_empty() {
                let error = Disagreement {
                    number: self.cases.first().map_or(0, |(n, _)| *n),
                    kind,
                    translation,
                    execution,
                    message: format!("only together: {all}"),
                    message_of_small: String::new(),
                    text: source(&cases(&fine).iter().collect::<Vec<_>>(), kind, translation),
                };
                found(&error);
                lock(tally).errors.push(error);
            }
        }
        let mut tally = lock(tally);
        fine.retain(|(at, ..)| !wrong.contains(at));
        tally.count(&format!("compared ({})", translation.name()), fine.len());
        tally.count(
            match execution {
                Execution::Interpreted => "compared, as interpreted Fortran",
                Execution::Checked => "compared, -O0 with checks",
                Execution::Fast => "compared, -O3",
            },
            fine.len(),
        );
        for (.., outcome) in &fine {
            for (what, times) in &outcome.reached {
                let (all, programs) = tally.reached.entry(what.clone()).or_default();
                *all += times;
                *programs += 1;
            }
        }
        fine.iter().map(|(at, ..)| *at).collect()
    }

    /// Returns a reduced program that fails in the same way; `None` if gfortran alone gets it
    /// wrong, too.
    fn error(
        &self,
        at: usize,
        translation: Translation,
        execution: Execution,
        message: String,
    ) -> Option<Disagreement> {
        let (number, case) = &self.cases[at];
        let kind = self.kind;
        let fails = |case: &Case, execution, wanted: &str| {
            let error = agrees(case, kind, translation, execution).err();
            error.is_some_and(|f| sort(&f) == wanted)
        };
        let smaller_by = |execution, wanted: &str, mut attempts: u64| {
            let begin = Instant::now();
            smaller(case, &mut |attempt| {
                attempts = attempts.saturating_sub(1);
                attempts > 0 && begin.elapsed() < LONGEST && fails(attempt, execution, wanted)
            })
        };
        // If the interpreted Fortran also fails, in whatever way, nothing need be compiled.
        let attempts = self.settings.attempts;
        let quick = agrees(case, kind, translation, Execution::Interpreted).err();
        let quick = quick.map(|f| smaller_by(Execution::Interpreted, &sort(&f), 50 * attempts));
        // gfortran has the last word.
        let quick = quick.filter(|small| {
            execution == Execution::Interpreted || fails(small, execution, &sort(&message))
        });
        let small = quick.unwrap_or_else(|| smaller_by(execution, &sort(&message), attempts));
        // gfortran removes labels whose address ASSIGN has stored, without a message.
        let forgot =
            message.starts_with("gfortran") && message.contains("undefined reference to `.L");
        if execution == Execution::Fast && (forgot || is_gfortrans(&small, kind, translation)) {
            return None;
        }
        let message_of_small = agrees(&small, kind, translation, execution).err();
        let mut text = source(&[&small], kind, translation);
        if let Translation::Tapenade(driver) = translation {
            let line = command(&small, driver).join(" ");
            text = format!("C     farfel tapenade {line}\n{text}");
        }
        Some(Disagreement {
            number: *number,
            kind,
            translation,
            execution,
            message,
            message_of_small: message_of_small.unwrap_or_default(),
            text,
        })
    }
}
