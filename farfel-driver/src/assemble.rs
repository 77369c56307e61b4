//! Assembles the final Fortran: one fixed-form file.
//!
//! gfortran inlines calls if it sees the callee and nobody else can call it. So a *program* consists of its
//! plain units, compiled with `-fwhole-program`, and a *library* is one module whose subprograms are private,
//! with a public `bind(C)` subroutine for each that Rust can call:
//!
//! ```text
//!       MODULE FARFEL_DEMO_0_3_1
//!       PRIVATE
//!       CONTAINS
//!       FUNCTION NORM(N, X)          all units
//!       …
//!       SUBROUTINE FARFEL_EXPORT_NORM(…) BIND(C, NAME='farfel_demo_0_3_1__norm')
//!       …
//!       END MODULE
//!       BLOCK DATA                   and what must stay external
//! ```
//!
//! In a module the interfaces of subprograms are explicit, so gfortran rejects what separately compiled
//! FORTRAN 77 got away with: a scalar where an array is expected, another type, another number of arguments.
//! A subprogram that is called in such a way remains an external one after the module, in the same file,
//! together with all its callees (nothing outside can call into the module); gfortran then only warns.
//!
//! Names that the linker sees contain the package's name and version: external subprograms and COMMON blocks
//! are renamed.

use crate::border::{BORDER, WrapperStatements, border, fixed_form};
use crate::bounds_checks::{number_labels, place_of};
use crate::calls::{entered_at, entries, for_each_call, procedures};
use crate::config::Trap;
use crate::names::Names;
use crate::support::{self, Support};
use crate::traps;
use farfel_lang::Sources;
use farfel_lang::ir::{
    Arg, Class, Expr, ExprKind, Name, Origin, Program, SaveItem, Spec, SpecKind, StorageClass,
    SymId, Symbol, Type, Unit, UnitKind,
};
use farfel_lang::openmp;
use farfel_lang::print::{Options, print_program, print_unit};
use farfel_lang::types::type_of;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// Returns the text of an executable program.
pub(crate) fn program_text(program: &Program, sources: &Sources, every_line: bool) -> String {
    let mut program = program.clone();
    let own = entries(&program);
    for unit in &mut program.units {
        // Without EXTERNAL, gfortran would mistake these for its own procedures.
        let hidden: Vec<SymId> = procedures(unit)
            .filter(|(_, s)| s.storage_class == StorageClass::Global && own.contains_key(&s.name))
            .filter(|(_, s)| !s.external && is_gnu_intrinsic(&s.name))
            .map(|(id, _)| id)
            .collect();
        for id in hidden {
            unit.symbols[id].external = true;
            unit.declare(id);
        }
        // gfortran 12 loses labels that ASSIGN has stored in variables kept between calls.
        let keeps = |s: &Spec| matches!(s.kind, SpecKind::Save(_) | SpecKind::Data(_));
        if unit.specs.iter().any(keeps) {
            let mut body = std::mem::take(&mut unit.body);
            number_labels(unit, &mut body);
            unit.body = body;
        }
    }
    print_program(&program, &options(sources, every_line))
}

/// The connections of an object file of a library to the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    /// The part of its names that differs from those of other objects; `None` if it is the only one.
    pub object: Option<String>,
    /// The units in it that other objects call.
    pub shared: HashSet<Name>,
    /// The names by which it calls units of other objects, including ENTRY names.
    pub elsewhere: HashSet<Name>,
    /// The BLOCK DATA units of the whole library.
    pub block_data: HashSet<Name>,
    /// The procedures and COMMON blocks of the library that C knows by name, which are not renamed.
    pub by_name: BTreeSet<Name>,
}

/// An object file of a library, ready to be printed.
pub(crate) struct Library {
    names: Names,
    module: Name,
    inside: Vec<Unit>,
    outside: Vec<Unit>,
    renamed: HashMap<Name, Name>,
}

