//! Determines what a file in any Fortran defines and uses, from the first words of its statements.

use super::statements::Statement;

/// A module, by its name in lower case, and the place where it is named: `src/grid.f90:3:`. A submodule is
/// `ancestor@name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleReference {
    pub name: String,
    pub place: String,
}

/// What is known about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// The modules and submodules that it defines.
    pub defines: Vec<ModuleReference>,
    /// The modules that it uses.
    pub uses: Vec<ModuleReference>,
    /// The parent modules and submodules of its submodules.
    pub parents: Vec<ModuleReference>,
    /// Subprograms outside modules, in upper case.
    pub externals: Vec<ModuleReference>,
    /// Its first COMMON statement.
    pub common: Option<ModuleReference>,
    /// The name of its main program, if there is one, in upper case.
    pub main: Option<String>,
    /// Whether it has AD blocks.
    pub differentiates: bool,
    /// The line of a statement that neither FORTRAN 77 nor Fortran 90 has.
    pub newer: Option<String>,
}

/// The kind of a block of statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Interface,
    Other,
}

/// Words that may precede SUBROUTINE and FUNCTION.
const PREFIXES: [&str; 19] = [
    "recursive",
    "non_recursive",
    "pure",
    "impure",
    "elemental",
    "module",
    "integer",
    "real",
    "complex",
    "logical",
    "character",
    "double",
    "precision",
    "doubleprecision",
    "type",
    "class",
    "byte",
    "attributes",
    "simple",
];

/// The beginnings of statements of Fortran 2003 and later.
const NEWER: [&str; 21] = [
    "abstract interface",
    "associate(",
    "associate (",
    "block",
    "change team",
    "class(",
    "class (",
    "critical",
    "do concurrent",
    "enum,",
    "enumerator",
    "error stop",
    "event ",
    "generic",
    "import",
    "procedure(",
    "procedure (",
    "select rank",
    "select type",
    "submodule",
    "sync ",
];

pub(crate) fn scan(statements: &[Statement]) -> Scan {
    let mut scan = Scan::default();
    let mut open: Vec<Block> = Vec::new();
    for Statement { text, place } in statements {
        let named = |name: &str| ModuleReference {
            name: name.to_owned(),
            place: place.clone(),
        };
        let external = |name: &str| named(&name.to_ascii_uppercase());
        let squeezed: String = text.chars().filter(|c| *c != ' ').collect();
        scan.differentiates |= ["endadf", "endadr"].iter().any(|w| squeezed.starts_with(w));
        if scan.newer.is_none() && is_newer(text, &squeezed) {
            scan.newer = Some(place.clone());
        }
        let (word, rest) = split(text);
        if let Some(name) = used(word, rest) {
            scan.uses.push(named(name));
        }
        if word == "common" && !rest.starts_with(['=', '(', '%']) {
            scan.common.get_or_insert_with(|| named("common"));
        }
        if closes(word, rest) {
            open.pop();
            continue;
        }
        let top = open.is_empty();
        let opened = match word {
            "module" if named_only(rest).is_some_and(|n| n != "procedure") => {
                scan.defines.extend(named_only(rest).map(named));
                Some(Block::Other)
            }
            "module" if split(rest).0 == "procedure" => {
                (open.last() != Some(&Block::Interface)).then_some(Block::Other)
            }
            "submodule" => submodule(rest).map(|(parents, name)| {
                scan.defines.push(named(&name));
                scan.parents.extend(parents.iter().map(|p| named(p)));
                Block::Other
            }),
            "program" => named_only(rest).map(|name| {
                scan.main = Some(name.to_ascii_uppercase());
                Block::Other
            }),
            "interface" if !rest.starts_with(['=', '(', '%']) => Some(Block::Interface),
            "abstract" if rest.starts_with("interface") => Some(Block::Interface),
            "block" if rest.starts_with("data") => Some(Block::Other),
            "blockdata" => Some(Block::Other),
            _ => procedure(text).map(|name| {
                if top {
                    scan.externals.push(external(name));
                }
                Block::Other
            }),
        };
        if word == "entry" && open.len() == 1 {
            let name = Some(split(rest).0).filter(|name| !name.is_empty());
            scan.externals.extend(name.map(external));
        }
        match opened {
            Some(block) => open.push(block),
            // A main program without a PROGRAM statement.
            None if top => {
                scan.main = Some("MAIN".into());
                open.push(Block::Other);
            }
            None => {}
        }
    }
    scan
}

