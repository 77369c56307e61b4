//! Programs, program units, symbols and specification statements.

use super::stmt::StmtIds;
use super::{Block, Comment, DefaultSizes, Entry, Expr, Name, StmtId, StmtKind, Type, walk_block};
use crate::intrinsics::Intrinsic;
use crate::source::Span;
use std::collections::{HashMap, HashSet};
use std::ops::{Index, IndexMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A whole program: its top-level units in order.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The units.
    pub units: Vec<Unit>,
}

impl Program {
    /// Returns the top-level unit with this name.
    pub fn unit(&self, name: &str) -> Option<&Unit> {
        self.units.iter().find(|u| u.name == name)
    }

    /// Returns the top-level unit with this name, mutable.
    pub fn unit_mut(&mut self, name: &str) -> Option<&mut Unit> {
        self.units.iter_mut().find(|u| u.name == name)
    }

    /// Whether each statement of the top-level units has an id.
    pub fn is_numbered(&self) -> bool {
        let mut all = true;
        for unit in &self.units {
            walk_block(&unit.body, &mut |s| all &= s.id != StmtId::NONE);
        }
        all
    }

    /// Assigns ids to the statements of all units: see [`Unit::number`].
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

/// What created a program unit or a name in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Origin {
    /// The user's source, or a copy of something in it.
    #[default]
    Written,
    /// A pass: for a temporary, a loop variable, or a part of the program that became a subprogram.
    Generated,
    /// A pass: for a variable that takes the place of jumps. Not every path assigns it, but those on which it is read.
    Jump,
    /// Differentiation: for a tangent or an adjoint, or a subprogram that computes them.
    Derivative,
}

/// A program unit or nested subprogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// What created it.
    pub origin: Origin,
    /// The kind of unit.
    pub kind: UnitKind,
    /// Its name; `MAIN` for a main program without a PROGRAM statement.
    pub name: Name,
    /// The header statement; if there is none, the first statement.
    pub span: Span,
    /// The position of the name in the header.
    pub name_span: Span,
    /// The END statement.
    pub end_span: Span,
    /// Comments before the header, without markers: its documentation.
    pub comments: Vec<String>,
    /// Comments that are not attached to the unit.
    pub remarks: Remarks,
    /// Dummy arguments in order.
    pub args: Vec<Arg>,
    /// The variable that holds a function's result. It has the function's name unless RESULT says
    /// otherwise.
    pub result: Option<SymId>,
    /// Whether the header contains the result's type (`REAL FUNCTION F(X)`).
    pub typed_header: bool,
    /// Whether the header contains RECURSIVE.
    pub recursive: bool,
    /// Whether this nested subprogram follows CONTAINS: names that it does not declare are local
    /// unless its host has them.
    pub contained: bool,
    /// Whether it consists of statements that are constant for differentiation.
    pub constant: bool,
    /// Whether constant statements leave the derivatives of the variables they assign unchanged
    /// (Tapenade's DO-NOT-DIFF). Otherwise these become zero.
    pub leaves_derivatives: bool,
    /// Whether a comment requests joint reversal: calls of it are re-executed in reverse sweeps, so
    /// that less is taped.
    pub joint: bool,
    /// The sizes of the default types.
    pub sizes: DefaultSizes,
    /// The symbol table.
    pub symbols: Symbols,
    /// IMPLICIT statements of this unit only; lookups continue in the enclosing unit.
    pub implicit: Implicit,
    /// Specification statements, in the order of the source.
    pub specs: Vec<Spec>,
    /// Executable statements.
    pub body: Block,
    /// Nested subprograms.
    pub nested: Vec<Unit>,
    /// Derivatives and properties of procedures that comments specify
    /// (`farfel_lang::procedure_directives`): as the parser leaves it, those written in this unit;
    /// after `resolve`, those of the procedures that it calls.
    pub directives: Vec<ProcedureDirective>,
    /// If it computes derivatives in one direction, which ones.
    pub one_direction: Option<Box<OneDirection>>,
    /// The ids that it has assigned to statements.
    pub stmt_ids: StmtIds,
}

