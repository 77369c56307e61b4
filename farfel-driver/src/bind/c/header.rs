//! The C header.

use super::{CFunction, CKind, CProcedure, CType, Library};
use std::fmt::Write as _;

/// The words of C and C++ that cannot be names of arguments, and the macros of the headers that ours includes.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "co_await",
    "co_return",
    "co_yield",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "linux",
    "unix",
    "size_t",
];

impl Library<'_> {
    /// Generates the header.
    pub(super) fn header(&self) -> String {
        let upper = self.name.to_ascii_uppercase();
        let codes = self.own_name("error_code");
        let mut t = format!(
            "/* Made by farfel {} from the Fortran sources of {}. Do not edit.\n *\n \
             * Every function returns 0, or the number of an error: then {}() and the functions\n \
             * after it say more. Nothing in the library ends the process.\n *\n \
             * - An array comes with its number of elements, which is at least what its Fortran declaration says.\n \
             *   The first subscript varies fastest.\n \
             * - A text comes with its length. No byte 0 ends it: a variable has blanks at its end.\n \
             * - Arguments that are assigned must not overlap others.\n \
             * - A procedure gets the `context` that came with it. It returns 0 to go on; another number ends the\n \
             *   call with {upper}_CALLBACK, and {codes}() is that number. It must not end\n \
             *   by longjmp or with an exception.\n \
             * - Any thread may call any function.\n */\n\
             #ifndef FARFEL_{upper}_H\n#define FARFEL_{upper}_H\n\n\
             #include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n\
             #ifdef __cplusplus\nextern \"C\" {{\n#endif\n",
            env!("CARGO_PKG_VERSION"),
            self.config.name,
            self.own_name("error_message"),
        );
        t.push_str(&self.declarations(true));
        t.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
        t
    }

    /// Generates the declarations, with comments or without.
    pub(super) fn declarations(&self, comments: bool) -> String {
        let mut t = String::new();
        let upper = self.name.to_ascii_uppercase();
        let about = |t: &mut String, text: &str| {
            if comments {
                let _ = writeln!(t, "\n/* {text} */");
            }
        };
        about(&mut t, "The results of functions.");
        let _ = writeln!(t, "enum {} {{", self.own_name("result"));
        let meanings = [
            "the call was successful",
            "NULL, arguments that overlap, a text that is not UTF-8, an instance in use",
            "an array has fewer elements than its declaration says",
            "a subscript, section or substring is out of bounds",
            "STOP, with its code",
            "PAUSE",
            "READ, WRITE, OPEN or the like failed; the code is the IOSTAT",
            "there is no memory for an array",
            "an INTEGER is divided by zero",
            "the step of a loop or section is zero",
            "a floating-point operation has no result of use",
            "another thread has used the library for too long",
            "a procedure returned a number other than 0, which is the code",
            "an argument has a value that means an error; the code is that value",
            "the call failed for another reason",
        ];
        for (number, (name, meaning)) in RESULTS.iter().zip(meanings).enumerate() {
            let _ = match comments {
                true => writeln!(t, "    {upper}_{name} = {number}, /* {meaning} */"),
                false => writeln!(t, "    {upper}_{name} = {number},"),
            };
        }
        t.push_str("};\n");
        about(
            &mut t,
            "About the last call of this thread, until its next one: the message; the Fortran file and line, empty\n   \
             and 0 if there is none; a code.",
        );
        for (name, returned) in [
            ("error_message", "const char *"),
            ("error_file", "const char *"),
            ("error_line", "int "),
            ("error_code", "int "),
        ] {
            let _ = writeln!(t, "{returned}{}(void);", self.own_name(name));
        }
        for (ty, real) in [(CType::Complex, "double"), (CType::ComplexFloat, "float")] {
            if self.functions.iter().any(|f| f.mentions(ty)) {
                about(
                    &mut t,
                    &format!("Laid out like `{real} _Complex` and `std::complex<{real}>`."),
                );
                let _ = writeln!(t, "typedef struct {{ {real} re, im; }} {};", ty.c(self));
            }
        }
        if let Some(ty) = self.instance_type() {
            about(
                &mut t,
                "COMMON and saved variables, one set for each instance. A call needs its instance for itself. A clone\n   \
                 goes on from where the original is. Each instance is freed once.",
            );
            let _ = writeln!(
                t,
                "typedef struct {ty} {ty};\n{ty} *{ty}_new(void);\nint {ty}_clone(const {ty} *of, {ty} **clone);\nvoid {ty}_free({ty} *of);"
            );
        }
        for function in &self.functions {
            self.declaration(&mut t, function, comments);
        }
        t
    }

    fn declaration(&self, t: &mut String, function: &CFunction, comments: bool) {
        let name = self.function_name(function);
        if comments {
            t.push_str("\n/*");
            for line in &function.about {
                // Nothing ends the comment before its end.
                let line = line.replace("*/", "* /").replace("/*", "/ *");
                match line.as_str() {
                    "" => t.push_str("\n *"),
                    line => {
                        let _ = write!(t, "\n * {line}");
                    }
                }
            }
            t.push_str("\n */\n");
        }
        let mut names = Names(function.args.iter().map(|a| a.name.clone()).collect());
        let mut declared: Vec<(String, String)> = Vec::new();
        if let Some(ty) = self.instance_type().filter(|_| function.of_instance) {
            let instance = names.new_name("instance");
            declared.push((format!("{ty} *{instance}"), String::new()));
        }
        for arg in &function.args {
            let own = legal(&arg.name);
            let named = |c: &str| c.to_owned();
            match &arg.kind {
                CKind::Value(ty) => {
                    declared.push((format!("{} {own}", ty.c(self)), String::new()));
                }
                CKind::Variable(ty, reads) => {
                    let note = if *reads {
                        "read and assigned"
                    } else {
                        "assigned"
                    };
                    declared.push((format!("{} *{own}", ty.c(self)), note.into()));
                }
                CKind::Array(array) => {
                    let constant = if array.assigned { "" } else { "const " };
                    let assigned = if array.assigned { ", assigned" } else { "" };
                    let count = names.new_name(&format!("{}_elements", arg.name));
                    declared.push((
                        format!("{constant}{} *{own}, size_t {count}", array.ty.c(self)),
                        format!("{}{assigned}", array.shown),
                    ));
                }
                CKind::Text => {
                    let length = names.new_name(&format!("{}_length", arg.name));
                    declared.push((
                        format!("const char *{own}, size_t {length}"),
                        named("CHARACTER"),
                    ));
                }
                CKind::TextVariable { least, open, .. } => {
                    let length = names.new_name(&format!("{}_length", arg.name));
                    let shown = match open {
                        true => "CHARACTER*(*), assigned".to_owned(),
                        false => format!("CHARACTER*{least}, assigned"),
                    };
                    declared.push((format!("char *{own}, size_t {length}"), shown));
                }
                CKind::Procedure(procedure) => {
                    let ty = self.own_name(&format!("{}_{}_procedure", function.name, arg.name));
                    let context = names.new_name(&format!("{}_context", arg.name));
                    procedure.declaration(t, &ty, self);
                    declared.push((
                        format!("{ty} {own}, void *{context}"),
                        procedure.about.replace("*/", "* /"),
                    ));
                }
            }
        }
        if let Some(ty) = function.value {
            let note = match function.returns {
                true => "the number of the alternate return, or 0",
                false => "",
            };
            let result = names.new_name("result");
            declared.push((format!("{} *{result}", ty.c(self)), note.into()));
        }
        if declared.is_empty() {
            declared.push(("void".into(), String::new()));
        }
        let _ = write!(t, "int {name}(");
        let count = declared.len();
        for (i, (text, note)) in declared.into_iter().enumerate() {
            let end = if i + 1 == count { ");" } else { "," };
            let note = match comments && !note.is_empty() {
                true => format!(" /* {note} */"),
                false => String::new(),
            };
            let _ = write!(t, "\n    {text}{end}{note}");
        }
        t.push('\n');
    }
}

