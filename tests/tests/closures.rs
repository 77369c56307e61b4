//! Procedures that Rust passes to Fortran subprograms.

use crate::support::Project;

const SOURCE: &str = "\
C     A zero of F, by secants.
      DOUBLE PRECISION FUNCTION ZERO(F, A, B, N)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      EXTERNAL F
        FUNCTION STEEP(X, Y)
        STEEP = (F(Y) - F(X))/(Y - X)
        END
      X = A
      Y = B
      DO 10 I = 1, N
        IF (ABS(F(Y)) .LT. 1D-14) GOTO 20
        Z = Y - F(Y)/STEEP(X, Y)
        X = Y
   10   Y = Z
   20 ZERO = Y
      END

C     Handed on, and an array that is as long as the slice.
      SUBROUTINE EULER(RHS, N, T, H, M, Y, DY)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(*), DY(N)
      DO 10 K = 1, M
        CALL RATES(RHS, N, T + (K - 1)*H, Y, DY)
        DO 10 I = 1, N
   10   Y(I) = Y(I) + H*DY(I)
      END
      SUBROUTINE RATES(RHS, L, T, Y, DY)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DOUBLE PRECISION, INTENT(IN) :: Y(*)
      DIMENSION DY(L), Z(2)
      CALL RHS(L, T, Y, DY, Z)
      DY(1) = DY(1) + Z(2)
      END

C     All types, and several procedures.
      SUBROUTINE KINDS(Q, Z, I, MORE, SETS, RESULT)
      LOGICAL Q, FLAG
      COMPLEX*16 Z, W
      INTEGER*8 I
      REAL RESULT
      EXTERNAL Q, Z, I, MORE, SETS
      W = Z((1D0, 2D0), 2.5)
      FLAG = Q(W .EQ. (2.5D0, 5D0), I(3))
      RESULT = 1
      CALL SETS(FLAG, RESULT, I(4) + 1, .NOT. FLAG)
      IF (FLAG) RESULT = RESULT + MORE(RESULT)
      END

      SUBROUTINE TWICE(P, X, N)
      DIMENSION X(N)
      CALL P(X, X)
      END
C     A size that is two: nobody may assign it.
      SUBROUTINE SIZES(P, A, N, M)
      DIMENSION A(*)
      CALL P(A, N, M)
      CALL P(A, N, N)
      END

C     A panic leaves it in the middle; what is in COMMON stays.
      SUBROUTINE COUNTS(P, N)
      COMMON /STATE/ M
      M = 0
      DO 10 I = 1, N
        CALL P(I)
        IF (I .EQ. 5) STOP 'five'
   10   M = M + 1
      END
      INTEGER FUNCTION COUNT()
      COMMON /STATE/ M
      COUNT = M
      END

C     A known procedure beside a closure.
      DOUBLE PRECISION FUNCTION HALF()
      DOUBLE PRECISION ZERO
        DOUBLE PRECISION FUNCTION LINE(X)
        DOUBLE PRECISION X
        LINE = 2*X - 1
        END
      HALF = ZERO(LINE, 0D0, 3D0, 9)
      END

C     A nested subprogram that uses a closure, passed on: where F is C.
      DOUBLE PRECISION FUNCTION WHERE(F, C)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      EXTERNAL F
        FUNCTION G(X)
        G = F(X) - C
        END
      WHERE = ZERO(G, 1D0, 2D0, 50)
      END
C     Which procedure it is, is known at run time only.
      DOUBLE PRECISION FUNCTION EITHER(F, G, N)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      EXTERNAL F, G
      IF (MOD(N, 2) .EQ. 0) THEN
        EITHER = ZERO(F, 0D0, 3D0, 9)
      ELSE
        EITHER = ZERO(G, 0D0, 3D0, 9)
      END IF
      END

      SUBROUTINE UNUSED(F, X, G)
      EXTERNAL F, G
      CALL UNUSE2(G, X)
      END
      SUBROUTINE UNUSE2(F, X)
      DOUBLE PRECISION F
      EXTERNAL F
      X = 3
      END
      SUBROUTINE LENT(F, G, Z)
      COMPLEX Z(2)
      EXTERNAL F, G
      CALL F(G, Z)
      END
      SUBROUTINE FOLLOW(F, G, X, N, SOLVE)
      DOUBLE PRECISION X(N)
      EXTERNAL F, G, SOLVE
      CALL SOLVE(F, G, N, X)
      CALL SOLVE(F, G, 1, X)
      END
      SUBROUTINE DENSE(F, G, N, X)
      DOUBLE PRECISION X(N), Y(9), G
      CALL F(N, X, Y)
      DO I = 1, N
        X(I) = X(I) - Y(I)/G(X, I)
      END DO
      END
      SUBROUTINE BANDED(F, G, N, X)
      DOUBLE PRECISION X(N), Y(9), G
      CALL F(N, X, Y)
      DO I = 1, N
        X(I) = Y(I)*G(X, I)
      END DO
      END
      SUBROUTINE DIFFER(F, SOLVE, L)
      LOGICAL L
      EXTERNAL F, SOLVE
      CALL SOLVE(F, L)
      END
      SUBROUTINE COUNTR(F, L)
      LOGICAL L
      IF (L) CALL F(1)
      END
      SUBROUTINE SCALER(F, L)
      LOGICAL L
      IF (L) CALL F(1.0)
      END
      SUBROUTINE WORDS(F)
      CALL F('A')
      END
      SUBROUTINE HIGHER(F, G)
      EXTERNAL F, G
      CALL F(G)
      CALL G
      END
      SUBROUTINE VAGUE(F, X)
      DIMENSION X(3, 3)
      CALL INNER(F, X(1, 2))
      END
      SUBROUTINE INNER(F, X)
      DIMENSION X(*)
      CALL F(X)
      END
      SUBROUTINE MIXED(F, X)
      DIMENSION X(3)
      CALL F(X)
      CALL F(X(1))
      END
      FUNCTION SLOPE(F, X)
      EXTERNAL F
      ADF(X)
      Y = F(X)
      END ADF(SLOPE = TANGENT(Y))
      END
      FUNCTION SLOPES(F, X)
      SLOPES = SLOPE(F, X)
      END
