//! Tests that no text makes the parser panic, hang or report wrong places, and that a text read
//! without errors prints as text that reads back unchanged.

use super::units::LISTING_7;
use super::{Form, read};
use crate::print::{self, Options, print_program};
use proptest::prelude::*;

const SAMPLE: &str = "\
C     A bit of everything
      REAL*8 FUNCTION NORM2(X, N, *)
      IMPLICIT REAL*8 (A-H, O-Z), INTEGER*2(I-N)
      PARAMETER (PI = 3.14159D0, TWO = 2)
      DIMENSION X(N), W(0:10, -1:1)
      CHARACTER*8 NAME*4, TITLE(3)*10, C*(*)
      COMMON /BLK/ A, B(10) /BLK2/ Q // R, S
      EQUIVALENCE (A, Z), (B(1), Y)
      SAVE
      LOGICAL L1, L2
      DATA A, (B(I), I=1,10) /1.0, 10*0.0/, NAME /4HABCD/
      SQ(T) = T*T
C     first
      L1 = 1.EQ.2.OR..NOT.L2.AND.(X(1).LT.1.E2)
      DO 10 I = 1, N
      DO 10 J = 1, 3
         IF (X(I)) 20, 40, 40
   20    W(I,J) = -X(I)**2**J + .5*3.
   10 CONTINUE
      DO10I=1.3
   30 FORMAT(1X, 'IT''S', 3HABC, I5/ (F10.3))
   40 READ (5, 100, END=20, ERR=40) (A, (W(K,J), J=1,2), K=1,5)
  100 FORMAT(A)
      WRITE(6,*) 'X = ', X(1), (1.0, -2.0)
      IF (L1) GOTO (10, 20), I
      IF (L1) THEN
        CALL FOO(*10, X, 3HABC)
      ELSE IF (L2) THEN
        GO TO 20
      ELSEIF(L1)THEN
        ASSIGN 10 TO LAB
      ELSE
        GOTO LAB, (10, 20)
      ENDIF
      OPEN(UNIT=10, FILE='X.DAT', STATUS='OLD', ERR=20)
      NAME(2:3) = 'A' // 'B'
      PRINT 100, NAME
      RETURN 1
      ENTRY NORM3(X, N)
      ADF((TANGENT(X(I)) = 1.0, I=1,N), TANGENT(Y) = 0)
      ADF(I) = 3
      DO WHILE (L1)
        Y = Y + 1; Z = Z
     1 + 2
      END DO
      ENDADF(YP=TANGENT(Y),(G(I)=TANGENT(X(I)),I=1,N))
      STOP 'DONE'
      END
";

const NEWER: &str = "\
      RECURSIVE REAL(KIND=8) FUNCTION FACT(N, M) RESULT(F)
      IMPLICIT REAL(8) (A-C), CHARACTER(LEN=4) (D), CHARACTER (E-F)
      INTEGER, PARAMETER :: DP = KIND(1.0D0), K(2) = (/ 1, 2 /), L = K(1)
      REAL(DP), DIMENSION(0:DP), SAVE :: X = 1.5, Y(2)
      CHARACTER(LEN=*, KIND=1), INTENT(IN) :: S*8, T
      DOUBLE PRECISION :: P = 3, Q(2) = 2
      REAL, ALLOCATABLE :: A(:), B(:, :)
      ALLOCATABLE C(:)
      OPTIONAL M
      INTENT(IN OUT) M
      TARGET U(3)
      VOLATILE V
      AUTOMATIC W
      STATIC Z
      POINTER (IP, O(10)), (IQ, R)
      PARAMETER NN = 3, MM = NN + 1
      ALLOCATE (A(N), B(0:N, -1:M), STAT=IERR)
      IF (PRESENT(M)) DEALLOCATE (A, B)
      CALL G(%VAL(N), %REF(A), %LOC(B))
      F = SUM(X, DIM=1) + INDEX(S, T, BACK=.TRUE.) + %LOC(X)
      END
";

