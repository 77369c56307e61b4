//! Procedures that Rust gives: what a closure must be like that stands for a dummy procedure, as
//! the calls in the Fortran code tell, and the code that makes a C function of it.
//!
//! The C function has no argument to find the closure by. So each dummy procedure of each
//! function has a `farfel_runtime::Slot` in every thread, which points to the closure of the
//! innermost call that is under way. Only Fortran code of that call can use it, as calls end in
//! the reverse order of their beginning.

use super::{border_type, identifier, rust_type, value};
use crate::Config;
use crate::calls::for_each_call;
use farfel_lang::effects::{Assigned, closure_may_assign};
use farfel_lang::ir::{Arg, Class, Dim, Expr, ExprKind, Name, Place, Program, SymId, Type, Unit};
use farfel_lang::print::print_expr;
use farfel_lang::types::type_of;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// What a closure must be like.
#[derive(Debug)]
pub(super) struct Interface {
    result: Option<Type>,
    args: Vec<Given>,
    /// The first call, for people.
    call: String,
}

/// An argument of a closure.
#[derive(Debug, Clone, PartialEq)]
struct Given {
    ty: Type,
    /// It may assign it.
    assigns: bool,
    /// Of an array, how long it is.
    length: Option<Length>,
}

/// A number of elements as Rust.
#[derive(Debug, Clone, PartialEq)]
enum Length {
    /// Of the arguments of the function.
    Outside(String),
    /// Of those of the closure, which have the names `farfel_a1`, `farfel_a2`, …
    Inside(String),
}

/// What is known of a unit's dummy arguments as Rust: integers as `i64`, arrays by their length.
type Known = BTreeMap<SymId, String>;

/// The units that a procedure comes to, each with the position where, and what is known there.
type Reached = HashMap<(Name, usize), Known>;

/// A call of the procedure.
struct Site<'p> {
    unit: &'p Unit,
    known: &'p Known,
    callee: SymId,
    args: &'p [Expr],
}

/// What stands for the dummy procedure at a position of an exported unit.
///
/// # Errors
///
/// Why no closure can.
pub(super) fn interface(
    program: &Program,
    unit: &Unit,
    position: usize,
    config: &Config,
    assigned: &Assigned,
) -> Result<Interface, String> {
    let name = unit.args[position]
        .sym()
        .map(|s| unit.symbols[s].name.clone())
        .unwrap_or_default();
    let fault = |why: String| format!("its argument {name} is a procedure {why}");
    let reached = reached(program, unit, position, assigned).map_err(&fault)?;
    let mut names: Vec<&(Name, usize)> = reached.keys().collect();
    // The exported unit first, the others in a fixed order.
    names.sort_by_key(|(n, p)| (*n != unit.name, n.clone(), *p));
    let mut sites: Vec<Site> = Vec::new();
    for at in names {
        let Some((u, s)) = dummy(program, at) else {
            continue;
        };
        for_each_call(u, &mut |callee, args| {
            if callee == s {
                let known = &reached[at];
                sites.push(Site {
                    unit: u,
                    known,
                    callee,
                    args,
                });
            }
        });
    }
    let Some(first) = sites.first() else {
        return Err(fault("that is not called".into()));
    };
    let class = &first.unit.symbols[first.callee].class;
    let result = |s: &Site| match s.unit.symbols[s.callee].class {
        Class::Function => s.unit.symbols[s.callee].ty,
        _ => None,
    };
    let same = |s: &Site| {
        s.unit.symbols[s.callee].class == *class
            && result(s) == result(first)
            && s.args.len() == first.args.len()
    };
    if !sites.iter().all(same) {
        return Err(fault("that is called in different ways".into()));
    }
    if *class == Class::Function {
        rust_type(result(first), config).map_err(|ty| fault(format!("whose result is {ty}")))?;
    }
    let args: Result<Vec<Given>, String> = (0..first.args.len())
        .map(|k| {
            let why = |e| format!("whose argument {} {e}", k + 1);
            given(&sites, k, config, assigned).map_err(why)
        })
        .collect();
    let shown: Vec<String> = first
        .args
        .iter()
        .map(|a| print_expr(first.unit, a))
        .collect();
    let verb = if result(first).is_some() { "" } else { "CALL " };
    let called = &first.unit.symbols[first.callee].name;
    Ok(Interface {
        result: result(first),
        args: args.map_err(fault)?,
        call: format!("{verb}{called}({})", shown.join(", ")),
    })
}

