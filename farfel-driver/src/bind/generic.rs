//! Procedures that are written once, for numbers of any kind: a trait for each procedure of an exported
//! subprogram that takes procedures together with their derivatives, and for each such subprogram a function
//! `generic`, which takes implementations of these traits and computes the derivatives itself, with the crate
//! num-dual:
//!
//! ```text
//! pub mod procedures {
//!     pub trait NewtonF { fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, x: D) -> D; }
//! }
//! pub mod newton {
//!     pub fn generic(f: impl procedures::NewtonF, x: &mut f64, tol: f64) -> i32 { … }
//! }
//! ```
//!
//! The derivatives of one subprogram that the settings request share its traits.
//!
//! The macro around it leaves it out if the feature `num-dual` of `farfel-runtime` is off.

use super::procedures::{Family, Member, is_complex};
use super::{Argument, RawFunction, camel, identifier};
use crate::Config;
use farfel_lang::ir::{AdMode, Name};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The function that Rust calls: its arguments, except the place for a text, and the type of its result.
pub(super) struct Header {
    pub arguments: Vec<(usize, String, String)>,
    pub result: String,
}

impl Header {
    /// The header of a function with all arguments.
    pub(super) fn of(raw: &RawFunction) -> Header {
        let taken = raw.args.iter().filter(|(_, a)| !a.rust.is_empty());
        let one = |(p, a): &(usize, Argument)| (*p, a.name.clone(), a.rust.clone());
        let value = raw.value.as_deref();
        Header {
            arguments: taken.map(one).collect(),
            result: match (value, raw.fallible) {
                (value, true) => format!(
                    " -> ::core::result::Result<{}, ::farfel_runtime::Error>",
                    value.unwrap_or("()")
                ),
                (Some(value), false) => format!(" -> {value}"),
                (None, false) => String::new(),
            },
        }
    }
}

/// Generates the module for a function, if all procedures with derivatives can be written for numbers of any
/// kind.
pub(super) fn module(
    function: &str,
    header: &Header,
    families: &[Family],
    config: &Config,
) -> String {
    let mut t = String::new();
    let plain = function.trim_start_matches("r#");
    let _ = writeln!(
        t,
        "\n::farfel_runtime::num_dual_items! {{\n/// [`{plain}`]({plain}()) with procedures for numbers of any kind, whose derivatives are computed \
         by the crate num-dual.\n#[allow(dead_code, unused_imports, non_camel_case_types, clippy::all, clippy::pedantic)]\npub mod {function} {{\n    use super::*;\n"
    );
    let mut given: Vec<String> = Vec::new();
    let mut actual: Vec<String> = Vec::new();
    for (position, name, ty) in &header.arguments {
        let member = families
            .iter()
            .find_map(|f| Some((f, f.members.iter().find(|m| m.position == *position)?)));
        match member {
            Some((family, member)) => {
                if member.modes.is_empty() {
                    given.push(format!("{name}: impl procedures::{}", family.of_trait));
                }
                actual.push(closure(family, member));
            }
            None => {
                given.push(format!("{name}: {ty}"));
                actual.push(name.clone());
            }
        }
    }
    let _ = writeln!(
        t,
        "    /// Like [`{plain}`](super::{plain}()).\n    pub fn generic({}){} {{",
        given.join(", "),
        header.result
    );
    for family in families {
        let name = &family.name;
        t.push_str(&adapter(family, config));
        let _ = writeln!(
            t,
            "        let farfel_{0} = ::core::cell::RefCell::new({name});",
            name.trim_start_matches("r#")
        );
    }
    let _ = writeln!(
        t,
        "        super::{function}({})\n    }}\n}}\n}}",
        actual.join(", ")
    );
    t
}

