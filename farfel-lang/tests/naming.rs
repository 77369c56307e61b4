//! Tests of the names that lowering chooses: they do not change when other code does, and they are
//! distinct.

use crate::common::{self, lowered};
use farfel_lang::callgraph::CallGraph;
use farfel_lang::lower::Stage;
use farfel_lang::print::{Options, print_unit};
use std::collections::{BTreeMap, BTreeSet};

/// What all users share: a function, one that takes a procedure, and one that differentiates it.
const SHARED: &str = "
      FUNCTION CUBE(X)
      CUBE = X**3
      END
      FUNCTION APPLY(F, X)
      EXTERNAL F
      APPLY = F(X)*2
      END
      FUNCTION SLOPE(F, X)
      EXTERNAL F
      ADF(X)
      Y = APPLY(F, X) + CUBE(X)
      END ADF(SLOPE = TANGENT(Y))
      END
";

const BLOCK: &str = "      ADF(X)
      Z = CUBE(X)
      END ADF(E = TANGENT(Z))
";

/// Returns a function that passes a nested one on, and differentiates twice.
fn user(name: &str, nested: &str, first: &str) -> String {
    format!(
        "
      FUNCTION {name}(X)
        FUNCTION FUN(T)
        FUN = T*X + CUBE(T)
        END
{nested}      E = 0
{first}      ADF(X)
      Y = APPLY(FUN, X) + CUBE(X) + SLOPE(FUN, X)
      END ADF(D = TANGENT(Y))
      {name} = D + E
      END
"
    )
}

/// Returns every request by its derivative: everything that an AD tool receives for it, and its
/// position among the requests that it needs.
fn requests(source: &str) -> BTreeMap<String, String> {
    let lowered = lowered(source, Stage::Stage);
    let (program, requests) = (&lowered.program, &lowered.requests);
    let graph = CallGraph::staged(program, requests);
    let mut all = BTreeMap::new();
    for request in requests {
        let reached: BTreeSet<usize> = graph
            .reached(graph.index(&request.head))
            .into_iter()
            .collect();
        let mut text = format!("{} {} {}\n", request.id, request.head, request.suffix);
        let needed: BTreeSet<usize> = reached
            .iter()
            .flat_map(|u| graph.requests(*u))
            .copied()
            .collect();
        for need in needed {
            text += &format!("needs {}\n", requests[need].derivative);
        }
        for unit in reached {
            text += &print_unit(&program.units[unit], &Options::default());
        }
        assert!(all.insert(request.derivative.to_string(), text).is_none());
    }
    all
}

/// Returns the requests that differ between the two programs.
fn changed(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (requests(before), requests(after));
    let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    all.into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .cloned()
        .collect()
}

fn program(first: &str) -> String {
    let others: String = ["BBB", "CCC", "LONGER_NAME", "ZZZ"]
        .map(|name| user(name, "", ""))
        .concat();
    format!("{first}{others}{SHARED}")
}

#[test]
fn a_block_more_or_less_renames_no_other() {
    let without = program(&user("AAA", "", ""));
    let with = program(&user("AAA", "", BLOCK));
    // Those of the function itself.
    let all = ["AAA_ADF1_G1AAA", "AAA_ADF2_G2AAA"];
    assert_eq!(changed(&without, &with), all);
    // A whole unit.
    let new = user("AAA", "", "");
    let made = changed(&program(""), &program(&new));
    assert_eq!(made, ["AAA_ADF1_G1AAA", "SLOPE_1UM4F_ADF1_G1YGM9"]);
    // One that uses the others, and precedes them.
    let around = format!(
        "{new}{}",
        user("A", "", "").replace("CUBE(X)", "BBB(X) + CUBE(X)")
    );
    let made = changed(&program(&new), &program(&around));
    assert_eq!(made.len(), 2, "{made:?}");
}

#[test]
fn a_copy_more_or_less_renames_no_other() {
    let nested = "        FUNCTION EARLY(T)
        EARLY = T + X
        END
";
    let call = "      E = APPLY(EARLY, X) + SLOPE(EARLY, X)\n";
    let without = program(&user("AAA", "", ""));
    let with = program(&user("AAA", nested, call));
    let made = changed(&without, &with);
    assert_eq!(made, ["SLOPE_1EFRM_ADF1_G1SHT6"]);
    // Plain procedures, passed by a unit that comes first and by one that comes last.
    let plain = "
      FUNCTION A0(X)
      A0 = APPLY(SQ, X) + SLOPE(SQ, X) + SLOPE(CUBE, X)
      END
      FUNCTION SQ(X)
      SQ = X*X
      END
";
    let new = ["SLOPE_1CUBE_ADF1_G1K1DL", "SLOPE_1SQ_ADF1_G1V8ZE"];
    assert_eq!(changed(&without, &format!("{plain}{without}")), new);
    assert_eq!(changed(&without, &format!("{without}{plain}")), new);
}

/// Names that look like generated ones, in all places.
#[test]
fn users_names_are_kept() {
    let mut source = program(&user("AAA", "", BLOCK));
    let plain = requests(&source);
    source += "
      SUBROUTINE BBB_ADF1
      COMMON /CUBE_G1CCC/ Z_G1ZZZ
      CUBE_G1BBB = 1
      END
";
    let taken = requests(&source);
    assert_eq!(plain.len(), taken.len());
    let new: Vec<&str> = taken
        .keys()
        .filter(|k| !plain.contains_key(*k))
        .map(String::as_str)
        .collect();
    assert_eq!(
        new,
        ["BBB_ADF1_1_G1BBBA", "CCC_ADF1_G1CCCA", "ZZZ_ADF1_G1ZZZA"]
    );
}

