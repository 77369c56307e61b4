//! The Fortran side of the border: a `bind(C)` subroutine for each exported subprogram.
//!
//! Its arguments are, in this order,
//!
//! 1. those of the subprogram, as addresses: for a CHARACTER the address of its first character, for a
//!    procedure a C function that takes addresses and returns a value;
//! 2. the address of a function's result, or of the number of the alternate return that was taken;
//! 3. for each CHARACTER its length, an `INTEGER*8`, again as an address; for an array the length of an element,
//!    and last the length of a CHARACTER result,
//!
//! so that the calling sequence is the same on every machine. A text is not copied here: it may be larger
//! than the stack, and it may be assigned. An array of them is passed as its first element, from which Fortran
//! takes the others.

use crate::names::Names;
use farfel_lang::ir::{Arg, Class, Type, Unit, UnitKind};
use std::fmt::Write as _;

/// The file name that compiler messages show for this code.
pub(crate) const BORDER: &str = "<farfel bindings>";

/// Statements to be put around the call of a unit.
#[derive(Debug, Default)]
pub(crate) struct WrapperStatements {
    pub uses: Vec<String>,
    pub declarations: Vec<String>,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// Returns the subroutine through which Rust calls a unit. `name` is the unit's name before it was made
/// unique. `external` means that the unit is outside the module, so that its interface is not known there.
pub(crate) fn border(
    unit: &Unit,
    name: &str,
    names: &Names,
    external: bool,
    around: WrapperStatements,
) -> String {
    let types: Vec<Option<Type>> = unit
        .args
        .iter()
        .map(|a| match a {
            // A procedure that is only passed on need not be a function, unless it has a declared type.
            Arg::Dummy(s) => {
                let s = &unit.symbols[*s];
                s.ty.filter(|_| s.class != Class::Procedure || s.typed)
            }
            Arg::AltReturn(_) => None,
        })
        .collect();
    let text_like = |i: &usize| types[*i] == Some(Type::Character);
    let result = unit
        .result
        .filter(|_| unit.kind == UnitKind::Function)
        .and_then(|r| unit.symbols[r].ty);
    let is_alternate = |i: &usize| unit.args[*i].sym().is_none();
    let alternates: Vec<usize> = (0..types.len()).filter(is_alternate).collect();
    let dummy = |i: usize| format!("FARFEL_{}", i + 1);
    let length = |i: usize| format!("FARFEL_L{}", i + 1);
    let text_of = |i: usize| format!("FARFEL_T{}", i + 1);
    let count = 0..types.len();
    let characters: Vec<usize> = count.clone().filter(text_like).collect();

    let given = count.clone().filter(|i| !is_alternate(i));
    let mut all: Vec<String> = given.map(dummy).collect();
    let returns = result.is_some() || !alternates.is_empty();
    all.extend(returns.then(|| "FARFEL_RESULT".to_owned()));
    all.extend(characters.iter().map(|i| length(*i)));
    let text_result = result == Some(Type::Character);
    all.extend(text_result.then(|| "FARFEL_RESULT_L".to_owned()));

    let mut text = String::new();
    let mut put = |statement: String| text.push_str(&fixed_form(&statement));
    put(format!(
        "SUBROUTINE {}({}) BIND(C, NAME='{}')",
        names.wrapper(name),
        all.join(", "),
        names.symbol(name)
    ));
    let procedure = |i: usize| format!("FARFEL_P{}", i + 1);
    let is_procedure = |i: &usize| {
        let sym = unit.args[*i].sym();
        sym.is_some_and(|s| unit.symbols[s].class.is_procedure())
    };
    let procedures: Vec<usize> = count.clone().filter(is_procedure).collect();
    if !procedures.is_empty() {
        put(
            "USE, INTRINSIC :: ISO_C_BINDING, ONLY: FARFEL_FUNPTR => C_FUNPTR, \
             FARFEL_POINT => C_F_PROCPOINTER"
                .into(),
        );
    }
    if !characters.is_empty() || text_result {
        put(
            "USE, INTRINSIC :: ISO_C_BINDING, ONLY: FARFEL_PTR => C_PTR, \
             FARFEL_TARGET => C_F_POINTER"
                .into(),
        );
    }
    around.uses.into_iter().for_each(&mut put);
    put("IMPLICIT NONE".into());
    around.declarations.into_iter().for_each(&mut put);
    for (i, arg) in unit.args.iter().enumerate() {
        let Arg::Dummy(s) = arg else {
            continue;
        };
        if is_procedure(&i) {
            let ty = types[i].map_or(String::new(), |ty| ty.to_string());
            put(format!("TYPE(FARFEL_FUNPTR), VALUE :: {}", dummy(i)));
            put(format!("PROCEDURE({ty}), POINTER :: {}", procedure(i)));
            continue;
        }
        let Some(ty) = types[i] else {
            continue;
        };
        if ty == Type::Character {
            put(format!("INTEGER*8 {}", length(i)));
            put(format!("TYPE(FARFEL_PTR), VALUE :: {}", dummy(i)));
            let text = text_of(i);
            put(format!("CHARACTER(LEN={}), POINTER :: {text}", length(i)));
        } else {
            let array = unit.symbols[*s].is_array();
            let bounds = if array { "(*)" } else { "" };
            put(format!("{ty} {}{bounds}", dummy(i)));
        }
    }
    let mut value = "FARFEL_RESULT";
    if text_result {
        value = "FARFEL_RESULT_T";
        put("INTEGER*8 FARFEL_RESULT_L".into());
        put("TYPE(FARFEL_PTR), VALUE :: FARFEL_RESULT".into());
        put(format!(
            "CHARACTER(LEN=FARFEL_RESULT_L), POINTER :: {value}"
        ));
    } else if let Some(ty) = result {
        put(format!("{ty} FARFEL_RESULT"));
    } else if returns {
        put("INTEGER*4 FARFEL_RESULT".into());
    }
    if external {
        if let Some(ty) = result {
            let length = if text_result {
                "(LEN=FARFEL_RESULT_L)"
            } else {
                ""
            };
            put(format!("{ty}{length} {}", unit.name));
        }
        put(format!("EXTERNAL {}", unit.name));
    }
    for i in &characters {
        put(format!(
            "CALL FARFEL_TARGET({}, {})",
            dummy(*i),
            text_of(*i)
        ));
    }
    if text_result {
        put(format!("CALL FARFEL_TARGET(FARFEL_RESULT, {value})"));
    }
    for i in &procedures {
        put(format!(
            "CALL FARFEL_POINT({}, {})",
            dummy(*i),
            procedure(*i)
        ));
    }
    let actual: Vec<String> = count
        .map(|i| match i {
            i if is_alternate(&i) => format!("*{}", label(i)),
            i if text_like(&i) => text_of(i),
            i if procedures.contains(&i) => procedure(i),
            i => dummy(i),
        })
        .collect();
    if !alternates.is_empty() {
        put("FARFEL_RESULT = 0".into());
    }
    around.before.into_iter().for_each(&mut put);
    let call = format!("{}({})", unit.name, actual.join(", "));
    put(match result {
        Some(_) => format!("{value} = {call}"),
        None => format!("CALL {call}"),
    });
    let end = types.len() + 1;
    for (i, number) in alternates.iter().zip(1..) {
        text.push_str(&fixed_form(&format!("GOTO {end}")));
        let _ = writeln!(text, "{:<6}FARFEL_RESULT = {number}", label(*i));
    }
    if !alternates.is_empty() {
        let _ = writeln!(text, "{end:<6}CONTINUE");
    }
    around
        .after
        .iter()
        .for_each(|s| text.push_str(&fixed_form(s)));
    text.push_str(&fixed_form("END SUBROUTINE"));
    text
}

/// Returns the label at which an alternate return ends.
fn label(argument: usize) -> usize {
    argument + 1
}

/// Formats a statement in columns 7 to 72, continued if necessary.
pub(crate) fn fixed_form(statement: &str) -> String {
    let mut lines = String::new();
    let mut rest = statement;
    let mut start = "      ";
    while rest.len() > 66 {
        let widest = (0..=66).rev().find(|i| rest.is_char_boundary(*i));
        let full = widest.unwrap_or(0);
        // Preferably broken after a comma, although a break is allowed anywhere.
        let at = rest[..full].rfind(", ").map_or(full, |i| i + 2);
        let (line, after) = rest.split_at(at);
        let _ = writeln!(lines, "{start}{}", line.trim_end());
        (rest, start) = (after, "     +");
    }
    let _ = writeln!(lines, "{start}{rest}");
    lines
}
