//! CHARACTER arguments and results of wrappers.
//!
//! Fortran gets an address and a length in bytes; an array has elements of this length, one after another. What is
//! not a slice of bytes in Rust is copied, padded with blanks or truncated, and copied back after the call if
//! Fortran may assign it.

use super::value::{Language, value};
use super::{Argument, identifier};
use farfel_lang::ir::{ExprKind, SymId, Symbol, Type, Unit};
use farfel_lang::storage::constant;
use std::fmt::Write as _;

/// The declared length of a CHARACTER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextLength {
    Fixed(i64),
    /// The value of this Rust expression, an `i64`.
    Variable(String),
    /// `*(*)`: that of the actual argument.
    Open,
}

impl TextLength {
    /// Returns the length of a CHARACTER variable. `variable` translates arguments in it. Returns `None` if it
    /// depends on anything else.
    pub(super) fn of(
        unit: &Unit,
        symbol: &Symbol,
        variable: &dyn Fn(SymId) -> Option<String>,
    ) -> Option<TextLength> {
        Some(match &symbol.length {
            None => TextLength::Fixed(1),
            Some(e) if e.kind == ExprKind::Star => TextLength::Open,
            Some(e) => match constant::integer(unit, e) {
                Some(n) => TextLength::Fixed(n.max(0)),
                None => TextLength::Variable(value(unit, e, 0, Language::Rust, variable)?),
            },
        })
    }

    /// Returns the length as an optional `usize` of Rust.
    fn optional(&self) -> String {
        let option = "::core::option::Option";
        match self {
            TextLength::Open => format!("{option}::None"),
            TextLength::Fixed(n) => format!("{option}::Some({n})"),
            TextLength::Variable(n) => {
                format!("{option}::Some(::core::primitive::usize::try_from({n}).unwrap_or(0))")
            }
        }
    }
}

/// Returns the variable for the Fortran representation of an argument.
fn copy(a: &Argument) -> String {
    format!("farfel_{}", a.name.trim_start_matches("r#"))
}

/// Generates the code for a CHARACTER that is no array. `declared` is its declaration.
pub(super) fn scalar(a: &mut Argument, length: &TextLength, declared: &str, assigned: bool) {
    let (name, copy) = (a.name.clone(), copy(a));
    let text = "impl ::core::convert::AsRef<[u8]>";
    let variable = format!("{copy}_length");
    let held = match (assigned, length) {
        (false, TextLength::Fixed(_) | TextLength::Open) => {
            let least = match length {
                TextLength::Fixed(n) => *n,
                _ => 0,
            };
            a.rust = text.into();
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
        // As an array with one element.
        (false, TextLength::Variable(_)) => {
            a.rust = text.into();
            return elements(a, length, declared, &format!("&[{name}]"), None);
        }
        (true, TextLength::Variable(_)) => {
            a.rust = "&mut ::std::string::String".into();
            let one = format!("::core::slice::from_mut({name})");
            return elements(a, length, declared, &one, Some("to_strings"));
        }
    };
    let _ = writeln!(a.before, "    let {variable} = {held}.len() as i64;");
    a.length = Some(variable);
}

/// Generates the code for an array of CHARACTER.
pub(super) fn array(
    a: &mut Argument,
    function: &str,
    length: &TextLength,
    declared: &str,
    assigned: bool,
) {
    let name = a.name.clone();
    let mutable = if assigned { "mut " } else { "" };
    let element = match (assigned, length) {
        (false, _) => "impl ::core::convert::AsRef<[u8]>",
        (true, TextLength::Open) => "impl ::core::convert::AsMut<[u8]>",
        (true, _) => "::std::string::String",
    };
    a.rust = format!("&{mutable}[{element}]");
    if assigned && *length == TextLength::Open {
        let plain = name.trim_start_matches("r#");
        let made = format!("of_mut(\"{function}\", \"{plain}\", \"{declared}\", {name})");
        return held(a, &made, &name, Some("put_back"));
    }
    elements(a, length, declared, &name, assigned.then_some("to_strings"));
}

/// Copies `texts` before the call, and back by a method.
fn elements(
    a: &mut Argument,
    length: &TextLength,
    declared: &str,
    texts: &str,
    back: Option<&str>,
) {
    let made = format!("of(\"{declared}\", {texts}, {})", length.optional());
    held(a, &made, texts, back);
}

fn held(a: &mut Argument, made: &str, texts: &str, back: Option<&str>) {
    let copy = copy(a);
    let variable = format!("{copy}_length");
    let mutable = if back.is_some() { "mut " } else { "" };
    a.fallible = true;
    a.before = format!(
        "    let {mutable}{copy} = ::farfel_runtime::Texts::{made}?;\n    \
         let {variable} = {copy}.length() as i64;\n"
    );
    if let Some(back) = back {
        a.after = format!("    {copy}.{back}({texts});\n");
    }
    let method = if back.is_some() {
        "as_mut_ptr"
    } else {
        "as_ptr"
    };
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
        Some(match TextLength::of(unit, result, &|_| None)? {
            TextLength::Variable(_) => return None,
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