/// Derivatives of a subroutine with respect to one scalar argument, of any order. Those of the next order are
/// a further coefficient of the same Taylor series.
#[derive(Debug, Clone, PartialEq)]
pub struct OneDirection {
    /// The name of the unit that computes them. Copies with other names are something else.
    pub unit: Name,
    /// The subroutine that is differentiated.
    pub of: Name,
    /// The position of its independent argument.
    pub independent: usize,
    /// The highest order.
    pub order: usize,
    /// What each argument of the unit is.
    pub args: Vec<DirectionalArg>,
}

/// An argument of a subroutine that computes derivatives in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectionalArg {
    /// The argument of the differentiated subroutine with this position.
    Value(usize),
    /// The derivative of the independent argument.
    Seed,
    /// A derivative of the argument with position `of`, which is multiplied by the seeds at these positions.
    Derivative {
        /// The position of the argument.
        of: usize,
        /// The order.
        order: usize,
        /// The positions of the seeds, among the arguments of the unit.
        seeds: Vec<usize>,
    },
    /// A derivative of the argument with this position that nobody uses.
    Unused(usize),
}

/// A name by which a subprogram can be called: its own or that of an ENTRY statement.
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
    /// The name that callers use.
    pub name: &'u Name,
    /// The name in the header, or the ENTRY statement.
    pub span: Span,
    /// Its dummy arguments.
    pub args: &'u [Arg],
    /// The variable that holds the result, in functions.
    pub result: Option<SymId>,
    /// The ENTRY statement; `None` for the subprogram's own name.
    pub statement: Option<&'u Entry>,
}

/// What a procedure without source does with one of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentUsage {
    /// Whether its value may be read.
    pub reads: bool,
    /// Whether it may be assigned.
    pub writes: bool,
}

/// What comments or settings specify about a procedure: that its derivative is computed by given
/// subprograms, that it has none, or, if its source is not available, what it does with its
/// arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcedureDirective {
    /// The procedure, or a variable if it is declared constant.
    pub procedure: Name,
    /// The names of its arguments.
    pub arguments: Option<Vec<Name>>,
    /// The arguments whose derivatives are read.
    pub inputs: Option<Vec<Name>>,
    /// The arguments whose derivatives are set, not including the result of a function.
    pub outputs: Option<Vec<Name>>,
    /// The arguments without derivatives that it assigns, where its source does not tell.
    pub sets: Vec<Name>,
    /// The arguments with derivatives whose values the adjoint reads, if that is specified.
    pub values: Option<Vec<Name>>,
    /// The subroutine that computes tangents.
    pub tangent: Option<Name>,
    /// The subroutine that computes adjoints.
    pub adjoint: Option<Name>,
    /// How it uses each argument, if this only describes a procedure without source and does not
    /// specify its derivative.
    pub usage: Option<Vec<ArgumentUsage>>,
    /// If the procedure is a dummy procedure: the unit to whose arguments it belongs. The
    /// procedures that compute its derivatives may be arguments of that unit, too.
    pub dummy_of: Option<Name>,
    /// The position of the comment or setting.
    pub span: Span,
}

impl ProcedureDirective {
    /// Specifies that no derivatives propagate through a procedure.
    pub fn constant(procedure: Name, span: Span) -> Self {
        ProcedureDirective {
            procedure,
            arguments: None,
            inputs: None,
            outputs: None,
            sets: Vec::new(),
            values: None,
            tangent: None,
            adjoint: None,
            usage: None,
            dummy_of: None,
            span,
        }
    }

    /// Describes what a procedure without source does with its arguments, in order.
    pub fn described(procedure: Name, usage: Vec<ArgumentUsage>, span: Span) -> Self {
        ProcedureDirective {
            usage: Some(usage),
            ..ProcedureDirective::constant(procedure, span)
        }
    }

    /// Whether no derivatives propagate through it.
    pub fn is_constant(&self) -> bool {
        self.tangent.is_none() && self.adjoint.is_none() && self.usage.is_none()
    }

