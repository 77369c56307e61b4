use super::{errors, fixed, good, shape, shape_free, table};

#[test]
fn shapes() {
    table(
        &[
            // Precedence and grouping (ANSI X3.9-1978, 6.5).
            ("A + B*C", "(add A (mul B C))"),
            ("A - B - C", "(sub (sub A B) C)"),
            ("A/B/C", "(div (div A B) C)"),
            ("A**B**C", "(pow A (pow B C))"),
            ("-A**2", "(- (pow A 2))"),
            ("-A*B", "(- (mul A B))"),
            ("-A + B", "(add (- A) B)"),
            ("A - -B", "(sub A |(- B)|)"),
            ("A*-B + C", "(add (mul A |(- B)|) C)"),
            ("A**-B*C", "(mul (pow A |(- B)|) C)"),
            ("2**(-1)", "(pow 2 |(- 1)|)"),
            ("A .LT. B + C", "(lt A (add B C))"),
            ("A // B .EQ. C", "(eq (concat A B) C)"),
            (".NOT. A .AND. B .OR. C", "(or (and (not A) B) C)"),
            (".NOT. A .EQ. B", "(not (eq A B))"),
            (".NOT. .NOT. A", "(not (not A))"),
            ("A .AND. .NOT. B", "(and A (not B))"),
            ("A .EQV. B .OR. C", "(eqv A (or B C))"),
            ("A .NEQV. B .EQV. C", "(eqv (neqv A B) C)"),
            ("A == B .AND. C /= D", "(and (eq A B) (ne C D))"),
            (
                "A <= B .OR. C >= D .OR. E < F .OR. G > H",
                "(or (or (or (le A B) (ge C D)) (lt E F)) (gt G H))",
            ),
            // Constants, and periods that do not belong to them.
            ("1.EQ.2", "(eq 1 2)"),
            ("1..EQ.2.", "(eq 1. 2.)"),
            ("1.E2", "1.E2"),
            ("1.D0", "1.D0"),
            ("1E5", "1E5"),
            ("1.5e-3", "1.5E-3"),
            (".5", ".5"),
            ("3.", "3."),
            ("3.AND.4", "(and 3 4)"),
            ("1.E2.EQ.1.D2", "(eq 1.E2 1.D2)"),
            ("1 0 0 . 2 5 E + 3", "100.25E+3"),
            ("X.AND.Y", "(and X Y)"),
            ("A.EQ..5", "(eq A .5)"),
            (".TRUE..OR..FALSE.", "(or true false)"),
            ("9223372036854775807", "9223372036854775807"),
            ("(1.0, -2)", "{1.0 (- 2)}"),
            ("(1,2)*(X)", "(mul {1 2} |X|)"),
            ("(1,2)**2", "(pow {1 2} 2)"),
            ("Z'ff'", "Bits(\"Z'FF'\")"),
            // Character constants.
            ("'it''s'", "\"it's\""),
            ("\"say \"\"no\"\"\"", "\"say \\\"no\\\"\""),
            ("''", "\"\""),
            ("'a ! b ; c'", "\"a ! b ; c\""),
            ("'A' // \"b\"", "(concat \"A\" \"b\")"),
            ("4HABCD", "H\"ABCD\""),
            ("A.EQ.4HABCD", "(eq A H\"ABCD\")"),
            ("4Häö", "H\"äö\""),
            ("F(2HA , 1)", "F[H\"A \" 1]"),
            ("2H''", "H\"''\""),
            // Names with and without parentheses.
            ("A(I, J+1)", "A[I (add J 1)]"),
            ("F()", "F[]"),
            ("C(1:2)", "C[1:2:_]"),
            ("C(:)", "C[_:_:_]"),
            ("C(I)(2:)", "C[I]<2 _>"),
            ("C(I)(:3)", "C[I]<_ 3>"),
            ("A(1:9:2)", "A[1:9:2]"),
            ("'ABC'(2:3)", "\"ABC\"<2 3>"),
            // Names that look like something else.
            ("IF(1) + DO", "(add IF[1] DO)"),
            ("E2 + D0", "(add E2 D0)"),
            ("A B C", "ABC"),
            ("X2H", "X2H"),
        ],
        |text| shape(text),
    );
}

#[test]
fn free_form() {
    table(
        &[
            ("a + b", "(add A B)"),
            ("(-.5, .5)", "{(- .5) .5}"),
            ("f (2, 3)", "F[2 3]"),
            ("1.0 - 2.0", "(sub 1.0 2.0)"),
            ("3Hab!", "H\"ab!\""),
            ("a .and. b", "(and A B)"),
        ],
        |text| shape_free(text),
    );
}

