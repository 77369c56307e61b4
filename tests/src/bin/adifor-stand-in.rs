//! A stand-in for ADIFOR 2; see `farfel_tests::adifor`.

fn main() -> std::process::ExitCode {
    farfel_tests::adifor::main()
}
