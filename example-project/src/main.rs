//! Prints the equilibrium: `example-project [A0 [B0 [N]]]`.

use std::process::ExitCode;

use example_project::{eqlbrm, payoff_a, payoff_b};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((a0, b0, n)) = parse(&arguments) else {
        eprintln!("usage: example-project [A0 [B0 [N]]]: two guesses and the number of steps");
        return ExitCode::from(2);
    };
    let (a, b) = eqlbrm(a0, b0, n);
    println!("equilibrium: a = {a:.6}, b = {b:.6}");
    println!(
        "payoffs:     A = {:.6}, B = {:.6}",
        payoff_a(a, b),
        payoff_b(a, b)
    );
    ExitCode::SUCCESS
}

fn parse(arguments: &[String]) -> Option<(f64, f64, i32)> {
    let get = |index: usize, default: &str| {
        arguments
            .get(index)
            .map_or(default, String::as_str)
            .to_owned()
    };
    if arguments.len() > 3 {
        return None;
    }
    Some((
        get(0, "10").parse().ok()?,
        get(1, "10").parse().ok()?,
        get(2, "10").parse().ok().filter(|n| *n >= 0)?,
    ))
}
