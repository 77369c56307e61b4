//! Wrong calls from safe Rust: each of them ends with an error or a panic that says why.
#![forbid(unsafe_code)]

mod arrays;
mod attacks;
mod calls;
mod closures;
mod derived;
mod frames;
mod instance;
mod io;
mod short;
mod sizes;
mod subprograms;
mod threads;

mod fortran {
    farfel_runtime::include_bindings!();
}

fn main() -> std::process::ExitCode {
    // The messages are printed with the calls.
    std::panic::set_hook(Box::new(|_| ()));
    calls::watch();
    arrays::all();
    subprograms::all();
    closures::all();
    derived::all();
    short::all();
    instance::all();
    sizes::all();
    threads::all();
    frames::all();
    attacks::all();
    // The last, because files are lost.
    io::all();
    println!("done");
    std::process::ExitCode::from(u8::from(calls::bad() > 0))
}
