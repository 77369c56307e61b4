//! The cost of derivatives: 19 kernels of the reference BLAS, their tangents and adjoints.
//!
//! `cargo bench -p farfel-benches --bench kernels`; `README.md` explains what is measured. The sources are
//! those of LAPACK, which `cargo run -p farfel-tests --bin corpora` downloads; without them there is nothing
//! to measure, and it says so. Environment variables: `FARFEL_BENCH_TURNS`, the number of times that each
//! program runs (3); `FARFEL_BENCH_ONLY`, a part of the kernels' names; `FARFEL_BENCH_KEEP`, a folder to
//! leave the programs in.
//!
//! Exits with 1 when a derivative is wrong, when a kernel or the geometric means exceed their limits, or when an
//! adjoint takes more memory than its analysis promises. Without `--bench`, as under `cargo test --benches`, it checks the derivatives of a few kernels.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod driver;
mod table;

use driver::{head, program, wrapper};
use farfel_ad::analysis::analyse;
use farfel_ad::{AdTool as _, Builtin};
use farfel_benches::{exit_code, memory, run};
use farfel_driver::{Config, toolchain};
use farfel_lang::ir::{AdMode, Class, Program, Request, Unit};
use farfel_lang::source::Span;
use farfel_lang::syntax::{NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources, diagnostic::any_errors, print, resolve::resolve};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use table::{Arg, KERNELS, Kernel};

/// Flags, including those with which Farfel compiles objects with derivatives, and the maximum times of
/// tangents and adjoints relative to the kernels, in the geometric mean.
const FLAGS: [(&[&str], [f64; 2]); 2] = [
    (
        &["-O2", "-fno-tree-slp-vectorize", "-fira-region=all"],
        [1.7, 2.5],
    ),
    (
        &[
            "-O3",
            "-march=native",
            "-fno-tree-slp-vectorize",
            "-fira-region=all",
        ],
        [1.9, 3.5],
    ),
];

/// The tolerances relative to the largest value: primal results computed with tangents, tangents compared
/// with central differences, adjoints by the dot product.
const TOLERANCES: [f64; 3] = [1e-12, 1e-6, 1e-12];

/// Other routines that the kernels call.
const BESIDES: [&str; 2] = ["lsame", "xerbla"];

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let bench = std::env::args().any(|a| a == "--bench");
    if !folder().is_dir() {
        println!("The corpora are not there; `cargo run -p farfel-tests --bin corpora` gets them");
        return ExitCode::SUCCESS;
    }
    exit_code(if bench { measure() } else { check() })
}

/// Returns the folder of the reference BLAS.
fn folder() -> PathBuf {
    let corpora = match std::env::var_os("FARFEL_CORPORA") {
        Some(folder) if !folder.is_empty() => folder.into(),
        _ => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/corpora"),
    };
    corpora.join("lapack/BLAS/SRC")
}

