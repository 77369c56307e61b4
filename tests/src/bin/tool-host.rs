//! Runs a tool once as a build does, and reports the outcome. The tests kill it meanwhile.
//!
//! Arguments: the limit in seconds, the file that the tool must create (may be empty), the tool, its
//! arguments.

use farfel_driver::tools::{Job, Runner, ToolRunner};
use std::io::Write;
use std::time::Duration;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().and_then(|s| s.parse().ok()).unwrap_or(60);
    let output = arguments.next().filter(|o| !o.is_empty());
    let program = arguments.next().unwrap_or_default();
    let job = Job {
        inputs: vec![("in.f".into(), "      END\n".into())],
        args: arguments.collect(),
        outputs: output.into_iter().collect(),
    };
    let runner = ToolRunner::new(program, [], Duration::from_secs(seconds));
    let _ = writeln!(std::io::stdout(), "{:?}", runner.run(&job));
}
