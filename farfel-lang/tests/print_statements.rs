//! Tests that random programs made of all kinds of statements, printed in either form, read back
//! unchanged, with the same names and types.

use crate::common::any_text;
use proptest::prelude::*;

/// Statements that may appear among the specifications, in this order.
const SPECIFICATIONS: [&str; 22] = [
    "IMPLICIT INTEGER (K)",
    "PARAMETER (N1 = 3, C1 = 2.5E0, N2 = N1*2 + 1)",
    "INTEGER*2 M1, M2(4)",
    "REAL*8 D1, D2(N1)",
    "DOUBLE PRECISION D3(0:3, -1:N1)",
    "COMPLEX Z1, Z2*16",
    "LOGICAL*1 L1, L2*4",
    "CHARACTER*8 S1, S2(3)*4, S3*(2 + N1)",
    "BYTE B1",
    "REAL, DIMENSION(3) :: V1, V2(2)",
    "DIMENSION A1(4), A2(2, 5)",
    "COMMON X1, X2(3)",
    "COMMON /BLK/ Y1, Y2(4), Y3 /BLK2/ W1",
    "EQUIVALENCE (A1(1), X3), (Q1, Q2)",
    "EXTERNAL FUN1",
    "INTRINSIC SIN, COS",
    "SAVE R1, R2",
    "SAVE /BLK/",
    "NAMELIST /NML1/ D1, M1 /NML2/ S1",
    "DATA R1, T1 /2*3.0/",
    "DATA (D2(I), I = 1, 3) /0.5D0, 2*0D0/, S2(1) /'it''s'/",
    "SF(U, V) = U*V + 1",
];

/// Executable statements that are complete in themselves.
const STATEMENTS: [&str; 40] = [
    "X1 = -A1(2)**2 + 3*(X1 - R1)/2E0",
    "A1(M1) = D1",
    "S1(2:3) = S2(1)(:2) // 'a'",
    "L1 = X1 .LT. 2 .AND. .NOT. (L1 .OR. M1 == 3) .EQV. L1",
    "Z1 = (1.0, -2.0)*Z1 + CMPLX(X1, R1)",
    "CALL SUB",
    "CALL SUB(X1, A1, 'text', 4Habcd, *90)",
    "X1 = FUN1(A1(1), SIN(X1))",
    "GOTO 90",
    "GOTO (90, 90), M1",
    "ASSIGN 90 TO K1",
    "GOTO K1, (90)",
    "IF (X1) 90, 90, 90",
    "IF (L1) X1 = 2",
    "IF (L1) GOTO 90",
    "CONTINUE",
    "PAUSE",
    "PAUSE 'wait'",
    "STOP",
    "STOP 17",
    "PRINT *, X1, (A1(I), I = 1, 4)",
    "PRINT 91, X1",
    "WRITE (6, 91, ERR=90) X1, ((A2(I, J), I = 1, 2), J = 1, 5, 2)",
    "WRITE (*, '(1X, A)') S1",
    "WRITE (S1, *) M1",
    "READ (5, *, END=90, IOSTAT=M1) X1, A1",
    "READ (5, NML1)",
    "READ *, X1",
    "OPEN (UNIT=10, FILE='a.dat', STATUS='OLD', ERR=90)",
    "CLOSE (10, STATUS='DELETE')",
    "INQUIRE (FILE='a.dat', EXIST=L2)",
    "REWIND 10",
    "BACKSPACE (10, ERR=90)",
    "ENDFILE 10",
    "V1 = (/ 1.0, 2.0, 3.0 /)",
    "V1(1:2) = V2 + 1",
    "M1 = IEOR(INT(M1), 5) + LEN(S1)",
    "ADF(I) = 3",
    "RETURN",
    "M2(1) = Z'1F'",
];