/// Times everything and prints the table. Returns the violations.
fn measure() -> Result<Vec<String>, Failure> {
    let turns: usize = match std::env::var("FARFEL_BENCH_TURNS") {
        Ok(text) => text.parse()?,
        Err(_) => 3,
    };
    let only = std::env::var("FARFEL_BENCH_ONLY").unwrap_or_default();
    let dir = tempfile::tempdir()?;
    let dir = match std::env::var_os("FARFEL_BENCH_KEEP") {
        Some(kept) => PathBuf::from(kept),
        None => dir.path().to_owned(),
    };
    let mut errors = Vec::new();
    println!(
        "Times for one call of the kernel in ns, best of {turns} turns; its derivatives in multiples of it\n"
    );
    print!("{:9}", "");
    for (flags, _) in FLAGS {
        let level: Vec<&str> = (flags.iter().copied())
            .filter(|f| !f.starts_with("-f"))
            .collect();
        print!("{:^32}", level.join(" "));
    }
    print!("\n{:9}", "");
    for _ in FLAGS {
        print!("{:>12}{:>10}{:>10}", "kernel", "tangent", "adjoint");
    }
    println!();
    let mut ratios = vec![[Vec::new(), Vec::new()]; FLAGS.len()];
    let mut memory = Vec::new();
    for kernel in KERNELS.iter().filter(|k| k.name.contains(&only)) {
        print!("{:9}", kernel.name);
        let made = derivatives(kernel)?;
        errors.extend(made.error.iter().map(|f| format!("{}: {f}", kernel.name)));
        for (((flags, _), ratios), limits) in FLAGS.iter().zip(&mut ratios).zip(kernel.limits) {
            let file = build(kernel, &made, flags, kernel.level.rounds(), &dir)?;
            let mut best = [f64::INFINITY; 3];
            for _ in 0..turns.max(1) {
                let result = run(&file, "")?.result;
                errors.extend(wrong(kernel, flags, &result));
                if let [.., peak, promised] = result[..] {
                    memory.push((kernel.name, peak, promised));
                }
                for (b, r) in best.iter_mut().zip(result) {
                    *b = b.min(r);
                }
            }
            let found = [best[1] / best[0], best[2] / best[0]];
            for ((ratio, limit), what) in found.iter().zip(limits).zip(["tangent", "adjoint"]) {
                if *ratio > limit {
                    errors.push(format!(
                        "{}, {}: the {what} takes {ratio:.2} times as long as the kernel, more than {limit}",
                        kernel.name,
                        flags.join(" ")
                    ));
                }
            }
            print!("{:>12.0}{:>10.2}", best[0], found[0]);
            ratios[0].push(found[0]);
            if made.adjoint.is_some() {
                print!("{:>10.2}", found[1]);
                ratios[1].push(found[1]);
            } else {
                print!("{:>10}", "-");
            }
        }
        println!();
    }
    print!("{:9}", "mean");
    for ((flags, limits), ratios) in FLAGS.iter().zip(&ratios) {
        print!("{:>12}", "");
        for (i, ratios) in ratios.iter().enumerate() {
            let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
            print!("{mean:>10.2}");
            if mean > limits[i] {
                errors.push(format!(
                    "{}: {} take {mean:.2} times as long as the kernels, more than {}",
                    flags.join(" "),
                    ["tangents", "adjoints"][i],
                    limits[i]
                ));
            }
        }
    }
    print!("\n{:9}", "limit");
    for (_, limits) in FLAGS {
        print!("{:>12}{:>10.2}{:>10.2}", "", limits[0], limits[1]);
    }
    println!();
    if memory::IS_COUNTED {
        println!(
            "\nBytes on the heap during an adjoint, and those that its analysis promises for its tapes\n"
        );
        memory.dedup_by_key(|(name, ..)| *name);
        for (name, peak, promised) in memory {
            println!("{name:9}{peak:>12.0}{promised:>12.0}");
        }
    }
    errors.dedup();
    Ok(errors)
}

/// Checks the derivatives of one kernel of each level.
fn check() -> Result<Vec<String>, Failure> {
    let dir = tempfile::tempdir()?;
    let mut errors = Vec::new();
    for name in ["daxpy", "dtrmv", "dtrsm"] {
        let kernel = KERNELS.iter().find(|k| k.name == name).ok_or(name)?;
        let made = derivatives(kernel)?;
        errors.extend(made.error.iter().map(|f| format!("{}: {f}", kernel.name)));
        let file = build(kernel, &made, FLAGS[1].0, 1, dir.path())?;
        errors.extend(wrong(kernel, FLAGS[1].0, &run(&file, "")?.result));
    }
    Ok(errors)
}

/// Returns messages for errors that are too large.
fn wrong(kernel: &Kernel, flags: &[&str], result: &[f64]) -> Vec<String> {
    let names = ["primal results", "tangents", "adjoints"];
    let errors = result.iter().skip(3).zip(TOLERANCES).zip(names);
    let more = match result {
        [.., peak, promised] if memory::IS_COUNTED && *peak > promised + memory::ALLOWANCE => {
            Some(format!(
                "{}: the adjoint takes {peak} bytes, and its tapes should have {promised}",
                kernel.name
            ))
        }
        _ => None,
    };
    errors
        .filter(|((e, tolerance), _)| e.is_nan() || **e > *tolerance)
        .map(|((e, _), name)| {
            let flags = flags.join(" ");
            format!("{}, {flags}: the {name} are off by {e:e}", kernel.name)
        })
        .chain(more)
        .collect()
}

/// A kernel with its derivatives.
struct GeneratedKernel {
    /// The complete text, in fixed form.
    text: String,
    /// The name of the tangent.
    tangent: String,
    /// The name of the adjoint, if there is one.
    adjoint: Option<String>,
    /// The names of the dummy arguments.
    dummies: Vec<String>,
    /// The bytes of the adjoint's tapes, as an expression in the dummy arguments.
    promised: String,
    /// The reason if there is none.
    error: Option<String>,
}

