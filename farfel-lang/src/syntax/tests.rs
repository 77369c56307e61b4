//! Tests go through [`check`] and [`faults`] only.

use super::{Form, NoIncludes, Parsed, parse};
use crate::source::Sources;

fn read(text: &str, form: Option<Form>) -> (Sources, Parsed) {
    let mut sources = Sources::new();
    let file = sources.add("a.ff", text);
    let parsed = parse(&mut sources, file, form, &mut NoIncludes);
    (sources, parsed)
}

/// The faults of a text, one a line: `line:column code message`.
fn faults(text: &str) -> String {
    let (sources, parsed) = read(text, None);
    let mut out = String::new();
    for d in &parsed.diagnostics {
        let place = sources
            .get(d.span.file)
            .map(|f| f.line_column(d.span.start));
        let (l, c) = place.map_or((0, 0), |p| (p.line, p.column));
        out.push_str(&format!("{l}:{c} {} {}\n", d.rule.code, d.message));
    }
    out
}

const LISTING_7: &str = "\
C     ASTAR & BSTAR: GUESSES IN, OPTIMIZED VALUES OUT
      SUBROUTINE EQLBRM(BIGA, BIGB, ASTAR, BSTAR, N)
      EXTERNAL BIGA, BIGB
        FUNCTION F(ASTAR)
          FUNCTION G(A)
            FUNCTION H(B)
              H = BIGB(ASTAR, B)
            END
            BSTAR = ARGMAX(H, BSTAR, N)
            G = BIGA(A, BSTAR)
          END
          F = ARGMAX(G, ASTAR, N)-ASTAR
        END
      ASTAR = ROOT(F, ASTAR, N)
      END

      FUNCTION ROOT(F, X0, N)
      X = X0
      DO 1669 I=1,N
      CALL DERIV2(F, X, Y, YPRIME)
 1669 X = X-Y/YPRIME
      ROOT = X
      END

      SUBROUTINE DERIV2(F, X, Y, YPRIME)
      EXTERNAL F
      ADF(X)
      Y = F(X)
      END ADF(YPRIME = TANGENT(Y))
      END

      FUNCTION ARGMAX(F, X0, N)
        FUNCTION FPRIME(X)
          FPRIME = DERIV1(F, X)
        END
        ARGMAX = ROOT(FPRIME, X0, N)
      END

      FUNCTION DERIV1(F, X)
      EXTERNAL F
      ADF(X)
      Y = F(X)
      END ADF(DERIV1 = TANGENT(Y))
      END

      FUNCTION GMBIGA(A, B)
      PRICE = 20-0.1*A-0.1*B
      COSTS = A*(10-0.05*A)
      GMBIGA = A*PRICE-COSTS
      END

      FUNCTION GMBIGB(A, B)
      PRICE = 20-0.1*B-0.0999*A
      COSTS = B*(10.005-0.05*B)
      GMBIGB = B*PRICE-COSTS
      END

      PROGRAM MAIN
      READ *, ASTAR
      READ *, BSTAR
      READ *, N
      CALL EQLBRM(GMBIGA, GMBIGB, ASTAR, BSTAR, N)
      PRINT *, ASTAR, BSTAR
      END
";

#[test]
fn listing_7() {
    assert_eq!(faults(LISTING_7), "");
    let (_, parsed) = read(LISTING_7, None);
    let names: Vec<_> = parsed
        .program
        .units
        .iter()
        .map(|u| u.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "EQLBRM", "ROOT", "DERIV2", "ARGMAX", "DERIV1", "GMBIGA", "GMBIGB", "MAIN"
        ]
    );
    assert_eq!(
        parsed.program.units[0].nested[0].nested[0].nested[0].name,
        "H"
    );
}
