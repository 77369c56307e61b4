//! Generates random Farfel programs: nests of subprograms, closures, argument passing and AD
//! blocks.
//!
//! A [`Case`] is one subroutine together with everything that it needs. It ends by printing all of
//! its variables. Every case is a valid program: variables are set before they are read, functions
//! in expressions have no visible side effects, and values stay small, so that compiled code and
//! the interpreter agree up to rounding. A seed determines everything.
//!
//! | module | purpose |
//! |---|---|
//! | `scope` | what is visible in each unit, and which units read and assign it |
//! | `unit` | the program, and the subroutine that is called |
//! | `subprogram` | the subprograms that it calls |
//! | `expression`, `statement`, `sweep`, `array` | the statements in them |
//! | `block` | AD blocks |
//! | `driver` | the calls of a head and its derivatives |
//! | `smaller` | reduces a case that fails to a smaller one that fails in the same way |

mod array;
mod block;
mod driver;
mod expression;
mod scope;
mod smaller;
mod statement;
mod subprogram;
mod sweep;
mod unit;

pub use driver::Driver;
pub use smaller::smaller;

use std::fmt::Write;

/// A small random number generator (Steele, Lea and Flood's SplitMix64), so that runs are
/// reproducible.
pub struct Random(pub u64);

impl Random {
    /// Returns a number from 0 to `n - 1`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }

    /// Returns true once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns an element of a list, which must not be empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Whether callees, including ENTRY points, may assign dummy arguments whose actual arguments are
/// constants.
const ASSIGNED_CONSTANTS: bool = true;

/// A line of a program, or a group of lines.
#[derive(Debug, Clone)]
pub enum Item {
    /// A statement, preceded by its label if it has one.
    Line(String),
    /// A construct or subprogram, from its first to its last line.
    Group(Vec<Item>),
}

/// A generated program without its main program.
#[derive(Debug, Clone)]
pub struct Case {
    /// The subroutine to call, which has no arguments. Its output begins with its name.
    pub name: String,
    /// The units.
    pub units: Vec<Item>,
}

/// The features that cases may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// REAL variables, to be compiled with 8 bytes; otherwise DOUBLE PRECISION.
    pub real: bool,
    /// ADR for blocks with one independent and one dependent variable.
    pub reverse: bool,
    /// ADR also for arrays, for several variables, and with computed cotangents.
    pub gradients: bool,
    /// Closure variables that are arguments as well.
    pub aliases: bool,
    /// Single-precision variables beside those of double precision.
    pub mixed: bool,
    /// Fortran 77 only, with a head that drivers differentiate.
    pub flat: bool,
}

/// The constructs by which programs are counted, and the texts that a line with the construct
/// contains.
const CONSTRUCTS: &[(&str, &[&str])] = &[
    ("ADF", &[" ADF("]),
    ("ADR", &[" ADR("]),
    ("DIRECTIONS", &["DIRECTIONS ="]),
    ("a label on END ADF or END ADR", &["0 END AD"]),
    ("ENTRY", &["ENTRY "]),
    ("BLOCK DATA", &["BLOCK DATA"]),
    ("COMMON", &["COMMON /B"]),
    ("a counter in COMMON", &["COMMON /B", ", I1"]),
    ("unused storage in COMMON", &["COMMON /B", "UNUSED("]),
    ("COMMON that BLOCK DATA sets", &["COMMON /D"]),
    ("SAVE with a list", &["SAVE S"]),
    ("SAVE of a block", &["SAVE /"]),
    ("DATA", &[" DATA "]),
    ("DATA with an implied DO", &[" DATA ", ", J"]),
    ("EQUIVALENCE", &["EQUIVALENCE"]),
    ("statement function", &[" SF", ") = "]),
    ("a bound that changes", &["LEN = "]),
    ("alternate return", &["RETURN 1"]),
    ("ASSIGN", &["ASSIGN "]),
    ("WHERE", &["WHERE ("]),
    ("checkpoint", &["!farfel: checkpoint"]),
    ("a column that an argument chooses", &[", LV)"]),
];

impl Case {
    /// Generates the case with a number, in a sequence that `seed` determines.
    pub fn new(seed: u64, number: usize, kind: Kind) -> Case {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        random.below(2);
        unit::case(&mut random, &format!("C{number}"), kind)
    }

    /// Returns the text of the case with a main program.
    pub fn program(&self) -> String {
        program(std::slice::from_ref(self))
    }

    /// Returns the constructs that the case contains.
    pub fn constructs(&self) -> Vec<&'static str> {
        let text = self.text().replace("\n     +", "");
        let has = |(what, parts): &(&'static str, &[&str])| {
            let found = text.lines().any(|l| parts.iter().all(|p| l.contains(p)));
            found.then_some(*what)
        };
        CONSTRUCTS.iter().filter_map(has).collect()
    }

    /// Returns the text of the units alone.
    pub fn text(&self) -> String {
        let mut text = String::new();
        lay_out(&self.units, &mut text);
        text
    }

    /// Returns the case with every AD block replaced by its statements.
    pub fn without_blocks(&self) -> Case {
        Case {
            name: self.name.clone(),
            units: plain(&self.units),
        }
    }
}

/// Returns items without the beginnings and ends of AD blocks.
fn plain(items: &[Item]) -> Vec<Item> {
    let plain = |item: &Item| match item {
        Item::Group(items) => Item::Group(plain(items)),
        Item::Line(line) => {
            let statement = plain_statement(line);
            let label = &line[..line.bytes().take_while(u8::is_ascii_digit).count()];
            let begins = |word: &str| statement.starts_with(word);
            match begins("ADF(") || begins("ADR(") || begins("END AD") {
                true => Item::Line(format!("{label} CONTINUE")),
                false => item.clone(),
            }
        }
    };
    items.iter().map(plain).collect()
}

/// Returns the text of several cases with a main program that calls all of them.
pub fn program(cases: &[Case]) -> String {
    let mut text = String::from("      PROGRAM MAIN\n");
    for c in cases {
        let _ = writeln!(text, "      CALL {}", c.name);
    }
    text.push_str("      END\n");
    for c in cases {
        lay_out(&c.units, &mut text);
    }
    text
}

/// Returns a statement without its label.
fn plain_statement(line: &str) -> &str {
    let label = |c: char| c.is_ascii_digit();
    line.trim_start_matches(label).trim_start()
}

fn lay_out(items: &[Item], text: &mut String) {
    for item in items {
        match item {
            Item::Group(items) => lay_out(items, text),
            Item::Line(line) if line.starts_with('!') => {
                let _ = writeln!(text, "{line}");
            }
            Item::Line(line) => {
                let digits = line.bytes().take_while(u8::is_ascii_digit).count();
                let (label, statement) = line.split_at(digits);
                let statement = statement.trim_start();
                let _ = write!(text, "{label:>5} ");
                for (i, part) in statement.as_bytes().chunks(60).enumerate() {
                    let start = if i == 0 { "" } else { "     +" };
                    let _ = writeln!(text, "{start}{}", String::from_utf8_lossy(part));
                }
            }
        }
    }
}
