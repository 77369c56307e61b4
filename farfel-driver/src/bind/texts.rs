//! CHARACTER arguments and results of wrappers.
//!
//! Fortran gets an address and a length in bytes; an array has elements of this length, one after another. What is
//! not a slice of bytes in Rust is copied, padded with blanks or truncated, and copied back after the call if
//! Fortran may assign it.

use super::{Argument, declaration, identifier};
use farfel_lang::ir::{ExprKind, Symbol, Type, Unit};
use farfel_lang::storage::constant;
use std::fmt::Write as _;

/// The declared length of a CHARACTER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextLength {
    Fixed(i64),
    /// `*(*)`: that of the actual argument.
    Open,
}

impl TextLength {
    /// Returns the length of a CHARACTER variable, `None` if it is not constant.
    pub(super) fn of(unit: &Unit, symbol: &Symbol) -> Option<TextLength> {
        match &symbol.length {
            None => Some(TextLength::Fixed(1)),
            Some(e) if e.kind == ExprKind::Star => Some(TextLength::Open),
            Some(e) => Some(TextLength::Fixed(constant::integer(unit, e)?.max(0))),
        }
    }
}

/// Returns the variable for the Fortran representation of an argument.
fn copy(a: &Argument) -> String {
    format!("farfel_{}", a.name.trim_start_matches("r#"))
}

/// Generates the code for a CHARACTER that is no array.
pub(super) fn scalar(a: &mut Argument, length: TextLength, assigned: bool) {
    let (name, copy) = (a.name.clone(), copy(a));
    let held = match (assigned, length) {
        (false, length) => {
            let least = match length {
                TextLength::Fixed(n) => n,
                TextLength::Open => 0,
            };
            a.rust = "impl ::core::convert::AsRef<[u8]>".into();
            a.before =
                format!("    let {copy} = ::farfel_runtime::padded({name}.as_ref(), {least});\n");
            a.actual = format!("{copy}.as_ptr()");
            &copy
        }
        (true, TextLength::Fixed(n)) => {
            a.rust = "&mut ::std::string::String".into();
            a.before = format!("    let mut {copy} = ::farfel_runtime::text_of({name}, {n});\n");
            a.after = format!("    *{name} = ::farfel_runtime::string_of(&{copy});\n");
            a.actual = format!("{copy}.as_mut_ptr()");
            &copy
        }
        (true, TextLength::Open) => {
            a.rust = "&mut [u8]".into();
            a.actual = format!("{name}.as_mut_ptr()");
            &name
        }
    };
    let variable = format!("{copy}_length");
    let _ = writeln!(a.before, "    let {variable} = {held}.len() as i64;");
    a.length = Some(variable);
}

/// Generates the code for an array of CHARACTER.
pub(super) fn array(
    a: &mut Argument,
    unit: &Unit,
    symbol: &Symbol,
    length: TextLength,
    assigned: bool,
) {
    let (name, copy) = (a.name.clone(), copy(a));
    let declared = declaration(unit, symbol);
    let (element, made) = match (assigned, length) {
        (false, TextLength::Open) => ("impl ::core::convert::AsRef<[u8]>", None),
        (false, TextLength::Fixed(n)) => ("impl ::core::convert::AsRef<[u8]>", Some(n)),
        (true, TextLength::Fixed(n)) => ("::std::string::String", Some(n)),
        (true, TextLength::Open) => ("impl ::core::convert::AsMut<[u8]>", None),
    };
    let length = made.map_or("None".into(), |n| format!("Some({n})"));
    let mutable = if assigned { "mut " } else { "" };
    a.rust = format!("&{mutable}[{element}]");
    a.fallible = true;
    let made = match (assigned, made) {
        (true, None) => {
            a.after = format!("    {copy}.put_back({name});\n");
            let shown = identifier(&unit.name);
            let (shown, plain) = (
                shown.trim_start_matches("r#"),
                name.trim_start_matches("r#"),
            );
            format!("of_mut(\"{shown}\", \"{plain}\", \"{declared}\", {name})")
        }
        _ => {
            if assigned {
                a.after = format!("    {copy}.to_strings({name});\n");
            }
            format!("of(\"{declared}\", {name}, ::core::option::Option::{length})")
        }
    };
    let variable = format!("{copy}_length");
    let _ = write!(
        a.before,
        "    let {mutable}{copy} = ::farfel_runtime::Texts::{made}?;\n    \
         let {variable} = {copy}.length() as i64;\n"
    );
    let method = if assigned { "as_mut_ptr" } else { "as_ptr" };
    a.actual = format!("{copy}.{method}()");
    a.length = Some(variable);
}

/// The value of a CHARACTER function.
pub(super) struct TextResult {
    /// The type of the value in Rust; `None` if the caller passes a place for it.
    pub value: Option<&'static str>,
    /// The argument for the value of a `CHARACTER*(*) FUNCTION`, whose length the caller determines.
    pub argument: Option<Argument>,
    /// Statements before the call.
    pub before: String,
    /// The address that Fortran gets.
    pub actual: String,
    /// The variable for the length.
    pub length: String,
}

impl TextResult {
    /// Returns the code for the result of a function if it is a CHARACTER.
    pub(super) fn of(unit: &Unit, result: &Symbol) -> Option<TextResult> {
        if result.ty != Some(Type::Character) {
            return None;
        }
        let length = "farfel_result_length".to_owned();
        Some(match TextLength::of(unit, result)? {
            TextLength::Fixed(n) => TextResult {
                value: Some("::std::string::String"),
                argument: None,
                before: format!(
                    "    let mut farfel_result = ::std::vec![b' '; {n}];\n    let {length} = {n}_i64;\n"
                ),
                actual: "farfel_result.as_mut_ptr()".into(),
                length,
            },
            TextLength::Open => {
                let name = identifier(&result.name);
                TextResult {
                    value: None,
                    before: format!("    let {length} = {name}.len() as i64;\n"),
                    actual: format!("{name}.as_mut_ptr()"),
                    length,
                    argument: Some(Argument {
                        name,
                        rust: "&mut [u8]".into(),
                        ..Argument::default()
                    }),
                }
            }
        })
    }
}
