//! Summaries of units: what is needed to find the units that a unit depends on, from its text alone, before
//! names are resolved and without any other unit.

use crate::codec::{Reader, Writer};
use crate::plan::groups::SMALL_UNIT;
use farfel_lang::ir::{
    Expr, ExprKind, SpecKind, StmtKind, SymId, Unit, UnitKind, walk_block, walk_exprs,
};
use farfel_lang::source::SourceFile;
use std::collections::BTreeSet;

/// The summary of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    /// Whether it is a main program, which is not part of a library.
    pub main: bool,
    /// Whether it is a subroutine or function.
    pub subprogram: bool,
    pub name: String,
    /// The names under which others know it: its own name and those of its ENTRY statements.
    pub defines: Vec<String>,
    /// All names that it or a nested unit mentions: whatever it can refer to is among them.
    pub mentions: WordList,
    /// Its COMMON blocks; the blank one has an empty name.
    pub commons: Vec<String>,
    /// Whether each user may have a copy: it keeps no state, and is short or takes procedures.
    pub light: bool,
    /// What its dummy arguments are.
    pub dummies: Vec<Dummy>,
    /// The number of statements.
    pub statements: u64,
    /// A hash of its text and its place.
    pub digest: [u8; 32],
}

/// What a dummy argument is, as far as the unit alone tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Dummy {
    /// Data, whatever callers pass.
    Data,
    /// A procedure, whatever callers pass.
    Procedure,
    /// Only passed on, to these positions of these procedures. If there are none, nothing is known.
    Passed(Vec<(String, u64)>),
}

/// Words without blanks, stored as one text: there are many, and each is looked at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WordList(String);

impl WordList {
    fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> WordList {
        let words: Vec<&str> = words.into_iter().collect();
        WordList(words.join(" "))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').filter(|w| !w.is_empty())
    }
}

impl Summary {
    pub(super) fn of(unit: &Unit, digest: [u8; 32]) -> Summary {
        let defines: Vec<String> = unit.entry_points().map(|e| e.name.to_string()).collect();
        let mut seen = UnitContents::default();
        seen.unit(unit);
        let dummies = dummies(unit);
        let takes_procedures = dummies.contains(&Dummy::Procedure);
        let subprogram = matches!(unit.kind, UnitKind::Subroutine | UnitKind::Function);
        Summary {
            main: unit.kind == UnitKind::Program,
            subprogram,
            name: unit.name.to_string(),
            light: subprogram
                && !seen.state
                && seen.commons.is_empty()
                && defines.len() == 1
                && (takes_procedures || seen.statements <= SMALL_UNIT as u64),
            defines,
            mentions: WordList::of(seen.names),
            commons: seen.commons.into_iter().map(str::to_owned).collect(),
            dummies,
            statements: seen.statements,
            digest,
        }
    }

    pub(super) fn write(&self, to: &mut Writer) {
        let Summary {
            main,
            subprogram,
            name,
            defines,
            mentions,
            commons,
            light,
            dummies,
            statements,
            digest,
        } = self;
        let flags = [main, light, subprogram];
        let bits = flags.iter().enumerate().map(|(i, f)| u64::from(**f) << i);
        to.number(bits.sum());
        to.text(name);
        to.text(&mentions.0);
        for list in [defines, commons] {
            to.list(list, |to, text| to.text(text));
        }
        to.list(dummies, |to, dummy| match dummy {
            Dummy::Data => to.number(0),
            Dummy::Procedure => to.number(1),
            Dummy::Passed(places) => {
                to.number(2);
                to.list(places, |to, (name, position)| {
                    to.text(name);
                    to.number(*position);
                });
            }
        });
        to.number(*statements);
        to.bytes(digest);
    }

    pub(super) fn read(from: &mut Reader) -> Option<Summary> {
        let flags = from.number()?;
        let text = |from: &mut Reader| Some(from.text()?.to_owned());
        Some(Summary {
            main: flags & 1 != 0,
            light: flags & 2 != 0,
            subprogram: flags & 4 != 0,
            name: text(from)?,
            mentions: WordList(text(from)?),
            defines: from.list(text)?,
            commons: from.list(text)?,
            dummies: from.list(|from| match from.number()? {
                0 => Some(Dummy::Data),
                1 => Some(Dummy::Procedure),
                _ => {
                    Some(Dummy::Passed(from.list(|from| {
                        Some((from.text()?.to_owned(), from.number()?))
                    })?))
                }
            })?,
            statements: from.number()?,
            digest: from.bytes()?.try_into().ok()?,
        })
    }
}

/// What was found in a unit and the units nested in it.
#[derive(Default)]
struct UnitContents<'a> {
    names: BTreeSet<&'a str>,
    commons: BTreeSet<&'a str>,
    state: bool,
    statements: u64,
}

impl<'a> UnitContents<'a> {
    fn unit(&mut self, unit: &'a Unit) {
        self.names.insert(&unit.name);
        for (_, s) in unit.symbols.iter() {
            self.names.insert(&s.name);
            self.state |= s.saved || s.init.is_some();
        }
        for spec in &unit.specs {
            match &spec.kind {
                SpecKind::Common(blocks) => {
                    for (name, _) in blocks {
                        self.commons.insert(name);
                        // A block and a procedure of the same name affect each other.
                        self.names.insert(name);
                    }
                }
                SpecKind::Save(_) | SpecKind::Data(_) => self.state = true,
                _ => {}
            }
        }
        walk_block(&unit.body, &mut |_| self.statements += 1);
        unit.nested.iter().for_each(|n| self.unit(n));
    }
}

