//! ODEPACK: its nine solvers, each with the example in its documentation. DLSODPK and DLSODKR have none: they get
//! that of DLSODE and of DLSODAR.
#![forbid(unsafe_code)]
mod fortran {
    farfel_runtime::include_bindings!();
}
use fortran as f;

fn main() {
    f::xsetf(0);
    dlsode();
    dlsodes();
    dlsoda();
    dlsodar();
    dlsodpk();
    dlsodkr();
    dlsodi();
    dlsoibt();
    dlsodis();
}

/// Three reactions of very different speed (H. H. Robertson).
fn rates(y: &[f64], dy: &mut [f64]) {
    dy[0] = -0.04 * y[0] + 1e4 * y[1] * y[2];
    dy[2] = 3e7 * y[1] * y[1];
    dy[1] = -dy[0] - dy[2];
}

const RTOL: [f64; 1] = [1e-4];
const ATOL: [f64; 3] = [1e-6, 1e-10, 1e-6];

/// The output times 0.4, 4, 40, ...
fn times() -> impl Iterator<Item = f64> {
    (0..12).map(|k| 0.4 * 10f64.powi(k))
}

fn show(solver: &str, t: f64, y: &[f64], state: i32) {
    // The documentation has the values of early times with more digits than two computers share.
    println!("{solver} {t:.1e} {:.3e} {:.2e} {:.3e} {state}", y[0], y[1], y[2]);
}

fn dlsode() {
    let (mut y, mut t, mut state) = ([1.0, 0.0, 0.0], 0.0, 1);
    let (mut rwork, mut iwork) = ([0.0; 58], [0; 23]);
    for tout in times().take(9) {
        f::dlsode(
            |_, _, y, dy| rates(y, dy), &[3], &mut y, &mut t, tout, 2, &RTOL, &ATOL, 1, &mut state, 0, &mut rwork,
            &mut iwork,
            |_, _, y, _, _, pd, rows| {
                let n = rows as usize;
                (pd[0], pd[n], pd[2 * n]) = (-0.04, 1e4 * y[2], 1e4 * y[1]);
                (pd[1], pd[1 + 2 * n]) = (0.04, -pd[2 * n]);
                pd[2 + n] = 6e7 * y[1];
                pd[1 + n] = -pd[n] - pd[2 + n];
            },
            21,
        )
        .unwrap();
        show("dlsode", t, &y, state);
    }
}

/// Twelve reactions, of which the solver finds out which depend on which.
fn dlsodes() {
    const K: [f64; 21] = [
        0.0, 0.1, 10.0, 50.0, 2.5, 0.1, 10.0, 50.0, 2.5, 50.0, 5.0, 50.0, 50.0, 50.0, 30.0, 100.0, 2.5, 100.0, 2.5, 50.0,
        50.0,
    ];
    let reactions = |y: &[f64], dy: &mut [f64]| {
        // Indices from 1.
        let y = |i: usize| y[i - 1];
        dy[0] = -K[1] * y(1);
        dy[1] = K[1] * y(1) + K[11] * K[14] * y(4) + K[19] * K[14] * y(5)
            - K[3] * y(2) * y(3) - K[15] * y(2) * y(12) - K[2] * y(2);
        dy[2] = K[2] * y(2) - K[5] * y(3) - K[3] * y(2) * y(3) - K[7] * y(10) * y(3)
            + K[11] * K[14] * y(4) + K[12] * K[14] * y(6);
        dy[3] = K[3] * y(2) * y(3) - K[11] * K[14] * y(4) - K[4] * y(4);
        dy[4] = K[15] * y(2) * y(12) - K[19] * K[14] * y(5) - K[16] * y(5);
        dy[5] = K[7] * y(10) * y(3) - K[12] * K[14] * y(6) - K[8] * y(6);
        dy[6] = K[17] * y(10) * y(12) - K[20] * K[14] * y(7) - K[18] * y(7);
        dy[7] = K[9] * y(10) - K[13] * K[14] * y(8) - K[10] * y(8);
        dy[8] = K[4] * y(4) + K[16] * y(5) + K[8] * y(6) + K[18] * y(7);
        dy[9] = K[5] * y(3) + K[12] * K[14] * y(6) + K[20] * K[14] * y(7) + K[13] * K[14] * y(8)
            - K[7] * y(10) * y(3) - K[17] * y(10) * y(12) - K[6] * y(10) - K[9] * y(10);
        dy[10] = K[10] * y(8);
        dy[11] = K[6] * y(10) + K[19] * K[14] * y(5) + K[20] * K[14] * y(7)
            - K[15] * y(2) * y(12) - K[17] * y(10) * y(12);
    };
    let (mut y, mut t, mut state) = ([0.0; 12], 0.0, 1);
    y[0] = 1.0;
    let (mut rwork, mut iwork) = ([0.0; 500], [0; 30]);
    for k in 0..5 {
        f::dlsodes(
            |_, _, y, dy| reactions(y, dy), &[12], &mut y, &mut t, 0.1 * 10f64.powi(k), 1, &RTOL, &[1e-6], 1,
            &mut state, 0, &mut rwork, &mut iwork,
            // A column of the Jacobian, as what the rates change by along it. They are quadratic.
            |_, _, y, j, _, _, pdj| {
                let mut y = y.to_vec();
                let mut below = [0.0; 12];
                let mut above = [0.0; 12];
                let at = j as usize - 1;
                let middle = y[at];
                y[at] = middle - 0.5;
                reactions(&y, &mut below);
                y[at] = middle + 0.5;
                reactions(&y, &mut above);
                for (to, (above, below)) in pdj.iter_mut().zip(above.iter().zip(below)) {
                    *to = above - below;
                }
            },
            121,
        )
        .unwrap();
        println!("dlsodes {t:.0e} {:.2e} {:.3e} {state}", y[8], y[11]);
    }
    println!("dlsodes nonzeros {} {}", iwork[18], iwork[24] + iwork[25] + 12);
}

