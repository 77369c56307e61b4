#![forbid(unsafe_code)]
//! Instances of a library are independent of each other.

mod fortran {
    farfel_runtime::include_bindings!();
}
use fortran::{CountsOutput, Model, files, twice};

fn main() {
    initial_values_and_clones();
    saved_variables();
    declarations();
    closures_and_ends();
    blocks();
    side_by_side();
    println!("fine");
}

fn initial_values_and_clones() {
    let mut a = Model::new();
    let mut b = Model::default();
    assert_eq!(a.all4(), 9.81 + 5.0 + 4.0 + 1000.0);
    a.setup(2.0, "other").unwrap();
    assert_eq!(a.all4(), 2.0 + 2.0 + 4.0 + 6.0 + 4.0);
    assert_eq!(b.all4(), 9.81 + 5.0 + 4.0 + 1000.0);
    let mut c = a.clone();
    a.setup(3.0, "third").unwrap();
    assert_eq!(c.all4(), 18.0);
    assert_eq!(a.sizes(&[1.0, 2.0, 3.0, 4.0]).unwrap(), 8.0);
    // The bounds from the block are checked.
    a.common_par_mut().nmax = 5;
    assert!(a.sizes(&[1.0, 2.0, 3.0, 4.0]).is_err());
    assert_eq!(twice(2.0), 4.0);
}

fn saved_variables() {
    let mut a = Model::new();
    for (x, n, xmax) in [(1.0, 1, 1.0), (3.0, 2, 3.0), (2.0, 3, 3.0)] {
        assert_eq!(a.counts(x), CountsOutput { n, xmax });
    }
    let mut b = a.clone();
    assert_eq!(Model::new().counts(5.0), CountsOutput { n: 1, xmax: 5.0 });
    assert_eq!(b.counts(0.0), CountsOutput { n: 4, xmax: 3.0 });
    a.push(7).unwrap();
    b.push(8).unwrap();
    b.push(9).unwrap();
    assert_eq!(a.top(), Ok(7));
    assert_eq!(b.top(), Ok(9));
    assert!(Model::new().top().is_err());
    assert_eq!(a.works(3).unwrap(), 6.0);
    assert!(a.works(20001).is_err());
}

/// DATA with a loop under IMPLICIT NONE, SAVE of everything, CHARACTER, NAMELIST, blank COMMON.
fn declarations() {
    let (mut a, mut b) = (Model::new(), Model::new());
    let mut n = 10;
    a.datas(&mut n);
    assert_eq!(n, 36);
    n = 1;
    a.datas(&mut n);
    assert_eq!(n, 39);
    n = 10;
    b.datas(&mut n);
    assert_eq!(n, 36);
    for expected in [107.0, 9.0, 13.0] {
        assert_eq!(a.saves(2.0), expected);
    }
    assert_eq!(b.saves(2.0), 107.0);
    for (k, expected) in [(1, "none"), (2, "  1")] {
        assert_eq!(a.shown(k).as_deref(), Ok(expected));
    }
    assert_eq!(b.shown(7).as_deref(), Ok("none"));
    let path = format!("{}/list.txt", std::env::args().nth(1).unwrap());
    a.lists(&path).unwrap();
    assert_eq!((a.common_nlc().ia, a.common_nlc().xb), (3, [1.5, 2.5]));
    assert_eq!(b.common_nlc().ia, 0);
    let mut x = 1.0;
    a.blanks(&mut x);
    assert_eq!((x, a.common_blank().a), (3.5, 1.0));
}

fn closures_and_ends() {
    let mut a = Model::new();
    let mut b = Model::new();
    b.setup(4.0, "b").unwrap();
    // A closure may use another instance, and its borrowed arguments stay unchanged.
    let s = a.lends(|v, g| {
        b.setup(v[1] + g, "again").unwrap();
        v[1] + b.all4()
    });
    let g = 5.0 + 9.81;
    assert_eq!(s, 5.0 + g + (g + 2.0 * g + 3.0 * g) + 4.0);
    let error = a.stops().unwrap_err();
    assert!(error.to_string().contains("half-way"), "{error}");
    assert_eq!(a.common_par().nmax, 7);
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        a.lends(|_, _| std::panic::resume_unwind(Box::new(1)));
    }));
    assert!(panics.is_err());
    assert_eq!(a.common_par().nmax, 7);
}

fn blocks() {
    let mut a = Model::new();
    assert_eq!(a.common_par().g, 9.81);
    assert_eq!(a.common_par().a, [0.0, 5.0, 0.0]);
    assert_eq!(&a.common_par().name, b"initial ");
    a.common_par_mut().a = [1.0, 2.0, 3.0];
    let x = [1.0, 1.0, 1.0];
    let half = |d: f64| d * d / 2.0;
    let expected = half(9.81 - 1.0) + half(9.81 - 2.0) + half(9.81 - 3.0);
    assert!((a.energy(&x).unwrap() - expected).abs() < 1e-12);
    assert_eq!(a.common_res().r[0], 9.81 - 1.0);
}

/// The gradient through COMMON, and files, in eight threads with separate instances.
fn side_by_side() {
    let folder = std::env::args().nth(1).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let folder = &folder;
            scope.spawn(move || {
                let mut m = Model::new();
                let g = 1.0 + f64::from(thread);
                m.setup(g, "thread").unwrap();
                for round in 0..200 {
                    let x = [0.5, 1.0 + f64::from(round) / 100.0, -0.3];
                    let fortran::EnergyGradientOutput { value, x_gradient } = m.energy_gradient(&x).unwrap();
                    assert_eq!(value, m.energy(&x).unwrap());
                    for i in 0..3 {
                        let a = (i + 1) as f64 * g;
                        let exact = (g * x[i] * x[i] - a) * 2.0 * g * x[i];
                        assert!((x_gradient[i] - exact).abs() < 1e-12 * exact.abs().max(1.0));
                    }
                    let (n, xmax) = (round + 1, f64::from(round));
                    assert_eq!(m.counts(xmax), CountsOutput { n, xmax });
                    assert_eq!(m.works(20000).unwrap(), 40001.0);
                }
                for _ in 0..5 {
                    let path = format!("{folder}/{thread}.txt");
                    assert_eq!(files(20 + thread, &path), Ok(0.5 * 5050.0));
                }
            });
        }
    });
}
