//! The ADIFOR 2 adapter, with output that is written by hand in ADIFOR's conventions.

use crate::support;
use farfel_ad::AdTool;
use farfel_lang::ir::{AdMode, Program, Request};
use farfel_lang::print::print_program;
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources};
use farfel_tools::adifor::{Adifor, Options, Version};
use farfel_tools::external::{Job, RunError, RunResult, Runner};
use std::sync::Arc;

/// A runner whose runs leave one file, whatever the job is.
struct Wrote(String, &'static str);

impl Runner for Wrote {
    fn run(&self, job: &Job) -> Result<RunResult, RunError> {
        let files = [(job.outputs[0].clone(), self.0.clone())].into();
        let output = self.1.to_owned();
        Ok(RunResult { output, files })
    }
}

fn program(text: &str) -> Program {
    let mut sources = Sources::new();
    let file = sources.add("test.f", text);
    let mut p = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes).program;
    let errors: Vec<Diagnostic> = resolve(&mut p);
    assert!(errors.iter().all(|d| !d.is_error()), "{errors:?}");
    p
}

/// Returns a request for the derivative of the first unit, named F_G1.
fn request(p: &Program, from: &[usize], to: &[usize], paired: &[usize], vector: bool) -> Request {
    Request {
        id: 1,
        mode: AdMode::Forward,
        head: p.units[0].name.clone(),
        suffix: "_G1".into(),
        derivative: format!("{}_G1", p.units[0].name).into(),
        independents: from.to_vec(),
        dependents: to.to_vec(),
        paired: paired.to_vec(),
        vector,
        directions: farfel_lang::ir::Directions::default(),
        real: 4,
        span: p.units[0].span,
    }
}

/// Returns the program with the derivative, and the warnings, or the errors.
fn with_derivative(
    p: &Program,
    request: &Request,
    wrote: &str,
    output: &'static str,
) -> Result<(String, Vec<String>), Vec<String>> {
    with_options(p, request, wrote, output, Options::default())
}

fn with_options(
    p: &Program,
    request: &Request,
    wrote: &str,
    output: &'static str,
    options: Options,
) -> Result<(String, Vec<String>), Vec<String>> {
    let tool = Adifor {
        version: Version { major: 2, minor: 0 },
        options,
        runner: Arc::new(Wrote(wrote.to_owned(), output)),
    };
    let texts = |d: Vec<Diagnostic>| d.into_iter().map(|d| d.message).collect::<Vec<_>>();
    let mut warnings = Vec::new();
    let mut whole = p.clone();
    let made = tool.differentiate_warning(p, request, &mut warnings);
    whole.units.extend(made.map_err(texts)?);
    Ok((print_program(&whole, &Default::default()), texts(warnings)))
}

const SOURCE: &str = "
      SUBROUTINE F(X, P, Y, N)
      DOUBLE PRECISION X(N), P, Y, G, S
      INTEGER K
      COMMON /C/ S, K
      S = X(1)*X(2)
      K = 2
      Y = G(X(1))*P + SQRT(X(2))*K
      WRITE (9, *) Y
      END
      FUNCTION G(X)
      DOUBLE PRECISION G, X, S
      INTEGER K
      COMMON /C/ S, K
      G = X*S
      END
";

/// Output in the style of ADIFOR: a date, lower case, names broken at the end of a line, loops that
/// end in CONTINUE with high labels, saved local variables, partial derivatives in temporaries, a
/// derivative for every member of a COMMON block. P is passive.
const SCALAR: &str = "C   Made on 10/14/98 by a version of 1995.
C
      subroutine g_f(x, g_x, p, y, g_y, n)
        double precision x(n), p, y, s
        integer k
        common /c/ s, k
        integer g_k
        double precision d1_p, d2_v, d2_b, d3_b, g_x(n), g_y, g_s, g_d1_
     *w, d1_w
        common /g_c/ g_s, g_k
        save g_d1_w
        save /g_c/
        external g_g
        do 99999 k = 1, 1
            g_s = x(2) * g_x(1) + x(1) * g_
     *x(2)
          s = x(1) * x(2)
C--------
10        continue
99999   continue
        k = 2
        call g_g(x(1), g_x(1), d1_w, g_d1_w)
        d2_v = sqrt(x(2))
        if ( x(2) .gt. 0.0d0 ) then
           d1_p = 1.0d0 / (2.0d0 *  d2_v)
        else
           d1_p = 0.0d0
        endif
        d3_b = dble(k)
        d2_b = d3_b * d1_p
          g_y = p * g_d1_w + d2_b * g_x(2)
        y = d1_w * p + d2_v * dble(k)