    /// Adds the tangent, the adjoint and the list of values that another directive about the same
    /// procedure gives and this one does not. Returns false, and adds nothing, if both say different
    /// things: they must list the same arguments, by position.
    pub fn unite(&mut self, other: &ProcedureDirective) -> bool {
        let clash = |a: &Option<Name>, b: &Option<Name>| a.is_some() && b.is_some() && a != b;
        let listed = |d: &ProcedureDirective, list: &Option<Vec<Name>>| {
            let arguments = d.arguments.clone()?;
            let list = list.as_ref()?;
            Some(
                arguments
                    .iter()
                    .map(|a| list.contains(a))
                    .collect::<Vec<bool>>(),
            )
        };
        let sets = |d: &ProcedureDirective| listed(d, &Some(d.sets.clone()));
        let same = listed(self, &self.inputs) == listed(other, &other.inputs)
            && listed(self, &self.outputs) == listed(other, &other.outputs)
            && sets(self) == sets(other);
        if !same
            || clash(&self.tangent, &other.tangent)
            || clash(&self.adjoint, &other.adjoint)
            || self.usage != other.usage
        {
            return false;
        }
        if self.adjoint.is_none() && other.adjoint.is_some() {
            let values = listed(other, &other.values);
            self.values = values.map(|values| {
                let own = self.arguments.iter().flatten().zip(values);
                own.filter(|(_, read)| *read)
                    .map(|(n, _)| n.clone())
                    .collect()
            });
            self.adjoint.clone_from(&other.adjoint);
        }
        if self.tangent.is_none() {
            self.tangent.clone_from(&other.tangent);
        }
        true
    }

    /// Whether the procedure assigns its argument at a position, according to the lists.
    pub fn assigns(&self, position: usize) -> bool {
        let arguments = self.arguments.as_deref().unwrap_or_default();
        let mut assigned = self.outputs.iter().flatten().chain(&self.sets);
        arguments
            .get(position)
            .is_some_and(|n| assigned.any(|a| a == n))
    }

    /// Whether the argument with this name is followed by its derivative.
    pub fn is_active(&self, argument: &str) -> bool {
        let mut all = self.inputs.iter().chain(&self.outputs).flatten();
        all.any(|n| n == argument)
    }
}

/// Comments between top-level units, in blocks that are separated by blank lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Those after the preceding unit, up to the blank line before [`Unit::comments`].
    pub before: Vec<Vec<String>>,
    /// Those after the last unit of a file.
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

/// A symbol, as an index into the symbol table of its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymId(pub u32);

/// The symbol table of a unit, in the order in which names are first mentioned.
#[derive(Debug, Clone, Default)]
pub struct Symbols {
    list: Vec<Symbol>,
    by_name: HashMap<Name, SymId>,
    used: UsedNumbers,
}

/// A cache: for each base name, the first numeric suffix that may be unused, so that a unit with
/// thousands of temporaries need not test all of them to name the next one. Each entry also has the
/// number of symbols at that time: it is valid as long as those symbols exist.
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

    /// Keeps only the entries that are valid for the first `len` symbols.
    fn truncate(&self, len: usize) {
        self.lock().retain(|_, known| {
            known.truncate(known.partition_point(|(symbols, _)| *symbols <= len));
            !known.is_empty()
        });
    }
}

impl PartialEq for Symbols {
    fn eq(&self, other: &Self) -> bool {
        // The lookup tables are derived from the list.
        self.list == other.list
    }
}

impl Symbols {
    /// Returns the symbol with this name.
    pub fn find(&self, name: &str) -> Option<SymId> {
        self.by_name.get(name).copied()
    }

    /// Returns the symbol with this name, adding one of unknown class if there is none.
    pub fn intern(&mut self, name: &str, span: Span) -> SymId {
        match self.find(name) {
            Some(s) => s,
            None => self.add(Symbol::new(name.into(), span)),
        }
    }

    /// Adds a symbol. Its name must not be in use: see [`Symbols::unused`].
    pub fn add(&mut self, symbol: Symbol) -> SymId {
        let id = SymId(self.list.len() as u32);
        let old = self.by_name.insert(symbol.name.clone(), id);
        debug_assert!(old.is_none(), "two symbols named {}", symbol.name);
        self.list.push(symbol);
        id
    }

