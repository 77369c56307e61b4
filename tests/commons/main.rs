#![deny(warnings)]
#![forbid(unsafe_code)]
//! COMMON blocks in Rust.

mod fortran {
    farfel_runtime::include_bindings!();
}
use farfel_runtime::Complex;

fn main() {
    let mut tail = 0;
    let mut params = fortran::common_params();
    assert_eq!((params.visc, params.n, params.name), (1.5, 7, *b"steel "));
    assert_eq!((params.grid, params.on.map(|on| on != 0)), ([[2.0; 2]; 3], [true, false]));
    assert_eq!((params.z, params.tail), (Complex::new(0.0, 0.0), 0));
    assert_eq!(fortran::weight(&mut tail), 1.5 * 7.0 + 200.0);

    params.visc = 0.5;
    params.n = 8;
    params.grid[2][1] = 3.0;
    params.z = Complex::new(0.0, 1.0);
    params.on[1] = 1;
    params.name = *b"tin   ";
    params.tail = -3;
    // A copy: Fortran has not seen it yet.
    assert_eq!(fortran::weight(&mut tail), 1.5 * 7.0 + 200.0);
    fortran::set_common_params(&params);
    assert_eq!(fortran::weight(&mut tail), -(4.0 + 300.0 + 1000.0) + 0.25);
    assert_eq!((tail, &fortran::common_params()), (-3, &params));

    // A closure reads and sets it while Fortran code that shares it runs, as functions do.
    let mut seen = Vec::new();
    fortran::change(|n| {
        let mut now = fortran::common_params();
        seen.push((*n, now.n));
        now.n = 20;
        fortran::set_common_params(&now);
    });
    assert_eq!((seen, fortran::common_params().n), (vec![(9, 9)], 21));

    // Threads see one state after another, and never half of one.
    std::thread::scope(|s| {
        for k in 1..=4 {
            s.spawn(move || {
                let mut mine = fortran::common_params();
                for _ in 0..500 {
                    mine.visc = f64::from(k);
                    mine.grid = [[k as f32; 2]; 3];
                    fortran::set_common_params(&mine);
                    let now = fortran::common_params();
                    assert_eq!(now.grid, [[now.visc as f32; 2]; 3]);
                    fortran::change(|_| ());
                }
            });
        }
    });

    assert_eq!(fortran::limit(3), 0);
    let mut limits = fortran::common_limits();
    limits.most = 10;
    fortran::set_common_limits(&limits);
    assert_eq!((fortran::limit(3), fortran::limit(11)), (3, 10));

    let mut blank = fortran::common_blank();
    (blank.x1, blank.x2) = (1.0, [2.0, 3.0]);
    fortran::set_common_blank(&blank);
    assert_eq!(fortran::blank(10.0), 31.0);
    assert_eq!(fortran::common_blank().x1, 10.0);

    let mut many = fortran::common_many();
    many.a[19_999_999] = 4.0;
    fortran::set_common_many(&many);
    assert_eq!(fortran::large(20_000_000), Ok(4.0));
    println!("fine");
}
