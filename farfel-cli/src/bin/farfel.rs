//! The `farfel` command.

fn main() -> std::process::ExitCode {
    farfel_cli::main()
}