    /// Removes all symbols but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.split_off(len);
    }

    /// Removes all symbols but the first `len`, and returns them so that they can be added again.
    pub fn split_off(&mut self, len: usize) -> Vec<Symbol> {
        self.used.truncate(len);
        let removed = self.list.split_off(len.min(self.list.len()));
        for s in &removed {
            self.by_name.remove(&s.name);
        }
        removed
    }

    /// Changes the name of a symbol to another one that is not in use.
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

    /// Returns the number of symbols.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no symbols.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns `wanted`, or `wanted` with the lowest numeric suffix, from 1, such that the name is
    /// neither in this table nor `taken`.
    ///
    /// Names are limited to the 63 characters that compilers allow.
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

    /// Returns the first of a sequence of names, starting at a number, that is neither in this
    /// table nor `taken`.
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

/// Returns `wanted`, or `wanted` with the lowest numeric suffix, from 1, that is not `taken`; at
/// most 63 characters, the most that compilers allow. A longer name ends in a hash of all of it, so
/// that names with a common prefix stay different without comparing them.
pub fn unused_name(wanted: &str, taken: &dyn Fn(&str) -> bool) -> Name {
    Symbols::default().unused(wanted, taken)
}

/// The maximum length of a name that compilers allow.
pub const LONGEST_NAME: usize = 63;

/// Returns a name with a numeric suffix.
fn numbered(name: &str, number: u32) -> Name {
    let suffix = number.to_string();
    let keep = name.len().min(LONGEST_NAME - suffix.len() - 1);
    // A digit at the end of the name would run into the number.
    let gap = match name[..keep].ends_with(|c: char| c.is_ascii_digit()) {
        true => "_",
        false => "",
    };
    Name::from(format!("{}{gap}{suffix}", &name[..keep]))
}

/// Returns a hash of a text as four letters and digits, the first a letter. It is stable across
/// platforms and versions, because names are derived from it.
pub fn short_hash(text: &str) -> Name {
    // FNV-1a, with additional mixing so that every bit counts.
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
    /// Returns the symbols in the order of their handles.
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

/// The meaning of a name in one unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Symbol {
    /// Its name.
    pub name: Name,
    /// Where it is first mentioned or declared.
    pub span: Span,
    /// The type of the variable, constant or function result. After `resolve`, `None` only for
    /// subroutines and other symbols without a type.
    pub ty: Option<Type>,
    /// Whether a declaration gives the type (otherwise it is implicit).
    pub typed: bool,
    /// The length of a CHARACTER; `None` means 1; [`super::ExprKind::Star`] is `*(*)`.
    pub length: Option<Expr>,
    /// The dimensions of an array; empty for a scalar.
    pub dims: Vec<Dim>,
    /// What kind of thing it denotes.
    pub class: Class,
    /// Where it is defined or stored.
    pub storage_class: StorageClass,
    /// Whether it is named in an EXTERNAL statement.
    pub external: bool,
    /// Whether it has SAVE, or is initialised by DATA or in its declaration.
    pub saved: bool,
    /// The initial value in its declaration, `REAL :: X = 1.0`.
    pub init: Option<Box<Expr>>,
    /// Its attributes: ALLOCATABLE, TARGET and the like.
    pub attributes: Attributes,
    /// Whether this is the array of a tape created by reverse mode: every element is assigned
    /// before it is read, and read as often as it is assigned. For a scalar: the initial tape size
    /// for the next call.
    pub tape: bool,
    /// Whether this is a dummy array to which a whole array is passed while other arguments may be
    /// parts of the same array. The subprogram accesses only elements of it outside of those parts.
    pub whole: bool,
    /// If this is a dummy procedure that code outside of the program supplies: the positions of the arguments
    /// that it only reads according to its description, although calls would allow it to assign them.
    pub only_reads: Vec<usize>,
    /// What created it.
    pub origin: Origin,
}

