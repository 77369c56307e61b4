//! Single files without a project: run, build, check and expand.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use farfel_tests::{command, farfel, farfel_path, fixed, paper, sandbox, tree, write};
use snapbox::str;

/// Prints the derivative of x**3 at 2.
const CUBE: &str = "\
PROGRAM CUBE
X = 2
ADF(X)
Y = X**3
END ADF(D = TANGENT(Y))
PRINT *, NINT(D)
END
";

/// The equilibrium is (50, 50); `example-project/tests/equilibrium.rs` has the algebra. The function whose
/// root is sought has the slope -0.001, so rounding to single precision moves the root by about 2e-2; a
/// tolerance of 5e-2 leaves no room for a wrong derivative.
#[test]
fn the_paper_s_program_reaches_the_analytic_equilibrium() {
    let dir = sandbox();
    for (a0, b0, n) in [
        (1.0, 1.0, 10),
        (10.0, 3.0, 10),
        (0.0, 100.0, 10),
        (49.0, 51.0, 3),
        (75.0, 20.0, 100),
    ] {
        let output = farfel(dir.path())
            .args(["run", "-q"])
            .arg(paper())
            .stdin(format!("{a0}\n{b0}\n{n}\n"))
            .assert()
            .success()
            .stderr_eq(str![]);
        let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        let numbers: Vec<f64> = text
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect();
        let [a, b] = numbers[..] else {
            panic!("{text}")
        };
        assert!(
            (a - 50.0).abs() < 5e-2 && (b - 50.0).abs() < 5e-2,
            "({a0}, {b0}): {text}"
        );
    }
}

/// In double precision the same program, unchanged, is more accurate than single precision can be.
#[test]
fn real_kind_8_makes_it_double_precision() {
    let dir = sandbox();
    let output = farfel(dir.path())
        .args(["run", "-q", "--real-kind", "8"])
        .arg(paper())
        .stdin("10\n10\n10\n")
        .assert()
        .success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    for word in text.split_whitespace() {
        assert!((word.parse::<f64>().unwrap() - 50.0).abs() < 1e-8, "{text}");
    }
}

/// If REAL has 8 bytes by a compiler option, REAL and DOUBLE PRECISION arguments have the same type, and
/// derivatives pass through them.
#[test]
fn real_kind_8_makes_real_and_double_precision_one_type() {
    let dir = sandbox();
    let text = "\
PROGRAM MIXED
DOUBLE PRECISION X, Y, D, G
REAL*4 W(2)
X = 3
W(1) = 0
W(2) = 2
ADF(X)
CALL SQUARE(X, W, Y)
END ADF(D = TANGENT(Y))
ADR(Y)
CALL SQUARE(X, W, Y)
END ADR(G = COTANGENT(X))
PRINT '(2F8.4)', D, G
END
SUBROUTINE SQUARE(X, W, F)
REAL X, F
REAL*4 W(2)
F = X*X*W(2)
END
";
    let text: String = text.lines().map(|l| format!("      {l}\n")).collect();
    write(dir.path(), "mixed.f", &text);
    farfel(dir.path())
        .args(["run", "-q", "--real-kind", "8", "mixed.f"])
        .assert()
        .success()
        .stdout_eq(" 12.0000 12.0000\n");
    farfel(dir.path())
        .args(["run", "-q", "mixed.f"])
        .assert()
        .code(1);
}