impl Library {
    /// Arranges the units of one object file.
    pub(crate) fn new(mut program: Program, names: Names, links: &Links) -> Library {
        for unit in &mut program.units {
            rename_commons(unit, &names, &links.by_name);
        }
        let own = entries(&program);
        let external = external(&program, &own, &links.shared);
        // The name of a copy that is private to this object contains the object's name, too.
        let global = |name: &Name, owner: &Name| match &links.object {
            Some(object) if !links.shared.contains(owner) => {
                names.global(&format!("{object}_0{name}"))
            }
            _ => names.global(name),
        };
        let mut renamed: HashMap<Name, Name> = own
            .iter()
            .filter(|(_, owner)| external.contains(*owner))
            .map(|(name, owner)| (name.clone(), global(name, owner)))
            .collect();
        for name in &links.elsewhere {
            if !own.contains_key(name) {
                renamed.insert(name.clone(), names.global(name));
            }
        }
        renamed.retain(|name, _| !links.by_name.contains(name));
        let private: HashSet<Name> = own
            .iter()
            .filter(|(_, owner)| !external.contains(*owner))
            .map(|(name, _)| name.clone())
            .collect();
        let module = match &links.object {
            Some(object) => names.global(&format!("0{object}")),
            None => names.module.clone(),
        };
        let mut library = Library {
            names,
            module,
            inside: Vec::new(),
            outside: Vec::new(),
            renamed,
        };
        for mut unit in program.units {
            drop_block_data(&mut unit, &links.block_data);
            let is_external = external.contains(&unit.name);
            rename_external(&mut unit, &library.renamed);
            if is_external {
                library.outside.push(unit);
            } else {
                use_module(&mut unit, &private);
                library.inside.push(unit);
            }
        }
        library
    }

    /// Returns the text, with a `bind(C)` subroutine for each of `exports`, which are units of this object.
    /// The line markers, which lead messages and debuggers to the user's lines, are made from `sources`.
    pub(crate) fn text(
        &self,
        exports: &[Name],
        traps: &[Trap],
        sources: &Sources,
        every_line: bool,
    ) -> String {
        let options = options(sources, every_line);
        let mut text = String::new();
        let all = self.inside.iter().chain(&self.outside);
        let support: BTreeSet<&str> = all.flat_map(support_of).collect();
        if !support.is_empty() {
            text.push_str(&support::module(&self.support(), &support));
        }
        let mut put = |statement: &str| text.push_str(&fixed_form(statement));
        put(&format!("MODULE {}", self.module));
        if !support.is_empty() {
            put(&format!("USE {}", self.support()));
        }
        put("PRIVATE");
        for name in exports {
            put(&format!("PUBLIC {}", self.names.wrapper(name)));
        }
        put("CONTAINS");
        for unit in &self.inside {
            text.push('\n');
            text.push_str(&print_unit(unit, &options));
        }
        if !exports.is_empty() {
            let _ = writeln!(text, "# 1 \"{BORDER}\"");
        }
        for name in exports {
            let global = self.renamed.get(name).unwrap_or(name);
            let entered = |units: &[Unit], name: &Name| {
                let unit = units.iter().find_map(|u| entered_at(u, name));
                unit.map(|u| u.into_owned())
            };
            let around = |unit: &Unit| {
                let place = place_of(sources, unit.span).unwrap_or_else(|| name.to_string());
                match unit.origin {
                    Origin::Generated => WrapperStatements::default(),
                    _ => traps::around(traps, &place),
                }
            };
            if let Some(unit) = entered(&self.inside, name) {
                text.push_str(&border(&unit, name, &self.names, false, around(&unit)));
            } else if let Some(unit) = entered(&self.outside, global) {
                text.push_str(&border(&unit, name, &self.names, true, around(&unit)));
            }
        }
        let _ = writeln!(text, "      END MODULE");
        for unit in &self.outside {
            text.push('\n');
            if support_of(unit).next().is_some() {
                let mut unit = unit.clone();
                let kind = SpecKind::Use(self.support());
                let span = unit.span;
                unit.specs.insert(0, Spec { kind, span });
                text.push_str(&print_unit(&unit, &options));
            } else {
                text.push_str(&print_unit(unit, &options));
            }
        }
        text
    }