C     Only handed on, twice: with a type, without one, a subroutine.
      SUBROUTINE TYPED(F, X, Y)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F
      CALL TYPED2(F, X, Y)
      END
      SUBROUTINE TYPED2(F, X, Y)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F
      CALL TYPED3(F, X, Y)
      END
      SUBROUTINE TYPED3(F, X, Y)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F
      Y = F(X)
      END
      SUBROUTINE UNTYPD(F, X, Y)
      EXTERNAL F
      CALL UNTYP2(F, X, Y)
      END
      SUBROUTINE UNTYP2(F, X, Y)
      EXTERNAL F
      CALL UNTYP3(F, X, Y)
      END
      SUBROUTINE UNTYP3(F, X, Y)
      Y = F(X)
      END
      SUBROUTINE BYRULE(F, X, Y)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      EXTERNAL F
      CALL TYPED2(F, X, Y)
      END
      SUBROUTINE STEPS(S, X, Y)
      DOUBLE PRECISION X, Y
      EXTERNAL S
      CALL STEP(S, X, Y)
      END
      SUBROUTINE STEP(S, X, Y)
      DOUBLE PRECISION X, Y
      EXTERNAL S
      CALL S(X, Y)
      END
C     Procedures that get procedures, through several levels.
      SUBROUTINE PRECON(F, JAC, Q, W, N)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION W(*)
      LOGICAL Q
      EXTERNAL F, JAC, Q
      CALL PRECO2(JAC, Q, F, N, W, W(N + 1))
      END
      SUBROUTINE PRECO2(P, Q, F, N, A, B)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION A(N), B(*)
      LOGICAL DONE, Q
      EXTERNAL P, F, Q
      DONE = .FALSE.
      CALL F(N*1, (A), B, DONE)
      IF (.NOT. Q(B(1)) .AND. DONE) CALL P(F, Q, B)
      END
      SUBROUTINE OURS(F)
      EXTERNAL F, COUNTS
      CALL F(COUNTS)
      END
      SUBROUTINE EVERY(F, G, H)
      EXTERNAL F, G, H
      CALL F(G)
      CALL F(H)
      CALL G
      CALL H
      END
      SUBROUTINE THIRD(F, G, H)
      EXTERNAL F, G, H
      CALL F(G)
      CALL G(H)
      CALL H
      END
      SUBROUTINE TYPES(F, X)
      CALL F(X)
      CALL F(1)
      END
C     A work array in pieces, handed on; the first piece ends where the others begin.
      SUBROUTINE PIECES(F, W, IW, N)
      DOUBLE PRECISION W(*)
      INTEGER IW(*)
      EXTERNAL F
      CALL PIECE2(F, W(N + 1), IW(2), W, W(2*N + 1), N)
      CALL F(W, IW(3), W(2), W(4))
      END
      SUBROUTINE PIECE2(F, B, IB, A, C, N)
      DOUBLE PRECISION A(*), B(N), C(*)
      INTEGER IB(1)
      CALL F(A, IB, B, C)
      END
      SUBROUTINE WHOLE(F, X, N)
      DIMENSION X(*)
      CALL WHOLE2(F, X(2), N)
      END
      SUBROUTINE WHOLE2(F, X, N)
      DIMENSION X(N)
      CALL F(X)
      END
C     Loops that count pass one by one; what begins behind the end is empty.
      SUBROUTINE EACH(F, G, X, N)
      DIMENSION X(*)
      DO 10 I = 1, N
   10 CALL F(X(I))
      CALL G(X(N + 1))
      END
C     Variables of the program, which a further call reaches, too.
      SUBROUTINE TICKS(F, N)
      COMMON /CLOCK/ T, W(3), Q(2)
      DOUBLE PRECISION T, W
      LOGICAL Q
      CALL TICK(F, N, W(2), Q)
      END
      SUBROUTINE TICK(F, N, V, Q)
      COMMON /CLOCK/ T
      DOUBLE PRECISION T, V(2)
      LOGICAL Q(2)
      DO 10 I = 1, N
   10 CALL F(T, V, Q)
      END
      SUBROUTINE SETCLK(S)
      COMMON /CLOCK/ T, W(3), Q(2)
      DOUBLE PRECISION T, W, S
      LOGICAL Q
      T = S
      W(2) = S + 1
      Q(1) = .TRUE.
      END
      SUBROUTINE GETCLK(S, V, Q)
      COMMON /CLOCK/ T, W(3), P(2)
      DOUBLE PRECISION T, W, S, V(3)
      LOGICAL Q, P
      S = T
      V(1) = W(1)
      V(2) = W(2)
      V(3) = W(3)
      Q = P(1) .AND. P(2)
      END
C     Sections, LOGICAL arrays, columns, COMMON.
      SUBROUTINE SHAPES(F, G, Q, A, LDA, N)
      LOGICAL Q(N)
      DIMENSION A(LDA, N)
      COMMON /POOL/ P(3), R(5)
      DO 10 I = 1, 3
   10 P(I) = I
      CALL F(A(2:N, 1), Q, P(2))
      DO 20 J = 1, N
   20 CALL G(A(1, J))
      END
";

// `unsafe` in generated bindings does not count as the crate's own.
const MAIN: &str = r#"
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as fortran;
use farfel_runtime::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, set_hook};

