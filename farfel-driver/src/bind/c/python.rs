//! The Python module. It declares the functions of the library for cffi; `support.py` has the rest.

use super::{CArray, CExtent, CFunction, CKind, CProcedure, CType, Library, PythonRole};
use std::fmt::Write as _;

/// The keywords of Python, and the names that the module uses.
const RESERVED: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "self",
    "call", "copy", "max", "min", "abs",
];

impl Library<'_> {
    /// Generates the module.
    pub(super) fn python(&self) -> String {
        let own = ["error_message", "error_file", "error_line", "error_code"];
        let own = own.map(|name| format!("{name:?}: {:?}", self.own_name(name)));
        let results = super::header::RESULTS.map(|r| format!("{r:?}"));
        let mut t = format!(
            "\"\"\"The Fortran subprograms of {}.\"\"\"\n\n\
             # Made by farfel {}. Do not edit.\n\n\
             from ._support import Call as _Call, Error, Instance as _Instance, Library as _Library\n\
             from ._support import power as _power, quotient as _quotient, remainder as _remainder\n\n\
             _library = _Library(\n    __file__,\n    \"\"\"\n{}\"\"\",\n    {:?},\n    [{}],\n    {{{}}},\n)\n",
            self.config.name,
            env!("CARGO_PKG_VERSION"),
            self.declarations(false),
            self.name,
            results.join(", "),
            own.join(", "),
        );
        let (methods, functions): (Vec<&CFunction>, Vec<&CFunction>) =
            self.functions.iter().copied().partition(|f| f.of_instance);
        for function in functions {
            t.push_str("\n\n");
            self.python_function(&mut t, function, "");
        }
        if let (Some(model), Some(ty)) = (self.instance, self.instance_type()) {
            let _ = write!(
                t,
                "\n\nclass {model}(_Instance):\n    \"\"\"COMMON and saved variables of the library, one set for each value.\"\"\"\n\n    \
                 def __init__(self, _pointer=None):\n        super().__init__(_library, {ty:?}, _pointer)\n\n    \
                 def copy(self):\n        \"\"\"Another value, which goes on from where this one is.\"\"\"\n        \
                 return {model}(self._cloned())\n"
            );
            for method in methods {
                t.push('\n');
                self.python_function(&mut t, method, "    ");
            }
        }
        t
    }

    fn python_function(&self, t: &mut String, function: &CFunction, margin: &str) {
        let sizes = function.sizes();
        // Given by position, then those that can be left out.
        let (mut needed, mut optional) = (Vec::new(), Vec::new());
        for arg in &function.args {
            let name = python_name(&arg.name);
            if arg.python != PythonRole::Given {
                continue;
            }
            match &arg.kind {
                CKind::Value(_) if sizes.iter().any(|s| s.name == arg.name) => {
                    optional.push(format!("{name}=None"));
                }
                // It is only a result.
                CKind::Variable(_, false)
                | CKind::TextVariable {
                    reads: false,
                    open: false,
                    ..
                } => {}
                _ => needed.push(name),
            }
        }
        let receiver = function.of_instance.then(|| "self".to_owned());
        let declared: Vec<String> = receiver.into_iter().chain(needed).chain(optional).collect();
        let _ = writeln!(
            t,
            "{margin}def {}({}):",
            python_name(&function.name),
            declared.join(", ")
        );
        let inner = format!("{margin}    ");
        let mut line = |text: &str| match text {
            "" => t.push('\n'),
            text => {
                let _ = writeln!(t, "{inner}{text}");
            }
        };
        let about: Vec<String> = function
            .about
            .iter()
            .map(|l| l.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\""))
            .collect();
        let mut about = about;
        about.extend(function.python_notes());
        let mut about = about.into_iter();
        line(&format!("\"\"\"{}", about.next().unwrap_or_default()));
        about.for_each(|l| line(&l));
        line("\"\"\"");
        line(&format!(
            "call = _Call(_library, {:?})",
            python_name(&function.name)
        ));
        let arrays = || {
            let given = function
                .args
                .iter()
                .filter(|a| a.python == PythonRole::Given);
            given.filter_map(|a| match &a.kind {
                CKind::Array(array) => Some((a, array)),
                _ => None,
            })
        };
        for (arg, array) in arrays() {
            let name = python_name(&arg.name);
            line(&format!(
                "{name} = call.array({name:?}, {name}, {:?}, {}, {})",
                array.ty.numpy(),
                array.extents.len(),
                truth(array.assigned),
            ));
        }
        for size in &sizes {
            let name = python_name(&size.name);
            let sources: Vec<String> = size
                .sources
                .iter()
                .map(|(array, rank, dimension)| {
                    let array = python_name(array);
                    format!("({array:?}, {array}, {rank}, {dimension})")
                })
                .collect();
            line(&format!(
                "{name} = call.size({name:?}, {name}, {})",
                sources.join(", ")
            ));
        }
        for (arg, array) in arrays().filter(|(_, a)| a.extents.len() > 1) {
            let name = python_name(&arg.name);
            let extents: Vec<String> = array.extents.iter().map(CExtent::python).collect();
            line(&format!(
                "call.extents({name:?}, {name}, {})",
                extents.join(", ")
            ));
        }
        if function.args.iter().any(|a| a.python.is_made()) {
            // Their extents depend on these.
            let given = function
                .args
                .iter()
                .filter(|a| a.python == PythonRole::Given);
            for arg in given {
                if let CKind::Value(ty @ CType::Integer(_)) = &arg.kind {
                    let name = python_name(&arg.name);
                    line(&format!(
                        "{name} = call.scalar({name:?}, {name}, {})",
                        self.python_type(*ty)
                    ));
                }
            }
        }
        for arg in &function.args {
            let name = python_name(&arg.name);
            match (&arg.python, &arg.kind) {
                (PythonRole::Computed(value), _) => line(&format!("{name} = {value}")),
                (
                    PythonRole::Output(extents) | PythonRole::Workspace(extents),
                    CKind::Array(array),
                ) => line(&format!(
                    "{name} = call.zeros({name:?}, {:?}, {})",
                    array.ty.numpy(),
                    extents.join(", ")
                )),
                _ => {}
            }
        }
        if function.of_instance {
            line("call.pass_instance(self)");
        }
        for arg in &function.args {
            let name = python_name(&arg.name);
            let text = match &arg.kind {
                CKind::Value(ty) => format!(
                    "call.pass_value({name:?}, {name}, {})",
                    self.python_type(*ty)
                ),
                CKind::Variable(ty, reads) => {
                    let value = match (*reads && arg.python == PythonRole::Given, ty) {
                        (true, _) => name.as_str(),
                        (false, CType::Bool) => "False",
                        (false, _) => "0",
                    };
                    let returned = match arg.python {
                        PythonRole::Status => ", returned=False",
                        _ => "",
                    };
                    format!(
                        "call.pass_variable({name:?}, {value}, {}{returned})",
                        self.python_type(*ty)
                    )
                }
                CKind::Array(array) => {
                    let returned = match arg.python {
                        PythonRole::Output(_) => ", returned=True",
                        _ => "",
                    };
                    format!("call.pass_array({name}, {:?}{returned})", array.ty.c(self))
                }
                CKind::Text => format!("call.pass_text({name:?}, {name})"),
                CKind::TextVariable { least, open, reads } => {
                    let made = matches!(arg.python, PythonRole::Output(_));
                    let value = if (*reads || *open) && !made {
                        name.as_str()
                    } else {
                        "\"\""
                    };
                    format!(
                        "call.pass_text_variable({name:?}, {value}, {least}, {})",
                        truth(*open)
                    )
                }
                CKind::Procedure(procedure) => format!(
                    "call.pass_procedure({name:?}, {name}, {:?}, {})",
                    self.own_name(&format!("{}_{}_procedure", function.name, arg.name)),
                    self.python_procedure(procedure),
                ),
            };
            line(&text);
        }
        for status in &function.statuses {
            let conditions = status
                .wrong
                .iter()
                .map(|(operator, than)| format!("({operator:?}, {than})"));
            let conditions: Vec<String> = conditions.collect();
            let meanings = status.meanings.iter().map(|(operator, than, text)| {
                format!("({operator:?}, {than}, {})", python_text(text))
            });
            let meanings: Vec<String> = meanings.collect();
            line(&format!(
                "call.status({:?}, [{}], [",
                python_name(&status.name),
                conditions.join(", ")
            ));
            for meaning in meanings {
                line(&format!("    {meaning},"));
            }
            line("])");
        }
        let value = function
            .value
            .map_or(String::new(), |ty| format!(", ({})", self.python_type(ty)));
        line(&format!(
            "return call.run({:?}{value})",
            self.function_name(function)
        ));
    }

    /// Returns the name of a type in numpy, and in C.
    fn python_type(&self, ty: CType) -> String {
        format!("{:?}, {:?}", ty.numpy(), ty.c(self))
    }

    /// Returns the arguments of a procedure, and its value.
    fn python_procedure(&self, procedure: &CProcedure) -> String {
        let args: Vec<String> = procedure
            .args
            .iter()
            .map(|g| {
                let (array, assigned) = (truth(g.array), truth(g.assigned));
                format!("({:?}, {array}, {assigned})", g.ty.numpy())
            })
            .collect();
        let value = match procedure.value {
            Some(ty) => format!("({})", self.python_type(ty)),
            None => "None".to_owned(),
        };
        format!("[{}], {value}", args.join(", "))
    }
}

