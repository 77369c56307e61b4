//! A cut-down model (`tests/model`) with the constructs of MITgcm: the preprocessor and packages, COMMON everywhere,
//! Tapenade's directives and descriptions, controls and gradients in files, a fixed-point loop, output and error
//! stops. Its adjoint by Tapenade's command line and by an ADR block are compared with each other and with
//! differences of runs of the model itself.

use farfel_tests::tapenade::tapenade;
use farfel_tests::{farfel, repository, sandbox, write};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The sources that are differentiated, without extension.
const MODEL: [&str; 8] = [
    "the_main_loop",
    "ini_varia",
    "forward_step",
    "load_forcing",
    "momentum",
    "solve_for_pressure",
    "tracer",
    "cost_final",
];

/// The files with controls, each with the number of its records.
const CONTROLS: [(&str, usize); 3] = [("xx_eta", 1), ("xx_tau.winter", 3), ("xx_tau.summer", 3)];

/// The number of points.
const POINTS: usize = 8 * 6;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap().path();
        let into = to.join(entry.file_name().unwrap());
        match entry.is_dir() {
            true => copy(&entry, &into),
            false => drop(fs::copy(&entry, into).unwrap()),
        }
    }
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{error}");
    output
}

/// Preprocesses the model as `genmake2` does.
fn preprocess(dir: &Path, options: &[&str]) {
    let library = ["library", "driver", "forward"].map(|name| format!("library/{name}.F"));
    let model = MODEL.map(|name| format!("src/{name}.F"));
    for file in model.iter().chain(&library) {
        let name = Path::new(file).file_stem().unwrap().to_str().unwrap();
        let mut cpp = Command::new("cpp");
        cpp.current_dir(dir)
            .args(["-traditional", "-Iinc"])
            .args(options);
        run(cpp.args([file, &format!("{name}.f")]));
    }
}

fn compile(dir: &Path, program: &str, sources: &[String]) {
    let mut gfortran = Command::new("gfortran");
    gfortran
        .current_dir(dir)
        .args(["-O1", "-fcheck=bounds", "-o", program]);
    run(gfortran.args(sources));
}

fn files(suffix: &str) -> Vec<String> {
    MODEL
        .iter()
        .map(|name| format!("{name}{suffix}.f"))
        .collect()
}

/// Sets all controls to zero except for one, and removes gradients.
fn controls(dir: &Path, changed: Option<(usize, usize, f64)>) {
    for (at, (name, records)) in CONTROLS.iter().enumerate() {
        let mut values = vec![0.0; records * POINTS];
        if let Some((file, place, value)) = changed
            && file == at
        {
            values[place] = value;
        }
        let bytes: Vec<u8> = values.iter().flat_map(|v: &f64| v.to_ne_bytes()).collect();
        fs::write(dir.join(name), bytes).unwrap();
        // There may be none.
        let _ = fs::remove_file(dir.join(format!("ad{name}")));
    }
}

/// The gradient by all controls.
fn gradient(dir: &Path) -> Vec<f64> {
    let mut all = Vec::new();
    for (name, records) in CONTROLS {
        let bytes = fs::read(dir.join(format!("ad{name}"))).unwrap();
        let values = bytes
            .chunks_exact(8)
            .map(|b| f64::from_ne_bytes(b.try_into().unwrap()));
        let values: Vec<f64> = values.collect();
        assert_eq!(values.len(), records * POINTS, "{name}");
        all.extend(values);
    }
    all
}

/// The last number of a text.
fn last(output: &Output) -> f64 {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let word = text.split_whitespace().last().unwrap();
    word.parse().unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[track_caller]
fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!(
            (a - b).abs() <= tolerance * a.abs().max(1.0),
            "{i}: {a} {b}"
        );
    }
}

/// Runs the adjoint and returns the gradient, whose sum the program prints.
#[track_caller]
fn adjoint(dir: &Path, command: &mut Command) -> Vec<f64> {
    controls(dir, None);
    let printed = run(command.current_dir(dir).env_remove("TOO_LARGE"));
    let found = gradient(dir);
    close(&[last(&printed)], &[found.iter().sum()], 1e-12);
    found
}