    /// Returns the name of the module with the functions that checks call.
    fn support(&self) -> String {
        self.names.global(&format!("0_{}", self.module)).to_string()
    }
}

/// Returns the names of the functions that a unit's checks call.
fn support_of(unit: &Unit) -> impl Iterator<Item = &str> {
    let called = procedures(unit).filter(|(_, s)| s.storage_class == StorageClass::Global);
    called
        .map(|(_, s)| s.name.as_str())
        .filter(|n| Support::is_name(n))
}

fn options(sources: &Sources, every_line: bool) -> Options<'_> {
    Options {
        line_markers: Some(sources),
        every_line,
        ..Options::default()
    }
}

/// Renames COMMON blocks so that no other library has the same names.
fn rename_commons(unit: &mut Unit, names: &Names, by_name: &BTreeSet<Name>) {
    let rename = |name: &mut Name| {
        if by_name.contains(name) {
            return;
        }
        *name = names.common(name);
    };
    openmp::rename_blocks(unit, &|name| {
        let mut name = name.clone();
        rename(&mut name);
        name
    });
    for spec in &mut unit.specs {
        match &mut spec.kind {
            SpecKind::Common(blocks) => blocks.iter_mut().for_each(|(name, _)| rename(name)),
            SpecKind::ThreadPrivate(blocks) => blocks.iter_mut().for_each(rename),
            SpecKind::Save(items) => {
                for item in items {
                    if let SaveItem::Common(name) = item {
                        rename(name);
                    }
                }
            }
            _ => {}
        }
    }
    for id in unit.symbols.ids() {
        if let StorageClass::Common(name) = &mut unit.symbols[id].storage_class {
            rename(name);
        }
    }
}

/// Returns the units that cannot be in the module: those that other objects call, BLOCK DATA, those called in
/// a way that an explicit interface forbids, and the callees of these.
fn external(program: &Program, own: &HashMap<Name, Name>, shared: &HashSet<Name>) -> HashSet<Name> {
    let mut external = shared.clone();
    for unit in &program.units {
        if unit.kind == UnitKind::BlockData || has_any_length(unit) {
            external.insert(unit.name.clone());
        }
        for_each_call(unit, &mut |callee, args| {
            let symbol = &unit.symbols[callee];
            if symbol.storage_class == StorageClass::Global
                && let Some(owner) = own.get(&symbol.name)
                && let Some(target) = program.unit(owner)
                && !conforms(unit, symbol, args, target)
            {
                external.insert(owner.clone());
            }
        });
    }
    let mut work: Vec<Name> = external.iter().cloned().collect();
    while let Some(name) = work.pop() {
        let Some(unit) = program.unit(&name) else {
            continue;
        };
        for (_, symbol) in procedures(unit) {
            if symbol.storage_class == StorageClass::Global
                && let Some(owner) = own.get(&symbol.name)
                && external.insert(owner.clone())
            {
                work.push(owner.clone());
            }
        }
    }
    external
}

/// Whether a unit is a function whose callers determine the length of its result, which a module function
/// cannot be.
fn has_any_length(unit: &Unit) -> bool {
    let star = |s: SymId| {
        let symbol = &unit.symbols[s];
        matches!(&symbol.length, Some(e) if e.kind == ExprKind::Star)
    };
    let mut points = unit.entry_points();
    unit.kind == UnitKind::Function && points.any(|e| e.result.is_some_and(star))
}

