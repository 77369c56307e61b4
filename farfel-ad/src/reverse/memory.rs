//! Reports how much memory the tapes of an adjoint take.

use super::AdjointEngine;
use super::generated::SweepResults;
use super::tape::TapeKind;
use super::tape_size::{self, Bound, Term};
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Name, Program, Request, Symbols, Type};
use std::collections::BTreeMap;

/// A tape of an adjoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tape {
    /// The type of the values on it.
    pub ty: Type,
    /// The size of a value in bytes.
    pub bytes: u64,
    /// The number of values, as a text in terms of the arguments of the block's subroutine; `None` if the
    /// arguments do not determine it in advance.
    pub values: Option<String>,
    /// The number of values, if it is a constant.
    pub number: Option<u64>,
    /// The maximum number of values.
    pub most: u64,
}

/// A subprogram whose calls have no tape until the reverse sweep reaches them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointUnit {
    /// Its name.
    pub unit: Name,
    /// Why its calls are joint.
    pub why: String,
}

/// Returns the tapes that the adjoint of a request begins with, and the subprograms whose calls are joint.
///
/// # Errors
///
/// Returns an error for each construct that cannot be differentiated, with its place in the source.
pub(crate) fn tapes(
    program: &Program,
    request: &Request,
    most: Option<u64>,
) -> Result<(Vec<Tape>, Vec<JointUnit>), Vec<Diagnostic>> {
    let (_, engine, known) = AdjointEngine::prepare(program, request, most, &mut Vec::new())?;
    let SweepResults { facts, swept, .. } = known;
    let mut found = Vec::new();
    for (i, _) in engine.parts.iter().enumerate().filter(|(_, p)| p.root) {
        let mut kinds = facts[i].tapes.clone();
        kinds.extend(swept[i].tapes.used.keys());
        for (kind, terms) in kinds.iter().zip(engine.tape_sizes(&swept, &kinds, i)) {
            let in_head = terms.and_then(|t| tape_size::seen_from_head(&engine, &swept, i, t));
            let (head, terms) = in_head.unzip();
            let symbols = &engine.parts[head.unwrap_or(i)].builder.unit.symbols;
            found.push(tape(*kind, terms.as_deref(), symbols, engine.most_tape));
        }
    }
    let joint = engine.reasons.iter().map(|(i, why)| JointUnit {
        unit: engine.parts[*i].of.clone(),
        why: why.clone(),
    });
    Ok((found, joint.collect()))
}

fn tape(kind: TapeKind, terms: Option<&[Term]>, symbols: &Symbols, most: u64) -> Tape {
    let bytes = u64::try_from(kind.bytes()).unwrap_or(1);
    let sum = terms.map(|t| Sum::of(t, symbols));
    Tape {
        ty: kind.ty(),
        bytes,
        number: sum.as_ref().and_then(Sum::number),
        values: sum.map(|s| s.to_string()),
        most: most / bytes,
    }
}

/// A sum of products: the coefficient of each list of factors.
#[derive(Default)]
struct Sum(BTreeMap<Vec<String>, i64>);

impl Sum {
    fn of(terms: &[Term], symbols: &Symbols) -> Sum {
        let mut sum = Sum::default();
        for t in terms {
            let mut number = t.number();
            let mut factors = Vec::new();
            for trips in t.trips() {
                let trips = Linear::of(trips, symbols);
                match trips.number() {
                    Some(n) => number = number.saturating_mul(n.max(0)),
                    None => factors.push(trips.factor()),
                }
            }
            factors.sort();
            let all = sum.0.entry(factors).or_default();
            *all = all.saturating_add(number);
        }
        sum.0.retain(|_, n| *n != 0);
        sum
    }

    fn number(&self) -> Option<u64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).and_then(|n| u64::try_from(*n).ok()),
            _ => None,
        }
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        // The number comes last.
        let mut first = true;
        for (factors, n) in self.0.iter().rev() {
            if !first {
                f.write_str(" + ")?;
            }
            first = false;
            match (factors.is_empty(), n) {
                (true, n) => write!(f, "{n}")?,
                (false, 1) => f.write_str(&factors.join("*"))?,
                (false, n) => write!(f, "{n}*{}", factors.join("*"))?,
            }
        }
        Ok(())
    }
}