/// Makes the adjoint by Tapenade's command line.
fn drop_in(dir: &Path) {
    let options = [
        "-b",
        "-ext",
        "library/flow",
        "-head",
        "the_main_loop(fc)/(xx_dummy)",
    ];
    let mut line: Vec<String> = options.map(str::to_owned).to_vec();
    line.extend(files(""));
    line.push("library/modules.f90".into());
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    tapenade(dir, &line).success();
    let mut sources = files("");
    sources.extend(files("_b").into_iter().filter(|f| dir.join(f).exists()));
    sources.extend(["library.f".into(), "driver.f".into()]);
    compile(dir, "adjoint", &sources);
}

/// Makes a Farfel project, with another directive for the time steps.
fn project(dir: &Path, directive: &str, more: &str) {
    let model = repository().join("tests/model");
    copy(&model, dir);
    copy(&model.join("project"), dir);
    let main = dir.join("src/the_main_loop.F");
    let text = fs::read_to_string(&main).unwrap();
    let marked = text.replace("C$AD BINOMIAL-CKP 21 4 1", directive);
    assert!(directive.starts_with("C$AD") || marked != text);
    fs::write(main, marked).unwrap();
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    write(dir, "Cargo.toml", manifest + more);
    let target = dir.join("target");
    let built = farfel(dir)
        .arg("build")
        .env("CARGO_TARGET_DIR", target)
        .assert()
        .success();
    let said = String::from_utf8_lossy(&built.get_output().stderr).into_owned();
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn its_adjoint_by_both_ways() {
    let dir = sandbox();
    let dir = dir.path();
    copy(&repository().join("tests/model"), dir);
    preprocess(dir, &["-P"]);
    drop_in(dir);
    let own = adjoint(dir, &mut Command::new("./adjoint"));

    // Of the work array, only the sums are recorded: where they are overwritten, and at the end of the last call.
    let text = fs::read_to_string(dir.join("tracer_b.f")).unwrap();
    let text = text.replace("\n     +", "");
    let kept = |l: &&str| l.trim().starts_with("TAPE_R8(") && l.contains(" FZON(");
    assert_eq!(text.lines().filter(kept).count(), 2, "{text}");

    // Differences of the model itself, at some points of every record.
    let mut sources = files("");
    sources.extend(["library.f".into(), "forward.f".into()]);
    compile(dir, "forward", &sources);
    let cost = |changed| {
        controls(dir, Some(changed));
        last(&run(Command::new("./forward").current_dir(dir)))
    };
    let mut before = 0;
    for (file, (_, records)) in CONTROLS.iter().enumerate() {
        for place in (5..records * POINTS).step_by(19) {
            let h = 1e-5;
            let slope = (cost((file, place, h)) - cost((file, place, -h))) / (2.0 * h);
            close(&[own[before + place]], &[slope], 1e-7);
        }
        before += records * POINTS;
    }

    // The same model as a project, with states in memory and in files.
    let place = dir.join("project-1");
    project(&place, "C$AD BINOMIAL-CKP 21 4 1", "");
    let other = adjoint(&place, &mut Command::new("target/debug/model"));
    close(&own, &other, 1e-12);
    let place = dir.join("project-2");
    project(&place, "!farfel: checkpoint(2, disk = 3)", "");
    assert_eq!(
        adjoint(&place, &mut Command::new("target/debug/model")),
        other
    );
    assert!(!place.join("farfel-checkpoints").exists());

    // The error stop.
    for (place, program) in [(dir, "./adjoint"), (&place, "target/debug/model")] {
        let mut command = Command::new(program);
        command.current_dir(place).env("TOO_LARGE", "0.001");
        let stopped = command.output().unwrap();
        let error = String::from_utf8_lossy(&stopped.stderr).into_owned();
        assert!(error.contains("ABNORMAL END: S/R FORWARD_STEP"), "{error}");
    }

    // Without the tracer, and with line markers in the preprocessed text.
    let bare = dir.join("bare");
    copy(&repository().join("tests/model"), &bare);
    preprocess(&bare, &["-DNO_TRACER"]);
    drop_in(&bare);
    let own = adjoint(&bare, &mut Command::new("./adjoint"));
    let place = dir.join("project-3");
    project(
        &place,
        "!farfel: checkpoint(4)",
        "defines = [\"NO_TRACER\"]\n",
    );
    let without = adjoint(&place, &mut Command::new("target/debug/model"));
    close(&own, &without, 1e-12);
    assert!((without[0] - other[0]).abs() > 1e-3);
}
