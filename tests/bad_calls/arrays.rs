//! Correct calls, and calls that would access memory outside an array, with all forms of subscripts.

use crate::calls::{fenced, wrong};
use crate::fortran::raw as f;
use farfel_runtime::Error;

/// Makes the calls.
pub fn all() {
    right();
    steps_and_allocated();
    allocated();
    let x = [1.0f64; 4];
    wrong("sumup", || f::sumup(5, &x));
    wrong("sumup huge", || f::sumup(i32::MAX, &x));
    wrong("sumup empty", || f::sumup(1, &[]));
    wrong("oldsum", || f::oldsum(5, &x));
    wrong("oldsum empty", || f::oldsum(1, &[]));
    wrong("back", || f::back(4, 1, &x));
    wrong("back below", || f::back(4, -4, &x));
    wrong("dot", || f::dot(3, &x, 2, &x, 1));
    wrong("dot back", || f::dot(3, &x, 1, &x, -2));
    wrong("dot down", || f::dot(i32::MAX, &x, -1, &x, 1));
    fenced(0.0, 9.0, 4, |x| {
        wrong("setone above", || f::setone(4, x, 5, 1.0));
        wrong("setone below", || f::setone(4, x, 0, 1.0));
        wrong("setone far", || f::setone(4, x, i32::MIN, 1.0));
        wrong("setone short", || f::setone(5, x, 1, 1.0));
        wrong("scattr", || f::scattr(2, 4, &[1, 5], &[1.0, 1.0], x));
        wrong("scattr below", || f::scattr(2, 4, &[-3, 1], &[1.0, 1.0], x));
        wrong("scalem lda", || f::scalem(4, 2, x, 2, 2.0));
        wrong("scalem zero", || f::scalem(5, 2, x, 0, 2.0));
        wrong("scalem negative", || f::scalem(9, 1, x, -3, 2.0));
        wrong("fillm", || f::fillm(2, 3, x, 2, 1.0));
        wrong("fillm lda", || f::fillm(3, 2, x, 2, 1.0));
        wrong("fillm negative", || f::fillm(5, 1, x, -7, 1.0));
        wrong("cut", || f::cut(3, x, 1));
        wrong("cut last", || f::cut(2, x, 5));
        wrong("recast", || f::recast(5, x));
        wrong("one", || f::one(5, x));
        wrong("one below", || f::one(0, x));
        wrong("square", || f::square(3, x));
        wrong("square overflow", || f::square(50_000, x));
        wrong("square wraps", || f::square(65_536, x));
        wrong("outer", || f::outer(3, 3, x));
        wrong("sectn", || f::sectn(2, 5, x));
        wrong("sectn below", || f::sectn(0, 3, x));
        wrong("solve", || {
            f::solve(3, &[1.0; 9], 3, x).and_then(|()| f::solve(5, &[1.0; 25], 5, x))
        });
        wrong("solve matrix", || f::solve(4, &[1.0; 9], 3, x));
        wrong("each", || f::each(|_, _| panic!("called"), 4, x));
    });
    fenced(0.0, 9.0, 18, |x| {
        wrong("below first", || f::below(2, x, 3, 1, 2));
        wrong("below second", || f::below(2, x, 0, -2, 1));
        wrong("below third", || f::below(2, x, 0, 0, 3));
        wrong("sect2", || f::sect2(8, 9, 1, x));
    });
    wrong("putc", || f::putc(12, 1.0));
    wrong("getc", || f::getc(0));
    wrong("getc far", || f::getc(-100));
    wrong("local", || f::local(9));
    wrong("local below", || f::local(0));
    wrong("auto", || f::auto(4, 5));
    wrong("auto none", || f::auto(-1, 1));
    wrong("seek", || f::seek(&[1.0, 2.0], 3.0));
    fenced(0, 9, 3, |l| {
        wrong("flags", || f::flags(4, &[1, 2, 3, 4], l));
        wrong("flags other", || f::flags(3, &[1, 2], l));
    });
    wrong("letter", || f::letter("ABC", 2, 4));
    wrong("letter below", || f::letter("ABC", 0, 1));
    fenced(0.0, 9.0, 3, |x| wrong("parse", || f::parse(4, x)));
    wrong("shown", || f::shown(4, &[1.0; 3]));
    wrong("note", || f::note(5, &x, &[1, 1]));
    wrong("note index", || f::note(1, &x, &[5, 1]));
    f::note(4, &x, &[1, 1]).unwrap();
    fenced(0.0, 9.0, 4, |x| {
        wrong("reread", || f::reread(5, x, &[1, 1]));
        wrong("reread index", || f::reread(1, x, &[9, 1]));
        f::reread(1, x, &[1, 1]).unwrap();
        assert_eq!(x[0], 1.0);
    });
    wrong("stmtf", || f::stmtf(3, &[1.0; 2]));
    wrong("nested", || f::nested(1, &[3], &[1.0; 2]));
    wrong("nested index", || f::nested(2, &[1], &[1.0; 2]));
    let u = [1.0; 12];
    fenced(0.0, 9.0, 9, |v| wrong("smooth", || f::smooth(&u, v, 4, 4)));
    wrong("phases", || f::phases(4, &[1.0, 2.0, -3.0], 1));
    println!(
        "phases unset: {}",
        f::phases(2, &[1.0, 2.0], 0).unwrap_err()
    );
    fenced(0.0, 9.0, 4, |z| {
        let mut y = [0.0; 3];
        wrong("store", || f::store(3, &[1.0; 2], z));
        wrong("store local", || f::store(5, &[1.0; 5], z));
        wrong("store common", || f::store(1, &[1.0; 5], &mut z[..1]));
        wrong("keeps", || f::keeps(3, &[1.0; 2], 1, &mut y, z));
        wrong("fetch", || f::keeps(2, &[1.0; 2], 4, &mut y, z));
        wrong("fetch local", || {
            f::keeps(1, &[1.0; 2], 5, &mut [0.0; 9], &mut [0.0; 12])
        });
        wrong("fetch common", || f::keeps(2, &[1.0; 2], 3, &mut y, z));
    });
    fenced(0.0, 9.0, 5, |x| {
        let mut y = [0.0; 20];
        wrong("steps", || f::steps(5, 6, x, &mut y));
        wrong("steps below", || {
            f::steps(5, -1, &mut x[..2], &mut y).and_then(|()| f::steps(5, 7, x, &mut y))
        });
        x.fill(0.0);
        f::steps(5, 5, x, &mut y).unwrap();
        assert_eq!(x, [7.0, 8.0, 7.0, 0.0, 8.0]);
        assert_eq!(y[..4], [5.0, 5.0, 5.0, 0.0]);
        f::steps(5, 4, x, &mut y).unwrap();
        assert_eq!(x, [7.0, 8.0, 7.0, 7.0, 8.0]);
    });
}