C--------
C*ADIFOR* I/O statement contains active variables
        write (9, *) y
      end
C
      subroutine g_g(x, g_x, g, g_g1)
        double precision g, x, s
        integer k
        common /c/ s, k
        integer g_k
        double precision g_x, g_g1, g_s
        common /g_c/ g_s, g_k
          g_g1 = s * g_x + x * g_s
        g = x * s
      end
";

#[test]
fn scalar_gradients() {
    let p = program(SOURCE);
    let (text, warnings) = with_derivative(
        &p,
        &request(&p, &[0], &[2], &[0, 1, 2], false),
        SCALAR,
        "Warning: x",
    )
    .unwrap();
    assert_eq!(
        warnings,
        [
            "ADIFOR: I/O statement contains active variables",
            "ADIFOR: Warning: x"
        ]
    );
    // No date, no comment; the names of units and COMMON blocks are unique to this request.
    assert!(
        !text.contains("1995") && !text.contains("SAVE G_D1_W"),
        "{text}"
    );
    assert!(
        text.contains("SUBROUTINE F_G1(X, G_X, P, G_P, Y, G_Y, N)"),
        "{text}"
    );
    // There is already a variable named G_G1.
    assert!(
        text.contains("SUBROUTINE G_G1_1(X, G_X, G, G_G1)"),
        "{text}"
    );
    assert!(text.contains("SAVE /C_G1/"), "{text}");
    let driver = "
      PROGRAM MAIN
      DOUBLE PRECISION X(2), XD(2), P, PD, Y, YD
      OPEN (9, STATUS = 'SCRATCH')
      X(1) = 3
      X(2) = 4
      XD(1) = 0.5D0
      XD(2) = 0.25D0
      P = 5
      PD = 0
      CALL F_G1(X, XD, P, PD, Y, YD, 2)
C     Y = X1**2*X2*P + 2*SQRT(X2)
      PRINT *, 'y', Y, 184.0
      PRINT *, 'yd', YD, 2*3*4*5*0.5D0 + (9*5 + 0.5D0)*0.25D0
      END
";
    let out = support::run(&(text.clone() + driver), support::CHECKED);
    support::compare(&out, 1e-14, &text);
}

/// The long form, with the number of directions and leading dimensions.
const VECTOR: &str = "
      subroutine g_f(g_p_, x, g_x, ldg_x, p, y, g_y, ldg_y, n)
        double precision x(n), p, y, s
        integer k
        common /c/ s, k
        integer g_pmax_
        parameter (g_pmax_ = 32)
        integer g_i_, g_p_, ldg_x, ldg_y, g_k(g_pmax_)
        double precision d1_p, d2_v, d2_b, g_x(ldg_x, n), g_y(ldg_y)
        double precision g_s(g_pmax_), g_d1_w(g_pmax_), d1_w
        common /g_c/ g_s, g_k
        save g_d1_w
        if (g_p_ .gt. g_pmax_) then
          print *, 'too many'
          stop
        endif
        do g_i_ = 1, g_p_
          g_s(g_i_) = x(2) * g_x(g_i_, 1) + x(1) * g_x(g_i_, 2)
        enddo
        s = x(1) * x(2)
        k = 2
        call g_g(g_p_, x(1), g_x(1, 1), ldg_x, d1_w, g_d1_w, g_pmax_)
        d2_v = sqrt(x(2))
        d1_p = 1.0d0 / (2.0d0 *  d2_v)
        d2_b = dble(k) * d1_p
        do g_i_ = 1, g_p_
          g_y(g_i_) = p * g_d1_w(g_i_) + d2_b * g_x(g_i_, 2)
        enddo
        y = d1_w * p + d2_v * dble(k)
        write (9, *) y
      end
      subroutine g_g(g_p_, x, g_x, ldg_x, g, g_g1, ldg_g1)
        double precision g, x, s
        integer k
        common /c/ s, k
        integer g_pmax_
        parameter (g_pmax_ = 32)
        integer g_i_, g_p_, ldg_x, ldg_g1, g_k(g_pmax_)
        double precision g_x(ldg_x), g_g1(ldg_g1), g_s(g_pmax_)
        common /g_c/ g_s, g_k
        if (g_p_ .gt. g_pmax_) then
          print *, 'too many'
          stop
        endif
        do g_i_ = 1, g_p_
          g_g1(g_i_) = s * g_x(g_i_) + x * g_s(g_i_)
        enddo
        g = x * s
      end
";