fn block(depth: u32) -> impl Strategy<Value = Vec<String>> {
    let leaf = prop::sample::select(STATEMENTS.to_vec()).prop_map(|s| vec![s.to_owned()]);
    leaf.prop_recursive(depth, 30, 4, |inner| {
        let body = prop::collection::vec(inner, 0..4).prop_map(|b| b.concat());
        let around = prop::sample::select(vec![
            vec!["IF (L1) THEN", "END IF"],
            vec!["IF (X1 > 0) THEN", "ELSE IF (L1) THEN", "ELSE", "ENDIF"],
            vec!["DO I = 1, N1", "END DO"],
            vec!["DO J = 10, 1, -2", "ENDDO"],
            vec!["DO X3 = 0.0, 1.0, 0.25", "END DO"],
            vec!["DO WHILE (X1 .LT. 9)", "END DO"],
            vec!["DO", "EXIT", "END DO"],
            vec!["ROUND: DO I = 1, 3", "CYCLE ROUND", "END DO ROUND"],
            vec![
                "SELECT CASE (M1)",
                "CASE (1, 3:5)",
                "CASE DEFAULT",
                "END SELECT",
            ],
        ]);
        (around, prop::collection::vec(body, 4)).prop_map(|(around, bodies)| {
            let mut all = Vec::new();
            for (i, line) in around.iter().enumerate() {
                all.push((*line).to_owned());
                // Nothing may come between SELECT CASE and the first CASE.
                if i + 1 < around.len() && !line.starts_with("SELECT") {
                    all.extend(bodies[i].clone());
                }
            }
            all
        })
    })
}

/// Gives every loop a variable and a name of its own.
fn with_own_names(lines: Vec<String>) -> Vec<String> {
    let mut open = Vec::new();
    let number = |(n, line): (usize, String)| {
        let line = line
            .replacen("DO I =", &format!("DO I{n} ="), 1)
            .replacen("DO J =", &format!("DO J{n} ="), 1)
            .replacen("DO X3 =", &format!("DO XX{n} ="), 1);
        if line.starts_with("ROUND") {
            open.push(n);
        }
        let name = format!("ROUND{}", open.last().copied().unwrap_or(0));
        if line.starts_with("END DO ROUND") {
            open.pop();
        }
        line.replace("ROUND", &name)
    };
    lines.into_iter().enumerate().map(number).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn programs_of_all_statements(
        chosen in prop::collection::vec(any::<bool>(), SPECIFICATIONS.len()),
        body in prop::collection::vec(block(4), 0..6),
        free in any::<bool>(),
    ) {
        let mut lines = vec!["SUBROUTINE S0(P1, P2, *)".to_owned()];
        // Declarations on which others depend are always included.
        let needed = |s: &str| s.starts_with("PARAMETER") || s.contains("S1") || s.contains("M1,")
            || s.contains("D1,") || s.contains("L1") || s.contains("V1") || s.contains("A1(4)")
            || s.contains("Z1") || s.starts_with("EXTERNAL");
        for (line, chosen) in SPECIFICATIONS.iter().zip(&chosen) {
            if *chosen || needed(line) {
                lines.push((*line).to_owned());
            }
        }
        lines.push("DIMENSION ADF(9)".to_owned());
        lines.sort_by_key(|l| match l.split(' ').next() {
            Some("SUBROUTINE") => 0,
            Some("IMPLICIT") => 1,
            Some("DATA") => 3,
            Some("SF(U,") => 4,
            _ => 2,
        });
        lines.extend(with_own_names(body.concat()));
        lines.push("END".to_owned());
        let end = lines.len() - 1;
        let mut text = String::new();
        for (i, line) in lines.iter().enumerate() {
            if i == end {
                text += if free { "91 FORMAT (1X, 'IT''S', F8.3)\n90 CONTINUE\n" }
                    else { "   91 FORMAT (1X, 'IT''S', F8.3)\n   90 CONTINUE\n" };
            }
            text += &if free { format!("{line}\n") } else { format!("      {line}\n") };
        }
        let text = match free {
            true => format!("!farfel: form=free\n{text}"),
            false => format!("!farfel: form=fixed\n{text}"),
        };
        prop_assert!(any_text::is_right(&text).is_ok(), "{}\n{:?}", text, any_text::is_right(&text));
        any_text::front_end(&text);
    }
}