/// Sections with variable steps, and arrays that the subprogram allocates.
fn steps_and_allocated() {
    fenced(0.0, 9.0, 6, |x| {
        let mut y = [0.0; 12];
        f::anystp(2, 6, 3, 2, x, &mut y).unwrap();
        assert_eq!(x, [0.0, 8.0, 0.0, 0.0, 9.0, 0.0]);
        assert_eq!((y[3], y[9], y.iter().sum::<f32>()), (8.0, 8.0, 16.0));
        // Backwards; with a bound that is not reached; without elements, wherever these would be.
        f::anystp(6, 0, -4, 1, x, &mut y).unwrap();
        assert_eq!(x, [0.0, 7.0, 0.0, 0.0, 9.0, 8.0]);
        f::anystp(1, 99, 99, 1, x, &mut y).unwrap();
        assert_eq!(x[0], 8.0);
        f::anystp(9, 7, 1, 0, x, &mut y).unwrap();
        f::anystp(-9, -7, -1, 0, x, &mut y).unwrap();
        f::anystp(i32::MAX, i32::MIN, 2, 0, x, &mut y).unwrap();
        wrong("anystp", || f::anystp(2, 8, 3, 2, x, &mut y));
        wrong("anystp below", || f::anystp(6, -2, -4, 2, x, &mut y));
        wrong("anystp from", || f::anystp(7, 1, -1, 2, x, &mut y));
        wrong("anystp far", || {
            f::anystp(i32::MIN, i32::MAX, i32::MAX, 1, x, &mut y)
        });
        wrong("anystp more", || f::anystp(2, 6, 3, 3, x, &mut y));
        let zero = f::anystp(2, 6, 0, 2, x, &mut y);
        assert!(matches!(zero, Err(Error::ZeroStep { .. })), "{zero:?}");
        wrong("allall", || f::allall(i32::MIN, i32::MAX, x));
        wrong("allall far", || f::allall(1, i32::MAX, x));
        for k in [0, 1, 2, i64::MAX] {
            wrong("far", || f::far(-10, i64::MAX, k, x));
            wrong("far low", || f::far(i64::MIN, i64::MAX, k, x));
            wrong("far empty", || f::far(i64::MAX, i64::MIN, k, x));
            f::far(-1, -1, k, x).unwrap();
        }
        wrong("far end", || f::far(-1, i64::MAX, 0, x));
        wrong("far back", || f::far(i64::MAX, i64::MIN, -1, x));
        wrong("far jump", || f::far(i64::MAX, i64::MIN, i64::MIN, x));
    });
    fenced(0.0, 9.0, 4, |x| {
        f::heapn(4, 2, 4, x).unwrap();
        // V(2, 0) is the fourth element of V, and the second one of its second row.
        assert_eq!(x, [4.0, 5.0, 3.0 + 4.0 + 2.0, 6.0]);
        f::heapn(0, 1, 0, x).unwrap();
        assert_eq!((x[0], x[3]), (0.0, 5.0));
        wrong("heapn", || f::heapn(4, 2, 5, x));
        wrong("heapn below", || f::heapn(4, 2, -1, x));
        wrong("heapn nothing", || f::heapn(-1, 2, 0, x));
        wrong("heapn again", || f::heapn(4, 0, 1, x));
        let mut y = 0.0;
        f::heaps(1, &mut y).unwrap();
        assert_eq!(y, 6.0);
        wrong("heaps", || f::heaps(2, &mut y));
        assert_eq!(y, 5.0);
        wrong("heaps below", || f::heaps(0, &mut y));
        wrong("noheap", || f::noheap(1, &mut y));
        wrong("noheap zero", || f::noheap(0, &mut y));
        wrong("nowhol", || f::nowhol(&mut y));
        wrong("keeper", || f::keeper(4, &mut y));
        f::keeper(3, &mut y).unwrap();
        f::keeper(3, &mut y).unwrap();
        assert_eq!(y, 8.0);
    });
}

