//! The tape: values that the forward sweep keeps and the backward sweep takes back, last
//! first.
//!
//! For each type there is an array and the number of values in it, ordinary Fortran
//! variables: local to the head, arguments below it. So an adjoint is a plain program that
//! can be differentiated again, and each call of it has a tape of its own.
//!
//! Which statements keep a value and which take one back is known by their ids ([`Tapes::op`]),
//! so that [`stretch`](super::stretch) and [`retry`](super::retry) can change them.

use super::maker::Maker;
use super::stretch::{Counted, give_places};
use super::tape_size::{self, Term};
use crate::affine::Affine;
use crate::legal::one_try::full_tape;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::{binary, count};
use farfel_lang::ir::{
    Arg, Attribute, BinOp, Block, Dim, Expr, ExprKind, Place, Stmt, StmtId, SymId, Symbol, Type,
};
use std::collections::BTreeMap;

/// For which type a tape is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Integer(u8),
    Real(u8),
    Complex(u8),
    Logical(u8),
}

impl Kind {
    /// The tape for values of a type; none for CHARACTER.
    pub fn of(ty: Type) -> Option<Self> {
        Some(match ty {
            Type::Integer(k) => Kind::Integer(k),
            Type::Real(k) => Kind::Real(k),
            Type::Complex(k) => Kind::Complex(k),
            Type::Logical(k) => Kind::Logical(k),
            Type::Character => return None,
        })
    }

    pub fn ty(self) -> Type {
        match self {
            Kind::Integer(k) => Type::Integer(k),
            Kind::Real(k) => Type::Real(k),
            Kind::Complex(k) => Type::Complex(k),
            Kind::Logical(k) => Type::Logical(k),
        }
    }

    fn letter(self) -> String {
        match self {
            Kind::Integer(k) => format!("I{k}"),
            Kind::Real(k) => format!("R{k}"),
            Kind::Complex(k) => format!("C{k}"),
            Kind::Logical(k) => format!("L{k}"),
        }
    }

    /// How many values a tape of so many bytes has.
    pub fn limit(self, most: u64) -> i64 {
        (i64::try_from(most).unwrap_or(i64::MAX) / self.bytes()).max(1)
    }

    /// How many bytes a value has.
    pub fn bytes(self) -> i64 {
        match self {
            Kind::Integer(k) | Kind::Real(k) | Kind::Logical(k) => i64::from(k),
            Kind::Complex(k) => 2 * i64::from(k),
        }
    }
}

/// The variables of one tape in one unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vars {
    /// The values.
    values: SymId,
    /// How many there are.
    top: SymId,
    /// How many there can be.
    most: SymId,
}

/// What a statement does with a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// It looks whether there is room for one value. The next one counts, the one after it keeps the
    /// value.
    Push(Kind),
    /// It takes a value back. The next one counts.
    Pop(Kind),
    /// It looks whether there is room for several values.
    Room(Kind),
}

/// The tapes of a unit.
#[derive(Debug, Clone, Default)]
pub(super) struct Tapes {
    pub used: BTreeMap<Kind, Vars>,
    /// What statements do, by ids, which only get greater.
    ops: Vec<(StmtId, Op)>,
}

/// The tapes of a unit as they were.
pub(super) struct State {
    used: BTreeMap<Kind, Vars>,
    ops: usize,
}

/// The most bytes of a tape that is no ALLOCATABLE array: asking the system for memory takes
/// longer than a small subprogram.
const SMALL_BYTES: i64 = 4096;

impl Vars {
    /// The array of the values.
    pub fn values(&self) -> SymId {
        self.values
    }

    /// How many values there are.
    pub fn top(&self) -> SymId {
        self.top
    }

    /// How many there can be.
    pub fn most(&self) -> SymId {
        self.most
    }
}

impl Tapes {
    /// What a statement does with a tape, if anything.
    pub fn op(&self, s: &Stmt) -> Option<Op> {
        let at = self.ops.binary_search_by_key(&s.id, |(id, _)| *id).ok()?;
        self.ops.get(at).map(|(_, op)| *op)
    }

    /// Says what a statement does.
    fn is(&mut self, make: &mut Maker, s: &mut Stmt, op: Op) {
        s.id = make.unit.stmt_ids.another();
        self.ops.push((s.id, op));
    }

    /// Looks whether there is room, in a condition that tells that there is none.
    pub fn look(&mut self, make: &mut Maker, kind: Kind, full: Expr, span: Span) -> Stmt {
        let mut look = Stmt::branches(vec![(full, vec![full_tape(span)])], None, span);
        self.is(make, &mut look, Op::Room(kind));
        look
    }

    /// The tapes as they are, to go back to, and no further on.
    pub fn state(&self) -> State {
        State {
            used: self.used.clone(),
            ops: self.ops.len(),
        }
    }

