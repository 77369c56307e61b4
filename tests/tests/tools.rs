//! Tools that misbehave: each time the right error, and no process or file is left.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farfel_tests::{sandbox, write};
use snapbox::cmd::cargo_bin;
use tempfile::TempDir;

/// A folder for one run: the tool under a unique path, by which its processes are identified, and the
/// directory for temporary files.
struct ToolFixture {
    dir: TempDir,
    tool: PathBuf,
}

impl ToolFixture {
    fn new() -> ToolFixture {
        let dir = sandbox();
        let tool = dir.path().join("the tool");
        fs::create_dir(dir.path().join("tmp")).unwrap();
        let original = cargo_bin("failing-tool");
        fs::hard_link(&original, &tool)
            .or_else(|_| fs::copy(&original, &tool).map(drop))
            .unwrap();
        ToolFixture { dir, tool }
    }

    /// Runs the tool with a limit. `output` is the file that it must create. Returns the runner's message,
    /// with this folder as `[DIR]`.
    fn run_with(&self, seconds: u32, output: &str, arguments: &[&str]) -> String {
        let mut host = self.host(seconds, output, arguments);
        let output = host.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let said = String::from_utf8(output.stdout).unwrap();
        self.nothing_is_left();
        said.replace(self.dir.path().to_str().unwrap(), "[DIR]")
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.run_with(60, "out.f", arguments)
    }

    fn host(&self, seconds: u32, output: &str, arguments: &[&str]) -> Command {
        // Signals may be ignored here, by `nohup` or in the background of a script, and would be there.
        let mut command = Command::new("env");
        command
            .arg("--default-signal")
            .arg(cargo_bin("tool-host"))
            .arg(seconds.to_string())
            .arg(output)
            .arg(&self.tool)
            .args(arguments)
            .env("TMPDIR", self.dir.path().join("tmp"))
            .env("SECRET", "not for tools")
            .env(
                "PATH",
                format!("relative:{}", std::env::var("PATH").unwrap()),
            );
        command
    }

    /// Starts the host and waits until the tool is running `processes` processes.
    fn start(&self, processes: usize, arguments: &[&str]) -> Child {
        let mut command = self.host(60, "out.f", arguments);
        let host = command.stdout(Stdio::piped()).spawn().unwrap();
        wait_until("the tool is running", || self.processes() == processes);
        host
    }

    /// Returns the number of processes of the tool.
    fn processes(&self) -> usize {
        processes()
            .filter(|p| fs::read_link(p.join("exe")).is_ok_and(|e| e == self.tool))
            .count()
    }

    /// Returns the number of other processes with the folder on their command line: the watchdog.
    fn mentions(&self) -> usize {
        let name = self.dir.path().to_str().unwrap().to_owned();
        processes()
            .filter_map(|p| fs::read(p.join("cmdline")).ok())
            .filter(|c| String::from_utf8_lossy(c).contains(&name))
            .count()
    }