/// More of what ALLOCATE, DEALLOCATE and SAVE can do.
fn allocated() {
    wrong("heap", || f::heap(2, 3));
    wrong("heap below", || f::heap(2, 0));
    wrong("heap negative", || f::heap(-2, 1));
    assert_eq!(f::heap(2, 2), Ok(2.0));
    wrong("heap2", || f::heap2(0, 2, 2, 3, 2));
    wrong("heap2 second", || f::heap2(0, 2, 2, 0, 3));
    assert_eq!(f::heap2(0, 2, 2, 2, 2), Ok(2.0));
    wrong("maybe not", || f::maybe(0, 1));
    wrong("maybe gone", || f::maybe(2, 1));
    assert_eq!(f::maybe(1, 5), Ok(2.0));
    wrong("again twice", || f::again(2));
    wrong("again never", || f::again(0));
    wrong("handed", || f::handed(1, 6));
    wrong("handed nothing", || f::handed(0, 1));
    wrong("wholea", || f::wholea(0));
    assert_eq!(f::wholea(1), Ok(5.0));
    wrong("kept", || f::kept(0, 1));
    assert_eq!(f::kept(3, 3), Ok(3.0));
    wrong("kept above", || f::kept(0, 4));
    wrong("kept twice", || f::kept(3, 1));
    wrong("kept gone", || f::kept(-1, 1));
}