/// Whether a call conforms to the interface of its callee, as a compiler that sees both demands.
fn conforms(unit: &Unit, callee: &Symbol, args: &[Expr], target: &Unit) -> bool {
    let Some((dummies, result)) = interface(target, &callee.name) else {
        return false;
    };
    let same_kind = match callee.class {
        Class::Function => result.is_some() && result == callee.ty,
        Class::Subroutine => result.is_none(),
        _ => true,
    };
    same_kind
        && dummies.len() == args.len()
        && dummies
            .iter()
            .zip(args)
            .all(|(d, a)| argument_fits(unit, a, target, *d))
}

/// Returns the dummy arguments and the result type of a unit, or of one of its ENTRY points.
fn interface<'u>(target: &'u Unit, name: &str) -> Option<(&'u [Arg], Option<Type>)> {
    let point = target.entry_points().find(|e| e.name == name)?;
    let function = target.kind == UnitKind::Function;
    let result = point.result.filter(|_| function);
    Some((point.args, result.and_then(|r| target.symbols[r].ty)))
}

fn argument_fits(unit: &Unit, actual: &Expr, target: &Unit, dummy: Arg) -> bool {
    let Arg::Dummy(dummy) = dummy else {
        return matches!(actual.kind, ExprKind::AltReturn(_));
    };
    let dummy = &target.symbols[dummy];
    let symbol = |e: &Expr| match e.kind {
        ExprKind::Var(s) => Some(&unit.symbols[s]),
        _ => None,
    };
    let is_procedure = symbol(actual)
        .is_some_and(|s| s.class.is_procedure() || matches!(s.class, Class::Intrinsic(_)));
    if dummy.class.is_procedure() || is_procedure {
        return dummy.class.is_procedure() == is_procedure;
    }
    // A Hollerith constant has no type and conforms to all.
    let ty = type_of(unit, actual);
    if ty.is_some() && ty != dummy.ty {
        return false;
    }
    let is_section = |subscripts: &[Expr]| {
        subscripts
            .iter()
            .any(|s| matches!(s.kind, ExprKind::Range(..)))
    };
    match &actual.kind {
        ExprKind::Var(s) if unit.symbols[*s].is_array() => dummy.is_array(),
        ExprKind::Element(_, subscripts) if is_section(subscripts) => dummy.is_array(),
        ExprKind::Element(..) => true,
        // CHARACTER has its own rules of sequence association.
        _ => !dummy.is_array() || ty == Some(Type::Character),
    }
}

/// Removes `EXTERNAL name` of a BLOCK DATA, which asks linkers to include it; here it is always linked.
fn drop_block_data(unit: &mut Unit, block_data: &HashSet<Name>) {
    for id in unit.symbols.ids() {
        let s = &unit.symbols[id];
        if s.class.is_procedure()
            && s.storage_class == StorageClass::Global
            && block_data.contains(&s.name)
        {
            unit.undeclare(id);
        }
    }
}

/// Renames external subprograms, and the references to them, so that no other library has the same names.
fn rename_external(unit: &mut Unit, renamed: &HashMap<Name, Name>) {
    let entries = own_entries(unit);
    for id in unit.symbols.ids() {
        let s = &unit.symbols[id];
        let refers = s.class.is_procedure() && s.storage_class == StorageClass::Global;
        let own = s.storage_class == StorageClass::Result
            || entries.contains(&id)
            || (s.class.is_procedure() && s.name == unit.name);
        let Some(new) = renamed.get(&s.name).filter(|_| refers || own).cloned() else {
            continue;
        };
        unit.symbols.rename(id, new);
        // The implicit type follows from the old name.
        let symbol = &mut unit.symbols[id];
        let subroutine = own && unit.kind == UnitKind::Subroutine;
        symbol.typed = symbol.ty.is_some() && !subroutine;
        if refers && !own {
            symbol.external = true;
        }
        let header = unit.typed_header && unit.result == Some(id);
        if !header && !subroutine {
            unit.declare(id);
        }
    }
    if let Some(new) = renamed.get(&unit.name) {
        unit.name = new.clone();
    }
}