fn dlsoda() {
    let (mut y, mut t, mut state) = ([1.0, 0.0, 0.0], 0.0, 1);
    let (mut rwork, mut iwork) = ([0.0; 70], [0; 23]);
    for tout in times().take(9) {
        f::dlsoda(
            |_, _, y, dy| rates(y, dy), &[3], &mut y, &mut t, tout, 2, &RTOL, &ATOL, 1, &mut state, 0, &mut rwork,
            &mut iwork, |_, _, _, _, _, _, _| (), 2,
        )
        .unwrap();
        show("dlsoda", t, &y, state);
    }
}

fn dlsodar() {
    let (mut y, mut t, mut state) = ([1.0, 0.0, 0.0], 0.0, 1);
    let (mut rwork, mut iwork, mut roots) = ([0.0; 76], [0; 23], [0; 2]);
    for tout in times().take(9) {
        loop {
            f::dlsodar(
                |_, _, y, dy| rates(y, dy), &[3], &mut y, &mut t, tout, 2, &RTOL, &ATOL, 1, &mut state, 0,
                &mut rwork, &mut iwork, |_, _, _, _, _, _, _| (), 2,
                |_, _, y, _, gout| (gout[0], gout[1]) = (y[0] - 1e-4, y[2] - 1e-2), &mut roots,
            )
            .unwrap();
            if state != 3 {
                break;
            }
            println!("dlsodar root {t:.2e} {:.3e} {:.2e} {:.3e} {roots:?}", y[0], y[1], y[2]);
            state = 2;
        }
    }
}

/// The matrix I - hl0 J of Robertson's reactions, to solve linear equations with.
struct Preconditioner([[f64; 3]; 3]);

impl Preconditioner {
    fn new(y: &[f64], hl0: f64) -> Self {
        let jacobian = [
            [-0.04, 1e4 * y[2], 1e4 * y[1]],
            [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]],
            [0.0, 6e7 * y[1], 0.0],
        ];
        let mut matrix = jacobian.map(|row| row.map(|v| -hl0 * v));
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] += 1.0;
        }
        Preconditioner(matrix)
    }

    /// Cramer's rule.
    fn solve(&self, b: &mut [f64]) {
        let determinant = |m: &[[f64; 3]; 3]| {
            m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
        };
        let all = determinant(&self.0);
        let solved = [0, 1, 2].map(|j| {
            let mut replaced = self.0;
            for (row, b) in replaced.iter_mut().zip(b.iter()) {
                row[j] = *b;
            }
            determinant(&replaced) / all
        });
        b[..3].copy_from_slice(&solved);
    }
}