/// Correct calls of the same subprograms.
fn right() {
    let x = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(f::sumup(4, &x), Ok(10.0));
    assert_eq!(f::sumup(0, &[]), Ok(0.0));
    assert_eq!(f::oldsum(3, &x), Ok(6.0));
    assert_eq!(f::back(4, 0, &x), Ok(6.0));
    assert_eq!(f::back(3, 1, &x), Ok(6.0));
    assert_eq!(f::dot(2, &x, 2, &x, -1), Ok(1.0 * 2.0 + 3.0 * 1.0));
    let mut y = x;
    f::setone(4, &mut y, 4, 7.0).unwrap();
    assert_eq!(y, [1.0, 2.0, 3.0, 7.0]);
    f::scattr(2, 4, &[4, 1], &[5.0, 6.0], &mut y).unwrap();
    assert_eq!(y, [6.0, 2.0, 3.0, 5.0]);
    f::scalem(2, 2, &mut y, 2, 2.0).unwrap();
    assert_eq!(y, [12.0, 4.0, 6.0, 10.0]);
    // The second column of a matrix with two rows: it exists by position in storage.
    f::fillm(1, 2, &mut y, 3, 0.5).unwrap();
    assert_eq!(y, [0.5, 4.0, 6.0, 0.5]);
    let mut a = [0.0; 18];
    f::below(2, &mut a, 2, 1, 2).unwrap();
    assert_eq!(a.iter().position(|v| *v == 7.0), Some(17));
    f::below(2, &mut a, 0, -1, 1).unwrap();
    assert_eq!(a[0], 7.0);
    f::putc(10, 4.0).unwrap();
    // The element after the last one is LAST: old programs rely on that.
    f::putc(11, 4.0).unwrap();
    assert_eq!(f::getc(10), Ok(4.0));
    assert_eq!(f::local(8), Ok(8));
    assert_eq!(f::auto(5, 4), Ok(4.0));
    let mut w = [0.0; 5];
    f::cut(2, &mut w, 5).unwrap();
    assert_eq!(w, [1.0, 2.0, 1.0, 2.0, 1.0]);
    f::recast(2, &mut w[..2]).unwrap();
    assert_eq!(w[0].to_bits(), 2 << 32 | 1);
    f::one(2, &mut w).unwrap();
    assert_eq!(w[1], 3.0);
    assert_eq!(f::seek(&[1.0, 2.0], 2.0), Ok(2.0));
    let mut l = [0; 3];
    f::flags(3, &[1, -2, 3], &mut l).unwrap();
    assert_eq!(l, [1, 0, 3]);
    // flang evaluates both operands of .AND.
    if cfg!(feature = "gnu") {
        assert_eq!(f::guard(0, 0, &[]), Ok(0.0));
    }
    assert_eq!(f::guard(2, 2, &[1.0, 3.0]), Ok(6.0));
    f::square(2, &mut y).unwrap();
    assert_eq!(y[3], 1.0);
    f::outer(2, 3, &mut y).unwrap();
    assert_eq!(y, [0.5, 4.0, 5.0, 5.0]);
    f::sectn(2, 4, &mut y).unwrap();
    // Empty sections access nothing.
    f::sectn(9, 8, &mut y).unwrap();
    assert_eq!(y, [0.5, 1.0, 1.0, 1.0]);
    let mut a = [0.0; 9];
    f::sect2(2, 3, 4, &mut a).unwrap();
    assert_eq!(a, [0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 4.0, 0.0]);
    assert_eq!(f::letter("XAB", 2, 3), Ok(1));
    assert_eq!(f::letter("XAB", 9, 3), Ok(0));
    let mut r = [0.0; 3];
    f::parse(3, &mut r).unwrap();
    assert_eq!(r, [1.0, 2.0, 3.0]);
    assert_eq!(f::shown(3, &r), Ok(6.0));
    assert_eq!(f::stmtf(2, &r), Ok(3.0));
    assert_eq!(f::nested(1, &[2], &r), Ok(2));
    let u: Vec<f64> = (0..16).map(f64::from).collect();
    let mut v = [0.0; 16];
    f::smooth(&u, &mut v, 4, 4).unwrap();
    assert_eq!(v[5], 5.0);
    assert_eq!(v[10], 10.0);
    let mut b = [4.0, 6.0];
    f::solve(2, &[2.0, 0.0, 1.0, 3.0], 2, &mut b).unwrap();
    assert_eq!(b, [1.0, 2.0]);
    assert_eq!(f::phases(4, &[1.0, 2.0, -3.0, 4.0], 1), Ok(3.0 + 25.0));
    assert_eq!(f::phases(2, &[-1.0, 2.0], 0), Ok(5.0));
    assert_eq!(f::phases(0, &[], 0), Ok(0.0));
    let (mut y, mut z) = ([0.0; 3], [0.0; 4]);
    f::keeps(3, &[1.0, 2.0, 3.0], 2, &mut y, &mut z).unwrap();
    assert_eq!((y, z), ([1.0, 2.0, 0.0], [0.0, 3.0, 2.0, 0.0]));
    let mut seen = Vec::new();
    let mut y = [1.0, 2.0, 3.0];
    f::each(|_, y| seen.extend_from_slice(y), 3, &mut y).unwrap_err();
    assert!(seen.is_empty());
}