/// A size that follows from arrays.
struct Size {
    name: String,
    /// The arrays that have it, with their ranks and the dimension.
    sources: Vec<(String, usize, usize)>,
}

impl CFunction {
    /// Returns the arguments that are the extents of arrays.
    fn sizes(&self) -> Vec<Size> {
        let mut sizes: Vec<Size> = Vec::new();
        for arg in &self.args {
            let CKind::Array(CArray { extents, .. }) = &arg.kind else {
                continue;
            };
            if arg.python != PythonRole::Given {
                continue;
            }
            for (dimension, extent) in extents.iter().enumerate() {
                let CExtent::Argument(name) = extent else {
                    continue;
                };
                let source = (arg.name.clone(), extents.len(), dimension);
                match sizes.iter_mut().find(|s| s.name == *name) {
                    Some(size) => size.sources.push(source),
                    None => sizes.push(Size {
                        name: name.clone(),
                        sources: vec![source],
                    }),
                }
            }
        }
        sizes
    }

    /// Returns what a Python user needs to know about the arguments.
    fn python_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for arg in &self.args {
            let name = python_name(&arg.name);
            match &arg.kind {
                _ if arg.python != PythonRole::Given => {}
                CKind::Array(CArray {
                    assigned: true, ty, ..
                }) => {
                    notes.push(format!(
                        "`{name}` is assigned: a numpy array of {}.",
                        ty.numpy()
                    ));
                }
                CKind::Procedure(p) => notes.push(format!("`{name}` is {}.", p.about)),
                _ => {}
            }
        }
        let mut returned: Vec<String> = match (self.value, self.returns) {
            (Some(_), true) => vec!["the number of the alternate return".into()],
            (Some(_), false) => vec!["the value".into()],
            (None, _) => Vec::new(),
        };
        returned.extend(self.args.iter().filter_map(|a| match (&a.kind, &a.python) {
            (CKind::Variable(..), PythonRole::Status) => None,
            (CKind::Variable(..) | CKind::TextVariable { .. }, _)
            | (CKind::Array(_), PythonRole::Output(_)) => {
                Some(format!("`{}`", python_name(&a.name)))
            }
            _ => None,
        }));
        if returned.len() > usize::from(self.value.is_some()) {
            notes.push(format!("Returns {}.", returned.join(", ")));
        }
        for status in &self.statuses {
            let name = python_name(&status.name);
            let conditions = status
                .wrong
                .iter()
                .map(|(operator, than)| format!("`{name} {operator} {than}`"));
            let conditions: Vec<String> = conditions.collect();
            notes.push(format!("Raises `Error` if {}.", conditions.join(" or ")));
        }
        if !notes.is_empty() {
            notes.insert(0, String::new());
        }
        notes
    }
}

impl CExtent {
    /// Returns the extent in Python. Names in expressions are those of Fortran.
    fn python(&self) -> String {
        match self {
            CExtent::Argument(name) => python_name(name),
            CExtent::Expression(text) => {
                let mut result = String::new();
                for word in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
                    let (name, end) = match word.char_indices().last() {
                        Some((i, c)) if !c.is_alphanumeric() && c != '_' => word.split_at(i),
                        _ => (word, ""),
                    };
                    result.push_str(&python_name(name));
                    result.push_str(end);
                }
                result
            }
            CExtent::Unknown => "None".to_owned(),
        }
    }
}

pub(in crate::bind) fn python_name(name: &str) -> String {
    match RESERVED.contains(&name) {
        true => format!("{name}_"),
        false => name.to_owned(),
    }
}

fn truth(is: bool) -> &'static str {
    if is { "True" } else { "False" }
}

/// Returns a text as Python writes it.
fn python_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
