//! The possible targets of dummy procedures in parsed programs.

use farfel_ir::Sources;
use farfel_ir::targets::CallTargets;
use farfel_lang::syntax::{NoIncludes, parse};

#[test]
fn procedures_are_followed_through_calls() {
    let text = "      SUBROUTINE A
      EXTERNAL F, G
      CALL B(1.0, F)
      CALL B(2.0, G)
      CALL C(F)
      END
      SUBROUTINE B(X, P)
      EXTERNAL P
        SUBROUTINE INNER
          CALL C(P)
        END
      CALL INNER
      END
      SUBROUTINE C(Q)
      EXTERNAL Q
      CALL Q(1.0)
      END
      SUBROUTINE F(X)
      X = 1
      END
      SUBROUTINE G(X)
      CALL A
      END
";
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    let mut program = parse(&mut sources, file, None, &mut NoIncludes).program;
    farfel_lang::resolve::resolve(&mut program);
    let targets = CallTargets::of(&program);
    let names = |unit: &str, position: usize| -> Vec<String> {
        let found = targets.of_dummy(unit, position).iter();
        found.map(|t| t.name.to_string()).collect()
    };
    assert_eq!(names("B", 1), ["F", "G"]);
    assert_eq!(names("C", 0), ["F", "G"]);
    assert!(names("B", 0).is_empty() && names("X", 3).is_empty());
    // A, B, C, F, G
    assert_eq!(
        targets.callees(),
        [vec![1, 2], vec![2], vec![3, 4], vec![], vec![0]]
    );
}
