//! The adapter with the drop-in behind it: both must agree on Tapenade's conventions. No process is
//! started.

#![allow(clippy::print_stderr)] // in what it shares with other tests

use crate::support::{self, CHECKED, FAST, compare};
use crate::tapenade;
use crate::tapenade::program::read;
use crate::tapenade::tool::drop_in;
use farfel_ad::{AdTool, Builtin};
use farfel_lang::Diagnostic;
use farfel_lang::ir::{AdMode, Program, Request, Unit};
use farfel_tools::tapenade::{Options, Tapenade, Version};

fn tool(version: Version) -> Tapenade {
    drop_in(version, Options::default())
}

#[test]
fn the_equilibrium_of_the_paper() {
    let text = support::paper();
    // The old release gets `-difffuncname`, the new one `-tgtfuncname`.
    for version in [Version::new(3, 6), Version::new(3, 16)] {
        let mut source = read(&text);
        let requests = source.lowered();
        let (fortran, warnings) = source
            .differentiated(&tool(version), &requests)
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(warnings, "");
        compare(&support::run(&fortran, FAST), 2e-2 / 50.0, &fortran);
        let double = support::run(&fortran, &[FAST, &["-fdefault-real-8"]].concat());
        compare(&double, 1e-6 / 50.0, &fortran);
    }
}

/// The programs stop with a number if a derivative is wrong.
#[test]
fn programs_that_check_themselves() {
    let mut bad = String::new();
    let programs = support::programs_that_check_themselves();
    for (path, text) in &programs {
        // Tapenade has one number of directions for a whole program. It cannot handle COMMON
        // variables with a second name, directives about derivatives, allocated arrays with
        // derivatives, ENTRY points, MAXVAL, array statements, and functions that change variables.
        let words = ["DIRECTIONS =", "farfel: constant"];
        let files = [
            "tied_in_common.ff",
            "directives_stay.ff",
            "formulas_beside_allocate.ff",
            "entries_below.ff",
            "reduced_arguments.ff",
            "arrays_of_themselves.ff",
            "masked_parts.ff",
            "counters_of_output.ff",
            "functions_that_change.ff",
            "kept_by_functions.ff",
            "where_arms.ff",
        ];
        if words.iter().any(|w| text.contains(w)) || files.iter().any(|f| path.ends_with(f)) {
            continue;
        }
        let mut source = read(text);
        let requests = source.lowered();
        match source.differentiated(&tool(Version::new(3, 16)), &requests) {
            Ok((fortran, _)) => {
                for flags in [CHECKED, FAST] {
                    support::run(&fortran, flags);
                }
            }
            Err(e) => bad.push_str(&format!("{}: {e}\n", path.display())),
        }
    }
    assert!(bad.is_empty(), "{bad}");
}

/// Carries out requests alternately with two tools.
struct Turns {
    tools: [Box<dyn AdTool>; 2],
    /// The index of the first one to use.
    first: usize,
}

impl AdTool for Turns {
    fn name(&self) -> &str {
        "turns"
    }

    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>> {
        let turn = (request.id as usize + self.first) % 2;
        self.tools[turn].differentiate_warning(program, request, warnings)
    }
}

