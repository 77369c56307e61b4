//! Small subprograms, one for each kind of jump.

/// A program that calls all of them with several arguments.
pub fn program() -> String {
    let mut text = String::from("      PROGRAM P\n      DO 10 I = -2, 6\n");
    for i in 0..CASES.len() {
        text += &format!("      K = I\n      CALL T{i}(I, K)\n      PRINT *, 'T{i}', I, K\n");
    }
    text += "   10 CONTINUE\n      END\n";
    for (i, body) in CASES.iter().enumerate() {
        text += &format!("      SUBROUTINE T{i}(N, K)\n{body}      END\n");
    }
    text
}

const CASES: &[&str] = &[
    // Cycles by the label at the end, whose statement counts.
    "      DO 10 I = 1, N
      IF (MOD(I, 2) .EQ. 0) GOTO 10
      K = K + 100*I
   10 K = K + 1
",
];