#[test]
fn run_says_what_it_does_on_standard_error_only() {
    let dir = sandbox();
    write(dir.path(), "cube.ff", fixed(CUBE));
    farfel(dir.path())
        .args(["run", "cube.ff"])
        .assert()
        .success()
        .stdout_eq("          12\n")
        .stderr_eq(str![[r#"
   Compiling cube.ff

"#]]);
    assert_eq!(tree(dir.path()), ["cube.ff"]);
}

/// FORTRAN 77 cannot access command-line arguments, but Linux has a file with them.
#[cfg(target_os = "linux")]
#[test]
fn arguments_and_exit_code_are_the_program_s_own() {
    let dir = sandbox();
    let program = "\
PROGRAM ARGS
CHARACTER*400 LINE
OPEN(10, FILE='/proc/self/cmdline', STATUS='OLD')
READ(10, '(A)') LINE
PRINT *, INDEX(LINE, '-v two') .GT. 0
STOP 7
END
";
    write(dir.path(), "args.ff", fixed(program));
    farfel(dir.path())
        .args(["run", "-q", "args.ff", "--", "-v two"])
        .assert()
        .code(7)
        .stdout_eq(" T\n");
    farfel(dir.path())
        .args(["run", "-q", "args.ff"])
        .assert()
        .code(7)
        .stdout_eq(" F\n");
}

/// Dividing by zero raises signal 8 on this kind of machine.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_signal_is_128_and_its_number() {
    let dir = sandbox();
    write(
        dir.path(),
        "divide.ff",
        fixed("PROGRAM P\nREAD *, I, J\nPRINT *, J/I\nEND\n"),
    );
    farfel(dir.path())
        .args(["run", "-q", "divide.ff"])
        .stdin("0 5\n")
        .assert()
        .code(128 + 8);
}

/// A program that fails reports the line of its source.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn backtraces_name_lines_of_the_source() {
    let dir = sandbox();
    write(
        dir.path(),
        "read.ff",
        fixed("PROGRAM P\nREAD *, X\nPRINT *, X\nEND\n"),
    );
    let output = farfel(dir.path())
        .args(["run", "-q", "read.ff"])
        .stdin("")
        .assert()
        .code(2);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(text.contains("read.ff:2"), "{text}");
}

#[test]
fn build_makes_an_executable_where_it_is_told() {
    let dir = sandbox();
    write(dir.path(), "src/cube.ff", fixed(CUBE));
    farfel(dir.path())
        .args(["build", "src/cube.ff"])
        .assert()
        .success()
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
   Compiling src/cube.ff
    Finished `cube` in [..]s

"#]]);
    farfel(dir.path())
        .args(["build", "-q", "src/cube.ff", "-o", "src/b"])
        .assert()
        .success()
        .stderr_eq(str![]);
    assert_eq!(tree(dir.path()), ["cube", "src/b", "src/cube.ff"]);
    for program in ["cube", "src/b"] {
        command(&dir.path().join(program), dir.path())
            .assert()
            .success()
            .stdout_eq("          12\n");
    }
}

#[test]
fn check_reads_and_writes_nothing() {
    let dir = sandbox();
    write(dir.path(), "cube.ff", fixed(CUBE));
    farfel(dir.path())
        .args(["check", "cube.ff"])
        .assert()
        .success()
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
     Checked cube.ff

"#]]);
    assert_eq!(tree(dir.path()), ["cube.ff"]);
}

/// Each stage prints a complete program: reading it again gives the same results. Only the output of `lift`
/// is between two programs, as in the paper: closures are already passed along, and the subprograms that take
/// them are copied in the next stage.
#[test]
fn every_stage_prints_a_complete_program() {
    let dir = sandbox();
    for stage in ["parse", "specialize", "prune", "outline"] {
        let output = farfel(dir.path())
            .args(["expand", "--stage", stage])
            .arg(paper())
            .assert()
            .success()
            .stderr_eq(str![]);
        let file = write(
            dir.path(),
            &format!("{stage}.ff"),
            &output.get_output().stdout,
        );
        farfel(dir.path())
            .arg("check")
            .arg(&file)
            .arg("-q")
            .assert()
            .success()
            .stderr_eq(str![]);
        let output = farfel(dir.path())
            .args(["run", "-q"])
            .arg(&file)
            .stdin("10\n10\n10\n")
            .assert()
            .success();
        let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        for word in text.split_whitespace() {
            assert!(
                (word.parse::<f64>().unwrap() - 50.0).abs() < 5e-2,
                "{stage}: {text}"
            );
        }
    }
}

/// gfortran compiles what `farfel expand` prints.
#[test]
fn the_final_stage_is_fortran() {
    let dir = sandbox();
    let output = farfel(dir.path())
        .arg("expand")
        .arg(paper())
        .assert()
        .success()
        .stderr_eq(str![]);
    write(dir.path(), "final.f", &output.get_output().stdout);
    command(Path::new("gfortran"), dir.path())
        .args(["final.f", "-o", "final"])
        .assert()
        .success();
    let output = command(&dir.path().join("final"), dir.path())
        .stdin("10\n10\n10\n")
        .assert()
        .success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    for word in text.split_whitespace() {
        assert!((word.parse::<f64>().unwrap() - 50.0).abs() < 5e-2, "{text}");
    }
}

#[test]
fn an_unknown_stage_names_the_known_ones() {
    let dir = sandbox();
    farfel(dir.path())
        .args(["expand", "--stage", "lifted"])
        .arg(paper())
        .assert()
        .code(2)
        .stdout_eq(str![])
        .stderr_eq(str![[r#"
error: invalid value 'lifted' for '--stage <STAGE>': `lifted` is not a stage; the stages are parse, lift, specialize, prune, outline, stage, final

For more information, try '--help'.

"#]]);
}

/// `farfel expand … | head -1`: the reader exits after one line.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = sandbox();
    // More than a pipe buffers, so that writing fails.
    let mut big = String::from("PROGRAM BIG\n");
    for i in 0..20_000 {
        big.push_str(&format!("X{} = {i}\n", i % 10));
    }
    big.push_str("END\n");
    let file = write(dir.path(), "big.ff", fixed(&big));
    let mut child = std::process::Command::new(farfel_path())
        .args(["expand", "--stage", "parse"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(line.trim(), "PROGRAM BIG");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn free_form_is_seen_and_can_be_asked_for() {
    let dir = sandbox();
    let free = "program p\n  x = 2; adf(x)\n  y = x**3 ! three\nend adf(d = tangent(y))\nprint *, nint(d)\nend\n";
    write(dir.path(), "free.ff", free);
    for options in [&[][..], &["--form", "free"]] {
        farfel(dir.path())
            .args(["run", "-q", "free.ff"])
            .args(options)
            .assert()
            .success()
            .stdout_eq("          12\n");
    }
    farfel(dir.path())
        .args(["check", "-q", "free.ff", "--form", "fixed"])
        .assert()
        .code(1);
}

#[test]
fn windows_line_ends_are_fine() {
    let dir = sandbox();
    write(dir.path(), "cube.ff", fixed(CUBE).replace('\n', "\r\n"));
    farfel(dir.path())
        .args(["run", "-q", "cube.ff"])
        .assert()
        .success()
        .stdout_eq("          12\n")
        .stderr_eq(str![]);
}

#[test]
fn paths_have_spaces_and_letters_of_all_kinds() {
    let dir = sandbox();
    let name = "größe und 数/drei hoch.ff";
    write(dir.path(), name, fixed(CUBE));
    farfel(dir.path())
        .args(["run", "-q", name])
        .assert()
        .success()
        .stdout_eq("          12\n");
    farfel(dir.path())
        .args(["build", "-q", name, "-o", "größe und 数/aus führung"])
        .assert()
        .success();
    command(&dir.path().join("größe und 数/aus führung"), dir.path())
        .assert()
        .success()
        .stdout_eq("          12\n");
    write(
        dir.path(),
        "größe und 数/falsch.ff",
        fixed("PROGRAM P\nX = (1\nEND\n"),
    );
    farfel(dir.path())
        .args(["check", "größe und 数/falsch.ff"])
        .assert()
        .code(1)
        .stderr_eq(str![[r#"
error[F0001]: expected `)`, found the end of the statement
 --> größe und 数/falsch.ff:2:13
  |
2 |       X = (1
  |             ^
  |
  = help: a parenthesis is not closed

error: 1 error

"#]]);
}

#[test]
fn include_looks_beside_the_file_and_in_the_project() {
    let dir = sandbox();
    write(dir.path(), "sub/value.inc", fixed("PARAMETER (M = 12)\n"));
    write(
        dir.path(),
        "sub/main.ff",
        fixed("PROGRAM P\nINCLUDE 'value.inc'\nPRINT *, M\nEND\n"),
    );
    let settings = "[package]\nname = \"p\"\nversion = \"0.1.0\"\n\
                    [package.metadata.farfel]\ninclude = [\"sub\"]\n";
    write(dir.path(), "project/Cargo.toml", settings);
    write(
        dir.path(),
        "project/sub/there.inc",
        fixed("PARAMETER (M = 12)\n"),
    );
    write(
        dir.path(),
        "project/scratch/main.ff",
        fixed("PROGRAM P\nINCLUDE 'there.inc'\nPRINT *, M\nEND\n"),
    );
    for file in ["sub/main.ff", "project/scratch/main.ff"] {
        farfel(dir.path())
            .args(["run", "-q", file])
            .assert()
            .success()
            .stdout_eq("          12\n");
    }
    // From another directory, by an absolute path.
    farfel(&dir.path().join("project/sub"))
        .args(["run", "-q"])
        .arg(dir.path().join("sub/main.ff"))
        .assert()
        .success()
        .stdout_eq("          12\n");
}

#[test]
fn messages_name_files_as_the_command_line_does() {
    let dir = sandbox();
    let file = write(dir.path(), "sub/bad.ff", fixed("PROGRAM P\nX = (\nEND\n"));
    fs::create_dir(dir.path().join("other")).unwrap();
    for name in ["../sub/bad.ff", &file.to_string_lossy()] {
        let output = farfel(&dir.path().join("other"))
            .args(["check", name])
            .assert()
            .code(1);
        let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(text.contains(&format!("--> {name}:2:")), "{text}");
    }
}

#[test]
fn several_files_make_one_program() {
    let dir = sandbox();
    write(
        dir.path(),
        "main.ff",
        fixed("PROGRAM P\nPRINT *, NINT(SQUARE(3.0)) + 3\nEND\n"),
    );
    write(
        dir.path(),
        "lib.f",
        fixed("FUNCTION SQUARE(X)\nSQUARE = X*X\nEND\n"),
    );
    farfel(dir.path())
        .args(["run", "-q", "main.ff", "lib.f"])
        .assert()
        .success()
        .stdout_eq("          12\n");
}

#[test]
fn a_file_in_a_project_has_the_project_s_settings() {
    let dir = sandbox();
    let settings =
        "[package]\nname = \"p\"\nversion = \"0.1.0\"\n[package.metadata.farfel]\nreal-kind = 8\n";
    write(dir.path(), "Cargo.toml", settings);
    write(
        dir.path(),
        "scratch/eps.ff",
        fixed("PROGRAM P\nX = 1\nY = 1E-12\nPRINT *, X + Y .GT. X\nEND\n"),
    );
    farfel(dir.path())
        .args(["run", "-q", "scratch/eps.ff"])
        .assert()
        .success()
        .stdout_eq(" T\n");
    farfel(dir.path())
        .args(["run", "-q", "scratch/eps.ff", "--real-kind", "4"])
        .assert()
        .success()
        .stdout_eq(" F\n");
}

#[test]
fn completions_and_help_go_to_standard_output() {
    let dir = sandbox();
    for arguments in [
        &["completions", "bash"][..],
        &["--help"],
        &["help", "run"],
        &["--version"],
    ] {
        let output = farfel(dir.path())
            .args(arguments)
            .assert()
            .success()
            .stderr_eq(str![]);
        let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(text.contains("farfel"), "{arguments:?}: {text}");
    }
    assert!(fs::read_dir(dir.path()).unwrap().next().is_none());
}

/// INCLUDE is relative to the including file, wherever the command runs, and then searches the directories of
/// `-I`.
#[test]
fn include_starts_at_the_including_file() {
    let dir = sandbox();
    let at = dir.path();
    write(
        at,
        "src/main.f",
        fixed("INCLUDE '../inc/a.inc'\nPRINT *, N\nEND\n"),
    );
    write(at, "inc/a.inc", fixed("INCLUDE 'deep/b.inc'\n"));
    write(at, "inc/deep/b.inc", fixed("PARAMETER (N = 41)\n"));
    for (from, file) in [
        (".", "src/main.f"),
        ("src", "main.f"),
        ("inc", "../src/main.f"),
    ] {
        farfel(&at.join(from))
            .args(["run", "-q", file])
            .assert()
            .success()
            .stdout_eq("[..]41\n");
    }
    write(at, "other.f", fixed("INCLUDE 'b.inc'\nPRINT *, N\nEND\n"));
    for command in ["run", "check", "expand"] {
        farfel(at).args([command, "other.f"]).assert().code(1);
        farfel(at)
            .args([command, "other.f", "-I", "inc/deep"])
            .assert()
            .success();
    }
    farfel(at)
        .args(["run", "-q", "-I", "src", "-I", "inc/deep", "other.f"])
        .assert()
        .success()
        .stdout_eq("[..]41\n");
}

/// Opening a named pipe that nobody writes to would wait for ever.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_source() {
    let dir = sandbox();
    let made = std::process::Command::new("mkfifo")
        .arg(dir.path().join("pipe.ff"))
        .status()
        .unwrap();
    assert!(made.success());
    for command in ["check", "run", "build", "expand", "fmt", "tapenade"] {
        farfel(dir.path())
            .args([command, "pipe.ff"])
            .timeout(std::time::Duration::from_secs(20))
            .assert()
            .code(1)
            .stdout_eq(str![])
            .stderr_eq(str![[r#"
error: cannot read `pipe.ff`: it is not a regular file

"#]]);
    }
}