/// What a declaration can say about a variable besides its type and shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Attribute {
    /// ALLOCATABLE: ALLOCATE determines the bounds of the array.
    Allocatable,
    /// OPTIONAL: a dummy argument that callers may omit.
    Optional,
    /// TARGET
    Target,
    /// VOLATILE: may change by means outside of the program.
    Volatile,
    /// AUTOMATIC: undefined on entry, whatever the compiler options say.
    Automatic,
    /// Has no derivative. Specified by a comment, not by a statement.
    Constant,
    /// A tape that subprograms can enlarge when it is passed to them: it is the component V of a variable of a
    /// derived type that generated code declares. Its other components are the variables `TAPE%TOP` and `TAPE%MOST`
    /// ([`Symbol::is_component`]), which are arguments wherever it is one.
    Growing,
}

impl Attribute {
    /// All attributes that can be written in declarations.
    pub const ALL: [Attribute; 5] = [
        Attribute::Allocatable,
        Attribute::Optional,
        Attribute::Target,
        Attribute::Volatile,
        Attribute::Automatic,
    ];

    /// Returns the attribute as written in a declaration.
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
    /// Whether the attribute is in the set.
    pub fn has(self, attribute: Attribute) -> bool {
        self.0 & (1 << attribute as u8) != 0
    }

    /// Adds an attribute.
    pub fn insert(&mut self, attribute: Attribute) {
        self.0 |= 1 << attribute as u8;
    }

    /// Removes an attribute.
    pub fn remove(&mut self, attribute: Attribute) {
        self.0 &= !(1 << attribute as u8);
    }

    /// Returns the set without all other attributes.
    #[must_use]
    pub fn only(self, attribute: Attribute) -> Self {
        Attributes(self.0 & (1 << attribute as u8))
    }

    /// The attributes in the set.
    pub fn iter(self) -> impl Iterator<Item = Attribute> {
        Attribute::ALL.into_iter().filter(move |a| self.has(*a))
    }
}

/// What kind of thing a name denotes.
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
    /// A function: nested, top-level, external or a dummy procedure ([`Symbol::storage_class`]).
    Function,
    /// A subroutine, likewise.
    Subroutine,
    /// A procedure that is only passed as an argument, so that its kind is unknown.
    Procedure,
    /// An intrinsic function.
    Intrinsic(&'static Intrinsic),
    /// A NAMELIST group and its members.
    Namelist(Vec<SymId>),
}

impl Class {
    /// Whether this is a function, subroutine or procedure of unknown kind (not intrinsic).
    pub fn is_procedure(&self) -> bool {
        matches!(self, Class::Function | Class::Subroutine | Class::Procedure)
    }

    /// Whether this is an intrinsic function that inquires about properties of its argument and not
    /// its value.
    pub fn is_inquiry(&self) -> bool {
        matches!(self, Class::Intrinsic(i) if i.is_inquiry())
    }
}

/// Where a name is defined or stored.
#[derive(Debug, Clone, PartialEq)]
pub enum StorageClass {
    /// In this unit. A local procedure is one of [`Unit::nested`], found by its name.
    Local,
    /// A dummy argument (also a dummy procedure).
    Dummy,
    /// The result of this function (or of one of its entries).
    Result,
    /// In a COMMON block; the name of blank COMMON is empty.
    Common(Name),
    /// Host association: the symbol with this handle in the enclosing unit. Its facts are copied
    /// from there; expressions in them (bounds, values) refer to symbols of the unit where the
    /// chain of host association ends.
    Host(SymId),
    /// A top-level unit of the program, or an external procedure, found by its name.
    Global,
    /// The target of this Cray pointer: it has no storage of its own.
    Pointee(SymId),
}

/// One dimension of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Dim {
    /// Lower bound; 1 if absent.
    pub lower: Option<Expr>,
    /// Upper bound; [`super::ExprKind::Star`] for assumed size. `None` for `:`, in an allocatable
    /// array or an assumed-shape dummy argument.
    pub upper: Option<Expr>,
}

