//! `farfel build-script`, which `farfel-build` runs.

use std::io::{BufRead, Read, stdin};
use std::sync::mpsc::channel;

use farfel_driver::progress::ProgressSnapshot;
use farfel_driver::script;

use crate::args::BuildScript;
use crate::error::{EXIT_INVALID, Error, Result};
use crate::progress::ScriptLine;
use crate::shell::Shell;

/// Serves the request on standard input, in the protocol of [`farfel_driver::script`].
pub fn run(args: &BuildScript, shell: &mut Shell) -> Result {
    if args.protocol != script::PROTOCOL {
        return Err(Error::invalid(format!(
            "this farfel has version {} of the protocol for build scripts",
            script::PROTOCOL
        )));
    }
    shell.line(&script::ready());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut input = stdin().lock();
        let mut request = String::new();
        if input.read_line(&mut request).is_ok_and(|read| read > 0) {
            // The client keeps standard input open while it waits for the answer.
            let _ = sender.send(request);
            let _ = input.read_to_end(&mut Vec::new());
        }
        // The client has gone. Child processes end with this one.
        std::process::exit(i32::from(EXIT_INVALID));
    });
    let Ok(request) = receiver.recv() else {
        return Err(Error::Exit(EXIT_INVALID));
    };
    let line = ScriptLine::of_environment();
    let show = |now: &ProgressSnapshot| line.iter().for_each(|line| line.show(now));
    let code = script::serve(&request, &mut |line| shell.line(line), &show);
    line.iter().for_each(ScriptLine::erase);
    match code {
        0 => Ok(()),
        code => Err(Error::Exit(code)),
    }
}
