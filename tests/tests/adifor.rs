//! ADIFOR 2, represented by the stand-in that follows its conventions.

use farfel_ad::{AdTool, differentiate_all_warning};
use farfel_lang::ir::{Program, Request};
use farfel_lang::lower::{Stage, lower};
use farfel_lang::print::print_program;
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources};
use farfel_tools::adifor::{Adifor, Options, Version, job};
use farfel_tools::external::{Job, RunError, RunResult, Runner};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PAPER: &str = include_str!("../../example-project/fortran-main/paper.ff");

/// Runs the stand-in, and records its inputs.
struct StandIn {
    error: Option<&'static str>,
    limit: Duration,
    jobs: Mutex<Vec<Job>>,
}

impl StandIn {
    fn new(error: Option<&'static str>) -> Arc<StandIn> {
        Arc::new(StandIn {
            error,
            limit: Duration::from_secs(if error.is_some() { 2 } else { 60 }),
            jobs: Mutex::new(Vec::new()),
        })
    }
}

impl Runner for StandIn {
    fn run(&self, job: &Job) -> Result<RunResult, RunError> {
        self.jobs.lock().unwrap().push(job.clone());
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in &job.inputs {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let said = dir.path().join("said");
        let mut command = Command::new(env!("CARGO_BIN_EXE_adifor-stand-in"));
        command
            .args(&job.args)
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&said).unwrap());
        if let Some(f) = self.error {
            command.env("ADIFOR_STAND_IN_FAILURE", f);
        }
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        let status = loop {
            if let Some(s) = child.try_wait().unwrap() {
                break Some(s);
            }
            if start.elapsed() > self.limit {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let said_text = std::fs::read_to_string(&said).unwrap();
        std::fs::remove_file(&said).unwrap();
        let said = said_text;
        let Some(status) = status else {
            let seconds = self.limit.as_secs();
            return Err(RunError::TimedOut {
                seconds,
                output: said,
            });
        };
        if !status.success() {
            let status = status.to_string();
            return Err(RunError::Failed {
                status,
                output: said,
            });
        }
        let mut files = BTreeMap::new();
        gather(dir.path(), dir.path(), &mut files);
        files.retain(|f, _| job.inputs.iter().all(|(i, _)| i != f));
        if let Some(file) = job.outputs.iter().find(|o| !files.contains_key(*o)) {
            let file = file.clone();
            return Err(RunError::Missing { file, output: said });
        }
        Ok(RunResult {
            output: said,
            files,
        })
    }
}

fn gather(root: &Path, dir: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_string_lossy();
            let bytes = std::fs::read(&path).unwrap();
            files.insert(
                name.into_owned(),
                String::from_utf8_lossy(&bytes).into_owned(),
            );
        }
    }
}

/// Lowers a source to the program and requests that the AD tool gets.
fn lowered(source: &str) -> (Program, Vec<Request>, Sources) {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", source);
    let parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
    let none = |d: Vec<Diagnostic>| {
        let errors: Vec<Diagnostic> = d.into_iter().filter(Diagnostic::is_error).collect();
        assert!(errors.is_empty(), "{errors:?}\n{source}");
    };
    none(parsed.diagnostics);
    let mut program = parsed.program;
    none(resolve(&mut program));
    let l = lower(program, Stage::Stage);
    none(l.diagnostics);
    (l.program, l.requests, sources)
}

/// Formats diagnostics as `line:column CODE message / help`.
fn show(found: &[Diagnostic], sources: &Sources) -> String {
    let lines: Vec<String> = found
        .iter()
        .map(|d| {
            let file = sources.get(d.span.file).expect("a place in the source");
            let place = file.line_column(d.span.start);
            let help = d
                .help
                .as_deref()
                .map_or(String::new(), |h| format!(" / {h}"));
            format!(
                "{}:{} {} {}{help}",
                place.line, place.column, d.rule.code, d.message
            )
        })
        .collect();
    lines.join("\n")
}

fn tool(runner: Arc<StandIn>, options: Options) -> Adifor {
    Adifor {
        version: Version { major: 2, minor: 1 },
        options,
        runner,
    }
}