fn main() {
    // What it sees around it, and calls in calls.
    let mut calls = 0;
    let root = fortran::zero(
        |x| {
            calls += 1;
            let two = fortran::zero(|y| y * y - 4.0, 1.0, 3.0, 50);
            assert!((two - 2.0).abs() < 1e-12);
            assert_eq!(fortran::half(), 0.5);
            x * x - two
        },
        1.0,
        2.0,
        50,
    );
    assert!((root - 2f64.sqrt()).abs() < 1e-12);
    assert!(calls > 10);
    let half = fortran::zero(f64::cos, 1.5, 1.6, 50);
    assert!((half - std::f64::consts::FRAC_PI_2).abs() < 1e-12);

    let root = fortran::r#where(|x| x * x, 2.0);
    assert!((root - 2f64.sqrt()).abs() < 1e-12);
    let either = |n| fortran::either(|x| x - 1.0, |x| x - 2.0, n);
    assert_eq!((either(0), either(1)), (1.0, 2.0));

    // Slices.
    let mut y = [1.0, 0.0, 7.0];
    let mut times = Vec::new();
    let rhs = |n: i32, t: &mut f64, y: &[f64], dy: &mut [f64], z: &mut [f64]| {
        assert_eq!((n, y.len(), dy.len(), z.len()), (2, 3, 2, 2));
        times.push(*t);
        (dy[0], dy[1]) = (y[1], -y[0]);
        z.fill(0.5);
    };
    fortran::euler(rhs, 2, 10.0, 0.25, 2, &mut y, &mut [0.0; 2]).unwrap();
    assert_eq!(times, [10.0, 10.25]);
    // (1, 0) + h (0.5, -1) = (1.125, -0.25); + h (0.25, -1.125)
    assert_eq!(y, [1.1875, -0.53125, 7.0]);

    let mut result = 0.0f32;
    let mut asked = Vec::new();
    fortran::kinds(
        |right, i| {
            asked.push((right, i));
            true
        },
        |z, r| z * f64::from(r),
        |i| i64::from(i) << 40,
        |r| (r * 10.0) as i32,
        |flag, r, i, not| {
            assert_eq!((*flag, *r, i, not), (true, 1.0, (4 << 40) + 1, false));
            *flag = !not;
            *r = 0.5;
        },
        &mut result,
    );
    assert_eq!(asked, [(true, 3 << 40)]);
    assert_eq!(result, 5.5);

    // Only handed on.
    let mut y = 0.0;
    fortran::typed(|x| 2.0 * x, 3.0, &mut y);
    assert_eq!(y, 6.0);
    fortran::byrule(|x| x - 1.0, 3.0, &mut y);
    assert_eq!(y, 2.0);
    let mut single = 0.0f32;
    fortran::untypd(|x| x + 0.5, 3.0, &mut single);
    assert_eq!(single, 3.5);
    let mut x = 3.0;
    fortran::steps(|x, y| *y = 4.0 * *x, &mut x, &mut y);
    assert_eq!(y, 12.0);

    let mut sizes = Vec::new();
    fortran::sizes(|_: &mut [f32], n: i32, m: i32| sizes.push((n, m)), &mut [0.0], &mut 2, &mut 3);
    assert_eq!(sizes, [(2, 3), (2, 2)]);
    // Arrays here and parts there.
    let mut seen = Vec::new();
    fortran::mixed(|x| { seen.push(x.len()); x[0] += 1.0; }, &mut [0.0; 3]).unwrap();
    assert_eq!(seen, [3, 3]);
    let mut w: Vec<f64> = (1..=7).map(f64::from).collect();
    let mut seen = Vec::new();
    let pieces = |a: &mut [f64], i: &mut [i32], b: &mut [f64], c: &mut [f64]| {
        seen.push(([a.len(), i.len(), b.len(), c.len()], [a[0], b[0], c[0]]));
        i[0] += 1;
        c[0] *= 10.0;
    };
    let mut iw = [0; 5];
    fortran::pieces(pieces, &mut w, &mut iw, 2).unwrap();
    assert_eq!(seen, [([2, 4, 2, 3], [1.0, 3.0, 5.0]), ([1, 3, 2, 4], [1.0, 2.0, 4.0])]);
    assert_eq!((iw, w[3], w[4]), ([0, 1, 1, 0, 0], 40.0, 50.0));
    // With N = 1 the second piece of the first call is one long, with 0 it begins where the first does.
    let lengths = |n| {
        let mut seen = Vec::new();
        let run = || fortran::pieces(|a, _, b, c| seen.push([a.len(), b.len(), c.len()]), &mut [0.0; 7], &mut [0; 5], n);
        let ended = catch_unwind(AssertUnwindSafe(run));
        (ended.map(|e| e.is_ok()).ok(), seen)
    };
    assert_eq!(lengths(1), (Some(true), vec![[1, 1, 5], [1, 2, 4]]));
    assert_eq!(lengths(3), (Some(true), vec![[3, 3, 1], [1, 2, 4]]));
    // B(N) is longer than what is left.
    assert_eq!(lengths(5), (Some(false), vec![]));
    let mut seen = Vec::new();
    fortran::whole(|x| seen.push(x.len()), &mut [0.0; 5], 3).unwrap();
    assert!(fortran::whole(|x| seen.push(x.len()), &mut [0.0; 5], 5).is_err());
    assert_eq!(seen, [3]);
    let mut sum = 0.0;
    let mut rest = Vec::new();
    for n in [3, 2] {
        fortran::each(|x| sum += *x, |x| rest.push(x.len()), &mut [1.0, 2.0, 4.0], n).unwrap();
    }
    assert_eq!((sum, &*rest), (10.0, &[0, 1][..]));
    let Err(Error::Bounds { reference, subscripts, .. }) =
        fortran::each(|x| sum += *x, |_| panic!("called"), &mut [1.0; 3], 4)
    else {
        panic!("no error");
    };
    assert_eq!((&*reference, &*subscripts), ("X(I)", &[4][..]));
    let mut a: Vec<f32> = (1..=6).map(|i| i as f32).collect();
    let mut q = [true, false];
    let mut columns = Vec::new();
    fortran::shapes(
        |s, q, p| {
            assert_eq!((&*s, &*q, &*p), (&[2.0][..], &[true, false][..], &[2.0, 3.0][..]));
            s[0] = 9.0;
            q[1] = true;
        },
        |c| columns.push(c.to_vec()),
        &mut q, &mut a, 3, 2,
    )
    .unwrap();
    assert_eq!(columns, [vec![1.0, 9.0, 3.0, 4.0, 5.0, 6.0], vec![4.0, 5.0, 6.0]]);
    assert_eq!(q, [true, true]);

    let mut single = 0.0f32;
    fortran::unused(&mut single);
    assert_eq!(single, 3.0);
    // What gets procedures.
    let (mut inner, mut outer) = (0, 0);
    fortran::higher(|g| { g(); outer += 1; g() }, || inner += 1);
    assert_eq!((inner, outer), (3, 1));
    let mut w = [1.0, 2.0, 3.0, 4.0, 5.0];
    let mut lengths = Vec::new();
    let mut asked = Vec::new();
    let result = fortran::precon(
        |n, a, b, done| {
            lengths.push((n, a.len(), b.len()));
            for (a, b) in a.iter().zip(b) {
                *b += 10.0 * a;
            }
            *done = true;
        },
        |f, q, b| {
            assert_eq!(b, [13.0, 24.0, 5.0]);
            assert!(q(7.0) && !q(b[0]));
            let mut done = false;
            f(9, &[1.0], b, &mut done);
            assert!(done);
        },
        |x| { asked.push(x); x == 7.0 },
        &mut w, 2,
    );
    result.unwrap();
    assert_eq!(lengths, [(2, 2, 3), (9, 1, 3)]);
    assert_eq!(asked, [13.0, 7.0, 13.0]);
    assert_eq!(w, [1.0, 2.0, 23.0, 24.0, 5.0]);

    // From a call in a call, each finds its own.
    let mut seen = Vec::new();
    fortran::higher(
        |outer| {
            let mut text = String::from("inner");
            fortran::higher(
                |inner| { inner(); outer(); inner() },
                || { text += "+"; },
            );
            outer();
            let nested = catch_unwind(AssertUnwindSafe(|| {
                fortran::higher(|_| { outer(); panic_any(1) }, || panic!("called"));
            }));
            assert!(nested.is_err());
            outer();
            assert_eq!(text, "inner+++");
        },
        || seen.push("outer"),
    );
    assert_eq!(seen, ["outer"; 5]);

    // Panics go through, with what was thrown, and leave all in order.
    set_hook(Box::new(|_| {}));
    let mut x = [1.0];
    let twice = |a: &mut [f32], b: &mut [f32]| a.copy_from_slice(b);
    let twice = catch_unwind(AssertUnwindSafe(|| fortran::twice(twice, &mut x, 1)));
    let message = twice.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*message, "twice: the Fortran code passes one variable twice to `p`");
    let thrown = catch_unwind(|| {
        fortran::counts(|i| if i == 3 { panic_any("three") }, 9)
    });
    assert_eq!(*thrown.unwrap_err().downcast::<&str>().unwrap(), "three");
    assert_eq!(fortran::count(), 2);
    let Err(Error::Stop { message, .. }) = fortran::counts(|i| {
        // A closure that stops another call does not stop its own.
        let inner = fortran::zero(|x| x - 1.0, 0.0, 3.0, 9);
        assert_eq!((inner, fortran::count()), (1.0, i - 1));
    }, 9) else {
        panic!("no STOP");
    };
    assert_eq!(message.as_deref(), Some("five"));
    let inner = fortran::zero(|x| {
        let stopped = fortran::counts(|_| (), 9);
        assert!(stopped.is_err());
        x - 3.0
    }, 0.0, 1.0, 9);
    assert_eq!(inner, 3.0);

    // Subprograms of the program can be passed on, with the procedures that they get.
    let square = |_: i32, x: &mut [f64], y: &mut [f64]| {
        for (y, (x, square)) in y.iter_mut().zip(x.iter().zip([2.0, 3.0])) {
            *y = x * x - square;
        }
    };
    let mut x = [1.0, 2.0];
    let slope = |x: &[f64], i: i32| 2.0 * x[i as usize - 1];
    fortran::follow(square, slope, &mut x, 2, |f, g, n, x| fortran::dense(f, g, n, x).unwrap()).unwrap();
    let first = 1.5 - (1.5 * 1.5 - 2.0) / 3.0;
    assert_eq!(x, [first, 1.75]);
    fortran::follow(square, slope, &mut x, 2, |f, g, n, x| fortran::banded(f, g, n, x).unwrap()).unwrap();
    assert_eq!(x[1], (1.75 * 1.75 - 3.0) * 3.5);

    // What a closure gets of COMMON is a copy: a further call may change the block, and that stays
    // where the closure has not changed the same.
    fortran::ticks(|t, v, q| {
        fortran::setclk(7.0);
        assert_eq!((*t, &*v, &*q), (0.0, &[0.0, 0.0][..], &[false, false][..]));
        (v[1], q[1]) = (5.0, true);
    }, 1);
    let (mut t, mut w, mut q) = (0.0, [0.0; 3], false);
    fortran::getclk(&mut t, &mut w, &mut q);
    assert_eq!((t, w, q), (7.0, [0.0, 8.0, 5.0], true));
    fortran::ticks(|t, _, _| *t += 1.0, 3);
    fortran::getclk(&mut t, &mut w, &mut q);
    assert_eq!((t, w), (10.0, [0.0, 8.0, 5.0]));

    // Threads do not wait for each other, nor get each other's closures.
    std::thread::scope(|s| {
        for k in 1..=4 {
            s.spawn(move || {
                for _ in 0..200 {
                    assert_eq!(fortran::zero(|x| x - f64::from(k), 0.0, 9.0, 9), f64::from(k));
                }
            });
        }
    });
    println!("fine");
}
"#;

