//! The command line.

use super::input::Prepared;
use super::{Options, Version};
use crate::external::Job;
use farfel_lang::ir::{AdMode, Arg, Request, Unit};

/// The names of the files of a run.
pub(super) struct Files {
    /// The input file.
    pub input: String,
    /// The output files, as far as their names are certain.
    pub outputs: Vec<String>,
    /// The file with its messages.
    pub messages: String,
}

/// Returns the suffix of a request in the form that Tapenade expects.
pub(super) fn suffix(request: &Request) -> String {
    request.suffix.to_lowercase()
}

/// Returns the base name of the files of a run, without suffix and extension.
fn base(request: &Request) -> String {
    request.head.to_lowercase()
}

/// Returns the files of the run for a request.
pub(super) fn files(version: Version, request: &Request) -> Files {
    let base = base(request);
    // In vector mode 3.16 appends a letter of its own to the suffix. The behaviour of older
    // versions is unknown, so no particular files are required: all files that they write are read.
    let known = !request.vector || version.has_suffix_for_each_mode();
    let stem = format!(
        "{base}{}{}",
        suffix(request),
        if request.vector { "v" } else { "" }
    );
    Files {
        input: format!("{base}.f"),
        outputs: known.then(|| format!("{stem}.f")).into_iter().collect(),
        messages: format!("{stem}.msg"),
    }
}

/// Returns the job for a request, given its input.
pub(super) fn job(
    version: Version,
    options: &Options,
    request: &Request,
    head: &Unit,
    prepared: &Prepared,
) -> Job {
    let Options {
        extra,
        java,
        allow_unknown: _,
        allocates: _,
    } = options;
    let files = files(version, request);
    let mut args: Vec<String> = Vec::new();
    let mut add = |list: &[&str]| args.extend(list.iter().map(|s| (*s).to_owned()));
    if !java.is_empty() {
        // The start script takes one word after -java and splits it at blanks.
        add(&["-java", &java.join(" ")]);
    }
    add(&["-head", &head_with_lists(request, head)]);
    add(&[match request.mode {
        AdMode::Forward => "-d",
        AdMode::Reverse => "-b",
    }]);
    if request.vector {
        add(&["-multi"]);
    }
    add(&["-o", &base(request)]);
    let kind = match (version.has_suffix_for_each_mode(), request.mode) {
        (false, _) => "diff",
        (true, AdMode::Forward) => "tgt",
        (true, AdMode::Reverse) => "adj",
    };
    let suffix = suffix(request);
    add(&[&format!("-{kind}varname"), &suffix]);
    add(&[&format!("-{kind}funcname"), &suffix]);
    if prepared.passes_sections {
        add(&["-nooptim", "spareinit"]);
    }
    args.extend(extra.iter().cloned());
    args.push(files.input.clone());
    Job {
        inputs: vec![(files.input, prepared.text.clone())],
        args,
        outputs: files.outputs,
    }
}

/// Returns `head(dependents)/(independents)`.
fn head_with_lists(request: &Request, head: &Unit) -> String {
    let names = |positions: &[usize]| {
        positions
            .iter()
            .filter_map(|p| head.args.get(*p).copied().and_then(Arg::sym))
            .map(|s| head.symbols[s].name.to_lowercase())
            .collect::<Vec<_>>()
            .join(" ")
    };
    format!(
        "{}({})/({})",
        request.head.to_lowercase(),
        names(&request.dependents),
        names(&request.independents)
    )
}
