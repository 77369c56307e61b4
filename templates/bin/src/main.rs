//! The orbit of a comet, from Kepler's equation as `fortran/kepler.ff` solves it.

mod fortran {
    farfel_runtime::include_bindings!();
}

/// Eccentricity of the orbit: 0 is a circle.
const ECCENTRICITY: f64 = 0.8;

fn main() {
    println!("mean anomaly   eccentric anomaly");
    for degrees in (0..=180).step_by(30) {
        let mean = f64::from(degrees).to_radians();
        let eccentric = fortran::kepler(mean, ECCENTRICITY).to_degrees();
        println!("{degrees:12}   {eccentric:17.9}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equation_holds() {
        for degrees in 0..=180 {
            let mean = f64::from(degrees).to_radians();
            let e = fortran::kepler(mean, ECCENTRICITY);
            let residual = e - ECCENTRICITY * e.sin() - mean;
            assert!(residual.abs() < 1e-14, "{degrees}: {residual:e}");
        }
    }
}