    /// Takes back what was done since.
    pub fn put_back(&mut self, state: State) {
        self.used = state.used;
        self.ops.truncate(state.ops);
    }

    /// The variables of a tape.
    pub fn vars(&mut self, make: &mut Maker, kind: Kind) -> Vars {
        *self.used.entry(kind).or_insert_with(|| {
            let letter = kind.letter();
            let counter = Type::Integer(8);
            let top = make.variable(&format!("TOP_{letter}"), counter);
            let most = make.variable(&format!("MOST_{letter}"), counter);
            let values = make.unit.symbols.add(Symbol {
                typed: true,
                tape: true,
                dims: vec![Dim {
                    lower: None,
                    upper: Some(Expr::star(Span::NONE)),
                }],
                ..Symbol::variable(
                    make.unused(&format!("TAPE_{letter}")),
                    kind.ty(),
                    Span::NONE,
                )
            });
            Vars { values, top, most }
        })
    }

    /// The actual arguments for a callee that uses a tape.
    pub fn actuals(&mut self, make: &mut Maker, kind: Kind, span: Span) -> Vec<Expr> {
        let v = self.vars(make, kind);
        [v.values, v.top, v.most]
            .map(|s| Expr::var(s, span))
            .to_vec()
    }

    /// The variables of all tapes.
    pub fn symbols(&self) -> impl Iterator<Item = SymId> + '_ {
        self.used.values().flat_map(|v| [v.values, v.top, v.most])
    }

    /// Makes the tapes arguments of the unit.
    pub fn be_arguments(&self, make: &mut Maker) {
        for v in self.used.values() {
            for s in [v.values, v.top, v.most] {
                make.unit.symbols[s].place = Place::Dummy;
                make.unit.args.push(Arg::Dummy(s));
            }
            make.unit.declare(v.values);
        }
    }

    /// Makes the tapes local variables of the unit; returns what must come first. `rooms`: how
    /// many values each gets, where that is known; none has more than `most` bytes. `open` says
    /// who sees to those of which it is not known; where nobody does, they get that size.
    pub fn be_local(
        &self,
        make: &mut Maker,
        rooms: Vec<Option<Vec<Term>>>,
        most: u64,
        mut open: Option<&mut Vec<(Kind, Vars)>>,
    ) -> Block {
        let span = Span::NONE;
        let mut out = Vec::new();
        for ((kind, v), terms) in self.used.iter().zip(rooms) {
            let limit = kind.limit(most);
            let set = |s, n| Stmt::assign(Expr::var(s, span), Expr::int(n, span), span);
            let fixed = match &terms {
                Some(terms) => tape_size::number(terms).map(|n| n.clamp(1, limit)),
                None => Some(limit),
            };
            let small = fixed.filter(|n| n.saturating_mul(kind.bytes()) <= SMALL_BYTES);
            let symbol = &mut make.unit.symbols[v.values];
            symbol.dims = vec![Dim {
                lower: None,
                upper: small.map(|n| Expr::int(n, span)),
            }];
            if small.is_none() {
                symbol.attributes.insert(Attribute::Allocatable);
            }
            make.unit.declare(v.values);
            if let (None, Some(open)) = (&terms, &mut open) {
                open.push((*kind, *v));
                continue;
            }
            out.push(set(v.top, 0));
            let size = match (fixed, terms) {
                (None, Some(terms)) => {
                    let total = tape_size::total(make, &terms, limit);
                    out.push(Stmt::assign(Expr::var(v.most, span), total.clone(), span));
                    total
                }
                (n, _) => {
                    let n = n.unwrap_or(limit);
                    out.push(set(v.most, n));
                    Expr::int(n, span)
                }
            };
            if small.is_some() {
                continue;
            }
            out.push(Stmt::allocate(
                vec![Expr::element(v.values, vec![size], span)],
                span,
            ));
        }
        out
    }

    /// Takes room for as many values as `need` says; `base` tells where it begins.
    pub fn reserve(
        &mut self,
        make: &mut Maker,
        kind: Kind,
        base: SymId,
        need: Expr,
        span: Span,
    ) -> Block {
        let v = self.vars(make, kind);
        let top = || Expr::var(v.top, span);
        let more = binary(BinOp::Add, top(), need);
        let full = binary(BinOp::Gt, top(), Expr::var(v.most, span));
        vec![
            Stmt::assign(Expr::var(base, span), top(), span),
            Stmt::assign(top(), more, span),
            self.look(make, kind, full, span),
        ]
    }

    /// Keeps a value.
    pub fn push(&mut self, make: &mut Maker, kind: Kind, value: Expr, span: Span) -> Block {
        let v = self.vars(make, kind);
        let quoted = Push {
            values: v.values,
            top: v.top,
            most: v.most,
            full: vec![full_tape(span)],
            value,
        };
        let mut block = quoted.block(&make.unit.symbols, span);
        if let Some(look) = block.first_mut() {
            self.is(make, look, Op::Push(kind));
        }
        block
    }

    /// Takes the last value back.
    pub fn pop(&mut self, make: &mut Maker, kind: Kind, to: Expr, span: Span) -> Block {
        let v = self.vars(make, kind);
        let quoted = Pop {
            values: v.values,
            top: v.top,
            to,
        };
        let mut block = quoted.block(&make.unit.symbols, span);
        if let Some(take) = block.first_mut() {
            self.is(make, take, Op::Pop(kind));
        }
        block
    }
}

