//! Programs, program units, symbols and specification statements.

use super::stmt::StmtIds;
use super::{Block, Comment, Entry, Expr, Name, StmtId, StmtKind, Type, walk_block};
use crate::intrinsics::Intrinsic;
use crate::source::Span;
use std::collections::HashMap;
use std::ops::{Index, IndexMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A whole program: its top-level units in order.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The units.
    pub units: Vec<Unit>,
}

impl Program {
    /// The top-level unit of a name.
    pub fn unit(&self, name: &str) -> Option<&Unit> {
        self.units.iter().find(|u| u.name == name)
    }

    /// The top-level unit of a name, to change.
    pub fn unit_mut(&mut self, name: &str) -> Option<&mut Unit> {
        self.units.iter_mut().find(|u| u.name == name)
    }

    /// Does each statement of the top-level units have an id?
    pub fn is_numbered(&self) -> bool {
        let mut all = true;
        for unit in &self.units {
            walk_block(&unit.body, &mut |s| all &= s.id != StmtId::NONE);
        }
        all
    }

    /// Gives ids to the statements of all units: see [`Unit::number`].
    pub fn number(&mut self) {
        self.units.iter_mut().for_each(Unit::number_all);
    }
}

/// The kinds of program unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnitKind {
    /// Main program, with or without a PROGRAM statement.
    Program,
    /// SUBROUTINE
    Subroutine,
    /// FUNCTION
    Function,
    /// BLOCK DATA
    BlockData,
}

/// Who made a program unit or a name in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Origin {
    /// The user's text, or a copy of what stands there.
    #[default]
    Written,
    /// A pass: a temporary, a loop variable, a piece of a program that became a subprogram.
    Generated,
    /// Differentiation: a tangent, an adjoint, and a subprogram that computes them.
    Derivative,
}

/// A program unit or nested subprogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Who made it.
    pub origin: Origin,
    /// Which kind.
    pub kind: UnitKind,
    /// Its name; for a main program without PROGRAM statement, `MAIN`.
    pub name: Name,
    /// The header statement; where there is none, the first statement.
    pub span: Span,
    /// The name in the header.
    pub name_span: Span,
    /// The END statement.
    pub end_span: Span,
    /// Comments before the header, without markers: its documentation.
    pub comments: Vec<String>,
    /// Comments that stand apart from the unit.
    pub remarks: Remarks,
    /// Dummy arguments in order.
    pub args: Vec<Arg>,
    /// The variable that holds a function's result. Bears the function's name unless
    /// RESULT says otherwise.
    pub result: Option<SymId>,
    /// The result's type stands in the header (`REAL FUNCTION F(X)`).
    pub typed_header: bool,
    /// RECURSIVE stands in the header.
    pub recursive: bool,
    /// A nested subprogram that stands behind CONTAINS: names that it does not declare are its own
    /// where its host does not have them.
    pub contained: bool,
    /// Made of statements that are constant for differentiation.
    pub constant: bool,
    /// What is constant leaves the derivatives of what it changes as they are: Tapenade's
    /// DO-NOT-DIFF. Elsewhere they become zero.
    pub leaves_derivatives: bool,
    /// A comment asks that calls of it are carried out again in backward sweeps, so that less is kept.
    pub joint: bool,
    /// Names.
    pub symbols: Symbols,
    /// IMPLICIT statements of this unit only; lookups go on in the surroundings.
    pub implicit: Implicit,
    /// Specification statements, as ordered in the text.
    pub specs: Vec<Spec>,
    /// Executable statements.
    pub body: Block,
    /// Nested subprograms.
    pub nested: Vec<Unit>,
    /// What comments say of derivatives (`farfel_lang::given`): as the parser leaves it, what stands
    /// in this unit; after `resolve`, what concerns the procedures that it calls.
    pub given: Vec<Given>,
    /// The ids that it has given to statements.
    pub stmt_ids: StmtIds,
}

/// A name by which a subprogram is called: its own or that of an ENTRY statement.
///
/// ```
/// use farfel_ir::ir::{Unit, UnitKind};
/// use farfel_ir::source::Span;
/// let unit = Unit::new(UnitKind::Subroutine, "S".into(), Span::NONE);
/// let names: Vec<&str> = unit.entry_points().map(|e| e.name.as_str()).collect();
/// assert_eq!(names, ["S"]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct EntryPoint<'u> {
    /// The subprogram.
    pub unit: &'u Unit,
    /// What callers call it.
    pub name: &'u Name,
    /// The name in the header, or the ENTRY statement.
    pub span: Span,
    /// Its dummy arguments.
    pub args: &'u [Arg],
    /// In functions, the variable that holds the result.
    pub result: Option<SymId>,
    /// The ENTRY statement.
    pub statement: Option<&'u Entry>,
}

