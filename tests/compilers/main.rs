#![forbid(unsafe_code)]

mod bindings {
    farfel_runtime::include_bindings!();
}

use bindings::raw as fortran;
use farfel_runtime::{Complex, Error};

fn main() {
    let x = [1.0, 2.0, 3.0];
    assert_eq!(fortran::dot(3, &x, &[4.0, 5.0, 6.0]), Ok(32.0));
    assert!(matches!(
        fortran::dot(3, &x, &x[1..]),
        Err(Error::Extent { needed: 3, got: 2, .. })
    ));
    let mut gradient = [0.0; 3];
    assert_eq!(fortran::cost_gradient(3, &x, &mut gradient), Ok(36.0));
    assert_eq!(gradient, [2.0, 8.0, 18.0]);

    let (mut root, mut iterations) = (1.0, 0);
    let tangent = |x: f64, xd: f64, y: &mut f64, yd: &mut f64| {
        (*y, *yd) = (x * x - 2.0, 2.0 * x * xd);
    };
    fortran::newton(|x| x * x - 2.0, tangent, &mut root, 1e-12, &mut iterations).unwrap();
    assert!((root - 2.0_f64.sqrt()).abs() < 1e-12);
    // A panic of a closure unwinds the Fortran code.
    std::panic::set_hook(Box::new(|_| {}));
    let unwound = std::panic::catch_unwind(|| {
        let (mut x, mut n) = (1.0, 0);
        let broken = |_: f64, _: f64, _: &mut f64, _: &mut f64| panic!("mine");
        fortran::newton(|x| x, broken, &mut x, 1e-12, &mut n)
    });
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"mine"));
    let _ = std::panic::take_hook();

    let mut value = 0.0;
    for _ in 0..3 {
        assert!(matches!(
            fortran::pick(7, 3, &x, &mut value),
            Err(Error::Bounds { line: 53, elements: 3, .. })
        ));
        assert!(matches!(
            fortran::halt(1),
            Err(Error::Stop { code: 3, line: 57, .. })
        ));
        assert!(matches!(
            fortran::openit("nowhere.dat"),
            Err(Error::Io { line: 62, .. })
        ));
    }
    assert_eq!(fortran::pick(2, 3, &x, &mut value), Ok(()));
    assert_eq!(value, 2.0);

    let (mut mean, mut any, mut name) = (0.0, false, String::new());
    let mut z = Complex::new(1.0, 2.0);
    fortran::means(2, &[1.0, 4.0], &mut mean, &mut any, &mut name, &mut z).unwrap();
    assert_eq!((mean, any, name.as_str()), (2.5, true, "mean"));
    assert_eq!(z, Complex::new(1.0, -2.0));
    assert_eq!((fortran::next(), fortran::next()), (1, 2));
    let mut to = [false; 3];
    fortran::mark(3, &[true, false, true], &mut to).unwrap();
    assert_eq!(to, [false, true, false]);

    let (mut t, mut y, mut dy) = (0.0, [1.0, 0.0], [0.0; 2]);
    let turn = |_: i32, _: &mut f64, y: &mut [f64], dy: &mut [f64]| {
        dy[0] = y[1];
        dy[1] = -y[0];
    };
    fortran::euler(turn, 2, &mut t, &mut y, 0.5, &mut dy).unwrap();
    assert_eq!((t, y), (0.5, [1.0, -0.5]));
    println!("fine");
}