farfel_lang::quote! {
    /// See [`Tapes::push`].
    struct Push { values: SymId, top: SymId, most: SymId, full: Block, value: Expr }
    "
    if (top >= most) then
      call full
    end if
    top = top + 1
    values(top) = value
    "
}

farfel_lang::quote! {
    /// See [`Tapes::pop`].
    struct Pop { values: SymId, top: SymId, to: Expr }
    "
    to = values(top)
    top = top - 1
    "
}

/// What keeps a variable, and what takes it back; of an array a section, where one is told.
pub(super) fn keep(
    make: &mut Maker,
    tapes: &mut Tapes,
    e: &Expr,
    section: Option<&[(Affine, Affine)]>,
    span: Span,
) -> Result<(Block, Block), Diagnostic> {
    let Some(s) = e.base() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let symbol = make.unit.symbols[s].clone();
    let Some(kind) = symbol.ty.and_then(Kind::of) else {
        return Err(cannot(
            &symbol,
            span,
            "which is CHARACTER",
            "assign it before the AD block, or use another variable",
        ));
    };
    let whole = match &e.kind {
        ExprKind::Var(_) => symbol.is_array(),
        _ => farfel_lang::types::rank(&make.unit, e) > 0,
    };
    if !whole {
        let push = tapes.push(make, kind, e.clone(), span);
        let pop = tapes.pop(make, kind, e.clone(), span);
        return Ok((push, pop));
    }
    let mut bounds = Vec::new();
    for d in &symbol.dims {
        match &d.upper {
            Some(u) if u.kind != ExprKind::Star => bounds.push((
                d.lower.clone().unwrap_or_else(|| Expr::int(1, span)),
                u.clone(),
            )),
            _ => {
                return Err(cannot(
                    &symbol,
                    span,
                    &format!("which has {}", symbol.openness()),
                    &format!("declare the bounds of {}", symbol.name),
                ));
            }
        }
    }
    // Nothing beyond the array, whatever a loop that is not carried out would do.
    for (bound, (low, high)) in bounds.iter_mut().zip(section.unwrap_or(&[])) {
        let within = |make: &mut Maker, name: &str, of: &Expr, wanted: &Affine| {
            let wanted = wanted.to_expr(span);
            match (of.kind == wanted.kind, &of.kind, &wanted.kind) {
                (true, ..) => wanted,
                (_, ExprKind::Int(a), ExprKind::Int(b)) => match name {
                    "MAX" => Expr::int(*a.max(b), span),
                    _ => Expr::int(*a.min(b), span),
                },
                _ => make.call(name, vec![of.clone(), wanted], span),
            }
        };
        let low = within(make, "MAX", &bound.0, low);
        let high = within(make, "MIN", &bound.1, high);
        *bound = (low, high);
    }
    let counters = make.take_counters(bounds.len());
    let subscripts = counters.iter().map(|c| Expr::var(*c, span)).collect();
    let element = Expr::element(s, subscripts, span);
    let mut push = tapes.push(make, kind, element.clone(), span);
    let mut pop = tapes.pop(make, kind, element, span);
    make.free_counters(bounds.len());
    for (i, (c, (low, high))) in counters.iter().zip(bounds).enumerate() {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        if i == 0 {
            let l = Counted {
                var: *c,
                from: &low,
                to: &high,
                step: 1,
            };
            let placed = give_places(make, tapes, kind, &l, [&mut push, &mut pop], span);
            (before, after) = placed.unwrap_or_default();
        }
        let down = Expr::int(-1, span);
        before.extend(count(*c, low.clone(), high.clone(), None, push, span));
        push = before;
        pop = count(*c, high, low, Some(down), pop, span)
            .into_iter()
            .chain(after)
            .collect();
    }
    Ok((push, pop))
}

fn cannot(symbol: &Symbol, span: Span, which: &str, help: &str) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_UNSUPPORTED,
        span,
        format!(
            "the backward sweep needs a value of {} that is overwritten here, and cannot keep it, {which}",
            symbol.name
        ),
    )
    .related(symbol.span, "declared here")
    .help(help)
}