#[test]
fn closures_stand_for_dummy_procedures() {
    let p = Project::new("closures", "closures");
    p.file("src/all.ff", SOURCE).file("src/main.rs", MAIN);
    assert_eq!(p.run(), "fine\n");
    let bindings = p.bindings();
    let ad = "it takes procedures, and there are AD blocks in it or in what it calls.";
    for expected in [
        "pub fn zero(mut f: impl FnMut(f64) -> f64, a: f64, b: f64, n: i32) -> f64 {",
        "/// `f` is called as `F(Y)`.\n",
        "mut rhs: impl FnMut(i32, &mut f64, &[f64], &mut [f64], &mut [f64]), n: i32",
        "/// `rhs` is called as `CALL RHS(L, T, Y, DY, Z)`.\n",
        "z: impl FnMut(::farfel_runtime::Complex<f64>, f32) -> ::farfel_runtime::Complex<f64>",
        "sets: impl FnMut(&mut bool, &mut f32, i64, bool), result: &mut f32)",
        "/// The procedure F is not called, and is not an argument here.\n",
        "pub fn unused(x: &mut f32) {",
        "// LENT cannot be called from Rust: its argument F is a procedure whose argument 1 is one, too, and its argument G is a procedure that only closures get.\n",
        "pub fn follow(mut f: impl FnMut(i32, &mut [f64], &mut [f64]), mut g: impl FnMut(&[f64], i32) -> f64, ",
        "/// `f` is called as `CALL F(N, X, Y)`.\n",
        // Two subprograms that could be passed for SOLVE call F differently.
        "// DIFFER cannot be called from Rust: its argument F is a procedure that only closures get.\n",
        "pub fn words(mut f: impl FnMut(&str)) {",
        "pub fn higher(mut f: impl FnMut(&mut dyn FnMut()), mut g: impl FnMut()) {",
        "pub fn precon(mut f: impl FnMut(i32, &[f64], &mut [f64], &mut bool), mut jac: impl FnMut(&mut dyn FnMut(i32, &[f64], &mut [f64], &mut bool), &mut dyn FnMut(f64) -> bool, &mut [f64]), mut q: impl FnMut(f64) -> bool, ",
        "// OURS cannot be called from Rust: its argument F is a procedure whose argument 1 is a procedure of the program.\n",
        "// EVERY cannot be called from Rust: its argument F is a procedure whose argument 1 is not always the same procedure.\n",
        "// THIRD cannot be called from Rust: its argument F is a procedure whose argument 1 is one, too, and its argument G is a procedure whose argument 1 is a third one.\n",
        "// TYPES cannot be called from Rust: its argument F is a procedure whose argument 1 is REAL here and INTEGER there.\n",
        "pub fn mixed(mut f: impl FnMut(&mut [f32]), x: &mut [f32]) -> ",
        "pub fn pieces(mut f: impl FnMut(&mut [f64], &mut [i32], &mut [f64], &mut [f64]), ",
        &format!("// SLOPE cannot be called from Rust: {ad}\n"),
        &format!("// SLOPES cannot be called from Rust: {ad}\n"),
    ] {
        assert!(bindings.contains(expected), "{expected}\n{bindings}");
    }
    // Only functions that use COMMON take the lock.
    assert_eq!(
        bindings.matches("FARFEL_LOCK.lock").count(),
        7,
        "{bindings}"
    );
}

