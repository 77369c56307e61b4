//! Gets the corpora, and says how Farfel does on them.
//!
//! ```sh
//! cargo run -p farfel-tests --bin corpora                  # gets them; does nothing when they are there
//! cargo run -p farfel-tests --bin corpora check            # all files: read, printed, read again
//! cargo run -p farfel-tests --bin corpora compiles lapack  # files whose names begin so: compiled again
//! cargo run -p farfel-tests --bin corpora same-code scipy  # and the code compared
//! cargo run -p farfel-tests --bin corpora print FILE free  # what is printed of one
//! ```
//!
//! Without network it says so and ends with 0: the tests that want the corpora are ignored.

// This is a program for terminals.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;

use farfel_lang::print::{Options, print_program};
use farfel_lang::syntax::Form;
use farfel_tests::corpora::check::{Depth, Outcome, check, read, source};
use farfel_tests::corpora::{files, in_parallel, long_run, obtain};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let depth = match arguments.next().as_deref() {
        None => {
            if let Err(why) = obtain::obtain(&mut |what| eprintln!("{what}")) {
                eprintln!("NOTICE: not all corpora could be had, their tests are ignored\n{why}");
            }
            return;
        }
        Some("check") => Depth::Read,
        Some("compiles") => Depth::Compiles,
        Some("same-code") => Depth::SameCode,
        Some("print") => return print(arguments.next(), arguments.next()),
        Some(other) => {
            eprintln!("`{other}` is none of `check`, `compiles`, `same-code` and `print`");
            std::process::exit(2);
        }
    };
    let start = arguments.next().unwrap_or_default();
    let mut files = files::files(&start);
    if arguments.next().as_deref() == Some("sample") {
        files.retain(|file| file.is_in_sample(8));
    }
    let outcomes = in_parallel(&files, |file| check(file, depth));
    let mut classes: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    let mut good = 0;
    let mut not_fortran = 0;
    for (file, outcome) in files.iter().zip(outcomes) {
        match outcome {
            Outcome::Good => good += 1,
            Outcome::NotFortran => not_fortran += 1,
            Outcome::Bad { class, why } => classes
                .entry((class, without_names(&why)))
                .or_default()
                .push(format!("{}: {why}", file.name)),
        }
    }
    println!(
        "{} files: {good} good, {not_fortran} that gfortran refuses too",
        files.len()
    );
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    for ((class, why), files) in classes {
        println!("\n{:5} {class}: {why}", files.len());
        let shown = if long_run() { files.len() } else { 5 };
        for file in files.iter().take(shown) {
            println!("      {file}");
        }
    }
}

/// Prints a file of the corpora, in free form with a second argument.
fn print(name: Option<String>, free: Option<String>) {
    let file = files::File {
        name: name.unwrap_or_default(),
    };
    let form = match free {
        Some(_) => Form::Free,
        None => Form::Fixed,
    };
    match source(&file) {
        Ok(text) => {
            let read = read(&file.path().to_string_lossy(), &text, file.form());
            let options = Options {
                form,
                ..Options::default()
            };
            print!("{}", print_program(&read.program, &options));
            for error in read.errors {
                eprintln!("{error}");
            }
        }
        Err(e) => eprintln!("{}: {e}", file.name),
    }
}

/// A message without what differs from file to file.
fn without_names(message: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for c in message.chars() {
        match c {
            '`' => {
                inside = !inside;
                out.push(c);
            }
            _ if inside => {}
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            c => out.push(c),
        }
    }
    out
}
