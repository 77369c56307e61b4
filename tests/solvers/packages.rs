//! MINPACK, FITPACK, AMOS, DOP853, DOPRI5 and DASSL: problems whose results are published.
#![forbid(unsafe_code)]
mod fortran {
    farfel_runtime::include_bindings!();
}
use farfel_runtime::Error;
use fortran as f;

fn main() {
    minpack();
    fitpack();
    amos();
    dop853();
    dassl();
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The examples of the user guide (Argonne National Laboratory, ANL-80-74): the norms and solutions are those that it
/// prints.
fn minpack() {
    let mut x = [-1.0; 9];
    let fvec = f::hybrd1(
        |n, x, fvec, _| {
            let n = n as usize;
            for k in 0..n {
                let before = if k > 0 { x[k - 1] } else { 0.0 };
                let after = if k + 1 < n { x[k + 1] } else { 0.0 };
                fvec[k] = (3.0 - 2.0 * x[k]) * x[k] - before - 2.0 * after + 1.0;
            }
        },
        &mut x,
        1e-8,
    )
    .unwrap();
    println!("hybrd1 {:.1} {x:.7?}", norm(&fvec) * 1e7);

    const DATA: [f64; 15] =
        [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39];
    let times = |i: usize| {
        let (u, v) = (1.0 + i as f64, 15.0 - i as f64);
        (u, v, u.min(v))
    };
    let residuals = |x: &[f64], fvec: &mut [f64]| {
        for i in 0..15 {
            let (u, v, w) = times(i);
            fvec[i] = DATA[i] - (x[0] + u / (x[1] * v + x[2] * w));
        }
    };
    let mut x = [1.0; 3];
    let found = f::lmdif1(|_, _, x, fvec, _| residuals(x, fvec), 15, &mut x, 1e-8).unwrap();
    println!("lmdif1 {:.7} {x:.4?} {}", norm(&found.fvec), found.info);
    let mut x = [1.0; 3];
    let found = f::lmder1(
        |_, _, x, fvec, fjac, rows, flag| {
            if *flag == 1 {
                return residuals(x, fvec);
            }
            let rows = rows as usize;
            for i in 0..15 {
                let (u, v, w) = times(i);
                let q = (x[1] * v + x[2] * w).powi(2);
                (fjac[i], fjac[i + rows], fjac[i + 2 * rows]) = (-1.0, u * v / q, u * w / q);
            }
        },
        15,
        &mut x,
        1e-8,
    )
    .unwrap();
    println!("lmder1 {:.7} {x:.4?} {}", norm(&found.fvec), found.info);
    // A closure that gives up.
    let ended = f::hybrd1(|_, _, _, flag| *flag = -3, &mut [1.0], 1e-8);
    assert!(matches!(ended, Err(Error::Status { .. })), "{ended:?}");
}

/// A cubic spline is the cubic polynomial from which its data are, so that everything about it is known.
fn fitpack() {
    let x: Vec<f64> = (0..21).map(|i| f64::from(i) / 10.0).collect();
    let cubic = |x: f64| (x - 0.5) * (x - 1.0) * (x - 1.5);
    let y: Vec<f64> = x.iter().map(|x| cubic(*x)).collect();
    let (mut n, mut t) = (0, [0.0; 25]);
    let (mut wrk, mut iwrk) = ([0.0; 21 * 4 + 25 * 16], [0; 25]);
    let fit =
        f::curfit(0, &x, &y, &[1.0; 21], 0.0, 2.0, 3, 0.0, &mut n, &mut t, &mut wrk, &mut iwrk).unwrap();
    // It interpolates.
    assert_eq!((fit.ier, fit.fp), (-1, 0.0));
    let (t, c) = (&t[..n as usize], &fit.c[..n as usize]);
    let points = [0.05, 0.77, 1.234];
    let values = f::splev(t, c, 3, &points, 0).unwrap();
    let slopes = f::splder(t, c, 3, 1, &points, 0).unwrap();
    for ((x, value), slope) in points.iter().zip(values).zip(slopes) {
        assert!((value - cubic(*x)).abs() < 1e-14, "{x} {value}");
        let exact = 3.0 * x * x - 6.0 * x + 2.75;
        assert!((slope - exact).abs() < 1e-12, "{x} {slope}");
    }
    let area = f::splint(t, c, 3, 0.0, 1.0).unwrap();
    let zeros = f::sproot(t, c, 10).unwrap();
    println!("fitpack {n} {area:.6} {:.9?}", &zeros.zero[..zeros.m as usize]);
    // Data that are not in order.
    let ended = f::curfit(
        0, &[0.0, 2.0, 1.0, 3.0], &[0.0; 4], &[1.0; 4], 0.0, 3.0, 3, 0.0, &mut 0, &mut [0.0; 8],
        &mut [0.0; 200], &mut [0; 8],
    );
    assert!(matches!(ended, Err(Error::Status { value: 10, .. })), "{ended:?}");
}

/// Values in the Handbook of Mathematical Functions by Abramowitz and Stegun: J0(1), J1(1), K0(1), K1(1), Ai(1), and
/// ber(1), bei(1), which are the parts of J0 at exp(3 pi i/4).
fn amos() {
    let j = f::zbesj(1.0, 0.0, 0.0, 1, 2).unwrap();
    println!("J {:.9?}", j.cyr);
    let k = f::zbesk(1.0, 0.0, 0.0, 1, 2).unwrap();
    println!("K {:.9?}", k.cyr);
    println!("Ai {:.9}", f::zairy(1.0, 0.0, 0, 1).unwrap().air);
    let half = 0.5_f64.sqrt();
    let kelvin = f::zbesj(-half, half, 0.0, 1, 1).unwrap();
    println!("ber, bei {:.9} {:.9}", kelvin.cyr[0], kelvin.cyi[0]);
    let ended = f::zbesk(0.0, 0.0, 0.0, 1, 1);
    assert!(matches!(ended, Err(Error::Status { value: 1, .. })), "{ended:?}");
    let far = f::zbesj(1e8, 0.0, 0.0, 1, 1).unwrap();
    // Half of the digits are lost, which is no error.
    assert!(far.ierr == 3 && far.cyr[0].abs() < 1e-4, "{far:?}");
    // Y0(1) and Y1(1).
    let y = f::zbesy(1.0, 0.0, 0.0, 1, 2).unwrap();
    println!("Y {:.9?}", y.cyr);
}

/// The Arenstorf orbit (Hairer, Norsett and Wanner, section II.0): after one period a satellite is where it was.
fn arenstorf(y: &[f64], dy: &mut [f64]) {
    let mu = 0.012277471;
    let rest = 1.0 - mu;
    let d1 = ((y[0] + mu).powi(2) + y[1].powi(2)).powf(1.5);
    let d2 = ((y[0] - rest).powi(2) + y[1].powi(2)).powf(1.5);
    (dy[0], dy[1]) = (y[2], y[3]);
    dy[2] = y[0] + 2.0 * y[3] - rest * (y[0] + mu) / d1 - mu * (y[0] - rest) / d2;
    dy[3] = y[1] - 2.0 * y[2] - rest * y[1] / d1 - mu * y[1] / d2;
}

fn dop853() {
    let start = [0.994, 0.0, 0.0, -2.0015851063790825];
    let period = 17.06521656015796;
    let (mut x, mut y) = (0.0, start);
    let (mut work, mut iwork) = ([0.0; 11 * 4 + 8 * 4 + 21], [0; 25]);
    let mut steps = 0;
    let mut halfway = f64::NAN;
    // Dense output of the first two components.
    (iwork[4], iwork[20], iwork[21]) = (2, 1, 2);
    f::dop853(
        |_, _, y, dy, _, _| arenstorf(y, dy), &mut x, &mut y, period, &[1e-10], &[1e-10], 0,
        |_, old, x, _, _, con, icomp, _, _, _, _| {
            steps += 1;
            let middle = period / 2.0;
            if old < middle && middle <= x {
                halfway = f::contd8(2, middle, con, icomp).unwrap();
            }
        },
        2, &mut work, &mut iwork, &mut [0.0], &mut [0],
    )
    .unwrap();
    let error = norm(&[y[0] - start[0], y[1] - start[1]]);
    assert!(error < 1e-5 && x == period, "{y:?}");
    // The orbit is symmetric.
    assert!(halfway.abs() < 1e-6, "{halfway}");
    assert_eq!(steps, iwork[18] + 1);
    println!("dop853 {:.4?}", y.map(|y| y + 0.0));

    let (mut x, mut y) = (0.0, start);
    let (mut work, mut iwork) = ([0.0; 8 * 4 + 21], [0; 21]);
    f::dopri5(
        |_, _, y, dy, _, _| arenstorf(y, dy), &mut x, &mut y, period, &[1e-10], &[1e-10], 0,
        |_, _, _, _, _, _, _, _, _, _, _| (), 0, &mut work, &mut iwork, &mut [0.0], &mut [0],
    )
    .unwrap();
    let error = norm(&[y[0] - start[0], y[1] - start[1]]);
    assert!(error < 1e-4, "{y:?}");
}

/// Robertson's reactions as differential equations with the condition that nothing is lost, with the results in
/// ODEPACK's documentation.
fn dassl() {
    let (mut t, mut y, mut slopes) = (0.0, [1.0, 0.0, 0.0], [-0.04, 0.04, 0.0]);
    let mut info = [0; 15];
    (info[1], info[4]) = (1, 1);
    let (mut rwork, mut iwork) = (vec![0.0; 40 + 9 * 3 + 9], vec![0; 24]);
    let mut state = 0;
    for k in 0..6 {
        f::ddassl(
            |_, y, slopes, delta, _, _, _| {
                let rate = -0.04 * y[0] + 1e4 * y[1] * y[2];
                delta[0] = rate - slopes[0];
                delta[1] = -rate - 3e7 * y[1] * y[1] - slopes[1];
                delta[2] = y[0] + y[1] + y[2] - 1.0;
            },
            3, &mut t, &mut y, &mut slopes, 0.4 * 10f64.powi(k), &mut info, &mut [1e-4; 3],
            &mut [1e-6, 1e-10, 1e-6], &mut state, &mut rwork, &mut iwork, &mut [0.0], &mut [0],
            |_, y, _, pd, cj, _, _| {
                let columns = [
                    [-0.04 - cj, 0.04, 1.0],
                    [1e4 * y[2], -1e4 * y[2] - 6e7 * y[1] - cj, 1.0],
                    [1e4 * y[1], -1e4 * y[1], 1.0],
                ];
                pd[..9].copy_from_slice(columns.as_flattened());
            },
        )
        .unwrap();
        println!("ddassl {t:.0e} {:.3e} {:.2e} {:.3e} {state}", y[0], y[1], y[2]);
    }
    // The stated length is larger than the array.
    let short = f::raw::ddassl(
        |_, _, _, _, _, _, _| (), 3, &mut 0.0, &mut y, &mut slopes, 1.0, &mut [0; 15], &mut [1e-4], &mut [1e-6], &mut 0,
        &mut [0.0; 50], 76, &mut iwork, 24, &mut [0.0], &mut [0], |_, _, _, _, _, _, _| (),
    );
    println!("{}", short.unwrap_err());
}
