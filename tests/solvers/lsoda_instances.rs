//! LSODA with instances: integrations that alternate in one thread, and others beside them, although its
//! state is in COMMON.
#![forbid(unsafe_code)]
mod f {
    farfel_runtime::include_bindings!();
}
use f::Lsoda;

/// An active integration.
struct Run {
    solver: Lsoda,
    /// The rate of the first reaction.
    speed: f64,
    y: [f64; 3],
    t: f64,
    istate: i32,
    rwork: Vec<f64>,
    iwork: Vec<i32>,
}

impl Run {
    fn new(speed: f64) -> Run {
        let mut solver = Lsoda::new();
        solver.xsetf(0);
        let y = [1.0, 0.0, 0.0];
        Run { solver, speed, y, t: 0.0, istate: 1, rwork: vec![0.0; 70], iwork: vec![0; 23] }
    }

    fn to(&mut self, tout: f64) {
        let speed = self.speed;
        let rates = |_: &[i32], _: f64, y: &[f64], dy: &mut [f64]| {
            dy[0] = -speed * y[0] + 1e4 * y[1] * y[2];
            dy[2] = 3e7 * y[1] * y[1];
            dy[1] = -dy[0] - dy[2];
        };
        let none = |_: &[i32], _: f64, _: &[f64], _, _, _: &mut [f64], _: i32| {};
        let solver = &mut self.solver;
        solver
            .lsoda(
                rates, &[3], &mut self.y, &mut self.t, tout, 2, &[1e-4], &[1e-6, 1e-10, 1e-6], 1,
                &mut self.istate, 0, &mut self.rwork, &mut self.iwork, none, 2,
            )
            .unwrap();
    }

    /// A complete integration without others in between.
    fn alone(speed: f64) -> [f64; 3] {
        let mut run = Run::new(speed);
        (0..12).for_each(|k| run.to(0.4 * 10f64.powi(k)));
        run.y
    }
}

fn main() {
    // Two integrations alternate.
    let (mut run, mut other) = (Run::new(0.04), Run::new(0.5));
    for k in 0..12 {
        run.to(0.4 * 10f64.powi(k));
        println!("{:.0e} {:.3e} {:.3e} {:.3e} {}", run.t, run.y[0], run.y[1], run.y[2], run.istate);
        other.to(0.4 * 10f64.powi(k));
    }
    assert_eq!(run.y, Run::alone(0.04));
    assert_eq!(other.y, Run::alone(0.5));
    // Others run at the same time.
    std::thread::scope(|scope| {
        for i in 0..8 {
            let expected = if i % 2 == 0 { run.y } else { other.y };
            let speed = if i % 2 == 0 { 0.04 } else { 0.5 };
            scope.spawn(move || assert_eq!(Run::alone(speed), expected));
        }
    });
}
