//! `farfel graph`.

use std::path::Path;

use farfel_driver::Session;
use farfel_driver::graph::{dot, mermaid, text, tree};

use crate::args::{Graph, GraphFormat};
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{drawing, files, links, project};

/// Prints the call graph of a program with its derivatives, or the steps of a build.
pub fn run(args: &Graph, shell: &mut Shell) -> Result {
    let (program, config, name) = if args.files.is_empty() {
        let (program, config) = project::program_or_package(&args.project)?;
        let name = config.name.clone();
        (program, config, name)
    } else {
        files::readable(&args.files)?;
        let config = files::config(&args.files, &args.file_options, false)?;
        (
            Some(args.files.clone()),
            config,
            files::file_list(&args.files),
        )
    };
    let named = program.as_deref();
    let (mut graph, report) = match args.plan {
        true => Session::of(named, &config)?.plan()?,
        false => Session::of(named, &config)?.call_graph()?,
    };
    shell.report(&report);
    graph.title = match args.plan {
        true => format!("Steps of a build of {name}"),
        false => format!("Calls and derivatives of {name}"),
    };
    if !args.root.is_empty() {
        graph = graph.below(&args.root).map_err(|name| {
            let help = match args.plan {
                true => "`farfel graph --plan` shows the steps",
                false => "`farfel graph` shows all names; lowering may have changed them",
            };
            Error::fixable(format!(
                "there is no `{}` in this graph",
                text::shown(&name)
            ))
            .help(help)
        })?;
    }
    if graph.nodes.is_empty() {
        shell.note("there are no subprograms");
    }
    links::to_sources(&mut graph, &config.root, args.output.as_deref());
    let written = match args.format {
        GraphFormat::Tree => in_letters_of_the_terminal(tree::render(&graph)),
        GraphFormat::Mermaid => mermaid::render(&graph),
        GraphFormat::Dot => dot::render(&graph),
        GraphFormat::Svg => drawing::svg(&graph),
        GraphFormat::Html => drawing::page::page(&graph)?,
    };
    match &args.output {
        Some(out) => {
            files::replaces_no_source(out, &args.files)?;
            write(out, &written)
        }
        None => shell
            .out(&written)
            .map_err(|error| Error::invalid(format!("cannot write to standard output: {error}"))),
    }
}

/// Replaces the box-drawing characters of a tree if the locale has none.
fn in_letters_of_the_terminal(tree: String) -> String {
    let set = |name| std::env::var(name).ok().filter(|v| !v.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    if cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8") {
        return tree;
    }
    let tree = tree.replace("└── ", "`-- ").replace("├── ", "|-- ");
    tree.replace("│   ", "|   ")
}

fn write(out: &Path, text: &str) -> Result {
    std::fs::write(out, text).map_err(|source| Error::io("write", out, &source))
}