/// Makes the names of a unit mean the same in a module as outside: references to the module's subprograms
/// lose their declarations, which would make them external; variables and intrinsic functions with the name
/// of such a subprogram get a declaration.
fn use_module(unit: &mut Unit, private: &HashSet<Name>) {
    let entries = own_entries(unit);
    for id in unit.symbols.ids() {
        let s = &unit.symbols[id];
        if !private.contains(&s.name) || entries.contains(&id) {
            continue;
        }
        match (&s.class, &s.storage_class) {
            (class, StorageClass::Global) if class.is_procedure() => unit.undeclare(id),
            // An array has a declaration already, which makes it local.
            (Class::Variable | Class::StatementFunction(..), StorageClass::Local)
                if !s.is_array() =>
            {
                unit.symbols[id].typed = true;
                unit.declare(id);
            }
            (Class::Intrinsic(_), _) => {
                let span = s.span;
                unit.undeclare(id);
                unit.specs.insert(
                    first_executable_like(unit),
                    Spec {
                        kind: SpecKind::Intrinsic(vec![id]),
                        span,
                    },
                );
            }
            _ => {}
        }
    }
}

/// Returns the names of a unit's ENTRY statements.
fn own_entries(unit: &Unit) -> HashSet<SymId> {
    let statements = unit.entry_points().filter_map(|e| e.statement);
    statements.map(|e| e.name).collect()
}

/// Returns the position where DATA and statement functions begin.
fn first_executable_like(unit: &Unit) -> usize {
    unit.specs
        .iter()
        .position(|s| matches!(s.kind, SpecKind::Data(_) | SpecKind::StatementFunction(_)))
        .unwrap_or(unit.specs.len())
}

/// Whether a name is one of the intrinsic procedures that gfortran adds to those of FORTRAN 77, which are
/// listed in sorted order.
fn is_gnu_intrinsic(name: &str) -> bool {
    GNU_INTRINSICS.binary_search(&name).is_ok()
}