/// An export that the settings ask for takes the derivatives of its procedures, too.
#[test]
fn derivatives_are_arguments_of_requested_exports() {
    let p = Project::new("slopes", "slopes");
    p.append(
        "Cargo.toml",
        "[package.metadata.farfel]\nexports = ['slopes', 'newton', 'gradient', 'roots', 'curve']\n",
    );
    p.file("src/all.ff", SOURCE).file("src/more.ff", UNEDITED);
    p.file("src/main.rs", MAIN_UNEDITED);
    assert_eq!(p.run(), "fine\n");
    let bindings = p.bindings();
    for expected in [
        "pub fn slopes(mut f: impl FnMut(f32) -> f32, mut f_tangent: impl FnMut(f32, f32, &mut f32, &mut f32), x: f32) -> f32 {",
        "/// `f` is called as `F(X)`.\n",
        "/// `f_tangent` is called as `CALL F_TANGENT(X, XD, Y, YD)` and computes the tangent of `f`: it sets Y and YD; Y is the value of `f`.\n",
        "pub fn gradient(n: i32, mut rhs: impl FnMut(i32, &[f64], &mut [f64]), mut rhs_adjoint: impl FnMut(i32, &[f64], &mut [f64], &[f64], &mut [f64]), x: &[f64], g: &mut [f64])",
    ] {
        assert!(bindings.contains(expected), "{expected}\n{bindings}");
    }
}

const UNEDITED: &str = "\
C     Newton's method.
      SUBROUTINE NEWTON(F, X, TOL, ITER)
      DOUBLE PRECISION F, X, TOL, Y, YPRIME
      EXTERNAL F
      DO 10 ITER = 1, 50
      ADF(X)
      Y = F(X)
      END ADF(YPRIME = TANGENT(Y))
      IF (ABS(Y) .LT. TOL) RETURN
   10 X = X - Y/YPRIME
      END
      DOUBLE PRECISION FUNCTION ROOTS(C)
      DOUBLE PRECISION C, X
        DOUBLE PRECISION FUNCTION SQUARE(T)
        DOUBLE PRECISION T
        SQUARE = T*T - C
        END
      X = 2
      CALL NEWTON(SQUARE, X, 1D-12, I)
      ROOTS = X
      END
      SUBROUTINE GRADIENT(N, RHS, X, G)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION X(N), G(N)
      ADR(S)
      CALL TOTAL(RHS, N, X, S)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE TOTAL(F, N, X, S)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION X(N), Y(N)
      DOUBLE PRECISION, INTENT(IN) :: X
      S = 0
      CALL F(N, X, Y)
      DO I = 1, N
        S = S + X(I)*Y(I)
      END DO
      END