/// What a procedure without text does with one of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Its value may be read.
    pub reads: bool,
    /// It may get another value.
    pub writes: bool,
}

/// What comments or settings say of a procedure: that its derivative is given by subprograms, that there is
/// none, or, where it has no text, what it does with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Of which procedure; for a constant, also of which variable.
    pub procedure: Name,
    /// The names of its arguments.
    pub arguments: Option<Vec<Name>>,
    /// Those whose derivatives are read.
    pub inputs: Option<Vec<Name>>,
    /// Those whose derivatives are set, without the result of a function.
    pub outputs: Option<Vec<Name>>,
    /// Those without derivatives that it gives a value, where its text does not tell.
    pub sets: Vec<Name>,
    /// The subroutine that computes tangents.
    pub tangent: Option<Name>,
    /// The subroutine that computes adjoints.
    pub adjoint: Option<Name>,
    /// What it does with each argument, and nothing is said of its derivative.
    pub usage: Option<Vec<Usage>>,
    /// Where that is said.
    pub span: Span,
}

impl Given {
    /// No derivatives go through this.
    pub fn constant(procedure: Name, span: Span) -> Self {
        Given {
            procedure,
            arguments: None,
            inputs: None,
            outputs: None,
            sets: Vec::new(),
            tangent: None,
            adjoint: None,
            usage: None,
            span,
        }
    }

    /// What a procedure without text does with its arguments, in their order.
    pub fn described(procedure: Name, usage: Vec<Usage>, span: Span) -> Self {
        Given {
            usage: Some(usage),
            ..Given::constant(procedure, span)
        }
    }

    /// True where no derivatives go through it.
    pub fn is_constant(&self) -> bool {
        self.tangent.is_none() && self.adjoint.is_none() && self.usage.is_none()
    }

    /// Is the argument of a name followed by its derivative?
    pub fn is_active(&self, argument: &str) -> bool {
        let mut all = self.inputs.iter().chain(&self.outputs).flatten();
        all.any(|n| n == argument)
    }
}

/// Comments between top-level units, in blocks that blank lines separate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// After the unit before, up to the blank line before [`Unit::comments`].
    pub before: Vec<Vec<String>>,
    /// After the last unit of a file.
    pub after: Vec<Vec<String>>,
}

/// A dummy argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    /// A variable, array or procedure.
    Dummy(SymId),
    /// `*`: an alternate return.
    AltReturn(Span),
}

impl Arg {
    /// The symbol of the dummy argument; `None` for an alternate return.
    pub fn sym(self) -> Option<SymId> {
        match self {
            Arg::Dummy(s) => Some(s),
            Arg::AltReturn(_) => None,
        }
    }
}

/// A symbol, as an index into the table of the unit it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymId(pub u32);

/// The names of one unit, in the order of their first mention.
#[derive(Debug, Clone, Default)]
pub struct Symbols {
    list: Vec<Symbol>,
    by_name: HashMap<Name, SymId>,
    used: UsedNumbers,
}

/// For what names begin with, the first number that they may not have behind that: a unit with thousands
/// of temporaries need not look at all of them for the name of the next. With it, how many symbols there
/// were: it holds as long as those are there.
#[derive(Debug, Default)]
struct UsedNumbers(Mutex<HashMap<Name, Vec<(usize, u32)>>>);

impl Clone for UsedNumbers {
    fn clone(&self) -> Self {
        UsedNumbers(Mutex::new(self.lock().clone()))
    }
}

impl UsedNumbers {
    fn lock(&self) -> MutexGuard<'_, HashMap<Name, Vec<(usize, u32)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only the first `len` symbols are there any more.
    fn truncate(&self, len: usize) {
        self.lock().retain(|_, known| {
            known.truncate(known.partition_point(|(symbols, _)| *symbols <= len));
            !known.is_empty()
        });
    }
}

impl PartialEq for Symbols {
    fn eq(&self, other: &Self) -> bool {
        // What is found by name follows from the list.
        self.list == other.list
    }
}

impl Symbols {
    /// The symbol of a name.
    pub fn find(&self, name: &str) -> Option<SymId> {
        self.by_name.get(name).copied()
    }

    /// The symbol of a name; a new one, of unknown class, if there is none.
    pub fn intern(&mut self, name: &str, span: Span) -> SymId {
        match self.find(name) {
            Some(s) => s,
            None => self.add(Symbol::new(name.into(), span)),
        }
    }

