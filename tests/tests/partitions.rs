//! A build after arbitrary edits gives the same result as a fresh build.
#![cfg(target_os = "linux")]

use crate::script::{Script, assert_same};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

/// A pseudorandom number generator, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// The properties of a subprogram that edits change.
#[derive(Clone)]
struct Unit {
    name: String,
    file: usize,
    constant: usize,
    comments: usize,
    calls: Vec<usize>,
    common: Option<usize>,
    derivative: bool,
    /// Whether it calls a solver that takes procedures.
    solver: bool,
    allows: bool,
    unused: bool,
    saves: bool,
    length: usize,
    gone: bool,
}

const UNITS: usize = 14;
const FILES: usize = 4;

fn program(units: &[Unit], solver_step: usize, wide: bool) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = (0..FILES)
        .map(|f| (format!("src/part{f}.f"), String::new()))
        .collect();
    // The last column read in a file. Each unit in it has a longer line.
    let first = if wide {
        "farfel: line-length=132"
    } else {
        "line-length"
    };
    for t in files.values_mut() {
        let _ = writeln!(t, "C     {first}");
    }
    for u in units.iter().filter(|u| !u.gone) {
        let name = &u.name;
        let t = files.get_mut(&format!("src/part{}.f", u.file)).unwrap();
        for c in 0..u.comments {
            let _ = writeln!(t, "C     Comment {c} on {name}.");
        }
        let _ = writeln!(t, "      FUNCTION {name}(X)");
        if u.allows {
            let _ = writeln!(t, "C     farfel: allow(unused-variable)");
        }
        if u.unused {
            let _ = writeln!(t, "      INTEGER NOBODY");
        }
        if let Some(c) = u.common {
            let _ = writeln!(t, "      COMMON /SHARED{c}/ A{c}");
        }
        if u.saves {
            let _ = writeln!(t, "      SAVE KEPT\n      KEPT = KEPT + 1");
        }
        let _ = writeln!(t, "      {name} = {}.5*X", u.constant);
        for i in 0..u.length {
            let _ = writeln!(t, "      IF (X .EQ. {i}.25) {name} = {name} + 1");
        }
        for callee in &u.calls {
            if !units[*callee].gone {
                let _ = writeln!(t, "      {name} = {name} + {}(X)", units[*callee].name);
            }
        }
        if u.derivative {
            let _ = writeln!(
                t,
                "      ADF(X)\n      Y = X*X*{name}\n      END ADF(D = TANGENT(Y))"
            );
            let _ = writeln!(t, "      {name} = {name} + D");
        }
        if u.file == 0 {
            let _ = writeln!(t, "{:<72}+3", format!("      {name} = {name}*1.5"));
        }
        let next = u.calls.iter().find(|c| !units[**c].gone);
        if let (true, Some(next)) = (u.solver, next) {
            let callee = &units[*next].name;
            let _ = writeln!(t, "      {name} = {name} + ROOT({callee}, X)");
        }
        let _ = writeln!(t, "      END");
    }
    let solver = format!(
        "      FUNCTION ROOT(F, X0)\n      EXTERNAL F\n      X = X0\n      DO 10 I = 1, {solver_step}\n\
         \x20     CALL SLOPE(F, X, Y, D)\n   10 X = X - Y/D\n      ROOT = X\n      END\n\
         \x20     SUBROUTINE SLOPE(F, X, Y, D)\n      EXTERNAL F\n      ADF(X)\n      Y = F(X)\n\
         \x20     END ADF(D = TANGENT(Y))\n      END\n"
    );
    files.insert("src/solvers.ff".into(), solver);
    files
}

/// Makes an edit. Units call only later ones, so there is no recursion.
fn edit(units: &mut [Unit], solver_step: &mut usize, dice: &mut Dice) -> String {
    let at = dice.below(UNITS);
    let other = at + 1 + dice.below(UNITS - at);
    let what = dice.below(15);
    let u = &mut units[at];
    match what {
        0 | 1 => u.constant += 1,
        2 => u.comments = (u.comments + 1) % 3,
        3 if other < UNITS => u.calls.push(other),
        4 => drop(u.calls.pop()),
        5 => u.common = u.common.map_or(Some(dice.below(2)), |_| None),
        6 => u.derivative = !u.derivative,
        7 => u.solver = !u.solver,
        8 => u.allows = !u.allows,
        9 => u.unused = !u.unused,
        10 => u.file = dice.below(FILES),
        11 => u.saves = !u.saves,
        12 => u.gone = !u.gone,
        13 => *solver_step += 1,
        _ => u.name.push('Q'),
    }
    format!("edit {what} of {}", units[at].name)
}

#[test]
fn edits_give_what_a_fresh_build_gives() {
    let dir = tempfile::tempdir().unwrap();
    let p = Script::new(dir.path(), "shares");
    p.file(
        "Cargo.toml",
        "[package]\nname = 'shares'\nversion = '0.1.0'\n[package.metadata.farfel.lints]\n\
         unused-variable = 'warn'\n",
    );
    let mut dice = Dice(20_261_121);
    let mut units: Vec<Unit> = (0..UNITS)
        .map(|i| Unit {
            name: format!("FN{i}"),
            file: i % FILES,
            constant: i,
            comments: 0,
            calls: match i + 1 < UNITS && i % 3 == 0 {
                true => vec![i + 1],
                false => Vec::new(),
            },
            common: None,
            derivative: i % 4 == 0,
            solver: i % 6 == 0,
            allows: false,
            unused: i % 5 == 1,
            saves: i % 7 == 3,
            length: 20 + 4 * i,
            gone: false,
        })
        .collect();
    let mut step = 3;
    let mut partly = 0;
    for turn in 0..16 {
        let mut edits = Vec::new();
        for _ in 0..(turn % 3) * usize::from(turn > 0) + usize::from(turn > 0) {
            edits.push(edit(&mut units, &mut step, &mut dice));
        }
        let wide = turn % 5 < 2;
        for (name, text) in program(&units, step, wide) {
            p.file(&name, text);
        }
        let said = p.try_run();
        let fresh_dir = tempfile::tempdir_in(dir.path()).unwrap();
        let fresh = p.clone().into_out(&fresh_dir.path().join("out"));
        let said_fresh = fresh.try_run();
        assert_eq!(said.ok, said_fresh.ok, "{turn} {edits:?}");
        assert_eq!(said.warnings, said_fresh.warnings, "{turn} {edits:?}");
        assert_eq!(said.stderr, said_fresh.stderr, "{turn} {edits:?}");
        assert!(said.ok, "{turn} {edits:?}: {}", said.stderr);
        assert_same(&p.results(), &fresh.results(), &format!("{turn} {edits:?}"));
        for entry in fs::read_dir(fresh.out.join("farfel")).unwrap() {
            let name = entry.unwrap().file_name();
            let [one, other] =
                [&p.out, &fresh.out].map(|out| fs::read(out.join("farfel").join(&name)).ok());
            assert!(one == other, "{turn} {edits:?}: {name:?} differ");
        }
        partly += usize::from(fs::read_dir(p.out.join("farfel")).unwrap().count() > 8);
    }
    assert!(partly > 12, "it was mostly built as one program: {partly}");
}
