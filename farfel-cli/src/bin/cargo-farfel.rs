//! The same command, as `cargo farfel`.

fn main() -> std::process::ExitCode {
    farfel_cli::main()
}