/// Generates all derivatives with the stand-in: returns Fortran and warnings, or the errors.
fn expand_with(
    source: &str,
    error: Option<&'static str>,
    options: Options,
) -> Result<(String, String), String> {
    let (program, requests, sources) = lowered(source);
    let tool = tool(StandIn::new(error), options);
    let mut warnings = Vec::new();
    match differentiate_all_warning(&tool, program, &requests, &mut warnings) {
        Ok(p) => Ok((
            print_program(&p, &Default::default()),
            show(&warnings, &sources),
        )),
        Err(d) => Err(show(&d, &sources)),
    }
}

fn expand(source: &str) -> String {
    let (text, warnings) =
        expand_with(source, None, Options::default()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(warnings, "");
    text
}

/// Compiles and runs a program; each line of its output is `name value expected`.
fn check_text(fortran: &str, flags: &[&str], tolerance: f64) {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("test.f");
    std::fs::write(&source, fortran).unwrap();
    let exe = dir.path().join("test");
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-Werror=line-truncation"])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&exe)
        .output()
        .expect("the tests need gfortran");
    let errors = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(compiled.status.success(), "{errors}\n{fortran}");
    let ran = Command::new(&exe).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{out}{errors}\n{fortran}");
    let mut lines = 0;
    for line in out.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, value, expected] = words[..] else {
            panic!("cannot read {line:?}");
        };
        let (v, x): (f64, f64) = (value.parse().unwrap(), expected.parse().unwrap());
        let close = (v - x).abs() <= tolerance * x.abs().max(1.0);
        assert!(close, "{name}: {v} but expected {x}\n{fortran}");
        lines += 1;
    }
    assert!(lines > 0, "the program printed nothing\n{fortran}");
}

const CHECKED: &[&str] = &[
    "-O0",
    "-fcheck=all",
    "-ffpe-trap=invalid",
    "-finit-real=snan",
];

fn check(source: &str, tolerance: f64) -> String {
    let fortran = expand(source);
    check_text(&fortran, CHECKED, tolerance);
    check_text(&fortran, &["-O3"], tolerance);
    fortran
}

fn paper() -> String {
    PAPER
        .replace("      READ *, ASTAR\n", "      ASTAR = 0\n")
        .replace("      READ *, BSTAR\n", "      BSTAR = 0\n")
        .replace("      READ *, N\n", "      N = 20\n")
        .replace(
            "      PRINT *, ASTAR, BSTAR\n",
            "      PRINT *, 'A', ASTAR, 50.0\n      PRINT *, 'B', BSTAR, 50.0\n",
        )
}

/// Five runs, the later ones on the output of the earlier ones. Single precision is accurate to about 0.02
/// here: 4e-4 of 50.
#[test]
fn the_equilibrium_of_the_paper() {
    let fortran = expand(&paper());
    check_text(&fortran, CHECKED, 4e-4);
    check_text(&fortran, &["-O3"], 4e-4);
    check_text(&fortran, &["-O3", "-fdefault-real-8"], 2e-8);
    // The program keeps the names that the paper has for Tapenade, whatever the tool calls its own.
    assert!(
        fortran.contains("SUBROUTINE DERIV2_1_2_ADF4_G4("),
        "{fortran}"
    );
}

#[test]
fn scripts_and_compositions_of_the_paper() {
    let (program, requests, _) = lowered(&paper());
    let runner = StandIn::new(None);
    let tool = tool(runner.clone(), Options::default());
    differentiate_all_warning(&tool, program, &requests, &mut Vec::new()).unwrap();
    let jobs = runner.jobs.lock().unwrap();
    let mut text = String::new();
    for job in jobs.iter() {
        text += &format!("$ Adifor2.1 {}\n", job.args.join(" "));
        for (name, content) in &job.inputs {
            if !name.ends_with(".f") {
                text += &format!("--- {name}\n{content}");
            }
        }
        text += &format!("=> {}\n\n", job.outputs.join(" "));
    }
    insta::assert_snapshot!("adifor_jobs", text);
}