impl Symbol {
    /// Creates a symbol of unknown class.
    pub fn new(name: Name, span: Span) -> Self {
        Symbol {
            name,
            span,
            ty: None,
            typed: false,
            length: None,
            dims: Vec::new(),
            class: Class::Unknown,
            storage_class: StorageClass::Local,
            external: false,
            saved: false,
            init: None,
            attributes: Attributes::default(),
            tape: false,
            whole: false,
            only_reads: Vec::new(),
            origin: Origin::Written,
        }
    }

    /// Whether this is the component TOP or MOST of a growing tape ([`Attribute::Growing`]), whose name is
    /// `TAPE%TOP` or `TAPE%MOST`. Such variables are not declared; the tape is.
    pub fn is_component(&self) -> bool {
        self.name.contains('%')
    }

    /// The names that TOP and MOST of this tape have.
    pub fn component_names(&self) -> [Name; 2] {
        ["TOP", "MOST"].map(|c| format!("{}%{c}", self.name).into())
    }

    /// Creates a local scalar variable for a pass.
    pub fn variable(name: Name, ty: Type, span: Span) -> Self {
        Symbol {
            origin: Origin::Generated,
            ty: Some(ty),
            class: Class::Variable,
            ..Symbol::new(name, span)
        }
    }

    /// Whether this is an array.
    pub fn is_array(&self) -> bool {
        !self.dims.is_empty()
    }

    /// Whether this has the given attribute.
    pub fn has(&self, attribute: Attribute) -> bool {
        self.attributes.has(attribute)
    }

    /// Whether this is an assumed-shape dummy argument, `A(:)`, whose bounds come from the caller.
    pub fn is_assumed_shape(&self) -> bool {
        self.storage_class == StorageClass::Dummy
            && !self.has(Attribute::Allocatable)
            && self.dims.iter().any(|d| d.upper.is_none())
    }

    /// Returns the property that prevents a variable from being passed to a subprogram created by a
    /// pass: callers of that subprogram would need an explicit interface.
    pub fn reason_against_passing(&self) -> Option<&'static str> {
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

    /// Describes, for messages, an array without bounds of its own.
    pub fn missing_bounds(&self) -> &'static str {
        if self.has(Attribute::Allocatable) {
            "bounds that ALLOCATE decides"
        } else if self.is_assumed_shape() {
            "assumed shape"
        } else {
            "assumed size"
        }
    }

    /// Whether this is a variable or array (not a constant or procedure).
    pub fn is_variable(&self) -> bool {
        self.class == Class::Variable
    }
}

/// The IMPLICIT rules of one unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Implicit {
    /// IMPLICIT NONE.
    pub none: bool,
    /// Explicit rules by first letter, starting with `A`; with the length for CHARACTER.
    pub letters: [Option<(Type, Option<i64>)>; 26],
}

impl Implicit {
    /// Returns this unit's own explicit rule for a name.
    pub fn own(&self, name: &str) -> Option<(Type, Option<i64>)> {
        let first = name.bytes().next()?.to_ascii_uppercase();
        first
            .is_ascii_uppercase()
            .then(|| self.letters[usize::from(first - b'A')])
            .flatten()
    }

    /// Returns the default type of FORTRAN 77 in the absence of IMPLICIT: INTEGER for I to N, REAL
    /// otherwise.
    pub fn default_type(name: &str) -> Type {
        match name.bytes().next().map(|b| b.to_ascii_uppercase()) {
            Some(b'I'..=b'N') => Type::INTEGER,
            _ => Type::REAL,
        }
    }

    /// Returns the type of an undeclared name in a unit that is not nested; `None` under IMPLICIT
    /// NONE.
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

    /// Whether the unit has no IMPLICIT statement.
    pub fn is_empty(&self) -> bool {
        !self.none && self.letters.iter().all(Option::is_none)
    }
}

/// A specification statement: it records where facts about symbols are written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// The kind of statement.
    pub kind: SpecKind,
    /// Its source position.
    pub span: Span,
}

/// What declarations say about some symbols.
#[derive(Default)]
struct Written {
    /// Those whose type is written.
    types: HashSet<SymId>,
    /// Those in EXTERNAL statements.
    external: HashSet<SymId>,
    /// Those whose bounds are written.
    dims: HashSet<SymId>,
}