C     A derivative of a derivative.
      SUBROUTINE CURVE(F, X, E)
      DOUBLE PRECISION F, X, Y, D, E
      EXTERNAL F
      ADF(X)
      ADF(X)
      Y = F(X)
      END ADF(D = TANGENT(Y))
      END ADF(E = TANGENT(D))
      END
";

const MAIN_UNEDITED: &str = r#"
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as fortran;

fn main() {
    let a = 2.0;
    let (mut x, mut iterations) = (1.0, 0);
    fortran::newton(
        |x| x * x - a,
        |x, xd, y, yd| (*y, *yd) = (x * x - a, 2.0 * x * xd),
        &mut x, 1e-13, &mut iterations,
    );
    assert!((x - a.sqrt()).abs() < 1e-12);
    assert!((fortran::roots(9.0) - 3.0).abs() < 1e-12);
    let slope = fortran::slopes(|x| x * x, |x, xd, y, yd| (*y, *yd) = (x * x, 2.0 * x * xd), 3.0);
    assert_eq!(slope, 6.0);
    let mut g = [0.0; 2];
    fortran::gradient(
        2,
        |_, x, y| (y[0], y[1]) = (x[0] * x[1], 3.0 * x[0]),
        |_, x, xb, _, yb| {
            xb[0] += x[1] * yb[0] + 3.0 * yb[1];
            xb[1] += x[0] * yb[0];
            yb.fill(0.0);
        },
        &[2.0, 5.0], &mut g,
    )
    .unwrap();
    // The sum is x1*x1*x2 + 3*x1*x2.
    assert_eq!(g, [2.0 * 2.0 * 5.0 + 15.0, 4.0 + 6.0]);
    let mut e = 0.0;
    fortran::curve(
        |x| x * x * x,
        |x, xd, y, yd| (*y, *yd) = (x * x * x, 3.0 * x * x * xd),
        |x, xe, xd, xde, y, ye, yd, yde| {
            (*y, *ye) = (x * x * x, 3.0 * x * x * xe);
            (*yd, *yde) = (3.0 * x * x * xd, 6.0 * x * xe * xd + 3.0 * x * x * xde);
        },
        2.0, &mut e,
    );
    assert_eq!(e, 12.0);
    println!("fine");
}
"#;

/// Closures that come with the closures that compute their derivatives.
const WITH_DERIVATIVES: &str = "\
C     Newton's method.
      SUBROUTINE NEWTON(F, FD, X, TOL, ITER)
      DOUBLE PRECISION F, X, TOL, Y, YPRIME
      EXTERNAL F, FD
!farfel: derivative(F(X), tangent = FD, in = X)
      DO 10 ITER = 1, 50
      ADF(X)
      Y = F(X)
      END ADF(YPRIME = TANGENT(Y))
      IF (ABS(Y) .LT. TOL) RETURN
   10 X = X - Y/YPRIME
      END
C     The same with procedures of the program.
      DOUBLE PRECISION FUNCTION ROOTS(C)
      DOUBLE PRECISION C, X, CUBE
      EXTERNAL CUBE, CUBE_D
        DOUBLE PRECISION FUNCTION SQUARE(T)
        DOUBLE PRECISION T
        SQUARE = T*T - C
        END
        SUBROUTINE SQUA_D(T, TD, Y, YD)
        DOUBLE PRECISION T, TD, Y, YD
        Y = T*T - C
        YD = 2*T*TD
        END
      X = 2
      CALL NEWTON(CUBE, CUBE_D, X, 1D-12, I)
      ROOTS = X
      CALL NEWTON(SQUARE, SQUA_D, X, 1D-12, I)
      ROOTS = ROOTS + 10*X
      END
      DOUBLE PRECISION FUNCTION CUBE(T)
      DOUBLE PRECISION T
      CUBE = T**3 - 8
      END
      SUBROUTINE CUBE_D(T, TD, Y, YD)
      DOUBLE PRECISION T, TD, Y, YD
      Y = T**3 - 8
      YD = 3*T**2*TD
      END

C     Handed on through two levels and in a nested function, in both modes.
      SUBROUTINE SLOPES(F, FD, FB, X, C, D, E, H)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      EXTERNAL F, FD, FB
!farfel: derivative(F(T, K), tangent = FD, adjoint = FB, in = T)
        FUNCTION SHIFTED(T)
        SHIFTED = C*F(T + C, 2)*T
        END
      ADF(X)
      Y = G(F, X) + OUTER(SHIFTED, X)
      END ADF(D = TANGENT(Y))
      ADR(Y)
      Y = G(F, X) + OUTER(SHIFTED, X)
      END ADR(E = COTANGENT(X), H = COTANGENT(C))
      END
      DOUBLE PRECISION FUNCTION G(H, X)
      DOUBLE PRECISION H, X, OTHER
      G = OTHER(H, X*X)
      DO I = 1, 3
        G = G*H(X*I, I)
      END DO
      END
      DOUBLE PRECISION FUNCTION OTHER(P, X)
      DOUBLE PRECISION P, X
      OTHER = P(X, 1)*X
      END
      DOUBLE PRECISION FUNCTION OUTER(Q, X)
      DOUBLE PRECISION Q, X
      OUTER = Q(X)**2 + Q(2*X)
      END