/// Derivatives of derivatives, compared with closed forms; a function, and a subroutine without derivative
/// that is called unchanged.
#[test]
fn third_derivatives() {
    let fortran = check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, D(3), E
      X = 0.7D0
      CALL DERIV(X, D)
      E = EXP(SIN(X))
      PRINT *, 'first', D(1), E*COS(X) + 8*X**3
      PRINT *, 'second', D(2), E*(COS(X)**2 - SIN(X)) + 24*X**2
      PRINT *, 'third', D(3), E*(COS(X)**3 - 3*SIN(X)*COS(X)
     +  - COS(X)) + 48*X
      END
      FUNCTION F(X)
      DOUBLE PRECISION F, X, C
      CALL COEFF(C)
      F = EXP(SIN(X)) + C*X**4
      END
      SUBROUTINE COEFF(C)
      DOUBLE PRECISION C
      C = 2
      END
      SUBROUTINE DERIV(X, D)
      DOUBLE PRECISION X, D(3), Y, Y1, Y2, F
      ADF(X)
        ADF(X)
          ADF(X)
            Y = F(X)
          END ADF(Y1 = TANGENT(Y))
        END ADF(Y2 = TANGENT(Y1))
      END ADF(D(3) = TANGENT(Y2))
      D(1) = Y1
      D(2) = Y2
      END
",
        1e-12,
    );
    assert!(fortran.contains("CALL COEFF(C)"), "{fortran}");
}

/// Variables in COMMON have no tangent when a block begins, and ADIFOR sets none: the second block must not
/// see the values left by the first one. An INTEGER is between the others.
#[test]
fn common_begins_with_tangent_zero() {
    let fortran = check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, DY, A, B(0:2)
      INTEGER K
      COMMON /C/ A, K, B
      X = 3
      K = 2
      ADF(X)
      CALL F(X, Y)
      END ADF(DY = TANGENT(Y))
      PRINT *, 'set', DY, 2*(2*X) + 3*X**2
      X = 1
      ADF(X)
      CALL F(X, Y)
      END ADF(DY = TANGENT(Y))
      PRINT *, 'kept', DY, 3*X**2
      PRINT *, 'value', Y, 18 + X**3
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, A, B(0:2), G
      COMMON /C/ A, K, B
      IF (X .GT. 2) A = X*X
      CALL H
      Y = B(0) + G(X)
      END
      SUBROUTINE H
      DOUBLE PRECISION A, B(0:2)
      COMMON /C/ A, K, B
      B(0) = A*K
      END
      FUNCTION G(X)
      DOUBLE PRECISION G, X
      G = X**3
      END
",
        1e-13,
    );
    assert!(fortran.contains("SUBROUTINE ZERO_G1"), "{fortran}");
    assert!(fortran.contains("COMMON /C_G1/"), "{fortran}");
}

/// Blank COMMON, names longer than ADIFOR is known to accept, names that look like its own, and text that
/// must not change.
#[test]
fn names_that_adifor_cannot_have() {
    let source = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, DY, D2, D1_P
      COMMON D1_P
      X = 3
      ADF(X)
        ADF(X)
          CALL A_RATHER_LONG_NAME_OF_A_SUBROUTINE(X, Y)
        END ADF(DY = TANGENT(Y))
      END ADF(D2 = TANGENT(DY))
      PRINT *, 'value', Y, 27.0
      PRINT *, 'first', DY, 27.0
      PRINT *, 'second', D2, 18.0
      END
      SUBROUTINE A_RATHER_LONG_NAME_OF_A_SUBROUTINE(X, Y)
      DOUBLE PRECISION X, Y, D1_P, A_LONG_NAME_OF_A_VARIABLE, G_X
      COMMON D1_P
      CHARACTER*3 T
      T = 'Abc'
      D1_P = X*X
      G_X = 1
      A_LONG_NAME_OF_A_VARIABLE = D1_P*X*G_X
      Y = A_LONG_NAME_OF_A_VARIABLE
      IF (T .NE. 'Abc') Y = 0
      END
";
    let fortran = check(source, 1e-13);
    assert!(
        fortran.contains("A_RATHER_LONG_NAME_OF_A_SUBROUTINE_G2("),
        "{fortran}"
    );
    let (program, requests, _) = lowered(source);
    let made = job(&program, &requests[0], &Options::default()).unwrap();
    let (_, text) = &made.inputs[2];
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    assert_eq!(words.filter(|w| w.len() > 20).count(), 0, "{text}");
    // G_X is taken.
    assert!(made.inputs[0].1.contains("AD_PREFIX            = h\n"));
}

