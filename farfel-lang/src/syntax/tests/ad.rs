use super::{Form, body, errors, fixed, good, printed};
use crate::ir::{AdItem, AdMode, StmtKind};

#[test]
fn blocks() {
    for (opening, closing) in [
        ("ADF(X)", "END ADF"),
        ("ADF(X(3))", "END ADF(D = TANGENT(Y))"),
        (
            "ADF(X, Z(1))",
            "END ADF(D = TANGENT(Y), E(2) = TANGENT(Z(1)))",
        ),
        (
            "ADF(TANGENT(X) = 1.0, TANGENT(Y) = A + B)",
            "END ADF(D = TANGENT(Y))",
        ),
        (
            "ADF((TANGENT(X(I)) = V(I), I = 1, N))",
            "END ADF((D(I) = TANGENT(Y(I)), I = 1, N))",
        ),
        (
            "ADF(((TANGENT(X(I, J)) = 0, I = 1, N, 2), J = 1, N))",
            "END ADF(((D(I, J) = TANGENT(X(I, J)), I = 1, N), J = 1, N))",
        ),
        ("ADR(Y)", "END ADR(G = COTANGENT(X))"),
        (
            "ADR(COTANGENT(Y) = Y - YOBS)",
            "END ADR((G(I) = COTANGENT(X(I)), I = 1, N))",
        ),
    ] {
        let text = format!("Z = 1\n{opening}\nY = X\n{closing}");
        let expected = format!("      Z = 1\n      {opening}\n        Y = X\n      {closing}");
        assert_eq!(body(&text), expected);
        // Blanks have no meaning.
        let tight: String = text.chars().filter(|c| *c != ' ').collect();
        assert_eq!(body(&tight), expected);
    }
}

#[test]
fn closing_may_be_empty() {
    for end in ["END ADF", "ENDADF", "END ADF()"] {
        assert_eq!(
            body(&format!("ADF(X)\n{end}")),
            "      ADF(X)\n      END ADF"
        );
    }
}

#[test]
fn short_form_is_one() {
    let units = good(&fixed("ADF(X)\nEND ADF"), None);
    let StmtKind::Ad(block) = &units[0].body[0].kind else {
        panic!("{:?}", units[0].body)
    };
    assert_eq!(block.mode, AdMode::Forward);
    let [AdItem::Assign(a)] = &block.opening[..] else {
        panic!("{block:?}")
    };
    assert!(a.short);
    assert_eq!(super::show(&units[0], &a.var), "X");
    assert_eq!(super::show(&units[0], &a.other), "1");
}

#[test]
fn blocks_nest() {
    let text = "ADF(X)\nADR(Y)\nADF(Z)\nEND ADF\nEND ADR\nEND ADF";
    assert_eq!(
        body(text),
        "      ADF(X)\n        ADR(Y)\n          ADF(Z)\n          END ADF\n        END ADR\n      END ADF"
    );
}

#[test]
fn words_are_keywords_in_openings_and_closings_only() {
    assert_eq!(
        body(
            "TANGENT = 1\nY = TANGENT(X) + COTANGENT\nADF(TANGENT)\nEND ADF(ADF = TANGENT(TANGENT))"
        ),
        "      TANGENT = 1\n      Y = TANGENT(X) + COTANGENT\n      ADF(TANGENT)\n      END ADF(ADF = TANGENT(TANGENT))"
    );
}

#[test]
fn free_form() {
    assert_eq!(
        printed(
            "adf (tangent (x) = 1)\ny = x\nendadf (d = tangent (y))\nend\n",
            Some(Form::Free)
        ),
        "      ADF(TANGENT(X) = 1)\n        Y = X\n      END ADF(D = TANGENT(Y))\n      END\n"
    );
}

#[test]
fn errors_in_openings_and_closings() {
    for (opening, closing, expected) in [
        (
            "ADF(COTANGENT(X) = 1)",
            "END ADF",
            "1:11-1:20 F0001 ADF blocks have TANGENT, not COTANGENT\n  help: write TANGENT here\n",
        ),
        (
            "ADR(X)",
            "END ADR(D = TANGENT(X))",
            "2:19-2:26 F0001 ADR blocks have COTANGENT, not TANGENT\n  help: write COTANGENT here\n",
        ),
        (
            "ADF(TANGENT(X))",
            "END ADF",
            "1:21-1:22 F0001 expected `=`, found `)`\n  help: an opening gives a value: `TANGENT(variable) = expression`\n",
        ),
        (
            "ADF(X = 1)",
            "END ADF",
            "1:13-1:14 F0001 expected `,` or `)`, found `=`\n  help: an opening is written `TANGENT(variable) = expression`\n",
        ),
        (
            "ADF(X)",
            "END ADF(TANGENT(Y) = D)",
            "2:28-2:29 F0001 expected TANGENT, found `D`\n  help: a closing is written `destination = TANGENT(variable)`\n",
        ),
        (
            "ADF(X)",
            "END ADF(D = Y)",
            "2:19-2:20 F0001 expected TANGENT, found `Y`\n  help: a closing is written `destination = TANGENT(variable)`\n",
        ),
        (
            "ADF(X)",
            "END ADF(D)",
            "2:16-2:17 F0001 expected `=`, found `)`\n  help: a closing is written `destination = TANGENT(variable)`\n",
        ),
        (
            "ADF((TANGENT(X(I)) = 1))",
            "END ADF",
            "1:29-1:30 F0001 expected `,` and a loop variable, found `)`\n  help: an implied DO is written `(items, I = 1, N)`\n",
        ),
        (
            "ADF(X",
            "END ADF",
            "1:12-1:12 F0001 expected `,` or `)`, found the end of the statement\n  help: a parenthesis is not closed\n",
        ),
    ] {
        assert_eq!(
            errors(&fixed(&format!("{opening}\n{closing}"))),
            expected,
            "{opening} {closing}"
        );
    }
}