C     Euler's method, and the gradient of the sum of squares at its end.
      SUBROUTINE EULER(RHS, N, P, Y, H, M, S)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(N), P(*), DY(N)
      EXTERNAL RHS
      S = 0
      DO K = 1, M
        CALL RHS(N, (K - 1)*H, Y, P, DY)
        DO I = 1, N
          Y(I) = Y(I) + H*DY(I)
        END DO
      END DO
      DO I = 1, N
        S = S + Y(I)**2
      END DO
      END
      SUBROUTINE EULERG(RHS, RHS_B, N, P, Y, H, M, G, GP)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(N), P(2), G(N), GP(2)
      EXTERNAL RHS, RHS_B
!farfel: derivative(RHS(N, T, Y, P, DY), adjoint = RHS_B, in = (Y, P), out = DY)
      ADR(S)
      CALL EULER(RHS, N, P, Y, H, M, S)
      END ADR(G = COTANGENT(Y), GP = COTANGENT(P))
      END

C     A derivative of a derivative.
      SUBROUTINE TWICE(F, FD, FDD, X, D, E)
      DOUBLE PRECISION X, Y, D, E, F
      EXTERNAL F, FD, FDD
!farfel: derivative(F(X), tangent = FD, in = X)
!farfel: derivative(FD(X, XD, Y, YD), tangent = FDD, in = (X, XD), out = (Y, YD))
      ADF(X)
      ADF(X)
      Y = F(X)*X
      END ADF(D = TANGENT(Y))
      END ADF(E = TANGENT(D))
      END
";

const MAIN_WITH_DERIVATIVES: &str = r#"
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as fortran;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, set_hook};

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-8 * b.abs().max(1.0), "{a} {b}");
}