/// Derivatives of one subprogram for several blocks may be in one object file.
#[test]
fn suffixes_are_distinct() {
    let mut source = String::from(SHARED);
    for number in 0..300 {
        source += &user(&format!("USER_{number}"), "", BLOCK);
    }
    let lowered = lowered(&source, Stage::Stage);
    let suffixes: BTreeSet<&str> = lowered.requests.iter().map(|r| r.suffix.as_str()).collect();
    assert_eq!(suffixes.len(), 900);
    assert!(suffixes.iter().all(|s| s.len() <= 7), "{suffixes:?}");
    let units = &lowered.program.units;
    let names: BTreeSet<&str> = units.iter().map(|u| u.name.as_str()).collect();
    assert_eq!(names.len(), units.len());
}

/// One family, and at most nine: names are those of the paper.
#[test]
fn small_programs_are_counted_through() {
    let suffixes = |source: &str| {
        let lowered = lowered(source, Stage::Stage);
        let all = lowered.requests.iter();
        all.map(|r| r.derivative.to_string()).collect::<Vec<_>>()
    };
    let one = |blocks: usize| format!("{}{SHARED}", user("AAA", "", &BLOCK.repeat(blocks)));
    let nine = suffixes(&one(7));
    assert_eq!(nine.len(), 9);
    assert!(nine.contains(&"AAA_ADF8_G8".to_owned()), "{nine:?}");
    assert!(nine.contains(&"SLOPE_1_ADF9_G9".to_owned()), "{nine:?}");
    let ten = suffixes(&one(8));
    assert!(ten.contains(&"AAA_ADF9_G9AAA".to_owned()), "{ten:?}");
}

/// Returns the names that would clash in an object file: units, their ENTRY points and COMMON
/// blocks; and all other names, which new items should not get either.
fn outward(
    program: &farfel_lang::ir::Program,
) -> (Vec<String>, BTreeSet<String>, BTreeSet<String>) {
    use farfel_lang::ir::{StmtKind, StorageClass};
    let (mut units, mut blocks, mut all) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for unit in &program.units {
        units.push(unit.name.to_string());
        for s in &unit.body {
            if let StmtKind::Entry(e) = &s.kind {
                units.push(unit.symbols[e.name].name.to_string());
            }
        }
        for (_, s) in unit.symbols.iter() {
            all.insert(s.name.to_string());
            if let StorageClass::Common(block) = &s.storage_class {
                blocks.insert(block.to_string());
            }
        }
    }
    (units, blocks, all)
}

/// Whatever names lowering chooses in the test programs, the user may have used them before: as
/// subprograms, as ENTRY points, as COMMON blocks, as variables.
#[test]
fn every_generated_name_may_be_the_users() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs");
    let mut tried = 0;
    for path in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(path.unwrap().path()).unwrap();
        let Some(plain) = common::try_lowered(&source, Stage::Stage) else {
            continue;
        };
        // The text that is added below is in fixed form.
        let fixed = format!("{source}\n      SUBROUTINE QQ\n     &0\n      END\n");
        if common::try_lowered(&fixed, Stage::Stage).is_none() {
            continue;
        }
        let (units, blocks, _) = outward(&plain.program);
        let words: BTreeSet<&str> = source
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$')
            .collect();
        let derivatives = plain.requests.iter().map(|r| r.derivative.to_string());
        let generated: BTreeSet<String> = units
            .into_iter()
            .chain(blocks)
            .chain(derivatives)
            .filter(|n| !words.contains(n.as_str()) && !n.is_empty())
            .collect();
        for (i, form) in ["subroutine", "entry", "block", "variable"]
            .iter()
            .enumerate()
        {
            let mut theirs = source.clone();
            let mut calls = String::new();
            for (k, name) in generated.iter().enumerate() {
                theirs += &match *form {
                    "subroutine" => format!("\n      SUBROUTINE\n     &{name}\n      END\n"),
                    "entry" => {
                        format!("\n      SUBROUTINE QQ{k}\n      ENTRY\n     &{name}\n      END\n")
                    }
                    "block" => format!(
                        "\n      SUBROUTINE QQ{k}\n      COMMON /\n     &{name}/ Q\n      Q = 1\n      END\n"
                    ),
                    _ => format!(
                        "\n      SUBROUTINE QQ{k}\n      CALL RR(\n     &{name})\n      END\n"
                    ),
                };
                let called = if i == 0 {
                    name.clone()
                } else {
                    format!("QQ{k}")
                };
                calls += &format!("      CALL\n     &{called}\n");
            }
            // The main program calls all of them, so that none is removed.
            let Some(end) = theirs.find("\n      END\n") else {
                continue;
            };
            theirs.insert_str(end + 1, &calls);
            theirs += "\n      SUBROUTINE RR(X)\n      END\n";
            let lowered = common::try_lowered(&theirs, Stage::Stage)
                .unwrap_or_else(|| panic!("as {form}: {generated:?}"));
            let (units, blocks, all) = outward(&lowered.program);
            let names: BTreeSet<&String> = units.iter().collect();
            assert_eq!(names.len(), units.len(), "as {form}: {units:?}");
            let both: Vec<_> = blocks.iter().filter(|b| names.contains(b)).collect();
            assert!(both.is_empty(), "as {form}: {both:?}");
            assert!(units.iter().all(|n| n.len() <= 63), "{units:?}");
            // The user's names have not changed.
            let kept = |n: &String| match *form {
                "block" => blocks.contains(n),
                "variable" => all.contains(n) && !units.contains(n) && !blocks.contains(n),
                _ => units.contains(n),
            };
            let lost: Vec<_> = generated.iter().filter(|n| !kept(n)).collect();
            assert!(lost.is_empty(), "as {form}: {lost:?}");
            tried += generated.len();
        }
    }
    assert!(tried > 500, "only {tried}");
}
