//! `cargo random`: tries random programs for some time, each in all ways in which it can be
//! compiled.

use clap::Parser;
use farfel_random::many::{Disagreement, KINDS, Settings, many};
use farfel_random::repository;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Tries random programs: what the compiler makes of them must print what they mean.
///
/// Programs that disagree are reduced and kept as files. The same seed gives the same programs.
#[derive(Parser)]
#[command(name = "cargo random")]
struct Arguments {
    /// How long to run, in minutes
    #[arg(long, value_name = "N")]
    minutes: Option<f64>,
    /// How many programs to try [default: 1000 if no time is given]
    #[arg(long, value_name = "N")]
    cases: Option<usize>,
    /// The seed from which all programs are generated [default: a new one]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The number of the first program
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: usize,
    /// The number of threads
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// gfortran compiles one in N bundles with its checks and one in N with -O3; the interpreter
    /// runs the Fortran of the others
    #[arg(long, value_name = "N", default_value_t = 8)]
    compile_one_in: usize,
    /// Stop after N disagreements
    #[arg(long, value_name = "N", default_value_t = 20)]
    errors: usize,
    /// Where to keep programs that disagree [default: target/random]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Show program number --from instead
    #[arg(long)]
    show: bool,
}

fn main() -> ExitCode {
    // A panic of the compiler is a result here.
    std::panic::set_hook(Box::new(|_| {}));
    match run(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "random-programs: {e}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> std::io::Result<usize> {
    let mut out = std::io::stdout();
    let seed = arguments.seed.unwrap_or_else(fresh);
    let minutes = arguments
        .minutes
        .map(|m| Duration::from_secs_f64(60.0 * m.max(0.0)));
    let many_cases = if minutes.is_some() { usize::MAX } else { 1000 };
    let settings = Settings {
        seed,
        from: arguments.from,
        cases: arguments.cases.unwrap_or(many_cases),
        time: minutes,
        jobs: arguments.jobs,
        kinds: KINDS.to_vec(),
        compile_one_in: arguments.compile_one_in,
        errors: arguments.errors,
        attempts: 400,
    };
    if arguments.show {
        let text = settings.case(arguments.from).1.text();
        write!(out, "{text}")?;
        return Ok(0);
    }
    writeln!(out, "--seed {seed}")?;
    let keep = arguments.keep.clone();
    let keep = keep.unwrap_or_else(|| repository().join("target/random"));
    std::fs::create_dir_all(&keep)?;
    let tally = many(&settings, &|error| kept(error, seed, &keep));
    write!(out, "{}", tally.summary())?;
    writeln!(out, "--seed {seed} --from {}", arguments.from)?;
    Ok(tally.errors.len())
}

/// Returns a new seed from the system's source of randomness.
fn fresh() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let random = std::hash::RandomState::new().build_hasher().finish();
    // Short enough to be written down.
    random % 1_000_000_000
}

fn kept(error: &Disagreement, seed: u64, keep: &Path) {
    let (name, text) = error.file(seed);
    let path = keep.join(name);
    let message = error.message.lines().next().unwrap_or_default();
    let mut out = std::io::stdout();
    let _ = match std::fs::write(&path, text) {
        Ok(()) => writeln!(out, "{}: {message}", path.display()),
        Err(e) => writeln!(out, "{}: {e}: {message}", path.display()),
    };
}