#[test]
fn errors_in_expressions() {
    table(
        &[
            (
                "A +",
                "1:14-1:14 F0001 expected an expression, found the end of the statement\n",
            ),
            (
                "A + * B",
                "1:15-1:16 F0001 expected an expression, found `*`\n",
            ),
            (
                "(A + B",
                "1:17-1:17 F0001 expected `)`, found the end of the statement\n  help: a parenthesis is not closed\n",
            ),
            (
                "A + B)",
                "1:16-1:17 F0001 expected the end of the statement, found `)`\n  help: a parenthesis is closed that was not opened\n",
            ),
            (
                "F(A, B",
                "1:17-1:17 F0001 expected `,` or `)`, found the end of the statement\n  help: a parenthesis is not closed\n",
            ),
            (
                "A & B",
                "1:13-1:14 F0001 expected the end of the statement, found `&`\n",
            ),
            ("A @ B", "1:13-1:14 F0005 `@` has no meaning here\n"),
            ("A + Ä", "1:15-1:16 F0005 `Ä` has no meaning here\n"),
            (
                "'abc",
                "1:11-1:15 F0001 the character constant does not end\n  help: close it with the same quote; a quote inside is written twice\n",
            ),
            (
                "9HABC",
                "1:11-1:16 F0001 the statement ends before the Hollerith constant does\n",
            ),
            (
                "99999999999999999999",
                "1:11-1:31 F0001 the integer constant is too large\n",
            ),
            (
                "(A*2, 1)",
                "1:12-1:15 F0001 the parts of a complex constant must be constants\n  help: use CMPLX to make a complex number of variables\n",
            ),
            (
                "A .EQ B",
                "1:13-1:14 F0001 expected the end of the statement, found `.`\n  \
                 help: operators have a dot on either side: `.EQ.`, `.NE.`, `.AND.`, …\n",
            ),
            (
                ".TRU.",
                "1:11-1:12 F0001 expected an expression, found `.`\n",
            ),
            (
                "(/ 1, 2 )",
                "1:19-1:20 F0001 expected `,` or `/)`, found `)`\n",
            ),
            (
                "[1, 2",
                "1:16-1:16 F0001 expected `,` or `]`, found the end of the statement\n  help: the array constructor is not closed\n",
            ),
        ],
        |text| errors(&fixed(&format!("X = {text}"))),
    );
}

/// What the parser accepts is not too deeply nested for the passes that follow, in a thread with a
/// stack of 2 MB.
#[test]
fn later_passes_bear_the_depth() {
    let deep = format!("Z={}X{}", "(".repeat(149), ")".repeat(149));
    let long = format!("Y=X{}", "+X".repeat(1000));
    let mut text = String::from("      SUBROUTINE S(X, Y)\n      ADF(X)\n");
    for statement in [deep, long] {
        for (i, chunk) in statement.as_bytes().chunks(60).enumerate() {
            text.push_str(if i == 0 { "      " } else { "     +" });
            text.push_str(std::str::from_utf8(chunk).unwrap());
            text.push('\n');
        }
    }
    text.push_str("      END ADF(D=TANGENT(Y))\n      END\n");
    let mut program = crate::ir::Program {
        units: good(&text, None),
    };
    assert_eq!(crate::resolve::resolve(&mut program), []);
    let lowered = crate::lower::lower(program, crate::lower::Stage::Stage);
    assert_eq!(lowered.diagnostics, []);
    assert_eq!(lowered.program.clone().units.len(), 2);
    let text = crate::print::print_program(&lowered.program, &crate::print::Options::default());
    assert!(text.contains("S_ADF1_G1"));
}

#[test]
fn depth_is_bounded() {
    let deep = |n: usize| format!("      X = {}A{}\n      END\n", "(".repeat(n), ")".repeat(n));
    let wrap = |text: &str| -> String {
        // Continuation lines of 60 letters.
        let text = text
            .replace("      X = ", "X=")
            .replace("\n      END\n", "");
        let mut out = String::new();
        for (i, chunk) in text.as_bytes().chunks(60).enumerate() {
            out.push_str(if i == 0 { "      " } else { "     +" });
            out.push_str(std::str::from_utf8(chunk).unwrap());
            out.push('\n');
        }
        out + "      END\n"
    };
    assert_eq!(errors(&wrap(&deep(100))), "");
    assert!(errors(&wrap(&deep(100_000))).contains("F0008 the expression is nested"));
    let powers = format!("      X = A{}\n      END\n", "**A".repeat(100_000));
    assert!(errors(&wrap(&powers)).contains("F0008 the expression is nested"));
    let signs = format!("      X = {}A\n      END\n", "-".repeat(100_000));
    assert!(errors(&wrap(&signs)).contains("F0008 the expression is nested"));
    let sum = |n| format!("      X = A{}\n      END\n", "+A".repeat(n));
    assert_eq!(errors(&wrap(&sum(900))), "");
    assert!(errors(&wrap(&sum(100_000))).contains("F0008 the expression chains"));
}
