//! The functions for C, in Rust.

use super::{CArgument, CFunction, CKind, CProcedure, CType, Library};
use crate::bind::identifier;
use std::fmt::Write as _;

impl Library<'_> {
    /// Generates all functions.
    pub(super) fn rust(&self) -> String {
        let mut t = format!(
            "// Made by farfel {} from the Fortran sources of {}. Do not edit.\n",
            env!("CARGO_PKG_VERSION"),
            self.config.name
        );
        for (name, returned) in [
            ("error_message", "*const ::core::ffi::c_char"),
            ("error_file", "*const ::core::ffi::c_char"),
            ("error_line", "::core::ffi::c_int"),
            ("error_code", "::core::ffi::c_int"),
        ] {
            let _ = write!(
                t,
                "\n#[unsafe(no_mangle)]\npub extern \"C\" fn {}() -> {returned} {{\n    ::farfel_runtime::c::{name}()\n}}\n",
                self.own_name(name)
            );
        }
        if let (Some(ty), Some(model)) = (self.instance_type(), self.instance) {
            let handle = format!("::farfel_runtime::c::Handle<fortran::{model}>");
            let _ = write!(
                t,
                "\n#[unsafe(no_mangle)]\npub extern \"C\" fn {ty}_new() -> *mut {handle} {{\n    \
                 ::farfel_runtime::c::Handle::give(fortran::{model}::new())\n}}\n\
                 \n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {ty}_clone(of: *const {handle}, clone: *mut *mut {handle}) -> ::core::ffi::c_int {{\n    \
                 ::farfel_runtime::c::call(|| {{\n        \
                 ::farfel_runtime::c::Arguments::new(\"clone\").add(\"clone\", clone, 1, true)?;\n        \
                 // SAFETY: as C declares it.\n        \
                 unsafe {{ *clone = ::farfel_runtime::c::Handle::with(of, |of| Ok(::farfel_runtime::c::Handle::give(of.clone())))?; }}\n        \
                 Ok(())\n    }})\n}}\n\
                 \n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {ty}_free(of: *mut {handle}) {{\n    \
                 // SAFETY: as C declares it.\n    \
                 unsafe {{ ::farfel_runtime::c::Handle::free(of) }}\n}}\n"
            );
        }
        for function in &self.functions {
            t.push('\n');
            self.rust_function(&mut t, function);
        }
        t
    }

    fn rust_function(&self, t: &mut String, function: &CFunction) {
        let mut declared = Vec::new();
        let mut code = Code::default();
        let model = self.instance.filter(|_| function.of_instance);
        if let Some(model) = model {
            declared.push(format!(
                "model: *const ::farfel_runtime::c::Handle<fortran::{model}>"
            ));
        }
        for (i, arg) in (1..).zip(&function.args) {
            arg.rust(i, &mut declared, &mut code);
        }
        if let Some(ty) = function.value {
            declared.push(format!("r: *mut {}", ty.rust()));
            code.check("result", "r", "1", true);
        }
        let _ = write!(
            t,
            "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {}({}) -> ::core::ffi::c_int {{\n    \
             ::farfel_runtime::c::call(|| {{\n        \
             let mut all = ::farfel_runtime::c::Arguments::new({:?});\n{}        all.apart()?;\n        \
             // SAFETY: the arguments have been checked as far as they can be.\n        \
             unsafe {{\n{}",
            self.function_name(function),
            declared.join(", "),
            function.name,
            code.checks,
            code.before,
        );
        let call = format!("{}({})", function.rust, code.actual.join(", "));
        // The Rust function may be `unsafe`.
        let call = match model {
            Some(_) => {
                format!("::farfel_runtime::c::Handle::with(model, |model| Ok(model.{call}))?")
            }
            None => format!("fortran::{call}"),
        };
        let question = if function.fallible { "?" } else { "" };
        let converted = if function.returns { " as i32" } else { "" };
        let _ = writeln!(t, "            let outcome = {call};\n{}", code.after);
        let _ = match function.value {
            Some(_) => writeln!(t, "            *r = outcome{question}{converted};"),
            None => writeln!(t, "            let () = outcome{question};"),
        };
        t.push_str("        }\n        Ok(())\n    })\n}\n");
    }
}

/// The parts of a function.
#[derive(Default)]
struct Code {
    checks: String,
    before: String,
    actual: Vec<String>,
    after: String,
}

impl Code {
    fn check(&mut self, name: &str, place: &str, count: &str, assigned: bool) {
        let _ = writeln!(
            self.checks,
            "        all.add({name:?}, {place}, {count}, {assigned})?;"
        );
    }

    fn before(&mut self, line: &str) {
        let _ = writeln!(self.before, "            {line}");
    }

    fn after(&mut self, line: &str) {
        let _ = writeln!(self.after, "            {line}");
    }
}