/// Names the traits of the procedures of each subprogram, and returns the module that defines them. `owner`
/// returns the subprogram of which another one is the derivative.
pub(super) fn traits(
    all: &mut BTreeMap<Name, Vec<Family>>,
    owner: &dyn Fn(&Name) -> Name,
    config: &Config,
) -> String {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for (unit, families) in &mut *all {
        for family in families {
            let procedure = camel(&family.name.trim_start_matches("r#").to_ascii_uppercase());
            let of_owner = camel(&owner(unit)) + &procedure;
            let of_unit = camel(unit) + &procedure;
            for name in [of_owner, of_unit] {
                let text = of_trait(&name, family, config);
                if *known.entry(name.clone()).or_insert_with(|| text.clone()) == text {
                    family.of_trait = name;
                    break;
                }
            }
        }
    }
    all.retain(|_, families| families.iter().all(|f| !f.of_trait.is_empty()));
    if all.is_empty() {
        return String::new();
    }
    let texts: String = known.into_values().collect();
    format!(
        "\n::farfel_runtime::num_dual_items! {{\n/// The procedures that functions `generic` take, for numbers of any kind.\n\
         #[allow(dead_code, non_camel_case_types, non_snake_case)]\npub mod procedures {{\n{texts}}}\n}}\n"
    )
}

/// The name of a closure's argument, also as a field.
fn argument(k: usize) -> String {
    format!("a{}", k + 1)
}

/// The type of a number of any kind.
fn number(complex: bool) -> &'static str {
    match complex {
        true => "::farfel_runtime::Complex<D>",
        false => "D",
    }
}

/// The trait that users implement.
fn of_trait(name: &str, family: &Family, config: &Config) -> String {
    let arguments = (family.arguments.iter()).map(|a| {
        let number = number(is_complex(a.data.ty));
        let ty = match (a.active, a.data.array, a.data.assigns) {
            (false, ..) => a.data.rust(config),
            (true, true, true) => format!("&mut [{number}]"),
            (true, true, false) => format!("&[{number}]"),
            (true, false, true) => format!("&mut {number}"),
            (true, false, false) => number.into(),
        };
        format!(", {}: {ty}", identifier(&a.name))
    });
    let result = match family.function {
        true => format!(" -> {}", number(family.complex)),
        false => String::new(),
    };
    format!(
        "    /// The procedure `{}`, for numbers of any kind.\n    pub trait {name} {{\n        \
         /// `{}`\n        fn call<D: ::farfel_runtime::dual::DualNum<Primitive = {}> + Copy>(&mut self{}){result};\n    }}\n\n",
        family.name.trim_start_matches("r#"),
        family.call,
        family.number,
        arguments.collect::<String>(),
    )
}

/// The structure with the arguments that have no derivative, for which the others are one slice.
fn adapter(family: &Family, config: &Config) -> String {
    let name = &family.of_trait;
    let numbered = || family.arguments.iter().enumerate();
    let last = numbered().rfind(|(_, a)| a.active).map(|(k, _)| k);
    let fields = numbered().filter(|(_, a)| !a.active).map(|(k, a)| {
        let ty = a.data.rust(config).replace('&', "&'a ");
        format!(" {}: {ty},", argument(k))
    });
    let fields: String = fields.collect();
    let (mut split, mut actual, mut usage) = (String::new(), Vec::new(), Vec::new());
    let mut puts = String::new();
    for (k, a) in numbered() {
        let own = argument(k);
        if !a.active {
            actual.push(format!("self.{own}"));
            continue;
        }
        let _ = writeln!(
            split,
            "                let ({own}, {}) = values.split_at_mut(lengths[{}]);",
            match last == Some(k) && !family.function {
                true => "_",
                false => "values",
            },
            usage.len()
        );
        usage.push((a.reads, a.sets));
        let complex = is_complex(a.data.ty);
        if complex {
            let _ = writeln!(
                split,
                "                let {}{own}_c = ::farfel_runtime::dual::complex({own});",
                if a.data.assigns { "mut " } else { "" },
            );
            if a.data.assigns {
                let _ = write!(puts, " ::farfel_runtime::dual::put(&{own}_c, {own});");
            }
        }
        let own = if complex { own + "_c" } else { own };
        actual.push(match (a.data.array, a.data.assigns) {
            (true, true) if complex => format!("&mut {own}"),
            (true, false) if complex => format!("&{own}"),
            (true, _) => own,
            (false, true) => format!("&mut {own}[0]"),
            (false, false) => format!("{own}[0]"),
        });
    }
    let kept = match (family.function, family.complex) {
        (true, true) => "let result = ",
        (true, false) => "values[0] = ",
        (false, _) => "",
    };
    if family.complex {
        puts.push_str(" ::farfel_runtime::dual::put(&[result], values);");
    }
    if family.function {
        usage.push((false, true));
    }
    let number = family.number;
    format!(
        "        struct Farfel{name}<'a, P> {{ procedure: &'a mut P,{fields} }}\n        \
         impl<P: procedures::{name}> ::farfel_runtime::dual::Procedure<{number}> for Farfel{name}<'_, P> {{\n            \
         fn call<D: ::farfel_runtime::dual::DualNum<Primitive = {number}> + Copy>(&mut self, values: &mut [D], lengths: &[usize]) {{\n\
         {split}                {kept}self.procedure.call({});{puts}\n            }}\n            \
         fn usage(&self) -> ::std::vec::Vec<(bool, bool)> {{ ::std::vec!{usage:?} }}\n        }}\n",
        actual.join(", ")
    )
}