/// GMRES with a preconditioner; a cell, since two closures use it.
fn dlsodpk() {
    let (mut y, mut t, mut state) = ([1.0, 0.0, 0.0], 0.0, 1);
    let (mut rwork, mut iwork) = ([0.0; 200], [0; 40]);
    let matrix = std::cell::RefCell::new(Preconditioner::new(&y, 0.0));
    let mut asked = 0;
    // The lengths of the user's parts of the work arrays, and whether JAC is called.
    (iwork[0], iwork[1], iwork[2], iwork[3]) = (1, 1, 1, 1);
    for tout in times().take(5) {
        f::dlsodpk(
            |_, _, y, dy| rates(y, dy), &mut [3], &mut y, &mut t, tout, 2, &RTOL, &ATOL, 1, &mut state, 0, &mut rwork,
            &mut iwork,
            |f, neq, t, y, _, _, ydot, v, hl0, _, _, ier| {
                // The solver lends the closure with the rates to this one.
                f(neq, *t, y, v);
                assert!(v[..3].iter().zip(ydot.iter()).all(|(a, b)| (a - b).abs() < 1e-9), "{v:?} {ydot:?}");
                asked += 1;
                *matrix.borrow_mut() = Preconditioner::new(y, hl0);
                *ier = 0;
            },
            |_, _, _, _, _, _, _, _, b, _, ier| {
                matrix.borrow().solve(b);
                *ier = 0;
            },
            22,
        )
        .unwrap();
        show("dlsodpk", t, &y, state);
    }
    assert!(asked > 5, "{asked}");
}

fn dlsodkr() {
    let (mut y, mut t, mut state) = ([1.0, 0.0, 0.0], 0.0, 1);
    let (mut rwork, mut iwork, mut roots) = ([0.0; 200], [0; 40], [0; 2]);
    let matrix = std::cell::RefCell::new(Preconditioner::new(&y, 0.0));
    (iwork[0], iwork[1], iwork[2], iwork[3]) = (1, 1, 1, 1);
    for tout in times().take(5) {
        loop {
            f::dlsodkr(
                |_, _, y, dy| rates(y, dy), &mut [3], &mut y, &mut t, tout, 2, &RTOL, &ATOL, 1, &mut state, 0,
                &mut rwork, &mut iwork,
                |_, _, _, y, _, _, _, _, hl0, _, _, _, ier| {
                    *matrix.borrow_mut() = Preconditioner::new(y, hl0);
                    *ier = 0;
                },
                |_, _, _, _, _, _, _, _, b, _, ier| {
                    matrix.borrow().solve(b);
                    *ier = 0;
                },
                22, |_, _, y, _, gout| (gout[0], gout[1]) = (y[0] - 1e-4, y[2] - 1e-2), 2, &mut roots,
            )
            .unwrap();
            if state != 3 {
                break;
            }
            println!("dlsodkr root {t:.2e} {:.3e} {:.2e} {:.3e} {roots:?}", y[0], y[1], y[2]);
            state = 2;
        }
        show("dlsodkr", t, &y, state);
    }
}

/// The same reactions with the condition that nothing is lost: A y' = g.
fn dlsodi() {
    let (mut y, mut slopes, mut t, mut state) = ([1.0, 0.0, 0.0], [-0.04, 0.04, 0.0], 0.0, 1);
    let (mut rwork, mut iwork) = ([0.0; 58], [0; 23]);
    for tout in times().take(8) {
        f::dlsodi(
            |_, _, y, s, r, _| {
                r[0] = -0.04 * y[0] + 1e4 * y[1] * y[2] - s[0];
                r[1] = 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] * y[1] - s[1];
                r[2] = y[0] + y[1] + y[2] - 1.0;
            },
            |_, _, _, _, _, p, rows| {
                p[0] += 1.0;
                p[1 + rows as usize] += 1.0;
            },
            |_, _, y, _, _, _, p, rows| {
                let n = rows as usize;
                (p[0], p[n], p[2 * n]) = (-0.04, 1e4 * y[2], 1e4 * y[1]);
                (p[1], p[1 + n], p[1 + 2 * n]) = (0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]);
                (p[2], p[2 + n], p[2 + 2 * n]) = (1.0, 1.0, 1.0);
            },
            &[3], &mut y, &mut slopes, &mut t, tout, 2, &RTOL, &ATOL, 1, &mut state, 0, &mut rwork, &mut iwork, 21,
        )
        .unwrap();
        show("dlsodi", t, &y, state);
    }
}

