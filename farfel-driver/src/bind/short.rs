//! Generates the text of short functions; see [`signature`](super::signature).

use super::generic::Header;
use super::signature::{Bounds, Measure, Role, Signature, SizeSource, Status};
use super::{Argument, RawFunction, enumerated};
use farfel_lang::ir::Unit;
use std::fmt::Write as _;

/// A callback that writes the documentation of a function, with additional lines about the function and
/// about its errors.
pub(super) type Document<'d> = &'d dyn Fn(&mut String, &[String], &[String]);

/// The results of a short function.
struct Returned {
    /// The type of the raw function's value.
    value: Option<String>,
    /// The arguments that are returned: their positions and types.
    outputs: Vec<(usize, String)>,
}

/// Generates what the module `raw` has for a function that has all arguments under its own name.
pub(super) fn reexport(function: &RawFunction) -> String {
    let name = &function.function;
    match &function.returns {
        Some(returns) => format!("pub use super::{{{name}, {returns}}};\n"),
        None => format!("pub use super::{name};\n"),
    }
}

/// Generates a short function.
pub(super) fn function(
    unit: &Unit,
    signature: &Signature,
    raw: &RawFunction,
    document: Document,
) -> String {
    let short = ShortFunction {
        unit,
        signature,
        raw,
    };
    short.text(document)
}

/// Returns the arguments of a short function, and its result.
pub(super) fn header(unit: &Unit, signature: &Signature, raw: &RawFunction) -> Header {
    let short = ShortFunction {
        unit,
        signature,
        raw,
    };
    let given = short.given();
    Header {
        arguments: given
            .map(|(p, a)| (p, a.name.clone(), short.ty(p, a)))
            .collect(),
        result: short.declared_result().1,
    }
}

struct ShortFunction<'a> {
    unit: &'a Unit,
    signature: &'a Signature,
    raw: &'a RawFunction,
}

