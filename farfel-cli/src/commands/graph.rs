//! `farfel graph`.

use std::path::{Path, PathBuf};

use farfel_build::Config;
use farfel_build::graph::{self as text, Graph as Data};

use crate::args::{Graph, GraphFormat};
use crate::error::{Error, Result};
use crate::shell::Shell;
use crate::{drawing, files, project};

/// Prints the call graph of a program with its derivatives, or the steps of a build.
pub fn run(args: &Graph, shell: &mut Shell) -> Result {
    let (sources, config, name) = if args.files.is_empty() {
        let (sources, config) = project::sources(&args.project)?;
        let name = config.name.clone();
        (sources, config, name)
    } else {
        files::readable(&args.files)?;
        let config = files::config(&args.files, &args.file_options, false)?;
        (args.files.clone(), config, files::shown(&args.files))
    };
    let mut graph = if args.plan {
        plan(&sources, &config, &name)?
    } else {
        calls(&sources, &config, &name, shell)?
    };
    if !args.root.is_empty() {
        graph = graph.below(&args.root).map_err(|name| {
            let help = match args.plan {
                true => "`farfel graph --plan` shows the steps",
                false => "`farfel graph` shows all names; lowering may have changed them",
            };
            Error::fault(format!(
                "there is no `{}` in this graph",
                text::text::shown(&name)
            ))
            .help(help)
        })?;
    }
    let written = match args.format {
        GraphFormat::Tree => text::tree::render(&graph),
        GraphFormat::Mermaid => text::mermaid::render(&graph),
        GraphFormat::Dot => text::dot::render(&graph),
        GraphFormat::Svg => drawing::svg(&graph),
    };
    match &args.output {
        Some(out) => write(out, &written),
        None => shell
            .out(&written)
            .map_err(|error| Error::cannot(format!("cannot write to standard output: {error}"))),
    }
}

fn calls(sources: &[PathBuf], config: &Config, name: &str, shell: &mut Shell) -> Result<Data> {
    let (mut graph, report) = farfel_build::call_graph(sources, config)?;
    files::show_warnings(&report, shell);
    graph.title = format!("Calls and derivatives of {name}");
    Ok(graph)
}

fn plan(sources: &[PathBuf], config: &Config, name: &str) -> Result<Data> {
    let mut graph = farfel_build::plan(sources, config)?;
    graph.title = format!("Steps of a build of {name}");
    Ok(graph)
}

fn write(out: &Path, text: &str) -> Result {
    std::fs::write(out, text).map_err(|source| Error::io("write", out, &source))
}