/// A name in a declaration, with its bounds if this is where they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entity {
    /// The name.
    pub sym: SymId,
    /// Whether its bounds are written here.
    pub dims: bool,
}

/// The kinds of specification statement.
#[derive(Debug, Clone, PartialEq)]
pub enum SpecKind {
    /// A comment line.
    Comment(Comment),
    /// IMPLICIT statement: its text is generated from [`Unit::implicit`], so there is only one.
    Implicit,
    /// `type names`; initial values ([`Symbol::init`]) are written here, too.
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
    /// COMMON, block by block; the name of blank COMMON is empty.
    Common(Vec<(Name, Vec<Entity>)>),
    /// `!$OMP THREADPRIVATE`: COMMON blocks of which each thread has its own.
    ThreadPrivate(Vec<Name>),
    /// EQUIVALENCE: groups of variables and elements that share storage.
    Equivalence(Vec<Vec<Expr>>),
    /// PARAMETER; the values are in the symbols.
    Parameter(Vec<SymId>),
    /// SAVE; without names, everything.
    Save(Vec<SaveItem>),
    /// DATA
    Data(Vec<DataSet>),
    /// A statement function; its value is in the symbol.
    StatementFunction(SymId),
    /// NAMELIST; the members are in the symbol.
    Namelist(SymId),
    /// FORMAT among the specifications, with its label.
    Format(super::Label, String),
    /// `INCLUDE 'file'` that is left to the Fortran compiler. The parser never creates one: it
    /// reads the files.
    Include(String),
    /// `USE module`, with everything that follows, for a module provided by the compiler.
    Use(String),
    /// INTENT. (ENTRY may also appear among specifications, but is kept with the executable
    /// statements.)
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

/// An item of a SAVE statement.
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
    /// The COMMON blocks of which each thread has its own.
    pub fn thread_private(&self) -> impl Iterator<Item = &Name> {
        self.specs.iter().flat_map(|s| match &s.kind {
            SpecKind::ThreadPrivate(blocks) => blocks.as_slice(),
            _ => &[],
        })
    }

    /// Whether each thread has its own of a variable.
    pub fn is_thread_private(&self, s: SymId) -> bool {
        match &self.symbols[s].storage_class {
            StorageClass::Common(block) => self.thread_private().any(|b| b == block),
            _ => false,
        }
    }

    /// Removes what THREADPRIVATE says about blocks that the unit does not declare any more.
    pub fn without_undeclared_thread_private(&mut self) {
        let declared: Vec<Name> = (self.specs.iter())
            .flat_map(|s| match &s.kind {
                SpecKind::Common(blocks) => blocks.iter().map(|(b, _)| b.clone()).collect(),
                _ => Vec::new(),
            })
            .collect();
        self.specs.retain_mut(|s| match &mut s.kind {
            SpecKind::ThreadPrivate(blocks) => {
                blocks.retain(|b| declared.contains(b));
                !blocks.is_empty()
            }
            _ => true,
        });
    }

    /// Calls `f` on every comment of the unit, with the position it belongs to: those above the
    /// unit, between its declarations and between its statements, but not those of nested units.
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