impl ShortFunction<'_> {
    fn text(&self, document: Document) -> String {
        let RawFunction {
            function,
            args: _,
            value,
            fallible,
            exposed,
            instance,
            returns,
            place: _,
        } = self.raw;
        let returned = self.returned(value.clone());
        let body = self.before();
        let (fails, declared) = self.declared_result();

        let mut t = String::new();
        if let Some(returns) = returns {
            let _ = writeln!(
                t,
                "#[allow(unused_imports)]\npub use self::raw::{returns};\n"
            );
        }
        t.push_str(&self.result_type(&returned));
        if let Some(name) = instance {
            let _ = writeln!(t, "impl {name} {{");
        }
        if *exposed {
            t.push_str("::farfel_runtime::exposed! {\n");
        }
        document(&mut t, &self.about(), &self.errors());
        // So that rustc generates code for the functions that are called, not for all of a large library.
        t.push_str("#[inline]\n");
        t.push_str("#[allow(dead_code, non_snake_case, unused_qualifications, clippy::all, clippy::pedantic)]\n");
        let visible = if *exposed { "" } else { "pub " };
        let receiver = instance.as_ref().map(|_| "&mut self".to_owned());
        let arguments = self
            .given()
            .map(|(p, a)| format!("{}: {}", a.name, self.ty(p, a)));
        let place = self.raw.place.iter();
        let place = place.map(|a| format!("{}: {}", a.name, a.rust));
        let arguments: Vec<String> = receiver.into_iter().chain(arguments).chain(place).collect();
        let _ = writeln!(
            t,
            "{visible}fn {function}({}){declared} {{",
            arguments.join(", ")
        );
        t.push_str(&body);
        let mut call = format!("self::raw::{function}({})", self.actual().join(", "));
        if *exposed {
            t.push_str("    // SAFETY: whoever calls this vouches for it.\n");
            call = format!("::farfel_runtime::border! {{ {call} }}");
        }
        if *fallible {
            call.push('?');
        }
        let kept = if value.is_some() {
            "let farfel_value = "
        } else {
            ""
        };
        let _ = writeln!(t, "    {kept}{call};");
        for status in &self.signature.statuses {
            t.push_str(&self.check(status));
        }
        let result = returned.expression(self);
        match (fails, result) {
            (true, result) => {
                let result = result.unwrap_or_else(|| "()".into());
                let _ = writeln!(t, "    ::core::result::Result::Ok({result})");
            }
            (false, Some(result)) => {
                let _ = writeln!(t, "    {result}");
            }
            (false, None) => {}
        }
        t.push_str("}\n");
        if *exposed {
            t.push_str("}\n");
        }
        if instance.is_some() {
            t.push_str("}\n");
        }
        t
    }

    /// Returns whether the function can fail, and the declaration of its result.
    fn declared_result(&self) -> (bool, String) {
        let returned = self.returned(self.raw.value.clone());
        let fallible_here = self.before().contains(")?;") || !self.signature.statuses.is_empty();
        let fails = self.raw.fallible || fallible_here;
        let ty = returned.ty(self.unit);
        let declared = match (&ty, fails) {
            (None, false) => String::new(),
            (Some(ty), false) => format!(" -> {ty}"),
            (ty, true) => {
                let ty = ty.as_deref().unwrap_or("()");
                format!(" -> ::core::result::Result<{ty}, ::farfel_runtime::Error>")
            }
        };
        (fails, declared)
    }

    /// Returns the arguments with their positions and roles, except those that the raw function does not
    /// take.
    fn arguments(&self) -> impl Iterator<Item = (usize, &Argument, &Role)> {
        let args = self.raw.args.iter().filter(|(_, a)| !a.rust.is_empty());
        args.filter_map(|(p, a)| Some((*p, a, self.signature.roles.get(*p)?)))
    }

    /// Returns the arguments that the caller passes.
    fn given(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.arguments()
            .filter(|(_, _, role)| **role == Role::Given)
            .map(|(p, a, _)| (p, a))
    }

    /// Returns the type of an argument that the caller passes.
    fn ty(&self, position: usize, a: &Argument) -> String {
        let Some(view) = self.signature.views.get(&position) else {
            return a.rust.clone();
        };
        let mutable = if a.rust.starts_with("&mut") {
            "Mut"
        } else {
            ""
        };
        let element = element(&a.rust);
        match view.rank {
            2 => format!("::farfel_runtime::Matrix{mutable}<'_, {element}>"),
            rank => format!("::farfel_runtime::Array{mutable}<'_, {element}, {rank}>"),
        }
    }

    /// Returns the array of a source, and the expression for the size that it provides.
    fn measure(&self, source: SizeSource) -> Option<(&Argument, String)> {
        let a = self.argument(source.position)?;
        let method = match source.what {
            Measure::Elements => "len()",
            Measure::Rows => "rows()",
            Measure::Columns => "columns()",
            // Fortran code expects a leading dimension of at least 1.
            Measure::Leading => "leading_dimension().max(1)",
            Measure::Extent(dimension) => &format!("extents()[{dimension}]"),
        };
        Some((a, format!("{}.{method}", a.name)))
    }

    /// Generates a check that two sources of a size agree.
    fn agree(&self, one: SizeSource, other: SizeSource) -> String {
        let (Some((a, got)), Some((b, wanted))) = (self.measure(one), self.measure(other)) else {
            return String::new();
        };
        format!(
            "    ::farfel_runtime::agree(\"{}\", (\"{}\", \"{}\", {got}), (\"{}\", \"{}\", {wanted}))?;\n",
            self.shown(),
            plain(&a.name),
            one.what.words(),
            plain(&b.name),
            other.what.words()
        )
    }

    /// Generates checks of the extents that do not themselves determine arguments.
    fn shapes(&self) -> String {
        let mut t = String::new();
        for (position, a) in self.given() {
            let Some(view) = self.signature.views.get(&position) else {
                continue;
            };
            let source = |what| SizeSource { position, what };
            for extent in &view.extents {
                let is = |a: &Argument| {
                    let whole = extent.whole.as_ref();
                    whole.is_some_and(|w| super::identifier(w) == a.name)
                };
                let mut of_args = self.arguments().filter(|(_, a, _)| is(a));
                if of_args.any(|(_, _, role)| matches!(role, Role::Size(_))) {
                    continue;
                }
                if let Some((_, got)) = self.measure(source(extent.what)) {
                    let _ = writeln!(
                        t,
                        "    ::farfel_runtime::fits(\"{}\", (\"{}\", \"{}\", {got}), &[{}], \"{}\")?;",
                        self.shown(),
                        plain(&a.name),
                        extent.what.words(),
                        extent.rust,
                        extent.shown
                    );
                }
            }
            if view.dense {
                let _ = writeln!(
                    t,
                    "    ::farfel_runtime::dense(\"{}\", \"{}\", {}.rows(), {}.leading_dimension())?;",
                    self.shown(),
                    plain(&a.name),
                    a.name,
                    a.name
                );
            }
        }
        t
    }

    fn argument(&self, position: usize) -> Option<&Argument> {
        let mut found = self.arguments().filter(|(p, ..)| *p == position);
        found.next().map(|(_, a, _)| a)
    }

    /// Collects the results, given the type of the raw function's value.
    fn returned(&self, value: Option<String>) -> Returned {
        let outputs = self.arguments().filter_map(|(p, a, role)| match role {
            Role::Output(None) => Some((p, pointee(&a.rust).to_owned())),
            Role::Output(Some(bounds)) => Some((p, allocated(a, bounds))),
            _ => None,
        });
        Returned {
            value,
            outputs: outputs.collect(),
        }
    }

    /// Returns the name of the function in messages.
    fn shown(&self) -> &str {
        plain(&self.raw.function)
    }

    /// Generates the statements before the call: sizes, checks, and variables for outputs and work arrays.
    fn before(&self) -> String {
        let mut t = String::new();
        let shown = self.shown();
        let mut checks = String::new();
        for (_, a, role) in self.arguments() {
            let Role::Size(sources) = role else { continue };
            let Some((first, others)) = sources.split_first() else {
                continue;
            };
            let Some((from, got)) = self.measure(*first) else {
                continue;
            };
            let _ = writeln!(
                t,
                "    let {}: {} = ::farfel_runtime::size(\"{shown}\", \"{}\", \"{}\", {got})?;",
                a.name,
                a.rust,
                plain(&from.name),
                first.what.words()
            );
            for other in others {
                checks.push_str(&self.agree(*other, *first));
            }
        }
        checks.push_str(&self.shapes());
        t.push_str(&checks);
        for (_, a, role) in self.arguments() {
            let (bounds, what, counted, least) = match role {
                Role::Length(bounds) => (bounds, Measure::Elements, &bounds.rust, ""),
                // Fortran asks for 1 at least.
                Role::Leading(bounds) => (bounds, Measure::Rows, &bounds.pairs[0], ".max(1)"),
                _ => continue,
            };
            let array = bounds.shown.split('(').next().unwrap_or_default();
            let _ = writeln!(
                t,
                "    let {}: {} = ::farfel_runtime::size(\"{shown}\", \"{}\", \"{}\", ::farfel_runtime::elements(&[{counted}]){least})?;",
                a.name,
                a.rust,
                array.to_ascii_lowercase(),
                what.words()
            );
        }
        for (_, a, role) in self.arguments() {
            match role {
                Role::Output(None) | Role::Status => {
                    let _ = writeln!(
                        t,
                        "    let mut {}: {} = ::core::default::Default::default();",
                        a.name,
                        pointee(&a.rust)
                    );
                }
                Role::Output(Some(bounds)) if bounds.rank() > 1 => {
                    let zeros = match bounds.rank() {
                        2 => "zero_matrix",
                        _ => "zero_array",
                    };
                    let _ = writeln!(
                        t,
                        "    let mut {}: {} = ::farfel_runtime::{zeros}(\"{}\", [{}])?;",
                        a.name,
                        allocated(a, bounds),
                        bounds.shown,
                        bounds.rust
                    );
                }
                Role::Output(Some(bounds)) | Role::Workspace(bounds) => {
                    let mutable = if a.rust.starts_with("&mut") {
                        "mut "
                    } else {
                        ""
                    };
                    let _ = writeln!(
                        t,
                        "    let {mutable}{}: ::std::vec::Vec<{}> = ::farfel_runtime::zeros(\"{}\", &[{}])?;",
                        a.name,
                        element(&a.rust),
                        bounds.shown,
                        bounds.rust
                    );
                }
                Role::Given | Role::Size(_) | Role::Length(_) | Role::Leading(_) => {}
            }
        }
        t
    }

    /// Returns the actual arguments for the raw function.
    fn actual(&self) -> Vec<String> {
        let instance = self.raw.instance.iter().map(|_| "self".to_owned());
        let statuses = &self.signature.statuses;
        let others = self.arguments().map(|(p, a, role)| match role {
            // A reborrow, because the status is checked after the call.
            Role::Given if statuses.iter().any(|s| s.position == p) => {
                format!("&mut *{}", a.name)
            }
            Role::Given if self.signature.views.contains_key(&p) => format!("{}.data()", a.name),
            Role::Given | Role::Size(_) | Role::Length(_) | Role::Leading(_) => a.name.clone(),
            Role::Output(Some(bounds)) if bounds.rank() > 1 => {
                format!("{}.as_mut_slice()", a.name)
            }
            _ if a.rust.starts_with("&mut") => format!("&mut {}", a.name),
            _ => format!("&{}", a.name),
        });
        let place = self.raw.place.iter().map(|a| a.name.clone());
        instance.chain(others).chain(place).collect()
    }

    /// Generates the statement that returns an error if a status argument indicates one.
    fn check(&self, status: &Status) -> String {
        let Some(a) = self.argument(status.position) else {
            return String::new();
        };
        let given = self.signature.roles.get(status.position) == Some(&Role::Given);
        let value = format!(
            "::core::primitive::i64::from({}{})",
            if given { "*" } else { "" },
            a.name
        );
        let wrong: Vec<String> = status
            .wrong
            .iter()
            .map(|(operator, than)| format!("farfel_status {operator} {than}"))
            .collect();
        let meanings = status.meanings.iter().map(|m| {
            let operator = match m.relation {
                "=" => "==",
                "/=" => "!=",
                other => other,
            };
            let text = crate::rustdoc::legal(&m.text);
            format!("            v if v {operator} {} => {text:?},\n", m.value)
        });
        let meanings: String = meanings.collect();
        let meaning = match meanings.is_empty() {
            true => "\"\"".to_owned(),
            false => {
                format!("match farfel_status {{\n{meanings}            _ => \"\",\n            }}")
            }
        };
        format!(
            "    let farfel_status = {value};\n    if {} {{\n        return ::core::result::Result::Err(::farfel_runtime::Error::Status {{\n            \
             function: \"{}\",\n            argument: \"{}\",\n            value: farfel_status,\n            meaning: {meaning},\n        }});\n    }}\n",
            wrong.join(" || "),
            self.shown(),
            plain(&a.name)
        )
    }

    /// Returns the sources of a size in words.
    fn sizes(&self, sources: &[SizeSource]) -> String {
        let mut list: Vec<String> = Vec::new();
        let mut measures = vec![
            Measure::Elements,
            Measure::Rows,
            Measure::Columns,
            Measure::Leading,
        ];
        for source in sources {
            if !measures.contains(&source.what) {
                measures.push(source.what);
            }
        }
        for what in measures {
            let of_what = sources.iter().filter(|s| s.what == what);
            let names: Vec<String> = of_what
                .filter_map(|s| self.argument(s.position))
                .map(|a| format!("`{}`", plain(&a.name)))
                .collect();
            let what = match what {
                Measure::Leading => "leading dimension".to_owned(),
                Measure::Extent(dimension) => format!("extent {}", dimension + 1),
                other => format!("number of {}", other.words()),
            };
            if !names.is_empty() {
                list.push(format!("the {what} of {}", enumerated(&names)));
            }
        }
        enumerated(&list)
    }

    /// Returns the lines of the documentation about arguments that the function does not take.
    fn about(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (_, a, role) in self.arguments() {
            let name = plain(&a.name);
            let line = match role {
                Role::Given => continue,
                Role::Size(sources) => format!("`{name}` is {}.", self.sizes(sources)),
                Role::Length(bounds) => format!("`{name}` is the length of `{}`.", bounds.shown),
                Role::Leading(bounds) => {
                    format!("`{name}` is the number of rows of `{}`.", bounds.shown)
                }
                Role::Output(_) => format!("`{name}` is returned."),
                Role::Workspace(bounds) => format!("`{}` is allocated here.", bounds.shown),
                Role::Status => format!("`{name}` is in the error, if there is one."),
            };
            lines.push(format!("- {line}"));
        }
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!(
            "[`raw::{}`] has all arguments of the Fortran subprogram.",
            plain(&self.raw.function)
        ));
        lines
    }

    /// Returns the lines of the documentation about errors.
    fn errors(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let agree = |r: &Role| matches!(r, Role::Size(sources) if sources.len() > 1);
        if self.signature.roles.iter().any(agree) {
            lines.push("When arrays that share a size do not agree.".to_owned());
        }
        if !self.signature.views.is_empty() {
            lines.push(
                "When an array does not have the shape that its declaration asks for.".to_owned(),
            );
        }
        for status in &self.signature.statuses {
            let Some(a) = self.argument(status.position) else {
                continue;
            };
            let conditions: Vec<String> = status
                .wrong
                .iter()
                .map(|(operator, than)| format!("`{} {operator} {than}`", plain(&a.name)))
                .collect();
            lines.push(format!("When {}.", conditions.join(" or ")));
        }
        lines
    }

    /// Generates the struct that holds the results, if there are several.
    fn result_type(&self, returned: &Returned) -> String {
        if !returned.is_struct() {
            return String::new();
        }
        let mut fields = String::new();
        let name = output_type(self.unit);
        for (field, ty, about) in returned.fields(self) {
            for line in about {
                let line = crate::rustdoc::legal(&line);
                let _ = writeln!(
                    fields,
                    "    ///{}{line}",
                    if line.is_empty() { "" } else { " " }
                );
            }
            let _ = writeln!(fields, "    pub {field}: {ty},");
        }
        let method = plain(&self.raw.function);
        let link = match &self.raw.instance {
            Some(instance) => format!("{instance}::{method}"),
            None => format!("{method}()"),
        };
        format!(
            "/// What [`{link}`] returns.\n#[derive(Debug, Clone, PartialEq)]\n#[allow(dead_code, non_camel_case_types)]\npub struct {name} {{\n{fields}}}\n\n"
        )
    }
}

