//! The only place that writes to the terminal: status lines, warnings and errors on
//! standard error, results on standard output.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use farfel_driver::messages::Message;
use farfel_driver::{Report, messages, render, sarif};
use farfel_lang::encoding;

use crate::error_pages;

const STATUS: Style = AnsiColor::BrightGreen.on_default().bold();
const NOTE: Style = AnsiColor::BrightCyan.on_default().bold();
const WARNING: Style = AnsiColor::BrightYellow.on_default().bold();
const ERROR: Style = AnsiColor::BrightRed.on_default().bold();

/// The amount of output on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Status lines and warnings.
    Normal,
    /// Also the commands that run, and why.
    Verbose,
}

/// How errors and warnings in sources are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// With the marked lines of the source, on standard error
    Human,
    /// Each on one line, on standard error
    Short,
    /// Each as a JSON object on one line, on standard output
    Json,
    /// As GitHub Actions marks them in a change, on standard output
    Github,
    /// All of them as one SARIF log at the end, on standard output
    Sarif,
}

impl MessageFormat {
    /// Whether the format is meant for programs, not for people.
    pub fn is_for_programs(self) -> bool {
        use MessageFormat::{Github, Human, Json, Sarif, Short};
        match self {
            Json | Github | Sarif => true,
            Human | Short => false,
        }
    }
}

/// The terminal output of the command.
pub struct Shell {
    /// The amount of output.
    pub verbosity: Verbosity,
    /// How errors and warnings in sources are shown.
    pub messages: MessageFormat,
    color: ColorChoice,
    /// The messages for a log at the end; `None` if no sources have been checked.
    log: Option<Vec<Message>>,
    err: AutoStream<io::Stderr>,
}

impl Shell {
    /// Creates a shell with the given colour choice; [`ColorChoice::Auto`] depends on the terminal and on
    /// NO_COLOR and related variables.
    pub fn new(verbosity: Verbosity, color: ColorChoice, messages: MessageFormat) -> Self {
        Shell {
            verbosity,
            messages,
            color,
            log: None,
            err: AutoStream::new(io::stderr(), color),
        }
    }

    /// Whether text for standard error should be coloured.
    pub fn colors_err(&self) -> bool {
        self.err.current_choice() != ColorChoice::Never
    }

    /// Returns the value for another program's `--color`.
    pub fn color_flag(&self) -> &'static str {
        match self.color {
            ColorChoice::Auto => "auto",
            ColorChoice::Never => "never",
            ColorChoice::Always | ColorChoice::AlwaysAnsi => "always",
        }
    }

    /// Returns the colour choice.
    pub fn color(&self) -> ColorChoice {
        self.color
    }

    /// Prints a status line like cargo's: a verb in twelve columns, then a message.
    pub fn status(&mut self, verb: &str, message: impl Display) {
        if let Some(line) = self.status_line(verb, message) {
            self.say(format_args!("{line}"));
        }
    }

    /// Returns the line that [`Shell::status`] prints, without its end; `None` in quiet mode.
    pub fn status_line(&self, verb: &str, message: impl Display) -> Option<String> {
        (self.verbosity >= Verbosity::Normal)
            .then(|| format!("{STATUS}{verb:>12}{STATUS:#} {message}"))
    }

    /// Prints a status line with `-v` only.
    pub fn verbose(&mut self, verb: &str, message: impl Display) {
        if self.verbosity >= Verbosity::Verbose {
            self.status(verb, message);
        }
    }

    /// Prints a note.
    pub fn note(&mut self, message: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.say(format_args!("{NOTE}note{NOTE:#}: {message}"));
        }
    }

    /// Prints a warning.
    pub fn warn(&mut self, message: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.say(format_args!("{WARNING}warning{WARNING:#}: {message}"));
        }
    }

    /// Prints an error, and what to do about it, if known.
    pub fn error(&mut self, message: impl Display, help: Option<&str>) {
        self.say(format_args!("{ERROR}error{ERROR:#}: {message}"));
        if let Some(help) = help {
            self.say(format_args!("{NOTE}help{NOTE:#}: {help}"));
        }
    }

    /// Prints errors and warnings in sources; in quiet mode, nothing if there are no errors. In the formats
    /// for programs, all are printed.
    pub fn report(&mut self, report: &Report) {
        if self.messages == MessageFormat::Sarif {
            let log = self.log.get_or_insert_default();
            return log.extend(messages::messages(report));
        }
        let quiet = self.verbosity == Verbosity::Quiet;
        let for_people = !self.messages.is_for_programs();
        let has_errors = report.diagnostics.iter().any(|d| d.is_error());
        if report.diagnostics.is_empty() || (quiet && for_people && !has_errors) {
            return;
        }
        if self.messages == MessageFormat::Human {
            let text = render::render(report, self.colors_err());
            self.rendered(&text);
            return self.hint(report);
        }
        for message in messages::messages(report) {
            match self.messages {
                MessageFormat::Json => self.line(&message.json()),
                MessageFormat::Github => self.line(&message.github()),
                MessageFormat::Human | MessageFormat::Short | MessageFormat::Sarif => {
                    self.rendered(&message.short(message.level));
                }
            }
        }
    }

    /// Ends a command: writes the log, if any.
    pub fn finish(&mut self) {
        if let Some(log) = self.log.take() {
            self.line(&sarif::log(&log, &error_pages::summary));
        }
    }

    /// Prints a hint where to read more about the first error, for people at a terminal.
    fn hint(&mut self, report: &Report) {
        if !io::stderr().is_terminal() {
            return;
        }
        let all = messages::messages(report);
        if let Some(first) = all.iter().find(|m| m.level == "error") {
            self.note(format_args!("`farfel explain {}` says more", first.code));
        }
    }

    /// Prints text that has already been rendered, such as diagnostics with their source lines.
    pub fn rendered(&mut self, text: &str) {
        self.say(format_args!("{}", text.trim_end_matches('\n')));
    }

    /// Writes a line for a program on standard output, and flushes it. Errors are ignored if nobody reads it.
    pub fn line(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    }

    /// Writes a result on standard output, with colours if the terminal supports them. Bytes of a source that
    /// are not UTF-8 are preserved, except on a terminal.
    ///
    /// # Errors
    ///
    /// Errors of writing, except that a reader that has gone (`farfel expand … | head`) is not an error.
    pub fn out(&mut self, text: &str) -> io::Result<()> {
        let out = io::stdout().lock();
        let written = if encoding::has_raw(text) && !out.is_terminal() {
            let mut out = out;
            out.write_all(&encoding::encode(text))
                .and_then(|()| out.flush())
        } else {
            let mut out = AutoStream::new(out, self.color);
            out.write_all(encoding::legible(text).as_bytes())
                .and_then(|()| out.flush())
        };
        match written {
            Err(gone) if gone.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    /// Writes to standard error. A failure cannot be reported to anybody.
    fn say(&mut self, line: std::fmt::Arguments) {
        let _ = writeln!(self.err, "{line}");
    }
}
