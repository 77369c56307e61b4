//! DVODE: the example in its own documentation.
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as f;

fn main() {
    let (mut y, mut t, mut istate) = ([1.0, 0.0, 0.0], 0.0, 1);
    let (mut rwork, mut iwork) = ([0.0; 67], [0; 33]);
    for k in 0..12 {
        f::dvode(
            |_, _, y, dy, _, _| {
                dy[0] = -0.04 * y[0] + 1e4 * y[1] * y[2];
                dy[2] = 3e7 * y[1] * y[1];
                dy[1] = -dy[0] - dy[2];
            },
            3, &mut y, &mut t, 0.4 * 10f64.powi(k), 2, &[1e-4], &[1e-8, 1e-14, 1e-6], 1, &mut istate, 0,
            &mut rwork, 67, &mut iwork, 33,
            |_, _, y, _, _, pd, rows, _, _| {
                let n = rows as usize;
                (pd[0], pd[n], pd[2 * n]) = (-0.04, 1e4 * y[2], 1e4 * y[1]);
                (pd[1], pd[1 + 2 * n]) = (0.04, -pd[2 * n]);
                pd[2 + n] = 6e7 * y[1];
                pd[1 + n] = -pd[n] - pd[2 + n];
            },
            21, &mut [0.0], &mut [0],
        )
        .unwrap();
        println!("{t:.0e} {:.3e} {:.3e} {:.3e} {istate}", y[0], y[1], y[2]);
    }
    let short = f::dvode(
        |_, _, _, _, _, _| (), 3, &mut y, &mut t, 1.0, 2, &[1e-4], &[1e-8; 2], 1, &mut 1, 0, &mut rwork, 67,
        &mut iwork, 33, |_, _, _, _, _, _, _, _, _| (), 21, &mut [0.0], &mut [0],
    );
    println!("{}", short.unwrap_err());
}