/// A constant and multiples of terms that are not constant.
#[derive(Default)]
struct Linear {
    number: i64,
    parts: BTreeMap<String, i64>,
}

impl Linear {
    fn of(b: &Bound, symbols: &Symbols) -> Linear {
        let of = |b: &Bound| Linear::of(b, symbols);
        let several = |list: &[Bound], name: &str, choose: fn(i64, i64) -> i64| {
            let list: Vec<Linear> = list.iter().map(of).collect();
            let numbers: Option<Vec<i64>> = list.iter().map(Linear::number).collect();
            match numbers.and_then(|n| n.into_iter().reduce(choose)) {
                Some(n) => Linear::constant(n),
                None => {
                    let mut texts: Vec<String> = list.iter().map(Linear::to_string).collect();
                    texts.dedup();
                    match texts.as_slice() {
                        [one] => Linear::atom(one.clone()),
                        _ => Linear::atom(format!("{name}({})", texts.join(", "))),
                    }
                }
            }
        };
        match b {
            Bound::Number(n) => Linear::constant(*n),
            Bound::Argument(s) => Linear::atom(symbols[*s].name.to_string()),
            Bound::Sum(a, b) => of(a).plus(of(b), 1),
            Bound::Difference(a, b) => of(a).plus(of(b), -1),
            Bound::Multiple(k, a) => Linear::default().plus(of(a), *k),
            Bound::Quotient(a, k) => {
                let a = of(a);
                match a.number() {
                    Some(n) => Linear::constant(n.checked_div(*k).unwrap_or(0)),
                    None => Linear::atom(format!("{}/{k}", a.factor())),
                }
            }
            Bound::Most(list) => several(list, "MAX", i64::max),
            Bound::Least(list) => several(list, "MIN", i64::min),
        }
    }

    fn constant(number: i64) -> Linear {
        Linear {
            number,
            ..Linear::default()
        }
    }

    fn atom(text: String) -> Linear {
        Linear {
            number: 0,
            parts: [(text, 1)].into(),
        }
    }

    fn plus(mut self, other: Linear, k: i64) -> Linear {
        self.number = self.number.saturating_add(other.number.saturating_mul(k));
        for (part, n) in other.parts {
            let own = self.parts.entry(part).or_default();
            *own = own.saturating_add(n.saturating_mul(k));
        }
        self.parts.retain(|_, n| *n != 0);
        self
    }

    fn number(&self) -> Option<i64> {
        self.parts.is_empty().then_some(self.number)
    }

    /// Formats it as a factor, with parentheses around a sum.
    fn factor(&self) -> String {
        let text = self.to_string();
        let single =
            self.number == 0 && self.parts.len() == 1 && self.parts.values().all(|n| *n > 0);
        match single {
            true => text,
            false => format!("({text})"),
        }
    }
}

impl std::fmt::Display for Linear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut first = true;
        // Terms that are added come first, if there are any.
        let (added, taken): (Vec<_>, Vec<_>) = self.parts.iter().partition(|(_, n)| **n > 0);
        for (part, n) in added.into_iter().chain(taken) {
            match (first, *n < 0) {
                (true, true) => f.write_str("-")?,
                (true, false) => {}
                (false, true) => f.write_str(" - ")?,
                (false, false) => f.write_str(" + ")?,
            }
            first = false;
            match n.unsigned_abs() {
                1 => f.write_str(part)?,
                n => write!(f, "{n}*{part}")?,
            }
        }
        match (first, self.number) {
            (true, n) => write!(f, "{n}"),
            (false, 0) => Ok(()),
            (false, n) if n < 0 => write!(f, " - {}", n.unsigned_abs()),
            (false, n) => write!(f, " + {n}"),
        }
    }
}
