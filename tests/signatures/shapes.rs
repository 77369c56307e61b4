#![forbid(unsafe_code)]

mod fortran {
    farfel_runtime::include_bindings!();
}

use farfel_runtime::{Array, Complex, Matrix, MatrixMut, OwnedArray};
use fortran::{F_1Return, F1Return, RootsReturn};

fn main() {
    // ENTRY points.
    let polar = fortran::polar(3.0, 4.0);
    assert_eq!((polar.r, polar.t), (5.0, 4f64.atan2(3.0)));
    let point = fortran::cartes(2.0, 0.0);
    assert_eq!((point.x, point.y), (2.0, 0.0));
    let mut y = fortran::fill(3, 2.0).unwrap();
    assert_eq!((y.clone(), fortran::sumup(&mut y)), (vec![2.0; 3], Ok(6.0)));

    // Alternate returns.
    let roots = fortran::roots(1.0, -3.0, 2.0).unwrap();
    assert_eq!((roots.returned, roots.n), (RootsReturn::Normal, 2));
    assert_eq!(roots.x, [1.0, 2.0]);
    let roots = fortran::roots(1.0, 0.0, 1.0).unwrap();
    assert_eq!((roots.returned, roots.n), (RootsReturn::Alternate1, 0));
    assert_eq!(fortran::roots(0.0, 0.0, 1.0).unwrap().returned, RootsReturn::Alternate2);
    let (one, other) = (fortran::f_1(-1), fortran::f1(1));
    assert_eq!((one.returned, one.l), (F_1Return::Alternate1, 0));
    assert_eq!((other.returned, other.l, other.m), (F1Return::Normal, 3, 4));

    // CHARACTER, LOGICAL and COMPLEX.
    let words = fortran::words("to be or not", "be").unwrap();
    assert_eq!((words.at, words.length, words.found), (4, 12, true));
    assert_eq!(words.rest.trim(), "or not");
    let words = fortran::words("to be", "no").unwrap();
    assert_eq!((words.at, words.found, words.rest.trim()), (0, false, ""));
    let mut text = *b"hello";
    fortran::shout(&mut text);
    assert_eq!(&text, b"HEY  ");
    let truths = [true, false, false, false];
    let sym = fortran::sym(Matrix::new(&truths, 2, 2).unwrap()).unwrap();
    assert_eq!((sym.value, sym.any1), (true, vec![true, false]));
    assert_eq!(sym.flip.as_slice(), [false, true, true, true]);
    let z = [Complex::new(1.0, 1.0), Complex::new(2.0, 0.0)];
    let waves = fortran::fourir(&z).unwrap();
    assert_eq!((waves.value, waves.s), (Complex::new(3.0, 1.0), Complex::new(3.0, 1.0)));
    assert!((waves.w[1] - Complex::new(-1.0, 1.0)).norm() < 1e-12);

    // A function with results on the side.
    let zero = fortran::bisect(|x| x * x - 2.0, 0.0, 2.0, 1e-10);
    assert!((zero.value - 2f64.sqrt()).abs() < 1e-10 && zero.iter > 30 && zero.ierr == 0);
    assert_eq!(fortran::bisect(|x| x, 1.0, 2.0, 1e-10).ierr, 1);

    // Bounds of all kinds.
    let mut x = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(fortran::scale(2, 10.0, &mut x, 2), Ok(()));
    assert_eq!(x, [10.0, 2.0, 30.0, 4.0]);
    assert!(fortran::scale(3, 10.0, &mut x, 2).is_err());
    let at_two = fortran::deriv(2, &[1.0, 2.0, 3.0], 2.0).unwrap();
    assert_eq!((at_two.d, at_two.v), (vec![2.0, 6.0], vec![17.0, 14.0]));
    assert!(fortran::deriv(3, &[1.0, 2.0, 3.0], 2.0).is_err());
    let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let a = Matrix::new(&data, 2, 3).unwrap();
    assert_eq!(fortran::pick(a, &[3, 1]), Ok(vec![5.0, 6.0, 1.0, 2.0]));
    assert!(fortran::pick(a, &[4]).is_err());
    let centre = fortran::centre(Matrix::new(&[0.0, 0.0, 2.0, 4.0], 2, 2).unwrap()).unwrap();
    assert_eq!((centre.c, centre.q.column(1)), (vec![1.0, 2.0], &[1.0, 2.0][..]));
    let three = [0.0; 6];
    assert!(fortran::centre(Matrix::new(&three, 3, 2).unwrap()).is_err());
    assert_eq!(fortran::outer(&[1.0, 2.0], &[3.0, 4.0, 5.0]).unwrap().column(2), [5.0, 10.0]);

    // A driver: what the subprogram that it calls sets is its result.
    let smooth = fortran::smooth(&[3.0, 6.0, 9.0], 6).unwrap();
    assert_eq!((smooth.y, smooth.iwork), (vec![4.0, 6.0, 8.0], vec![1, 1, 2]));
    assert!(fortran::smooth(&[3.0, 6.0, 9.0], 5).is_err());

    // Names.
    let names = fortran::r#match(&[1.5, 2.5]).unwrap();
    assert_eq!((names.r#move, names.r#impl), (vec![1, 2], 3));
    assert_eq!((names.super_, names.crate_), (4, 5));
    assert_eq!(fortran::self_(5), 5);
    let tried = fortran::r#try(&[7, 8]).unwrap();
    assert_eq!((tried.value_, tried.value, tried.r#dyn[(1, 1)]), (2, 7, 1));
    let output = fortran::output(&[1, 2]).unwrap();
    assert_eq!((output.core, output.farfel_value_, output.farfel), (vec![1, 2], 2, 2));
    let raw = fortran::raw();
    assert_eq!((raw.raw1, raw.main), (1.0, 2));

    assert_eq!(fortran::a__b(&[3, 4]), Ok(3));

    // Small and large integers, nothing given, loops that are left.
    let small = fortran::small(5).unwrap();
    assert_eq!((small.b, small.l1, small.h, small.i8), (1, true, vec![5, 5, 5], 1 << 40));
    let machine = fortran::machin();
    assert_eq!((machine.eps, machine.pi), (f64::EPSILON, std::f64::consts::PI));
    let mut primes = [0; 10];
    assert_eq!(fortran::primes(&mut primes), Ok(4));
    assert_eq!(primes[..5], [2, 3, 5, 7, 0]);
    let search = fortran::search(&[1.0, 2.0, 3.0], 1.5).unwrap();
    assert_eq!((search.k, search.b), (2, vec![true, false, false]));
    assert_eq!(fortran::search(&[], 1.5).unwrap().k, 1);
    let (one, two) = (fortran::random(), fortran::random());
    assert!(one.last != two.last && two.value < 1.0);
    let mut a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let upper = MatrixMut::with_leading_dimension(&mut a, 2, 2, 3).unwrap();
    assert_eq!(fortran::transp(2, upper), Ok(()));
    assert_eq!(a, [1.0, 4.0, 3.0, 2.0, 5.0, 6.0]);

    // Three dimensions.
    let data: Vec<f64> = (0..24).map(f64::from).collect();
    let a = Array::new(&data, [2, 3, 4]).unwrap();
    let mut b = OwnedArray::new(vec![1.0; 12], [4, 3, 1]).unwrap();
    let cube = fortran::cube(a, b.view_mut()).unwrap();
    assert_eq!((b[[0, 0, 0]], b[[1, 0, 0]]), (5.0, 1.0));
    assert_eq!((cube.s.column(0), cube.s.column(2)), (&[36.0, 40.0][..], &[52.0, 56.0][..]));
    assert_eq!(cube.c.extents(), [3, 3, 4]);
    assert_eq!((cube.c[[0, 1, 1]], cube.c[[2, 1, 3]]), (0.0, 2.0 * a[[1, 1, 3]]));
    let mut short = OwnedArray::new(vec![1.0; 8], [4, 2, 1]).unwrap();
    assert_eq!(
        fortran::cube(a, short.view_mut()).unwrap_err().to_string(),
        "cube: argument `b` has 2 elements in dimension 2, and must have 3, as `a` has"
    );
    println!("fine");
}
