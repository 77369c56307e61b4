use super::*;
use crate::print::{Options, print_program};
use crate::resolve::resolve;
use crate::source::Sources;
use crate::syntax::{NoIncludes, parse};

fn program(sources: &mut Sources, name: &str, lines: &str) -> Program {
    let text: String = lines.lines().map(|l| format!("      {l}\n")).collect();
    let file = sources.add(name, text);
    let parsed = parse(sources, file, None, &mut NoIncludes);
    assert!(parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
    parsed.program
}

/// Joins packages. Each library is given by its name, a single letter, its text, and the indices of
/// the libraries that it uses.
fn joined(own: (&str, &[usize]), libraries: &[(&str, &str, &[usize])]) -> (String, Vec<String>) {
    let mut sources = Sources::new();
    let mut all = program(&mut sources, "own.f", own.0);
    let libraries = libraries
        .iter()
        .map(|(name, text, uses)| Package {
            name: (*name).to_owned(),
            suffix: name.to_ascii_uppercase(),
            program: program(&mut sources, &format!("{name}.f"), text),
            uses: uses.to_vec(),
        })
        .collect();
    let mut errors = join(&mut all, own.1, libraries);
    if errors.is_empty() {
        errors = resolve(&mut all);
    }
    let errors = errors.into_iter().map(|d| d.message).collect();
    let text = print_program(&all, &Options::default());
    let text = text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    (text, errors)
}

/// Returns the text of a program that is joined without errors.
fn text(own: (&str, &[usize]), libraries: &[(&str, &str, &[usize])]) -> String {
    let (text, errors) = joined(own, libraries);
    assert!(errors.is_empty(), "{errors:#?}");
    text
}

#[test]
fn only_what_is_reached_is_added() {
    let text = text(
        ("SUBROUTINE A(X)\nCALL B(X)\nEND", &[0]),
        &[(
            "p",
            "SUBROUTINE B(X)\nCOMMON /S/ T\nX = D(X)*T\nEND\nSUBROUTINE C(X)\nX = 1\nEND\n\
             FUNCTION D(X)\nENTRY E(X)\nD = X\nEND\nBLOCK DATA\nCOMMON /S/ T\nDATA T /1./\nEND\n\
             BLOCK DATA OTHER\nCOMMON /O/ T\nDATA T /1./\nEND",
            &[],
        )],
    );
    let units = text.matches("\nEND").count();
    assert_eq!(units, 4, "{text}");
    assert!(
        !text.contains("SUBROUTINE C") && !text.contains("/O/"),
        "{text}"
    );
}

#[test]
fn one_s_own_goes_first_and_each_package_has_its_own() {
    let text = text(
        (
            "SUBROUTINE A(X)\nX = N(X)\nCALL B(X)\nEND\nFUNCTION N(X)\nN = 1\nEND",
            &[0],
        ),
        &[
            (
                "p",
                "SUBROUTINE B(X)\nX = N(X)\nCALL C(X)\nEND\nFUNCTION N(X)\nN = 2\nEND",
                &[1],
            ),
            (
                "q",
                "SUBROUTINE C(X)\nX = N(X)\nEND\nFUNCTION N(X)\nN = 3\nEND",
                &[],
            ),
        ],
    );
    assert_eq!(
        text,
        "SUBROUTINE A(X)\nX = N(X)\nCALL B(X)\nEND\n\nFUNCTION N(X)\nN = 1\nEND\n\n\
         SUBROUTINE B(X)\nX = N_P(X)\nCALL C(X)\nEND\n\nFUNCTION N_P(X)\nN_P = 2\nEND\n\n\
         SUBROUTINE C(X)\nX = N_Q(X)\nEND\n\nFUNCTION N_Q(X)\nN_Q = 3\nEND"
    );
}

#[test]
fn what_a_library_uses_is_not_seen_from_outside() {
    let (_, errors) = joined(
        ("SUBROUTINE A(X)\nCALL B(X)\nCALL C(X)\nEND", &[0]),
        &[
            ("p", "SUBROUTINE B(X)\nCALL C(X)\nEND", &[1]),
            ("q", "SUBROUTINE C(X)\nX = 1\nEND", &[]),
        ],
    );
    assert_eq!(errors, ["there is no subroutine named C"]);
}

/// A library must not change the meaning of an existing program.
#[test]
fn variables_and_intrinsic_functions_stay_what_they_are() {
    let text = text(
        (
            "SUBROUTINE A(X)\nDIMENSION C(2)\nC(1) = X\nCALL B(X)\nCALL B(STEP)\nX = ERF(X) + C(1) + STEP\nEND\n\
             SUBROUTINE D(X)\nEXTERNAL STEP, ERF\nCALL E(STEP)\nX = ERF(X)\nEND\n\
             SUBROUTINE E(S)\nEXTERNAL S\nCALL S(X)\nEND",
            &[0],
        ),
        &[(
            "p",
            "SUBROUTINE B(X)\nCALL STEP(X)\nX = ERF(X) + C(X)\nEND\nSUBROUTINE STEP(X)\nX = 1\nEND\n\
             FUNCTION ERF(X)\nERF = 2\nEND\nFUNCTION C(X)\nC = 3\nEND",
            &[],
        )],
    );
    let a = "SUBROUTINE A(X)\nDIMENSION C(2)\nC(1) = X\nCALL B(X)\nCALL B(STEP)\nX = ERF(X) + C(1) + STEP\nEND\n";
    assert!(text.starts_with(a), "{text}");
    for line in [
        "EXTERNAL STEP_P, ERF_P",
        "CALL E(STEP_P)",
        "X = ERF_P(X)",
        "X = ERF_P(X) + C_P(X)",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
    }
}

#[test]
fn new_names_are_nobody_s() {
    let text = text(
        (
            "SUBROUTINE A(X)\nX = N(X) + N_P(X)\nCALL B(X)\nEND\nFUNCTION N(X)\nN = 1\nEND\nFUNCTION N_P(X)\nN_P = 1\nEND",
            &[0],
        ),
        &[(
            "p",
            "SUBROUTINE B(X)\nX = N(X)\nEND\nFUNCTION N(X)\nN = 2\nEND",
            &[],
        )],
    );
    assert!(text.contains("FUNCTION N_P1(X)\nN_P1 = 2"), "{text}");
}

#[test]
fn common_blocks_of_strangers_stay_apart() {
    let text = text(
        ("SUBROUTINE A(X)\nCALL B(X)\nCALL C(X)\nEND", &[0, 1]),
        &[
            (
                "p",
                "SUBROUTINE B(X)\nCOMMON /S/ T\nCOMMON U\nSAVE /S/\nX = T\nT = U\nEND",
                &[],
            ),
            (
                "q",
                "SUBROUTINE C(X)\nCOMMON /S/ T\nCOMMON U\nX = T + U\nEND",
                &[],
            ),
        ],
    );
    for line in [
        "COMMON /S_P/ T",
        "SAVE /S_P/",
        "COMMON /BLANK_P/ U",
        "COMMON /S_Q/ T",
        "COMMON /BLANK_Q/ U",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
    }
}

#[test]
fn what_cannot_be_told_is_an_error() {
    let step = "SUBROUTINE STEP(X)\nCOMMON /S/ T\nX = T\nEND";
    let two = [("p", step, &[][..]), ("q", step, &[])];
    let (_, errors) = joined(("SUBROUTINE A(X)\nCALL STEP(X)\nEND", &[0, 1]), &two);
    assert_eq!(errors, ["STEP may be that of p or that of q"]);
    // A variable with that name is none of them.
    let (_, errors) = joined(
        ("SUBROUTINE A(X)\nSTEP = X\nX = STEP + 1\nEND", &[0, 1]),
        &two,
    );
    assert!(errors.is_empty(), "{errors:?}");
    let own = "SUBROUTINE A(X)\nCOMMON /S/ T\nT = 1\nCALL STEP(X)\nEND";
    let (_, errors) = joined((own, &[0]), &two);
    assert_eq!(
        errors,
        ["COMMON /S/ is one of p, too, and packages do not share COMMON blocks"]
    );
    // Units that are not reached do not matter.
    let (_, errors) = joined(("SUBROUTINE A(X)\nCOMMON /S/ T\nX = T\nEND", &[0]), &two);
    assert!(errors.is_empty(), "{errors:?}");
}

/// The output of a NAMELIST contains the names of variables.
#[test]
fn names_in_output_stay() {
    let text = text(
        (
            "SUBROUTINE A(X)\nX = N(X)\nCALL B(X)\nEND\nFUNCTION N(X)\nN = 1\nEND",
            &[0],
        ),
        &[(
            "p",
            "SUBROUTINE B(X)\nNAMELIST /L/ N\nN = 1\nWRITE (*, L)\nX = M(X)\nEND\n\
             FUNCTION N(X)\nN = 2\nEND\nFUNCTION M(X)\nM = N(X)\nEND",
            &[],
        )],
    );
    assert!(text.contains("NAMELIST /L/ N\nN = 1\n"), "{text}");
    assert!(text.contains("M = N_P(X)"), "{text}");
}