/// Arguments without derivatives, and a dependent that depends on nothing.
#[test]
fn passive_arguments() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, P, Q(3), Y, Z(2,3), DY, DZ(2,3), DX
      X = 2
      P = 5
      Q(2) = 7
      ADF(X)
      CALL F(X, P, Q, Y, Z)
      END ADF(DY = TANGENT(Y), DZ = TANGENT(Z), DX = TANGENT(X))
      PRINT *, 'y', DY, 35.0
      PRINT *, 'z', DZ(2,3), 0.0
      PRINT *, 'z', DZ(1,1), 0.0
      PRINT *, 'x', DX, 1.0
      END
      SUBROUTINE F(X, P, Q, Y, Z)
      DOUBLE PRECISION X, P, Q(3), Y, Z(2,3)
      DO 10 J = 1, 3
      DO 10 I = 1, 2
   10 Z(I,J) = P
      Y = X*P*Q(2)
      END
",
        1e-13,
    );
}

/// Loops, jumps, branches, arrays with adjustable bounds, and COMPLEX.
#[test]
fn old_fortran() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X(3), Y(3), DY(3), V(3)
      COMPLEX*16 Z
      COMMON /Z/ Z
      DO 10 I = 1, 3
      X(I) = I
   10 V(I) = 0.5D0*I
      N = 3
      ADF((TANGENT(X(I)) = V(I), I = 1, N))
      CALL F(N, X, Y)
      END ADF((DY(I) = TANGENT(Y(I)), I = 1, N))
      PRINT *, 'one', DY(1), 2*X(1)*V(1)
      PRINT *, 'two', DY(2), 3*X(2)**2*V(2)
      PRINT *, 'three', DY(3), V(3)*COS(X(3)) - V(1)*X(3) - X(1)*V(3)
      END
      SUBROUTINE F(N, X, Y)
      INTEGER N
      DOUBLE PRECISION X(N), Y(N)
      COMPLEX*16 Z
      COMMON /Z/ Z
      I = 0
   10 I = I + 1
      GOTO (20, 30, 40), I
      RETURN
   20 Y(I) = X(I)*X(I)
      GOTO 10
   30 Y(I) = X(I)
      DO 35 K = 1, 2
   35 Y(I) = Y(I)*X(I)
      GOTO 10
   40 Z = DCMPLX(X(1), SIN(X(I)))
      IF (X(I) .LT. 0) THEN
        Y(I) = 0
      ELSE
        Y(I) = DIMAG(Z) - DREAL(Z)*X(I)
      END IF
      GOTO 10
      END
",
        1e-13,
    );
}

#[test]
fn equal_closures_make_equal_jobs_and_equal_units() {
    let one = lowered(&paper());
    // Other positions, other comments, and another subprogram.
    let other = lowered(&format!(
        "C     Nothing\n      SUBROUTINE BESIDE(X)\n      X = 1\n      END\nC     More\n{}",
        paper().replace(
            "      PRICE = 20-0.1*B",
            "C     The price\n      PRICE = 20-0.1*B"
        )
    ));
    let jobs = |(program, requests, _): &(Program, Vec<Request>, Sources)| {
        let runner = StandIn::new(None);
        let t = tool(runner.clone(), Options::default());
        let p = differentiate_all_warning(&t, program.clone(), requests, &mut Vec::new()).unwrap();
        let jobs = runner.jobs.lock().unwrap().clone();
        (jobs, p)
    };
    let (a, first) = jobs(&one);
    let (b, _) = jobs(&other);
    assert_eq!(a, b);
    // The stand-in writes the time into every file, which must not matter.
    let (_, again) = jobs(&one);
    let text = |p: &Program| print_program(p, &Default::default());
    assert_eq!(text(&first), text(&again));
}

const SMALL: &str = "
      PROGRAM MAIN
      X = 3
      ADF(X)
      Y = F(X)
      END ADF(D = TANGENT(Y))
      PRINT *, 'd', D, 6.0
      END
      FUNCTION F(X)
      F = X*X
      END
";

/// Whatever the tool does, there is an error at the block that needs the derivative.
#[test]
fn a_tool_that_fails() {
    let failures = [
        "refuse", "crash", "hang", "garbage", "half", "nothing", "ask",
    ];
    let texts = failures.map(|failure| {
        let text = expand_with(SMALL, Some(failure), Options::default()).unwrap_err();
        format!("{failure}: {text}\n")
    });
    insta::assert_snapshot!("adifor_errors", texts.concat());
}