/// By central differences.
fn slope(f: impl Fn(f64) -> f64) -> f64 {
    let h = 1e-3;
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

fn main() {
    let a = 2.0;
    let mut calls = 0;
    let (mut x, mut iterations) = (1.0, 0);
    fortran::newton(
        |x| x * x - a,
        |x, xd, y, yd| {
            calls += 1;
            *y = x * x - a;
            *yd = 2.0 * x * xd;
            // A call in a call.
            let (mut z, mut n) = (1.0, 0);
            fortran::newton(|z| z - 3.0, |z, zd, y, yd| (*y, *yd) = (z - 3.0, zd), &mut z, 1e-12, &mut n);
            assert_eq!((z, n), (3.0, 2));
        },
        &mut x, 1e-13, &mut iterations,
    );
    close(x, a.sqrt());
    assert!((4..10).contains(&iterations) && calls >= iterations, "{iterations} {calls}");
    close(fortran::roots(9.0), 32.0);
    // A panic goes through.
    set_hook(Box::new(|_| {}));
    let mut x = 1.0;
    let thrown = catch_unwind(AssertUnwindSafe(|| {
        fortran::newton(|x| x, |_, _, _, _| panic_any("derivative"), &mut x, 1e-13, &mut 0)
    }));
    assert_eq!(*thrown.unwrap_err().downcast::<&str>().unwrap(), "derivative");

    let p = |t: f64, k: i32| (f64::from(k) * t).sin() + t;
    let dp = |t: f64, k: i32| f64::from(k) * (f64::from(k) * t).cos() + 1.0;
    let value = |x: f64, c: f64| {
        let product: f64 = (1..=3).map(|i| p(x * f64::from(i), i)).product();
        let shifted = |t: f64| c * p(t + c, 2) * t;
        p(x * x, 1) * x * x * product + shifted(x).powi(2) + shifted(2.0 * x)
    };
    let (x, c) = (0.6, 0.3);
    let (mut d, mut e, mut h) = (0.0, 0.0, 0.0);
    fortran::slopes(
        p,
        |t, td, k, y, yd| (*y, *yd) = (p(t, k), dp(t, k) * td),
        |t, tb, k, _y, yb| {
            *tb += dp(t, k) * *yb;
            *yb = 0.0;
        },
        x, c, &mut d, &mut e, &mut h,
    );
    let by_x = slope(|s| value(x + s, c));
    close(d, by_x);
    close(e, by_x);
    close(h, slope(|s| value(x, c + s)));

    // The closures capture a parameter, which is constant.
    let omega = 0.4;
    let rhs = |_n: i32, t: f64, y: &[f64], p: &[f64], dy: &mut [f64]| {
        dy[0] = p[0] * y[0] * y[1] + t;
        dy[1] = -p[1] * y[0] + (omega * y[1]).sin();
    };
    let rhs_b = |_n: i32, _t: f64, y: &[f64], yb: &mut [f64], p: &[f64], pb: &mut [f64], _dy: &[f64], dyb: &mut [f64]| {
        assert_eq!((y.len(), yb.len(), p.len(), pb.len(), dyb.len()), (2, 2, 2, 2, 2));
        pb[0] += y[0] * y[1] * dyb[0];
        pb[1] -= y[0] * dyb[1];
        yb[0] += p[0] * y[1] * dyb[0] - p[1] * dyb[1];
        yb[1] += p[0] * y[0] * dyb[0] + omega * (omega * y[1]).cos() * dyb[1];
        dyb.fill(0.0);
    };
    let end = |y0: [f64; 2], p: [f64; 2]| {
        let (mut y, mut s) = (y0, 0.0);
        let rhs = |n: i32, t: f64, y: &mut [f64], p: &mut [f64], dy: &mut [f64]| rhs(n, t, y, p, dy);
        fortran::euler(rhs, 2, &mut p.clone(), &mut y, 0.1, 7, &mut s).unwrap();
        s
    };
    let (y0, p) = ([1.0, 0.5], [0.7, 1.3]);
    let (mut g, mut gp) = ([0.0; 2], [0.0; 2]);
    fortran::eulerg(rhs, rhs_b, 2, &p, &mut y0.clone(), 0.1, 7, &mut g, &mut gp).unwrap();
    close(g[0], slope(|s| end([y0[0] + s, y0[1]], p)));
    close(g[1], slope(|s| end([y0[0], y0[1] + s], p)));
    close(gp[0], slope(|s| end(y0, [p[0] + s, p[1]])));
    close(gp[1], slope(|s| end(y0, [p[0], p[1] + s])));

    let (mut d, mut e) = (0.0, 0.0);
    let x: f64 = 0.7;
    fortran::twice(
        f64::sin,
        |x, xd, y, yd| (*y, *yd) = (x.sin(), x.cos() * xd),
        |x, xe, xd, xde, y, ye, yd, yde| {
            (*y, *ye) = (x.sin(), x.cos() * xe);
            (*yd, *yde) = (x.cos() * xd, x.cos() * xde - x.sin() * xd * xe);
        },
        x, &mut d, &mut e,
    );
    close(d, x * x.cos() + x.sin());
    close(e, 2.0 * x.cos() - x * x.sin());
    println!("fine");
}
"#;

#[test]
fn closures_come_with_their_derivatives() {
    let p = Project::new("closures_derivatives", "closures_derivatives");
    p.file("src/all.ff", WITH_DERIVATIVES)
        .file("src/main.rs", MAIN_WITH_DERIVATIVES);
    assert_eq!(p.run(), "fine\n");
    let bindings = p.bindings();
    for expected in [
        "pub fn newton(mut f: impl FnMut(f64) -> f64, mut fd: impl FnMut(f64, f64, &mut f64, &mut f64), x: &mut f64, tol: f64, iter: &mut i32)",
        "/// `f` is called as `F(X)`.\n",
        "/// `fd` is called as `CALL FD(X, XD, Y, YD)` and computes the tangent of `f`: it sets Y and YD; Y is the value of `f`.\n",
        "/// `fb` is called as `CALL FB(T, TB, K, Y, YB)` and computes the adjoint of `f`: it adds to TB, then sets YB to zero; Y is the value of `f`.\n",
        "/// `rhs_b` is called as `CALL RHS_B(N, T, Y, YB, P, PB, DY, DYB)` and computes the adjoint of `rhs`: it adds to YB and PB, then sets DYB to zero.\n",
        "/// `fdd` is called as `CALL FDD(X, XE, XD, XDE, Y, YE, YD, YDE)` and computes the tangent of `fd`: it sets Y, YE, YD and YDE.\n",
    ] {
        assert!(bindings.contains(expected), "{expected}\n{bindings}");
    }
}

const DESCRIBED: &str = "\
C     The slopes at Y. F is a subroutine of the form
C          SUBROUTINE F (N, T, Y, DY)
C          DOUBLE PRECISION T, Y(N), DY(N)
C     where N, T, and Y are input, and the array DY is output.
      SUBROUTINE SLOPES(F, N, T, Y, DY)
      DOUBLE PRECISION T, Y(N), DY(N)
      EXTERNAL F
      CALL INNER(F, N, T, Y, DY)
      END
C     Gets F from SLOPES.
      SUBROUTINE INNER(G, N, T, Y, DY)
      DOUBLE PRECISION T, Y(N), DY(N)
      EXTERNAL G
      CALL G(N, T, Y, DY)
      END
C     The settings contradict this:
C          SUBROUTINE P (X, Y)
C     X is input.
      SUBROUTINE SWAP(P, X, Y)
      DOUBLE PRECISION X, Y
      EXTERNAL P
      CALL P(X, Y)
      END
C     Nothing is left that could be an output.
C          SUBROUTINE P (X)
C     X is input.
      SUBROUTINE UNSURE(P, X)
      DOUBLE PRECISION X
      EXTERNAL P
      CALL P(X)
      END
C     Fortran may do what it wants, whatever is said of F.
      SUBROUTINE ABUSE(T, Y, DY)
      DOUBLE PRECISION T, Y(2), DY(2)
      EXTERNAL SPOILS
      CALL SLOPES(SPOILS, 2, T, Y, DY)
      END
      SUBROUTINE SPOILS(N, T, Y, DY)
      DOUBLE PRECISION T, Y(N), DY(N)
      Y(1) = 7
      DY(1) = T
      END
";

/// Comments and settings say what closures only read.
#[test]
fn closures_get_what_they_only_read() {
    let p = Project::new("described_closures", "described_closures");
    p.append(
        "Cargo.toml",
        "[package.metadata.farfel.signature]
swap = { closures = { p = ['inout', 'inout'] } }
",
    )
    .file("fortran/described.f", DESCRIBED)
    .file(
        "src/main.rs",
        "#![forbid(unsafe_code)]
mod fortran { farfel_runtime::include_bindings!(); }
fn main() {
    let decay = |n: i32, t: f64, y: &[f64], dy: &mut [f64]| {
        for i in 0..n as usize {
            dy[i] = -t * y[i];
        }
    };
    let (y, mut dy) = ([1.0, 2.0], [0.0; 2]);
    fortran::slopes(decay, 3.0, &y, &mut dy).unwrap();
    assert_eq!(dy, [-3.0, -6.0]);
    fortran::inner(decay, 4.0, &y, &mut dy).unwrap();
    assert_eq!(dy, [-4.0, -8.0]);
    let (mut a, mut b) = (1.0, 2.0);
    fortran::swap(|x: &mut f64, y: &mut f64| std::mem::swap(x, y), &mut a, &mut b);
    assert_eq!((a, b), (2.0, 1.0));
    fortran::unsure(|x: &mut f64| *x = 5.0, &mut a);
    assert_eq!(a, 5.0);
    let mut y = y;
    fortran::abuse(6.0, &mut y, &mut dy).unwrap();
    assert_eq!((y, dy[0]), ([7.0, 2.0], 6.0));
    println!(\"fine\");
}
",
    );
    assert_eq!(p.run(), "fine\n");
}
