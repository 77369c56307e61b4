use super::{body, errors, fixed, good, symbols, table};

/// The effect of each specification statement on the symbols.
#[test]
fn facts() {
    for (text, expected) in [
        ("INTEGER I, J(10)", "I INTEGER\nJ INTEGER(_..10)\n"),
        ("REAL*8 X", "X DOUBLE PRECISION\n"),
        ("REAL X*8, Y", "X DOUBLE PRECISION\nY REAL\n"),
        (
            "REAL*8 HELLO, HI",
            "HELLO DOUBLE PRECISION\nHI DOUBLE PRECISION\n",
        ),
        ("INTEGER*2 I", "I INTEGER*2\n"),
        ("DOUBLE PRECISION X", "X DOUBLE PRECISION\n"),
        ("DOUBLEPRECISIONX", "X DOUBLE PRECISION\n"),
        ("COMPLEX Z", "Z COMPLEX\n"),
        ("COMPLEX*16 Z", "Z COMPLEX*16\n"),
        ("DOUBLE COMPLEX Z", "Z COMPLEX*16\n"),
        ("LOGICAL*1 L", "L LOGICAL*1\n"),
        ("BYTE B", "B INTEGER*1\n"),
        ("REAL(8) X", "X DOUBLE PRECISION\n"),
        ("REAL(KIND=8) X", "X DOUBLE PRECISION\n"),
        ("REAL :: X", "X REAL\n"),
        (
            "DOUBLE PRECISION :: X = 1, Y(2) = 2",
            "X DOUBLE PRECISION saved\nY DOUBLE PRECISION(_..2) saved\n",
        ),
        ("REAL(KIND(1.0D0)) X", "X DOUBLE PRECISION\n"),
        (
            "PARAMETER (K = 8)\nCOMPLEX(KIND=K) Z",
            "K = 8\nZ COMPLEX*16\n",
        ),
        ("INTEGER*2 I*4, J", "I INTEGER\nJ INTEGER*2\n"),
        ("REAL X(3)*8", "X DOUBLE PRECISION(_..3)\n"),
        ("CHARACTER*8 A*4(3)", "A CHARACTER*4(_..3)\n"),
        ("STATIC X", "X saved\n"),
        (
            "REAL, DIMENSION(3), SAVE :: X, Y",
            "X REAL(_..3) saved\nY REAL(_..3) saved\n",
        ),
        ("INTEGER, PARAMETER :: N = 3", "N INTEGER = 3\n"),
        ("CHARACTER C", "C CHARACTER\n"),
        (
            "CHARACTER*8 A, B*4, C(3)*5",
            "A CHARACTER*8\nB CHARACTER*4\nC CHARACTER*5(_..3)\n",
        ),
        ("CHARACTER*8, A", "A CHARACTER*8\n"),
        ("CHARACTER*(*) A", "A CHARACTER*(*)\n"),
        ("CHARACTER*(N+1) A", "N\nA CHARACTER*(add N 1)\n"),
        (
            "CHARACTER A*(*), B*4(3)",
            "A CHARACTER*(*)\nB CHARACTER*4(_..3)\n",
        ),
        ("CHARACTER(LEN=5) A", "A CHARACTER*5\n"),
        (
            "DIMENSION A(10), B(0:N, -1:*)",
            "A(_..10)\nB(0..N, (- 1)..*)\nN\n",
        ),
        ("REAL A(N, *)", "A REAL(_..N, _..*)\nN\n"),
        (
            "PARAMETER (PI = 3.14, N = 2*3)",
            "PI = 3.14\nN = (mul 2 3)\n",
        ),
        ("EXTERNAL F, G", "F external\nG external\n"),
        ("INTRINSIC SIN", "SIN\n"),
        ("COMMON A, B(3)", "A in //\nB(_..3) in //\n"),
        (
            "COMMON /X/ A, B, /Y/ C // D",
            "A in /X/\nB in /X/\nC in /Y/\nD in //\n",
        ),
        ("SAVE A, /X/", "A saved\n"),
        ("DATA A, B /1, 2/, C /3/", "A saved\nB saved\nC saved\n"),
        ("REAL X/1.0/, Y", "X REAL saved\nY REAL\n"),
        ("NAMELIST /G/ A, B", "G group of A, B\nA\nB\n"),
        ("SQ(X) = X*X", "SQ (X) = (mul X X)\nX\n"),
        ("ZERO() = 0", "ZERO () = 0\n"),
        ("REAL SQ\nSQ(X) = X", "SQ REAL (X) = X\nX\n"),
        ("REALFUNCTIONF(10)", "FUNCTIONF REAL(_..10)\n"),
    ] {
        let units = good(&fixed(text), Some(super::Form::Fixed));
        assert_eq!(symbols(&units[0]), expected, "{text}");
        assert!(units[0].body.is_empty(), "{text}");
    }
}

