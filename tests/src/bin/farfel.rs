//! The `farfel` command, for the tests.

fn main() -> std::process::ExitCode {
    farfel_cli::main()
}