/// The closure for a procedure of a family.
fn closure(family: &Family, member: &Member) -> String {
    let cell = format!("farfel_{}", family.name.trim_start_matches("r#"));
    let names: Vec<String> = (0..member.arguments.len()).map(argument).collect();
    let list = names.join(", ");
    if member.modes.is_empty() && !family.mixed {
        return format!(
            "|{list}| procedures::{}::call::<{}>(&mut *{cell}.borrow_mut(), {list})",
            family.of_trait, family.number
        );
    }
    let copies = 1usize << member.modes.len();
    let mut at = 0;
    let (mut fields, mut pushes, mut puts) = (String::new(), String::new(), String::new());
    let mut number = 0;
    for (k, a) in family.arguments.iter().enumerate() {
        if !a.active {
            let _ = write!(fields, " {}: {},", argument(k), names[at]);
            at += 1;
            continue;
        }
        for _ in 0..copies {
            value(
                &names[at],
                member.arguments[at],
                number,
                &mut pushes,
                &mut puts,
            );
            at += 1;
            number += 1;
        }
    }
    for (name, argument) in names.iter().zip(&member.arguments).skip(at) {
        value(name, *argument, number, &mut pushes, &mut puts);
        number += 1;
    }
    if member.modes.is_empty() && family.function {
        let zero = match family.complex {
            true => format!("::farfel_runtime::Complex::<{}>::default()", family.number),
            false => format!("0.0f32 as {}", family.number),
        };
        let _ = write!(pushes, " farfel_v.push(&[{zero}]);");
        let _ = write!(
            puts,
            " let mut farfel_value = [::core::default::Default::default()]; farfel_v.take({number}, &mut farfel_value); farfel_value[0]"
        );
    }
    let number_type = family.number;
    let flat = format!(
        "Farfel{} {{ procedure: &mut *{cell}.borrow_mut(),{fields} }}",
        family.of_trait
    );
    let derivative = member.modes.iter().fold(flat, |of, mode| {
        let word = match mode {
            AdMode::Forward => "Tangent",
            AdMode::Reverse => "Adjoint",
        };
        format!("::farfel_runtime::dual::{word}({of})")
    });
    format!(
        "|{list}| {{ let mut farfel_v = ::farfel_runtime::dual::Values::<{number_type}>::new();{pushes} farfel_v.call(&mut {derivative});{puts} }}"
    )
}

/// Writes the statements that pass one argument of a closure, and that take it back; `(array, assigned)`.
fn value(
    name: &str,
    (array, assigned): (bool, bool),
    number: usize,
    pushes: &mut String,
    puts: &mut String,
) {
    let part = match (array, assigned) {
        (true, _) => name.to_owned(),
        (false, true) => format!("&[*{name}]"),
        (false, false) => format!("&[{name}]"),
    };
    let _ = write!(pushes, " farfel_v.push({part});");
    if assigned {
        let place = match array {
            true => name.to_owned(),
            false => format!("::core::slice::from_mut({name})"),
        };
        let _ = write!(puts, " farfel_v.take({number}, {place});");
    }
}