/// The names of results, as [`farfel_runtime::c`] numbers them.
///
/// [`farfel_runtime::c`]: https://docs.rs/farfel-runtime
pub(super) const RESULTS: [&str; 15] = [
    "OK",
    "ARGUMENT",
    "EXTENT",
    "BOUNDS",
    "STOP",
    "PAUSE",
    "IO",
    "MEMORY",
    "DIVISION_BY_ZERO",
    "ZERO_STEP",
    "FLOAT",
    "BUSY",
    "CALLBACK",
    "STATUS",
    "PANIC",
];

/// The names of arguments in a declaration.
struct Names(Vec<String>);

impl Names {
    /// Returns a name that no argument has.
    fn new_name(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.0.contains(&name) {
            name.push('_');
        }
        self.0.push(name.clone());
        name
    }
}

fn legal(name: &str) -> String {
    match RESERVED.contains(&name) {
        true => format!("{name}_"),
        false => name.to_owned(),
    }
}

impl CFunction {
    fn mentions(&self, ty: CType) -> bool {
        self.value == Some(ty)
            || self.args.iter().any(|a| match &a.kind {
                CKind::Value(t) | CKind::Variable(t, _) => *t == ty,
                CKind::Array(array) => array.ty == ty,
                CKind::Text | CKind::TextVariable { .. } => false,
                CKind::Procedure(p) => p.value == Some(ty) || p.args.iter().any(|g| g.ty == ty),
            })
    }
}

impl CProcedure {
    /// Declares the type of the C function.
    fn declaration(&self, t: &mut String, name: &str, library: &Library) {
        let mut types = vec!["void *context".to_owned()];
        for (i, arg) in (1..).zip(&self.args) {
            let ty = arg.ty.c(library);
            types.push(match (arg.array, arg.assigned) {
                (false, false) => format!("{ty} x{i}"),
                (false, true) => format!("{ty} *x{i}"),
                (true, true) => format!("{ty} *x{i}, size_t x{i}_elements"),
                (true, false) => format!("const {ty} *x{i}, size_t x{i}_elements"),
            });
        }
        types.extend(self.value.map(|ty| format!("{} *result", ty.c(library))));
        let _ = writeln!(t, "typedef int (*{name})({});", types.join(", "));
    }
}
