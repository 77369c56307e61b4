//! L-BFGS-B: its own first driver, Rosenbrock's function of 25 variables with bounds.
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as f;

fn main() {
    const N: usize = 25;
    let m = 5;
    let nbd = [2; N];
    let l: Vec<f64> = (0..N).map(|i| if i % 2 == 0 { 1.0 } else { -100.0 }).collect();
    let u = [100.0; N];
    let mut x = [3.0; N];
    let (mut value, mut g) = (0.0, [0.0; N]);
    let mut wa = vec![0.0; (2 * m + 5) * N + 11 * m * m + 8 * m];
    let mut iwa = [0; 3 * N];
    let (mut task, mut csave) = (String::from("START"), String::new());
    let (mut lsave, mut isave, mut dsave) = ([false; 4], [0; 44], [0.0; 29]);
    let mut calls = 0;
    loop {
        f::setulb(N as i32, m as i32, &mut x, &l, &u, &nbd, &mut value, &mut g, 1e7, 1e-5, &mut wa, &mut iwa,
            &mut task, -1, &mut csave, &mut lsave, &mut isave, &mut dsave, 20).unwrap();
        if task.starts_with("FG") {
            calls += 1;
            value = 0.25 * (x[0] - 1.0).powi(2);
            for i in 1..N {
                value += (x[i] - x[i - 1].powi(2)).powi(2);
            }
            value *= 4.0;
            let mut t1 = x[1] - x[0] * x[0];
            g[0] = 2.0 * (x[0] - 1.0) - 16.0 * x[0] * t1;
            for i in 1..N - 1 {
                let t2 = t1;
                t1 = x[i + 1] - x[i] * x[i];
                g[i] = 8.0 * t2 - 16.0 * x[i] * t1;
            }
            g[N - 1] = 8.0 * t1;
        } else if !task.starts_with("NEW_X") {
            break;
        }
    }
    println!("{task}: {value:.6e} after {calls} calls, {} iterations", isave[29]);
    // The problem is constrained, and all variables have both bounds.
    assert!(lsave[1] && lsave[2] && lsave[3], "{lsave:?}");
    // Incorrect calls: arrays that MAINLB divides are too short or missing.
    let mut wrong = |n: usize, wa: usize, flags: usize, task: &str| {
        let mut task = String::from(task);
        let ended = f::setulb(25, 5, &mut x[..n], &l, &u, &nbd, &mut value, &mut g, 1e7, 1e-5, &mut vec![0.0; wa],
            &mut iwa, &mut task, -1, &mut csave, &mut lsave[..flags], &mut isave, &mut dsave, 20);
        ended.map(|()| task)
    };
    assert!(wrong(24, 690, 4, "START").is_err());
    assert!(wrong(25, 690, 3, "START").is_err());
    println!("{}", wrong(25, 500, 4, "START").unwrap_err());
    println!("{:?}", wrong(25, 690, 4, "no such task, in more letters than the sixty that there are for it").is_ok());
}