#[test]
fn several_directions() {
    let p = program(SOURCE);
    let (text, _) =
        with_derivative(&p, &request(&p, &[0], &[2], &[0, 1, 2], true), VECTOR, "").unwrap();
    assert!(
        text.contains("SUBROUTINE F_G1(X, G_X, P, G_P, Y, G_Y, N, G_P_)"),
        "{text}"
    );
    let driver = "
      PROGRAM MAIN
      DOUBLE PRECISION X(2), XD(4,2), P, PD(4), Y, YD(4)
      OPEN (9, STATUS = 'SCRATCH')
      X(1) = 3
      X(2) = 4
      DO 10 I = 1, 4
      PD(I) = 0
      XD(I,1) = I
   10 XD(I,2) = 0.5D0 - I
      P = 5
      CALL F_G1(X, XD, P, PD, Y, YD, 2, 4)
      DO 20 I = 1, 4
   20 PRINT *, 'yd', YD(I), 2*3*4*5*XD(I,1) + (9*5 + 0.5D0)*XD(I,2)
      END
";
    let out = support::run(&(text.clone() + driver), support::CHECKED);
    support::compare(&out, 1e-14, &text);
}

/// Anything that does not fit is an error that names the problem.
#[test]
fn output_that_does_not_fit() {
    let p = program(SOURCE);
    let scalar = request(&p, &[0], &[2], &[0, 1, 2], false);
    let error = |request: &Request, wrote: &str| {
        let errors = with_derivative(&p, request, wrote, "").unwrap_err();
        errors.join("; ")
    };
    let changed = |from: &str, to: &str| {
        assert!(SCALAR.contains(from));
        error(&scalar, &SCALAR.replace(from, to))
    };
    let found = [
        error(&scalar, ""),
        error(&scalar, VECTOR),
        error(&request(&p, &[0], &[2], &[0, 1, 2], true), SCALAR),
        changed("subroutine g_f(x, g_x, p, y", "subroutine g_f(x, p, g_x, y"),
        changed("g_f(x", "g_ff(x"),
        changed("subroutine g_g(", "subroutine g_h("),
        changed("d2_v = sqrt(x(2))", "call ehufdo(9, x(2), d2_v)"),
        changed("write (9, *) y", "read (9, *) y"),
        changed("write (9, *) y", "read (9, *) (n, y = 1d0, 2d0)"),
        changed(
            "common /g_c/ g_s, g_k\n          g_g1",
            "common /g_c/ g_k, g_s\n          g_g1",
        ),
        changed("        endif\n", "\n"),
        changed("double precision d1_p, d2_v", "integer d1_p(2), d2_v"),
        // X has a derivative, but the program has no place for it.
        error(&request(&p, &[0], &[2], &[1, 2], false), SCALAR),
    ];
    insta::assert_snapshot!("adifor_misfits", found.join("\n"));
}

#[test]
fn a_dependent_that_depends_on_nothing_has_derivative_zero() {
    let p = program(
        "
      SUBROUTINE F(X, Y, Z)
      DOUBLE PRECISION X, Y, Z(2,0:1)
      Y = X
      Z(1,1) = 3
      END
",
    );
    let wrote = "
      subroutine g_f(x, g_x, y, g_y, z)
        double precision x, y, z(2, 0:1), g_x, g_y
        g_y = g_x
        y = x
        z(1, 1) = 3
      end
";
    let (text, _) = with_derivative(
        &p,
        &request(&p, &[0], &[0, 1, 2], &[0, 1, 2], false),
        wrote,
        "",
    )
    .unwrap();
    let driver = "
      PROGRAM MAIN
      DOUBLE PRECISION X, XD, Y, YD, Z(2,2), ZD(2,2)
      X = 1
      XD = 2
      ZD(2,1) = 5
      ZD(1,2) = 5
      CALL F_G1(X, XD, Y, YD, Z, ZD)
      PRINT *, 'yd', YD, 2.0
      PRINT *, 'zd', ZD(2,1), 0.0
      PRINT *, 'zd', ZD(1,2), 0.0
      END
";
    let out = support::run(&(text.clone() + driver), &["-O0"]);
    support::compare(&out, 0.0, &text);
}

#[test]
fn versions() {
    let find = |s: &str| Version::find(s).map(|v| v.to_string());
    assert_eq!(find("Adifor2.1").as_deref(), Some("2.1"));
    assert_eq!(
        find("bash: 1.0\nADIFOR version 2.0 (rev D)").as_deref(),
        Some("2.0")
    );
    assert_eq!(find("Adifor 3.0.1").as_deref(), Some("3.0"));
    assert_eq!(find("Adifor"), None);
    assert_eq!(find(""), None);
    assert_eq!(find("ADIFOR 2.x, 99999999999.1"), None);
}