/// Splits a text into its first word and the rest.
fn split(text: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Returns the text if it consists of nothing but a name.
fn named_only(text: &str) -> Option<&str> {
    let (name, rest) = split(text);
    (rest.is_empty() && name.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(name)
}

/// Returns the module that a USE statement names.
fn used<'t>(word: &str, rest: &'t str) -> Option<&'t str> {
    if word != "use" {
        return None;
    }
    let name = match rest.split_once("::") {
        Some((_, name)) => name.trim_start(),
        None => rest,
    };
    let (name, after) = split(name);
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    (begins && (after.is_empty() || after.starts_with(','))).then_some(name)
}

/// Whether the statement ends a program unit or an interface block.
fn closes(word: &str, rest: &str) -> bool {
    const UNITS: [&str; 9] = [
        "program",
        "module",
        "submodule",
        "subroutine",
        "function",
        "procedure",
        "interface",
        "blockdata",
        "block",
    ];
    let Some(what) = word.strip_prefix("end") else {
        return false;
    };
    // `endprogram p`, or `end program p`; a variable may have such a name, too.
    let assigned = rest.starts_with(['=', '(', '%']);
    match what {
        "" if rest.is_empty() => true,
        "" => match split(rest) {
            ("block", after) => after.starts_with("data"),
            (what, _) => UNITS.contains(&what),
        },
        "block" => rest.starts_with("data"),
        what => UNITS.contains(&what) && !(assigned && what != "interface"),
    }
}

/// Parses `(ancestor:parent) name`: returns the modules that the submodule belongs to, and its name with the
/// ancestor's.
fn submodule(rest: &str) -> Option<(Vec<String>, String)> {
    let (inside, name) = rest.strip_prefix('(')?.split_once(')')?;
    let name = named_only(name.trim())?;
    let (ancestor, parent) = match inside.split_once(':') {
        Some((ancestor, parent)) => (ancestor.trim(), Some(parent.trim())),
        None => (inside.trim(), None),
    };
    let mut parents = vec![ancestor.to_owned()];
    parents.extend(parent.map(|p| format!("{ancestor}@{p}")));
    Some((parents, format!("{ancestor}@{name}")))
}

/// Returns the name of the subroutine or function that the statement begins.
fn procedure(text: &str) -> Option<&str> {
    let mut left = text;
    loop {
        let (word, rest) = split(left);
        if word == "subroutine" || word == "function" {
            let (name, after) = split(rest);
            let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
            let ends = after.is_empty() || after.starts_with('(') || after.starts_with("bind");
            return (begins && ends).then_some(name);
        }
        if !PREFIXES.contains(&word) {
            return None;
        }
        left = match rest.strip_prefix('*') {
            // REAL*8
            Some(rest) if !rest.trim_start().starts_with('(') => {
                let rest = rest.trim_start();
                rest.trim_start_matches(|c: char| c.is_ascii_digit())
                    .trim_start()
            }
            stars => {
                let rest = stars.unwrap_or(rest).trim_start();
                match rest.starts_with('(') {
                    true => after_parentheses(rest)?,
                    false => rest,
                }
            }
        };
    }
}

fn after_parentheses(text: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(text[at + 1..].trim_start());
        }
    }
    None
}

/// Whether a statement belongs to Fortran 2003 or later.
fn is_newer(text: &str, squeezed: &str) -> bool {
    // `name: block`
    let construct = text.split_once(':').map(|(name, rest)| (name, rest.trim()));
    let text = match construct {
        Some((name, rest)) if named_only(name.trim()).is_some() => rest,
        _ => text,
    };
    let begins = NEWER.iter().any(|w| match *w {
        "block" => text == "block",
        "critical" => text == "critical",
        // Followed by a letter, it would be another word.
        w => text
            .strip_prefix(w)
            .is_some_and(|rest| w.ends_with([' ', '(', ',']) || !rest.starts_with(is_more)),
    });
    let declares = squeezed.contains("::");
    let allocates = squeezed.starts_with("allocate(");
    begins && !assigns(text)
        || squeezed.contains(")bind(c") && procedure(text).is_some()
        || squeezed.contains("len=:") && declares
        || squeezed.starts_with("character(:)")
        || allocates && (squeezed.contains("source=") || squeezed.contains("mold="))
        // An array constructor cannot end like this.
        || squeezed.contains('[') && squeezed.ends_with("*]")
}

fn is_more(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '='
}

