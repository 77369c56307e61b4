//! Checks the rules for crates and modules in ARCHITECTURE.md against the sources, and that each file with tests runs.

use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates without input or output.
const PURE: &[&str] = &[
    "farfel-ir",
    "farfel-analysis",
    "farfel-lang",
    "farfel-ad",
    "farfel-tools",
];

/// Crates that start programs.
const STARTS_PROGRAMS: &[&str] = &["farfel-build", "farfel-driver", "farfel-cli"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the published crates, by the names of their directories.
fn crates() -> Vec<String> {
    let names = std::fs::read_dir(workspace()).unwrap().map(|e| {
        let name = e.unwrap().file_name();
        name.into_string().unwrap()
    });
    let mut names: Vec<String> = names.filter(|n| n.starts_with("farfel-")).collect();
    names.sort();
    assert!(names.len() > 5, "{names:?}");
    names
}

/// A source file of a crate.
struct File {
    path: PathBuf,
    /// The path of its module; empty for `lib.rs`.
    module: Vec<String>,
    /// The code, without items that are compiled only for tests.
    text: syn::File,
}

impl File {
    /// Returns the top-level module that contains it.
    fn top(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }
}

fn files(name: &str) -> Vec<File> {
    let root = workspace().join(name).join("src");
    let mut found = Vec::new();
    let mut tests = BTreeSet::new();
    let mut open = vec![root.clone()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            if path.extension().is_none_or(|e| e != "rs") {
                continue;
            }
            let relative = path.strip_prefix(&root).unwrap().with_extension("");
            let words = relative
                .components()
                .map(|c| c.as_os_str().to_str().unwrap());
            let mut module: Vec<String> = words.map(str::to_owned).collect();
            if module.last().is_some_and(|m| m == "mod" || m == "lib") {
                module.pop();
            }
            // Binaries are separate crates.
            if module.first().is_some_and(|m| m == "bin") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let mut text = syn::parse_file(&text).unwrap();
            text.items.retain(|item| {
                let (attributes, name) = match item {
                    syn::Item::Mod(m) => (&m.attrs, Some(m.ident.to_string())),
                    syn::Item::Fn(f) => (&f.attrs, None),
                    syn::Item::Use(u) => (&u.attrs, None),
                    _ => return true,
                };
                let for_tests = attributes.iter().any(|a| {
                    let text = a.to_token_stream().to_string().replace(' ', "");
                    text == "#[cfg(test)]"
                });
                if for_tests && let Some(name) = name {
                    tests.insert([&module[..], &[name]].concat());
                }
                !for_tests
            });
            found.push(File { path, module, text });
        }
    }
    found.retain(|f| !tests.iter().any(|t| f.module.starts_with(t)));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Collects every path in a piece of source, word by word, with the groups of `use` expanded.
fn paths(tokens: TokenStream, found: &mut Vec<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(_) => {
                let from = at;
                path(&tokens, &mut at, &[], found);
                // Advances at least past the word itself.
                at = at.max(from + 1);
            }
            TokenTree::Group(g) => {
                paths(g.stream(), found);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Reads the path that begins at `at`, prefixed by `before`.
fn path(tokens: &[TokenTree], at: &mut usize, before: &[String], found: &mut Vec<Vec<String>>) {
    let mut words = before.to_vec();
    loop {
        match tokens.get(*at) {
            Some(TokenTree::Ident(word)) => {
                words.push(word.to_string());
                *at += 1;
            }
            Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Brace && !words.is_empty() => {
                *at += 1;
                let inner: Vec<TokenTree> = g.stream().into_iter().collect();
                let commas = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ',');
                for part in inner.split(commas) {
                    path(part, &mut 0, &words, found);
                }
                return;
            }
            _ => break,
        }
        let colon =
            |t: Option<&TokenTree>| matches!(t, Some(TokenTree::Punct(p)) if p.as_char() == ':');
        if !(colon(tokens.get(*at)) && colon(tokens.get(*at + 1))) {
            break;
        }
        *at += 2;
    }
    found.push(words);
}

/// Returns the paths in a file. Paths in inline modules lose one leading `super` per module.
fn paths_of(file: &File) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    paths_in(&file.text.items, &mut found);
    found
}

fn paths_in(items: &[syn::Item], found: &mut Vec<Vec<String>>) {
    for item in items {
        match item {
            syn::Item::Mod(syn::ItemMod {
                content: Some((_, inner)),
                ..
            }) => {
                let mut within = Vec::new();
                paths_in(inner, &mut within);
                found.extend(within.into_iter().filter_map(|mut path| {
                    if path.first().is_some_and(|w| w == "super") {
                        path.remove(0);
                        // A path into its own file.
                        path.first().filter(|w| *w == "super")?;
                    }
                    Some(path)
                }));
            }
            _ => paths(item.to_token_stream(), found),
        }
    }
}

/// Returns, for each module of a crate, the other modules that it uses, with one file in which it does. An
/// item that `lib.rs` only re-exports under another path belongs to the module or crate from which it comes.
fn uses(name: &str) -> BTreeMap<(String, String), PathBuf> {
    let files = files(name);
    let modules: BTreeSet<&str> = files.iter().map(File::top).collect();
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for item in files
        .iter()
        .filter(|f| f.top() == "lib")
        .flat_map(|f| &f.text.items)
    {
        if let syn::Item::Use(item) = item {
            let mut found = Vec::new();
            paths(item.tree.to_token_stream(), &mut found);
            for path in found {
                let path: Vec<String> = path
                    .into_iter()
                    .filter(|w| w != "self" && w != "crate")
                    .collect();
                // `X as Y` is read as two paths; the name is the last.
                if let [from, .., last] = path.as_slice() {
                    shown.insert(last.clone(), from.clone());
                }
            }
        }
    }
    let mut uses = BTreeMap::new();
    for file in &files {
        let from = file.top();
        for path in paths_of(file) {
            let ups = path.iter().take_while(|w| *w == "super").count();
            let word = match path.first().map(String::as_str) {
                Some("crate") => path.get(1),
                Some("super") if ups == file.module.len() && from != "lib" => path.get(ups),
                Some(_) if from == "lib" && path.len() > 1 => path.first(),
                _ => continue,
            };
            let Some(word) = word.map(String::as_str) else {
                continue;
            };
            let to = match (modules.contains(word), shown.get(word)) {
                (true, _) => word,
                (false, Some(shown)) if modules.contains(shown.as_str()) => shown,
                // An item of another crate.
                (false, Some(_)) => continue,
                // An item of `lib.rs` itself.
                (false, None) if from != "lib" => "lib",
                (false, None) => continue,
            };
            if from != to {
                let key = (from.to_owned(), to.to_owned());
                uses.entry(key).or_insert_with(|| file.path.clone());
            }
        }
    }
    uses
}

/// Returns messages about modules that use each other, with the uses that form the cycle.
fn cycles(of: &str, uses: &BTreeMap<(String, String), PathBuf>) -> Vec<String> {
    let edges = uses.keys().map(|(from, to)| (from.as_str(), to.as_str()));
    let graph: DiGraphMap<&str, ()> = edges.collect();
    let mut cycles = kosaraju_scc(&graph);
    cycles.retain(|c| c.len() > 1);
    cycles.sort_by_key(Vec::len);
    let mut wrong = Vec::new();
    for cycle in &mut cycles {
        cycle.sort_unstable();
        let count = cycle.len();
        wrong.push(format!("{of}: {count} modules use each other: {cycle:?}"));
        for ((from, to), file) in uses {
            if cycle.contains(&from.as_str()) && cycle.contains(&to.as_str()) {
                wrong.push(format!("    {from} uses {to}, in {}", file.display()));
            }
        }
    }
    wrong
}

#[test]
fn no_module_uses_itself_by_way_of_others() {
    let wrong = crates().into_iter().flat_map(|c| cycles(&c, &uses(&c)));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Returns, for each submodule of a module, the others that it uses, with one file in which it does.
fn uses_within(files: &[File], module: &[String]) -> BTreeMap<(String, String), PathBuf> {
    let within: Vec<&File> = (files.iter())
        .filter(|f| f.module.starts_with(module))
        .collect();
    let part = |f: &File| f.module.get(module.len()).cloned();
    let parts: BTreeSet<String> = within.iter().filter_map(|f| part(f)).collect();
    let mut uses = BTreeMap::new();
    for file in within {
        let Some(from) = part(file) else { continue };
        for path in paths_of(file) {
            let ups = path.iter().take_while(|w| *w == "super").count();
            let is = |w: &String| w == "crate";
            let word = match path.first() {
                Some(w) if is(w) && path[1..].starts_with(module) => path.get(1 + module.len()),
                Some(_) if ups > 0 && ups == file.module.len() - module.len() => path.get(ups),
                _ => None,
            };
            if let Some(to) = word.filter(|w| parts.contains(*w) && **w != from) {
                let key = (from.clone(), to.clone());
                uses.entry(key).or_insert_with(|| file.path.clone());
            }
        }
    }
    uses
}

#[test]
fn parts_of_modules_do_not_use_each_other_in_cycles() {
    let mut wrong = Vec::new();
    for name in crates() {
        let files = files(&name);
        let modules: BTreeSet<&[String]> = (files.iter())
            .filter_map(|f| f.module.split_last())
            .map(|(_, module)| module)
            .filter(|module| !module.is_empty())
            .collect();
        for module in modules {
            let of = format!("{name}: {}", module.join("::"));
            wrong.extend(cycles(&of, &uses_within(&files, module)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn compiler_engine_and_adapters_do_no_input_or_output() {
    for name in PURE {
        for file in files(name) {
            for path in paths_of(&file) {
                let outside = ["fs", "env", "net", "process"];
                let found = path.first().is_some_and(|w| w == "std")
                    && path.get(1).is_some_and(|w| outside.contains(&w.as_str()));
                assert!(!found, "{}: {}", file.path.display(), path.join("::"));
            }
        }
    }
}

#[test]
fn only_the_driver_and_the_command_start_programs() {
    for name in crates() {
        if STARTS_PROGRAMS.contains(&name.as_str()) {
            continue;
        }
        for file in files(&name) {
            for path in paths_of(&file) {
                let starts = path.windows(2).any(|w| w == ["process", "Command"]);
                assert!(!starts, "{}: {}", file.path.display(), path.join("::"));
            }
        }
    }
}

/// Every module of a crate is listed in the table of its `lib.rs`, or in its paragraph of ARCHITECTURE.md.
#[test]
fn tables_of_modules_are_complete() {
    let map = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap();
    let mut missing = Vec::new();
    for name in crates() {
        let root = workspace().join(&name).join("src/lib.rs");
        let text = std::fs::read_to_string(root).unwrap();
        let docs = text.lines().filter(|l| l.starts_with("//!"));
        let mut said: String = docs.collect::<Vec<_>>().join("\n");
        let paragraph = map.split(&format!("**`{name}`**")).nth(1);
        said.push_str(paragraph.and_then(|p| p.split("**`").next()).unwrap());
        let files = files(&name);
        let modules: BTreeSet<&str> = files.iter().map(File::top).collect();
        for module in modules.into_iter().filter(|m| *m != "lib") {
            if !said.contains(&format!("`{module}`")) && !said.contains(&format!("mod@{module}`")) {
                missing.push(format!("{name}: {module}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns the `Cargo.toml` of a folder of the workspace.
fn manifest(folder: &str) -> toml_edit::DocumentMut {
    let text = std::fs::read_to_string(workspace().join(folder).join("Cargo.toml")).unwrap();
    text.parse().unwrap()
}

/// Each file in a folder of tests is a module of its `main.rs`, or a program that `Cargo.toml` lists: otherwise nothing
/// would run it.
#[test]
fn every_file_of_tests_runs() {
    let top = manifest("");
    let mut checked = 0;
    for member in top["workspace"]["members"].as_array().unwrap() {
        let member = member.as_str().unwrap();
        let tests = workspace().join(member).join("tests");
        let Ok(entries) = std::fs::read_dir(&tests) else {
            continue;
        };
        let files = entries.map(|e| e.unwrap().path());
        let files = files.filter(|f| f.extension().is_some_and(|e| e == "rs"));
        let mut missing: BTreeSet<String> = files
            .map(|f| f.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let manifest = manifest(member);
        let found = manifest["package"].get("autotests");
        assert_eq!(found.and_then(|a| a.as_bool()), Some(false), "{member}");
        for program in manifest["test"].as_array_of_tables().unwrap() {
            missing.remove(program["name"].as_str().unwrap());
        }
        let main = std::fs::read_to_string(tests.join("main.rs")).unwrap();
        for item in syn::parse_file(&main).unwrap().items {
            if let syn::Item::Mod(module) = item {
                missing.remove(&module.ident.to_string());
            }
        }
        assert!(missing.is_empty(), "{}: {missing:?}", tests.display());
        checked += 1;
    }
    assert!(checked > 7, "{checked}");
}

/// Returns the crates of the workspace on which a crate depends.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = manifest(name);
    let table = manifest["dependencies"].as_table_like().unwrap();
    let names = table.iter().map(|(n, _)| n.to_owned());
    names.filter(|n| n.starts_with("farfel-")).collect()
}

/// Each crate, after its dependencies.
#[test]
fn crates_stand_on_those_below() {
    let floors: &[(&str, &[&str])] = &[
        ("farfel-ir", &[]),
        ("farfel-runtime", &[]),
        ("farfel-remote", &[]),
        ("farfel-analysis", &["farfel-ir"]),
        ("farfel-lang", &["farfel-analysis", "farfel-ir"]),
        ("farfel-ad", &["farfel-lang"]),
        ("farfel-tools", &["farfel-ad", "farfel-lang"]),
        (
            "farfel-driver",
            &["farfel-ad", "farfel-lang", "farfel-remote", "farfel-tools"],
        ),
        ("farfel-build", &["farfel-driver"]),
        (
            "farfel-cli",
            &["farfel-driver", "farfel-lang", "farfel-tools"],
        ),
    ];
    for name in crates() {
        let (_, expected) = floors.iter().find(|(n, _)| *n == name).unwrap_or_else(|| {
            panic!("{name} is new: say here what it may use, and in ARCHITECTURE.md what it is for")
        });
        let expected: BTreeSet<String> = expected.iter().map(|n| (*n).to_owned()).collect();
        assert_eq!(dependencies(&name), expected, "{name}");
    }
}

/// Counts expressions and statements that are constructed by hand: `Expr::new(ExprKind::…)`, or `Expr` with a
/// `kind` in braces.
fn made_by_hand(tokens: TokenStream, found: &mut usize) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let word = |at: usize| match tokens.get(at) {
        Some(TokenTree::Ident(word)) => word.to_string(),
        _ => String::new(),
    };
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        made_by_hand(group.stream(), found);
        let inner: Vec<String> = group.stream().into_iter().map(|t| t.to_string()).collect();
        let made = match at.checked_sub(1).map(word).as_deref() {
            Some("Expr") => "ExprKind",
            Some("Stmt") => "StmtKind",
            _ => "",
        };
        // A pattern ends with two dots.
        let literal =
            group.delimiter() == Delimiter::Brace && !inner.ends_with(&[".".into(), ".".into()]);
        if literal && inner.windows(3).any(|w| w == ["kind", ":", made]) {
            *found += 1;
        }
        // `Expr::new(…)`: a word, two colons, a word, parentheses.
        if at < 4 || word(at - 1) != "new" {
            continue;
        }
        let kind = match word(at - 4).as_str() {
            "Expr" => "ExprKind",
            "Stmt" => "StmtKind",
            _ => continue,
        };
        let first = group.stream().into_iter().next();
        *found += usize::from(matches!(first, Some(TokenTree::Ident(w)) if w == kind));
    }
}

#[test]
fn engine_and_adapters_make_expressions_and_statements_by_constructors() {
    let mut count = 0;
    let by_hand = quote::quote! {
        f(Expr::new(ExprKind::Star, span));
        Stmt { kind: StmtKind::Continue, ..s }
    };
    made_by_hand(by_hand, &mut count);
    assert_eq!(count, 2);
    let others = quote::quote! {
        Expr::new(kind, span);
        if let Expr { kind: ExprKind::Star, .. } = e {}
    };
    made_by_hand(others, &mut count);
    assert_eq!(count, 2);
    for name in ["farfel-ad", "farfel-tools"] {
        let mut found = Vec::new();
        for file in files(name) {
            let mut here = 0;
            made_by_hand(file.text.to_token_stream(), &mut here);
            found.extend(vec![file.path; here]);
        }
        assert!(
            found.is_empty(),
            "farfel_ir::ir::build has the constructors, farfel_lang::quote longer text: {found:#?}"
        );
    }
}