    /// Adds a symbol. Its name must be new: see [`Symbols::unused`].
    pub fn add(&mut self, symbol: Symbol) -> SymId {
        let id = SymId(self.list.len() as u32);
        let old = self.by_name.insert(symbol.name.clone(), id);
        debug_assert!(old.is_none(), "two symbols named {}", symbol.name);
        self.list.push(symbol);
        id
    }

    /// Takes away all symbols but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.split_off(len);
    }

    /// Takes away all symbols but the first `len`, and returns them: they can be added again.
    pub fn split_off(&mut self, len: usize) -> Vec<Symbol> {
        self.used.truncate(len);
        let removed = self.list.split_off(len.min(self.list.len()));
        for s in &removed {
            self.by_name.remove(&s.name);
        }
        removed
    }

    /// Gives a symbol another, unused name.
    pub fn rename(&mut self, id: SymId, name: Name) {
        self.used.lock().clear();
        let old = std::mem::replace(&mut self[id].name, name.clone());
        self.by_name.remove(&old);
        self.by_name.insert(name, id);
    }

    /// All symbols with their handles.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (SymId, &Symbol)> {
        self.list
            .iter()
            .enumerate()
            .map(|(i, s)| (SymId(i as u32), s))
    }

    /// All handles.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = SymId> + use<> {
        (0..self.list.len() as u32).map(SymId)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True without symbols.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// `wanted`, or `wanted` with the first number from 1 that no symbol here has and
    /// `taken` does not hold.
    ///
    /// Names are kept within the 63 letters that compilers allow.
    pub fn unused(&self, wanted: &str, taken: &dyn Fn(&str) -> bool) -> Name {
        let fits = wanted.len() <= LONGEST_NAME;
        let wanted = match wanted.get(..LONGEST_NAME - 5) {
            Some(start) if !fits => format!("{start}_{}", short_hash(wanted)).into(),
            _ => Name::from(wanted),
        };
        if wanted.len() <= LONGEST_NAME && self.find(&wanted).is_none() && !taken(&wanted) {
            return wanted;
        }
        self.unused_number(&|n| numbered(&wanted, n), 1, taken)
    }

    /// The first of some names, from a number on, that no symbol here has and `taken` does not hold.
    pub fn unused_number(
        &self,
        name: &dyn Fn(u32) -> Name,
        from: u32,
        taken: &dyn Fn(&str) -> bool,
    ) -> Name {
        let first = {
            let mut used = self.used.lock();
            let known = used.entry(name(from)).or_default();
            let mut first = known.last().map_or(from, |(_, first)| *first);
            while self.find(&name(first)).is_some() {
                first += 1;
            }
            match known.last_mut() {
                Some((_, last)) if *last == first => {}
                Some((symbols, last)) if *symbols == self.len() => *last = first,
                _ => known.push((self.len(), first)),
            }
            first
        };
        let mut names = (first..).map(name);
        let other = names.find(|n| self.find(n).is_none() && !taken(n));
        other.unwrap_or_else(|| name(first))
    }
}

/// `wanted`, or `wanted` followed by the first number from 1 that is not `taken`; at most
/// 63 letters, the most that compilers allow. A longer one ends in a hash of all of it, so
/// that names which begin alike stay different without looking at each other.
pub fn unused_name(wanted: &str, taken: &dyn Fn(&str) -> bool) -> Name {
    Symbols::default().unused(wanted, taken)
}

/// The most letters of a name that compilers allow.
pub const LONGEST_NAME: usize = 63;

/// A name with a number behind it.
fn numbered(name: &str, number: u32) -> Name {
    let suffix = number.to_string();
    let keep = name.len().min(LONGEST_NAME - suffix.len() - 1);
    // A digit at the end of a shortened or numbered name would run into the number.
    let gap = match name[..keep].ends_with(|c: char| c.is_ascii_digit()) {
        true => "_",
        false => "",
    };
    Name::from(format!("{}{gap}{suffix}", &name[..keep]))
}

/// Four letters and digits for a text, the first a letter. They are the same everywhere and
/// always: names are made of them.
pub fn short_hash(text: &str) -> Name {
    // FNV-1a, stirred so that every bit counts.
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^= hash >> 32;
    let mut digit = |base: u64| {
        let digit = (hash % base) as u8;
        hash /= base;
        char::from(if digit < 26 {
            b'A' + digit
        } else {
            b'0' + digit - 26
        })
    };
    let first = digit(26);
    let rest = [digit(36), digit(36), digit(36)];
    std::iter::once(first).chain(rest).collect()
}