    /// Creates an empty unit.
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
            sizes: DefaultSizes::default(),
            symbols: Symbols::default(),
            implicit: Implicit::default(),
            specs: Vec::new(),
            body: Vec::new(),
            nested: Vec::new(),
            directives: Vec::new(),
            one_direction: None,
            stmt_ids: StmtIds::default(),
        }
    }

    /// Assigns a unique id to each statement of the unit itself. Statements that have an id keep
    /// it; of two with the same id, the first does.
    pub fn number(&mut self) {
        self.stmt_ids.number(&mut self.body);
    }

    /// Calls [`Unit::number`] for the unit and all nested units.
    pub fn number_all(&mut self) {
        self.number();
        self.nested.iter_mut().for_each(Unit::number_all);
    }

    /// Returns the entry points of the unit: its own name first, then those of its ENTRY
    /// statements.
    pub fn entry_points(&self) -> impl Iterator<Item = EntryPoint<'_>> {
        let own = EntryPoint {
            unit: self,
            name: &self.name,
            span: self.name_span,
            args: &self.args,
            result: self.result,
            statement: None,
        };
        // ENTRY cannot be inside a block.
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

    /// Returns the position of a dummy argument.
    pub fn arg_position(&self, sym: SymId) -> Option<usize> {
        self.args.iter().position(|a| a.sym() == Some(sym))
    }

    /// Adds declarations for everything that the name alone does not imply: the type if it differs
    /// from the implicit one, bounds, EXTERNAL.
    ///
    /// For symbols added by a pass. Existing declarations are not repeated.
    pub fn declare(&mut self, id: SymId) {
        let written = self.written(&|s| s == id);
        self.declare_unless(id, &written);
    }

    /// Like [`Self::declare`], for several symbols, in time linear in their number.
    pub fn declare_all(&mut self, ids: impl IntoIterator<Item = SymId>) {
        let mut wanted = HashSet::new();
        let ids: Vec<SymId> = ids.into_iter().filter(|s| wanted.insert(*s)).collect();
        let written = self.written(&|s| wanted.contains(&s));
        for id in ids {
            self.declare_unless(id, &written);
        }
    }

    /// Like [`Self::declare`], for a symbol that no declaration names.
    pub fn declare_added(&mut self, id: SymId) {
        self.declare_unless(id, &Written::default());
    }

    /// What the declarations say about some symbols.
    fn written(&self, wanted: &dyn Fn(SymId) -> bool) -> Written {
        let mut found = Written::default();
        for spec in &self.specs {
            let with_dims: &[Entity] = match &spec.kind {
                SpecKind::Type(_, l) => {
                    let all = l.iter().map(|e| e.sym);
                    found.types.extend(all.filter(|s| wanted(*s)));
                    l
                }
                SpecKind::External(l) => {
                    found.external.extend(l.iter().filter(|s| wanted(**s)));
                    &[]
                }
                SpecKind::Dimension(l) => {
                    found.dims.extend(l.iter().filter(|s| wanted(**s)));
                    &[]
                }
                SpecKind::Common(blocks) => {
                    let all = blocks.iter().flat_map(|(_, l)| l);
                    let all = all.filter(|e| e.dims && wanted(e.sym));
                    found.dims.extend(all.map(|e| e.sym));
                    &[]
                }
                SpecKind::Attribute(_, l) => l,
                SpecKind::Pointer(l) => {
                    let all = l.iter().map(|(_, e)| e);
                    let all = all.filter(|e| e.dims && wanted(e.sym));
                    found.dims.extend(all.map(|e| e.sym));
                    &[]
                }
                _ => &[],
            };
            let with_dims = with_dims.iter().filter(|e| e.dims && wanted(e.sym));
            found.dims.extend(with_dims.map(|e| e.sym));
        }
        found
    }

    /// Declares a symbol, except for what is written.
    fn declare_unless(&mut self, id: SymId, written: &Written) {
        if self.typed_header && self.result == Some(id) || self.symbols[id].is_component() {
            return;
        }
        let type_written = written.types.contains(&id);
        let external_written = written.external.contains(&id);
        let dims_written = written.dims.contains(&id);
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

    /// Adds declarations of attributes, and POINTER for the pointee of a Cray pointer.
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
        if let StorageClass::Pointee(pointer) = s.storage_class {
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

    /// Adds a declaration after those that it may depend on, before DATA and statement functions.
    pub fn add_spec(&mut self, kind: SpecKind, span: Span) {
        let at = self.spec_insertion_point();
        self.specs.insert(at, Spec { kind, span });
    }

    /// Returns the index at which a declaration can be added: after the declarations that it may
    /// depend on, before DATA and statement functions.
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

    /// Removes a name from every declaration (except COMMON, EQUIVALENCE and DATA, whose meaning
    /// goes beyond the name).
    pub fn undeclare(&mut self, id: SymId) {
        self.undeclare_all(&|s| s == id);
    }

    /// Like [`Self::undeclare`], for all names for which `gone` returns true.
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
                | SpecKind::ThreadPrivate(_)
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