fn derivatives(kernel: &Kernel) -> Result<GeneratedKernel, Failure> {
    let mut text = wrapper(kernel);
    for name in std::iter::once(kernel.routine).chain(BESIDES) {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.f"));
        let path = match own.is_file() {
            true => own,
            false => folder().join(format!("{name}.f")),
        };
        text.push_str(&fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?);
    }
    let mut sources = Sources::new();
    let file = sources.add(format!("{}.f", kernel.routine), text.as_str());
    let parsed = parse(&mut sources, file, None, &mut NoIncludes);
    let mut program = parsed.program;
    let mut found = parsed.diagnostics;
    found.extend(resolve(&mut program));
    if any_errors(&found) {
        return Err(shown(&found).into());
    }
    let head = head(kernel).to_ascii_uppercase();
    let tangent = request(kernel, &program, &head, AdMode::Forward, "_D")?;
    let adjoint = request(kernel, &program, &head, AdMode::Reverse, "_B")?;
    text.push_str(&printed(
        Builtin
            .differentiate(&program, &tangent)
            .map_err(|d| shown(&d))?,
    ));
    let mut made = GeneratedKernel {
        text,
        tangent: tangent.derivative.to_string(),
        adjoint: None,
        dummies: Vec::new(),
        promised: "0".into(),
        error: None,
    };
    let unit = program.unit(&head).ok_or("the kernel is not there")?;
    let dummies = unit.args.iter().filter_map(|a| a.sym());
    made.dummies = dummies.map(|s| unit.symbols[s].name.to_string()).collect();
    let analysis = analyse(&program, &adjoint, None).map_err(|d| shown(&d))?;
    for tape in analysis.tapes {
        let values = tape.values.ok_or("the size of a tape is not known")?;
        made.promised
            .push_str(&format!(" + {}*({values})", tape.bytes));
    }
    match Builtin.differentiate(&program, &adjoint) {
        Ok(units) => {
            made.text.push_str(&printed(units));
            made.adjoint = Some(adjoint.derivative.to_string());
        }
        Err(d) => made.error = Some(shown(&d)),
    }
    Ok(made)
}

/// Returns the request that differentiates everything that the kernel assigns with respect to all REAL
/// arguments.
fn request(
    kernel: &Kernel,
    program: &Program,
    head: &str,
    mode: AdMode,
    suffix: &str,
) -> Result<Request, Failure> {
    let unit = program.unit(head).ok_or("the kernel is not there")?;
    let mut request = Request {
        id: 1,
        mode,
        head: head.into(),
        suffix: suffix.into(),
        derivative: format!("{head}{suffix}").into(),
        independents: Vec::new(),
        dependents: Vec::new(),
        paired: Vec::new(),
        vector: false,
        directions: farfel_lang::ir::Directions::default(),
        real: 4,
        span: Span::NONE,
    };
    for (i, (arg, dummy)) in kernel.arguments().iter().zip(&unit.args).enumerate() {
        let Arg::Active(arg) = arg else {
            continue;
        };
        let real = dummy.sym().is_some_and(|s| {
            let s = &unit.symbols[s];
            s.class == Class::Variable && s.ty.is_some_and(|t| t.is_differentiable())
        });
        if !real {
            return Err(format!("argument {} of {head} is not as expected", i + 1).into());
        }
        request.paired.push(i);
        request.independents.push(i);
        if arg.out {
            request.dependents.push(i);
        }
    }
    Ok(request)
}

fn printed(units: Vec<Unit>) -> String {
    print::print_program(&Program { units }, &print::Options::default())
}

fn shown(diagnostics: &[Diagnostic]) -> String {
    let messages: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
    messages.join("; ")
}

/// Compiles a kernel with its derivatives, and separately, so that no compiler can inline between them, the
/// program that times them.
fn build(
    kernel: &Kernel,
    made: &GeneratedKernel,
    flags: &[&str],
    rounds: usize,
    dir: &Path,
) -> Result<PathBuf, Failure> {
    let stem = format!("{}{}", kernel.name, flags[0]).replace(' ', "_");
    let path = |ending: &str| dir.join(format!("{stem}{ending}"));
    fs::write(path(".f"), &made.text)?;
    fs::write(
        path("_times.f90"),
        program(
            kernel,
            &made.tangent,
            made.adjoint.as_deref(),
            rounds,
            memory::IS_COUNTED.then_some((&made.dummies, &made.promised)),
        ),
    )?;
    let compiler = toolchain::find(&Config::default())?.path;
    let mut command = Command::new(&compiler);
    command.args(flags);
    command.args(memory::counting(&path("_peak"))?);
    let status = command
        .arg("-o")
        .args([path(""), path(".f"), path("_times.f90")])
        .status()?;
    if !status.success() {
        return Err(format!("{} refuses {stem}: {status}", compiler.display()).into());
    }
    Ok(path(""))
}