impl IntoIterator for Symbols {
    type Item = Symbol;
    type IntoIter = std::vec::IntoIter<Symbol>;
    /// The symbols in the order of their handles.
    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl Index<SymId> for Symbols {
    type Output = Symbol;
    fn index(&self, id: SymId) -> &Symbol {
        &self.list[id.0 as usize]
    }
}

impl IndexMut<SymId> for Symbols {
    fn index_mut(&mut self, id: SymId) -> &mut Symbol {
        &mut self.list[id.0 as usize]
    }
}

/// What a name means in one unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Symbol {
    /// Its name.
    pub name: Name,
    /// First mention or declaration.
    pub span: Span,
    /// Its type: of the variable, constant or function result. After `resolve`, `None`
    /// only for subroutines and what has no type.
    pub ty: Option<Type>,
    /// The type stands in a declaration (else it is implicit).
    pub typed: bool,
    /// Length of a CHARACTER; `None` is 1; [`super::ExprKind::Star`] is `*(*)`.
    pub length: Option<Expr>,
    /// Bounds of an array; empty for a scalar.
    pub dims: Vec<Dim>,
    /// What it is.
    pub class: Class,
    /// Where it lives.
    pub place: Place,
    /// Named in an EXTERNAL statement.
    pub external: bool,
    /// SAVE, or initialised by DATA or in its declaration.
    pub saved: bool,
    /// The initial value in its declaration, `REAL :: X = 1.0`.
    pub init: Option<Box<Expr>>,
    /// ALLOCATABLE, TARGET and the like.
    pub attributes: Attributes,
    /// The array of a tape, which reverse mode makes: every element is assigned before it is
    /// read, and read as often as it is assigned. Of a variable that is no array: the size with which the
    /// next call begins.
    pub tape: bool,
    /// A dummy array that gets the whole of what other arguments may be parts of. The subprogram uses
    /// other elements of it than of those.
    pub whole: bool,
    /// Who made it.
    pub origin: Origin,
}

/// What a declaration can say of a variable besides its type and shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Attribute {
    /// ALLOCATABLE: ALLOCATE gives the array its bounds.
    Allocatable,
    /// OPTIONAL: a dummy argument that callers may leave out.
    Optional,
    /// TARGET
    Target,
    /// VOLATILE: may change by other means.
    Volatile,
    /// AUTOMATIC: has no value on entry, whatever the options of the compiler say.
    Automatic,
    /// Has no derivative: a comment says so, no statement.
    Constant,
    /// A tape that subprograms can make larger where they have it as an argument: it is the component V of a
    /// variable of a type that generated text declares.
    Growing,
}

impl Attribute {
    /// All that declarations can have.
    pub const ALL: [Attribute; 5] = [
        Attribute::Allocatable,
        Attribute::Optional,
        Attribute::Target,
        Attribute::Volatile,
        Attribute::Automatic,
    ];

    /// As a declaration writes it.
    pub fn word(self) -> &'static str {
        match self {
            Attribute::Allocatable => "ALLOCATABLE",
            Attribute::Optional => "OPTIONAL",
            Attribute::Target => "TARGET",
            Attribute::Volatile => "VOLATILE",
            Attribute::Automatic => "AUTOMATIC",
            Attribute::Constant => "CONSTANT",
            Attribute::Growing => "GROWING",
        }
    }
}

/// A set of [`Attribute`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Attributes(u8);

impl Attributes {
    /// Is it in the set?
    pub fn has(self, attribute: Attribute) -> bool {
        self.0 & (1 << attribute as u8) != 0
    }

    /// Adds one.
    pub fn insert(&mut self, attribute: Attribute) {
        self.0 |= 1 << attribute as u8;
    }

    /// Takes one out.
    pub fn remove(&mut self, attribute: Attribute) {
        self.0 &= !(1 << attribute as u8);
    }

    /// Without all others.
    #[must_use]
    pub fn only(self, attribute: Attribute) -> Self {
        Attributes(self.0 & (1 << attribute as u8))
    }

    /// Those in the set.
    pub fn iter(self) -> impl Iterator<Item = Attribute> {
        Attribute::ALL.into_iter().filter(move |a| self.has(*a))
    }
}

