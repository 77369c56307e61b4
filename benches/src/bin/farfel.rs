//! The `farfel` command, to be timed.

fn main() -> std::process::ExitCode {
    farfel_cli::main()
}
