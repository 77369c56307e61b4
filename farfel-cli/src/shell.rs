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

/// How much is said on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Status lines and warnings.
    Normal,
    /// What runs and why, too.
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
    /// Whether programs read it, not people.
    pub fn is_for_programs(self) -> bool {
        use MessageFormat::{Github, Human, Json, Sarif, Short};
        match self {
            Json | Github | Sarif => true,
            Human | Short => false,
        }
    }
}

/// The terminal, as far as the command may use it.
pub struct Shell {
    /// How much to say.
    pub verbosity: Verbosity,
    /// How errors and warnings in sources are shown.
    pub messages: MessageFormat,
    color: ColorChoice,
    /// What a log at the end will have; `None` where nothing has asked for sources to be looked at.
    log: Option<Vec<Message>>,
    err: AutoStream<io::Stderr>,
}

impl Shell {
    /// A shell that colours as `color` says; [`ColorChoice::Auto`] looks at the terminal
    /// and at NO_COLOR and its relatives.
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

    /// The value to hand to another program's `--color`.
    pub fn color_flag(&self) -> &'static str {
        match self.color {
            ColorChoice::Auto => "auto",
            ColorChoice::Never => "never",
            ColorChoice::Always | ColorChoice::AlwaysAnsi => "always",
        }
    }

    /// Whether and how to colour.
    pub fn color(&self) -> ColorChoice {
        self.color
    }

    /// A status line as cargo writes it: a verb in twelve columns, then what it is about.
    pub fn status(&mut self, verb: &str, message: impl Display) {
        if let Some(line) = self.status_line(verb, message) {
            self.say(format_args!("{line}"));
        }
    }

    /// What [`Shell::status`] writes, without the end of the line; nothing where it must be quiet.
    pub fn status_line(&self, verb: &str, message: impl Display) -> Option<String> {
        (self.verbosity >= Verbosity::Normal)
            .then(|| format!("{STATUS}{verb:>12}{STATUS:#} {message}"))
    }

    /// A status line that only `-v` shows.
    pub fn verbose(&mut self, verb: &str, message: impl Display) {
        if self.verbosity >= Verbosity::Verbose {
            self.status(verb, message);
        }
    }

    /// Something worth knowing.
    pub fn note(&mut self, message: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.say(format_args!("{NOTE}note{NOTE:#}: {message}"));
        }
    }

    /// Something that is probably not meant.
    pub fn warn(&mut self, message: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.say(format_args!("{WARNING}warning{WARNING:#}: {message}"));
        }
    }

    /// What went wrong, and what to do about it where that is known.
    pub fn error(&mut self, message: impl Display, help: Option<&str>) {
        self.say(format_args!("{ERROR}error{ERROR:#}: {message}"));
        if let Some(help) = help {
            self.say(format_args!("{NOTE}help{NOTE:#}: {help}"));
        }
    }

    /// Errors and warnings in sources; without errors, nothing where only errors are to be seen. Programs
    /// that read them get all of them.
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

    /// The end of a command: what was kept for it is written.
    pub fn finish(&mut self) {
        if let Some(log) = self.log.take() {
            self.line(&sarif::log(&log, &error_pages::summary));
        }
    }

    /// Where to read more about the first error, for people at a terminal.
    fn hint(&mut self, report: &Report) {
        if !io::stderr().is_terminal() {
            return;
        }
        let all = messages::messages(report);
        if let Some(first) = all.iter().find(|m| m.level == "error") {
            self.note(format_args!("`farfel explain {}` says more", first.code));
        }
    }

    /// Text that is rendered already, such as diagnostics with their source lines.
    pub fn rendered(&mut self, text: &str) {
        self.say(format_args!("{}", text.trim_end_matches('\n')));
    }

    /// Writes a line for a program on standard output, at once. Where nobody listens there is nobody to
    /// tell.
    pub fn line(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    }

    /// Writes a result on standard output, colours as the terminal can show them. Bytes that
    /// a source had without being UTF-8 stay what they are, but on a terminal.
    ///
    /// # Errors
    ///
    /// What writing says, except that a reader who has gone (`farfel expand … | head`)
    /// is no error.
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

    /// Nobody can be told when standard error itself cannot be written.
    fn say(&mut self, line: std::fmt::Arguments) {
        let _ = writeln!(self.err, "{line}");
    }
}