/// Derivatives of the built-in engine are differentiated by the adapter, and the other way round:
/// in each nesting one request goes to one tool, and one to the other.
#[test]
fn two_tools_in_one_program() {
    let block = |mode: &str, inner: bool| {
        let (d, y, call) = match inner {
            true => ("E", "Y", "CALL F(X, N, Y)"),
            false => ("D", "E", "CALL INNER(X, V, N, E)"),
        };
        match mode {
            "ADF" => format!(
                "      ADF(TANGENT(X) = V)\n      {call}\n      END ADF({d} = TANGENT({y}))\n"
            ),
            _ => format!(
                "      ADR({y})\n      {call}\n      END ADR(G = COTANGENT(X))\n      {d} = 0\n      DO I = 1, N\n        {d} = {d} + G(I)*V(I)\n      END DO\n"
            ),
        }
    };
    for (outer, inner) in [("ADF", "ADR"), ("ADR", "ADF"), ("ADR", "ADR")] {
        let text = format!(
            "
      PROGRAM P
      PARAMETER (N = 3)
      DOUBLE PRECISION X(N), V(N), D, W, S, Q, T
      S = 0
      Q = 0
      T = 0
      DO I = 1, N
        X(I) = 0.5D0*I
        V(I) = 1D0/I
        S = S + X(I)
        Q = Q + V(I)
        T = T + 6*X(I)*V(I)**2
      END DO
      CALL OUTER(X, V, N, D)
C     The function is (sum x)**2*x(1)**2 + sum x**3
      W = 2*Q*Q*X(1)**2 + 8*S*Q*X(1)*V(1) + 2*S**2*V(1)**2 + T
      PRINT *, 'd', D, W
      END
      SUBROUTINE OUTER(X, V, N, D)
      DOUBLE PRECISION X(N), V(N), G(N), E, D
{}      END
      SUBROUTINE INNER(X, V, N, E)
      DOUBLE PRECISION X(N), V(N), G(N), E, Y
{}      END
      SUBROUTINE F(X, N, Y)
      DOUBLE PRECISION X(N), Y, S
      COMMON /SUM/ S
      S = 0
      DO I = 1, N
        S = S + X(I)
      END DO
      CALL SQUARE(X(1))
      Y = 0
      DO I = 1, N
        Y = Y + X(I)**3
      END DO
      Y = Y + S
      END
      SUBROUTINE SQUARE(X)
      DOUBLE PRECISION X, S
      COMMON /SUM/ S
      S = S*X
      S = S*S
      END
",
            block(outer, false),
            block(inner, true),
        );
        let mut source = read(&text);
        let requests = source.lowered();
        assert_eq!(requests.len(), 2);
        for first in [0, 1] {
            let tool = Turns {
                tools: [Box::new(Builtin), Box::new(tool(Version::new(3, 16)))],
                first,
            };
            let (fortran, _) = source
                .differentiated(&tool, &requests)
                .unwrap_or_else(|e| panic!("{outer} over {inner}, {first}: {e}"));
            compare(&support::run(&fortran, CHECKED), 1e-12, &fortran);
        }
    }
}

/// All directions in one sweep, compared with one at a time.
#[test]
fn several_directions() {
    let source = read(
        "
      PROGRAM MAIN
      EXTERNAL HEAD_G1, HEAD_G2
      DOUBLE PRECISION X(4), Y, XM(4, 4), YM(4), V(4), D
      DATA X /0.7D0, -1.3D0, 0.4D0, 1.1D0/
      DO 10 I = 1, 4
      DO 10 J = 1, 4
   10 XM(I, J) = 1D0/(I + 2*J)
      CALL HEAD_G2(X, XM, 4, Y, YM, 4)
      DO 30 I = 1, 4
      DO 20 J = 1, 4
   20 V(J) = XM(I, J)
      CALL HEAD_G1(X, V, 4, Y, D)
   30 PRINT *, 'v', YM(I), D
      END
      SUBROUTINE HEAD(X, N, Y)
      INTEGER N
      DOUBLE PRECISION X(N), Y, T(10), F
      DO 10 I = 1, N
   10 T(I) = F(X(I))
      Y = 1
      DO 20 I = 1, N
      IF (T(I) .LT. 0) T(I) = -T(I)
   20 Y = Y*T(I)
      END
      DOUBLE PRECISION FUNCTION F(X)
      DOUBLE PRECISION X
      F = SIN(X) + X**2
      END
",
    );
    let one = source.request(1, AdMode::Forward, "HEAD", &["X"], &["Y"]);
    let mut all = source.request(2, AdMode::Forward, "HEAD", &["X"], &["Y"]);
    all.vector = true;
    let (fortran, _) = source
        .differentiated(&tool(Version::new(3, 16)), &[one, all])
        .unwrap_or_else(|e| panic!("{e}"));
    for flags in [CHECKED, FAST] {
        compare(&tapenade::support::run(&fortran, flags), 1e-13, &fortran);
    }
}
