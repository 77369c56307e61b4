//! Wrong calls from safe Rust: each of them ends with an error or a panic that says why.
#![forbid(unsafe_code)]

mod arrays;
mod attacks;
mod calls;
mod closures;
mod derived;
mod frames;
#[cfg(feature = "gnu")]
mod gnu;
mod instance;
mod io;
mod mixed;
mod odd;
mod short;
mod sizes;
mod subprograms;
mod temporaries;
mod threads;

mod fortran {
    farfel_runtime::include_bindings!();
}

fn main() -> std::process::ExitCode {
    // The messages are printed with the calls.
    std::panic::set_hook(Box::new(|_| ()));
    calls::watch();
    if std::env::args().any(|a| a == "memory") {
        temporaries::without_memory();
        println!("done");
        return std::process::ExitCode::from(u8::from(calls::bad() > 0));
    }
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
    temporaries::all();
    odd::all();
    mixed::all();
    #[cfg(feature = "gnu")]
    gnu::all();
    // The last, because files are lost. flang's library does not cope with all texts in it.
    if cfg!(feature = "gnu") {
        io::all();
    }
    println!("done");
    std::process::ExitCode::from(u8::from(calls::bad() > 0))
}