impl CArgument {
    /// Adds the argument number `i`.
    fn rust(&self, i: usize, declared: &mut Vec<String>, code: &mut Code) {
        let (name, a, n) = (self.name.as_str(), format!("a{i}"), format!("n{i}"));
        match &self.kind {
            CKind::Value(CType::Bool) => {
                // Any byte but 0 and 1 would be undefined behaviour as a `bool`.
                declared.push(format!("{a}: u8"));
                code.actual.push(format!("{a} != 0"));
            }
            CKind::Value(ty) => {
                declared.push(format!("{a}: {}", ty.rust()));
                code.actual.push(a);
            }
            CKind::Variable(CType::Bool, _) => {
                declared.push(format!("{a}: *mut u8"));
                code.check(name, &a, "1", true);
                code.before(&format!("let mut b{i} = *{a} != 0;"));
                code.after(&format!("*{a} = u8::from(b{i});"));
                code.actual.push(format!("&mut b{i}"));
            }
            CKind::Variable(ty, _) => {
                declared.push(format!("{a}: *mut {}", ty.rust()));
                code.check(name, &a, "1", true);
                code.actual
                    .push(format!("::farfel_runtime::c::variable({a})"));
            }
            CKind::Array(array) => {
                let pointer = if array.assigned { "*mut" } else { "*const" };
                let boolean = array.ty == CType::Bool;
                let ty = if boolean { "u8" } else { array.ty.rust() };
                declared.push(format!("{a}: {pointer} {ty}"));
                declared.push(format!("{n}: usize"));
                code.check(name, &a, &n, array.assigned);
                let slice = match array.assigned {
                    true => format!("::farfel_runtime::c::slice_mut({a}, {n})"),
                    false => format!("::farfel_runtime::c::slice({a}, {n})"),
                };
                if !boolean {
                    code.actual.push(slice);
                    return;
                }
                code.before(&format!("let b{i} = {slice};"));
                code.before(&format!(
                    "let mut c{i}: ::std::vec::Vec<bool> = b{i}.iter().map(|b| *b != 0).collect();"
                ));
                if array.assigned {
                    code.after(&format!(
                        "b{i}.iter_mut().zip(&c{i}).for_each(|(b, c)| *b = u8::from(*c));"
                    ));
                }
                code.actual.push(format!("&mut c{i}"));
            }
            CKind::Text => {
                declared.push(format!("{a}: *const u8"));
                declared.push(format!("{n}: usize"));
                code.check(name, &a, &n, false);
                code.actual.push(format!(
                    "all.text({name:?}, ::farfel_runtime::c::slice({a}, {n}))?"
                ));
            }
            CKind::TextVariable { least, open, .. } => {
                declared.push(format!("{a}: *mut u8"));
                declared.push(format!("{n}: usize"));
                code.check(name, &a, &n, true);
                code.before(&format!(
                    "let b{i} = ::farfel_runtime::c::slice_mut({a}, {n});"
                ));
                if *open {
                    code.actual.push(format!("b{i}"));
                    return;
                }
                code.before(&format!(
                    "let mut c{i} = all.variable({name:?}, b{i}, {least})?;"
                ));
                code.after(&format!("::farfel_runtime::c::put_text(&c{i}, b{i});"));
                code.actual.push(format!("&mut c{i}"));
            }
            CKind::Procedure(procedure) => {
                declared.push(format!("{a}: ::core::option::Option<{}>", procedure.rust()));
                declared.push(format!("c{i}: *mut ::core::ffi::c_void"));
                let _ = writeln!(
                    code.checks,
                    "        let {a} = all.procedure({name:?}, {a})?;"
                );
                code.actual.push(procedure.closure(i, name));
            }
        }
    }
}

impl CProcedure {
    /// Returns the type of the C function.
    fn rust(&self) -> String {
        let mut types = vec!["*mut ::core::ffi::c_void".to_owned()];
        for arg in &self.args {
            let ty = arg.ty.rust();
            match (arg.array, arg.assigned) {
                (false, false) => types.push(ty.to_owned()),
                (_, true) => types.push(format!("*mut {ty}")),
                (true, false) => types.push(format!("*const {ty}")),
            }
            if arg.array {
                types.push("usize".into());
            }
        }
        types.extend(self.value.map(|ty| format!("*mut {}", ty.rust())));
        format!(
            "unsafe extern \"C\" fn({}) -> ::core::ffi::c_int",
            types.join(", ")
        )
    }

    /// Returns the closure that calls the C function.
    fn closure(&self, i: usize, name: &str) -> String {
        let names: Vec<String> = (1..=self.args.len()).map(|k| format!("x{k}")).collect();
        let mut actual = vec![format!("c{i}")];
        for (x, arg) in names.iter().zip(&self.args) {
            match (arg.array, arg.assigned) {
                (false, false) => actual.push(x.clone()),
                (false, true) => actual.push(format!("::core::ptr::from_mut({x})")),
                (true, assigned) => {
                    let method = if assigned { "as_mut_ptr" } else { "as_ptr" };
                    actual.push(format!("{x}.{method}()"));
                    actual.push(format!("{x}.len()"));
                }
            }
        }
        let mut value = String::new();
        if let Some(ty) = self.value {
            value = format!(
                "let mut y: {} = ::core::default::Default::default(); ",
                ty.rust()
            );
            actual.push("&mut y".into());
        }
        let returned = if self.value.is_some() { " y" } else { "" };
        format!(
            "|{}| {{ {value}::farfel_runtime::c::called({:?}, a{i}({}));{returned} }}",
            names.join(", "),
            identifier(name).trim_start_matches("r#"),
            actual.join(", ")
        )
    }
}
