//! The paper's example after every stage of the compiler.
//!
//! The snapshots contain whole programs. The tables contain the output that the paper (Radul, Pearlmutter and
//! Siskind, "AD in Fortran: Implementation via Preprocessor", 2012, section 3) and its authors' worked
//! example print, so that snapshots cannot drift away from them.

use farfel_tests::{farfel, paper, sandbox};

fn expand(stage: &str) -> String {
    let dir = sandbox();
    let output = farfel(dir.path())
        .args(["expand", "--stage", stage])
        .arg(paper())
        .assert()
        .success()
        .stderr_eq("");
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

/// Normalises text: joins continuation lines, removes blanks, and converts it to upper case.
fn letters(text: &str) -> String {
    let joined = text.replace("\n     +", "");
    let lines = joined.lines().map(|line| {
        let kept = line.chars().filter(|letter| !letter.is_whitespace());
        kept.map(|letter| letter.to_ascii_uppercase())
            .collect::<String>()
    });
    lines.map(|line| line + "\n").collect()
}

#[test]
fn every_stage_of_the_paper_s_example() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for stage in ["parse", "lift", "specialize", "prune", "outline", "stage"] {
            insta::assert_snapshot!(stage, expand(stage));
        }
    });
}

#[test]
fn every_stage_has_the_lines_that_the_authors_print() {
    for (stage, lines) in [
        (
            "lift",
            "function argmax_fprime(x, f)
             argmax_fprime = deriv1(f, x)
             argmax = root(argmax_fprime, f, x0, n)
             function eqlbrm_f(astar, biga, bigb, bstar, n)
             astar = root(eqlbrm_f, biga, bigb, bstar, n, astar, n)
             function eqlbrm_f_g(a, astar, biga, bigb, bstar, n)
             eqlbrm_f = argmax(eqlbrm_f_g, astar, biga, bigb, bstar, n, astar, n) - astar
             eqlbrm_f_g = biga(a, bstar)
             function eqlbrm_f_g_h(b, astar, bigb)
             eqlbrm_f_g_h = bigb(astar, b)
             bstar = argmax(eqlbrm_f_g_h, astar, bigb, bstar, n)",
        ),
        (
            "specialize",
            "astar = root_2(biga, bigb, bstar, astar, n)
             function root_2(biga, bigb, bstar, x0, n)
             call deriv2_2(biga, bigb, bstar, n, x, y, yprime)
             subroutine deriv2_2(biga, bigb, bstar, n, x, y, yprime)
             y = eqlbrm_f(x, biga, bigb, bstar, n)
             eqlbrm_f = argmax_1(astar, biga, bigb, bstar, astar, n) - astar
             function root_1_1(astar, biga, bigb, bstar, x0, n)
             call deriv2_1_1(astar, biga, bigb, bstar, n, x, y, yprime)
             root_1_1 = x
             subroutine deriv2_1_1(astar, biga, bigb, bstar, n, x, y, yprime)
             y = argmax_fprime_1(x, astar, biga, bigb, bstar, n)
             function argmax_fprime_1(x, astar, biga, bigb, bstar, n)
             argmax_fprime_1 = deriv1_1(astar, biga, bigb, bstar, n, x)
             function argmax_1(astar, biga, bigb, bstar, x0, n)
             argmax_1 = root_1_1(astar, biga, bigb, bstar, x0, n)
             function deriv1_1(astar, biga, bigb, bstar, n, x)
             y = eqlbrm_f_g(x, astar, biga, bigb, bstar, n)
             bstar = argmax_2(astar, bigb, bstar, n)
             function root_1_2(astar, bigb, x0, n)
             call deriv2_1_2(astar, bigb, x, y, yprime)
             subroutine deriv2_1_2(astar, bigb, x, y, yprime)
             y = argmax_fprime_2(x, astar, bigb)
             function argmax_fprime_2(x, astar, bigb)
             argmax_fprime_2 = deriv1_2(astar, bigb, x)
             function deriv1_2(astar, bigb, x)
             y = eqlbrm_f_g_h(x, astar, bigb)
             function argmax_2(astar, bigb, x0, n)
             argmax_2 = root_1_2(astar, bigb, x0, n)",
        ),
        (
            "outline",
            "subroutine deriv1_1_adf1(x, astar, biga, bigb, bstar, n, y)
             y = eqlbrm_f_g(x, astar, biga, bigb, bstar, n)
             call deriv1_1_adf1(x, astar, biga, bigb, bstar, n, y)
             end adf(deriv1_1 = tangent(y))
             call deriv1_2_adf2(x, astar, bigb, y)
             subroutine deriv2_1_1_adf3(x, astar, biga, bigb, bstar, n, y)
             y = argmax_fprime_1(x, astar, biga, bigb, bstar, n)
             call deriv2_1_1_adf3(x, astar, biga, bigb, bstar, n, y)
             end adf(yprime = tangent(y))
             call deriv2_1_2_adf4(x, astar, bigb, y)
             subroutine deriv2_2_adf5(x, biga, bigb, bstar, n, y)
             call deriv2_2_adf5(x, biga, bigb, bstar, n, y)",
        ),
        // The authors propagate BIGA and BIGB after this stage, we do so before its end.
        (
            "stage",
            "x_g1 = 1.0
             astar_g1 = 0.0
             bstar_g1 = 0.0
             call deriv1_1_adf1_g1(x, x_g1, astar, astar_g1, bstar, bstar_g1, n, y, deriv1_1)
             x_g2 = 1.0
             astar_g2 = 0.0
             call deriv1_2_adf2_g2(x, x_g2, astar, astar_g2, y, deriv1_2)
             x_g3 = 1.0
             astar_g3 = 0.0
             bstar_g3 = 0.0
             call deriv2_1_1_adf3_g3(x, x_g3, astar, astar_g3, bstar, bstar_g3, n, y, yprime)
             x_g4 = 1.0
             astar_g4 = 0.0
             call deriv2_1_2_adf4_g4(x, x_g4, astar, astar_g4, y, yprime)
             x_g5 = 1.0
             bstar_g5 = 0.0
             call deriv2_2_adf5_g5(x, x_g5, bstar, bstar_g5, n, y, yprime)",
        ),
    ] {
        let program = letters(&expand(stage));
        for line in lines.lines() {
            let line = letters(line);
            assert!(
                program.starts_with(&line) || program.contains(&format!("\n{line}")),
                "{stage} lacks {line}\n{program}"
            );
        }
    }
}