const GNU_INTRINSICS: &[&str] = &[
    "ABORT",
    "ACCESS",
    "ACHAR",
    "ACOSD",
    "ACOSH",
    "ADJUSTL",
    "ADJUSTR",
    "ALARM",
    "ALL",
    "ALLOCATED",
    "AND",
    "ANY",
    "ASIND",
    "ASINH",
    "ASSOCIATED",
    "ATAN2D",
    "ATAND",
    "ATANH",
    "ATOMIC_ADD",
    "BESJ0",
    "BESJ1",
    "BESJN",
    "BESSEL_J0",
    "BESSEL_J1",
    "BESSEL_JN",
    "BESSEL_Y0",
    "BESSEL_Y1",
    "BESSEL_YN",
    "BESY0",
    "BESY1",
    "BESYN",
    "BGE",
    "BGT",
    "BIT_SIZE",
    "BLE",
    "BLT",
    "CEILING",
    "CHDIR",
    "CHMOD",
    "COMMAND_ARGUMENT_COUNT",
    "COSD",
    "COTAN",
    "COTAND",
    "COUNT",
    "CPU_TIME",
    "CSHIFT",
    "CTIME",
    "DACOSH",
    "DASINH",
    "DATANH",
    "DATE_AND_TIME",
    "DBESJ0",
    "DBESJ1",
    "DBESJN",
    "DBESY0",
    "DBESY1",
    "DBESYN",
    "DCMPLX",
    "DCONJG",
    "DFLOAT",
    "DGAMMA",
    "DIGITS",
    "DIMAG",
    "DLGAMA",
    "DOT_PRODUCT",
    "DREAL",
    "DSHIFTL",
    "DSHIFTR",
    "DTIME",
    "EOSHIFT",
    "EPSILON",
    "ERFC_SCALED",
    "ETIME",
    "EXECUTE_COMMAND_LINE",
    "EXIT",
    "EXPONENT",
    "FDATE",
    "FGET",
    "FGETC",
    "FINDLOC",
    "FLOOR",
    "FLUSH",
    "FNUM",
    "FPUT",
    "FPUTC",
    "FRACTION",
    "FREE",
    "FSEEK",
    "FSTAT",
    "FTELL",
    "GERROR",
    "GETARG",
    "GETCWD",
    "GETENV",
    "GETGID",
    "GETLOG",
    "GETPID",
    "GETUID",
    "GET_COMMAND",
    "GET_COMMAND_ARGUMENT",
    "GET_ENVIRONMENT_VARIABLE",
    "GMTIME",
    "HOSTNM",
    "HUGE",
    "HYPOT",
    "IALL",
    "IANY",
    "IARGC",
    "IBITS",
    "IDATE",
    "IERRNO",
    "IMAG",
    "IMAGE_INDEX",
    "IMAGPART",
    "INT2",
    "INT8",
    "IPARITY",
    "IRAND",
    "ISATTY",
    "ISHFTC",
    "ISNAN",
    "IS_IOSTAT_END",
    "IS_IOSTAT_EOR",
    "ITIME",
    "KILL",
    "KIND",
    "LBOUND",
    "LEADZ",
    "LEN_TRIM",
    "LGAMMA",
    "LINK",
    "LNBLNK",
    "LOC",
    "LOG_GAMMA",
    "LONG",
    "LSHIFT",
    "LSTAT",
    "LTIME",
    "MALLOC",
    "MASKL",
    "MASKR",
    "MATMUL",
    "MAXEXPONENT",
    "MAXLOC",
    "MAXVAL",
    "MCLOCK",
    "MCLOCK8",
    "MERGE",
    "MERGE_BITS",
    "MINEXPONENT",
    "MINLOC",
    "MINVAL",
    "MODULO",
    "MOVE_ALLOC",
    "MVBITS",
    "NEAREST",
    "NEW_LINE",
    "NORM2",
    "NULL",
    "NUM_IMAGES",
    "OR",
    "PACK",
    "PARITY",
    "PERROR",
    "POPCNT",
    "POPPAR",
    "PRECISION",
    "PRESENT",
    "PRODUCT",
    "RADIX",
    "RAN",
    "RAND",
    "RANDOM_INIT",
    "RANDOM_NUMBER",
    "RANDOM_SEED",
    "RANGE",
    "RANK",
    "REALPART",
    "RENAME",
    "REPEAT",
    "RESHAPE",
    "RRSPACING",
    "RSHIFT",
    "SAME_TYPE_AS",
    "SCALE",
    "SCAN",
    "SECNDS",
    "SECOND",
    "SELECTED_INT_KIND",
    "SELECTED_REAL_KIND",
    "SET_EXPONENT",
    "SHAPE",
    "SHIFTA",
    "SHIFTL",
    "SHIFTR",
    "SHORT",
    "SIGNAL",
    "SIND",
    "SIZE",
    "SIZEOF",
    "SLEEP",
    "SPACING",
    "SPREAD",
    "SRAND",
    "STAT",
    "STORAGE_SIZE",
    "SUM",
    "SYMLNK",
    "SYSTEM",
    "SYSTEM_CLOCK",
    "TAND",
    "THIS_IMAGE",
    "TIME",
    "TIME8",
    "TINY",
    "TRAILZ",
    "TRANSFER",
    "TRANSPOSE",
    "TRIM",
    "TTYNAM",
    "UBOUND",
    "UMASK",
    "UNLINK",
    "UNPACK",
    "VERIFY",
    "XOR",
    "ZABS",
    "ZCOS",
    "ZEXP",
    "ZLOG",
    "ZSIN",
    "ZSQRT",
];