/// A file truncated anywhere gives the same derivatives or an error, never other derivatives, and never a
/// panic.
#[test]
fn a_file_that_ends_anywhere() {
    let (program, requests, _) = lowered(&paper());
    let runner = StandIn::new(None);
    let whole = runner
        .run(&job(&program, &requests[0], &Options::default()).unwrap())
        .unwrap();
    let read = |ran: &RunResult| {
        farfel_tools::adifor::read(
            &program,
            &requests[0],
            &Options::default(),
            ran,
            &mut Vec::new(),
        )
    };
    // Half a comment is one, too.
    let options = farfel_lang::print::Options {
        comments: false,
        ..Default::default()
    };
    let text = |units: Vec<farfel_lang::ir::Unit>| print_program(&Program { units }, &options);
    let right = text(read(&whole).unwrap());
    let (name, content) = whole
        .files
        .iter()
        .find(|(n, _)| n.starts_with("g_"))
        .unwrap();
    let mut errors = 0;
    for end in 0..content.len() {
        let mut part = whole.clone();
        part.files.insert(name.clone(), content[..end].to_owned());
        match read(&part) {
            Ok(units) => assert_eq!(text(units), right, "cut at {end}"),
            Err(diagnostics) => {
                let located = |d: &farfel_lang::Diagnostic| d.is_error() && !d.span.is_none();
                assert!(diagnostics.iter().all(located));
                errors += 1;
            }
        }
    }
    assert!(
        errors > content.len() * 9 / 10,
        "{errors} of {}",
        content.len()
    );
}

#[test]
fn what_adifor_cannot_do() {
    let fail =
        |source: &str, options: &Options| expand_with(source, None, options.clone()).unwrap_err();
    let mut found: Vec<String> = Vec::new();
    let none = Options::default();
    let with = |lines: &[&str]| Options {
        extra: lines.iter().map(|l| (*l).to_owned()).collect(),
        ..Options::default()
    };
    let external = SMALL.replace(
        "      F = X*X",
        "      EXTERNAL OBJECTIVE\n      F = X*OBJECTIVE(2)",
    );
    found.push(fail(&external, &none));
    found.push(fail(&SMALL.replace("X*X", "ERF(X)"), &none));
    let modern = SMALL.replace("      F = X*X", "      F = X*X\n      DO WHILE (F .LT. 3)\n      IF (F .GT. 2) EXIT\n      F = F*2\n      END DO");
    found.push(fail(&modern, &none));
    let read = SMALL.replace(
        "      F = X*X",
        "      F = X*X\n      IF (F .LT. 0) READ *, F",
    );
    found.push(fail(&read, &none));
    found.push(fail(
        SMALL,
        &with(&["AD_PREFIX = q", "nonsense", "AD_X = 1\nAD_Y = 2"]),
    ));
    let reverse = SMALL
        .replace("ADF", "ADR")
        .replace("ADR(X)", "ADR(Y)")
        .replace("TANGENT(Y)", "COTANGENT(X)");
    let (program, requests, sources) = lowered(&reverse);
    let t = tool(StandIn::new(None), Options::default());
    found.push(show(
        &t.differentiate(&program, &requests[0]).unwrap_err(),
        &sources,
    ));
    let (program, requests, sources) = lowered(SMALL);
    let three = Adifor {
        version: Version { major: 3, minor: 0 },
        ..t
    };
    found.push(show(
        &three.differentiate(&program, &requests[0]).unwrap_err(),
        &sources,
    ));
    insta::assert_snapshot!("adifor_refusals", found.join("\n\n"));
}

/// Returns a subroutine with its derivative in several directions, and a program that calls it.
fn several(driver: &str, options: Options) -> String {
    let source = "
      SUBROUTINE F(N, X, P, Y, Z)
      INTEGER N
      DOUBLE PRECISION X(N), P, Y, Z, B(3), W(4), G
      DO 10 I = 1, 3
   10 B(I) = 0
      B(2) = 4
      CALL H(B(2), X(2))
      W(1) = X(1)
      W(3) = 1
      CALL H(W, W(3))
      Y = B(2)*P + G(X(1)) + W(1)
      Z = P
      END
      SUBROUTINE H(S, Q)
      DOUBLE PRECISION S(2), Q
      S(1) = SIN(Q)*3
      IF (Q .LT. 100) S(2) = Q*Q
      S(1) = S(1) + S(2)
      Q = 2*Q
      END
      FUNCTION G(X)
      DOUBLE PRECISION G, X
      G = X**3
      END
";
    let mut sources = Sources::new();
    let file = sources.add("test.f", source);
    let mut program = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    assert!(resolve(&mut program).is_empty());
    let request = Request {
        id: 1,
        mode: farfel_lang::ir::AdMode::Forward,
        head: "F".into(),
        suffix: "_V1".into(),
        derivative: "F_V1".into(),
        independents: vec![1],
        dependents: vec![3, 4],
        paired: vec![1, 2, 3, 4],
        vector: true,
        directions: farfel_lang::ir::Directions::default(),
        real: 4,
        span: program.units[0].span,
    };
    let tool = tool(StandIn::new(None), options);
    program
        .units
        .extend(tool.differentiate(&program, &request).unwrap());
    print_program(&program, &Default::default()) + driver
}