/// Parses a text in both forms, and checks the places of all errors and, if there are none, that
/// the printed text reads back unchanged.
fn check(text: &str) {
    for form in [None, Some(Form::Fixed), Some(Form::Free)] {
        let (sources, parsed) = read(text, form);
        for d in &parsed.diagnostics {
            let places = d.related.iter().map(|(s, _)| *s).chain([d.span]);
            for span in places.filter(|s| !s.is_none()) {
                let file = sources.get(span.file).expect("a file");
                assert!(span.start <= span.end, "{d:?}");
                assert!(span.end as usize <= file.text.len(), "{d:?}");
                assert!(
                    file.text.is_char_boundary(span.start as usize)
                        && file.text.is_char_boundary(span.end as usize),
                    "{d:?}"
                );
            }
        }
        if parsed.diagnostics.is_empty() {
            same_when_printed(&parsed.program);
        }
    }
}

fn same_when_printed(program: &crate::ir::Program) {
    for (print_as, read_as) in [
        (print::Form::Fixed, Form::Fixed),
        (print::Form::Free, Form::Free),
    ] {
        let options = Options {
            form: print_as,
            ..Options::default()
        };
        let first = print_program(program, &options);
        let (sources, again) = read(&first, Some(read_as));
        assert_eq!(super::describe(&sources, &again), "", "{first}");
        assert_eq!(print_program(&again.program, &options), first);
    }
}

#[test]
fn samples_print_and_read_back() {
    for text in [SAMPLE, NEWER, LISTING_7] {
        let (sources, parsed) = read(text, None);
        assert_eq!(super::describe(&sources, &parsed), "");
        same_when_printed(&parsed.program);
    }
}

/// Every text that begins or ends in the middle of the sample.
#[test]
fn cut_texts() {
    for sample in [SAMPLE, NEWER] {
        for at in (0..sample.len()).step_by(7) {
            check(&sample[..at]);
            check(&sample[at..]);
        }
    }
}

/// Pieces that have a meaning for the line reader or the parser.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "\n", "\n      ", "\n     +", "\n   10 ", "\r\n", "\t", " ", "&", "&\n", "!", ";", "'", "\"",
            "(", ")", ",", "=", "==", "/", "//", "*", "**", ".", ":", "::", "%", "$", "#", "\u{c}", "\0", "ä",
            "\u{feff}", "<", ">", "+", "-", "_",
        ]).prop_map(str::to_owned),
        4 => prop::sample::select(vec![
            "IF", "THEN", "ELSE", "END", "DO", "10", "WHILE", "ADF", "ADR", "TANGENT", "FORMAT", "REAL",
            "CHARACTER", "INTEGER*4", "FUNCTION", "SUBROUTINE", "PROGRAM", "DATA", "COMMON", "IMPLICIT",
            "PARAMETER", "READ", "WRITE", "CALL", "GOTO", "INCLUDE", "ENTRY", "EQUIVALENCE", "NAMELIST",
            "SAVE", "4HABCD", "9999H", ".EQ.", ".NOT.", ".TRUE.", "1.E5", "X", "F(X)", "RETURN", "END IF",
            "END DO", "END ADF", "BLOCK DATA", "1D0", "Z'F'", "KIND=", "%VAL(", "RESULT(", "ALLOCATE(", "POINTER (",
            ":: X = 1", "ALLOCATABLE", "OPTIONAL",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|c| c.to_string()),
        1 => "[A-Z0-9 ]{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_pieces(pieces in prop::collection::vec(piece(), 0..60)) {
        check(&pieces.concat());
    }

    #[test]
    fn random_text(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn mutated_programs(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..6usize, piece()), 1..4),
        program in prop::sample::select(vec![LISTING_7, SAMPLE, NEWER]),
    ) {
        let mut text = program.to_owned();
        for (at, remove, insert) in changes {
            let at = at.index(text.len() + 1);
            let at = (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
            let end = (at + remove).min(text.len());
            let end = (end..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(at);
            text.replace_range(at..end, &insert);
        }
        check(&text);
    }
}