/// Whether the unit itself implies that a name is a procedure.
fn is_procedure(unit: &Unit, id: SymId) -> bool {
    let symbol = &unit.symbols[id];
    let mut found = symbol.external || symbol.class.is_procedure();
    let scalar = symbol.dims.is_empty();
    walk_block(&unit.body, &mut |s| {
        found |= matches!(s.kind, StmtKind::Call(callee, _) if callee == id);
    });
    walk_exprs(&unit.body, &mut |e| {
        found |= scalar && matches!(e.kind, ExprKind::Apply(callee, _) if callee == id);
    });
    found
}

fn dummies(unit: &Unit) -> Vec<Dummy> {
    let mut use_of: Vec<Use> = unit.symbols.iter().map(|_| Use::default()).collect();
    let mut used = Used {
        unit,
        of: &mut use_of,
    };
    for (_, symbol) in unit.symbols.iter() {
        let bounds = symbol.dims.iter().flat_map(|d| [&d.lower, &d.upper]);
        bounds.flatten().for_each(|e| used.operand(e));
    }
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Call(callee, args) = &s.kind {
            used.decided(*callee);
            used.actual(*callee, args);
        } else {
            s.for_each_own_expr(&mut |e| used.operand(e));
        }
    });
    unit.args
        .iter()
        .map(|arg| {
            // An alternate return is not a procedure.
            let Some(id) = arg.sym() else {
                return Dummy::Data;
            };
            let symbol = &unit.symbols[id];
            let Use { decided, passed } = std::mem::take(&mut use_of[id.0 as usize]);
            if is_procedure(unit, id) {
                return Dummy::Procedure;
            }
            if decided || !symbol.dims.is_empty() {
                return Dummy::Data;
            }
            // Uses in nested units are not followed.
            match unit.nested.iter().any(|n| mentions(n, &symbol.name)) {
                true => Dummy::Passed(Vec::new()),
                false => Dummy::Passed(passed),
            }
        })
        .collect()
}

fn mentions(unit: &Unit, name: &str) -> bool {
    unit.symbols.find(name).is_some() || unit.nested.iter().any(|n| mentions(n, name))
}

/// The uses of a name.
#[derive(Default)]
struct Use {
    decided: bool,
    passed: Vec<(String, u64)>,
}

struct Used<'a> {
    unit: &'a Unit,
    of: &'a mut [Use],
}

impl Used<'_> {
    fn decided(&mut self, id: SymId) {
        self.of[id.0 as usize].decided = true;
    }

    /// Records the uses in an expression that is not an actual argument.
    fn operand(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Var(s) => self.decided(*s),
            ExprKind::Apply(s, args) | ExprKind::Element(s, args) | ExprKind::Call(s, args) => {
                self.decided(*s);
                match self.unit.symbols[*s].dims.is_empty() {
                    true => self.actual(*s, args),
                    false => args.iter().for_each(|a| self.operand(a)),
                }
            }
            _ => e.children().into_iter().for_each(|c| self.operand(c)),
        }
    }

    fn actual(&mut self, callee: SymId, args: &[Expr]) {
        let callee = &self.unit.symbols[callee].name;
        for (position, arg) in args.iter().enumerate() {
            match &arg.kind {
                ExprKind::Var(s) => self.of[s.0 as usize]
                    .passed
                    .push((callee.to_string(), position as u64)),
                _ => self.operand(arg),
            }
        }
    }
}

/// Returns the digests of the units of one file. The digest of a unit covers the text from the end of the
/// preceding unit to its own end, the line where this text begins, and everything else that determines how it
/// is read. Because lines and columns appear in messages and debug information, a unit that moves has another
/// digest.
pub(super) fn digests(units: &[Unit], file: &SourceFile, how: &[u8]) -> Vec<[u8; 32]> {
    // Each unit ends at the end of its last line.
    let mut ends: Vec<usize> = Vec::new();
    for unit in units {
        let end = unit.end_span.end as usize;
        let rest = file.text.as_bytes().get(end..).unwrap_or_default();
        ends.push(end + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()));
    }
    if let Some(last) = ends.last_mut() {
        *last = file.text.len();
    }
    // Units that share a line, or that are in no order, can only be told apart by the whole file.
    let apart = units
        .iter()
        .zip(&ends)
        .skip(1)
        .zip(&ends)
        .all(|((unit, end), before)| unit.span.start as usize >= *before && *end >= *before);
    let mut start = 0;
    ends.iter()
        .map(|end| {
            let text = match apart {
                true => file.text.as_bytes().get(start..*end).unwrap_or_default(),
                false => file.text.as_bytes(),
            };
            let mut hasher = blake3::Hasher::new();
            for part in [how, file.name.as_bytes()] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
            let line = file.line_column(start as u32).line as u64;
            hasher.update(&line.to_le_bytes());
            hasher.update(text);
            start = *end;
            hasher.finalize().into()
        })
        .collect()
}