fn dummy<'p>(program: &'p Program, (name, position): &(Name, usize)) -> Option<(&'p Unit, SymId)> {
    let unit = program.unit(name)?;
    Some((unit, unit.args.get(*position)?.sym()?))
}

/// Follows a procedure through the calls that hand it on.
fn reached(
    program: &Program,
    unit: &Unit,
    position: usize,
    assigned: &Assigned,
) -> Result<Reached, String> {
    let mut reached = Reached::new();
    let start = (unit.name.clone(), position);
    reached.insert(start.clone(), of_exported(unit, assigned));
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        let Some((u, s)) = dummy(program, &at) else {
            continue;
        };
        let known = reached.get(&at).cloned().unwrap_or_default();
        let constant = unassigned(u, &known, assigned);
        let mut fault = None;
        for_each_call(u, &mut |callee, args| {
            let mut places = args.iter().enumerate();
            let Some((i, _)) = places.find(|(_, a)| a.kind == ExprKind::Var(s)) else {
                return;
            };
            let target = &u.symbols[callee];
            let found = program.unit(&target.name);
            let Some(found) =
                found.filter(|t| target.place == Place::Global && t.args.len() == args.len())
            else {
                fault = Some(format!(
                    "that is handed on to {}, of which nothing is known",
                    target.name
                ));
                return;
            };
            if args.iter().filter(|a| a.kind == ExprKind::Var(s)).count() > 1 {
                fault = Some(format!("that is handed on to {} twice", target.name));
                return;
            }
            let there = of_call(u, &constant, args, found);
            let place = (found.name.clone(), i);
            match reached.get_mut(&place) {
                None => {
                    reached.insert(place.clone(), there);
                    open.push(place);
                }
                Some(before) => {
                    let count = before.len();
                    before.retain(|s, text| there.get(s) == Some(text));
                    if before.len() < count {
                        open.push(place);
                    }
                }
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
    }
    Ok(reached)
}

/// What is known of the arguments of an exported unit: their values on entry.
fn of_exported(unit: &Unit, assigned: &Assigned) -> Known {
    let mut known = Known::new();
    for (i, s) in unit
        .args
        .iter()
        .enumerate()
        .filter_map(|(i, a)| Some((i, a.sym()?)))
    {
        let symbol = &unit.symbols[s];
        let name = identifier(&symbol.name);
        let star = if assigned.argument(&unit.name, i) {
            "*"
        } else {
            ""
        };
        if symbol.is_array() {
            known.insert(s, format!("{name}.len()"));
        } else if matches!(symbol.ty, Some(Type::Integer(1 | 2 | 4 | 8))) {
            known.insert(s, format!("i64::from({star}{name})"));
        }
    }
    known
}

/// What is still known where a unit calls others.
fn unassigned(unit: &Unit, known: &Known, assigned: &Assigned) -> Known {
    let changed = assigned.in_unit(unit);
    let mut known = known.clone();
    known.retain(|s, _| unit.symbols[*s].is_array() || !changed.contains(s));
    known
}

/// What is known of the arguments of a unit from a call of it.
fn of_call(caller: &Unit, known: &Known, args: &[Expr], target: &Unit) -> Known {
    let variable = |s: SymId| known.get(&s).cloned();
    let pairs = target.args.iter().zip(args);
    let found = pairs.filter_map(|(dummy, a)| {
        let Arg::Dummy(dummy) = dummy else {
            return None;
        };
        let text = match (&a.kind, target.symbols[*dummy].is_array()) {
            (ExprKind::Var(s), true) if caller.symbols[*s].is_array() => length(caller, *s, known)?,
            (_, false) => value(caller, a, 0, &variable)?,
            _ => return None,
        };
        Some((*dummy, text))
    });
    found.collect()
}

/// How many elements an array of a unit has.
fn length(unit: &Unit, array: SymId, known: &Known) -> Option<String> {
    let symbol = &unit.symbols[array];
    let last = symbol.dims.last()?.upper.as_ref()?;
    let open = last.kind == ExprKind::Star;
    // Old programs write `X(1)` for an array of any length.
    let one = symbol.place == Place::Dummy && last.kind == ExprKind::Int(1);
    if open || one {
        return known
            .get(&array)
            .cloned()
            .filter(|_| symbol.place == Place::Dummy);
    }
    let variable = |s: SymId| {
        known
            .get(&s)
            .filter(|_| !unit.symbols[s].is_array())
            .cloned()
    };
    elements(unit, &symbol.dims, &variable)
}

fn elements(
    unit: &Unit,
    dims: &[Dim],
    variable: &dyn Fn(SymId) -> Option<String>,
) -> Option<String> {
    let pairs: Option<Vec<String>> = dims
        .iter()
        .map(|d| {
            let lower = match &d.lower {
                Some(e) => value(unit, e, 0, variable)?,
                None => "1".into(),
            };
            let upper = value(unit, d.upper.as_ref()?, 0, variable)?;
            Some(format!("({lower}, {upper})"))
        })
        .collect();
    Some(format!(
        "::farfel_runtime::elements(&[{}])",
        pairs?.join(", ")
    ))
}

/// What the closure gets at a position.
fn given(sites: &[Site], k: usize, config: &Config, assigned: &Assigned) -> Result<Given, String> {
    let mut found: Option<(Type, bool)> = None;
    let mut assigns = true;
    for site in sites {
        let actual = &site.args[k];
        let ty = match &actual.kind {
            ExprKind::AltReturn(_) | ExprKind::Closure(..) => None,
            ExprKind::Var(s)
                if !site.unit.symbols[*s].is_variable()
                    && !matches!(site.unit.symbols[*s].class, Class::Parameter(_)) =>
            {
                return Err("is a procedure, too".into());
            }
            _ => type_of(site.unit, actual),
        };
        let Some(ty) = ty else {
            return Err("is of unknown type".into());
        };
        rust_type(Some(ty), config).map_err(|ty| format!("is {ty}"))?;
        let array = whole(site.unit, actual).is_some();
        if !array && is_section(site.unit, actual) {
            return Err("is a part of an array".into());
        }
        if found.is_some_and(|f| f != (ty, array)) {
            return Err("differs from call to call".into());
        }
        found = Some((ty, array));
        assigns &= closure_may_assign(site.unit, site.callee, actual);
    }
    let Some((ty, array)) = found else {
        return Err("is not known".into());
    };
    let length = match array {
        false => None,
        true if matches!(ty, Type::Logical(_)) => return Err("is an array of LOGICAL".into()),
        true => Some(
            agreed(
                sites
                    .iter()
                    .map(|s| length(s.unit, whole(s.unit, &s.args[k])?, s.known)),
            )
            .map(Length::Outside)
            .or_else(|| {
                let inside = sites.iter().map(|s| inside(s, k, assigned));
                agreed(inside).map(Length::Inside)
            })
            .ok_or("is an array of which it is not known how long it is")?,
        ),
    };
    Ok(Given {
        ty,
        assigns,
        length,
    })
}

/// The whole array that is passed, if one is.
fn whole(unit: &Unit, actual: &Expr) -> Option<SymId> {
    match &actual.kind {
        ExprKind::Var(s) if unit.symbols[*s].is_array() => Some(*s),
        ExprKind::Paren(e) => whole(unit, e),
        _ => None,
    }
}

/// Is an expression an array that is none by name?
fn is_section(unit: &Unit, actual: &Expr) -> bool {
    let mut found = false;
    actual.walk(&mut |e| match &e.kind {
        ExprKind::Range(..) => found = true,
        // SIN(X) of an array.
        ExprKind::Var(s) => found |= unit.symbols[*s].is_array(),
        _ => {}
    });
    // An element of an array names it elsewhere.
    found
}

/// The value that all agree in.
fn agreed(mut values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let first = values.next()??;
    values.all(|v| v.as_ref() == Some(&first)).then_some(first)
}

/// The length of an array from what is passed with it.
fn inside(site: &Site, k: usize, assigned: &Assigned) -> Option<String> {
    let array = whole(site.unit, &site.args[k])?;
    let changed = assigned.in_unit(site.unit);
    let variable = |s: SymId| {
        let integer = matches!(site.unit.symbols[s].ty, Some(Type::Integer(1 | 2 | 4 | 8)));
        let at = site.args.iter().position(|a| a.kind == ExprKind::Var(s))?;
        (integer && !changed.contains(&s)).then(|| format!("i64::from(farfel_a{})", at + 1))
    };
    elements(site.unit, &site.unit.symbols[array].dims, &variable)
}

/// What a closure adds to the function that takes it.
pub(super) struct Code {
    /// The type of the argument in Rust.
    pub rust: String,
    /// At the border.
    pub border: String,
    /// What is passed.
    pub actual: String,
    /// Items of the function.
    pub items: String,
    /// Statements before the call.
    pub before: String,
    /// What the documentation says of it.
    pub said: String,
}

impl Interface {
    /// The code for the argument `name` of the function of `unit`.
    pub(super) fn code(&self, unit: &Unit, name: &str, config: &Config) -> Code {
        let plain = name.trim_start_matches("r#");
        let rust = |ty: Type| rust_type(Some(ty), config).unwrap_or("()");
        let border = |ty: Type| border_type(Some(ty), config);
        let mut types = Vec::new();
        let mut pointers = Vec::new();
        for a in &self.args {
            let ty = rust(a.ty);
            types.push(match (a.length.is_some(), a.assigns) {
                (true, true) => format!("&mut [{ty}]"),
                (true, false) => format!("&[{ty}]"),
                (false, true) => format!("&mut {ty}"),
                (false, false) => ty.to_owned(),
            });
            let access = if a.assigns { "mut" } else { "const" };
            pointers.push(format!("*{access} {}", border(a.ty)));
        }
        let types = types.join(", ");
        let pointers_list = pointers.join(", ");
        let (result, border_result) = match self.result {
            Some(ty) => (format!(" -> {}", rust(ty)), format!(" -> {}", border(ty))),
            None => (String::new(), String::new()),
        };
        let function = format!("unsafe extern \"C-unwind\" fn({pointers_list}){border_result}");
        let bound = format!("FnMut({pointers_list}){border_result}");
        let slot = format!("FARFEL_SLOT_{}", plain.to_ascii_uppercase());
        let count = 1..=self.args.len();
        let declared: Vec<String> = count
            .clone()
            .zip(&pointers)
            .map(|(i, p)| format!("a{i}: {p}"))
            .collect();
        let handed: Vec<String> = count.map(|i| format!("a{i}")).collect();

        let mut items = String::new();
        let _ = writeln!(
            items,
            "    ::std::thread_local! {{\n        static {slot}: ::farfel_runtime::Slot = const {{ ::farfel_runtime::Slot::new() }};\n    }}\n    \
             ::farfel_runtime::border! {{ extern \"C-unwind\" fn farfel_enter_{plain}<F: {bound}>({}){border_result} {{\n        \
             // SAFETY: the slot is filled with an F for the time of the call that got this function.\n        \
             ::farfel_runtime::border! {{ ::farfel_runtime::Slot::with::<F, _>(&{slot}, |f| f({})) }}\n    }} }}\n    \
             fn farfel_entry_{plain}<F: {bound}>(_: &F) -> {function} {{\n        farfel_enter_{plain}::<F>\n    }}",
            declared.join(", "),
            handed.join(", "),
        );
        let before = self.adapter(unit, name, &declared, &border_result);
        Code {
            rust: format!("impl FnMut({types}){result}"),
            border: function,
            actual: format!("farfel_code_{plain}"),
            items,
            before: format!(
                "{before}    let farfel_code_{plain} = farfel_entry_{plain}(&farfel_{plain});\n    \
                 let _farfel_given_{plain} = ::farfel_runtime::Given::new(&{slot}, &mut farfel_{plain});\n"
            ),
            said: format!("`{plain}` is called as `{}`.", self.call),
        }
    }

    /// The closure with addresses as arguments that calls the user's one.
    fn adapter(&self, unit: &Unit, name: &str, declared: &[String], result: &str) -> String {
        let plain = name.trim_start_matches("r#");
        let shown = identifier(&unit.name);
        let shown = shown.trim_start_matches("r#");
        let mut t = String::new();
        for (i, a) in self.args.iter().enumerate() {
            if let Some(Length::Outside(length)) = &a.length {
                let _ = writeln!(t, "    let farfel_{plain}_{}: usize = {length};", i + 1);
            }
        }
        let _ = writeln!(
            t,
            "    let mut farfel_{plain} = |{}|{result} {{",
            declared.join(", ")
        );
        t.push_str("        // SAFETY: Fortran passes the addresses of variables and arrays of this size.\n        ::farfel_runtime::border! {\n");
        let place = format!("\"{shown}\", \"{plain}\"");
        let numbered = || self.args.iter().enumerate().map(|(i, a)| (i + 1, a));
        // Scalars first: lengths may depend on them.
        for (i, a) in numbered().filter(|(_, a)| a.length.is_none() && !a.assigns) {
            let truth = matches!(a.ty, Type::Logical(_));
            let truth = if truth { " != 0" } else { "" };
            let read = format!("::farfel_runtime::Area::value(a{i})");
            let _ = writeln!(t, "            let farfel_a{i} = {read}{truth};");
        }
        let mut actual = Vec::new();
        let mut areas = Vec::new();
        let mut after = String::new();
        for (i, a) in numbered() {
            let length = match &a.length {
                Some(Length::Outside(_)) => format!("farfel_{plain}_{i}"),
                Some(Length::Inside(text)) => text.clone(),
                None => "1".into(),
            };
            if a.assigns || a.length.is_some() {
                let _ = writeln!(t, "            let farfel_n{i}: usize = {length};");
                areas.push(format!(
                    "::farfel_runtime::Area::of(a{i}, farfel_n{i}, {})",
                    a.assigns
                ));
            }
            let maker = if a.assigns { "exclusive" } else { "shared" };
            let slice = format!("::farfel_runtime::Area::{maker}({place}, a{i}, farfel_n{i})");
            actual.push(match (a.length.is_some(), a.assigns, a.ty) {
                (true, ..) => slice,
                (false, true, Type::Logical(_)) => {
                    let _ = writeln!(t, "            let mut farfel_a{i} = *a{i} != 0;");
                    let _ = writeln!(after, "            *a{i} = farfel_a{i}.into();");
                    format!("&mut farfel_a{i}")
                }
                (false, true, _) => format!("&mut {slice}[0]"),
                (false, false, _) => format!("farfel_a{i}"),
            });
        }
        let writes = self.args.iter().any(|a| a.assigns);
        if writes && areas.len() > 1 {
            let _ = writeln!(
                t,
                "            ::farfel_runtime::Area::apart({place}, &[{}]);",
                areas.join(", ")
            );
        }
        let call = format!("{name}({})", actual.join(", "));
        match self.result {
            Some(Type::Logical(_)) => {
                let _ = writeln!(
                    t,
                    "            let farfel_result = {call};\n{after}            farfel_result.into()"
                );
            }
            Some(_) => {
                let _ = writeln!(
                    t,
                    "            let farfel_result = {call};\n{after}            farfel_result"
                );
            }
            None => {
                let _ = write!(t, "            {call};\n{after}");
            }
        }
        t.push_str("        }\n    };\n");
        t
    }
}