/// What a name is.
#[derive(Debug, Clone, PartialEq)]
pub enum Class {
    /// Not resolved yet.
    Unknown,
    /// A variable or array.
    Variable,
    /// A named constant and its value.
    Parameter(Box<Expr>),
    /// A statement function: its dummy arguments (symbols of the same unit) and its value.
    StatementFunction(Vec<SymId>, Box<Expr>),
    /// A function: nested, top-level, external or a dummy procedure ([`Symbol::place`]).
    Function,
    /// A subroutine, likewise.
    Subroutine,
    /// A procedure that is only passed on, so that nothing tells which kind.
    Procedure,
    /// An intrinsic function.
    Intrinsic(&'static Intrinsic),
    /// A COMMON block, NAMELIST group or the like, which shares no names with data.
    Namelist(Vec<SymId>),
}

impl Class {
    /// A function, subroutine or procedure of unknown kind (not intrinsic).
    pub fn is_procedure(&self) -> bool {
        matches!(self, Class::Function | Class::Subroutine | Class::Procedure)
    }

    /// An intrinsic function of what its argument is, not of its value.
    pub fn asks_for_shape(&self) -> bool {
        matches!(self, Class::Intrinsic(i) if i.asks_for_shape())
    }
}

/// Where a name lives.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// In this unit. A procedure here is one of [`Unit::nested`], found by its name.
    Local,
    /// A dummy argument (also a dummy procedure).
    Dummy,
    /// The result of this function (or of one of its entries).
    Result,
    /// In a COMMON block; the blank one has an empty name.
    Common(Name),
    /// The symbol of the unit around this one that bears this handle. The facts are
    /// copied from there; expressions among them (bounds, values) name symbols of the
    /// table where the chain of links ends.
    Host(SymId),
    /// A top-level unit of the program, or an external procedure, found by its name.
    Global,
    /// Where the Cray pointer points that this symbol is: it has no storage of its own.
    Pointee(SymId),
}

/// One dimension of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Dim {
    /// Lower bound; 1 when absent.
    pub lower: Option<Expr>,
    /// Upper bound; [`super::ExprKind::Star`] for assumed size. `None` is `:`: of an
    /// allocatable array, or of a dummy argument of assumed shape.
    pub upper: Option<Expr>,
}

impl Symbol {
    /// A symbol of unknown class.
    pub fn new(name: Name, span: Span) -> Self {
        Symbol {
            name,
            span,
            ty: None,
            typed: false,
            length: None,
            dims: Vec::new(),
            class: Class::Unknown,
            place: Place::Local,
            external: false,
            saved: false,
            init: None,
            attributes: Attributes::default(),
            tape: false,
            whole: false,
            origin: Origin::Written,
        }
    }

    /// A local scalar variable that a pass adds.
    pub fn variable(name: Name, ty: Type, span: Span) -> Self {
        Symbol {
            origin: Origin::Generated,
            ty: Some(ty),
            class: Class::Variable,
            ..Symbol::new(name, span)
        }
    }

    /// True for arrays.
    pub fn is_array(&self) -> bool {
        !self.dims.is_empty()
    }

    /// True for a variable with this attribute.
    pub fn has(&self, attribute: Attribute) -> bool {
        self.attributes.has(attribute)
    }

    /// True for a dummy argument of assumed shape, `A(:)`: its bounds come from the caller.
    pub fn is_assumed_shape(&self) -> bool {
        self.place == Place::Dummy
            && !self.has(Attribute::Allocatable)
            && self.dims.iter().any(|d| d.upper.is_none())
    }

    /// What bars a variable from being handed over to a subprogram that a pass makes: its
    /// callers would need an explicit interface.
    pub fn handover_bar(&self) -> Option<&'static str> {
        let of = [
            Attribute::Allocatable,
            Attribute::Optional,
            Attribute::Volatile,
        ];
        let found = of.into_iter().find(|a| self.has(*a)).map(Attribute::word);
        found.or(self
            .is_assumed_shape()
            .then_some("an array of assumed shape"))
    }

    /// What a message says of an array without bounds of its own.
    pub fn openness(&self) -> &'static str {
        if self.has(Attribute::Allocatable) {
            "bounds that ALLOCATE decides"
        } else if self.is_assumed_shape() {
            "assumed shape"
        } else {
            "assumed size"
        }
    }

    /// True for variables and arrays (not constants, not procedures).
    pub fn is_variable(&self) -> bool {
        self.class == Class::Variable
    }
}

/// IMPLICIT rules of one unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Implicit {
    /// IMPLICIT NONE.
    pub none: bool,
    /// Explicit rules by first letter, `A` first; with the length of a CHARACTER.
    pub letters: [Option<(Type, Option<i64>)>; 26],
}