    fn temporary(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.path().join("tmp")).unwrap();
        entries.map(|e| e.unwrap().path()).collect()
    }

    /// Asserts that immediately.
    fn nothing_is_left(&self) {
        assert_eq!(self.processes(), 0, "processes of the tool");
        assert_eq!(self.temporary(), [] as [PathBuf; 0]);
        assert_eq!(self.mentions(), 0, "processes of the watch");
    }
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        name.bytes().all(|b| b.is_ascii_digit())
    })
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_good_run_sees_its_directory_and_little_else() {
    let place = ToolFixture::new();
    let said = place.run(&["good", "$(touch x); `ls` 'a b' \"c\" \\ * ~", "-java"]);
    let expected = r#"Ok(RunResult { output: "arguments [\"$(touch x); `ls` 'a b' \\\"c\\\" \\\\ * ~\", \"-java\"]\nvariables "#;
    assert!(said.starts_with(expected), "{said}");
    assert!(
        said.contains(r#"files: {"AD_cache/x.aux": "aux", "out.f": "      END\n"} })"#),
        "{said}"
    );
    // Both streams, in the order of writing.
    assert!(said.contains("/run\\nand an error line\\n"), "{said}");
    assert!(said.contains("at [DIR]/tmp/farfel-"), "{said}");
    let variables = said.split("variables ").nth(1).unwrap();
    let variables = variables.split("\\n").next().unwrap();
    for name in ["SECRET", "CARGO", "USER"] {
        assert!(!variables.contains(name), "{variables}");
    }
    for name in ["FARFEL_RUN", "HOME", "LC_ALL", "PATH", "TMPDIR", "TZ"] {
        assert!(variables.contains(name), "{variables}");
    }
}

#[test]
fn it_fails() {
    assert_eq!(
        ToolFixture::new().run(&["crash"]),
        "Err(Failed { status: \"exit status: 3\", output: \"something went wrong\\n\" })\n"
    );
    let said = ToolFixture::new().run(&["signal"]);
    assert!(
        said.starts_with("Err(Failed { status: \"signal: 6 (SIGABRT)"),
        "{said}"
    );
}

#[test]
fn it_cannot_be_started() {
    let place = ToolFixture::new();
    fs::remove_file(&place.tool).unwrap();
    assert_eq!(
        place.run(&["good"]),
        "Err(NotStarted(\"[DIR]/the tool: No such file or directory (os error 2)\"))\n"
    );
    write(place.dir.path(), "the tool", "no program");
    let said = place.run(&["good"]);
    assert!(said.contains("Permission denied"), "{said}");
}

#[test]
fn it_hangs_with_its_children() {
    for mode in ["hang", "hang-away"] {
        let start = Instant::now();
        assert_eq!(
            ToolFixture::new().run_with(1, "out.f", &[mode]),
            "Err(TimedOut { seconds: 1, output: \"working\\n\" })\n"
        );
        assert!(start.elapsed() < Duration::from_secs(9), "{mode}");
    }
}

#[test]
fn it_leaves_something_running() {
    for mode in ["daemon", "daemon-streams", "background"] {
        let start = Instant::now();
        assert_eq!(
            ToolFixture::new().run(&[mode]),
            "Ok(RunResult { output: \"\", files: {\"out.f\": \"fine\"} })\n",
            "{mode}"
        );
        assert!(start.elapsed() < Duration::from_secs(9), "{mode}");
    }
}

#[test]
fn it_writes_garbage() {
    let said = ToolFixture::new().run(&["garbage"]);
    assert!(
        said.starts_with("Err(Failed { status: \"out.f, which it left, is not text\", output: \""),
        "{said}"
    );
    assert_eq!(
        ToolFixture::new().run(&["garbage-beside"]),
        // A byte of a file that is not UTF-8 stays that byte, wherever it goes.
        "Ok(RunResult { output: \"\", files: {\"out.f\": \"      END ! \\u{f7e4}\\n\"} })\n"
    );
}

#[test]
fn it_writes_nothing() {
    assert_eq!(
        ToolFixture::new().run(&["nothing"]),
        "Err(Missing { file: \"out.f\", output: \"done\\n\" })\n"
    );
}

#[test]
fn it_asks_for_input() {
    assert_eq!(
        ToolFixture::new().run(&["asks"]),
        "Ok(RunResult { output: \"\", files: {\"out.f\": \"0 bytes\"} })\n"
    );
}

#[test]
fn it_says_too_much() {
    // 2 · 400 · 64 KiB are 50 MiB.
    let said = ToolFixture::new().run(&["flood", "400"]);
    assert!(said.len() < 17 << 20, "{}", said.len());
    assert!(
        said.ends_with(
            "x\\n(35651584 more bytes were dropped)\\n\", files: {\"out.f\": \"fine\"} })\n"
        ),
        "{}",
        &said[said.len() - 200..]
    );
    let said = ToolFixture::new().run_with(1, "out.f", &["flood-forever"]);
    assert!(said.starts_with("Err(TimedOut { seconds: 1, output: \"xxx"));
}

#[test]
fn it_leaves_too_much() {
    assert_eq!(
        ToolFixture::new().run(&["many-files"]),
        "Err(Failed { status: \"it left more than 10000 files\", output: \"\" })\n"
    );
    assert_eq!(
        ToolFixture::new().run(&["large-files"]),
        "Err(Failed { status: \"it left more than 256 MiB\", output: \"\" })\n"
    );
}

#[test]
fn it_spoils_its_directory() {
    let missing = "Err(Missing { file: \"out.f\", output: \"\" })\n";
    for mode in ["deletes", "pipe"] {
        assert_eq!(ToolFixture::new().run(&[mode]), missing, "{mode}");
    }
    for mode in ["swaps", "links"] {
        let place = ToolFixture::new();
        let elsewhere = place.dir.path().join("elsewhere");
        write(&elsewhere, "secret", "not for you");
        write(&elsewhere, "out.f", "not this one");
        let argument = elsewhere.to_str().unwrap();
        assert_eq!(place.run(&[mode, argument]), missing, "{mode}");
        assert!(elsewhere.join("secret").exists() && elsewhere.join("out.f").exists());
    }
    let said = ToolFixture::new().run(&["locks"]);
    // Root looks into everything.
    assert!(
        said.starts_with("Ok(RunResult { output: \"\", files: {")
            || said.contains("cannot be read"),
        "{said}"
    );
}

#[test]
fn it_ends_when_its_starter_is_killed() {
    for signal in ["KILL", "TERM", "INT", "HUP"] {
        for mode in ["hang", "hang-away"] {
            let place = ToolFixture::new();
            let mut host = place.start(2, &[mode]);
            assert_eq!(place.temporary().len(), 1);
            kill(signal, &host.id().to_string());
            assert!(!host.wait().unwrap().success());
            wait_until("the tool has ended", || place.processes() == 0);
            wait_until("its directory is gone", || place.temporary().is_empty());
            wait_until("the watch has ended", || place.mentions() == 0);
        }
    }
}

/// The Java machine that a shell script has started.
#[test]
fn the_real_tapenade_ends_when_its_starter_is_killed() {
    let Some(home) = std::env::var_os("TAPENADE_HOME") else {
        #[expect(clippy::print_stderr, reason = "a test says that it was skipped")]
        {
            eprintln!("skipped: TAPENADE_HOME is not set");
        }
        return;
    };
    let mut place = ToolFixture::new();
    place.tool = PathBuf::from(home).join("bin/tapenade");
    let temporary = place.dir.path().join("tmp");
    let java = || {
        processes()
            .filter(|p| fs::read_link(p.join("cwd")).is_ok_and(|c| c.starts_with(&temporary)))
            .filter(|p| fs::read(p.join("comm")).is_ok_and(|c| c == b"java\n"))
            .count()
    };
    let mut host = place.host(60, "", &["-d", "-head", "f(x)\\(y)", "in.f"]);
    let mut host = host.stdout(Stdio::null()).spawn().unwrap();
    wait_until("Java is running", || java() == 1);
    kill("KILL", &host.id().to_string());
    host.wait().unwrap();
    wait_until("Java has ended", || java() == 0);
    wait_until("nothing is left", || {
        place.mentions() + place.temporary().len() == 0
    });
}

fn kill(signal: &str, whom: &str) {
    let status = Command::new("/bin/kill")
        .args(["-s", signal, "--", whom])
        .status();
    assert!(status.unwrap().success());
}

/// The directory has a name that cannot be known, and nobody else can look into it.
#[test]
fn its_directory_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = ToolFixture::new();
    let mut host = place.start(2, &["hang"]);
    let directories = place.temporary();
    let [directory] = &directories[..] else {
        panic!("{directories:?}")
    };
    let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory), 0o700);
    let name = directory.file_name().unwrap().to_str().unwrap();
    assert_eq!(name.len(), "farfel-".len() + 32, "{name}");
    host.kill().unwrap();
    host.wait().unwrap();
    wait_until("nothing is left", || {
        place.processes() + place.mentions() + place.temporary().len() == 0
    });
}