impl Returned {
    fn is_struct(&self) -> bool {
        self.outputs.len() + usize::from(self.value.is_some()) > 1
    }

    /// Returns the type of the result, if there is one.
    fn ty(&self, unit: &Unit) -> Option<String> {
        match (&self.value, &self.outputs[..]) {
            (None, []) => None,
            (Some(value), []) => Some(value.clone()),
            (None, [(_, ty)]) => Some(ty.clone()),
            _ => Some(output_type(unit)),
        }
    }

    /// Returns the names, types and documentation of the struct's fields.
    fn fields(&self, short: &ShortFunction) -> Vec<(String, String, Vec<String>)> {
        let outputs = self.outputs.iter().filter_map(|(p, ty)| {
            let a = short.argument(*p)?;
            let symbol = &short.unit.symbols[short.unit.args.get(*p)?.sym()?];
            let bounds = match short.signature.roles.get(*p) {
                Some(Role::Output(Some(bounds))) => bounds.shown.as_str(),
                _ => symbol.name.as_str(),
            };
            let declared = symbol.ty.map(|t| t.to_string()).unwrap_or_default();
            let mut about = vec![format!("`{declared} {bounds}`")];
            let comment_lines = short.signature.about.get(*p).filter(|l| !l.is_empty());
            if let Some(lines) = comment_lines {
                about.push(String::new());
                about.extend(crate::rustdoc::comments(lines));
            }
            Some((a.name.clone(), ty.clone(), about))
        });
        let outputs: Vec<_> = outputs.collect();
        let value = self.value.iter().map(|ty| {
            let (name, about) = match &short.raw.returns {
                Some(_) => ("returned", "How it returned."),
                None => ("value", "The value of the function."),
            };
            let taken = |n: &str| outputs.iter().any(|(other, ..)| other == n);
            let mut name = name.to_owned();
            while taken(&name) {
                name.push('_');
            }
            (name, ty.clone(), vec![about.to_owned()])
        });
        let value: Vec<_> = value.collect();
        value.into_iter().chain(outputs).collect()
    }