impl Implicit {
    /// The rule that this unit itself gives for a name.
    pub fn own(&self, name: &str) -> Option<(Type, Option<i64>)> {
        let first = name.bytes().next()?.to_ascii_uppercase();
        first
            .is_ascii_uppercase()
            .then(|| self.letters[usize::from(first - b'A')])
            .flatten()
    }

    /// What FORTRAN 77 says where no IMPLICIT statement does: I to N are INTEGER.
    pub fn default_type(name: &str) -> Type {
        match name.bytes().next().map(|b| b.to_ascii_uppercase()) {
            Some(b'I'..=b'N') => Type::INTEGER,
            _ => Type::REAL,
        }
    }

    /// The type of an undeclared name in a unit without surroundings; `None` under
    /// IMPLICIT NONE.
    ///
    /// ```
    /// # use farfel_ir::ir::{Implicit, Type};
    /// assert_eq!(Implicit::default().type_of("KOUNT"), Some(Type::INTEGER));
    /// ```
    pub fn type_of(&self, name: &str) -> Option<Type> {
        match self.own(name) {
            Some((t, _)) => Some(t),
            None if self.none => None,
            None => Some(Self::default_type(name)),
        }
    }

    /// True when the unit has no IMPLICIT statement.
    pub fn is_empty(&self) -> bool {
        !self.none && self.letters.iter().all(Option::is_none)
    }
}

/// A specification statement: where facts of symbols are written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What it is.
    pub kind: SpecKind,
    /// Where it stands.
    pub span: Span,
}

/// A name in a declaration, with its bounds if this is where they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entity {
    /// The name.
    pub sym: SymId,
    /// Its bounds are written here.
    pub dims: bool,
}

/// The kinds of specification statement.
#[derive(Debug, Clone, PartialEq)]
pub enum SpecKind {
    /// A comment line.
    Comment(Comment),
    /// IMPLICIT statement: its text is made from [`Unit::implicit`], so one is enough.
    Implicit,
    /// `type names`; an initial value ([`Symbol::init`]) is written here, too.
    Type(Type, Vec<Entity>),
    /// `ALLOCATABLE names` and the like.
    Attribute(Attribute, Vec<Entity>),
    /// `POINTER (pointer, pointee), …`: Cray pointers.
    Pointer(Vec<(SymId, Entity)>),
    /// DIMENSION
    Dimension(Vec<SymId>),
    /// EXTERNAL
    External(Vec<SymId>),
    /// INTRINSIC
    Intrinsic(Vec<SymId>),
    /// COMMON, block by block; the blank one has an empty name.
    Common(Vec<(Name, Vec<Entity>)>),
    /// EQUIVALENCE: groups of variables and elements that share storage.
    Equivalence(Vec<Vec<Expr>>),
    /// PARAMETER; the values stand in the symbols.
    Parameter(Vec<SymId>),
    /// SAVE; without names, everything.
    Save(Vec<SaveItem>),
    /// DATA
    Data(Vec<DataSet>),
    /// A statement function; its value stands in the symbol.
    StatementFunction(SymId),
    /// NAMELIST; the members stand in the symbol.
    Namelist(SymId),
    /// FORMAT among the specifications, with its label.
    Format(super::Label, String),
    /// `INCLUDE 'file'` that stays in the text, for the Fortran compiler to read. The parser
    /// makes none: it reads the files.
    Include(String),
    /// `USE module`, with what follows: a module that comes with the compiler.
    Use(String),
    /// ENTRY may stand here too, but is kept with the executable statements.
    Intent(Intent, Vec<SymId>),
}

/// INTENT of a dummy argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Intent {
    In,
    Out,
    InOut,
}

/// What SAVE names.
#[derive(Debug, Clone, PartialEq)]
pub enum SaveItem {
    /// A variable or array.
    Var(SymId),
    /// A COMMON block.
    Common(Name),
}

/// `targets / values /` of a DATA statement.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSet {
    /// Variables, arrays, elements, substrings and implied DO.
    pub targets: Vec<Expr>,
    /// Values with their repeat counts.
    pub values: Vec<(Option<Expr>, Expr)>,
}

impl Unit {
    /// Calls `f` on every comment of the unit, with the place it belongs to: those above it, those
    /// between its declarations and those between its statements. Not on those of nested units.
    pub fn for_each_comment(&self, f: &mut dyn FnMut(&str, Span)) {
        for text in &self.comments {
            f(text, self.name_span);
        }
        for spec in &self.specs {
            if let SpecKind::Comment(text) = &spec.kind {
                f(text, spec.span);
            }
        }
        walk_block(&self.body, &mut |s| {
            if let StmtKind::Comment(text) = &s.kind {
                f(text, s.span);
            }
        });
    }

