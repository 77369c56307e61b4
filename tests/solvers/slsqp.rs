//! SLSQP: a quadratic function with linear constraints (Nocedal and Wright, example 16.4), by reverse
//! communication.
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as f;
use farfel_runtime::Error;

/// Returns the minimum, or the error.
fn minimum(lw: usize, room: usize) -> Result<([f64; 2], i32), Error> {
    const N: usize = 2;
    const M: usize = 3;
    let mut x = [2.0f64, 0.0];
    let (xl, xu) = ([0.0; N], [100.0; N]);
    let mut w = vec![0.0; room];
    let mut jw = [0; 100];
    let (mut acc, mut iter, mut mode) = (1e-12, 100, 0);
    let (mut r, mut i) = ([0.0; 10], [0; 8]);
    let (mut c, mut g, mut a) = ([0.0; M], [0.0; N + 1], [0.0; M * (N + 1)]);
    let mut value = 0.0;
    loop {
        if mode == 0 || mode == 1 {
            value = (x[0] - 1.0).powi(2) + (x[1] - 2.5).powi(2);
            c = [x[0] - 2.0 * x[1] + 2.0, -x[0] - 2.0 * x[1] + 6.0, -x[0] + 2.0 * x[1] + 2.0];
        }
        if mode == 0 || mode == -1 {
            g[..N].copy_from_slice(&[2.0 * (x[0] - 1.0), 2.0 * (x[1] - 2.5)]);
            a[..M].copy_from_slice(&[1.0, -1.0, -1.0]);
            a[M..2 * M].copy_from_slice(&[-2.0, -2.0, 2.0]);
        }
        let [alpha, f0, gs, h1, h2, h3, h4, t, t0, tol] = &mut r;
        let [iexact, incons, ireset, itermx, line, n1, n2, n3] = &mut i;
        f::slsqp(
            M as i32, 0, M as i32, N as i32, &mut x, &xl, &xu, value, &c, &mut g, &mut a, &mut acc, &mut iter,
            &mut mode, &mut w, lw as i32, &mut jw, 100, alpha, f0, gs, h1, h2, h3, h4, t, t0, tol, iexact,
            incons, ireset, itermx, line, n1, n2, n3,
        )?;
        if mode.abs() != 1 {
            return Ok((x, mode));
        }
    }
}

fn main() {
    let (x, mode) = minimum(1000, 1000).unwrap();
    println!("{:.6} {:.6} {mode}", x[0], x[1]);
    // Too little work space: SLSQP says how much it needs, or the check finds that the array is smaller than
    // stated.
    println!("{}", minimum(10, 10).unwrap().1 > 10);
    println!("{}", minimum(1000, 90).unwrap_err());
}
