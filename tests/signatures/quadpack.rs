#![forbid(unsafe_code)]

mod fortran {
    farfel_runtime::include_bindings!();
}

fn main() {
    let area = fortran::dqag(f64::exp, 0.0, 1.0, 1e-9, 500).unwrap();
    assert!((area.result - (1f64.exp() - 1.0)).abs() < 1e-9 && area.abserr <= 1e-9);
    let rule = fortran::gauleg(0.0, 1.0, 3).unwrap();
    let cube: f64 = rule.x.iter().zip(&rule.w).map(|(x, w)| w * x.powi(3)).sum();
    assert!((cube - 0.25).abs() < 1e-14);
    println!("fine");
}