    /// An empty unit.
    pub fn new(kind: UnitKind, name: Name, span: Span) -> Self {
        Unit {
            origin: Origin::Written,
            kind,
            name,
            span,
            name_span: span,
            end_span: span,
            comments: Vec::new(),
            remarks: Remarks::default(),
            args: Vec::new(),
            result: None,
            typed_header: false,
            recursive: false,
            contained: false,
            constant: false,
            leaves_derivatives: false,
            joint: false,
            symbols: Symbols::default(),
            implicit: Implicit::default(),
            specs: Vec::new(),
            body: Vec::new(),
            nested: Vec::new(),
            given: Vec::new(),
            stmt_ids: StmtIds::default(),
        }
    }

    /// Gives each statement of the unit itself an id of its own. Statements that have one keep it;
    /// where two have the same, the first.
    pub fn number(&mut self) {
        self.stmt_ids.number(&mut self.body);
    }

    /// [`Unit::number`] for the unit and all that is nested in it.
    pub fn number_all(&mut self) {
        self.number();
        self.nested.iter_mut().for_each(Unit::number_all);
    }

    /// The ways into the unit: its own name first, then those of its ENTRY statements.
    pub fn entry_points(&self) -> impl Iterator<Item = EntryPoint<'_>> {
        let own = EntryPoint {
            unit: self,
            name: &self.name,
            span: self.name_span,
            args: &self.args,
            result: self.result,
            statement: None,
        };
        // ENTRY stands in no block.
        let others = self.body.iter().filter_map(|s| match &s.kind {
            StmtKind::Entry(e) => Some(EntryPoint {
                unit: self,
                name: &self.symbols[e.name].name,
                span: s.span,
                args: &e.args,
                result: self.result.map(|_| e.name),
                statement: Some(e),
            }),
            _ => None,
        });
        std::iter::once(own).chain(others)
    }

    /// The position of a dummy argument.
    pub fn arg_position(&self, sym: SymId) -> Option<usize> {
        self.args.iter().position(|a| a.sym() == Some(sym))
    }

    /// Writes down in the specifications what the name alone does not tell: the type
    /// where it differs from the implicit one, bounds, EXTERNAL.
    ///
    /// For symbols that a pass adds. Nothing is written twice.
    pub fn declare(&mut self, id: SymId) {
        if self.typed_header && self.result == Some(id) {
            return;
        }
        let written = |found: &dyn Fn(&SpecKind) -> bool| self.specs.iter().any(|s| found(&s.kind));
        let type_written =
            written(&|k| matches!(k, SpecKind::Type(_, l) if l.iter().any(|e| e.sym == id)));
        let external_written = written(&|k| matches!(k, SpecKind::External(l) if l.contains(&id)));
        let dims_written = written(&|k| match k {
            SpecKind::Type(_, l) => l.iter().any(|e| e.sym == id && e.dims),
            SpecKind::Dimension(l) => l.contains(&id),
            SpecKind::Common(blocks) => blocks
                .iter()
                .any(|(_, l)| l.iter().any(|e| e.sym == id && e.dims)),
            SpecKind::Attribute(_, l) => l.iter().any(|e| e.sym == id && e.dims),
            SpecKind::Pointer(l) => l.iter().any(|(_, e)| e.sym == id && e.dims),
            _ => false,
        });
        let s = &self.symbols[id];
        let (span, external) = (s.span, s.external);
        let dims = s.is_array() && !dims_written;
        let implicit = self.implicit.type_of(&s.name);
        let has_type = !matches!(s.class, Class::Subroutine | Class::Intrinsic(_));
        let ty = s.ty.filter(|ty| {
            has_type
                && !type_written
                && (s.typed
                    || implicit != Some(*ty)
                    || dims
                    || *ty == Type::Character
                    || s.init.is_some())
        });
        self.declare_attributes(id);
        let at = self.spec_insertion_point();
        if external && !external_written {
            let list = self.specs.iter_mut().find_map(|x| match &mut x.kind {
                SpecKind::External(l) => Some(l),
                _ => None,
            });
            match list {
                Some(l) => l.push(id),
                None => self.specs.insert(
                    at,
                    Spec {
                        kind: SpecKind::External(vec![id]),
                        span,
                    },
                ),
            }
        }
        let entity = Entity { sym: id, dims };
        let at = self.spec_insertion_point();
        let before = self.specs[..at].last_mut().map(|s| &mut s.kind);
        match (ty, before) {
            (Some(ty), Some(SpecKind::Type(same, list)))
                if *same == ty && ty != Type::Character =>
            {
                list.push(entity)
            }
            (Some(ty), _) => self.specs.insert(
                at,
                Spec {
                    kind: SpecKind::Type(ty, vec![entity]),
                    span,
                },
            ),
            (None, _) if dims => self.specs.insert(
                at,
                Spec {
                    kind: SpecKind::Dimension(vec![id]),
                    span,
                },
            ),
            (None, _) => {}
        }
    }

    /// Writes down ALLOCATABLE and the like, and what the pointee of a Cray pointer is.
    fn declare_attributes(&mut self, id: SymId) {
        let s = &self.symbols[id];
        let entity = Entity {
            sym: id,
            dims: false,
        };
        let mut wanted: Vec<SpecKind> = s
            .attributes
            .iter()
            .map(|a| SpecKind::Attribute(a, vec![entity]))
            .collect();
        if let Place::Pointee(pointer) = s.place {
            wanted.push(SpecKind::Pointer(vec![(pointer, entity)]));
        }
        let span = s.span;
        for kind in wanted {
            let written = self.specs.iter().any(|s| match (&s.kind, &kind) {
                (SpecKind::Attribute(a, l), SpecKind::Attribute(b, _)) => {
                    a == b && l.iter().any(|e| e.sym == id)
                }
                (SpecKind::Pointer(l), SpecKind::Pointer(_)) => l.iter().any(|(_, e)| e.sym == id),
                _ => false,
            });
            if !written {
                self.add_spec(kind, span);
            }
        }
    }

    /// Adds a declaration behind those that it may depend on, before DATA and statement
    /// functions.
    pub fn add_spec(&mut self, kind: SpecKind, span: Span) {
        let at = self.spec_insertion_point();
        self.specs.insert(at, Spec { kind, span });
    }

    /// Where a declaration can be added: after the declarations that it may depend on,
    /// before DATA and statement functions.
    fn spec_insertion_point(&self) -> usize {
        self.specs
            .iter()
            .position(|s| {
                matches!(
                    s.kind,
                    SpecKind::Data(_) | SpecKind::StatementFunction(_) | SpecKind::Format(..)
                )
            })
            .unwrap_or(self.specs.len())
    }

    /// Removes a name from every declaration (not from COMMON, EQUIVALENCE and DATA, which
    /// have meaning beyond the name).
    pub fn undeclare(&mut self, id: SymId) {
        self.undeclare_all(&|s| s == id);
    }

    /// The same for all names that `gone` holds for.
    pub fn undeclare_all(&mut self, gone: &dyn Fn(SymId) -> bool) {
        let saved = |i: &SaveItem| matches!(i, SaveItem::Var(s) if gone(*s));
        for spec in &mut self.specs {
            match &mut spec.kind {
                SpecKind::Type(_, l) | SpecKind::Attribute(_, l) => l.retain(|e| !gone(e.sym)),
                SpecKind::Pointer(l) => l.retain(|(p, e)| !gone(*p) && !gone(e.sym)),
                SpecKind::Dimension(l)
                | SpecKind::External(l)
                | SpecKind::Intrinsic(l)
                | SpecKind::Parameter(l)
                | SpecKind::Intent(_, l) => l.retain(|s| !gone(*s)),
                SpecKind::Save(l) if l.iter().any(saved) => {
                    l.retain(|i| !saved(i));
                    if l.is_empty() {
                        // An empty list would mean "everything".
                        spec.kind = SpecKind::Type(Type::REAL, Vec::new());
                    }
                }
                SpecKind::StatementFunction(s) | SpecKind::Namelist(s) if gone(*s) => {
                    spec.kind = SpecKind::Type(Type::REAL, Vec::new());
                }
                SpecKind::Comment(_)
                | SpecKind::Implicit
                | SpecKind::Common(_)
                | SpecKind::Equivalence(_)
                | SpecKind::Save(_)
                | SpecKind::Data(_)
                | SpecKind::StatementFunction(_)
                | SpecKind::Namelist(_)
                | SpecKind::Include(_)
                | SpecKind::Use(_)
                | SpecKind::Format(..) => {}
            }
        }
        self.specs.retain(|s| match &s.kind {
            SpecKind::Type(_, l) | SpecKind::Attribute(_, l) => !l.is_empty(),
            SpecKind::Pointer(l) => !l.is_empty(),
            SpecKind::Dimension(l)
            | SpecKind::External(l)
            | SpecKind::Intrinsic(l)
            | SpecKind::Parameter(l)
            | SpecKind::Intent(_, l) => !l.is_empty(),
            _ => true,
        });
    }
}