/// Each specification statement, as written and as printed back.
#[test]
fn as_written() {
    table(
        &[
            ("IMPLICIT NONE", "IMPLICIT NONE"),
            (
                "IMPLICITREAL*8(A-H,O-Z)",
                "IMPLICIT DOUBLE PRECISION (A-H, O-Z)",
            ),
            (
                "IMPLICIT CHARACTER*8 (C), LOGICAL (L)",
                "IMPLICIT CHARACTER*8 (C), LOGICAL (L)",
            ),
            (
                "EQUIVALENCE (A, B(1)), (C(1:2), D)",
                "EQUIVALENCE (A, B(1)), (C(1:2), D)",
            ),
            ("SAVE", "SAVE"),
            (
                "DATA A/1.0/,B,C/2*-3,'X'/",
                "DATA A /1.0/, B, C /2*-3, 'X'/",
            ),
            ("DATA (A(I),I=1,3)/3*0/", "DATA (A(I), I = 1, 3) /3*0/"),
            (
                "DATA ((A(I,J),I=1,3),J=1,2)/6*0/",
                "DATA ((A(I, J), I = 1, 3), J = 1, 2) /6*0/",
            ),
            ("DATA A/2*4HABCD/", "DATA A /2*4HABCD/"),
            ("DATA L/T/,M/.FALSE./", "DATA L /.TRUE./, M /.FALSE./"),
            (
                "DATA Z/(1.0,2.0)/,N/Z'1F'/",
                "DATA Z /(1.0, 2.0)/, N /Z'1F'/",
            ),
            ("DATA A/N*1/", "DATA A /N*1/"),
            ("INTENT(IN) A, B", "INTENT(IN) A, B"),
        ],
        |text| body(text).trim_start().to_owned(),
    );
}

#[test]
fn data_may_follow_executable_statements() {
    let units = good(&fixed("X = 1\nDATA A /1/"), None);
    assert_eq!(units[0].specs.len(), 1);
}

#[test]
fn conflicts() {
    table(
        &[
            (
                "REAL X\nINTEGER X",
                "2:15-2:16 F0102 X is declared REAL and INTEGER\n  1:12: first mentioned here\n",
            ),
            (
                "REAL X(3)\nDIMENSION X(4)",
                "2:17-2:18 F0102 the bounds of X are declared twice\n  1:12: first mentioned here\n",
            ),
            (
                "PARAMETER (A = 1)\nPARAMETER (A = 2)",
                "2:18-2:19 F0102 A is given a value twice\n  1:18: first mentioned here\n",
            ),
            (
                "COMMON A, A",
                "1:17-1:18 F0102 A is in a COMMON block twice\n  1:14: first mentioned here\n",
            ),
            (
                "COMMON A\nPARAMETER (A = 1)",
                "2:18-2:19 F0102 A is in a COMMON block and cannot be a constant\n  1:14: first mentioned here\n",
            ),
            (
                "F(X) = X\nF(Y) = Y",
                "2:7-2:8 F0102 F is defined twice\n  1:7: first mentioned here\n",
            ),
            (
                "F(X, X) = X",
                "1:12-1:13 F0102 the argument X is listed twice\n  1:9: first mentioned here\n",
            ),
            (
                "SUBROUTINE S(A, A)",
                "1:23-1:24 F0102 the argument A is listed twice\n  1:20: first here\n",
            ),
            (
                "SUBROUTINE S(A)\nCOMMON A",
                "2:14-2:15 F0102 A is a dummy argument and cannot be in COMMON\n  1:20: first mentioned here\n",
            ),
        ],
        |text| errors(&fixed(text)),
    );
    // Declaring the same type twice does no harm.
    assert_eq!(errors(&fixed("REAL X\nREAL X")), "");
}

#[test]
fn errors_in_declarations() {
    table(
        &[
            (
                "REAL",
                "1:11-1:11 F0001 expected a name, found the end of the statement\n",
            ),
            (
                "REAL X,",
                "1:14-1:14 F0001 expected a name, found the end of the statement\n",
            ),
            (
                "REAL X Y(",
                "1:16-1:16 F0001 expected an expression, found the end of the statement\n",
            ),
            ("REAL*3 X", "1:7-1:13 F0008 there is no REAL of 3 bytes\n"),
            (
                "REAL X, Y(1) = 1",
                "1:20-1:21 F0001 expected `,` or the end of the statement, found `=`\n  help: an initial value takes `::` before the names\n",
            ),
            (
                "DIMENSION A",
                "1:18-1:18 F0001 expected `(`, found the end of the statement\n",
            ),
            ("PARAMETER (A)", "1:19-1:20 F0001 expected `=`, found `)`\n"),
            (
                "IMPLICIT REAL (AB)",
                "1:22-1:24 F0001 expected a letter, found `AB`\n",
            ),
            (
                "IMPLICIT REAL (Z-A)",
                "1:22-1:25 F0001 the letters are in the wrong order\n",
            ),
            (
                "COMMON /A B",
                "1:18-1:18 F0001 expected `/`, found the end of the statement\n",
            ),
            (
                "DATA A 1",
                "1:15-1:15 F0001 expected `/`, found the end of the statement\n",
            ),
            (
                "DATA A /1, /",
                "1:18-1:19 F0001 expected a constant, found `/`\n",
            ),
            (
                "EQUIVALENCE A, B",
                "1:19-1:20 F0001 expected `(`, found `A`\n",
            ),
        ],
        |text| errors(&fixed(text)),
    );
}

#[test]
fn specifications_come_first() {
    assert_eq!(
        errors(&fixed("X = 1\nREAL Y")),
        "2:7-2:13 F0007 a specification statement may not follow executable statements\n  help: move it to the top of the program unit\n"
    );
}