#[test]
fn nothing_but_what_is_needed_is_left() {
    let program = expand("prune");
    let names: Vec<&str> = program
        .lines()
        .filter_map(|line| {
            let head = line.trim_start();
            let rest = ["FUNCTION ", "SUBROUTINE ", "PROGRAM "]
                .iter()
                .find_map(|kind| head.strip_prefix(kind))?;
            rest.split('(').next()
        })
        .collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        [
            "ARGMAX_1",
            "ARGMAX_2",
            "ARGMAX_FPRIME_1",
            "ARGMAX_FPRIME_2",
            "DERIV1_1",
            "DERIV1_2",
            "DERIV2_1_1",
            "DERIV2_1_2",
            "DERIV2_2",
            "EQLBRM",
            "EQLBRM_F",
            "EQLBRM_F_G",
            "EQLBRM_F_G_H",
            "GMBIGA",
            "GMBIGB",
            "MAIN",
            "ROOT_1_1",
            "ROOT_1_2",
            "ROOT_2",
        ]
    );
}

/// The paper's five runs of the AD tool: what the later ones differentiate contains derivatives of the earlier
/// ones. Only what the program calls is left of them.
#[test]
fn the_five_derivatives_are_made_in_the_paper_s_order() {
    let program = expand("final");
    for name in [
        "DERIV2_2_ADF5_G5(",
        "DERIV2_1_1_ADF3_G3_G5(",
        "DERIV1_1_ADF1_G1_G3_G5(",
        "DERIV2_1_2_ADF4_G4_G5(",
        "DERIV1_2_ADF2_G2_G4_G5(",
    ] {
        let heading = format!("SUBROUTINE {name}");
        assert_eq!(program.matches(&heading).count(), 1, "{name}");
    }
    assert!(!program.contains("DERIV1_1_ADF1_G1("), "{program}");
}