/// ADIFOR cannot be run without independents or without dependents.
#[test]
fn blocks_without_independents_or_dependents() {
    let p = program(SOURCE);
    let none = "what ADIFOR would have written is not looked at";
    for vector in [false, true] {
        let (text, _) =
            with_derivative(&p, &request(&p, &[], &[2], &[0, 1, 2], vector), none, "").unwrap();
        let driver = "
      PROGRAM MAIN
      DOUBLE PRECISION X(2), XD(2), P, PD, Y, YD
      OPEN (9, STATUS = 'SCRATCH')
      X(1) = 3
      X(2) = 4
      P = 5
      YD = 9
      CALL F_G1(X, XD, P, PD, Y, YD, 2)
      PRINT *, 'y', Y, 184.0
      PRINT *, 'yd', YD, 0.0
      END
";
        let driver = if vector {
            driver.replace("YD, 2)", "YD, 2, 1)")
        } else {
            driver.to_owned()
        };
        let out = support::run(&(text.clone() + &driver), &["-O0"]);
        support::compare(&out, 1e-14, &text);
        let (text, _) =
            with_derivative(&p, &request(&p, &[0], &[], &[0, 1, 2], vector), none, "").unwrap();
        assert!(
            text.contains("SUBROUTINE F_G1(X, G_X, P, G_P, Y, G_Y, N"),
            "{text}"
        );
    }
}

/// Procedures without source, in the program and in ADIFOR's own code, are errors until they are
/// allowed, by their names in the program.
#[test]
fn procedures_that_are_allowed() {
    let long = "A_PROCEDURE_WITH_A_LONG_NAME";
    let source = SOURCE
        .replace("      WRITE (9, *) Y", &format!("      CALL {long}(K)"))
        .replacen(
            "      INTEGER K",
            &format!("      INTEGER K\n      EXTERNAL {long}"),
            1,
        );
    let p = program(&source);
    let request = request(&p, &[0], &[2], &[0, 1, 2], false);
    let wrote = SCALAR
        .replace("write (9, *) y", "call a_procedur_z(k)")
        .replace(
            "d2_v = sqrt(x(2))",
            "d2_v = sqrt(x(2))\n        call ehufdo(9, x(2), d2_v)",
        );
    let allow = |names: &[&str]| Options {
        allow_unknown: names.iter().map(|n| (*n).to_owned()).collect(),
        ..Options::default()
    };
    let none = with_options(&p, &request, &wrote, "", allow(&[])).unwrap_err();
    assert_eq!(
        none,
        [format!(
            "{long} is called where a derivative is wanted, and its text is not known"
        )]
    );
    let long_lower = long.to_lowercase();
    let one = with_options(&p, &request, &wrote, "", allow(&[&long_lower])).unwrap_err();
    assert_eq!(one, ["ADIFOR's code calls EHUFDO, which nobody has"]);
    let allowed = allow(&[&long_lower, "ehufdo"]);
    let (text, _) = with_options(&p, &request, &wrote, "", allowed).unwrap();
    assert_eq!(
        text.matches(&format!("CALL {long}(K)")).count(),
        2,
        "{text}"
    );
}

/// Applies changes to a text: at a position (in thousandths of its length), a number of bytes are
/// replaced.
fn changed(text: &str, changes: &[(usize, usize, String)]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (place, length, new) in changes {
        let at = bytes.len() * place / 1000;
        let to = (at + length).min(bytes.len());
        bytes.splice(at..to, new.bytes());
    }
    bytes.iter().map(|b| char::from(*b)).collect()
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 400, ..Default::default() })]

    /// Whatever a tool writes, the adapter terminates, and what it accepts compiles as far as the
    /// representation can tell.
    #[test]
    fn no_output_makes_the_adapter_panic(
        vector: bool,
        changes in proptest::collection::vec(
            (0usize..1000, 0usize..80, "[ g_dxykns(),=*+.:'0-9\n/\\PC]{0,6}|\n      end\n|g_s|g_f|f_g1|zero_g1|x|g_x\\(1\\)"),
            1..4,
        ),
    ) {
        let p = program(SOURCE);
        let text = changed(if vector { VECTOR } else { SCALAR }, &changes);
        let request = request(&p, &[0], &[2], &[0, 1, 2], vector);
        match with_derivative(&p, &request, &text, &text.clone().leak()[..]) {
            Ok((fortran, _)) => {
                program(&fortran);
            }
            Err(errors) => assert!(!errors.is_empty()),
        }
    }
}