/// Whether a text is `name = …`.
fn assigns(text: &str) -> bool {
    let (_, rest) = split(text);
    rest.starts_with('=') && !rest.starts_with("==")
}

#[cfg(test)]
mod tests {
    use super::super::statements::statements;
    use super::*;
    use farfel_lang::syntax::{FixedFormLayout, Form};

    fn of(text: &str) -> Scan {
        let text = format!("# 1 \"f\"\n{text}");
        scan(&statements(&text, Form::Free, FixedFormLayout::default()))
    }

    fn names(list: &[ModuleReference]) -> Vec<&str> {
        list.iter().map(|n| n.name.as_str()).collect()
    }

    #[test]
    fn modules_and_what_is_in_them() {
        let found = of(
            "module a\n use, intrinsic :: iso_c_binding\n use b, only: x => y\n\
            interface\n module subroutine deep(z)\n real :: z\n end subroutine\n end interface\n\
            interface put\n module procedure one, two\n end interface\n\
            type t\n contains\n procedure :: p\n end type t\ncontains\n\
            pure real(kind=8) function f(x) result(y)\n use c\n end function f\n\
            subroutine s\n block\n integer :: k\n end block\n if (x) then\n endif\n end\nend module a\n\
            submodule (a) d\n contains\n module procedure deep\n end procedure\n end submodule\n\
            submodule (a:d) e\n end submodule e\n\
            subroutine outside(x) bind(c)\nend\n\
            real*8 function more(x)\nentry other(x)\nend function\n",
        );
        assert_eq!(names(&found.defines), ["a", "a@d", "a@e"]);
        assert_eq!(names(&found.uses), ["iso_c_binding", "b", "c"]);
        assert_eq!(found.uses[1].place, "f:3:");
        assert_eq!(names(&found.parents), ["a", "a", "a@d"]);
        assert_eq!(names(&found.externals), ["OUTSIDE", "MORE", "OTHER"]);
        assert_eq!(found.main, None);
    }

    #[test]
    fn main_programs() {
        let main = |text: &str| of(text).main;
        assert_eq!(main("program p\nend program p\n").as_deref(), Some("P"));
        assert_eq!(
            main("use m\nprint *, 1\ncontains\nsubroutine s\nend\nend\n").as_deref(),
            Some("MAIN")
        );
        assert_eq!(
            main("block data\nend\nblock data b\nend block data\n"),
            None
        );
        assert_eq!(main("subroutine s\nend\n"), None);
        let found = of("subroutine s\ninterface\nsubroutine t\nend\nend interface\nentry u\nend\n");
        assert_eq!(names(&found.externals), ["S", "U"]);
    }

    /// Keywords used as names of variables.
    #[test]
    fn variables() {
        let found = of(
            "subroutine s\nuse = 1\nmodule = 2\nprogram = use\ninterface = 3\n\
            block = 1\nimport = 2\ncommon(1) = 2\nendfunction = 3\nentry = 2\nend module_x\n\
            real function_of\nend\nsubroutine t\nend\n",
        );
        assert!(
            found.defines.is_empty() && found.uses.is_empty(),
            "{found:?}"
        );
        assert_eq!(names(&found.externals), ["S", "T"]);
        assert_eq!(found.common, None);
        assert!(of("subroutine s\ncommon x\nend\n").common.is_some());
        assert_eq!((found.main, found.newer), (None, None));
    }

    #[test]
    fn newer_statements() {
        for (text, newer) in [
            ("block", true),
            ("b: block", true),
            ("do concurrent (i = 1:3)", true),
            ("error stop 'x'", true),
            ("procedure(real) :: f", true),
            ("character(len=:), allocatable :: c", true),
            ("allocate (x, source = y)", true),
            ("real x(3)[2, *]", true),
            ("if (x) error = 1", false),
            ("blocks = 1", false),
            ("generic = 1", false),
            ("x = associate(3)", false),
            ("real :: x(3) = [1, 2, 3]", false),
        ] {
            let found = of(&format!("subroutine s\n{text}\nend\n"));
            assert_eq!(found.newer.is_some(), newer, "{text}");
        }
        assert!(
            of("subroutine s(x) bind(c, name='t')\nend\n")
                .newer
                .is_some()
        );
        assert!(!of("subroutine s\nadf(i) = 1\nend\n").differentiates);
        assert!(of("subroutine s\nADF(X)\nEND ADF(Y = TANGENT(X))\nend\n").differentiates);
    }
}