    /// Returns the expression for the result, if there is one.
    fn expression(&self, short: &ShortFunction) -> Option<String> {
        match (&self.value, &self.outputs[..]) {
            (None, []) => None,
            (Some(_), []) => Some("farfel_value".into()),
            (None, [(p, _)]) => short.argument(*p).map(|a| a.name.clone()),
            _ => {
                let fields = self.fields(short);
                let first = usize::from(self.value.is_some());
                let value = fields[..first]
                    .iter()
                    .map(|(name, ..)| format!("{name}: farfel_value"));
                let others = fields[first..].iter().map(|(name, ..)| name.clone());
                let all: Vec<String> = value.chain(others).collect();
                Some(format!(
                    "{} {{ {} }}",
                    output_type(short.unit),
                    all.join(", ")
                ))
            }
        }
    }
}

/// Returns the name of the struct that holds several results.
fn output_type(unit: &Unit) -> String {
    super::camel(&unit.name) + "Output"
}

/// Returns an identifier without the prefix `r#`.
fn plain(name: &str) -> &str {
    name.trim_start_matches("r#")
}

/// Returns the referent of a reference type.
fn pointee(ty: &str) -> &str {
    ty.trim_start_matches("&mut ").trim_start_matches('&')
}

/// Returns the type of an array that is returned.
fn allocated(a: &Argument, bounds: &Bounds) -> String {
    let element = element(&a.rust);
    match bounds.rank() {
        0 | 1 => format!("::std::vec::Vec<{element}>"),
        2 => format!("::farfel_runtime::OwnedMatrix<{element}>"),
        rank => format!("::farfel_runtime::OwnedArray<{element}, {rank}>"),
    }
}

/// Returns the element type of a slice reference.
fn element(ty: &str) -> &str {
    pointee(ty).trim_start_matches('[').trim_end_matches(']')
}