const SEVERAL: &str = "
      PROGRAM MAIN
      PARAMETER (ND = 3)
      DOUBLE PRECISION X(2), P, Y, Z
      DOUBLE PRECISION XD(ND,2), PD(ND), YD(ND), ZD(ND)
      X(1) = 0.5D0
      X(2) = 0.25D0
      P = 7
      DO 10 I = 1, ND
      XD(I,1) = I
      XD(I,2) = 10 - I
      PD(I) = 0
   10 ZD(I) = 99
      CALL F_V1(2, X, XD, P, PD, Y, YD, Z, ZD, ND)
      DO 20 I = 1, ND
      PRINT *, 'y', YD(I), 7*(3*COS(0.25D0) + 2*0.25D0)*(10 - I)
     +  + 3*0.5D0**2*I
      PRINT *, 'x', XD(I,2), 2.0*(10 - I)
   20 PRINT *, 'z', ZD(I), 0.0
      END
";

#[test]
fn several_directions() {
    let fortran = several(SEVERAL, Options::default());
    check_text(&fortran, CHECKED, 1e-13);
    check_text(&fortran, &["-O3"], 1e-13);
}

/// ADIFOR's code has room for AD_PMAX directions, and stops if there are more.
#[test]
fn more_directions_than_there_is_room_for() {
    let driver = SEVERAL.replace("ND = 3", "ND = 40");
    let room = Options {
        extra: vec!["AD_PMAX = 40".to_owned()],
        ..Options::default()
    };
    check_text(&several(&driver, room), CHECKED, 1e-13);
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("test.f");
    std::fs::write(&source, several(&driver, Options::default())).unwrap();
    let exe = dir.path().join("test");
    let mut compiler = Command::new("gfortran");
    let compiled = compiler.arg(&source).arg("-o").arg(&exe).output().unwrap();
    assert!(compiled.status.success());
    let ran = Command::new(&exe).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(out.trim(), "more directions than there is room for");
}

/// The command, from source to program: the paper's example, and a tool that leaves half a file, which is not
/// cached, while successful runs are.
#[test]
fn the_command_with_adifor() {
    let dir = farfel_tests::sandbox();
    let home = dir.path().join("home");
    std::fs::create_dir_all(home.join("bin")).unwrap();
    let program = home.join("bin/Adifor2.1");
    std::fs::copy(env!("CARGO_BIN_EXE_adifor-stand-in"), program).unwrap();
    let farfel = |args: &[&str]| {
        farfel_tests::farfel(dir.path())
            .args(args)
            .arg(farfel_tests::paper())
            .env("FARFEL_AD_TOOL", "adifor")
            .env("FARFEL_CACHE_DIR", dir.path().join("cache"))
            .env("AD_HOME", &home)
    };
    let error = home.join("bin/ADIFOR_STAND_IN_FAILURE");
    std::fs::write(&error, "half").unwrap();
    let failed = farfel(&["run"]).assert().code(1);
    let shown = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(
        shown.contains("error[F0308]: what ADIFOR has written cannot be read"),
        "{shown}"
    );
    assert!(shown.contains("paper.ff:"), "{shown}");
    std::fs::remove_file(&error).unwrap();
    let ran = farfel(&["run"]).stdin("0 \n0\n50\n").assert().success();
    let out = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
    let values: Vec<f64> = out.split_whitespace().map(|w| w.parse().unwrap()).collect();
    assert_eq!(values.len(), 2, "{out}");
    assert!(values.iter().all(|v| (v - 50.0).abs() < 2e-2), "{out}");
    // Outputs that were read and used are cached: the tool is not run again.
    std::fs::write(&error, "crash").unwrap();
    farfel(&["expand"]).assert().success();
}