/// A square wave, by Burgers' equation.
fn wave<const N: usize>() -> [f64; N] {
    let mut y = [0.0; N];
    y[11..30].fill(1.0);
    (y[10], y[30]) = (0.5, 0.5);
    y
}

const ETA: f64 = 0.05 / (0.05 * 0.05);

fn dlsoibt() {
    let (mut y, mut slopes, mut t, mut state) = (wave::<41>(), [0.0; 41], 0.0, 0);
    let (mut rwork, mut iwork) = ([0.0; 514], [0; 61]);
    (iwork[0], iwork[1]) = (1, 41);
    for k in 1..=4 {
        f::dlsoibt(
            |_, _, y, s, r, _| {
                r[0] = ETA * (y[2] - 2.0 * y[1] + y[0]) - s[0];
                for i in 1..40 {
                    r[i] = (y[i - 1].powi(2) - y[i + 1].powi(2)) / 0.2 + ETA * (y[i + 1] - 2.0 * y[i] + y[i - 1])
                        - (s[i - 1] + 4.0 * s[i] + s[i + 1]) / 6.0;
                }
                r[40] = ETA * (y[38] - 2.0 * y[39] + y[40]) - s[40];
            },
            |_, _, _, _, _, pa, pb, pc| {
                pa[0] += 1.0;
                for k in 1..40 {
                    (pa[k], pb[k], pc[k]) = (pa[k] + 4.0 / 6.0, pb[k] + 1.0 / 6.0, pc[k] + 1.0 / 6.0);
                }
                pa[40] += 1.0;
            },
            |_, _, y, _, _, _, pa, pb, pc| {
                (pa[0], pb[0], pc[0]) = (ETA, -2.0 * ETA, ETA);
                for k in 1..40 {
                    (pa[k], pb[k], pc[k]) = (-2.0 * ETA, -y[k + 1] * 10.0 + ETA, y[k - 1] * 10.0 + ETA);
                }
                (pa[40], pb[40], pc[40]) = (ETA, ETA, -2.0 * ETA);
            },
            &[41], &mut y, &mut slopes, &mut t, 0.1 * f64::from(k), 1, &RTOL, &[1e-5], 1, &mut state, 0,
            &mut rwork, &mut iwork, 21,
        )
        .unwrap();
        println!("dlsoibt {t:.1} {state}");
    }
    println!("dlsoibt {:.2e} {:.3} {:.3} {:.3} {:.4}", y[0], y[10], y[20], y[27], y[34]);
}

/// The same on a ring.
fn dlsodis() {
    let (mut y, mut slopes, mut t, mut state) = (wave::<40>(), [0.0; 40], 0.0, 0);
    let (mut rwork, mut iwork) = ([0.0; 1409], [0; 30]);
    let neighbours = |j: usize| ((j + 39) % 40, (j + 1) % 40);
    for k in 1..=4 {
        f::dlsodis(
            |_, _, y, s, r, _| {
                for i in 0..40 {
                    let (a, b) = neighbours(i);
                    r[i] = 5.0 * (y[a].powi(2) - y[b].powi(2)) + ETA * (y[b] - 2.0 * y[i] + y[a])
                        - (s[a] + 4.0 * s[i] + s[b]) / 6.0;
                }
            },
            |_, _, _, j, _, _, p| {
                let j = j as usize - 1;
                let (a, b) = neighbours(j);
                p[j] += 2.0 / 3.0;
                p[b] += 1.0 / 6.0;
                p[a] += 1.0 / 6.0;
            },
            |_, _, y, _, j, _, _, p| {
                let j = j as usize - 1;
                let (a, b) = neighbours(j);
                (p[a], p[j], p[b]) = (-10.0 * y[j] + ETA, -2.0 * ETA, 10.0 * y[j] + ETA);
            },
            &[40], &mut y, &mut slopes, &mut t, 0.1 * f64::from(k), 1, &[1e-3], &[1e-3], 1, &mut state, 0,
            &mut rwork, &mut iwork, 121,
        )
        .unwrap();
        println!("dlsodis {t:.1} {state}");
    }
    println!("dlsodis {:.1e} {:.2} {:.2} {:.2} {:.2}", y[0], y[10], y[20], y[27], y[34]);
    println!("dlsodis nonzeros {} {}", iwork[18], iwork[24] + iwork[25] + 40);
}
